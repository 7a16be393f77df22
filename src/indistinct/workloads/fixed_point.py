"""The best strategy for Gaussian noise as a fixed point, with a certificate.

Minimise tr(V X⁻¹) over diag(X) <= 1 (Li et al. 2010, Program 1; convex in X). For multipliers λ >= 0 and
D = diag(λ) the Lagrangian is least at X = D^{-½} M D^{-½}, M = (D^½ V D^½)^½, so that

    (tr M)² / Σ λ  <=  optimum  <=  tr(M) max diag(X),

the left side by duality and the best multiple of λ, the right side because X / max diag(X) is allowed. Both
meet where diag(X) = 1. With λ = 1 the left side is the singular value bound of Li and Miklau (2013).
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from indistinct.numerics.arrays import Array

_MEMORY = 6
_POWER = 4 / 3
"""In log λ the plain step λ <- λ diag(X) contracts by factors from 0 to 1/2 where V is nearly diagonal."""

_SMALLEST = 1e-12
_FARTHEST = 3.0
_DEEPEST = 25.0
_MIXED = 60
"""Mixing that has not arrived by then is misled by constraints that are not tight; plain steps are slow, but
arrive."""


@dataclass(frozen=True)
class FixedPoint:
    """Where the iteration stopped."""

    weights: Array
    """The multipliers λ, scaled so that the largest diagonal entry of X is 1."""
    error: float
    bound: float


def solve(diagonal: Callable[[Array], Array], start: Array, tolerance: float, steps: int = 500) -> FixedPoint:
    """The multipliers for which diag(X) = 1, `diagonal` giving diag(X) of multipliers.

    Anderson's mixing of the last steps, weighted by λ as the gap is; it stops when the two bounds agree to
    `tolerance`, or where rounding lets them come no closer, and returns the best that was seen.
    """
    place = np.log(start)
    places: list[Array] = []
    moves: list[Array] = []
    best, bound, since = FixedPoint(start, np.inf, 0.0), 0.0, 0
    for count in range(steps):
        if count == _MIXED:
            place = np.log(best.weights)
        weights = np.exp(place)
        diag = diagonal(weights)
        total, peak = float(weights @ diag), float(diag.max())
        bound = max(bound, total * total / float(weights.sum()))
        since += 1
        if total * peak < best.error:
            # X is homogeneous of degree -1/2 in λ, so this multiple of λ has largest diagonal entry 1
            best, since = FixedPoint(weights * peak**2, total * peak, bound), 0
        if best.error <= bound * (1 + tolerance) or since > 100:
            break
        move = _POWER * np.log(np.maximum(diag, _SMALLEST))
        places, moves = [*places, place][-_MEMORY:], [*moves, move][-_MEMORY:]
        place = place + move
        if 1 < len(moves) and count < _MIXED:
            scale = np.sqrt(weights / weights.sum())[:, None]
            by_move, by_place = np.diff(np.array(moves).T, axis=1), np.diff(np.array(places).T, axis=1)
            mix = np.linalg.lstsq(by_move * scale, move * scale[:, 0], rcond=1e-10)[0]
            # far jumps are not to be trusted
            place = place - np.clip((by_place + by_move) @ mix, -_FARTHEST, _FARTHEST)
        # where a constraint is not tight, λ falls for ever; from here on it no longer counts
        place = np.maximum(place, place.max() - _DEEPEST)
    return FixedPoint(best.weights, best.error, min(bound, best.error))
