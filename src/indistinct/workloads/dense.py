"""Optimal strategies for Gaussian noise from V alone, as a dense matrix."""

from dataclasses import dataclass

import numpy as np
from scipy.linalg import eigh

from indistinct.numerics.arrays import EPS, Array
from indistinct.workloads.fixed_point import solve
from indistinct.workloads.strategy import Explicit


@dataclass(frozen=True)
class DenseOptimum:
    strategy: Explicit
    bound: float


def optimise_dense(gram: Array, tolerance: float) -> DenseOptimum:
    """The best strategy for V, with unit columns, and the bound of duality (see `fixed_point`)."""
    n = gram.shape[0]
    used = np.diagonal(gram) > 0
    if not used.any():
        return DenseOptimum(Explicit(np.eye(n)), 0.0)
    inner = gram[np.ix_(used, used)]
    mirrored = inner.shape[0] > 1 and np.allclose(inner, inner[::-1, ::-1], rtol=1e-12, atol=0)
    diagonal = _mirrored_root_diagonal if mirrored else _root_diagonal

    def gram_diagonal(weights: Array) -> Array:
        root = np.sqrt(weights)
        return diagonal(inner * np.multiply.outer(root, root)) / weights

    start = np.sqrt(np.diagonal(inner))
    found = solve(gram_diagonal, (start + start[::-1]) / 2 if mirrored else start, tolerance)
    root = np.sqrt(found.weights)
    values, vectors = _spectrum(inner * np.multiply.outer(root, root))
    # A = M^½ D^{-½} in the basis of M: as many measurements as V has rank
    rows = np.zeros((values.size, n))
    rows[:, used] = (vectors * values**0.25).T / root
    norms = np.sqrt(np.einsum("ij,ij->j", rows, rows))
    return DenseOptimum(Explicit(rows / norms.max()), found.bound)


def _spectrum(matrix: Array) -> tuple[Array, Array]:
    """Positive eigenvalues and their vectors; rounding is not taken for rank."""
    values, vectors = eigh(matrix, check_finite=False)
    keep = values > 4 * matrix.shape[0] * EPS * max(float(values[-1]), 0.0)
    return values[keep], vectors[:, keep]


def _root_diagonal(matrix: Array) -> Array:
    """diag of the square root."""
    values, vectors = _spectrum(matrix)
    return np.asarray((vectors * vectors) @ np.sqrt(values), dtype=np.float64)


def _mirrored_root_diagonal(matrix: Array) -> Array:
    """The same for a matrix that is its own reflection: even and odd vectors do not meet, and two problems of
    half the size cost a quarter."""
    n = matrix.shape[0]
    half = n // 2
    same, across = matrix[:half, :half], matrix[:half, ::-1][:, :half]
    odd = _root_diagonal(same - across)
    even = np.empty((n - half, n - half))
    even[:half, :half] = same + across
    if n % 2:
        even[half, half] = matrix[half, half]
        even[half, :half] = even[:half, half] = np.sqrt(2) * matrix[:half, half]
    both = _root_diagonal(even)
    side = (both[:half] + odd) / 2
    return np.concatenate((side, both[half:], side[::-1]))
