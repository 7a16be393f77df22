"""Means and medians by group of real tables: our errors beside OpenDP's, diffprivlib's and plain Laplace
noise.

    .venv-bench/bin/python benchmarks/tables.py [--runs 100] [--data ../shared/data]

PUMS (1,000 people: income by education and sex), Adult (32,561: hours by education and sex) and randhie
(20,190 years: visits by insurance and sex, from statsmodels), at epsilon 1 and 0.2, one record added or
removed. Ends of intervals and groups are declared here, from what everybody knows. Without the data the
benchmark is skipped.

- ours: `PrivateTable(...).by(...)`; medians by `Quantile(..., by=)`, permute-and-flip.
- OpenDP: its Polars interface (`group_by`, `dp.sum` and `dp.len`; `dp.median` over candidates).
- diffprivlib: `tools.mean` and `tools.median` of each group. They take the number of records in a group to be
  public, which is another promise (one record replaced, within its group): shown, and no part of the bars.
- plain: a sum and a count with Laplace noise, half of epsilon each; no medians.

Errors are root mean squares over groups and runs, weighted by the records of a group: of means in units of
the column, with answers moved into the declared interval for everybody; of medians in ranks, against the
records as they are. Coverage is of our 95 % intervals, against the answer without noise on clipped values.
Seconds are of one run. The exit status is 1 when a line says FAIL: ours above the best of the others by more
than two of its standard errors, or coverage outside 93 to 99 %.
"""

import argparse
import csv
import sys
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from indistinct import Budget, calibrate
from indistinct.data import Bins, Categories, Quantile, table
from indistinct.tables import PrivateTable

DATA = Path(__file__).resolve().parents[2] / "shared" / "data"


@dataclass(frozen=True)
class Asked:
    """A column of a table, by two others."""

    name: str
    columns: dict[str, np.ndarray]
    by: dict[str, list[int]]
    column: str
    low: float
    high: float
    grain: float
    """Of the values that people tell: answers to medians are multiples of it."""

    @property
    def candidates(self) -> np.ndarray:
        return np.arange(self.low, self.high + self.grain / 2, self.grain)

    @property
    def values(self) -> np.ndarray:
        return np.clip(self.columns[self.column].astype(float), self.low, self.high)

    @property
    def groups(self) -> list[np.ndarray]:
        """The records of each group, the last column running fastest."""
        (first, ones), (second, others) = self.by.items()
        return [
            self.values[(self.columns[first] == a) & (self.columns[second] == b)]
            for a in ones
            for b in others
        ]


def tables(data: Path) -> list[Asked]:
    def read(path: Path, names: list[str] | None = None) -> dict[str, np.ndarray]:
        with path.open() as file:
            rows = [[cell.strip() for cell in row] for row in csv.reader(file) if len(row) > 1]
        names = names or rows.pop(0)
        return {name: np.array(column) for name, column in zip(names, zip(*rows, strict=True), strict=True)}

    pums = {name: column.astype(float) for name, column in read(data / "PUMS.csv").items()}
    found = [Asked("PUMS", pums, {"educ": list(range(1, 17)), "sex": [0, 1]}, "income", 0, 200_000, 200)]
    names = "age work weight school educ marital job relation race sex gain loss hours country pay".split()
    census = read(data / "adult" / "adult.data", names)
    adult = {
        "educ": census["educ"].astype(float),
        "sex": (census["sex"] == "Male").astype(float),
        "hours": census["hours"].astype(float),
    }
    found.append(Asked("Adult", adult, {"educ": list(range(1, 17)), "sex": [0, 1]}, "hours", 0, 100, 1))
    try:
        from statsmodels.datasets import randhie
    except ImportError:
        return found
    frame = randhie.load_pandas().data
    years = {
        "idp": frame["idp"].to_numpy(),
        "hlthg": frame["hlthg"].to_numpy(),
        "visits": frame["mdvis"].to_numpy(),
    }
    found.append(Asked("randhie", years, {"idp": [0, 1], "hlthg": [0, 1]}, "visits", 0, 50, 1))
    return found


def ours(asked: Asked, epsilon: float) -> Callable[[], Any]:
    domains = {name: Categories(values) for name, values in asked.by.items()}
    people = PrivateTable(integers(asked), domains).by(*asked.by)
    question = people.mean(asked.column, low=asked.low, high=asked.high)
    return lambda: question.release(Budget(epsilon=epsilon)).values


def integers(asked: Asked) -> dict[str, np.ndarray]:
    return {**asked.columns, **{name: asked.columns[name].astype(int) for name in asked.by}}


def our_medians(asked: Asked, epsilon: float) -> Callable[[], Any]:
    domains = {name: Categories(values) for name, values in asked.by.items()}
    records = table(integers(asked))

    # a bin around each candidate
    half, count = asked.grain / 2, len(asked.candidates)
    bins = Bins(asked.low - half, asked.candidates[-1] + half, count)

    def family(scale: float) -> Quantile:
        return Quantile(asked.column, bins, 0.5, scale, by=domains)

    noisy = calibrate(family, Budget(epsilon=epsilon)).mechanism
    return lambda: np.asarray(noisy.release(records).values).ravel()


def opendp(asked: Asked, epsilon: float, *, medians: bool = False) -> Callable[[], Any] | None:
    try:
        import opendp.prelude as dp
        import polars as pl
    except ImportError:
        return None
    dp.enable_features("contrib")
    names = list(asked.by)
    frame = pl.DataFrame({**integers(asked), asked.column: asked.columns[asked.column].astype(float)})
    frame = frame.select([*names, asked.column])
    groups = len(asked.groups)
    column = pl.col(asked.column).fill_nan(0.0).fill_null(0.0)

    def run() -> np.ndarray:
        margin = dp.polars.Margin(by=names, invariant="keys", max_length=len(frame), max_groups=groups)
        context = dp.Context.compositor(
            data=frame.lazy(),
            privacy_unit=dp.unit_of(contributions=1),
            privacy_loss=dp.loss_of(epsilon=epsilon),
            split_evenly_over=1,
            margins=[margin],
        )
        query = context.query().group_by(names)
        if medians:
            edges = asked.candidates.tolist()
            found = query.agg(column.dp.median(edges)).release().collect()
            values = dict(zip(found.select(names).iter_rows(), found[asked.column], strict=True))
            places = {key: edges[value] if isinstance(value, int) else value for key, value in values.items()}
            return in_order(asked, places, (asked.low + asked.high) / 2)
        found = query.agg(column.dp.sum((asked.low, asked.high)), dp.len(signed=True)).release().collect()
        means = found[asked.column] / found["len"].clip(1)
        return in_order(asked, dict(zip(found.select(names).iter_rows(), means, strict=True)), asked.low)

    return run


def in_order(asked: Asked, found: dict[Any, float], absent: float) -> np.ndarray:
    (_, ones), (_, others) = asked.by.items()
    return np.array([found.get((a, b), absent) for a in ones for b in others])


def diffprivlib(asked: Asked, epsilon: float, *, medians: bool = False) -> Callable[[], Any] | None:
    try:
        from diffprivlib import tools
    except ImportError:
        return None
    ask = tools.median if medians else tools.mean
    bounds = (asked.low, asked.high)

    def run() -> np.ndarray:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return np.array(
                [
                    float(ask(own, epsilon=epsilon, bounds=bounds)) if len(own) else sum(bounds) / 2
                    for own in asked.groups
                ]
            )

    return run


def plain(asked: Asked, epsilon: float) -> Callable[[], Any]:
    draw = np.random.default_rng()
    sums, counts = (np.array([made(own) for own in asked.groups]) for made in (np.sum, len))
    size = max(abs(asked.low), abs(asked.high))

    def run() -> np.ndarray:
        noisy = sums + draw.laplace(0, 2 * size / epsilon, len(sums))
        return noisy / np.maximum(counts + draw.laplace(0, 2 / epsilon, len(counts)), 1)

    return run


def rank_errors(asked: Asked, medians: np.ndarray) -> np.ndarray:
    errors = []
    for own, place in zip(asked.groups, medians, strict=True):
        below, up_to, half = (own < place).sum(), (own <= place).sum(), len(own) / 2
        errors.append(max(below - half, half - up_to, 0))
    return np.array(errors)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--runs", type=int, default=100)
    parser.add_argument("--data", type=Path, default=DATA)
    arguments = parser.parse_args()
    if not (arguments.data / "PUMS.csv").exists():
        print("skipped: there are no data")
        return
    failed = False
    print(f"{'':28}{'epsilon':>8}  {'who':14}{'error':>12}{'±':>9}{'seconds':>10}{'coverage':>10}")
    for asked in tables(arguments.data):
        weights = np.array([len(own) for own in asked.groups]) / len(asked.values)
        truth = np.array([own.mean() if len(own) else np.nan for own in asked.groups])
        for epsilon in (1.0, 0.2):
            rows: dict[str, dict[str, Callable[[], Any] | None]] = {
                f"mean {asked.column} by {len(truth)}": {
                    "ours": ours(asked, epsilon),
                    "OpenDP": opendp(asked, epsilon),
                    "plain": plain(asked, epsilon),
                    "(diffprivlib)": diffprivlib(asked, epsilon),
                },
                f"median {asked.column} by {len(truth)}": {
                    "ours": our_medians(asked, epsilon),
                    "OpenDP": opendp(asked, epsilon, medians=True),
                    "(diffprivlib)": diffprivlib(asked, epsilon, medians=True),
                },
            }
            for what, methods in rows.items():
                failed |= compared(
                    f"{asked.name}: {what}", asked, epsilon, methods, weights, truth, arguments.runs
                )
    sys.exit(failed)


def compared(
    name: str,
    asked: Asked,
    epsilon: float,
    methods: dict[str, Callable[[], Any] | None],
    weights: np.ndarray,
    truth: np.ndarray,
    runs: int,
) -> bool:
    found: dict[str, tuple[float, float]] = {}
    bad = False
    for who, ask in methods.items():
        if ask is None:
            continue
        squares, held, start = [], [], time.perf_counter()
        for _ in range(runs):
            answer = ask()
            values = answer["mean"] if hasattr(answer, "header") else answer
            if "median" in name:
                errors = rank_errors(asked, values)
            else:
                errors = np.nan_to_num(np.clip(values, asked.low, asked.high) - truth)
            squares.append(float(weights @ errors**2))
            if hasattr(answer, "header"):
                near = (answer["low"] <= truth + 1e-6) & (truth - 1e-6 <= answer["high"])
                held.append(near[~np.isnan(truth)])
        seconds = (time.perf_counter() - start) / runs
        error = float(np.sqrt(np.mean(squares)))
        spread = float(np.std(squares) / np.sqrt(runs) / (2 * error)) if error else 0.0
        found[who] = (error, spread)
        told = f"{100 * np.mean(held):9.1f}%" if held else ""
        bad |= bool(held) and not 0.93 <= np.mean(held) <= 0.99
        print(f"{name:34}{epsilon:5g}  {who:14}{error:12.4g}{spread:9.2g}{seconds:10.3f}{told}", flush=True)
    peers = {who: one for who, one in found.items() if who != "ours" and not who.startswith("(")}
    best = min(peers.values(), default=(float("inf"), 0.0))
    worse = found["ours"][0] - best[0] > 2 * (found["ours"][1] + best[1])
    if bad or worse:
        print(f"{'':47}FAIL")
    return bad or worse


if __name__ == "__main__":
    main()
