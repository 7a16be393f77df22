"""E[R^n e^{-wR}] / n! of a mean R of independent lognormal variables, on a grid of w: factors of its moments.

They are the coefficients of x^n in (sum_k x^k E[X^k e^{-wX/t}] / (k! t^k))^t (`lognormal_mean`). All means
over one normal variable are sums on one lattice, on which log w and the variable lie.
"""

import math
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from scipy.special import loggamma

from indistinct.numerics.arrays import Array, ComplexArray, product
from indistinct.numerics.cumulant import log1p
from indistinct.numerics.lognormal_step import LOG_ROOT, ROUNDING
from indistinct.numerics.power_series import power_of_series

_HELD = 1 << 15
"""Terms of sums that are written down at once."""


class Grid(NamedTuple):
    """Nodes v = first + step * i, and z = low + apart * j: all v + sz lie on one lattice, `parts` of whose
    steps are one in v, and `stride` of them one in sz."""

    first: float
    step: float
    size: int
    low: float
    apart: float
    normals: int
    parts: int
    stride: int

    @property
    def places(self) -> Array:
        """The nodes v."""
        return self.first + self.step * np.arange(self.size, dtype=np.float64)


class Factors(NamedTuple):
    """E[R^n e^{-wR}] / n! on a grid for n = 0, 1, ..., m: rows of `rest`, times e^log_scale and base^-n; a
    bound on the size of the terms of `rest`, and errors relative to that."""

    log_scale: ComplexArray | Array
    rest: ComplexArray | Array
    majorant: Array
    errors: Array
    log_base: float


def series_base(scale: float, m: int) -> float:
    """By which a series is scaled, so that its coefficients stay numbers: they are between m^-m and E X^m."""
    return math.log(max(m, 1)) - scale**2 * m / 4


@lru_cache(maxsize=32)
def factors_on(
    scale: float, count: int, m: int, grid: Grid, theta: float = 0.0, moved: float = 0.0
) -> Factors:
    """E[R^n e^{-wR}] / n! for w = e^{v - i theta} and n up to m, Z moved by i `moved`."""
    s, t, log_base = scale, count, series_base(scale, m)
    z = grid.low + grid.apart * np.arange(grid.normals)
    log_weight = -z * z / 2 - LOG_ROOT + math.log(grid.apart) + moved**2 / 2
    last = grid.parts * (grid.size - 1) + grid.stride * (grid.normals - 1)
    places = grid.first + grid.step / grid.parts * np.arange(last + 1)
    log_y = places + s * grid.low - s * s / 2 - math.log(t)
    k = np.arange(m + 1.0)[:, None]
    log_x = s * z - s * s / 2 + log_base - math.log(t)
    weights = np.exp(log_weight + k * log_x - loggamma(k + 1).real)
    y: Array | ComplexArray = np.exp(log_y)
    phase = None
    if theta:
        y, phase = y * np.exp(-1j * (theta - s * moved)), np.exp(-1j * moved * z)
    inside = np.exp(-y)
    series = _means(inside, weights, grid, phase)
    sizes = _means(np.abs(inside), weights, grid) if theta else series
    series = series * np.exp(1j * moved * s * k) if moved else series
    # near 1 all but a sum of e^{-y} - 1, which keeps its digits
    rows = int((np.flatnonzero(np.abs(series[0] - 1) < 0.6)[-1:] + 1).sum())
    away = np.ones_like(series[0])
    away[:rows] = _means(np.expm1(-y), weights[:1], grid._replace(size=rows), phase)[0]
    near = np.abs(away) < 0.5
    first = np.where(near, 1 + away, np.where(series[0] == 0, 1e-300, series[0]))
    away = np.where(near, away, 0.0)
    log_first = np.where(near, log1p(away) if theta else np.log1p(away), np.log(first))
    # of the logarithm: e^{-y} - 1 is at most |y| in size, and the mean of |y| is |w| / t
    told = np.minimum(np.exp(np.minimum(grid.places, 700.0)) / t * math.exp(moved**2 / 2), sizes[0])
    errors = ROUNDING * (2 * (m + 2) + t * np.where(near, told, sizes[0]) / np.abs(first))
    with np.errstate(invalid="ignore", over="ignore"):
        series, sizes = series / first, sizes / np.abs(first)
    series[0] = sizes[0] = 1.0
    rest = power_of_series(series, t)
    return Factors(t * log_first, rest, power_of_series(sizes, t) if theta else rest, errors, log_base)


def _means(values: Any, weights: Array, grid: Grid, phase: ComplexArray | None = None) -> Any:
    """For each v the sums over z of values at v + sz, times weights in rows and a phase; a few v at a time,
    which memory close by holds, and without values that are zero from some place on."""
    item, stop = values.strides[0], int((np.flatnonzero(values)[-1:] + 1).sum())
    view = np.lib.stride_tricks.as_strided(
        values, (grid.size, grid.normals), (grid.parts * item, grid.stride * item), writeable=False
    )
    result = np.empty((grid.size, weights.shape[0]), dtype=values.dtype)
    columns, rows = np.ascontiguousarray(weights.T), max(_HELD // grid.normals, 1)
    for first in range(0, grid.size, rows):
        part, used = slice(first, first + rows), max(-(-(stop - grid.parts * first) // grid.stride), 0)
        if phase is None:
            result[part] = product(view[part, :used], columns[:used])
        else:  # two products of real numbers cost less than one of complex ones
            window = view[part, :used] * phase[:used]
            result.real[part] = product(window.real, columns[:used])
            result.imag[part] = product(window.imag, columns[:used])
    return result.T
