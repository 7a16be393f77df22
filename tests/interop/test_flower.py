"""Flower with our accountant, and what it refuses."""

import json
import math
from typing import Any

import pytest

from indistinct import Gaussian
from indistinct.interop.flower import FlowerAccountant

serverapp = pytest.importorskip("flwr.serverapp", reason="flwr is not installed: `make interop` does")
Event, Sampling = serverapp.GaussianPrivacyEvent, serverapp.SamplingMethod
ADD, REPLACE = serverapp.NeighboringRelation.ADD_OR_REMOVE_ONE, serverapp.NeighboringRelation.REPLACE_ONE
MODELS = [
    (Sampling.POISSON, ADD, Gaussian(2.0).subsample(0.1)),
    (Sampling.WITHOUT_REPLACEMENT, REPLACE, Gaussian(2.0, sensitivity=2.0).subsample(10, of=100)),
    (Sampling.NO_AMPLIFICATION, ADD, Gaussian(2.0)),
]
ROUND = Event(2.0, 10, 100)


def config(sampling: Any = Sampling.NO_AMPLIFICATION, relation: Any = ADD, **more: Any) -> Any:
    return serverapp.PrivacyConfig(1e-5, 100, relation, sampling, **more)


@pytest.mark.parametrize(("sampling", "relation", "step"), MODELS, ids=lambda one: getattr(one, "value", ""))
def test_rounds_are_accounted_exactly(sampling: Any, relation: Any, step: Any) -> None:
    accountant = FlowerAccountant(config(sampling, relation))
    assert accountant.get_epsilon(1e-5) == 0
    accountant.compose(ROUND)
    accountant.compose(ROUND, 4)
    assert accountant.num_releases == 5
    known = (5 * step).guarantee()
    assert accountant.get_epsilon(1e-5) == known.epsilon(1e-5)
    assert accountant.get_delta(1.0) == known.delta(1.0)
    spent = accountant.get_privacy_spent()
    assert (spent.epsilon, spent.delta, spent.num_releases) == (known.epsilon(1e-5), 1e-5, 5)


def test_bounds_of_their_accountant_are_larger() -> None:
    pytest.importorskip("dp_accounting")
    for sampling in (Sampling.POISSON, Sampling.NO_AMPLIFICATION):
        ours, theirs = FlowerAccountant(config(sampling)), serverapp.RdpAccountant(config(sampling))
        for accountant in (ours, theirs):
            accountant.compose(ROUND, 50)
        assert 0.8 * theirs.get_epsilon(1e-5) < ours.get_epsilon(1e-5) < theirs.get_epsilon(1e-5)


def test_a_strategy_takes_it_and_stops_at_its_limit() -> None:
    from flwr.serverapp.strategy import DifferentialPrivacyServerSideFixedClipping, FedAvg

    limit = (3 * Gaussian(2.0)).guarantee().epsilon(1e-5)
    accountant = FlowerAccountant(config(max_epsilon=limit))
    strategy = DifferentialPrivacyServerSideFixedClipping(FedAvg(), 2.0, 1.0, 10, accountant=accountant)
    for number in range(3):
        strategy._prepare_accounting(number, [None] * 10)
        strategy._compose_release(strategy._pop_pending_event(number))
    assert strategy.privacy_spent().epsilon == limit
    with pytest.raises(Exception, match="would exceed max_epsilon"):
        strategy._prepare_accounting(3, [None] * 10)
    assert accountant.num_releases == 3


def test_state_goes_through_json() -> None:
    first, second = FlowerAccountant(config()), FlowerAccountant(config())
    first.compose(ROUND, 7)
    second.load_state_dict(json.loads(json.dumps(first.state_dict())))
    assert second.state_dict() == first.state_dict()
    assert second.get_epsilon(1e-5) == first.get_epsilon(1e-5) > 0


@pytest.mark.parametrize(
    "change",
    [
        {"schema_version": 2},
        {"backend": "rdp"},
        {"config": None},
        {"compositions": None},
        {"compositions": [{"event": {}, "count": 1}]},
        {
            "compositions": [
                {"event": {"noise_multiplier": math.nan, "sample_size": 1, "population_size": 100}}
            ]
        },
        {
            "compositions": [
                {"event": {"noise_multiplier": 1.0, "sample_size": 1, "population_size": 100}, "count": -1}
            ]
        },
    ],
    ids=str,
)
def test_states_that_make_no_sense_are_refused_whole(change: Any) -> None:
    accountant = FlowerAccountant(config())
    accountant.compose(ROUND, 2)
    before = accountant.state_dict()
    with pytest.raises(ValueError):
        accountant.load_state_dict({**before, **change})
    assert accountant.state_dict() == before


def test_what_makes_no_sense_is_refused() -> None:
    accountant = FlowerAccountant(config())
    for count in (0, -1, 2.5, True):
        with pytest.raises(ValueError, match=r"^count must be"):
            accountant.compose(ROUND, count)
    with pytest.raises(ValueError, match=r"^population_size must be"):
        accountant.compose(Event(2.0, 10, 101))
    with pytest.raises(ValueError, match="max_epsilon"):
        accountant.would_exceed(ROUND)
    for bound in (math.nan, -1.0, 2.0):
        with pytest.raises(ValueError, match=r"^delta must be"):
            accountant.get_epsilon(bound)
    assert accountant.num_releases == 0
