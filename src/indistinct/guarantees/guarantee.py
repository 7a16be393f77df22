"""Guarantees and their algebra: what composes, how, and what is known afterwards.

There is one place for composition. Guarantees known by pairs add up to a product of pairs and lose nothing.
As soon as one of the parts is known by its Rényi divergences alone, the Rényi divergences add up (Mironov
2017, Proposition 1). Parallel parts keep the worse of each reading.
"""

import math
import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from typing import Protocol, TypeVar, runtime_checkable

import numpy as np

from indistinct.adjacency import Adjacency
from indistinct.errors import ArgumentError, check_count, check_probability
from indistinct.guarantees.discrete_pair import finite_part, one_pair
from indistinct.guarantees.gaussian_report import GaussianReport
from indistinct.guarantees.noise_pairs import GaussianPair
from indistinct.guarantees.pair import Pair
from indistinct.guarantees.pair_kinds import of_both_signs
from indistinct.guarantees.product import Ends, Product, counted_terms
from indistinct.guarantees.profiled_pairs import CompositionPair, as_step, group_pair
from indistinct.guarantees.readings import Readings, check_same_adjacency
from indistinct.guarantees.renyi_readings import RenyiReadings
from indistinct.guarantees.tails import EXACT, Need
from indistinct.numerics.arrays import EPS, Array
from indistinct.numerics.normal import gaussian_tradeoff
from indistinct.numerics.worst import worst, worst_of

_FEW_ORDERS, _APART = 64, 0.25
"""Of a sum that claims at few orders are part of: how close together it is read, as log(order - 1)."""

Answer = TypeVar("Answer", covariant=True)
Outputs = tuple[tuple[Pair, int], ...]
"""Independent numbers that are released: pairs whose own variable is the number, up to its unit and origin,
with how often each occurs."""


@runtime_checkable
class GuaranteeReader(Protocol[Answer]):
    """Someone who reads a guarantee in their own way: an adversary (`indistinct.adversaries`)."""

    def reading(self, guarantee: "Guarantee", *, adaptive: bool) -> Answer: ...


class Guarantee(Readings):
    """An immutable statement about neighbouring data sets, with every reading and the algebra:
    `g + h` (both are released), `n * g` (n times), `g.group(k)` (k records at once)."""

    @property
    def product(self) -> Product | None:
        """The dominating pair in one direction, where the guarantee is known by one."""
        return None

    @property
    def outputs(self) -> Outputs | None:
        """The numbers that are released, where they are known and not only their loss. Composed mechanisms
        release several; they are independent only if none was chosen after seeing another."""
        return None

    def against(self, adversary: GuaranteeReader[Answer], *, adaptive: bool = True) -> Answer:
        """What an adversary of limited capacity can learn: `g.against(Linear()).renyi(3)`.

        Say `adaptive=False` where several releases were all chosen before the first was seen; limited
        adversaries are only known to stay limited then.
        """
        if isinstance(adversary, type) or not isinstance(adversary, GuaranteeReader):
            raise ArgumentError("adversary", adversary, "an adversary such as Linear()")
        return adversary.reading(self, adaptive=adaptive)

    @abstractmethod
    def group(self, size: int) -> "Guarantee":
        """The guarantee for `size` records that change together."""

    def preprocessed(self, stability: int) -> "Guarantee":
        """The guarantee where the data first pass through a map that turns one changed record into at most
        `stability` changed records (a c-stable map, Mironov 2017, Definition 5): that of a group."""
        return self.group(check_count("stability", stability, least=1))

    def postprocessed(self) -> "Guarantee":
        """The guarantee of anything computed from what is released, without the data: the same, but of the
        released values nothing is known any more (`Reading.after` names maps that keep some of it)."""
        return self

    def __add__(self, other: "Guarantee") -> "Guarantee":
        if not isinstance(other, Guarantee):
            return NotImplemented
        return compose([(self, 1), (other, 1)])

    def __radd__(self, other: object) -> "Guarantee":
        return self if isinstance(other, int) and other == 0 else NotImplemented  # where `sum` starts

    def __mul__(self, steps: object) -> "Guarantee":
        return compose([(self, check_count("steps", steps))])

    __rmul__ = __mul__


class PairGuarantee(Guarantee):
    """Known exactly, by a dominating pair; both directions count, and the worse one is read."""

    @property
    @abstractmethod
    def product(self) -> Product:
        """The pair in the direction of removal; the other direction is its reverse."""

    @cached_property
    def directions(self) -> tuple[Product, ...]:
        """The products to read: one if the pair is symmetric, else both."""
        forward = self.product
        backward = forward.reverse()
        return (forward,) if backward == forward else (forward, backward)

    def _renyi(self, order: float) -> float:
        return worst_of(direction.renyi(order) for direction in self.directions)

    def _renyi_at(self, orders: Array) -> Array:
        return worst(direction.renyi_at(orders) for direction in self.directions)

    def _worst(
        self, bounds: Callable[..., Ends], at: Array, need: Need = EXACT, *, upper_only: bool = False
    ) -> Ends:
        """Bounds on the larger of both directions: the second is read only as far as it may be that."""
        first, *others = self.directions
        low, high = bounds(first, at, need, upper_only=upper_only)
        for direction in others:
            epsilon, delta = (at, high) if bounds is Product.delta_bounds else (high, at)
            same = epsilon == 0  # total variation: the other may only be known more closely, from below
            rows = np.flatnonzero(~(same & upper_only | first.covers_reverse(epsilon, delta)))
            if rows.size:
                more = need._replace(enough=np.maximum(high, need.enough)).at(at.shape, rows)
                found = bounds(direction, at[rows], more, other=first, upper_only=upper_only)
                least, most = map(np.maximum, (low[rows], high[rows]), found)
                high[rows] = np.where(same[rows], high[rows], most)
                low[rows] = np.where(least <= high[rows], least, low[rows])  # of one number, by rounding
        return low, high

    def _delta_interval(self, epsilon: Array) -> Ends:
        return self._worst(Product.delta_bounds, epsilon)

    def _epsilon_interval(self, delta: Array) -> Ends:
        return self._worst(Product.epsilon_bounds, delta)

    def _delta(self, epsilon: Array) -> Array:
        return self._worst(Product.delta_bounds, epsilon, upper_only=True)[1]

    def _delta_about(self, epsilon: Array, need: Need) -> Array:
        return self._worst(Product.delta_bounds, epsilon, need, upper_only=True)[1]

    def _epsilon_about(self, delta: Array, need: Need) -> Array:
        return self._worst(Product.epsilon_bounds, delta, need, upper_only=True)[1]

    def _epsilon(self, delta: Array) -> Array:
        return self._worst(Product.epsilon_bounds, delta, upper_only=True)[1]

    def _tradeoff(self, fpr: Array) -> Array:
        pair = self.product.single
        if isinstance(pair, GaussianPair):
            return gaussian_tradeoff(pair.shift, fpr)
        return super()._tradeoff(fpr)

    def to_gaussian(self, slack: float = 1e-10) -> GaussianReport:
        check_probability("slack", slack)
        pair = self.product.single
        if isinstance(pair, GaussianPair):
            return GaussianReport(pair.shift, 0.0, 0.0)
        return super().to_gaussian(slack)

    def group(self, size: int) -> Guarantee:
        if (count := check_count("size", size, least=1, most=sys.maxsize)) == 1:
            return self
        terms = [(group_pair(as_step(pair), count), steps) for pair, steps in self.product.terms]
        scaled = [(pair.scaled(count), steps) for pair, steps in self.outputs or ()]
        moved = tuple((pair, steps) for pair, steps in scaled if pair is not None)
        known = moved if moved and len(moved) == len(scaled) else None
        return ExactGuarantee(Product.of(terms), self.adjacency, known)

    def pair(self) -> Pair:
        """One pair for the whole composition."""
        single = self.product.single or one_pair(self.product.terms)
        return CompositionPair(self.product) if single is None else as_step(single)


@dataclass(frozen=True, repr=False)
class PairsGuarantee(PairGuarantee, ABC):
    """Known by pairs that are written down."""

    composition: Product
    adjacency: Adjacency = Adjacency.ADD_REMOVE
    released: Outputs | None = field(default=None, compare=False)

    @property
    def product(self) -> Product:
        return self.composition

    @property
    def outputs(self) -> Outputs | None:
        return self.released

    def __repr__(self) -> str:
        return f"<guarantee of {self.composition}, {self.adjacency.value}>"

    def postprocessed(self) -> Guarantee:
        return ExactGuarantee(self.composition, self.adjacency)


class ExactGuarantee(PairsGuarantee):
    """The guarantee of a mechanism, or of several composed, through its pairs."""


class RenyiGuarantee(RenyiReadings, Guarantee):
    """Known by its Rényi divergences alone; everything else is what they imply."""


@dataclass(frozen=True, repr=False)
class RenyiSum(RenyiGuarantee):
    """Several guarantees composed, of which some are known by Rényi divergences alone."""

    parts: tuple[tuple[Guarantee, int], ...]

    def __post_init__(self) -> None:
        if (most := max(count for _, count in self.parts)) > sys.maxsize:
            raise ArgumentError("steps", most, f"at most {sys.maxsize}")

    @property
    def adjacency(self) -> Adjacency:  # type: ignore[override]
        return self.parts[0][0].adjacency

    def __repr__(self) -> str:
        return counted_terms(self.parts)

    @property
    def everywhere(self) -> bool:  # type: ignore[override]
        """Whether a part is known at all orders; sums of chords are the chords of sums."""
        return any(getattr(part, "everywhere", True) for part, _ in self.parts)

    def _renyi(self, order: float) -> float:
        return math.fsum(count * part._renyi(order) for part, count in self.parts)

    def _renyi_at(self, orders: Array) -> Array:
        total: Array = np.sum([count * part._renyi_at(orders) for part, count in self.parts], axis=0)
        return total

    def orders(self) -> Array:
        stated = [part.orders() for part, _ in self.parts if part.product is None]
        merged: Array = np.unique(np.concatenate(stated))
        proper = np.log(merged[merged > 1] - 1)
        if not self.everywhere or proper.size > _FEW_ORDERS:
            return merged
        # a sum of chords and curves may have its best order anywhere between
        ends = [proper[0] - 3.0, *proper.tolist()] if proper.size else []
        between = [np.linspace(a, b, 1 + math.ceil((b - a) / _APART))[:-1] for a, b in pairwise(ends)]
        return np.unique(np.concatenate([merged, *(1 + np.exp(part) for part in between)]))

    @cached_property
    def _beside(self) -> list[Guarantee]:
        """What is released beside claims, which tells no more than all."""
        return [compose([part]) for part in self.parts if part[0].product is not None]

    def _delta(self, epsilon: Array) -> Array:
        return self._implied_delta(epsilon)[1]

    def _epsilon(self, delta: Array) -> Array:
        return self._implied_epsilon(delta)[1]

    def _delta_interval(self, epsilon: Array) -> Ends:
        return _no_less(
            self._implied_delta(epsilon), [part._delta_interval(epsilon) for part in self._beside]
        )

    def _epsilon_interval(self, delta: Array) -> Ends:
        return _no_less(
            self._implied_epsilon(delta), [part._epsilon_interval(delta) for part in self._beside]
        )

    def _implied_delta(self, epsilon: Array) -> Ends:
        if self._set_aside is None:
            return super()._delta_interval(epsilon)
        rest, masses, shift = self._set_aside
        inner = of_both_signs(epsilon - shift, rest._delta(np.abs(epsilon - shift)))
        return np.zeros_like(inner), np.minimum(max(masses) + inner, 1.0)

    def _implied_epsilon(self, delta: Array) -> Ends:
        if self._set_aside is None:
            return super()._epsilon_interval(delta)
        rest, masses, shift = self._set_aside
        inner = rest._epsilon(np.clip(delta - max(masses), 0.0, 1.0)) + shift
        high = np.where(delta > max(masses), np.where(delta < 1, inner, 0.0), math.inf)
        return np.zeros_like(high), high

    def _errors(self, x: float, rest: float) -> tuple[float, float]:
        if self._set_aside is None:
            return super()._errors(x, rest)
        # what is given away is never missed, and is never mistaken for the other
        powers, misses = [], []
        kept, masses, _ = self._set_aside
        for mine, others in {masses, masses[::-1]}:
            within = max(rest - others * (1 + 16 * EPS), 0.0) / (1 - others)
            power, missed = kept._errors(min(x / (1 - others) * (1 + 4 * EPS), 1.0), within)
            powers.append(mine + (1 - mine) * power)
            misses.append((1 - mine) * missed)
        return max(powers) * (1 + 4 * EPS), min(misses) * (1 - 4 * EPS)

    def _power(self, start: float, log_slope: float) -> float:
        if self._set_aside is None:
            return super()._power(start, log_slope)
        kept, masses, _ = self._set_aside
        return max(
            mine
            + (1 - mine)
            * kept._power((start - mine) / (1 - mine), log_slope + math.log1p(-others) - math.log1p(-mine))
            for mine, others in {masses, masses[::-1]}
        )

    @cached_property
    def _set_aside(self) -> "tuple[RenyiSum, tuple[float, float], float] | None":
        """Where a part gives everything away with some probability, every Rényi divergence is infinite. That
        probability is charged to delta, and the rest is composed without it.

        With P = (1-m) P' + ..., Q = (1-n) Q' + ... on the outcomes that both have, delta is at most m plus
        (1-m) delta' at epsilon + log((1-n)/(1-m)), and the other way round.
        """
        parts: list[tuple[Guarantee, int]] = []
        log_kept = [0.0, 0.0]
        for part, count in self.parts:
            # a table gives away what is beyond its end, too
            terms = part.product.terms if part.product else ()
            gives = [any(pair.given_away) for pair, _ in terms]
            known = Product.of(
                [(p.stand_in if more else p, n) for more, (p, n) in zip(gives, terms, strict=True)]
            )
            masses = known.infinite_mass, known.reverse().infinite_mass
            if max(masses) in (0.0, 1.0):
                parts.append((part, count))
                continue
            log_kept = [kept + count * math.log1p(-mass) for kept, mass in zip(log_kept, masses, strict=True)]
            left = [(finite_part(pair), n) for pair, n in known.terms]
            parts.append((ExactGuarantee(Product.of(left), part.adjacency), count))
        if log_kept == [0.0, 0.0]:
            return None
        there, back = (-math.expm1(kept) for kept in log_kept)
        return RenyiSum(tuple(parts)), (there, back), abs(log_kept[0] - log_kept[1])

    def group(self, size: int) -> Guarantee:
        return compose((part.group(size), count) for part, count in self.parts)


def _no_less(ends: Ends, parts: Iterable[Ends]) -> Ends:
    """The ends of what tells no less than its parts."""
    low = worst([ends[0], *(least for least, _ in parts)])
    return low, np.maximum(low, ends[1])


def as_bound(guarantee: Guarantee) -> Guarantee:
    """The same of a release that this one only bounds from above: no reading has a lower end."""
    if isinstance(guarantee, PairsGuarantee):
        return ExactGuarantee(guarantee.product.as_bound(), guarantee.adjacency)
    return guarantee  # whose readings have none


_NOTHING = Product.of([])


def compose(parts: Iterable[tuple[Guarantee, int]], *, flat: bool = False) -> Guarantee:
    """All of the parts released, each a number of times; adaptively too."""
    counted: list[tuple[Guarantee, int]] = []
    for part, count in parts:
        counted += [(p, n * count) for p, n in part.parts] if isinstance(part, RenyiSum) else [(part, count)]
    adjacency = counted[0][0].adjacency
    for part, _ in counted:
        check_same_adjacency(counted[0][0], part)
    counted = [(part, count) for part, count in counted if count and part.product != _NOTHING]
    if len(counted) == 1 and counted[0][1] == 1 and not flat:
        return counted[0][0]
    terms = [(p, n * count) for part, count in counted if part.product for p, n in part.product.terms]
    if all(part.product is not None for part, _ in counted):
        return ExactGuarantee(Product.of(terms), adjacency, _together(counted))
    merged: dict[Guarantee, int] = {}
    for part, count in counted:
        if part.product is None:
            merged[part] = merged.get(part, 0) + count
    if terms:
        merged[compose([(part, n) for part, n in counted if part.product is not None], flat=True)] = 1
    return RenyiSum(tuple(merged.items())) if merged else ExactGuarantee(Product.of([]), adjacency)


def _together(parts: Iterable[tuple[Guarantee, int]]) -> Outputs | None:
    """All that several guarantees release, equal numbers counted; nothing if one of them is not known."""
    merged: dict[Pair, int] = {}
    for part, count in parts:
        if part.outputs is None:
            return None
        for pair, steps in part.outputs:
            merged[pair] = merged.get(pair, 0) + steps * count
    return tuple(merged.items()) or None
