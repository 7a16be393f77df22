"""Powers of power series, without cancellation where coefficients are of one sign."""

from typing import Any

import numpy as np


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
    power = np.zeros_like(series)
    power[0] = 1.0
    square, left = series, count
    while left:
        if left & 1:
            power = _product(power, square)
        left >>= 1
        if left:
            square = _product(square, square)
    return power


def _product(one: Any, other: Any) -> Any:
    """Of two series, to as many terms."""
    result = np.zeros_like(one)
    for k in range(one.shape[0]):
        result[k:] += one[k] * other[: one.shape[0] - k]
    return result
