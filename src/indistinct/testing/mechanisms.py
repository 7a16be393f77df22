"""Laws of mechanisms: how one is saved and printed, what it tells, and that what is drawn is what is
accounted."""

import json
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from indistinct.adjacency import Adjacency, check_adjacency
from indistinct.description import Described, from_json, nested
from indistinct.errors import ArgumentError
from indistinct.guarantees.guarantee import Guarantee
from indistinct.guarantees.stated import Claim
from indistinct.mechanisms.additive import AdditiveNoise
from indistinct.mechanisms.expression import parse
from indistinct.mechanisms.mechanism import Mechanism, check_sampled, natural_adjacency
from indistinct.noise import NotPrivateSource
from indistinct.numerics.arrays import Array
from indistinct.testing.guarantees import OWN_DIGITS, check_guarantee, check_truth
from indistinct.testing.law import no_more, require

_NODES = 1 << 18
_MISTAKEN = 1e-9
"""The chance that a release that is right is called wrong."""


def check_mechanism(
    mechanism: Mechanism,
    adjacency: Adjacency | str | None = None,
    *,
    truth: Callable[[float], float] | None = None,
    neighbours: tuple[Any, Any] | None = None,
) -> None:
    """All laws of a mechanism. Give its arguments values that are not their defaults: what is forgotten is
    seen only then.

    `truth`: its delta at an epsilon, known otherwise (`integrated`, or a formula). `neighbours`: two numbers
    that its `release` must not tell apart by more than is accounted; of noise with a scale they are known.
    """
    asked = natural_adjacency(mechanism) if adjacency is None else check_adjacency(adjacency)
    check_saved(mechanism)
    check_guarantee(lambda: mechanism.guarantee(asked))
    _check_sampling(mechanism, asked)
    if truth is not None:
        check_truth(mechanism.guarantee(asked), truth)
    if neighbours is None and isinstance(mechanism, AdditiveNoise) and hasattr(mechanism, "release"):
        moved = mechanism.sensitivity
        neighbours = (0, int(moved)) if moved.is_integer() else (0.0, moved)
    if neighbours is not None:
        check_release(mechanism, *neighbours, adjacency=asked)


def check_saved(value: Described) -> None:
    """What is saved reads back equal; a mechanism is what its expression says."""
    copies = {"JSON": from_json(json.loads(json.dumps(value.to_json())))}
    if all(isinstance(part, Mechanism | Claim) for part in nested(value)) and isinstance(value, Mechanism):
        try:
            copies["its expression"] = parse(str(value))
        except ArgumentError as error:
            raise AssertionError(f"its expression can be read: {error}") from error
    for source, copy in copies.items():
        require(
            type(copy) is type(value) and copy == value, f"what {source} says is equal", f"{copy}, {value}"
        )
        require(hash(copy) == hash(value), f"what {source} says has the same hash", value)
        require(repr(copy) == repr(value), f"what {source} says prints the same", f"{copy!r}, {value!r}")
        if isinstance(value, Mechanism):
            asked = natural_adjacency(value)
            same = copy.guarantee(asked) == value.guarantee(asked)
            require(same, f"what {source} says has the same guarantee", value)


def _check_sampling(mechanism: Mechanism, adjacency: Adjacency) -> None:
    try:
        check_sampled(mechanism)
    except ArgumentError:  # of a group, or of a claim
        return
    added = adjacency is Adjacency.ADD_REMOVE
    sampled = (mechanism.subsample(0.3) if added else mechanism.subsample(3, of=10)).guarantee(adjacency)
    g, epsilons, law = (
        mechanism.guarantee(adjacency),
        [0.0, 0.5, 2.0],
        "a sample tells no more than all records",
    )
    no_more(sampled.delta_interval(epsilons).low, g.delta(epsilons), law, epsilons, slack=OWN_DIGITS)
    no_more(sampled.epsilon_interval(1e-5).low, g.epsilon(1e-5), law, 1e-5, slack=OWN_DIGITS)
    none = (mechanism.subsample(0) if added else mechanism.subsample(0, of=10)).guarantee(adjacency)
    require(none.pure() == 0, "no sample tells nothing", none.pure())


# -- against what is known otherwise ------------------------------------------------------------------------


Density = Callable[[npt.NDArray[np.float64]], npt.NDArray[np.float64]]
"""Of an array of numbers."""


def integrated(density: Density, *, shift: float, reach: float) -> Callable[[float], float]:
    """delta(epsilon) of additive noise with this density, between numbers that are `shift` apart: by plain
    summation over 2^18 cells from -reach to reach."""
    width = 2 * reach / _NODES
    x = np.linspace(-reach, reach, _NODES, endpoint=False) + width / 2
    without, added = (np.asarray(density(place), dtype=np.float64) for place in (x, x - shift))
    require(without >= 0, "a density is not negative")
    mass = float(without.sum() * width)
    require(abs(mass - 1) < 1e-4, f"the density has mass 1 between {-reach} and {reach}", f"{mass:.6g}")
    return lambda epsilon: float(np.maximum(added - math.exp(epsilon) * without, 0.0).sum() * width)


def check_noise(
    mechanism: Mechanism,
    density: Density,
    *,
    shift: float,
    reach: float,
    adjacency: Adjacency | str = Adjacency.ADD_REMOVE,
    accuracy: float = 1e-4,
) -> None:
    """The guarantee of additive noise against plain integration of its density: one way or the other, numbers
    `shift` apart tell as much as is accounted, and nearer ones tell no more."""
    g = mechanism.guarantee(adjacency)
    both = [integrated(density, shift=way, reach=reach) for way in (shift, -shift)]
    check_truth(g, lambda epsilon: max(told(epsilon) for told in both), accuracy)
    for share in (0.7, -0.5, 0.3):
        nearer = integrated(density, shift=share * shift, reach=reach)
        for epsilon in (0.0, 0.3, 1.0):
            law = "nearer numbers tell no more"
            no_more(nearer(epsilon), g.delta(epsilon), law, f"epsilon {epsilon}", tiny=accuracy)


def check_release(
    mechanism: Any,
    value: Any,
    neighbour: Any,
    *,
    adjacency: Adjacency | str = Adjacency.ADD_REMOVE,
    draws: int = 20_000,
    seed: int = 1,
) -> None:
    """What `release` draws, of an array of one number each, must not tell two neighbouring numbers apart by
    more than is accounted: by whether a result is at most a threshold, for all thresholds at once (the
    inequality of Dvoretzky, Kiefer and Wolfowitz with the constant of Massart 1990; a right one is called
    wrong with chance 1e-9). A seed takes the guarantee away."""
    g: Guarantee = mechanism.guarantee(adjacency)
    released = mechanism.release(value)
    stated = released.guarantee(adjacency)
    no_more(
        g.delta([0.0, 1.0]), stated.delta([0.0, 1.0]), "what was drawn is accounted", slack=1e-6, tiny=1e-300
    )
    seeded = mechanism.release(value, source=NotPrivateSource(seed)).guarantee(adjacency)
    require(seeded.delta(1.0) == 1, "what is drawn from a seed has no guarantee", seeded)

    one, other = (_drawn(mechanism, at, draws, seed + k) for k, at in enumerate((value, neighbour)))
    places = np.unique(np.concatenate((one, other)))[:: max(1, draws // 2000)]
    below: list[Array] = [
        np.searchsorted(np.sort(side), places, side="right") / draws for side in (one, other)
    ]
    radius = math.sqrt(math.log(4 / _MISTAKEN) / (2 * draws))
    for epsilon in (0.0, 0.25, 0.5, 1.0, 2.0, 4.0):
        allowed = g.delta(epsilon)
        for p, q in ((0, 1), (1, 0)):
            for side in (below, [1 - share for share in below]):
                told = side[p] - radius - math.exp(epsilon) * (side[q] + radius)
                no_more(
                    told.max(), allowed, "a release tells no more than is accounted", f"epsilon {epsilon}"
                )


def _drawn(mechanism: Any, value: Any, draws: int, seed: int) -> npt.NDArray[np.float64]:
    values = mechanism.release(np.full(draws, value), source=NotPrivateSource(seed)).values
    return np.asarray(values, dtype=np.float64).ravel()
