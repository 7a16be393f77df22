"""Selection by the exponential mechanism: a loss of bounded range."""

import math
from dataclasses import dataclass, field

import numpy as np

from indistinct.guarantees.discrete_pair import DiscretePair
from indistinct.guarantees.noise_pairs import bounded_envelope
from indistinct.guarantees.pair import Pair, Resolution, Tails, Wave
from indistinct.numerics.arrays import EPS, Array
from indistinct.numerics.rule import LossRule, panels


@dataclass(frozen=True)
class BoundedRangePair(Pair):
    """The worst of all mechanisms whose losses between any two neighbours lie in some interval of length
    `width`: what the exponential mechanism is (Dong, Durfee and Rogers 2020, Section 2.1).

    Its worst neighbours have losses t and t - width for some t, chosen with the epsilon that one looks at
    (their Section 4, generalized randomized response): delta(epsilon) is the largest of
    (1 - e^{t-width})(1 - e^{epsilon-t})/(1 - e^{-width}), at t = (epsilon + width)/2. That profile,
    (1 - e^{(epsilon-width)/2})^2/(1 - e^{-width}), is that of a loss with density e^{l/2}/(4 sinh(width/2))
    under P on [-width, width]: one pair dominates them all, and may be composed. No neighbours have it, so
    that a composition reveals less, in truth: no less than losses of width/2 and -width/2 do.
    """

    width: float
    dominates: bool = field(default=False, repr=False)
    """Whether it only dominates what it stands for, alone too."""

    @property
    def tight(self) -> bool:
        return not self.dominates

    @property
    def below(self) -> tuple[tuple[tuple[Pair, int], ...], ...]:
        likely = 1 / (1 + math.exp(-self.width / 2 * (1 - 4 * EPS)))
        pair = DiscretePair((1 - likely, likely), (likely, 1 - likely))
        return ((),) if self.dominates else (((pair, 1),),)

    def as_bound(self) -> "BoundedRangePair":
        return BoundedRangePair(self.width, dominates=True)

    @property
    def _log_density(self) -> float:
        # log 1/(4 sinh(width/2))
        return -self.width / 2 - math.log(2.0) - math.log(-math.expm1(-self.width))

    def log_density(self, loss: float) -> float:
        """Under Q."""
        return self._log_density - loss / 2

    def log_envelope(self, resolution: Resolution) -> float:
        order = resolution.orders[0]
        log_mass = self.log_moment(order) * (1 - 2e-12)  # not rounded up
        return bounded_envelope(self, 1.0, order, resolution.frequency, log_mass)

    def rule_on(self, low: float, high: float, wave: Wave) -> LossRule:
        speed = 2.0 + math.hypot(wave.power, wave.frequency) + 8 * math.sqrt(wave.sharpness)
        loss, log_weight = panels(max(low, -self.width), min(high, self.width), min(4.0, 23 / speed))
        return LossRule(loss, log_weight + self._log_density - loss / 2)

    def outer_losses(self, tilt: float, log_tail: float) -> tuple[float, float]:
        return math.nextafter(-self.width, -math.inf), self.width

    def tails(self, loss: Array) -> Tails:
        inside = np.clip(loss, -self.width, self.width)
        p_above, p_below = (
            self._mass(self.width, self.width - inside),
            self._mass(inside, inside + self.width),
        )
        q_above, q_below = (
            self._mass(-inside, self.width - inside),
            self._mass(self.width, inside + self.width),
        )
        return Tails(p_above, q_above, p_below, q_below)

    def _mass(self, end: "float | Array", length: Array) -> Array:
        """log of the integral of the density e^{l/2} over an interval that ends there."""
        with np.errstate(divide="ignore"):
            result: Array = self._log_density + end / 2 + np.log(-2 * np.expm1(-length / 2))
        return np.minimum(result, 0.0)

    def profile(self, epsilon: Array) -> Array:
        inside = np.clip(epsilon, -self.width, self.width)
        value = np.square(np.expm1((inside - self.width) / 2)) / -math.expm1(-self.width)
        return np.where(epsilon < -self.width, -np.expm1(np.minimum(epsilon, 0.0)), np.minimum(value, 1.0))

    reversed_profile = profile

    @property
    def loss_range(self) -> tuple[float, float]:
        return -self.width, self.width

    def reverse(self) -> Pair:
        return self

    def scaled(self, size: int) -> Pair:
        # losses add up along a chain of neighbours
        return BoundedRangePair(size * self.width, dominates=self.dominates or size > 1)

    def log_moment(self, order: float) -> float:
        """log E_Q[(dP/dQ)^w] = log sinh((w - 1/2) width)/(2w - 1) - log sinh(width/2)."""
        turned = abs(order - 0.5)
        if turned * self.width < 10:
            return super().log_moment(order)
        log_sinh = turned * self.width + math.log1p(-math.exp(-2 * turned * self.width))
        half = self.width / 2 + math.log(-math.expm1(-self.width))
        return (log_sinh - math.log(2 * turned) - half) * (1 + 1e-14)
