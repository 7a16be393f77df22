"""Strategies: what is measured with noise so that a workload's answers follow by least squares.

With A the strategy's matrix, X = AᵀA and noise of variance 1 on each measurement, the estimated counts have
covariance X⁻¹ and the workload's total squared error is tr(V X⁻¹), whatever the data (Li, Hay, Rastogi,
Miklau and McGregor 2010, Proposition 7). What a record may change is a column of A.
"""

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from enum import Enum
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from scipy.linalg import eigh

from indistinct.adjacency import Adjacency
from indistinct.errors import ArgumentError, check_count
from indistinct.numerics.arrays import Array
from indistinct.workloads.table import Table
from indistinct.workloads.workload import Workload, check_counts, check_dense

_UP = 1 + 1e-12
"""Norms are raised by more than their rounding."""
_RANK = 1e-11


class Noise(Enum):
    """The noise on measurements: its law decides which norm of a column counts."""

    GAUSSIAN = "gaussian"
    LAPLACE = "laplace"

    @property
    def variance(self) -> float:
        """Of noise of scale 1."""
        return 1.0 if self is Noise.GAUSSIAN else 2.0


def check_noise(noise: object) -> Noise:
    if not isinstance(noise, Noise):
        raise ArgumentError("noise", noise, "Noise.GAUSSIAN or Noise.LAPLACE")
    return noise


@dataclass(frozen=True)
class Strategy(ABC):
    """Linear measurements of a histogram."""

    kind: ClassVar[str]
    float_error: ClassVar[float] = 1e-14
    """How far `measure` may be off in float64, for each record of the histogram."""

    @property
    @abstractmethod
    def cells(self) -> int: ...

    @property
    @abstractmethod
    def measurements(self) -> int:
        """How many numbers are measured."""

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
        self._check(workload)
        return float(np.vdot(workload.gram(), self.covariance()))

    def variances(self, workload: Workload) -> Array:
        """The variance of each answer for measurements of variance 1."""
        self._check(workload)
        return workload.quadratic(self.covariance())

    def answers(self, workload: Workload, measured: Any) -> Array:
        """The workload's answers, consistent with each other, from noisy measurements."""
        self._check(workload)
        return workload.answers(self.estimate(measured))

    def written(self) -> Array | None:
        """A as a dense matrix, where it is small enough to be multiplied exactly."""
        return None

    def sensitivity(self, noise: Noise, adjacency: Adjacency = Adjacency.ADD_REMOVE) -> float:
        """How far the measurements move between neighbours, in the norm of the noise; an upper bound.

        A record is one count of one cell; replacing it moves it to another cell.
        """
        if check_noise(noise) is Noise.LAPLACE:
            return self.column_sum() * (1 if adjacency is Adjacency.ADD_REMOVE else 2) * _UP
        largest, least = self.gram_range()
        square = largest if adjacency is Adjacency.ADD_REMOVE else 2 * (largest - min(least, largest))
        return math.sqrt(square) * _UP

    def column_profile(self) -> tuple[tuple[float, int], ...] | None:
        """The absolute values other than 0 in a column and how often each occurs, where all columns agree."""
        return None

    def _check(self, workload: Workload) -> None:
        if not isinstance(workload, Workload):
            raise ArgumentError("workload", workload, "a workload such as Prefix(100)")
        if workload.cells != self.cells:
            raise ArgumentError("workload", f"on {workload.cells} cells", f"on {self.cells} cells")


@dataclass(frozen=True)
class IdentityStrategy(Strategy):
    """Every count by itself: the plain histogram."""

    kind = "identity"
    float_error = 0.0
    size: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "size", check_count("size", self.size, least=1))

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
        self._check(workload)
        return workload.trace()

    def variances(self, workload: Workload) -> Array:
        self._check(workload)
        return workload.row_norms()

    def __str__(self) -> str:
        return f"identity({self.size})"


class MatrixStrategy(Strategy):
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
        return self.rows @ check_counts("histogram", histogram, self.cells)

    def written(self) -> Array:
        return self.rows

    def precision(self, counts: Any) -> Array:
        return self.rows.T @ (self.rows @ check_counts("counts", counts, self.cells))

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
        values, vectors = self._spectrum
        right = self.rows.T @ check_counts("measured", measured, self.measurements)
        counts = (vectors / values) @ (vectors.T @ right)
        # one step of refinement: the normal equations square the condition number
        counts += (vectors / values) @ (vectors.T @ (right - self.rows.T @ (self.rows @ counts)))
        return np.asarray(counts, dtype=np.float64)

    def covariance(self) -> Array:
        values, vectors = self._spectrum
        return np.asarray((vectors / values) @ vectors.T, dtype=np.float64)

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

    def _check(self, workload: Workload) -> None:
        super()._check(workload)
        values, vectors = self._spectrum
        if values.size < self.cells:
            gram = workload.gram()
            outside = gram - (gram @ vectors) @ vectors.T
            if np.abs(outside).max() > 1e-6 * np.abs(gram).max():
                raise ArgumentError("workload", str(workload), "made of what the strategy measures")


@dataclass(frozen=True)
class Explicit(MatrixStrategy):
    """Measurements given as a matrix, one a row."""

    kind = "explicit"
    table: Table

    def __init__(self, rows: Any) -> None:
        object.__setattr__(self, "table", rows if isinstance(rows, Table) else Table("rows", rows, 2))

    @cached_property
    def rows(self) -> Array:
        return self.table.array

    def __str__(self) -> str:
        return f"explicit({self.measurements} measurements of {self.cells} cells)"


@dataclass(frozen=True)
class Hierarchical(MatrixStrategy):
    """Counts of all nodes of a tree over the cells, each with `branching` children (Hay, Rastogi, Miklau and
    Suciu 2010; Qardaji, Yang and Li 2013)."""

    kind = "hierarchical"
    size: int
    branching: int = 2

    def __post_init__(self) -> None:
        object.__setattr__(self, "size", check_count("size", self.size, least=1))
        object.__setattr__(self, "branching", check_count("branching", self.branching, least=2))

    @cached_property
    def rows(self) -> Array:
        place, width = np.arange(check_dense(self.size)), 1
        levels = [np.eye(self.size)]
        while width < self.size:
            width *= self.branching
            nodes = np.arange(-(-self.size // width))
            levels.append((nodes[:, None] == place[None, :] // width).astype(np.float64))
        return np.vstack(levels)

    def __str__(self) -> str:
        return f"hierarchical({self.size}, branching={self.branching})"


def best_hierarchical(workload: Workload, noise: Noise, largest: int = 16) -> Hierarchical:
    """The tree, among those with up to `largest` children a node, that answers the workload best."""
    check_noise(noise)
    check_count("largest", largest, least=2)
    trees = [Hierarchical(workload.cells, branching) for branching in range(2, largest + 1)]
    return min(trees, key=lambda tree: tree.error(workload) * tree.sensitivity(noise) ** 2)
