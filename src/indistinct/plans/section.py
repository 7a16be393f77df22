"""A section of a TOML file, read word by word.

Every key is known: one that is not is refused by name, so that a misspelt policy is never silently the
default. Every error says where in the plan it stands.
"""

import difflib
from collections.abc import Callable, Collection, Iterable, Mapping
from enum import Enum
from typing import Any, TypeVar

from indistinct.errors import ArgumentError, check_count, check_positive, check_probability

_T = TypeVar("_T")
_E = TypeVar("_E", bound=Enum)
_OTHER_WORDS = {
    "eps": "epsilon",
    "min": "low",
    "lower": "low",
    "minimum": "low",
    "max": "high",
    "upper": "high",
    "maximum": "high",
    "buckets": "bins",
    "values": "categories",
    "levels": "categories",
    "clip": "outside",
    "type": "kind",
    "statistic": "kind",
    "group_by": "by",
    "groupby": "by",
    "id": "user",
    "file": "csv",
    "path": "csv",
    "rows": "records",
    "average": "mean",
    "avg": "mean",
    "total": "sum",
    "median": "quantiles",
    "percentiles": "quantiles",
    "crosstab": "histogram",
    "cdf": "prefix",
    "top": "heavy-hitters",
}
"""What others call it. A word counts only where ours is allowed."""


class Section:
    """Checked values of one section, which stands at `where` in the plan."""

    def __init__(self, where: str, given: Any, keys: Collection[str]) -> None:
        self.where = where
        self.given = table(where, given)
        only(where, self.given, keys)

    def at(self, key: str) -> str:
        """Where a key stands in the plan."""
        return f"{self.where}.{key}"

    def __contains__(self, key: str) -> bool:
        return key in self.given

    def get(self, key: str, default: Any = None) -> Any:
        return self.given.get(key, default)

    def text(self, key: str) -> str:
        return text(self.at(key), self.get(key))

    def texts(self, key: str) -> tuple[str, ...]:
        """Different names, one or more."""
        listed = self.get(key)
        if not isinstance(listed, list) or not listed or len(set(map(str, listed))) < len(listed):
            raise ArgumentError(self.at(key), listed, "a list of different columns, one or more")
        return tuple(text(self.at(key), column) for column in listed)

    def count(self, key: str) -> int:
        return check_count(self.at(key), self.get(key), least=1)

    def positive(self, key: str, default: float | None = None) -> float:
        return check_positive(self.at(key), self.get(key, default))

    def probability(self, key: str, default: float | None = None) -> float:
        return check_probability(self.at(key), self.get(key, default))

    def maybe(self, key: str, read: Callable[[str], _T]) -> _T | None:
        """A value that need not be given."""
        return read(key) if key in self else None

    def truth(self, key: str) -> bool:
        """False unless it is given."""
        value = self.get(key, False)
        if not isinstance(value, bool):
            raise ArgumentError(self.at(key), value, "true or false")
        return value

    def word(self, key: str, words: type[_E], default: str | None = None) -> _E:
        return word(self.at(key), self.get(key, default), words)


def table(where: str, given: Any) -> Mapping[str, Any]:
    """The value, which must be a section."""
    if not isinstance(given, Mapping):
        raise ArgumentError(where, given, "a section with keys")
    return given


def only(where: str, given: Mapping[str, Any], keys: Collection[str]) -> None:
    """Refuse keys that are not among these."""
    for key in given:
        if key not in keys:
            raise ArgumentError(where, key, f"made of {', '.join(sorted(keys))}{meant(key, keys)}")


def meant(word: object, allowed: Iterable[str]) -> str:
    """What was meant by a word that is not allowed, to be said after those that are; nothing if nobody knows.

    >>> meant("colunm", ["column", "ranks"]), meant("min", ["low", "high"]), meant("x", ["low", "high"])
    (" (did you mean 'column'?)", " (did you mean 'low'?)", '')
    """
    by_case = {one.casefold(): one for one in allowed}
    asked = str(word).casefold()
    near = [_OTHER_WORDS.get(asked, ""), *difflib.get_close_matches(asked, by_case, 1)]
    return next((f" (did you mean {by_case[one]!r}?)" for one in near if one in by_case), "")


def text(where: str, value: Any) -> str:
    """The value, which must be a text."""
    if not isinstance(value, str) or not value:
        raise ArgumentError(where, value, "a text")
    return value


def word(where: str, value: Any, words: type[_E]) -> _E:
    """The value, which must be one of the words of an enumeration."""
    allowed = {one.value: one for one in words}
    if not isinstance(value, str) or value not in allowed:
        raise ArgumentError(where, value, f"one of {', '.join(allowed)}{meant(value, allowed)}")
    return allowed[value]


def named(where: str, make: Callable[..., _T], *values: Any, **more: Any) -> _T:
    """What is made, or an error that says where in the plan its argument stands, if it does not say so."""
    try:
        return make(*values, **more)
    except ArgumentError as error:
        if "." in error.argument:
            raise
        raise ArgumentError(f"{where}.{error.argument}", error.value, error.allowed) from None
