"""Stated guarantees side by side: epsilon of 1,000 random Rényi curves, and 100 different claims composed.

Prints one table (median and worst excess over indistinct's epsilon, time for one curve) and the bars of
issue B. The exit status is 1 when a line says FAIL.

    .venv-bench/bin/python benchmarks/conversions.py [--curves N]

Method: a curve is random, convex as curves are, and stated at Mironov's twelve finite orders. Every library
gets the same orders and values. dp-accounting and Opacus convert each order by itself. autodp takes a
function of the order: it gets the chords between the stated orders, which are valid, and infinity beyond. All
run in this process, one after the other on each curve, each on new objects; times are medians. "again"
reads a curve that was made before.
"""

import argparse
import functools
import operator
import statistics
import sys
import time
import warnings

import numpy as np

from indistinct import ApproxDP, RenyiCurve, ZeroConcentratedDP

ORDERS = np.array([1.5, 1.75, 2, 2.5, 3, 4, 5, 6, 8, 16, 32, 64])
DELTA = 1e-5


def random_curve(random: np.random.Generator) -> np.ndarray:
    """(order - 1) * value is convex and zero at order 1: a sum of rising slopes."""
    scale = 10 ** random.uniform(-3, 0)
    slopes = scale * np.cumsum(
        random.exponential(size=ORDERS.size) * np.diff(ORDERS, prepend=1.0) ** random.uniform(0, 1.2)
    )
    return np.cumsum(slopes * np.diff(ORDERS, prepend=1.0)) / (ORDERS - 1)


def ours(values: np.ndarray) -> float:
    return RenyiCurve(ORDERS, values).epsilon(DELTA)


def ours_again(claim: RenyiCurve) -> float:
    return claim.epsilon(DELTA)


def dp_accounting(values: np.ndarray) -> float:
    from dp_accounting.rdp.rdp_privacy_accountant import compute_epsilon

    return compute_epsilon(ORDERS, values, DELTA)[0]


def opacus(values: np.ndarray) -> float:
    from opacus.accountants.analysis.rdp import get_privacy_spent

    return float(get_privacy_spent(orders=ORDERS, rdp=values, delta=DELTA)[0])


def autodp(values: np.ndarray) -> float:
    from autodp.autodp_core import Mechanism

    weighted = (ORDERS - 1) * values

    def renyi(order: float) -> float:
        if order > ORDERS[-1]:
            return np.inf
        return values[0] if order <= ORDERS[0] else np.interp(order, ORDERS, weighted) / (order - 1)

    mechanism = Mechanism()
    mechanism.propagate_updates(renyi, "RDP")
    return float(mechanism.get_approxDP(DELTA))


def compare(curves: int) -> bool:
    random = np.random.default_rng(7)
    peers = {"indistinct": ours, "dp-accounting": dp_accounting, "Opacus": opacus, "autodp": autodp}
    values: dict[str, list[float]] = {name: [] for name in peers}
    times: dict[str, list[float]] = {name: [] for name in [*peers, "indistinct, again"]}
    for _ in range(curves):
        curve = random_curve(random)
        for name, convert in peers.items():
            start = time.perf_counter()
            values[name].append(convert(curve))
            times[name].append(time.perf_counter() - start)
        claim = RenyiCurve(ORDERS, curve)
        claim.epsilon(1e-6)
        start = time.perf_counter()
        ours_again(claim)
        times["indistinct, again"].append(time.perf_counter() - start)
    mine = np.array(values["indistinct"])
    fine = True
    print(f"epsilon at delta = {DELTA:g} of {curves} random curves, stated at {ORDERS.size} orders")
    print(f"{'library':<20}{'median excess':>15}{'worst excess':>15}{'least excess':>15}{'µs a curve':>12}")
    for name, took in times.items():
        theirs = np.array(values.get(name, mine))
        excess = theirs / mine - 1
        fine &= bool((excess >= -1e-9).all())
        row = f"{np.median(excess):>15.2e}{excess.max():>15.2e}{excess.min():>15.2e}"
        print(f"{name:<20}{row}{statistics.median(took) * 1e6:>12.0f}")
    print(f"{'PASS' if fine else 'FAIL'}  at most the value of every other library, on every curve")
    ratio = statistics.median(times["autodp"]) / statistics.median(times["indistinct, again"])
    new = statistics.median(times["autodp"]) / statistics.median(times["indistinct"])
    verdict = "PASS" if ratio >= 10 else "FAIL"
    print(f"{verdict}  {ratio:.0f} times faster than autodp on a curve ({new:.1f} with making it)")
    return fine and ratio >= 10


def compose_claims() -> bool:
    random = np.random.default_rng(1)
    took = []
    for _ in range(9):
        pairs = zip(random.uniform(0.01, 0.2, 100), 10 ** random.uniform(-9, -7, 100), strict=True)
        claims = [ApproxDP(epsilon, delta) for epsilon, delta in pairs]
        start = time.perf_counter()
        functools.reduce(operator.add, claims).epsilon(1e-4)
        took.append(time.perf_counter() - start)
    best = statistics.median(took) * 1e3
    verdict = "PASS" if best < 50 else "FAIL"
    print(f"\n{verdict}  100 different (epsilon, delta) claims composed in {best:.0f} ms (bar: 50)")
    return best < 50


def few_orders() -> None:
    """What stating a Gaussian's curve at twelve orders loses; it is not in the statement any more."""
    print("\nepsilon from twelve orders, relative to all orders, for mu-Gaussian curves")
    deltas = (1e-9, 1e-6, 1e-5, 1e-2)
    print(f"{'mu':<8}" + "".join(f"{f'delta {delta:g}':>14}" for delta in deltas))
    for mu in (0.1, 0.3, 1.0, 2.0):
        few, everything = RenyiCurve(ORDERS, mu**2 / 2 * ORDERS), ZeroConcentratedDP(mu**2 / 2)
        print(f"{mu:<8g}" + "".join(f"{few.epsilon(d) / everything.epsilon(d):>14.4f}" for d in deltas))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--curves", type=int, default=1000)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    good = compare(options.curves)
    good &= compose_claims()
    few_orders()
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
