"""Other libraries with our accountant and with theirs: 1,000 random trees of events, and calibrations.

Prints how many trees of dp-accounting's events have our epsilon between those of its optimistic and its
pessimistic privacy loss distributions (all of them, or FAIL; one whose optimistic value is above the truth
is compared with a plain convolution), and how much faster calibrations are that
Opacus, dp-accounting and, where it is installed, JAX Privacy do by their own search, with our accountant
instead of their tight one (PRV, PLD; our bar: 20 times, for every task). The exit status is 1 when a line
says FAIL.

    .venv-bench/bin/python benchmarks/interop.py [--trees N] [--only-trees] [--keep FILE]

Method: both accountants run in this process, one after the other on the same task, on new objects; the
processor time of ours is the least of three, with one step more each time, as readings are kept for a while.
RDP, which is looser by 8 %, is shown without a bar. A thousand trees take an hour or more on one core: --keep
writes each down, and another run goes on from there.
"""

import argparse
import json
import math
import random
import sys
import time
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import dp_accounting
from dp_accounting.pld import PLDAccountant
from dp_accounting.rdp import RdpAccountant
from opacus.accountants.utils import get_noise_multiplier

from indistinct.interop.dp_accounting import EventAccountant
from indistinct.interop.opacus import register

sys.path.insert(0, str(Path(__file__).parent.parent / "tests" / "interop"))

from event_trees import Relation, convolved, distribution, random_event, repeats_randomized_response

TASKS = [(0.01, 10_000, 1.0), (256 / 60_000, 14_062, 2.0), (0.001, 200_000, 1.0), (0.04, 2_250, 8.0)]
"""Rate, steps, and epsilon at delta = 1e-5."""
DELTA, GRID, BAR = 1e-5, 1e-4, 20.0
EVEN = 1e-6
"""Bounds that agree to this much: both are above the truth, on grids of their own."""


def judged(event: Any, relation: Any, delta: float) -> dict[str, Any]:
    """The epsilons of a tree of events: ours, their upper and lower bounds, and the truth where ours is below
    both and it is known."""
    # their mixtures of Gaussians take minutes on a fine grid
    grid = 10 * GRID if "MixtureOfGaussians" in str(event) else GRID
    ours = EventAccountant(relation).compose(event).get_epsilon(delta)
    forgotten = repeats_randomized_response(event)  # which their accountant counts once
    if forgotten:
        theirs = distribution(event, relation, pessimistic=True, grid=grid).get_epsilon_for_delta(delta)
    else:
        theirs = PLDAccountant(relation, grid).compose(event).get_epsilon(delta)
    least = distribution(event, relation, pessimistic=False, grid=grid).get_epsilon_for_delta(delta)
    truth = convolved(event, delta) if ours < least else None
    about = f"at {delta} for {relation.name}, {event}"
    return {
        "least": least, "ours": ours, "theirs": theirs, "truth": truth, "forgotten": forgotten, "about": about
    }  # fmt: skip


def trees(count: int, kept: Path | None) -> bool:
    """Whether all trees are within the bounds. What is in the file `kept` is not computed again."""
    draw = random.Random(17)
    drawn = []
    for number in range(count):
        relation = list(Relation)[number % 3]
        drawn.append((random_event(draw, relation), relation, draw.choice([1e-3, 1e-5, 1e-8])))
    done = [json.loads(line) for line in kept.read_text().splitlines()] if kept and kept.exists() else []
    for one in drawn[len(done) :]:
        done.append(judged(*one))
        if kept:
            with kept.open("a") as file:
                file.write(json.dumps(done[-1]) + "\n")
    outside, above, tighter = 0, 0, []
    for found in done[:count]:
        least, ours, theirs, truth = (found[name] for name in ("least", "ours", "theirs", "truth"))
        if truth is not None and 0 <= ours - truth <= 1e-6 * truth:
            above += 1  # what should be a lower bound is not one
        elif not least * (1 - EVEN) <= ours <= theirs * (1 + EVEN):
            outside += 1
            print(f"outside: {least} <= {ours} <= {theirs} {found['about']}")
        elif ours:
            tighter.append(theirs / ours - 1)
    within, forgotten = count - outside - above, sum(found["forgotten"] for found in done[:count])
    print(f"{count} trees of events, {within} within the bounds of loss distributions (grid {GRID})")
    middle = sorted(tighter)[len(tighter) // 2]
    print(f"  theirs above ours: median {middle:.2%}, largest {max(tighter):.2%}")
    print(f"  {above} where their optimistic one is above the truth, by plain convolution; ours is the truth")
    print(f"  {forgotten} repeat randomized response, where PLDAccountant forgets the count")
    return outside == 0


def timed(run: Callable[[], float]) -> tuple[float, float]:
    """What it gives, and its time."""
    begin = time.process_time()
    return run(), time.process_time() - begin


def by_opacus(accountant: str) -> Callable[[float, int, float], float]:
    return lambda rate, steps, epsilon: get_noise_multiplier(
        target_epsilon=epsilon, target_delta=DELTA, sample_rate=rate, steps=steps, accountant=accountant
    )


def by_dp_accounting(accountant: Any) -> Callable[[float, int, float], float]:
    def calibrated(rate: float, steps: int, epsilon: float) -> float:
        def event(noise: float) -> Any:
            step = dp_accounting.PoissonSampledDpEvent(rate, dp_accounting.GaussianDpEvent(noise))
            return dp_accounting.SelfComposedDpEvent(step, steps)

        return dp_accounting.calibrate_dp_mechanism(accountant, event, epsilon, DELTA)

    return calibrated


def by_jax_privacy(config: Any) -> Callable[[float, int, float], float]:
    from jax_privacy import accounting

    return lambda rate, steps, epsilon: accounting.calibrate_noise_multiplier(
        target_epsilon=epsilon,
        accountant=accounting.DpsgdTrainingAccountant(config),
        batch_sizes=round(rate * 1_000_000),
        num_updates=steps,
        num_samples=1_000_000,
        target_delta=DELTA,
    )


def hosts() -> dict[str, list[Callable[[float, int, float], float]]]:
    """Calibration with our accountant, with their tight one and with RDP."""
    found = {
        "Opacus (PRV)": [by_opacus(name) for name in ("indistinct", "prv", "rdp")],
        "dp-accounting (PLD)": [
            by_dp_accounting(one) for one in (EventAccountant, PLDAccountant, RdpAccountant)
        ],
    }
    try:
        from jax_privacy.accounting import PldAccountantConfig, RdpAccountantConfig
    except ModuleNotFoundError:
        print("jax-privacy is not installed here")
        return found
    from indistinct.interop.jax_privacy import accountant_config

    configs = (accountant_config(), PldAccountantConfig(), RdpAccountantConfig())
    return {**found, "JAX Privacy (PLD)": [by_jax_privacy(config) for config in configs]}


def calibrations() -> bool:
    passed = True
    for host, (ours, tight, renyi) in hosts().items():
        print(
            f"{host:<22}{'rate':>8}{'steps':>8}{'eps':>5}   noise: ours, theirs, RDP   times faster, than RDP"
        )
        least = math.inf
        for task in TASKS:
            rate, steps, epsilon = task
            again = [timed(partial(ours, rate, steps + more, epsilon)) for more in range(3)]
            noise, mine = again[0][0], min(spent for _, spent in again)
            theirs, slow = timed(partial(tight, *task))
            loose, quick = timed(partial(renyi, *task))
            least = min(least, slow / mine)
            print(
                f"{'':<22}{rate:>8.4f}{steps:>8}{epsilon:>5g}   {noise:.5f} / {theirs:.5f} / {loose:.5f}"
                f"   {slow / mine:8.1f} {quick / mine:8.1f}   ({mine * 1e3:.0f} ms)"
            )
        passed &= least >= BAR
        print(f"{'PASS' if least >= BAR else 'FAIL'} {host}: at least {least:.0f} times faster (bar {BAR:g})")
    return passed


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--trees", type=int, default=1000)
    parser.add_argument("--only-trees", action="store_true")
    parser.add_argument("--keep", type=Path, help="a file of trees that are done, to go on from")
    settings = parser.parse_args()
    warnings.simplefilter("ignore")
    register()
    fast = settings.only_trees or calibrations()
    right = trees(settings.trees, settings.keep)
    print(f"{'PASS' if right else 'FAIL'} trees")
    return 0 if right and fast else 1


if __name__ == "__main__":
    sys.exit(main())
