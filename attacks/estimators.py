"""Densities and class sums: an attacker who knows all but one record looks at what is released.

The worst case, as in `synthesis.py`: all others are known, the record is as far from them as it can be, and
the release is drawn afresh many times with and without it, or with another in its place. The score is the
likelihood ratio of what is released, or, for a density, the fitted mass around the record. The ε that is
shown with 99 % confidence must stay below the stated one (of class sums, whose noise is Gaussian, that of the
whole trade-off); planted mistakes must be refuted.

    python attacks/estimators.py [--releases 4000]
"""

import argparse
import math
import sys
from dataclasses import dataclass
from typing import Any

import numpy as np
from synthesis import DELTA, EPSILON, Verdicts, gaussian_bound, lower_bound

from indistinct import Adjacency, Budget
from indistinct.data import Missing, Numbers
from indistinct.functions.density import density_from_counts, release_density
from indistinct.functions.estimators import PrivateKernelClassifier
from indistinct.functions.space import FiniteSpace

RECORDS = 20  # few: then class sums are released
BUDGET = Budget(epsilon=EPSILON, delta=DELTA)


def neighbours(adjacency: Adjacency) -> list[np.ndarray]:
    """All at one end, and with one at the other end besides or in place of one of them."""
    rows = np.full(RECORDS, 0.1)
    rows[-1] = 0.9
    return [np.full(RECORDS - (adjacency is Adjacency.ADD_REMOVE), 0.1), rows]


def density_scores(adjacency: Adjacency, count: int) -> tuple[float, dict[str, list[np.ndarray]]]:
    """The released counts of both places, and a few whole densities: what is fitted is post-processing."""
    domain = {"x": Numbers(0, 1, missing=Missing.ERROR)}
    released, fitted, stated = [], [], math.inf
    for rows in neighbours(adjacency):
        density = release_density({"x": rows}, domain, BUDGET, adjacency=adjacency, records=RECORDS)
        stated = density.guarantee(adjacency).epsilon(delta=DELTA)
        noisy = density.released.mechanism
        exact = noisy.query.statistic({"x": rows}).units
        drawn = noisy.drawn(Adjacency.ADD_REMOVE).release(np.tile(exact, (count, 1)))
        values = np.asarray(drawn.values, dtype=np.float64)
        place = [int(0.1 * values.shape[1]), int(0.9 * values.shape[1])]
        loss = np.abs(values[:, place[1]]) - np.abs(values[:, place[1]] - 1)
        if adjacency is Adjacency.REPLACE_ONE:
            loss = loss + np.abs(values[:, place[0]] - RECORDS) - np.abs(values[:, place[0]] - RECORDS + 1)
        released.append(loss)
        few = [type(density.released)(one, noisy, True) for one in values[: min(count, 200)]]
        fitted.append(np.array([density_from_counts(one).probability(0.85, 0.95) for one in few]))
    return stated, {"counts": released, "mass of the fit": fitted}


@dataclass(frozen=True)
class Line(FiniteSpace):
    """φ(x) = x between -1 and 1: one record in the place of another moves a sum by 2, as far as is proven."""

    dimension = size = 1
    bound = 1.0
    nonnegative = False

    def __call__(self, points: np.ndarray) -> np.ndarray:
        return points

    def gradients(self, points: np.ndarray) -> np.ndarray:
        return np.ones((len(points), 1, 1))

    def integrals(self, low: np.ndarray, high: np.ndarray) -> np.ndarray:
        return (high**2 - low**2) / 2


def class_scores(adjacency: Adjacency, count: int) -> tuple[float, list[np.ndarray], list[np.ndarray]]:
    """Class sums that move as far as they can; and with two thirds of the noise."""
    tables = [2.5 * (rows[:, None] - 0.5) for rows in neighbours(adjacency)]  # ends are -1 and 1
    declared: dict[str, Any] = {"box": (-1, 1), "classes": [0, 1], "records": RECORDS, "kernel": Line()}
    models = [
        PrivateKernelClassifier(BUDGET, adjacency=adjacency, **declared).fit(rows, np.zeros(len(rows), int))
        for rows in tables
    ]
    assert models[0].class_sums_
    space, noise = models[0].space_, models[0].functions_[0].mechanism
    scores: list[np.ndarray] = []
    quiet: list[np.ndarray] = []
    for rows in tables:
        for share, several in ((1.0, scores), (2 / 3, quiet)):
            lattice = type(noise)(noise.scale * share, noise.unit, noise.added, noise.replaced)
            total = space(rows).sum(axis=0)
            drawn = [lattice.added_to(space, total, None).coefficients[0] for _ in range(count)]
            several.append(np.array(drawn))
    return models[0].guarantee(adjacency).epsilon(delta=DELTA), scores, quiet


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--releases", type=int, default=4000, help="with and without the record, each")
    count, verdicts = parser.parse_args().releases, Verdicts()

    for adjacency in Adjacency:
        kind = adjacency.name.lower().replace("_", " ")
        stated, found = density_scores(adjacency, count)
        for name, scores in found.items():
            verdicts.row(f"density, {name}, {kind}", stated, lower_bound(*scores))
        stated, right, quiet = class_scores(adjacency, count)
        verdicts.row(f"class sums, {kind}", stated, gaussian_bound(*right))
        verdicts.row(
            f"planted: class sums, two thirds of the noise, {kind}",
            stated,
            gaussian_bound(*quiet),
            private=False,
        )
    return int(verdicts.failed)


if __name__ == "__main__":
    sys.exit(main())
