"""What a run tells: every number with its interval, what no interval shows, a data dictionary, a PDF."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from indistinct.plans import read_plan, run_plan
from indistinct.plans.kinds.pictures import grouped_pictures, interval_pictures
from indistinct.report import pdf
from indistinct.report.blocks import Break, Picture, Rows, Words, blocks
from indistinct.report.pdf_pages import _FILLS, _STROKES, print_blocks
from indistinct.report.tables import ReadTable, unmarked

pytest.importorskip("duckdb")

PLAN = """
[data]
csv = "people.csv"
records = 600

[privacy]
user = "person"
most = 2

[budget]
epsilon = 4.0
delta = 1e-6
noise = "gaussian"

[columns.age]
low = 0
high = 64
bins = 8

[columns.town]
categories = ["Aarau", "Bern", "Chur"]

[[releases]]
name = "towns"
kind = "histogram"
columns = ["town"]

[[releases]]
name = "ages"
kind = "histogram"
columns = ["age"]
by = ["town"]

[[releases]]
name = "mean_age"
kind = "mean"
column = "age"
by = ["town"]

[[releases]]
name = "up_to"
kind = "prefix"
column = "age"
by = ["town"]

[[releases]]
name = "total"
kind = "sum"
column = "age"
user_total = 100
"""


@pytest.fixture(scope="module")
def out(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("plan")
    lines = [f"{n // 3},{n % 64},{('Aarau', 'Bern', 'Chur')[n % 3]}" for n in range(600)]
    (folder / "people.csv").write_text("\n".join(["person,age,town", *lines]) + "\n")
    (folder / "plan.toml").write_text(PLAN)
    run_plan(read_plan(folder / "plan.toml"), folder / "out", pdf=True)
    return folder / "out"


def sections(out: Path) -> dict[str, str]:
    page = (out / "report.html").read_text()
    parts = re.split(r'<section id="(\w+)">', page.partition("<h2>What this can tell")[0])
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def test_every_picture_has_its_numbers(out: Path) -> None:
    found = sections(out)
    assert set(found) == {"towns", "ages", "mean_age", "up_to", "total"}
    for name, text in found.items():
        pictures, tables = text.count("<svg"), text.count("<table")
        assert tables == max(pictures, 1) and "95\N{NO-BREAK SPACE}% interval" in text, name
    assert [found[name].count("<svg") for name in ("towns", "ages", "mean_age", "up_to", "total")] == [
        1,
        3,
        1,
        3,
        0,
    ]
    assert found["mean_age"].count('class="point"') == 3 and "Aarau" in found["mean_age"]
    assert found["ages"].count('class="bar"') == 24 and found["ages"].count("<h4>") == 3
    # panels are compared with each other, so they have one scale
    scales = re.findall(r'text-anchor="end">([\d,-]+)</text>', found["ages"])
    assert scales[: len(scales) // 3] * 3 == scales


def test_what_no_interval_shows_is_said_beside(out: Path) -> None:
    found = sections(out)
    for name in ("towns", "ages", "mean_age", "up_to"):
        assert "with more than 2 records, 2 take part" in found[name]
    assert "more than 100 it is scaled down" in found["total"]
    assert "Values of age below 0 or above 64 count as 0 and 64" in found["mean_age"]
    assert "The interval does not show it" in found["mean_age"] and "Values of age" not in found["towns"]
    for name in ("towns", "mean_age"):
        assert "ecords whose town is not listed are left out" in found[name]


def test_the_summary_comes_first(out: Path) -> None:
    page = (out / "report.html").read_text()
    summary = page.partition("</header>")[0].partition("<body>")[2]
    assert "epsilon = 4 at delta = 1e-6, for all 5 releases together (add/remove)" in summary
    assert re.search(r"<dt>Date</dt><dd>20\d\d-\d\d-\d\d</dd>", summary) and summary.count("<tr>") == 6
    assert "mean of age by town" in summary and "<svg" not in summary
    text = (out / "report.md").read_text()
    assert text.count("\n### ") == 5 and "| Aarau |" in text and "epsilon = 4 at delta = 1e-6" in text


def test_the_dictionary_describes_every_column(out: Path) -> None:
    told: dict[str, Any] = json.loads((out / "release.json").read_text())
    assert told["format"] == 1 and told["interval_level"] == 0.95
    assert told["guarantee"]["epsilon"] <= 4 and told["guarantee"]["delta"] == 1e-6
    assert {file["file"] for file in told["files"]} == {path.name for path in out.glob("*.csv")}
    for file in told["files"]:
        header = (out / file["file"]).read_text().splitlines()[0].split(",")
        assert [column["name"] for column in file["columns"]] == header
        assert [c["role"] for c in file["columns"][-4:]] == [
            "estimate",
            "standard_error",
            "interval_low",
            "interval_high",
        ]
        assert all(column["meaning"] and column["type"] for column in file["columns"])
        assert file["noise"]["scale"] > 0 and file["mechanism"] and file["rows"]
    units = {file["release"]: file["columns"][-1]["unit"] for file in told["files"]}
    assert units["towns"] == "records" and units["mean_age"] == units["total"] == "as in the column age"


def test_a_pdf_is_printed(out: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("matplotlib")
    assert (out / "report.pdf").read_bytes().startswith(b"%PDF-")  # by a browser, where there is one
    monkeypatch.setattr(pdf, "browser", lambda: None)
    assert not pdf.print_page(out / "report.html", tmp_path / "a.pdf")
    assert pdf.print_without_browser((out / "report.html").read_text(), tmp_path / "b.pdf")
    assert (tmp_path / "b.pdf").read_bytes().count(b"/Type /Page ") > 2
    monkeypatch.setattr(pdf, "browser", lambda: "false")  # one that does not print
    assert not pdf.print_page(out / "report.html", tmp_path / "a.pdf") and not (tmp_path / "a.pdf").exists()


def test_blocks_are_what_the_page_shows(out: Path) -> None:
    """Every picture with all that is drawn in it, every table, and every word that people read."""
    html = (out / "report.html").read_text()
    found = blocks(html)
    pictures = [one for one in found if isinstance(one, Picture)]
    assert len(pictures) == html.count("<svg ") > 4
    assert sum(len(one.shapes) for one in pictures) == len(
        re.findall("<(?:line|rect|path|circle|text) ", html)
    )
    tables = [one for one in found if isinstance(one, Rows)]
    assert len(tables) == html.count("<table") and sum(len(one.rows) for one in tables) == html.count("<tr>")
    assert all(len(row) == len(one.right) for one in tables for row in one.rows)
    known = {"", "name", "mark", *_STROKES, *_FILLS}
    drawn = {shape.given.get("class", "").split(" ")[0] for one in pictures for shape in one.shapes}
    assert drawn <= known  # a colour for each
    titles = [one.text for one in found if isinstance(one, Words) and one.kind == "h3"]
    assert "In pictures" in titles and found.index(next(one for one in found if isinstance(one, Break))) < 20


def test_long_texts_and_odd_ones_are_printed(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    words = Words("p", "a line with $ and \\ and 中 " * 600)
    wide = Rows([["a" * 300, "b" * 90]] * 200, [False, True], headed=True)
    assert print_blocks([Words("h1", "$x^2"), words, wide, Rows(), Break()], tmp_path / "b.pdf")
    assert (tmp_path / "b.pdf").read_bytes().count(b"/Type /Page ") in (4, 5, 6)


def test_many_groups_and_many_numbers_are_left_to_the_file() -> None:
    header = ["town", "age", "count", "standard_error", "low", "high"]
    rows = [[f"town {t}", str(a), "1", "1", "-1", "3"] for t in range(20) for a in range(2)]
    panels = grouped_pictures(
        "x", 1, [header, *rows], lambda name, own, reach: [f"{name} {len(own)} {reach}"]
    )
    assert len(panels) == 13 and "8 more groups are in the file" in panels[-1]
    assert "x-0 3 (-1.0, 3.0)" in panels[0] and "town 0" in panels[0]
    assert interval_pictures("x", [header, *(rows * 2)]) == []
    assert interval_pictures("x", [["count", "standard_error"], ["1", "1"]]) == []
    assert interval_pictures("x", [["town", "word"], ["a", "b"], ["c", "d"]]) == []


def test_names_from_records_are_drawn_and_no_markup(tmp_path: Path) -> None:
    """Groups that are found are called what records say: what no font draws, what is long, what is markup."""
    names = ["\ufeff", "\u202e", "\ud800", "\x00", "x" * 5000, "<script>![a](b)|`c`"]
    table = Rows([["town", "count"], *([name, "3"] for name in names)], [False, True], headed=True)
    assert print_blocks([table], tmp_path / "names.pdf")
    assert unmarked("a\n\n# b") == "a # b"
    written = ReadTable.of(["town", "count"], [[name, "3"] for name in names[-1:]]).to_markdown()
    assert r"\<script\>\!\[a\](b)\|\`c\`" in written
