"""Counts that fit noisy measurements best and are not negative."""

from typing import Any

import numpy as np

from indistinct.errors import ArgumentError
from indistinct.numerics.arrays import Array
from indistinct.workloads.strategy import Strategy

_STEPS = 2000
_MOST_CELLS = 10**7


def nearest_nonnegative(strategy: Strategy, measured: Any) -> Array:
    """min |A x - y| over x >= 0, by accelerated projected gradients with restarts (O'Donoghue and Candès
    2015).

    With z the unrestricted least squares solution, |A x - y|² is (x - z)ᵀ X (x - z) and a constant, so only
    products with X are needed.
    """
    if strategy.cells > _MOST_CELLS:
        raise ArgumentError(
            "nonnegative", True, f"False for {strategy.cells} cells: at most {_MOST_CELLS} are fitted"
        )
    free = strategy.estimate(measured)
    if (free >= 0).all():
        return free
    steepness = _largest_eigenvalue(strategy)
    point = np.maximum(free, 0.0)
    ahead, pace = point, 1.0
    scale = float(np.abs(free).max())
    for _ in range(_STEPS):
        gradient = strategy.precision(ahead - free) / steepness
        new = np.maximum(ahead - gradient, 0.0)
        step = new - point
        if float(np.abs(step).max()) <= 1e-9 * scale:
            return new
        if float(np.vdot(ahead - new, step)) > 0:  # momentum points uphill
            pace = 1.0
        faster = (1 + (1 + 4 * pace * pace) ** 0.5) / 2
        ahead, point, pace = new + (pace - 1) / faster * step, new, faster
    return point


def _largest_eigenvalue(strategy: Strategy) -> float:
    """An upper bound by power iteration, with room to spare."""
    vector = np.ones(strategy.cells) + np.modf(np.arange(strategy.cells) * 0.6180339887498949)[0] / 10
    value = 1.0
    for _ in range(30):
        image = strategy.precision(vector)
        value = float(np.linalg.norm(image) / np.linalg.norm(vector))
        vector = image / np.linalg.norm(image)
    return 1.1 * value
