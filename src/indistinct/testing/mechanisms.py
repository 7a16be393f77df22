"""Laws of mechanisms: how one is saved and printed, what it tells, and that what is drawn is what is accounted."""

import json
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from indistinct.adjacency import Adjacency, check_adjacency
from indistinct.description import Described, from_json, nested
from indistinct.errors import ArgumentError
from indistinct.guarantees.guarantee import Claim, Guarantee
from indistinct.mechanisms.additive import AdditiveNoise
from indistinct.mechanisms.expression import parse
from indistinct.mechanisms.mechanism import Mechanism, check_sampled, natural_adjacency
from indistinct.noise import NotPrivateSource
from indistinct.testing.guarantees import OWN_DIGITS, check_guarantee
from indistinct.testing.law import no_more, require

_NODES = 1 << 18
_MISTAKEN = 1e-9
"""The chance that a release that is right is called wrong."""


def check_mechanism(
    mechanism: Mechanism,
    adjacency: Adjacency | str | None = None,
    *,
    neighbours: tuple[Any, Any] | None = None,
) -> None:
    """All laws of a mechanism, with values of its arguments that are not their defaults (what is forgotten is
    seen only then).

    `neighbours`: two numbers that its `release` must not tell apart by more than is accounted; of additive noise
    they are known.
    """
    asked = natural_adjacency(mechanism) if adjacency is None else check_adjacency(adjacency)
    check_saved(mechanism)
    check_guarantee(lambda: mechanism.guarantee(asked))
    _check_sampling(mechanism, asked)
    if neighbours is None and isinstance(mechanism, AdditiveNoise) and hasattr(mechanism, "release"):
        moved = mechanism.sensitivity
        neighbours = (0, int(moved)) if moved.is_integer() else (0.0, moved)
    if neighbours is not None:
        check_release(mechanism, *neighbours, adjacency=asked)


def check_saved(value: Described) -> None:
    """What is saved reads back equal; a mechanism is what its expression says."""
    copies = {"JSON": from_json(json.loads(json.dumps(value.to_json())))}
    if all(isinstance(part, Mechanism | Claim) for part in nested(value)) and isinstance(value, Mechanism):
        copies["its expression"] = parse(str(value))
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


def check_noise(
    mechanism: Mechanism,
    density: Callable[[npt.NDArray[np.float64]], npt.NDArray[np.float64]],
    *,
    shift: float,
    reach: float,
    adjacency: Adjacency | str = Adjacency.ADD_REMOVE,
    accuracy: float = 1e-4,
    exact: bool = True,
) -> None:
    """The guarantee of additive noise with this density (of an array of numbers) against plain integration of it,
    from -reach to reach: no shift up to `shift` tells more, either way, and (if `exact`) one tells as much."""
    g = mechanism.guarantee(adjacency)
    width = 2 * reach / _NODES
    x: npt.NDArray[np.float64] = (np.arange(_NODES) + 0.5) * width - reach
    without = np.asarray(density(x), dtype=np.float64)
    mass = float(without.sum() * width)
    require(without >= 0, "a density is not negative")
    require(abs(mass - 1) < accuracy, f"the density has mass 1 between {-reach} and {reach}", f"{mass:.4g}")
    epsilons = np.array([0.0, *g.epsilon([0.2, 1e-2, 1e-3])])
    epsilons = epsilons[np.isfinite(epsilons)]
    known, most, largest = g.delta(epsilons), np.zeros_like(epsilons), 0.0
    for moved in (shift, -shift, 0.7 * shift, -0.5 * shift, 0.3 * shift):
        added = np.asarray(density(x - moved), dtype=np.float64)
        told = [float(np.maximum(added - math.exp(e) * without, 0.0).sum() * width) for e in epsilons]
        no_more(told, known, f"delta is that of the noise moved by {moved}", epsilons, tiny=accuracy)
        most = np.maximum(most, told)
        seen = (added > 1e-290) & (without > 1e-290)
        largest = max(largest, float(np.log(added[seen] / without[seen]).max(initial=0.0)))
    no_more(largest, g.pure(), "pure epsilon is the largest loss", slack=1e-9, tiny=1e-12)
    if exact:
        no_more(known, most, "delta is no more than the noise tells", epsilons, tiny=accuracy)
        if math.isfinite(g.pure()):
            no_more(g.pure(), largest, "pure epsilon is no more than the largest loss", slack=1e-6)


def check_release(
    mechanism: Any,
    value: Any,
    neighbour: Any,
    *,
    adjacency: Adjacency | str = Adjacency.ADD_REMOVE,
    draws: int = 20_000,
    seed: int = 1,
) -> None:
    """What `release` draws, of an array of one number each, must not tell two neighbouring numbers apart by more
    than is accounted: by whether a result is at most a threshold, for all thresholds at once (the inequality of
    Dvoretzky, Kiefer and Wolfowitz with the constant of Massart 1990; a right one is called wrong with chance
    1e-9). A seed takes the guarantee away."""
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
    below = [np.searchsorted(np.sort(side), places, side="right") / draws for side in (one, other)]
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
