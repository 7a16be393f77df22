"""The declared reader: what each type of value becomes is the same on every engine, bit for bit, and nothing
that one record holds changes how another is read."""

import datetime as dt
import os
import subprocess
import sys
import tempfile
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
from hypothesis import given
from hypothesis import strategies as st

from indistinct.data import (
    Bins,
    BoundedSum,
    Categories,
    Count,
    HeavyHitters,
    Histogram,
    Intervals,
    Kind,
    Norm,
    Numbers,
    OrMissing,
    Sum,
    Table,
    Tables,
    Times,
    UserRecords,
    UserTotals,
    read_csv,
    read_parquet,
    read_sql,
    table,
)
from indistinct.data.engines.sandbox import Sandbox
from indistinct.data.records.arrow import from_arrow
from indistinct.data.records.bounded_sum import Fold
from indistinct.data.records.reading import from_objects
from indistinct.data.records.types import Batch
from indistinct.errors import ArgumentError, DataError

NUMBER, INTEGER, TEXT, TRUTH = Kind.NUMBER, Kind.INTEGER, Kind.TEXT, Kind.TRUTH
DAY, ZURICH = Times("day"), Times("hour", "Europe/Zurich")
UTC = dt.UTC
WORDS = ["a", " 12\t", "12", "1e3", "nan", "inf", "NULL", "0x10", "+7", "1_0", "2147483648.5", "é", "٣", None]
BIG = [
    "9007199254740993",
    "9223372036854775807",
    "9223372036854775808",
    "1e400",
    "-0",
    ".5",
    "5.",
    "True",
    "0",
    "",
]
LONG = [Decimal(7**k).scaleb(-20) for k in range(3, 44)]  # Arrow's own conversion rounds twice
CASES: dict[str, tuple[Any, dict[Any, list[Any]]]] = {
    "integers": (
        pa.array([0, -1, 2**53 + 1, None]),
        {
            NUMBER: [0.0, -1.0, 2.0**53, None],
            INTEGER: [0, -1, 2**53 + 1, None],
            TEXT: ["0", "-1", "9007199254740993", None],
            TRUTH: [0, None, None, None],
        },
    ),
    "unsigned": (
        pa.array([2**64 - 1, 1, None], pa.uint64()),
        {
            NUMBER: [2.0**64, 1.0, None],
            INTEGER: [None, 1, None],
            TEXT: [None, "1", None],
            TRUTH: [None, 1, None],
        },
    ),
    "doubles": (
        pa.array([0.1, -0.0, np.nan, np.inf, 3.0, 1e300, None]),
        {
            NUMBER: [0.1, -0.0, None, np.inf, 3.0, 1e300, None],
            INTEGER: [None, 0, None, None, 3, None, None],
            TEXT: [None, "0", None, None, "3", None, None],
            TRUTH: [None, 0, None, None, None, None, None],
        },
    ),
    "floats": (pa.array([0.1, 16777216.0], pa.float32()), {NUMBER: [float(np.float32(0.1)), 2.0**24]}),
    "decimals": (
        pa.array([Decimal("0.1"), Decimal("5"), Decimal("90071992547409.9319"), None], pa.decimal128(20, 4)),
        {
            NUMBER: [0.1, 5.0, 90071992547409.9319, None],
            INTEGER: [None, 5, None, None],
            TEXT: [None, "5", None, None],
        },
    ),
    "long decimals": (pa.array(LONG, pa.decimal128(38, 20)), {NUMBER: [float(str(value)) for value in LONG]}),
    "truth": (
        pa.array([True, False, None]),
        {NUMBER: [1.0, 0.0, None], INTEGER: [1, 0, None], TEXT: ["true", "false", None], TRUTH: [1, 0, None]},
    ),
    "words": (
        pa.array(WORDS),
        {
            NUMBER: [
                None,
                12.0,
                12.0,
                1e3,
                None,
                None,
                None,
                None,
                7.0,
                None,
                2147483648.5,
                None,
                None,
                None,
            ],
            INTEGER: [None, 12, 12, None, None, None, None, None, 7, None, None, None, None, None],
            TEXT: WORDS,
            TRUTH: [None] * 14,
        },
    ),
    "long words": (
        pa.array(BIG),
        {
            NUMBER: [2.0**53, 2.0**63, 2.0**63, None, -0.0, 0.5, 5.0, None, 0.0, None],
            INTEGER: [2**53 + 1, 2**63 - 1, None, None, 0, None, 5, None, 0, None],
            TRUTH: [None, None, None, None, None, None, None, 1, 0, None],
        },
    ),
    "dictionary": (
        pa.array(["b", "a", None, "b"]).dictionary_encode(),
        {TEXT: ["b", "a", None, "b"], NUMBER: [None] * 4},
    ),
    "dates": (pa.array([dt.date(1970, 1, 2), dt.date(1969, 12, 31), None]), {DAY: [1.0, -1.0, None]}),
    "clock times": (
        pa.array([dt.datetime(1970, 1, 1, 12), dt.datetime(1969, 12, 31, 23, 59, 59, 999999), None]),
        {DAY: [0.5, -1e-6 / 86400, None], ZURICH: [12.0, -1e-6 / 3600, None]},
    ),
    "moments": (
        pa.array([dt.datetime(2020, 7, 1, tzinfo=UTC), dt.datetime(2020, 1, 1, tzinfo=UTC), None]),
        {ZURICH: [442658.0, 438289.0, None], DAY: [18444.0, 18262.0, None]},
    ),
    "time words": (
        pa.array(["2020-07-01T02:00+02:00", "2020-07-01", "2020-02-30", "2020-07-01 00:00:00.5Z", "now"]),
        {DAY: [18444.0, 18444.0, None, 18444 + 0.5 / 86400, None]},
    ),
}


def held(array: Any, folder: Path) -> dict[str, Table]:
    """A column `v` on every engine that starts at once; CSV where text says it all."""
    data = pa.table({"v": array})
    objects = array.to_pylist()
    pq.write_table(data, folder / "v.parquet")
    database = folder / "v.duckdb"
    with duckdb.connect(str(database)) as connection:
        connection.execute("CREATE TABLE t AS FROM data")
    found: dict[str, Table] = {
        "objects": table({"v": objects}),
        "pandas objects": table(pd.DataFrame({"v": pd.Series(objects, dtype=object)})),
        "pandas arrow": table(data.to_pandas(types_mapper=pd.ArrowDtype)),
        "polars": table(pl.from_arrow(data)),
        "arrow": table(data),
        "parquet": read_parquet(folder / "v.parquet"),
        "database": read_sql("SELECT * FROM t", database=database),
    }
    if pa.types.is_string(array.type):
        lines = ["v,w", *(f'"{word or ""}",' for word in objects)]
        (folder / "v.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
        found["csv"] = read_csv(folder / "v.csv")
    return found


def read(data: Table, wanted: Any) -> list[Any]:
    values: list[Any] = []
    for batch in data.batches({"v": wanted}, None):  # type: ignore[attr-defined]
        column = batch["v"]
        values += [
            None if gone else v for v, gone in zip(column.plain().tolist(), column.missing, strict=True)
        ]
    return values


@pytest.mark.parametrize("name", CASES)
def test_what_each_type_becomes(name: str, tmp_path: Path) -> None:
    array, expected = CASES[name]
    for engine, data in held(array, tmp_path).items():
        for wanted, values in expected.items():
            # DuckDB gives no order to the rows of a table; the bits tell -0.0 from 0.0
            got, want = sorted(map(repr, read(data, wanted))), sorted(map(repr, values))
            if engine == "csv":  # an empty cell is missing
                want = sorted(repr(value or None) if value == "" else repr(value) for value in values)
            assert got == want, (engine, wanted)


def cells_of(wanted: Any, values: list[Any]) -> Any:
    """A cell for each value and one for the number just above it, and one for what is missing."""
    present = sorted({value for value in values if value is not None and value != np.inf})
    if wanted in (TEXT, INTEGER):
        return OrMissing(Categories(present)) if present else None
    edges = sorted({edge for value in present for edge in (value, np.nextafter(value, np.inf))})
    of = wanted if isinstance(wanted, Times) else None
    return OrMissing(Intervals(edges, of=of)) if len(edges) > 1 else None


@pytest.mark.xdist_group("spark")
@pytest.mark.slow
def test_what_each_type_becomes_on_spark(spark: Any) -> None:
    longest = max(len(array) for array, _ in CASES.values())
    columns = {}
    for name, (array, _) in CASES.items():
        plain_type = array.type.value_type if pa.types.is_dictionary(array.type) else array.type
        if plain_type == pa.uint64():
            plain_type = pa.decimal128(20, 0)
        columns[name] = pa.array([*array.to_pylist(), *[None] * (longest - len(array))], plain_type)
    data = pa.table(columns)
    frame = spark.createDataFrame(data).repartition(2)  # which takes clock times for moments
    distributed = table(frame.withColumn("clock times", frame["clock times"].cast("timestamp_ntz")))
    # A column for each type that it is read as, so that one job answers all.
    asked = [(name, kind, values) for name, (_, read_as) in CASES.items() for kind, values in read_as.items()]
    axes = {
        f"{name} as {kind}": cells
        for name, kind, values in asked
        if kind is not TRUTH and (cells := cells_of(kind, values))
    }
    held = {f"{name} as {kind}": name for name, kind, _ in asked}
    query = Tables(axes, [(name,) for name in axes])
    expected = query.statistic(pa.table({name: data[held[name]] for name in axes})).units.tolist()
    copies = table(distributed._frame.selectExpr(*(f"`{held[name]}` AS `{name}`" for name in axes)))
    assert query.statistic(copies).units.tolist() == expected
    users = Histogram({"integers": Categories([0, -1, 2**53 + 1])}, UserRecords("words", 1))
    assert users.statistic(distributed).units.tolist() == users.statistic(data).units.tolist()
    texts = spark.createDataFrame(pa.table({"u": ["ab", "AB", "ab", "Ab"]}))
    mixed = table(texts.selectExpr("u COLLATE UNICODE_CI AS u"))
    assert Count(UserRecords("u", 1)).statistic(mixed).units.tolist() == [3]
    assert Histogram({"u": Categories(["ab", "AB"])}).statistic(mixed).units.tolist() == [2, 1]


@pytest.mark.xdist_group("spark")
@pytest.mark.slow
def test_spark_says_nothing(spark: Any, capfd: pytest.CaptureFixture[str]) -> None:
    spark.sparkContext.setLogLevel("ERROR")
    try:
        frame = spark.sql("SELECT CAST(v AS INT) AS x FROM VALUES ('1'), ('XQ7CANARY') AS t(v)")
        with pytest.raises(DataError, match="cannot be used as it is"):
            Sum("x", Numbers(0, 1)).statistic(frame)
        level = spark.sparkContext._jvm.org.apache.logging.log4j.LogManager.getRootLogger().getLevel()
        assert str(level) == "ERROR"
    finally:
        spark.sparkContext.setLogLevel("OFF")
    told = capfd.readouterr()
    assert "XQ7CANARY" not in told.out + told.err


def test_pandas_types(tmp_path: Path) -> None:
    made = {
        "huge": ([2**70, 1], INTEGER, [None, 1]),
        "complex": ([1 + 2j, 3j], NUMBER, [None, None]),
        "sparse": (pd.arrays.SparseArray([0.0, 1.5]), NUMBER, [0.0, 1.5]),
        "nullable": (pd.array([2**53 + 1, None], dtype="Int64"), INTEGER, [2**53 + 1, None]),
        "promoted": ([7, None], TEXT, ["7", None]),
        "NA": (pd.Series([pd.NA, "a"], dtype=object), TEXT, [None, "a"]),
        "categories": (pd.Categorical(["x", None]), TEXT, ["x", None]),
        "number categories": (pd.Categorical([3, 4]), NUMBER, [3.0, 4.0]),
        "surrogate": (pd.Series(["\ud800", "b"], dtype=object), TEXT, [None, "b"]),
        "times as text": (pd.to_datetime(["2020-01-01", None]), TEXT, [None, None]),
        "NaT": ([pd.NaT, pd.Timestamp("1970-01-02 00:00:00.000000001")], DAY, [None, 1.0]),
        "zones": (
            pd.to_datetime(["2020-07-01", "2020-01-01"]).tz_localize("Europe/Zurich"),
            DAY,
            [18443 + 22 / 24, 18261 + 23 / 24],
        ),
    }
    frame = pd.DataFrame({name: pd.Series(values) for name, (values, _, _) in made.items()})
    frame = pd.concat([frame, frame[["huge"]].rename(columns={"huge": "twice"})] * 2, axis=1)
    data = table(frame.loc[:, ~frame.columns.duplicated() | (frame.columns == "twice")])
    for name, (_, wanted, values) in made.items():
        assert read_named(data, name, wanted) == values, name
    with pytest.raises(DataError, match="one column of this name"):
        data.total(Sum("twice", Numbers(0, 1)).bounded)


def read_named(data: Table, name: str, wanted: Any) -> list[Any]:
    (batch,) = data.batches({name: wanted}, None)  # type: ignore[attr-defined]
    column = batch[name]
    return [None if gone else v for v, gone in zip(column.plain().tolist(), column.missing, strict=True)]


def test_other_frames() -> None:
    enum = pl.DataFrame({"v": ["a", "b", None]}, schema={"v": pl.Enum(["a", "b"])})
    for frame in (enum, enum.cast(pl.Categorical)):
        assert read(table(frame), TEXT) == ["a", "b", None]
    odd = pl.DataFrame({"v": ["a"], "o": pl.Series([object()], dtype=pl.Object)})
    assert read(table(odd), TEXT) == ["a"]
    with pytest.raises(DataError, match="'o' holds values of a type that is not supported"):
        table(odd).total(Sum("o", Numbers(0, 1)).bounded)
    assert read(table({"v": ["a", float("nan"), None, 3]}), TEXT) == ["a", None, None, "3"]
    assert read(table({"v": np.array(["\ud800", "b"])}), TEXT) == [None, "b"]
    assert read(table({"v": np.ma.masked_array([1, 2], [True, False])}), NUMBER) == [None, 2.0]


@given(st.lists(st.text("0123456789+-.eExX_ infa\t", max_size=8), max_size=20))
def test_texts_are_parsed_alike_with_and_without_arrow(words: list[str]) -> None:
    for wanted in (NUMBER, INTEGER):
        one, other = from_objects(words, wanted), from_arrow(pa.array(words, pa.string()), wanted)
        assert one.missing.tolist() == other.missing.tolist()
        kept = ~one.missing
        assert list(map(repr, one.values[kept])) == list(map(repr, other.values[kept]))


def test_types_that_cannot_be_read_are_refused_by_type_alone(tmp_path: Path) -> None:
    data = table(pa.table({"d": [dt.date(2020, 1, 1)], "n": [1.5], "b": [b"x"]}))
    for query in (
        Sum("d", Numbers(0, 1)),
        Sum("n", Numbers(0, 1, of=DAY)),
        Histogram({"b": Categories(["x"])}),
        Count(UserRecords("d", 1)),
    ):
        with pytest.raises(DataError, match="cannot be read as"):
            query.check(data)


# Users and cells are bytes


@pytest.fixture
def collated(tmp_path: Path) -> Path:
    path = tmp_path / "people.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.execute("CREATE TABLE t (u VARCHAR COLLATE NOCASE.NOACCENT, k0 INTEGER)")
        connection.execute(
            "INSERT INTO t SELECT CASE i % 2 WHEN 0 THEN 'ab' ELSE 'AB' END, i % 3 FROM range(500) t(i)"
        )
    return path


def test_a_collation_does_not_make_new_users(collated: Path) -> None:
    data = read_sql("SELECT * FROM t", database=collated)
    assert Count(UserRecords("u", 1)).statistic(data).units.tolist() == [2]
    assert Count(UserTotals("u", Norm.L1, 1)).statistic(data).values[0] == pytest.approx(2, rel=1e-5)
    assert Histogram({"u": Categories(["ab", "AB"])}).statistic(data).units.tolist() == [250, 250]
    own = duckdb.connect()
    own.execute("SET default_collation = 'NOCASE'")
    own.execute("CREATE TABLE t (u VARCHAR); INSERT INTO t VALUES ('a'), ('A'), ('a')")
    mine = read_sql("SELECT u FROM t", connection=own)
    assert Count(UserRecords("u", 1)).statistic(mine).units.tolist() == [2]
    assert HeavyHitters("u", scale=1, threshold=1).occurring(mine).values == ["A", "a"]


def test_a_column_may_have_any_name(collated: Path) -> None:
    data = read_sql("SELECT k0, k0 AS n, k0 AS c0 FROM t", database=collated)
    for name in ("k0", "c0"):
        query = Histogram({"n": Bins(0, 2, 1), name: Categories([0, 1, 2])})
        assert query.statistic(data).units.tolist() == [167, 167, 166]


def test_a_user_who_comes_back_is_refused() -> None:
    fold = Fold(BoundedSum(Histogram({"v": Bins(0, 1, 2)}).encoding, UserRecords("u", 1)))
    with pytest.raises(DataError, match="do not lie together"):
        for user in ("a", "b", "a"):
            column = from_objects([0.5], NUMBER)
            fold.add(Batch(1, {"v": column}, from_objects([user], TEXT)))


def test_the_same_user_on_every_engine(tmp_path: Path) -> None:
    users = [7, 7, 12, -3, 7, 12]
    values = [0, 1, 2, 3, 4, 5]
    frames = {
        "ints": pa.table({"u": users, "v": values}),
        "floats": pa.table({"u": [float(user) for user in users], "v": values}),
        "decimals": pa.table({"u": pa.array([Decimal(u) for u in users], pa.decimal128(9, 2)), "v": values}),
        "texts": pa.table({"u": [str(user) for user in users], "v": values}),
    }
    query = Histogram({"v": Categories(values)}, UserRecords("u", 1))
    found = {}
    for name, frame in frames.items():
        pq.write_table(frame, tmp_path / f"{name}.parquet")
        found[name] = query.statistic(frame).units.tolist()
        found[f"{name} in a file"] = query.statistic(
            read_parquet(tmp_path / f"{name}.parquet")
        ).units.tolist()
    pd.DataFrame({"u": users, "v": values}).to_csv(tmp_path / "u.csv", index=False)
    found["csv"] = query.statistic(read_csv(tmp_path / "u.csv")).units.tolist()
    assert set(map(str, found.values())) == {str(found["ints"])}, found


# CSV


def counted(path: Path, **dialect: Any) -> list[int]:
    query = Histogram({"a": Categories(["1", "2", 'x"y', "é", "p,q", "l\nm"])})
    return query.statistic(read_csv(path, **dialect)).units.tolist()


GOOD = b'b,a\r\n0,1\r\n0,"2"\r\n0,"x""y"\r\n0,\xc3\xa9\r\n0,"p,q"\r\n'


@pytest.mark.parametrize(
    "line",
    [
        b"7,8,9",
        b"7",
        b'0,"1',
        b'"',
        b'0,1"',
        b"\xff\xfe,1\xff",
        b"full name,HIV,positive",
        b"0,\x00",
        b"",
        b'"",""',
    ],
    ids=repr,
)
def test_a_malformed_line_changes_no_other(line: bytes, tmp_path: Path) -> None:
    path, before = tmp_path / "a.csv", [1, 1, 1, 1, 1, 0]
    for place in range(6):
        lines = GOOD.split(b"\r\n")[:-1]
        lines.insert(place + 1, line)
        path.write_bytes(b"\r\n".join(lines))
        assert counted(path) == before, place
        records = Count().statistic(read_csv(path)).units[0]
        assert records == 5 + bool(line)


def test_dialects(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_bytes(b"\xef\xbb\xbf" + GOOD)
    assert counted(path) == [1, 1, 1, 1, 1, 0]
    path.write_text("0;1\n0;2\n0;'p,q'\n")
    assert counted(path, delimiter=";", quote="'", names=["b", "a"]) == [1, 1, 0, 0, 1, 0]
    path.write_bytes(b'b\ta\n0\t\xe9\n0\t"1"\n')
    assert counted(path, delimiter="\t", quote="", encoding="latin-1") == [0, 0, 0, 1, 0, 0]
    path.write_bytes(b'b,a\n0,"l\nm"\n0,1\n')
    assert counted(path, newlines=True) == [1, 0, 0, 0, 0, 1]
    assert counted(path) == [1, 0, 0, 0, 0, 0]
    (tmp_path / "a[1].csv").write_text("a\n1\n")
    (tmp_path / "a1.csv").write_text("a\n2\n2\n")
    assert counted(tmp_path / "a[1].csv") == [1, 0, 0, 0, 0, 0]
    assert counted(tmp_path / "a?.csv") == [0, 2, 0, 0, 0, 0]
    for mistake in ({"delimiter": ",,"}, {"quote": ","}, {"encoding": "utf-16"}, {"names": ["a", "a"]}):
        with pytest.raises(ArgumentError):
            read_csv(path, **mistake)


def test_blocks_of_lines_do_not_matter(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.csv"
    path.write_bytes(GOOD * 3 + b'0,"l\nm"\n0,' + b"1" * 400 + b"\n0,2")
    whole = counted(path), counted(path, newlines=True), Count().statistic(read_csv(path)).units[0]
    monkeypatch.setattr("indistinct.data.engines.csv_lines._BLOCK", 7)
    monkeypatch.setattr("indistinct.data.engines.csv_lines._LONGEST", 100)
    assert (counted(path), counted(path, newlines=True)) == whole[:2]
    assert Count().statistic(read_csv(path)).units[0] == whole[2]


def test_a_line_is_too_long_by_itself(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.csv"
    monkeypatch.setattr("indistinct.data.engines.csv_lines._BLOCK", 7)
    monkeypatch.setattr("indistinct.data.engines.csv_lines._LONGEST", 20)
    for before in range(7):
        for length in (18, 20, 21, 40):
            for after in ("", "\n", "\n1,1"):
                path.write_text(f"a,b\n2,{'z' * before}\n1," + "z" * (length - 2) + after)
                found = [int(length <= 20) + (after == "\n1,1"), 1, 0, 0, 0, 0]
                assert counted(path) == found, (before, length, after)
        assert Count().statistic(read_csv(path)).units[0] == 3


def test_a_header_is_not_shown_and_types_are_not_guessed(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("full name,HIV,positive\n")
    with pytest.raises(DataError, match="unknown column 'person'") as refused:
        Count(UserRecords("person", 1)).statistic(read_csv(path))
    assert "HIV" not in str(refused.value)
    ids = [str(number) for number in range(300)] + [f" {number}" for number in range(300)]
    users = Count(UserRecords("person", 1))
    for more, expected in (([], 600), (["x7,1"], 601)):
        path.write_text("\n".join(["person,v", *(f"{one},1" for one in ids), *more]))
        assert users.statistic(read_csv(path)).units[0] == expected


def test_folders_are_not_columns(tmp_path: Path) -> None:
    folder = tmp_path / "person=7"
    folder.mkdir()
    pq.write_table(pa.table({"person": [1, 2, 3]}), folder / "a.parquet")
    data = read_parquet(tmp_path / "*" / "*.parquet")
    assert Count(UserRecords("person", 1)).statistic(data).units.tolist() == [3]
    pq.write_table(pa.table({"v": [1]}), tmp_path / "v[1].parquet")
    pq.write_table(pa.table({"v": [1, 1]}), tmp_path / "v1.parquet")
    assert Count().statistic(read_parquet(tmp_path / "v[1].parquet")).units.tolist() == [1]


# The sandbox


@pytest.mark.parametrize(
    "query",
    [
        "SELECT * FROM t ) LIMIT 0; COPY t TO 'x.csv'; SELECT * FROM (SELECT 1",
        "SELECT 1; SELECT 2",
        "COPY t TO 'x.csv'",
        "PIVOT t ON u",
        "SELECT * FROM (PIVOT t ON u)",
        "FROM t PIVOT (count(*) FOR u IN ('ab'))",
        "WITH x AS (INSERT INTO t VALUES ('q', 1) RETURNING *) SELECT * FROM x",
        "SUMMARIZE t",
        "SELECT * FROM (SHOW TABLES)",
        "INSTALL httpfs",
        "SELECT * FROM query('SUMMARIZE t')",
        "SELECT * FROM duckdb_settings()",
        "",
    ],
)
def test_only_one_select_is_run(query: str, collated: Path, tmp_path: Path) -> None:
    for source in ({"database": collated}, {"connection": duckdb.connect()}):
        with pytest.raises(ArgumentError, match="one SELECT"):
            read_sql(query, **source)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "query",
    [
        "SELECT * FROM read_csv('/etc/passwd')",
        "SELECT * FROM '{folder}/other.parquet'",
        "SELECT * FROM glob('/etc/*')",
        "SELECT content FROM read_text('/etc/passwd')",
    ],
)
def test_a_select_reads_no_other_file(query: str, collated: Path, tmp_path: Path) -> None:
    pq.write_table(pa.table({"a": [1]}), tmp_path / "other.parquet")
    with pytest.raises((DataError, ArgumentError)) as refused:
        Count().statistic(read_sql(query.format(folder=tmp_path), database=collated))
    assert "root:" not in str(refused.value)
    assert not list(tmp_path.glob("*.csv"))


def test_one_file_is_many_tables(collated: Path) -> None:
    one, other = (read_sql(f"SELECT * FROM {name}", database=collated) for name in ("t", "main.t"))
    assert Count().statistic(one).units[0] == Count().statistic(other).units[0] == 500


def test_a_select_may_end_as_people_end_it(collated: Path) -> None:
    for query in ("SELECT * FROM t;", "FROM t -- all", "WITH x AS (FROM t) SELECT * FROM x UNION ALL FROM t"):
        assert Count().statistic(read_sql(query, database=collated)).units[0] in (500, 1000)


def spills() -> set[str]:
    return {name for name in os.listdir(tempfile.gettempdir()) if name.startswith("indistinct-spill-")}


def test_the_folder_is_private_and_goes(
    collated: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # of its own, as other tests run beside it
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    before = spills()
    data = read_sql("SELECT * FROM t", database=collated)
    (own,) = spills() - before
    assert os.stat(os.path.join(tempfile.gettempdir(), own)).st_mode & 0o777 == 0o700
    del data
    assert own not in spills()
    code = (
        "from indistinct.data.engines.sandbox import Sandbox;"
        "s = Sandbox('100MB', 1); print('ready', flush=True); input()"
    )
    asked = [sys.executable, "-c", code]
    with subprocess.Popen(asked, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as child:
        assert child.stdout is not None
        child.stdout.readline()
        (left,) = spills() - before
        alive = Sandbox("100MB", 1)
        assert left in spills()  # its owner lives
        child.kill()
    del alive
    again = Sandbox("100MB", 1)
    assert left not in spills()
    del again


def test_it_can_spill() -> None:
    query = "SELECT hash(i) AS h, i FROM range(2000000) AS t(i) ORDER BY h"
    sandbox = Sandbox("50MB", 1)
    reader = sandbox.connection.sql(query).to_arrow_reader(100_000)
    assert next(reader).num_rows and len(os.listdir(sandbox.folder)) > 1
    assert sum(batch.num_rows for batch in reader) > 1_500_000


def test_an_empty_table_is_zeros(tmp_path: Path) -> None:
    frame = pa.table({"u": pa.array([], pa.string()), "v": pa.array([], pa.float64())})
    pq.write_table(frame, tmp_path / "e.parquet")
    (tmp_path / "e.csv").write_text("u,v\n")
    engines = (
        table(frame),
        table({"u": [], "v": []}),
        read_parquet(tmp_path / "e.parquet"),
        read_csv(tmp_path / "e.csv"),
    )
    for data in engines:
        for unit in (UserRecords("u", 1), UserTotals("u", Norm.L1, 1)):
            for query in (
                Count(),
                Count(unit),
                Sum("v", Numbers(0, 1), unit),
                Histogram({"v": Bins(0, 1, 2)}),
            ):
                assert not query.statistic(data).units.any()
                query.gaussian(scale=1).release(data)
