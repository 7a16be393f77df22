"""The life of an account, as a function: what each entry of the journal makes of the state before it.

The ledger writes no state that did not come from here, and `verify` and `merge` get theirs here from entries
alone. What would overspend cannot be applied.

A spend is `reserved` (counted, nothing drawn), then `charged` (final: something may be drawn from now on),
then `complete` (released, with digests). Only what is reserved can be `cancelled`.
"""

import json
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any, Self

from indistinct.adjacency import Adjacency, check_adjacency
from indistinct.errors import ArgumentError, check_count
from indistinct.ledger.amounts import NONE, Amount, minus, read
from indistinct.ledger.chain import JournalEntry
from indistinct.ledger.notions import Cap
from indistinct.mechanisms import Budget, Mechanism

RESERVED, CHARGED, COMPLETE, CANCELLED = "reserved", "charged", "complete", "cancelled"
OPEN, LOCKED, CLOSED = "open", "locked", "closed"
ANSWERS = "told"
"""In a content: what happened could have told something about the data that no noise covers."""


def telling(words: Iterable[str]) -> dict[str, Any]:
    """For a content: what an answer tells without noise, if anything. Records that could have been refused
    and were not tell as much as those that were, and count as much."""
    listed = list(words)
    return {ANSWERS: True, "tells": listed} if listed else {}


@dataclass(frozen=True)
class AccountTerms:
    """What an account was opened for; they stay, apart from a budget that is raised."""

    budget: Budget | None
    notion: str | None = None
    adjacency: Adjacency = Adjacency.ADD_REMOVE
    unit: str = "one record"
    approval: bool = False
    refusals: int = 5
    renews: str | None = None
    part: bool = False
    """Whether it is a part of a division, which keeps to its cap without exception."""

    def to_json(self) -> dict[str, Any]:
        """As it is journalled."""
        budget = None if self.budget is None else self.budget.to_json()
        named = {
            "budget": budget,
            "notion": self.notion,
            "adjacency": self.adjacency.value,
            "unit": self.unit,
        }
        more = {"approval": self.approval, "refusals": self.refusals, "renews": self.renews}
        return {**named, **more, "part": self.part}

    @classmethod
    def from_json(cls, data: Any) -> Self:
        """What `to_json` wrote."""
        data = dict(data)
        budget = None if data["budget"] is None else Budget.from_json(data["budget"])
        return cls(**{**data, "budget": budget, "adjacency": check_adjacency(data["adjacency"])})


@dataclass(frozen=True)
class Spend:
    """One mechanism on an account's data, once."""

    account: str
    key: str
    number: int
    state: str
    digest: str
    """Of the mechanism's description."""
    cost: Amount
    plan: str
    time: str
    who: str
    note: str
    digests: Mapping[str, str]
    """Of what was released, by name."""
    hash: str
    """Of the entry that reserved it: what a receipt holds."""
    drawn: str = ""
    """The hash of the entry that charged it."""
    description: str = field(default="", compare=False, repr=False)
    """The mechanism, its neighbours and Rényi divergences, as JSON; empty if it was not looked up."""

    @property
    def mechanism(self) -> Mechanism | None:
        """What was run; None where the budget went to the parts of a division."""
        return Mechanism.from_json(json.loads(self.description)["mechanism"]) if self.description else None

    @property
    def counts(self) -> bool:
        """Whether something may have been drawn."""
        return self.state in (CHARGED, COMPLETE)


@dataclass(frozen=True)
class State:
    """Where an account stands."""

    name: str
    parent: str
    terms: AccountTerms
    cap: Cap | None = None
    total: Amount = NONE
    """Of all that is reserved, charged and complete."""
    reserved: Amount = NONE
    told: int = 0
    status: str = OPEN
    number: int = 0
    head: str = ""
    time: str = ""

    @property
    def spent(self) -> Amount:
        """What is charged for good."""
        return minus(self.total, self.reserved)

    @property
    def left(self) -> Amount:
        """What may still be asked; infinity without a cap."""
        if self.cap is None or not isinstance(self.cap.limit, Fraction):
            return math.inf
        if not isinstance(self.total, Fraction):
            return NONE
        return max(self.cap.limit - self.total, NONE)

    @property
    def over(self) -> bool:
        """Whether more is counted than the cap: a first spend that alone meets the promise, or a merge."""
        return self.cap is not None and self.total > self.cap.limit

    @property
    def keeps_all(self) -> bool:
        """Whether something infinite is reserved. It is alone, so that nothing is left if it is cancelled."""
        return not isinstance(self.reserved, Fraction)

    def takes(self, cost: Amount) -> bool:
        """The filter."""
        return self.cap is not None and isinstance(cost, Fraction) and self.total + cost <= self.cap.limit


def parent_of(name: str) -> str:
    """What an account is a part of, by its name; nothing, of a whole."""
    return name.rpartition("/")[0]


def opened(entry: JournalEntry) -> State:
    """The state of a new account."""
    content = entry.content
    cap = None if content["cap"] is None else Cap.from_json(content["cap"])
    terms = AccountTerms.from_json(content["terms"])
    state = State(entry.account, parent_of(entry.account), terms, cap)
    return replace(state, number=entry.number, head=entry.hash, time=entry.time)


def applied(state: State, spend: Spend | None, entry: JournalEntry) -> tuple[State, Spend | None]:
    """The state, and the spend of the entry's key, after the entry."""
    if (entry.account, entry.number) != (state.name, state.number + 1) or entry.time < state.time:
        raise _impossible(entry, "the next one")
    state = replace(state, number=entry.number, head=entry.hash, time=entry.time)
    content, change = entry.content, _CHANGES.get(entry.event)
    if change is not None:
        state, spend = change(state, spend, entry, content)
    # it counts for what comes next, and for all parts and windows together: the last allowed one is answered
    if content.get(ANSWERS) is True and not state.parent:
        told = state.told + 1
        full = told >= state.terms.refusals and state.status == OPEN
        state = replace(state, told=told, status=LOCKED if full else state.status)
    return state, spend


def _reserve(
    state: State, spend: Spend | None, entry: JournalEntry, content: Any
) -> tuple[State, Spend | None]:
    if spend is not None and spend.state != CANCELLED:
        raise _impossible(entry, "a key that is not in use")
    if state.status != OPEN:
        raise _impossible(entry, f"an open account, not one that is {state.status}")
    cost = read(content["cost"])
    # the first, which alone meets the promise
    whole = content.get("block") is True and state.total == 0 and not state.terms.part
    if not (state.takes(cost) or whole):
        raise _impossible(entry, "within the cap")
    done = entry.event == "spent"
    state = replace(
        state, total=state.total + cost, reserved=state.reserved if done else state.reserved + cost
    )
    return state, Spend(
        account=entry.account,
        key=entry.key,
        number=entry.number,
        state=COMPLETE if done else RESERVED,
        digest=content["digest"],
        cost=cost,
        plan=content["plan"],
        time=entry.time,
        who=entry.who,
        note=content["note"],
        digests=content.get("digests", {}),
        hash=entry.hash,
        drawn=entry.hash if done else "",
    )


def _charge(
    state: State, spend: Spend | None, entry: JournalEntry, content: Any
) -> tuple[State, Spend | None]:
    if spend is None or spend.state != RESERVED or state.status != OPEN:
        raise _impossible(entry, "something reserved, of an open account")
    if state.over and state.total != spend.cost:
        raise _impossible(entry, "within the cap")
    return _without_reserve(state, spend), replace(spend, state=CHARGED, drawn=entry.hash)


def _complete(
    state: State, spend: Spend | None, entry: JournalEntry, content: Any
) -> tuple[State, Spend | None]:
    if spend is None or spend.state != CHARGED:
        raise _impossible(entry, "something charged")
    return state, replace(spend, state=COMPLETE, digests=content["digests"])


def _cancel(
    state: State, spend: Spend | None, entry: JournalEntry, content: Any
) -> tuple[State, Spend | None]:
    if spend is None or spend.state != RESERVED:
        raise _impossible(entry, "something reserved, of which nothing was drawn")
    state = _without_reserve(state, spend)
    total = (
        minus(state.total, spend.cost) if isinstance(spend.cost, Fraction) else NONE
    )  # an infinite one is alone
    return replace(state, total=total), replace(spend, state=CANCELLED)


def _without_reserve(state: State, spend: Spend) -> State:
    finite = isinstance(spend.cost, Fraction)
    return replace(state, reserved=minus(state.reserved, spend.cost) if finite else NONE)


def _cap(state: State, spend: Spend | None, entry: JournalEntry, content: Any) -> tuple[State, Spend | None]:
    cap = Cap.from_json(content["cap"])
    if entry.event == "notion" and (state.cap is not None or state.total):
        raise _impossible(entry, "the first choice of a notion")
    if entry.event == "raised":
        if state.cap is None or cap.kind != state.cap.kind:
            raise _impossible(entry, "in the notion of the account")
        if cap.limit < state.cap.limit:
            raise _impossible(entry, "no less than before")
        budget = Budget.from_json(content["budget"])
        state = replace(state, terms=replace(state.terms, budget=budget))
    return replace(state, cap=cap), spend


def _unlock(
    state: State, spend: Spend | None, entry: JournalEntry, content: Any
) -> tuple[State, Spend | None]:
    return replace(state, told=0, status=CLOSED if state.status == CLOSED else OPEN), spend


def _lock(state: State, spend: Spend | None, entry: JournalEntry, content: Any) -> tuple[State, Spend | None]:
    """As another ledger had it."""
    return replace(state, status=CLOSED if state.status == CLOSED else LOCKED), spend


def _close(
    state: State, spend: Spend | None, entry: JournalEntry, content: Any
) -> tuple[State, Spend | None]:
    return replace(state, status=CLOSED), spend


def _divide(
    state: State, spend: Spend | None, entry: JournalEntry, content: Any
) -> tuple[State, Spend | None]:
    """A division holds the largest cap of its parts, for good."""
    before, cost = NONE if spend is None else spend.cost, read(content["cost"])
    fits = state.status == OPEN and state.takes(minus(cost, before))
    if cost < before or not (fits or (content.get("merged") and not state.keeps_all)):
        raise _impossible(entry, "within the cap, and no less than before")
    state = replace(state, total=state.total + minus(cost, before))
    made = Spend(
        entry.account,
        entry.key,
        entry.number,
        CHARGED,
        "",
        cost,
        "",
        entry.time,
        entry.who,
        "",
        {},
        entry.hash,
    )
    return state, made if spend is None else replace(spend, cost=cost)


def _merge(
    state: State, spend: Spend | None, entry: JournalEntry, content: Any
) -> tuple[State, Spend | None]:
    """What another ledger says was spent is a fact, also beyond the cap."""
    told = content["spend"]
    if told["state"] not in (RESERVED, CHARGED, COMPLETE, CANCELLED):
        raise _impossible(entry, "in a known state")
    made = Spend(
        account=entry.account,
        key=entry.key,
        number=entry.number,
        state=told["state"],
        digest=told["digest"],
        cost=read(told["cost"]),
        plan=told["plan"],
        time=told["time"],
        who=told["who"],
        note=told["note"],
        digests=told["digests"],
        hash=told["hash"],
        drawn=told["drawn"],
    )
    if spend is not None and (spend.hash != made.hash or spend.state == COMPLETE):
        raise _impossible(entry, "new, or the same spend carried further")
    if state.keeps_all or (made.state == RESERVED and not isinstance(made.cost, Fraction)):
        raise _impossible(entry, "beside nothing infinite that may still be cancelled")
    for old, sign in ((spend, -1), (made, 1)):
        if old is None or old.state == CANCELLED:
            continue
        state = replace(state, total=_moved(state.total, old.cost, sign))
        if old.state == RESERVED:
            state = replace(state, reserved=_moved(state.reserved, old.cost, sign))
    return state, made


def _moved(total: Amount, cost: Amount, sign: int) -> Amount:
    return total + cost if sign > 0 else minus(total, cost)


_CHANGES = {
    "reserved": _reserve,
    "spent": _reserve,
    "charged": _charge,
    "complete": _complete,
    "cancelled": _cancel,
    "notion": _cap,
    "raised": _cap,
    "locked": _lock,
    "unlocked": _unlock,
    "closed": _close,
    "division": _divide,
    "merged": _merge,
}
EVENTS = frozenset(_CHANGES) | {"opened", "refused", "approved", "files", "kept", "told"}
"""Words that the ledger writes itself; callers name attempts otherwise."""


def _impossible(entry: JournalEntry, allowed: str) -> ArgumentError:
    return ArgumentError(f"entry {entry.number} ({entry.event}) of {entry.account!r}", entry.key, allowed)


def replayed(entries: Iterable[JournalEntry]) -> tuple[State, dict[str, Spend]]:
    """The state and the spends that entries, from the first, lead to. Hashes are not looked at."""
    state: State | None = None
    spends: dict[str, Spend] = {}
    for entry in entries:
        if state is None:
            if entry.event != "opened" or entry.number != 1:
                raise _impossible(entry, "the opening of the account")
            state = opened(entry)
            continue
        state, spend = applied(state, spends.get(entry.key), entry)
        if spend is not None:
            spends[entry.key] = spend
    if state is None:
        raise ArgumentError("entries", 0, "at least one")
    return state, spends


def check_terms(terms: AccountTerms) -> AccountTerms:
    """Refuses what cannot be kept."""
    check_count("refusals", terms.refusals, least=1)
    if terms.renews not in (None, "month", "quarter", "year"):
        raise ArgumentError("renews", terms.renews, "'month', 'quarter', 'year' or None")
    return terms
