"""Logistic regression for a pure epsilon: the maximum of a likelihood with noise in its slope (objective
perturbation), and the curvature there.

What is released are coefficients b and then the curvature at b, with noise. Passes over the records in
between, by which b is found, are private and leave nothing behind. With s the scale, m the number of
columns and the constant, Λ ≥ m s and noise of scale s/c in the curvature, c being `_CURVED`, a record
costs (`_TOGETHER` + `_SLACK`)/s. The proof:

**The minimum.** The chance p(t) is a table with straight lines between (`likelihood_sums`), and rises, so
a record's loss, the integral of (p(t) - y) dt to its logit t = x'b, is convex with a continuous slope.
Let b̂ be where Σ loss + (Λ/2) |b|² + Z'b is least, so that Z = S(b̂) - Λ b̂ with S = Σ (y - p) x. This is
a one-to-one map of b̂, Lipschitz in both directions, and its derivative -(H + Λ) is there for almost all
b: b̂ has the density g(S(b) - Λ b) det(H(b) + Λ). Z is a multiple of `grain` with probability
proportional to e^(-|z|/s), |z| the largest, over columns, of the sum of the sizes of their coordinates
(`block_noise`), and a uniform rest of up to half a grain in each coordinate. So log g changes by at most
(|v| + w grain)/s where S moves by v, w being the most coordinates of a column. A record more moves S(b)
by q x with q = |y - p|, of size at most q, as x has at most one coordinate in each column that is not 0,
of size at most 1. It moves H by p' x x', where p' is the slope of the table, and so the determinant by a
factor of 1 + p' x'(H + Λ)^-1 x ≤ 1 + p' m/Λ ≤ e^(p'/s), with p' ≤ p (1 - p) + η = q (1 - q) + η
(`steeper`).

**Rounded exactly.** What is released is b̂, rounded to multiples of `PLACE`. The search ends at a b̃
whose slope of the objective is short, and by strong convexity |b̃ - b̂| is at most its length over Λ,
with what rounding of records and the rest of Z that is not drawn yet may add. Where that does not decide
how a coordinate is rounded, more bits of the rest are drawn, and everything is computed with as many bits
more. So neither rounding nor the search has a part in what is released, whatever the records are; only
how long it takes depends on them.

**The curvature** at these coefficients b, a half of `PLACE` from b̂ at most in each coordinate, has noise
by `block_noise` too. A record moves one number of each two columns, by at most its weight there, p (1 -
p) at b, which is q (1 - q) at b̂ but for a rest: at most p' m `PLACE`/2 and `CURVED_UP`. So both releases
together have a density that a record changes by at most e^((q + (1 + c) q (1 - q) + slack)/s), at the
same q: **where it moves the slope most, it moves neither volume nor curvature.** The largest value over q
is (2 + c)²/(4 (1 + c)).

A record less costs no more. One that is replaced moves the slope and the curvature by no more than both
together, and the determinant by at most the larger factor of the two: at most twice as much. Several
records of a user cost as much each, since every change of H has rank one and all matrices in between are
at least Λ.

Objective perturbation: Chaudhuri, Monteleoni and Sarwate 2011, "Differentially private empirical risk
minimization"; Kifer, Smith and Thakurta 2012, for the density; Iyengar et al. 2019, for minima that are
not exact, which needs noise of its own; Awan and Slavković 2021, for noise by the largest coordinate.
"""

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
    FineSlopes,
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
from indistinct.guarantees.stated import KnownByClaim, PureDP
from indistinct.mechanisms import DiscreteLaplace
from indistinct.mechanisms.release import Lattice, no_guarantee
from indistinct.noise import Source, SystemSource
from indistinct.noise.k_norm import block_noise, block_variance
from indistinct.numerics.rounding import quotient_up, rounded_up

_CURVED = 2
"""How many times the noise in the slope has the scale of that in the curvature: a public rule."""
_TOGETHER = Fraction((2 + _CURVED) ** 2, 4 * (1 + _CURVED))
"""What a record costs at scale 1: the largest q + (1 + `_CURVED`) q (1 - q)."""
_SLACK = Fraction(1, 2**11)
"""The same of tables, grains and rounding."""
_LEAST = 1 / 16
"""No ridge is less than that for each column, whatever the scale."""
_GRAIN = 2.0**-44
"""Of the noise in the slope, or finer."""
PLACE = 2.0**-20
"""Coefficients are rounded to multiples of it."""
_LEFT = 2.0**-36
"""What the search may leave of the slope at first, for each column, and of the ridge if that is larger: no
coefficient is resolved further."""
_MORE = 64
"""Bits that are added to everything where that does not decide how a coefficient is rounded."""
_FURTHEST = 2.0**22
"""No coefficient of a minimum is further out."""
_TRIES = 64
_MOST = 700.0
"""Beyond this epsilon outcomes are as good as certain: no float tells their chances apart."""


def cost(unit: Unit, adjacency: Adjacency) -> float:
    """Of one release at scale 1: its epsilon."""
    copies = records_of(unit) * (1 if adjacency is Adjacency.ADD_REMOVE else 2)
    return rounded_up(copies * (_TOGETHER + _SLACK))


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
        return 2.0**-CURVATURE

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
        if epsilon > _MOST:
            return no_guarantee(adjacency)
        return KnownByClaim(PureDP(epsilon, adjacency=adjacency))

    def noisy(self, data: Any, source: Source | None = None) -> tuple[Values, bool]:
        source, noise = SystemSource() if source is None else source, self.noise_in
        records = SearchedRecords(table(data).kept(), noise.axes, self.query.unit)
        start = noise.start
        # Noise that a key can draw again is another one for other records: the exact slope and curvature at
        # coefficients that nobody has chosen tell them apart.
        found = _rounded(noise, records, source.about(records.content(start)))
        place = tuple(one * int(PLACE * 2**FINEST) for one in found)
        numbers = records.curvature(place)
        noisy = noise.noisy_curvature(numbers, source.about(records.content(place)))
        values = np.concatenate([np.array(found, dtype=np.float64) * PLACE, noisy * 2.0**-CURVATURE])
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
        """In units of the sum."""
        return Fraction(self.scale) * int(2**CURVATURE) / _CURVED

    @property
    def start(self) -> tuple[int, ...]:
        """Small coefficients that nobody has chosen, all bits of them."""
        digests = (blake2b(str(place).encode(), digest_size=8).digest() for place in range(self.size))
        return tuple((int.from_bytes(one, "big") - 2**63) << FINEST - 66 for one in digests)

    def drawn(self, source: Source) -> "DrawnSlope":
        """Noise in the slope."""
        whole = block_noise(self._sums.slope_blocks, Fraction(self.scale) / Fraction(self.grain), source)
        return DrawnSlope([int(one) for one in whole], Fraction(self.grain), source)

    def noisy_curvature(self, numbers: list[int], source: Source) -> Array:
        drawn = block_noise(self._sums.curvature_blocks, self._curvature_scale, source)
        noisy = np.array(numbers, dtype=object)
        noisy[self.order] += drawn.astype(object)
        return noisy.astype(np.float64)


@dataclass
class DrawnSlope:
    """Noise in the slope, of which bits are drawn as they are needed: each coordinate is uniform in an
    interval of one grain, around what was drawn first."""

    whole: list[int]
    grain: Fraction
    source: Source
    rest: list[int] = field(default_factory=list)
    bits: int = 0

    def refine(self) -> None:
        self.bits += _MORE
        before = self.rest or [0] * len(self.whole)
        self.rest = [(one << _MORE) + self.source.integer(_MORE) for one in before]

    @property
    def middle(self) -> list[Fraction]:
        """Of where it is known to be."""
        if not self.bits:
            return [one * self.grain for one in self.whole]
        parts = (Fraction(2 * one + 1, 2 << self.bits) for one in self.rest)
        half = Fraction(1, 2)
        return [(one + part - half) * self.grain for one, part in zip(self.whole, parts, strict=True)]

    @property
    def half(self) -> Fraction:
        """How far it may be from there, in each coordinate."""
        return self.grain / (2 << self.bits)


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

    def slope(self, at: tuple[int, ...], bits: int) -> list[Fraction]:
        """At coefficients in parts of 2^`bits`."""
        if bits == FINEST:
            return [Fraction(one, 2**SLOPE) for one in self._totals(at)[: len(at)]]
        fine = FineSlopes(self.axes, at, bits)
        return [
            Fraction(int(one), 2**fine.places) for one in self.table.total(BoundedSum(fine, self.unit)).units
        ]

    def curvature(self, at: tuple[int, ...]) -> list[int]:
        """In units of 2^-CURVATURE."""
        return [one >> SLOPE - CURVATURE for one in self._totals(at)[len(at) :]]


Place = tuple[int, ...]
Slope = Callable[[Place], Array]


def _rounded(noise: Perturbation, records: SearchedRecords, source: Source) -> Place:
    """The exact minimum, rounded to multiples of `PLACE`, in these units."""
    drawn, at, bits = noise.drawn(source), noise.start, FINEST
    left = _LEFT * max(len(noise.axes), noise.ridge)
    while True:
        at = _least(noise, records, drawn.middle, at, bits, left)
        each = float(drawn.half) + (MOST_RECORDS * 2.0**-ROUNDING if bits == FINEST else 0.0)
        off = Fraction((left + math.sqrt(noise.size) * each) / noise.ridge * (1 + 1e-9))
        near, far = (
            tuple(
                math.floor((Fraction(one, 2**bits) + sign * off) / Fraction(PLACE) + Fraction(1, 2))
                for one in at
            )
            for sign in (-1, 1)
        )
        if near == far:
            return near
        drawn.refine()
        at, bits, left = tuple(one << _MORE for one in at), bits + _MORE, left * 2.0 ** (4 - _MORE)


def _least(
    noise: Perturbation, records: SearchedRecords, drawn: list[Fraction], start: Place, bits: int, left: float
) -> Place:
    """Where the slope of the objective is no longer than `left`, by Newton's method, in parts of
    2^`bits`. Steps end where the objective falls less than half as steeply along them, or where the slope
    is half as long: both bring a strongly convex function with a Lipschitz slope down to its least
    (Zoutendijk 1970), and near it the steps are whole ones."""
    ridge = Fraction(noise.ridge)

    def slope(at: Place) -> Array:
        told = zip(records.slope(at, bits), at, drawn, strict=True)
        return np.array([float(ridge * one / 2**bits + z - own) for own, one, z in told])

    here, ahead = start, slope(start)
    while float(np.linalg.norm(ahead)) * (1 + 1e-9) > left:
        near = tuple(one >> bits - FINEST for one in here)
        numbers = np.array(records.curvature(near), dtype=np.float64) * 2.0**-CURVATURE
        curvature = noise.terms.matrix(numbers) + noise.ridge * np.eye(noise.size)
        step = -np.linalg.solve(_positive(curvature, noise.ridge), ahead)
        here, ahead = _step(slope, here, ahead, np.asarray(step, dtype=np.float64), bits)
    return here


def _positive(curvature: Array, ridge: float) -> Array:
    """Coordinates are rounded there, so it may miss being positive by a little."""
    values, vectors = np.linalg.eigh(curvature)
    return np.asarray((vectors * np.maximum(values, ridge / 2)) @ vectors.T)


def _step(slope: Slope, here: Place, ahead: Array, step: Array, bits: int) -> tuple[Place, Array]:
    """Along a direction in which the objective falls, not too far and far enough."""
    steep, length, low, high = float(ahead @ step), 1.0, 0.0, math.inf
    best = here, ahead
    for _ in range(_TRIES):
        moves = (round(Fraction(length * float(move)) * 2**bits) for move in step)
        trial = tuple(one + move for one, move in zip(here, moves, strict=True))
        if max(abs(one) for one in trial) > int(_FURTHEST) << bits:
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
