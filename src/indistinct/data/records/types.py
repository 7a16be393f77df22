"""Columns of records as NumPy arrays, whatever engine they came from.

Every engine hands its records over in this form, so that what is done with a record is written once and
gives the same bits everywhere.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

import numpy as np
import numpy.typing as npt

from indistinct.errors import DataError

Mask = npt.NDArray[np.bool_]

ROWS = 2**18
"""In one batch: sums of a batch stay far from the ends of 64-bit integers, and its columns in the cache."""


class Kind(Enum):
    """What a column holds, as far as it matters here."""

    INTEGER = "integers"
    NUMBER = "numbers"
    TEXT = "text"
    TRUTH = "truth values"
    OTHER = "values of a type that is not supported"


@dataclass(frozen=True)
class Column:
    """Values and which of them are missing. Text is coded: `values` are places in `words`.

    They are records, and its representation does not show them."""

    kind: Kind
    values: npt.NDArray[Any] = field(repr=False)
    missing: Mask = field(repr=False)
    words: npt.NDArray[np.object_] | None = field(repr=False, default=None)

    def __len__(self) -> int:
        return len(self.values)

    def numbers(self) -> npt.NDArray[np.float64]:
        return self.values.astype(np.float64, copy=False)

    def plain(self) -> npt.NDArray[Any]:
        """Integers, or texts as Python objects."""
        return self.values if self.words is None else self.words[self.values]

    def take(self, places: npt.NDArray[np.intp] | slice) -> "Column":
        return Column(self.kind, self.values[places], self.missing[places], self.words)


Batch = Mapping[str, Column]


def from_numpy(name: str, values: npt.NDArray[Any]) -> Column:
    """One array as a column; masked entries and NaN are missing."""
    if values.ndim != 1:
        raise DataError(f"column {name!r} must have one dimension, it has {values.ndim}")
    missing = np.array(np.ma.getmaskarray(values))
    values = np.ma.getdata(values)
    letter = values.dtype.kind
    if letter == "b":
        return Column(Kind.TRUTH, values.astype(np.int64), missing)
    if letter == "i" or (letter == "u" and values.dtype.itemsize < 8):
        return Column(Kind.INTEGER, values.astype(np.int64, copy=False), missing)
    if letter in "fu":
        numbers = values.astype(np.float64, copy=False)
        return Column(Kind.NUMBER, numbers, missing | np.isnan(numbers))
    if letter in "UTO":
        return _from_texts(name, values, missing)
    return Column(Kind.OTHER, np.zeros(len(values), np.int64), missing)


def _from_texts(name: str, values: npt.NDArray[Any], missing: Mask) -> Column:
    objects = values.astype(object)
    absent = np.array([value is None or value != value for value in objects], dtype=bool)
    missing = missing | absent
    if not all(isinstance(value, str) for value in objects[~missing]):
        return Column(Kind.OTHER, np.zeros(len(values), np.int64), missing)
    objects[missing] = ""
    words, codes = np.unique(objects.astype(object), return_inverse=True)
    return Column(Kind.TEXT, codes.astype(np.int64).reshape(-1), missing, words.astype(object))


def kind_of_arrow(kind: Any) -> Kind:
    """What a column of an Arrow type is here."""
    import pyarrow as pa

    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    if pa.types.is_boolean(kind):
        return Kind.TRUTH
    if pa.types.is_integer(kind) and kind != pa.uint64():
        return Kind.INTEGER
    if pa.types.is_floating(kind) or pa.types.is_decimal(kind) or kind == pa.uint64():
        return Kind.NUMBER
    if pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind):
        return Kind.TEXT
    return Kind.OTHER


def from_arrow(array: Any) -> Column:
    """One Arrow array (not chunked) as a column; NaN is missing."""
    import pyarrow as pa
    import pyarrow.compute as pc

    kind = kind_of_arrow(array.type)
    missing = np.zeros(len(array), dtype=bool)
    if array.null_count:
        missing = np.asarray(array.is_null().to_numpy(zero_copy_only=False), dtype=bool)
    if kind is Kind.OTHER:
        return Column(kind, np.zeros(len(array), np.int64), missing)
    if kind is Kind.TEXT:
        # A dictionary that came with the data may hold a word twice or hold nulls: make our own.
        array = array.cast(pa.large_string()).dictionary_encode()
        missing = np.asarray(array.is_null().to_numpy(zero_copy_only=False), dtype=bool)
        codes = array.indices.fill_null(0).to_numpy(zero_copy_only=False).astype(np.int64)
        words = np.array([*array.dictionary.to_pylist(), ""], dtype=object)
        return Column(kind, codes, missing, words)
    if pa.types.is_dictionary(array.type):
        array = array.dictionary_decode()
    if kind is Kind.TRUTH:
        array = array.cast(pa.int8())
    target = np.float64 if kind is Kind.NUMBER else np.int64
    if array.null_count:
        array = pc.fill_null(array, pa.scalar(0, array.type))
    if pa.types.is_decimal(array.type):
        array = array.cast(pa.float64())
    values = array.to_numpy(zero_copy_only=False).astype(target, copy=False)
    if kind is Kind.NUMBER:
        missing = missing | np.isnan(values)
    return Column(kind, values, missing)


def arrow_batch(record_batch: Any) -> dict[str, Column]:
    names = record_batch.schema.names
    return {name: from_arrow(record_batch.column(place)) for place, name in enumerate(names)}


def slices(rows: int, at_once: int = ROWS) -> Iterator[slice]:
    return (slice(start, start + at_once) for start in range(0, rows, at_once))
