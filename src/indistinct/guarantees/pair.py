"""Two output distributions, known by the law of their privacy loss.

A `Pair` is P (with the record) and Q (without it), seen through L = log dP/dQ. Everything a guarantee
can say follows from the law of L. A pair says how to integrate over it (`rule_on`, `outer_losses`), what
its tails and its own profile are, and where it ends; the rest falls back on these.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np

from indistinct.numerics.arrays import EPS, Array
from indistinct.numerics.atoms import FiniteLosses
from indistinct.numerics.cumulant import BEYOND, Cumulant, RuleCumulant, guarded
from indistinct.numerics.rule import LossRule, TooFineError

LOG_NEGLIGIBLE = -100.0
"""Tilted mass below e to this power is not integrated (`BEYOND`)."""


class Tails(NamedTuple):
    """Logarithms of P(L > l), Q(L > l), P(L <= l) and Q(L <= l)."""

    p_above: Array
    q_above: Array
    p_below: Array
    q_below: Array


class Resolution(NamedTuple):
    """What a cumulant has to resolve: E_Q[(dP/dQ)^w] for Re w in `orders`, |Im w| up to `frequency`."""

    orders: tuple[float, float]
    frequency: float = 0.0
    log_cut: float | None = None
    """P-mass of the largest losses that may be left out (of the smallest, for a reversed pair)."""

    def turned(self) -> "Resolution":
        """The same for (Q, P)."""
        low, high = self.orders
        return Resolution((1 - high, 1 - low), self.frequency, self.log_cut)


Band = tuple[float, float]
"""Between two losses; the second may be infinite."""


class Wave(NamedTuple):
    """How fast an integrand e^{g(L)} varies: bounds on |Re g'|, |Im g'| and -Re g''."""

    power: float
    frequency: float
    sharpness: float


READ_BEFORE = (1 << 14) * EPS
"""By how much, relatively, a profile is read before an epsilon at most: that of rare noise, in its base."""
_APART, _WIDE, _CLOSE = 1e-4, 300.0, 1e-3
"""Orders up to `_WIDE` may share a rule, where they are `_CLOSE` or more from 0 and 1."""


class Pair(ABC):
    """A directed pair (P, Q). Immutable, hashable, comparable."""

    atoms: tuple[float, ...] = ()
    """Where the loss has atoms, if these should fall on the grid engine's lattice."""

    unit: float = 0.0
    """The lattice on which all finite losses lie, or 0 if there is none."""

    exact: bool = False
    """Whether two neighbours have it: what only dominates a mechanism, or is made of the worst neighbours at
    each epsilon, is not exact, and a composition of it has no lower end but that of `below`."""

    splits: bool = False
    """Whether its rare, large losses can be split off (`split`)."""

    profiled: bool = False
    """Whether it is known by its profile, alone; among others `stand_in` stands in."""

    gathers: bool = False
    """Whether all of its kind in a composition, and Gaussian pairs, are one pair together (`gathered`)."""

    by_moments: bool = False
    """Whether it is known by its cumulant and envelope alone: a composition of it has a profile."""

    tells_nothing: bool = False
    """Whether P and Q are the same: however often it is composed, it adds no more than rounding."""

    given_away: tuple[float, float] = (0.0, 0.0)
    """P-mass where Q has none, and Q-mass where P has none."""

    @property
    def infinite_mass(self) -> float:
        """P-mass where Q has none."""
        return self.given_away[0]

    @abstractmethod
    def rule_on(self, low: float, high: float, wave: Wave) -> LossRule:
        """Losses and weights that integrate functions like `wave` over low < L <= high."""

    @abstractmethod
    def outer_losses(self, tilt: float, log_tail: float) -> tuple[float, float]:
        """Losses below and above which (dP/dQ)^tilt dQ has at most e^{log_tail} of its mass."""

    @abstractmethod
    def tails(self, loss: Array) -> Tails:
        """The law of the loss under P and under Q."""

    @abstractmethod
    def profile(self, epsilon: Array) -> Array:
        """delta(epsilon) = E_P[(1 - e^{epsilon - L})_+] of this pair alone, any real epsilon."""

    @abstractmethod
    def reversed_profile(self, epsilon: Array) -> Array:
        """The same of (Q, P), from its own small numbers: what delta(-epsilon) lacks of 1 has no digits."""

    @property
    @abstractmethod
    def loss_range(self) -> tuple[float, float]:
        """Essential infimum and supremum of the loss under P."""

    def reverse(self) -> "Pair":
        """(Q, P)."""
        return ReversedPair(self)

    @property
    def symmetric(self) -> bool:
        """Whether (Q, P) has the same loss law."""
        return self.reverse() == self

    def remade(self, change: "Callable[[Pair], Pair]") -> "Pair":
        """The same of another pair, where it is made of one (`MadePair`)."""
        return self

    @property
    def stand_in(self) -> "Pair":
        """The pair, or one that dominates it, whose losses can be integrated."""
        return self.remade(lambda pair: pair.stand_in)

    def as_read(self, *, alone: bool) -> "Pair":
        """The pair that engines are asked of: itself, or what stands in for it among others."""
        if self.profiled:
            return self if alone else self.stand_in
        return self.remade(lambda pair: pair.as_read(alone=alone))

    def gathered(self, terms: "Sequence[tuple[Pair, int]]") -> "Pair":
        """One pair for several of its kind and Gaussian ones, with their counts, if it `gathers`."""
        raise NotImplementedError(f"{self!r} is composed as it is")

    def coarse(self, enough: float) -> "Pair":
        """The same, where deltas below `enough` need not be close."""
        return self.remade(lambda pair: pair.coarse(enough))

    @property
    def from_below(self) -> "Pair":
        """The same, with lower bounds for its profile, if `profiled` and `exact`."""
        return self.remade(lambda pair: pair.from_below)

    def profile_and_fall(self, epsilon: Array) -> tuple[Array, Array]:
        """delta(epsilon), and -d delta / d epsilon = e^epsilon Q(L > epsilon), which is known about if
        `profiled`."""
        if not self.profiled:  # from where it may have been read on, at most
            q_above = self.tails(epsilon - READ_BEFORE * np.abs(epsilon)).q_above
            return self.profile(epsilon), np.exp(np.minimum(q_above + epsilon, 0.0))
        near = epsilon - _APART * np.maximum(np.abs(epsilon), 1e-9)
        before, delta = self.profile(np.stack((near, epsilon)))
        return delta, (before - delta) / -np.expm1(near - epsilon)

    def likely_epsilon(self, log_delta: float) -> float:
        """About where delta has this size."""
        return self.outer_losses(1.0, log_delta)[1]

    def found_epsilon(self, delta: Array) -> Array | None:
        """Upper bounds on the smallest epsilon for each delta, where they are not looked for in `profile`."""
        return None

    @property
    def told(self) -> float:
        """delta(0), or more."""
        return float(self.profile(np.zeros(1))[0])

    def as_bound(self) -> "Pair":
        """The same, of something that it only dominates: not `exact`, so that no reading has a lower end."""
        bound = self.remade(lambda pair: pair.as_bound())
        if bound.exact:
            raise NotImplementedError(f"{self!r} does not tell a bound from a mechanism's own pair")
        return bound

    @property
    def tight(self) -> bool:
        """Whether its profile is the best possible, alone: at each epsilon that of two neighbours."""
        return self.exact

    @property
    def above(self) -> "tuple[Pair, ...]":
        """Pairs in closed form that dominate what it stands for: for upper ends. Itself, if there is none."""
        return (self,)

    @property
    def below(self) -> "tuple[tuple[tuple[Pair, int], ...], ...]":
        """Compositions that what it stands for dominates, being special cases of it, or made of what is
        released: they are read for a lower end where it has none. The pair itself, if `exact`."""
        return (((self, 1),),) if self.exact else ((),)

    def listed(self, log_cut: float | None) -> FiniteLosses | None:
        """All finite losses, or all but a mass e^{log_cut} of each of P and Q; None if there are too many."""
        return None

    def scaled(self, size: int) -> "Pair | None":
        """The pair for `size` records at once, if it is known in closed form."""
        return None

    def cumulant(self, resolution: Resolution) -> Cumulant:
        """K(z) = log E_P[e^{zL}; L finite] = log E_Q[(dP/dQ)^{1+z}], for the engines."""
        return RuleCumulant(self.rule(resolution))

    def log_envelope(self, resolution: Resolution) -> float:
        """log of a bound on |E_Q[(dP/dQ)^(w + is)]| / E_Q[(dP/dQ)^w] for *every* s >= frequency, w being the
        one order, over the losses that `rule` integrates; 0 where nothing better is known (atoms)."""
        return 0.0

    def split(self, resolution: Resolution, band: Band, kind: int) -> tuple[Cumulant, LossRule | None]:
        """`cumulant` in two: of losses below a band, and (kind 1) a rule of rare ones in it, if they can be
        told apart."""
        return self.cumulant(resolution), None

    def split_envelope(self, resolution: Resolution, band: Band, kind: int) -> float:
        """A bound for every frequency from one on, relative to the losses below a band at 0: of the transform
        of these (kind 0, its logarithm), or of that of the losses in the band (kind 1)."""
        return 0.0 if kind else self.log_envelope(resolution)

    def rule(self, resolution: Resolution) -> LossRule:
        """A rule for E_Q[(dP/dQ)^w]; here for pairs whose losses are bounded."""
        low, high = self.outer_losses(1.0, LOG_NEGLIGIBLE)
        wave = Wave(max(map(abs, resolution.orders)), resolution.frequency, 0.0)
        return self.joined([self.rule_on(low, high, wave)], low, high)

    def joined(self, pieces: Sequence[LossRule], low: float, high: float) -> LossRule:
        """One rule from rules on consecutive intervals from low to high, and what they do not list."""
        p_above, q_above, p_below, q_below = self.tails(np.array([low, high]))
        only_p, only_q = self.given_away
        missing_p = max(float(np.exp(p_below[0]) + np.exp(p_above[1])) - only_p, 0.0)
        missing_q = max(float(np.exp(q_below[0]) + np.exp(q_above[1])) - only_q, 0.0)
        return LossRule(
            np.concatenate([piece.loss for piece in pieces]),
            np.concatenate([piece.log_q for piece in pieces]),
            only_p,
            only_q,
            missing_q,
            missing_p - missing_q,
        )

    def span(self, log_cut: float) -> tuple[float, float]:
        """Losses between which P lies, but for a mass e^{log_cut} above, and one below."""
        return self.outer_losses(1.0, log_cut)

    def log_moment(self, order: float) -> float:
        """log E_Q[(dP/dQ)^order] over finite losses, at most, for any real order; nothing is left out."""
        # larger in size is larger as a divergence, on both sides of order 1
        return float(guarded(np.array([order]), np.array([self.computed_log_moment(order)]))[0])

    def computed_log_moment(self, order: float) -> float:
        """The same, not rounded up, and not a bound instead."""
        rule = self._whole_rule(order, order)
        return float(RuleCumulant(rule).real(np.array([order - 1.0]))[0])

    def _whole_rule(self, first: float, last: float) -> LossRule:
        """A rule for orders w between two, as if losses beyond its range were none: r^w - 1 - w (r - 1) has
        one sign, so it is a bound from below, in size, and what it lacks is less than w (w-1) `BEYOND` if
        neither P nor Q nor what is tilted has more than a negligible mass there."""
        resolution = Resolution((min(first, 0.0), max(last, 1.0)))
        return replace(self.rule(resolution), missing_q=0.0, missing_more=0.0)

    def log_moments(self, orders: Array) -> Array:
        """The same at many orders: with one rule where there is one, and they are close to each other."""
        far = np.minimum(np.abs(orders), np.abs(orders - 1))
        close = orders.size >= 4 and np.abs(orders).max() <= _WIDE and far.min() >= _CLOSE
        if close and not (self.profiled or self.by_moments):
            with suppress(TooFineError):
                rule = self._whole_rule(float(orders.min()), float(orders.max()))
                return guarded(orders, RuleCumulant(rule).real(orders - 1.0))
        return np.array([self.log_moment(order) for order in orders.tolist()])

    @property
    def size(self) -> float:
        """The scale of the divergence, for a first guess only: that of order 2."""
        return min(self.log_moment(2.0), 700.0)

    @cached_property
    def finite_mean(self) -> float:
        """E_P[L; L finite], at most."""
        mean = self._whole_rule(1.0, 1.0).mean()
        return mean * (1 + 1e-12) + BEYOND if mean else 0.0


class MadePair(Pair, ABC):
    """Made of another pair, so that it is known as well as that one is."""

    base: Pair

    @property
    def exact(self) -> bool:  # type: ignore[override]
        return self.base.exact

    @property
    def tight(self) -> bool:
        return self.base.tight

    @property
    def profiled(self) -> bool:  # type: ignore[override]
        return self.base.profiled

    @abstractmethod
    def remade(self, change: Callable[[Pair], Pair]) -> Pair: ...


@dataclass(frozen=True)
class ReversedPair(MadePair):
    """(Q, P) of a pair that is not symmetric."""

    base: Pair

    @property
    def atoms(self) -> tuple[float, ...]:  # type: ignore[override]
        return tuple(-atom for atom in self.base.atoms)

    def remade(self, change: Callable[[Pair], Pair]) -> Pair:
        return change(self.base).reverse()

    @property
    def above(self) -> tuple[Pair, ...]:
        return tuple(one.reverse() for one in self.base.above)

    @property
    def below(self) -> tuple[tuple[tuple[Pair, int], ...], ...]:
        return tuple(tuple((one.reverse(), n) for one, n in terms) for terms in self.base.below)

    def likely_epsilon(self, log_delta: float) -> float:
        return self.base.likely_epsilon(log_delta) if self.profiled else super().likely_epsilon(log_delta)

    def rule(self, resolution: Resolution) -> LossRule:
        return self.base.rule(resolution.turned()).reversed()

    def log_envelope(self, resolution: Resolution) -> float:
        return self.base.log_envelope(resolution.turned())

    @property
    def given_away(self) -> tuple[float, float]:  # type: ignore[override]
        return self.base.given_away[::-1]

    @property
    def size(self) -> float:
        return self.base.size

    def rule_on(self, low: float, high: float, wave: Wave) -> LossRule:
        return self.base.rule_on(-high, -low, wave._replace(power=wave.power + 1)).reversed()

    def listed(self, log_cut: float | None) -> FiniteLosses | None:
        if (one := self.base.listed(log_cut)) is None:
            return None
        return FiniteLosses(one.q[::-1], one.p[::-1], -one.loss[::-1], one.moved)

    def outer_losses(self, tilt: float, log_tail: float) -> tuple[float, float]:
        low, high = self.base.outer_losses(1 - tilt, log_tail)
        return -high, -low

    def tails(self, loss: Array) -> Tails:
        p_above, q_above, p_below, q_below = self.base.tails(-loss)
        return Tails(q_below, p_below, q_above, p_above)

    def profile(self, epsilon: Array) -> Array:
        return self.base.reversed_profile(epsilon)

    def reversed_profile(self, epsilon: Array) -> Array:
        return self.base.profile(epsilon)

    @property
    def loss_range(self) -> tuple[float, float]:
        low, high = self.base.loss_range
        return -high, -low

    def reverse(self) -> Pair:
        return self.base

    @cached_property
    def finite_mean(self) -> float:
        return self.stand_in.finite_mean if self.profiled else super().finite_mean

    def log_moment(self, order: float) -> float:
        return self.base.log_moment(1 - order)

    def log_moments(self, orders: Array) -> Array:
        return self.base.log_moments(1 - orders)
