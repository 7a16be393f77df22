"""Sums of finitely many losses, enumerated: exact wherever there are few enough distinct sums."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from indistinct.numerics.arrays import Array

MAX_ATOMS = 1 << 13
_MAX_PAIRS = 1 << 22


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

    def plus(self, other: "Atoms") -> "Atoms | None":
        """The law of the sum; None if it has too many atoms."""
        if self.loss.size * other.loss.size > _MAX_PAIRS:
            return None
        moved = self.moved + other.moved
        loss, mass = np.add.outer(self.loss, other.loss), np.outer(self.mass, other.mass)
        return merged(loss.ravel(), mass.ravel(), moved)


def merged(loss: Array, mass: Array, moved: float) -> Atoms | None:
    """Sorted, with sums that differ by rounding only put on the largest of them (the safe side)."""
    order = np.argsort(loss, kind="stable")
    loss, mass = loss[order], mass[order]
    scale = float(np.abs(loss).max(initial=0.0))
    fresh = np.concatenate(([True], np.diff(loss) > 1e-13 * scale))
    starts = np.flatnonzero(fresh)
    if starts.size > MAX_ATOMS:
        return None
    ends = np.append(starts[1:], loss.size) - 1
    return Atoms(loss[ends], np.add.reduceat(mass, starts), moved + float((loss[ends] - loss[starts]).max()))


def compose_atoms(terms: Sequence[tuple[Atoms, int]]) -> Atoms | None:
    """The law of independent sums, each law a number of times, by repeated doubling."""
    total: Atoms | None = None
    for law, count in terms:
        factor: Atoms | None = law
        while count:
            if factor is None:
                return None
            if count & 1:
                total = factor if total is None else total.plus(factor)
                if total is None:
                    return None
            count >>= 1
            factor = factor.plus(factor) if count else factor
    return Atoms(np.zeros(1), np.ones(1)) if total is None else total
