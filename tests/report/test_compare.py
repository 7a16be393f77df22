"""Pictures, tables and paragraphs for papers, from guarantees that differ."""

import csv
import io
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from indistinct import (
    Adjacency,
    ArgumentError,
    Gaussian,
    Guarantee,
    Laplace,
    Mechanism,
    compare,
    comparison,
    model_card,
    repeat_and_select,
)

ITEMS = [Gaussian(scale=1), Laplace(scale=1), 50 * Gaussian(scale=2).subsample(0.1)]


@pytest.mark.parametrize("reading", ["tradeoff", "profile", "renyi"])
def test_lines_are_readings(reading: str) -> None:
    axes = compare(ITEMS, reading=reading)
    lines = dict(zip((line.get_label() for line in axes.get_lines()), axes.get_lines(), strict=True))
    for item in ITEMS:
        x, y = np.asarray(lines[str(item)].get_data())
        g = item.guarantee()
        own = {"tradeoff": g.tradeoff, "profile": g.delta, "renyi": g.renyi}[reading](x)
        drawn = np.isfinite(y)
        assert drawn.sum() > 30 and np.array_equal(own[drawn], y[drawn])
    assert compare({"mine": Gaussian(scale=1)}, reading, ax=axes) is axes


def test_what_cannot_be_compared_is_refused() -> None:
    with pytest.raises(ArgumentError, match="same neighbours"):
        compare([Gaussian(scale=1), Gaussian(scale=1).subsample(1, of=10)])
    for items in ([], Gaussian(scale=1), [3], [Gaussian]):
        with pytest.raises(ArgumentError, match="item"):
            compare(items)
    with pytest.raises(ArgumentError, match="reading"):
        compare(ITEMS, reading="risk")


def test_table(tmp_path: Path) -> None:
    table = comparison([*ITEMS, repeat_and_select(Gaussian(scale=4), 3)], delta=1e-6)
    header, *rows = csv.reader(io.StringIO(table.to_csv(tmp_path / "table.csv")))
    assert header[1] == "ε at δ = 1e-6"
    for item, row in zip(ITEMS, rows, strict=False):
        assert row[0] == str(item)
        epsilon = item.guarantee().epsilon(1e-6)
        assert epsilon <= float(row[1]) <= epsilon * 1.001  # rounded up
    assert (tmp_path / "table.csv").read_text(encoding="utf-8") == table.to_csv()
    latex = table.to_latex()
    assert r"repeat\_and\_select" in latex and latex.count(r"\\") == 1 + len(table.rows)


@dataclass
class Run:
    """What has a mechanism and says what it assumed."""

    mechanism: Mechanism
    assumptions: tuple[str, ...]

    def guarantee(self, adjacency: Adjacency | str | None = None) -> Guarantee:
        return self.mechanism.guarantee(adjacency)


def test_model_card() -> None:
    mechanism = 100 * Gaussian(scale=1).subsample(0.01)
    card = model_card(Run(mechanism, ("batches are drawn afresh",)), delta=1e-5)
    entries = dict(card.table.rows)
    assert entries["assumed"] == "batches are drawn afresh"
    assert entries["mechanism"] == str(mechanism)
    assert "not stated" in entries["tuning"]
    assert "how records take part" not in entries  # a run says it in its assumptions
    assert "Poisson" in dict(model_card(mechanism, delta=1e-5).table.rows)["how records take part"]
    epsilon = mechanism.guarantee().epsilon(1e-5)
    assert epsilon <= float(entries["ε at δ = 1e-5"]) <= 1.001 * epsilon
    assert f"ε = {entries['ε at δ = 1e-5']}" in card.paragraph
    tuned = model_card(
        repeat_and_select(mechanism, 4), delta=1e-5, unit="patient", tuned="rates from a paper"
    )
    entries = dict(tuned.table.rows)
    assert entries["tuning"].startswith("the best of a random number of runs, 4 on average")
    assert entries["tuning"].endswith("rates from a paper")
    assert "one patient" in tuned.to_markdown() and r"\begin{tabular}" in tuned.to_latex()
    assert float(entries["ε at δ = 1e-5"]) > epsilon
    for bad in ({"delta": 2.0}, {"delta": 1e-5, "unit": ""}, {"delta": 1e-5, "assumed": "text"}):
        with pytest.raises(ArgumentError):
            model_card(mechanism, **bad)  # type: ignore[arg-type]
