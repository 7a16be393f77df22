"""Exact numbers as floats, rounded up."""

import math
from fractions import Fraction


def rounded_up(number: Fraction) -> float:
    """The least float that is not below the number."""
    nearest = float(number)
    return nearest if Fraction(nearest) >= number else math.nextafter(nearest, math.inf)


def root_up(square: Fraction) -> float:
    """A float not below the square root, and equal to it where that is a float."""
    root = math.sqrt(square)
    below = math.nextafter(root, 0.0)
    if Fraction(below) ** 2 >= square:
        root = below
    while Fraction(root) ** 2 < square:
        root = math.nextafter(root, math.inf)
    return root
