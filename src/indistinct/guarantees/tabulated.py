"""Finite pairs that dominate what is known only by its profile or its trade-off curve.

A profile is convex in e^epsilon. Given upper bounds on it at finitely many points, the largest convex
function below those bounds is still above the truth, is piecewise linear, and so is the profile of a
finite pair ("connect the dots", Doroshenko et al. 2022): the tightest pair that can be written down.
"""

import math
from collections.abc import Callable

import numpy as np

from indistinct.guarantees.discrete_pair import DiscretePair
from indistinct.guarantees.pair import LOG_NEGLIGIBLE, Pair
from indistinct.numerics.arrays import Array

_POINTS = 4097


def pair_of_profile(epsilon: Array, delta: Array) -> DiscretePair:
    """The finite pair whose profile is the convex hull of points (increasing epsilon, delta)."""
    ratio = np.concatenate(([0.0], np.exp(epsilon)))
    delta = np.concatenate(([1.0], delta))
    keep = _lower_hull(ratio, delta)
    x, y = ratio[keep], delta[keep]
    # -dδ/dλ = Q(L > log λ), and P(L > log λ) = δ + λ Q(L > log λ)
    q_above = np.append(-np.diff(y) / np.diff(x), 0.0)
    p_above = np.append(y[:-1] + x[:-1] * q_above[:-1], y[-1])
    q = np.append(np.concatenate(([1.0], q_above[:-1])) - q_above, 0.0)
    p = np.append(np.concatenate(([1.0], p_above[:-1])) - p_above, p_above[-1])
    # an atom at λ has p = λ q: take p from q, so that rounding moves no loss
    q = np.maximum(q, 0.0)
    p[1:-1] = x[1:] * q[1:-1]
    p[0] = 0.0
    p[-1] = max(1.0 - math.fsum(p[:-1].tolist()), p_above[-1], 0.0)
    q[0] = max(1.0 - math.fsum(q[1:].tolist()), 0.0)
    return DiscretePair.of(p, q)


def _lower_hull(x: Array, y: Array) -> list[int]:
    """Indices of the lower convex hull of points with increasing x (Andrew's monotone chain)."""
    hull: list[int] = []
    for i in range(x.size):
        while len(hull) > 1:
            a, b = hull[-2], hull[-1]
            if (y[b] - y[a]) * (x[i] - x[b]) < (y[i] - y[b]) * (x[b] - x[a]):
                break
            hull.pop()
        hull.append(i)
    return hull


def tabulated_pair(
    forward: Callable[[Array], Array], backward: Callable[[Array], Array], reach: float
) -> DiscretePair:
    """A finite pair that dominates (P, Q), from the profiles of both directions up to `reach`."""
    reach = min(reach, 300.0)
    # evenly spaced, so that compositions of the pair stay on one lattice and are exact
    positive = np.linspace(0.0, reach, _POINTS)
    negative = -positive[:0:-1]
    below = -np.expm1(negative) + np.exp(negative) * backward(-negative)
    delta = np.concatenate((below, forward(positive)))
    return pair_of_profile(np.concatenate((negative, positive)), np.minimum(delta, 1.0))


def finite_pair(pair: Pair) -> DiscretePair:
    """The pair itself if it is finite, else a finite one that dominates it."""
    return pair if isinstance(pair, DiscretePair) else on_lattice(pair)


def on_lattice(pair: Pair) -> DiscretePair:
    """A finite pair that dominates, with losses that are multiples of one number: it composes exactly."""
    reach = max(abs(edge) for tilt in (0.0, 1.0) for edge in pair.outer_losses(tilt, LOG_NEGLIGIBLE))
    return tabulated_pair(pair.profile, pair.reversed_profile, reach)


# -- group privacy: the trade-off function applied to itself --------------------------------------


def symmetric_pair(pair: Pair) -> Pair:
    """The pair itself if it is symmetric, else a finite symmetric one that dominates both directions."""
    return pair if pair.symmetric else _pair_of_curve(*_symmetric_curve(finite_pair(pair)))


def group_pair(pair: Pair, size: int) -> Pair:
    """The pair for `size` records. In general the best true positive rate T satisfies T_k = T o ... o T
    (Dong, Roth and Su 2022, Theorem 2.14), T being made symmetric first because a group may mix
    records added and records removed."""
    scaled = pair.scaled(size)
    if scaled is not None:
        return scaled
    x, y = _symmetric_curve(finite_pair(pair))
    outer_x, outer_y = x, y
    for _ in range(size - 1):
        # vertices of T(S(.)): those of S, and where S meets a vertex of T
        rising = np.concatenate(([True], np.diff(outer_y) > 0))
        meets = np.interp(x, outer_y[rising], outer_x[rising])
        meets = meets[(x > outer_y[0]) & (x < 1)]
        new_x = np.unique(np.concatenate((outer_x, meets)))
        new_y = np.interp(np.interp(new_x, outer_x, outer_y), x, y)
        outer_x, outer_y = _upper_hull(new_x, new_y)
    return _pair_of_curve(outer_x, outer_y)


def _pair_of_curve(x: Array, y: Array) -> DiscretePair:
    """The pair whose best tests have these false and true positive rates."""
    return DiscretePair.of(np.diff(y, prepend=0.0), np.diff(x, prepend=0.0))


def _symmetric_curve(pair: DiscretePair) -> tuple[Array, Array]:
    """The best tests of Q against P and of P against Q, taken together."""
    (x, y), (other_x, other_y) = _receiver_curve(pair), _receiver_curve(pair.reverse())
    return _upper_hull(np.concatenate((x, other_x)), np.concatenate((y, other_y)))


def _receiver_curve(pair: DiscretePair) -> tuple[Array, Array]:
    """Vertices (false positive rate, true positive rate) of the best tests of Q against P."""
    x = np.cumsum(np.array(pair.q)[::-1])
    y = np.cumsum(np.array(pair.p)[::-1])
    return np.minimum(np.append(0.0, x), 1.0), np.minimum(np.append(0.0, y), 1.0)


def _upper_hull(x: Array, y: Array) -> tuple[Array, Array]:
    order = np.lexsort((-y, x))
    x, y = x[order], y[order]
    first = np.concatenate(([True], np.diff(x) > 0))
    x, y = np.append(x[first], 1.0), np.append(y[first], 1.0)
    keep = _lower_hull(x, -y)
    return x[keep], np.maximum.accumulate(y[keep])
