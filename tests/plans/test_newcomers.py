"""The first hour with plans, through the command line: a plan from a header, mistakes that cost nothing and
say what to do, a second run that charges nothing."""

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from indistinct.cli import main
from indistinct.cli_plans import Progress
from indistinct.errors import ArgumentError
from indistinct.plans import check_plan, parse_plan, read_plan, run_plan
from indistinct.plans.starter import starter
from indistinct.report import pdf

pytestmark = pytest.mark.usefixtures("told_once")

pytest.importorskip("duckdb")

PLAN = """
[data]
csv = "people.csv"
records = 400

[budget]
epsilon = 1.0
delta = 1e-6

[columns.age]
low = 0
high = 64
bins = 8

[columns.town]
categories = ["Aarau", "Bern"]
outside = "error"

[[releases]]
name = "towns"
kind = "histogram"
columns = ["town"]

[[releases]]
name = "average"
kind = "mean"
column = "age"
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    lines = [f"{n},{n % 64},{'Bern' if n % 3 else 'Aarau'}" for n in range(400)]
    (tmp_path / "people.csv").write_text("\n".join(["person,age,town", *lines]) + "\n")
    (tmp_path / "plan.toml").write_text(PLAN)
    return tmp_path


MISTAKES = {
    "a column that is misspelt": ('column = "age"', 'column = "agee"', "did you mean 'age'?"),
    "a column that is not declared": ('column = "age"', 'column = "wage"', "[columns.wage]"),
    "a column that is not there": ("columns.town", "columns.Town", "did you mean 'Town'?"),
    "a declared column that the table lacks": (
        'n = "age"',
        'n = "pay"\n[columns.pay]\nlow=0\nhigh=1',
        "'pay'",
    ),
    "bounds the wrong way round": ("high = 64", "high = -1", "columns.age.high must be"),
    "bounds of another name": ("high = 64", "max = 64", "did you mean 'high'?"),
    "a category that is not declared": (', "Bern"', "", "'town' has values outside its declared domain"),
    "a kind of another name": ('"mean"', '"median"', "did you mean 'quantiles'?"),
    "a kind that is misspelt": ('"histogram"', '"histgram"', "did you mean 'histogram'?"),
    "a section that is misspelt": ("[budget]", "[buget]", "did you mean 'budget'?"),
    "a key that is misspelt": ("epsilon", "epsilom", "did you mean 'epsilon'?"),
    "a number as a text": ("epsilon = 1.0", 'epsilon = "1"', "a positive finite number, got '1'"),
    "a text column added up": ('n = "age"', 'n = "town"', "declared with low and high"),
    "a budget that is too small": ("epsilon = 1.0", "epsilon = 0.0001", "budget.epsilon must be larger"),
    "no TOML": ("[budget]", "[budget", "line 6"),
    "no such file": ("people.csv", "poeple.csv", "no such file"),
}


@pytest.mark.parametrize("case", MISTAKES)
def test_a_mistake_costs_nothing_and_says_what_to_do(
    folder: Path, case: str, capsys: pytest.CaptureFixture[str]
) -> None:
    old, new, words = MISTAKES[case]
    assert old in PLAN
    (folder / "plan.toml").write_text(PLAN.replace(old, new, 1))
    assert main(["run", str(folder / "plan.toml")]) == 2
    told = capsys.readouterr()
    assert words in told.err and told.err.count("\n") == 1 and not told.out
    assert not list(folder.rglob("guarantee.json")) and not list(folder.rglob("towns.csv"))


def test_the_second_run_charges_nothing(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(pdf, "_BROWSERS", ())  # another test prints
    monkeypatch.chdir(tmp_path.parent)
    plan, out = folder / "plan.toml", folder / "out" / "plan"

    def run() -> str:
        assert main(["run", str(plan)]) == 0
        return capsys.readouterr().out

    assert "Charged: epsilon 1 at delta 1e-6" in run()
    before = {path.name: path.read_bytes() for path in out.iterdir()}
    assert before.keys() >= {"report.html", "report.md", "report.pdf", "release.json", "towns.csv"}

    os.utime(folder / "people.csv")  # touched
    assert "Complete, nothing new was charged" in run()
    (folder / "copy.csv").write_bytes((folder / "people.csv").read_bytes())
    (folder / "copy.csv").replace(folder / "people.csv")
    assert "nothing new was charged" in run()
    moved = folder.parent / f"{folder.name}-moved"
    folder.rename(moved)
    plan, out = moved / "plan.toml", moved / "out" / "plan"
    assert "nothing new was charged" in run()
    assert {path.name: path.read_bytes() for path in out.iterdir()} == before

    text = (moved / "people.csv").read_text()
    (moved / "people.csv").write_text(text.replace("Bern", "Aara", 1))  # as long as before
    assert main(["run", str(plan)]) == 2 and "no such release of these data" in capsys.readouterr().err
    (moved / "people.csv").write_text(text)
    assert "nothing new was charged" in run()
    (moved / "plan.toml").write_text(PLAN.replace("epsilon = 1.0", "epsilon = 2.0"))
    assert main(["run", str(plan)]) == 2 and "a folder without towns.csv" in capsys.readouterr().err
    assert main(["run", str(plan), "--out", str(moved / "more")]) == 3
    assert "left of epsilon 1" in capsys.readouterr().err


def test_a_plan_from_a_header_alone(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    odd = 'a "quoted" name'
    header = f'person,age,"{odd.replace(chr(34), chr(34) * 2)}"\n'
    (folder / "odd.csv").write_text(header + "SECRET,12345,x\n")
    assert main(["init", str(folder / "odd.csv")]) == 0
    text = (folder / "odd.toml").read_text()
    assert "no value was read" in text and "SECRET" not in text and "12345" not in text
    assert main(["init", str(folder / "odd.csv")]) == 2 and "not there yet" in capsys.readouterr().err
    assert main(["check", str(folder / "odd.toml")]) == 0  # it can be run as it is
    assert "- records: count" in capsys.readouterr().out
    # what is commented out is a plan, once the dots are filled in
    filled = re.sub(r"^# (?=\[|\w+ = )", "", text, flags=re.MULTILINE)
    filled = re.sub(r"^(categories|title|source|contact|user|most|by)\b.*\n", "", filled, flags=re.MULTILINE)
    filled = filled.replace("low = ...", "low = 0").replace("high = ...", "high = 64")
    (folder / "odd.toml").write_text(filled)
    assert set(tomllib.loads(filled)["columns"]) == {"person", "age", odd}
    assert len(check_plan(read_plan(folder / "odd.toml")).parts) == 4
    for name, content in (("bare.csv", "77711,2\n3,4\n"), ("table.xlsx", "")):
        (folder / name).write_text(content)
        assert main(["init", str(folder / name)]) == 2
        assert "77711" not in capsys.readouterr().err


def test_a_header_of_parquet_tells_numbers_from_words(folder: Path) -> None:
    pa = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    parquet.write_table(pa.table({"pay": [1.5], "word": ["x"], "n": [7]}), folder / "t.parquet")
    blocks = starter(folder / "t.parquet", folder / "t.toml").split("# [columns.")
    assert "low" in blocks[1] and "categories" not in blocks[1]
    assert "low" not in blocks[2] and "categories" in blocks[2]
    assert "low" in blocks[3] and "categories" in blocks[3]


def test_cells_that_are_noise_are_warned_about(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pure = PLAN.replace("epsilon = 1.0\ndelta = 1e-6", "epsilon = 0.2")
    (folder / "plan.toml").write_text(pure.replace('"town"]', '"town", "age"]'))
    assert main(["check", str(folder / "plan.toml")]) == 0
    told = capsys.readouterr().out
    (line,) = [line for line in told.splitlines() if line.startswith("Warning:")]
    cells, most, times = re.findall(r"its (\d+) cells.* at most (\d+) cells.*about ([\d.]+) times", line)[0]
    assert int(cells) == 16 and "of about 25 in a cell: 57 %" in told
    # what it says would help does: a quarter, with so many cells, or so much more
    assert 14.1 / (400 / int(most)) == pytest.approx(0.25, abs=0.02)
    assert 14.1 / float(times) / 25 == pytest.approx(0.25, abs=0.01)
    (folder / "plan.toml").write_text(PLAN)
    assert main(["check", str(folder / "plan.toml")]) == 0 and "Warning" not in capsys.readouterr().out


def test_a_page_is_no_pdf(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "x.pdf"
    assert main(["explain", "laplace(2)", "--html", str(path)]) == 2
    assert "must be a file that ends in .html" in capsys.readouterr().err and not path.exists()


def test_who_has_read_enough_is_no_error() -> None:
    code = "from indistinct.cli import main; import sys; sys.exit(main(['explain', 'laplace(2)']))"
    reads, writes = os.pipe()
    os.close(reads)  # nobody reads
    ended = subprocess.run([sys.executable, "-c", code], stdout=writes, stderr=subprocess.PIPE, check=False)
    os.close(writes)
    assert ended.returncode == 0 and ended.stderr == b""


class _Terminal:
    def __init__(self, isatty: bool) -> None:
        self.isatty, self.written = (lambda: isatty), ""

    def write(self, text: str) -> None:
        self.written += text

    def flush(self) -> None:
        pass


@pytest.mark.parametrize("isatty", [True, False])
def test_progress_is_for_terminals(isatty: bool) -> None:
    terminal = _Terminal(isatty)
    bar = Progress(terminal)  # type: ignore[arg-type]
    bar("reading 1/2: ages")
    bar("charged: epsilon 1")
    bar.close()
    shown = terminal.written
    assert not shown if not isatty else "[##########..........] 1/2: ages" in shown and "charged" in shown


def test_words_for_readers_are_no_part_of_the_charge(folder: Path) -> None:
    run_plan(read_plan(folder / "plan.toml"), folder / "out")
    about = '\n[report]\ntitle = "Ages & <towns>"\nsource = "a register"\ndate = 2026-01-02\n'
    (folder / "plan.toml").write_text(PLAN + about)
    page = run_plan(read_plan(folder / "plan.toml"), folder / "out").read_text()
    assert "<h1>Ages &amp; &lt;towns&gt;</h1>" in page and "<dd>a register</dd>" in page
    assert "2026-01-02" in page and "# Ages & <towns>" in (folder / "out" / "report.md").read_text()
    (folder / "plan.toml").write_text(PLAN + "\n[report]\ndate = 3\n")
    with pytest.raises(ArgumentError, match=r"report\.date must be a date"):
        read_plan(folder / "plan.toml")


def test_another_separator_is_named(tmp_path: Path) -> None:
    (tmp_path / "semi.csv").write_text("age;town\n31;Bern\n")
    with pytest.raises(ArgumentError, match='delimiter = ";"'):
        starter(tmp_path / "semi.csv", tmp_path / "plan.toml")


def test_counts_that_cannot_be_are_said(tmp_path: Path) -> None:
    """By released numbers alone: here all categories are written otherwise than they are declared."""
    (tmp_path / "t.csv").write_text("town\n" + "bern\n" * 5000)
    plan = {
        "data": {"csv": "t.csv", "records": 5000},
        "budget": {"epsilon": 1},
        "columns": {"town": {"categories": ["Aarau", "Bern"]}},
        "releases": [{"name": "towns", "kind": "histogram", "columns": ["town"]}],
    }
    said: list[str] = []
    report = run_plan(parse_plan(plan, tmp_path), tmp_path / "out", said.append)
    assert any("towns: Look again: these counts add up to about" in line for line in said)
    assert "Look again" in report.read_text()
