"""Parts of an account: disjoint parts of its data (a division), and windows of time.

A person is in one part of a division at most. Two data sets that differ by one person differ in one part
alone; all that is asked of other parts has the same law for both. So the parts together cost as much as the
dearest, and the account holds the largest of their caps (parallel composition, McSherry 2009, for each pair
of neighbours in the filter of the whole). Replacing a person may move them to another part: then this does
not hold, and a division is refused.

A window has the whole cap for itself: the promise is then one for each window.
"""

from dataclasses import replace
from datetime import datetime, timedelta
from fractions import Fraction

from indistinct.adjacency import Adjacency
from indistinct.errors import ArgumentError, Refused
from indistinct.ledger.amounts import NONE, written
from indistinct.ledger.book import LEDGER, Book
from indistinct.ledger.chain import check_text
from indistinct.ledger.events import State
from indistinct.ledger.lineage import lineage
from indistinct.ledger.notions import Cap, cap_of
from indistinct.mechanisms import Budget

DIVISION = "division:"
"""How the keys begin under which accounts hold what they gave to divisions."""


def is_division(key: str) -> bool:
    """Whether an account holds something for a division under this key."""
    return key.startswith(DIVISION)


def division_of(name: str) -> str:
    """The key under which the account above holds what the division of a part takes."""
    return DIVISION + name.rpartition("/")[2].partition("=")[0]


def check_name(name: object, argument: str = "name") -> str:
    """A name that can be shown, typed and found again; those of parts are made of several."""
    text = check_text(argument, name, longest=200)
    if text != text.strip() or "/" in text or "=" in text:
        raise ArgumentError(argument, name, "without / and =, and without spaces at its ends")
    return text


# -- divisions ------------------------------------------------------------------------------------


def divided(book: Book, whole: State, name: str, division: str, budget: Budget | None, who: str) -> str:
    """The name of a part, which is opened if it is not there."""
    own = f"{whole.name}/{check_name(division, 'division')}={check_name(name)}"
    if whole.terms.adjacency is not Adjacency.ADD_REMOVE:
        raise Refused(
            whole.name, "a replaced record may move to another part: only add/remove can be divided"
        )
    if whole.cap is None or whole.terms.renews is not None:
        raise Refused(whole.name, "only an account whose notion is decided, without windows, can be divided")
    asked = None if budget is None else cap_of(budget, whole.cap.notion, whole.cap.order)
    with book.transaction():
        book.locked(LEDGER)
        line = lineage(book, whole.name, locked=True)
        above = line.own
        there = book.state(own)
        if there is not None:
            if asked not in (None, there.cap):
                raise Refused(own, "it is there, with another cap")
            return own
        held = book.spend(above.name, DIVISION + division)
        before = NONE if held is None else held.cost
        cap = _most(above, before) if asked is None else asked
        if shut := line.shut():
            raise Refused(above.name, shut)
        if not above.takes(max(cap.limit - before, NONE)):
            raise Refused(
                above.name, f"a part with {cap.words} does not fit into what is left", left=above.left
            )
        if held is None or cap.limit > before:
            content = {"cost": written(cap.limit)}
            book.append(above, held, "division", DIVISION + division, content, who)
        book.open(own, replace(above.terms, budget=budget, part=True), cap, who, {})
    return own


def _most(above: State, held: Fraction | float) -> Cap:
    """What a division may hold: all that is left, and what it has."""
    assert above.cap is not None
    return replace(above.cap, limit=above.left + held)


# -- windows --------------------------------------------------------------------------------------


def period(time: str, renews: str | None) -> str:
    """The window of a time: later ones sort behind.

    >>> [period("2026-11-16T10:00:00", renews) for renews in ("month", "quarter", "year")]
    ['2026-11', '2026-Q4', '2026']
    """
    year, month = time[:4], int(time[5:7])
    return {"month": time[:7], "quarter": f"{year}-Q{(month + 2) // 3}", "year": year}[renews or "year"]


def period_ahead(book: Book, window: State) -> bool:
    """Whether a window of another ledger begins more than a day after now. Ours would be closed for it."""
    whole, _, own = window.name.rpartition("/")
    kind, _, named = own.partition("=")
    if not whole or window.terms.part or kind not in ("month", "quarter", "year"):
        return False
    tomorrow = datetime.fromisoformat(book.clock()) + timedelta(days=1)
    return named > period(tomorrow.isoformat(), kind)


def _name(book: Book, whole: State) -> str:
    """Of the window of now. A clock that is set back opens none that has passed."""
    prefix = f"{whole.name}/{whole.terms.renews}="
    names = [one.name for one in book.states(whole.name)]
    return max([prefix + period(max(book.clock(), whole.time), whole.terms.renews), *names])


def current(book: Book, whole: State) -> State:
    """An account itself, or its window of now; before anything was asked in that, as if it were open."""
    if whole.terms.renews is None:
        return whole
    return book.state(_name(book, whole)) or whole


def window(book: Book, whole: State, who: str) -> str:
    """The name of the window of now, which is opened if it is not there."""
    name = _name(book, whole)
    if book.state(name) is None:
        with book.transaction():
            book.locked(LEDGER)
            if book.state(name) is None:
                book.open(name, replace(whole.terms, renews=None), whole.cap, who, {})
    return name
