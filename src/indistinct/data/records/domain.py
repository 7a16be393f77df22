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
from typing import Any

import numpy as np
import numpy.typing as npt

from indistinct.data.records.types import Kind, Times, Type
from indistinct.description import Described, describable
from indistinct.errors import ArgumentError, check_count, check_real

MOST_CELLS = 2**31
"""Of one histogram in memory."""


@describable()
class Outside(Enum):
    """What becomes of a value outside the declared domain."""

    ERROR = "error"
    CLIP = "clip"
    DROP = "drop"


@describable()
class Missing(Enum):
    """What becomes of a record whose value is null, NaN or not of the declared type."""

    ERROR = "error"
    DROP = "drop"


@describable()
class Numbers(Described):
    """Numbers from `low` to `high`; others are moved to the nearer end unless told otherwise.

    >>> Numbers(0, 120, Outside.ERROR)
    Numbers(0.0, 120.0, outside=Outside.ERROR)
    """

    low: float
    high: float
    outside: Outside = Outside.CLIP
    missing: Missing = Missing.DROP
    of: Times | None = None
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

    low: float
    high: float
    count: int
    outside: Outside = Outside.CLIP
    missing: Missing = Missing.DROP
    of: Times | None = None
    """For dates and times: how they become numbers."""

    def __post_init__(self) -> None:
        _check_interval(self, equal=False)
        count = check_count("count", self.count, least=1)
        object.__setattr__(self, "count", count)
        # A bin must be wider than the rounding of numbers near its ends.
        furthest = max(abs(self.low), abs(self.high))
        if count > MOST_CELLS or not 8 * math.ulp(furthest) <= self.width < math.inf:
            raise ArgumentError("count", count, "few enough for the ends of the bins to be distinct numbers")

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


@describable()
class Categories(Described):
    """A list of texts, integers or truth values; others are left out, or an error.

    >>> Categories(["no", "yes"]).size
    2
    """

    values: tuple[Any, ...]
    outside: Outside = Outside.DROP
    missing: Missing = Missing.DROP

    def __init__(
        self,
        values: Sequence[Any],
        *,
        outside: Outside = Outside.DROP,
        missing: Missing = Missing.DROP,
    ) -> None:
        allowed = "distinct texts, or distinct 64-bit integers, or truth values"
        if isinstance(values, str | bytes):
            raise ArgumentError("values", values, allowed)
        plain = tuple(value.item() if isinstance(value, np.generic) else value for value in values)
        kinds = {type(value) for value in plain}
        if len(kinds) != 1 or not kinds <= {str, int, bool} or len(set(plain)) != len(plain):
            raise ArgumentError("values", values, allowed)
        if kinds == {int} and not (-(2**63) <= min(plain) and max(plain) < 2**63):
            raise ArgumentError("values", values, allowed)
        check_policies(outside, missing)
        if outside is Outside.CLIP:
            raise ArgumentError("outside", outside, "Outside.ERROR or Outside.DROP: categories have no ends")
        object.__setattr__(self, "values", plain)
        object.__setattr__(self, "outside", outside)
        object.__setattr__(self, "missing", missing)

    @property
    def type(self) -> Type:
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


def _check_interval(domain: Numbers | Bins, *, equal: bool) -> None:
    low, high = check_real("low", domain.low), check_real("high", domain.high)
    if not math.isfinite(low) or not math.isfinite(high) or low > high or (low == high and not equal):
        raise ArgumentError("high", domain.high, f"a finite number above low={domain.low!r}")
    object.__setattr__(domain, "low", low)
    object.__setattr__(domain, "high", high)
    check_policies(domain.outside, domain.missing)
    check_times(domain.of)


def check_policies(outside: object, missing: object) -> None:
    """Refuse what is no policy for values outside and for missing ones."""
    if not isinstance(outside, Outside):
        raise ArgumentError("outside", outside, "Outside.ERROR, Outside.CLIP or Outside.DROP")
    if not isinstance(missing, Missing):
        raise ArgumentError("missing", missing, "Missing.ERROR or Missing.DROP")


def check_times(of: object) -> None:
    """Refuse what does not say how times become numbers."""
    if of is not None and not isinstance(of, Times):
        raise ArgumentError("of", of, "Times(...), or None for numbers")
