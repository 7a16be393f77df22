"""A ledger in one file of SQLite: durable (WAL, every commit is synced), readable by its owner alone."""

import os
import sqlite3
import threading
import time
from typing import Any

from indistinct.errors import FileError
from indistinct.files import identity
from indistinct.ledger.store import Rows, Store

_PATIENCE = 60.0
"""Seconds that a writer waits for others."""
_APPLICATION = 0x1ED6E201
"""Marks the file as a ledger (`PRAGMA application_id`)."""
_MAKING = threading.Lock()
_PROCESS = os.getpid()
_SHARED, _IN_USE = (0x40000002, 510), (128, 1)
"""Bytes that SQLite locks (first, count): of the file while it reads, of the index of the log while it is
connected."""
_HELD: dict[Any, int] = {}
"""Descriptors that are never closed: that would give up the locks."""


class SqliteStore(Store):
    """A file. Should it (or the log beside it) be replaced or removed while it is open, nothing is written
    any more: SQLite would go on with a file that nobody sees.

    While it is there nobody but SQLite opens it: whoever closes a file gives up all locks that the process
    has on it (POSIX), and without them another process takes the log away, with all that is only there."""

    def __init__(self, path: str, create: bool) -> None:
        super().__init__(os.path.abspath(path))
        if not create and not os.path.exists(self.where):
            raise FileError(self.where, "no ledger is there")
        self._make(create)
        self._file = _only_name(self.where)
        with self._told():
            _ = self.connection

    def _make(self, create: bool) -> None:
        """A file for its owner alone, if there is none; no other thread connects before it is closed."""
        with _MAKING:
            try:
                if create:
                    place = os.path.realpath(self.where)  # through a link that leads nowhere yet
                    os.close(os.open(place, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))
            except FileExistsError:
                pass
            except OSError as error:
                raise FileError(self.where, f"it cannot be opened: {error.strerror}") from None

    def _connected(self) -> Any:
        connection = sqlite3.connect(self.where, timeout=_PATIENCE, isolation_level=None)
        (marked,) = connection.execute("PRAGMA application_id").fetchone()
        if marked != _APPLICATION:
            if marked or connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]:
                connection.close()
                raise FileError(self.where, "it is a database of something else")
            connection.execute(f"PRAGMA application_id = {_APPLICATION}")
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute("PRAGMA secure_delete = ON")
        connection.execute("SELECT count(*) FROM sqlite_master").fetchone()  # now the log is open
        self._own.log = _only_name(f"{self.where}-wal")
        if os.getpid() != _PROCESS:
            self._hold()
        return connection

    def _hold(self) -> None:
        """SQLite in a process that was forked believes to have the locks that it had before, which stayed
        with the other one: those that say that the file and its log are in use are taken again, for good."""
        import fcntl  # where there are forks

        if _gone(f"{os.path.realpath(self.where)}-shm"):
            raise FileError(
                self.where, "it was open when this process was forked, and then closed; fork first"
            )
        for path, first, count in ((self.where, *_SHARED), (f"{self.where}-shm", *_IN_USE)):
            own = os.getpid(), _only_name(path)
            if own[1] is not None and own not in _HELD:
                _HELD[own] = os.open(path, os.O_RDWR)
                fcntl.lockf(_HELD[own], fcntl.LOCK_SH, count, first)

    def run(self, sql: str, *values: Any) -> Rows:
        with self._told():
            return self.connection.execute(sql, values).fetchall()  # type: ignore[no-any-return]

    def _begin(self) -> None:
        connection = self.connection
        self._check_place()
        deadline, pause = time.monotonic() + _PATIENCE, 0.0005
        while True:
            try:
                connection.execute("BEGIN IMMEDIATE")
                break
            except sqlite3.OperationalError as error:
                if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() > deadline:
                    raise
                time.sleep(pause)
                pause = min(2 * pause, 0.02)

    def _check_place(self) -> None:
        found = _only_name(self.where), _only_name(f"{self.where}-wal")
        if found != (self._file, self._own.log):
            raise FileError(self.where, "it was replaced or removed while it was open; open it again")

    def _commit(self) -> None:
        self._check_place()
        self.connection.execute("COMMIT")
        self._check_place()  # what is not seen by others is not acknowledged

    def _rollback(self) -> None:
        if self.connection.in_transaction:
            self.connection.execute("ROLLBACK")

    def _failed(self, error: Exception) -> Exception | None:
        if not isinstance(error, sqlite3.Error):
            return None
        code = getattr(error, "sqlite_errorcode", 0) & 0xFF
        if code == sqlite3.SQLITE_BUSY:
            return FileError(self.where, f"others have been writing for {_PATIENCE:g} s; nothing was changed")
        if code == sqlite3.SQLITE_FULL:
            return FileError(self.where, "the disk is full; nothing was changed")
        if code in (sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_CORRUPT):
            return FileError(self.where, "it is damaged, or no ledger")
        return FileError(self.where, f"it cannot be used ({error}); nothing was changed")

    def scrub(self) -> None:
        """What was deleted is still in the log: it is emptied, unless somebody is reading there just now."""
        connection = self.connection
        try:
            connection.execute("PRAGMA busy_timeout = 0")
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
        except sqlite3.Error:
            pass
        finally:
            connection.execute(f"PRAGMA busy_timeout = {int(1000 * _PATIENCE)}")

    def strangers(self) -> list[str]:
        sql = "SELECT type, name FROM sqlite_master WHERE type IN ('trigger', 'view') ORDER BY name"
        return [f"{kind} {name!r}" for kind, name in self.run(sql)]

    def alone(self) -> None:
        """Every transaction is alone."""

    def _has_version(self) -> bool:
        return bool(self.run("SELECT 1 FROM sqlite_master WHERE name = 'ledger_version'"))


def _only_name(path: str) -> tuple[int, int] | None:
    """Which file it is. One with a second name would have a second log, which is found by the name."""
    found = identity(path, links=True)
    if found is not None and os.stat(path).st_nlink > 1:
        words = "it has several names (hard links), each of which would have a log of its own: keep one"
        raise FileError(path, words)
    return found


def _gone(path: str) -> bool:
    """Whether this process has in its memory a file that was removed since (where the system tells that)."""
    try:
        with open("/proc/self/maps", encoding="utf-8", errors="replace") as maps:
            return any(line.rstrip().endswith(f" {path} (deleted)") for line in maps)
    except OSError:
        return False
