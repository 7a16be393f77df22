"""Strategies for several attributes: one for each, and all products of their measurements."""

import math
from typing import Any

import numpy as np

from indistinct.description import describable
from indistinct.errors import ArgumentError
from indistinct.numerics.arrays import Array
from indistinct.workloads.combined import Kronecker, Stacked, along_each, outer
from indistinct.workloads.marginals import Marginals
from indistinct.workloads.strategy import Strategy
from indistinct.workloads.workload import Workload, check_counts, check_dense


@describable("kronecker")
class KroneckerStrategy(Strategy):
    """The Kronecker product of strategies. With the factors' optima it is optimal for a Kronecker workload:
    roots, diagonals and inverses of Kronecker products are those of the factors, so the fixed point of the
    product is the product of the fixed points."""

    factors: tuple[Strategy, ...]

    def __init__(self, *factors: Strategy) -> None:
        if not factors or not all(isinstance(factor, Strategy) for factor in factors):
            raise ArgumentError("factors", factors, "one strategy or more")
        object.__setattr__(self, "factors", factors)

    @property
    def float_error(self) -> float:
        return 2 * math.fsum(factor.float_error for factor in self.factors)

    @property
    def cells(self) -> int:
        return math.prod(self._shape)

    @property
    def measurements(self) -> int:
        return math.prod(factor.measurements for factor in self.factors)

    @property
    def _shape(self) -> tuple[int, ...]:
        return tuple(factor.cells for factor in self.factors)

    def measure(self, histogram: Any) -> Array:
        counts = check_counts("histogram", histogram, self.cells)
        return along_each([factor.measure for factor in self.factors], self._shape, counts)

    def estimate(self, measured: Any) -> Array:
        numbers = check_counts("measured", measured, self.measurements)
        shape = [factor.measurements for factor in self.factors]
        return along_each([factor.estimate for factor in self.factors], shape, numbers)

    def precision(self, counts: Any) -> Array:
        vector = check_counts("counts", counts, self.cells)
        return along_each([factor.precision for factor in self.factors], self._shape, vector)

    def covariance(self) -> Array:
        check_dense(self.cells)
        return outer([factor.covariance() for factor in self.factors])

    def gram_range(self) -> tuple[float, float]:
        largest, least, most = 1.0, 1.0, 1.0
        for factor in self.factors:
            # entries of X lie between a factor's least one and its largest, which is on the diagonal
            high, low = factor.gram_range()
            corners = (least * low, least * high, most * low, most * high)
            largest, least, most = largest * high, min(corners), max(corners)
        return largest, least

    def column_sum(self) -> float:
        return math.prod(factor.column_sum() for factor in self.factors)

    def column_profile(self) -> tuple[tuple[float, int], ...] | None:
        profile: dict[float, int] = {1.0: 1}
        for factor in self.factors:
            inner = factor.column_profile()
            if inner is None:
                return None
            merged: dict[float, int] = {}
            for value, count in profile.items():
                for other, times in inner:
                    merged[value * other] = merged.get(value * other, 0) + count * times
            profile = merged
        return tuple(sorted(profile.items()))

    def _parts(self, workload: Workload) -> tuple[tuple[float, tuple[Workload, ...]], ...] | None:
        """The workload's parts, where they are products over the same attributes."""
        parts = workload.products()
        return parts if all(tuple(f.cells for f in inner) == self._shape for _, inner in parts) else None

    def error(self, workload: Workload) -> float:
        self.check(workload)
        parts = self._parts(workload)
        if parts is None:
            return super().error(workload)
        return math.fsum(
            weight * math.prod(s.error(w) for s, w in zip(self.factors, inner, strict=True))
            for weight, inner in parts
        )

    def variances(self, workload: Workload) -> Array:
        self.check(workload)
        if isinstance(workload, Stacked):
            return np.concatenate([self.variances(part) for part in workload.parts])
        if isinstance(workload, Marginals) and self._parts(workload) is not None:
            return np.concatenate([self.variances(Kronecker(*inner)) for _, inner in workload.products()])
        if isinstance(workload, Kronecker) and workload.shape == self._shape:
            pairs = zip(self.factors, workload.factors, strict=True)
            return outer([strategy.variances(factor) for strategy, factor in pairs])
        return super().variances(workload)
