"""Adversaries: the class of functions that someone can apply to a release.

A class is the span of features, the constant among them. Each says which rules of composition and of
post-processing hold for it (Chaudhuri, Imola and Machanavajjhala 2019, Theorem 1 on post-processing, 2 on
convexity, 3 and 4 on composition); what does not hold is refused with the reason.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from indistinct.adversaries.reading import Reading, read
from indistinct.adversaries.solvers.spans import FunctionSpan, PiecewiseLinearSpan, PolynomialSpan, Span
from indistinct.errors import ArgumentError, check_count, check_real
from indistinct.guarantees.guarantee import Guarantee
from indistinct.numerics.arrays import Array

_HIGHEST_DEGREE = 20
_MOST_KNOTS = 200


@dataclass(frozen=True)
class Rules:
    """Which properties a class of functions has."""

    convex: bool = True
    """Mixtures of its functions are in it."""

    translation_invariant: bool = True
    """With h it has h + c for every constant c. Composition (Theorems 3, 4) needs this and convexity."""

    adaptive: bool = False
    """Whether composition may be adaptive; known for all functions only (Section 4)."""

    closed_under: str = ""
    """The maps of the release that leave a reading valid (Theorem 1)."""

    @property
    def composes(self) -> bool:
        """Whether the class meets the conditions of Theorems 3 and 4."""
        return self.convex and self.translation_invariant


class ReleaseMap(ABC):  # noqa: B024 (a name for its kinds)
    """Something done to a release afterwards."""


@dataclass(frozen=True)
class AffineMap(ReleaseMap):
    """x becomes Ax + b: matrix mechanisms, changes of unit, sums of released cells."""


@dataclass(frozen=True)
class PolynomialMap(ReleaseMap):
    """Polynomials of a degree in the released numbers."""

    degree: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "degree", check_count("degree", self.degree, least=1))


@dataclass(frozen=True)
class AnyMap(ReleaseMap):
    """A map of which nothing is known."""


class Adversary(ABC):
    """A class of functions of the released value."""

    rules: Rules
    words: str
    """The class in plain words."""
    linear: bool = False
    """Whether it is linear in all released numbers together."""
    rotates: bool = False
    """Whether turning the released vector leaves the class as it is."""
    matrix: Array | None = None
    """Features of finitely many outcomes, one a row."""

    moves: bool = False
    """Whether shifting a released number and turning it round (x becomes c - x) leave the class as it is.
    This alone lets a reading leave out a direction (`reading`)."""
    every_neighbour: bool = False
    """Whether a reading covers all neighbours, not only those whose outputs are furthest apart."""

    @abstractmethod
    def span(self) -> Span | None:
        """The features on one released number; none if all functions are allowed."""

    def reading(self, guarantee: Guarantee, *, adaptive: bool = True) -> Reading:
        """What this adversary can learn; `guarantee.against(adversary)` asks for it."""
        return read(self, guarantee, adaptive=adaptive)

    def after(self, change: ReleaseMap) -> "Adversary":
        """The class that a reading for this one still covers once the release was mapped (Theorem 1)."""
        raise ArgumentError("change", change, f"a map g with i∘g in the class: {self.rules.closed_under}")


@dataclass(frozen=True)
class Unrestricted(Adversary):
    """All functions: the adversary of ordinary differential privacy."""

    rules = Rules(adaptive=True, closed_under="every map")
    words = "all functions"
    moves = every_neighbour = True

    def span(self) -> None:
        return None

    def after(self, change: ReleaseMap) -> "Unrestricted":
        return self


@dataclass(frozen=True)
class Linear(Adversary):
    """Linear functions of all released numbers together, with a constant: linear regression.

    >>> from indistinct import Gaussian
    >>> Gaussian(scale=1).guarantee().against(Linear()).renyi(2)  # log 2
    0.693147
    """

    rules = Rules(closed_under="affine maps")
    words = "linear functions"
    linear = rotates = moves = every_neighbour = True

    def span(self) -> PolynomialSpan:
        return PolynomialSpan(1)

    def after(self, change: ReleaseMap) -> Adversary:
        return self if isinstance(change, AffineMap) else super().after(change)


@dataclass(frozen=True)
class Polynomial(Adversary):
    """Polynomials of the released numbers up to a degree.

    >>> from indistinct import Laplace
    >>> Laplace(scale=1).guarantee().against(Polynomial(2)).renyi(3)
    0.568685
    """

    degree: int
    rules = Rules(closed_under="affine maps; polynomials of degree j leave the degree // j")
    rotates = moves = every_neighbour = True

    def __post_init__(self) -> None:
        degree = check_count("degree", self.degree, least=1)
        if degree > _HIGHEST_DEGREE:
            raise ArgumentError("degree", degree, f"at most {_HIGHEST_DEGREE}")

    @property
    def words(self) -> str:  # type: ignore[override]
        return f"polynomials of degree {self.degree}"

    def span(self) -> PolynomialSpan:
        return PolynomialSpan(self.degree)

    def after(self, change: ReleaseMap) -> Adversary:
        if isinstance(change, AffineMap):
            return self
        if isinstance(change, PolynomialMap) and change.degree <= self.degree:
            return Polynomial(self.degree // change.degree)
        return super().after(change)


@dataclass(frozen=True)
class PiecewiseLinear(Adversary):
    """Continuous functions of one number, linear between knots and beyond them: two-layer ReLU networks with
    these kinks. Knots are in units of the noise's scale, from the value on one of the two data sets: the one
    without the record."""

    knots: tuple[float, ...]
    rules = Rules(closed_under="no map but the identity (knots do not move)")

    def __init__(self, knots: Any) -> None:
        try:
            places = tuple(check_real("knots", knot, "finite numbers") for knot in knots)
        except TypeError:
            raise ArgumentError("knots", knots, "a sequence of numbers") from None
        if not places or len(places) > _MOST_KNOTS or not all(map(math.isfinite, places)):
            raise ArgumentError("knots", knots, f"1 to {_MOST_KNOTS} finite numbers")
        if len(set(places)) < len(places):
            raise ArgumentError("knots", knots, "different from each other (equal knots are dependent)")
        object.__setattr__(self, "knots", tuple(sorted(places)))

    @property
    def words(self) -> str:  # type: ignore[override]
        return f"piecewise linear functions with {len(self.knots)} knots"

    def span(self) -> PiecewiseLinearSpan:
        return PiecewiseLinearSpan(self.knots)

    def __str__(self) -> str:
        return f"PiecewiseLinear({len(self.knots)} knots)"


@dataclass(frozen=True, eq=False)
class Features(Adversary):
    """The span of features that you name: kernel machines through random features, your own φ.

    A function takes an array of n released numbers (in units of the noise's scale, from the value without
    the record) and returns a matrix with a feature a row and n columns; `kinks` are the places where it is
    not smooth. A matrix lists the features of finitely many outcomes instead, an outcome a row, for releases
    such as `Discrete`. The constant is added unless `constant=False`; without it the class is not
    translation invariant and the composition theorems do not apply.
    """

    features: Callable[[Array], Any] | Array
    kinks: tuple[float, ...] = ()
    constant: bool = True
    name: str = "features"

    def __post_init__(self) -> None:
        if not callable(self.features):
            try:
                matrix = np.asarray(self.features, dtype=np.float64)
            except (TypeError, ValueError, OverflowError):
                matrix = np.zeros(0)
            if matrix.ndim != 2 or not np.isfinite(matrix).all():
                raise ArgumentError("features", self.features, "a function, or a matrix of finite numbers")
            object.__setattr__(self, "features", matrix)

    @classmethod
    def fourier(cls, frequencies: Any) -> "Features":
        """cos(wx) and sin(wx) for given frequencies: a Gaussian kernel machine if these are drawn from a
        Gaussian (Rahimi and Recht 2007)."""
        w = np.asarray(frequencies, dtype=np.float64).ravel()
        if not w.size or not np.isfinite(w).all() or (w == 0).any():
            raise ArgumentError("frequencies", frequencies, "finite numbers other than 0")

        def waves(x: Array) -> Array:
            angle = np.multiply.outer(w, x)
            return np.concatenate((np.cos(angle), np.sin(angle)))

        return cls(waves, name=f"fourier({w.size} frequencies)")

    @property
    def rules(self) -> Rules:  # type: ignore[override]
        return Rules(translation_invariant=self.constant, closed_under="no map but the identity")

    @property
    def words(self) -> str:  # type: ignore[override]
        return f"the span of {self.name}"

    @property
    def matrix(self) -> Array | None:  # type: ignore[override]
        """The features of finitely many outcomes, the constant among them, one a row."""
        if callable(self.features):
            return None
        rows = self.features.T
        return np.vstack((np.ones(rows.shape[1]), rows)) if self.constant else rows

    def span(self) -> FunctionSpan:
        function = self.features
        if not callable(function):
            raise ArgumentError(
                "features", self.name, "a function of the released number, for additive noise"
            )

        def rows(x: Array) -> Array:
            values = np.asarray(function(x), dtype=np.float64)
            values = values[None] if values.ndim == 1 else values
            if values.ndim != 2 or values.shape[1] != x.size:
                raise ArgumentError("features", values.shape, f"a matrix with {x.size} columns, one a number")
            return np.vstack((np.ones(x.size), values)) if self.constant else values

        return FunctionSpan(rows, tuple(self.kinks), self.name)

    def __str__(self) -> str:
        return self.name
