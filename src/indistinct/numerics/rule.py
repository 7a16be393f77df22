"""A privacy loss as finitely many weighted values, and its cumulant on complex orders.

A `LossRule` stands for a pair (P, Q) the way a quadrature rule stands for an integral: losses l_i and
weights q_i with sum_i q_i g(l_i) = E_Q[g(log dP/dQ)] to rounding, for every g the engines need. Mixing,
reversing and reading the cumulant are then operations on two short arrays.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from indistinct.numerics.arrays import Array, ComplexArray

PANEL_SIZE = 32
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(PANEL_SIZE)
_LOG_WEIGHTS = np.log(_WEIGHTS)

MAX_PANELS = 1 << 14


class TooFineError(ArithmeticError):
    """An integrand that oscillates too fast to be integrated at a reasonable cost."""


_SMALL = 0.25
"""Below this |w l| the terms are summed as moments, above it as exponentials."""

_TERMS = 13
"""Powers kept in that sum: 0.25^13/13! is below rounding."""


def panels(low: float, high: float, half_width: float) -> tuple[Array, Array]:
    """Composite Gauss-Legendre nodes on [low, high] and the logarithms of their weights.

    A panel integrates e^{kx} to rounding while |k| half_width stays below about 30, and a function with
    a singularity at distance d from the axis while half_width stays below 1.6 d.
    """
    count = max(1, int(np.ceil(min((high - low) / (2 * half_width), 1e9))))
    if count > MAX_PANELS:
        raise TooFineError(f"{count} quadrature panels")
    radius = (high - low) / (2 * count)
    centres = low + radius * (2 * np.arange(count) + 1)
    nodes = (centres[:, None] + radius * _NODES).ravel()
    return nodes, np.tile(_LOG_WEIGHTS + np.log(radius), count)


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

    def excess(self, order: Array) -> Array:
        """E_Q[(dP/dQ)^w] - 1 at real orders w, without cancellation.

        Uses E_Q[dP/dQ] = 1 to subtract what is linear: the summand e^{wl} - 1 - w (e^l - 1) has one
        sign, so small losses keep their relative accuracy.
        """
        reach = float(np.max(np.abs(order)))
        large, total = self._split(reach, order)
        exponent = self.log_q[large] + order[:, None] * self.loss[large]
        with np.errstate(over="ignore"):
            result: Array = total + np.exp(exponent).sum(axis=1)
        return result

    def log_moment(self, order: Array) -> Array:
        """log E_Q[(dP/dQ)^w] where it is large enough not to need `excess`."""
        exponent = self.log_q + order[:, None] * self.loss
        top = exponent.max(axis=1)
        result: Array = top + np.log(np.exp(exponent - top[:, None]).sum(axis=1))
        return result

    def line(self, order: float, step: float, start: int, stop: int) -> ComplexArray:
        """E_Q[(dP/dQ)^w] - 1 at w = order + i step k, for start <= k < stop."""
        k = np.arange(start, stop)
        w = order + 1j * step * k
        large, total = self._split(float(np.hypot(order, step * stop)), w)
        loss = self.loss[large]
        amplitude = np.exp(self.log_q[large] + order * loss)
        # einsum rather than BLAS: threads cost more than they bring at this size
        return total + np.einsum("kx,x->k", _powers(step * loss, start, stop), amplitude)

    def _split(self, reach: float, w: Any) -> tuple[npt.NDArray[np.bool_], Any]:
        """Which losses are large for |w| <= reach, and everything but their exponentials."""
        reach = max(reach, 1.0)
        large = np.abs(self.loss) * reach > _SMALL
        q_large = self._q[large]
        total = -(q_large.sum() + w * (float((q_large * np.expm1(self.loss[large])).sum())))
        # the listed losses carry less than all of Q, and of P
        less_q, less_p = self.only_q + self.missing_q, self.only_p + self.missing_p
        total = total - less_q + w * (less_q - less_p)
        if not large.all():
            scaled = self.loss[~large] * reach
            moments = _moments(scaled, self._q[~large])
            total = total + _series(moments, w / reach) - w * _series(moments, 1 / reach)
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


def _moments(x: Array, weight: Array) -> list[float]:
    """sum weight x^k / k! for k = 2, 3, ... ."""
    moments, term = [], weight * x
    for k in range(2, _TERMS):
        term = term * x / k
        moments.append(float(term.sum()))
    return moments


def _series(moments: list[float], ratio: Any) -> Any:
    """sum_k moments[k-2] ratio^k from k = 2, by Horner's rule."""
    total = 0.0 * ratio
    for moment in moments[::-1]:
        total = total * ratio + moment
    return total * ratio * ratio


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
    mixed: Array = np.where(loss < 1.0, near, far)
    return mixed
