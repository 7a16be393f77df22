"""Composition in one direction: the product of directed pairs, read through the engines.

Cumulants add (adaptively too: the product pair dominates, Zhu, Dong and Wang 2022, Theorem 10), so a
composition is a table pair -> count and costs the same for one step and for a billion.
"""

import math
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from indistinct.guarantees.engine import AT_TOP, GOOD, SMALLEST, Engine, Tail, Term, bisect, solve
from indistinct.guarantees.noise_pairs import GaussianPair
from indistinct.guarantees.pair import Pair
from indistinct.guarantees.two_steps import TwoSteps
from indistinct.numerics.arrays import TINY, Array
from indistinct.numerics.contour import GUARD, Line
from indistinct.numerics.normal import gaussian_epsilon

_MOST_KEPT = 1 << 22
"""Points of tails kept by one composition, some 30 bytes each."""
_ROUGHLY = 1e-12
_NEAR_ONE = 1e-7
"""Orders closer to 1 than this are read at the other end of that interval."""


@dataclass(frozen=True)
class Product:
    """Independent losses, each with a count; equal pairs merged, Gaussian shifts added in square."""

    terms: tuple[Term, ...]
    _tails: list[Tail] = field(default_factory=list, compare=False, repr=False)

    @classmethod
    def of(cls, terms: list[Term]) -> "Product":
        counts: dict[Pair, int] = {}
        shift = 0.0
        for pair, count in terms:
            if isinstance(pair, GaussianPair):
                shift = math.hypot(shift, math.sqrt(count) * pair.shift)
            elif count:
                counts[pair] = counts.get(pair, 0) + count
        merged = list(counts.items())
        if shift or not merged:
            merged.append((GaussianPair(shift), 1))
        return cls(tuple(merged))

    def reverse(self) -> "Product":
        return Product.of([(pair.reverse(), count) for pair, count in self.terms])

    @property
    def infinite_mass(self) -> float:
        """Probability, under P, of an infinite loss somewhere."""
        log_finite = sum(
            count * math.log1p(-pair.infinite_mass) if pair.infinite_mass < 1 else -math.inf
            for pair, count in self.terms
        )
        return abs(math.expm1(log_finite))

    @property
    def single(self) -> Pair | None:
        """The pair, if there is just one: its profile is known in closed form."""
        (pair, count), *more = self.terms
        return pair if count == 1 and not more else None

    @property
    def loss_range(self) -> tuple[float, float]:
        ranges = [(pair.loss_range, count) for pair, count in self.terms]
        return sum(n * low for (low, _), n in ranges), sum(n * high for (_, high), n in ranges)

    @cached_property
    def finite_top(self) -> float:
        """The largest finite loss."""
        return sum(n * pair.outer_losses(1.0, -math.inf)[1] for pair, n in self.terms)

    def log_moment(self, order: float) -> float:
        """log E_Q[(dP/dQ)^order] over finite losses."""
        return sum(count * pair.log_moment(order) for pair, count in self.terms)

    def mean(self) -> float:
        return sum(count * pair.mean() for pair, count in self.terms)

    def renyi(self, order: float) -> float:
        """The Rényi divergence of any order >= 1/2: K(order-1)/(order-1), its limits at 1 and infinity."""
        if math.isinf(order):
            return max(self.loss_range[1], 0.0)
        if order >= 1 and self.infinite_mass > 0:
            return math.inf
        if order == 1 or 0 < 1 - order < _NEAR_ONE:
            return max(self.mean(), 0.0)  # increasing in the order, so this bounds from above
        order = max(order, 1 + _NEAR_ONE) if order > 1 else order
        log_moment = self.log_moment(order)
        return max(log_moment / (order - 1), 0.0) if log_moment > -math.inf else math.inf

    def renyi_at(self, orders: Array) -> Array:
        """The same for many finite orders at once, an array of any shape."""
        flat = np.where(np.abs(orders - 1) < _NEAR_ONE, 2.0, orders).ravel()
        moments = np.sum([count * pair.log_moments(flat) for pair, count in self.terms], axis=0)
        with np.errstate(divide="ignore"):
            values = np.where(moments > -math.inf, np.maximum(moments / (flat - 1), 0.0), math.inf)
        values = values.reshape(orders.shape)
        if self.infinite_mass > 0:
            values = np.where(orders > 1, math.inf, values)
        for k in np.argwhere(np.abs(orders - 1) < _NEAR_ONE):
            values[tuple(k)] = self.renyi(float(orders[tuple(k)]))
        return values

    def delta(self, epsilon: Array, *, rough: bool = False) -> Array:
        """An upper bound on delta at each epsilon (a flat array, any sign); `rough` where it need only be
        right to an absolute error of 1e-12."""
        if self.infinite_mass >= 1:
            return np.ones_like(epsilon)
        if self.single is not None:
            return self._clean(epsilon, self.single.profile(np.minimum(epsilon, 1e300)))
        if self._two_steps is not None:
            return self._clean(epsilon, self._two_steps.profile(np.minimum(epsilon, 1e300)))
        result = np.full(epsilon.shape, np.nan)
        result[epsilon >= self.finite_top] = max(self.infinite_mass, TINY)
        if (whole := self._engine.enumerated) is not None:
            open_ = np.isnan(result)
            result[open_] = np.exp(np.minimum(whole.read(epsilon[open_])[0], 0.0))
        for tail in self._nearest(epsilon):
            if not np.isnan(result).any():
                break
            self._read(tail, epsilon, result, rough)
        new = np.flatnonzero(np.isnan(result) & np.isfinite(epsilon))
        while (open_ := np.flatnonzero(np.isnan(result))).size:
            # a line serves smaller epsilons too, a lattice's window larger ones
            upwards = not self._engine.smooth or (self._tails and not isinstance(self._tails[-1], Line))
            k = open_[epsilon[open_].argmin() if upwards else epsilon[open_].argmax()]
            found = self._engine.tail_for_epsilon(float(epsilon[k]))
            if found is None:
                result[k] = SMALLEST + self.infinite_mass
                continue
            self._remember(found)
            result[k] = np.exp(min(float(found.read(epsilon[k : k + 1])[0][0]), 0.0))
            self._read(found, epsilon, result, rough)
        # each tail is an upper bound everywhere, and so is the best order
        for tail in self._tails if new.size else ():
            log_delta = np.minimum(tail.read(epsilon[new])[0], tail.aim.log_bound(epsilon[new]))
            result[new] = np.minimum(result[new], np.exp(np.minimum(log_delta, 0.0)))
        rising = np.argsort(epsilon)
        result[rising] = np.minimum.accumulate(result[rising])  # so is delta at any smaller epsilon
        return self._clean(epsilon, np.maximum(result, self._one_step(epsilon)))

    def _one_step(self, epsilon: Array) -> Array:
        """Delta of the worst single step: a composition tells no less, whatever an engine may say."""
        worst: Array = np.max([pair.profile(np.minimum(epsilon, 1e300)) for pair, _ in self.terms], axis=0)
        return worst * (1 - 1e-9)

    def _clean(self, epsilon: Array, delta: Array) -> Array:
        """Zero only beyond the largest loss: a delta that underflows is still more than nothing."""
        beyond = epsilon >= self.finite_top * (1 + 1e-14)
        return np.where(beyond, self.infinite_mass, np.clip(delta, TINY, 1.0))

    def _nearest(self, epsilon: Array) -> list[Tail]:
        """The tails, those aimed closest to the first."""
        finite = epsilon[np.isfinite(epsilon)]
        middle = float(np.median(finite)) if finite.size else 0.0
        return sorted(self._tails, key=lambda tail: abs(tail.aim.epsilon - middle))

    @staticmethod
    def _read(tail: Tail, epsilon: Array, result: Array, rough: bool) -> None:
        """Fill in what this tail knows accurately."""
        if not tail.settled:
            return  # rounded too coarsely to answer for another epsilon
        open_ = np.flatnonzero(np.isnan(result) & np.isfinite(epsilon))
        here = epsilon[open_]
        log_delta, accuracy = tail.judged(here)
        delta = np.exp(np.minimum(log_delta, 0.0))
        good = accuracy < GOOD
        if rough:
            good |= accuracy * delta * np.maximum(1.0, tail.aim.order * np.abs(here)) < _ROUGHLY
        result[open_[good]] = delta[good]

    def epsilon(self, delta: Array) -> Array:
        """An upper bound on the smallest epsilon >= 0 for each delta (a flat array)."""
        top, single = max(self.finite_top, 0.0), self.single
        result = np.full(delta.shape, np.nan)
        result[delta <= self.infinite_mass] = math.inf
        result[delta == self.infinite_mass] = top
        result[delta >= 1] = 0.0
        # epsilon is zero from the total variation on, which is about the root of half a divergence (Pinsker)
        about = math.sqrt(max(self._engine.scale, 0.0) / 2)
        if (large := np.isnan(result) & (delta >= min(0.01, about))).any():
            # it adds up at most: often enough to know, and cheap
            most = sum(n * float(pair.profile(np.zeros(1))[0]) for pair, n in self.terms)
            unsure = delta[large].min() < most and delta[large].max() >= 0.01
            if unsure and about < 5:  # else it is nearly 1
                most = min(most, float(self.delta(np.zeros(1))[0]))
            result[large & (delta >= most)] = 0.0
        open_ = np.isnan(result)
        if not open_.any():
            return result
        if top == 0.0:
            result[open_] = 0.0
        elif isinstance(single, GaussianPair):
            result[open_] = gaussian_epsilon(single.shift, delta[open_])
        elif single is not None:
            result[open_] = bisect(single.profile, delta[open_], top)
        elif (two := self._two_steps) is not None:
            result[open_] = [two.epsilon(one, top) for one in delta[open_].tolist()]
        elif (whole := self._engine.enumerated) is not None:
            result[open_] = np.maximum(solve(whole, np.log(delta[open_]), top)[0], 0.0)
        for k in np.argsort(delta):
            if np.isnan(result[k]):
                self._solve(float(delta[k]), delta, result)
        return result

    def _solve(self, target: float, delta: Array, result: Array) -> None:
        """Fill in epsilon for `target`, and wherever the same tail knows it accurately."""
        found = self._engine.tail_for_delta(target)
        here = delta == target
        if found is None:
            result[here] = self.finite_top
            return
        tail, at_target = found
        self._remember(tail)
        if not isinstance(tail, Line) and self._one_step(np.array([at_target]))[0] > target:
            at_target = float(bisect(self._one_step, np.array([target]), self.finite_top)[0])
        result[here] = max(at_target, 0.0)
        open_ = np.flatnonzero(np.isnan(result))
        if open_.size and tail.settled:
            epsilon, accuracy = solve(tail, np.log(delta[open_]), self.finite_top)
            known = accuracy < GOOD
            result[open_[known]] = np.maximum(epsilon[known], 0.0)

    def epsilon_error(self, delta: float) -> float:
        """How far above the truth `epsilon` may be at this delta, at most: by a contour's own account, else
        down to what the worst single step needs, which a composition needs too."""
        epsilon = self.epsilon(np.array([delta]))
        if epsilon[0] == self.finite_top and self._engine.reaches_top(delta):
            return AT_TOP * float(epsilon[0])
        if self.single is not None or not 0 < epsilon[0] < math.inf:
            return 1e-12 * float(min(epsilon[0], 1e300))
        one_step = float(bisect(self._one_step, np.array([delta]), self.finite_top)[0]) * (1 - 1e-9)
        errors = [max(float(epsilon[0]) - one_step, 0.0)]
        whole = self._engine.enumerated
        for tail in self._tails if whole is None else [whole]:
            if isinstance(tail, Line) or tail.exact:
                relative = float(tail.accuracy(epsilon)[0]) * max(1.0, tail.aim.order * float(epsilon[0]))
                slope = abs(float(tail.read(epsilon)[1][0]))
                errors.append((relative + 2 * GUARD) / max(slope, TINY))
        return min(errors)

    def _remember(self, tail: Tail) -> None:
        """Keep a tail for later readings; forget the oldest once they take much memory."""
        self._tails.append(tail)
        while len(self._tails) > 1 and sum(kept.size for kept in self._tails) > _MOST_KEPT:
            self._tails.pop(0)

    @cached_property
    def _two_steps(self) -> TwoSteps | None:
        return TwoSteps.of(self.terms)

    @cached_property
    def _engine(self) -> Engine:
        return Engine(self.terms, self.infinite_mass, self.finite_top)
