"""Sums of products of features: Σ φ(x) φ(x)ᵀ over records, a second moment or a matrix of curvatures."""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from indistinct.data.queries.feature_sums import Axes, FeatureMap, Mapped
from indistinct.data.queries.intervals import Values
from indistinct.data.queries.query import Query
from indistinct.data.records.domain import Categories, Numbers
from indistinct.data.records.encoding import RESOLUTION, Encoding, Integers, step_for
from indistinct.data.records.reach import Ball, Norm, Reach
from indistinct.data.records.types import Batch, Mask
from indistinct.data.records.unit import RECORDS, Unit
from indistinct.description import describable

_BITS = 20
"""Between the bound on features and what they are rounded to."""
_ROWS = 2**12
"""Products of two numbers of 20 bits, so many of them: their sums are integers that floats hold exactly."""


@dataclass(frozen=True)
class Products(Encoding):
    """The products of every two features of a record, each pair once: the upper triangle of φ φᵀ.

    Features are rounded to few enough bits that a matrix product of floats adds up integers without any
    rounding, in whatever order it does so.
    """

    axes: Axes
    map: FeatureMap
    records: int | None = None
    counts = False

    def __post_init__(self) -> None:
        _ = self._features  # refuses what is no point, and what has no bound

    @property
    def _features(self) -> Mapped:
        return Mapped(self.axes, self.map, None, self.records)

    @property
    def size(self) -> int:  # type: ignore[override]
        return self.map.size * (self.map.size + 1) // 2

    @property
    def grain(self) -> float:
        """What features are rounded to."""
        return step_for(self.map.bound) * 2.0 ** (RESOLUTION - _BITS)

    @property
    def step(self) -> float:  # type: ignore[override]
        return self.grain**2

    @property
    def reach(self) -> Reach:
        fine, m = self._features, self.map.size
        longest = math.ceil(fine.limit * fine.step / self.grain) + math.isqrt(m) + 1
        # Removing a record may round the others differently: |vvᵀ - wwᵀ| ≤ |v - w| (|v| + |w|).
        wobble = fine.map.wobble(fine.radius)
        other = 2 * longest * (self.most or 0) * (wobble / self.grain + math.sqrt(m))
        # Σ_{i≤j} v_i v_j w_i w_j = (<v, w>² + Σ v_i² w_i²)/2 is never negative.
        return Ball(Norm.L2, longest**2 + math.ceil(other), self.size, acute=not wobble)

    @property
    def most(self) -> int | None:  # type: ignore[override]
        return self._features.most

    @property
    def wobbles(self) -> bool:
        return self._features.wobbles

    def encode(self, batch: Batch) -> tuple[Mask, Integers]:
        keep, points, _ = self._features.points(batch)
        left, right = np.triu_indices(self.map.size)
        rows = np.concatenate([part.astype(np.int64) for part in self._rounded(points)])
        return keep, rows[:, left] * rows[:, right]

    def add_up(self, batch: Batch) -> npt.NDArray[Any]:
        _, points, _ = self._features.points(batch)
        total = np.zeros((self.map.size, self.map.size), dtype=np.int64)
        for part in self._rounded(points):
            total += (part.T @ part).astype(np.int64)
        return total[np.triu_indices(self.map.size)].astype(object)

    def _rounded(self, points: npt.NDArray[np.float64]) -> Iterator[npt.NDArray[np.float64]]:
        fine = self._features
        for start in range(0, max(len(points), 1), _ROWS):
            rows = fine.rounded(points[start : start + _ROWS])
            yield np.rint(rows * (fine.step / self.grain))


@describable()
class ProductSum(Query):
    """The sum over records of φ φᵀ, a symmetric matrix.

    >>> from indistinct.functions import GaussianKernel, RandomFeatures
    >>> place = {"x": Numbers(0, 1), "y": Numbers(0, 1)}
    >>> query = ProductSum(place, RandomFeatures(GaussianKernel(0.1), pairs=5, dimension=2))
    >>> query.size, query.sensitivity(Norm.L2)
    (55, 1.000)
    """

    by_group = False
    axes: Axes
    map: FeatureMap
    unit: Unit
    records: int | None

    def __init__(
        self,
        axes: Mapping[str, Numbers | Categories],
        map: FeatureMap,
        *,
        unit: Unit = RECORDS,
        records: int | None = None,
    ) -> None:
        self._declare(axes=tuple(dict(axes).items()), map=map, unit=unit, records=records)

    @property
    def encoding(self) -> Products:
        return Products(self.axes, self.map, self.records)

    def read(self, values: Values) -> Any:
        matrix = np.zeros((self.map.size, self.map.size))
        matrix[np.triu_indices(self.map.size)] = values
        return matrix + np.triu(matrix, 1).T
