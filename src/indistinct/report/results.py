"""Pictures of released numbers: bars, curves, intervals and heat maps, with what their noise leaves open."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from indistinct.report.dates import TimeScale
from indistinct.report.svg import ChartAxes, chart, round_ticks, width_of
from indistinct.report.tables import readable

_MOST_LISTED = 64
"""Categories that are listed one below the other, each with its name; of more, some are named."""
_LINE = 19.0
_LONGEST = 150.0
"""What has room beside a chart."""
_LEGEND = 74.0

Ends = tuple[float, float]


@dataclass(frozen=True)
class ResultLine:
    """An axis of so many cells: equal intervals between two `ends`, or `labels`."""

    name: str
    size: int
    ends: Ends | None = None
    labels: tuple[str, ...] = ()
    scale: TimeScale | None = None
    """Where numbers between the ends stand for dates or times."""

    def ticks(self, room: float) -> list[tuple[float, str]]:
        """Places, in cells, and what stands there: as much as has room, side by side."""
        if self.ends is not None:
            low, high = self.ends
            if self.scale is not None:
                cells = self.size / (high - low)
                return [((x - low) * cells, text) for x, text in _time_ticks(self.scale, self.ends, room)]
            for pieces in (4, 2, 1):
                told = [(self.size * k / pieces, low + (high - low) * k / pieces) for k in range(pieces + 1)]
                texts = [(place, readable(number)) for place, number in told]
                if sum(width_of(text) + 8 for _, text in texts) <= room:
                    break
            return texts
        every = max(1, math.ceil(self.size * 14 / room))  # upright, a label is as wide as a line is high
        return [(place + 0.5, short_label(self.labels[place])) for place in range(0, self.size, every)]

    def fits(self, room: float) -> bool:
        """Whether all labels have room side by side."""
        return self.ends is not None or all(width_of(one) + 6 <= room / self.size for one in self.labels)

    @property
    def beside(self) -> float:
        """The room that names beside a vertical axis need."""
        texts = [text for _, text in self.ticks(math.inf)]
        return 26.0 + max(map(width_of, texts), default=0.0)


@dataclass(frozen=True)
class WithIntervals:
    """Numbers with the ends of their intervals, and words for these."""

    values: Sequence[float]
    ends: Sequence[Ends]
    words: str = "95 % intervals"

    @property
    def reach(self) -> Ends:
        """What a picture of all of them must show, as far as it is finite."""
        finite = [end for pair in self.ends for end in pair if math.isfinite(end)]
        return min([*finite, *self.values]), max([*finite, *self.values])


def interval_chart(
    labels: Sequence[str],
    values: Sequence[float],
    lows: Sequence[float],
    highs: Sequence[float],
    *,
    name: str = "intervals",
    title: str = "Numbers with their intervals",
    unit: str = "",
    words: str = "95 % intervals",
    scale: TimeScale | None = None,
) -> str:
    """One line for each number: its name, a dot, and a whisker over its interval."""
    numbers = WithIntervals(values, list(zip(lows, highs, strict=True)), words)
    axes, body = _listed(labels, _padded(*numbers.reach, always=True), unit, scale=scale)
    for place, (value, ends) in enumerate(zip(values, numbers.ends, strict=True)):
        y = axes.up(len(values) - place - 0.5)
        body += _whisker(axes.across(ends[0]), axes.across(ends[1]), y, flat=True)
        body += f'<circle class="point" cx="{axes.across(value):.1f}" cy="{y:.1f}" r="3.6"/>'
    return chart(name, title, f"Dots: numbers with noise; lines: {words}.", body, axes)


def counts_chart(
    name: str,
    line: ResultLine,
    numbers: WithIntervals,
    others: Sequence[float] = (),
    reach: Ends | None = None,
) -> str:
    """Bars with their intervals, and a dot for what is to be compared with each, if anything is. Pictures
    that are to be compared with each other have one `reach`."""
    low, high = numbers.reach if reach is None else reach
    reach = _padded(min(low, 0.0, *others), max(high, 1e-9, *others))
    draw = _bars_across if line.labels and line.size <= _MOST_LISTED else _bars_up
    axes, body = draw(line, numbers, reach, others)
    told = f"Bars: counts with noise; lines: {numbers.words}."
    told += " Dots: synthetic rows." if others else ""
    return chart(name, f"Records by {line.name}", told, body, axes)


def _bars_across(
    line: ResultLine, numbers: WithIntervals, reach: Ends, others: Sequence[float]
) -> tuple[ChartAxes, str]:
    """One below the other: every category has a line of its own, and room for its name."""
    axes, body = _listed([*line.labels], reach, "records", line.name)
    for place, (value, ends) in enumerate(zip(numbers.values, numbers.ends, strict=True)):
        top, bottom = axes.up(line.size - place - 0.15), axes.up(line.size - place - 0.85)
        left, right = sorted((axes.across(value), axes.across(0.0)))
        body += _rectangle("bar", left, top, right - left, bottom - top)
        body += _whisker(axes.across(ends[0]), axes.across(ends[1]), (top + bottom) / 2, flat=True)
    return axes, body + "".join(axes.dot(one, line.size - k - 0.5) for k, one in enumerate(others))


def _bars_up(
    line: ResultLine, numbers: WithIntervals, reach: Ends, others: Sequence[float]
) -> tuple[ChartAxes, str]:
    axes, body = _counted(line, reach)
    gap = 0.1 if line.size <= 60 else 0.0
    for place, (value, ends) in enumerate(zip(numbers.values, numbers.ends, strict=True)):
        left, right = axes.across(place + gap), axes.across(place + 1 - gap)
        top, bottom = sorted((axes.up(value), axes.up(0.0)))
        body += _rectangle("bar", left, top, right - left, bottom - top)
        middle, wide = (left + right) / 2, min(3.0, (right - left) / 3)
        body += _whisker(axes.up(ends[1]), axes.up(ends[0]), middle, flat=False, wide=wide)
    return axes, body + "".join(axes.dot(place + 0.5, other) for place, other in enumerate(others))


def curve_chart(name: str, line: ResultLine, numbers: WithIntervals, reach: Ends | None = None) -> str:
    """Counts below each edge of an axis: one more than it has cells."""
    low, high = numbers.reach if reach is None else reach
    axes, body = _counted(line, _padded(min(low, 0.0), max(high, 1e-9)))
    places = np.arange(line.size + 1.0)
    lows, highs = (np.array([ends[side] for ends in numbers.ends]) for side in (0, 1))
    band = axes.path(np.concatenate((places, places[::-1])), np.concatenate((highs, lows[::-1])))
    body += f'<path class="band" d="{band}Z"/>'
    body += f'<path class="main" d="{axes.path(places, np.array(numbers.values))}"/>'
    told = f"Counts with noise; shaded: {numbers.words}."
    return chart(name, f"Records up to each {line.name}", told, body, axes)


def heat_map(
    name: str, across: ResultLine, up: ResultLine, values: list[list[float | None]], error: float
) -> str:
    """Counts by two axes, the darker the more; `values[i][j]` is the i-th cell across, the j-th up. Cells
    that may be noise alone are left empty, and so are those without a value."""
    told = [value for row in values for value in row if value is not None]
    axes, body = _heat(across, up, values, 2 * error, max(*told, 2 * error))
    darkest = f"Counts with noise; the darkest is {readable(max(told), error)} records"
    empty = f"cells below {readable(2 * error)}, two standard errors, are left empty"
    return chart(name, f"Records by {across.name} and {up.name}", f"{darkest}; {empty}.", body, axes)


def density_map(name: str, across: ResultLine, up: ResultLine, values: list[list[float | None]]) -> str:
    """A density by two axes, the darker the denser."""
    largest = max(value for row in values for value in row if value is not None)
    axes, body = _heat(across, up, values, 0.005 * largest, largest)
    told = "A density fitted to what was released; empty below half a per cent of its largest."
    return chart(name, f"Density by {across.name} and {up.name}", told, body, axes)


def density_chart(name: str, line: ResultLine, values: Sequence[float], reach: Ends | None = None) -> str:
    """A density along an axis."""
    high = max(values) if reach is None else reach[1]
    axes, body = _counted(line, (0.0, max(high, 1e-300)), "density")
    body += f'<path class="main" d="{axes.path(np.arange(0.5, line.size), np.array(values))}"/>'
    return chart(name, f"Density by {line.name}", "A density fitted to what was released.", body, axes)


def short_label(text: str) -> str:
    """As much of it as has room."""
    most = int(_LONGEST / width_of("x"))
    return text if len(text) <= most else text[: most - 1] + "…"


# -- parts of a picture ---------------------------------------------------------------------------


def _padded(low: float, high: float, *, always: bool = False) -> Ends:
    """With some room at either end, but none below what begins at 0."""
    room = 0.04 * (high - low) or max(abs(high), 1.0)
    return (low if low == 0 and not always else low - room), high + room


def _listed(
    labels: Sequence[str], reach: Ends, unit: str, name: str = "", scale: TimeScale | None = None
) -> tuple[ChartAxes, str]:
    """A frame with one line for each label."""
    shown = [short_label(label) for label in labels]
    left = 14.0 + max(map(width_of, shown)) + (16.0 if name else 0.0)
    if scale is not None:  # room for a date at either end
        left = max(left, 36.0)
    axes = ChartAxes(
        reach,
        (0.0, float(len(shown))),
        width=max(340.0, left + 230.0),
        height=58.0 + _LINE * len(shown),
        left=left,
        right=22.0 if scale is None else 36.0,
    )
    room = axes.width - axes.left - axes.right
    ticks = _number_ticks(reach, room) if scale is None else _time_ticks(scale, reach, room)
    names = [(len(shown) - place - 0.5, label) for place, label in enumerate(shown)]
    return axes, axes.frame(ticks, names, (unit, name))


def _counted(line: ResultLine, reach: Ends, what: str = "records") -> tuple[ChartAxes, str]:
    """A frame for numbers along an axis of cells."""
    y_ticks = [(y, readable(y)) for y in round_ticks(reach[1], reach[0])]
    left = 30.0 + max(width_of(text) for _, text in y_ticks)
    right = 22.0 if line.ends is None else max(22.0, 4 + width_of(line.ticks(math.inf)[-1][1]) / 2)
    axes = ChartAxes((0.0, float(line.size)), reach, left=left, right=right)
    room = axes.width - axes.left - axes.right
    if not line.fits(room):
        deep = 30.0 + max(width_of(short_label(label)) for label in line.labels)
        axes = replace(axes, height=axes.height + deep - axes.bottom, bottom=deep)
    return axes, axes.frame(line.ticks(room), y_ticks, (line.name, what), upright=not line.fits(room))


def _number_ticks(reach: Ends, room: float) -> list[tuple[float, str]]:
    """Round numbers that do not touch each other."""
    for most in (4, 3, 2, 1):
        told = [(x, readable(x)) for x in round_ticks(reach[1], reach[0], most)]
        if sum(width_of(text) + 10 for _, text in told) <= room:
            break
    return told


def _time_ticks(scale: TimeScale, ends: Ends, room: float) -> list[tuple[float, str]]:
    """The same of dates."""
    for most in (6, 5, 4, 3, 2, 1):
        told = scale.ticks(*ends, most)
        if sum(width_of(text) + 10 for _, text in told) <= room:
            break
    return told


def _heat(
    across: ResultLine, up: ResultLine, values: list[list[float | None]], floor: float, largest: float
) -> tuple[ChartAxes, str]:
    """Cells as dark as the root of their value, which lets small ones be seen beside large ones."""
    left, bottom = max(up.beside, 0.0 if across.scale is None else 36.0), 46.0
    wide = max(240.0, min(18.0 * across.size, 420.0) if across.labels else 0.0)
    upright = not across.fits(wide)
    if upright:
        bottom = 34.0 + max(width_of(short_label(label)) for label in across.labels)
    high = max(130.0, 15.0 * up.size) if up.labels else 250.0
    axes = ChartAxes(
        (0.0, float(across.size)),
        (0.0, float(up.size)),
        width=left + wide + _LEGEND,
        height=12.0 + high + bottom,
        left=left,
        right=_LEGEND,
        bottom=bottom,
    )
    width, height = axes.across(1.0) - axes.across(0.0), axes.up(0.0) - axes.up(1.0)
    body = axes.frame(across.ticks(wide), up.ticks(high), (across.name, up.name), upright=upright)
    for i, row in enumerate(values):
        for j, value in enumerate(row):
            if value is not None and value > floor:
                body += _shaded(axes.across(i), axes.up(j + 1), width, height, value / largest)
    return axes, body + _legend(axes, floor, largest)


def _legend(axes: ChartAxes, floor: float, largest: float) -> str:
    """How dark which number is."""
    left, body = axes.width - axes.right + 10, ""
    shares = [share for share in (1.0, 0.5, 0.25, 0.1) if share == 1 or share * largest > floor]
    for place, share in enumerate(shares):
        top = axes.top + 18 * place
        body += _shaded(left, top, 12, 12, share)
        body += f'<text x="{left + 17:g}" y="{top + 10:g}">{readable(float(f"{share * largest:.2g}"))}</text>'
    top = axes.top + 18 * len(shares)
    body += _rectangle("grid empty", left, top, 12, 12)
    return body + f'<text x="{left + 17:g}" y="{top + 10:g}">&lt; {readable(float(f"{floor:.2g}"))}</text>'


def _shaded(left: float, top: float, width: float, height: float, share: float) -> str:
    shade = 0.08 + 0.92 * share**0.5
    return _rectangle("heat", left, top, width, height).replace("/>", f' fill-opacity="{shade:.2f}"/>')


def _rectangle(kind: str, left: float, top: float, width: float, height: float) -> str:
    size = f'x="{left:.1f}" y="{top:.1f}" width="{width:.1f}" height="{height:.1f}"'
    return f'<rect class="{kind}" {size}/>'


def _whisker(start: float, end: float, at: float, *, flat: bool, wide: float = 3.0) -> str:
    """A line between two places, with a short stroke at either end."""
    if flat:
        strokes = "".join(f"M{x:.1f} {at - wide:.1f}V{at + wide:.1f}" for x in (start, end))
        return f'<path class="whisker" d="M{start:.1f} {at:.1f}H{end:.1f}{strokes}"/>'
    strokes = "".join(f"M{at - wide:.1f} {y:.1f}H{at + wide:.1f}" for y in (start, end))
    return f'<path class="whisker" d="M{at:.1f} {start:.1f}V{end:.1f}{strokes}"/>'
