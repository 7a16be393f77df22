"""Estimates with their errors and 95 % intervals, from noise whose law is known.

An interval is the set of answers that an exact test does not refuse: a linear combination of released numbers
has noise of a known law, whatever the records are, so it holds the answer without noise as often as it says,
in a group of three records as in one of a million (for ratios: Fieller 1954). What clipping and limits do to
that answer is not in it.
"""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import ndtri

Values = npt.NDArray[np.float64]
Width = Callable[[Values], Values]
"""What the noise of Σ cᵢ xᵢ does not exceed, in 95 cases of 100, from coefficients along the last axis."""
LEVEL = 0.95
_LAPLACE = math.log(1 / (1 - LEVEL)) / math.sqrt(2)
"""The same for one Laplace variable of deviation 1. Of sums of them it is smaller: they are nearer to
Gaussian."""


@dataclass(frozen=True)
class Estimates:
    """Numbers, their standard errors and 95 % intervals: arrays of one shape, such as an entry for each
    group."""

    value: Any
    error: Any
    low: Any
    high: Any

    def __post_init__(self) -> None:
        given = {one.name: np.float64(getattr(self, one.name)) for one in fields(self)}
        for name, values in zip(given, np.broadcast_arrays(*given.values()), strict=True):
            object.__setattr__(self, name, values)

    def rows(self) -> Iterator[tuple[float, float, float, float]]:
        """One entry after the other."""
        columns = (self.value, self.error, self.low, self.high)
        yield from zip(*(one.ravel().tolist() for one in columns), strict=True)

    @staticmethod
    def of(value: Any, error: Any, width: Any) -> "Estimates":
        """With an interval around the value."""
        return Estimates(value, error, np.subtract(value, width), np.add(value, width))


def whole_counts(found: Estimates) -> Estimates:
    """Counts as whole numbers that are not negative: post-processing, which moves small ones up on
    average."""
    low, high = np.maximum(np.floor(found.low), 0.0), np.maximum(np.ceil(found.high), 0.0)
    return Estimates(np.maximum(np.rint(found.value), 0.0), found.error, low, high)


def half_width(gaussian: bool) -> float:
    """Of an interval, in deviations of several noises together."""
    return float(ndtri((1 + LEVEL) / 2)) if gaussian else _LAPLACE


def gaussian_width(deviation: float, coefficients: Values) -> Values:
    """A `Width` of Gaussian noise."""
    width: Values = half_width(True) * deviation * np.sqrt((coefficients**2).sum(axis=-1))
    return width


def laplace_width(scale: float, unit: float, deviation: float, coefficients: Values) -> Values:
    """A `Width` of Laplace noise on multiples of `unit`: exact for one number, and not too small for
    several."""
    largest = np.abs(coefficients).max(axis=-1)
    if coefficients.shape[-1] > 1:
        several: Values = _LAPLACE * deviation * np.sqrt((coefficients**2).sum(axis=-1)) + unit * largest
        return several
    # Pr[|X| > k units] = 2 r^(k + 1) / (1 + r) with r = exp(-unit/scale)
    rate = min(unit / scale, 700.0)
    places = math.log(2 / ((1 - LEVEL) * (1 + math.exp(-rate)))) / rate - 1
    one: Values = largest * unit * max(math.ceil(places - 1e-9), 0)
    return one


def ratio_interval(top: Values, bottom: Values, width: Width) -> tuple[Values, Values]:
    """All u in [-1, 1] for which top - u * bottom may be noise alone: the ends of that set. If the bottom
    itself may be noise alone, they are -1 and 1."""

    def refused(u: Values) -> npt.NDArray[np.bool_]:
        return np.abs(top - u * bottom) > width(np.stack([np.ones_like(u), u], axis=-1))

    known = bottom > width(np.ones(1))
    best = np.clip(top / np.where(known, bottom, np.inf), -1.0, 1.0)
    low, high = (np.where(known, farthest(refused, best, end), end) for end in (-1.0, 1.0))
    return low, high


def farthest(refused: Callable[[Values], npt.NDArray[np.bool_]], start: Values, end: float) -> Values:
    """The last place on the way from `start` to `end` that is not refused; `end`, if that is not."""
    near, far = start.copy(), np.full_like(start, end)
    for _ in range(60):
        middle = (near + far) / 2
        out = refused(middle)
        near, far = np.where(out, near, middle), np.where(out, middle, far)
    result: Values = np.where(refused(np.full_like(start, end)), far, end)
    return result
