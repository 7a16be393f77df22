"""The density of noisy counts: a smooth one and one with jumps, each as far as it is right.

Which of both suits is told by the release itself. With Gaussian numbers g of the counts' own covariance v,
the counts y + t g and y - g/t are uncorrelated (data fission, Leiner, Duan, Wasserman and Ramdas 2023):
both densities are fitted to the first, which is a little noisier than y, and the second, which they have
not seen, tells by least squares how much of each there should be (stacking, Breiman 1996). Then both are
fitted to y. All of this sees the release and public numbers.
"""

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np
from scipy.special import ndtri

from indistinct.functions.cells import CellDensity
from indistinct.functions.density_counts import CountFit, coarser, seen_in_cells
from indistinct.functions.density_fit import BoxGrid, MeasuredDensity, Shape, fit_density
from indistinct.functions.density_jumps import without_noise
from indistinct.functions.fourier import FourierBasis
from indistinct.functions.public_randomness import PublicUniforms
from indistinct.numerics.arrays import Array

_FEW: Final = 2500
"""Records for one scale of the noise, below which the law of Laplace noise is used; above, its variance
does."""
_BLURRED: Final = 0.3
"""t²: how much more noise there is in what is fitted to tell which."""
_EMPTY: Final = 0.05
"""Of an even share: no cell is taken to have less, for its variance."""
_STEPS: Final = 300
"""For the smooth density that is kept; the one that is only compared needs none beyond those of its
choice."""
_SHARPEST: Final = 0.1
"""Laplace noise of a smaller scale is taken to be of this one."""


def fit_counts(counts: Array, scale: float, records: float, basis: FourierBasis) -> Array:
    """The shares of the cells of a grid that is at least as fine as that of the counts, whose Laplace noise
    has this scale."""
    fit = _Stacked(np.asarray(counts, dtype=np.float64), max(scale, _SHARPEST), max(records, 1.0), basis)
    return fit.share()


@dataclass(frozen=True, eq=False)
class _Stacked:
    counts: Array
    scale: float
    records: float
    basis: FourierBasis

    @cached_property
    def _grid(self) -> BoxGrid:
        return BoxGrid(self.basis, np.arange(len(self.basis.waves) - 1), self.counts.shape[0])

    @property
    def _noise(self) -> float:
        return 2 * self.scale**2

    def share(self) -> Array:
        jumps = without_noise(self.counts, self._noise)
        variance = np.maximum(jumps, _EMPTY * self.records / jumps.size) + self._noise
        draws = ndtri(PublicUniforms(seed=0).draw(*jumps.shape)) * np.sqrt(variance)
        seen, blurred = self.counts + math.sqrt(_BLURRED) * draws, _BLURRED * variance
        unseen = self.counts - draws / math.sqrt(_BLURRED)
        first = self._smooth(seen, blurred)
        one = self.records * coarser(self._on_grid(first[0]), self.counts.shape[0])
        other = self.records * _normalised(without_noise(seen, self._noise + blurred))
        # errors are counted as |error| is: where the noise is large, less than by its variance
        apart = (one - other) / np.sqrt(variance)
        weight = float(np.vdot(apart, unseen - other)) / max(float(np.vdot(apart, one - other)), 1e-300)
        weight = min(max(weight, 0.0), 1.0)
        if weight == 0:
            return _normalised(jumps)
        smooth = self._on_grid(self._smooth(self.counts, 0.0, first)[0])
        return weight * smooth + (1 - weight) * _finer(_normalised(jumps), self._grid.cells)

    def _smooth(
        self, counts: Array, blurred: Array | float, like: tuple[Shape, float] | None = None
    ) -> tuple[Shape, float]:
        """The smooth density and its roughness."""
        if self.records < _FEW * self.scale:
            return CountFit(counts, self.scale, self.records, self._grid, blurred).fit(like)
        seen = seen_in_cells(self.basis, counts.shape[0])
        even, each = counts / self.records, self._grid.cells // counts.shape[0]
        for axis in range(counts.ndim):
            even = np.repeat(even, each, axis) / each
        noise = counts.size * (self._noise + float(np.mean(blurred))) / self.records**2
        measured = MeasuredDensity(self._grid.means(even) / seen, noise / seen**2, self.records)
        return fit_density(self.basis, measured, like, 0 if like is None else _STEPS)

    def _on_grid(self, shape: Shape) -> Array:
        return Shape.of(self._grid, shape.factors).share


def _normalised(counts: Array) -> Array:
    """Counts as shares; all alike where there are none."""
    total = float(counts.sum())
    return counts / total if total > 0 else np.full_like(counts, 1 / counts.size)


def _finer(share: Array, cells: int) -> Array:
    """The shares of so many cells along each axis, of which each is a part of one that has its share here."""
    density = CellDensity(share)
    line = (np.arange(cells) + 0.5) / cells
    places = np.stack(np.meshgrid(*[line] * share.ndim, indexing="ij"), axis=-1).reshape(-1, share.ndim)
    finer: Array = density(places).reshape((cells,) * share.ndim) / cells**share.ndim
    return finer
