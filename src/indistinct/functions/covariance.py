"""Vectors with correlated noise: functions of finitely many places.

Noise N(0, σ²Σ) hides a shift u of a vector as well as Gaussian noise of scale σ hides the number √(uᵀΣ⁻¹u)
(*Functional Rényi DP*, Definition 5 and Appendix F). It is the function release over the places 0, …, n - 1
with the kernel Σ."""

import math
from functools import cached_property
from typing import Any

import numpy as np

from indistinct.description import describable
from indistinct.errors import ArgumentError
from indistinct.functions.space import FiniteSpace
from indistinct.mechanisms.release import real_values
from indistinct.numerics.arrays import EPS, Array

_SINGULAR = 1e-10
"""Directions whose variance is this much smaller than the largest one: there is no noise along them."""


@describable("covariance")
class Covariance(FiniteSpace):
    """Vectors whose noise has this covariance; a point is a place in the vector.

    >>> space = Covariance([[2.0, 1.0], [1.0, 2.0]])
    >>> float(np.linalg.norm(space.coefficients_of([3.0, 0.0])))  # √(uᵀΣ⁻¹u)
    2.449490
    """

    matrix: tuple[tuple[float, ...], ...]

    def __init__(self, matrix: Any) -> None:
        array = np.asarray(matrix, dtype=np.float64)
        allowed = "a symmetric matrix of finite numbers without negative eigenvalues"
        square = array.ndim == 2 and array.shape[0] == array.shape[1] > 0
        if not square or not np.isfinite(array).all() or not (array == array.T).all():
            raise ArgumentError("matrix", matrix, allowed)
        object.__setattr__(self, "matrix", tuple(map(tuple, array.tolist())))
        values, _ = self._eigen
        if values[-1] <= 0 or values[0] < -1e-12 * values[-1]:
            raise ArgumentError("matrix", matrix, allowed)
        if values[0] < _SINGULAR * values[-1]:
            raise ArgumentError("matrix", matrix, "regular: along some direction it has no noise")

    @property
    def dimension(self) -> int:  # type: ignore[override]
        return 1

    @property
    def size(self) -> int:  # type: ignore[override]
        return len(self.matrix)

    @cached_property
    def bound(self) -> float:  # type: ignore[override]
        longest = float(np.linalg.norm(self._root, axis=1).max())
        return max(longest, math.sqrt(max(row[i] for i, row in enumerate(self.matrix)))) * (1 + 64 * EPS)

    @property
    def nonnegative(self) -> bool:  # type: ignore[override]
        return min(min(row) for row in self.matrix) >= 0

    @cached_property
    def _eigen(self) -> tuple[Array, Array]:
        values, vectors = np.linalg.eigh(np.array(self.matrix))
        return values, vectors

    @cached_property
    def _root(self) -> Array:
        values, vectors = self._eigen
        return vectors * np.sqrt(values)

    def coefficients_of(self, values: Any) -> Array:
        """The coefficients of a vector. Their length is √(uᵀΣ⁻¹u); that of the difference of neighbours is
        the sensitivity."""
        vector = real_values("values", values)  # they are private
        if vector.shape not in ((self.size,), (self.size, 1)):
            raise ArgumentError("values", f"shape {vector.shape}", f"{self.size} numbers")
        eigenvalues, vectors = self._eigen
        whitened: Array = (vectors.T @ vector.ravel()) / np.sqrt(eigenvalues)
        return whitened

    def __call__(self, points: Array) -> Array:
        places = points[:, 0].astype(np.intp)
        if (places != points[:, 0]).any() or (places < 0).any() or (places >= self.size).any():
            raise ArgumentError("points", points[:, 0], f"places from 0 to {self.size - 1}")
        rows: Array = self._root[places]
        return rows

    def gradients(self, points: Array) -> Array:
        raise ArgumentError("points", "places in a vector", "points of a smooth function, for a gradient")

    def integrals(self, low: Array, high: Array) -> Array:
        raise ArgumentError("low", "places in a vector", "the corner of a box, for an integral")
