"""What declarations hide: how many records lie outside a declared domain, and how many users have more
records than take part. From the same budget as everything else, so that a clipped mean can be seen to be
one."""

from abc import ABC, abstractmethod
from dataclasses import dataclass, fields
from typing import Annotated, Any

import numpy as np
import numpy.typing as npt

from indistinct.adjacency import Adjacency, check_adjacency
from indistinct.data.engines.source import table
from indistinct.data.queries.intervals import Estimates, Values, farthest
from indistinct.data.queries.query import NoisyQuery, Query
from indistinct.data.records.bounded_sum import BoundedSum, Totals
from indistinct.data.records.domain import Bins, Categories, Numbers
from indistinct.data.records.encoding import BELOW, MISSING, Cells, Encoding, Integers, places_in
from indistinct.data.records.reach import Ball, Norm, Reach, sensitivity
from indistinct.data.records.types import Batch, Mask
from indistinct.data.records.unit import RECORDS, Unit, UserRecords
from indistinct.description import PositiveCount, describable, given, one_of
from indistinct.errors import ArgumentError

_COLUMNS = tuple(one.name for one in fields(Estimates))
Declared = Numbers | Bins | Categories


@dataclass(frozen=True)
class Sides(Encoding):
    """Each record counts one: inside the domain of its column, below, above, or where its value is missing.
    What the domain says of such records does not matter here: all of them count."""

    column: str
    domain: Declared
    counts = True
    step = 1.0

    @property
    def declared(self) -> tuple[tuple[str, Declared], ...]:
        return ((self.column, self.domain),)

    @property
    def names(self) -> tuple[str, ...]:
        """What the numbers are numbers of."""
        if isinstance(self.domain, Categories):
            return ("listed", "not listed", "missing")
        return ("inside", "below", "above", "missing")

    @property
    def size(self) -> int:  # type: ignore[override]
        return len(self.names)

    @property
    def drops(self) -> bool:
        return False

    @property
    def reach(self) -> Reach:
        return Ball(Norm.L1, 1.0, self.size, nonnegative=True)

    def encode(self, batch: Batch) -> tuple[Mask, Integers]:
        column, domain = batch[self.column], self.domain
        if isinstance(domain, Categories):
            places = places_in(column, Categories(domain.values))
            sides = np.where(places == MISSING, 2, places == BELOW)
        else:
            numbers = np.where(column.missing, domain.low, column.numbers())
            sides = np.where(numbers > domain.high, 2, numbers < domain.low)
            sides = np.where(column.missing, 3, sides)
        return np.ones(batch.rows, dtype=bool), sides.astype(np.int64)[:, None]


class Parts(Query, ABC):
    """Numbers in one of which each unit counts one: parts of a whole."""

    @property
    @abstractmethod
    def names(self) -> tuple[str, ...]:
        """What each number is about."""

    def estimate(self, values: Values, noisy: NoisyQuery) -> Estimates:
        """Of each name the number, and its share in the sum of all, along the last axis."""
        width = noisy.width(np.ones(1))
        low, high = np.maximum(values - width, 0.0), np.maximum(values + width, 0.0)
        both = (Estimates(np.clip(values, low, high), noisy.deviation, low, high), shares(values, noisy))
        return Estimates(*(np.stack([getattr(one, name) for one in both], -1) for name in _COLUMNS))


def shares(values: Values, noisy: NoisyQuery) -> Estimates:
    """The share of each number in the sum of all, along the last axis. In an interval are the shares p for
    which (number) - p (sum) may be noise alone."""
    total, size = values.sum(axis=-1, keepdims=True), values.shape[-1]

    def coefficients(p: Values) -> Values:
        """Of the number itself and of all others."""
        return np.stack([1 - p, *[-p] * (size - 1)], axis=-1)

    def refused(p: Values) -> npt.NDArray[np.bool_]:
        return np.asarray(np.abs(values - p * total) > noisy.width(coefficients(p)))

    some = np.maximum(total, 1.0)
    best = np.clip(values / some, 0.0, 1.0)
    error = np.minimum(noisy.deviation * np.linalg.norm(coefficients(best), axis=-1) / some, 1.0)
    return Estimates(best, error, farthest(refused, best, 0.0), farthest(refused, best, 1.0))


@describable()
class OutsideDomain(Parts):
    """How many records are inside the domain of a column, below, above, and how many have no value; of
    categories, how many are listed, are not, and have no value.

    >>> OutsideDomain("income", Numbers(0, 20_000)).statistic({"income": [5, 30_000, None, -1, 70_000]}).units
    array([1, 1, 2, 1])
    """

    column: str
    domain: Annotated[Declared, given(Declared, "Numbers(...), Bins(...) or Categories(...)")]
    unit: Unit = RECORDS

    @property
    def encoding(self) -> Sides:
        return Sides(self.column, self.domain)

    @property
    def names(self) -> tuple[str, ...]:
        return self.encoding.names


@describable()
class UsersOver(Parts):
    """How many users have at most `most` records, and how many have more. `column` says whose a record is.

    With S(k) the sum over users of min(their records, k), which is a bounded sum, there are S(1) users, and
    S(most + 1) - S(most) of them have more. A user counts in one of the two numbers, whatever these sums are
    bounded by.

    >>> UsersOver("person", 2).statistic({"person": [1, 1, 1, 2, 3, 3]}).units
    array([2, 1])
    """

    column: str
    most: PositiveCount

    @property
    def unit(self) -> UserRecords:  # type: ignore[override]
        return UserRecords(self.column, self.most + 1)

    @property
    def encoding(self) -> Cells:
        return Cells(())

    @property
    def names(self) -> tuple[str, ...]:
        return ("within", "over")

    @property
    def size(self) -> int:
        return 2

    def sensitivity(self, norm: Norm, adjacency: Adjacency | str = Adjacency.ADD_REMOVE) -> float:
        one_cell = Ball(Norm.L1, 1.0, 2, nonnegative=True)
        return sensitivity(one_cell, one_of(Norm)("norm", norm), check_adjacency(adjacency), 1)

    def moved(self, norm: Norm, distance: float) -> float:
        raise ArgumentError("query", "users over a limit", "asked without groups: a user may be in several")

    @property
    def sums(self) -> tuple[BoundedSum, ...]:
        """S(1), S(most) and S(most + 1)."""
        bounds = (1, self.most, self.most + 1)
        return tuple(BoundedSum(self.encoding, UserRecords(self.column, bound)) for bound in bounds)

    def statistic(self, data: Any) -> Totals:
        source = table(data)
        users, within, more = (int(source.total(one).units[0]) for one in self.sums)
        return Totals(np.array([users - (more - within), more - within], dtype=np.int64), 1.0)
