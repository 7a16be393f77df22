"""CSV files, line by line, in a dialect that is declared (RFC 4180 unless told otherwise).

A record is a line: nothing in it changes how another line is read. A line with too many or too few fields,
or with a quote that does not end, is a record whose cells are missing; a cell with a quote out of place, or
with bytes that are no text, is missing. Cells are found by NumPy in blocks of bytes, and only those of
declared columns are made.
"""

import codecs
import csv
import os
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from indistinct.boundary import guarded, guarded_each
from indistinct.data.engines.by_user import by_user
from indistinct.data.engines.files import Paths, Watched, found
from indistinct.data.engines.table import BatchedTable
from indistinct.data.records.arrow import from_arrow, valid_texts
from indistinct.data.records.bounded_sum import Folds
from indistinct.data.records.types import Batch, Kind, Mask, Type
from indistinct.errors import ArgumentError, needs

_BLOCK = 1 << 22
_LONGEST = 1 << 24
"""Bytes of a line; a longer one is a record whose cells are missing."""
_SMALL = 1 << 16
_NEWLINE, _RETURN = 10, 13
_ENCODINGS = ("utf-8", "iso8859-1", "cp1252")

Cells = tuple[int, list[Any]]
"""How many records, and a column for each that was asked for."""


@dataclass(frozen=True)
class Dialect:
    """How the lines of a CSV file are to be read; without `names` its first line has them."""

    delimiter: str = ","
    quote: str = '"'
    encoding: str = "utf-8"
    names: tuple[str, ...] | None = None
    newlines: bool = False

    def __post_init__(self) -> None:
        for argument, value, least in (("delimiter", self.delimiter, 1), ("quote", self.quote, 0)):
            single = isinstance(value, str) and least <= len(value) <= 1
            if not single or not value.isascii() or value in ("\n", "\r"):
                allowed = "one ASCII character" if least else "one ASCII character, or '' for none"
                raise ArgumentError(argument, value, allowed)
        if self.delimiter == self.quote:
            raise ArgumentError("quote", self.quote, "another character than the delimiter")
        try:
            encoding = codecs.lookup(self.encoding).name
        except (LookupError, TypeError):
            encoding = ""
        if encoding not in _ENCODINGS:
            raise ArgumentError("encoding", self.encoding, "utf-8, latin-1 or windows-1252")
        object.__setattr__(self, "encoding", encoding)
        if self.names is not None and len(set(self.names)) != len(self.names):
            raise ArgumentError("names", self.names, "distinct")

    def decoded(self, block: bytes) -> bytes:
        """As UTF-8; bytes that are no text stay bytes that are no text."""
        if self.encoding == "utf-8" or block.isascii():
            return block
        return block.decode(self.encoding, "surrogateescape").encode("utf-8", "surrogatepass")


class CsvTable(BatchedTable):
    """Lines of CSV files."""

    def __init__(self, files: tuple[str, ...], dialect: Dialect, memory: str, threads: int | None) -> None:
        with needs("arrow"):
            import pyarrow  # noqa: F401

        self._watched = Watched(files)
        self._dialect, self._memory, self._threads = dialect, memory, threads
        with guarded(files[0] if len(files) == 1 else "the table"):
            self._names = [dialect.names or _header(file, dialect) for file in files]

    def kinds(self) -> Mapping[str, Kind]:
        everywhere = [n for n in self._names[0] if all(names.count(n) == 1 for names in self._names)]
        return dict.fromkeys(everywhere, Kind.TEXT)

    def unchanged(self) -> AbstractContextManager[None]:
        return self._watched.unchanged()

    def batches(self, types: Mapping[str, Type], user: str | None) -> Iterator[Batch]:
        if user is not None:
            read = self._cells((*types, user), (*types.values(), None))
            yield from by_user((columns for _, columns in read), types, self._memory, self._threads)
            return
        for rows, columns in guarded_each("the table", self._cells(tuple(types), tuple(types.values()))):
            yield Batch(rows, dict(zip(types, columns, strict=True)))

    def fold(self, folds: Folds) -> Folds:
        """Blocks are added up where they are parsed, if their sums are small."""
        if folds.user is not None or folds.size > _SMALL:
            return super().fold(folds)
        types = folds.types

        def part(rows: int, columns: list[Any]) -> Folds:
            own = Folds(folds.sums)
            own.add(Batch(rows, dict(zip(types, columns, strict=True))))
            return own

        for own in guarded_each("the table", self._cells(tuple(types), tuple(types.values()), part)):
            folds.join(own)
        return folds

    def _cells(
        self, wanted: tuple[str, ...], types: tuple[Type | None, ...], then: Any = None
    ) -> Iterator[Any]:
        """The cells of each block, as declared or as texts; or what is made of them, in several threads."""
        for file, names in zip(self._watched.files, self._names, strict=True):
            places = tuple(names.index(name) for name in wanted)
            parsed = partial(_parsed, self._dialect, len(names), places, types)
            work = parsed if then is None else lambda block, parsed=parsed: then(*parsed(block))
            yield from _at_once(work, _blocks(file, self._dialect, len(names)), self._threads)


def read_csv(
    paths: Paths,
    *,
    delimiter: str = ",",
    quote: str = '"',
    encoding: str = "utf-8",
    names: Sequence[str] | None = None,
    newlines: bool = False,
    memory: str = "1GB",
    threads: int | None = None,
) -> CsvTable:
    """A table of one or more CSV files. Nothing is found out from them but the names in their first line.

    A file without such a line needs `names`. With `newlines` a cell in quotes may hold the end of a line;
    then a quote that is not closed takes all lines up to the next quote with it: for files that you wrote.
    """
    dialect = Dialect(delimiter, quote, encoding, None if names is None else tuple(names), bool(newlines))
    return CsvTable(found(paths), dialect, memory, threads)


def _header(file: str, dialect: Dialect) -> tuple[str, ...]:
    with open(file, "rb") as opened:
        line = opened.readline(_LONGEST).removeprefix(codecs.BOM_UTF8).rstrip(b"\r\n")
    text = dialect.decoded(line).decode()
    if not dialect.quote:
        return tuple(text.split(dialect.delimiter))
    return tuple(next(csv.reader([text], delimiter=dialect.delimiter, quotechar=dialect.quote), []))


def _blocks(file: str, dialect: Dialect, fields: int) -> Iterator[bytes]:
    """Whole lines without the header, some megabytes at a time."""
    too_long = dialect.delimiter.encode() * fields + b"\n"  # stands for such a line: it has a field too many
    with open(file, "rb") as opened:
        if opened.read(3) != codecs.BOM_UTF8:
            opened.seek(0)
        if dialect.names is None:
            opened.readline()
        rest, skipping = b"", False
        while block := opened.read(_BLOCK):
            if skipping:
                _, end, block = block.partition(b"\n")
                skipping = not end
                if skipping:
                    continue
                rest = too_long
            rest += block
            if (end_of_line := rest.find(b"\n")) > _LONGEST:  # only what was carried over can be so long
                rest = too_long + rest[end_of_line + 1 :]
            if cut := _last_line(rest, dialect):
                yield rest[:cut]
                rest = rest[cut:]
            elif len(rest) > _LONGEST:
                rest, skipping = b"", True
        if rest or skipping:
            yield too_long if skipping or _open(rest, dialect) else rest + b"\n"


def _open(rest: bytes, dialect: Dialect) -> bool:
    """Whether a quote is not closed, where it may span lines."""
    return dialect.newlines and bool(dialect.quote) and rest.count(dialect.quote.encode()) % 2 == 1


def _last_line(block: bytes, dialect: Dialect) -> int:
    """Where the last whole record ends."""
    if not dialect.newlines or not dialect.quote:
        return block.rfind(b"\n") + 1
    letters = np.frombuffer(block, dtype=np.uint8)
    ends = np.flatnonzero(letters == _NEWLINE)
    closed = np.searchsorted(np.flatnonzero(letters == ord(dialect.quote)), ends) % 2 == 0
    return int(ends[closed].max(initial=-1)) + 1


def _parsed(
    dialect: Dialect, fields: int, places: tuple[int, ...], types: tuple[Type | None, ...], block: bytes
) -> Cells:
    """The cells at some places of each record, as declared or as texts."""
    block = dialect.decoded(block)
    letters = np.frombuffer(block, dtype=np.uint8)
    ends = np.flatnonzero((letters == ord(dialect.delimiter)) | (letters == _NEWLINE))
    is_line = letters[ends] == _NEWLINE
    quoted = bool(dialect.quote) and dialect.quote.encode() in block
    odd: Mask | None = None
    if quoted:
        keep, odd = _outside_quotes(letters, ends, is_line, dialect)
        ends, is_line = ends[keep], is_line[keep]
    lines = np.flatnonzero(is_line)
    if not len(lines):
        return 0, [_read(_texts(b"", lines, lines, ""), kind) for kind in types]
    first = np.concatenate([[0], lines[:-1] + 1])
    start = np.concatenate([[0], ends[lines[:-1]] + 1])
    stop = ends[lines]
    stop = stop - ((letters[stop - 1] == _RETURN) & (stop > start))
    whole = lines - first + 1 == fields
    if odd is not None:
        whole &= ~odd
    records = stop > start  # an empty line is none
    if not records.all():
        first, start, stop, whole = first[records], start[records], stop[records], whole[records]
    columns = []
    for place, kind in zip(places, types, strict=True):
        field = np.where(whole, first + place, 0)
        begin = start if place == 0 else np.where(whole, ends[field - 1] + 1, start)
        finish = np.where(whole, stop if place == fields - 1 else ends[field], begin)
        columns.append(_read(_texts(block, begin, finish, dialect.quote if quoted else ""), kind))
    return len(start), columns


def _read(cells: Any, kind: Type | None) -> Any:
    return cells if kind is None else from_arrow(cells, kind)


def _outside_quotes(
    letters: npt.NDArray[np.uint8], ends: npt.NDArray[np.intp], is_line: Mask, dialect: Dialect
) -> tuple[Mask, Mask | None]:
    """Which delimiters and newlines are not inside quotes; and which lines have a quote that does not end."""
    before = np.searchsorted(np.flatnonzero(letters == ord(dialect.quote)), ends)
    if dialect.newlines:
        return before % 2 == 0, None
    totals = before[is_line]
    of_line = np.concatenate([[0], totals[:-1]])
    line: npt.NDArray[np.int64] = np.cumsum(is_line) - is_line
    return is_line | ((before - of_line[line]) % 2 == 0), (totals - of_line) % 2 == 1


def _texts(block: bytes, begin: npt.NDArray[np.intp], finish: npt.NDArray[np.intp], quote: str) -> Any:
    """Pieces of a block as Arrow texts; empty ones, and those that are no text, are null."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if not len(begin):
        return pa.array([], pa.large_string())
    offsets = np.empty(2 * len(begin), dtype=np.int64)
    offsets[0::2], offsets[1::2] = begin, finish
    buffers = [None, pa.py_buffer(offsets), pa.py_buffer(block)]
    pieces = pa.LargeBinaryArray.from_buffers(pa.large_binary(), len(offsets) - 1, buffers)
    cells = pieces.take(pa.array(np.arange(0, len(offsets) - 1, 2)))  # what lies between them is left out
    cells = valid_texts(cells)
    if quote:
        cells = _unquoted(cells, quote)
    empty = pc.equal(pc.binary_length(cells), 0)
    return pc.if_else(empty, None, cells) if pc.any(empty).as_py() else cells


def _unquoted(cells: Any, quote: str) -> Any:
    """Quotes around a cell are not part of it, and two inside are one; any others are out of place."""
    import pyarrow as pa
    import pyarrow.compute as pc

    some = pc.match_substring(cells, quote)
    if not pc.any(some).as_py():
        return cells
    mark = f"\\x{ord(quote):02x}"
    proper = pc.match_substring_regex(cells, f"^{mark}([^{mark}]|{mark}{mark})*{mark}$")
    inner = pc.binary_slice(cells.cast(pa.large_binary()), 1, -1).cast(pa.large_string(), safe=False)
    inner = pc.replace_substring(inner, quote * 2, quote)
    return pc.if_else(some, pc.if_else(proper, inner, None), cells)


def _at_once(work: Any, blocks: Iterator[bytes], threads: int | None) -> Iterator[Any]:
    """The work on each block, a few of them at the same time."""
    workers = threads or os.cpu_count() or 1
    waiting: deque[Future[Any]] = deque()
    with ThreadPoolExecutor(workers) as pool:
        for block in blocks:
            waiting.append(pool.submit(work, block))
            if len(waiting) > workers:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
