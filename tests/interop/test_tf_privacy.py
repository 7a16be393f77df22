"""The functions of TensorFlow Privacy, over our guarantees."""

import math
import re
from typing import Any

import pytest

from indistinct import Gaussian
from indistinct.interop.tf_privacy import compute_dp_sgd_privacy_statement, compute_noise


def test_noise_meets_its_target() -> None:
    noise = compute_noise(10_000, 100, 1.0, 10, 1e-5, 0.1)
    assert 0.9999 < (1000 * Gaussian(noise).subsample(0.01)).guarantee().epsilon(1e-5) <= 1.0
    assert compute_noise(10_000, 100, 1.0, 10, 1e-5, 2 * noise) == 2 * noise  # never less than asked for


def test_a_statement_rounds_up() -> None:
    text = compute_dp_sgd_privacy_statement(10_000, 100, 10, 2.0, 1e-5, max_examples_per_user=3)
    once = 10 * Gaussian(2.0, sensitivity=2.0)
    sampled = 1000 * Gaussian(2.0, sensitivity=2.0).subsample(0.01)
    exact = [run.guarantee().epsilon(1e-5) for run in (once, sampled, once.group(3), sampled.group(3))]
    shown = [float(number) for number in re.findall(r":\s+(\d+\.\d+)$", text, re.MULTILINE)]
    assert all(true <= said <= true + 1e-3 for true, said in zip(exact, shown, strict=True))


def test_without_noise_nothing_is_promised() -> None:
    text = compute_dp_sgd_privacy_statement(10_000, 100, 10, 0.0, 1e-5, max_examples_per_user=2)
    assert text.count("inf") == 4


@pytest.mark.parametrize(
    ("change", "names"),
    [
        ({"number_of_examples": 0}, "number of examples"),
        ({"batch_size": 20_000}, "batch_size"),
        ({"batch_size": -1}, "batch_size"),
        ({"num_epochs": math.nan}, "epochs"),
        ({"noise_multiplier": -1.0}, "noise_multiplier"),
        ({"noise_multiplier": math.nan}, "noise_multiplier"),
        ({"delta": math.nan}, "delta"),
        ({"max_examples_per_user": 0}, "max_examples_per_user"),
        ({"used_microbatching": 2}, "used_microbatching"),
    ],
    ids=str,
)
def test_what_makes_no_sense_is_refused(change: dict[str, Any], names: str) -> None:
    settings = {
        "number_of_examples": 10_000,
        "batch_size": 100,
        "num_epochs": 10,
        "noise_multiplier": 1.0,
        "delta": 1e-5,
    }
    with pytest.raises(ValueError, match=f"^{names} must be"):
        compute_dp_sgd_privacy_statement(**{**settings, **change})
    for noise in (math.nan, -1.0):
        with pytest.raises(ValueError, match=r"^noise_lbd must be"):
            compute_noise(10_000, 100, 1.0, 10, 1e-5, noise)
