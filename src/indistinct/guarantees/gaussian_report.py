"""One honest number: the tightest Gaussian DP statement, and what it gives away.

Gomez, Kulynych, Kaissis, Hayes, Balle and Honkela 2025 propose to report mu with its *regret*, the
largest distance between the true trade-off curve and the Gaussian one.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from indistinct.numerics.arrays import Array
from indistinct.numerics.normal import gaussian_tradeoff, log_gaussian_delta

Profile = Callable[[Array], Array]

_LARGEST_EPSILON = 700.0
"""e to this is a number; what tells more is not said to be Gaussian."""


@dataclass(frozen=True)
class GaussianReport:
    """For every epsilon, delta(epsilon) <= delta of mu-Gaussian DP at epsilon, plus `slack`."""

    mu: float
    regret: float
    """How much smaller both error rates of some test could be under mu-GDP than they truly can."""
    slack: float
    """Probability that is left out of the statement; the far tail of a composition is never Gaussian."""


def fit_gaussian(delta: Profile, epsilon: Profile, tradeoff: Profile, slack: float) -> GaussianReport:
    """The smallest mu that covers a profile up to `slack`."""
    reach = float(epsilon(np.array([slack]))[0])
    if reach > _LARGEST_EPSILON:
        return GaussianReport(math.inf, 1.0, slack)
    grid = reach * np.linspace(0.0, 1.0, 129) ** 1.5 if reach > 0 else np.zeros(1)
    bound = delta(grid) - slack
    mu = float(_covering_shift(grid, bound).max())
    for _ in range(40):
        if mu == 0 or _covers(mu, grid, bound):
            break
        mu *= 1 + 1e-4
    fpr = np.linspace(0.0, 1.0, 201)
    return GaussianReport(mu, _regret(tradeoff(fpr), gaussian_tradeoff(mu, fpr), fpr), slack)


def _covering_shift(epsilon: Array, bound: Array) -> Array:
    """The smallest mu with Gaussian delta at least `bound`, point by point, by bisection."""
    low, high = np.full(bound.shape, -20.0), np.full(bound.shape, 12.0)  # logarithms of mu
    log_bound = np.log(np.maximum(bound, 1e-300))
    for _ in range(60):
        middle = (low + high) / 2
        enough = log_gaussian_delta(np.exp(middle), epsilon) >= log_bound
        low, high = np.where(enough, low, middle), np.where(enough, middle, high)
    return np.where(bound <= 0, 0.0, np.exp(high))


def _covers(mu: float, epsilon: Array, bound: Array) -> bool:
    """Whether the Gaussian profile is above the bound everywhere, not only on the grid.

    Profiles are convex in e^epsilon: between grid points the bound is below its chord and the Gaussian
    above its tangents, so it is enough to look where the two tangents meet.
    """
    x = np.exp(epsilon)
    gaussian = np.exp(log_gaussian_delta(mu, epsilon))
    if (gaussian < bound - 1e-15).any():
        return False
    step = 1e-6
    slope = (np.exp(log_gaussian_delta(mu, epsilon + step)) - gaussian) / (x * math.expm1(step))
    a, b = slice(None, -1), slice(1, None)
    with np.errstate(divide="ignore", invalid="ignore"):
        meet = (gaussian[b] - gaussian[a] + slope[a] * x[a] - slope[b] * x[b]) / (slope[a] - slope[b])
    meet = np.where(np.isfinite(meet), np.clip(meet, x[a], x[b]), x[a])
    tangent = gaussian[a] + slope[a] * (meet - x[a])
    chord = bound[a] + (bound[b] - bound[a]) * (meet - x[a]) / (x[b] - x[a])
    return bool((tangent >= chord * (1 - 1e-6) - 1e-12).all())


def _regret(curve: Array, gaussian: Array, fpr: Array) -> float:
    """The smallest k with curve(x + k) - k <= gaussian(x) for all x."""
    low, high = np.zeros_like(fpr), np.ones_like(fpr)
    for _ in range(40):
        middle = (low + high) / 2
        below = np.interp(np.minimum(fpr + middle, 1.0), fpr, curve) - middle <= gaussian
        low, high = np.where(below, low, middle), np.where(below, middle, high)
    return float(high.max())
