"""Gaussian noise on a sum that a neighbour moves by a random distance."""

from typing import Any

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
from indistinct.numerics.arrays import EPS


@describable("random_shift")
class RandomShift(Mechanism):
    """Gaussian noise of standard deviation `noise` on a sum that a record, added or removed, moves by the
    distance shifts[i] with probability weights[i]: a mixture of Gaussians, as of a person whose records are
    sampled (Choquette-Choo, Ganesh, Steinke and Thakurta 2024, "Privacy amplification for matrix
    mechanisms").

    Distances are not negative, so the best tests are thresholds: what lies above one has a probability that
    grows with each distance, and so does delta, in both directions.

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
        chances: dict[float, float] = {0.0: 0.0}
        for shift, weight in zip(self.shifts, self.weights, strict=True):
            chances[shift] = chances.get(shift, 0.0) + weight
        moving = sorted(shift for shift, weight in chances.items() if weight > 0)
        largest = moving[-1]
        if largest / self.noise > NO_NOISE:
            return no_guarantee(adjacency)
        # so that all are above what they stand for, if by little
        scaled = largest / self.noise * (1 + 4 * EPS)
        pair: GaussianPair | RepeatedDrawsPair = GaussianPair(scaled)
        if len(moving) > 1:
            places = sorted({0.0, *moving})
            weights = tuple(chances[place] for place in places)
            pair = RepeatedDrawsPair(scaled, weights, places=tuple(place / largest for place in places))
        return ExactGuarantee(Product.of([(pair, 1)]), adjacency)


def _listed(values: Any) -> list[Any]:
    try:
        return list(values)
    except TypeError:
        raise ArgumentError("shifts, weights", values, "lists of numbers") from None
