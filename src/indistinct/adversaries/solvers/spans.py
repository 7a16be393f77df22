"""Functions of one number that features span: evaluated, cut where they kink, and their zeros found."""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from numpy.polynomial.hermite_e import hermeroots, hermevander
from scipy.special import factorial

from indistinct.adversaries.solvers.signed import Coefficients, Signed
from indistinct.numerics.arrays import Array

_GOLDEN = (3 - math.sqrt(5)) / 2
_TOUCH = 0.1
"""Where |h| dips below this share of its largest value it may have complex zeros close by."""


class Span(ABC):
    """The functions a . phi(x)."""

    furthest: float = 1e6
    """How far out the features can be evaluated."""

    breaks: tuple[float, ...] = ()
    """Where the features are not smooth."""

    all_moments: bool = True
    """Whether every power of the features has a mean under noise with exponential tails."""

    local: bool = False
    """Whether each feature matters at its own place; mixing them would lose digits of the small ones."""

    @abstractmethod
    def __call__(self, x: Array) -> Array:
        """The features, one a row."""

    @abstractmethod
    def zeros(self, coefficients: Coefficients, low: float, high: float) -> Array:
        """Where the function with these coefficients changes sign."""

    def peaks(self, coefficients: Array, constant: float, slope: float) -> list[tuple[float, float]]:
        """Where h' + constant + slope x falls through 0, and the widths 1/sqrt(-h'' - slope); only for spans
        whose peaks may be narrower than the grid that looks for them."""
        return []


@dataclass(frozen=True)
class PolynomialSpan(Span):
    """Polynomials up to a degree, in normalised Hermite polynomials: powers would lose digits from degree 5
    on. NumPy's are not normalised, so that its coefficients are these over sqrt(k!)."""

    degree: int

    def __call__(self, x: Array) -> Array:
        rows: Array = hermevander(x, self.degree).T / _root_factorials(self.degree)[:, None]
        return rows

    def zeros(self, coefficients: Coefficients, low: float, high: float) -> Array:
        """The real zeros, and the real parts of those so near the axis that they can be felt on it."""
        assert not isinstance(coefficients, Signed)
        top = self.degree
        while top and abs(coefficients[top]) <= 1e-18 * np.abs(coefficients).max():
            top -= 1
        roots = hermeroots(coefficients[: top + 1] / _root_factorials(top))
        near: Array = np.sort(roots.real[np.abs(roots.imag) <= 1.0])
        return near[np.diff(near, prepend=-math.inf) > 1e-12 * (1 + np.abs(near))]

    def peaks(self, coefficients: Array, constant: float, slope: float) -> list[tuple[float, float]]:
        if self.degree < 2:
            return []
        below = PolynomialSpan(self.degree - 1)  # He_k' is sqrt(k) He_{k-1} in the normalised basis
        rising = np.sqrt(np.arange(1.0, self.degree + 1)) * coefficients[1:]
        rising[:2] += constant, slope
        bending = np.append(np.sqrt(np.arange(1.0, self.degree)) * rising[1:], 0.0)
        places = below.zeros(rising, -math.inf, math.inf)
        places = places[np.abs(places) < self.furthest]
        bend = bending @ below(places)
        falls = bend < 0
        return [*zip(places[falls].tolist(), (1 / np.sqrt(-bend[falls])).tolist(), strict=True)]


@cache
def _root_factorials(degree: int) -> Array:
    return np.sqrt(factorial(np.arange(degree + 1.0)))


@dataclass(frozen=True)
class PiecewiseLinearSpan(Span):
    """Continuous functions, linear between knots and beyond them: hats, and a ramp at either end."""

    knots: tuple[float, ...]
    local = True

    @property
    def breaks(self) -> tuple[float, ...]:  # type: ignore[override]
        return self.knots

    def __call__(self, x: Array) -> Array:
        knots = np.array(self.knots)
        rows = np.zeros((knots.size + 2, x.size))
        place = np.clip(np.searchsorted(knots, x) - 1, 0, max(knots.size - 2, 0))
        inside = np.clip(x, knots[0], knots[-1])
        columns = np.arange(x.size)
        if knots.size > 1:
            share = (inside - knots[place]) / (knots[place + 1] - knots[place])
            rows[place, columns] = 1 - share
            rows[place + 1, columns] = share
        else:
            rows[0] = 1.0
        rows[-2] = np.minimum(x - knots[0], 0.0)
        rows[-1] = np.maximum(x - knots[-1], 0.0)
        return rows

    def zeros(self, coefficients: Coefficients, low: float, high: float) -> Array:
        """The zeros, and the knots where h is so much smaller than next to them that its zero, were the piece
        prolonged, is felt there."""
        sign, log = coefficients = Signed.of(coefficients)
        knots = np.array(self.knots)
        side, size = sign[:-2], log[:-2]
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            cross = np.flatnonzero(side[:-1] * side[1:] < 0)
            inner = knots[cross] + np.diff(knots)[cross] / (1 + np.exp(size[cross + 1] - size[cross]))
            down, up = (-side[k] * sign[j] * np.exp(size[k] - log[j]) for k, j in ((0, -2), (-1, -1)))
            ends = np.array([knots[0] + down, knots[-1] + up])
            outside = np.isfinite(ends) & np.array([ends[0] < knots[0], ends[1] > knots[-1]])
            # with the values a scale beyond the first knot and the last
            beyond = coefficients.combine(self(np.array([knots[0] - 1, knots[-1] + 1]))).log
            row = np.concatenate((beyond[:1], size, beyond[1:]))
            touched = knots[row[1:-1] < np.maximum(row[:-2], row[2:]) - math.log(2.0)]
        touched = np.concatenate((touched, knots[side == 0]))
        zeros: Array = np.unique(np.concatenate((inner, ends[outside], touched)))
        return zeros


@dataclass(frozen=True)
class FunctionSpan(Span):
    """Whatever a function computes from an array, one feature a row."""

    function: Callable[[Array], Any]
    breaks: tuple[float, ...] = ()
    name: str = "features"
    furthest = 2e4
    all_moments = False

    def __repr__(self) -> str:
        return self.name

    def __call__(self, x: Array) -> Array:
        return np.asarray(self.function(x), dtype=np.float64)

    def zeros(self, coefficients: Coefficients, low: float, high: float) -> Array:
        """The zeros, and where h all but touches 0 between them: complex zeros beside the line are felt."""
        assert not isinstance(coefficients, Signed)
        x = np.unique(np.concatenate((np.linspace(low, high, 2048), np.clip(self.breaks, low, high))))
        value = coefficients @ self(x)
        side, size = np.sign(value), np.abs(value)
        at = np.flatnonzero(side[:-1] * side[1:] < 0)
        left, right, before = x[at], x[at + 1], side[at]
        for _ in range(52 if at.size else 0):
            middle = (left + right) / 2
            same = np.sign(coefficients @ self(middle)) == before
            left, right = np.where(same, middle, left), np.where(same, right, middle)
        dips = 1 + np.flatnonzero(
            (size[1:-1] < size[:-2]) & (size[1:-1] < size[2:]) & (side[:-2] == side[2:])
        )
        dips = dips[(side[dips] == side[dips - 1]) & (size[dips] < _TOUCH * size.max())]
        first, last = x[dips - 1], x[dips + 1]
        for _ in range(60 if dips.size else 0):  # golden section: to half the digits, as minima go
            one, two = first + _GOLDEN * (last - first), last - _GOLDEN * (last - first)
            lower = np.abs(coefficients @ self(one)) < np.abs(coefficients @ self(two))
            first, last = np.where(lower, first, one), np.where(lower, two, last)
        zeros: Array = np.unique(np.concatenate((left, x[value == 0], (first + last) / 2)))
        return zeros
