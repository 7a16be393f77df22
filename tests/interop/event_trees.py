"""Random trees of events of dp-accounting, and what its own privacy loss distributions say of them."""

import random
from functools import reduce
from math import ceil, tanh
from typing import Any

import numpy as np
from dp_accounting import NeighboringRelation as Relation
from dp_accounting import dp_event as dp
from dp_accounting.pld import privacy_loss_distribution as pld
from scipy.optimize import brentq


def random_event(draw: random.Random, relation: Any, depth: int = 3) -> Any:
    """A tree of events that both accountants know under these neighbours."""
    one = draw.random()
    if depth > 1 and one < 0.3:
        return dp.ComposedDpEvent(
            [random_event(draw, relation, depth - 1) for _ in range(draw.randint(1, 3))]
        )
    if depth > 1 and one < 0.6:
        return dp.SelfComposedDpEvent(random_event(draw, relation, depth - 1), draw.choice([1, 2, 5, 20, 50]))
    return random_leaf(draw, relation)


def random_leaf(draw: random.Random, relation: Any) -> Any:
    noise, rate = draw.uniform(2.0, 20.0), draw.choice([1.0, 0.5, 0.1, 0.01, 0.001])
    gaussian = dp.GaussianDpEvent(noise)
    leaves = [gaussian, dp.PoissonSampledDpEvent(rate, gaussian), dp.NoOpDpEvent()]
    if relation is not Relation.ADD_OR_REMOVE_ONE:
        leaves.append(dp.RandomizedResponseDpEvent(draw.uniform(0.3, 0.99), draw.randint(2, 20)))
    if relation is not Relation.REPLACE_ONE:
        laplace = dp.LaplaceDpEvent(noise)
        leaves += [laplace, dp.PoissonSampledDpEvent(rate, laplace)]
        leaves.append(dp.DiscreteLaplaceDpEvent(1 / noise, draw.randint(1, 3)))
        if draw.random() < 0.02:  # theirs takes seconds
            share = draw.uniform(0.0, 0.5)
            parts = [1 - share - share**2, share, share**2]
            return dp.MixtureOfGaussiansDpEvent(noise, [0.0, 1.0, 2.0], parts)
    return draw.choice(leaves)


def distribution(event: Any, relation: Any, *, pessimistic: bool, grid: float) -> Any:
    """The privacy loss distribution of a tree: an upper bound, or a lower one. It counts what is repeated:
    the accountant of dp-accounting 0.6.0 counts randomized response once, however often it is repeated."""
    shape = {"pessimistic_estimate": pessimistic, "value_discretization_interval": grid}
    dots = {**shape, "use_connect_dots": pessimistic}

    def read(one: Any, times: int) -> list[Any]:
        match one:
            case dp.NoOpDpEvent():
                return []
            case dp.ComposedDpEvent():
                return [found for part in one.events for found in read(part, times)]
            case dp.SelfComposedDpEvent():
                return read(one.event, times * one.count)
            case dp.GaussianDpEvent():
                law = pld.from_gaussian_mechanism(
                    one.noise_multiplier / times**0.5, neighboring_relation=relation, **dots
                )
                return [law]
            case dp.LaplaceDpEvent():
                law = pld.from_laplace_mechanism(one.noise_multiplier, **dots)
            case dp.DiscreteLaplaceDpEvent():
                law = pld.from_discrete_laplace_mechanism(one.noise_parameter, one.sensitivity, **dots)
            case dp.RandomizedResponseDpEvent():
                law = pld.from_randomized_response(
                    one.noise_parameter, one.num_buckets, neighboring_relation=relation, **shape
                )
            case dp.MixtureOfGaussiansDpEvent():
                law = pld.from_mixture_gaussian_mechanism(
                    one.standard_deviation, one.sensitivities, one.sampling_probs, **dots
                )
            case dp.PoissonSampledDpEvent(event=dp.GaussianDpEvent()):
                law = pld.from_gaussian_mechanism(
                    one.event.noise_multiplier,
                    sampling_prob=one.sampling_probability,
                    neighboring_relation=relation,
                    **dots,
                )
            case dp.PoissonSampledDpEvent():
                law = pld.from_laplace_mechanism(
                    one.event.noise_multiplier, sampling_prob=one.sampling_probability, **dots
                )
        return [law.self_compose(times, 1e-15 if pessimistic else 0.0)]

    total = pld.identity(value_discretization_interval=grid, pessimistic_estimate=pessimistic)
    for law in read(event, 1):
        total = total.compose(law)
    return total


def repeats_randomized_response(event: Any, times: int = 1) -> bool:
    match event:
        case dp.RandomizedResponseDpEvent():
            return times > 1
        case dp.ComposedDpEvent():
            return any(repeats_randomized_response(part, times) for part in event.events)
        case dp.SelfComposedDpEvent():
            return repeats_randomized_response(event.event, times * event.count)
    return False


def convolved(event: Any, delta: float) -> float | None:
    """The epsilon of discrete Laplace noise that is repeated, by plain convolution of its losses, which are
    multiples of the parameter; None for other events."""
    times = 1
    while isinstance(event, dp.SelfComposedDpEvent):
        event, times = event.event, times * event.count
    if not isinstance(event, dp.DiscreteLaplaceDpEvent):
        return None
    rate, moved = event.noise_parameter, event.sensitivity
    places = np.arange(-ceil(800 / rate), ceil(800 / rate) + moved)
    losses = np.abs(places - moved) - np.abs(places)
    weights = tanh(rate / 2) * np.exp(-rate * np.abs(places))
    once = np.bincount(losses + moved, weights, minlength=2 * moved + 1)
    law = reduce(np.convolve, [once] * times)
    loss = rate * (np.arange(len(law)) - moved * times)

    def short(epsilon: float) -> float:
        above = loss > epsilon
        return float(law[above] @ -np.expm1(epsilon - loss[above])) - delta

    return float(brentq(short, 0.0, loss[-1], xtol=1e-12))
