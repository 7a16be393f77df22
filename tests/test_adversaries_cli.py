"""Adversaries of limited capacity on the command line and in reports."""

import json
from pathlib import Path

import pytest

from indistinct import Laplace, Linear, PiecewiseLinear, Polynomial
from indistinct.cli import main
from indistinct.report import explain


def test_explain_against_a_class(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", "laplace(2)", "--against", "linear"]) == 0
    printed = capsys.readouterr().out
    assert "Someone who applies nothing but linear functions to the release" in printed
    assert "Rényi divergence of order 4 against linear functions" in printed
    assert "Rows with the word against" in printed
    assert main(["explain", "laplace(2)"]) == 0
    assert "against" not in capsys.readouterr().out


@pytest.mark.parametrize(
    ("word", "adversary"),
    [
        ("linear", Linear()),
        ("quadratic", Polynomial(2)),
        ("cubic", Polynomial(3)),
        ("polynomial(4)", Polynomial(4)),
    ],
)
def test_as_data(word: str, adversary, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", "gaussian(2)", "--against", word, "--json"]) == 0
    data = json.loads(capsys.readouterr().out)["against"]
    assert data["adversary"] == adversary.words and data["every_neighbour"]
    assert all(entry["at_least"] <= entry["divergence"] for entry in data["renyi"])
    assert main(["explain", "gaussian(2)", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["against"] is None


def test_compositions_must_be_fixed_beforehand(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", "2 * gaussian(2)", "--against", "linear"]) == 2
    assert "--non-adaptive" in capsys.readouterr().err
    assert main(["explain", "2 * gaussian(2)", "--against", "linear", "--non-adaptive"]) == 0
    assert "chosen beforehand" in " ".join(capsys.readouterr().out.split())
    assert main(["explain", "2 * gaussian(2)", "--against", "everyone"]) == 0
    assert "all functions" in capsys.readouterr().out


@pytest.mark.parametrize("word", ["magic", "polynomial(0)", "polynomial(99)", "polynomial", "Linear()"])
def test_unknown_classes_are_one_line(word: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", "laplace(2)", "--against", word]) == 2
    assert capsys.readouterr().err.count("\n") == 1


def test_calibrate_against_a_class(capsys: pytest.CaptureFixture[str]) -> None:
    asked = ["calibrate", "laplace(SCALE)", "--renyi", "0.1", "--order", "3", "--json"]
    assert main(asked) == 0
    whole = json.loads(capsys.readouterr().out)["found"]["scale"]
    assert main([*asked, "--against", "linear"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["found"]["scale"] == pytest.approx(2.4544, rel=1e-4) and whole > 3.5
    assert main(["calibrate", "laplace(SCALE)", "--epsilon", "1", "--against", "linear"]) == 2


def test_reports_say_for_whom(tmp_path: Path) -> None:
    report = explain(Laplace(2), against=PiecewiseLinear([0, 0.5]))
    assert "between the two outputs furthest apart" in " ".join(str(report).split())
    assert "piecewise linear functions with 2 knots" in report.html(tmp_path / "page.html")
    with pytest.raises(ValueError, match="against must be"):
        explain(Laplace(2), against="linear")  # type: ignore[arg-type]
