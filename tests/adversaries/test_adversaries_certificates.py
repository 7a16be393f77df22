"""Certificates judge whatever a search returns: planted results, however bad, give no smaller bound."""

import math
from collections.abc import Callable

import numpy as np
import pytest

from indistinct import Features, Linear, PiecewiseLinear, Polynomial
from indistinct.adversaries import Adversary, estimate
from indistinct.adversaries.divergences import OfOneNumber, OfOutcomes
from indistinct.adversaries.solvers.bracket import Bracket
from indistinct.adversaries.solvers.independent import IndependentProgramme
from indistinct.adversaries.solvers.kullback import KullbackProgramme
from indistinct.adversaries.solvers.laws import GaussianShape, LaplaceShape, ReleasedNumber
from indistinct.adversaries.solvers.quadrature import NoiseLine, Outcomes
from indistinct.adversaries.solvers.renyi import RenyiProgramme
from indistinct.adversaries.solvers.signed import Signed
from indistinct.adversaries.solvers.tables import TableProgramme
from indistinct.numerics.arrays import Array

CLOSE = 1e-11
"""What truth itself may be off by."""


GAUSSIAN, LAPLACE = GaussianShape(), LaplaceShape()


def programme(number: ReleasedNumber, adversary: Adversary) -> RenyiProgramme:
    span = adversary.span()
    assert span is not None
    return RenyiProgramme(NoiseLine(number.p, span), NoiseLine(number.q, span))


def planted(best: Array, rng: np.random.Generator) -> list[Array]:
    """Bad results: nothing, one feature, the truth cut off, scaled, turned round, shaken by little and by
    much, and noise from the tame to what floats hardly hold."""
    size = best.size
    shaken = [best + s * np.abs(best).max() * rng.normal(size=size) for s in (1e-9, 1e-6, 1e-3, 0.1, 10.0)]
    wild = [rng.normal(size=size) * np.exp(s * rng.normal(size=size)) for s in (0.0, 1.0, 5.0, 20.0, 80.0)]
    cut = [np.where(np.arange(size) < k, best, 0.0) for k in {1, size // 2, size - 1}]
    single = list(np.eye(size)[[0, size // 2, -1]])
    scaled = [best * s for s in (-1.0, 1e-200, 1e200, 1e-5, 1e5)]
    scaled += [wild[0] * 1e-150, wild[0] * 1e150]
    return [np.zeros(size), *shaken, *wild, *cut, *single, *scaled]


def judged(certify: Callable[[Array], Bracket], truth: Bracket, best: Array, seed: int = 0) -> int:
    """Every planted result gives an interval around the truth; how many of them are finite."""
    finite = 0
    with np.errstate(all="ignore"):
        for tried in planted(best, np.random.default_rng(seed)):
            found = certify(tried)
            assert found.high >= truth.low - CLOSE * (1 + truth.low), tried
            assert 0 <= found.low <= truth.high + CLOSE * (1 + truth.high), tried
            finite += found.high < math.inf
    return finite


WAVES = Features.fourier([0.7, 2.0])
CLASSES = [
    Polynomial(1),
    Polynomial(4),
    PiecewiseLinear([0.3]),
    PiecewiseLinear(np.linspace(-6, 6, 13)),
    PiecewiseLinear([-2.0, -1.99, 0.3, 0.31, 4.0]),
    WAVES,
]
PLACES = [
    ReleasedNumber.shifted(GAUSSIAN, 3.3),
    ReleasedNumber.shifted(GAUSSIAN, 0.05),
    ReleasedNumber.shifted(LAPLACE, 1.0),
    ReleasedNumber.shifted(GAUSSIAN, 1.5, 0.1),
    ReleasedNumber.shifted(LAPLACE, 2.0, 0.3).reversed(),
]


@pytest.mark.parametrize(
    ("where", "order"), [(PLACES[0], 50.0), (PLACES[1], 50.0), (PLACES[2], 1.05)], ids=str
)
@pytest.mark.parametrize("adversary", CLASSES, ids=str)
def test_renyi_of_one_number(adversary: Adversary, where: ReleasedNumber, order: float) -> None:
    solved = programme(where, adversary)
    power, truth = order / (order - 1), solved.renyi(order)
    best = solved.search.propose(power)
    assert judged(lambda a: solved.judge(power, a), truth, best) > 5
    if solved.pieces is None:
        return
    # values that no float can hold
    rng, size = np.random.default_rng(1), best.size
    for spread in (10.0, 1e3, 1e5):
        wild = Signed(rng.choice([-1.0, 1.0], size), spread * rng.normal(size=size))
        found = solved.judge(power, wild)
        assert found.low <= truth.high + CLOSE and truth.low - CLOSE <= found.high


@pytest.mark.parametrize("order", [1.05, 50.0])
@pytest.mark.parametrize(
    "places",
    [
        [(ReleasedNumber.shifted(LAPLACE, 0.3), 1), (ReleasedNumber.shifted(LAPLACE, 1.0), 2)],
        [(ReleasedNumber.shifted(LAPLACE, 0.1 * k), 1) for k in range(1, 6)],
        [(ReleasedNumber.shifted(GAUSSIAN, 1.0), 1), (ReleasedNumber.shifted(LAPLACE, 0.5), 3)],
        [(ReleasedNumber.shifted(GAUSSIAN, 2.0, 0.1), 1), (ReleasedNumber.shifted(LAPLACE, 3.0, 0.5), 1)],
    ],
    ids=lambda places: str(len(places)),
)
def test_renyi_of_sums(places: list[tuple[ReleasedNumber, int]], order: float) -> None:
    solved = IndependentProgramme(places)
    power, truth = order / (order - 1), solved.renyi(order)
    assert truth.gap < 1e-6
    assert judged(lambda a: solved.judge(power, a), truth, solved.propose(power)) > 5


@pytest.mark.parametrize("where", PLACES, ids=str)
@pytest.mark.parametrize("adversary", [Polynomial(2), *CLASSES], ids=str)
def test_kl_of_one_number(adversary: Adversary, where: ReleasedNumber) -> None:
    span = adversary.span()
    assert span is not None
    solved = OfOneNumber(where, span).kullback(span)
    judged(solved.family.judge, solved.divergence(), solved.best)


def tables(seed: int, outcomes: int, features: int) -> tuple[Outcomes, Outcomes]:
    rng = np.random.default_rng(seed)
    p, q = rng.dirichlet(np.ones(outcomes)), rng.dirichlet(np.ones(outcomes))
    matrix = np.vstack((np.ones(outcomes), rng.normal(size=(features - 1, outcomes))))
    return Outcomes(p, matrix), Outcomes(q, matrix)


@pytest.mark.parametrize("order", [1.0, 1.05, 2.0, 3.0, 50.0])
@pytest.mark.parametrize("seed", range(2))
def test_tables(seed: int, order: float) -> None:
    p, q = tables(seed, 40, 5)
    if order == 1:
        solved = KullbackProgramme(p, q)
        truth = solved.divergence()
        assert truth.gap < 1e-8
        assert judged(solved.family.judge, truth, solved.best) > 0
        return
    both, power = TableProgramme(p, q), order / (order - 1)
    truth = both.renyi(order)
    assert truth.gap < 1e-8
    primal = both.primal
    assert judged(lambda a: primal.judge(power, a), truth, primal.search.propose(power)) > 5
    # the dual's certificate is any g, from any start
    rng = np.random.default_rng(seed)
    for _ in range(20):
        g = rng.normal(size=40) * np.exp(rng.uniform(0, 20) * rng.normal(size=40))
        assert both.judge(g, order) >= truth.low


def test_outcomes_that_only_one_side_has() -> None:
    # however little there is of them: a function may vanish everywhere else
    features = np.array([[1.0, 1.0, 1.0], [0.0, 1.0, 5.0], [0.0, 0.0, 1.0]])
    for tiny in (0.1, 1e-12, 1e-25):
        found = OfOutcomes(np.array([0.5, 0.5 - tiny, tiny]), np.array([0.5, 0.5, 0.0]), features)
        assert found.renyi(2.0).high == found.kl().high == math.inf
    # but none of these does
    assert (
        OfOutcomes(np.array([0.4, 0.5, 0.1]), np.array([0.5, 0.5, 0.0]), features[:2]).renyi(2.0).high
        < math.inf
    )


def test_samples_that_do_not_overlap_have_no_upper_end() -> None:
    # the mean of one side is outside of all that the other drew: nothing bounds the divergence of the samples
    rng = np.random.default_rng(3)
    p, q = rng.uniform(2.0, 3.0, 500), rng.uniform(0.0, 1.0, 500)
    assert estimate(p, q, Linear(), order=1.0).high == math.inf
