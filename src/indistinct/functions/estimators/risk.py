"""The minimiser of a regularised risk over records, found by passes of the bounded sum and certified.

What is released is f̂, near the true minimiser f*. By strong convexity |f̂ - f*| ≤ |∇J(f̂)|/λ. The gradient at
f̂ is a bounded sum over records; its computed length is checked against a public tolerance, a bound on every
error of its computation is added, and twice the result over λ, once for each of two neighbours, belongs to
the sensitivity. So neither the optimiser nor the Hessians need to be trusted.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from hashlib import blake2b
from typing import Any

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from indistinct.adjacency import Adjacency
from indistinct.data import Categories, FeatureMap, FeatureSum, Numbers, ProductSum
from indistinct.description import Positive, PositiveCount, checked_fields
from indistinct.errors import ArgumentError
from indistinct.functions.estimators.losses import Loss
from indistinct.functions.space import FiniteSpace
from indistinct.numerics.arrays import EPS, Array

_TOLERANCE = 2.0**-20
"""How much less than one record's push the remaining gradient must be."""
_MOST_CHARGED = 0.01
_PASSES = 500
_HALVINGS = 30
_REMEMBERED = 2**26
"""Numbers: 512 MiB."""


@dataclass(frozen=True)
class Between:
    """Targets in an interval, moved to [-1, 1]."""

    low: float
    high: float

    @property
    def middle(self) -> float:
        return (self.low + self.high) / 2

    @property
    def half(self) -> float:
        return (self.high - self.low) / 2

    def __call__(self, column: Array) -> Array:
        return np.clip((column - self.middle) / self.half, -1.0, 1.0)


@dataclass(frozen=True)
class Against:
    """1 for one class and -1 for the rest."""

    place: int

    def __call__(self, column: Array) -> Array:
        return np.where(column == self.place, 1.0, -1.0)


@dataclass(frozen=True, eq=False)
class CachedPasses:
    """Features of points that were seen before: a fit goes over the same records again and again. They are
    private, and forgotten with the fit."""

    space: FiniteSpace
    seen: dict[bytes, Array] = field(default_factory=dict, repr=False)

    def __call__(self, points: Array) -> Array:
        key = blake2b(points.tobytes()).digest()
        if key in self.seen:
            return self.seen[key]
        features = np.asarray(self.space(points), dtype=np.float64)
        if sum(kept.size for kept in self.seen.values()) + features.size <= _REMEMBERED:
            features.setflags(write=False)
            self.seen[key] = features
        return features


@dataclass(frozen=True)
@checked_fields
class Risk:
    """(1/records) Σ loss(y, f(x)) + (regularization/2) |f|² over records, whose points are all columns of
    `axes` but the last, and whose targets `target` makes of the last one."""

    features: CachedPasses
    loss: Loss
    target: Between | Against
    regularization: Positive
    records: PositiveCount
    axes: tuple[tuple[str, Numbers | Categories], ...]

    def __post_init__(self) -> None:
        if self.charged > _MOST_CHARGED * self._moved:
            more = self.charged / self._moved
            raise ArgumentError("records", self.records, f"fewer: rounding would cost {more:.1%} more noise")

    @property
    def space(self) -> FiniteSpace:
        return self.features.space

    @cached_property
    def height(self) -> float:
        """κ: no feature vector is longer."""
        return self.space.bound * (1 + 1e-12)

    @cached_property
    def radius(self) -> float:
        """No minimiser is longer."""
        return self.loss.radius(self.height, self.regularization)

    @property
    def reach(self) -> float:
        """The largest score of functions that the search looks at, twice as long as minimisers are."""
        return 2 * self.radius * self.height

    @property
    def _moved(self) -> float:
        return self.loss.moved(self.height, self.regularization) / self.records * (1 + 4 * EPS)

    @cached_property
    def charged(self) -> float:
        """How far the functions of two neighbours may be off, together."""
        return 2 * (self.tolerance + self._rounding) / self.regularization

    def sensitivity(self, adjacency: Adjacency) -> float:
        """How far neighbours move the function that is released."""
        copies = 1 if adjacency is Adjacency.ADD_REMOVE else 2
        return (copies * self._moved + self.charged) * (1 + 4 * EPS)

    @property
    def tolerance(self) -> float:
        """What the computed gradient must not exceed."""
        return _TOLERANCE * self.regularization * self._moved

    @cached_property
    def score_error(self) -> float:
        """Of a computed score: features that wobble, and an inner product of floats."""
        wobble = self.space.wobble(self._furthest)
        return 2 * self.radius * (wobble + (self.space.size + 8) * EPS * self.height)

    def term_error(self) -> float:
        """Of one record's computed gradient, before it is rounded to the lattice."""
        steepest = self.loss.steepest(self.reach)
        slope = self.loss.bend * (self.score_error + 8 * EPS * (1 + self.reach)) + 8 * EPS * steepest
        wobble = self.space.wobble(self._furthest)
        return self.height * slope + steepest * (wobble + 8 * EPS * self.height)

    @cached_property
    def _rounding(self) -> float:
        """A bound on the error of a computed gradient: that of records on average, and of what is added."""
        step = math.sqrt(self.space.size) * self._sum(Slopes(self, self._nothing)).step
        penalty = 8 * EPS * self.regularization * 2 * self.radius
        return self.term_error() + step + penalty

    @cached_property
    def _furthest(self) -> float:
        ends = [
            float(d.size) if isinstance(d, Categories) else max(abs(d.low), abs(d.high)) for _, d in self.axes
        ]
        return math.hypot(*ends)

    @property
    def _nothing(self) -> Array:
        return np.zeros(self.space.size)

    def _sum(self, map: FeatureMap) -> FeatureSum:
        return FeatureSum(dict(self.axes), map, records=self.records)

    def gradient(self, data: Any, coefficients: Array) -> Array:
        """Of the objective. It is private."""
        slopes = self._sum(Slopes(self, coefficients)).statistic(data).values
        gradient: Array = slopes / self.records + self.regularization * coefficients
        return gradient

    def _newton(self, data: Any, place: Array, gradient: Array) -> Array:
        query = ProductSum(dict(self.axes), Bends(self, place), records=self.records)
        hessian = query.read(query.statistic(data).values) / self.records
        hessian[np.diag_indices_from(hessian)] += self.regularization
        step: Array = -cho_solve(cho_factor(hessian), gradient)
        return step

    def minimiser(self, data: Any) -> Array:
        """The coefficients of the minimiser, by Newton steps; they are private."""
        place = self._nothing
        gradient = self.gradient(data, place)
        for _ in range(_PASSES):
            if self._certified(place, gradient):
                return place
            place, gradient = self._ahead(data, place, gradient)
        raise ArithmeticError("the minimum was not found to the accuracy that was accounted for")

    def _ahead(self, data: Any, place: Array, gradient: Array) -> tuple[Array, Array]:
        """A better place with its gradient: the end of a Newton step, or a place on the way there, before
        which the objective only falls and where it falls half as fast at most."""
        step = self._newton(data, place, gradient)
        steep, length, low, high = float(gradient @ step), 1.0, 0.0, 2.0
        best = place, gradient
        for _ in range(_HALVINGS):
            trial = place + length * step
            if np.linalg.norm(trial) > 2 * self.radius:
                high = length
            else:
                ahead = self.gradient(data, trial)
                slope = float(ahead @ step)
                if np.linalg.norm(ahead) <= np.linalg.norm(gradient) / 2:
                    return trial, ahead
                if slope > 0:
                    high = length
                else:
                    low, best = length, (trial, ahead)
                    if slope >= steep / 2 or length == 1:
                        break
            length = (low + high) / 2
        return best

    def _certified(self, place: Array, gradient: Array) -> bool:
        short = float(np.linalg.norm(gradient)) * (1 + 1e-9) <= self.tolerance
        return short and float(np.linalg.norm(place)) <= 2 * self.radius

    def total(self, data: Any, coefficients: Array) -> float:
        """`records` times the objective. It is private."""
        losses = float(self._sum(Losses(self, coefficients)).statistic(data).values[0])
        return losses + self.records * self.regularization / 2 * float(coefficients @ coefficients)

    @property
    def highest(self) -> float:
        """How far a record that comes raises `total` at the minimiser: by its loss at most, and never below;
        one that is replaced, by no more than that up or down. With what both computations may be off."""
        highest = self.loss.highest(self.radius * self.height)
        n, map = self.records, Losses(self, self._nothing)
        value = self.loss.steepest(self.reach) * self.score_error + 16 * EPS * (1 + self.reach) ** 2
        gap = (self.tolerance + self._rounding) ** 2 / (2 * self.regularization)
        penalty = 8 * EPS * self.regularization * (2 * self.radius) ** 2
        # A candidate's total moves by -2 errors at least and 2 errors more at most: a range of 4.
        return highest + 4 * n * (value + self._sum(map).step + gap + penalty)

    def scores(self, coefficients: Array, points: Array) -> tuple[Array, Array, Array]:
        """Features, scores and targets of points that have their target behind them."""
        features = self.features(points[:, :-1])
        return features, features @ coefficients, self.target(points[:, -1])


@dataclass(frozen=True, eq=False)
class OfRisk(FeatureMap):
    """Something that each record adds to a risk or to its derivatives."""

    risk: Risk
    coefficients: Array = field(repr=False)
    nonnegative = False

    @property
    def dimension(self) -> int:  # type: ignore[override]
        return self.risk.space.dimension + 1

    @property
    def size(self) -> int:  # type: ignore[override]
        return self.risk.space.size


@dataclass(frozen=True, eq=False)
class Slopes(OfRisk):
    """loss'(y, f(x)) φ(x): a record's part in the gradient."""

    @property
    def bound(self) -> float:  # type: ignore[override]
        return self.risk.loss.steepest(self.risk.reach) * self.risk.height * (1 + 1e-9)

    def wobble(self, radius: float) -> float:
        return 2 * self.risk.term_error()

    def __call__(self, points: Array) -> Array:
        features, scores, targets = self.risk.scores(self.coefficients, points)
        return features * self.risk.loss.slope(targets, scores)[:, None]


@dataclass(frozen=True, eq=False)
class Bends(OfRisk):
    """√loss''(y, f(x)) φ(x), whose products add up to the Hessian. Only a direction to search comes of it."""

    @property
    def bound(self) -> float:  # type: ignore[override]
        return math.sqrt(self.risk.loss.bend) * self.risk.height * (1 + 1e-9)

    def __call__(self, points: Array) -> Array:
        features, scores, targets = self.risk.scores(self.coefficients, points)
        return features * np.sqrt(self.risk.loss.curvature(targets, scores))[:, None]


@dataclass(frozen=True, eq=False)
class Losses(OfRisk):
    """loss(y, f(x)), one number."""

    @property
    def size(self) -> int:  # type: ignore[override]
        return 1

    @property
    def bound(self) -> float:  # type: ignore[override]
        return self.risk.loss.highest(self.risk.reach) * (1 + 1e-9)

    def wobble(self, radius: float) -> float:
        return 2 * self.risk.loss.steepest(self.risk.reach) * self.risk.score_error

    def __call__(self, points: Array) -> Array:
        _, scores, targets = self.risk.scores(self.coefficients, points)
        return self.risk.loss.value(targets, scores)[:, None]


def with_target(
    columns: Mapping[str, Numbers | Categories], target: Numbers | Categories
) -> tuple[tuple[str, Numbers | Categories], ...]:
    """The axes of points and, behind them, of their target."""
    return (*columns.items(), ("target", target))
