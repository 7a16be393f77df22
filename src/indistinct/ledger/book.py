"""The state of accounts, in a store: read and locked by row, changed by journal entries alone."""

import getpass
import json
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import lru_cache
from typing import Any

from indistinct.errors import ArgumentError, FileError
from indistinct.ledger.amounts import read, written
from indistinct.ledger.chain import JournalEntry, canonical, digest, now
from indistinct.ledger.events import AccountTerms, Spend, State, applied, opened, parent_of
from indistinct.ledger.known import Known
from indistinct.ledger.notions import Cap
from indistinct.ledger.store import Store

_AT_ONCE = 10_000
LEDGER = ""
"""The name under which the ledger itself keeps a journal: which accounts were opened."""
FILES = "files"
"""Under which the ledger itself hides the key for digests of files."""
DESCRIBED = "described"
"""In a content: the digest of the whole description of its mechanism, for the first that has it."""
_STATE = "name, parent, terms, cap, total, reserved, told, status, number, head, time"
_SPEND = (
    "s.account, s.key, s.number, s.state, s.digest, s.cost, s.plan, s.time, s.who, s.note, s.digests, s.hash,"
    " s.drawn"
)
_ENTRY = "account, number, time, who, event, key, content, hash"


def someone() -> str:
    """Who runs this process."""
    try:
        user = getpass.getuser()
    except (KeyError, OSError):
        user = "unknown"
    return f"{user}@{socket.gethostname()}"


class Book:
    """What is written. Changes are made inside `transaction`, after `locked`."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self.clock: Callable[[], str] = now
        self._seen: dict[str, tuple[int, str]] = {}
        self._described: set[str] = set()
        self._own = threading.local()

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """All changes made inside, or none. What this process has written it remembers: a file that was set
        back to before that is refused."""
        self._own.written, self._own.described = {}, set()
        with self.store.transaction():
            yield
        for name, (number, head) in self._own.written.items():
            if number >= self._seen.get(name, (0, ""))[0]:
                self._seen[name] = number, head
        self._described |= self._own.described

    # -- reading -------------------------------------------------------------------------------

    def state(self, name: str) -> State | None:
        """Of an account, as it is now."""
        return self._state(name, "")

    def locked(self, name: str) -> State:
        """The same, and nobody else may change it before the transaction ends."""
        return self._there(name, self.store.lock)

    def held(self, name: str) -> State:
        """The same, and nobody at all may; others may hold it too."""
        return self._there(name, self.store.hold)

    def _there(self, name: str, lock: str) -> State:
        state = self._state(name, lock)
        if state is None:
            raise ArgumentError("account", name, "one of this ledger")
        return state

    def _state(self, name: str, lock: str) -> State | None:
        number, head = self._seen.get(name, (0, ""))  # before the look: another thread may write after it
        rows = self.store.run(f"SELECT {_STATE} FROM accounts WHERE name = ?{lock}", name)
        if not rows:
            if number:
                raise FileError(self.store.where, f"the account {name!r} has vanished")
            return None
        state = self._stated(rows[0])
        if state.number < number or (state.number == number and state.head != head):
            raise FileError(self.store.where, "it was set back to an older copy of itself")
        return state

    def _stated(self, row: tuple[Any, ...]) -> State:
        try:
            return _state_of(row)
        except (ValueError, KeyError, TypeError):
            raise FileError(
                self.store.where, f"the state of {row[0]!r} was changed, and cannot be read"
            ) from None

    def states(self, parent: str | None = None) -> list[State]:
        """Of all accounts, or of the parts of one."""
        where, values = ("name <> ''", ()) if parent is None else ("parent = ? AND name <> ''", (parent,))
        rows = self.store.run(f"SELECT {_STATE} FROM accounts WHERE {where}", *values)
        return sorted(map(self._stated, rows), key=lambda state: state.name)

    def spend(self, account: str, key: str) -> Spend | None:
        """Of a key, without its description."""
        rows = self.store.run(
            f"SELECT {_SPEND}, NULL FROM spends s WHERE s.account = ? AND s.key = ?", account, key
        )
        return _spend_of(rows[0]) if rows else None

    def free_key(self, account: str, prefix: str, number: int) -> str:
        """The first of numbered keys that nobody has: after a merge the next one may be another ledger's."""
        while self.spend(account, f"{prefix}{number}") is not None:
            number += 1
        return f"{prefix}{number}"

    def find(self, account: str, key: str, windows: bool) -> Spend | None:
        """The last one of a key in an account, or in its windows."""
        own = "s.account IN (SELECT name FROM accounts WHERE parent = ?)" if windows else "s.account = ?"
        found = self._spends(f"{own} AND s.key = ? ORDER BY s.account DESC", account, key)
        return found[0] if found else None

    def spends(self, account: str, limit: int | None, offset: int) -> list[Spend]:
        """Newest first."""
        ordered = "s.account = ? ORDER BY s.number DESC"
        if limit is None:
            return self._spends(ordered, account)[offset:]
        return self._spends(f"{ordered} LIMIT ? OFFSET ?", account, limit, offset)

    def _spends(self, where: str, *values: Any) -> list[Spend]:
        joined = f"SELECT {_SPEND}, m.description FROM spends s LEFT JOIN mechanisms m ON m.digest = s.digest"
        return [_spend_of(row) for row in self.store.run(f"{joined} WHERE {where}", *values)]

    def entries(self, account: str, limit: int | None = None, offset: int = 0) -> list[JournalEntry]:
        """Newest first."""
        sql = f"SELECT {_ENTRY} FROM entries WHERE account = ? ORDER BY number DESC"
        if limit is None:
            return [JournalEntry(*row) for row in self.store.run(sql, account)][offset:]
        return [
            JournalEntry(*row) for row in self.store.run(f"{sql} LIMIT ? OFFSET ?", account, limit, offset)
        ]

    def all_entries(self, account: str) -> Iterator[JournalEntry]:
        """From the first on, however many there are."""
        sql, number = f"SELECT {_ENTRY} FROM entries WHERE account = ? AND number > ?", -1
        while rows := self.store.run(f"{sql} ORDER BY number LIMIT ?", account, number, _AT_ONCE):
            yield from (JournalEntry(*row) for row in rows)
            number = rows[-1][1]

    def all_spends(self, account: str) -> Iterator[Spend]:
        """In the order of their numbers, without descriptions."""
        sql, number = f"SELECT {_SPEND}, NULL FROM spends s WHERE s.account = ? AND s.number > ?", -1
        while rows := self.store.run(f"{sql} ORDER BY s.number LIMIT ?", account, number, _AT_ONCE):
            yield from (_spend_of(row) for row in rows)
            number = rows[-1][2]

    def hash_at(self, account: str, number: int) -> str | None:
        """Of an entry."""
        sql = "SELECT hash FROM entries WHERE account = ? AND number = ?"
        rows = self.store.run(sql, account, number)
        return str(rows[0][0]) if rows else None

    def first(self, account: str) -> JournalEntry:
        """The entry that opened an account."""
        rows = self.store.run(f"SELECT {_ENTRY} FROM entries WHERE account = ? AND number = 1", account)
        if not rows:
            raise FileError(self.store.where, f"the first entry of {account!r} is missing")
        return JournalEntry(*rows[0])

    def secret(self, account: str, key: str) -> bytes | None:
        """What is hidden under a key."""
        rows = self.store.run("SELECT secret FROM hidden WHERE account = ? AND key = ?", account, key)
        return bytes(rows[0][0]) if rows else None

    def approved(self, account: str, plan: str) -> bool:
        """Whether an owner has approved a plan."""
        return bool(self.store.run("SELECT 1 FROM approvals WHERE account = ? AND plan = ?", account, plan))

    def kinds(self, account: str) -> list[tuple[str, int]]:
        """The digests of mechanisms that were charged, and how often each was."""
        drawn = "account = ? AND state IN ('charged', 'complete') AND digest <> ''"
        sql = f"SELECT digest, COUNT(*) FROM spends WHERE {drawn} GROUP BY digest"
        return [(str(digest), int(count)) for digest, count in self.store.run(sql, account)]

    def text(self, digest: str) -> str:
        """The description of a mechanism, as JSON."""
        rows = self.store.run("SELECT description FROM mechanisms WHERE digest = ?", digest)
        if not rows:
            raise FileError(self.store.where, f"the description of the mechanism {digest} is missing")
        return str(rows[0][0])

    def description(self, digest: str) -> dict[str, Any]:
        """The same, read."""
        found: dict[str, Any] = json.loads(self.text(digest))
        return found

    # -- writing -------------------------------------------------------------------------------

    def open(self, name: str, terms: AccountTerms, cap: Cap | None, who: str, more: dict[str, Any]) -> State:
        """A new account. The ledger's own row is locked, unless this is it. The first entry names the ledger,
        so that no spend here has the hash of one elsewhere, were they made by the same person in the same
        microsecond."""
        if name != LEDGER:
            more = {**more, "ledger": self.first(LEDGER).content["ledger"]}
        content = {"terms": terms.to_json(), "cap": None if cap is None else cap.to_json(), **more}
        last = self.clock() if name == LEDGER else self._told(name, who)
        entry = _chained(JournalEntry(name, 1, last, who, "opened", "", canonical(content)), "")
        state = opened(entry)
        self._insert(entry)
        self.store.put(
            f"INSERT INTO accounts ({_STATE}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            *(state.name, state.parent, _text(terms), *_changing(state)),
        )
        return self._remembered(state)

    def _told(self, name: str, who: str) -> str:
        ledger = self.locked(LEDGER)
        return self.append(ledger, None, "account", name, {"parent": parent_of(name)}, who)[0].time

    def append(
        self,
        state: State,
        before: Spend | None,
        event: str,
        key: str,
        content: dict[str, Any],
        who: str,
    ) -> tuple[State, Spend | None]:
        """One entry more, and what it changes: the account, and the spend of its key, `before` it."""
        time = max(self.clock(), state.time)  # a clock may go back; the journal does not
        entry = JournalEntry(state.name, state.number + 1, time, who, event, key, canonical(content))
        entry = _chained(entry, state.head)
        after, spend = applied(state, before, entry)
        self._insert(entry)
        self.store.put(
            "UPDATE accounts SET terms = ?, cap = ?, total = ?, reserved = ?, told = ?, status = ?,"
            " number = ?, head = ?, time = ? WHERE name = ?",
            *(_text(after.terms), *_changing(after), state.name),
        )
        if spend is not None and spend is not before:
            self._write(spend, new=before is None)
        return self._remembered(after), spend

    def _insert(self, entry: JournalEntry) -> None:
        self.store.put(
            f"INSERT INTO entries ({_ENTRY}) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
            *(entry.account, entry.number, entry.time, entry.who),
            *(entry.event, entry.key, entry.text, entry.hash),
        )

    def _write(self, spend: Spend, new: bool) -> None:
        own = (
            spend.number,
            spend.state,
            spend.digest,
            written(spend.cost),
            spend.plan,
            spend.time,
            spend.who,
        )
        own = (*own, spend.note, canonical(dict(spend.digests)), spend.hash, spend.drawn)  # type: ignore[assignment]
        if new:
            sql = (
                "INSERT INTO spends (number, state, digest, cost, plan, time, who, note, digests, hash,"
                " drawn, account, key) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
            )
        else:
            sql = (
                "UPDATE spends SET number = ?, state = ?, digest = ?, cost = ?, plan = ?, time = ?, who = ?,"
                " note = ?, digests = ?, hash = ?, drawn = ? WHERE account = ? AND key = ?"
            )
        self.store.put(sql, *own, spend.account, spend.key)

    def _remembered(self, state: State) -> State:
        self._own.written[state.name] = state.number, state.head
        return state

    def hide(self, account: str, key: str, secret: bytes) -> None:
        """Keeps a secret."""
        self.store.put("INSERT INTO hidden (account, key, secret) VALUES (?, ?, ?)", account, key, secret)

    def forget(self, account: str, key: str) -> None:
        """Destroys a secret."""
        self.store.put("DELETE FROM hidden WHERE account = ? AND key = ?", account, key)

    def approve(self, account: str, plan: str, who: str) -> None:
        """Notes that a plan may run."""
        sql = "INSERT INTO approvals (account, plan, who) VALUES (?, ?, ?)"
        self.store.put(f"{sql} ON CONFLICT (account, plan) DO NOTHING", account, plan, who)

    def describe(self, known: Known) -> dict[str, str]:
        """Keeps the description of a mechanism; what the entry says of it, if it may be new."""
        if known.digest in self._described:
            return {}
        text = known.description
        self.keep_description(known.digest, text)
        self._own.described.add(known.digest)
        return {DESCRIBED: digest(text.encode())}

    def keep_description(self, digest: str, text: str) -> None:
        """As it was written elsewhere."""
        sql = "INSERT INTO mechanisms (digest, description) VALUES (?, ?) ON CONFLICT (digest) DO NOTHING"
        self.store.put(sql, digest, text)


def _chained(entry: JournalEntry, before: str) -> JournalEntry:
    return replace(entry, hash=entry.chained(before))


def _changing(state: State) -> tuple[Any, ...]:
    cap = None if state.cap is None else _text(state.cap)
    amounts = written(state.total), written(state.reserved)
    return (cap, *amounts, state.told, state.status, state.number, state.head, state.time)


@lru_cache(maxsize=1024)
def _terms(text: str) -> AccountTerms:
    return AccountTerms.from_json(json.loads(text))


@lru_cache(maxsize=1024)
def _cap(text: str) -> Cap:
    return Cap.from_json(json.loads(text))


@lru_cache(maxsize=1024)
def _text(told: AccountTerms | Cap) -> str:
    return canonical(told.to_json())


def _state_of(row: tuple[Any, ...]) -> State:
    name, parent, terms, cap, total, reserved, told, status, number, head, time = row
    return State(
        name=name,
        parent=parent,
        terms=_terms(terms),
        cap=None if cap is None else _cap(cap),
        total=read(total),
        reserved=read(reserved),
        told=int(told),
        status=status,
        number=int(number),
        head=head,
        time=time,
    )


def _spend_of(row: tuple[Any, ...]) -> Spend:
    *plain, description = row
    account, key, number, state, digest, cost, plan, time, who, note, digests, own_hash, drawn = plain
    return Spend(
        account=account,
        key=key,
        number=int(number),
        state=state,
        digest=digest,
        cost=read(cost),
        plan=plan,
        time=time,
        who=who,
        note=note,
        digests=json.loads(digests),
        hash=own_hash,
        drawn=drawn,
        description=description or "",
    )
