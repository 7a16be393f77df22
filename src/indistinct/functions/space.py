"""Spaces of functions in which private functions live.

A space has a reproducing kernel: f(x) = <f, k(x, ·)>. Noise that is a Gaussian process with *that* kernel
hides a shift of the function of length Δ in *that* norm as well as a Gaussian of scale σ hides a shift of Δ
(Hall, Rinaldo and Wasserman 2013, Corollary 9; *Functional Rényi DP*, Proposition 4). Signal and noise
therefore come from one object here, and cannot be given two different kernels: a signal of one kernel with
noise of another, finite-rank one is not private at all."""

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from indistinct.adjacency import Adjacency, check_adjacency
from indistinct.data import Categories, FeatureMap, FeatureSum, Norm, Numbers, Unit
from indistinct.description import Described
from indistinct.errors import ArgumentError, check_array
from indistinct.functions.function import FiniteFunction, FunctionNoise, PrivateFunction
from indistinct.noise import Source
from indistinct.numerics.arrays import EPS, Array

Axes = Mapping[str, Numbers | Categories]

_AT_ONCE = 1 << 22


class Space(Described, ABC):
    """Functions of points with `dimension` coordinates."""

    noun = "space"
    dimension: int
    """How many numbers a point has."""
    bound: float
    """The length of the longest k(x, ·): the square root of the supremum of k(x, x), rounded up."""
    nonnegative: bool
    """Whether the kernel is known to be nowhere negative."""

    @abstractmethod
    def deviation(self, points: Any) -> Array:
        """√k(x, x): the standard deviation of a path of the process at each point."""

    @abstractmethod
    def release_sum(
        self,
        scale: float,
        data: Any,
        axes: Axes,
        *,
        unit: Unit,
        records: int | None,
        source: Source | None,
    ) -> PrivateFunction:
        """Σ k(x_i, ·) over the records of a table, with `scale` times a path of the process."""

    def sensitivity(self, adjacency: Adjacency | str = Adjacency.ADD_REMOVE) -> float:
        """How far one record moves Σ k(x_i, ·): by |k(x, ·)| if it comes or goes, and if it is replaced by
        |k(x, ·) - k(y, ·)|, whose square is k(x, x) + k(y, y) - 2 k(x, y)."""
        if check_adjacency(adjacency) is Adjacency.ADD_REMOVE:
            return self.bound
        return self.bound * (math.sqrt(2) if self.nonnegative else 2.0) * (1 + 2 * EPS)

    def points(self, points: Any) -> Array:
        """Points as an array [n, d]; one number for each where the space has one dimension."""
        allowed = f"finite numbers, one row of {self.dimension} for each point"
        rows = check_array("points", points, -1e150, 1e150, allowed)
        if rows.ndim == 1 and self.dimension == 1:
            rows = rows[:, None]
        if rows.ndim != 2 or rows.shape[1] != self.dimension:
            raise ArgumentError("points", f"shape {rows.shape}", allowed)
        return rows


class FiniteSpace(Space, FeatureMap):
    """Functions f(x) = <c, φ(x)> with finitely many coefficients c; its kernel is <φ(x), φ(y)>.

    Noise with the kernel of the space is independent noise on the coefficients, so a private function is a
    private vector, exact and known everywhere for ever.
    """

    @abstractmethod
    def gradients(self, points: Array) -> Array:
        """∂φ(x)/∂x_a, an array [n, size, d]."""

    @abstractmethod
    def integrals(self, low: Array, high: Array) -> Array:
        """The integral of each feature over a box."""

    def release_sum(
        self,
        scale: float,
        data: Any,
        axes: Axes,
        *,
        unit: Unit,
        records: int | None,
        source: Source | None,
    ) -> PrivateFunction:
        noisy = FeatureSum(axes, self, unit=unit, records=records).gaussian(scale)
        release = noisy.release(data, source=source)
        added, replaced = (noisy.query.sensitivity(Norm.L2, adjacency) for adjacency in Adjacency)
        noise = FunctionNoise(scale, noisy.unit, added, replaced)
        return FiniteFunction(self, noise, release.private, coefficients=release.values)

    def deviation(self, points: Any) -> Array:
        rows = self.points(points)
        return np.concatenate([_lengths(self(rows[part])) for part in self._pieces(len(rows))])

    def evaluate(self, coefficients: Array, points: Array) -> Array:
        """f at the points."""
        # not a matrix product: the value at a point must not depend on the points beside it
        pieces = self._pieces(len(points))
        values = [np.einsum("nm,m->n", self(points[part]), coefficients) for part in pieces]
        return np.concatenate(values) if values else np.zeros(0)

    def evaluate_gradient(self, coefficients: Array, points: Array) -> Array:
        """The gradient of f at the points, [n, d]."""
        parts = self._pieces(len(points), self.dimension)
        rows = [np.einsum("nmd,m->nd", self.gradients(points[part]), coefficients) for part in parts]
        return np.concatenate(rows) if rows else np.zeros((0, self.dimension))

    def _pieces(self, rows: int, width: int = 1) -> Iterator[slice]:
        step = max(1, _AT_ONCE // (self.size * width))
        return (slice(start, start + step) for start in range(0, rows, step))


def _lengths(features: Array) -> Array:
    lengths: Array = np.sqrt(np.einsum("nm,nm->n", features, features))
    return lengths
