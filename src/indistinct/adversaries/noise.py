"""Laws of additive noise, in units of its scale: what the programmes need to know of them."""

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import gammaln

from indistinct.numerics.arrays import Array

_LOG_SQRT_2PI = 0.5 * math.log(2 * math.pi)


class Noise(ABC):
    """A symmetric law with mean 0 and all moments."""

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
class GaussianNoise(Noise):
    """N(0, 1)."""

    variance = 1.0
    steepest = math.inf

    def log_density(self, x: Array) -> Array:
        return -x * x / 2 - _LOG_SQRT_2PI

    def slopes(self, place: float) -> tuple[tuple[float, float], ...]:
        return ((place, -1.0),)

    def cumulant(self, w: Any) -> tuple[Any, Any, Any]:
        return w * w / 2, w, np.ones_like(w)

    def log_moment(self, power: float) -> float:
        return power / 2 * math.log(2.0) + float(gammaln((power + 1) / 2)) - 0.5 * math.log(math.pi)


@dataclass(frozen=True)
class LaplaceNoise(Noise):
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
