"""Synthetic tables as a plan asks for them: what is written, what is refused, what survives a crash."""

import copy
import csv
import json
import os
import sys
import tomllib
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from indistinct import ArgumentError
from indistinct.cli import main
from indistinct.data import NoisyQuery
from indistinct.errors import DataError, TargetError
from indistinct.plans import check_plan, parse_plan, run_plan
from indistinct.plans.kinds.synthetic import SyntheticPart
from indistinct.synthesis.tables import TableSynthesizer

pytest.importorskip("duckdb")
pytest.importorskip("torch")
pytestmark = pytest.mark.usefixtures("small_model", "told_once")

PLAN = """
[data]
csv = "people.csv"
records = 3000

[budget]
epsilon = 4.0
delta = 1e-6

[columns.age]
edges = [0, 18, 40, 65, 120]
whole = true
outside = "error"

[columns.job]
categories = ["none", "some"]
missing = "keep"

[columns.pay]
low = 0
high = 8
bins = 4

[columns.kids]
categories = [0, 1, 2]
missing = "keep"

[columns.smokes]
categories = [true, false]

[[releases]]
name = "people"
kind = "synthetic"
columns = ["age", "job", "pay", "kids", "smokes"]
label = "smokes"

[[releases]]
name = "number"
kind = "count"
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write(tmp_path)
    return tmp_path


def write(folder: Path, **changes: str) -> None:
    """Older people have jobs and smoke; a tenth of the jobs and a fifth of the children are not known."""
    draw = np.random.default_rng(1)
    with open(folder / "people.csv", "w", newline="") as file:
        out = csv.writer(file)
        out.writerow(["person", "age", "job", "pay", "kids", "smokes"])
        for place in range(3000):
            age = int(draw.integers(0, 121))
            job = "" if draw.random() < 0.1 else "some" if age > 40 else "none"
            kids = "" if draw.random() < 0.2 else str(draw.integers(0, 3))
            row = {"person": place // 2, "age": age, "job": job, "pay": 8 * draw.random(), "kids": kids}
            row["smokes"] = "true" if age >= 65 else "false"
            out.writerow({**row, **(changes if place == 7 else {})}.values())


def plan(folder: Path, **sections: Any) -> Any:
    given = copy.deepcopy(tomllib.loads(PLAN))
    for name, change in sections.items():
        if name == "release":
            given["releases"][0] = {
                key: value for key, value in {**given["releases"][0], **change}.items() if value is not None
            }
        else:
            given[name] = {**given.get(name, {}), **change}
    return parse_plan(given, folder)


def test_a_synthetic_table_is_written(folder: Path) -> None:
    pd = pytest.importorskip("pandas")
    said: list[str] = []
    report = run_plan(plan(folder), folder / "out", said.append)
    assert sum(line.startswith("fitting people") for line in said) == 10
    from_csv = pd.read_csv(folder / "out" / "people.csv")
    from_parquet = pd.read_parquet(folder / "out" / "people.parquet")
    for frame in (from_csv, from_parquet):
        assert list(frame.columns) == ["age", "job", "pay", "kids", "smokes"] and len(frame) == 3000
        kinds = [kind.kind for kind in frame.dtypes.drop("job")]
        assert kinds == ["i", "f", "f", "b"] and pd.api.types.is_string_dtype(frame["job"])
        assert set(frame["job"].dropna()) == {"none", "some"} and set(frame["kids"].dropna()) == {0, 1, 2}
        assert frame["job"].isna().mean() == pytest.approx(0.1, abs=0.03)
        assert frame["kids"].isna().mean() == pytest.approx(0.2, abs=0.04)
        assert frame["age"].between(0, 120).all() and frame["pay"].between(0, 8).all()
        assert frame["smokes"].mean() == pytest.approx(56 / 121, abs=0.05)
        assert np.corrcoef(frame["age"], frame["smokes"])[0, 1] > 0.6
    page = report.read_text()
    assert page.count('class="dot"') >= 4 + 3 + 4 + 4 and "Dots: synthetic rows" in page
    charge = json.loads((folder / "out" / "guarantee.json").read_text())
    assert 4 * (1 - 1e-4) < charge["epsilon"] <= 4


def test_the_noise_is_said_beforehand(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    checked = check_plan(plan(folder))
    part, scale = checked.parts[0], checked.scales[0]
    assert isinstance(part, SyntheticPart) and part.error(scale) == pytest.approx(scale, rel=1e-3)
    assert f"expected error {scale:.4g} records in each count" in str(checked)
    assert "3000 rows are drawn from a model that is fitted to 10 tables" in str(checked)
    users = check_plan(plan(folder, privacy={"user": "person", "most": 2}))
    assert users.scales[0] == pytest.approx(2 * scale, rel=1e-3)
    (folder / "plan.toml").write_text(PLAN)
    assert main(["check", str(folder / "plan.toml")]) == 0
    assert "people: synthetic of age, job, pay, kids, smokes" in capsys.readouterr().out


def test_a_crash_after_the_noise_spends_nothing_twice(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def crash(*_: Any, **__: Any) -> None:
        raise MemoryError

    out = folder / "out"
    with monkeypatch.context() as broken:
        broken.setattr(TableSynthesizer, "mixture", crash)
        with pytest.raises(MemoryError):
            run_plan(plan(folder), out)
    assert not (out / "guarantee.json").exists()
    counts = (out / "people.counts.csv").read_bytes()
    assert not (out / "people.csv").exists()
    monkeypatch.setattr(NoisyQuery, "release", crash)  # from here on nothing may be drawn
    run_plan(plan(folder), out)
    rows = (out / "people.csv").read_bytes()
    assert (out / "people.counts.csv").read_bytes() == counts
    (out / "people.csv").unlink()  # what follows from the release is made again, the same
    run_plan(plan(folder), out)
    assert (out / "people.csv").read_bytes() == rows
    (out / "people.counts.csv").unlink()
    run_plan(plan(folder), out)
    assert (out / "people.counts.csv").read_bytes() == counts


def test_foreign_files_are_not_taken_for_results(folder: Path) -> None:
    for name in ("people.csv", "people.counts.csv"):
        out = folder / f"with-{name}"
        out.mkdir()
        (out / name).write_text("a,b\n1,2\n")
        with pytest.raises(ArgumentError, match=f"a folder without {name}"):
            run_plan(plan(folder), out)
        assert not (out / "guarantee.json").exists()


def test_without_torch_nothing_is_charged(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    (folder / "plan.toml").write_text(PLAN)
    assert main(["run", str(folder / "plan.toml"), "--out", str(folder / "out")]) == 2
    message = capsys.readouterr().err
    assert "releases.people needs PyTorch" in message and 'pip install "indistinct[synthesis]"' in message
    assert not (folder / "out").exists()


@pytest.mark.parametrize(
    ("column", "value", "words"),
    [
        ("age", "130", "'age' has values outside"),
    ],
)
def test_bad_data_charge_nothing(folder: Path, column: str, value: str, words: str) -> None:
    write(folder, **{column: value})
    with pytest.raises(DataError, match=words):
        run_plan(plan(folder), folder / "out")
    assert not (folder / "out").exists() or os.listdir(folder / "out") == [".lock"]


AGE = {"age": {"low": 0, "high": 120}}


@pytest.mark.parametrize(
    ("sections", "words"),
    [
        ({"budget": {"delta": 0}}, r"budget\.delta must be positive for releases\.people"),
        ({"release": {"columns": ["age", "wage"]}}, "declared in a section"),
        ({"release": {"columns": ["smokes"]}}, "at least one column beside the label"),
        ({"release": {"label": "kids"}, "columns": {"kids": {"categories": [0, 0]}}}, r"columns\.kids"),
        ({"release": {"label": "town"}}, r"releases\.people\.label"),
        ({"release": {"rows": 0}}, r"releases\.people\.rows"),
        ({"release": {"rows": 10**8}}, r"releases\.people\.rows"),
        ({"release": {"user_total": 3}}, r"releases\.people must be made of"),
        ({"columns": AGE}, r"columns\.age\.bins must be given, or edges instead"),
        ({"columns": {"age": {"edges": [0]}}}, r"columns\.age\.edges"),
        ({"columns": {"age": {"edges": [0, 5, 5]}}}, r"columns\.age\.edges"),
        ({"columns": {"age": {"edges": [0, 5], "bins": 2}}}, r"columns\.age must be edges, or low"),
        ({"columns": {"age": {"edges": [0, 5], "whole": "yes"}}}, r"columns\.age\.whole"),
        ({"columns": {"age": {"edges": [0.1, 0.2, 5], "whole": True}}}, "a whole number"),
        ({"columns": {"job": {"categories": ["", "some"]}}}, r"columns\.job\.categories"),
        ({"columns": {"job": {"categories": ["some"], "missing": "kept"}}}, r"columns\.job\.missing"),
        ({"data": {"csv": "people.csv"}, "release": {"rows": None}}, None),
    ],
)
def test_bad_plans_are_refused(folder: Path, sections: dict[str, Any], words: str | None) -> None:
    if words is None:
        given = tomllib.loads(PLAN)
        del given["data"]["records"]
        with pytest.raises(ArgumentError, match=r"releases\.people\.rows must be given, or data\.records"):
            parse_plan(given, folder)
        return
    with pytest.raises(ArgumentError, match=words):
        plan(folder, **sections)


def test_other_kinds_keep_no_missing_values(folder: Path) -> None:
    given = tomllib.loads(PLAN)
    given["releases"][1] = {"name": "jobs", "kind": "histogram", "columns": ["job"]}
    with pytest.raises(ArgumentError, match=r"columns\.job\.missing must be error or drop"):
        parse_plan(given, folder)
    given["releases"][1] = {"name": "ages", "kind": "mean", "column": "age"}
    assert check_plan(parse_plan(given, folder)).parts[1].size == 120


def test_a_budget_that_drowns_everything_is_refused(folder: Path) -> None:
    with pytest.raises(TargetError, match="more than its size"):
        check_plan(plan(folder, budget={"epsilon": 1e-3}))
