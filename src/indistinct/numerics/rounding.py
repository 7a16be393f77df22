"""Exact numbers as floats, rounded up."""

import math
from collections.abc import Iterable
from fractions import Fraction


def rounded_up(number: Fraction) -> float:
    """The least float that is not below the number."""
    nearest = float(number)
    return nearest if Fraction(nearest) >= number else math.nextafter(nearest, math.inf)


def quotient_up(number: float, divisor: float) -> float:
    """number / divisor for positive floats, rounded up."""
    try:
        return rounded_up(Fraction(number) / Fraction(divisor))
    except OverflowError:
        return math.inf


def weighted_sum_up(terms: Iterable[tuple[float, int]]) -> float:
    """The sum of count times number, rounded up; numbers may be infinite, of one sign."""
    listed = list(terms)
    if not all(math.isfinite(number) for number, _ in listed):
        return math.fsum(number for number, count in listed if count and math.isinf(number))
    try:
        return rounded_up(sum((count * Fraction(number) for number, count in listed), Fraction(0)))
    except OverflowError:
        return math.inf


def root_up(square: Fraction) -> float:
    """A float not below the square root, and equal to it where that is a float."""
    root = math.sqrt(square)
    below = math.nextafter(root, 0.0)
    if Fraction(below) ** 2 >= square:
        root = below
    while Fraction(root) ** 2 < square:
        root = math.nextafter(root, math.inf)
    return root
