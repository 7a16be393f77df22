"""Gaussian noise on a sum that a neighbour moves by a random distance."""

import math
from typing import Any

import numpy as np

from indistinct.adjacency import Adjacency
from indistinct.description import describable
from indistinct.errors import ArgumentError, check_nonnegative, check_positive
from indistinct.guarantees.alternatives import check_shares
from indistinct.guarantees.guarantee import ExactGuarantee, Guarantee
from indistinct.guarantees.noise_pairs import GaussianPair
from indistinct.guarantees.product import Product
from indistinct.guarantees.repeated_draws_pair import RepeatedDrawsPair
from indistinct.mechanisms.additive import NO_NOISE
from indistinct.mechanisms.mechanism import Mechanism
from indistinct.mechanisms.release import no_guarantee

_FINEST = 256
"""Distances are multiples of this part of the largest, or are rounded up to such."""
_SHARPEST = 50.0
"""Where the largest distance is more than this many times the noise, it is taken for the only one."""


@describable("random_shift")
class RandomShift(Mechanism):
    """Gaussian noise of standard deviation `noise` on a sum that a record, added or removed, moves by the
    distance shifts[i] with probability weights[i]: a mixture of Gaussians, as of a person whose records are
    sampled (Choquette-Choo, Ganesh, Steinke and Thakurta 2024, "Privacy amplification for matrix
    mechanisms").

    Distances are not negative, so the best tests are thresholds: what lies above one has a probability that
    grows with each distance, and so does delta, in both directions. Distances may be rounded up.

    >>> RandomShift(2, (0, 1, 2), (0.81, 0.18, 0.01)).guarantee().epsilon(delta=1e-5)
    0.8121
    """

    words = "by chance: a record moves the sum by {shifts} with probabilities {weights}"
    noise: float
    shifts: tuple[float, ...]
    weights: tuple[float, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "noise", check_positive("noise", self.noise))
        shifts = tuple(check_nonnegative(f"shifts[{k}]", one) for k, one in enumerate(_listed(self.shifts)))
        object.__setattr__(self, "shifts", shifts)
        object.__setattr__(self, "weights", tuple(check_shares(len(shifts), _listed(self.weights))))

    def _guarantee(self, adjacency: Adjacency) -> Guarantee:
        if adjacency is Adjacency.REPLACE_ONE:
            allowed = "add/remove: what a replaced record does instead is not said"
            raise ArgumentError("adjacency", adjacency.value, allowed)
        moving = {
            (shift, weight) for shift, weight in zip(self.shifts, self.weights, strict=True) if weight > 0
        }
        largest = max(shift for shift, _ in moving)
        if largest / self.noise > NO_NOISE:
            return no_guarantee(adjacency)
        if largest == 0 or largest / self.noise > _SHARPEST:
            only = all(shift == largest for shift, _ in moving)
            pair: GaussianPair | RepeatedDrawsPair = GaussianPair(largest / self.noise, dominates=not only)
        else:
            unit, weights, rounded = _on_lattice(self.shifts, self.weights, largest)
            pair = RepeatedDrawsPair(unit / self.noise, weights, dominates=rounded)
        return ExactGuarantee(Product.of([(pair, 1)]), adjacency)


def _on_lattice(
    shifts: tuple[float, ...], weights: tuple[float, ...], largest: float
) -> tuple[float, tuple[float, ...], bool]:
    """A unit, the probability of each of its multiples, none of which is below what it stands for, and
    whether some are above it by more than rounding errors."""
    known = np.array([shift for shift, weight in zip(shifts, weights, strict=True) if weight > 0])
    share = np.array([weight for weight in weights if weight > 0])
    for parts in range(1, _FINEST + 1):
        places = np.rint(known / largest * parts)
        if np.allclose(places * (largest / parts), known, rtol=1e-12, atol=0.0):
            rounded = False
            break
    else:
        rounded = True
        places = np.ceil(known / largest * parts * (1 - 1e-15))
    unit = largest / parts
    # what is a multiple but for rounding is so from above
    unit *= float(np.max(np.where(places > 0, known / np.maximum(places * unit, 1e-300), 0.0), initial=1.0))
    masses = np.bincount(places.astype(int), share / share.sum())
    return math.nextafter(unit, math.inf), tuple(masses.tolist()), rounded


def _listed(values: Any) -> list[Any]:
    try:
        return list(values)
    except TypeError:
        raise ArgumentError("shifts, weights", values, "lists of numbers") from None
