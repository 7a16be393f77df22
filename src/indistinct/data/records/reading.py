"""From values as an engine holds them to a column of the declared type: the one place that converts.

Every value is converted by itself and whatever does not convert is missing, so that no record changes how
another is read, and none is refused. `docs/data.md` has the table; a test applies it to every engine.
"""

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any
from uuid import UUID

import numpy as np
import numpy.typing as npt

from indistinct.data.records.types import Column, Kind, Mask, Times, Type
from indistinct.errors import DataError

NUMBER = r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?"
_INTEGER = r"([+-]?[0-9]+)(\.0*)?"
"""With a point and zeros, as pandas writes integers of a column in which one is missing."""
SHORT = r"-?[0-9]{1,18}"
"""Integers that fit 64 bits however their digits are."""
_TIME = re.compile(
    r"([0-9]{4}-[0-9]{2}-[0-9]{2})"
    r"(?:[T ]([0-9]{2}:[0-9]{2}(?::[0-9]{2})?)(?:\.([0-9]{1,9}))?(Z|[+-][0-9]{2}:?[0-9]{2})?)?"
)
BLANKS = " \t"
"""Around numbers, truth values and times, where they mean nothing."""
_TRUTHS = {"true": 1, "1": 1, "false": 0, "0": 0}
_ENDS = -(2**63), 2**63 - 1
_EPOCH = datetime(1970, 1, 1)

Integers = npt.NDArray[np.int64]


def check_reads(name: str, held: Kind, wanted: Type) -> None:
    """Refuses a column whose values can never be read as declared, by its type alone."""
    times = isinstance(wanted, Times)
    never = held is Kind.OTHER or (held is Kind.TIME and not times)
    if never or (times and held not in (Kind.TIME, Kind.TEXT, Kind.ANY)):
        declared = "times" if isinstance(wanted, Times) else wanted.value
        raise DataError(f"column {name!r} holds {held.value}, which cannot be read as {declared}")


@dataclass(frozen=True)
class Raw:
    """Values as they came: a NumPy array of any type, perhaps of places in `words`."""

    values: npt.NDArray[Any] = field(repr=False)
    missing: Mask = field(repr=False)
    words: Sequence[Any] | None = field(repr=False, default=None)
    moments: bool = False
    """Whether times are moments, in UTC, rather than what clocks show."""

    def read(self, wanted: Type) -> Column:
        """As a column of the declared type."""
        letter = self.values.dtype.kind
        if self.words is not None:
            return looked_up(self.values, self.missing, from_objects(self.words, wanted))
        if wanted is Kind.USER:
            wanted = Kind.INTEGER if letter in "iuf" else Kind.TEXT
        if letter == "U":
            words, places = np.unique(self.values, return_inverse=True)
            return looked_up(places.reshape(-1), self.missing, from_objects(words.tolist(), wanted))
        if letter == "c":  # as pandas makes a whole column of it for one value
            return Raw(self.values.real, self.missing | (self.values.imag != 0)).read(wanted)
        if letter in "OT":  # which may hold nulls, and what cannot be compared
            return from_objects(self.values.tolist(), wanted, self.missing)
        if letter == "M" and isinstance(wanted, Times):
            micros, gone = _microseconds(self.values)
            return _times(micros, self.missing | gone, self.moments, wanted)
        if letter in "biuf" and isinstance(wanted, Kind):
            return self._numeric(letter, wanted)
        nothing = from_objects([None], wanted)
        everywhere = np.zeros(len(self.values), dtype=np.intp)
        return looked_up(everywhere, np.ones(len(self.values), dtype=bool), nothing)

    def _numeric(self, letter: str, wanted: Kind) -> Column:
        if wanted is Kind.NUMBER:
            numbers = self.values.astype(np.float64, copy=False)
            return Column(numbers, self.missing | np.isnan(numbers))
        if wanted is Kind.TEXT and letter == "b":
            return from_objects(self.values.tolist(), wanted, self.missing)
        values, missing = _whole(self.values, self.missing)
        if wanted is Kind.TRUTH:
            missing = missing | ((values != 0) & (values != 1))
        if wanted is Kind.TEXT:
            distinct, places = np.unique(values, return_inverse=True)
            return looked_up(places.reshape(-1), missing, from_objects(distinct.tolist(), wanted))
        return Column(values, missing)


def _whole(values: npt.NDArray[Any], missing: Mask) -> tuple[Integers, Mask]:
    if values.dtype.kind == "f":
        inside = (values >= -(2.0**63)) & (values < 2.0**63)
        missing = missing | ~(inside & (values == np.floor(values)))
    elif values.dtype == np.uint64:
        missing = missing | (values > _ENDS[1])
    return np.where(missing, 0, values).astype(np.int64), missing


def looked_up(places: npt.NDArray[Any], missing: Mask, words: Column) -> Column:
    """A column whose distinct values were read."""
    if not len(words):
        return Column(np.zeros(len(places), np.int64), np.ones(len(places), dtype=bool), words.words)
    places = np.where(missing, 0, places).astype(np.intp)
    return Column(words.values[places], missing | words.missing[places], words.words)


def from_numpy(name: str, values: npt.NDArray[Any]) -> Raw:
    """One array; masked entries are missing."""
    if values.ndim != 1:
        raise DataError(f"column {name!r} must have one dimension, it has {values.ndim}")
    return Raw(np.ma.getdata(values), np.array(np.ma.getmaskarray(values)))


def kind_of_numpy(kind: np.dtype[Any]) -> Kind:
    """What kind of values an array of this type holds."""
    kinds = {"b": Kind.TRUTH, "i": Kind.INTEGER, "u": Kind.INTEGER, "f": Kind.NUMBER, "M": Kind.TIME}
    return {**kinds, "U": Kind.TEXT, "T": Kind.TEXT, "O": Kind.ANY}.get(kind.kind, Kind.OTHER)


# Python objects


def from_objects(values: Iterable[Any], wanted: Type, missing: Mask | None = None) -> Column:
    """Values of any types, one by one."""
    if isinstance(wanted, Times):
        walls = [_or_missing(_wall, value, wanted) for value in values]
        gone = np.array([wall is None for wall in walls], dtype=bool)
        micros = np.array([wall or 0 for wall in walls], dtype=np.int64)
        return _times(micros, gone if missing is None else gone | missing, False, wanted)
    read = {Kind.NUMBER: _number, Kind.INTEGER: _integer, Kind.TRUTH: _truth}.get(wanted, _text)
    found = [_or_missing(read, value) for value in values]
    gone = np.array([value is None for value in found], dtype=bool)
    if missing is not None:
        gone = gone | missing
    if read is _text:
        places: dict[Any, int] = {}
        codes = [places.setdefault(word, len(places)) if word is not None else 0 for word in found]
        words = np.array([*places, *([] if places else [""])], dtype=object)
        return Column(np.array(codes, dtype=np.int64), gone, words)
    kind = np.float64 if wanted is Kind.NUMBER else np.int64
    return Column(np.array([0 if value is None else value for value in found], dtype=kind), gone)


def _or_missing(read: Callable[..., Any], value: Any, *more: Any) -> Any:
    """One value; objects of other libraries may raise anything, and what cannot be read is missing."""
    try:
        return read(value, *more)
    except Exception:
        return None


def _number(value: Any) -> float | None:
    if isinstance(value, str):
        value = value.strip(BLANKS)
        number = float(value) if re.fullmatch(NUMBER, value) else np.nan
        return number if np.isfinite(number) else None
    if isinstance(value, bool | np.bool_ | int | np.integer | float | np.floating | Decimal):
        number = float(value)
        if isinstance(value, int | Decimal) and np.isinf(number):
            return None
        return None if np.isnan(number) else number
    return None


def _integer(value: Any) -> int | None:
    if isinstance(value, str):
        value = value.strip(BLANKS)
        found = re.fullmatch(_INTEGER, value)
        # Python refuses to read thousands of zeros
        digits = found[1].lstrip("+-").lstrip("0") if found else ""
        whole = int(digits or "0") * (-1 if value[0] == "-" else 1) if found and len(digits) < 20 else None
    elif isinstance(value, bool | np.bool_ | int | np.integer):
        whole = int(value)
    elif isinstance(value, float | np.floating):
        whole = int(value) if np.isfinite(value) and float(value).is_integer() else None
    elif isinstance(value, Decimal):
        small = value.is_finite() and value.adjusted() < 20
        whole = int(value) if small and value == value.to_integral_value() else None
    else:
        whole = None
    return whole if whole is not None and _ENDS[0] <= whole <= _ENDS[1] else None


def _truth(value: Any) -> int | None:
    if isinstance(value, str):
        return _TRUTHS.get(value.strip(BLANKS).lower())
    whole = _integer(value)
    return whole if whole in (0, 1) else None


def _text(value: Any) -> str | None:
    if isinstance(value, str):
        value.encode()  # half of a surrogate pair is no text
        return str.__str__(value)  # not the name of an Enum
    if isinstance(value, UUID):
        return str(value)
    if isinstance(value, bool | np.bool_):
        return "true" if value else "false"
    whole = _integer(value)
    return None if whole is None else str(whole)


def _wall(value: Any, times: Times) -> int | None:
    """Microseconds that clocks of the zone show, since 1970."""
    if isinstance(value, str):
        value = _parsed(value.strip(BLANKS))
    if isinstance(value, np.datetime64):
        clock, gone = _microseconds(np.array([value]))
        return None if gone[0] else int(clock[0])
    if not isinstance(value, date) or value != value:
        return None
    if not isinstance(value, datetime):
        value = datetime(value.year, value.month, value.day)
    moment = value.tzinfo is not None
    if moment:
        offset = value.utcoffset() or timedelta(0)
    # Not by subtraction: pandas' times have nanoseconds, which are left out.
    parts = (value.year, value.month, value.day, value.hour, value.minute, value.second, value.microsecond)
    micros = (datetime(*parts) - _EPOCH) // timedelta(microseconds=1)
    if not moment:
        return micros
    return int(_shifted(np.array([micros - offset // timedelta(microseconds=1)]), times)[0])


def _parsed(text: str) -> datetime | None:
    if not (found := _TIME.fullmatch(text)):
        return None
    day, clock, fraction, offset = found.groups()
    made = datetime.fromisoformat(f"{day}T{clock or '00:00'}")  # if there is such a day and hour
    zone = datetime.strptime(offset.replace(":", ""), "%z").tzinfo if offset else None
    return made.replace(microsecond=int((fraction or "0").ljust(6, "0")[:6]), tzinfo=zone)


# Times

_NANOSECONDS = {
    "D": 86400 * 10**9,
    "h": 3600 * 10**9,
    "m": 60 * 10**9,
    "s": 10**9,
    "ms": 10**6,
    "us": 10**3,
    "ns": 1,
}


def _microseconds(values: npt.NDArray[Any]) -> tuple[Integers, Mask]:
    """Of NumPy's times, rounded down; those out of range are missing."""
    unit, count = np.datetime_data(values.dtype)
    if unit not in _NANOSECONDS or count != 1:
        unit = "D" if unit in ("Y", "M", "W") else "ns"
        values = values.astype(f"datetime64[{unit}]")
    missing, whole = np.isnat(values), values.astype(np.int64)
    if unit == "ns":
        return np.where(missing, 0, whole) // 1000, missing
    factor = _NANOSECONDS[unit] // 1000
    missing = missing | (np.abs(whole) > 2**63 // factor - 1)
    return np.where(missing, 0, whole) * factor, missing


def _times(micros: Integers, missing: Mask, moments: bool, times: Times) -> Column:
    if moments:
        micros = _shifted(micros, times)
    return Column(np.where(missing, 0, micros) / float(times.microseconds), missing)


def _shifted(micros: Integers, times: Times) -> Integers:
    """From moments to what clocks of the zone showed: offsets are looked up minute by minute."""
    minutes, places = np.unique(micros // (60 * 10**6), return_inverse=True)
    first, last = -62_135_596_800 // 60 + 24 * 60, 253_402_300_799 // 60 - 24 * 60  # years 1 to 9999
    offsets = []
    for minute in np.clip(minutes, first, last).tolist():
        moment = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(minutes=minute)
        offset = moment.astimezone(times.clock).utcoffset() or timedelta(0)
        offsets.append(offset // timedelta(microseconds=1))
    return micros + np.array(offsets, dtype=np.int64)[places.reshape(-1)]
