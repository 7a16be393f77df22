"""The certificate of a restricted Rényi divergence: what any function proves, wherever it comes from.

The dual problem asks for the least ||g||_α with E_Q[g φ] = E_P φ. From any h the function
g = |h|^(A-1) sign h / V nearly meets that condition; what is missing is put in as a multiple of bounded
functions r_i with E_Q[r_i φ_j] = 1 for i = j and 0 otherwise, and what quadrature may have got wrong is
charged at their norms (Minkowski's inequality). Their own means are integrals too: what these may be off by
is charged in proportion, so that a search that is lost gives a bound that is useless and not one that is
wrong.
"""

import math
from typing import NamedTuple

import numpy as np

from indistinct.adversaries.solvers.bracket import UNKNOWN, Bracket
from indistinct.adversaries.solvers.moments import (
    Moments,
    held,
    held_at_most,
    log_power,
    log_sum,
    power_reach,
)
from indistinct.adversaries.solvers.quadrature import ROUNDING, Measure, Reach
from indistinct.adversaries.solvers.signed import Coefficients, Signed
from indistinct.numerics.arrays import EPS, TINY, Array

_ABOVE = 1.1
"""Suprema and norms seen at nodes are rounded up by this."""
_LOG_TAIL = -42.0
"""Squares of given features hold less than this of their means, in logarithms, outside of their extent."""
_LOG_NEGLIGIBLE = 40.0
"""What is this far below a norm, in logarithms, needs not be known any better."""


class _Seen(NamedTuple):
    """Features at nodes, the weights of these, log V, and g with its means."""

    basis: Array
    log_weight: Array
    log_v: float
    g: Array
    met: Array


class RenyiCertificate:
    """The law Q, its features mixed by a basis, and their means under P."""

    def __init__(self, measure: Measure, moments: Moments) -> None:
        self._measure, self._moments = measure, moments
        self._repair = Repair(measure, moments.basis)

    def judge(self, power: float, a: Coefficients) -> Bracket:
        """The divergence lies between V's and that of the g which a . φ stands for, once it is repaired."""
        target, target_error = self._moments.target, self._moments.error
        order, reach = power / (power - 1), power_reach(self._measure, self._moments.basis, a, power)
        log_unit = a.largest() if isinstance(a, Signed) else 0.0
        values = a.over(log_unit) if isinstance(a, Signed) else a
        reached = float(values @ target) - float(np.abs(values) @ target_error)
        log_reached = math.log(reached) if reached > 0 else 0.0
        found = []
        for dense in (False, True):
            x, log_weight = self._measure.rule(reach, dense=dense)
            basis = self._moments.basis @ self._measure.features(x)
            h = a.combine(basis) if isinstance(a, Signed) else Signed.of(a @ basis)
            log_h = h.log - log_unit
            log_v = log_sum(power * log_h + log_weight)
            log_g = (power - 1) * log_h + (log_reached - log_v)
            if not log_g.max() < 600:
                return UNKNOWN
            g = h.sign * np.exp(log_g)
            found.append(_Seen(basis, log_weight, log_v, g, basis @ (g * np.exp(log_weight))))
        coarse, fine = found
        v_error = abs(fine.log_v - coarse.log_v) + ROUNDING + 8 * EPS * abs(log_reached)
        # what is seen to be missing is put in, what cannot be seen is bounded; outside of its reach g is 0
        change = target - fine.met
        size = np.abs(fine.basis) @ np.abs(fine.g * np.exp(fine.log_weight))
        unseen = np.abs(fine.met - coarse.met) + ROUNDING * size + target_error + self._repair.spilled(change)
        log_coarse, log_fine = (
            log_power(seen.g + change @ self._repair(seen.basis), order, seen.log_weight) for seen in found
        )
        log_outside = self._repair.log_outside(change, order, reach, log_fine - _LOG_NEGLIGIBLE)
        log_norm = float(np.logaddexp(log_fine, log_outside)) / order
        # twice what a finer rule changes: a repaired g may kink where no panel ends
        log_norm += (v_error + 2 * abs(log_fine - log_coarse)) / order + ROUNDING
        if not math.isfinite(log_norm):
            return UNKNOWN
        rest = self._repair.cost(unseen, order)
        high = power * float(np.logaddexp(log_norm, math.log(rest + TINY)))
        low = power * log_reached - fine.log_v - v_error if reached > 0 else 0.0
        if math.isnan(high):
            return UNKNOWN
        return Bracket(max(low, 0.0), max(high, 0.0) * (1 + 4 * EPS))


class Repair:
    """The features, held where they grow large, mixed so that each changes one mean."""

    def __init__(self, measure: Measure, basis: Array) -> None:
        self._measure, self._basis = measure, basis
        self._extent = measure.square_extent()
        means, sizes = [], []
        for dense in (False, True):
            x, log_weight = measure.rule(self._extent, dense=dense)
            given = measure.features(x)
            features = basis @ given
            kept, weight = held(features), np.exp(log_weight)
            means.append((kept * weight) @ features.T)
            sizes.append((np.abs(kept) * weight) @ np.abs(features).T)
        self._mix = np.asarray(np.linalg.inv(means[1]), dtype=np.float64)
        one = np.eye(basis.shape[0])
        self._off: Array = np.abs(self._mix @ (means[1] - means[0])) + np.abs(self._mix @ means[1] - one)
        self._off += ROUNDING * (np.abs(self._mix) @ sizes[1])
        spread = np.linalg.inv(one - self._off) if np.isfinite(self._off).all() else -one
        # what a repair spills over is repaired in turn
        self._spread = spread if (spread >= 0).all() else np.full(one.shape, math.inf)
        # the basis is made of given features that may cancel in it, but not out there
        terms = np.abs(basis) @ np.sqrt(given * given @ weight)
        self._log_rest = _LOG_TAIL + 2 * math.log(max(float(terms.max()), 1.0))
        self._values, self._log_weight = self(features), log_weight

    def __call__(self, features: Array) -> Array:
        """The functions, where the features have these values."""
        values: Array = self._mix @ held(features)
        return values

    def spilled(self, change: Array) -> Array:
        """How far the means may be from what a change of them was to make them."""
        spilled: Array = np.abs(change) @ self._off
        return spilled

    def log_outside(self, change: Array, order: float, reach: Reach, negligible: float) -> float:
        """log of what a change costs outside of an interval, as an integral of its power; on the whole line
        where that is negligible already."""
        parts = [self._log_tail(change @ self._mix, order)]
        whole = log_power(_ABOVE * (change @ self._values), order, self._log_weight)
        if whole < negligible:
            return float(np.logaddexp(whole, parts[0]))
        low, high, _ = self._extent
        for side in (Reach(low, min(reach.low, high)), Reach(max(reach.high, low), high)):
            if side.low < side.high:
                x, log_weight = self._measure.rule(side)
                values = change @ self(self._basis @ self._measure.features(x))
                parts.append(log_power(_ABOVE * values, order, log_weight))
        return log_sum(np.array(parts))

    def cost(self, unseen: Array, order: float) -> float:
        """The norm of what makes up means that may be missing by so much, at most."""
        top = np.abs(self._values).max(axis=1, keepdims=True)
        powers = np.exp(order * np.log(np.abs(self._values) / top + TINY)) @ np.exp(self._log_weight)
        norms = _ABOVE * top[:, 0] * powers ** (1 / order)
        tails = [math.exp(self._log_tail(row, order) / order) for row in self._mix]
        return float((unseen @ self._spread) @ (norms + tails))

    def _log_tail(self, mixed: Array, order: float) -> float:
        """Beyond the extent of the squares: |r|^α is at most r² times its largest value to the rest."""
        size = float(np.linalg.norm(mixed))
        if not size:
            return -math.inf
        count = mixed.size
        most = max(order - 2, 0.0) * math.log(held_at_most(count))
        return order * math.log(size) + most + min(order / 2, 1.0) * (self._log_rest + math.log(count))
