"""Finitely many outcomes with features: a table that stands for a law, or a sample that was drawn from one.

The programmes see a table as they see the line. Only for orders above 2, where |h|^A has corners that a
sum does not smooth out, the dual is solved too: the least Σ q|g|^α with Σ q g φ = E_P φ is smooth there.
"""

import math
from collections.abc import Callable

import numpy as np

from indistinct.adversaries.bracket import Bracket
from indistinct.adversaries.moments import ROUNDING, Rule, log_sum
from indistinct.adversaries.programme import Programme
from indistinct.numerics.arrays import EPS, TINY, Array


class Table:
    """Probabilities of outcomes, and features of these, one a row."""

    all_moments, local = True, False

    def __init__(self, probability: Array, features: Array) -> None:
        seen = probability > 0
        self._features = features[:, seen]
        self._log = np.log(probability[seen])

    @property
    def named(self) -> tuple[int, ...]:
        return self._features.shape

    def features(self, x: Array) -> Array:
        chosen: Array = self._features[:, x.astype(np.intp)]
        return chosen

    def log_density(self, x: Array) -> Array:
        chosen: Array = self._log[x.astype(np.intp)]
        return chosen

    def zeros(self, coefficients: Array, low: float, high: float) -> Array:
        return np.zeros(0)

    def peaks(self, coefficients: Array) -> Array:
        return np.zeros(0)

    def extent(
        self, log_size: Callable[[Array], Array], cuts: Array | None = None, ceiling: float = math.inf
    ) -> tuple[float, float]:
        return 0.0, float(self._log.size)

    def square_extent(self) -> tuple[float, float]:
        return 0.0, float(self._log.size)

    def rule(
        self,
        low: float,
        high: float,
        zeros: Array | None = None,
        *,
        dense: bool = False,
        exponential: bool = False,
    ) -> Rule:
        return Rule(np.arange(self._log.size, dtype=np.float64), self._log)


class TableProgramme:
    """The restricted Rényi divergence of two tables with the same features."""

    def __init__(self, p: Table, q: Table) -> None:
        self._primal = Programme(p, q)
        moments = self._primal.moments
        self._basis = moments.basis @ q.features(q.rule(0.0, 0.0).x)
        self._weight = np.exp(q.rule(0.0, 0.0).log_weight)
        self._target, self._error = moments.target, moments.error

    def renyi(self, order: float) -> Bracket:
        found = self._primal.renyi(order)
        if order <= 2 or found.gap < 1e-9:
            return found
        other = self._dual(order)
        return Bracket(max(found.low, other.low), min(found.high, other.high))

    def solution(self, order: float) -> tuple[Array, float]:
        """The coefficients of the best function, and the divergence."""
        coefficients, high = self._primal.solution(order)
        return coefficients, high if order <= 2 else min(high, self._dual(order).high)

    def _dual(self, order: float) -> Bracket:
        """Newton's method among the functions that meet the means, so that each is a certificate."""
        basis, weight, power = self._basis, self._weight, order / (order - 1)
        g = self._target @ basis
        a = self._target
        norm = self._log_norm(g, order)
        floor = math.exp(-18 / (order - 2))  # curvatures within a factor of e^18
        for _ in range(200):
            size = np.maximum(np.abs(g), floor * np.abs(g).max())
            log_bend = (order - 2) * np.log(size)
            bend = np.exp(log_bend - log_bend.max())
            curve = weight * bend
            slope = weight * np.sign(g) * np.exp((order - 1) * np.log(np.abs(g) + 1e-300) - log_bend.max())
            # the step that keeps E[gφ]: minimise the quadratic model under the constraint
            spread = (basis * (weight * weight / curve)) @ basis.T
            multiplier = np.linalg.solve(spread, basis @ (weight * slope / curve))
            step = (weight * (multiplier @ basis) - slope) / curve / (order - 1)
            a = multiplier
            length = 1.0
            while length > 1e-10:
                tried = g + length * step
                tried += (self._target - basis @ (weight * tried)) @ basis
                at = self._log_norm(tried, order)
                if at < norm:
                    break
                length /= 2
            else:
                break
            done = norm - at < 1e-15 * max(1.0, abs(norm))
            g, norm = tried, at
            if done:
                break
        with np.errstate(divide="ignore"):
            log_v = log_sum(power * np.log(np.abs(a @ basis)) + np.log(weight))
        reached = float(a @ self._target) - float(np.abs(a) @ self._error)
        high, low = self._bound(g, order), 0.0
        if reached > 0:
            log_reached = power * math.log(reached)
            low = log_reached - log_v - ROUNDING * (1 + abs(log_reached) + abs(log_v))
        return Bracket(max(min(low, high), 0.0), high)

    def _bound(self, g: Array, order: float) -> float:
        """What any g bounds, once the means that it misses are put in: the features are orthonormal."""
        norm = self._log_norm(g, order) + ROUNDING
        missing = np.abs(self._target - self._basis @ (self._weight * g)) + self._error
        missing += ROUNDING * (np.abs(self._basis) @ (self._weight * np.abs(g)))
        slack = 1.01 * float(missing @ np.abs(self._basis).max(axis=1))
        high = order / (order - 1) * float(np.logaddexp(norm, math.log(slack + TINY))) + ROUNDING
        return math.inf if math.isnan(high) else max(high, 0.0) * (1 + 4 * EPS)

    def _log_norm(self, g: Array, order: float) -> float:
        with np.errstate(divide="ignore"):
            return log_sum(order * np.log(np.abs(g)) + np.log(self._weight)) / order
