"""What columns hold: declared types, and columns of records that were read as declared.

A type is declared by whoever asks (in a domain, in a unit), and every engine reads that. Nothing is found out
from the values: one record more would change what all others are.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from enum import Enum
from functools import cached_property
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
import numpy.typing as npt

from indistinct.description import Described, describable
from indistinct.errors import ArgumentError

Mask = npt.NDArray[np.bool_]

ROWS = 2**18
"""In one batch: sums of a batch stay far from the ends of 64-bit integers, and its columns in the cache."""


@describable()
class Kind(Enum):
    """What a column holds. `INTEGER`, `NUMBER`, `TEXT` and `TRUTH` can be declared."""

    INTEGER = "integers"
    NUMBER = "numbers"
    TEXT = "text"
    TRUTH = "truth values"
    USER = "users"
    """Whose a record is, in a unit of privacy: text, of which whole numbers are the digits."""
    TIME = "dates or times"
    ANY = "values of any type"
    """As in a pandas column, whose type depends on its values."""
    OTHER = "values of a type that is not supported"


_MICROSECONDS = {"second": 10**6, "minute": 60 * 10**6, "hour": 3600 * 10**6, "day": 86400 * 10**6}


@describable()
class Times(Described):
    """Dates and times as numbers: so many units after the beginning of 1970, on the clocks of a zone.

    Dates and times without a zone are taken as they are; moments (with an offset or a zone) are what clocks
    of `zone` showed.

    >>> Times("day").number("1970-03-01")
    59.0
    """

    unit: str
    zone: str = "UTC"

    def __post_init__(self) -> None:
        if self.unit not in _MICROSECONDS:
            raise ArgumentError("unit", self.unit, f"one of {', '.join(_MICROSECONDS)}")
        try:
            _ = self.clock
        except (OSError, ValueError, TypeError, AttributeError, LookupError):
            raise ArgumentError("zone", self.zone, "a zone such as 'UTC' or 'Europe/Zurich'") from None

    @cached_property
    def clock(self) -> ZoneInfo:
        return ZoneInfo(self.zone)

    @property
    def microseconds(self) -> int:
        """In one unit."""
        return _MICROSECONDS[self.unit]

    def number(self, value: str | date | datetime) -> float:
        """A date or a time as a number, for the ends of an interval."""
        from indistinct.data.records.reading import from_objects

        found = from_objects([value], self)
        if found.missing[0]:
            raise ArgumentError(
                "time", value, "a date or a time, as text in the form 2030-12-31T23:59:59+01:00"
            )
        return float(found.values[0])

    def words(self, number: float) -> str:
        """What clocks of the zone show, to the unit; the number itself, where there is no such day.

        >>> Times("day").words(59)
        '1970-03-01'
        """
        try:
            shown = datetime(1970, 1, 1) + timedelta(microseconds=round(number * self.microseconds))
        except OverflowError:
            return f"{number:.15g} {self.unit}s after 1970"
        return shown.date().isoformat() if self.unit == "day" else shown.isoformat(timespec="seconds")


Type = Kind | Times
"""What can be declared."""


@dataclass(frozen=True)
class Column:
    """Values and which are missing. Text is coded: `values` are places in `words`, which are distinct.

    They are records, and its representation does not show them."""

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
        return Column(self.values[places], self.missing[places], self.words)

    @staticmethod
    def join(parts: Sequence["Column"]) -> "Column":
        """One after the other; all of them as one declared type."""
        if len(parts) == 1:
            return parts[0]
        missing = np.concatenate([part.missing for part in parts])
        places: dict[Any, int] = {}
        values = []
        for part in parts:
            if part.words is not None:
                codes = [places.setdefault(word, len(places)) for word in part.words]
                values.append(np.array(codes, dtype=np.int64)[part.values])
        if not values:
            return Column(np.concatenate([part.values for part in parts]), missing)
        return Column(np.concatenate(values), missing, np.array(list(places), dtype=object))


@dataclass(frozen=True)
class Batch:
    """Some records: their columns as declared, and whose they are if that was asked."""

    rows: int
    columns: Mapping[str, Column]
    users: Column | None = None

    def __getitem__(self, name: str) -> Column:
        return self.columns[name]

    def take(self, places: npt.NDArray[np.intp] | slice) -> "Batch":
        columns = {name: column.take(places) for name, column in self.columns.items()}
        users = None if self.users is None else self.users.take(places)
        rows = len(range(*places.indices(self.rows))) if isinstance(places, slice) else len(places)
        return Batch(rows, columns, users)


def slices(rows: int, at_once: int = ROWS) -> Iterator[slice]:
    """So many rows at once, one slice after the other."""
    return (slice(start, start + at_once) for start in range(0, rows, at_once))
