"""Sums of finitely many losses, enumerated: exact wherever there are few enough distinct sums."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from indistinct.numerics.arrays import EPS, Array
from indistinct.numerics.power_series import multiplied
from indistinct.numerics.rule import TooFineError

MAX_ATOMS = 1 << 13
_MAX_PAIRS = 1 << 22
_FAR, _FEW_TERMS = 80.0, 32
"""Losses more than half as far above an epsilon count in full, to less than rounding; of those between, so
many are added up one by one."""
_UNDERFLOW = 1e-300
"""More than what a term may lack that is too small for a number."""


class FiniteLosses(NamedTuple):
    """Masses of outcomes under P and Q, their losses, which rise, and by how much these may be off."""

    p: Array
    q: Array
    loss: Array
    moved: float


@dataclass(frozen=True, eq=False)
class Atoms:
    """Losses in increasing order and their P-masses."""

    loss: Array
    mass: Array
    moved: float = 0.0  # by which losses were rounded up, at most

    def told(self, epsilon: Array) -> tuple[Array, Array]:
        """delta(epsilon) = int e^{epsilon - t} P(L > t) dt over t > epsilon, and P(L > epsilon): terms of one
        sign, so both are known to `rounding`, relatively, however small they are and however many."""
        above, later = self._steps
        k = np.searchsorted(self.loss, epsilon, side="right")
        near = np.minimum(epsilon - self.loss[np.minimum(k, self.loss.size - 1)], 0.0)
        return above[k] * -np.expm1(near) + later[k] * np.exp(near), above[k]

    def told_at_most(self, epsilon: Array) -> Array:
        """delta(epsilon), rounded up."""
        delta, above = self.told(epsilon)
        return np.where(above > 0, delta * (1 + self.rounding) + self.loss.size * _UNDERFLOW, 0.0)

    @property
    def rounding(self) -> float:
        """Of sums of so many positive numbers, of exponentials and of what is far away."""
        return (2 * self.loss.size + 32) * EPS

    @cached_property
    def _steps(self) -> tuple[Array, Array]:
        """P(L >= l_j), and delta(l_j): what P(L > t) adds to it between one loss and the next, discounted."""
        above = np.append(np.cumsum(self.mass[::-1])[::-1], 0.0)
        between = above[1:] * -np.expm1(np.append(-np.diff(self.loss), 0.0))
        return above, np.append(discounted(self.loss, between), 0.0)

    def plus(self, other: "Atoms") -> "Atoms":
        """The law of the sum."""
        if self.loss.size * other.loss.size > _MAX_PAIRS:
            raise TooFineError(f"{self.loss.size} by {other.loss.size} losses")
        moved = self.moved + other.moved
        loss, mass = np.add.outer(self.loss, other.loss), np.outer(self.mass, other.mass)
        return merged(loss.ravel(), mass.ravel(), moved)


def discounted(points: Array, weights: Array) -> Array:
    """sum_{i>=j} w_i e^{l_j - l_i}, but for what is further away than `_FAR` / 2."""
    start, size = 0, points.size
    total = np.zeros(size)
    apart = float(np.diff(points).min(initial=math.inf))
    if apart > _FAR / _FEW_TERMS:  # few of them count
        for k in range(min(math.ceil(_FAR / apart), size)):
            total[: size - k] += weights[k:] * np.exp(points[: size - k] - points[k:])
        return total
    # in blocks, so that e^{l_j - l_i} neither overflows nor vanishes where it matters
    while start < size:
        end, stop = np.searchsorted(points, points[start] + np.array([_FAR / 2, _FAR]))
        offset = points[start:stop] - points[start]
        suffix = np.cumsum((weights[start:stop] * np.exp(-offset))[::-1])[::-1]
        total[start:end] = (suffix * np.exp(offset))[: end - start]
        start = int(end)
    return total


def merged(loss: Array, mass: Array, moved: float) -> Atoms:
    """Sorted, with sums that differ by rounding only put on the largest of them (the safe side)."""
    order = np.argsort(loss, kind="stable")
    loss, mass = loss[order], mass[order]
    scale = float(np.abs(loss).max(initial=0.0))
    fresh = np.concatenate(([True], np.diff(loss) > 1e-13 * scale))
    starts = np.flatnonzero(fresh)
    if starts.size > MAX_ATOMS:
        raise TooFineError(f"{starts.size} losses")
    ends = np.append(starts[1:], loss.size) - 1
    return Atoms(loss[ends], np.add.reduceat(mass, starts), moved + float((loss[ends] - loss[starts]).max()))


def compose_atoms(terms: Sequence[tuple[Atoms, int]]) -> Atoms | None:
    """The law of independent sums, each law a number of times; None if it has too many atoms."""
    total: Atoms | None = None
    try:
        for law, count in terms:
            total = multiplied(law, count, Atoms.plus, total)
    except TooFineError:
        return None
    return Atoms(np.zeros(1), np.ones(1)) if total is None else total
