"""Noisy counts without their noise, where what they count is flat but for jumps and narrow places.

Haar's wavelets at every place and on every scale, not at multiples of the scale only (cycle spinning,
Coifman and Donoho 1995): a coefficient compares the counts of a block's two halves along some axes. What is
within √(2 log k) deviations, k the number of blocks of that size, is taken for noise (the universal
threshold, Donoho and Johnstone 1994), everything else is kept as it is. The variance of a block's count is
known: that of the noise, and of sampling the count that is fitted. No smoothness is asked for, so a jump
costs no more than the cells that it crosses.
"""

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np
import numpy.typing as npt

from indistinct.numerics.arrays import Array

_PASSES: Final = 2
"""The second with the variance of what the first has found."""
_LEAST: Final = 2.5
"""Deviations: where there are few blocks, the universal threshold would keep much noise."""


def without_noise(counts: Array, noise: Array | float) -> Array:
    """Noisy counts in cells, as many along each axis, with this variance of the noise on each; not below
    0."""
    even = np.full_like(counts, max(float(counts.mean()), 0.0))
    fitted = even
    for _ in range(_PASSES):
        fitted = np.maximum(_Blocks(counts, fitted + noise).kept(), 0.0)
    return fitted


@dataclass(frozen=True, eq=False)
class _Blocks:
    """Counts and their variances, mirrored at the border of the box."""

    counts: Array
    variance: Array

    @cached_property
    def _levels(self) -> int:
        return int(math.log2(self.counts.shape[0]))

    def kept(self) -> Array:
        """The counts, of which only coefficients above the threshold are left."""
        axes, cells = range(self.counts.ndim), self.counts.shape[0]
        sums, variance = (_mirrored(part) for part in (self.counts, self.variance))
        details: list[list[tuple[npt.NDArray[np.intp], Array]]] = []
        for level in range(self._levels):
            blocks = (cells / 2 ** (level + 1)) ** len(axes)
            threshold = max(_LEAST, math.sqrt(2 * math.log(max(blocks, 1.0))))
            parts = [sums]
            for axis in axes:
                ahead = [np.roll(part, -(2**level), axis) for part in parts]
                halves = [((one + two) / 2, (one - two) / 2) for one, two in zip(parts, ahead, strict=True)]
                parts = [part for pair in zip(*halves, strict=True) for part in pair]
                variance = (variance + np.roll(variance, -(2**level), axis)) / 4
            sums, bound = parts[0], threshold * np.sqrt(variance)
            places = [np.flatnonzero(np.abs(part) > bound) for part in parts[1:]]
            details.append(
                [(place, part.ravel()[place]) for place, part in zip(places, parts[1:], strict=True)]
            )
        for level in reversed(range(self._levels)):
            parts = [sums, *(_sparse(sums.shape, *detail) for detail in details[level])]
            for axis in reversed(axes):
                half = len(parts) // 2
                pairs = zip(parts[:half], parts[half:], strict=True)
                parts = [(a + b + np.roll(a - b, 2**level, axis)) / 2 for a, b in pairs]
            sums = parts[0]
        return sums[(slice(0, cells),) * len(axes)]


def _mirrored(values: Array) -> Array:
    for axis in range(values.ndim):
        values = np.concatenate([values, np.flip(values, axis)], axis)
    return values


def _sparse(shape: tuple[int, ...], places: npt.NDArray[np.intp], values: Array) -> Array:
    whole = np.zeros(shape)
    whole.ravel()[places] = values
    return whole
