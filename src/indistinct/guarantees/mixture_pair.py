"""Subsampling: the pair when a record takes part with some probability."""

import math
from dataclasses import dataclass

import numpy as np

from indistinct.guarantees.discrete_pair import DiscretePair
from indistinct.guarantees.noise_pairs import BoundedNoise, GaussianPair, bounded_envelope
from indistinct.guarantees.pair import LOG_NEGLIGIBLE, Pair, Resolution, Tails, Wave
from indistinct.numerics.arrays import Array
from indistinct.numerics.envelope import mixture_envelope
from indistinct.numerics.rule import LossRule, mixed_loss

_SHARPEST = 200.0
"""With a larger Gaussian shift sampling is not credited: the mixture is too sharp to be integrated."""


def mixture(base: Pair, rate: float) -> Pair:
    """((1-rate) Q + rate P, Q) in its simplest form."""
    if rate == 0:
        return GaussianPair(0.0)
    if rate == 1 or (isinstance(base, GaussianPair) and base.shift > _SHARPEST):
        return base  # which dominates its mixtures
    if isinstance(base, MixturePair):
        return MixturePair(base.base, base.rate * rate)
    if isinstance(base, DiscretePair):
        p, q = np.array(base.p), np.array(base.q)
        return DiscretePair.of((1 - rate) * q + rate * p, q)
    return MixturePair(base, rate)


@dataclass(frozen=True)
class MixturePair(Pair):
    """P = (1-rate) Q0 + rate P0 against Q = Q0, for any base pair (P0, Q0) and 0 < rate < 1.

    Poisson sampling under add/remove (Zhu, Dong and Wang 2022, Theorem 11): L = log(1-q+q e^{L0}).
    """

    base: Pair
    rate: float

    @property
    def decays(self) -> bool:  # type: ignore[override]
        return self.base.decays

    @property
    def atoms(self) -> tuple[float, ...]:  # type: ignore[override]
        return tuple(mixed_loss(np.array(self.base.atoms), self.rate).tolist())

    @property
    def infinite_mass(self) -> float:  # type: ignore[override]
        return self.rate * self.base.infinite_mass

    def rule(self, resolution: Resolution) -> LossRule:
        low, high = self.base_range(resolution)
        return self.base.joined(self.pieces(low, high, resolution), low, high).mixed(self.rate)

    def log_envelope(self, resolution: Resolution) -> float:
        order, frequency = resolution.orders[0], resolution.frequency
        if isinstance(self.base, GaussianPair):
            log_bound, log_mass = self.log_part(self.base_range(resolution), order, frequency)
            return min(log_bound - log_mass, 0.0)
        if isinstance(self.base, BoundedNoise):
            # what it is relative to must not be too large, as a bound on a moment may be
            log_mass = self.computed_log_moment(order) * (1 - 1e-12)
            return bounded_envelope(self.base, self.rate, order, frequency, log_mass)
        return 0.0

    def log_part(
        self, base_losses: tuple[float, float], order: float, frequency: float
    ) -> tuple[float, float]:
        """Of sampled Gaussian noise: log of a bound on the transform of (dP/dQ)^order dQ between two base
        losses at all frequencies from one on, and of its mass."""
        assert isinstance(self.base, GaussianPair)
        low, high = (loss / self.base.shift + self.base.shift / 2 for loss in base_losses)
        return mixture_envelope(self.base.shift, self.rate, order, frequency, low, high)

    def pieces(self, low: float, high: float, resolution: Resolution) -> list[LossRule]:
        """Base rules on consecutive intervals, each as fine as L varies there: the slope of L in L0
        rises from nothing to 1, so most of the range needs few points."""
        power = max(map(abs, resolution.orders))
        pieces, top = [], high
        while True:
            slope = self.slope(top)
            # d^2 L / d L0^2 = slope (1 - slope); only negative powers of e^L are sharpened by it
            sharpness = max(-resolution.orders[0], 0.0) * min(slope, 0.25)
            bottom = top - 1.4 if slope * resolution.frequency > 16.0 else low
            bottom = bottom if bottom > low + 0.7 else low
            wave = Wave(slope * power, slope * resolution.frequency, sharpness)
            pieces.append(self.base.rule_on(bottom, top, wave))
            if bottom == low:
                return pieces
            top = bottom

    def base_range(self, resolution: Resolution) -> tuple[float, float]:
        """Which base losses matter for (dP/dQ)^w: all but a negligible part, and but for the mass
        that may be cut where L is largest (w >= 1) or smallest (w <= 0, the reversed pair)."""
        first, last = resolution.orders
        log_cut = resolution.log_cut
        if last >= 1 and log_cut is not None:
            high = self._cut(log_cut)
        elif last > 0:
            high = self._edge(max(last, 1.0), 1)
        else:
            high = self._vanishing(last)
        if first < 0 and log_cut is not None:
            low, _ = self.base.outer_losses(0.0, log_cut)
        else:
            low = self._edge(min(first, 0.0), 0)
        return low, high

    def _cut(self, log_cut: float) -> float:
        """A base loss above which (1-q) Q0 + q P0 has at most e^{log_cut} of its mass."""
        _, high = self.base.outer_losses(0.0, log_cut - math.log(2))
        log_rest = log_cut - math.log(2 * self.rate)
        return max(high, self.base.outer_losses(1.0, log_rest)[1]) if log_rest < 0 else high

    def _edge(self, order: float, side: int) -> float:
        """Where the base's (dP/dQ)^a ends, a being what `order` amounts to there."""
        tilt = order
        for _ in range(200):
            edges = self.base.outer_losses(tilt, LOG_NEGLIGIBLE)
            closer = order * self.slope(edges[1])
            if abs(closer) >= 0.99 * abs(tilt):
                break
            tilt = closer
        return edges[side]

    def _vanishing(self, order: float) -> float:
        """A base loss above which Q times e^{order L}, order <= 0, is negligible."""
        near, far = 0.0, LOG_NEGLIGIBLE
        for _ in range(14):
            middle = (near + far) / 2
            _, edge = self.base.outer_losses(0.0, middle)
            if middle + order * self.mixed(edge) > LOG_NEGLIGIBLE:
                near = middle
            else:
                far = middle
        return self.base.outer_losses(0.0, far)[1]

    def slope(self, loss: float) -> float:
        """dL/dL0 = q e^l / (1 - q + q e^l) at a base loss."""
        logit = loss + math.log(self.rate) - math.log1p(-self.rate)
        return 1 / (1 + math.exp(min(-logit, 700.0)))

    def mixed(self, loss: float) -> float:
        """log(1 - q + q e^l) as a number."""
        if loss > 30.0:
            return loss + math.log(self.rate + (1 - self.rate) * math.exp(-loss))
        return math.log1p(self.rate * math.expm1(loss))

    def rule_on(self, low: float, high: float, wave: Wave) -> LossRule:
        ends = self._unmixed(np.array([low, high]))
        bottom, top = self.base.outer_losses(0.0, LOG_NEGLIGIBLE)
        base_high = min(float(ends[1]), max(top, self.base.outer_losses(1.0, LOG_NEGLIGIBLE)[1]))
        wave = wave._replace(sharpness=wave.sharpness + wave.power)
        base_low = max(float(ends[0]), bottom)
        return self.base.rule_on(base_low, base_high, wave).mixed(self.rate)

    def outer_losses(self, tilt: float, log_tail: float) -> tuple[float, float]:
        low, _ = self.base.outer_losses(min(tilt, 0.0), log_tail)
        high = self._cut(log_tail) if tilt == 1 else self.base.outer_losses(max(tilt, 0.0), log_tail)[1]
        return self.mixed(low), self.mixed(high)

    def _unmixed(self, loss: Array) -> Array:
        """The base loss l0 with log(1 - q + q e^{l0}) = loss, minus infinity below log(1-q)."""
        q = self.rate
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            near = np.log1p(np.maximum(np.expm1(np.minimum(loss, 1.0)) / q, -1.0))
            far = loss + np.log1p(-(1 - q) * np.exp(-loss)) - math.log(q)
        base: Array = np.where(loss < 1.0, near, far)
        return base

    def tails(self, loss: Array) -> Tails:
        p_above, q_above, p_below, q_below = self.base.tails(self._unmixed(loss))
        log_in, log_out = math.log(self.rate), math.log1p(-self.rate)
        return Tails(
            np.logaddexp(log_out + q_above, log_in + p_above),
            q_above,
            np.logaddexp(log_out + q_below, log_in + p_below),
            q_below,
        )

    def profile(self, epsilon: Array) -> Array:
        # (qP - (e^eps - 1 + q) Q)_+ is q times the base's hockey stick at a larger epsilon
        # ("advanced joint convexity", Balle, Barthe and Gaboardi 2018, Theorem 2)
        q = self.rate
        ratio = np.expm1(np.minimum(epsilon, 300.0)) / q
        with np.errstate(divide="ignore"):
            stretched = np.where(epsilon < 300.0, np.log1p(np.maximum(ratio, -1.0)), epsilon - math.log(q))
        inner = q * self.base.profile(np.maximum(stretched, -745.0))
        outer = -np.expm1(np.minimum(epsilon, 0.0))
        value: Array = np.where(ratio > -1.0, inner, outer)
        return value

    def reversed_profile(self, epsilon: Array) -> Array:
        q = self.rate
        with np.errstate(over="ignore"):
            left = -np.expm1(np.minimum(epsilon, 700.0) + math.log1p(-q))  # 1 - e^eps (1-q)
        open_ = left > 0
        left = np.where(open_, left, 1.0)
        shrunk = np.where(open_, epsilon + math.log(q) - np.log(left), 0.0)
        value: Array = np.where(open_, left * self.base.reversed_profile(shrunk), 0.0)
        return value

    @property
    def size(self) -> float:
        # E_Q[(dP/dQ)^2] = 1 + q^2 (E_Q[(dP0/dQ0)^2] - 1)
        return math.log1p(self.rate**2 * math.expm1(min(self.base.size, 700.0)))

    @property
    def loss_range(self) -> tuple[float, float]:
        low, high = self.base.loss_range
        ends = mixed_loss(np.array([max(low, -800.0), min(high, 1e300)]), self.rate)
        bottom = math.log1p(-self.rate) if low == -math.inf else float(ends[0])
        return bottom, math.inf if high == math.inf else float(ends[1])

    def log_moment(self, order: float) -> float:
        if order > 1e4:
            # Minkowski: ||1 - q + q r||_w <= 1 - q + q ||r||_w, tight for large orders
            grown = self.base.log_moment(order) / order
            return order * float(mixed_loss(np.array([grown]), self.rate)[0])
        return super().log_moment(order)
