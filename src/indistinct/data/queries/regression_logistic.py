"""Logistic regression by steps of Newton's method, each a bounded sum with noise.

The first pass has products of columns and response; from these follow coefficients to begin with, as if
columns were normal. Each of three passes after it has the slope g and the curvature H of the likelihood, at
coefficients c that follow from the passes before. Whatever columns look like, the coefficients b of largest
likelihood solve g = K (b - c), where K is the mean curvature between c and b: that is H, but for terms of
second order in b - c, which the steps before have made small; intervals are wider by what they may be.
These are linear equations with noise of a known law, so intervals are those of linear regression.
"""

import math
from dataclasses import dataclass

import numpy as np

from indistinct.data.queries.regression_fits import NoisyEquations, NoisyMoments
from indistinct.data.queries.regression_scores import COARSE, LogisticScores
from indistinct.data.queries.regression_sums import Array

STEPS = (2, 3, 6)
"""Passes after the first: how strongly each is measured, in quarters of the first. The last one decides."""
_FAR = 6.0
"""The size of a coefficient, in logits across half an interval; or three times what is found."""
_EXPLAINED = 0.4
"""Of the variance of a response, at most, where coefficients begin: more would need endless ones."""
_LARGEST = 50.0
"""Coefficients are asked about no further out: chances are 0 and 1 there."""
_NODES, _WEIGHTS = np.polynomial.hermite_e.hermegauss(20)
_WEIGHTS = _WEIGHTS / _WEIGHTS.sum()


@dataclass(frozen=True)
class NewtonEquations(NoisyEquations):
    """Of coefficients less those of the last pass: a curvature with noise, and a slope with noise as the
    last column."""

    centre: Array

    @property
    def coefficients(self) -> Array:
        return np.asarray(self.centre + self.estimate)

    @property
    def sampling(self) -> Array:
        """The variance of the slope at the true coefficients, where the model holds: the curvature."""
        values, vectors = np.linalg.eigh(self.matrix[:-1, :-1])
        return np.asarray((vectors * np.maximum(values, self.deviation)) @ vectors.T)

    @property
    def far(self) -> Array:
        return np.asarray(np.maximum(_FAR, 3 * np.abs(self.coefficients)))

    def left(self, direction: Array) -> float:
        """Between c and the maximum b the curvature changes by at most e^±r, where r is the largest change
        of a logit in the declared box (Bach 2010, Proposition 1). So with d = b - c the mean curvature is at
        least H (1 - e^-r)/r, and the solution of the equations is at most (e^r - 1 - r)/r from d, relative
        to d and measured by H. If a logit moves by 1 or more in the last step, nothing is known of r."""
        moved = float(np.abs(self.estimate).sum())
        if moved >= 1:
            return _LARGEST * float(np.abs(direction).sum())
        r = -math.log1p(-moved)
        share = (math.expm1(r) - r) / r if r > 1e-6 else r / 2
        curvature = self.sampling
        length = math.sqrt(self.estimate @ curvature @ self.estimate) / (1 - math.exp(-r)) * r if r else 0.0
        return share * length * math.sqrt(direction @ np.linalg.solve(curvature, direction))


def first_coefficients(first: NoisyMoments) -> Array:
    """From the products of columns and response, which is -1 or 1, as if columns were normal.

    Then the slopes of linear regression are those of logistic regression times the mean of the derivative
    of the chance (Stein 1981), so there is one number to find; and the intercept follows from the mean.
    """
    slopes, n = first.estimate[1:], first.records
    mean = np.clip(first.matrix[0, 1:-1] / n, -1.0, 1.0)
    values, vectors = np.linalg.eigh(first.matrix[1:-1, 1:-1] / n - np.outer(mean, mean))
    along = np.sqrt(np.maximum(values, 1e-6)) * (slopes @ vectors)
    answer_limit = 1 - 2 * min(0.5, max(first.deviation, 1.0) / n)
    answer = float(np.clip(first.matrix[0, -1] / n, -answer_limit, answer_limit))
    most = math.sqrt(_EXPLAINED * (1 - answer**2))
    found = float(np.linalg.norm(along))
    told = min(found, most)

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
    return np.append(logit - moved @ mean, moved)


def rounded(coefficients: Array) -> tuple[int, ...]:
    """As the next pass is asked about them."""
    whole = np.rint(np.clip(coefficients, -_LARGEST, _LARGEST) * COARSE)
    return tuple(int(one) for one in whole)


def newton(scores: LogisticScores, values: Array, deviation: float, heavy: bool) -> NewtonEquations:
    """The equations of a pass, from its numbers."""
    moved = _bordered(scores.curvatures, scores.slopes.T)
    matrix = np.tensordot(values, moved, 1)
    return NewtonEquations(matrix, moved, deviation, heavy, np.array(scores.at) / COARSE)


def _bordered(matrices: Array, columns: Array) -> Array:
    """Matrices with a column more, and the same as a row."""
    count, size = columns.shape
    made = np.zeros((count, size + 1, size + 1))
    made[:, :-1, :-1], made[:, :-1, -1], made[:, -1, :-1] = matrices, columns, columns
    return made
