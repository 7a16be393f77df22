"""A ledger in PostgreSQL, for a team.

A row is locked from the first look at it until its transaction is committed, and many may wait for it. So
statements that give no answer travel together with the COMMIT, and that does not wait for the disk: what
follows it does. An empty transaction, with the row free for others, returns when all that was written before
it is durable: one sync of the disk serves everybody who waits for one. Nothing is answered before that, not
even what was only read.
"""

from functools import lru_cache
from typing import Any

from indistinct.errors import FileError, needs
from indistinct.ledger.store import Rows, Store

_MIGRATING = 0x1ED6E201
"""The number of the lock that one migration at a time holds."""
_DURABLE = (
    "BEGIN; SET LOCAL synchronous_commit = on; SELECT pg_logical_emit_message(true, 'indistinct', ''); COMMIT"
)
"""Writes a few bytes to the log of the server, so that committing it syncs the log up to there."""

Statement = tuple[str, tuple[Any, ...]]


class PostgresStore(Store):
    """A database that the address names; the tables lie in the first schema of its search path."""

    lock = " FOR UPDATE"
    hold = " FOR SHARE"

    def __init__(self, address: str) -> None:
        super().__init__("the PostgreSQL server")
        self._address = address
        with self._told():
            _ = self.connection

    def _connected(self) -> Any:
        with needs("ledger"):
            import psycopg
        self._own.waiting = []
        connection = psycopg.connect(self._address, autocommit=True, application_name="indistinct ledger")
        connection.execute("SET synchronous_commit = off")
        return connection

    def run(self, sql: str, *values: Any) -> Rows:
        with self._told():
            return self._sent((_own(sql), values))

    def put(self, sql: str, *values: Any) -> None:
        _ = self.connection
        self._own.waiting.append((_own(sql), values))

    def _sent(self, *last: Statement) -> Rows:
        """Sends what waits, and the last statement, in one go; the rows that that gives."""
        connection = self.connection
        statements: list[Statement] = [*self._own.waiting, *last]
        self._own.waiting = []
        if len(statements) == 1:
            cursor = connection.execute(*statements[0])
        else:
            with connection.pipeline():
                for sql, values in statements:
                    cursor = connection.execute(sql, values)
        return cursor.fetchall() if cursor.description else []

    def _begin(self) -> None:
        self.put("BEGIN")

    def _commit(self) -> None:
        self._sent(("COMMIT", ()))
        self.step("committed but not durable")
        self.connection.execute(_DURABLE)

    def _rollback(self) -> None:
        self._own.waiting = []
        if not self.connection.closed and self.connection.info.transaction_status != 0:
            self.connection.execute("ROLLBACK")

    def _failed(self, error: Exception) -> Exception | None:
        import psycopg

        if not isinstance(error, psycopg.Error):
            return None
        connection = getattr(self._own, "connection", None)
        if connection is not None and connection.closed:
            self._own.connection = self._own.process = None
            words = "the connection was lost; ask again with the same key, which spends no more than once"
            return FileError(self.where, words)
        first = next(iter(str(error).splitlines()), type(error).__name__)
        return FileError(self.where, f"it says: {first}")

    def alone(self) -> None:
        self.run("SELECT pg_advisory_xact_lock(?)", _MIGRATING)

    def _has_version(self) -> bool:
        return bool(self.run("SELECT to_regclass('ledger_version')")[0][0])

    def _own_types(self, statement: str) -> str:
        return statement.replace("BLOB", "BYTEA")


@lru_cache(maxsize=256)
def _own(sql: str) -> str:
    return sql.replace("?", "%s")
