"""Pictures of a privacy budget: what is left, how it was spent over time, and by whom."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from fractions import Fraction
from html import escape

import numpy as np

from indistinct.ledger.amounts import Amount, short
from indistinct.numerics.arrays import Array
from indistinct.report.svg import ChartAxes, chart, round_ticks, width_of
from indistinct.report.text import rounded_down, rounded_up

_WIDE, _BAR, _ROW = 700.0, 26.0, 24.0
_PEOPLE = 20
"""Bars; the table below has all."""
_STEPS = [timedelta(minutes=m) for m in (1, 5, 15, 60, 180, 720)]
_STEPS += [timedelta(days=d) for d in (1, 2, 7, 14, 28, 91, 182, 365, 730, 1825, 3650)]


@dataclass(frozen=True)
class Spent:
    """What had been spent, and what might be, after one moment; in the unit of the cap."""

    time: str
    total: float
    limit: float | None


@dataclass(frozen=True)
class ByWhom:
    """What one person has spent and tried."""

    who: str
    spends: int
    cost: Amount
    refused: int
    last: str


def left_chart(spent: Amount, reserved: Amount, limit: Fraction, unit: str) -> str:
    """One bar: spent, kept for what was reserved, and left."""
    axes = ChartAxes((0.0, 1.0), (0.0, 1.0), _WIDE, 62.0, left=8.0, right=8.0, top=6.0, bottom=30.0)
    ends = [float(min(one / limit, 1)) if limit else 1.0 for one in (spent, spent + reserved)]
    body, start = "", 0.0
    for kind, end in (("heat", ends[0]), ("bar", ends[1]), ("band", 1.0)):
        place = f'x="{axes.across(start):.1f}" y="{axes.top:g}"'
        size = f'width="{axes.across(end) - axes.across(start):.1f}" height="{_BAR:g}"'
        body += f'<rect class="{kind}" {place} {size}/>'
        start = end
    left = rounded_down(float(max(limit - spent - reserved, Fraction(0)))) if spent < math.inf else "0"
    kept = f", reserved {short(reserved)}" if reserved else ""
    told = f"Spent {short(spent)}{kept}, left {left} of {rounded_down(float(limit))} ({unit})"
    body += f'<text class="mark" x="8" y="{_BAR + 24:g}">{escape(told)}</text>'
    share = 100 * (spent + reserved) / limit if limit else math.inf
    used = f"{short(share, 3)} % of the budget is spent or reserved."
    return chart("left", "What is left", used, body, axes)


def time_chart(history: Sequence[Spent], unit: str) -> str:
    """The sum of all that was spent, step by step, below the cap."""
    moments = np.array([_moment(one.time) for one in history])
    totals = np.array([one.total for one in history])
    limits = np.array([np.nan if one.limit is None else one.limit for one in history])
    low, high = float(moments[0]), float(max(moments[-1], moments[0] + 60))
    top = float(np.nanmax(np.concatenate((totals, limits[np.isfinite(limits)], [0.0])))) or 1.0
    axes = ChartAxes((low, high), (0.0, 1.08 * top), _WIDE, 300.0, left=64.0)
    xs, ys = _steps(moments, totals, high)
    y_ticks = [(y, f"{y:g}") for y in round_ticks(top)]
    body = axes.frame(date_ticks(low, high), y_ticks, ("time (UTC)", unit))
    filled = axes.path(np.concatenate((xs, xs[::-1])), np.concatenate((ys, 0 * ys)))
    body += f'<path class="band" d="{filled}Z"/><path class="main" d="{axes.path(xs, ys)}"/>'
    if np.isfinite(limits).any():
        xs, caps = _steps(moments, limits, high)
        body += f'<path class="plain" d="{axes.path(xs, caps)}"/>'
        body += axes.label(
            high, float(limits[-1]), f"may be spent: {rounded_down(float(limits[-1]), 6)}", "end"
        )
    body += axes.dot(high, float(totals[-1]))
    spent = rounded_up(float(totals[-1]), 4)
    told = f"{spent} is spent or reserved at the end; the dashed line is what may be."
    return chart("time", "The budget over time", told, body, axes)


def people_chart(people: Sequence[ByWhom], unit: str) -> str:
    """A bar for each person, by what was spent."""
    people = [one for one in people if one.cost][:_PEOPLE]
    if not people:
        return ""
    costs = [float(one.cost) for one in people]
    width = min(max(width_of(_short(one.who)) for one in people), 220.0)
    top = max((cost for cost in costs if math.isfinite(cost)), default=1.0)
    height = _ROW * len(people) + 58.0
    axes = ChartAxes((0.0, top), (0.0, float(len(people))), _WIDE, height, left=width + 14.0, right=90.0)
    body = axes.frame([(x, f"{x:g}") for x in round_ticks(top)], [], (unit, ""))
    for place, (one, cost) in enumerate(zip(people, costs, strict=True)):
        at = axes.up(len(people) - place - 0.5)
        long = axes.across(cost) - axes.left
        rows = f'y="{at - 0.35 * _ROW:.1f}" height="{0.7 * _ROW:g}"'
        body += f'<rect class="bar" x="{axes.left:g}" width="{long:.1f}" {rows}/>'
        body += f'<text x="{axes.left - 6:g}" y="{at:.1f}" dy="0.35em" text-anchor="end">'
        body += f"{escape(_short(one.who))}</text>"
        body += f'<text class="mark" x="{axes.left + long + 6:.1f}" y="{at:.1f}" dy="0.35em">'
        body += f"{short(one.cost)}</text>"
    told = "What each has spent; what was refused or cancelled costs nothing."
    return chart("people", "The budget by person", told, body, axes)


def date_ticks(low: float, high: float, most: int = 6) -> list[tuple[float, str]]:
    """Round moments between two, in seconds, with how they are written.

    >>> [label for _, label in date_ticks(1.7e9, 1.7e9 + 4 * 86400)]
    ['2023-11-15', '2023-11-16', '2023-11-17', '2023-11-18']
    """
    step = next((one for one in _STEPS if (high - low) / one.total_seconds() <= most), _STEPS[-1])
    seconds = step.total_seconds()
    form = "%Y-%m-%d" if step >= timedelta(days=1) else "%H:%M" if high - low < 86400 else "%m-%d %H:%M"
    first = -(-low // seconds) * seconds
    places = np.arange(first, high + 1e-9, seconds).tolist()
    return [(place, datetime.fromtimestamp(place, UTC).strftime(form)) for place in places]


def _steps(moments: Array, values: Array, end: float) -> tuple[Array, Array]:
    """The points of a line that goes on until the next value."""
    xs = np.append(np.repeat(moments, 2)[1:], end)
    return xs, np.repeat(values, 2)


def _moment(time: str) -> float:
    moment = datetime.fromisoformat(time)
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()


def _short(who: str) -> str:
    return who if len(who) <= 34 else who[:33] + "…"
