"""Spark: partial sums are made where the records are, one for each partition, and only those come back.

The workers need this package and pyarrow installed.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np

from indistinct.boundary import guarded, shows
from indistinct.data.engines.aggregates import Aggregate, Summed
from indistinct.data.engines.duckdb_engine import key_column, summed
from indistinct.data.engines.sql import SPARK, back_quoted, bin_of, grouped, whole_or_null
from indistinct.data.engines.table import Table
from indistinct.data.records.arrow import arrow_batch
from indistinct.data.records.bounded_sum import BoundedSum, Folds
from indistinct.data.records.domain import Bins, Domain
from indistinct.data.records.types import Kind
from indistinct.errors import DataError

_INTEGERS = {"tinyint", "smallint", "int", "bigint"}
_DOUBLES = {"float", "double"}
_KINDS = {
    **dict.fromkeys(_INTEGERS, Kind.INTEGER),
    **dict.fromkeys(_DOUBLES | {"decimal"}, Kind.NUMBER),
    **dict.fromkeys(("string", "varchar", "char"), Kind.TEXT),
    **dict.fromkeys(("date", "timestamp", "timestamp_ntz"), Kind.TIME),
    "boolean": Kind.TRUTH,
    "void": Kind.ANY,
}
_TABLE = "the Spark table (whose workers need this package and pyarrow)"


class SparkTable(Table):
    """A Spark DataFrame."""

    def __init__(self, frame: Any) -> None:
        self._frame = frame
        # "string collate UNICODE_CI" is text: it is compared by its bytes.
        pairs = [(name, kind.split("(")[0].split(" ")[0]) for name, kind in frame.dtypes]
        names = [name for name, _ in pairs]
        self._types = {name: kind for name, kind in pairs if names.count(name) == 1}

    def kinds(self) -> Mapping[str, Kind]:
        return {name: _KINDS.get(kind, Kind.OTHER) for name, kind in self._types.items()}

    def fold(self, folds: Folds) -> Folds:
        sums, user = folds.sums, folds.user
        chosen = [f"{back_quoted(name)} AS c{place}" for place, name in enumerate(folds.types)]
        if user is not None:
            chosen += [f"{self._user(user)} AS u"]
        with guarded(_TABLE), _quiet(self._frame):
            frame = self._frame.selectExpr(*chosen) if chosen else self._frame.selectExpr("1 AS c0")
            if user is not None:
                # As bytes: a collation may take two users for one, and give them back mixed.
                whose = "CAST(u AS BINARY)" if self.kinds()[user] in (Kind.TEXT, Kind.TRUTH) else "u"
                frame = frame.selectExpr("*", f"{whose} AS b").repartition("b").sortWithinPartitions("b")
            parts = frame.mapInArrow(
                lambda batches: _partial(sums, batches), "totals string, records bigint, error string"
            )
            rows = parts.collect()
        for row in rows:
            if row["error"] is not None:
                raise DataError(row["error"])
            found = iter(row["totals"].split())
            for fold in folds.folds:
                fold.records += row["records"]
                fold.totals += np.array([int(next(found)) for _ in fold.totals], dtype=fold.totals.dtype)
        return folds

    def aggregated(self, asked: Aggregate) -> Iterator[Summed] | None:
        parts = grouped(asked, self._key, self._number, SPARK)
        return None if parts is None else self._summed(asked, *parts)

    def _summed(
        self, asked: Aggregate, records: list[str], keys: list[str], sums: list[str]
    ) -> Iterator[Summed]:
        from pyspark.sql.functions import expr

        with guarded(_TABLE), _quiet(self._frame):
            added = [expr(one).alias(f"s{place}") for place, one in enumerate(sums)]
            found = self._frame.selectExpr(*records).groupBy(*keys).agg(*added).toArrow().combine_chunks()
        if found.num_rows:
            yield summed(asked, [column.chunk(0) for column in found.columns])

    def _number(self, name: str) -> str | None:
        """A column of numbers that are floats in Arrow as they are here."""
        return back_quoted(name) if self._types[name] in _INTEGERS | _DOUBLES else None

    def _key(self, name: str, domain: Domain) -> str | None:
        """What Spark groups by, where it holds values of the declared type."""
        held = self._types[name]
        if isinstance(domain, Bins):
            plain = domain.of is None and held in _INTEGERS | _DOUBLES
            return bin_of(back_quoted(name), domain) if plain else None
        plain = _KINDS[held] is domain.type
        bytes_of = f"CAST({back_quoted(name)} AS BINARY)" if domain.type is Kind.TEXT else back_quoted(name)
        return bytes_of if plain else None

    def _user(self, name: str) -> str:
        """A column of users, of one of two types: integers and text."""
        kind, quoted = self.kinds()[name], back_quoted(name)
        if kind is Kind.NUMBER:
            return whole_or_null(quoted)
        return f"CAST({quoted} AS STRING)" if kind is Kind.TRUTH else quoted

    def _distinct(self, column: str, kind: Kind) -> set[Any]:
        with guarded(_TABLE), _quiet(self._frame):
            quoted = back_quoted(column)
            key = f"CAST({quoted} AS BINARY)" if self.kinds()[column] is Kind.TEXT else quoted
            found = self._frame.selectExpr(f"{key} AS v").distinct().toArrow().combine_chunks().column(0)
            if not len(found):
                return set()
            values = key_column(found.chunk(0), kind)
            return set(values.plain()[~values.missing].tolist())


@contextmanager
def _quiet(frame: Any) -> Iterator[None]:
    """Around jobs: what Java logs may show records. Workers on other machines log where they are."""
    context = getattr(getattr(frame, "sparkSession", None), "_jsc", None) and frame.sparkSession.sparkContext
    if not context or shows():
        yield
        return
    root = context._jvm.org.apache.logging.log4j.LogManager.getRootLogger()  # noqa: SLF001 (no other way in)
    level = root.getLevel().toString()
    context.setLogLevel("OFF")
    try:
        yield
    finally:
        context.setLogLevel(level)


def _partial(sums: tuple[BoundedSum, ...], batches: Iterator[Any]) -> Iterator[Any]:
    """One partition's sum, as text: Arrow has no integers without bounds."""
    import pyarrow as pa

    folds, error, totals, records = Folds(sums), None, "", 0
    try:
        for batch in batches:
            with guarded("the table"):
                read = arrow_batch(batch, folds.types, users=folds.user is not None)
            folds.add(read)
            records += read.rows
        totals = " ".join(str(total) for fold in folds.folds for total in fold.finish())
    except DataError as refused:
        # Raised here it would come back as a page of Java's traces.
        error = str(refused)
    row = {"totals": [totals], "records": [records], "error": [error]}
    schema = pa.schema([("totals", pa.string()), ("records", pa.int64()), ("error", pa.string())])
    yield pa.RecordBatch.from_pydict(row, schema=schema)
