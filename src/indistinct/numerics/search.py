"""Searching many places at once: the largest value of bounds that have one peak, and where a profile falls to
a size.

Every value of such a bound is valid, so a search that stops early only loses sharpness.
"""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from indistinct.numerics.arrays import TINY, Array

_GOLDEN, _SECTIONS = (math.sqrt(5) - 1) / 2, 40

_NEXT_TO = 1e-5
"""A bound that rises neither from 0 to so little of a guess nor further has its peak at 0, to the square of
this."""
_SPREAD, _LEAST_SPREAD = math.log(1.6), 1e-3
"""Places begin so far apart, in logarithms."""
_UP, _DOWN = math.log(4.0), math.log(64.0)
"""... and go on by this at most."""

ROUGH = 1e-2
"""A peak is found by bounds that are as close as this to begin with, where those are cheaper."""
_SETTLED = 1e-9
"""Bounds are no closer than this either."""

_LOPSIDED = 16.0
"""A side of a peak is much wider than the other."""

_ACCURACY = 1e-13
_QUADRUPLED = np.power(4.0, np.arange(60.0))
_WITHIN = np.linspace(0.0, 1.0, 65)

Objective = Callable[[Array, Any], Array]
"""The bound at each place, for the rows that a slice or an index names."""
Reading = Callable[[Array | None], Objective]
"""Reads it roughly anywhere (None), or closely, next to a place for each row."""


def climbed(reading: Reading, known: Array, guess: Array, high: Array) -> Array:
    """The largest value on (0, high], row by row, where it is more than what is known, from a guess where the
    peak is: roughly at first, then closely, next to what was found. Few places are looked at, and none far
    beyond the peak. A peak at 0, whose value is for others to read, is only approached."""
    best, centre = known.copy(), np.zeros_like(high)
    rows = np.flatnonzero(high > 0)
    guess = np.where(guess > 0, np.minimum(guess, 0.9 * high), high / 4)
    spread = np.full_like(high, _SPREAD)
    found, centre[rows], spread[rows] = _peak(reading(None), rows, guess[rows], spread[rows], high, ROUGH)
    best[rows] = np.maximum(best[rows], found)
    rows = rows[(found > known[rows] - 2 * ROUGH) & (centre > 2 * _NEXT_TO * guess)[rows]]
    if rows.size:
        found, _, _ = _peak(reading(centre), rows, centre[rows], spread[rows], high, _SETTLED)
        best[rows] = np.maximum(best[rows], found)
    return best


def _peak(
    objective: Objective, rows: npt.NDArray[np.intp], guess: Array, spread: Array, high: Array, settled: float
) -> tuple[Array, Array, Array]:
    """The largest value near a guess, where that is, and how far around it, in logarithms, it is nearly as
    large."""

    def at(log_place: Array, row: Any) -> Array:
        return objective(np.exp(log_place), row)

    # on a logarithmic scale, on which places that are multiplied are evenly spaced
    most, least = np.log(high[rows]), np.log(np.minimum(_NEXT_TO * guess, high[rows]))
    middle = np.minimum(np.log(guess), most - spread / 2)
    places = np.minimum(middle + np.multiply.outer(np.array([-1.0, 0.0, 1.0]), spread), most)
    values = at(places.ravel(), np.tile(rows, 3)).reshape(places.shape)
    for last, end, furthest, order in ((2, most, _UP, np.s_[:]), (0, least, _DOWN, np.s_[::-1])):
        while (short := np.flatnonzero((values.argmax(axis=0) == last) & (places[last] != end))).size:
            ahead = places[last, short] - places[1, short]
            further = places[last, short] + np.sign(ahead) * np.minimum(3 * np.abs(ahead), furthest)
            further = np.minimum(further, end[short]) if last else np.maximum(further, end[short])
            kept = [1, last]
            for each, new in ((places, further), (values, at(further, rows[short]))):
                each[:, short] = np.vstack((each[kept][:, short], new))[order]
    return _refined(at, places, values, rows, settled)


def _refined(
    objective: Objective, places: Array, values: Array, all_rows: npt.NDArray[np.intp], settled: float
) -> tuple[Array, Array, Array]:
    """The same between three places, row by row: by parabolas, which are quick where the bound is smooth, and
    by halving where they do not settle (at a kink: losses with atoms)."""
    found, near, at_near = values.max(axis=0), places.copy(), values.copy()
    rows = np.arange(found.size)
    for _ in range(9):
        if not rows.size:
            break
        before, (probe, foretold) = found[rows], _parabola_top(near[:, rows], at_near[:, rows])
        at_probe = objective(probe, all_rows[rows])
        found[rows] = np.maximum(before, at_probe)
        near[:, rows], at_near[:, rows] = _closest_three(near[:, rows], at_near[:, rows], probe, at_probe)
        # each row as if it were alone: one that has settled is not looked at again
        rows = rows[(found[rows] - before > settled) | (np.abs(foretold - at_probe) > 10 * settled)]
    if rows.size and settled < ROUGH:
        halved = golden(objective, all_rows[rows], near[::2, rows], at_near[::2, rows])
        found[rows] = np.maximum(found[rows], halved)
    best = at_near.argmax(axis=0)[None]
    with np.errstate(divide="ignore", invalid="ignore"):
        spread = np.sqrt(ROUGH / np.abs(_bend(near, at_near)))
    spread = np.clip(np.where(spread > 0, spread, _SPREAD), _LEAST_SPREAD, _SPREAD)
    return found, np.exp(np.take_along_axis(near, best, axis=0)[0]), spread


def golden(objective: Objective, rows: Any, ends: Array, at_ends: Array) -> Array:
    """The largest values found by golden sections between two ends, until all of a row's are alike."""
    (low, high), (at_low, at_high) = ends, at_ends
    left, right = high - _GOLDEN * (high - low), low + _GOLDEN * (high - low)
    at_left, at_right = objective(left, rows), objective(right, rows)
    best, open_ = np.maximum(at_left, at_right), np.arange(rows.size)
    for _ in range(_SECTIONS):
        up = at_left < at_right
        low, high = np.where(up, left, low), np.where(up, high, right)
        at_low, at_high = np.where(up, at_left, at_low), np.where(up, at_high, at_right)
        probe = np.where(up, low + _GOLDEN * (high - low), high - _GOLDEN * (high - low))
        at_probe = objective(probe, rows[open_])
        left, right = np.where(up, right, probe), np.where(up, probe, left)
        at_left, at_right = np.where(up, at_right, at_probe), np.where(up, at_probe, at_left)
        best[open_] = np.maximum(best[open_], at_probe)
        state = np.stack((low, high, at_low, at_high, left, right, at_left, at_right))
        apart = np.ptp(state[[2, 3, 6, 7]], axis=0) > _SETTLED
        low, high, at_low, at_high, left, right, at_left, at_right = state[:, apart]
        open_ = open_[apart]
        if not open_.size:
            break
    return best


def _parabola_top(x: Array, y: Array) -> tuple[Array, Array]:
    """Where the parabola through three points is highest, kept between them, and its height there."""
    left, bend = (y[1] - y[0]) / (x[1] - x[0] + TINY), _bend(x, y)
    with np.errstate(divide="ignore", invalid="ignore"):
        top = (x[0] + x[1]) / 2 - left / (2 * bend)
    top = np.clip(np.where(np.isfinite(top) & (bend < 0), top, x[1]), x[0], x[2])
    # too close to a known point teaches nothing: step to the middle beside it, or of the wider side, instead
    left_half, right_half, width = (x[0] + x[1]) / 2, (x[1] + x[2]) / 2, x[2] - x[0]
    wider = np.where(x[2] - x[1] > x[1] - x[0], right_half, left_half)
    for known, instead in ((x[1], wider), (x[0], left_half), (x[2], right_half)):
        top = np.where(np.abs(top - known) <= 1e-9 * width, instead, top)
    # a far end that stays teaches little: step to its side, but not far
    below, above = x[1] - x[0], x[2] - x[1]
    top = np.where(below > _LOPSIDED * above, x[1] - 4 * above, top)
    top = np.where(above > _LOPSIDED * below, x[1] + 4 * below, top)
    return top, y[0] + (top - x[0]) * (left + bend * (top - x[1]))


def _bend(x: Array, y: Array) -> Array:
    """By how much the parabola through three points is curved."""
    left, right = (y[1] - y[0]) / (x[1] - x[0] + TINY), (y[2] - y[1]) / (x[2] - x[1] + TINY)
    bend: Array = (right - left) / (x[2] - x[0] + TINY)
    return bend


def _closest_three(x: Array, y: Array, probe: Array, at_probe: Array) -> tuple[Array, Array]:
    """Of four points, the highest and its two neighbours."""
    x, y = np.concatenate((x, probe[None])), np.concatenate((y, at_probe[None]))
    order = np.argsort(x, axis=0, kind="stable")
    x, y = np.take_along_axis(x, order, 0), np.take_along_axis(y, order, 0)
    first = np.clip(y.argmax(axis=0) - 1, 0, 1)
    rows = first + np.arange(3)[:, None]
    return np.take_along_axis(x, rows, 0), np.take_along_axis(y, rows, 0)


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
