"""Which queries treat records one by one, as DuckDB reads them; what is not known to is refused."""

from pathlib import Path

import pytest

from indistinct import ArgumentError
from indistinct.data import Count, Numbers, Sum, check_by_record, read_sql
from indistinct.data.engines import select
from indistinct.errors import DataError

duckdb = pytest.importorskip("duckdb", reason="duckdb is not installed")

ONE_BY_ONE = [
    "FROM t",
    "SELECT a, b + 1 AS c, lower(d) FROM s.people p WHERE a > 3 AND b BETWEEN 1 AND 2 OR d IN ('a', 'b')",
    "SELECT * EXCLUDE (a) REPLACE (b + 1 AS b) FROM t",
    "SELECT CASE WHEN a > 1 THEN 1 END, try_cast(b AS INT), extract(year FROM c), a[1] FROM t",
    "SELECT lpad(d, 5, '0'), date_trunc('month', c), date_diff('YEAR', c, '2020-01-01') FROM t",
]
MIXED = [
    "SELECT a FROM t, u",
    "SELECT a FROM t, generate_series(1, 1000)",
    "SELECT a FROM t UNION ALL SELECT a FROM t",
    "SELECT a FROM t POSITIONAL JOIN t",
    "WITH x AS (FROM t) FROM x",
    "SELECT a FROM (SELECT * FROM t)",
    "SELECT (SELECT max(a) FROM t) FROM t",
    "SELECT a FROM t WHERE a IN (SELECT a FROM u)",
    "SELECT EXISTS(FROM u) FROM t",
    "SELECT unnest([1, 2]) FROM t",
    "SELECT struct_pack(x := unnest(a)) FROM t",
    "SELECT count(*) FROM t",
    "SELECT lower(max(a)) FROM t",
    "SELECT row_number() OVER () FROM t",
    "SELECT a FROM t QUALIFY row_number() OVER () = 1",
    "SELECT a FROM t GROUP BY a",
    "SELECT a FROM t GROUP BY ALL",
    "SELECT DISTINCT a FROM t",
    "SELECT a FROM t ORDER BY a LIMIT 3",
    "SELECT a FROM t USING SAMPLE 10",
    "SELECT a FROM t TABLESAMPLE 10%",
    "SELECT p.x FROM t p(x)",
    "SELECT * RENAME (a AS b) FROM t",
    "SELECT COLUMNS('a.*') FROM t",
    "SELECT rowid FROM t",
    "SELECT random() FROM t",
    "SELECT json_serialize_plan('FROM t') FROM t",
    "SELECT a -> 'x' FROM t",
    "SELECT a LIKE b ESCAPE c FROM t",
    "SELECT repeat('x', a) FROM t",
    "SELECT lpad('x', a, 'y') FROM t",
    "SELECT date_part(a, b) FROM t",
    "SELECT date_trunc('timezone', b) FROM t",
    "SELECT a FROM t WHERE b < current_timestamp",
    "SELECT age(b) FROM t",
    "SELECT current_setting('TimeZone') FROM t",
    "SELECT estimated_size FROM duckdb_tables",
    "SELECT table_name FROM information_schema.tables",
    "SELECT a FROM range(3)",
    "SELECT 1",
    "VALUES (1)",
]
RENAMED = [
    "SELECT visit AS person FROM t",
    "SELECT a || b AS person FROM t",
    "SELECT * REPLACE (visit AS person) FROM t",
    "SELECT a AS person, * FROM t",
    "SELECT person, visit AS PERSON FROM t",
    "SELECT person AS p, visit AS person FROM t",
    "SELECT s.* FROM t",
    "SELECT a FROM t",
    "SELECT person, * AS p FROM t",
]
WITHIN = "CREATE TABLE t AS SELECT 1 AS a, 'Ann' AS name, TIMESTAMP '2020-02-03' AS seen, '5'::BIGNUM AS big"


def test_records_are_treated_one_by_one_or_a_query_is_refused() -> None:
    for query in ONE_BY_ONE:
        check_by_record(query)
    for query in MIXED:
        with pytest.raises(ArgumentError):
            check_by_record(query)


def made(path: Path, *statements: str) -> str:
    path.unlink(missing_ok=True)
    with duckdb.connect(str(path)) as base:
        for statement in statements:
            base.execute(statement)
    return str(path)


def test_a_view_is_not_a_table(tmp_path: Path) -> None:
    own = "CREATE MACRO twice(x) AS 2 * x", "CREATE VIEW v AS SELECT a FROM t, range(10)"
    path = made(tmp_path / "base.duckdb", WITHIN, *own)
    assert Count().statistic(read_sql("SELECT a + 1 AS b FROM T", database=path, one_by_one=True)).units == 1
    assert Count().statistic(read_sql("SELECT twice(a) AS b FROM v", database=path)).units == 10
    with pytest.raises(ArgumentError, match="not a view"):
        read_sql("SELECT a FROM v", database=path, one_by_one=True)
    for query in ("SELECT a FROM nowhere", "SELECT twice(a) AS b FROM t"):
        with pytest.raises((ArgumentError, DataError)):
            read_sql(query, database=path, one_by_one=True)


def test_no_macro_has_the_name_of_a_function(tmp_path: Path) -> None:
    macros = {
        "greatest(x, y)": "x * 1000",  # which bounds what is added up
        "Floor(x)": "(SELECT max(a) FROM t)",
        "duckdb_views()": "TABLE SELECT 1 AS view_name, false AS internal",  # which would hide a view
    }
    for name, body in macros.items():
        path = made(tmp_path / "base.duckdb", WITHIN, f"CREATE MACRO {name} AS {body}")
        with pytest.raises(DataError, match="name of a function"):
            Sum("a", Numbers(0, 3)).statistic(read_sql("FROM t", database=path))
        with duckdb.connect(path) as own, pytest.raises(DataError, match="name of a function"):
            Sum("a", Numbers(0, 3)).statistic(read_sql("FROM t", connection=own))


def test_no_error_tells_of_a_value(tmp_path: Path) -> None:
    path = made(tmp_path / "base.duckdb", WITHIN, "INSERT INTO t VALUES (-5, 'Bob', 'infinity', '7')")
    for query in (
        "SELECT * REPLACE (a * 9223372036854775807 AS a) FROM t",
        "SELECT chr(a) AS a FROM t WHERE chr(a) <> 'x'",
        "SELECT make_date(2020, week(seen), 1 + a) AS b, [a][1] AS c, big FROM t",
    ):
        data = read_sql(query, database=path, one_by_one=True)
        (batch,) = data._read(f"SELECT * FROM {data._source}")
        assert batch.num_rows == (1 if "WHERE" in query else 2)
        assert batch.column(0).null_count == (0 if "WHERE" in query else 1)
    for told in (
        "week(INTERVAL 1 DAY)",
        "date_part('week', seen - seen)",
        "date_trunc('month', TIME '00:00')",
        "CAST(big AS INTEGER)",
        "CAST(name::JSON AS BIT)",
    ):
        query = f"SELECT CASE WHEN name = 'Bob' THEN {told} END AS b FROM t"
        with pytest.raises((ArgumentError, DataError), match=r"errors would tell|cannot be used"):
            read_sql(query, database=path, one_by_one=True)


VALUES = {
    "VARCHAR": ("", "xy", "%", "\\", "(", "é", "a\\1", "%Y-%q", "2020-13-45", "(?P<a>x)(?P<a>x)", "a{1001}"),
    "BIGINT": (0, 1, -1, 64, 2**63 - 1, -(2**63)),
    "INTEGER": (0, -1, 2**31 - 1, -(2**31)),
    "SMALLINT": (-(2**15), 2**15 - 1),
    "TINYINT": (-128, 127, 0),
    "HUGEINT": (0, 2**127 - 1, -(2**127)),
    "UBIGINT": (0, 2**64 - 1),
    "UINTEGER": (2**32 - 1,),
    "USMALLINT": (2**16 - 1,),
    "UTINYINT": (255,),
    "UHUGEINT": (2**128 - 1,),
    "DOUBLE": (0, -1, "nan", "inf", "-inf", 1e308, 1e-320),
    "FLOAT": (0, "nan", "-inf", 3e38),
    "DECIMAL(38,0)": (0, 1 - 10**38),
    "DATE": ("infinity", "-infinity", "2020-01-31", "5881580-07-10"),
    "TIMESTAMP": ("infinity", "2020-01-31", "294247-01-10 04:00:54.775806", "290309-12-22 (BC) 00:00:00"),
    "TIMESTAMP WITH TIME ZONE": ("infinity", "2020-01-31"),
    "TIMESTAMP_S": ("infinity", "2020-01-01"),
    "TIMESTAMP_NS": ("infinity", "2262-04-11 23:47:16.854775806"),
    "TIME": ("00:00:00", "24:00:00"),
    "INTERVAL": ("2147483647 months", "-2147483648 days", "-9223372036854775807 us"),
    "BOOLEAN": ("true",),
    "VARCHAR[]": ("[a, NULL]", "[]"),
}


def test_try_helps_wherever_a_function_fails() -> None:
    """It makes NULL of some kinds of errors only; one that it does not would tell of a value."""
    base, held = duckdb.connect(), list(VALUES)
    columns = [(f"{letter}{place}", kind) for letter in "cde" for place, kind in enumerate(held)]
    base.execute(f"CREATE TABLE t ({', '.join(f'{name} {kind}' for name, kind in columns)})")
    for row in range(66):
        part = [row % 11, row // 6 + row, row // 3]
        values = [VALUES[kind][part["cde".index(name[0])] % len(VALUES[kind])] for name, kind in columns]
        base.execute(f"INSERT INTO t VALUES ({', '.join('?' * len(values))})", [*map(str, values)])
    listed = "SELECT DISTINCT function_name, parameter_types, varargs FROM duckdb_functions()"
    any_kind = dict.fromkeys(("T", "ANY", "K"), "VARCHAR") | {"T[]": "VARCHAR[]", "DECIMAL": "DECIMAL(38,0)"}
    calls = []
    for name, types, more in base.execute(f"{listed} WHERE function_type = 'scalar'").fetchall():
        kinds = [any_kind.get(kind, kind) for kind in (*types, *([more] * 2 if more else []))]
        if name not in select._functions_of_a_record() or not kinds or not set(kinds) <= VALUES.keys():
            continue
        given = [f"{'cde'[place]}{held.index(kind)}" for place, kind in enumerate(kinds[:3])]
        lists = [given]
        if name in select._OF_UNITS:
            kinds, lists = kinds[1:], [[f"'{unit}'", *given[1:]] for unit in sorted(select._UNITS)]
        if name in select._OF_LENGTH:
            lists = [[given[0], "999", *given[2:]]]
        if name in select._OF_UNITS | select._OF_DAYS and not {*map(str.lower, kinds)} <= select._DAYS:
            continue
        calls += [f'TRY("{name}"({", ".join(one)}))' for one in lists]
    run = []
    for call in calls:
        try:
            base.sql(f"SELECT {call} FROM t LIMIT 0")
            run.append(f"count({call})")
        except duckdb.BinderException:  # by its form alone: an argument that must be written there
            continue
    for first in range(0, len(run), 50):
        base.sql(f"SELECT {', '.join(run[first : first + 50])} FROM t").fetchall()
    assert len(run) > 700


def test_whom_a_query_protects_is_a_column_of_the_table() -> None:
    for query in ("SELECT person, a + 1 AS b FROM t", "FROM t", "SELECT * EXCLUDE (a) FROM t"):
        check_by_record(query, "person")
    for query in RENAMED:
        check_by_record(query)
        with pytest.raises(ArgumentError, match="person"):
            check_by_record(query, "person")
