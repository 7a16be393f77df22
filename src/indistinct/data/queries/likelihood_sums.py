"""The slope and the curvature of a logistic likelihood at coefficients that are private: what the search for
its maximum adds up over records.

The chance of the second category is a table of whole numbers with straight lines between (`TABLE`), and that
is what is meant by it: the likelihood is defined by this chance. So the slope is an exact sum of whole
numbers, but for the last bit of each record, which is rounded down at 2^-71. Coefficients are whole numbers
of 2^-66: one of a billion records still moves the slope by more than its search may leave."""

from collections import Counter
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from indistinct.data.queries.regression_reach import GRAIN
from indistinct.data.queries.regression_scores import END, FINE, NODES, TABLE
from indistinct.data.queries.regression_sums import Axis, CrossProducts, TermProducts
from indistinct.data.records.bounded_sum import parts
from indistinct.data.records.encoding import Encoding, Integers
from indistinct.data.records.reach import Box
from indistinct.data.records.types import Batch, Mask

_HIGH, _LOW = 30, 36
FINEST = _HIGH + _LOW
"""Bits of a coefficient after the point, in two parts: products with coordinates stay inside 64 bits."""
_REST = _HIGH + GRAIN.bit_length() - 1 - (NODES.bit_length() - 1)
"""Bits of a logit below a node of the table, without those of the lower part."""
ROUNDING = FINE.bit_length() - 1 + _REST
"""Chances are rounded down to so many bits after the point."""
SLOPE = ROUNDING + GRAIN.bit_length() - 1
"""The slope is a whole number of 2^-SLOPE."""
_SHORT, _CURVED = 11, 16
CURVATURE = 2 * _SHORT + _CURVED
"""The curvature is a whole number of 2^-CURVATURE: coordinates and weights are coarser there."""
MOST_RECORDS = 2**28
_FAR = 2.0**14
"""Logits beyond are not computed exactly: the table has ended long before."""
_LIMB = 15
_ROWS = 2**16
"""Sums of products that floats hold exactly, in whatever order."""

_STARTS = np.concatenate([TABLE[:1], TABLE])
_RISES = np.concatenate([[0], np.diff(TABLE), [0]])
"""Of the table, from each node to the next; beyond its ends nothing rises."""


@dataclass(frozen=True)
class LikelihoodSums(Encoding):
    """Σ (y - p) x, and of Σ p (1 - p) x x' what is not known from others, at the coefficients `at`, in parts
    of 2^FINEST; the response is the last column."""

    axes: tuple[Axis, ...]
    at: tuple[int, ...]
    counts = False
    step = 2.0**-SLOPE
    most = MOST_RECORDS

    @cached_property
    def terms(self) -> TermProducts:
        return TermProducts(self.axes[:-1])

    @property
    def slopes(self) -> int:
        return self.terms.count

    @property
    def size(self) -> int:  # type: ignore[override]
        return self.slopes + len(self.terms.moments)

    @property
    def width(self) -> int:
        return self.slopes + 1

    @property
    def reach(self) -> Box:
        """For a check: what a record adds is accounted for where it is released."""
        ends = [2.0**SLOPE] * self.slopes + [2.0 ** (SLOPE - 2)] * len(self.terms.moments)
        return Box(tuple(-end for end in ends), tuple(ends))

    @property
    def slope_blocks(self) -> tuple[int, ...]:
        """How many coordinates each column has: at most one of a column is not 0."""
        return tuple(Counter(self.terms.owners).values())

    @cached_property
    def _pairs(self) -> tuple[list[int], tuple[int, ...]]:
        """The numbers of the curvature by the two columns they are of, and how many there are of each two."""
        owners = self.terms.owners
        of = [(owners[a], owners[b]) for a, b in self.terms.moments]
        return sorted(range(len(of)), key=of.__getitem__), tuple(n for _, n in sorted(Counter(of).items()))

    @property
    def curvature_blocks(self) -> tuple[int, ...]:
        return self._pairs[1]

    def curvature_order(self) -> list[int]:
        """Where in `moments` the numbers of all blocks are, one block after the other."""
        return self._pairs[0]

    def encode(self, batch: Batch) -> tuple[Mask, Integers]:
        """The coordinates themselves, so that which records of a user take part is the same whatever
        coefficients are asked about."""
        return _coordinates(self.axes, batch)

    def add_up(self, batch: Batch) -> npt.NDArray[Any]:
        return self.total(self.encode(batch)[1])

    def total(self, rows: Integers) -> npt.NDArray[Any]:
        found = np.zeros(self.size, dtype=object)
        for part in parts(rows, _ROWS):
            found += self._part(part[:, :-1], part[:, -1] > 0)
        return found

    def _part(self, rows: Integers, answer: Mask) -> npt.NDArray[Any]:
        node, rest, lower = self._logits(rows)
        rise = _RISES[node]
        above = rise * rest + (rise * lower >> _LOW)
        beside = answer * FINE - _STARTS[node]
        limbs = [beside >> 17, beside & (2**17 - 1)]
        limbs += [above >> place & (2**_LIMB - 1) for place in (45, 30, 15, 0)]
        told = rows.astype(np.float64)
        high, low, *more = (np.array(limbs, dtype=np.float64) @ told).astype(np.int64).astype(object)
        slope = ((high << 17) + low) << _REST
        for place, limb in zip((45, 30, 15, 0), more, strict=True):
            slope -= limb << place
        chance = (_STARTS[node] + (above >> _REST)) >> 17
        curved = chance * (2**17 - chance) >> 34 - _CURVED
        short = np.rint(told / (GRAIN >> _SHORT))
        total = ((short.T * curved) @ short).astype(np.int64).astype(object)
        left, right = zip(*self.terms.moments, strict=True)
        return np.concatenate([slope, total[list(left), list(right)] << SLOPE - CURVATURE])

    def _logits(self, rows: Integers) -> tuple[Integers, Integers, Integers]:
        """The place in the table before each logit, and how far the logit is beyond it, in two parts.
        Products may wrap around: sums of them do not, where they are not far out."""
        about = rows.astype(np.float64) @ (np.array([float(one) for one in self.at]) * 2.0**-FINEST) / GRAIN
        high = np.array([(one >> _LOW) for one in self.at], dtype=np.int64)
        lower = rows @ np.array([one & (2**_LOW - 1) for one in self.at], dtype=np.int64)
        whole = rows @ high + (lower >> _LOW)
        whole = np.where(np.abs(about) > _FAR, np.sign(about).astype(np.int64) << 61, whole)
        node = np.clip((whole >> _REST) + END * NODES, -1, 2 * END * NODES) + 1
        return node, whole & (2**_REST - 1), lower & (2**_LOW - 1)


@dataclass(frozen=True)
class FineSlopes(Encoding):
    """Σ (y - p) x again, without any rounding, at coefficients in parts of 2^`bits`: slowly, one record after
    the other."""

    axes: tuple[Axis, ...]
    at: tuple[int, ...]
    bits: int
    counts = False
    most = MOST_RECORDS

    @property
    def _below(self) -> int:
        """Bits of a logit below a node of the table."""
        return self.bits + GRAIN.bit_length() - NODES.bit_length()

    @property
    def places(self) -> int:
        """Bits of the sum after the point."""
        return FINE.bit_length() - 1 + self._below + GRAIN.bit_length() - 1

    @property
    def step(self) -> float:  # type: ignore[override]
        return 2.0**-self.places

    @property
    def size(self) -> int:  # type: ignore[override]
        return len(self.at)

    @property
    def width(self) -> int:
        return self.size + 1

    @property
    def reach(self) -> Box:
        end = (2.0**self.places,) * self.size
        return Box(tuple(-one for one in end), end)

    def encode(self, batch: Batch) -> tuple[Mask, Integers]:
        return _coordinates(self.axes, batch)

    def total(self, rows: Integers) -> npt.NDArray[Any]:
        found, below, ends = [0] * self.size, self._below, 2 * END * NODES
        table, rises = TABLE.tolist(), [*np.diff(TABLE).tolist(), 0]
        for *x, answer in rows.tolist():
            logit = sum(own * one for own, one in zip(x, self.at, strict=True)) + (END * NODES << below)
            logit = min(max(logit, 0), ends << below)
            node = logit >> below
            chance = (table[node] << below) + rises[node] * (logit & (1 << below) - 1)
            beside = (FINE << below if answer > 0 else 0) - chance
            found = [own + beside * one for own, one in zip(found, x, strict=True)]
        return np.array(found, dtype=object)


def _coordinates(axes: tuple[Axis, ...], batch: Batch) -> tuple[Mask, Integers]:
    """The coordinates of each record that is kept, the response last: whole numbers from -GRAIN to GRAIN."""
    records = CrossProducts(axes, True)
    keep, rows = records.coordinates(batch)
    own = [place for place in records.own if place < rows.shape[1] - 1]
    return keep, rows[:, [*own, rows.shape[1] - 1]].astype(np.int64)


def steeper() -> float:
    """By how much the slope of the tabled chance p is larger than p (1 - p) anywhere, at most."""
    chances = TABLE / FINE
    least = np.minimum(chances[:-1] * (1 - chances[:-1]), chances[1:] * (1 - chances[1:]))
    return float((np.diff(chances) * NODES - least).max())


CURVED_UP = 2.0**-17
"""By how much the weight p (1 - p) of a record in the curvature is larger than it is, at most: rounding."""
