"""Workloads and strategies as JSON data, through closed tables of names: never an import path."""

from collections.abc import Callable, Mapping
from dataclasses import fields
from typing import Any

from indistinct.errors import ArgumentError, ExpressionError
from indistinct.workloads.combined import Kronecker, Stacked
from indistinct.workloads.line import LineStrategy
from indistinct.workloads.marginals import Marginals
from indistinct.workloads.product import KroneckerStrategy
from indistinct.workloads.residual import ResidualStrategy
from indistinct.workloads.strategy import Explicit, Hierarchical, IdentityStrategy, Strategy
from indistinct.workloads.table import Table
from indistinct.workloads.weighted import MarginalStrategy
from indistinct.workloads.workload import AllRange, Identity, Implicit, Matrix, Prefix, Total, Workload


def _tuples(value: Any) -> Any:
    return tuple(map(_tuples, value)) if isinstance(value, list | tuple) else value


def _line(left: Any, right: Any, factor: Any, weights: Any) -> LineStrategy:
    return LineStrategy(left, right, factor, Table("weights", weights, 1))


WORKLOADS: dict[str, Callable[..., Workload]] = {
    "all_range": AllRange,
    "identity": Identity,
    "kronecker": lambda factors: Kronecker(*map(workload_from_json, factors)),
    "marginals": lambda shape, sets, weights: Marginals(_tuples(shape), sets=_tuples(sets), weights=weights),
    "matrix": lambda table: Matrix(table),
    "prefix": Prefix,
    "stacked": lambda parts, weights: Stacked(*map(workload_from_json, parts), weights=weights),
    "total": Total,
}

STRATEGIES: dict[str, Callable[..., Strategy]] = {
    "explicit": lambda table: Explicit(table),
    "hierarchical": Hierarchical,
    "identity": IdentityStrategy,
    "kronecker": lambda factors: KroneckerStrategy(*map(strategy_from_json, factors)),
    "line": _line,
    "marginals": lambda shape, groups, weights: MarginalStrategy(_tuples(shape), _tuples(groups), weights),
    "residual": lambda shape, groups, precisions: ResidualStrategy(
        _tuples(shape), _tuples(groups), precisions
    ),
}


def to_json(value: Workload | Strategy) -> dict[str, Any]:
    """A workload or a strategy as JSON data."""
    if isinstance(value, Implicit):
        raise ArgumentError("workload", str(value), "written as a Matrix to be saved")
    noun = "workload" if isinstance(value, Workload) else "strategy"
    return {noun: value.kind, **{f.name: _plain(getattr(value, f.name)) for f in fields(value)}}


def _plain(value: Any) -> Any:
    if isinstance(value, Workload | Strategy):
        return to_json(value)
    if isinstance(value, Table):
        return value.array.tolist()
    return [_plain(item) for item in value] if isinstance(value, tuple) else value


def workload_from_json(data: Any) -> Workload:
    return _read("workload", data, WORKLOADS)  # type: ignore[no-any-return]


def strategy_from_json(data: Any) -> Strategy:
    return _read("strategy", data, STRATEGIES)  # type: ignore[no-any-return]


def _read(noun: str, data: Any, kinds: Mapping[str, Callable[..., Any]]) -> Any:
    if not isinstance(data, dict) or not isinstance(data.get(noun), str):
        raise ExpressionError("JSON", data, f'an object with a "{noun}" name')
    make = kinds.get(data[noun])
    if make is None:
        raise ExpressionError(noun, data[noun], f"one of {', '.join(sorted(kinds))}")
    try:
        return make(**{name: value for name, value in data.items() if name != noun})
    except TypeError:
        raise ExpressionError("JSON", data, f"complete, for {data[noun]}") from None
