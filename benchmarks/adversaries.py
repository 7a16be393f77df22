"""Adversaries of limited capacity: values, certified gaps and times, with our bars.

    .venv/bin/python benchmarks/adversaries.py

No other library computes these. Every row is timed on fresh objects, the median of `REPEATS` runs after one
that is not counted. The exit status is 1 when a line says FAIL.
"""

import statistics
import sys
import time
from collections.abc import Callable

import numpy as np

from indistinct import Budget, Gaussian, Laplace, Linear, Polynomial, calibrate

REPEATS = 7
ORDERS = np.linspace(1.1, 20.0, 100)


def vector(dimension: int):
    shifts = np.random.default_rng(dimension).uniform(0.05, 0.5, dimension)
    release = Laplace(1, float(shifts[0]))
    for shift in shifts[1:]:
        release = release + Laplace(1, float(shift))
    return release


def curve(release, adversary):
    found = release.guarantee().against(adversary).renyi_interval(ORDERS)
    return float(found.high[-1]), float((found.high - found.low).max())


def single(release, adversary, order):
    found = release.guarantee().against(adversary, adaptive=False).renyi_interval(order)
    return found.high, found.high - found.low


TASKS: list[tuple[str, Callable[[], tuple[float, float]], float, float]] = [
    # name, what to run, seconds allowed, gap allowed
    ("100 orders, cubic, Laplace ε=1", lambda: curve(Laplace(1), Polynomial(3)), 0.2, 1e-8),
    ("100 orders, cubic, Gaussian σ=1", lambda: curve(Gaussian(1), Polynomial(3)), 0.2, 1e-8),
    ("100 orders, linear, Laplace ε=0.1", lambda: curve(Laplace(10), Linear()), 0.2, 1e-8),
    ("order 3, quintic, Laplace ε=1", lambda: single(Laplace(1), Polynomial(5), 3.0), 0.2, 1e-8),
    ("order 1.05, quintic, Laplace ε=1", lambda: single(Laplace(1), Polynomial(5), 1.05), 1.0, 1e-8),
    ("order 3, linear, Laplace d=5", lambda: single(vector(5), Linear(), 3.0), 2.0, 1e-5),
    ("order 3, linear, Laplace d=20", lambda: single(vector(20), Linear(), 3.0), 2.0, 1e-5),
    ("order 1.05, linear, Laplace d=20", lambda: single(vector(20), Linear(), 1.05), 2.0, 1e-5),
    ("order 50, linear, Laplace d=20", lambda: single(vector(20), Linear(), 50.0), 2.0, 1e-5),
    ("order 3, linear, Laplace d=50", lambda: single(vector(50), Linear(), 3.0), 5.0, 1e-5),
    ("order 3, linear, a million Laplace", lambda: single(10**6 * Laplace(1e3), Linear(), 3.0), 2.0, 1e-5),
]


def timed(task: Callable[[], tuple[float, float]]) -> tuple[float, float, float]:
    task()
    times = []
    for _ in range(REPEATS):
        start = time.perf_counter()
        value, gap = task()
        times.append(time.perf_counter() - start)
    return value, gap, statistics.median(times)


def main() -> int:
    failed = False
    print(f"{'task':<38}{'value':>14}{'gap':>10}{'median s':>10}{'bar s':>8}  ")
    for name, task, allowed, gap_allowed in TASKS:
        value, gap, seconds = timed(task)
        good = seconds <= allowed and gap <= gap_allowed
        failed |= not good
        verdict = "PASS" if good else "FAIL"
        print(f"{name:<38}{value:>14.9f}{gap:>10.1e}{seconds:>10.4f}{allowed:>8.1f}  {verdict}")
    print("\nnoise for Rényi divergence 0.1 at order 3 (scale):")
    for noise in (Laplace, Gaussian):
        scales = [
            calibrate(noise, Budget(renyi=0.1, order=3), against=adversary).parameter
            for adversary in (None, Polynomial(3), Polynomial(2), Linear())
        ]
        words = ("all functions", "cubic", "quadratic", "linear")
        said = ", ".join(f"{word} {scale:.4f}" for word, scale in zip(words, scales, strict=True))
        print(f"  {noise.__name__}: {said}")
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
