"""Moments of complex order of a mean of independent lognormal variables, with bounds on their errors.

R = (X_1 + ... + X_t) / t, X = e^{sZ - s^2/2}, Z normal: the density ratio of Gaussian noise that a record
joins in one of t steps, drawn at random. With an integer m above Re a, and p = m - a,

    E[R^a] = 1/Gamma(p) int_0^inf w^p E[R^m e^{-wR}] dw/w        (Mellin),
    E[R^m e^{-wR}] / m! = coefficient of x^m in (sum_k x^k E[X^k e^{-wX/t}] / (k! t^k))^t,

so expectations over one normal variable are all that is needed. Along w = e^{v - i theta} both integrals are
taken by the trapezoid rule. One identity makes all of it provable: moving every Z by i eta turns R by the
angle s eta, and costs a factor e^{t eta^2/2}. Hence |E R^{a+iy}| <= E R^a e^{-y^2 s^2 / 2t} for *every* y,
and hence integrands are analytic, with known bounds, as far from the path as the rules need
(docs/engines.md).
"""

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from scipy.special import loggamma, ndtr

from indistinct.numerics.arrays import EPS, Array, ComplexArray, summed
from indistinct.numerics.cumulant import OnLine
from indistinct.numerics.lognormal_factors import Factors, Grid, factors_on, series_base
from indistinct.numerics.power_series import multiplied
from indistinct.numerics.rule import TooFineError, powers_of_unit

_LOG_SMALL = -46.0
"""Truncation and aliasing, relative to the integral of the modulus: far below rounding..."""
_QUADRATURE = 1e-17
"""... which is where they are charged, all together..."""
_LOG_ON_RAYS, _ON_RAYS = -39.0, 1.2e-14
"""... but on rays, where rounding is larger."""
_LEAST_GAP, _GAP = 1.5, 10.0
"""p is at least the first, and as large as the order where that can be, up to the second: then rounding
errors are small."""
_MOST_FACTORS = 300
"""m is at most this."""
MOST_WHOLE = 512
_LEAST_WHOLE = 24
"""Between these orders moments of whole ones bound the others."""
_CHEAP_REACH, _LOW = -40.0, 8.0
"""Integrals from below the first are not cheap, but of orders below the second."""
_MOST_NODES = 1 << 14
_MOST_PARTS = 256
_MOST_WORK = 1 << 28
_LARGEST_MOMENT = 1250.0
"""log E X^m is at most this: half of it on either side of 1 are numbers."""
_CHEAP_MOMENT = 200.0
"""The same of moments that are computed many at a time."""
_MOST_STEPS = 400
"""So many orders beyond what can be computed a moment is bounded; further out nothing is credited."""
_TURN = 1.2
"""Z is moved by at most so much: its weights grow to e^{0.72}, and products of m of them more."""
_LOST = 2.0
"""What frequencies share a ray may lose of their digits, in nats."""
_PLACES = np.concatenate((np.geomspace(4.0, 2.0**22, 81), 2.0 ** np.arange(23, 400, 2)))
"""Where the Laplace transform is bounded, to find how far an integral reaches."""
_AWAY = np.linspace(0.02, 1.0, 50)


class _Ray(NamedTuple):
    """Where an integral is taken: the angle of w, how far Z is moved, and the nodes."""

    theta: float
    moved: float
    grid: Grid


@dataclass(frozen=True)
class LognormalMean:
    """The mean of `count` independent lognormal variables of mean 1, `scale` being s."""

    scale: float
    count: int

    def log_moments(self, orders: Array) -> tuple[Array, Array]:
        """log E[R^a] at real orders, and bounds on the errors."""
        rows, gaps = self._powers(orders)
        m, p, (low, high) = int(rows.max()), float(gaps.max()), self._reaches(rows, gaps)
        if m > _MOST_FACTORS or not np.isfinite(high).all():
            raise TooFineError(f"moments of {self.count} lognormal variables")
        ends = float(orders.min()), float(orders.max())
        grid = self._grid(m, p, ends, (float(low.min()), float(high.max())), _straight(p))
        factors, v = factors_on(self.scale, self.count, m, grid), grid.places
        values, errors = np.empty(orders.size), np.empty(orders.size)
        for i, (n, gap) in enumerate(zip(rows.astype(int).tolist(), gaps.tolist(), strict=True)):
            exponent = gap * v + factors.log_scale
            top, log_factor = float(exponent.max()), self._log_factor(n, gap, factors)
            terms = np.exp(exponent - top) * factors.rest[n]
            total = float(terms.sum())
            wrong = terms @ (factors.errors + 8 * EPS * (2 + np.abs(exponent))) / total
            values[i] = math.log(grid.step * total) + top + log_factor
            errors[i] = float(wrong) + _QUADRATURE + 16 * EPS * (1 + abs(top) + abs(log_factor) + n)
        return values, errors

    def at_most(self, orders: Array) -> Array:
        """log E[R^a] at real orders outside (0, 1), or a little more where it is dear.

        Below 0 R is at least the geometric mean. Above 1 whole orders are known, and it is convex between
        them. Beyond those one factor R = (X_1 + ... + X_t)/t turns the others into a moment under the law
        that is tilted by X_1, where Minkowski's inequality sets X_1 apart: E[R^a]^{1/(a-1)} <= e^{s^2 a/2}
        / t + E[R^{a-1}]^{1/(a-1)}.
        """
        square, cheap = self.scale**2, self._cheap(orders)
        # the Gaussian alone, where nothing else is known
        result: Array = square / 2 * orders * (orders - 1)
        if cheap.any():
            values, errors = self.log_moments(orders[cheap])
            result[cheap] = np.fmin(result[cheap], values + errors)  # what is undefined claims nothing
        below, above = orders < 0, ~cheap & (orders > 1)
        result[below] = np.minimum(result, square / 2 * (-orders + orders * orders / self.count))[below]
        if above.any():
            result[above] = np.minimum(self._from_whole_orders(orders[above]), result[above])
        return result * (1 + 64 * EPS)

    def _from_whole_orders(self, orders: Array) -> Array:
        whole = self._log_wholes(min(math.ceil(float(orders.max())), MOST_WHOLE))
        steps = np.clip(np.ceil(orders - (whole.size - 1)), 0.0, _MOST_STEPS)
        power = orders - steps
        result: Array = np.interp(power, np.arange(whole.size), whole, right=math.inf)
        for step in range(int(steps.max())):
            more = steps > step
            alone = self.scale**2 * (power + 1) / 2 - math.log(self.count)
            result = np.where(more, power * np.logaddexp(alone, result / power), result)
            power = np.where(more, power + 1, power)
        return result

    def _cheap(self, orders: Array) -> Any:
        """Whether moments of these orders cost little."""
        m, p = self._powers(orders)
        cheap = (self.scale * m <= math.sqrt(2 * _CHEAP_MOMENT)) & (orders < _LEAST_WHOLE)
        low, high = self._reaches(m[cheap], p[cheap])
        cheap[cheap] = np.isfinite(high) & ((low > _CHEAP_REACH) | (orders[cheap] < _LOW))
        return cheap

    @staticmethod
    def _log_factor(m: int, p: float, factors: Factors) -> float:
        """log of what stands before the integral: m! / Gamma(p), and the scale of row m."""
        return math.lgamma(m + 1) - math.lgamma(p) - m * factors.log_base

    def line(self, order: float, step: float, stop: int) -> OnLine:
        """log E[R^{order + i step k}] for 0 <= k < stop, and bounds on the errors."""
        m, p = self._power(order)
        y: Array = step * np.arange(stop, dtype=np.float64)
        log_gamma: ComplexArray = np.asarray(loggamma(p - 1j * y), dtype=np.complex128) - math.lgamma(p)
        # in bands, as each ray is good for frequencies of one size
        first, rays = 0, []
        while first < stop:
            last, theta = _band(p, y[first:], log_gamma[first:].real)
            part = slice(first, first + last + 1)
            rays.append((part, self._ray(order, m, p, theta, float(y[part][-1]))))
            first += last + 1
        bands = [self._on_ray(ray, m, p, y[part], log_gamma[part]) for part, ray in rays]
        return OnLine(*(np.concatenate(part) for part in zip(*bands, strict=True)))

    def _ray(self, order: float, m: int, p: float, theta: float, last: float) -> _Ray:
        """w along e^{v - i theta}, fine enough for frequencies up to the last."""
        moved = min(_TURN, 2 * _TURN / math.sqrt(max(m, 1)), max(theta - 0.5, 0.0) / self.scale)
        low, high = self._reach(m, p)
        reach = low, high - math.log(math.cos(theta))
        grid = self._grid(m, p, (order, order), reach, self._turned(p, theta, last), theta, moved)
        return _Ray(theta, moved, grid)

    def _on_ray(self, ray: _Ray, m: int, p: float, y: Array, log_gamma: ComplexArray) -> OnLine:
        """The same at equally spaced frequencies y."""
        theta, grid = ray.theta, ray.grid
        if 8 * y.size * grid.size > _MOST_WORK:
            raise TooFineError(f"{y.size} moments by {grid.size} terms")
        factors, v = factors_on(self.scale, self.count, m, grid, theta, ray.moved), grid.places
        exponent = p * (v - 1j * theta) + factors.log_scale
        top, log_factor = float(exponent.real.max()), self._log_factor(m, p, factors)
        # w^{-iy} = e^{-y theta} e^{-iyv}
        terms = np.exp(exponent - top - 1j * y[0] * v) * factors.rest[m]
        total = _fourier(terms, v, float(y[1] - y[0]) if y.size > 1 else 0.0, y.size)
        scale = math.log(grid.step) + top + log_factor - theta * y
        values = np.log(np.where(total == 0, 1e-300, total)) + scale - log_gamma
        size = np.exp(exponent.real - top) * factors.majorant[m]
        fixed = size @ (factors.errors + 8 * EPS * (2 + math.log2(y.size + 1) + np.abs(exponent)))
        errors = fixed + 8 * EPS * y * float(size @ np.abs(v)) + _ON_RAYS * float(size.sum())
        relative = errors / np.maximum(np.abs(total), 1e-300)
        return OnLine(values, relative + 8 * EPS * (2 + np.abs(log_gamma) + np.abs(scale)))

    def log_fall(self, frequency: float) -> float:
        """log of a bound on |E R^{a+iy}| / E R^a for every y >= frequency and every real a."""
        return -((self.scale * frequency) ** 2) / (2 * self.count)

    def mean_log(self) -> float:
        """E[R log R], the derivative of the moments at order 1, rounded up: by the same integral."""
        m, p = self._power(1.0)
        grid = self._grid(m, p, (1.0, 1.0), self._reach(m, p), _straight(p))
        factors, v = factors_on(self.scale, self.count, m, grid), grid.places
        log_factor = self._log_factor(m, p, factors) + math.log(grid.step)
        terms = np.exp(p * v + factors.log_scale + log_factor) * factors.rest[m]
        # d/da of w^{m-a} / Gamma(m-a): the mean of log w less that at R = 1, which is digamma
        alone = np.exp(p * v - np.exp(v) - math.lgamma(p)) * grid.step
        error = (terms * np.abs(v)) @ (factors.errors + 64 * EPS)
        return max(float((alone - terms) @ v), 0.0) + float(error) + 1e-15

    # -- where the integrals are taken ---------------------------------------------------------------

    def _power(self, order: float) -> tuple[int, float]:
        """m and p = m - order."""
        (m,), (p,) = self._powers(np.array([order]))
        return int(m), float(p)

    def _powers(self, orders: Array) -> tuple[Array, Array]:
        furthest = math.sqrt(2 * _CHEAP_MOMENT) / self.scale - 1
        gap = np.minimum(np.minimum(orders, _GAP), furthest - orders)
        m = np.maximum(np.ceil(orders + np.maximum(gap, _LEAST_GAP)), 0.0)
        return m, m - orders

    def _reach(self, m: int, p: float) -> tuple[float, float]:
        """Where the integral along the real axis begins and ends."""
        (low,), (high,) = self._reaches(np.array([float(m)]), np.array([p]))
        if not math.isfinite(high) or m > _MOST_FACTORS:
            raise TooFineError(f"a moment of order {m - p} of {self.count} lognormal variables")
        return float(low), float(high)

    def _reaches(self, m: Array, p: Array) -> tuple[Array, Array]:
        """log w beyond which the integral along the real axis has at most e^_LOG_SMALL of itself (E R^a being
        1 or more, or e^{-s^2/8} or more): below, E[R^m e^{-wR}] <= E R^m; above, Gamma(p, x) <= 2^p Gamma(p)
        e^{-x/2}. Infinite where that is not known."""
        order, square = (m - p)[:, None], self.scale**2
        log_least = -square / 8
        whole = self._log_wholes(int(min(m.max(initial=0.0), _MOST_FACTORS)))
        known = m < whole.size
        log_whole = np.where(known, whole[np.where(known, m, 0).astype(int)], math.inf)
        low = (_LOG_SMALL + log_least - log_whole + loggamma(p + 1).real) / p
        w, falls = 4 * _PLACES, self._log_laplace()
        above, c = np.maximum(order, 1e-9), np.maximum(-order, 0.0)
        # R^a e^{-wR/4} <= (4a/ew)^a for a > 0; else Cauchy and Schwarz, and R is at least the geometric mean
        rest = np.where(
            order > 0,
            above * np.log(4 * above / (math.e * w)) + falls,
            c * square / 2 + c * c * square / self.count + falls / 2,
        )
        enough = rest + p[:, None] * math.log(2) <= _LOG_SMALL + log_least
        high = np.where(known & enough.any(axis=1), np.log(w[np.argmax(enough, axis=1)]), math.inf)
        return low, high

    def _log_wholes(self, top: int) -> Array:
        """log E R^m for m = 0, 1, ..., top, rounded up, as far as they are numbers."""
        return self._whole_orders(1 << max(top - 1, 7).bit_length())[: top + 1]

    @lru_cache(maxsize=64)  # noqa: B019 (of small frozen values)
    def _whole_orders(self, top: int) -> Array:
        last = min(top, int(math.sqrt(2 * _LARGEST_MOMENT) / self.scale))
        k, log_base, log_count = (
            np.arange(last + 1.0),
            series_base(self.scale, last) - 0.5,
            math.log(self.count),
        )
        log_one, log_factorial = self.scale**2 * k * (k - 1) / 2, loggamma(k + 1).real
        logs = log_one + k * (log_base - log_count) - log_factorial
        with np.errstate(over="ignore", invalid="ignore"):
            power = multiplied(
                np.exp(logs), self.count, lambda one, other: np.convolve(one, other)[: last + 1]
            )
            result: Array = np.log(power) + log_factorial - k * log_base
        # no term is negative and the first is 1: to the error of a term a product adds no more than its
        # number, and what the factors had is that of terms whose numbers add up to it
        error = k * (2 + 3 * math.log2(2 * self.count) + abs(log_base) + log_count) + log_one + log_factorial
        error *= 8 * EPS
        result, known = np.maximum(result, 0.0) + error, np.isfinite(result)
        return result[: int(np.argmin(known)) if not known.all() else last + 1]

    @lru_cache(maxsize=64)  # noqa: B019 (of small frozen values)
    def _log_laplace(self) -> Array:
        """log E e^{-wR} at `_PLACES`, at most: by cells of Z, with X as at their lower ends, and 0 in the
        lowest."""
        z = np.linspace(-36.0, 12.0, 481)
        below = ndtr(z)
        mass = np.concatenate(([below[0]], np.diff(below), [below[0]])) * (1 + 1e-9)
        x = np.concatenate(([0.0], np.exp(self.scale * z - self.scale**2 / 2)))
        told: Array = summed(np.exp(-np.multiply.outer(_PLACES / self.count, x)), mass)
        return self.count * np.log(np.minimum(told, 1.0))  # 0 in the lowest cell keeps it from 0

    def _turned(self, p: float, theta: float, last: float) -> float:
        """The largest step on the ray at -theta whose aliases are small at all frequencies up to the last."""
        # towards the real axis and beyond, where a frequency costs e^{away y}
        margin = min(0.02, (math.pi / 2 - theta) / 2)
        away = _AWAY * (theta + math.pi / 2 - margin)
        lost = p * (math.log(math.cos(theta)) - np.log(np.cos(theta - away)))
        steps = 2 * math.pi * away / (-_LOG_ON_RAYS + np.maximum(lost, 0.0) + away * last)
        # the other way, turning R back by s eta
        other = np.multiply.outer(_AWAY * math.pi, np.ones(_AWAY.size))
        turn = other * _AWAY
        angle = theta + other - turn
        fits = np.abs(angle) < math.pi / 2 - margin
        lost = p * (math.log(math.cos(theta)) - np.log(np.cos(np.where(fits, angle, 0.0))))
        cost = -_LOG_ON_RAYS + np.maximum(lost, 0.0) + self.count * (turn / self.scale) ** 2 / 2
        back = np.where(fits, 2 * math.pi * other / cost, 0.0)
        straight = _AWAY * (math.pi / 2 - margin - theta)
        lost = p * (math.log(math.cos(theta)) - np.log(np.cos(theta + straight)))
        plain = 2 * math.pi * straight / (-_LOG_ON_RAYS + lost)
        return min(float(steps.max()), max(float(back.max()), float(plain.max())))

    def _grid(
        self,
        m: int,
        p: float,
        orders: tuple[float, float],
        reach: tuple[float, float],
        step: float,
        theta: float = 0.0,
        moved: float = 0.0,
    ) -> Grid:
        """Nodes in v and in z. In z a strip of half width d on either side keeps wX inside a cone in which
        |e^{-wX}| falls: cos^-(m+p) is what that costs, and e^{(eta+d)^2/2} what the normal density does."""
        s, t, angle = self.scale, self.count, theta - self.scale * moved
        small = _LOG_ON_RAYS if theta else _LOG_SMALL
        strip = _AWAY * min((math.pi / 2 - min(0.02, (math.pi / 2 - angle) / 2) - angle) / s, 12.0)
        cost = -small + (moved + strip) ** 2 / 2 - (m + p) * np.log(np.cos(angle + s * strip))
        apart = float((2 * math.pi * strip / cost).max())
        # on one lattice: a little finer in z, if that is enough
        parts = np.arange(1, _MOST_PARTS + 1)
        strides = np.floor(parts * s * apart / step)
        finer = parts * s * apart / (step * np.maximum(strides, 1e-9))
        pick = int(np.argmax(finer <= max(1.1, float(finer.min()))))
        stride = int(strides[pick])
        if not stride:
            raise TooFineError(f"{_MOST_PARTS} nodes of a normal variable in one step")
        apart = stride * step / (pick + 1) / s
        # what is beyond weighs e^small: R^a is at most 1 plus the mean of X_i^a (a >= 1), and R at least
        # the geometric mean (a < 0)
        power, c, spare = max(orders[1], 1.0), max(-orders[0], 0.0), math.log(t) - small + s * s / 8
        top = s * power + math.sqrt(2 * (s * s * power * (power - 1) / 2 + spare)) + moved
        bottom = -c * s / t - math.sqrt(2 * (c * s * s / 2 + (c * s) ** 2 / (2 * t) + spare)) - moved
        size = math.ceil((reach[1] - reach[0]) / step) + 1
        normals = math.ceil((top - bottom) / apart) + 1
        if size > _MOST_NODES or size * (normals + m) * (m + 1) > _MOST_WORK:
            raise TooFineError(f"{size} by {normals} nodes")
        return Grid(float(reach[0]), step, size, bottom, apart, normals, pick + 1, stride)


def _band(p: float, y: Array, log_gamma: Array) -> tuple[int, float]:
    """Up to which frequency one ray serves, and its angle: it loses as much at the first as at the last. On
    the best ray for it alone, at arctan(y/p), a frequency loses next to nothing."""
    width = y - y[0]
    with np.errstate(invalid="ignore", divide="ignore"):
        theta = np.where(width > 0, (log_gamma[0] - log_gamma) / width, math.atan(y[0] / p))
    theta = np.clip(theta, 0.0, math.pi / 2 - 1e-4)
    lost = -p * np.log(np.cos(theta)) - theta * y[0] - log_gamma[0]
    best = math.atan(y[0] / p)
    least = -p * math.log(math.cos(best)) - best * y[0] - log_gamma[0]
    last = int(np.flatnonzero(lost <= least + _LOST)[-1])
    return last, float(theta[last])


def _straight(p: float) -> float:
    """The largest step on the real axis."""
    away = _AWAY * (math.pi / 2 - 0.02)
    cost = -_LOG_SMALL - p * np.log(np.cos(away))
    return float((2 * math.pi * away / cost).max())


def _fourier(terms: ComplexArray, v: Array, step: float, stop: int) -> ComplexArray:
    """sum of terms e^{-i step k v} for k < stop, a few v at a time."""
    total = np.zeros(stop, dtype=np.complex128)
    for first in range(0, v.size, 256):
        part = slice(first, first + 256)
        total += summed(powers_of_unit(-step * v[part], stop), terms[part])
    return total
