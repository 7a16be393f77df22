"""Linear functions of several independent numbers: the same convex programme, by an integral on a line.

A linear function of independent noises is a sum h, and the sum's moment generating function is a product, so
no d-dimensional integral is needed: with M(w) = E_Q[e^{wh}] and any c > 0 where M(c) and M(-c) are finite,

    E_Q|h|^A = Γ(A+1) / (2πi) ∫ (M(z) + M(-z)) z^(-A-1) dz   along Re z = c,

for every power A > 0 (the Laplace transform of x_+^A). The derivatives in the coefficients are integrals on
the same nodes. The line goes through the saddle, where nothing cancels, and the trapezoid rule converges
geometrically there. Equal numbers share a coefficient, so their number costs nothing.
"""

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy.special import gammaln

from indistinct.adversaries.solvers.bracket import UNKNOWN, Bracket
from indistinct.adversaries.solvers.laws import ReleasedNumber
from indistinct.adversaries.solvers.newton import Slope, inverse_of, newton, stages
from indistinct.adversaries.solvers.quadrature import ROUNDING
from indistinct.numerics.arrays import EPS, TINY, Array

_MOST_NODES = 1 << 15
_LOG_NEGLIGIBLE = 40.0
"""The integrand is followed until it has fallen this far, in logarithms."""
_ENOUGH, _ROUGH = 1e-8, 1e-3
"""Slopes of log V at which the search ends, and at which it goes on to the next power."""
_FURTHEST = math.log(1.6)
"""From one power A to the next, log A moves no further than this."""
_PLACES = np.concatenate((np.geomspace(1e-12, 1e-3, 64)[:-1], np.linspace(1e-3, 1.0, 200)[:-1]))
"""Where the line may cross the real axis, as shares of how far it may go."""
_HEIGHTS = np.concatenate(([0.0], 1.12 ** np.arange(-20.0, 140.0)))
"""How high to look along the line, in units of where it crosses."""


class _Moment(NamedTuple):
    """log V, its slope and bend in the coefficients (divided by V), and by how much the first two may err."""

    log: float
    slope: Array
    bend: Array
    error: float
    slope_error: Array


class IndependentProgramme:
    """Linear functions of independent numbers, each with the number of times it occurs."""

    def __init__(self, numbers: Sequence[tuple[ReleasedNumber, int]]) -> None:
        self.numbers = [(number, count) for number, count in numbers if number.shift and count]
        self.counts = np.array([float(count) for _, count in self.numbers])
        self.target = np.array([count * number.p.mean for number, count in self.numbers])
        self.offset = np.array([-count * number.shift for number, count in self.numbers])
        self.variance = np.array([count * number.q.variance for number, count in self.numbers])
        self._known: dict[float, Bracket] = {}
        tilt = self.offset / self.variance
        second: Array = -tilt / (1 + float(self.offset @ tilt))
        self._last = (math.log(2.0), second)  # solves order 2

    def renyi(self, order: float) -> Bracket:
        """The restricted divergence of a finite order above 1."""
        if not self.numbers:
            return Bracket(0.0, 0.0)
        if order not in self._known:
            power = order / (order - 1)
            self._known[order] = self.judge(power, self.propose(power))
        return self._known[order]

    def propose(self, power: float) -> Array:
        """From the last power solved, through powers in between."""
        (last, a), goal = self._last, math.log(power)
        for place in stages(last, goal, _FURTHEST):
            a = self._descend(a, math.exp(place), _ENOUGH if place == goal else _ROUGH)
        self._last = (goal, a)
        return a

    def _descend(self, a: Array, power: float, enough: float) -> Array:
        """To the least log V / A, the logarithm of a norm, in numbers of unit variance."""
        unit: Array = np.sqrt(self.variance)

        def look(a: Array) -> Slope | None:
            try:
                at = self._moment(a, power)
            except ArithmeticError:
                return None
            slope = at.slope / power
            bend = at.bend / power - (power - 1) * np.outer(slope, slope)
            undo = inverse_of(bend / np.outer(unit, unit))
            return None if undo is None else Slope(slope / unit, undo, at.log / power)

        def move(a: Array, step: Array) -> Array:
            return a + step / unit

        return newton(look, a, enough=enough, move=move)

    def judge(self, power: float, a: Array) -> Bracket:
        """As for one number: g = |h|^(A-1) sign h / V has E_Q[g (x - E_P x)] = slope / A, which should
        vanish, and E_Q[g] = 1 - a . slope / A; the rest is made up by a linear function. Where h is such that
        V cannot be had to within a tenth nothing is claimed."""
        order = power / (power - 1)
        try:
            at, again = self._moment(a, power), self._moment(a, power, dense=True)
        except ArithmeticError:
            return UNKNOWN
        if not again.error < 0.1:
            return UNKNOWN
        error = abs(at.log - again.log) + 1.1 * again.error + ROUNDING * (1 + abs(again.log))
        missing = again.slope / power
        unseen = (np.abs(again.slope - at.slope) + again.slope_error) / power
        constant = float(a @ missing)
        slack = float(np.abs(a) @ (unseen + 4 * EPS * np.abs(missing)))
        tilt = (-missing - constant * self.offset) / self.variance
        loose = (unseen + slack * np.abs(self.offset) + 4 * EPS * np.abs(missing)) / self.variance
        repair = abs(constant) + slack + float((np.abs(tilt) + loose) @ self._norms(order))
        log_norm = (error - again.log) / power
        high = power * float(np.logaddexp(log_norm, math.log(repair + TINY)))
        low = -again.log - error
        if math.isnan(low) or math.isnan(high):
            return UNKNOWN
        return Bracket(max(low, 0.0), max(high, 0.0) * (1 + 4 * EPS))

    def _norms(self, order: float) -> Array:
        """Bounds on (E_Q|x - E_Q x|^order)^(1/order): |x|^k <= (k/ec)^k e^{c|x|} for every c > 0."""
        norms = []
        for (number, count), variance in zip(self.numbers, self.variance, strict=True):
            wide = max(order, 1.0) / math.sqrt(variance)
            c = np.minimum(number.q.noise.steepest, wide) * _PLACES
            mean = count * number.q.mean
            both = [count * number.q.cumulant(side * c)[0] - side * c * mean for side in (1.0, -1.0)]
            log_norm = np.logaddexp(*both) / order + np.log(order / (math.e * c))
            norms.append(math.exp(float(np.min(log_norm))))
        return np.array(norms)

    # -- the integral --------------------------------------------------------------------------

    def _log_mgf(self, a: Array, w: Any) -> tuple[Any, Any, Any]:
        """log E_Q[e^{wh}] for h = 1 + a . (x - E_P x); its derivatives in a, divided by w and by w²."""
        total = w * (1 - float(a @ self.target)) + 0j
        slopes, bends = [], []
        for coefficient, count, (number, _) in zip(a, self.counts, self.numbers, strict=True):
            value, slope, bend = number.q.cumulant(coefficient * w)
            total = total + count * value
            slopes.append(count * slope)
            bends.append(count * bend)
        return total, np.array(slopes) - self.target[:, None], np.array(bends)

    def _moment(self, a: Array, power: float, *, dense: bool = False) -> _Moment:
        c, reach, step = self._line(a, power)
        step *= 0.6 if dense else 1.0
        count = min(int(reach / step) + 2, _MOST_NODES)
        z = c + 1j * step * np.arange(count)
        log_kernel = gammaln(power + 1) - (power + 1) * np.log(z) + math.log(step / math.pi)
        log_kernel[0] -= math.log(2.0)
        w = np.concatenate((z, -z))
        log_mgf, slopes, bends = self._log_mgf(a, w)
        exponent = log_mgf + np.concatenate((log_kernel, log_kernel))
        top = float(exponent.real.max())
        term = np.exp(exponent - top)
        total = float(term.sum().real)
        size = float(np.abs(term).sum())
        if not total > ROUNDING * size:
            raise ArithmeticError("nothing is left of the integral but rounding")
        # beyond the last node both sides fall as y^(-A-1) at least; of centres that beat, the loudest
        window = slice(count - count // 8 - 1, count) if count == _MOST_NODES else slice(count - 1, count)
        last = float(np.abs(term[:count][window]).max() + np.abs(term[count:][window]).max()) * count
        first = slopes * w
        slope = (first @ term).real / total
        bend = ((first * term) @ first.T).real / total
        bend[np.diag_indices(a.size)] += (bends @ (w * w * term)).real / total
        error = (ROUNDING * size + last / power) / total
        slope_error = np.abs(first) @ np.abs(term) * (ROUNDING / total) + error * np.abs(slope)
        steepest = np.maximum(np.abs(first[:, count - 1]), np.abs(first[:, -1]))
        slope_error += steepest * (last / (power - 1) / total)
        return _Moment(top + math.log(total), slope, bend, error, slope_error)

    def _line(self, a: Array, power: float) -> tuple[float, float, float]:
        """Where to draw the line, how far up it matters, and the step."""
        steepest = min(
            (number.q.noise.steepest / abs(b) for b, (number, _) in zip(a, self.numbers, strict=True) if b),
            default=math.inf,
        )
        if not steepest > TINY or not np.isfinite(a).all():
            raise ArithmeticError("a function too steep to be integrated")
        most = min(steepest, 40.0 * (power + 1))
        c = most * _PLACES
        height = np.logaddexp(self._log_mgf(a, c)[0].real, self._log_mgf(a, -c)[0].real)
        best = int(np.argmin(height - (power + 1) * np.log(c)))
        saddle = float(c[best])
        room = min(saddle, steepest - saddle)
        y = saddle * _HEIGHTS
        z = saddle + 1j * y
        size = np.logaddexp(self._log_mgf(a, z)[0].real, self._log_mgf(a, -z)[0].real)
        size -= (power + 1) * np.log(np.abs(z))
        tail = size + np.log(np.maximum(y, saddle))
        seen = np.flatnonzero(tail > tail[0] - _LOG_NEGLIGIBLE)
        reach = float(y[min(int(seen[-1]) + 1, y.size - 1)])
        bends = self._log_mgf(a, c[best : best + 1])[2][:, 0].real
        width = 1 / math.sqrt(float(a * a @ bends) + (power + 1) / saddle**2)
        return saddle, reach, min(2 * math.pi * room / _LOG_NEGLIGIBLE, 0.45 * width)
