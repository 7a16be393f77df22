"""Pictures of released counts: bars, curves and heat maps, with what their noise leaves open."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from indistinct.report.svg import _Axes, _chart, _round_ticks

_MOST_LABELS = 8
_LETTERS = 42
"""What has room along the horizontal axis; beside the vertical one there is room for `_BESIDE`."""
_BESIDE = 6


@dataclass(frozen=True)
class ResultLine:
    """An axis of so many cells: equal intervals between two `ends`, or `labels`."""

    name: str
    size: int
    ends: tuple[float, float] | None = None
    labels: tuple[str, ...] = ()

    def ticks(self, most: int, letters: int) -> list[tuple[float, str]]:
        """Places, in cells, and what stands there."""
        if self.ends is not None:
            low, high = self.ends
            return [(self.size * k / 4, _number(low + (high - low) * k / 4)) for k in range(5)]
        every = -(-self.size // most)
        return [(place + 0.5, _short(self.labels[place], letters)) for place in range(0, self.size, every)]

    def across(self) -> list[tuple[float, str]]:
        return self.ticks(_MOST_LABELS, _LETTERS // min(self.size, _MOST_LABELS))

    def up(self) -> list[tuple[float, str]]:
        return self.ticks(2 * _MOST_LABELS, _BESIDE)


def counts_chart(name: str, line: ResultLine, values: Sequence[float], errors: Sequence[float]) -> str:
    """Bars, each with two standard errors either way."""
    axes, body = _counted(line, values, errors)
    body += _bars(axes, line, values, errors)
    description = "Counts with noise; the dashed lines are two standard errors either way."
    return _chart(name, f"By {line.name}", description, body)


def _bars(axes: _Axes, line: ResultLine, values: Sequence[float], errors: Sequence[float]) -> str:
    gap, body = 0.1 if line.size <= 60 else 0.0, ""
    for place, (value, error) in enumerate(zip(values, errors, strict=True)):
        left, right = axes.across(place + gap), axes.across(place + 1 - gap)
        top, bottom = sorted((axes.up(value), axes.up(0.0)))
        middle = (left + right) / 2
        body += f'<rect class="band" x="{left:.1f}" y="{top:.1f}" width="{right - left:.1f}"'
        body += f' height="{bottom - top:.1f}"/>'
        body += f'<path class="main" d="M{left:.1f} {axes.up(value):.1f}H{right:.1f}"/>'
        up, down = axes.up(value + 2 * error), axes.up(value - 2 * error)
        body += f'<path class="plain" d="M{middle:.1f} {up:.1f}V{down:.1f}"/>'
    return body


def compared_chart(
    name: str, line: ResultLine, values: Sequence[float], errors: Sequence[float], others: Sequence[float]
) -> str:
    """Bars with two standard errors either way, and a dot for what is to be compared with each."""
    most = [other - 2 * error for error, other in zip(errors, others, strict=True)]  # room for the dots
    axes, body = _counted(line, [*values, *most], [*errors, *errors])
    body += _bars(axes, line, values, errors)
    body += "".join(axes.dot(place + 0.5, other) for place, other in enumerate(others))
    description = "Bars: counts as released, with two standard errors either way. Dots: synthetic rows."
    return _chart(name, f"By {line.name}", description, body)


def curve_chart(name: str, line: ResultLine, values: Sequence[float], errors: Sequence[float]) -> str:
    """Counts below each edge of an axis: one more than it has cells."""
    axes, body = _counted(line, values, errors)
    places, curve, wide = np.arange(line.size + 1.0), np.array(values), 2 * np.array(errors)
    band = axes.path(
        np.concatenate((places, places[::-1])), np.concatenate((curve + wide, (curve - wide)[::-1]))
    )
    body += f'<path class="band" d="{band}Z"/><path class="main" d="{axes.path(places, curve)}"/>'
    description = "Counts with noise; the shaded band is two standard errors either way."
    return _chart(name, f"Records up to each {line.name}", description, body)


def _counted(line: ResultLine, values: Sequence[float], errors: Sequence[float]) -> tuple[_Axes, str]:
    """A frame for counts along an axis."""
    reach = list(zip(values, errors, strict=True))
    low = min(0.0, *(value - 2 * error for value, error in reach))
    high = max(1e-9, *(value + 2 * error for value, error in reach))
    axes = _Axes((0.0, float(line.size)), (low, high))
    y_ticks = [(y, _number(y)) for y in _round_ticks(high)]
    return axes, axes.frame(line.across(), y_ticks, (line.name, "records"))


def heat_map(
    name: str, across: ResultLine, up: ResultLine, values: list[list[float | None]], error: float
) -> str:
    """Counts by two axes, the darker the more; `values[i][j]` is the i-th cell across, the j-th up. Cells
    that may be noise alone are left empty, and so are those without a value."""
    told = [value for row in values for value in row if value is not None]
    body = _heat(across, up, values, 2 * error, max(*told, 2 * error))
    darkest = f"Counts with noise; the darkest is {_number(max(told))} records"
    empty = f"cells below {_number(2 * error)}, two standard errors, are left empty"
    return _chart(name, f"By {across.name} and {up.name}", f"{darkest}; {empty}.", body)


def density_map(name: str, across: ResultLine, up: ResultLine, values: list[list[float | None]]) -> str:
    """A density by two axes, the darker the denser."""
    largest = max(value for row in values for value in row if value is not None)
    body = _heat(across, up, values, 0.005 * largest, largest)
    description = "A density fitted to what was released; empty below half a per cent of its largest."
    return _chart(name, f"By {across.name} and {up.name}", description, body)


def density_chart(name: str, line: ResultLine, values: Sequence[float]) -> str:
    """A density along an axis."""
    axes = _Axes((0.0, float(line.size)), (0.0, max(*values, 1e-300)))
    y_ticks = [(y, _number(y)) for y in _round_ticks(max(values))]
    body = axes.frame(line.across(), y_ticks, (line.name, "density"))
    body += f'<path class="main" d="{axes.path(np.arange(0.5, line.size), np.array(values))}"/>'
    return _chart(name, f"By {line.name}", "A density fitted to what was released.", body)


def _heat(
    across: ResultLine, up: ResultLine, values: list[list[float | None]], floor: float, largest: float
) -> str:
    """Cells as dark as the root of their value, which lets small ones be seen beside large ones."""
    axes = _Axes((0.0, float(across.size)), (0.0, float(up.size)))
    width = axes.across(1.0) - axes.across(0.0)
    height = axes.up(0.0) - axes.up(1.0)
    body = axes.frame(across.across(), up.up(), (across.name, up.name))
    for i, row in enumerate(values):
        for j, value in enumerate(row):
            if value is None or value <= floor:
                continue
            shade = 0.08 + 0.92 * (value / largest) ** 0.5
            body += f'<rect class="heat" x="{axes.across(i):.1f}" y="{axes.up(j + 1):.1f}"'
            body += f' width="{width:.1f}" height="{height:.1f}" fill-opacity="{shade:.2f}"/>'
    return body


def _number(number: float) -> str:
    return f"{number:,.4g}" if abs(number) < 1e4 or abs(number) >= 1e9 else f"{number:,.0f}"


def _short(text: str, longest: int) -> str:
    return text if len(text) <= longest else text[: longest - 1] + "…"
