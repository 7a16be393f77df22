"""Drawing the noise of a matrix mechanism, exactly.

Measurements are rounded to a lattice far finer than the noise, and the noise is an exact integer number of
its units. Where the strategy's matrix is small it is itself rounded, so that its product with counts is
exact in integers; otherwise what float64 may be off is charged to the sensitivity.
"""

import math
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from indistinct.adjacency import Adjacency, check_adjacency
from indistinct.errors import ArgumentError, check_nonnegative
from indistinct.files import meaning, read_saved, write_npz
from indistinct.guarantees.guarantee import Guarantee
from indistinct.mechanisms.additive import Noise
from indistinct.mechanisms.discrete_noise import DiscreteGaussian, DiscreteLaplace
from indistinct.mechanisms.release import Lattice, no_guarantee, restored
from indistinct.noise import Source, SystemSource
from indistinct.numerics.arrays import Array

if TYPE_CHECKING:
    from indistinct.workloads.mechanism import MatrixMechanism

_INT64 = 2**62


@dataclass(frozen=True, eq=False)
class MatrixRelease:
    """Noisy measurements, and everything that follows from them without the data."""

    mechanism: "MatrixMechanism"
    measured: Array = field(repr=False)
    private: bool
    """False if the noise came from a seed: who knows the seed knows the counts."""
    unit: float
    """Measurements lie on multiples of this."""
    rounding: float = field(repr=False)
    """How far rounding may move neighbours apart, in units, in the norm of the noise."""

    @property
    def values(self) -> Array:
        """The workload's answers."""
        return self.answers()

    def answers(self, *, nonnegative: bool = False) -> Array:
        """The workload's answers, consistent with each other."""
        return self.mechanism.answers(self.measured, nonnegative=nonnegative)

    def standard_errors(self) -> Array:
        """The standard deviation of each answer (of those that may be negative)."""
        return self.mechanism.standard_errors()

    def guarantee(self, adjacency: Adjacency | str | None = None) -> Guarantee:
        """That of the noise that was drawn; none at all if it was drawn from a seed."""
        which = Adjacency.ADD_REMOVE if adjacency is None else check_adjacency(adjacency)
        if not self.private:
            return no_guarantee(which)
        return _fine(self.mechanism, self.unit, self.rounding, which).guarantee(which)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the measurements to a file (.npz: an array and a line of JSON, nothing that could run)."""
        head = {"release": self.mechanism, "private": self.private, "rounding": self.rounding}
        write_npz(path, head, {"measured": self.measured})

    @staticmethod
    def load(path: str | os.PathLike[str]) -> "MatrixRelease":
        """What `save` wrote."""
        from indistinct.workloads.mechanism import MatrixMechanism

        head, arrays = read_saved(path)
        with meaning(path, "a file that `save` of a matrix mechanism's release wrote"):
            mechanism, measured = MatrixMechanism.from_json(head["release"]), arrays["measured"]
            if measured.shape != (mechanism.strategy.measurements,):
                raise ArgumentError("measured", measured.shape, f"{mechanism.strategy.measurements} numbers")
            unit = Lattice.of(mechanism.scale).unit
            restored(measured, mechanism, head["private"], unit, mechanism.scale)
            least = rounding(mechanism, exactly=mechanism.strategy.written() is not None)
            off = max(check_nonnegative("rounding", head["rounding"]), least)
            return MatrixRelease(mechanism, measured, head["private"], unit, off)


def _fine(
    mechanism: "MatrixMechanism", unit: float, rounding: float, adjacency: Adjacency
) -> DiscreteGaussian | DiscreteLaplace:
    """The noise in units of the lattice."""
    kind = DiscreteGaussian if mechanism.noise is Noise.GAUSSIAN else DiscreteLaplace
    moved = Lattice(unit).moved(mechanism.sensitivity(adjacency), rounding)
    return kind(scale=mechanism.scale / unit, sensitivity=moved)


def rounding(mechanism: "MatrixMechanism", *, exactly: bool) -> float:
    """How far rounding may move neighbours apart, in units of the lattice and in the norm of the noise.
    `exactly` where a written strategy is rounded to integers first, and only its entries are off."""
    strategy = mechanism.strategy
    off = math.sqrt(strategy.measurements)
    if not exactly:
        # |error| in L2 for either neighbour, each of at most `records` columns
        error = 2 * strategy.float_error * mechanism.records * strategy.sensitivity(Noise.GAUSSIAN)
        off += error / Lattice.of(mechanism.scale).unit
    # an L1 norm is at most √m times the L2 norm
    return off * math.sqrt(strategy.measurements) if mechanism.noise is Noise.LAPLACE else off


def draw(mechanism: "MatrixMechanism", histogram: Any, source: Source | None) -> MatrixRelease:
    """One release of the measurements."""
    source = SystemSource() if source is None else source
    strategy, lattice = mechanism.strategy, Lattice.of(mechanism.scale)
    counts, total = _check_counts(histogram, strategy.cells)
    rows = strategy.written()
    exactly = rows is not None and not isinstance(counts, Mapping)
    if not exactly and total > mechanism.records:  # integers add up without rounding, however many
        raise ArgumentError("histogram", f"more than {mechanism.records} records", "within `records`")
    if rows is not None and exactly:
        units = lattice.nearest(rows)
        if int(np.abs(units).max()) * max(total, 1) >= _INT64:
            units, counts = units.astype(object), counts.astype(object)
        values = units @ counts
    elif isinstance(counts, Mapping):
        values = lattice.nearest(strategy.measure(counts))
    else:
        values = lattice.nearest(strategy.measure(counts.astype(np.float64)))
    off = rounding(mechanism, exactly=exactly)
    fine = _fine(mechanism, lattice.unit, off, Adjacency.ADD_REMOVE)
    released = lattice.measured(fine.release(values, source=source))
    measured = np.atleast_1d(np.asarray(released.values, dtype=np.float64))
    return MatrixRelease(mechanism, measured, source.private, lattice.unit, off)


def _check_counts(histogram: Any, cells: int) -> tuple[Any, int]:
    """The counts, and how many records they are."""
    if isinstance(histogram, Mapping):
        tables = {axes: np.asarray(table) for axes, table in histogram.items()}
        totals = {int(_whole(table).sum()) for table in tables.values()}
        if len(totals) != 1:
            raise ArgumentError("histogram", "tables that disagree", "tables of the same records")
        return tables, totals.pop()
    counts = _whole(np.asarray(histogram))
    if counts.shape != (cells,):
        raise ArgumentError("histogram", counts.shape, f"of shape ({cells},)")
    return counts, int(counts.sum())


def _whole(counts: Any) -> Any:
    allowed = "counts: integers, at least 0"
    if counts.dtype.kind == "f" and np.isfinite(counts).all() and (counts == np.rint(counts)).all():
        counts = counts.astype(np.int64)
    if counts.dtype.kind not in "iu":
        raise ArgumentError("histogram", str(counts.dtype), allowed)
    if counts.size == 0 or (counts < 0).any() or (counts > 2**53).any():
        raise ArgumentError("histogram", "a count below 0 or above 2^53, or none", allowed)
    return counts.astype(np.int64)
