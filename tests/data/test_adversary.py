"""The adversary: tables of nasty values, with and without one record or one user, on every engine. The sum
moves by no more than is stated, and whether and how an error is raised does not tell."""

import csv
import datetime as dt
import io
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from indistinct.data import (
    Bins,
    Categories,
    Count,
    FeatureSum,
    GroupBy,
    HeavyHitters,
    Hierarchy,
    Histogram,
    Intervals,
    Kind,
    Ladder,
    Mean,
    Norm,
    Numbers,
    OrMissing,
    OutsideDomain,
    Quantiles,
    Query,
    Records,
    Sum,
    Table,
    Tables,
    Times,
    Unit,
    UserRecords,
    UsersOver,
    UserTotals,
    Variance,
    VectorSum,
    Within,
    read_csv,
    read_parquet,
    read_sql,
    table,
)
from indistinct.data.records.reading import from_objects
from indistinct.functions import GaussianKernel, RandomFeatures

TOWNS = ("a", "A", "á", "7", " 7", "true", "nan", "")
UNITS: dict[str, tuple[Unit, ...]] = {
    "record": (Records(),),
    "user": (
        UserRecords("u", 1),
        UserRecords("u", 2),
        UserRecords("u", 1, groups=2),
        UserRecords("x", 1),
        UserRecords("i", 1),
        UserTotals("u", Norm.L1, 2),
        UserTotals("u", Norm.L2, 1),
    ),
}


def queries(unit: Unit) -> list[Query]:
    x, t, i = Numbers(-3, 5), Categories(TOWNS), Categories([-1, 0, 7, 2**53 + 1])
    many: list[Query] = [
        Count(unit),
        Histogram({"t": t}, unit),
        Histogram({"i": i, "x": Bins(-3, 5, 4)}, unit),
        Histogram({"t": Categories([True, False])}, unit),
        Histogram({"t": Bins(0, 30_000, 3, of=Times("day", "Asia/Kolkata"))}, unit),
        Sum("x", x, unit),
        Sum("i", Numbers(0, 10), unit),
        Mean("x", Numbers(1, 5), unit),
        Variance("x", x, unit),
        GroupBy({"t": t}, Mean("x", Numbers(1, 5), unit)),
        GroupBy({"t": t, "i": i}, Variance("x", x, unit)),
        GroupBy({"x": Bins(-3, 5, 4)}, Histogram({"i": i}, unit)),
        VectorSum(("x", "i"), Norm.L2, 4.0, unit),
        VectorSum(("x", "u"), Norm.L1, 4.0, unit),
        FeatureSum({"x": x}, RandomFeatures(GaussianKernel(1.0), pairs=2, dimension=1), unit=unit),
    ]
    if not isinstance(unit, UserTotals):
        many.append(Tables({"x": OrMissing(Intervals([-3, 0, 5])), "t": t}, [("x",), ("x", "t")], unit))
    if not isinstance(unit, UserTotals) or unit.norm is Norm.L1:
        nested = {"t": t, "i": Within({town: [-1, 7] if town == "a" else [0] for town in TOWNS})}
        many += [
            Quantiles("x", Bins(-4, 4, 4), [0.5], unit),
            Hierarchy(nested, shares=(1, 3, 2), unit=unit),
            Ladder("x", unit=unit),
            OutsideDomain("x", x, unit),
            OutsideDomain("i", i, unit),
        ]
    if isinstance(unit, UserRecords):
        many.append(UsersOver(unit.column, unit.most))
    return many


WORDS = st.sampled_from(
    [
        *TOWNS,
        "7.0",
        "1e400",
        "0x10",
        "12",
        "-0",
        "\u0130",
        "é",
        "e\u0301",
        "2020-01-01",
        "1970-01-09T00:00Z",
        "x,y",
        'q"',
    ]
)
ANYTHING = st.one_of(
    st.none(),
    WORDS,
    st.floats(width=64),
    st.integers(-(2**70), 2**70),
    st.sampled_from(
        [2**53 + 1, 7, 7.0, -0.0, True, False, Decimal("7.00"), Decimal("NaN"), Decimal("1e999")]
    ),
    st.sampled_from(
        [dt.date(2020, 2, 29), dt.datetime(2020, 1, 1, tzinfo=dt.UTC), dt.timedelta(1), pd.NaT, pd.NA]
    ),
    st.sampled_from(["\ud800", b"7", 1 + 2j, [1], {}, object, np.float32(0.1), np.datetime64("2020-01-01")]),
)
TYPED = st.fixed_dictionaries(
    {
        "u": st.one_of(st.none(), WORDS),
        "x": st.one_of(st.none(), st.floats(width=64)),
        "t": st.one_of(st.none(), WORDS),
        "i": st.one_of(st.none(), st.sampled_from([-1, 0, 7, 2**53 + 1, -(2**63), 2**63 - 1])),
    }
)
NO_TEXT = st.sampled_from([b"\xff", b"a\xff", b"\xed\xa0\x80"])
BYTES = st.builds(
    lambda row, more: row | more, TYPED, st.fixed_dictionaries({}, optional={"u": NO_TEXT, "t": NO_TEXT})
)
OBJECTS = st.fixed_dictionaries(dict.fromkeys("uxti", ANYTHING))
SCHEMA = pa.schema([("u", pa.string()), ("x", pa.float64()), ("t", pa.string()), ("i", pa.int64())])
BINARY = {pa.string(): pa.binary()}

Rows = list[dict[str, Any]]


def by_name(rows: Rows) -> dict[str, list[Any]]:
    return {name: [row[name] for row in rows] for name in "uxti"}


def arrow(rows: Rows) -> pa.Table:
    """Whether bytes are text, Arrow does not ask."""
    words = pa.Table.from_pylist(rows, pa.schema([(f.name, BINARY.get(f.type, f.type)) for f in SCHEMA]))
    columns = [column.combine_chunks() for column in words.columns]
    return pa.table(
        [
            pa.Array.from_buffers(pa.string(), len(one), one.buffers()) if one.type == pa.binary() else one
            for one in columns
        ],
        SCHEMA,
    )


def inferred(rows: Rows) -> pd.DataFrame:
    """As pandas makes it: its types depend on the values. Users keep theirs: pandas rounds large ones."""
    columns = {}
    for name, values in by_name(rows).items():
        try:
            columns[name] = pd.Series(values, dtype=object if name == "u" else None)
        except (UnicodeEncodeError, OverflowError, TypeError, ValueError):  # what pandas refuses is not ours
            columns[name] = pd.Series(values, dtype=object)
    return pd.DataFrame(columns)


def in_parquet(rows: Rows, folder: Path) -> Table:
    pq.write_table(arrow(rows), folder / "rows.parquet")
    return read_parquet(folder / "rows.parquet", threads=1)


def in_database(rows: Rows, folder: Path) -> Table:
    connection = duckdb.connect()
    columns = "u VARCHAR COLLATE NOCASE, x DOUBLE, t VARCHAR COLLATE NOACCENT, i BIGINT"
    connection.execute(f"CREATE TABLE t ({columns})")
    connection.register("data", arrow(rows))
    connection.execute("INSERT INTO t FROM data")
    return read_sql("SELECT * FROM t", connection=connection)


def in_csv(rows: Rows, folder: Path) -> Table:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n", quoting=csv.QUOTE_ALL)
    writer.writerows([list("uxti"), *([row[name] for name in "uxti"] for row in rows)])
    (folder / "rows.csv").write_text(text.getvalue(), encoding="utf-8")
    return read_csv(folder / "rows.csv", threads=1)


MEMORY, FILES = ("lists", "pandas", "arrow", "polars"), ("parquet", "database", "csv")
Opened = Callable[[Rows, Path], Table]
ENGINES: dict[str, tuple[Any, Opened]] = {
    "lists": (OBJECTS, lambda rows, _: table(by_name(rows))),
    "pandas": (OBJECTS, lambda rows, _: table(inferred(rows))),
    "arrow": (BYTES, lambda rows, _: table(arrow(rows))),
    "polars": (TYPED, lambda rows, _: table(pl.from_arrow(arrow(rows)))),
    "parquet": (BYTES, in_parquet),
    "database": (TYPED, in_database),
    "csv": (TYPED, in_csv),
}


@contextmanager
def opened(engine: Opened, rows: Rows) -> Iterator[Table]:
    with tempfile.TemporaryDirectory() as folder:
        yield engine(rows, Path(folder))


def outcome(query: Query, data: Table) -> Any:
    """The exact sum, or the error as whoever runs the query sees it."""
    try:
        return query.statistic(data).units.astype(object)
    except Exception as error:
        return type(error), str(error)


def check_neighbours(query: Query, one: Any, other: Any) -> None:
    if isinstance(one, tuple) or isinstance(other, tuple):
        assert isinstance(one, tuple) and isinstance(other, tuple) and one == other
        return
    apart = [abs(int(step)) for step in one - other]
    assert sum(apart) * query.step <= query.sensitivity(Norm.L1)
    assert max(apart) * query.step <= query.sensitivity(Norm.MAX)
    squares = sum(step * step for step in apart)
    assert squares * query.step**2 <= query.sensitivity(Norm.L2) ** 2 * (1 + 1e-15)


def whose(row: dict[str, Any], column: str, engine: str) -> str | None:
    value = row[column]
    if engine == "csv" and value is not None:  # where everything is text, and an empty one is missing
        value = str(value) or None
    found = from_objects([value], Kind.USER)
    return None if found.missing[0] else str(found.plain()[0])


@pytest.mark.parametrize("engine", MEMORY)
@pytest.mark.parametrize("neighbour", UNITS)
@given(data=st.data())
def test_no_neighbour_tells_in_memory(neighbour: str, engine: str, data: st.DataObject) -> None:
    play(data, neighbour, engine, *ENGINES[engine])


@pytest.mark.parametrize("engine", FILES)
@pytest.mark.parametrize("neighbour", UNITS)
@settings(max_examples=max(settings.default.max_examples // 5, 1))  # files and DuckDB take their time
@given(data=st.data())
def test_no_neighbour_tells_in_files(neighbour: str, engine: str, data: st.DataObject) -> None:
    play(data, neighbour, engine, *ENGINES[engine])


def play(data: st.DataObject, neighbour: str, engine: str, rows_of: Any, opens: Opened) -> None:
    rows = data.draw(st.lists(rows_of, min_size=1, max_size=6))
    unit = data.draw(st.sampled_from(UNITS[neighbour]))
    query = data.draw(st.sampled_from(queries(unit)))
    gone = data.draw(st.integers(0, len(rows) - 1))
    if unit.column is None:
        fewer = [row for place, row in enumerate(rows) if place != gone]
    else:
        user = whose(rows[gone], unit.column, engine)
        fewer = [row for row in rows if whose(row, unit.column, engine) != user]
    types = query.bounded.encoding.types
    if engine == "pandas" and ("i" in types or unit.column in ("i", "x")):
        return  # integers beside a null are floats before we see them: what pandas rounds, it rounds for all
    with opened(opens, rows) as more, opened(opens, fewer) as less:
        check_neighbours(query, outcome(query, more), outcome(query, less))


@pytest.mark.slow
@pytest.mark.xdist_group("spark")  # which starts once
@settings(max_examples=max(settings.default.max_examples // 16, 1))
@given(data=st.data())
@pytest.mark.parametrize("neighbour", UNITS)
def test_no_neighbour_tells_on_spark(neighbour: str, spark: Any, data: st.DataObject) -> None:
    play(data, neighbour, "spark", BYTES, lambda rows, _: table(spark.createDataFrame(arrow(rows))))


@given(
    st.lists(st.binary(max_size=12).filter(lambda line: b"\n" not in line), max_size=5),
    st.one_of(
        st.binary(max_size=12), st.sampled_from([b'"', b",,,,,", b'","', b"1,2,a", b"\xff", b"u,x,t,i"])
    ),
    st.integers(0, 5),
    st.sampled_from(queries(Records())),
)
def test_no_line_of_bytes_tells(lines: list[bytes], line: bytes, place: int, query: Query) -> None:
    longer = [*lines[:place], line.replace(b"\n", b""), *lines[place:]]

    def opens(rows: Any, folder: Path) -> Table:
        (folder / "rows.csv").write_bytes(b"\n".join([b"u,x,t,i", *rows]))
        return read_csv(folder / "rows.csv", threads=1)

    with opened(opens, longer) as more, opened(opens, lines) as less:  # type: ignore[arg-type]
        check_neighbours(query, outcome(query, more), outcome(query, less))


@given(st.lists(OBJECTS, max_size=5), OBJECTS)
def test_heavy_hitters_count_one_more_at_most(rows: Rows, row: dict[str, Any]) -> None:
    hitters = HeavyHitters("t", scale=1, threshold=5)
    more, less = (hitters.occurring(table(by_name(some))) for some in ([*rows, row], rows))
    counts = dict(zip(more.values, more.counts, strict=True))
    for value, count in zip(less.values, less.counts, strict=True):
        counts[value] -= count
    assert sum(map(abs, counts.values())) <= 1
