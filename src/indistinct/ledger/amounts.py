"""Exact numbers: what is spent is added up as fractions, never as floats.

A number that somebody *states* (a claim, a cap) is the decimal that is written: 0.1 is one tenth, so ten of
them are 1. A number that a sampler *uses* (the scale of noise) is the binary float that it is, because that
is what is drawn.
"""

import math
import re
from fractions import Fraction
from typing import Any

from indistinct.errors import ArgumentError

Amount = Fraction | float
"""A fraction, or infinity: no other float."""
NONE = Fraction(0)
_FLOATS = 290
"""Powers of ten that floats have."""
_LONGEST, _UNIT = 10**36, 10**18
_WRITTEN = re.compile(r"[0-9]{1,1000}(?:/[1-9][0-9]{0,1000})?", re.ASCII)
"""No powers of ten: 1e999999999 is short to write and long to read."""


def stated(number: float) -> Amount:
    """The decimal that is written.

    >>> 10 * stated(0.1)
    Fraction(1, 1)
    """
    return Fraction(repr(float(number))) if math.isfinite(number) else math.inf


def up(value: float) -> Amount:
    """A reading as a fraction that is not below what it bounds: readings are right to a few units of the
    last place."""
    if not value < math.inf:  # also what is not a number
        return math.inf
    return Fraction(above(value))


def above(value: float) -> float:
    """A float that is not below what a reading of it bounds; nor is the decimal that it is written as. What
    reads as 0 may be less than floats can tell from it."""
    return math.nextafter(max(value, 0.0) * (1 + 2**-50), math.inf)


def added(total: Amount, cost: Amount) -> Amount:
    """What `cost` counts as beside a total: itself, unless the denominator of their sum gets long; then it
    is rounded up to a multiple of 10^-18. So totals are exact sums of what was counted, and stay short."""
    if not isinstance(total, Fraction) or not isinstance(cost, Fraction):
        return cost
    if (total + cost).denominator <= _LONGEST:
        return cost
    return Fraction(math.ceil(cost * _UNIT), _UNIT)


def minus(total: Amount, cost: Amount) -> Amount:
    """A total without one of its terms; what is infinite stays so."""
    return total - cost if isinstance(total, Fraction) and isinstance(cost, Fraction) else math.inf


def times(count: int, cost: Amount) -> Amount:
    """Several of one cost."""
    return count * cost if count else NONE


def written(amount: Amount) -> str:
    """An amount as text: 1/3, 2 or inf."""
    return str(amount)


def read(text: Any) -> Amount:
    """What `written` wrote."""
    if text == "inf":
        return math.inf
    if not isinstance(text, str) or not _WRITTEN.fullmatch(text):
        raise ArgumentError("amount", str(text)[:40], "a fraction such as '1/3', or 'inf'")
    return Fraction(text)


def short(amount: Amount, digits: int = 4, *, down: bool = False) -> str:
    """A few digits, rounded up, for people; `down` for what is left.

    >>> short(Fraction(1, 3)), short(Fraction(1, 10)), short(Fraction(0))
    ('0.3334', '0.1', '0')
    """
    if not isinstance(amount, Fraction):
        return "infinity"
    if not amount:
        return "0"
    places = digits - 1 - _magnitude(amount)
    unit = Fraction(10) ** -places
    count = (math.floor if down else math.ceil)(amount / unit)
    return f"{float(count * unit):.{digits}g}" if abs(places) < _FLOATS else f"{count}e{-places}"


def _magnitude(amount: Fraction) -> int:
    """The power of ten of the first digit."""
    power = len(str(amount.numerator)) - len(str(amount.denominator))
    return power if amount >= Fraction(10) ** power else power - 1
