"""One damped Newton iteration, for every search of this package.

It solves equations whose derivative is known, gradients of convex functions among them. Nothing here has to
be right: a certificate judges wherever a search ends.
"""

import math
from collections.abc import Callable
from typing import NamedTuple, TypeVar

import numpy as np

from indistinct.numerics.arrays import TINY, Array

Place = TypeVar("Place")

_RIDGE = 1e-14
"""Added to a derivative of unit diagonal, so that rounding does not turn a step round."""
_SHORTEST = 1e-7
"""The least share of a step that is tried."""
_NEARLY = 1e-9
"""What is left, where only slopes can judge: values are flat to rounding there."""


class Slope(NamedTuple):
    """What must vanish at a place, and what undoes its derivative there; what falls on the way, if it is a
    gradient (NaN for other equations)."""

    left: Array
    undo: Callable[[Array], Array]
    value: float = math.nan

    @property
    def length(self) -> float:
        with np.errstate(over="ignore"):
            return float(np.linalg.norm(self.left))


def inverse_of(derivative: Array) -> Callable[[Array], Array] | None:
    """What undoes a derivative whose diagonal is positive; nothing where there is no such thing."""
    diagonal = np.diag(derivative)
    if not (diagonal > 0).all() or not np.isfinite(derivative).all():
        return None
    unit = np.sqrt(diagonal)
    scaled = derivative / np.outer(unit, unit) + _RIDGE * np.eye(unit.size)

    def undo(left: Array) -> Array:
        try:
            return np.linalg.solve(scaled, left / unit) / unit
        except np.linalg.LinAlgError:
            return np.full(left.size, math.nan)

    return undo


def newton(
    look: Callable[[Place], Slope | None],
    place: Place,
    *,
    enough: float,
    move: Callable[[Place, Array], Place],
    longest: float = math.inf,
    most: int = 60,
    natural: bool = True,
) -> Place:
    """Until what is left is below `enough`, or as far as it gets.

    A step along a gradient is judged by what falls and, where that is flat to rounding, by the slope along
    it, which must not have turned; the last step is taken unjudged, because nothing is left that could judge
    it. A step of other equations is judged by what a further step with the same derivative would be
    (Deuflhard's natural monotonicity): some of them may turn a hundred times as fast as others; or, if not
    `natural`, by what it leaves. `look` says nothing where a place is beyond what can be computed.
    """
    at, before = look(place), math.inf
    for _ in range(most):
        if at is None:
            break
        step = at.undo(-at.left)
        gradient = not math.isnan(at.value)
        decrement = -float(at.left @ step) if gradient else float(step @ step)
        left = decrement if gradient else at.length
        if not 0 < decrement < math.inf or (left < _NEARLY and left >= before):
            break
        if at.length < enough and (not gradient or decrement < enough**1.5):
            return move(place, step) if gradient else place
        before = left if left < _NEARLY else math.inf
        size = min(1.0, longest / (float(np.abs(step).max()) + TINY))
        there = None
        while size > _SHORTEST:
            tried = move(place, size * step)
            there = look(tried)
            share = 0.15
            if there is not None:
                if gradient:
                    rising = float(there.left @ step)
                    falls = decrement < _NEARLY or there.value <= at.value
                    if falls and not rising > 0.5 * decrement:
                        break
                    share = min(max(decrement / (decrement + max(rising, 0.0)), 0.15), 0.7)
                else:
                    after = np.linalg.norm(at.undo(there.left)) if natural else there.length
                    if after < (1 - size / 10) * (math.sqrt(decrement) if natural else at.length):
                        break
                    share = 0.5
            size *= share
        else:
            break
        place, at = tried, there
    return place


def add(place: Array, step: Array) -> Array:
    """Along a straight line."""
    return place + step


def stages(start: float, goal: float, longest: float) -> list[float]:
    """Places from a start to a goal, none further from the one before than `longest`."""
    count = max(math.ceil(abs(goal - start) / longest), 1)
    return [start + (goal - start) * k / count for k in range(1, count)] + [goal]
