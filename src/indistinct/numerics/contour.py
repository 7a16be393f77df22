"""Bounds on delta(epsilon) from a contour integral through the saddle.

    delta(epsilon) = (1/2 pi i) int_{c-i inf}^{c+i inf} e^{K(z) - z epsilon} / (z (z+1)) dz

The trapezoid rule with step h on that line returns sum_k delta(epsilon + k p) e^{ckp}, p = 2 pi / h: the
wanted k = 0 and aliases, all of them positive. So the sum is an upper bound, and less the aliases (Chernoff
to the right, e^{-cp} to the left) a lower one. What is left out beyond the last node is bounded by an
envelope of the transform over *all* frequencies beyond it. Nothing cancels, so delta keeps its relative
accuracy however small it is, and the cost does not depend on the number of compositions.
"""

import math
from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, NamedTuple

import numpy as np

from indistinct.numerics.arrays import EPS, TINY, Array, ComplexArray, vertical_line
from indistinct.numerics.cumulant import Cumulant
from indistinct.numerics.rule import TooFineError, powers_of_unit

ACCURACY = 1e-12
"""Aliases, truncation and mass cut off that are aimed at, relative to delta."""
GUARD = 1e-10
"""Taken from and added to every log delta: for the Gauss-Legendre panels behind K (docs/engines.md)."""
MAX_NODES = 1 << 14
MAX_WORK = 1 << 24
_RELATIVE_ERROR = 8 * EPS
"""Of an exponential and of its exponent."""
_KNOWN = 1e-12
"""Of K on real orders, relatively: it is rounded up by as much."""
_PASSED = 1e-3
"""By how much, in nats, an envelope may be passed by rounding."""
_CHUNK = 1 << 18
_FEW, _MANY = 64, 1024
"""Powers of so many nodes need no doublings."""
_GRID = np.geomspace(1 / 8, 4.0, 16)
"""Orders of a scan, relative to a first guess..."""
_COARSE = 1.5
"""... and more, where log delta is so much larger beside the best of them."""


def log_sum(one: float, other: float) -> float:
    """log(e^one + e^other)."""
    high = max(one, other)
    return high + math.log1p(math.exp(-abs(one - other))) if math.isfinite(high) else high


class LogBounds(NamedTuple):
    """Logarithms of a lower and an upper bound on delta, and the slope of the upper one in epsilon."""

    low: Array
    high: Array
    slope: Array


@dataclass(frozen=True, eq=False)
class Scan:
    """The cumulant on a grid of real orders, best near the one that decides."""

    orders: Array
    values: Array
    log_mass: float = 0.0  # of the measure whose transform this is

    def read(self, epsilon: Array) -> LogBounds:
        """A bound by the best of the orders, one more than the grid's (Canonne, Kamath and Steinke 2020,
        Proposition 12), of the law that this cumulant sees; nothing from below."""
        c = self.orders
        bounds = self.values - c * epsilon[:, None] - c * np.log1p(1 / c) - np.log1p(c)
        best = bounds.argmin(axis=1)
        return LogBounds(np.full(epsilon.shape, -math.inf), bounds.min(axis=1) + GUARD, -c[best])

    def least_epsilon(self, log_delta: float) -> float:
        """The same bound solved for epsilon."""
        c = self.orders
        room = self.values - c * np.log1p(1 / c) - np.log1p(c) - log_delta + GUARD
        return float((room / c).min())

    def aim(self, epsilon: float, log_level: float, highest: float = math.inf) -> "Aim":
        """The line on which the shortest period keeps the aliases at epsilon below e^{log_level}.

        A line far from the saddle would lose digits to cancellation, so only those are tried whose
        integrand is at most e^6 times that of the best, unless the order may not exceed `highest`.
        """
        orders, values = self.orders.tolist(), self.values.tolist()
        size = (self._sizes - self.orders * epsilon).tolist()
        last = bisect_right(orders, max(highest, orders[1]))
        largest = min(size[:last]) + 6.0
        room = [k - c * epsilon - log_level + 1.0 for c, k in zip(orders, values, strict=True)]
        tried = []
        for pick in range(last):  # plain numbers, which are few
            if size[pick] <= largest:
                c = orders[pick]
                left = (1.0 + self.log_mass - log_level) / c
                above = range(bisect_right(orders, 1.0001 * c), len(orders))
                right = min((room[s] / (orders[s] - c) for s in above), default=math.inf)
                # at the far end of the grid nothing bounds the right: fall back on the left
                tried.append((max(left, right) if right < math.inf else 4 * left, pick))
        period, pick = min(tried)
        return Aim(orders[pick], period, self._curvature(orders, values, pick), epsilon, self)

    def likely_epsilon(self, log_delta: float) -> float:
        """About where delta has this size: the least epsilon at which an order has it by Laplace's method."""
        c, k = self.orders, self.values
        if c.size < 3:
            return self.least_epsilon(log_delta)
        slope = (k[1:] - k[:-1]) / (c[1:] - c[:-1])
        bend = 2 * (slope[1:] - slope[:-1]) / (c[2:] - c[:-2])
        c, k, size = c[1:-1], k[1:-1], self._sizes[1:-1]
        # where a far tail takes over K bends all of a sudden: no more than a few times as a Gaussian's does
        bend = np.maximum(np.minimum(bend, 16 * np.maximum(k, 0.0) / (c * (c + 1))), 0.0)
        size = size - 0.5 * np.log(2 * math.pi * (bend + 1 / c**2 + 1 / (c + 1) ** 2))
        least = (size - log_delta) / c
        best = int(least.argmin())
        if not 0 < best < least.size - 1:
            return float(least[best])
        # between the orders that were tried: by a parabola
        near = np.s_[best - 1 : best + 2]
        (x, y, z), (p, q, r) = np.log(c[near]).tolist(), least[near].tolist()
        before, after = (q - p) / (y - x), (r - q) / (z - y)
        slope = (before * (z - y) + after * (y - x)) / (z - x)
        return float(q - slope * slope * (z - x) / (4 * (after - before)) if before < after else q)

    @cached_property
    def _sizes(self) -> Array:
        """log of the integrand at t = 0, for epsilon = 0."""
        sizes: Array = self.values - np.log(self.orders * (self.orders + 1))
        return sizes

    @staticmethod
    def _curvature(orders: list[float], values: list[float], pick: int) -> float:
        """About K'' there: by second differences, over neighbours, or over more where bounds on K that are
        not alike stand beside each other."""
        near, far = (_bend(orders, values, pick, n) for n in (1, 3))
        return max(near if near > 1e-3 * far else far, 1e-300)


def _bend(orders: list[float], values: list[float], pick: int, apart: int) -> float:
    """The second difference over points so far apart."""
    first, last = max(pick - apart, 0), min(pick + apart, len(orders) - 1)
    middle = min(max(pick, first + 1), last - 1)
    if not first < middle < last:
        return 0.0
    (x, y, z), (a, b, c) = ((each[first], each[middle], each[last]) for each in (orders, values))
    return 2 * ((c - b) / (z - y) - (b - a) / (y - x)) / (z - x)


NOT_SCANNED = Scan(np.empty(0), np.empty(0))


@dataclass(frozen=True, eq=False)
class Aim:
    """Where to put the line, and how finely to sample it, for one epsilon."""

    order: float
    period: float
    curvature: float
    epsilon: float
    scan: Scan

    def unscanned(self) -> "Aim":
        """The same of a loss that is only known on this line."""
        return Aim(self.order, self.period, self.curvature, self.epsilon, NOT_SCANNED)

    def log_alias(self, epsilon: Array) -> list[float]:
        """Log of a bound on all aliases: Chernoff on the right, delta <= 1 on the left, geometric series."""
        if not self.scan.orders.size:
            return [math.inf] * epsilon.size
        orders, right, left = self._aliases
        rights = (right - orders * epsilon[:, None]).min(axis=1, initial=np.inf)
        return [log_sum(one, left) for one in rights.tolist()]

    @cached_property
    def _aliases(self) -> tuple[Array, Array, float]:
        above = self.scan.orders > self.order * 1.0001
        s, k = self.scan.orders[above], self.scan.values[above]
        gap, fall = (s - self.order) * self.period, self.order * self.period
        right = k - gap - np.log(-np.expm1(-gap)) + GUARD
        return s, right, self.scan.log_mass - fall - math.log(-math.expm1(-fall)) + GUARD


def _log_area(c: Array, k: Array) -> Array:
    """About by how much delta is less than e^{K(c) - c epsilon} at its saddle: c (1+c), and the deviation of
    a Gaussian loss, where that is small."""
    with np.errstate(invalid="ignore", divide="ignore"):
        width = 0.5 * np.log(4 * math.pi * np.maximum(k, 1e-300) / (c * (1 + c)))
    area: Array = np.log(c * (1 + c)) + np.minimum(width, 0.0)
    return area


def scan(
    real_up_to: Callable[[float], Callable[[Array], Array]],
    log_delta: float,
    start: float,
    log_mass: float = 0.0,
) -> Scan:
    """K around the order c > 0 whose line has an integrand of this delta at the least epsilon, from a guess
    of its scale; `real_up_to(c)` gives K on real orders, accurate up to c."""
    limit, best = math.inf, -1
    for _ in range(60):
        try:
            real = real_up_to(4 * start)
        except TooFineError:
            if math.isinf(limit):
                real_up_to(0.0)  # or no order can be integrated
            start, limit = start / (4 if best < 0 else 2), start  # lower orders are known not to be best
            continue
        orders = start * _GRID
        values = real(orders)
        if not np.isfinite(values).any():
            start, limit = start / 4, start
            continue
        epsilon = (values - log_delta - _log_area(orders, values)) / orders
        best = int(np.argmin(epsilon))
        if 0 < best < _GRID.size - 3 or (best > 0 and 2 * start >= limit):
            break
        start = min(float(orders[best]) * (0.25 if best == 0 else 1.0), limit / 2)
    if best < 0:
        raise TooFineError("no order can be integrated")
    best = min(max(best, 1), orders.size - 2)
    before, here, after = epsilon[best - 1 : best + 2].tolist()
    if not (max(before, after) - here) * float(orders[best]) < _COARSE:
        # for this delta, or where a far tail takes over
        near = np.linspace(orders[best - 1], orders[best + 1], 8)[1:-1]
        near = near[np.abs(near - orders[best]) > 1e-9 * orders[best]]
        order = np.argsort(np.concatenate((orders, near)))
        orders, values = np.concatenate((orders, near))[order], np.concatenate((values, real(near)))[order]
    usable = np.isfinite(values)
    orders, values = orders[usable], values[usable]
    return Scan(orders, values + _KNOWN * np.abs(values), log_mass)


@dataclass(frozen=True, eq=False)
class ContourLine:
    """The integrand on one vertical line, evaluated once and read at any epsilon."""

    final: ClassVar[bool] = False

    nodes: ComplexArray
    terms: ComplexArray  # the trapezoid rule's at epsilon = 0, relative to t = 0; and times the nodes
    log_unit: float  # what they are relative to
    errors: tuple[float, float]  # of their sum, by rounding and truncation: once, and for each epsilon
    aim: Aim
    infinite: float  # P-mass of infinite losses
    charged: float  # P-mass that the cumulant leaves out
    turned: "ContourLine | None" = None
    """The same line of the reversed loss, if it was drawn along with it: it bounds from above only."""

    def read(self, epsilon: Array) -> LogBounds:
        most = max(_CHUNK // self.nodes.size, 1)
        if epsilon.size > most:
            parts = [self.read(epsilon[k : k + most]) for k in range(0, epsilon.size, most)]
            return LogBounds(*(np.concatenate(each) for each in zip(*parts, strict=True)))
        # a row is added up as if it were alone, so in memory too
        sums = np.multiply(self._powers(epsilon)[:, None], self.terms, order="C").real.sum(axis=2)
        rows = zip(epsilon.tolist(), sums.tolist(), self.aim.log_alias(epsilon), strict=True)
        return LogBounds(*np.array([self._bounds(*row) for row in rows]).T)

    def _bounds(self, epsilon: float, sums: list[float], log_alias: float) -> tuple[float, float, float]:
        """Of a sum and what it is times the nodes: in plain numbers, which are few."""
        total, fall = sums
        fixed, per_epsilon = self.errors
        error = fixed + per_epsilon * abs(epsilon)
        log_unit = self.log_unit - self.aim.order * epsilon
        largest = max(total + error, TINY)
        finite = math.log(largest) + log_unit + GUARD
        least = total - error - math.exp(min(log_alias - log_unit, 700.0))
        low = math.log(least) + log_unit - GUARD if least > 0 else -math.inf
        high = log_sum(finite, math.log(max(self.infinite + self.charged, TINY)))
        slope = -fall / largest * math.exp(finite - high)
        return log_sum(low, math.log(self.infinite)) if self.infinite else low, min(high, 0.0), slope

    @cached_property
    def at_aim(self) -> tuple[float, float, float, float]:
        """About log delta where it was aimed, and its first three derivatives."""
        terms = self._powers(np.array([self.aim.epsilon])) * self.terms
        (total, first), (second, third) = np.array((terms, terms * self.nodes**2)).real.sum(axis=2).tolist()
        total = max(total, EPS * float(np.abs(terms[0]).sum()), TINY)  # where it cancels nothing is known
        finite = math.log(total) + self.log_unit - self.aim.order * self.aim.epsilon
        high = log_sum(finite, math.log(self.infinite)) if self.infinite else finite
        slope, bend, twist = (math.exp(finite - high) * sum_ / total for sum_ in (-first, second, -third))
        return high, slope, bend - slope**2, twist - 3 * slope * bend + 2 * slope**3

    @property
    def width_at_aim(self) -> float:
        """How far apart the bounds on log delta are there."""
        low, high, _ = self.read(np.array([self.aim.epsilon]))
        return float(high[0] - low[0])

    def guess(self, log_delta: Array) -> Array:
        return np.array([self._guess(one) for one in log_delta.tolist()])

    def _guess(self, log_delta: float) -> float:
        high, slope, bend, twist = self.at_aim
        if not slope < -1e-9:
            return self.aim.epsilon
        step = (log_delta - high) / slope
        # the parabola's, as long as that is a small change, and what the cubic adds, if that is smaller still
        step *= 1 - min(max(step * bend / (2 * slope), -0.5), 0.5)
        over = high - log_delta + step * (slope + step * (bend / 2 + step * twist / 6))
        steep = slope + step * (bend + step * twist / 2)
        return self.aim.epsilon + step - (over / steep if abs(over) < 0.1 * abs(step * steep) else 0.0)

    def _powers(self, epsilon: Array) -> ComplexArray:
        """By what the terms turn, a row for each epsilon."""
        if self.nodes.size > _FEW:
            return powers_of_unit(-2 * np.pi / self.aim.period * epsilon, self.nodes.size).T
        turned: ComplexArray = np.exp(np.multiply.outer(epsilon, -1j * self.nodes.imag))
        return turned


def _log_rest(c: float, step: float, last: int) -> float:
    """log of the sum over k > last of (step/pi) c (c+1) / (k step)^2: what is left out, relative to the
    integrand at 0, if its transform does not fall."""
    return math.log(c * (c + 1) / (math.pi * step * last))


def draw_line(
    cumulant_up_to: Callable[[float], Cumulant],
    log_envelopes: Callable[[float], Sequence[float]],
    aim: Aim,
    infinite: float,
    charged: float,
    accuracy: float = ACCURACY,
) -> ContourLine | None:
    """Evaluate the integrand until what is left out is negligible; None if that takes too many nodes.

    `cumulant_up_to(t)` gives a cumulant that is accurate for frequencies up to t; `log_envelopes(t)` bounds
    log |e^{K(c + is) - K(c)}| for all s >= t: of the loss, or of the loss and of the reversed one, where a
    value of the cumulant has both.
    """
    c, step = aim.order, 2 * np.pi / aim.period
    # of the integrand at 0, what is about the height of a peak
    enough = math.log(accuracy) - 0.5 * math.log(2 * math.pi * aim.curvature)
    last = 8 + int(min(7.6 / math.sqrt(aim.curvature) / step, MAX_NODES))
    grown, before = 4.0, math.inf
    for attempt in range(40):
        envelopes = log_envelopes(last * step)
        log_rest, fallen = _log_rest(c, step, last), -max(envelopes)
        missing = log_rest - fallen - enough
        if missing <= 0:
            break
        # envelopes only fall: if the last node of all is not far enough out, none is
        if not attempt and _log_rest(c, step, MAX_NODES) + max(log_envelopes(MAX_NODES * step)) > enough:
            return None
        # it falls like e^{-t^2} at first, and like e^{-t} later, or, if that did not do it, like a power of t
        growth = 1 + missing / max(fallen, 1.0)
        if attempt == 0:
            growth = 1.03 * growth**0.75
        elif grown < 4.0 and missing < before:
            growth = max(growth, (1.1 * grown) ** min(missing / (before - missing), 9.0))
        grown, before = min(growth, 4.0), missing
        last = min(int(last * grown) + 1, MAX_NODES)
    else:
        return None
    try:
        # what is too fine even up to a lower frequency is soon known
        if last > _MANY and last * cumulant_up_to(last * step / 16).size > MAX_WORK:
            return None
        cumulant = cumulant_up_to(last * step)
        if last * cumulant.size > MAX_WORK:
            return None
        line = cumulant.line(c, step, last + 1)
    except TooFineError:
        return None
    z = vertical_line(c, step, last + 1)
    values, errors = (each.reshape(len(envelopes), -1) for each in line)
    # an envelope that is passed where it was asked for is of another law than this one
    fallen = (values.real[:, -1] - values.real[:, 0] - errors[:, -1]).tolist()
    if not all(one <= most + _PASSED for one, most in zip(fallen, envelopes, strict=True)):
        return None
    log_values = values - np.log(z * (z + 1))
    log_units = log_values.real[:, :1]
    terms = np.empty((len(values), 2, z.size), dtype=np.complex128)
    weights = np.exp(log_values - log_units, out=terms[:, 0])
    weights *= step / np.pi
    weights[:, 0] *= 0.5
    np.multiply(weights, z, out=terms[:, 1])
    # of K, of the terms, of their powers, and of the phase t * epsilon
    size, doublings = np.abs(weights), math.log2(z.size + 1)
    errors = errors + _RELATIVE_ERROR * (1 + doublings + np.abs(log_values))
    rounding = (size * errors).sum(axis=1).tolist(), (_RELATIVE_ERROR * size * np.abs(z)).sum(axis=1).tolist()
    drawn, aims = None, (aim, aim.unscanned())
    for k in reversed(range(len(envelopes))):
        fixed = math.exp(log_rest + envelopes[k]) + rounding[0][k]
        unit, wrong = float(log_units[k, 0]), (fixed, rounding[1][k])
        drawn = ContourLine(z, terms[k], unit, wrong, aims[k], infinite, charged, drawn)
    return drawn
