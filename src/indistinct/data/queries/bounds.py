"""A suggestion of bounds for a column of which nobody knows how large its values are.

Records are counted between round numbers of all sizes, with noise; the bounds are round numbers between
which, by these counts, the wanted share lies. A second number, with noise of its own, then says how many are
left outside: it could not be read from the first ones, which had a say in where the bounds are.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from fractions import Fraction
from functools import cached_property
from typing import Annotated, Any

import numpy as np
import numpy.typing as npt

from indistinct.adjacency import Adjacency
from indistinct.data.queries.count_tree import CountTree
from indistinct.data.queries.intervals import Estimates, Values
from indistinct.data.queries.outside import Parts, shares
from indistinct.data.queries.query import NoisyQuery, Query
from indistinct.data.records.domain import GivenTimes
from indistinct.data.records.encoding import Encoding, Integers
from indistinct.data.records.reach import Ball, Norm, Reach
from indistinct.data.records.types import Batch, Kind, Mask, Times, Type
from indistinct.data.records.unit import RECORDS, Unit, UserTotals
from indistinct.description import describable, given
from indistinct.errors import ArgumentError, check_probability, check_real
from indistinct.guarantees.guarantee import Guarantee
from indistinct.mechanisms import Mechanism, Release
from indistinct.mechanisms.paying import Payer, charged
from indistinct.noise import Source
from indistinct.numerics.rounding import root_up, rounded_up

_ROUND = ("1", "1.5", "2", "3", "4", "5", "6", "8")
_DECADES = range(-6, 15)
_YEARS = 1900, 2100
_STEPS = 256
"""BetweenRungs the ends of a range of times."""
_TOGETHER = 8
"""Cells that are counted together on the next level."""
_DOUBT = 2.0
"""Deviations up to which a number of records may be noise."""
_NEAR_ZERO = 1000
"""So many times smaller than the other end, an end may as well be 0."""
_SURE = 8.0
"""Deviations by which the number of records must differ from noise, for anything to be suggested."""


@dataclass(frozen=True)
class Rungs(Encoding):
    """Each record counts one in the cell of its number: above 0 a cell has its upper end, below 0 its lower
    one, and the one around 0 has both. Numbers beyond all cells are in the last ones; missing ones are left
    out."""

    column: str
    edges: tuple[float, ...]
    of: Times | None
    counts = True
    step = 1.0

    @property
    def declared(self) -> tuple[tuple[str, Any], ...]:
        return ()

    @property
    def drops(self) -> bool:
        return True

    @property
    def types(self) -> Mapping[str, Type]:
        return {self.column: self.of or Kind.NUMBER}

    @property
    def size(self) -> int:  # type: ignore[override]
        return len(self.edges) - 1

    @property
    def reach(self) -> Reach:
        return Ball(Norm.L1, 1.0, self.size, nonnegative=True)

    def encode(self, batch: Batch) -> tuple[Mask, Integers]:
        column, edges = batch[self.column], np.array(self.edges)
        keep = ~column.missing
        numbers = column.numbers()[keep]
        after = np.where(
            numbers > 0, np.searchsorted(edges, numbers), np.searchsorted(edges, numbers, "right")
        )
        return keep, np.clip(after - 1, 0, self.size - 1).astype(np.int64)[:, None]


def _round_step(least: float) -> Fraction:
    """The smallest of 1, 2, 5, 10, 20 ... and 0.5, 0.2, 0.1 ... that is not below."""
    decade = Fraction(10) ** math.floor(math.log10(least))
    return next(digit * decade for digit in (1, 2, 5, 10, 20) if digit * decade >= least)


def _multiples(low: float, high: float, step: Fraction) -> list[float]:
    """Of a step, from the last below `low` to the first above `high`."""
    first, last = math.floor(Fraction(low) / step), math.ceil(Fraction(high) / step)
    return [float(place * step) for place in range(first, last + 1)]


def _end(argument: str, value: Any) -> float | None:
    if value is not None and not math.isfinite(check_real(argument, value)):
        raise ArgumentError(argument, value, "a finite number, or None")
    return None if value is None else float(value)


_End = Annotated[float | None, _end]


@describable()
class Ladder(Query):
    """How many records there are between any two neighbouring round numbers from 1e-6 to 1e15, of either
    sign, or between `low` and `high` (in equal steps, if these are of one size); for times, between years
    from 1900 to 2100. The answer has the numbers of all cells.

    Counted by itself, by eight cells and by 64, so that sums over many cells have little noise; a record is
    in one number of each.

    >>> Ladder("income", low=0, high=10).edges[-9:]
    (1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0)
    """

    column: str
    low: _End = None
    high: _End = None
    of: GivenTimes = None
    unit: Unit = RECORDS

    def __post_init__(self) -> None:
        if self.low is not None and self.high is not None and self.low >= self.high:
            raise ArgumentError("high", self.high, f"above low={self.low!r}")
        if len(self.edges) < 3:
            raise ArgumentError(
                "high", self.high, "further away: there is no round number between low and high"
            )
        if isinstance(self.unit, UserTotals) and self.unit.norm is not Norm.L1:
            raise ArgumentError("unit", self.unit, "clipped in L1: other norms grow when cells are merged")
        super().__post_init__()

    @cached_property
    def edges(self) -> tuple[float, ...]:
        """Round numbers, in order."""
        marks = self._sizes() if self.of is None else self._dates(self.of)
        low = marks[0] if self.low is None else self.low
        high = marks[-1] if self.high is None else self.high
        return (low, *(mark for mark in marks if low < mark < high), high)

    def _sizes(self) -> list[float]:
        """Round numbers of either sign, without 0; equal steps between ends that are near each other."""
        low, high = self.low, self.high
        if low is not None and high is not None and low * high > 0 and max(high / low, low / high) < 10:
            return _multiples(low, high, _round_step((high - low) / _STEPS))
        sizes = [float(f"{digits}e{decade}") for decade in _DECADES for digits in _ROUND]
        sizes.append(float(f"1e{_DECADES.stop}"))
        return [*(-size for size in reversed(sizes)), *sizes]

    def _dates(self, times: Times) -> list[float]:
        """The beginnings of years, or whole units between two given ends."""
        if self.low is None or self.high is None:
            return [times.number(date(year, 1, 1)) for year in range(_YEARS[0], _YEARS[1] + 1)]
        return _multiples(self.low, self.high, Fraction(max(math.ceil((self.high - self.low) / _STEPS), 1)))

    @property
    def encoding(self) -> Rungs:
        return Rungs(self.column, self.edges, self.of)

    @cached_property
    def tree(self) -> CountTree:
        return CountTree(len(self.edges) - 1, _TOGETHER)

    @property
    def size(self) -> int:
        return self.tree.size

    def measured(self, sums: npt.NDArray[Any]) -> npt.NDArray[Any]:
        return self.tree.measure(sums)

    def moved(self, norm: Norm, distance: float) -> float:
        # Merging cells does not move counts further: they are not negative, and bounded in sum.
        each, levels = Fraction(distance), self.tree.levels
        if norm is Norm.L1:
            return rounded_up(each * levels)
        return root_up(each**2 * levels) if norm is Norm.L2 else distance

    def read(self, values: Values) -> Any:
        return self.tree.fit(values)

    def places(self, counts: Values, deviation: float, cover: float) -> tuple[int, int]:
        """Two edges between which the share `cover` lies, by noisy counts of the cells: the first ones from
        the inside beyond which there is not more than half of the rest, or nothing that is not likely to be
        noise."""
        below = np.concatenate([[0.0], np.cumsum(counts)])
        from_below, from_above = deviation * self.tree.deviations([0.0, 1.0])
        total, last = below[-1], len(below) - 1
        if total < _SURE * from_below[-1]:
            return 0, last
        rest = (1 - cover) / 2 * total
        middle = int(np.argmax(below >= total / 2))
        enough = np.flatnonzero((total - below <= np.maximum(rest, _DOUBT * from_above))[middle:])
        upper = middle + int(enough[0])
        few = np.flatnonzero((below <= np.maximum(rest, _DOUBT * from_below))[:middle])
        lower = int(few[-1]) if len(few) else 0
        return self._from_zero(lower, max(upper, lower + 1))

    @property
    def _around(self) -> int | None:
        """The cell that 0 is in, of numbers."""
        cells = range(len(self.edges) - 1) if self.of is None else ()
        return next((cell for cell in cells if self.edges[cell] <= 0 < self.edges[cell + 1]), None)

    def _from_zero(self, lower: int, upper: int) -> tuple[int, int]:
        """From the cell around 0 on, or up to it, where that makes little difference."""
        low, high, around = self.edges[lower], self.edges[upper], self._around
        if around is None:
            return lower, upper
        if -high / _NEAR_ZERO <= low <= high / 4:
            return around, upper
        return (lower, around + 1) if low / 4 <= high <= -low / _NEAR_ZERO else (lower, upper)

    def between(self, lower: int, upper: int) -> tuple[float, float]:
        """Two edges as numbers: 0 for an end of the cell around 0."""
        starts, ends = lower == self._around, self._around is not None and upper == self._around + 1
        return 0.0 if starts else self.edges[lower], 0.0 if ends and not starts else self.edges[upper]


@describable()
class BetweenRungs(Parts):
    """How many records are between two edges of a ladder, and how many are not."""

    ladder: Annotated[Ladder, given(Ladder, "Ladder(...)")]
    first: int
    last: int

    @property
    def unit(self) -> Unit:  # type: ignore[override]
        return self.ladder.unit

    @property
    def encoding(self) -> Rungs:
        return self.ladder.encoding

    @property
    def names(self) -> tuple[str, ...]:
        return ("inside", "outside")

    @property
    def size(self) -> int:
        return 2

    def measured(self, sums: npt.NDArray[Any]) -> npt.NDArray[Any]:
        inside = sums[..., self.first : self.last].sum(axis=-1)
        return np.stack([inside, sums.sum(axis=-1) - inside], axis=-1)


@dataclass(frozen=True)
class Suggested:
    """Bounds, and the share of records that is outside."""

    low: float
    high: float
    outside: Estimates


def _between_ends(argument: str, value: Any) -> float:
    if not 0 < check_probability(argument, value) < 1:
        raise ArgumentError(argument, value, "a share above 0 and below 1, such as 0.99")
    return float(value)


@describable("suggested_bounds")
class SuggestedBounds(Mechanism):
    """Bounds that hold about the share `cover` of a column: the counts of a ladder with noise, and after
    these, with noise of the same scale, how many records are between the bounds and how many are not.

    >>> SuggestedBounds(Ladder("income").laplace(scale=40), cover=0.99).guarantee().pure()
    0.1
    """

    ladder: Annotated[
        NoisyQuery, given(NoisyQuery, "Ladder(...).gaussian(scale) or Ladder(...).laplace(scale)")
    ]
    cover: Annotated[float, _between_ends] = 0.99

    def __post_init__(self) -> None:
        if not isinstance(self.ladder.query, Ladder):
            raise ArgumentError("ladder", self.ladder, "a Ladder(...) with noise")

    def __str__(self) -> str:
        return f"suggested_bounds({self.ladder}, {self.cover!r})"

    @property
    def _query(self) -> Ladder:
        assert isinstance(self.ladder.query, Ladder)
        return self.ladder.query

    def _after(self, first: int, last: int) -> NoisyQuery:
        """The second step; its loss does not depend on where the bounds are."""
        return type(self.ladder)(BetweenRungs(self._query, first, last), self.ladder.scale)

    def _guarantee(self, adjacency: Adjacency) -> Guarantee:
        # The second step looks at what the first released, which composition allows.
        return self.ladder.guarantee(adjacency) + self._after(0, 1).guarantee(adjacency)

    def sensitivity(self, norm: Norm, adjacency: Adjacency | str = Adjacency.ADD_REMOVE) -> float:
        """How far a neighbour moves all numbers of both steps."""
        steps = (self._query, self._after(0, 1).query)
        return norm.of(tuple(step.sensitivity(norm, adjacency) for step in steps))

    def check(self, data: Any) -> None:
        """Refuses an unknown column or a wrong type, without reading a record."""
        self.ladder.check(data)

    @charged
    def release(
        self, data: Any, *, source: Source | None = None, ledger: Payer | None = None
    ) -> Release[Suggested]:
        """Bounds, and how much is outside."""
        values, private = self.ladder.noisy(data, source)
        query = self._query
        first, last = query.places(query.read(values), self.ladder.deviation, self.cover)
        after = self._after(first, last)
        counts, _ = after.noisy(data, source)
        parts = shares(counts, after)
        outside = Estimates(parts.value[1], parts.error[1], parts.low[1], parts.high[1])
        return Release(Suggested(*query.between(first, last), outside), self, private, self.ladder.unit)
