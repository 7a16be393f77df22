"""Whether a ledger is whole: chains are hashed again, states replayed from entries, costs read again.

Who can write to the database can also write all hashes anew. What they cannot change are copies of hashes
elsewhere: receipts in released folders, and signed heads.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from indistinct.adjacency import Adjacency
from indistinct.errors import ArgumentError
from indistinct.ledger.amounts import Amount
from indistinct.ledger.book import LEDGER, Book
from indistinct.ledger.chain import JournalEntry
from indistinct.ledger.costs import cost_of
from indistinct.ledger.events import CHARGED, Spend, State, replayed
from indistinct.ledger.known import digest_of
from indistinct.ledger.notions import Cap
from indistinct.mechanisms import Mechanism

if TYPE_CHECKING:
    from indistinct.ledger.ledger import Ledger

FILES = "files"
"""Under which the ledger itself hides the key for digests of files."""
_UNREADABLE = (ValueError, KeyError, TypeError, AttributeError, ArithmeticError, RecursionError)
"""What reading something that was changed by hand may raise; all errors of this package are among them."""


def mistakes(ledger: "Ledger", receipts: Iterable[Mapping[str, Any]]) -> list[str]:
    """What is wrong, one sentence for each mistake."""
    book, found = ledger.book, list[str]()
    states: dict[str, State] = {}
    for (name,) in book.store.run("SELECT name FROM accounts ORDER BY name"):
        found += _read(_known, book, name, states)
    found += _read(_ledger, book, LEDGER, states)
    for state in list(states.values()):
        found += _read(_account, book, state.name, states)
    found += _descriptions(book)
    found += [f"the ledger: there is a {one} in it, which is not its own" for one in book.store.strangers()]
    return found + list(_receipts(book, receipts))


def _read(
    look: Callable[[Book, str, dict[str, State]], Iterable[str]],
    book: Book,
    name: str,
    states: dict[str, State],
) -> list[str]:
    """What a look at an account finds; also that it cannot be read."""
    try:
        return list(look(book, name, states))
    except _UNREADABLE as error:
        return [f"{_called(name)}: it cannot be read ({type(error).__name__}: {error})"]


def _known(book: Book, name: str, states: dict[str, State]) -> list[str]:
    state = book.state(name)
    if state is not None:
        states[name] = state
    return []


def chained(book: Book, name: str, found: list[str]) -> Iterator[JournalEntry]:
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


def _ledger(book: Book, name: str, states: dict[str, State]) -> Iterator[str]:
    """The journal of the ledger itself names every account, and the tokens that were given out."""
    parents: dict[str, str] = {}
    tokens: list[_Issued] = []
    for entry in chained(book, LEDGER, []):
        if entry.event == "account":
            parents[entry.key] = entry.content["parent"]
        elif entry.event == "token":
            tokens.append(_Issued(**entry.content))
        elif entry.event == "token revoked":
            ended = entry.content["name"]
            tokens = [replace(one, revoked=one.revoked or one.name == ended) for one in tokens]
    if name not in states:
        yield f"{_called(name)}: its state is missing"
    rows, noted = book.store.run("SELECT name, role, expires, digest, revoked FROM tokens"), set[str]()
    noted.update(one.digest for one in tokens)  # earlier versions noted none
    if Counter(tokens) != Counter(
        _Issued(who, role, expires, digest if digest in noted else "", bool(revoked))
        for who, role, expires, digest, revoked in rows
    ):
        yield f"{_called(LEDGER)}: its tokens are not those of its entries"
    there = {name: state.parent for name, state in states.items() if name != LEDGER}
    yield from (f"{_called(name)}: it is missing" for name in sorted(parents.keys() - there.keys()))
    yield from (f"{_called(name)}: it was not opened here" for name in sorted(there.keys() - parents.keys()))
    for name in sorted(there.keys() & parents.keys()):
        if there[name] != parents[name]:
            yield f"{_called(name)}: it was opened as a part of {parents[name]!r}"


@dataclass(frozen=True)
class _Issued:
    name: str
    role: str
    expires: str
    digest: str = ""
    revoked: bool = False


def _account(book: Book, name: str, states: dict[str, State]) -> list[str]:
    state, found = states[name], list[str]()
    approved: set[tuple[str, str]] = set()
    noted: set[tuple[str, str]] = set()
    drawn: set[str] = set()
    """Charged here: what was charged in another ledger has its secret there."""

    def seen(entries: Iterable[JournalEntry]) -> Iterator[JournalEntry]:
        for entry in entries:
            if entry.event == "approved":
                approved.add((entry.content["plan"], entry.who))
            if entry.event == "files":
                noted.update(entry.content["digests"].items())
            if entry.event == "charged":
                drawn.add(entry.key)
            yield entry

    called = _called(name)
    try:
        after, spends = replayed(seen(chained(book, name, found)), state.parent if name else "")
    except _UNREADABLE as error:
        return [*found, f"{called}: {error}"]
    if found:
        return found
    if after != state:
        wrong = [part for part, value in vars(after).items() if value != getattr(state, part)]
        found.append(f"{called}: its {' and '.join(wrong)} are not what its entries lead to")
    found += _spends(book, state, spends)
    needed = {key for key in drawn if spends[key].state == CHARGED} | ({FILES} if not name else set())
    kept = {row[0] for row in book.store.run("SELECT key FROM hidden WHERE account = ?", name)}
    if kept - needed:
        found.append(f"{called}: it keeps the secret of what is not being drawn")
    if needed - kept:
        found.append(f"{called}: the secret of what is being drawn is missing")
    sql = "SELECT plan, who FROM approvals WHERE account = ?"
    if set(book.store.run(sql, name)) != approved:
        found.append(f"{called}: its approvals are not those of its entries")
    sql = "SELECT path, digest FROM files WHERE account = ?"
    if set(book.store.run(sql, name)) != noted:
        found.append(f"{called}: its files are not those of its entries")
    return found


def _spends(book: Book, state: State, spends: dict[str, Spend]) -> Iterator[str]:
    """Rows of spends are what entries lead to; each has its mechanism, at no less than its cost."""
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


def _understated(book: Book, digest: str, cost: Amount, cap: Cap) -> str:
    try:
        told = book.description(digest)
        mechanism = Mechanism.from_json(told["mechanism"])
        now = cost_of(mechanism, cap, Adjacency(told["adjacency"]))
    except _UNREADABLE as error:
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
