"""Logistic regression for a pure epsilon: the maximum of a likelihood with noise in its slope (objective
perturbation: Chaudhuri, Monteleoni and Sarwate 2011; Kifer, Smith and Thakurta 2012), and the curvature
there.

What is released are coefficients b and then the curvature at b, with noise. Passes over the records in
between, by which b is found, are private and leave nothing behind. With s the scale, m the number of columns
and the constant, and Λ ≥ m s, a record costs (1 + `_CURVED` + `_ROUNDED` + `_SLACK`)/s. The proof:

**The exact minimum.** The chance p(t) is a table with straight lines between (`likelihood_sums`), and rises,
so a record's loss, the integral of (p(t) - y) dt to its logit t = x'b, is convex with a continuous slope. Let
b̂ be where Σ loss + (Λ/2) |b|² + Z'b is least, so that Z = S(b̂) - Λ b̂ with S = Σ (y - p) x. This is a
one-to-one map of b̂, Lipschitz in both directions, and its derivative -(H + Λ) is there for almost all b: b̂
has the density g(S(b) - Λ b) det(H(b) + Λ). Z is a multiple of `grain` with probability proportional to
e^(-|z|/s), |z| the largest, over columns, of the sum of the sizes of their coordinates (`block_noise`), and a
uniform rest of up to half a grain in each coordinate, which is never drawn. So log g changes by at most (|v|
+ w grain)/s where S moves by v, w being the most coordinates of a column. A record more moves S(b) by q x
with q = |y - p|, of size at most q, as x has at most one coordinate in each column that is not 0, of size at
most 1. It moves H by p' x x', where p' is the slope of the table, and so the determinant by a factor of 1 +
p' x'(H + Λ)^-1 x ≤ 1 + p' m/Λ ≤ e^(p'/s). Now p' ≤ min(p, 1 - p) + η ≤ 1 - q + η (`steepest_beyond`): where a
record moves the slope by q, it moves the volume by no more than e^((1 - q + η)/s), and both together cost no
more than (1 + η + w grain)/s. A record less costs no more. One that is replaced moves S by at most q + q',
and the determinant by at most the larger factor of the two: at most twice as much. Several records of a user
cost as much each, since every change of H has rank one and all matrices in between are at least Λ.

**The one that is computed.** The search ends at a b̃ whose computed slope of the objective is short. How far
it is from the slope for the Z that has its rest is bounded (rounding of each record, and half a grain):
`residual` in all, and by strong convexity |b̃ - b̂| ≤ residual/Λ (as Iyengar et al. 2019, "Towards practical
differentially private convex optimization"). So b̃ with Laplace noise R on a lattice has, for every Z,
chances within a factor of e^(d/σ) of those of b̂ with the same noise, d being the distance in L1 and σ the
scale of R; for two neighbours that is 2 d/σ ≤ `_ROUNDED`/s more. b̂ with noise is post-processing of b̂. The
search is one that arrives for all records; nothing depends on how long it takes but the time.

**The curvature** at what was released: a sum in which a record moves all numbers by at most 1/4, one of each
two columns, with noise by `block_noise` of scale s/(4 `_CURVED`); that adds `_CURVED`/s by composition."""

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from hashlib import blake2b
from typing import Any

import numpy as np

from indistinct.adjacency import Adjacency
from indistinct.data.engines.source import table
from indistinct.data.engines.table import Table
from indistinct.data.queries.intervals import Values
from indistinct.data.queries.likelihood_sums import (
    CURVATURE,
    FINEST,
    MOST_RECORDS,
    ROUNDING,
    SLOPE,
    LikelihoodSums,
)
from indistinct.data.queries.query import NoisyQuery
from indistinct.data.queries.regression_sums import Array, Axis, TermProducts
from indistinct.data.records.bounded_sum import BoundedSum
from indistinct.data.records.reach import Norm
from indistinct.data.records.unit import Unit, UserTotals, records_of
from indistinct.description import describable
from indistinct.errors import ArgumentError
from indistinct.guarantees.guarantee import Guarantee
from indistinct.guarantees.stated import PureDP
from indistinct.mechanisms import DiscreteLaplace
from indistinct.mechanisms.release import Lattice
from indistinct.noise import Source, SystemSource, discrete_laplace
from indistinct.noise.k_norm import block_noise, block_variance
from indistinct.numerics.rounding import quotient_up, rounded_up

_CURVED = Fraction(1, 4)
"""What the curvature costs, as a share of what the coefficients do: a public rule."""
_ROUNDED = Fraction(1, 512)
"""The same of what the search may leave."""
_SLACK = Fraction(1, 2**20)
"""The same of the table and the grain."""
_LEAST = 1 / 16
"""No ridge is less than that for each column, whatever the scale."""
_GRAIN = 2.0**-40
"""Of the noise in the slope, or finer."""
PLACE = 2.0**-40
"""Coefficients are released as multiples of it."""
_LEFT = 2.0**-32
"""What the search may leave of the slope, for each column."""
_FURTHEST = 2.0**22
"""No coefficient of a minimum is further out."""
_TRIES = 64


def cost(unit: Unit, adjacency: Adjacency) -> float:
    """Of one release at scale 1: its epsilon."""
    copies = records_of(unit) * (1 if adjacency is Adjacency.ADD_REMOVE else 2)
    return rounded_up(copies * (1 + _CURVED + _ROUNDED + _SLACK))


@describable("perturbed_likelihood")
class PerturbedLikelihood(NoisyQuery):
    """A logistic regression for a pure epsilon. `scale` is that of the noise in the slope of the
    likelihood."""

    form = "{query}.laplace({scale})"
    noise = "laplace"
    norm = Norm.L1

    def __post_init__(self) -> None:
        from indistinct.data.queries.regression import LogisticRegression

        if not isinstance(self.query, LogisticRegression) or isinstance(self.query.unit, UserTotals):
            raise ArgumentError("query", self.query, "a logistic regression, not of users' totals")
        _ = self.noise_in.grain  # refuses a scale that cannot be drawn

    @property
    def unit(self) -> float:
        return PLACE

    @property
    def deviation(self) -> float:
        """Of the slope of the constant, and of a number."""
        return self.noise_in.slope

    def width(self, coefficients: Values) -> Values:
        # of no combination of such noise is the quantile larger (`perturbed_fit`)
        return np.asarray(2.2 * self.deviation * np.linalg.norm(coefficients, axis=-1))

    def of_sensitivity(self, sensitivity: float) -> DiscreteLaplace:
        raise ArgumentError(
            "mechanism", str(self), "noise on each number by itself: this is drawn for all at once"
        )

    @cached_property
    def noise_in(self) -> "Perturbation":
        assert self.query.encoding.declared
        return Perturbation(self.query.encoding.declared, self.scale)

    def _guarantee(self, adjacency: Adjacency) -> Guarantee:
        epsilon = quotient_up(self.query.sensitivity(self.norm, adjacency), self.scale)
        return PureDP(epsilon, adjacency=adjacency)

    def noisy(self, data: Any, source: Source | None = None) -> tuple[Values, bool]:
        source, noise = SystemSource() if source is None else source, self.noise_in
        records = SearchedRecords(table(data).kept(), noise.axes, self.query.unit)
        start = noise.start
        # Noise that a key can draw again is another one for other records: the exact slope and curvature at
        # coefficients that nobody has chosen tell them apart.
        slope = noise.drawn_slope(source.about(records.content(start)))
        found = np.array(noise.released(_least(noise, records, slope, start), source), dtype=object)
        place = tuple(int(one) * int(PLACE * 2**FINEST) for one in found)
        numbers = records.curvature(place)
        noisy = noise.noisy_curvature(numbers, source.about(records.content(place)))
        values = np.concatenate([found.astype(np.float64) * PLACE, noisy * 2.0**-CURVATURE])
        return values, source.private


@dataclass(frozen=True)
class Perturbation:
    """What is public about it: how much noise there is where, and what the search may leave."""

    axes: tuple[Axis, ...]
    scale: float

    @cached_property
    def _sums(self) -> LikelihoodSums:
        return LikelihoodSums(self.axes, (0,) * self.size)

    @property
    def terms(self) -> TermProducts:
        return self._sums.terms

    @cached_property
    def size(self) -> int:
        return TermProducts(self.axes[:-1]).count

    @property
    def numbers(self) -> int:
        """How many are released."""
        return self._sums.size

    @property
    def ridge(self) -> float:
        """Λ, not below m times the scale."""
        return math.nextafter(len(self.axes) * max(self.scale, _LEAST), math.inf)

    @property
    def grain(self) -> float:
        return min(Lattice.of(self.scale).unit, _GRAIN)

    @property
    def left(self) -> float:
        """How long the computed slope of the objective may be where the search ends."""
        return _LEFT * len(self.axes)

    @cached_property
    def residual(self) -> float:
        """How long that of the exact objective may be: with rounding of all records, and half a grain."""
        rounding = MOST_RECORDS * 2.0**-ROUNDING + self.grain / 2
        return (self.left + math.sqrt(self.size) * rounding) * (1 + 1e-9)

    @cached_property
    def smoothing(self) -> float:
        """The scale of the noise that hides what the search leaves, and rounding to a lattice."""
        apart = math.sqrt(self.size) * self.residual / self.ridge + self.size * PLACE
        return 2 * apart * self.scale / float(_ROUNDED) * (1 + 1e-9)

    @cached_property
    def slopes(self) -> Array:
        """The deviation of the noise in the slope, and of that in the coefficients by themselves."""
        return np.asarray(self.scale * np.sqrt(block_variance(self._sums.slope_blocks)))

    @property
    def slope(self) -> float:
        return float(self.slopes[0])

    @cached_property
    def curvatures(self) -> Array:
        """The deviation of the noise in each number of the curvature."""
        found = np.empty(len(self.terms.moments))
        spread = np.sqrt(block_variance(self._sums.curvature_blocks))
        found[self.order] = float(self._curvature_scale) * 2.0**-CURVATURE * spread
        return found

    @property
    def order(self) -> list[int]:
        """Of the numbers of the curvature, block by block."""
        return self._sums.curvature_order()

    @property
    def blocks(self) -> tuple[tuple[int, ...], tuple[int, ...]]:
        return self._sums.slope_blocks, self._sums.curvature_blocks

    @property
    def _curvature_scale(self) -> Fraction:
        """In units of the sum: a record moves it by a quarter."""
        return Fraction(self.scale) * int(2**CURVATURE) / (4 * _CURVED)

    @property
    def start(self) -> tuple[int, ...]:
        """Small coefficients that nobody has chosen, all bits of them."""
        digests = (blake2b(str(place).encode(), digest_size=8).digest() for place in range(self.size))
        return tuple((int.from_bytes(one, "big") - 2**63) << FINEST - 66 for one in digests)

    def drawn_slope(self, source: Source) -> list[Fraction]:
        """Noise in the slope, as it is drawn."""
        whole = block_noise(self._sums.slope_blocks, Fraction(self.scale) / Fraction(self.grain), source)
        return [int(one) * Fraction(self.grain) for one in whole]

    def released(self, found: tuple[int, ...], source: Source) -> list[int]:
        """Coefficients with noise that hides what the search has left, in units of `PLACE`."""
        fine = int(PLACE * 2**FINEST)
        drawn = discrete_laplace(
            Fraction(self.smoothing) / Fraction(PLACE),
            self.size,
            source.about(repr(("coefficients", found)).encode()),
        )
        return [(one + fine // 2) // fine + int(more) for one, more in zip(found, drawn, strict=True)]

    def noisy_curvature(self, numbers: list[int], source: Source) -> Array:
        drawn = block_noise(self._sums.curvature_blocks, self._curvature_scale, source)
        noisy = np.array(numbers, dtype=object)
        noisy[self.order] += drawn.astype(object)
        return noisy.astype(np.float64)


@dataclass(frozen=True, eq=False)
class SearchedRecords:
    """The records of a table, as a search reads them. What it finds is private."""

    table: Table
    axes: tuple[Axis, ...]
    unit: Unit
    _last: dict[tuple[int, ...], list[int]] = field(default_factory=dict, repr=False)
    """What was read last: the slope and the curvature at one place are one pass."""

    def _totals(self, at: tuple[int, ...]) -> list[int]:
        if at not in self._last:
            sums = BoundedSum(LikelihoodSums(self.axes, at), self.unit)
            told = [int(one) for one in self.table.total(sums).units]
            self._last.clear()
            self._last[at] = told
        return self._last[at]

    def content(self, at: tuple[int, ...]) -> bytes:
        return repr((at, self._totals(at))).encode()

    def slope(self, at: tuple[int, ...]) -> list[Fraction]:
        return [Fraction(one, 2**SLOPE) for one in self._totals(at)[: len(at)]]

    def curvature(self, at: tuple[int, ...]) -> list[int]:
        """In units of 2^-CURVATURE."""
        return [one >> SLOPE - CURVATURE for one in self._totals(at)[len(at) :]]


Slope = Callable[[tuple[int, ...]], Array]


def _least(
    noise: Perturbation, records: SearchedRecords, drawn: list[Fraction], start: tuple[int, ...]
) -> tuple[int, ...]:
    """Where the objective is least, by Newton's method. Steps end where the objective falls less than half as
    steeply along them, or where the slope is half as long: both bring a strongly convex function with a
    Lipschitz slope down to its least (Zoutendijk 1970), and near it the steps are whole ones."""
    ridge = Fraction(noise.ridge)

    def slope(at: tuple[int, ...]) -> Array:
        told = zip(records.slope(at), at, drawn, strict=True)
        return np.array([float(ridge * one / 2**FINEST + z - own) for own, one, z in told])

    here, ahead = start, slope(start)
    while float(np.linalg.norm(ahead)) * (1 + 1e-9) > noise.left:
        numbers = np.array(records.curvature(here), dtype=np.float64) * 2.0**-CURVATURE
        curvature = noise.terms.matrix(numbers) + noise.ridge * np.eye(noise.size)
        step = -np.linalg.solve(_positive(curvature, noise.ridge), ahead)
        here, ahead = _step(slope, here, ahead, np.asarray(step, dtype=np.float64))
    return here


def _positive(curvature: Array, ridge: float) -> Array:
    """Coordinates are rounded there, so it may miss being positive by a little."""
    values, vectors = np.linalg.eigh(curvature)
    return np.asarray((vectors * np.maximum(values, ridge / 2)) @ vectors.T)


def _step(slope: Slope, here: tuple[int, ...], ahead: Array, step: Array) -> tuple[tuple[int, ...], Array]:
    """Along a direction in which the objective falls, not too far and far enough."""
    steep, length, low, high = float(ahead @ step), 1.0, 0.0, math.inf
    best = here, ahead
    for _ in range(_TRIES):
        trial = tuple(
            one + round(Fraction(length * move) * 2**FINEST) for one, move in zip(here, step, strict=True)
        )
        if max(abs(one) for one in trial) > _FURTHEST * 2**FINEST:
            high = length
        else:
            there = slope(trial)
            if np.linalg.norm(there) <= np.linalg.norm(ahead) / 2:
                return trial, there
            along = float(there @ step)
            if along > 0:
                high = length
            else:
                low, best = length, (trial, there)
                if along >= steep / 2:
                    break
        length = (low + high) / 2 if high < math.inf else 2 * length
    return best
