"""Composition theorems by name. `n * ApproxDP(...)` and `+` are the optimum that these approach."""

import math
from collections.abc import Iterable

from indistinct.errors import check_count, check_nonnegative, check_probability
from indistinct.guarantees.published.ranges import check_open_probability


def basic_composition(claims: Iterable[tuple[float, float]]) -> tuple[float, float]:
    """The sums of the ε and of the δ (Dwork, McSherry, Nissim and Smith 2006; Dwork and Lei 2009).

    >>> basic_composition([(0.1, 1e-6), (0.2, 1e-6)])
    (0.3, 2e-06)
    """
    pairs = [(check_nonnegative("epsilon", e), check_probability("delta", d)) for e, d in claims]
    return math.fsum(e for e, _ in pairs), min(math.fsum(d for _, d in pairs), 1.0)


def advanced_composition(epsilon: float, delta: float, steps: int, slack: float) -> tuple[float, float]:
    """Dwork, Rothblum and Vadhan 2010, Theorem III.3: k times (ε, δ) is, for every slack in (0, 1),
    (ε √(2k log 1/slack) + k ε (e^ε - 1), kδ + slack).

    Worse than basic composition while k is small.

    >>> advanced_composition(0.1, 0.0, 100, 1e-5)
    (5.8502, 1e-05)
    """
    each, count = check_nonnegative("epsilon", epsilon), check_count("steps", steps)
    share, rest = check_probability("delta", delta), check_open_probability("slack", slack)
    total = each * math.sqrt(-2 * count * math.log(rest)) + count * each * math.expm1(each)
    return total, min(count * share + rest, 1.0)


def kairouz_composition(epsilon: float, delta: float, steps: int, slack: float) -> tuple[float, float]:
    """Kairouz, Oh and Viswanath 2015, Theorem 3.4: the smallest of kε and of
    kε (e^ε-1)/(e^ε+1) + ε √(2k log(1/slack)), the logarithm also as log(e + ε√k/slack);
    δ becomes 1 - (1-δ)^k (1-slack).

    >>> kairouz_composition(0.1, 0.0, 100, 1e-5)
    (5.2981, 1e-05)
    """
    each, count = check_nonnegative("epsilon", epsilon), check_count("steps", steps)
    share, rest = check_probability("delta", delta), check_open_probability("slack", slack)
    drift = count * each * math.tanh(each / 2)
    spread = min(math.log(math.e + each * math.sqrt(count) / rest), -math.log(rest))
    total = min(count * each, drift + each * math.sqrt(2 * count * spread))
    return total, -math.expm1((count * _log_kept(share) if count else 0.0) + math.log1p(-rest))


def kairouz_optimal(epsilon: float, delta: float, steps: int) -> list[tuple[float, float]]:
    """Kairouz, Oh and Viswanath 2015, Theorem 3.3: the corners of the optimum for k equal claims, at
    ((k-2i)ε, 1 - (1-δ)^k (1-δ_i)) for i from 0 to k/2, with

        δ_i = Σ_{l<i} C(k, l) (e^((k-l)ε) - e^((k-2i+l)ε)) / (1 + e^ε)^k.

    `(steps * ApproxDP(epsilon, delta)).delta(...)` gives the same numbers, and those between the corners.

    >>> kairouz_optimal(1.0, 0.0, 2)
    [(2.0, 0.0), (0.0, 0.4621)]
    """
    each, count = check_nonnegative("epsilon", epsilon), check_count("steps", steps)
    kept = count * _log_kept(check_probability("delta", delta)) if count else 0.0
    truth = -math.log1p(math.exp(-each))
    corners = []
    for i in range(count // 2 + 1):
        # in logarithms, (1 + e^ε)^k taken into each term: nothing overflows
        terms = (
            math.exp(_log_choose(count, j) - j * each + count * truth) * -math.expm1(2 * (j - i) * each)
            for j in range(i)
        )
        revealed = min(math.fsum(terms), 1.0)
        corners.append(((count - 2 * i) * each, revealed - math.expm1(kept) * (1 - revealed)))
    return corners


def _log_kept(delta: float) -> float:
    return math.log1p(-delta) if delta < 1 else -math.inf


def _log_choose(n: int, k: int) -> float:
    return math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1)
