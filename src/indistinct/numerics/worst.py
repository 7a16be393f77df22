"""The larger of several bounds: what is not a number bounds nothing."""

import math
from collections.abc import Iterable

import numpy as np

from indistinct.numerics.arrays import Array


def worst_of(bounds: Iterable[float]) -> float:
    """The largest of several bounds; what is not a number bounds nothing, and Python's max would drop it."""
    largest = float(np.max(list(bounds)))
    return math.inf if math.isnan(largest) else largest


def worst(readings: Iterable[Array]) -> Array:
    """The largest of several readings, entry by entry."""
    worst: Array = np.max(list(readings), axis=0)
    return worst
