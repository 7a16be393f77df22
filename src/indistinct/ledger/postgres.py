"""A ledger in PostgreSQL, for a team."""

from functools import lru_cache
from typing import Any

from indistinct.errors import FileError, needs
from indistinct.ledger.store import Rows, Store

_MIGRATING = 0x1ED6E201
"""The number of the lock that one migration at a time holds."""


class PostgresStore(Store):
    """A database that the address names; the tables lie in the first schema of its search path."""

    lock = " FOR UPDATE"

    def __init__(self, address: str) -> None:
        super().__init__("the PostgreSQL server")
        self._address = address
        with self._told():
            _ = self.connection

    def _connected(self) -> Any:
        with needs("ledger"):
            import psycopg
        return psycopg.connect(self._address, autocommit=True, application_name="indistinct ledger")

    def run(self, sql: str, *values: Any) -> Rows:
        with self._told():
            cursor = self.connection.execute(_own(sql), values)
            return cursor.fetchall() if cursor.description else []  # type: ignore[no-any-return]

    def _begin(self) -> None:
        self.connection.execute("BEGIN")

    def _commit(self) -> None:
        self.connection.execute("COMMIT")

    def _rollback(self) -> None:
        if not self.connection.closed and self.connection.info.transaction_status != 0:
            self.connection.execute("ROLLBACK")

    def _failed(self, error: Exception) -> Exception | None:
        import psycopg

        if not isinstance(error, psycopg.Error):
            return None
        if self._own_closed():
            self._own.process = None
            words = "the connection was lost; ask again with the same key, which spends no more than once"
            return FileError(self.where, words)
        return FileError(
            self.where, f"it says: {str(error).splitlines()[0] if str(error) else type(error).__name__}"
        )

    def _own_closed(self) -> bool:
        connection = getattr(self._own, "connection", None)
        return connection is not None and bool(connection.closed)

    def alone(self) -> None:
        self.run("SELECT pg_advisory_xact_lock(?)", _MIGRATING)

    def _has_version(self) -> bool:
        return bool(self.run("SELECT to_regclass('ledger_version')")[0][0])

    def _own_types(self, statement: str) -> str:
        return statement.replace("BLOB", "BYTEA")


@lru_cache(maxsize=256)
def _own(sql: str) -> str:
    return sql.replace("?", "%s")
