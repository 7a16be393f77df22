"""The modified Bessel function K, in logarithms, where SciPy's would overflow or give up."""

import math

import numpy as np
from scipy.special import gammaln, kve

from indistinct.numerics.arrays import Array


def log_bessel(order: float, z: Array) -> Array:
    """log K_order(z) for z > 0 and orders up to 100, with an error of about 1e-13."""
    order = abs(order)
    with np.errstate(over="ignore"):
        scaled = kve(order, np.minimum(z, 1e6))
    logs: Array = np.log(scaled) - z
    tiny = np.isinf(scaled)
    if tiny.any():
        logs[tiny] = _log_near_zero(order, z[tiny])
    far = z > 1e6  # where exp(-z) is 0 in any use, SciPy stops answering
    logs[far] = 0.5 * np.log(math.pi / 2 / z[far]) - z[far]
    return logs


def _log_near_zero(order: float, z: Array) -> Array:
    """The ascending series (DLMF 10.31) of K, which overflows only where three terms give all digits."""
    series = np.zeros_like(z)
    if order > 5:
        quarter = z * z / 4
        series = quarter / (1 - order) * (1 + quarter / (2 * (2 - order)) * (1 + quarter / (3 * (3 - order))))
    logs: Array = gammaln(order) - math.log(2) + order * np.log(2 / z) + np.log1p(series)
    return logs


def matern(smoothness: float, z: Array) -> Array:
    """2^(1-ν)/Γ(ν) z^ν K_ν(z), which is 1 at 0 and falls to 0."""
    if smoothness == 0.5:
        return np.exp(-z)
    if smoothness == 1.5:
        return (1 + z) * np.exp(-z)
    if smoothness == 2.5:
        return (1 + z + z * z / 3) * np.exp(-z)
    return np.minimum(bessel_times_power(smoothness, smoothness, smoothness, z, at_zero=1.0), 1.0)


def bessel_times_power(smoothness: float, power: float, order: float, z: Array, *, at_zero: float) -> Array:
    """2^(1-ν)/Γ(ν) z^power K_order(z), with its limit at 0."""
    values = np.full_like(z, at_zero)
    inside = z > 0
    log_z = np.log(z[inside])
    constant = (1 - smoothness) * math.log(2) - gammaln(smoothness)
    values[inside] = np.exp(constant + power * log_z + log_bessel(order, z[inside]))
    return values
