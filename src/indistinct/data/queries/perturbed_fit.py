"""What a release of `PerturbedLikelihood` says: coefficients b, and the curvature H there, with noise.

At b the slope S of the likelihood is Λ b + Z, exactly, where Z is noise of a known law. So the coefficients
of largest likelihood are b + d with Λ b + Z = K d, K being the mean curvature on the way: that is H, but for
terms of second order in d, as in a step of Newton's method, and intervals come from the same equations."""

import math
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate, pairwise

import numpy as np

from indistinct.data.queries.perturbed_likelihood import PLACE, Perturbation
from indistinct.data.queries.regression_fits import cornish_fisher
from indistinct.data.queries.regression_logistic import Belief, StepEquations, bordered
from indistinct.data.queries.regression_normal import at_least
from indistinct.data.queries.regression_sums import Array


@dataclass(frozen=True)
class PerturbedEquations(StepEquations):
    """Numbers with noise, in standard deviations: the slope, the curvature, and the coefficients
    themselves."""

    noise_in: Perturbation

    @property
    def sampling(self) -> Array:
        """The variance of the slope at the true coefficients, where the model holds: the curvature."""
        return at_least(self.matrix[:-1, :-1], float(self.noise_in.curvatures.max()))

    @cached_property
    def belief(self) -> Belief:
        """The ridge has drawn coefficients towards 0, by as much as is undone here: by a curvature that is
        not below its noise in any direction."""
        spectral = float(self.noise_in.curvatures.max()) * math.sqrt(self.size)
        curvature = at_least(self.matrix[:-1, :-1], spectral)
        step = np.asarray(np.linalg.solve(curvature, self.matrix[:-1, -1]), dtype=np.float64)
        noise: Array = np.linalg.inv(curvature) @ self.noise(step)
        return Belief(self.centre + step, noise @ noise.T)

    def quantile(self, direction: Array) -> float:
        """Of noise that is no sum of independent numbers: by its fourth moment."""
        noise, normal = self.noise_in, self.matrix[:-1, :-1]
        parts = np.linalg.lstsq(normal.T, direction)[0] @ self.noise(self.estimate)
        slope, curvature, rest = np.split(parts, [self.size, len(parts) - self.size])
        told = [
            block_cumulants(one, blocks)
            for one, blocks in zip((slope, curvature[noise.order]), noise.blocks, strict=True)
        ]
        square = sum(variance for variance, _ in told) + float(rest @ rest)
        fourth = sum(own for _, own in told)
        return cornish_fisher(fourth / square**2)


def block_cumulants(parts: Array, blocks: tuple[int, ...]) -> tuple[float, float]:
    """The variance and the fourth cumulant of a combination of `block_noise`, whose numbers add `parts` to
    it, in standard deviations: the noise is a gamma variable of shape d + 1 times a point that is uniform
    where no block is larger than 1."""
    count, square, fourth = sum(blocks), 0.0, 0.0
    for start, end in pairwise([0, *accumulate(blocks)]):
        w, own = end - start, parts[start:end] ** 2
        variance = float(own.sum())
        moment = 3 * (w + 1) * (w + 2) / ((w + 3) * (w + 4)) * (float(own @ own) + variance**2)
        square, fourth = square + variance, fourth + moment - 3 * variance**2
    ratio = (count + 3) * (count + 4) / ((count + 1) * (count + 2))
    return square, ratio * (fourth + 3 * square**2) - 3 * square**2


def perturbed(noise: Perturbation, values: Array) -> PerturbedEquations:
    """The equations, from what was released."""
    size, terms = noise.size, noise.terms
    centre, curvature = values[:size], terms.matrix(values[size:])
    matrix = bordered(curvature[None], noise.ridge * centre[None])[0]
    slopes = bordered(np.zeros((size, size, size)), np.diag(noise.slopes))
    numbers = len(values) - size
    moved = terms.matrix(np.diag(noise.curvatures))
    curved = bordered(moved, np.zeros((numbers, size)))
    # coefficients are rounded, and the slope is off by as much as that moves it
    steep = at_least(curvature, 0.0) + noise.ridge * np.eye(size)
    off = bordered(np.zeros((size, size, size)), PLACE / math.sqrt(12) * steep)
    return PerturbedEquations(matrix, np.concatenate([slopes, curved, off]), 1.0, True, centre, noise)
