"""What a record adds to the slope and to the curvature of a logistic likelihood, at coefficients that are
public: a step of Newton's method is a bounded sum.

With p the chance of the second category at these coefficients, a record with response y, 0 or 1, adds
(y - p) x to the slope and p (1 - p) times its products of columns to the curvature. With q = |y - p| these
are q x and q (1 - q) x x', but for signs: where the one is large the other is small, so the curvature costs
next to nothing.
"""

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from indistinct.data.queries.regression_reach import GRAIN, Weights
from indistinct.data.queries.regression_sums import Array, Axis, CrossProducts
from indistinct.data.records.bounded_sum import parts
from indistinct.data.records.encoding import Encoding, Integers
from indistinct.data.records.reach import Norm
from indistinct.data.records.types import Batch, Mask
from indistinct.numerics.rounding import root_up, rounded_up

COARSE = 2**16
"""Coefficients are whole numbers of 1/COARSE: logits are exact then, in whatever order they are added."""
_CHANCE = 2**22
"""What a chance of 1 is rounded to."""
_CURVED = 2**17
"""The same of p (1 - p), times products of coordinates that are whole numbers up to `_SHORT`."""
_SHORT = 2**9
_HEAVY = _CHANCE * GRAIN // (_CURVED * _SHORT**2)
"""The weight of 1 in the curvature."""
END, NODES = 20, 2**10
"""Logits in which chances are tabled, in both directions, and how many for each."""
FINE = 2**34
"""What tabled chances are rounded to."""
_ROWS = 2**11
"""Numbers so large, so many of them: sums that floats hold exactly, in whatever order."""


@dataclass(frozen=True)
class LogisticScores(Encoding):
    """(y - p) x, and p (1 - p) times the products of columns, at the coefficients `at` of the terms of a
    regression, in parts of `COARSE`; the response is the last column, and in it the second category is 1. All
    of it is measured `times` as strongly as a step of 1/4 would. `norm` is that of the noise."""

    axes: tuple[Axis, ...]
    at: tuple[int, ...]
    times: int
    norm: Norm
    counts = False
    step = 1.0 / (4 * _CHANCE * GRAIN)

    @cached_property
    def _records(self) -> CrossProducts:
        return CrossProducts(self.axes, True)

    @cached_property
    def _columns(self) -> CrossProducts:
        return CrossProducts(self.axes[:-1], False)

    @cached_property
    def _slopes(self) -> int:
        """Coordinates of a record, without the response."""
        return len(self._columns.expansion)

    @property
    def size(self) -> int:  # type: ignore[override]
        return self._slopes + self._columns.size

    @property
    def reach(self) -> "ScoreReach":
        """A record has a 1 and one coordinate of size at most 1 for each column; its products, times their
        weights, are no longer than those of `CrossProducts`."""
        lengths = {norm: self.weight * self._longest(norm) for norm in (Norm.L1, Norm.L2)}
        return ScoreReach(self.times, len(self.axes), lengths[Norm.L1] / _HEAVY, lengths[Norm.L2] / _HEAVY)

    def _longest(self, norm: Norm) -> Fraction:
        """Products weigh 2 and squares 1."""
        reach = replace(self._columns.reach, weights=Weights(2, 2, 2, 2, 1))
        return Fraction(reach.radius(norm)) / GRAIN**2

    @cached_property
    def weight(self) -> int:
        """Of the curvature, a public rule: as much as costs nothing in L2; in L1 twice as much, which costs
        an eighth of what slopes do."""
        free = math.sqrt(8 * len(self.axes)) if self.norm is Norm.L2 else 2 * len(self.axes)
        return max(1, int(_HEAVY * free / self._longest(self.norm)))

    @cached_property
    def _weights(self) -> npt.NDArray[np.int64]:
        left, right, _ = self._columns.entries
        return self.weight * np.where((left == right) & (left > 0), 1, 2)

    @cached_property
    def slopes(self) -> Array:
        """From the numbers to the slope: terms × numbers, by least squares where several tell the same."""
        own = np.linalg.pinv(self._columns.expansion) * (4 / self.times)
        return np.concatenate([own, np.zeros((len(own), self._columns.size))], axis=1)

    @cached_property
    def curvatures(self) -> Array:
        """From the numbers to the curvature: numbers × terms × terms."""
        columns = self._columns
        own = columns.solve * (4 / self.times * columns.relative_weights * _HEAVY / self._weights)
        moved = columns.terms.matrix(own.T)
        return np.concatenate([np.zeros((self._slopes, *moved.shape[1:])), moved])

    def encode(self, batch: Batch) -> tuple[Mask, Integers]:
        keep, rows, beside, curved = self._parts(batch)
        short, (left, right, _) = self._short(rows), self._columns.entries
        products = short[:, left] * short[:, right]
        squares = (left == right) & (left > 0)
        products[:, squares] = _SHORT**2 - products[:, squares]
        found = [beside[:, None] * rows, curved[:, None] * products * self._weights]
        return keep, np.concatenate(found, axis=1).astype(np.int64) * self.times

    def add_up(self, batch: Batch) -> npt.NDArray[Any]:
        _, rows, beside, curved = self._parts(batch)
        short, (left, right, _) = self._short(rows), self._columns.entries
        slope = np.zeros(rows.shape[1], dtype=object)
        total = np.zeros((rows.shape[1], rows.shape[1]), dtype=object)
        for start in range(0, len(rows), _ROWS):
            part = slice(start, start + _ROWS)
            slope += (beside[part] @ rows[part]).astype(np.int64)
            total += ((short[part].T * curved[part]) @ short[part]).astype(np.int64)
        products = total[left, right]
        squares = (left == right) & (left > 0)
        products[squares] = total[0, 0] - products[squares]
        return np.concatenate([slope, products * self._weights.astype(object)]) * self.times

    def total(self, rows: Integers) -> npt.NDArray[Any]:
        """A million of these do not add up in 64 bits."""
        return np.asarray(sum(part.sum(axis=0).astype(object) for part in parts(rows, 2**18)))

    def _parts(self, batch: Batch) -> tuple[Mask, Array, Array, Array]:
        """The records that are kept, their coordinates, y - p, and p (1 - p) rounded down: whole numbers."""
        keep, rows = self._records.coordinates(batch)
        rows, answer = rows[:, :-1], rows[:, -1] > 0
        own = np.zeros(rows.shape[1])
        own[self._columns.own] = self.at
        chance = _chances(rows @ own)
        beside = answer * _CHANCE - chance
        curved = chance * (_CHANCE - chance) // (_CHANCE**2 // _CURVED)
        return keep, rows, beside.astype(np.float64), curved.astype(np.float64)

    @staticmethod
    def _short(rows: Array) -> Array:
        return np.rint(rows / (GRAIN // _SHORT))


def _chances(logits: Array) -> Integers:
    """1/(1 + e^-t) by a table and straight lines between: of a logit alone, whatever is computed beside it.
    Logits are whole numbers of 1/(GRAIN COARSE)."""
    width = GRAIN * COARSE // NODES
    places = np.clip(logits, -END * NODES * width, (END * NODES - 1) * width).astype(np.int64)
    node, rest = np.divmod(places, width)
    node += END * NODES
    found = TABLE[node] + (TABLE[node + 1] - TABLE[node]) * rest // width
    coarser = FINE // _CHANCE
    return np.asarray((found + coarser // 2) // coarser)


_LOGITS = np.arange(-END * NODES, END * NODES + 1) / NODES
TABLE = np.rint(FINE / (1 + np.exp(-_LOGITS))).astype(np.int64)


@dataclass(frozen=True)
class ScoreReach:
    """Vectors (± q x, q (1 - q) v), so many `times`, with q in [0, 1], x of `terms` coordinates of size at
    most 1, and v no longer than `l1` and `l2`.

    In L1 that is q a + q (1 - q) b, largest at q = 1 if b ≤ a, else at (a + b)/(2 b). In L2 its square is
    q² (a² + (1 - q)² b²), with a derivative of 2 q (a² + b² (1 - q) (1 - 2 q)); as (1 - q) (1 - 2 q) ≥ -1/8,
    it is largest at q = 1 if b² ≤ 8 a², and never above a² + b²/16. Two such vectors are at most twice as far
    apart; (x, 1) and (-x, 1) at q = 1 are.
    """

    times: int
    terms: int
    l1: Fraction
    l2: Fraction

    def radius(self, norm: Norm) -> float:
        unit = self.times * _CHANCE * GRAIN
        if norm is Norm.L1:
            a, b = Fraction(self.terms), self.l1
            return rounded_up((a if b <= a else (a + b) ** 2 / (4 * b)) * unit)
        square, other = Fraction(self.terms), self.l2**2
        return root_up((square if other <= 8 * square else square + other / 16) * unit**2)

    def diameter(self, norm: Norm) -> float:
        return 2 * self.radius(norm)

    def with_zero(self) -> "ScoreReach":
        return self
