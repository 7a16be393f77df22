"""Optimal strategies on a line: prefix sums and ranges over any number of cells.

For these workloads V⁻¹ is tridiagonal: K / factor with K the Laplacian of a path, grounded at one or both
ends. Then M = (D^½ V D^½)^½ is the inverse square root of a tridiagonal matrix, which a rational
approximation with some fifty poles gives to the last digits (Hale, Higham and Trefethen 2008, method 3):

    X = Σ w (V⁻¹ + t² D)⁻¹.

Each term costs a pass along the line, without subtractions: all n counts and their optimum cost O(n).
"""

import math
from functools import cached_property
from typing import Any

import numpy as np
from scipy.linalg import eigh_tridiagonal
from scipy.special import ellipk, ellipkm1

from indistinct.description import describable
from indistinct.errors import ArgumentError, check_positive
from indistinct.numerics.arrays import EPS, TINY, Array
from indistinct.workloads.fixed_point import FixedPoint, solve
from indistinct.workloads.matrix_value import MatrixValue
from indistinct.workloads.strategy import Strategy
from indistinct.workloads.workload import Line, Workload, along_first, check_counts, check_dense

_COARSE = 4096
_SHORT = 2048
"""Lines up to this length are handled by their eigenvectors."""
_TOGETHER = 64


def square_root_rule(low: float, high: float) -> tuple[Array, Array]:
    """t and w with x^{-1/2} = Σ w / (x + t²) for x between low and high, to some 1e-15 relative.

    The midpoint rule after t = √low sc(v), Jacobi's function of modulus √(1 - low/high); symmetric about the
    middle, t(v) t(K' - v) = √(low high), and up to there a rapidly convergent sum, as sc(v | k') is
    -i sn(iv | k).
    """
    low = min(low, high / 16)  # the sum below converges where the interval is not too short
    ratio = low / high
    half, period = float(ellipk(ratio)), float(ellipkm1(ratio))
    pairs = math.ceil(36 * (3 - math.log(ratio)) / (4 * math.pi**2))
    log_nome = -math.pi * period / half
    odd = 2 * np.arange(24)[:, None] + 1
    pace = odd * math.pi / (2 * half)
    angle = pace * (np.arange(pairs) + 0.5) * period / (2 * pairs)
    scale = math.pi / (math.sqrt(ratio) * half) / -np.expm1(log_nome * odd)
    up, down = scale * np.exp(log_nome * odd / 2 + angle), scale * np.exp(log_nome * odd / 2 - angle)
    t = math.sqrt(low) * (up - down).sum(axis=0)
    slope = math.sqrt(low) * (pace * (up + down)).sum(axis=0)
    middle = math.sqrt(low * high)
    nodes = np.concatenate((t, (middle / t)[::-1]))
    slopes = np.concatenate((slope, (middle * slope / t**2)[::-1]))
    return nodes, 2 / math.pi * period / (2 * pairs) * slopes


def inverse_diagonal(conductance: Array, leak: Array, left: float, right: float) -> Array:
    """diag of the inverse of a path's Laplacian plus a diagonal, for each column of `leak`.

    The conductance seen towards either side obeys a recursion of sums, products and quotients of positive
    numbers, so every digit survives.
    """
    n = leak.shape[0]
    seen = np.empty_like(leak)
    side = leak[0] + left
    seen[0] = side
    for i in range(1, n):
        c = conductance[i - 1]
        side = side * (c / (side + c)) + leak[i]
        seen[i] = side
    side = leak[-1] + right
    seen[-1] += right
    for i in range(n - 2, -1, -1):
        c = conductance[i]
        side = side * (c / (side + c))
        seen[i] += side
        side = side + leak[i]
    return 1 / seen


def path_solve(leak: Array, left: float, right: float, vector: Array) -> Array:
    """(K + diag(leak))⁻¹ vector for each column of `leak`; like `inverse_diagonal` without subtractions, so
    that counts, which are not negative, keep their relative accuracy."""
    n = leak.shape[0]
    share = np.empty_like(leak)  # of what arrives at a cell, what goes on to the next
    solved = np.empty_like(leak)
    side = leak[0] + left
    flow = np.full(leak.shape[1], vector[0])
    solved[0] = flow
    for i in range(1, n):
        passed = 1 / (1 + side)
        share[i - 1] = passed
        side = side * passed + leak[i]
        flow = flow * passed + vector[i]
        solved[i] = flow
    value = solved[-1] / (side + right)
    solved[-1] = value
    for i in range(n - 2, -1, -1):
        value = (solved[i] + value) * share[i]
        solved[i] = value
    return solved


def _trace_diagonal(n: int, line: Line) -> Array:
    """diag V."""
    place = np.arange(n, dtype=np.float64)
    inverse = (place + 1) * (n - place) / (n + 1) if line.left else n - place
    return np.asarray(line.factor * inverse, dtype=np.float64)


def _rule(weights: Array, line: Line) -> tuple[Array, Array]:
    """The rule for D^{-½} V⁻¹ D^{-½}: its inverse's trace and Gershgorin's circles enclose the spectrum."""
    low = 1 / float(weights @ _trace_diagonal(weights.size, line))
    return square_root_rule(low, 4 / (line.factor * float(weights.min())))


def _gram_diagonal(weights: Array, line: Line) -> Array:
    """diag X of multipliers."""
    nodes, masses = _rule(weights, line)
    leak = np.multiply.outer(weights * line.factor, nodes**2)
    inverse = inverse_diagonal(np.ones(weights.size), leak, line.left, line.right)
    return np.asarray(inverse @ (masses * line.factor), dtype=np.float64)


def optimise_line(n: int, line: Line, tolerance: float) -> FixedPoint:
    """The optimal multipliers on n cells; long lines start from those of a shorter one."""

    def diagonal(weights: Array) -> Array:
        return _gram_diagonal(weights, line)

    start = np.sqrt(_trace_diagonal(n, line))
    if n > _COARSE:
        m = _COARSE // 2
        short = Line(line.left, line.right, m + 1.0 if line.left else 1.0)
        coarse = np.log(optimise_line(m, short, 1e-4).weights)
        ends = m // 4  # what happens near the ends depends on the number of cells from there
        inner = np.linspace(ends, n - 1 - ends, m - 2 * ends)
        at = np.concatenate((np.arange(float(ends)), inner, np.arange(float(n - ends), float(n))))
        start = np.exp(np.interp(np.arange(n), at, coarse))
    return solve(diagonal, start, tolerance)


@describable("line")
class LineStrategy(Strategy):
    """The strategy with X = D^{-½} (D^½ V D^½)^½ D^{-½} for a workload on a line, D = diag(weights).

    Measurements are A = T^{-¼} D^{-½}, T = D^{-½} V⁻¹ D^{-½}, never written down.
    """

    left: float
    right: float
    factor: float
    weights: MatrixValue

    def __post_init__(self) -> None:
        if (self.left, self.right) not in {(0, 1), (1, 1)}:
            raise ArgumentError("left", (self.left, self.right), "0 or 1, and right 1")
        object.__setattr__(self, "weights", MatrixValue.of("weights", self.weights, 1))
        object.__setattr__(self, "factor", check_positive("factor", self.factor))
        if self._weights.min() <= 0:
            raise ArgumentError("weights", float(self._weights.min()), "positive")

    @property
    def line(self) -> Line:
        return Line(self.left, self.right, self.factor)

    @property
    def float_error(self) -> float:
        # sums, products and quotients of positive numbers along the line, each with a few roundings
        return 16 * EPS * self.cells

    @property
    def _weights(self) -> Array:
        return self.weights.array

    @property
    def cells(self) -> int:
        return self._weights.size

    @property
    def measurements(self) -> int:
        return self.cells

    def _laplacian(self, vector: Array) -> Array:
        """K times a vector, by differences of neighbours."""
        flow = np.diff(vector, axis=0)
        result = np.zeros_like(vector)
        result[0] += self.left * vector[0]
        result[-1] += self.right * vector[-1]
        result[:-1] -= flow
        result[1:] += flow
        return result

    def _resolvents(self, vector: Array, squares: Array, masses: Array) -> Array:
        """Σ mass (T + square)⁻¹ vector, with (T + s)⁻¹ = D^½ (K / factor + s D)⁻¹ D^½."""
        flat = self._scaled(vector.reshape(self.cells, -1), 0.5)
        total = np.zeros_like(flat)
        for start in range(0, squares.size, _TOGETHER):
            part = slice(start, start + _TOGETHER)
            leak = np.multiply.outer(self._weights * self.factor, squares[part])
            for column in range(flat.shape[1]):
                solved = path_solve(leak, self.left, self.right, flat[:, column])
                total[:, column] += solved @ (masses[part] * self.factor)
        return self._scaled(total, 0.5).reshape(vector.shape)

    def _inverse_root(self, vector: Array) -> Array:
        """T^{-½} vector."""
        nodes, masses = _rule(self._weights, self.line)
        return self._resolvents(vector, nodes**2, masses)

    def _inverse_fourth_root(self, vector: Array) -> Array:
        """T^{-¼} vector: x^{-¼} = (√2/π) ∫ t^{3/2} / (x + t²) dlog t by the trapezoid rule, whose integrand
        is analytic in a strip of half-width π/2 and decays like t^{3/2} and t^{-1/2}."""
        nodes, _ = _rule(self._weights, self.line)
        step = 0.27
        low, high = math.log(nodes[0]) - 33 / 1.5, math.log(nodes[-1]) + 33 / 0.5
        log_t = np.arange(low, high, step)
        masses = math.sqrt(2) / math.pi * step * np.exp(1.5 * log_t)
        return self._resolvents(vector, np.exp(2 * log_t), masses)

    def _scaled(self, vector: Array, power: float) -> Array:
        return vector * (self._weights**power).reshape((-1,) + (1,) * (vector.ndim - 1))

    @property
    def _short(self) -> bool:
        return self.cells <= _SHORT

    @cached_property
    def _rows(self) -> Array:
        values, vectors = self._spectrum
        return np.asarray((vectors * values**-0.25) @ self._scaled(vectors, -0.5).T, dtype=np.float64)

    def written(self) -> Array | None:
        return self._rows if self._short else None

    def measure(self, histogram: Any) -> Array:
        counts = check_counts("histogram", histogram, self.cells)
        rows = self.written()
        if rows is not None:
            return along_first(rows, counts)
        return self._inverse_fourth_root(self._scaled(counts, -0.5))

    def estimate(self, measured: Any) -> Array:
        # A⁻¹ = D^½ T^¼ = D^½ T T^{-½} T^{-¼}
        numbers = check_counts("measured", measured, self.cells)
        if self._short:
            values, vectors = self._spectrum
            inverse = self._scaled(vectors, 0.5) * values**0.25
            return along_first(inverse, along_first(vectors.T, numbers))
        root = self._inverse_root(self._inverse_fourth_root(numbers))
        return self._laplacian(self._scaled(root, -0.5)) / self.factor

    def precision(self, counts: Any) -> Array:
        vector = check_counts("counts", counts, self.cells)
        return self._scaled(self._inverse_root(self._scaled(vector, -0.5)), -0.5)

    @cached_property
    def _spectrum(self) -> tuple[Array, Array]:
        check_dense(self.cells)
        k = np.full(self.cells, 2.0)
        k[0] += self.left - 1
        k[-1] += self.right - 1
        root = np.sqrt(self._weights)
        main, beside = k / (self.factor * self._weights), -1 / (self.factor * root[1:] * root[:-1])
        values, vectors = eigh_tridiagonal(main, beside)
        return np.maximum(values, TINY), np.asarray(vectors, dtype=np.float64)

    def covariance(self) -> Array:
        values, vectors = self._spectrum
        rows = self._scaled(vectors, 0.5)
        return np.asarray((rows * np.sqrt(values)) @ rows.T, dtype=np.float64)

    @cached_property
    def _diagonal(self) -> Array:
        return _gram_diagonal(self._weights, self.line)

    def gram_range(self) -> tuple[float, float]:
        # the rule is off by 1e-15 and eigenvectors by less than 1e-9; X is a sum of inverses of M-matrices,
        # whose entries are not negative
        return float(self._diagonal.max()) * (1 + 1e-8), 0.0

    def column_sum(self) -> float:
        # a column has n entries and norm at most 1
        return math.sqrt(self.cells * self.gram_range()[0])

    def error(self, workload: Workload) -> float:
        self._check(workload)
        if workload.line() == self.line:  # tr(V X⁻¹) = tr M = Σ λ diag X
            return float(self._weights @ self._diagonal)
        return super().error(workload)

    def variances(self, workload: Workload) -> Array:
        self._check(workload)
        if workload.line() == self.line and not self.left:
            # W X⁻¹ Wᵀ = (W D Wᵀ)^½ for prefix sums, and (W D Wᵀ)⁻¹ = (I - Sᵀ) D⁻¹ (I - S) is a path as well
            nodes, masses = _rule(self._weights, self.line)
            inverse = 1 / self._weights
            leak = np.tile(nodes**2, (self.cells, 1))
            roots = inverse_diagonal(inverse[1:], leak, float(inverse[0]), 0.0)
            return np.asarray(roots @ masses, dtype=np.float64)
        return super().variances(workload)

    def __str__(self) -> str:
        return f"line({self.cells})"
