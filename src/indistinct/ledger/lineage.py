"""An account and all that it is a part of: whether anything may be asked of it is a question to all of them.

The name of a part begins with the name of what it is a part of, so that nobody has to follow pointers, and
rows are locked from the whole to the part, by everybody in the same order.
"""

from dataclasses import dataclass, replace
from typing import Any

from indistinct.errors import ArgumentError
from indistinct.ledger.book import Book
from indistinct.ledger.events import ANSWERS, CLOSED, LOCKED, OPEN, Spend, State, parent_of


@dataclass(frozen=True)
class Lineage:
    """An account, and the ones above it up to the whole, at one moment."""

    states: tuple[State, ...]
    """The whole first, the account itself last."""

    @property
    def own(self) -> State:
        return self.states[-1]

    @property
    def whole(self) -> State:
        return self.states[0]

    @property
    def status(self) -> str:
        """What is closed or locked anywhere above is so here."""
        found = {one.status for one in self.states}
        return next((status for status in (CLOSED, LOCKED) if status in found), OPEN)

    def told(self) -> State:
        """The account as it is told: closed or locked where something above is, and with the refusals of the
        whole, which are counted for all parts together."""
        return replace(self.own, status=self.status, told=self.whole.told)

    def shut(self) -> str | None:
        """Why nobody may ask the account, whatever it is that they ask."""
        if self.status != OPEN:
            which = next(one.name for one in self.states if one.status == self.status)
            return f"it is {self.status}" if which == self.own.name else f"{which!r} is {self.status}"
        over = (one.name for one in self.states[:-1] if one.over)
        return next((f"more is spent of {name!r} than its cap" for name in over), None)

    def forbidden(self, book: Book, plan: str) -> str | None:
        """Why a plan may not ask it: it is shut, or the plan is not approved, here or above."""
        if shut := self.shut():
            return shut
        if not any(one.terms.approval for one in self.states):
            return None
        if plan and any(book.approved(one.name, plan) for one in self.states):
            return None
        return f"the plan {plan} has not been approved" if plan else "it asks for a plan that was approved"

    def note(
        self, book: Book, state: State, spend: Spend | None, event: str, key: str, content: Any, who: str
    ) -> Spend | None:
        """An entry of the account, which is now in this state. What it tells of the data of a part, or in a
        window, is told of the whole, and counts there."""
        _, found = book.append(state, spend, event, key, content, who)
        if state.parent and content.get(ANSWERS):
            told = {"of": state.name, "event": event, ANSWERS: True}
            book.append(self.whole, None, "told", "", told, who)
        return found


def names_above(name: str) -> list[str]:
    """Of all that an account is a part of, and of itself; the whole first.

    >>> names_above("a/state=CA/county=Mono")
    ['a', 'a/state=CA', 'a/state=CA/county=Mono']
    """
    found = [name]
    while above := parent_of(found[-1]):
        found.append(above)
    return found[::-1]


def lineage(book: Book, name: str, *, locked: bool = False, telling: bool = False) -> Lineage:
    """Of an account as it is now; `locked`, it cannot be changed before the transaction ends, and nothing
    above it either (`telling`: except by this transaction, which counts at the whole)."""
    above = names_above(name)
    if not locked:
        found = [book.state(one) for one in above]
    else:
        first = [book.locked(one) if telling and one == above[0] else book.held(one) for one in above[:-1]]
        found = [*first, book.locked(name)]
    if None in found:
        raise ArgumentError("account", name, "one of this ledger, with all that it is a part of")
    return Lineage(tuple(one for one in found if one is not None))
