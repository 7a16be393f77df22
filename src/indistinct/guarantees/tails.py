"""The law of a composed loss near one size of delta, as an engine draws it, and where it falls to a delta."""

import math
from collections.abc import Generator
from typing import Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from indistinct.numerics.arrays import Array
from indistinct.numerics.contour import LogBounds as LogBounds

Flags = npt.NDArray[np.bool_]

NARROW = 1e-7
"""Engines are asked until epsilon, or log delta, is known to this (relatively, absolutely)."""

ROUGH = 1e-2
"""... or only to this, where a search begins: what costs much is not asked."""

_ROUNDING = 1e-9
_CLOSE = 1e-11, 1e-9
"""How near log delta is met, at the least and at the most."""
_NEAR = 1e-4
"""If it is missed by less, the next step meets it."""
_WIDE, _HALVED = 1e-4, 16
"""A lower end that is not next to the upper one is looked for to this, relatively, in so many steps."""
_FURTHEST = 1e12
"""A larger epsilon is not looked for."""


class Need(NamedTuple):
    """How close an upper bound has to be: no larger than `enough`, which another direction has already, or
    larger than the truth by no more than `slack` (of delta), which nobody feels, or than this share of it
    (of epsilon, or of delta)."""

    enough: Array | float = 0.0
    slack: Array | float = 0.0
    accuracy: float = NARROW
    near: Array | None = None
    """About how large the deltas are whose tails are asked, if that is known: neighbours share them."""

    def at(self, shape: tuple[int, ...], rows: Any) -> "Need":
        """That of some rows."""
        enough, slack = ((np.zeros(shape) + each)[rows] for each in (self.enough, self.slack))
        return Need(enough, slack, self.accuracy, None if self.near is None else self.near[rows])

    @property
    def rough(self) -> bool:
        """Whether a search only begins."""
        return self.accuracy >= ROUGH


EXACT = Need()


class Tail(Protocol):
    """The law of a composed loss near one size of delta."""

    @property
    def final(self) -> bool:
        """Whether no other engine can know better."""
        return False

    def read(self, epsilon: Array) -> LogBounds:
        """Bounds on log delta at each epsilon, each computed as if it were alone."""
        ...

    def guess(self, log_delta: Array) -> Array:
        """About where delta has each size."""
        ...


def both(one: tuple[Array, Array], other: tuple[Array, Array]) -> tuple[Array, Array, Flags]:
    """What two enclosures say together, and where they contradict each other. Then one of them is wrong, and
    nobody knows which: no more than their union is claimed, and no third is heard, which might be like it."""
    # what is undefined claims nothing
    low, high = np.fmax(one[0], other[0]), np.fmin(one[1], other[1])
    if (low <= high).all():
        return low, high, np.zeros(low.shape, dtype=bool)
    wrong = low > high + _ROUNDING * np.maximum(np.abs(low), np.abs(high))
    return (
        np.where(wrong, np.fmin(one[0], other[0]), np.fmin(low, high)),
        np.where(wrong, np.fmax(one[1], other[1]), high),
        wrong,
    )


Bounds = tuple[float, float, float]
"""Of log delta, low and high, and a slope."""
Search = Generator[tuple[float, ...], list[Bounds], tuple[float, float]]
"""Asks for the bounds at one or two places, again and again, and returns what it was looking for."""


def solve(tail: Tail, log_delta: Array, top: float) -> tuple[Array, Array]:
    """Where delta falls to each e^{log_delta}, from 0 on: two ends, both checked on the bounds themselves.
    Each is searched for as if it were alone; what they ask for is read together."""
    low, high = np.empty_like(log_delta), np.empty_like(log_delta)
    starts = zip(log_delta.tolist(), tail.guess(log_delta).tolist(), strict=True)
    searches = [_ends(goal, at if math.isfinite(at) else 1.0, top) for goal, at in starts]
    going = [(row, search, next(search)) for row, search in enumerate(searches)]
    while going:
        bounds = tail.read(np.array([place for _, _, places in going for place in places]))
        answers = zip(*(each.tolist() for each in bounds), strict=True)
        asked, going = going, []
        for row, search, places in asked:
            try:
                going.append((row, search, search.send([next(answers) for _ in places])))
            except StopIteration as found:
                low[row], high[row] = found.value
    return low, high


def _ends(log_delta: float, at: float, top: float) -> Search:
    """Safeguarded Newton steps on the upper bound, and a step to the left of the last of these, so far that
    the lower one should be above; if it is not, further to the left."""
    fails, meets, least, gap, steep = -math.inf, math.inf, 0.0, 0.0, 1.0
    at, below, reached = max(min(at, top), 0.0), -math.inf, -math.inf
    for _ in range(80):
        (low, high, slope), *more = yield (at, below) if below > least else (at,)
        if low > high + _ROUNDING * abs(high):
            return 0.0, math.inf  # it contradicts itself
        value, fall = high - log_delta, max(-slope, 1e-300)
        if value <= 0:
            meets, gap, steep = at, max(log_delta - low, 0.0), fall
        else:
            fails = at
            least = at if low >= log_delta else least
        reached = below if more and more[0][0] >= log_delta else -math.inf
        # no closer than the bounds themselves are, unless delta hardly falls
        close = -value <= min(max((high - low) / 2, _CLOSE[0]), _CLOSE[1], 1e-7 * fall * at + 1e-15)
        tight = meets < math.inf and meets - fails <= 1e-13 * abs(meets)
        if (value <= 0 and close) or tight or meets <= 0 or fails >= top:
            break
        step = value / fall if slope < 0 else math.inf
        # over the root by a little, so that the next point is on the safe side
        over = 2e-14 * abs(at + step) + 3e-12 / fall
        at, before = max(at + step + over, 0.0), at
        if not fails < at < meets or abs(step) > 64 * max(1 / fall, 1e-3 * abs(before)):
            if math.isinf(meets):
                at = max(2 * fails, fails + 8 / max(fall, 1e-12)) if fails > 0 else 1.0
            else:
                at = meets / 2 if math.isinf(fails) else (fails + meets) / 2
        if math.isinf(meets):  # where delta falls in jumps, the slope before one says nothing of it
            at = min(at, 16 * max(fails, 1.0))
        if not abs(at) < _FURTHEST:
            break
        below = at - 1.5 * ((high - low) / fall + over) if abs(value) < _NEAR else -math.inf
    if math.isinf(meets):
        if fails < top:
            return least, math.inf
        meets, gap = top, math.inf  # where nothing is left
    known = math.isfinite(gap)
    width = min(1.01 * gap / steep, 0.5 * abs(meets)) if known else 1e-13 * abs(meets)
    width += 1e-14 * abs(meets)
    end = min(max(meets, 0.0), max(top, 0.0))
    if least < reached < meets <= reached + 2 * width:
        return reached, end
    above = meets
    for _ in range(80):
        below = meets - width
        if not below > least:
            break
        if (yield (below,))[0][0] >= log_delta:
            least = below
            break
        above = below
        width *= 2.0 if known else 4.0
    # of bounds that are far apart the end is between the last two places
    for _ in range(_HALVED):
        if not above - least > _WIDE * above:
            break
        middle = (least + above) / 2
        if (yield (middle,))[0][0] >= log_delta:
            least = middle
        else:
            above = middle
    return min(least, end), end
