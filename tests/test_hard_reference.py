"""Where engines go wrong: brackets that were computed without the library (reference/make_hard_reference.py).

Every row is a mechanism, a reading of it, and a bracket that holds the true value: by plain convolution, by
enumeration, or in closed form.
"""

import json
from collections import Counter
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from indistinct import Interval, parse_guarantee

ROWS: list[dict[str, Any]] = json.loads(
    (Path(__file__).parent / "reference" / "hard.json").read_text(encoding="utf-8")
)
REGIMES = Counter(row["regime"] for row in ROWS)
OWN_DIGITS = 1e-12
"""Relative: the last digits of a bracket are those of a double."""
SHARP = 1e-6


class Answer(NamedTuple):
    value: float
    interval: Interval


@cache
def answers(regime: str) -> list[tuple[dict[str, Any], Answer]]:
    """All rows of a regime, each read from a guarantee of its own."""
    found = []
    for row in ROWS:
        if row["regime"] == regime:
            g = parse_guarantee(row["mechanism"])
            value = getattr(g, row["reading"])(row["at"])
            found.append((row, Answer(value, getattr(g, f"{row['reading']}_interval")(row["at"]))))
    return found


def wrong(regime: str, holds: Any) -> list[str]:
    """The rows of which this does not hold, as a reader wants to see them."""
    return [
        f"{row['mechanism']}: {row['reading']} at {row['at']!r} is in"
        f" [{row['low']!r}, {row['high']!r}]; found {answer}"
        for row, answer in answers(regime)
        if not holds(row, answer)
    ]


def sharp(row: dict[str, Any], answer: Answer) -> bool:
    return answer.value <= row["high"] * (1 + SHARP)


@pytest.mark.parametrize("regime", REGIMES)
def test_no_reading_is_below_the_truth(regime: str) -> None:
    assert not wrong(regime, lambda row, answer: answer.value >= row["low"] * (1 - OWN_DIGITS))


@pytest.mark.parametrize("regime", REGIMES)
def test_every_interval_holds_the_truth(regime: str) -> None:
    def true(row: dict[str, Any], answer: Answer) -> bool:
        low, high = answer.interval
        return low <= row["high"] * (1 + OWN_DIGITS) and high >= row["low"] * (1 - OWN_DIGITS) and low <= high

    assert not wrong(regime, true)


def test_nearly_all_readings_are_sharp() -> None:
    loose = [row for regime in REGIMES for row, answer in answers(regime) if not sharp(row, answer)]
    assert len(loose) <= 0.01 * len(ROWS), [(row["mechanism"], row["reading"], row["at"]) for row in loose]


@pytest.mark.parametrize("regime", REGIMES)
def test_what_is_not_sharp_says_so(regime: str) -> None:
    def honest(row: dict[str, Any], answer: Answer) -> bool:
        return sharp(row, answer) or answer.interval.high >= answer.interval.low * (1 + SHARP)

    assert not wrong(regime, honest)


def test_reference_covers_the_regimes_promised() -> None:
    assert len(ROWS) >= 300
    promised = {
        "training",
        "tiny",
        "deep",
        "several",
        "without_replacement",
        "discrete",
        "groups",
        "nested",
        "laplace",
    }
    assert all(REGIMES[regime] >= 30 for regime in promised)
    assert min(row["at"] for row in ROWS if row["reading"] == "epsilon") <= 1e-99
    assert all(row["high"] <= row["low"] * (1 + SHARP / 5) for row in ROWS)
