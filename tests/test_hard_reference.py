"""Where engines went wrong: brackets computed without the library (reference/make_hard_reference.py).

Every row is a mechanism, a reading of it, and a bracket that holds the true value: by plain convolution, by
enumeration, or in closed form. Regimes that are read in milliseconds are read here; the others wait for
engines that answer them as fast.
"""

import json
from pathlib import Path
from typing import Any

import pytest

from indistinct import parse_guarantee

ROWS: list[dict[str, Any]] = json.loads(
    (Path(__file__).parent / "reference" / "hard.json").read_text(encoding="utf-8")
)
OWN_DIGITS = 1e-12
"""Relative: the last digits of a bracket are those of a double."""


@pytest.mark.parametrize("regime", ["training", "discrete", "issue"])
def test_no_reading_is_below_the_truth_and_intervals_hold_it(regime: str) -> None:
    wrong = []
    for row in ROWS:
        if row["regime"] == regime:
            g = parse_guarantee(row["mechanism"])
            value = getattr(g, row["reading"])(row["at"])
            low = g.epsilon_interval(row["at"]).low if row["reading"] == "epsilon" else 0.0
            if value < row["low"] * (1 - OWN_DIGITS) or low > row["high"] * (1 + OWN_DIGITS):
                wrong.append((row, value, low))
    assert not wrong


def test_training_is_sharp() -> None:
    for row in ROWS:
        if row["regime"] == "training":
            value = getattr(parse_guarantee(row["mechanism"]), row["reading"])(row["at"])
            assert value <= row["high"] * (1 + 1e-6), row
