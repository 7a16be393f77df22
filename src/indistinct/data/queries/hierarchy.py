"""Counts at every level of nested columns, such as country, state and county, that add up."""

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import product
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.optimize import minimize

from indistinct.data.queries.count_tables import Celled, inner, settled_places
from indistinct.data.queries.intervals import Estimates, Values
from indistinct.data.queries.query import NoisyQuery, Query
from indistinct.data.queries.tree import Tree
from indistinct.data.records.domain import (
    MOST_CELLS,
    Categories,
    GivenMissing,
    GivenOutside,
    Missing,
    Outside,
)
from indistinct.data.records.encoding import Encoding, Integers, check_distinct, refuse_outside
from indistinct.data.records.reach import Ball, Norm, Reach
from indistinct.data.records.types import Batch, Kind, Mask, Type
from indistinct.data.records.unit import RECORDS, Unit, UserTotals
from indistinct.description import Described, describable
from indistinct.errors import ArgumentError, check_count, check_positive
from indistinct.numerics.rounding import root_up, rounded_up

_FINEST = 32
"""The level that is measured best counts so many times."""


@describable()
class Within(Described):
    """Categories that depend on the category of the column above: each is listed with those inside it. The
    same name may stand in several places, as county names do.

    >>> Within({"Maine": ["Knox", "Lincoln"], "Nevada": ["Lincoln", "Elko"]}).categories.values
    ('Knox', 'Lincoln', 'Elko')
    """

    inside: tuple[tuple[Any, tuple[Any, ...]], ...]
    outside: GivenOutside
    missing: GivenMissing

    def __init__(
        self,
        inside: Mapping[Any, Sequence[Any]],
        outside: Outside = Outside.DROP,
        missing: Missing = Missing.DROP,
    ) -> None:
        listed = dict(inside)
        for parent, values in listed.items():
            if isinstance(values, str | bytes) or not len(values) or len(set(values)) < len(values):
                raise ArgumentError(
                    f"inside {parent!r}", values, "a list of different categories, one or more"
                )
        kept = tuple((parent, tuple(values)) for parent, values in listed.items())
        for name, value in (("inside", kept), ("outside", outside), ("missing", missing)):
            object.__setattr__(self, name, value)
        self.__post_init__()

    def __post_init__(self) -> None:
        _ = self.categories  # refuses what is no category

    @property
    def categories(self) -> Categories:
        """All of them, each once."""
        values = tuple(dict.fromkeys(value for _, values in self.inside for value in values))
        return Categories(values, self.outside, self.missing)

    @property
    def type(self) -> Kind:
        return self.categories.type


Level = Celled | Within
"""What a column of a hierarchy can be made of: a domain that is the same everywhere, or one within
another."""


def flat(domain: Level) -> Celled:
    """All cells of a column, wherever they are."""
    return domain.categories if isinstance(domain, Within) else domain


@dataclass(frozen=True)
class Leaves(Encoding):
    """Each record counts one at the leaf that its columns name; one that names none is outside the last of
    the columns that do not fit together."""

    axes: tuple[tuple[str, Level], ...]
    counts = True
    step = 1.0

    def __post_init__(self) -> None:
        check_distinct(self.axes)
        if not self.axes:
            raise ArgumentError("levels", self.axes, "one column or more, each within the one before")
        for name, domain in self.axes:
            if not isinstance(domain, Level):
                allowed = "Categories(...), Within(...), Bins(...), Intervals(...) or OrMissing(...)"
                raise ArgumentError(f"domain of {name!r}", domain, allowed)
        if isinstance(self.axes[0][1], Within):
            raise ArgumentError(
                f"domain of {self.axes[0][0]!r}", self.axes[0][1], "one that is within no other"
            )
        _ = self.keys

    @cached_property
    def keys(self) -> tuple[Integers, ...]:
        """The nodes of each level, in order: the parent's number times the size of the column's domain, plus
        the place there."""
        levels: list[Integers] = []
        parents = 1
        for place, (name, domain) in enumerate(self.axes):
            size = flat(domain).size
            if isinstance(domain, Within):
                upper, above = flat(self.axes[place - 1][1]), self.axes[place - 1][0]
                nodes = levels[-1] % upper.size
                places = _nested(name, domain, above, upper, nodes)
                level = np.sort(np.concatenate([node * size + own for node, own in enumerate(places)]))
            else:
                level = np.arange(parents * size, dtype=np.int64)
            if len(level) > MOST_CELLS:
                raise ArgumentError("levels", f"{len(level)} leaves", f"at most {MOST_CELLS}")
            levels.append(level)
            parents = len(level)
        return tuple(levels)

    @cached_property
    def tree(self) -> Tree:
        sizes = [flat(domain).size for _, domain in self.axes]
        return Tree(tuple(keys // size for keys, size in zip(self.keys, sizes, strict=True)))

    @property
    def places(self) -> list[Integers]:
        """The cell of each node along the column of its level."""
        return [keys % flat(domain).size for keys, (_, domain) in zip(self.keys, self.axes, strict=True)]

    @property
    def size(self) -> int:  # type: ignore[override]
        return len(self.keys[-1])

    @property
    def types(self) -> Mapping[str, Type]:
        return {name: domain.type for name, domain in self.axes}

    @property
    def reach(self) -> Reach:
        return Ball(Norm.L1, 1.0, self.size, nonnegative=True)

    def encode(self, batch: Batch) -> tuple[Mask, Integers]:
        keep, nodes = np.ones(batch.rows, dtype=bool), np.zeros(batch.rows, dtype=np.int64)
        for (name, domain), keys in zip(self.axes, self.keys, strict=True):
            own = flat(domain)
            wanted = nodes * own.size + settled_places(batch[name], name, own, keep)
            nodes = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1).astype(np.int64)
            refuse_outside(name, keys[nodes] != wanted, inner(own).outside, keep, " within the column above")
        return keep, (nodes if keep.all() else nodes[keep])[:, None]


def _nested(name: str, domain: Within, above: str, upper: Celled, nodes: Integers) -> Iterator[Any]:
    """Places of the children of each node, by the category of the node."""
    if not isinstance(upper, Categories):
        raise ArgumentError(f"domain of {above!r}", upper, f"categories: {name!r} is within it")
    values = [upper.values[place] for place in nodes.tolist()]
    inside, where = dict(domain.inside), domain.categories.places
    if unknown := [parent for parent in inside if parent not in upper.places]:
        raise ArgumentError(f"inside of {name!r}", unknown[0], f"a category of {above!r}")
    for value, places in Counter(values).items():
        if value not in inside:
            allowed = f"listed with what is inside it: every category of {above!r} has one or more"
            raise ArgumentError(f"inside of {name!r}", value, allowed)
        if places > 1:
            raise ArgumentError(
                f"inside of {name!r}", value, f"in one place of {above!r}: which one is meant?"
            )
    return (np.array([where[child] for child in inside[value]], dtype=np.int64) for value in values)


@describable()
class Hierarchy(Query):
    """How many records there are in all, in each category of the first column, in each of the second within
    it, and so on: the answer has the numbers of all nodes, level by level, and children add up to their
    parents.

    Each level is measured by itself: its counts times its share, an integer, with noise of one scale on all
    numbers (with share 0, not at all). A record is in one node of each level. Answers are the least-squares
    fit (`Tree`), with `whole` as non-negative whole numbers that still add up; `best` chooses the shares.

    >>> places = {"country": Categories(["A", "B"]), "town": Within({"A": ["a", "b"], "B": ["b"]})}
    >>> query = Hierarchy(places, shares=(1, 1, 1))
    >>> query.statistic({"country": ["A", "A", "B", "B"], "town": ["a", "b", "b", "a"]}).units
    array([3, 2, 1, 1, 1, 1])
    """

    levels: tuple[tuple[str, Level], ...]
    shares: tuple[int, ...]
    whole: bool
    unit: Unit

    def __init__(
        self,
        levels: Mapping[str, Level],
        shares: Sequence[int] | None = None,
        whole: bool = False,
        unit: Unit = RECORDS,
    ) -> None:
        columns = tuple(dict(levels).items())
        given = (1,) * (len(columns) + 1) if shares is None else tuple(shares)
        if len(given) != len(columns) + 1:
            raise ArgumentError(
                "shares", given, f"{len(columns) + 1} integers: of the total and of each column"
            )
        for share in given:
            check_count("shares", share)
        if not given[-1]:
            raise ArgumentError("shares", given, "positive for the last level, which all others are made of")
        if isinstance(unit, UserTotals) and unit.norm is not Norm.L1:
            raise ArgumentError("unit", unit, "clipped in L1: other norms grow when cells are merged")
        self._declare(levels=columns, shares=given, whole=bool(whole), unit=unit)

    @classmethod
    def best(
        cls,
        levels: Mapping[str, Level],
        norm: Norm,
        weights: Sequence[float] | None = None,
        whole: bool = False,
        unit: Unit = RECORDS,
    ) -> "Hierarchy":
        """With the shares that make the mean squared error of the levels, added up with these weights, the
        least; for noise that protects this norm (L1: Laplace, L2: Gaussian). They depend on the declared tree
        alone."""
        plain = cls(levels, None, whole, unit)
        weights = (1.0,) * len(plain.shares) if weights is None else tuple(weights)
        if len(weights) != len(plain.shares):
            raise ArgumentError(
                "weights", weights, f"{len(plain.shares)} numbers: of the total and of each column"
            )
        for weight in weights:
            check_positive("weights", weight)
        return cls(levels, best_shares(plain.tree, norm, weights), whole, unit)

    @cached_property
    def encoding(self) -> Leaves:
        return Leaves(self.levels)

    @property
    def tree(self) -> Tree:
        return self.encoding.tree

    @property
    def size(self) -> int:
        return sum(size for size, share in zip(self.tree.sizes, self.shares, strict=True) if share)

    def measured(self, sums: npt.NDArray[Any]) -> npt.NDArray[Any]:
        most = max(self.shares) * max(int(sums.max(initial=0)), 1) * sums.shape[-1]
        exact = sums if most < 2**62 else sums.astype(object)
        levels = zip(self.shares, self.tree.levels(exact), strict=True)
        return np.concatenate([share * level for share, level in levels if share], axis=-1)

    def moved(self, norm: Norm, distance: float) -> float:
        # Merging cells does not move counts further: they are not negative, and bounded in sum.
        each = [Fraction(distance) * share for share in self.shares]
        if norm is Norm.L1:
            return rounded_up(sum(each, Fraction(0)))
        return (
            root_up(sum((one * one for one in each), Fraction(0)))
            if norm is Norm.L2
            else rounded_up(max(each))
        )

    @property
    def _precisions(self) -> list[float]:
        """Of a count of each level, for noise of variance 1."""
        return [float(share**2) for share in self.shares]

    def _fitted(self, values: Values) -> list[Values]:
        levels, start = [], 0
        for size, share in zip(self.tree.sizes, self.shares, strict=True):
            measured = (
                values[..., start : start + size] / share if share else np.zeros((*values.shape[:-1], size))
            )
            levels.append(measured)
            start += size if share else 0
        return self.tree.fitted(levels, self._precisions)

    def read(self, values: Values) -> Any:
        fitted = self._fitted(values)
        return np.concatenate(self.tree.whole(fitted, self._precisions) if self.whole else fitted, axis=-1)

    @cached_property
    def deviations(self) -> Values:
        """Of the answers before they are made whole, at every node, for noise of variance 1; exact."""
        return np.sqrt(np.concatenate(self.tree.variances(self._precisions)))

    def estimate(self, values: Values, noisy: NoisyQuery) -> Estimates:
        answer, fitted = self.read(values), np.concatenate(self._fitted(values), axis=-1)
        width = self.deviations * noisy.width(np.full(2, math.sqrt(0.5)))  # of any combination of norm 1
        low, high = fitted - width, fitted + width
        if self.whole:  # as the counts without noise are
            low, high = np.ceil(np.maximum(low, 0.0)), np.floor(np.maximum(high, 0.0))
            low, high = np.minimum(low, answer), np.maximum(high, answer)
        return Estimates(answer, noisy.deviation * self.deviations, low, high)


def best_shares(tree: Tree, norm: Norm, weights: Sequence[float]) -> tuple[int, ...]:
    """How often each level counts, up to 32 times, so that Σ weight × (mean variance of the level) is least
    among those of one sensitivity that are on no level worse than every level by itself, with the best shares
    for that.

    With Gaussian noise that is convex in the squares. Where all nodes of a level have equally many children,
    no other linear measurement is better: the error is convex in AᵀA, so that the best one does not change
    when children are exchanged, and with weights of levels it is a positive combination of these. With
    Laplace noise it may be best to leave out levels, so that every choice of them is a start.
    """
    importance = np.array(weights, dtype=np.float64)
    power = 1 / 3 if norm is Norm.L1 else 1 / 4  # least Σ weight / share² for one Σ share or Σ share²
    alone = _counted_up(importance**power)

    def moved(shares: Values) -> float:
        return float(shares.sum() ** 2 if norm is Norm.L1 else (shares**2).sum())

    def means(shares: Values) -> Values:
        levels = tree.variances((shares**2).tolist())
        return moved(shares) * np.array([level.mean() for level in levels])

    def cost(shares: Values) -> float:
        return float(importance @ means(shares))

    def log_cost(logs: Values) -> float:
        return math.log(cost(np.exp(logs)))

    with np.errstate(divide="ignore"):
        most = moved(alone) / alone**2
    fair: Any = {"type": "ineq", "fun": lambda logs: 0.999 - means(np.exp(logs)) / most}
    ends = [(-8.0, 0.0)] * len(weights)
    found = [alone]
    for left in product((0.0, -6.0), repeat=min(len(weights) - 1, 6) if norm is Norm.L1 else 0):
        start = np.log(alone / alone.max()) + np.array([*left, *[0.0] * (len(weights) - len(left))])
        logs: Values = minimize(log_cost, start, method="SLSQP", bounds=ends, constraints=fair).x
        shares = _counted_up(np.exp(logs)) if np.isfinite(logs).all() else alone
        if (means(shares) <= most).all():
            found.append(shares)
    best = min(found, key=cost).astype(int)
    return tuple((best // np.gcd.reduce(best)).tolist())


def _counted_up(shares: Values) -> Values:
    """Integers in these proportions; the leaves are always measured."""
    counts: Values = np.rint(_FINEST * shares / shares.max())
    counts[-1] = max(counts[-1], 1)
    return counts
