"""A privacy budget as data that JSON can carry: what the command line, the service and the page all say of an
account, a spend and an entry. Amounts are exact fractions, as text."""

from fractions import Fraction
from typing import Any

from indistinct.ledger import Spend
from indistinct.ledger.amounts import Amount, written
from indistinct.ledger.chain import JournalEntry
from indistinct.ledger.events import ANSWERS, AccountTerms, State
from indistinct.ledger.notions import Cap, promise
from indistinct.mechanisms import Budget
from indistinct.numerics.rounding import rounded_up

_LONGEST = 300
_DELTA = 1e-6


def account_data(state: State) -> dict[str, Any]:
    """Where an account stands."""
    cap, terms = state.cap, state.terms
    capped = cap is not None and isinstance(cap.limit, Fraction)
    return {
        "account": state.name,
        "parent": state.parent,
        "status": state.status,
        "promise": promise(terms.budget),
        "adjacency": terms.adjacency.value,
        "unit": terms.unit,
        "notion": None if cap is None else cap.notion.value,
        "adds_up": None if cap is None else cap.unit,
        "limit": written(cap.limit) if cap is not None and capped else None,
        "spent": written(state.spent),
        "reserved": written(state.reserved),
        "left": written(state.left) if capped else None,
        "share": share(state),
        "spent_words": _words(state, state.spent),
        "reserved_words": _words(state, state.reserved),
        "left_words": _words(state, state.left, down=True) if capped else None,
        "approval": terms.approval,
        "told": state.told,
        "refusals": terms.refusals,
        "renews": terms.renews,
        "entries": state.number,
        "head": state.head,
        "time": state.time,
    }


def share(state: State) -> float | None:
    """How much of the cap is spent or reserved, rounded up; None without a cap."""
    cap = state.cap
    if cap is None or not isinstance(cap.limit, Fraction):
        return None if state.terms.budget is None else 0.0
    if not isinstance(state.total, Fraction) or not cap.limit:
        return 1.0
    return rounded_up(state.total / cap.limit)


def _words(state: State, amount: Amount, *, down: bool = False) -> str:
    told = "nothing" if state.cap is None else state.cap.told(amount, state.terms.budget, down=down)
    return told.replace("e-0", "e-")  # 1e-6, as people write it


def spend_data(spend: Spend) -> dict[str, Any]:
    """One spend."""
    return {
        "account": spend.account,
        "key": spend.key,
        "number": spend.number,
        "state": spend.state,
        "mechanism": mechanism_words(spend),
        "cost": written(spend.cost),
        "plan": spend.plan,
        "time": spend.time,
        "who": spend.who,
        "note": spend.note,
        "digests": dict(spend.digests),
        "hash": spend.hash,
    }


def mechanism_words(spend: Spend) -> str:
    """What was run, as an expression."""
    if not spend.digest:
        return "parts of the data"
    text = str(spend.mechanism)
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"


def report_delta(terms: AccountTerms) -> float:
    """At which a report reads epsilon: that of the promise, if it has one."""
    return (terms.budget.delta if terms.budget is not None else None) or _DELTA


def entry_words(entry: JournalEntry) -> str:
    """What an entry is about, in one line."""
    content = entry.content
    terms = content.get("terms", content)
    if terms.get("budget") is not None:
        return promise(Budget.from_json(terms["budget"]))
    if content.get("cap") is not None:
        return Cap.from_json(content["cap"]).words
    reason, asked = content.get("reason"), content.get("asked")
    if reason:
        return f"{reason} (asked: {asked})" if asked else str(reason)
    named = {**content, **content.get("more", {})}
    told = [
        f"{name} {value}" for name, value in named.items() if isinstance(value, str | int) and name != ANSWERS
    ]
    return ", ".join([entry.key, *told] if entry.key else told)
