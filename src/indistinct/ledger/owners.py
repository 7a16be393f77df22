"""What owners of an account do: approve plans, raise a cap, lock, unlock and close."""

from indistinct.errors import Refused
from indistinct.ledger.book import Book
from indistinct.ledger.chain import check_text
from indistinct.ledger.events import CLOSED, State
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
    with book.transaction():
        state = book.locked(name)
        if state.parent or state.terms.renews or state.terms.budget is None or state.cap is None:
            raise Refused(name, "only one with a budget of its own, and a notion, can have a larger one")
        cap = cap_of(budget, state.cap.notion, state.cap.order)
        if (cap.notion, cap.order) != (state.cap.notion, state.cap.order) or cap.limit < state.cap.limit:
            raise Refused(name, f"{budget} is not more than {state.terms.budget}, in the same notion")
        content = {"cap": cap.to_json(), "budget": budget.to_json()}
        book.append(state, None, "raised", "", content, who)


def shut(book: Book, whole: State, event: str, who: str) -> None:
    """Closes or unlocks an account, and its windows."""
    windows = [one.name for one in book.states(whole.name)] if whole.terms.renews else []
    for name in [whole.name, *windows]:
        with book.transaction():
            state = book.locked(name)
            if event == "unlocked" and state.status == CLOSED:
                raise Refused(name, "it is closed, for good; only what is locked can be unlocked")
            book.append(state, None, event, "", {}, who)
