"""The two functions of TensorFlow Privacy that people call, by their names and arguments. They need nothing
installed. What they read is exact, so `accountant_type` is taken and has no say."""

import math
from textwrap import fill
from typing import Any

from indistinct.errors import (
    ArgumentError,
    check_count,
    check_nonnegative,
    check_positive,
    check_probability,
)
from indistinct.mechanisms import Budget, Gaussian, Mechanism, calibrate

_ORDER = (
    "The first line of each holds for any order of the data. The second holds if every batch is a Poisson "
    "sample; of batches from a shuffled file it is not known to hold."
)


def compute_noise(
    n: int, batch_size: int, target_epsilon: float, epochs: float, delta: float, noise_lbd: float
) -> float:
    """The least noise multiplier, of at least `noise_lbd`, at which so many epochs of Poisson batches have
    (target_epsilon, delta)-DP. If `noise_lbd` is enough it is returned, where TensorFlow Privacy returns 0.

    >>> compute_noise(60_000, 256, 2.0, 60, 1e-5, 0.1)
    1.2242
    """
    rate, steps = _batches(n, batch_size, epochs)
    least, budget = check_nonnegative("noise_lbd", noise_lbd), Budget(epsilon=target_epsilon, delta=delta)

    def run(noise: float) -> Mechanism:
        return steps * Gaussian(noise).subsample(rate)

    if least > 0 and run(least).guarantee().epsilon(delta) <= target_epsilon:
        return least
    return calibrate(run, budget).parameter


def compute_dp_sgd_privacy_statement(
    number_of_examples: int,
    batch_size: int,
    num_epochs: float,
    noise_multiplier: float,
    delta: float,
    used_microbatching: bool = True,
    max_examples_per_user: int | None = None,
    accountant_type: Any = None,
) -> str:
    """What a training with DP-SGD promises, in words: for one example, and for a user with several.
    Microbatches of more than one example double how far an example moves a sum.

    >>> print(compute_dp_sgd_privacy_statement(60_000, 256, 60, 1.1, 1e-5, used_microbatching=False))
    DP-SGD over 60000 examples, 256 in a batch, 60 epochs, noise multiplier 1.1, without microbatches.
    All checkpoints may be released.
    <BLANKLINE>
    One example, added or removed, delta = 1e-05, exact accounting:
        epsilon if each example is seen once in an epoch:      54.046
        epsilon if batches are Poisson samples:                 2.382
    <BLANKLINE>
    Nothing is promised to a user, who may have any number of examples.
    <BLANKLINE>
    The first line of each holds for any order of the data. The second holds if every batch is a Poisson
    sample; of batches from a shuffled file it is not known to hold.
    """
    rate, steps = _batches(number_of_examples, batch_size, num_epochs)
    noise = check_nonnegative("noise_multiplier", noise_multiplier)
    check_probability("delta", delta)
    if not isinstance(used_microbatching, bool):
        raise ArgumentError("used_microbatching", used_microbatching, "True or False")
    step = Gaussian(noise, 2.0 if used_microbatching else 1.0) if noise else None
    once = step and math.ceil(num_epochs) * step
    sampled = step and steps * step.subsample(rate)
    how = "with" if used_microbatching else "without"
    paragraphs = [
        f"DP-SGD over {number_of_examples} examples, {batch_size} in a batch, {num_epochs:g} epochs, noise "
        f"multiplier {noise:g}, {how} microbatches. All checkpoints may be released.",
        _readings("One example", once, sampled, delta),
    ]
    if max_examples_per_user is None:
        paragraphs.append("Nothing is promised to a user, who may have any number of examples.")
    else:
        size = check_count("max_examples_per_user", max_examples_per_user, least=1)
        user = f"One user of at most {size} examples"
        paragraphs.append(_readings(user, once and once.group(size), sampled and sampled.group(size), delta))
    paragraphs.append(_ORDER)
    return "\n\n".join(text if "\n" in text else fill(text, 100) for text in paragraphs)


def _readings(whose: str, once: Mechanism | None, sampled: Mechanism | None, delta: float) -> str:
    """The epsilons of a run, rounded up; of none, where there is no noise."""
    lines = [f"{whose}, added or removed, delta = {delta:g}, exact accounting:"]
    for words, run in (
        ("each example is seen once in an epoch:", once),
        ("batches are Poisson samples:", sampled),
    ):
        epsilon = run.guarantee().epsilon(delta) if run else math.inf
        shown = math.ceil(1e3 * epsilon) / 1e3 if epsilon < math.inf else epsilon
        lines.append(f"    epsilon if {words:<40}{shown:>10.3f}")
    return "\n".join(lines)


def _batches(examples: Any, batch: Any, epochs: Any) -> tuple[float, int]:
    """How often an example is in a batch, and how many batches there are."""
    n = check_count("number of examples", examples, least=1)
    size = check_count("batch_size", batch, least=1)
    if size > n:
        raise ArgumentError("batch_size", batch, f"at most the number of examples, {n}")
    return size / n, math.ceil(check_positive("epochs", epochs) * n / size)
