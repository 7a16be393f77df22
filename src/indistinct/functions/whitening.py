"""Coordinates in which the values of a Gaussian process are independent, extended point by point.

Values and derivatives at finitely many points are linear functionals of the process; with K their
covariance and K = L Lᵀ, the whitened values L⁻¹f are independent with variance 1. For f = k(x, ·) their
length is at most √k(x, x), however the points were chosen: the projection of k(x, ·) on the span of the
functionals. So noise on whitened values is Gaussian noise on a vector of bounded length, and conditioning
on everything drawn before is one triangular solve.

A functional that the earlier ones determine (a duplicate, or a singular Gram matrix) gets no coordinate of
its own: it is read from theirs. Nothing is ever added to the diagonal. Rounding errors may make a computed
L⁻¹f a little longer than it should be; who adds noise cuts it back (`Coordinates`)."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.linalg import solve_triangular

from indistinct.functions.kernels.kernel import Kernel
from indistinct.numerics.arrays import Array

Axes = npt.NDArray[np.int64]

VALUE = -1
_DETERMINED = 1e-7
"""The share of its variance that must be left of a functional, given the others, for a coordinate of its
own."""


@dataclass(frozen=True, eq=False)
class Functionals:
    """Values (`axes` = -1) and derivatives along coordinates, at points [n, d]."""

    points: Array
    axes: Axes

    def __len__(self) -> int:
        return len(self.axes)

    def take(self, places: npt.NDArray[np.intp]) -> "Functionals":
        return Functionals(self.points[places], self.axes[places])

    def and_more(self, more: "Functionals") -> "Functionals":
        points, axes = (self.points, more.points), (self.axes, more.axes)
        return Functionals(np.concatenate(points), np.concatenate(axes))

    @classmethod
    def values(cls, points: Array) -> "Functionals":
        return cls(points, np.full(len(points), VALUE))

    @classmethod
    def gradients(cls, points: Array) -> "Functionals":
        n, d = points.shape
        return cls(np.repeat(points, d, axis=0), np.tile(np.arange(d), n))

    def covariance(self, kernel: Kernel, other: "Functionals") -> Array:
        """Of these with others under the process."""
        result = np.zeros((len(self), len(other)))
        mine, its = self.axes == VALUE, other.axes == VALUE
        a, b = np.flatnonzero(mine), np.flatnonzero(its)
        da, db = np.flatnonzero(~mine), np.flatnonzero(~its)
        if len(a) and len(b):
            result[np.ix_(a, b)] = kernel(self.points[a], other.points[b])
        if len(da) and len(b):
            slopes = kernel.gradient(self.points[da], other.points[b])
            result[np.ix_(da, b)] = np.take_along_axis(slopes, self.axes[da][:, None, None], 2)[:, :, 0]
        if len(a) and len(db):
            slopes = kernel.gradient(other.points[db], self.points[a])
            result[np.ix_(a, db)] = np.take_along_axis(slopes, other.axes[db][:, None, None], 2)[:, :, 0].T
        if len(da) and len(db):
            cross = kernel.cross(self.points[da], other.points[db])
            cross = np.take_along_axis(cross, self.axes[da][:, None, None, None], 2)[:, :, 0]
            result[np.ix_(da, db)] = np.take_along_axis(cross, other.axes[db][None, :, None], 2)[:, :, 0]
        return result


@dataclass(frozen=True, eq=False)
class Whitening:
    """Functionals with coordinates of their own, and the factor L of their covariance."""

    kernel: Kernel
    nodes: Functionals
    factor: Array

    @classmethod
    def empty(cls, kernel: Kernel, dimension: int) -> "Whitening":
        return cls(kernel, Functionals.values(np.zeros((0, dimension))), np.zeros((0, 0)))

    def __len__(self) -> int:
        return len(self.nodes)

    def extended(self, new: Functionals) -> tuple["Whitening", Array]:
        """With the new functionals that are not determined yet; and the rows that give all the new ones as
        combinations of whitened values."""
        old = len(self)
        room = old + len(new)
        factor = np.zeros((room, room))
        factor[:old, :old] = self.factor
        with_old, among = self.nodes.covariance(self.kernel, new), new.covariance(self.kernel, new)
        rows = np.zeros((len(new), room))
        admitted: list[int] = []
        for place in range(len(new)):
            n = old + len(admitted)
            known = np.concatenate([with_old[:, place], among[:, place][admitted]])
            row = _solved(factor[:n, :n], known)
            rows[place, :n] = row
            rest = float(among[place, place] - row @ row)
            if rest > _DETERMINED * among[place, place]:
                rows[place, n] = np.sqrt(rest)
                factor[n] = rows[place]
                admitted.append(place)
        n = old + len(admitted)
        nodes = self.nodes.and_more(new.take(np.array(admitted, dtype=np.intp)))
        return Whitening(self.kernel, nodes, factor[:n, :n].copy()), rows[:, :n]

    def rows(self, functionals: Functionals) -> Array:
        """Functionals as combinations of whitened values, as far as these determine them."""
        return _solved(self.factor, self.nodes.covariance(self.kernel, functionals)).T

    def whitened(self, points: Array) -> Array:
        """The whitened values of k(x, ·) for each point x: `rows` of their values, one term after the
        other. In `rows` the last bits of a point depend on the points beside it; here they do not."""
        known = self.nodes.covariance(self.kernel, Functionals.values(points))
        for place in range(len(self)):
            known[place] /= self.factor[place, place]
            known[place + 1 :] -= self.factor[place + 1 :, place, None] * known[place]
        return known.T


def _solved(factor: Array, known: Array) -> Array:
    if not len(factor):
        return known
    solution: Array = solve_triangular(factor, known, lower=True, check_finite=False)
    return solution
