"""What an account has released, told: in a line, as one mechanism, and by an odometer."""

import math
from dataclasses import replace
from fractions import Fraction

from indistinct.errors import check_probability
from indistinct.guarantees import PureDP
from indistinct.ledger.amounts import NONE
from indistinct.ledger.book import Book
from indistinct.ledger.events import OPEN, State
from indistinct.ledger.notions import Cap, Notion, promise
from indistinct.mechanisms import Mechanism, Stated, parallel
from indistinct.mechanisms.mechanism import Composed, Repeated
from indistinct.numerics.rounding import rounded_up

_LOWEST_RUNG = Fraction(1, 1024)


def line(state: State) -> str:
    """Where an account stands, in the terms of its budget."""
    cap, budget = state.cap, state.terms.budget
    shut = "" if state.status == OPEN else f" ({state.status})"
    if cap is None:
        return f"{state.name}: nothing spent{'' if budget is None else f' of {promise(budget)}'}{shut}"
    of = f" of {cap.told(cap.limit, budget)}" if isinstance(cap.limit, Fraction) else ""
    kept = f", {cap.told(state.reserved, budget)} reserved" if state.reserved else ""
    return f"{state.name}: {cap.told(state.spent, budget)} spent{of}{kept}{shut}"


def mechanism(book: Book, state: State) -> Mechanism:
    """All that was charged: equal mechanisms counted, divisions as their parts side by side."""
    nothing = Stated(PureDP(0.0, adjacency=state.terms.adjacency))
    return _drawn(book, state) or nothing


def _drawn(book: Book, state: State) -> Mechanism | None:
    listed: list[Mechanism] = []
    for digest, count in book.kinds(state.name):
        one = Mechanism.from_json(book.description(digest)["mechanism"])
        listed.append(Repeated(one, count) if count > 1 else one)
    divisions: dict[str, list[Mechanism]] = {}
    for part in book.states(state.name):
        division = part.name.removeprefix(f"{state.name}/").partition("=")[0]
        if (own := _drawn(book, part)) is not None:
            divisions.setdefault(division, []).append(own)
    for parts in divisions.values():  # windows are about the same people, and add up
        listed += parts if state.terms.renews is not None else [parallel(*parts)]
    return Composed(tuple(listed)) if listed else None


def altogether(book: Book, state: State) -> State:
    """What an account has spent in all its windows, which are about the same people, as if in one."""
    if state.terms.renews is None:
        return state
    windows = book.states(state.name)
    cap = next((one.cap for one in windows if one.cap is not None), state.cap)
    kind = None if cap is None else cap.kind
    if any(one.cap is not None and one.cap.kind != kind for one in windows):
        return replace(state, cap=cap, total=math.inf)  # of several notions: no sum
    return replace(state, cap=cap, total=sum((one.total for one in windows), NONE))


def odometer(state: State, delta: float) -> float:
    """An epsilon that holds at whatever moment somebody looks.

    Pure epsilons add up at every moment (Rogers, Roth, Ullman and Vadhan 2016). In the other notions there
    is a ladder of filters, each with twice the cap of the one before; rung k may fail with probability delta
    6/(π (k+1))^2, all of them together with delta, and the lowest rung above what is spent speaks (Lécuyer
    2021). Its epsilon is the tail bound of its Rényi divergence: within cap c the loss exceeds ε with
    probability at most exp((a - 1)(D_a - ε)), with D_a = a ρ at every order a (ρ = μ²/2), or at the one
    order of the account.
    """
    delta = check_probability("delta", delta)
    cap, spent = state.cap, state.total
    if cap is None or spent == 0:
        return 0.0
    if not isinstance(spent, Fraction):
        return math.inf
    if cap.notion is Notion.PURE:
        return rounded_up(spent)
    if not delta:
        return math.inf
    rung = 0
    while _LOWEST_RUNG * 2**rung < spent:
        rung += 1
    share = delta * 6 / (math.pi * (rung + 1)) ** 2
    return _tail(cap, _LOWEST_RUNG * 2**rung, share) * (1 + 1e-12)


def _tail(cap: Cap, level: Fraction, delta: float) -> float:
    likely = -math.log(delta)
    if cap.notion is Notion.RENYI:
        assert cap.order is not None
        return float(level) + likely / (cap.order - 1)
    rho = float(level) / (2 if cap.notion is Notion.GDP else 1)
    return rho + 2 * math.sqrt(rho * likely)  # at the best order, 1 + sqrt(likely/rho)
