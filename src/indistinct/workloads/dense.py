"""Optimal strategies for Gaussian noise from V alone, as a dense matrix.

With V = FᵀF, F of full row rank, the matrix of `fixed_point` is X = Fᵀ (F D Fᵀ)^{-½} F: multipliers that
tend to 0, where a constraint is not tight, do no harm in this form.
"""

from dataclasses import dataclass

import numpy as np
from scipy.linalg import eigh

from indistinct.numerics.arrays import EPS, Array
from indistinct.workloads.fixed_point import solve
from indistinct.workloads.strategy import Explicit


@dataclass(frozen=True)
class DenseOptimum:
    """A strategy, and a lower bound on the error of every other."""

    strategy: Explicit
    bound: float


def optimise_dense(gram: Array, tolerance: float) -> DenseOptimum:
    """The best strategy for V, with columns of norm at most 1, and the bound of `fixed_point`."""
    n = gram.shape[0]
    used = np.diagonal(gram) > 0
    if not used.any():
        return DenseOptimum(Explicit(np.eye(n)), 0.0)
    inner = gram[np.ix_(used, used)]
    start = np.sqrt(np.diagonal(inner))
    if inner.shape[0] > 1 and np.allclose(inner, inner[::-1, ::-1], rtol=1e-12, atol=0):
        found = solve(_Mirrored(inner), (start + start[::-1]) / 2, tolerance)
    else:
        factor = _factor(inner)
        found = solve(lambda weights: _gram_diagonal(factor, weights), start, tolerance)
    measured = _rows(_factor(inner), found.weights)
    rows = np.zeros((measured.shape[0], n))
    rows[:, used] = measured
    norms = np.sqrt(np.einsum("ij,ij->j", rows, rows))
    return DenseOptimum(Explicit(rows / norms.max()), found.bound)


def _factor(gram: Array) -> Array:
    """F with FᵀF = V, as many rows as V has rank; rounding is not taken for rank."""
    values, vectors = eigh(gram, check_finite=False)
    keep = values > 4 * gram.shape[0] * EPS * max(float(values[-1]), 0.0)
    return np.asarray((vectors[:, keep] * np.sqrt(values[keep])).T, dtype=np.float64)


def _rows(factor: Array, weights: Array) -> Array:
    """A = (F D Fᵀ)^{-¼} F, so that AᵀA = X."""
    values, vectors = eigh((factor * weights) @ factor.T, check_finite=False)
    values = np.maximum(values, EPS * values[-1])
    return np.asarray((vectors / values**0.25).T @ factor, dtype=np.float64)


def _gram_diagonal(factor: Array, weights: Array) -> Array:
    """diag X of multipliers."""
    if not factor.size:
        return np.zeros(factor.shape[1])
    rows = _rows(factor, weights)
    return np.asarray(np.einsum("ij,ij->j", rows, rows), dtype=np.float64)


class _Mirrored:
    """diag X for a V that is its own reflection: even and odd vectors do not meet, and two problems of half
    the size cost a quarter."""

    def __init__(self, gram: Array) -> None:
        n = gram.shape[0]
        half = n // 2
        same, across = gram[:half, :half], gram[:half, ::-1][:, :half]
        even = np.empty((n - half, n - half))
        even[:half, :half] = same + across
        if n % 2:
            even[half, half] = gram[half, half]
            even[half, :half] = even[:half, half] = np.sqrt(2) * gram[:half, half]
        self.half, self.even, self.odd = half, _factor(even), _factor(same - across)

    def __call__(self, weights: Array) -> Array:
        half = self.half
        even = _gram_diagonal(self.even, weights[: self.even.shape[1]])
        side = (even[:half] + _gram_diagonal(self.odd, weights[:half])) / 2
        return np.concatenate((side, even[half:], side[::-1]))
