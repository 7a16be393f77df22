"""Results as tables that people read: numbers with the digits that mean something, their 95 % intervals, and
the names of cells.

Which column holds what is known by its name: a row ends with the number, its `standard_error`, and `low` and
`high`, the ends of its interval; some of the last three may be absent. A quantile has a `rank_error` instead:
how many records too many or too few may lie below it.
"""

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from html import escape

from indistinct.report.dates import TimeScale

ERROR, RANK_ERROR, LOW, HIGH = "standard_error", "rank_error", "low", "high"
LEVEL = 0.95
"""Of all intervals."""
_ENDS, _BELOW = ("_low", "_high"), "_below"
_SHOWN = 64
"""Rows of a table on a page; all of them are in the file."""
_LONG = 24


@dataclass(frozen=True)
class Measured:
    """Where in a row a number, its error and the ends of its interval stand; what is before says of what."""

    number: int
    error: int | None = None
    rank_error: int | None = None
    low: int | None = None
    high: int | None = None

    @classmethod
    def of(cls, header: Sequence[str]) -> "Measured":
        """From the names of the columns.

        >>> Measured.of(["sex", "count", "standard_error", "low", "high"])
        Measured(number=1, error=2, rank_error=None, low=3, high=4)
        """
        found: dict[str, int] = {}
        place = len(header) - 1
        while place > 0 and header[place] in {ERROR, RANK_ERROR, LOW, HIGH} - found.keys():
            found[header[place]] = place
            place -= 1
        return cls(place, *map(found.get, (ERROR, RANK_ERROR, LOW, HIGH)))

    @property
    def has_interval(self) -> bool:
        return self.low is not None and self.high is not None

    def value(self, row: Sequence[str]) -> float | None:
        return number_of(row[self.number])

    def deviation(self, row: Sequence[str]) -> float | None:
        return None if self.error is None else number_of(row[self.error])

    def interval(self, row: Sequence[str]) -> tuple[float, float] | None:
        """Its ends; two standard errors either way where the file does not say them."""
        if self.low is not None and self.high is not None:
            low, high = number_of(row[self.low]), number_of(row[self.high])
            return None if low is None or high is None else (low, high)
        value, error = self.value(row), self.deviation(row)
        return None if value is None or error is None else (value - 2 * error, value + 2 * error)

    @property
    def words(self) -> str:
        """What is drawn around a number."""
        return "95 % intervals" if self.has_interval else "two standard errors either way"


def number_of(text: str) -> float | None:
    """The number that stands in a file; None where there is none."""
    try:
        number = float(text)
    except ValueError:
        return None
    return None if math.isnan(number) else number


def readable(number: float, error: float | None = None) -> str:
    """With thousands apart, and without digits that the error hides.

    >>> readable(8236.031, 16.9), readable(3.14159, 0.021), readable(200000), readable(0.25)
    ('8,236', '3.142', '200,000', '0.25')
    """
    if not math.isfinite(number):
        return "unbounded"
    if error and math.isfinite(error):
        digits = min(max(1 - math.floor(math.log10(error)), 0), 12)
        text = f"{number:,.{digits}f}"
        return "0" if float(text.replace(",", "")) == 0 and digits == 0 else text
    return f"{number:,.4g}" if abs(number) < 1e4 or abs(number) >= 1e9 else f"{number:,.0f}"


@dataclass(frozen=True)
class ReadTable:
    """A result as texts: columns that say what a row is about, then its numbers."""

    names: tuple[str, ...]
    about: int
    """How many columns say what a row is about."""
    rows: tuple[tuple[str, ...], ...]

    @classmethod
    def of(
        cls,
        header: Sequence[str],
        rows: Sequence[Sequence[str]],
        *,
        raw: bool = False,
        scale: TimeScale | None = None,
    ) -> "ReadTable":
        """`raw`: rows that are no numbers about something, and are shown as they are. `scale`: numbers that
        stand for dates or times."""
        if raw:
            return cls(tuple(header), 0, tuple(map(tuple, rows)))
        measured = Measured.of(header)
        kept = [
            place
            for place in range(measured.number)
            if any(row[place] for row in rows)  # a marginal leaves out what it sums over
        ]
        names, about = _named([header[place] for place in kept])
        told = [about([row[place] for place in kept]) for row in rows]
        numbers = [_numbers(measured, row, scale) for row in rows]
        titles = [plain(header[measured.number])]
        titles += ["95 % interval"] if measured.has_interval else []
        titles += ["standard error"] if measured.error is not None else []
        titles += ["rank error"] if measured.rank_error is not None else []
        return cls(
            (*names, *titles),
            len(names),
            tuple((*left, *right) for left, right in zip(told, numbers, strict=True)),
        )

    @property
    def stems(self) -> tuple[str, ...]:
        """What a row is about."""
        return self.names[: self.about]

    def to_html(self, most: int = _SHOWN, *, alone: bool = False) -> str:
        """As much of it as a page has room for; `alone` where no picture is beside it."""
        shown = self.rows[:most]
        more = f"<caption>{self._cut(most)}</caption>" if len(self.rows) > most else ""
        cells = [("th" if place < self.about else "td") for place in range(len(self.names))]
        head = "".join(
            f'<{cell} scope="col">{escape(name)}</{cell}>' if cell == "th" else f"<td>{escape(name)}</td>"
            for cell, name in zip(cells, self.names, strict=True)
        )
        body = "".join(
            "<tr>"
            + "".join(
                f'<th scope="row">{_unbroken(text)}</th>' if cell == "th" else f"<td>{escape(text)}</td>"
                for cell, text in zip(cells, row, strict=True)
            )
            + "</tr>"
            for row in shown
        )
        inside = f"<table>{more}<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
        return f'<div class="rows{" alone" if alone else ""}">{inside}</div>'

    def to_markdown(self, most: int = _SHOWN) -> str:
        """The same as text."""
        rule = ["---" if place < self.about else "---:" for place in range(len(self.names))]
        lines = [
            "| " + " | ".join(map(unmarked, row)) + " |" for row in (self.names, rule, *self.rows[:most])
        ]
        if len(self.rows) > most:
            lines += ["", self._cut(most)]
        return "\n".join(lines)

    def _cut(self, most: int) -> str:
        return f"The first {most} of {len(self.rows):,} rows."


def beside(chart: str, table: ReadTable) -> str:
    """A picture with its numbers; many of them stand below it when they are printed."""
    return f'<div class="pair{" long" if len(table.rows) > _LONG else ""}">{chart}{table.to_html()}</div>'


def label_stem(name: str) -> str:
    """The column that a column of a result is about: `age` for `age_low`, `age_high` and `age_below`."""
    return next((name.removesuffix(end) for end in (*_ENDS, _BELOW) if name.endswith(end)), name)


def plain(name: str) -> str:
    """A column's name in a title."""
    return name.replace("_", " ")


def cell_names(header: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """One name for each row, from the columns that say what it is about; numbers with their columns' names.

    >>> cell_names(["sex", "age_low", "age_high"], [["female", "0", "8"], ["", "8", "16"]])
    ['female, age 0 to 8', 'age 8 to 16']
    """
    names, about = _named(header)
    return [
        ", ".join(
            f"{name} {text}" if text[0].isdigit() or text[0] in "-+." else text
            for name, text in zip(names, about(row), strict=True)
            if text
        )
        for row in rows
    ]


def _named(header: Sequence[str]) -> tuple[list[str], Callable[[Sequence[str]], list[str]]]:
    """Titles of the columns that say what a row is about, and what makes their texts: both ends of an
    interval are one text."""
    names: list[str] = []
    places: list[tuple[int, int]] = []
    for place, name in enumerate(header):
        if names and places[-1][1] == place:  # the upper end of the one before
            continue
        stem = name.removesuffix(_ENDS[0])
        last = place + (stem != name and list(header[place + 1 : place + 2]) == [stem + _ENDS[1]])
        names.append(plain(stem if last > place else name.removesuffix(_BELOW)))
        places.append((place, last))

    def about(row: Sequence[str]) -> list[str]:
        texts = []
        for first, last in places:
            if last > first and row[first] and row[first] != row[last]:
                texts.append(f"{_end(row[first])} to {_end(row[last])}")
            elif header[first].endswith(_BELOW) and row[first]:
                texts.append(f"below {_end(row[first])}")
            else:
                texts.append(row[first])
        return texts

    return names, about


def _end(text: str) -> str:
    """Of an interval: a number, or a date."""
    return text if (number := number_of(text)) is None else readable(number)


def _numbers(measured: Measured, row: Sequence[str], scale: TimeScale | None) -> list[str]:
    value, error, ends = measured.value(row), measured.deviation(row), None
    if measured.has_interval:
        ends = measured.interval(row)
        error = (ends[1] - ends[0]) / 4 if error is None and ends is not None else error

    def shown(number: float) -> str:
        return readable(number, error) if scale is None else scale.written(number)

    texts = [row[measured.number] if value is None else shown(value)]
    if measured.has_interval:
        texts.append("" if ends is None else f"{shown(ends[0])} to {shown(ends[1])}")
    if measured.error is not None:
        texts.append("" if error is None else readable(error, error))
    if measured.rank_error is not None:
        texts.append(row[measured.rank_error])
    return texts


def _unbroken(text: str) -> str:
    """An interval stays on one line; a long name may be broken."""
    return escape(text if len(text) > 24 else text.replace(" ", "\N{NO-BREAK SPACE}"))


def unmarked(text: str) -> str:
    """A text in Markdown, on one line: what it says may come from records, and is no markup."""
    return " ".join(re.sub(r"([\\`*\[\]<>!|])", r"\\\1", text).split())
