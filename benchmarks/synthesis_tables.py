"""Synthetic tables: ours beside AIM and MST, on five sets of records in the same declared cells.

    .venv/bin/python benchmarks/synthesis_tables.py [--peers PYTHON] [--kept FOLDER] [--seeds 3] [--sets ...]

AIM (McKenna et al. 2022) and MST (McKenna, Miklau and Sheldon 2021) are those of `dpmm` 0.1.9 with its
defaults, which are the authors' (two-way workload, 80 MB, 1,000 iterations a round). PYTHON is that of an
environment that has it; without one only ours is run. They take minutes to hours, so their rows are
kept in FOLDER and not made again while they are there.

All methods get the same integers (`table_sets.py`), ε, δ = 1e-5 for one record added or removed, noise from
the operating system, and make as many rows as there are training records. 2-way and 3-way are total
variation from the training records, the mean over all tables of so many columns, the label among them; AUC is
that of gradient boosting that was trained on the rows and tested on records that were set aside. CPU seconds
are of fitting and drawing, on one thread.

Our settings were chosen on four fifths of Adult's training records (and 5,000 of them), tested on the rest of
the training records, and on two sets that were made up; then `fair` was looked at twice and `randhie` once
while the method was changed. Later: trades of rows, and that tables with the label count twice in the last
round, were chosen on those parts of Adult; another change that they favoured (pairs by label already in the
first round) was given up when all five sets had been seen with it, where tables came out worse. Last, the
shares of the budget and the price of dependence were chosen on tables of 16,000 and 4,000 records: parts of
Adult's training records with nine features, and some that are not among the five, grey means of nine parts of
MNIST's digits, earthquakes and two made-up ones. Those of 4,000 were made after `fair` had come out worse
with what those of 16,000 had asked for. That labels share their components was found by looking at why
`randhie` came out as it did at ε = 1; how, and at what price, was chosen on made-up tables (labels with
additive logits, with products, and classes that share nothing), digits, clothes and parts of Adult's training
records. Nothing else was chosen on California, PUMS or on Adult's test records.

Then: 100 columns x 50,000 records, and a column that is the exclusive or of two others, which no table of two
columns shows. The exit status is 1 when a line says FAIL.
"""

import argparse
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

import numpy as np
import numpy.typing as npt

try:
    from table_sets import DATA, SETS, Coded, Codes
except ImportError as error:
    sys.exit(f"skipped: {error}")

from indistinct import Budget
from indistinct.data import Categories
from indistinct.synthesis.tables import TableSynthesizer
from indistinct.synthesis.tables.evaluation import learned, table_errors

DELTA = 1e-5
EPSILONS = (1.0, 0.2)
PEERS = ("AIM", "MST")
MINUTES = 10
Scores = dict[tuple[str, float, str], list[list[float]]]


def ours(records: Coded, epsilon: float, seed: int) -> tuple[Codes, float]:
    start = time.process_time()
    budget = Budget(epsilon=epsilon, delta=DELTA)
    fitted = records.design.fit(records.columns(records.train), budget, seed=seed, progress=_silent)
    made = fitted.columns(len(records.train), seed=seed)
    codes = np.stack([made[name] for name in records.sizes], axis=1).astype(np.int64)
    return codes, time.process_time() - start


def peer(
    records: Coded, epsilon: float, seed: int, method: str, python: str | None, kept: Path
) -> tuple[Codes, float] | None:
    """What another method made, now or earlier."""
    made = kept / f"{records.name}-{epsilon:g}-{method}-{seed}.npz"
    if not made.exists():
        if python is None:
            return None
        given = kept / f"{records.name}.npz"
        np.savez(given, codes=records.train, sizes=list(records.sizes.values()))
        script = Path(__file__).with_name("dpmm_peer.py")
        command = [python, str(script), method, str(epsilon), str(DELTA), str(seed), str(given), str(made)]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    found = np.load(made)
    return found["codes"], float(found["cpu"])


def _silent(step: int, loss: float) -> None:
    pass


def scored(records: Coded, codes: Codes, cpu: float) -> list[float]:
    design, made, real = records.design, records.columns(codes), records.columns(records.train)
    errors = [table_errors(design, made, real, ways) for ways in (2, 3)]
    return [*errors, learned(design, made, records.columns(records.test)).boosting, cpu]


def line(name: str, epsilon: float, method: str, rows: list[list[float]]) -> str:
    mean, spread = np.mean(rows, axis=0), np.std(rows, axis=0, ddof=1) if len(rows) > 1 else None
    told = [
        f"{value:.4f}" if spread is None else f"{value:.4f} ± {spread[at]:.4f}"
        for at, value in enumerate(mean[:3])
    ]
    return f"| {name} | {epsilon:g} | {method} | {' | '.join(told)} | {mean[3]:.0f} | {len(rows)} |"


def _apart_by_chance(own: list[list[float]], theirs: list[list[float]]) -> npt.NDArray[np.float64]:
    """The standard error of the difference of both means. A peer with one seed is taken to vary as ours."""
    ours = np.var(own, axis=0, ddof=1) if len(own) > 1 else np.zeros(4)
    others = np.var(theirs, axis=0, ddof=1) if len(theirs) > 1 else ours
    apart: npt.NDArray[np.float64] = np.sqrt(ours / len(own) + others / len(theirs))
    return apart


def verdict(found: Scores) -> bool:
    """Nowhere behind a peer by more than two standard errors of the seeds, and at least five times faster
    than AIM."""
    passed = True
    for (name, epsilon, method), rows in found.items():
        if method == "indistinct":
            continue
        own = found[name, epsilon, "indistinct"]
        mean, theirs = np.mean(own, axis=0), np.mean(rows, axis=0)
        spread = 2 * _apart_by_chance(own, rows)
        for at, (what, sign) in enumerate((("2-way", 1), ("3-way", 1), ("AUC", -1))):
            good = sign * (mean[at] - theirs[at]) <= spread[at]
            passed &= bool(good)
            told = f"{name}, ε = {epsilon:g}: {what} {mean[at]:.4f}, {method} {theirs[at]:.4f}"
            print(f"{'PASS' if good else 'FAIL'}  {told}")
        if method == "AIM":
            good = theirs[3] >= 5 * mean[3]
            passed &= bool(good)
            told = f"{name}, ε = {epsilon:g}: {theirs[3] / mean[3]:.0f} times less CPU than AIM (bar: 5)"
            print(f"{'PASS' if good else 'FAIL'}  {told}")
    return passed


def wide(columns: int = 100, rows: int = 50_000) -> bool:
    """Many columns, each like the one before in half of the records: minutes, and how alike they are."""
    draw = np.random.default_rng(0)
    codes = draw.integers(0, 6, (rows, columns))
    for place in range(1, columns):
        like = draw.random(rows) < 0.5
        codes[like, place] = codes[like, place - 1]
    names = [f"c{place}" for place in range(columns)]
    design = TableSynthesizer({name: Categories(range(6)) for name in names})
    start = time.perf_counter()
    data = dict(zip(names, codes.T, strict=True))
    made = design.fit(data, Budget(epsilon=1, delta=DELTA), progress=_silent).columns(rows)
    minutes = (time.perf_counter() - start) / 60
    same = np.mean([np.mean(made[a] == made[b]) for a, b in pairwise(names)])
    truth = np.mean(codes[:, 1:] == codes[:, :-1])
    good = minutes < MINUTES
    words = f"{columns} columns x {rows:,} records, ε = 1: {minutes:.1f} minutes (bar: {MINUTES})"
    alike = f"neighbours agree in {same:.2f} of the rows, {truth:.2f} in truth"
    print(f"{'PASS' if good else 'FAIL'}  {words}; {alike}")
    return good


def exclusive(rows: int = 20_000) -> bool:
    """A third column that is the exclusive or of two, among six others."""
    draw = np.random.default_rng(1)
    codes = draw.integers(0, 2, (rows, 8))
    codes[:, 5] = codes[:, 1] ^ codes[:, 3]
    names = [f"c{place}" for place in range(8)]
    design = TableSynthesizer({name: Categories([0, 1]) for name in names})
    data = dict(zip(names, codes.T, strict=True))
    made = design.fit(data, Budget(epsilon=1, delta=DELTA), progress=_silent).columns(rows)
    right = float(np.mean(made["c5"] == made["c1"] ^ made["c3"]))
    good = right > 0.9
    print(f"{'PASS' if good else 'FAIL'}  exclusive or of two columns, ε = 1: in {right:.3f} of the rows")
    return good


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--peers", metavar="PYTHON", help="of an environment with dpmm 0.1.9")
    parser.add_argument("--kept", metavar="FOLDER", type=Path, help="what the peers made, or are to make")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--sets", nargs="*", choices=SETS, default=list(SETS))
    parser.add_argument("--quick", action="store_true", help="one seed of one set, and no more")
    given = parser.parse_args(arguments)
    if not DATA.exists():
        print(f"skipped: there are no data at {DATA}")
        return 0
    try:
        import sklearn  # noqa: F401
        import statsmodels  # noqa: F401
        import torch  # noqa: F401
    except ImportError as error:
        print(f"skipped: {error}")
        return 0
    sets, seeds = (["fair"], 1) if given.quick else (given.sets, given.seeds)
    kept = given.kept or Path(tempfile.mkdtemp())
    kept.mkdir(parents=True, exist_ok=True)
    print("| records | ε | method | 2-way | 3-way | AUC | CPU s | seeds |\n" + "| --- " * 8 + "|")
    found: Scores = {}
    for name in sets:
        records = SETS[name]()
        area = learned(records.design, records.columns(records.train), records.columns(records.test)).boosting
        print(f"| {name} | | real records | 0 | 0 | {area:.4f} | | |", flush=True)
        for epsilon in EPSILONS:
            for method in ("indistinct", *PEERS):
                made = [
                    ours(records, epsilon, seed)
                    if method == "indistinct"
                    else peer(records, epsilon, seed, method, given.peers, kept)
                    for seed in range(1, seeds + 1)
                ]
                rows = [scored(records, *one) for one in made if one is not None]
                if rows:
                    found[name, epsilon, method] = rows
                    print(line(name, epsilon, method, rows), flush=True)
    passed = verdict(found)
    if not given.quick:
        passed &= exclusive() & wide()
    return 0 if passed else 1


if __name__ == "__main__":
    sys.exit(main())
