"""Every reading of a guarantee that is known by its Rényi divergences alone.

The divergences known exactly imply more than any one of them: (order - 1) times the divergence is convex in
the order for every pair of distributions, so that between known orders the chord holds, and the best order is
looked for there too. A finite divergence of infinite order is pure DP, which is converted by itself.
"""

import math
from abc import abstractmethod
from collections.abc import Callable
from functools import cached_property

import numpy as np

from indistinct.guarantees.conversion import (
    pure_delta,
    pure_epsilon,
    pure_tradeoff,
    quick_epsilon,
    renyi_delta,
    renyi_epsilon,
    renyi_tradeoff,
)
from indistinct.guarantees.readings import Readings
from indistinct.numerics.arrays import EPS, Array

_ROUNDS, _POINTS = 4, 33
"""Of closing in on the best order, each by a factor of sixteen."""
SMALL_DELTA = 1e-3
"""Below this a simple bound finds the best order."""

Conversion = Callable[[Array, Array, Array], tuple[Array, Array]]


class RenyiReadings(Readings):
    """Delta, epsilon and the trade-off from `_renyi` at its `orders`."""

    @abstractmethod
    def orders(self) -> Array:
        """Finite orders, increasing, at which the curve is worth reading."""

    def _delta(self, epsilon: Array) -> Array:
        return np.minimum(self._at_best_orders(renyi_delta, epsilon), pure_delta(self._pure, epsilon))

    def _epsilon(self, delta: Array) -> Array:
        if delta.size == 1 and (quick := self._quick_epsilon(float(delta[0]))) is not None:
            return np.array([quick])
        return np.minimum(self._at_best_orders(renyi_epsilon, delta), pure_epsilon(self._pure, delta))

    def _tradeoff(self, fpr: Array) -> Array:
        best = np.maximum(self._at_best_orders(renyi_tradeoff, fpr), pure_tradeoff(self._pure, fpr))
        return np.clip(best, 0.0, 1 - fpr)

    def _at_best_orders(self, conversion: Conversion, at: Array) -> Array:
        """What the known orders imply, and those between them: the best one and its neighbours close in."""
        orders, values = self._curve
        if not orders.size:  # nothing is known, or only pure DP
            return np.zeros_like(at) if conversion is renyi_tradeoff else np.where(at < 1, math.inf, 0.0)
        result, best = conversion(orders, values, at)
        better = np.maximum if conversion is renyi_tradeoff else np.minimum
        orders = np.broadcast_to(orders, (at.size, orders.size))
        rows = np.arange(at.size)
        for _ in range(_ROUNDS):
            low, high = np.maximum(best - 1, 0), np.minimum(best + 1, orders.shape[1] - 1)
            orders = np.linspace(orders[rows, low], orders[rows, high], _POINTS, axis=1)
            found, best = conversion(orders, self._renyi_at(orders), at)
            result = better(result, found)
        return result

    @cached_property
    def _curve(self) -> tuple[Array, Array]:
        orders = self.orders()
        return orders, self._renyi_at(orders)

    @cached_property
    def _pure(self) -> float:
        return self._renyi(math.inf)

    # -- one small delta, quickly ------------------------------------------------------------------

    def _quick_epsilon(self, delta: float) -> float | None:
        """For a small delta, where a simple bound finds the best order; None where it may not."""
        orders, level, slope = self._simple_bounds
        if not 0 < delta < SMALL_DELTA or self._pure < math.inf or orders.size < 3:
            return None
        log_delta = math.log(delta)
        epsilon = level - log_delta * slope
        best = min(max(int(epsilon.argmin()), 1), orders.size - 2)
        near = slice(best - 1, best + 2)
        points = list(zip(orders[near].tolist(), epsilon[near].tolist(), strict=True))
        for _ in range(2):
            order = _lowest(*points)
            bound = self._renyi(order) + math.log1p(-1 / order) - (log_delta + math.log(order)) / (order - 1)
            points = sorted([*points, (order, bound)])
            best = 1 if points[1][1] < points[2][1] else 2
            points = points[best - 1 : best + 2]
        order = min(points, key=lambda point: point[1])[0]
        return quick_epsilon(order, self._renyi(order), delta) if order * delta < 0.1 else None

    @cached_property
    def _simple_bounds(self) -> tuple[Array, Array, Array]:
        """Canonne, Kamath and Steinke 2020, Proposition 12: epsilon = level - log(delta) slope."""
        orders, values = self._curve
        usable = (orders > 1) & (values > 0)
        orders, values = orders[usable], values[usable]
        slope = 1 / (orders - 1)
        return orders, values + np.log1p(-1 / orders) - np.log(orders) * slope, slope


def chord(known: Array, values: Array, orders: Array) -> Array:
    """An upper bound between known orders above 1, because (order - 1) * value is convex."""
    bound: Array = np.interp(orders, known, (known - 1) * values) / (orders - 1) * (1 + 2 * EPS)
    return bound


def _lowest(left: tuple[float, float], middle: tuple[float, float], right: tuple[float, float]) -> float:
    """The order where a parabola in log(order - 1) through three points is lowest; between them."""
    (a, x), (b, y), (c, z) = ((math.log(order - 1), bound) for order, bound in (left, middle, right))
    first, second = (y - x) / (b - a), (z - y) / (c - b)
    lowest = (a + b) / 2 - first * (c - a) / (2 * (second - first)) if second > first else b
    inside = a < lowest < c and lowest != b
    return 1 + math.exp(lowest if inside else (a + b) / 2)


def order_grid(renyi: Callable[[float], float]) -> Array:
    """Orders above 1 spread around the scale where the divergence is of order one."""
    scale = 1 / math.sqrt(min(max(renyi(2.0), 1e-24), 1e24))
    grid: Array = np.geomspace(1e-3, 1e3, 60)
    orders: Array = 1 + grid * max(scale, 1e-6)
    return orders
