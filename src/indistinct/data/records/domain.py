"""Declared domains: what the values of a column may be, said before the data are looked at.

Which cells a histogram has, or how far one record can move a sum, must not depend on the data. So each
column that is used has a domain, and the domain says what becomes of values that are not in it and of values
that are missing: null, NaN, and whatever cannot be read as the declared type. `CLIP` and `DROP` tell nobody
anything. `ERROR` is for those who own the data: that an error occurs is seen by whoever runs the query.
"""

import itertools
import math
from collections.abc import Sequence
from enum import Enum
from functools import cached_property
from typing import Annotated, Any

import numpy as np
import numpy.typing as npt

from indistinct.data.records.types import Kind, Times, Type
from indistinct.description import Described, PositiveCount, describable, given
from indistinct.errors import ArgumentError, check_real

MOST_CELLS = 2**31
"""Of one histogram in memory."""


@describable()
class Outside(Enum):
    """What becomes of a value outside the declared domain."""

    ERROR = "error"
    CLIP = "clip"
    DROP = "drop"
    LAST = "last"
    """Of categories: it counts as the last of them, which is for all others."""


@describable()
class Missing(Enum):
    """What becomes of a record whose value is null, NaN or not of the declared type."""

    ERROR = "error"
    DROP = "drop"


def _of_numbers(argument: str, value: Any) -> Outside:
    if not isinstance(value, Outside) or value is Outside.LAST:
        raise ArgumentError(argument, value, "Outside.ERROR, Outside.CLIP or Outside.DROP")
    return value


GivenOutside = Annotated[Outside, _of_numbers]
GivenMissing = Annotated[Missing, given(Missing, "Missing.ERROR or Missing.DROP")]
GivenTimes = Annotated[Times | None, given(Times | None, "Times(...), or None for numbers")]
"""Types of fields: what becomes of values, and how times become numbers."""
_Real = Annotated[float, check_real]


@describable()
class Numbers(Described):
    """Numbers from `low` to `high`; others are moved to the nearer end unless told otherwise.

    >>> Numbers(0, 120, Outside.ERROR)
    Numbers(0.0, 120.0, outside=Outside.ERROR)
    """

    low: _Real
    high: _Real
    outside: GivenOutside = Outside.CLIP
    missing: GivenMissing = Missing.DROP
    of: GivenTimes = None
    """For dates and times: how they become numbers."""

    def __post_init__(self) -> None:
        _check_interval(self, equal=True)

    @property
    def type(self) -> Type:
        return self.of or Kind.NUMBER


@describable()
class Bins(Described):
    """`count` equal intervals from `low` to `high`, each without its upper end, the last with it.

    The bin of x is floor((x - low) / width) in double precision, which is the same on every engine; `edges`
    are where that changes, up to rounding.

    >>> Bins(0, 1, count=4).edges
    array([0.  , 0.25, 0.5 , 0.75, 1.  ])
    """

    low: _Real
    high: _Real
    count: PositiveCount
    outside: GivenOutside = Outside.CLIP
    missing: GivenMissing = Missing.DROP
    of: GivenTimes = None
    """For dates and times: how they become numbers."""

    def __post_init__(self) -> None:
        _check_interval(self, equal=False)
        # A bin must be wider than the rounding of numbers near its ends.
        furthest = max(abs(self.low), abs(self.high))
        if self.count > MOST_CELLS or not 8 * math.ulp(furthest) <= self.width < math.inf:
            allowed = "few enough for the ends of the bins to be distinct numbers"
            raise ArgumentError("count", self.count, allowed)

    @property
    def type(self) -> Type:
        return self.of or Kind.NUMBER

    @property
    def width(self) -> float:
        return (self.high - self.low) / self.count

    @property
    def edges(self) -> npt.NDArray[np.float64]:
        edges: npt.NDArray[np.float64] = self.low + np.arange(self.count + 1, dtype=np.float64) * self.width
        edges[-1] = self.high
        return edges

    @property
    def size(self) -> int:
        return self.count

    @property
    def labels(self) -> list[tuple[float, float]]:
        edges = self.edges.tolist()
        return list(itertools.pairwise(edges))


def _distinct(argument: str, values: Any) -> tuple[Any, ...]:
    """The values of a list of categories, as Python's own."""
    plain = tuple(value.item() if isinstance(value, np.generic) else value for value in values)
    kinds = {type(value) for value in plain}
    alike = len(kinds) == 1 and kinds <= {str, int, bool} and not isinstance(values, str | bytes)
    short = kinds != {int} or (-(2**63) <= min(plain) and max(plain) < 2**63)
    if not alike or not short or len(set(plain)) != len(plain):
        allowed = "distinct texts, or distinct 64-bit integers, or truth values"
        raise ArgumentError(argument, values, allowed)
    return plain


@describable()
class Categories(Described):
    """A list of texts, integers or truth values; others are left out, or an error.

    >>> Categories(["no", "yes"]).size
    2
    """

    values: Annotated[Sequence[Any], _distinct]
    outside: Annotated[Outside, given(Outside, "Outside.ERROR, Outside.DROP or Outside.LAST")] = Outside.DROP
    missing: GivenMissing = Missing.DROP

    def __post_init__(self) -> None:
        if self.outside is Outside.CLIP:
            allowed = "Outside.ERROR, Outside.DROP or Outside.LAST: categories have no ends"
            raise ArgumentError("outside", self.outside, allowed)

    @property
    def type(self) -> Kind:
        return {str: Kind.TEXT, int: Kind.INTEGER, bool: Kind.TRUTH}[type(self.values[0])]

    @property
    def size(self) -> int:
        return len(self.values)

    @property
    def labels(self) -> list[Any]:
        return list(self.values)

    @cached_property
    def places(self) -> dict[Any, int]:
        return {value: place for place, value in enumerate(self.values)}


Domain = Bins | Categories
"""What the cells of a histogram can be made of."""


def found_categories(most: int, values: Sequence[str] | None = None) -> Categories:
    """Categories that a release of heavy hitters has found, up to so many of them, and one more for all other
    values. Without values: as many cells as there may be, for whatever must be known before.

    >>> found_categories(2, ["yes", "no", "perhaps"]).values
    ('yes', 'no', 'all others')
    """
    listed = [f"found {place}" for place in range(1, most + 1)] if values is None else list(values[:most])
    others = "all others"
    while others in listed:
        others = f"({others})"
    return Categories([*listed, others], Outside.LAST)


def _check_interval(domain: Numbers | Bins, *, equal: bool) -> None:
    low, high = domain.low, domain.high
    if not math.isfinite(low) or not math.isfinite(high) or low > high or (low == high and not equal):
        raise ArgumentError("high", high, f"a finite number above low={low!r}")
