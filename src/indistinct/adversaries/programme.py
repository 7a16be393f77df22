"""The restricted Rényi divergence of one released number, by convex programming, with a certificate.

For a class closed under scaling (Chaudhuri, Imola and Machanavajjhala 2019, equations 2 and 3, Lemma 3)

    exp((α-1) D) = sup over h of (E_P h)^α / (E_Q |h|^A)^(α-1),   A = α/(α-1),

so D = -log V with V the least E_Q|h|^A of an h = a.φ with E_P h = 1, which is convex in a. Its dual asks for
the least ||g||_α with E_Q[g φ] = E_P φ. From any h the function g = |h|^(A-1) sign h / V nearly meets that
condition; what is missing, and what quadrature may have got wrong, is made up by a small multiple of bounded
functions, whose norm is added (Minkowski). So what is returned is an upper bound wherever the search
stopped, and V itself gives the lower one.
"""

import math
from collections.abc import Callable
from functools import cached_property
from typing import NamedTuple

import numpy as np

from indistinct.adversaries.bracket import Bracket
from indistinct.adversaries.moments import (
    ROUNDING,
    Measure,
    Reach,
    eliminated,
    feature_moments,
    log_sum,
    null_space,
)
from indistinct.adversaries.pieces import pieces_of
from indistinct.adversaries.quadrature import NEAREST
from indistinct.adversaries.repair import Repair
from indistinct.adversaries.signed import Signed
from indistinct.errors import ArgumentError
from indistinct.numerics.arrays import EPS, TINY, Array

_MOST_STEPS, _FEW_STEPS = 60, 12
_RIDGE = 1e-14
_CLOSED = 1e-9
"""A gap for which no other search is tried."""
_ENOUGH, _ROUGH = 2e-5, 1e-3
"""Slopes of log ||h|| at which one more step is the last."""
_LOG_NEGLIGIBLE = 40.0
_LOCAL = 1e-3
_FURTHEST = 0.4
"""From one power A of |h| to the next, log(A - 1) moves no further than this."""


class _Norm(NamedTuple):
    """log ||h||_A under Q for h = a . φ, with its first two derivatives in a (divided by the norm)."""

    log: float
    slope: Array
    bend: Array


class _Seen(NamedTuple):
    """Features at nodes, the weights of these, log V, and g with its means."""

    basis: Array
    log_weight: Array
    log_v: float
    g: Array
    met: Array


class _LostError(ArithmeticError):
    """A search that has left what can be integrated."""


class Programme:
    """P and Q with the same features. It keeps its solutions: the next order starts from the nearest."""

    def __init__(self, p: Measure, q: Measure) -> None:
        self.measure = q
        self.moments = feature_moments(p, q, orthonormal=not q.local)
        self._plane = (eliminated if q.local else null_space)(self.moments.target)
        self._pieces = pieces_of(q, self.moments)
        self._known: dict[float, Bracket] = {}
        self._solved: list[tuple[float, Array]] = [(0.0, self.moments.second)]  # by log(A - 1)

    def renyi(self, order: float) -> Bracket:
        """The restricted divergence of a finite order above 1."""
        if order not in self._known:
            power = order / (order - 1)
            searches: list[Callable[[float], Array | Signed]] = [self._search]
            if self._pieces is not None:
                searches = [self._pieces.solve, self._pieces.plain.solve]
                searches = (
                    [self._search, self._carried, *searches] if power > 2 else [*searches, self._search]
                )
            found = Bracket(0.0, math.inf)
            for search in searches:
                if not found.gap < _CLOSED:
                    other = self._certified(power, search)
                    found = Bracket(max(found.low, other.low), min(found.high, other.high))
            self._known[order] = found
        return self._known[order]

    def _certified(self, power: float, search: Callable[[float], Array | Signed]) -> Bracket:
        try:
            return self._certify(power, search(power))
        except (_LostError, np.linalg.LinAlgError):
            return Bracket(0.0, math.inf)

    def solution(self, order: float) -> tuple[Array, float]:
        """The coefficients of the best function in the given features, and the divergence."""
        power = order / (order - 1)
        a = self._search(power)
        return a @ self.moments.basis, self._certify(power, a).high

    # -- the search ----------------------------------------------------------------------------

    def _search(self, power: float) -> Array:
        """Newton's method on the norm, from the nearest power solved and through powers in between."""
        goal = math.log(power - 1)
        at, a = self._start(goal)
        while abs(goal - at) > (step := _FURTHEST if at < 0 else _FURTHEST / 4):
            at += math.copysign(step, goal - at)
            a = self._newton(a, 1 + math.exp(at), rough=True)
        a = self._newton(a, power)
        self._solved.append((goal, a))
        return a

    def _carried(self, power: float) -> Array:
        """From order 2 on, keeping the values of |h|^(A-1) from one power to the next: where features are
        local and h is small at some of them, what other powers foretell may have the wrong sign there."""
        goal, a = math.log(power - 1), self.moments.second
        count = max(math.ceil(4 * abs(goal) / _FURTHEST), 1)
        for k in range(1, count + 1):
            a = np.sign(a) * np.abs(a / np.abs(a).max()) ** math.exp(-goal / count)
            a = a / float(a @ self.moments.target)
            a = self._newton(a, 1 + math.exp(goal * k / count), rough=k < count)
        return a

    def _start(self, goal: float) -> tuple[float, Array]:
        """The nearest solution, or what the three nearest foretell."""
        near = sorted(self._solved, key=lambda known: abs(known[0] - goal))[:3]
        places = [place for place, _ in near]
        if len(near) < 3 or len(set(places)) < 3 or abs(goal - places[2]) > _FURTHEST:
            return near[0]
        shares = [
            math.prod((goal - q) / (p - q) for q in places if q != p) for p in places
        ]  # Lagrange's polynomial through them
        return goal, sum(
            (share * a for share, (_, a) in zip(shares, near, strict=True)), np.zeros(near[0][1].size)
        )

    def _newton(self, a: Array, power: float, *, rough: bool = False) -> Array:
        """Steps until both the decrement and the slope are small: where h has a double zero the norm bends
        without bound, and a small decrement alone says nothing."""
        plane, norm = self._plane, self._norm(a, power)
        # what the certificate loses grows with the larger of the two powers
        largest = max(power, power / (power - 1))
        enough = _ROUGH if rough else _ENOUGH * min(1.0, (5 / largest) ** 2)
        if self.measure.local and not rough:
            enough *= _LOCAL  # the means are not of one size: small ones count as much
        for _ in range(_FEW_STEPS if rough else _MOST_STEPS):
            slope = plane.T @ norm.slope
            bend = plane.T @ norm.bend @ plane
            if not (np.diag(bend) > 0).all() or not np.isfinite(bend).all():
                break
            unit = np.sqrt(np.diag(bend))
            try:
                step = np.linalg.solve(
                    bend / np.outer(unit, unit) + _RIDGE * np.eye(unit.size), -slope / unit
                )
            except np.linalg.LinAlgError:
                break
            step /= unit
            decrement = -float(slope @ step)
            if not decrement > 0:
                break
            if decrement < enough**1.5 and float(slope @ slope) < enough**2:
                return a + plane @ step  # the certificate loses the square of what is left
            size, norm = self._along(a, norm, plane @ step, decrement, power)
            if size == 0:
                break
            a = a + size * (plane @ step)
        return a

    def _along(
        self, a: Array, before: _Norm, step: Array, decrement: float, power: float
    ) -> tuple[float, _Norm]:
        """How far to go: until the slope along the step has nearly vanished, by false position. Values decide
        far from the end, slopes near it, where values are flat to rounding."""
        size = 1.0
        for _ in range(20):
            norm = self._norm(a + size * step, power)
            rising = float(norm.slope @ step)
            lower = decrement < 1e-9 or norm.log < before.log
            if lower and not rising > 0.5 * decrement:
                return size, norm
            size *= min(max(decrement / (decrement + max(rising, 0.0)), 0.15), 0.7)
        return 0.0, before

    def _norm(self, a: Array, power: float) -> _Norm:
        reach = self._reach(a, power)
        x, log_weight = self.measure.rule(*reach)
        basis = self.moments.basis @ self.measure.features(x)
        h = a @ basis
        with np.errstate(divide="ignore", invalid="ignore"):
            size = power * np.log(np.abs(h)) + log_weight
            top = float(size.max())
            weight = np.exp(size - top)
            total = float(weight.sum())
            weight /= total
            ratio = np.where(h != 0, basis / h, 0.0)
        slope = ratio @ weight
        bend = (power - 1) * ((ratio * weight) @ ratio.T - np.outer(slope, slope))
        if power < 2.5 and reach.cuts.size:
            bend += self._at_zeros(a, power, reach.cuts, top + math.log(total))
        return _Norm((top + math.log(total)) / power, slope, bend)

    def _at_zeros(self, a: Array, power: float, zeros: Array, log_total: float) -> Array:
        """What |h|^(A-2) holds nearer to its poles than any node: nearly all of it as A falls to 1."""
        step = 1e-6
        ahead, behind = (
            self.moments.basis @ self.measure.features(zeros + side * step) for side in (1.0, -1.0)
        )
        steepness = np.abs(a @ (ahead - behind)) / (2 * step) + TINY
        at = (ahead + behind) / 2
        # only where h really crosses: the real part of a complex pair is listed too, and needs no help
        crosses = np.abs(a @ (self.moments.basis @ self.measure.features(zeros))) < NEAREST * steepness * 30
        log_size = np.where(
            crosses,
            (power - 2) * np.log(steepness)
            + (power - 1) * math.log(NEAREST)
            + self.measure.log_density(zeros)
            + (math.log(2.0) - log_total),
            -math.inf,
        )
        return (at * np.exp(np.minimum(log_size, 300.0))) @ at.T

    def _reach(self, a: Array | Signed, power: float) -> Reach:
        """From where to where |h|^A and |h|^(A-1) times the features matter, and the zeros of h there."""
        if self._pieces is not None:
            found = self._pieces.reach(a if isinstance(a, Signed) else Signed.of(a), power)
            if found is None:
                raise _LostError
            return found
        assert not isinstance(a, Signed)
        raw = a @ self.moments.basis
        reach = self.measure.extent(lambda features: power * np.log(np.abs(raw @ features)))
        if reach is None:
            if self.measure.all_moments or not (raw.any() and np.isfinite(raw).all()):
                raise _LostError
            raise ArgumentError(
                "features", self.measure.named, f"of finite moment of order {power:g} under the noise"
            )
        zeros = self.measure.zeros(raw, *reach)
        return Reach(*reach, zeros[(zeros > reach[0]) & (zeros < reach[1])])

    # -- the certificate -----------------------------------------------------------------------

    def _certify(self, power: float, a: Array | Signed) -> Bracket:
        target, target_error = self.moments.target, self.moments.error
        order = power / (power - 1)
        reach, found = self._reach(a, power), []
        log_unit = a.largest() if isinstance(a, Signed) else 0.0
        values = a.over(log_unit) if isinstance(a, Signed) else a
        reached = float(values @ target) - float(np.abs(values) @ target_error)
        log_reached = math.log(reached) if reached > 0 else 0.0
        for dense in (False, True):
            x, log_weight = self.measure.rule(*reach, dense=dense)
            basis = self.moments.basis @ self.measure.features(x)
            h = a.combined(basis) if isinstance(a, Signed) else Signed.of(a @ basis)
            log_h = h.log - log_unit
            log_v = log_sum(power * log_h + log_weight)
            log_g = (power - 1) * log_h + (log_reached - log_v)
            if not log_g.max() < 600:
                return Bracket(0.0, math.inf)
            g = h.sign * np.exp(log_g)
            found.append(_Seen(basis, log_weight, log_v, g, basis @ (g * np.exp(log_weight))))
        coarse, fine = found
        v_error = abs(fine.log_v - coarse.log_v) + ROUNDING + 8 * EPS * abs(log_reached)
        # what is seen to be missing is put in, what cannot be seen is bounded; outside of its reach g is 0
        change = target - fine.met
        size = np.abs(fine.basis) @ np.abs(fine.g * np.exp(fine.log_weight))
        unseen = np.abs(fine.met - coarse.met) + ROUNDING * size + target_error + self._repair.spilled(change)
        log_powers = [
            _log_power(seen.g + change @ self._repair(seen.basis), order, seen.log_weight) for seen in found
        ]
        log_outside = self._repair.log_outside(
            change, order, reach.low, reach.high, log_powers[1] - _LOG_NEGLIGIBLE
        )
        log_norm = float(np.logaddexp(log_powers[1], log_outside)) / order
        # twice what a finer rule changes: a repaired g may kink where no panel ends
        log_norm += (v_error + 2 * abs(log_powers[1] - log_powers[0])) / order + ROUNDING
        if not math.isfinite(log_norm):
            return Bracket(0.0, math.inf)
        rest = self._repair.cost(unseen, order)
        high = power * float(np.logaddexp(log_norm, math.log(rest + TINY)))
        low = power * log_reached - fine.log_v - v_error if reached > 0 else 0.0
        if math.isnan(high):
            return Bracket(0.0, math.inf)
        return Bracket(max(low, 0.0), max(high, 0.0) * (1 + 4 * EPS))

    @cached_property
    def _repair(self) -> Repair:
        return Repair(self.measure, self.moments.basis)


def _log_power(g: Array, order: float, log_weight: Array) -> float:
    with np.errstate(divide="ignore"):
        return log_sum(order * np.log(np.abs(g)) + log_weight)
