"""What an adversary of limited capacity can learn: readings, and what may be done with them."""

import math
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from indistinct.adjacency import Adjacency
from indistinct.adversaries.bracket import Bracket
from indistinct.adversaries.divergences import Added, Divergences, Worst
from indistinct.adversaries.rules import ReleaseMap
from indistinct.errors import ArgumentError, check_array, check_nonnegative
from indistinct.guarantees.readings import Interval

if TYPE_CHECKING:
    from indistinct.adversaries.adversary import Adversary

_ORDERS = "1 (Kullback-Leibler) or a finite number above 1; a class has no largest loss of its own"


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
        brackets, shape = self._renyi(order)
        return _shaped([b.high for b in brackets], shape)

    def renyi_interval(self, order: Any) -> Interval:
        """Where the restricted Rényi divergence lies: the upper end is `renyi(order)`."""
        brackets, shape = self._renyi(order)
        return Interval(_shaped([b.low for b in brackets], shape), _shaped([b.high for b in brackets], shape))

    def _renyi(self, order: Any) -> tuple[list[Bracket], tuple[int, ...]]:
        orders = check_array("order", order, 1.0, 1e12, _ORDERS)
        found: dict[float, Bracket] = {}
        # outwards from order 2, whose solution is known: each order starts from its neighbour's
        for value in sorted(set(orders.ravel().tolist()), key=lambda a: abs(math.log(max(a - 1, 1e-300)))):
            found[value] = self._kl if value == 1 else self.divergences.renyi(value)
        return [found[value] for value in orders.ravel().tolist()], orders.shape

    def kl(self) -> float:
        """The restricted Kullback-Leibler divergence, at most."""
        return self._kl.high

    def kl_interval(self) -> Interval:
        return Interval(*self._kl)

    @cached_property
    def _kl(self) -> Bracket:
        return self.divergences.kl()

    def chi_squared(self) -> float:
        """The restricted χ² divergence, at most: sup over h of E_P h - E_Q[h + h²/4]."""
        return self.divergences.chi_squared().high

    def total_variation(self) -> float:
        """sup of E_P h - E_Q h over the functions of the class with values in [-1/2, 1/2], at most.

        Zero for polynomials of additive noise: none is bounded there but the constants.
        """
        return self.divergences.total_variation().high

    def ipm(self, radius: float = 1.0) -> float:
        """sup of |E_P h - E_Q h| over h = a . φ + c with |a| at most `radius` (Definition 4): the mean's
        shift in noise scales for linear functions, the distance of mean embeddings for kernel features."""
        return check_nonnegative("radius", radius) * self.divergences.mean_distance()

    def after(self, change: ReleaseMap) -> "Reading":
        """The reading once the release was mapped, for the class that it still covers (Theorem 1)."""
        covered = self.adversary.after(change)
        note = f"after {change}: holds for {covered}"
        return Reading(covered, self.divergences, self.adjacency, note, self.every_neighbour)

    def __str__(self) -> str:
        scope = "" if self.every_neighbour else "; for the two outputs furthest apart"
        return f"reading against {self.adversary}{f' ({self.note})' if self.note else ''}{scope}"


def _shaped(flat: list[float], shape: tuple[int, ...]) -> Any:
    values = np.array(flat)
    if np.isnan(values).any():
        raise ArithmeticError("a restricted divergence could not be computed; please report this as a bug")
    return float(values[0]) if shape == () else values.reshape(shape)


def sequential(*readings: Reading, adaptive: bool) -> Reading:
    """Several releases about the same data, read together: divergences add up (Theorem 4).

    Holds for sums of functions of the single releases (and of their products), if every class is convex and
    translation invariant and no release was chosen after seeing another: say `adaptive=False`.
    """
    _check_same(readings)
    for reading in readings:
        if adaptive and not reading.adversary.rules.adaptive:
            raise ArgumentError("adaptive", True, f"False for {reading.adversary}: {WHY_NOT_ADAPTIVE}")
        _check_composes(reading)
    parts = Added([(reading.divergences, 1) for reading in readings])
    return _joined(readings, parts, "sums of functions of the single releases")


def disjoint(*readings: Reading) -> Reading:
    """Releases on disjoint parts of the data: the worst part counts (Theorem 3)."""
    _check_same(readings)
    for reading in readings:
        _check_composes(reading)
        if reading.adjacency is not Adjacency.ADD_REMOVE:
            allowed = "add/remove for disjoint parts (a replaced record may move to another part)"
            raise ArgumentError("adjacency", reading.adjacency.value, allowed)
    worst = Worst([reading.divergences for reading in readings])
    return _joined(readings, worst, "sums of functions of the single parts")


def either(*readings: Reading) -> Reading:
    """A coin, independent of the data and not shown, decides which mechanism runs (Theorem 2).

    f-divergences are convex, α-divergences among them, so their maximum bounds the mixture, and the Rényi
    divergence of one order grows with the α-divergence.
    """
    _check_same(readings)
    if any(reading.adversary != readings[0].adversary for reading in readings):
        raise ArgumentError("readings", [str(r) for r in readings], "against the same adversary")
    return _joined(readings, Worst([reading.divergences for reading in readings]), "one of them, by a coin")


WHY_NOT_ADAPTIVE = (
    "a later release may be chosen so that it computes any function of an earlier one, and then no class is "
    "limited; if all were fixed beforehand say adaptive=False (--non-adaptive in the shell), else read "
    "against Unrestricted()"
)


def _check_same(readings: tuple[Reading, ...]) -> None:
    if not readings:
        raise ArgumentError("readings", readings, "at least one reading")
    for reading in readings:
        if reading.adjacency is not readings[0].adjacency:
            allowed = f"that of the other reading ({readings[0].adjacency.value})"
            raise ArgumentError("adjacency", reading.adjacency.value, allowed)


def _check_composes(reading: Reading) -> None:
    if not reading.adversary.rules.composes:
        allowed = "convex and translation invariant (containing the constants) to be composed"
        raise ArgumentError("adversary", reading.adversary, allowed)


def _joined(readings: tuple[Reading, ...], divergences: Divergences, note: str) -> Reading:
    first = readings[0]
    every = all(reading.every_neighbour for reading in readings)
    return Reading(first.adversary, divergences, first.adjacency, note, every)
