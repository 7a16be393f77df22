"""Where a published formula is valid: the checks that several of them share."""

import math
from typing import Any

from indistinct.errors import ArgumentError, check_real


def check_order(value: Any, *, least: float = 1.0, strict: bool = True) -> float:
    """A Rényi order above (or from) the least one that a theorem covers; infinity is refused."""
    allowed = f"a finite order {'above' if strict else 'of at least'} {least:g}"
    order = check_real("order", value, allowed)
    if not (least < order if strict else least <= order) or order == math.inf:
        raise ArgumentError("order", value, allowed)
    return order


def check_open_probability(argument: str, value: Any) -> float:
    """A probability that is neither 0 nor 1."""
    number = check_real(argument, value, "a number in (0, 1)")
    if not 0 < number < 1:
        raise ArgumentError(argument, value, "a number in (0, 1)")
    return number
