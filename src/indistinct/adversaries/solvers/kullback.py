"""The restricted Kullback-Leibler divergence: sup over a of a . E_P φ - log E_Q e^{a.φ}.

Chaudhuri, Imola and Machanavajjhala 2019, Lemma 1. Searches propose an exponent a.φ, and
`kullback_certificate` says what it proves.
"""

import math

import numpy as np

from indistinct.adversaries.solvers.bracket import UNKNOWN, Bracket
from indistinct.adversaries.solvers.far_peaks import PeakSearch
from indistinct.adversaries.solvers.kullback_certificate import ExponentialFamily
from indistinct.adversaries.solvers.laws import ReleasedNumber
from indistinct.adversaries.solvers.newton import Slope, add, inverse_of, newton
from indistinct.adversaries.solvers.quadrature import ROUNDING, Measure
from indistinct.numerics.arrays import Array

_CLOSED = 1e-9
"""A gap, relative to 1 + the divergence, for which no other search is tried."""
_ENOUGH = 1e-14
"""What may be missing of the means of features of unit size."""
_ROUND_OFF = 1e-7
"""A gap that is not the barrier's doing."""
_INSIDE = 0.05
"""How far inside the cone of allowed coefficients the search begins."""
_FIRST_BARRIER, _LAST_BARRIER = 0.1, 1e-10
_FASTEST, _SLOWEST = 0.1, 0.95
"""Shares by which the barrier falls from one step to the next."""


def linear_kl(number: ReleasedNumber) -> Bracket:
    """Linear functions of one number: sup over a of a E_P x - K(a), K the cumulant of Q."""
    goal, law = number.p.mean, number.q
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
    while (middle := (low + high) / 2) not in (low, high):
        low, high = (middle, high) if value(side * middle)[1] > 0 else (low, middle)
    best, slope = value(side * low)
    # concave: below its tangent
    top = best + slope * (high - low)
    error = ROUNDING * (abs(low * goal) + abs(low * goal - best) + 1e-3 * best)
    return Bracket(max(best - error, 0.0), top + error)


class KullbackProgramme:
    """P and Q with the same features, the constant among them."""

    def __init__(self, p: Measure, q: Measure, *, steep: bool = False) -> None:
        self.family = ExponentialFamily(p, q, steep=steep)
        self.best = np.zeros(self.family.target.size)
        """The coefficients found, of the orthonormal features."""

    def divergence(self, smaller: Array | None = None) -> Bracket:
        """Newton's method; from inside the cone, with a barrier that is taken away, where the leading
        coefficient must not be positive. `smaller` solves a class with fewer features: on the cone's
        boundary nothing more is to be had."""
        family, found = self.family, UNKNOWN
        if not family.upward:
            self.best = self._descend(self.best)
            return family.judge(self.best)
        if smaller is not None:
            self.best[: smaller.size] = smaller
            found = family.judge(self.best)
        a = np.zeros(family.target.size)
        a[-1] = -_INSIDE * family.upward
        barrier, share, last, failed = _FIRST_BARRIER, _FASTEST, math.inf, False
        search = PeakSearch(family)
        while not found.gap < _CLOSED * (1 + found.high):
            tried = self._descend(a, barrier) if last == math.inf else search.propose(a, barrier)
            this = family.judge(tried)
            if this.low > found.low:
                self.best = tried
            found = found.narrowed(this)
            # the means are met but for the last: what is left open is the barrier, and rounding
            if this.gap < 1.5 * barrier + _ROUND_OFF:
                a, last = tried, barrier
                share = share if failed else max(share * share, _FASTEST)
                failed = False
            elif last == math.inf:
                share, last = math.sqrt(_FASTEST), 1.0
            else:
                share, failed = math.sqrt(share), True
            if share > _SLOWEST or not barrier:
                break
            barrier = share * last if share * last > _LAST_BARRIER else 0.0
        return found

    def solution(self) -> tuple[Array, float]:
        """The coefficients of the best function in the given features, and the divergence, at most."""
        found = self.divergence()
        return self.best @ self.family.basis, found.high

    def _descend(self, a: Array, barrier: float = 0.0) -> Array:
        """To the largest a . E_P φ - log Z + barrier log|a_last|. Slopes judge a step and not values, which
        do not see a peak of mass 1e-12 that makes up a moment."""

        def look(a: Array) -> Slope | None:
            reach = self.family.reach(a)
            if reach is None:
                return None
            _, basis, _, density = self.family.density(a, reach)
            left, bend, _ = self.family.slope(a, basis, density, barrier)
            undo = inverse_of(bend)
            return None if undo is None else Slope(left, undo, value=0.0)

        return newton(look, a, enough=_ENOUGH, move=add, most=200)
