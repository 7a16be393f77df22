"""Kernels that have random characters."""

from abc import abstractmethod
from typing import final

import numpy as np

from indistinct.functions.kernels.characters import DrawnCharacters, Factor, Term
from indistinct.functions.kernels.kernel import Kernel
from indistinct.functions.public_randomness import PublicUniforms
from indistinct.numerics.arrays import Array


class Spectral(Kernel):
    """A kernel of height 1 that is the mean of cos(phase(x) - phase(y)) over random phases."""

    @property
    @final
    def bound(self) -> float:
        return 1.0

    @property
    @final
    def nonnegative(self) -> bool:
        return True

    @abstractmethod
    def draw(self, uniforms: PublicUniforms, count: int, dimension: int) -> DrawnCharacters:
        """Random phases."""

    @abstractmethod
    def density(self, frequencies: Array) -> Array:
        """Of the random frequencies, at frequencies [n, d]."""

    @final
    def _diagonal(self, x: Array) -> Array:
        return np.ones(len(x))

    @final
    def _terms(self, columns: tuple[int, ...]) -> tuple[Term, ...]:
        return (Term(1.0, (Factor(self, columns),)),)
