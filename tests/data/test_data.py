"""The bounded sum: the same bits on every engine, a bound that holds, and clear refusals."""

import ast
import itertools
import os
import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from indistinct import Adjacency
from indistinct.data import (
    Bins,
    BoundedSum,
    Boxed,
    ByGroup,
    Categories,
    Cells,
    Clipped,
    Missing,
    Norm,
    Numbers,
    Outside,
    Records,
    Table,
    UserRecords,
    UserTotals,
    read_csv,
    read_parquet,
    read_sql,
    table,
)
from indistinct.data.records import types as batches
from indistinct.data.records.encoding import clip_norms
from indistinct.data.records.moments import NumberMoments
from indistinct.errors import ArgumentError, DataError, SourceChanged

ROWS = 3_000
TOWNS = ("Aarau", "Bern", "O'Hara", 'say "hi"')
BINS = Bins(0.1, 99.7, 37, missing=Missing.DROP)
TOWN = Categories(TOWNS)
AGES = Categories(list(range(10)), outside=Outside.DROP)


def columns() -> dict[str, Any]:
    draw = np.random.default_rng(7)
    x = draw.normal(50, 40, ROWS)
    x[: BINS.count + 1] = BINS.edges  # values on the edges and next to them decide which formula was used
    x[40 : 41 + BINS.count] = np.nextafter(BINS.edges, -np.inf)
    x[80 : 81 + BINS.count] = np.nextafter(BINS.edges, np.inf)
    x[200:210] = np.nan
    user = np.minimum(draw.geometric(0.01, ROWS), 300)
    return {
        "user": user,
        "name": np.array([f"user {number}" for number in user]),
        "town": draw.choice(np.array(TOWNS), ROWS),
        "age": draw.integers(0, 12, ROWS).astype(np.int32),
        "member": draw.integers(0, 2, ROWS).astype(bool),
        "x": x,
        "y": draw.normal(0, 1, ROWS),
        "big": draw.normal(0, 1, ROWS) * 10.0 ** draw.integers(-300, 300, ROWS),
    }


DROP, ERROR = {"missing": Missing.DROP}, {"missing": Missing.ERROR}
SUMS = {
    "count": Cells(()),
    "categories": Cells((("town", TOWN),)),
    "categories, others last": Cells((("town", Categories(TOWNS[:2], outside=Outside.LAST)),)),
    "truth": Cells((("member", Categories([False, True])),)),
    "integers, others dropped": Cells((("age", AGES), ("town", TOWN))),
    "bins": Cells((("x", BINS), ("town", TOWN))),
    "bins, outside dropped": Cells((("x", Bins(0, 100, 10, outside=Outside.DROP, **DROP)),)),
    "bins far from the data": Cells((("big", Bins(-1e-3, 1e-3, 9)),)),
    "many bins": Cells((("big", Bins(-1e9, 1e9, 100_000)),)),
    "bins of integers": Cells((("age", Bins(0, 9, 4)),)),
    "box": Boxed((("x", Numbers(0, 100, **DROP)), ("y", Numbers(-1.1, 0.7)))),
    "box, outside dropped": Boxed((("y", Numbers(-0.5, 0.5, outside=Outside.DROP)),)),
    "one number of any size": Boxed((("big", Numbers(-3.3, 1e3)),)),
    "counts by group": ByGroup(Cells((("town", TOWN),)), Cells((("x", BINS),))),
    "moments by group": ByGroup(
        Cells((("town", TOWN), ("age", AGES))), NumberMoments("big", Numbers(-1e5, 1e6), 3)
    ),
    "moments, some missing": NumberMoments("x", Numbers(0, 50), 3),
    "sums by group, outside dropped": ByGroup(
        Cells((("member", Categories([False, True])),)),
        Boxed((("y", Numbers(-0.3, 0.9, outside=Outside.DROP)),)),
    ),
    "L1": Clipped(("x", "y"), Norm.L1, 30.0, Missing.DROP),
    "L2": Clipped(("x", "y", "big"), Norm.L2, 30.0, Missing.DROP),
    "max": Clipped(("x", "y", "big"), Norm.MAX, 0.3, Missing.DROP),
}
UNITS = {
    "records": Records(),
    "3 of a user": UserRecords("user", 3),
    "1 of a named user": UserRecords("name", 1, key=11),
    "2 of a user in 2 groups": UserRecords("user", 2, groups=2),
    "totals of a user": UserTotals("user", Norm.L1, 4.0),
    "totals of a named user": UserTotals("name", Norm.L2, 2.5),
}


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("data")
    frame = pa.table(columns())
    pq.write_table(frame.slice(0, 1000), folder / "one's.parquet", row_group_size=300)
    pq.write_table(frame.slice(1000), folder / "two.parquet")
    pd.DataFrame(columns()).to_csv(folder / "all.csv", index=False)
    return folder


@pytest.fixture(scope="module")
def small_engines(files: Path) -> dict[str, Table]:
    """Every engine that starts at once, in different orders of records."""
    import duckdb

    frame = pd.DataFrame(columns())
    shuffled = frame.sample(frac=1, random_state=3)
    database = files / "all.duckdb"
    with duckdb.connect(str(database)) as connection:
        connection.execute("CREATE TABLE people AS SELECT * FROM frame")
    return {
        "numpy": table(columns()),
        "pandas": table(shuffled),
        "polars": table(pl.from_pandas(frame)),
        "arrow": table(pa.table({**columns(), "town": pa.array(columns()["town"]).dictionary_encode()})),
        "parquet": read_parquet(files / "*.parquet"),
        "csv": read_csv(files / "all.csv"),
        "sql": read_sql("SELECT * FROM people ORDER BY y", database=database),
        "connection": read_sql("SELECT * FROM frame", connection=duckdb.connect().register("frame", frame)),
    }


def bounded(name: str, unit: str) -> BoundedSum:
    return BoundedSum(SUMS[name], UNITS[unit])


@pytest.mark.parametrize("unit", UNITS)
def test_engines_agree_bit_for_bit(unit: str, small_engines: dict[str, Table]) -> None:
    """Each sum alone, added up here and by DuckDB; and all in one pass, on every engine."""
    every = [bounded(name, unit) for name in SUMS]
    alone = {one: small_engines["numpy"].total(one).units.tolist() for one in every}
    assert all(map(any, alone.values()))
    assert {one: small_engines["parquet"].total(one).units.tolist() for one in every} == alone
    for name, engine in small_engines.items():
        together = engine.totals(every)
        assert {one: found.units.tolist() for one, found in together.items()} == alone, name


def test_batches_do_not_matter(small_engines: dict[str, Table], monkeypatch: pytest.MonkeyPatch) -> None:
    whole = {case: small_engines["numpy"].total(bounded(*case)) for case in itertools.product(SUMS, UNITS)}
    monkeypatch.setattr(batches, "ROWS", 7)
    for case in itertools.product(("L2", "categories", "box"), UNITS):
        assert table(columns()).total(bounded(*case)).units.tolist() == whole[case].units.tolist()


def test_sums_of_several_units_are_made_at_once(small_engines: dict[str, Table]) -> None:
    every = [bounded(*case) for case in itertools.product(("categories", "L2", "moments by group"), UNITS)]
    alone = {one: small_engines["numpy"].total(one).units.tolist() for one in every}
    for name in ("numpy", "csv", "parquet"):
        together = small_engines[name].totals(every)
        assert {one: found.units.tolist() for one, found in together.items()} == alone, name


@pytest.mark.xdist_group("spark")
@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas")
def test_spark_agrees_bit_for_bit(spark: Any, small_engines: dict[str, Table]) -> None:
    frame = spark.createDataFrame(pa.table(columns())).repartition(3)
    distributed = table(frame)
    by_user = itertools.product(("categories", "box", "L2", "moments by group"), UNITS)
    asked = [bounded(*case) for case in {*((name, "records") for name in SUMS), *by_user}]
    found, expected = (  # together: a job for each would take as long as all the others
        {one: total.units.tolist() for one, total in engine.totals(asked).items()}
        for engine in (distributed, small_engines["parquet"])
    )
    assert found == expected
    alone = bounded("bins", "records"), bounded("L2", "3 of a user")
    assert [distributed.total(one).units.tolist() for one in alone] == [expected[one] for one in alone]
    refusals = {
        "has values outside its declared domain": BoundedSum(Cells((("age", LISTED),))),
        "has missing values": BoundedSum(Boxed((("x", Numbers(0, 1, **ERROR)),))),
        "unknown column 'nobody'": BoundedSum(Cells(()), UserRecords("nobody", 1)),
    }
    for message, refused in refusals.items():
        with pytest.raises(DataError, match=message):
            distributed.total(refused)
    for unit in UNITS.values():
        empty = table(frame.where("age > 99")).total(BoundedSum(Cells((("town", TOWN),)), unit))
        assert not empty.units.any()


@pytest.mark.parametrize("outside", [Outside.ERROR, Outside.CLIP, Outside.DROP])
@pytest.mark.parametrize(("low", "count"), [(0, 1000), (-1e-3, 10), (0, 20_000)])
def test_engines_agree_on_extremes(outside: Outside, low: float, count: int, tmp_path: Path) -> None:
    values = [1.7e308, -1.7e308, np.inf, -np.inf, 5e-324, -5e-324, 0.0, -0.0, 1e300, 0.5, 1.0, np.nan]
    data = pa.table({"x": pa.array([*values, None])})
    pq.write_table(data, tmp_path / "x.parquet")
    query = BoundedSum(Cells((("x", Bins(low, 1, count, outside, Missing.DROP)),)))
    if outside is Outside.ERROR:
        for engine in (table(data), read_parquet(tmp_path / "x.parquet")):
            with pytest.raises(DataError, match="outside its declared domain"):
                engine.total(query)
    else:
        units = table(data).total(query).units.tolist()
        assert units == read_parquet(tmp_path / "x.parquet").total(query).units.tolist()
        assert sum(units) == (11 if outside is Outside.CLIP else 5 + (low < 0))


@pytest.mark.parametrize("kind", [pa.float64(), pa.float32()], ids=str)
@pytest.mark.parametrize("more", [[np.inf], [0.125], []], ids=str)
def test_nan_is_missing_whatever_a_file_says_of_its_values(
    kind: Any, more: list[float], tmp_path: Path
) -> None:
    """DuckDB concludes from the least and the largest value in a Parquet file that none is NaN."""
    import duckdb

    data = pa.table({"x": pa.array([0.25, 0.5, np.nan, *more], kind)})
    pq.write_table(data, path := tmp_path / "x.parquet")
    with duckdb.connect() as connection:
        asked = read_sql(f"SELECT * FROM '{path}'", connection=connection)
        for outside, encoding in itertools.product((Outside.CLIP, Outside.DROP), ("sum", "moments", "bins")):
            numbers = Numbers(0, 1, outside)
            query = BoundedSum(
                {
                    "sum": Boxed((("x", numbers),)),
                    "moments": NumberMoments("x", numbers, 3),
                    "bins": Cells((("x", Bins(0, 1, 4, outside)),)),
                }[encoding]
            )
            expected = table(data).total(query).units.tolist()
            assert read_parquet(path).total(query).units.tolist() == expected
            assert asked.total(query).units.tolist() == expected


def test_counts_are_those_of_pandas(small_engines: dict[str, Table]) -> None:
    frame = pd.DataFrame(columns())
    totals = small_engines["parquet"].total(bounded("integers, others dropped", "records"))
    expected = pd.crosstab(frame["age"], frame["town"]).reindex(index=range(10), columns=TOWNS)
    assert totals.units.reshape(10, 4).tolist() == expected.to_numpy().tolist()
    y, bins = frame["y"], Bins(-1.1, 1.3, 17)
    counts = small_engines["parquet"].total(BoundedSum(Cells((("y", bins),)))).units
    assert counts.tolist() == np.histogram(y.clip(-1.1, 1.3), bins.edges)[0].tolist()


def test_sums_are_those_of_numpy(small_engines: dict[str, Table]) -> None:
    x = columns()["x"]
    expected = np.clip(x[~np.isnan(x)], 0, 100).sum()
    got = small_engines["csv"].total(BoundedSum(Boxed((("x", Numbers(0, 100, missing=Missing.DROP)),))))
    assert got.values[0] == pytest.approx(expected, rel=1e-9)
    ages = small_engines["csv"].total(BoundedSum(Boxed((("age", Numbers(0, 100)),))))
    assert ages.values[0] == columns()["age"].sum()  # integers are exact
    vectors = np.stack([x, columns()["y"]], axis=1)[~np.isnan(x)]
    vectors *= np.minimum(1, 30 / np.linalg.norm(vectors, axis=1))[:, None]
    l2 = small_engines["csv"].total(BoundedSum(Clipped(("x", "y"), Norm.L2, 30.0, Missing.DROP)))
    np.testing.assert_allclose(l2.values, vectors.sum(axis=0), rtol=1e-8, atol=1e-5)


@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize("name", SUMS)
def test_no_neighbour_moves_further_than_the_sensitivity(name: str, unit: str) -> None:
    """Removes, adds and replaces units of random small tables; distances are measured in exact integers."""
    draw = np.random.default_rng(len(name) * 31 + len(unit))
    query = bounded(name, unit)
    pool = {key: values[draw.permutation(ROWS)] for key, values in columns().items()}

    def total(places: np.ndarray, who: np.ndarray) -> np.ndarray:
        data = {key: values[places] for key, values in pool.items()}
        data["user"], data["name"] = who, np.array([f"user {number}" for number in who])
        return table(data).total(query).units

    for _ in range(8):
        size = int(draw.integers(8, 30))
        places = draw.choice(ROWS, size, replace=False)
        who = np.arange(size) if unit == "records" else draw.integers(0, 4, size)
        base = total(places, who)
        others = who != who[0]
        swapped = places.copy()
        swapped[~others] = draw.choice(ROWS, int((~others).sum()))
        for adjacency, moved in (
            (Adjacency.ADD_REMOVE, total(places[others], who[others]) if others.any() else 0 * base),
            (Adjacency.REPLACE_ONE, total(swapped, who)),
        ):
            apart = [abs(step) for step in (base - moved)[base != moved].tolist()]
            for norm, power in ((Norm.L1, sum(apart)), (Norm.MAX, max(apart, default=0))):
                assert power * query.step <= query.sensitivity(norm, adjacency)
            squares = sum(step * step for step in apart)
            assert squares * query.step**2 <= query.sensitivity(Norm.L2, adjacency) ** 2 * (1 + 1e-15)


@pytest.mark.parametrize(
    ("query", "add_remove", "replace_one"),
    [
        (BoundedSum(Cells((("town", TOWN),))), (1, 1, 1), (2, 2**0.5, 1)),
        (BoundedSum(Cells(())), (1, 1, 1), (1, 1, 1)),
        (BoundedSum(Cells((("town", TOWN),)), UserRecords("user", 3)), (3, 3, 3), (6, 18**0.5, 3)),
        (BoundedSum(Cells((("town", TOWN),)), UserTotals("user", Norm.L1, 5)), (5, 5, 5), (10, 50**0.5, 5)),
        (BoundedSum(Boxed((("age", Numbers(18, 100, **ERROR)),))), (100,) * 3, (82,) * 3),
        (BoundedSum(Boxed((("age", Numbers(18, 100)),))), (100,) * 3, (100,) * 3),
        (BoundedSum(Boxed((("age", Numbers(18, 100)),)), UserRecords("user", 2)), (200,) * 3, (200,) * 3),
        (BoundedSum(Boxed((("age", Numbers(-4, 3)),))), (4,) * 3, (7,) * 3),
        (BoundedSum(Clipped(("x", "y"), Norm.L2, 2.0)), (8**0.5, 2, 2), (32**0.5, 4, 4)),
        (BoundedSum(Clipped(("x", "y"), Norm.L1, 2.0)), (2, 2, 2), (4, 4, 4)),
        (BoundedSum(Clipped(("x", "y"), Norm.MAX, 2.0)), (4, 8**0.5, 2), (8, 32**0.5, 4)),
    ],
)
def test_sensitivities(query: BoundedSum, add_remove: Any, replace_one: Any) -> None:
    for adjacency, expected in zip(Adjacency, (add_remove, replace_one), strict=True):
        found = [query.sensitivity(norm, adjacency) for norm in Norm]
        assert found == pytest.approx(expected, rel=1e-15)
        assert all(f >= e or f == pytest.approx(e, rel=2e-16) for f, e in zip(found, expected, strict=True))


@given(
    st.lists(st.floats(-1e15, 1e15), min_size=1, max_size=8),
    st.sampled_from(Norm),
    st.integers(1, 2**40),
)
def test_clipped_norms_hold_in_exact_arithmetic(values: list[float], norm: Norm, limit: int) -> None:
    clipped = clip_norms(np.rint(np.array(values)), np.zeros(len(values), np.intp), 1, norm, limit)
    sizes = [abs(int(value)) for value in clipped]
    lengths = {Norm.L1: sum(sizes), Norm.MAX: max(sizes)}
    if norm is Norm.L2:
        assert sum(size * size for size in sizes) <= limit * limit
    else:
        assert lengths[norm] <= limit


def test_a_users_choice_does_not_depend_on_others_and_is_fair() -> None:
    draw = np.random.default_rng(5)
    users = 4_000
    data = {"user": np.repeat(np.arange(users), 4), "value": np.tile([0, 0, 0, 1], users)}
    order = draw.permutation(4 * users)
    query = BoundedSum(Cells((("value", Categories([0, 1])),)), UserRecords("user", 1))
    zeros, ones = table({key: values[order] for key, values in data.items()}).total(query).units
    assert zeros + ones == users
    assert abs(ones / users - 0.25) < 5 * (0.25 * 0.75 / users) ** 0.5  # each record has the same chance
    other_key = BoundedSum(query.encoding, UserRecords("user", 1, key=1))
    assert table(data).total(other_key).units[1] != ones


LISTED = Categories([1], outside=Outside.ERROR, **ERROR)


def one(**values: Any) -> Table:
    return table({name: np.array(value) for name, value in values.items()})


@pytest.mark.parametrize(
    ("data", "query", "message"),
    [
        (one(a=[1, 2]), BoundedSum(Cells((("b", AGES),))), "unknown column 'b'"),
        (one(a=[12345]), BoundedSum(Cells((("a", LISTED),))), "'a' has values outside its declared"),
        (one(a=[12345.5]), BoundedSum(Boxed((("a", Numbers(0, 1, outside=Outside.ERROR)),))), "outside"),
        (one(a=[np.nan]), BoundedSum(Boxed((("a", Numbers(0, 1, **ERROR)),))), "'a' has missing values"),
        (one(a=[np.inf]), BoundedSum(Clipped(("a",), Norm.L2, 1.0, **ERROR)), "'a' has missing values"),
        (one(a=["x", None]), BoundedSum(Cells((("a", LISTED),))), "'a' has missing values"),
        (
            one(a=["x", None]),
            BoundedSum(Cells(()), UserRecords("a", 1, **ERROR)),
            "unit column 'a' has missing",
        ),
        (one(a=[1 + 2j]), BoundedSum(Boxed((("a", Numbers(0, 1)),))), "not supported"),
    ],
)
def test_bad_data_is_refused_without_showing_it(data: Table, query: BoundedSum, message: str) -> None:
    with pytest.raises(DataError, match=re.escape(message)) as refused:
        data.total(query)
    assert "12345" not in str(refused.value)


def test_bad_files_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "data.csv"
    with pytest.raises(DataError, match="no such file"):
        read_csv(path)
    path.write_text("user,a\n1,2\n,3\n")
    data = read_csv(path)
    with pytest.raises(DataError, match="unit column 'user' has missing values"):
        data.total(BoundedSum(Cells(()), UserRecords("user", 1, missing=Missing.ERROR)))
    assert data.total(BoundedSum(Cells(()))).units.tolist() == [2]
    path.write_text("user,a\n1,2\n")
    with pytest.raises(SourceChanged, match="changed after it was opened"):
        data.total(BoundedSum(Cells(())))
    path.unlink()
    with pytest.raises(SourceChanged):
        data.total(BoundedSum(Cells(())))
    path.write_text("not parquet")
    with pytest.raises(DataError, match="cannot be used as it is"):
        read_parquet(path)


def test_a_file_that_changes_while_it_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "data.parquet"
    pq.write_table(pa.table(columns()), path)
    data = read_parquet(path)
    query = BoundedSum(Clipped(("y",), Norm.L1, 1.0))  # which DuckDB does not add up by itself
    encode = Clipped.encode

    def meddle(self: Clipped, batch: Any) -> Any:
        os.utime(path)
        return encode(self, batch)

    monkeypatch.setattr(Clipped, "encode", meddle)
    with pytest.raises(SourceChanged):
        data.total(query)


@pytest.mark.parametrize(
    "mistake",
    [
        lambda: Numbers(1, 0),
        lambda: Numbers(0, float("inf")),
        lambda: Numbers(0, 1, outside="clip"),
        lambda: Bins(0, 1, 0),
        lambda: Bins(1e16, 1e16 + 2, 100),
        lambda: Categories([]),
        lambda: Categories(["a", 1]),
        lambda: Categories("ab"),
        lambda: Categories([1.5]),
        lambda: Categories(["a", "a"]),
        lambda: Categories(["a"], outside=Outside.CLIP),
        lambda: Bins(0, 1, 2, outside=Outside.LAST),
        lambda: Clipped(("a", "a"), Norm.L2, 1.0),
        lambda: Clipped(("a",), "L2", 1.0),
        lambda: Clipped(("a",), Norm.L2, 0.0),
        lambda: UserRecords("a", 0),
        lambda: UserTotals("a", Norm.L2, -1.0),
        lambda: BoundedSum(Clipped(("a",), Norm.L2, 1.0), UserTotals("b", Norm.L2, 1e-9)),
        lambda: BoundedSum(Cells(()), "user"),
        lambda: table([1, 2]),
        lambda: read_sql("SELECT 1"),
    ],
)
def test_bad_arguments_are_refused(mistake: Any) -> None:
    with pytest.raises(ArgumentError):
        mistake()


def test_totals_do_not_show_themselves(small_engines: dict[str, Table]) -> None:
    totals = small_engines["numpy"].total(bounded("count", "records"))
    assert str(ROWS) not in repr(totals)


ENGINES = {"duckdb", "pandas", "polars", "pyarrow", "pyspark", "sqlite3"}
READERS = {
    "batches",
    "fold",
    "aggregated",
    "by_engine",
    "__arrow_c_stream__",
    "loadtxt",
    "genfromtxt",
    "fromfile",
}


def test_no_other_module_reads_records() -> None:
    """Outside data/ no engine is imported and no method that hands out records is called; inside it, only
    tables do so, and only `Table.total` sums."""
    source = Path(__file__).parents[2] / "src" / "indistinct"
    suspect = re.compile("|".join(map(re.escape, (*ENGINES, *READERS, "indistinct.data."))))
    for path in source.rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        if "data" in path.relative_to(source).parts or not suspect.search(text):
            continue
        for node in ast.walk(ast.parse(text)):
            names: list[str] = []
            if isinstance(node, ast.Import):
                names = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom):
                names = [node.module or ""]
            used = {name.split(".")[0] for name in names} & ENGINES
            if path.parent.name == "ledger":  # which has a database of its own
                used -= {"sqlite3"}
            assert not used, f"{path.name} imports {used}"
            deep = [name for name in names if name.startswith("indistinct.data.")]
            assert not deep, f"{path.name} reaches into {deep}; ask indistinct.data"
            called = isinstance(node, ast.Attribute) and node.attr in READERS
            assert not called, f"{path.name} reads records by {ast.unparse(node)}"
