"""How a fit is told to go, and how far it has come: what does not change the result's privacy."""

import sys
from collections.abc import Callable
from typing import Any

from indistinct.errors import ArgumentError, check_count, needs

Progress = Callable[[int, float], None]
"""Called with the number of a step and its loss."""
_WIDTH = 30

_SEEDS = 2**62
"""PyTorch takes 64 bits, and generators beside each other add a little to a seed."""


def check_seed(seed: Any) -> int:
    """The seed of a post-processing, as PyTorch takes it."""
    if (number := check_count("seed", seed)) >= _SEEDS:
        raise ArgumentError("seed", seed, "below 2**62")
    return number


def check_fit(training: Any, kind: type, seed: Any, progress: Any) -> None:
    """Refuses what a fit would stumble over, a lack of PyTorch too: better before the release it is for than
    after it."""
    with needs("synthesis"):
        import torch  # noqa: F401

    if training is not None and not isinstance(training, kind):
        package = kind.__module__.rpartition(".")[0]
        raise ArgumentError("training", training, f"{package}.{kind.__name__}(...)")
    check_seed(seed)
    if progress is not None and not callable(progress):
        raise ArgumentError("progress", progress, "a function of a step and its loss")


def bar(steps: int) -> Progress | None:
    """A bar on the terminal, or nothing where there is none."""
    if not sys.stderr.isatty():
        return None

    def show(step: int, loss: float) -> None:
        done = _WIDTH * (step + 1) // steps
        print(f"\r[{'#' * done:{_WIDTH}}] step {step} of {steps}\033[K", end="", file=sys.stderr, flush=True)

    return show
