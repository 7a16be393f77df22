"""From noisy Fourier coefficients to a density: positive, of mass one, and as rough as the noise allows.

The density is exp(Σ θ e) on the box and nothing outside, e the waves that were measured. With the measured
means c of the waves, θ minimises

    log ∫ exp(Σ θ e) - θ·c + ½ Σ β θ²,

which is convex: the penalised likelihood of an exponential family (O'Sullivan 1988; regularised maximum
entropy, Dudík, Phillips and Schapire 2004), with noise in its sufficient statistics. β is the variance of
what was measured (noise and sampling) times a roughness ρ |2πr|^(d+2) of the frequency r: a Gaussian prior
on the logarithm of the density. Edges of the box are no obstacle, since nothing is required to vanish or to
be periodic there.

ρ is chosen by Stein's unbiased estimate of a weighted squared error of the moments. Its degrees of freedom
are those of multiplication by the density, whose eigenvalues are distributed as the density's values (Szegő).
The uniform density is always among the candidates. All of this sees the release and nothing else.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Final

import numpy as np
import numpy.typing as npt
from scipy import fft
from scipy.optimize import minimize

from indistinct.functions.fourier import MARGIN, FourierBasis
from indistinct.numerics.arrays import Array, ComplexArray

Places = npt.NDArray[np.int64]

_ROUGHNESSES: Final = (10.0, *(10.0 ** (-step / 2) for step in range(9)))
_WORSE: Final = 3
"""Candidates in a row that are no better, after which no others are tried."""
_COARSEST: Final = {1: 64, 2: 9, 3: 5}
_LEVELS: Final = 64
_LOUD: Final = 4.0
"""Standard deviations of the noise."""
_ROOM: Final = 1.5
_FEW: Final = 1000
_STEPS: Final = 100
"""For a candidate, and for the one that is chosen."""
_LAST_STEPS: Final = 500


@dataclass(frozen=True, eq=False)
class BoxGrid:
    """Sums of the waves of a basis on a grid of the box, and the means of waves over it; the constant is left
    out, and a wave has mean square 1."""

    basis: FourierBasis
    pairs: Places
    """Which of its pairs of waves."""
    parts: int = 1
    """What the cells along an axis are a multiple of."""

    @cached_property
    def _waves(self) -> Array:
        return self.basis.waves[1:][self.pairs]

    @cached_property
    def radii(self) -> Array:
        """Cycles per side of the box, of each factor's wave."""
        radii = np.linalg.norm(self._waves, axis=1) / (1 + 1 / MARGIN)
        return np.concatenate([radii, radii])

    @cached_property
    def cells(self) -> int:
        """Of the box along each axis: enough for products of waves."""
        highest = float(np.abs(self._waves).max(initial=1))
        least = MARGIN * max(_COARSEST[self.basis.dimension], math.ceil(3.5 * highest / (MARGIN + 1)))
        step = math.lcm(MARGIN, self.parts)
        return step * math.ceil(least / step)

    @property
    def _shape(self) -> tuple[int, ...]:
        return (self.cells + self.cells // MARGIN,) * self.basis.dimension

    @property
    def _axes(self) -> tuple[int, ...]:
        """The first axis last: of it, half of the spectrum is stored, the half that pairs are named by."""
        return tuple(reversed(range(self.basis.dimension)))

    @cached_property
    def _stored(self) -> tuple[Places, ...]:
        return tuple(self._waves.astype(np.int64).T % self._shape[0])

    @cached_property
    def _mirrored(self) -> tuple[tuple[Places, ...], npt.NDArray[np.bool_]]:
        """Where the first frequency is 0, both waves of a pair are stored."""
        flat = self._waves[:, 0] == 0
        return tuple(-self._waves[flat].astype(np.int64).T % self._shape[0]), flat

    @cached_property
    def _middles(self) -> ComplexArray:
        """Nodes are the middles of cells, half a cell from the corner."""
        middles: ComplexArray = np.exp(-1j * np.pi * self._waves.sum(axis=1) / self._shape[0])
        return middles * math.sqrt(2)

    def means(self, weights: Array) -> Array:
        """Σ of the waves over the grid, with these weights."""
        turned = fft.rfftn(weights, self._shape, axes=self._axes)[self._stored] * self._middles
        return np.concatenate([turned.real, -turned.imag])

    def values(self, factors: Array) -> Array:
        """The sum of waves with these factors, on the grid."""
        cosine, sine = np.split(factors, 2)
        amplitudes = (cosine - 1j * sine) * np.conj(self._middles) / 2
        spectrum = np.zeros((self._shape[0] // 2 + 1, *self._shape[1:]), dtype=np.complex128)
        spectrum[self._stored] = amplitudes
        mirrored, flat = self._mirrored
        spectrum[mirrored] = np.conj(amplitudes[flat])
        grid = fft.irfftn(spectrum, self._shape, axes=self._axes) * math.prod(self._shape)
        return np.ascontiguousarray(grid[(slice(0, self.cells),) * self.basis.dimension])


@dataclass(frozen=True, eq=False)
class MeasuredDensity:
    """The means of the waves under the density, as measured, with the variance of their noise."""

    means: Array
    noise: Array
    records: float
    """How many there are, about."""

    def concentration(self, radii: Array, volume: float) -> float:
        """∫ f² on a box of volume 1, and 1 for the uniform density: by frequencies up to where the noise sets
        in, less one standard deviation of it."""
        order = np.argsort(radii, kind="stable")
        variance = (self.noise + 1 / self.records)[order]
        signal = self.means[order] ** 2 - variance
        spread = np.cumsum(2 * variance**2 + 4 * variance * np.maximum(signal, 0))
        total = np.cumsum(signal)
        best = int(np.argmax(total - np.sqrt(spread)))
        return max(1.0, (1 + float(total[best])) / volume)


@dataclass(frozen=True, eq=False)
class Shape:
    """A density on the grid with its logarithm's factors."""

    factors: Array
    log_total: float
    """The logarithm of the mean of exp(Σ θ e) over the box."""
    share: Array
    """Of the mass, in each cell."""

    @classmethod
    def of(cls, grid: BoxGrid, factors: Array) -> "Shape":
        values = grid.values(factors)
        highest = float(values.max())
        share = np.exp(values - highest)
        total = float(share.sum())
        return cls(factors, highest + math.log(total / share.size), share / total)


def fit_density(
    basis: FourierBasis,
    measured: MeasuredDensity,
    like: tuple[Shape, float] | None = None,
    last_steps: int = _LAST_STEPS,
) -> tuple[Shape, float]:
    """The density that is taken to be closest to the true one, and its roughness ρ, ∞ for the uniform one;
    or the one of the same roughness as `like`, from which it is found. `last_steps`: at most, for the one
    that is chosen."""
    grid = BoxGrid(basis, heard(basis, measured))
    both = np.concatenate([grid.pairs, grid.pairs + len(basis.waves) - 1])
    measured = MeasuredDensity(measured.means[both], measured.noise[both], measured.records)
    uniform = Shape.of(grid, np.zeros(len(both)))
    best, chosen = uniform, math.inf
    if like is not None:
        best, chosen = Shape.of(grid, like[0].factors[both]), like[1]
    else:
        least, worse = _risk(grid, measured, uniform, None), 0
        for shape, roughness in _candidates(grid, measured, uniform):
            risk = _risk(grid, measured, shape, _penalty(grid, measured, roughness))
            if risk < least:
                best, chosen, least, worse = shape, roughness, risk, 0
            else:
                worse += 1
            if worse == _WORSE and chosen < math.inf:
                break
    if chosen < math.inf and last_steps:
        best = _most_likely(grid, measured.means, _penalty(grid, measured, chosen), best, last_steps)
    factors = np.zeros(basis.size - 1)
    factors[both] = best.factors
    return replace(best, factors=factors), chosen


def heard(basis: FourierBasis, measured: MeasuredDensity) -> Places:
    """The pairs of waves up to the frequency beyond which all others together are no louder than noise; where
    there are few, all of them."""
    radii = np.linalg.norm(basis.waves[1:], axis=1)
    if len(radii) <= _FEW:
        return np.arange(len(radii))
    order = np.argsort(-radii, kind="stable")
    excess = measured.means**2 / (measured.noise + 1 / measured.records) - 1
    total = np.cumsum(np.add(*np.split(excess, 2))[order])
    loud = total > _LOUD * np.sqrt(4 * np.arange(1, len(total) + 1))
    furthest = radii[order[_FEW // 8 :][loud[_FEW // 8 :]]].max(initial=0)
    nearest: Places = np.argsort(radii, kind="stable")[:_FEW]
    return np.union1d(np.flatnonzero(radii <= _ROOM * furthest), nearest)


def _candidates(grid: BoxGrid, measured: MeasuredDensity, start: Shape) -> Iterator[tuple[Shape, float]]:
    """From smooth to rough, each found from the one before."""
    for roughness in _ROUGHNESSES:
        start = _most_likely(grid, measured.means, _penalty(grid, measured, roughness), start, _STEPS)
        yield start, roughness


def _penalty(grid: BoxGrid, measured: MeasuredDensity, roughness: float) -> Array:
    dimension = grid.basis.dimension
    # where the density is high, waves tell more: as if the noise were smaller
    height = measured.concentration(grid.radii, (1 + 1 / MARGIN) ** dimension)
    variance = 1 / measured.records + measured.noise / height
    penalty: Array = roughness * (2 * np.pi * grid.radii) ** (dimension + 2) * variance
    return penalty


def _risk(grid: BoxGrid, measured: MeasuredDensity, shape: Shape, penalty: Array | None) -> float:
    """Stein's estimate of Σ w (fitted mean - true mean)², up to a constant. The weights w are one over the
    deviation of the noise: between all waves alike, where the noisiest decide, and only the surest."""
    weights = np.sqrt(measured.noise.min() / measured.noise)
    off = measured.means - grid.means(shape.share)
    misfit = float(off @ (weights * off))
    if penalty is None:
        return misfit
    heights = np.sort(shape.share.ravel()) * shape.share.size
    levels = np.array([part.mean() for part in np.array_split(heights, _LEVELS)])
    follows = levels / (levels + penalty[:, None])
    variance = measured.noise[:, None] + levels / measured.records
    return misfit + 2 * float(weights @ np.mean(variance * follows, axis=1))


def _most_likely(grid: BoxGrid, means: Array, penalty: Array, start: Shape, most: int) -> Shape:
    """By at most so many steps of a quasi-Newton method, in coordinates whose curvature is near 1."""
    scale = 1 / np.sqrt(1 + penalty)

    def objective(scaled: Array) -> tuple[float, Array]:
        shape = Shape.of(grid, scaled * scale)
        factors = shape.factors
        value = shape.log_total - float(factors @ means) + 0.5 * float(factors @ (penalty * factors))
        return value, (grid.means(shape.share) - means + penalty * factors) * scale

    options: Any = {"maxcor": 20, "ftol": 1e-8, "gtol": 0.0, "maxiter": most}
    first = start.factors / scale
    found = minimize(objective, first, jac=True, method="L-BFGS-B", options=options)
    return Shape.of(grid, found.x * scale)
