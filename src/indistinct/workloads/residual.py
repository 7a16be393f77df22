"""Optimal strategies for marginals, without the matrix: closed forms over sets of attributes.

Marginals do not change when the values of an attribute are permuted. So V is a sum of weighted projections,
one for each set T of attributes: onto what the table by T says beyond the tables by fewer attributes. With
P = 11ᵀ/n and Q = I - P for each attribute,

    V = Σ_T μ_T ⊗_{i in T} Q ⊗_{i not in T} P,   μ_T = Σ_{S ⊇ T} weight_S Π_{i not in S} n_i.

All cells are alike, so all multipliers of `fixed_point` are equal at the optimum and X is a multiple of V^½:
the singular value bound (Σ_T rank_T √μ_T)² / N is attained (Li and Miklau 2013; Xiao, He, Zhang and Kifer
2023 reach the same measurements by another way). Only sets within a set that is asked for are measured.
"""

import math
from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import Any

import numpy as np

from indistinct.description import describable
from indistinct.errors import ArgumentError
from indistinct.numerics.arrays import EPS, Array
from indistinct.workloads.combined import check_weights, outer
from indistinct.workloads.marginals import Attributes, Marginals
from indistinct.workloads.strategy import Strategy
from indistinct.workloads.workload import Workload, check_counts, check_dense

_MOST_ATTRIBUTES = 20
"""Patterns of agreement are enumerated up to here; beyond, a bound answers."""


def subsets(sets: tuple[Attributes, ...]) -> tuple[Attributes, ...]:
    """All sets within one of these, the smallest first."""
    found = {inner for group in sets for k in range(len(group) + 1) for inner in combinations(group, k)}
    return tuple(sorted(found, key=lambda group: (len(group), group)))


def spectrum(workload: Marginals) -> dict[Attributes, float]:
    """μ_T for every T within a set that is asked for."""
    values = dict.fromkeys(subsets(workload.sets), 0.0)
    for group, weight in zip(workload.sets, workload.weights, strict=True):
        share = weight * workload.cells / workload.size(group)
        for inner in subsets((group,)):
            values[inner] += share
    return values


def centred(table: Array, axes: Attributes) -> Array:
    """A table minus its means along these axes, one after the other."""
    for axis in axes:
        table = table - table.mean(axis=axis, keepdims=True)
    return table


def ranks(shape: tuple[int, ...], groups: tuple[Attributes, ...]) -> Array:
    """How many independent numbers each set of attributes adds to smaller ones."""
    return np.array([float(math.prod(shape[axis] - 1 for axis in group)) for group in groups])


@dataclass(frozen=True, repr=False)
class OverMarginals(Strategy):
    """Measurements of tables, with X = Σ precision_T ⊗_{i in T} Q ⊗_{i not in T} P.

    The histogram may be given as an array, or, where it would be too large, as tables of counts: a mapping
    from sets of attributes to arrays.
    """

    shape: tuple[int, ...]
    groups: tuple[Attributes, ...]

    def __post_init__(self) -> None:
        checked = Marginals(self.shape, sets=self.groups)
        if checked.sets != self.groups or not self.groups:
            raise ArgumentError("groups", self.groups, "sets of attributes in order")

    @property
    def cells(self) -> int:
        return math.prod(self.shape)

    @property
    @abstractmethod
    def known(self) -> dict[Attributes, float]:
        """precision_T for every T that is measured."""

    @abstractmethod
    def _residuals(self, measured: Any) -> dict[Attributes, Array]:
        """For each set, what it says beyond smaller ones: an estimated table whose sums are 0."""

    @property
    def float_error(self) -> float:
        # tables are exact, and each attribute's basis is a product with a small matrix
        return 4 * EPS * math.fsum(size**1.5 for size in self.shape)

    def _others(self, group: Attributes) -> float:
        """Cells that are summed into one of a table."""
        return self.cells / math.prod(self.shape[axis] for axis in group)

    def _table(self, histogram: Any, group: Attributes) -> Array:
        """Counts by a set of attributes, from the histogram or from a larger table."""
        if isinstance(histogram, Mapping):
            axes = min((g for g in histogram if set(group) <= set(g)), key=len, default=None)
            if axes is None:
                raise ArgumentError("histogram", sorted(histogram), f"tables that contain {group}")
            sizes = tuple(self.shape[axis] for axis in axes)
            table = np.asarray(histogram[axes], dtype=np.float64)
            if table.shape != sizes or not np.isfinite(table).all():
                raise ArgumentError("histogram", table.shape, f"finite counts of shape {sizes} for {axes}")
        else:
            axes = tuple(range(len(self.shape)))
            table = check_counts("histogram", histogram, self.cells)
            table = table.reshape(*self.shape, *table.shape[1:])
        return np.asarray(table.sum(axis=tuple(at for at, axis in enumerate(axes) if axis not in group)))

    def _assembled(self, residuals: dict[Attributes, Array], target: Attributes) -> Array:
        """The table by a set: every smaller set's residual, spread evenly over what it does not mention."""
        rest = residuals[()].shape
        total = np.zeros(tuple(self.shape[axis] for axis in target) + rest)
        for group, table in residuals.items():
            if set(group) <= set(target):
                spread = table.reshape(tuple(self.shape[a] if a in group else 1 for a in target) + rest)
                total += spread * (self._others(target) / self._others(group))
        return total

    def estimate(self, measured: Any) -> Array:
        everything = tuple(range(len(self.shape)))
        table = self._assembled(self._residuals(measured), everything)
        return table.reshape(self.cells, *table.shape[len(self.shape) :])

    def answers(self, workload: Workload, measured: Any) -> Array:
        self._check(workload)
        if not isinstance(workload, Marginals):
            return super().answers(workload, measured)
        residuals = self._residuals(measured)
        rest = residuals[()].shape
        tables = [self._assembled(residuals, group).reshape(-1, *rest) for group in workload.sets]
        return np.concatenate(tables)

    def precision(self, counts: Any) -> Array:
        # the tables of x, each part beyond smaller ones by its own factor
        vector, axes = check_counts("counts", counts, self.cells), range(len(self.shape))
        full = vector.reshape(self.shape + vector.shape[1:])
        total = np.zeros_like(full)
        for group, precision in self.known.items():
            part = full.mean(axis=tuple(a for a in axes if a not in group), keepdims=True)
            total += precision * centred(part, group)
        return total.reshape(vector.shape)

    def covariance(self) -> Array:
        total = np.zeros((check_dense(self.cells),) * 2)
        for group, precision in self.known.items():
            factors = [
                np.eye(n) - 1 / n if axis in group else np.full((n, n), 1 / n)
                for axis, n in enumerate(self.shape)
            ]
            total += outer(factors) / precision
        return total

    def _check(self, workload: Workload) -> None:
        super()._check(workload)
        if isinstance(workload, Marginals) and workload.shape == self.shape:
            if missing := set(subsets(workload.sets)) - set(self.known):
                raise ArgumentError("workload", str(workload), f"within what is measured: not {min(missing)}")
        elif len(self.known) < 2 ** len(self.shape):
            raise ArgumentError("workload", str(workload), f"marginals of {self.shape}")

    def error(self, workload: Workload) -> float:
        self._check(workload)
        if not isinstance(workload, Marginals) or workload.shape != self.shape:
            return super().error(workload)
        needed = spectrum(workload)
        known = self.known
        size = ranks(self.shape, tuple(needed))
        terms = zip(needed.items(), size, strict=True)
        return math.fsum(float(rank) * value / known[group] for (group, value), rank in terms)

    def variances(self, workload: Workload) -> Array:
        self._check(workload)
        if not isinstance(workload, Marginals) or workload.shape != self.shape:
            return super().variances(workload)
        known = self.known
        each = []
        for target in workload.sets:
            inner = subsets((target,))
            size = workload.size(target)
            rank = ranks(self.shape, inner)
            total = math.fsum(float(r) / known[group] for group, r in zip(inner, rank, strict=True))
            each.append(np.full(size, total * self._others(target) / size))
        return np.concatenate(each)


@describable("residual")
class ResidualStrategy(OverMarginals):
    """What each table says beyond smaller ones, measured in orthonormal coordinates."""

    precisions: tuple[float, ...]

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "precisions", check_weights(self.precisions, len(self.groups)))

    @cached_property
    def known(self) -> dict[Attributes, float]:
        return dict(zip(self.groups, self.precisions, strict=True))

    @property
    def measurements(self) -> int:
        return int(ranks(self.shape, self.groups).sum())

    @cached_property
    def _bases(self) -> tuple[Array, ...]:
        """For each attribute, orthonormal rows that are orthogonal to 1 (Helmert's)."""
        return tuple(_helmert(size) for size in self.shape)

    def measure(self, histogram: Any) -> Array:
        parts = []
        for group, precision in zip(self.groups, self.precisions, strict=True):
            table = self._table(histogram, group)
            rest = table.shape[len(group) :]
            for at, axis in enumerate(group):
                table = np.moveaxis(np.tensordot(self._bases[axis], table, (1, at)), 0, at)
            parts.append(math.sqrt(precision / self._others(group)) * table.reshape(-1, *rest))
        return np.concatenate(parts)

    def _residuals(self, measured: Any) -> dict[Attributes, Array]:
        """For each set, what it says beyond smaller ones: an estimated table whose sums are 0."""
        numbers, start, found = check_counts("measured", measured, self.measurements), 0, {}
        for group, precision in zip(self.groups, self.precisions, strict=True):
            sizes = tuple(self.shape[axis] - 1 for axis in group)
            stop = start + math.prod(sizes)
            table = numbers[start:stop].reshape((*sizes, *numbers.shape[1:]))
            start = stop
            for at, axis in enumerate(group):
                table = np.moveaxis(np.tensordot(self._bases[axis].T, table, (1, at)), 0, at)
            found[group] = table * math.sqrt(self._others(group) / precision)
        return found

    def gram_range(self) -> tuple[float, float]:
        each = np.array(self.precisions) * ranks(self.shape, self.groups)
        largest = math.fsum(each) / self.cells
        if len(self.shape) > _MOST_ATTRIBUTES:
            return largest, -largest
        # an entry of X depends on the attributes in which two cells agree: n - 1 for each in T, else -1
        entries = np.zeros((2,) * len(self.shape))
        for group, precision in zip(self.groups, self.precisions, strict=True):
            entries[tuple(int(axis in group) for axis in range(len(self.shape)))] = precision
        for axis, n in enumerate(self.shape):
            change = np.array([[1.0, -1.0], [1.0, n - 1.0]])
            entries = np.moveaxis(np.tensordot(change, entries, (1, axis)), 0, axis)
        return largest, float(entries.min()) / self.cells

    def column_sum(self) -> float:
        # the columns of Helmert's basis have different sums; the largest of each attribute bounds them
        tallest = [float(np.abs(base).sum(axis=0).max(initial=0.0)) for base in self._bases]
        return math.fsum(
            math.sqrt(precision / self._others(group)) * math.prod(tallest[axis] for axis in group)
            for group, precision in zip(self.groups, self.precisions, strict=True)
        )

    def __str__(self) -> str:
        return f"residual({len(self.groups)} sets of {len(self.shape)} attributes)"


def optimise_marginals(workload: Marginals) -> tuple[ResidualStrategy, float]:
    """The best strategy for Gaussian noise and its error, which is also the bound."""
    values = spectrum(workload)
    groups = tuple(values)
    rank = ranks(workload.shape, groups)
    root = np.sqrt(np.array([values[group] for group in groups]))
    total = float(rank @ root)
    precisions = tuple(float(r) for r in root * workload.cells / total)
    return ResidualStrategy(workload.shape, groups, precisions), total**2 / workload.cells


def _helmert(size: int) -> Array:
    base = np.zeros((size - 1, size))
    for k in range(1, size):
        base[k - 1, :k] = 1 / math.sqrt(k * (k + 1))
        base[k - 1, k] = -k / math.sqrt(k * (k + 1))
    return base
