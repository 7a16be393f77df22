"""Sampled Gaussian losses, many at once: similar ones are integrated on the same nodes, a row for each.

L = log(1 - q + q e^{mu x - mu^2/2}) with x normal under Q. A composition of a hundred phases then costs
little more than one phase: what takes time is the number of calls, not the numbers.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from scipy.special import expit, ndtr

from indistinct.guarantees.mixture_pair import QUICK_LOSS, SHORT, MixturePair
from indistinct.guarantees.noise_pairs import GaussianPair
from indistinct.guarantees.pair import LOG_NEGLIGIBLE, Pair, Resolution, ReversedPair
from indistinct.numerics.arrays import EPS, Array
from indistinct.numerics.cumulant import RuleCumulant
from indistinct.numerics.envelope import mixture_envelopes
from indistinct.numerics.rule import LossRule, graded_panels, mixed_loss

_MOST = 64
"""Laws on the same nodes: their tables are held in memory."""


@dataclass(frozen=True, eq=False)
class SampledGaussians:
    """Losses of sampled Gaussian noise with their counts, all in the same direction."""

    shifts: Array  # columns
    rates: Array
    counts: Array
    turned: bool
    _known: dict[tuple[float, float, float | None], tuple[float, float]] = field(default_factory=dict)
    _known_cells: dict[tuple[float, float], tuple[Array, Array, Array, Array]] = field(default_factory=dict)

    def cumulant(self, resolution: Resolution) -> RuleCumulant:
        """K of them all."""
        own = self._own(resolution)
        rule = self._rule_on(*self._reach(own), own)
        return RuleCumulant(rule.reversed() if self.turned else rule, self.counts)

    def log_envelope(self, resolution: Resolution) -> float:
        """`Pair.log_envelope` of them all."""
        own = self._own(resolution)
        ends = self._reach(own)
        bounds, values = mixture_envelopes(self.shifts, self.rates, own.orders[0], own.frequency, *ends)
        return float(self.counts @ np.minimum(bounds - values, 0.0))

    def both_cumulants(self, resolution: Resolution) -> RuleCumulant:
        """K of them all, and of them all reversed, on the same nodes."""
        order = resolution.orders[1]
        rule = self._rule_on(*self._both_reach(resolution), resolution._replace(orders=(1 - order, order)))
        return RuleCumulant((rule.reversed() if self.turned else rule).both_ways(), self.counts)

    def both_envelopes(self, resolution: Resolution) -> Array:
        """`log_envelope` of them all, and of them all reversed."""
        order = resolution.orders[1]
        orders, ends = np.array([[[order]], [[1 - order]]]), self._both_reach(resolution)
        bounds, values = mixture_envelopes(self.shifts, self.rates, orders, resolution.frequency, *ends)
        fallen: Array = np.minimum(bounds - values, 0.0) @ self.counts
        return fallen[::-1] if self.turned else fallen

    def span(self, log_cut: float) -> tuple[float, float]:
        """About that of the furthest."""
        return (ReversedPair(self._largest) if self.turned else self._largest).span(log_cut)

    @cached_property
    def _sharpest(self) -> float:
        return float(self.shifts.max())

    @cached_property
    def _largest(self) -> MixturePair:
        """With the largest shift and rate of all."""
        return MixturePair(GaussianPair(self._sharpest), float(self.rates.max()))

    @cached_property
    def _log_odds(self) -> Array:
        odds: Array = np.log(self.rates) - np.log1p(-self.rates)
        return odds

    @cached_property
    def _smallest(self) -> MixturePair:
        return MixturePair(GaussianPair(float(self.shifts.min())), float(self.rates.min()))

    @property
    def log_untold(self) -> float:
        """Of the probability that none tells anything, at least: a pair is told apart with probability
        q (2 Phi(mu/2) - 1)."""
        shifts, rates, counts = (each.ravel().tolist() for each in (self.shifts, self.rates, self.counts))
        told = [rate * math.erf(shift / math.sqrt(8)) for shift, rate in zip(shifts, rates, strict=True)]
        untold = [math.log1p(-min(one * (1 + 8 * EPS), 1 - EPS)) for one in told]
        return math.fsum(n * one for n, one in zip(counts, untold, strict=True)) * (1 + 8 * EPS)

    def _own(self, resolution: Resolution) -> Resolution:
        return resolution.turned() if self.turned else resolution

    def _reach(self, resolution: Resolution) -> tuple[float, float]:
        """Between which x all of them are integrated (`MixturePair.base_range`). What may be cut where L is
        largest (orders from 1) has most mass for the largest shift and rate; Q e^{order L}, order <= 0,
        vanishes last for the smallest, beyond all centres."""
        assert resolution.log_cut is not None
        first, last = resolution.orders
        orders = min(first, 0.0), min(last, 1.0)  # others of the same sign end at the same places
        key = *orders, resolution.log_cut
        if key not in self._known:
            pair = self._largest if last >= 1 else self._smallest
            shift = pair.base.shift  # type: ignore[attr-defined]
            low, high = (
                loss / shift + shift / 2 for loss in pair.base_range(resolution._replace(orders=orders))
            )
            self._known[key] = low, high if last >= 1 else max(high, self._sharpest)
        return self._known[key]

    def _both_reach(self, resolution: Resolution) -> tuple[float, float]:
        """The same for both directions: what is above leaves out half of what may be cut of Q too, which
        is the P of the reversed; so do the lowest x."""
        low, high = self._reach(resolution)
        assert resolution.log_cut is not None
        return min(low, -math.sqrt(2 * (math.log(2) - resolution.log_cut))), high

    def _rule_on(self, low: float, high: float, resolution: Resolution) -> LossRule:
        x, log_weight = graded_panels(*self._half_widths(low, high, resolution))
        log_q = log_weight - x * x / 2 - 0.5 * math.log(2 * math.pi)
        loss = mixed_loss(self.shifts * x - self.shifts**2 / 2, self.rates)
        missing_q = float(ndtr(low) + ndtr(-high))
        missing_p = ndtr(low - self.shifts) + ndtr(self.shifts - high)
        more = self.rates * (missing_p - missing_q)
        return LossRule(loss, log_q[None], missing_q=missing_q, missing_more=more)

    def _half_widths(self, low: float, high: float, resolution: Resolution) -> tuple[Array, Array]:
        """Edges of cells and how wide a panel may be in each: it must resolve the density, the oscillation
        and the sharpness, a tilt that pushes against the upper end, and stay away from the zero of
        1 - q + q dP/dQ at height pi/mu above the axis. The slope of L rises from nothing to 1, so most of
        the range needs few points."""
        shifts, rates = self.shifts, self.rates
        edges, base, slope, reach = self._cells(low, high)
        first, last = resolution.orders
        sharpness: Array | float = 0.0
        power: Array | float = max(-first, abs(last))
        if first < 0:
            # negative orders that vanish need not be resolved
            loss = mixed_loss(base, rates)
            counts = np.minimum(-first, -2 * LOG_NEGLIGIBLE / np.maximum(loss, 1e-300))
            power = np.maximum(np.where(loss > 0, counts, -first), abs(last))
            # d^2 L / d L0^2 = slope (1 - slope); only negative powers of e^L are sharpened by it
            plain = base > QUICK_LOSS - np.log(rates)
            sharpness = power * np.where(plain, math.exp(-QUICK_LOSS), np.minimum(slope, 0.25))
        push = np.maximum(slope * power * shifts - np.abs(edges[1:]), 0.0)
        speed = 0.6 * reach * np.sqrt(1 + sharpness * shifts**2)
        speed = speed + np.hypot(push, slope * resolution.frequency * shifts)
        return edges, np.minimum(5 / self._sharpest, 23 / speed.max(axis=0))

    def _cells(self, low: float, high: float) -> tuple[Array, Array, Array, Array]:
        """Short cells between two x: edges, base losses at their lower ends, the slope of L at their upper
        ends, and how far out they are. Scans and lines mostly share them."""
        if (low, high) not in self._known_cells:
            count = math.ceil((high - low) * self._sharpest / SHORT)
            edges: Array = low + (high - low) / count * np.arange(count + 1.0)
            base = self.shifts * edges - self.shifts * self.shifts / 2
            reach = np.minimum(np.maximum(np.abs(edges[:-1]), np.abs(edges[1:])), 12.0)
            self._known_cells[low, high] = edges, base[:, :-1], expit(base[:, 1:] + self._log_odds), reach
        return self._known_cells[low, high]


def bundled(terms: Iterable[tuple[Pair, int]]) -> tuple[list[SampledGaussians], list[tuple[Pair, int]]]:
    """Sampled Gaussian losses in bundles of similar ones, and the other terms."""
    alike: dict[tuple[int, int, bool], list[tuple[MixturePair, int]]] = {}
    others = []
    for pair, count in terms:
        turned = isinstance(pair, ReversedPair)
        inner = pair.base if isinstance(pair, ReversedPair) else pair
        if isinstance(inner, MixturePair) and isinstance(inner.base, GaussianPair):
            sizes = (math.frexp(size)[1] // 2 for size in (inner.base.shift, inner.rate))
            alike.setdefault((*sizes, turned), []).append((inner, count))  # type: ignore[arg-type]
        else:
            others.append((pair, count))
    bundles = [
        SampledGaussians(
            np.array([[pair.base.shift] for pair, _ in some]),  # type: ignore[attr-defined]
            np.array([[pair.rate] for pair, _ in some]),
            np.array([float(count) for _, count in some]),
            turned,
        )
        for (*_, turned), all_ in alike.items()
        for some in (all_[k : k + _MOST] for k in range(0, len(all_), _MOST))
    ]
    return bundles, others
