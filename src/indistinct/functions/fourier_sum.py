"""Σ k(x_i, ·) over the records of a table, in a Fourier basis, as a mechanism."""

from typing import Any

from indistinct.adjacency import Adjacency
from indistinct.data import Histogram
from indistinct.description import describable
from indistinct.errors import ArgumentError, check_count, check_positive
from indistinct.functions.fourier import FourierBasis, copies_of
from indistinct.functions.function import FiniteFunction
from indistinct.guarantees.guarantee import Guarantee
from indistinct.mechanisms import DiscreteGaussian, Mechanism
from indistinct.mechanisms.release import Lattice
from indistinct.noise import Source


@describable("fourier_sum")
class FourierSum(Mechanism):
    """The function of a table that `query` counts on the grid of `basis`, with noise of `scale`.

    `records` is a public bound on how many there are, if that is more than ten million: it limits rounding,
    and more are refused.

    >>> from indistinct.data import Numbers
    >>> from indistinct.functions import GaussianKernel
    >>> basis = FourierBasis(GaussianKernel(length=0.1), low=(0,), high=(1,))
    >>> ages = FourierSum(basis, basis.histogram({"age": Numbers(0, 1)}), scale=4, records=10**6)
    >>> ages.guarantee().epsilon(delta=1e-6)
    1.0607
    """

    basis: FourierBasis
    query: Histogram
    scale: float
    records: int

    def __post_init__(self) -> None:
        if not isinstance(self.basis, FourierBasis):
            raise ArgumentError("basis", self.basis, "FourierBasis(...)")
        if not isinstance(self.query, Histogram):
            raise ArgumentError("query", self.query, "basis.histogram(...)")
        object.__setattr__(self, "scale", check_positive("scale", self.scale))
        object.__setattr__(self, "records", check_count("records", self.records, least=1))

    def __str__(self) -> str:
        return f"fourier_sum({', '.join(name for name, _ in self.query.axes)}, {self.scale!r})"

    def moves(self, adjacency: Adjacency) -> float:
        """How far neighbours are apart, rounding included."""
        return copies_of(self.query) * self.basis.moves(adjacency, self.records, self.scale)

    def _guarantee(self, adjacency: Adjacency) -> Guarantee:
        unit = Lattice.of(self.scale).unit
        return DiscreteGaussian(self.scale / unit, self.moves(adjacency) / unit).guarantee(adjacency)

    def release(self, data: Any, *, source: Source | None = None) -> FiniteFunction:
        """The function, with noise."""
        counts, copies = self.query.statistic(data).units, copies_of(self.query)
        return self.basis.release_counts(
            self.scale, counts, copies=copies, records=self.records, source=source
        )
