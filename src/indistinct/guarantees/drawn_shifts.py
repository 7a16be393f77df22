"""How far a sum moves that several records of one person may join, and what is told of it in closed form."""

import math
from abc import ABC
from bisect import bisect_right
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from scipy.special import gammaln

from indistinct.guarantees.discrete_pair import DiscretePair
from indistinct.guarantees.noise_pairs import GaussianPair
from indistinct.guarantees.pair import Pair
from indistinct.guarantees.pair_kinds import OwnPair
from indistinct.numerics.arrays import EPS

_FURTHEST = 50.0
"""Where shifts are larger than this they are not integrated."""
WEIGHTS = 1e-12
"""Relative error of weights."""


def drawn_counts(records: int, rate: float) -> tuple[float, ...]:
    """Probabilities that 0, 1, 2, ... of the records are drawn, each by a coin of its own."""
    j = np.arange(records + 1.0)
    if rate in (0.0, 1.0):
        return (1.0,) if rate == 0 else (*[0.0] * records, 1.0)
    log_binomial = gammaln(records + 1) - gammaln(j + 1) - gammaln(records - j + 1)
    weights = np.exp(log_binomial + j * math.log(rate) + (records - j) * math.log1p(-rate))
    return tuple((weights / weights.sum()).tolist())


@dataclass(frozen=True)
class DrawnShifts(OwnPair, ABC):
    """Shifts of Gaussian noise, drawn by chance: multiples of one. Rare ones that are too large to be
    integrated are told, and beside them all others are as they are."""

    shift: float
    weights: tuple[float, ...]
    replaced: bool = False
    dominates: bool = field(default=False, repr=False)
    places: tuple[float, ...] = ()
    beyond: float = field(default=0.0, repr=False)
    """What the weights lack, and is told: rare shifts that are too large to be integrated."""

    @cached_property
    def _near(self) -> int:
        """How many of the places can be integrated."""
        places = self.places or range(len(self.weights))
        return bisect_right(places, _FURTHEST, key=lambda place: place * self.shift)

    @cached_property
    def _rare(self) -> float:
        """The probability of the others."""
        return math.fsum(self.weights[self._near :])

    @property
    def exact(self) -> bool:  # type: ignore[override]
        return super().exact and not self._rare

    def as_read(self, *, alone: bool) -> Pair:
        if not self._rare:
            return self
        if self._near == 1:
            return self.above[0]
        near, places = self.weights[: self._near], self.places[: self._near]
        return replace(self, weights=near, places=places, beyond=self._rare, dominates=True)

    @property
    def below(self) -> tuple[tuple[tuple[Pair, int], ...], ...]:
        """Large shifts tell no less than smaller ones."""
        if self.dominates or not self._rare:
            return super().below
        places = *(self.places or range(self._near))[: self._near], _FURTHEST * (1 - 4 * EPS) / self.shift
        return (((replace(self, weights=(*self.weights[: self._near], self._rare), places=places), 1),),)

    @property
    def given_away(self) -> tuple[float, float]:  # type: ignore[override]
        told = min(self.beyond * (1 + WEIGHTS), 1.0)
        return told, told if self.replaced else 0.0

    @property
    def above(self) -> tuple[Pair, ...]:
        """Whoever is drawn at all is told so, and nobody else; and as many are drawn as can be."""
        drawn = min(self._drawn * (1 + WEIGHTS), 1.0)
        rest = max(math.nextafter(1 - drawn, 0.0), 0.0)
        if self.replaced:
            told = DiscretePair.of(np.array([drawn, rest, 0.0]), np.array([0.0, rest, drawn]), exact=False)
        else:
            told = DiscretePair.of(np.array([drawn, rest]), np.array([0.0, 1.0]), exact=False)
        return (told,) if self.beyond else (told, GaussianPair(self._furthest).as_bound())

    @cached_property
    def _drawn(self) -> float:
        """The probability that the sum moves."""
        return math.fsum((*self.weights[1:], self.beyond))

    @cached_property
    def _log_nobody(self) -> float:
        """The logarithm of the probability that nobody is drawn, or what is drawn does not move the sum."""
        if self.weights[0] > 0.5:
            return math.log1p(-self._drawn)
        return math.log(self.weights[0]) if self.weights[0] else -math.inf

    @property
    def _largest(self) -> float:
        """By how much the released number moves at most."""
        return self.shift * (self.places[-1] if self.places else len(self.weights) - 1)

    @property
    def _furthest(self) -> float:
        """How far apart centres are at most."""
        return self._largest * (2 if self.replaced else 1)
