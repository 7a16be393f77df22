"""Pictures of results, from the rows of their files. Where there would be too much to see, there is none."""

from collections.abc import Sequence
from itertools import islice
from math import prod

from indistinct.data import Bins, Categories
from indistinct.report.results import Line, counts_chart, curve_chart, heat_map

_MOST_BARS = 2000
_MOST_CELLS = 4096
_MOST_TABLES = 12
_MOST_EDGES = 64
_MOST_VALUES = 24


def line_of(name: str, domain: Bins | Categories) -> Line:
    """A column as an axis of a picture."""
    if isinstance(domain, Bins):
        return Line(name, domain.size, ends=(domain.low, domain.high))
    return Line(name, domain.size, labels=tuple(map(str, domain.values)))


def table_pictures(
    name: str,
    axes: Sequence[tuple[str, Bins | Categories]],
    sets: Sequence[tuple[int, ...]],
    rows: list[list[str]],
) -> list[str]:
    """Bars for each table by one column, a heat map for each by two; `rows` are one table after the other."""
    charts, left = [], iter(rows)
    for place, group in enumerate(sets):
        lines = [line_of(*axes[axis]) for axis in group]
        values, errors = _numbers(list(islice(left, prod(line.size for line in lines))))
        own = name if len(sets) == 1 else f"{name}-{place}"
        if len(lines) == 1 and 2 <= len(values) <= _MOST_BARS:
            charts.append(counts_chart(own, lines[0], values, errors))
        elif len(lines) == 2 and min(line.size for line in lines) > 1 and len(values) <= _MOST_CELLS:
            across, up = lines
            charts.append(heat_map(own, across, up, _rows_of(values, up.size), max(errors)))
    return charts[:_MOST_TABLES]


def prefix_picture(name: str, column: str, bins: Bins, rows: list[list[str]]) -> list[str]:
    """A curve that begins at 0, with the range that its noise leaves open."""
    values, errors = _numbers(rows)
    return [curve_chart(name, line_of(column, bins), [0.0, *values], [0.0, *errors])]


def ranges_picture(name: str, column: str, bins: Bins, rows: list[list[str]]) -> list[str]:
    """A heat map by where a range begins and where it ends; of some edges, if there are many."""
    if bins.count < 2:
        return []
    every = -(-bins.count // _MOST_EDGES)
    steps = bins.count // every
    values, errors = _numbers(rows)
    table: list[list[float | None]] = [[None] * steps for _ in range(steps)]
    place = 0
    for start in range(bins.count):  # rows go by their start, then by their end
        if start % every == 0 and start // every < steps:
            for stop in range(start + every, every * steps + 1, every):
                table[start // every][stop // every - 1] = values[place + stop - start - 1]
        place += bins.count - start
    low, high = bins.low, bins.low + every * steps * bins.width
    across = Line(f"{column} from", steps, ends=(low, high))
    up = Line(f"{column} up to", steps, ends=(low, high))
    return [heat_map(name, across, up, table, max(errors))]


def values_picture(name: str, column: str, rows: list[list[str]]) -> list[str]:
    """Bars of the most frequent values."""
    shown = rows[:_MOST_VALUES]
    if len(shown) < 2:
        return []
    values, errors = _numbers(shown)
    line = Line(column, len(shown), labels=tuple(row[0] for row in shown))
    return [counts_chart(name, line, values, errors)]


def _numbers(rows: list[list[str]]) -> tuple[list[float], list[float]]:
    """Counts and their standard errors: the last two of every row."""
    return [float(row[-2]) for row in rows], [float(row[-1]) for row in rows]


def _rows_of(values: list[float], width: int) -> list[list[float | None]]:
    return [[*values[start : start + width]] for start in range(0, len(values), width)]
