"""Strategies for marginals with Laplace noise: tables measured as they are, each with its own weight.

A column's sum of absolute values is the sum of the weights, so the weights compete; smaller tables and those
that were not asked for may be worth measuring, because larger ones borrow from them.
"""

import math
from functools import cached_property
from typing import Any

import numpy as np
from scipy.optimize import minimize

from indistinct.description import describable
from indistinct.numerics.arrays import Array
from indistinct.workloads.combined import check_weights
from indistinct.workloads.marginals import Attributes, Marginals, split
from indistinct.workloads.residual import OverMarginals, centred, ranks, spectrum, subsets
from indistinct.workloads.workload import check_counts


@describable("marginals")
class MarginalStrategy(OverMarginals):
    """Counts by sets of attributes, times a weight for each set."""

    weights: tuple[float, ...]

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "weights", check_weights(self.weights, len(self.groups)))

    @cached_property
    def known(self) -> dict[Attributes, float]:
        values = dict.fromkeys(subsets(self.groups), 0.0)
        for group, weight in zip(self.groups, self.weights, strict=True):
            for inner in subsets((group,)):
                values[inner] += weight**2 * self._others(group)
        return values

    @property
    def measurements(self) -> int:
        return sum(math.prod(self.shape[axis] for axis in group) for group in self.groups)

    def measure(self, histogram: Any) -> Array:
        parts = []
        for group, weight in zip(self.groups, self.weights, strict=True):
            table = self._table(histogram, group)
            parts.append(weight * table.reshape(-1, *table.shape[len(group) :]))
        return np.concatenate(parts)

    def _residuals(self, measured: Any) -> dict[Attributes, Array]:
        numbers = check_counts("measured", measured, self.measurements)
        found: dict[Attributes, Array] = {}
        tables = split(numbers, [tuple(self.shape[axis] for axis in group) for group in self.groups])
        for group, weight, table in zip(self.groups, self.weights, tables, strict=True):
            for inner in subsets((group,)):
                # the part of Aᵀ y that is about `inner`, as a table by it
                part = table.sum(axis=tuple(at for at, axis in enumerate(group) if axis not in inner))
                part = centred(part, tuple(range(len(inner))))
                part = part * (weight * self._others(group) / self.known[inner])
                found[inner] = found[inner] + part if inner in found else part
        return found

    def gram_range(self) -> tuple[float, float]:
        return math.fsum(weight**2 for weight in self.weights), 0.0

    def column_sum(self) -> float:
        return math.fsum(self.weights)

    def column_profile(self) -> tuple[tuple[float, int], ...]:
        values, counts = np.unique(np.array(self.weights), return_counts=True)
        return tuple((float(v), int(c)) for v, c in zip(values, counts, strict=True))

    def __str__(self) -> str:
        return f"marginals({len(self.groups)} sets of {len(self.shape)} attributes)"


def optimise_weights(workload: Marginals, steps: int) -> MarginalStrategy:
    """Weights of sum 1 with little total squared error; no worse than measuring just what is asked for."""
    groups = subsets(workload.sets)
    needed = spectrum(workload)
    cost = ranks(workload.shape, groups) * np.array([needed[group] for group in groups]) / workload.cells
    # precision_T / N is the sum over S that contain T of weight_S² / size_S
    inside = np.array([[float(set(t) <= set(s)) / workload.size(s) for s in groups] for t in groups])

    def error(weights: Array) -> tuple[float, Array]:
        total, precision = float(weights.sum()), inside @ weights**2
        each = cost / precision
        by_precision = -2 * weights * (inside.T @ (each / precision))
        return total**2 * float(each.sum()), 2 * total * float(each.sum()) + total**2 * by_precision

    asked = np.array([float(group in workload.sets) for group in groups])
    scale = error(asked / asked.sum())[0]
    best, best_error = asked, scale

    def relative(weights: Array) -> tuple[float, Array]:
        value, gradient = error(weights)
        return value / scale, gradient / scale

    for others in (0.3, 1.0):
        start = np.maximum(asked, others)
        found = minimize(
            relative,
            start / start.sum(),
            jac=True,
            method="L-BFGS-B",
            bounds=[(asked_for * 1e-9, None) for asked_for in asked],
            options={"maxiter": steps},
        )
        if found.fun * scale < best_error:
            best, best_error = found.x, float(found.fun) * scale
    best = best / best.sum()
    keep = (best > 1e-6) | (asked > 0)
    chosen = tuple(group for group, kept in zip(groups, keep, strict=True) if kept)
    return MarginalStrategy(workload.shape, chosen, tuple(float(w) for w in best[keep] / best[keep].sum()))
