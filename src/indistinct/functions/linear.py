"""Linear functions on a box: the space in which a private regression is a line, with coefficients to read."""

import math

import numpy as np

from indistinct.description import describable
from indistinct.functions.function import corners
from indistinct.functions.space import FiniteSpace
from indistinct.numerics.arrays import EPS, Array


@describable("linear_functions")
class LinearSpace(FiniteSpace):
    """Functions a + b·z of points of a box, with z the coordinates moved to [-1, 1]; what lies outside is
    moved to the edge. The kernel is (1 + z·z'/d) / 2, which is nowhere negative: half of its height is for
    the constant, the rest for the d slopes.

    >>> space = LinearSpace(low=(0, 0), high=(1, 10))
    >>> space.size, space.sensitivity()
    (3, 1.00000)
    """

    low: tuple[float, ...]
    high: tuple[float, ...]
    nonnegative = True

    def __post_init__(self) -> None:
        low, high = corners(int(np.size(self.low)), self.low, self.high)
        object.__setattr__(self, "low", tuple(low.tolist()))
        object.__setattr__(self, "high", tuple(high.tolist()))

    @property
    def dimension(self) -> int:  # type: ignore[override]
        return len(self.low)

    @property
    def size(self) -> int:  # type: ignore[override]
        return len(self.low) + 1

    @property
    def bound(self) -> float:  # type: ignore[override]
        return 1 + 4 * EPS

    @property
    def middle(self) -> Array:
        """Of the box."""
        return (np.array(self.low) + self.high) / 2

    @property
    def _half(self) -> Array:
        return (np.array(self.high) - self.low) / 2

    @property
    def _height(self) -> float:
        """Of each slope's feature; that of the constant is √(1/2)."""
        return math.sqrt(0.5 / self.dimension)

    def __call__(self, points: Array) -> Array:
        # each feature follows from one coordinate alone, so nothing depends on the points beside it
        moved = np.clip((points - self.middle) / self._half, -1.0, 1.0)
        return np.concatenate([np.full((len(points), 1), math.sqrt(0.5)), moved * self._height], axis=1)

    def gradients(self, points: Array) -> Array:
        inside = (np.abs(points - self.middle) <= self._half).astype(np.float64)
        slopes = np.zeros((len(points), self.size, self.dimension))
        slopes[:, 1:] = np.eye(self.dimension) * (self._height / self._half * inside)[:, :, None]
        return slopes

    def integrals(self, low: Array, high: Array) -> Array:
        # of z along one axis: (z² / 2) half inside, ± 1 for what is moved to the edge
        def risen(at: Array) -> Array:
            z = (at - self.middle) / self._half
            risen: Array = np.where(np.abs(z) <= 1, z**2 / 2, np.abs(z) - 0.5) * self._half
            return risen

        volume = float(np.prod(high - low))
        slopes = (risen(high) - risen(low)) / (high - low) * volume * self._height
        return np.concatenate([[math.sqrt(0.5) * volume], slopes])
