"""The pairs of noise on the integers, by how far a neighbour moves the centre: discrete Gaussian and Laplace.

A larger move dominates a smaller one: both laws are log-concave, so the best tests are half-lines.
"""

import math
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from indistinct.guarantees.discrete_pair import DiscretePair
from indistinct.guarantees.noise_pairs import GaussianPair, LaplacePair
from indistinct.guarantees.pair import LOG_NEGLIGIBLE, Pair, Resolution, Tails, Wave
from indistinct.guarantees.pair_kinds import SymmetricPair
from indistinct.numerics.arrays import EPS, Array
from indistinct.numerics.atoms import MAX_ATOMS, FiniteLosses
from indistinct.numerics.rule import LossRule, TooFineError

FINE = 1024.0
"""From this scale on a discrete Gaussian is a rounded continuous one to ten digits."""
_MANY_STEPS = 4096
_LONG = 600.0
_MOST_TERMS = 1 << 22
_FAR = 1e15
"""Numbers that never occur."""
_DUAL = 0.5
_REACH = 37.5
"""Standard deviations within which tails are tabulated: e^{-37.5^2/2} is still a normal float."""
_NO_NUMBER = -700.0
"""Smaller logarithms are not read off numbers."""
_TERMS = 1.1
"""Of tails that are not tabulated: what is left out after so many deviations is e^{-41} of the first."""


def discrete_laplace_pair(shift: int, scale: float) -> Pair:
    """P(k) proportional to e^{-|k - shift|/scale} against Q(k) to e^{-|k|/scale}.

    The losses are (2j - shift)/scale for j = 0, ..., shift: the profile agrees with the continuous one at
    these and is linear in e^epsilon in between. With many of them the pair is dominated by the continuous one
    of loss shift/scale + 2 log cosh(1/(2 scale)): between two of these points, sqrt(x) exceeds its chord at
    most by the factor cosh(1/(2 scale)).
    """
    if shift == 0:
        return GaussianPair(0.0)
    if shift > _MANY_STEPS or shift / scale > _LONG:
        slack = 2 * _log_cosh(1 / (2 * scale))
        return LaplacePair((shift / scale + slack) * (1 + 4 * EPS), dominates=True)
    rate = 1 / scale
    between = np.exp(-rate * np.arange(1, shift)) * -math.expm1(-rate)
    q = np.concatenate(([1.0], between, [math.exp(-rate * shift)])) / (1 + math.exp(-rate))
    return DiscretePair.of(q[::-1], q, rate * (2 * np.arange(shift + 1.0) - shift))


def discrete_gaussian_pair(shift: float, scale: float) -> Pair:
    """P(k) proportional to e^{-(k - shift)^2/(2 scale^2)} against the same around 0, k an integer.

    On a fine lattice it is dominated by a continuous pair: the Gaussian of variance s^2 rounded to integers
    has masses e^{-k^2/(2 s^2)} times the moment generating function at k/s^2 of a law on [-1/2, 1/2] with
    variance at most 1/12, so it is the discrete Gaussian of variance s^2 + 1/12 up to a factor
    e^{(k/s^2)^4/96}; rounding is post-processing. Over 40 standard deviations that factor, and what is left
    out beyond, is less than what a shift larger by 3e4/scale^4 adds. So it holds for vectors too: `shift` is
    then their Euclidean distance. From below, with Gaussian noise of variance 4 added it is the continuous
    Gaussian of variance scale^2 + 4, up to a factor 1 + e^-78 (Poisson's summation formula).
    """
    if shift == 0:
        return GaussianPair(0.0)
    if scale < FINE:
        return DiscreteGaussianPair(math.ceil(shift), scale)
    narrow = math.sqrt(1 - 0.0834 * scale**-2) * scale
    least = shift / math.hypot(scale, 2.0) * (1 - 1e-12)
    return GaussianPair(shift / narrow * (1 + 3e4 * scale**-4 + 4 * EPS), dominates=True, least=least)


@dataclass(frozen=True)
class DiscreteGaussianPair(SymmetricPair):
    """Integer noise of one number: L = (shift/scale^2)(k - shift/2)."""

    exact = True
    shift: int
    scale: float
    upper: bool = True
    """Which bound its profile is."""

    @property
    def from_below(self) -> Pair:
        return replace(self, upper=False)

    @property
    def unit(self) -> float:  # type: ignore[override]
        return self._spacing if self.shift % 2 == 0 else self._spacing / 2

    @property
    def _spacing(self) -> float:
        return self.shift / self.scale**2

    @property
    def _moved(self) -> float:
        return self.shift / self.scale

    def _loss(self, k: Array) -> Array:
        return self._spacing * (k - self.shift / 2)

    def _place(self, loss: Array) -> Array:
        """The number with this loss, an integer wherever it is one up to rounding."""
        place = np.clip(loss / self._spacing + self.shift / 2, -_FAR, _FAR)
        nearest = np.rint(place)
        return np.where(np.abs(place - nearest) <= 64 * EPS * (1 + np.abs(place)), nearest, place)

    def rule_on(self, low: float, high: float, wave: Wave) -> LossRule:
        first, last = np.floor(self._place(np.array([low, high])))
        if last - first > _MOST_TERMS:
            raise TooFineError(f"{last - first} lattice points")
        k = np.arange(first + 1, last + 1)
        return LossRule(self._loss(k), -0.5 * (k / self.scale) ** 2 - self._log_total)

    def rule(self, resolution: Resolution) -> LossRule:
        reaches = [self.outer_losses(order, LOG_NEGLIGIBLE) for order in (*resolution.orders, 0.0, 1.0)]
        low, high = min(low for low, _ in reaches), max(high for _, high in reaches)
        return self.joined([self.rule_on(low, high, Wave(0.0, 0.0, 0.0))], low, high)

    def outer_losses(self, tilt: float, log_tail: float) -> tuple[float, float]:
        # (dP/dQ)^tilt dQ is the same law around c = tilt shift; its mass beyond c + r is at most
        # (1 + sqrt(pi/2) scale) e^{(1/4 - r^2)/(2 scale^2)}: a sum of such terms over the largest of all
        room = math.log1p(1.26 * self.scale) + max(-log_tail, 0.0)
        reach = math.sqrt(2 * self.scale**2 * room + 0.25) + 1
        centre = (tilt - 0.5) * self.shift
        return self._spacing * (centre - reach), self._spacing * (centre + reach)

    def listed(self, log_cut: float | None) -> FiniteLosses | None:
        if log_cut is None:
            return None
        ends = [self.outer_losses(tilt, log_cut - math.log(2)) for tilt in (0.0, 1.0)]
        low, high = self._place(np.array([ends[0][0], ends[1][1]]))
        if high - low > MAX_ATOMS:
            raise TooFineError(f"{high - low} numbers")
        k = np.arange(math.floor(low), math.ceil(high) + 1.0)
        p, q = (np.exp(-0.5 * ((k - moved) / self.scale) ** 2 - self._log_total) for moved in (self.shift, 0))
        return FiniteLosses(p, q, loss := self._loss(k), 8 * EPS * float(np.abs(loss).max()))

    @cached_property
    def _log_total(self) -> float:
        integral = math.log(self.scale * math.sqrt(2 * math.pi)) if self.scale > _DUAL else 0.0
        return integral + float(_log_theta(np.zeros(1), self.scale)[0])

    @cached_property
    def _log_survival(self) -> Array:
        """log P(noise >= k) for k = 1, 2, ..."""
        k = np.arange(1.0, max(math.floor(_REACH * self.scale), 1.0) + 1)
        masses = np.exp(-0.5 * (k / self.scale) ** 2 - self._log_total)
        beyond = math.exp(max(float(self._log_beyond(k[-1:] + 1)[0]), -745.0))
        with np.errstate(divide="ignore"):
            tails: Array = np.log(np.cumsum(masses[::-1])[::-1] + beyond)
        far = tails < _NO_NUMBER
        tails[far] = self._log_beyond(k[far])
        return tails

    def _log_beyond(self, k: Array) -> Array:
        """log P(noise >= k) far out, where a term is less than the one before by e^{-k/scale^2}."""
        with np.errstate(over="ignore"):
            first: Array = -0.5 * (k / self.scale) ** 2 - self._log_total
            rest = np.zeros_like(k)
            for j in range(math.ceil(_TERMS * self.scale) + 1, 0, -1):
                rest += np.exp(-(2 * k + j) * (j / (2 * self.scale**2)))
        return first + np.log1p(rest)

    @cached_property
    def _both_sides(self) -> Array:
        """log P(noise >= k) for k = -size, ..., size."""
        above = self._log_survival
        with np.errstate(divide="ignore"):
            below = np.log1p(-np.exp(above))  # P(noise >= 1 - k) is what P(noise >= k) leaves
        return np.concatenate(([0.0], below[::-1], above))

    def _survival(self, k: Array) -> Array:
        """log P(noise >= k) for integers k of either sign."""
        size = self._log_survival.size
        result: Array = self._both_sides[(np.clip(k, -size, size) + size).astype(np.int64)]
        if (far := k > size).any():
            result[far] = self._log_beyond(k[far])
        return result

    def tails(self, loss: Array) -> Tails:
        above = np.floor(self._place(loss)) + 1  # the first number with a larger loss
        return Tails(
            self._survival(above - self.shift),
            self._survival(above),
            self._survival(1 - above + self.shift),
            self._survival(1 - above),
        )

    def profile(self, epsilon: Array) -> Array:
        flat = np.minimum(epsilon, 1e15)
        above = np.floor(self._place(flat)) + 1
        # within rounding of an atom it is not known whether that counts: then the larger delta of the two
        earlier = np.ceil(self._place(flat))
        value = np.maximum(self._excess(above, flat), self._excess(earlier, flat))
        return np.clip(np.maximum(value, -np.expm1(np.minimum(flat, 0.0))), 0.0, 1.0)

    def _excess(self, first: Array, epsilon: Array) -> Array:
        """P(noise >= first) - e^epsilon Q(noise >= first), rounded up, or down."""
        log_p, log_q = self._survival(first - self.shift), self._survival(first)
        guard = EPS * (32 + 8 * np.minimum(np.abs(log_q), 1 / EPS)) * (1 if self.upper else -1)
        return np.exp(log_p) * (-np.expm1(np.minimum(epsilon + log_q - log_p, 0.0)) + guard)

    @property
    def loss_range(self) -> tuple[float, float]:
        return -math.inf, math.inf

    def scaled(self, size: int) -> Pair:
        return DiscreteGaussianPair(size * self.shift, self.scale)

    def log_moment(self, order: float) -> float:
        return float(self.log_moments(np.array([order]))[0])

    def log_moments(self, orders: Array) -> Array:
        """log E_Q[(dP/dQ)^w] = w(w-1) shift^2/(2 scale^2) + log theta(w shift) - log theta(0), theta(c) being
        the sum of e^{-(k-c)^2/(2 scale^2)}: at most the Gaussian one (Canonne, Kamath and Steinke 2020,
        Proposition 5)."""
        with np.errstate(over="ignore"):  # an infinite divergence is a bound
            whole = orders * (orders - 1) * self._moved**2 / 2
        change = _log_theta((orders - 1) * self.shift, self.scale) - _log_theta(np.zeros(1), self.scale)
        value = whole + change
        waves = min(math.exp(-2 * (math.pi * self.scale) ** 2), 1.0) if self.scale > _DUAL else 2.0
        guard = 8 * EPS * (np.abs(whole) + np.abs(change) + waves)
        # between 0 and 1 the logarithm is negative, and more so means a larger divergence
        inside = (orders > 0) & (orders < 1)
        guarded: Array = value + np.where(inside, -guard, guard)
        return np.where(inside, guarded, np.minimum(guarded, whole * (1 + 8 * EPS)))

    @property
    def finite_mean(self) -> float:
        return self._moved**2 / 2 * (1 + 4 * EPS)


def _log_theta(centre: Array, scale: float) -> Array:
    """log of the sum over integers k of e^{-(k - centre)^2/(2 scale^2)}; where Poisson's formula converges
    faster, relative to the integral over k."""
    off = centre - np.rint(centre)
    if scale > _DUAL:
        k = np.arange(1, 5)
        waves = np.exp(-2 * (math.pi * scale * k) ** 2) * np.cos(2 * math.pi * np.multiply.outer(off, k))
        result: Array = np.log1p(2 * waves.sum(axis=-1))
        return result
    k = np.arange(-6, 7)
    with np.errstate(over="ignore", under="ignore"):
        # relative to the nearest integer, whose term is the largest
        terms = np.exp(-(k * (k - 2 * off[..., None])) / (2 * scale**2))
        result = -0.5 * (off / scale) ** 2 + np.log(terms.sum(axis=-1))
    return result


def _log_cosh(x: float) -> float:
    return x + math.log1p(math.exp(-2 * x)) - math.log(2.0) if x > 1 else 0.5 * math.log1p(math.sinh(x) ** 2)
