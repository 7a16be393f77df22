"""PostgreSQL: a real server, which the tests start and stop, on a socket in a folder of its own."""

import itertools
from typing import Any

import pyarrow as pa
import pytest
from test_data import SUMS, UNITS, bounded, columns
from test_declared import CASES, INTEGER, NUMBER, TEXT, TRUTH, read

from indistinct.boundary import SWITCH
from indistinct.data import (
    Bins,
    Categories,
    Count,
    HeavyHitters,
    Histogram,
    Kind,
    Missing,
    Numbers,
    Sum,
    Table,
    Times,
    UserRecords,
    read_postgres,
    table,
)
from indistinct.errors import DataError

pytestmark = pytest.mark.xdist_group("postgres")

CANARY = "XQ7CANARY"


@pytest.fixture(scope="module")
def database(server: str) -> str:
    pytest.importorskip("adbc_driver_postgresql", reason="the driver is not installed")
    return server.format("postgres")


def execute(database: str, *statements: str) -> None:
    from adbc_driver_postgresql import dbapi

    with dbapi.connect(database, autocommit=True) as connection, connection.cursor() as cursor:
        for statement in statements:
            cursor.execute(statement)


def ingest(database: str, name: str, data: pa.Table) -> None:
    from adbc_driver_postgresql import dbapi

    with dbapi.connect(database) as connection, connection.cursor() as cursor:
        cursor.adbc_ingest(name, data, mode="create")
        connection.commit()


@pytest.fixture(scope="module")
def people(database: str) -> Table:
    ingest(database, "people", pa.table(columns()))
    return read_postgres("people", database=database)


def test_it_agrees_bit_for_bit_with_memory(people: Table) -> None:
    memory = table(columns())
    for case in itertools.product(SUMS, UNITS):
        assert people.total(bounded(*case)).units.tolist() == memory.total(bounded(*case)).units.tolist(), (
            case
        )


@pytest.mark.parametrize("name", CASES)
def test_what_each_type_becomes(name: str, database: str) -> None:
    array, expected = CASES[name]
    if pa.types.is_dictionary(array.type):
        array = array.cast(array.type.value_type)
    if array.type == pa.uint64():  # which PostgreSQL has not
        array = array.cast(pa.decimal128(20, 0))
    ingest(database, f"held {name}", pa.table({"v": array}))
    data = read_postgres(f"held {name}", database=database)
    for wanted, values in expected.items():
        assert sorted(map(repr, read(data, wanted))) == sorted(map(repr, values)), wanted
        if wanted in (INTEGER, TEXT) and (listed := [*dict.fromkeys(v for v in values if v is not None)]):
            counted = Histogram({"v": Categories(listed)}).statistic(data).units.tolist()
            assert counted == [values.count(value) for value in listed], wanted


DAY = Times("day")
HOSTILE: dict[str, tuple[str, list[str], dict[Any, list[Any]]]] = {
    "decimals": (
        "numeric",
        [
            "NaN",
            "1e400",
            "12.00",
            "0.5",
            "9223372036854775807",
            "9223372036854775808",
            "-9223372036854775808",
        ],
        {
            NUMBER: [None, None, 12.0, 0.5, 2.0**63, 2.0**63, -(2.0**63)],
            INTEGER: [None, None, 12, None, 2**63 - 1, None, -(2**63)],
            TEXT: [None, None, "12", None, str(2**63 - 1), None, str(-(2**63))],
            TRUTH: [None] * 7,
        },
    ),
    "doubles": (
        "float8",
        ["NaN", "infinity", "-1.7e308", "5e-324", "9223372036854775808"],
        {
            NUMBER: [None, float("inf"), -1.7e308, 5e-324, 2.0**63],
            INTEGER: [None] * 5,
        },
    ),
    "dates": (
        "date",
        ["infinity", "-infinity", "5874897-12-31", "2020-01-01"],
        {DAY: [None, None, None, 18262.0]},
    ),
    "clocks": (
        "timestamp",
        ["infinity", "-infinity", "294276-12-31", "2020-01-01 12:00"],
        {DAY: [None, None, None, 18262.5]},
    ),
    "moments": (
        "timestamptz",
        ["infinity", "-infinity", "294276-12-31", "2020-01-01 12:00+02"],
        {DAY: [None, None, None, 18262 + 10 / 24]},
    ),
    "identifiers": (
        "uuid",
        ["A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11"],
        {TEXT: ["a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11"], NUMBER: [None]},
    ),
    "moods": ("mood", ["sad", "1"], {TEXT: ["sad", "1"], NUMBER: [None, 1.0]}),
    "small": ("small", ["7"], {INTEGER: [7], TEXT: ["7"]}),
    "JSON": ("json", ["1", '"a"'], {TEXT: ["1", '"a"'], INTEGER: [1, None]}),
}


@pytest.fixture(scope="module")
def types(database: str) -> None:
    execute(
        database, "CREATE TYPE mood AS ENUM ('sad', '1')", "CREATE DOMAIN small AS int2 CHECK (value < 9)"
    )


@pytest.mark.parametrize("name", HOSTILE)
def test_no_value_is_a_reason_to_refuse_a_table(name: str, database: str, types: None) -> None:
    """Each alone and among others: of several of these the driver, or Ibis, or a cast raises."""
    kind, values, expected = HOSTILE[name]
    listed = ", ".join(f"('{value}')" for value in values)
    execute(
        database,
        f'CREATE TABLE "odd {name}" AS SELECT v::{kind} AS v FROM (VALUES {listed}, (NULL)) AS t(v)',
    )
    data = read_postgres(f"odd {name}", database=database)
    for wanted, found in expected.items():
        assert sorted(map(repr, read(data, wanted))) == sorted(map(repr, [*found, None])), wanted
    if data.kinds()["v"] is not Kind.TIME:
        once = Count(UserRecords("v", 1)).statistic(data).units
        users = {v for v in read(data, Kind.USER) if v is not None}
        assert once.tolist() == [len(users)]


def test_users_are_bytes(database: str) -> None:
    execute(
        database,
        "CREATE COLLATION blind (provider = icu, locale = 'und-u-ks-level2', deterministic = false)",
        "CREATE TABLE users (u text COLLATE blind, b char(4), t boolean)",
        "INSERT INTO users VALUES ('ab', 'x', true), ('AB', 'x ', false), ('ab', 'y', true)",
        "INSERT INTO users VALUES ('Z', 'é', NULL)",
    )
    data = read_postgres("users", database=database)
    for column, users in {"u": 3, "b": 3, "t": 2}.items():
        assert Count(UserRecords(column, 1)).statistic(data).units.tolist() == [users], column
    assert Histogram({"u": Categories(["ab", "AB", "z"])}).statistic(data).units.tolist() == [2, 1, 0]
    assert data.distinct("u", TEXT) == ["AB", "Z", "ab"]


def test_all_reads_see_one_snapshot(database: str) -> None:
    execute(database, "CREATE TABLE growing AS SELECT 1 AS v")
    data = read_postgres("growing", database=database)
    execute(database, "INSERT INTO growing VALUES (2)")
    assert Count().statistic(data).units.tolist() == [1]
    assert Sum("v", Numbers(0, 9)).statistic(data).values.tolist() == [1.0]
    assert Count().statistic(read_postgres("growing", database=database)).units.tolist() == [2]


def test_settings_of_others_change_nothing(database: str) -> None:
    execute(
        database,
        "CREATE TABLE set AS SELECT 2.0 AS n, '€' AS t",
        "CREATE SCHEMA evil",
        "CREATE FUNCTION evil.trunc(numeric) RETURNS numeric LANGUAGE sql AS 'SELECT 0.5'",
    )
    data = read_postgres(
        "set", database=f"{database}%20-csearch_path%3Devil,pg_catalog&client_encoding=LATIN1"
    )
    counts = Histogram({"n": Categories([2]), "t": Categories(["€"])}).statistic(data)
    assert counts.units.tolist() == [1]


def test_batches_are_small_however_the_driver_cuts_them(
    people: Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    from indistinct.data.engines import postgres
    from indistinct.data.records import types

    monkeypatch.setattr(postgres, "ROWS", 7)
    monkeypatch.setattr(postgres, "slices", lambda rows: types.slices(rows, 7))
    case = bounded("box", "totals of a named user")
    assert max(batch.rows for batch in people.batches({"x": NUMBER}, None)) == 7
    assert people.total(case).units.tolist() == table(columns()).total(case).units.tolist()


def test_refusals_name_what_is_wrong_and_no_record(
    database: str, server: str, capfd: pytest.CaptureFixture[str]
) -> None:
    quoted = 'of "me"; DROP TABLE people'
    execute(
        database,
        "CREATE TABLE other (a int[], b bytea, c interval, d date, x text)",
        f"INSERT INTO other (x) VALUES ('1'), ('{CANARY}')",
        "CREATE FUNCTION told(x text) RETURNS text LANGUAGE plpgsql"
        " AS $$ BEGIN RAISE WARNING '%', x; RETURN x; END $$",
        "CREATE VIEW telling AS SELECT told(x) AS v FROM other",
        "CREATE VIEW failing AS SELECT x::int AS v FROM other",
        'CREATE TABLE "of ""me""; DROP TABLE people" AS SELECT 1 AS "v\'""\\"',
        "CREATE DATABASE latin ENCODING 'LATIN1' TEMPLATE template0",
    )
    other = read_postgres("other", database=database)
    for column in "abcd":
        with pytest.raises(DataError, match=f"column '{column}' holds"):
            Histogram({column: Categories(["a"])}).laplace(1).check(other)
    with pytest.raises(DataError, match="column 'x' has missing values"):
        Sum("x", Numbers(0, 1, missing=Missing.ERROR)).statistic(other)
    assert Count().statistic(other).units.tolist() == [2]  # a read that was not finished does not matter
    telling = read_postgres("telling", database=database)
    assert Histogram({"v": Categories(["1"])}).statistic(telling).units.tolist() == [1]
    failing = read_postgres("failing", database=database)
    with pytest.raises(DataError, match=SWITCH) as told:
        Sum("v", Numbers(0, 1)).statistic(failing)
    assert CANARY not in str(told.value) and told.value.__context__ is None
    with pytest.raises(DataError, match=r'no such table: "public"\."nothing"'):
        read_postgres("nothing", database=database)
    with pytest.raises(DataError, match="encoded in UTF8, it is in LATIN1"):
        read_postgres("people", database=server.format("latin"))
    with pytest.raises(DataError, match="the database cannot be used") as told:
        read_postgres("people", database=f"postgresql://me:{CANARY}@[nowhere/x")
    assert CANARY not in str(told.value)
    named = read_postgres(quoted, database=database)
    assert Histogram({"v'\"\\": Categories([1])}).statistic(named).units.tolist() == [1]
    assert CANARY not in "".join(capfd.readouterr())


def test_a_release(people: Table) -> None:
    released = Histogram({"x": Bins(0, 100, 4)}, UserRecords("name", 2)).laplace(1).release(people)
    assert released.values.shape == (4,)
    found = HeavyHitters.for_delta("town", scale=0.5, delta=1e-9, unit=UserRecords("user", 1)).release(people)
    assert set(found.values) <= set(columns()["town"])


def test_an_enum_is_read_by_its_words_whatever_cast_it_has(database: str) -> None:
    execute(
        database,
        "CREATE TYPE public.feeling AS ENUM ('low', 'high')",
        "CREATE TABLE public.moods (m public.feeling)",
        "INSERT INTO public.moods VALUES ('low'), ('low'), ('high'), (NULL)",
        "CREATE FUNCTION public.most(public.feeling) RETURNS text LANGUAGE sql AS"
        " $$ SELECT format('%s', max(m)) FROM public.moods $$",
        "CREATE CAST (public.feeling AS text) WITH FUNCTION public.most(public.feeling)",
    )
    counts = Histogram({"m": Categories(["low", "high"])})
    assert counts.statistic(read_postgres("moods", database=database)).units.tolist() == [2, 1]
