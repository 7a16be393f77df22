"""Quantiles: many from one tree of intervals, or one chosen by the exponential mechanism's better sibling."""

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from indistinct.adjacency import Adjacency
from indistinct.data.engines.source import table
from indistinct.data.queries.intervals import Values
from indistinct.data.queries.query import Query
from indistinct.data.records.bounded_sum import BoundedSum, Totals
from indistinct.data.records.domain import Bins
from indistinct.data.records.encoding import Cells
from indistinct.data.records.reach import Norm
from indistinct.data.records.unit import RECORDS, Unit, UserTotals
from indistinct.description import Positive, describable, one_of
from indistinct.errors import ArgumentError, check_real
from indistinct.guarantees.guarantee import Guarantee
from indistinct.mechanisms import Mechanism, PermuteAndFlip, Release
from indistinct.noise import Source
from indistinct.numerics.rounding import root_up, rounded_up


@describable()
class Quantiles(Query):
    """Several quantiles of a column, from noisy counts of intervals that are halved again and again.

    Each record is in one interval of each level, so the noise grows with the logarithm of the number of
    bins (a power of two) and not with the number itself. The levels are made consistent by least squares
    (Hay et al. 2010, section 4).

    >>> ages = Quantiles("age", Bins(0, 128, 64), [0.25, 0.5, 0.75])
    >>> ages.levels
    7
    """

    column: str
    bins: Bins
    ranks: tuple[float, ...]
    unit: Unit

    def __init__(self, column: str, bins: Bins, ranks: Sequence[float], unit: Unit = RECORDS) -> None:
        _check_bins(bins)
        if bins.count & (bins.count - 1):
            raise ArgumentError("bins", bins.count, "a power of two of them")
        for rank in ranks:
            if not 0 <= check_real("ranks", rank) <= 1:
                raise ArgumentError("ranks", rank, "numbers in [0, 1]")
        if isinstance(unit, UserTotals) and unit.norm is not Norm.L1:
            raise ArgumentError("unit", unit, "clipped in L1: other norms grow when intervals are merged")
        self._declare(column=column, bins=bins, ranks=tuple(map(float, ranks)), unit=unit)

    @property
    def levels(self) -> int:
        return int(math.log2(self.bins.count)) + 1

    @property
    def size(self) -> int:
        return 2 * self.bins.count - 1

    @property
    def encoding(self) -> Cells:
        return Cells(((self.column, self.bins),))

    def sensitivity(self, norm: Norm, adjacency: Adjacency | str = Adjacency.ADD_REMOVE) -> float:
        # On each level the counts are a histogram of fewer bins, with the same bounds.
        norm, level = one_of(Norm)("norm", norm), Fraction(self.bounded.sensitivity(norm, adjacency))
        if norm is Norm.L1:
            return rounded_up(level * self.levels)
        return root_up(level * level * self.levels) if norm is Norm.L2 else float(level)

    def statistic(self, data: Any) -> Totals:
        leaves = super().statistic(data)
        levels = [leaves.units]
        while len(levels[-1]) > 1:
            levels.append(levels[-1].reshape(-1, 2).sum(axis=1))
        return Totals(np.concatenate(levels[::-1]), leaves.step)

    def read(self, values: Values) -> Any:
        return self._places(_consistent(values, self.levels))

    def _places(self, leaves: Values) -> Values:
        """Quantiles of a histogram, straight lines within a bin."""
        below = np.concatenate([[0.0], np.cumsum(np.maximum(leaves, 0.0))])
        if below[-1] <= 0:  # nothing but noise: every place is as good
            return np.full(len(self.ranks), (self.bins.low + self.bins.high) / 2)
        places: Values = np.interp(np.array(self.ranks) * below[-1], below, self.bins.edges)
        return places


def _consistent(tree: Values, levels: int) -> Values:
    """The leaves of the tree nearest to the noisy one in which children add up to their parents."""
    counts = [tree[2**level - 1 : 2 ** (level + 1) - 1] for level in range(levels)]
    best = [counts[-1]]
    for height, own in enumerate(reversed(counts[:-1]), start=1):
        share = 2**height / (2 ** (height + 1) - 1)  # of a node's own count, against its children's sum
        best.append(share * own + (1 - share) * best[-1].reshape(-1, 2).sum(axis=1))
    fitted = best.pop()
    while best:
        children = best.pop()
        gap = fitted - children.reshape(-1, 2).sum(axis=1)
        fitted = children + np.repeat(gap / 2, 2)
    return fitted


@describable("quantile")
class Quantile(Mechanism):
    """One quantile of a column: an edge of a bin, chosen by permute-and-flip so that edges whose rank is
    near the right one are likelier, by a factor e for each `scale` records.

    >>> Quantile("age", Bins(0, 120, 120), 0.5, scale=2).guarantee().pure()
    0.5
    """

    column: str
    bins: Bins
    rank: float
    scale: Positive
    unit: Unit = RECORDS

    def __post_init__(self) -> None:
        _check_bins(self.bins)
        rank = check_real("rank", self.rank)
        if not 0 <= rank <= 1 or abs(rank - self._fraction) > 1e-12:
            raise ArgumentError("rank", rank, "a fraction in [0, 1] with a denominator of at most 1000")
        object.__setattr__(self, "rank", rank)
        if isinstance(self.unit, UserTotals):
            raise ArgumentError("unit", self.unit, "Records() or UserRecords(...)")

    @property
    def _fraction(self) -> Fraction:
        return Fraction(self.rank).limit_denominator(1000)

    @property
    def bounded(self) -> BoundedSum:
        return BoundedSum(Cells(((self.column, self.bins),)), self.unit)

    def _selection(self, adjacency: Adjacency) -> PermuteAndFlip:
        """In units of 1/denominator, so that qualities are integers and nothing is rounded."""
        # Of the records below an edge less rank times all of them, an added record moves 1 - rank or -rank.
        rank, most = self._fraction, Fraction(self.bounded.sensitivity(Norm.MAX, adjacency))
        apart = max(rank, 1 - rank) if adjacency is Adjacency.ADD_REMOVE else 1
        scale = self.scale * rank.denominator
        return PermuteAndFlip(scale, rounded_up(apart * most * rank.denominator))

    def _guarantee(self, adjacency: Adjacency) -> Guarantee:
        return self._selection(adjacency).guarantee(adjacency)

    def check(self, data: Any) -> None:
        """Refuses an unknown column or a wrong type, without reading a record."""
        table(data).check(self.bounded)

    def release(self, data: Any, *, source: Source | None = None) -> Release[Any]:
        """The edge of a bin that was chosen."""
        counts = table(data).total(self.bounded).units
        below = np.concatenate([[0], np.cumsum(counts)])
        rank = self._fraction
        qualities = -np.abs(rank.denominator * below - rank.numerator * below[-1])
        chosen = self._selection(Adjacency.ADD_REMOVE).release(qualities, source=source)
        return Release(float(self.bins.edges[chosen.values]), self, chosen.private)

    def __str__(self) -> str:
        return f"quantile({self.column}, {self.rank!r}) with permute_and_flip({self.scale!r})"


def _check_bins(bins: object) -> None:
    if not isinstance(bins, Bins):
        raise ArgumentError("bins", bins, "Bins(...)")
