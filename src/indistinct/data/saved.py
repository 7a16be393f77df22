"""Queries and their mechanisms from JSON data, through a closed table of names: never an import path."""

from typing import Any

from indistinct.data.queries.heavy_hitters import HeavyHitters
from indistinct.data.queries.quantiles import Quantile, Quantiles
from indistinct.data.queries.query import WithGaussian, WithLaplace
from indistinct.data.queries.statistics import Count, Histogram, Mean, PublicMean, Sum, VectorSum
from indistinct.data.queries.tabulated import Intervals, OrMissing, Tables
from indistinct.data.records.domain import Bins, Categories, Missing, Numbers, Outside
from indistinct.data.records.reach import Norm
from indistinct.data.records.types import Kind, Times
from indistinct.data.records.unit import Records, UserRecords, UserTotals
from indistinct.errors import ExpressionError
from indistinct.mechanisms.serialise import DEEPEST, MECHANISMS, build

_MATRIX = "matrix"
"""The kind of a `MatrixMechanism`. Workloads take a third of a second to import: only where one is read."""
_ENUMS = {kind.__name__: kind for kind in (Kind, Missing, Norm, Outside)}
_VALUES: dict[str, type[Any]] = {
    kind.__name__: kind
    for kind in (
        Bins,
        Categories,
        Count,
        Histogram,
        Intervals,
        Mean,
        Numbers,
        OrMissing,
        PublicMean,
        Quantiles,
        Records,
        Sum,
        Tables,
        Times,
        UserRecords,
        UserTotals,
        VectorSum,
    )
}
_MECHANISMS: dict[str, type[Any]] = {
    **MECHANISMS,
    **{kind.kind: kind for kind in (HeavyHitters, Quantile, WithGaussian, WithLaplace)},
}


def from_json(data: Any) -> Any:
    """The query, the mechanism or the composition that `to_json` wrote.

    >>> from indistinct.data import Count, UserRecords
    >>> noisy = 2 * Count(UserRecords("person", 3)).laplace(scale=2)
    >>> from_json(noisy.to_json()) == noisy
    True
    """
    return _read(data, 0)


def _read(data: Any, depth: int) -> Any:
    if depth > DEEPEST:
        raise ExpressionError("nesting", depth, f"at most {DEEPEST} deep")
    if isinstance(data, list):
        return tuple(_read(item, depth + 1) for item in data)
    if not isinstance(data, dict):
        return data
    if isinstance(name := data.get("is"), str) and name in _ENUMS:
        try:
            return _ENUMS[name](data.get("value"))
        except ValueError:
            raise ExpressionError(name, data.get("value"), "one of its values") from None
    if data.get("mechanism") == _MATRIX:
        from indistinct.workloads import MatrixMechanism

        _check_depth(data, depth)
        return MatrixMechanism.from_json(data)  # workloads and strategies have tables of their own
    key = "mechanism" if "mechanism" in data else "is"
    table = _MECHANISMS if key == "mechanism" else _VALUES
    kind = table.get(data[key]) if isinstance(data.get(key), str) else None
    if kind is None:
        known = [*table, _MATRIX] if key == "mechanism" else table
        raise ExpressionError(key, data.get(key), f"one of {', '.join(sorted(known))}")
    values = {name: _read(value, depth + 1) for name, value in data.items() if name != key}
    return build(kind, kind, data[key], values, data)


def _check_depth(data: Any, depth: int) -> None:
    if depth > DEEPEST:
        raise ExpressionError("nesting", depth, f"at most {DEEPEST} deep")
    for item in data.values() if isinstance(data, dict) else data:
        if isinstance(item, dict | list):
            _check_depth(item, depth + 1)
