"""Exact noise side by side: seconds for a million draws of Gaussian and Laplace noise.

Prints one table and the bar of issue D: a million exact discrete Gaussians in under a second on one core. The
exit status is 1 when a line says FAIL.

    .venv-bench/bin/python benchmarks/noise.py [--draws N]

Method: indistinct and OpenDP draw from the operating system and are exact; NumPy's generator is neither
private nor exact, and shows what speed is left on the table. OpenDP adds noise to a vector of integers or
floats in one call; because it would take minutes it gets a vector FEWER times shorter, and its time is scaled
up. Times are medians of three, after one draw to warm up.
"""

import argparse
import statistics
import sys
import time
from collections.abc import Callable

import numpy as np

from indistinct import Gaussian, Laplace
from indistinct.noise import discrete_gaussian, discrete_laplace

SCALES = (1.0, 20.0, 1e6, 2.0**36)
FEWER = 20
"""OpenDP is given this many times fewer."""


def seconds(draw: Callable[[int], object], draws: int) -> float:
    draw(100)
    times = []
    for _ in range(3):
        start = time.perf_counter()
        draw(draws)
        times.append(time.perf_counter() - start)
    return statistics.median(times)


def opendp_noise(law: str, scale: float, whole: bool) -> Callable[[int], object] | None:
    try:
        import opendp.prelude as dp
    except ImportError:
        return None
    dp.enable_features("contrib")
    domain = dp.vector_domain(dp.atom_domain(T=int) if whole else dp.atom_domain(T=float, nan=False))
    if law == "gaussian":
        measure = dp.m.make_gaussian(domain, dp.l2_distance(T=float), scale=scale)
    else:
        measure = dp.m.make_laplace(domain, dp.l1_distance(T=int if whole else float), scale=scale)
    return lambda draws: measure([0 if whole else 0.0] * draws)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--draws", type=int, default=10**6)
    draws = parser.parse_args().draws
    rng = np.random.default_rng()
    rows: list[tuple[str, float | None, float | None, float | None]] = []
    for law, ours, numpy in (
        ("gaussian", discrete_gaussian, rng.normal),
        ("laplace", discrete_laplace, rng.laplace),
    ):
        for scale in SCALES:
            theirs = opendp_noise(law, scale, whole=True)
            rows.append(
                (
                    f"discrete {law}, scale {scale:g}",
                    seconds(lambda n, ours=ours, scale=scale: ours(scale, n), draws),
                    seconds(lambda n, numpy=numpy, scale=scale: numpy(0.0, scale, n), draws),
                    theirs and seconds(theirs, draws // FEWER) * FEWER,
                )
            )
        release = (Gaussian if law == "gaussian" else Laplace)(scale=20.0).release
        theirs = opendp_noise(law, 20.0, whole=False)
        rows.append(
            (
                f"{law} on floats, scale 20",
                seconds(lambda n, release=release: release(np.zeros(n)), draws),
                seconds(lambda n, numpy=numpy: numpy(0.0, 20.0, n), draws),
                theirs and seconds(theirs, draws // FEWER) * FEWER,
            )
        )
    print(f"seconds for {draws:,} draws")
    print(f"{'noise':<36}{'indistinct':>12}{'NumPy (inexact)':>18}{'OpenDP':>10}")
    for name, mine, plain, theirs in rows:
        other = "-" if theirs is None else f"{theirs:.2f}"
        print(f"{name:<36}{mine:>12.3f}{plain:>18.3f}{other:>10}")
    slowest = max(row[1] for row in rows) * 10**6 / draws
    verdict = "PASS" if slowest < 1 else "FAIL"
    print(f"{verdict}  a million exact draws in at most {slowest:.2f} s (bar: 1)")
    return 0 if slowest < 1 else 1


if __name__ == "__main__":
    sys.exit(main())
