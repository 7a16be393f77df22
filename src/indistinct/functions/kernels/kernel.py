"""Kernels as small objects, and how they combine.

A kernel k is positive semi-definite and symmetric. Every class below keeps both: sums, products and positive
multiples of kernels are kernels, and so is a kernel that looks at some columns only (N. Aronszajn, *Theory of
reproducing kernels*, 1950).
"""

import math
from abc import ABC, abstractmethod
from fractions import Fraction
from typing import Any, final

import numpy as np

from indistinct.description import Described, describable
from indistinct.errors import ArgumentError, check_array, check_count, check_positive
from indistinct.functions.kernels.characters import Characters, Term, spectral_density
from indistinct.numerics.arrays import Array
from indistinct.numerics.rounding import rounded_up

LARGEST = 1e150
"""Of a coordinate: squares of differences of such numbers can still be written as a float."""


class Kernel(Described, ABC):
    """A similarity of points, k(x, y). Points are the rows of an array; its columns are their coordinates.

    Subclasses write `_values`, `_gradient` and `_cross` for arrays that `checked` has let through.
    """

    noun = "kernel"

    def __call__(self, x: Any, y: Any) -> Array:
        """k(x_i, y_j) for points x [n, d] and y [m, d]: an array [n, m]."""
        return self._values(*self._both(x, y))

    def diagonal(self, x: Any) -> Array:
        """k(x_i, x_i): an array [n]."""
        return self._diagonal(self.checked("x", x))

    def gradient(self, x: Any, y: Any) -> Array:
        """∂k(x_i, y_j)/∂x_a: an array [n, m, d]."""
        return self._gradient(*self._both(x, y))

    def cross(self, x: Any, y: Any) -> Array:
        """∂²k(x_i, y_j)/∂x_a ∂y_b, the covariance of the gradients of a Gaussian process with this kernel: an
        array [n, m, d, d]."""
        return self._cross(*self._both(x, y))

    @property
    @abstractmethod
    def bound(self) -> float:
        """The supremum of k(x, x), rounded up; `math.inf` where there is none."""

    @property
    @abstractmethod
    def nonnegative(self) -> bool:
        """Whether k(x, y) >= 0 is known for all x and y."""

    def characters(self, count: int, dimension: int, seed: int) -> Characters:
        """Random features for points with `dimension` columns."""
        return Characters(self, count, dimension, seed)

    def spectral_density(self, frequencies: Any) -> Array:
        """The density s with k(x, y) = ∫ s(w) exp(i w·(x - y)) dw, at frequencies [n, d]: an array [n]."""
        checked = _rows("frequencies", frequencies)
        return spectral_density(self.terms(checked.shape[1]), checked)

    def terms(self, dimension: int) -> tuple[Term, ...]:
        """The kernel on points with `dimension` columns, multiplied out."""
        self._accept("dimension", np.empty((0, dimension)))
        return self._terms(tuple(range(dimension)))

    def __add__(self, other: "Kernel") -> "KernelSum":
        if not isinstance(other, Kernel):
            return NotImplemented
        return KernelSum((*_parts(self, KernelSum), *_parts(other, KernelSum)))

    def __mul__(self, other: "Kernel") -> "KernelProduct":
        if not isinstance(other, Kernel):
            return NotImplemented
        return KernelProduct((*_parts(self, KernelProduct), *_parts(other, KernelProduct)))

    def scale(self, factor: float) -> "Scaled":
        """The kernel times a positive number."""
        return Scaled(self, factor)

    def on(self, *columns: int) -> "OnColumns":
        """The kernel of these columns of wider points, counted from 0."""
        return OnColumns(self, columns)

    def checked(self, argument: str, points: Any) -> Array:
        """The points as an array [n, d], if this kernel can be evaluated there."""
        rows = _rows(argument, points)
        self._accept(argument, rows)
        return rows

    def _both(self, x: Any, y: Any) -> tuple[Array, Array]:
        left, right = self.checked("x", x), self.checked("y", y)
        if left.shape[1] != right.shape[1]:
            raise ArgumentError("y", right.shape[1], f"{left.shape[1]} columns wide, as x is")
        return left, right

    @abstractmethod
    def _accept(self, argument: str, points: Array) -> None:
        """Refuses points where the kernel is not defined."""

    @abstractmethod
    def _values(self, x: Array, y: Array) -> Array: ...

    @abstractmethod
    def _diagonal(self, x: Array) -> Array: ...

    @abstractmethod
    def _gradient(self, x: Array, y: Array) -> Array: ...

    @abstractmethod
    def _cross(self, x: Array, y: Array) -> Array: ...

    @abstractmethod
    def _terms(self, columns: tuple[int, ...]) -> tuple[Term, ...]: ...


class CombinedKernel(Kernel):
    """A kernel made of several that see the same points."""

    parts: tuple[Kernel, ...]

    @final
    def __post_init__(self) -> None:
        object.__setattr__(self, "parts", _kernels("parts", self.parts))

    @property
    @final
    def nonnegative(self) -> bool:
        return all(part.nonnegative for part in self.parts)

    @final
    def _accept(self, argument: str, points: Array) -> None:
        for part in self.parts:
            part._accept(argument, points)


@final
@describable("sum")
class KernelSum(CombinedKernel):
    """The sum of kernels."""

    parts: tuple[Kernel, ...]
    form = "{parts: + }"
    loose = True

    @property
    def bound(self) -> float:
        bounds = [part.bound for part in self.parts]
        return math.inf if math.inf in bounds else bound_above(sum(map(Fraction, bounds), Fraction(0)))

    def _values(self, x: Array, y: Array) -> Array:
        return _total([part._values(x, y) for part in self.parts])

    def _diagonal(self, x: Array) -> Array:
        return _total([part._diagonal(x) for part in self.parts])

    def _gradient(self, x: Array, y: Array) -> Array:
        return _total([part._gradient(x, y) for part in self.parts])

    def _cross(self, x: Array, y: Array) -> Array:
        return _total([part._cross(x, y) for part in self.parts])

    def _terms(self, columns: tuple[int, ...]) -> tuple[Term, ...]:
        return tuple(term for part in self.parts for term in part._terms(columns))


@final
@describable("product")
class KernelProduct(CombinedKernel):
    """The product of kernels, of the same columns or of different ones."""

    parts: tuple[Kernel, ...]
    form = "{parts!: * }"
    loose = True

    @property
    def bound(self) -> float:
        bounds = [part.bound for part in self.parts]
        return math.inf if math.inf in bounds else bound_above(Fraction(1) * math.prod(map(Fraction, bounds)))

    def _values(self, x: Array, y: Array) -> Array:
        return _multiplied([part._values(x, y) for part in self.parts])

    def _diagonal(self, x: Array) -> Array:
        return _multiplied([part._diagonal(x) for part in self.parts])

    def _gradient(self, x: Array, y: Array) -> Array:
        values = [part._values(x, y) for part in self.parts]
        return _total(
            [
                _multiplied(_without(values, i))[..., None] * part._gradient(x, y)
                for i, part in enumerate(self.parts)
            ]
        )

    def _cross(self, x: Array, y: Array) -> Array:
        values = [part._values(x, y) for part in self.parts]
        by_x = [part._gradient(x, y)[..., :, None] for part in self.parts]
        # ∂k(x, y)/∂y is the gradient of the symmetric k at (y, x).
        by_y = [part._gradient(y, x).swapaxes(0, 1)[..., None, :] for part in self.parts]
        total = np.zeros((len(x), len(y), x.shape[1], x.shape[1]))
        for i, part in enumerate(self.parts):
            total += _multiplied(_without(values, i))[..., None, None] * part._cross(x, y)
            for j in range(len(self.parts)):
                if i != j:
                    total += _multiplied(_without(values, i, j))[..., None, None] * by_x[i] * by_y[j]
        return total

    def _terms(self, columns: tuple[int, ...]) -> tuple[Term, ...]:
        product: tuple[Term, ...] = (Term(1.0, ()),)
        for part in self.parts:
            product = tuple(
                Term(left.weight * right.weight, left.factors + right.factors)
                for left in product
                for right in part._terms(columns)
            )
        return product


@final
@describable("scaled")
class Scaled(Kernel):
    """A kernel times a positive number."""

    part: Kernel
    factor: float
    form = "{part!}.scale({factor})"

    def __post_init__(self) -> None:
        _kernels("part", (self.part,))
        object.__setattr__(self, "factor", check_positive("factor", self.factor))

    @property
    def bound(self) -> float:
        bound = self.part.bound
        return bound if math.isinf(bound) else bound_above(Fraction(bound) * Fraction(self.factor))

    @property
    def nonnegative(self) -> bool:
        return self.part.nonnegative

    def _accept(self, argument: str, points: Array) -> None:
        self.part._accept(argument, points)

    def _values(self, x: Array, y: Array) -> Array:
        return self.factor * self.part._values(x, y)

    def _diagonal(self, x: Array) -> Array:
        return self.factor * self.part._diagonal(x)

    def _gradient(self, x: Array, y: Array) -> Array:
        return self.factor * self.part._gradient(x, y)

    def _cross(self, x: Array, y: Array) -> Array:
        return self.factor * self.part._cross(x, y)

    def _terms(self, columns: tuple[int, ...]) -> tuple[Term, ...]:
        return tuple(Term(self.factor * t.weight, t.factors) for t in self.part._terms(columns))


@final
@describable("on_columns")
class OnColumns(Kernel):
    """A kernel of some columns of wider points; it does not change along the others."""

    part: Kernel
    columns: tuple[int, ...]
    form = "{part!}.on({columns:, })"

    def __post_init__(self) -> None:
        _kernels("part", (self.part,))
        columns = tuple(check_count("columns", column) for column in self.columns)
        if not columns or len(set(columns)) != len(columns):
            raise ArgumentError("columns", self.columns, "one or more different numbers of columns")
        object.__setattr__(self, "columns", columns)

    @property
    def bound(self) -> float:
        return self.part.bound

    @property
    def nonnegative(self) -> bool:
        return self.part.nonnegative

    def _accept(self, argument: str, points: Array) -> None:
        if points.shape[1] <= max(self.columns):
            raise ArgumentError(argument, points.shape[1], f"at least {max(self.columns) + 1} columns wide")
        self.part._accept(argument, self._of(points))

    def _of(self, points: Array) -> Array:
        return points[:, list(self.columns)]

    def _values(self, x: Array, y: Array) -> Array:
        return self.part._values(self._of(x), self._of(y))

    def _diagonal(self, x: Array) -> Array:
        return self.part._diagonal(self._of(x))

    def _gradient(self, x: Array, y: Array) -> Array:
        gradient = np.zeros((len(x), len(y), x.shape[1]))
        gradient[..., list(self.columns)] = self.part._gradient(self._of(x), self._of(y))
        return gradient

    def _cross(self, x: Array, y: Array) -> Array:
        cross = np.zeros((len(x), len(y), x.shape[1], x.shape[1]))
        here = np.array(self.columns)
        cross[..., here[:, None], here] = self.part._cross(self._of(x), self._of(y))
        return cross

    def _terms(self, columns: tuple[int, ...]) -> tuple[Term, ...]:
        return self.part._terms(tuple(columns[column] for column in self.columns))


def bound_above(exact: Fraction) -> float:
    """The least float that is not below a bound; infinite where floats end."""
    try:
        return rounded_up(exact)
    except OverflowError:
        return math.inf


def _rows(argument: str, points: Any) -> Array:
    allowed = "an array of finite numbers, a row for each point and a column for each coordinate"
    rows = check_array(argument, points, -LARGEST, LARGEST, allowed)
    if rows.ndim != 2 or not rows.shape[1]:
        raise ArgumentError(argument, f"shape {rows.shape}", allowed)
    return np.ascontiguousarray(rows)  # so that sums are in one order, however the points are stored


def _kernels(argument: str, parts: Any) -> tuple[Kernel, ...]:
    kernels = tuple(parts) if isinstance(parts, tuple | list) else ()
    if not kernels or not all(isinstance(part, Kernel) for part in kernels):
        raise ArgumentError(argument, parts, "one or more kernels")
    return kernels


def _parts(kernel: Kernel, kind: type[KernelSum] | type[KernelProduct]) -> tuple[Kernel, ...]:
    return kernel.parts if isinstance(kernel, kind) else (kernel,)


def _without(items: list[Array], *places: int) -> list[Array]:
    return [np.ones_like(items[0]), *(item for i, item in enumerate(items) if i not in places)]


def _total(arrays: list[Array]) -> Array:
    return sum(arrays[1:], start=arrays[0])


def _multiplied(arrays: list[Array]) -> Array:
    return math.prod(arrays[1:], start=arrays[0])
