"""Which tables to release: chosen by noisy distances between counts and what is expected of them so far.

1. All one-way tables, by label: they say what independent columns would look like.
2. How far each table of two columns is from that, with noise; then the tables that are worth it.
3. A generator is fitted, and the same is asked of all tables that it was not fitted to, those of three
   columns among them: with few records or a small budget hardly any are worth it, with many they are. Tables
   with the label count more: who declares a label wants to predict it.

A distance is one number where a table has many, so it needs little of the budget. Every part has Gaussian
noise and a share of the budget that is fixed beforehand: together they are one Gaussian mechanism.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from itertools import combinations
from typing import Any

import numpy as np
import numpy.typing as npt

from indistinct.adjacency import Adjacency
from indistinct.data import NoisyQuery, Norm, Tables
from indistinct.description import Positive, PositiveCount, describable
from indistinct.guarantees import Guarantee
from indistinct.mechanisms import Budget, DiscreteGaussian, Gaussian, Mechanism, Release, calibrate
from indistinct.mechanisms.mechanism import Composed
from indistinct.mechanisms.paying import Payer, charged
from indistinct.mechanisms.release import Lattice
from indistinct.noise import Source
from indistinct.numerics.arrays import Array
from indistinct.numerics.rounding import root_up

Group = tuple[str, ...]
Counts = Mapping[Group, Array]
"""Tables by the names of their columns; under (), the distances that were released to choose them."""
Guess = Callable[[Counts, Mechanism, bool], Callable[[Group], Array]]
"""From what was released to what is expected of a table, in records; a quick guess, or a fitted one."""

_ONES, _DISTANCES, _TABLES = 0.27, 0.06, 0.305
"""Shares of the budget: of one-way tables and, each of two times, of distances and of tables."""
_LABEL = 2.0
"""What the distance of a table with the label counts for."""
_FIT = 0.2
"""What noise of deviation 1 in each cell leaves in a table after fitting, in total, for each of its cells."""
_MOST_THREES, _MOST_CELLS, _MOST_CHOSEN = 1000, 10_000, 128
"""Beyond so many tables of three columns only those with the label are looked at, and none with more cells;
so many are chosen."""
_STEP, _LARGEST = 2.0**-10, 2.0**42
"""Guesses are rounded to the first, and a table of them is no larger than the second in all: distances are
exact, as sums of multiples of 2^-10 below 2^43."""


@describable("noisy_distances")
class NoisyDistances(Mechanism):
    """How far several tables of counts are from guesses that are no secret, with Gaussian noise.

    A record more or less moves one cell of each table by one, and its distance Σ|count - guess| by at most
    one; another record in its place moves two cells, and the distance by at most two.

    >>> round(NoisyDistances(tables=4, scale=20).guarantee().epsilon(delta=1e-5), 4)  # as of Gaussian(10)
    0.3407
    """

    tables: PositiveCount
    scale: Positive

    @property
    def unit(self) -> float:
        """The lattice on which noise is drawn; distances are on it."""
        return min(_STEP, Lattice.of(self.scale).unit)

    def drawn(self, adjacency: Adjacency) -> DiscreteGaussian:
        return DiscreteGaussian(self.scale / self.unit, moved(self.tables, adjacency) / self.unit)

    def _guarantee(self, adjacency: Adjacency) -> Guarantee:
        return self.drawn(adjacency).guarantee(adjacency)

    def released(self, values: Array, source: Source | None) -> tuple[Array, bool]:
        """Distances on the lattice with noise, and whether it is private."""
        units = np.array([int(value / self.unit) for value in values.tolist()])
        noisy = self.drawn(Adjacency.ADD_REMOVE).release(units, source=source)
        return np.asarray(noisy.values).astype(np.float64) * self.unit, noisy.private


def moved(tables: int, adjacency: Adjacency) -> float:
    """How far so many distances move together, rounded up."""
    return root_up(Fraction(tables)) * (1 if adjacency is Adjacency.ADD_REMOVE else 2)


@charged
def released_in_rounds(
    query: Tables,
    data: Any,
    label: str | None,
    budget: Budget,
    adjacency: Adjacency,
    guess: Guess,
    *,
    source: Source | None = None,
    ledger: Payer | None = None,
) -> Release[Counts]:
    """The tables that were worth it; `guess` makes expectations of what has been released before."""
    axes = dict(query.axes)
    multiplier = calibrate(Gaussian, budget, adjacency=adjacency).parameter * (1 + 1e-9)
    given = () if label is None else (label,)
    features = [name for name in axes if name != label]
    counts: dict[Group, Array] = {}
    seen: list[Array] = []
    parts: list[Mechanism] = []
    private = True

    def count(groups: list[Group], share: float) -> None:
        nonlocal private
        asked = Tables(axes, groups)
        scale = asked.sensitivity(Norm.L2, adjacency) * multiplier / math.sqrt(share)
        release = asked.gaussian(scale).release(data, source=source)
        counts.update(release.values)
        parts.append(release.mechanism)
        private &= release.private

    def look(groups: list[Group], expected: Callable[[Group], Array]) -> tuple[Array, float]:
        nonlocal private
        noisy = NoisyDistances(
            len(groups), moved(len(groups), adjacency) * multiplier / math.sqrt(_DISTANCES)
        )
        far, own = noisy.released(distances(Tables(axes, groups), data, expected), source)
        seen.append(far)
        parts.append(noisy)
        private &= own
        return far, noisy.scale

    count([(*given, name) for name in features], _ONES)
    sizes_of = {name: domain.size for name, domain in query.axes}
    rounds: list[list[Group]] = [list(combinations(features, 2)), _finer(features, label, sizes_of)]
    for place, candidates in enumerate(rounds):
        fresh = [group for group in candidates if group not in counts]
        if fresh:
            far, deviation = look(fresh, guess(counts, together(parts), place > 0))
            sizes = np.array([_cells(group, sizes_of) for group in fresh])
            weights = np.array([_LABEL if label in group else 1.0 for group in fresh])
            chosen = worth(weights * (far - deviation), sizes, multiplier / math.sqrt(_TABLES))
            count([fresh[at] for at in chosen[: _MOST_CHOSEN if place else None]], _TABLES)
    values = {**counts, (): np.concatenate(seen)}
    return Release(values, together(parts), private, 1.0, adjacency)


def _finer(features: list[str], label: str | None, sizes: Mapping[str, int]) -> list[Group]:
    """What is looked at last: pairs, pairs by label, and all threes if they are few."""
    pairs = list(combinations(features, 2))
    threes: list[Group] = [] if label is None else [(label, *pair) for pair in pairs]
    if math.comb(len(features), 3) <= _MOST_THREES:
        threes += [(a, b, c) for a, b, c in combinations(features, 3)]
    return [*pairs, *(group for group in threes if _cells(group, sizes) <= _MOST_CELLS)]


def _cells(group: Group, sizes: Mapping[str, int]) -> int:
    return math.prod(sizes[name] for name in group)


def together(parts: Sequence[Mechanism]) -> Mechanism:
    """One after the other."""
    return parts[0] if len(parts) == 1 else Composed(tuple(parts))


def parts_of(mechanism: Mechanism) -> list[Any]:
    """What `together` was given."""
    return list(mechanism.parts) if isinstance(mechanism, Composed) else [mechanism]


def distances(query: Tables, data: Any, expected: Callable[[Group], Array]) -> Array:
    """Σ|count - guess| of each table, exactly: multiples of a power of two that floats hold, since no guess
    is larger than a public bound."""
    found = query.read(query.statistic(data).values)
    return np.array([np.abs(found[group] - _rounded(expected(group))).sum() for group in query.groups])


def _rounded(guess: Array) -> Array:
    """To whole steps, and so that all of a table together stay below 2^53 of them."""
    most = math.floor(_LARGEST / _STEP / guess.size)
    units = np.rint(np.nan_to_num(guess / _STEP, nan=0.0, posinf=most, neginf=-most))
    return np.clip(units, -most, most) * _STEP


def worth(far: Array, sizes: npt.NDArray[np.int64], deviation: float) -> npt.NDArray[np.int64]:
    """The tables to release, if all of them share noise that has this deviation for one: of those with the
    largest distance for each cell so many that what noise leaves in them, plus the distances of all others,
    is least. (PrivSyn, Zhang et al. 2021, section 4, chooses by the same sum.)"""
    gains = np.maximum(far, 0)
    order = np.argsort(-gains / sizes, kind="stable")
    noise = _FIT * deviation * np.sqrt(np.arange(1, len(order) + 1)) * np.cumsum(sizes[order])
    return order[: 1 + int(np.argmin(noise - np.cumsum(gains[order])))]


def deviations(mechanism: Mechanism) -> dict[Group, float]:
    """How much noise is on each table that was released."""
    return {
        group: part.deviation
        for part in parts_of(mechanism)
        if isinstance(part, NoisyQuery) and isinstance(part.query, Tables)
        for group in part.query.groups
    }
