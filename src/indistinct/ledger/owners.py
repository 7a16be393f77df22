"""What owners of an account do: approve plans, raise a cap, lock, unlock and close."""

from collections.abc import Callable

from indistinct.errors import Refused
from indistinct.ledger.book import Book
from indistinct.ledger.chain import check_text
from indistinct.ledger.events import CANCELLED, CLOSED, State
from indistinct.ledger.known import known_again
from indistinct.ledger.lineage import names_above
from indistinct.ledger.notions import cap_of, check_sensible
from indistinct.mechanisms import Budget


def approve(book: Book, name: str, plan: str, who: str) -> None:
    """Notes that a plan may run; once."""
    plan = check_text("plan", plan)
    with book.transaction():
        state = book.locked(name)
        if not book.approved(name, plan):
            book.append(state, None, "approved", "", {"plan": plan}, who)
            book.approve(name, plan, who)


def raise_cap(book: Book, name: str, budget: Budget, who: str, confirm: bool) -> None:
    """A larger budget, in the same notion."""
    check_sensible(budget, confirm)
    meets = _meets(book, name, budget)
    with book.transaction():
        state = book.locked(name)
        if state.parent or state.terms.renews or state.terms.budget is None or state.cap is None:
            raise Refused(name, "only one with a budget of its own, and a notion, can have a larger one")
        cap = cap_of(budget, state.cap.notion, state.cap.order)
        if cap.kind != state.cap.kind or cap.limit < state.cap.limit:
            raise Refused(name, f"{budget} is not more than {state.terms.budget}, in the same notion")
        if state.total > cap.limit and not meets(state):
            raise Refused(name, f"what was taken is not within {budget}: it keeps its first promise, or none")
        content = {"cap": cap.to_json(), "budget": budget.to_json()}
        book.append(state, None, "raised", "", content, who)


def _meets(book: Book, name: str, budget: Budget) -> Callable[[State], bool]:
    """Whether what was let through because it alone met a promise meets a new one; read before anybody waits,
    and for what was there then."""
    spends = [one for one in book.all_spends(name) if one.state != CANCELLED]
    if len(spends) != 1 or not spends[0].digest:
        return lambda state: False
    fits = known_again(book.description(spends[0].digest)).read_alone(budget)
    return lambda state: fits and state.total == spends[0].cost


def unlock(book: Book, name: str, who: str) -> None:
    """Opens what was locked; nothing else does, not even the next window."""
    with book.transaction():
        state = book.locked(name)
        if state.parent:
            whole = names_above(name)[0]
            raise Refused(name, f"what refusals told is counted for the whole: unlock {whole!r}")
        if state.status == CLOSED:
            raise Refused(name, "it is closed, for good; only what is locked can be unlocked")
        book.append(state, None, "unlocked", "", {}, who)


def close(book: Book, name: str, who: str) -> None:
    """For good, with all its parts."""
    with book.transaction():
        book.append(book.locked(name), None, "closed", "", {}, who)
