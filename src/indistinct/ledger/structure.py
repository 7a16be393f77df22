"""What accounts must be to each other and to their budgets. The ledger makes no others; `verify` looks
whether somebody else did, and `merge` before it takes them in."""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from fractions import Fraction

from indistinct.adjacency import Adjacency
from indistinct.errors import ArgumentError
from indistinct.ledger.events import Spend, State
from indistinct.ledger.notions import cap_of, notions_for
from indistinct.ledger.parts import division_of

_PERIODS = {"month": r"\d{4}-(0[1-9]|1[0-2])", "quarter": r"\d{4}-Q[1-4]", "year": r"\d{4}"}
_VERSIONS = Fraction(1, 10**9)
"""By how much, relatively, versions of this package may differ in the cap that they read from a delta."""

Held = Callable[[str, str], Spend | None]
"""What an account holds under a key."""


def misfits(states: Mapping[str, State], held: Held) -> Iterator[tuple[str, str]]:
    """Accounts that are not what the ledger makes, and why."""
    for name, state in states.items():
        above = states.get(state.parent) if state.parent else None
        if state.parent and above is None:
            yield name, "what it is a part of is missing"
            continue
        wrong = _terms(state, above) or _cap(state, above)
        if wrong is None and above is not None and state.terms.part and state.cap is not None:
            hold = held(above.name, division_of(name))
            if hold is None or hold.cost < max(state.cap.limit, state.total):
                wrong = "the account above holds less for it than it may spend, or has spent"
        if wrong is not None:
            yield name, wrong


def _terms(state: State, above: State | None) -> str | None:
    if above is None:
        return "it is a part of nothing" if state.terms.part else None
    if above.terms.renews is None:
        right = replace(above.terms, budget=state.terms.budget, part=True)
        fits = state.terms == right and above.terms.adjacency is Adjacency.ADD_REMOVE
        return None if fits else "its terms are not those of a part"
    _, _, own = state.name.rpartition("/")
    kind, _, period = own.partition("=")
    fits = kind == above.terms.renews and re.fullmatch(_PERIODS[kind], period, re.ASCII) is not None
    right = replace(above.terms, renews=None)
    return None if fits and state.terms == right else "its terms are not those of a window"


def _cap(state: State, above: State | None) -> str | None:
    budget, cap, notion = state.terms.budget, state.cap, state.terms.notion
    if state.terms.part and above is not None:
        if cap is None or above.cap is None or cap.kind != above.cap.kind:
            return "its cap is in another notion than that of the whole"
    elif cap is not None and notion is not None and cap.notion.value != notion:
        return "its cap is in another notion than it was opened in"
    if cap is None or (budget is None and state.terms.part):
        decided = budget is not None and (notion is not None or len(notions_for(budget)) == 1)
        return "it has a notion, and no cap" if cap is None and decided else None
    if budget is None:
        return "it has a cap, and no budget" if isinstance(cap.limit, Fraction) else None
    try:
        most = cap_of(budget, cap.notion, cap.order).limit
    except ArgumentError:
        return "its cap is in a notion that cannot keep its budget"
    slack = 1 + (_VERSIONS if budget.delta else 0)
    return None if cap.limit <= most * slack else "its cap is more than its budget allows"
