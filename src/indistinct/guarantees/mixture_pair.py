"""Subsampling: the pair when a record takes part with some probability."""

import math
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache

import numpy as np

from indistinct.guarantees.discrete_pair import DiscretePair, at_least
from indistinct.guarantees.noise_pairs import BoundedNoise, GaussianPair
from indistinct.guarantees.pair import LOG_NEGLIGIBLE, Band, MadePair, Pair, Resolution, Tails, Wave
from indistinct.guarantees.split_mixture import SplitMixture
from indistinct.guarantees.tabled_moments import log_chernoff, mixed_moment, tabled_mean, tabled_moment
from indistinct.numerics.arrays import EPS, TINY, Array
from indistinct.numerics.atoms import FiniteLosses
from indistinct.numerics.cumulant import Cumulant, RuleCumulant
from indistinct.numerics.rule import MAX_ENGINE_NODES, MAX_NODES, LossRule, TooFineError, mixed_loss

_SHARPEST = 200.0
"""With a larger Gaussian shift the mixture is too sharp to be integrated..."""
_SHARP = 16.0
"""... and from this one on it may be too sharp for engines: who takes part counts as told then."""
_WHOLE = 256
"""Up to this order powers of 1 - q + q r are written out, where r is known by a table."""
QUICK_LOSS = 9.0
"""Above this base loss, less log q, a negative power that is not small has vanished, and L runs along."""
_DIGITS = 1e-4
"""Products of rates that are closer to 1 than this have too few digits of 1 - q for lower ends."""
_LARGEST = 1 - EPS / 2
"""The largest rate below 1."""
_FAR = 1e16
"""Beside this 1 is nothing."""
SHORT = 1.4
"""Base losses over which the slope of the mixed loss changes by a factor of four at most."""


def mixture(base: Pair, rate: float) -> Pair:
    """((1-rate) Q + rate P, Q) in its simplest form."""
    if rate == 0 or base.tells_nothing:
        return GaussianPair(0.0)
    if rate < TINY:
        return mixture(base.as_bound(), TINY)  # a larger rate tells no less
    if rate == 1:
        return base
    if isinstance(base, GaussianPair) and base.shift > _SHARPEST:
        return _told(base, rate)
    if isinstance(base, MixturePair):
        both = base.rate * rate
        if not (both >= TINY and 1 - both >= _DIGITS):  # a larger rate tells no less
            return MixturePair(base.base.as_bound(), max(min(math.nextafter(both, 1.0), _LARGEST), TINY))
        return MixturePair(base.base, both)
    if isinstance(base, DiscretePair):
        p, q, loss = base.arrays
        finite = np.isfinite(loss)
        mixed = np.where(loss > 0, math.inf, math.log1p(-rate))  # where Q has nothing, or P
        mixed[finite] = mixed_loss(loss[finite], rate)
        # rate e^loss is rounded by as much as its logarithms are long
        top = float(loss.max(where=finite, initial=0.0))
        largest = float(np.abs(mixed).max(where=np.isfinite(mixed), initial=0.0))
        off = base.moved * MixturePair(base, rate).slope(top) + 4 * EPS * (top - math.log(rate)) * largest
        given = np.where(np.isposinf(mixed), 1 + 4 * EPS, 1.0)  # rounded up
        p = at_least(((1 - rate) * q + rate * p) * given, (p > 0) | (q > 0))
        return DiscretePair.of(p, q, mixed, off=off, exact=base.exact)
    return MixturePair(base, rate)


@lru_cache(maxsize=64)
def _whole_moments(base: Pair, last: int) -> Array:
    """The log moments of orders 2, 3, ... up to one."""
    return base.log_moments(np.arange(2.0, last + 1))


def _before(epsilon: Array) -> Array:
    """A little less, so that what was rounded is not more than what it stands for."""
    return np.where(epsilon > 0, epsilon * (1 - 8 * EPS), epsilon * (1 + 8 * EPS))


def _told(base: GaussianPair, rate: float) -> DiscretePair:
    """Whoever takes part is told so, and nobody else: whatever the base is can be made of that. The base
    itself dominates its mixtures too."""
    p, q = np.array([math.nextafter(1 - rate, 0.0), rate]), np.array([1.0, 0.0])
    return replace(DiscretePair.of(p, q, exact=False), beside=base.as_bound())


@dataclass(frozen=True)
class MixturePair(MadePair):
    """P = (1-rate) Q0 + rate P0 against Q = Q0, for any base pair (P0, Q0) and 0 < rate < 1.

    Poisson sampling under add/remove (Zhu, Dong and Wang 2022, Theorem 11): L = log(1-q+q e^{L0}).
    """

    base: Pair
    rate: float

    @property
    def above(self) -> tuple[Pair, ...]:
        if isinstance(self.base, GaussianPair):
            return (
                (_told(self.base, self.rate), self.base.as_bound()) if self.base.shift > _SHARP else (self,)
            )
        return tuple(mixture(one, self.rate) for one in self.base.above)

    def listed(self, log_cut: float | None) -> FiniteLosses | None:
        if (base := self.base.listed(log_cut)) is None:
            return None
        loss = mixed_loss(base.loss, self.rate)
        moved = base.moved + 8 * EPS * float(np.abs(loss).max())
        return FiniteLosses((1 - self.rate) * base.q + self.rate * base.p, base.q, loss, moved)

    @property
    def stand_in(self) -> Pair:
        return self._table if self.profiled else self

    @cached_property
    def _table(self) -> DiscretePair:
        table = mixture(self.base.stand_in, self.rate)
        assert isinstance(table, DiscretePair)
        return table

    def remade(self, change: Callable[[Pair], Pair]) -> Pair:
        # of no pair a delta is larger than that of the base, so it is `coarse` where that one is
        return mixture(change(self.base), self.rate)

    def likely_epsilon(self, log_delta: float) -> float:
        if not self.profiled:
            return super().likely_epsilon(log_delta)
        return self.mixed(self.base.likely_epsilon(min(log_delta - math.log(self.rate), -1e-9)))

    @property
    def atoms(self) -> tuple[float, ...]:  # type: ignore[override]
        return tuple(mixed_loss(np.array(self.base.atoms), self.rate).tolist())

    @property
    def given_away(self) -> tuple[float, float]:  # type: ignore[override]
        return self.rate * self.base.infinite_mass, 0.0

    def rule(self, resolution: Resolution) -> LossRule:
        low, high = self.base_range(resolution)
        return self.base.joined(self.pieces(low, high, resolution), low, high).mixed(self.rate)

    def log_envelope(self, resolution: Resolution) -> float:
        if not isinstance(self.base, BoundedNoise):
            return 0.0
        log_moment = self.computed_log_moment(resolution.orders[0])
        return self.base.sampled_envelope(self.rate, resolution, log_moment)

    @property
    def splits(self) -> bool:  # type: ignore[override]
        return isinstance(self.base, GaussianPair)

    @property
    def apart(self) -> SplitMixture:
        """Of sampled Gaussian noise: its losses, rare ones split off."""
        assert isinstance(self.base, GaussianPair)
        return SplitMixture(self, self.base.shift)

    def split(self, resolution: Resolution, band: Band, kind: int) -> tuple[Cumulant, LossRule | None]:
        if not self.splits:
            return super().split(resolution, band, kind)
        bulk, jumps = self.apart.rules(self.base_range(resolution), resolution, band, kind)
        return RuleCumulant(bulk), jumps

    def split_envelope(self, resolution: Resolution, band: Band, kind: int) -> float:
        if not self.splits:
            return super().split_envelope(resolution, band, kind)
        return self.apart.envelope(self.base_range(resolution), resolution, band, kind)

    def pieces(
        self, low: float, high: float, resolution: Resolution, more_sharpness: float = 0.0
    ) -> list[LossRule]:
        """Base rules on consecutive intervals, each as fine as L varies there: the slope of L in L0
        rises from nothing to 1, so most of the range needs few points."""
        pieces, top, size = [], high, 0
        # above this base loss a negative power that is not small has vanished, and L runs along with L0
        plain = QUICK_LOSS - math.log(self.rate)
        while True:
            slope = self.slope(top)
            bottom = plain if top > plain + SHORT else top - SHORT
            power = self._power(resolution.orders, bottom)
            # d^2 L / d L0^2 = slope (1 - slope); only negative powers of e^L are sharpened by it
            bend = min(slope, 0.25) if bottom < plain else math.exp(-QUICK_LOSS)
            sharpness = (power if resolution.orders[0] < 0 else 0.0) * bend
            quick = slope * max(resolution.frequency, power) > 16.0 or sharpness > 16.0
            if bottom < plain and not quick:
                bottom, power = low, self._power(resolution.orders, low)
                sharpness = max(-resolution.orders[0], 0.0) * bend
            bottom = bottom if bottom > low + SHORT / 2 else low
            wave = Wave(slope * power, slope * resolution.frequency, sharpness + more_sharpness)
            pieces.append(self.base.rule_on(bottom, top, wave))
            size += pieces[-1].loss.size
            if size > (MAX_NODES if resolution.log_cut is None else MAX_ENGINE_NODES):
                raise TooFineError(f"{size} quadrature nodes")
            if bottom == low:
                return pieces
            top = bottom

    def _power(self, orders: tuple[float, float], loss: float) -> float:
        """The orders that count above a base loss: negative ones that vanish there need not be resolved."""
        first, last = orders
        mixed = self.mixed(loss)
        return max(min(-first, -2 * LOG_NEGLIGIBLE / mixed) if mixed > 0 else -first, abs(last))

    def base_range(self, resolution: Resolution) -> tuple[float, float]:
        """Which base losses matter for (dP/dQ)^w: all but a negligible part, and but for the mass
        that may be cut where L is largest (w >= 1) or smallest (w <= 0, the reversed pair)."""
        first, last = resolution.orders
        log_cut = resolution.log_cut
        if last >= 1 and log_cut is not None:
            high = self._cut(log_cut)
        elif last > 0:
            high = self._highest(max(last, 1.0))
        else:
            high = self._vanishing(last)
        if first < 0 and log_cut is not None:
            low, _ = self.base.outer_losses(0.0, log_cut)
        else:
            low = self._lowest(min(first, 0.0))
        return low, high

    def _cut(self, log_cut: float) -> float:
        """A base loss above which (1-q) Q0 + q P0 has at most e^{log_cut} of its mass."""
        _, high = self.base.outer_losses(0.0, log_cut - math.log(2))
        log_rest = log_cut - math.log(2 * self.rate)
        return max(high, self.base.outer_losses(1.0, log_rest)[1]) if log_rest < 0 else high

    def _highest(self, order: float) -> float:
        """Where the base's (dP/dQ)^a ends, a being what an order from 1 on amounts to there."""
        tilt = order
        for _ in range(200):
            _, high = self.base.outer_losses(tilt, LOG_NEGLIGIBLE)
            closer = order * self.slope(high)
            if closer >= 0.99 * tilt:
                break
            tilt = closer
        return high

    def _lowest(self, order: float) -> float:
        """A base loss below which Q times e^{order L}, order <= 0, is negligible: E_Q[e^{order L}] is at
        least 1 and L at least log(1 - q), so a small enough mass makes up for the largest power there."""
        log_tail = LOG_NEGLIGIBLE
        for _ in range(200):
            low, _ = self.base.outer_losses(0.0, log_tail)
            further = LOG_NEGLIGIBLE - order * self.mixed(low)
            if further >= 1.001 * log_tail:
                break
            log_tail = further
        return self.base.outer_losses(0.0, 1.01 * log_tail - 10.0)[0] if order else low

    def _vanishing(self, order: float) -> float:
        """A base loss above which Q times e^{order L}, order <= 0, is negligible. Q itself ends further out:
        many lines of reversed pairs would be too fine to be drawn up to there."""
        near, far = 0.0, LOG_NEGLIGIBLE
        for _ in range(8):
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
        if loss > 300.0:
            moved = loss + math.log(self.rate)
            if moved <= 0:
                return math.log1p(math.exp(moved) - self.rate)
            return moved + math.log1p((1 - self.rate) * math.exp(-moved))
        gain = self.rate * math.expm1(loss)
        return math.log1p(gain) if gain > -0.5 else math.log((1 - self.rate) + self.rate * math.exp(loss))

    def _mixed_up(self, loss: float) -> float:
        """The same, rounded up."""
        lost = 4 * EPS * (loss - math.log(self.rate)) * self.slope(loss) if loss > 300.0 else 0.0
        return self.mixed(loss) * (1 + 4 * EPS) + lost

    def rule_on(self, low: float, high: float, wave: Wave) -> LossRule:
        ends = self.unmixed(np.array([low, high]))
        base_low = max(float(ends[0]), self._lowest(-wave.power))
        base_high = min(float(ends[1]), self._highest(1 + wave.power))
        wave = wave._replace(sharpness=wave.sharpness + wave.power)
        return self.base.rule_on(base_low, base_high, wave).mixed(self.rate)

    def outer_losses(self, tilt: float, log_tail: float) -> tuple[float, float]:
        low, _ = self.base.outer_losses(min(tilt, 0.0), log_tail)
        high = self._cut(log_tail) if tilt == 1 else self.base.outer_losses(max(tilt, 0.0), log_tail)[1]
        return self.mixed(low), self._mixed_up(high)

    def unmixed(self, loss: Array) -> Array:
        """The base loss l0 with log(1 - q + q e^{l0}) = loss, minus infinity below log(1-q)."""
        q = self.rate
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            gain = np.expm1(np.minimum(loss, 1.0))
            near = np.log1p(np.clip(gain / q, -1.0, 1e300))
            near = np.where(gain > 1e300 * q, np.log(gain) - math.log(q), near)
            far = loss + np.log1p(-(1 - q) * np.exp(-np.maximum(loss, 0.0))) - math.log(q)
        return np.where(loss < 1.0, near, far)

    def tails(self, loss: Array) -> Tails:
        p_above, q_above, p_below, q_below = self.base.tails(self.unmixed(loss))
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
        base_epsilon = self.unmixed(epsilon)
        inner = self.rate * self.base.profile(_before(np.maximum(base_epsilon, -745.0))) * (1 + 4 * EPS)
        return np.where(base_epsilon > -math.inf, inner, -np.expm1(np.minimum(epsilon, 0.0)))

    def reversed_profile(self, epsilon: Array) -> Array:
        # (1 - (1-q) e^eps) times the base's: a sum below 0, q e^eps (1 + r) up to 1, what is left above
        q, log_in, log_out = self.rate, math.log(self.rate), math.log1p(-self.rate)
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            ratio = np.expm1(-epsilon) / q
            ratio = np.maximum(ratio + 8 * EPS * np.abs(ratio), -1.0)
            log_more = np.where(ratio < _FAR, np.log1p(ratio), np.log(-np.expm1(epsilon)) - epsilon - log_in)
            log_left = np.log(-np.expm1(np.minimum(_before(epsilon) + log_out * (1 + 8 * EPS), 0.0)))
            lost = 8 * EPS * (np.abs(epsilon) - log_in + np.abs(log_left))
            inside = q * np.exp(epsilon) * (1 + ratio)
            some = np.where(epsilon < 0, q * np.exp(epsilon) - np.expm1(epsilon), inside) * (1 + 8 * EPS)
            far = epsilon > 1
            base_epsilon = np.where(far, epsilon + log_in - log_left - lost, _before(-log_more))
            left = np.where(far, np.exp(log_left) * (1 + 8 * EPS * (1 + np.abs(log_left))), some)
            open_ = left > 0
            inner = self.base.reversed_profile(np.where(open_, np.maximum(base_epsilon, -745.0), 0.0))
        return np.where(open_, np.minimum(left * inner, 1.0), 0.0)

    @property
    def size(self) -> float:
        # E_Q[(dP/dQ)^2] = 1 + q^2 (E_Q[(dP0/dQ0)^2] - 1)
        return math.log1p(self.rate**2 * math.expm1(min(self.base.size, 700.0)))

    @property
    def loss_range(self) -> tuple[float, float]:
        low, high = self.base.loss_range
        told = low == -math.inf or self.base.given_away[1] > 0  # of Q alone, that no sample has it
        bottom = math.log1p(-self.rate) if told else self.mixed(max(low, -800.0))
        return bottom * (1 + 4 * EPS), self._mixed_up(high)

    @cached_property
    def finite_mean(self) -> float:
        if not self.profiled:
            return super().finite_mean
        # divergences do not fall with the order, and this one is convex
        convex = self.rate * self.base.finite_mean * (1 + 4 * EPS)
        return min(tabled_mean(self._table, self._log_far), self._mixed_moment(2.0), convex)

    def _mixed_moment(self, order: float) -> float:
        whole = _whole_moments(self.base, 1 << max(math.ceil(order) - 1, 1).bit_length())
        return mixed_moment(self.rate, order, whole)

    def _log_far(self, power: float) -> float:
        return log_chernoff(power, self._plain_moment(1 + power))

    def log_moment(self, order: float) -> float:
        if self.profiled:
            known = tabled_moment(self._table, order, self._log_far)
            if 1 < order <= _WHOLE:
                known = min(known, self._mixed_moment(order))
            return min(known, self._plain_moment(order)) if order > 1 else known
        # no loss is smaller than the smallest, and where the base alone decides the bound is tight
        if order < -1e6 or (order > 1e4 and self.base.log_moment(order) > -order * math.log(self.rate)):
            return self._plain_moment(order)
        bounds: list[float] = []
        for bound in (super().log_moment, self._plain_moment):
            with suppress(TooFineError):
                bounds.append(bound(order))
        return max(bounds, default=-math.inf) if 0 <= order <= 1 else min(bounds, default=math.inf)

    def _plain_moment(self, order: float) -> float:
        """A bound that needs no rule: Minkowski's, ||1 - q + q r||_w <= 1 - q + q ||r||_w, from order 1 on;
        below 0 no loss is smaller than log(1 - q), and between them r^w is concave."""
        if order < 0:
            return order * math.log1p(-self.rate) * (1 + 4 * EPS)
        power = max(order, 1.0)
        loss = self.base.log_moment(order) / power * (1 + 8 * EPS)
        return power * self.mixed(loss) * (1 + 8 * EPS)
