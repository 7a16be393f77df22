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
2020. Two such lines with weights, of one claim or of two, are an upper bound for all claims together: the
dual programme, in which more than two have none. The coins that the lines touch are the lower one.

Few claims decide, so these are exchanged: the worst coins for some claims are looked at by all of them, and
the claim that they break most is added, until none is broken. Wherever that stops, the lines are a bound.

Orders between stated ones need no lines of their own: (order - 1) d is convex in the order, so coins that
satisfy the claims satisfy their chords too. The region is the same with p and q swapped, and with both sides
of the coins swapped, so that coins with p + q <= 1 are enough for epsilon >= 0; and there d(p || q) is the
larger of the two divergences.

One request is answered at a time, on plain numbers: a dozen claims are too few for arrays to be quicker.
"""

import math
from bisect import bisect_left
from collections.abc import Callable
from typing import NamedTuple

from indistinct.numerics.arrays import EPS, TINY

_STEPS, _ROUNDS, _HALVINGS = 80, 40, 90
CLOSED = 1e-10
"""The gap between both ends, relative to the upper one, at which a search stops."""
_BROKEN = 1e-10
"""By how much, as a logarithm, a claim must be broken for it to count."""
_INSIDE = 1e-12
"""How far inside the region, as a share of log(p / q), the coins of a lower bound are taken."""
_HALF = math.log(0.5)
_ROUNDING, _SETTLED = 16 * EPS, 1e-14
_NEAR_ONE, _LEAST_STEP = 1e-7, 1e-5
_SMALL = 1e-2
_FURTHEST = 1e9
"""Beyond this, as a logarithm, nothing is looked for."""
_IMPOSSIBLE = (OverflowError, ValueError, ZeroDivisionError)


class Claim(NamedTuple):
    """E_Q f(dP/dQ) <= c, with log c, and the exponent (order - 1) * value that it came from."""

    order: float
    exponent: float
    log_size: float

    @classmethod
    def of(cls, order: float, value: float) -> "Claim":
        # it holds at smaller orders too: a little below 1, and where squares do not overflow
        order = 1 - _NEAR_ONE if abs(order - 1) < _NEAR_ONE else min(order, _FURTHEST)
        exponent = (order - 1) * value
        size = math.expm1(min(exponent, 30.0)) / (order * (order - 1))
        return cls(order, exponent, math.log(max(size, TINY)) + max(exponent - 30.0, 0.0))


class Coins(NamedTuple):
    """log q, log(p / q), and the same of the other side; p + q is at most 1."""

    log_q: float
    ratio: float
    log_rest: float
    other: float

    @classmethod
    def at(cls, log_q: float, ratio: float) -> "Coins":
        q, log_rest = math.exp(log_q), math.log1p(-math.exp(log_q))
        if log_q + ratio < _HALF:
            other = math.log1p(math.exp(log_q + ratio) * math.expm1(-ratio) / (1 - q))
        else:
            other = math.log(max(-math.expm1(log_q + ratio), q, TINY)) - log_rest
        return cls(log_q, ratio, log_rest, other)

    def swapped(self) -> "Coins":
        return Coins(self.log_q + self.ratio, -self.ratio, self.log_rest + self.other, -self.other)

    def log_divergence(self, order: float) -> float:
        """log of q f(p / q) + (1 - q) f((1-p) / (1-q))."""
        one = self.log_q + _log_generator(order, self.ratio)
        two = self.log_rest + _log_generator(order, self.other)
        high, low = (one, two) if one > two else (two, one)
        return high + math.log1p(math.exp(low - high)) if high > -math.inf else high


class Line(NamedTuple):
    """p <= sign e^epsilon q + delta for all coins of the region, where it touches, and its claim (none for
    p + q <= 1, for q >= 0 and for the claim of infinite order)."""

    epsilon: float
    log_delta: float
    sign: float
    log_q: float
    claim: Claim | None


_UPRIGHT, _LOOSE = Line(math.inf, -math.inf, 1.0, -math.inf, None), Line(0.0, 0.0, -1.0, _HALF, None)


class DeltaAt(NamedTuple):
    """The largest p - e^epsilon q, for epsilon >= 0."""

    epsilon: float

    def too_steep(self, line: Line) -> float:
        """By how much a line is steeper than the one that answers; falls as q grows along the region."""
        return line.epsilon - self.epsilon if line.sign > 0 else -math.inf

    def most(self, left: Line, right: Line) -> float:
        """The delta of both lines with weights, which are rounded so that they are together not too steep."""
        below = -math.expm1(right.epsilon - self.epsilon) if right.sign > 0 else 1.0 + math.exp(-self.epsilon)
        share = below / (below + _expm1(left.epsilon - self.epsilon)) * (1 - _ROUNDING)
        delta = share * _exp(left.log_delta) + (1 - share) * _exp(right.log_delta)
        # what underflows is not nothing
        return min(max(delta * (1 + _ROUNDING), TINY if right.log_delta > -math.inf else 0.0), 1.0)

    def attained(self, log_q: float, ratio: float) -> float:
        """What coins with this log q and log(p / q) attain."""
        return math.exp(log_q + self.epsilon) * _expm1(max(ratio - self.epsilon, 0.0))

    def simple(self, claim: Claim) -> tuple[float, float]:
        """How good Canonne, Kamath and Steinke 2020, Proposition 12, is, and log q where it touches: p is
        order times delta."""
        order, a = claim.order, claim.order - 1
        log_delta = claim.exponent - a * (self.epsilon - math.log1p(-1 / order)) - math.log(order)
        return log_delta, min(max(log_delta, -750.0), -1.0) + math.log(a) - self.epsilon

    def step(self, order: float, steep: float) -> float:
        """From there to log q where that line is as steep as asked for."""
        return order * steep


class EpsilonAt(NamedTuple):
    """The largest log((p - delta) / q), or 0, for delta in (0, 1)."""

    delta: float

    def too_steep(self, line: Line) -> float:
        return math.log(self.delta) - line.log_delta

    def most(self, left: Line, right: Line) -> float:
        """The epsilon of both lines with weights, which are rounded so that delta is not too large."""
        low, high = _exp(left.log_delta), _exp(right.log_delta)
        share = min((high - self.delta) / (high - low) * (1 + _ROUNDING) + EPS * high / (high - low), 1.0)
        if share > 0 and left.epsilon == math.inf:
            return math.inf
        slope = right.sign * _exp(right.epsilon - left.epsilon)
        above = math.log(max(slope + (1 - slope) * share, TINY))
        return max(left.epsilon + above + _ROUNDING * (1 + left.epsilon + abs(above)), 0.0)

    def attained(self, log_q: float, ratio: float) -> float:
        share = _exp(math.log(self.delta) - log_q - ratio)
        return max(ratio + math.log1p(-share), 0.0) if share < 1 else 0.0

    def simple(self, claim: Claim) -> tuple[float, float]:
        order, a, log_delta = claim.order, claim.order - 1, math.log(self.delta)
        epsilon = (claim.exponent - log_delta - math.log(order)) / a + math.log1p(-1 / order)
        return epsilon, log_delta + math.log(a) - max(epsilon, 0.0)

    def step(self, order: float, steep: float) -> float:
        return steep / (1 - 1 / order)


Request = DeltaAt | EpsilonAt


class FixedQ(NamedTuple):
    """Coins with this q, the ratio growing: z is the logarithm of log(p / q)."""

    log_q: float
    least: float = -700.0
    """A z at which no claim is broken."""

    def coins(self, z: float) -> Coins:
        return Coins.at(self.log_q, math.exp(z))

    def furthest(self, claim: Claim) -> float:
        """No coins beyond this z satisfy the claim, as p^order q^(1-order) is at most e^exponent."""
        return math.log((claim.exponent - self.log_q) / claim.order * (1 + _ROUNDING))

    def growth(self, claim: Claim, coins: Coins, z: float) -> float:
        """log of the change of dp - e^epsilon dq with z."""
        return coins.log_q + coins.ratio + z


class FixedP(NamedTuple):
    """Coins with this p, the ratio growing."""

    log_p: float
    least: float = -700.0

    def coins(self, z: float) -> Coins:
        return Coins.at(self.log_p - math.exp(z), math.exp(z))

    def furthest(self, claim: Claim) -> float:
        return math.log((claim.exponent - self.log_p) / (claim.order - 1) * (1 + _ROUNDING))

    def growth(self, claim: Claim, coins: Coins, z: float) -> float:
        return _log_slope(claim.order, coins.ratio, coins.other) + coins.log_q + z


class OnLine(NamedTuple):
    """Coins with p = start + e^log_slope q, as q grows (z is log q) or falls (z is -log q)."""

    start: float
    log_slope: float
    way: float
    least: float = -_FURTHEST

    def coins(self, z: float) -> Coins:
        log_q = self.way * z
        if self.start == 0:
            return Coins.at(log_q, self.log_slope)
        return Coins.at(log_q, max(math.log(max(self.start * _exp(-log_q) + _exp(self.log_slope), TINY)), 0.0))

    def furthest(self, claim: Claim) -> float:
        if self.way < 0:
            return (claim.exponent - claim.order * math.log(self.start)) / (claim.order - 1) * (1 + _ROUNDING)
        least = claim.exponent - claim.order * self.log_slope
        return least + _ROUNDING * abs(least) if self.start == 0 else math.inf

    def growth(self, claim: Claim, coins: Coins, z: float) -> float:
        slope = _log_slope(claim.order, coins.ratio, coins.other)
        gap = abs(self.log_slope - slope)
        return coins.log_q + max(self.log_slope, slope) + math.log(-math.expm1(-gap))


Path = FixedQ | FixedP | OnLine


class Claims:
    """Divergences at finite orders and at infinity, and the coins that satisfy all of them. With `renyi`, of
    which the claims are then values, the orders between them count too."""

    def __init__(
        self, claims: list[Claim], pure: float, renyi: Callable[[float], float] | None = None
    ) -> None:
        self._claims, self._pure, self._renyi = claims, pure, renyi

    # -- along lines ---------------------------------------------------------------------------

    def answer(self, request: Request) -> tuple[float, float]:
        """A lower and an upper bound, so close if that can be."""
        proper = [claim for claim in self._claims if claim.order > 1]
        first = min(proper, key=lambda claim: request.simple(claim)[0], default=self._claims[0])
        log_q = request.simple(first)[1] if proper else -1.0
        some, known, high = [first], list(self._claims), math.inf
        for _ in range(_ROUNDS):
            bound, left, right, coins = self._between(request, some, min(log_q, -1.0))
            high = min(high, bound)
            broken = self._broken(coins, known)
            if broken is None or high <= TINY:
                break
            some = [claim for claim in dict.fromkeys((left.claim, right.claim)) if claim] + [broken]
            log_q = coins.log_q
        return self._inside(request, coins), high

    def _between(
        self, request: Request, some: list[Claim], log_q: float
    ) -> tuple[float, Line, Line, Coins]:
        """The worst coins for some of the claims, between two lines. The place is found by false position
        (Illinois), and if it is a corner of the region, where the lines meet."""
        left, right, above, below, side = _UPRIGHT, _LOOSE, math.inf, -math.inf, 0
        low, high, step, best = -1.0, math.inf, 1.0, Coins.at(log_q, 0.0)
        for _ in range(_STEPS):
            coins, line = self._touching(log_q, some)
            steep, gain = request.too_steep(line), request.attained(coins.log_q, coins.ratio)
            if steep > 0:
                left, above, below, side = line, steep, below / 2 if side > 0 else below, 1
            else:
                right, below, above, side = line, steep, above / 2 if side < 0 else above, -1
            if gain > low:
                low, best = gain, coins
            high = min(high, request.most(left, right))
            if high - low <= CLOSED * high < math.inf:
                break
            width = right.log_q - left.log_q
            if width == math.inf:
                guess = request.step(line.claim.order, steep) * 1.5 if line.claim else -step
                log_q, step = right.log_q + min(max(guess, -8 * step), -_LEAST_STEP * step), 4 * step
            elif right is _LOOSE:
                guess = request.step(line.claim.order, steep) * 1.5 if line.claim else step
                guess = min(max(guess, _LEAST_STEP * step), 8 * step)
                log_q, step = left.log_q + min(guess, width / 2), 4 * step
            else:
                share = above / (above - below) if below > -math.inf else 0.5
                log_q = left.log_q + share * width
                if left.claim is not right.claim and high < 2 * low:
                    log_q = _meet(left, right)
            if not left.log_q < log_q < right.log_q:
                log_q = left.log_q + width / 2
            if not max(left.log_q, -_FURTHEST) < log_q < right.log_q:
                break
        return high, left, right, best

    def _touching(self, log_q: float, some: list[Claim]) -> tuple[Coins, Line]:
        """The coins with this q and the largest p for some claims, and the line that touches these there."""
        path, which = FixedQ(log_q), None
        log_rest = math.log1p(-math.exp(log_q))
        top = math.log(min(log_rest - log_q, self._pure))
        for claim in some:
            place = _leaves(path, claim, top)
            if place < top:
                top, which = place, claim
        coins = path.coins(top)
        if which is not None:
            try:
                return coins, _line(which, coins)
            except _IMPOSSIBLE:
                pass
        elif self._pure < log_rest - log_q:
            return coins, Line(self._pure, -math.inf, 1.0, log_q, None)
        return coins, _LOOSE._replace(log_q=log_q)

    def _inside(self, request: Request, coins: Coins) -> float:
        """What coins attain that satisfy all claims for sure; nothing, where these do not."""
        if self._renyi is not None or coins.ratio <= 0:  # they may break claims that were not looked at
            return 0.0
        coins = Coins.at(coins.log_q, coins.ratio * (1 - _INSIDE))
        for claim in self._claims:
            for way in (coins, coins.swapped()):
                if way.log_divergence(claim.order) > claim.log_size - _INSIDE / 8:
                    return 0.0
        return request.attained(coins.log_q, coins.ratio) if coins.ratio <= self._pure else 0.0

    # -- along paths ---------------------------------------------------------------------------

    def leave(self, path: Path, top: float) -> float:
        """Where a path leaves the region, or not before: at most z = top."""
        known = list(self._claims)
        decides = min((c for c in known if c.order > 1), key=path.furthest, default=known[0])
        place, broken = top, decides
        for _ in range(_ROUNDS):
            new = _leaves(path, broken, place)
            if new < place:
                decides, place = broken, new
            if (broken := self._broken(path.coins(place), known)) is None:
                break
        return min(_outside(path, decides, place), top) if place < top else top

    def _broken(self, coins: Coins, known: list[Claim]) -> Claim | None:
        """The claim that coins break most, if any; where there are claims at all orders, one between those
        that are known is looked for and added to them."""
        if coins.ratio <= 0:
            return None
        excess = [coins.log_divergence(claim.order) - claim.log_size for claim in known]
        while True:
            k = max(range(len(known)), key=excess.__getitem__)
            worst = known[k] if excess[k] > _BROKEN else None
            if self._renyi is None:
                return worst
            near = [j for j in (k - 1, k, k + 1) if 0 <= j < len(known) and known[j].order > 1]
            places = [math.log(known[j].order - 1) for j in near]
            place, most = _top(places, [excess[j] for j in near])
            if most <= max(_BROKEN, 1.05 * excess[k]) or places[-1] - places[0] < _NEAR_ONE:
                return worst
            order = 1 + math.exp(place)
            new = Claim.of(order, self._renyi(order))
            j = bisect_left(known, new)
            known.insert(j, new)
            excess.insert(j, coins.log_divergence(order) - new.log_size)


def _leaves(path: Path, claim: Claim, top: float) -> float:
    """The largest z up to a top at which the coins of a path satisfy a claim: Newton's method on logarithms,
    on which divergences are close to lines, and halving where that leads astray."""
    low, high = path.least, top
    z = min(path.furthest(claim), top) if claim.order > 1 else top
    for _ in range(_HALVINGS):
        coins = path.coins(z)
        size = coins.log_divergence(claim.order)
        gap = claim.log_size - size
        if gap >= 0:
            low = z
            if z >= top:
                return top
        else:
            high = z
        try:
            steepness = _log_steepness(claim.order, coins.ratio, coins.other)
            move = gap / math.exp(path.growth(claim, coins, z) + steepness - size)
        except _IMPOSSIBLE:
            move = -1.0 if gap < 0 else math.inf
        new = z + move
        if not low < new < high:
            new = high if new >= high else (low + high) / 2
        if abs(new - z) <= _SETTLED:
            break
        z = new
    return z


def _outside(path: Path, claim: Claim, place: float) -> float:
    """A place near one where a path leaves a claim, beyond it for sure."""
    coins = path.coins(place)
    margin = _ROUNDING * (64 + claim.order * (coins.ratio - coins.other) + abs(claim.log_size))
    step = _SETTLED
    while step < 1.0:
        if path.coins(place + step).log_divergence(claim.order) >= claim.log_size + margin:
            return place + step
        step *= 2
    return math.inf


# -- lines ---------------------------------------------------------------------------------------


def _line(claim: Claim, coins: Coins) -> Line:
    """The line of a claim for the ratios of coins: epsilon and log delta, both rounded up."""
    order, log_u, log_v = claim.order, coins.ratio, coins.other
    # c - f(v) - (1-v) f'(v) = c + v^order f(1/v)
    log_rest = order * log_v + _log_generator(order, -log_v)
    log_delta = claim.log_size + math.log1p(_exp(log_rest - claim.log_size))
    log_delta += _ROUNDING * (64 + (order + 1) * (log_u - log_v) + abs(log_delta))
    epsilon = _log_slope(order, log_u, log_v) + _ROUNDING * (1 + log_u - log_v)
    return Line(epsilon, log_delta - _log_steepness(order, log_u, log_v), 1.0, coins.log_q, claim)


def _log_slope(order: float, log_u: float, log_v: float) -> float:
    """log of (g(u) - g(v)) / (f'(u) - f'(v))."""
    a, gap = order - 1, log_u - log_v
    quotient = math.expm1(-order * gap) / math.expm1(-abs(a) * gap) * abs(a) / order
    return (log_u if a > 0 else order * log_u - a * log_v) + math.log(quotient)


def _log_steepness(order: float, log_u: float, log_v: float) -> float:
    """log of f'(u) - f'(v)."""
    a = order - 1
    return a * (log_u if a > 0 else log_v) + math.log(-math.expm1(-abs(a) * (log_u - log_v)) / abs(a))


def _log_generator(order: float, x: float) -> float:
    """log f(e^x)."""
    a, y = order - 1, abs(x)
    if (order + 1) * y < _SMALL:
        if y == 0:
            return -math.inf
        total, factor, term = 0.5, 1.0, 0.5
        for k in range(3, 8):  # x^k / k! times 1 + order + ... + order^(k-2)
            factor, term = factor * order + 1, term * x / k
            total += factor * term
        return math.log(total) + 2 * math.log(y)
    if a * y < -600:
        return x - math.log(-a) if x > 0 else -math.log(order)
    one, two = math.expm1(-a * y), math.expm1(-y)
    # above 1 divided by r^order
    if x > 0:
        return math.log((a * two * (1 + one) - one) / (order * a)) + order * x
    return math.log((one * math.exp(-y) - a * two) / (order * a))


def _meet(left: Line, right: Line) -> float:
    """log q where two lines do, the left one steeper."""
    rise = _exp(right.log_delta) - _exp(left.log_delta)
    slope = right.sign * _exp(right.epsilon - left.epsilon)
    return math.log(rise / (1 - slope)) - left.epsilon if rise > 0 and slope < 1 else math.nan


def _top(x: list[float], y: list[float]) -> tuple[float, float]:
    """Where a parabola through three points, of which the middle one is highest, has its top, and how high
    that is; of two the middle, which may be of any height."""
    if len(x) < 3:
        return (x[0] + x[-1]) / 2, math.inf
    left, right = (y[1] - y[0]) / (x[1] - x[0]), (y[2] - y[1]) / (x[2] - x[1])
    bend = (right - left) / (x[2] - x[0])
    if not bend < 0:
        return (x[0] + x[2]) / 2, math.inf
    top = (x[0] + x[1]) / 2 - left / (2 * bend)
    return top, y[0] + (top - x[0]) * (left + bend * (top - x[1]))


def _exp(x: float) -> float:
    return math.exp(x) if x < 709.0 else math.inf


def _expm1(x: float) -> float:
    return math.expm1(x) if x < 709.0 else math.inf
