"""Where engines went wrong: brackets computed without the library (reference/make_hard_reference.py).

Every row is a mechanism, a reading of it, and a bracket that holds the true value: by plain convolution, by
enumeration, or in closed form. Every third row of each regime is read here.
"""

import json
from pathlib import Path
from typing import Any

import pytest

from indistinct import parse_guarantee

ROWS: list[dict[str, Any]] = json.loads(
    (Path(__file__).parents[1] / "reference" / "hard.json").read_text(encoding="utf-8")
)
OWN_DIGITS = 1e-12
"""Relative: the last digits of a bracket are those of a double."""
LOOSE = {"laplace": 1}
"""How many of all rows are known to be wider than 1e-6: 1 of 496."""


@pytest.mark.parametrize("regime", sorted({row["regime"] for row in ROWS}))
def test_no_reading_is_below_the_truth_and_intervals_hold_it(regime: str) -> None:
    wrong, loose = [], []
    for row in [row for row in ROWS if row["regime"] == regime][::3]:
        known = getattr(parse_guarantee(row["mechanism"]), f"{row['reading']}_interval")(row["at"])
        if known.high < row["low"] * (1 - OWN_DIGITS) or known.low > row["high"] * (1 + OWN_DIGITS):
            wrong.append((row, known))
        if known.high > row["high"] * (1 + 1e-6):
            loose.append((row, known))
    assert not wrong and len(loose) <= LOOSE.get(regime, 0)
