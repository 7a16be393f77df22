"""Cumulants of a privacy loss, K(z) = log E_P[e^{zL}], on the real axis and along vertical lines."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from indistinct.numerics.arrays import Array, ComplexArray, vertical_line
from indistinct.numerics.rule import LossRule


class Cumulant(Protocol):
    """What the engines ask of a pair."""

    @property
    def size(self) -> int:
        """How many terms a value is a sum of: what it costs."""
        ...

    def real(self, z: Array) -> Array:
        """K at real z."""
        ...

    def line(self, c: float, step: float, start: int, stop: int) -> ComplexArray:
        """K at c + i step k for start <= k < stop, up to multiples of 2 pi i."""
        ...


@dataclass(frozen=True)
class GaussianCumulant:
    """K(z) = z (z+1) shift^2 / 2 (Mironov 2017, Proposition 7)."""

    shift: float
    size: int = 1

    def real(self, z: Array) -> Array:
        return z * (z + 1) * (self.shift**2 / 2)

    def line(self, c: float, step: float, start: int, stop: int) -> ComplexArray:
        z = vertical_line(c, step, start, stop)
        return z * (z + 1) * (self.shift**2 / 2)


@dataclass(frozen=True)
class LaplaceCumulant:
    """Of the Laplace pair with largest loss s (Mironov 2017, Proposition 6):

    K(z) = log[ (z+1)/(2z+1) e^{zs} + z/(2z+1) e^{-(z+1)s} ].
    """

    loss: float
    size: int = 1

    def real(self, z: Array) -> Array:
        result: Array = self._log_moment(z).real
        return result

    def line(self, c: float, step: float, start: int, stop: int) -> ComplexArray:
        return self._log_moment(vertical_line(c, step, start, stop))

    def _log_moment(self, z: Array | ComplexArray) -> ComplexArray:
        # M - 1 = (e^{zs} - 1) (z+1)/(2z+1) + (e^{-(z+1)s} - 1) z/(2z+1); the pole at -1/2 is removable,
        # and a contour (Re z > 0) never meets it.
        s, twice = self.loss, 2 * z + 1
        large = np.real(z) * s > 30.0
        shift = np.where(large, z * s, 0.0)
        scaled = (z + 1) / twice * np.exp(z * s - shift) + z / twice * np.exp(-(z + 1) * s - shift)
        small = (z + 1) / twice * np.expm1(z * s - shift) + z / twice * np.expm1(-(z + 1) * s - shift)
        return shift + np.where(large, np.log(scaled + 0j), log1p(np.where(large, 0.0, small) + 0j))


@dataclass(frozen=True, eq=False)
class RuleCumulant:
    """Read off a quadrature rule."""

    rule: LossRule

    @property
    def size(self) -> int:
        return self.rule.loss.size

    def real(self, z: Array) -> Array:
        with np.errstate(over="ignore", divide="ignore"):
            result: Array = np.log1p(np.maximum(self.rule.excess(z), -1.0))
        high = ~(result < 600.0)
        if high.any():
            result[high] = self.rule.log_moment(z[high])
        return result

    def line(self, c: float, step: float, start: int, stop: int) -> ComplexArray:
        if self.rule.log_size(c) > 600.0:
            return self.rule.log_line(c, step, start, stop)
        return log1p(self.rule.line(c, step, start, stop))


@dataclass(frozen=True, eq=False)
class CumulantSum:
    """The cumulant of independent losses: sum of count times each."""

    terms: Sequence[tuple[Cumulant, int]]

    @property
    def size(self) -> int:
        return sum(term.size for term, _ in self.terms)

    def real(self, z: Array) -> Array:
        total: Array = np.sum([count * term.real(z) for term, count in self.terms], axis=0)
        return total

    def line(self, c: float, step: float, start: int, stop: int) -> ComplexArray:
        total: ComplexArray = np.sum([n * term.line(c, step, start, stop) for term, n in self.terms], axis=0)
        return total


def log1p(x: ComplexArray) -> ComplexArray:
    """log(1 + x), keeping the relative accuracy of the real part for small x (NumPy's does not)."""
    re, im = x.real, x.imag
    result: ComplexArray = np.empty_like(x)
    # finite at zero too, so that a power of it is zero and not undefined
    with np.errstate(over="ignore"):
        near = 0.5 * np.log1p(np.maximum(2 * re + re * re + im * im, -1 + 1e-16))
        far = np.log(np.maximum(np.hypot(1 + re, im), 1e-300))
    result.real = np.where(np.abs(re) + np.abs(im) < 0.5, near, far)
    result.imag = np.arctan2(im, 1 + re)
    return result
