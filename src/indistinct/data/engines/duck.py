"""CSV, Parquet and SQL tables through DuckDB, larger than memory.

Records stream through the kernel in batches; grouping by user is DuckDB's sort, which spills to disk;
counts of cells are a GROUP BY. Files are identified when they are opened and checked again after every
read.
"""

import glob
import os
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from indistinct.data.engines.sql import bin_of, bin_places, clipped_bin_of, double_quoted, text
from indistinct.data.engines.table import BatchedTable, GroupCounts
from indistinct.data.records.domain import Bins, Domain, Outside
from indistinct.data.records.encoding import Cells, places_in
from indistinct.data.records.types import ROWS, Batch, Column, Kind, arrow_batch
from indistinct.errors import ArgumentError, DataError, SourceChanged, needs

Paths = str | os.PathLike[str] | Sequence[str | os.PathLike[str]]

_INTEGERS = {"TINYINT", "SMALLINT", "INTEGER", "BIGINT", "UTINYINT", "USMALLINT", "UINTEGER"}
_NUMBERS = {"FLOAT", "DOUBLE", "DECIMAL", "HUGEINT", "UHUGEINT", "UBIGINT"}
_AS = {**dict.fromkeys(_NUMBERS - {"DOUBLE"}, "DOUBLE"), "ENUM": "VARCHAR"}


class DuckTable(BatchedTable):
    """What a SELECT of DuckDB returns; `files` are watched for changes."""

    def __init__(self, connection: Any, source: str, files: tuple[str, ...] = ()) -> None:
        import duckdb

        self._files = files
        self._seen = _identities(files)
        self._connection = connection
        self._source = source
        try:
            relation = connection.sql(f"SELECT * FROM {source} LIMIT 0")
            self._types = dict(zip(relation.columns, map(str, relation.types), strict=True))
        except duckdb.Error as error:
            raise DataError(f"DuckDB cannot open the table: {str(error).splitlines()[0]}") from None
        self._kinds = {name: _kind(kind) for name, kind in self._types.items()}

    def kinds(self) -> Mapping[str, Kind]:
        return self._kinds

    def batches(self, columns: tuple[str, ...], cluster: str | None) -> Iterator[Batch]:
        names = columns or tuple(self._kinds)[:1]
        chosen = ", ".join(f"{self._typed(name)} AS {double_quoted(name)}" for name in names)
        order = "" if cluster is None else f" ORDER BY {double_quoted(cluster)}"
        yield from self._read(f"SELECT {chosen} FROM {self._source}{order}")

    def group_counts(self, cells: Cells) -> Iterator[GroupCounts]:
        keys = [self._key(name, domain) for name, domain in cells.axes]
        chosen = [f"{key} AS k{place}" for place, key in enumerate(keys)]
        groups = f" GROUP BY {', '.join(f'k{place}' for place in range(len(keys)))}" if keys else ""
        for batch in self._read(
            f"SELECT {', '.join([*chosen, 'count(*) AS n'])} FROM {self._source}{groups}"
        ):
            yield group_places(cells, [batch[f"k{place}"] for place in range(len(keys))], batch["n"])

    def _distinct(self, column: str) -> set[Any]:
        name = double_quoted(column)
        query = f"SELECT DISTINCT {self._typed(column)} AS v FROM {self._source} WHERE {name} IS NOT NULL"
        return {value for batch in self._read(query) for value in batch["v"].plain().tolist()}

    def _key(self, name: str, domain: Domain) -> str:
        if not isinstance(domain, Bins):
            return self._typed(name)
        formula = clipped_bin_of if domain.outside is Outside.CLIP else bin_of
        return formula(double_quoted(name), domain)

    @contextmanager
    def unchanged(self) -> Iterator[None]:
        self._compare()
        yield
        self._compare()

    def _compare(self) -> None:
        now = _identities(self._files)
        for name, before, after in zip(self._files, self._seen, now, strict=True):
            if before != after:
                raise SourceChanged(f"{name!r} changed after it was opened; nothing was released from it")

    def _typed(self, name: str) -> str:
        # One conversion, DuckDB's, of types that Arrow and SQL would convert each in its own way.
        # Others stay as they are: grouping by a converted column is slower.
        kind = _AS.get(self._types[name].split("(")[0])
        return f"CAST({double_quoted(name)} AS {kind})" if kind else double_quoted(name)

    def _read(self, query: str) -> Iterator[dict[str, Column]]:
        import duckdb

        try:
            # Not a cursor: it would not see what was registered on the connection.
            for batch in self._connection.sql(query).to_arrow_reader(ROWS):
                yield arrow_batch(batch)
        except (duckdb.Error, OSError) as error:  # the latter through Arrow
            # Its message may quote a record.
            self._compare()
            reason = str(error).split(" Error", 1)[0].split(":", 1)[0]
            raise DataError(f"DuckDB could not read the table: {reason} error") from None


def group_places(cells: Cells, keys: list[Column], counts: Column) -> GroupCounts:
    """Groups of an engine as places along each axis."""
    places = [
        bin_places(key.values.astype(np.int64), domain)
        if isinstance(domain, Bins)
        else places_in(key, domain)
        for key, (_, domain) in zip(keys, cells.axes, strict=True)
    ]
    return places, counts.values.astype(np.int64)


def read_parquet(paths: Paths, *, memory: str = "1GB", threads: int | None = None) -> DuckTable:
    """A table of one or more Parquet files (a pattern with `*` will do)."""
    return _files("read_parquet", paths, "", memory, threads)


def read_csv(paths: Paths, *, memory: str = "1GB", threads: int | None = None) -> DuckTable:
    """A table of one or more CSV files; types are found out by DuckDB from a first look at them."""
    return _files("read_csv", paths, "", memory, threads)


def read_sql(
    query: str,
    *,
    database: str | os.PathLike[str] | None = None,
    connection: Any = None,
    memory: str = "1GB",
    threads: int | None = None,
) -> DuckTable:
    """What a SELECT returns, from a DuckDB database file (opened for reading) or a connection of yours.

    The query must treat records one by one (choose columns, filter, compute within a record): the unit of
    privacy is a row of its result.
    """
    if (database is None) == (connection is None):
        raise ArgumentError("database", database, "given, unless connection is")
    if connection is None:
        path = os.fspath(database) if database is not None else ""
        if not os.path.exists(path):
            raise DataError(f"no such file: {path!r}")
        return DuckTable(connect(memory, threads, path), f"({query})", (path,))
    return DuckTable(connection, f"({query})")


def connect(memory: str, threads: int | None, database: str = ":memory:") -> Any:
    """A connection with bounded memory that fetches nothing from outside."""
    with needs("duckdb"):
        import duckdb

    config = {
        "memory_limit": memory,
        "preserve_insertion_order": "false",  # order means nothing to a sum and costs memory
        "autoinstall_known_extensions": "false",
        "temp_directory": os.path.join(tempfile.gettempdir(), f"indistinct-{os.getpid()}"),
    }
    if threads is not None:
        config["threads"] = str(threads)
    try:
        return duckdb.connect(database, read_only=database != ":memory:", config=config)
    except duckdb.Error as error:
        raise DataError(f"DuckDB cannot open {database!r}: {str(error).splitlines()[0]}") from None


def _files(reader: str, paths: Paths, options: str, memory: str, threads: int | None) -> DuckTable:
    listed = [paths] if isinstance(paths, str | os.PathLike) else list(paths)
    files: list[str] = []
    for path in (os.fspath(item) for item in listed):
        found = [path] if os.path.exists(path) else sorted(glob.glob(path, recursive=True))
        if not found:
            raise DataError(f"no such file: {path!r}")
        files += found
    names = ", ".join(text(name) for name in files)
    return DuckTable(connect(memory, threads), f"{reader}([{names}]{options})", tuple(files))


def _identities(files: tuple[str, ...]) -> list[tuple[int, ...] | None]:
    """What tells a file from a later version of it; the change time cannot be set back by hand."""
    found: list[tuple[int, ...] | None] = []
    for name in files:
        try:
            status = os.stat(name)
        except OSError:
            found.append(None)
        else:
            found.append((status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns))
    return found


def _kind(name: str) -> Kind:
    if name in _INTEGERS:
        return Kind.INTEGER
    if name.split("(")[0] in _NUMBERS:
        return Kind.NUMBER
    if name == "VARCHAR" or name.startswith("ENUM("):
        return Kind.TEXT
    return Kind.TRUTH if name == "BOOLEAN" else Kind.OTHER
