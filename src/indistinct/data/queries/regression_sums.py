"""Products of every two columns, summed over records: all that linear models, covariances and correlations
need.

Numbers are moved to [-1, 1] by their declared ends, two categories become -1 and 1, more than two become one
coordinate each. A record gives a 1, its coordinates, the products of coordinates of different columns, and
1 - x² for each number: where x² is large this is small, so the squares cost (next to) nothing.
"""

from dataclasses import dataclass
from functools import cached_property
from itertools import product
from typing import Any

import numpy as np
import numpy.typing as npt

from indistinct.data.queries.regression_reach import GRAIN, Crossings, Weights
from indistinct.data.records.domain import Categories, Numbers
from indistinct.data.records.encoding import (
    MISSING,
    Encoding,
    Integers,
    check_distinct,
    places_in,
    refuse_outside,
    settle,
)
from indistinct.data.records.types import Batch, Column, Mask
from indistinct.errors import ArgumentError

Array = npt.NDArray[np.float64]
Axis = tuple[str, Numbers | Categories]

_ROWS = 2**18
"""Products of two coordinates, so many of them: integers that floats hold exactly, in whatever order."""
_HEAVY = 2**7
"""The weight of 1."""
_NARROWEST = 1e-200
"""Half of what numbers are declared to lie in: of next to nothing there are no shares."""
_MOST_TERMS = 400


@dataclass(frozen=True)
class TermProducts:
    """The coordinates of a regression: 1, each number, -1 and 1 for two categories, one for each further
    category; the response, if there is one, last. Which of their products are known from others."""

    axes: tuple[Axis, ...]

    @cached_property
    def owners(self) -> tuple[int, ...]:
        """The column of each coordinate, -1 for the first."""
        widths = (_width(domain) - _is_several(domain) for _, domain in self.axes)
        return (-1, *(n for n, width in enumerate(widths) for _ in range(width)))

    @cached_property
    def count(self) -> int:
        return len(self.owners)

    @cached_property
    def _kinds(self) -> list[Numbers | Categories | None]:
        return [None, *(self.axes[owner][1] for owner in self.owners[1:])]

    @cached_property
    def moments(self) -> tuple[tuple[int, int], ...]:
        """The products that are not known from others, each once."""
        found = {self._known(a, b) for a in range(self.count) for b in range(a, self.count)}
        return tuple(sorted(pair for pair in found if pair is not None))

    def _known(self, a: int, b: int) -> tuple[int, int] | None:
        """The product that this one is equal to; None where it is 0."""
        own = self._kinds[a]
        if self.owners[a] != self.owners[b] or a == 0 or isinstance(own, Numbers):
            return (a, b)
        if a != b:
            return None
        return (0, a) if _is_several(own) else (0, 0)

    @cached_property
    def places(self) -> npt.NDArray[np.intp]:
        """Where in `moments` each entry of their matrix is; the last place is for what is 0."""
        where: dict[tuple[int, int] | None, int] = {pair: place for place, pair in enumerate(self.moments)}
        table = np.full((self.count, self.count), len(where))
        for a in range(self.count):
            for b in range(a, self.count):
                table[a, b] = table[b, a] = where.get(self._known(a, b), len(where))
        return table

    def matrix(self, moments: Array) -> Array:
        """The second moments of all coordinates, from those that are not known from others (last axis)."""
        padded = np.concatenate([moments, np.zeros((*moments.shape[:-1], 1))], axis=-1)
        return np.asarray(padded[..., self.places])


def _is_several(domain: Any) -> bool:
    """Whether a column is three categories or more: a coordinate for each in the sum, one less in a
    regression."""
    return isinstance(domain, Categories) and domain.size > 2


def _width(domain: Any) -> int:
    """How many coordinates a column has in the sum."""
    return int(domain.size) if _is_several(domain) else 1


@dataclass(frozen=True)
class CrossProducts(Encoding):
    """1, the coordinates of a record, their products between columns, and 1 - x² of its numbers, each times
    its weight. The last column is a response if `responds`: products with it are what matters most."""

    axes: tuple[Axis, ...]
    responds: bool
    counts = False

    def __post_init__(self) -> None:
        check_distinct(self.axes)
        for name, domain in self.axes:
            if not isinstance(domain, Numbers | Categories):
                raise ArgumentError("domain", domain, f"Numbers(...) or Categories(...), for {name!r}")
            if isinstance(domain, Numbers) and not domain.low < domain.high:
                raise ArgumentError("domain", domain, f"Numbers(low, high) with low below high, for {name!r}")
            if isinstance(domain, Numbers) and ends(domain)[1] < _NARROWEST:
                raise ArgumentError("domain", domain, f"wider than {2 * _NARROWEST:g}, for {name!r}")
            if isinstance(domain, Categories) and domain.size < 2:
                raise ArgumentError("domain", domain, f"two categories or more, for {name!r}")
        if self.terms.count > _MOST_TERMS:
            raise ArgumentError("columns", self.terms.count, f"at most {_MOST_TERMS} terms together")

    @cached_property
    def terms(self) -> TermProducts:
        return TermProducts(self.axes)

    @cached_property
    def _columns(self) -> tuple[int, ...]:
        """The column of each coordinate of a record; -1 for the 1."""
        return (
            -1,
            *(n for n, (_, domain) in enumerate(self.axes) for _ in range(_width(domain))),
        )

    @cached_property
    def weights(self) -> Weights:
        """A public rule. With a response, errors of coefficients come from products with it, of size 1, and
        from other products times coefficients, whose squares add up to some 1/4: the weight of each sort is
        the fourth root of what it does, the least total error for a bound on the squares of all weights."""
        if not self.responds:
            return Weights(_HEAVY, _HEAVY, _HEAVY, _HEAVY, round(0.75 * _HEAVY))
        return Weights(_HEAVY, round(0.9 * _HEAVY), _HEAVY // 2, _HEAVY, round(0.7 * _HEAVY))

    @cached_property
    def entries(self) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.intp], npt.NDArray[np.int64]]:
        """The two coordinates of each number, and its weight; a square is a coordinate twice."""
        w, last, found = self.weights, len(self.axes) - 1, [(0, 0, self.weights.record)]
        for a, first in enumerate(self._columns):
            for b, second in list(enumerate(self._columns))[max(a, 1) :]:
                answer = self.responds and second == last
                if a == b:
                    if isinstance(self.axes[second][1], Numbers):
                        found.append((a, b, w.square))
                elif first != second:
                    found.append((a, b, w.answer if answer else w.pair if a else w.single))
        left, right, weight = (np.array(column) for column in zip(*found, strict=True))
        return left, right, weight

    @property
    def relative_weights(self) -> Array:
        """Of the numbers."""
        return np.asarray(self.entries[2] / _HEAVY)

    @cached_property
    def own(self) -> list[int]:
        """The coordinates of a record that are coordinates of `terms`: all but the first of several
        categories."""
        return [a for a, row in enumerate(self.expansion) if np.count_nonzero(row) == 1]

    @property
    def size(self) -> int:  # type: ignore[override]
        return len(self.entries[0])

    @property
    def step(self) -> float:  # type: ignore[override]
        return 1.0 / (GRAIN**2 * _HEAVY)

    @property
    def reach(self) -> Crossings:
        asked = self.axes[:-1] if self.responds else self.axes
        answer = self.axes[-1:] if self.responds else ()
        several = sum(_is_several(domain) for _, domain in asked)
        squares, answered = (
            sum(isinstance(domain, Numbers) for _, domain in some) for some in (asked, answer)
        )
        numbers = len(asked) - several
        return Crossings(self.weights, numbers, squares, several, len(answer), answered)

    def encode(self, batch: Batch) -> tuple[Mask, Integers]:
        left, right, weight = self.entries
        keep, found = self.coordinates(batch)
        rows = found.astype(np.int64)
        products = rows[:, left] * rows[:, right]
        squares = (left == right) & (left > 0)
        products[:, squares] = GRAIN**2 - products[:, squares]
        return keep, products * weight

    def add_up(self, batch: Batch) -> npt.NDArray[Any]:
        left, right, weight = self.entries
        _, rows = self.coordinates(batch)
        total = np.zeros((rows.shape[1], rows.shape[1]), dtype=object)
        for start in range(0, len(rows), _ROWS):
            part = rows[start : start + _ROWS]
            total += (part.T @ part).astype(np.int64)
        products = total[left, right]
        squares = (left == right) & (left > 0)
        products[squares] = total[0, 0] - products[squares]
        return np.asarray(products * weight.astype(object))

    def coordinates(self, batch: Batch) -> tuple[Mask, Array]:
        """Of each record that is kept, whole numbers from -GRAIN to GRAIN."""
        keep = np.ones(batch.rows, dtype=bool)
        parts = [np.full((batch.rows, 1), float(GRAIN))]
        parts += [_coordinates(name, batch[name], domain, keep) for name, domain in self.axes]
        rows = np.concatenate(parts, axis=1)
        return keep, rows if keep.all() else rows[keep]

    @cached_property
    def solve(self) -> Array:
        """From the numbers with noise to the moments of `terms`: by least squares where several tell the
        same."""
        terms, left_right = self.terms, self.entries
        full = self.expansion
        where = terms.places
        design = np.zeros((self.size, len(terms.moments) + 1))
        for place, (a, b, weight) in enumerate(zip(*left_right, strict=True)):
            for c, d in product(np.flatnonzero(full[a]), np.flatnonzero(full[b])):
                sign = -1.0 if a == b and a > 0 else 1.0
                design[place, where[c, d]] += sign * weight / _HEAVY * full[a, c] * full[b, d]
            if a == b and a > 0:
                design[place, where[0, 0]] += weight / _HEAVY
        return np.asarray(np.linalg.pinv(design[:, :-1]))

    @cached_property
    def expansion(self) -> Array:
        """The coordinates of a record from those of `terms`: the first of several categories is the rest of
        1."""
        owners = np.array(self.terms.owners)
        full = np.zeros((len(self._columns), self.terms.count))
        full[0, 0] = 1.0
        start = 1
        for n, (_, domain) in enumerate(self.axes):
            own, several = np.flatnonzero(owners == n), _is_several(domain)
            width = _width(domain)
            if several:
                full[start, 0], full[start, own] = 1.0, -1.0
            full[np.arange(start + several, start + width), own] = 1.0
            start += width
        return full


def _coordinates(name: str, column: Column, domain: Numbers | Categories, keep: Mask) -> Array:
    """The coordinates of one column, whole numbers up to GRAIN in size; leaves out of `keep` what the domain
    does."""
    if isinstance(domain, Numbers):
        numbers = np.where(column.missing, domain.low, column.numbers())
        settle(name, column.missing, domain.missing, keep)
        refuse_outside(name, (numbers < domain.low) | (numbers > domain.high), domain.outside, keep)
        middle, half = ends(domain)
        # halved first, so that nothing overflows; rounding may leave [-1, 1] in its last bit
        scaled = (np.clip(numbers, domain.low, domain.high) / 2 - middle / 2) / (half / 2)
        # what is no number would be any integer at all
        return np.fmax(np.fmin(np.rint(scaled * GRAIN), GRAIN), -GRAIN)[:, None]
    places = places_in(column, domain)
    settle(name, places == MISSING, domain.missing, keep)
    refuse_outside(name, (places < 0) & (places != MISSING), domain.outside, keep)
    if domain.size == 2:
        return np.where(places == 1, float(GRAIN), -float(GRAIN))[:, None]
    return np.asarray((places[:, None] == np.arange(domain.size)) * float(GRAIN))


def ends(domain: Numbers) -> tuple[float, float]:
    """The middle of an interval and half its width."""
    return domain.low / 2 + domain.high / 2, domain.high / 2 - domain.low / 2
