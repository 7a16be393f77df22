"""From a guarantee and a class to divergences: what is known of the release decides who answers."""

import math
from typing import TYPE_CHECKING

import numpy as np

from indistinct.adversaries.coordinate import Coordinate, Law, coordinate
from indistinct.adversaries.divergences import (
    Added,
    Capped,
    Divergences,
    Everything,
    LinearInSeveral,
    OneNumber,
    OnTable,
    Worst,
)
from indistinct.adversaries.noise import GaussianNoise
from indistinct.adversaries.reading import WHY_NOT_ADAPTIVE, Reading
from indistinct.errors import ArgumentError
from indistinct.guarantees.alternatives import Parallel
from indistinct.guarantees.discrete_pair import DiscretePair
from indistinct.guarantees.guarantee import Guarantee, Outputs
from indistinct.numerics.arrays import Array

if TYPE_CHECKING:
    from indistinct.adversaries.adversary import Adversary

Places = list[tuple[Coordinate, int]]

ONLY_LOSS = "only the privacy loss is known and not the released value, so this bounds every adversary"


def read(adversary: "Adversary", guarantee: Guarantee, *, adaptive: bool) -> Reading:
    """The reading of a guarantee against a class."""
    if adversary.rules.adaptive:
        return Reading(adversary, Everything(guarantee, attained=True), guarantee.adjacency)
    if isinstance(guarantee, Parallel):
        # a record is in one part; the others have the same law with and without it, and average out
        parts = [read(adversary, part, adaptive=adaptive) for part in guarantee.parts]
        worst = Worst([part.divergences for part in parts])
        every = all(part.every_neighbour for part in parts)
        return Reading(adversary, worst, guarantee.adjacency, "the worst of disjoint parts", every)
    everything = Everything(guarantee, attained=False)
    outputs = guarantee.outputs
    if outputs is None:
        return Reading(adversary, everything, guarantee.adjacency, ONLY_LOSS)
    inner = _divergences(adversary, outputs)
    if inner is None:
        return Reading(adversary, everything, guarantee.adjacency, ONLY_LOSS)
    if adaptive and sum(count for _, count in outputs) > 1:
        raise ArgumentError("adaptive", True, f"False for a composition: {WHY_NOT_ADAPTIVE}")
    several = len(outputs) > 1 or outputs[0][1] > 1
    note = "all releases were chosen beforehand" if several else ""
    capped = Capped(inner, everything)
    return Reading(adversary, capped, guarantee.adjacency, note, adversary.every_neighbour)


def _divergences(adversary: "Adversary", outputs: Outputs) -> Divergences | None:
    if adversary.matrix is not None:
        return _on_table(adversary.matrix, outputs)
    places: Places = []
    for pair, count in outputs:
        place = coordinate(pair)
        if place is None:
            return None
        places.append((place, count))
    if adversary.rotates:
        places = _rotated(places)
    sides = [_one_direction(adversary, direction) for direction in _directions(adversary, places)]
    return sides[0] if len(sides) == 1 else Worst(sides)


def _directions(adversary: "Adversary", places: Places) -> list[Places]:
    """P is the law with the record and Q the one without, or the other way round: for all numbers at once.
    One of the two is enough if the class cannot tell it from the other."""
    back = [(place.reverse(), count) for place, count in places]
    same = all(one.congruent == two.congruent for (one, _), (two, _) in zip(places, back, strict=True))
    return [places] if adversary.moves and same else [places, back]


def _sides(adversary: "Adversary", place: Coordinate) -> list[Coordinate]:
    """The record raises the number, or lowers it: for each number by itself."""
    return [place] if adversary.moves else [place, place.reflected()]


def _one_direction(adversary: "Adversary", places: Places) -> Divergences:
    span = adversary.span()
    assert span is not None
    if adversary.linear and (len(places) > 1 or places[0][1] > 1):
        return LinearInSeveral(places)
    constant = adversary.rules.translation_invariant
    parts: list[tuple[Divergences, int]] = []
    for place, count in places:
        sides = [OneNumber(side, span, constant=constant) for side in _sides(adversary, place)]
        parts.append((sides[0] if len(sides) == 1 else Worst(sides), count))
    if len(parts) == 1 and parts[0][1] == 1:
        return parts[0][0]
    if not adversary.rules.composes:
        raise ArgumentError("adversary", adversary, "convex and translation invariant to be composed")
    return Added(parts)


def _rotated(places: Places) -> Places:
    """Gaussian numbers as one: rotated so that only the first moves, and the others average out."""
    squares, others = 0.0, []
    for place, count in places:
        if isinstance(place.q.noise, GaussianNoise) and place.plain:
            squares += count * place.shift**2
        else:
            others.append((place, count))
    if squares or not others:
        noise = GaussianNoise()
        merged = Coordinate(Law(noise, ((1.0, math.sqrt(squares)),)), Law(noise, ((1.0, 0.0),)))
        others.append((merged, 1))
    return others


def _on_table(features: Array, outputs: Outputs) -> Divergences:
    pair, count = outputs[0]
    if len(outputs) > 1 or count > 1 or not isinstance(pair, DiscretePair):
        raise ArgumentError("features", "a matrix", "used for one release with finitely many outcomes")
    p, q = np.array(pair.p), np.array(pair.q)
    if features.shape[1] != p.size:
        raise ArgumentError("features", features.shape[::-1], f"a matrix with {p.size} rows, one an outcome")
    return Worst([OnTable(p, q, features), OnTable(q, p, features)])
