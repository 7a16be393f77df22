"""A workload asked of a table: its histogram, measured by a strategy, with noise of a scale.

`MatrixMechanism` is about one record in one cell. Here the unit of privacy may be a user with several
records, and records may be left out; both count in the sensitivity, and so does rounding to the lattice, so
that what is calibrated is what is drawn.
"""

from typing import Annotated, Any

from indistinct.adjacency import Adjacency
from indistinct.data import Histogram, UserRecords, records_of
from indistinct.description import describable, given
from indistinct.errors import DataError
from indistinct.guarantees.guarantee import Guarantee
from indistinct.mechanisms import DiscreteGaussian, DiscreteLaplace, Mechanism, Release
from indistinct.mechanisms.release import Lattice
from indistinct.noise import Source
from indistinct.numerics.arrays import Array
from indistinct.workloads import MatrixMechanism, Noise
from indistinct.workloads.release import rounding


@describable("measured_query")
class MeasuredWorkload(Mechanism):
    """The measurements of a histogram of records."""

    query: Annotated[Histogram, given(Histogram, "Histogram(...)")]
    matrix: Annotated[MatrixMechanism, given(MatrixMechanism, "MatrixMechanism(...)")]

    def __str__(self) -> str:
        return f"{self.matrix} of {', '.join(name for name, _ in self.query.axes)}"

    def sensitivity(self, adjacency: Adjacency) -> float:
        """Between neighbours in the plan's unit. One record less may also be one that was left out, so with
        replace-one the larger of both distances counts then."""
        strategy, noise = self.matrix.strategy, self.matrix.noise
        reach = strategy.sensitivity(noise, adjacency)
        if isinstance(self.query.unit, UserRecords) or self.query.encoding.drops:
            reach = max(reach, strategy.sensitivity(noise, Adjacency.ADD_REMOVE))
        return records_of(self.query.unit) * reach

    @property
    def rounding(self) -> float:
        """How far rounding moves neighbours apart for each record, in units."""
        return rounding(self.matrix, exactly=self.matrix.strategy.written() is not None)

    @property
    def lattice(self) -> Lattice:
        return Lattice.of(self.matrix.scale)

    def _guarantee(self, adjacency: Adjacency) -> Guarantee:
        unit = self.lattice.unit
        moved = self.lattice.moved(self.sensitivity(adjacency), records_of(self.query.unit) * self.rounding)
        kind = DiscreteGaussian if self.matrix.noise is Noise.GAUSSIAN else DiscreteLaplace
        return kind(self.matrix.scale / unit, moved).guarantee(adjacency)

    def check(self, data: Any) -> None:
        """Refuses unknown columns and wrong types, without reading a record."""
        self.query.check(data)

    def read(self, data: Any) -> Any:
        """The exact counts, which are private; refuses more of them than were declared."""
        counts = self.query.statistic(data).units
        exactly = self.matrix.strategy.written() is not None
        if not exactly and int(counts.sum()) > self.matrix.records:
            raise DataError(f"the table has more than {self.matrix.records} records, the most for a workload")
        return counts

    def release(self, data: Any, *, source: Source | None = None) -> Release[Array]:
        """The answers, with noise. Their guarantee is this mechanism's: that of the matrix mechanism alone is
        about one record."""
        release = self.matrix.release(self.read(data), source=source)
        if release.rounding > self.rounding or release.unit != self.lattice.unit:
            raise ArithmeticError("more rounding than was accounted; please report this as a bug")
        return Release(release.values, self, release.private, release.unit)
