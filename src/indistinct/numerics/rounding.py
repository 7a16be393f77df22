"""Exact numbers as floats, rounded up."""

import math
from collections.abc import Iterable, Sequence
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
    """The sum of count times number, rounded up; infinite, if one of them is."""
    listed = list(terms)
    if not all(math.isfinite(number) for number, _ in listed):
        return max((number for number, count in listed if count and math.isinf(number)), default=0.0)
    try:
        exact = [Fraction(number) * count for number, count in listed if number and count]
        return rounded_up(sum(exact[1:], exact[0])) if exact else 0.0
    except OverflowError:
        return math.inf


def log_mean_exp(weights: Sequence[float], exponents: Sequence[float]) -> float:
    """log of the sum of weight times e^exponent, for weights that add up to 1 and exponents of one sign, to
    some units of its last place: terms of one sign are added up, next to 1 and far from it."""
    terms = list(zip(weights, exponents, strict=True))
    total = math.fsum(weight * math.expm1(min(exponent, 700.0)) for weight, exponent in terms)
    top = max(exponents)
    if math.isinf(top) or (top < 700 and total > -0.5):
        return math.log1p(total) if math.isfinite(top) else top
    return top + math.log(math.fsum(weight * math.exp(exponent - top) for weight, exponent in terms))


def root_up(square: Fraction) -> float:
    """A float not below the square root, and equal to it where that is a float."""
    root = math.sqrt(square)
    below = math.nextafter(root, 0.0)
    if Fraction(below) ** 2 >= square:
        root = below
    while Fraction(root) ** 2 < square:
        root = math.nextafter(root, math.inf)
    return root
