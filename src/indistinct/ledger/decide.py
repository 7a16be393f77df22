"""Whether an account takes a mechanism: the filter, and its words."""

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from indistinct.adjacency import Adjacency
from indistinct.errors import ArgumentError, Refused
from indistinct.ledger.amounts import NONE, Amount, added
from indistinct.ledger.events import OPEN, State
from indistinct.ledger.known import Known, known
from indistinct.ledger.notions import Cap, Notion, cap_of, check_notion, notions_for
from indistinct.mechanisms import Budget


@dataclass(frozen=True)
class Asked:
    """What somebody asks for: a mechanism, or why it cannot be one."""

    known: Known | None
    wrong: str = ""

    @classmethod
    def of(cls, mechanism: Any, adjacency: Adjacency, about: Adjacency | None) -> "Asked":
        """For the neighbours of an account. What is asked about others is refused."""
        if about is not None and about is not adjacency:
            return cls(None, f"its neighbours are {adjacency.value}, and {about.value} was asked")
        try:
            found = known(mechanism, adjacency)
            _ = found.mechanism.guarantee(adjacency)
        except ArgumentError as error:
            return cls(None, str(error))
        return cls(found)

    def prepare(self, state: State) -> None:
        """Reads what it costs, before anybody waits for a lock."""
        if self.known is not None:
            for cap in [state.cap] if state.cap is not None else possible_caps(state):
                self.known.cost(cap)

    def described(self) -> str:
        """For the journal."""
        return self.wrong if self.known is None else str(self.known.mechanism)[:2000]


@dataclass(frozen=True)
class Decision:
    """What came of it."""

    cap: Cap | None = None
    cost: Amount = NONE
    block: bool = False
    refused: Refused | None = None


def decided(state: State, asked: Asked, unapproved: str | None) -> Decision:
    """The filter: the mechanism is let through if costs stay within the cap.

    The *first* mechanism of an account may also be let through as a block: if it costs more than the cap in
    the notion but alone meets the (epsilon, delta) that was promised, read exactly. That is sound because
    whether it does is a fact of the mechanism, chosen before any answer; and where it exceeds the cap,
    nothing is ever let through after it.
    """
    if state.status != OPEN:
        return Decision(refused=Refused(state.name, f"it is {state.status}"))
    if unapproved is not None:
        return Decision(refused=Refused(state.name, unapproved))
    made = asked.known
    if made is None:
        return Decision(refused=Refused(state.name, asked.wrong))
    cap = state.cap if state.cap is not None else _best(possible_caps(state), made)
    cost = added(state.total, made.cost(cap))
    whole = State(**{**vars(state), "cap": cap})
    if whole.takes(cost):
        return Decision(cap, cost)
    if state.total == 0 and _alone(state.terms.budget, made):
        return Decision(cap, cost, block=True)
    return Decision(refused=_refusal(whole, cap, cost, made))


def possible_caps(state: State) -> list[Cap]:
    """Those of an account whose notion is not decided."""
    budget = state.terms.budget
    if budget is None:
        return [Cap(notion, math.inf) for notion in (Notion.GDP, Notion.ZCDP, Notion.PURE)]
    if state.terms.notion is not None:
        return [cap_of(budget, check_notion(state.terms.notion))]
    return [cap_of(budget, notion) for notion in notions_for(budget)]


def _best(caps: list[Cap], made: Known) -> Cap:
    """Where the mechanism takes the smallest share; the first of equals."""

    def share(cap: Cap) -> Amount:
        cost = made.cost(cap)
        if not isinstance(cost, Fraction) or not isinstance(cap.limit, Fraction):
            return NONE if isinstance(cost, Fraction) else math.inf
        return cost / cap.limit if cap.limit else (math.inf if cost else NONE)

    return min(caps, key=share)


def _alone(budget: Budget | None, made: Known) -> bool:
    return (
        budget is not None and bool(budget.delta) and budget.met_by(made.mechanism.guarantee(made.adjacency))
    )


def _refusal(state: State, cap: Cap, cost: Amount, made: Known) -> Refused:
    budget = state.terms.budget
    numbers = {"spent": state.spent, "asked": cost, "left": state.left}
    if not isinstance(cost, Fraction):
        others = [
            one
            for one in Notion
            if one is not Notion.RENYI and isinstance(made.cost(Cap(one, math.inf)), Fraction)
        ]
        which = (
            f"one kept in {' or '.join(one.value for one in others)} would take it"
            if others
            else "no account can"
        )
        reason = f"{made.mechanism} has no finite {cap.unit}, which is what it adds up; {which}"
        return Refused(state.name, reason, **numbers)
    left, limit, asked = (cap.told(amount, budget) for amount in (state.left, cap.limit, cost))
    return Refused(state.name, f"it has {left} left of {limit}, and {asked} was asked", **numbers)
