"""Tables that are chosen in rounds, and releases that are continued: the attacker of `synthesis.py`.

All other records are known and alike; the record in question differs from them everywhere, and comes or goes,
or takes the place of one of them. Everything that `fit` releases is looked at together: one-way tables, noisy
distances, tables that were chosen by them, and so on. Distances are from a guess, which anybody may know; it
is the worst one here, where each distance moves as far as it can. The score is the likelihood ratio of all of
it. What is stated is the trade-off of one Gaussian mechanism, which `gaussian_bound` tests as a whole.

Planted mistakes, which must be refuted: distances with a quarter of the noise that one table needs, and a
continued release that forgets the first one.

    python attacks/tables.py [--releases 1000]
"""

import argparse
import sys
from collections.abc import Callable
from itertools import combinations
from typing import Any

import numpy as np
from synthesis import DELTA, EPSILON, Verdicts, gaussian_bound

from indistinct import Adjacency, Budget
from indistinct.data import Categories, Intervals, Tables
from indistinct.mechanisms import Release
from indistinct.synthesis.tables import Mixture, SyntheticTable, TableSynthesizer, TableTraining, rounds
from indistinct.synthesis.tables.fitted import averaged

RECORDS = 300
BUDGET = Budget(epsilon=EPSILON, delta=DELTA)
DESIGN = TableSynthesizer(
    {
        "age": Intervals([0, 18, 40, 65, 121], whole=True),
        "town": Categories(["Aarau", "Bern", "Chur"]),
        "kids": Categories([0, 1, 2]),
        "ill": Categories([0, 1]),
    },
    label="ill",
)
COMMON: dict[str, Any] = {"age": 30, "town": "Bern", "kids": 0, "ill": 0}
OTHER: dict[str, Any] = {"age": 80, "town": "Chur", "kids": 2, "ill": 1}
Data = dict[str, np.ndarray]


def neighbours(adjacency: Adjacency) -> tuple[Data, Data]:
    """Without the record, or with one more of the others in its place; and with it."""
    alike = [COMMON] * (RECORDS - 1)
    without = alike if adjacency is Adjacency.ADD_REMOVE else [*alike, COMMON]
    parts = without, [*alike, OTHER]
    one, other = ({name: np.array([row[name] for row in rows]) for name in COMMON} for rows in parts)
    return one, other


class Attacker:
    """Who knows both data, and so all tables of both."""

    def __init__(self, adjacency: Adjacency) -> None:
        self.both, self.adjacency = neighbours(adjacency), adjacency
        names = [DESIGN.label, *DESIGN.features]
        groups = [group for many in (1, 2, 3) for group in combinations(names, many)]
        query = Tables(dict(DESIGN.columns), groups)
        self.tables = [query.read(query.statistic(data).values) for data in self.both]
        self.looks: list[list[rounds.Group]] = []

    def ratio(self, counts: Any, deviations: Any) -> float:
        """How much likelier noisy tables are with the record than without, in logarithms."""
        found = 0.0
        for group, deviation in deviations.items():
            without, with_it = (tables[group] for tables in self.tables)
            found += (
                float(((counts[group] - (without + with_it) / 2) * (with_it - without)).sum()) / deviation**2
            )
        return found

    def expected(self, group: rounds.Group) -> np.ndarray:
        """The worst guess: too many like the others, and none like the record, which then adds to every
        distance; and more than that where it takes the place of another."""
        return 2 * np.where(self.tables[0][group] > 1, RECORDS, 0)

    def guess(self, counts: Any, mechanism: Any, fitted: bool) -> Callable[[rounds.Group], np.ndarray]:
        """What was asked for is noted, in its order."""
        self.looks.append([])

        def noted(group: rounds.Group) -> np.ndarray:
            self.looks[-1].append(group)
            return self.expected(group)

        return noted

    def score(self, which: int) -> float:
        """Of a release in rounds of one of both data."""
        self.looks = []
        release: Release[Any] = rounds.released_in_rounds(
            DESIGN.query, self.both[which], DESIGN.label, BUDGET, self.adjacency, self.guess
        )
        found = self.ratio(release.values, rounds.deviations(release.mechanism))
        parts = rounds.parts_of(release.mechanism)
        noises = [part for part in parts if isinstance(part, rounds.NoisyDistances)]
        told = np.split(release.values[()], np.cumsum([noise.tables for noise in noises])[:-1])
        for groups, noise, far in zip(self.looks, noises, told, strict=True):
            without, with_it = (
                np.array([np.abs(tables[group] - self.expected(group)).sum() for group in groups])
                for tables in self.tables
            )
            found += float((far - (without + with_it) / 2) @ (with_it - without)) / noise.scale**2
        return found


def in_rounds(adjacency: Adjacency, count: int) -> list[np.ndarray]:
    attacker = Attacker(adjacency)
    return [np.array([attacker.score(which) for _ in range(count)]) for which in (0, 1)]


def continued(adjacency: Adjacency, count: int) -> tuple[float, float, list[np.ndarray]]:
    """Two releases of the same tables, seen through their best mean, which says all that both say: the ε that
    is stated for both, that of the second alone, and scores."""
    attacker, quick = Attacker(adjacency), TableTraining(components=1, latent=1, width=1, steps=1)
    noisy = DESIGN.mechanism(BUDGET, adjacency)
    blank = Mixture(DESIGN.sizes, np.array([0.5, 0.5]), _even())
    scores: list[np.ndarray] = []
    for data in attacker.both:
        found = []
        for _ in range(count):
            first = noisy.release(data)
            one = SyntheticTable(DESIGN, blank, Release(first.values, noisy, True, 1.0, adjacency))
            two = one.continued(data, BUDGET, training=quick, progress=lambda step, loss: None)
            found.append(attacker.ratio(*averaged(two.releases)))
        scores.append(np.array(found))
    alone = two.releases[-1].guarantee(adjacency).epsilon(delta=DELTA)
    return two.guarantee(adjacency).epsilon(delta=DELTA), alone, scores


def _even() -> np.ndarray:
    return np.concatenate([np.full((2, 1, size), 1 / size) for size in DESIGN.sizes], axis=2)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--releases", type=int, default=1000, help="with and without the record, each")
    count, verdicts = parser.parse_args().releases, Verdicts()

    exact = rounds.moved
    for adjacency in Adjacency:
        kind = adjacency.name.lower().replace("_", " ")
        verdicts.row(f"tables in rounds, {kind}", EPSILON, gaussian_bound(*in_rounds(adjacency, count)))
        rounds.moved = lambda tables, near: exact(1, near) / 4  # type: ignore[assignment]
        verdicts.row(
            f"planted: distances too quiet, {kind}",
            EPSILON,
            gaussian_bound(*in_rounds(adjacency, count)),
            private=False,
        )
        rounds.moved = exact
        stated, alone, scores = continued(adjacency, count)
        verdicts.row(f"continued, both releases, {kind}", stated, gaussian_bound(*scores))
        verdicts.row(
            f"planted: the second release alone, {kind}", alone, gaussian_bound(*scores), private=False
        )
    return int(verdicts.failed)


if __name__ == "__main__":
    sys.exit(main())
