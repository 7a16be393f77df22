"""One released number: its law with the record and without it.

An adversary whose class is restricted acts on what is released, not on the privacy loss, so its divergence
needs the laws themselves. Both are the same noise around a few centres, in units of the noise's scale and
measured from the value without the record: one centre each for additive noise, two for a sampled mechanism.
"""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from indistinct.adversaries.noise import GaussianNoise, LaplaceNoise, Noise
from indistinct.guarantees.mixture_pair import MixturePair
from indistinct.guarantees.noise_pairs import GaussianPair, LaplacePair
from indistinct.guarantees.pair import Pair
from indistinct.numerics.arrays import Array

Centres = tuple[tuple[float, float], ...]
"""Weights and places."""


@dataclass(frozen=True)
class Law:
    """Noise around centres, each with a weight."""

    noise: Noise
    centres: Centres

    def log_density(self, x: Array) -> Array:
        terms = [math.log(weight) + self.noise.log_density(x - place) for weight, place in self.centres]
        total = terms[0]
        for term in terms[1:]:
            total = np.logaddexp(total, term)
        return total

    @property
    def kinks(self) -> tuple[float, ...]:
        return tuple(place + kink for _, place in self.centres for kink in self.noise.kinks)

    @property
    def mean(self) -> float:
        return sum(weight * place for weight, place in self.centres)

    @property
    def variance(self) -> float:
        spread = sum(weight * place * place for weight, place in self.centres) - self.mean**2
        return self.noise.variance + spread

    def cumulant(self, w: Any) -> tuple[Any, Any, Any]:
        """log E[e^{wX}] and its first two derivatives; the logarithm's branch is immaterial."""
        value, slope, bend = self.noise.cumulant(w)
        if len(self.centres) == 1:
            place = self.centres[0][1]
            return value + w * place, slope + place, bend
        top = np.max([place * np.real(w) for _, place in self.centres], axis=0)
        parts = [weight * np.exp(w * place - top) for weight, place in self.centres]
        total = sum(parts)
        first = sum(place * part for part, (_, place) in zip(parts, self.centres, strict=True)) / total
        second = sum(place**2 * part for part, (_, place) in zip(parts, self.centres, strict=True)) / total
        return value + top + np.log(total), slope + first, bend + second - first * first

    def scaled(self, factor: float) -> "Law":
        """The centres moved: nearer to 0, or to the other side."""
        return Law(self.noise, tuple((weight, factor * place) for weight, place in self.centres))


@dataclass(frozen=True)
class Coordinate:
    """A released number under P and under Q."""

    p: Law
    q: Law

    def reverse(self) -> "Coordinate":
        return Coordinate(self.q, self.p)

    def reflected(self) -> "Coordinate":
        """The same with a record that lowers the number where this one raises it."""
        return Coordinate(self.p.scaled(-1.0), self.q.scaled(-1.0))

    @property
    def shift(self) -> float:
        """How far the mean moves."""
        return self.p.mean - self.q.mean

    @property
    def plain(self) -> bool:
        """Whether it is additive noise, not sampled."""
        return len(self.p.centres) == len(self.q.centres) == 1

    @property
    def congruent(self) -> tuple[Noise, Centres, Centres]:
        """The same for all that shifting the line and turning it round make of P and Q."""
        found = []
        for sign in (1.0, -1.0):
            start = min(sign * place for _, place in (*self.p.centres, *self.q.centres))
            laws = (law.centres for law in (self.p, self.q))
            found.append([tuple(sorted((w, sign * place - start) for w, place in law)) for law in laws])
        p, q = min(found)
        return self.q.noise, p, q


def coordinate(pair: Pair) -> Coordinate | None:
    """The released number behind a pair, where it is additive noise, sampled or not."""
    if isinstance(pair, MixturePair):
        base = coordinate(pair.base)
        if base is None or not base.plain:
            return None
        (_, place), rate = base.p.centres[0], pair.rate
        return Coordinate(Law(base.q.noise, ((1 - rate, 0.0), (rate, place))), base.q)
    noise: Noise
    if isinstance(pair, GaussianPair):
        noise, shift = GaussianNoise(), pair.shift
    elif isinstance(pair, LaplacePair):
        noise, shift = LaplaceNoise(), pair.loss
    else:
        return None
    return Coordinate(Law(noise, ((1.0, shift),)), Law(noise, ((1.0, 0.0),)))
