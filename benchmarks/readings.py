"""How long single readings take, of mechanisms made for them, in milliseconds of processor time.

    .venv-bench/bin/python benchmarks/readings.py [--worst]

Random mechanisms of twelve regimes (their seed is fixed) are made anew for every reading, so that nothing is
kept from another one; each line has the median and the worst of a regime, and, where dp-accounting's PLD
composes such mechanisms too, how many times longer that takes for the same epsilon (median, in the same run).
The exit status is 1 when a line says FAIL: tiny rates and few steps with a median of 20 ms or one above 1 s,
nested sampling above 1 s, a reading about people above 200 ms, anything above 1 s.
"""

import argparse
import re
import statistics
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from indistinct import (
    DiscreteGaussian,
    Gaussian,
    Laplace,
    RandomizedResponse,
    SampledSum,
)
from indistinct.guarantees.guarantee import Guarantee
from indistinct.mechanisms.mechanism import Mechanism

PEOPLE: dict[str, Callable[[Guarantee], object]] = {
    "tpr(1e-2)": lambda g: g.tpr(1e-2),
    "tpr(1e-6)": lambda g: g.tpr(1e-6),
    "advantage": lambda g: g.advantage(),
    "bayes_risk(.1)": lambda g: g.bayes_risk(0.1),
    "event(.1)": lambda g: g.event(0.1),
    "event(1e-6)": lambda g: g.event(1e-6),
    "posterior(.1)": lambda g: g.posterior(0.1, beyond=1e-6),
    "quantile(1e-6)": lambda g: g.bayes_factor().quantile(1e-6),
    "tail(10)": lambda g: g.bayes_factor().tail(10),
    "tail(1.1)": lambda g: g.bayes_factor().tail(1.1),
    "tradeoff(.05)": lambda g: g.tradeoff(0.05),
}
NUMBERS: dict[str, Callable[[Guarantee], object]] = {
    "epsilon(1e-5)": lambda g: g.epsilon(1e-5),
    "epsilon(1e-12)": lambda g: g.epsilon(1e-12),
    "delta(.1)": lambda g: g.delta(0.1),
    "renyi(8)": lambda g: g.renyi(8),
}


def ten(low: float, high: float, rng: np.random.Generator) -> float:
    """Ten to a power between the two."""
    return float(10 ** rng.uniform(low, high))


def noise(rng: np.random.Generator) -> float:
    return float(rng.uniform(0.6, 3.0))


def steps(least: int, most: int, rng: np.random.Generator) -> int:
    return round(ten(np.log10(least), np.log10(most), rng))


def without_replacement(rate: float, most: int, rng: np.random.Generator) -> Mechanism:
    size = int(rng.integers(1, 200))
    return steps(2, most, rng) * Gaussian(noise(rng)).subsample(size, of=round(size / rate))


REGIMES: dict[str, Callable[[np.random.Generator], Mechanism]] = {
    "training": lambda r: steps(100, 10**5, r) * Gaussian(noise(r)).subsample(ten(-3.5, -1.5, r)),
    "tiny rates, few steps": lambda r: steps(2, 100, r) * Gaussian(noise(r)).subsample(ten(-6, -4, r)),
    "few steps": lambda r: steps(2, 30, r) * Gaussian(noise(r)).subsample(ten(-3, -0.5, r)),
    "without replacement": lambda r: without_replacement(ten(-3, -1, r), 300, r),
    "the same, tiny rates": lambda r: without_replacement(ten(-6, -4, r), 30, r),
    "nested": lambda r: (steps(2, 30, r) * Gaussian(noise(r)).subsample(ten(-3, 0, r))).subsample(
        ten(-2, -0.5, r)
    ),
    "sampled Laplace": lambda r: steps(2, 30, r) * Laplace(noise(r)).subsample(ten(-2, -0.3, r)),
    "groups": lambda r: Gaussian(noise(r)).subsample(ten(-3, -1, r)).group(int(r.integers(2, 5))),
    "discrete": lambda r: (
        steps(1, 50, r) * RandomizedResponse(r.uniform(0.51, 0.75))
        + steps(1, 20, r) * DiscreteGaussian(noise(r))
        + Gaussian(ten(1, 2, r))
    ),
    "allocation": lambda r: steps(1, 30, r) * Gaussian(noise(r)).allocate(steps(10, 1000, r)),
    "several records": lambda r: (
        steps(1, 20, r) * SampledSum(noise(r), ten(-3, -1, r), int(r.integers(2, 9)))
    ),
    "several": lambda r: (
        Laplace(3 * noise(r)).subsample(r.uniform(0.05, 0.5))
        + steps(10, 1000, r) * Gaussian(noise(r)).subsample(ten(-3, -1, r))
        + RandomizedResponse(r.uniform(0.51, 0.75))
    ),
}
EACH, SEED = 6, 20_261_119
LIMITS = {"tiny rates, few steps": 20.0}
"""Of a median; others have none."""
PEOPLE_LIMIT, NUMBERS_LIMIT = 200.0, 1000.0


def milliseconds(make: Callable[[], Mechanism], reading: Callable[[Guarantee], object]) -> float:
    """The shorter of two, each of a mechanism that nothing was asked of."""
    times = []
    for _ in range(2):
        guarantee = make().guarantee()
        start = time.process_time()
        reading(guarantee)
        times.append(1e3 * (time.process_time() - start))
    return min(times)


def peer(text: str) -> Callable[[], float] | None:
    """Seconds of dp-accounting for epsilon(1e-5), where that is installed and knows such a mechanism."""
    try:
        from dp_accounting import dp_event, pld
    except ImportError:
        return None
    if (found := re.fullmatch(r"(\d+) \* gaussian\(([\d.e-]+)\)\.subsample\(([\d.e-]+)\)", text)) is None:
        return None
    count, scale, rate = int(found[1]), float(found[2]), float(found[3])

    def asked() -> float:
        start = time.process_time()
        accountant = pld.PLDAccountant()
        event = dp_event.PoissonSampledDpEvent(rate, dp_event.GaussianDpEvent(scale))
        accountant.compose(event, count).get_epsilon(1e-5)
        return 1e3 * (time.process_time() - start)

    return asked


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--worst", action="store_true", help="name what took longest")
    parser.add_argument("--only", default="", help="regimes whose name has these words")
    arguments = parser.parse_args()
    failed = False
    print(f"{'CPU ms: median, worst':26}{'numbers':>18}{'about people':>18}{'PLD takes':>12}")
    for name, regime in REGIMES.items():
        if arguments.only not in name:
            continue
        taken: dict[str, dict[str, float]] = {"numbers": {}, "people": {}}
        ratios = []
        for k in range(EACH):

            def make(k: int = k, regime: Any = regime) -> Mechanism:
                made: Mechanism = regime(np.random.default_rng([SEED, k]))
                return made

            for kind, readings in (("numbers", NUMBERS), ("people", PEOPLE)):
                for words, reading in readings.items():
                    taken[kind][f"{make()}: {words}"] = milliseconds(make, reading)
            if (rival := peer(str(make()))) is not None:
                ratios.append(rival() / milliseconds(make, NUMBERS["epsilon(1e-5)"]))
        line, bad = f"{name:26}", []
        for kind, limit in (("numbers", NUMBERS_LIMIT), ("people", PEOPLE_LIMIT)):
            times = list(taken[kind].values())
            median, worst = statistics.median(times), max(times)
            line += f"{median:9.1f}{worst:9.0f}"
            bad += [kind] if worst > limit or (kind == "numbers" and median > LIMITS.get(name, limit)) else []
        line += f"{statistics.median(ratios):8.0f} x" if ratios else ""
        print(line, f"  FAIL: {', '.join(bad)}" if bad else "", flush=True)
        if arguments.worst:
            for times in taken.values():
                for text in sorted(times, key=times.__getitem__)[-4:]:
                    print(f"    {times[text]:8.0f}  {text}")
        failed |= bool(bad)
    sys.exit(failed)


if __name__ == "__main__":
    main()
