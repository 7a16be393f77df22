"""The Gaussian pair N(mu, 1) against N(0, 1) in closed form, accurate in the far tail.

delta(epsilon) = Phi(mu/2 - epsilon/mu) - e^epsilon Phi(-mu/2 - epsilon/mu)
(Balle and Wang 2018, Theorem 8; eq. 40 of *Three Variants of Differential Privacy*).
"""

import math

import numpy as np
from scipy.special import erfcx, log_ndtr, ndtr, ndtri_exp

from indistinct.numerics.arrays import EPS, TINY, Array

_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(8)
_LOG_2 = float(np.log(2.0))


def log_normal_tails(x: Array) -> tuple[Array, Array]:
    """Logarithms of what a normal variable has below x, and above it: the larger as 1 less the smaller."""
    less = log_ndtr(-np.abs(x))
    more = np.log1p(-np.exp(less))
    left = x < 0
    return np.where(left, less, more), np.where(left, more, less)


def log_gaussian_delta(shift: float | Array, epsilon: Array) -> Array:
    """log delta(epsilon) of the Gaussian pair, for any real epsilon and shift > 0.

    Written as e^{-a^2/2} (erfcx(u) - erfcx(v)) / 2 so that nothing cancels in the tail; where u and
    v nearly coincide (tiny shifts) the difference is integrated from the derivative of erfcx.
    """
    u = (epsilon / shift - shift / 2) / np.sqrt(2.0)
    v = u + shift / np.sqrt(2.0)
    body = u < -1.0
    with np.errstate(over="ignore", invalid="ignore", divide="ignore", under="ignore"):
        tail = np.log(_erfcx_drop(np.maximum(u, -1.0), shift / np.sqrt(2.0))) - _LOG_2 - u * u
        # e^epsilon times its partner, which is e^{-u^2} erfcx(v) / 2
        partner = np.exp(-u * u) * erfcx(np.maximum(v, 0.0)) / 2
        partner = np.where(v > 0, partner, np.exp(epsilon) * ndtr(-np.sqrt(2.0) * v))
        direct = np.log(ndtr(-np.sqrt(2.0) * u) - partner)
    direct = np.where(np.isnan(direct), 0.0, direct)  # where v is infinite, and delta 1
    return np.minimum(np.where(body, direct, tail), 0.0)


def _erfcx_drop(u: Array, width: float | Array) -> Array:
    """erfcx(u) - erfcx(u + width), without cancellation for small widths."""
    small = np.asarray(width) <= 0.5
    drop: Array = erfcx(u) - erfcx(u + width)
    if not small.any():
        return drop
    half = np.minimum(width, 0.5) / 2
    y = u[..., None] + np.asarray(half)[..., None] * (1 + _NODES)
    # -erfcx'(y) = 2/sqrt(pi) - 2 y erfcx(y), which for large y is 1/(sqrt(pi) y^2) (1 - 3/(2y^2) + ...)
    r = 1 / np.maximum(np.abs(y), 1.0) ** 2
    series = r * (1 - r * (1.5 - r * (3.75 - r * (13.125 - r * 59.0625)))) / np.sqrt(np.pi)
    slope = np.where(y > 50.0, series, 2 / np.sqrt(np.pi) - 2 * y * erfcx(np.minimum(y, 50.0)))
    integral: Array = half * (slope * _WEIGHTS).sum(axis=-1)
    return np.where(small, integral, drop)


def gaussian_delta(shift: float, epsilon: Array) -> Array:
    """delta(epsilon >= 0), rounded up; where it underflows, the smallest normal number. Rounding of u and v
    is charged as if epsilon were less: where delta is flat nothing of it is felt."""
    if shift == 0:
        return np.zeros_like(epsilon)
    with np.errstate(over="ignore", invalid="ignore"):
        log_delta = log_gaussian_delta(shift, epsilon * (1 - 8 * EPS) - 8 * EPS * shift * shift)
        error = np.minimum(1e-13 + 1e-15 * np.abs(log_delta), 1.0)
        bounded: Array = np.clip(np.exp(log_delta + error), TINY, 1.0)
    return np.where(np.isnan(bounded), 1.0, bounded)


def gaussian_shift(epsilon: float, log_delta: float, near: float | None = None) -> float:
    """About the shift of the pair that has this delta at this epsilon >= 0: by Newton's method in logarithms,
    from one that is near, the derivative of delta being the normal density at shift/2 - epsilon/shift."""
    if near is None:
        reach = math.sqrt(max(-2 * log_delta, 0.0)) + math.exp(log_delta)
        near = 2 * max(epsilon, math.exp(log_delta)) / (reach + math.sqrt(reach**2 + 2 * epsilon))
    shift = near
    for _ in range(30):
        found = _about_log_delta(shift, epsilon)
        away = shift / 2 - epsilon / shift
        slope = shift * math.exp(min(-away * away / 2 - found, 600.0)) / math.sqrt(2 * math.pi)
        step = min(max((log_delta - found) / max(slope, 1e-3), -1.0), 1.0)
        shift *= math.exp(step)
        if abs(step) < 1e-7:  # and what is left is about its square
            break
    return shift


def _about_log_delta(shift: float, epsilon: float) -> float:
    """log delta as a difference of two numbers, where that leaves digits enough."""
    high, low = (float(log_ndtr(sign * shift / 2 - epsilon / shift)) for sign in (1, -1))
    left = -math.expm1(min(epsilon + low - high, 0.0))
    if left > 1e-5:
        return high + math.log(left)
    return float(log_gaussian_delta(shift, np.array([epsilon]))[0])


def gaussian_tradeoff(shift: float, fpr: Array) -> Array:
    """G_mu(x) = Phi(Phi^{-1}(1 - x) - mu) (Dong, Roth and Su 2022), accurate for tiny x; rounded down."""
    with np.errstate(divide="ignore"):
        quantile = -ndtri_exp(np.log(fpr))
    fnr: Array = np.where(fpr >= 1, 0.0, np.where(fpr <= 0, 1.0, ndtr(quantile - shift)))
    return np.clip(fnr * (1 - 1e-14), 0.0, 1 - fpr)
