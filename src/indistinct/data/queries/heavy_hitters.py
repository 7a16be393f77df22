"""Frequent values of a column whose domain nobody has listed.

Only values that occur get noise, and only noisy counts from a threshold on are shown. That a value occurs
at all may be one unit's secret: it comes to light if the noise lifts that unit's count over the threshold,
with a small probability delta.
"""

import math
from bisect import bisect_left
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from indistinct.adjacency import Adjacency
from indistinct.data.engines.source import table
from indistinct.data.queries.intervals import LEVEL
from indistinct.data.records.bounded_sum import BoundedSum
from indistinct.data.records.domain import Categories, Missing
from indistinct.data.records.encoding import Cells, Integers
from indistinct.data.records.types import Kind
from indistinct.data.records.unit import RECORDS, Records, Unit, UserRecords, records_of
from indistinct.description import Positive, PositiveCount, describable
from indistinct.errors import ArgumentError, check_probability
from indistinct.guarantees.discrete_pair import DiscretePair
from indistinct.guarantees.guarantee import ExactGuarantee, Guarantee
from indistinct.guarantees.product import Product
from indistinct.mechanisms import DiscreteLaplace, Mechanism, Release
from indistinct.mechanisms.paying import Payer, charged
from indistinct.noise import Source

_MOST_RECORDS = 100
"""Of a user: the ways to spread them over values cost the square of this."""
_ROUNDING = 1 + 2.0**-40


@dataclass(frozen=True, eq=False)
class Occurring:
    """Values of a column and how often they occur. Both are private; hand them to the mechanism."""

    values: list[Any] = field(repr=False)
    counts: Integers = field(repr=False)
    column: str
    unit: Records | UserRecords
    """Whose records took part, and how many of each: a mechanism of another unit would account for less."""


@describable("heavy_hitters")
class HeavyHitters(Mechanism):
    """Values of a column whose count, with discrete Laplace noise of `scale`, is at least `threshold`.

    Of a user's records some may have values that others have too, which the noise protects, and the others
    values of their own, which only the threshold protects. Noise of different values is independent, so the
    loss is that of the noise for the first part and of one coin for the second; the more records a part has,
    the larger its loss. So the noise for all records and the coin for all records dominate every split, and
    exceed the worst one by `delta` at most. The guarantee is for add/remove.

    >>> hitters = HeavyHitters("word", scale=2, threshold=40)
    >>> hitters.delta
    2.11e-09
    >>> hitters.guarantee().epsilon(delta=1e-8)
    0.5
    """

    column: str
    scale: Positive
    threshold: PositiveCount
    unit: Unit = RECORDS
    missing: Missing = Missing.DROP
    of: Kind = Kind.TEXT
    """What the values are: text, or integers."""

    def __post_init__(self) -> None:
        if self.of not in (Kind.TEXT, Kind.INTEGER):
            raise ArgumentError("of", self.of, "Kind.TEXT or Kind.INTEGER")
        if not isinstance(self.unit, Records | UserRecords) or records_of(self.unit) > _MOST_RECORDS:
            allowed = f"Records() or UserRecords(..., most) with at most {_MOST_RECORDS} records"
            raise ArgumentError("unit", self.unit, allowed)

    @classmethod
    def for_delta(
        cls,
        column: str,
        scale: float,
        delta: float,
        unit: Unit = RECORDS,
        missing: Missing = Missing.DROP,
        of: Kind = Kind.TEXT,
    ) -> "HeavyHitters":
        """With the lowest threshold that shows values of one unit with probability `delta` at most.

        >>> HeavyHitters.for_delta("word", scale=2, delta=1e-8).threshold
        37
        """
        if check_probability("delta", delta) == 0:
            raise ArgumentError(
                "delta", delta, "positive: the chance that a value of one user alone is shown"
            )
        low, high = 0, 1
        while cls(column, scale, high, unit, missing, of).delta > delta:
            low, high = high, 2 * high
        while high - low > 1:
            middle = (low + high) // 2
            if cls(column, scale, middle, unit, missing, of).delta > delta:
                low = middle
            else:
                high = middle
        return cls(column, scale, high, unit, missing, of)

    @property
    def delta(self) -> float:
        """The probability that any value that only one unit has comes to light, at worst."""
        hidden = [0.0]  # logs of the least chance that no value of so many records is shown
        for count in range(1, records_of(self.unit) + 1):
            hidden.append(min(self._log_hidden(part) + hidden[count - part] for part in range(1, count + 1)))
        return min(1.0, -math.expm1(hidden[-1]) * _ROUNDING)

    def _log_hidden(self, count: int) -> float:
        shown = self._at_least(self.threshold, count)
        return math.log1p(-shown) if shown < 1 else -math.inf

    def _at_least(self, level: int, count: int) -> float:
        """P(count + noise >= level)."""
        lift, decay = level - count, math.exp(-1 / self.scale)
        if lift >= 1:
            return math.exp(-lift / self.scale) / (1 + decay)
        return 1 - math.exp(-(1 - lift) / self.scale) / (1 + decay)

    def interval(self, shown: int) -> tuple[int, int]:
        """A 95 % interval of the count of a value that is shown with this one, given that it is shown: a test
        refuses a count that would be lifted so far, or held so low, in fewer than 2.5 % of the cases where it
        passes the threshold. Counts near the threshold may be of anything."""

        def refused(count: int, level: int, *, above: bool) -> bool:
            share = self._at_least(level, count) / self._at_least(self.threshold, count)
            return (share if above else 1 - share) < (1 - LEVEL) / 2

        reach = math.ceil(self.scale * 50)
        low = bisect_left(range(shown + 1), True, key=lambda n: not refused(n, shown, above=True))
        high = bisect_left(range(reach), True, key=lambda n: refused(shown + n, shown + 1, above=False))
        return max(low, 1), shown + high - 1

    def _guarantee(self, adjacency: Adjacency) -> Guarantee:
        if adjacency is not Adjacency.ADD_REMOVE:
            raise ArgumentError("adjacency", adjacency.value, "add/remove for heavy hitters")
        noise, shown = DiscreteLaplace(self.scale, records_of(self.unit)), self.delta
        coin = DiscretePair.of(np.array([shown, 1 - shown]), np.array([0.0, 1.0]), exact=False)
        return noise.guarantee(adjacency) + ExactGuarantee(Product.of([(coin, 1)]), adjacency)

    def check(self, data: Any) -> None:
        """Refuses an unknown column or a wrong type, without reading a record."""
        table(data).check(self._bounded(self._anything))

    def _bounded(self, values: list[Any]) -> BoundedSum:
        listed = Categories(values, missing=self.missing)
        return BoundedSum(Cells(((self.column, listed),), from_records=True), self.unit)

    def occurring(self, data: Any) -> Occurring:
        """The exact counts before noise. They are private, and so are the values."""
        records = table(data)
        values = records.distinct(self.column, self.of)
        # Without any value the sum still says whether there are records, and only missing ones.
        counts = records.total(self._bounded(values or self._anything)).units
        # A value whose records were all left out does not occur: it gets no noise.
        found = np.flatnonzero(counts)
        assert isinstance(self.unit, Records | UserRecords)
        return Occurring([values[place] for place in found], counts[found], self.column, self.unit)

    @charged
    def release(
        self, data: Any, *, source: Source | None = None, ledger: Payer | None = None
    ) -> Release[Any]:
        """A mapping from values to noisy counts, largest first; from a table, or from what is `occurring`."""
        exact = data if isinstance(data, Occurring) else self.occurring(data)
        if (exact.column, exact.unit) != (self.column, self.unit):
            allowed = f"what occurs in {self.column!r} by {self.unit!r}: ask this mechanism for it"
            raise ArgumentError("data", exact, allowed)
        noisy = DiscreteLaplace(self.scale, records_of(self.unit)).release(exact.counts, source=source)
        shown = [
            (int(count), value)
            for value, count in zip(exact.values, noisy.values, strict=True)
            if count >= self.threshold
        ]
        # In an order that says nothing of the order of records.
        answer = {value: count for count, value in sorted(shown, key=lambda pair: (-pair[0], pair[1]))}
        return Release(answer, self, noisy.private)

    @property
    def _anything(self) -> list[Any]:
        """A domain of the column's kind."""
        return [0] if self.of is Kind.INTEGER else [""]

    def __str__(self) -> str:
        return f"heavy_hitters({self.column}, threshold={self.threshold}) with laplace({self.scale!r})"
