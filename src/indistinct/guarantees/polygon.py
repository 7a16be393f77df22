"""Trade-off curves as polygons, and polygons as pairs.

A convex polygon from (0, f(0)) down to (1, 0) is the trade-off curve of a pair with finitely many outcomes:
an edge of width q and height p is an outcome of probability p on one data set and q on the other. A claim
about neighbours holds in both directions, so the curve that follows from it is the larger of f and its
inverse (Dong, Roth and Su 2022, Proposition 2.4), which is symmetric: half of it says everything.
"""

import numpy as np
import numpy.typing as npt
from scipy.optimize import isotonic_regression

from indistinct.guarantees.discrete_pair import DiscretePair
from indistinct.numerics.arrays import TINY, Array

_LEAST = 1e-15
"""Edges shorter than this are rounding."""


def with_ends(fpr: Array, fnr: Array) -> tuple[Array, Array]:
    """The points and what is known of the ends: f(1) = 0, and f(0) is at most 1."""
    x, y = fpr, fnr
    if x[0] > 0:
        x, y = np.append(0.0, x), np.append(1.0, y)
    if x[-1] < 1:
        x, y = np.append(x, 1.0), np.append(y, 0.0)
    return x, y


def _slopes(x: Array, y: Array) -> Array:
    """Of the chords, which are numbers."""
    return np.diff(y) / np.maximum(np.diff(x), TINY)


def least_at(fpr: Array, x: Array, y: Array) -> Array:
    """The least that a convex curve through points (ends included) may be at each `fpr`: between two points
    it lies above their neighbours' chords, continued."""
    slope = np.append(_slopes(x, y), 0.0)
    k = np.clip(np.searchsorted(x, fpr, side="right") - 1, 0, x.size - 2)
    from_left = np.where(k > 0, y[k] + slope[k - 1] * (fpr - x[k]), 0.0)
    from_right = np.where(k < x.size - 2, y[k + 1] + slope[k + 1] * (fpr - x[k + 1]), 0.0)
    known = np.isin(fpr, x) & (fpr > 0)
    at_point = y[np.clip(np.searchsorted(x, fpr), 0, x.size - 1)]
    return np.where(known, at_point, np.maximum(np.maximum(from_left, from_right), 0.0))


def safe_polygon(x: Array, y: Array) -> tuple[Array, Array]:
    """A convex polygon that is surely below every trade-off curve through these points, ends included: its
    corners are the lowest points that such a curve may reach between two of them."""
    slope = _slopes(x, y)
    if slope.size == 1:  # nothing but the ends
        return np.array([0.0, 1.0]), np.zeros(2)
    inner_x, inner_y = _corners(x, y, slope, 1e-12)
    first_y = y[1] + slope[1] * (x[0] - x[1])
    # the last edge goes down to zero, and stays there
    last_x = min(x[-2] - y[-2] / slope[-2], 1.0) if slope[-2] < 0 else 1.0
    last_y = max(y[-2] + slope[-2] * (last_x - x[-2]), 0.0)
    corners_x = np.concatenate(([0.0], inner_x, [last_x, 1.0]))
    corners_y = np.concatenate(([first_y], inner_y, [last_y, 0.0]))
    return lower_hull(corners_x, np.clip(corners_y, 0.0, 1 - corners_x))


def _corners(x: Array, y: Array, slope: Array, least: float = 0.0) -> tuple[Array, Array]:
    """Where the chords on both sides of each inner one meet, if they bend by more than a share of them."""
    before, chord, after = slope[:-2], slope[1:-1], slope[2:]
    bend = after - before
    bends = bend > least * np.abs(before)
    share = np.clip(np.where(bends, (after - chord) / np.where(bends, bend, 1.0), 0.0), 0.0, 1.0)
    inner_x = x[1:-2] + share * np.diff(x)[1:-1]
    return inner_x, y[1:-2] + before * (inner_x - x[1:-2])


def lower_hull(x: Array, y: Array, least: float = _LEAST) -> tuple[Array, Array]:
    """The convex polygon below a set of points, x not falling; points this close in x are one."""
    first = np.flatnonzero(np.append(True, np.diff(x) > least))
    x, y = x[first], np.minimum.reduceat(y, first)
    kept = hull_vertices(np.diff(x), np.diff(y))
    return x[kept], y[kept]


def hull_vertices(run: Array, rise: Array) -> npt.NDArray[np.intp]:
    """Which vertices of a chain of steps to the right are those of its lower convex hull: the slopes of the
    hull are the rising ones that are closest to those of the chain."""
    run = np.maximum(run, TINY)
    return isotonic_regression(rise / run, weights=run).blocks


def symmetric_half(x: Array, y: Array) -> tuple[Array, Array]:
    """The larger of a polygon f and its inverse, up to where it meets y = x: the corners' x and 1 - y."""
    zero = int(np.argmax(y <= 0)) if (y <= 0).any() else y.size - 1
    inverse_x, inverse_y = np.append(y[zero::-1], 1.0), np.append(x[zero::-1], 0.0)
    rising = np.concatenate(([True], np.diff(inverse_x) > 0))
    inverse_x, inverse_y = inverse_x[rising], inverse_y[rising]

    grid = np.unique(np.concatenate((x, inverse_x)))
    one, other = np.interp(grid, x, y), np.interp(grid, inverse_x, inverse_y)
    gap = one - other
    cross = np.flatnonzero(gap[:-1] * gap[1:] < 0)
    where = grid[cross] + np.diff(grid)[cross] * gap[cross] / (gap[cross] - gap[cross + 1])
    grid = np.unique(np.concatenate((grid, where)))
    curve = np.maximum(np.interp(grid, x, y), np.interp(grid, inverse_x, inverse_y))
    grid, curve = lower_hull(grid, curve)
    before = np.flatnonzero(curve > grid)
    if not before.size:  # f = 0: everything can be told
        return np.zeros(1), np.ones(1)
    k = int(before[-1])
    if k + 1 < grid.size:
        slope = (curve[k + 1] - curve[k]) / (grid[k + 1] - grid[k])
        middle = (curve[k] - slope * grid[k]) / (1 - slope)
    else:
        middle = float(grid[k])
    return np.append(grid[: k + 1], middle), np.append(1 - curve[: k + 1], 1 - middle)


def symmetric_pair(x: Array, power: Array) -> DiscretePair:
    """The pair of a symmetric curve, from its half: corners x and 1 - y, both rising, meeting where they add
    up to 1. Given as 1 - y because what matters is how small that is."""
    q, p = np.diff(x, prepend=0.0), np.diff(power, prepend=0.0)
    return DiscretePair.of(np.append(p, q[::-1]), np.append(q, p[::-1]))


def safe_half(x: Array, power: Array) -> tuple[Array, Array]:
    """Corners of a polygon that is surely above a concave curve through points from the origin on.

    As in `safe_polygon`, and to relative accuracy. The first edge, whose slope nothing bounds, is the chord.
    """
    slope = np.diff(power) / np.diff(x)
    inner_x, falling = _corners(x, -power, -slope)
    # what follows the last but one point stays on the line before it, up to where x + power = 1
    at, height, rise = float(x[-2]), float(power[-2]), float(slope[-2])
    last = at + (1 - at - height) / (1 + rise)
    corners_x = np.concatenate((x[:2], inner_x, [last]))
    return corners_x, np.concatenate((power[:2], -falling, [1 - last]))
