"""How far a fit has come."""

import sys
from collections.abc import Callable

Progress = Callable[[int, float], None]
"""Called with the number of a step and its loss."""
_WIDTH = 30


def bar(steps: int) -> Progress | None:
    """A bar on the terminal, or nothing where there is none."""
    if not sys.stderr.isatty():
        return None

    def show(step: int, loss: float) -> None:
        done = _WIDTH * (step + 1) // steps
        print(f"\r[{'#' * done:{_WIDTH}}] step {step} of {steps}\033[K", end="", file=sys.stderr, flush=True)

    return show
