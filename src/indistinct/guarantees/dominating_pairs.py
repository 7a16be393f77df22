"""Finite pairs that dominate what is known only by its profile or its trade-off curve.

A profile is convex in e^epsilon. Given upper bounds on it at finitely many points, the largest convex
function below those bounds is still above the truth, is piecewise linear, and so is the profile of a finite
pair ("connect the dots", Doroshenko et al. 2022): the tightest pair that can be written down. Both tails are
computed from their own small numbers, never as what is left of 1, so that they keep their digits.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from indistinct.guarantees.discrete_pair import DiscretePair
from indistinct.guarantees.pair import LOG_NEGLIGIBLE, Pair
from indistinct.guarantees.polygon import hull_vertices
from indistinct.numerics.arrays import EPS, Array

_POINTS = 8193
_SLACK = 1e-14
"""Of a bound that is lowered: more than its rounding."""
NEAREST = 1e-9
"""Where a table ends at the least: e to the power of its points must tell them apart."""
_GRADED = 6.0
"""The points of a table are as close to each other, relatively, from its end to e^-6 of it."""


def tabulated_pair(
    forward: Callable[[Array], Array], backward: Callable[[Array], Array], reach: float
) -> DiscretePair:
    """A finite pair that dominates (P, Q), from the profiles of both directions up to `reach`."""
    grid = np.sinh(np.linspace(0.0, _GRADED, _POINTS)) / math.sinh(_GRADED)
    x = np.unique(np.exp(min(max(reach, NEAREST), 300.0) * grid))
    x[-1] = np.nextafter(x[-1], np.inf)  # no less than the end
    epsilon = _log(x)  # of these very numbers
    there, back = forward(epsilon), backward(epsilon)
    there[0] = back[0] = min(there[0], back[0])  # which is one number: total variation
    there, back = _joined(x, there, back)
    (ratio, q), p_infinite = _half(x, there)
    (other, p), q_infinite = _half(x, back)
    # positive losses, negative ones, what gives everything away, and the rest at zero
    p_all = np.concatenate((ratio * q, p, [p_infinite, 0.0]))
    q_all = np.concatenate((q, other * p, [0.0, q_infinite]))
    # rounded down: where both have next to nothing in common, it decides low orders
    rest = max(1 - max(math.fsum(p_all), math.fsum(q_all)) - 4 * EPS, 0.0)
    losses = np.concatenate((_log(ratio), -_log(other), [math.inf, -math.inf, 0.0]))
    return DiscretePair.of(np.append(p_all, rest), np.append(q_all, rest), losses, exact=False)


def _log(x: Array) -> Array:
    """log x, of which next to 1 all digits are kept."""
    return np.log1p(x - 1)


def _joined(x: Array, forward: Array, backward: Array) -> tuple[Array, Array]:
    """Both profiles, lowered to what is convex on both sides of 0: below e^epsilon = 1 a profile is
    1 - e^epsilon + e^epsilon delta(-epsilon) of the other direction. True ones are convex; bounds need not
    be."""
    points = np.concatenate((1 / x[:0:-1], x))
    value = np.concatenate(((1 - 1 / x + backward / x)[:0:-1], forward))
    keep = hull_vertices(np.diff(points), np.diff(np.minimum(value, 1.0)))
    left, right = keep[points[keep] < 1].max(initial=0), keep[points[keep] > 1].min(initial=points.size - 1)
    line = value[left] + (value[right] - value[left]) * (points - points[left]) / (
        points[right] - points[left]
    )
    line = np.where((points > points[left]) & (points < points[right]), line + _SLACK, np.inf)
    middle = x.size - 1
    there, back = line[middle:], (line[: middle + 1] - 1 + points[: middle + 1])[::-1] * x
    return np.minimum(forward, there), np.minimum(backward, back)


def _half(x: Array, delta: Array) -> tuple[tuple[Array, Array], float]:
    """e^l and the Q-masses of the positive losses l of a profile's convex hull, and the mass of infinite
    losses."""
    y = np.minimum.accumulate(np.minimum(delta, 1.0))
    keep = hull_vertices(np.diff(x), np.diff(y))
    x, y = x[keep], y[keep]
    if x.size < 2:
        return (np.zeros(0), np.zeros(0)), float(y[-1])
    # -d delta / d e^epsilon = Q(L > epsilon)
    q_above = np.append(-np.diff(y) / np.diff(x), 0.0)
    return (x[1:], np.maximum(q_above[:-1] - q_above[1:], 0.0)), float(y[-1])


def finite_pair(pair: Pair, size: int = 1) -> DiscretePair:
    """The pair itself if it is finite, else a finite one that dominates it, known further out for a group."""
    pair = pair.stand_in.as_read(alone=True)
    if isinstance(pair, DiscretePair):
        return pair
    log_tail = size * LOG_NEGLIGIBLE
    reach = max(abs(edge) for tilt in (0.0, 1.0) for edge in pair.outer_losses(tilt, log_tail))
    return tabulated_pair(pair.profile, pair.reversed_profile, reach)


# -- group privacy: the trade-off function applied to itself --------------------------------------


def symmetric_pair(pair: Pair) -> Pair:
    """The pair itself if it is symmetric, else a finite symmetric one that dominates both directions."""
    return pair if pair.symmetric else TestCurve.symmetric(finite_pair(pair)).pair()


@dataclass(frozen=True, eq=False)
class TestCurve:
    """Vertices of the best tests, from (0, 0) to (1, 1): false positive rates x, true positive rates y, and
    1 - x and 1 - y, each from its own small numbers."""

    x: Array
    rest_x: Array
    y: Array
    rest_y: Array

    @classmethod
    def symmetric(cls, pair: DiscretePair) -> "TestCurve":
        """The best tests of Q against P and of P against Q, taken together."""
        curves = [cls.of(one) for one in (pair, pair.reverse())]
        return cls(*(np.concatenate(part) for part in zip(*(c.columns for c in curves), strict=True))).hull()

    @classmethod
    def of(cls, pair: DiscretePair) -> "TestCurve":
        """The best tests of Q against P."""
        p, q = np.array(pair.p), np.array(pair.q)
        x, y = (np.append(0.0, np.cumsum(mass[::-1])) for mass in (q, p))
        rest_x, rest_y = (np.append(np.cumsum(mass)[::-1], 0.0) for mass in (q, p))
        return cls(np.minimum(x, 1.0), np.minimum(rest_x, 1.0), np.minimum(y, 1.0), np.minimum(rest_y, 1.0))

    @property
    def columns(self) -> tuple[Array, Array, Array, Array]:
        return self.x, self.rest_x, self.y, self.rest_y

    def then(self, outer: "TestCurve") -> "TestCurve":
        """The curve of outer(self(x)): its vertices are those of self, and where self meets one of outer."""
        y, rest_y = outer.at(self.y, self.rest_y)
        inverse = TestCurve(self.y, self.rest_y, self.x, self.rest_x)
        x, rest_x = inverse.at(outer.x, outer.rest_x)
        met = (outer.x > self.y[0]) | (outer.x >= 1)
        return TestCurve(
            np.concatenate((self.x, x[met])),
            np.concatenate((self.rest_x, rest_x[met])),
            np.concatenate((y, outer.y[met])),
            np.concatenate((rest_y, outer.rest_y[met])),
        ).hull()

    def at(self, x: Array, rest_x: Array) -> tuple[Array, Array]:
        """y and 1 - y at x, between vertices on their chord."""
        lower = x <= rest_x
        k = np.where(
            lower,
            np.searchsorted(self.x, x, "right"),
            self.x.size - np.searchsorted(self.rest_x[::-1], rest_x, "left"),
        )
        k = np.clip(k, 1, self.x.size - 1)
        with np.errstate(divide="ignore", invalid="ignore"):
            low = (x - self.x[k - 1]) / (self.x[k] - self.x[k - 1])
            high = (self.rest_x[k - 1] - rest_x) / (self.rest_x[k - 1] - self.rest_x[k])
        share = np.clip(np.nan_to_num(np.where(lower, low, high), nan=1.0, posinf=1.0, neginf=0.0), 0.0, 1.0)
        first, second = self.columns[2:]
        y = first[k - 1] * (1 - share) + first[k] * share
        return y, second[k - 1] * (1 - share) + second[k] * share

    def hull(self) -> "TestCurve":
        """The upper convex hull, vertices in order."""
        lower = self.x <= self.rest_x
        along = np.where(lower, self.x, -self.rest_x)
        points = np.array(self.columns)[:, np.lexsort((np.where(lower, -self.y, self.rest_y), along, ~lower))]
        run, rise = _gaps(*points[:2]), _gaps(*points[2:])
        points = points[:, np.append(True, (run > 0) | (rise > 0))]
        return TestCurve(*points[:, hull_vertices(_gaps(*points[:2]), -_gaps(*points[2:]))])

    def pair(self) -> DiscretePair:
        """The pair whose best tests these are."""
        q, p = (_steps(value, rest) for value, rest in ((self.x, self.rest_x), (self.y, self.rest_y)))
        return DiscretePair.of(p, q, exact=False)


def _steps(value: Array, rest: Array) -> Array:
    """Differences of neighbours, none below 0; the first one last."""
    return np.append(value[0], np.maximum(_gaps(value, rest), 0.0))


def _gaps(value: Array, rest: Array) -> Array:
    """Differences of neighbours, from whichever of x and 1 - x is small there."""
    return np.where(value[1:] <= rest[1:], np.diff(value), -np.diff(rest))
