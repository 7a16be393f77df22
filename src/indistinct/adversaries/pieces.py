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
from typing import NamedTuple

import numpy as np

from indistinct.adversaries.bends import bends
from indistinct.adversaries.moments import Measure, Moments, Reach, feature_means, log_sum
from indistinct.adversaries.plain_pieces import PlainPieceSearch
from indistinct.adversaries.quadrature import GRADED, Line
from indistinct.adversaries.signed import Signed
from indistinct.adversaries.span import PiecewiseLinearSpan
from indistinct.numerics.arrays import TINY, Array

_MOST_STEPS = 60
_ROUGH, _ENOUGH = 1e-4, 1e-13
_FURTHEST = 0.1
"""From one power to the next, log(A - 1) moves no further than this."""
_FURTHEST_BELOW = 1e5
"""Logarithms of values of h are no further below the largest than this."""
_LONGEST, _SHORTEST = 30.0, 1e-6
"""How far a step may move a coordinate: e^30 in a value; and the least share of a step."""
_NEARLY = 1e-10
"""Means that are met up to rounding."""


class _At(NamedTuple):
    """E_Q[g φ] - E_P φ relative to their sizes, how it changes with the coordinates of the values, the units
    of these, and log(|h|^(A-1) / |g|)."""

    missing: Array
    turn: Array
    log_unit: Array
    log_size: float


class PieceSearch:
    """The least ||a . φ||_A over a . target = 1, for 1 < A < 2, with the features of the span, scaled."""

    def __init__(self, line: Line, span: PiecewiseLinearSpan, moments: Moments) -> None:
        self._line, self._span = line, span
        self.plain = PlainPieceSearch(line, moments)
        """Another search, for where this one is lost."""
        self._scale, self._target = np.diag(moments.basis).copy(), moments.target
        self._solved = [(0.0, Signed.of(moments.second))]  # by log(A - 1)
        under_q, _ = feature_means(line)
        # means are of all sizes; g is of the order of 1, or of the ratio of P to Q
        self._weight = 1 / np.maximum(np.abs(self._scale * under_q), np.abs(self._target))

    def solve(self, power: float) -> Signed:
        """From the nearest power solved, through powers in between. Whatever a . target comes to."""
        goal = math.log(power - 1)
        start, a = min(self._solved, key=lambda known: abs(known[0] - goal))
        count = max(math.ceil(abs(goal - start) / _FURTHEST), 1)
        step = (goal - start) / count
        for k in range(1, count + 1):
            a = Signed(a.sign, (a.log - a.largest()) * math.exp(-step))  # so that |h|^(A-1) stays
            a = self._newton(a, 1 + math.exp(start + k * step), rough=k < count)
        self._solved.append((goal, a))
        return a

    def _newton(self, a: Signed, power: float, *, rough: bool) -> Signed:
        """Until the means are met. Norms of h cannot judge a step: they do not see the pieces where h is
        small. Nor can what is missing of the means, some of which turn a hundred times as fast as others;
        what a further step with the same derivative would be can (Deuflhard's natural monotonicity)."""
        enough = _ROUGH if rough else _ENOUGH
        at = self._at(a, power)
        for _ in range(_MOST_STEPS):
            left = _length(at.missing)
            if not enough < left < math.inf or not np.isfinite(at.turn).all():
                break
            try:
                back = np.linalg.inv(at.turn)
            except np.linalg.LinAlgError:
                break
            move = -back @ at.missing
            place, length = _place(a, at.log_unit), _length(move)
            size = min(1.0, _LONGEST / (float(np.abs(move).max()) + TINY))
            while size > _SHORTEST:
                tried = _moved(place + size * move, at.log_unit)
                there = self._at(tried, power, at.log_size)
                if _length(back @ there.missing) < (1 - size / 4) * length:
                    break
                size /= 2
            else:
                break
            if size == 1 and left < _NEARLY and _length(there.missing) > left / 2:
                break  # rounding
            a, at = tried, there
        return a

    def reach(self, a: Signed, power: float) -> Reach | None:
        """Where |h|^A and |h|^(A-1) times the features matter (|h|^A alone would not see the pieces where h
        nearly vanishes), and the zeros of h; none for a function that is 0 or beyond all numbers."""
        raw = a.times(self._scale)
        if not np.isfinite(raw.largest()) or np.isnan(raw.log).any():
            return None
        raw = Signed(raw.sign, raw.log - raw.largest())

        def with_features(features: Array) -> Array:
            size: Array = (power - 1) * raw.combined(features).log + np.log1p(np.abs(features).max(axis=0))
            return size

        alone = self._line.extent(lambda features: power * raw.combined(features).log)
        beside = self._line.extent(with_features)
        if alone is None or beside is None:
            return None
        low, high = min(alone[0], beside[0]), max(alone[1], beside[1])
        zeros = self._span.signed_zeros(raw)
        return Reach(low, high, zeros[(zeros > low) & (zeros < high)])

    def _log_unit(self, a: Signed) -> Array:
        """The smaller of the values next to each, the ramps standing for a value a scale further out."""
        raw = a.log + np.log(self._scale)
        row = np.concatenate((raw[-2:-1], raw[:-2], raw[-1:]))
        beside = np.concatenate((np.minimum(row[:-2], row[2:]), row[1:2], row[-2:-1]))
        unit: Array = np.maximum(beside - np.log(self._scale), a.largest() - _FURTHEST_BELOW)
        return unit

    def _at(self, a: Signed, power: float, log_size: float | None = None) -> _At:
        line = self._line
        found = self.reach(a, power)
        if found is None:
            return _At(np.full_like(self._target, math.inf), np.zeros((0, 0)), np.zeros(0), 0.0)
        low, high, zeros = found
        ends = line.ends(low, high, zeros)
        left, length = ends[:-1, None], np.diff(ends)[:, None]
        share, other = GRADED.nodes, GRADED.nodes[::-1]
        features = line.features(ends) * self._scale[:, None]
        value = a.combined(features)
        crossed = np.isin(ends, zeros) & ~np.isin(ends, self._span.breaks)
        log_value = np.where(crossed, -math.inf, value.log)
        # h is linear on a panel; in units of the larger of its ends, so that nothing vanishes
        log_large = np.maximum(log_value[:-1], log_value[1:])
        log_large = np.where(log_large > -math.inf, log_large, a.largest() - 2 * _FURTHEST_BELOW)
        one, two = (
            value.sign[:-1] * np.exp(log_value[:-1] - log_large),
            value.sign[1:] * np.exp(log_value[1:] - log_large),
        )
        h = one[:, None] * other + two[:, None] * share
        with np.errstate(divide="ignore"):  # a piece without length has no weight
            log_weight = line.log_density(left + length * share) + np.log(length * GRADED.weights)
        with np.errstate(divide="ignore"):
            log_h = np.log(np.abs(h))
        if log_size is None:
            top = a.largest()
            log_size = log_sum((power * (log_h + log_large[:, None]) + log_weight).ravel())
            # so that E_Q[g h] = E_P h, as far as that is positive
            log_size -= (
                math.log(max(float(a.over(top) @ self._target), 1e-3 * float(self._target.max()))) + top
            )
        with np.errstate(over="ignore", invalid="ignore"):
            g = np.sign(h) * np.exp((power - 1) * (log_h + log_large[:, None]) + log_weight - log_size)
            first, last = features[:, :-1], features[:, 1:]
            missing = first @ (g @ other) + last @ (g @ share) - self._target
        aa, ab, bb = bends(line, ends, (one, two), log_h, log_weight, power)
        log_unit = self._log_unit(a)
        log_coordinate = np.logaddexp(2 * a.log, 2 * log_unit) / 2  # of the derivative of a value in its own
        log_turn = log_coordinate[:, None] + ((power - 2) * log_large - log_size)
        size = (power - 1) * np.exp(np.minimum(log_turn, 300.0))
        turn = (first * aa + last * ab) @ (first * size).T + (first * ab + last * bb) @ (last * size).T
        return _At(self._weight * missing, self._weight[:, None] * turn, log_unit, log_size)


def _length(missing: Array) -> float:
    with np.errstate(over="ignore"):
        length = float(np.linalg.norm(missing))
    return length if length == length else math.inf  # NaN is far, too


def _place(a: Signed, log_unit: Array) -> Array:
    """arsinh(a / unit)."""
    ratio = a.log - log_unit
    place: Array = a.sign * np.where(
        ratio > 20, ratio + math.log(2.0), np.arcsinh(np.exp(np.minimum(ratio, 30.0)))
    )
    return place


def _moved(place: Array, log_unit: Array) -> Signed:
    """unit · sinh(place)."""
    size = np.abs(place)
    with np.errstate(divide="ignore"):
        log_sinh = np.where(size > 20, size - math.log(2.0), np.log(np.sinh(np.minimum(size, 30.0))))
    return Signed(np.sign(place), log_sinh + log_unit)


def pieces_of(measure: Measure, moments: Moments) -> PieceSearch | None:
    """The search for this law and span, where the span is piecewise linear."""
    if not isinstance(measure, Line) or not isinstance(measure.span, PiecewiseLinearSpan):
        return None
    return PieceSearch(measure, measure.span, moments)
