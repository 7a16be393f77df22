"""Pictures of results, from the rows of their files. Where there would be too much to see, there is none."""

from collections.abc import Mapping, Sequence
from itertools import islice
from math import prod
from typing import Any

import numpy as np

from indistinct.data import Bins, Categories, Celled, OrMissing, inner
from indistinct.report.results import (
    ResultLine,
    compared_chart,
    counts_chart,
    curve_chart,
    density_chart,
    density_map,
    heat_map,
)

_MOST_BARS = 2000
_MOST_CELLS = 4096
_MOST_TABLES = 12
_MOST_EDGES = 64
_MOST_VALUES = 24
_MOST_COMPARED = 6


def line_of(name: str, domain: Celled) -> ResultLine:
    """A column as an axis of a picture. Intervals that differ in width are told by their lower ends."""
    if isinstance(domain, Bins):
        return ResultLine(name, domain.size, ends=(domain.low, domain.high))
    if isinstance(domain, Categories):
        return ResultLine(name, domain.size, labels=tuple(map(str, domain.values)))
    if isinstance(domain, OrMissing):
        inside = domain.domain
        lows = inside.values if isinstance(inside, Categories) else [f"{low:g}" for low, _ in inside.labels]
        return ResultLine(name, domain.size, labels=(*map(str, lows), "missing"))
    return ResultLine(name, domain.size, labels=tuple(f"{low:g}" for low, _ in domain.labels))


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
    across = ResultLine(f"{column} from", steps, ends=(low, high))
    up = ResultLine(f"{column} up to", steps, ends=(low, high))
    return [heat_map(name, across, up, table, max(errors))]


def density_pictures(name: str, axes: Sequence[tuple[str, Bins]], values: list[float]) -> list[str]:
    """A curve, or a map of at most so many cells."""
    lines = [line_of(*axis) for axis in axes]
    if len(lines) == 1:
        return [density_chart(name, lines[0], values)]
    across, up = lines
    return [density_map(name, across, up, _rows_of(values, up.size))] if len(values) <= _MOST_CELLS else []


def values_picture(name: str, column: str, rows: list[list[str]]) -> list[str]:
    """Bars of the most frequent values."""
    shown = rows[:_MOST_VALUES]
    if len(shown) < 2:
        return []
    values, errors = _numbers(shown)
    line = ResultLine(column, len(shown), labels=tuple(row[0] for row in shown))
    return [counts_chart(name, line, values, errors)]


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
        line, errors = line_of(column, domains[column]), [error] * len(counts)
        charts.append(compared_chart(f"{name}-{len(charts)}", line, counts.tolist(), errors, scaled.tolist()))
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


def _numbers(rows: list[list[str]]) -> tuple[list[float], list[float]]:
    """Counts and their standard errors, which stand before an interval."""
    return [float(row[-4]) for row in rows], [float(row[-3]) for row in rows]


def _rows_of(values: list[float], width: int) -> list[list[float | None]]:
    return [[*values[start : start + width]] for start in range(0, len(values), width)]
