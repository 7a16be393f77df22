"""What dp-accounting calls a `DpEvent`, as a mechanism, and mechanisms as events.

An event counts noise in units of C, the largest norm of what one record adds to a sum. So which mechanism it
is depends on the neighbours: a record that is added, removed or zeroed moves the sum by C, and one that is
replaced by 2 C.
"""

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from indistinct.adjacency import Adjacency
from indistinct.description import nested
from indistinct.errors import (
    ArgumentError,
    check_count,
    check_nonnegative,
    check_probability,
    needs,
)
from indistinct.guarantees import PureDP, ZeroConcentratedDP
from indistinct.guarantees.noise_pairs import GaussianPair
from indistinct.mechanisms import (
    Discrete,
    DiscreteLaplace,
    DrawnSum,
    Gaussian,
    Laplace,
    Mechanism,
    RandomizedResponse,
    RandomShift,
    RepeatAndSelect,
    SampledSum,
    Stated,
    TruncatedSum,
)
from indistinct.mechanisms.discrete_noise import whole_steps
from indistinct.mechanisms.mechanism import Composed, FixedSizeSampled, PoissonSampled, Repeated

NOTHING: Mechanism = 0 * Gaussian(1.0)
"""Of what tells nothing."""
EVERYTHING: Mechanism = Discrete((1.0, 0.0), (0.0, 1.0))
"""Of what keeps nothing secret: no noise at all."""


class EventError(ArgumentError):
    """An event that no mechanism stands for, under these neighbours; `event` is the one inside that is to
    blame."""

    def __init__(self, event: Any, reason: str) -> None:
        ValueError.__init__(self, f"{type(event).__name__}: {reason}")
        self.argument, self.value, self.allowed = "event", event, reason
        self.event, self.reason = event, reason


def from_event(event: Any, relation: Any) -> Mechanism:
    """The mechanism that an event of dp-accounting describes, for neighbours in its `NeighboringRelation`.

    Unknown events are refused by their name, as are those that say nothing about such neighbours. Classes
    derived from known ones are unknown: they may mean something else.
    """
    reader = _READERS.get(type(event).__name__) if _is_own(event) else None
    if reader is None:
        raise EventError(event, "no such event is known here")
    return reader(event, relation)


def keeps_nothing(mechanism: Mechanism) -> bool:
    """Whether a part of it has no noise at all."""
    return any(part == EVERYTHING for part in nested(mechanism))


def adjacency_of(relation: Any) -> Adjacency:
    """The neighbours of a relation. A record that is zeroed moves a sum as one that is removed does."""
    return Adjacency.REPLACE_ONE if relation.name == "REPLACE_ONE" else Adjacency.ADD_REMOVE


def _is_own(event: Any) -> bool:
    return type(event).__module__ == "dp_accounting.dp_event"


def _distance(relation: Any) -> float:
    """How far a neighbour moves a sum of records of norm 1."""
    return 2.0 if relation.name == "REPLACE_ONE" else 1.0


def _only(event: Any, relation: Any, *names: str) -> None:
    if relation.name not in names:
        raise _other_neighbours(event, relation, *names)


def _other_neighbours(event: Any, relation: Any, *names: str) -> EventError:
    listed = " or ".join(f"`{name}`" for name in names)
    return EventError(event, f"neighboring_relation must be {listed}, got `{relation.name}`")


# -- each event -----------------------------------------------------------------------------------


def _gaussian(event: Any, relation: Any) -> Mechanism:
    scale = check_nonnegative("noise_multiplier", event.noise_multiplier)
    return Gaussian(scale, _distance(relation)) if scale else EVERYTHING


def _laplace(event: Any, relation: Any) -> Mechanism:
    scale = check_nonnegative("noise_multiplier", event.noise_multiplier)
    return Laplace(scale, _distance(relation)) if scale else EVERYTHING


def _discrete_laplace(event: Any, relation: Any) -> Mechanism:
    slope = check_nonnegative("noise_parameter", event.noise_parameter)
    moved = check_count("sensitivity", event.sensitivity) * _distance(relation)
    if slope == 0:  # no such law; dp-accounting takes it for no noise
        return EVERYTHING
    return DiscreteLaplace(math.nextafter(1 / slope, 0.0), moved)


def _randomized_response(event: Any, relation: Any) -> Mechanism:
    _only(event, relation, "REPLACE_ONE", "REPLACE_SPECIAL")
    lie = check_probability("noise_parameter", event.noise_parameter)
    buckets = check_count("num_buckets", event.num_buckets, least=1)
    if buckets == 1:
        return NOTHING
    if lie == 0:
        return EVERYTHING
    truth = min(math.nextafter(1 - lie * (buckets - 1) / buckets, 1.0), 1.0)
    if relation.name == "REPLACE_ONE":
        return RandomizedResponse(truth, buckets)
    return Discrete((truth, 1 - truth), (1 / buckets, 1 - 1 / buckets))


def _self_composed(event: Any, relation: Any) -> Mechanism:
    base, count = from_event(event.event, relation), check_count("count", event.count, least=1)
    return count * base if count > 1 else base


def _composed(event: Any, relation: Any) -> Mechanism:
    parts = [part for one in event.events if (part := from_event(one, relation)) != NOTHING]
    return sum(parts[1:], parts[0]) if parts else NOTHING


def _poisson_sampled(event: Any, relation: Any) -> Mechanism:
    rate = check_probability("sampling_probability", event.sampling_probability)
    if relation.name != "REPLACE_ONE":
        return _sampled(event, relation, rate > 0, lambda base: base.subsample(rate))

    def replaced(base: Mechanism) -> Mechanism:
        # a record that is not drawn is between the two: how far they are apart does not say that
        if (noise := _gaussian_noise(base)) is None:
            raise _other_neighbours(event, relation, "ADD_OR_REMOVE_ONE", "REPLACE_SPECIAL")
        return SampledSum(noise, rate)

    return _sampled(event, relation, rate > 0, replaced)


def _sampled_with_replacement(event: Any, relation: Any) -> Mechanism:
    _only(event, relation, "REPLACE_ONE")
    size = check_count("sample_size", event.sample_size)
    of = check_count("source_dataset_size", event.source_dataset_size, least=1)

    def drawn(base: Mechanism) -> Mechanism:
        if (noise := _gaussian_noise(base)) is None:
            raise EventError(event, f"it may sample Gaussian noise, not {base}")
        return DrawnSum(noise, size, of)

    return _sampled(event, relation, size > 0, drawn)


def _gaussian_noise(base: Mechanism) -> float | None:
    """The noise of the one Gaussian that stands for all of a mechanism, in units of C, if there is one:
    independent sums with noise are one sum of longer vectors."""
    product = base.guarantee(Adjacency.REPLACE_ONE).product
    pair = None if product is None else product.single
    if not isinstance(pair, GaussianPair):
        return None
    noise = 2 / pair.shift
    return noise if noise * pair.shift == 2 else math.nextafter(noise, 0.0)


def _sampled_without_replacement(event: Any, relation: Any) -> Mechanism:
    _only(event, relation, "REPLACE_ONE")
    size = check_count("sample_size", event.sample_size)
    of = check_count("source_dataset_size", event.source_dataset_size, least=1)
    return _sampled(event, relation, size > 0, lambda base: base.subsample(size, of=of))


def _sampled(event: Any, relation: Any, some: bool, sample: Callable[[Mechanism], Mechanism]) -> Mechanism:
    """A sample of something that adds noise to a sum: of this it is known that a record that is not drawn,
    and one that is zero, are the same."""
    base = from_event(event.event, relation)
    if not some or base == NOTHING:
        return NOTHING
    if keeps_nothing(base):
        return EVERYTHING
    sums = (Gaussian, Laplace, DiscreteLaplace, Repeated, Composed, PoissonSampled, FixedSizeSampled)
    if other := next((part for part in nested(base) if not isinstance(part, sums)), None):
        raise EventError(event, f"it may sample additive noise, not {other}")
    return sample(base)


def _tree(event: Any, relation: Any) -> Mechanism:
    _only(event, relation, "REPLACE_SPECIAL")
    scale = check_nonnegative("noise_multiplier", event.noise_multiplier)
    steps = np.atleast_1d(event.step_counts).tolist()
    if not steps:
        raise ArgumentError("step_counts", event.step_counts, "at least one number of steps")
    # a record is in one leaf of one tree, and in each node above it
    depth = max(check_count("step_counts", count) for count in steps).bit_length()
    return depth * Gaussian(scale) if scale else EVERYTHING


def _zero_concentrated(event: Any, relation: Any) -> Mechanism:
    if event.rho == 0:  # bounded at all orders
        return Stated(PureDP(event.xi, adjacency=adjacency_of(relation)))
    return Stated(ZeroConcentratedDP(event.rho, event.xi, adjacency=adjacency_of(relation)))


def _truncated(event: Any, relation: Any) -> Mechanism:
    # a zeroed record still takes the place of another in a full batch, which a removed one does not
    _only(event, relation, "ADD_OR_REMOVE_ONE", "REPLACE_ONE")
    of = check_count("dataset_size", event.dataset_size)
    rate = check_probability("sampling_probability", event.sampling_probability)
    largest = check_count("truncated_batch_size", event.truncated_batch_size)
    noise = check_nonnegative("noise_multiplier", event.noise_multiplier)
    if of == 0 or rate == 0 or largest == 0:
        return NOTHING
    if noise == 0:
        return EVERYTHING
    return TruncatedSum(noise, rate, largest, of)


def _repeat_and_select(event: Any, relation: Any) -> Mechanism:
    base = from_event(event.event, relation)
    tuned = RepeatAndSelect(base, event.mean, event.shape)
    return EVERYTHING if keeps_nothing(base) else tuned


def _mixture_of_gaussians(event: Any, relation: Any) -> Mechanism:
    _only(event, relation, "ADD_OR_REMOVE_ONE", "REPLACE_SPECIAL")
    noise = check_nonnegative("standard_deviation", event.standard_deviation)
    law = RandomShift(noise or 1.0, tuple(event.sensitivities), tuple(event.sampling_probs))
    if not any(shift and weight for shift, weight in zip(law.shifts, law.weights, strict=True)):
        return NOTHING
    return law if noise else EVERYTHING


_READERS: dict[str, Callable[[Any, Any], Mechanism]] = {
    "NoOpDpEvent": lambda event, relation: NOTHING,
    "NonPrivateDpEvent": lambda event, relation: EVERYTHING,
    "GaussianDpEvent": _gaussian,
    "LaplaceDpEvent": _laplace,
    "DiscreteLaplaceDpEvent": _discrete_laplace,
    "RandomizedResponseDpEvent": _randomized_response,
    "SelfComposedDpEvent": _self_composed,
    "ComposedDpEvent": _composed,
    "PoissonSampledDpEvent": _poisson_sampled,
    "SampledWithReplacementDpEvent": _sampled_with_replacement,
    "SampledWithoutReplacementDpEvent": _sampled_without_replacement,
    "MixtureOfGaussiansDpEvent": _mixture_of_gaussians,
    "TruncatedSubsampledGaussianDpEvent": _truncated,
    "RepeatAndSelectDpEvent": _repeat_and_select,
    "SingleEpochTreeAggregationDpEvent": _tree,
    "ZCDpEvent": _zero_concentrated,
}


# -- and back -------------------------------------------------------------------------------------


def to_event(mechanism: Mechanism, relation: Any) -> Any:
    """The event of dp-accounting that describes a mechanism, for neighbours in its `NeighboringRelation`.
    Noise is rounded down. A mechanism for which there is no event is refused by its name."""
    with needs("dp-accounting"):
        from dp_accounting import dp_event as events

    if mechanism == EVERYTHING:
        return events.NonPrivateDpEvent()
    if isinstance(mechanism, Repeated):
        if mechanism.steps == 0:
            return events.NoOpDpEvent()
        return events.SelfComposedDpEvent(to_event(mechanism.base, relation), mechanism.steps)
    if isinstance(mechanism, Composed):
        return events.ComposedDpEvent([to_event(part, relation) for part in mechanism.parts])
    if isinstance(mechanism, Gaussian | Laplace):
        if mechanism.sensitivity == 0:
            return events.NoOpDpEvent()
        # C is half of how far a replaced record moves the sum: exact but for the quotient
        ratio = mechanism.scale * _distance(relation) / mechanism.sensitivity
        exact = ratio * mechanism.sensitivity == mechanism.scale * _distance(relation)
        multiplier = ratio if exact else math.nextafter(ratio, 0.0)
        kind = events.GaussianDpEvent if isinstance(mechanism, Gaussian) else events.LaplaceDpEvent
        return kind(multiplier)
    if isinstance(mechanism, DiscreteLaplace):
        moved = math.ceil(whole_steps(mechanism.sensitivity) / _distance(relation))
        return events.DiscreteLaplaceDpEvent(math.nextafter(1 / mechanism.scale, math.inf), moved)
    if isinstance(mechanism, RandomizedResponse) and relation.name == "REPLACE_ONE":
        buckets = mechanism.categories
        noise = (1 - mechanism.truth) * buckets / (buckets - 1)
        if noise <= 1:
            return events.RandomizedResponseDpEvent(math.nextafter(noise, 0.0), buckets)
    if isinstance(mechanism, RandomShift) and relation.name != "REPLACE_ONE":
        return events.MixtureOfGaussiansDpEvent(
            mechanism.noise, list(mechanism.shifts), list(mechanism.weights)
        )
    if isinstance(mechanism, RepeatAndSelect):
        base = to_event(mechanism.base, relation)
        return events.RepeatAndSelectDpEvent(base, mechanism.mean, mechanism.shape)
    if isinstance(mechanism, TruncatedSum):
        return events.TruncatedSubsampledGaussianDpEvent(
            mechanism.of, mechanism.rate, mechanism.largest, mechanism.noise
        )
    if isinstance(mechanism, SampledSum) and mechanism.records == 1:
        return events.PoissonSampledDpEvent(mechanism.rate, events.GaussianDpEvent(mechanism.noise))
    if isinstance(mechanism, DrawnSum) and relation.name == "REPLACE_ONE":
        base = events.GaussianDpEvent(mechanism.noise)
        return events.SampledWithReplacementDpEvent(mechanism.of, mechanism.size, base)
    if isinstance(mechanism, PoissonSampled) and relation.name != "REPLACE_ONE":
        return events.PoissonSampledDpEvent(mechanism.rate, to_event(mechanism.base, relation))
    if isinstance(mechanism, FixedSizeSampled) and relation.name == "REPLACE_ONE":
        base = to_event(mechanism.base, relation)
        return events.SampledWithoutReplacementDpEvent(mechanism.of, mechanism.size, base)
    if isinstance(mechanism, Stated) and mechanism.natural in (None, adjacency_of(relation)):
        if isinstance(mechanism.claim, ZeroConcentratedDP):
            return events.ZCDpEvent(mechanism.claim.rho, mechanism.claim.xi)
        if isinstance(mechanism.claim, PureDP):
            return events.ZCDpEvent(0.0, mechanism.claim.bound)
    allowed = f"one that has a DpEvent under {relation.name}"
    raise ArgumentError("mechanism", str(mechanism), allowed)
