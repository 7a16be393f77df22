"""Whether a ledger is whole: chains are hashed again, states replayed from entries, costs read again.

Who can write to the database can also write all hashes anew. What they cannot change are copies of hashes
elsewhere: receipts in released folders, and signed heads.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from indistinct.adjacency import Adjacency
from indistinct.errors import ArgumentError
from indistinct.ledger.amounts import Amount
from indistinct.ledger.book import DESCRIBED, FILES, LEDGER, Book
from indistinct.ledger.chain import JournalEntry, commitment, digest
from indistinct.ledger.costs import cost_of
from indistinct.ledger.events import CANCELLED, CHARGED, Spend, State, replayed
from indistinct.ledger.known import digest_of, known_again
from indistinct.ledger.notions import Cap
from indistinct.ledger.structure import misfits
from indistinct.mechanisms import Mechanism

if TYPE_CHECKING:
    from indistinct.ledger.ledger import Ledger

_NOTED = {"approved", "files", "kept", "charged", "opened"}
"""Events that say something of a table beside the journal."""
_TOLD = re.compile(f'"({DESCRIBED}|block)":')
_UNREADABLE = (ValueError, KeyError, TypeError, AttributeError, ArithmeticError, RecursionError)
"""What reading something that was changed by hand may raise; all errors of this package are among them."""


def mistakes(ledger: "Ledger", receipts: Iterable[Mapping[str, Any]]) -> list[str]:
    """What is wrong, one sentence for each mistake."""
    book, found = ledger.book, list[str]()
    states: dict[str, State] = {}
    described: dict[str, set[str]] = {}
    for (name,) in book.store.run("SELECT name FROM accounts ORDER BY name"):
        found += _read(_known, book, name, states)
    found += _read(_ledger, book, LEDGER, states)
    for state in list(states.values()):
        found += _read(partial(_account, described), book, state.name, states)
    found += _read(_fit, book, LEDGER, states)
    found += _descriptions(book, described)
    found += [f"{_called(name)}: it is not there, and some of {table} is" for table, name in _orphans(book)]
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


def _fit(book: Book, name: str, states: dict[str, State]) -> list[str]:
    accounts = {one: state for one, state in states.items() if one != LEDGER}
    return [f"{_called(one)}: {wrong}" for one, wrong in misfits(accounts, book.spend)]


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
            ended, at = entry.content["name"], entry.content["at"]
            tokens = [replace(one, revoked=at) if one.valid_of(ended) else one for one in tokens]
    if name not in states:
        yield f"{_called(name)}: its state is missing"
    rows = book.store.run("SELECT name, role, issued, expires, digest, revoked FROM tokens")
    if Counter(tokens) != Counter(_Issued(*row) for row in rows):
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
    issued: str
    expires: str
    digest: str
    revoked: str = ""

    def valid_of(self, name: str) -> bool:
        return self.name == name and not self.revoked


@dataclass
class _Beside:
    """What a journal says of the tables beside it, each of which is compared with all of its rows."""

    approvals: set[tuple[str, str]] = field(default_factory=set)
    files: set[tuple[str, str]] = field(default_factory=set)
    labels: set[tuple[str, str]] = field(default_factory=set)
    kept: dict[tuple[str, str], str] = field(default_factory=dict)
    commitments: dict[str, str] = field(default_factory=dict)
    """To each secret. What was charged in another ledger has its secret there."""
    described: dict[str, set[str]] = field(default_factory=dict)
    blocks: set[str] = field(default_factory=set)
    """Keys of what was let through because it alone met the promise."""

    def seen(self, entries: Iterable[JournalEntry]) -> Iterator[JournalEntry]:
        """The same entries, noted."""
        for entry in entries:
            content = entry.content if entry.event in _NOTED or _TOLD.search(entry.text) else {}
            if entry.event == "approved":
                self.approvals.add((content["plan"], entry.who))
            elif entry.event == "files":
                self.files.update(content["digests"].items())
            elif entry.event == "kept":
                self.labels.update((label, entry.key) for label in content["labels"])
                self.kept.update({(entry.key, name): own for name, own in content["files"].items()})
            elif entry.event == "charged":
                self.commitments[entry.key] = content["secret"]
            elif entry.event == "opened" and entry.account == LEDGER:
                self.commitments[FILES] = content["secret"]
            if "block" in content:
                self.blocks.add(entry.key)
            if DESCRIBED in content:
                mechanism = content.get("spend", content)["digest"]
                self.described.setdefault(mechanism, set()).add(content[DESCRIBED])
            yield entry


def _account(described: dict[str, set[str]], book: Book, name: str, states: dict[str, State]) -> list[str]:
    state, found, beside = states[name], list[str](), _Beside(described=described)
    called = _called(name)
    try:
        after, spends = replayed(beside.seen(chained(book, name, found)))
    except _UNREADABLE as error:
        return [*found, f"{called}: {error}"]
    if found:
        return found
    if after != state:
        wrong = [part for part, value in vars(after).items() if value != getattr(state, part)]
        found.append(f"{called}: its {' and '.join(wrong)} are not what its entries lead to")
    found += _spends(book, state, spends)
    for key in beside.blocks:
        if state.over and spends[key].state != CANCELLED and not _alone(book, spends[key].digest, state):
            found.append(f"{called}: the spend {key!r} does not meet the promise that it was let through for")
    rows = book.store.run("SELECT key, secret FROM hidden WHERE account = ?", name)
    hidden = {key: commitment(bytes(secret)) for key, secret in rows}
    needed = {
        key: own
        for key, own in beside.commitments.items()
        if (not name and key == FILES) or (key in spends and spends[key].state == CHARGED)
    }
    if hidden.keys() - needed.keys():
        found.append(f"{called}: it keeps the secret of what is not being drawn")
    if any(hidden.get(key) != own for key, own in needed.items()):
        found.append(f"{called}: the secret of what is being drawn is missing, or another")
    rows = book.store.run("SELECT key, name, content FROM kept WHERE account = ?", name)
    kept = {(key, file): digest(bytes(content)) for key, file, content in rows}
    tables: dict[str, tuple[str, Any]] = {
        "approvals": ("plan, who", beside.approvals),
        "files": ("path, digest", beside.files),
        "labels": ("label, key", beside.labels),
    }
    for table, (columns, noted) in tables.items():
        if set(book.store.run(f"SELECT {columns} FROM {table} WHERE account = ?", name)) != noted:
            found.append(f"{called}: its {table} are not those of its entries")
    if kept != beside.kept:
        found.append(f"{called}: what it keeps is not what its entries say")
    return found


def _orphans(book: Book) -> Iterator[tuple[str, str]]:
    """Rows of accounts that are not there."""
    for table in ("entries", "spends", "approvals", "files", "labels", "kept", "hidden"):
        sql = f"SELECT DISTINCT account FROM {table} WHERE account NOT IN (SELECT name FROM accounts)"
        yield from ((table, name) for (name,) in book.store.run(sql))


def _spends(book: Book, state: State, spends: dict[str, Spend]) -> Iterator[str]:
    """Rows of spends are what entries lead to; each has its mechanism, at no less than its cost."""
    called, costs = _called(state.name), dict[tuple[str, Amount], str]()
    there = {spend.key: spend for spend in book.all_spends(state.name)}
    for key in sorted(there.keys() | spends.keys()):
        if there.get(key) != spends.get(key):
            yield f"{called}: the spend {key!r} is not what its entries lead to"
    for spend in spends.values():
        costs.setdefault((spend.digest, spend.cost), spend.key)
    for (own, cost), key in costs.items():
        if own and state.cap is not None:
            wrong = _understated(book, own, cost, state.cap)
            if wrong:
                yield f"{called}: the spend {key!r} {wrong}"


def _understated(book: Book, own: str, cost: Amount, cap: Cap) -> str:
    try:
        told = book.description(own)
        mechanism = Mechanism.from_json(told["mechanism"])
        now = cost_of(mechanism, cap, Adjacency(told["adjacency"]))
    except _UNREADABLE as error:
        return f"cannot be read again: {error}"
    return "" if cost >= now else "cost more than was counted"


def _alone(book: Book, own: str, state: State) -> bool:
    return known_again(book.description(own)).read_alone(state.terms.budget)


def _descriptions(book: Book, described: dict[str, set[str]]) -> Iterator[str]:
    """One that no entry speaks of came with a merge, and nothing was taken in by it."""
    for own, text in book.store.run("SELECT digest, description FROM mechanisms"):
        if digest_of(text) != own or digest(text.encode()) not in described.get(own, {digest(text.encode())}):
            yield f"the description of the mechanism {own} was changed"


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
