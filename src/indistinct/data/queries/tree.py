"""Counts at the nodes of a tree: the nearest ones that add up, how far off these are, and whole numbers.

Every node of a level is measured with noise of one variance, all independent. The least-squares fit under
"children add up to their parents" goes once up and once down the tree (Hay, Rastogi, Miklau and Suciu 2010,
Theorem 3, there for one variance and equal numbers of children). Up: a node's own measurement and the sum of
its children are averaged by their precisions. Down: what the children of a node are short of is shared among
them by their variances.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

Integers = npt.NDArray[np.int64]
Values = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Tree:
    """One root, and below it levels of nodes, all of whose leaves are on the last. Nodes of one parent lie
    together, in the order of their parents, and every node above the last level has children."""

    parents: tuple[Integers, ...]
    """The parent of each node, for each level below the root."""

    @property
    def sizes(self) -> tuple[int, ...]:
        """Nodes of each level, the root's first."""
        return (1, *(len(level) for level in self.parents))

    @cached_property
    def starts(self) -> list[Any]:
        """Where the children of each node begin."""
        return [
            np.searchsorted(level, np.arange(size))
            for level, size in zip(self.parents, self.sizes, strict=False)
        ]

    def levels(self, leaves: npt.NDArray[Any]) -> list[npt.NDArray[Any]]:
        """Sums at every node, from those at the leaves, along the last axis."""
        found = [leaves]
        for starts in reversed(self.starts):
            found.append(np.add.reduceat(found[-1], starts, axis=-1))
        return found[::-1]

    def variances(self, precisions: Sequence[float]) -> list[Values]:
        """Of the fit, at every node, where a node of each level is measured with this precision.

        A child's fit is its estimate from below, less its share of the sum S of its siblings' and its own,
        plus its share of the parent's fit; the difference of the first two is not correlated with S, so not
        with the last.
        """
        below = self.below(precisions)
        fitted = [below[0]]
        for own, parent, starts in zip(below[1:], self.parents, self.starts, strict=True):
            share = own / np.add.reduceat(own, starts)[parent]
            fitted.append(own * (1 - share) + share**2 * fitted[-1][parent])
        return fitted

    def below(self, precisions: Sequence[float]) -> list[Values]:
        """The variance of each node's best estimate from its own measurement and those below it."""
        found = [np.full(self.sizes[-1], 1 / precisions[-1])]
        for starts, precision in zip(reversed(self.starts), precisions[-2::-1], strict=True):
            found.append(1 / (precision + 1 / np.add.reduceat(found[-1], starts)))
        return found[::-1]

    def fitted(self, measured: Sequence[Values], precisions: Sequence[float]) -> list[Values]:
        """The nearest counts that add up, level by level, from measurements along the last axis."""
        below = self.below(precisions)
        best = [measured[-1]]
        for height in range(len(self.parents) - 1, -1, -1):
            children = np.add.reduceat(best[-1], self.starts[height], axis=-1)
            trust = precisions[height] * below[height]  # in the node's own measurement
            best.append(trust * measured[height] + (1 - trust) * children)
        best.reverse()
        fitted = [best[0]]
        for own, spread, parent, starts in zip(best[1:], below[1:], self.parents, self.starts, strict=True):
            short = fitted[-1] - np.add.reduceat(own, starts, axis=-1)
            share = spread / np.add.reduceat(spread, starts)[parent]
            fitted.append(own + share * short[..., parent])
        return fitted

    def whole(self, fitted: Sequence[Values], precisions: Sequence[float]) -> list[Values]:
        """Whole numbers from 0 on that add up, from the root down: the nearest split of each parent's number
        without negative parts, by the precisions, then rounded to the largest remainders. What is whole and
        adds up stays."""
        below = self.below(precisions)
        shape = fitted[0].shape[:-1]
        levels = [np.rint(np.maximum(fitted[0], 0.0)).reshape(-1, 1)]
        for own, spread, starts in zip(fitted[1:], below[1:], self.starts, strict=True):
            flat = own.reshape(-1, own.shape[-1])
            ends = [*starts[1:].tolist(), own.shape[-1]]
            found = np.empty_like(flat)
            for group, totals in enumerate(levels[-1]):
                for total, start, end in zip(totals, starts.tolist(), ends, strict=True):
                    parts = _split(flat[group, start:end], spread[start:end], total)
                    found[group, start:end] = _rounded(parts, total)
            levels.append(found)
        return [level.reshape(*shape, level.shape[-1]) for level in levels]


def _split(wanted: Values, spread: Values, total: float) -> Values:
    """The x >= 0 with sum `total` and least Σ (x - wanted)² / spread: max(wanted - t spread, 0) for one t."""
    order = np.argsort(-wanted / spread, kind="stable")
    excess = np.cumsum(wanted[order]) - total
    t = excess / np.cumsum(spread[order])
    kept = int(np.flatnonzero(wanted[order] - t * spread[order] >= 0).max(initial=0))
    parts: Values = np.maximum(wanted - t[kept] * spread, 0.0)
    return parts


def _rounded(parts: Values, total: float) -> Values:
    """Whole numbers with sum `total`, which the parts have but for rounding, each next to its part."""
    down = np.floor(parts)
    left = int(total - down.sum())
    order = np.argsort(down - parts, kind="stable")
    if left >= 0:
        down[order[:left]] += 1
    else:  # a sum that rounding has lifted over a whole number
        lowered = order[::-1][down[order[::-1]] > 0][:-left]
        down[lowered] -= 1
    return down
