"""Linear and logistic regression, covariances and correlations: one sum of products of columns, with noise,
and what follows from it."""

import math
from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np

from indistinct.adjacency import Adjacency, check_adjacency
from indistinct.data.queries.intervals import Values
from indistinct.data.queries.perturbed_fit import perturbed
from indistinct.data.queries.perturbed_likelihood import PerturbedLikelihood, cost
from indistinct.data.queries.query import NoisyQuery, Query, WithLaplace, noise_of
from indistinct.data.queries.regression_fits import (
    Centre,
    NoisyEquations,
    NoisyMoments,
    ratio_interval,
    widened,
)
from indistinct.data.queries.regression_logistic import (
    STEPS,
    StepEquations,
    beginning,
    newton,
    rounded,
)
from indistinct.data.queries.regression_scores import LogisticScores
from indistinct.data.queries.regression_sums import Array, Axis, CrossProducts, ends
from indistinct.data.records.bounded_sum import BoundedSum
from indistinct.data.records.domain import Categories, Numbers
from indistinct.data.records.reach import Norm
from indistinct.data.records.unit import RECORDS, Unit, UserTotals
from indistinct.description import describable, one_of
from indistinct.errors import ArgumentError
from indistinct.mechanisms import Release


@dataclass(frozen=True)
class Coefficient:
    """One term of a regression. `low` and `high` hold the coefficient of the population that records are a
    sample of,
    `noise_low` and `noise_high` the one that the records have without noise; each with a probability of 95
    %."""

    term: str
    noise_error: float
    noise_low: float
    noise_high: float
    coefficient: float
    standard_error: float
    low: float
    high: float


@dataclass(frozen=True)
class Association:
    """How two columns vary together. The intervals hold what the records have without noise."""

    column_a: str
    column_b: str
    correlation: float
    correlation_low: float
    correlation_high: float
    covariance: float
    standard_error: float
    low: float
    high: float


class CrossProductQuery(Query):
    """A query of the sums of products of columns. What is released are these sums with noise, and `fit`
    reads them."""

    axes: tuple[Axis, ...]
    responds = False

    @property
    def encoding(self) -> CrossProducts:
        return CrossProducts(self.axes, self.responds)

    def fit(self, release: Release[Any]) -> Any:
        """What a release of this query says: post-processing, which costs nothing."""
        return self.fitted(noise_of(self, release), np.asarray(release.values))

    @abstractmethod
    def fitted(self, noise: NoisyQuery, values: Values) -> Any:
        """The same from the numbers with this noise."""

    def moments(self, noise: NoisyQuery, values: Values) -> NoisyMoments:
        """The sums of products, and the noise in them."""
        encoding = self.encoding
        matrix = encoding.terms.matrix(encoding.solve @ values)
        moved = encoding.terms.matrix(encoding.solve.T)
        return NoisyMoments(matrix, moved, noise.deviation, isinstance(noise, WithLaplace))


def _axes(axes: Mapping[str, Numbers | Categories], response: str) -> tuple[Axis, ...]:
    """The columns, the response last."""
    listed = dict(axes)
    if response not in listed:
        raise ArgumentError("response", response, f"one of the columns ({', '.join(map(repr, listed))})")
    if len(listed) < 2:
        raise ArgumentError("axes", list(listed), "the response and one column or more to explain it by")
    answer = listed.pop(response)
    return (*listed.items(), (response, answer))


def _in_units(axes: tuple[Axis, ...], owners: tuple[int, ...]) -> tuple[list[str], Array]:
    """What each coefficient is called, and what it is in units of the columns: a combination of those in
    units of half intervals. Categories are compared with the first."""
    names, table = ["intercept"], np.eye(len(owners))
    for place, owner in enumerate(owners[1:], start=1):
        name, domain = axes[owner]
        if isinstance(domain, Numbers):
            middle, half = ends(domain)
            table[place, place], table[0, place] = 1 / half, -middle / half
            names.append(name)
            continue
        if domain.size == 2:
            table[place, place], table[0, place] = 2.0, -1.0
        names.append(f"{name}={domain.values[place - owners.index(owner) + 1]}")
    return names, table


@describable()
class LinearRegression(CrossProductQuery):
    """Least squares of a number on other columns, with intervals that hold with the noise.

    >>> columns = {"age": Numbers(18, 100), "sex": Categories(["f", "m"]), "income": Numbers(0, 100_000)}
    >>> query = LinearRegression("income", columns)
    >>> query.size, query.gaussian(scale=10).guarantee().epsilon(delta=1e-6)
    (9, 1.0249)
    """

    response: str
    axes: tuple[Axis, ...]
    unit: Unit
    responds = True

    def __init__(self, response: str, axes: Mapping[str, Numbers | Categories], unit: Unit = RECORDS) -> None:
        self._declare(response=response, axes=_axes(axes, response), unit=unit)

    def __post_init__(self) -> None:
        if not isinstance(self.axes[-1][1], Numbers):
            allowed = "a column of numbers, with low and high (a logistic regression explains two categories)"
            raise ArgumentError("response", self.response, allowed)
        super().__post_init__()

    def fitted(self, noise: NoisyQuery, values: Values) -> list[Coefficient]:
        moments = self.moments(noise, values)
        middle, half = ends(self.axes[-1][1])  # type: ignore[arg-type]
        names, table = _in_units(self.axes, self.encoding.terms.owners[:-1])
        return _rows(names, table * half, moments, middle * (np.arange(len(names)) == 0))


def _rows(names: list[str], table: Array, fit: NoisyEquations, added: Array) -> list[Coefficient]:
    """The terms of a fit, each a combination of what is estimated, and a number that is added. An estimate
    that is not in its interval is moved there."""
    by_noise, by_both = (Centre(fit.whitened(sampled=sampled), fit.estimate) for sampled in (False, True))
    rows: list[Coefficient] = []
    for name, ahead, moved in zip(names, table, added.tolist(), strict=True):
        quantile = fit.quantile(ahead)
        (low, high), (lowest, highest) = (
            widened(centre.interval(ahead, quantile), quantile, fit.left(ahead))
            for centre in (by_noise, by_both)
        )
        lowest, highest = min(low, lowest), max(high, highest)
        error, total = ((end - start) / (2 * quantile) for start, end in ((low, high), (lowest, highest)))
        value = min(max(float(ahead @ fit.estimate), low), high)
        noise = (error, low + moved, high + moved)
        rows.append(Coefficient(name, *noise, value + moved, total, lowest + moved, highest + moved))
    return rows


@describable()
class LogisticRegression(CrossProductQuery):
    """How the odds of the second of two categories depend on other columns: the coefficients of largest
    likelihood. With Laplace noise by the maximum of a likelihood whose slope has noise
    (`perturbed_likelihood`); with Gaussian noise by five passes over the records, of which the later ones ask
    what depends on what was released before (`regression_logistic`); what they cost does not."""

    by_group = False
    response: str
    axes: tuple[Axis, ...]
    unit: Unit
    responds = True
    last_weight: ClassVar[float] = STEPS[-1] / 4
    """How strongly the pass that decides is measured."""

    def __init__(self, response: str, axes: Mapping[str, Numbers | Categories], unit: Unit = RECORDS) -> None:
        self._declare(response=response, axes=_axes(axes, response), unit=unit)

    def __post_init__(self) -> None:
        answer = self.axes[-1][1]
        if not isinstance(answer, Categories) or answer.size != 2:
            allowed = "a column of two categories, such as no and yes (a linear regression explains numbers)"
            raise ArgumentError("response", self.response, allowed)
        super().__post_init__()

    @property
    def size(self) -> int:
        return self.encoding.size + sum(bounded.encoding.size for bounded in self._later(Norm.L2))

    @property
    def step(self) -> float:
        return min(bounded.step for bounded in (self.bounded, *self._later(Norm.L2)))

    def passes(self, norm: Norm, adjacency: Adjacency) -> tuple[float, ...]:
        return tuple(bounded.sensitivity(norm, adjacency) for bounded in (self.bounded, *self._later(norm)))

    def sensitivity(self, norm: Norm, adjacency: Adjacency | str = Adjacency.ADD_REMOVE) -> float:
        """Of all passes, as if they were one; for L1 what a release costs at scale 1."""
        norm, adjacency = one_of(Norm)("norm", norm), check_adjacency(adjacency)
        if norm is Norm.L1 and not isinstance(self.unit, UserTotals):
            return cost(self.unit, adjacency)
        return norm.of(self.passes(norm, adjacency))

    def laplace(self, scale: float) -> NoisyQuery:
        """For a pure epsilon: the maximum of the likelihood with noise in its slope, and the curvature there
        (`perturbed_likelihood`). Users' totals, which are no slope of anything, keep steps of Newton's."""
        return (
            WithLaplace(self, scale)
            if isinstance(self.unit, UserTotals)
            else PerturbedLikelihood(self, scale)
        )

    def _later(self, norm: Norm) -> list[BoundedSum]:
        """What passes after the first add up, but for the coefficients, on which their reach does not
        depend."""
        nowhere = np.zeros(self.encoding.terms.count - 1)
        return [self._asked(place, nowhere, norm) for place in range(len(STEPS))]

    def _asked(self, place: int, at: Array, norm: Norm) -> BoundedSum:
        """A later pass. What a user's total may be is as many times a record's as in the first."""
        scores, unit = LogisticScores(self.axes, rounded(at), STEPS[place], norm), self.unit
        if isinstance(unit, UserTotals):
            one, first = (
                Fraction(own.reach.radius(unit.norm)) * Fraction(own.step) for own in (scores, self.encoding)
            )
            unit = replace(unit, bound=float(Fraction(unit.bound) * one / first))
        return BoundedSum(scores, unit)

    def following(self, noisy: NoisyQuery, values: Values) -> BoundedSum | None:
        return self.equations(noisy, values)[1]

    def equations(self, noise: NoisyQuery, values: Values) -> tuple[NoisyEquations, BoundedSum | None]:
        """What follows from the passes so far, and the next of them, if there is one. The coefficients that
        each is asked about follow from those before."""
        if isinstance(noise, PerturbedLikelihood):
            return perturbed(noise.noise_in, values), None
        end = self.encoding.size
        first = self.moments(noise, values[:end])
        equations: NoisyEquations = first
        belief, columns = beginning(first)
        for place in range(len(STEPS)):
            asked = self._asked(place, belief.mean, noise.norm)
            if len(values) == end:
                return equations, asked
            scores, start, end = asked.encoding, end, end + asked.encoding.size
            assert isinstance(scores, LogisticScores)
            heavy = isinstance(noise, WithLaplace)
            equations = newton(scores, values[start:end], noise.deviation, heavy, belief, columns)
            belief = equations.belief
        return equations, None

    def slope_error(self, noise: NoisyQuery) -> float:
        """The deviation of the noise in the slope of the likelihood, where coefficients are decided."""
        whole = isinstance(noise, PerturbedLikelihood)
        return noise.deviation if whole else noise.deviation / self.last_weight

    def fitted(self, noise: NoisyQuery, values: Values) -> list[Coefficient]:
        size = noise.noise_in.numbers if isinstance(noise, PerturbedLikelihood) else self.size
        if len(values) != size:
            raise ArgumentError("release", f"{len(values)} numbers", f"all of them, {size}")
        equations, _ = self.equations(noise, values)
        assert isinstance(equations, StepEquations)
        names, table = _in_units(self.axes, self.encoding.terms.owners[:-1])
        return _rows(names, table, equations, table @ equations.centre)


@describable()
class CovarianceTable(CrossProductQuery):
    """The covariance and the correlation of every two columns, numbers or one of two categories (as 0 and
    1)."""

    axes: tuple[Axis, ...]
    unit: Unit

    def __init__(self, axes: Mapping[str, Numbers | Categories], unit: Unit = RECORDS) -> None:
        self._declare(axes=tuple(dict(axes).items()), unit=unit)

    def __post_init__(self) -> None:
        for name, domain in self.axes:
            if isinstance(domain, Categories) and domain.size != 2:
                allowed = f"Numbers(low, high) or two categories, for {name!r}"
                raise ArgumentError("axes", domain, allowed)
        if not self.axes:
            raise ArgumentError("axes", self.axes, "one column or more")
        super().__post_init__()

    def fitted(self, noise: NoisyQuery, values: Values) -> list[Association]:
        moments = self.moments(noise, values)
        found, slopes = _covariances(moments)
        rows = []
        for a, (name, domain) in enumerate(self.axes):
            for b, (other, against) in list(enumerate(self.axes))[a:]:
                unit = _half(domain) * _half(against)
                if a == b and isinstance(domain, Categories):
                    low, high = _two_point_variance(moments, a + 1)
                else:
                    low, high = _covariance_interval(moments, a + 1, b + 1)
                low, high = max(low, 0.0 if a == b else -1.0), min(high, 1.0)
                error = min(moments.deviation * float(np.linalg.norm(slopes[:, a, b])), 1.0)
                value = min(max(float(found[a, b]), low), high)
                known = (1.0, 1.0, 1.0) if a == b else _correlation(moments, found, slopes, a, b)
                rows.append(Association(name, other, *known, *(unit * x for x in (value, error, low, high))))
        return rows


def _half(domain: Numbers | Categories) -> float:
    """Half the width of an interval; of 0 and 1 for two categories."""
    return ends(domain)[1] if isinstance(domain, Numbers) else 0.5


def _covariances(moments: NoisyMoments) -> tuple[Array, Array]:
    """Covariances, and how each number with noise moves them, where noise is small."""
    n, matrix, moved = moments.records, moments.matrix, moments.moved
    mean = matrix[0, 1:] / n
    found = matrix[1:, 1:] / n - np.outer(mean, mean)
    count, singles, products = moved[:, 0, 0], moved[:, 0, 1:], moved[:, 1:, 1:]
    means = (singles - count[:, None] * mean) / n
    slopes = (products - count[:, None, None] * (found + np.outer(mean, mean))) / n
    slopes -= means[:, :, None] * mean[None, None, :] + mean[None, :, None] * means[:, None, :]
    return found, slopes


def _covariance_interval(moments: NoisyMoments, a: int, b: int) -> tuple[float, float]:
    """Of n S_ab - S_a S_b = c n²: the c for which the left side less the right is not beyond its noise, at
    c. Products of two noises count as noise of their own."""
    n, matrix, moved = moments.records, moments.matrix, moments.moved
    at = n * matrix[a, b] - matrix[0, a] * matrix[0, b]
    noise = (
        n * moved[:, a, b]
        + matrix[a, b] * moved[:, 0, 0]
        - matrix[0, a] * moved[:, 0, b]
        - matrix[0, b] * moved[:, 0, a]
    )
    size = {
        pair: float(np.linalg.norm(moved[:, pair[0], pair[1]])) for pair in ((0, 0), (a, b), (0, a), (0, b))
    }
    second = moments.deviation * (size[0, 0] * size[a, b] + size[0, a] * size[0, b])
    third = moments.deviation * size[0, 0] ** 2
    return ratio_interval(
        at, n * n, np.append(noise, [second, 0.0]), np.append(2 * n * moved[:, 0, 0], [0.0, third]), moments
    )


def _two_point_variance(moments: NoisyMoments, a: int) -> tuple[float, float]:
    """Of -1 and 1: 1 - m², m being the mean, whose interval decides."""
    moved, matrix = moments.moved, moments.matrix
    low, high = ratio_interval(matrix[0, a], moments.records, moved[:, 0, a], moved[:, 0, 0], moments)
    furthest = max(abs(low), abs(high))
    return 1 - furthest**2, 1.0 if low <= 0 <= high else 1 - min(abs(low), abs(high)) ** 2


def _correlation(
    moments: NoisyMoments, found: Array, slopes: Array, a: int, b: int
) -> tuple[float, float, float]:
    """A correlation and its interval: anything, where a variance may be noise."""
    variances = [(found[k, k], moments.deviation * float(np.linalg.norm(slopes[:, k, k]))) for k in (a, b)]
    if any(variance < 2.5 * error for variance, error in variances):
        seen = [max(variance, error) for variance, error in variances]
        return _limited(found[a, b] / math.sqrt(seen[0] * seen[1])), -1.0, 1.0
    size = math.sqrt(found[a, a] * found[b, b])
    shift = size / 2 * (slopes[:, a, a] / found[a, a] + slopes[:, b, b] / found[b, b])
    low, high = ratio_interval(found[a, b], size, slopes[:, a, b], shift, moments)
    return _limited(found[a, b] / size), _limited(low), _limited(high)


def _limited(correlation: float) -> float:
    return float(min(max(correlation, -1.0), 1.0))
