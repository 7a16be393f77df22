"""Counts, histograms, sums, means and variances: bounded sums by their everyday names."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from indistinct.data.queries.intervals import Estimates, Values, farthest, ratio_interval
from indistinct.data.queries.query import NoisyQuery, Query
from indistinct.data.records.domain import Domain, Missing, Numbers
from indistinct.data.records.encoding import Boxed, Cells, Clipped
from indistinct.data.records.moments import NumberMoments
from indistinct.data.records.reach import Norm
from indistinct.data.records.unit import RECORDS, Unit
from indistinct.description import describable
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
        return values[..., 0][()]


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
        return values.reshape(*values.shape[:-1], *self.encoding.shape)


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
        return values[..., 0][()]


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
class Mean(Query):
    """The mean of a column where the number of records is private too.

    Two numbers get noise: the sum of distances from the middle of the interval, and the number of
    records times half its width, so that both move by the same when a record is added.
    """

    column: str
    domain: Numbers
    unit: Unit = RECORDS

    @property
    def encoding(self) -> NumberMoments:
        return NumberMoments(self.column, self.domain, 2)

    def read(self, values: Values) -> Any:
        middle, half = _frame(self.encoding)
        return middle + half * _mean(values, half)

    def estimate(self, values: Values, noisy: NoisyQuery) -> Estimates:
        middle, half = _frame(self.encoding)
        mean = self.read(values)
        slope = (mean - middle) / half
        error = noisy.deviation * np.sqrt(1 + slope**2) * half / _count(values, half)
        low, high = ratio_interval(values[..., 1], values[..., 0], noisy.width)
        low, high = middle + half * low, middle + half * high
        return Estimates(np.clip(mean, low, high), np.minimum(error, 2 * half), low, high)


@describable()
class Variance(Query):
    """The variance of a column within its interval: the mean squared distance from the mean.

    Three numbers get noise, `NumberMoments`. The interval is that of the mean squared distance from the
    estimated mean, and reaches as far down as that mean may be off.
    """

    column: str
    domain: Numbers
    unit: Unit = RECORDS

    @property
    def encoding(self) -> NumberMoments:
        return NumberMoments(self.column, self.domain, 3)

    def read(self, values: Values) -> Any:
        _, half = _frame(self.encoding)
        square = np.clip((values[..., 2] / _count(values, half) + 1) / 2, 0.0, 1.0)
        return half**2 * np.clip(square - _mean(values, half) ** 2, 0.0, 1.0)

    def estimate(self, values: Values, noisy: NoisyQuery) -> Estimates:
        _, half = _frame(self.encoding)
        count, mean, share = _count(values, half), _mean(values, half), self.read(values) / half**2

        def off(v: Values) -> Values:
            """Coefficients of Σ(u - mean)² - v n: without noise, n times what v falls short by."""
            return np.stack([0.5 + mean**2 - v, -2 * mean, np.full_like(mean, 0.5)], axis=-1)

        def refused(v: Values) -> Any:
            return np.abs((off(v) * values).sum(axis=-1)) > noisy.width(off(v))

        error = noisy.deviation * np.sqrt((off(share) ** 2).sum(axis=-1)) / count
        low, high = (farthest(refused, share, end) for end in (0.0, 1.0))
        lower, upper = ratio_interval(values[..., 1], values[..., 0], noisy.width)
        low = np.maximum(low - np.maximum(upper - mean, mean - lower) ** 2, 0.0)
        return Estimates(half**2 * share, half**2 * np.minimum(error, 1.0), half**2 * low, half**2 * high)


def _frame(moments: NumberMoments) -> tuple[float, float]:
    """The middle of an interval and half its width, as they are rounded."""
    return moments.middle * moments.step, moments.half * moments.step


def _count(values: Values, half: float) -> Values:
    """Records times half the width, by noisy moments; at least one record."""
    least: Values = np.maximum(values[..., 0], half)
    return least


def _mean(values: Values, half: float) -> Values:
    """The mean distance from the middle, in half widths."""
    return np.clip(values[..., 1] / _count(values, half), -1.0, 1.0)
