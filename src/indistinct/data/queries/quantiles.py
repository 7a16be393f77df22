"""Quantiles: many from one tree of counts, or one chosen by the exponential mechanism's better sibling."""

import math
from collections.abc import Sequence
from fractions import Fraction
from functools import cached_property
from typing import Annotated, Any

import numpy as np
import numpy.typing as npt
from scipy.optimize import isotonic_regression

from indistinct.adjacency import Adjacency
from indistinct.data.engines.source import table
from indistinct.data.queries.count_tree import CountTree
from indistinct.data.queries.intervals import LEVEL, Estimates, Values, half_width
from indistinct.data.queries.query import NoisyQuery, Query, WithGaussian
from indistinct.data.records.bounded_sum import BoundedSum
from indistinct.data.records.domain import Bins, Domain
from indistinct.data.records.encoding import Cells
from indistinct.data.records.grouped import ByGroup
from indistinct.data.records.reach import Norm
from indistinct.data.records.unit import RECORDS, Unit, UserTotals
from indistinct.description import Positive, describable, one_of
from indistinct.errors import ArgumentError, check_count, check_real
from indistinct.guarantees.guarantee import Guarantee
from indistinct.mechanisms import Mechanism, PermuteAndFlip, Release
from indistinct.mechanisms.paying import Payer, charged
from indistinct.noise import Source
from indistinct.numerics.rounding import root_up, rounded_up


@describable()
class Quantiles(Query):
    """Several quantiles of a column, from noisy counts of bins, of groups of `factor` bins, of groups of
    those.

    Each record is in one group of each level, so the noise grows with the number of levels and not with the
    number of bins. The levels are made consistent by least squares; then the counts below the edges of bins
    are made to rise, by isotonic regression, and each quantile is read from them, on a straight line within
    its bin. `best_factor` finds the factor with the least noise for bins, ranks and a norm; 4 is not far from
    it for any.

    >>> ages = Quantiles("age", Bins(0, 100, 50), [0.25, 0.5, 0.75])
    >>> ages.levels, ages.rank_error(ages.laplace(scale=3))
    (3, 6.9895)
    """

    error_name = "rank_error"
    column: str
    bins: Bins
    ranks: tuple[float, ...]
    unit: Unit
    factor: int

    def __init__(
        self, column: str, bins: Bins, ranks: Sequence[float], unit: Unit = RECORDS, factor: int = 4
    ) -> None:
        _check_bins(bins)
        for rank in ranks:
            if not 0 <= check_real("ranks", rank) <= 1:
                raise ArgumentError("ranks", rank, "numbers in [0, 1]")
        if not len(ranks):
            raise ArgumentError("ranks", ranks, "one number in [0, 1] or more")
        if isinstance(unit, UserTotals) and unit.norm is not Norm.L1:
            raise ArgumentError("unit", unit, "clipped in L1: other norms grow when intervals are merged")
        factor = check_count("factor", factor, least=2)
        self._declare(column=column, bins=bins, ranks=tuple(map(float, ranks)), unit=unit, factor=factor)

    @cached_property
    def tree(self) -> CountTree:
        return CountTree(self.bins.count, self.factor)

    @property
    def levels(self) -> int:
        return self.tree.levels

    @property
    def size(self) -> int:
        return self.tree.size

    @property
    def encoding(self) -> Cells:
        return Cells(((self.column, self.bins),))

    def moved(self, norm: Norm, distance: float) -> float:
        # On each level the counts are a histogram of fewer bins, with the same bounds.
        norm, level = one_of(Norm)("norm", norm), Fraction(distance)
        if norm is Norm.L1:
            return rounded_up(level * self.levels)
        return root_up(level * level * self.levels) if norm is Norm.L2 else distance

    def measured(self, sums: npt.NDArray[Any]) -> npt.NDArray[Any]:
        return self.tree.measure(sums)

    def read(self, values: Values) -> Any:
        below = self._below(values)
        places = np.array([self._places(row) for row in below.reshape(-1, below.shape[-1])])
        return places.reshape(*below.shape[:-1], len(self.ranks))

    def estimate(self, values: Values, noisy: NoisyQuery) -> Estimates:
        """A value of the column for each rank, its interval, and as its error that of the rank, in
        records."""
        return Estimates(self.read(values), self.rank_error(noisy), *self.intervals(values, noisy))

    def _below(self, values: Values) -> Values:
        """The fitted counts below each edge: linear in what was measured, so they need not rise."""
        sums = np.cumsum(self.tree.fit(values), axis=-1)
        return np.concatenate([np.zeros_like(sums[..., :1]), sums], axis=-1)

    def _places(self, below: Values) -> Values:
        total = below[-1]
        if total <= 0:  # nothing but noise: every place is as good
            return np.full(len(self.ranks), (self.bins.low + self.bins.high) / 2)
        weights = 1 / self.tree.deviations(0.5)[1:-1] ** 2
        rising = below.copy()
        if weights.size:
            rising[1:-1] = np.clip(isotonic_regression(below[1:-1], weights=weights).x, 0.0, total)
        ranks, edges = np.array(self.ranks), self.bins.edges
        first = np.searchsorted(rising, ranks * total, side="left")
        last = np.searchsorted(rising, ranks * total, side="right") - 1
        # where several edges have just the count that is asked for, any place between them is right
        flat = (1 - ranks) * edges[last] + ranks * edges[np.minimum(first, len(edges) - 1)]
        inside = np.interp(ranks * total, rising, edges)
        places: Values = np.where(first <= last, flat, inside)
        return places

    def rank_error(self, noisy: NoisyQuery) -> float:
        """How far off the rank of an answer is, in records, as a standard deviation; before any is released.

        Of N records, with C(x) of them in bins below the bin of x and C'(x) in bins up to it, an answer x for
        rank r is off by the distance of rN from the interval from C(x) to C'(x): by how many records too many
        or too few are below it, in the binned data. What is stated is the largest standard deviation, over
        ranks and edges of bins, of the noise in (fitted count below the edge) - r * (fitted number of
        records), which is linear in what is drawn and known exactly. Counts that were made to rise are
        nearer: on skewed, heavy-tailed, sparse and two-valued records answers were off by 0 to 0.9 of it.
        """
        return noisy.deviation * float(self.tree.deviations(self.ranks).max())

    def intervals(self, values: Values, noisy: NoisyQuery) -> tuple[Values, Values]:
        """The ends of an interval for each rank, in the column's units, that holds the quantile of the
        records (as they are clipped) with a probability of 95 % or more, whatever the records are.

        By inverting a test: a bin is kept unless noise alone would make the fitted count below its lower edge
        so large, or that below its upper edge so small, once in forty times. All bins from the first to the
        last that are kept make the interval, so it holds the quantile more often than that (97 to 100 % of
        all cases, measured); where bins hold more records than there is noise, it is a bin or two.
        """
        below, edges = self._below(values), self.bins.edges
        apart = below[..., None, :] - np.array(self.ranks)[:, None] * below[..., -1:, None]
        width = _half_width(noisy) * self.tree.deviations(self.ranks)
        kept = (apart[..., :-1] <= width[:, :-1]) & (apart[..., 1:] >= -width[:, 1:])
        kept |= below[..., -1:, None] <= 0  # nothing but noise: everything is possible
        first = kept.argmax(axis=-1)
        last = kept.shape[-1] - kept[..., ::-1].argmax(axis=-1)
        return edges[first], edges[last]


def _half_width(noisy: NoisyQuery) -> float:
    """What Σ w_i noise_i exceeds, either way, with probability 5 % at most if Σ w_i² = 1.

    Of Laplace noises, a single one has the widest such interval: a sum is normal with a variance that is an
    average of exponential variables, which varies the more the fewer they are. A discrete one is beyond k no
    more often than a continuous one beyond k less half a step, since 2 q^k / (1 + q) ≤ q^(k - 1/2).
    """
    if isinstance(noisy, WithGaussian):
        return half_width(True) * noisy.deviation
    return math.log(1 / (1 - LEVEL)) * noisy.scale + noisy.unit / 2


def _axes(argument: str, given: Any) -> tuple[tuple[str, Domain], ...]:
    """The columns of groups, from a mapping or pairs."""
    return tuple(dict(given).items())


@describable("quantile")
class Quantile(Mechanism):
    """One quantile of a column: the middle of a bin, chosen by permute-and-flip so that bins whose rank is
    near the right one are likelier, by a factor e for each `scale` records. Many bins cost little: the error
    grows with the logarithm of their number.

    With `by`, one for each cell of these columns. A record is in one of them, so the loss is that of one
    choice; of a user, or of a record that is replaced and may leave one group for another, that of all
    records that move.

    >>> median = Quantile("age", Bins(0, 120, 120), 0.5, scale=2)
    >>> median.guarantee().pure(), median.rank_error
    (0.5, 9.3025)
    """

    column: str
    bins: Bins
    rank: float
    scale: Positive
    unit: Unit = RECORDS
    by: Annotated[tuple[tuple[str, Domain], ...], _axes] = ()

    def __post_init__(self) -> None:
        _check_bins(self.bins)
        _ = self.bounded
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
        counts = Cells(((self.column, self.bins),))
        return BoundedSum(ByGroup(Cells(self.by), counts) if self.by else counts, self.unit)

    def sensitivity(self, adjacency: Adjacency) -> float:
        """How far a neighbour moves the quality of a bin, in records; of all groups together."""
        if adjacency is Adjacency.REPLACE_ONE and not self.by:
            return self.bounded.sensitivity(Norm.MAX, adjacency)
        # Of the records below an edge less rank times all of them, an added record moves 1 - rank or -rank.
        records = Fraction(self.bounded.sensitivity(Norm.L1, adjacency))
        return rounded_up(max(self._fraction, 1 - self._fraction) * records)

    def _selection(self, adjacency: Adjacency) -> PermuteAndFlip:
        """In units of 1/denominator, so that qualities are integers and nothing is rounded."""
        parts = self._fraction.denominator
        return PermuteAndFlip(self.scale * parts, rounded_up(Fraction(self.sensitivity(adjacency)) * parts))

    def _guarantee(self, adjacency: Adjacency) -> Guarantee:
        return self._selection(adjacency).guarantee(adjacency)

    @property
    def rank_error(self) -> float:
        """How far off the rank of the answer is (see `Quantiles.rank_error`), in records, as a root mean
        square: at most, whatever the records are. Where they fill many bins it is a few times less."""
        return self.scale * math.sqrt(_squared_error(self.bins.count))

    def check(self, data: Any) -> None:
        """Refuses an unknown column or a wrong type, without reading a record."""
        table(data).check(self.bounded)

    @charged
    def release(
        self, data: Any, *, source: Source | None = None, ledger: Payer | None = None
    ) -> Release[Any]:
        """The middle of the bin that was chosen; with `by` an array, an axis for each column."""
        counts = table(data).total(self.bounded).units.reshape(-1, self.bins.count)
        select = self._selection(Adjacency.ADD_REMOVE)
        chosen = [select.release(self.qualities(group), source=source) for group in counts]
        middles = (self.bins.edges[1:] + self.bins.edges[:-1]) / 2
        places = middles[[one.values for one in chosen]]
        found = places.reshape(Cells(self.by).shape) if self.by else float(places[0])
        return Release(found, self, all(one.private for one in chosen))

    def qualities(self, counts: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """Of each bin: less the distance of the rank from those of its edges, in units of 1/denominator."""
        below = np.concatenate([[0], np.cumsum(counts)])
        apart = self._fraction.denominator * below - self._fraction.numerator * below[-1]
        found: npt.NDArray[np.int64] = -np.maximum(np.maximum(apart[:-1], -apart[1:]), 0)
        return found

    def __str__(self) -> str:
        return f"quantile({self.column}, {self.rank!r}) with permute_and_flip({self.scale!r})"


def _squared_error(candidates: int) -> float:
    """The mean square of by how much the choice of permute-and-flip of scale 1 is worse than the best one,
    at most.

    It is worse than best by t with probability 1 - (1 - (1 - p)^n) / (n p) or less, p = e^-t: that is where
    all others are worse by t (McKenna and Sheldon 2020, section 4). It is the average over k < n of the
    probability that the largest of k exponential variables is above t, whose mean square is the square of
    1 + 1/2 + … + 1/k and the sum of 1 + 1/4 + … + 1/k².
    """
    inverse = 1 / np.arange(1, candidates, dtype=np.float64)
    squares = np.cumsum(inverse) ** 2 + np.cumsum(inverse**2)
    return float(squares.sum() / candidates)


def _check_bins(bins: object) -> None:
    if not isinstance(bins, Bins):
        raise ArgumentError("bins", bins, "Bins(...)")
