"""What several Rényi divergences imply together: the worst pair of coins that satisfies all of them.

A test turns any two distributions into two coins, and no divergence grows (data processing). So
delta(epsilon) is the largest p - e^epsilon q over coins (p, q) that satisfy every claim d(p || q) <= value
and d(q || p) <= value: a linear function on a convex region. A claim of order a is about an f-divergence,

    E_Q f(dP/dQ) <= c,   f(r) = (r^a - 1 - a (r-1)) / (a (a-1)),   c = (e^{(a-1) value} - 1) / (a (a-1)),

and because f is convex **any two ratios v < u** give a line that no coins of the region pass,

    p <= e^epsilon q + delta,   e^epsilon = (g(u) - g(v)) / (f'(u) - f'(v)),   g(r) = r f'(r) - f(r),
                                delta = (c - f(v) - (1 - v) f'(v)) / (f'(u) - f'(v)):

(epsilon, delta)-DP. The best v and u attain Theorem 3 of *Three Variants of Differential Privacy* (Asoodeh,
Liao, Calmon, Kosut and Sankar 2021) for one order; v = 1 is Proposition 12 of Canonne, Kamath and Steinke
2020. The corner of two such lines, of one claim or of two, is an upper bound for all claims together: it is
the dual programme, whose weights are on two claims at most. The coins that the lines touch are the lower one.
A search that stops early only loses sharpness.

Orders between stated ones need no lines of their own: (order - 1) d is convex in the order, so coins that
satisfy the claims satisfy their chords too. The region is the same with p and q swapped, and with both sides
of the coins swapped, so that coins with p + q <= 1 are enough for epsilon >= 0; and there d(p || q) is the
larger of the two divergences.
"""

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from indistinct.numerics.arrays import EPS, TINY, Array

_STEPS, _HALVINGS = 80, 90
CLOSED = 1e-10
"""The gap between both ends, relative to the upper one, at which a search stops."""
_IDLE = 1e-8
"""The gap at which it stops if it has not become smaller for a while: rounding."""
_INSIDE = 1e-12
"""How far inside the region, as a share of log(p / q), the coins of a lower bound are taken."""
_HALF = math.log(0.5)
_ROUNDING, _SETTLED = 16 * EPS, 1e-14
_NEAR_ONE, _NEAR = 1e-7, 0.03
_SMALL = 1e-2
_FURTHEST = 1e9
"""Beyond this, as a logarithm, nothing is looked for."""

Rows = npt.NDArray[np.intp]


class Line(NamedTuple):
    """p <= sign e^epsilon q + delta for all coins of the region: where it touches, and the order of the claim
    that it belongs to (NaN for p + q <= 1, and for the claim of infinite order)."""

    epsilon: Array
    log_delta: Array
    sign: Array
    log_q: Array
    order: Array

    def unless(self, moves: npt.NDArray[np.bool_], other: "Line") -> "Line":
        return Line(*(np.where(moves, new, old) for old, new in zip(self, other, strict=True)))


class Corner(NamedTuple):
    """Where two lines meet, the steeper one first: the outermost coins that they leave."""

    left: Line
    right: Line

    @classmethod
    def of_all(cls, rows: int) -> "Corner":
        """The corner of all coins: q >= 0 and p + q <= 1."""
        steep, flat = (math.inf, -math.inf, 1.0, -math.inf), (0.0, 0.0, -1.0, _HALF)
        return cls(*(Line(*(np.full(rows, part) for part in (*kind, math.nan))) for kind in (steep, flat)))

    def _shape(self) -> tuple[Array, Array]:
        """The right line's slope in units of the left one's, and how much higher it starts."""
        left, right = self
        rise = np.exp(right.log_delta) - np.exp(left.log_delta)
        return right.sign * np.exp(right.epsilon - left.epsilon), rise

    def log_q(self) -> Array:
        slope, rise = self._shape()
        place: Array = np.log(rise) - self.left.epsilon - np.log1p(-slope)
        return place

    def known(self) -> npt.NDArray[np.bool_]:
        """Whether both are lines of claims."""
        return np.isfinite(self.left.log_q) & (self.right.sign > 0)

    def log_ratio(self, log_q: Array) -> Array:
        """About the largest log(p / q) that they leave at q, and no less."""
        ratios = [np.log(line.sign * np.exp(line.epsilon) + np.exp(line.log_delta - log_q)) for line in self]
        return np.fmin(*ratios) * (1 + CLOSED)

    def delta(self, epsilon: Array) -> Array:
        """p - e^epsilon q, rounded up."""
        slope, rise = self._shape()
        delta = np.exp(self.left.log_delta) - rise * np.expm1(epsilon - self.left.epsilon) / (1 - slope)
        delta += _ROUNDING * (1 + epsilon) * np.exp(np.minimum(self.log_q() + epsilon, 0.0))
        delta = np.maximum(delta * (1 + _ROUNDING), np.where(self.right.log_delta > -math.inf, TINY, 0.0))
        return np.where(np.isnan(delta), 1.0, np.minimum(delta, 1.0))

    def epsilon(self, delta: Array) -> Array:
        """log((p - delta) / q), rounded up."""
        slope, rise = self._shape()
        share = (np.exp(self.right.log_delta) - delta) / rise
        above = np.log(np.maximum(slope + (1 - slope) * share, TINY))
        above += _ROUNDING * (1 + np.abs(self.left.epsilon) + np.abs(above) + delta / rise)
        epsilon = np.maximum(self.left.epsilon + above, 0.0)
        return np.where(np.isnan(epsilon), math.inf, epsilon)


class DeltaAt(NamedTuple):
    """The largest p - e^epsilon q, for epsilon >= 0."""

    epsilon: Array

    def too_steep(self, line: Line) -> Array:
        """By how much a line is steeper than the one that answers; falls as q grows along the region."""
        return np.where(line.sign > 0, line.epsilon, -math.inf) - self.epsilon

    def most(self, corner: Corner) -> Array:
        """The answer, if the corner were in the region."""
        return corner.delta(self.epsilon)

    def attained(self, log_q: Array, ratio: Array) -> Array:
        """What coins with this log q and log(p / q) attain."""
        gain: Array = np.exp(log_q + self.epsilon) * np.expm1(np.maximum(ratio - self.epsilon, 0.0))
        return gain

    def simple(self, order: Array, exponent: Array) -> tuple[Array, Array]:
        """log q where Canonne, Kamath and Steinke 2020, Proposition 12, has it (p is order times delta), and
        how good that bound is."""
        a, epsilon = order - 1, self.epsilon[:, None]
        log_delta = exponent - a * (epsilon - np.log1p(-1 / order)) - np.log(order)
        return np.minimum(log_delta, -1.0) + np.log(a) - epsilon, log_delta


class EpsilonAt(NamedTuple):
    """The largest log((p - delta) / q), or 0, for delta in (0, 1)."""

    delta: Array

    def too_steep(self, line: Line) -> Array:
        steep: Array = np.log(self.delta) - line.log_delta
        return steep

    def most(self, corner: Corner) -> Array:
        return corner.epsilon(self.delta)

    def attained(self, log_q: Array, ratio: Array) -> Array:
        share = np.exp(np.log(self.delta) - log_q - ratio)
        return np.maximum(ratio + np.log1p(-np.minimum(share, 1.0)), 0.0)

    def simple(self, order: Array, exponent: Array) -> tuple[Array, Array]:
        a, log_delta = order - 1, np.log(self.delta)[:, None]
        epsilon = (exponent - log_delta - np.log(order)) / a + np.log1p(-1 / order)
        return log_delta + np.log(a) - np.maximum(epsilon, 0.0), epsilon


Request = DeltaAt | EpsilonAt


class Claims:
    """Divergences at finite orders and at infinity, and the coins that satisfy all of them.

    `orders` and `values` have one row for all requests, or one for each.
    """

    def __init__(self, orders: Array, values: Array, pure: float) -> None:
        order, value = np.atleast_2d(orders), np.atleast_2d(values)
        # a claim holds at smaller orders too: a little below 1, and where squares do not overflow
        self._order = np.where(np.abs(order - 1) < _NEAR_ONE, 1 - _NEAR_ONE, np.minimum(order, _FURTHEST))
        self._exponent, self._pure = (self._order - 1) * value, pure
        with np.errstate(divide="ignore"):
            small = np.log(np.expm1(np.minimum(self._exponent, 30.0)) / (self._order * (self._order - 1)))
        self._log_claim = small + np.maximum(self._exponent - 30.0, 0.0)

    def answer(
        self, request: Request, near: Corner | None = None, closed: float = CLOSED
    ) -> tuple[Array, Array, Corner]:
        """A lower and an upper bound, so close if that can be, and the corner that proves the upper one; it
        is looked for near one that is given."""
        with np.errstate(all="ignore"):
            guess, rank = request.simple(self._order, self._exponent)
            best = np.where(self._order > 1, rank, math.inf).argmin(axis=1)[:, None]
            log_q = np.take_along_axis(guess, best, axis=1)[:, 0]
            log_q, step = np.where(log_q < -1.0, log_q, -1.0), np.ones_like(log_q)
            if near is not None:
                known = np.isfinite(near.log_q())
                log_q, step = np.where(known, near.log_q(), log_q), np.where(known, _NEAR, step)
            return self._close_in(request, log_q, step, closed)

    def _close_in(
        self, request: Request, log_q: Array, step: Array, closed: float
    ) -> tuple[Array, Array, Corner]:
        """Lines on both sides of the answer, until what they leave and what is attained agree. While they are
        far apart the place is interpolated on logarithms; then, if it is a corner of the region, it is where
        they meet."""
        corner = Corner.of_all(log_q.size)
        high, low = request.most(corner), np.zeros_like(log_q)
        repeated, idle = np.zeros_like(log_q), np.zeros_like(log_q)
        best_q, best_ratio, open_ = log_q, np.zeros_like(log_q), np.ones_like(log_q, dtype=bool)
        for _ in range(_STEPS):
            ratio, line = self.touching(log_q, corner)
            steep = request.too_steep(line) > 0
            corner = Corner(
                corner.left.unless(open_ & steep, line), corner.right.unless(open_ & ~steep, line)
            )
            gain, found = request.attained(log_q, ratio), request.most(corner)
            better = open_ & (gain > low)
            low, best_q = np.where(better, gain, low), np.where(better, log_q, best_q)
            best_ratio = np.where(better, ratio, best_ratio)
            idle = np.where(found < high * (1 - CLOSED), 0.0, idle + 1)
            high = np.where(open_, np.minimum(high, found), high)
            open_ &= ~((high - low <= closed * high) & (high < math.inf)) & ~(
                (idle > 3) & (high - low < _IDLE * high)
            )
            if not open_.any():
                break
            left, right = corner
            above, below = request.too_steep(left), request.too_steep(right)
            middle, met = (left.log_q + right.log_q) / 2, corner.log_q()
            between = left.log_q + above / (above - below) * (right.log_q - left.log_q)
            at_corner = (high < 2 * low) & (left.order != right.order)
            repeated = np.where(steep, np.maximum(repeated, 0) + 1, np.minimum(repeated, 0) - 1)
            log_q = np.where(at_corner | ~np.isfinite(between), met, between)
            first = right.log_q >= _HALF  # nothing was seen to the right yet
            log_q = np.where(first, np.fmax(met, np.fmin(left.log_q + step, middle)), log_q)
            log_q = np.where(np.isinf(left.log_q), right.log_q - step, log_q)
            inside = (log_q > left.log_q) & (log_q < right.log_q)
            inside &= at_corner | first | np.isinf(left.log_q) | (np.abs(repeated) <= 2)
            log_q, step = np.where(inside, log_q, middle), 2 * step
            open_ &= (log_q > left.log_q) & (log_q < right.log_q)
        return self._inside(request, best_q, best_ratio), high, corner

    def touching(self, log_q: Array, corner: Corner) -> tuple[Array, Line]:
        """The largest log(p / q) of coins with this q below a corner, and the line that touches the region
        there."""
        log_rest = np.log1p(-np.exp(log_q))
        most = np.minimum(log_rest - log_q, self._pure)
        ratio, which = self._ratio(log_q, np.fmin(most, corner.log_ratio(log_q)))
        chosen = which[:, None]
        order, log_claim = (
            np.take_along_axis(np.broadcast_to(part, (log_q.size, part.shape[1])), chosen, axis=1)[:, 0]
            for part in (self._order, self._log_claim)
        )
        epsilon, log_delta = _line(order, log_claim, ratio, _log_rest(log_q, ratio) - log_rest)
        pure, loose = ratio >= self._pure, ratio >= log_rest - log_q
        loose |= ~pure & ~(np.isfinite(epsilon) & np.isfinite(log_delta))
        kinds = [loose, pure]
        return ratio, Line(
            np.select(kinds, [0.0, self._pure], epsilon),
            np.select(kinds, [0.0, -math.inf], log_delta),
            np.where(loose, -1.0, 1.0),
            log_q,
            np.where(loose | pure, math.nan, order),
        )

    def _ratio(self, log_q: Array, most: Array) -> tuple[Array, Rows]:
        """The largest log(p / q) that all claims allow, up to `most`, and the claim that decides: Newton's
        method on logarithms, on which divergences are close to lines, and halving where that leads astray."""
        order, log_claim = self._order, self._log_claim
        log_q, log_rest = log_q[:, None], np.log1p(-np.exp(log_q))[:, None]
        tail = np.where(order > 1, (self._exponent - log_q) / order * (1 + _ROUNDING), math.inf)
        most = np.minimum(most, tail.min(axis=1))[:, None]
        low, high, ratio = np.zeros_like(most), most, most
        which, open_ = np.zeros(most.shape, dtype=np.intp), np.ones(most.shape, dtype=bool)
        for _ in range(_HALVINGS):
            other = _log_rest(log_q, ratio) - log_rest
            size = _log_divergence(order, (log_q, ratio), (log_rest, other))
            slope = np.exp(log_q + ratio + _log_steepness(order, ratio, other) - size)
            reached = np.exp((log_claim - size) / (slope * ratio))
            reached = np.where(np.isnan(reached), math.inf, reached)
            decides = reached.argmin(axis=1)[:, None]
            new = ratio * np.take_along_axis(reached, decides, axis=1)
            which = np.where(open_, decides, which)
            low, high = np.where(new >= ratio, ratio, low), np.where(new < ratio, ratio, high)
            new = np.where((new > low) & (new < high), new, np.where(new >= high, high, (low + high) / 2))
            open_ &= ~(np.abs(new - ratio) <= _SETTLED * ratio)
            if not open_.any():
                break
            ratio = np.where(open_, new, ratio)
        return ratio[:, 0], which[:, 0]

    def _inside(self, request: Request, log_q: Array, ratio: Array) -> Array:
        """What coins attain that satisfy all claims for sure; nothing, where these do not."""
        ratio = ratio * (1 - _INSIDE)
        log_rest = np.log1p(-np.exp(log_q))
        other = _log_rest(log_q, ratio) - log_rest
        one, two = (log_q[:, None], ratio[:, None]), (log_rest[:, None], other[:, None])
        there = _log_divergence(self._order, one, two)
        back = _log_divergence(self._order, *((log + change, -change) for log, change in (one, two)))
        holds = (np.maximum(there, back) <= self._log_claim - _INSIDE / 8).all(axis=1) & (ratio <= self._pure)
        return np.where(holds, request.attained(log_q, ratio), 0.0)


def renyi_tradeoff(orders: Array, values: Array, pure: float, fpr: Array) -> tuple[Array, Array]:
    """The smallest false negative rate that the divergences allow at each false positive rate, and the order
    that decides; `orders` and `values` have one row for every rate, or one for all.

    Corollary 1 (eq. 48) of *Three Variants*: test errors (x, beta) are possible only if the coins 1 - x and
    beta, and 1 - beta and x, stay within the claim: again the region, read upwards. Orders from 1/2 on
    together give the best rule there is (Riess et al. 2026).
    """
    shape = (fpr.size, orders.shape[-1])
    order = np.broadcast_to(np.where(np.abs(orders - 1) < _NEAR_ONE, 1 - _NEAR_ONE, orders), shape)
    gamma, x = np.broadcast_to(values, shape) * (1 + 1e-14) + 1e-15, fpr[:, None]
    low, high = np.zeros(shape), np.broadcast_to(1 - x, shape)
    for _ in range(60):
        # geometric while the interval spans magnitudes, so that tiny rates keep their digits
        middle = np.where(high > 4 * low, np.sqrt(np.maximum(low, 1e-300) * high), (low + high) / 2)
        possible = (_coin_divergence(order, 1 - x, middle) <= gamma) & (
            _coin_divergence(order, 1 - middle, x) <= gamma
        )
        low, high = np.where(possible, low, middle), np.where(possible, middle, high)
    best = low.argmax(axis=1)[:, None]
    least, decides = (np.take_along_axis(part, best, axis=1)[:, 0] for part in (low, order))
    factor = math.exp(min(pure, 700.0)) * (1 + 4 * EPS)  # Wasserman and Zhou 2010
    steep = np.maximum(np.maximum(1 - factor * fpr, (1 - fpr) / factor), 0.0)
    return np.maximum(least, steep), decides


def _log_rest(log_q: Array, ratio: Array) -> Array:
    """log(1 - p); p + q is at most 1."""
    rest: Array = np.log(np.maximum(-np.expm1(log_q + ratio), np.exp(log_q)))
    return rest


def _log_generator(order: Array, x: Array) -> Array:
    """log f(e^x)."""
    a, y = order - 1, np.abs(x)
    one, two = np.expm1(-a * y), np.expm1(-y)
    # above 1 divided by r^order
    size = np.where(x > 0, a * two * (1 + one) - one, one * np.exp(-y) - a * two) / (order * a)
    if (near := (order + 1) * y < _SMALL).any():
        total, factor, term = np.full_like(y, 0.5), np.ones_like(order), np.full_like(y, 0.5)
        for k in range(3, 8):  # x^k / k! times 1 + order + ... + order^(k-2)
            factor, term = factor * order + 1, term * x / k
            total = total + factor * term
        size = np.where(near, total * y * y * np.exp(-order * np.maximum(x, 0.0)), size)
    result: Array = np.log(size) + order * np.maximum(x, 0.0)
    return result


def _log_divergence(order: Array, *sides: tuple[Array, Array]) -> Array:
    """log of q f(p / q) + (1 - q) f((1-p) / (1-q)), from the logarithms of both probabilities and ratios."""
    parts = [log_q + _log_generator(order, ratio) for log_q, ratio in sides]
    total: Array = np.logaddexp(*parts)
    return total


def _log_steepness(order: Array, log_u: Array, log_v: Array) -> Array:
    """log of f'(u) - f'(v)."""
    a = order - 1
    steepness: Array = a * log_u + np.log(-np.expm1(-a * (log_u - log_v)) / a)
    return steepness


def _line(order: Array, log_claim: Array, log_u: Array, log_v: Array) -> tuple[Array, Array]:
    """The line of a claim for two ratios v < u: epsilon and log delta, both rounded up."""
    a, gap = order - 1, log_u - log_v
    epsilon = log_u + np.log(np.expm1(-order * gap) / np.expm1(-a * gap) * (a / order))
    # c - f(v) - (1-v) f'(v) = c + v^order f(1/v)
    log_delta = np.logaddexp(log_claim, order * log_v + _log_generator(order, -log_v))
    log_delta += _ROUNDING * (64 + np.abs(a * log_u) + np.abs(order * log_v) + np.abs(log_delta))
    epsilon += _ROUNDING * (1 + np.abs(log_u))
    return epsilon, log_delta - _log_steepness(order, log_u, log_v)


def _coin_divergence(alpha: Array, a: Array, b: Array) -> Array:
    """The Rényi divergence of a coin of bias a from one of bias b."""
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        parts = [
            np.where(x > 0, alpha * np.log(x) + (1 - alpha) * np.log(y), -np.inf)
            for x, y in ((a, b), (1 - a, 1 - b))
        ]
        result: Array = np.logaddexp(parts[0], parts[1]) / (alpha - 1)
    return np.where(np.isnan(result), np.inf, result)
