"""Kernels of the difference of two points, all of height 1."""

import math
from abc import abstractmethod
from typing import Any, final

import numpy as np
from scipy.spatial.distance import cdist
from scipy.special import gammaincinv, gammaln, ndtri, pdtr

from indistinct.description import describable
from indistinct.errors import ArgumentError, check_positive
from indistinct.functions.kernels.bessel import bessel_times_power, log_bessel, matern
from indistinct.functions.kernels.characters import DrawnCharacters
from indistinct.functions.kernels.kernel import LARGEST
from indistinct.functions.kernels.spectral import Spectral
from indistinct.functions.public_randomness import PublicUniforms
from indistinct.numerics.arrays import Array

Lengths = float | tuple[float, ...]
"""One for all columns, or one for each."""


class Radial(Spectral):
    """A function f of the distance r = |(x - y)/length|, and a mixture of Gaussian kernels of many lengths.

    Distances are sums of squared differences, not |x|² + |y|² - 2 x·y: so k(x, x) is exactly 1, k is exactly
    symmetric, and near points lose no digits. Subclasses write everything as a function of r².
    """

    length: Lengths

    @abstractmethod
    def _profile(self, squared: Array) -> Array:
        """f(r)."""

    @abstractmethod
    def _slope(self, squared: Array) -> Array:
        """f'(r)/r; anything finite at r = 0 where f' is 0 but this is not bounded."""

    @abstractmethod
    def _bend(self, squared: Array) -> Array:
        """f''(r) - f'(r)/r."""

    @abstractmethod
    def _mixture(self, uniforms: Array) -> Array:
        """Random scales s such that f(r) is the mean of exp(-s² r²/2)."""

    @abstractmethod
    def _radial_density(self, squared: Array, dimension: int) -> Array:
        """The spectral density for length 1 at |w|²."""

    @final
    def _accept(self, argument: str, points: Array) -> None:
        _check_columns(argument, points, self.length)

    @final
    def _values(self, x: Array, y: Array) -> Array:
        return self._profile(cdist(x / self.length, y / self.length, "sqeuclidean"))

    @final
    def _gradient(self, x: Array, y: Array) -> Array:
        steps, squared = self._steps(x, y)
        return self._slope(squared)[..., None] * steps / self.length

    @final
    def _cross(self, x: Array, y: Array) -> Array:
        steps, squared = self._steps(x, y)
        # Directions are 0 at r = 0, where what they multiply is 0 too.
        directions = steps / np.sqrt(np.where(squared > 0, squared, np.inf))[..., None]
        outer = directions[..., :, None] * directions[..., None, :]
        dimension = x.shape[1]
        along = self._bend(squared)[..., None, None] * outer
        lengths = np.broadcast_to(self.length, dimension)
        cross: Array = along + self._slope(squared)[..., None, None] * np.eye(dimension)
        return -cross / np.outer(lengths, lengths)

    def _steps(self, x: Array, y: Array) -> tuple[Array, Array]:
        steps = (x / self.length)[:, None, :] - (y / self.length)[None, :, :]
        return steps, np.sum(steps * steps, axis=-1)

    @final
    def draw(self, uniforms: PublicUniforms, count: int, dimension: int) -> DrawnCharacters:
        scales = self._mixture(uniforms.draw(count))
        frequencies = uniforms.draw(count, dimension)
        ndtri(frequencies, out=frequencies)
        frequencies *= scales[:, None]
        frequencies /= self.length
        return DrawnCharacters(frequencies)

    @final
    def density(self, frequencies: Array) -> Array:
        lengths = np.broadcast_to(self.length, frequencies.shape[1])
        squared = np.sum((frequencies * lengths) ** 2, axis=1)
        return float(np.prod(lengths)) * self._radial_density(squared, frequencies.shape[1])


@final
@describable("gaussian")
class GaussianKernel(Radial):
    """exp(-r²/2): functions with all derivatives.

    >>> GaussianKernel(length=2)([[0.0], [2.0]], [[0.0]])
    array([[1.     ],
           [0.60653]])
    """

    length: Lengths

    def __post_init__(self) -> None:
        object.__setattr__(self, "length", check_lengths("length", self.length))

    def _profile(self, squared: Array) -> Array:
        return np.exp(-squared / 2)

    def _slope(self, squared: Array) -> Array:
        return -np.exp(-squared / 2)

    def _bend(self, squared: Array) -> Array:
        return squared * np.exp(-squared / 2)

    def _mixture(self, uniforms: Array) -> Array:
        return np.ones_like(uniforms)

    def _radial_density(self, squared: Array, dimension: int) -> Array:
        return np.exp(-squared / 2 - dimension / 2 * math.log(2 * math.pi))


@final
@describable("matern")
class MaternKernel(Radial):
    """2^(1-ν)/Γ(ν) z^ν K_ν(z) with z = sqrt(2ν) r and ν = `smoothness`: functions with fewer than ν
    derivatives.

    1/2 is exp(-r); 3/2 and 5/2 are as quick. Gradients need more than 1/2, their covariance more than 1. Its
    frequencies have Student's t distribution (C. Rasmussen and C. Williams, *Gaussian Processes for Machine
    Learning*, section 4.2.1).
    """

    smoothness: float
    length: Lengths

    def __post_init__(self) -> None:
        smoothness = check_positive("smoothness", self.smoothness)
        if not 0.1 <= smoothness <= 100:
            raise ArgumentError("smoothness", smoothness, "from 0.1 to 100; beyond, use GaussianKernel")
        object.__setattr__(self, "smoothness", smoothness)
        object.__setattr__(self, "length", check_lengths("length", self.length))

    def _argument(self, squared: Array) -> Array:
        return np.sqrt(2 * self.smoothness * squared)

    def _profile(self, squared: Array) -> Array:
        return matern(self.smoothness, self._argument(squared))

    def _slope(self, squared: Array) -> Array:
        # From d/dz z^ν K_ν(z) = -z^ν K_{ν-1}(z).
        nu, z = self.smoothness, self._argument(squared)
        if nu <= 0.5:
            raise ArgumentError("smoothness", nu, "above 1/2 for gradients")
        if nu > 1:
            return -nu / (nu - 1) * matern(nu - 1, z)
        return -2 * nu * bessel_times_power(nu, nu - 1, nu - 1, z, at_zero=0.0)

    def _bend(self, squared: Array) -> Array:
        nu, z = self.smoothness, self._argument(squared)
        if nu <= 1:
            raise ArgumentError("smoothness", nu, "above 1 for the covariance of gradients")
        return 2 * nu * bessel_times_power(nu, nu, nu - 2, z, at_zero=0.0)

    def _mixture(self, uniforms: Array) -> Array:
        scales: Array = np.sqrt(self.smoothness / gammaincinv(self.smoothness, uniforms))
        return scales

    def _radial_density(self, squared: Array, dimension: int) -> Array:
        nu, half = self.smoothness, dimension / 2
        constant = gammaln(nu + half) - gammaln(nu) - half * math.log(2 * nu * math.pi)
        return np.exp(constant - (nu + half) * np.log1p(squared / (2 * nu)))


@final
@describable("rational_quadratic")
class RationalQuadraticKernel(Radial):
    """(1 + r²/(2 power))^-power: a mixture of Gaussian kernels of many lengths; large powers are near one."""

    power: float
    length: Lengths

    def __post_init__(self) -> None:
        power = check_positive("power", self.power)
        if not 0.01 <= power <= 100:
            raise ArgumentError("power", power, "from 0.01 to 100; beyond, use GaussianKernel")
        object.__setattr__(self, "power", power)
        object.__setattr__(self, "length", check_lengths("length", self.length))

    def _raised(self, squared: Array, more: int) -> Array:
        return np.exp(-(self.power + more) * np.log1p(squared / (2 * self.power)))

    def _profile(self, squared: Array) -> Array:
        return self._raised(squared, 0)

    def _slope(self, squared: Array) -> Array:
        return -self._raised(squared, 1)

    def _bend(self, squared: Array) -> Array:
        return (1 + 1 / self.power) * squared * self._raised(squared, 2)

    def _mixture(self, uniforms: Array) -> Array:
        scales: Array = np.sqrt(gammaincinv(self.power, uniforms) / self.power)
        return scales

    def _radial_density(self, squared: Array, dimension: int) -> Array:
        # The gamma mixture of normal densities, ∫ τ^(p-1) exp(-power τ - |w|²/(2τ)) dτ, is a Bessel function.
        power, p = self.power, self.power - dimension / 2
        constant = power * math.log(power) - gammaln(power) - dimension / 2 * math.log(2 * math.pi)
        at_zero = math.exp(constant + gammaln(p) - p * math.log(power)) if p > 0 else math.inf
        density = np.full_like(squared, at_zero)
        inside = squared > 1e-300
        z = np.sqrt(2 * power * squared[inside])
        logs = math.log(2) + p * np.log(z / (2 * power)) + log_bessel(p, z)
        density[inside] = np.exp(constant + logs)
        return density


@final
@describable("laplace")
class LaplaceKernel(Spectral):
    """exp(-Σ |x_a - y_a|/length_a), the product over columns of Matérn kernels of smoothness 1/2."""

    length: Lengths

    def __post_init__(self) -> None:
        object.__setattr__(self, "length", check_lengths("length", self.length))

    def _accept(self, argument: str, points: Array) -> None:
        _check_columns(argument, points, self.length)

    def _values(self, x: Array, y: Array) -> Array:
        return np.exp(-cdist(x / self.length, y / self.length, "cityblock"))

    def _gradient(self, x: Array, y: Array) -> Array:
        raise ArgumentError("kernel", self, "differentiable; this one has a corner at x = y")

    def _cross(self, x: Array, y: Array) -> Array:
        return self._gradient(x, y)

    def draw(self, uniforms: PublicUniforms, count: int, dimension: int) -> DrawnCharacters:
        return DrawnCharacters(np.tan(math.pi * (uniforms.draw(count, dimension) - 0.5)) / self.length)

    def density(self, frequencies: Array) -> Array:
        lengths = np.broadcast_to(self.length, frequencies.shape[1])
        density: Array = np.prod(lengths / math.pi / (1 + (lengths * frequencies) ** 2), axis=1)
        return density


@final
@describable("periodic")
class PeriodicKernel(Spectral):
    """exp(-2 Σ sin²(π (x_a - y_a)/period_a)/length_a²): periodic functions; lengths are in radians.

    It is the Gaussian kernel after each column is wound round a circle (D. MacKay, *Introduction to Gaussian
    processes*, 1998). In each column its frequencies are 2π/period times the difference of two Poisson
    numbers of mean 1/(2 length²), of which exp((cos t - 1)/length²) is the characteristic function.
    """

    length: Lengths
    period: Lengths

    def __post_init__(self) -> None:
        object.__setattr__(self, "length", check_lengths("length", self.length))
        object.__setattr__(self, "period", check_lengths("period", self.period))

    def _accept(self, argument: str, points: Array) -> None:
        _check_columns(argument, points, self.length)
        _check_columns(argument, points, self.period)

    def _turns(self, x: Array, y: Array) -> Array:
        """(x - y)/period without whole periods: sines of it are accurate."""
        turns: Array = (x[:, None, :] - y[None, :, :]) / self.period
        return turns - np.rint(turns)

    def _values(self, x: Array, y: Array) -> Array:
        return np.exp(-cdist(self._wound(x), self._wound(y), "sqeuclidean") / 2)

    def _wound(self, points: Array) -> Array:
        turns = points / self.period
        angles = 2 * math.pi * (turns - np.rint(turns))
        return np.hstack([np.cos(angles) / self.length, np.sin(angles) / self.length])

    def _log_gradient(self, x: Array, y: Array) -> Array:
        rates = 2 * math.pi / (np.asarray(self.period) * np.square(self.length))
        return -rates * np.sin(2 * math.pi * self._turns(x, y))

    def _gradient(self, x: Array, y: Array) -> Array:
        return self._values(x, y)[..., None] * self._log_gradient(x, y)

    def _cross(self, x: Array, y: Array) -> Array:
        slopes = self._log_gradient(x, y)
        rates = np.square(2 * math.pi / (np.asarray(self.period) * self.length))
        bends = rates * np.cos(2 * math.pi * self._turns(x, y))
        cross = bends[..., None] * np.eye(x.shape[1]) - slopes[..., :, None] * slopes[..., None, :]
        return self._values(x, y)[..., None, None] * cross

    def draw(self, uniforms: PublicUniforms, count: int, dimension: int) -> DrawnCharacters:
        frequencies = np.empty((count, dimension))
        for column, length in enumerate(np.broadcast_to(self.length, dimension).tolist()):
            up, down = _poisson(length, uniforms.draw(2, count))
            frequencies[:, column] = up - down
        return DrawnCharacters(2 * math.pi * frequencies / self.period)

    def density(self, frequencies: Array) -> Array:
        raise ArgumentError("kernel", self, "aperiodic to have a spectral density")


def _poisson(length: float, uniforms: Array) -> Array:
    """Poisson numbers of mean 1/(2 length²), by their distribution function."""
    if length < 1e-4:
        raise ArgumentError("length", length, "at least 1e-4 for random characters of a periodic kernel")
    mean = 0.5 / length**2
    reach = 12 * math.sqrt(mean) + 40
    counts = np.arange(max(0, math.floor(mean - reach)), math.ceil(mean + reach))
    places = np.searchsorted(pdtr(counts, mean), uniforms)
    drawn: Array = counts[np.minimum(places, len(counts) - 1)].astype(np.float64)
    return drawn


def check_lengths(argument: str, value: Any) -> Lengths:
    """A positive number, or a tuple of them."""
    plain = value.tolist() if isinstance(value, np.ndarray) else value
    if isinstance(plain, list | tuple) and plain:
        return tuple(check_positive(argument, length) for length in plain)
    return check_positive(argument, plain)


def _check_columns(argument: str, points: Array, lengths: Lengths) -> None:
    if isinstance(lengths, tuple) and points.shape[1] != len(lengths):
        raise ArgumentError(argument, points.shape[1], f"{len(lengths)} columns wide")
    with np.errstate(over="ignore"):
        if not np.all(np.abs(points / lengths) <= LARGEST):
            raise ArgumentError(argument, "larger ones", f"at most {LARGEST} lengths from 0")
