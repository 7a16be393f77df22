"""Random allocation side by side: indistinct, PLD_accounting 2.0 and random-allocation 1.0, in one run.

    python -m venv env && env/bin/pip install PLD_accounting==2.0 random-allocation pandas .
    env/bin/python benchmarks/allocation.py

Prints one table: epsilon of both directions together at each task, by an interval where the library gives
one, and the processor time of the first call in seconds (imports are done before): others may use the machine
meanwhile. Exit status 1 if our interval leaves the bracket of PLD_accounting, or if it is less than 100 times
slower.
"""

import argparse
import signal
import sys
import time
from collections.abc import Callable
from typing import Any

from indistinct import Gaussian

TASKS = [(10, 1.0, 10, 1e-6), (100, 0.8, 100, 1e-5), (234, 1.1, 60, 1e-5), (1000, 1.0, 100, 1e-6)]
"""Steps of an epoch, noise, epochs and delta."""
ORDERS = range(2, 41)
"""Of the Rényi divergences that random-allocation computes; it has no default."""
BAR = 100
"""Times faster."""
ROUNDING = 1e-9


def ours(steps: int, noise: float, epochs: int, delta: float) -> tuple[float, float]:
    """The enclosure."""
    found = (epochs * Gaussian(noise).allocate(steps)).guarantee().epsilon_interval(delta)
    return found.low, found.high


def pld_accounting(steps: int, noise: float, epochs: int, delta: float) -> tuple[float, float]:
    """Its own bracket, at its own accuracy."""
    from PLD_accounting import gaussian_allocation_epsilon_range

    high, low = gaussian_allocation_epsilon_range(
        delta=delta, sigma=noise, num_steps=steps, num_epochs=epochs
    )
    return float(low), float(high)


def random_allocation(method: str) -> Callable[..., tuple[float, float]]:
    """One of its upper bounds."""

    def bound(steps: int, noise: float, epochs: int, delta: float) -> tuple[float, float]:
        import random_allocation as rival

        asked = rival.PrivacyParams(
            sigma=noise, num_steps=steps, num_selected=1, num_epochs=epochs, delta=delta
        )
        orders = {"allocation_direct_alpha_orders": [*ORDERS], "allocation_RDP_DCO_alpha_orders": [*ORDERS]}
        found = getattr(rival, f"allocation_epsilon_{method}")(asked, rival.SchemeConfig(**orders))
        return 0.0, float(found)

    return bound


LIBRARIES: dict[str, Callable[..., tuple[float, float]]] = {
    "indistinct": ours,
    "PLD_accounting": pld_accounting,
    "random-allocation, direct": random_allocation("direct"),
    "random-allocation, RDP_DCO": random_allocation("RDP_DCO"),
}


def timed(call: Callable[..., tuple[float, float]], task: tuple[Any, ...], limit: int) -> tuple[Any, float]:
    """What a call returns, or its error, and how long it took."""

    def stop(*_: Any) -> None:
        raise TimeoutError(f"over {limit} s")

    signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, limit)
    start = time.process_time()
    try:
        return call(*task), time.process_time() - start
    except Exception as error:
        return f"{type(error).__name__}: {error}"[:40], time.process_time() - start
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)


def main() -> int:
    """Runs all of it; the exit status."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--limit", type=int, default=600, help="seconds for one call")
    parser.add_argument("--task", type=int, action="append", help="only this one, from 1 on")
    options = parser.parse_args()
    ours(20, 1.0, 5, 1e-5)  # imports, as of the others
    import PLD_accounting as _  # noqa: F401
    import random_allocation as _also  # noqa: F401

    failed = False
    print(f"{'steps, noise, epochs, delta':30} {'library':33} {'low':>13} {'high':>13} {'seconds':>9}")
    for task in [TASKS[number - 1] for number in options.task] if options.task else TASKS:
        results = {name: timed(call, task, options.limit) for name, call in LIBRARIES.items()}
        for name, (found, seconds) in results.items():
            shown = f"{found[0]:13.9f} {found[1]:13.9f}" if isinstance(found, tuple) else f"{found:>27}"
            print(f"{task!s:30} {name:33} {shown} {seconds:9.3f}", flush=True)
        (mine, fast), (theirs, slow) = results["indistinct"], results["PLD_accounting"]
        inside = not isinstance(theirs, tuple) or (
            theirs[0] * (1 - ROUNDING) <= mine[1] and mine[0] <= theirs[1] * (1 + ROUNDING)
        )
        ratio = slow / fast
        failed |= not inside or ratio < BAR
        said = "inside the bracket of" if inside else "OUTSIDE the bracket of"
        said = said if isinstance(theirs, tuple) else "no answer yet from"
        print(f"{'':30} {said} PLD_accounting, {ratio:.0f} times faster", flush=True)
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
