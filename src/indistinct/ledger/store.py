"""Where a ledger lies: one text of SQL, in SQLite or in PostgreSQL.

Statements have `?` for values, which are never part of the text. A transaction locks the rows of the
accounts that it changes (SQLite: the whole file) from its first look at them, so what is decided from a row
still holds when it is written. A connection belongs to one thread of one process.
"""

import os
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from indistinct.errors import ArgumentError, FileError, Refused

MIGRATIONS = [
    [
        "CREATE TABLE accounts (name TEXT PRIMARY KEY, parent TEXT NOT NULL, terms TEXT NOT NULL, cap TEXT,"
        " total TEXT NOT NULL, reserved TEXT NOT NULL, told BIGINT NOT NULL, status TEXT NOT NULL,"
        " number BIGINT NOT NULL, head TEXT NOT NULL, time TEXT NOT NULL)",
        "CREATE INDEX parts ON accounts (parent)",
        "CREATE TABLE entries (account TEXT NOT NULL, number BIGINT NOT NULL, time TEXT NOT NULL,"
        " who TEXT NOT NULL, event TEXT NOT NULL, key TEXT NOT NULL, content TEXT NOT NULL,"
        " hash TEXT NOT NULL, PRIMARY KEY (account, number))",
        "CREATE TABLE spends (account TEXT NOT NULL, key TEXT NOT NULL, number BIGINT NOT NULL,"
        " state TEXT NOT NULL, digest TEXT NOT NULL, cost TEXT NOT NULL, plan TEXT NOT NULL,"
        " time TEXT NOT NULL, who TEXT NOT NULL, note TEXT NOT NULL, digests TEXT NOT NULL,"
        " hash TEXT NOT NULL, drawn TEXT NOT NULL, PRIMARY KEY (account, key))",
        "CREATE INDEX spends_by_number ON spends (account, number)",
        "CREATE INDEX spends_by_kind ON spends (account, digest, state)",
        "CREATE TABLE mechanisms (digest TEXT PRIMARY KEY, description TEXT NOT NULL)",
        "CREATE TABLE approvals (account TEXT NOT NULL, plan TEXT NOT NULL, who TEXT NOT NULL,"
        " PRIMARY KEY (account, plan))",
        "CREATE TABLE files (account TEXT NOT NULL, digest TEXT NOT NULL, path TEXT NOT NULL,"
        " status TEXT NOT NULL, PRIMARY KEY (account, digest, path))",
        "CREATE INDEX files_by_digest ON files (digest)",
        "CREATE INDEX files_by_path ON files (path)",
        "CREATE TABLE hidden (account TEXT NOT NULL, key TEXT NOT NULL, secret BLOB NOT NULL,"
        " PRIMARY KEY (account, key))",
    ],
    [
        "CREATE TABLE kept (account TEXT NOT NULL, key TEXT NOT NULL, name TEXT NOT NULL,"
        " content BLOB NOT NULL, PRIMARY KEY (account, key, name))",
        "CREATE TABLE labels (account TEXT NOT NULL, label TEXT NOT NULL, key TEXT NOT NULL,"
        " PRIMARY KEY (account, label, key))",
    ],
    [  # of the service: tokens are kept as digests
        "CREATE TABLE tokens (digest TEXT PRIMARY KEY, name TEXT NOT NULL, role TEXT NOT NULL,"
        " issued TEXT NOT NULL, expires TEXT NOT NULL, revoked TEXT NOT NULL)",
    ],
    ["ALTER TABLE files DROP COLUMN status"],
]
"""Each is run once, in one transaction, in this order."""

Rows = list[tuple[Any, ...]]
_OTHERS: list[Any] = []
"""Connections of the process that this one was forked from."""


class Store(ABC):
    """A database, open."""

    lock = ""
    """What a SELECT ends with to lock the rows that it finds."""
    hold = ""
    """What it ends with so that nobody changes them, and others may hold them too."""
    step: Callable[[str], None] = staticmethod(lambda name: None)
    """Called at every step that a crash may come between; tests crash there."""

    def __init__(self, where: str) -> None:
        self.where = where
        self._own = threading.local()

    @property
    def connection(self) -> Any:
        """That of this thread in this process. One that came here by a fork is another's: it is not used, and
        not closed either, which the other one would notice."""
        if getattr(self._own, "process", None) != os.getpid():
            _OTHERS.append(getattr(self._own, "connection", None))
            self._own.connection, self._own.process = self._connected(), os.getpid()
        return self._own.connection

    @abstractmethod
    def _connected(self) -> Any: ...

    @abstractmethod
    def run(self, sql: str, *values: Any) -> Rows:
        """The rows that a statement gives."""

    def put(self, sql: str, *values: Any) -> None:
        """A statement that gives none: it may wait for the next one, or for the end of the transaction."""
        self.run(sql, *values)

    @abstractmethod
    def _begin(self) -> None: ...

    @abstractmethod
    def _commit(self) -> None: ...

    @abstractmethod
    def _rollback(self) -> None: ...

    @abstractmethod
    def _failed(self, error: Exception) -> Exception | None:
        """What an error of the database means; None if it is not one."""

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """All of what is done inside, durable when it returns, or nothing of it. What was noted before a
        refusal is kept: `Refused` is an answer, not a failure."""
        with self._told():
            self._begin()
            answer: Refused | None = None
            try:
                self.step("begun")
                try:
                    yield
                except Refused as refused:
                    answer = refused
                self.step("written")
                self._commit()
            except BaseException:
                self._rollback()
                raise
            self.step("committed")
            if answer is not None:
                raise answer

    @contextmanager
    def _told(self) -> Iterator[None]:
        try:
            yield
        except Exception as error:
            told = self._failed(error)
            if told is None:
                raise
            raise told from None

    def close(self) -> None:
        """Ends this thread's connection."""
        if getattr(self._own, "process", None) == os.getpid():
            self._own.connection.close()
            self._own.connection = self._own.process = None

    def migrate(self, create: bool) -> None:
        """Brings the tables to this version."""
        with self.transaction():
            self.alone()
            version = self._version()
            if version == 0 and not create:
                raise FileError(self.where, "no ledger is there")
            if version > len(MIGRATIONS):
                raise FileError(self.where, "a newer version of indistinct wrote it")
            for statements in MIGRATIONS[version:]:
                for statement in statements:
                    self.run(self._own_types(statement))
            if version < len(MIGRATIONS):
                if version:
                    self.run("DELETE FROM ledger_version")
                self.run("INSERT INTO ledger_version VALUES (?)", len(MIGRATIONS))

    def scrub(self) -> None:  # noqa: B027
        """Destroys what was deleted, where a database would keep it for a while."""

    def strangers(self) -> list[str]:
        """What is in the database and changes it, or hides it, and is not the ledger's."""
        return []

    @abstractmethod
    def alone(self) -> None:
        """Locks the ledger against anybody who would make or change its tables."""

    @abstractmethod
    def _has_version(self) -> bool: ...

    def _version(self) -> int:
        if not self._has_version():
            self.run("CREATE TABLE ledger_version (version BIGINT NOT NULL)")
            return 0
        found = self.run("SELECT version FROM ledger_version")
        return int(found[0][0]) if found else 0

    def _own_types(self, statement: str) -> str:
        return statement


def store_of(where: Any, create: bool) -> Store:
    """The store of an address: `sqlite:///path`, a path, or `postgresql://…`."""
    from indistinct.ledger.postgres import PostgresStore
    from indistinct.ledger.sqlite import SqliteStore

    text = os.fspath(where) if isinstance(where, str | os.PathLike) else where
    if not isinstance(text, str) or not text or "\0" in text:
        raise ArgumentError("ledger", where, "'sqlite:///budget.db', a path, or 'postgresql://…'")
    if text.startswith(("postgresql://", "postgres://")):
        store: Store = PostgresStore(text)
    else:
        kind, separator, rest = text.partition("://")
        if separator and kind != "sqlite":
            raise ArgumentError("ledger", f"{kind}://…", "'sqlite:///budget.db', a path, or 'postgresql://…'")
        store = SqliteStore(rest.removeprefix("/") if separator else text, create)
    store.migrate(create)
    return store
