"""One release out of several: on the part of the data a record is in, or as chance has it."""

import math
from abc import abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from indistinct.adjacency import Adjacency
from indistinct.errors import ArgumentError, check_count, check_probability
from indistinct.guarantees.dominating_pairs import tabulated_pair
from indistinct.guarantees.guarantee import Guarantee, PairGuarantee, compose
from indistinct.guarantees.product import Ends, Product
from indistinct.guarantees.profiled_pairs import TabledPair
from indistinct.guarantees.readings import check_same_adjacency
from indistinct.guarantees.stated import RenyiCurve
from indistinct.numerics.arrays import EPS, Array
from indistinct.numerics.rounding import log_mean_exp
from indistinct.numerics.search import bisect
from indistinct.numerics.worst import worst, worst_of

_FURTHEST = 600.0
"""A larger epsilon is not looked for, unless one is known."""


@dataclass(frozen=True, repr=False)
class _OneOf(Guarantee):
    """One of several releases. `_combined` says what deltas of the parts amount to together."""

    parts: tuple[Guarantee, ...]

    @property
    def adjacency(self) -> Adjacency:  # type: ignore[override]
        return self.parts[0].adjacency

    @abstractmethod
    def _combined(self, deltas: Iterable[Array]) -> Array: ...

    def _delta(self, epsilon: Array) -> Array:
        return self._combined(part._delta(epsilon) for part in self.parts)

    def _epsilon_below(self, highest: Array, delta: Array) -> Array:
        """Where `_delta` falls to each delta, which it does at an epsilon that is known; or, where some part
        never does, perhaps before it is as large as can be."""
        furthest = np.where(np.isfinite(highest), highest, _FURTHEST)
        found, rows = highest.copy(), np.flatnonzero(self._delta(furthest) <= delta)
        if rows.size:
            found[rows] = bisect(self._delta, delta[rows], furthest[rows])
        return found

    def group(self, size: int) -> Guarantee:
        """That of a group that may be spread over all of them."""
        count = check_count("size", size, least=1)
        if count == 1:
            return self
        if self.product is not None:
            return compose([(self, 1)], flat=True).group(count)
        orders = self.orders()
        values = self._renyi_at(orders)
        known = np.isfinite(values)
        return RenyiCurve(orders[known], values[known], adjacency=self.adjacency).group(count)

    @cached_property
    def product(self) -> Product | None:
        """One pair that dominates them all, for composing further."""
        directions = [part.directions for part in self.parts if isinstance(part, PairGuarantee)]
        if len(directions) < len(self.parts):
            return None
        reach = float(worst(part._epsilon(np.array([1e-30])) for part in self.parts)[0])
        table = tabulated_pair(
            lambda epsilon: self._combined(both[0].coarse_delta(epsilon) for both in directions),
            lambda epsilon: self._combined(both[-1].coarse_delta(epsilon) for both in directions),
            reach,
        )
        return Product.of([(TabledPair(table, self), 1)])

    def orders(self) -> Array:
        return np.unique(np.concatenate([part.orders() for part in self.parts]))


@dataclass(frozen=True, repr=False)
class Parallel(_OneOf):
    """Releases on disjoint parts of the data: a record is in one of them, so the worst part counts."""

    def __repr__(self) -> str:
        return f"parallel({', '.join(map(repr, self.parts))})"

    def _combined(self, deltas: Iterable[Array]) -> Array:
        return worst(deltas)

    def _renyi(self, order: float) -> float:
        return worst_of(part._renyi(order) for part in self.parts)

    def _epsilon(self, delta: Array) -> Array:
        return worst(part._epsilon(delta) for part in self.parts)

    def _delta_interval(self, epsilon: Array) -> Ends:
        lows, highs = zip(*(part._delta_interval(epsilon) for part in self.parts), strict=True)
        return worst(lows), worst(highs)

    def _epsilon_interval(self, delta: Array) -> Ends:
        lows, highs = zip(*(part._epsilon_interval(delta) for part in self.parts), strict=True)
        return worst(lows), worst(highs)

    def postprocessed(self) -> Guarantee:
        return Parallel(tuple(part.postprocessed() for part in self.parts))


@dataclass(frozen=True, repr=False)
class Mixed(_OneOf):
    """One of several releases, drawn with known probabilities that do not depend on the data.

    Delta is jointly convex, and so is the moment e^{(order-1) divergence}: at worst it is told which one was
    drawn, and both are averages (Balle, Barthe and Gaboardi 2018, Theorem 2). A Rényi divergence, a mu or a
    rho is not an average of those of the parts.
    """

    weights: tuple[float, ...]

    def __repr__(self) -> str:
        return f"mixture({list(self.parts)!r}, {list(self.weights)!r})"

    def _combined(self, deltas: Iterable[Array]) -> Array:
        total: Array = np.sum([w * delta for w, delta in zip(self.weights, deltas, strict=True)], axis=0)
        return np.minimum(total * (1 + 4 * EPS), 1.0)

    def _renyi(self, order: float) -> float:
        values = [part._renyi(order) for part in self.parts]
        if math.isinf(order):
            return worst_of(values)
        if order == 1:
            return math.fsum(w * value for w, value in zip(self.weights, values, strict=True)) * (1 + 4 * EPS)
        log_moment = log_mean_exp(self.weights, [(order - 1) * value for value in values])
        return worst_of([log_moment / (order - 1) * (1 + 1e-12), 0.0])

    def _epsilon(self, delta: Array) -> Array:
        return self._epsilon_below(worst(part._epsilon(delta) for part in self.parts), delta)

    def group(self, size: int) -> Guarantee:
        return mixture([part.group(size) for part in self.parts], self.weights)


def parallel(*guarantees: Guarantee) -> Guarantee:
    """The guarantee of releases on disjoint parts of the data.

    Under add/remove a record is in one part. Under replace-one it may leave one part for another, and
    the parts' own guarantees say nothing about a part that changes its size: that is refused.
    """
    if not guarantees or not all(isinstance(one, Guarantee) for one in guarantees):
        raise ArgumentError("guarantees", guarantees, "at least one guarantee")
    for other in guarantees:
        check_same_adjacency(guarantees[0], other)
    if guarantees[0].adjacency is not Adjacency.ADD_REMOVE:
        raise ArgumentError(
            "adjacency",
            guarantees[0].adjacency.value,
            "add/remove for parallel composition (a replaced record may move to another part)",
        )
    distinct = tuple({(part, _outputs(part)): part for part in guarantees}.values())
    return distinct[0] if len(distinct) == 1 else Parallel(distinct)


def mixture(guarantees: Sequence[Guarantee], weights: Sequence[float]) -> Guarantee:
    """The guarantee of one of several releases, drawn with probabilities that do not depend on the data."""
    shares = check_shares(len(guarantees), weights)
    for other in guarantees:
        check_same_adjacency(guarantees[0], other)
    merged: dict[tuple[Guarantee, object], float] = {}
    for guarantee, share in zip(guarantees, shares, strict=True):
        if share > 0:
            key = guarantee, _outputs(guarantee)
            merged[key] = merged.get(key, 0.0) + share
    parts = tuple(guarantee for guarantee, _ in merged)
    return parts[0] if len(parts) == 1 else Mixed(parts, tuple(merged.values()))


def check_shares(parts: int, weights: Sequence[float]) -> list[float]:
    """Probabilities of so many parts."""
    try:
        weights = np.atleast_1d(weights).tolist()
    except ValueError:  # a list of lists of several lengths
        raise ArgumentError("weights", weights, "one probability for each part") from None
    if not parts or parts != len(weights):
        raise ArgumentError("weights", weights, "one probability for each part, at least one")
    shares = [check_probability(f"weights[{k}]", weight) for k, weight in enumerate(weights)]
    if abs((total := math.fsum(shares)) - 1) > 1e-9:
        raise ArgumentError("weights", weights, "probabilities that add up to 1")
    # what they lack is everybody's share: a rare part may weigh less than that, and count for more
    return shares if abs(total - 1) <= parts * EPS else [share / total for share in shares]


def _outputs(guarantee: Guarantee) -> object:
    """What is known of the released values, which equality of guarantees leaves aside."""
    if isinstance(guarantee, Parallel):
        return tuple(_outputs(part) for part in guarantee.parts)
    return guarantee.outputs
