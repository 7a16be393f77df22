"""Counts, histograms, sums and means: bounded sums by their everyday names."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from indistinct.data.queries.query import Query, Values
from indistinct.data.records.domain import Domain, Missing, Numbers
from indistinct.data.records.encoding import Boxed, Cells, Clipped, Encoding, Integers
from indistinct.data.records.reach import Box, Norm, Reach
from indistinct.data.records.types import Batch, Mask
from indistinct.data.records.unit import RECORDS, Unit
from indistinct.description import PositiveCount, describable
from indistinct.errors import ArgumentError


@describable()
class Count(Query):
    """How many records there are.

    >>> Count().laplace(scale=2).guarantee().pure()
    0.5
    """

    unit: Unit = RECORDS

    @property
    def encoding(self) -> Cells:
        return Cells(())

    def read(self, values: Values) -> Any:
        return float(values[0])


@describable()
class Histogram(Query):
    """How many records are in each cell of declared domains; the answer has one axis for each column.

    >>> from indistinct.data import Bins, Categories
    >>> query = Histogram({"age": Bins(0, 100, 5), "smokes": Categories(["no", "yes"])})
    >>> query.size, query.gaussian(scale=4).guarantee().epsilon(delta=1e-6)
    (10, 1.0607)
    """

    axes: tuple[tuple[str, Domain], ...]
    unit: Unit

    def __init__(self, axes: Mapping[str, Domain], unit: Unit = RECORDS) -> None:
        self._declare(axes=tuple(dict(axes).items()), unit=unit)

    @property
    def encoding(self) -> Cells:
        return Cells(self.axes)

    def read(self, values: Values) -> Any:
        return values.reshape(self.encoding.shape)


@describable()
class Sum(Query):
    """The sum of a column whose values are clipped to an interval.

    >>> Sum("income", Numbers(0, 200_000)).laplace(scale=1e6).guarantee().pure()
    0.2
    """

    column: str
    domain: Numbers
    unit: Unit = RECORDS

    @property
    def encoding(self) -> Boxed:
        return Boxed(((self.column, self.domain),))

    def read(self, values: Values) -> Any:
        return float(values[0])


@describable()
class VectorSum(Query):
    """The sum of vectors, each scaled down to norm `bound` where it is longer."""

    columns: tuple[str, ...]
    norm: Norm
    bound: float
    unit: Unit = RECORDS
    missing: Missing = Missing.DROP

    def __post_init__(self) -> None:
        if isinstance(self.columns, str):
            raise ArgumentError("columns", self.columns, "several names")
        super().__post_init__()

    @property
    def encoding(self) -> Clipped:
        return Clipped(tuple(self.columns), self.norm, self.bound, self.missing)


@describable()
class PublicMean(Query):
    """The mean of a column over `records` records, a number that is known to everybody."""

    column: str
    domain: Numbers
    records: PositiveCount
    unit: Unit = RECORDS

    @property
    def encoding(self) -> Boxed:
        return Boxed(((self.column, self.domain),))

    def read(self, values: Values) -> Any:
        return min(max(float(values[0]) / self.records, self.domain.low), self.domain.high)


@describable()
class Mean(Query):
    """The mean of a column where the number of records is private too.

    Two numbers get noise: the sum of distances from the middle of the interval, and the number of
    records times half its width, so that both move by the same when a record is added.
    """

    column: str
    domain: Numbers
    unit: Unit = RECORDS

    @property
    def encoding(self) -> "Centred":
        return Centred(self.column, self.domain)

    def read(self, values: Values) -> Any:
        middle = self.encoding.middle * self.step
        return min(max(middle + float(values[1]) / self.records(values), self.domain.low), self.domain.high)

    def records(self, values: Values) -> float:
        """How many records there are, by the same noisy numbers; at least one."""
        return max(float(values[0]) / (self.encoding.half * self.step), 1.0)


@dataclass(frozen=True)
class Centred(Encoding):
    """Half the width of an interval, and a number's distance from its middle."""

    column: str
    domain: Numbers
    counts = False
    size = 2

    def __post_init__(self) -> None:
        if not isinstance(self.domain, Numbers) or self.half < 1:
            raise ArgumentError("domain", self.domain, "Numbers(low, high) with low below high")

    @property
    def declared(self) -> tuple[tuple[str, Numbers], ...]:
        return ((self.column, self.domain),)

    @property
    def _box(self) -> Boxed:
        return Boxed(self.declared)

    @property
    def step(self) -> float:  # type: ignore[override]
        return self._box.step

    @property
    def _ends(self) -> tuple[int, int]:
        box = self._box.reach
        assert isinstance(box, Box)
        return int(box.low[0]), int(box.high[0])

    @property
    def middle(self) -> int:
        return sum(self._ends) // 2

    @property
    def half(self) -> int:
        return self._ends[1] - self.middle

    @property
    def reach(self) -> Reach:
        low, high = self._ends
        return Box((self.half, low - self.middle), (self.half, high - self.middle))

    def encode(self, batch: Batch) -> tuple[Mask, Integers]:
        keep, rows = self._box.encode(batch)
        return keep, np.concatenate([np.full_like(rows, self.half), rows - self.middle], axis=1)
