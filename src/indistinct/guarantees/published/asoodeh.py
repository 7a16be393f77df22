"""The formulas of *Three Variants of Differential Privacy: Lossless Conversion and Applications*
(Asoodeh, Liao, Calmon, Kosut and Sankar 2021). Theorem 3, Lemma 4 and Corollary 1 are the library's own
conversions (`guarantees/conversion.py`); here are the closed forms around them."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.special import expit, rel_entr

from indistinct.errors import (
    ArgumentError,
    check_array,
    check_count,
    check_nonnegative,
    check_positive,
)
from indistinct.guarantees.published.ranges import check_open_probability, check_order
from indistinct.guarantees.stated import RenyiCurve
from indistinct.numerics.arrays import Array


def moments_accountant_delta(order: float, value: float, epsilon: float) -> float:
    """Theorem 1 (Abadi et al. 2016, Theorem 2): (order, value)-RDP implies δ = e^(-(order-1)(ε-value)).

    Valid for ε > value. `RenyiCurve([order], [value]).delta(epsilon)` is tighter, and optimal.

    >>> moments_accountant_delta(10, 0.1, 1.0)
    0.0003035
    """
    alpha, gamma = check_order(order), check_nonnegative("value", value)
    target = check_nonnegative("epsilon", epsilon)
    if target <= gamma:
        raise ArgumentError("epsilon", epsilon, f"above value = {gamma:g}")
    return math.exp(-(alpha - 1) * (target - gamma))


def moments_accountant_epsilon(rho: float, steps: int, delta: float) -> float:
    """Equation 29: the curve ρ·order, `steps` times, by Theorem 1 at the best order: ρT + √(4ρT log 1/δ).

    ρ = 1/(2σ²) for Gaussian noise. `Gaussian(σ)` repeated is exact, `ZeroConcentratedDP(ρ)` optimal.

    >>> moments_accountant_epsilon(1 / 800, 1000, 1e-5)
    8.8371
    """
    total = check_nonnegative("rho", rho) * check_count("steps", steps)
    return total + math.sqrt(-4 * total * math.log(check_open_probability("delta", delta)))


def asoodeh_least_divergence(order: float, epsilon: float, delta: float) -> float:
    """Theorem 4: how large a divergence of this order may be so that (ε, δ)-DP still follows; never above
    the optimum (Theorem 3). Equal to it at δ = 0, where it is 0, and for order·δ >= 1, where it is
    ε - log(1-δ); else the larger of the two lower bounds g and f.

    >>> asoodeh_least_divergence(2, 1.0, 0.5), asoodeh_least_divergence(2, 1.0, 0.1)
    (1.6931, 0.301936)
    """
    alpha, target = check_order(order), check_nonnegative("epsilon", epsilon)
    share = check_array("delta", delta, 0.0, math.nextafter(1.0, 0.0), "a number in [0, 1)").item()
    if share == 0:
        return 0.0
    if alpha * share >= 1:
        return target - math.log1p(-share)
    steep = target + (math.log(share) - _log_zeta(alpha)) / (alpha - 1)
    # e^-ε taken out of every term, so that a large ε does not overflow
    kept = alpha * math.log((1 - share) / (1 - share * math.exp(-target))) - (alpha - 1) * target
    inside = alpha * share + (1 - alpha * share * math.exp(-target)) * math.exp(kept)
    return max(float(steep), target + math.log(inside) / (alpha - 1), 0.0)


def asoodeh_divergence(order: float, epsilon: float, delta: float) -> float:
    """Theorem 3 (equation 20) as printed: the largest divergence of this order with which (ε, δ)-DP still
    follows, ε + log M/(order-1), M minimised over p numerically.

    The optimum that Theorem 4 approaches from below; `RenyiCurve.epsilon` and `delta` invert it,
    and use that a claim holds for both orders of the data sets.

    >>> asoodeh_divergence(2, 1.0, 0.1)
    0.546567
    """
    alpha, target = check_order(order), check_nonnegative("epsilon", epsilon)
    share = check_open_probability("delta", delta)

    def log_sum(t: Any) -> Any:
        # p = δ + (1-δ)/(1 + e^-t) resolves both ends of (δ, 1)
        gap, rest = (1 - share) * expit(t), (1 - share) * expit(-t)
        first = alpha * np.log(share + gap) - (alpha - 1) * np.log(gap)
        second = alpha * np.log(rest) - (alpha - 1) * np.log(np.expm1(target) + share + rest)
        return np.logaddexp(first, second)

    reach = 30.0 - math.log(share)
    return target + _least(log_sum, -reach, reach) / (alpha - 1)


def asoodeh_epsilon(order: float, value: float, delta: float) -> float:
    """Lemma 1: the ε that (order, value)-RDP implies at δ in (0, 1), at most. Exact for order·δ >= 1.

    `RenyiCurve([order], [value]).epsilon(delta)` is never larger: Theorem 3 itself, with the claim for both
    orders of the data sets. The first term alone is what most libraries use (Balle et al. 2020, Theorem 21).

    >>> asoodeh_epsilon(10, 0.1, 1e-5)
    1.01801
    """
    alpha, gamma = check_order(order), check_nonnegative("value", value)
    share = check_open_probability("delta", delta)
    return float(_lemma_1(np.array(alpha), np.array(gamma), share))


def asoodeh_free_deltas(order: float, value: float) -> tuple[float, float]:
    """Remark 1: (order, value)-RDP is (0, δ)-DP for every δ between these two.

    Valid for value < log(order/(order-1)), else the interval is empty. Above 1/order, ε = 0 holds from
    δ = 1 - e^-value on (Appendix E). `advantage()` of a guarantee is the smallest such δ.

    >>> asoodeh_free_deltas(2, 0.1)
    (0.2763, 0.5)
    """
    alpha, gamma = check_order(order), check_nonnegative("value", value)
    most = -math.log1p(-1 / alpha)
    if gamma >= most:
        raise ArgumentError("value", value, f"below log(order/(order-1)) = {most:g}")
    return math.exp(_log_zeta(alpha) + (alpha - 1) * gamma), 1 / alpha


def asoodeh_gaussian_epsilon(rho: float, steps: int, delta: float) -> float:
    """Lemma 2: the curve ρ·order, `steps` times, by Lemma 1 at the best order (found numerically; every
    order gives a valid bound).

    The curve must hold at *every* order: ρ = 1/(2σ²) for Gaussian noise. For subsampled noise it does not
    (see `noisy_sgd_rho`). `(steps * Gaussian(σ)).guarantee().epsilon(delta)` is exact.

    >>> asoodeh_gaussian_epsilon(1 / 800, 1000, 1e-5)
    8.0784
    """
    total = check_nonnegative("rho", rho) * check_count("steps", steps)
    share = check_open_probability("delta", delta)
    if total == 0:
        return 0.0

    def at(log_excess: Any) -> Any:
        alpha = np.minimum(1 + np.exp(log_excess), 1 / share)
        return _lemma_1(alpha, alpha * total, share)

    low, high = math.log(1e-6), math.log(1 / share - 1)
    beyond = max(total / share + math.log1p(-share), 0.0)
    return min(_least(at, min(low, high - 1.0), high), beyond)


def asoodeh_gaussian_variance(epsilon: float, delta: float, steps: int) -> float:
    """Theorem 5 before its expansion (equation 109): σ² of Gaussian noise that makes `steps` runs (ε, δ)-DP,
    at the order 2 log(1/δ)/ε. Valid for ε >= 2δ log(1/δ) and where that order exceeds 1.

    `calibrate` finds the least noise.

    >>> asoodeh_gaussian_variance(1.0, 1e-5, 1000)
    17335.967
    """
    target, share = check_positive("epsilon", epsilon), check_open_probability("delta", delta)
    least = -2 * share * math.log(share)
    alpha = -2 * math.log(share) / target
    if target < least or alpha <= 1:
        raise ArgumentError("epsilon", epsilon, f"in [{least:g}, {-2 * math.log(share):g})")
    room = target + (math.log(share) - _log_zeta(alpha)) / (alpha - 1)
    if room <= 0:
        raise ArgumentError("epsilon", epsilon, "large enough for the order 2 log(1/delta)/epsilon")
    return float(alpha * check_count("steps", steps) / (2 * room))


def noisy_sgd_rho(rate: float, scale: float) -> float:
    """The slope ρ = q²/((1-q)σ²) that the paper gives noisy SGD, after Abadi et al. 2016, Lemma 3.

    Not a guarantee: the lemma asks for σ >= 1, q < 1/(16σ) and orders up to `noisy_sgd_largest_order`, and
    leaves out a term of order q³. For σ well below 1 the curve is too low at every order. The exact reading
    is `(steps * Gaussian(scale).subsample(rate)).guarantee()`.

    >>> noisy_sgd_rho(0.001, 4)
    6.256e-08
    """
    share, sigma = check_open_probability("rate", rate), check_positive("scale", scale)
    if share >= 1 / (16 * sigma):
        raise ArgumentError("rate", rate, f"below 1/(16 scale) = {1 / (16 * sigma):g}")
    return share**2 / ((1 - share) * sigma**2)


def noisy_sgd_largest_order(rate: float, scale: float) -> float:
    """The largest order for which that slope is claimed: 1 + σ² log(1/(qσ)).

    >>> noisy_sgd_largest_order(0.003, 0.6)
    3.2752
    """
    noisy_sgd_rho(rate, scale)
    return 1 - scale**2 * math.log(rate * scale)


def asoodeh_renyi(order: float, fpr: Any, fnr: Any) -> float:
    """Proposition 1: the Rényi divergence of a trade-off curve, here of the polygon through given points
    (fpr from 0 to 1, fnr convex and falling to 0): log(1 - β(0) + ∫|β'|^(1-order))/(order-1).

    As printed. The term 1 - β(0) comes from leaving out the outcomes that only the second distribution has;
    they contribute nothing, so where β(0) < 1 the formula overstates, and ∫|β'|^(1-order) alone is exact.
    A polygon through points of a smooth curve lies above it and has a smaller divergence.

    >>> asoodeh_renyi(2, [0, 0.25, 1], [1, 0.25, 0])
    0.8473
    """
    alpha = check_order(order)
    x, y = (check_array(name, v, 0.0, 1.0, "numbers in [0, 1]") for name, v in (("fpr", fpr), ("fnr", fnr)))
    if x.ndim != 1 or x.shape != y.shape or x.size < 2 or x[0] != 0 or x[-1] != 1 or (np.diff(x) <= 0).any():
        raise ArgumentError("fpr", fpr, "increasing numbers from 0 to 1, one for each false negative rate")
    slope = -np.diff(y) / np.diff(x)
    if y[-1] != 0 or (slope < 0).any() or (np.diff(slope) > 1e-9 * slope[:-1]).any():
        raise ArgumentError("fnr", fnr, "a convex curve that falls to 0")
    with np.errstate(divide="ignore"):
        total = 1 - y[0] + float(np.sum(np.diff(x) * slope ** (1 - alpha)))
    return math.log(total) / (alpha - 1)


def asoodeh_profile_tradeoff(order: float, value: float, fpr: Any) -> Array:
    """Lemma 3: the least false negative rates by way of (ε, δ): every ε with the δ that Theorem 3 gives.

    Any ε gives a valid bound; 241 of them are used. `RenyiCurve([order], [value]).tradeoff(fpr)` is Lemma 4
    and at least as tight.

    >>> asoodeh_profile_tradeoff(10, 0.1, [0.001, 0.5])
    array([0.9979, 0.4215])
    """
    alpha, gamma = check_order(order), check_nonnegative("value", value)
    x = check_array("fpr", fpr, 0.0, 1.0, "a number in [0, 1]")
    epsilon = np.linspace(0.0, 1.0, 241) ** 2 * (gamma + 40 / (alpha - 1))
    delta = RenyiCurve([alpha], [gamma]).delta(epsilon)
    flat = x.reshape(-1, 1)
    steep, shallow = 1 - delta - np.exp(epsilon) * flat, np.exp(-epsilon) * (1 - delta - flat)
    best: Array = np.maximum(np.maximum(steep, shallow).max(axis=1), 0.0)
    return best.reshape(x.shape)


def asoodeh_tradeoff(orders: Any, values: Any, fpr: Any) -> Array:
    """Lemma 4, equation 44, and Corollary 1, equation 48, over the given orders (from 1) and no others: the
    least false negative rates β with d(1-fpr, β) and d(1-β, fpr), divergences of coins, within the values.

    `RenyiCurve(orders, values).tradeoff(fpr)` also uses what holds between the orders.

    >>> asoodeh_tradeoff([2, 10], [0.05, 0.1], [0.001, 0.5])
    array([0.99793, 0.42151])
    """
    alphas = check_array("orders", orders, 1.0, 1e300, "finite orders of at least 1")
    gammas = check_array("values", values, 0.0, math.inf, "non-negative numbers, one for each order")
    if alphas.shape != gammas.shape or alphas.ndim != 1:
        raise ArgumentError("values", values, "non-negative numbers, one for each order")
    x = check_array("fpr", fpr, 0.0, 1.0, "a number in [0, 1]")
    best = np.zeros(x.size)
    for alpha, gamma in zip(alphas.tolist(), gammas.tolist(), strict=True):
        low, high = np.zeros(x.size), 1 - x.ravel()
        for _ in range(60):
            middle = (low + high) / 2
            possible = _coin(alpha, 1 - x.ravel(), middle) <= gamma
            possible &= _coin(alpha, 1 - middle, x.ravel()) <= gamma
            low, high = np.where(possible, low, middle), np.where(possible, middle, high)
        best = np.maximum(best, low)
    return best.reshape(x.shape)


def asoodeh_kullback_tradeoff(value: float, fpr: Any) -> Array:
    """Lemma 4, equation 45 (and 49, 53): the same when only the order 1, the Kullback-Leibler divergence, is
    used. Weaker than (44).

    >>> asoodeh_kullback_tradeoff(0.5, [0.05, 0.5])
    array([0.622497, 0.10247])
    """
    return asoodeh_tradeoff([1.0], [check_nonnegative("value", value)], fpr)


def _coin(order: float, a: Array, b: Array) -> Array:
    """The divergence of a coin of bias a from one of bias b."""
    with np.errstate(divide="ignore", invalid="ignore"):
        if order == 1:
            return rel_entr(a, b) + rel_entr(1 - a, 1 - b)
        heads = np.where(a > 0, order * np.log(a) + (1 - order) * np.log(b), -np.inf)
        tails = np.where(a < 1, order * np.log1p(-a) + (1 - order) * np.log1p(-b), -np.inf)
        total: Array = np.logaddexp(heads, tails) / (order - 1)
    return np.where(np.isnan(total), np.inf, total)


def _log_zeta(alpha: Any) -> Any:
    """ζ of Theorem 4: (1/order) (1 - 1/order)^(order-1)."""
    return (alpha - 1) * np.log1p(-1 / alpha) - np.log(alpha)


def _lemma_1(alpha: Array, gamma: Array, delta: float) -> Array:
    growth = (alpha - 1) * gamma
    first = np.maximum(growth - math.log(delta) + _log_zeta(alpha), 0.0)
    # log((e^x - 1)/y + 1), in logarithms where e^x would overflow
    modest = np.log1p(np.expm1(np.minimum(growth, 600.0)) / (alpha * delta))
    second = np.where(growth < 600.0, modest, growth - np.log(alpha * delta))
    small = np.minimum(first, second) / (alpha - 1)
    return np.where(alpha * delta >= 1, np.maximum(gamma + math.log1p(-delta), 0.0), small)


def _least(function: Callable[[Any], Any], low: float, high: float) -> float:
    """The least value of a function: a grid, and ever finer grids around its best point."""
    best = math.inf
    for _ in range(5):
        grid = np.linspace(low, high, 101)
        values = function(grid)
        place = int(values.argmin())
        best = min(best, float(values[place]))
        low, high = float(grid[max(place - 1, 0)]), float(grid[min(place + 1, 100)])
    return best
