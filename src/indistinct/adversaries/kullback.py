"""The restricted Kullback-Leibler divergence: sup over a of a . E_P φ - log E_Q e^{a.φ}, with a certificate.

Chaudhuri, Imola and Machanavajjhala 2019, Lemma 1. The dual is the least E_Q[g log g] over densities g with
E_Q[g φ] = E_P φ: g = e^{a.φ} / Z at the optimum. The programme stops near it, multiplies g by one plus a
small bounded function so that all means are met, and reports that g's own divergence.
"""

import math
from typing import NamedTuple

import numpy as np

from indistinct.adversaries.bracket import Bracket
from indistinct.adversaries.coordinate import Coordinate
from indistinct.adversaries.far_peaks import PeakSearch
from indistinct.adversaries.moments import (
    ROUNDING,
    Measure,
    Reach,
    feature_moments,
    held,
    null_space,
)
from indistinct.numerics.arrays import EPS, Array

_CLOSED = 1e-9
_ROUND_OFF = 1e-7
_INSIDE = 0.05
_RIDGE = 1e-14
_MOST_STEPS = 200
_NOTHING = 1e-28
"""A Newton decrement that is rounding."""
_FASTEST, _SLOWEST, _LAST_BARRIER = 0.1, 0.95, 1e-10
"""Shares by which the barrier falls from one step to the next, and where it is taken away."""


class _Density(NamedTuple):
    """Features and orthonormal features at nodes, log Z, and the share of each node in Z."""

    features: Array
    basis: Array
    log_z: float
    density: Array


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
        plane[np.abs(plane) < _RIDGE] = 0.0  # no feature takes up a trace of a faster one
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
        barrier, share, last, failed = 0.1, _FASTEST, math.inf, False
        search = PeakSearch(self.measure, self.basis, self.target, self._reach)
        while True:
            tried = self._newton(a, barrier) if last == math.inf else search.solve(a, barrier)
            this = self._certify(tried)
            if this.low > found.low:
                self.best = tried
            found = _better(found, this)
            if found.gap < _CLOSED * (1 + found.high) or not barrier:
                break
            # the means are met but for the last: what is left open is the barrier, and rounding
            if this.gap < 1.5 * barrier + _ROUND_OFF:
                a, last = tried, barrier
                share = share if failed else max(share * share, _FASTEST)
                failed = False
            elif last == math.inf:
                share, last = math.sqrt(_FASTEST), 1.0
            else:
                share, failed = math.sqrt(share), True
            if share > _SLOWEST:
                break
            barrier = share * last
            if barrier < _LAST_BARRIER:
                barrier = 0.0
        return found

    def solution(self) -> tuple[Array, float]:
        """The coefficients of the best function in the given features, and the divergence, at most."""
        a = self._newton(np.zeros(self.target.size))
        return a @ self.basis, self._certify(a).high

    def _newton(self, a: Array, barrier: float = 0.0) -> Array:
        """To the largest a . E_P φ - log Z + barrier log|a_last|. Slopes judge a step and not values, which
        do not see a peak of mass 1e-12 that makes up a moment."""
        at, before = self._at(a, barrier), math.inf
        for _ in range(_MOST_STEPS):
            if at is None:
                break
            slope, spread = at
            unit = np.sqrt(np.diag(spread))
            if not (unit > 0).all():
                break
            try:
                step = np.linalg.solve(spread / np.outer(unit, unit) + _RIDGE * np.eye(a.size), slope / unit)
            except np.linalg.LinAlgError:
                break
            step /= unit
            decrement = float(slope @ step)
            if not decrement > _NOTHING or (decrement < 1e-20 and decrement >= before):
                break
            before = decrement
            size = 1.0
            while size > 1e-8:
                there = self._at(a + size * step, barrier)
                left = -math.inf if there is None else float(there[0] @ step)
                if left >= -0.5 * decrement:
                    break
                size *= min(max(decrement / (decrement - left), 0.1), 0.7)
            else:
                break
            a, at = a + size * step, there
        return a

    def _at(self, a: Array, barrier: float) -> tuple[Array, Array] | None:
        """The slope of what is made large, and how it falls; nothing where Z is infinite."""
        reach = self._reach(a)
        if reach is None:
            return None
        _, basis, _, density = self._density(a, reach, dense=False)
        mean = basis @ density
        centred = basis - mean[:, None]
        slope, spread = self.target - mean, (centred * density) @ centred.T
        if barrier:
            slope[-1] += barrier / a[-1]
            spread[-1, -1] += barrier / a[-1] ** 2
        return slope, spread

    def _reach(self, a: Array, ceiling: float = math.inf) -> Reach | None:
        if a[-1] * self._upward > 0:
            return None  # however small: the noise's tails lose in the end
        raw = a @ self.basis
        cuts = self.measure.peaks(raw)
        near = self.measure.extent(lambda features: raw @ features, cuts, ceiling)
        # where the leading coefficient nearly vanishes, a little mass far out holds most of the moments
        far = self.measure.extent(
            lambda features: raw @ features + 2 * np.log1p(np.abs(self.basis @ features).max(axis=0)), cuts
        )
        if near is None or far is None:
            return None
        return Reach(min(near[0], far[0]), max(near[1], far[1]), cuts)

    def _density(self, a: Array, reach: Reach, *, dense: bool) -> _Density:
        x, log_weight = self.measure.rule(*reach, dense=dense, exponential=True)
        features = self.measure.features(x)
        basis = self.basis @ features
        h = a @ basis
        top = float((h + log_weight).max())
        density = np.exp(h + log_weight - top)
        total = float(density.sum())
        return _Density(features, basis, top + math.log(total), density / total)

    def _certify(self, a: Array) -> Bracket:
        reach = self._reach(a)
        if reach is None:
            return Bracket(0.0, math.inf)
        try:
            return self._repaired(a, reach)
        except np.linalg.LinAlgError:  # a density on so few places that no correction can be made of it
            return Bracket(0.0, math.inf)

    def _repaired(self, a: Array, reach: Reach) -> Bracket:
        """With g = e^{h - log Z} (1 + factor) (1 + rest), where the factor puts in what is seen to be missing
        and the rest what is not, the means are met, so that

            E_Q[g log g] = a . E_P φ - log Z + E[g log(1 + factor)] + E[g log(1 + rest)]:

        the rest, whose mean is nearly 0, counts by its square only."""
        rough = self._density(a, reach, dense=False)
        fine = self._density(a, reach, dense=True)
        density, log_z = fine.density, fine.log_z
        # rounding of h is a relative error of the density
        rounding = ROUNDING * (1 + np.abs(a @ self.basis) @ np.abs(fine.features)) * density
        z_error = abs(log_z - rough.log_z) + float(rounding.sum())
        reached = float(a @ self.target) - log_z
        error = float(np.abs(a) @ (self.error + ROUNDING * np.abs(self.target))) + ROUNDING * abs(log_z)
        low = max(reached - error - z_error, 0.0)
        missing = np.append(0.0, self.target - fine.basis @ density)
        left = 0.0
        if missing[-1] * self._upward > 0:
            # its coefficient is never positive, so that its mean may fall short (weak duality)
            left, missing[-1] = abs(float(a[-1] * missing[-1])), 0.0
        root, white = _white(fine.basis, density)
        kept = held(white)
        share = np.linalg.solve(((kept * density) @ white.T).T, root @ missing)
        factor = share @ kept
        largest = 1.1 * float(np.abs(factor).max())
        if not largest < 0.5:
            return Bracket(low, math.inf)
        repaired = density * (1 + factor)
        rough_white = root @ _with_one(rough.basis)
        rough_factor = share @ held(rough_white)
        if not np.abs(rough_factor).max() < 0.5:
            return Bracket(low, math.inf)
        rough_repaired = rough.density * (1 + rough_factor)
        with_one = _with_one(fine.basis)
        # means as they should be by now, what a finer rule changes of them, and rounding
        unseen = np.abs(with_one @ repaired - with_one @ density - missing)
        unseen += np.abs(with_one @ repaired - _with_one(rough.basis) @ rough_repaired)
        unseen += 2 * np.abs(with_one) @ rounding + np.append(z_error, self.error)
        dual = np.linalg.solve(((kept * repaired) @ white.T).T, root).T @ kept
        rest = float(unseen @ (1.1 * np.abs(dual).max(axis=1)))
        if not rest < 0.5:
            return Bracket(low, math.inf)
        gain, rough_gain = (
            float(r @ np.log1p(f)) for r, f in ((repaired, factor), (rough_repaired, rough_factor))
        )
        more = (
            max(gain, 0.0) + abs(gain - rough_gain) + rest * 2 * largest + 2 * float(unseen[0]) + rest * rest
        )
        high = max(reached + error + left + more, 0.0) * (1 + 4 * EPS)
        return Bracket(low, math.inf if math.isnan(high) else high)


def _with_one(basis: Array) -> Array:
    return np.vstack((np.ones(basis.shape[1]), basis))


def _white(basis: Array, density: Array) -> tuple[Array, Array]:
    """What makes the constant and the features orthonormal under a density, and these made so."""
    with_one = _with_one(basis)
    gram = (with_one * density) @ with_one.T
    unit = 1 / np.sqrt(np.diag(gram))
    root = np.linalg.inv(np.linalg.cholesky(gram * np.outer(unit, unit))) * unit
    return root, root @ with_one
