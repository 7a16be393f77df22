"""From noisy counts on a grid, where records are few for the budget, to a smooth density.

How many records a place has is modelled as exp(Σ θ e), e the waves that the grid can show, with the same
Gaussian prior on θ as in `density_fit`. A count is what its cell has, plus sampling noise, plus Laplace
noise; the sum of both noises has a log-concave law in closed form (a Gaussian convolved with a Laplace
law), which tells up to twice as much as least squares would. θ maximises the posterior. How rough the
density is follows from the evidence in Laplace's approximation (MacKay 1992): its determinant is Szegő's,
with the information of a cell as the symbol. At its smoothest this is the uniform density.
"""

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

import numpy as np
from scipy.optimize import minimize
from scipy.special import log_ndtr

from indistinct.functions.density_fit import BoxGrid, Shape
from indistinct.functions.fourier import CELLS, FAINTEST, MARGIN, FourierBasis, matern_basis
from indistinct.numerics.arrays import Array

_ROUGHNESSES: Final = (1e4, 1e2, *(10.0 ** (1 - step / 2) for step in range(13)))
_FAR_BELOW: Final = 10.0
"""The best evidence, in logarithms: then no others are tried."""
_LEVELS: Final = 64
_STEPS: Final = 100
_SHOWN: Final = 0.6
"""Cycles to a cell, of the fastest wave."""
_NODES: Final = np.linspace(-1, 1, 401)


def public_cells(dimension: int, records: float, scale: float) -> int:
    """Cells along each axis: near 1.3 (n/b)^(1/(d+½)), on a line 2 (n/b)^(2/3), b the scale of the noise.
    The power is a little more than 1/(d+1), with which a slope of the density across a cell shows as much
    as the noise in it; it and 1.3 were chosen on smooth densities in the plane, 2 on random ones with jumps
    on a line. An even divisor of the finest grid's, so that the grid of the fit need not be fine.

    >>> [public_cells(2, records=records, scale=10) for records in (1000, 5000, 20_000)]
    [8, 16, 30]
    """
    wanted = (2.0 if dimension == 1 else 1.3) * max(records / scale, 1.0) ** (1 / (dimension + 0.5))
    finest = CELLS[dimension]
    divisors = [cells for cells in range(2, finest + 1, 2) if finest % cells == 0]
    return min(divisors, key=lambda cells: abs(math.log(cells / wanted)))


def basis_of_cells(low: tuple[float, ...], high: tuple[float, ...], cells: int) -> FourierBasis:
    """The waves that so many cells along each axis can show."""
    dimension = len(low)
    # where a Matérn kernel's weight falls below the faintest
    length = math.sqrt(2 * (FAINTEST ** (-1 / (1 + dimension / 2)) - 1)) / (2 * math.pi * _SHOWN * cells)
    return matern_basis(low, high, length)


def seen_in_cells(basis: FourierBasis, cells: int) -> Array:
    """How much of each wave is left in its means over so many cells along each axis."""
    seen = np.prod(np.sinc(basis.waves[1:] / (1 + 1 / MARGIN) / cells), axis=1)
    return np.concatenate([seen, seen])


def coarser(counts: Array, cells: int) -> Array:
    """Counts in so many cells along each axis, of counts in a multiple."""
    for axis in range(counts.ndim):
        each = counts.shape[axis] // cells
        counts = counts.reshape((*counts.shape[:axis], cells, each, *counts.shape[axis + 1 :]))
        counts = counts.sum(axis=axis + 1)
    return counts


def _noise(off: Array, scale: float, sampling: Array) -> tuple[Array, Array]:
    """log p(off) and its derivative, for Laplace noise plus a Gaussian of deviation `sampling`."""
    apart = sampling / scale
    right = -off / scale + log_ndtr(off / sampling - apart)
    left = off / scale + log_ndtr(-off / sampling - apart)
    both = np.logaddexp(left, right)
    return apart**2 / 2 - math.log(2 * scale) + both, (np.exp(left - both) - np.exp(right - both)) / scale


def _information(scale: float, sampling: Array) -> Array:
    """Fisher's, of one count about its mean; nodes lie closer in the middle, where the law has its kink."""
    width = (8 * sampling + 25 * scale)[:, None]
    log_density, slope = _noise(width * _NODES**3, scale, sampling[:, None])
    weights = width * 3 * _NODES**2 * (_NODES[1] - _NODES[0])
    information: Array = np.sum(slope**2 * np.exp(log_density) * weights, axis=1)
    return information


@dataclass(frozen=True, eq=False)
class CountFit:
    """Noisy counts, and the waves of which the logarithm of their density is a sum."""

    counts: Array
    scale: float
    """Of the Laplace noise."""
    records: float
    grid: BoxGrid
    blurred: Array | float = 0.0
    """The variance of Gaussian noise besides."""

    @cached_property
    def _even(self) -> float:
        """Records in each cell, on average."""
        return self.records / self.counts.size

    @cached_property
    def _sampling(self) -> Array:
        return np.sqrt(np.maximum(self.counts, self._even) + self.blurred)

    @cached_property
    def _rough(self) -> Array:
        """The prior's precision of each factor, for roughness 1."""
        rough: Array = (2 * np.pi * self.grid.radii) ** (self.grid.basis.dimension + 2)
        return rough

    @cached_property
    def _seen(self) -> Array:
        return seen_in_cells(self.grid.basis, self.counts.shape[0]) ** 2

    def fit(self, like: tuple[Shape, float] | None = None) -> tuple[Shape, float]:
        """The density and its roughness; or the one of the same roughness as `like`, from which it is
        found."""
        if like is not None:
            return self._likeliest(like[1] * self._rough, like[0])[0], like[1]
        shape = Shape.of(self.grid, np.zeros(len(self._rough)))
        best, most, chosen = shape, -math.inf, _ROUGHNESSES[0]
        for roughness in _ROUGHNESSES:
            shape, height = self._likeliest(roughness * self._rough, shape)
            evidence = height - self._volume(roughness * self._rough, shape)
            if evidence > most:
                best, most, chosen = shape, evidence, roughness
            if evidence < most - _FAR_BELOW:
                break
        return best, chosen

    def _likeliest(self, penalty: Array, start: Shape) -> tuple[Shape, float]:
        """The posterior's highest point and its logarithm there."""
        cells, each = self.counts.shape[0], self.grid.cells // self.counts.shape[0]
        known = _information(self.scale, np.sqrt([self._even]))
        scale = 1 / np.sqrt(self.counts.size * self._even**2 * known * self._seen + penalty)

        def objective(scaled: Array) -> tuple[float, Array]:
            shape = Shape.of(self.grid, scaled * scale)
            factors, expected = shape.factors, self.records * coarser(shape.share, cells)
            height, slope = _noise(self.counts - expected, self.scale, self._sampling)
            pull = self.records * (slope - float(np.vdot(slope, expected)) / self.records)
            for axis in range(pull.ndim):
                pull = np.repeat(pull, each, axis)
            value = float(factors @ (penalty * factors)) / 2 - float(height.sum())
            return value, (self.grid.means(shape.share * pull) + penalty * factors) * scale

        options: Any = {"maxcor": 20, "ftol": 1e-8, "gtol": 0.0, "maxiter": _STEPS}
        first = start.factors / scale
        found = minimize(objective, first, jac=True, method="L-BFGS-B", options=options)
        return Shape.of(self.grid, found.x * scale), -float(found.fun)

    def _volume(self, penalty: Array, shape: Shape) -> float:
        """½ log det of the posterior's curvature over the prior's."""
        expected = self.records * np.sort(coarser(shape.share, self.counts.shape[0]).ravel())
        levels = np.array([part.mean() for part in np.array_split(expected, min(_LEVELS, expected.size))])
        information = _information(self.scale, np.sqrt(np.maximum(levels, self._even)))
        known = expected.size * levels**2 * information
        inside = (1 + 1 / MARGIN) ** -self.grid.basis.dimension
        ratios = known * (self._seen / penalty)[:, None]
        return inside * float(np.log1p(ratios).mean(axis=1).sum()) / 2
