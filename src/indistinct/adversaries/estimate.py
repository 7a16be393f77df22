"""Restricted divergences from samples: what an auditor sees of a mechanism that can only be run.

The lower end comes from functions that were fitted on one half of the samples and judged on the other, so
over-fitting cannot raise it; the upper end from the divergence of the samples themselves, which over-fitting
can only raise. Both are asymptotic (a normal approximation), but for the lower end where the released numbers
are known to be bounded: then Maurer and Pontil's empirical Bernstein bound holds for any number of samples.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from itertools import combinations_with_replacement
from typing import Any

import numpy as np
from scipy.special import ndtri

from indistinct.adversaries.classes import Adversary, Linear, PiecewiseLinear, Polynomial, Unrestricted
from indistinct.adversaries.solvers.kullback import KullbackProgramme
from indistinct.adversaries.solvers.quadrature import Outcomes
from indistinct.adversaries.solvers.tables import TableProgramme
from indistinct.errors import ArgumentError, check_count, check_real
from indistinct.numerics.arrays import Array

_MOST_FEATURES = 400
_FEWEST = 10
"""Samples a feature, at least."""
_LARGEST_SHARE = 0.2
"""Where one sample makes up more of E_Q|h|^A than this, no normal approximation is believed."""


@dataclass(frozen=True)
class Estimate:
    """A restricted divergence seen in samples: a guess, and where it lies with a confidence."""

    value: float
    low: float
    high: float
    confidence: float
    order: float
    method: str = "normal approximation; lower end cross-fitted, upper end from the samples themselves"


_FINITE = "empirical Bernstein bound for any number of samples; lower end cross-fitted, no upper end"


def estimate(
    samples_p: Any,
    samples_q: Any,
    adversary: Adversary,
    *,
    order: float = 2.0,
    confidence: float = 0.95,
    limits: tuple[float, float] | None = None,
) -> Estimate:
    """The restricted Rényi divergence of P from Q (order 1: Kullback-Leibler) from samples of both.

    Samples are n numbers, or n rows of d numbers for `Linear()` and `Polynomial`. A lower end above a claimed
    value refutes the claim at this confidence, for one direction: exchange the samples for the other.

    Both ends are asymptotic. If every number the mechanism can release lies within `limits`, say so: then the
    lower end holds for any number of samples, and the upper end is infinite, because no number of samples
    bounds a supremum over functions that depend on what was not drawn.

    >>> rng = np.random.default_rng(1)
    >>> seen = estimate(rng.normal(1, 1, 20_000), rng.normal(0, 1, 20_000), Linear())
    >>> seen.low < math.log(2) < seen.high
    True
    """
    alpha = check_real("order", order, "1 or a finite number above 1")
    if not 1 <= alpha < math.inf:
        raise ArgumentError("order", order, "1 or a finite number above 1")
    sure = check_real("confidence", confidence)
    if not 0 < sure < 1:
        raise ArgumentError("confidence", confidence, "a number between 0 and 1")
    within = None if limits is None else _limits(limits)
    p, q = _features(samples_p, samples_q, adversary, within)
    if min(p.shape[1], q.shape[1]) < 2 * _FEWEST * p.shape[0]:
        allowed = f"at least {2 * _FEWEST * p.shape[0]} samples for {p.shape[0]} features"
        raise ArgumentError("samples", min(p.shape[1], q.shape[1]), allowed)
    z = float(ndtri((1 + sure) / 2))
    halves = [(p[:, 0::2], q[:, 0::2]), (p[:, 1::2], q[:, 1::2])]
    fitted = [_fit(*half, alpha)[0] for half in halves]
    judged = [_judge(fitted[i], *halves[1 - i], alpha) for i in (0, 1)]
    value = sum(found for found, _, _ in judged) / 2
    if within is not None:
        log_odds = math.log(8 / (1 - sure))  # four means, one side each
        low = max(
            _bernstein(fitted[i], *halves[1 - i], alpha, _range(fitted[i], adversary, within), log_odds)
            for i in (0, 1)
        )
        return Estimate(max(value, low), low, math.inf, sure, alpha, _FINITE)
    error = math.sqrt(sum(variance for _, variance, _ in judged)) / 2
    coefficients, whole = _fit(p, q, alpha)
    _, variance, share = _judge(coefficients, p, q, alpha)
    high = whole + z * math.sqrt(variance) if share < _LARGEST_SHARE else math.inf
    low = max(value - z * error, 0.0) if max(j[2] for j in judged) < _LARGEST_SHARE else 0.0
    return Estimate(min(max(value, low), high), low, high, sure, alpha)


def estimate_from(
    draw_p: Callable[[np.random.Generator, int], Any],
    draw_q: Callable[[np.random.Generator, int], Any],
    adversary: Adversary,
    *,
    order: float = 2.0,
    draws: int = 100_000,
    confidence: float = 0.95,
    seed: int = 0,
) -> Estimate:
    """The same for mechanisms that are known only by how to draw from them, such as noise that is neither
    Gaussian nor Laplace: `high` bounds the divergence with this confidence (asymptotically)."""
    rng = np.random.default_rng(seed)
    count = check_count("draws", draws, least=1)
    return estimate(draw_p(rng, count), draw_q(rng, count), adversary, order=order, confidence=confidence)


def _features(
    samples_p: Any, samples_q: Any, adversary: Adversary, within: tuple[float, float] | None
) -> tuple[Array, Array]:
    """Features of both samples, one a row, the constant among them."""
    x, y = _matrix("samples_p", samples_p), _matrix("samples_q", samples_q)
    if x.shape[1] != y.shape[1]:
        raise ArgumentError("samples_q", y.shape, f"rows of {x.shape[1]} numbers, as samples_p has")
    if isinstance(adversary, Unrestricted):
        raise ArgumentError("adversary", adversary, "a limited class: samples do not bound all functions")
    if within is not None and (min(x.min(), y.min()) < within[0] or max(x.max(), y.max()) > within[1]):
        raise ArgumentError("limits", within, "such that all samples lie within")
    if isinstance(adversary, Linear | Polynomial):
        degree = 1 if isinstance(adversary, Linear) else adversary.degree
        centre, scale = y.mean(axis=0), y.std(axis=0)
        if within is not None:  # so that no monomial is above 1
            centre, scale = (
                np.full_like(centre, sum(within) / 2),
                np.sign(scale) * (within[1] - within[0]) / 2,
            )
        if not (scale > 0).all():
            raise ArgumentError("samples_q", "constant", "varying in every column")
        return _monomials((x - centre) / scale, degree), _monomials((y - centre) / scale, degree)
    span = adversary.span()
    if x.shape[1] != 1 or span is None:
        raise ArgumentError("samples_p", x.shape, "single numbers for this adversary")
    return span(x[:, 0]), span(y[:, 0])


def _matrix(argument: str, samples: Any) -> Array:
    try:
        values = np.asarray(samples, dtype=np.float64)
    except (TypeError, ValueError):
        raise ArgumentError(argument, type(samples).__name__, "numbers") from None
    values = values[:, None] if values.ndim == 1 else values
    if values.ndim != 2 or not values.size or not np.isfinite(values).all():
        raise ArgumentError(argument, values.shape, "finite numbers, or rows of them")
    return values


def _monomials(x: Array, degree: int) -> Array:
    rows = [np.ones(x.shape[0])]
    for total in range(1, degree + 1):
        for chosen in combinations_with_replacement(range(x.shape[1]), total):
            rows.append(np.prod(x[:, chosen], axis=1))
            if len(rows) > _MOST_FEATURES:
                raise ArgumentError("adversary", f"degree {degree}", f"at most {_MOST_FEATURES} features")
    return np.array(rows)


def _fit(p: Array, q: Array, order: float) -> tuple[Array, float]:
    """The best function on these samples, and the divergence of the samples from each other."""
    seen = Outcomes.drawn(p), Outcomes.drawn(q)
    return KullbackProgramme(*seen).solution() if order == 1 else TableProgramme(*seen).solution(order)


def _judge(coefficients: Array, p: Array, q: Array, order: float) -> tuple[float, float, float]:
    """What a function shows on samples, the variance of that, and the largest share of one sample in it."""
    h_p, h_q = coefficients @ p, coefficients @ q
    top = float((h_q if order == 1 else np.abs(h_q)).max())
    weight = _weights(h_q, order, top)
    mean, level = float(h_p.mean()), float(weight.mean())
    value = _shown(mean, level, order, top)
    if value == -math.inf:
        return 0.0, math.inf, 1.0
    slope = 1.0 if order == 1 else order / (order - 1) / mean
    variance = slope**2 * float(h_p.var()) / h_p.size + float(weight.var()) / h_q.size / level**2
    return value, variance, float(weight.max() / weight.sum())


def _weights(h: Array, order: float, top: float) -> Array:
    """|h|^A (order 1: e^h) of values of a function, in units of what it is at the top."""
    weight: Array = np.exp(h - top) if order == 1 else np.abs(h / top) ** (order / (order - 1))
    return weight


def _shown(mean: float, level: float, order: float, top: float) -> float:
    """The divergence that a function shows with its mean under P and that of its weights under Q."""
    if order == 1:
        return mean - top - math.log(level)
    return order / (order - 1) * math.log(mean / top) - math.log(level) if mean > 0 else -math.inf


def _limits(limits: Any) -> tuple[float, float]:
    try:
        low, high = (check_real("limits", limit, "two finite numbers") for limit in limits)
    except (TypeError, ValueError) as error:
        if isinstance(error, ArgumentError):
            raise
        raise ArgumentError("limits", limits, "two finite numbers, the smaller one first") from None
    if not -math.inf < low < high < math.inf:
        raise ArgumentError("limits", limits, "two finite numbers, the smaller one first")
    return low, high


def _range(coefficients: Array, adversary: Adversary, within: tuple[float, float]) -> tuple[float, float]:
    """The least and the largest value of a function within limits, or something beyond them."""
    if isinstance(adversary, Linear | Polynomial):
        width = float(np.abs(coefficients[1:]).sum())
        return float(coefficients[0]) - width, float(coefficients[0]) + width
    if not isinstance(adversary, PiecewiseLinear):
        raise ArgumentError("limits", within, "none for features of your own, whose bounds are not known")
    values = coefficients @ adversary.span()(np.clip([*within, *adversary.knots], *within))
    return float(values.min()), float(values.max())


def _bernstein(
    coefficients: Array, p: Array, q: Array, order: float, bounds: tuple[float, float], log_odds: float
) -> float:
    """What a function shows at least: E_P h from below and E_Q|h|^A (order 1: E_Q e^h) from above, each by
    Maurer and Pontil 2009, Theorem 4, with log_odds = log(2/δ)."""
    low, high = bounds
    if not 0 < high - low < math.inf:
        return 0.0
    top = high if order == 1 else max(abs(low), abs(high))
    h_p, weight = coefficients @ p, _weights(coefficients @ q, order, top)
    mean = float(h_p.mean()) - _deviation(h_p, high - low, log_odds)
    return max(_shown(mean, float(weight.mean()) + _deviation(weight, 1.0, log_odds), order, top), 0.0)


def _deviation(values: Array, width: float, log_odds: float) -> float:
    """How far a mean may be from its expectation, with L = log(2/δ): Bernstein's inequality at δ/2 gives
    sqrt(2 V L/n) + L/(3n) for the variance V, and sqrt(V) is at most the sample's + sqrt(2 L/(n-1)) at δ/2
    (Maurer and Pontil 2009, Theorem 10). The product of the two roots is at most 2 L/(n-1), so that the sum
    is at most sqrt(2 V_n L/n) + 7 L/(3 (n-1)), their Theorem 4."""
    n = values.size
    spread = math.sqrt(2 * float(values.var(ddof=1)) * log_odds / n)
    return (spread + 7 * width * log_odds / (3 * (n - 1))) * (1 + 1e-12)
