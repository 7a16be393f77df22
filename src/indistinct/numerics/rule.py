"""A privacy loss as finitely many weighted values, and its cumulant on complex orders.

A `LossRule` stands for a pair (P, Q) the way a quadrature rule stands for an integral: losses l_i and
weights q_i with sum_i q_i g(l_i) = E_Q[g(log dP/dQ)] to rounding, for every g the engines need. Mixing,
reversing and reading the cumulant are then operations on two short arrays.
"""

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from indistinct.numerics.arrays import EPS, Array, ComplexArray, vertical_line

PANEL_SIZE = 32
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(PANEL_SIZE)
_LOG_WEIGHTS = np.log(_WEIGHTS)

MAX_NODES = 1 << 19
"""Of a rule."""
_CHUNK = 1 << 20
"""Entries of a table of powers held at once."""


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


def panels(low: float, high: float, half_width: float) -> tuple[Array, Array]:
    """Composite Gauss-Legendre nodes on [low, high] and the logarithms of their weights.

    A panel integrates e^{kx} to rounding while |k| half_width stays below about 30, and a function with
    a singularity at distance d from the axis while half_width stays below 1.6 d.
    """
    count = max(1, math.ceil(min((high - low) / (2 * half_width), 1e9)))
    if count * PANEL_SIZE > MAX_NODES:
        raise TooFineError(f"{count} quadrature panels")
    radius = (high - low) / (2 * count)
    centres = low + radius * (2 * np.arange(count) + 1)
    nodes = np.add.outer(centres, radius * _NODES).ravel()
    return nodes, np.add.outer(np.full(count, math.log(radius)), _LOG_WEIGHTS).ravel()


@dataclass(frozen=True, eq=False)
class LossRule:
    """Finite losses, the logarithms of their weights under Q, and what is not among them."""

    loss: Array
    log_q: Array
    only_p: float = 0.0
    """P-mass where Q has none: an infinite loss."""
    only_q: float = 0.0
    """Q-mass where P has none."""
    missing_p: float = 0.0
    """P-mass of the losses that a truncated range leaves out."""
    missing_q: float = 0.0
    """Q-mass of those."""

    def reversed(self) -> "LossRule":
        """The rule of (Q, P)."""
        return LossRule(
            -self.loss,
            self.log_q + self.loss,
            self.only_q,
            self.only_p,
            self.missing_q,
            self.missing_p,
        )

    def without(self, part: "LossRule") -> "LossRule":
        """The same weights, where a part of the law is listed elsewhere."""
        q, p = float(np.exp(part.log_q).sum()), float(np.exp(part.log_q + part.loss).sum())
        return replace(self, missing_p=self.missing_p + p, missing_q=self.missing_q + q)

    def mixed(self, rate: float) -> "LossRule":
        """The rule of ((1-rate) Q + rate P, Q), where no loss is below log(1-rate)."""
        loss, log_q = mixed_loss(self.loss, rate), self.log_q
        if self.only_q:
            loss = np.append(loss, np.log1p(-rate))
            log_q = np.append(log_q, np.log(self.only_q))
        missing_p = (1 - rate) * self.missing_q + rate * self.missing_p
        return LossRule(loss, log_q, rate * self.only_p, 0.0, missing_p, self.missing_q)

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
        large, total = self._split(float(np.max(np.abs(z))), z)
        exponent = z[:, None] * self.loss[large]
        log_p = self.log_q[large] + self.loss[large]
        if np.abs(exponent).max(initial=0.0) < 700 and np.abs(log_p).max(initial=0.0) < 700:
            gains = self._p[large] * np.expm1(exponent)
        else:
            with np.errstate(over="ignore"):
                gains = np.exp(log_p + exponent) - self._p[large]
        result: Array = total + gains.sum(axis=1)
        return result

    def log_moment(self, z: Array) -> Array:
        """log E_P[e^{zL}] where it is too large for `excess`."""
        exponent = self.log_q + (1 + z[:, None]) * self.loss
        top = exponent.max(axis=1)
        result: Array = top + np.log(np.exp(exponent - top[:, None]).sum(axis=1))
        return result

    def line(self, c: float, step: float, stop: int) -> tuple[ComplexArray, float]:
        """E_P[e^{zL}] - 1 at z = c + i step k, for 0 <= k < stop, and its rounding error."""
        z = vertical_line(c, step, 0, stop)
        large, total = self._split(float(np.abs(z[-1])), z)
        loss = self.loss[large]
        amplitude = np.exp(self.log_q[large] + (1 + c) * loss)
        size = float(amplitude.sum() + self._p[large].sum())
        error = _ROUNDING * (size + float(np.abs(total[-1])))
        if c < _SMALL_ORDER:
            small: ComplexArray = total + np.einsum("kx,x->k", np.expm1(z[:, None] * loss), self._p[large])
            return small, error
        moment: ComplexArray = total + (_fourier(loss, amplitude, step, 0, stop) - self._p[large].sum())
        return moment, error

    def log_line(self, c: float, step: float, stop: int) -> tuple[ComplexArray, Array]:
        """log E_P[e^{zL}] on the same line, where it is too large for `line`, or too small, and its error."""
        exponent = self.log_q + (1 + c) * self.loss
        top = float(exponent.max())
        amplitude = np.exp(exponent - top)
        moment = _fourier(self.loss, amplitude, step, 0, stop)
        logarithm: ComplexArray = np.log(moment)
        return logarithm + top, _ROUNDING * (
            abs(top) + float(amplitude.sum()) / np.maximum(np.abs(moment), 1e-300)
        )

    def log_size(self, c: float) -> float:
        """The logarithm of the largest term of E_P[e^{cL}]."""
        return float((self.log_q + (1 + c) * self.loss).max(initial=-np.inf))

    def _split(self, reach: float, z: Any) -> tuple[npt.NDArray[np.bool_], Any]:
        """Which losses are large for |z| <= reach, and all of E_P[e^{zL}] - 1 but their e^{zl} - 1."""
        large = np.abs(self.loss) * (reach + 1) > _SMALL
        q, p, loss = self._q[large], self._p[large], self.loss[large]
        gain = np.where(loss < 1.0, q * np.expm1(np.minimum(loss, 1.0)), p - q)
        # the listed losses carry less than all of Q, and of P
        less_q, less_p = self.only_q + self.missing_q, self.only_p + self.missing_p
        total = -z * float(gain.sum()) - less_p + z * (less_q - less_p)
        if not large.all():
            total = total + _series(self.loss[~large], self._q[~large], z)
        return large, total

    def mean(self) -> float:
        """E_P[L; L finite], by a sum of non-negative terms l e^l - (e^l - 1)."""
        gap = self.loss * np.exp(self.loss) - np.expm1(self.loss)
        small = np.abs(self.loss) < 1e-3
        square = self.loss * self.loss
        gap = np.where(small, square * (0.5 + self.loss / 3 + square / 8 + square * self.loss / 30), gap)
        with np.errstate(over="ignore", invalid="ignore"):
            big = self.loss > 30
            terms = np.where(big, self.loss * np.exp(self.log_q + self.loss), self._q * gap)
        less_q, less_p = self.only_q + self.missing_q, self.only_p + self.missing_p
        return float(terms.sum()) + less_q - less_p


def _series(loss: Array, weight: Array, z: Any) -> Any:
    """sum of weight (e^{wl} - 1 - w (e^l - 1)), w = 1 + z, for small losses, as a power series.

    w^k - w = w z (1 + w + ... + w^{k-2}), so with a_k = sum weight l^k / k! the sum is w z times the
    polynomial whose coefficients are the tails of the sequence a_k.
    """
    powers = np.cumprod(np.broadcast_to(loss, (_TERMS, loss.size)), axis=0)[1:]
    coefficients = np.einsum("kx,x->k", powers, weight) / _FACTORIALS
    tails = np.cumsum(coefficients[::-1])[::-1]
    w = 1 + z
    total = tails[-1] * np.ones_like(w)
    for tail in tails[-2::-1]:
        total *= w
        total += tail
    return total * w * z


def _fourier(loss: Array, amplitude: Array, step: float, start: int, stop: int) -> ComplexArray:
    """sum of amplitude e^{i step k loss} for start <= k < stop."""
    count = stop - start
    total = np.zeros(count, dtype=np.complex128)
    for part in np.array_split(np.arange(loss.size), max(1, count * loss.size // _CHUNK)):
        # einsum rather than BLAS: threads cost more than they bring at this size
        total += np.einsum("kx,x->k", _powers(step * loss[part], start, stop), amplitude[part])
    return total


def _powers(angle: Array, start: int, stop: int) -> ComplexArray:
    """exp(i k angle) for start <= k < stop: by doubling, so a multiplication an entry."""
    count = stop - start
    table = np.empty((count, angle.size), dtype=np.complex128)
    table[0] = np.exp(1j * start * angle)
    done = 1
    while done < count:
        more = min(done, count - done)
        np.multiply(table[:more], np.exp(1j * done * angle), out=table[done : done + more])
        done += more
    return table


def mixed_loss(loss: Array, rate: float) -> Array:
    """log(1 - rate + rate e^loss), accurate for small losses and for large ones."""
    with np.errstate(over="ignore", divide="ignore"):
        near = np.log1p(rate * np.expm1(loss))
        far = loss + np.log(rate + (1 - rate) * np.exp(-loss))
    mixed: Array = np.where(loss < 300.0, near, far)
    return mixed
