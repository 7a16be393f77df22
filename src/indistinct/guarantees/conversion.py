"""From Rényi divergences to (epsilon, delta), optimally at every order.

Theorem 3 of *Three Variants of Differential Privacy* (Asoodeh et al. 2021): an (alpha, gamma)-RDP mechanism
is (epsilon, delta)-DP if and only if gamma <= epsilon + log M / (alpha - 1), where M is the minimum over
p in (delta, 1) of p^alpha (p-delta)^(1-alpha) + (1-p)^alpha (e^epsilon - p + delta)^(1-alpha).
"""

import math
from collections.abc import Callable

import numpy as np

from indistinct.numerics.arrays import TINY, Array

_GOLDEN = (math.sqrt(5) - 1) / 2


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
    alpha, gamma = orders[usable], values[usable]
    finite = np.minimum(epsilon, 1e300).tolist()
    result = [_refine_delta(alpha, gamma, e, float(_delta_bound(alpha, gamma, e).min())) for e in finite]
    deltas: Array = np.array(result, dtype=np.float64)
    return np.clip(deltas, TINY, 1.0)


def _delta_bound(alpha: Array, gamma: Array, epsilon: float) -> Array:
    """(1/alpha) (1 - 1/alpha)^(alpha-1) e^{(alpha-1)(gamma-epsilon)}: Canonne, Kamath and Steinke 2020,
    Proposition 12."""
    log_delta = (alpha - 1) * (gamma - epsilon + np.log1p(-1 / alpha)) - np.log(alpha)
    bound: Array = np.exp(np.minimum(log_delta, 0.0))
    return bound


def _refine_delta(alpha: Array, gamma: Array, epsilon: float, bound: float) -> float:
    """Theorem 3 at the few best orders, by bisection on log delta; always from above."""
    if epsilon > 690.0:
        return bound
    near = np.argsort(_delta_bound(alpha, gamma, epsilon))[:4]
    alpha, gamma = alpha[near], gamma[near]
    high = np.full(alpha.shape, math.log(min(max(bound, TINY) * 1.000001, 1 - 1e-12)))
    allowed = _least_divergence(alpha, epsilon, np.exp(high)) >= gamma
    high = np.where(allowed, high, 0.0)
    low = high - 12.0
    for _ in range(36):
        middle = (low + high) / 2
        enough = _least_divergence(alpha, epsilon, np.exp(middle)) >= gamma
        low, high = np.where(enough, low, middle), np.where(enough, middle, high)
    return min(float(np.exp(high).min()), bound)


def _least_divergence(alpha: Array, epsilon: float, delta: Array) -> Array:
    """The smallest divergence of a pair that is not better than (epsilon, delta) (Theorem 3).

    The minimum over p is found by golden section on a scale that resolves p near delta and near 1.
    It is approached from above, so a little is taken off.
    """
    width = np.log((1 - delta) / delta)

    def objective(t: Array) -> Array:
        # p = delta + (1 - delta) / (1 + e^{-t}), so that both ends are resolved
        share = 1 / (1 + np.exp(-t))
        gap, rest = (1 - delta) * share, (1 - delta) / (1 + np.exp(t))
        first = alpha * np.log(delta + gap) - (alpha - 1) * np.log(gap)
        second = alpha * np.log(rest) - (alpha - 1) * np.log(math.expm1(epsilon) + rest + delta)
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
    return np.array([_epsilon_at(orders[usable], values[usable], float(d)) for d in delta])


def _epsilon_at(alpha: Array, gamma: Array, delta: float) -> float:
    if delta == 0:
        return math.inf
    if delta >= 1:
        return 0.0
    simple = gamma + np.log1p(-1 / alpha) - (math.log(delta) + np.log(alpha)) / (alpha - 1)
    high = max(float(simple.min()), 0.0)
    near = np.argsort(simple)[:4]
    alpha, gamma = alpha[near], gamma[near]
    if high > 690.0:
        return high
    target = np.full(alpha.shape, delta)
    # Theorem 3 holds at epsilon if any order allows delta there
    low, top = 0.0, high
    if (_least_divergence(alpha, 0.0, target) >= gamma).any():
        return 0.0
    for _ in range(48):
        middle = (low + top) / 2
        if (_least_divergence(alpha, middle, target) >= gamma).any():
            top = middle
        else:
            low = middle
    return top


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
