"""Workloads: linear queries on a histogram, asked together.

A workload is a matrix W with a row a query and a column a cell of the histogram, but it is seldom written
down: what strategies need is W x, V = WᵀW and the diagonal of W S Wᵀ, and each kind of workload knows these
in its own way.
"""

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse
import scipy.sparse.linalg

from indistinct.description import Described, describable, spelled
from indistinct.errors import ArgumentError, check_count
from indistinct.numerics.arrays import Array
from indistinct.workloads.matrix_value import MatrixValue

LARGEST_DENSE = 8192
"""Cells up to which matrices over all pairs of cells are made."""
_BLOCK = 1 << 22


@dataclass(frozen=True)
class Line:
    """V = factor K⁻¹ with K the Laplacian of a path of unit conductances, grounded at its ends."""

    left: float
    right: float
    factor: float


class Workload(Described, ABC):
    """Linear queries on a histogram of counts, one count a cell."""

    noun = "workload"

    def __str__(self) -> str:
        return spelled(self, python=False)

    @property
    @abstractmethod
    def cells(self) -> int:
        """Cells of the histogram."""

    @property
    @abstractmethod
    def queries(self) -> int:
        """How many numbers are asked for."""

    @abstractmethod
    def answers(self, histogram: Any) -> Array:
        """The answers W x. Counts run along the first axis."""

    @abstractmethod
    def gram(self) -> Array:
        """V = WᵀW as a dense matrix; queries count with their weights."""

    @abstractmethod
    def trace(self) -> float:
        """tr V: the total squared error of noise of variance 1 on every cell."""

    def quadratic(self, covariance: Array) -> Array:
        """The variance of each answer for estimated counts with this covariance: diag(W S Wᵀ)."""
        rows, n = max(1, _BLOCK // self.cells), self.queries
        parts = [self._rows(start, min(start + rows, n)) for start in range(0, n, rows)]
        return np.concatenate([np.einsum("ij,ij->i", part @ covariance, part) for part in parts])

    def row_norms(self) -> Array:
        """Squared norms of the queries: the variances for independent noise of variance 1 on every cell."""
        return self.quadratic(np.eye(check_dense(self.cells)))

    def line(self) -> Line | None:
        """The tridiagonal inverse of V, where there is one."""
        return None

    def products(self) -> "tuple[tuple[float, tuple[Workload, ...]], ...]":
        """The workload as weighted parts, each a Kronecker product: V = Σ weight ⊗ Vᵢ."""
        return ((1.0, (self,)),)

    def matrix(self) -> Array:
        """W as a dense matrix, without weights."""
        return self._rows(0, self.queries)

    def _rows(self, start: int, stop: int) -> Array:
        return self.answers(np.eye(check_dense(self.cells)))[start:stop]

    def _counts(self, histogram: Any) -> Array:
        return check_counts("histogram", histogram, self.cells)


def check_dense(cells: int) -> int:
    """Refuses to make a matrix over all pairs of too many cells."""
    if cells > LARGEST_DENSE:
        raise ArgumentError("cells", cells, f"at most {LARGEST_DENSE} where no structure helps")
    return cells


def check_counts(argument: str, values: Any, cells: int) -> Array:
    """An array whose first axis has the cells."""
    allowed = f"an array of {cells} finite numbers"
    try:
        array = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise ArgumentError(argument, values, allowed) from None
    if array.ndim < 1 or array.shape[0] != cells:
        raise ArgumentError(argument, array.shape, f"of shape ({cells},)")
    if not np.isfinite(array).all():
        raise ArgumentError(argument, "not finite", allowed)
    return array


def along_first(rows: Array, array: Array) -> Array:
    """A matrix times an array of any number of axes, along the first."""
    return np.asarray(np.tensordot(rows, array, 1), dtype=np.float64)


@dataclass(frozen=True, repr=False)
class _OverCells(Workload):
    """Queries that are known by the number of cells in order."""

    size: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "size", check_count("size", self.size, least=1))

    @property
    def cells(self) -> int:
        return self.size


@describable("identity")
class Identity(_OverCells):
    """Every cell by itself."""

    @property
    def queries(self) -> int:
        return self.size

    def answers(self, histogram: Any) -> Array:
        return self._counts(histogram).copy()

    def gram(self) -> Array:
        return np.eye(check_dense(self.size))

    def trace(self) -> float:
        return float(self.size)

    def quadratic(self, covariance: Array) -> Array:
        return np.diagonal(covariance).copy()

    def row_norms(self) -> Array:
        return np.ones(self.size)


@describable("total")
class Total(_OverCells):
    """The sum over all cells."""

    @property
    def queries(self) -> int:
        return 1

    def answers(self, histogram: Any) -> Array:
        return np.asarray(self._counts(histogram).sum(axis=0, keepdims=True), dtype=np.float64)

    def gram(self) -> Array:
        return np.ones((check_dense(self.size),) * 2)

    def trace(self) -> float:
        return float(self.size)

    def quadratic(self, covariance: Array) -> Array:
        return np.array([covariance.sum()])

    def row_norms(self) -> Array:
        return np.array([float(self.size)])


@describable("prefix")
class Prefix(_OverCells):
    """Sums over the first 1, 2, …, n cells: the cumulative distribution.

    >>> Prefix(3).answers([5, 1, 2])
    array([5., 6., 8.])
    """

    @property
    def queries(self) -> int:
        return self.size

    def answers(self, histogram: Any) -> Array:
        return np.cumsum(self._counts(histogram), axis=0)

    def gram(self) -> Array:
        place = np.arange(check_dense(self.size), dtype=np.float64)
        return np.asarray(self.size - np.maximum.outer(place, place), dtype=np.float64)

    def trace(self) -> float:
        return self.size * (self.size + 1) / 2

    def quadratic(self, covariance: Array) -> Array:
        return np.diagonal(np.cumsum(np.cumsum(covariance, axis=0), axis=1)).copy()

    def row_norms(self) -> Array:
        return np.arange(1.0, self.size + 1)

    def line(self) -> Line:
        # V⁻¹ = (I - S)(I - Sᵀ), S the shift: 2 on the diagonal but for its first entry, -1 beside it
        return Line(0.0, 1.0, 1.0)


@describable("all_range")
class AllRange(_OverCells):
    """Sums over every interval of cells, ordered by its start, then by its end.

    >>> AllRange(3).answers([5, 1, 2])
    array([5., 6., 8., 1., 3., 2.])
    """

    @property
    def queries(self) -> int:
        return self.size * (self.size + 1) // 2

    def _ends(self) -> tuple[Any, Any]:
        return np.triu_indices(check_dense(self.size) + 1, 1)

    def answers(self, histogram: Any) -> Array:
        counts = self._counts(histogram)
        start, stop = self._ends()
        sums = np.concatenate((np.zeros_like(counts[:1]), np.cumsum(counts, axis=0)))
        return np.asarray(sums[stop] - sums[start], dtype=np.float64)

    def gram(self) -> Array:
        place = np.arange(check_dense(self.size), dtype=np.float64)
        first, last = np.minimum.outer(place, place), np.maximum.outer(place, place)
        return np.asarray((first + 1) * (self.size - last), dtype=np.float64)

    def trace(self) -> float:
        return self.size * (self.size + 1) * (self.size + 2) / 6

    def quadratic(self, covariance: Array) -> Array:
        sums = np.zeros((self.size + 1, self.size + 1))
        sums[1:, 1:] = np.cumsum(np.cumsum(covariance, axis=0), axis=1)
        ends = np.diagonal(sums)
        start, stop = self._ends()
        return np.asarray(ends[stop] + ends[start] - sums[start, stop] - sums[stop, start], dtype=np.float64)

    def row_norms(self) -> Array:
        start, stop = self._ends()
        return np.asarray(stop - start, dtype=np.float64)

    def line(self) -> Line:
        # min(i, j) (n + 1 - max(i, j)) is n + 1 times Green's function of the path with both ends grounded
        return Line(1.0, 1.0, self.size + 1.0)


@describable("matrix")
class Matrix(Workload):
    """Queries given as a matrix, a query a row.

    >>> Matrix([[1, 1, 0], [0, 1, 1]]).answers([5, 1, 2])
    array([6., 3.])
    """

    table: MatrixValue

    def __init__(self, table: Any) -> None:
        object.__setattr__(self, "table", MatrixValue.of("table", table, 2))

    @property
    def cells(self) -> int:
        return int(self.table.array.shape[1])

    @property
    def queries(self) -> int:
        return int(self.table.array.shape[0])

    def answers(self, histogram: Any) -> Array:
        return along_first(self.table.array, self._counts(histogram))

    def gram(self) -> Array:
        check_dense(self.cells)
        return self.table.array.T @ self.table.array

    def trace(self) -> float:
        return math.fsum(self.row_norms())

    def row_norms(self) -> Array:
        return np.asarray(np.einsum("ij,ij->i", self.table.array, self.table.array), dtype=np.float64)

    def _rows(self, start: int, stop: int) -> Array:
        return self.table.array[start:stop]

    def __str__(self) -> str:
        return f"matrix({self.queries} queries on {self.cells} cells)"


@dataclass(frozen=True, eq=False, repr=False)
class Implicit(Workload):
    """Queries given as a SciPy sparse matrix or a `LinearOperator`: only products are taken.

    Compared by identity: two operators cannot be told to be equal.
    """

    instead = "written as a Matrix to be saved"
    operator: Any

    def __post_init__(self) -> None:
        allowed = "a scipy.sparse matrix or a LinearOperator"
        operator: Any = self.operator
        if not (self._sparse or isinstance(operator, scipy.sparse.linalg.LinearOperator)):
            raise ArgumentError("operator", operator, allowed)
        if min(operator.shape) < 1:
            raise ArgumentError("operator", operator.shape, f"{allowed} with rows and columns")
        if self._sparse and not np.isfinite(operator.tocsr().data).all():
            raise ArgumentError("operator", "not finite", allowed)

    @property
    def _sparse(self) -> bool:
        return bool(scipy.sparse.issparse(self.operator))

    @property
    def cells(self) -> int:
        return int(self.operator.shape[1])

    @property
    def queries(self) -> int:
        return int(self.operator.shape[0])

    def answers(self, histogram: Any) -> Array:
        counts = self._counts(histogram)
        flat = self.operator @ counts.reshape(self.cells, -1)
        return np.asarray(flat, dtype=np.float64).reshape(self.queries, *counts.shape[1:])

    def gram(self) -> Array:
        check_dense(self.cells)
        if self._sparse:
            return np.asarray((self.operator.T @ self.operator).toarray(), dtype=np.float64)
        rows = self.answers(np.eye(self.cells))
        return rows.T @ rows

    def trace(self) -> float:
        return math.fsum(self.row_norms())

    def row_norms(self) -> Array:
        if self._sparse:
            return np.asarray(self.operator.multiply(self.operator).sum(axis=1), dtype=np.float64).ravel()
        return super().row_norms()

    def __str__(self) -> str:
        return f"implicit({self.queries} queries on {self.cells} cells)"
