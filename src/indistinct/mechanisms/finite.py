"""Mechanisms with finitely many outputs: randomized response, and any tabulated pair."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from indistinct.adjacency import Adjacency
from indistinct.errors import ArgumentError, check_count, check_probability
from indistinct.guarantees.discrete_pair import DiscretePair
from indistinct.guarantees.guarantee import Guarantee, Known
from indistinct.guarantees.product import Product
from indistinct.mechanisms.mechanism import Mechanism


@dataclass(frozen=True)
class RandomizedResponse(Mechanism):
    """Each person reports the true category with probability `truth`, else one of the others at random.

    >>> RandomizedResponse(truth=0.75).guarantee().pure()  # log 3
    1.0986
    """

    kind = "randomized_response"
    truth: float
    categories: int = 2

    def __post_init__(self) -> None:
        object.__setattr__(self, "truth", check_probability("truth", self.truth))
        object.__setattr__(self, "categories", check_count("categories", self.categories, least=2))

    def __str__(self) -> str:
        categories = "" if self.categories == 2 else f", categories={self.categories}"
        return f"randomized_response({self.truth!r}{categories})"

    def _guarantee(self, adjacency: Adjacency) -> Guarantee:
        lie = (1 - self.truth) / (self.categories - 1)
        rest = lie * (self.categories - 2)
        p, q = np.array([self.truth, lie, rest]), np.array([lie, self.truth, rest])
        return Known(Product.of([(DiscretePair.of(p, q), 1)]), adjacency)


@dataclass(frozen=True)
class Discrete(Mechanism):
    """A mechanism whose hardest neighbours give these output probabilities, outcome by outcome:
    `p` with the record and `q` without it. Both directions are accounted for."""

    kind = "discrete"
    p: tuple[float, ...]
    q: tuple[float, ...]

    def __post_init__(self) -> None:
        p, q = _distribution("p", self.p), _distribution("q", self.q)
        if len(p) != len(q):
            raise ArgumentError("q", self.q, f"as long as p ({len(p)} outcomes)")
        object.__setattr__(self, "p", p)
        object.__setattr__(self, "q", q)

    def __str__(self) -> str:
        return f"discrete({list(self.p)!r}, {list(self.q)!r})"

    def _guarantee(self, adjacency: Adjacency) -> Guarantee:
        pair = DiscretePair.of(np.array(self.p), np.array(self.q))
        return Known(Product.of([(pair, 1)]), adjacency, ((DiscretePair(self.p, self.q), 1),))


def _distribution(argument: str, values: Any) -> tuple[float, ...]:
    allowed = "probabilities that sum to 1"
    try:
        numbers = tuple(check_probability(argument, value) for value in values)
    except (TypeError, ArgumentError):
        raise ArgumentError(argument, values, allowed) from None
    total = math.fsum(numbers)
    if abs(total - 1) > 1e-9:
        raise ArgumentError(argument, values, allowed)
    return tuple(number / total for number in numbers)
