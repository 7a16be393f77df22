"""Claims that are curves: a trade-off curve, or several points (epsilon, delta) at once.

Both are turned into the pair that attains them and nothing worse, so that every other reading, and
composition, is as good as the claim allows.
"""

import math
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any

import numpy as np
from scipy.special import ndtr, ndtri

from indistinct.adjacency import Adjacency
from indistinct.description import describable
from indistinct.errors import ArgumentError
from indistinct.guarantees.discrete_pair import DiscretePair
from indistinct.guarantees.guarantee import PairGuarantee
from indistinct.guarantees.polygon import (
    least_at,
    lower_hull,
    safe_half,
    safe_polygon,
    symmetric_half,
    symmetric_pair,
    with_ends,
)
from indistinct.guarantees.product import Product
from indistinct.guarantees.stated import Claim, StatedPoints, check_numbers
from indistinct.numerics.arrays import EPS, Array

_POINTS = 1 << 14
"""Where a function is read."""
_SMALLEST = 1e-14
"""The smallest 1 - fpr at which it is: rounding is well below it."""
_NEGLIGIBLE = 16.0
_CLEARLY = 1e-7
_TOLERANCE = 1e-9
"""How far a function may be from convex, by rounding."""


@describable("tradeoff", fpr="_fpr", fnr="_fnr")
class TradeoffCurve(Claim, PairGuarantee):
    """A claim that no test does better than this curve (Dong, Roth and Su 2022): at a false positive rate
    `fpr`, at least `fnr` is missed, whichever of the neighbours is tested against the other.

    Of a curve given by points only what every convex curve through them has in common is used, so coarse
    points claim little. A curve given as a function is read at many points, down to rates of 1e-14; what it
    does below is not known, and counts as giving everything away, unless a Rényi divergence clearly does not
    depend on it.

    >>> curve = TradeoffCurve([0, 0.01, 0.1, 0.3, 1], [1, 0.95, 0.7, 0.4, 0])
    >>> curve.advantage()
    0.3774
    >>> TradeoffCurve(lambda fpr: (1 - fpr) ** 2).delta(epsilon=0.5)
    0.0308
    """

    half: tuple[tuple[float, ...], tuple[float, ...]]
    """Corners from (0, 1) to where the curve meets y = x: x, and 1 - y. Of a function the first edge is a
    guess that only Rényi divergences use."""
    points: tuple[tuple[float, ...], tuple[float, ...]] | None
    """As stated, unless it was a function."""

    def __init__(
        self,
        fpr: "Callable[[Array], Any] | Any",
        fnr: Any = None,
        *,
        adjacency: Adjacency | str = Adjacency.ADD_REMOVE,
    ) -> None:
        points = None if callable(fpr) else _checked_points(fpr, fnr)
        corners = _from_function(fpr, fnr) if points is None else symmetric_half(*safe_polygon(*points))
        known = points and _plain(points)
        stated = {"_fpr": known and known[0], "_fnr": known and known[1]}
        self._keep(adjacency, half=_plain(corners), points=known, **stated)

    @property
    def instead(self) -> str:  # type: ignore[override]
        return "given by points, to be saved" if self.points is None else ""

    def __repr__(self) -> str:
        if self.points is None:
            return f"<trade-off function of advantage {self.advantage():.4g}, {self.adjacency.value}>"
        return super().__repr__()

    @cached_property
    def product(self) -> Product:
        return Product.of([(symmetric_pair(*self._corners), 1)])

    @cached_property
    def _corners(self) -> tuple[Array, Array]:
        x, power = (np.array(side) for side in self.half)
        if self.points is None and x.size > 1:
            x = np.append(0.0, x[2:])  # the first edge becomes an infinite loss
            power = power[1:]
        return x, power

    def _renyi(self, order: float) -> float:
        """*Three Variants*, Proposition 1, without its term 1 - beta(0), which belongs to no divergence: the
        sum over edges of p^order q^(1-order)."""
        if self.points is not None or math.isinf(order):
            return super()._renyi(order)
        x, power = (np.array(side) for side in self.half)
        pair = symmetric_pair(x, power)
        if pair.infinite_mass:
            return math.inf
        p, q = float(power[1]), float(x[1])
        end = order * math.log(p) + (1 - order) * math.log(q)
        divergence = Product.of([(pair, 1)]).renyi(order)
        # the moments fall off towards the end faster than geometrically, or the end is not negligible
        settled = order <= 1 or end < (order - 1) * divergence + math.log(max(divergence, 1e-9)) - _NEGLIGIBLE
        return divergence if settled else math.inf

    def _tradeoff(self, fpr: Array) -> Array:
        x, power = self._corners
        corners = np.concatenate((x, 1 - power[::-1]))
        heights = np.concatenate((1 - power, x[::-1]))
        if corners[-1] < 1:
            corners, heights = np.append(corners, 1.0), np.append(heights, 0.0)
        fnr: Array = np.interp(fpr, corners, heights) - 2 * EPS
        if self.points is not None:
            # between points the curve may dip to any one corner, but not to all of them at once
            x, y = (np.array(side) for side in self.points)
            mirrored = np.unique(np.stack((y, x), axis=1), axis=0).T
            rising = np.append(np.diff(mirrored[0]) > 0, True)
            for one in ((x, y), with_ends(*mirrored[:, rising])):
                fnr = np.maximum(fnr, least_at(fpr, *one))
        return np.clip(fnr, 0.0, 1 - fpr)


@describable("profile")
class PrivacyProfile(StatedPoints):
    """Several (epsilon, delta) claims that hold at the same time, of one mechanism.

    Together they say more than any of them: the trade-off curve is the largest of theirs.

    >>> both = PrivacyProfile([0.5, 2.0], [1e-2, 1e-6])
    >>> both.delta([0.5, 1.0, 2.0])
    array([1.0e-02, 8.137e-03, 1.0e-06])
    """

    epsilons: tuple[float, ...]
    deltas: tuple[float, ...]

    def __init__(
        self, epsilons: Any, deltas: Any, *, adjacency: Adjacency | str = Adjacency.ADD_REMOVE
    ) -> None:
        allowed = "increasing non-negative numbers"
        epsilon = _numbers("epsilons", epsilons, math.inf, allowed)
        delta = _numbers("deltas", deltas, 1.0, "numbers in [0, 1], one for each epsilon")
        if not epsilon.size or (np.diff(epsilon) <= 0).any() or epsilon[-1] == math.inf:
            raise ArgumentError("epsilons", epsilons, allowed)
        if delta.size != epsilon.size:
            raise ArgumentError("deltas", deltas, f"{epsilon.size} numbers in [0, 1], one for each epsilon")
        if (rises := np.flatnonzero(np.diff(delta) > 0)).size:
            k = int(rises[0]) + 1
            raise ArgumentError(
                "deltas", float(delta[k]), f"at most {delta[k - 1]:g}, the delta of a smaller epsilon"
            )
        self._keep(adjacency, epsilons=tuple(epsilon.tolist()), deltas=tuple(delta.tolist()))

    @property
    def points(self) -> tuple[Sequence[float], Sequence[float]]:
        return self.epsilons, self.deltas

    @cached_property
    def product(self) -> Product:
        return Product.of([(profile_pair(np.array(self.epsilons), np.array(self.deltas)), 1)])


def profile_pair(epsilon: Array, delta: Array) -> DiscretePair:
    """The pair whose trade-off curve is the largest of 1 - delta - e^epsilon x and their mirror images: steep
    lines near x = 0, each bounding 1 - y from above by delta + e^epsilon x."""
    # a line is lowest somewhere if it is a corner of what is below all (slope, start); epsilons too large to
    # tell apart are one
    slope, start = lower_hull(np.exp(np.minimum(epsilon, 700.0)), delta, least=0.0)
    slope, start = slope[::-1], start[::-1]
    crossing = np.diff(start) / -np.diff(slope)
    apart = int((crossing <= 0).sum())  # a line that is lowest at 0 alone would say too much beside it
    slope, start, crossing = slope[apart:], start[apart:], crossing[apart:]
    meets = (1 - start) / (1 + slope)  # each line and y = x
    k = int(np.argmax(np.append(crossing, math.inf) >= meets))
    x = np.concatenate(([0.0], crossing[:k], [meets[k]]))
    power = np.concatenate((start[:1], start[:k] + slope[:k] * crossing[:k], [1 - meets[k]]))
    return symmetric_pair(x, power)


# -- checks ------------------------------------------------------------------------------------------------


def _numbers(argument: str, values: Any, most: float, allowed: str) -> Array:
    return np.array(check_numbers(argument, values, 0.0, most, allowed))


def _plain(columns: tuple[Array, Array]) -> tuple[tuple[float, ...], ...]:
    return tuple(tuple(side.tolist()) for side in columns)


def _checked_points(fpr: Any, fnr: Any) -> tuple[Array, Array]:
    x = _numbers("fpr", fpr, 1.0, "increasing numbers in [0, 1]")
    y = _numbers("fnr", fnr, 1.0, "numbers in [0, 1], one for each fpr")
    if y.size != x.size or not x.size:
        raise ArgumentError("fnr", fnr, f"{x.size} numbers in [0, 1], one for each fpr")
    if (stuck := np.flatnonzero(np.diff(x) <= 0)).size:
        k = int(stuck[0]) + 1
        raise ArgumentError(f"fpr[{k}]", float(x[k]), f"more than {x[k - 1]:g}, the one before it")
    x, y = with_ends(x, y)
    _check_curve(x, y, 4 * EPS)
    return x, y


def _check_curve(x: Array, y: Array, tolerance: float) -> None:
    """Below the diagonal, falling, convex; else say where it is not."""
    if (above := np.flatnonzero(y > 1 - x + tolerance)).size:
        k = int(above[0])
        raise ArgumentError(
            "fnr", float(y[k]), f"at most {1 - x[k]:.6g} at fpr = {x[k]:.6g}, where guessing is"
        )
    if (rises := np.flatnonzero(np.diff(y) > tolerance)).size:
        k = int(rises[0]) + 1
        raise ArgumentError(
            "fnr", float(y[k]), f"at most {y[k - 1]:.6g} at fpr = {x[k]:.6g}: the curve must fall"
        )
    share = np.diff(x)[:-1] / (x[2:] - x[:-2])
    chord = (1 - share) * y[:-2] + share * y[2:]
    if (bulges := np.flatnonzero(y[1:-1] > chord + tolerance)).size:
        k = int(bulges[0])
        allowed = f"at most {chord[k]:.6g} at fpr = {x[k + 1]:.6g}: the curve must be convex"
        raise ArgumentError("fnr", float(y[k + 1]), allowed)


def _from_function(function: Callable[[Array], Any], fnr: Any) -> tuple[Array, Array]:
    """Half of the symmetric curve, from the function near x = 1: what it misses there is small and known to
    all its digits, as is 1 - x, while near x = 0 both would be lost to rounding."""
    if fnr is not None:
        raise ArgumentError("fnr", fnr, "nothing where the curve is a function")
    coarse = np.linspace(0.0, 1.0, 257)
    _check_curve(coarse, _values(function, coarse), _TOLERANCE)
    low, high = 0.0, 1.0
    for _ in range(60):  # where the curve meets y = x
        middle = (low + high) / 2
        low, high = (
            (middle, high) if float(_values(function, np.array([middle]))[0]) > middle else (low, middle)
        )
    if high < 1e-300:
        return np.zeros(1), np.ones(1)
    # a grid of 1 - x that floating point numbers near 1 can express
    power = np.unique(1 - (1 - ndtr(np.linspace(ndtri(_SMALLEST), ndtri(1 - high), _POINTS))))
    x, least = _values(function, 1 - power), float(power[0])
    if (np.diff(x) < -_TOLERANCE).any():
        k = int(np.argmin(np.diff(x)))
        raise ArgumentError(
            "fnr", float(x[k]), f"at most {x[k + 1]:.6g} at fpr = {1 - power[k]:.6g}: it must fall"
        )
    # that was the curve's inverse; the curve itself, where it is clearly larger
    direct = 1 - _values(function, x)
    power = np.where(power - direct > _CLEARLY, direct + 4 * EPS, power)
    # rounding makes small dents, and they may not flatter
    x, falling = lower_hull(np.append(0.0, x), -np.append(0.0, power), least=0.0)
    power = -falling
    x, power = safe_half(x, power) if x.size > 3 else (x, power)
    if x.size > 1 and power[1] > 2 * least:
        # the first edge ends where the function was read, however straight it goes on
        x = np.concatenate(([0.0], np.full(2, x[1] * least / power[1]), x[1:]))
        power = np.concatenate(([0.0], np.full(2, least), power[1:]))
    return x, power


def _values(function: Callable[[Array], Any], x: Array) -> Array:
    y = np.asarray(function(x), dtype=np.float64)
    if y.shape != x.shape:
        y = np.array([float(function(point)) for point in x.tolist()])
    wrong = np.flatnonzero(~((y >= 0) & (y <= 1)))
    if wrong.size:
        k = int(wrong[0])
        raise ArgumentError("fnr", float(y[k]), f"a number in [0, 1] at fpr = {x[k]:.6g}")
    return y
