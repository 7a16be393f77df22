"""Synthetic census records: what a model learns from them, ours beside DP-MERF, at five budgets.

    .venv/bin/python benchmarks/synthesis_tables.py [--quick]

The data are the census income records ("Adult") in ../shared/data: a generator is fitted to the 32,561
records of adult.data, models are trained on as many synthetic rows, and tested on the 16,281 real records
of adult.test. Without the data the benchmark is skipped. Domains are declared here: categories are those of
adult.names; edges were written down by someone who knew the data set (that 40 hours and no capital gain are
common, that 99,999 is a cap), so they are not a blind declaration. Both methods get the same domains and
see numbers on the same scale, that of the declared cells.

- indistinct: all one- and two-way tables by label, one Gaussian release, and a mixture fitted to them, with
  the default settings of `TableSynthesizer`. They were chosen beforehand on a fifth of adult.data that was
  set aside, among about 13.
- DP-MERF (Harder, Adamczewski and Park 2021), written again from the paper: random features of one Gaussian
  kernel on the numbers, one-hot categories beside them, sums by label and noisy label counts in one
  Gaussian budget, a generator fitted by mini-batches. Its bandwidth was chosen in the same way, among
  LENGTHS_TRIED.

Neither choice is paid for. Method: δ = 1e-5, one record added or removed; a seed drives noise, fitting and
drawing together, so that a run can be repeated (the noise is therefore not private, which is right for
public data). Mean and standard deviation over the seeds. At ε = ∞ the same is done without noise. Nothing
was chosen on adult.test.

The exit status is 1 when a line says FAIL.
"""

import argparse
import csv
import math
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from indistinct import Budget, Gaussian, calibrate
from indistinct.data import Categories, Intervals, OrMissing
from indistinct.noise import NotPrivateSource
from indistinct.synthesis.tables import Determined, SyntheticTable, TableSynthesizer
from indistinct.synthesis.tables.decode import decoded, inner
from indistinct.synthesis.tables.evaluation import learned, table_errors

DATA = Path(__file__).resolve().parents[2] / "shared" / "data" / "adult"
DELTA = 1e-5
EPSILONS = (math.inf, 10.0, 1.0, 0.2, 0.01)
SEEDS = (1, 2, 3)
BAR = 0.86

EDUCATION = (
    "Preschool 1st-4th 5th-6th 7th-8th 9th 10th 11th 12th HS-grad Some-college Assoc-voc Assoc-acdm Bachelors"
    " Masters Prof-school Doctorate"
).split()
# The last edge lies below the next whole number, so that the last cell ends at the largest value there is.
EDGES = {
    "age": [17, 20, 23, 26, 29, 32, 35, 38, 41, 44, 47, 50, 53, 56, 60, 65, 70, 90.5],
    "fnlwgt": [10_000, 60_000, 100_000, 140_000, 180_000, 220_000, 280_000, 360_000, 1_500_000.5],
    "capital-gain": [0, 1, 2000, 3500, 5000, 7000, 10_000, 15_000, 30_000, 99_999, 99_999.5],
    "capital-loss": [0, 1, 1200, 1500, 1700, 1900, 2100, 2500, 5000.5],
    "hours-per-week": [1, 15, 25, 33, 38, 40, 41, 45, 50, 55, 60, 99.5],
}
UNKNOWN = ("workclass", "occupation", "native-country")
"""Where adult.names says that values may be missing."""

Columns = dict[str, Any]


def declared() -> TableSynthesizer:
    """The columns, from adult.names and what is written above."""
    listed = dict(
        line.rstrip(".\n").split(": ")
        for line in (DATA / "adult.names").read_text().splitlines()
        if ": " in line and not line.startswith("|")
    )
    columns: dict[str, Any] = {}
    for name, words in listed.items():
        if name in EDGES:
            columns[name] = Intervals(EDGES[name], whole=True)
        elif name == "education-num":
            columns[name] = Determined("education", {word: at + 1 for at, word in enumerate(EDUCATION)})
        else:
            domain = Categories(EDUCATION if name == "education" else words.split(", "))
            columns[name] = OrMissing(domain) if name in UNKNOWN else domain
    return TableSynthesizer(columns | {"income": Categories(["<=50K", ">50K"])}, label="income")


def records(design: TableSynthesizer, file: str) -> Columns:
    names = [name for name, _ in design.declared]
    with open(DATA / file, newline="") as lines:
        rows = [row for row in csv.reader(lines, skipinitialspace=True) if len(row) == len(names)]
    columns: Columns = {}
    for name, values in zip(names, zip(*rows, strict=True), strict=True):
        if name in EDGES or name == "education-num":
            columns[name] = np.array(values, dtype=np.int64)
        else:
            texts = [None if value == "?" else value.rstrip(".") for value in values]
            columns[name] = np.array(texts, dtype=object)
    return columns


def ours(design: TableSynthesizer, data: Columns, epsilon: float, seed: int) -> Columns:
    if math.isfinite(epsilon):
        source = NotPrivateSource(seed)
        fitted = design.fit(data, Budget(epsilon=epsilon, delta=DELTA), seed=seed, source=source)
    else:
        exact = design.query.read(design.query.statistic(data).values)
        fitted = SyntheticTable(design, design.mixture(exact, 0.0, seed=seed))
    return fitted.columns(len(data["income"]), seed=seed)


@dataclass(frozen=True)
class Merf:
    """DP-MERF for mixed columns and a label."""

    length: float = 0.2
    features: int = 2000
    steps: int = 1500
    batch: int = 500
    counts_share: float = 0.2
    """Of the squared shift, for the label counts."""

    def __call__(self, design: TableSynthesizer, data: Columns, epsilon: float, seed: int) -> Columns:
        import torch

        domains = dict(design.columns)
        numbers = [name for name in design.features if name in EDGES]
        listed = [name for name in design.features if name not in EDGES]
        sizes = [domains[name].size for name in listed]
        label = domains["income"]
        rng = np.random.default_rng(seed)
        torch.manual_seed(seed)
        frequencies = np.random.default_rng(12345).normal(size=(len(numbers), self.features // 2))
        frequencies /= self.length  # public
        height, share = math.sqrt(2 / self.features), 1 / math.sqrt(len(listed))

        # The embedding: numbers and categories have norm 1 each, together √2, in the block of the label.
        points = np.stack([on_a_line(inner(domains[name]), data[name]) for name in numbers], axis=1)
        phases = points @ frequencies
        places = [places_of(domains[name], data[name]) for name in listed]
        hot = [share * np.eye(size)[place] for size, place in zip(sizes, places, strict=True)]
        rows = np.concatenate([height * np.cos(phases), height * np.sin(phases), *hot], axis=1)
        labels = places_of(label, data["income"])
        scale = noise_of(epsilon)
        noise = scale * math.sqrt(2 / (1 - self.counts_share))
        sums = np.stack([rows[labels == at].sum(axis=0) for at in range(label.size)])
        sums += noise * rng.normal(size=sums.shape)
        counts = np.bincount(labels, minlength=label.size) + scale / math.sqrt(
            self.counts_share
        ) * rng.normal(size=label.size)
        counts = np.maximum(counts, 1.0)
        target = torch.tensor(sums / counts.sum(), dtype=torch.float32)
        shares = torch.tensor(counts / counts.sum(), dtype=torch.float32)

        # The generator, fitted to the release only.
        linear, relu = torch.nn.Linear, torch.nn.ReLU
        outputs = len(numbers) + sum(sizes)
        network = torch.nn.Sequential(
            linear(10 + label.size, 400), relu(), linear(400, 400), relu(), linear(400, outputs)
        )
        optimiser = torch.optim.Adam(network.parameters(), 1e-3)
        schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimiser, self.steps)
        turns = torch.tensor(frequencies, dtype=torch.float32)

        def drawn(count: int) -> tuple[Any, Any, list[Any]]:
            which = torch.multinomial(shares, count, replacement=True)
            known = torch.nn.functional.one_hot(which, label.size).float()
            made = network(torch.cat([torch.randn(count, 10), known], dim=1))
            chances = [torch.softmax(p, dim=1) for p in torch.split(made[:, len(numbers) :], sizes, dim=1)]
            return which, torch.sigmoid(made[:, : len(numbers)]), chances

        for _ in range(self.steps):
            which, place, chances = drawn(self.batch)
            phase = place @ turns
            parts = [height * torch.cos(phase), height * torch.sin(phase), *(share * p for p in chances)]
            known = torch.nn.functional.one_hot(which, label.size).float()
            mean = known.T @ torch.cat(parts, dim=1) / self.batch
            loss = ((mean - target) ** 2).sum()
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
            schedule.step()
        with torch.no_grad():
            which, place, chances = drawn(len(labels))
            picked = [torch.multinomial(p, 1)[:, 0].numpy() for p in chances]
        found = {"income": decoded(label, which.numpy(), np.zeros(len(labels)))}
        for name, own in zip(numbers, place.double().numpy().T, strict=True):
            domain = domains[name]
            cell = np.minimum((own * domain.size).astype(np.int64), domain.size - 1)
            found[name] = decoded(domain, cell, own * domain.size - cell)
        for name, own in zip(listed, picked, strict=True):
            found[name] = decoded(domains[name], own, np.zeros(len(own)))
        return found


def on_a_line(domain: Any, values: Any) -> np.ndarray:
    """Whole numbers from 0 to 1, cells equally wide, each number in the middle of its place."""
    return np.interp(np.asarray(values) + 0.5, domain.edges, np.linspace(0, 1, domain.size + 1))


def places_of(domain: Any, values: Any) -> np.ndarray:
    where = {value: place for place, value in enumerate(domain.labels)}
    return np.array([where[value] for value in values])


def noise_of(epsilon: float) -> float:
    if math.isinf(epsilon):
        return 0.0
    return calibrate(Gaussian, Budget(epsilon=epsilon, delta=DELTA)).parameter


Method = Callable[[TableSynthesizer, Columns, float, int], Columns]
METHODS: dict[str, Method] = {"indistinct": ours, "DP-MERF": Merf()}


def scores(design: TableSynthesizer, synthetic: Columns, real: Columns) -> list[float]:
    """Areas under the ROC curve of boosting and of logistic regression; one- and two-way total variation."""
    areas = learned(design, synthetic, real)
    return [
        areas.boosting,
        areas.logistic,
        table_errors(design, synthetic, real, ways=1),
        table_errors(design, synthetic, real, ways=2),
    ]


def line(name: str, epsilon: str, found: np.ndarray, seconds: str) -> str:
    told = [f"{mean:.4f}" for mean in found.mean(axis=0)]
    if len(found) > 1:
        told = [f"{a} ± {b:.4f}" for a, b in zip(told, found.std(axis=0, ddof=1), strict=True)]
    return f"| {name} | {epsilon} | {' | '.join(told)} | {seconds} |"


def verdict(found: dict[tuple[str, float], np.ndarray]) -> bool:
    passed = True

    def say(good: bool, words: str) -> None:
        nonlocal passed
        passed &= good
        print(f"{'PASS' if good else 'FAIL'}  {words}")

    area = {key: rows[:, 0].mean() for key, rows in found.items()}
    spread = {key: rows[:, 0].std(ddof=1) if len(rows) > 1 else 0.0 for key, rows in found.items()}
    here, there = area["indistinct", 1.0], area["DP-MERF", 1.0]
    say(here >= BAR, f"boosting AUC at ε = 1: {here:.4f} (bar: {BAR})")
    say(here > there, f"above DP-MERF at ε = 1: {here:.4f} against {there:.4f}")
    mine = [key for key in found if key[0] == "indistinct"]
    if len(mine) > 1:

        def clearly_below(low: tuple[str, float], high: tuple[str, float]) -> bool:
            return bool(area[low] < area[high] - spread[low] - spread[high])

        rises = any(clearly_below(more, less) for more, less in pairwise(mine))
        falls = clearly_below(mine[-1], mine[0])
        told = ", ".join(f"{area[key]:.4f}" for key in mine)
        say(falls and not rises, f"AUC falls with ε, up to the deviations: {told}")
    return passed


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="one seed, ε = 1 only")
    quick = parser.parse_args(arguments).quick
    if not DATA.exists():
        print(f"skipped: there are no data at {DATA}")
        return 0
    try:
        import sklearn  # noqa: F401
        import torch  # noqa: F401
    except ImportError as error:
        print(f"skipped: {error}")
        return 0
    design = declared()
    data, real = records(design, "adult.data"), records(design, "adult.test")
    print(f"{len(data['age']):,} records, {len(real['age']):,} to test on; {len(design.query.groups)} tables")
    print("| | ε | boosting AUC | logistic AUC | one-way TV | two-way TV | seconds |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    print(line("real records", "", np.array([scores(design, data, real)]), ""), flush=True)
    found: dict[tuple[str, float], np.ndarray] = {}
    for name, method in METHODS.items():
        for epsilon in (1.0,) if quick else EPSILONS:
            rows, seconds = [], 0.0
            for seed in SEEDS[:1] if quick else SEEDS:
                start = time.perf_counter()
                made = method(design, data, epsilon, seed)
                seconds += time.perf_counter() - start
                rows.append(scores(design, made, real))
            found[name, epsilon] = np.array(rows)
            told = "∞" if math.isinf(epsilon) else f"{epsilon:g}"
            print(line(name, told, found[name, epsilon], f"{seconds / len(rows):.0f}"), flush=True)
    return 0 if verdict(found) else 1


if __name__ == "__main__":
    sys.exit(main())
