"""Moments of *high* complex order of a mean of independent lognormal variables, with bounds on their errors.

R = (X_1 + ... + X_t) / t, X = e^{sZ - s^2/2}, as in `lognormal_mean`, whose integrals grow with the order.
Here they do not: all that is needed is E e^{wX/t} near one point w of the plane, and its cost hardly depends
on the order, the noise or the count (docs/engines.md).

    E R^a  = Gamma(a+1)/(2 pi i) int e^{w} w^{-a-1} E e^{w(R-1)} dw     along Re w = const > 0,
    E R^-b = 1/Gamma(b) int_0^inf e^{-w} w^{b-1} E e^{-w(R-1)} dw       along the ray through b.

The first diverges for lognormal variables, so it is taken of those that are cut, X_i <= x for all i: either
these are what is asked about, and who asks charges the rest, or what they lack is bounded.
"""

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from scipy.special import log_ndtr, loggamma

from indistinct.numerics.arrays import EPS, Array, ComplexArray
from indistinct.numerics.cumulant import OnLine, log1p
from indistinct.numerics.lognormal_step import LOG_ROOT, LOG_SMALL, ROUNDING, Step
from indistinct.numerics.rule import TooFineError

LEAST_ORDER = 16.0
"""Below this a power of w falls too slowly."""
_LOG_MISSING = -32.0
"""Of what a cut leaves out, if it is wanted."""
_MOST_LOST = 1e-9
_LARGEST_LOG = 600.0
_MOST_PLACES = 1 << 13
_MOST_TERMS = 1 << 21
_TOGETHER = 12
"""Frequencies whose terms are written down at once."""
_WIDTHS = 9.0
"""Aliases are so many standard deviations away, or more."""
_BELOW = 10.0
"""Z is integrated from here, or from below: the rest is charged."""
_STIRLING = (1 / 12, -1 / 360, 1 / 1260, -1 / 1680, 1 / 1188, -691 / 360360, 1 / 156)
_CUTS = np.arange(8.0, 40.0, 0.5)
_APART = np.concatenate((-np.geomspace(0.9, 0.003, 20), np.geomspace(0.003, 0.4, 18)))
"""Where aliases are bounded, relative to the line."""


def _stirling(b: Any) -> Any:
    """log Gamma(b) - (b log b - b), Re b being at least LEAST_ORDER: what is left out is below 1e-18."""
    square, total = 1 / (b * b), 0.0
    for coefficient in reversed(_STIRLING):
        total = total * square + coefficient
    return total / b + 0.5 * np.log(2 * math.pi / b)


@dataclass(frozen=True)
class HighOrders:
    """Moments of the mean of `count` lognormal variables of mean 1, all Z_i being at most `cut`."""

    scale: float
    count: int
    cut: float = math.inf

    def log_missing(self, order: Array, cut: float | Array) -> Array:
        """log of E[R^a; some Z_i > cut] / E R^a for a > 1, at most.

        E[R^a; A]^{1/a} for A = {Z_1 > cut} is at most E[X_1^a; A]^{1/a} / t and that of the others
        (Minkowski), which are independent of A, and at most tR; E R^a is 1 or more.
        """
        square, log_count = self.scale**2, math.log(self.count)
        alone = square * (order - 1) / 2 + log_ndtr(self.scale * order - cut) / order - log_count
        return log_count + order * np.logaddexp(alone, log_ndtr(-np.asarray(cut)) / order)

    @lru_cache(maxsize=64)  # noqa: B019 (of small frozen values)
    def log_jump(self, order: float) -> float:
        """log of d/dcut E[R^a; all Z_i <= cut] over that moment, at most: one Z_i is there, and the others as
        in _at_most, for the same w; the moment is 1 or more, but for next to nothing where a cut is far."""
        t, step = self.count, self._step(self.cut, order, 0.0)
        w = self._saddle(step, np.array([order]), order)
        one = float(step.log_mean(w / t)[0])
        there = float(w[0]) / t * math.expm1(self.scale * self.cut - self.scale**2 / 2)
        return (
            math.log(t)
            - self.cut**2 / 2
            - LOG_ROOT
            + there
            - one
            + float(self._bound(step, order, w)[0])
            + 1e-6
        )

    def _cut_for(self, order: float) -> tuple[float, float]:
        """Where to cut for orders up to this one, and what is missing then, relatively."""
        if math.isfinite(self.cut):
            return self.cut, 0.0
        missing = self.log_missing(np.array(order), _CUTS)
        enough = np.flatnonzero(missing <= _LOG_MISSING)
        if not enough.size:
            raise TooFineError(f"a moment of order {order}, which is that of a far tail")
        return float(_CUTS[enough[0]]), math.exp(float(missing[enough[0]]))

    def _step(self, cut: float, most: float, turn: float) -> Step:
        return Step(self.scale, -_BELOW, cut, most / self.count, turn / self.count, whole=False)

    def at_most(self, orders: Array) -> Array:
        """log E[R^a] for orders of one sign, larger than 1 in size, at most; infinite where it is dear."""
        result, rows = np.full(orders.shape, math.inf), np.argsort(np.abs(orders))
        known, dear = 0, rows.size + 1  # how many of the least are known, and how many are too many
        while known + 1 < dear:
            count = rows.size if dear > rows.size else (known + dear) // 2
            try:
                result[rows[:count]] = self._at_most(orders[rows[:count]])
                known = count
            except TooFineError:
                dear = count
        return result

    def _at_most(self, orders: Array) -> Array:
        if orders[0] < 0:
            values, errors = self.negative(-orders, np.zeros(1))
            return values.real + errors
        # x^a <= (a/ew)^a e^{wx} for every w
        cut, missing = self._cut_for(float(orders[-1]))
        step = self._step(cut, float(orders[-1]), 0.0)
        return self._bound(step, orders, self._saddle(step, orders, float(orders[-1]))) + 2 * missing

    def _bound(self, step: Step, order: Any, w: Array) -> Array:
        logs = self.count * step.log_mean(w / self.count)
        error = self.count * (step.error + step.rounding(w / self.count, w / self.count))
        ratio = w / order - 1
        value: Array = order * (ratio - np.log1p(ratio)) + logs + error + 8 * EPS * order * np.abs(ratio)
        return value

    def _saddle(self, step: Step, order: Array, most: float) -> Array:
        """About where w^{-a} E e^{wR} is least."""
        w = order.copy()
        for _ in range(4):
            w = np.minimum(order / step.mean(w / self.count), most)
        return w

    def line(self, order: float, y: Array) -> OnLine:
        """log E[R^{order + iy}], y rising from 0, along one vertical line for all of them."""
        cut, missing = self._cut_for(order)
        b = np.asarray(order + 1 + 1j * y, dtype=np.complex128)
        rough = self._step(cut, 1.4 * (order + 1), 0.0)
        w0 = float(self._saddle(rough, np.array([order + 1]), order + 1)[0])
        # a rule with step h gives the sum of E (R + kp)_+^a e^{-w0 kp}, p = 2 pi / h: see at_most
        others = w0 * (1 + _APART)
        bounds = self._bound(rough, order, others)
        period, level = _WIDTHS / math.sqrt(order), float(self._bound(rough, order, np.array([w0]))[0])
        for _ in range(60):
            gap = np.abs(others - w0) * period
            each = bounds - gap - np.log(-np.expm1(-gap))
            log_alias = float(np.logaddexp(each[_APART < 0].min(), each[_APART > 0].min()))
            if log_alias <= level + LOG_SMALL:
                break
            period *= 1.1
        h = 2 * math.pi / period
        first, last = (self._reach(w0, h, float(end), order) for end in (y[0], y[-1]))
        places = np.arange(-math.ceil(first / h), math.ceil(last / h) + 1)
        if places.size > _MOST_PLACES or places.size * y.size > _MOST_TERMS:
            raise TooFineError(f"{places.size} places of an integral")
        w = np.asarray(w0 + 1j * h * places, dtype=np.complex128)
        step = self._step(cut, w0, float(np.abs(w.imag).max()))
        # E e^{wR} at conj w is conj of it
        ends = np.array([w0]) / self.count, np.array([h]) / self.count
        upwards = step.log_mean_upwards(*ends, int(np.abs(places).max()) + 1)[:, 0]
        logs = self.count * upwards[np.abs(places)]
        logs.imag[places < 0] *= -1
        log_size = self.count * float(step.log_mean(w0 / self.count))
        wrong = self._wrong(step, logs, step.rounding(np.abs(w) / self.count))
        log_w, below, sums = log1p((w - w0) / w0), -int(places[0]), []
        for k in range(0, y.size, _TOGETHER):  # each as far as it needs
            some = b[k : k + _TOGETHER]
            above = min(math.ceil(self._reach(w0, h, float(some[-1].imag), order) / h), int(places[-1]))
            used = slice(0, below + above + 1)
            rest = self._rest(w0, h, some, h * below, -1) + self._rest(w0, h, some, h * above, 1)
            sums.append((*_summed(w[used], log_w[used], logs[used], wrong[used], w0, some), rest))
        total, errors, rest = (np.concatenate(part) for part in zip(*sums, strict=True))
        factor = _stirling(b) + math.log(h / (2 * math.pi))
        if max(log_size, log_alias, level) > _LARGEST_LOG:
            raise TooFineError("a moment whose bounds are no numbers")
        # what the cut left out, and aliases, are relative to the moment at y = 0
        errors += math.exp(log_size) / h * rest + (
            math.exp(log_alias) + 2 * missing * math.exp(level)
        ) * np.exp(-factor.real)
        return _logarithms(total, errors, factor)

    def _reach(self, w0: float, h: float, y: float, order: float) -> float:
        """How far the line goes, upwards for y > 0 and downwards for 0."""
        b = np.array([order + 1 + 1j * y])
        end: float = y * w0 / (order + 1) + 8 * abs(b[0]) / math.sqrt(order)
        while self._rest(w0, h, b, end, 1)[0] > h * math.exp(LOG_SMALL):
            end *= 1.1
        return end

    @staticmethod
    def _rest(w0: float, h: float, b: Any, end: float, sign: int) -> Any:
        """The sum of h |e^{w-b} (w/b)^{-b}| beyond an end. In the angle of w the logarithm of the integral's
        integrand, (c-1) log cos + y angle, is concave: so it falls at least as fast as at the end."""
        slope = (b.real - 2) * end / w0 - sign * b.imag
        away = (w0 + 1j * sign * end - b) / b
        size = np.exp(np.minimum((b * (away - log1p(away))).real, 700.0))
        with np.errstate(divide="ignore"):
            rest = size * (h + w0 * (1 + (end / w0) ** 2) / slope)
        return np.where(slope > 0, rest, math.inf)

    def negative(self, order: Array, y: Array) -> OnLine:
        """log E[R^{-b}] for b = order + iy, orders alone or frequencies 0, y, 2y, ..., each along its own ray
        w = b e^v: there |w^b E e^{-wR}| is at most what it is for y = 0, but for a factor."""
        c, b, t = order[:, None], (order + 1j * y)[:, None], self.count
        widths = _WIDTHS * float((np.abs(b) / c).max())
        while float((alias := _aliases(b, widths * np.sqrt(c))).max()) > math.exp(LOG_SMALL):
            widths *= 1.1
        h = 2 * math.pi / (widths * np.sqrt(c))
        rough, mean = self._lower(1.5 * float(order.max()), 0.0), np.ones(order.size)
        for _ in range(3):
            mean = rough.mean(-order / mean / t)
        reach = math.sqrt(float(order.min())) * _gamma_reach(float(order.min()))
        for _ in range(60):
            first, last = np.ceil(reach * widths / (2 * math.pi))
            v = h * np.arange(-first, last + 1) - np.log(mean)[:, None]
            if b.size * v.shape[1] > _MOST_TERMS:
                raise TooFineError(f"{v.shape[1]} places of {b.size} integrals")
            ray = np.exp(v)
            below, most = v - (ray - 1), float((c * ray).max())
            step = self._lower(most, float(np.abs(y).max() * ray.max()))
            one = step.log_mean(-c * ray / t)
            real = c * below + t * one
            # log-concave in v (Prekopa 1973), so it falls beyond its ends at least as fast as there
            falls = np.stack((real[:, 1] - real[:, 0], real[:, -2] - real[:, -1]))
            ends = np.stack((real[:, 0], real[:, -1])) - np.log(np.expm1(np.clip(falls, 1e-9, 700.0)))
            short = ((falls <= 0) | (ends - real.max(axis=1) > LOG_SMALL)).any(axis=1)
            if not short.any():
                break
            reach *= np.where(short, 1.2, 1.0)
        else:
            raise TooFineError("an integral along a ray")
        logs = t * (
            step.log_mean_upwards(-c[0] * ray[0] / t, -y[1] * ray[0] / t, y.size) if y.size > 1 else one
        )
        terms = np.exp(b * below + logs)
        total, sizes = terms.sum(axis=1), np.abs(terms)
        size = np.abs(b) * ray / t
        if step.few_powers:
            rounding = step.rounding(size)
        else:  # |X-1| is less than 1 where e^{-w(X-1)} is large
            each = 3 * self.scale * math.exp(self.scale**2) + np.exp(np.minimum(one, 600.0))
            rounding = ROUNDING * each * size
        wrong = self._wrong(step, logs, rounding) + 8 * EPS * np.abs(b * below)
        errors = (sizes * wrong).sum(axis=1) + np.exp(ends).sum(axis=0)
        errors += alias[:, 0] * np.exp(real).sum(axis=1)
        return _logarithms(total, errors, np.log(h[:, 0]) - _stirling(b[:, 0]))

    def _wrong(self, step: Step, logs: Any, rounding: Array) -> Array:
        """Errors of e^logs, relatively: of the mean of each step, which are multiplied by their number."""
        each = (step.error + rounding) * np.exp(-logs.real / self.count)
        result: Array = np.expm1(np.minimum(self.count * np.log1p(each), 600.0)) + 8 * EPS * (
            8 + np.abs(logs)
        )
        return result

    def _lower(self, most: float, turn: float) -> Step:
        fall = most / self.count * self.scale
        low = -fall - math.sqrt(_BELOW**2 + fall * fall + fall * self.scale)
        return Step(self.scale, low, _BELOW, -most / self.count, turn / self.count, whole=True)


def _summed(
    w: ComplexArray, log_w: ComplexArray, logs: ComplexArray, wrong: Array, w0: float, b: ComplexArray
) -> tuple[ComplexArray, Array]:
    """Sums of e^{w-b} (w/b)^{-b} e^logs over w, and their errors; logarithms are those of ratios to w0."""
    log_b, away = log1p((b - w0) / w0), w - b[:, None]
    exponent = logs + away - b[:, None] * (log_w - log_b[:, None])
    sizes, angles = np.exp(exponent.real), exponent.imag
    total = (sizes * np.cos(angles)).sum(axis=1) + 1j * (sizes * np.sin(angles)).sum(axis=1)
    lost = np.abs(b) * (sizes @ np.abs(log_w) + np.abs(log_b) * sizes.sum(axis=1))
    return total, sizes @ wrong + 8 * EPS * ((sizes * np.abs(away)).sum(axis=1) + lost)


def _aliases(b: ComplexArray, k: Array) -> Array:
    """A rule along the ray through b, with step 2 pi / k, gives E R^{-b} and the like of b + ijk, with
    |Gamma(b + ijk) / Gamma(b)| e^{jk arg b} for all whole j: log-concave in j, as Re b is 1 or more."""
    j = np.array([-2.0, -1.0, 1.0, 2.0])[:, None, None]
    logs = (loggamma(b + 1j * j * k) - loggamma(b)).real + j * k * np.angle(b) + 1e-3
    far, near = logs[[0, 3]], logs[[1, 2]]
    total: Array = (np.exp(near) / -np.expm1(np.minimum(far - near, -1e-3))).sum(axis=0)
    return total


def _gamma_reach(c: float) -> Array:
    """About how far to either side e^{c(v - e^v + 1)} is larger than e^LOG_SMALL, and a little further."""
    drop = -LOG_SMALL / c
    left, right = drop + 1, math.log1p(drop + math.sqrt(2 * drop))
    for _ in range(4):
        left = drop + 1 - math.exp(-left)
    return np.array([1.1 * left, 1.05 * right])


def _logarithms(total: Any, errors: Array, factor: Any) -> OnLine:
    """Of sums, times e^factor."""
    known = np.isfinite(total) & np.isfinite(errors)
    if not known[0] or errors[0] > _MOST_LOST * abs(total[0]):
        raise TooFineError("a moment, of which too few digits are left")
    total, errors = np.where(known, total, 0.0), np.where(known, errors, math.inf)
    values = np.log(np.where(total == 0, 1e-300, total) + 0j) + factor
    return OnLine(values, errors / np.maximum(np.abs(total), 1e-300) + 8 * EPS * (2 + np.abs(factor)))
