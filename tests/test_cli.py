"""The command line: what it prints, what it refuses, and that all of it is documented."""

import argparse
import ast
import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any, NoReturn

import pytest

import indistinct
from indistinct.cli import main, parser

ROOT = Path(__file__).parent.parent
RUN = "14062 * gaussian(1.1).subsample(0.004267)"


def strict(text: str) -> Any:
    def refuse(token: str) -> NoReturn:
        raise AssertionError(f"{token} is not JSON")

    return json.loads(text, parse_constant=refuse)


def run_json(capsys: pytest.CaptureFixture[str], *arguments: str) -> Any:
    assert main([*arguments, "--json"]) == 0
    return strict(capsys.readouterr().out)


def commands() -> dict[str, argparse.ArgumentParser]:
    (actions,) = [a for a in parser()._actions if isinstance(a, argparse._SubParsersAction)]
    return dict(actions.choices)


def test_explain_says_it_in_words(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", RUN, "--delta", "1e-5"]) == 0
    text = capsys.readouterr().out
    assert "will still miss at least 85.7 %" in " ".join(text.split())
    assert "2.3819" in text and "add/remove" in text and "Poisson" in text


def test_explain_json(capsys: pytest.CaptureFixture[str]) -> None:
    data = run_json(capsys, "explain", RUN, "--epsilon", "1")
    assert data["epsilon"]["epsilon"] == pytest.approx(2.381805, rel=1e-6)
    assert data["delta"]["delta"] == pytest.approx(0.015534, rel=1e-4)
    assert data["pure"] == "infinity"
    assert indistinct.from_json(data["mechanism"]) == indistinct.parse(RUN)


def test_adjacency_follows_the_sampling_unless_told(capsys: pytest.CaptureFixture[str]) -> None:
    fixed = "gaussian(2, sensitivity=2).subsample(10, of=1000)"
    assert run_json(capsys, "explain", fixed)["adjacency"] == "replace-one"
    assert run_json(capsys, "explain", "gaussian(2)")["adjacency"] == "add/remove"
    told = run_json(capsys, "explain", "gaussian(2)", "--adjacency", "replace-one")
    assert told["adjacency"] == "replace-one"


@pytest.mark.parametrize(
    "command", [["explain", "laplace(3)"], ["calibrate", "laplace(SCALE)", "--epsilon", "1"]]
)
def test_plot_is_a_png(command: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "out.png"
    assert main([*command, "--plot", str(path)]) == 0
    assert path.read_bytes().startswith(b"\x89PNG")
    assert str(path) in capsys.readouterr().out


def test_explain_reads_claims(capsys: pytest.CaptureFixture[str]) -> None:
    data = run_json(capsys, "explain", "2 * approx(0.5, 1e-6) + gdp(0.3) + laplace(4)")
    assert data["expression"] == "2 * approx(0.5, 1e-06) + gdp(0.3) + laplace(4.0)"
    stated = 2 * indistinct.ApproxDP(0.5, 1e-6) + indistinct.GaussianDP(0.3)
    whole = stated + indistinct.Laplace(scale=4).guarantee()
    assert data["epsilon"]["epsilon"] == pytest.approx(whole.epsilon(1e-5), rel=1e-9)
    assert data["mechanism"] is None
    told = run_json(capsys, "explain", "renyi([2, 8], [0.1, 0.4])", "--adjacency", "replace-one")
    assert told["adjacency"] == "replace-one"


@pytest.mark.parametrize(
    "text",
    [
        "pure(0.7)",
        "gaussian(2) + zcdp(0.1)",
        "3 * (pure(1) + gdp(0.5)).group(2)",
        "profile([0.5, 2], [0.01, 1e-06])",
        "tradeoff([0.01, 0.1], [0.95, 0.7]) + pure(0.1)",
    ],
)
def test_claims_print_as_they_are_read(text: str) -> None:
    first = indistinct.parse(text)
    assert str(indistinct.parse(str(first))) == str(first)
    assert indistinct.parse(str(first)).guarantee() == first.guarantee()


@pytest.mark.parametrize(
    "command", [["explain", "pure(0.5)"], ["calibrate", "laplace(SCALE)", "--epsilon", "1"]]
)
def test_page_is_written(command: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "report.html"
    assert main([*command, "--html", str(path)]) == 0
    assert path.read_text(encoding="utf-8").startswith("<!DOCTYPE html>")
    assert str(path) in capsys.readouterr().out


@pytest.mark.parametrize(
    ("expression", "target", "scale"),
    [
        ("gaussian(SCALE)", ["--epsilon", "1.9930914", "--delta", "1e-5"], 2.0),
        ("laplace(SCALE)", ["--epsilon", "0.5"], 2.0),
        ("4 * gaussian(SCALE)", ["--renyi", "2", "--order", "4"], 2.0),
        ("gaussian(SCALE)", ["--advantage", "0.19741265"], 2.0),
        ("gaussian(SCALE)", ["--fnr", "0.8738651", "--fpr", "0.05"], 2.0),
        ("gaussian(SCALE) + gaussian(SCALE)", ["--renyi", "1", "--order", "2"], 2**0.5),
        ("gaussian(SCALE) + gaussian(SCALE)", ["--rho", "0.25"], 2.0),
        ("gaussian(SCALE)", ["--mu", "0.5"], 2.0),
    ],
)
def test_calibrate_finds_the_noise(
    expression: str, target: list[str], scale: float, capsys: pytest.CaptureFixture[str]
) -> None:
    data = run_json(capsys, "calibrate", expression, *target)
    assert data["found"]["scale"] == pytest.approx(scale, rel=1e-4)
    assert data["target"] == {k[2:]: float(v) for k, v in zip(target[::2], target[1::2], strict=True)}
    assert indistinct.from_json(data["mechanism"]) == indistinct.parse(data["expression"])


def test_calibrate_finds_the_number_of_runs(capsys: pytest.CaptureFixture[str]) -> None:
    target = ["--epsilon", "1", "--delta", "1e-5"]
    steps = run_json(capsys, "calibrate", "gaussian(20)", *target)["found"]["steps"]
    twice = run_json(capsys, "calibrate", "2 * gaussian(20)", *target)["found"]["steps"]
    assert twice == steps // 2
    assert indistinct.parse(f"{steps} * gaussian(20)").guarantee().epsilon(1e-5) <= 1
    assert indistinct.parse(f"{steps + 1} * gaussian(20)").guarantee().epsilon(1e-5) > 1


def test_calibrate_in_words(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["calibrate", "laplace(SCALE)", "--epsilon", "0.5"]) == 0
    assert capsys.readouterr().out.startswith("The least noise that meets the target: a scale of ")


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        ([], "COMMAND"),
        (["guess", "laplace(1)"], "guess"),
        (["explain"], "expression"),
        (["explain", "laplace(1"], "expression"),
        (["explain", ""], "expression"),
        (["explain", "__import__('os').system('true')"], "expression"),
        (["explain", "laplace(-1)"], "scale"),
        (["explain", "gaussian(1).subsample(2)"], "rate"),
        (["explain", "1.5 * gaussian(1)"], "steps"),
        (["explain", "(" * 200 + "laplace(1)" + ")" * 200], "nesting"),
        (["explain", "gaussian(SCALE)"], "SCALE"),
        (["explain", "pure(-1)"], "epsilon"),
        (["explain", "approx(1)"], "approx(...)"),
        (["explain", "approx(1, 2)"], "delta"),
        (["explain", "zcdp(0.1, rho=2)"], "zcdp(...)"),
        (["explain", "pure(1, adjacency=2)"], "adjacency"),
        (["explain", 'pure(1, adjacency="both")'], "adjacency"),
        (["explain", "renyi([2, 8], [0.1])"], "values"),
        (["explain", "pure(1).subsample(0.1)"], "subsample"),
        (["explain", "pure(1) + 3"], "character"),
        (["explain", "parallel(pure(1), 3)"], "parts"),
        (["explain", "pure(1)", "--html", "missing/folder/out.html"], "missing"),
        (["explain", "pure(1) + gaussian(1).subsample(5, of=9)", "--adjacency", "add-remove"], "adjacency"),
        (["explain", "laplace(1)", "--delta", "2"], "delta"),
        (["explain", "laplace(1)", "--delta", "nan"], "delta"),
        (["explain", "laplace(1)", "--delta", "small"], "--delta"),
        (["explain", "laplace(1)", "--epsilon", "-1"], "epsilon"),
        (["explain", "laplace(1)", "--epsilon", "inf"], "epsilon"),
        (["explain", "laplace(1)", "--adjacency", "swap"], "--adjacency"),
        (["explain", "laplace(1)", "--colour", "red"], "--colour"),
        (["explain", "gaussian(1).subsample(0.1)", "--adjacency", "replace-one"], "adjacency"),
        (["explain", "laplace(1)", "--plot", "missing/folder/out.png"], "missing"),
        (["explain", "laplace(1)", "--plot", "out.unknown"], "plot"),
        (["calibrate", "gaussian(SCALE)"], "budget"),
        (["calibrate", "gaussian(SCALE)", "--epsilon", "1", "--advantage", "0.1"], "budget"),
        (["calibrate", "gaussian(SCALE)", "--epsilon", "1"], "budget"),
        (["calibrate", "gaussian(SCALE)", "--fnr", "0.9"], "fpr"),
        (["calibrate", "gaussian(SCALE)", "--renyi", "1"], "order"),
        (["calibrate", "gaussian(0.1)", "--epsilon", "0.1", "--delta", "1e-5"], "budget"),
        (["calibrate", "gaussian(SCALES)", "--epsilon", "1", "--delta", "1e-5"], "SCALES"),
    ],
)
def test_bad_input_is_one_line(
    arguments: list[str], named: str, capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: Any
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(arguments) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("indistinct: ") and captured.err.count("\n") == 1
    assert named in captured.err
    assert len(captured.err) < 700


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stop:
        main(["--version"])
    assert stop.value.code == 0
    assert capsys.readouterr().out == f"indistinct {indistinct.__version__}\n"


def test_as_a_program() -> None:
    command = [sys.executable, "-m", "indistinct"]
    good = subprocess.run([*command, "explain", "laplace(2)", "--json"], capture_output=True, text=True)
    assert good.returncode == 0 and strict(good.stdout)["pure"] == 0.5 and good.stderr == ""
    bad = subprocess.run([*command, "explain", "laplace(0)"], capture_output=True, text=True)
    assert bad.returncode == 2 and "scale" in bad.stderr and "Traceback" not in bad.stderr


def test_every_command_and_option_is_documented() -> None:
    text = (ROOT / "docs" / "cli.md").read_text(encoding="utf-8")
    sections = dict(re.findall(r"^## (\w+)\n(.*?)(?=^## |\Z)", text, flags=re.M | re.S))
    for name, command in commands().items():
        assert f"indistinct {name} " in sections.get(name, ""), f"document `indistinct {name}`"
        options = {o for a in command._actions for o in a.option_strings if o.startswith("--")} - {"--help"}
        undocumented = {o for o in options if f"`{o}`" not in sections[name]}
        assert not undocumented, f"document {undocumented} under ## {name}"
    assert "`indistinct --version`" in text


def test_nothing_is_evaluated() -> None:
    for path in (ROOT / "src").rglob("*.py"):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        called = {
            n.func.id for n in ast.walk(tree) if isinstance(n, ast.Call) and isinstance(n.func, ast.Name)
        }
        assert not called & {"eval", "exec", "compile", "__import__"}, path
