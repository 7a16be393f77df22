"""Certificates judge whatever a search returns: planted results, however bad, give no smaller bound."""

import math
from collections.abc import Callable

import numpy as np
import pytest

from indistinct import Features, Linear, PiecewiseLinear, Polynomial
from indistinct.adversaries import estimate
from indistinct.adversaries.adversary import Adversary
from indistinct.adversaries.bracket import Bracket
from indistinct.adversaries.coordinate import Coordinate, Law
from indistinct.adversaries.divergences import OneNumber, OnTable
from indistinct.adversaries.kullback import KullbackProgramme
from indistinct.adversaries.noise import GaussianNoise, LaplaceNoise, Noise
from indistinct.adversaries.programme import Programme
from indistinct.adversaries.quadrature import Line
from indistinct.adversaries.signed import Signed
from indistinct.adversaries.sums import SumProgramme
from indistinct.adversaries.table import Table, TableProgramme
from indistinct.numerics.arrays import Array

CLOSE = 1e-11
"""What truth itself may be off by."""


def place(noise: Noise, shift: float, rate: float = 1.0) -> Coordinate:
    q = Law(noise, ((1.0, 0.0),))
    p = Law(noise, ((1.0, shift),) if rate == 1 else ((1 - rate, 0.0), (rate, shift)))
    return Coordinate(p, q)


def programme(where: Coordinate, adversary: Adversary) -> Programme:
    span = adversary.span()
    assert span is not None
    return Programme(Line(where.p, span), Line(where.q, span))


def planted(best: Array, rng: np.random.Generator) -> list[Array]:
    """Bad results: nothing, one feature, the truth cut off, scaled, turned round, shaken by little and by
    much, and noise from the tame to what floats hardly hold."""
    size = best.size
    shaken = [best + s * np.abs(best).max() * rng.normal(size=size) for s in (1e-9, 1e-6, 1e-3, 0.1, 10.0)]
    wild = [rng.normal(size=size) * np.exp(s * rng.normal(size=size)) for s in (0.0, 1.0, 5.0, 20.0, 80.0)]
    cut = [np.where(np.arange(size) < k, best, 0.0) for k in range(1, size)]
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
    place(GaussianNoise(), 3.3),
    place(GaussianNoise(), 0.05),
    place(LaplaceNoise(), 1.0),
    place(GaussianNoise(), 1.5, 0.1),
    place(LaplaceNoise(), 2.0, 0.3).reverse(),
]


@pytest.mark.parametrize("order", [1.05, 2.0, 3.0, 50.0])
@pytest.mark.parametrize("where", PLACES[:4], ids=str)
@pytest.mark.parametrize("adversary", CLASSES, ids=str)
def test_renyi_of_one_number(adversary: Adversary, where: Coordinate, order: float) -> None:
    solved = programme(where, adversary)
    power, truth = order / (order - 1), solved.renyi(order)
    best = solved._search(power)
    assert judged(lambda a: solved._certified(power, lambda _: a), truth, best) > 5
    if solved._pieces is None:
        return
    # values that no float can hold
    rng, size = np.random.default_rng(1), best.size
    for spread in (10.0, 1e3, 1e5):
        wild = Signed(rng.choice([-1.0, 1.0], size), spread * rng.normal(size=size))
        found = solved._certified(power, lambda _, wild=wild: wild)
        assert found.low <= truth.high + CLOSE and truth.low - CLOSE <= found.high


@pytest.mark.parametrize("order", [1.05, 1.5, 2.0, 3.0, 50.0])
@pytest.mark.parametrize(
    "places",
    [
        [(place(LaplaceNoise(), 0.3), 1), (place(LaplaceNoise(), 1.0), 2)],
        [(place(LaplaceNoise(), 0.05 * k), 1) for k in range(1, 11)],
        [(place(GaussianNoise(), 1.0), 1), (place(LaplaceNoise(), 0.5), 3)],
        [(place(GaussianNoise(), 2.0, 0.1), 1), (place(LaplaceNoise(), 3.0, 0.5), 1)],
    ],
    ids=lambda places: str(len(places)),
)
def test_renyi_of_sums(places: list[tuple[Coordinate, int]], order: float) -> None:
    solved = SumProgramme(places)
    power, truth = order / (order - 1), solved.renyi(order)
    assert truth.gap < 1e-6
    assert judged(lambda a: solved._certify(power, a), truth, solved._last[1]) > 5


@pytest.mark.parametrize("where", PLACES, ids=str)
@pytest.mark.parametrize("adversary", [Polynomial(2), *CLASSES], ids=str)
def test_kl_of_one_number(adversary: Adversary, where: Coordinate) -> None:
    span = adversary.span()
    assert span is not None
    solved = OneNumber(where, span)._kullback(span)
    judged(solved._certify, solved.divergence(), solved.best)


def tables(seed: int, outcomes: int, features: int) -> tuple[Table, Table]:
    rng = np.random.default_rng(seed)
    p, q = rng.dirichlet(np.ones(outcomes)), rng.dirichlet(np.ones(outcomes))
    matrix = np.vstack((np.ones(outcomes), rng.normal(size=(features - 1, outcomes))))
    return Table(p, matrix), Table(q, matrix)


@pytest.mark.parametrize("order", [1.0, 1.05, 2.0, 3.0, 50.0])
@pytest.mark.parametrize("seed", range(4))
def test_tables(seed: int, order: float) -> None:
    p, q = tables(seed, 40, 5)
    if order == 1:
        solved = KullbackProgramme(p, q)
        truth = solved.divergence()
        assert truth.gap < 1e-8
        assert judged(solved._certify, truth, solved.best) > 0
        return
    both, power = TableProgramme(p, q), order / (order - 1)
    truth = both.renyi(order)
    assert truth.gap < 1e-8
    primal = both._primal
    assert judged(lambda a: primal._certified(power, lambda _: a), truth, primal._search(power)) > 5
    # the dual's certificate is any g, from any start
    rng = np.random.default_rng(seed)
    for _ in range(20):
        g = rng.normal(size=40) * np.exp(rng.uniform(0, 20) * rng.normal(size=40))
        assert both._bound(g, order) >= truth.low


def test_outcomes_that_only_one_side_has() -> None:
    # however little there is of them: a function may vanish everywhere else
    features = np.array([[1.0, 1.0, 1.0], [0.0, 1.0, 5.0], [0.0, 0.0, 1.0]])
    for tiny in (0.1, 1e-12, 1e-25):
        found = OnTable(np.array([0.5, 0.5 - tiny, tiny]), np.array([0.5, 0.5, 0.0]), features)
        assert found.renyi(2.0).high == found.kl().high == math.inf
    # but none of these does
    assert (
        OnTable(np.array([0.4, 0.5, 0.1]), np.array([0.5, 0.5, 0.0]), features[:2]).renyi(2.0).high < math.inf
    )


def test_samples_that_do_not_overlap_have_no_upper_end() -> None:
    # the mean of one side is outside of all that the other drew: nothing bounds the divergence of the samples
    rng = np.random.default_rng(3)
    p, q = rng.uniform(2.0, 3.0, 500), rng.uniform(0.0, 1.0, 500)
    assert estimate(p, q, Linear(), order=1.0).high == math.inf
