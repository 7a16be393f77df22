"""Columns as if they were normal, with the moments that a first pass has measured: where a logistic
regression begins, and what curvatures are like before they are known."""

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from indistinct.data.queries.regression_fits import NoisyMoments
from indistinct.data.queries.regression_sums import Array

_EXPLAINED = 0.4
"""Of the variance of a response, at most, where coefficients begin: more would need endless ones."""
_LARGEST = 50.0
"""Of a logit."""
_NODES, _WEIGHTS = np.polynomial.hermite_e.hermegauss(20)
_WEIGHTS = _WEIGHTS / _WEIGHTS.sum()


@dataclass(frozen=True)
class NormalColumns:
    """From the products of columns and response, which is -1 or 1."""

    first: NoisyMoments

    @property
    def records(self) -> float:
        return self.first.records

    @cached_property
    def mean(self) -> Array:
        return np.asarray(np.clip(self.first.matrix[0, 1:-1] / self.records, -1.0, 1.0))

    @cached_property
    def covariance(self) -> Array:
        """No direction has less than what noise hides."""
        found = self.first.matrix[1:-1, 1:-1] / self.records - np.outer(self.mean, self.mean)
        return at_least(found, min(0.02, max(self.first.deviation / self.records, 1e-4)))

    @cached_property
    def coefficients(self) -> Array:
        """The slopes of linear regression are those of logistic regression times the mean of the derivative
        of the chance (Stein 1981), so there is one number to find; and the intercept follows from the
        mean."""
        first, slopes = self.first, self.first.estimate[1:]
        answer_limit = 1 - 2 * min(0.5, max(first.deviation, 1.0) / self.records)
        answer = float(np.clip(first.matrix[0, -1] / self.records, -answer_limit, answer_limit))
        found = math.sqrt(slopes @ self.covariance @ slopes)
        told = min(found, math.sqrt(_EXPLAINED * (1 - answer**2)))

        def centred(spread: float) -> float:
            """The mean logit, of this deviation, whose mean answer is the one that is seen."""
            low, high = -_LARGEST, _LARGEST
            for _ in range(40):
                middle = (low + high) / 2
                below = _WEIGHTS @ np.tanh((middle + spread * _NODES) / 2) < answer
                low, high = (middle, high) if below else (low, middle)
            return (low + high) / 2

        least, largest = 1.0, _LARGEST
        for _ in range(24):
            factor = math.sqrt(least * largest)
            logit = centred(factor * told)
            slope = float(_WEIGHTS @ (1 - np.tanh((logit + factor * told * _NODES) / 2) ** 2)) / 2
            least, largest = (factor, largest) if factor * slope < 1 else (least, factor)
        moved = factor * (told / found if found else 1.0) * slopes
        return np.append(logit - moved @ self.mean, moved)

    def curvature(self, coefficients: Array) -> Array:
        """Σ p (1 - p) x x', the mean over a normal law: x is its mean, a multiple of the direction in which
        logits vary, and a rest that goes with neither."""
        slopes = coefficients[1:]
        spread = math.sqrt(slopes @ self.covariance @ slopes)
        chance = 1 / (1 + np.exp(-np.clip(coefficients[0] + slopes @ self.mean + spread * _NODES, -40, 40)))
        weight = _WEIGHTS * chance * (1 - chance)
        along = np.append(0.0, self.covariance @ slopes / max(spread, 1e-9))
        middle = np.append(1.0, self.mean)
        rest = np.zeros((len(along), len(along)))
        rest[1:, 1:] = self.covariance
        once = weight @ _NODES * np.outer(along, middle)
        found = weight.sum() * (np.outer(middle, middle) + rest) + once + once.T
        found += weight @ (_NODES**2 - 1) * np.outer(along, along)
        return self.records * at_least(found, 1e-5)


def at_least(matrix: Array, least: float) -> Array:
    """A symmetric matrix, its eigenvalues no smaller than that."""
    values, vectors = np.linalg.eigh(matrix)
    return np.asarray((vectors * np.maximum(values, least)) @ vectors.T)
