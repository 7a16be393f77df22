"""The search for the best exponent h = a.φ where e^h times the noise has a second peak far out.

Where the leading coefficient of the best polynomial nearly vanishes, a peak hundreds of scales out, of mass
1e-12 or less and as narrow as a hundredth of a scale, makes up the highest moments. Its mass is exponential
in h there, so that Newton's method in a alone creeps: a step may hardly move the peak without multiplying
its mass by e^100. So the logarithms of the masses of the peaks are unknowns of their own, and
"log mass = what h says" is one more equation, linearised like the others (a primal-dual method, or sequential
quadratic programming with the peak's height as a constraint). On the way masses and heights may disagree
by factors of e^1000; at the end they agree.
"""

import math
from typing import NamedTuple

import numpy as np

from indistinct.adversaries.solvers.kullback_certificate import ExponentialFamily
from indistinct.adversaries.solvers.newton import inverse_of
from indistinct.numerics.arrays import Array

_MOST_STEPS, _MOST_TRIALS = 40, 22
"""Steps, and functions tried: who needs more has begun too far away, and nearer barriers cost less."""
_NOTHING = 1e-26
"""A Newton decrement that is rounding."""
_RISE = 5.0
"""A peak is told from the bulk by a valley as deep as this, in logarithms."""
_NEAR = 1.0
"""How far the top of the bulk may move in a step."""
_HIGHEST = 1e6
"""How far above the bulk a peak may stand on the way, in logarithms."""
_LONGEST = 4.0
"""The logarithm of a mass changes by no more in a step."""
_FIRST_SHARE = 1e-3
"""Of a moment, at most, in a peak that has just come up."""


class _Part(NamedTuple):
    """Nodes of one side's peak: what h says of its mass, in logarithms and against the bulk, and shares."""

    nodes: slice
    height: float
    shares: Array


class _PeakSplit(NamedTuple):
    """Features at nodes, the bulk's nodes with their shares, its top, and the peaks by side."""

    basis: Array
    bulk: slice
    shares: Array
    top: float
    peaks: dict[int, _Part]


class PeakSearch:
    """The largest a . target - log E_Q e^{a.φ} + barrier log|a_last|, where a_last has one sign."""

    def __init__(self, family: ExponentialFamily) -> None:
        self._family, self._measure = family, family.measure
        self._basis = family.basis
        self._left = _MOST_TRIALS

    def propose(self, a: Array, barrier: float) -> Array:
        """From the solution for a barrier that is not much higher, wherever that ends."""
        split, masses = self._split(a, None), dict[int, float]()
        self._left = _MOST_TRIALS
        for _ in range(_MOST_STEPS):
            if split is None or not self._left:
                break
            masses = {side: masses.get(side, _first(split, side)) for side in split.peaks}
            density = np.zeros(split.basis.shape[1])
            density[split.bulk] = split.shares
            for side, part in split.peaks.items():
                density[part.nodes] = math.exp(masses[side]) * part.shares
            density /= density.sum()
            slope, bend, centred = self._family.slope(a, split.basis, density, barrier)
            off = {side: masses[side] - part.height for side, part in split.peaks.items()}
            for side, part in split.peaks.items():
                slope -= off[side] * (centred[:, part.nodes] @ density[part.nodes])
            undo = inverse_of(bend)
            if undo is None:
                break
            step = undo(-slope)
            if not abs(float(slope @ step)) > _NOTHING and all(abs(o) < 1e-9 for o in off.values()):
                break
            moves = {
                side: float(part.shares @ (step @ centred[:, part.nodes])) - off[side]
                for side, part in split.peaks.items()
            }
            size, split = self._along(a, step, split)
            a = a + size * step
            masses = {s: masses[s] + min(max(size * moves[s], -_LONGEST), _LONGEST) for s in moves}
        return a

    def _along(self, a: Array, step: Array, before: _PeakSplit) -> tuple[float, _PeakSplit | None]:
        """How far to go: the bulk changes by a factor of e, and the last coefficient keeps its sign."""
        change = step @ before.basis[:, before.bulk]
        moved = math.sqrt(max(float(before.shares @ (change - before.shares @ change) ** 2), 0.0))
        size = min(1.0, 1 / max(moved, 1.0))
        if a[-1] * step[-1] < 0:
            size = min(size, 0.8 * abs(float(a[-1] / step[-1])))
        while size > 1e-8 and self._left:
            self._left -= 1
            there = self._split(a + size * step, before.top)
            if there is not None and all(part.height < _HIGHEST for part in there.peaks.values()):
                return size, there
            size /= 2
        return 0.0, None

    def _split(self, a: Array, top: float | None) -> _PeakSplit | None:
        """The bulk, which is where it was, and the peaks to its left and to its right."""
        ceiling = math.inf
        if top is not None:
            x = np.linspace(top - _NEAR, top + _NEAR, 41)
            around = a @ self._basis @ self._measure.features(x) + self._measure.log_density(x)
            ceiling = float(around.max())
        reach = self._family.reach(a, ceiling)
        if reach is None:
            return None
        x, log_weight = self._measure.rule(reach, exponential=True)
        basis = self._basis @ self._measure.features(x)
        h = a @ basis
        height, log_share = h + self._measure.log_density(x), h + log_weight
        near = np.arange(x.size) if top is None else np.flatnonzero(np.abs(x - top) <= _NEAR)
        if not near.size:
            return None
        middle = int(near[height[near].argmax()])
        first, last = 0, x.size
        for side in (-1, 1):
            outward = np.arange(middle, -1, -1) if side < 0 else np.arange(middle, x.size)
            rise = height[outward] - np.minimum.accumulate(height[outward])
            peak = int(rise.argmax())
            if rise[peak] > _RISE:
                valley = int(outward[height[outward[: peak + 1]].argmin()])
                first, last = (valley + 1, last) if side < 0 else (first, valley)
        if last <= first:
            return None
        log_bulk, shares = _shares(log_share[first:last])
        peaks = {}
        for side, part in ((-1, slice(0, first)), (1, slice(last, x.size))):
            if part.start < part.stop:
                log_mass, inside = _shares(log_share[part])
                if log_mass - log_bulk > -500:
                    peaks[side] = _Part(part, log_mass - log_bulk, inside)
        return _PeakSplit(basis, slice(first, last), shares, float(x[middle]), peaks)


def _first(split: _PeakSplit, side: int) -> float:
    """The logarithm of the mass to begin with."""
    part = split.peaks[side]
    feature = float(np.abs(split.basis[:, part.nodes] @ part.shares).max())
    return min(part.height, math.log(_FIRST_SHARE / (1 + feature)))


def _shares(log_share: Array) -> tuple[float, Array]:
    top = float(log_share.max())
    shares = np.exp(log_share - top)
    total = float(shares.sum())
    return top + math.log(total), shares / total
