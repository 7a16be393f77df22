"""Whether two private means of features may belong to one distribution.

Let S_j be the sums of features of n_j independent points, c_j = S_j + noise of deviation s_j, N_j the number
that was divided by, and T = |c_1/N_1 - c_2/N_2|. Under the null hypothesis all points have one law, with mean
feature μ and |φ| ≤ κ.
"""

import math
from dataclasses import dataclass

import numpy as np
from scipy.optimize import nnls
from scipy.special import chndtr, gammaincc, ndtri

from indistinct.functions.function import FiniteFunction
from indistinct.functions.public_randomness import PublicUniforms
from indistinct.numerics.arrays import Array

_POINTS = 400
_ROUNDING = 1e-9
"""More than the error of computed probabilities, and of taking lattice noise for continuous noise."""


@dataclass(frozen=True)
class Sample:
    """A private mean, the number of records it was divided by, and the deviation of that number's noise."""

    mean: FiniteFunction
    count: float
    deviation: float
    low: Array
    high: Array
    """The corners of the declared box."""

    @property
    def coefficients(self) -> Array:
        return self.mean.factor * self.mean.coefficients

    @property
    def noise(self) -> float:
        """The deviation of each coefficient of the mean."""
        return abs(self.mean.factor) * self.mean.mechanism.scale


@dataclass(frozen=True)
class TwoSampleTest:
    """`statistic`: the distance of the two released means, noise included.

    `pvalue` is valid whatever the distribution: under the null hypothesis it is at most α with probability at
    most α. It is careful, and needs clear differences. `approximate_pvalue` takes the law of the statistic
    for that of a sum of weighted chi-squares with weights estimated from the released means: sharper, and
    right for large samples as far as the estimate is.
    """

    statistic: float
    pvalue: float
    approximate_pvalue: float


def squared_distance(one: Sample, other: Sample) -> float:
    """An estimate of the squared distance of two mean embeddings, unbiased if all features are equally long
    and the numbers of records are public: <c_1/N_1, c_2/N_2> twice, from the two squares without noise and
    without the terms of a point with itself."""
    height = one.mean.space.bound**2
    total = -2.0 * float(one.coefficients @ other.coefficients)
    for sample in (one, other):
        square = float(sample.coefficients @ sample.coefficients) - len(sample.coefficients) * sample.noise**2
        n = max(sample.count, 2.0)
        total += (n * square - height) / (n - 1)
    return total


def two_sample_test(one: Sample, other: Sample) -> TwoSampleTest:
    """Whether two released means may be those of one distribution."""
    statistic = float(np.linalg.norm(one.coefficients - other.coefficients))
    careful, sharper = valid_pvalue(statistic, one, other), approximate_pvalue(statistic, one, other)
    return TwoSampleTest(statistic, careful, sharper)


def valid_pvalue(statistic: float, one: Sample, other: Sample) -> float:
    """A bound on the chance of a statistic as large, under the null hypothesis.

    But for a chance q, the distance of the two exact means is at most κ √(1/n_1 + 1/n_2) (1 + √(2 log 1/q)):
    its mean square is at most κ² (1/n_1 + 1/n_2), and one point moves it by at most 2κ/n_j (McDiarmid). A
    number N_j with noise is off by at most z deviations but for a known chance, which moves S_j/N_j by at
    most κ z deviation_j/N_j, and n_j is then at least N_j - z deviation_j. Given all that, the square of the
    statistic in units of the noise v = s_1²/N_1² + s_2²/N_2² is a chi-square whose non-centrality is at most
    the square of these distances over v. The sum of the chances bounds the survival function for every q,
    and so does the least of them.
    """
    variance = one.noise**2 + other.noise**2
    size, height = len(one.coefficients), one.mean.space.bound
    best = 1.0
    for exponent in np.linspace(0.5, 40, 80):
        q = math.exp(-exponent)
        chance, shift, spread = q, 0.0, 0.0
        for sample in (one, other):
            off = 0.0
            if sample.deviation:
                chance += q / 2
                off = -float(ndtri(q / 4)) * sample.deviation * (1 + 1e-9)
            least = sample.count - off
            if least < 1:
                break
            shift, spread = shift + height * off / sample.count, spread + 1 / least
        else:
            far = shift + height * math.sqrt(spread) * (1 + math.sqrt(2 * exponent))
            below = float(chndtr(statistic**2 / variance, size, far**2 / variance))
            if math.isfinite(below):
                best = min(best, chance + max(1 - below, 0.0) + _ROUNDING)
    return best


def approximate_pvalue(statistic: float, one: Sample, other: Sample) -> float:
    """The chance of a statistic as large, if the difference of the means were Gaussian with the covariance of
    the noise plus that of features, estimated, times 1/n_1 + 1/n_2. The law of a sum of weighted chi-squares
    is taken for a shifted gamma law with the same first three cumulants (Buckley and Eagleson 1988)."""
    spread = 1 / max(one.count, 1.0) + 1 / max(other.count, 1.0)
    noise = one.noise**2 + other.noise**2
    # noise of the numbers stretches the means along themselves
    stretch = sum((sample.deviation / sample.count) ** 2 for sample in (one, other))
    weights = noise + spread * _feature_variances(one, other)
    weights[-1] += stretch * one.mean.space.bound**2
    first, second, third = (float((weights**power).sum()) for power in (1, 2, 3))
    freedom = second**3 / third**2
    scaled = (statistic**2 - first) * math.sqrt(freedom / second) / 2 + freedom / 2
    return float(gammaincc(freedom / 2, max(scaled, 0.0)))


def _feature_variances(one: Sample, other: Sample) -> Array:
    """Eigenvalues of the covariance of φ(x), smallest first, for a law on public points of the box whose mean
    is as near to the released ones as it can be."""
    space, counts = one.mean.space, np.array([one.count, other.count])
    pooled = np.average([one.coefficients, other.coefficients], axis=0, weights=counts)
    points = one.low + (one.high - one.low) * PublicUniforms(seed=0).draw(_POINTS, len(one.low))
    features = np.asarray(space(points), dtype=np.float64)
    rows = np.vstack([features.T, np.full((1, _POINTS), space.bound)])  # the last: chances add up to 1
    chances, _ = nnls(rows, np.append(pooled, space.bound), maxiter=50 * _POINTS)
    chances = chances / chances.sum() if chances.sum() > 0 else np.full(_POINTS, 1 / _POINTS)
    centred = (features - chances @ features) * np.sqrt(chances)[:, None]
    variances = np.zeros(space.size)
    singular = np.linalg.svd(centred, compute_uv=False)
    variances[: len(singular)] = singular**2
    return np.sort(variances)
