"""Descriptions as JSON data: each object says what it is. `indistinct.data.from_json` reads them back."""

from dataclasses import fields, is_dataclass
from enum import Enum
from typing import Any

from indistinct.mechanisms import Mechanism


def to_plain(value: Any) -> Any:
    """A value of a description as JSON data."""
    if isinstance(value, Mechanism):
        return value.to_json()
    if isinstance(value, Enum):
        return {"is": type(value).__name__, "value": value.value}
    if is_dataclass(value):
        return {"is": type(value).__name__, **plain_fields(value)}
    if isinstance(value, tuple):
        return [to_plain(item) for item in value]
    return value


def plain_fields(value: Any) -> dict[str, Any]:
    """The fields of a frozen description, by name."""
    return {field.name: to_plain(getattr(value, field.name)) for field in fields(value)}
