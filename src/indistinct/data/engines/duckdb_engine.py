"""Tables of DuckDB, larger than memory.

Records stream through the kernel in batches; grouping by user is DuckDB's sort, which spills to disk;
counts of cells are a GROUP BY where DuckDB holds values as they are declared. Texts are compared by their
bytes, whatever collation a column has.
"""

import os
from abc import ABC
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager
from typing import Any

import numpy as np

from indistinct.boundary import guarded, guarded_each
from indistinct.data.engines.aggregates import Aggregate, Summed
from indistinct.data.engines.files import Watched
from indistinct.data.engines.sandbox import Sandbox, check_exists, check_names, without_statistics
from indistinct.data.engines.select import check_by_record, check_table, one_select, tried
from indistinct.data.engines.sql import (
    DUCKDB,
    bin_of,
    bin_places,
    clipped_bin_of,
    double_quoted,
    grouped,
    whole_or_null,
)
from indistinct.data.engines.table import BatchedTable
from indistinct.data.records.arrow import arrow_batch, from_arrow, valid_texts
from indistinct.data.records.domain import Bins, Domain, Outside
from indistinct.data.records.encoding import places_in
from indistinct.data.records.types import ROWS, Batch, Column, Kind, Type
from indistinct.errors import ArgumentError

_INTEGERS = {"TINYINT", "SMALLINT", "INTEGER", "BIGINT", "UTINYINT", "USMALLINT", "UINTEGER"}
_HUGE = {"UBIGINT", "HUGEINT", "UHUGEINT", "BIGNUM"}
_DOUBLES = {"FLOAT", "DOUBLE"}
_TEXTS = {"VARCHAR", "ENUM", "UUID", "JSON"}
_TOO_LARGE = _HUGE - {"UBIGINT"}
_AS_TEXT = _TEXTS - {"VARCHAR"}
"""Types that Arrow has no like of."""
_PLAIN: dict[Type, set[str]] = {
    Kind.INTEGER: _INTEGERS,
    Kind.TEXT: {"VARCHAR"},
    Kind.TRUTH: {"BOOLEAN"},
}
_TABLE = "the table"


class DuckRelation(BatchedTable, ABC):
    """Something that DuckDB reads: a SELECT, or files."""

    def __init__(self, connection: Any, source: str, files: tuple[str, ...] = (), owner: Any = None) -> None:
        self._watched = Watched(files)
        self._connection = connection
        self._owner = owner  # of the connection: its folder goes when this table does
        self._source = source
        with guarded(files[0] if len(files) == 1 else _TABLE):
            relation = connection.sql(f"SELECT * FROM {source} LIMIT 0")
            pairs = zip(relation.columns, relation.types, strict=True)
            self._types = {name: "JSON" if str(kind) == "JSON" else kind.id.upper() for name, kind in pairs}

    def kinds(self) -> Mapping[str, Kind]:
        return {name: _kind(kind) for name, kind in self._types.items()}

    def unchanged(self) -> AbstractContextManager[None]:
        return self._watched.unchanged()

    def batches(self, types: Mapping[str, Type], user: str | None) -> Iterator[Batch]:
        chosen, order = [self._held(name, kind) for name, kind in types.items()], ""
        if user is not None:
            held = self._user(user)
            chosen.append(held)
            order = f" ORDER BY {held if self._types[user] not in _TEXTS else f'encode({held})'}"
        for batch in self._read(f"SELECT {', '.join(chosen) or '1'} FROM {self._source}{order}"):
            with guarded(_TABLE):
                read = arrow_batch(batch, types, users=user is not None)
            yield read

    def aggregated(self, asked: Aggregate) -> Iterator[Summed] | None:
        if (parts := grouped(asked, self._key, self._number, DUCKDB)) is None:
            return None
        records, keys, sums = parts
        groups = f" GROUP BY {', '.join(keys)}" if keys else ""
        query = (
            f"SELECT {', '.join(keys + sums)} FROM (SELECT {', '.join(records)} FROM {self._source}){groups}"
        )
        return (summed(asked, batch.columns) for batch in self._read(query))

    def _number(self, name: str) -> str | None:
        """A column of numbers that are floats in Arrow as they are here."""
        return double_quoted(name) if self._types[name] in _INTEGERS | _DOUBLES else None

    def _key(self, name: str, domain: Domain) -> str | None:
        """What DuckDB groups by, where it holds values of the declared type."""
        held = self._types[name]
        if isinstance(domain, Bins):
            formula = clipped_bin_of if domain.outside is Outside.CLIP else bin_of
            plain = domain.of is None and held in _INTEGERS | _DOUBLES
            return formula(double_quoted(name), domain) if plain else None
        plain = held in _PLAIN[domain.type]
        bytes_of = f"encode({double_quoted(name)})" if domain.type is Kind.TEXT else double_quoted(name)
        return bytes_of if plain else None

    def _held(self, name: str, wanted: Type) -> str:
        """A column, of a type that Arrow has too."""
        held, quoted = self._types[name], double_quoted(name)
        if held in _TOO_LARGE:
            digits = f"CAST({quoted} AS VARCHAR)"
            return digits if wanted is Kind.NUMBER else f"try_cast({digits} AS BIGINT)"
        return f"CAST({quoted} AS VARCHAR)" if held in _AS_TEXT else quoted

    def _user(self, name: str) -> str:
        """A column of users, of one of two types: integers and text."""
        held, quoted = self._types[name], double_quoted(name)
        if held in _INTEGERS | _TEXTS | _TOO_LARGE:
            return self._held(name, Kind.USER)
        if held == "BOOLEAN":
            return f"CAST({quoted} AS VARCHAR)"
        return whole_or_null(quoted)

    def _read(self, query: str) -> Iterator[Any]:
        with guarded(_TABLE):
            # Not a cursor: it would not see what was registered on the connection.
            reader = self._connection.sql(query).to_arrow_reader(ROWS)
        yield from guarded_each(_TABLE, reader)


class DuckTable(DuckRelation):
    """What a SELECT of DuckDB returns."""


def summed(asked: Aggregate, columns: list[Any]) -> Summed:
    """Groups of an engine as places along each axis, and what it has added up."""
    found, places = iter(columns), []
    for domain in asked.axes.values():
        column = key_column(next(found), Kind.INTEGER if isinstance(domain, Bins) else domain.type)
        places.append(
            bin_places(column.values, domain) if isinstance(domain, Bins) else places_in(column, domain)
        )
    records = key_column(next(found), Kind.INTEGER).values
    sums = [tuple(_integers(next(found)) for _ in range(3)) for _ in asked.numbers]
    return Summed(places, records, sums)


def _integers(array: Any) -> Any:
    """Python's own, from the digits that an engine writes; nothing is 0."""
    return np.array([int(digits or 0) for digits in array.to_pylist()], dtype=object)


def key_column(array: Any, wanted: Type) -> Column:
    """Users as DuckDB hands them over, as a column of the wanted type."""
    import pyarrow as pa

    with guarded(_TABLE):
        return from_arrow(valid_texts(array) if pa.types.is_binary(array.type) else array, wanted)


def read_sql(
    query: str,
    *,
    database: str | os.PathLike[str] | None = None,
    connection: Any = None,
    one_by_one: bool = False,
    memory: str = "1GB",
    threads: int | None = None,
) -> DuckTable:
    """What a SELECT returns, from a DuckDB database file (opened for reading) or a connection of yours.

    The query must treat records one by one (choose columns, filter, compute within a record): the unit of
    privacy is a row of its result. With `one_by_one` it is refused unless it is known to do so. From a
    database file it sees nothing but that file. On a connection of yours one optimizer is switched off,
    `statistics_propagation`: with it one record may change how others are read. A macro may not have the name
    of a function of DuckDB, which sums are made with.
    """
    if (database is None) == (connection is None):
        raise ArgumentError("database", database, "given, unless connection is")
    query = one_select(query)
    if connection is not None:
        with guarded(_TABLE):
            without_statistics(connection)
            check_names(connection)
        return DuckTable(connection, _source(connection, query, one_by_one))
    path = os.path.abspath(os.fspath(database or ""))
    check_exists(path)
    sandbox = Sandbox(memory, threads, path)
    files = (path, f"{path}.wal")  # what was committed last may be in the second alone
    return DuckTable(sandbox.connection, _source(sandbox.connection, query, one_by_one), files, sandbox)


def _source(connection: Any, query: str, one_by_one: bool) -> str:
    """The query with its own names, and NULL where an expression fails: as far as DuckDB can do that, by the
    form of the query alone; everywhere, where it treats records one by one."""
    with guarded(_TABLE):
        names = connection.sql(f"SELECT * FROM ({query}\n) LIMIT 0").columns
    columns = ", ".join(map(double_quoted, names))
    if one_by_one:
        made = tried(query, whole=True)
        check_by_record(made)  # what is run, however it was written
        with guarded(_TABLE):
            check_table(query, connection)
        return f"({made}) AS asked({columns})"
    for whole in (True, False):
        try:
            source = f"({tried(query, whole=whole)}) AS asked({columns})"
            connection.sql(f"SELECT * FROM {source} LIMIT 0")
            return source
        except Exception:
            continue
    return f"({query}\n)"


def _kind(name: str) -> Kind:
    if name in _INTEGERS | _HUGE:
        return Kind.INTEGER
    if name in _DOUBLES or name == "DECIMAL":
        return Kind.NUMBER
    if name in _TEXTS:
        return Kind.TEXT
    if name == "DATE" or name.startswith("TIMESTAMP"):
        return Kind.TIME
    return {"BOOLEAN": Kind.TRUTH, "NULL": Kind.ANY}.get(name, Kind.OTHER)
