"""All releases of a plan as one."""

from collections.abc import Sequence

from indistinct.adjacency import Adjacency
from indistinct.description import describable
from indistinct.guarantees.guarantee import ExactGuarantee, Guarantee
from indistinct.guarantees.noise_pairs import LaplacePair
from indistinct.guarantees.pair import Pair
from indistinct.guarantees.product import Product
from indistinct.mechanisms import Mechanism
from indistinct.mechanisms.mechanism import Composed

_ALIKE = 1 - 1e-3


@describable("together")
class Together(Mechanism):
    """Releases one after the other, accounted as their composition.

    Shares of one budget give Laplace noises whose losses would be equal but for rounding. Those that differ
    by less than a thousandth count as the largest of them, which tells neighbours apart at least as well;
    every kink more in a privacy loss makes its readings slower.
    """

    parts: tuple[Mechanism, ...]

    def __post_init__(self) -> None:
        _ = self._exact  # refuses what is no mechanism

    @property
    def _exact(self) -> Composed:
        return Composed(self.parts)

    def __str__(self) -> str:
        return str(self._exact)

    def _guarantee(self, adjacency: Adjacency) -> Guarantee:
        exact = self._exact.guarantee(adjacency)
        if exact.product is None:
            return exact
        return ExactGuarantee(Product.of(_merged(exact.product.terms)), adjacency)


def _merged(terms: Sequence[tuple[Pair, int]]) -> list[tuple[Pair, int]]:
    """Laplace pairs of nearly equal losses as the furthest of them."""
    merged = [(pair, count) for pair, count in terms if not isinstance(pair, LaplacePair)]
    near = [(pair, count) for pair, count in terms if isinstance(pair, LaplacePair)]
    furthest: LaplacePair | None = None
    for pair, count in sorted(near, key=lambda term: -term[0].loss):
        if furthest is None or pair.loss < furthest.loss * _ALIKE:
            furthest = pair
        merged.append((furthest, count))
    return merged
