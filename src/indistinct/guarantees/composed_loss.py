"""The sum of independent losses, in one direction: its cumulant, what bounds it, and its levels of delta."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property, reduce

import numpy as np
import numpy.typing as npt

from indistinct.guarantees.discrete_pair import merged
from indistinct.guarantees.pair import Pair, Resolution
from indistinct.guarantees.sampled_gaussians import SampledGaussians, bundled
from indistinct.numerics.arrays import EPS, TINY, Array
from indistinct.numerics.contour import ACCURACY, Scan, scan
from indistinct.numerics.cumulant import CumulantRows, CumulantSum
from indistinct.numerics.rounding import weighted_sum_up
from indistinct.numerics.rule import TooFineError

Term = tuple[Pair, int]
Levels = npt.NDArray[np.intp]

LOG_FLOOR = -690.0
"""Smaller deltas are not told apart: bounds on them are bounds at this one."""
LOG_ACCURACY = math.log(ACCURACY)
_LEVEL = 4.0
_HIGHEST = round(-LOG_FLOOR / _LEVEL)


def _told(pair: Pair) -> float:
    try:
        return pair.told
    except TooFineError:
        return 1.0


def infinite_mass(terms: Sequence[Term]) -> float:
    """Probability, under P, of an infinite loss somewhere, at most."""
    if len(terms) == 1 and terms[0][1] == 1:
        return terms[0][0].infinite_mass
    log_finite = math.fsum(
        count * math.log1p(-pair.infinite_mass) if pair.infinite_mass < 1 else -math.inf
        for pair, count in terms
    )
    return min(abs(math.expm1(log_finite)) * (1 + 4 * EPS), 1.0)


def finite_top(terms: Sequence[Term]) -> float:
    """The largest finite loss."""
    return weighted_sum_up((_finite_top(pair), n) for pair, n in terms)


def _finite_top(pair: Pair) -> float:
    return pair.outer_losses(1.0, -math.inf)[1] if pair.infinite_mass else pair.loss_range[1]


def _about(pair: Pair, epsilon: Array) -> Array:
    """About its delta: in closed form, or as a difference, which an integral need not be taken for."""
    if pair.splits:
        return pair.profile(epsilon)
    log_p, log_q = np.maximum(pair.tails(epsilon)[:2], LOG_FLOOR)
    delta: Array = -np.exp(log_p) * np.expm1(np.minimum(epsilon + log_q - log_p, 0.0))
    return delta


def _both(pair: Pair) -> tuple[Pair, Pair]:
    return pair, pair.reverse()


@dataclass(frozen=True, eq=False)
class ComposedLoss:
    """Independent losses with their counts, in one direction: what engines are asked of."""

    factors: tuple[Term, ...]
    infinite_mass: float
    top: float
    _scans: dict[int, Scan | None] = field(default_factory=dict, compare=False, repr=False)

    @classmethod
    def of(cls, terms: Sequence[Term]) -> "ComposedLoss":
        """A pair that is known by its profile is itself where it is alone; among others a table stands in for
        it, which ends somewhere: what is infinite, and where losses end, is that of what is composed."""
        alone = sum(count for _, count in terms) == 1
        terms = [(pair.as_read(alone=alone), count) for pair, count in terms]
        return cls(tuple(terms), infinite_mass(terms), finite_top(terms))

    @property
    def reversed_infinite_mass(self) -> float:
        return infinite_mass([(pair.reverse(), count) for pair, count in self.factors])

    @cached_property
    def terms(self) -> tuple[Term, ...]:
        """What is composed, with as few terms as may be."""
        return tuple(merged(self.factors))

    @cached_property
    def steps(self) -> int:
        return sum(count for _, count in self.terms)

    @cached_property
    def by_moments(self) -> bool:
        """Whether no engine but the contour knows more than Chernoff's bound."""
        return any(pair.by_moments for pair, _ in self.terms)

    # -- levels ----------------------------------------------------------------------------------

    @staticmethod
    def level_of(log_delta: float) -> int:
        """The level whose tails know a delta of this size best."""
        return round(min(max(-log_delta, 0.0), -LOG_FLOOR) / _LEVEL)

    @staticmethod
    def levels_of(log_delta: Array) -> Levels:
        size = np.minimum(np.maximum(-log_delta, 0.0), -LOG_FLOOR)
        levels: Levels = np.rint(size / _LEVEL).astype(np.intp)
        return levels

    @staticmethod
    def log_delta_of(level: int) -> float:
        return -max(_LEVEL * level, 0.5)

    def log_cut(self, level: int) -> float:
        """The mass each step may leave out at this level."""
        return self.log_delta_of(level) + LOG_ACCURACY - math.log(self.steps)

    def scan(self, level: int) -> Scan:
        """The cumulant on real orders, around the one that decides delta at this level."""
        if level not in self._scans:
            self._scans[level] = self._scanned(level)
        if (found := self._scans[level]) is None:
            raise TooFineError("losses too far apart for their transform")
        return found

    def _scanned(self, level: int) -> Scan | None:
        log_delta, log_cut = self.log_delta_of(level), self.log_cut(level)
        # as if the loss were Gaussian, but no steeper than what its largest values bear
        start = math.sqrt(2 * max(-log_delta, 1.0) / max(self._size, 1e-300))
        bundles, others = self._bundled
        spans = [bundle.span(log_cut) for bundle in bundles] + [pair.span(log_cut) for pair, _ in others]
        largest = max(high for _, high in spans)
        start = min(start, 10 * max(-log_delta, 1.0) / max(largest, 1e-300))
        try:
            return scan(lambda last: self.cumulant(log_cut, 0.0, last).real, log_delta, start)
        except TooFineError:
            return None

    def likely_epsilon(self, log_delta: float) -> float:
        """About where delta has this size."""
        return self.scan(self.level_of(log_delta)).likely_epsilon(log_delta)

    @cached_property
    def _size(self) -> float:
        """About how large the composed loss is."""
        return sum(n * pair.size for pair, n in self.terms)

    def cumulant(self, log_cut: float, first: float, last: float, frequency: float = 0.0) -> CumulantSum:
        """K(z) for Re z between first and last."""
        resolution = Resolution((1 + first, 1 + last), frequency, log_cut)
        bundles, others = self._bundled
        return CumulantSum(
            [(bundle.cumulant(resolution), 1) for bundle in bundles]
            + [(pair.cumulant(resolution), n) for pair, n in others]
        )

    def log_envelope(self, log_cut: float, order: float, frequency: float) -> float:
        """log of a bound on |e^{K(order + is) - K(order)}| for every s >= frequency."""
        resolution = Resolution((1 + order, 1 + order), frequency, log_cut)
        bundles, others = self._bundled
        together = sum(bundle.log_envelope(resolution) for bundle in bundles)
        return together + sum(n * pair.log_envelope(resolution) for pair, n in others)

    @property
    def turns(self) -> bool:
        """Whether a line of the reversed loss costs little, along with one of this."""
        return bool(self._bundled[0])

    def both_cumulants(self, log_cut: float, order: float, frequency: float) -> CumulantSum:
        """K(z) for Re z = order: of this loss, and of the reversed one."""
        resolution = Resolution((1 + order, 1 + order), frequency, log_cut)
        bundles, others = self._bundled
        return CumulantSum(
            [(bundle.both_cumulants(resolution), 1) for bundle in bundles]
            + [(CumulantRows([way.cumulant(resolution) for way in _both(pair)]), n) for pair, n in others]
        )

    def both_envelopes(self, log_cut: float, order: float, frequency: float) -> list[float]:
        """`log_envelope` of this loss, and of the reversed one."""
        resolution = Resolution((1 + order, 1 + order), frequency, log_cut)
        bundles, others = self._bundled
        total = reduce(np.add, [bundle.both_envelopes(resolution) for bundle in bundles])
        for pair, n in others:
            total = total + [n * way.log_envelope(resolution) for way in _both(pair)]
        envelopes: list[float] = total.tolist()
        return envelopes

    @cached_property
    def _bundled(self) -> tuple[list[SampledGaussians], list[Term]]:
        return bundled(self.terms)

    @cached_property
    def most(self) -> float:
        """No delta is larger: 1 less the probability that no step tells anything (coupling)."""
        bundles, others = self._bundled
        untold = [n * math.log1p(-min(_told(pair), 1 - EPS)) for pair, n in others]
        untold += [bundle.log_untold for bundle in bundles]
        return min(max(-math.expm1(math.fsum(untold)) * (1 + 8 * EPS * self.steps), TINY), 1.0)

    def single(self, epsilon: Array) -> Array:
        """The sum of the steps' own deltas: about delta, where single large and finite losses make it up."""
        total: Array = np.sum([n * (_about(pair, epsilon) - pair.infinite_mass) for pair, n in self.terms], 0)
        return np.maximum(total, 0.0)

    def levels_at(self, epsilon: Array) -> Levels:
        """The level of delta at each epsilon: where the Chernoff bound of a level's own law has that level's
        size."""
        level, known = np.full(epsilon.shape, self.level_of(-12.0)), np.full(epsilon.shape, -1)
        open_ = np.ones(epsilon.shape, dtype=bool)
        while open_.any():
            for one in np.unique(level[open_]).tolist():
                rows = np.flatnonzero(open_ & (level == one))
                bounds, last = self.scan(one).read(epsilon[rows]), self.scan(one).orders[-1]
                found = self.levels_of(bounds.high - 1.5)
                # a higher order than all of this level's may be better, as long as that helps
                more = (-bounds.slope >= last) & (found > known[rows]) & (one < _HIGHEST)
                # at this level or above nothing was cut that matters, so the bound is the law's own
                open_[rows] = more | (found > one)
                level[rows] = np.minimum(
                    np.where(more, _HIGHEST, found), np.where(open_[rows], 2 * one + 8, found)
                )
                known[rows] = found
        return level
