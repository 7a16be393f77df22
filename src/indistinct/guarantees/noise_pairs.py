"""The pairs of additive noise: Gaussian and Laplace, by how far a neighbour moves the centre."""

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass, field

import numpy as np

from indistinct.guarantees.pair import Pair, Resolution, Tails, Wave
from indistinct.guarantees.pair_kinds import OwnPair, SymmetricPair, of_both_signs
from indistinct.numerics.arrays import EPS, Array
from indistinct.numerics.cumulant import Cumulant, GaussianCumulant, LaplaceCumulant, guarded
from indistinct.numerics.envelope import edge_envelope
from indistinct.numerics.normal import gaussian_delta, log_normal_tails
from indistinct.numerics.rounding import weighted_sum_up
from indistinct.numerics.rule import LossRule, mixed_loss, panels

_LOG_SQRT_2PI = 0.5 * math.log(2 * math.pi)


@dataclass(frozen=True)
class GaussianPair(OwnPair, SymmetricPair):
    """N(shift, 1) against N(0, 1); L = shift x - shift^2/2 is itself Gaussian."""

    shift: float
    dominates: bool = field(default=False, repr=False)
    least: float = field(default=0.0, repr=False)
    """The shift of one that it dominates, if it is not a mechanism's own."""

    @property
    def below(self) -> tuple[tuple[tuple[Pair, int], ...], ...]:
        least = self.least if self.dominates else self.shift
        return (((GaussianPair(least), 1),),) if least else ((),)

    def as_bound(self) -> "GaussianPair":
        return GaussianPair(self.shift, dominates=True)

    def rule_on(self, low: float, high: float, wave: Wave) -> LossRule:
        if self.shift == 0:
            return LossRule(np.zeros(1), np.zeros(1))
        mu = self.shift
        first, last = low / mu + mu / 2, high / mu + mu / 2
        # A panel must resolve the density, the oscillation and the sharpness, a tilt that pushes against
        # the upper end, and stay away from the zero of 1 - q + q dP/dQ at height pi/mu above the axis.
        reach = min(max(abs(first), abs(last)), 12.0)
        push = max(0.0, wave.power * mu - abs(last))
        speed = 0.6 * reach * math.sqrt(1 + wave.sharpness * mu**2) + math.hypot(push, wave.frequency * mu)
        x, log_weight = panels(first, last, min(5 / mu, 23 / speed))
        log_q = log_weight - x * x / 2 - _LOG_SQRT_2PI
        return LossRule(mu * x - mu**2 / 2, log_q)

    @property
    def tells_nothing(self) -> bool:  # type: ignore[override]
        return self.shift == 0

    def outer_losses(self, tilt: float, log_tail: float) -> tuple[float, float]:
        if self.shift == 0:
            return math.nextafter(0.0, -1.0), 0.0
        # Phi(-r) <= e^{-r^2/2}
        reach = math.sqrt(max(-2 * log_tail, 0.0))
        centre = (tilt - 0.5) * self.shift * self.shift
        return centre - self.shift * reach, centre + self.shift * reach

    def tails(self, loss: Array) -> Tails:
        x = loss / self.shift + self.shift / 2
        p_below, p_above = log_normal_tails(x - self.shift)
        q_below, q_above = log_normal_tails(x)
        return Tails(p_above, q_above, p_below, q_below)

    def profile(self, epsilon: Array) -> Array:
        return of_both_signs(epsilon, gaussian_delta(self.shift, np.abs(epsilon)))

    @property
    def loss_range(self) -> tuple[float, float]:
        return (-math.inf, math.inf) if self.shift else (0.0, 0.0)

    def scaled(self, size: int) -> Pair:
        return GaussianPair(size * self.shift, self.dominates, size * self.least)

    def cumulant(self, resolution: Resolution) -> Cumulant:
        return GaussianCumulant(self.shift)

    def log_envelope(self, resolution: Resolution) -> float:
        return -((self.shift * resolution.frequency) ** 2) / 2

    def log_moment(self, order: float) -> float:
        return order * (order - 1) * self.shift**2 / 2 * (1 + 4 * EPS)

    def log_moments(self, orders: Array) -> Array:
        return orders * (orders - 1) * (self.shift**2 / 2 * (1 + 4 * EPS))

    @property
    def finite_mean(self) -> float:
        return self.shift**2 / 2 * (1 + 4 * EPS)


@dataclass(frozen=True)
class BoundedNoise(OwnPair, SymmetricPair, ABC):
    """The same both ways, with losses between two ends: their density under Q is e^{-l/2} times a constant,
    and there are atoms at most at the ends, a half of Q at the lower and of P at the upper one."""

    loss: float
    """The largest."""
    dominates: bool = field(default=False, repr=False)

    @abstractmethod
    def log_density(self, loss: Array, log_weight: Array | float = 0.0) -> Array:
        """Under Q, between the ends, times a weight."""

    def _log_atoms(self, loss: Array) -> Array:
        """Under Q, if they are there."""
        return -np.maximum(loss, 0.0) - math.log(2.0)

    @property
    def loss_range(self) -> tuple[float, float]:
        return -self.loss, self.loss

    def outer_losses(self, tilt: float, log_tail: float) -> tuple[float, float]:
        return math.nextafter(-self.loss, -math.inf), self.loss

    def rule_on(self, low: float, high: float, wave: Wave) -> LossRule:
        speed = 2.0 + math.hypot(wave.power, wave.frequency) + 8 * math.sqrt(wave.sharpness)
        loss, log_weight = panels(max(low, -self.loss), min(high, self.loss), min(4.0, 23 / speed))
        atoms = np.array([atom for atom in self.atoms if low < atom <= high])
        log_q = self._log_atoms(atoms), self.log_density(loss, log_weight)
        return LossRule(np.concatenate((atoms, loss)), np.concatenate(log_q))

    def log_envelope(self, resolution: Resolution) -> float:
        return self.sampled_envelope(1.0, resolution, self.computed_log_moment(resolution.orders[0]))

    def sampled_envelope(self, rate: float, resolution: Resolution, log_moment: float) -> float:
        """`log_envelope` where a record takes part with this rate, from the moment of the sampled loss. The
        density of that loss is a constant times e^{-3l/2} r^{w+1}, r = 1 - rate + rate e^l, so that its
        logarithm is convex or monotone."""
        order, ends = resolution.orders[0], np.array(self.loss_range)
        mixed = ends if rate == 1 else mixed_loss(ends, rate)
        heights = self.log_density(ends) + (order + 1) * mixed - ends - math.log(rate)
        atoms = float(np.logaddexp.reduce(order * mixed + self._log_atoms(ends))) if self.atoms else -math.inf
        # what it is relative to must not be too large, as a bound on a moment may be
        return edge_envelope(heights, atoms, resolution.frequency, log_moment * (1 - 1e-12))


class LaplacePair(BoundedNoise):
    """Laplace noise of scale 1, centres `loss` apart: the loss has atoms at both ends of [-s, s] and
    density e^{(l-s)/2}/4 under P between them."""

    @property
    def atoms(self) -> tuple[float, ...]:  # type: ignore[override]
        return (-self.loss, self.loss)

    def tails(self, loss: Array) -> Tails:
        s = self.loss
        inside = np.clip(loss, -s, s)
        with np.errstate(divide="ignore"):
            p_below = np.where(loss < -s, -np.inf, np.where(loss >= s, 0.0, (inside - s) / 2 - math.log(2.0)))
            q_above = np.where(
                loss >= s, -np.inf, np.where(loss < -s, 0.0, -(inside + s) / 2 - math.log(2.0))
            )
            p_above = np.log1p(-np.exp(p_below))
            q_below = np.log1p(-np.exp(q_above))
        return Tails(p_above, q_above, p_below, q_below)

    def profile(self, epsilon: Array) -> Array:
        middle = -np.expm1((np.clip(epsilon, -self.loss, self.loss) - self.loss) / 2)
        far = -np.expm1(np.minimum(epsilon, 0.0))
        return np.where(epsilon < -self.loss, far, np.maximum(middle, 0.0))

    def scaled(self, size: int) -> Pair:
        return LaplacePair(weighted_sum_up([(self.loss, size)]), self.dominates)

    def cumulant(self, resolution: Resolution) -> Cumulant:
        return LaplaceCumulant(self.loss)

    def log_density(self, loss: Array, log_weight: Array | float = 0.0) -> Array:
        return log_weight - math.log(4.0) - (loss + self.loss) / 2

    def computed_log_moment(self, order: float) -> float:
        return float(LaplaceCumulant(self.loss).real(np.array([order - 1.0]))[0])

    def log_moments(self, orders: Array) -> Array:
        return guarded(orders, LaplaceCumulant(self.loss).real(orders - 1.0))

    @property
    def finite_mean(self) -> float:
        # E_P[L] = s + e^{-s} - 1 (the limit of Mironov 2017, Proposition 6), at most
        s = self.loss
        if s > 1e-2:
            return (s + math.expm1(-s)) * (1 + 1e-13)
        return s * s * (0.5 - s / 6 + s * s / 24 - s**3 / 120 + s**4 / 720) * (1 + 8 * EPS)
