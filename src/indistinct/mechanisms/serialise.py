"""Mechanisms from JSON data, through a closed table of names: never an import path, never code."""

from collections.abc import Callable
from dataclasses import fields
from typing import Any

from indistinct.errors import ArgumentError, ExpressionError
from indistinct.mechanisms.finite import Discrete, RandomizedResponse
from indistinct.mechanisms.lattice_noise import DiscreteGaussian, DiscreteLaplace
from indistinct.mechanisms.mechanism import (
    Composed,
    FixedSizeSampled,
    Grouped,
    Mechanism,
    ParallelParts,
    PoissonSampled,
    Repeated,
)
from indistinct.mechanisms.noise import Gaussian, Laplace
from indistinct.mechanisms.selection import Exponential, PermuteAndFlip, ReportNoisyMax

MECHANISMS: dict[str, type[Mechanism]] = {
    mechanism.kind: mechanism
    for mechanism in (
        Composed,
        Discrete,
        DiscreteGaussian,
        DiscreteLaplace,
        Exponential,
        FixedSizeSampled,
        Gaussian,
        Grouped,
        Laplace,
        ParallelParts,
        PermuteAndFlip,
        PoissonSampled,
        RandomizedResponse,
        Repeated,
        ReportNoisyMax,
    )
}

DEEPEST = 100
"""Levels of nested data that are read."""


def mechanism_from_json(data: Any) -> Mechanism:
    """The mechanism that `to_json` wrote.

    >>> from indistinct import Gaussian
    >>> mechanism_from_json((3 * Gaussian(scale=2)).to_json()) == 3 * Gaussian(scale=2)
    True
    """
    return _read(data, 0)


def _read(data: Any, depth: int) -> Mechanism:
    if depth > DEEPEST:
        raise ExpressionError("nesting", depth, f"at most {DEEPEST} deep")
    if not isinstance(data, dict) or not isinstance(data.get("mechanism"), str):
        raise ExpressionError("JSON", data, 'an object with a "mechanism" name')
    kind = MECHANISMS.get(data["mechanism"])
    if kind is None:
        raise ExpressionError("mechanism", data["mechanism"], f"one of {', '.join(sorted(MECHANISMS))}")
    values = {key: _read_value(value, depth) for key, value in data.items() if key != "mechanism"}
    mechanism: Mechanism = build(kind, kind.from_fields, kind.kind, values, data)
    return mechanism


def build(kind: type[Any], make: Callable[..., Any], name: str, values: dict[str, Any], data: Any) -> Any:
    """A dataclass from the values that were read for its fields; unknown and missing ones are named."""
    known = [field.name for field in fields(kind)]
    if unknown := sorted(set(values) - set(known)):
        raise ExpressionError(unknown[0], values[unknown[0]], f"absent: {name} has {', '.join(known)}")
    try:
        return make(**values)
    except ArgumentError:
        raise
    except (TypeError, ValueError, OverflowError, AttributeError, LookupError):  # values of other types
        raise ArgumentError("JSON", data, f"complete: {name} has {', '.join(known)}") from None


def _read_value(value: Any, depth: int) -> Any:
    if depth > DEEPEST:
        raise ExpressionError("nesting", depth, f"at most {DEEPEST} deep")
    if isinstance(value, dict):
        return _read(value, depth + 1)
    if isinstance(value, list):
        return tuple(_read_value(item, depth + 1) for item in value)
    return value
