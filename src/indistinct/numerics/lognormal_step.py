"""The mean of e^{v(X - 1)} for one lognormal variable X, cut at some place, at complex v.

It is all that moments of high orders of a mean of such variables need (`high_orders`): by Gauss's rule on
panels, whose error is bounded by ellipses, and where v(X - 1) is not large as a power series over that rule.
"""

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy.special import log_ndtr, loggamma, ndtr

from indistinct.numerics.arrays import EPS, TINY, Array, ComplexArray, summed
from indistinct.numerics.cumulant import log1p
from indistinct.numerics.rule import PANEL_SIZE, TooFineError, placed_panels

LOG_SMALL = -42.0
"""Of what truncation and aliasing leave, each; it is charged."""
ROUNDING = 32 * EPS
"""Of a sum, relative to the sum of the sizes of its terms."""
LOG_ROOT = 0.5 * math.log(2 * math.pi)
_PANELS, _MOST_PANELS = 3, 64
_LOG_PANEL = LOG_SMALL - 8
"""What each of them may err by."""
_MOST_POWERS = 192
"""Of a variable whose exponential is summed as a power series."""
_RISES = np.geomspace(0.3, 6.0, 12)
"""Of ellipses around a panel, in its half widths."""
_ARC = np.linspace(0.0, math.pi, 33)
_HELD = 1 << 16
"""Entries of a table of powers held at once."""


@dataclass(frozen=True)
class Step:
    """log E[e^{v(X - 1)}; low < Z <= high] for one lognormal variable, by Gauss's rule on panels.

    `most` bounds Re v from its side, `turn` |Im v|, and if `most` is negative their ratio |Im v / Re v|. A
    rule of n nodes errs by at most 64/15 M r^{2-2n} / (1 - r^-2) where M bounds the integrand on an ellipse
    with half axes (r + 1/r)/2 and (r - 1/r)/2 (Trefethen 2013, Theorem 19.3); cells of its arc bound M.
    """

    scale: float
    low: float
    high: float
    most: float
    turn: float
    whole: bool
    """Whether Z above `high` is wanted too, and left to the error."""

    @cached_property
    def _rule(self) -> tuple[Array, Array, float]:
        """X - 1, weights, and a bound on the error of the mean: panels are halved until each errs little."""
        s, ends = self.scale, np.linspace(self.low, self.high, _PANELS + 1)
        middle, half = (ends[1:] + ends[:-1]) / 2, np.diff(ends) / 2
        kept: list[Array] = []
        while middle.size:
            log_error = self._log_errors(middle, half)
            wide = log_error > _LOG_PANEL
            kept.append(np.stack((middle, half, log_error))[:, ~wide])
            if sum(part.shape[1] for part in kept) + 2 * wide.sum() > _MOST_PANELS:
                raise TooFineError(f"over {_MOST_PANELS} panels of a normal variable")
            half = np.repeat(half[wide] / 2, 2)
            middle = np.repeat(middle[wide], 2) + half * np.tile((-1.0, 1.0), wide.sum())
        middle, half, log_error = np.concatenate(kept, axis=1)
        z, log_weights = placed_panels(middle, half)
        # below: e^{v(X-1)} is at most e^{-v(sz - s^2/2)}, or 1, and its linear part no more than 2 + |v|
        fall, linear = max(-self.most, 0.0), 2 + abs(self.most) + self.turn
        beyond = fall * s * s / 2 + (fall * s) ** 2 / 2 + float(log_ndtr(self.low + fall * s))
        error = float(np.exp(log_error).sum()) + math.exp(min(beyond, 0.0)) + linear * float(ndtr(self.low))
        if self.whole:
            error += 2 * linear * float(ndtr(s - self.high))
        return np.expm1(s * z - s * s / 2), np.exp(log_weights - z * z / 2 - LOG_ROOT), error

    def _log_errors(self, middle: Array, half: Array) -> Array:
        """Of panels, each by the best ellipse around it."""
        s, half = self.scale, half[:, None, None]
        log_radius = np.arcsinh(_RISES)
        x = middle[:, None, None] + half * np.cosh(log_radius)[:, None] * np.cos(_ARC)
        eta = half * _RISES[:, None] * np.sin(_ARC)
        left, right = x[..., 1:], x[..., :-1]
        up, down = np.maximum(eta[..., 1:], eta[..., :-1]), np.minimum(eta[..., 1:], eta[..., :-1])
        nearest = np.where(left * right < 0, 0.0, np.minimum(np.abs(left), np.abs(right)))
        lowest, highest = (np.exp(np.minimum(s * end - s * s / 2, 600.0)) for end in (left, right))
        sine = np.sin(np.minimum(s * up, math.pi / 2))
        if self.most >= 0:
            real = self.most * np.maximum(highest * np.cos(np.minimum(s * down, math.pi)) - 1, 0.0)
            real = real + self.turn * highest * sine
        else:  # on rays Im v / Re v is no more than that of the ends
            turned = np.cos(np.minimum(s * up, math.pi)) + self.turn / self.most * sine
            real = -self.most * np.maximum(1 - np.where(turned > 0, lowest, highest) * turned, 0.0)
        size = np.logaddexp(real, np.log(2 + (abs(self.most) + self.turn) * (1 + highest)))
        log_most = (size + (up * up - nearest * nearest) / 2 - LOG_ROOT).max(axis=-1)
        fixed = -np.log(-np.expm1(-2 * log_radius)) - 2 * (PANEL_SIZE - 1) * log_radius
        result: Array = (log_most + fixed).min(axis=1) + np.log(64 / 15 * half[:, 0, 0])
        return result

    @cached_property
    def _series(self) -> tuple[Array, Array, float] | None:
        """Where v(X - 1) is not large: E[(X-1)^k]/k! for k >= 2, by the same rule, and those of |X - 1|, all
        for v in units of the largest; and what the powers beyond have. None if too many are needed."""
        away, weights, _ = self._rule
        away = away * self._largest
        size, k = np.abs(away), np.arange(2, _MOST_POWERS + 1)
        # the sum of x^j/j! over j > k is at most e^x x^{k+1}/(k+1)!
        log_rest = np.multiply.outer(k + 1, np.log(np.maximum(size, TINY))) - loggamma(k + 2)[:, None]
        rest = np.exp(np.minimum(log_rest + size, 600.0)) @ weights
        few = np.flatnonzero(rest < math.exp(_LOG_PANEL))
        if not few.size:
            return None
        stop = int(few[0]) + 1
        powers = np.multiply.accumulate(away / np.arange(1, stop + 2)[:, None], axis=0)[1:]
        return powers @ weights, np.abs(powers) @ weights, float(rest[stop - 1])

    @property
    def _largest(self) -> float:
        return math.hypot(self.most, self.turn) * (1 + 1e-9)

    @property
    def error(self) -> float:
        """Of the mean."""
        return self._rule[2] + (0.0 if self._series is None else self._series[2])

    @property
    def few_powers(self) -> bool:
        """Whether a polynomial does it."""
        return self._series is not None

    def rounding(self, size: Any, real: Any = None) -> Any:
        """Of the mean at |v|, Re v being `most` unless told: |e^{v(X-1)} - 1| is at most |v(X-1)|, times that
        exponential; a power is rounded as often as it is multiplied."""
        if self._series is not None:
            u, sizes, total = size / self._largest, self._series[1], np.zeros_like(size)
            for coefficient in (sizes * (8 * np.arange(2, sizes.size + 2) + 30))[::-1].tolist():
                total = total * u + coefficient
            return EPS * total * u * u
        away, weights, _ = self._rule
        real = self.most if real is None else real
        largest = 2 + np.exp(np.minimum(np.maximum(np.multiply.outer(real, away), 0.0), 600.0))
        return ROUNDING * ((np.abs(away) * largest) @ weights) * size

    def log_mean(self, v: Any) -> Any:
        """log E[e^{v(X - 1)}]: all but the linear part of the exponential, whose mean is known, is summed."""
        if self._series is not None:
            u, total = v / self._largest, np.zeros_like(v)
            for coefficient in self._series[0][::-1].tolist():
                total = total * u + coefficient
            total = total * u * u
        else:
            away, weights, _ = self._rule
            exponent = np.multiply.outer(v, away)
            total = (np.expm1(exponent) - exponent) @ weights
        return self._log_of(total, v)

    def _log_of(self, total: Any, v: Any) -> Any:
        """log of 1, this sum, and what is known of the linear part."""
        if not self.whole:
            above = float(ndtr(-self.high))
            total = total - above + v * (above - float(ndtr(self.scale - self.high)))
        return log1p(total) if np.iscomplexobj(total) else np.log1p(np.maximum(total, -1 + EPS))

    def log_mean_upwards(self, v: Array, h: Array, stop: int) -> Any:
        """The same at v + ihk for k < stop, in rows. With a = X - 1 it is e^{va} - 1 that is summed, and
        e^{va} times e^{ihka} - 1, all of which keep their digits."""
        places = v + 1j * h * np.arange(stop)[:, None]
        if self._series is not None:
            return self.log_mean(places)
        away, weights, _ = self._rule
        exponent = np.multiply.outer(v, away)
        tilted = np.exp(exponent) * weights
        total = summed(np.expm1(exponent) - exponent, weights) - 1j * places.imag * float(weights @ away)
        size = max(_HELD // places.size, 1)
        for k in range(0, away.size, size):
            part = slice(k, k + size)
            table = _powers_less_one(np.multiply.outer(h, away[part]), stop)
            total += summed(table.swapaxes(0, 1), tilted[:, part]).T
        return self._log_of(total, places)

    def mean(self, v: Array) -> Array:
        """E[X] of the law tilted by e^{vX}, about."""
        away, weights, _ = self._rule
        with np.errstate(divide="ignore"):
            exponent = np.multiply.outer(v, away) + np.log(weights)
        tilted = np.exp(exponent - exponent.max(axis=-1, keepdims=True))
        result: Array = 1 + (tilted @ away) / tilted.sum(axis=-1)
        return result


def _powers_less_one(angle: Array, count: int) -> ComplexArray:
    """e^{ik angle} - 1 for k < count, by doubling: (1 + u)(1 + p) - 1 = u + p + up adds the errors of u and
    p, so that they are no more than some units of k |angle|, one for each doubling."""
    table = np.empty((count, *angle.shape), dtype=np.complex128)
    table[0], done = 0.0, 1
    while done < count:
        half, rows = done * angle / 2, min(done, count - done)
        sine = np.sin(half)
        power = 2j * sine * (np.cos(half) + 1j * sine)
        new = np.multiply(table[:rows], power, out=table[done : done + rows])
        new += table[:rows]
        new += power
        done += rows
    return table
