"""Strategies for workloads of linear queries: errors against their bounds, seconds, and our bars.

    .venv/bin/python benchmarks/workloads.py

Errors are total squared errors at noise of scale 1 and sensitivity 1. "bound" is certified: no strategy for
the same noise does better (for Laplace noise it is the bound for Gaussian noise, which is not attained).
Every row is run once, on fresh objects. The exit status is 1 when a line says FAIL.
"""

import sys
import time
from collections.abc import Callable

import numpy as np

from indistinct.noise import NotPrivateSource
from indistinct.workloads import (
    AllRange,
    IdentityStrategy,
    Kronecker,
    Marginals,
    MatrixMechanism,
    Noise,
    Optimum,
    Prefix,
    Workload,
    best_hierarchical,
    optimise,
)
from indistinct.workloads.dense import optimise_dense
from indistinct.workloads.optimal import expected

SECONDS = 15.0


def dense(workload: Workload) -> Optimum:
    """Without the structure of a line: what any matrix gets."""
    strategy, bound = optimise_dense(workload.gram(), 1e-5)
    return Optimum(strategy, Noise.GAUSSIAN, expected(strategy, workload, Noise.GAUSSIAN), bound)


def roughly(workload: Workload) -> Optimum:
    return optimise(workload, tolerance=1e-5)


def laplace(workload: Workload) -> Optimum:
    return optimise(workload, Noise.LAPLACE)


MARGINALS = Marginals((10,) * 10, ways=3)
CUBE = Kronecker(*[AllRange(64)] * 3)
TASKS: list[tuple[str, Workload, Callable[[Workload], Optimum], float, float]] = [
    # name, workload, what to run, error allowed, seconds allowed
    ("prefix 1,024, Gaussian", Prefix(1024), optimise, 8951, SECONDS),
    ("all ranges 1,024, Gaussian", AllRange(1024), optimise, 6_484_400, SECONDS),
    ("all ranges 1,024, Gaussian, dense", AllRange(1024), dense, 6_484_400, 120),
    ("prefix 100,000, Gaussian", Prefix(100_000), roughly, np.inf, 120),
    ("all ranges 100,000, Gaussian", AllRange(100_000), roughly, np.inf, 120),
    ("ranges 64 x 64 x 64, Gaussian", CUBE, optimise, np.inf, SECONDS),
    ("3-way marginals of 10, Gaussian", MARGINALS, optimise, np.inf, SECONDS),
    ("all ranges 1,024, Laplace", AllRange(1024), laplace, 2 * AllRange(1024).trace() / 3, 120),
]


def verdict(good: bool) -> str:
    return "PASS" if good else "FAIL"


def main() -> int:
    failed = False
    print(f"{'workload, noise':36}{'error':>14}{'/ bound':>12}{'identity /':>12}{'seconds':>9}")
    for name, workload, task, allowed, seconds in TASKS:
        start = time.perf_counter()
        best = task(workload)
        took = time.perf_counter() - start
        good = best.error <= allowed and took <= seconds
        good &= best.noise is Noise.LAPLACE or best.gap < 2e-5
        failed |= not good
        cells = best.strategy.cells
        identity = expected(IdentityStrategy(cells), workload, best.noise) / best.error
        row = f"{name:36}{best.error:14.7g}{best.error / best.bound:12.7f}{identity:12.4g}{took:9.2f}"
        print(row, verdict(good), flush=True)
        if best.noise is Noise.LAPLACE:
            tree = best_hierarchical(workload, Noise.LAPLACE)
            ratio = expected(tree, workload, Noise.LAPLACE) / best.error
            failed |= ratio <= 1
            print(f"  the best tree, {tree}, has {ratio:.2f} times the error", verdict(ratio > 1))
        if name.startswith("prefix 100,000"):
            start = time.perf_counter()
            mechanism = MatrixMechanism(workload, best.strategy, scale=10)
            counts = np.arange(cells) % 100
            release = mechanism.release(counts, source=NotPrivateSource(1))
            off = (release.answers() - workload.answers(counts)) / release.standard_errors()
            took = time.perf_counter() - start
            print(f"  released and answered in {took:.1f} s; error {np.std(off):.2f} standard deviations")
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
