"""Whether a ledger is whole: chains are hashed again, states replayed from entries, costs read again.

Who can write to the database can also write all hashes anew. What they cannot change are copies of hashes
elsewhere: receipts in released folders, and signed heads.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from indistinct.adjacency import Adjacency
from indistinct.errors import ArgumentError
from indistinct.ledger.amounts import Amount
from indistinct.ledger.book import LEDGER, Book
from indistinct.ledger.chain import Entry
from indistinct.ledger.costs import cost_of
from indistinct.ledger.events import CHARGED, Spend, State, replayed
from indistinct.ledger.known import digest_of
from indistinct.ledger.notions import Cap
from indistinct.mechanisms import Mechanism

if TYPE_CHECKING:
    from indistinct.ledger.ledger import Ledger


def mistakes(ledger: "Ledger", receipts: Iterable[Mapping[str, Any]]) -> list[str]:
    """What is wrong, one sentence for each mistake."""
    book = ledger.book
    found = list(_ledger(book))
    for state in book.states():
        found += _account(book, state)
    found += _descriptions(book)
    return found + list(_receipts(book, receipts))


def chained(book: Book, name: str, found: list[str]) -> Iterator[Entry]:
    """The entries of an account, from the first, as far as their numbers and hashes follow from each
    other."""
    number, head = 0, ""
    for entry in book.all_entries(name):
        number += 1
        if entry.number != number:
            found.append(f"{_called(name)}: entry {number} is missing")
            return
        if entry.hash != entry.chained(head):
            found.append(f"{_called(name)}: entry {number} was changed, or is not where it was")
            return
        head = entry.hash
        yield entry


def _ledger(book: Book) -> Iterator[str]:
    """The journal of the ledger itself names every account."""
    found: list[str] = []
    state, parents = book.state(LEDGER), {}
    last: Entry | None = None
    for last in chained(book, LEDGER, found):
        if last.event == "account":
            parents[last.key] = last.content["parent"]
    yield from found
    if not found and (
        state is None or last is None or (state.number, state.head) != (last.number, last.hash)
    ):
        yield f"{_called(LEDGER)}: its last entries are missing, or its state was changed"
    there = {one.name: one.parent for one in book.states()}
    yield from (f"{_called(name)}: it is missing" for name in sorted(parents.keys() - there.keys()))
    yield from (f"{_called(name)}: it was not opened here" for name in sorted(there.keys() - parents.keys()))
    for name in sorted(there.keys() & parents.keys()):
        if there[name] != parents[name]:
            yield f"{_called(name)}: it was opened as a part of {parents[name]!r}"


def _account(book: Book, state: State) -> list[str]:
    found: list[str] = []
    approved: set[str] = set()
    noted: set[str] = set()

    def seen(entries: Iterable[Entry]) -> Iterator[Entry]:
        for entry in entries:
            if entry.event == "approved":
                approved.add(entry.content["plan"])
            if entry.event == "files":
                noted.update(entry.content["digests"].values())
            yield entry

    called = _called(state.name)
    try:
        after, spends = replayed(seen(chained(book, state.name, found)), state.parent)
    except (ArgumentError, KeyError, TypeError, ValueError) as error:
        return [*found, f"{called}: {error}"]
    if found:
        return found
    if after != state:
        names = [name for name, value in vars(after).items() if value != getattr(state, name)]
        found.append(f"{called}: its {' and '.join(names)} are not what its entries lead to")
    found += _spends(book, state, spends)
    sql = "SELECT plan FROM approvals WHERE account = ?"
    if {row[0] for row in book.store.run(sql, state.name)} != approved:
        found.append(f"{called}: its approvals are not those of its entries")
    sql = "SELECT digest FROM files WHERE account = ?"
    if not {row[0] for row in book.store.run(sql, state.name)} <= noted:
        found.append(f"{called}: its files are not those of its entries")
    return found


def _spends(book: Book, state: State, spends: dict[str, Spend]) -> Iterator[str]:
    """Rows of spends are what entries lead to; each has its mechanism, at no less than its cost, and a
    secret exactly while it is charged and not complete."""
    called, costs = _called(state.name), dict[tuple[str, Amount], str]()
    there = {spend.key: spend for spend in book.all_spends(state.name)}
    for key in sorted(there.keys() | spends.keys()):
        if there.get(key) != spends.get(key):
            yield f"{called}: the spend {key!r} is not what its entries lead to"
    for spend in spends.values():
        costs.setdefault((spend.digest, spend.cost), spend.key)
    for (digest, cost), key in costs.items():
        if digest and state.cap is not None:
            wrong = _understated(book, digest, cost, state.cap)
            if wrong:
                yield f"{called}: the spend {key!r} {wrong}"
    sql = "SELECT key FROM secrets WHERE account = ?"
    kept = {row[0] for row in book.store.run(sql, state.name)}
    if not kept <= {key for key, spend in spends.items() if spend.state == CHARGED}:
        yield f"{called}: it keeps secrets of what is not being drawn"


def _understated(book: Book, digest: str, cost: Amount, cap: Cap) -> str:
    try:
        told = book.description(digest)
        mechanism = Mechanism.from_json(told["mechanism"])
        now = cost_of(mechanism, cap, Adjacency(told["adjacency"]))
    except (ArgumentError, KeyError) as error:
        return f"cannot be read again: {error}"
    return "" if cost >= now else "cost more than was counted"


def _descriptions(book: Book) -> Iterator[str]:
    for digest, text in book.store.run("SELECT digest, description FROM mechanisms"):
        if digest_of(text) != digest:
            yield f"the description of the mechanism {digest} was changed"


def _receipts(book: Book, receipts: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    for receipt in receipts:
        try:
            name, number, own = receipt["account"], receipt["number"], receipt["hash"]
        except (KeyError, TypeError):
            raise ArgumentError("receipts", receipt, "objects with account, number and hash") from None
        if book.hash_at(name, number) != own:
            yield f"{_called(name)}: entry {number} is not the one of a receipt; entries were lost or changed"


def _called(name: str) -> str:
    return f"the account {name!r}" if name else "the ledger"
