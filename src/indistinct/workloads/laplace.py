"""Strategies for Laplace noise: the identity and a few sums, with weights found by descent.

A column's sum of absolute values counts now, and the problem is no longer convex. Strategies [I; B] D with
B >= 0 of few rows and D scaling every column to sum 1 are rich enough and cheap: by Woodbury's identity an
evaluation with its gradient takes some p n² operations (the family is that of McKenna, Miklau, Hay and
Machanavajjhala 2018, Section 5). Since a column's norm is at most its sum, the optimum for Gaussian noise
bounds what any strategy can reach.
"""

import numpy as np
from scipy.optimize import minimize

from indistinct.numerics.arrays import Array
from indistinct.workloads.strategy import Explicit

_MOST_ROWS = 32
_FEW_CELLS = 256


def extra_rows_error(extra: Array, gram: Array) -> tuple[float, Array]:
    """tr(V X⁻¹) for the strategy [I; B] D, and its gradient in B."""
    height = 1 + extra.sum(axis=0)
    scaled = gram * np.multiply.outer(height, height)
    # with Y = (I + BᵀB)⁻¹ = I - BᵀRB and R = (I + BBᵀ)⁻¹: BY = RB
    inner = np.linalg.inv(np.eye(extra.shape[0]) + extra @ extra.T) @ extra
    image = scaled @ inner.T
    each = np.diagonal(scaled) - np.einsum("ip,pi->i", image, extra)  # diag(U Y)
    by_inverse = -2 * (image.T - (image.T @ extra.T) @ inner)
    return float(each.sum()), by_inverse + 2 * each / height


def optimise_laplace(gram: Array, steps: int) -> Explicit:
    """A strategy with unit column sums, no worse than the identity."""
    n = gram.shape[0]
    scale = float(np.trace(gram))
    if n == 1 or scale == 0:
        return Explicit(np.eye(n))
    rows = max(1, min(_MOST_ROWS, n // 8))
    best = np.zeros((rows, n))
    best_error = scale

    def objective(flat: Array) -> tuple[float, Array]:
        error, gradient = extra_rows_error(flat.reshape(rows, n), gram)
        return error / scale, gradient.ravel() / scale

    for start in _starts(rows, n):
        found = minimize(
            objective,
            start.ravel(),
            jac=True,
            method="L-BFGS-B",
            bounds=[(0.0, None)] * start.size,
            options={"maxiter": steps, "maxcor": 10},
        )
        if found.fun * scale < best_error:
            best, best_error = found.x.reshape(rows, n), float(found.fun) * scale
    used = best[(best > 1e-9).any(axis=1)]
    matrix = np.vstack((np.eye(n), used))
    return Explicit(matrix / matrix.sum(axis=0))


def _starts(rows: int, n: int) -> list[Array]:
    """Soft bumps of several widths, and a fixed scatter for workloads without an order."""
    place, middle = np.arange(n), (np.arange(rows) + 0.5) * n / rows
    width = n / rows * 2.0 ** (np.arange(rows) % 4)
    bumps = 0.3 * np.exp(-0.5 * ((place[None, :] - middle[:, None]) / width[:, None]) ** 2) + 0.001
    golden: Array = np.modf(np.arange(1.0, rows * n + 1) * 0.6180339887498949)[0]
    return [bumps, 0.1 * golden.reshape(rows, n)] if n <= _FEW_CELLS else [bumps]
