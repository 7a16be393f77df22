"""The bounded sum: the one thing that is ever computed from records.

A sum over records of integer vectors with a proven bound. Counts, histograms, sums, means and trees of
intervals are all bounded sums, so clipping, contribution limits and sensitivity exist once, and nothing
else in the package reads a record (a test enforces it).
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from indistinct.adjacency import Adjacency, check_adjacency
from indistinct.data.records.domain import Missing
from indistinct.data.records.encoding import Encoding, Integers, clip_norms
from indistinct.data.records.reach import Ball, Norm, Reach, sensitivity
from indistinct.data.records.types import Batch, Type, slices
from indistinct.data.records.unit import (
    RECORDS,
    Records,
    Unit,
    UserRecords,
    UserTotals,
    chosen,
    owners_of,
    records_of,
    run_starts,
)
from indistinct.description import one_of
from indistinct.errors import ArgumentError, DataError
from indistinct.numerics.rounding import rounded_up

_AT_ONCE = 2**24
"""Numbers that records become before they are added: 128 MiB."""
_USER_COUNT_STEP = 2.0**-20
"""Counts of a user that are scaled down become fractions."""


@dataclass(frozen=True, eq=False)
class Totals:
    """An exact sum, before noise: `units` are integers (Python's own, where 64 bits do not hold them) and
    `values` their multiples of `step`.

    It is private. Its representation does not show it; hand it to a mechanism.
    """

    units: npt.NDArray[Any] = field(repr=False)
    step: float

    @property
    def values(self) -> npt.NDArray[np.float64]:
        return self.units.astype(np.float64) * self.step


@dataclass(frozen=True)
class BoundedSum:
    """Adds up what `encoding` makes of each record, `unit` by unit."""

    encoding: Encoding
    unit: Unit = RECORDS

    def __post_init__(self) -> None:
        if not isinstance(self.unit, Records | UserRecords | UserTotals):
            raise ArgumentError("unit", self.unit, "Records(), UserRecords(...) or UserTotals(...)")
        # Which records of a user are chosen, and how their total is cut, must not depend on other users.
        if not isinstance(self.unit, Records) and self.encoding.wobbles:
            allowed = "Records(): the rounding of these features may depend on records of other users"
            raise ArgumentError("unit", self.unit, allowed)
        if isinstance(self.unit, UserTotals) and not 2**10 <= self.unit.bound / self.step <= 2**52:
            low, high = 2**10 * self.step, 2**52 * self.step
            raise ArgumentError("bound", self.unit.bound, f"between {low} and {high}, for this sum's step")

    @property
    def step(self) -> float:
        """What one unit of the result stands for: a power of two."""
        scaled_counts = self.encoding.counts and isinstance(self.unit, UserTotals)
        return _USER_COUNT_STEP if scaled_counts else self.encoding.step

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that are read."""
        unit = (self.unit.column,) if self.unit.column is not None else ()
        return tuple(dict.fromkeys((*self.encoding.types, *unit)))

    def sensitivity(self, norm: Norm, adjacency: Adjacency | str = Adjacency.ADD_REMOVE) -> float:
        """How far the sum moves when a unit is added or removed, or replaced: never less.

        >>> from indistinct.data import Boxed, Missing, Numbers
        >>> ages = BoundedSum(Boxed((("age", Numbers(18, 100, missing=Missing.ERROR)),)))
        >>> ages.sensitivity(Norm.L1), ages.sensitivity(Norm.L1, Adjacency.REPLACE_ONE)
        (100.0, 82.0)
        """
        adjacency, norm = check_adjacency(adjacency), one_of(Norm)("norm", norm)
        units = sensitivity(self._reach(), norm, adjacency, records_of(self.unit), self._groups())
        return rounded_up(Fraction(units) * Fraction(self.step))

    def _reach(self) -> Reach:
        reach = self.encoding.reach
        if isinstance(self.unit, UserTotals):
            return Ball(self.unit.norm, self.limit(), self.encoding.size, nonnegative=self.encoding.counts)
        # A user may have no records and a record may be left out: both contribute nothing.
        if isinstance(self.unit, UserRecords) or self.encoding.drops:
            return reach.with_zero()
        return reach

    def _groups(self) -> int:
        """In how many groups a unit can be with all its copies."""
        most = self.unit.groups if isinstance(self.unit, UserRecords) else None
        return 1 if most is None else min(most, self.encoding.group_count)

    def limit(self) -> int:
        """The bound on a user's total, in steps."""
        return math.floor(self.unit.bound / self.step) if isinstance(self.unit, UserTotals) else 0


class Fold:
    """A bounded sum in progress: batches in, integers out. Partial folds of disjoint units add up.

    Where the unit is a user, batches come in the order of users (numbers, or texts by their bytes), so that
    the records of one user lie together; a user who comes back is refused. A user cut by the end of a batch
    is held back until the next one has come.
    """

    def __init__(self, bounded: BoundedSum) -> None:
        self.sum = bounded
        self.records = 0
        # Python's integers do not overflow; counts cannot, and there may be many of them.
        kind = np.int64 if bounded.encoding.counts else object
        self.totals = np.zeros(bounded.encoding.size, dtype=kind)
        self._held: list[tuple[npt.NDArray[np.generic], Integers]] = []
        self._last: Any = None

    @np.errstate(all="ignore")  # what floating point says, as it was set, would be about a record
    def add(self, batch: Batch) -> None:
        self.records += batch.rows
        if not batch.rows:
            return
        encoding, unit = self.sum.encoding, self.sum.unit
        if unit.column is None and (total := encoding.add_up(batch)) is not None:
            self.totals += total
            return
        rows_at_once = max(_AT_ONCE // encoding.width, 1)
        for part in slices(batch.rows, rows_at_once):
            self._add(batch.take(part))

    def _add(self, batch: Batch) -> None:
        unit = self.sum.unit
        if isinstance(unit, Records):
            self._count(self.sum.encoding.encode(batch)[1])
            return
        assert batch.users is not None
        if (nobody := batch.users.missing).any():
            if unit.missing is Missing.ERROR:
                raise DataError(f"the unit column {unit.column!r} has missing values")
            batch = batch.take(np.flatnonzero(~nobody))
        assert batch.users is not None
        keep, rows = self.sum.encoding.encode(batch)
        users = batch.users.plain()
        self._add_users(users if keep.all() else users[keep], rows)

    def add_groups(self, groups: Integers, vectors: npt.NDArray[Any], records: int) -> None:
        """Vectors that an engine has added up already, and the groups that they belong to."""
        self.records += records
        np.add.at(self.totals.reshape(-1, vectors.shape[1]), groups, vectors)

    @np.errstate(all="ignore")
    def finish(self) -> npt.NDArray[np.generic]:
        """The totals, once all batches are in."""
        if self._held:
            self._settle(*zip(*self._held, strict=True))
            self._held = []
        return self.totals

    def _add_users(self, users: npt.NDArray[np.generic], rows: Integers) -> None:
        if not len(users):
            return
        starts = run_starts(users)
        self._check_order(users[starts])
        last = int(starts[-1])
        goes_on = last == 0 and bool(self._held) and self._held[-1][0][-1] == users[0]
        if not goes_on:
            complete = [*self._held, (users[:last], rows[:last])]
            self._settle(*zip(*complete, strict=True))
            self._held = []
        self._held.append((users[last:], rows[last:]))

    def _check_order(self, users: npt.NDArray[Any]) -> None:
        back = bool((users[1:] <= users[:-1]).any()) or (self._last is not None and users[0] < self._last)
        if back:
            raise DataError("the records of a user do not lie together: the engine sorted by something else")
        self._last = users[-1]

    def _settle(self, users: tuple[npt.NDArray[np.generic], ...], rows: tuple[Integers, ...]) -> None:
        """Adds users that are complete."""
        who, what = np.concatenate(users), np.concatenate(rows)
        if not len(who):
            return
        if isinstance(self.sum.unit, UserRecords):
            encoding = self.sum.encoding
            self._count(chosen(self.sum.unit, who, what, encoding.content(what), encoding.split(what)[0]))
        elif isinstance(self.sum.unit, UserTotals):
            self._count_users(self.sum.unit, run_starts(who), what)

    def _count(self, rows: Integers) -> None:
        encoding = self.sum.encoding
        for part in parts(rows, _AT_ONCE if encoding.counts else 2**20):
            total = encoding.total(part)
            self.totals[: len(total)] += total.astype(self.totals.dtype)

    def _count_users(self, unit: UserTotals, starts: npt.NDArray[np.intp], rows: Integers) -> None:
        limit, encoding = self.sum.limit(), self.sum.encoding
        owner = owners_of(starts, len(rows))
        if encoding.counts:
            size = encoding.size
            visits, counts = np.unique(owner * size + rows[:, 0], return_counts=True)
            clipped = clip_norms(counts / self.sum.step, visits // size, len(starts), unit.norm, limit)
            np.add.at(self.totals, visits % size, clipped)
            return
        groups, vectors = encoding.split(rows)
        visits = owner * encoding.group_count + groups
        if encoding.group_count > 1:  # else they are in order already
            order = np.argsort(visits, kind="stable")
            visits, vectors = visits[order], vectors[order]
        begins, size = run_starts(visits), vectors.shape[1]
        visits, sums = visits[begins], np.add.reduceat(vectors, begins, axis=0)
        owners = np.repeat(visits // encoding.group_count, size)
        clipped = clip_norms(sums.ravel().astype(np.float64), owners, len(starts), unit.norm, limit)
        for part in slices(len(visits), 2**10):
            totals = np.zeros((encoding.group_count, size), dtype=np.int64)
            np.add.at(totals, visits[part] % encoding.group_count, clipped.reshape(-1, size)[part])
            self.totals += totals.ravel().astype(object)


class Folds:
    """Several sums in progress over the same records, in one pass."""

    def __init__(self, sums: Sequence[BoundedSum]) -> None:
        self.sums = tuple(sums)
        self.folds = [Fold(bounded) for bounded in sums]

    @staticmethod
    def passes(sums: Sequence[BoundedSum]) -> "list[Folds]":
        """As few as can be: sums that read a column as different types, or by different users, do not go
        together."""
        together: list[list[BoundedSum]] = []
        for bounded in sums:
            for group in together:
                if _agree([*group, bounded]):
                    group.append(bounded)
                    break
            else:
                together.append([bounded])
        return [Folds(group) for group in together]

    @property
    def types(self) -> dict[str, Type]:
        return {name: kind for bounded in self.sums for name, kind in bounded.encoding.types.items()}

    @property
    def user(self) -> str | None:
        return next((bounded.unit.column for bounded in self.sums if bounded.unit.column), None)

    @property
    def size(self) -> int:
        return sum(bounded.encoding.size for bounded in self.sums)

    def add(self, batch: Batch) -> None:
        for fold in self.folds:
            fold.add(batch)

    def join(self, other: "Folds") -> None:
        """Adds what another one has found in other records, of other units."""
        for own, fold in zip(self.folds, other.folds, strict=True):
            own.records += fold.records
            own.totals += fold.finish()


def _agree(sums: Sequence[BoundedSum]) -> bool:
    users = {bounded.unit.column for bounded in sums} - {None}
    read = {(name, kind) for bounded in sums for name, kind in bounded.encoding.types.items()}
    return len(users) <= 1 and len(read) == len({name for name, _ in read})


def parts(rows: Integers, size: int = 2**20) -> Iterator[Integers]:
    """Pieces whose sums stay inside 64 bits."""
    return (rows[start : start + size] for start in range(0, len(rows), size))
