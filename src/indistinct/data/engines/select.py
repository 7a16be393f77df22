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
_UNTYPED = {"STAR", "TYPE"}
_OF_A_RECORD = {
    "OPERATOR",
    "COMPARISON",
    "CONJUNCTION",
    "BETWEEN",
    "CASE",
    "CAST",
    "TYPE",
    "COLLATE",
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


def check_table(query: str, connection: Any) -> None:
    """Refuses a query of the kind above whose table is a view, which may repeat records, or whose values are
    of types that DuckDB may fail on where `TRY` does not help. No record is read."""
    tree = _tree(tried(query, whole=True))
    node = tree["statements"][0]["node"]
    table = str(node["from_table"]["table_name"]).lower()
    # compared here, and by their full names: a database may have macros called like these functions
    stored, views = (
        {str(name).lower() for (name,) in connection.execute(sql).fetchall()}
        for sql in (
            "SELECT table_name FROM system.main.duckdb_tables() WHERE NOT internal",
            "SELECT view_name FROM system.main.duckdb_views() WHERE NOT internal",
        )
    )
    if table not in stored - views:
        allowed = "FROM a table of the database, not a view; or data.multiplies = true"
        raise ArgumentError("data.sql", query, allowed)
    made = [one for one in node["select_list"] if one["class"] != "COLUMN_REF"]
    inner = [one for one in _nodes([made, node["where_clause"]]) if one.get("class", "STAR") not in _UNTYPED]
    of_days = [argument for one in inner for argument in _days(one)]
    if not inner:
        return
    # each of them by itself, after the columns, whose names they may use
    node["select_list"] += [{**one, "alias": ""} for one in inner + of_days]
    asked = _asked("SELECT json_deserialize_sql(?)", json.dumps(tree))
    types = connection.sql(f"SELECT * FROM ({asked}\n) LIMIT 0").types[-len(inner + of_days) :]
    wrong = [str(kind) for kind in types if not _leaves(kind) <= _TYPES]
    wrong += [str(kind) for kind in types[len(inner) :] if kind.id not in _DAYS]
    if wrong:
        allowed = f"without {wrong[0]}, where errors would tell of values; or data.multiplies = true"
        raise ArgumentError("data.sql", query, allowed)


def _days(one: dict[str, Any]) -> list[dict[str, Any]]:
    """What a function takes that must be a date or a time of a day; but for texts that are written there."""
    if one["class"] != "FUNCTION" or one["function_name"] not in _OF_DAYS | _OF_UNITS:
        return []
    given = one["arguments"][1 if one["function_name"] in _OF_UNITS else 0 :]
    return [argument["expression"] for argument in given if _literal(argument) is None]


def _leaves(kind: Any) -> set[str]:
    """The types that a type is made of."""
    if kind.id not in ("list", "array", "struct", "tuple"):
        return {kind.id}
    return {leaf for _, inner in kind.children if hasattr(inner, "id") for leaf in _leaves(inner)}


def _literal(argument: dict[str, Any]) -> str | None:
    """What is written there, if it is a text or a number."""
    literal = argument["expression"].get("literal") or {}
    return str(literal["text"]) if literal.get("kind") in ("STRING", "INTEGER") else None


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
        if kind == "FUNCTION" and (must := _unwritten(one)):
            return f"{one['function_name']}(…) with {must} that is written there"
        if kind == "COLUMN_REF" and (name := one["column_names"][-1].lower()) in _NO_COLUMNS:
            return f"no {name}"
        if kind == "STAR" and any(one.get(part) for part in ("columns", "expr", "rename_list")):
            return "no COLUMNS, no RENAME"
    return "" if user is None else _renames(node["select_list"], user)


def _unwritten(one: dict[str, Any]) -> str:
    """What a function must be given as it is, not by a record; empty if it is."""
    name, given = one["function_name"], [_literal(argument) for argument in one["arguments"]]
    if name in _OF_UNITS and (given[0] or "").lower() not in _UNITS:
        return "a unit of time, such as 'month',"
    if name in _OF_LENGTH and len(given[1] or "long") > 3:
        return "a length below 1000"
    return ""


def _renames(selected: list[dict[str, Any]], user: str) -> str:
    """Why the column of the user may not be that of the table; empty if it is."""
    if [one["class"] for one in selected] == ["STAR"]:
        (star,) = selected
        replaced = {one["key"].lower() for one in star["replace_list"]}
        return f"{user} as it is" if user.lower() in replaced or star["relation_name"] else ""
    if any(one["class"] == "STAR" for one in selected):  # whose names are made up where it has one
        return "* alone, or no *"
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
    instr split_part lpad rpad reverse translate regexp_matches regexp_full_match regexp_replace
    regexp_extract ascii chr unicode ord
    strip_accents md5 sha256 hex levenshtein hamming jaccard year month day quarter week weekofyear
    weekday dayofweek isodow dayofmonth dayofyear isoyear yearweek decade century era hour minute second
    millisecond microsecond date_part datepart date_trunc datetrunc date_diff datediff date_sub datesub
    date_add make_date make_time make_timestamp strftime strptime try_strptime epoch epoch_ms dayname
    monthname last_day to_years to_months to_weeks to_days to_hours to_minutes to_seconds struct_extract
    struct_pack row list_value list_extract list_contains array_extract list_element
"""

"""Where one of these fails, `TRY` makes it NULL: it does so for some kinds of errors alone. The others, that
one of them may have: types and units that it has no code for, see below; LIKE with ESCAPE has more."""
_OF_LENGTH = {"lpad", "rpad"}
_OF_UNITS = set("date_part datepart date_trunc datetrunc date_diff datediff date_sub datesub".split())
_UNITS = set("year quarter month week day hour minute second millisecond microsecond decade century".split())
_OF_DAYS = set("week weekofyear weekday dayofweek isodow dayofyear isoyear yearweek era".split())
_DAYS = {"date", "timestamp", "timestamp_s", "timestamp_ms", "timestamp_ns", "timestamp with time zone"}
_TYPES = {
    *_DAYS,
    *("null", "boolean", "varchar", "enum", "uuid", "float", "double", "decimal", "interval", "time"),
    *("tinyint", "smallint", "integer", "bigint", "hugeint"),
    *("utinyint", "usmallint", "uinteger", "ubigint", "uhugeint"),
}


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
        for replaced in node.get("replace_list") or []:
            replaced["value"] = _try(replaced["value"])
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
