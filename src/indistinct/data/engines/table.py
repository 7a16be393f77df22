"""Tables: where records come from. An engine is one class: it hands out batches of columns, read as they were
declared, or folds sums where the records are. `aggregated` pushes sums by group down to an engine that can.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import numpy as np

from indistinct.data.engines.aggregates import Aggregate, Summed, aggregates, simple
from indistinct.data.records.bounded_sum import BoundedSum, Fold, Folds, Totals
from indistinct.data.records.reading import check_reads
from indistinct.data.records.types import Batch, Kind, Type
from indistinct.errors import DataError


class Table(ABC):
    """Records that are read only through a bounded sum."""

    @abstractmethod
    def kinds(self) -> Mapping[str, Kind]:
        """The columns, and what their types say that they hold. No record is read for that."""

    @abstractmethod
    def fold(self, folds: Folds) -> Folds:
        """All records added to sums."""

    def aggregated(self, asked: Aggregate) -> Iterator[Summed] | None:
        """Sums by group made by the engine, or None where it cannot."""
        return None

    def distinct(self, column: str, kind: Kind) -> list[Any]:
        """The texts or integers that occur in a column. They are private: only heavy hitters ask."""
        self.check_column(column, kind)
        with self.unchanged():
            return sorted(self._distinct(column, kind))

    def check_column(self, column: str, wanted: Type) -> None:
        """Refuses a column that is not there, or cannot be read as declared, without reading a record."""
        kinds = self.kinds()
        if column not in kinds:  # what names there are may be records, of a file without a header
            raise DataError(f"unknown column {column!r}: the table must have one column of this name")
        check_reads(column, kinds[column], wanted)

    @abstractmethod
    def _distinct(self, column: str, kind: Kind) -> set[Any]: ...

    def unchanged(self) -> AbstractContextManager[None]:
        """Raises `SourceChanged` at its end if the records changed meanwhile."""
        return nullcontext()

    def kept(self) -> "Table":
        """The same records at every later pass, whatever becomes of what they were made from. Engines that
        read files notice a change themselves."""
        return self

    def total(self, bounded: BoundedSum) -> Totals:
        """The exact sum, before noise."""
        return self.totals([bounded])[bounded]

    def totals(self, sums: Sequence[BoundedSum]) -> dict[BoundedSum, Totals]:
        """Exact sums, before noise: the only way from records to numbers. All are made in one pass over the
        records, or in as few as can be."""
        for bounded in sums:
            self.check(bounded)
        with self.unchanged():
            folds = self._folded(list(dict.fromkeys(sums)))
            return {fold.sum: _finished(fold) for fold in folds}

    def check(self, bounded: BoundedSum) -> None:
        """Refuses unknown columns and impossible types without reading a record."""
        for name, wanted in bounded.encoding.types.items():
            self.check_column(name, wanted)
        if bounded.unit.column is not None:
            self.check_column(bounded.unit.column, Kind.USER)

    def _folded(self, sums: list[BoundedSum]) -> list[Fold]:
        done: list[Fold] = []
        for asked in aggregates([bounded for bounded in sums if simple(bounded)]):
            found = self.by_engine(asked)
            done += found or []
        made = {fold.sum for fold in done}
        for folds in Folds.passes([bounded for bounded in sums if bounded not in made]):
            done += self.fold(folds).folds
        return done

    def by_engine(self, asked: Aggregate) -> list[Fold] | None:
        """Sums that follow from what the engine adds up by itself, or None where it cannot."""
        found = self.aggregated(asked)
        return None if found is None else asked.read(found)


def _finished(fold: Fold) -> Totals:
    totals, most = fold.finish(), fold.sum.encoding.most
    if most is not None and fold.records > most:
        raise DataError(f"the table has more than {most} records, the most that its sum allows for")
    fits = -(2**63) <= int(totals.min()) and int(totals.max()) < 2**63
    return Totals(totals.astype(np.int64) if fits else totals, fold.sum.step)


class BatchedTable(Table):
    """Records that come in pieces, one after the other."""

    @abstractmethod
    def batches(self, types: Mapping[str, Type], user: str | None) -> Iterator[Batch]:
        """The columns in pieces, as declared; with a column of users, records in the order of users."""

    def fold(self, folds: Folds) -> Folds:
        for batch in self.batches(folds.types, folds.user):
            folds.add(batch)
        return folds

    def _distinct(self, column: str, kind: Kind) -> set[Any]:
        found: set[Any] = set()
        for batch in self.batches({column: kind}, None):
            part = batch[column]
            places = np.unique(part.values[~part.missing])
            found.update((places if part.words is None else part.words[places]).tolist())
        return found
