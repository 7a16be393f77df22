"""From Rényi divergences to (epsilon, delta), optimally at every order.

Theorem 3 of *Three Variants of Differential Privacy* (Asoodeh et al. 2021): an (alpha, gamma)-RDP mechanism
is (epsilon, delta)-DP if and only if gamma <= epsilon + log M / (alpha - 1), where M is the minimum over
p in (delta, 1) of p^alpha (p-delta)^(1-alpha) + (1-p)^alpha (e^epsilon - p + delta)^(1-alpha).
"""

import math
from collections.abc import Callable

import numpy as np
import numpy.typing as npt
from scipy.special import expit

from indistinct.numerics.arrays import TINY, Array

_GOLDEN = (math.sqrt(5) - 1) / 2
_LARGEST_EPSILON = 690.0


def order_grid(renyi: Callable[[float], float]) -> Array:
    """Orders above 1 spread around the scale where the divergence is of order one."""
    scale = 1 / math.sqrt(min(max(renyi(2.0), 1e-24), 1e24))
    grid: Array = np.geomspace(1e-3, 1e3, 60)
    orders: Array = 1 + grid * max(scale, 1e-6)
    return orders


def renyi_delta(orders: Array, values: Array, epsilon: Array) -> Array:
    """The smallest delta that the divergences imply at each epsilon: the best order decides."""
    usable = (orders > 1) & np.isfinite(values)
    if not usable.any():
        return np.ones_like(epsilon)
    if (values[usable] == 0).any():
        return np.zeros_like(epsilon)
    finite = np.minimum(epsilon, 1e300)[:, None]
    alpha, gamma, bound = _best_orders(orders[usable], values[usable], _delta_bound, finite)
    # Theorem 3 by bisection on log delta, from above
    high = np.minimum(np.log(np.maximum(bound.min(axis=1, keepdims=True), TINY)) + 1e-6, -1e-12)
    high = np.broadcast_to(high, alpha.shape)
    reachable = np.minimum(finite, _LARGEST_EPSILON)
    high = np.where(_least_divergence(alpha, reachable, np.exp(high)) >= gamma, high, 0.0)
    low = high - 12.0
    for _ in range(36):
        middle = (low + high) / 2
        enough = _least_divergence(alpha, reachable, np.exp(np.minimum(middle, -1e-12))) >= gamma
        low, high = np.where(enough, low, middle), np.where(enough, middle, high)
    refined = np.where(finite[:, 0] > _LARGEST_EPSILON, 1.0, np.exp(high).min(axis=1))
    result: Array = np.clip(np.minimum(refined, bound.min(axis=1)), TINY, 1.0)
    return result


def _best_orders(
    alpha: Array, gamma: Array, bound: Callable[[Array, Array, Array], Array], at: Array
) -> tuple[Array, Array, Array]:
    """For each row of `at`, the orders that do best by a simple bound and a few others (it misjudges
    large deltas), and what it says there."""
    simple = bound(alpha, gamma, at)
    spread = np.unique(np.linspace(0, alpha.size - 1, 12).astype(int))
    near = np.argsort(simple, axis=1)[:, :6]
    near = np.concatenate((near, np.broadcast_to(spread, (near.shape[0], spread.size))), axis=1)
    return alpha[near], gamma[near], np.take_along_axis(simple, near, axis=1)


def _delta_bound(alpha: Array, gamma: Array, epsilon: Array) -> Array:
    """(1/alpha) (1 - 1/alpha)^(alpha-1) e^{(alpha-1)(gamma-epsilon)}: Canonne, Kamath and Steinke 2020,
    Proposition 12."""
    log_delta = (alpha - 1) * (gamma - epsilon + np.log1p(-1 / alpha)) - np.log(alpha)
    bound: Array = np.exp(np.clip(log_delta, -745.0, 0.0))
    return bound


def _least_divergence(alpha: Array, epsilon: Array, delta: Array) -> Array:
    """The smallest divergence of a pair that is not better than (epsilon, delta) (Theorem 3).

    The minimum over p is found by golden section on a scale that resolves p near delta and near 1.
    It is approached from above, so a little is taken off.
    """
    width = np.log1p(-delta) - np.log(delta)

    def objective(t: Array) -> Array:
        # p = delta + (1 - delta) / (1 + e^{-t}) resolves both ends
        gap, rest = (1 - delta) * expit(t), (1 - delta) * expit(-t)
        first = alpha * np.log(delta + gap) - (alpha - 1) * np.log(np.maximum(gap, TINY))
        second = alpha * np.log(np.maximum(rest, TINY)) - (alpha - 1) * np.log(
            np.expm1(epsilon) + rest + delta
        )
        result: Array = np.logaddexp(first, second)
        return result

    low, high = -np.abs(width) - 60.0, np.abs(width) + 60.0
    left, right = high - _GOLDEN * (high - low), low + _GOLDEN * (high - low)
    at_left, at_right = objective(left), objective(right)
    for _ in range(46):
        up = at_left > at_right
        low, high = np.where(up, left, low), np.where(up, high, right)
        probe = np.where(up, low + _GOLDEN * (high - low), high - _GOLDEN * (high - low))
        at_probe = objective(probe)
        left, right = np.where(up, right, probe), np.where(up, probe, left)
        at_left, at_right = np.where(up, at_right, at_probe), np.where(up, at_probe, at_left)
    least = np.minimum(at_left, at_right)
    return epsilon + (least - 1e-13 * (1 + np.abs(least))) / (alpha - 1)


def renyi_epsilon(orders: Array, values: Array, delta: Array) -> Array:
    """The smallest epsilon that the divergences imply at each delta."""
    usable = (orders > 1) & np.isfinite(values)
    if not usable.any():
        return np.where(delta < 1, math.inf, 0.0)
    if (values[usable] == 0).any():
        return np.zeros_like(delta)
    inside = np.clip(delta, TINY, 1 - 1e-12)[:, None]
    alpha, gamma, bound = _best_orders(orders[usable], values[usable], _epsilon_bound, inside)
    simple = np.maximum(bound.min(axis=1), 0.0)
    # Theorem 3 holds at epsilon if any order allows delta there
    low, high = np.zeros_like(simple), np.minimum(simple, _LARGEST_EPSILON)
    target = np.broadcast_to(inside, alpha.shape)

    def allowed(epsilon: Array) -> npt.NDArray[np.bool_]:
        enough: npt.NDArray[np.bool_] = _least_divergence(alpha, epsilon[:, None], target) >= gamma
        return np.asarray(enough.any(axis=1))

    for _ in range(48):
        middle = (low + high) / 2
        enough = allowed(middle)
        low, high = np.where(enough, low, middle), np.where(enough, middle, high)
    high = np.where(allowed(np.zeros_like(high)), 0.0, high)
    result = np.where(simple > _LARGEST_EPSILON, simple, high)
    return np.where(delta == 0, math.inf, np.where(delta >= 1, 0.0, result))


def _epsilon_bound(alpha: Array, gamma: Array, delta: Array) -> Array:
    """The same proposition, solved for epsilon."""
    bound: Array = gamma + np.log1p(-1 / alpha) - (np.log(delta) + np.log(alpha)) / (alpha - 1)
    return bound


def renyi_tradeoff(orders: Array, values: Array, fpr: Array) -> Array:
    """The smallest false negative rate that the divergences allow at each false positive rate.

    Corollary 1 (eq. 48) of *Three Variants of Differential Privacy*: test errors (x, beta) are possible
    only if d(1-x || beta) and d(1-beta || x), the binary divergences, stay within the claim. Orders from
    1/2 on together give the best rule there is (Riess et al. 2026).
    """
    usable = np.isfinite(orders) & np.isfinite(values)
    if not usable.any():
        return np.zeros_like(fpr)
    alpha, gamma = orders[usable][:, None], values[usable][:, None] * (1 + 1e-14) + 1e-15
    low, high = np.zeros((alpha.size, fpr.size)), np.broadcast_to(1 - fpr, (alpha.size, fpr.size))
    for _ in range(60):
        # geometric while the interval spans magnitudes, so that tiny rates keep their digits
        middle = np.where(high > 4 * low, np.sqrt(np.maximum(low, 1e-300) * high), (low + high) / 2)
        allowed = (_binary_divergence(alpha, 1 - fpr, middle) <= gamma) & (
            _binary_divergence(alpha, 1 - middle, fpr) <= gamma
        )
        low, high = np.where(allowed, low, middle), np.where(allowed, middle, high)
    best: Array = low.max(axis=0)
    return best


def _binary_divergence(alpha: Array, a: Array, b: Array) -> Array:
    """The Rényi divergence of a coin of bias a from one of bias b; order 1 is the limit."""
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        parts = [
            np.where(x > 0, alpha * np.log(x) + (1 - alpha) * np.log(y), -np.inf)
            for x, y in ((a, b), (1 - a, 1 - b))
        ]
        general = np.logaddexp(parts[0], parts[1]) / (alpha - 1)
        limit = sum(np.where(x > 0, x * np.log(x / y), 0.0) for x, y in ((a, b), (1 - a, 1 - b)))
    result: Array = np.where(np.abs(alpha - 1) < 1e-9, limit, general)
    return np.where(np.isnan(result), np.inf, result)
