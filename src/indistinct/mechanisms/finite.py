"""Mechanisms with finitely many outputs: randomized response, and any tabulated pair."""

import math
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from indistinct.adjacency import Adjacency
from indistinct.description import describable
from indistinct.errors import ArgumentError, check_count, check_probability
from indistinct.guarantees.discrete_pair import DiscretePair
from indistinct.guarantees.guarantee import ExactGuarantee, Guarantee
from indistinct.guarantees.product import Product
from indistinct.mechanisms.mechanism import Mechanism
from indistinct.mechanisms.paying import Payer, charged
from indistinct.mechanisms.release import Release, integer_values
from indistinct.noise import Source, SystemSource, bernoulli, uniform_below
from indistinct.numerics.arrays import EPS


class Counts(NamedTuple):
    """Estimated counts and their standard errors, category by category."""

    counts: npt.NDArray[np.float64]
    errors: npt.NDArray[np.float64]


@describable("randomized_response")
class RandomizedResponse(Mechanism):
    """Each person reports the true category with probability `truth`, else one of the others at random.

    >>> RandomizedResponse(truth=0.75).guarantee().pure()  # log 3
    1.0986
    """

    truth: float
    categories: int = 2

    def __post_init__(self) -> None:
        object.__setattr__(self, "truth", check_probability("truth", self.truth))
        object.__setattr__(self, "categories", check_count("categories", self.categories, least=2))

    def _guarantee(self, adjacency: Adjacency) -> Guarantee:
        lie = (1 - self.truth) / (self.categories - 1)
        rest = lie * (self.categories - 2)
        p, q = np.array([self.truth, lie, rest]), np.array([lie, self.truth, rest])
        # the quotient itself: of two that are nearly alike one is rounded
        odds = Fraction(self.truth) * (self.categories - 1) / (1 - Fraction(self.truth)) if lie else None
        losses = (
            None if not odds or abs(odds - 1) > 0.5 else math.log1p(odds - 1) * np.array([1.0, -1.0, 0.0])
        )
        return ExactGuarantee(Product.of([(DiscretePair.of(p, q, losses), 1)]), adjacency)

    @charged
    def release(
        self, answers: Any, *, source: Source | None = None, ledger: Payer | None = None
    ) -> Release[Any]:
        """What people report whose true categories, numbers from 0 to categories - 1, are `answers`."""
        source = SystemSource() if source is None else source
        exact = self._categories("answers", answers)
        honest = bernoulli(self.truth, exact.shape, source)
        other = uniform_below(self.categories - 1, exact.shape, source)
        return Release.of(np.where(honest, exact, other + (other >= exact)), self, source)

    def estimate(self, reports: Any) -> Counts:
        """How many people are truly in each category, without bias, and the standard errors of that.

        >>> reports = RandomizedResponse(truth=0.75).release([0] * 300 + [1] * 700).values
        >>> RandomizedResponse(truth=0.75).estimate(reports).errors  # counts is somewhere around 300, 700
        array([27.4, 27.4])
        """
        exact = self._categories("reports", reports)
        lie = (1 - self.truth) / (self.categories - 1)
        if self.truth == lie:
            raise ArgumentError("truth", self.truth, f"not 1/{self.categories}: then reports tell nothing")
        seen = np.bincount(exact.ravel(), minlength=self.categories).astype(np.float64)
        counts = (seen - exact.size * lie) / (self.truth - lie)
        # a report is a coin of probability truth for those counted, and lie for the others
        inside = np.clip(counts, 0, exact.size)
        variance = inside * self.truth * (1 - self.truth) + (exact.size - inside) * lie * (1 - lie)
        errors: npt.NDArray[np.float64] = np.sqrt(variance) / abs(self.truth - lie)
        return Counts(counts, errors)

    def _categories(self, argument: str, values: Any) -> npt.NDArray[np.int64]:
        array = integer_values(argument, values)
        if ((array < 0) | (array >= self.categories)).any():  # which one is somebody's answer
            raise ArgumentError(argument, "another one", f"integers from 0 to {self.categories - 1}")
        return array.astype(np.int64)


@describable("discrete")
class Discrete(Mechanism):
    """A mechanism whose hardest neighbours give these output probabilities, outcome by outcome:
    `p` with the record and `q` without it. Both directions are accounted for."""

    p: tuple[float, ...]
    q: tuple[float, ...]

    def __post_init__(self) -> None:
        p, q = _distribution("p", self.p), _distribution("q", self.q)
        if len(p) != len(q):
            raise ArgumentError("q", self.q, f"as long as p ({len(p)} outcomes)")
        object.__setattr__(self, "p", p)
        object.__setattr__(self, "q", q)

    def _guarantee(self, adjacency: Adjacency) -> Guarantee:
        pair = DiscretePair.of(np.array(self.p), np.array(self.q))
        return ExactGuarantee(Product.of([(pair, 1)]), adjacency, ((DiscretePair(self.p, self.q), 1),))


def _distribution(argument: str, values: Any) -> tuple[float, ...]:
    allowed = "probabilities that sum to 1"
    try:
        numbers = tuple(check_probability(argument, value) for value in values)
    except (TypeError, ArgumentError):
        raise ArgumentError(argument, values, allowed) from None
    total = math.fsum(numbers)
    if abs(total - 1) > 1e-9:
        raise ArgumentError(argument, values, allowed)
    # what sums to 1 but for rounding stays as it is: it reads back equal
    return numbers if abs(total - 1) <= 4 * EPS else tuple(number / total for number in numbers)
