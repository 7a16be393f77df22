"""Regressions and covariances in plans: their rows, and what is refused before anything is read."""

import csv
import tomllib
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from indistinct import ArgumentError
from indistinct.data import read_csv
from indistinct.plans import check_plan, parse_plan, run_plan

pytestmark = pytest.mark.usefixtures("told_once")

PLAN = """
[data]
csv = "people.csv"
records = 4000

[privacy]
user = "person"
most = 2

[budget]
epsilon = 8.0
delta = 1e-6

[columns.age]
low = 18
high = 90

[columns.town]
categories = ["a", "b", "c"]

[columns.income]
low = 0
high = 100000

[columns.owns]
categories = ["no", "yes"]

[[releases]]
name = "pay"
kind = "linear"
response = "income"
columns = ["age", "town"]

[[releases]]
name = "owners"
kind = "logistic"
response = "owns"
columns = ["age"]
user_total = 2

[[releases]]
name = "together"
kind = "covariance"
columns = ["age", "income", "owns"]
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    draw = np.random.default_rng(4)
    age, town = draw.uniform(18, 90, 4000), draw.choice(np.array(["a", "b", "c"]), 4000)
    income = 500 * age + 8_000 * (town == "b") + draw.normal(0, 9_000, 4000)
    owns = np.where(draw.random(4000) < 1 / (1 + np.exp(2 - age / 30)), "yes", "no")
    rows = zip(np.arange(4000) // 2, age, town, income, owns, strict=True)
    with (tmp_path / "people.csv").open("w", newline="") as file:
        csv.writer(file).writerows([["person", "age", "town", "income", "owns"], *rows])
    return tmp_path


def plan(folder: Path, **changed: Any) -> Any:
    """The plan, with other keys in its first release."""
    content = tomllib.loads(PLAN)
    content["releases"][0] |= changed
    return parse_plan(content, folder)


def read(path: Path) -> list[dict[str, str]]:
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def test_rows(folder: Path) -> None:
    """At a generous budget coefficients are near the truth, and every interval is in order."""
    asked = plan(folder)
    said = str(check_plan(asked))
    assert "of the interval of income, by noise" in said and "in the logit" in said
    run_plan(asked, folder / "out")
    pay = {row["term"]: row for row in read(folder / "out" / "pay.csv")}
    assert list(pay) == ["intercept", "age", "town=b", "town=c"]
    for term, truth in {"age": 500, "town=b": 8000, "town=c": 0}.items():
        row = {key: float(value) for key, value in pay[term].items() if key != "term"}
        assert abs(row["coefficient"] - truth) < 6 * row["standard_error"] < 10_000
        assert row["low"] <= row["noise_low"] <= row["coefficient"] <= row["noise_high"] <= row["high"]
    owners = read(folder / "out" / "owners.csv")
    assert abs(float(owners[1]["coefficient"]) - 1 / 30) < 6 * float(owners[1]["standard_error"]) < 0.1
    pairs = {(row["column_a"], row["column_b"]): row for row in read(folder / "out" / "together.csv")}
    assert len(pairs) == 6 and float(pairs["age", "income"]["correlation"]) > 0.4
    assert list(pairs["age", "age"])[-4:] == ["covariance", "standard_error", "low", "high"]


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"response": "pay"}, "declared in"),
        ({"columns": ["age", "hight"]}, "declared in"),
        ({"columns": ["age", "income"]}, "without it"),
        ({"response": "owns"}, "a logistic regression explains two categories"),
        ({"kind": "logistic"}, "a linear regression explains numbers"),
        ({"kind": "logistic", "response": "town", "columns": ["age"]}, "a column of two categories"),
        ({"columns": []}, "a list of different columns"),
        ({"colums": ["age"]}, "colums"),
        ({"kind": "covariance"}, "response"),
        ({"kind": "logistic", "response": "owns", "by": ["town"]}, "by"),
        ({"by": ["income"]}, "bins"),
    ],
)
def test_refused(folder: Path, changed: dict[str, Any], words: str) -> None:
    with pytest.raises(ArgumentError, match=words):
        plan(folder, **changed)


def test_by_group(folder: Path) -> None:
    """A line for each group, its columns first, for the noise that one for all records would have."""
    asked = tomllib.loads(PLAN)
    asked["releases"] = [
        {"name": "pay", "kind": "linear", "response": "income", "columns": ["age"], "by": ["town"]},
        {"name": "both", "kind": "covariance", "columns": ["age", "income"], "by": ["owns", "town"]},
    ]
    checked = check_plan(parse_plan(asked, folder))
    assert "linear regression of income on age by town" in str(checked) and "equally large" in str(checked)
    for part in checked.parts:
        assert part.sensitivity(part.terms.adjacency) == part.asks.sensitivity(part.terms.norm)  # type: ignore[attr-defined]
    run_plan(checked.plan, folder / "out")
    rows = read(folder / "out" / "pay.csv")
    assert [(row["town"], row["term"]) for row in rows] == [
        (t, n) for t in "abc" for n in ("intercept", "age")
    ]
    assert all(abs(float(row["coefficient"]) - 500) < 100 for row in rows[1::2])
    assert len(read(folder / "out" / "both.csv")) == 18


def test_total_of_a_user(folder: Path) -> None:
    """A user who has as many records as `user_total` says is not scaled down."""
    part = plan(folder, user_total=2).parts[0]
    whole = plan(folder).parts[0]
    data = folder / "people.csv"

    units = [np.asarray(one.query.statistic(read_csv(data)).units, dtype=float) for one in (part, whole)]
    np.testing.assert_allclose(units[0], units[1], rtol=1e-9, atol=1e5)


def test_a_pure_plan(folder: Path) -> None:
    """Without delta, and users by two of their records: what was drawn once is found again in a second
    folder, and costs what the plan says."""
    asked = tomllib.loads(PLAN)
    del asked["budget"]["delta"], asked["releases"][1]["user_total"]
    asked["releases"] = asked["releases"][1:2]
    asked = parse_plan(asked, folder)
    assert "until the maximum of the likelihood is found" in str(check_plan(asked))
    for name in ("out", "again"):
        run_plan(asked, folder / name)
    owners, again = (read(folder / name / "owners.csv") for name in ("out", "again"))
    assert owners == again and abs(float(owners[1]["coefficient"]) - 1 / 30) < 0.01
    assert float(owners[1]["noise_high"]) - float(owners[1]["noise_low"]) < 0.01
    told = check_plan(asked)
    (part,) = told.parts
    (scale,) = told.scales.values() if isinstance(told.scales, dict) else told.scales
    assert part.at(scale).guarantee(part.terms.adjacency).pure() <= 8.0
