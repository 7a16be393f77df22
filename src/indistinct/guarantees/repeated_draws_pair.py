"""A sum that several records of one person may join, each by a coin of its own, with Gaussian noise."""

import math
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property, reduce
from typing import Any

import numpy as np
import numpy.typing as npt

from indistinct.guarantees.drawn_shifts import DrawnShifts
from indistinct.guarantees.pair import LOG_NEGLIGIBLE, Pair, Resolution, Tails, Wave
from indistinct.guarantees.pair_kinds import of_both_signs
from indistinct.numerics.arrays import EPS, TINY, Array, ComplexArray
from indistinct.numerics.normal import log_normal_tails
from indistinct.numerics.rule import LossRule, TooFineError, panels

_LOG_ROOT = 0.5 * math.log(2 * math.pi)
_FAR = 1000.0
"""Orders times the largest shift, beyond which moments are bounded by those of the parts."""
_OUTSIDE = 1e6
_CHUNK = 64
_TABLED = 1 << 13
_PROFILE = 1e-12
"""Relative error of weights and of a profile, which is rounded up by as much."""


def _added(terms: Any) -> Any:
    """The sum over the first axis, one after the other: a column is added up as if it were alone."""
    return reduce(np.add, terms)


def _summed_up(power: float, terms: Array, away: float) -> float:
    """power * log of the sum of e^terms, rounded up, or down where moments are to be bounded from below."""
    counted = terms[terms >= terms.max() - 800.0]  # of others nothing is left, nor of their rounding
    lost = EPS * (8 + terms.size) * abs(power) * float(np.abs(counted).max())
    return power * float(np.logaddexp.reduce(terms)) + math.copysign(lost, away)


@dataclass(frozen=True)
class RepeatedDrawsPair(DrawnShifts):
    """P = sum_j weights_j N(j shift, 1) against Q = N(0, 1), or, if `replaced`, against its mirror image; j
    is 0, 1, 2, ..., or `places`, which begin with 0 and grow.

    The first dominates Poisson sampling of a person with several records, which one adds or removes (Ganesh
    2024, mixtures of Gaussians); the second that of a record whose bounded contribution is replaced by any
    other. In both the loss rises with the released number, so that its law is that of a normal mixture.
    """

    # -- the loss as a function of the released number ---------------------------------------------------

    @cached_property
    def _terms(self) -> tuple[Array, Array]:
        weights = np.array(self.weights)
        j = np.array(self.places or range(weights.size), dtype=np.float64)
        return j[weights > 0], np.log(weights[weights > 0])

    def _exponents(self, x: Any) -> Any:
        """Logarithms of w_j e^{j s x - j^2 s^2/2}, real or complex: j comes first, so that sums over it are
        taken for many x at once."""
        j, log_w = self._terms
        at_zero = (log_w - (j * self.shift) ** 2 / 2).reshape(j.shape + (1,) * x.ndim)
        return np.multiply.outer(j * self.shift, x) + at_zero

    def _log_ratio(self, x: Array, derivatives: int) -> list[Array]:
        """log sum_j w_j e^{j s x - j^2 s^2/2}, and its first and second derivatives, as many as are asked."""
        j, log_w = self._terms
        exponent = self._exponents(x)
        top = exponent.max(axis=0)
        share = np.exp(exponent - top)
        total = _added(share)
        value = top + np.log(total)
        counts = j.reshape(j.shape + (1,) * x.ndim)
        means = [_added(counts**power * share) / total for power in range(1, derivatives + 1)]
        if derivatives == 2:
            means[1] = np.maximum(means[1] - means[0] ** 2, 0.0)
        # of a loss near zero the digits count
        small = np.abs(value) < 0.1
        if small.any():
            gains = np.expm1(
                np.multiply.outer(j * self.shift, x[small]) - ((j * self.shift) ** 2 / 2)[:, None]
            )
            value = value.copy()
            value[small] = np.log1p(_added(np.exp(log_w)[:, None] * gains) - self.beyond)
        return [value, *(self.shift ** (k + 1) * mean for k, mean in enumerate(means))]

    def _loss(self, x: Array, derivatives: int = 0) -> list[Array]:
        found = self._log_ratio(x, derivatives)
        if not self.replaced:
            return found
        # of a function of -x odd derivatives turn their sign
        mirrored = self._log_ratio(-x, derivatives)
        return [
            one + other if k == 1 else one - other
            for k, (one, other) in enumerate(zip(found, mirrored, strict=True))
        ]

    def _complex_log_ratio(self, z: ComplexArray) -> ComplexArray:
        """The same sum off the axis, while every term stays in the right half plane."""
        exponent = self._exponents(z)
        top = exponent.real.max(axis=0)
        result: ComplexArray = top + np.log(_added(np.exp(exponent - top)))
        return result

    @cached_property
    def _table(self) -> tuple[Array, Array, Array]:
        """Released numbers, their losses, and the slopes of these: where to look for others."""
        places = np.linspace(-60.0 - self._largest, 60.0 + 2 * self._largest, _TABLED)
        losses, slopes = self._loss(places, 1)
        return places, np.maximum.accumulate(losses), np.maximum(slopes, TINY)

    def _guess(self, loss: Array, after: npt.NDArray[np.intp]) -> Array:
        """About where a loss is, between two places of the table: the cubic with their slopes."""
        places, losses, slopes = self._table
        left = np.clip(after - 1, 0, places.size - 2)
        width, step = losses[left + 1] - losses[left], places[1] - places[0]
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            t = np.clip((loss - losses[left]) / width, 0.0, 1.0)
            first, last = (width / slopes[k] / step - 1 for k in (left, left + 1))
            cubic = t + t * (1 - t) * ((1 - t) * first - t * last)
        t = np.where(np.isfinite(cubic), cubic, t)
        guess: Array = places[left] + step * np.clip(np.nan_to_num(t), 0.0, 1.0)
        return guess

    def _place(self, loss: Array) -> Array:
        """The released number with this loss; minus infinity below the smallest."""
        shape, loss = loss.shape, loss.ravel()
        places, losses, _ = self._table
        after = np.searchsorted(losses, loss)
        # a cell further than rounding may be wrong
        low, high = places[np.maximum(after - 2, 0)], places[np.minimum(after + 1, places.size - 1)]
        furthest = _OUTSIDE * (1 + self._largest)  # beyond it there is no mass that a number can hold
        beyond = np.flatnonzero(after == places.size)
        while (
            beyond := beyond[(self._loss(high[beyond])[0] < loss[beyond]) & (high[beyond] < furthest)]
        ).size:
            high[beyond] *= 2
        x = np.clip(self._guess(loss, after), low, high)
        open_ = np.arange(loss.size)  # each as if it were alone: one that has settled is not looked at again
        # such a step of Newton's leaves its square, times half the largest shift at most: less than rounding
        quick = math.sqrt(4 * EPS / (1 + self._furthest))
        for _ in range(200):
            here, least, most = x[open_], low[open_], high[open_]
            value, slope = self._loss(here, 1)
            over = value > loss[open_]
            low[open_], high[open_] = np.where(over, least, here), np.where(over, here, most)
            with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
                step = here - (value - loss[open_]) / slope
            inside = (step > low[open_]) & (step < high[open_])
            x[open_] = np.where(inside, step, (low[open_] + high[open_]) / 2)
            there, moved = value == loss[open_], np.abs(x[open_] - here)
            x[open_[there]] = here[there]
            settled = np.where(inside, quick, 4 * EPS * np.maximum(np.abs(here), 1.0))
            open_ = open_[~there & (moved > settled)]
            if not open_.size:
                break
        bottom = self.loss_range[0]
        return np.where(loss <= bottom, -np.inf, np.where(loss == np.inf, np.inf, x)).reshape(shape)

    # -- what a pair answers ---------------------------------------------------------------------------

    def reverse(self) -> Pair:
        return self if self.replaced else super().reverse()

    @property
    def loss_range(self) -> tuple[float, float]:
        return -math.inf if self.replaced else self._log_nobody, math.inf

    def outer_losses(self, tilt: float, log_tail: float) -> tuple[float, float]:
        if math.isinf(log_tail):
            return self.loss_range
        low, high = self._reach(min(tilt, 0.0), max(tilt, 0.0), log_tail)
        losses = self._loss(np.array([low, high]))[0]
        return float(losses[0]), float(losses[1])

    def _reach(self, first: float, last: float, log_tail: float) -> tuple[float, float]:
        """Numbers between which (dP/dQ)^w dQ lies but for e^{log_tail}, for w between two orders: the slope
        of its logarithm is w a, less the number, and a is between 0 and the largest shift, or, replaced,
        w a + (w - 1) b with two such; and, below order 0, no loss is smaller than the logarithm of the first
        weight."""
        far, w, below = self._largest, max(abs(first), abs(last), abs(1 - first), 1.0), max(-first, 0.0)
        room = math.log(len(self.weights) + 1) - log_tail
        reach = math.sqrt(2 * room)
        if self.replaced:
            return -(2 * below + 1) * far - reach, (2 * max(last, 1.0) - 1) * far + reach
        low = w * far + math.sqrt(2 * (room + below * far * far)) if below else reach
        low = min(low, math.sqrt(2 * (room - below * self._log_nobody))) if below else low
        return -low, max(last, 1.0) * far + reach

    def tails(self, loss: Array) -> Tails:
        x = self._place(loss)
        (p_above, p_below), (q_above, q_below) = self._masses(x)
        with np.errstate(divide="ignore"):
            only_p, only_q = np.log(self.given_away)
        return Tails(np.logaddexp(p_above, only_p), q_above, p_below, np.logaddexp(q_below, only_q))

    def _masses(self, x: Array) -> tuple[list[Array], list[Array]]:
        """Logarithms of what P has above and below each number, and of what Q has."""
        p = self._log_masses(self.shift, x)
        return p, self._log_masses(-self.shift, x) if self.replaced else list(log_normal_tails(-x))

    def _log_masses(self, shift: float, x: Array) -> list[Array]:
        j, log_w = self._terms
        masses = []
        for parts in log_normal_tails(np.subtract.outer(j * shift, x)):
            parts = parts + log_w.reshape(j.shape + (1,) * x.ndim)
            top = np.maximum(parts.max(axis=0), -1e300)
            with np.errstate(divide="ignore"):
                masses.append(top + np.log(_added(np.exp(parts - top))))
        return masses

    def rule_on(self, low: float, high: float, wave: Wave) -> LossRule:
        ends = self._place(np.array([low, high]))
        limits = self._reach(-wave.power, 1 + wave.power, LOG_NEGLIGIBLE)
        return self._rule(max(float(ends[0]), limits[0]), min(float(ends[1]), limits[1]), wave)

    def _rule(self, first: float, last: float, wave: Wave) -> LossRule:
        far = max(self._furthest, 1e-300)
        reach = min(max(abs(first), abs(last)), 12.0)
        push = max(0.0, wave.power * far - min(abs(first), abs(last)))
        speed = 0.6 * reach * math.sqrt(1 + wave.sharpness * far**2) + math.hypot(push, wave.frequency * far)
        x, log_weight = panels(first, last, min(2.5 / far, 23 / speed))
        log_q = log_weight - x * x / 2 - _LOG_ROOT
        loss = self._loss(x)[0]
        if self.replaced:
            log_q = log_q + self._log_ratio(-x, 0)[0]
        return LossRule(loss, log_q)

    def rule(self, resolution: Resolution) -> LossRule:
        first, last = resolution.orders
        low, high = self._reach(min(first, 0.0), max(last, 1.0), LOG_NEGLIGIBLE)  # as for `log_envelope`
        # no order's peak is beyond an end, so none pushes against it: off the axis the sum of the draws is no
        # larger than where it is real, and that to a negative power is what sharpness is for
        wave = Wave(0.0, resolution.frequency, max(-first, last - 1 if self.replaced else 0.0, 0.0))
        rule = self._rule(low, high, wave)
        ends = self._loss(np.array([low, high]))[0]
        return self.joined([rule], float(ends[0]), float(ends[1]))

    def log_moment(self, order: float) -> float:
        plain, size = self._plain_moment(order), max(order, 1 - order) if self.replaced else order
        if size * self._furthest <= _FAR and order * min(self._furthest, 1.0) >= -_FAR:
            with suppress(TooFineError):
                known = super().log_moment(order)
                return max(plain, known) if 0 <= order <= 1 else min(plain, known)
        return plain

    def _plain_moment(self, order: float) -> float:
        """A bound that needs no rule, close where shifts are large: by Minkowski's inequality, which is the
        other way round below order 1, where a moment is to be bounded from below, and once more below 0; or,
        replaced, as if it were told how many were drawn, since moments are jointly convex, or, from order 1
        on, as if Q had nobody drawn and nothing else, which is no more than it has."""
        j, log_w = self._terms
        square, away = (self.shift * j) ** 2 / 2, order * (order - 1)
        if not self.replaced:
            return _summed_up(order, log_w + (order - 1) * square, away)
        told = _summed_up(1.0, log_w + away * 4 * square, away)
        if away <= 0:
            return told
        order = max(order, 1 - order)  # the same both ways
        nobody = (order - 1) * (4 * EPS - self._log_nobody * (1 + 4 * EPS))
        return min(told, nobody + _summed_up(order, log_w + (order - 1) * square, away))

    @cached_property
    def finite_mean(self) -> float:
        j, log_w = self._terms
        # as in `_plain_moment`
        told = float(np.exp(log_w) @ (self.shift * j) ** 2 / 2)
        if self.replaced:
            told = min(4 * told, told - self._log_nobody)
        told *= 1 + _PROFILE
        with suppress(TooFineError):
            return min(told, super().finite_mean)
        return told

    def log_moments(self, orders: Array) -> Array:
        if np.abs(orders).max() * self._largest > _FAR / 4:
            return np.array([self.log_moment(order) for order in orders.tolist()])
        return super().log_moments(orders)

    def log_envelope(self, resolution: Resolution) -> float:
        """Along x + i eta(x), as `mixture_envelopes`: the argument of dP/dQ is positive there, so that its
        integral at one frequency bounds those at all higher ones."""
        order, frequency = resolution.orders[0], resolution.frequency
        low, high = self._reach(min(order, 0.0), max(order, 1.0), LOG_NEGLIGIBLE)
        far = self._furthest
        x, log_weight = panels(low, high, min(0.5 / far, 0.5))
        x = np.concatenate((x, [low, high]))
        loss, slope, bend = self._loss(x, 2)
        steep = frequency / (1 + far * far * (1 + max(-order, 0.0)))
        turn = np.arctan(steep * slope * far)
        height = turn / far / (1.0 if not self.replaced else 2.0)
        tilt = height / np.maximum(turn, 1e-300) * steep * far * bend / (1 + (steep * slope * far) ** 2)
        path = np.asarray(x + 1j * height, dtype=np.complex128)
        above = self._complex_log_ratio(path)
        log_q = -x * x / 2 - _LOG_ROOT + height * height / 2
        at_zero = -x * x / 2 - _LOG_ROOT
        if self.replaced:
            mirrored = self._complex_log_ratio(-path)
            above, log_q = above - mirrored, log_q + mirrored.real
            at_zero = at_zero + self._log_ratio(-x, 0)[0]
        on_path = log_q + order * above.real - frequency * above.imag + 0.5 * np.log1p(tilt * tilt)
        ends = (
            on_path[-2:] + frequency * above.imag[-2:] + abs(order) + 4.0
        )  # upright pieces, each shorter than e^4
        value = float(np.logaddexp.reduce(log_weight + (at_zero + order * loss)[:-2]))
        bound = float(np.logaddexp.reduce(np.concatenate((log_weight + on_path[:-2], ends))))
        return min(float(np.logaddexp(bound - value, math.log(64 * EPS))), 0.0)

    def profile(self, epsilon: Array) -> Array:
        return self._of_both_signs(epsilon, 1)

    def reversed_profile(self, epsilon: Array) -> Array:
        return self._of_both_signs(epsilon, 1 if self.replaced else -1)

    def _of_both_signs(self, epsilon: Array, side: int) -> Array:
        delta, below = self._hockey_stick(np.abs(epsilon), side), epsilon < 0
        if not self.replaced and below.any():
            delta[below] = self._hockey_stick(-epsilon[below], -side)
        return of_both_signs(epsilon, delta)

    def _hockey_stick(self, epsilon: Array, side: int) -> Array:
        """The integral of (P - e^epsilon Q)_+ (side 1) or of (Q - e^epsilon P)_+: a difference of two tails,
        or where these are too close a sum of positive terms."""
        flat = epsilon.ravel()
        place, far = self._place(side * flat), self._largest
        # from where the two are equal, past all centres, to where nothing is left
        beyond = np.maximum(side * place - far, 0.0)
        length = np.maximum(far - side * place, 0.0) + np.minimum(14.0, 80 / np.maximum(beyond, 1.0))
        longest = (2 * far + 56.0) / min(2.0, 2.0 / max(far, 1e-9))
        nodes, log_weight = panels(0.0, 1.0, 1 / math.ceil(longest))
        # with no place at all one side is everywhere larger
        only = self.given_away[side < 0]
        larger = np.maximum(-np.expm1(np.minimum(flat, 0.0)) - only, 0.0)
        result = np.where((place < 0) == (side > 0), larger, 0.0)
        known = np.isfinite(place)
        more, less = (masses[0 if side > 0 else 1] for masses in self._masses(place)[::side])
        with np.errstate(invalid="ignore"):
            share = -np.expm1(np.minimum(flat + less - more, 0.0))
        close = 4 * EPS * (np.abs(more) + 8) > _PROFILE * share
        result[known] = (np.exp(more) * share)[known] * (1 + 2 * _PROFILE)
        rows = np.flatnonzero(known & close & (length < 2 * far + 60.0))
        result[known & close & (length >= 2 * far + 60.0)] = 1.0
        for first in range(0, rows.size, _CHUNK):
            part = rows[first : first + _CHUNK]
            x = place[part, None] + side * length[part, None] * nodes
            loss, eps = self._loss(x)[0], flat[part, None]
            log_q = -x * x / 2 - _LOG_ROOT + (self._log_ratio(-x, 0)[0] if self.replaced else 0.0)
            gap = np.maximum(side * loss - eps, 0.0)
            with np.errstate(divide="ignore"):
                log_gap = np.where(gap > 30, gap, np.log(np.expm1(np.minimum(gap, 30.0))))
            log_excess = log_q + log_gap + (eps if side > 0 else loss + eps)
            total = np.exp(log_weight + np.log(length[part, None]) + log_excess).sum(axis=1)
            result[part] = np.maximum(total, TINY) * (1 + 2 * _PROFILE)
        return np.minimum(result + only, 1.0).reshape(epsilon.shape)
