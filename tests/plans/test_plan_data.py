"""What a plan reads: CSV in a dialect, dates and times in a zone, frequent values of columns of any type."""

import json
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("duckdb")
pa = pytest.importorskip("pyarrow")

from pyarrow import parquet  # noqa: E402

from indistinct.errors import ArgumentError  # noqa: E402
from indistinct.files import read_rows  # noqa: E402
from indistinct.plans import read_plan, run_plan  # noqa: E402

pytestmark = pytest.mark.usefixtures("told_once")

VISITS = """
[data]
csv = "visits.txt"
{dialect}
[budget]
epsilon = 400.0
confirm = true
delta = 1e-6
[columns.when]
low = {low}
high = {high}
bins = 2
unit = "{unit}"
zone = "{zone}"
[columns.town]
categories = ["Zürich", "a;b", "it's"]
[[releases]]
name = "days"
kind = "histogram"
columns = ["when"]
[[releases]]
name = "towns"
kind = "histogram"
columns = ["town"]
"""
LINES = """2024-06-30T22:30Z;Zürich
2024-07-01T00:30+02:00;'a;b'
2024-06-30;'it''s'
2024-06-29 12:00;no''quote
"""
DIALECT = 'delimiter = ";"\nquote = "\'"\nencoding = "latin-1"\nnames = ["when", "town"]'
DAYS = {"low": '"2024-06-30"', "high": '"2024-07-02"', "unit": "day"}


def answers(folder: Path, plan: str) -> dict[str, list[list[str]]]:
    (folder / "plan.toml").write_text(plan, encoding="utf-8")
    run_plan(read_plan(folder / "plan.toml"), folder / "out")
    return {path.stem: read_rows(path)[1:] for path in (folder / "out").glob("*.csv")}


def counts(rows: list[list[str]]) -> list[int]:
    return [round(float(row[-2])) for row in rows]


@pytest.mark.parametrize(
    ("terms", "days"),
    [
        (
            DAYS | {"zone": "Europe/Zurich"},
            [2, 2],
        ),  # the first two are of July there; times before are clipped
        (DAYS | {"zone": "UTC"}, [4, 0]),
        (
            {
                "low": '"2024-07-01T00:00"',
                "high": '"2024-07-01T01:00"',
                "unit": "minute",
                "zone": "Europe/Zurich",
            },
            [2, 2],
        ),
        ({"low": "19904", "high": "19906", "unit": "day", "zone": "Asia/Tokyo"}, [2, 2]),
    ],
)
def test_dialects_and_zones(terms: dict[str, str], days: list[int], tmp_path: Path) -> None:
    (tmp_path / "visits.txt").write_bytes((LINES * 50).encode("latin-1"))
    found = answers(tmp_path, VISITS.format(dialect=DIALECT, **terms))
    assert counts(found["days"]) == [50 * count for count in days]
    assert [row[0] for row in found["towns"]] == ["Zürich", "a;b", "it's"]
    assert counts(found["towns"]) == [50, 50, 50]


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ('delimiter = ";"', 'delimiter = ";;"', "delimiter"),
        ('delimiter = ";"', "delimiter = 3", "delimiter"),
        ('quote = "\'"', 'quote = ";"', "quote"),
        ('"latin-1"', '"utf-16"', "encoding"),
        ('["when", "town"]', '["when", "when"]', "names"),
        ('["when", "town"]', '["when"]\nnewlines = "no"', "newlines"),
        ('unit = "day"', 'unit = "month"', "unit"),
        ('unit = "day"', "", "zone"),
        ('zone = "UTC"', 'zone = "Atlantis"', "zone"),
        ('low = "2024-06-30"', 'low = "yesterday"', "time"),
        ('csv = "visits.txt"', 'parquet = "visits.parquet"', "csv"),
    ],
)
def test_mistakes_are_named_before_data_are_read(old: str, new: str, words: str, tmp_path: Path) -> None:
    plan = VISITS.format(dialect=DIALECT, zone="UTC", **DAYS)
    assert old in plan
    (tmp_path / "plan.toml").write_text(plan.replace(old, new), encoding="utf-8")
    with pytest.raises(ArgumentError, match=words):
        read_plan(tmp_path / "plan.toml")


FREQUENT = """
[data]
parquet = "values.parquet"
[budget]
epsilon = 40.0
confirm = true
delta = 1e-6
[[releases]]
name = "top"
kind = "heavy-hitters"
column = "v"
"""


@pytest.mark.parametrize(
    ("column", "kind", "shown"),
    [
        (pa.array([True] * 90), "string", ["true"]),
        (pa.array([None] * 90), "string", []),
        (pa.array([2**40] * 90), "int64", [2**40]),
        (pa.array([7.0] * 90), "double", [7.0]),
        (pa.array(["x"] * 90), "string", ["x"]),
    ],
    ids=lambda value: str(value) if isinstance(value, str) else "",
)
def test_frequent_values_of_any_type_are_written(
    column: Any, kind: str, shown: list[Any], tmp_path: Path
) -> None:
    parquet.write_table(pa.table({"v": column}), tmp_path / "values.parquet")
    answers(tmp_path, FREQUENT)
    found = parquet.read_table(tmp_path / "out" / "top.parquet")
    assert str(found.schema.types[0]) == kind and found.column(0).to_pylist() == shown
    assert (tmp_path / "out" / "report.html").exists()


MEANS = """
[data]
parquet = "values.parquet"
records = 40000
[privacy]
user = "u"
most = 1
[budget]
epsilon = 1.0
delta = 1e-6
[columns.v]
low = 0
high = 10
[[releases]]
name = "mean"
kind = "mean"
column = "v"
"""


def test_the_error_of_a_mean_is_by_the_records_that_take_part(tmp_path: Path) -> None:
    """Not by those that the plan expects: there are 4000 of 400 users, and one of each takes part."""
    column = pa.array(range(4000))
    parquet.write_table(
        pa.table({"u": pa.array(n % 400 for n in range(4000)), "v": column}), tmp_path / "values.parquet"
    )
    ((_, error, *_),) = answers(tmp_path, MEANS)["mean"]
    (part,) = read_plan(tmp_path / "plan.toml").parts
    scale = json.loads((tmp_path / "out" / "guarantee.json").read_text())["releases"][0]["scale"]
    assert 0.8 < float(error) * 400 / part.at(scale).deviation < 1.2 * 2**0.5
