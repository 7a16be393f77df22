"""A Fourier basis on a box in one to three dimensions: functions on dense grids, and private densities.

The box lies on a torus an eighth longer along each axis, so that opposite edges do not touch. Every wave
cos(ω·x), sin(ω·x) of the torus has a weight, the kernel's spectral density at ω; the kernel of this finite
basis is Σ λ cos(ω·(x - y)), and its height is Σ λ *everywhere*, because cos² + sin² = 1. So the sensitivity
is not a bound that is reached at worst: every record moves the function by exactly as much.

Records are moved to the middle of a cell of a fine public grid. All that is read from them is a histogram of
counts, which any engine makes in one pass; the coefficients are a Fourier transform of it.
"""

import math
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import fft

from indistinct.adjacency import Adjacency, check_adjacency
from indistinct.data import RECORDS, Bins, Histogram, Norm, Numbers, Unit
from indistinct.description import describable
from indistinct.errors import ArgumentError, check_count, check_positive
from indistinct.functions.function import FiniteFunction, FunctionNoise, corners
from indistinct.functions.kernels.kernel import GivenKernel
from indistinct.functions.kernels.stationary import MaternKernel
from indistinct.functions.space import Axes, FiniteSpace
from indistinct.functions.torus import Periodic
from indistinct.mechanisms.release import Lattice
from indistinct.noise import Source
from indistinct.numerics.arrays import EPS, Array, ComplexArray

CELLS = {1: 1440, 2: 720, 3: 120}
"""Of the box along each axis, by dimension; with many divisors, so that coarser grids are sums of it."""
MARGIN = 8
"""The torus is longer than the box by one part in this many."""
FAINTEST = 1 / 676
"""Waves whose weight is below this share of the largest are left out: they would drown in noise."""
_MOST_WAVES = 1 << 18
_MOST_NODES = 1 << 22
_MOST_RECORDS = 2**30
_FREE_RECORDS = 10**7
"""Their rounding costs a ten-thousandth of the noise or so."""


@describable("fourier_basis")
class FourierBasis(FiniteSpace):
    """The waves on a box that a kernel gives weight to, scaled so that the kernel has height 1.

    >>> from indistinct.functions import GaussianKernel
    >>> space = FourierBasis(GaussianKernel(length=0.1), low=(0, 0), high=(1, 1))
    >>> space.size, space.sensitivity()
    (137, 1.00000)
    """

    kernel: GivenKernel
    low: tuple[float, ...]
    high: tuple[float, ...]

    def __post_init__(self) -> None:
        dimension = int(np.size(self.low))
        if dimension not in CELLS:
            raise ArgumentError("low", self.low, "one to three numbers: the lower corner of the box")
        low, high = corners(dimension, self.low, self.high)
        object.__setattr__(self, "low", tuple(low.tolist()))
        object.__setattr__(self, "high", tuple(high.tolist()))
        _ = self._waves  # refuses kernels without a spectral density

    @property
    def dimension(self) -> int:  # type: ignore[override]
        return len(self.low)

    @property
    def cells(self) -> int:
        """Of the box along each axis."""
        return CELLS[self.dimension]

    @property
    def sides(self) -> Array:
        """The lengths of the box."""
        return np.subtract(self.high, self.low)

    @property
    def periods(self) -> Array:
        """The lengths of the torus."""
        return self.sides * (1 + 1 / MARGIN)

    @cached_property
    def _waves(self) -> tuple[Array, Array]:
        """Integer frequencies, one of each pair k and -k, and the weight of each wave of theirs; the sum of
        all weights, with that of the constant and twice those of the pairs, is 1."""
        most = [self._highest(axis) for axis in range(self.dimension)]
        if math.prod(2 * k + 1 for k in most) > 16 * _MOST_WAVES:
            raise ArgumentError("kernel", self.kernel, "longer, for a basis on this box to be small enough")
        lines = np.meshgrid(*[np.arange(-k, k + 1) for k in most], indexing="ij")
        every = np.stack(lines, axis=-1).reshape(-1, self.dimension).astype(np.float64)
        every = every[len(every) // 2 :]  # the constant first, then one of each pair
        weights = self._density(every)
        keep = weights >= FAINTEST * weights[0]
        every, weights = every[keep], weights[keep]
        if len(every) > _MOST_WAVES:
            raise ArgumentError("kernel", self.kernel, "longer, for a basis on this box to be small enough")
        total = math.fsum(weights) * 2 - weights[0]
        return every, weights / total

    def _density(self, frequencies: Array) -> Array:
        return self.kernel.spectral_density(2 * np.pi * frequencies / self.periods)

    def _highest(self, axis: int) -> int:
        """The highest frequency that matters along an axis, and that the grid still shows."""
        along = np.zeros((self.cells // 4 + 1, self.dimension))
        along[:, axis] = np.arange(len(along))
        weights = self._density(along)
        if not 0 < weights[0] < math.inf:
            raise ArgumentError("kernel", self.kernel, "a kernel with a finite spectral density at 0")
        return int(np.flatnonzero(weights >= FAINTEST * weights[0]).max())

    @property
    def waves(self) -> Array:
        """Cycles per side of the torus, [pairs + 1, d]: the constant, then one of each pair k and -k. The
        coefficients are of the constant, of the pairs' cosines, and of their sines."""
        return self._waves[0]

    @cached_property
    def weights(self) -> Array:
        """λ of each coefficient; φ is √λ times a wave of mean square 1."""
        pairs = self._waves[1][1:]
        return np.concatenate([self._waves[1][:1], pairs, pairs])

    @cached_property
    def _heights(self) -> Array:
        heights = np.sqrt(2 * self.weights)
        heights[0] = math.sqrt(self.weights[0])
        return heights

    @property
    def size(self) -> int:  # type: ignore[override]
        return 2 * len(self._waves[0]) - 1

    @cached_property
    def bound(self) -> float:  # type: ignore[override]
        return math.sqrt(self.weights[0] + 2 * math.fsum(self._waves[1][1:])) * (1 + 8 * EPS)

    @property
    def nonnegative(self) -> bool:  # type: ignore[override]
        return self._lowest >= 0

    @cached_property
    def _lowest(self) -> float:
        """A number below the kernel everywhere. At its lowest point the gradient vanishes, so the nearest
        node of a grid is higher by at most half the largest curvature times the distance squared."""
        waves, weights = self._waves[0][1:], self._waves[1][1:]
        largest = _MOST_NODES ** (1 / self.dimension)
        shape = tuple(int(min(8 * k + 8, largest)) for k in np.abs(self._waves[0]).max(axis=0))
        spectrum = np.zeros(shape)
        np.add.at(spectrum, tuple(waves.astype(np.int64).T % np.array(shape)[:, None]), 2 * weights)
        lowest = float(fft.ifftn(spectrum).real.min()) * spectrum.size + float(self.weights[0])
        curvature = float(np.sum(2 * weights * ((2 * np.pi * waves / shape) ** 2).sum(axis=1)))
        return lowest - curvature * self.dimension / 8 - 1e-12

    def sensitivity(self, adjacency: Adjacency | str = Adjacency.ADD_REMOVE) -> float:
        """How far one record moves Σ k(x_i, ·). Replacing one moves it by √(2 - 2 k(x, y)), and the lowest
        value of the kernel is known."""
        if check_adjacency(adjacency) is Adjacency.ADD_REMOVE:
            return self.bound
        return min(2.0, math.sqrt(2 * (self.bound**2 - self._lowest))) * (1 + 4 * EPS)

    def points(self, points: Any) -> Array:
        """Points as an array [n, d], inside the box: outside it the function is only its own repetition."""
        rows = super().points(points)
        outside = ((rows < self.low) | (rows > self.high)).any(axis=1)
        if outside.any():
            allowed = f"inside the box from {self.low} to {self.high}"
            raise ArgumentError("points", rows[outside][0].tolist(), allowed)
        return rows

    def _turns(self, points: Array) -> Array:
        turns: Array = (points - np.array(self.low)) / self.periods
        return turns

    def __call__(self, points: Array) -> Array:
        # Axis by axis: einsum adds in an order that may depend on how points lie in memory, and the last bits
        # of a record's features must not depend on the records beside it.
        turns, waves = self._turns(points), self._waves[0]
        phases = np.zeros((len(turns), len(waves)))
        for axis in range(self.dimension):
            phases += 2 * np.pi * turns[:, axis, None] * waves[:, axis]
        return np.concatenate([np.cos(phases), np.sin(phases[:, 1:])], axis=1) * self._heights

    def gradients(self, points: Array) -> Array:
        waves = self._waves[0]
        phases = 2 * np.pi * np.einsum("nd,md->nm", self._turns(points), waves)
        turned = np.concatenate([-np.sin(phases), np.cos(phases[:, 1:])], axis=1) * self._heights
        slopes: Array = turned[:, :, None] * (2 * np.pi * np.concatenate([waves, waves[1:]]) / self.periods)
        return slopes

    def integrals(self, low: Array, high: Array) -> Array:
        waves = self._waves[0]
        start, end = self._turns(low[None])[0], self._turns(high[None])[0]
        # the integral of e^{2πikx} from m - h to m + h is e^{2πikm} 2h sinc(2kh)
        size = np.prod((end - start) * self.periods * np.sinc(waves * (end - start)), axis=1)
        phase = 2 * np.pi * (waves @ ((start + end) / 2))
        return np.concatenate([size * np.cos(phase), (size * np.sin(phase))[1:]]) * self._heights

    def _amplitudes(self, coefficients: Array) -> ComplexArray:
        """a_k with f(x) = Re Σ a_k exp(2πi k·x)."""
        scaled, pairs = coefficients * self._heights, len(self._waves[0])
        amplitudes = scaled[:pairs].astype(np.complex128)
        amplitudes[1:] -= 1j * scaled[pairs:]
        return amplitudes

    def evaluate(self, coefficients: Array, points: Array) -> Array:
        return Periodic.of(self._waves[0], self._amplitudes(coefficients))(self._turns(points))

    def evaluate_gradient(self, coefficients: Array, points: Array) -> Array:
        waves, amplitudes, turns = self._waves[0], self._amplitudes(coefficients), self._turns(points)
        fast = 2j * np.pi * waves / self.periods
        parts = [Periodic.of(waves, amplitudes * fast[:, axis])(turns) for axis in range(self.dimension)]
        return np.stack(parts, axis=1)

    def histogram(self, axes: Axes, unit: Unit = RECORDS) -> Histogram:
        """The query that counts records in the cells of the grid."""
        domains = list(axes.values())
        if len(domains) != self.dimension or not all(isinstance(side, Numbers) for side in domains):
            raise ArgumentError("axes", list(axes), f"{self.dimension} columns with Numbers(...)")
        bins = {}
        for (name, side), low, high in zip(axes.items(), self.low, self.high, strict=True):
            if not isinstance(side, Numbers) or (side.low, side.high) != (low, high):
                raise ArgumentError(f"domain of {name!r}", side, f"Numbers({low}, {high}), as the basis")
            bins[name] = Bins(low, high, self.cells, side.outside, side.missing, side.of)
        return Histogram(bins, unit)

    def coefficients_of(self, counts: Any) -> Array:
        """Σ φ over records that are counted in the cells of the grid."""
        table: npt.NDArray[Any] = np.asarray(counts, dtype=np.float64).reshape((self.cells,) * self.dimension)
        waves = self._waves[0].astype(np.int64)
        most = np.abs(waves).max(axis=0)
        for axis, highest in enumerate(most):
            table = np.moveaxis(np.tensordot(self._cell_waves(int(highest)), table, (1, axis)), 0, axis)
        chosen = table[tuple((waves + most).T)]
        return np.concatenate([chosen.real, -chosen.imag[1:]]) * self._heights

    def _cell_waves(self, highest: int) -> ComplexArray:
        """exp(-2πi k x) at the middles of the cells. Phases are whole parts of a turn, reduced exactly."""
        parts = 2 * (self.cells + self.cells // MARGIN)
        turns = np.outer(np.arange(-highest, highest + 1), 2 * np.arange(self.cells) + 1) % parts
        waves: ComplexArray = np.exp(-2j * np.pi * turns / parts)
        return waves

    def float_error(self, records: int) -> float:
        """How far `coefficients_of` may be off in float64, in L2 norm, for so many records.

        Each pass is an inner product of `cells` terms, of which the relative error is at most so many
        roundings of a complex product (Higham 2002, Section 3.6); no sum of absolute values exceeds n.
        """
        each = 4 * EPS * (self.cells + 16)
        return records * self.bound * ((1 + each) ** self.dimension - 1 + 8 * EPS)

    def moves(self, adjacency: Adjacency, records: int, scale: float) -> float:
        """How far one record moves the released coefficients, with all rounding. What is replaced may be
        what is left out, so that is never less than what a record moves that comes or goes."""
        lattice, off = Lattice.of(scale), 2 * self.float_error(allowed_records(records))
        furthest = max(self.sensitivity(adjacency), self.bound)
        moved = lattice.moved(furthest + off, math.sqrt(self.size))
        return moved * lattice.unit

    def scale(self, multiplier: float, adjacency: Adjacency, records: int) -> float:
        """The noise that is `multiplier` times what one record moves, with all rounding."""
        scale = multiplier * self.sensitivity(adjacency)
        for _ in range(4):
            scale = multiplier * self.moves(adjacency, records, scale) * (1 + 8 * EPS)
        return scale

    def noise(self, scale: float, *, copies: int, records: int) -> FunctionNoise:
        """That of counted records, of which one unit contributes at most `copies`."""
        scale = check_positive("scale", scale)
        added, replaced = (copies * self.moves(kind, records, scale) for kind in Adjacency)
        return FunctionNoise(scale, Lattice.of(scale).unit, added, replaced)

    def release_counts(
        self, scale: float, counts: Any, *, copies: int, records: int, source: Source | None = None
    ) -> FiniteFunction:
        """The function of counted records, with that noise."""
        if int(np.sum(counts)) > allowed_records(records):
            raise ArgumentError("records", records, "at least as many as there are")
        noise = self.noise(scale, copies=copies, records=records)
        return noise.added_to(self, self.coefficients_of(counts), source)

    def release_sum(
        self, scale: float, data: Any, axes: Axes, *, unit: Unit, records: int | None, source: Source | None
    ) -> FiniteFunction:
        query = self.histogram(axes, unit)
        most = _MOST_RECORDS if records is None else check_count("records", records, least=1)
        counts, copies = query.statistic(data), copies_of(query)
        return self.release_counts(scale, counts.units, copies=copies, records=most, source=source)


@lru_cache(maxsize=64)
def matern_basis(low: tuple[float, ...], high: tuple[float, ...], share: float) -> FourierBasis:
    """The waves of rough functions, whose length is this share of each side of the box."""
    lengths = tuple(float(b - a) * share for a, b in zip(low, high, strict=True))
    return FourierBasis(MaternKernel(1, lengths), low, high)


def allowed_records(declared: int) -> int:
    """Rounding of so many is allowed for: more than were declared, where that costs next to nothing."""
    return max(declared, _FREE_RECORDS)


def copies_of(query: Histogram) -> int:
    """How many counts one unit changes at most."""
    copies = query.sensitivity(Norm.L1)
    if query.step != 1:
        raise ArgumentError("unit", query.unit, "Records() or UserRecords(...)")
    return int(copies)
