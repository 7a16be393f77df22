"""Counts of intervals, of groups of intervals, of groups of those: what is measured to know all counts below
an edge at once, the fit of least squares, and the noise that is left in it."""

import math
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from indistinct.data.queries.tree import Tree
from indistinct.data.records.reach import Norm

Values = npt.NDArray[np.float64]


@dataclass(frozen=True)
class CountTree:
    """A tree over `leaves` bins: each node has `factor` children, the last of a level perhaps fewer. The root
    is not measured: its level would cost as much noise as any other, and the children add up to it.

    Arrays have a last axis of nodes (the upper levels first) or of leaves; groups may go before it.
    """

    leaves: int
    factor: int

    @cached_property
    def sizes(self) -> tuple[int, ...]:
        """Of the measured levels, the lowest first."""
        sizes = [self.leaves]
        while sizes[-1] > self.factor:
            sizes.append(-(-sizes[-1] // self.factor))
        return tuple(sizes)

    @property
    def levels(self) -> int:
        """In how many measured nodes a record is."""
        return len(self.sizes)

    @property
    def size(self) -> int:
        return sum(self.sizes)

    @cached_property
    def _tree(self) -> Tree:
        """The same with its root."""
        upper = np.zeros(self.sizes[-1], dtype=np.int64)
        return Tree((upper, *(np.arange(size) // self.factor for size in self.sizes[-2::-1])))

    @property
    def _precisions(self) -> tuple[float, ...]:
        return 0.0, *(1.0 for _ in self.sizes)

    def measure(self, leaves: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """The counts of all nodes, from those of the leaves."""
        return np.concatenate(self._tree.levels(leaves)[1:], axis=-1)

    def fit(self, nodes: Values) -> Values:
        """The leaves of the consistent tree nearest to the measured one."""
        own = np.split(nodes, np.cumsum(self.sizes[::-1])[:-1], axis=-1)
        return self._tree.fitted([np.zeros_like(nodes[..., :1]), *own], self._precisions)[-1]

    @cached_property
    def _edges(self) -> tuple[Values, Values, float]:
        """Of the fitted count below each edge: its slope in the total, its variance where the total is given,
        and the variance of the total; for noise of variance 1.

        Given the total of a node, what is below an edge in it depends on no other subtree. Children of
        variances s, given their sum, have the covariance diag(s) - s s' / sum(s).
        """
        node = np.arange(self.leaves)
        slope, rest = np.zeros(self.leaves), np.zeros(self.leaves)
        below = self._tree.below(self._precisions)
        for variance, parent, starts in zip(
            below[:0:-1], self._tree.parents[::-1], self._tree.starts[::-1], strict=True
        ):
            group, whole = parent[node], np.add.reduceat(variance, starts)
            sums = np.concatenate([[0.0], np.cumsum(variance)])
            before = sums[node] - sums[starts[group]]
            covered = before + slope * variance[node]
            rest = rest + before + slope**2 * variance[node] - covered**2 / whole[group]
            slope, node = covered / whole[group], group
        return np.append(slope, 1.0), np.append(np.maximum(rest, 0.0), 0.0), float(whole[0])

    def deviations(self, ranks: npt.ArrayLike) -> Values:
        """The standard deviations of (fitted count below an edge) - rank * (fitted total), for noise of
        variance 1 on each node: an axis for ranks, one for the leaves + 1 edges."""
        slope, rest, total = self._edges
        apart = slope - np.asarray(ranks, dtype=np.float64)[..., None]
        return np.sqrt(rest + total * apart**2)


@cache
def best_factor(leaves: int, ranks: tuple[float, ...], norm: Norm) -> int:
    """The factor with the least noise in the worst edge, at one privacy; public, as all that it depends on.

    For each number of levels the smallest factor is tried; others are better by a few percent at most.
    """

    def noise(factor: int) -> float:
        tree = CountTree(leaves, factor)
        levels = tree.levels if norm is Norm.L1 else math.sqrt(tree.levels)
        return levels * float(tree.deviations(ranks).max())

    tried = {max(2, math.ceil(leaves ** (1 / depth) - 1e-9)) for depth in range(1, leaves.bit_length() + 1)}
    best: int = min(sorted(tried), key=noise)
    return best
