"""Finite pairs that dominate what is known only by its profile or its trade-off curve.

A profile is convex in e^epsilon. Given upper bounds on it at finitely many points, the largest convex
function below those bounds is still above the truth, is piecewise linear, and so is the profile of a finite
pair ("connect the dots", Doroshenko et al. 2022): the tightest pair that can be written down. Both tails are
computed from their own small numbers, never as what is left of 1, so that they keep their digits.
"""

import math
from collections.abc import Callable

import numpy as np

from indistinct.guarantees.discrete_pair import DiscretePair
from indistinct.guarantees.pair import LOG_NEGLIGIBLE, Pair
from indistinct.guarantees.polygon import hull_vertices
from indistinct.numerics.arrays import EPS, TINY, Array

_POINTS = 8193
_SLACK = 1e-14
"""Of a bound that is lowered: more than its rounding."""
NEAREST = 1e-9
"""Where a table ends at the least: e to the power of its points must tell them apart."""
_LEAST = 1e-300
"""Smaller probabilities lose digits."""
_GRADED = 6.0
"""The points of a table are as close to each other, relatively, from its end to e^-6 of it."""


def tabulated_pair(
    forward: Callable[[Array], Array], backward: Callable[[Array], Array], reach: float
) -> DiscretePair:
    """A finite pair that dominates (P, Q), from the profiles of both directions up to `reach`."""
    grid = np.sinh(np.linspace(0.0, _GRADED, _POINTS)) / math.sinh(_GRADED)
    x = np.unique(np.exp(min(max(reach, NEAREST), 300.0) * grid))
    x[-1] = np.nextafter(x[-1], np.inf)  # no less than the end
    epsilon = _log(x)  # of these very numbers
    there, back = forward(epsilon), backward(epsilon)
    there[0] = back[0] = min(there[0], back[0])  # which is one number: total variation
    there, back = _joined(x, there, back)
    (ratio, q), p_infinite = _half(x, there)
    (other, p), q_infinite = _half(x, back)
    # positive losses, negative ones, what gives everything away, and the rest at zero
    p_all = np.concatenate((ratio * q, p, [p_infinite, 0.0]))
    q_all = np.concatenate((q, other * p, [0.0, q_infinite]))
    # rounded down: where both have next to nothing in common, it decides low orders
    rest = max(1 - max(math.fsum(p_all), math.fsum(q_all)) - 4 * EPS, 0.0)
    losses = np.concatenate((_log(ratio), -_log(other), [math.inf, -math.inf, 0.0]))
    return DiscretePair.of(np.append(p_all, rest), np.append(q_all, rest), losses, exact=False)


def _log(x: Array) -> Array:
    """log x, of which next to 1 all digits are kept."""
    return np.log1p(x - 1)


def _joined(x: Array, forward: Array, backward: Array) -> tuple[Array, Array]:
    """Both profiles, lowered to what is convex on both sides of 0: below e^epsilon = 1 a profile is
    1 - e^epsilon + e^epsilon delta(-epsilon) of the other direction. True ones are convex; bounds need not
    be."""
    points = np.concatenate((1 / x[:0:-1], x))
    value = np.concatenate(((1 - 1 / x + backward / x)[:0:-1], forward))
    keep = hull_vertices(np.diff(points), np.diff(np.minimum(value, 1.0)))
    left, right = keep[points[keep] < 1].max(initial=0), keep[points[keep] > 1].min(initial=points.size - 1)
    line = value[left] + (value[right] - value[left]) * (points - points[left]) / (
        points[right] - points[left]
    )
    line = np.where((points > points[left]) & (points < points[right]), line + _SLACK, np.inf)
    middle = x.size - 1
    there, back = line[middle:], (line[: middle + 1] - 1 + points[: middle + 1])[::-1] * x
    return np.minimum(forward, there), np.minimum(backward, back)


def _half(x: Array, delta: Array) -> tuple[tuple[Array, Array], float]:
    """e^l and the Q-masses of the positive losses l of a profile's convex hull, and the mass of infinite
    losses."""
    y = np.minimum.accumulate(np.minimum(delta, 1.0))
    keep = hull_vertices(np.diff(x), np.diff(y))
    x, y = x[keep], y[keep]
    if x.size < 2:
        return (np.zeros(0), np.zeros(0)), float(y[-1])
    # -d delta / d e^epsilon = Q(L > epsilon)
    q_above = np.append(-np.diff(y) / np.diff(x), 0.0)
    return (x[1:], np.maximum(q_above[:-1] - q_above[1:], 0.0)), float(y[-1])


def finite_pair(pair: Pair, size: int = 1) -> DiscretePair:
    """The pair itself if it is finite, else a finite one that dominates it, known further out for a group."""
    pair = pair.stand_in.as_read(alone=True)
    if isinstance(pair, DiscretePair):
        return pair
    log_tail = size * LOG_NEGLIGIBLE
    reach = max(abs(edge) for tilt in (0.0, 1.0) for edge in pair.outer_losses(tilt, log_tail))
    return tabulated_pair(pair.profile, pair.reversed_profile, reach)


# -- group privacy: the trade-off function applied to itself --------------------------------------


def symmetric_pair(pair: Pair) -> Pair:
    """The pair itself if it is symmetric, else a finite symmetric one that dominates both directions."""
    return pair if pair.symmetric else both_ways(finite_pair(pair))


def both_ways(pair: DiscretePair) -> DiscretePair:
    """The best tests of Q against P and of P against Q, taken together.

    They mirror each other, so that those with positive losses say everything: vertices are false positive
    rates x, and y - x, by how much more often a test is right. Both are sums of positive terms.
    """
    vertices = [np.array([[0.0], [0.0], [1.0]])]
    for one in (pair, pair.reverse()):
        p, q, loss = (part[::-1] for part in one.arrays)
        ahead = loss > 0
        left = np.append(np.cumsum(p[:0:-1])[::-1], 0.0)  # of P, beyond each
        sums = np.cumsum((q[ahead], p[ahead] * -np.expm1(-loss[ahead])), axis=1)
        vertices.append(np.concatenate((sums, left[None, ahead])))
    x, more, left = np.concatenate(vertices, axis=1)
    order = np.append(0, 1 + np.lexsort((-more[1:], x[1:])))
    kept = order[hull_vertices(np.diff(x[order]), -np.diff(more[order]))]
    # both directions end as high, and what is between their ends tells nothing
    kept = kept[: 1 + int(np.argmax(more[kept] >= more[kept].max() * (1 - _rounding(pair))))]
    # that is rounded down: it decides low orders
    rest = max(left[kept[-1]] * (1 - 4 * EPS) - x[kept[-1]], 0.0)
    q, more = np.diff(x[kept]), np.maximum(np.diff(more[kept]), 0.0)
    p = q + more
    with np.errstate(divide="ignore", invalid="ignore"):  # outcomes of one, and of none
        loss = np.where(more < q, np.log1p(more / np.maximum(q, TINY)), np.log(p) - np.log(q))
    up = 1 + _rounding(pair)
    off = pair.moved + _rounding(pair) * float(loss[loss < math.inf].max(initial=0.0))
    p, q = np.append(np.concatenate((p, q)) * up, rest), np.append(np.concatenate((q, p)) * up, rest)
    return _told(p, q, np.concatenate((loss, -loss, [0.0])), off)


def one_after_another(inner: DiscretePair, outer: DiscretePair) -> DiscretePair:
    """The pair whose best tests are T_outer(T_inner(x)), T being the true positive rate at false positive
    rate x. What the inner one reaches is where the outer one starts: an outcome of both is a piece of that,
    and their losses are added up, never read off masses."""
    p, q, loss = (part[::-1][inner.arrays[0][::-1] > 0] for part in inner.arrays)
    then_p, then_q, then_loss = (part[::-1][outer.arrays[1][::-1] > 0] for part in outer.arrays)
    reached, left = np.concatenate((_places(p), _places(then_q)), axis=1)
    lower = reached <= left
    order = np.lexsort((np.where(lower, reached, -left), ~lower))
    shared = _gaps(reached[order], left[order])
    # whose piece that is: the latest one that has begun
    begun = np.cumsum(order <= p.size)[:-1] - 1
    i, j = np.clip(begun, 0, p.size - 1), np.clip(np.arange(shared.size) - begun - 1, 0, then_q.size - 1)
    up = 1 + _rounding(inner) + _rounding(outer)
    with np.errstate(invalid="ignore"):  # infinite both ways: it cannot be
        both = np.append(loss[i] + then_loss[j], [math.inf, -math.inf])
    # what the outer one reaches from nothing, and what is left where the inner one has reached all
    to = np.append(then_p[j] * (shared / then_q[j]), [outer.given_away[0], 0.0]) * up
    since = np.append(q[i] * (shared / p[i]), [0.0, inner.given_away[1]]) * up
    return _told(to, since, both, inner.moved + outer.moved)


def _told(p: Array, q: Array, loss: Array, off: float) -> DiscretePair:
    """The pair, where what one of both has too little of to be known in its digits is told."""
    of_p, of_q = (q < _LEAST) & (p >= _LEAST), (p < _LEAST) & (q >= _LEAST)
    loss = np.where(of_p, math.inf, np.where(of_q, -math.inf, loss))
    return DiscretePair.of(np.where(of_q, 0.0, p), np.where(of_p, 0.0, q), loss, off=off, exact=False)


def _rounding(pair: DiscretePair) -> float:
    """Of sums of its masses, and of what is computed of them."""
    return (2 * len(pair.p) + 16) * EPS


def _places(mass: Array) -> Array:
    """Where outcomes begin and end, counted from the first one, and from the last one."""
    return np.stack((np.append(0.0, np.cumsum(mass)), np.append(np.cumsum(mass[::-1])[::-1], 0.0)))


def _gaps(value: Array, rest: Array) -> Array:
    """Differences of neighbours, none below 0, from whichever of x and 1 - x is small there."""
    return np.maximum(np.where(value[1:] <= rest[1:], np.diff(value), -np.diff(rest)), 0.0)
