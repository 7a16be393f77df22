"""Random allocation: each record joins exactly one of several noisy steps, drawn at random."""

import math
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from indistinct.guarantees.noise_pairs import GaussianPair
from indistinct.guarantees.pair import Pair, Resolution, Tails, Wave
from indistinct.guarantees.product import Product
from indistinct.numerics.arrays import EPS, Array
from indistinct.numerics.cumulant import Cumulant, GaussianCumulant, OnLine
from indistinct.numerics.lognormal_mean import LognormalMean
from indistinct.numerics.normal import gaussian_delta
from indistinct.numerics.rule import LossRule, TooFineError

_SHARPEST = 12.0
"""With a larger shift allocation is not credited: the Gaussian pair, which dominates, is read instead."""
_FLATTEST = 0.005
"""With a smaller one neither: its moments differ from 1 by less than integrals tell."""
_NEAR_ONE = 1e-3
"""Orders nearer to 1 are read by convexity: there a difference from 1 has few digits."""


def allocation(shift: float, steps: int, times: int = 1) -> Product:
    """Of `steps` steps of Gaussian noise, `times` of which, drawn at random, a record moves by `shift`
    deviations.

    To draw several is to divide the steps at random into as many equal parts, and to draw one of each: who
    knows how they were divided sees several allocations over fewer steps, which dominate (Feldman and
    Shenfeld 2025).
    """
    if shift == 0 or times == 0 or times == steps:
        return Product.of([(GaussianPair(shift), times)])
    if shift < _FLATTEST:
        return Product.of([(GaussianPair(shift, dominates=True), times)])
    return Product.of([(AllocationPair(shift, steps // times, dominates=times > 1), times)])


@dataclass(frozen=True)
class AllocationPair(Pair):
    """P = (1/t) sum_i N(shift e_i, I) against Q = N(0, I) in t dimensions, or turned round.

    It dominates a record that takes part in one of t steps, drawn at random, under add/remove and adaptively
    (Feldman and Shenfeld 2025; Chua et al. 2025, balls and bins): with the other records fixed the output
    with it is that of noise around a unit vector, in a place drawn at random. dP/dQ is a mean of t
    independent lognormal variables, so that it is known by its moments of complex order (`LognormalMean`)
    and not by its tails.
    """

    shift: float
    steps: int
    turned: bool = False
    dominates: bool = False
    """Whether it only dominates what it stands for."""

    by_moments = True

    @property
    def exact(self) -> bool:  # type: ignore[override]
        return self._known and not self.dominates

    @property
    def _known(self) -> bool:
        return self.shift <= _SHARPEST and self.steps > 1

    @property
    def _ratio(self) -> LognormalMean:
        return LognormalMean(self.shift, self.steps)

    @property
    def _base(self) -> GaussianPair:
        return GaussianPair(self.shift)

    def as_bound(self) -> "AllocationPair":
        return replace(self, dominates=True)

    @property
    def plain(self) -> GaussianPair:
        return GaussianPair(self.shift, dominates=True)

    def reverse(self) -> Pair:
        return replace(self, turned=not self.turned)

    def cumulant(self, resolution: Resolution) -> Cumulant:
        if not self._known:
            return GaussianCumulant(self.shift)
        return AllocationCumulant(self._ratio, self.turned)

    def log_envelope(self, resolution: Resolution) -> float:
        if not self._known:
            return self._base.log_envelope(resolution)
        return self._ratio.log_fall(resolution.frequency)

    def log_moment(self, order: float) -> float:
        base = self._base.log_moment(order)
        if not self._known:
            return base
        order = 1 - order if self.turned else order
        try:
            if abs(order) < _NEAR_ONE or abs(order - 1) < _NEAR_ONE:
                return self._near_one(order)
            value, error = (float(part[0]) for part in self._ratio.log_moments(np.array([order])))
        except TooFineError:
            return self._at_most(order, base)
        return min(value + error, base) if not 0 < order < 1 else max(value - error, base)

    def _at_most(self, order: float, base: float) -> float:
        """Where the moment itself is too dear."""
        try:
            return float(self._ratio.at_most(np.array([order]))[0])
        except TooFineError:
            return base

    def _near_one(self, order: float) -> float:
        """K is convex and 0 at both ends of orders 0 and 1: outside them it is below the chord to the next
        order that is read, inside above its tangent."""
        end = round(order)
        away, slope = order - end, self._slopes[end]
        if away == 0:
            return 0.0
        outward = away if end else -away
        if outward < 0:
            return -abs(away) * slope
        further = end + math.copysign(_NEAR_ONE, away)
        value, error = (float(part[0]) for part in self._ratio.log_moments(np.array([further])))
        return (value + error) * abs(away) / _NEAR_ONE

    @cached_property
    def _slopes(self) -> tuple[float, float]:
        """|K'| at orders 0 and 1: the Kullback-Leibler divergences of (Q, P) and of (P, Q), at most."""
        # the first by the chord to the next order that is read
        value, error = (float(part[0]) for part in self._ratio.log_moments(np.array([-_NEAR_ONE])))
        return (value + error) / _NEAR_ONE, self._ratio.mean_log()

    def log_moments(self, orders: Array) -> Array:
        return np.array([self.log_moment(order) for order in orders.tolist()])

    @property
    def finite_mean(self) -> float:
        if not self._known:
            return self._base.finite_mean
        try:
            return min(self._slopes[0 if self.turned else 1], self._base.finite_mean)
        except TooFineError:
            return self._base.finite_mean

    @property
    def size(self) -> float:
        # the variance of dP/dQ under Q
        return math.log1p(math.expm1(min(self.shift**2, 700.0)) / self.steps)

    @property
    def told(self) -> float:
        # half the root of the chi-squared divergence
        most = float(gaussian_delta(self.shift, np.zeros(1))[0])
        return min(most, math.sqrt(math.expm1(min(self.shift**2, 700.0)) / self.steps) / 2 * (1 + 8 * EPS))

    @property
    def loss_range(self) -> tuple[float, float]:
        return -math.inf, math.inf

    def outer_losses(self, tilt: float, log_tail: float) -> tuple[float, float]:
        """For tilts 0 and 1, which are Q and P: dP/dQ is at most the largest of the t, and at least their
        geometric mean."""
        if not 0 <= tilt <= 1:
            raise TooFineError(f"a tilt of {tilt}")
        s, t = self.shift, self.steps
        reach = math.sqrt(max(-2 * log_tail, 0.0))
        high = s * (s + math.sqrt(max(2 * (math.log(t + 1) - log_tail), 0.0))) - s * s / 2
        low = -s * reach / math.sqrt(t) - s * s / 2
        return (-high, -low) if self.turned else (low, high)

    def rule_on(self, low: float, high: float, wave: Wave) -> LossRule:
        raise TooFineError("known by its moments only")

    def tails(self, loss: Array) -> Tails:
        raise TooFineError("known by its moments only")

    def profile(self, epsilon: Array) -> Array:
        raise TooFineError("known by its moments only")


@dataclass(frozen=True)
class AllocationCumulant:
    """K(z) = log E_Q[R^{1+z}], or log E_Q[R^{-z}] of the pair turned round."""

    ratio: LognormalMean
    turned: bool
    size: int = 512
    """About as many terms as an integral has: what is dear refuses by itself."""

    def real(self, z: Array) -> Array:
        return self.ratio.at_most(-z if self.turned else 1 + z)

    def line(self, c: float, step: float, stop: int) -> OnLine:
        if not self.turned:
            return self.ratio.line(1 + c, step, stop)
        values, errors = self.ratio.line(-c, step, stop)
        return OnLine(values.conj(), errors)  # -z runs down
