"""Tables of PostgreSQL, which its Arrow (ADBC) driver streams in batches of columns.

One table or view, and no query: PostgreSQL has no cast that is NULL where it fails, so an expression that
fails for one value would tell that the value is there. Those that are written here fail for none. All reads
see one snapshot. Texts are compared by their bytes, whatever collation a column has.
"""

import weakref
from collections.abc import Iterator, Mapping
from typing import Any

from indistinct.boundary import guarded, guarded_each
from indistinct.data.engines.aggregates import Aggregate, Summed
from indistinct.data.engines.duckdb_engine import summed
from indistinct.data.engines.sql import double_quoted
from indistinct.data.engines.table import BatchedTable
from indistinct.data.records.arrow import arrow_batch
from indistinct.data.records.domain import Bins
from indistinct.data.records.types import ROWS, Batch, Kind, Type, slices
from indistinct.errors import DataError, needs

_DECIMAL, _ENUM = "numeric", "enum"
_KINDS = {
    **dict.fromkeys(("smallint", "integer", "bigint"), Kind.INTEGER),
    **dict.fromkeys(("real", "double precision", _DECIMAL), Kind.NUMBER),
    **dict.fromkeys(
        ("text", "character varying", "character", "name", "uuid", "json", "jsonb", _ENUM), Kind.TEXT
    ),
    **dict.fromkeys(("date", "timestamp without time zone", "timestamp with time zone"), Kind.TIME),
    "boolean": Kind.TRUTH,
}
_SETTINGS = (
    "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY",  # one snapshot
    "SET LOCAL search_path = pg_catalog",  # no function or operator of somebody else's
    "SET LOCAL client_encoding = 'UTF8'",
)
_COLUMNS = """
SELECT CAST(a.attname AS text), CASE own.typtype WHEN 'e' THEN 'enum' ELSE format_type(own.oid, NULL) END
FROM pg_attribute a JOIN pg_type t ON t.oid = a.atttypid
JOIN pg_type own ON own.oid = coalesce(nullif(t.typbasetype, 0), t.oid)
WHERE a.attrelid = to_regclass($1) AND a.attnum > 0 AND NOT a.attisdropped
"""
"""Names and types. An enum is one, and a domain what it is made of."""
_LAST = "'290000-01-01'"
"""Microseconds after it do not fit 64 bits."""
_TABLE = "the table"


class PostgresTable(BatchedTable):
    """A table or view of PostgreSQL, as it was when this was made."""

    def __init__(self, name: str, connection: Any) -> None:
        self._connection = connection
        self._finalizer = weakref.finalize(self, connection.close)
        self._source = name
        with guarded(_TABLE), connection.cursor() as cursor:
            for setting in _SETTINGS:
                cursor.execute(setting)
            cursor.execute("SELECT current_setting('server_encoding')")
            (encoding,) = cursor.fetchone()
            cursor.execute(_COLUMNS, (name,))
            self._types: dict[str, str] = dict(cursor.fetchall())
        if encoding != "UTF8":  # a text without a like in UTF-8 would be an error of the whole table
            raise DataError(f"the database must be encoded in UTF8, it is in {encoding}")
        if not self._types:
            raise DataError(f"no such table: {name}")

    def kinds(self) -> Mapping[str, Kind]:
        return {name: _KINDS.get(kind, Kind.OTHER) for name, kind in self._types.items()}

    def batches(self, types: Mapping[str, Type], user: str | None) -> Iterator[Batch]:
        chosen, order = [self._held(name, wanted) for name, wanted in types.items()], ""
        if user is not None:
            chosen.append(self._held(user, Kind.USER))
            order = f" ORDER BY {chosen[-1]}"
        for batch in self._read(f"SELECT {', '.join(chosen) or '1'} FROM {self._source}{order}"):
            for part in slices(batch.num_rows):
                with guarded(_TABLE):
                    read = arrow_batch(batch.slice(part.start, ROWS), types, users=user is not None)
                yield read

    def aggregated(self, asked: Aggregate) -> Iterator[Summed] | None:
        """Counts of listed values: the arithmetic of bins and of sums overflows for some numbers, which is an
        error."""
        if asked.numbers or any(isinstance(domain, Bins) for domain in asked.axes.values()):
            return None
        keys = [self._held(name, domain.type) for name, domain in asked.axes.items()]
        groups = f" GROUP BY {', '.join(keys)}" if keys else ""
        query = f"SELECT {', '.join([*keys, 'count(*)'])} FROM {self._source}{groups}"
        return (summed(asked, batch.columns) for batch in self._read(query))

    def _held(self, name: str, wanted: Type) -> str:
        """A column as the driver can hand it over, whatever its values are."""
        kind, quoted = self.kinds()[name], double_quoted(name)
        if self._types[name] == _DECIMAL:
            whole = f"{quoted} = trunc({quoted}) AND {quoted} BETWEEN {-(2**63)} AND {2**63 - 1}"
            integer = f"CASE WHEN {whole} THEN CAST({quoted} AS bigint) END"
            return f"CAST({quoted} AS text)" if wanted is Kind.NUMBER else integer
        if kind is Kind.TEXT or (kind is Kind.TRUTH and wanted is Kind.USER):
            # not by a cast, which may be of somebody else's for a type that is: an enum
            words = f"CASE WHEN {quoted} IS NOT NULL THEN format('%s', {quoted}) END"
            held = words if self._types[name] == _ENUM else f"CAST({quoted} AS text)"
            return f'({held}) COLLATE "C"'
        if kind is Kind.TIME:
            return f"CASE WHEN {quoted} > '-infinity' AND {quoted} < {_LAST} THEN {quoted} END"
        return quoted

    def _read(self, query: str) -> Iterator[Any]:
        with guarded(_TABLE):
            cursor = self._connection.cursor()
        try:
            with guarded(_TABLE):
                cursor.execute(query)
                reader = cursor.fetch_record_batch()
            yield from guarded_each(_TABLE, reader)
        finally:
            with guarded(_TABLE):
                cursor.close()


def read_postgres(name: str, *, database: str, schema: str = "public") -> PostgresTable:
    """A table or view of a PostgreSQL database, such as `postgresql://me@host/shop` (a password is better
    kept in libpq's own places, such as `~/.pgpass`).

    A view must treat records one by one and fail for no value: the unit of privacy is one of its rows. So
    must policies of row security that apply to you.
    """
    with needs("postgres"):
        from adbc_driver_postgresql import dbapi

    with guarded("the database"):
        connection = dbapi.connect(database)
    return PostgresTable(f"{double_quoted(schema)}.{double_quoted(name)}", connection)
