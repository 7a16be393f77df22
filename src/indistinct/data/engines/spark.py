"""Spark: partial sums are made where the records are, one for each partition, and only those come back.

The workers need this package and pyarrow installed.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np

from indistinct.data.engines.duck import group_places
from indistinct.data.engines.sql import back_quoted, bin_of
from indistinct.data.engines.table import GroupCounts, Table
from indistinct.data.records.bounded_sum import BoundedSum, Fold
from indistinct.data.records.domain import Bins
from indistinct.data.records.encoding import Cells
from indistinct.data.records.types import Kind, arrow_batch, from_arrow
from indistinct.errors import DataError

_KINDS = {
    "tinyint": Kind.INTEGER,
    "smallint": Kind.INTEGER,
    "int": Kind.INTEGER,
    "bigint": Kind.INTEGER,
    "float": Kind.NUMBER,
    "double": Kind.NUMBER,
    "decimal": Kind.NUMBER,
    "string": Kind.TEXT,
    "boolean": Kind.TRUTH,
}
_AS = {Kind.INTEGER: "BIGINT", Kind.NUMBER: "DOUBLE"}


class SparkTable(Table):
    """A Spark DataFrame."""

    def __init__(self, frame: Any) -> None:
        self._frame = frame
        self._kinds = {name: _KINDS.get(kind.split("(")[0], Kind.OTHER) for name, kind in frame.dtypes}

    def kinds(self) -> Mapping[str, Kind]:
        return self._kinds

    def fold(self, fold: Fold) -> Fold:
        bounded = fold.sum
        frame = self._frame.selectExpr(
            *(f"{self._typed(name)} AS {back_quoted(name)}" for name in bounded.columns)
        )
        if bounded.unit.column is not None:
            user = back_quoted(bounded.unit.column)
            frame = frame.repartition(frame[user]).sortWithinPartitions(frame[user])
        parts = frame.mapInArrow(
            lambda batches: _partial(bounded, batches), "totals string, records bigint, error string"
        )
        with _without_values():
            rows = parts.collect()
        for row in rows:
            if row["error"] is not None:
                raise DataError(row["error"])
            fold.records += row["records"]
            fold.totals += np.array([int(word) for word in row["totals"].split()], dtype=fold.totals.dtype)
        return fold

    def group_counts(self, cells: Cells) -> Iterator[GroupCounts]:
        keys = [
            bin_of(back_quoted(name), domain) if isinstance(domain, Bins) else self._typed(name)
            for name, domain in cells.axes
        ]
        chosen = self._frame.selectExpr(*(f"{key} AS k{place}" for place, key in enumerate(keys)))
        names = [f"k{place}" for place in range(len(keys))]
        with _without_values():
            grouped = chosen.groupBy(*names).count().toArrow().combine_chunks()
        columns = [from_arrow(column.chunk(0)) for column in grouped.columns if column.num_chunks]
        if columns:
            yield group_places(cells, columns[:-1], columns[-1])

    def _distinct(self, column: str) -> set[Any]:
        found = self._frame.selectExpr(f"{self._typed(column)} AS v").where("v IS NOT NULL").distinct()
        with _without_values():
            return {row["v"] for row in found.collect()}

    def _typed(self, name: str) -> str:
        kind = _AS.get(self._kinds[name])
        return f"CAST({back_quoted(name)} AS {kind})" if kind else back_quoted(name)


@contextmanager
def _without_values() -> Iterator[None]:
    """Around what Spark computes: its errors may quote a record, and end in logs. Its own log has them."""
    from py4j.protocol import Py4JError  # type: ignore[import-untyped,unused-ignore]
    from pyspark.errors import PySparkException

    try:
        yield
    except (PySparkException, Py4JError) as error:
        told = error.getCondition() if isinstance(error, PySparkException) else None
        reason = told or type(error).__name__
        advice = "Spark's log says more; the workers need this package and pyarrow installed"
        raise DataError(f"Spark could not read the table: {reason} ({advice})") from None


def _partial(bounded: BoundedSum, batches: Iterator[Any]) -> Iterator[Any]:
    """One partition's sum, as text: Arrow has no integers without bounds."""
    import pyarrow as pa

    fold, error, totals = Fold(bounded), None, ""
    try:
        for batch in batches:
            fold.add(arrow_batch(batch))
        totals = " ".join(str(total) for total in fold.finish())
    except DataError as refused:
        # Raised here it would come back as a page of Java's traces.
        error = str(refused)
    row = {"totals": [totals], "records": [fold.records], "error": [error]}
    schema = pa.schema([("totals", pa.string()), ("records", pa.int64()), ("error", pa.string())])
    yield pa.RecordBatch.from_pydict(row, schema=schema)
