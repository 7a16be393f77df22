"""Every reading of a guarantee that is known by its Rényi divergences alone.

All divergences count together, at every order that is stated (`conversion`), or, where the curve is known at
all orders, at those that decide: an upper bound holds for any of them.
"""

import math
from functools import cached_property

import numpy as np

from indistinct.guarantees.coins import RenyiClaim, falling_line, fixed_p, fixed_q, rising_line
from indistinct.guarantees.conversion import Claims, DeltaAt, EpsilonAt, Request
from indistinct.guarantees.readings import Readings
from indistinct.numerics.arrays import EPS, TINY, Array

_FURTHEST = 1e8
_ROUNDING = 16 * EPS


class RenyiReadings(Readings):
    """Delta, epsilon and the trade-off from `_renyi` at its `orders`."""

    everywhere: bool = True
    """Whether the curve says more between its `orders` than they do."""

    def _delta(self, epsilon: Array) -> Array:
        return self._delta_interval(epsilon)[1]

    def _epsilon(self, delta: Array) -> Array:
        return self._epsilon_interval(delta)[1]

    def _delta_interval(self, epsilon: Array) -> tuple[Array, Array]:
        """Bounds of the delta that the claims imply, the best there is."""
        low, high = self._answers([DeltaAt(at) for at in np.minimum(epsilon, _FURTHEST).tolist()])
        if self._curve[0][-1] > 1:  # a finite divergence: nothing is given away
            low, high = (np.where(np.isinf(epsilon), 0.0, end) for end in (low, high))
        return low, high

    def _epsilon_interval(self, delta: Array) -> tuple[Array, Array]:
        """Bounds of the epsilon that the claims imply."""
        low, high = self._answers([EpsilonAt(at) for at in np.clip(delta, TINY, 1 - EPS).tolist()])
        none, all_ = delta < TINY, delta >= 1
        low, high = (np.where(none, self._pure, np.where(all_, 0.0, end)) for end in (low, high))
        return low, high

    def _answers(self, requests: list[Request]) -> tuple[Array, Array]:
        if self._silent:
            return np.zeros(len(requests)), np.zeros(len(requests))
        low, high = np.array([self._region.answer(request) for request in requests]).reshape(-1, 2).T
        return low, high

    def _tradeoff(self, fpr: Array) -> Array:
        fnr = [self._errors(x, 1 - x)[1] for x in fpr.tolist()]
        return np.clip(fnr, 0.0, 1 - fpr)

    def _highest(self, p: Array) -> Array:
        return np.clip([self._errors(x, 1 - x)[0] for x in p.tolist()], p, 1.0)

    def _log_factor(self, p: Array) -> Array:
        with np.errstate(divide="ignore", invalid="ignore"):
            factor = np.log(p) - np.log([self._errors(1 - x, x)[1] for x in p.tolist()])
        factor = np.where(factor > 0, factor * (1 + _ROUNDING) + _ROUNDING, 0.0)
        return np.where(p > 0, factor, self._pure)

    def _tail(self, t: Array) -> Array:
        return np.array([self._power(0.0, factor) for factor in t.tolist()])

    def _power(self, start: float, log_slope: float) -> float:
        """The largest p of coins on the line p = start + e^log_slope q, where that leaves the region: start
        is at most 0. Beyond p + q = 1 the same line is followed with both sides swapped."""
        slope, limit = math.exp(min(log_slope, 700.0)), math.exp(min(self._pure, 700.0))
        rest = 1 - (1 - start) / slope
        if self._silent or rest <= 0:  # it does not pass p = q before p = 1
            return 0.0 if rest > 0 else 1.0
        end = math.log((1 - start) / (1 + slope))
        most = math.log(-start / (slope - limit)) if slope > limit and start < 0 else end
        place = self._region.leave(rising_line(start, log_slope), min(most, end))
        if place < end:
            return min((start + math.exp(place + log_slope)) * (1 + _ROUNDING * (1 + log_slope)), 1.0)
        path = falling_line(rest, -log_slope, math.log((1 + slope) / (1 - start)))
        place = self._region.leave(path, math.log((limit - 1 / slope) / rest))
        return min(-math.expm1(-place) * (1 + _ROUNDING), 1.0)

    def _errors(self, x: float, rest: float) -> tuple[float, float]:
        """The largest p that coins with q = x have, and the smallest 1 - p, to the digits of either; `rest`
        is 1 - x. The region, read upwards: Corollary 1 (eq. 48) of *Three Variants*. It is the same with
        both sides swapped, so that where p + q would be more than 1 it is read at p = 1 - x.
        """
        if x == 0 or rest == 0 or self._silent:
            power = float(self._delta(np.array([math.inf]))[0]) if x == 0 else x
            return power, 1 - power if x == 0 else rest
        least = -700.0
        if x < rest:
            log_x = math.log(x)
            least = math.log(math.log(rest) - log_x)
            place = self._region.leave(fixed_q(log_x), min(least, math.log(self._pure)))
            if place < least:
                p = x * math.exp(math.exp(place)) * (1 + _ROUNDING * (1 - log_x))
                return p, 1 - p
        end = math.log(min(self._pure, _FURTHEST))
        place = self._region.leave(fixed_p(math.log(rest), least), end)
        fnr = rest * math.exp(-math.exp(place)) * (1 - _ROUNDING * (1 - math.log(rest)))
        return 1 - fnr, fnr if place < end or self._pure < _FURTHEST else 0.0

    @property
    def _silent(self) -> bool:
        return self._pure == 0 or not self._curve[1].all()

    @cached_property
    def _region(self) -> Claims:
        listed = zip(*(side.tolist() for side in self._curve), strict=True)
        claims = sorted(RenyiClaim.of(order, value) for order, value in listed)
        return Claims(claims, self._pure, self._renyi if self.everywhere else None)

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
