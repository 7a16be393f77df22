"""A calibrated mechanism meets its target, and one per cent less noise would not."""

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from indistinct import (
    Adjacency,
    Discrete,
    Gaussian,
    Guarantee,
    Laplace,
    Mechanism,
    RandomizedResponse,
    TargetError,
    calibrate,
)

Family = Callable[[float], Mechanism]

FAMILIES: dict[str, Family] = {
    "gaussian": lambda s: Gaussian(scale=s),
    "100 gaussians": lambda s: 100 * Gaussian(scale=s),
    "sgd": lambda s: 1000 * Gaussian(scale=s).subsample(0.01),
    "laplace": lambda s: 5 * Laplace(scale=s),
    "sum": lambda s: 10 * Gaussian(scale=s) + 100 * Gaussian(scale=2 * s).subsample(0.05),
}

Read = Callable[[Guarantee], float]
TARGETS: dict[str, tuple[dict[str, Any], Read]] = {
    "epsilon 1": ({"epsilon": 1, "delta": 1e-5}, lambda g: g.epsilon(1e-5) - 1),
    "epsilon 0.01": ({"epsilon": 0.01, "delta": 1e-9}, lambda g: g.epsilon(1e-9) - 0.01),
    "epsilon 50": ({"epsilon": 50, "delta": 1e-6}, lambda g: g.epsilon(1e-6) - 50),
    "epsilon 0": ({"epsilon": 0, "delta": 0.01}, lambda g: g.epsilon(0.01)),
    "advantage": ({"advantage": 0.1}, lambda g: g.advantage() - 0.1),
    "fnr": ({"fnr": 0.8, "fpr": 0.05}, lambda g: 0.8 - g.tradeoff(0.05)),
    "fnr at a tiny fpr": ({"fnr": 0.99, "fpr": 1e-4}, lambda g: 0.99 - g.tradeoff(1e-4)),
    "renyi": ({"renyi": 0.5, "order": 8}, lambda g: g.renyi(8) - 0.5),
    "renyi of order 1": ({"renyi": 0.05, "order": 1}, lambda g: g.renyi(1) - 0.05),
}


def calibrated(family: Family, **target: Any) -> tuple[Mechanism, float]:
    """The mechanism, and the scale that it was made with."""
    made: dict[Mechanism, float] = {}

    def noted(scale: float) -> Mechanism:
        made.setdefault(family(scale), scale)
        return family(scale)

    mechanism = calibrate(noted, **target)
    return mechanism, made[mechanism]


MOST = ("epsilon 1", "advantage", "fnr", "renyi")
TRIED = [
    *itertools.product(("gaussian", "100 gaussians"), TARGETS),
    *itertools.product(("sgd", "laplace", "sum"), MOST),
    ("sgd", "epsilon 0.01"),
    ("sgd", "fnr at a tiny fpr"),
]


@pytest.mark.parametrize(("family", "target"), TRIED)
def test_meets_its_target_and_less_noise_does_not(family: str, target: str) -> None:
    build, (arguments, excess) = FAMILIES[family], TARGETS[target]
    mechanism, scale = calibrated(build, **arguments)
    assert excess(mechanism.guarantee()) <= 0
    assert excess(build(0.99 * scale).guarantee()) > 0


@pytest.mark.parametrize("epsilon", [1e-3, 0.5, 20])
def test_pure_laplace(epsilon: float) -> None:
    mechanism, scale = calibrated(lambda s: Laplace(scale=s, sensitivity=2), epsilon=epsilon)
    assert scale == pytest.approx(2 / epsilon, rel=1e-6)
    assert mechanism.guarantee().pure() <= epsilon


def test_without_replacement() -> None:
    def family(scale: float) -> Mechanism:
        return 200 * Gaussian(scale=scale, sensitivity=2).subsample(20, of=1000)

    def epsilon(mechanism: Mechanism) -> float:
        return mechanism.guarantee(Adjacency.REPLACE_ONE).epsilon(1e-5)

    mechanism, scale = calibrated(family, epsilon=1, delta=1e-5, adjacency=Adjacency.REPLACE_ONE)
    assert epsilon(mechanism) <= 1 < epsilon(family(0.99 * scale))


def test_against_other_libraries() -> None:
    """The tightest of them, dp-accounting's PLD, needs 3.81324; Rényi accountants need 4.126."""
    _, scale = calibrated(lambda s: 10_000 * Gaussian(scale=s).subsample(0.01), epsilon=1, delta=1e-5)
    assert 3.812 < scale < 3.81324


@pytest.mark.parametrize(
    "mechanism",
    [
        Gaussian(scale=20),
        Laplace(scale=10),
        RandomizedResponse(truth=0.55),
        Gaussian(scale=1).subsample(0.01),
        Gaussian(scale=300).subsample(1e-3),
    ],
    ids=str,
)
@pytest.mark.parametrize("target", MOST)
def test_most_steps(mechanism: Mechanism, target: str) -> None:
    arguments, excess = TARGETS[target]
    if excess(mechanism.guarantee()) > 0:
        with pytest.raises(TargetError):
            calibrate(mechanism, **arguments)
        return
    repeated = calibrate(mechanism, **arguments)
    steps = repeated.steps  # type: ignore[attr-defined]
    assert excess((steps * mechanism).guarantee()) <= 0 < excess(((steps + 1) * mechanism).guarantee())


@pytest.mark.parametrize(
    ("family", "target"),
    [
        (lambda s: Gaussian(scale=s), {"epsilon": 1}),  # no pure guarantee at any scale
        (lambda s: Gaussian(scale=s), {"epsilon": 0, "delta": 0}),
        (lambda s: Laplace(scale=s), {"epsilon": 0}),
        (lambda s: Gaussian(scale=s), {"advantage": 0}),
        (lambda s: Gaussian(scale=s), {"advantage": 1}),  # met without noise
        (lambda s: Gaussian(scale=s), {"epsilon": 1, "delta": 1}),
        (lambda s: Gaussian(scale=s), {"fnr": 0.95, "fpr": 0.05}),
        (lambda s: Gaussian(scale=s), {"fnr": 0, "fpr": 0.05}),
        (lambda s: Gaussian(scale=s), {"renyi": 0, "order": 2}),
        (lambda s: Gaussian(scale=1), {"epsilon": 0.1, "delta": 1e-5}),  # scale has no effect
        (lambda s: Gaussian(scale=1), {"epsilon": 100, "delta": 1e-5}),
        (lambda s: Gaussian(scale=s) + Gaussian(scale=1), {"epsilon": 1, "delta": 1e-5}),
        (Gaussian(scale=0.1), {"epsilon": 1, "delta": 1e-5}),  # one step is too many
        (Gaussian(scale=1).subsample(0), {"epsilon": 1, "delta": 1e-5}),  # any number of steps will do
        (Gaussian(scale=1), {"epsilon": 1}),
    ],
)
def test_impossible_target_says_so(family: Any, target: dict[str, float]) -> None:
    with pytest.raises(TargetError) as caught:
        calibrate(family, **target)
    assert "must be" in str(caught.value) and "got" in str(caught.value)


def test_scales_of_any_size_are_found() -> None:
    target = {"epsilon": 1, "delta": 1e-5}
    _, unit = calibrated(FAMILIES["gaussian"], **target)
    for sensitivity in (1e-6, 1e6):
        _, scale = calibrated(lambda s, c=sensitivity: Gaussian(scale=s, sensitivity=c), **target)
        assert scale / sensitivity == pytest.approx(unit, rel=1e-5)


@pytest.mark.parametrize("swap", [False, True])
def test_either_direction_may_decide(swap: bool) -> None:
    """The search follows one direction; the answer must hold in both."""
    far, near = np.array([0.70, 0.28, 0.02]), np.array([0.5, 0.2, 0.3])

    def family(scale: float) -> Mechanism:
        p = near + (far - near) / (1 + scale)
        return 5 * (Discrete(tuple(near), tuple(p)) if swap else Discrete(tuple(p), tuple(near)))

    found = calibrate(family, epsilon=0.5, delta=1e-3)
    assert found.guarantee().epsilon(1e-3) == pytest.approx(0.5, rel=1e-5)
    assert found.guarantee().epsilon(1e-3) <= 0.5
