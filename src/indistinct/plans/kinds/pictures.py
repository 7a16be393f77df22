"""Pictures of results, from their files: the header, then the rows. Where there would be too much to see,
there is none. Most have their numbers beside them."""

import math
from collections.abc import Callable, Mapping, Sequence
from html import escape
from itertools import groupby, islice
from math import prod
from typing import Any

import numpy as np

from indistinct.data import Bins, Categories, Celled, OrMissing, Times, inner
from indistinct.report.dates import TimeScale
from indistinct.report.results import (
    Ends,
    ResultLine,
    WithIntervals,
    counts_chart,
    curve_chart,
    density_chart,
    density_map,
    heat_map,
    interval_chart,
)
from indistinct.report.tables import Measured, ReadTable, beside, cell_names, plain

Listed = Sequence[list[str]]
"""A result as it stands in its file, the header first."""

_MOST_BARS = 2000
_MOST_CELLS = 4096
_MOST_TABLES = 12
_MOST_EDGES = 64
_MOST_VALUES = 24
_MOST_COMPARED = 6
_MOST_INTERVALS = 64
_MOST_PANELS = 12


def line_of(name: str, domain: Celled) -> ResultLine:
    """A column as an axis of a picture. Intervals that differ in width are told by their lower ends."""
    if isinstance(domain, Bins):
        return ResultLine(name, domain.size, ends=(domain.low, domain.high), scale=scale_of(domain.of))
    own = inner(domain)
    if isinstance(own, Categories):
        labels = [*map(str, own.values)]
    else:
        scale = scale_of(own.of)
        labels = [f"{low:g}" if scale is None else scale.written(low) for low, _ in own.labels]
    return ResultLine(name, domain.size, labels=(*labels, *["missing"] * isinstance(domain, OrMissing)))


def scale_of(times: Times | None) -> TimeScale | None:
    """How the report writes dates and times."""
    return None if times is None else TimeScale(times.microseconds)


def table_pictures(
    name: str,
    axes: Sequence[tuple[str, Bins | Categories]],
    sets: Sequence[tuple[int, ...]],
    listed: Listed,
    reach: Ends | None = None,
) -> list[str]:
    """Bars for each table by one column, a heat map for each by two, with their numbers beside them; rows are
    one table after the other."""
    header, *rows = listed
    charts, left = [], iter(rows)
    for place, group in enumerate(sets):
        lines = [line_of(*axes[axis]) for axis in group]
        own = list(islice(left, prod(line.size for line in lines)))
        numbers, errors = _numbers(header, own)
        title = name if len(sets) == 1 else f"{name}-{place}"
        if len(lines) == 1 and 2 <= len(own) <= _MOST_BARS:
            chart = counts_chart(title, lines[0], numbers, reach=reach)
        elif len(lines) == 2 and min(line.size for line in lines) > 1 and len(own) <= _MOST_CELLS:
            across, up = lines
            chart = heat_map(title, across, up, _rows_of(numbers.values, up.size), max(errors))
        else:
            continue
        charts.append(beside(chart, ReadTable.of(header, own)))
    return charts[:_MOST_TABLES]


def grouped_pictures(
    name: str, groups: int, listed: Listed, draw: Callable[[str, Listed, Ends | None], list[str]]
) -> list[str]:
    """Small pictures side by side, one panel for each group: `draw` makes those of a group from what is left
    of its rows when the leading `groups` columns are taken away, all on one scale. Of one number for each
    group, dots with intervals."""
    if not groups:
        return draw(name, listed, None)
    header, *rows = listed
    found = [(cell, [row[groups:] for row in own]) for cell, own in groupby(rows, lambda row: row[:groups])]
    if all(len(own) == 1 for _, own in found):
        return interval_pictures(name, listed)
    reach = _reach(header, rows)
    titles = cell_names(header[:groups], [cell for cell, _ in found])
    panels = []
    for place, (title, (_, own)) in enumerate(zip(titles, found, strict=True)):
        charts = draw(f"{name}-{place}", [header[groups:], *own], reach)
        panels += [f'<section class="panel"><h4>{escape(title)}</h4>{"".join(charts)}</section>']
    if len(panels) > _MOST_PANELS:
        panels = [*panels[:_MOST_PANELS], f"<p>{len(panels) - _MOST_PANELS} more groups are in the file.</p>"]
    return panels


def interval_pictures(name: str, listed: Listed, times: Times | None = None) -> list[str]:
    """Dots with intervals for any table of some numbers with errors, or of `times`, and the numbers beside
    them."""
    header, *rows = listed
    where = Measured.of(header)
    told = [where.value(row) is not None and where.interval(row) is not None for row in rows]
    if not (where.number and 2 <= len(rows) <= _MOST_INTERVALS and all(told)):
        return []
    numbers, _ = _numbers(header, rows)
    lows, highs = zip(*numbers.ends, strict=True)
    labels = cell_names(header[: where.number], [row[: where.number] for row in rows])
    unit = plain(header[where.number])
    title = f"{unit[0].upper()}{unit[1:]} by {', '.join(ReadTable.of(header, rows).stems)}"
    scale = scale_of(times)
    words: Any = {"name": name, "title": title, "unit": unit, "words": numbers.words, "scale": scale}
    chart = interval_chart(labels, numbers.values, lows, highs, **words)
    return [beside(chart, ReadTable.of(header, rows, scale=scale))]


def prefix_picture(
    name: str, column: str, bins: Bins, listed: Listed, reach: Ends | None = None
) -> list[str]:
    """A curve that begins at 0, with the range that its noise leaves open."""
    header, *rows = listed
    found, _ = _numbers(header, rows)
    numbers = WithIntervals([0.0, *found.values], [(0.0, 0.0), *found.ends], found.words)
    return [beside(curve_chart(name, line_of(column, bins), numbers, reach), ReadTable.of(header, rows))]


def ranges_picture(name: str, column: str, bins: Bins, listed: Listed) -> list[str]:
    """A heat map by where a range begins and where it ends; of some edges, if there are many."""
    if bins.count < 2:
        return []
    every = -(-bins.count // _MOST_EDGES)
    steps = bins.count // every
    header, *rows = listed
    numbers, errors = _numbers(header, rows)
    table: list[list[float | None]] = [[None] * steps for _ in range(steps)]
    place = 0
    for start in range(bins.count):  # rows go by their start, then by their end
        if start % every == 0 and start // every < steps:
            for stop in range(start + every, every * steps + 1, every):
                table[start // every][stop // every - 1] = numbers.values[place + stop - start - 1]
        place += bins.count - start
    low, high = bins.low, bins.low + every * steps * bins.width
    across, up = (
        ResultLine(f"{column} {side}", steps, ends=(low, high), scale=scale_of(bins.of))
        for side in ("from", "up to")
    )
    return [beside(heat_map(name, across, up, table, max(errors)), ReadTable.of(header, rows))]


def density_pictures(
    name: str, axes: Sequence[tuple[str, Bins]], values: list[float], reach: Ends | None = None
) -> list[str]:
    """A curve, or a map of at most so many cells."""
    lines = [line_of(*axis) for axis in axes]
    if len(lines) == 1:
        return [density_chart(name, lines[0], values, reach)]
    across, up = lines
    return [density_map(name, across, up, _rows_of(values, up.size))] if len(values) <= _MOST_CELLS else []


def values_picture(name: str, column: str, listed: Listed) -> list[str]:
    """Bars of the most frequent values."""
    header, *rows = listed
    shown = rows[:_MOST_VALUES]
    if len(shown) < 2:
        return []
    numbers, _ = _numbers(header, shown)
    line = ResultLine(column, len(shown), labels=tuple(row[0] for row in shown))
    return [beside(counts_chart(name, line, numbers), ReadTable.of(header, rows))]


def compared_pictures(
    name: str,
    domains: Mapping[str, Celled],
    released: Mapping[str, tuple[Any, float]],
    columns: Mapping[str, Sequence[str]],
) -> list[str]:
    """Released counts by one column and their errors, beside the columns of synthetic rows."""
    charts: list[str] = []
    for column, (counts, error) in released.items():
        if not 2 <= len(counts) <= _MOST_BARS:
            continue
        found = _counted(domains[column], columns[column])
        scaled = found * (max(float(counts.sum()), 1.0) / found.sum())
        line, values = line_of(column, domains[column]), counts.tolist()
        ends = [(value - 2 * error, value + 2 * error) for value in values]
        numbers = WithIntervals(values, ends, "two standard errors either way")
        charts.append(counts_chart(f"{name}-{len(charts)}", line, numbers, scaled.tolist()))
    return charts[:_MOST_COMPARED]


def _counted(domain: Celled, texts: Sequence[str]) -> Any:
    """How many rows of a file lie in each cell."""
    present = np.array([text for text in texts if text], dtype=object)
    own = inner(domain)
    if isinstance(own, Categories):
        where = {str(value): place for place, value in enumerate(own.values)}
        places = np.array([where[text] for text in present], dtype=np.int64)
    else:
        inside = np.searchsorted(own.edges, present.astype(np.float64), side="right") - 1
        places = np.clip(inside, 0, own.size - 1)
    counts = np.bincount(places, minlength=domain.size).astype(np.float64)
    counts[-1] += len(texts) - len(present)  # only a domain with a cell for them has missing values
    return counts


def _numbers(header: Sequence[str], rows: Listed) -> tuple[WithIntervals, list[float]]:
    """The numbers of a result with their intervals, and their standard errors."""
    where = Measured.of(header)
    values, ends, errors = [], [], []
    for row in rows:
        value, interval, error = where.value(row), where.interval(row), where.deviation(row)
        if value is None or interval is None:
            raise ValueError("a number without an interval")
        values.append(value)
        ends.append(interval)
        errors.append((interval[1] - interval[0]) / 4 if error is None else error)
    return WithIntervals(values, ends, where.words), errors


def _reach(header: Sequence[str], rows: Listed) -> Ends:
    """From the least to the largest of what is to be drawn."""
    where = Measured.of(header)
    found = [where.interval(row) or (where.value(row), where.value(row)) for row in rows]
    finite = [end for pair in found for end in pair if end is not None and math.isfinite(end)]
    return min(finite), max(finite)


def _rows_of(values: Sequence[float], width: int) -> list[list[float | None]]:
    return [[*values[start : start + width]] for start in range(0, len(values), width)]
