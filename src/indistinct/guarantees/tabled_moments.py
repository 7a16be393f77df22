"""Moments of a pair that a table stands in for. What is beyond the end of a table it gives away, so that its
own moments of orders from 1 on are infinite, and without that mass they are too small.

With r = dP/dQ, E_Q r = 1, d(x) = E_Q (r - x)_+ and f(r) = r^w, or r log r,

    E_Q f(r) = f(1) + int_0^1 f''(x) (x - 1 + d(x)) dx + int_1^inf f''(x) d(x) dx.

Up to the table's end, x = e^t, d is at most the table's: its finite part's and the mass m that it gives away,
which adds w m e^{(w-1)t} to the finite part's moment. From there on d(x) <= A x^-b (Chernoff), for any power
b > w - 1 of which A is known: w (w-1) A e^{-(b-w+1)t} / (b-w+1) more. For orders below 1 f' vanishes far
out, and the table's moment is a bound as it is.
"""

import math
from collections.abc import Callable

import numpy as np

from indistinct.guarantees.discrete_pair import DiscretePair
from indistinct.numerics.arrays import EPS, TINY, Array
from indistinct.numerics.cumulant import log_expm1

LogFar = Callable[[float], float]
"""log A, for a power b."""
_TRIED = (0, 1, 2, 4, 7, 11, 16, 22)
"""How many times the square root of 2 is multiplied for the b that are tried."""
_FINER = (1.0, 0.5, 0.25)
"""What is added to that and taken from it, about the best."""
_FURTHEST = 1e6
"""A table is not said to end beyond this."""
_ROUNDED = 1e-11
"""Of sums of whole powers, relatively: more than is lost to rounding."""


def tabled_moment(table: DiscretePair, order: float, log_far: LogFar) -> float:
    """log E_Q r^order, at most, of a pair without infinite losses that a table dominates."""
    if order <= 1:
        return table.log_moment(order)
    beyond = math.log(order) + _log_beyond(table, order, log_far)
    return float(np.logaddexp(table.log_moment(order), beyond)) * (1 + 64 * EPS)


def tabled_mean(table: DiscretePair, log_far: LogFar) -> float:
    """E_P log r, at most."""
    log_beyond = _log_beyond(table, 1.0, log_far)
    return table.finite_mean + table.infinite_mass + (math.exp(log_beyond) if log_beyond < 700 else math.inf)


def _log_beyond(table: DiscretePair, order: float, log_far: LogFar) -> float:
    """What the table's end adds, without its factor of f''. It may be said to end further out, as its last
    delta holds there too: where that adds as much as what is beyond."""
    last, power, log_mass = table.outer_losses(1.0, -math.inf)[1], order - 1, _log(table.infinite_mass)

    def added(halves: float) -> float:
        tried = 2.0 ** (halves / 2)
        more = tried - power
        if more <= 0:
            return math.inf
        log_rest = log_far(tried) + math.log((power or 1.0) / more)
        end = max(last, min((log_rest - log_mass) / tried, _FURTHEST))
        given = log_mass + (power * end if power else _log(end))
        return float(np.logaddexp(given, log_rest - more * end))

    least = max(math.ceil(2 * math.log2(max(1.01 * power, 0.5))), -2)
    best = min((added(at), at) for at in (float(least + further) for further in _TRIED))
    for step in _FINER:
        best = min(best, *((added(at), at) for at in (best[1] - step, best[1] + step)))
    return best[0]


def _log(x: float) -> float:
    return math.log(max(x, TINY))


def log_chernoff(power: float, log_moment: float) -> float:
    """log A in d(x) <= A x^-power, from log E_Q r^(1+power) (Canonne, Kamath and Steinke 2020, Proposition
    12)."""
    return log_moment - power * math.log1p(1 / power) - math.log1p(power)


def mixed_moment(rate: float, order: float, whole: Array) -> float:
    """log E_Q (1 - rate + rate r)^order, at most, from the log moments of r of orders 2, 3, ...: of a whole
    order by the binomial theorem, where all terms are positive. What a moment of order w is above 1, divided
    by w (w-1), is the integral of x^(w-2) over a measure, so that its logarithm is convex in w, and may be
    read between two whole orders; up to order 2 that of the moment itself is, and is 0 at order 1."""
    below = max(math.floor(order), 2)
    ends = [_mixed_excess(rate, n, whole) - math.log(n * (n - 1)) for n in (below, below + (order > below))]
    if order < 2:
        return (order - 1) * _log_more(ends[0] + math.log(2))
    between = ends[0] + (order - below) * (ends[1] - ends[0]) if order > below else ends[0]
    return _log_more(between + math.log(order * (order - 1)))


def _log_more(log_excess: float) -> float:
    """log(1 + e^x)."""
    return float(np.logaddexp(0.0, log_excess)) if log_excess > -30 else math.exp(log_excess)


def _mixed_excess(rate: float, order: int, whole: Array) -> float:
    """The logarithm of the sum of C(n, j) (1 - rate)^(n-j) rate^j (E_Q r^j - 1), j from 2 on."""
    stay, go = math.log1p(-rate), math.log(rate)
    logs = [
        math.log(math.comb(order, j)) + (order - j) * stay + j * go + log_expm1(moment)
        for j, moment in enumerate(whole[: order - 1].tolist(), start=2)
        if moment > 0
    ]
    return float(np.logaddexp.reduce(logs, initial=-math.inf)) + _ROUNDED
