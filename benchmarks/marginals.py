"""All two-way tables of real data for one budget: our error beside diffprivlib's and OpenDP's.

    .venv-bench/bin/python benchmarks/marginals.py [--runs N]

The data are the census income records ("Adult": 48,842 people, 11 columns) and the districts of California
(20,640, 9 columns), read from ../shared/data; without them the benchmark is skipped. Domains are declared
here, from what everybody knows of the columns, and not taken from the records.

Method: every library spends epsilon = 1 on the same tables of the same records (one record added or removed).
diffprivlib and OpenDP answer each table as a histogram of its own with an equal share of epsilon, as one
would by hand; ours measures the strategy that is best for all tables together. Errors are mean absolute
errors of a count, over all cells of all tables and over the runs. diffprivlib moves negative counts to 0.
Anyone may do that afterwards at no cost, so there are two columns of errors, without and with it, and the
bars compare like with like. Gaussian noise spends (1, 1e-6) and is no part of the bars. Seconds are of one
run, with a share of the preparation.

The exit status is 1 when a line says FAIL.
"""

import argparse
import csv
import sys
import time
import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path

import numpy as np

from indistinct import Budget, calibrate
from indistinct.data import Bins, Categories, Histogram, Outside, table
from indistinct.workloads import Marginals, MatrixMechanism, Noise, optimise

DATA = Path(__file__).resolve().parents[2] / "shared" / "data"
EPSILON, DELTA = 1.0, 1e-6
ROUNDING = 1 - 1e-5
"""Of epsilon left for rounding, which a release counts: it says afterwards what it spent."""

Domain = Bins | Categories
Tables = list[np.ndarray]
Answers = Callable[[], Tables]


@dataclass(frozen=True)
class Records:
    """Columns of integers, the places of values in their domains."""

    name: str
    columns: dict[str, np.ndarray]
    domains: dict[str, Domain]

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(domain.size for domain in self.domains.values())

    @property
    def pairs(self) -> list[tuple[int, int]]:
        return list(combinations(range(len(self.domains)), 2))

    def places(self, axis: int) -> np.ndarray:
        """Where the records lie along one column, for the peers."""
        name = list(self.domains)[axis]
        values, domain = self.columns[name], self.domains[name]
        if isinstance(domain, Categories):
            return np.array([domain.places[value] for value in values.tolist()])
        return np.clip((values - domain.low) // domain.width, 0, domain.size - 1).astype(int)

    def exact(self, pair: tuple[int, int]) -> np.ndarray:
        """One table, before noise."""
        names = [list(self.domains)[axis] for axis in pair]
        query = Histogram({name: self.domains[name] for name in names})
        units = query.statistic(table({name: self.columns[name] for name in names})).units
        return units.reshape([self.domains[name].size for name in names])


def within(low: float, high: float, bins: int) -> Bins:
    return Bins(low, high, bins, outside=Outside.CLIP)


def adult() -> Records:
    """The domains of adult.names; a question mark is an answer like any other."""
    listed = dict(
        line.rstrip(".\n").split(": ")
        for line in (DATA / "adult" / "adult.names").read_text().splitlines()
        if ": " in line and not line.startswith("|")
    )
    order = list(listed)
    rows = []
    for file in ("adult.data", "adult.test"):
        with open(DATA / "adult" / file, newline="") as lines:
            rows += [row for row in csv.reader(lines, skipinitialspace=True) if len(row) == 15]
    domains: dict[str, Domain] = {
        "age": within(15, 95, 16),
        "hours-per-week": within(0, 100, 10),
    }
    for name in (
        "workclass",
        "education",
        "marital-status",
        "occupation",
        "relationship",
        "race",
        "sex",
        "native-country",
    ):
        domains[name] = Categories([*listed[name].split(", "), "?"])
    domains["sex"], domains["race"] = (Categories(listed[name].split(", ")) for name in ("sex", "race"))
    columns = {name: np.array([row[order.index(name)] for row in rows]) for name in domains}
    for name in ("age", "hours-per-week"):
        columns[name] = columns[name].astype(float)
    domains["income"] = Categories(["<=50K", ">50K"])
    columns["income"] = np.array([row[14].rstrip(".") for row in rows])
    return Records("Adult", columns, domains)


def housing() -> Records:
    """Without the bedrooms, of which 207 are missing: tables must be about the same records."""
    domains: dict[str, Domain] = {
        "longitude": within(-125, -114, 22),
        "latitude": within(32, 42, 20),
        "housing_median_age": within(0, 52, 13),
        "total_rooms": within(0, 10_000, 20),
        "population": within(0, 5_000, 20),
        "households": within(0, 2_000, 20),
        "median_income": within(0, 15, 15),
        "median_house_value": within(0, 500_000, 20),
        "ocean_proximity": Categories(["<1H OCEAN", "INLAND", "ISLAND", "NEAR BAY", "NEAR OCEAN"]),
    }
    with open(DATA / "points" / "california_housing.csv", newline="") as lines:
        rows = list(csv.DictReader(lines))
    columns = {
        name: np.array([row[name] if isinstance(domain, Categories) else float(row[name]) for row in rows])
        for name, domain in domains.items()
    }
    return Records("California", columns, domains)


def ours(records: Records, exact: Tables, noise: Noise) -> tuple[Answers, str]:
    workload = Marginals(records.shape, ways=2)
    best = optimise(workload, noise).strategy
    counts = dict(zip(records.pairs, exact, strict=True))
    delta = 0.0 if noise is Noise.LAPLACE else DELTA
    mechanism = calibrate(
        lambda scale: MatrixMechanism(workload, best, scale, noise, records=100_000),
        Budget(epsilon=EPSILON * ROUNDING, delta=delta),
    ).mechanism

    def draw() -> Tables:
        release = mechanism.release(counts)
        spent = release.guarantee().epsilon(delta=delta)
        if not release.private or spent > EPSILON:
            raise ArithmeticError(f"spent {spent}")
        tables = workload.split(release.answers())
        return [tables[pair] for pair in records.pairs]

    return draw, f"expected root mean square {mechanism.root_mean_square_error():.2f}"


def diffprivlib(records: Records, exact: Tables, noise: Noise) -> tuple[Answers, str]:
    import diffprivlib as peer

    places = [records.places(axis) for axis in range(len(records.shape))]
    share = EPSILON / len(records.pairs)

    def draw() -> Tables:
        budget = peer.BudgetAccountant(epsilon=EPSILON * (1 + 1e-9), delta=0)
        found = []
        for i, j in records.pairs:
            sizes = [records.shape[i], records.shape[j]]
            counts, _, _ = peer.tools.histogram2d(
                places[i],
                places[j],
                epsilon=share,
                bins=sizes,
                range=[(-0.5, size - 0.5) for size in sizes],
                accountant=budget,
            )
            found.append(np.asarray(counts, dtype=float))
        return found

    return draw, f"{len(records.pairs)} histograms at epsilon {share:.4f}"


def opendp(records: Records, exact: Tables, noise: Noise) -> tuple[Answers, str]:
    import opendp.prelude as dp

    dp.enable_features("contrib")
    share = EPSILON / len(records.pairs)
    cells, measures = [], []
    for i, j in records.pairs:
        cells.append((records.places(i) * records.shape[j] + records.places(j)).tolist())
        count = dp.t.make_count_by_categories(
            dp.vector_domain(dp.atom_domain(T=int)),
            dp.symmetric_distance(),
            categories=list(range(records.shape[i] * records.shape[j])),
            null_category=False,
            MO=dp.L1Distance[int],
        )
        measure = count >> dp.m.then_laplace(scale=1 / share)
        if not measure.map(1) <= share * (1 + 1e-9):
            raise ArithmeticError(f"spent {measure.map(1)}")
        measures.append(measure)

    def draw() -> Tables:
        drawn = (np.array(measure(own), dtype=float) for measure, own in zip(measures, cells, strict=True))
        return [counts.reshape(like.shape) for counts, like in zip(drawn, exact, strict=True)]

    return draw, f"{len(records.pairs)} histograms at epsilon {share:.4f}"


PURE, MIXED = f"epsilon {EPSILON:g}", f"epsilon {EPSILON:g}, delta {DELTA:g}"
LIBRARIES: list[tuple[str, str, Callable[[Records, Tables, Noise], tuple[Answers, str]], Noise]] = [
    ("indistinct", PURE, ours, Noise.LAPLACE),
    ("diffprivlib", PURE, diffprivlib, Noise.LAPLACE),
    ("OpenDP", PURE, opendp, Noise.LAPLACE),
    ("indistinct, Gaussian", MIXED, ours, Noise.GAUSSIAN),
]


def errors(found: Iterable[Tables], exact: Tables) -> tuple[float, float]:
    """Mean absolute errors of a count, as it is and with negative counts moved to 0."""
    truth = np.concatenate([counts.ravel() for counts in exact])
    each = np.array([np.concatenate([counts.ravel() for counts in tables]) for tables in found])
    return float(np.abs(each - truth).mean()), float(np.abs(np.maximum(each, 0) - truth).mean())


def compare(records: Records, runs: int) -> bool:
    exact = [records.exact(pair) for pair in records.pairs]
    for (i, j), counts in zip(records.pairs, exact, strict=True):  # the peers count the same
        again = np.bincount(records.places(i) * records.shape[j] + records.places(j), minlength=counts.size)
        assert (again == counts.ravel()).all()
    cells, people = sum(counts.size for counts in exact), int(exact[0].sum())
    print(f"{records.name}: {people:,} records, {len(exact)} tables of two columns, {cells:,} counts")
    print(f"  {'':22}{'budget':26}{'mean error':>11}{'at least 0':>12}{'seconds':>9}")
    found: dict[str, tuple[float, float]] = {}
    for name, budget, library, noise in LIBRARIES:
        try:
            start = time.perf_counter()
            draw, note = library(records, exact, noise)
            answers = [draw() for _ in range(runs)]
        except ImportError as error:
            print(f"  {name:22}cannot be imported: {error}")
            continue
        seconds = (time.perf_counter() - start) / runs
        plain, clipped = found[name] = errors(answers, exact)
        first = "-" if name == "diffprivlib" else f"{plain:.2f}"
        print(f"  {name:22}{budget:26}{first:>11}{clipped:>12.2f}{seconds:>9.2f}   {note}", flush=True)
    return verdict(found)


def verdict(found: dict[str, tuple[float, float]]) -> bool:
    """A peer that is not there has not been beaten."""
    passed = True
    for name, place, how in (("OpenDP", 0, ""), ("OpenDP", 1, ", at least 0"), ("diffprivlib", 1, "")):
        if name not in found:
            print(f"  FAIL  {name} was not measured")
            passed = False
            continue
        ratio = found["indistinct"][place] / found[name][place]
        print(f"  {'PASS' if ratio < 1 else 'FAIL'}  {ratio:.2f} times the error of {name}{how} (bar: 1)")
        passed &= ratio < 1
    return passed


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=5)
    runs = parser.parse_args(arguments).runs
    if not DATA.exists():
        print(f"skipped: there are no data at {DATA}")
        return 0
    warnings.filterwarnings("ignore", module="diffprivlib")
    passed = [compare(read(), runs) for read in (adult, housing)]
    return 0 if all(passed) else 1


if __name__ == "__main__":
    sys.exit(main())
