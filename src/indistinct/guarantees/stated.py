"""Guarantees that someone asserts: a vendor, a paper, a ledger row.

Each is turned into the strongest thing it implies: pure DP and (epsilon, delta)-DP into the pairs that
attain them, Gaussian DP into its pair, Rényi claims into their curve.
"""

import math
import sys
from abc import ABC, abstractmethod
from bisect import bisect_left
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from indistinct.adjacency import Adjacency, check_adjacency
from indistinct.description import Described, Nonnegative, describable
from indistinct.errors import (
    ArgumentError,
    check_count,
    check_nonnegative,
    check_probability,
    check_real,
)
from indistinct.guarantees.discrete_pair import DiscretePair
from indistinct.guarantees.guarantee import Guarantee, PairGuarantee, RenyiGuarantee
from indistinct.guarantees.noise_pairs import GaussianPair
from indistinct.guarantees.product import Ends, Product
from indistinct.guarantees.tails import EXACT, Need
from indistinct.numerics.arrays import EPS, TINY, Array
from indistinct.numerics.rounding import weighted_sum_up

_ROUNDED = 1e-6
"""Stated numbers may be rounded by this much before they contradict each other."""


def _multiple(size: Any, value: float, power: int = 1) -> float:
    """size^power times a value, rounded up, for a group of that size."""
    total = weighted_sum_up([(value, check_count("size", size, least=1) ** power)])
    if total == math.inf:
        raise ArgumentError("size", size, f"a number whose multiple of {value:g} is finite")
    return total


_LARGEST = 1e150
"""Its square is a number."""


@dataclass(frozen=True, repr=False)
class Claim(Described, Guarantee):
    """A guarantee that somebody states, by what they state: it can be saved, and named in expressions."""

    noun = "claim"
    adjacency: Adjacency = field(default=Adjacency.ADD_REMOVE, kw_only=True)

    def _keep(self, adjacency: Adjacency | str, **stated: Any) -> None:
        """Where arguments have other names than what is kept of them."""
        for name, value in {"adjacency": check_adjacency(adjacency), **stated}.items():
            object.__setattr__(self, name, value)

    def __str__(self) -> str:
        return repr(self)


class StatedPoints(Claim, PairGuarantee, ABC):
    """One or more (epsilon, delta) as they were stated, whatever rounding makes of their pair."""

    @property
    @abstractmethod
    def points(self) -> tuple[Sequence[float], Sequence[float]]:
        """Epsilons, which grow, and deltas, which fall."""

    def _worst(
        self, bounds: Callable[..., Ends], at: Array, need: Need = EXACT, *, upper_only: bool = False
    ) -> Ends:
        low, high = super()._worst(bounds, at, need, upper_only=upper_only)
        epsilons, deltas = self.points
        if bounds is Product.delta_bounds:
            stated = np.array([1.0, *deltas])[np.searchsorted(epsilons, at, side="right")]
        else:
            stated = np.array([*epsilons, math.inf])[np.searchsorted(-np.array(deltas), -at)]
        return np.minimum(low, stated), np.minimum(high, stated)


class _Bound(StatedPoints, ABC):
    """(epsilon, delta)-DP."""

    bound: float
    slack: float

    @property
    def points(self) -> tuple[Sequence[float], Sequence[float]]:
        return (self.bound,), (self.slack,)

    @cached_property
    def product(self) -> Product:
        return Product.of([(claim_pair(self.bound, self.slack), 1)])


@describable("pure", epsilon="bound")
class PureDP(_Bound):
    """Pure epsilon-DP, as tight as randomized response (Kairouz, Oh and Viswanath 2015).

    >>> PureDP(1.0).delta(0.5) == PureDP(1.0).delta(epsilon=0.5)
    True
    >>> (3 * PureDP(0.1)).epsilon(delta=0)
    0.30
    """

    bound: float
    slack: ClassVar[float] = 0.0  # type: ignore[misc]

    def __init__(self, epsilon: float, *, adjacency: Adjacency | str = Adjacency.ADD_REMOVE) -> None:
        self._keep(adjacency, bound=check_nonnegative("epsilon", epsilon))

    def _renyi(self, order: float) -> float:
        return min(super()._renyi(order), self.bound)

    def group(self, size: int) -> "PureDP":
        return PureDP(_multiple(size, self.bound), adjacency=self.adjacency)


@dataclass(frozen=True, repr=False)
class KnownByClaim(PairGuarantee):
    """The guarantee of a mechanism of which a claim is all that is known: the claim's, without lower ends."""

    claim: PureDP

    @property
    def adjacency(self) -> Adjacency:  # type: ignore[override]
        return self.claim.adjacency

    @cached_property
    def product(self) -> Product:
        return self.claim.product.as_bound()

    def __repr__(self) -> str:
        return repr(self.claim)

    def _renyi(self, order: float) -> float:
        return self.claim._renyi(order)

    def _worst(
        self, bounds: Callable[..., Ends], at: Array, need: Need = EXACT, *, upper_only: bool = False
    ) -> Ends:
        _, high = self.claim._worst(bounds, at, need, upper_only=True)
        return np.zeros_like(high), high

    def group(self, size: int) -> Guarantee:
        return KnownByClaim(self.claim.group(size))


@describable("approx", epsilon="bound", delta="slack")
class ApproxDP(_Bound):
    """(epsilon, delta)-DP, through the four-point pair that attains it and nothing worse
    (Kairouz, Oh and Viswanath 2015; Murtagh and Vadhan 2016)."""

    bound: float
    slack: float

    def __init__(
        self, epsilon: float, delta: float, *, adjacency: Adjacency | str = Adjacency.ADD_REMOVE
    ) -> None:
        bound, slack = check_nonnegative("epsilon", epsilon), check_probability("delta", delta)
        self._keep(adjacency, bound=bound, slack=slack)


def claim_pair(epsilon: float, delta: float) -> DiscretePair:
    """P gives away everything with probability delta, else answers by randomized response."""
    truth = (1 - delta) / (1 + math.exp(-epsilon))
    lie = (1 - delta) * (math.exp(-epsilon) / (1 + math.exp(-epsilon)))
    known, end = lie >= TINY or delta == 1, epsilon if epsilon <= _LARGEST else math.inf
    p, q = np.array([delta, truth, lie * known, 0.0]), np.array([0.0, lie * known, truth, delta])
    return DiscretePair.of(p, q, np.array([math.inf, end, -end, -math.inf]), exact=known)


@describable("gdp")
class GaussianDP(Claim, PairGuarantee):
    """mu-Gaussian DP: no easier to tell apart than N(0, 1) and N(mu, 1) (Dong, Roth and Su 2022)."""

    mu: Nonnegative

    def __post_init__(self) -> None:
        if self.mu > _LARGEST:
            raise ArgumentError("mu", self.mu, f"at most {_LARGEST}")

    @cached_property
    def product(self) -> Product:
        return Product.of([(GaussianPair(self.mu), 1)])

    def group(self, size: int) -> Guarantee:
        return GaussianDP(_multiple(size, self.mu), adjacency=self.adjacency)


@describable("zcdp")
class ZeroConcentratedDP(Claim, RenyiGuarantee):
    """(xi, rho)-zCDP: Rényi divergence at most xi plus rho times the order, at every order above 1; rho-zCDP
    if xi is 0 (Bun and Steinke 2016, Definition 1.1)."""

    rho: Nonnegative
    xi: Nonnegative = 0.0

    def _renyi(self, order: float) -> float:
        return self.xi + (self.rho * max(order, 1.0) if self.rho else 0.0)

    def group(self, size: int) -> Guarantee:
        # Bun and Steinke 2016, Proposition 1.9, with 1 + 1/2 + ... + 1/size at most 1 + log(size)
        rho, xi = _multiple(size, self.rho, power=2), _multiple(size, self.xi)
        return ZeroConcentratedDP(rho, xi * (1 + math.log(size)) * (1 + 4 * EPS), adjacency=self.adjacency)


@describable("renyi", orders="stated_orders")
class RenyiCurve(Claim, RenyiGuarantee):
    """Rényi divergences stated at some orders, for neighbours in either order.

    Between stated orders the chord of (order - 1) * value is a valid bound, because that function is
    convex for every pair; below the smallest order the value there holds; above the largest nothing is
    known.

    >>> RenyiCurve([2, 8], [0.1, 0.4]).renyi([1.5, 2, 4, 8, 9])
    array([0.1       , 0.1       , 0.33333333, 0.4       ,        inf])
    """

    everywhere = False  # coins that satisfy claims satisfy their chords

    stated_orders: tuple[float, ...]
    values: tuple[float, ...]

    def __init__(
        self, orders: Any, values: Any, *, adjacency: Adjacency | str = Adjacency.ADD_REMOVE
    ) -> None:
        order_list = check_numbers("orders", orders, 0.5, math.inf, "increasing numbers, at least 1/2")
        value_list = check_numbers(
            "values", values, 0.0, math.inf, "non-negative numbers, one for each order"
        )
        if not order_list:
            raise ArgumentError("orders", orders, "increasing numbers, at least 1/2")
        if len(value_list) != len(order_list):
            raise ArgumentError("values", values, "non-negative numbers, one for each order")
        for order, value in zip(order_list, value_list, strict=True):
            if max(order, value) < math.inf and order * value == math.inf:
                raise ArgumentError(
                    "values", value, f"less than {sys.float_info.max / order:g} at order {order:g}"
                )
        order_list, value_list = _checked_curve(order_list, value_list)
        self._keep(adjacency, stated_orders=tuple(order_list), values=tuple(value_list))

    def _renyi(self, order: float) -> float:
        if order > self.stated_orders[-1]:
            return math.inf if self.values[-1] > 0 or self.stated_orders[-1] < 1 else 0.0
        above = bisect_left(self.stated_orders, order)
        high, value = self.stated_orders[above], self.values[above]
        if above == 0 or order <= 1 or order == high or not math.isfinite(value):
            return value
        low, low_value = self.stated_orders[above - 1], self.values[above - 1]
        if low <= 1:
            return value
        # from the lower order on, no steeper than the chord; towards infinity that is the largest loss
        rise = value if high == math.inf else ((high - 1) * value - (low - 1) * low_value) / (high - low)
        chord = ((low - 1) * low_value + (order - low) * rise) / (order - 1)
        return chord * (1 + 8 * EPS)

    def orders(self) -> Array:
        return np.array([order for order in self.stated_orders if order < math.inf])

    def group(self, size: int) -> Guarantee:
        """Mironov 2017, Proposition 2: a group of 2^c at order alpha/2^c costs 3^c times as much."""
        doublings = (check_count("size", size, least=1) - 1).bit_length()
        kept = [
            (a, v) for a, v in zip(self.stated_orders, self.values, strict=True) if a >= 2 ** (doublings + 1)
        ]
        if not doublings:
            return self
        if not kept:
            raise ArgumentError(
                "size",
                size,
                f"at most {int(self.stated_orders[-1]) // 2} for orders up to {self.stated_orders[-1]:g}",
            )
        orders = [order / 2**doublings for order, _ in kept]
        values = [weighted_sum_up([(value, 3**doublings)]) for _, value in kept]
        return RenyiCurve(orders, values, adjacency=self.adjacency)


def _checked_curve(orders: list[float], values: list[float]) -> tuple[list[float], list[float]]:
    """The curve without repetitions, if it can be one: (order - 1) * value is convex for every pair, and zero
    at order 1, so that the value does not fall; else the error names the point."""
    for k in range(1, len(orders)):
        if orders[k] < orders[k - 1]:
            raise ArgumentError(f"orders[{k}]", orders[k], f"more than {orders[k - 1]:g}, the one before it")
        if orders[k] == orders[k - 1] and values[k] != values[k - 1]:
            allowed = f"{values[k - 1]:g}, as order {orders[k]:g} was stated before"
            raise ArgumentError(f"values[{k}]", values[k], allowed)
        if values[k] < values[k - 1] * (1 - _ROUNDED):
            allowed = f"at least {values[k - 1]:g}, the value of the smaller order {orders[k - 1]:g}"
            raise ArgumentError(f"values[{k}]", values[k], allowed)
    for k in range(1, len(orders) - 1):
        (a, b, c), (u, v, w) = orders[k - 1 : k + 2], values[k - 1 : k + 2]
        if a < 1 or math.isinf(c) or math.isinf(w) or a == b or b == c:
            continue
        share = (b - a) / (c - a)
        chord = ((1 - share) * (a - 1) * u + share * (c - 1) * w) / (b - 1)
        if v > chord * (1 + _ROUNDED):
            allowed = f"at most {chord:g}, the chord at order {b:g} between its neighbours"
            raise ArgumentError(f"values[{k}]", v, allowed)
    kept = [k for k in range(len(orders)) if k == 0 or orders[k] > orders[k - 1]]
    highest = np.maximum.accumulate([values[k] for k in kept]).tolist()  # rounding apart they do not fall
    return [orders[k] for k in kept], highest


def check_numbers(argument: str, values: Any, least: float, most: float, allowed: str) -> list[float]:
    """A list of numbers in [least, most]; the error names the one that is not."""
    alone = (
        isinstance(values, str) or not isinstance(values, Iterable) or getattr(values, "shape", None) == ()
    )
    named = {argument: values} if alone else {f"{argument}[{k}]": one for k, one in enumerate(values)}
    numbers = {name: check_real(name, one, allowed) for name, one in named.items()}
    for name, number in numbers.items():
        if not least <= number <= most:
            raise ArgumentError(name, number, allowed)
    return list(numbers.values())
