"""The certificate of a restricted Kullback-Leibler divergence: what any exponent h = a.φ proves.

The dual problem asks for the least E_Q[g log g] over densities g with E_Q[g φ] = E_P φ; e^h / Z nearly is
one. It is multiplied by one plus small bounded functions so that all means are met, and its own divergence
is what is claimed.
"""

import math
from typing import NamedTuple

import numpy as np

from indistinct.adversaries.solvers.bracket import UNKNOWN, Bracket
from indistinct.adversaries.solvers.moments import feature_moments, held, null_space
from indistinct.adversaries.solvers.quadrature import ROUNDING, Measure, Reach
from indistinct.numerics.arrays import EPS, Array

_TRACE = 1e-14
"""Shares of a feature in a mix of features that are rounding."""
_LARGEST = 0.5
"""A density may change by this factor, at most, to meet its means."""


class _Density(NamedTuple):
    """Features and orthonormal features at nodes, log Z, and the share of each node in Z."""

    features: Array
    basis: Array
    log_z: float
    density: Array


class ExponentialFamily:
    """The densities e^{a.φ} / Z under Q, φ the features but for the constant, and the means of φ under P.

    `steep` says that the last feature grows fastest, upwards on both sides, so that its coefficient must not
    be positive.
    """

    def __init__(self, p: Measure, q: Measure, *, steep: bool = False) -> None:
        self.measure = q
        moments = feature_moments(p, q)
        # the constant is the sum of E_Q[φ_j] φ_j over orthonormal φ; it does not matter, so leave it out
        x, log_weight = q.rule(q.square_extent(), dense=True)
        plane = null_space(moments.basis @ q.features(x) @ np.exp(log_weight)).T
        plane[np.abs(plane) < _TRACE] = 0.0  # no feature takes up a trace of a faster one
        self.basis, self.target = plane @ moments.basis, plane @ moments.target
        self.error = np.abs(plane) @ moments.error
        # the orthonormal basis has the fastest feature last
        self.upward = float(np.sign(self.basis[-1, -1])) if steep else 0.0

    def reach(self, a: Array, ceiling: float = math.inf) -> Reach | None:
        """Where e^h matters, and where to cut; nothing where Z is infinite."""
        if a[-1] * self.upward > 0:
            return None  # however small: the noise's tails lose in the end
        raw = a @ self.basis
        cuts = self.measure.peaks(raw)
        near = self.measure.extent(lambda features: raw @ features, cuts, ceiling)
        # where the leading coefficient nearly vanishes, a little mass far out holds most of the moments
        far = self.measure.extent(
            lambda features: raw @ features + 2 * np.log1p(np.abs(self.basis @ features).max(axis=0)), cuts
        )
        return None if near is None or far is None else near.and_to(far, cuts)

    def density(self, a: Array, reach: Reach, *, dense: bool = False) -> _Density:
        x, log_weight = self.measure.rule(reach, dense=dense, exponential=True)
        features = self.measure.features(x)
        basis = self.basis @ features
        h = a @ basis
        top = float((h + log_weight).max())
        density = np.exp(h + log_weight - top)
        total = float(density.sum())
        return _Density(features, basis, top + math.log(total), density / total)

    def slope(self, a: Array, basis: Array, density: Array, barrier: float) -> tuple[Array, Array, Array]:
        """The slope and the bend of log Z - a . E_P φ - barrier log|a_last|, and the features less means."""
        mean = basis @ density
        centred = basis - mean[:, None]
        slope, bend = mean - self.target, (centred * density) @ centred.T
        if barrier:
            slope[-1] -= barrier / a[-1]
            bend[-1, -1] += barrier / a[-1] ** 2
        return slope, bend, centred

    def judge(self, a: Array) -> Bracket:
        """What an exponent proves, whatever it is."""
        reach = self.reach(a)
        if reach is None:
            return UNKNOWN
        try:
            return self._repaired(a, reach)
        except np.linalg.LinAlgError:  # a density on so few places that no correction can be made of it
            return UNKNOWN

    def _repaired(self, a: Array, reach: Reach) -> Bracket:
        """With g = e^{h - log Z} (1 + factor) (1 + rest), where the factor puts in what is seen to be missing
        and the rest what is not, the means are met, so that

            E_Q[g log g] = a . E_P φ - log Z + E[g log(1 + factor)] + E[g log(1 + rest)]:

        the rest, whose mean is nearly 0, counts by its square only."""
        rough, fine = (self.density(a, reach, dense=dense) for dense in (False, True))
        density, log_z = fine.density, fine.log_z
        # rounding of h is a relative error of the density
        rounding = ROUNDING * (1 + np.abs(a @ self.basis) @ np.abs(fine.features)) * density
        z_error = abs(log_z - rough.log_z) + float(rounding.sum())
        reached = float(a @ self.target) - log_z
        error = float(np.abs(a) @ (self.error + ROUNDING * np.abs(self.target))) + ROUNDING * abs(log_z)
        low = max(reached - error - z_error, 0.0)
        missing = np.append(0.0, self.target - fine.basis @ density)
        left = 0.0
        if missing[-1] * self.upward > 0:
            # its coefficient is never positive, so that its mean may fall short (weak duality)
            left, missing[-1] = abs(float(a[-1] * missing[-1])), 0.0
        with_one, rough_with_one = _with_one(fine.basis), _with_one(rough.basis)
        root = _whitening(with_one, density)
        white = root @ with_one
        kept = held(white)
        share = np.linalg.solve(((kept * density) @ white.T).T, root @ missing)
        factor, rough_factor = share @ kept, share @ held(root @ rough_with_one)
        largest = 1.1 * float(np.abs(factor).max())
        if not largest < _LARGEST or not np.abs(rough_factor).max() < _LARGEST:
            return Bracket(low, math.inf)
        repaired, rough_repaired = density * (1 + factor), rough.density * (1 + rough_factor)
        # means as they should be by now, what a finer rule changes of them, and rounding
        unseen = np.abs(with_one @ repaired - with_one @ density - missing)
        unseen += np.abs(with_one @ repaired - rough_with_one @ rough_repaired)
        unseen += 2 * np.abs(with_one) @ rounding + np.append(z_error, self.error)
        dual = np.linalg.solve(((kept * repaired) @ white.T).T, root).T @ kept
        rest = float(unseen @ (1.1 * np.abs(dual).max(axis=1)))
        if not rest < _LARGEST:
            return Bracket(low, math.inf)
        gain, rough_gain = float(repaired @ np.log1p(factor)), float(rough_repaired @ np.log1p(rough_factor))
        more = max(gain, 0.0) + abs(gain - rough_gain) + rest * 2 * largest + 2 * float(unseen[0]) + rest**2
        high = max(reached + error + left + more, 0.0) * (1 + 4 * EPS)
        return Bracket(low, math.inf if math.isnan(high) else high)


def _with_one(basis: Array) -> Array:
    return np.vstack((np.ones(basis.shape[1]), basis))


def _whitening(features: Array, density: Array) -> Array:
    """What makes features orthonormal under a density."""
    gram = (features * density) @ features.T
    unit = 1 / np.sqrt(np.diag(gram))
    root: Array = np.linalg.inv(np.linalg.cholesky(gram * np.outer(unit, unit))) * unit
    return root
