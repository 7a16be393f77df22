"""What may be asked in SQL: one SELECT, which only reads, and whose expressions are NULL where they fail; and
which of them treat records one by one."""

import json
from collections.abc import Iterator
from functools import lru_cache
from typing import Any

from indistinct.errors import ArgumentError, needs

_SELECTS = {"SELECT_NODE", "SET_OPERATION_NODE", "CTE_NODE", "RECURSIVE_CTE_NODE"}
_DATA_IN_NAMES = {"PIVOT", "SHOW_REF"}
"""Tables whose columns, or whose rows, depend on the values of another."""
_FUNCTIONS = {"unnest", "range", "generate_series", "repeat", "arrow_scan", "pandas_scan", "seq_scan"}
_FUNCTIONS |= {f"{kind}_scan" for kind in ("parquet", "delta", "iceberg", "sqlite", "postgres", "mysql")}
_FUNCTIONS |= {f"read_{kind}" for kind in ("csv", "csv_auto", "parquet", "json", "json_auto", "ndjson")}
"""Tables that SQL may make. Others take SQL of their own, or show what a table is like."""
_CANNOT_FAIL = {"COLUMN_REF", "STAR", "CONSTANT"}
_OF_A_RECORD = {
    "OPERATOR",
    "COMPARISON",
    "CONJUNCTION",
    "BETWEEN",
    "CASE",
    "CAST",
    "TYPE",
    "COLLATE",
    "LAMBDA",
}
_OF_A_RECORD |= {"FUNCTION", *_CANNOT_FAIL}
"""Classes of expressions that depend on one record: no SUBQUERY, no WINDOW. Functions are looked at too."""
_OWN_PARTS = {"type", "select_list", "from_table", "where_clause", "cte_map", "aggregate_handling"}
"""Of a SELECT; all others (GROUP BY, HAVING, QUALIFY, LIMIT, SAMPLE ...) must be absent."""


@lru_cache
def one_select(query: str) -> str:
    """The query, if it is one SELECT that only reads, and whose columns do not depend on values."""
    with needs("duckdb"):
        import duckdb

    allowed = "one SELECT, without PIVOT, SHOW, DESCRIBE or SUMMARIZE, that changes nothing"
    try:
        statements = duckdb.extract_statements(query)
        tree = _tree(query)
    except (duckdb.Error, TypeError, ValueError, RecursionError):
        raise ArgumentError("query", query, f"{allowed}; it cannot be read") from None
    kinds = {str(node.get("type")) for node in _nodes(tree)}
    queries = {kind for kind in kinds if kind.endswith("_NODE")}
    single = len(statements) == 1 and statements[0].type == duckdb.StatementType.SELECT
    if not single or tree.get("error") or not queries <= _SELECTS or kinds & _DATA_IN_NAMES:
        raise ArgumentError("query", query, allowed)
    made = {
        node["function"].get("function_name") for node in _nodes(tree) if node.get("type") == "TABLE_FUNCTION"
    }
    if unknown := made - _FUNCTIONS:
        raise ArgumentError("query", query, f"{allowed}, and no table of {sorted(map(str, unknown))[0]}(…)")
    return str(statements[0].query).strip().rstrip(";")


@lru_cache
def check_by_record(query: str, user: str | None = None) -> None:
    """Refuses a query that may do more than treat records of one table one by one: choose columns, filter,
    compute within a record. Each row of its result is then one record, and each record one row or none; and
    the column of the user is that of the table. What is not known to be so is refused."""
    tree = _tree(one_select(query))
    try:
        wrong = _mixes(tree["statements"][0]["node"], user)
    except (LookupError, TypeError, AttributeError):
        wrong = "it cannot be read"
    if wrong:
        allowed = (
            f"one SELECT that treats the records of one table one by one ({wrong}); or declare"
            " data.multiplies = true: then one row of its result is protected, not one record"
        )
        raise ArgumentError("data.sql", query, allowed)


def check_table(query: str, database: str) -> None:
    """Refuses a query of the kind above whose table is a view, which may repeat records, or that a macro of
    the database is called in."""
    import duckdb

    tree = _tree(query)
    table = str(tree["statements"][0]["node"]["from_table"]["table_name"]).lower()
    called = {str(node["function_name"]).lower() for node in _nodes(tree) if node.get("class") == "FUNCTION"}
    with duckdb.connect(database, read_only=True) as held:
        # compared here: what SQL calls `lower` may be one of these macros
        stored, views, macros = (
            {str(name).lower() for (name,) in held.execute(f"SELECT {what} WHERE NOT internal").fetchall()}
            for what in (
                "table_name FROM duckdb_tables()",
                "view_name FROM duckdb_views()",
                "function_name FROM duckdb_functions()",
            )
        )
    if table in stored - views and not macros & called:
        return
    allowed = "FROM a table of the database, not a view, without its macros; or data.multiplies = true"
    raise ArgumentError("data.sql", query, allowed)


def _mixes(node: dict[str, Any], user: str | None) -> str:
    """Why rows of a query may not be records; empty if they are."""
    if node["type"] != "SELECT_NODE" or node["cte_map"]["map"]:
        return "no UNION and the like, no WITH"
    if node["modifiers"]:
        return "no DISTINCT, ORDER BY or LIMIT"
    if more := sorted(part for part, value in node.items() if value and part not in _OWN_PARTS):
        return f"no {more[0].replace('_', ' ')}"
    if node["aggregate_handling"] != "STANDARD_HANDLING":
        return "no GROUP BY"
    source = node["from_table"]
    changed = any(source.get(part) for part in ("sample", "at_clause", "column_name_alias"))
    if source["type"] != "BASE_TABLE" or changed or _of_the_system(source):
        return "FROM one table, by its name alone"
    for one in _nodes([node["select_list"], node["where_clause"]]):
        kind = one.get("class", "CONSTANT")
        if kind not in _OF_A_RECORD or str(one.get("type")).endswith("_NODE"):
            return f"no {kind}"
        if kind == "FUNCTION" and (one["schema"] or one["function_name"] not in _functions_of_a_record()):
            return f"no {one['function_name']}(…)"
        if kind == "COLUMN_REF" and (name := one["column_names"][-1].lower()) in _NO_COLUMNS:
            return f"no {name}"
        if kind == "STAR" and any(one.get(part) for part in ("columns", "expr", "rename_list")):
            return "no COLUMNS, no RENAME"
    return "" if user is None else _renames(node["select_list"], user)


def _renames(selected: list[dict[str, Any]], user: str) -> str:
    """Why the column of the user may not be that of the table; empty if it is."""
    if [one["class"] for one in selected] == ["STAR"]:
        (star,) = selected
        replaced = {one["key"].lower() for one in star["replace_list"]}
        return f"{user} as it is" if user.lower() in replaced or star["relation_name"] else ""
    names = [(one["alias"] or one.get("column_names", [""])[-1]).lower() for one in selected]
    own = [one for one in selected if one["class"] == "COLUMN_REF" and one["column_names"] == [user]]
    single = "" not in names and len(set(names)) == len(names)
    if single and len(own) == 1 and own[0]["alias"] in ("", user):
        return ""
    return f"* alone, or columns each by a name, and {user}, whom it protects, by its own"


def _of_the_system(source: dict[str, Any]) -> bool:
    """Whether a table may be one that DuckDB makes of what it knows of others."""
    sql = "SELECT list(DISTINCT lower(view_name)) FROM duckdb_views() WHERE internal AND schema_name <> ?"
    within = {str(source.get(part)).lower() for part in ("schema_name", "catalog_name")}
    own = str(source["table_name"]).lower() in _asked(sql, "information_schema")
    return own or bool(within & {"information_schema", "pg_catalog", "system", "temp"})


_NO_COLUMNS = {"rowid", "localtime", "localtimestamp", "current_date", "current_time", "current_timestamp"}
"""Names that depend on a record's place, or on when somebody asks."""
_KNOWN = """
    + - * / // % ^ ** || & | ~ << >> ! ~~ !~~ ~~* !~~* ~~~ !~~~ abs add subtract multiply divide mod
    ceil ceiling floor round trunc sign sqrt cbrt exp ln log log2 log10 pow power sin cos tan asin acos
    atan atan2 sinh cosh tanh degrees radians pi greatest least nullif ifnull if isnan isinf isfinite
    even gcd lcm factorial lower upper lcase ucase trim ltrim rtrim length len strlen substring substr
    left right replace concat concat_ws contains starts_with ends_with prefix suffix position strpos
    instr split_part lpad rpad reverse translate repeat regexp_matches regexp_full_match regexp_replace
    regexp_extract like_escape ilike_escape not_like_escape not_ilike_escape ascii chr unicode ord
    strip_accents md5 sha256 hex levenshtein hamming jaccard year month day quarter week weekofyear
    weekday dayofweek isodow dayofmonth dayofyear isoyear yearweek decade century era hour minute second
    millisecond microsecond date_part datepart date_trunc datetrunc date_diff datediff date_sub datesub
    date_add make_date make_time make_timestamp strftime strptime try_strptime epoch epoch_ms dayname
    monthname last_day to_years to_months to_weeks to_days to_hours to_minutes to_seconds struct_extract
    struct_pack row list_value list_extract list_contains array_extract list_element
"""


@lru_cache
def _functions_of_a_record() -> frozenset[str]:
    """Those that are known to compute with their arguments alone, if DuckDB says so too. Its word alone is
    not enough: it calls one consistent that plans a query, which tells how large a table is."""
    sql = "SELECT list([function_name, function_type, stability]) FROM duckdb_functions() WHERE ? = ''"
    plain, other = set[str](), {"unnest"}
    for name, kind, stability in _asked(sql, ""):
        if kind != "table":  # which an expression never is
            (plain if (kind, stability) == ("scalar", "CONSISTENT") else other).add(name)
    return frozenset((plain - other) & set(_KNOWN.split()))


@lru_cache
def tried(query: str, *, whole: bool) -> str:
    """The same query whose casts are NULL where they fail; with `whole`, all its expressions are. DuckDB
    refuses that of some, such as aggregates, by their form alone."""
    made = json.dumps(_tried(_tree(query), whole))
    return str(_asked("SELECT json_deserialize_sql(?)", made))


def _tried(tree: Any, whole: bool) -> Any:
    if isinstance(tree, list):
        return [_tried(item, whole) for item in tree]
    if not isinstance(tree, dict):
        return tree
    node = {key: _tried(value, whole) for key, value in tree.items()}
    if node.get("class") == "CAST":
        node["try_cast"] = True
    if whole:
        if "select_list" in node:
            node["select_list"] = [_try(expression) for expression in node["select_list"]]
        for key in ("where_clause", "condition"):  # of a SELECT, of a JOIN
            if node.get(key):
                node[key] = _try(node[key])
    return node


def _try(expression: dict[str, Any]) -> dict[str, Any]:
    if expression["class"] in _CANNOT_FAIL:
        return expression
    inner = {**expression, "alias": ""}
    return {"class": "OPERATOR", "type": "OPERATOR_TRY", "alias": expression["alias"], "children": [inner]}


def _tree(query: str) -> Any:
    return json.loads(_asked("SELECT json_serialize_sql(?)", query) or '{"error": true}')


def _asked(question: str, about: str) -> Any:
    """Of a DuckDB that has nothing to read."""
    import duckdb

    with duckdb.connect(config={"enable_external_access": "false"}) as parser:
        told = parser.execute(question, [about]).fetchone()
    return told[0] if told else None


def _nodes(tree: Any) -> Iterator[dict[str, Any]]:
    waiting = [tree]
    while waiting:
        item = waiting.pop()
        if isinstance(item, dict):
            yield item
            waiting += item.values()
        elif isinstance(item, list):
            waiting += item
