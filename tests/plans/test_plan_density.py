"""Densities in plans: the accounted noise is what is drawn, results follow from what was released."""

import json
import math
from pathlib import Path

import numpy as np
import pytest

from indistinct import Adjacency, ArgumentError, Gaussian
from indistinct.functions.function import FunctionNoise
from indistinct.noise import SystemSource
from indistinct.plans import check_plan, parse_plan, run_plan
from indistinct.plans.kinds.density import DensityPart

pytestmark = pytest.mark.usefixtures("told_once")


def plan(folder: Path, columns: list[str], **more: object) -> dict[str, object]:
    draw = np.random.default_rng(0)
    places = np.clip(draw.normal(0.4, 0.1, size=(4000, 2)), 0, 1)
    path = folder / "places.csv"
    path.write_text("x,y\n" + "\n".join(f"{x},{y}" for x, y in places.tolist()) + "\n")
    return {
        "data": {"csv": "places.csv", "records": 4000},
        "budget": {"epsilon": 1.0, "delta": 1e-6},
        "columns": {"x": {"low": 0, "high": 1}, "y": {"low": 0, "high": 1}},
        "releases": [{"name": "map", "kind": "density", "columns": columns, **more}],
    }


@pytest.mark.parametrize("columns", [["x"], ["x", "y"]], ids=len)
def test_a_density_is_released_and_adds_up_to_one(tmp_path: Path, columns: list[str]) -> None:
    parsed = parse_plan(plan(tmp_path, columns, grid=32), tmp_path)
    report = run_plan(parsed, tmp_path / "out")
    lines = (tmp_path / "out" / "map.csv").read_text().splitlines()
    density = np.array([float(line.split(",")[-1]) for line in lines[1:]])
    assert len(density) == 32 ** len(columns) and (density > 0).all()
    assert density.mean() == pytest.approx(1, abs=0.02)
    peak = (np.argmax(density.reshape((32,) * len(columns))) // 32 ** (len(columns) - 1) + 0.5) / 32
    assert peak == pytest.approx(0.4, abs=0.12)
    page = report.read_text()
    assert "<svg" in page and "density" in page
    charge = json.loads((tmp_path / "out" / "guarantee.json").read_text())
    assert charge["epsilon"] <= 1 and charge["epsilon"] == pytest.approx(1, abs=1e-4)
    drawn = (tmp_path / "out" / "map.coefficients.csv").read_bytes()
    (tmp_path / "out" / "map.csv").unlink()
    (tmp_path / "out" / "map.parquet").unlink()
    run_plan(parsed, tmp_path / "out")  # the result is made again from what was drawn, and nothing is drawn
    assert (tmp_path / "out" / "map.coefficients.csv").read_bytes() == drawn


def test_each_group_has_its_density(tmp_path: Path) -> None:
    content = plan(tmp_path, ["x"], grid=32, by=["side"])
    draw = np.random.default_rng(0)
    sides = [("left", 0.3), ("right", 0.7)] * 2000
    lines = [f"{np.clip(draw.normal(middle, 0.1), 0, 1)},{name}" for name, middle in sides]
    (tmp_path / "places.csv").write_text("x,side\n" + "\n".join(lines) + "\n")
    content["columns"] = {"x": {"low": 0, "high": 1}, "side": {"categories": ["left", "right"]}}
    run_plan(parse_plan(content, tmp_path), tmp_path / "out")
    rows = [line.split(",") for line in (tmp_path / "out" / "map.csv").read_text().splitlines()[1:]]
    assert [row[0] for row in rows] == ["left"] * 32 + ["right"] * 32
    left, right = np.array([float(row[-1]) for row in rows]).reshape(2, 32)
    assert left.mean() == pytest.approx(1, abs=0.02) and right.mean() == pytest.approx(1, abs=0.02)
    assert np.argmax(left) / 32 == pytest.approx(0.3, abs=0.12)
    assert np.argmax(right) / 32 == pytest.approx(0.7, abs=0.12)
    # One who moves to the other side moves both densities, by √2 in all.
    part = parse_plan(content, tmp_path).parts[0]
    assert isinstance(part, DensityPart)
    moved, alone = part.at(10.0), part.basis(10.0).noise(10.0, copies=1, records=part.records)
    assert moved.added == alone.added and moved.replaced >= 2**0.5 * moved.added


@pytest.mark.parametrize("adjacency", ["add-remove", "replace-one"])
def test_what_is_calibrated_is_what_is_drawn(tmp_path: Path, adjacency: str) -> None:
    content = {**plan(tmp_path, ["x", "y"]), "privacy": {"adjacency": adjacency}}
    checked = check_plan(parse_plan(content, tmp_path))
    (part,), (scale,) = checked.parts, checked.scales
    mechanism = part.at(scale)
    assert isinstance(mechanism, FunctionNoise) and isinstance(part, DensityPart)
    kind = Adjacency.ADD_REMOVE if adjacency == "add-remove" else Adjacency.REPLACE_ONE
    assert mechanism.guarantee(kind).epsilon(1e-6) == pytest.approx(1, abs=1e-6)
    exact = Gaussian(scale, part.basis(scale).sensitivity(kind)).guarantee(kind).epsilon(1e-6)
    assert exact <= mechanism.guarantee(kind).epsilon(1e-6) <= exact * (1 + 1e-4)
    (released,) = part.functions(scale, checked.table, SystemSource())
    assert released.guarantee(kind).epsilon(1e-6) == pytest.approx(mechanism.guarantee(kind).epsilon(1e-6))
    assert math.isfinite(released([[0.4, 0.4]])[0])
    assert mechanism.to_json()["scale"] == scale


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"budget": {"epsilon": 1.0}}, "budget.delta"),
        ({"data": {"csv": "places.csv"}}, "data.records"),
        ({"releases": [{"name": "m", "kind": "density", "columns": ["x", "y", "z"]}]}, "releases.m.columns"),
        ({"releases": [{"name": "m", "kind": "density", "columns": ["x"], "bandwidth": 3}]}, "bandwidth"),
        ({"releases": [{"name": "m", "kind": "density", "columns": ["z"]}]}, "column"),
        ({"releases": [{"name": "m", "kind": "density", "columns": ["x"], "grid": 0}]}, "grid"),
        ({"columns": {"x": {"categories": ["a"]}, "y": {"low": 0, "high": 1}}}, "columns.x"),
    ],
)
def test_bad_plans_are_named(tmp_path: Path, change: dict[str, object], words: str) -> None:
    with pytest.raises(ArgumentError, match=words):
        parse_plan({**plan(tmp_path, ["x", "y"]), **change}, tmp_path)


def test_more_records_than_are_allowed_for_are_refused_before_the_charge(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("indistinct.functions.fourier._FREE_RECORDS", 10)
    content = {**plan(tmp_path, ["x"]), "data": {"csv": "places.csv", "records": 100}}
    with pytest.raises(ArgumentError, match="records"):
        run_plan(parse_plan(content, tmp_path), tmp_path / "out")
    assert not (tmp_path / "out" / "guarantee.json").exists()
