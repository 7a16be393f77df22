"""JSON and TOML from files that may have been written by anybody."""

import json
import math
import re
import tomllib
from typing import Any

from indistinct.errors import FileError
from indistinct.files.opening import PathLike, read_bytes

MOST_TEXT = 2**24
"""Bytes of JSON; of TOML, which is written by hand, and which Python reads letter by letter, a sixteenth."""
_DEEPEST = 256
_DOTTED = re.compile(
    r"""(?<![\w.-])(?:(?:[A-Za-z0-9_-]++|"[^"\n]*+"|'[^'\n]*+')[ \t]*+\.[ \t]*+){32}""",
)
"""A key of more parts than any plan has: tomllib needs the square of their number."""


def read_json(path: PathLike, *, links: bool = True) -> Any:
    """The content of a JSON file."""
    return json_text(path, read_bytes(path, MOST_TEXT, links=links))


def json_text(path: PathLike, text: bytes | str) -> Any:
    """JSON that stands in a file: no key twice, no NaN, and nested no deeper than anything we write."""
    try:
        words = text.decode("utf-8") if isinstance(text, bytes) else text
        content = json.loads(words, object_pairs_hook=_object, parse_constant=_constant)
    except (ValueError, RecursionError) as error:
        raise FileError(path, f"it is not JSON that can be used{_place(error)}") from None
    _check_depth(path, content)
    return content


def shown_json(data: Any) -> str:
    """JSON for people and programs: strict, on lines, in its own letters."""
    return json.dumps(data, indent=2, allow_nan=False, ensure_ascii=False)


def read_toml(path: PathLike) -> dict[str, Any]:
    """The content of a TOML file."""
    text = read_bytes(path, MOST_TEXT // 16)
    try:
        words = text.decode("utf-8")
        if _DOTTED.search(words):
            raise _Refused("a key has too many parts")
        content = tomllib.loads(words)
    except (ValueError, RecursionError) as error:
        raise FileError(path, f"it is not a TOML file that can be used{_place(error)}") from None
    _check_depth(path, content)
    return content


def _place(error: Exception) -> str:
    if isinstance(error, RecursionError):
        return ": it is nested too deep"
    if isinstance(error, json.JSONDecodeError):
        return f": line {error.lineno}, column {error.colno}"
    if isinstance(error, tomllib.TOMLDecodeError | _Refused):
        return f" ({error})"
    return ""


class _Refused(ValueError):
    """What JSON allows and we do not."""


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise _Refused("a key stands there twice")
    return found


def _constant(word: str) -> float:
    if word == "NaN":
        raise _Refused("NaN is no value")
    return math.inf if word == "Infinity" else -math.inf


def _check_depth(path: PathLike, content: Any) -> None:
    """Without recursion: what is nested by dotted keys was read without it too."""
    level, depth = [content], 0
    while level:
        if depth > _DEEPEST:
            raise FileError(path, f"it is nested more than {_DEEPEST} deep")
        inside = [
            list(one.values()) if isinstance(one, dict) else one
            for one in level
            if isinstance(one, dict | list)
        ]
        level, depth = [item for items in inside for item in items], depth + 1
