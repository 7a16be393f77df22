"""Pairs that are known by their profile: a composition as a single step, and a group of records.

Alone they are read through the profile, with nothing lost. Among others a finite pair that dominates them
stands in (`stand_in`).
"""

import math
from abc import abstractmethod
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Protocol

import numpy as np

from indistinct.errors import ArgumentError
from indistinct.guarantees.discrete_pair import DiscretePair
from indistinct.guarantees.dominating_pairs import both_ways, finite_pair, one_after_another, tabulated_pair
from indistinct.guarantees.pair import Pair, Tails, Wave
from indistinct.guarantees.pair_kinds import SymmetricPair, of_both_signs
from indistinct.guarantees.product import Product
from indistinct.guarantees.tabled_moments import log_chernoff, tabled_mean, tabled_moment
from indistinct.guarantees.tails import ROUGH, Need
from indistinct.numerics.arrays import EPS, TINY, Array
from indistinct.numerics.power_series import multiplied
from indistinct.numerics.rule import LossRule

_MOST = 4096
"""Larger groups are refused, unless they are known in closed form."""
_PLACES = 33
_ROUNDS = 40
_FINER = 6.0
"""Grids of places, how often they are laid, and how much finer each time."""
_FAR = 600.0
"""e^epsilon is a number up to here."""


class ProfiledPair(Pair):
    """Known by `profile` and `reversed_profile`, where it ends, and by a table that dominates it."""

    profiled = True
    size = 0.0
    """It is that of the table."""

    @property
    @abstractmethod
    def stand_in(self) -> DiscretePair: ...

    def rule_on(self, low: float, high: float, wave: Wave) -> LossRule:
        return self.stand_in.rule_on(low, high, wave)

    def tails(self, loss: Array) -> Tails:
        return self.stand_in.tails(loss)

    def outer_losses(self, tilt: float, log_tail: float) -> tuple[float, float]:
        return self.loss_range if math.isinf(log_tail) else self.stand_in.outer_losses(tilt, log_tail)


class Diverging(Protocol):
    """What has Rényi divergences: a guarantee."""

    def _renyi(self, order: float) -> float: ...


@dataclass(frozen=True)
class TabledPair(ProfiledPair):
    """A table, which ends somewhere and gives away what is beyond, and Rényi divergences, which know that
    this is not given away, if they are finite."""

    table: DiscretePair
    known: Diverging

    @property
    def stand_in(self) -> DiscretePair:
        return self.table

    def as_read(self, *, alone: bool) -> Pair:
        return self.table

    @cached_property
    def given_away(self) -> tuple[float, float]:  # type: ignore[override]
        return (0.0, 0.0) if math.isfinite(self.known._renyi(2.0)) else self.table.given_away

    @property
    def loss_range(self) -> tuple[float, float]:
        (low, high), most = self.table.loss_range, self.known._renyi(math.inf)
        return max(low, -most), min(high, most)

    def profile(self, epsilon: Array) -> Array:
        return self.table.profile(epsilon)

    def reversed_profile(self, epsilon: Array) -> Array:
        return self.table.reversed_profile(epsilon)

    def reverse(self) -> Pair:
        return self if self.table.symmetric else TabledPair(self.table.reverse(), self.known)

    def log_moment(self, order: float) -> float:
        higher = max(order, 1 - order)  # the divergence is that of both directions
        moment = (higher - 1) * self.known._renyi(higher) * (1 + 4 * EPS) if higher != 1 else 0.0
        if higher <= 1:  # less is more
            return max(moment, self.table.log_moment(order))
        return moment if any(self.table.given_away) else min(moment, self.table.log_moment(order))

    @property
    def finite_mean(self) -> float:
        return self.known._renyi(1.0)


@dataclass(frozen=True)
class CompositionPair(ProfiledPair):
    """Several steps as one."""

    product: Product
    enough: float = 0.0
    upper: bool = True

    @property
    def exact(self) -> bool:  # type: ignore[override]
        return self.product.exact

    @cached_property
    def stand_in(self) -> DiscretePair:
        about, end = Need(accuracy=ROUGH), np.array([1e-30])
        reach = max(float(one.epsilon(end, about)[0]) for one in (self.product, self._backward))
        top = max(self.product.finite_top, self._backward.finite_top)
        reach = top if top <= 2 * reach else reach  # where nothing is left to be given away
        return tabulated_pair(self.product.coarse_delta, self._backward.coarse_delta, reach)

    def log_moment(self, order: float) -> float:
        return self.product.log_moment(order)

    def log_moments(self, orders: Array) -> Array:
        return self.product.log_moments(orders)

    @property
    def finite_mean(self) -> float:
        return sum(count * pair.finite_mean for pair, count in self.product.terms)

    @property
    def _backward(self) -> Product:
        return self.product.reverse()

    @property
    def given_away(self) -> tuple[float, float]:  # type: ignore[override]
        return self.product.infinite_mass, self._backward.infinite_mass

    @property
    def loss_range(self) -> tuple[float, float]:
        # what one of them alone has is a loss, too, and finite where it is sampled
        of_p, of_q = self.given_away
        low, high = -self._backward.finite_top, self.product.finite_top
        return -math.inf if of_q else low, math.inf if of_p else high

    def outer_losses(self, tilt: float, log_tail: float) -> tuple[float, float]:
        if math.isinf(log_tail):
            return self.loss_range[0], self.product.finite_top
        return super().outer_losses(tilt, log_tail)

    def profile(self, epsilon: Array) -> Array:
        return self._read(self.product, self._backward, epsilon)

    def reversed_profile(self, epsilon: Array) -> Array:
        return self._read(self._backward, self.product, epsilon)

    def _read(self, forward: Product, backward: Product, epsilon: Array) -> Array:
        """At any epsilon: below zero 1 - e^epsilon + e^epsilon delta(-epsilon) of the other direction."""
        flat = epsilon.ravel()
        delta, below, need = np.empty_like(flat), flat < 0, Need(self.enough)
        above = forward.delta_bounds(flat[~below], need, upper_only=self.upper)
        rest = backward.delta_bounds(-flat[below], need, upper_only=self.upper)[self.upper]
        delta[~below] = above[self.upper]
        delta[below] = -np.expm1(flat[below]) + np.exp(flat[below]) * rest
        return delta.reshape(epsilon.shape)

    def coarse(self, enough: float) -> Pair:
        return replace(self, enough=enough)

    @property
    def from_below(self) -> Pair:
        return replace(self, upper=False)

    def reverse(self) -> Pair:
        return self if self._backward == self.product else CompositionPair(self._backward)

    def likely_epsilon(self, log_delta: float) -> float:
        return float(self.product.epsilon(np.exp([log_delta]))[0])


def as_step(pair: Pair) -> Pair:
    """The pair, or, where only a composition of it has a profile, that of one step."""
    return CompositionPair(Product.of([(pair, 1)])) if pair.by_moments else pair


@dataclass(frozen=True)
class GroupPair(ProfiledPair, SymmetricPair):
    """Several records at once, of which some may be added and some removed; no loss may be infinite.

    The best true positive rate T of one record, T(x) = min over a of delta(a) + e^a x, becomes T o ... o T
    (Dong, Roth and Su 2022, Theorem 2.14), so

        delta_k(epsilon) = min over 0 = s_0, ..., s_k = epsilon of sum_j e^{s_{j-1}} delta(s_j - s_{j-1}).

    Every choice of the s_j is a bound. In the e^{s_j} the sum is convex, as perspectives of a convex function
    are, so that a search on grids that shrink around the best choice finds it.
    """

    pair: Pair
    members: int
    exact = False

    @cached_property
    def stand_in(self) -> DiscretePair:
        return group_table(self.pair, self.members)

    def _log_far(self, power: float) -> float:
        """With equal steps delta_k(epsilon) is at most k e^{K(c)} e^{-b epsilon}, b = (c - k + 1) / k, where
        one record has e^{K(c)} as its moment of order 1 + c."""
        order = self.members * (1 + power)
        one = max(self.pair.log_moment(order), self.pair.reverse().log_moment(order))
        return log_chernoff(order - 1, one) + math.log(self.members)

    def log_moment(self, order: float) -> float:
        return tabled_moment(self.stand_in, max(order, 1 - order), self._log_far)

    @cached_property
    def finite_mean(self) -> float:
        return min(tabled_mean(self.stand_in, self._log_far), self.log_moment(2.0))

    @property
    def loss_range(self) -> tuple[float, float]:
        top = self.members * max(abs(end) for end in self.pair.outer_losses(1.0, -math.inf))
        return -top, top

    def as_read(self, *, alone: bool) -> Pair:
        return self if alone and not self._tabled else self.stand_in

    @cached_property
    def _tabled(self) -> bool:
        """Whether deltas of one record take their time, or are none of its own."""
        return self.pair.profiled or any(self.pair.as_read(alone=True).given_away)

    def profile(self, epsilon: Array) -> Array:
        if self._tabled:
            return self.stand_in.profile(epsilon)
        return of_both_signs(epsilon, self._delta(np.abs(epsilon).ravel()).reshape(epsilon.shape))

    def likely_epsilon(self, log_delta: float) -> float:
        return self.members * self.pair.likely_epsilon(log_delta / self.members)

    def _one(self, epsilon: Array) -> Array:
        return np.maximum(self.pair.profile(epsilon), self.pair.reversed_profile(epsilon))

    def _delta(self, epsilon: Array) -> Array:
        """By dynamic programming over s_1, ..., s_{k-1}, each on a grid of `_PLACES` points."""
        epsilon = np.minimum(epsilon, _FAR)  # delta falls
        # about equal steps to begin with, and room for all else
        centres = epsilon[:, None] * np.arange(self.members + 1) / self.members
        steps = (epsilon / self.members + self._reach) / _PLACES
        fine = 1e-4 * np.maximum(epsilon / self.members, 1e-6 * self._reach)
        best, calm = np.full(epsilon.shape, np.inf), np.zeros(epsilon.shape)
        rows = np.arange(epsilon.size)
        for _ in range(_ROUNDS):
            found, choice = self._search(centres[rows], steps[rows])
            gain = best[rows] - found
            inside = np.abs(choice).max(axis=1) < _PLACES // 2
            best[rows] = np.minimum(best[rows], found)
            centres[rows] += choice * steps[rows][:, None]
            steps[rows] = np.where(inside, steps[rows] / _FINER, steps[rows])
            calm[rows] = np.where(inside & (gain <= 1e-11 * found), calm[rows] + 1, 0)
            rows = rows[(calm[rows] < 2) | (steps[rows] > fine[rows])]
            if not rows.size:
                break
        return np.minimum(best * (1 + 1e-13), 1.0)

    @cached_property
    def _reach(self) -> float:
        return max(abs(end) for end in self.pair.outer_losses(1.0, -20.0))

    def _search(self, centres: Array, step: Array) -> tuple[Array, Array]:
        """The best of all s_j = centre_j + i_j step with |i_j| <= half, for each row, and the i_j."""
        half = _PLACES // 2
        offsets = np.arange(-2 * half, 2 * half + 1)
        moves = np.diff(centres, axis=1)[:, :, None] + step[:, None, None] * offsets
        delta: Array = np.maximum(self._one(moves), TINY)
        places = np.arange(_PLACES)
        # of s_j - s_{j-1}, over the places of s_j and those of s_{j-1}
        apart = places[:, None] - places + 2 * half
        value: Array = delta[:, 0, half : 3 * half + 1]  # of reaching each place of s_1 from s_0 = 0
        picks = []
        for j in range(1, self.members):
            with np.errstate(over="ignore"):
                weight: Array = np.exp(centres[:, j, None] + step[:, None] * (places - half))
            if j == self.members - 1:
                # to s_k = epsilon
                reached: Array = delta[:, j, half : 3 * half + 1][:, ::-1]
                last = value + weight * reached
                pick = last.argmin(axis=1)
                result = np.take_along_axis(last, pick[:, None], axis=1)[:, 0]
                break
            between: Array = delta[:, j][:, apart]
            total = value[:, None, :] + weight[:, None, :] * between
            picks.append(total.argmin(axis=2))
            value = total.min(axis=2)
        choice = np.zeros(centres.shape)
        choice[:, self.members - 1] = pick - half
        for j in range(self.members - 2, 0, -1):
            pick = np.take_along_axis(picks[j - 1], pick[:, None], axis=1)[:, 0]
            choice[:, j] = pick - half
        return result, choice


def group_pair(pair: Pair, size: int) -> Pair:
    """The pair for `size` records."""
    if (scaled := pair.scaled(size)) is not None:
        return scaled
    if size > _MOST:
        raise ArgumentError("size", size, f"at most {_MOST} (only additive noise is known for larger groups)")
    listed = isinstance(pair, DiscretePair) or any(pair.given_away)
    return group_table(pair, size) if listed else GroupPair(pair, size)


def group_table(pair: Pair, size: int) -> DiscretePair:
    """A finite pair that dominates a group's: exactly it, if the pair itself is finite."""
    return multiplied(both_ways(finite_pair(pair, size)), size, one_after_another)
