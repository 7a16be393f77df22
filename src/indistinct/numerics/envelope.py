"""What a truncated contour leaves out: how large a transform can be at *every* frequency beyond one.

The transform of a sampled Gaussian loss is E r(x)^(w + is), r = 1 - q + q e^{mu x - mu^2/2}, x normal: an
integral of an analytic function, so it may be taken along any path x + i eta(x) between the same ends on
which |mu eta| < pi. There |r^{is}| = e^{-s arg r} with arg r > 0, and the modulus of the integrand falls with
s everywhere on the path: its integral for s = t bounds the transform for *all* s >= t. Near small frequencies
the path eta = t mu r'/(r (1 + mu^2)) gives back nearly the variance of the loss, at large ones the
exponential decay of an analytic density.
"""

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from scipy.special import log_ndtr, ndtr, wofz

from indistinct.numerics.arrays import EPS, TINY, Array, ComplexArray
from indistinct.numerics.rule import panels

SPLIT_WIDTH = 0.08
"""Standard deviations of the noise over which bulk turns into jumps."""
_SHARP, _RAMP = -6.0, 0.5
"""A law that begins above the first does so all of a sudden; there the path is no higher than the second."""
_VANISHED = 200.0
"""A power is nothing where its logarithm is less than minus this."""
_LOG_ROOT = 0.5 * math.log(2 * math.pi)
_ROUNDING = 64 * EPS
"""Of the two integrals, relative to their size."""


@dataclass(frozen=True)
class SmoothWindow:
    """A part of the normal variable's law that begins and ends smoothly, over `SPLIT_WIDTH`, so that its
    transform decays like an analytic density's: Phi(last - x) - Phi(first - x). Neighbours add up."""

    first: float
    last: float

    def log_share(self, x: Any) -> Any:
        """log of the share of each x, real or complex, that belongs to it."""
        log_normal = _log_normal if np.iscomplexobj(x) else _log_normal_real
        if self.first == -math.inf:
            return log_normal(self.last - x)
        # the same difference from either side, from the one where both are small
        left = x.real < (self.first + self.last) / 2
        more, less = (np.where(left, x - p, o - x) for p, o in (self._ends, self._ends[::-1]))
        log_more, log_less = log_normal(more), log_normal(less)
        return log_more + np.log1p(-np.exp(log_less - log_more))

    def log_largest(self, x: float, height: float) -> float:
        """log of a bound on the share between x and x + i height: |erfc(a + ib)| <= e^{b^2} erfc(a), where a
        > 0; elsewhere it is 1 less such a one."""
        each = []
        for sign in (1, -1):
            away = [sign * (end - x) for end in self._ends if end > -math.inf]
            each.append(float(np.logaddexp.reduce([_log_largest(one, height) for one in away])))
        return min(each) if self.first > -math.inf else each[0]

    @property
    def _ends(self) -> tuple[float, float]:
        return self.first, self.last


def _log_largest(away: float, height: float) -> float:
    small = float(_log_normal_real(-abs(away))) + (height / SPLIT_WIDTH) ** 2 / 2
    return small if away <= 0 else float(np.logaddexp(0.0, small))


def _log_normal_real(away: Any) -> Any:
    return log_ndtr(away / SPLIT_WIDTH)


def _log_normal(away: ComplexArray) -> ComplexArray:
    """log of the normal distribution function of standard deviation `SPLIT_WIDTH`."""
    v = away / (-SPLIT_WIDTH * math.sqrt(2))
    # erfc(v) = e^{-v^2} w(iv), which neither overflows nor vanishes on the right; on the left 2 - erfc(-v)
    right = v.real > 0
    tail = np.where(right, v, -v)
    log_tail = np.log(0.5 * wofz(1j * tail)) - tail * tail
    inside = np.where(right, -1.0, log_tail)
    # far off the axis the small one is large
    near = inside.real < 30
    rest = np.where(near, np.log1p(-np.exp(np.where(near, inside, -1.0))), inside)
    result: ComplexArray = np.where(right, log_tail, rest)
    return result


@lru_cache(maxsize=1024)
def mixture_envelope(
    shift: float,
    rate: float,
    order: float,
    frequency: float,
    low: float,
    high: float,
    part: SmoothWindow | None = None,
) -> tuple[float, float]:
    """Logarithms of a bound on |E[r^{order + is}; low < x < high]| for every s >= frequency, and of its value
    at s = 0; or over a window instead."""
    bound, value = mixture_envelopes(np.array([[shift]]), rate, order, frequency, low, high, part)
    return float(bound[0]), float(value[0])


def mixture_envelopes(
    shift: Array,
    rate: Array | float,
    order: Array | float,
    frequency: float,
    low: float,
    high: float,
    part: SmoothWindow | None = None,
) -> tuple[Array, Array]:
    """The same for several laws, whose shifts and rates are columns, and for several orders, before these."""
    # panels as for the integral itself: the path's own poles are further away than those of 1/r
    more, largest = 0.0 if part is None else SPLIT_WIDTH**-2, float(shift.max())
    lowest, likeliest = np.minimum.reduce(order, axis=None), np.maximum.reduce(rate, axis=None)
    sharpest = _sharpness(max(-float(lowest), 0.0), float(likeliest)) * largest**2
    speed = 0.6 * min(max(abs(low), abs(high)), 12.0) * math.sqrt(1 + sharpest + more)
    widest = _RAMP if low > _SHARP else math.inf
    nodes, log_weight = panels(low, high, min(2.5 / largest, 18 / max(speed, 1.0), widest))
    x = np.concatenate((nodes, (low, high)))
    foot = -x * x / 2 - _LOG_ROOT
    # dP/dQ and its parts, relative to the larger one
    exponent = shift * x + (np.log(rate) - shift * shift / 2)
    scale = np.maximum(exponent, 0.0)
    moved, rest = np.exp(exponent - scale), (1 - rate) * np.exp(-scale)
    whole = moved + rest
    slope, at_foot = moved / whole, scale + np.log(whole)
    # the sharper the integrand, the closer the path keeps to the axis
    steepness = frequency * shift**2 / (1 + shift**2 + more)
    turn, bend = _path(x, slope, steepness, shift, part, low)
    height = turn / shift
    re, im = rest + moved * np.cos(turn), moved * np.sin(turn)
    log_size, argument = scale + np.log(np.hypot(re, im)), np.arctan2(im, re)
    at_zero, on_path = foot + order * at_foot, foot + 0.5 * height * height + order * log_size
    # the straight piece from the axis up, at either end: on the way up the argument is concave or convex, so
    # at least its smaller slope times the height; min(a, 1/b) <= 2 a / (1 + a b)
    inner, outer = np.s_[..., : nodes.size], np.s_[..., nodes.size :]
    rise = 1 + frequency * np.minimum(slope * turn, argument)[outer]
    ends = on_path[outer] + np.maximum(order * (at_foot - log_size)[outer], 0.0)
    ends += np.log(np.maximum(2 * height[outer] / rise, TINY))
    at_zero = log_weight + at_zero[inner]
    on_path += 0.5 * np.log1p(bend * bend) - frequency * argument
    on_path[inner] += log_weight
    if part is not None:
        on_path[inner] += part.log_share(nodes + 1j * height[inner]).real
        at_zero += part.log_share(nodes)
        ends += [[part.log_largest(x, float(height[0, k])) for k, x in ((-2, low), (-1, high))]]
    on_path[outer] = ends
    top = at_zero.max(axis=-1, keepdims=True)
    value = np.exp(at_zero - top).sum(axis=-1)
    bound = np.exp(np.minimum(on_path - top, 700.0)).sum(axis=-1)
    return np.log(bound + _ROUNDING * value) + top[..., 0], np.log(value) + top[..., 0]


def _sharpness(power: float, rate: float) -> float:
    """How sharply r^-power bends in l = mu x - mu^2/2, at most, where it has not vanished: power times the
    slope s = rate e^l / r up to l = 1, and no more than `_VANISHED` s / log r, which is less than 1.6
    `_VANISHED`, from there on."""
    slope = 1 / (1 + (1 - rate) / (math.e * rate))
    return max(power * slope, min(power, 1.6 * _VANISHED))


def _path(
    x: Array, slope: Array, steepness: Array, shift: Array, part: SmoothWindow | None, low: float
) -> tuple[Array, Array]:
    """shift * eta, less than a quarter of a circle, and d eta / dx; the path keeps low where the law begins
    all of a sudden, and returns to the axis beyond a window."""
    steep = steepness * slope
    turn, bend = np.arctan(steep), steep * (1 - slope) / (1 + steep * steep)
    if low > _SHARP:
        height, room = turn / shift, x - low + _RAMP
        total = np.maximum(height + room, 1e-300)
        turn, bend = turn * room / total, (bend * room**2 + height**2) / total**2
    if part is None:
        return turn, bend
    away = (part.last - x) / SPLIT_WIDTH + 9.0
    kept, falls = ndtr(away), np.exp(-away * away / 2 - _LOG_ROOT) / SPLIT_WIDTH
    return turn * kept, bend * kept - turn / shift * falls


def edge_envelope(log_heights: Array, log_atoms: float, frequency: float, log_mass: float) -> float:
    """Log of a bound on |transform| for every s >= frequency, relative to its value at 0, of a law with
    atoms and a density that is monotone or has one minimum between its ends: one integration by parts gives
    (total variation) / s, and that is at most twice the heights at both ends."""
    variation = 2 * float(np.exp(np.minimum(log_heights - log_mass, 600.0)).sum())
    bound = math.exp(min(log_atoms - log_mass, 600.0)) + variation / max(frequency, 1e-300)
    return min(math.log(bound) + _ROUNDING, 0.0)
