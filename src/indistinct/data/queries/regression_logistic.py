"""Logistic regression by steps of Newton's method, each a bounded sum with noise.

The first pass has products of columns and response; from these follow coefficients to begin with, as if
columns were normal. Each pass after it has the slope g and the curvature H of the likelihood, at coefficients
c that follow from the passes before. Whatever columns look like, the coefficients b of largest likelihood
solve g = K (b - c), where K is the mean curvature between c and b: that is H, but for terms of second order
in b - c, which the steps before have made small; intervals are wider by what they may be. These are linear
equations with noise of a known law, so intervals are those of linear regression.

Estimates use all passes: what the passes before tell of the coefficients, and how well, is a normal law
(`Belief`), and each pass makes it narrower (Kalman 1960). Intervals do not rest on it, but for how far b may
be from c.
"""

import math
from abc import abstractmethod
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from indistinct.data.queries.regression_fits import Centre, NoisyEquations, NoisyMoments
from indistinct.data.queries.regression_normal import NormalColumns, at_least
from indistinct.data.queries.regression_scores import COARSE, LogisticScores
from indistinct.data.queries.regression_sums import Array

STEPS = (2, 4, 8, 20)
"""Passes after the first: how strongly each is measured, in quarters of the first. The last one decides, and
those before cost little: they only have to come near."""
_FAR = 6.0
"""The size of a coefficient, in logits across half an interval; or three times what is found."""
_LARGEST = 50.0
"""Coefficients are asked about no further out: chances are 0 and 1 there."""
_FURTHEST = 2.0
"""How far a typical logit moves in a step, at most: one that went too far finds no curvature."""
_OPEN = 3.0
"""If a logit may have moved so far in the last step, and a typical one or the term itself by 1, nothing is
said of how far the maximum is."""
_BENT = 0.35
"""What a step may be off, as a share of it, for each logit that a typical record moves."""
_ALIKE = 0.3
"""How far the curvature may be from that of normal columns, as a share of it, before it is measured."""
_NEXT_TO_NOTHING = 1e-12
"""Added to covariances, as a share of them: noise may be less."""
_WIDER = (1.0, 4.0, 16.0)
"""Factors of a belief's covariance, among which the likeliest is taken."""


@dataclass(frozen=True)
class Belief:
    """What is known of the coefficients: a normal law."""

    mean: Array
    covariance: Array


def beginning(first: NoisyMoments) -> tuple[Belief, NormalColumns]:
    """From the first pass, as normal columns let one expect; that may be wrong by a third, and by a tenth in
    any direction."""
    columns, linear = NormalColumns(first), first.estimate
    mean, noise = columns.coefficients, first.noise(linear)
    size = len(mean)
    factor = float(np.linalg.norm(mean[1:]) / max(float(np.linalg.norm(linear[1:])), 1e-9)) or 2.0
    prior = np.maximum(np.append(16.0, np.full(size - 1, 4.0)), mean**2) / factor**2
    middle = np.append(1.0, columns.mean)
    moments = np.outer(middle, middle)
    moments[1:, 1:] += columns.covariance
    moments *= columns.records
    spread = noise @ noise.T
    spread += _NEXT_TO_NOTHING * np.trace(spread) * np.eye(size)
    known = np.diag(1 / prior) + moments @ np.linalg.solve(spread, moments)
    wrong = 0.09 * np.outer(mean, mean) + (0.01 * mean @ mean + 1e-8) * np.eye(size)
    return Belief(mean, np.linalg.inv(known) * factor**2 + wrong), columns


@dataclass(frozen=True)
class StepEquations(NoisyEquations):
    """Of coefficients less those at which a curvature with noise was measured, and a slope with noise, which
    is the last column."""

    centre: Array

    @property
    @abstractmethod
    def belief(self) -> Belief:
        """What is known of the coefficients."""

    @property
    def coefficients(self) -> Array:
        return self.belief.mean

    @cached_property
    def estimate(self) -> Array:
        return np.asarray(self.belief.mean - self.centre)

    @property
    def sampling(self) -> Array:
        """The variance of the slope at the true coefficients, where the model holds: the curvature."""
        return at_least(self.matrix[:-1, :-1], self.deviation)

    @property
    def far(self) -> Array:
        return np.asarray(np.maximum(_FAR, 3 * np.abs(self.coefficients)))

    def left(self, direction: Array) -> float:
        """Let d = b - c, r the largest change of a logit in the declared box, at most the sum of |d|, and u
        the solution of H u = a. Within r the curvature of a record changes by at most a factor e^±r (Bach
        2010, Proposition 1), so the solution of g = H d is off by at most Σ p (1 - p) |x'u| (e^|x'd| - 1 -
        |x'd|) along a. That is at most (e^r - 1 - r)/r² times the sum of |u| times d'Hd, and at most (e^r - 1
        - r)/r times the roots of u'Hu and d'Hd. Of d the root of the mean square is taken, as all passes tell
        it; but nothing is said where the last one alone leaves open that it is long."""
        most = _LARGEST * float(np.abs(direction).sum())
        curvature, (step, spread) = self.sampling, self._moved
        each = np.sqrt(step**2 + np.diag(spread))
        if each.sum() > _OPEN:
            typical = float(step @ curvature @ step + np.sum(curvature * spread)) / float(curvature[0, 0])
            if typical > 1 or (each[direction != 0] > 1).any():
                return most
        step, spread = self.estimate, self.belief.covariance
        r = min(float(np.sqrt(step**2 + np.diag(spread)).sum()), _OPEN)
        square = float(step @ curvature @ step + np.sum(curvature * spread))
        solved = np.linalg.solve(curvature, direction)
        bent = (math.expm1(r) - r) / r**2 if r > 1e-3 else 0.5 + r / 6
        by_box = bent * float(np.abs(solved).sum()) * square
        by_length = bent * r * math.sqrt(float(direction @ solved) * square)
        return min(by_box, by_length, most)

    @cached_property
    def _moved(self) -> tuple[Array, Array]:
        """The mean and the covariance of d, as the intervals of this pass alone tell it."""
        seen = Centre(self.whitened(sampled=False), self.estimate)
        quantiles = [self.quantile(one) for one in np.eye(self.size)]
        ends = [seen.interval(one, q) for one, q in zip(np.eye(self.size), quantiles, strict=True)]
        middle = np.array([(low + high) / 2 for low, high in ends])
        error = np.array([(high - low) / (2 * q) for (low, high), q in zip(ends, quantiles, strict=True)])
        wider = error / np.sqrt(np.maximum(np.diag(seen.spread), 1e-300))
        return middle, np.outer(wider, wider) * seen.spread


@dataclass(frozen=True)
class NewtonEquations(StepEquations):
    """Of a pass. What was believed `before`, and what columns would be like if they were normal."""

    before: Belief
    columns: NormalColumns

    @cached_property
    def belief(self) -> Belief:
        """After this pass. The step counts as uncertain by what the curvature may change within it, and is
        cut where a typical logit would move far."""
        slope, size, (curvature, variance) = self.matrix[:-1, -1], self.size, self._curvature
        noise = self.noise(np.zeros(size))
        best, found = -math.inf, self.before
        for factor in _WIDER:
            covariance, step = factor * self.before.covariance, np.zeros(size)
            ahead = curvature @ covariance
            for turn in range(4):
                bent = (_BENT * _typical(curvature, step)) ** 2 * float(step @ curvature @ step) / size
                spread = noise @ noise.T + np.diag(variance @ step**2) + bent * curvature + ahead @ curvature
                spread += _NEXT_TO_NOTHING * np.trace(spread) * np.eye(size)
                solved = np.linalg.solve(spread, slope)
                step = ahead.T @ solved if turn == 0 else (step + ahead.T @ solved) / 2
            score = -np.linalg.slogdet(spread)[1] - slope @ solved
            if score > best:
                moved = _typical(curvature, step)
                step = step * min(1.0, _FURTHEST / max(moved, 1e-9))
                left = covariance - ahead.T @ np.linalg.solve(spread, ahead)
                left = at_least(left, 0.0) + (_BENT * moved) ** 2 * np.outer(step, step)
                best, found = score, Belief(np.clip(self.centre + step, -_LARGEST, _LARGEST), left)
        return found

    @property
    def _curvature(self) -> tuple[Array, Array]:
        """Each number drawn towards that of normal columns by how little is known of it, and the variance
        that is left. Where it is further off than noise explains, columns are not normal."""
        seen, like = self.matrix[:-1, :-1], self.columns.curvature(self.centre)
        noise = (self.deviation * np.linalg.norm(self.moved[:, :-1, :-1], axis=0)) ** 2
        sizes = np.diag(like)
        other = _ALIKE**2 * np.outer(sizes, sizes) + np.maximum((seen - like) ** 2 - noise, 0.0)
        share = other / (other + noise)
        return at_least(like + share * (seen - like), 2.5e-5 * self.columns.records), share * noise


def _typical(curvature: Array, step: Array) -> float:
    """How far a logit moves in a step: the root of the mean square, over records by their curvature; at
    most 3."""
    return min(math.sqrt(max(float(step @ curvature @ step), 0.0) / float(curvature[0, 0])), 3.0)


def rounded(coefficients: Array) -> tuple[int, ...]:
    """As the next pass is asked about them."""
    whole = np.rint(np.clip(coefficients, -_LARGEST, _LARGEST) * COARSE)
    return tuple(int(one) for one in whole)


def newton(
    scores: LogisticScores,
    values: Array,
    deviation: float,
    heavy: bool,
    before: Belief,
    columns: NormalColumns,
) -> NewtonEquations:
    """The equations of a pass, from its numbers."""
    moved = bordered(scores.curvatures, scores.slopes.T)
    matrix = np.tensordot(values, moved, 1)
    return NewtonEquations(matrix, moved, deviation, heavy, np.array(scores.at) / COARSE, before, columns)


def bordered(matrices: Array, columns: Array) -> Array:
    """Matrices with a column more, and the same as a row."""
    count, size = columns.shape
    made = np.zeros((count, size + 1, size + 1))
    made[:, :-1, :-1], made[:, :-1, -1], made[:, -1, :-1] = matrices, columns, columns
    return made
