"""The search for piecewise linear functions at orders above 2, where |h|^A is nearly |h|.

As A falls to 1 the best h vanishes on whole pieces: only |h|^(A-1) stays of the order of 1 there, so the
values of h at knots spread over hundreds of orders of magnitude, and Newton's method in these values creeps.
Three things bring it back. On a panel h is linear, so it is interpolated between the panel's ends and never
cancels, however small. The integral of |h|^(A-2), most of which lies nearer to a zero than any node as A
falls to 1, is put in exactly. And steps are straight in arsinh(value / s), s the smaller of the values next
to it: where a value is well below both neighbours the mean E_Q[|h|^(A-1) sign h φ] is linear in it, where it
is well above one of them nearly linear in its logarithm.
"""

import math

import numpy as np

from indistinct.adversaries.solvers.moments import LostError, Moments, feature_means, log_sum, power_reach
from indistinct.adversaries.solvers.newton import Slope, inverse_of, newton, stages
from indistinct.adversaries.solvers.quadrature import GRADED, NEAREST, NoiseLine
from indistinct.adversaries.solvers.signed import Signed
from indistinct.numerics.arrays import Array

_ROUGH, _ENOUGH = 1e-4, 1e-13
"""What may be missing of the means, as a share of them: on the way to a power, and at the end."""
_FURTHEST = 0.1
"""From one power to the next, log(A - 1) moves no further than this."""
_FURTHEST_BELOW = 1e5
"""Logarithms of values of h are no further below the largest than this."""
_LONGEST = 30.0
"""How far a step may move a coordinate: e^30 in a value."""


class PieceSearch:
    """The h = a . φ for which E_Q[g φ] = E_P φ, g = |h|^(A-1) sign h, with features of unit size."""

    def __init__(self, line: NoiseLine, moments: Moments) -> None:
        self._line, self._basis = line, moments.basis
        self._scale, self._target = np.diag(moments.basis).copy(), moments.target
        under_q, _ = feature_means(line)
        # means are of all sizes; g is of the order of 1, or of the ratio of P to Q
        self._weight = 1 / np.maximum(np.abs(self._scale * under_q), np.abs(self._target))
        second = Signed.of(moments.second)
        self._solved = {plain: [(0.0, second)] for plain in (False, True)}  # by log(A - 1)

    def propose(self, power: float) -> Signed:
        """From the nearest power solved, through powers in between. Whatever a . target comes to."""
        return self._propose(power, plain=False)

    def propose_plainly(self, power: float) -> Signed:
        """The same, but a step is judged by what it leaves of the means, as they are, and g is scaled anew
        after each: slow where P lives where Q hardly does, and found where the other is lost."""
        return self._propose(power, plain=True)

    def _propose(self, power: float, *, plain: bool) -> Signed:
        goal, solved = math.log(power - 1), self._solved[plain]
        before, a = min(solved, key=lambda known: abs(known[0] - goal))
        for place in stages(before, goal, _FURTHEST):
            a = Signed(a.sign, (a.log - a.largest()) * math.exp(before - place))  # so that |h|^(A-1) stays
            a = self._solve(a, 1 + math.exp(place), _ENOUGH if place == goal else _ROUGH, plain=plain)
            before = place
        solved.append((goal, a))
        return a

    def _solve(self, a: Signed, power: float, enough: float, *, plain: bool) -> Signed:
        """Until the means are met. Norms of h cannot judge a step: they do not see the pieces where h is
        small."""
        first = self._log_size(a, power)

        def look(a: Signed) -> Slope | None:
            try:
                log_size = self._log_size(a, power) if plain else first
                return self._missing(a, power, log_size, 1.0 if plain else self._weight)
            except LostError:
                return None

        return newton(look, a, enough=enough, move=self._move, longest=_LONGEST, natural=not plain)

    def _log_size(self, a: Signed, power: float) -> float:
        """log of |h|^(A-1) / |g|, such that E_Q[g h] = E_P h."""
        reached = float(a.over(a.largest()) @ self._target)
        if not reached > 0:
            raise LostError
        x, log_weight = self._line.rule(power_reach(self._line, self._basis, a, power))
        log_h = a.combine(self._basis @ self._line.features(x)).log
        return log_sum(power * log_h + log_weight) - math.log(reached) - a.largest()

    def _log_unit(self, a: Signed) -> Array:
        """The smaller of the values next to each, the ramps standing for a value a scale further out."""
        raw = a.log + np.log(self._scale)
        row = np.concatenate((raw[-2:-1], raw[:-2], raw[-1:]))
        beside = np.concatenate((np.minimum(row[:-2], row[2:]), row[1:2], row[-2:-1]))
        unit: Array = np.maximum(beside - np.log(self._scale), a.largest() - _FURTHEST_BELOW)
        return unit

    def _move(self, a: Signed, step: Array) -> Signed:
        """Along a step that is straight in arsinh(a / unit)."""
        log_unit = self._log_unit(a)
        ratio = a.log - log_unit
        place = a.sign * np.where(ratio > 20, ratio + math.log(2), np.arcsinh(np.exp(np.minimum(ratio, 30))))
        size = np.abs(place + step)
        with np.errstate(divide="ignore"):
            log_sinh = np.where(size > 20, size - math.log(2.0), np.log(np.sinh(np.minimum(size, 30.0))))
        return Signed(np.sign(place + step), log_sinh + log_unit)

    def _missing(self, a: Signed, power: float, log_size: float, weight: Array | float) -> Slope | None:
        """E_Q[g φ] - E_P φ, weighted, g = |h|^(A-1) sign h in a unit, and what undoes its
        derivative in the coordinates of the values."""
        line = self._line
        reach = power_reach(line, self._basis, a, power)
        ends = line.ends(reach)
        left, length = ends[:-1, None], np.diff(ends)[:, None]
        share, other = GRADED.nodes, GRADED.nodes[::-1]
        features = line.features(ends) * self._scale[:, None]
        value = a.combine(features)
        crossed = np.isin(ends, reach.cuts) & ~np.isin(ends, line.span.breaks)
        log_value = np.where(crossed, -math.inf, value.log)
        # h is linear on a panel; in units of the larger of its ends, so that nothing vanishes
        log_large = np.maximum(log_value[:-1], log_value[1:])
        log_large = np.where(log_large > -math.inf, log_large, a.largest() - 2 * _FURTHEST_BELOW)
        one = value.sign[:-1] * np.exp(log_value[:-1] - log_large)
        two = value.sign[1:] * np.exp(log_value[1:] - log_large)
        h = one[:, None] * other + two[:, None] * share
        with np.errstate(divide="ignore"):  # a piece without length has no weight
            log_weight = line.log_density(left + length * share) + np.log(length * GRADED.weights)
            log_h = np.log(np.abs(h))
        first, last = features[:, :-1], features[:, 1:]
        with np.errstate(over="ignore", invalid="ignore"):
            g = np.sign(h) * np.exp((power - 1) * (log_h + log_large[:, None]) + log_weight - log_size)
            missing = first @ (g @ other) + last @ (g @ share) - self._target
        if not np.isfinite(missing).all():
            return None
        # |h|^(A-2) against the squares and the product of the two hats of a panel: as the nodes see it, and
        # what they miss at the end nearer to a zero
        bend = np.exp((power - 2) * np.maximum(log_h, math.log(NEAREST)) + log_weight)
        at_left = np.abs(one) < np.abs(two)
        missed = np.diff(ends) * np.exp(line.log_density(np.where(at_left, ends[:-1], ends[1:])))
        missed *= _missed(np.minimum(np.abs(one), np.abs(two)), power)
        aa = bend @ (other * other) + np.where(at_left, missed, 0.0)
        bb = bend @ (share * share) + np.where(at_left, 0.0, missed)
        ab = bend @ (other * share)
        # of the derivative of a value in its own coordinate
        log_coordinate = np.logaddexp(2 * a.log, 2 * self._log_unit(a)) / 2
        log_turn = log_coordinate[:, None] + ((power - 2) * log_large - log_size)
        size = (power - 1) * np.exp(np.minimum(log_turn, 300.0))
        turn = (first * aa + last * ab) @ (first * size).T + (first * ab + last * bb) @ (last * size).T
        undo = inverse_of((turn.T * weight).T)
        return None if undo is None else Slope(weight * missing, undo)


def _missed(small: Array, power: float) -> Array:
    """The integral of (small + (1 - small) x)^(A-2) over [0, 1], less what a graded panel gives of it."""
    low = np.minimum(small, 0.5)  # above, the panel gives all of it
    exact = (1 - low ** (power - 1)) / ((power - 1) * (1 - low))
    seen = (low[:, None] * GRADED.nodes[::-1] + GRADED.nodes) ** (power - 2) @ GRADED.weights
    missed: Array = np.where(small < 0.5, np.maximum(exact - seen, 0.0), 0.0)
    return missed
