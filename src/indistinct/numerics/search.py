"""Searching many places at once: for the least that a test tells, and where a profile falls to a size.

Every value of such a bound is valid, so a search that stops early only loses sharpness.
"""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from indistinct.numerics.arrays import TINY, Array

ROUGH = 1e-2
"""A search begins with bounds that are as close as this, where those are cheaper."""
_LIKELY = 0.1
"""... until no more than this is left to find, of log odds."""
_SETTLED = 5e-7
"""It ends where no more than this is left."""
_STEPS = 60
_FURTHER = 2.0
"""A place further out is so many times as far away as the last one."""
_STRAIGHT = 0.1
"""Beside a kink slopes differ by no more than this share of what they do across it."""
_NARROWER = 0.02
"""Places around a foretold one are no closer to it than this share of what is searched."""
_STEEP = 1e100
"""The slope beyond an end."""

_ACCURACY = 1e-13
_QUADRUPLED = np.power(4.0, np.arange(60.0))
_WITHIN = np.linspace(0.0, 1.0, 65)

Flags = npt.NDArray[np.bool_]
Objective = Callable[[Array, Any], tuple[Array, Array]]
"""What is told at each place, at most, and what is missed, at least, for the rows that an index names."""
Reading = Callable[[Array | None, Array | None], Objective]
"""Reads them roughly (nothing is given), or closely, beside what was found, of either side the lesser: by
what is drawn for one place for each row, or (no place) by what is drawn for each."""


def least_told(
    reading: Reading, guess: Array, spread: Array, low: Array, high: Array, end: float = math.inf
) -> tuple[Array, Array]:
    """The least that is told, row by row, and the most that is missed, which is the rest: both are searched
    together, so that either may be next to nothing. What is told is convex in e^place, with a kink at an end
    of either sign, beyond which nothing has to be drawn."""
    rows = np.arange(guess.size)
    rough, centre, spread, _ = _peak(reading(None, None), rows, guess, spread, low, high, end, _LIKELY)
    close = reading(centre, np.minimum(*rough))
    best, centre, spread, bent = _peak(close, rows, centre, spread, low, high, end, _SETTLED)
    # what is drawn for one place may not be close at others
    gained = _log_odds(*best) - _log_odds(*rough)
    best = np.stack((np.minimum(best[0], rough[0]), np.maximum(best[1], rough[1])))
    rows = np.flatnonzero(bent | (gained > _LIKELY) | (gained < -_SETTLED))
    if rows.size:
        start = centre[rows], spread[rows], low[rows], high[rows]
        again, *_ = _peak(reading(None, np.minimum(*best)), rows, *start, end, _SETTLED)
        best[:, rows] = np.minimum(best[0, rows], again[0]), np.maximum(best[1, rows], again[1])
    return best[0], best[1]


def _peak(
    objective: Objective,
    rows: npt.NDArray[np.intp],
    guess: Array,
    spread: Array,
    low: Array,
    high: Array,
    end: float,
    settled: float,
) -> tuple[Array, Array, Array, Flags]:
    """What is told and missed at the best place near a guess; where it should be; how far around it is nearly
    as good; and whether anything that was seen contradicts that what is told is convex."""
    places, values = np.empty((0, rows.size)), np.empty((2, 0, rows.size))
    probes = np.clip(guess + np.multiply.outer(np.array([-1.0, 0.0, 1.0]), spread), low, high)
    kink = np.copysign(end, guess)
    kink[(np.abs(kink - guess) > 4 * spread) | (kink < low) | (kink > high)] = math.nan
    probes[np.abs(probes - kink) < _NARROWER * spread] = math.nan
    probes[::2] = np.where(probes[::2] == probes[1], math.nan, probes[::2])
    probes = np.concatenate((probes, kink[None]))
    open_ = np.ones(rows.size, dtype=bool)
    for step in range(_STEPS):
        asked = ~np.isnan(probes)
        found = np.full((2, *probes.shape), math.nan)
        found[:, asked] = objective(probes[asked], np.broadcast_to(rows, probes.shape)[asked])
        places, values = np.concatenate((places, probes)), np.concatenate((values, found), axis=1)
        near, best = _around(places, values)
        with np.errstate(all="ignore"):
            room, probes, top, width, convex = _next(near, best, low, high, settled, step)
        # each row as if it were alone: one that has settled is not looked at again
        open_ &= (room > settled) & ~np.isnan(probes).all(axis=0)
        probes[:, ~open_] = math.nan
        if not open_.any():
            break
    return best[:, 2], top, width, ~convex


def _around(places: Array, values: Array) -> tuple[Array, Array]:
    """The best place, and two on either side of it, where there are: a window of five."""
    order = np.argsort(places, axis=0)
    none = np.full((2, *places.shape[1:]), math.nan)
    places = np.concatenate((none, np.take_along_axis(places, order, 0), none))
    values = np.stack([np.concatenate((none, np.take_along_axis(one, order, 0), none)) for one in values])
    first = np.nanargmax(_log_odds(*values), axis=0) - 2
    window = first + np.arange(5)[:, None]
    return np.take_along_axis(places, window, 0), np.take_along_axis(values, window[None], 1)


def _log_odds(told: Array, missed: Array) -> Array:
    """As large as what is missed, and as closely known next to nothing as next to all of it; negative rates
    come last."""
    odds = np.log(np.maximum(missed, TINY)) - np.log(np.maximum(told, TINY))
    return np.where(missed > 0, odds, 2 * math.log(TINY) + missed)


def _next(
    near: Array, values: Array, low: Array, high: Array, settled: float, step: int
) -> tuple[Array, Array, Array, Array, Flags]:
    """How much more there may be beside the best place, relatively; which places to look at next; and how far
    around it the values are alike.

    A chord of a convex function is below it on either side: between two places it is above the chords of
    their neighbours, which cross there. Where these are straight, they cross at a kink; elsewhere a parabola
    tells where the peak is."""
    told, missed = np.maximum(values[0, 2], TINY), values[1, 2]
    excess = np.where(told <= missed, values[0] - told, missed - values[1])
    excess *= 1 / told + np.where(missed > 0, 1 / missed, 0.0)
    convex_in = np.expm1(near - near[2])
    slopes, widths = np.diff(excess, axis=0) / np.diff(convex_in, axis=0), np.diff(convex_in, axis=0)
    left, left_room, left_kink = _crossing(slopes, widths[1], excess[1])
    right, right_room, right_kink = _crossing(-slopes[::-1], widths[2], excess[3])
    steps = np.diff(near, axis=0)
    left_kink &= steps[2] + steps[3] > _STRAIGHT * steps[1]  # else of anything so short
    right_kink &= steps[0] + steps[1] > _STRAIGHT * steps[2]
    more = right_room > left_room
    room, kink = np.maximum(left_room, right_room), np.where(more, right_kink, left_kink)
    crossing = near[2] + np.log1p(np.where(more, right, -left))
    if step % 2 == 0:  # chords of what is curved cross next to its end
        half = np.where(more, near[3] - near[2], near[1] - near[2]) / 2
        off = crossing - near[2] - half
        crossing = near[2] + half + np.clip(off, -np.abs(half) / 2, np.abs(half) / 2)

    _, below, middle, above, _ = near
    no_left, no_right = np.isnan(below), np.isnan(above)
    span = np.where(no_left, middle, below), np.where(no_right, middle, above)
    width = span[1] - span[0]
    top, bend = _parabola(near[1:4], _log_odds(*values)[1:4])
    usual = np.sqrt(settled / 2 / -bend)
    apart = np.clip(np.where(usual > 0, usual, 0.0), _NARROWER * width, width / 4)
    top = np.clip(np.where(bend < 0, top, middle), *span)
    probes = top + np.multiply.outer(np.array([-1.0, 0.0, 1.0]), apart)
    probes[1] = np.where(np.abs(top - middle) < apart / 4, math.nan, probes[1])
    wider = np.where(above - middle > middle - below, above, below)
    one = np.where(kink, crossing, (middle + wider) / 2 if step % 4 == 3 else math.nan)
    one = np.where(no_left, middle - _further(above - middle), one)
    one = np.where(no_right, middle + _further(middle - below), one)
    one = np.where(no_left & (middle <= low), (middle + above) / 2, one)
    one = np.where(no_right & (middle >= high), (middle + below) / 2, one)
    alone = ~np.isnan(one)
    probes[:, alone], probes[1, alone] = math.nan, one[alone]
    room = np.where((no_left & (middle > low)) | (no_right & (middle < high)), math.inf, room)
    probes = np.clip(probes, low, high)
    probes = np.where((probes[:, None] == near).any(axis=1), math.nan, probes)
    alike = np.sqrt(ROUGH / -bend)
    alike = np.clip(np.where(alike > 0, alike, width), width / 8, width)
    dents = -np.diff(slopes, axis=0)[::2] * widths[1:3]
    top = np.where(kink, middle, np.clip(top, middle - alike, middle + alike))
    return room, probes, top, alike, ~(dents > _SETTLED).any(axis=0)


def _further(step: Array) -> Array:
    """How far ahead the next place is, from the last step."""
    return np.minimum(_FURTHER * step, np.maximum(step, _FURTHER))


def _crossing(slopes: Array, width: Array, excess: Array) -> tuple[Array, Array, Flags]:
    """How far before the best place the chords cross that are beyond the place before it and the best one, by
    how much below, and whether these are straight."""
    outer, own, inner, beyond = slopes
    kink = np.abs(beyond - inner) <= _STRAIGHT * (inner - own)
    inner = np.where(np.isnan(inner), _STEEP, inner)
    before = np.clip((-outer * width - excess) / (inner - outer), 0.0, width)
    room = inner * np.where(np.isnan(before), width, before)
    return np.where(np.isnan(before), width / 2, before), np.nan_to_num(room, posinf=math.inf), kink


def _parabola(x: Array, y: Array) -> tuple[Array, Array]:
    """Where the parabola through three points is highest, and by how much it is curved."""
    left, right = (y[1] - y[0]) / (x[1] - x[0]), (y[2] - y[1]) / (x[2] - x[1])
    bend: Array = (right - left) / (x[2] - x[0])
    return (x[0] + x[1]) / 2 - left / (2 * bend), bend


def falls_to(profile: Callable[[Array], Array], level: float, start: float) -> float:
    """About where a falling function is no larger than a level, from a start on: relatively to 3e-4, by grids
    of which each divides a cell of the last."""
    places: Array = start * _QUADRUPLED
    for _ in range(3):
        first = max(int(np.argmax(np.append(profile(places)[:-1] <= level, True))), 1)
        before, place = places[first - 1 : first + 1]
        places = before * (place / before) ** _WITHIN
    return float(place)


def bisect(profile: Callable[[Array], Array], delta: Array, top: Array) -> Array:
    """The smallest epsilon between 0 and a top with profile(epsilon) <= delta, from above, relatively to
    `_ACCURACY`: false position on log delta, halving every third time."""
    log_delta = np.log(np.maximum(delta, TINY))

    def gap(epsilon: Array, rows: Any = slice(None)) -> Array:
        result: Array = np.log(np.maximum(profile(epsilon), TINY)) - log_delta[rows]
        return result

    low, high = np.zeros_like(delta), np.minimum(np.ones_like(delta), top)
    at_low, at_high = gap(low), gap(high)
    high = np.where(at_low <= 0, 0.0, high)
    while (short := (at_high > 0) & (high < top) & (high > 0)).any():
        low, at_low = np.where(short, high, low), np.where(short, at_high, at_low)
        high = np.where(short, np.minimum(4 * high, top), high)
        at_high = np.where(short, gap(high), at_high)
    met = np.zeros_like(delta)  # which end moved last, the upper one or the lower
    for step in range(200):
        rows = np.flatnonzero(high - low > _ACCURACY * high)
        if not rows.size:
            break
        left, right, at_left, at_right = low[rows], high[rows], at_low[rows], at_high[rows]
        with np.errstate(divide="ignore", invalid="ignore"):
            crossing = right - (right - left) * at_right / (at_right - at_left)
        # geometric at first: epsilon may be of any size
        halved = np.where(
            right > 4 * left, np.maximum(np.sqrt(left * right), right * 1e-3), (left + right) / 2
        )
        inside = (crossing > left) & (crossing < right) & (step % 3 > 0)
        # next to an end the rest is seen to be narrow enough, or not
        apart = 0.9 * _ACCURACY * right
        middle = np.where(inside, np.clip(crossing, left + apart, right - apart), halved)
        at_middle = gap(middle, rows)
        meets = at_middle <= 0
        # an end that stays twice counts half (Illinois), so that both move
        again = met[rows] == np.where(meets, 1.0, -1.0)
        met[rows] = np.where(meets, 1.0, -1.0)
        low[rows] = np.where(meets, left, middle)
        high[rows] = np.where(meets, middle, right)
        at_low[rows] = np.where(meets, np.where(again, at_left / 2, at_left), at_middle)
        at_high[rows] = np.where(meets, at_middle, np.where(again, at_right / 2, at_right))
    return high
