"""How far the sums of products of columns move with a record: what is measured of it, and the bounds."""

import math
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from typing import NamedTuple

from indistinct.data.records.reach import Norm
from indistinct.numerics.rounding import root_up, rounded_up

GRAIN = 2**17
"""What a coordinate of 1 is rounded to: products, weighed, still add up in 64 bits, a million at a time."""


class Weights(NamedTuple):
    """How strongly each sort of number is measured, in parts of 128. Noise is the same on all of them."""

    record: int
    single: int
    pair: int
    answer: int
    """Of the products with the response, its own sum and its square among them."""
    square: int


@dataclass(frozen=True)
class Crossings:
    """Where these vectors lie, and how far they are from 0 and from each other. `numbers` and `categories`
    count columns without the response, of which there are `responses`; a column of two categories is a number
    here that is never inside its interval, so it has no square."""

    weights: Weights
    numbers: int
    squares: int
    categories: int
    responses: int
    answered: int
    """How many responses are numbers, with a square."""

    def radius(self, norm: Norm) -> float:
        """At a corner, or where a few numbers are 0: what is measured is convex in x² for L2. For L1 it is
        at most what it is at the corner and what each square adds to it: max over x of a x + b (1 - x²) -
        a."""
        w = self.weights
        if norm is Norm.L1:
            singles = [w.single] * self.squares + [w.answer] * self.answered
            more = [
                Fraction((2 * w.square - own) ** 2, 4 * w.square) for own in singles if 2 * w.square > own
            ]
            return rounded_up((self._on(norm, 0, 0) + sum(more, Fraction(0))) * GRAIN**2)
        cases = product(range(self.squares + 1), range(self.answered + 1))
        return root_up(Fraction(max(self._on(norm, *off) for off in cases)) * GRAIN**4)

    def _on(self, norm: Norm, off: int, silent: int) -> int:
        """With so many numbers, and so many responses, at 0 and all others at an end."""
        w, power = self.weights, 1 if norm is Norm.L1 else 2
        some, told = self.numbers + self.categories - off, self.responses - silent
        total: int = (
            w.record**power
            + some * w.single**power
            + math.comb(some, 2) * w.pair**power
            + (told + some * told) * w.answer**power
            + (off + silent) * w.square**power
        )
        return total

    def diameter(self, norm: Norm) -> float:
        """Of two records: convex in each number but for the squares, so the ends decide; and squares add
        what they can. Where a category differs its coordinates are not in the same places."""
        ends = max(
            self._apart(norm, *differ)
            for differ in product(*(range(n + 1) for n in (self.numbers, self.categories, self.responses)))
        )
        squares = self.squares + self.answered
        if norm is Norm.L1:
            return rounded_up(Fraction((ends + squares * self.weights.square) * GRAIN**2))
        return root_up(Fraction(ends + squares * self.weights.square**2) * GRAIN**4)

    def _apart(self, norm: Norm, numbers: int, categories: int, responses: int) -> int:
        """Of two records at ends that differ in so many columns. A product of two numbers differs if one of
        them does; a product with a category if either does."""
        w, power = self.weights, 1 if norm is Norm.L1 else 2
        far, near = 2**power, 2  # of one number that changes its sign; of one that moves elsewhere
        same, alike = self.numbers - numbers, self.categories - categories
        of_pairs = (
            far * numbers * same
            + near * categories * self.numbers
            + far * alike * numbers
            + near * (math.comb(self.categories, 2) - math.comb(alike, 2))
        )
        of_answers = far * (responses * same + numbers * (self.responses - responses)) + (
            near * categories * self.responses + far * alike * responses
        )
        total: int = (
            (far * numbers + near * categories) * w.single**power
            + of_pairs * w.pair**power
            + (far * responses + of_answers) * w.answer**power
        )
        return total

    def with_zero(self) -> "OrNothing":
        """Beside a record that contributes nothing."""
        return OrNothing(self)


@dataclass(frozen=True)
class OrNothing:
    """The same vectors, and zero."""

    reach: Crossings

    def radius(self, norm: Norm) -> float:
        return self.reach.radius(norm)

    def diameter(self, norm: Norm) -> float:
        return max(self.reach.radius(norm), self.reach.diameter(norm))

    def with_zero(self) -> "OrNothing":
        return self
