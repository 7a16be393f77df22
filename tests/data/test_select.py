"""Which queries treat records one by one, as DuckDB reads them; what is not known to is refused."""

from pathlib import Path

import pytest

from indistinct import ArgumentError
from indistinct.data import check_by_record, check_table

duckdb = pytest.importorskip("duckdb", reason="duckdb is not installed")

ONE_BY_ONE = [
    "FROM t",
    "SELECT a, b + 1 AS c, lower(d) FROM s.people p WHERE a > 3 AND b BETWEEN 1 AND 2 OR d IN ('a', 'b')",
    "SELECT * EXCLUDE (a) REPLACE (b + 1 AS b) FROM t",
    "SELECT CASE WHEN a > 1 THEN 1 END, try_cast(b AS INT), extract(year FROM c), a[1] FROM t",
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
]


def test_records_are_treated_one_by_one_or_a_query_is_refused() -> None:
    for query in ONE_BY_ONE:
        check_by_record(query)
    for query in MIXED:
        with pytest.raises(ArgumentError):
            check_by_record(query)


def test_a_view_or_a_macro_is_not_a_table(tmp_path: Path) -> None:
    path = str(tmp_path / "base.duckdb")
    with duckdb.connect(path) as base:
        base.execute("CREATE TABLE t AS SELECT 1 AS a; CREATE VIEW v AS SELECT a FROM t, range(10)")
        base.execute("CREATE MACRO lower(x) AS (SELECT count(*) FROM t)")
    check_table("SELECT a + 1 AS b FROM T", path)
    for query in ("SELECT a FROM v", "SELECT lower(a) AS b FROM t", "SELECT a FROM nowhere"):
        with pytest.raises(ArgumentError, match="not a view"):
            check_table(query, path)


def test_whom_a_query_protects_is_a_column_of_the_table() -> None:
    for query in ("SELECT person, a + 1 AS b FROM t", "FROM t", "SELECT * EXCLUDE (a) FROM t"):
        check_by_record(query, "person")
    for query in RENAMED:
        check_by_record(query)
        with pytest.raises(ArgumentError, match="person"):
            check_by_record(query, "person")
