"""Dates along axes and in tables are dates."""

from datetime import date, timedelta
from pathlib import Path

import pytest

from indistinct.plans import parse_plan, run_plan
from indistinct.report.dates import TimeScale

DAY, HOUR, SECOND = 86_400_000_000, 3_600_000_000, 1_000_000


@pytest.mark.parametrize(
    ("microseconds", "low", "high", "most", "texts"),
    [
        (DAY, 10957, 14610, 6, ["2000", "2002", "2004", "2006", "2008", "2010"]),
        (DAY, 10957, 14610, 2, ["2000", "2010"]),
        (DAY, 10957.3, 11100, 4, ["2000-02", "2000-03", "2000-04", "2000-05"]),
        (DAY, 10957.3, 10960, 4, ["2000-01-02", "2000-01-03", "2000-01-04"]),
        (HOUR, 262968, 262980, 3, ["2000-01-01 00:00", "2000-01-01 06:00", "2000-01-01 12:00"]),
        (SECOND, 0, 90, 4, ["1970-01-01 00:00", "1970-01-01 00:01"]),
        (DAY, -700_000, 2_900_000, 4, ["2000", "4000", "6000", "8000"]),
        (DAY, 1e9, 2e9, 4, ["1e+09", "2e+09"]),  # no such days
    ],
)
def test_calendars(microseconds: int, low: float, high: float, most: int, texts: list[str]) -> None:
    found = TimeScale(microseconds).ticks(low, high, most)
    assert [text for _, text in found] == texts
    assert all(low <= place <= high for place, _ in found)


def test_a_report_shows_dates(tmp_path: Path) -> None:
    days = [date(2000, 1, 1) + timedelta(days=n % 3653) for n in range(4000)]
    lines = [f"{day},{'fm'[n % 2]}" for n, day in enumerate(days)]
    (tmp_path / "days.csv").write_text("\n".join(["day,sex", *lines]) + "\n")
    ends = {"low": date(2000, 1, 1), "high": date(2010, 1, 1), "unit": "day", "bins": 10}
    content = {
        "data": {"csv": "days.csv", "records": 4000},
        "budget": {"epsilon": 8},
        "columns": {"day": ends, "sex": {"categories": ["f", "m"]}},
        "releases": [
            {"name": "days", "kind": "histogram", "columns": ["day"]},
            {"name": "below", "kind": "prefix", "column": "day"},
            {"name": "cells", "kind": "histogram", "columns": ["day", "sex"]},
            {"name": "middles", "kind": "quantiles", "column": "day", "ranks": [0.5], "by": ["sex"]},
            {"name": "means", "kind": "mean", "column": "day", "by": ["sex"]},
        ],
        "ledger": False,
    }
    page = run_plan(parse_plan(content, tmp_path), tmp_path / "out")
    html, text = page.read_text(), (page.parent / "report.md").read_text()
    assert ">2004</text>" in html and ">2010</text>" in html
    assert "| 2000-01-01 to 2000-12-31 |" in text and "| below 2000-12-31 |" in text
    means = text[text.index("### Means") :]
    assert "| f | 200" in means and "to 200" in means
    for number in ("10,957", "14,610", "12,78"):  # days since 1970 are in files only
        assert number not in html and number not in text
    assert (page.parent / "days.csv").read_text().splitlines()[1].startswith("10957.0,")
