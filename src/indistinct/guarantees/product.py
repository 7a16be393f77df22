"""Composition in one direction: the product of directed pairs, read through the engines.

Cumulants add (adaptively too: the product pair dominates, Zhu, Dong and Wang 2022, Theorem 10), so a
composition is a table pair -> count and costs the same for one step and for a billion.
"""

import math
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from indistinct.guarantees import tails
from indistinct.guarantees.composed_loss import ComposedLoss, Term, finite_top, infinite_mass
from indistinct.guarantees.discrete_pair import DiscretePair
from indistinct.guarantees.loss_reader import LossReader
from indistinct.guarantees.noise_pairs import GaussianPair
from indistinct.guarantees.pair import Pair
from indistinct.guarantees.tails import EXACT, NARROW, ROUGH, Need
from indistinct.numerics.arrays import EPS, TINY, Array
from indistinct.numerics.contour import Scan
from indistinct.numerics.rounding import weighted_sum_up
from indistinct.numerics.rule import TooFineError

Ends = tuple[Array, Array]
"""Of intervals: lower and upper ones."""
_FOR_TABLES = Need(enough=1e-32, accuracy=ROUGH)
"""Smaller deltas are not told apart, and what costs much is not asked."""
_FEW = 4
"""Parts of a composition, each of which is read alone where not enough is known of all."""
_SHARPEST = 1e9
"""A pair with larger losses, among others, counts as giving everything away."""
GIVEN_AWAY = DiscretePair((0.0, 1.0), (1.0, 0.0), exact=False)
_ORDERS = np.geomspace(1e-6, 1e6, 13)
"""Of divergences, less 1, that are asked for where nothing else is known."""
_CONTRADICTS = 1e-6
_NEAR_ONE = 1e-7
"""Orders closer to 1 than this are read at the other end of that interval."""


@dataclass(frozen=True)
class Product:
    """Independent losses, each with a count; equal pairs merged, Gaussian shifts added in square, and what is
    read in hops gathered, with them."""

    terms: tuple[Term, ...]

    @classmethod
    def of(cls, terms: list[Term]) -> "Product":
        counts: dict[Pair, int] = {}
        shift, least, dominates = 0.0, 0.0, False
        alone = len(terms) == 1 and terms[0][1] == 1
        for pair, count in terms:
            if not (alone or pair.profiled) and count and _SHARPEST < pair.loss_range[1] < math.inf:
                pair = GIVEN_AWAY  # as good as that, and no engine could tell
            if isinstance(pair, GaussianPair):
                shift = math.hypot(shift, math.sqrt(count) * pair.shift)
                least = math.hypot(least, math.sqrt(count) * (pair.least if pair.dominates else pair.shift))
                dominates |= pair.dominates and count > 0
            elif count and not pair.tells_nothing:
                counts[pair] = counts.get(pair, 0) + count
        together = [term for term in counts.items() if term[0].gathers]
        merged = [term for term in counts.items() if not term[0].gathers]
        if together:
            together += [(GaussianPair(shift, dominates, least * dominates), 1)] if shift else []
            merged.append((together[0][0].gathered(together), 1))
            shift = 0.0
        if shift or not merged:
            dominates &= shift > 0
            merged.append((GaussianPair(shift, dominates, least * dominates), 1))
        return cls(tuple(merged))

    def __str__(self) -> str:
        return counted_terms(self.terms)

    def as_bound(self) -> "Product":
        """The same, of something that it only dominates."""
        return Product.of([(pair.as_bound(), count) for pair, count in self.terms])

    def reverse(self) -> "Product":
        return self._turned  # one and the same, so that its tails are drawn once

    @cached_property
    def _turned(self) -> "Product":
        return Product.of([(pair.reverse(), count) for pair, count in self.terms])

    @cached_property
    def infinite_mass(self) -> float:
        """Probability, under P, of an infinite loss somewhere, at most."""
        return infinite_mass(self.terms)

    @property
    def _surely_infinite(self) -> float:
        """The same rounded down, of an exact composition."""
        return self.infinite_mass * (1 - 64 * EPS)

    @property
    def single(self) -> Pair | None:
        """The pair, if there is just one: its profile is known in closed form."""
        (pair, count), *more = self.terms
        return pair if count == 1 and not more else None

    @property
    def exact(self) -> bool:
        """Whether what is below a reading's lower end is impossible: all pairs are neighbours' own, or the
        only one is tight. What stands in for a profile among others only dominates."""
        if (alone := self.single) is not None:
            return alone.tight
        return all(pair.exact and not pair.profiled for pair, _ in self.terms)

    @property
    def loss_range(self) -> tuple[float, float]:
        ranges = [(pair.loss_range, count) for pair, count in self.terms]
        lowest = -weighted_sum_up((-low, n) for (low, _), n in ranges)
        return lowest, weighted_sum_up((high, n) for (_, high), n in ranges)

    @cached_property
    def finite_top(self) -> float:
        """The largest finite loss."""
        return finite_top(self.terms)

    def log_moment(self, order: float) -> float:
        """log E_Q[(dP/dQ)^order] over finite losses."""
        return sum(count * pair.log_moment(order) for pair, count in self.terms)

    def log_moments(self, orders: Array) -> Array:
        """The same at many finite orders."""
        moments: Array = np.sum([count * pair.log_moments(orders) for pair, count in self.terms], axis=0)
        return moments

    def mean(self) -> float:
        """E_P[L], the Kullback-Leibler divergence."""
        if self.infinite_mass > 0:
            return math.inf
        return sum(count * pair.finite_mean for pair, count in self.terms)

    def renyi(self, order: float) -> float:
        """The Rényi divergence of any order >= 1/2: K(order-1)/(order-1), its limits at 1 and infinity."""
        if math.isinf(order):
            return math.inf if self.infinite_mass > 0 else max(self.loss_range[1], 0.0)
        if 1 - order < _NEAR_ONE and self.infinite_mass > 0:
            return min((above.renyi(order) for above in self._above), default=math.inf)
        if order == 1 or 0 < 1 - order < _NEAR_ONE:
            # increasing in the order, so this bounds from above, and so does the next one
            with suppress(TooFineError):
                return max(self.mean(), 0.0)
            order = 1 + _NEAR_ONE
        order = max(order, 1 + _NEAR_ONE) if order > 1 else order
        log_moment = self.log_moment(order)
        return max(log_moment / (order - 1), 0.0) if log_moment > -math.inf else math.inf

    def renyi_at(self, orders: Array) -> Array:
        """The same for many finite orders at once, an array of any shape."""
        flat = np.where(np.abs(orders - 1) < _NEAR_ONE, 2.0, orders).ravel()
        moments = self.log_moments(flat)
        with np.errstate(divide="ignore"):
            values = np.where(moments > -math.inf, np.maximum(moments / (flat - 1), 0.0), math.inf)
        values = values.reshape(orders.shape)
        if self.infinite_mass > 0:
            bounds = [np.full(orders.shape, math.inf), *(above.renyi_at(orders) for above in self._above)]
            values = np.where(orders > 1, np.min(bounds, axis=0), values)
        for k in np.argwhere(np.abs(orders - 1) < _NEAR_ONE):
            values[tuple(k)] = self.renyi(float(orders[tuple(k)]))
        return values

    def delta_bounds(
        self,
        epsilon: Array,
        need: Need = EXACT,
        other: "Product | None" = None,
        *,
        upper_only: bool = False,
    ) -> Ends:
        """Lower and upper bounds on delta at each epsilon >= 0 (a flat array), each as if it were alone, as
        close as is needed, if that can be. For upper ones only, no other composition is read for a lower
        one."""
        top, infinite = self.loss.top, self.loss.infinite_mass
        known_infinite = self._surely_infinite if self.exact else 0.0
        low, high = np.full(epsilon.shape, known_infinite), np.ones(epsilon.shape)
        beyond = epsilon >= top
        high[beyond] = infinite
        open_ = np.flatnonzero(~beyond & (infinite < 1))
        if open_.size:
            try:
                low[open_], high[open_] = self.reader.delta_bounds(
                    epsilon[open_], need.at(epsilon.shape, open_), None if other is None else other.loss
                )
            except TooFineError:
                known = np.exp(np.minimum(self._moments.read(epsilon[open_]).high, 0.0))
                high[open_] = np.minimum(infinite + known * (1 + 8 * EPS), self.loss.most)
        self._narrow(Product.delta_bounds, epsilon, low, high, need, upper_only)
        return low, high

    def delta(self, epsilon: Array) -> Array:
        """Upper bounds on delta."""
        return self.delta_bounds(epsilon, upper_only=True)[1]

    def coarse_delta(self, epsilon: Array) -> Array:
        """Upper bounds on delta for a table, whose own error is larger and which ends somewhere."""
        return self.delta_bounds(epsilon, _FOR_TABLES, upper_only=True)[1]

    def epsilon_bounds(
        self,
        delta: Array,
        need: Need = EXACT,
        other: "Product | None" = None,
        *,
        upper_only: bool = False,
    ) -> Ends:
        """Lower and upper bounds on the smallest epsilon >= 0 for each delta (a flat array)."""
        top, infinite = max(self.loss.top, 0.0), self.loss.infinite_mass
        low, high = np.zeros(delta.shape), np.full(delta.shape, top)
        inside, unresolved = (delta > infinite) & (delta < 1), False
        if not inside.all():
            high[delta < infinite], high[delta >= 1] = math.inf, 0.0
            if self.exact:
                sure, lowest = self._surely_infinite, max(self.loss_range[0], -1e300)
                least = top - 64 * EPS * (top - min(lowest, 0.0))  # which was rounded up
                low[(delta <= sure) & (delta < 1)] = max(least, 0.0) if top < math.inf else top
                low[delta < sure] = math.inf
        if top > 0 and inside.any():
            open_ = slice(None) if inside.all() else inside
            needed = need.at(delta.shape, open_)
            known = None if self.single is None else self.single.found_epsilon(delta[open_])
            try:
                low[open_], high[open_] = (
                    self.reader.epsilon_bounds(delta[open_], needed, None if other is None else other.loss)
                    if known is None
                    else (0.0, known)
                )
            except TooFineError:
                high[open_] = np.where(delta[open_] >= self.loss.most, 0.0, top)
                unresolved = True
            if top < math.inf:  # which was rounded up
                low[inside] = np.minimum(low[inside], top * (1 - 64 * EPS))
        self._narrow(Product.epsilon_bounds, delta, low, high, need, upper_only)
        for row in np.flatnonzero(inside & (unresolved | np.isinf(high))):
            found = self._moments.least_epsilon(math.log(delta[row] - infinite))
            high[row] = min(high[row], max(found, 0.0))
        return low, high

    def epsilon(self, delta: Array, need: Need = EXACT) -> Array:
        """Upper bounds on epsilon."""
        return self.epsilon_bounds(delta, need, upper_only=True)[1]

    def covers_reverse(self, epsilon: Array, delta: Array) -> tails.Flags:
        """Where it costs little to see that the other direction has no larger delta at an epsilon."""
        return self.reader.covers_reverse(epsilon, delta)

    @cached_property
    def _moments(self) -> Scan:
        """What divergences tell, which are always known: where no engine can resolve the losses."""
        moments = self.log_moments(1 + _ORDERS)
        known = np.isfinite(moments)
        return Scan(_ORDERS[known], moments[known])

    def _narrow(
        self,
        bounds: Callable[..., Ends],
        at: Array,
        low: Array,
        high: Array,
        need: Need,
        upper_only: bool,
    ) -> None:
        """By what dominates it and by what it dominates, where bounds are wide."""
        wide = high > low + need.accuracy * np.minimum(high, 1e300) + need.slack
        rows = np.flatnonzero(wide & (high > need.enough * (1 + NARROW))) if wide.any() else ()
        for above in self._above if len(rows) else ():
            high[rows] = np.minimum(high[rows], bounds(above, at[rows], upper_only=True)[1])
        for below in self._below if len(rows) and not upper_only else ():
            least = bounds(below, at[rows], Need(low[rows]))[0]  # what is less than is known says nothing
            # more than rounding above the upper end: one of the two is wrong, and nobody knows which
            wrong = least > high[rows] * (1 + _CONTRADICTS) + TINY
            low[rows] = np.where(wrong, low[rows], np.minimum(np.maximum(low[rows], least), high[rows]))
            high[rows] = np.where(wrong, least, high[rows])

    @cached_property
    def _above(self) -> "tuple[Product, ...]":
        """What dominates it, if that is something else, and can be listed."""
        known = [(pair.above, n) for pair, n in self.terms]
        found = [
            Product.of([(above[min(k, len(above) - 1)], n) for above, n in known])
            for k in range(max(len(above) for above, _ in known))
        ]
        return tuple(one for one in found if one != self and one.reader.listed is not None)

    @cached_property
    def loss(self) -> ComposedLoss:
        """What engines are asked of."""
        return ComposedLoss.of(self.terms)

    @cached_property
    def _below(self) -> "tuple[Product, ...]":
        """What it dominates, if that is something else: of each pair what that does, and of a few pairs each
        alone, and once; both ways round, where it is symmetric."""
        known = [(pair.below, n) for pair, n in self.terms]
        found = []
        for k in range(max(len(below) for below, _ in known)):
            terms = [(one, n * count) for below, n in known for one, count in below[min(k, len(below) - 1)]]
            found += [Product.of(terms)] if terms else []
        few = self.terms if len(self.terms) <= _FEW else ()
        found += [Product.of([(pair, n)]) for pair, count in few for n in (count, 1)]
        found += [one.reverse() for one in found] if self.reverse() == self else []
        return tuple(dict.fromkeys(one for one in found if one != self))

    @cached_property
    def reader(self) -> LossReader:
        return LossReader(self.loss, self.exact)


def counted_terms(terms: Iterable[tuple[object, int]]) -> str:
    """A composition in words: how often, and what."""
    return " + ".join(repr(one) if count == 1 else f"{count} * {one!r}" for one, count in terms)
