"""What may be asked in SQL: one SELECT, which only reads, and whose expressions are NULL where they fail."""

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
    kinds = {node.get("type") for node in _nodes(tree)}
    queries = {str(kind) for kind in kinds if str(kind).endswith("_NODE")}
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
