"""Pairs of coins, what a Rényi divergence says about them, and the lines that none of them pass.

A claim of order a is about an f-divergence,

    E_Q f(dP/dQ) <= c,   f(r) = (r^a - 1 - a (r-1)) / (a (a-1)),   c = (e^{(a-1) value} - 1) / (a (a-1)),

and because f is convex **any two ratios v < u** give a line that no coins (p, q) within it pass,

    p <= e^epsilon q + delta,   e^epsilon = (g(u) - g(v)) / (f'(u) - f'(v)),   g(r) = r f'(r) - f(r),
                                delta = (c - f(v) - (1 - v) f'(v)) / (f'(u) - f'(v)):

(epsilon, delta)-DP. The best v and u attain Theorem 3 of *Three Variants of Differential Privacy* (Asoodeh,
Liao, Calmon, Kosut and Sankar 2021) for one order; v = 1 is Proposition 12 of Canonne, Kamath and Steinke
2020. All on plain numbers and logarithms: probabilities may be of any size.
"""

import math
from collections.abc import Callable
from typing import NamedTuple

from indistinct.numerics.arrays import EPS, TINY

_HALVINGS = 90
_HALF = math.log(0.5)
ROUNDING, _SETTLED, _FIRST = 16 * EPS, 1e-13, 1e-3
_NEAR_ONE = 1e-7
_SMALL = 1e-2
FURTHEST = 1e9
"""Beyond this, as a logarithm, nothing is looked for."""


class RenyiClaim(NamedTuple):
    """E_Q f(dP/dQ) <= c, as log c, and the exponent (order - 1) * value that it came from."""

    order: float
    exponent: float
    log_size: float
    moved: bool
    """Whether it is what a claim says of another order, and not all that it says."""

    @classmethod
    def of(cls, stated: float, value: float) -> "RenyiClaim":
        # it holds at smaller orders too: a little below 1, and where squares do not overflow
        order = 1 - _NEAR_ONE if abs(stated - 1) < _NEAR_ONE else min(stated, FURTHEST)
        exponent = (order - 1) * value
        size = math.expm1(min(exponent, 30.0)) / (order * (order - 1))
        log_size = math.log(max(size, TINY)) + max(exponent - 30.0, 0.0)
        return cls(order, exponent, log_size, order != stated)


class Coins(NamedTuple):
    """log q, log(p / q), and the same of the other side; p is at least q, and p + q at most 1."""

    log_q: float
    ratio: float
    log_rest: float
    other: float

    @classmethod
    def at(cls, log_q: float, ratio: float) -> "Coins":
        q = min(exp(log_q), 0.5)
        log_rest = math.log1p(-q)
        if log_q + ratio < _HALF:
            other = math.log1p(math.exp(log_q + ratio) * math.expm1(-ratio) / (1 - q))
        else:
            other = math.log(max(-math.expm1(min(log_q + ratio, 0.0)), q, TINY)) - log_rest
        return cls(log_q, ratio, log_rest, other)

    def excess(self, claim: RenyiClaim) -> float:
        """By how much, as a logarithm, q f(p / q) + (1 - q) f((1-p) / (1-q)) exceeds the claim."""
        one = self.log_q + _log_generator(claim.order, self.ratio)
        two = self.log_rest + _log_generator(claim.order, self.other)
        high, low = (one, two) if one > two else (two, one)
        return (high + math.log1p(math.exp(low - high)) if high > -math.inf else high) - claim.log_size


class Tangent(NamedTuple):
    """p <= sign e^epsilon q + delta for all coins within a claim, and log q where it touches (no claim for
    p + q <= 1, for q >= 0 and for the claim of infinite order)."""

    epsilon: float
    log_delta: float
    sign: float
    log_q: float
    claim: RenyiClaim | None

    @classmethod
    def of(cls, claim: RenyiClaim, coins: Coins) -> "Tangent":
        """For the ratios of coins: epsilon and log delta, both rounded up."""
        order, log_u, log_v = claim.order, coins.ratio, coins.other
        a, gap = order - 1, log_u - log_v
        try:
            shrink = math.expm1(-abs(a) * gap) / abs(a)
            epsilon = (log_u if a > 0 else order * log_u - a * log_v) + math.log(
                math.expm1(-order * gap) / shrink / order
            )
            # c - f(v) - (1-v) f'(v) = c + v^order f(1/v)
            more = order * log_v + _log_generator(order, -log_v) - claim.log_size
            log_delta = claim.log_size + math.log1p(math.exp(more))
            log_delta += ROUNDING * (64 + (order + 1) * gap + abs(log_delta))
            log_delta -= a * (log_u if a > 0 else log_v) + math.log(-shrink)
        except (OverflowError, ValueError, ZeroDivisionError):  # too small to tell
            return LOOSE._replace(log_q=coins.log_q)
        return cls(epsilon + ROUNDING * (1 + gap), log_delta, 1.0, coins.log_q, claim)

    def meets(self, right: "Tangent") -> float:
        """log q where this line meets a flatter one."""
        rise = exp(right.log_delta) - exp(self.log_delta)
        slope = right.sign * exp(right.epsilon - self.epsilon)
        return math.log(rise / (1 - slope)) - self.epsilon if rise > 0 and slope < 1 else math.nan


UPRIGHT, LOOSE = Tangent(math.inf, -math.inf, 1.0, -math.inf, None), Tangent(0.0, 0.0, -1.0, _HALF, None)


class CoinPath(NamedTuple):
    """Coins that become more different as z grows; at z = least they satisfy every claim, and beyond
    z = furthest(claim) they do not satisfy that one, as p^order q^(1-order) is at most e^exponent."""

    coins: Callable[[float], Coins]
    furthest: Callable[[RenyiClaim], float]
    least: float = -700.0

    def leaves(self, claim: RenyiClaim, top: float) -> float:
        """The largest z up to a top at which a claim holds: the secant method on logarithms, on which
        divergences are close to lines, and halving where that leads astray."""
        z = min(self.furthest(claim) if claim.order > 1 else math.inf, top)
        low, high, excess = self.least, z, self.coins(z).excess(claim)
        if excess <= 0:
            return z
        before, was, z = z, excess, z - _FIRST
        for _ in range(_HALVINGS):
            excess = self.coins(z).excess(claim)
            low, high = (low, z) if excess > 0 else (z, high)
            new = z - excess * (z - before) / (excess - was) if excess != was else math.nan
            if not low < new < high:
                new = (low + high) / 2
            if abs(new - z) <= _SETTLED:
                break
            before, was, z = z, excess, new
        return z

    def outside(self, claim: RenyiClaim, place: float) -> float:
        """A place near one where the path leaves a claim, beyond it for sure."""
        coins, step = self.coins(place), _SETTLED
        margin = ROUNDING * (64 + claim.order * (coins.ratio - coins.other) + abs(claim.log_size))
        while step < 1.0:
            if self.coins(place + step).excess(claim) >= margin:
                return place + step
            step *= 2
        return math.inf


def fixed_q(log_q: float) -> CoinPath:
    """The ratio grows: z is the logarithm of log(p / q)."""
    return CoinPath(
        lambda z: Coins.at(log_q, math.exp(z)),
        lambda claim: math.log((claim.exponent - log_q) / claim.order * (1 + ROUNDING)),
    )


def fixed_p(log_p: float, least: float) -> CoinPath:
    """The same at a fixed p."""
    return CoinPath(
        lambda z: Coins.at(log_p - math.exp(z), math.exp(z)),
        lambda claim: math.log((claim.exponent - log_p) / (claim.order - 1) * (1 + ROUNDING)),
        least,
    )


def rising_line(start: float, log_slope: float) -> CoinPath:
    """p = start + e^log_slope q, start at most 0, and q grows: z is log q."""

    def coins(z: float) -> Coins:
        ratio = math.log(max(start * exp(-z) + exp(log_slope), 1.0)) if start else log_slope
        return Coins.at(z, ratio)

    def furthest(claim: RenyiClaim) -> float:
        most = claim.exponent - claim.order * log_slope
        return math.inf if start else most + ROUNDING * abs(most)

    return CoinPath(coins, furthest, -FURTHEST)


def falling_line(start: float, log_slope: float, least: float) -> CoinPath:
    """The same with start above 0, and q falls: z is -log q."""
    return CoinPath(
        lambda z: Coins.at(-z, math.log(start + exp(log_slope - z)) + z),
        lambda claim: (claim.exponent - claim.order * math.log(start)) / (claim.order - 1) * (1 + ROUNDING),
        least,
    )


def _log_generator(order: float, x: float) -> float:
    """log f(e^x)."""
    a, y = order - 1, abs(x)
    if (order + 1) * y < _SMALL:
        total, factor, term = 0.5, 1.0, 0.5
        for k in range(3, 8):  # x^k / k! times 1 + order + ... + order^(k-2)
            factor, term = factor * order + 1, term * x / k
            total += factor * term
        return math.log(total) + 2 * math.log(y) if y else -math.inf
    if a * y < -600:
        return x - math.log(-a) if x > 0 else -math.log(order)
    one, two = math.expm1(-a * y), math.expm1(-y)
    # above 1 divided by r^order
    if x > 0:
        return math.log((a * two * (1 + one) - one) / (order * a)) + order * x
    return math.log((one * math.exp(-y) - a * two) / (order * a))


def exp(x: float) -> float:
    """Infinity where that overflows."""
    return math.exp(x) if x < 709.0 else math.inf
