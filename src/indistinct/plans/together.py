"""All releases of a plan as one."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from indistinct.adjacency import Adjacency
from indistinct.guarantees.guarantee import Guarantee, Known
from indistinct.guarantees.noise_pairs import LaplacePair
from indistinct.guarantees.pair import Pair
from indistinct.guarantees.product import Product
from indistinct.mechanisms import Mechanism
from indistinct.mechanisms.mechanism import Composed

_ALIKE = 1 - 1e-3


@dataclass(frozen=True)
class Together(Mechanism):
    """Releases one after the other, accounted as their composition.

    Shares of one budget give Laplace noises whose losses would be equal but for rounding. Those that differ
    by less than a thousandth count as the largest of them, which tells neighbours apart at least as well;
    every kink more in a privacy loss makes its readings slower.
    """

    kind = "composed"
    parts: tuple[Mechanism, ...]

    def __str__(self) -> str:
        return str(Composed(self.parts))

    def _guarantee(self, adjacency: Adjacency) -> Guarantee:
        exact = Composed(self.parts).guarantee(adjacency)
        if exact.product is None:
            return exact
        return Known(Product.of(_merged(exact.product.terms)), adjacency)

    def to_json(self) -> dict[str, Any]:
        return Composed(self.parts).to_json()


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
