"""Random characters: a kernel as an average of cosines.

A kernel that depends on x - y only is, up to its height, the mean of cos(phase(x) - phase(y)) over random
linear phases (Bochner); m draws of the phase make a kernel of rank 2m that is close to it (A. Rahimi and
B. Recht, *Random features for large-scale kernel machines*, NIPS 2007). A category has an independent uniform
phase, and a product of kernels is the sum of the phases of its factors.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, final

import numpy as np

from indistinct.errors import ArgumentError, check_count
from indistinct.functions.public_randomness import PublicUniforms
from indistinct.numerics.arrays import Array

if TYPE_CHECKING:
    from indistinct.functions.kernels.kernel import Kernel
    from indistinct.functions.kernels.spectral import Spectral

FEW_COLUMNS = 8
"""Up to here phases are added up column by column."""


@final
@dataclass(frozen=True)
class Factor:
    """A kernel without sums and products, on some columns of the points."""

    kernel: "Spectral"
    columns: tuple[int, ...]


@final
@dataclass(frozen=True)
class Term:
    """`weight` times a product of kernels; every kernel with characters is a sum of such terms."""

    weight: float
    factors: tuple[Factor, ...]


@final
@dataclass(frozen=True)
class DrawnCharacters:
    """Phases of some characters: frequencies [m, d], and for a column of categories a table of phases
    [categories, m]."""

    frequencies: Array
    tables: Mapping[int, Array] = field(default_factory=dict)


@final
@dataclass(frozen=True)
class Characters:
    """`count` random phases and their weights: the kernel of rank 2 `count`

        Σ_j weights[j] cos(phase_j(x) - phase_j(y)),

    whose mean over seeds is the kernel and which is `kernel.bound` at x = y whatever the seed. A sum of
    kernels shares the characters among its terms in proportion to their heights (a constant takes one). Only
    the description is kept and compared; the phases are drawn from the public seed when first asked for.

    >>> from indistinct.functions.kernels import GaussianKernel
    >>> characters = GaussianKernel(length=2).characters(count=5000, dimension=1, seed=0)
    >>> near, far = characters.phases([[0.0], [2.0]])
    >>> float(characters.weights @ np.cos(near - far)), float(np.exp(-0.5))
    (0.60, 0.61)
    """

    kernel: "Kernel"
    count: int
    dimension: int
    seed: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "count", check_count("count", self.count, least=1))
        object.__setattr__(self, "dimension", check_count("dimension", self.dimension, least=1))
        object.__setattr__(self, "seed", check_count("seed", self.seed))
        if self.count < len(self._terms):
            raise ArgumentError("count", self.count, f"at least {len(self._terms)}, one for each term")

    @cached_property
    def weights(self) -> Array:
        """Of the characters [m]; they add up to the bound of the kernel."""
        each = [term.weight / count for term, count in zip(self._terms, self._counts, strict=True)]
        return _public(np.repeat(each, self._counts))

    @property
    def phase_gradients(self) -> Array:
        """How fast each phase grows along each column [m, d]; 0 along columns of categories."""
        return self._drawn.frequencies

    @property
    def elementwise(self) -> bool:
        """Whether the phases of a point are the same, to the last bit, whatever points it comes with. A
        product of matrices, as for many columns, adds up in an order that may depend on their number."""
        return self.dimension <= FEW_COLUMNS

    @property
    def has_categories(self) -> bool:
        return bool(self._drawn.tables)

    def phases(self, points: Any) -> Array:
        """The phase of every point under every character [n, m]."""
        points = self.kernel.checked("points", points)
        if points.shape[1] != self.dimension:
            raise ArgumentError("points", points.shape[1], f"{self.dimension} columns wide")
        frequencies = self._drawn.frequencies
        if self.elementwise:
            phases: Array = np.zeros((len(points), self.count))
            for column in range(self.dimension):
                phases += points[:, column, None] * frequencies[:, column]
        else:
            phases = points @ frequencies.T
        for column, table in self._drawn.tables.items():
            phases += table[points[:, column].astype(np.intp)]
        return phases

    @cached_property
    def _terms(self) -> tuple[Term, ...]:
        return self.kernel.terms(self.dimension)

    @cached_property
    def _counts(self) -> list[int]:
        """How many characters each term has: one, and a share of the rest by weight if it is not constant."""
        weights = np.array([term.weight * bool(term.factors) for term in self._terms])
        if not weights.any():
            weights = np.array([term.weight for term in self._terms])
        ends = np.cumsum(weights) / weights.sum() * (self.count - len(weights))
        return [1 + int(share) for share in np.diff(np.rint(ends), prepend=0.0)]

    @cached_property
    def _drawn(self) -> DrawnCharacters:
        uniforms = PublicUniforms(self.seed)
        frequencies = np.zeros((self.count, self.dimension))
        tables: dict[int, Array] = {}
        start = 0
        for term, count in zip(self._terms, self._counts, strict=True):
            here = slice(start, start + count)
            for factor in term.factors:
                drawn = factor.kernel.draw(uniforms, count, len(factor.columns))
                frequencies[here, _places(factor.columns)] += drawn.frequencies
                for place, table in drawn.tables.items():
                    column = factor.columns[place]
                    _grow(tables, column, len(table), self.count)
                    tables[column][: len(table), here] += table
            start += count
        return DrawnCharacters(
            _public(frequencies), {column: _public(table) for column, table in tables.items()}
        )


def spectral_density(terms: Sequence[Term], frequencies: Array) -> Array:
    """The sum of the densities of the terms, where each is a product over kernels on different columns that
    together are all columns."""
    total = np.zeros(len(frequencies))
    for term in terms:
        used = sorted(column for factor in term.factors for column in factor.columns)
        if used != list(range(frequencies.shape[1])):
            allowed = "every column exactly once in each term of the kernel, to have a spectral density"
            raise ArgumentError("columns", used, allowed)
        density = np.full(len(frequencies), term.weight)
        for factor in term.factors:
            density *= factor.kernel.density(frequencies[:, list(factor.columns)])
        total += density
    return total


def _places(columns: tuple[int, ...]) -> slice | list[int]:
    """An index of these columns; of neighbours a slice, which is not copied."""
    first, last = columns[0], columns[-1] + 1
    return slice(first, last) if columns == tuple(range(first, last)) else list(columns)


def _grow(tables: dict[int, Array], column: int, categories: int, count: int) -> None:
    """Room for at least so many categories; two kernels on one column may know different numbers of them."""
    old = tables.get(column, np.zeros((0, count)))
    if len(old) < categories:
        tables[column] = np.vstack([old, np.zeros((categories - len(old), count))])


def _public(array: Any) -> Array:
    fixed: Array = np.asarray(array, dtype=np.float64)
    fixed.setflags(write=False)
    return fixed
