"""Tables: where records come from. An engine is one class: it hands out batches of columns, or folds sums
where the records are. `group_counts` pushes counting down to an engine that can.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import numpy as np

from indistinct.data.records.bounded_sum import BoundedSum, Fold, Totals
from indistinct.data.records.encoding import Cells, Integers
from indistinct.data.records.types import Batch, Kind
from indistinct.data.records.unit import Records
from indistinct.errors import DataError

GroupCounts = tuple[list[Integers], Integers]
"""Places along each axis, and how many records are there."""


class Table(ABC):
    """Records that are read only through a bounded sum."""

    @abstractmethod
    def kinds(self) -> Mapping[str, Kind]:
        """The columns and what they hold."""

    @abstractmethod
    def fold(self, fold: Fold) -> Fold:
        """All records added to a sum."""

    def group_counts(self, cells: Cells) -> Iterator[GroupCounts] | None:
        """Counts of cells made by the engine, or None where it cannot."""
        return None

    def distinct(self, column: str) -> list[Any]:
        """The texts or integers that occur in a column. They are private: only heavy hitters ask."""
        self.check_listed(column)
        with self.unchanged():
            return sorted(self._distinct(column))

    def check_listed(self, column: str) -> None:
        """Refuses a column whose values cannot be counted one by one."""
        kinds = self.kinds()
        if column not in kinds:
            raise DataError(f"unknown column {column!r}; the table has {', '.join(map(repr, kinds))}")
        if kinds[column] not in (Kind.INTEGER, Kind.TEXT):
            raise DataError(
                f"column {column!r} holds {kinds[column].value}, but text or integers are counted"
            )

    @abstractmethod
    def _distinct(self, column: str) -> set[Any]: ...

    def unchanged(self) -> AbstractContextManager[None]:
        """Raises `SourceChanged` at its end if the records changed meanwhile."""
        return nullcontext()

    def kept(self) -> "Table":
        """The same records at every later pass, whatever becomes of what they were made from. Engines that
        read files notice a change themselves."""
        return self

    def total(self, bounded: BoundedSum) -> Totals:
        """The exact sum, before noise: the only way from records to numbers."""
        self.check(bounded)
        with self.unchanged():
            fold = self._counted(bounded) or self.fold(Fold(bounded))
            totals = fold.finish()
        if fold.records == 0:
            raise DataError("the table has no records")
        most = bounded.encoding.records
        if most is not None and fold.records > most:
            raise DataError(f"the table has more than {most} records, the most that were declared")
        if max(abs(int(totals.max())), abs(int(totals.min()))) >= 2**63:
            raise DataError("the sum does not fit 64 bits: too many records for these bounds")
        return Totals(totals.astype(np.int64), bounded.step)

    def check(self, bounded: BoundedSum) -> None:
        """Refuses unknown columns and wrong types without reading a record."""
        kinds = self.kinds()
        for name in bounded.columns:
            if name not in kinds:
                raise DataError(f"unknown column {name!r}; the table has {', '.join(map(repr, kinds))}")
        bounded.encoding.check(kinds)
        unit = bounded.unit.column
        if unit is not None and kinds[unit] not in (Kind.INTEGER, Kind.TEXT):
            raise DataError(f"the unit column {unit!r} holds {kinds[unit].value}; users are integers or text")

    def _counted(self, bounded: BoundedSum) -> Fold | None:
        cells = bounded.encoding
        if not isinstance(cells, Cells) or not isinstance(bounded.unit, Records):
            return None
        groups = self.group_counts(cells)
        if groups is None:
            return None
        fold = Fold(bounded)
        for places, counts in groups:
            keep, rows = cells.cells(places, len(counts))
            fold.add_counts(rows[:, 0], counts[keep], int(counts.sum()))
        return fold


class BatchedTable(Table):
    """Records that come in pieces, one after the other."""

    @abstractmethod
    def batches(self, columns: tuple[str, ...], cluster: str | None) -> Iterator[Batch]:
        """The columns in pieces; with `cluster`, records with the same value in that column together."""

    def fold(self, fold: Fold) -> Fold:
        for batch in self.batches(fold.sum.columns, fold.sum.unit.column):
            fold.add(batch)
        return fold

    def _distinct(self, column: str) -> set[Any]:
        found: set[Any] = set()
        for batch in self.batches((column,), None):
            part = batch[column]
            places = np.unique(part.values[~part.missing])
            found.update((places if part.words is None else part.words[places]).tolist())
        return found
