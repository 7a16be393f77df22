"""One released number: its law with the record and without it.

An adversary whose class is restricted acts on what is released, not on the privacy loss, so its divergence
needs the laws themselves. Both are the same noise around a few centres, in units of the noise's scale and
measured from the value without the record: one centre each for additive noise, two for a sampled mechanism.
"""

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import gammaln

from indistinct.guarantees.mixture_pair import MixturePair
from indistinct.guarantees.noise_pairs import GaussianPair, LaplacePair
from indistinct.guarantees.pair import Pair
from indistinct.numerics.arrays import Array

Centres = tuple[tuple[float, float], ...]
"""Weights and places."""


class NoiseShape(ABC):
    """A symmetric law with mean 0 and all moments, in units of its scale."""

    kinks: tuple[float, ...] = ()
    """Where the density is not smooth."""

    variance: float
    steepest: float
    """E[e^{wX}] is finite for |Re w| below this."""

    @abstractmethod
    def log_density(self, x: Array) -> Array: ...

    @abstractmethod
    def slopes(self, place: float) -> tuple[tuple[float, float], ...]:
        """Pairs (b, c): away from kinks the logarithm of the density around a place has a slope b + c x."""

    @abstractmethod
    def cumulant(self, w: Any) -> tuple[Any, Any, Any]:
        """K(w) = log E[e^{wX}] and its first two derivatives, at real or complex w."""

    @abstractmethod
    def log_moment(self, power: float) -> float:
        """log E|X|^power."""


@dataclass(frozen=True)
class GaussianShape(NoiseShape):
    """N(0, 1)."""

    variance = 1.0
    steepest = math.inf

    def log_density(self, x: Array) -> Array:
        return -x * x / 2 - 0.5 * math.log(2 * math.pi)

    def slopes(self, place: float) -> tuple[tuple[float, float], ...]:
        return ((place, -1.0),)

    def cumulant(self, w: Any) -> tuple[Any, Any, Any]:
        return w * w / 2, w, np.ones_like(w)

    def log_moment(self, power: float) -> float:
        return power / 2 * math.log(2.0) + float(gammaln((power + 1) / 2)) - 0.5 * math.log(math.pi)


@dataclass(frozen=True)
class LaplaceShape(NoiseShape):
    """Density e^{-|x|} / 2."""

    kinks = (0.0,)
    variance = 2.0
    steepest = 1.0

    def log_density(self, x: Array) -> Array:
        return -np.abs(x) - math.log(2.0)

    def slopes(self, place: float) -> tuple[tuple[float, float], ...]:
        return (1.0, 0.0), (-1.0, 0.0)

    def cumulant(self, w: Any) -> tuple[Any, Any, Any]:
        left = 1 / (1 - w * w)
        return -np.log1p(-w * w), 2 * w * left, 2 * (1 + w * w) * left * left

    def log_moment(self, power: float) -> float:
        return float(gammaln(power + 1))


@dataclass(frozen=True)
class Law:
    """Noise around centres, each with a weight."""

    noise: NoiseShape
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
        first, second = (
            sum(place**k * part for part, (_, place) in zip(parts, self.centres, strict=True)) / total
            for k in (1, 2)
        )
        return value + top + np.log(total), slope + first, bend + second - first * first

    def reflected(self) -> "Law":
        return Law(self.noise, tuple((weight, -place) for weight, place in self.centres))


@dataclass(frozen=True)
class ReleasedNumber:
    """A released number under P and under Q."""

    p: Law
    q: Law

    @classmethod
    def shifted(cls, noise: NoiseShape, shift: float, rate: float = 1.0) -> "ReleasedNumber":
        """Additive noise whose centre a record moves, if it is in the sample."""
        still = Law(noise, ((1.0, 0.0),))
        return cls(Law(noise, ((1.0, shift),) if rate == 1 else ((1 - rate, 0.0), (rate, shift))), still)

    @classmethod
    def behind(cls, pair: Pair) -> "ReleasedNumber | None":
        """The released number behind a pair, where it is additive noise, sampled or not."""
        if isinstance(pair, MixturePair):
            base = cls.behind(pair.base)
            if base is None or not base.plain:
                return None
            return cls.shifted(base.q.noise, base.shift, pair.rate)
        if isinstance(pair, GaussianPair):
            return cls.shifted(GaussianShape(), pair.shift)
        if isinstance(pair, LaplacePair):
            return cls.shifted(LaplaceShape(), pair.loss)
        return None

    def reversed(self) -> "ReleasedNumber":
        return ReleasedNumber(self.q, self.p)

    def reflected(self) -> "ReleasedNumber":
        """The same with a record that lowers the number where this one raises it."""
        return ReleasedNumber(self.p.reflected(), self.q.reflected())

    @property
    def shift(self) -> float:
        """How far the mean moves."""
        return self.p.mean - self.q.mean

    @property
    def plain(self) -> bool:
        """Whether it is additive noise, not sampled."""
        return len(self.p.centres) == len(self.q.centres) == 1

    @property
    def congruent(self) -> tuple[NoiseShape, Centres, Centres]:
        """The same for all that shifting the line and turning it round make of P and Q."""
        found = []
        for sign in (1.0, -1.0):
            start = min(sign * place for _, place in (*self.p.centres, *self.q.centres))
            laws = (law.centres for law in (self.p, self.q))
            found.append([tuple(sorted((w, sign * place - start) for w, place in law)) for law in laws])
        p, q = min(found)
        return self.q.noise, p, q
