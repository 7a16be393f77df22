"""Closed forms by name: what is exact, what the paper printed, and what holds instead.

Chaudhuri, Imola and Machanavajjhala 2019, Table 1. Its upper bounds on the (linear, Rényi) parameter, and
Theorems 5 and 13 and Corollary 2 with them, are false where privacy is high: the proof of Theorem 13 keeps
the constant's b^A at full weight while the other terms carry 2^-d. They are here to be drawn and compared,
as a `PublishedBound` that is not a number; no guarantee is made from them.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from indistinct.adversaries.solvers.laws import GaussianShape, LaplaceShape, NoiseShape
from indistinct.errors import ArgumentError, check_count, check_nonnegative, check_positive, check_real
from indistinct.numerics.cumulant import LaplaceCumulant

WHY_INVALID = (
    "the proof of Theorem 13 keeps b^A at full weight and the other terms at 2^-d; for ε = 0.1 and order 3 "
    "the exact value is 3.7 times this 'bound'"
)


@dataclass(frozen=True)
class PublishedBound:
    """A bound as printed that does not hold in general: its `value` is for pictures, not for guarantees."""

    value: float
    where: str
    valid: bool = False
    why: str = WHY_INVALID


# -- exact ----------------------------------------------------------------------------------------


def laplace_linear_kl(epsilon: float) -> float:
    """Laplace noise of scale 1/ε, sensitivity 1, against linear functions: r - log(1 + r/2) with
    r = sqrt(1+ε²) - 1, which is Theorem 9 without its cancellation.

    >>> laplace_linear_kl(1.0)
    0.2259872
    """
    e = check_nonnegative("epsilon", epsilon)
    r = e / (math.sqrt(1 + e * e) + 1) * e
    return r - math.log1p(r / 2) if r > 1e-5 else r / 2 + r * r / 8


def laplace_kl(epsilon: float) -> float:
    """The same noise against all functions: ε - 1 + e^-ε (Theorem 8)."""
    e = check_nonnegative("epsilon", epsilon)
    return e + math.expm1(-e) if e > 1e-4 else e * e / 2 - e**3 / 6


def gaussian_kl(sigma: float) -> float:
    """Gaussian noise, sensitivity 1: 1/(2σ²), for linear and for all functions alike (Theorem 10)."""
    return 0.5 / check_positive("sigma", sigma) ** 2


# -- what holds -----------------------------------------------------------------------------------


def laplace_linear_bound(order: float, epsilon: float, shift: Sequence[float] = (1.0,)) -> float:
    """An upper bound on the (linear, Rényi) parameter of Laplace noise of scale 1/ε when the statistic moves
    by `shift`, for every order above 1 and every ε.

    D <= A log(1 + s / Γ(A+1)^(1/A)), s = ε |shift|_1, A = α/(α-1), because ||aX + b||_A is at least |b| and
    at least |a| ||X||_A; and never more than the value for all functions.

    >>> laplace_linear_bound(20, 1.0)  # all functions: 0.966
    0.718
    """
    alpha, moves = _order(order), _shift(shift)
    e = check_positive("epsilon", epsilon)
    whole = math.fsum(_laplace_renyi(alpha, e * abs(v)) for v in moves)
    return min(_corrected(LaplaceShape(), alpha, e * math.fsum(map(abs, moves))), whole)


def gaussian_linear_bound(order: float, sigma: float, shift: Sequence[float] = (1.0,)) -> float:
    """The same for Gaussian noise: s = |shift|_2 / σ and E|N(0,1)|^A instead of Γ(A+1)."""
    alpha, s = _order(order), math.hypot(*_shift(shift)) / check_positive("sigma", sigma)
    return min(_corrected(GaussianShape(), alpha, s), alpha * s * s / 2)


def _corrected(noise: NoiseShape, order: float, shift: float) -> float:
    power = order / (order - 1)
    return power * math.log1p(shift * math.exp(-noise.log_moment(power) / power)) * (1 + 1e-14)


def _laplace_renyi(order: float, shift: float) -> float:
    """All functions (Theorem 11; Mironov 2017, Proposition 6)."""
    log_moment = LaplaceCumulant(shift).real(np.array([order - 1]))
    return float(log_moment[0]) / (order - 1) * (1 + 1e-12)


# -- as printed, not valid ------------------------------------------------------------------------


def published_laplace_linear(order: float, epsilon: float, shift: Sequence[float] = (1.0,)) -> PublishedBound:
    """log(1 + 2^(d(α-1)) (ε |v|_α)^α) / (α-1) (Table 1, Corollary 2). **Not valid in general.**"""
    moves, log_scale = _shift(shift), math.log(check_positive("epsilon", epsilon))
    return _published(order, len(moves) * math.log(2.0), log_scale, moves, "Table 1, Corollary 2")


def published_gaussian_linear(order: float, sigma: float, shift: Sequence[float] = (1.0,)) -> PublishedBound:
    """log(1 + 2^(d(α-1)) (π/2)^((α-1)/2) (|v|_α/σ)^α) / (α-1) (Table 1). **Not valid in general.**"""
    moves, log_scale = _shift(shift), -math.log(check_positive("sigma", sigma))
    log_factor = len(moves) * math.log(2.0) + 0.5 * math.log(math.pi / 2)
    return _published(order, log_factor, log_scale, moves, "Table 1, Corollary 2")


def published_matrix_mechanism(order: float, epsilon: float, rows: int) -> PublishedBound:
    """log(1 + 2^(s(α-1)) ε^α) / (α-1) for a strategy of s rows (Theorem 5). **Not valid in general**: it
    follows from the bound for Laplace noise. Exact: `g.against(Linear())`, valid after affine maps."""
    count, log_scale = check_count("rows", rows, least=1), math.log(check_positive("epsilon", epsilon))
    return _published(order, count * math.log(2.0), log_scale, [1.0], "Theorem 5")


def _published(
    order: float, log_factor: float, log_scale: float, moves: list[float], where: str
) -> PublishedBound:
    """log(1 + factor^(α-1) (scale |v|_α)^α) / (α-1)."""
    alpha, top = _order(order), max(map(abs, moves))
    log_norm = alpha * math.log(top) + math.log(math.fsum((abs(v) / top) ** alpha for v in moves))
    x = (alpha - 1) * log_factor + alpha * log_scale + log_norm
    value = x + math.log1p(math.exp(-x)) if x > 0 else math.log1p(math.exp(x))
    return PublishedBound(value / (alpha - 1), where)


def _order(order: float) -> float:
    alpha = check_real("order", order, "a finite number above 1")
    if not 1 < alpha < math.inf:
        raise ArgumentError("order", order, "a finite number above 1")
    return alpha


def _shift(shift: Sequence[float]) -> list[float]:
    moves = [check_real("shift", v, "finite numbers") for v in shift]
    if not moves or not all(map(math.isfinite, moves)) or not any(moves):
        raise ArgumentError("shift", shift, "finite numbers, not all of them zero")
    return moves
