"""The restricted Kullback-Leibler divergence: sup over a of a . E_P φ - log E_Q e^{a.φ}, with a certificate.

Chaudhuri, Imola and Machanavajjhala 2019, Lemma 1. The dual is the least E_Q[g log g] over densities g with
E_Q[g φ] = E_P φ: g = e^{a.φ} / Z at the optimum. The programme stops near it, multiplies g by one plus a
small bounded function so that all means are met, and reports that g's own divergence.
"""

import math

import numpy as np

from indistinct.adversaries.bracket import Bracket
from indistinct.adversaries.coordinate import Coordinate
from indistinct.adversaries.moments import (
    ROUNDING,
    Measure,
    feature_moments,
    held,
    null_space,
)
from indistinct.numerics.arrays import EPS, Array

_CLOSED = 1e-9
_ROUND_OFF = 1e-7
_INSIDE = 0.05
_FASTEST, _SLOWEST, _LAST_BARRIER = 0.1, 0.95, 1e-10
"""Shares by which the barrier falls from one step to the next, and where it is taken away."""


def _better(one: Bracket, other: Bracket) -> Bracket:
    return Bracket(max(one.low, other.low), min(one.high, other.high))


def linear_kl(place: Coordinate) -> Bracket:
    """Linear functions of one number: sup over a of a E_P x - K(a), K the cumulant of Q."""
    goal, law = place.p.mean, place.q
    if goal == law.mean:
        return Bracket(0.0, 0.0)
    side = math.copysign(1.0, goal - law.mean)

    def value(a: float) -> tuple[float, float]:
        k, slope, _ = law.cumulant(np.float64(a))
        return a * goal - float(k), side * (goal - float(slope))

    # the slope in |a| falls from positive to negative; `low` is before the maximum, `high` beyond it
    most = law.noise.steepest
    low, high = 0.0, min(abs(goal - law.mean) / law.noise.variance * 2 + 1, most)
    while high < most and value(side * high)[1] > 0:
        low, high = high, min(2 * high, most)
    for _ in range(120):
        middle = (low + high) / 2
        if middle in (low, high):
            break
        if value(side * middle)[1] > 0:
            low = middle
        else:
            high = middle
    best, slope = value(side * low)
    # concave: below its tangent
    top = best + slope * (high - low)
    error = ROUNDING * (abs(low * goal) + abs(low * goal - best) + 1e-3 * best)
    return Bracket(max(best - error, 0.0), top + error)


class KullbackProgramme:
    """P and Q with the same features, the constant among them.

    `steep` says that the last feature grows fastest, upwards on both sides, so that its coefficient must not
    be positive.
    """

    def __init__(self, p: Measure, q: Measure, *, steep: bool = False) -> None:
        self.measure = q
        moments = feature_moments(p, q)
        # the constant is the sum of E_Q[φ_j] φ_j over orthonormal φ; it does not matter, so leave it out
        x, log_weight = q.rule(*q.square_extent(), dense=True)
        ones = moments.basis @ q.features(x) @ np.exp(log_weight)
        plane = null_space(ones).T
        self.basis, self.target = plane @ moments.basis, plane @ moments.target
        self.error = np.abs(plane) @ moments.error
        # the orthonormal basis has the fastest feature last
        self._upward = float(np.sign(self.basis[-1, -1])) if steep else 0.0
        self.best = np.zeros(self.target.size)
        """The coefficients found, of the orthonormal features."""

    def divergence(self, smaller: Array | None = None) -> Bracket:
        """Newton's method; from inside the cone, with a barrier that is taken away, where the leading
        coefficient must not be positive. `smaller` solves a class with fewer features: on the cone's
        boundary nothing more is to be had."""
        a = np.zeros(self.target.size)
        if not self._upward:
            self.best = self._newton(a)
            return self._certify(self.best)
        found = Bracket(0.0, math.inf)
        if smaller is not None:
            a[: smaller.size] = smaller
            found, self.best = self._certify(a), a.copy()
        if found.gap < _CLOSED * (1 + found.high):
            return found
        a = np.zeros(self.target.size)
        a[-1] = -_INSIDE * self._upward
        barrier, share, last = 0.1, _FASTEST, math.inf
        while True:
            tried = self._newton(a, barrier)
            this = self._certify(tried)
            if this.low > found.low:
                self.best = tried
            found = _better(found, this)
            if found.gap < _CLOSED * (1 + found.high) or not barrier:
                break
            # the means are met but for the last: what is left open is the barrier, and rounding
            if this.gap < 1.5 * barrier + _ROUND_OFF:
                a, last = tried, barrier
                share = max(share * share, _FASTEST)
            elif last == math.inf:
                share, last = math.sqrt(_FASTEST), 1.0
            else:
                share = math.sqrt(share)
            if share > _SLOWEST:
                break
            barrier = share * last
            if barrier < _LAST_BARRIER:
                barrier = 0.0
        return found

    def solution(self) -> tuple[Array, float]:
        """The coefficients of the best function in the given features, and the divergence, as found."""
        a = self._newton(np.zeros(self.target.size))
        reach = self._reach(a)
        log_z = self._density(a, reach, dense=False)[2] if reach else math.inf
        return a @ self.basis, float(a @ self.target) - log_z

    def _newton(self, a: Array, barrier: float = 0.0) -> Array:
        """To the largest a . E_P φ - log Z + barrier log|a_last|."""
        at, before = self._at(a), math.inf
        for _ in range(200):
            if at is None:
                break
            log_z, mean, spread = at
            slope = self.target - mean
            if barrier:
                slope[-1] += barrier / a[-1]
                spread[-1, -1] += barrier / a[-1] ** 2
            try:
                step = np.linalg.solve(spread + 1e-15 * np.trace(spread) * np.eye(a.size), slope)
            except np.linalg.LinAlgError:
                break
            decrement = float(slope @ step)
            near = decrement < 1e-10
            if not decrement > 1e-28 or (near and decrement >= before):
                break
            before = decrement if near else math.inf
            size, value = 1.0, self._value(a, log_z, barrier)
            while size > 1e-8:
                tried = a + size * step
                there = self._at(tried)
                if there is not None and (
                    near or self._value(tried, there[0], barrier) >= value + 0.1 * size * decrement
                ):
                    break
                size /= 2
            else:
                break
            a, at = tried, there
        return a

    def _value(self, a: Array, log_z: float, barrier: float) -> float:
        wall = barrier * math.log(abs(a[-1])) if barrier else 0.0
        return float(a @ self.target) - log_z + wall

    def _at(self, a: Array) -> tuple[float, Array, Array] | None:
        """log Z with its first two derivatives; nothing where Z is infinite."""
        reach = self._reach(a)
        if reach is None:
            return None
        basis, _, log_z, density = self._density(a, reach, dense=False)
        mean = basis @ density
        return log_z, mean, (basis * density) @ basis.T - np.outer(mean, mean)

    def _reach(self, a: Array) -> tuple[float, float] | None:
        if a[-1] * self._upward > 0:
            return None  # however small: the noise's tails lose in the end
        raw = a @ self.basis
        near = self.measure.extent(lambda features: raw @ features)
        # where the leading coefficient nearly vanishes, a little mass far out holds most of the moments
        far = self.measure.extent(
            lambda features: raw @ features + 2 * np.log1p(np.abs(self.basis @ features).max(axis=0))
        )
        if near is None or far is None:
            return None
        return min(near[0], far[0]), max(near[1], far[1])

    def _density(
        self, a: Array, reach: tuple[float, float], *, dense: bool
    ) -> tuple[Array, Array, float, Array]:
        x, log_weight = self.measure.rule(*reach, dense=dense, exponential=True)
        basis = self.basis @ self.measure.features(x)
        h = a @ basis
        top = float((h + log_weight).max())
        density = np.exp(h + log_weight - top)
        total = float(density.sum())
        log_z = top + math.log(total)
        return basis, h, log_z, density / total

    def _certify(self, a: Array) -> Bracket:
        reach = self._reach(a)
        if reach is None:
            return Bracket(0.0, math.inf)
        try:
            return self._repaired(a, reach)
        except np.linalg.LinAlgError:  # a density on so few places that no correction can be made of it
            return Bracket(0.0, math.inf)

    def _repaired(self, a: Array, reach: tuple[float, float]) -> Bracket:
        coarse = self._density(a, reach, dense=False)
        basis, h, log_z, density = self._density(a, reach, dense=True)
        with_one = np.vstack((np.ones(h.size), basis))
        kept = held(with_one)
        missing = np.append(0.0, self.target - basis @ density)
        if missing[-1] * self._upward > 0:
            # its coefficient is never positive, so that its mean may fall short (weak duality)
            missing[-1] = 0.0
        change = np.linalg.solve(((kept * density) @ with_one.T).T, missing)
        factor = change @ kept
        size = np.abs(basis) @ density
        unseen = np.abs(basis @ density - coarse[0] @ coarse[3]) + ROUNDING * size + self.error
        z_error = abs(log_z - coarse[2]) + ROUNDING
        low = float(a @ self.target) - float(np.abs(a) @ self.error) - log_z - z_error
        if not np.abs(factor).max() < 0.5:
            return Bracket(max(low, 0.0), math.inf)
        log_g = h - log_z + np.log1p(factor)
        repaired = density * (1 + factor)
        value = float(repaired @ log_g)
        dual = np.linalg.solve(((kept * repaired) @ with_one.T).T, np.eye(a.size + 1)[:, 1:])
        bound = 1.1 * np.abs(dual.T @ kept).max(axis=1)
        loose = float(unseen @ bound)
        entropy = float(repaired @ np.abs(log_g))
        high = value + loose * (entropy + 1 + loose) + 2 * z_error + ROUNDING * entropy
        return Bracket(max(low, 0.0), max(high, 0.0) * (1 + 4 * EPS))
