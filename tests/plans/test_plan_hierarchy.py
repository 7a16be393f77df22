"""Plans with hierarchies, with what is outside, and with suggested bounds; and what is said of bias."""

import csv
import tomllib
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from indistinct import ArgumentError
from indistinct.noise import SystemSource
from indistinct.plans import check_plan, parse_plan, run_plan
from indistinct.plans.kinds.bounds import BoundsPart
from indistinct.plans.kinds.outside import OutsidePart
from indistinct.plans.notes import notes as notes_on

pytestmark = pytest.mark.usefixtures("told_once")

PLAN = """
[data]
csv = "people.csv"
records = 6000

[privacy]
user = "person"
most = 2

[budget]
epsilon = 8.0
delta = 1e-6

[columns.region]
categories = [1, 2]

[columns.state]
within = "region"
categories = { 1 = ["Maine", "Vermont"], 2 = ["Texas"] }

[columns.county]
within = "state"
categories = { Maine = ["Knox", "Lincoln"], Vermont = ["Windsor"], Texas = ["Lincoln", "Travis"] }

[columns.income]
low = 0
high = 20000

[columns.day]
low = 2000-01-01
high = 2010-01-01
unit = "day"
outside = "drop"

[[releases]]
name = "places"
kind = "hierarchy"
columns = ["region", "state", "county"]
weights = { county = 2 }
whole = true

[[releases]]
name = "towns"
kind = "hierarchy"
columns = ["region", "state"]

[[releases]]
name = "incomes"
kind = "outside"
column = "income"

[[releases]]
name = "by_region"
kind = "outside"
column = "county"
by = ["region"]

[[releases]]
name = "limit"
kind = "outside"
users = true

[[releases]]
name = "suggestion"
kind = "bounds"
column = "income"

[[releases]]
name = "when"
kind = "bounds"
column = "day"
unit = "day"
low = 1990-01-01
"""
STATES = {"1": ["Maine", "Vermont"], "2": ["Texas"]}
COUNTIES = {"Maine": ["Knox", "Lincoln"], "Vermont": ["Windsor"], "Texas": ["Lincoln", "Travis"]}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path, draw = tmp_path_factory.mktemp("plans"), np.random.default_rng(1)
    lines = ["person,region,state,county,income,day"]
    for place in range(6000):
        region = draw.choice(["1", "2"], p=[0.9, 0.1])
        state = draw.choice(STATES[region])
        county = draw.choice(COUNTIES[state])
        lines.append(f"{place // 3},{region},{state},{county},{draw.lognormal(9.5, 1):.0f},2001-02-03")
    (path / "people.csv").write_text("\n".join(lines) + "\n")
    return path


def rows(path: Path) -> list[dict[str, str]]:
    with open(path, newline="") as file:
        return list(csv.DictReader(file))


@pytest.mark.parametrize("delta", [0, 1e-6])
def test_a_run_answers_within_its_intervals(folder: Path, delta: float) -> None:
    content = tomllib.loads(PLAN)
    content["budget"]["delta"] = delta
    content["ledger"] = False
    plan, out = parse_plan(content, folder), folder / f"out{delta}"
    assert "at most" in str(check_plan(plan)) and "made whole" in str(check_plan(plan))
    run_plan(plan, out)
    places = rows(out / "places.csv")
    assert list(places[0]) == ["region", "state", "county", "count", "standard_error", "low", "high"]
    assert [row["region"] for row in places[:3]] == ["", "1", "2"] and places[-1]["county"] == "Travis"
    assert len(places) == 1 + 2 + 3 + 5
    counts = {(row["region"], row["state"], row["county"]): int(row["count"]) for row in places}
    for region, states in STATES.items():
        assert counts[region, "", ""] == sum(counts[region, state, ""] for state in states)
        for state in states:
            assert counts[region, state, ""] == sum(counts[region, state, one] for one in COUNTIES[state])
    assert counts["", "", ""] == pytest.approx(4000, abs=12 * float(places[0]["standard_error"]))
    for row in places:
        assert float(row["low"]) <= float(row["count"]) <= float(row["high"])
    assert sum(float(row["count"]) for row in rows(out / "towns.csv")[3:]) == pytest.approx(4000, abs=200)
    incomes = {(row["which"], row["measure"]): row for row in rows(out / "incomes.csv")}
    above = incomes["income above 20000", "share"]
    assert float(above["low"]) - 0.02 < 0.3409 < float(above["high"]) + 0.02
    by_region = rows(out / "by_region.csv")
    assert [row["region"] for row in by_region] == ["1"] * 6 + ["2"] * 6
    assert by_region[0]["which"] == "county listed" and float(by_region[1]["low"]) > 0.9
    (limit,) = (
        r for r in rows(out / "limit.csv") if (r["which"], r["measure"]) == ("more than 2 records", "number")
    )
    assert abs(float(limit["estimate"]) - 2000) < 12 * float(limit["standard_error"])
    (suggestion,) = rows(out / "suggestion.csv")
    assert float(suggestion["suggested_low"]) <= 1000 and float(suggestion["suggested_high"]) >= 60_000
    assert float(suggestion["low"]) <= float(suggestion["share_outside"]) <= float(suggestion["high"])
    (when,) = rows(out / "when.csv")
    assert (
        "1990" <= when["suggested_low"] <= "2001-01-01"
        and "2002-01-01" <= when["suggested_high"] <= "2100-01-01"
    )
    said = {part.name: part for part in plan.parts}
    part, bounds = said["incomes"], said["suggestion"]
    assert isinstance(part, OutsidePart) and isinstance(bounds, BoundsPart)
    words = part.sentences([list(row.values()) for row in rows(out / "incomes.csv")])
    assert (
        len(words) == 3
        and words[1].startswith("about 3")
        and words[1].endswith("of records have income above 20000, and count as 20000")
    )
    assert "of records would have income outside" in bounds.sentences([list(suggestion.values())])[0]


def test_whole_numbers_add_up_whatever_the_noise(folder: Path) -> None:
    checked = check_plan(parse_plan(tomllib.loads(PLAN), folder))
    part, totals = checked.parts[0], []
    for _ in range(30):  # in half of them the total is 0
        total, *below = (int(row[3]) for row in part.draw(1e9, part.look(checked.table), SystemSource()))
        assert total == sum(below[:2]) == sum(below[2:5]) == sum(below[5:])
        totals.append(total)
    assert max(totals) > 10**5


def test_more_weight_is_less_error(folder: Path) -> None:
    errors = []
    for weight in (1, 50):
        content = tomllib.loads(PLAN)
        content["releases"] = [dict(content["releases"][0], weights={"county": weight})]
        content["budget"]["noise"] = "gaussian"
        checked = check_plan(parse_plan(content, folder))
        words = str(checked).split("each of 5 by county")[0]
        errors.append(float(words.split(", ")[-1].split(" in ")[0]))
    assert errors[1] < 0.8 * errors[0]


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        (
            {"kind": "hierarchy", "columns": ["state"]},
            "'state' comes after 'region', within which it is declared",
        ),
        ({"kind": "hierarchy", "columns": ["region", "county"]}, "'county' comes after 'state'"),
        (
            {"kind": "hierarchy", "columns": ["region"], "weights": {"county": 1}},
            "weights must be made of region, to",
        ),
        ({"kind": "hierarchy", "columns": ["region"], "weights": {"region": 0}}, r"weights\.region must be"),
        ({"kind": "hierarchy", "columns": ["region"], "whole": 1}, "whole must be true or false"),
        ({"kind": "hierarchy", "columns": ["region", "income"]}, r"columns\.income\.bins must be given"),
        ({"kind": "hierarchy", "columns": ["region"], "by": ["region"]}, "by must be other columns than"),
        ({"kind": "outside", "users": True, "by": ["region"]}, "by must be absent"),
        ({"kind": "outside"}, "column must be a declared column, or users = true"),
        (
            {"kind": "outside", "column": "income", "users": True},
            "column must be a declared column, or users",
        ),
        ({"kind": "outside", "column": "nothing"}, "declared in a section"),
        ({"kind": "bounds", "column": "income", "cover": 1}, r"releases\.x\.cover must be a share"),
        ({"kind": "bounds", "column": "income", "low": 3, "high": 1}, r"releases\.x\.high must be above"),
        ({"kind": "bounds", "column": "income", "zone": "UTC"}, "zone must be given with unit"),
        (
            {"kind": "bounds", "column": "day", "unit": "day", "low": "soon"},
            r"releases\.x\.low\.time must be a date",
        ),
    ],
)
def test_mistakes_cost_nothing_and_say_what_to_do(changes: dict[str, Any], words: str) -> None:
    content = tomllib.loads(PLAN)
    content["releases"] = [{"name": "x", **changes}]
    with pytest.raises(ArgumentError, match=words):
        parse_plan(content)


@pytest.mark.parametrize(
    ("column", "words"),
    [
        ({"within": "region", "categories": ["a"]}, r"categories must be lists by the categories of region"),
        ({"within": "region", "categories": {"3": ["a"]}}, r"listed by categories of region \(1, 2\)"),
        ({"within": "nowhere", "categories": {"3": ["a"]}}, "declared in a section"),
        ({"within": "region", "categories": {"1": ["a", "a"], "2": ["b"]}}, "a list of different categories"),
        ({"within": "region", "categories": {"1": ["a", 2], "2": ["b"]}}, "distinct texts, or distinct"),
        ({"categories": {"1": ["a"]}}, "goes with `within`"),
    ],
)
def test_a_column_within_another_is_checked(column: dict[str, Any], words: str) -> None:
    content = tomllib.loads(PLAN)
    content["columns"] = {"region": {"categories": [1, 2]}, "state": column, "income": {"low": 0, "high": 1}}
    content["releases"] = [{"name": "x", "kind": "outside", "column": "income"}]
    with pytest.raises(ArgumentError, match=words):
        parse_plan(content)


def test_users_over_a_limit_need_one() -> None:
    content = tomllib.loads(PLAN)
    content["privacy"] = {}
    content["releases"] = [{"name": "x", "kind": "outside", "users": True}]
    with pytest.raises(ArgumentError, match=r"privacy\.most must be given with privacy\.user"):
        parse_plan(content)


def test_what_error_bars_do_not_show_is_said() -> None:
    content = tomllib.loads(PLAN)
    content["releases"] += [
        {"name": "mean", "kind": "mean", "column": "income", "by": ["region"]},
        {"name": "days", "kind": "sum", "column": "day"},
        {"name": "all", "kind": "count", "user_total": 3},
    ]
    plan = parse_plan(content)
    notes = {part.name: notes_on(plan, part) for part in plan.parts}
    assert notes.keys() == {release["name"] for release in content["releases"]}
    clipped, dropped, limited = notes["mean"]
    assert "whose region is not listed are left out" in dropped
    assert "below 0 or above 20000 count as 0 and 20000" in clipped and "the release incomes says" in clipped
    assert "with more than 2 records, 2 take part" in limited and "the release limit says" in limited
    assert "with day outside its bounds are left out" in notes["days"][0]
    assert 'a release with kind = "outside" and column = "day" would' in notes["days"][0]
    assert len(notes["all"]) == 1 and "scaled down" in notes["all"][0]
    assert (
        len(notes["places"]) == 4
        and "whose county is not listed within their state are left out" in notes["places"][2]
    )
    assert not notes["limit"]
