"""Random features: a kernel of finite rank for points with many coordinates.

cos and sin of random phases, two for each, approximate a kernel on average (Rahimi and Recht 2007). The
space of their combinations is a space in its own right, with its own kernel of finite rank; whatever the
draw, its height is that of the kernel, and so is the sensitivity. What is random here is public."""

import math
from functools import cached_property

import numpy as np

from indistinct.description import describable
from indistinct.errors import ArgumentError, check_count
from indistinct.functions.kernels import Characters, Kernel
from indistinct.functions.space import FiniteSpace
from indistinct.numerics.arrays import EPS, Array

_MOST_NUMBERS = 2**27
"""Of all phases: a gigabyte."""


@describable("random_features")
class RandomFeatures(FiniteSpace):
    """The span of √w cos(phase(x)) and √w sin(phase(x)) over `pairs` random phases of a kernel.

    >>> from indistinct.functions import GaussianKernel
    >>> space = RandomFeatures(GaussianKernel(length=0.5), pairs=1000, dimension=2)
    >>> space.size, space.sensitivity()
    (2000, 1.00000)
    """

    kernel: Kernel
    pairs: int
    dimension: int
    seed: int = 0

    def __post_init__(self) -> None:
        if not isinstance(self.kernel, Kernel):
            raise ArgumentError("kernel", self.kernel, "a kernel such as GaussianKernel(length=1)")
        if not math.isfinite(self.kernel.bound):
            raise ArgumentError("kernel", self.kernel, "bounded: without a bound there is no sensitivity")
        object.__setattr__(self, "pairs", check_count("pairs", self.pairs, least=1))
        object.__setattr__(self, "dimension", check_count("dimension", self.dimension, least=1))
        if self.pairs * self.dimension > _MOST_NUMBERS:
            raise ArgumentError("pairs", self.pairs, f"at most {_MOST_NUMBERS // self.dimension} here")
        _ = self.characters  # refuses kernels that have none, and points of a wrong dimension

    @cached_property
    def characters(self) -> Characters:
        """The phases, drawn from the public seed."""
        return self.kernel.characters(self.pairs, self.dimension, self.seed)

    @cached_property
    def _heights(self) -> Array:
        return np.sqrt(self.characters.weights)

    @property
    def size(self) -> int:  # type: ignore[override]
        return 2 * self.pairs

    @cached_property
    def bound(self) -> float:  # type: ignore[override]
        return math.sqrt(math.fsum(self.characters.weights)) * (1 + 4 * EPS)

    @property
    def nonnegative(self) -> bool:  # type: ignore[override]
        return False

    def wobble(self, radius: float) -> float:
        """From the rounding of phases: that of an inner product of d numbers is at most d u |x| |ω|."""
        if self.characters.elementwise:
            return 0.0
        fast = np.linalg.norm(self.characters.phase_gradients, axis=1)
        phase = self.dimension * EPS * radius * float(np.linalg.norm(self._heights * fast))
        return 2 * (phase + 4 * EPS * self.bound)

    def __call__(self, points: Array) -> Array:
        phases = self.characters.phases(points)
        return np.concatenate([np.cos(phases) * self._heights, np.sin(phases) * self._heights], axis=1)

    def gradients(self, points: Array) -> Array:
        phases, fast = self.characters.phases(points), self.characters.phase_gradients
        turned = np.concatenate([-np.sin(phases) * self._heights, np.cos(phases) * self._heights], axis=1)
        slopes: Array = turned[:, :, None] * np.concatenate([fast, fast])
        return slopes

    def evaluate_gradient(self, coefficients: Array, points: Array) -> Array:
        cosine, sine = np.split(coefficients, 2)
        fast = self.characters.phase_gradients
        rows = []
        for part in self._pieces(len(points)):
            phases = self.characters.phases(points[part])
            rising: Array = np.cos(phases) * (sine * self._heights)
            slope = rising - np.sin(phases) * (cosine * self._heights)
            rows.append(slope @ fast)
        return np.concatenate(rows) if rows else np.zeros((0, self.dimension))

    def integrals(self, low: Array, high: Array) -> Array:
        if self.characters.has_categories:
            raise ArgumentError("kernel", self.kernel, "a kernel of numbers only, to be integrated")
        middle, half = (low + high) / 2, (high - low) / 2
        # the integral of e^{iωx} from m - h to m + h is e^{iωm} 2h sinc(ωh)
        fast = self.characters.phase_gradients
        size = np.prod(2 * half * np.sinc(fast * half / math.pi), axis=1) * self._heights
        phase = fast @ middle
        return np.concatenate([size * np.cos(phase), size * np.sin(phase)])
