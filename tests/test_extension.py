"""Extension is a promise: each diff of CONTRIBUTING.md is a class, one line and one test case, and runs."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = next(folder for folder in Path(__file__).parents if (folder / "CONTRIBUTING.md").exists())
GUIDE = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
DIFFS = {
    section.partition("\n")[0]: section.partition("```diff\n")[2].partition("```")[0]
    for section in GUIDE.split("\n### ")[1:]
}
RUN = {
    "A noise": ["tests/test_testing.py", "-k", "staircase"],
    "A sampling scheme": ["tests/test_testing.py", "-k", "areas"],
    "An engine": ["tests/test_two_steps.py"],
    "A kind of release in plans": ["tests/test_plan_category.py"],
    "An adversary": ["tests/test_thresholds.py"],
}


def files(diff: str) -> dict[str, list[str]]:
    """What is added to each file."""
    parts = re.split(r"^\+\+\+ b/(.+)\n", diff, flags=re.MULTILINE)[1:]
    return {
        name: [line[1:] for line in body.split("\n") if line.startswith("+")]
        for name, body in zip(parts[::2], parts[1::2], strict=True)
    }


def apply(diff: str, folder: Path) -> None:
    apart = {**os.environ, "GIT_CEILING_DIRECTORIES": str(folder.parent)}  # whatever repository it lies in
    told = subprocess.run(
        ["git", "apply", "-"], input=diff, cwd=folder, env=apart, capture_output=True, text=True
    )
    assert told.returncode == 0, told.stderr


def copied(folder: Path) -> Path:
    for name in ("src", "tests"):
        # With what was compiled, which need not be done again, but not with what is being written.
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("*.pyc.*"))
    for name in ("conftest.py", "pyproject.toml"):
        shutil.copy(ROOT / name, folder)
    return folder


def run(folder: Path, *tests: str) -> subprocess.CompletedProcess[str]:
    there = {**os.environ, "PYTHONPATH": str(folder / "src"), "PYTHONDONTWRITEBYTECODE": "1"}
    there["PYTEST_ADDOPTS"] = ""  # those of whoever runs us are not for them
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *tests]
    return subprocess.run(command, cwd=folder, env=there, capture_output=True, text=True)


def test_every_extension_is_shown() -> None:
    assert DIFFS.keys() == RUN.keys()


@pytest.mark.parametrize("name", RUN)
def test_an_extension_is_a_class_a_line_and_a_test_case(name: str) -> None:
    changed = files(DIFFS[name])
    (test,) = (file for file in changed if file.startswith("tests/"))
    ours = {file: lines for file, lines in changed.items() if file != test}
    assert "\n-" not in DIFFS[name].replace("\n--- ", ""), "nothing has to be changed"
    lists = [file for file in ours if (ROOT / file).exists()]
    assert len(lists) == 1 and len(ours) <= 2
    (list_,) = lists
    if len(ours) == 2:  # a file of its own, and the line
        assert len(ours[list_]) == 1
    else:  # written where its like is, and the line, apart from it
        hunks = re.split(
            r"^@@.*\n", DIFFS[name].split("--- a/tests")[0].split("--- /dev")[0], flags=re.MULTILINE
        )
        assert [len(re.findall(r"^\+", hunk, re.MULTILINE)) == 1 for hunk in hunks[1:]] == [False, True]
    text = "\n".join(changed[test])
    assert len(re.findall(r"^def test_|^    Case\(", text, re.MULTILINE)) == 1


@pytest.fixture(scope="module")
def extended(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the repository with all of them."""
    folder = copied(tmp_path_factory.mktemp("extended"))
    for diff in DIFFS.values():
        apply(diff, folder)
    return folder


def test_extensions_run(extended: Path) -> None:
    cases = [part for name in list(RUN)[2:] for part in RUN[name]]
    told = run(
        extended,
        "tests/test_testing.py",
        *cases,
        "-k",
        "staircase or areas or two_steps or category or thresholds",
    )
    assert told.returncode == 0, told.stdout
    assert "5 passed" in told.stdout, told.stdout


def test_all_of_it_follows_from_the_declaration(extended: Path) -> None:
    code = """
import json, indistinct
from indistinct import Staircase, from_json, parse
from indistinct.report import explain
made = 3 * parse("area_sampled(staircase(0.5, sensitivity=4, radius=2), 1/4)")
assert from_json(json.loads(json.dumps(made.to_json()))) == made == parse(str(made))
assert eval(repr(made), vars(indistinct)) == made
assert Staircase(0.5, 4, 2).subsample(0.1).guarantee().pure() < 0.1 and "Staircase" in indistinct.__all__
assert "published" in str(explain(made))
print(repr(made))
"""
    there = {**os.environ, "PYTHONPATH": str(extended / "src")}
    told = subprocess.run([sys.executable, "-c", code], env=there, capture_output=True, text=True)
    assert told.stdout.strip() == "3 * AreaSampled(Staircase(0.5, sensitivity=4, radius=2), 0.25)", (
        told.stderr
    )


def test_a_mistake_in_an_extension_is_seen(extended: Path, tmp_path: Path) -> None:
    """The first step counted once too little; a rate that is forgotten; a bound taken at the wrong ends."""
    folder = copied(tmp_path)
    for name, right, wrong in (
        ("A noise", "(min(first, width) + later)", "(min(first, width) - 1 + later)"),
        ("A sampling scheme", "[self.rate, 1 - self.rate]", "[self.rate / 2, 1 - self.rate / 2]"),
        (
            "An engine",
            "delta[:, 1:] @ self.mass[:-1] + self.mass",
            "0.99 * delta[:, :-1] @ self.mass[:-1] + self.mass",
        ),
    ):
        assert DIFFS[name].count(right) == 1
        apply(DIFFS[name].replace(right, wrong), folder)
    told = run(
        folder, "tests/test_testing.py", "tests/test_two_steps.py", "-k", "staircase or areas or two_steps"
    )
    assert "3 failed" in told.stdout, told.stdout
