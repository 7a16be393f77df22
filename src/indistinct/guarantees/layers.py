"""The profile of the best of a random number of tries, layer by layer.

A run is tried K times, K being drawn from a law of `Tries` that does not depend on the data, and only the
output of the highest score is released. Scores are part of what a run outputs, or follow from it; equal ones
are ordered at random.

Take one pair of neighbours, P and Q being the outputs of a run. Look at an output with y = P(better outputs)
and x = Q(better outputs). The best of K tries is there with density w(y) dP under P and w(x) dQ under Q;
w(y) = phi'(1 - y) is the weight of `Tries`, so

    delta'(epsilon) = integral of (w(y) dP - e^epsilon w(x) dQ)_+.

*How far x and y can be apart.* "Better than this" is an event, so y is at least B(x), the least P-probability
that an event of Q-probability x may have: the lower end of the best tests of the run. Let V be convex with
V(0) = 0 and w(x) >= V(w(y)) for all x and all y >= B(x); since w falls, the points x and y = B(x) decide
that. With slopes u(v), V(w) is the integral of u(v) over v from 0 to w.

*Layers.* So w(y) dP - e^epsilon w(x) dQ is at most the integral of dP - e^epsilon u(v) dQ over 0 < v < w(y).
Take positive parts inside, and exchange the integrals. In the layer v are the outputs with w(y) > v. Their
share of P is at most y(v), the place where the weight falls to v, and the positive parts add up to at most
delta of the run:

    delta'(epsilon) <= integral over 0 < v < E[K] of min(delta(epsilon + log u(v)), y(v)) dv.     (*)

This needs the profile of the run at every epsilon, and nothing else. With the one slope that bounds all
others, u(0), and without y(v), it says delta'(epsilon) <= E[K] delta(epsilon + log u(0)), as Koskela, Redberg
and Wang 2024 ("Privacy profiles for private selection") do with what two points of the profile say of u(0);
for pure epsilon and a geometric K it gives at most 3 epsilon (Liu and Talwar 2019, "Private selection from
private candidates"). Neither direction is worse in general, and each has its own bound (*).
"""

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from indistinct.guarantees.discrete_pair import DiscretePair
from indistinct.guarantees.polygon import hull_vertices
from indistinct.guarantees.tries import Tries
from indistinct.numerics.arrays import EPS, TINY, Array

_PLACES = 4097
"""Places of the order at which weights are compared."""
_LAYERS = 193
_GRADED = 6.0
"""Layers are closest to each other where u is smallest: the first step is e^-6 of the range."""
_WEIGHTS = 65
_LEAST = TINY / EPS
"""Smaller weights have not all digits."""
ROUNDING = 1e-11
"""More than what is lost in adding up a table."""
_LOG_LEAST = -69.0
"""log of a delta' that a table does not tell apart from what lies beyond it."""
LARGEST = 300.0
"""A table ends here at the latest."""


@dataclass(frozen=True)
class Layers:
    """The right-hand side of (*) in one direction: blocks of layers, in each of which u is between two ends.
    As delta is convex in e^epsilon u, no block has more than its weight at these ends with the same mean."""

    run: DiscretePair
    log_u: Array
    """Of both ends, block by block: two rows."""
    share: Array
    """Weights of both ends."""
    most: Array
    """The integral of y(v) over each block, at most."""
    log_least: float
    """log u(0), at most: also where weights are too small to be numbers."""

    @classmethod
    def of(cls, run: DiscretePair, tries: Tries) -> "Layers":
        weights, values = _least_weights(run, tries)
        slopes = np.diff(values) / np.diff(weights)
        slopes = np.maximum.accumulate(np.maximum(slopes, TINY))
        edges = _edges(weights, slopes, tries)
        at = np.interp(edges, weights, values)
        widths = np.diff(edges)
        k = np.clip(np.searchsorted(weights, edges, side="right") - 1, 0, slopes.size - 1)
        j = np.clip(np.searchsorted(weights, edges, side="left") - 1, 0, slopes.size - 1)
        low, high = slopes[k[:-1]], slopes[np.maximum(j[1:], k[:-1])]
        mean = (np.diff(at) - 8 * EPS * at[1:]) / widths  # rounded down
        apart = np.where(high > low, high - low, np.inf)
        upper = np.clip((mean - low) / apart, 0.0, 1.0)
        # y(v) is convex: a trapezium is more. Below the last weight all outputs are in a layer.
        places = tries.place(math.log(weights[-1]) - np.log(np.maximum(edges, TINY)))
        most = (places[:-1] + places[1:]) / 2 * widths
        log_u = np.log([low, high])
        numbers = _seen(tries) < -math.log(_LEAST)  # or weights are too small for that
        log_least = float(log_u.min()) if numbers else _log_slope(run, tries)
        return cls(run, log_u, np.stack((1 - upper, upper)) * widths, most, log_least)

    @property
    def _losses(self) -> Array:
        loss = self.run.arrays[2]
        return loss[np.isfinite(loss)]

    @cached_property
    def top(self) -> float:
        """The sum of all weights."""
        return float(self.share.sum())

    @cached_property
    def _knots(self) -> tuple[Array, Array]:
        """e^loss and delta there: between losses the profile of a run is linear in e^epsilon."""
        loss = self._losses
        loss = np.unique(np.clip(loss + 4 * EPS * np.abs(loss), -LARGEST, 2 * LARGEST))
        delta = self.run.profile(loss) * (1 + ROUNDING)
        if loss.size and loss[-1] < 2 * LARGEST:
            delta[-1] = self.run.infinite_mass
        return np.append(0.0, np.exp(loss)), np.append(1.0, delta)

    def delta(self, epsilon: Array) -> Array:
        """An upper bound on delta' at each epsilon."""
        knots, values = self._knots
        result = np.empty(epsilon.size)
        for start in range(0, epsilon.size, 512):
            here = slice(start, start + 512)
            u = np.exp(np.minimum(epsilon[here, None, None] + self.log_u, 2 * LARGEST))
            layers = (np.interp(u, knots, values) * self.share).sum(axis=1)
            result[here] = np.minimum(layers, self.most).sum(axis=1)
        return np.minimum(result * (1 + ROUNDING), 1.0)

    def reach(self) -> float:
        """Where delta' is nothing, or too small for a table."""
        loss, p = self._losses, self.run.infinite_mass
        end = float(loss[-1]) if loss.size else 0.0
        if p:
            grid = np.linspace(0.0, end, 4097)
            small = self.run.profile(grid) <= math.exp(_LOG_LEAST) / self.top + p
            end = float(grid[np.argmax(small)]) if small.any() else end
        return max(end - self.log_least, 1e-6) + ROUNDING * (1 + abs(end) + abs(self.log_least))


def _seen(tries: Tries) -> float:
    """How far weights fall while they are numbers with all digits."""
    return min(float(tries.fall(np.ones(1))[0]), -math.log(_LEAST))


def _tests(run: DiscretePair, tries: Tries) -> tuple[Array, Array]:
    """Places x of the order, at which weights are compared, and B(x)."""
    x, y = (np.minimum(np.append(0.0, np.cumsum(side)), 1.0) for side in (run.q, run.p))
    x, first = np.unique(x, return_index=True)  # where x does not move, the least y counts
    y = y[first]
    ends = {_seen(tries), float(tries.fall(np.ones(1))[0])}
    fine = tries.place(np.concatenate([np.linspace(0.0, end, _PLACES) for end in ends]))
    along = np.unique(np.concatenate((x, fine, np.interp(fine, y, x), [1.0])))
    return along, np.interp(along, x, y)


def _log_slope(run: DiscretePair, tries: Tries) -> float:
    """log of the least w(x) / w(y), at most: between two places, that of the last x and of the first y."""
    along, lowest = _tests(run, tries)
    falls = tries.fall(along[1:] * (1 + ROUNDING)) - tries.fall(lowest[:-1] * (1 - ROUNDING))
    return -float(falls.max(initial=0.0)) * (1 + ROUNDING)


def _least_weights(run: DiscretePair, tries: Tries) -> tuple[Array, Array]:
    """Corners of V, from (0, 0) to the largest weight.

    Between two places of an edge of B, w(y) is at most its chord and w(x) at least its tangent in the middle,
    as w is convex: so the two ends, with these values, bound all that is between them.
    """
    along, lowest = _tests(run, tries)
    at, half = (along[1:] + along[:-1]) / 2, np.diff(along) / 2
    tangent, rise = tries.weight(at), tries.steepness(at) * half
    weight = tries.weight(np.concatenate((lowest[:-1], lowest[1:], [1.0])) * (1 - ROUNDING))
    value = np.concatenate((tangent + rise, tangent - rise, tries.weight(np.ones(1))))
    # sums of many numbers are off by 1e-11 of themselves at most, and so is the fall of a weight there
    lost = ROUNDING * (1 + tries.fall(np.concatenate((along[:-1], along[1:], [1.0]))))
    weight, value = weight * (1 + ROUNDING), np.maximum(value, 0.0) * np.exp(-lost)
    seen = weight >= _LEAST
    if not seen.all():  # the rest is above the line that all of it is above
        least = _LEAST * math.exp(_log_slope(run, tries))
        weight, value = np.append(weight[seen], _LEAST), np.append(value[seen], least)
    order = np.lexsort((value, weight))
    weight, value = np.append(0.0, weight[order]), np.append(0.0, value[order])
    first = np.append(True, np.diff(weight) > 0)
    weight, value = weight[first], value[first]
    keep = hull_vertices(np.diff(weight), np.diff(value))
    return weight[keep], value[keep]


def _edges(weights: Array, slopes: Array, tries: Tries) -> Array:
    """Where blocks of layers begin and end: fine in log u above its least, and in the weight."""
    above = np.log(slopes) - math.log(slopes[0])
    grid = above[-1] / math.sinh(_GRADED) * np.sinh(np.linspace(0.0, _GRADED, _LAYERS))
    by_slope = weights[1:][np.searchsorted(above, grid[1:], side="right") - 1]
    by_weight = tries.weight(tries.place(np.linspace(0.0, _seen(tries), _WEIGHTS)))
    inside = np.concatenate((by_slope, by_weight))
    inside = inside[(inside > 0) & (inside < weights[-1])]
    return np.unique(np.concatenate(([0.0], inside, [weights[-1]])))
