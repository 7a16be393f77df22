"""The mechanism that releases functions: a path of a Gaussian process on top."""

from collections.abc import Mapping
from functools import lru_cache
from typing import Annotated, Any

from indistinct.adjacency import Adjacency, check_adjacency
from indistinct.data import RECORDS, Categories, Numbers, Unit
from indistinct.description import Positive, describable, given
from indistinct.errors import ArgumentError, check_nonnegative
from indistinct.functions.function import FiniteFunction, FunctionNoise, PrivateFunction
from indistinct.functions.space import FiniteSpace, Space
from indistinct.guarantees.guarantee import Guarantee
from indistinct.mechanisms import Budget, Gaussian, Mechanism, calibrate
from indistinct.mechanisms.budget import check_budget
from indistinct.mechanisms.paying import Payer, charged
from indistinct.noise import Source


@describable("gaussian_process")
class GaussianProcess(Mechanism):
    """A function of the data plus `scale` times a path of the Gaussian process whose covariance is the
    kernel of `space`.

    `sensitivity` is how far neighbours move the function, in the norm of the space; without it the function
    is a sum of k(x_i, ·) over records, and the kernel says how far one of them moves it. The guarantee is
    that of a Gaussian with this sensitivity, for any number of points, chosen adaptively (*Functional Rényi
    DP*, Proposition 4).

    >>> from indistinct.functions import GaussianKernel, RandomFeatures
    >>> space = RandomFeatures(GaussianKernel(length=0.2), pairs=500, dimension=2)
    >>> release = GaussianProcess(space, scale=5)
    >>> release.guarantee().epsilon(delta=1e-6), release.guarantee().renyi(2)
    (0.834118, 0.04)
    """

    space: Annotated[Space, given(Space, "a space such as RandomFeatures(...)")]
    scale: Positive
    sensitivity: float | None = None

    def __post_init__(self) -> None:
        if self.sensitivity is not None:
            given = check_nonnegative("sensitivity", self.sensitivity)
            object.__setattr__(self, "sensitivity", given)

    def __str__(self) -> str:
        given = "" if self.sensitivity is None else f", sensitivity={self.sensitivity!r}"
        return f"gaussian_process({self.space!r}, {self.scale!r}{given})"

    def moves(self, adjacency: Adjacency | str = Adjacency.ADD_REMOVE) -> float:
        """How far neighbours are apart, in the norm of the space."""
        return self.space.sensitivity(adjacency) if self.sensitivity is None else self.sensitivity

    def _guarantee(self, adjacency: Adjacency) -> Guarantee:
        return Gaussian(self.scale, self.moves(adjacency)).guarantee(adjacency)

    @charged
    def release(
        self, coefficients: Any, *, source: Source | None = None, ledger: Payer | None = None
    ) -> FiniteFunction:
        """The function with these coefficients in a finite space, plus noise.

        >>> from indistinct.functions import Covariance
        >>> vector = Covariance([[1.0, 0.9], [0.9, 1.0]])  # noise that both numbers share
        >>> release = GaussianProcess(vector, scale=2, sensitivity=1).release(vector.coefficients_of([5, 6]))
        >>> release([0, 1]).shape
        (2,)
        """
        if not isinstance(self.space, FiniteSpace):
            allowed = "a space with finitely many coefficients; sums over records go through `of_sum`"
            raise ArgumentError("space", self.space, allowed)
        moves = {adjacency: self.moves(adjacency) for adjacency in Adjacency}
        noise = FunctionNoise.rounded(self.scale, self.space.size, moves)
        return noise.added_to(self.space, coefficients, source)

    @charged
    def of_sum(
        self,
        data: Any,
        axes: Mapping[str, Numbers | Categories],
        *,
        unit: Unit = RECORDS,
        records: int | None = None,
        source: Source | None = None,
        ledger: Payer | None = None,
    ) -> PrivateFunction:
        """Σ k(x_i, ·) over the records of a table, plus noise. `axes` are the columns that make a point, with
        their declared domains.

        >>> import numpy as np
        >>> from indistinct.data import Numbers
        >>> from indistinct.functions import GaussianKernel, RandomFeatures
        >>> space = RandomFeatures(GaussianKernel(length=0.1), pairs=200, dimension=1)
        >>> people = {"age": np.array([0.31, 0.32, 0.35, 0.8])}
        >>> near = GaussianProcess(space, scale=2).of_sum(people, {"age": Numbers(0, 1)})
        >>> near([0.3, 0.5]).shape, near.guarantee().epsilon(delta=1e-5)
        ((2,), 1.993)
        """
        if self.sensitivity is not None:
            allowed = "absent: that of a sum follows from the kernel"
            raise ArgumentError("sensitivity", self.sensitivity, allowed)
        return self.space.release_sum(self.scale, data, axes, unit=unit, records=records, source=source)


def noise_multiplier(budget: Budget | None, adjacency: Adjacency, before: Mechanism | None = None) -> float:
    """The deviation of Gaussian noise, in sensitivities, that meets the budget after another release."""
    if check_budget(budget).delta == 0:
        raise ArgumentError("delta", 0.0, "above 0, such as 1e-6: the noise is Gaussian")
    return _least_noise(check_budget(budget), check_adjacency(adjacency), before)


@lru_cache(maxsize=8)
def _least_noise(budget: Budget, adjacency: Adjacency, before: Mechanism | None) -> float:
    # Kept, because it is asked once to refuse a budget before any is spent, and again for the noise.
    def family(scale: float) -> Mechanism:
        return Gaussian(scale) if before is None else before + Gaussian(scale)

    return calibrate(family, budget, adjacency=adjacency).parameter
