"""What an adversary of limited capacity can learn from a release, and what may be done with that."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from indistinct.adjacency import Adjacency
from indistinct.adversaries.divergences import (
    Added,
    Capped,
    Divergences,
    OfEverything,
    OfOneNumber,
    OfOutcomes,
    OfSeveralNumbers,
    Worst,
)
from indistinct.adversaries.solvers.bracket import Bracket
from indistinct.adversaries.solvers.laws import GaussianShape, ReleasedNumber
from indistinct.errors import ArgumentError, check_array, check_nonnegative
from indistinct.guarantees.alternatives import Parallel
from indistinct.guarantees.discrete_pair import DiscretePair
from indistinct.guarantees.guarantee import Guarantee, Outputs
from indistinct.guarantees.readings import Interval
from indistinct.numerics.arrays import Array, shaped

if TYPE_CHECKING:
    from indistinct.adversaries.classes import Adversary, ReleaseMap

Numbers = list[tuple[ReleasedNumber, int]]
"""Released numbers, and how often each occurs."""

ONLY_LOSS = "only the privacy loss is known and not the released value, so this bounds every adversary"
WHY_NOT_ADAPTIVE = (
    "a later release may be chosen so that it computes any function of an earlier one, and then no class is "
    "limited; if all were fixed beforehand say adaptive=False (--non-adaptive in the shell), else read "
    "against Unrestricted()"
)
_SUMS = "sums of functions of the single"
_ORDERS = "1 (Kullback-Leibler) or a finite number above 1; Unrestricted() answers at infinity"


@dataclass(frozen=True, eq=False)
class Reading:
    """Restricted divergences (Chaudhuri, Imola and Machanavajjhala 2019, Definition 3), as upper bounds.

    `note` says what the numbers are for where that is not plain; `every_neighbour` is false where they hold
    for the two outputs furthest apart only, because the class does not look the same from everywhere.
    """

    adversary: "Adversary"
    divergences: Divergences
    adjacency: Adjacency
    note: str = ""
    every_neighbour: bool = True

    def renyi(self, order: Any) -> Any:
        """The restricted Rényi divergence of an order, at most. It need not grow with the order."""
        return self.renyi_interval(order).high

    def renyi_interval(self, order: Any) -> Interval:
        """Where the restricted Rényi divergence lies: the upper end is `renyi(order)`."""
        orders = check_array("order", order, 1.0, 1e12, _ORDERS)
        wanted, found = orders.ravel().tolist(), dict[float, Bracket]()
        # outwards from order 2, whose solution is known: each order starts from its neighbour's
        for value in sorted(set(wanted), key=lambda a: abs(math.log(max(a - 1, 1e-300)))):
            found[value] = self._kl if value == 1 else self.divergences.renyi(value)
        low, high = np.array([found[value] for value in wanted]).reshape(-1, 2).T
        return Interval(shaped(low, orders), shaped(high, orders))

    def kl(self) -> float:
        """The restricted Kullback-Leibler divergence, at most."""
        return self._kl.high

    def kl_interval(self) -> Interval:
        return Interval(*self._kl)

    @cached_property
    def _kl(self) -> Bracket:
        self._check_constant("the Kullback-Leibler divergence")
        return self.divergences.kl()

    def chi_squared(self) -> float:
        """The restricted χ² divergence, at most: sup over h of E_P h - E_Q[h + h²/4]."""
        self._check_constant("the χ² divergence")
        return self.divergences.chi_squared().high

    def _check_constant(self, name: str) -> None:
        """Both are solved for classes that have h + c with every h; above order 1 none is needed."""
        if not self.adversary.rules.translation_invariant:
            raise ArgumentError("constant", False, f"in the class, for {name}")

    def total_variation(self) -> float:
        """sup of E_P h - E_Q h over the functions of the class with values in [-1/2, 1/2], at most.

        Zero for polynomials of additive noise: none is bounded there but the constants.
        """
        return self.divergences.total_variation().high

    def ipm(self, radius: float = 1.0) -> float:
        """sup of |E_P h - E_Q h| over h = a . φ + c with |a| at most `radius` (Definition 4): the mean's
        shift in noise scales for linear functions, the distance of mean embeddings for kernel features."""
        return check_nonnegative("radius", radius) * self.divergences.mean_distance()

    def after(self, change: "ReleaseMap") -> "Reading":
        """The reading once the release was mapped, for the class that it still covers (Theorem 1)."""
        covered = self.adversary.after(change)
        note = f"after {change}: holds for {covered}"
        return Reading(covered, self.divergences, self.adjacency, note, self.every_neighbour)

    def __str__(self) -> str:
        scope = "" if self.every_neighbour else "; for the two outputs furthest apart"
        return f"reading against {self.adversary}{f' ({self.note})' if self.note else ''}{scope}"


# -- from a guarantee and a class to divergences ---------------------------------------------------


def read(adversary: "Adversary", guarantee: Guarantee, *, adaptive: bool) -> Reading:
    """The reading of a guarantee against a class."""
    if adversary.rules.adaptive:
        return Reading(adversary, OfEverything(guarantee, attained=True), guarantee.adjacency)
    if isinstance(guarantee, Parallel):
        # a record is in one part; the others have the same law with and without it, and average out
        parts = [read(adversary, part, adaptive=adaptive) for part in guarantee.parts]
        worst = Worst([part.divergences for part in parts])
        every = all(part.every_neighbour for part in parts)
        return Reading(adversary, worst, guarantee.adjacency, "the worst of disjoint parts", every)
    everything = OfEverything(guarantee, attained=False)
    outputs = guarantee.outputs or ()
    inner = _divergences(adversary, outputs)
    if inner is None:
        return Reading(adversary, everything, guarantee.adjacency, ONLY_LOSS)
    several = sum(count for _, count in outputs) > 1
    if adaptive and several:
        raise ArgumentError("adaptive", True, f"False for a composition: {WHY_NOT_ADAPTIVE}")
    note = "all releases were chosen beforehand" if several else ""
    capped = Capped(inner, everything)
    return Reading(adversary, capped, guarantee.adjacency, note, adversary.every_neighbour)


def _divergences(adversary: "Adversary", outputs: Outputs) -> Divergences | None:
    """Those of what is released; none where that is not known, or not numbers with noise."""
    if not outputs:
        return None
    if adversary.matrix is not None:
        return _of_outcomes(adversary.matrix, outputs)
    known = [(ReleasedNumber.behind(pair), count) for pair, count in outputs]
    numbers: Numbers = [(number, count) for number, count in known if number is not None]
    if len(numbers) < len(known):
        return None
    if adversary.rotates:
        numbers = _rotated(numbers)
    return Worst.of([_one_direction(adversary, way) for way in _directions(adversary, numbers)])


def _directions(adversary: "Adversary", numbers: Numbers) -> list[Numbers]:
    """P is the law with the record and Q the one without, or the other way round: for all numbers at once.
    One of the two is enough if the class cannot tell it from the other."""
    back = [(number.reversed(), count) for number, count in numbers]
    same = all(one.congruent == two.congruent for (one, _), (two, _) in zip(numbers, back, strict=True))
    return [numbers] if adversary.moves and same else [numbers, back]


def _sides(adversary: "Adversary", number: ReleasedNumber) -> list[ReleasedNumber]:
    """The record raises the number, or lowers it: for each number by itself."""
    return [number] if adversary.moves else [number, number.reflected()]


def _one_direction(adversary: "Adversary", numbers: Numbers) -> Divergences:
    span = adversary.span()
    assert span is not None
    if adversary.linear and (len(numbers) > 1 or numbers[0][1] > 1):
        return OfSeveralNumbers(numbers)
    parts: list[tuple[Divergences, int]] = []
    for number, count in numbers:
        sides = [OfOneNumber(side, span) for side in _sides(adversary, number)]
        parts.append((Worst.of(sides), count))
    if len(parts) == 1 and parts[0][1] == 1:
        return parts[0][0]
    if not adversary.rules.composes:
        raise ArgumentError("adversary", adversary, "convex and translation invariant to be composed")
    return Added(parts)


def _rotated(numbers: Numbers) -> Numbers:
    """Gaussian numbers as one: rotated so that only the first moves, and the others average out."""
    turned = [isinstance(number.q.noise, GaussianShape) and number.plain for number, _ in numbers]
    if not any(turned):
        return numbers
    squares = sum(n.shift**2 * count for (n, count), turns in zip(numbers, turned, strict=True) if turns)
    others = [each for each, turns in zip(numbers, turned, strict=True) if not turns]
    if squares or not others:
        others.append((ReleasedNumber.shifted(GaussianShape(), math.sqrt(squares)), 1))
    return others


def _of_outcomes(features: Array, outputs: Outputs) -> Divergences:
    pair, count = outputs[0]
    if len(outputs) > 1 or count > 1 or not isinstance(pair, DiscretePair):
        raise ArgumentError("features", "a matrix", "used for one release with finitely many outcomes")
    p, q = np.array(pair.p), np.array(pair.q)
    if features.shape[1] != p.size:
        raise ArgumentError("features", features.shape[::-1], f"a matrix with {p.size} rows, one an outcome")
    return Worst([OfOutcomes(p, q, features), OfOutcomes(q, p, features)])


# -- several readings -----------------------------------------------------------------------------


def sequential(*readings: Reading, adaptive: bool) -> Reading:
    """Several releases about the same data, read together: divergences add up (Theorem 4).

    Holds for sums of functions of the single releases (and of their products), if every class is convex and
    translation invariant and no release was chosen after seeing another: say `adaptive=False`.
    """
    for reading in readings:
        if adaptive and not reading.adversary.rules.adaptive:
            raise ArgumentError("adaptive", True, f"False for {reading.adversary}: {WHY_NOT_ADAPTIVE}")
        _check_composes(reading)
    return _joined(readings, lambda parts: Added([(part, 1) for part in parts]), f"{_SUMS} releases")


def disjoint(*readings: Reading) -> Reading:
    """Releases on disjoint parts of the data: the worst part counts (Theorem 3)."""
    for reading in readings:
        _check_composes(reading)
        if reading.adjacency is not Adjacency.ADD_REMOVE:
            allowed = "add/remove for disjoint parts (a replaced record may move to another part)"
            raise ArgumentError("adjacency", reading.adjacency.value, allowed)
    return _joined(readings, Worst, f"{_SUMS} parts")


def either(*readings: Reading) -> Reading:
    """A coin, independent of the data and not shown, decides which mechanism runs (Theorem 2).

    f-divergences are convex, α-divergences among them, so their maximum bounds the mixture, and the Rényi
    divergence of one order grows with the α-divergence.
    """
    if any(reading.adversary != readings[0].adversary for reading in readings):
        raise ArgumentError("readings", [str(r) for r in readings], "against the same adversary")
    return _joined(readings, Worst, "one of them, by a coin")


def _check_composes(reading: Reading) -> None:
    if not reading.adversary.rules.composes:
        allowed = "convex and translation invariant (containing the constants) to be composed"
        raise ArgumentError("adversary", reading.adversary, allowed)


def _joined(
    readings: tuple[Reading, ...], combine: Callable[[list[Divergences]], Divergences], note: str
) -> Reading:
    if not readings:
        raise ArgumentError("readings", readings, "at least one reading")
    first = readings[0]
    for reading in readings:
        if reading.adjacency is not first.adjacency:
            allowed = f"that of the other reading ({first.adjacency.value})"
            raise ArgumentError("adjacency", reading.adjacency.value, allowed)
    parts = combine([reading.divergences for reading in readings])
    every = all(reading.every_neighbour for reading in readings)
    return Reading(first.adversary, parts, first.adjacency, note, every)
