"""Selection by the exponential mechanism: a loss of bounded range."""

import math
from typing import Any

import numpy as np

from indistinct.guarantees.discrete_pair import DiscretePair
from indistinct.guarantees.noise_pairs import BoundedNoise
from indistinct.guarantees.pair import Pair, Tails
from indistinct.numerics.arrays import EPS, Array

_LARGEST = 700.0
"""More than e to this is no number."""


class BoundedRangePair(BoundedNoise):
    """The worst of all mechanisms whose losses between any two neighbours lie in some interval of length
    `loss`, the width: what the exponential mechanism is (Dong, Durfee and Rogers 2020, Section 2.1).

    Its worst neighbours have losses t and t - width for some t, chosen with the epsilon that one looks at
    (their Section 4, generalized randomized response): delta(epsilon) is the largest of
    (1 - e^{t-width})(1 - e^{epsilon-t})/(1 - e^{-width}), at t = (epsilon + width)/2. That profile,
    (1 - e^{(epsilon-width)/2})^2/(1 - e^{-width}), is that of a loss with density e^{l/2}/(4 sinh(width/2))
    under P on [-width, width]: one pair dominates them all, and may be composed. No neighbours have it, so
    that a composition reveals less, in truth: no less than losses of width/2 and -width/2 do.
    """

    exact = False

    @property
    def tight(self) -> bool:
        return not self.dominates

    @property
    def below(self) -> tuple[tuple[tuple[Pair, int], ...], ...]:
        # the smaller of the two keeps its digits, and is never nothing: that would be a loss without end
        unlikely = 1 / (1 + math.exp(min(self.loss / 2 * (1 - 4 * EPS), _LARGEST)))
        pair = DiscretePair((unlikely, 1 - unlikely), (1 - unlikely, unlikely))
        return ((),) if self.dominates else (((pair, 1),),)

    def log_density(self, loss: Array, log_weight: Array | float = 0.0) -> Array:
        # e^{-l/2} / (4 sinh(width/2))
        whole = -self.loss / 2 - math.log(2.0) - math.log(-math.expm1(-self.loss))
        return log_weight + whole - loss / 2

    def tails(self, loss: Array) -> Tails:
        inside = np.clip(loss, -self.loss, self.loss)
        p_above, p_below = (
            self._mass(self.loss, self.loss - inside),
            self._mass(inside, inside + self.loss),
        )
        q_above, q_below = (
            self._mass(-inside, self.loss - inside),
            self._mass(self.loss, inside + self.loss),
        )
        return Tails(p_above, q_above, p_below, q_below)

    def _mass(self, end: Any, length: Array) -> Array:
        """log of the integral of the density e^{l/2} over an interval that ends there."""
        with np.errstate(divide="ignore"):
            result: Array = self.log_density(-end) + np.log(-2 * np.expm1(-length / 2))
        return np.minimum(result, 0.0)

    def profile(self, epsilon: Array) -> Array:
        inside = np.clip(epsilon, -self.loss, self.loss)
        value = np.square(np.expm1((inside - self.loss) / 2)) / -math.expm1(-self.loss)
        return np.where(epsilon < -self.loss, -np.expm1(np.minimum(epsilon, 0.0)), np.minimum(value, 1.0))

    def scaled(self, size: int) -> Pair:
        # losses add up along a chain of neighbours
        return BoundedRangePair(size * self.loss, dominates=self.dominates or size > 1)

    def computed_log_moment(self, order: float) -> float:
        """log E_Q[(dP/dQ)^w] = log sinh((w - 1/2) width)/(2w - 1) - log sinh(width/2)."""
        turned = abs(order - 0.5)
        if turned * self.loss < 10:
            return super().computed_log_moment(order)
        log_sinh = turned * self.loss + math.log1p(-math.exp(-2 * turned * self.loss))
        half = self.loss / 2 + math.log(-math.expm1(-self.loss))
        return log_sinh - math.log(2 * turned) - half
