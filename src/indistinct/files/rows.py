"""Tables of results as CSV (RFC 4180), written and read by one pair of functions: every text comes back.

Spreadsheets run a cell that begins like a formula. So a text that does is written with an apostrophe before
it, and read without; numbers are left as they are.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from indistinct.errors import FileError
from indistinct.files.opening import PathLike, read_bytes, whole

_FORMULA = re.compile("'*[=+\\-@\\t\\r\\n\uff1d\uff0b\uff0d\uff20]")
"""How formulas begin, in narrow and wide letters; after apostrophes, so that a text that has one keeps it."""
_SPECIAL = re.compile('[",\r\n]')
_CELL = re.compile('"((?:[^"]++|"")*+)"|([^",\r\n]*)')
_TOGETHER = 4096


def write_rows(path: PathLike, rows: Iterable[Sequence[Any]]) -> None:
    """The rows, the header first. Texts are guarded and quoted where they must be."""
    with whole(path) as file:
        lines: list[str] = []
        for row in rows:
            lines.append(",".join(map(_written, row)) if len(row) != 1 else _written(row[0]) or '""')
            if len(lines) == _TOGETHER:
                file.write("".join(f"{line}\n" for line in lines).encode("utf-8", "surrogatepass"))
                lines.clear()
        file.write("".join(f"{line}\n" for line in lines).encode("utf-8", "surrogatepass"))


def _written(cell: Any) -> str:
    if not isinstance(cell, str):
        return str(cell)
    text = f"'{cell}" if _FORMULA.match(cell) else cell
    return '"' + text.replace('"', '""') + '"' if _SPECIAL.search(text) else text


def plain_cell(text: str) -> str:
    """A cell as it was before it was guarded."""
    return text[1:] if text[:1] == "'" and _FORMULA.match(text) else text


def read_rows(path: PathLike) -> list[list[str]]:
    """What `write_rows` wrote, as texts; the header first, and all rows as long as it is."""
    try:
        text = read_bytes(path, links=False).decode("utf-8", "surrogatepass")
    except UnicodeDecodeError:
        raise FileError(path, "it is not text") from None
    if not text.endswith("\n"):
        raise FileError(path, "it ends too early")
    plain = '"' not in text and "\r" not in text
    lines = (line.split(",") for line in text[:-1].split("\n")) if plain else _parsed(path, text)
    rows = [[plain_cell(cell) for cell in line] for line in lines]
    if any(len(row) != len(rows[0]) for row in rows):
        raise FileError(path, "its rows are not of equal length")
    return rows


def _parsed(path: PathLike, text: str) -> Iterator[list[str]]:
    place, row = 0, []
    while place < len(text):
        found = _CELL.match(text, place)
        assert found is not None  # an empty cell is one
        place = found.end()
        row.append(found[2] if found[1] is None else found[1].replace('""', '"'))
        if text[place : place + 1] == "\n":
            yield row
            row = []
        elif text[place : place + 1] != ",":
            raise FileError(path, "it is not CSV as it was written")
        place += 1
    if row:
        raise FileError(path, "it ends too early")
