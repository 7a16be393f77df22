"""What several Rényi divergences imply together: the worst pair of coins that satisfies all of them.

A test turns any two distributions into two coins, and no divergence grows (data processing). So
delta(epsilon) is the largest p - e^epsilon q over coins (p, q) that satisfy every claim d(p || q) <= value
and d(q || p) <= value: a linear function on a convex region, which the lines of each claim (`coins`) touch.
Two lines with weights, of one claim or of two, are an upper bound for all claims together: the dual
programme, in which more than two have none. The coins that the lines touch are the lower one.

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
from itertools import pairwise
from typing import NamedTuple

from indistinct.guarantees.coins import (
    FURTHEST,
    LOOSE,
    ROUNDING,
    UPRIGHT,
    CoinPath,
    Coins,
    RenyiClaim,
    Tangent,
    exp,
    fixed_q,
)
from indistinct.numerics.arrays import EPS, TINY

_STEPS, _ROUNDS = 80, 40
CLOSED = 1e-10
"""The gap between both ends, relative to the upper one, at which a search stops."""
_BROKEN = 1e-10
"""By how much, as a logarithm, a claim must be broken for it to count."""
_INSIDE = 1e-12
"""How far inside the region, as a share of log(p / q), the coins of a lower bound are taken."""
_TOUCHING, _BESIDE = 1e-8, 0.01
"""Coins touch a claim if what they lack to break it is less; how far from it others are looked at."""
_LEAST_STEP, _NEAREST, _NARROW = 1e-5, 1e-9, 4e-3
_UNDERFLOWS = -750.0


class DeltaAt(NamedTuple):
    """The largest p - e^epsilon q, for epsilon >= 0."""

    epsilon: float

    def too_steep(self, line: Tangent) -> float:
        """By how much a line is steeper than the one that answers; falls as q grows along the region."""
        return line.epsilon - self.epsilon if line.sign > 0 else -math.inf

    def most(self, left: Tangent, right: Tangent) -> float:
        """The delta of both lines with weights, which are rounded so that they are together not too steep."""
        below = -math.expm1(right.epsilon - self.epsilon) if right.sign > 0 else 1.0 + math.exp(-self.epsilon)
        below *= math.exp(self.epsilon - left.epsilon)
        share = below / (below - math.expm1(self.epsilon - left.epsilon)) * (1 - ROUNDING) if below else 0.0
        delta = share * exp(left.log_delta) + (1 - share) * exp(right.log_delta)
        # what underflows is not nothing
        return min(max(delta * (1 + ROUNDING), TINY if right.log_delta > -math.inf else 0.0), 1.0)

    def attained(self, coins: Coins) -> float:
        """What coins attain."""
        return math.exp(coins.log_q + coins.ratio) * -math.expm1(-max(coins.ratio - self.epsilon, 0.0))

    def simple(self, claim: RenyiClaim) -> tuple[float, float]:
        """How good Canonne, Kamath and Steinke 2020, Proposition 12, is, and log q where it touches: p is
        order times delta."""
        order, a = claim.order, claim.order - 1
        log_delta = claim.exponent - a * (self.epsilon - math.log1p(-1 / order)) - math.log(order)
        return log_delta, min(max(log_delta, _UNDERFLOWS), -1.0) + math.log(a) - self.epsilon

    def step(self, order: float, steep: float) -> float:
        """From there to log q where that line is as steep as asked for."""
        return order * steep


class EpsilonAt(NamedTuple):
    """The largest log((p - delta) / q), or 0, for delta in (0, 1)."""

    delta: float

    def too_steep(self, line: Tangent) -> float:
        return math.log(self.delta) - line.log_delta

    def most(self, left: Tangent, right: Tangent) -> float:
        """The epsilon of both lines with weights, which are rounded so that delta is not too large."""
        low, high = exp(left.log_delta), exp(right.log_delta)
        share = min((high - self.delta) / (high - low) * (1 + ROUNDING) + EPS * high / (high - low), 1.0)
        if share > 0 and left.epsilon == math.inf:
            return math.inf
        slope = right.sign * exp(right.epsilon - left.epsilon)
        above = math.log(max(slope + (1 - slope) * share, TINY))
        return max(left.epsilon + above + ROUNDING * (1 + left.epsilon + abs(above)), 0.0)

    def attained(self, coins: Coins) -> float:
        share = exp(math.log(self.delta) - coins.log_q - coins.ratio)
        return max(coins.ratio + math.log1p(-share), 0.0) if share < 1 else 0.0

    def simple(self, claim: RenyiClaim) -> tuple[float, float]:
        order, a, log_delta = claim.order, claim.order - 1, math.log(self.delta)
        epsilon = (claim.exponent - log_delta - math.log(order)) / a + math.log1p(-1 / order)
        return epsilon, log_delta + math.log(a) - max(epsilon, 0.0)

    def step(self, order: float, steep: float) -> float:
        return steep / (1 - 1 / order)


Request = DeltaAt | EpsilonAt


class Claims:
    """Divergences at finite orders and at infinity, and the coins that satisfy all of them. With `renyi`, of
    which the claims are then values, the orders between them count too."""

    def __init__(
        self, claims: list[RenyiClaim], pure: float, renyi: Callable[[float], float] | None = None
    ) -> None:
        self._claims, self._pure, self._renyi = claims, pure, renyi

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

    def leave(self, path: CoinPath, top: float) -> float:
        """Where a path leaves the region, or not before: at most z = top."""
        known, place, decides = list(self._claims), top, None
        proper = [claim for claim in known if claim.order > 1]
        broken: RenyiClaim | None = min(proper, key=path.furthest, default=known[0])
        for _ in range(_ROUNDS):
            if broken is None:
                break
            if (new := path.leaves(broken, place)) < place:
                decides, place = broken, new
            broken = self._broken(path.coins(place), known)
        return min(path.outside(decides, place), top) if decides else top

    def _between(
        self, request: Request, some: list[RenyiClaim], log_q: float
    ) -> tuple[float, Tangent, Tangent, Coins]:
        """The worst coins for some of the claims, between two lines. The place is found by false position
        (Illinois), and if it is a corner of the region, where the lines meet."""
        left, right, above, below, side = UPRIGHT, LOOSE, math.inf, -math.inf, 0
        low, high, step, best = -1.0, math.inf, 1.0, Coins.at(log_q, 0.0)
        for _ in range(_STEPS):
            coins, line = self._touching(log_q, some)
            steep, gain = request.too_steep(line), request.attained(coins)
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
            if left is UPRIGHT or right is LOOSE:  # nothing was seen on that side yet
                guess = 1.5 * abs(request.step(line.claim.order, steep)) if line.claim else step
                guess = min(max(guess, _LEAST_STEP * step), 8 * step, width / 2)
                log_q, step = line.log_q + math.copysign(guess, steep), 4 * step
            elif left.claim is not right.claim and high < 2 * low:
                log_q = left.meets(right)
            else:
                log_q = left.log_q + width * (above / (above - below) if below > -math.inf else 0.5)
            if not left.log_q < log_q < right.log_q:
                log_q = left.log_q + width / 2
            if not max(left.log_q, -4 * FURTHEST) < log_q < right.log_q:
                break
        return high, left, right, best

    def _touching(self, log_q: float, some: list[RenyiClaim]) -> tuple[Coins, Tangent]:
        """The coins with this q and the largest p for some claims, and the line that touches these there."""
        path, which = fixed_q(log_q), None
        most = math.log1p(-math.exp(log_q)) - log_q
        top = math.log(min(most, self._pure))
        for claim in some:
            if (place := path.leaves(claim, top)) < top:
                top, which = place, claim
        coins = path.coins(top)
        if which is not None:
            return coins, Tangent.of(which, coins)
        pure = Tangent(self._pure, -math.inf, 1.0, log_q, None)
        return coins, pure if self._pure < most else LOOSE._replace(log_q=log_q)

    def _broken(self, coins: Coins, known: list[RenyiClaim]) -> RenyiClaim | None:
        """The claim that coins break most, if any; where there are claims at all orders, those between the
        known ones are looked at, and added to them."""
        if coins.ratio <= 0:
            return None
        excess = [coins.excess(claim) for claim in known]
        broken = self._most_broken(coins, known, excess)
        if broken is not None or self._renyi is None:
            return broken
        # coins that touch a claim may break those beside it, wherever others are nearer to being broken
        for claim in [one for one, more in zip(known, excess, strict=True) if more > -_TOUCHING]:
            if claim.order <= 1:
                continue
            here = math.log(claim.order - 1)
            sides = [here - _BESIDE, here, here + _BESIDE]
            top, _ = _top(sides, [coins.excess(self._at(place)) for place in sides])
            new = self._at(min(max(top, here - 0.5), here + 0.5))
            if coins.excess(new) > _BROKEN:
                known.insert(bisect_left(known, new), new)
                return new
        return None

    def _at(self, place: float) -> RenyiClaim:
        assert self._renyi is not None
        order = 1 + math.exp(place)
        return RenyiClaim.of(order, self._renyi(order))

    def _most_broken(self, coins: Coins, known: list[RenyiClaim], excess: list[float]) -> RenyiClaim | None:
        """The one broken most; between known orders it is looked for where a parabola has its top."""
        while True:
            k = max(range(len(known)), key=excess.__getitem__)
            worst = known[k] if excess[k] > _BROKEN else None
            if self._renyi is None or known[k].order < 1:
                return worst
            near = [j for j in (k - 1, k, k + 1) if 0 <= j < len(known) and known[j].order > 1]
            places = [math.log(known[j].order - 1) for j in near]
            if min(b - a for a, b in pairwise([*places, math.inf])) < _NEAREST:
                return worst
            here, width = places[near.index(k)], places[-1] - places[0]
            way = places[0] + places[-1] - 2 * here
            less, more = sorted((here - places[0], places[-1] - here))
            place, most = _top(places, [excess[j] for j in near])
            # a parabola is believed if its points are close, or spread evenly
            if width > _NARROW and more > 8 * less:
                place = here + math.copysign(math.sqrt(more * max(less, _NARROW / 8)), way)
            elif most <= max(_BROKEN, 1.05 * excess[k]):
                if worst is not None or width <= _NARROW:
                    return worst
                place = here + math.copysign(_NARROW / 8, way)
            new = self._at(place)
            j = bisect_left(known, new)
            known.insert(j, new)
            excess.insert(j, coins.excess(new))

    def _inside(self, request: Request, coins: Coins) -> float:
        """What coins attain that satisfy all claims for sure; nothing, where these do not."""
        moved = any(claim.moved for claim in self._claims)
        if self._renyi is not None or moved or coins.ratio <= 0:  # they may break what was not looked at
            return 0.0
        coins = Coins.at(coins.log_q, coins.ratio * (1 - _INSIDE))
        holds = all(coins.excess(claim) <= -_INSIDE / 8 for claim in self._claims)
        return request.attained(coins) if holds and coins.ratio <= self._pure else 0.0


def _top(x: list[float], y: list[float]) -> tuple[float, float]:
    """Where a parabola through three points, of which the middle one is highest, has its top, and how high
    that is; the higher one of two."""
    slopes = [(y[k + 1] - y[k]) / (x[k + 1] - x[k]) for k in range(len(x) - 1)]
    if len(x) < 3 or not slopes[1] < slopes[0]:
        return max(zip(y, x, strict=True))[::-1]
    bend = (slopes[1] - slopes[0]) / (x[2] - x[0])
    top = (x[0] + x[1]) / 2 - slopes[0] / (2 * bend)
    return top, y[0] + (top - x[0]) * (slopes[0] + bend * (top - x[1]))
