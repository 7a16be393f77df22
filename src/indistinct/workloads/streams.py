"""Streams: what is measured step by step so that all prefix sums are known, with the noise that goes with it.

A strategy C with as many measurements as steps, lower triangular, measures C x + z for independent noise z;
the vectors of the steps are then known as x + C⁻¹ z. So whoever adds the rows of C⁻¹ z to the gradients of a
training run releases C x + z, and the prefix sums, which are the model's path, have the noise W C⁻¹ z.
Gradients that depend on what was released before change nothing (Denisov, McMahan, Rush, Smith and Thakurta
2022, Theorem 2.1). For every strategy there is a lower triangular one with the same X = CᵀC, error and
sensitivity.
"""

import math
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy.linalg import cholesky, solve_triangular
from scipy.optimize import minimize

from indistinct.description import Described, PositiveCount, describable, spelled
from indistinct.errors import ArgumentError, check_count
from indistinct.numerics.arrays import Array
from indistinct.workloads.matrix_value import MatrixValue
from indistinct.workloads.optimal import optimise
from indistinct.workloads.participation import check_participation, pattern_norm
from indistinct.workloads.workload import Matrix, Prefix, check_dense

_UP = 1 + 1e-12


class Stream(Described, ABC):
    """Measurements of the vectors of so many steps, each made when its step is there."""

    noun = "stream"
    steps: int

    def __str__(self) -> str:
        return spelled(self, python=False)

    @abstractmethod
    def gram(self) -> Array:
        """X = CᵀC."""

    @abstractmethod
    def error(self) -> float:
        """The total squared error of all prefix sums for noise of variance 1: ‖W C⁻¹‖²."""

    @abstractmethod
    def rows(self, draws: Iterator[Array]) -> Iterator[Array]:
        """The noise of each step from independent noise, an array for each measurement."""

    @property
    def draws(self) -> int:
        """How many measurements are made."""
        return self.steps

    def sensitivity(self, separation: int = 1, participations: int | None = 1) -> float:
        """How far a record moves the measurements whose vectors have norm at most 1, if it takes part in at
        most so many steps, any two of them at least `separation` apart; an upper bound. Without
        `participations`, in as many as that allows."""
        apart, most = check_participation(self.steps, separation, participations)
        check_dense(self.steps)
        return pattern_norm(self.gram(), apart, most)

    def sensitivity_is_exact(self, separation: int = 1, participations: int | None = 1) -> bool:
        """Whether `sensitivity` is known to be reached, and is no mere bound: a record takes part once, or
        X vanishes from `separation` on."""
        apart, most = check_participation(self.steps, separation, participations)
        return most == 1 or not np.triu(self.gram(), apart).any()

    def root_mean_square_error(self, separation: int = 1, participations: int | None = 1) -> float:
        """Of a prefix sum, for noise that makes the measurements 1-Gaussian DP."""
        return self.sensitivity(separation, participations) * math.sqrt(self.error() / self.steps)


@describable("toeplitz")
class ToeplitzStream(Stream):
    """The measurement of a step is a weighted sum of its vector and of those before it, the weights
    depending on how long ago they were: C_ij = coefficients[i - j], 0 beyond the last one (bands). Its noise
    needs the last rows only, as many as there are coefficients.

    >>> plain = ToeplitzStream(1024, [1.0])
    >>> plain.root_mean_square_error()
    22.638
    """

    steps: int
    coefficients: MatrixValue

    def __init__(self, steps: int, coefficients: Any) -> None:
        values, most = MatrixValue.of("coefficients", coefficients, 1), check_count("steps", steps, least=1)
        if values.array[0] <= 0:
            raise ArgumentError("coefficients", float(values.array[0]), "positive at first")
        if values.array.size > most:
            raise ArgumentError("coefficients", values.array.size, f"at most {most}, one for each step")
        object.__setattr__(self, "steps", most)
        object.__setattr__(self, "coefficients", values)

    @property
    def bands(self) -> int:
        """How many steps a measurement reaches back, its own included."""
        return self.coefficients.array.size

    def gram(self) -> Array:
        return _gram(_toeplitz(self.coefficients.array, self.steps))

    def error(self) -> float:
        sums = np.cumsum(_reciprocal(self.coefficients.array, self.steps))
        return float(np.arange(self.steps, 0, -1) @ sums**2) * _UP

    def sensitivity(self, separation: int = 1, participations: int | None = 1) -> float:
        if not self.sensitivity_is_exact(separation, participations):
            return super().sensitivity(separation, participations)
        apart, most = check_participation(self.steps, separation, participations)
        c = self.coefficients.array
        # Falling coefficients: the first steps that are just far enough apart (Kalinin and Lampert 2024,
        # Theorem 2). Bands no wider than that: columns are orthogonal, and the first is the longest.
        total = np.zeros(self.steps)
        for start in range(0, most * apart, apart):
            room = min(self.bands, self.steps - start)
            total[start : start + room] += c[:room]
        return math.sqrt(float(total @ total)) * _UP

    def sensitivity_is_exact(self, separation: int = 1, participations: int | None = 1) -> bool:
        apart, most = check_participation(self.steps, separation, participations)
        c = self.coefficients.array
        return most == 1 or apart >= self.bands or bool((c >= 0).all() and (np.diff(c) <= 0).all())

    def rows(self, draws: Iterator[Array]) -> Iterator[Array]:
        c = self.coefficients.array
        last: deque[Array] = deque(maxlen=self.bands - 1)  # the newest first
        for draw in draws:
            row = draw - sum(
                (weight * old for weight, old in zip(c[1:], last, strict=False)), np.zeros_like(draw)
            )
            row = row / c[0]
            last.appendleft(row)
            yield row


@describable("lower_triangular")
class LowerTriangularStream(Stream):
    """Any lower triangular matrix, such as that of the best strategy; its noise needs all rows before."""

    matrix: MatrixValue

    def __init__(self, matrix: Any) -> None:
        values = MatrixValue.of("matrix", matrix, 2)
        c = values.array
        if c.shape[0] != c.shape[1] or np.triu(c, 1).any() or (np.diag(c) <= 0).any():
            raise ArgumentError("matrix", c.shape, "square, lower triangular, with a positive diagonal")
        check_dense(c.shape[0])
        object.__setattr__(self, "matrix", values)

    def __str__(self) -> str:
        return f"lower_triangular({self.steps})"

    @property
    def steps(self) -> int:  # type: ignore[override]
        return int(self.matrix.array.shape[0])

    def gram(self) -> Array:
        return _gram(self.matrix.array)

    def error(self) -> float:
        prefix = np.tril(np.ones((self.steps, self.steps)))
        # W C⁻¹ = (C⁻ᵀ Wᵀ)ᵀ
        solved = solve_triangular(self.matrix.array.T, prefix.T, lower=False)
        return float((solved**2).sum()) * _UP

    def rows(self, draws: Iterator[Array]) -> Iterator[Array]:
        c = self.matrix.array
        before: list[Array] = []
        for step, draw in enumerate(draws):
            row = draw - sum((c[step, k] * old for k, old in enumerate(before)), np.zeros_like(draw))
            before.append(row / c[step, step])
            yield before[-1]


@describable("tree")
class TreeStream(Stream):
    """Tree aggregation: the sum of every aligned block of 1, 2, 4, ... steps is measured, and a prefix sum
    is the sum of the blocks that make it up, at most one of each size (Dwork, Naor, Pitassi and Rothblum
    2010).

    >>> TreeStream(1024).root_mean_square_error()
    7.4...
    """

    steps: PositiveCount

    @property
    def levels(self) -> int:
        return int(self.steps).bit_length()

    @property
    def draws(self) -> int:
        return sum(self.steps >> level for level in range(self.levels))

    def gram(self) -> Array:
        place = np.arange(self.steps)
        total = np.zeros((self.steps, self.steps))
        for level in range(self.levels):
            block = np.where(place >> level < self.steps >> level, place >> level, -1)  # whole blocks only
            total += (block[:, None] == block) & (block >= 0)
        return total

    def error(self) -> float:
        return float(sum(k.bit_count() for k in range(1, self.steps + 1)))

    def rows(self, draws: Iterator[Array]) -> Iterator[Array]:
        open_: list[Array | None] = [None] * self.levels  # the noise of the last block of each size
        before: Array | float = 0.0
        for step in range(1, self.steps + 1):
            level = (step & -step).bit_length() - 1
            for size in range(level + 1):  # every block that ends here is measured, the largest is kept
                open_[size] = next(draws)
            for size in range(level):
                open_[size] = None
            now = sum(noise for noise in open_ if noise is not None)
            yield np.asarray(now - before)
            before = now


def square_root_stream(steps: int, bands: int | None = None) -> ToeplitzStream:
    """The root of the matrix of prefix sums, whose coefficients are those of (1 - x)^-½, cut after so many
    bands (Fichtenberger, Henzinger and Upadhyay 2023; Kalinin and Lampert 2024).

    >>> square_root_stream(1024).root_mean_square_error()
    3.110
    """
    count = check_count("steps", steps, least=1)
    kept = count if bands is None else min(check_count("bands", bands, least=1), count)
    k = np.arange(1, kept)
    return ToeplitzStream(count, np.cumprod(np.append(1.0, (2 * k - 1) / (2 * k))))


def banded_stream(steps: int, bands: int) -> ToeplitzStream:
    """The Toeplitz stream with so many bands that has the least error where they are not wider than the
    separation, found by descent from the square root; its own error says how good it is.

    >>> [make(1024, 64).root_mean_square_error() for make in (banded_stream, square_root_stream)]
    [4.066, 4.376]
    """
    start = square_root_stream(steps, bands).coefficients.array
    count = steps

    def loss(tail: Array) -> tuple[float, Array]:
        c = np.append(1.0, tail)
        inverse = _reciprocal(c, count)
        sums = np.cumsum(inverse)
        weighted = np.arange(count, 0, -1) * sums
        error = float(weighted @ sums)
        back = np.cumsum((2 * weighted)[::-1])[::-1]  # by the coefficients of 1/c, whose change is -dc / c²
        twice = np.convolve(inverse, inverse)[:count]
        slope = np.array([-float(back[j:] @ twice[: count - j]) for j in range(1, c.size)])
        norm = float(c @ c)
        return math.log(error) + math.log(norm), slope / error + 2 * tail / norm

    if start.size == 1:
        return ToeplitzStream(steps, start)
    found = minimize(loss, start[1:], jac=True, method="L-BFGS-B", options={"maxiter": 500})
    best = found.x if found.fun <= loss(start[1:])[0] else start[1:]
    return ToeplitzStream(steps, np.append(1.0, best))


def optimal_stream(steps: int) -> LowerTriangularStream:
    """The stream with the least error for records that take part once: the best strategy for prefix sums,
    made lower triangular.

    >>> optimal_stream(256).root_mean_square_error() / least_error(256) < 1 + 1e-6
    True
    """
    count = check_count("steps", steps, least=1)
    check_dense(count)
    gram = optimise(Prefix(count)).strategy.precision(np.eye(count))
    # X = CᵀC with C lower triangular, from the last step back
    upper = cholesky(gram[::-1, ::-1], lower=True)[::-1, ::-1]
    return LowerTriangularStream(np.tril(upper.T))


def least_error(steps: int, separation: int = 1, participations: int | None = 1) -> float:
    """A root mean square error that no stream, and no other strategy for prefix sums, has less of.

    Who takes part once is one who may take part more often. For sets of steps with indicators H that a
    record may take part in, X⁻¹ is at least H (HᵀXH)⁻¹ Hᵀ, and the diagonal of HᵀXH is at most the squared
    sensitivity: so the error is at least that of the workload W H for records that take part once, whose
    bound is certified.

    >>> least_error(1024)
    2.9554
    """
    count = check_count("steps", steps, least=1)
    apart, most = check_participation(count, separation, participations)
    bound = optimise(Prefix(count)).bound
    if most > 1 and apart < count:
        together = np.zeros((count, min(apart, count - apart)))
        for column in range(together.shape[1]):
            together[column : column + most * apart : apart, column] = 1.0
        bound = max(bound, optimise(Matrix(np.cumsum(together, axis=0))).bound)
    return math.sqrt(bound / count) * (1 - 1e-9)


def _gram(matrix: Array) -> Array:
    return np.asarray(matrix.T @ matrix)


def _toeplitz(coefficients: Array, steps: int) -> Array:
    check_dense(steps)
    padded = np.append(coefficients, np.zeros(steps - coefficients.size))
    place = np.arange(steps)
    return np.where(place[:, None] >= place, padded[np.abs(place[:, None] - place)], 0.0)


def _reciprocal(coefficients: Array, terms: int) -> Array:
    """The first terms of the power series 1/c."""
    result = np.zeros(terms)
    result[0] = 1 / coefficients[0]
    tail = coefficients[1:][::-1]
    for k in range(1, terms):
        reach = min(k, tail.size)
        result[k] = -(tail[tail.size - reach :] @ result[k - reach : k]) / coefficients[0]
    return result
