"""Whether an account takes a mechanism: the filter, and its words."""

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from indistinct.adjacency import Adjacency
from indistinct.errors import ArgumentError, Refused
from indistinct.ledger.amounts import NONE, Amount, added, short
from indistinct.ledger.events import AccountTerms, Spend, State
from indistinct.ledger.known import Known, known
from indistinct.ledger.notions import Cap, Notion, cap_of, check_notion, notions_for
from indistinct.ledger.units import strangers
from indistinct.mechanisms import Budget


@dataclass(frozen=True)
class Request:
    """What somebody asks for: a mechanism, or why it cannot be one."""

    known: Known | None
    wrong: str = ""

    @classmethod
    def of(
        cls, mechanism: Any, adjacency: Adjacency, about: Adjacency | None, unit: str | None = None
    ) -> "Request":
        """For the neighbours of an account, and for whom it protects. What is asked about others is
        refused; without a unit, whoever asks has looked at that."""
        if about is not None and about is not adjacency:
            return cls(None, f"its neighbours are {adjacency.value}, and {about.value} was asked")
        try:
            found = known(mechanism, adjacency)
            _ = found.mechanism.guarantee(adjacency)
        except ArgumentError as error:
            return cls(None, str(error))
        wrong = None if unit is None else strangers(unit, found.units)
        return cls(found) if wrong is None else cls(None, wrong)

    def prepare(self, state: State | None) -> None:
        """Reads all that deciding needs, and the description that is kept, before anybody waits for a lock:
        readings may take long, and others write meanwhile."""
        if self.known is not None and state is not None:
            taken = decided(state, self, None).refused is None
            if not taken and state.total == 0 and not state.terms.part:
                taken = self.known.read_alone(state.terms.budget)
            if taken:
                _ = self.known.description

    def same(self, spend: Spend, plan: str) -> bool:
        """Whether a spend is of this."""
        return self.known is not None and (spend.digest, spend.plan) == (self.known.digest, plan)

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


def decided(state: State, asked: Request, forbidden: str | None) -> Decision:
    """The filter: the mechanism is let through if costs stay within the cap.

    The *first* mechanism of an account may also be let through as a block: if it costs more than the cap in
    the notion but alone meets the (epsilon, delta) that was promised, read exactly. That is sound because
    whether it does is a fact of the mechanism, chosen before any answer; and where it exceeds the cap,
    nothing is ever let through after it.
    """
    made = asked.known
    if forbidden is not None or made is None:
        return Decision(refused=Refused(state.name, forbidden or asked.wrong))
    cap = state.cap if state.cap is not None else _best(possible_caps(state.terms), made)
    cost = added(state.total, made.cost(cap))
    state = replace(state, cap=cap)
    if state.takes(cost):
        return Decision(cap, cost)
    if state.total == 0 and not state.terms.part and made.alone(state.terms.budget):
        return Decision(cap, cost, block=True)
    return Decision(refused=_refusal(state, cap, cost, made))


def possible_caps(terms: AccountTerms) -> list[Cap]:
    """Those of an account whose notion is not decided; best first."""
    budget = terms.budget
    if budget is None:
        return [Cap(notion, math.inf) for notion in (Notion.GDP, Notion.ZCDP, Notion.PURE)]
    return [cap_of(budget, notion) for notion in notions_for(budget)]


def best_cap(budget: Budget, mechanism: Any, adjacency: Adjacency, notion: str | None = None) -> Cap:
    """The cap that an account with this budget gets if the mechanism is the first that it is asked for."""
    which = notions_for(budget) if notion is None else [check_notion(notion)]
    return _best([cap_of(budget, one) for one in which], known(mechanism, adjacency))


def _best(caps: list[Cap], made: Known) -> Cap:
    """Where the mechanism takes the smallest share; the first of equals."""

    def share(cap: Cap) -> Amount:
        cost = made.cost(cap)
        if not isinstance(cost, Fraction) or not isinstance(cap.limit, Fraction):
            return NONE if isinstance(cost, Fraction) else math.inf
        return cost / cap.limit if cap.limit else (math.inf if cost else NONE)

    return min(caps, key=share)


def _refusal(state: State, cap: Cap, cost: Amount, made: Known) -> Refused:
    budget, limit = state.terms.budget, cap.limit
    numbers = {"spent": state.spent, "asked": cost, "left": state.left}
    if not isinstance(cost, Fraction) or not isinstance(limit, Fraction):
        ways = {one: Cap(one, math.inf, 2.0 if one is Notion.RENYI else None) for one in Notion}
        others = [one.value for one, other in ways.items() if isinstance(made.cost(other), Fraction)]
        which = f"one kept in {' or '.join(others)} could" if others else "none can"
        reason = f"{made.mechanism} has no finite {cap.unit}, so that this account cannot take it; {which}"
        return Refused(state.name, reason, **numbers)
    share = short(100 * cost / limit) if limit else "0"
    left = short(100 * state.left / limit, down=True) if limit else "0"
    asked, whole, spent = (cap.told(amount, budget) for amount in (cost, limit, state.total))
    reason = (
        f"{asked} was asked ({share} % of the budget), and {left} % is left of {whole} ({spent} is taken)"
    )
    return Refused(state.name, reason, **numbers)
