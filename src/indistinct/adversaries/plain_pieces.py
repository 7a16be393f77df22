"""A second search for piecewise linear functions at orders above 2, in floats.

As `pieces.PieceSearch`, but a step is judged by what is missing of the means, unweighted, and intermediate
powers are hardly solved at all. It is lost where values of h leave what floats hold, and finds a few cases
(Gaussian noise, small shifts, knots 6 scales out) in which the other is lost.
"""

import math
from typing import NamedTuple

import numpy as np

from indistinct.adversaries.bends import bends
from indistinct.adversaries.moments import Moments, log_sum
from indistinct.adversaries.quadrature import GRADED, Line
from indistinct.numerics.arrays import TINY, Array

_MOST_STEPS = 60
_ROUGH, _ENOUGH = 1e-3, 1e-13
_FURTHEST = 0.1
"""From one power to the next, log(A - 1) moves no further than this."""
_SMALLEST, _LARGEST = 1e-290, 1e280
"""Values of h: from order 30 on these take nearly all that a float can hold."""
_LOG_LARGEST = 14.0
"""Of |h|^(A-1): more would cost digits."""
_LONGEST = 30.0
"""No step moves a coordinate by more: e^30 in a value."""


class _At(NamedTuple):
    """E_Q[g φ] - E_P φ, how it changes with the coordinates of the values, and the unit of these."""

    missing: Array
    turn: Array
    unit: Array


class PlainPieceSearch:
    """The least ||a . φ||_A over a . target = 1, for 1 < A < 2, with the features of the span, scaled."""

    def __init__(self, line: Line, moments: Moments) -> None:
        self._line, self._scale, self._target = line, np.diag(moments.basis).copy(), moments.target
        self._solved = [(0.0, moments.second)]  # by log(A - 1)

    def solve(self, power: float) -> Array:
        """From the nearest power solved, through powers in between. Whatever a . target comes to."""
        goal = math.log(power - 1)
        start, a = min(self._solved, key=lambda known: abs(known[0] - goal))
        count = max(math.ceil(abs(goal - start) / _FURTHEST), 1)
        step = (goal - start) / count
        for k in range(1, count + 1):
            a = np.sign(a) * np.abs(a / np.abs(a).max()) ** math.exp(-step)  # so that |h|^(A-1) stays
            a = self._newton(a, 1 + math.exp(start + k * step), rough=k < count)
        self._solved.append((goal, a))
        return a

    def _newton(self, a: Array, power: float, *, rough: bool) -> Array:
        """Until the means are met. Norms cannot judge a step: they do not see the pieces where h is small."""
        enough = _ROUGH if rough else _ENOUGH
        top = min(_LARGEST, math.exp(min(_LOG_LARGEST / (power - 1), 700.0)))
        a = a * (top / float(np.abs(a).max()))
        at = self._at(a, power)
        for _ in range(_MOST_STEPS):
            left = float(np.linalg.norm(at.missing))
            if left < enough:
                break
            try:
                move = np.linalg.solve(at.turn, -at.missing)
            except np.linalg.LinAlgError:
                break
            with np.errstate(over="ignore"):
                place = np.arcsinh(a / at.unit)
            size = min(1.0, _LONGEST / (float(np.abs(move).max()) + TINY))
            while size > 1e-6:
                with np.errstate(over="ignore", invalid="ignore"):
                    tried = np.sinh(place + size * move) * (at.unit / top)
                # beyond what a float can hold, from some order on: the certificate takes what there is
                if np.isfinite(tried).all() and float(tried @ self._target) > 0:
                    tried *= top / float(np.abs(tried).max())
                    there = self._at(tried, power)
                    if np.linalg.norm(there.missing) <= (1 - 0.1 * size) * left:
                        break
                size /= 2
            else:
                break
            a, at = tried, there
        return a

    def _unit(self, a: Array) -> Array:
        """The smaller of the values next to each, the ramps standing for a value a scale further out."""
        raw = np.abs(a * self._scale)
        row = np.concatenate((raw[-2:-1], raw[:-2], raw[-1:]))
        beside = np.concatenate((np.minimum(row[:-2], row[2:]), row[1:2], row[-2:-1]))
        unit: Array = np.maximum(beside / self._scale, _SMALLEST)
        return unit

    def _at(self, a: Array, power: float) -> _At:
        line = self._line
        raw = a * self._scale
        reach = line.extent(lambda features: log_reach(raw, features, power))
        assert reach is not None  # linear functions have all moments
        zeros = line.zeros(raw, *reach)
        ends = line.ends(*reach, zeros)
        left, length = ends[:-1, None], np.diff(ends)[:, None]
        share, other = GRADED.nodes, GRADED.nodes[::-1]
        features = line.features(ends) * self._scale[:, None]
        value = a @ features
        value[np.isin(ends, zeros) & ~np.isin(ends, line.span.breaks)] = 0.0
        # h is linear on a panel; in units of the larger of its ends, so that nothing vanishes
        large = np.maximum(np.maximum(np.abs(value[:-1]), np.abs(value[1:])), _SMALLEST)
        one, two = value[:-1] / large, value[1:] / large
        h = one[:, None] * other + two[:, None] * share
        log_weight = line.log_density(left + length * share) + np.log(length * GRADED.weights)
        log_large = np.log(large)
        with np.errstate(divide="ignore"):
            log_h = np.log(np.abs(h))
        log_v = log_sum((power * (log_h + log_large[:, None]) + log_weight).ravel())
        log_v -= math.log(float(a @ self._target))  # so that E_P h = 1
        g = np.sign(h) * np.exp((power - 1) * (log_h + log_large[:, None]) + log_weight - log_v)
        first, last = features[:, :-1], features[:, 1:]
        missing = first @ (g @ other) + last @ (g @ share) - self._target
        aa, ab, bb = bends(line, ends, (one, two), log_h, log_weight, power)
        unit = self._unit(a)
        coordinate = np.hypot(a, unit)  # the derivative of a value in its coordinate
        log_size = np.log(coordinate)[:, None] + ((power - 2) * log_large - log_v)
        size = (power - 1) * np.exp(np.minimum(log_size, 300.0))
        turn = (first * aa + last * ab) @ (first * size).T + (first * ab + last * bb) @ (last * size).T
        return _At(missing, turn, unit)


def log_reach(raw: Array, features: Array, power: float) -> Array:
    """log of |h|^(A-1) times the features: |h|^A alone would not see the pieces where h nearly vanishes."""
    size: Array = (power - 1) * np.log(np.abs(raw @ features)) + np.log1p(np.abs(features).max(axis=0))
    return size
