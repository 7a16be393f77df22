"""Random allocation: each record joins exactly one of several noisy steps, drawn at random."""

import math
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from scipy.special import ndtri_exp

from indistinct.guarantees.mixture_pair import mixture
from indistinct.guarantees.noise_pairs import GaussianPair
from indistinct.guarantees.pair import Pair, Resolution, Tails, Wave
from indistinct.guarantees.pair_kinds import OwnPair
from indistinct.guarantees.product import Product
from indistinct.numerics.arrays import EPS, Array
from indistinct.numerics.contour import ACCURACY
from indistinct.numerics.cumulant import Cumulant, OnLine
from indistinct.numerics.high_orders import LEAST_ORDER, HighOrders
from indistinct.numerics.lognormal_mean import MOST_WHOLE, LognormalMean
from indistinct.numerics.normal import gaussian_delta
from indistinct.numerics.rule import LossRule, TooFineError

_SHARPEST = 12.0
"""With a larger shift allocation is not credited: the Gaussian pair, which dominates, is read instead."""
_FLATTEST = 1e-5
"""With a smaller one neither: integrals have too many places."""
_HEAVY = 0.7
"""From this shift on moments of high orders are those of far tails."""
_FEW_POWERS, _FAR = 45.0, 10.0
"""A power series does it if its variable is at most the first, the normal one being the second..."""
_POSITIVE, _NEGATIVE, _REAL = 20.0, 128.0, 2000.0
"""... else moments of lower orders than these, of a mean, of its inverse, and real ones of that, cost less as
low ones."""
_NEAR = 1.7
"""Beyond so many times the order where a far tail takes over it is cut off..."""
_HIGHER = 1.8
"""... or, at the least, so many times it..."""
_LITTLE = -8.0
"""... where the cut has at most e to this of the tilted law."""
_NEAR_ONE = 1e-3
"""Orders nearer to 1 are read by convexity: there a difference from 1 has few digits."""


def allocation(shift: float, steps: int, times: int = 1) -> Product:
    """Of `steps` steps of Gaussian noise, `times` of which, drawn at random, a record moves by `shift`
    deviations.

    To draw several is to divide the steps at random into as many equal parts, and to draw one of each: who
    knows how they were divided sees several allocations over fewer steps, which dominate (Feldman and
    Shenfeld 2025). Who sees only the sum of all steps sees Gaussian noise, moved by times / sqrt(steps)
    shifts.
    """
    if shift == 0 or times == 0 or times == steps:
        return Product.of([(GaussianPair(shift), times)])
    least = shift * math.sqrt(times / steps) * (1 - 8 * EPS)
    if not _FLATTEST <= shift <= _SHARPEST or steps // times == 1:
        return Product.of([(GaussianPair(shift, dominates=True, least=least), times)])
    return Product.of([(AllocationPair(shift, steps // times, dominates=times > 1, least=least), times)])


@dataclass(frozen=True)
class AllocationPair(OwnPair):
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
    least: float = field(default=0.0, repr=False)
    """The shift of a Gaussian pair that what it stands for dominates: the sum of all steps tells no more."""

    by_moments = True

    @property
    def _ratio(self) -> LognormalMean:
        return LognormalMean(self.shift, self.steps)

    @property
    def _base(self) -> GaussianPair:
        return GaussianPair(self.shift)

    def as_bound(self) -> "AllocationPair":
        return replace(self, dominates=True, least=0.0)

    @property
    def below(self) -> tuple[tuple[tuple[Pair, int], ...], ...]:
        found: list[Pair] = [GaussianPair(self.least)] if self.least else []
        if not self.dominates:  # a single step, in which each record is as if it were sampled
            one = mixture(self._base, math.nextafter(1 / self.steps, 0.0))
            found.append(one.reverse() if self.turned else one)
        return tuple(((pair, 1),) for pair in found) or ((),)

    @property
    def above(self) -> tuple[Pair, ...]:
        return (GaussianPair(self.shift, dominates=True),)

    def reverse(self) -> Pair:
        return replace(self, turned=not self.turned)

    def cumulant(self, resolution: Resolution) -> Cumulant:
        cut, most = self._cut(resolution.log_cut), resolution.orders[1]
        return AllocationCumulant(self._ratio, self.turned, cut, most)

    def _cut(self, log_cut: float | None) -> float:
        """Where Z is cut, if it is, so that all of P but e^log_cut is kept.

        At an order a of about 2 log t / s^2 a far tail takes over, that no delta sees. Where a single epoch
        would be read at a higher one that tail is cut off, if nothing happens at the place of the cut: at
        that order, or at one that is higher than a.
        """
        s, t = self.shift, self.steps
        if log_cut is None or self.turned:
            return math.inf
        cut = s - float(ndtri_exp(log_cut - math.log(t)))
        order = math.sqrt(2 * max(-log_cut + math.log(ACCURACY), 1.0) / self.size)
        far = 2 * math.log(t) / (s * s)
        tried = 0.7 * min(order, _HIGHER * far)
        at_cut = math.log(t) - cut * cut / 2 + tried / t * math.expm1(min(s * cut - s * s / 2, 50.0))
        return cut if order > _NEAR * far and at_cut < _LITTLE else math.inf

    def log_envelope(self, resolution: Resolution) -> float:
        fall, cut = self._ratio.log_fall(resolution.frequency), self._cut(resolution.log_cut)
        if math.isinf(cut):
            return fall
        # given the differences of all Z their mean is normal, and cut at one place: with a jump b there, its
        # transform is at most that of all of it and 2b / (s frequency); and the mean of b is dM/dcut
        jump = math.exp(min(HighOrders(self.shift, self.steps, cut).log_jump(resolution.orders[0]), 700.0))
        width = math.sqrt(math.pi / (2 * self.steps))
        return min(
            math.log(math.exp(fall) * (1 + jump * width) + 2 * jump / (self.shift * resolution.frequency)),
            0.0,
        )

    def log_moment(self, order: float) -> float:
        base = self._base.log_moment(order)
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

    @property
    def finite_mean(self) -> float:
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
        # ... or, with all below a place that one of them seldom passes, Bernstein's (Boucheron et al. 2013,
        # Theorem 2.10), but for the one that P moves
        rare = math.log(2 * t) - log_tail
        one = math.exp(min(s * math.sqrt(2 * rare) + s * s / 2, 600.0))
        variance = math.expm1(min(s * s, 600.0)) / t
        high = min(high, math.log1p(math.sqrt(2 * variance * rare) + (1 + rare / 3) * one / t))
        low = -s * reach / math.sqrt(t) - s * s / 2
        return (-high, -low) if self.turned else (low, high)

    def rule_on(self, low: float, high: float, wave: Wave) -> LossRule:
        raise TooFineError("known by its moments only")

    def tails(self, loss: Array) -> Tails:
        raise TooFineError("known by its moments only")

    def profile(self, epsilon: Array) -> Array:
        raise TooFineError("known by its moments only")

    reversed_profile = profile


@dataclass(frozen=True)
class AllocationCumulant:
    """K(z) = log E_Q[R^{1+z}], or log E_Q[R^{-z}] of the pair turned round."""

    ratio: LognormalMean
    turned: bool
    cut: float = math.inf
    """Of Z: what is above is left out."""
    most: float = math.inf
    """No order is larger: bounds on all of them are of one kind, so that differences make sense."""
    size: int = 512
    """About as many terms as an integral has: what is dear refuses by itself."""

    @property
    def _high(self) -> HighOrders:
        return HighOrders(self.ratio.scale, self.ratio.count, self.cut)

    def _least_high(self, order: float, frequency: float, else_: float) -> float:
        """From which order on moments are read as high ones, if they can be: they cost less where a power
        series does it, up to an order and a frequency."""
        if self.ratio.scale >= _HEAVY:
            return math.inf
        # an integral reaches so many times further
        reach = 1 + 42 / order + math.sqrt(84 / order)
        largest = reach * math.hypot(order, frequency) / self.ratio.count
        largest *= math.expm1(_FAR * self.ratio.scale)
        return LEAST_ORDER if largest <= _FEW_POWERS else else_

    def real(self, z: Array) -> Array:
        orders, result = -z if self.turned else 1 + z, np.full(z.shape, math.inf)
        if self.turned:
            high = z >= self._least_high(self.most, 0.0, _REAL)
        else:  # whole orders are known, but neither of a law that is cut nor far out
            known = self.ratio.scale >= _HEAVY or (math.isinf(self.cut) and self.most <= MOST_WHOLE)
            high = np.full(z.shape, not known)
        if high.any():
            result[high] = self._high.at_most(orders[high])
        result[result > orders * (orders - 1) * self.ratio.scale**2 / 2] = math.inf
        left = ~np.isfinite(result)
        if left.any():
            result[left] = self.ratio.at_most(orders[left])
        return result

    def line(self, c: float, step: float, stop: int) -> OnLine:
        order = c if self.turned else 1 + c
        y: Array = step * np.arange(stop, dtype=np.float64)
        if order >= self._least_high(order, float(y[-1]), _NEGATIVE if self.turned else _POSITIVE):
            try:
                return self._high.negative(np.array([c]), y) if self.turned else self._high.line(order, y)
            except TooFineError:
                pass
        if self.turned:
            values, errors = self.ratio.line(-c, step, stop)
            return OnLine(values.conj(), errors)  # -z runs down
        values, errors = self.ratio.line(1 + c, step, stop)
        if math.isfinite(self.cut):
            missing = float(self._high.log_missing(np.array(1 + c), self.cut))
            errors = errors + np.exp(np.minimum(missing + values[0].real - values.real, 700.0))
        return OnLine(values, errors)
