"""How far a record that takes part in several steps can move a stream of measurements.

A record gives a vector of norm at most 1 to each step it takes part in: to at most k steps, any two of them
at least b apart (min-separation). With X = CᵀC these move the measurements by at most the root of the
largest sum of |X_ij| over i and j in such a set of steps, and by exactly that where X has no negative
entries, if all vectors are the same (Choquette-Choo, McMahan, Rush and Thakurta 2023, "Multi-epoch matrix
factorization").
"""

import math

import numpy as np

from indistinct.errors import ArgumentError, check_count
from indistinct.numerics.arrays import Array

_UP = 1 + 1e-12


def check_participation(steps: int, separation: int, participations: int | None) -> tuple[int, int]:
    """b and k; k is as large as b allows unless it is given."""
    apart = check_count("separation", separation, least=1)
    most = -(-steps // apart)
    if participations is None:
        return apart, most
    return apart, min(check_count("participations", participations, least=1), most)


def best_sums(weights: Array, apart: int, most: int) -> Array:
    """The largest sum of at most `most` weights of each row whose places are at least `apart` apart, for
    weights that are not negative: by dynamic programming along the row."""
    rows, n = weights.shape
    best = np.zeros((rows, n + apart))  # of the places before each one
    for _ in range(most):
        taken = weights + best[:, :n]  # column j + apart of `best` is what places up to j give
        following = np.zeros_like(best)
        following[:, apart:] = np.maximum.accumulate(taken, axis=1)
        if np.array_equal(following, best):
            break
        best = following
    return np.asarray(best[:, -1])


def pattern_norm(gram: Array, apart: int, most: int) -> float:
    """A bound on the root of the largest sum of |X_ij| over a set of steps: for every step the most that its
    row can give beside itself, then the best set of steps. Exact if most = 1, or if X vanishes from `apart`
    on."""
    size = np.abs(gram)
    n = size.shape[0]
    if size.ndim != 2 or size.shape != (n, n):
        raise ArgumentError("gram", size.shape, "a square matrix")
    place = np.arange(n)
    beside = np.where(np.abs(place[:, None] - place) >= apart, size, 0.0)
    rows = np.diag(size) + (best_sums(beside, apart, most - 1) if most > 1 else 0.0)
    return math.sqrt(float(best_sums(rows[None, :], apart, most)[0])) * _UP
