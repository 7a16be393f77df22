"""Workloads made of workloads: products over attributes, several asked together."""

import math
from itertools import product
from typing import Any

import numpy as np

from indistinct.description import describable
from indistinct.errors import ArgumentError, check_positive
from indistinct.numerics.arrays import Array
from indistinct.workloads.workload import Workload, check_dense


def along(axis: int, shape: tuple[int, ...], array: Array, function: Any) -> tuple[tuple[int, ...], Array]:
    """A linear map applied along one axis of an array whose leading axes have this shape."""
    full = array.reshape(*shape, *array.shape[1:])
    moved = np.moveaxis(function(np.moveaxis(full, axis, 0)), 0, axis)
    return tuple(moved.shape[: len(shape)]), moved.reshape(-1, *array.shape[1:])


@describable("kronecker")
class Kronecker(Workload):
    """One workload for each attribute of a table, and every combination of their queries.

    The histogram has a cell for each combination of values, the last attribute's running fastest.

    >>> from indistinct.workloads import Prefix, Total
    >>> Kronecker(Total(2), Prefix(3)).answers([1, 2, 3, 4, 5, 6])
    array([ 5., 12., 21.])
    """

    factors: tuple[Workload, ...]

    def __init__(self, *factors: Workload) -> None:
        if not factors or not all(isinstance(factor, Workload) for factor in factors):
            raise ArgumentError("factors", factors, "one workload or more")
        object.__setattr__(self, "factors", factors)

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(factor.cells for factor in self.factors)

    @property
    def cells(self) -> int:
        return math.prod(self.shape)

    @property
    def queries(self) -> int:
        return math.prod(factor.queries for factor in self.factors)

    def answers(self, histogram: Any) -> Array:
        shape, array = self.shape, self._counts(histogram)
        for axis, factor in enumerate(self.factors):
            shape, array = along(axis, shape, array, factor.answers)
        return array

    def gram(self) -> Array:
        check_dense(self.cells)
        return outer([factor.gram() for factor in self.factors])

    def trace(self) -> float:
        return math.prod(factor.trace() for factor in self.factors)

    def row_norms(self) -> Array:
        return outer([factor.row_norms() for factor in self.factors])

    def products(self) -> tuple[tuple[float, tuple[Workload, ...]], ...]:
        choices = product(*(factor.products() for factor in self.factors))
        return tuple(
            (math.prod(weight for weight, _ in choice), tuple(f for _, inner in choice for f in inner))
            for choice in choices
        )


@describable("stacked")
class Stacked(Workload):
    """Several workloads on the same histogram, answered together.

    `weights` say how much the squared error of each counts; answers are not weighted.

    >>> from indistinct.workloads import Identity, Total
    >>> Stacked(Identity(3), Total(3)).answers([1, 2, 3])
    array([1., 2., 3., 6.])
    """

    parts: tuple[Workload, ...]
    weights: tuple[float, ...]

    def __init__(self, *parts: Workload, weights: Any = None) -> None:
        if not parts or not all(isinstance(part, Workload) for part in parts):
            raise ArgumentError("parts", parts, "one workload or more")
        if len({part.cells for part in parts}) > 1:
            raise ArgumentError("parts", [part.cells for part in parts], "on the same number of cells")
        object.__setattr__(self, "parts", parts)
        object.__setattr__(self, "weights", check_weights(weights, len(parts)))

    @property
    def cells(self) -> int:
        return self.parts[0].cells

    @property
    def queries(self) -> int:
        return sum(part.queries for part in self.parts)

    def answers(self, histogram: Any) -> Array:
        return np.concatenate([part.answers(histogram) for part in self.parts])

    def gram(self) -> Array:
        total: Array = np.zeros((check_dense(self.cells),) * 2)
        for part, weight in zip(self.parts, self.weights, strict=True):
            total += weight * part.gram()
        return total

    def trace(self) -> float:
        return math.fsum(w * part.trace() for part, w in zip(self.parts, self.weights, strict=True))

    def quadratic(self, covariance: Array) -> Array:
        return np.concatenate([part.quadratic(covariance) for part in self.parts])

    def row_norms(self) -> Array:
        return np.concatenate([part.row_norms() for part in self.parts])

    def products(self) -> tuple[tuple[float, tuple[Workload, ...]], ...]:
        parts = [
            (weight * inner, factors)
            for part, weight in zip(self.parts, self.weights, strict=True)
            for inner, factors in part.products()
        ]
        if len({tuple(f.cells for f in factors) for _, factors in parts}) > 1:
            return ((1.0, (self,)),)  # no common attributes
        return tuple(parts)

    def __str__(self) -> str:
        return f"stacked({', '.join(map(str, self.parts))})"


def outer(factors: list[Array]) -> Array:
    """The Kronecker product of vectors or of matrices."""
    result = factors[0]
    for factor in factors[1:]:
        result = np.asarray(np.kron(result, factor), dtype=np.float64)
    return result


def check_weights(weights: Any, count: int) -> tuple[float, ...]:
    """So many positive weights; all 1 where none are given."""
    if weights is None:
        return (1.0,) * count
    try:
        checked = tuple(check_positive("weights", weight) for weight in weights)
    except TypeError:
        raise ArgumentError("weights", weights, "positive numbers, one a part") from None
    if len(checked) != count:
        raise ArgumentError("weights", weights, f"{count} positive numbers, one a part")
    return checked
