"""Bounded functions that make up what a certificate's means are missing, and what these cost.

A certificate is a function g with given means E_Q[g φ]. A search's g meets them nearly; whatever is missing
is put in as a multiple of functions r_i with E_Q[r_i φ_j] = 1 for i = j and 0 otherwise. Their own means are
integrals too: what these may be off by is charged in proportion to what is put in, so that a search that is
lost gives a bound that is useless and not one that is wrong.
"""

import math

import numpy as np

from indistinct.adversaries.moments import ROUNDING, Measure, held, held_at_most, log_sum
from indistinct.numerics.arrays import TINY, Array

_ABOVE = 1.1
"""Suprema and norms seen at nodes are rounded up by this."""
_LOG_TAIL = -42.0
"""Squares of given features hold less than this of their means, in logarithms, outside of their extent."""


class Repair:
    """The features, held where they grow large, mixed so that each changes one mean."""

    def __init__(self, measure: Measure, basis: Array) -> None:
        self._measure, self._basis = measure, basis
        self._low, self._high = measure.square_extent()
        means, sizes = [], []
        for dense in (False, True):
            x, log_weight = measure.rule(self._low, self._high, dense=dense)
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

    def log_outside(self, change: Array, order: float, low: float, high: float, negligible: float) -> float:
        """log of what a change costs outside of an interval, as an integral of its power; on the whole line
        where that is negligible already."""
        parts = [self._log_tail(change @ self._mix, order)]
        with np.errstate(divide="ignore"):
            whole = log_sum(order * np.log(_ABOVE * np.abs(change @ self._values)) + self._log_weight)
        if whole < negligible:
            return float(np.logaddexp(whole, parts[0]))
        for start, stop in ((self._low, min(low, self._high)), (max(high, self._low), self._high)):
            if start < stop:
                x, log_weight = self._measure.rule(start, stop)
                values = change @ self(self._basis @ self._measure.features(x))
                with np.errstate(divide="ignore"):
                    parts.append(log_sum(order * np.log(_ABOVE * np.abs(values)) + log_weight))
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
