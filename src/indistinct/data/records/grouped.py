"""Records by group: what an encoding makes of a record, in the place of the group that the record is in."""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from indistinct.data.records.domain import MOST_CELLS, Missing, Outside
from indistinct.data.records.encoding import Cells, Encoding, Integers, OfNumber
from indistinct.data.records.reach import OneOf, Reach
from indistinct.data.records.types import Batch, Mask, Type
from indistinct.errors import ArgumentError

_FEW = 100
"""Records of a group for which it takes longer to begin than to add them up one by one."""


@dataclass(frozen=True)
class ByGroup(Encoding):
    """A vector of `of` for each cell of `keys`, zero but for the one that the record is in.

    A row is the place of its group and the row that `of` makes; for counts, the place of its cell.
    """

    keys: Cells
    of: Encoding

    def __post_init__(self) -> None:
        if not self.keys.axes:
            raise ArgumentError("by", (), "one column or more")
        if isinstance(self.of, ByGroup):
            raise ArgumentError("query", "by group", "not by group: name all columns at once")
        if self.of.wobbles:
            raise ArgumentError(
                "query", type(self.of).__name__, "one whose rounding depends on its record alone"
            )
        own, inner = self.keys.types, self.of.types
        if twice := [name for name in own if own[name] != inner.get(name, own[name])]:
            raise ArgumentError("by", twice, "columns that are read as the query reads them")
        if self.size > MOST_CELLS:
            raise ArgumentError("by", self.keys.shape, f"at most {MOST_CELLS} numbers together")

    @property
    def declared(self) -> tuple[tuple[str, Any], ...]:
        return (*self.keys.declared, *self.of.declared)

    @property
    def types(self) -> Mapping[str, Type]:
        return {**self.keys.types, **self.of.types}

    @property
    def drops(self) -> bool:
        return self.keys.drops or self.of.drops

    @property
    def group_count(self) -> int:  # type: ignore[override]
        return self.keys.size

    @property
    def counts(self) -> bool:  # type: ignore[override]
        return self.of.counts

    @property
    def step(self) -> float:  # type: ignore[override]
        return self.of.step

    @property
    def size(self) -> int:  # type: ignore[override]
        return self.group_count * self.of.size

    @property
    def width(self) -> int:
        return 1 if self.counts else 1 + self.of.size

    @property
    def reach(self) -> Reach:
        reach = self.of.reach
        assert not isinstance(reach, OneOf)
        return OneOf(reach, self.group_count)

    @property
    def most(self) -> int | None:  # type: ignore[override]
        return self.of.most

    @property
    def cells(self) -> Cells | None:
        if isinstance(self.of, Cells) and not set(self.keys.types) & set(self.of.types):
            return Cells((*self.keys.axes, *self.of.axes))
        return None

    @property
    def of_number(self) -> OfNumber | None:
        return self.of.of_number

    def encode(self, batch: Batch) -> tuple[Mask, Integers]:
        keep, groups = self.keys.encode(batch)
        kept, rows = self.of.encode(batch)
        both = keep & kept
        groups, rows = groups[both[keep]], rows[both[kept]]
        if self.counts:
            return both, groups * self.of.size + rows
        return both, np.concatenate([groups, rows], axis=1)

    def add_up(self, batch: Batch) -> npt.NDArray[Any] | None:
        refuses = any(d.outside is Outside.ERROR or d.missing is Missing.ERROR for _, d in self.of.declared)
        if type(self.of).add_up is Encoding.add_up or refuses:  # also where a record is in no group
            return None
        keep, cells = self.keys.encode(batch)
        order = np.argsort(cells[:, 0], kind="stable")
        rows, groups = np.flatnonzero(keep)[order], cells[order, 0]
        starts = np.flatnonzero(np.diff(groups, prepend=-1))
        if len(starts) * _FEW > len(rows):
            return None
        totals = np.zeros((self.group_count, self.of.size), dtype=object)
        for first, last in pairwise([*starts.tolist(), len(rows)]):  # none, where no record is in a group
            totals[groups[first]] += self.of.add_up(batch.take(rows[first:last]))
        return totals.ravel()

    def split(self, rows: Integers) -> tuple[Integers, Integers]:
        if self.counts:
            return rows[:, 0] // self.of.size, rows
        return rows[:, 0], rows[:, 1:]

    def total(self, rows: Integers) -> npt.NDArray[Any]:
        if self.counts:
            return super().total(rows)
        groups, vectors = self.split(rows)
        totals = np.zeros((self.group_count, self.of.size), dtype=np.int64)
        for column, values in zip(totals.T, vectors.T, strict=True):
            np.add.at(column, groups, values)
        return totals.ravel()
