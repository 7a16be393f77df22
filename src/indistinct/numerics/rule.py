"""A privacy loss as finitely many weighted values, and its cumulant on complex orders.

A `LossRule` stands for a pair (P, Q) the way a quadrature rule stands for an integral: losses l_i and
weights q_i with sum_i q_i g(l_i) = E_Q[g(log dP/dQ)] to rounding, for every g the engines need. Mixing,
reversing and reading the cumulant are then operations on two short arrays.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from indistinct.numerics.arrays import ALONE, EPS, Array, ComplexArray, summed, vertical_line

PANEL_SIZE = 32
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(PANEL_SIZE)
_LOG_WEIGHTS = np.log(_WEIGHTS)

MAX_NODES = 1 << 19
"""Of a rule."""
MAX_ENGINE_NODES = 1 << 16
"""With more nodes than this other engines are faster."""
_HELD = 1 << 16
"""Entries of tables that are held at once."""
_CACHED = 1 << 15
"""Entries of one that stays in a cache."""
_FEW = 32
"""Powers of so many need one table."""


class TooFineError(ArithmeticError):
    """An integrand that oscillates too fast to be integrated at a reasonable cost."""


_SMALL = 0.25
"""Below this |zl| and |l| the terms are summed as moments, above it as exponentials."""

_SMALL_ORDER = 1e-2
"""Below this order e^{zl} - 1 is computed as such and not as a difference."""

_ROUNDING = 32 * EPS
"""Of a sum of exponentials, relative to the sum of their sizes."""
_TERMS = 12
_FACTORIALS = np.cumprod(np.arange(1.0, _TERMS + 1))[1:]
"""Powers kept in that sum: 0.25^13/13! is below rounding."""
_ONES = np.ones(_TERMS)
_LAGS = np.maximum(np.subtract.outer(np.arange(2.0, _TERMS + 1), np.arange(0.0, _TERMS - 1)), 1.0)
_TAILS = (_LAGS > 1).astype(np.float64)
"""How much higher a moment is than a power, and whether it contributes to that one's coefficient."""


def panels(low: float, high: float, half_width: float) -> tuple[Array, Array]:
    """Composite Gauss-Legendre nodes on [low, high] and the logarithms of their weights.

    A panel integrates e^{kx} to rounding while |k| half_width stays below about 30, and a function with
    a singularity at distance d from the axis while half_width stays below 1.6 d. An empty interval has no
    nodes.
    """
    if low >= high:
        return np.empty(0), np.empty(0)
    count = max(1, math.ceil(min((high - low) / (2 * half_width), 1e9)))
    if count * PANEL_SIZE > MAX_NODES:
        raise TooFineError(f"{count} quadrature panels")
    radius = (high - low) / (2 * count)
    centres: Array = low + radius * (2 * np.arange(count, dtype=np.float64) + 1)
    return placed_panels(centres, np.full(count, radius))


def placed_panels(centres: Array, radii: Array) -> tuple[Array, Array]:
    """The same on panels with these centres and half widths."""
    nodes: Array = (centres[:, None] + radii[:, None] * _NODES).ravel()
    return nodes, np.add.outer(np.log(radii), _LOG_WEIGHTS).ravel()


def graded_panels(edges: Array, half_widths: Array) -> tuple[Array, Array]:
    """The same over cells with these edges, where a panel in each may be so wide: wide ones span several
    cells, narrow ones divide one."""
    widths, ends = half_widths.tolist(), edges.tolist()
    starts, radii, total = [], [], 0
    stop = len(widths)
    while stop:
        first, allowed = stop - 1, widths[stop - 1]
        while first and ends[stop] - ends[first - 1] <= 2 * min(allowed, widths[first - 1]):
            first, allowed = first - 1, min(allowed, widths[first - 1])
        count = math.ceil((ends[stop] - ends[first]) / (2 * allowed))
        total += count * PANEL_SIZE
        if total > MAX_ENGINE_NODES:
            raise TooFineError(f"{total} quadrature nodes")
        radius = (ends[stop] - ends[first]) / (2 * count)
        starts += [ends[first] + (2 * k + 1) * radius for k in range(count)]
        radii += [radius] * count
        stop = first
    return placed_panels(np.array(starts), np.array(radii))


@dataclass(frozen=True, eq=False)
class LossRule:
    """Finite losses, the logarithms of their weights under Q, and what is not among them: of one law, or of
    several on the same nodes, a row for each."""

    loss: Array
    log_q: Array
    only_p: float = 0.0
    """P-mass where Q has none: an infinite loss."""
    only_q: float = 0.0
    """Q-mass where P has none."""
    missing_q: float | Array = 0.0
    """Q-mass of the losses that a truncated range leaves out; a column, of several laws."""
    missing_more: float | Array = 0.0
    """By how much their P-mass is more than that: small losses have many digits that a difference has not."""
    turned: bool = False
    """Whether there are two blocks of rows, and the second is the first reversed (`both_ways`)."""

    def reversed(self) -> "LossRule":
        """The rule of (Q, P)."""
        return LossRule(
            -self.loss,
            self.log_q + self.loss,
            self.only_q,
            self.only_p,
            self.missing_p,
            -self.missing_more,
        )

    @property
    def missing_p(self) -> float | Array:
        """P-mass of what is left out."""
        return self.missing_q + self.missing_more

    def both_ways(self) -> "LossRule":
        """The rules of (P, Q) and of (Q, P), of several laws without infinite losses, on the same nodes."""
        loss, log_q = np.empty((2, *self.loss.shape)), np.empty((2, *self.loss.shape))
        missing_q, more = np.empty((2, len(self.loss), 1)), np.empty((2, len(self.loss), 1))
        back = self.reversed()
        for row, rule in enumerate((self, back)):
            loss[row], log_q[row] = rule.loss, rule.log_q
            missing_q[row], more[row] = rule.missing_q, rule.missing_more
        return LossRule(loss, log_q, 0.0, 0.0, missing_q, more, turned=True)

    def mixed(self, rate: float) -> "LossRule":
        """The rule of ((1-rate) Q + rate P, Q), where no loss is below log(1-rate)."""
        loss, log_q = mixed_loss(self.loss, rate), self.log_q
        if self.only_q:
            loss = np.append(loss, np.log1p(-rate))
            log_q = np.append(log_q, np.log(self.only_q))
        more = rate * self.missing_more
        return LossRule(loss, log_q, rate * self.only_p, 0.0, self.missing_q, more)

    @cached_property
    def _q(self) -> Array:
        q: Array = np.exp(self.log_q)
        return q

    @cached_property
    def _p(self) -> Array:
        p: Array = np.exp(self.log_q + self.loss)
        return p

    def excess(self, z: Array) -> Array:
        """E_P[e^{zL}] - 1 at real z, without cancellation.

        Since E_Q[dP/dQ] = 1 the summand may be taken as q (e^l (e^{zl} - 1) - z (e^l - 1)), which has one
        sign and is of second order in l and of first in z: small losses and small orders keep their
        relative accuracy.
        """
        large, total = self._split(float(np.abs(z).max()), z)
        loss, p = self.loss.take(large, axis=-1), self._p.take(large, axis=-1)
        log_p = self.log_q.take(large, axis=-1) + loss
        furthest = float(np.abs(z).max()) * float(np.abs(loss).max(initial=0.0))
        small = max(furthest, float(np.abs(log_p).max(initial=0.0))) < 700
        gains = []
        for some in _in_cache(z, loss):
            exponent = some[:, None] * loss[..., None, :]
            if small:
                gains.append(summed(np.expm1(exponent), p))
            else:
                with np.errstate(over="ignore"):
                    gain = np.exp(log_p[..., None, :] + exponent) - p[..., None, :]
                    gains.append(gain.sum(axis=-1))
        result: Array = total + np.concatenate(gains, axis=-1)
        return result

    def log_moment(self, z: Array) -> Array:
        """log E_P[e^{zL}] where it is too large for `excess`."""
        each = []
        for some in _in_cache(z, self.loss):
            exponent = self.log_q[..., None, :] + (1 + some[:, None]) * self.loss[..., None, :]
            top = exponent.max(axis=-1)
            each.append(top + np.log(np.exp(exponent - top[..., None]).sum(axis=-1)))
        return np.concatenate(each, axis=-1)

    def line(self, c: float, step: float, stop: int) -> tuple[ComplexArray, Array]:
        """E_P[e^{zL}] - 1 at z = c + i step k, for 0 <= k < stop, and its rounding error."""
        z = vertical_line(c, step, stop)
        large, total = self._split(abs(complex(z[-1])), z)
        loss, p = self.loss.take(large, axis=-1), self._p.take(large, axis=-1)
        amplitude = np.exp(self.log_q.take(large, axis=-1) + (1 + c) * loss)
        listed = p.sum(axis=-1, keepdims=True)
        error: Array = _ROUNDING * (amplitude.sum(axis=-1, keepdims=True) + listed + np.abs(total[..., -1:]))
        if c < _SMALL_ORDER:
            small = np.expm1(z[:, None] * loss[..., None, :])
            return total + summed(small, p), error
        moment: ComplexArray = total + (self._transform(loss, amplitude, step, stop) - listed)
        return moment, error

    def log_line(self, c: float, step: float, stop: int) -> tuple[ComplexArray, Array]:
        """log E_P[e^{zL}] on the same line, where it is too large for `line`, or too small, and its error."""
        exponent = self.log_q + (1 + c) * self.loss
        top = exponent.max(axis=-1, keepdims=True)
        amplitude = np.exp(exponent - top)
        moment = self._transform(self.loss, amplitude, step, stop)
        size = amplitude.sum(axis=-1, keepdims=True)
        logarithm: ComplexArray = np.log(moment)
        return logarithm + top, _ROUNDING * (np.abs(top) + size / np.maximum(np.abs(moment), 1e-300))

    def _transform(self, loss: Array, amplitude: Array, step: float, stop: int) -> ComplexArray:
        """sum of amplitude e^{i step k loss} for k < stop; of what is reversed, the conjugates serve."""
        if not self.turned:
            return _fourier(loss, amplitude, step, stop)
        both = _fourier(loss[0], amplitude, step, stop)
        np.conjugate(both[1], out=both[1])
        return both

    def log_size(self, c: float) -> float:
        """The logarithm of the largest term of E_P[e^{cL}]."""
        return float((self.log_q + (1 + c) * self.loss).max(initial=-np.inf))

    @cached_property
    def _gain(self) -> Array:
        """P less Q, of each loss."""
        gain: Array = self._q * np.expm1(np.minimum(self.loss, 1.0))
        return np.where(self.loss < 1.0, gain, self._p - self._q) if self.loss.max(initial=0.0) > 1 else gain

    def _split(self, reach: float, z: Any) -> tuple[npt.NDArray[np.intp], Any]:
        """Which losses are large for |z| <= reach, and all of E_P[e^{zL}] - 1 but their e^{zl} - 1."""
        size = np.abs(self.loss)
        # all rows have the same nodes, so these are columns
        is_large = size.max(axis=tuple(range(size.ndim - 1))) * (reach + 1) > _SMALL
        large, small = is_large.nonzero()[0], (~is_large).nonzero()[0]
        gain = self._gain.take(large, axis=-1).sum(axis=-1, keepdims=True)
        # the listed losses carry less than all of Q, and of P
        more = self.only_p - self.only_q + self.missing_more
        total = z * (-more - gain) - (self.only_p + self.missing_p)
        if small.size:
            weight = self._q.take(small, axis=-1)
            total = total + _series(self.loss.take(small, axis=-1), weight, z, reach + 1)
        return large, total

    def mean(self) -> float:
        """E_P[L; L finite], by a sum of non-negative terms l e^l - (e^l - 1)."""
        big, small, square = self.loss > 30, np.abs(self.loss) < 1e-3, self.loss * self.loss
        loss = np.minimum(self.loss, 30.0)
        gap = loss * np.exp(loss) - np.expm1(loss)
        gap = np.where(small, square * (0.5 + loss / 3 + square / 8 + square * loss / 30), gap)
        terms = np.where(big, (self.loss - 1) * self._p + self._q, self._q * gap)
        return float(terms.sum() + self.only_q - self.only_p - self.missing_more)


def _in_cache(z: Array, loss: Array) -> Iterator[Array]:
    """Orders by as many as have a table in a cache."""
    each = max(_CACHED // max(loss.size, 1), 1)
    return (z[k : k + each] for k in range(0, z.size, each))


def _series(loss: Array, weight: Array, z: Any, reach: float) -> Any:
    """sum of weight (e^{wl} - 1 - w (e^l - 1)), w = 1 + z with |w| <= reach, for small losses, as a power
    series.

    w^k - w = w z (1 + w + ... + w^{k-2}), so with a_k = sum weight l^k / k! the sum is w z times the
    polynomial whose coefficients are the tails of the sequence a_k; in powers of w / reach.
    """
    powers = np.multiply.accumulate(_ONES[:, None] * (reach * loss)[..., None, :], axis=-2)
    scaled = summed(powers[..., 1:, :], weight) / _FACTORIALS
    coefficients = scaled @ (_TAILS * reach**-_LAGS)
    w = 1 + z
    table = _ONES[1:] * (w / reach)[:, None]
    table[:, 0] = 1.0
    return summed(np.multiply.accumulate(table, axis=1), coefficients) * w * z


def _fourier(loss: Array, amplitude: Array, step: float, count: int) -> ComplexArray:
    """sum of amplitude e^{i step k loss} for k < count, for several amplitudes if these have more axes: with
    k = block m + n, two short tables."""
    if count <= _FEW:
        found: ComplexArray = summed(np.moveaxis(powers_of_unit(step * loss, count), 0, -2), amplitude)
        return found
    block = math.isqrt(count - 1) + 1
    blocks = -(-count // block)
    rows, nodes = amplitude.shape[:-1], loss.shape[-1]
    total = np.zeros((*rows, blocks, block), dtype=np.complex128)
    each = max(ALONE // (blocks * block), 1)
    held = each * max(_HELD // (each * (blocks + block)), 1)
    for k in range(0, nodes, held):
        angle = step * loss[..., k : k + held]
        fine = np.moveaxis(powers_of_unit(angle, block), 0, -1)
        coarse = np.moveaxis(powers_of_unit(block * angle, blocks), 0, -2)
        weighed = coarse * amplitude[..., None, k : k + held]
        for j in range(0, angle.shape[-1], each):
            total += np.matmul(weighed[..., j : j + each], fine[..., j : j + each, :])
    return total.reshape(*rows, -1)[..., :count]


def powers_of_unit(angle: Array, count: int) -> ComplexArray:
    """exp(i k angle) for k < count: by doubling, so a multiplication an entry."""
    table = np.empty((count, *angle.shape), dtype=np.complex128)
    table[0] = 1.0
    done, power = 1, np.exp(1j * angle)
    while done < count:
        more = min(done, count - done)
        np.multiply(table[:more], power, out=table[done : done + more])
        done += more
        if done < count:
            power = np.exp(1j * done * angle)
    return table


def mixed_loss(loss: Array, rate: float | Array) -> Array:
    """log(1 - rate + rate e^loss), accurate for small losses and for large ones."""
    gain = rate * np.expm1(np.minimum(loss, 300.0))
    mixed: Array = np.log1p(np.maximum(gain, -0.5))
    if gain.min(initial=0.0) < -0.5:  # next to nothing is left, of two small numbers
        mixed = np.where(gain < -0.5, np.log((1 - rate) + rate * np.exp(np.minimum(loss, 0.0))), mixed)
    if loss.max(initial=0.0) >= 300.0:
        moved = loss + np.log(rate)  # of rate e^loss, which may still be next to nothing
        small = np.log1p(np.exp(np.minimum(moved, 0.0)) - rate)
        far = np.where(moved > 0, moved + np.log1p((1 - rate) * np.exp(-np.maximum(moved, 0.0))), small)
        mixed = np.where(loss < 300.0, mixed, far)
    return mixed
