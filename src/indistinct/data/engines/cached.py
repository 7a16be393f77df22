"""A table whose exact sums are kept, so that data are read and checked before a budget is charged."""

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any

from indistinct.data.engines.table import Table
from indistinct.data.records.bounded_sum import BoundedSum, Folds, Totals
from indistinct.data.records.types import Kind


class CachedTable(Table):
    """Each bounded sum is computed once; asking again gives the same numbers without reading a record.

    The sums are private, and are kept in memory as long as this table is.
    """

    def __init__(self, table: Table) -> None:
        self._table = table
        self._totals: dict[BoundedSum, Totals] = {}

    def kinds(self) -> Mapping[str, Kind]:
        return self._table.kinds()

    def fold(self, folds: Folds) -> Folds:
        return self._table.fold(folds)

    def _distinct(self, column: str, kind: Kind) -> set[Any]:
        return self._table._distinct(column, kind)

    def unchanged(self) -> AbstractContextManager[None]:
        return self._table.unchanged()

    def totals(self, sums: Sequence[BoundedSum]) -> dict[BoundedSum, Totals]:
        new = [bounded for bounded in sums if bounded not in self._totals]
        self._totals.update(self._table.totals(new))
        return {bounded: self._totals[bounded] for bounded in sums}
