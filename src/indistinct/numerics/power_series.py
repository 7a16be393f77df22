"""Powers by doubling, and of power series without cancellation where coefficients are of one sign."""

from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

T = TypeVar("T")


def multiplied(one: T, count: int, product: Callable[[T, T], T], start: T | None = None) -> T:
    """What we start with, if there is anything, times a power of what may be multiplied."""
    total = start
    while count:
        if count & 1:
            total = one if total is None else product(total, one)
        count >>= 1
        one = product(one, one) if count else one
    assert total is not None
    return total


def power_of_series(series: Any, count: int) -> Any:
    """The coefficients of a power of a series, in columns. Terms are of one sign if those of the series are:
    by Euler's recurrence while it has no negative factors, else by multiplication."""
    top = series.shape[0] - 1
    if top <= count + 1:
        power = np.empty_like(series)
        power[0] = series[0] ** count
        for n in range(1, top + 1):
            k = np.arange(1, n + 1)[:, None]
            factors = (k * (count + 1) - n) * series[1 : n + 1]
            power[n] = (factors * power[n - 1 :: -1][:n]).sum(axis=0) / (n * series[0])
        return power
    return multiplied(series, count, _product)


def _product(one: Any, other: Any) -> Any:
    """Of two series, to as many terms."""
    result = np.zeros_like(one)
    for k in range(one.shape[0]):
        result[k:] += one[k] * other[: one.shape[0] - k]
    return result
