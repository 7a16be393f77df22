"""Finitely many outcomes with features, at orders above 2: the dual problem, solved as it is.

There |h|^A has corners that a sum over outcomes does not smooth out, but the dual is smooth: the least
Σ q|g|^α over all g with Σ q g φ = E_P φ. Every such g is a certificate.
"""

import math

import numpy as np

from indistinct.adversaries.solvers.bracket import Bracket
from indistinct.adversaries.solvers.moments import log_power
from indistinct.adversaries.solvers.newton import Slope, newton
from indistinct.adversaries.solvers.quadrature import ROUNDING, Outcomes
from indistinct.adversaries.solvers.renyi import CLOSED, RenyiProgramme
from indistinct.numerics.arrays import EPS, TINY, Array

_CURVED = 18.0
"""Curvatures are kept within a factor of e^this of the largest."""


class TableProgramme:
    """The restricted Rényi divergence of two tables with the same features."""

    def __init__(self, p: Outcomes, q: Outcomes) -> None:
        self.primal = RenyiProgramme(p, q)
        moments, (x, log_weight) = self.primal.moments, q.rule(q.square_extent())
        self._basis = moments.basis @ q.features(x)
        self._weight, self._log_weight = np.exp(log_weight), log_weight
        self._target, self._error = moments.target, moments.error

    def renyi(self, order: float) -> Bracket:
        found = self.primal.renyi(order)
        return found if order <= 2 or found.gap < CLOSED else found.narrowed(self._dual(order))

    def solution(self, order: float) -> tuple[Array, float]:
        """The coefficients of the best function in the given features, and the divergence, at most."""
        best = self.primal.search.propose(order / (order - 1))
        return best @ self.primal.moments.basis, self.renyi(order).high

    def _dual(self, order: float) -> Bracket:
        """The norm of g is made small among the functions that meet the means."""
        basis, weight = self._basis, self._weight
        floor = math.exp(-_CURVED / (order - 2))
        a = self._target

        def look(g: Array) -> Slope | None:
            nonlocal a
            top = float(np.abs(g).max())
            share = np.abs(g) / top
            slope = weight * np.sign(g) * share ** (order - 1)
            curve = weight * np.maximum(share, floor) ** (order - 2)
            # the step that keeps E[gφ]: least for the quadratic model under that constraint
            try:
                spread = np.linalg.inv((basis * (weight * weight / curve)) @ basis.T)
            except np.linalg.LinAlgError:
                return None
            total = float(slope @ g)
            a = spread @ (basis @ (weight * slope / curve))

            def undo(left: Array) -> Array:
                free = left * total / curve
                held_back = weight * ((spread @ (basis @ (weight * free))) @ basis) / curve
                return (free - held_back) * (top / (order - 1))

            return Slope(slope / total, undo, self._log_norm(g, order))

        def move(g: Array, step: Array) -> Array:
            return self._meeting(g + step)

        g = newton(look, self._start(order), enough=0.0, move=move, most=200)
        look(g)
        return Bracket(min(self._lower(a, order), high := self.judge(g, order)), high)

    def _start(self, order: float) -> Array:
        """By duality g goes with the best h as |h|^(A-1), with its sign and so that h is seen as it is."""
        power = order / (order - 1)
        h = self.primal.search.propose(power) @ self._basis
        if not np.isfinite(h).all() or not h.any():
            return np.asarray(self._target @ self._basis)
        share = np.abs(h) / np.abs(h).max()
        g = np.sign(h) * share ** (power - 1) * (1 / float(self._weight @ (share**power * np.abs(h).max())))
        return self._meeting(g)

    def _meeting(self, g: Array) -> Array:
        """g with the means that it misses put in."""
        return np.asarray(g + (self._target - self._basis @ (self._weight * g)) @ self._basis)

    def _lower(self, a: Array, order: float) -> float:
        """What the function a . φ shows."""
        power = order / (order - 1)
        log_v = log_power(a @ self._basis, power, self._log_weight)
        reached = float(a @ self._target) - float(np.abs(a) @ self._error)
        if not reached > 0:
            return 0.0
        log_reached = power * math.log(reached)
        return max(log_reached - log_v - ROUNDING * (1 + abs(log_reached) + abs(log_v)), 0.0)

    def judge(self, g: Array, order: float) -> float:
        """What any g bounds, once the means that it misses are put in: the features are orthonormal."""
        norm = self._log_norm(g, order) + ROUNDING
        missing = np.abs(self._target - self._basis @ (self._weight * g)) + self._error
        missing += ROUNDING * (np.abs(self._basis) @ (self._weight * np.abs(g)))
        slack = 1.01 * float(missing @ np.abs(self._basis).max(axis=1))
        high = order / (order - 1) * float(np.logaddexp(norm, math.log(slack + TINY))) + ROUNDING
        return math.inf if math.isnan(high) else max(high, 0.0) * (1 + 4 * EPS)

    def _log_norm(self, g: Array, order: float) -> float:
        return log_power(g, order, self._log_weight) / order
