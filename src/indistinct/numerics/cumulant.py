"""Cumulants of a privacy loss, K(z) = log E_P[e^{zL}], on the real axis and along vertical lines."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any, NamedTuple, Protocol

import numpy as np
from scipy.special import exprel

from indistinct.numerics.arrays import EPS, TINY, Array, ComplexArray, summed, vertical_line
from indistinct.numerics.rule import LossRule

_SMALL, _TERMS = 0.5, 18
"""Below this |z| s a moment of Laplace noise is summed as a series, of so many terms."""


BEYOND = 1e-38
"""Where r and r^w, under Q, have at most e^-100 of their mass, r^w - 1 - w (r - 1), which is at most
w (w-1) (1 + r + r^w) (1 + |log r|), is below w (w-1) times this."""


class OnLine(NamedTuple):
    """Values of K, and bounds on their rounding errors."""

    values: ComplexArray
    errors: Array


class Cumulant(Protocol):
    """What the engines ask of a pair."""

    @property
    def size(self) -> int:
        """How many terms a value is a sum of: what it costs."""
        ...

    def real(self, z: Array) -> Array:
        """K at real z."""
        ...

    def line(self, c: float, step: float, stop: int) -> "OnLine":
        """K at c + i step k for 0 <= k < stop, up to multiples of 2 pi i."""
        ...


@dataclass(frozen=True)
class GaussianCumulant:
    """K(z) = z (z+1) shift^2 / 2 (Mironov 2017, Proposition 7)."""

    shift: float
    size: int = 1

    def real(self, z: Array) -> Array:
        return z * (z + 1) * (self.shift**2 / 2)

    def line(self, c: float, step: float, stop: int) -> OnLine:
        z = vertical_line(c, step, stop)
        return _closed(z * (z + 1) * (self.shift**2 / 2))


@dataclass(frozen=True)
class LaplaceCumulant:
    """Of the Laplace pair with largest loss s (Mironov 2017, Proposition 6):

    K(z) = log[ (z+1)/(2z+1) e^{zs} + z/(2z+1) e^{-(z+1)s} ].
    """

    loss: float
    size: int = 1

    def real(self, z: Array) -> Array:
        z = np.maximum(z, -1 - z)  # the same, both ways round
        near = z < -0.25
        result: Array = self._log_moment(np.where(near, 0.0, z)).values.real
        # near the removable pole: M = e^{-s/2} (cosh us + sinh(us) / 2u), u = z + 1/2
        z, turned = z[near], (z[near] + 0.5) * self.loss
        inner = (1 + np.exp(-2 * turned)) / 2 + self.loss / 2 * exprel(-2 * turned)
        small = 2 * self.loss < _SMALL
        result[near] = np.log1p(self._series(z)) if small else turned - self.loss / 2 + np.log(inner)
        return result

    def line(self, c: float, step: float, stop: int) -> OnLine:
        return self._log_moment(vertical_line(c, step, stop))

    def _log_moment(self, z: Array | ComplexArray) -> OnLine:
        # M - 1 = (e^{zs} - 1) (z+1)/(2z+1) + (e^{-(z+1)s} - 1) z/(2z+1); little is left of it if s is small
        s, twice = self.loss, 2 * z + 1
        large, small = np.real(z) * s > 30.0, (np.abs(z) + 1) * s < _SMALL
        shift = np.where(large, z * s, 0.0)
        scaled = (z + 1) / twice * np.exp(z * s - shift) + z / twice * np.exp(-(z + 1) * s - shift)
        parts = (z + 1) / twice * np.expm1(z * s - shift), z / twice * np.expm1(-(z + 1) * s - shift)
        up, down = (np.where(large | small, 0.0, part) for part in parts)
        less = up + down + 0j
        if small.any():
            less[small] = self._series(z[small])
        values = shift + np.where(large, np.log(scaled + 0j), log1p(less))
        lost = np.where(large, 1.0, (np.abs(up) + np.abs(down)) / np.maximum(np.abs(1 + less), 1e-300))
        return OnLine(values, 16 * EPS * (np.abs(values) + lost))

    def _series(self, z: Any) -> Any:
        """M - 1 = z (z+1) sum over k >= 2 of g_k s^k/k!, where (2z+1) g_k = z^{k-1} - (-z-1)^{k-1}: so
        g_{k+1} = z (z+1) g_{k-1} - g_k, from g_1 = 0 and g_2 = 1."""
        product, before, power = z * (z + 1), 0.0, 1.0 + 0 * z
        total, weight = 0 * z, self.loss * self.loss / 2
        for k in range(2, _TERMS):
            total = total + weight * power
            before, power = power, product * before - power
            weight *= self.loss / (k + 1)
        return product * total


@dataclass(frozen=True, eq=False)
class RuleCumulant:
    """Read off a quadrature rule; the sum over its laws, with these counts, if it has several."""

    rule: LossRule
    counts: Array | None = None

    @property
    def size(self) -> int:
        return self.rule.loss.size

    def real(self, z: Array) -> Array:
        with np.errstate(over="ignore", divide="ignore"):
            result: Array = np.log1p(np.maximum(self.rule.excess(z), -1.0))
        # little less than 1 keeps no digits of a small moment, and a large one overflows
        other = ~((result > -0.5) & (result < 600.0))
        if other.any():
            some = np.atleast_2d(other).any(axis=0)
            result[..., some] = self.rule.log_moment(z[some])
        return result if self.counts is None else summed(result.swapaxes(-1, -2), self.counts)

    def line(self, c: float, step: float, stop: int) -> OnLine:
        if self.rule.log_size(c) > 600.0:
            values, errors = self.rule.log_line(c, step, stop)
        else:
            moment, error = self.rule.line(c, step, stop)
            values = log1p(moment)
            errors = error * np.exp(-np.maximum(values.real, -600.0))
        if self.counts is None:
            return OnLine(values, errors)
        return OnLine(*(summed(each.swapaxes(-1, -2), self.counts) for each in (values, errors)))


@dataclass(frozen=True, eq=False)
class CumulantSum:
    """The cumulant of independent losses: sum of count times each."""

    terms: Sequence[tuple[Cumulant, int]]

    @property
    def size(self) -> int:
        return sum(term.size for term, _ in self.terms)

    def real(self, z: Array) -> Array:
        return reduce(np.add, [count * term.real(z) for term, count in self.terms])

    def line(self, c: float, step: float, stop: int) -> OnLine:
        lines = [(term.line(c, step, stop), count) for term, count in self.terms]
        values = reduce(np.add, [n * line.values for line, n in lines])
        return OnLine(values, reduce(np.add, [n * line.errors for line, n in lines]))


@dataclass(frozen=True, eq=False)
class CumulantRows:
    """Several cumulants, a row for each."""

    rows: Sequence[Cumulant]

    @property
    def size(self) -> int:
        return sum(row.size for row in self.rows)

    def real(self, z: Array) -> Array:
        return np.stack([row.real(z) for row in self.rows])

    def line(self, c: float, step: float, stop: int) -> OnLine:
        lines = [row.line(c, step, stop) for row in self.rows]
        return OnLine(np.stack([line.values for line in lines]), np.stack([line.errors for line in lines]))


@dataclass(frozen=True, eq=False)
class SplitCumulant:
    """log of M^n - B^n, where each law is split into bulk and jumps: the transform of what has a jump in
    it."""

    terms: Sequence[tuple[Cumulant, LossRule | None, int]]  # bulk, jumps and count

    def part(self, kind: int) -> Cumulant:
        """That of the bulk alone, and of what has a jump in it."""
        return self if kind else CumulantSum([(bulk, count) for bulk, _, count in self.terms])

    @property
    def size(self) -> int:
        return sum(bulk.size + (jumps.loss.size if jumps else 0) for bulk, jumps, _ in self.terms)

    @property
    def jumps(self) -> bool:
        """Whether there are any."""
        return any(jumps is not None for _, jumps, _ in self.terms)

    @property
    def log_masses(self) -> tuple[float, float]:
        """How much has a jump in it, under P and under Q."""
        p, q = np.maximum(self.real(np.array([0.0, -1.0])), math.log(TINY)).tolist()
        return p, q

    def real(self, z: Array) -> Array:
        bulk, log_more = np.zeros_like(z), np.full(z.shape, -np.inf)
        for below, jumps, count in self.terms:
            one = below.real(z)
            bulk += count * one
            if jumps is not None:
                ratio = jumps.log_moment(z) - one
                # log(log(1 + e^r)), which is r where that is small
                each = np.where(ratio < -30, ratio, np.log(np.logaddexp(0.0, np.maximum(ratio, -30.0))))
                log_more = np.logaddexp(log_more, math.log(count) + each)
        # log(e^m - 1), which is log m where that is small
        more = np.exp(np.maximum(log_more, -30.0))
        return bulk + np.where(log_more < -30, log_more, more + np.log(-np.expm1(-more)))

    def line(self, c: float, step: float, stop: int) -> OnLine:
        bulk, more = np.zeros(stop, dtype=np.complex128), np.zeros(stop, dtype=np.complex128)
        errors, error_more = np.zeros(stop), np.zeros(stop)
        for below, jumps, count in self.terms:
            one = below.line(c, step, stop)
            bulk += count * one.values
            errors += count * one.errors
            if jumps is not None:
                values, jump_errors = jumps.log_line(c, step, stop)
                ratio = values - one.values
                # log(1 + e^r) = r + log(1 + e^-r)
                over = ratio.real > 0
                small = np.exp(np.where(over, -ratio, ratio))
                more += count * (np.where(over, ratio, 0.0) + log1p(small))
                # its derivative is the share that jumps have
                share = np.abs(np.where(over, 1.0, small)) / np.maximum(np.abs(1 + small), TINY)
                error_more += count * share * (jump_errors + one.errors)
        # log(e^m - 1) = m + log(1 - e^-m), whichever does not overflow; its derivative is 1/(1 - e^-m)
        over = more.real > 0
        inner = np.expm1(np.where(over, -more, more))
        steep = np.exp(np.where(over, 0.0, more.real)) / np.maximum(np.abs(inner), TINY)
        values = bulk + np.where(over, more + np.log(-inner), np.log(inner))
        return OnLine(values, errors + error_more * steep)


def guarded(orders: Array, log_moments: Array) -> Array:
    """Log moments, larger in size by their rounding, which counts most next to the orders 0 and 1, and by
    what lies beyond a rule."""
    far = np.maximum(np.minimum(np.abs(orders), np.abs(orders - 1)), 1e-15)
    larger: Array = log_moments * (1 + 1e-12 + 1e-15 / far)
    with np.errstate(over="ignore"):
        # of a pair that tells nothing there is nothing beyond
        return larger + np.where(log_moments == 0, 0.0, orders * (orders - 1) * BEYOND)


def _closed(values: ComplexArray) -> OnLine:
    """A closed form, known to rounding."""
    return OnLine(values, 8 * EPS * np.abs(values))


def log_expm1(x: float) -> float:
    """log(e^x - 1) for x > 0."""
    return x + math.log(-math.expm1(-x))


def log1p(x: ComplexArray) -> ComplexArray:
    """log(1 + x), keeping the relative accuracy of the real part for small x (NumPy's does not)."""
    re, im = x.real, x.imag
    result: ComplexArray = np.empty_like(x)
    small = np.abs(re) + np.abs(im) < 0.5
    with np.errstate(over="ignore"):
        result.real = 0.5 * np.log1p(np.maximum(re * (2 + re) + im * im, -1 + 1e-16))
        if not small.all():  # finite at zero too, so that a power of it is zero and not undefined
            far = np.log(np.maximum(np.hypot(1 + re, im), 1e-300))
            result.real = np.where(small, result.real, far)
    result.imag = np.arctan2(im, 1 + re)
    return result
