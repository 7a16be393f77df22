"""A calibrated mechanism meets its target, and one per cent less noise would not."""

import itertools
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from indistinct import (
    Adjacency,
    ApproxDP,
    Budget,
    Discrete,
    DiscreteGaussian,
    DiscreteLaplace,
    Exponential,
    Gaussian,
    GaussianDP,
    Guarantee,
    Laplace,
    Mechanism,
    PureDP,
    RandomizedResponse,
    RenyiCurve,
    TargetError,
    ZeroConcentratedDP,
    calibrate,
)
from indistinct.mechanisms.budget import known_mu, known_rho

Family = Callable[[float], Mechanism]

FAMILIES: dict[str, Family] = {
    "gaussian": lambda s: Gaussian(scale=s),
    "100 gaussians": lambda s: 100 * Gaussian(scale=s),
    "sgd": lambda s: 1000 * Gaussian(scale=s).subsample(0.01),
    "laplace": lambda s: 5 * Laplace(scale=s),
    "sum": lambda s: 10 * Gaussian(scale=s) + 100 * Gaussian(scale=2 * s).subsample(0.05),
}

Read = Callable[[Guarantee], float]
TARGETS: dict[str, tuple[Budget, Read]] = {
    "epsilon 1": (Budget(epsilon=1, delta=1e-5), lambda g: g.epsilon(1e-5) - 1),
    "epsilon 0.01": (Budget(epsilon=0.01, delta=1e-9), lambda g: g.epsilon(1e-9) - 0.01),
    "epsilon 50": (Budget(epsilon=50, delta=1e-6), lambda g: g.epsilon(1e-6) - 50),
    "epsilon 0": (Budget(epsilon=0, delta=0.01), lambda g: g.epsilon(0.01)),
    "advantage": (Budget(advantage=0.1), lambda g: g.advantage() - 0.1),
    "fnr": (Budget(fnr=0.8, fpr=0.05), lambda g: 0.8 - g.tradeoff(0.05)),
    "fnr at a tiny fpr": (Budget(fnr=0.99, fpr=1e-4), lambda g: 0.99 - g.tradeoff(1e-4)),
    "renyi": (Budget(renyi=0.5, order=8), lambda g: g.renyi(8) - 0.5),
    "renyi of order 1": (Budget(renyi=0.05, order=1), lambda g: g.renyi(1) - 0.05),
    "rho": (Budget(rho=0.1), lambda g: g.renyi(7) / 7 - 0.1),
    "mu": (Budget(mu=0.4), lambda g: g.epsilon(1e-6) - GaussianDP(0.4).epsilon(1e-6)),
}


MOST = ("epsilon 1", "advantage", "fnr", "renyi")
TRIED = [
    *itertools.product(("gaussian", "100 gaussians"), TARGETS),
    *itertools.product(("sgd", "laplace"), MOST),
    *itertools.product(("sum",), ("epsilon 1", "advantage", "renyi")),
    ("sgd", "epsilon 0.01"),
    ("sgd", "fnr at a tiny fpr"),
]


@pytest.mark.parametrize(("family", "target"), TRIED)
def test_meets_its_target_and_less_noise_does_not(family: str, target: str) -> None:
    build, (budget, excess) = FAMILIES[family], TARGETS[target]
    found = calibrate(build, budget)
    assert found.mechanism == build(found.parameter)
    assert excess(found.guarantee()) <= 0
    assert excess(build(0.99 * found.parameter).guarantee()) > 0


@pytest.mark.parametrize("target", TARGETS)
def test_a_budget_knows_what_meets_it(target: str) -> None:
    budget, excess = TARGETS[target]
    guarantees = [Gaussian(scale).guarantee() for scale in (0.1, 1, 10, 100, 1e4)]
    met = [budget.met_by(guarantee) for guarantee in guarantees]
    assert met == [excess(guarantee) <= 0 for guarantee in guarantees] and met[0] < met[-1]
    assert eval(repr(budget), {"Budget": Budget}) == budget and hash(budget) == hash(eval(repr(budget)))


def test_rho_and_mu_of_what_is_not_gaussian() -> None:
    """Bounds hold at every order and at every error rate, and add up as they should."""
    for mechanism in (
        Laplace(2),
        RandomizedResponse(0.7),
        Exponential(3),
        DiscreteGaussian(5),
        DiscreteLaplace(2),
    ):
        guarantee = 3 * mechanism.guarantee() + Gaussian(4).guarantee()
        rho, mu = known_rho(guarantee), known_mu(guarantee)
        assert all(guarantee.renyi(order) <= rho * order * (1 + 1e-12) for order in (1, 1.01, 2, 5, 40, 1e3))
        fpr = np.linspace(0, 1, 41)
        assert math.isinf(mu) or (guarantee.tradeoff(fpr) >= GaussianDP(mu).tradeoff(fpr) - 1e-9).all()
        assert rho < math.inf and (mu < math.inf or isinstance(mechanism, DiscreteGaussian))
    assert Budget(mu=0.5).met_by(Gaussian(2).guarantee()) and Budget(rho=0.125).met_by(
        Gaussian(2).guarantee()
    )
    for epsilon in (0.01, 1, 4):  # the curve of mu goes through the corner of that of epsilon
        corner = 1 / (1 + math.exp(epsilon))
        through = GaussianDP(known_mu(PureDP(epsilon))).tradeoff(corner)
        assert through <= PureDP(epsilon).tradeoff(corner) and through == pytest.approx(corner, rel=1e-6)
    claimed = 2 * ZeroConcentratedDP(0.5)
    assert Budget(rho=1).met_by(claimed) and not Budget(rho=1).met_by(claimed + Gaussian(9).guarantee())
    for unknown in (ApproxDP(1, 1e-6), RenyiCurve([2], [0.1]), Gaussian(9).subsample(0.1).guarantee()):
        assert not Budget(rho=1e9).met_by(unknown) and not Budget(mu=1e9).met_by(unknown)


@pytest.mark.parametrize("epsilon", [1e-3, 0.5, 20])
def test_pure_laplace(epsilon: float) -> None:
    found = calibrate(lambda s: Laplace(scale=s, sensitivity=2), Budget(epsilon=epsilon))
    assert found.parameter == pytest.approx(2 / epsilon, rel=1e-6)
    assert found.guarantee().pure() <= epsilon


def test_without_replacement() -> None:
    def family(scale: float) -> Mechanism:
        return 200 * Gaussian(scale=scale, sensitivity=2).subsample(20, of=1000)

    def epsilon(mechanism: Mechanism) -> float:
        return mechanism.guarantee(Adjacency.REPLACE_ONE).epsilon(1e-5)

    found = calibrate(family, Budget(epsilon=1, delta=1e-5), adjacency=Adjacency.REPLACE_ONE)
    assert epsilon(found.mechanism) <= 1 < epsilon(family(0.99 * found.parameter))
    assert found.guarantee().adjacency is Adjacency.REPLACE_ONE  # what it was calibrated for


def test_against_other_libraries() -> None:
    """The tightest of them, dp-accounting's PLD, needs 3.81324; Rényi accountants need 4.126."""
    found = calibrate(lambda s: 10_000 * Gaussian(scale=s).subsample(0.01), Budget(epsilon=1, delta=1e-5))
    assert 3.812 < found.parameter < 3.81324


STEPS = [
    *itertools.product(
        (
            Gaussian(scale=20),
            Laplace(scale=10),
            RandomizedResponse(truth=0.55),
            Gaussian(scale=1).subsample(0.01),
        ),
        MOST,
    ),
    *itertools.product((Gaussian(scale=300).subsample(1e-3),), ("epsilon 1", "renyi")),  # very many
]


@pytest.mark.parametrize(("mechanism", "target"), STEPS, ids=str)
def test_most_steps(mechanism: Mechanism, target: str) -> None:
    budget, excess = TARGETS[target]
    if excess(mechanism.guarantee()) > 0:
        with pytest.raises(TargetError):
            calibrate(mechanism, budget)
        return
    found = calibrate(mechanism, budget)
    steps = int(found.parameter)
    assert found.mechanism == steps * mechanism
    assert excess((steps * mechanism).guarantee()) <= 0 < excess(((steps + 1) * mechanism).guarantee())


@pytest.mark.parametrize(
    ("family", "target"),
    [
        (lambda s: Gaussian(scale=s), {"epsilon": 1}),  # no pure guarantee at any scale
        (lambda s: Gaussian(scale=s), {"epsilon": 0, "delta": 0}),
        (lambda s: Laplace(scale=s), {"epsilon": 0}),
        (lambda s: Gaussian(scale=s), {"advantage": 0}),
        (lambda s: Gaussian(scale=s), {"renyi": 0, "order": 2}),
        (lambda s: Gaussian(scale=s).subsample(0.1), {"rho": 1}),  # nothing is known of it
        (lambda s: Gaussian(scale=1), {"epsilon": 0.1, "delta": 1e-5}),  # scale has no effect
        (lambda s: Gaussian(scale=1), {"epsilon": 100, "delta": 1e-5}),
        (lambda s: Gaussian(scale=s) + Gaussian(scale=1), {"epsilon": 1, "delta": 1e-5}),
        (lambda s: 1000 * Gaussian(scale=s).subsample(1e-5), {"epsilon": 0.5, "delta": 0.0101}),  # any noise
        (Gaussian(scale=0.1), {"epsilon": 1, "delta": 1e-5}),  # one step is too many
        (Gaussian(scale=1).subsample(0), {"epsilon": 1, "delta": 1e-5}),  # any number of steps will do
        (Gaussian(scale=1), {"epsilon": 1}),
    ],
)
def test_impossible_target_says_so(family: Any, target: dict[str, float]) -> None:
    with pytest.raises(TargetError) as caught:
        calibrate(family, Budget(**target))
    assert "must be" in str(caught.value) and "got" in str(caught.value)


def test_scales_of_any_size_are_found() -> None:
    budget = Budget(epsilon=1, delta=1e-5)
    unit = calibrate(FAMILIES["gaussian"], budget).parameter
    for sensitivity in (1e-6, 1e6):
        found = calibrate(lambda s, c=sensitivity: Gaussian(scale=s, sensitivity=c), budget)
        assert found.parameter / sensitivity == pytest.approx(unit, rel=1e-5)


@pytest.mark.parametrize("swap", [False, True])
def test_either_direction_may_decide(swap: bool) -> None:
    """The search follows one direction; the answer must hold in both."""
    far, near = np.array([0.70, 0.28, 0.02]), np.array([0.5, 0.2, 0.3])

    def family(scale: float) -> Mechanism:
        p = near + (far - near) / (1 + scale)
        return 5 * (Discrete(tuple(near), tuple(p)) if swap else Discrete(tuple(p), tuple(near)))

    found = calibrate(family, Budget(epsilon=0.5, delta=1e-3))
    assert found.guarantee().epsilon(1e-3) == pytest.approx(0.5, rel=1e-5)
    assert found.guarantee().epsilon(1e-3) <= 0.5


def test_a_budget_is_met_by_the_whole_reading() -> None:
    """Each direction met this one alone, both together not: beside the other one may be loose, by 5e-8."""
    found = calibrate(
        lambda scale: 20 * Laplace(scale=scale).subsample(0.9931666848404453),
        Budget(advantage=0.9051097879737221),
    )
    assert found.budget.met_by(found.guarantee())
