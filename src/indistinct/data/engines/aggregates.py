"""Sums that an engine makes by itself: counts and sums of numbers by group, in one GROUP BY for several
queries.

What is added up are the integers that the kernel would add up, so the bits are the same. What an engine
cannot do so (values that are not of the declared type, policies that refuse records) goes through the kernel.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy.typing as npt

from indistinct.data.records.bounded_sum import BoundedSum, Fold
from indistinct.data.records.domain import Domain, Numbers
from indistinct.data.records.encoding import Cells, Encoding, Integers, OfNumber
from indistinct.data.records.grouped import ByGroup

Number = tuple[str, Numbers]
_MOST_GROUPS = 2**17
"""Of one GROUP BY for several queries; one query alone may have more."""


@dataclass(frozen=True)
class Summed:
    """Of each group: its place along each axis, how many records there are; and of each number that is added
    up how many are in, their sum and, where it is asked for, that of their squares (`NumberMoments.squared`).
    """

    places: list[Integers]
    records: Integers
    sums: list[tuple[npt.NDArray[Any], ...]]


@dataclass
class Aggregate:
    """One GROUP BY, and the sums that follow from it."""

    sums: list[BoundedSum] = field(default_factory=list)
    axes: dict[str, Domain] = field(default_factory=dict)
    numbers: dict[Number, bool] = field(default_factory=dict)
    """Those that are added up, and whether their squares are, too."""

    def takes(self, bounded: BoundedSum) -> bool:
        """Whether it could be one of these; then it is."""
        keys, added = asked(bounded.encoding)
        axes = {**self.axes, **dict(keys.axes)}
        alike = all(self.axes.get(name, domain) == domain for name, domain in keys.axes)
        if self.sums and (not alike or math.prod(one.size + 3 for one in axes.values()) > _MOST_GROUPS):
            return False
        self.sums.append(bounded)
        self.axes = axes
        if added is not None:
            self.numbers[added.number] = added.size == 3 or self.numbers.get(added.number, False)
        return True

    def read(self, found: Iterator[Summed]) -> list[Fold]:
        """The sums from what the engine has found."""
        folds = [Fold(bounded) for bounded in self.sums]
        names, numbers = list(self.axes), list(self.numbers)
        for part in found:
            for fold in folds:
                keys, added = asked(fold.sum.encoding)
                places = [part.places[names.index(name)] for name, _ in keys.axes]
                keep, groups = keys.cells_at(places, len(part.records))
                if added is None:
                    vectors = part.records[:, None]
                else:
                    vectors = added.from_sums(*part.sums[numbers.index(added.number)])
                fold.add_groups(groups[:, 0], vectors[keep], int(part.records.sum()))
        return folds


def aggregates(sums: Sequence[BoundedSum]) -> list[Aggregate]:
    """As few as can be."""
    found: list[Aggregate] = []
    for bounded in sums:
        if not any(one.takes(bounded) for one in found):
            found.append(one := Aggregate())
            one.takes(bounded)
    return found


def simple(bounded: BoundedSum) -> bool:
    """Whether it is made of counts by declared cells, or of sums of a number by these."""
    encoding = bounded.encoding
    return bounded.unit.column is None and (encoding.cells is not None or encoding.of_number is not None)


def asked(encoding: Encoding) -> tuple[Cells, OfNumber | None]:
    """What is grouped by, and what is made of a number that is added up."""
    if encoding.cells is not None:
        return encoding.cells, None
    return encoding.keys if isinstance(encoding, ByGroup) else Cells(()), encoding.of_number
