"""Whom a mechanism protects, and whom an account does: what one sort costs does not add up with another.

A query says whose records it bounds. An account says it in words: `one record`, or one of somebody who may
have several. Noise by itself, and a claim, say nothing, and are about whatever the account is.
"""

from collections.abc import Iterable, Iterator
from typing import Any

RECORD = "one record"
_USER = "one user (a value of "
_ROWS = (RECORD, "one row of a query")


def declared(description: Any) -> Iterator[str]:
    """Whom the queries in a description, JSON data, protect."""
    if isinstance(description, dict):
        if description.get("is") == "Records":
            yield RECORD
        elif description.get("is") in ("UserRecords", "UserTotals"):
            yield f"{_USER}{description.get('column')})"
    inner = description.values() if isinstance(description, dict) else description
    for one in inner if isinstance(description, dict | list) else ():
        yield from declared(one)


def strangers(account: str, units: Iterable[str]) -> str | None:
    """Why what protects these does not belong into an account that protects another; None if it does."""
    for own in units:
        several = account not in _ROWS
        named = account == own or not (several and account.startswith(_USER))
        if (own == RECORD) == several or not (own == RECORD or named):
            return f"it protects {account}, and this protects {own}: their costs do not add up"
    return None
