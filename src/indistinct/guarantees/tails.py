"""The law of a composed loss near one size of delta, as an engine draws it, and where it falls to a delta."""

import math
from typing import Any, Protocol

import numpy as np

from indistinct.numerics.arrays import Array
from indistinct.numerics.contour import LogBounds as LogBounds

_ROUNDING = 1e-9
_CLOSE = 1e-11, 1e-9
"""How near log delta is met, at the least and at the most."""
_FURTHEST = 1e12
"""A larger epsilon is not looked for."""


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


def both(one: tuple[Any, Any], other: tuple[Any, Any]) -> tuple[Any, Any]:
    """What two enclosures say together. If they contradict each other one of them is wrong, and nobody knows
    which: then no more than their union is claimed."""
    # what is undefined claims nothing
    low, high = np.fmax(one[0], other[0]), np.fmin(one[1], other[1])
    wrong = low > high + _ROUNDING * np.maximum(np.abs(low), np.abs(high))
    return (
        np.where(wrong, np.fmin(one[0], other[0]), np.fmin(low, high)),
        np.where(wrong, np.fmax(one[1], other[1]), high),
    )


def solve(tail: Tail, log_delta: Array, top: float) -> tuple[Array, Array]:
    """Where delta falls to each e^{log_delta}, by safeguarded Newton steps on the upper bound; then a little
    to the left, until the lower bound is above. Both ends were checked on the bounds themselves."""
    fails, meets = np.full_like(log_delta, -math.inf), np.full_like(log_delta, math.inf)
    gap, steep = np.zeros_like(log_delta), np.ones_like(log_delta)
    epsilon = tail.guess(log_delta)
    epsilon = np.where(np.isfinite(epsilon), np.minimum(epsilon, top), min(top, 1.0))
    rows = np.arange(log_delta.size)  # of what is open
    for _ in range(80):
        at, bounds = epsilon[rows], tail.read(epsilon[rows])
        value, fall = bounds.high - log_delta[rows], np.maximum(-bounds.slope, 1e-300)
        good, bad = rows[value <= 0], rows[~(value <= 0)]
        meets[good], gap[good] = epsilon[good], (log_delta[rows] - bounds.low)[value <= 0]
        steep[good], fails[bad] = fall[value <= 0], epsilon[bad]
        left, right = fails[rows], meets[rows]
        with np.errstate(invalid="ignore"):
            tight = right - left <= 1e-13 * np.abs(right)
            step = np.where(bounds.slope < 0, value / fall, math.inf)
            # over the root by a little, so that the next point is on the safe side
            aimed = at + step + 2e-14 * np.abs(at + step) + 3e-12 / fall
            wild = ~((left < aimed) & (aimed < right))
            wild |= np.abs(step) > 64 * np.maximum(1 / fall, 1e-3 * np.abs(at))
            further = np.where(left > 0, np.maximum(2 * left, left + 8 / np.maximum(fall, 1e-12)), 1.0)
            nearer = np.where(np.isinf(left), np.minimum(right / 2, right - 1e-9), (left + right) / 2)
        aimed = np.where(wild, np.where(np.isinf(right), further, nearer), aimed)
        # no closer than the bounds themselves are
        close = -value <= np.clip((bounds.high - bounds.low) / 2, *_CLOSE)
        done = ((value <= 0) & close) | (right <= 0) | (tight & np.isfinite(right)) | (left >= top)
        going = ~done & (np.abs(aimed) < _FURTHEST)
        rows = rows[going]
        epsilon[rows] = aimed[going]
        if not rows.size:
            break
    low, high = np.zeros_like(log_delta), np.clip(meets, 0.0, max(top, 0.0))
    high[np.isinf(meets)] = math.inf
    known = np.isfinite(gap)
    with np.errstate(invalid="ignore"):
        width = np.where(known, np.minimum(1.01 * gap / steep, 0.5 * np.abs(meets)), 1e-13 * np.abs(meets))
        width += 1e-14 * np.abs(meets)
        rows = np.flatnonzero(np.isfinite(meets) & (meets - width > 0))
    for _ in range(50):
        if not rows.size:
            break
        below = meets[rows] - width[rows]
        holds = tail.read(below).low >= log_delta[rows]
        low[rows[holds]] = below[holds]
        rows = rows[~holds]
        width[rows] *= np.where(known[rows], 2.0, 4.0)
        rows = rows[meets[rows] - width[rows] > 0]
    return low, high
