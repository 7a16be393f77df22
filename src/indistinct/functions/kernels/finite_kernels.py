"""Kernels that are not functions of a difference of numbers: constant, polynomial, of categories."""

import math
from fractions import Fraction
from typing import final

import numpy as np

from indistinct.description import describable
from indistinct.errors import ArgumentError, check_count, check_nonnegative, check_positive
from indistinct.functions.kernels.characters import DrawnCharacters, Term
from indistinct.functions.kernels.kernel import LARGEST, Kernel, bound_above
from indistinct.functions.kernels.spectral import Spectral
from indistinct.functions.public_randomness import PublicUniforms
from indistinct.numerics.arrays import Array

SLACK = 1e-12
"""Relative: points scaled to the radius may be longer by rounding, and the bound counts it."""


@final
@describable("constant")
class ConstantKernel(Kernel):
    """The same positive number for any two points: constant functions."""

    value: float = 1.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "value", check_positive("value", self.value))

    @property
    def bound(self) -> float:
        return self.value

    @property
    def nonnegative(self) -> bool:
        return True

    def _accept(self, argument: str, points: Array) -> None:
        """Any points will do."""

    def _values(self, x: Array, y: Array) -> Array:
        return np.full((len(x), len(y)), self.value)

    def _diagonal(self, x: Array) -> Array:
        return np.full(len(x), self.value)

    def _gradient(self, x: Array, y: Array) -> Array:
        return np.zeros((len(x), len(y), x.shape[1]))

    def _cross(self, x: Array, y: Array) -> Array:
        return np.zeros((len(x), len(y), x.shape[1], x.shape[1]))

    def _terms(self, columns: tuple[int, ...]) -> tuple[Term, ...]:
        return (Term(self.value, ()),)


@final
@describable("polynomial")
class PolynomialKernel(Kernel):
    """(x·y + offset)^degree: polynomials. With a `radius`, points further than that from 0 are refused;
    without one the kernel has no bound.

    >>> PolynomialKernel(degree=2, offset=1, radius=2).bound
    25.000000
    """

    degree: int
    offset: float = 0.0
    radius: float | None = None

    def __post_init__(self) -> None:
        degree = check_count("degree", self.degree, least=1)
        if degree > 100:
            raise ArgumentError("degree", degree, "an integer from 1 to 100")
        object.__setattr__(self, "degree", degree)
        object.__setattr__(self, "offset", check_nonnegative("offset", self.offset))
        if self.radius is not None:
            object.__setattr__(self, "radius", check_positive("radius", self.radius))

    @property
    def bound(self) -> float:
        if self.radius is None:
            return math.inf
        longest = Fraction(self.radius) * (1 + 2 * Fraction(SLACK))
        return bound_above((longest**2 + Fraction(self.offset)) ** self.degree)

    @property
    def nonnegative(self) -> bool:
        return self.degree % 2 == 0

    def _accept(self, argument: str, points: Array) -> None:
        # without a radius, as far as the values can be written as floats
        radius = LARGEST ** (1 / self.degree) if self.radius is None else self.radius
        if np.any(np.linalg.norm(points, axis=1) > radius * (1 + SLACK)):
            raise ArgumentError(argument, "points beyond", f"points within {radius} of 0")

    def _inner(self, x: Array, y: Array) -> Array:
        # unlike a product of matrices, einsum adds in the same order for (x, y) and (y, x) and in any batch
        inner: Array = np.einsum("ia,ja->ij", x, y) + self.offset
        return inner

    def _values(self, x: Array, y: Array) -> Array:
        values: Array = self._inner(x, y) ** self.degree
        return values

    def _diagonal(self, x: Array) -> Array:
        diagonal: Array = (np.einsum("ia,ia->i", x, x) + self.offset) ** self.degree
        return diagonal

    def _gradient(self, x: Array, y: Array) -> Array:
        slope = self.degree * self._inner(x, y) ** (self.degree - 1)
        return slope[..., None] * y[None, :, :]

    def _cross(self, x: Array, y: Array) -> Array:
        inner, degree = self._inner(x, y)[..., None, None], self.degree
        cross: Array = degree * inner ** (degree - 1) * np.eye(x.shape[1])
        if degree > 1:
            outer = y[None, :, :, None] * x[:, None, None, :]
            cross = cross + degree * (degree - 1) * inner ** (degree - 2) * outer
        return cross

    def _terms(self, columns: tuple[int, ...]) -> tuple[Term, ...]:
        raise ArgumentError("kernel", self, "a function of x - y to have a spectrum")


@final
@describable("delta")
class DeltaKernel(Spectral):
    """1 for the same category and 0 for two different ones, on one column of codes 0, 1, ..., categories - 1.

    A category cannot be moved a little: derivatives along its column are 0.

    >>> from indistinct.functions.kernels import GaussianKernel
    >>> mixed = GaussianKernel(length=1).on(0) * DeltaKernel(categories=3).on(1)
    >>> mixed([[0.0, 2]], [[0.0, 2], [0.0, 1]])
    array([[1., 0.]])
    """

    categories: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "categories", check_count("categories", self.categories, least=1))

    def _accept(self, argument: str, points: Array) -> None:
        if points.shape[1] != 1:
            raise ArgumentError(argument, points.shape[1], "1 column wide: categories")
        if np.any(points != np.clip(np.rint(points), 0, self.categories - 1)):
            raise ArgumentError(argument, "other numbers", f"codes from 0 to {self.categories - 1}")

    def _values(self, x: Array, y: Array) -> Array:
        same: Array = np.equal(x, y.T).astype(np.float64)
        return same

    def _gradient(self, x: Array, y: Array) -> Array:
        return np.zeros((len(x), len(y), 1))

    def _cross(self, x: Array, y: Array) -> Array:
        return np.zeros((len(x), len(y), 1, 1))

    def draw(self, uniforms: PublicUniforms, count: int, dimension: int) -> DrawnCharacters:
        return DrawnCharacters(np.zeros((count, 1)), {0: 2 * math.pi * uniforms.draw(self.categories, count)})

    def density(self, frequencies: Array) -> Array:
        raise ArgumentError("kernel", self, "a kernel of numbers to have a spectral density")
