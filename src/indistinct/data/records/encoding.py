"""From a record to a vector of integers with a proven bound.

The vector lives on a lattice: integers times `step`, a power of two. Sums of integers are exact and do not
depend on the order of adding, so every engine arrives at the same bits; and a bound on integers, unlike one
on rounded floating-point numbers, is a proof.
"""

import hashlib
import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from indistinct.data.records.domain import MOST_CELLS, Bins, Categories, Domain, Missing, Numbers, Outside
from indistinct.data.records.reach import Ball, Box, GivenNorm, Norm, Reach
from indistinct.data.records.types import Batch, Column, Kind, Mask, Type
from indistinct.description import Positive, checked_fields
from indistinct.errors import ArgumentError, DataError

Integers = npt.NDArray[np.int64]

RESOLUTION = 32
"""Bits between the largest value and the step: 2**31 records still add up in 64 bits."""


class OfNumber(Protocol):
    """Vectors whose sum follows from sums of one number."""

    @property
    def size(self) -> int: ...

    @property
    def number(self) -> "tuple[str, Numbers]":
        """The column that is added up, rounded to the lattice of its domain."""

    def from_sums(self, count: Any, total: Any, squares: Any) -> npt.NDArray[Any]:
        """The sum of the vectors of so many records, from sums of their numbers; a row for each entry."""


class Encoding(ABC):
    """How a record becomes a vector of `size` integers, in units of `step`."""

    axes: tuple[tuple[str, Any], ...]
    size: int
    step: float
    counts: bool
    """Whether a record is one cell, given by its place, rather than a vector of numbers."""
    most: int | None = None
    """How many records there may be, where the reach depends on their number; public."""
    group_count: int = 1
    """Groups of coordinates of which a record is in one."""

    @property
    @abstractmethod
    def reach(self) -> Reach:
        """Where the vectors of records lie, in steps."""

    @property
    def declared(self) -> tuple[tuple[str, Any], ...]:
        """The columns that are read, with their domains."""
        return self.axes

    @property
    def drops(self) -> bool:
        """Whether a record may be left out."""
        return any(d.outside is Outside.DROP or d.missing is Missing.DROP for _, d in self.declared)

    @property
    def wobbles(self) -> bool:
        """Whether the last bits of a record's vector may depend on the records beside it."""
        return False

    @property
    def types(self) -> Mapping[str, Type]:
        """The columns that are read, and as what."""
        return {name: domain.type for name, domain in self.declared}

    @property
    def width(self) -> int:
        """Numbers in a row that `encode` makes."""
        return 1 if self.counts else self.size

    @property
    def cells(self) -> "Cells | None":
        """The cells that are counted, where that is all."""
        return None

    @property
    def of_number(self) -> "OfNumber | None":
        """What is made of one number, where sums of it on its lattice say all."""
        return None

    @abstractmethod
    def encode(self, batch: Batch) -> tuple[Mask, Integers]:
        """Which records are kept; of these, one row each: a cell's place or a vector."""

    def content(self, rows: Integers) -> Integers:
        """What tells the records of a user from each other, whatever others have: the rows themselves."""
        return rows

    def split(self, rows: Integers) -> tuple[Integers, Integers]:
        """The group of each row, and its cell or its vector there."""
        return np.zeros(len(rows), dtype=np.int64), rows

    def total(self, rows: Integers) -> npt.NDArray[Any]:
        """The sum of at most 2**20 rows; without its last cells, where these are empty."""
        if self.counts:
            return np.bincount(rows[:, 0])
        summed: npt.NDArray[Any] = rows.sum(axis=0)
        return summed

    def add_up(self, batch: Batch) -> npt.NDArray[Any] | None:
        """The sum of the vectors of a batch, where that takes less than all of them one by one."""
        return None


@dataclass(frozen=True)
class Cells(Encoding):
    """Each record counts one in the cell that its columns name; cells are ordered as in C."""

    axes: tuple[tuple[str, Domain], ...]
    from_records: bool = False
    """Whether the categories were found in the records: then a place says how many others come before it."""
    counts = True
    step = 1.0

    def __post_init__(self) -> None:
        for _, domain in self.axes:
            if not isinstance(domain, Bins | Categories):
                raise ArgumentError("domain", domain, "Bins(...) or Categories(...)")
        check_distinct(self.axes)
        if self.size > MOST_CELLS:
            raise ArgumentError("axes", self.shape, f"at most {MOST_CELLS} cells together")

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(domain.size for _, domain in self.axes)

    @property
    def size(self) -> int:  # type: ignore[override]
        return math.prod(self.shape)

    @property
    def reach(self) -> Reach:
        return Ball(Norm.L1, 1.0, self.size, nonnegative=True)

    @property
    def cells(self) -> "Cells":
        return self

    def encode(self, batch: Batch) -> tuple[Mask, Integers]:
        return self.cells_at([places_in(batch[name], domain) for name, domain in self.axes], batch.rows)

    def content(self, rows: Integers) -> Integers:
        if not self.from_records:
            return rows
        return self._digests[rows]

    @cached_property
    def _digests(self) -> Integers:
        ((_, domain),) = self.axes
        assert isinstance(domain, Categories)
        return text_hashes(domain.values).astype(np.int64)

    def cells_at(self, axes: list[Integers], rows: int) -> tuple[Mask, Integers]:
        """Cells from places along each axis, by the policies of the domains."""
        keep, cells = np.ones(rows, dtype=bool), np.zeros(rows, dtype=np.int64)
        for (name, domain), places in zip(self.axes, axes, strict=True):
            settle(name, places == MISSING, domain.missing, keep)
            refuse_outside(name, (places == BELOW) | (places == ABOVE), domain.outside, keep)
            if domain.outside is Outside.CLIP:
                places = np.where(places == ABOVE, domain.size - 1, np.maximum(places, 0))
            cells = cells * domain.size + places
        return keep, (cells if keep.all() else cells[keep])[:, None]


@dataclass(frozen=True)
class Boxed(Encoding):
    """Numbers of several columns, each in its own interval."""

    axes: tuple[tuple[str, Numbers], ...]
    counts = False

    def __post_init__(self) -> None:
        if not self.axes:
            raise ArgumentError("axes", self.axes, "at least one column")
        for _, numbers in self.axes:
            if not isinstance(numbers, Numbers):
                raise ArgumentError("domain", numbers, "Numbers(...)")
        check_distinct(self.axes)

    @property
    def size(self) -> int:  # type: ignore[override]
        return len(self.axes)

    @property
    def step(self) -> float:  # type: ignore[override]
        return step_for(max(max(abs(d.low), abs(d.high)) for _, d in self.axes))

    @property
    def reach(self) -> Reach:
        ends = [_lattice_ends(numbers, self.step) for _, numbers in self.axes]
        return Box(tuple(low for low, _ in ends), tuple(high for _, high in ends))

    @property
    def of_number(self) -> "Boxed | None":
        return self if len(self.axes) == 1 else None

    @property
    def number(self) -> tuple[str, Numbers]:
        return self.axes[0]

    def from_sums(self, count: Any, total: Any, squares: Any) -> npt.NDArray[Any]:
        return np.asarray(total)[:, None]

    def encode(self, batch: Batch) -> tuple[Mask, Integers]:
        keep = np.ones(batch.rows, dtype=bool)
        parts = []
        for name, domain in self.axes:
            column, numbers = batch[name], batch[name].numbers()
            if column.missing.any():
                numbers = np.where(column.missing, domain.low, numbers)
                settle(name, column.missing, domain.missing, keep)
            if domain.outside is not Outside.CLIP:
                refuse_outside(name, (numbers < domain.low) | (numbers > domain.high), domain.outside, keep)
            # Rounding keeps order, so what is inside the interval stays between its rounded ends.
            parts.append(np.rint(np.clip(numbers, domain.low, domain.high) / self.step))
        rows = np.stack(parts, axis=1).astype(np.int64)
        return keep, rows if keep.all() else rows[keep]


@dataclass(frozen=True)
@checked_fields
class Clipped(Encoding):
    """Vectors of numbers, scaled down to norm `bound` where they are longer."""

    columns: tuple[str, ...]
    norm: GivenNorm
    bound: Positive
    missing: Missing = Missing.DROP
    counts = False

    def __post_init__(self) -> None:
        if not self.columns:
            raise ArgumentError("columns", self.columns, "at least one column")
        check_distinct(tuple((name, None) for name in self.columns))
        if not 1e-100 <= self.bound <= 1e100:
            raise ArgumentError("bound", self.bound, "between 1e-100 and 1e100")

    @property
    def size(self) -> int:  # type: ignore[override]
        return len(self.columns)

    @property
    def step(self) -> float:  # type: ignore[override]
        return step_for(self.bound)

    @property
    def reach(self) -> Reach:
        return Ball(self.norm, math.floor(self.bound / self.step), self.size)

    @property
    def drops(self) -> bool:
        return self.missing is Missing.DROP

    @property
    def types(self) -> Mapping[str, Type]:
        return dict.fromkeys(self.columns, Kind.NUMBER)

    def encode(self, batch: Batch) -> tuple[Mask, Integers]:
        keep = np.ones(batch.rows, dtype=bool)
        for name in self.columns:
            # An infinite coordinate leaves no direction to scale along.
            bad = batch[name].missing | ~np.isfinite(batch[name].numbers())
            settle(name, bad, self.missing, keep)
        matrix = np.stack([batch[name].numbers()[keep] for name in self.columns], axis=1)
        largest = np.abs(matrix).max(axis=1, initial=0.0, keepdims=True)
        far = self.bound * 2.0**100  # where only the direction matters, and squares must not overflow
        matrix = np.where(largest > far, matrix / np.where(largest > far, largest, 1.0) * far, matrix)
        rows = len(matrix)
        owners = np.repeat(np.arange(rows), self.size)
        values = np.rint(matrix / self.step).ravel()
        limit = math.floor(self.bound / self.step)
        return keep, clip_norms(values, owners, rows, self.norm, limit).reshape(rows, self.size)


def text_hashes(values: Iterable[Any], key: int = 0) -> npt.NDArray[np.uint64]:
    """A number for each value as it is written; under a key, which need not be secret."""
    secret = key.to_bytes(8, "little")
    digests = (hashlib.blake2b(str(value).encode(), digest_size=8, key=secret).digest() for value in values)
    return np.frombuffer(b"".join(digests), dtype="<u8").astype(np.uint64)


def clip_norms(
    values: npt.NDArray[np.float64], owners: npt.NDArray[np.intp], count: int, norm: Norm, limit: int
) -> Integers:
    """Integer coordinates, each of an owner whose vector is scaled to norm at most `limit`.

    The computed norm is raised above the true one by more than all rounding together, and scaled
    coordinates are cut towards zero; so the norm of the integers returned is at most `limit`, exactly.
    """
    size: npt.NDArray[np.float64] = np.abs(values)
    lengths = np.zeros(count)
    if norm is Norm.MAX:
        np.maximum.at(lengths, owners, size)
    elif norm is Norm.L1:
        np.add.at(lengths, owners, size)
    else:
        np.add.at(lengths, owners, size * size)
        lengths = np.sqrt(lengths)
    terms = np.bincount(owners, minlength=count)
    raised = lengths * (1 + (terms + 8) * 2.0**-50)
    exact = lengths <= limit if norm is Norm.MAX else raised <= limit
    factors = np.where(exact, 1.0, limit / np.maximum(raised, 1.0) * (1 - 2.0**-50))
    return np.trunc(values * factors[owners]).astype(np.int64)


BELOW, ABOVE, MISSING = -1, -2, -3
"""Places outside a domain; a category that is not listed is `BELOW`. SQL uses the same numbers."""


def places_in(column: Column, domain: Domain) -> Integers:
    """The cell of each value; `BELOW`, `ABOVE` or `MISSING` where it has none."""
    other = domain.size - 1 if domain.outside is Outside.LAST else BELOW
    if isinstance(domain, Bins):
        numbers = np.where(column.missing, domain.low, column.numbers())
        guess = np.floor((numbers - domain.low) / domain.width)
        places = np.clip(guess, BELOW, domain.size - 1).astype(np.int64)
        places = np.where(numbers > domain.high, ABOVE, np.where(numbers < domain.low, BELOW, places))
    elif column.words is not None:
        places = np.array([domain.places.get(word, other) for word in column.words], dtype=np.int64)[
            column.values
        ]
    else:
        values = np.array([int(value) for value in domain.values], dtype=np.int64)
        order = np.argsort(values)
        near = np.minimum(np.searchsorted(values[order], column.values), len(values) - 1)
        places = np.where(values[order][near] == column.values, order[near], other)
    return np.where(column.missing, MISSING, places)


def settle(name: str, missing: Mask, policy: Missing, keep: Mask, words: str = "") -> None:
    """Leaves out records with missing values, or refuses them; `words` say what else could be declared."""
    if not (missing := missing & keep).any():
        return
    if policy is Missing.ERROR:
        advice = f"declare missing=Missing.DROP to leave them out{words}"
        raise DataError(f"column {name!r} has missing values; {advice}")
    keep &= ~missing


def refuse_outside(name: str, outside: Mask, policy: Outside, keep: Mask, domain: str = "") -> None:
    """Raise for values outside where the policy says so; else leave their records out of `keep`."""
    if policy is Outside.CLIP or not (outside := outside & keep).any():
        return
    if policy is Outside.ERROR:
        raise DataError(f"column {name!r} has values outside its declared domain{domain}")
    keep &= ~outside


def check_distinct(axes: tuple[tuple[str, Any], ...]) -> None:
    """Refuse columns that are not texts, or named twice."""
    names = [name for name, _ in axes]
    if not all(isinstance(name, str) for name in names) or len(set(names)) != len(names):
        raise ArgumentError("columns", names, "distinct names")


def step_for(largest: float) -> float:
    """A power of two, `RESOLUTION` bits below the largest value."""
    if largest == 0:
        return 1.0
    if not 1e-200 < largest < 1e200:
        raise ArgumentError("bounds", largest, "0 or between 1e-200 and 1e200 in size")
    return math.ldexp(1.0, math.frexp(largest)[1] - RESOLUTION)


def _lattice_ends(domain: Numbers, step: float) -> tuple[float, float]:
    return float(np.rint(domain.low / step)), float(np.rint(domain.high / step))
