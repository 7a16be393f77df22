"""A released function: evaluate it, differentiate it, integrate it, keep it, as often as you like.

All of that is post-processing of one release and costs nothing more, also where the points are chosen after
looking at earlier answers: the answers belong to one path of the noise, drawn once.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Self

import numpy as np

from indistinct.adjacency import Adjacency
from indistinct.description import Positive, describable
from indistinct.errors import ArgumentError, check_nonnegative, check_real
from indistinct.files import write_npz
from indistinct.guarantees.discrete_noise_pairs import FINE
from indistinct.guarantees.guarantee import Guarantee
from indistinct.mechanisms import DiscreteGaussian, Mechanism
from indistinct.mechanisms.release import Lattice, no_guarantee, real_values
from indistinct.noise import Source
from indistinct.numerics.arrays import Array

if TYPE_CHECKING:
    from indistinct.functions.space import FiniteSpace, Space

_SEARCHED = 2048
_ZOOMS = 12


@describable("function_noise")
class FunctionNoise(Mechanism):
    """The noise of a function: exact discrete Gaussians on its coefficients, which lie on a lattice, and how
    far neighbours are apart. A record that is replaced moves the function by another length than one that
    comes or goes."""

    scale: Positive
    unit: Positive
    """Coefficients lie on multiples of this."""
    added: Annotated[float, partial(check_nonnegative, finite=False)]
    """How far a record that comes or goes moves the coefficients, rounding included."""
    replaced: Annotated[float, partial(check_nonnegative, finite=False)]

    def __post_init__(self) -> None:
        if self.replaced > 2 * self.added * (1 + 1e-6):
            raise ArgumentError("added", self.added, f"at least half of replaced={self.replaced!r}")

    def __str__(self) -> str:
        return f"noise of scale {self.scale!r} on a function"

    def _guarantee(self, adjacency: Adjacency) -> Guarantee:
        moved = self.added if adjacency is Adjacency.ADD_REMOVE else self.replaced
        # On a lattice that is not fine, a length of several coefficients does not say how far each one moves.
        if math.isinf(moved / self.unit) or self.scale / self.unit < FINE:
            return no_guarantee(adjacency)
        return DiscreteGaussian(self.scale / self.unit, moved / self.unit).guarantee(adjacency)

    @classmethod
    def rounded(cls, scale: float, size: int, moves: Mapping[Adjacency, float]) -> Self:
        """That of so many coefficients, rounded to the lattice of the scale, which neighbours move so far:
        infinitely where there is no guarantee."""
        lattice = Lattice.of(scale)
        added, replaced = (lattice.moved(moves[kind], math.sqrt(size)) * lattice.unit for kind in Adjacency)
        return cls(scale, lattice.unit, added, replaced)

    def added_to(self, space: "FiniteSpace", coefficients: Any, source: Source | None) -> "FiniteFunction":
        """The function with these coefficients, rounded to the lattice of the scale, plus noise."""
        lattice = Lattice.of(self.scale)
        exact = lattice.nearest(real_values("coefficients", coefficients))
        if exact.shape != (space.size,):  # before noise is drawn
            raise ArgumentError("coefficients", exact.shape, f"{space.size} numbers")
        drawn = lattice.measured(DiscreteGaussian(self.scale / lattice.unit).release(exact, source=source))
        return FiniteFunction(space, self, drawn.private, coefficients=np.asarray(drawn.values))


@dataclass(frozen=True, eq=False)
class PrivateFunction(ABC):
    """A function that was released with Gaussian-process noise."""

    space: "Space"
    mechanism: FunctionNoise
    private: bool
    """False if the noise came from a seed: who knows the seed knows the data."""
    factor: float
    """What values were multiplied by since; public."""

    @abstractmethod
    def __call__(self, points: Any) -> Array:
        """The function at points [n, d], or [n] in one dimension."""

    @abstractmethod
    def gradient(self, points: Any) -> Array:
        """Its gradient at the points, [n, d]: that of the same path, noise included."""

    @abstractmethod
    def integral(self, low: Any, high: Any) -> float:
        """Its integral over the box from corner `low` to corner `high`."""

    def deviation(self, points: Any) -> Array:
        """The standard deviation of the noise at the points."""
        return abs(self.factor) * self.mechanism.scale * self.space.deviation(points)

    def guarantee(self, adjacency: Adjacency | str | None = None) -> Guarantee:
        """Of the release, whatever is asked of the function; none at all if its noise came from a seed."""
        known = self.mechanism.guarantee(adjacency)
        return known if self.private else no_guarantee(known.adjacency)

    def __mul__(self, number: Any) -> Self:
        factor = check_real("number", number)
        if not math.isfinite(factor):
            raise ArgumentError("number", number, "a finite number")
        return replace(self, factor=self.factor * factor)

    __rmul__ = __mul__

    def __truediv__(self, number: Any) -> Self:
        if not check_real("number", number):
            raise ArgumentError("number", number, "a number other than 0")
        return self * (1 / float(number))

    def argmax(self, low: Any, high: Any) -> Array:
        """Where the function is largest in a box, by a search: a grid, then finer and finer ones around its
        best point. A higher peak that is narrower than the first grid may be missed."""
        low, high = corners(self.space.dimension, low, high)
        each = max(3, round(_SEARCHED ** (1 / len(low)))) if len(low) <= 6 else 2
        best = self._best(low, high, each)
        half = (high - low) / (each - 1)
        for _ in range(_ZOOMS):
            best = self._best(np.maximum(best - half, low), np.minimum(best + half, high), 5)
            half = half / 2
        return best

    def _best(self, low: Array, high: Array, each: int) -> Array:
        lines = [np.linspace(a, b, each) for a, b in zip(low, high, strict=True)]
        grid = np.stack(np.meshgrid(*lines, indexing="ij"), axis=-1).reshape(-1, len(low))
        best: Array = grid[int(np.argmax(self(grid)))]
        return best

    def plot(self, low: Any, high: Any, path: str | Path | None = None) -> Any:
        """The function over a box in one or two dimensions, as a matplotlib figure: a curve with a band of
        two standard deviations of the noise, or a map."""
        from indistinct.functions.plot import draw

        return draw(self, *corners(self.space.dimension, low, high), path)

    @abstractmethod
    def _saved(self) -> dict[str, Array]:
        """What is kept, as arrays."""

    def save(self, path: str | Path) -> None:
        """Writes the function to a file (.npz: arrays and a line of JSON, nothing that could run)."""
        noise = {"mechanism": self.mechanism, "private": self.private}
        head = {**noise, "factor": self.factor, "space": self.space}
        write_npz(path, head, self._saved())

    @staticmethod
    def load(path: str | Path) -> "PrivateFunction":
        """What `save` wrote."""
        from indistinct.functions.saved import read_function

        return read_function(path)


@dataclass(frozen=True, eq=False)
class FiniteFunction(PrivateFunction):
    """A private function with finitely many coefficients: nothing else is needed to know it everywhere."""

    space: "FiniteSpace"
    mechanism: FunctionNoise
    private: bool
    factor: float = 1.0
    coefficients: Array = field(repr=False, default_factory=lambda: np.zeros(0))

    def __post_init__(self) -> None:
        if self.coefficients.shape != (self.space.size,):
            raise ArgumentError("coefficients", self.coefficients.shape, f"{self.space.size} numbers")

    def __call__(self, points: Any) -> Array:
        return self.factor * self.space.evaluate(self.coefficients, self.space.points(points))

    def gradient(self, points: Any) -> Array:
        return self.factor * self.space.evaluate_gradient(self.coefficients, self.space.points(points))

    def integral(self, low: Any, high: Any) -> float:
        box = corners(self.space.dimension, low, high)
        return self.factor * float(self.space.integrals(*box) @ self.coefficients)

    def _saved(self) -> dict[str, Array]:
        return {"coefficients": self.coefficients}


def corners(dimension: int, low: Any, high: Any) -> tuple[Array, Array]:
    """The two corners of a box."""
    ends = [np.atleast_1d(np.asarray(end, dtype=np.float64)) for end in (low, high)]
    for name, end in zip(("low", "high"), ends, strict=True):
        if end.shape != (dimension,) or not np.isfinite(end).all():
            raise ArgumentError(name, low if name == "low" else high, f"{dimension} finite numbers")
    if not (ends[0] < ends[1]).all():
        raise ArgumentError("high", high, f"above low={low!r} in every coordinate")
    return ends[0], ends[1]


def gauss_legendre(low: Array, high: Array, each: int) -> tuple[Array, Array]:
    """Points and weights of a product rule on a box."""
    nodes, weights = np.polynomial.legendre.leggauss(each)
    middle, half = (low + high) / 2, (high - low) / 2
    points = np.array(list(product(nodes, repeat=len(low)))) * half + middle
    total = np.array([math.prod(w) for w in product(weights, repeat=len(low))]) * float(np.prod(half))
    return points, total
