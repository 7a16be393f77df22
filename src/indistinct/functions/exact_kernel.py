"""The exact kernel, with a path of the noise that is extended where it is asked for."""

import math
import os
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from itertools import pairwise
from threading import Lock
from typing import Any, Self

import numpy as np

from indistinct.adjacency import Adjacency
from indistinct.data import FeatureMap, FeatureSum, Records, Table, Unit, table
from indistinct.description import describable
from indistinct.errors import ArgumentError, check_count
from indistinct.functions.function import FunctionNoise, PrivateFunction, corners, gauss_legendre
from indistinct.functions.kernels import Kernel
from indistinct.functions.space import Axes, Space
from indistinct.functions.whitening import Functionals, Whitening
from indistinct.mechanisms.release import Lattice
from indistinct.noise import Source
from indistinct.numerics.arrays import Array

_MOST = 4096
"""Coordinates of one path: beyond, a finite space is the better choice."""
_ROUNDING = 1e-6
"""How much rounding may add to a length, relatively; checked for every batch."""


@describable("exact_kernel")
class ExactKernel(Space):
    """All functions of a kernel's own space. Every new point asked for is one pass over the data: for few
    evaluations, where no approximation of the kernel is wanted.

    >>> from indistinct.functions import MaternKernel
    >>> ExactKernel(MaternKernel(smoothness=1.5, length=0.2), dimension=2).sensitivity()
    1.0
    """

    kernel: Kernel
    dimension: int

    def __post_init__(self) -> None:
        if not isinstance(self.kernel, Kernel):
            raise ArgumentError("kernel", self.kernel, "a kernel such as GaussianKernel(length=1)")
        if not math.isfinite(self.kernel.bound):
            raise ArgumentError("kernel", self.kernel, "bounded: without a bound there is no sensitivity")
        object.__setattr__(self, "dimension", check_count("dimension", self.dimension, least=1))
        self.kernel.checked("dimension", np.zeros((0, self.dimension)))

    @property
    def bound(self) -> float:  # type: ignore[override]
        root = math.sqrt(self.kernel.bound)
        return root if root * root >= self.kernel.bound else math.nextafter(root, math.inf)

    @property
    def nonnegative(self) -> bool:  # type: ignore[override]
        """Unknown, whatever the kernel. `Coordinates` are cut to their length, which holds for any points
        that are asked for; where these are nearly dependent, rounding may turn the vectors of records."""
        return False

    def deviation(self, points: Any) -> Array:
        return np.sqrt(self.kernel.diagonal(self.points(points)))

    def release_sum(
        self, scale: float, data: Any, axes: Axes, *, unit: Unit, records: int | None, source: Source | None
    ) -> "PathFunction":
        if not isinstance(unit, Records):
            allowed = "Records(): a path drawn bit by bit must take the same records of a user each time"
            raise ArgumentError("unit", unit, allowed)
        # passes over different records would let one person's take part at full length in each of them
        curator = Curator(table(data).kept(), tuple(axes.items()), source)
        longer = 1 + 2 * _ROUNDING
        added, replaced = (self.sensitivity(adjacency) * longer for adjacency in Adjacency)
        private = source is None or source.private
        noise = FunctionNoise(scale, Lattice.of(scale).unit, added, replaced)
        path = NoisePath(Whitening.empty(self.kernel, self.dimension), np.zeros(0))
        curator.check(self)
        return PathFunction(self, noise, private, path=path, curator=curator)


@dataclass(frozen=True, eq=False)
class Coordinates(FeatureMap):
    """The whitened values of k(x, ·) that the last batch of nodes adds, for each record's x.

    All batches together are one vector, whose length is at most √k(x, x) in exact arithmetic. Here each
    batch is cut to what the earlier ones have left of that length, so that it holds for the numbers that
    are added up."""

    whitening: Whitening
    ends: tuple[int, ...]
    """Of the batches, the last one included."""
    bound: float

    nonnegative = False

    @property
    def size(self) -> int:  # type: ignore[override]
        return self.ends[-1] - ([0, *self.ends][-2])

    @property
    def dimension(self) -> int:  # type: ignore[override]
        return int(self.whitening.nodes.points.shape[1])

    def __call__(self, points: Array) -> Array:
        whitened = self.whitening.whitened(points)
        left = np.full(len(points), self.bound**2)
        batch = whitened
        for start, end in pairwise((0, *self.ends)):
            batch = whitened[:, start:end]
            squares = np.einsum("ij,ij->i", batch, batch)
            batch = batch * np.sqrt(np.minimum(left / np.maximum(squares, 1e-300), 1.0))[:, None]
            left = np.maximum(left - np.einsum("ij,ij->i", batch, batch), 0.0)
        return batch


@dataclass(frozen=True, eq=False)
class Curator:
    """Who holds the data. A function read from a file has none.

    There is one path, and it is drawn once: noise that is drawn again for the same points could be averaged
    away. So threads take turns, copies share the path, and what leaves the process leaves the data behind.
    """

    data: Table = field(repr=False)
    axes: Sequence[tuple[str, Any]]
    source: Source | None
    alone: AbstractContextManager[Any] = field(repr=False, default_factory=Lock)
    process: int = field(repr=False, default_factory=os.getpid)

    def __deepcopy__(self, memo: Any) -> Self:
        return self

    def __reduce__(self) -> tuple[type[None], tuple[()]]:
        """Pickled as None: a function without data."""
        return type(None), ()

    def check(self, space: ExactKernel) -> None:
        """Refuses unknown columns and wrong types, without reading a record."""
        probe = Functionals.values(np.zeros((1, space.dimension)))
        self._query(space, Whitening(space.kernel, probe, np.ones((1, 1))), (1,)).check(self.data)

    def draw(self, function: "PathFunction", whitening: Whitening, ends: tuple[int, ...]) -> Array:
        """The whitened values of the sum that the last batch adds, with noise."""
        if os.getpid() != self.process:
            allowed = "points of before: only the process that released the function may extend its path"
            raise ArgumentError("points", "new ones in a process that was forked", allowed)
        query = self._query(function.space, whitening, ends)
        if math.sqrt(_MOST) * query.bounded.step > _ROUNDING * function.space.bound:
            raise ArithmeticError("more rounding than was accounted; please report this as a bug")
        values: Array = query.gaussian(function.mechanism.scale).release(self.data, source=self.source).values
        return values

    def _query(self, space: ExactKernel, whitening: Whitening, ends: tuple[int, ...]) -> FeatureSum:
        return FeatureSum(dict(self.axes), Coordinates(whitening, ends, space.bound))


@dataclass(eq=False)
class NoisePath:
    """What is known of a path so far: it only ever grows, and what was said once is said again."""

    whitening: Whitening
    whitened: Array
    ends: tuple[int, ...] = ()
    """Of the batches in which it was drawn."""
    answers: dict[tuple[bytes, int], float] = field(default_factory=dict)

    def __deepcopy__(self, memo: Any) -> Self:
        """Itself: two paths of one release would be two releases."""
        return self


@dataclass(frozen=True, eq=False)
class PathFunction(PrivateFunction):
    """A private function of the exact kernel. While the data are at hand, new points extend the path; read
    from a file, it answers elsewhere with its best guess from what was asked before (the conditional
    mean)."""

    space: ExactKernel
    mechanism: FunctionNoise
    private: bool
    factor: float = 1.0
    path: NoisePath = field(repr=False, kw_only=True)
    curator: Curator | None = field(repr=False, default=None, kw_only=True)

    def __call__(self, points: Any) -> Array:
        return self.factor * self._answers(Functionals.values(self.space.points(points)))

    def gradient(self, points: Any) -> Array:
        rows = self.space.points(points)
        return self.factor * self._answers(Functionals.gradients(rows)).reshape(rows.shape)

    def integral(self, low: Any, high: Any) -> float:
        """By a Gauss-Legendre rule on values of the path: for smooth kernels, and boxes of a few lengths."""
        low, high = corners(self.space.dimension, low, high)
        points, weights = gauss_legendre(low, high, max(3, round(256 ** (1 / len(low)))))
        return float(weights @ self(points))

    def without_data(self) -> "PathFunction":
        """The same path, unable to learn more."""
        return replace(self, curator=None)

    def _answers(self, asked: Functionals) -> Array:
        points = asked.points + 0.0  # -0.0 is 0.0
        keys = [(point.tobytes(), int(axis)) for point, axis in zip(points, asked.axes, strict=True)]
        path = self.path
        with nullcontext() if self.curator is None else self.curator.alone:
            first = {key: place for place, key in reversed(list(enumerate(keys))) if key not in path.answers}
            if first:
                places = np.array(sorted(first.values()), dtype=np.intp)
                values = self._asked_first(asked.take(places))
                path.answers.update({keys[place]: float(v) for place, v in zip(places, values, strict=True)})
            return np.array([path.answers[key] for key in keys])

    def _asked_first(self, new: Functionals) -> Array:
        path = self.path
        if self.curator is None:
            values: Array = path.whitening.rows(new) @ path.whitened
            return values
        whitening, rows = path.whitening.extended(new)
        if len(whitening) > _MOST:
            allowed = f"{_MOST} in all for one path; for more use FourierBasis or RandomFeatures"
            raise ArgumentError("points", f"{len(whitening)} that are independent", allowed)
        if len(whitening) > len(path.whitening):
            ends = (*path.ends, len(whitening))
            whitened = np.concatenate([path.whitened, self.curator.draw(self, whitening, ends)])
            # Together, and only once it is drawn.
            path.whitening, path.whitened, path.ends = whitening, whitened, ends
        values = rows @ path.whitened
        return values

    def _saved(self) -> dict[str, Array]:
        keys, answers = list(self.path.answers), list(self.path.answers.values())
        asked = np.array([np.frombuffer(point) for point, _ in keys]).reshape(-1, self.space.dimension)
        return {
            "points": self.path.whitening.nodes.points,
            "axes": self.path.whitening.nodes.axes.astype(np.float64),
            "factor": self.path.whitening.factor,
            "whitened": self.path.whitened,
            "asked": asked,
            "asked_axes": np.array([axis for _, axis in keys], dtype=np.float64),
            "answers": np.array(answers),
        }
