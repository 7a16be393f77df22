"""Losses of a score, and how far one record can move the function that minimises their sum.

With |k(x, ·)| ≤ κ, a public number n and λ > 0 let

    J_D(f) = (1/n) Σ_{(x, y) in D} loss(y, f(x)) + (λ/2) |f|²,    f_D = argmin J_D.

n does not depend on D. Were it the number of records, it would change with them, and every term with it.

**A record that comes or goes.** Let D' be D and one record z = (x, y) more. At f' = f_D' the gradient of
J_D' vanishes, so that of J_D is -(1/n) loss'(y, f'(x)) k(x, ·). J_D is λ-strongly convex, hence
λ |f' - f_D| ≤ |∇J_D(f') - ∇J_D(f_D)| = |∇J_D(f')|, and so |f' - f_D| ≤ |loss'(y, f'(x))| κ/(λ n). A loss of
slope at most L gives Lκ/(λn) (Chaudhuri, Monteleoni and Sarwate 2011; Hall, Rinaldo and Wasserman 2013). The
slope matters at scores of minimisers only, |f'(x)| ≤ κ |f'| ≤ κ R.

**A record that is replaced** is one that goes and one that comes: twice as far.

**How long minimisers are** (R), for at most n records: λ |f'| = |(1/n) Σ loss' k(x_i, ·)| ≤ L κ, and
(λ/2) |f'|² ≤ J(f') ≤ J(0)."""

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np
from scipy.special import expit

from indistinct.description import Positive, checked_fields
from indistinct.errors import ArgumentError
from indistinct.numerics.arrays import Array


class Loss(ABC):
    """A convex function of a score for each target in [-1, 1], with its first two derivatives."""

    bend: float
    """The largest second derivative."""
    quadratic: bool = False
    """Whether the second derivative is the same everywhere."""
    signs: bool
    """Whether targets are the signs -1 and 1, rather than numbers between them."""

    @abstractmethod
    def value(self, targets: Array, scores: Array) -> Array: ...

    @abstractmethod
    def slope(self, targets: Array, scores: Array) -> Array: ...

    @abstractmethod
    def curvature(self, targets: Array, scores: Array) -> Array: ...

    @abstractmethod
    def steepest(self, reach: float) -> float:
        """No slope at a score of at most this size is larger."""

    @abstractmethod
    def highest(self, reach: float) -> float:
        """No loss at a score of at most this size is larger."""

    @abstractmethod
    def radius(self, height: float, regularization: float) -> float:
        """R: no minimiser is longer, if |k(x, ·)| ≤ height and there are at most n records."""

    @abstractmethod
    def moved(self, height: float, regularization: float) -> float:
        """n times how far one record that comes or goes can move the minimiser."""


class LipschitzLoss(Loss):
    """A loss whose slope is bounded for all scores."""

    def radius(self, height: float, regularization: float) -> float:
        radius = math.sqrt(2 * self.highest(0.0) / regularization)
        for _ in range(20):  # each of them is a bound, and the slope at shorter functions is smaller
            radius = min(radius, self.steepest(height * radius) * height / regularization)
        return radius * (1 + 1e-9)

    def moved(self, height: float, regularization: float) -> float:
        reach = height * self.radius(height, regularization)
        return self.steepest(reach) * height / regularization * (1 + 1e-12)


@dataclass(frozen=True)
class LogisticLoss(LipschitzLoss):
    """log(1 + e^{-y score}): logistic regression. Its slope is a probability, below 1."""

    bend = 0.25
    signs = True

    def value(self, targets: Array, scores: Array) -> Array:
        return np.logaddexp(0.0, -targets * scores)

    def slope(self, targets: Array, scores: Array) -> Array:
        slope: Array = -targets * expit(-targets * scores)
        return slope

    def curvature(self, targets: Array, scores: Array) -> Array:
        curvature: Array = expit(scores) * expit(-scores)
        return curvature

    def steepest(self, reach: float) -> float:
        return 1 / (1 + math.exp(-min(reach, 700.0))) * (1 + 1e-12)

    def highest(self, reach: float) -> float:
        return (reach + math.log1p(math.exp(-reach))) * (1 + 1e-12)


@dataclass(frozen=True)
@checked_fields
class HuberisedHingeLoss(LipschitzLoss):
    """max(0, 1 - y score) with its corner rounded over a stretch of `width` (Chapelle 2007)."""

    width: Positive = 1.0
    signs = True

    def __post_init__(self) -> None:
        if not 0.01 <= self.width <= 1:
            raise ArgumentError("width", self.width, "between 0.01 and 1")

    @property
    def bend(self) -> float:  # type: ignore[override]
        return 1 / self.width

    def value(self, targets: Array, scores: Array) -> Array:
        gap = 1 - targets * scores
        inside = np.clip(gap, 0.0, self.width)
        return inside**2 / (2 * self.width) + np.maximum(gap - self.width, 0.0)

    def slope(self, targets: Array, scores: Array) -> Array:
        return -targets * np.clip((1 - targets * scores) / self.width, 0.0, 1.0)

    def curvature(self, targets: Array, scores: Array) -> Array:
        gap = 1 - targets * scores
        return ((gap > 0) & (gap < self.width)) / self.width

    def steepest(self, reach: float) -> float:
        return 1.0

    def highest(self, reach: float) -> float:
        return (1 + reach - self.width / 2) * (1 + 1e-12)


@dataclass(frozen=True)
@checked_fields
class HuberLoss(LipschitzLoss):
    """(y - score)²/2 up to an error of `threshold`, and straight beyond. Targets lie in [-1, 1]: errors
    larger than the threshold do not pull harder, so one record moves the function less."""

    threshold: Positive = 0.1
    bend = 1.0
    signs = False

    def value(self, targets: Array, scores: Array) -> Array:
        gap = np.abs(scores - targets)
        inside = np.minimum(gap, self.threshold)
        return inside * (gap - inside / 2)

    def slope(self, targets: Array, scores: Array) -> Array:
        return np.clip(scores - targets, -self.threshold, self.threshold)

    def curvature(self, targets: Array, scores: Array) -> Array:
        return (np.abs(scores - targets) < self.threshold).astype(np.float64)

    def steepest(self, reach: float) -> float:
        return min(self.threshold, 1 + reach)

    def highest(self, reach: float) -> float:
        inside = self.steepest(reach)
        return inside * (1 + reach - inside / 2) * (1 + 1e-12)


@dataclass(frozen=True)
class SquaredLoss(Loss):
    """(y - score)²/2, for targets in [-1, 1]; the minimiser is kernel ridge regression.

    Its slope has no bound, so how far a record moves the minimiser is found from the minimiser itself. With
    M = (1/n) Σ φφᵀ over at most n records of D, A = M + λ, f = A⁻¹ (1/n) Σ yφ, a further record (φ, y) gives
    (Sherman and Morrison)

        f' - f = A⁻¹φ (y - <φ, f>) / (n + φᵀA⁻¹φ),    |f' - f| ≤ |A⁻¹φ| (1 + |<φ, f>|)/n.

    By Cauchy's inequality <φ, f>² ≤ φᵀA⁻¹MA⁻¹φ, since the |y| are at most 1 and at most n. Write φ in the
    eigenvectors of A, |φ| ≤ κ, with q the inverse eigenvalues, in (0, 1/λ], and E the average by squared
    coefficients: |A⁻¹φ|² ≤ κ² E q² and φᵀA⁻¹MA⁻¹φ ≤ κ² E(q - λq²) ≤ κ² (p - λp²) with p² = E q², as
    E q ≤ p. With v = λp in (0, 1] and r = κ/√λ,

        |f' - f| ≤ κ/(λn) · max_v v (1 + r √(v (1 - v))),

    about (0.75 + 0.325 r) κ/(λn) for large r; the slope at the longest minimiser would give 1 + r/2. It is
    reached, up to n/(n + r²), by n records with φ = √(λ/3) e and y = -1 and a last one with φ = κe, y = 1.
    With v = sin²θ the maximum is where t = tan θ solves r t³ - 2t² - 3rt - 2 = 0.

    The minimiser is not longer than 1/(2√λ), the largest singular value t/(t² + λ) of A⁻¹ (φ_1 …)/√n.
    """

    bend = 1.0
    quadratic = True
    signs = False

    def value(self, targets: Array, scores: Array) -> Array:
        return (scores - targets) ** 2 / 2

    def slope(self, targets: Array, scores: Array) -> Array:
        return scores - targets

    def curvature(self, targets: Array, scores: Array) -> Array:
        return np.ones_like(scores)

    def steepest(self, reach: float) -> float:
        return (1 + reach) * (1 + 1e-12)

    def highest(self, reach: float) -> float:
        return (1 + reach) ** 2 / 2 * (1 + 1e-12)

    def radius(self, height: float, regularization: float) -> float:
        return 0.5 / math.sqrt(regularization) * (1 + 1e-9)

    def moved(self, height: float, regularization: float) -> float:
        ratio = height / math.sqrt(regularization)
        # the root of a cubic that grows beyond it, from above: the value at a maximum forgives small errors
        t = 2 / ratio + math.sqrt(3) + 1
        for _ in range(100):
            t -= (((ratio * t - 2) * t - 3 * ratio) * t - 2) / ((3 * ratio * t - 4) * t - 3 * ratio)
        share = t * t / (1 + t * t)
        most = share * (1 + ratio * t / (1 + t * t))
        return max(most, 1.0) * height / regularization * (1 + 1e-9)
