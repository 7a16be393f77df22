"""The restricted Rényi divergence of one released number, by convex programming.

For a class closed under scaling (Chaudhuri, Imola and Machanavajjhala 2019, equations 2 and 3, Lemma 3)

    exp((α-1) D) = sup over h of (E_P h)^α / (E_Q |h|^A)^(α-1),   A = α/(α-1),

so D = -log V with V the least E_Q|h|^A of an h = a.φ with E_P h = 1, which is convex in a. Searches propose
an h, and `renyi_certificate` says what it proves: an upper bound, and by V itself a lower one.
"""

import math
from collections.abc import Callable
from functools import cached_property

import numpy as np

from indistinct.adversaries.solvers.bracket import UNKNOWN, Bracket
from indistinct.adversaries.solvers.moments import (
    LostError,
    Moments,
    eliminated,
    feature_moments,
    null_space,
    power_reach,
)
from indistinct.adversaries.solvers.newton import Slope, inverse_of, newton, stages
from indistinct.adversaries.solvers.piecewise import PieceSearch
from indistinct.adversaries.solvers.quadrature import NEAREST, Measure, NoiseLine
from indistinct.adversaries.solvers.renyi_certificate import RenyiCertificate
from indistinct.adversaries.solvers.signed import Coefficients
from indistinct.adversaries.solvers.spans import PiecewiseLinearSpan
from indistinct.numerics.arrays import TINY, Array

CLOSED = 1e-9
"""A gap for which no other search is tried."""
_ENOUGH, _ROUGH = 5e-6, 1e-3
"""Slopes of log ||h|| at which one more step is the last: the certificate loses their square."""
_LOCAL = 1e-3
"""Of that, where means are not of one size and small ones count as much."""
_FURTHEST = 0.4
"""From one power A of |h| to the next, log(A - 1) moves no further than this, and a quarter of it above 2."""


class RenyiProgramme:
    """P and Q with the same features. It keeps its solutions: the next order starts from the nearest."""

    def __init__(self, p: Measure, q: Measure) -> None:
        self.measure = q
        self.moments = feature_moments(p, q, orthonormal=not q.local)
        self.search = NormSearch(q, self.moments)
        self.pieces: PieceSearch | None = None
        if isinstance(q, NoiseLine) and isinstance(q.span, PiecewiseLinearSpan):
            self.pieces = PieceSearch(q, self.moments)
        self._known: dict[float, Bracket] = {}

    def renyi(self, order: float) -> Bracket:
        """The restricted divergence of a finite order above 1."""
        if order not in self._known:
            power, found = order / (order - 1), UNKNOWN
            for propose in self._searches(power):
                if not found.gap < CLOSED:
                    found = found.narrowed(self.judge(power, propose))
            self._known[order] = found
        return self._known[order]

    def _searches(self, power: float) -> list[Callable[[float], Coefficients]]:
        if self.pieces is None:
            return [self.search.propose]
        by_norm = [self.search.propose, self.search.propose_carried]
        by_means = [self.pieces.propose, self.pieces.propose_plainly]
        return [*by_norm, *by_means] if power > 2 else [*by_means, *by_norm]

    def judge(self, power: float, found: Coefficients | Callable[[float], Coefficients]) -> Bracket:
        """What a function proves, whatever it is, or what a search finds."""
        try:
            return self._certificate.judge(power, found(power) if callable(found) else found)
        except (LostError, np.linalg.LinAlgError):
            return UNKNOWN

    @cached_property
    def _certificate(self) -> RenyiCertificate:
        return RenyiCertificate(self.measure, self.moments)


class NormSearch:
    """The least ||a . φ||_A with a . E_P φ = 1."""

    def __init__(self, measure: Measure, moments: Moments) -> None:
        self._measure, self._moments = measure, moments
        self._plane = (eliminated if measure.local else null_space)(moments.target)
        self._solved: list[tuple[float, Array]] = [(0.0, moments.second)]  # by log(A - 1)

    def propose(self, power: float) -> Array:
        """From the nearest power solved, or from what the nearest three foretell, through powers between."""
        goal = math.log(power - 1)
        start, a = self._start(goal)
        for place in stages(start, goal, _FURTHEST if goal < 0 else _FURTHEST / 4):
            a = self._descend(a, 1 + math.exp(place), rough=place != goal)
        self._solved.append((goal, a))
        return a

    def propose_carried(self, power: float) -> Array:
        """From order 2 on, keeping the values of |h|^(A-1) from one power to the next: where features are
        local and h is small at some of them, what other powers foretell may have the wrong sign there."""
        goal, before, a = math.log(power - 1), 0.0, self._moments.second
        for place in stages(0.0, goal, _FURTHEST / 4):
            a = np.sign(a) * np.abs(a / np.abs(a).max()) ** math.exp(before - place)
            a = a / float(a @ self._moments.target)
            a, before = self._descend(a, 1 + math.exp(place), rough=place != goal), place
        return a

    def _start(self, goal: float) -> tuple[float, Array]:
        near = sorted(self._solved, key=lambda known: abs(known[0] - goal))[:3]
        places = [place for place, _ in near]
        if len(set(places)) < 3 or abs(goal - places[2]) > _FURTHEST:
            return near[0]
        # Lagrange's polynomial through them
        shares = [math.prod((goal - q) / (p - q) for q in places if q != p) for p in places]
        return goal, np.array(shares) @ np.array([a for _, a in near])

    def _descend(self, a: Array, power: float, *, rough: bool) -> Array:
        # where h has a double zero the norm bends without bound, so that slopes must be small as well; what
        # the certificate loses grows with the larger of the two powers
        largest, plane = max(power, power / (power - 1)), self._plane
        enough = _ROUGH if rough else _ENOUGH * min(1.0, (5 / largest) ** 2)
        if self._measure.local and not rough:
            enough *= _LOCAL

        def look(a: Array) -> Slope | None:
            try:
                log_norm, slope, bend = self._norm(a, power)
            except LostError:
                return None
            undo = inverse_of(plane.T @ bend @ plane)
            return None if undo is None else Slope(plane.T @ slope, undo, log_norm)

        def move(a: Array, step: Array) -> Array:
            return a + plane @ step

        return newton(look, a, enough=enough, move=move, most=12 if rough else 60)

    def _norm(self, a: Array, power: float) -> tuple[float, Array, Array]:
        """log ||h||_A under Q for h = a . φ, with its first two derivatives in a (divided by the norm)."""
        reach = power_reach(self._measure, self._moments.basis, a, power)
        x, log_weight = self._measure.rule(reach)
        basis = self._moments.basis @ self._measure.features(x)
        h = a @ basis
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            size = power * np.log(np.abs(h)) + log_weight
            top = float(size.max())
            weight = np.exp(size - top)
            total = float(weight.sum())
            weight /= total
            ratio = np.where(h != 0, basis / h, 0.0)
            slope = ratio @ weight
            bend = (power - 1) * ((ratio * weight) @ ratio.T - np.outer(slope, slope))
        if power < 2.5 and reach.cuts.size:
            bend += self._bend_at_zeros(a, power, reach.cuts, top + math.log(total))
        return (top + math.log(total)) / power, slope, bend

    def _bend_at_zeros(self, a: Array, power: float, zeros: Array, log_total: float) -> Array:
        """What |h|^(A-2) holds nearer to its poles than any node: nearly all of it as A falls to 1."""
        step = 1e-6
        ahead, at, behind = (
            self._moments.basis @ self._measure.features(zeros + side * step) for side in (1.0, 0.0, -1.0)
        )
        steepness = np.abs(a @ (ahead - behind)) / (2 * step) + TINY
        # only where h really crosses: the real part of a complex pair is listed too, and needs no help
        crosses = np.abs(a @ at) < NEAREST * steepness * 30
        log_size = (power - 2) * np.log(steepness) + (power - 1) * math.log(NEAREST)
        log_size += self._measure.log_density(zeros) + (math.log(2.0) - log_total)
        size = np.where(crosses, np.exp(np.minimum(log_size, 300.0)), 0.0)
        between = (ahead + behind) / 2
        return (between * size) @ between.T
