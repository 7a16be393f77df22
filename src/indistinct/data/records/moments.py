"""Moments of a number: how many, how far from the middle, and how far squared; each by the same at
most.

With u = (x - middle) / half in [-1, 1], a record is half times (1, u, 2u² - 1): Chebyshev's polynomials,
whose values fill [-1, 1] too. So Σu² = (Σ(2u² - 1) + n) / 2 has half the noise that it would have if u² were
added up.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from indistinct.data.records.domain import Numbers
from indistinct.data.records.encoding import Boxed, Encoding, Integers
from indistinct.data.records.reach import Box, Reach
from indistinct.data.records.types import Batch, Mask
from indistinct.errors import ArgumentError

COARSE = 4
"""Of a distance before it is squared, so that its square has 62 bits."""


@dataclass(frozen=True)
class NumberMoments(Encoding):
    """The first `size` of these numbers: two for a mean, three for a variance."""

    column: str
    domain: Numbers
    size: int
    counts = False

    def __post_init__(self) -> None:
        if not isinstance(self.domain, Numbers) or self.half < COARSE:
            raise ArgumentError("domain", self.domain, "Numbers(low, high) with low below high")

    @property
    def declared(self) -> tuple[tuple[str, Numbers], ...]:
        return ((self.column, self.domain),)

    @property
    def box(self) -> Boxed:
        return Boxed(self.declared)

    @property
    def step(self) -> float:  # type: ignore[override]
        return self.box.step

    @property
    def _ends(self) -> tuple[int, int]:
        box = self.box.reach
        assert isinstance(box, Box)
        return int(box.low[0]), int(box.high[0])

    @property
    def middle(self) -> int:
        return sum(self._ends) // 2

    @property
    def half(self) -> int:
        return self._ends[1] - self.middle

    @property
    def reach(self) -> Reach:
        low, high = self._ends
        half = self.half
        least = (half, low - self.middle, -half)[: self.size]
        return Box(least, (half, high - self.middle, half)[: self.size])

    @property
    def of_number(self) -> "NumberMoments":
        return self

    @property
    def number(self) -> tuple[str, Numbers]:
        return self.column, self.domain

    def from_sums(self, count: Any, total: Any, squares: Any) -> npt.NDArray[Any]:
        return np.stack([self.half * count, total - self.middle * count, squares][: self.size], axis=1)

    def encode(self, batch: Batch) -> tuple[Mask, Integers]:
        keep, rows = self.box.encode(batch)
        far = rows - self.middle
        numbers = [np.full_like(far, self.half), far, self.squared(far)]
        return keep, np.concatenate(numbers[: self.size], axis=1)

    def squared(self, far: Integers) -> Integers:
        """2u² - 1 in steps, in integers from beginning to end."""
        near = np.abs(far) // COARSE
        twice: Integers = 2 * near * near // (self.half // COARSE) * COARSE - self.half
        return np.clip(twice, -self.half, self.half)
