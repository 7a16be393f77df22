"""The formulas of *Rényi Differential Privacy* (Mironov 2017, arXiv 1702.07476v3)."""

import math

import numpy as np

from indistinct.errors import (
    ArgumentError,
    check_count,
    check_nonnegative,
    check_positive,
    check_probability,
)
from indistinct.guarantees.published.ranges import check_open_probability, check_order
from indistinct.guarantees.readings import Interval

_BUN_STEINKE = 0.5
_MIRONOV = 2.0


def mironov_epsilon(order: float, value: float, delta: float) -> float:
    """Proposition 3: (order, value)-RDP implies (ε, δ)-DP with ε = value + log(1/δ)/(order-1), 0 < δ < 1.

    `RenyiCurve([order], [value]).epsilon(delta)` is tighter, and optimal.

    >>> mironov_epsilon(10, 0.1, 1e-5)
    1.3792
    """
    alpha, gamma = check_order(order), check_nonnegative("value", value)
    return gamma - math.log(check_open_probability("delta", delta)) / (alpha - 1)


def mironov_group(order: float, value: float, doublings: int) -> tuple[float, float]:
    """Proposition 2: for 2^c records at once, (order, value)-RDP becomes (order/2^c, 3^c value)-RDP.

    Valid for order >= 2^(c+1). `group` of a guarantee known by its pair is exact.

    >>> mironov_group(8, 0.1, 1)
    (4.0, 0.3)
    """
    count = check_count("doublings", doublings)
    alpha = check_order(order, least=2.0 ** (count + 1), strict=False)
    return alpha / 2**count, 3**count * check_nonnegative("value", value)


def mironov_event(order: float, value: float, probability: float) -> Interval:
    """Proposition 10 ("bad outcomes"): an event of probability p on one data set has a probability between
    e^-value p^(order/(order-1)) and (e^value p)^((order-1)/order) on a neighbour.

    `RenyiCurve([order], [value]).event(probability)` is tighter.

    >>> mironov_event(10, 0.1, 0.5)
    Interval(low=0.4189, high=0.5863)
    """
    alpha, gamma = check_order(order), check_nonnegative("value", value)
    p = check_probability("probability", probability)
    low = math.exp(-gamma) * p ** (alpha / (alpha - 1))
    high = 0.0 if p == 0 else math.exp(min((gamma + math.log(p)) * (1 - 1 / alpha), 0.0))
    return Interval(low, high)


def mironov_pure_renyi(epsilon: float, order: float, *, constant: float = _MIRONOV) -> float:
    """Lemma 1: an ε-DP mechanism has Rényi divergence at most 2 ε² order, for orders from 1.

    `constant=0.5` gives the bound of Bun and Steinke 2016 (Proposition 3.3), which Mironov cites as
    the better one. `PureDP(epsilon).renyi(order)` is tight.

    >>> mironov_pure_renyi(0.1, 2), mironov_pure_renyi(0.1, 2, constant=0.5)
    (0.04, 0.01)
    """
    if constant not in (_BUN_STEINKE, _MIRONOV):
        raise ArgumentError("constant", constant, "2 (Mironov) or 0.5 (Bun and Steinke)")
    alpha = check_order(order, strict=False)
    return constant * alpha * check_nonnegative("epsilon", epsilon) ** 2


def mironov_pure_event(epsilon: float, steps: int, probability: float) -> float:
    """Proposition 4: after adaptive composition of ε-DP mechanisms an event of probability p has at most
    probability p exp(2 ε √(steps log 1/p)) on a neighbour.

    The printed proof loses a factor: with the constant 2 of Lemma 1 its steps give 3 ε √(...), with the
    constant 1/2 of Bun and Steinke 1.5 ε √(...); so the statement is true, by the latter.
    `(steps * PureDP(epsilon)).event(p)` is tight.

    >>> mironov_pure_event(0.1, 100, 1e-3)
    0.1918
    """
    p = check_open_probability("probability", probability)
    bound = 2 * check_nonnegative("epsilon", epsilon) * math.sqrt(check_count("steps", steps) * -math.log(p))
    return math.exp(min(bound + math.log(p), 0.0))


def mironov_advanced_composition(epsilon: float, steps: int, delta: float) -> float:
    """Corollary 1: ε-DP mechanisms composed are (4 ε √(2 steps log 1/δ), δ)-DP.

    Valid where log(1/δ) >= steps ε² ("high privacy"). `(steps * PureDP(epsilon)).epsilon(delta)` is optimal.

    >>> mironov_advanced_composition(0.1, 100, 1e-5)
    19.19
    """
    each, count = check_nonnegative("epsilon", epsilon), check_count("steps", steps)
    log_inverse = -math.log(check_open_probability("delta", delta))
    if log_inverse < count * each**2:
        raise ArgumentError("delta", delta, f"at most exp(-steps epsilon^2) = {math.exp(-count * each**2):g}")
    return 4 * each * math.sqrt(2 * count * log_inverse)


# -- Table II: the curves of three mechanisms ------------------------------------------------------


def randomized_response_renyi(truth: float, order: float) -> float:
    """Proposition 5: log(p^α (1-p)^(1-α) + (1-p)^α p^(1-α))/(α-1), at order 1 (2p-1) log(p/(1-p)).

    The same as `RandomizedResponse(truth).guarantee().renyi(order)`; order infinity gives |log(p/(1-p))|.

    >>> randomized_response_renyi(0.75, 2)
    0.8473
    """
    p, alpha = check_open_probability("truth", truth), _from_one(order)
    loss = math.log(p) - math.log1p(-p)
    if alpha == 1:
        return (2 * p - 1) * loss
    if alpha == math.inf:
        return abs(loss)
    steps = (alpha - 1) * loss
    return float(np.logaddexp(math.log(p) + steps, math.log1p(-p) - steps)) / (alpha - 1)


def laplace_renyi(scale: float, order: float) -> float:
    """Proposition 6, sensitivity 1: log(α/(2α-1) e^((α-1)/λ) + (α-1)/(2α-1) e^(-α/λ))/(α-1), at order 1
    1/λ + e^(-1/λ) - 1.

    The same as `Laplace(scale).guarantee().renyi(order)`; order infinity gives 1/λ.

    >>> laplace_renyi(1, 2), laplace_renyi(1, 1)
    (0.6191, 0.3679)
    """
    inverse, alpha = 1 / check_positive("scale", scale), _from_one(order)
    if alpha == 1:
        return inverse + math.expm1(-inverse)
    if alpha == math.inf:
        return inverse
    near = math.log(alpha / (2 * alpha - 1)) + (alpha - 1) * inverse
    far = math.log((alpha - 1) / (2 * alpha - 1)) - alpha * inverse
    return float(np.logaddexp(near, far)) / (alpha - 1)


def gaussian_renyi(scale: float, order: float) -> float:
    """Corollary 3, sensitivity 1: order / (2 scale²), the same as `Gaussian(scale).guarantee().renyi(order)`.

    >>> gaussian_renyi(2, 4)
    0.5
    """
    return _from_one(order) / (2 * check_positive("scale", scale) ** 2)


def _from_one(order: float) -> float:
    return math.inf if order == math.inf else check_order(order, strict=False)
