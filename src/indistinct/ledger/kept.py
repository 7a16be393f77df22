"""What a ledger keeps beside its journal: what a spend was for, so that it can be finished elsewhere, and
what was released, so that nobody has to ask for it twice. The journal has digests of all of it.
"""

import zlib
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from indistinct.ledger.chain import digest
from indistinct.ledger.events import CANCELLED, Spend

if TYPE_CHECKING:
    from indistinct.ledger.account import Account

MOST_KEPT = 2**24
"""Bytes of the results of one spend, packed."""


def keep(account: "Account", key: str, files: Mapping[str, bytes], labels: Iterable[str] = ()) -> bool:
    """Files by name, and labels that the spend is to be found by; False, and nothing kept, where that is too
    much."""
    packed = {name: zlib.compress(content) for name, content in files.items()}
    if sum(map(len, packed.values())) > MOST_KEPT:
        return False
    book, labels = account.ledger.book, sorted(labels)
    with book.transaction():
        state = book.locked(account.name)
        noted = {"files": {name: digest(content) for name, content in packed.items()}, "labels": labels}
        book.append(state, None, "kept", key, noted, account.ledger.who)
        for name, content in packed.items():
            book.store.run(
                "DELETE FROM kept WHERE account = ? AND key = ? AND name = ?", account.name, key, name
            )
            book.store.run("INSERT INTO kept VALUES (?, ?, ?, ?)", account.name, key, name, content)
        for label in labels:
            sql = "INSERT INTO labels VALUES (?, ?, ?) ON CONFLICT (account, label, key) DO NOTHING"
            book.store.run(sql, account.name, label, key)
    return True


def kept(account: "Account", key: str) -> dict[str, bytes]:
    """What was kept of a spend."""
    sql = "SELECT name, content FROM kept WHERE account = ? AND key = ?"
    rows = account.ledger.book.store.run(sql, account.name, key)
    return {name: zlib.decompress(bytes(content)) for name, content in rows}


def labelled(account: "Account", label: str) -> Spend | None:
    """The spend that was given a label, unless it was cancelled."""
    sql = "SELECT key FROM labels WHERE account = ? AND label = ?"
    found = (account.find(key) for (key,) in account.ledger.book.store.run(sql, account.name, label))
    return next((spend for spend in found if spend is not None and spend.state != CANCELLED), None)
