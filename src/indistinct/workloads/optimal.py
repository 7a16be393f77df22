"""The best strategy for a workload, with how far from the best possible it can be."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from indistinct.description import one_of
from indistinct.errors import ArgumentError, check_count, check_positive
from indistinct.mechanisms.additive import Noise
from indistinct.workloads.combined import Kronecker
from indistinct.workloads.dense import optimise_dense
from indistinct.workloads.laplace import optimise_laplace
from indistinct.workloads.line_strategies import LineStrategy, optimise_line
from indistinct.workloads.marginals import Marginals
from indistinct.workloads.matrix_value import MatrixValue
from indistinct.workloads.product import KroneckerStrategy
from indistinct.workloads.residual import optimise_marginals
from indistinct.workloads.strategy import IdentityStrategy, Strategy, best_hierarchical
from indistinct.workloads.weighted import optimise_weights
from indistinct.workloads.workload import LARGEST_DENSE, Identity, Workload

_TREES = 256
"""Cells up to which trees are tried as well."""


@dataclass(frozen=True)
class Optimum:
    """A strategy for a workload, with a proof of how good it is.

    `error` is the total squared error for noise of scale 1 and sensitivity 1, and no strategy of this kind of
    noise has less than `bound`.
    """

    strategy: Strategy
    noise: Noise
    error: float
    bound: float

    @property
    def gap(self) -> float:
        """How far above the bound the error is, as a fraction of the bound."""
        return self.error / self.bound - 1 if self.bound > 0 else math.inf

    def __str__(self) -> str:
        return f"{self.strategy}: error {self.error:.7g}, at least {self.bound:.7g} (gap {self.gap:.1e})"


def optimise(
    workload: Workload, noise: Noise = Noise.GAUSSIAN, *, tolerance: float = 1e-6, steps: int = 150
) -> Optimum:
    """The strategy with the least total squared error for this noise.

    For Gaussian noise the optimum, up to `tolerance`: of a convex programme (dense up to some thousand
    cells), on a line of any length (prefix sums, ranges), for Kronecker products factor by factor, for
    marginals in closed form. For Laplace noise a good strategy, found by `steps` of descent; that problem is
    not convex.

    >>> from indistinct.workloads import Prefix
    >>> best = optimise(Prefix(1024))
    >>> best.error
    8944.3
    >>> best.gap < 1e-6
    True
    """
    if not isinstance(workload, Workload):
        raise ArgumentError("workload", workload, "a workload such as Prefix(100)")
    check_positive("tolerance", tolerance)
    check_count("steps", steps)
    if one_of(Noise)("noise", noise) is Noise.LAPLACE:
        return _for_laplace(workload, tolerance, steps)
    return _for_gaussian(workload, tolerance)


def expected(strategy: Strategy, workload: Workload, noise: Noise) -> float:
    """Total squared error for noise of scale 1 and sensitivity 1."""
    return noise.variance * strategy.error(workload) * strategy.sensitivity(noise) ** 2


def _optimum(strategy: Strategy, workload: Workload, noise: Noise, bound: float) -> Optimum:
    error = expected(strategy, workload, noise)
    return Optimum(strategy, noise, error, min(bound, error))


def _for_gaussian(workload: Workload, tolerance: float) -> Optimum:
    noise = Noise.GAUSSIAN
    if isinstance(workload, Identity):
        return _optimum(IdentityStrategy(workload.cells), workload, noise, workload.trace())
    if isinstance(workload, Marginals):
        strategy, bound = optimise_marginals(workload)
        return _optimum(strategy, workload, noise, bound)
    line = workload.line()
    if line is not None:
        found = optimise_line(workload.cells, line, tolerance)
        weights = MatrixValue("weights", found.weights, 1)
        on_line = LineStrategy(line.left, line.right, line.factor, weights)
        return _optimum(on_line, workload, noise, found.bound)
    parts = workload.products()
    if len(parts) == 1 and len(parts[0][1]) > 1:
        weight, factors = parts[0]
        each = [_for_gaussian(factor, tolerance) for factor in factors]
        bound = weight * math.prod(factor.bound for factor in each)
        return _optimum(KroneckerStrategy(*(f.strategy for f in each)), workload, noise, bound)
    if workload.cells <= LARGEST_DENSE // 4 or len(parts) == 1:
        dense, bound = optimise_dense(workload.gram(), tolerance)
        return _optimum(dense, workload, noise, bound)
    return _best_product(workload, parts, tolerance)


def _best_product(workload: Workload, parts: Any, tolerance: float, rounds: int = 10) -> Optimum:
    """The best Kronecker strategy for a sum of Kronecker products, one factor at a time.

    With all other factors fixed the error is that of one attribute with V = Σ weight Π error V_i, a problem
    of the same kind. The bound lets every part have its own best strategy, so it is not sharp.
    """
    count = len(parts[0][1])
    grams = [[inner[axis].gram() for _, inner in parts] for axis in range(count)]
    chosen: list[Strategy] = [IdentityStrategy(grams[axis][0].shape[0]) for axis in range(count)]
    errors = np.array([[inner[axis].trace() for _, inner in parts] for axis in range(count)])
    weights = np.array([weight for weight, _ in parts])
    last = math.inf
    for _ in range(rounds):
        for axis in range(count):
            shares = weights * np.prod(np.delete(errors, axis, axis=0), axis=0)
            total = sum(share * gram for share, gram in zip(shares, grams[axis], strict=True))
            chosen[axis] = optimise_dense(np.asarray(total), tolerance)[0]
            errors[axis] = [chosen[axis].error(inner[axis]) for _, inner in parts]
        now = float(weights @ np.prod(errors, axis=0))
        if now > last * (1 - 1e-6):
            break
        last = now
    bound = math.fsum(w * _for_gaussian(Kronecker(*inner), tolerance).bound for w, inner in parts)
    return _optimum(KroneckerStrategy(*chosen), workload, Noise.GAUSSIAN, bound)


def _for_laplace(workload: Workload, tolerance: float, steps: int) -> Optimum:
    noise = Noise.LAPLACE
    # a column's norm is at most its sum, and the noise's variance is 2
    parts = workload.products()
    if len(parts) == 1 and len(parts[0][1]) > 1 and not isinstance(workload, Marginals):
        weight, factors = parts[0]
        each = [_for_laplace(factor, tolerance, steps) for factor in factors]
        bound = 2 * weight * math.prod(factor.bound / 2 for factor in each)
        return _optimum(KroneckerStrategy(*(f.strategy for f in each)), workload, noise, bound)
    bound = noise.variance * _for_gaussian(workload, tolerance).bound
    candidates: list[Strategy] = [IdentityStrategy(workload.cells)]
    if isinstance(workload, Marginals):
        candidates.append(optimise_weights(workload, steps))
    elif not isinstance(workload, Identity):
        candidates.append(optimise_laplace(workload.gram(), steps))
        if 2 <= workload.cells <= _TREES:
            candidates.append(best_hierarchical(workload, noise))
    best = min(candidates, key=lambda strategy: expected(strategy, workload, noise))
    return _optimum(best, workload, noise, bound)
