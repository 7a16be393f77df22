"""What several kinds of pairs have in common: whose pair it is, and that it is the same both ways."""

from abc import ABC
from dataclasses import replace

import numpy as np

from indistinct.guarantees.pair import Pair
from indistinct.numerics.arrays import Array


class OwnPair(Pair, ABC):
    """A pair that two neighbours have, unless it is said to be one that only dominates theirs."""

    dominates: bool
    """Whether it only dominates what it stands for."""

    @property
    def exact(self) -> bool:  # type: ignore[override]
        return not self.dominates

    def as_bound(self) -> Pair:
        return replace(self, dominates=True)  # type: ignore[type-var]


class SymmetricPair(Pair, ABC):
    """The same both ways."""

    def reverse(self) -> Pair:
        return self

    def reversed_profile(self, epsilon: Array) -> Array:
        return self.profile(epsilon)


def of_both_signs(epsilon: Array, delta: Array) -> Array:
    """delta(epsilon) of a symmetric pair, from delta(|epsilon|)."""
    size = np.abs(epsilon)
    return np.where(epsilon < 0, -np.expm1(-size) + np.exp(-size) * delta, delta)
