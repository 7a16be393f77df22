"""Arrow arrays as columns of declared types. Files, databases, Spark, Polars and Arrow come through here."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from indistinct.data.records.reading import BLANKS, NUMBER, SHORT, Raw, from_objects, looked_up
from indistinct.data.records.types import Batch, Column, Kind, Mask, Type

_UNITS = {"date32[day]": "D", "date64[ms]": "ms"}


def kind_of_arrow(kind: Any) -> Kind:
    """What a column of an Arrow type holds."""
    import pyarrow as pa

    is_ = pa.types
    if is_.is_dictionary(kind):
        kind = kind.value_type
    if is_.is_boolean(kind):
        return Kind.TRUTH
    if is_.is_integer(kind):
        return Kind.INTEGER
    if is_.is_floating(kind) or is_.is_decimal(kind):
        return Kind.NUMBER
    if is_.is_string(kind) or is_.is_large_string(kind) or is_.is_string_view(kind):
        return Kind.TEXT
    if is_.is_timestamp(kind) or is_.is_date(kind):
        return Kind.TIME
    return Kind.ANY if is_.is_null(kind) else Kind.OTHER


def from_arrow(array: Any, wanted: Type) -> Column:
    """One Arrow array (not chunked) as a column of the declared type."""
    import pyarrow as pa

    kind = array.type
    missing = _nulls(array)
    if pa.types.is_dictionary(kind):
        # A dictionary that came with the data may hold a value twice, or hold nulls.
        words = from_arrow(array.dictionary, Kind.TEXT if wanted is Kind.USER else wanted)
        return looked_up(_filled(array.indices), missing, words)
    if kind_of_arrow(kind) is Kind.TEXT:
        texts = valid_texts(array)
        return _from_texts(texts, _nulls(texts), wanted)
    return _raw(array, missing).read(wanted)


def valid_texts(array: Any) -> Any:
    """Texts, of which Arrow only believes that they are; bytes that are no text are null."""
    import pyarrow as pa

    held = array.cast(pa.large_binary())
    try:
        return held.cast(pa.large_string())  # which looks at them
    except pa.ArrowInvalid:
        return pa.array([_valid(cell) for cell in held.to_pylist()], pa.large_string())


def _valid(cell: bytes | None) -> str | None:
    try:
        return None if cell is None else cell.decode()
    except UnicodeDecodeError:
        return None


def user_texts(array: Any) -> Any:
    """Users as Arrow texts, of which whole numbers are the digits."""
    import pyarrow as pa

    if kind_of_arrow(array.type) is Kind.TEXT and not pa.types.is_dictionary(array.type):
        return valid_texts(array)
    users = from_arrow(array, Kind.USER)
    return pa.array([str(user) for user in users.plain()], pa.large_string(), mask=users.missing)


def arrow_batch(batch: Any, types: Mapping[str, Type], *, users: bool) -> Batch:
    """A record batch whose columns are those of `types`, in this order, and then that of users."""
    columns = {name: from_arrow(batch.column(i), kind) for i, (name, kind) in enumerate(types.items())}
    whose = from_arrow(batch.column(len(types)), Kind.USER) if users else None
    return Batch(batch.num_rows, columns, whose)


def _raw(array: Any, missing: Mask) -> Raw:
    import pyarrow as pa

    kind = array.type
    if pa.types.is_decimal(kind):
        coded = array.dictionary_encode()
        return Raw(_filled(coded.indices), missing, coded.dictionary.to_pylist())
    if kind_of_arrow(kind) in (Kind.ANY, Kind.OTHER):
        return Raw(np.zeros(len(array), "V1"), np.ones(len(array), dtype=bool))
    if kind_of_arrow(kind) is Kind.TIME:
        unit = _UNITS.get(str(kind)) or kind.unit
        whole = array.cast(pa.int32() if unit == "D" else pa.int64()).fill_null(0)
        times = whole.to_numpy(zero_copy_only=False).astype(np.int64).view(f"datetime64[{unit}]")
        return Raw(times, missing, moments=getattr(kind, "tz", None) is not None)
    return Raw(_filled(array, pa.scalar(0, pa.int8()).cast(kind)), missing)


def _nulls(array: Any) -> Mask:
    if not array.null_count:
        return np.zeros(len(array), dtype=bool)
    return np.asarray(array.is_null().to_numpy(zero_copy_only=False), dtype=bool)


def _from_texts(array: Any, missing: Mask, wanted: Type) -> Column:
    if wanted is Kind.NUMBER:
        return _numbers(array, missing)
    if wanted is Kind.INTEGER:
        return _integers(array, missing)
    coded = array.dictionary_encode()
    places = _filled(coded.indices).astype(np.int64)
    words = coded.dictionary.to_pylist()
    if wanted in (Kind.TEXT, Kind.USER):
        return Column(places, missing, np.array(words or [""], dtype=object))
    return Raw(places, missing, words).read(wanted)


def _numbers(array: Any, missing: Mask) -> Column:
    """As `reading` does it, without a Python object for each."""
    import pyarrow as pa

    try:
        numbers = _filled(array.cast(pa.float64()))
    except pa.ArrowInvalid:
        array = _matching(array, NUMBER)
        missing = _nulls(array)
        numbers = _filled(array.cast(pa.float64()))
    return Column(numbers, missing | ~np.isfinite(numbers))  # Arrow reads words such as inf


def _integers(array: Any, missing: Mask) -> Column:
    import pyarrow as pa
    import pyarrow.compute as pc

    try:
        values = _filled(array.cast(pa.int64()))
        if not any(pc.any(pc.match_substring(array, x)).as_py() for x in "xX"):  # hexadecimal digits
            return Column(values, missing)
    except pa.ArrowInvalid:
        pass
    short = _matching(array, SHORT)
    values, gone = np.array(_filled(short.cast(pa.int64()))), _nulls(short)
    if len(rest := np.flatnonzero(gone & ~missing)):
        found = from_objects(array.take(pa.array(rest)).to_pylist(), Kind.INTEGER)
        values[rest], gone[rest] = found.values, found.missing
    return Column(values, gone)


def _matching(array: Any, pattern: str) -> Any:
    """Texts without blanks around them; null where they are of another form."""
    import pyarrow.compute as pc

    trimmed = pc.ascii_trim(array, BLANKS)
    fits = pc.match_substring_regex(trimmed, f"^({pattern})$")
    return pc.if_else(fits, trimmed, None)


def _filled(array: Any, empty: Any = 0) -> npt.NDArray[Any]:
    if array.null_count:
        array = array.fill_null(empty)
    filled: npt.NDArray[Any] = array.to_numpy(zero_copy_only=False)
    return filled
