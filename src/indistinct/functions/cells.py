"""A density that is linear in each cell of a grid: its mass, and that of any box, are known exactly.

A cell has its share of the mass and a slope along each axis: half the difference of its two neighbours'
heights, or at the border of the box the difference to its one neighbour. A slope is never steeper than either
neighbour allows (van Leer's limiter, 1977), so that nothing overshoots and a jump stays a jump, and slopes of
a cell together never make the density negative. What a slope adds on one side of a cell's middle it takes
from the other: shares are kept, and the mass is one because the shares add up to one.
"""

import math
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from indistinct.functions.public_randomness import PublicUniforms
from indistinct.numerics.arrays import TINY, Array


@dataclass(frozen=True, eq=False)
class CellDensity:
    """A density on the unit cube."""

    share: Array = field(repr=False)
    """Of the mass in each cell, as many cells along each axis; they add up to one."""
    floor: float = 0.0
    """The share of the uniform density that is mixed in."""

    @property
    def _cells(self) -> int:
        return int(self.share.shape[0])

    @cached_property
    def _slopes(self) -> Array:
        """[d, ...]: by how much of its height a cell's density rises from one end to the other."""
        slopes = np.stack([_limited(self.share, axis) for axis in range(self.share.ndim)])
        with np.errstate(over="ignore"):
            relative = np.divide(slopes, self.share, out=np.zeros_like(slopes), where=self.share > 0)
        relative = np.clip(relative, -2.0, 2.0)
        steepness = np.abs(relative).sum(axis=0)
        limited: Array = relative * np.minimum(1.0, 2.0 / np.maximum(steepness, 2.0))
        return limited

    def __call__(self, places: Array) -> Array:
        """At points [n, d] of the cube."""
        scaled = places * self._cells
        cell = np.clip(np.floor(scaled).astype(np.int64), 0, self._cells - 1)
        index = tuple(cell.T)
        rise = np.einsum("an,na->n", self._slopes[(slice(None), *index)], scaled - cell - 0.5)
        heights: Array = self.share[index] * self.share.size * np.maximum(1 + rise, 0.0)
        return (1 - self.floor) * heights + self.floor

    def probability(self, low: Array, high: Array) -> float:
        """Of the part of the cube between two corners: the integral of a linear function over each cell's
        part of it is its value at the middle times the volume."""
        lengths, middles = [], []
        edges = np.arange(self._cells)
        for start, end in zip(low * self._cells, high * self._cells, strict=True):
            left, right = (np.clip(place - edges, 0.0, 1.0) for place in (start, end))
            lengths.append(right - left)
            middles.append((right + left) / 2 - 0.5)
        total = self.share
        for axis, middle in enumerate(middles):
            total = total + self.share * self._slopes[axis] * middle.reshape(
                -1, *[1] * (total.ndim - axis - 1)
            )
        for length in lengths:
            total = np.tensordot(length, total, (0, 0))
        volume = math.prod(float(length.sum()) / self._cells for length in lengths)
        return min((1 - self.floor) * max(float(total), 0.0) + self.floor * volume, 1.0)

    def sample(self, n: int, seed: int) -> Array:
        """Points of the cube. In a cell 1 + Σ s (u - ½) is a mixture: with probability |s|/2, the
        density 2u or 2(1 - u) of the larger or smaller of two uniform numbers along that axis."""
        dimension = self.share.ndim
        draws = PublicUniforms(seed).draw(n, 2 * dimension + 2)
        ends, anywhere = np.cumsum(self.share.ravel()), draws[:, 0] < self.floor
        within = (draws[:, 0] - self.floor) / max(1 - self.floor, TINY)
        cell = np.minimum(np.searchsorted(ends / ends[-1], np.where(anywhere, 0.0, within)), ends.size - 1)
        place = np.stack(np.unravel_index(cell, self.share.shape), axis=1)
        slopes = self._slopes.reshape(dimension, -1)[:, cell].T
        one, other = draws[:, 2 : 2 + dimension], draws[:, 2 + dimension :]
        chosen = np.cumsum(np.abs(slopes) / 2, axis=1)
        tilted = (draws[:, 1, None] < chosen) & (draws[:, 1, None] >= chosen - np.abs(slopes) / 2)
        leaning = np.where(slopes > 0, np.maximum(one, other), np.minimum(one, other))
        points: Array = (place + np.where(tilted, leaning, one)) / self._cells
        return np.where(anywhere[:, None], one, points)


def _limited(share: Array, axis: int) -> Any:
    """Differences from end to end of each cell along an axis."""
    if share.shape[axis] == 1:
        return np.zeros_like(share)
    step = np.diff(share, axis=axis)
    first, last = np.take(step, [0], axis), np.take(step, [-1], axis)
    before, after = (np.concatenate(parts, axis) for parts in ((first, step), (step, last)))
    least = 2 * np.minimum(np.abs(before), np.abs(after))
    size = np.minimum(least, np.abs(before + after) / 2)
    return np.where(before * after > 0, np.sign(before) * size, 0.0)
