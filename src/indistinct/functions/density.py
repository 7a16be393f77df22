"""Private densities in one to three dimensions: one release, then only post-processing.

For an epsilon, what is released is counts on a grid with Laplace noise: one record moves one count by one,
in L1 and in L2, and at equal epsilon and a small delta a Gaussian has more than twice the deviation. For
other budgets, or with a bandwidth, it is a function, Σ k(x_i, ·) in a Fourier basis with Gaussian-process
noise. How fine follows from public rules. A density that is positive and has mass one is fitted to what was
released afterwards.
"""

import math
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from indistinct.adjacency import Adjacency, check_adjacency
from indistinct.data import RECORDS, Bins, Histogram, Norm, Numbers, Unit, WithLaplace
from indistinct.errors import ArgumentError, check_count, check_positive
from indistinct.functions.cells import CellDensity
from indistinct.functions.density_counts import basis_of_cells, coarser, public_cells
from indistinct.functions.density_fit import MeasuredDensity, fit_density
from indistinct.functions.density_stacked import fit_counts
from indistinct.functions.fourier import FourierBasis, copies_of, matern_basis
from indistinct.functions.function import FiniteFunction, corners
from indistinct.functions.mechanism import noise_multiplier
from indistinct.functions.space import Axes, Space
from indistinct.guarantees.guarantee import Guarantee
from indistinct.mechanisms import Budget, DiscreteLaplace, Gaussian
from indistinct.mechanisms.additive import NO_NOISE
from indistinct.mechanisms.budget import check_budget
from indistinct.mechanisms.paying import Payer, charged
from indistinct.mechanisms.release import Release, no_guarantee
from indistinct.noise import Source
from indistinct.numerics.arrays import Array

_COUNT_SHARE = 0.03
"""Of epsilon, for a first count of the records where their number is private."""
_GAUSSIAN_COUNT_SHARE = 0.02
"""Of other budgets, likewise, in squared Gaussian DP."""
_MOST_RECORDS = 10**9
_ROUNDED = 1 + 1e-12
"""So that epsilon, read with all rounding upwards, is not above the target."""
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

    released: FiniteFunction | Release[Any]
    """What was released, before anything was fitted to it: the function Σ k(x_i, ·), or counts. Its own
    guarantee is that of its noise; where there is a first `count`, its bandwidth or cells follow from that
    count, and who is shown it is shown what the density's guarantee is of."""
    basis: FourierBasis
    """The waves that the logarithm of the density was fitted with."""
    records: float
    """How many records there are: public, or what the release says about it."""
    share: Array = field(repr=False)
    """Of the mass, in each cell of a grid of the box, before the floor."""
    floor: float = 0.0
    """The share of the uniform density that is mixed in: the noise on one count over all records. A place
    that looks empty may not be, and how sure one can be is public."""
    count: Release[Any] | None = field(repr=False, default=None)
    """The first count, if one was released."""
    sized: bool = False
    """Whether the number of records was used, because neighbours have as many."""
    adjacency: Adjacency = Adjacency.ADD_REMOVE
    """The neighbours that its noise was calibrated for."""

    @property
    def private(self) -> bool:
        """False if noise came from a seed."""
        return self.released.private and (self.count is None or self.count.private)

    def guarantee(self, adjacency: Adjacency | str | None = None) -> Guarantee:
        """Of all that was released, for the neighbours it was calibrated for unless others are named."""
        adjacency = self.adjacency if adjacency is None else check_adjacency(adjacency)
        if self.sized and adjacency is Adjacency.ADD_REMOVE:
            return no_guarantee(adjacency)
        known = self.released.guarantee(adjacency)
        if self.count is None:
            return known
        return self.count.guarantee(adjacency) + known

    @cached_property
    def _volume(self) -> float:
        return float(np.prod(self.basis.sides))

    @cached_property
    def _cells(self) -> CellDensity:
        """On the unit cube."""
        return CellDensity(self.share / self.share.sum(), self.floor)

    def _places(self, rows: Array) -> Array:
        """Points of the box as points of the unit cube."""
        places: Array = (rows - np.array(self.basis.low)) / self.basis.sides
        return places

    def log(self, points: Any) -> Array:
        """The logarithm of the density; -inf outside the box."""
        with np.errstate(divide="ignore"):
            return np.log(self(points))

    def __call__(self, points: Any) -> Array:
        """The density at points [n, d]; 0 outside the box."""
        rows = Space.points(self.basis, points)
        inside = ((rows >= self.basis.low) & (rows <= self.basis.high)).all(axis=1)
        values = np.zeros(len(rows))
        values[inside] = self._cells(self._places(rows[inside])) / self._volume
        return values

    def on_grid(self, cells: int) -> Array:
        """The density at the middles of a grid of the box with so many cells along each axis."""
        count = check_count("cells", cells, least=1)
        line = (np.arange(count) + 0.5) / count
        mesh = np.meshgrid(*[line] * self.basis.dimension, indexing="ij")
        points = np.array(self.basis.low) + np.stack(mesh, axis=-1) * self.basis.sides
        return self(points.reshape(-1, self.basis.dimension)).reshape((count,) * self.basis.dimension)

    def probability(self, low: Any, high: Any) -> float:
        """Of the box from corner `low` to corner `high`: the exact integral of the density."""
        return self._cells.probability(*map(self._places, corners(self.basis.dimension, low, high)))

    def sample(self, n: int, *, seed: int = 0) -> Array:
        """Points drawn from the density: synthetic records. The seed is no secret."""
        places = self._cells.sample(check_count("n", n), seed)
        points: Array = np.array(self.basis.low) + places * self.basis.sides
        return points

    def plot(self, path: str | Path | None = None, truth: Any = None) -> Any:
        """The density in one or two dimensions as a matplotlib figure: a curve, or a map. `truth`, a
        function of points, is drawn with it, for those who may know it."""
        from indistinct.functions.plot import draw_density

        return draw_density(self, path, truth)

    def save(self, path: str | Path) -> None:
        """Writes it to a file (.npz: arrays and a line of JSON, nothing that could run)."""
        from indistinct.functions.saved import write_density

        write_density(self, path)

    @staticmethod
    def load(path: str | Path) -> "PrivateDensity":
        """What `save` wrote."""
        from indistinct.functions.saved import read_density

        return read_density(path)


@charged
def release_density(
    data: Any,
    axes: Axes,
    budget: Budget | None,
    *,
    adjacency: Adjacency | str = Adjacency.ADD_REMOVE,
    bandwidth: float | None = None,
    records: int | None = None,
    unit: Unit = RECORDS,
    source: Source | None = None,
    ledger: Payer | None = None,
) -> PrivateDensity:
    """The density of one to three columns of a table, from any engine in one pass.

    `axes` are the columns with their declared domains. `records` is a public number that the records do not
    exceed and that is near theirs; without it, 3 % of epsilon are spent on counting them (of other budgets
    2 %, in squared Gaussian DP).

    Counts are released for an epsilon, which then holds without a delta; a function for any other budget, and
    where its `bandwidth` is given: the length of the kernel in sides of the box, else by a public rule.

    >>> from indistinct import Budget
    >>> from indistinct.data import Numbers
    >>> people = {"age": np.random.default_rng(0).normal(40, 10, size=5000)}
    >>> ages = release_density(people, {"age": Numbers(0, 100)}, Budget(epsilon=1, delta=1e-6))
    >>> ages.guarantee().epsilon(delta=1e-6)
    1.0
    >>> ages.probability(0, 100), ages([-1.0])
    (1.0, array([0.]))
    """
    domains = list(axes.values())
    if not 1 <= len(domains) <= 3 or not all(isinstance(side, Numbers) for side in domains):
        raise ArgumentError("axes", dict(axes), "one to three columns, each with Numbers(low, high)")
    box = tuple(tuple(getattr(side, end) for side in domains) for end in ("low", "high"))
    adjacency, budget = check_adjacency(adjacency), check_budget(budget)
    functional = bandwidth is not None or budget.epsilon is None
    if bandwidth is not None and not _SHORTEST <= check_positive("bandwidth", bandwidth) <= 1:
        raise ArgumentError(
            "bandwidth", bandwidth, f"between {_SHORTEST} and 1: a fraction of each column's interval"
        )
    # any basis on the box counts in the same cells
    query = matern_basis(*box, 1 / 3).histogram(axes, unit)
    copies_of(query)  # refuses units that are not counted in whole records
    counts = query.statistic(data).units
    counted = _Counted(query, counts, budget, adjacency, box, source)
    if records is not None:
        most = check_count("records", records, least=1)
        counted = replace(counted, about=most, most=most)
    elif adjacency is Adjacency.REPLACE_ONE and unit == RECORDS and not query.encoding.drops:
        number = int(counts.sum())  # neighbours have as many
        counted = replace(counted, about=number, most=number, sized=True)
    else:
        if functional:
            # refuses a budget before any of it is spent
            noise_multiplier(budget, adjacency, counted.counting)
        first = counted.counting.release(int(counts.sum()), source=source)
        counted = replace(counted, about=max(float(first.values), 1.0), first=first)
    return counted.as_function(bandwidth) if functional else counted.as_counts()


def density_from(
    function: FiniteFunction, known: float | None = None, first: Release[Any] | None = None
) -> PrivateDensity:
    """The density of a function that was released in a Fourier basis: post-processing, which sees nothing
    else. The number of records is `known`, or what the function says about it."""
    basis = function.space
    assert isinstance(basis, FourierBasis)
    sums = function.coefficients / np.sqrt(basis.weights)
    variance = function.mechanism.scale**2 / basis.weights
    records = known if known is not None else max(float(sums[0]), 1.0)
    measured = MeasuredDensity(sums[1:] / records, variance[1:] / records**2, records)
    floor = min(function.mechanism.scale / records, 1.0)
    return PrivateDensity(function, basis, records, fit_density(basis, measured)[0].share, floor, first)


def density_from_counts(
    released: Release[Any], known: float | None = None, first: Release[Any] | None = None
) -> PrivateDensity:
    """The density of counts that were released by `Histogram(...).laplace(scale)`, with as many `Bins` in
    each of one to three columns: post-processing. The number of records is `known`, or the counts' sum."""
    noisy = released.mechanism
    assert isinstance(noisy, WithLaplace) and isinstance(noisy.query, Histogram)
    sides = [side for _, side in noisy.query.axes if isinstance(side, Bins)]
    low, high = (tuple(float(getattr(side, end)) for side in sides) for end in ("low", "high"))
    basis = basis_of_cells(low, high, sides[0].count)
    records = known if known is not None else max(float(np.sum(released.values)), 1.0)
    share = fit_counts(released.values, noisy.scale, records, basis)
    return PrivateDensity(released, basis, records, share, min(noisy.deviation / records, 1.0), first)


@dataclass(frozen=True, eq=False)
class _Counted:
    """Records on the finest grid, what may be spent on them, and what may be known of their number."""

    query: Histogram
    counts: npt.NDArray[Any] = field(repr=False)
    budget: Budget
    adjacency: Adjacency
    box: tuple[tuple[float, ...], ...]
    source: Source | None
    about: float = 1.0
    """How many there are, about; public."""
    most: int = _MOST_RECORDS
    sized: bool = False
    first: Release[Any] | None = None

    @property
    def counting(self) -> Gaussian | DiscreteLaplace:
        """A first count, whatever is released then."""
        copies = copies_of(self.query)
        if self.budget.epsilon is None:
            multiplier = noise_multiplier(self.budget, self.adjacency)
            return Gaussian(multiplier * copies / math.sqrt(_GAUSSIAN_COUNT_SHARE), copies)
        return DiscreteLaplace(copies / (_COUNT_SHARE * self.budget.epsilon) * _ROUNDED, copies)

    @property
    def laplace_scale(self) -> float:
        """Of noise on counts that spends what is left of epsilon."""
        assert self.budget.epsilon is not None
        left = self.budget.epsilon * (1.0 if self.first is None else 1 - _COUNT_SHARE)
        return self.query.sensitivity(Norm.L1, self.adjacency) / left * _ROUNDED

    def as_counts(self) -> PrivateDensity:
        cells = public_cells(len(self.box[0]), self.about, self.laplace_scale)
        axes = {name: replace(side, count=cells) for name, side in self.query.axes if isinstance(side, Bins)}
        noisy = Histogram(axes, self.query.unit).laplace(self.laplace_scale)
        exact = coarser(self.counts.reshape(self.query.encoding.shape), cells)
        drawn = noisy.drawn(Adjacency.ADD_REMOVE).release(exact, source=self.source)
        released = Release(np.asarray(drawn.values, dtype=np.float64), noisy, drawn.private)
        density = density_from_counts(released, self._known, self.first)
        return replace(density, sized=self.sized, adjacency=self.adjacency)

    @property
    def _known(self) -> float | None:
        return float(self.most) if self.sized else None

    def as_function(self, bandwidth: float | None) -> PrivateDensity:
        copies = copies_of(self.query)
        multiplier = self._multiplier()
        share = public_bandwidth(len(self.box[0]), self.about, multiplier) if bandwidth is None else bandwidth
        basis = matern_basis(*self.box, share)
        scale = basis.scale(multiplier, self.adjacency, self.most) * copies
        function = basis.release_counts(
            scale, self.counts, copies=copies, records=self.most, source=self.source
        )
        if self.sized:  # there is no guarantee if a record comes or goes: their number was used
            noise = replace(function.mechanism, added=2 * NO_NOISE * scale)
            function = replace(function, mechanism=noise)
        density = density_from(function, self._known, self.first)
        return replace(density, sized=self.sized, adjacency=self.adjacency)

    def _multiplier(self) -> float:
        """Of what is left after the first count."""
        before = None if self.first is None else self.counting
        return noise_multiplier(self.budget, self.adjacency, before)
