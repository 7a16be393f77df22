"""Every reading of a guarantee that is known by its Rényi divergences alone.

All divergences count together, at every order that is stated (`conversion`). Where the curve is known at all
orders, some are read, and more of them around those that decide: an upper bound holds for any of them.
"""

import math
from abc import abstractmethod
from collections.abc import Callable
from functools import cached_property

import numpy as np

from indistinct.guarantees.conversion import CLOSED, Claims, DeltaAt, EpsilonAt, Request, renyi_tradeoff
from indistinct.guarantees.readings import Readings
from indistinct.numerics.arrays import EPS, TINY, Array

_ROUNDS, _POINTS = 3, 17
"""Of closing in on the orders that decide, each by a factor of eight."""
_ROUGH = 1e-7
"""How well the answer must be known to tell which orders those are."""
_FURTHEST = 1e9


class RenyiReadings(Readings):
    """Delta, epsilon and the trade-off from `_renyi` at its `orders`."""

    everywhere: bool = True
    """Whether the curve says more between its `orders` than they do."""

    @abstractmethod
    def orders(self) -> Array:
        """Finite orders, increasing, at which the curve is worth reading."""

    def _delta(self, epsilon: Array) -> Array:
        return self._delta_interval(epsilon)[1]

    def _epsilon(self, delta: Array) -> Array:
        return self._epsilon_interval(delta)[1]

    def _delta_interval(self, epsilon: Array) -> tuple[Array, Array]:
        """Bounds of the delta that the claims imply, the best there is."""
        return self._interval(DeltaAt(np.minimum(epsilon, _FURTHEST)))

    def _epsilon_interval(self, delta: Array) -> tuple[Array, Array]:
        """Bounds of the epsilon that the claims imply."""
        low, high = self._interval(EpsilonAt(np.clip(delta, TINY, 1 - EPS)))
        none, all_ = delta < TINY, delta >= 1
        low, high = (np.where(none, self._pure, np.where(all_, 0.0, end)) for end in (low, high))
        return low, high

    def _interval(self, request: Request) -> tuple[Array, Array]:
        rows = request[0].size
        orders, values = self._curve
        if self._pure == 0 or not values.all():
            return np.zeros(rows), np.zeros(rows)
        closed = _ROUGH if self.everywhere else CLOSED
        low, high, corner = Claims(orders, values, self._pure).answer(request, closed=closed)
        if not self.everywhere:
            return low, high
        close = self._neighbours(*(line.order for line in corner))
        for left in reversed(range(_ROUNDS)):
            orders, closed = _spread(*close), _ROUGH if left else CLOSED
            claims = Claims(orders, self._renyi_at(orders), self._pure)
            _, new, corner = claims.answer(request, corner, closed)
            high, close = np.minimum(high, new), _closer(*close, *(line.order for line in corner))
        # coins were looked at by some orders only, and may break the claims at others
        return np.zeros(rows), high

    def _tradeoff(self, fpr: Array) -> Array:
        result, best = renyi_tradeoff(*self._curve, self._pure, fpr)
        close = self._neighbours(best, best)
        for _ in range(_ROUNDS if self.everywhere else 0):
            orders = _spread(*close)
            found, best = renyi_tradeoff(orders, self._renyi_at(orders), self._pure, fpr)
            result, close = np.maximum(result, found), _closer(*close, best, best)
        return np.clip(result, 0.0, 1 - fpr)

    def _neighbours(self, one: Array, two: Array) -> tuple[Array, Array]:
        """The orders next to the two that decide, as logarithms of order - 1."""
        logs = _log_above(self._curve[0])
        low, high = (_log_above(f(one, two)) for f in (np.fmin, np.fmax))
        first, last = np.searchsorted(logs, low) - 1, np.searchsorted(logs, high, side="right")
        return logs[np.clip(first, 0, logs.size - 1)], logs[np.clip(last, 0, logs.size - 1)]

    @cached_property
    def _curve(self) -> tuple[Array, Array]:
        orders = self.orders()
        values = self._renyi_at(orders)
        known = np.isfinite(values)
        # if nothing else is known, what a claim of infinite order says of order 2
        return (orders[known], values[known]) if known.any() else (np.array([2.0]), np.array([self._pure]))

    @cached_property
    def _pure(self) -> float:
        return self._renyi(math.inf)


def _log_above(orders: Array) -> Array:
    logs: Array = np.log(np.maximum(np.where(np.isnan(orders), 2.0, orders) - 1, 1e-6))
    return logs


def _spread(low: Array, high: Array) -> Array:
    orders: Array = 1 + np.exp(np.linspace(low, high, _POINTS, axis=1))
    return orders


def _closer(low: Array, high: Array, one: Array, two: Array) -> tuple[Array, Array]:
    """One step of the orders just read around the two that decide."""
    step = (high - low) / (_POINTS - 1)
    new = _log_above(np.fmin(one, two)) - step, _log_above(np.fmax(one, two)) + step
    return np.clip(new[0], low, high), np.clip(new[1], low, high)


def order_grid(renyi: Callable[[float], float]) -> Array:
    """Orders above 1 spread around the scale where the divergence is of order one."""
    scale = 1 / math.sqrt(min(max(renyi(2.0), 1e-24), 1e24))
    grid: Array = np.geomspace(1e-3, 1e3, 60)
    orders: Array = 1 + grid * max(scale, 1e-6)
    return orders
