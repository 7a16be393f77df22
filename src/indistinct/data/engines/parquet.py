"""Parquet files: DuckDB reads them, and Arrow where DuckDB cannot.

One value that DuckDB cannot convert (bytes that are no text, a time out of its range, a number that does not
fit the type of another file) would be an error of the whole table. So then, and where files differ in their
types, Arrow reads the values as they are, and what becomes of them is decided as for all other engines.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeVar

from indistinct.boundary import guarded, guarded_each
from indistinct.data.engines.aggregates import Aggregate
from indistinct.data.engines.by_user import by_user
from indistinct.data.engines.duckdb_engine import DuckRelation
from indistinct.data.engines.files import Paths, found
from indistinct.data.engines.sandbox import Sandbox, escaped
from indistinct.data.engines.sql import text
from indistinct.data.engines.table import BatchedTable
from indistinct.data.records.arrow import arrow_batch, from_arrow, kind_of_arrow, user_texts
from indistinct.data.records.bounded_sum import Fold, Folds
from indistinct.data.records.types import ROWS, Batch, Kind, Type
from indistinct.errors import DataError, needs

Found = TypeVar("Found")


class ParquetTable(DuckRelation):
    """Parquet files."""

    def __init__(self, files: tuple[str, ...], memory: str, threads: int | None) -> None:
        self._arrow = ArrowFiles(files, memory, threads)
        sandbox = Sandbox(memory, threads, files=files)
        names = ", ".join(text(escaped(name)) for name in files[: None if self._arrow.alike else 1])
        source = f"read_parquet([{names}], hive_partitioning = false)"
        super().__init__(sandbox.connection, source, files, sandbox)

    def kinds(self) -> Mapping[str, Kind]:
        return super().kinds() if self._arrow.alike else self._arrow.kinds()

    def fold(self, folds: Folds) -> Folds:
        found = self._by_duck(DuckRelation.fold, Folds(folds.sums))
        return self._arrow.fold(folds) if found is None else found

    def by_engine(self, asked: Aggregate) -> list[Fold] | None:
        return self._by_duck(DuckRelation.by_engine, asked)

    def _distinct(self, column: str, kind: Kind) -> set[Any]:
        found = self._by_duck(DuckRelation._distinct, column, kind)
        return self._arrow._distinct(column, kind) if found is None else found

    def _by_duck(self, ask: Callable[..., Found], *about: Any) -> Found | None:
        """What DuckDB finds; None where files differ, or it stumbles. An error of ours comes again."""
        try:
            return ask(self, *about) if self._arrow.alike else None
        except DataError:
            return None


class ArrowFiles(BatchedTable):
    """Parquet files, read by Arrow: each with its own types."""

    def __init__(self, files: tuple[str, ...], memory: str, threads: int | None) -> None:
        with needs("duckdb"):
            from pyarrow import parquet

        self._files, self._memory, self._threads = files, memory, threads
        with guarded(files[0] if len(files) == 1 else "the table"):
            self._schemas = [parquet.read_schema(file).remove_metadata() for file in files]
        self.alike = all(schema == self._schemas[0] for schema in self._schemas)

    def kinds(self) -> Mapping[str, Kind]:
        """Of the columns that all files have; where their types differ, each value is read as it is."""
        found = {}
        for name in self._schemas[0].names:
            if all(schema.names.count(name) == 1 for schema in self._schemas):
                kinds = {kind_of_arrow(schema.field(name).type) for schema in self._schemas}
                found[name] = kinds.pop() if len(kinds) == 1 else Kind.ANY
        return found

    def batches(self, types: Mapping[str, Type], user: str | None) -> Iterator[Batch]:
        if user is not None:
            parts = (
                [
                    *(from_arrow(batch.column(name), kind) for name, kind in types.items()),
                    user_texts(batch.column(user)),
                ]
                for batch in self._read({*types, user})
            )
            yield from by_user(parts, types, self._memory, self._threads)
            return
        for batch in guarded_each("the table", self._read(set(types))):
            with guarded("the table"):
                read = arrow_batch(batch.select(list(types)), types, users=False)
            yield read

    def _read(self, names: set[str]) -> Iterator[Any]:
        from pyarrow import parquet

        for name in self._files:
            with parquet.ParquetFile(name) as file:
                yield from file.iter_batches(ROWS, columns=sorted(names))


def read_parquet(paths: Paths, *, memory: str = "1GB", threads: int | None = None) -> ParquetTable:
    """A table of one or more Parquet files (a pattern with `*` will do)."""
    return ParquetTable(found(paths), memory, threads)
