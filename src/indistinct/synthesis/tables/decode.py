"""From cells back to values: declared categories as they are, numbers spread evenly over their cell."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from indistinct.data import Categories, Celled, Intervals, OrMissing, inner
from indistinct.errors import ArgumentError
from indistinct.numerics.arrays import Array
from indistinct.synthesis.tables.generator import Places


@dataclass(frozen=True)
class Determined:
    """A column that follows from another one, by a rule that everybody knows. It is never read.

    >>> Determined("grade", {"low": 1, "high": 2}).values
    (('low', 1), ('high', 2))
    """

    by: str
    values: tuple[tuple[Any, Any], ...]

    def __init__(self, by: str, values: Mapping[Any, Any]) -> None:
        object.__setattr__(self, "by", by)
        if not isinstance(values, Mapping):
            raise ArgumentError("values", values, f"a mapping from the values of {by!r}")
        plain = {
            key: value.item() if isinstance(value, np.generic) else value for key, value in values.items()
        }
        for value in plain.values():
            check_plain("values", value)
        object.__setattr__(self, "values", tuple(plain.items()))

    def check(self, name: str, domains: Mapping[str, Celled]) -> None:
        domain = domains.get(self.by)
        if not isinstance(domain, Categories | OrMissing) or not isinstance(inner(domain), Categories):
            raise ArgumentError(f"{name!r} determined by", self.by, "a column with Categories(...)")
        if lacking := [value for value in domain.labels if value not in dict(self.values)]:
            raise ArgumentError(f"values of {name!r}", lacking, f"given for every value of {self.by!r}")

    def column(self, places: Places, domain: Celled) -> npt.NDArray[Any]:
        chosen = dict(self.values)
        return as_declared([chosen[value] for value in domain.labels])[places]


def check_plain(argument: str, value: Any) -> None:
    """Refuses what could not be saved, or is not equal to itself."""
    if not isinstance(value, str | int | float | None) or value != value:
        raise ArgumentError(argument, value, "a text, a number, a truth value or None")


def as_declared(values: Sequence[Any]) -> npt.NDArray[Any]:
    """An array in which each value is what was declared: of one type that it has, or of objects."""
    kinds = {type(value) for value in values}
    if len(kinds) == 1 and kinds <= {bool, float}:
        return np.array(values)
    if kinds == {int} and all(-(2**63) <= value < 2**63 for value in values):
        return np.array(values, dtype=np.int64)
    found = np.empty(len(values), dtype=object)
    found[:] = values
    return found


@dataclass(frozen=True, eq=False)
class Pieces:
    """The cells of a column, cut where conditions on it begin and end: a condition holds in all of a piece or
    nowhere in it. Inside a piece values are spread evenly, so that a piece has a share of its cell."""

    domain: Celled
    cells: Places
    """The cell of each piece, in order."""
    shares: Array
    """Which part of the cell's values it has."""
    low: npt.NDArray[Any]
    high: npt.NDArray[Any]
    """The least and the largest value of each, for numbers."""

    @classmethod
    def of(cls, domain: Celled, ranges: Iterable[tuple[float, float]] = ()) -> "Pieces":
        """Cut where the ranges, both of whose ends belong to them, begin and end."""
        own, absent = inner(domain), int(isinstance(domain, OrMissing))
        if isinstance(own, Categories):
            nothing: Array = np.zeros(0)
            return cls(domain, np.arange(domain.size), np.ones(domain.size), nothing, nothing)
        if whole := isinstance(own, Intervals) and own.whole:
            begins = np.array([first for first, _ in own.integers], dtype=np.int64)
            end = float(own.integers[-1][1] + 1)
        else:
            begins, end = np.array(own.edges[:-1], dtype=np.float64), math.nextafter(own.edges[-1], math.inf)
        cuts = [_cuts(low, high, whole) for low, high in ranges]
        inside = [cut for pair in cuts for cut in pair if begins[0] < cut < end]
        low = np.unique(np.append(begins, np.array(inside, dtype=begins.dtype)))
        ends = np.append(low[1:], np.array([end], dtype=low.dtype))
        cells = np.searchsorted(begins, low, side="right") - 1
        widths = (ends - low).astype(np.float64)
        shares = widths / np.bincount(cells, widths)[cells]
        last = ends - 1 if whole else np.nextafter(ends, -np.inf)
        return cls(
            domain,
            np.append(cells, [domain.size - 1] * absent).astype(np.int64),
            np.append(shares, [1.0] * absent),
            low,
            last.astype(low.dtype),
        )

    @property
    def size(self) -> int:
        return len(self.cells)

    @property
    def _numbers(self) -> npt.NDArray[Any]:
        """The ends of cells, or the categories: what a float must hold where some are missing."""
        own = inner(self.domain)
        return as_declared(own.values) if isinstance(own, Categories) else self.high

    def holding(self, alternatives: Iterable[Any]) -> npt.NDArray[np.bool_]:
        """The pieces in one of the alternatives: ranges at which these were cut, categories, or None."""
        own, found = inner(self.domain), np.zeros(self.size, dtype=bool)
        for one in alternatives:
            if one is None:
                found[-1] = True
            elif isinstance(own, Categories):
                found[own.places[one]] = True
            else:
                found[: len(self.low)] |= (self.low >= one[0]) & (self.low <= one[1])
        return found

    def alternatives(self, chosen: npt.NDArray[np.bool_]) -> list[Any]:
        """What holds in these pieces and in no others: `holding`, the other way round."""
        own, found = inner(self.domain), np.flatnonzero(chosen).tolist()
        if isinstance(own, Categories):
            return [own.values[place] if place < own.size else None for place in found]
        return [(self.low[at].item(), self.high[at].item()) if at < len(self.low) else None for at in found]

    def places(self, values: npt.NDArray[Any]) -> Places:
        """The pieces that values of this column are in."""
        own = inner(self.domain)
        if isinstance(own, Categories):
            return np.array(
                [own.places.get(value, self.size - 1) for value in values.tolist()], dtype=np.int64
            )
        numbers = np.asarray(values, dtype=np.float64)
        found = np.clip(np.searchsorted(self.low, numbers, side="right") - 1, 0, len(self.low) - 1)
        return np.where(np.isnan(numbers), self.size - 1, found)

    def values(self, places: Places, uniforms: Array) -> npt.NDArray[Any]:
        """Values of the given pieces. Missing ones are None among texts and NaN among numbers."""
        own, some_missing = inner(self.domain), isinstance(self.domain, OrMissing)
        absent = some_missing & (places == self.size - 1)
        places = np.where(absent, 0, places)
        values: npt.NDArray[Any]
        if isinstance(own, Categories):
            values = as_declared(own.values)[places]
        else:
            low, high = self.low[places], self.high[places]
            if low.dtype.kind == "i":
                values = np.minimum(low + (uniforms * (high - low + 1)).astype(np.int64), high)
            else:
                values = np.clip(low + uniforms * (high - low), low, high)
        if some_missing:
            exact = values.dtype.kind in "if" and bool((np.abs(self._numbers) <= 2**53).all())
            values = values.astype(np.float64 if exact else object)
            values[absent] = None if values.dtype.kind == "O" else np.nan
        return values


def _cuts(low: float, high: float, whole: bool) -> tuple[float, float]:
    """Where a range begins, and where what comes after it does."""
    return (math.ceil(low), math.floor(high) + 1) if whole else (low, math.nextafter(high, math.inf))
