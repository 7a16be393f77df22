"""Plans: what they refuse, what they charge, what survives a crash, and that the numbers are right."""

import copy
import csv
import json
import os
import re
import signal
import subprocess
import sys
import tomllib
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from indistinct import Adjacency, ArgumentError, from_json
from indistinct.cli import main
from indistinct.data import Bins, Count, Histogram, UserRecords
from indistinct.errors import DataError, Refused, SourceChanged, TargetError
from indistinct.ledger import Ledger
from indistinct.mechanisms.mechanism import Composed
from indistinct.plans import check_plan, parse_plan, read_plan, run_plan
from indistinct.plans.kinds.pictures import ranges_picture
from indistinct.plans.kinds.workloads import WorkloadPart
from indistinct.plans.plan import KINDS
from indistinct.plans.spending import LEDGER
from indistinct.workloads import IdentityStrategy, Marginals, MatrixMechanism, Noise, Prefix, optimise

pytestmark = pytest.mark.usefixtures("told_once")

pytest.importorskip("duckdb")

PLAN = """
[data]
csv = "people.csv"
records = 2000

[budget]
epsilon = 2.0
delta = 1e-6

[columns.age]
low = 0
high = 64
bins = 16
outside = "error"

[columns.town]
categories = ["Aarau", "Bern"]

[[releases]]
name = "ages"
kind = "histogram"
columns = ["age", "town"]

[[releases]]
name = "people"
kind = "count"

[[releases]]
name = "total"
kind = "sum"
column = "age"

[[releases]]
name = "mean"
kind = "mean"
column = "age"
weight = 2

[[releases]]
name = "quartiles"
kind = "quantiles"
column = "age"
ranks = [0.25, 0.5, 0.75]

[[releases]]
name = "below"
kind = "prefix"
column = "age"

[[releases]]
name = "between"
kind = "ranges"
column = "age"

[[releases]]
name = "tables"
kind = "marginals"
columns = ["age", "town"]
ways = 1
"""
TAIL = 12
"""In standard errors: Laplace noise lies beyond with a chance of e^-17."""
FILES = ["ages", "people", "total", "mean", "quartiles", "below", "between", "tables"]


def people(path: Path, records: int = 2000, **changes: Any) -> None:
    draw = np.random.default_rng(1)
    ages = [str(age) for age in draw.integers(0, 64, records)]
    persons = [str(place // 4) for place in range(records)]
    towns = draw.choice(["Aarau", "Bern"], records).tolist()
    for place, value in changes.get("ages", {}).items():
        ages[place] = value
    for place, value in changes.get("persons", {}).items():
        persons[place] = value
    for place, value in changes.get("towns", {}).items():
        towns[place] = value
    lines = [f"{p},{a},{t}" for p, a, t in zip(persons, ages, towns, strict=True)]
    path.write_text("\n".join(["person,age,town", *lines]) + "\n")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    people(tmp_path / "people.csv")
    (tmp_path / "plan.toml").write_text(PLAN)
    return tmp_path


def rows(path: Path) -> list[dict[str, str]]:
    with open(path, newline="") as file:
        return list(csv.DictReader(file))


def changed(**sections: Any) -> dict[str, Any]:
    plan = copy.deepcopy(tomllib.loads(PLAN))
    for name, change in sections.items():
        plan[name] = {**plan.get(name, {}), **change} if isinstance(change, dict) else change
    return plan


def test_a_run_answers_within_its_errors(folder: Path) -> None:
    plan, out, said = read_plan(folder / "plan.toml"), folder / "out", list[str]()
    report = run_plan(plan, out, said.append)
    assert "released 8/8" in said[-1]
    page = report.read_text()
    assert (
        page.count("<section id=") == 8
        and "<svg" in page
        and "http" not in page.replace("http://www.w3.org", "")
    )
    charge = json.loads((out / "guarantee.json").read_text())
    assert 2 * (1 - 1e-5) < charge["epsilon"] <= 2 and all(one["sha256"] for one in charge["releases"])
    records = rows(folder / "people.csv")
    ages = np.array([float(one["age"]) for one in records])
    truths = {
        "people": len(ages),
        "total": ages.sum(),
        "mean": ages.mean(),
        "below": [(ages < edge).sum() for edge in range(4, 65, 4)],
        "between": [
            ((ages >= low) & (ages < high)).sum() for low in range(0, 64, 4) for high in range(low + 4, 65, 4)
        ],
        "ages": [
            ((ages >= low) & (ages < low + 4) & (np.array([r["town"] for r in records]) == town)).sum()
            for low in range(0, 64, 4)
            for town in ("Aarau", "Bern")
        ],
    }
    for name, truth in truths.items():
        found = rows(out / f"{name}.csv")
        values = [float(list(row.values())[-4]) for row in found]
        errors = [float(row["standard_error"]) for row in found]
        assert (np.abs(np.array(values) - truth) < TAIL * np.array(errors)).all(), name
        assert (out / f"{name}.parquet").exists()
    tables = rows(out / "tables.csv")
    assert [row["town"] for row in tables[-2:]] == ["Aarau", "Bern"] and tables[-1]["age_low"] == ""
    middle = float(rows(out / "quartiles.csv")[1]["age"])
    assert abs((ages < middle).mean() - 0.5) < 0.1


def test_the_budget_is_met_exactly_and_split_by_weight(folder: Path) -> None:
    checked = check_plan(parse_plan(tomllib.loads(PLAN), folder))
    epsilon = checked.mechanism.guarantee().epsilon(delta=1e-6)
    assert 2 * (1 - 1e-5) < epsilon <= 2
    shifts = [
        part.sensitivity(Adjacency.ADD_REMOVE) / scale
        for part, scale in zip(checked.parts, checked.scales, strict=True)
    ]
    assert shifts[3] ** 2 == pytest.approx(2 * shifts[0] ** 2)
    assert all(shift == pytest.approx(shifts[0]) for shift in shifts[:3])


@pytest.mark.parametrize("delta", [0, 1e-6])
def test_worst_relative_errors_are_equal(folder: Path, delta: float) -> None:
    plan = parse_plan(changed(budget={"split": "worst-relative-error", "epsilon": 4, "delta": delta}), folder)
    checked = check_plan(plan)
    relative = [
        (part.error(scale) or 0) / (part.size or 1)
        for part, scale in zip(checked.parts, checked.scales, strict=True)
    ]
    assert max(relative) < 1.03 * min(relative)  # but for the lattice of small noise
    assert checked.mechanism.guarantee().epsilon(delta=delta) <= 4


@pytest.mark.parametrize("adjacency", ["add-remove", "replace-one"])
def test_a_pure_budget_gets_laplace_noise(folder: Path, adjacency: str) -> None:
    given = changed(budget={"delta": 0}, privacy={"adjacency": adjacency})
    checked = check_plan(parse_plan(given, folder))
    assert checked.mechanism.guarantee(checked.plan.terms.adjacency).pure() == pytest.approx(2, rel=1e-4)
    given["releases"] = [one for one in given["releases"] if one["name"] == "below"]
    run_plan(parse_plan(given, folder), folder / "out")  # a report on many Laplace noises takes seconds
    assert json.loads((folder / "out" / "guarantee.json").read_text())["releases"][0]["noise"] == "laplace"


def test_noises_that_are_nearly_alike_are_counted_as_the_largest(folder: Path) -> None:
    checked = check_plan(parse_plan(changed(budget={"delta": 0}), folder))
    merged, exact = checked.mechanism.guarantee(), Composed(checked.mechanism.parts).guarantee()
    assert len(merged.product.terms) < len(exact.product.terms)
    for order in (1.5, 4.0, np.inf):
        assert exact.renyi(order) <= merged.renyi(order) <= 1.002 * exact.renyi(order)


def test_users_and_left_out_records_count_in_a_workload(folder: Path) -> None:
    only = [one for one in tomllib.loads(PLAN)["releases"] if one["name"] == "below"]
    one = check_plan(parse_plan(changed(releases=only), folder))
    three = check_plan(parse_plan(changed(releases=only, privacy={"user": "person", "most": 3}), folder))
    assert three.scales[0] == pytest.approx(3 * one.scales[0], rel=1e-5)
    run_plan(three.plan, folder / "out")
    assert float(rows(folder / "out" / "below.csv")[-1]["count"]) == pytest.approx(1500, abs=400)
    part = one.parts[0]
    assert isinstance(part, WorkloadPart)
    dropping = changed(releases=only, columns={"age": {"low": 0, "high": 64, "bins": 16, "missing": "drop"}})
    (other,) = check_plan(parse_plan(dropping, folder)).parts
    swap = Adjacency.REPLACE_ONE
    assert other.sensitivity(swap) >= max(part.sensitivity(swap), part.sensitivity(Adjacency.ADD_REMOVE))


MORE = """
[[releases]]
name = "variance"
kind = "variance"
column = "age"

[[releases]]
name = "towns"
kind = "heavy-hitters"
column = "town"
"""
TOTALS = {
    "people": 4,  # of each person's four records
    "ages": 4,
    "total": 256,
    "mean": 4,
    "quartiles": 4,
    "variance": 4,
}


def whole(**sections: Any) -> dict[str, Any]:
    """A plan with every kind of release."""
    plan = changed(**sections)
    plan["releases"] += tomllib.loads(MORE)["releases"]
    return plan


def test_the_quieter_noise_is_taken(folder: Path) -> None:
    def noise(count: int, **budget: Any) -> str:
        asked = [{"name": f"n{k}", "kind": "count"} for k in range(count)]
        plan = parse_plan(changed(releases=asked, budget=budget), folder)
        error = check_plan(plan).parts[0].error
        for other in ("laplace", "gaussian"):
            given = changed(releases=asked, budget={**budget, "noise": other})
            told = check_plan(parse_plan(given, folder))
            assert told.parts[0].terms.noise.value == other
            assert error(check_plan(plan).scales[0]) <= 1.2 * (told.parts[0].error(told.scales[0]) or 0)  # type: ignore[operator]
        return plan.terms.noise.value

    assert noise(1) == "laplace" and noise(30) == "gaussian"
    with pytest.raises(ArgumentError, match="laplace, where"):
        parse_plan(changed(budget={"delta": 0, "noise": "gaussian"}), folder)


def test_every_kind_is_tried() -> None:
    tests = "".join(path.read_text() for path in Path(__file__).parent.glob("test_plan*.py"))
    assert KINDS.keys() <= set(re.findall(r'kind"?(?: =|:) "([\w-]+)"', tests))


def test_only_the_kinds_of_a_plan_are_imported() -> None:
    content = {
        "data": {"csv": "a.csv"},
        "budget": {"epsilon": 1},
        "columns": {"x": {"low": 0, "high": 1, "bins": 4}},
        "releases": [{"name": "h", "kind": "histogram", "columns": ["x"]}],
    }
    asked = f"import sys; from indistinct.plans import parse_plan; parse_plan({content}); print(*sys.modules)"
    seen = subprocess.run([sys.executable, "-c", asked], capture_output=True, text=True, check=True).stdout
    assert "indistinct.plans.kinds.counts" in seen
    for other in ("indistinct.functions", "indistinct.synthesis", "indistinct.plans.kinds.workloads"):
        assert other not in seen


@pytest.mark.parametrize("totals", [False, True])
def test_heavy_hitters_variances_and_totals_of_users(folder: Path, totals: bool) -> None:
    given = whole(budget={"epsilon": 6})
    if totals:
        given["privacy"] = {"user": "person"}
        given["releases"] = [
            {**one, "user_total": TOTALS[one["name"]]} for one in given["releases"] if one["name"] in TOTALS
        ]
    plan, out = parse_plan(given, folder), folder / "out"
    checked = check_plan(plan)
    assert 6 * (1 - 1e-4) < checked.mechanism.guarantee().epsilon(delta=1e-6) <= 6
    run_plan(plan, out)
    ages = np.array([float(one["age"]) for one in rows(folder / "people.csv")])
    truths = {"people": 2000, "total": ages.sum(), "mean": ages.mean(), "variance": ages.var()}
    for name, truth in truths.items():
        (row,) = rows(out / f"{name}.csv")
        value, error, low, high = (float(number) for number in row.values())
        assert abs(value - truth) < TAIL * error and low <= value <= high, name
    if not totals:
        found = rows(out / "towns.csv")
        assert sorted(row["town"] for row in found) == ["Aarau", "Bern"]
        assert sum(float(row["count"]) for row in found) == pytest.approx(2000, abs=200)
        assert "shown are noisy counts of" in str(checked)


def test_totals_of_users_are_clipped(folder: Path) -> None:
    given = changed(privacy={"user": "person"}, budget={"epsilon": 50, "confirm": True}, releases=[])
    given["releases"] = [{"name": "people", "kind": "count", "user_total": 2.5}]
    checked = check_plan(parse_plan(given, folder))
    assert checked.parts[0].sensitivity(Adjacency.ADD_REMOVE) == 2.5
    run_plan(checked.plan, folder / "out")  # 500 people with four records each
    (row,) = rows(folder / "out" / "people.csv")
    assert abs(float(row["count"]) - 1250) < TAIL * float(row["standard_error"])


def test_the_report_says_who_is_protected(folder: Path) -> None:
    def page(number: int, **privacy: Any) -> str:
        given = changed(privacy=privacy, releases=[{"name": "people", "kind": "count"}])
        if "most" not in privacy and privacy:
            given["releases"][0]["user_total"] = 4
        given["ledger"] = False
        return run_plan(parse_plan(given, folder), folder / f"out{number}").read_text()

    records, users, totals = page(0), page(1, user="person", most=3), page(2, user="person")
    assert "about one record" in records and "one person&#x27;s record" in records and "user" not in records
    for text in (users, totals):
        assert "about one user" in text and "all records of one user (one value of person)" in text
        assert "person&#x27;s record" not in text and "one given user&#x27;s records were used" in text
        assert "the record " not in text
    assert "up to 3 of which take part in each release" in users
    assert "up to" not in totals.split("In words")[0]
    assert "the total of each user is clipped" in totals


def test_a_page_has_pictures(folder: Path) -> None:
    given = whole(budget={"epsilon": 20, "noise": "gaussian"})  # composes in closed form
    given["releases"].append(
        {"name": "crossed", "kind": "marginals", "columns": ["age", "town"], "ways": 2, "weight": 2}
    )
    page = run_plan(parse_plan(given, folder), folder / "out").read_text()
    sections = dict(re.findall(r'<section id="(\w+)">(.*?)</section>', page, re.DOTALL))
    drawn = {name for name, text in sections.items() if "<svg" in text}
    assert drawn == {"ages", "below", "between", "tables", "towns", "crossed", "quartiles"}
    assert {name for name in drawn if 'class="heat"' in sections[name]} == {"ages", "between", "crossed"}
    assert sections["tables"].count("<svg") == 2 and sections["people"].count("<table>") == 1
    ids = re.findall(r' id="([^"]*)"', page)
    assert len(set(ids)) == len(ids)
    # between the edges 0 and 64 lies everything: the darkest of the ranges is about all records
    darkest = float(re.findall(r"the darkest is ([\d,.]+) records", sections["between"])[0].replace(",", ""))
    assert darkest == pytest.approx(2000, abs=300)


def test_pictures_show_the_right_ranges() -> None:
    bins = Bins(0, 200, 200)
    starts, stops = np.triu_indices(201, 1)
    header = ["age_low", "age_high", "count", "standard_error", "low", "high"]
    listed = [["", "", str(1000 * i + j), "0.1", "0", "1"] for i, j in zip(starts, stops, strict=True)]
    (chart,) = ranges_picture("a", "age", bins, [header, *listed])
    # every fourth edge: 50 starts, of which the first has 50 ends; the largest is 196 up to 200
    cells = chart.count('class="heat"') - 4  # the legend has four
    assert cells == 50 * 51 // 2 and "the darkest is 196,200.00 records" in chart
    assert not ranges_picture("a", "age", Bins(0, 1, 1), [header, ["0", "1", "5", "1", "3", "7"]])


def test_matrix_mechanisms_are_saved_in_compositions() -> None:
    line = MatrixMechanism(Prefix(8), optimise(Prefix(8)).strategy, 2.0)
    table = MatrixMechanism(Marginals((2, 3), ways=1), IdentityStrategy(6), 3.0, Noise.LAPLACE)
    plan = 3 * line + Count().laplace(2.0) + table.group(2) + line.subsample(0.1)
    assert from_json(json.loads(json.dumps(plan.to_json()))) == plan
    deep: Any = {"workload": "prefix", "cells": 3}
    for _ in range(500):
        deep = {"workload": "kronecker", "factors": [deep]}
    for bad in ({"mechanism": "matrix"}, {**line.to_json(), "workload": deep}):
        with pytest.raises(ArgumentError):
            from_json({"mechanism": "composed", "parts": [bad]})


def test_a_release_is_as_accounted(folder: Path) -> None:
    checked = check_plan(parse_plan(tomllib.loads(PLAN), folder))
    for part, scale in zip(checked.parts, checked.scales, strict=True):
        if isinstance(part, WorkloadPart):
            mechanism = part.at(scale)
            drawn = mechanism.matrix.release(mechanism.read(checked.table)).guarantee().epsilon(1e-6)
            assert drawn == pytest.approx(mechanism.guarantee().epsilon(1e-6), rel=1e-9)
            by_user = Histogram(dict(mechanism.query.axes), UserRecords("person", 3))
            users = replace(mechanism, query=by_user).release(checked.table)
            assert users.guarantee().epsilon(1e-6) > 2.9 * drawn  # not that of one record


def test_a_check_reads_nothing_and_writes_nothing(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    before = sorted(os.listdir(folder))
    monkeypatch.setattr("indistinct.data.engines.csv_lines.CsvTable._cells", None)
    assert main(["check", "plan.toml"]) == 0
    text = capsys.readouterr().out
    assert text.count("expected error") == 8 and "epsilon 2 at delta 1e-6" in text
    assert sorted(os.listdir(folder)) == before


BAD_DATA = {
    "outside": ({"ages": {7: "99"}}, {}, "age"),
    "missing": ({"ages": {7: ""}}, {}, "age"),
    "nan": ({"ages": {7: "nan"}}, {}, "age"),
    "unknown user": ({}, {"user": "people", "most": 2}, "unknown column 'people'"),
    "unlisted": ({"towns": {7: "Chur"}}, {}, "'town' has values outside its declared domain"),
}


@pytest.mark.parametrize("case", BAD_DATA)
def test_bad_data_charge_nothing(folder: Path, case: str) -> None:
    data, privacy, words = BAD_DATA[case]
    people(folder / "people.csv", **data)
    given = changed(privacy=privacy)
    for column in given["columns"].values():
        column |= {"outside": "error", "missing": "error"}
    with pytest.raises(DataError, match=words):
        run_plan(parse_plan(given, folder), folder / "out")
    assert not (folder / "out").exists() or os.listdir(folder / "out") == [".lock"]


def test_an_unknown_column_charges_nothing(folder: Path) -> None:
    wages = changed(columns={"wage": {"low": 0, "high": 1}})
    wages["releases"].append({"name": "wages", "kind": "sum", "column": "wage"})
    words = changed()
    words["releases"].append({"name": "words", "kind": "heavy-hitters", "column": "word"})
    for given in (wages, words):
        with pytest.raises(DataError, match="unknown column 'w"):
            run_plan(parse_plan(given, folder), folder / "out")
    assert not (folder / "out").exists()


def test_a_file_that_changes_while_it_is_read(folder: Path) -> None:
    def touch(line: str) -> None:
        if line.startswith("reading 3/"):
            people(folder / "people.csv", 1999)

    with pytest.raises(SourceChanged, match=r"people\.csv"):
        run_plan(read_plan(folder / "plan.toml"), folder / "out", touch)
    assert os.listdir(folder / "out") == [".lock"]


BAD_PLANS: dict[str, tuple[dict[str, Any], str]] = {
    "unknown section": ({"budgets": {}}, "'budgets'"),
    "unknown key": ({"budget": {"epsilonn": 1}}, "'epsilonn'"),
    "no epsilon": ({"budget": {"epsilon": "1"}}, "budget.epsilon must be a positive finite number, got '1'"),
    "large delta": ({"budget": {"delta": 0.5}}, "budget.delta"),
    "split": ({"budget": {"split": "best"}}, "budget.split must be one of weights, worst-relative-error"),
    "no source": ({"data": {"parquet": "x"}}, "one of csv, parquet or sql, got 'csv, parquet'"),
    "adjacency": ({"privacy": {"adjacency": "both"}}, "privacy.adjacency must be 'add-remove' or"),
    "half a user": ({"privacy": {"user": "person"}}, "privacy.most must be given for releases.ages"),
    "no user": ({"privacy": {"most": 2}}, "privacy.most must be given together with privacy.user, got 2"),
    "total of nobody": ({"releases": [{"name": "a", "kind": "count", "user_total": 3}]}, "no privacy.user"),
    "total too fine": (
        {
            "privacy": {"user": "person"},
            "releases": [{"name": "a", "kind": "count", "user_total": 1e-9}],
        },
        "releases.a.user_total must be between",
    ),
    "total of ranges": (
        {"releases": [{"name": "a", "kind": "ranges", "column": "age", "user_total": 3}]},
        "made of by, column, kind, name, size, weight, got 'user_total'",
    ),
    "hitters for certain": (
        {"budget": {"delta": 0}, "releases": [{"name": "a", "kind": "heavy-hitters", "column": "town"}]},
        "budget.delta must be positive for releases.a",
    ),
    "hitters' share": (
        {"releases": [{"name": "a", "kind": "heavy-hitters", "column": "town", "delta": 1e-5}]},
        "releases.a.delta must be positive, and below budget.delta=1e-06",
    ),
    "hitters replaced": (
        {
            "privacy": {"adjacency": "replace-one"},
            "releases": [{"name": "a", "kind": "heavy-hitters", "column": "town"}],
        },
        "privacy.adjacency must be add-remove for releases.a",
    ),
    "hitters of a crowd": (
        {
            "privacy": {"user": "person", "most": 1000},
            "releases": [{"name": "a", "kind": "heavy-hitters", "column": "town"}],
        },
        "releases.a.unit must be .* at most 100 records",
    ),
    "domain": ({"columns": {"age": {"low": 9, "high": 3}}}, "columns.age.high must be .* low=9.*, got 3"),
    "both domains": ({"columns": {"age": {"low": 9, "categories": ["a"]}}}, "not both"),
    "policy": ({"columns": {"age": {"low": 0, "high": 1, "missing": "zero"}}}, "columns.age.missing must"),
    "no releases": ({"releases": []}, "releases must be a list"),
    "kind": ({"releases": [{"name": "a", "kind": "median"}]}, "releases.a.kind must be one of histogram"),
    "name": ({"releases": [{"name": "../a", "kind": "count"}]}, r"releases\[1\].name"),
    "reserved": ({"releases": [{"name": "report", "kind": "count"}]}, "not guarantee"),
    "twice": ({"releases": [{"name": n, "kind": "count"} for n in "aA"]}, "a different one"),
    "stray key": ({"releases": [{"name": "a", "kind": "count", "column": "age"}]}, "'column'"),
    "undeclared": (
        {"releases": [{"name": "a", "kind": "sum", "column": "wage"}]},
        "declared in a section .*got 'wage'",
    ),
    "sum of words": ({"releases": [{"name": "a", "kind": "sum", "column": "town"}]}, "low and high"),
    "ways": (
        {"releases": [{"name": "a", "kind": "marginals", "columns": ["age"], "ways": 2}]},
        "a.ways must be at most 1",
    ),
    "no interval": (
        {"releases": [{"name": "a", "kind": "quantiles", "column": "age", "ranks": [0.5], "interval": "no"}]},
        "a.interval must be true or false, got 'no'",
    ),
    "nothing private": (
        {
            "privacy": {"adjacency": "replace-one"},
            "columns": {"age": {"low": 1, "high": 1, "missing": "error"}},
            "releases": [{"name": "a", "kind": "sum", "column": "age"}],
        },
        "releases.a must be something that depends on the records",
    ),
    "tiny budget": ({"budget": {"epsilon": 1e-4}}, "budget.epsilon must be larger: the error of releases"),
}


@pytest.mark.parametrize("case", BAD_PLANS)
def test_a_bad_plan_is_refused_by_name(folder: Path, case: str) -> None:
    sections, words = BAD_PLANS[case]
    with pytest.raises(ArgumentError, match=words):
        check_plan(parse_plan(changed(**sections), folder))


def test_an_unreachable_budget_is_refused(folder: Path) -> None:
    plan = changed(budget={"epsilon": 1e-300, "delta": 0}, data={})
    del plan["data"]["records"]
    with pytest.raises(TargetError, match="budget"):
        check_plan(parse_plan(plan, folder))


def test_messages_of_the_command_are_one_line(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    unknown = PLAN.replace('"age"', '"wage"').replace("columns.age", "columns.wage")
    for text in (unknown, "[data", PLAN + "x=1"):
        (folder / "plan.toml").write_text(text)
        assert main(["run", str(folder / "plan.toml"), "--out", str(folder / "out")]) == 2
        assert capsys.readouterr().err.count("\n") == 1
    assert main(["run", str(folder / "nowhere.toml")]) == 2
    assert not (folder / "out").exists()


KILLED = """
import os, signal, sys
from indistinct.plans import read_plan, run_plan
def say(line):
    if line.startswith(sys.argv[3]):
        os.kill(os.getpid(), signal.SIGKILL)
run_plan(read_plan(sys.argv[1]), sys.argv[2], say)
"""


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="no SIGKILL on this system")
@pytest.mark.parametrize(("moment", "done"), [("reading 2/", 0), ("charged", 0), ("released 3/", 3)])
def test_a_killed_run_is_finished_and_draws_nothing_twice(folder: Path, moment: str, done: int) -> None:
    plan, out = folder / "plan.toml", folder / "out"
    killed = subprocess.run([sys.executable, "-c", KILLED, plan, out, moment], check=False)
    assert killed.returncode == -signal.SIGKILL
    before = {name: (out / f"{name}.csv").read_bytes() for name in FILES[:done]}
    assert sorted(p.name for p in out.glob("*.csv")) == sorted(f"{name}.csv" for name in before)
    with Ledger.open(folder / LEDGER) as ledger:
        (spend,) = ledger.account("people.csv").spends()
        assert spend.state == ("reserved" if moment == "reading 2/" else "charged")
    for name in ("out", "elsewhere"):  # finished wherever it is run, with the noise it was begun with
        said: list[str] = []
        run_plan(read_plan(plan), folder / name, said.append)
        assert sum(line.startswith("released") for line in said) == (8 if name == "out" else 0)
        assert sum(line.startswith("charged") for line in said) == (moment == "reading 2/" and name == "out")
        for one, content in before.items():
            assert (folder / name / f"{one}.csv").read_bytes() == content
    with Ledger.open(folder / LEDGER) as ledger:
        (spend,) = ledger.account("people.csv").spends()
        assert spend.state == "complete" and ledger.book.secret("people.csv", spend.key) is None


def test_a_torn_file_is_thrown_away(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plan, out = folder / "plan.toml", folder / "out"
    killed = subprocess.run([sys.executable, "-c", KILLED, plan, out, "released 1/"], check=False)
    assert killed.returncode
    (out / "people.csv.partial").write_text("count,standard_er")
    (out / "guarantee.json.partial").write_text("{")
    monkeypatch.chdir(folder)  # and from elsewhere
    run_plan(read_plan("plan.toml"), "out")
    assert not list(out.glob("*.partial")) and len(rows(out / "people.csv")) == 1


def test_a_finished_run_stays_as_it_is(folder: Path) -> None:
    plan, out = read_plan(folder / "plan.toml"), folder / "out"
    run_plan(plan, out)
    before = {path.name: path.read_bytes() for path in out.iterdir()}
    (folder / "plan.toml").write_text("# a comment\n" + PLAN)
    run_plan(read_plan(folder / "plan.toml"), out)
    assert {path.name: path.read_bytes() for path in out.iterdir()} == before
    with pytest.raises(ArgumentError, match="knows of no such release"):
        run_plan(parse_plan(changed(budget={"epsilon": 1}), folder), out)
    (out / "total.csv").unlink()
    run_plan(plan, out)
    assert (out / "total.csv").read_bytes() == before["total.csv"]
    people(folder / "people.csv", 1999)
    with pytest.raises(ArgumentError, match="knows of no such release of these data"):
        run_plan(plan, out)
    for file in (
        plan,
        parse_plan(changed(budget={"epsilon": 1}), folder),
    ):  # the account is that of the place
        with pytest.raises(Refused, match="left of epsilon 2 at delta 1e-06"):
            run_plan(file, folder / "other")


def test_two_runs_at_once_are_refused(folder: Path) -> None:
    pytest.importorskip("fcntl")
    plan, out = read_plan(folder / "plan.toml"), folder / "out"

    def again(line: str) -> None:
        if line.startswith("released 2/"):
            with pytest.raises(ArgumentError, match="no other run"):
                run_plan(plan, out)

    run_plan(plan, out, again)


def test_results_of_someone_else_are_not_overwritten(folder: Path) -> None:
    out = folder / "out"
    out.mkdir()
    (out / "mean.csv").write_text("mine")
    with pytest.raises(ArgumentError, match=r"without mean\.csv"):
        run_plan(read_plan(folder / "plan.toml"), out)


def test_sql_and_parquet_give_the_same_plan(folder: Path) -> None:
    import duckdb

    with duckdb.connect(str(folder / "people.db")) as connection:
        file = folder / "people.csv"
        connection.execute(f"CREATE TABLE people AS SELECT * FROM read_csv('{file}')")
        connection.execute(f"COPY people TO '{folder / 'people.parquet'}' (FORMAT parquet)")
    sources = ({"parquet": "people.*uet"}, {"sql": "SELECT age, town FROM people", "database": "people.db"})
    for place, source in enumerate(sources):
        given = changed()
        given["data"] = source
        report = run_plan(parse_plan(given, folder), folder / f"out{place}")
        assert report.exists()
