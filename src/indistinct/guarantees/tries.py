"""How many times a run is tried: laws of a random number, and what they do to the run that is kept.

If a run lands above a score with probability y, the best of K tries does so with probability 1 - phi(1 - y),
phi(s) = E[s^K]. So a run at that place of the order counts with the weight phi'(1 - y), which falls with y
from the mean, E[K], to the probability of a single try.
"""

import math
from dataclasses import dataclass

import numpy as np
from scipy.optimize import brentq

from indistinct.errors import ArgumentError, check_count, check_nonnegative, check_real
from indistinct.numerics.arrays import TINY, Array

_MOST = 1e9
_LONGEST = 1e6


@dataclass(frozen=True)
class Tries:
    """The law of the number of tries: `Tries.geometric(10)` is ten on average.

    All but Poisson's are truncated negative binomials, P(k) proportional to (1 - g)^k s (s + 1) ... (s + k -
    1)/k! for k = 1, 2, ... and the shape s: geometric for 1, logarithmic for 0. The smaller the shape, the
    more the number varies, and the less is lost (Papernot and Steinke 2022, "Hyperparameter tuning with Rényi
    differential privacy"). Poisson's is the limit of large shapes; it may be no try at all.

    >>> Tries.poisson(10)
    Tries(mean=10.0, shape=inf)
    """

    mean: float
    shape: float = 1.0

    def __post_init__(self) -> None:
        shape = check_nonnegative("shape", self.shape, finite=False)
        if _LONGEST < shape < math.inf:
            raise ArgumentError("shape", self.shape, f"at most {_LONGEST:g}, or infinity: Poisson's law")
        least, allowed = (1.0, "at least 1") if shape < math.inf else (1e-9, "at least 1e-9")
        mean = check_real("mean", self.mean)
        if not least <= mean <= _MOST:
            raise ArgumentError("mean", self.mean, f"{allowed} and at most {_MOST:g}")
        object.__setattr__(self, "mean", mean)
        object.__setattr__(self, "shape", shape)

    @classmethod
    def geometric(cls, mean: float) -> "Tries":
        """Each further try with the same probability, 1 - 1/mean."""
        return cls(mean, 1.0)

    @classmethod
    def logarithmic(cls, mean: float) -> "Tries":
        """P(k) proportional to (1 - g)^k / k."""
        return cls(mean, 0.0)

    @classmethod
    def negative_binomial(cls, mean: float, shape: float) -> "Tries":
        """Truncated: at least one try."""
        return cls(mean, shape)

    @classmethod
    def poisson(cls, mean: float) -> "Tries":
        """P(k) = e^-mean mean^k / k!; with probability e^-mean nothing is tried."""
        return cls(mean, math.inf)

    @classmethod
    def fixed(cls, count: int) -> "FixedTries":
        """Always so many, which saves nothing: the best of them is paid for as all of them are, and lower
        ends are of all."""
        return FixedTries(check_count("count", count, least=1))

    @property
    def stop(self) -> float:
        """The parameter g of a negative binomial law whose mean this is, shape (1 - g)/(g (1 - g^shape)).
        Whoever draws uses this very number, and whoever accounts, too."""
        if self.mean == 1 or self.shape == 1:
            return 1 / self.mean
        # the mean falls with log g, from infinity to 1
        low = -2 * math.log(self.mean) - 10.0
        return math.exp(brentq(lambda log_g: self._mean_of(log_g) - self.mean, low, -1e-12, xtol=1e-14))

    def _mean_of(self, log_g: float) -> float:
        odds = math.expm1(-log_g)  # (1 - g)/g
        if self.shape < TINY:  # or as good as nothing: the limit
            return odds / -log_g
        return self.shape * odds / -math.expm1(self.shape * log_g)

    @property
    def top(self) -> float:
        """The largest weight, E[K], of the law that is drawn."""
        if self.shape == math.inf or self.mean == 1 or self.shape == 1:
            return self.mean * (1 + 1e-15)
        return self._mean_of(math.log(self.stop)) * (1 + 1e-13)

    @property
    def _odds(self) -> float:
        return self.mean if self.shape == math.inf else (1 - self.stop) / self.stop

    def fall(self, y: Array) -> Array:
        """log of the largest weight by that at y, at every place y of the order."""
        if self.shape == math.inf:
            return self.mean * y
        return (1 + self.shape) * np.log1p(self._odds * y)

    def place(self, fall: Array) -> Array:
        """The y at which the weight has fallen so far; 1 if it falls no further."""
        if self.shape == math.inf:
            return np.minimum(fall / self.mean, 1.0)
        if not self._odds:
            return np.ones_like(fall)
        with np.errstate(over="ignore"):  # beyond 1 there is nothing
            return np.minimum(np.expm1(fall / (1 + self.shape)) / self._odds, 1.0)

    def weight(self, y: Array) -> Array:
        """phi'(1 - y)."""
        return self.top * np.exp(-self.fall(y))

    def steepness(self, y: Array) -> Array:
        """phi''(1 - y): how fast the weight falls."""
        if self.shape == math.inf:
            return self.mean * self.weight(y)
        return (1 + self.shape) * self._odds / (1 + self._odds * y) * self.weight(y)


@dataclass(frozen=True)
class FixedTries:
    """A number of tries that everybody knows. That one more record makes every try a little worse may show in
    the best of them nearly as it does in all (Liu and Talwar 2019, "Private selection from private
    candidates"): no more is claimed than for releasing all."""

    count: int
