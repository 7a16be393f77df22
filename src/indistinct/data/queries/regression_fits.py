"""Fits to moments with noise, and intervals that hold where noise is as large as what is fitted.

The coefficients b without noise solve r = N b. With noise the residual r - N b is a combination of noise
alone, at the true b: normal, with a covariance C(b) that is known for every b. What is not refuted by the
least value of (r - N b)' C(b)^-1 (r - N b), over the other coefficients, is an interval (Anderson and Rubin
1949, for instruments; that one degree of freedom is enough for one coefficient however little the others
are known: Guggenberger, Kleibergen, Mavroeidis and Chen 2012, Theorem 1). Nothing is inverted that noise
may have made singular, so where noise dominates intervals grow, up to several times what the declared
intervals let one expect.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.special import chndtrix, ndtri

from indistinct.data.queries.regression_sums import Array

_NORMAL = float(ndtri(0.975))
_SIZES = 4.0 ** -np.arange(9)
"""Variances of coefficients, in units of half the intervals, among which the likeliest is taken."""
_FAR = 3.0
"""Coefficients are looked for within some such multiples of what is estimated, or of the ratio of the
declared intervals: else one that noise leaves open would leave open all others."""
_STEPS = 40
_RIDGE = 1e-13
Whitened = Callable[[Array], tuple[Array, Array]]
"""From coefficients to residuals of variance one, at the truth, and their derivatives."""


@dataclass(frozen=True)
class NoisyEquations(ABC):
    """A matrix with noise, its last column the right side r of N b = r and the rest N, and how each number
    with noise moves it."""

    matrix: Array
    moved: Array
    """By one unit of each number: numbers × terms × terms."""
    deviation: float
    """Of the noise in each number."""
    heavy: bool
    """Whether noise is Laplace's and not normal."""

    @property
    def size(self) -> int:
        """How many coefficients there are."""
        return len(self.matrix) - 1

    @property
    def records(self) -> float:
        return max(float(self.matrix[0, 0]), 1.0)

    def residual(self, coefficients: Array) -> Array:
        """r - N b."""
        return np.asarray(self.matrix[:-1] @ np.append(-coefficients, 1.0))

    def noise(self, coefficients: Array) -> Array:
        """How noise in each number moves the residual: terms × numbers, in standard deviations."""
        return self.deviation * np.asarray((self.moved[:, :-1] @ np.append(-coefficients, 1.0)).T)

    @cached_property
    def estimate(self) -> Array:
        """The coefficients that are likeliest where they are drawn from a normal law themselves, around 0:
        the variance of that law is the one under which what is seen is likeliest. With little noise it is
        N^-1 r."""
        normal, right = self.matrix[:-1, :-1], self.matrix[:-1, -1]
        prior = np.repeat(_SIZES[:, None], self.size, axis=1)  # a row for each law
        prior[:, 0] = 1.0
        guess, one = np.zeros(prior.shape), np.ones((len(prior), 1))
        for _ in range(4):
            noise = self.deviation * np.tensordot(np.hstack([-guess, one]), self.moved[:, :-1], (1, 2))
            spread = noise.transpose(0, 2, 1) @ noise + (normal * prior[:, None]) @ normal.T
            ridge = _RIDGE * np.trace(spread, axis1=1, axis2=2)  # noise may be next to nothing
            spread += ridge[:, None, None] * np.eye(self.size)
            solved = np.linalg.solve(spread, right[:, None])[:, :, 0]
            guess = prior * (solved @ normal)
        return np.asarray(guess[np.argmax(-np.linalg.slogdet(spread)[1] - solved @ right)])

    @property
    @abstractmethod
    def sampling(self) -> Array:
        """The covariance of the residual because records are a sample."""

    @property
    @abstractmethod
    def far(self) -> Array:
        """How far from the estimate coefficients are looked for."""

    def left(self, direction: Array) -> float:
        """How far the answer without noise may be from the solution of the equations, along a combination of
        coefficients: they are its own."""
        return 0.0

    def whitened(self, *, sampled: bool) -> Whitened:
        """Residuals of variance one: by noise alone, or by noise and sampling."""
        more = self.sampling if sampled else np.zeros((self.size, self.size))
        far, held = self.far, np.diag(1 / self.far)
        turned = self.deviation * self.moved[:, :-1, :-1].reshape(len(self.moved), -1).T

        def residuals(coefficients: Array) -> tuple[Array, Array]:
            noise, left = self.noise(coefficients), self.residual(coefficients)
            white = np.linalg.inv(np.linalg.cholesky(noise @ noise.T + more))
            near = white @ left
            blamed = noise.T @ (white.T @ near)  # the likeliest noise
            # so that the gradient of the sum of squares is exact, the covariance moving too (Kleibergen 2005)
            slope = (turned @ blamed).reshape(self.size, self.size) - self.matrix[:-1, :-1]
            found = np.concatenate([near, (coefficients - self.estimate) / far])
            return found, np.concatenate([white @ slope, held])

        return residuals

    def quantile(self, direction: Array) -> float:
        """Of the standardised noise in a combination of coefficients, at 97.5 %."""
        if not self.heavy:
            return _NORMAL
        normal = self.matrix[:-1, :-1]
        return heavy_quantile(np.linalg.lstsq(normal.T, direction)[0] @ self.noise(self.estimate))


@dataclass(frozen=True)
class NoisyMoments(NoisyEquations):
    """The second moments of (1, x, y), the response last: the equations of least squares."""

    @property
    def sampling(self) -> Array:
        """For equal variance around the line: never less than noise hides of that variance."""
        c = np.append(-self.estimate, 1.0)
        variance = c @ self.matrix @ c / self.records
        hidden = self.deviation * np.linalg.norm(self.moved @ c @ c) / self.records
        values, vectors = np.linalg.eigh(self.matrix[:-1, :-1])
        positive = (vectors * np.maximum(values, self.deviation)) @ vectors.T
        most = self.matrix[-1, -1] / self.records
        return np.asarray(max(variance, min(hidden, max(most, 0.0)), 0.0) * positive)

    @property
    def far(self) -> Array:
        return np.asarray(_FAR * np.maximum(np.abs(self.estimate), 1.0))


def heavy_quantile(parts: Array) -> float:
    """Of a sum of Laplace variables with these standard deviations, standardised, at 97.5 %: the first term
    of Cornish and Fisher, which is at most 3 % too large (for one variable: 2.17, not 2.12) and not too
    small."""
    square = float(np.sum(parts**2))
    return cornish_fisher(3 * float(np.sum(parts**4)) / square**2 if square > 0 else 3.0)


def cornish_fisher(excess: float) -> float:
    """The quantile at 97.5 % of a standardised law with this excess of the fourth moment."""
    return _NORMAL + excess * (_NORMAL**3 - 3 * _NORMAL) / 24


def widened(interval: tuple[float, float], quantile: float, bias: float) -> tuple[float, float]:
    """An interval that holds also where its middle is off by as much as `bias`, in either direction: the
    quantile of |Z + t| in place of that of |Z| (Armstrong and Kolesár 2018, "Optimal inference in a class of
    regression models", for fixed lengths)."""
    low, high = interval
    error = (high - low) / (2 * quantile)
    if not 0 < bias:
        return interval
    off = bias / error if error > 0 else math.inf
    more = math.sqrt(chndtrix(0.95, 1, off**2)) - _NORMAL if off < 6 else off - 0.31
    added = error * more if error > 0 else bias
    return low - added, high + added


@dataclass(frozen=True)
class Centre:
    """Where residuals are least, from a place nearby."""

    residuals: Whitened
    start: Array

    @cached_property
    def _found(self) -> tuple[float, Array]:
        return _least(self.residuals, self.start, np.eye(self.start.size))

    @property
    def place(self) -> Array:
        return self._found[1]

    @cached_property
    def spread(self) -> Array:
        """The covariance of where it is, if noise is small."""
        slope = self.residuals(self._found[1])[1]
        return np.asarray(np.linalg.pinv(slope.T @ slope, hermitian=True))

    def interval(self, direction: Array, quantile: float) -> tuple[float, float]:
        """The values of a combination of coefficients that residuals do not refute; at most 1 % too far
        out."""
        best, at = self._found
        ahead = self.spread @ direction
        middle, unit = float(direction @ at), math.sqrt(float(direction @ ahead))
        # along it the combination moves by 1, and the others as they do where noise is small
        way = ahead / unit**2
        free = np.linalg.svd(direction[None, :])[2][1:].T
        limit, ends = math.sqrt(best + quantile**2), []
        for sign in (-1.0, 1.0):
            found, root = at, math.sqrt(best)
            inside, outside, tried = 0.0, math.inf, 1.005 * unit * quantile
            for turn in range(_STEPS):
                moved = found + way * (middle + sign * tried - float(direction @ found))
                total, moved = _least(self.residuals, moved, free)
                if math.sqrt(total) > limit:
                    outside, over = tried, math.sqrt(total)
                    if over <= 1.01 * limit:
                        break
                else:
                    inside, root, found = tried, math.sqrt(total), moved
                if outside == math.inf:
                    least = 1.005 if turn < 5 else 1.2  # residuals may grow slowly for long
                    tried *= min(max(1.005 * limit / max(root, 1e-9), least), 3.0)
                elif outside - inside <= 5e-3 * outside:
                    break
                else:  # the root is close to a line
                    share = (1.005 * limit - root) / (over - root) if over > root else 0.5
                    tried = inside + min(max(share, 0.02), 0.95) * (outside - inside)
            ends.append(middle + sign * outside)
        return ends[0], ends[1]


def _least(residuals: Whitened, start: Array, free: Array) -> tuple[float, Array]:
    """The least sum of squares along the columns of `free`, and where: by Gauss and Newton."""
    here, (found, slope) = start, residuals(start)
    best = float(found @ found)
    for _ in range(_STEPS if free.size else 0):
        move = free @ np.linalg.lstsq(slope @ free, -found)[0]
        for factor in (1.0, 0.3, 0.1, 0.01):
            found, slope = residuals(here + factor * move)
            if (total := float(found @ found)) < best:
                break
        else:
            break
        gain, here, best = best - total, here + factor * move, total
        if gain < 1e-4 * (1e-2 + best):
            break
    return best, here


def ratio_interval(
    above: float, below: float, above_moved: Array, below_moved: Array, moments: NoisyEquations
) -> tuple[float, float]:
    """The ratios that above - ratio · below does not refute, by its noise (Fieller 1954): (-inf, inf) where
    the lower number may be 0."""
    parts = moments.deviation * (above_moved - above / below * below_moved)
    quantile = heavy_quantile(parts) if moments.heavy else _NORMAL
    spread = (quantile * moments.deviation) ** 2
    square = below**2 - spread * float(below_moved @ below_moved)
    linear = above * below - spread * float(above_moved @ below_moved)
    constant = above**2 - spread * float(above_moved @ above_moved)
    inside = linear**2 - square * constant
    if square <= 0 or inside < 0:
        return -math.inf, math.inf
    return float((linear - math.sqrt(inside)) / square), float((linear + math.sqrt(inside)) / square)
