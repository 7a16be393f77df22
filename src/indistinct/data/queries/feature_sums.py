"""Sums of features: each record becomes a point, and each point a vector whose length has a proven bound.

This is how a function is released: a mean embedding, a density, a kernel expansion are sums over records of
φ(x) with |φ(x)| ≤ κ, the coordinates of x in a space of functions (Hall, Rinaldo and Wasserman 2013).
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from indistinct.data.queries.intervals import Values
from indistinct.data.queries.query import Query
from indistinct.data.records.domain import Categories, Numbers
from indistinct.data.records.encoding import (
    BELOW,
    MISSING,
    RESOLUTION,
    Encoding,
    Integers,
    check_distinct,
    places_in,
    refuse_outside,
    settle,
    step_for,
)
from indistinct.data.records.reach import Ball, Norm, Reach
from indistinct.data.records.types import Batch, Mask, slices
from indistinct.data.records.unit import RECORDS, Unit
from indistinct.description import Described, describable
from indistinct.errors import ArgumentError, check_count

Points = npt.NDArray[np.float64]
Axes = tuple[tuple[str, Numbers | Categories], ...]

_BITS = 46
"""Between the bound on a point's features and the step."""
_FREE = 1e-4
"""Of the bound: what rounding may cost where nobody has declared how many records there are."""
_AT_ONCE = 1 << 22
"""Features that are held at once: 32 MiB."""
_ROWS_IN_64_BITS = 1 << 15
"""So many rows, of numbers of `_BITS` bits and a little more, add up inside 64 bits."""


class FeatureMap(Described, ABC):
    """From a point to a vector of `size` numbers with a proven bound on its length. Plain data: it can be
    compared and hashed, and does not depend on records."""

    noun = "map"
    size: int
    """How many features there are."""
    dimension: int
    """How many numbers a point has; a category counts as one, the place in its list."""
    bound: float
    """No φ(x) is longer than this."""
    nonnegative: bool
    """Whether the inner product of two φ is never negative."""

    @abstractmethod
    def __call__(self, points: Points) -> npt.NDArray[Any]:
        """The features of each point, one row each; a row that is not finite adds nothing."""

    def wobble(self, radius: float) -> float:
        """How far two computations of φ at one point, of at most this length, may differ. It is 0 where the
        features of a point do not depend on the points that are computed beside it, not even in their last
        bits; a matrix product is not like that."""
        return 0.0


@dataclass(frozen=True)
class Mapped(Encoding):
    """The features of the point that a record's columns make; with `block`, in the block of its category.

    Removing a record may change how the others are rounded where features wobble. That is part of the reach,
    and so a table of more than `records` is refused; unless declared, these are as many as cost little.
    """

    axes: Axes
    map: FeatureMap
    block: tuple[str, Categories] | None = None
    records: int | None = None
    counts = False

    def __post_init__(self) -> None:
        if not isinstance(self.map, FeatureMap):
            raise ArgumentError("map", self.map, "a feature map such as RandomFeatures(...)")
        for name, domain in self.axes:
            if not isinstance(domain, Numbers | Categories):
                raise ArgumentError(f"domain of {name!r}", domain, "Numbers(...) or Categories(...)")
        if len(self.axes) != self.map.dimension:
            allowed = f"{self.map.dimension} columns, as many as its points have numbers"
            raise ArgumentError("axes", [name for name, _ in self.axes], allowed)
        if self.block is not None and not isinstance(self.block[1], Categories):
            raise ArgumentError("block", self.block, "a column and its Categories(...)")
        check_distinct(self.declared)
        if self.records is not None:
            object.__setattr__(self, "records", check_count("records", self.records, least=1))
        if not 0 < self.map.bound < math.inf:
            raise ArgumentError("map", f"features of bound {self.map.bound}", "features of a finite bound")
        if not self._charge <= 0.01 * self.map.bound:
            allowed = f"fewer: rounding would cost {self._charge / self.map.bound:.1%} more noise"
            raise ArgumentError("records", self.records, allowed)

    @property
    def declared(self) -> Axes:
        return self.axes if self.block is None else (*self.axes, self.block)

    @property
    def blocks(self) -> int:
        return 1 if self.block is None else self.block[1].size

    @property
    def size(self) -> int:  # type: ignore[override]
        return self.map.size * self.blocks

    @property
    def step(self) -> float:  # type: ignore[override]
        return step_for(self.map.bound) * 2.0 ** (RESOLUTION - _BITS)

    @property
    def limit(self) -> int:
        """The longest row, in steps: the bound and room for rounding, so that true features are never cut."""
        room = 1 + 1e-12 + (self.map.size + 8) * 2.0**-49
        return math.ceil(self.map.bound / self.step * room) + math.isqrt(self.map.size) + 1

    @property
    def radius(self) -> float:
        """No point is further than this from the origin."""
        return math.sqrt(sum(_furthest(domain) ** 2 for _, domain in self.axes))

    @cached_property
    def _off(self) -> float:
        """How much the rounding of one other record may move the sum."""
        wobble = self.map.wobble(self.radius)
        return wobble + math.sqrt(self.map.size) * self.step if wobble else 0.0

    @cached_property
    def most(self) -> int | None:  # type: ignore[override]
        if not self._off:
            return None
        return self.records or max(1, int(_FREE * self.map.bound / self._off))

    @property
    def _charge(self) -> float:
        """How much the rounding of all other records may move the sum, when one of them goes."""
        return (self.most or 0) * self._off

    @property
    def reach(self) -> Reach:
        # Rounding may turn a right angle into an obtuse one: by less than this many steps of length.
        room = math.isqrt(self.map.size) + 1
        longest = self.limit + room + math.ceil(self._charge / self.step)
        return Ball(Norm.L2, longest, self.size, acute=self.map.nonnegative)

    @property
    def wobbles(self) -> bool:
        return self._off > 0

    def encode(self, batch: Batch) -> tuple[Mask, Integers]:
        keep, points, blocks = self.points(batch)
        rows = np.zeros((len(points), self.blocks, self.map.size), dtype=np.int64)
        for part in self._pieces(len(points)):
            rows[np.arange(len(points))[part], blocks[part]] = self.rounded(points[part])
        return keep, rows.reshape(len(points), self.size)

    def add_up(self, batch: Batch) -> npt.NDArray[Any]:
        _, points, blocks = self.points(batch)
        totals = np.zeros((self.blocks, self.map.size), dtype=object)
        recent, rows_in_it = np.zeros(totals.shape, dtype=np.int64), 0
        for part in self._pieces(len(points)):
            rows = self._whole(points[part])
            if rows_in_it + len(rows) > _ROWS_IN_64_BITS:
                totals += recent.astype(object)
                recent[:], rows_in_it = 0, 0
            of_block = blocks[part] == np.arange(self.blocks)[:, None]
            for few in slices(len(rows), 2**53 // self.limit):  # whole numbers that doubles add exactly
                recent += (of_block[:, few].astype(np.float64) @ rows[few]).astype(np.int64)
            rows_in_it += len(rows)
        totals += recent.astype(object)
        return totals.reshape(-1)

    def _pieces(self, rows: int) -> Iterator[slice]:
        return slices(rows, max(1, min(_AT_ONCE // self.map.size, _ROWS_IN_64_BITS)))

    def points(self, batch: Batch) -> tuple[Mask, Points, npt.NDArray[np.int64]]:
        """Which records are kept; of these the points, and the places of their blocks."""
        keep = np.ones(batch.rows, dtype=bool)
        parts = [_coordinate(batch, name, domain, keep) for name, domain in self.axes]
        points = np.stack(parts, axis=1)
        blocks = np.zeros(len(keep), dtype=np.int64)
        if self.block is not None:
            blocks = _coordinate(batch, *self.block, keep).astype(np.int64)
        return keep, points[keep], blocks[keep]

    def rounded(self, points: Points) -> Integers:
        """Rows of integers no longer than the limit, whatever the map returned."""
        return self._whole(points).astype(np.int64)

    def _whole(self, points: Points) -> Points:
        """The same as floats, which hold them exactly."""
        features = np.asarray(self.map(points), dtype=np.float64)
        rows = features / self.step
        if rows.shape != (len(points), self.map.size):
            shape = f"({len(points)}, {self.map.size})"
            raise ArgumentError("map", f"features of shape {features.shape}", f"features of shape {shape}")
        # Asked of the rows: features near the largest number there is are finite, and these are not.
        if not (finite := np.isfinite(rows).all(axis=1)).all():
            rows[~finite] = 0.0
        np.rint(rows, out=rows)
        # Raised above the true lengths by more than all rounding together.
        lengths = np.sqrt(np.einsum("ij,ij->i", rows, rows)) * (1 + (self.map.size + 8) * 2.0**-50)
        if (long := lengths > self.limit).any():
            rows[long] = np.trunc(rows[long] * (self.limit / lengths[long] * (1 - 2.0**-50))[:, None])
        return rows


def _coordinate(batch: Batch, name: str, domain: Numbers | Categories, keep: Mask) -> Points:
    """One column as numbers, by the policies of its domain."""
    column = batch[name]
    if isinstance(domain, Categories):
        places = places_in(column, domain)
        settle(name, places == MISSING, domain.missing, keep)
        refuse_outside(name, places == BELOW, domain.outside, keep)
        return np.maximum(places, 0).astype(np.float64)
    numbers = np.where(column.missing, domain.low, column.numbers())
    settle(name, column.missing, domain.missing, keep)
    ends = f", {domain.low:g} to {domain.high:g}"
    refuse_outside(name, (numbers < domain.low) | (numbers > domain.high), domain.outside, keep, ends)
    return np.clip(numbers, domain.low, domain.high)


def _furthest(domain: Numbers | Categories) -> float:
    """The largest number that stands for a value of the domain."""
    if isinstance(domain, Categories):
        return float(domain.size - 1)
    return max(abs(domain.low), abs(domain.high))


@describable()
class FeatureSum(Query):
    """The sum over records of the features of their points, block by block if there are blocks.

    >>> from indistinct.functions import GaussianKernel, RandomFeatures
    >>> place = {"x": Numbers(0, 1), "y": Numbers(0, 1)}
    >>> query = FeatureSum(place, RandomFeatures(GaussianKernel(0.1), pairs=100, dimension=2))
    >>> query.gaussian(scale=5).guarantee().epsilon(delta=1e-6)  # features of length 1
    0.834118
    """

    by_group = False
    axes: Axes
    map: FeatureMap
    block: tuple[str, Categories] | None
    unit: Unit
    records: int | None

    def __init__(
        self,
        axes: Mapping[str, Numbers | Categories],
        map: FeatureMap,
        *,
        block: tuple[str, Categories] | None = None,
        unit: Unit = RECORDS,
        records: int | None = None,
    ) -> None:
        self._declare(axes=tuple(dict(axes).items()), map=map, block=block, unit=unit, records=records)

    @property
    def encoding(self) -> Mapped:
        return Mapped(self.axes, self.map, self.block, self.records)

    def read(self, values: Values) -> Any:
        return values if self.block is None else values.reshape(self.block[1].size, self.map.size)
