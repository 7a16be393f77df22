"""A lattice whose points are as far apart as they are large: a few hundred reach from losses that say next to
nothing to the largest, where frequent small ones are composed with rare large ones.

It bounds from above. A loss between two points is placed on both such that its mass under P and under Q is
kept ("connect the dots", Doroshenko et al. 2022): who forgets on which has the loss again, so the law on
points dominates. So it is with sums of two losses, and powers are taken by doubling.
"""

import math
from dataclasses import dataclass
from functools import reduce
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from indistinct.guarantees.composed_loss import LOG_FLOOR, ComposedLoss
from indistinct.guarantees.pair import Pair
from indistinct.numerics.arrays import EPS, Array, summed
from indistinct.numerics.contour import LogBounds
from indistinct.numerics.lattice import LAW, LOG_TAIL, NO_NUMBER

_POINTS = 640
_FINEST = 1 / 16
"""Points are evenly spaced up to so much of delta(0) of the step that tells least."""
_OUTSIDE = 1 + 1e-6
"""Points reach so much further than losses."""
_MOST_STEPS = 1 << 24
"""The rounding of more would be felt."""
_UNDERFLOW = 1e-301
"""More than what products lack that are too small for numbers."""


def uneven_lattice(loss: ComposedLoss, level: int) -> "UnevenLattice | None":
    """The engine, alike at all levels: None where there is one step, or laws are known only about."""
    if any(pair.by_moments or pair.profiled for pair, _ in loss.terms) or not 1 < loss.steps <= _MOST_STEPS:
        return None
    spans = [(*pair.span(LOG_FLOOR), n) for pair, n in loss.terms]
    low, high = sum(n * min(first, 0.0) for first, _, n in spans), sum(n * last for _, last, n in spans)
    finest = max(_FINEST * min(pair.told for pair, _ in loss.terms), 1e-150)
    first, last = (math.asinh(_OUTSIDE * end / finest) for end in (low, high))
    points = np.append(finest * np.sinh(np.linspace(first, last, _POINTS)), math.inf)
    sums = Sums.of(points)
    mass = reduce(sums.law, (sums.power(law_above(pair, points), n) for pair, n in loss.terms))
    tops = [(pair.loss_range[1], n) for pair, n in loss.terms]
    blur = 16 * EPS * sum(n * top for top, n in tops if top < math.inf)
    return UnevenLattice(points, mass, EPS * (8 + 2 * points.size**2 * loss.steps), blur)


@dataclass(frozen=True, eq=False)
class UnevenLattice:
    """P-masses at points, of which the last is infinity."""

    final: ClassVar[bool] = False

    points: Array
    mass: Array
    log_error: float
    blur: float
    """By how much atoms may be elsewhere."""

    def read(self, epsilon: Array) -> LogBounds:
        beyond = np.minimum((epsilon * (1 - 8 * EPS) - self.blur)[:, None] - self.points, 0.0)
        high = np.minimum(np.log(summed(-np.expm1(beyond), self.mass) + _UNDERFLOW) + self.log_error, 0.0)
        fall = summed(np.where(beyond < 0, np.exp(beyond), 0.0), self.mass)
        return LogBounds(np.full(epsilon.shape, -math.inf), high, -fall / np.exp(high))

    def guess(self, log_delta: Array) -> Array:
        finite = self.points[:-1]
        places = np.searchsorted(-self.read(finite).high, -log_delta)
        return finite[np.minimum(places, finite.size - 1)]


def law_above(pair: Pair, points: Array) -> Array:
    """One step's masses at the points, by what is above each of them, which is rounded up."""
    finite = points[:-1]
    log_p, log_q, *_ = pair.tails(finite)
    error = LAW - LOG_TAIL * np.maximum(log_q, NO_NUMBER)
    p, told = (np.append(np.exp(log), 0.0) for log in (log_p, np.minimum(log_q + finite, log_p)))
    # a + b = p and a e^{-l} + b e^{-l-gap} = q in a cell; none of its tails is larger than P's at its low end
    shrinks = np.expm1(-np.diff(points))
    upper = (told[:-1] - (1 + shrinks) * told[1:] - p[:-1] + p[1:] - 4 * error * p[:-1]) / shrinks
    above = np.minimum(p[1:] + np.maximum(upper, 0.0), p[:-1]) * (1 + error)
    above = np.maximum.accumulate(np.concatenate(([0.0], above[::-1], [1.0])))[::-1]
    mass: Array = above[:-1] - above[1:]
    return mass


@dataclass(frozen=True, eq=False)
class Sums:
    """Of each two points: after which one their sum is, and how much of it goes to the next."""

    after: npt.NDArray[np.intp]
    share: Array
    size: int

    @classmethod
    def of(cls, points: Array) -> "Sums":
        rounded_up = points + 4 * EPS * np.abs(points)
        sums = np.add.outer(rounded_up, rounded_up).ravel()
        after = np.clip(np.searchsorted(points, sums, side="right") - 1, 0, points.size - 2)
        beyond = np.minimum(points[after] - sums, 0.0)
        share = np.expm1(beyond) / np.expm1(-np.diff(points))[after]
        return cls(after, np.minimum(share, 1.0), points.size)

    def law(self, one: Array, other: Array) -> Array:
        """That of the sum of two losses."""
        mass = np.outer(one, other).ravel()
        upper = mass * self.share
        lower = np.bincount(self.after, mass - upper, self.size)
        total: Array = np.add(lower, np.bincount(self.after + 1, upper, self.size))
        return total

    def power(self, one: Array, count: int) -> Array:
        """That of so many."""
        if count == 1:
            return one
        half = self.power(one, count // 2)
        even = self.law(half, half)
        return self.law(even, one) if count % 2 else even
