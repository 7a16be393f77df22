"""Several tables of counts in one sum: each record counts one in each of them.

This is the mean embedding of a product kernel: a kernel that is 1 where two records agree in a set of columns
and 0 elsewhere has the cells of that set's table as its features, and a sum of such kernels has all tables
together. A record is a vector of as many ones as there are tables, so κ² is their number, exactly.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Annotated, Any

import numpy as np
import numpy.typing as npt

from indistinct.data.queries.intervals import Values
from indistinct.data.queries.query import Query
from indistinct.data.records.domain import (
    MOST_CELLS,
    Bins,
    Categories,
    GivenMissing,
    GivenOutside,
    GivenTimes,
    Missing,
    Outside,
)
from indistinct.data.records.encoding import (
    ABOVE,
    BELOW,
    MISSING,
    Encoding,
    Integers,
    check_distinct,
    places_in,
    refuse_outside,
    settle,
)
from indistinct.data.records.reach import Ball, Norm, Reach
from indistinct.data.records.types import Batch, Column, Kind, Mask, Type
from indistinct.data.records.unit import RECORDS, Unit
from indistinct.description import Described, describable, given
from indistinct.errors import ArgumentError, check_real
from indistinct.numerics.rounding import root_up

Group = tuple[int, ...]


def _rising(argument: str, edges: Any) -> tuple[float, ...]:
    ends = tuple(check_real(argument, edge) for edge in edges)
    rising = all(math.isfinite(end) for end in ends) and all(a < b for a, b in pairwise(ends))
    if len(ends) < 2 or not rising:
        raise ArgumentError(argument, edges, "two finite numbers or more, each above the one before")
    return ends


@describable()
class Intervals(Described):
    """Numbers in cells between declared edges, each without its upper end, the last with it.

    `whole` says that the values are whole numbers; then every cell must hold one.

    >>> Intervals([0, 1, 5000, 100_000], whole=True).labels
    [(0.0, 1.0), (1.0, 5000.0), (5000.0, 100000.0)]
    """

    edges: Annotated[Sequence[float], _rising]
    whole: bool = False
    outside: GivenOutside = Outside.CLIP
    missing: GivenMissing = Missing.DROP
    of: GivenTimes = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "whole", bool(self.whole))
        far = max(map(abs, self.edges)) > 2**53
        if self.whole and (far or any(low > high for low, high in self.integers)):
            raise ArgumentError("edges", self.edges, "edges with a whole number below 2**53 in every cell")

    @property
    def type(self) -> Type:
        return self.of or Kind.NUMBER

    @property
    def size(self) -> int:
        return len(self.edges) - 1

    @property
    def labels(self) -> list[tuple[float, float]]:
        return list(pairwise(self.edges))

    @property
    def integers(self) -> list[tuple[int, int]]:
        """The first and the last whole number of each cell."""
        ends = [(math.ceil(low), math.ceil(high) - 1) for low, high in self.labels]
        return [*ends[:-1], (ends[-1][0], math.floor(self.edges[-1]))]


@describable()
class OrMissing(Described):
    """A domain with one cell more, for missing values: that a value is missing is kept, not refused.

    >>> OrMissing(Categories(["no", "yes"])).size
    3
    """

    domain: Annotated[
        Bins | Categories | Intervals,
        given(Bins | Categories | Intervals, "Bins(...), Categories(...) or Intervals(...)"),
    ]
    missing = None

    @property
    def type(self) -> Type:
        return self.domain.type

    @property
    def outside(self) -> Outside:
        return self.domain.outside

    @property
    def size(self) -> int:
        return self.domain.size + 1

    @property
    def labels(self) -> list[Any]:
        return [*self.domain.labels, None]


Celled = Bins | Categories | Intervals | OrMissing
"""What the cells of a table can be made of."""


@dataclass(frozen=True)
class Tabulated(Encoding):
    """Each record counts one in each table; a table is a group of axes, its cells ordered as in C."""

    axes: tuple[tuple[str, Celled], ...]
    groups: tuple[Group, ...]
    counts = False
    step = 1.0

    def __post_init__(self) -> None:
        for name, domain in self.axes:
            if not isinstance(domain, Bins | Categories | Intervals | OrMissing):
                allowed = "Bins(...), Categories(...), Intervals(...) or OrMissing(...)"
                raise ArgumentError(f"domain of {name!r}", domain, allowed)
        check_distinct(self.axes)
        places = range(len(self.axes))
        proper = all(len(set(group)) == len(group) and set(group) <= set(places) for group in self.groups)
        if not self.groups or len(set(self.groups)) < len(self.groups) or not proper:
            raise ArgumentError("groups", self.groups, f"one or more, of different axes of 0 to {places[-1]}")
        if self.size > MOST_CELLS:
            raise ArgumentError("groups", f"{self.size} cells", f"at most {MOST_CELLS} cells together")

    def shape(self, group: Group) -> tuple[int, ...]:
        return tuple(self.axes[axis][1].size for axis in group)

    @property
    def sizes(self) -> list[int]:
        return [math.prod(self.shape(group)) for group in self.groups]

    @property
    def size(self) -> int:  # type: ignore[override]
        return sum(self.sizes)

    @property
    def reach(self) -> Reach:
        return Ball(Norm.L2, root_up(Fraction(len(self.groups))), self.size, nonnegative=True)

    def encode(self, batch: Batch) -> tuple[Mask, Integers]:
        keep, places = self._places(batch)
        rows = np.zeros((len(places), self.size), dtype=np.int64)
        start = 0
        for group, size in zip(self.groups, self.sizes, strict=True):
            rows[np.arange(len(places)), start + self._cells(places, group)] = 1
            start += size
        return keep, rows

    def add_up(self, batch: Batch) -> npt.NDArray[Any]:
        _, places = self._places(batch)
        tables = [
            np.bincount(self._cells(places, group), minlength=size)
            for group, size in zip(self.groups, self.sizes, strict=True)
        ]
        return np.concatenate(tables)

    def _cells(self, places: Integers, group: Group) -> Integers:
        cells = np.zeros(len(places), dtype=np.int64)
        for axis, size in zip(group, self.shape(group), strict=True):
            cells = cells * size + places[:, axis]
        return cells

    def _places(self, batch: Batch) -> tuple[Mask, Integers]:
        """Which records are kept; of these, the cell along each axis."""
        keep = np.ones(batch.rows, dtype=bool)
        parts = [settled_places(batch[name], name, domain, keep) for name, domain in self.axes]
        return keep, np.stack(parts, axis=1)[keep]


def settled_places(column: Column, name: str, domain: Celled, keep: Mask) -> Integers:
    """The cell of each record, by the policies of the domain; what is left out is crossed off `keep`."""
    own = inner(domain)
    places = _between(column, own) if isinstance(own, Intervals) else places_in(column, own)
    absent, places = places == MISSING, np.array(places)
    if isinstance(domain, OrMissing):
        places[absent] = domain.size - 1
    else:
        settle(name, absent, domain.missing, keep, ", or OrMissing(...) to keep them")
    refuse_outside(name, (places == BELOW) | (places == ABOVE), own.outside, keep)
    return np.where(places == ABOVE, own.size - 1, np.maximum(places, 0))


def _between(column: Column, domain: Intervals) -> Integers:
    edges = np.array(domain.edges)
    numbers = np.where(column.missing, edges[0], column.numbers())
    places = np.minimum(np.searchsorted(edges, numbers, side="right") - 1, domain.size - 1).astype(np.int64)
    places = np.where(numbers > edges[-1], ABOVE, np.where(numbers < edges[0], BELOW, places))
    return np.where(column.missing, MISSING, places)


def inner(domain: Celled) -> Bins | Categories | Intervals:
    """The domain without its cell for missing values."""
    return domain.domain if isinstance(domain, OrMissing) else domain


def kind_of(domain: Celled) -> Kind:
    """What a column of such cells holds."""
    own = inner(domain)
    if isinstance(own, Categories):
        return own.type
    return Kind.INTEGER if isinstance(own, Intervals) and own.whole else Kind.NUMBER


@describable()
class Tables(Query):
    """Counts by several groups of columns at once; the answer has one table for each group.

    >>> axes = {"age": Intervals([0, 18, 65, 120]), "smokes": Categories(["no", "yes"])}
    >>> query = Tables(axes, [("age",), ("age", "smokes")])
    >>> query.size, query.gaussian(scale=4).guarantee().epsilon(delta=1e-6)  # two tables: √2
    (9, 1.54363)
    """

    by_group = False
    axes: tuple[tuple[str, Celled], ...]
    groups: tuple[tuple[str, ...], ...]
    unit: Unit

    def __init__(
        self, axes: Mapping[str, Celled], groups: Sequence[Sequence[str]], unit: Unit = RECORDS
    ) -> None:
        if unknown := {name for group in groups for name in group} - set(dict(axes)):
            raise ArgumentError("groups", sorted(unknown), f"groups of {', '.join(dict(axes))}")
        self._declare(axes=tuple(dict(axes).items()), groups=tuple(map(tuple, groups)), unit=unit)

    @property
    def encoding(self) -> Tabulated:
        places = {name: place for place, (name, _) in enumerate(self.axes)}
        groups = tuple(tuple(places[name] for name in group) for group in self.groups)
        return Tabulated(self.axes, groups)

    def read(self, values: Values) -> Any:
        encoding, tables, start = self.encoding, {}, 0
        for names, group, size in zip(self.groups, encoding.groups, encoding.sizes, strict=True):
            tables[names] = values[start : start + size].reshape(encoding.shape(group))
            start += size
        return tables
