"""Correlated Gaussian noise for training: the rows of C⁻¹ z, one for each step."""

from collections.abc import Iterator
from typing import Annotated, Any

import numpy as np

from indistinct.adjacency import Adjacency
from indistinct.description import Nonnegative, Positive, PositiveCount, describable, given
from indistinct.guarantees.guarantee import ExactGuarantee, Guarantee
from indistinct.guarantees.noise_pairs import GaussianPair
from indistinct.guarantees.product import Product
from indistinct.mechanisms.additive import NO_NOISE
from indistinct.mechanisms.mechanism import Mechanism
from indistinct.mechanisms.release import Lattice, no_guarantee
from indistinct.noise import Source, SystemSource, discrete_gaussian
from indistinct.numerics.arrays import Array
from indistinct.numerics.rounding import quotient_up
from indistinct.workloads.participation import check_participation
from indistinct.workloads.streams import Stream


@describable("correlated_gaussian")
class CorrelatedGaussian(Mechanism):
    """A training run whose step t releases the sum of clipped gradients plus row t of C⁻¹ z, z having
    standard deviation `scale`. A gradient has norm at most `sensitivity`. A record takes part in at most
    `participations` steps, any two of them at least `separation` apart: whoever makes the batches keeps to
    that, as a loader does that goes through the data in one fixed order, epoch by epoch.

    The steps of a record must not depend on which other records there are: they are assigned record by
    record. Where batches are cut by place, one more record moves all that follow it, and the number holds
    for a record that is emptied (zero-out) or replaced, but not for one that is added or removed.

    It is Gaussian noise of this scale on something of sensitivity sens(C) (Denisov et al. 2022, Theorem
    2.1). A replaced record may turn its gradients around, so it moves twice as far.

    >>> from indistinct.workloads import banded_stream
    >>> run = CorrelatedGaussian(banded_stream(1000, 50), scale=8.0, separation=100, participations=10)
    >>> run.guarantee().epsilon(delta=1e-5)
    3.325
    """

    stream: Annotated[Stream, given(Stream, "a stream such as banded_stream(1000, 50)")]
    scale: Positive
    sensitivity: Nonnegative = 1.0
    separation: PositiveCount = 1
    participations: PositiveCount = 1

    def __post_init__(self) -> None:
        check_participation(self.stream.steps, self.separation, self.participations)

    def _guarantee(self, adjacency: Adjacency) -> Guarantee:
        moved = self.stream.sensitivity(self.separation, self.participations) * self.sensitivity
        shift = quotient_up(moved * (1 if adjacency is Adjacency.ADD_REMOVE else 2), self.scale)
        if shift > NO_NOISE:
            return no_guarantee(adjacency)
        exact = self.stream.sensitivity_is_exact(self.separation, self.participations)
        return ExactGuarantee(Product.of([(GaussianPair(shift, dominates=not exact), 1)]), adjacency)

    def root_mean_square_error(self) -> float:
        """Of the prefix sums of one coordinate."""
        return self.scale * float(np.sqrt(self.stream.error() / self.stream.steps))

    def noise(self, shape: int | tuple[int, ...], *, source: Source | None = None) -> Iterator[Array]:
        """The noise of each step, an array of this shape, to be added to the sum of clipped gradients. Only
        as many arrays are held as the stream has bands (a tree: levels). z is drawn exactly, on a lattice
        far finer than its scale; what training does with it in floating point is not covered by that.

        >>> from indistinct.workloads import square_root_stream
        >>> run = CorrelatedGaussian(square_root_stream(8, 3), scale=2.0)
        >>> len([row for row in run.noise((2, 2))])
        8
        """
        source = SystemSource() if source is None else source
        return self.stream.rows(self._draws(shape, source))

    def _draws(self, shape: Any, source: Source) -> Iterator[Array]:
        lattice = Lattice.of(self.scale)
        for _ in range(self.stream.draws):
            yield discrete_gaussian(self.scale / lattice.unit, shape, source) * lattice.unit
