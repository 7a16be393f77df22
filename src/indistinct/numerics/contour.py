"""The exact engine: delta(epsilon) as a contour integral through the saddle.

    delta(epsilon) = (1/2 pi i) int_{c-i inf}^{c+i inf} e^{K(z) - z epsilon} / (z (z+1)) dz

The trapezoid rule with step h on that line returns sum_k delta(epsilon + k p) e^{ckp}, p = 2 pi / h: the
wanted k = 0 and positive aliases, so it errs upwards, and the period p is chosen to make the aliases
negligible (Chernoff to the right, e^{-cp} to the left). Nothing cancels, so delta keeps its relative
accuracy however small it is, and the cost does not depend on the number of compositions.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from indistinct.numerics.arrays import EPS, TINY, Array, ComplexArray, vertical_line
from indistinct.numerics.cumulant import Cumulant
from indistinct.numerics.rule import TooFineError

ACCURACY = 1e-12
"""Aliases, truncation and mass cut off that are allowed, relative to delta."""

GUARD = 1e-10
"""Added to every log delta: the quadrature is checked, not proven, to some 1e-13."""

MAX_NODES = 1 << 13
MAX_WORK = 1 << 26

_RELATIVE_ERROR = 16 * EPS
"""Of K on the nodes: quadrature and rounding together."""


@dataclass(frozen=True, eq=False)
class Scan:
    """The cumulant on a grid of real orders, best near where an objective is smallest."""

    orders: Array
    values: Array
    order: float  # where the objective is smallest
    left_out: float = 0.0  # P-mass that this cumulant does not see

    def log_bounds(self, epsilon: float | Array) -> Array:
        """log of a bound on delta by each order, one more than the grid's (Canonne, Kamath and Steinke
        2020, Proposition 12)."""
        c = self.orders
        result: Array = self.values - c * epsilon + c * np.log(c / (1 + c)) - np.log1p(c)
        return result

    def aim(self, epsilon: float, log_level: float, highest: float = np.inf) -> "Aim":
        """The line on which the shortest period keeps the aliases at epsilon below e^{log_level}.

        A line far from the saddle would lose digits to cancellation, so only those are tried whose
        integrand is at most e^6 times that of the best, unless the order may not exceed `highest`.
        """
        c, k = self.orders, self.values
        size = k - c * epsilon - np.log(c * (c + 1))
        allowed = c <= max(highest, c[1])
        near = np.flatnonzero(allowed & (size <= size[allowed].min() + 6.0))
        left = (1.0 - log_level) / c[near]
        with np.errstate(divide="ignore", invalid="ignore"):
            right = (k - c * epsilon - log_level + 1.0) / (c - c[near][:, None])
        right = np.where(c > c[near][:, None] * 1.0001, right, np.inf).min(axis=1)
        period = np.maximum(left, right)
        # at the far end of the grid nothing bounds the right: fall back on the left
        period = np.where(np.isfinite(period), period, 4 * left)
        pick = int(near[np.argmin(period)])
        middle = min(max(pick, 1), c.size - 2)
        return Aim(float(c[pick]), float(period.min()), _second_difference(c, k, middle), epsilon, self)


def _second_difference(x: Array, y: Array, i: int) -> float:
    left = (y[i] - y[i - 1]) / (x[i] - x[i - 1])
    right = (y[i + 1] - y[i]) / (x[i + 1] - x[i])
    return max(float(2 * (right - left) / (x[i + 1] - x[i - 1])), 1e-300)


@dataclass(frozen=True, eq=False)
class Aim:
    """Where to put the line, and how finely to sample it, for one epsilon."""

    order: float
    period: float
    curvature: float
    epsilon: float
    scan: Scan

    def log_alias(self, epsilon: Array) -> Array:
        """Log of a bound on the aliases: Chernoff on the right, delta <= 1 on the left."""
        above = (self.scan.orders > self.order * 1.0001) & np.isfinite(self.scan.values)
        s, k = self.scan.orders[above], self.scan.values[above]
        right = k - s * epsilon[:, None] - (s - self.order) * self.period
        result: Array = np.logaddexp(right.min(axis=1, initial=np.inf), -self.order * self.period)
        return result + 0.1

    def relative_error(self, epsilon: Array, log_delta: Array, log_error: Array, charged: float) -> Array:
        """Of delta, or of epsilon where epsilon is many times delta's own scale 1/c; infinite where delta was
        read too far from where it was aimed."""
        error = np.logaddexp(log_error, math.log(max(charged, TINY)))
        scale = np.maximum(1.0, self.order * np.abs(epsilon))
        relative = np.exp(np.minimum(error - log_delta, 700.0)) / scale
        return np.where(log_delta > 1e-6, np.inf, relative)

    def log_bound(self, epsilon: Array) -> Array:
        """Log of a bound on delta without any tail: the best order scanned."""
        best = self.scan.log_bounds(epsilon[:, None]).min(axis=1, initial=np.inf) + GUARD
        result: Array = np.logaddexp(best, math.log(max(self.scan.left_out, TINY)))
        return result

    def log_beyond(self, loss: float) -> float:
        """Log of a Chernoff bound on P(L > loss)."""
        return min(0.0, float((self.scan.values - self.scan.orders * loss).min()))

    def laplace(self, log_delta: float) -> float:
        """A first guess of the epsilon of this delta: Laplace's method on the line."""
        c = self.order
        value = float(np.interp(c, self.scan.orders, self.scan.values))
        return (value - log_delta - math.log(c * (c + 1) * math.sqrt(2 * math.pi * self.curvature))) / c

    @property
    def first_nodes(self) -> int:
        """How many nodes a Gaussian peak of this curvature takes to fall below rounding."""
        return 12 + int(min(7.6 / np.sqrt(self.curvature) * self.period / (2 * np.pi), 1e9))


def scan(
    real_up_to: Callable[[float], Callable[[Array], Array]],
    objective: Callable[[Array, Array], Array],
    start: float,
    left_out: float,
) -> Scan:
    """Minimise objective(c, K(c)) over c > 0, from a guess of its scale.

    `real_up_to(c)` gives K on real orders, accurate up to c, of a law without mass `left_out`.
    """
    limit = math.inf
    for _ in range(60):
        try:
            real = real_up_to(4 * start)
        except TooFineError:
            start, limit = start / 4, start
            continue
        orders = np.geomspace(start / 8, 4 * start, 16)
        values = real(orders)
        best = int(np.argmin(objective(orders, values)))
        if 0 < best < 13 or (best > 0 and 2 * start >= limit):
            break
        start = min(float(orders[best]) * (0.25 if best == 0 else 1.0), limit / 2)
    best = min(max(best, 1), orders.size - 2)
    near = np.linspace(orders[best - 1], orders[best + 1], 8)[1:-1]
    near = near[np.abs(near - orders[best]) > 1e-9 * orders[best]]
    fine = real(near)
    order = np.argsort(np.concatenate((orders, near)))
    orders, values = np.concatenate((orders, near))[order], np.concatenate((values, fine))[order]
    usable = np.isfinite(values)
    orders, values = orders[usable], values[usable]
    level = objective(orders, values)
    return Scan(orders, values, float(orders[np.argmin(level)]), left_out)


@dataclass(frozen=True, eq=False)
class Line:
    """The integrand on one vertical line, evaluated once and read at any epsilon."""

    nodes: ComplexArray
    log_values: ComplexArray  # K(z) - log z(z+1)
    step: float
    truncation: float  # of the sum, relative to the integrand at t = 0
    aim: Aim
    infinite: float  # P-mass of infinite losses and of everything left out
    floor: float = -math.inf
    charged: float = 0.0  # how much of `infinite` is only mass left out
    settled: bool = True  # nothing is rounded to a lattice

    def read(self, epsilon: Array) -> tuple[Array, Array]:
        """log of an upper bound on delta, and its derivative in epsilon."""
        terms = self._weights * np.exp(-1j * self.nodes.imag * epsilon[:, None])
        value = np.maximum(terms.real.sum(axis=1) + self._error(epsilon), TINY)
        log_finite = np.log(value) + (self._log_size + GUARD) - self.aim.order * epsilon
        log_delta = np.logaddexp(log_finite, math.log(max(self.infinite, TINY)))
        slope = -(terms * self.nodes).real.sum(axis=1) / value * np.exp(log_finite - log_delta)
        return log_delta, slope

    @property
    def size(self) -> int:
        """How many numbers it keeps."""
        return self.nodes.size

    def newton(self, log_delta: float, top: float) -> float | None:
        """The epsilon of one delta by plain Newton steps; None where they do not settle at once."""
        reach = 1 / self.aim.order
        start = epsilon = self.aim.laplace(log_delta)
        for _ in range(10):
            if not (abs(epsilon - start) <= 1e3 * reach and -top <= epsilon <= top):
                return None
            values, slopes = self.read(np.array([epsilon]))
            value, slope = float(values[0]), float(slopes[0])
            if 0 <= log_delta - value <= 1e-11:
                return epsilon
            if not slope < 0:
                return None
            # step over the root by a little, so that the next point is on the safe side
            epsilon += (log_delta - value) / slope
            epsilon += 2e-14 * abs(epsilon) + 3e-12 * reach
        return None

    def judged(self, epsilon: Array) -> tuple[Array, Array]:
        """log of an upper bound on delta, and its relative error."""
        log_delta, _ = self.read(epsilon)
        log_error = np.log(2 * self._error(epsilon)) + self._log_size - self.aim.order * epsilon
        log_error = np.logaddexp(log_error, self.aim.log_alias(epsilon))
        return log_delta, self.aim.relative_error(epsilon, log_delta, log_error, self.charged)

    def accuracy(self, epsilon: Array) -> Array:
        """The relative error alone."""
        return self.judged(epsilon)[1]

    @cached_property
    def _log_size(self) -> float:
        return float(self.log_values[0].real)

    @cached_property
    def _weights(self) -> ComplexArray:
        """The trapezoid rule's terms at epsilon = 0, relative to the first."""
        weights: ComplexArray = np.exp(self.log_values - self._log_size)
        weights *= self.step / np.pi
        weights[0] *= 0.5
        return weights

    def _error(self, epsilon: Array) -> Array:
        """Truncation and rounding: K is known to a relative error, and so is the phase t * epsilon."""
        fixed, per_epsilon = self._rounding
        return self.truncation + fixed + per_epsilon * np.abs(epsilon)

    @cached_property
    def _rounding(self) -> tuple[float, float]:
        size = np.abs(self._weights)
        fixed = _RELATIVE_ERROR * float((size * (1 + np.abs(self.log_values))).sum())
        return fixed, _RELATIVE_ERROR * float((size * np.abs(self.nodes)).sum())


def draw_line(
    cumulant_up_to: Callable[[float], Cumulant],
    log_envelope: Callable[[float], float],
    aim: Aim,
    infinite: float,
) -> Line | None:
    """Evaluate the integrand until what is left out is negligible; None if that takes too many nodes.

    `cumulant_up_to(t)` gives a cumulant that is accurate for frequencies up to t; `log_envelope(t)` bounds
    log |e^{K(c + is) - K(c)}| for *all* s >= t: what the last nodes look like proves nothing, since near a
    lattice a transform dips and revives.
    """
    c, step = aim.order, 2 * np.pi / aim.period
    peak = 1 / np.sqrt(2 * np.pi * aim.curvature)
    start, stop = 0, aim.first_nodes
    pieces: list[ComplexArray] = []
    while True:
        if stop > MAX_NODES:
            return None
        try:
            cumulant = cumulant_up_to(stop * step)
        except TooFineError:
            return None
        if (stop - start) * cumulant.size > MAX_WORK:
            return None
        z = vertical_line(c, step, start, stop)
        pieces.append(cumulant.line(c, step, start, stop) - np.log(z * (z + 1)))
        # the sum over k >= stop of (step/pi) / (k step)^2, relative to the integrand at 0
        log_rest = log_envelope(stop * step) + math.log(c * (c + 1) / (math.pi * step * (stop - 1)))
        truncation = math.exp(min(log_rest, 700.0))
        if truncation <= ACCURACY * peak:
            break
        start, stop = stop, 2 * stop
    return Line(vertical_line(c, step, 0, stop), np.concatenate(pieces), step, truncation, aim, infinite)
