"""One value more that is hard to read: it is missing, on every engine, and no reason to refuse a table."""

import datetime as dt
from array import array
from collections import UserList, deque
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Any
from uuid import UUID

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from indistinct import from_json
from indistinct.data import (
    Bins,
    Categories,
    Count,
    FeatureSum,
    HeavyHitters,
    Histogram,
    Norm,
    Numbers,
    Query,
    Sum,
    Times,
    UserRecords,
    UserTotals,
    VectorSum,
    read_csv,
    read_parquet,
    read_sql,
)
from indistinct.data.queries.feature_sums import FeatureMap
from indistinct.errors import ArgumentError, DataError

LONG = "0" * 4301 + "7"
ONES = Histogram({"x": Categories([1, 2, 7])})
WORDS = Histogram({"x": Categories(["a", "b", "7"])})
BY_USER = Histogram({"x": Categories(["a", "b"])}, UserRecords("x", 1))
DAYS = Histogram({"x": Bins(0, 10, 2, of=Times("day"))})
LARGE = Histogram({"x": Categories([2**53, 2**53 + 1])})


def texts(words: list[bytes | None]) -> Any:
    """Arrow takes the word of whoever made them that they are UTF-8."""
    held = pa.array(words, pa.binary())
    return pa.Array.from_buffers(pa.string(), len(held), held.buffers())


def in_file(column: Any, folder: Path, **options: Any) -> Any:
    pq.write_table(pa.table({"x": column}), folder / "x.parquet", **options)
    return read_parquet(folder / "x.parquet", threads=1)


def in_lines(words: list[str], folder: Path) -> Any:
    (folder / "x.csv").write_text("\n".join(["x,y", *(f"{word},0" for word in words)]))
    return read_csv(folder / "x.csv", threads=1)


def in_database(kind: str) -> Any:
    query = f"SELECT CAST(x AS {kind}) AS x FROM (VALUES ('7'), ('{2**64}')) AS v(x)"
    return read_sql(query, connection=duckdb.connect())


class Letter(str, Enum):  # noqa: UP042 -- as people write it, and then str() gives its name
    A = "a"


def coded(*chunks: Any) -> Any:
    return pa.chunked_array([pa.DictionaryArray.from_arrays(places, words) for places, words in chunks])


def milliseconds(values: list[int], zone: str | None) -> Any:
    return pa.array(values).cast(pa.timestamp("ms", zone))


def many(first: int, last: int) -> Any:
    words = pa.array([str(number) for number in range(first, last)])
    return pa.array(range(last - first), pa.int8()), words


Made = Callable[[Path], Any]
BOTH = [b"a", b"b", b"\xff\xfe"]
OTHERS = pl.Series([2**53 + 1, None]), deque([2**53 + 1, 0.5]), UserList([2**53 + 1, "x"]), (2**53 + 1, 2.5)
CASES: dict[str, tuple[Query, Made, list[int]]] = {
    "many zeros": (ONES, lambda _: {"x": ["1", "2", LONG]}, [1, 1, 1]),
    "many zeros in pandas": (ONES, lambda _: pd.DataFrame({"x": ["1", "2", LONG]}), [1, 1, 1]),
    "many zeros and no number": (ONES, lambda _: pa.table({"x": ["1", "x", LONG]}), [1, 0, 1]),
    "many zeros in a file": (ONES, lambda f: in_lines(["1", "x", LONG], f), [1, 0, 1]),
    "many nines": (ONES, lambda f: in_lines(["1", "9" * 5000, "-1"], f), [1, 0, 0]),
    "no text": (WORDS, lambda _: pa.table({"x": texts(BOTH)}), [1, 1, 0]),
    "no text, coded": (WORDS, lambda _: pa.table({"x": texts(BOTH).dictionary_encode()}), [1, 1, 0]),
    "no number": (ONES, lambda _: pa.table({"x": texts([b"1", b"\xff", b"2"])}), [1, 1, 0]),
    "no user": (BY_USER, lambda _: pa.table({"x": texts(BOTH)}), [1, 1]),
    "no text in a file": (WORDS, lambda f: in_file(texts(BOTH), f), [1, 1, 0]),
    "no text, plain": (WORDS, lambda f: in_file(texts(BOTH), f, use_dictionary=False), [1, 1, 0]),
    "no user in a file": (BY_USER, lambda f: in_file(texts(BOTH), f), [1, 1]),
    "no such day": (DAYS, lambda f: in_file(milliseconds([1, 2**62], None), f), [1, 0]),
    "no such moment": (DAYS, lambda f: in_file(milliseconds([1, -(2**63)], "UTC"), f), [1, 0]),
    "dictionaries": (WORDS, lambda _: pa.table({"x": coded(many(0, 100), many(100, 128))}), [0, 0, 1]),
    "a null in one": (
        WORDS,
        lambda _: pa.table({"x": coded(([0], pa.array(["a"])), ([1, 0], pa.array([None, "b"])))}),
        [1, 1, 0],
    ),
    "no chunks": (WORDS, lambda _: pa.table({"x": pa.chunked_array([], pa.string())}), [0, 0, 0]),
    "NumPy's own texts": (
        WORDS,
        lambda _: {"x": np.array(["a", "b", None], dtype=np.dtypes.StringDType(na_object=None))},
        [1, 1, 0],
    ),
    **{type(one).__name__: (LARGE, lambda _, one=one: {"x": one}, [0, 1]) for one in OTHERS},
    "UserList of many types": (ONES, lambda _: {"x": UserList([1.0, "x", (2,)])}, [1, 0, 0]),
    "array": (ONES, lambda _: {"x": array("d", [1.0, np.nan])}, [1, 0, 0]),
    "pandas array": (ONES, lambda _: {"x": pd.array([1, None], dtype="Int64")}, [1, 0, 0]),
    "an Enum of texts": (WORDS, lambda _: {"x": [Letter.A]}, [1, 0, 0]),
    "a UUID": (
        Histogram({"x": Categories(["12345678-1234-5678-1234-567812345678"])}),
        lambda _: {"x": [UUID("12345678123456781234567812345678")]},
        [1],
    ),
    **{
        f"{kind} as {query.axes} of {query.unit}": (query, lambda _, kind=kind: in_database(kind), expected)
        for kind in ("HUGEINT", "BIGNUM", "UHUGEINT")
        for query, expected in (
            (Histogram({"x": Categories(["7", str(2**64)])}), [1, 0]),
            (ONES, [0, 0, 1]),
            (Histogram({"x": Bins(0, 2.0**65, 2)}), [1, 1]),
            (Histogram({"x": Categories([7])}, UserRecords("x", 1)), [1]),
        )
    },
    "an enum with a bracket": (
        Histogram({"x": Categories(["a[b"])}),
        lambda _: read_sql("SELECT 'a[b'::ENUM('a[b') AS x", connection=duckdb.connect()),
        [1],
    ),
    "pandas categories": (WORDS, lambda _: {"x": pd.Categorical(["a", None])}, [1, 0, 0]),
}


@pytest.mark.parametrize("name", CASES)
def test_what_cannot_be_read_is_missing(name: str, tmp_path: Path) -> None:
    query, make, expected = CASES[name]
    assert query.statistic(make(tmp_path)).units.tolist()[: len(expected)] == expected


class Moody:
    """A value that raises whatever is asked of it."""

    def __getattribute__(self, name: str) -> Any:
        raise RuntimeError("HIV positive")


def test_values_that_raise_are_missing() -> None:
    assert ONES.statistic({"x": [Moody(), 2]}).units.tolist() == [0, 1, 0]
    with np.errstate(all="raise"):  # as somebody may have set it
        for small in (5e-324, -1.7e308):
            assert Sum("x", Numbers(0, 1e20)).statistic({"x": [1e20, small]}).values[0] > 0.9e20
            assert Histogram({"x": Bins(-1, 1, 2)}).statistic({"x": [small]}).units.sum() == 1
    assert DAYS.statistic({"x": [Moody(), dt.date(1970, 1, 2)]}).units.tolist() == [1, 0]


@dataclass(frozen=True)
class Poles(FeatureMap):
    """Features that are not finite at one point."""

    size, dimension, bound, nonnegative = 2, 1, 1.0, True
    off: float = 0.0

    def __call__(self, points: Any) -> Any:
        return np.where(points == 0.5, np.nan, np.repeat(points, 2, axis=1) / 2)

    def wobble(self, radius: float) -> float:
        return self.off


def test_features_that_are_not_finite_are_left_out() -> None:
    query = FeatureSum({"x": Numbers(0, 1)}, Poles())
    assert query.statistic({"x": [0.5, 1.0]}).values.tolist() == [0.5, 0.5]


def test_only_rounding_that_adds_up_limits_the_number_of_records() -> None:
    data = {"x": np.ones(100)}
    assert FeatureSum({"x": Numbers(0, 1)}, Poles(), records=99).statistic(data).values[0] == 50
    assert FeatureSum({"x": Numbers(0, 1)}, Poles(1e-12)).statistic(data).values[0] == 50
    with pytest.raises(DataError, match="more than 99 records"):
        FeatureSum({"x": Numbers(0, 1)}, Poles(1e-12), records=99).statistic(data)


def test_a_sum_may_be_longer_than_64_bits() -> None:
    query, data = FeatureSum({"x": Numbers(0, 1)}, Poles()), {"x": np.ones(2**20)}
    exact = query.statistic(data)
    assert int(exact.units[0]) == 2**64 and exact.values.tolist() == [2.0**19] * 2
    assert query.gaussian(scale=1).release(data).values == pytest.approx([2.0**19] * 2, rel=1e-3)


SELECTS = {
    "SELECT CAST(t AS INTEGER) AS x FROM v": [1, 0, 1],
    "SELECT CAST(t AS INTEGER) * 1000 * 1000 * 1000 * 1000 AS x FROM v": [0, 0, 0],
    "SELECT 2::UTINYINT - n AS x FROM v": [1, 1, 0],
    "SELECT n AS x FROM v WHERE t = 1": [1, 0, 0],
    "WITH w AS (SELECT t::INTEGER AS x FROM v) SELECT x FROM w WHERE x < 5 UNION ALL SELECT 2": [1, 1, 0],
    "SELECT v.n::INTEGER AS x FROM v JOIN v AS w ON v.n = w.t::INTEGER": [1, 0, 0],
    "SELECT max(t::INTEGER)::INTEGER AS x FROM v": [0, 0, 1],
}


@pytest.mark.parametrize("query", SELECTS)
def test_an_expression_that_fails_is_missing(query: str) -> None:
    connection = duckdb.connect()
    connection.execute(
        "CREATE TABLE v AS SELECT * FROM (VALUES ('1', 1::UTINYINT), ('7', 0::UTINYINT)) AS v(t, n)"
    )
    connection.execute("INSERT INTO v VALUES ('HIV', 9), ('99999999999', NULL)")
    assert ONES.statistic(read_sql(query, connection=connection)).units.tolist() == SELECTS[query]


PAIRS = {
    "whole, then numbers": (pa.array([1, 2]), pa.array([1.0, None, np.nan, 1.5]), 5.5, 2),
    "whole, then text": (pa.array([1, 2]), pa.array(["zz", "4"]), 7, 4),
    "short, then long": (pa.array([1], pa.int32()), pa.array([2**40]), 11, 2),
    "single, then double": (pa.array([1.0], pa.float32()), pa.array([1e300, 2.5]), 13.5, 1),
    "truth, then text": (pa.array([True]), pa.array(["maybe", "2"]), 3, 3),
}


@pytest.mark.parametrize("name", PAIRS)
def test_each_file_has_its_own_types(name: str, tmp_path: Path) -> None:
    first, second, total, users = PAIRS[name]
    for place, column in enumerate((first, second)):
        data = pa.table({"x": column, "u": [place] * len(column), "own": [place] * len(column)})
        pq.write_table(data if place else data.drop(["own"]), tmp_path / f"{place}.parquet")
    data = read_parquet(tmp_path / "*.parquet", threads=1)
    assert Count().statistic(data).units[0] == len(first) + len(second)
    assert Sum("x", Numbers(0, 10)).statistic(data).values[0] == total
    assert Sum("x", Numbers(0, 10), UserTotals("u", Norm.L1, 100)).statistic(data).values[0] == total
    assert Count(UserRecords("x", 1)).statistic(data).units[0] == users
    assert len(HeavyHitters("x", scale=1, threshold=1).occurring(data).values) == users
    with pytest.raises(DataError, match="unknown column 'own'"):
        Count(UserRecords("own", 1)).statistic(data)


def test_one_complex_number_leaves_the_others_as_they_are() -> None:
    for query in (ONES, Histogram({"x": Categories([1, 2, 7])}, UserRecords("x", 1))):
        assert query.statistic(pd.DataFrame({"x": [1, 2, 7, 1 + 1j]})).units.tolist() == [1, 1, 1]


@pytest.mark.parametrize("key", ["axes", "columns", "domain", "unit", "column"])
@pytest.mark.parametrize("nonsense", [True, None, 3, "x", [1], [[1, 2]], {"is": "Records"}], ids=str)
def test_descriptions_with_nonsense_in_them_are_refused(key: str, nonsense: Any) -> None:
    for query in (ONES, Sum("x", Numbers(0, 1)), VectorSum(("x", "y"), Norm.L2, 1.0)):
        if key in (plain := query.to_json()) and nonsense != plain[key]:
            try:
                from_json(plain | {key: nonsense})
            except ArgumentError:
                continue
            assert (key, nonsense) in [("unit", {"is": "Records"}), ("column", "x")]
