"""Marginals: counts by some of the attributes, summed over the others."""

import math
from collections.abc import Iterable, Iterator
from itertools import combinations
from typing import Any

import numpy as np

from indistinct.description import describable
from indistinct.errors import ArgumentError, check_count
from indistinct.numerics.arrays import Array
from indistinct.workloads.combined import Kronecker, check_weights
from indistinct.workloads.workload import Identity, Total, Workload, check_dense

Attributes = tuple[int, ...]


@describable("marginals")
class Marginals(Workload):
    """Tables of counts by sets of attributes: all sets of `ways` of them, or the `sets` that are named.

    >>> two = Marginals((2, 3, 2), ways=2)
    >>> two.sets
    ((0, 1), (0, 2), (1, 2))
    >>> two.queries
    16
    """

    shape: tuple[int, ...]
    sets: tuple[Attributes, ...]
    weights: tuple[float, ...]

    def __init__(self, shape: Any, ways: int | None = None, sets: Any = None, weights: Any = None) -> None:
        try:
            sizes = tuple(check_count("shape", size, least=1) for size in shape)
        except TypeError:
            raise ArgumentError("shape", shape, "the sizes of one attribute or more") from None
        if not sizes:
            raise ArgumentError("shape", shape, "the sizes of one attribute or more")
        if (ways is None) == (sets is None):
            raise ArgumentError("ways", ways, "given, or sets instead of it")
        if ways is not None:
            if check_count("ways", ways) > len(sizes):
                raise ArgumentError("ways", ways, f"at most {len(sizes)}, the number of attributes")
            chosen = tuple(combinations(range(len(sizes)), ways))
        else:
            chosen = tuple(_check_set(group, len(sizes)) for group in sets)
            if not chosen or len(set(chosen)) < len(chosen):
                raise ArgumentError("sets", sets, "one set of attributes or more, each once")
        object.__setattr__(self, "shape", sizes)
        object.__setattr__(self, "sets", chosen)
        object.__setattr__(self, "weights", check_weights(weights, len(chosen)))

    @property
    def cells(self) -> int:
        return math.prod(self.shape)

    @property
    def queries(self) -> int:
        return sum(self.size(group) for group in self.sets)

    def size(self, group: Attributes) -> int:
        """Cells of one marginal."""
        return math.prod(self.shape[axis] for axis in group)

    def answers(self, histogram: Any) -> Array:
        counts = self._counts(histogram)
        rest = counts.shape[1:]
        full = counts.reshape(*self.shape, *rest)
        axes = range(len(self.shape))
        tables = (full.sum(axis=tuple(a for a in axes if a not in group)) for group in self.sets)
        return np.concatenate([table.reshape(-1, *rest) for table in tables])

    def split(self, answers: Array) -> dict[Attributes, Array]:
        """Answers as one table for each set of attributes."""
        shapes = [tuple(self.shape[axis] for axis in group) for group in self.sets]
        return dict(zip(self.sets, split(answers, shapes), strict=True))

    def gram(self) -> Array:
        total: Array = np.zeros((check_dense(self.cells),) * 2)
        for weight, factors in self.products():
            total += weight * Kronecker(*factors).gram()
        return total

    def trace(self) -> float:
        return self.cells * math.fsum(self.weights)

    def row_norms(self) -> Array:
        sizes = [self.size(group) for group in self.sets]
        return np.concatenate([np.full(size, self.cells / size) for size in sizes])

    def products(self) -> tuple[tuple[float, tuple[Workload, ...]], ...]:
        return tuple(
            (weight, tuple(Identity(n) if axis in group else Total(n) for axis, n in enumerate(self.shape)))
            for group, weight in zip(self.sets, self.weights, strict=True)
        )

    def __str__(self) -> str:
        return f"marginals({len(self.sets)} of {'x'.join(map(str, self.shape))})"


def split(numbers: Array, shapes: Iterable[tuple[int, ...]]) -> Iterator[Array]:
    """Tables of these shapes, which lie one after the other along the first axis."""
    start = 0
    for shape in shapes:
        stop = start + math.prod(shape)
        yield numbers[start:stop].reshape((*shape, *numbers.shape[1:]))
        start = stop


def _check_set(group: Any, attributes: int) -> Attributes:
    allowed = f"sets of different attributes, numbered from 0 to {attributes - 1}"
    if not isinstance(group, Iterable) or isinstance(group, str):
        raise ArgumentError("sets", group, allowed)
    axes = tuple(check_count("sets", axis) for axis in group)
    if len(set(axes)) < len(axes) or any(axis >= attributes for axis in axes):
        raise ArgumentError("sets", group, allowed)
    return tuple(sorted(axes))
