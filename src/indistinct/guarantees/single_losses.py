"""What single steps tell of their sum: where one rare, large loss decides, that is nearly all there is.

From below, by tests: whether any step has a loss above a place, or all have their largest.
"""

import math
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np

from indistinct.guarantees.composed_loss import ComposedLoss
from indistinct.guarantees.pair import Pair
from indistinct.numerics.arrays import EPS, TINY, Array
from indistinct.numerics.contour import GUARD, LogBounds

_PLACES = np.geomspace(1e-8, 1.0, 48)
"""Of a test, relative to the largest loss; epsilon itself is one more."""
_LARGEST = 1 - 1e-9
"""Nearly: atoms are known to rounding."""
_NOTHING = 1e4
"""Less than e to minus this is no number."""


def single_losses(loss: ComposedLoss, level: int) -> "SingleLosses | None":
    """The engine: None where there is one step, or laws are known only about."""
    known = not any(pair.by_moments or pair.profiled for pair, _ in loss.terms)
    return SingleLosses(loss, level) if known and loss.steps > 1 else None


@dataclass(frozen=True, eq=False)
class SingleLosses:
    """The tests, for one size of delta."""

    final: ClassVar[bool] = False

    loss: ComposedLoss
    level: int

    def read(self, epsilon: Array) -> LogBounds:
        (p, q), (at_p, at_q) = np.hstack((self._tests, self._all_largest)), self._any_above(epsilon)
        log_p = np.column_stack((np.broadcast_to(p, (epsilon.size, p.size)), at_p))
        log_q = np.column_stack((np.broadcast_to(q, (epsilon.size, q.size)), at_q))
        # what is lost of a difference of logarithms counts where they are close
        gap = epsilon[:, None] + log_q - log_p
        gap += 8 * EPS * (epsilon[:, None] + np.abs(log_q) + np.abs(log_p))
        with np.errstate(divide="ignore"):
            low = (log_p + np.log(-np.expm1(np.minimum(gap, 0.0)))).max(axis=1) - GUARD
        nothing = np.zeros_like(low)
        return LogBounds(low, nothing, nothing)

    def guess(self, log_delta: Array) -> Array:
        return np.array([max(pair.likely_epsilon(one) for pair, _ in self.loss.terms) for one in log_delta])

    @cached_property
    def _tests(self) -> tuple[Array, Array]:
        log_cut = self.loss.log_cut(self.level)
        return self._any_above(_PLACES * max(pair.span(log_cut)[1] for pair, _ in self.loss.terms))

    def _any_above(self, place: Array) -> tuple[Array, Array]:
        """The logarithms of how likely a loss above a place is in any step, under P, rounded down, and under
        Q, rounded up."""
        none = np.zeros((2, place.size))
        for pair, n in self.loss.terms:
            none += n * np.log1p(-np.minimum(np.exp(_above(pair, place)), 1 - EPS))
        log_p, log_q = np.log(np.maximum(-np.expm1(none), TINY))
        return log_p, log_q

    @property
    def _all_largest(self) -> Array:
        """The same of the largest losses in all steps, if these are finite."""
        tops = [pair.loss_range[1] for pair, _ in self.loss.terms]
        if math.isinf(sum(tops)) or min(tops) <= 0:
            return np.empty((2, 0))
        each = zip(self.loss.terms, tops, strict=True)
        log: Array = sum(
            (n * _above(pair, np.array([_LARGEST * top])) for (pair, n), top in each), np.zeros((2, 1))
        )
        return log


def _above(pair: Pair, place: Array) -> Array:
    """The logarithms of how likely a loss above a place is, under P, rounded down, and under Q, rounded
    up."""
    tails = np.maximum(np.array(pair.tails(place)[:2]), -_NOTHING)
    rounded: Array = tails + np.array([[-1.0], [1.0]]) * (1e-14 - 64 * EPS * tails)
    return rounded
