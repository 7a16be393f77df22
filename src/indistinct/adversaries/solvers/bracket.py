"""A number known to lie between two bounds."""

import math
from typing import NamedTuple


class Bracket(NamedTuple):
    """A lower and an upper bound; the upper one is the guarantee."""

    low: float
    high: float

    @property
    def gap(self) -> float:
        return self.high - self.low

    def at_most(self, ceiling: float) -> "Bracket":
        """The same number, which is also known not to exceed a ceiling."""
        high = min(self.high, ceiling)
        return Bracket(min(self.low, high), high)

    def narrowed(self, other: "Bracket") -> "Bracket":
        """The same number, known in another way too."""
        return Bracket(max(self.low, other.low), min(self.high, other.high))


UNKNOWN = Bracket(0.0, math.inf)
"""What a certificate says that proves nothing."""
INFINITE = Bracket(math.inf, math.inf)
