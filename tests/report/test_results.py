"""Released numbers as tables and pictures: columns are known by name, every category has its name, no label
lies on another, and what noise leaves open is drawn."""

import re
from itertools import pairwise

import pytest

from indistinct.report.results import (
    ResultLine,
    WithIntervals,
    counts_chart,
    curve_chart,
    heat_map,
    interval_chart,
)
from indistinct.report.svg import ChartAxes, width_of
from indistinct.report.tables import Measured, ReadTable

TOWNS = ResultLine("town", 3, labels=("Aarau", "Bern", "a town with a name that is much too long"))
AGES = ResultLine("age", 2, ends=(0.0, 100_000.0))


def around(values: list[float], error: float) -> WithIntervals:
    return WithIntervals(values, [(value - 2 * error, value + 2 * error) for value in values])


def texts(chart: str) -> list[str]:
    return re.findall(r"<text[^>]*>([^<]*)</text>", chart)


def test_bars_curves_and_maps_say_what_noise_leaves_open() -> None:
    bars = counts_chart("a", TOWNS, around([100.0, -5.0, 20.0], 4.0))
    assert bars.count('class="bar"') == bars.count('class="whisker"') == 3 and "95 % intervals" in bars
    assert {"Aarau", "Bern"} < set(texts(bars)) and not [one for one in texts(bars) if len(one) > 25]
    curve = curve_chart("b", AGES, around([0.0, 50.0, 90.0], 5.0))
    assert curve.count('class="band"') == 1 and "50,000" in curve
    heat = heat_map("c", AGES, TOWNS, [[100.0, 3.0, 60.0], [None, 8.0, 8.1]], 4.0)
    legend = ["100", "50", "25", "10", "&lt; 8"]
    # 3 and 8 may be noise alone
    assert heat.count('class="heat"') == 3 + len(legend) - 1 and "the darkest is 100.0 records" in heat
    assert texts(heat)[-len(legend) :] == legend
    assert heat_map("d", AGES, TOWNS, [[-9.0] * 3] * 2, 4.0).count('class="heat"') == 1  # of the legend


@pytest.mark.parametrize("size", [2, 16, 64])
def test_every_category_has_its_name(size: int) -> None:
    names = tuple(f"category {place}" for place in range(size))
    line = ResultLine("c", size, labels=names)
    assert set(names) <= set(texts(counts_chart("a", line, around([1.0] * size, 1.0))))
    two = ResultLine("d", 2, labels=("x", "y"))
    assert set(names) <= set(texts(heat_map("b", two, line, [[5.0] * size] * 2, 1.0)))


@pytest.mark.parametrize("high", [1.0, 64.0, 2_000_000.0, 123_456_789.0])
def test_labels_of_an_axis_do_not_touch(high: float) -> None:
    line = ResultLine("income", 8, ends=(0.0, high))
    chart = counts_chart("a", line, around([high] * 8, high / 9))
    places = re.findall(r'<text x="([\d.]+)" y="([\d.]+)" text-anchor="middle">([^<]*)<', chart)
    assert len(places) >= 2
    for (left, _, first), (right, _, second) in pairwise(places):
        assert float(left) + width_of(first) / 2 < float(right) - width_of(second) / 2
    assert float(places[-1][0]) + width_of(places[-1][2]) / 2 <= ChartAxes((0, 1), (0, 1)).width


def test_intervals_are_drawn_where_they_are() -> None:
    chart = interval_chart(["a", "b"], [1.0, 3.0], [0.0, 2.0], [2.0, float("inf")], unit="income")
    dots = [float(x) for x in re.findall(r'class="point" cx="([\d.]+)"', chart)]
    lines = re.findall(r'class="whisker" d="M([\d.]+) [\d.]+H([\d.]+)', chart)
    (a_low, a_high), (b_low, b_high) = [(float(x), float(y)) for x, y in lines]
    assert a_low < dots[0] < a_high == b_low < dots[1] <= b_high  # what is not bounded ends at the frame
    assert dots[0] - a_low == pytest.approx(a_high - dots[0], abs=0.2)
    assert texts(chart)[-1] == "" and "income" in texts(chart) and "inf" not in chart.split("95 %")[0]


def test_columns_are_known_by_their_names() -> None:
    assert Measured.of(["low", "count", "standard_error"]) == Measured(1, error=2)
    assert Measured.of(["rank", "income", "rank_error", "low", "high"]) == Measured(1, None, 2, 3, 4)
    ranks = ReadTable.of(
        ["rank", "income", "rank_error", "low", "high"], [["0.5", "19153.2", "44.1", "18000", "21000"]]
    )
    assert ranks.names[1:] == ("income", "95 % interval", "rank error")
    assert ranks.rows[0] == ("0.5", "19,153", "18,000 to 21,000", "44.1")
    header = ["sex", "age_low", "age_high", "count", "standard_error", "low", "high"]
    rows = [
        ["f|m", "0", "8", "1234.567", "16.9", "1201.4", "1267.7"],
        ["", "", "", "-3.2", "0.21", "-4", "2"],
    ]
    table = ReadTable.of(header, rows)
    assert table.names == ("sex", "age", "count", "95 % interval", "standard error") and table.about == 2
    assert table.rows[0] == ("f|m", "0 to 8", "1,235", "1,201 to 1,268", "17")
    assert table.rows[1] == ("", "", "-3.20", "-4.00 to 2.00", "0.21")
    assert "f\\|m" in table.to_markdown() and table.to_markdown(1).endswith("The first 1 of 2 rows.")
    assert "<script" not in ReadTable.of(["a", "count"], [["<script>", "1"]]).to_html()
    # a marginal leaves out the column that it sums over
    assert ReadTable.of(header, rows[1:]).names[0] == "count"
    assert ReadTable.of(["age_below", "count"], [["8.0", "3"]]).rows == (("below 8", "3"),)
