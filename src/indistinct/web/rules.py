"""What a request may hold and an answer does hold. A rule says itself as JSON Schema and checks a value: the
document that is served and what is really let in are one thing, and cannot drift apart.

A value that is refused raises an `ArgumentError` that names the field.
"""

import math
import re
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from indistinct.errors import ArgumentError

LINE = "[^\\u0000-\\u001f\\u007f-\\u009f\\u2028\\u2029]*"
"""Letters that make up one line: no controls."""
WORD = "[A-Za-z0-9][A-Za-z0-9._@-]*"
HEX = "[0-9a-f]*"
_HALVES = "[\ud800-\udfff]"
"""Half a letter, which JSON can say and no database can store."""


class FieldRule(ABC):
    """What a value must be."""

    @abstractmethod
    def schema(self) -> dict[str, Any]:
        """The rule as JSON Schema (2020-12)."""

    @abstractmethod
    def check(self, name: str, value: Any) -> Any:
        """The value, if it keeps the rule."""

    def read(self, name: str, text: str) -> Any:
        """The value that stands in an address as text."""
        return self.check(name, text)


@dataclass(frozen=True)
class Text(FieldRule):
    """One line, of so many letters."""

    most: int
    least: int = 1
    pattern: str = LINE

    def schema(self) -> dict[str, Any]:
        size = {"minLength": self.least, "maxLength": self.most}
        return {"type": "string", **size, "pattern": f"^{self.pattern}$"}

    def check(self, name: str, value: Any) -> str:
        fits = isinstance(value, str) and self.least <= len(value) <= self.most
        if not fits or not re.fullmatch(self.pattern, value) or re.search(_HALVES, value):
            made = "" if self.pattern == LINE else f", made of {self.pattern}"
            raise ArgumentError(name, value, f"one line of {self.least} to {self.most} letters{made}")
        return str(value)


@dataclass(frozen=True)
class OneWord(FieldRule):
    """One of several words."""

    words: tuple[str, ...]

    def schema(self) -> dict[str, Any]:
        return {"type": "string", "enum": list(self.words)}

    def check(self, name: str, value: Any) -> str:
        if value not in self.words:
            raise ArgumentError(name, value, f"one of {', '.join(self.words)}")
        return str(value)


@dataclass(frozen=True)
class Real(FieldRule):
    """A finite number in (above, most]."""

    above: float
    most: float

    def schema(self) -> dict[str, Any]:
        return {"type": "number", "exclusiveMinimum": self.above, "maximum": self.most}

    def check(self, name: str, value: Any) -> float:
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise ArgumentError(name, value, "a number")
        if not self.above < value <= self.most:
            raise ArgumentError(name, value, f"a number above {self.above:g}, at most {self.most:g}")
        return float(value)

    def read(self, name: str, text: str) -> float:
        try:
            number = float(text) if text.isascii() and not text.isspace() else math.nan
        except ValueError:
            number = math.nan
        return self.check(name, text if math.isnan(number) or "_" in text else number)


@dataclass(frozen=True)
class Whole(FieldRule):
    """An integer from `least` to `most`."""

    least: int
    most: int

    def schema(self) -> dict[str, Any]:
        return {"type": "integer", "minimum": self.least, "maximum": self.most}

    def check(self, name: str, value: Any) -> int:
        whole = isinstance(value, int) or (isinstance(value, float) and value.is_integer())
        if isinstance(value, bool) or not whole or not self.least <= value <= self.most:
            raise ArgumentError(name, value, f"an integer from {self.least} to {self.most}")
        return int(value)

    def read(self, name: str, text: str) -> int:
        return self.check(name, int(text) if re.fullmatch("-?[0-9]{1,18}", text) else text)


@dataclass(frozen=True)
class Flag(FieldRule):
    """True or false."""

    def schema(self) -> dict[str, Any]:
        return {"type": "boolean"}

    def check(self, name: str, value: Any) -> bool:
        if not isinstance(value, bool):
            raise ArgumentError(name, value, "true or false")
        return value


@dataclass(frozen=True)
class Items(FieldRule):
    """A list."""

    of: FieldRule
    most: int | None = None

    def schema(self) -> dict[str, Any]:
        most = {} if self.most is None else {"maxItems": self.most}
        return {"type": "array", "items": self.of.schema(), **most}

    def check(self, name: str, value: Any) -> list[Any]:
        if not isinstance(value, list) or (self.most is not None and len(value) > self.most):
            raise ArgumentError(name, value, f"a list of at most {self.most}")
        return [self.of.check(name, item) for item in value]


@dataclass(frozen=True)
class ByName(FieldRule):
    """Values by names that the sender chooses."""

    names: Text
    of: FieldRule
    most: int

    def schema(self) -> dict[str, Any]:
        names, values = self.names.schema(), self.of.schema()
        return {
            "type": "object",
            "propertyNames": names,
            "additionalProperties": values,
            "maxProperties": self.most,
        }

    def check(self, name: str, value: Any) -> dict[str, Any]:
        if not isinstance(value, dict) or len(value) > self.most:
            raise ArgumentError(name, value, f"an object of at most {self.most}")
        return {self.names.check(name, key): self.of.check(key, one) for key, one in value.items()}


@dataclass(frozen=True)
class Anything(FieldRule):
    """An object that something else reads, or that is only handed out."""

    kind: str = "object"

    def schema(self) -> dict[str, Any]:
        return {"type": self.kind} if self.kind else {}

    def check(self, name: str, value: Any) -> Any:
        if self.kind == "object" and not isinstance(value, dict):
            raise ArgumentError(name, value, "an object")
        return value


@dataclass(frozen=True)
class Either(FieldRule):
    """What keeps one of several rules."""

    rules: tuple[FieldRule, ...]
    words: str

    def schema(self) -> dict[str, Any]:
        return {"anyOf": [rule.schema() for rule in self.rules]}

    def check(self, name: str, value: Any) -> Any:
        for rule in self.rules:
            try:
                return rule.check(name, value)
            except ArgumentError:
                pass
        raise ArgumentError(name, value, self.words)


@dataclass(frozen=True)
class Maybe(FieldRule):
    """The value, or null."""

    of: FieldRule

    def schema(self) -> dict[str, Any]:
        return {"anyOf": [self.of.schema(), {"type": "null"}]}

    def check(self, name: str, value: Any) -> Any:
        return None if value is None else self.of.check(name, value)


@dataclass(frozen=True)
class Fields(FieldRule):
    """An object of known fields: no other, and none left out that is needed."""

    needed: Mapping[str, FieldRule] = field(default_factory=dict)
    optional: Mapping[str, FieldRule] = field(default_factory=dict)
    name: str = ""
    """Under which the document describes it once, if it occurs often."""

    @property
    def all(self) -> dict[str, FieldRule]:
        return {**self.needed, **self.optional}

    def schema(self) -> dict[str, Any]:
        return {"$ref": f"#/components/schemas/{self.name}"} if self.name else self.in_full()

    def in_full(self) -> dict[str, Any]:
        """The schema itself, of which others may have the name alone."""
        return {
            "type": "object",
            "properties": {name: rule.schema() for name, rule in self.all.items()},
            "required": list(self.needed),
            "additionalProperties": False,
        }

    def check(self, name: str, value: Any) -> dict[str, Any]:
        if not isinstance(value, dict):
            raise ArgumentError(name, value, "an object")
        self._names(value)
        return {key: self.all[key].check(key, one) for key, one in value.items()}

    def address(self, pairs: list[tuple[str, str]]) -> dict[str, Any]:
        """The fields from the part of an address behind the question mark."""
        given = dict(pairs)
        if len(given) < len(pairs):
            raise ArgumentError("address", [key for key, _ in pairs], "made of fields that are given once")
        self._names(given)
        return {key: self.all[key].read(key, text) for key, text in given.items()}

    def _names(self, given: Mapping[str, Any]) -> None:
        has = f"known: {', '.join(self.all) or 'there are none here'}"
        if unknown := [key for key in given if key not in self.all]:
            raise ArgumentError("field", unknown[0], has)
        if missing := [key for key in self.needed if key not in given]:
            raise ArgumentError(missing[0], None, "given")
