"""Private densities in one to three dimensions: one release, then only post-processing.

What is released is a function, Σ k(x_i, ·) in a Fourier basis with Gaussian-process noise; its bandwidth
follows a public rule. A density that is positive and has mass one is fitted to it afterwards.
"""

import math
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from indistinct.adjacency import Adjacency, check_adjacency
from indistinct.data import RECORDS, Numbers, Unit
from indistinct.errors import ArgumentError, check_count, check_positive
from indistinct.functions.density_fit import Measured, Shape, fit_density
from indistinct.functions.fourier import FourierBasis, copies_of
from indistinct.functions.function import FiniteFunction, corners
from indistinct.functions.kernels import MaternKernel
from indistinct.functions.public_randomness import PublicUniforms
from indistinct.functions.space import Axes, Space
from indistinct.functions.torus import Periodic
from indistinct.guarantees.guarantee import Guarantee
from indistinct.mechanisms import Gaussian, calibrate
from indistinct.mechanisms.additive import NO_NOISE
from indistinct.mechanisms.release import Release
from indistinct.noise import Source
from indistinct.numerics.arrays import Array, ComplexArray

_COUNT_SHARE = 0.02
"""Of the budget, for a first count of the records where their number is private."""
_MOST_RECORDS = 10**9
_SHORTEST = 1 / 200
"""Kernel, in sides of the box: some cells of the grid."""


def public_bandwidth(dimension: int, records: float, multiplier: float) -> float:
    """The length of the kernel in sides of the box: 0.35 (n/σ)^(-1/(d+2)), with σ the noise in
    sensitivities, between 1/200 and 1/3. It depends on the data only through n, and n is public or noisy.

    >>> public_bandwidth(2, records=20_000, multiplier=3.73)
    0.0409
    """
    length: float = 0.35 * max(records / multiplier, 1.0) ** (-1 / (dimension + 2))
    return min(max(length, _SHORTEST), 1 / 3)


@dataclass(frozen=True, eq=False)
class PrivateDensity:
    """A released density on a box."""

    function: FiniteFunction
    """What was released: Σ k(x_i, ·) with noise, before anything was fitted to it."""
    records: float
    """How many records there are: public, or what the release says about it."""
    shape: Shape = field(repr=False)
    count: Release | None = field(repr=False, default=None)
    """The first count, if one was released."""

    @property
    def basis(self) -> FourierBasis:
        space = self.function.space
        assert isinstance(space, FourierBasis)
        return space

    def guarantee(self, adjacency: Adjacency = Adjacency.ADD_REMOVE) -> Guarantee:
        """Of all that was released."""
        known = self.function.guarantee(adjacency)
        return known if self.count is None else known + self.count.guarantee(adjacency)

    @cached_property
    def _amplitudes(self) -> ComplexArray:
        cosine, sine = np.split(self.shape.factors, 2)
        return math.sqrt(2) * cosine.astype(np.complex128) - 1j * math.sqrt(2) * sine

    @cached_property
    def _volume(self) -> float:
        return float(np.prod(self.basis.sides))

    def log(self, points: Any) -> Array:
        """The logarithm of the density; -inf outside the box."""
        rows = Space.points(self.basis, points)
        inside = ((rows >= self.basis.low) & (rows <= self.basis.high)).all(axis=1)
        turns = (rows[inside] - np.array(self.basis.low)) / self.basis.periods
        values = np.full(len(rows), -np.inf)
        height = Periodic.of(self.basis.waves[1:], self._amplitudes)(turns)
        values[inside] = height - self.shape.log_total - math.log(self._volume)
        return values

    def __call__(self, points: Any) -> Array:
        """The density at points [n, d]; 0 outside the box."""
        return np.exp(self.log(points))

    def on_grid(self, cells: int) -> Array:
        """The density at the middles of a grid of the box with so many cells along each axis."""
        count = check_count("cells", cells, least=1)
        line = (np.arange(count) + 0.5) / count
        mesh = np.meshgrid(*[line] * self.basis.dimension, indexing="ij")
        points = np.array(self.basis.low) + np.stack(mesh, axis=-1) * self.basis.sides
        return self(points.reshape(-1, self.basis.dimension)).reshape((count,) * self.basis.dimension)

    def probability(self, low: Any, high: Any) -> float:
        """Of the box from corner `low` to corner `high`; cells of the grid that it cuts count in parts."""
        ends = corners(self.basis.dimension, low, high)
        share = self.shape.share
        for axis, (start, end) in enumerate(zip(*ends, strict=True)):
            cells = share.shape[0]
            place = (np.array([start, end]) - self.basis.low[axis]) / self.basis.sides[axis] * cells
            edges = np.arange(cells)
            part = np.clip(np.minimum(edges + 1, place[1]) - np.maximum(edges, place[0]), 0, 1)
            share = np.tensordot(part, share, (0, 0))
        return float(share)

    def sample(self, count: int, seed: int = 0) -> Array:
        """Points drawn from the density: synthetic records. The seed is no secret."""
        draws = PublicUniforms(seed).draw(check_count("count", count), self.basis.dimension + 1)
        total = np.cumsum(self.shape.share.ravel())
        cell = np.minimum(np.searchsorted(total / total[-1], draws[:, 0]), total.size - 1)
        places = np.stack(np.unravel_index(cell, self.shape.share.shape), axis=1) + draws[:, 1:]
        points: Array = np.array(self.basis.low) + places / self.shape.share.shape[0] * self.basis.sides
        return points


def release_density(
    data: Any,
    axes: Axes,
    *,
    epsilon: float | None = None,
    delta: float | None = None,
    mechanism: Gaussian | None = None,
    adjacency: Adjacency = Adjacency.ADD_REMOVE,
    bandwidth: float | None = None,
    records: int | None = None,
    unit: Unit = RECORDS,
    source: Source | None = None,
) -> PrivateDensity:
    """The density of one to three columns of a table, from any engine in one pass.

    `axes` are the columns with their declared domains. The budget is `epsilon` and `delta`, or
    `mechanism=Gaussian(scale)`: noise in multiples of what one record moves. `bandwidth` is the length of the
    kernel in sides of the box; without it, a public rule. `records` is a public number that the records do
    not exceed and that is near theirs; without it, a fiftieth of the budget is spent on counting them.

    >>> from indistinct.data import Numbers
    >>> people = {"age": np.random.default_rng(0).normal(40, 10, size=5000)}
    >>> ages = release_density(people, {"age": Numbers(0, 100)}, epsilon=1, delta=1e-6)
    >>> ages.guarantee().epsilon(delta=1e-6)
    1.0
    >>> ages.probability(0, 100), ages([-1.0])
    (1.0, array([0.]))
    """
    domains = list(axes.values())
    if not 1 <= len(domains) <= 3 or not all(isinstance(side, Numbers) for side in domains):
        raise ArgumentError("axes", list(axes), "one to three columns with Numbers(low, high)")
    low, high = (tuple(getattr(side, end) for side in domains) for end in ("low", "high"))
    # any basis on the box counts in the same cells
    query = FourierBasis(MaternKernel(1, _lengths(low, high, 1 / 3)), low, high).histogram(axes, unit)
    multiplier, copies = noise_multiplier(epsilon, delta, mechanism, adjacency), copies_of(query)
    counts = query.statistic(data).units
    first, known = None, None
    if records is not None:
        most = check_count("records", records, least=1)
        about = float(most)
    elif check_adjacency(adjacency) is Adjacency.REPLACE_ONE and unit == RECORDS and not query.cells.drops:
        most = int(counts.sum())  # neighbours have as many
        about = known = float(most)
    else:
        most, scale = _MOST_RECORDS, multiplier * copies / math.sqrt(_COUNT_SHARE)
        first = Gaussian(scale, copies).release(int(counts.sum()), source=source)
        about = max(float(first.values), 1.0)
        multiplier /= math.sqrt(1 - _COUNT_SHARE)
    share = public_bandwidth(len(low), about, multiplier) if bandwidth is None else bandwidth
    if not _SHORTEST <= check_positive("bandwidth", share) <= 1:
        raise ArgumentError("bandwidth", bandwidth, f"between {_SHORTEST} and 1, in sides of the box")
    basis = FourierBasis(MaternKernel(1, _lengths(low, high, share)), low, high)
    scale = basis.scale(multiplier, adjacency, most) * copies
    function = basis.release_counts(scale, counts, copies=copies, records=most, source=source)
    if known is not None:  # there is no guarantee if a record comes or goes: their number was used
        function = replace(function, drawn=replace(function.drawn, added=2 * NO_NOISE * scale))
    return density_from(function, known, first)


def _lengths(low: tuple[float, ...], high: tuple[float, ...], share: float) -> tuple[float, ...]:
    return tuple(float(b - a) * share for a, b in zip(low, high, strict=True))


def noise_multiplier(
    epsilon: float | None, delta: float | None, mechanism: Gaussian | None, adjacency: Adjacency
) -> float:
    """The deviation of the noise in sensitivities."""
    if mechanism is not None:
        if epsilon is not None or delta is not None:
            raise ArgumentError("epsilon", epsilon, "absent where mechanism is given")
        if not isinstance(mechanism, Gaussian) or mechanism.sensitivity != 1:
            allowed = "Gaussian(scale): the noise in multiples of how far one record moves the function"
            raise ArgumentError("mechanism", mechanism, allowed)
        return mechanism.scale
    if epsilon is None or delta is None:
        raise ArgumentError("epsilon", epsilon, "given with delta, or else mechanism")
    found = calibrate(Gaussian, epsilon=epsilon, delta=delta, adjacency=adjacency)
    assert isinstance(found, Gaussian)
    return found.scale


def density_from(
    function: FiniteFunction, known: float | None = None, first: Release | None = None
) -> PrivateDensity:
    """The density of a function that was released in a Fourier basis: post-processing, which sees nothing
    else. The number of records is `known`, or what the function says about it."""
    basis = function.space
    assert isinstance(basis, FourierBasis)
    sums = function.coefficients / np.sqrt(basis.weights)
    variance = function.drawn.scale**2 / basis.weights
    records = known if known is not None else max(float(sums[0]), 1.0)
    measured = Measured(sums[1:] / records, variance[1:] / records**2, records)
    return PrivateDensity(function, records, fit_density(basis, measured), first)
