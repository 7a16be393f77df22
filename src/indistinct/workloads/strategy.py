"""Strategies: what is measured with noise so that a workload's answers follow by least squares.

With A the strategy's matrix, X = AᵀA and noise of variance 1 on each measurement, the estimated counts have
covariance X⁻¹ and the workload's total squared error is tr(V X⁻¹), whatever the data (Li, Hay, Rastogi,
Miklau and McGregor 2010, Proposition 7). What a record may change is a column of A.
"""

import math
from abc import ABC, abstractmethod
from functools import cached_property, partial
from typing import Annotated, Any

import numpy as np
from scipy.linalg import LinAlgError, cho_solve, cholesky, eigh

from indistinct.adjacency import Adjacency, check_adjacency
from indistinct.description import Described, PositiveCount, describable, one_of, spelled
from indistinct.errors import ArgumentError, check_count
from indistinct.mechanisms.additive import Noise
from indistinct.numerics.arrays import EPS, Array
from indistinct.workloads.matrix_value import MatrixValue
from indistinct.workloads.workload import Workload, along_first, check_counts, check_dense

_UP = 1 + 1e-12
"""Norms are raised by more than their rounding."""
_RANK = 1e-11
_LEVELS = 24


class Strategy(Described, ABC):
    """Linear measurements of a histogram."""

    noun = "strategy"

    def __str__(self) -> str:
        return spelled(self, python=False)

    @property
    @abstractmethod
    def cells(self) -> int: ...

    @property
    @abstractmethod
    def measurements(self) -> int:
        """How many numbers are measured."""

    @property
    def float_error(self) -> float:
        """How far `measure` of one record may be off in float64, in L2 norm, relative to its column's."""
        return float(4 * EPS * self.cells * self.cells**0.5)

    @abstractmethod
    def measure(self, histogram: Any) -> Array:
        """A x. Counts run along the first axis."""

    @abstractmethod
    def estimate(self, measured: Any) -> Array:
        """Counts by least squares from noisy measurements; the smallest where they are not determined."""

    @abstractmethod
    def precision(self, counts: Any) -> Array:
        """X x = AᵀA x."""

    @abstractmethod
    def covariance(self) -> Array:
        """X⁻¹ as a dense matrix (the pseudo-inverse where not all counts are determined)."""

    @abstractmethod
    def gram_range(self) -> tuple[float, float]:
        """The largest diagonal entry of X, and a number below all its entries."""

    @abstractmethod
    def column_sum(self) -> float:
        """The largest sum of absolute values in a column of A, or a bound on it."""

    def error(self, workload: Workload) -> float:
        """tr(V X⁻¹): the workload's total squared error for measurements of variance 1."""
        self.check(workload)
        return float(np.vdot(workload.gram(), self.covariance()))

    def variances(self, workload: Workload) -> Array:
        """The variance of each answer for measurements of variance 1."""
        self.check(workload)
        return workload.quadratic(self.covariance())

    def answers(self, workload: Workload, measured: Any) -> Array:
        """The workload's answers, consistent with each other, from noisy measurements."""
        self.check(workload)
        return workload.answers(self.estimate(measured))

    def written(self) -> Array | None:
        """A as a dense matrix, where it is small enough to be multiplied exactly."""
        return None

    def sensitivity(self, noise: Noise, adjacency: Adjacency | str = Adjacency.ADD_REMOVE) -> float:
        """How far the measurements move between neighbours, in the norm of the noise; an upper bound.

        A record is one count of one cell; replacing it moves it to another cell.
        """
        adjacency = check_adjacency(adjacency)
        if one_of(Noise)("noise", noise) is Noise.LAPLACE:
            return self.column_sum() * (1 if adjacency is Adjacency.ADD_REMOVE else 2) * _UP
        largest, least = self.gram_range()
        square = largest if adjacency is Adjacency.ADD_REMOVE else 2 * (largest - min(least, largest))
        return math.sqrt(square) * _UP

    def column_profile(self) -> tuple[tuple[float, int], ...] | None:
        """The absolute values other than 0 in a column and how often each occurs, where all columns agree."""
        return None

    def column_envelope(self) -> tuple[tuple[float, int], ...] | None:
        """Few values, with how often each occurs, that in order of size are nowhere below the absolute
        values of any column; none where columns are not known."""
        return self.column_profile()

    def check(self, workload: Workload) -> None:
        """Refuses a workload that these measurements do not answer."""
        if not isinstance(workload, Workload):
            raise ArgumentError("workload", workload, "a workload such as Prefix(100)")
        if workload.cells != self.cells:
            raise ArgumentError("workload", f"on {workload.cells} cells", f"on {self.cells} cells")


@describable("identity")
class IdentityStrategy(Strategy):
    """Every count by itself: the plain histogram."""

    size: PositiveCount

    @property
    def cells(self) -> int:
        return self.size

    @property
    def measurements(self) -> int:
        return self.size

    def measure(self, histogram: Any) -> Array:
        return check_counts("histogram", histogram, self.size).copy()

    def estimate(self, measured: Any) -> Array:
        return check_counts("measured", measured, self.size).copy()

    def precision(self, counts: Any) -> Array:
        return check_counts("counts", counts, self.size).copy()

    def covariance(self) -> Array:
        return np.eye(check_dense(self.size))

    def gram_range(self) -> tuple[float, float]:
        return 1.0, 0.0

    def column_sum(self) -> float:
        return 1.0

    def column_profile(self) -> tuple[tuple[float, int], ...]:
        return ((1.0, 1),)

    def error(self, workload: Workload) -> float:
        self.check(workload)
        return workload.trace()

    def variances(self, workload: Workload) -> Array:
        self.check(workload)
        return workload.row_norms()


class MatrixStrategy(Strategy, ABC):
    """A strategy whose matrix is written down."""

    @cached_property
    @abstractmethod
    def rows(self) -> Array:
        """A, a measurement a row."""

    @property
    def cells(self) -> int:
        return int(self.rows.shape[1])

    @property
    def measurements(self) -> int:
        return int(self.rows.shape[0])

    def measure(self, histogram: Any) -> Array:
        return along_first(self.rows, check_counts("histogram", histogram, self.cells))

    def written(self) -> Array:
        return self.rows

    def precision(self, counts: Any) -> Array:
        return along_first(self.rows.T, along_first(self.rows, check_counts("counts", counts, self.cells)))

    @cached_property
    def _gram(self) -> Array:
        check_dense(self.cells)
        return self.rows.T @ self.rows

    @cached_property
    def _spectrum(self) -> tuple[Array, Array]:
        """Eigenvalues of X that are not rounding, and their vectors."""
        values, vectors = eigh(self._gram)
        keep = values > _RANK * values[-1]
        return values[keep], vectors[:, keep]

    def estimate(self, measured: Any) -> Array:
        numbers = check_counts("measured", measured, self.measurements)
        right = along_first(self.rows.T, numbers)
        counts = self._solve(right)
        # one step of refinement: the normal equations square the condition number
        return counts + self._solve(right - self.precision(counts))

    def _solve(self, right: Array) -> Array:
        """X⁺ times an array."""
        if self._factor is not None:
            flat = cho_solve((self._factor, True), right.reshape(self.cells, -1), check_finite=False)
            return np.asarray(flat, dtype=np.float64).reshape(right.shape)
        values, vectors = self._spectrum
        return along_first(vectors / values, along_first(vectors.T, right))

    @cached_property
    def _factor(self) -> Array | None:
        """Cholesky's factor of X, where its rank is beyond doubt: ten times as fast as the eigenvectors."""
        try:
            factor = cholesky(self._gram, lower=True, check_finite=False)
        except LinAlgError:
            return None
        pivots = np.diagonal(factor)
        return np.asarray(factor) if pivots.min() > 1e-4 * pivots.max() else None

    def error(self, workload: Workload) -> float:
        self.check(workload)
        if self._factor is None:
            return super().error(workload)
        return float(np.trace(self._solve(workload.gram())))

    def covariance(self) -> Array:
        return self._solve(np.eye(self.cells))

    def gram_range(self) -> tuple[float, float]:
        least = float(self._gram.min()) if self.cells > 1 else float(self._gram[0, 0])
        return float(np.diagonal(self._gram).max()), least

    def column_sum(self) -> float:
        return float(np.abs(self.rows).sum(axis=0).max())

    def column_profile(self) -> tuple[tuple[float, int], ...] | None:
        ordered = np.sort(np.abs(self.rows), axis=0)
        if (ordered != ordered[:, :1]).any():
            return None
        values, counts = np.unique(ordered[:, 0], return_counts=True)
        return tuple((float(v), int(c)) for v, c in zip(values, counts, strict=True) if v > 0)

    def column_envelope(self) -> tuple[tuple[float, int], ...]:
        highest = np.sort(np.abs(self.rows), axis=0).max(axis=1)
        highest = highest[highest > 0]
        # values within some percent of each other are taken for the largest of them
        step = math.log(float(highest[-1] / highest[0]) * _UP) / _LEVELS or 1.0
        level = np.floor(np.log(highest[-1] / highest) / step)
        groups = (highest[level == value] for value in np.unique(level))
        return tuple((float(group.max()), int(group.size)) for group in groups)

    def check(self, workload: Workload) -> None:
        super().check(workload)
        if self._factor is not None:
            return
        values, vectors = self._spectrum
        if values.size < self.cells:
            gram = workload.gram()
            outside = gram - (gram @ vectors) @ vectors.T
            if np.abs(outside).max() > 1e-6 * np.abs(gram).max():
                raise ArgumentError("workload", str(workload), "made of what the strategy measures")


@describable("explicit")
class Explicit(MatrixStrategy):
    """Measurements given as a matrix, one a row."""

    table: MatrixValue

    def __init__(self, table: Any) -> None:
        object.__setattr__(self, "table", MatrixValue.of("table", table, 2))

    @cached_property
    def rows(self) -> Array:
        return self.table.array

    def __str__(self) -> str:
        return f"explicit({self.measurements} measurements of {self.cells} cells)"


@describable("hierarchical")
class Hierarchical(MatrixStrategy):
    """Counts of all nodes of a tree over the cells, each with `branching` children (Hay, Rastogi, Miklau and
    Suciu 2010; Qardaji, Yang and Li 2013)."""

    size: PositiveCount
    branching: Annotated[int, partial(check_count, least=2)] = 2

    @cached_property
    def rows(self) -> Array:
        place, width = np.arange(check_dense(self.size)), 1
        levels = [np.eye(self.size)]
        while width < self.size:
            width *= self.branching
            nodes = np.arange(-(-self.size // width))
            levels.append((nodes[:, None] == place[None, :] // width).astype(np.float64))
        return np.vstack(levels)


def best_hierarchical(workload: Workload, noise: Noise, largest: int = 16) -> Hierarchical:
    """The tree, among those with up to `largest` children a node, that answers the workload best."""
    check_count("largest", largest, least=2)
    trees = [Hierarchical(workload.cells, branching) for branching in range(2, largest + 1)]
    return min(trees, key=lambda tree: tree.error(workload) * tree.sensitivity(noise) ** 2)
