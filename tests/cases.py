"""The one list of cases over which the laws are tested: a new mechanism is one more entry."""

from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

import numpy as np
import pytest

from indistinct import (
    Adjacency,
    ApproxDP,
    Discrete,
    DiscreteGaussian,
    DiscreteLaplace,
    DrawnSum,
    Exponential,
    Gaussian,
    GaussianDP,
    Guarantee,
    Laplace,
    Mechanism,
    PermuteAndFlip,
    PrivacyProfile,
    PureDP,
    RandomizedResponse,
    RandomShift,
    RenyiCurve,
    ReportNoisyMax,
    SampledSum,
    TradeoffCurve,
    ZeroConcentratedDP,
    mixture,
    parallel,
    parse,
)
from indistinct.testing import integrated


class Case(NamedTuple):
    """A mechanism with the adjacency it is asked for, or a guarantee that somebody states."""

    name: str
    subject: Mechanism | Guarantee
    adjacency: Adjacency = Adjacency.ADD_REMOVE
    truth: Callable[[float], float] | None = None
    """Its delta at an epsilon, where that is known otherwise: then all of `check_mechanism` is asked of
    it."""
    neighbours: tuple[Any, Any] | None = None
    """Two numbers that its `release` must not tell apart by more than is accounted."""

    def fresh(self) -> Guarantee:
        """A guarantee with nothing remembered from other readings."""
        if isinstance(self.subject, Mechanism):
            return self.subject.guarantee(self.adjacency)
        return 1 * self.subject

    @cache  # noqa: B019 (the cases live as long as the tests)
    def guarantee(self) -> Guarantee:
        """One guarantee for all laws: what one of them computes, the next may read again."""
        return self.fresh()

    def __str__(self) -> str:
        return self.name


REPLACE = Adjacency.REPLACE_ONE
RESPONSE = RandomizedResponse(truth=0.75)
KARY = RandomizedResponse(truth=0.5, categories=4)
SYMMETRIC = Discrete((0.5, 0.3, 0.2), (0.2, 0.3, 0.5))
ASYMMETRIC = Discrete((0.7, 0.2, 0.1), (0.4, 0.25, 0.35))
ZEROS = Discrete((0.6, 0.398, 0.002, 0.0), (0.5, 0.497, 0.0, 0.003))
SGD = Gaussian(scale=1).subsample(0.01)
WITHOUT_REPLACEMENT = Gaussian(scale=1).subsample(10, of=1000)

# One run of one mechanism.
SINGLE = [
    Case("gaussian", Gaussian(scale=1)),
    Case("random shift", RandomShift(2.0, (0.0, 1.0, 2.0), (0.8, 0.15, 0.05))),
    Case("gaussian, small scale", Gaussian(scale=0.05)),
    Case("gaussian, large scale", Gaussian(scale=1e4)),
    Case("gaussian, sensitivity 3", Gaussian(scale=2, sensitivity=3)),
    Case("gaussian, replace-one", Gaussian(scale=1, sensitivity=2), REPLACE),
    Case("laplace", Laplace(scale=1)),
    Case("laplace, small scale", Laplace(scale=0.05)),
    Case("laplace, large scale", Laplace(scale=1e3)),
    Case("randomized response", RESPONSE),
    Case("randomized response, 4 categories", KARY),
    Case("discrete, symmetric", SYMMETRIC),
    Case("discrete, asymmetric", ASYMMETRIC),
    Case("discrete, with impossible outcomes", ZEROS),
    Case("subsampled gaussian", SGD),
    Case("subsampled gaussian, small scale", Gaussian(scale=0.3).subsample(1e-3)),
    Case("subsampled gaussian, large scale", Gaussian(scale=100).subsample(0.3)),
    Case("subsampled gaussian, tiny rate", Gaussian(scale=1).subsample(1e-6)),
    Case("subsampled laplace", Laplace(scale=0.5).subsample(0.1)),
    Case("subsampled randomized response", RESPONSE.subsample(0.1)),
    Case("subsampled asymmetric discrete", ASYMMETRIC.subsample(0.2)),
    Case("subsampled discrete with impossible outcomes", ZEROS.subsample(0.2)),
    Case("without replacement, gaussian", WITHOUT_REPLACEMENT, REPLACE),
    Case("without replacement, laplace", Laplace(scale=1).subsample(5, of=100), REPLACE),
    Case("without replacement, response", RESPONSE.subsample(30, of=100), REPLACE),
]

# Drawn otherwise.
SINGLE += [
    Case("allocated", Gaussian(scale=1).allocate(10)),
    Case("several records of one person", SampledSum(noise=1, rate=0.1, records=3)),
    Case("replaced", SampledSum(noise=1, rate=0.1), REPLACE),
    Case("with replacement", DrawnSum(noise=2, size=10, of=100), REPLACE),
]

# Noise on the integers; from scale 1024 on the lattice is fine.
SINGLE += [
    Case("lattice laplace", DiscreteLaplace(scale=2)),
    Case("lattice laplace, sensitivity 5", DiscreteLaplace(scale=3, sensitivity=5)),
    Case("lattice laplace, fine", DiscreteLaplace(scale=1e5, sensitivity=2e5)),
    Case("lattice gaussian", DiscreteGaussian(scale=1)),
    Case("lattice gaussian, small scale", DiscreteGaussian(scale=0.3)),
    Case("lattice gaussian, sensitivity 4", DiscreteGaussian(scale=3, sensitivity=4)),
    Case("lattice gaussian, fine", DiscreteGaussian(scale=1e5, sensitivity=1e5)),
    Case("subsampled lattice gaussian", DiscreteGaussian(scale=2).subsample(0.1)),
    Case("subsampled lattice laplace", DiscreteLaplace(scale=2, sensitivity=3).subsample(0.1)),
    Case("without replacement, lattice gaussian", DiscreteGaussian(scale=2).subsample(5, of=100), REPLACE),
]
SINGLE += [
    Case("selection, exponential", Exponential(scale=2)),
    Case("selection, exponential, monotonic", Exponential(scale=0.5, sensitivity=3, monotonic=True)),
    Case("selection, exponential, subsampled", Exponential(scale=2).subsample(0.1)),
    Case("selection, permute and flip", PermuteAndFlip(scale=3)),
    Case("selection, noisy max", ReportNoisyMax(scale=3, monotonic=True)),
]

# Known otherwise, and written so that nothing has to be imported.
SINGLE += [
    Case(
        "half sampled response",
        parse("randomized_response(0.75).subsample(1/2)"),
        truth=lambda epsilon: max(0.5 - 0.25 * np.exp(epsilon), 0.75 - 0.5 * np.exp(epsilon), 0.0),
    ),
    Case(
        "lattice laplace, integrated",
        parse("discrete_laplace(1.5, sensitivity=2)"),
        truth=integrated(lambda x: np.tanh(1 / 3) * np.exp(-np.abs(np.rint(x)) / 1.5), shift=2, reach=60),
        neighbours=(0, 2),
    ),
]

# Cases that tell nothing, in several disguises.
SILENT = [
    Case("rate 0", Gaussian(scale=1).subsample(0)),
    Case("rate 0 of laplace, many steps", 100 * Laplace(scale=1).subsample(0)),
    Case("zero steps", 0 * Gaussian(scale=1)),
    Case("zero steps of a subsampled mechanism", 0 * SGD),
    Case("sensitivity 0", Gaussian(scale=1, sensitivity=0)),
    Case("laplace, sensitivity 0", Laplace(scale=1, sensitivity=0)),
    Case("selection, sensitivity 0", Exponential(scale=1, sensitivity=0)),
    Case("empty sample", Gaussian(scale=1).subsample(0, of=10), REPLACE),
    Case("a fair coin", RandomizedResponse(truth=0.5)),
    Case("pure 0", PureDP(0)),
    Case("approximate (0, 0)", ApproxDP(0, 0)),
    Case("gaussian 0", GaussianDP(0)),
    Case("zero-concentrated 0", ZeroConcentratedDP(0)),
]

COMPOSED = [
    Case("2 gaussians", 2 * Gaussian(scale=1)),
    Case("1e9 gaussians", 10**9 * Gaussian(scale=3e4)),
    Case("2 laplace", 2 * Laplace(scale=1)),
    Case("100 laplace", 100 * Laplace(scale=10)),
    Case("1e4 laplace", 10**4 * Laplace(scale=100)),
    Case("2 responses", 2 * RESPONSE),
    Case("100 responses", 100 * RandomizedResponse(truth=0.55)),
    Case("1e4 responses", 10**4 * RandomizedResponse(truth=0.503)),
    Case("10 responses, 4 categories", 10 * KARY),
    Case("2 asymmetric", 2 * ASYMMETRIC),
    Case("50 asymmetric", 50 * ASYMMETRIC),
    Case("3 with impossible outcomes", 3 * ZEROS),
    Case("2 subsampled gaussians", 2 * Gaussian(scale=1).subsample(0.1)),
    Case("100 subsampled gaussians", 100 * SGD),
    Case("1e4 subsampled gaussians", 10**4 * SGD),
    Case("1e9 subsampled gaussians", 10**9 * Gaussian(scale=30).subsample(1e-4)),
    Case("rate 1", 100 * Gaussian(scale=10).subsample(1)),
    Case("100 subsampled laplace", 100 * Laplace(scale=2).subsample(0.05)),
    Case("100 subsampled responses", 100 * RESPONSE.subsample(0.05)),
    Case("10 subsampled asymmetric", 10 * ASYMMETRIC.subsample(0.2)),
    Case("10 without replacement", 10 * WITHOUT_REPLACEMENT, REPLACE),
    Case("1e4 without replacement", 10**4 * Gaussian(scale=4).subsample(10, of=1000), REPLACE),
    Case("20 responses without replacement", 20 * RESPONSE.subsample(30, of=100), REPLACE),
    Case("gaussian + laplace", 50 * Gaussian(scale=20) + 20 * Laplace(scale=20)),
    Case("gaussian + response + subsampled", Gaussian(scale=2) + RESPONSE + 100 * SGD),
    Case("two subsampled", 500 * SGD + 300 * Gaussian(scale=2).subsample(0.02)),
    Case("subsampled composition", 10 * (3 * Gaussian(scale=2)).subsample(0.1)),
    Case("subsampled sum of kinds", 5 * (Gaussian(scale=2) + Laplace(scale=2)).subsample(0.1)),
    Case("twice subsampled", 100 * Gaussian(scale=1).subsample(0.1).subsample(0.1)),
    Case("group of gaussian", Gaussian(scale=4).group(3)),
    Case("group of asymmetric", (2 * ASYMMETRIC).group(2)),
    Case("parallel", parallel(Gaussian(scale=2), Laplace(scale=2))),
    Case("parallel, then composed", 3 * parallel(Gaussian(scale=4), RESPONSE)),
]

COMPOSED += [
    Case("60 allocated", 60 * Gaussian(scale=1.1).allocate(234)),
    Case("allocated + subsampled", 10 * Gaussian(scale=1).allocate(20, times=2) + 100 * SGD),
    Case("100 lattice laplace", 100 * DiscreteLaplace(scale=10)),
    Case("2 lattice gaussians", 2 * DiscreteGaussian(scale=1)),
    Case("100 lattice gaussians", 100 * DiscreteGaussian(scale=10)),
    Case("lattice gaussian + gaussian", DiscreteGaussian(scale=3) + Gaussian(scale=3)),
    Case("2 subsampled lattice gaussians", 2 * DiscreteGaussian(scale=1).subsample(0.1)),
    Case("group of lattice gaussian", DiscreteGaussian(scale=4).group(3)),
    Case("2 selections", 2 * Exponential(scale=1)),
    Case("100 selections", 100 * Exponential(scale=20)),
    Case("selection + gaussian", 3 * Exponential(scale=2) + PermuteAndFlip(scale=4) + Gaussian(scale=5)),
    Case("group of selection", Exponential(scale=4).group(3)),
]

STATED = [
    Case("pure", PureDP(0.7)),
    Case("pure, replace-one", PureDP(0.7, adjacency=REPLACE)),
    Case("approximate", ApproxDP(0.5, 1e-6)),
    Case("gaussian claim", GaussianDP(0.8)),
    Case("zero-concentrated", ZeroConcentratedDP(0.1)),
    Case("zero-concentrated with an offset", ZeroConcentratedDP(0.1, 0.2)),
    Case("renyi curve", RenyiCurve([1.5, 2, 4, 8, 32, 128], [0.015, 0.02, 0.04, 0.08, 0.32, 1.28])),
    Case("one renyi order", RenyiCurve([8], [0.4])),
    Case("20 pure", 20 * PureDP(0.1)),
    Case("20 approximate", 20 * ApproxDP(0.1, 1e-7)),
    Case("100 zero-concentrated", 100 * ZeroConcentratedDP(1e-3)),
    Case("pure + approximate", 3 * PureDP(0.3) + 2 * ApproxDP(0.2, 1e-6)),
    Case("gaussian claim + mechanism", GaussianDP(0.5) + (100 * SGD).guarantee()),
    Case("zero-concentrated + pure", ZeroConcentratedDP(0.05) + 2 * PureDP(0.2)),
    Case("renyi curve + mechanism", RenyiCurve([2, 8, 32], [0.1, 0.4, 1.6]) + Gaussian(3).guarantee()),
    Case("parallel claims", parallel(PureDP(0.5), GaussianDP(0.5), RenyiCurve([2, 8], [0.2, 0.8]))),
    Case("pure or gaussian, by chance", mixture([PureDP(0.5), GaussianDP(1)], [0.3, 0.7])),
    Case("two kinds of claim, by chance", mixture([PureDP(0.5), RenyiCurve([8], [0.8])], [0.5, 0.5])),
    Case("approximate + zero-concentrated", ApproxDP(0.3, 1e-6) + ZeroConcentratedDP(0.02)),
    Case("points of a trade-off curve", TradeoffCurve([0, 0.01, 0.1, 0.3, 1], [1, 0.95, 0.7, 0.4, 0])),
    Case("trade-off function", TradeoffCurve(lambda fpr: (1 - fpr) ** 2)),
    Case("several points of a profile", PrivacyProfile([0.1, 1, 3], [0.1, 1e-3, 1e-8])),
    Case("3 profiles", 3 * PrivacyProfile([0.1, 1, 3], [0.1, 1e-3, 1e-8])),
    Case("group of zero-concentrated", ZeroConcentratedDP(0.01, 0.01).group(3)),
    Case("group of approximate", ApproxDP(0.2, 1e-6).group(2)),
]


DEAR = {
    "2 laplace",
    "100 laplace",
    "1e4 responses",
    "2 subsampled gaussians",
    "1e9 subsampled gaussians",
    "100 subsampled laplace",
    "10 without replacement",
    "1e4 without replacement",
    "gaussian + response + subsampled",
    "two subsampled",
    "subsampled sum of kinds",
    "parallel, then composed",
    "100 lattice gaussians",
    "2 subsampled lattice gaussians",
    "2 selections",
    "100 zero-concentrated",
    "zero-concentrated + pure",
    "parallel claims",
    "two kinds of claim, by chance",
    "approximate + zero-concentrated",
    "group of zero-concentrated",
}
"""Cases that take a second or more of every law: `make quick` leaves them out."""


def each(cases: list[Case]) -> pytest.MarkDecorator:
    """A test of each case. All tests of a case run in one process, so that its guarantee is shared."""
    return pytest.mark.parametrize("case", [_alone(case) for case in cases])


def _alone(case: Case) -> Any:
    dear = [pytest.mark.slow] if case.name in DEAR else []
    return pytest.param(case, marks=[pytest.mark.xdist_group(case.name), *dear], id=case.name)


MECHANISMS = [*SINGLE, *SILENT[:9], *COMPOSED]
CASES = [*SINGLE, *SILENT, *COMPOSED, *STATED]
