"""From Rényi divergences to (epsilon, delta) and to error rates, optimally.

*Three Variants of Differential Privacy* (Asoodeh, Liao, Calmon, Kosut and Sankar 2021), Theorem 3, gives the
exact answer for one order as a minimum over coin pairs. Its dual is more useful: for P and Q with density
ratio r, any function h(r) = l r^a + m r + n that is at least max(r - e^epsilon, 0) for every r >= 0 bounds
delta by E_Q h(r) <= l e^{(a-1) gamma} + m + n. The best h touches zero at some v < e^epsilon, and the line
r - e^epsilon at some u > e^epsilon. With t = v/u everything is explicit,

    u = e^epsilon a/(a-1) (1 - t^(a-1)) / (1 - t^a),
    delta <= (e^{(a-1) gamma} - a v^(a-1) + (a-1) v^a) / (a (u^(a-1) - v^(a-1))),

and **every t in (0, 1) gives a valid bound**, so a search that stops early only loses sharpness. The best t
attains Theorem 3; t = 0 is Proposition 12 of Canonne, Kamath and Steinke 2020. Solved for epsilon it is as
explicit: with v fixed, delta gives u. Nothing changes for an order below 1, where l is negative.
"""

import math

import numpy as np

from indistinct.numerics.arrays import EPS, TINY, Array
from indistinct.numerics.search import golden

_NEAR_ONE = 1e-7
_LARGEST = 700.0
_SECTIONS = 36
"""Golden sections: some six digits of a place where the bound is flat, and twelve of the bound."""


def renyi_delta(orders: Array, values: Array, epsilon: Array) -> tuple[Array, Array]:
    """The smallest delta that one of the divergences implies at each epsilon >= 0, and which one.

    `orders` and `values` have one row for every epsilon, or one for all.
    """
    order, value = _rows(orders, values, epsilon)
    finite = np.minimum(epsilon, 1e300)[:, None]
    bound = np.full(value.shape, 1.0)
    chosen = _promising(_simple_delta(order, value, finite))
    rows = np.arange(epsilon.size)[:, None]
    alpha, gamma = order[rows, chosen], value[rows, chosen]
    least = -golden(lambda y: -_log_delta_at(alpha, gamma, finite, y), *_places(alpha), _SECTIONS)
    bound[rows, chosen] = np.minimum(np.exp(np.minimum(least, 0.0)), _large_claim(alpha, gamma, finite))
    bound = np.where(value == 0, 0.0, np.maximum(bound, TINY))
    best = bound.argmin(axis=1)
    return bound[rows[:, 0], best], best


def renyi_epsilon(orders: Array, values: Array, delta: Array) -> tuple[Array, Array]:
    """The smallest epsilon >= 0 that one of the divergences implies at each delta, and which one."""
    order, value = _rows(orders, values, delta)
    inside = np.clip(delta, TINY, 1 - 1e-12)[:, None]
    bound = np.full(value.shape, math.inf)
    chosen = _promising(_simple_epsilon(order, value, inside))
    rows = np.arange(delta.size)[:, None]
    alpha, gamma = order[rows, chosen], value[rows, chosen]
    least = -golden(lambda y: -_epsilon_at(alpha, gamma, inside, y), *_places(alpha), _SECTIONS)
    # a claim this large lets P avoid some outcomes altogether: 1 - e^{epsilon - gamma} = delta
    edge = gamma + np.log1p(-inside)
    large = np.isfinite(gamma) & (alpha > 1) & (gamma - edge >= np.log(alpha / np.abs(alpha - 1)))
    bound[rows, chosen] = np.where(large, edge * (1 + 4 * EPS), least)
    bound = np.where(value == 0, 0.0, np.maximum(bound, 0.0))
    best = bound.argmin(axis=1)
    result = bound[rows[:, 0], best]
    return np.where(delta == 0, np.where(result == 0, 0.0, math.inf), np.where(delta >= 1, 0.0, result)), best


def quick_epsilon(order: float, value: float, delta: float) -> float | None:
    """The epsilon of `renyi_epsilon` for one order above 1, without arrays; None where this does not settle.

    At the optimum a coin pair attains the bound, so that delta = (1-v) (u - e^epsilon) / (u - v): this is
    solved for v again and again. As everywhere, any v gives a valid epsilon.
    """
    a = order - 1
    if not 1e-12 < a * value < 600.0:
        return None
    claim, gap = math.expm1(a * value), order * delta
    for _ in range(8):
        if gap > 0.5:
            return None
        log_v = math.log1p(-gap)
        power = math.exp(a * log_v)
        total = claim - math.expm1(a * log_v) - a * power * gap
        total += 8 * EPS * claim + 4 * EPS * a * gap
        # u^a = v^a + total / (order delta)
        log_u = math.log(power + total / (order * delta)) / a
        log_u += 8 * EPS * (1 + abs(log_u) + 1 / a)
        log_t = log_v - log_u
        if not log_t < -1e-6:
            return None
        stretch = order / a * math.expm1(a * log_t) / math.expm1(order * log_t)
        before, gap = gap, -delta * math.expm1(log_t) / (1 - 1 / stretch)
        if order * a * (gap - before) ** 2 <= 1e-12 * claim:
            return max(log_u - math.log(stretch), 0.0)
    return None


def renyi_tradeoff(orders: Array, values: Array, fpr: Array) -> tuple[Array, Array]:
    """The smallest false negative rate that the divergences allow at each false positive rate, and which
    of them decides.

    Corollary 1 (eq. 48) of *Three Variants*: test errors (x, beta) are possible only if d(1-x || beta) and
    d(1-beta || x), the divergences of coins, stay within the claim. Orders from 1/2 on together give the best
    rule there is (Riess et al. 2026).
    """
    order, value = _rows(orders, values, fpr)
    gamma, x = value * (1 + 1e-14) + 1e-15, fpr[:, None]
    low, high = np.zeros(order.shape), np.broadcast_to(1 - x, order.shape)
    for _ in range(60):
        # geometric while the interval spans magnitudes, so that tiny rates keep their digits
        middle = np.where(high > 4 * low, np.sqrt(np.maximum(low, 1e-300) * high), (low + high) / 2)
        possible = (_coin_divergence(order, 1 - x, middle) <= gamma) & (
            _coin_divergence(order, 1 - middle, x) <= gamma
        )
        low, high = np.where(possible, low, middle), np.where(possible, middle, high)
    best = low.argmax(axis=1)
    return low[np.arange(fpr.size), best], best


def pure_delta(bound: float, epsilon: Array) -> Array:
    """Delta of pure DP at each epsilon: that of randomized response (Kairouz, Oh and Viswanath 2015)."""
    if bound > _LARGEST:
        return np.where(epsilon < bound, 1.0, 0.0)
    inside = np.minimum(epsilon, bound)
    delta: Array = -np.expm1(inside - bound) / (1 + math.exp(-bound)) * (1 + 4 * EPS)
    return delta


def pure_epsilon(bound: float, delta: Array) -> Array:
    """The inverse of `pure_delta`."""
    if bound > _LARGEST:
        return np.where(delta < 1, bound, 0.0)
    share = np.minimum(delta * (1 + math.exp(-bound)), 1 - EPS)
    return np.maximum(bound + np.log1p(-share) * (1 - 4 * EPS), 0.0)


def pure_tradeoff(bound: float, fpr: Array) -> Array:
    """The trade-off curve of pure DP (Wasserman and Zhou 2010)."""
    factor = math.exp(min(bound, _LARGEST)) * (1 + 4 * EPS)
    return np.maximum(np.maximum(1 - factor * fpr, (1 - fpr) / factor), 0.0)


# -- one order ------------------------------------------------------------------------------------------


def _rows(orders: Array, values: Array, at: Array) -> tuple[Array, Array]:
    """Orders and values for every row; an order that is 1 or nearly so is read a little below, where a claim
    at 1 holds too."""
    order = np.where(np.abs(orders - 1) < _NEAR_ONE, 1 - _NEAR_ONE, orders)
    usable = np.isfinite(order)
    shape = (at.size, order.shape[-1])
    order = np.broadcast_to(np.where(usable, order, 2.0), shape)
    return order, np.broadcast_to(np.where(usable, values, math.inf), shape)


def _promising(simple: Array) -> Array:
    """All orders; if they are many, those that do best by a simple bound and a fair number of others, because
    it misjudges large deltas."""
    rows, count = simple.shape
    if count <= 48 or simple.size <= 4096:
        return np.broadcast_to(np.arange(count), simple.shape)
    near = np.argsort(simple, axis=1)[:, :16]
    spread = np.broadcast_to(np.linspace(0, count - 1, 32).astype(int), (rows, 32))
    return np.concatenate((near, spread), axis=1)


def _simple_delta(alpha: Array, gamma: Array, epsilon: Array) -> Array:
    """log of the bound of Canonne, Kamath and Steinke 2020, Proposition 12; orders above 1."""
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        log_delta = (alpha - 1) * (gamma - epsilon + np.log1p(-1 / alpha)) - np.log(alpha)
    return np.where(alpha > 1, log_delta, math.inf)


def _simple_epsilon(alpha: Array, gamma: Array, delta: Array) -> Array:
    """The same proposition, solved for epsilon."""
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        epsilon = gamma + np.log1p(-1 / alpha) - (np.log(delta) + np.log(alpha)) / (alpha - 1)
    return np.where(alpha > 1, epsilon, math.inf)


def _large_claim(alpha: Array, gamma: Array, epsilon: Array) -> Array:
    """1 - e^{epsilon - gamma}: exact where the claim is so large that P may avoid some outcomes."""
    applies = (alpha > 1) & (gamma - epsilon >= np.log(alpha / np.abs(alpha - 1)))
    return np.where(applies, -np.expm1(np.minimum(epsilon - gamma, 0.0)) * (1 + 4 * EPS), 1.0)


def _places(alpha: Array) -> tuple[Array, Array]:
    """The range of y, which resolves v (or t) where it is close to 1 (or e^-epsilon) and close to zero."""
    small = np.minimum(np.abs(alpha - 1), 1.0)
    return np.full(alpha.shape, math.log(1e-12)), np.log(60 / small + 60)


def _log_stretch(alpha: Array, log_t: Array) -> Array:
    """log of u / e^epsilon."""
    a = alpha - 1
    result: Array = np.log(alpha / a * np.expm1(a * log_t) / np.expm1(alpha * log_t))
    return result


def _log_total(alpha: Array, gamma: Array, log_v: Array) -> Array:
    """log of |e^{a gamma} - alpha v^a + a v^alpha|, a = alpha - 1, without cancellation at v = 1 and with an
    allowance for rounding."""
    a = alpha - 1
    power = np.exp(a * log_v)
    bend = -np.expm1(a * log_v) + a * power * np.expm1(log_v)  # 1 - alpha v^a + a v^alpha
    large = a * gamma > 30.0
    claim = np.where(large, 0.0, np.expm1(np.where(large, 0.0, a * gamma)))
    total = np.sign(a) * (claim + bend)
    total += 4 * EPS * (np.abs(claim) + np.abs(a * log_v) * (1 + power))
    result: Array = np.log(np.maximum(total, 0.0))
    return np.where(large, np.logaddexp(result, a * gamma), result)


def _log_delta_at(alpha: Array, gamma: Array, epsilon: Array, y: Array) -> Array:
    """log of the bound on delta at t = e^{-epsilon - e^y}."""
    a, log_t = alpha - 1, -np.minimum(epsilon, 1e15) - np.exp(y)
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        log_u = epsilon + _log_stretch(alpha, log_t)
        log_delta = _log_total(alpha, gamma, log_t + log_u) - np.log(alpha * np.abs(np.expm1(a * log_t)))
        log_delta += 8 * EPS * (1 + np.abs(a * log_u)) - a * log_u
    return np.where(np.isfinite(gamma) & (log_delta < _LARGEST), log_delta, math.inf)


def _epsilon_at(alpha: Array, gamma: Array, delta: Array, y: Array) -> Array:
    """The epsilon that goes with delta at v = e^{-e^y}: with v fixed u is explicit, and so is epsilon."""
    a, log_v = alpha - 1, -np.exp(y)
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        # u^a = v^a + total / (alpha delta); below order 1 the total is negative
        ratio = _log_total(alpha, gamma, log_v) - np.log(alpha * delta) - a * log_v
        log_growth = np.where(a > 0, np.logaddexp(0.0, ratio), np.log1p(-np.exp(np.minimum(ratio, 0.0))))
        log_u = log_v + log_growth / a
        log_u += 8 * EPS * (1 + np.abs(log_u) + np.abs(log_growth / a))
        epsilon = log_u - _log_stretch(alpha, log_v - log_u)
    usable = np.isfinite(gamma) & np.isfinite(epsilon) & (log_u > log_v)
    return np.where(usable, np.maximum(epsilon, 0.0), math.inf)


def _coin_divergence(alpha: Array, a: Array, b: Array) -> Array:
    """The Rényi divergence of a coin of bias a from one of bias b."""
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        parts = [
            np.where(x > 0, alpha * np.log(x) + (1 - alpha) * np.log(y), -np.inf)
            for x, y in ((a, b), (1 - a, 1 - b))
        ]
        result: Array = np.logaddexp(parts[0], parts[1]) / (alpha - 1)
    return np.where(np.isnan(result), np.inf, result)
