"""Queries: what is asked of a table, and how it is answered with noise.

A query is a bounded sum and a way to read its noisy value. `gaussian(scale)` and `laplace(scale)` make it a
mechanism: one value that accounts, for either adjacency with its own sensitivity, and that releases.
Because bounded sums lie on a lattice the noise is drawn on that lattice, and what is accounted is exactly
what is drawn.
"""

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np
import numpy.typing as npt

from indistinct.adjacency import Adjacency
from indistinct.data.engines.source import table
from indistinct.data.queries.intervals import Estimates, Values, gaussian_width, laplace_width
from indistinct.data.records.bounded_sum import BoundedSum, Totals
from indistinct.data.records.encoding import Encoding
from indistinct.data.records.reach import Norm
from indistinct.data.records.unit import Unit
from indistinct.description import Described, Positive, describable, given
from indistinct.errors import ArgumentError
from indistinct.guarantees.guarantee import Guarantee
from indistinct.mechanisms import DiscreteGaussian, DiscreteLaplace, Mechanism, Release
from indistinct.mechanisms.mechanism import Composed
from indistinct.mechanisms.paying import Payer, charged
from indistinct.mechanisms.release import Lattice
from indistinct.noise import Source


class Query(Described, ABC):
    """Something to ask of a table."""

    unit: Unit
    error_name: ClassVar[str] = "standard_error"
    """What the error of an estimate is: in its own units, unless told."""

    by_group: ClassVar[bool] = True
    """Whether its answers are read group by group, from numbers along the last axis."""

    def __post_init__(self) -> None:
        _ = self.bounded  # refuses at once what cannot be added up

    def _declare(self, **fields: Any) -> None:
        """In place of what a dataclass does, where arguments are not yet what is kept."""
        for name, value in fields.items():
            object.__setattr__(self, name, value)
        self.__post_init__()

    @property
    @abstractmethod
    def encoding(self) -> Encoding:
        """What becomes of a record."""

    @property
    def bounded(self) -> BoundedSum:
        """The sum over records that it needs."""
        return BoundedSum(self.encoding, self.unit)

    @property
    def size(self) -> int:
        """How many numbers the noise is added to."""
        return self.encoding.size

    @property
    def step(self) -> float:
        """Exact statistics are multiples of this power of two."""
        return self.bounded.step

    def sensitivity(self, norm: Norm, adjacency: Adjacency | str = Adjacency.ADD_REMOVE) -> float:
        """How far a neighbour moves the statistic, at most."""
        return self.moved(norm, self.bounded.sensitivity(norm, adjacency))

    def passes(self, norm: Norm, adjacency: Adjacency) -> tuple[float, ...]:
        """The same of each pass over the records, where what is asked in a pass depends on what earlier ones
        have released; it is the same whatever they have."""
        return (self.sensitivity(norm, adjacency),)

    def following(self, noisy: "NoisyQuery", values: Values) -> BoundedSum | None:
        """What the next pass adds up, from the numbers of those before; None after the last. How many there
        are is public."""
        return None

    def statistic(self, data: Any) -> Totals:
        """The exact numbers before noise. They are private."""
        totals = table(data).total(self.bounded)
        return Totals(self.measured(totals.units), totals.step)

    def measured(self, sums: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """The numbers that get noise, from sums of records: integers along the last axis, for each group."""
        return sums

    def moved(self, norm: Norm, distance: float) -> float:
        """How far these move, at most, where the sums of a group move so far."""
        return distance

    def read(self, values: Values) -> Any:
        """The answer from noisy numbers, along the last axis, for each group: post-processing."""
        return values

    def estimate(self, values: Values, noisy: "NoisyQuery") -> Estimates:
        """The answer with its error and interval."""
        return Estimates.of(self.read(values), noisy.deviation, noisy.width(np.ones(1)))

    def check(self, data: Any) -> None:
        """Refuses unknown columns and wrong types, without reading a record."""
        table(data).check(self.bounded)

    def gaussian(self, scale: float) -> "WithGaussian":
        """The query answered with Gaussian noise of this standard deviation."""
        return WithGaussian(self, scale)

    def laplace(self, scale: float) -> "NoisyQuery":
        """The query answered with Laplace noise of this scale."""
        return WithLaplace(self, scale)


@dataclass(frozen=True, repr=False)
class NoisyQuery(Mechanism):
    """A query with noise of `scale` on each of its numbers."""

    noise: ClassVar[str]
    query: Annotated[Query, given(Query, "a query, for instance Histogram(...)")]
    scale: Positive

    @property
    @abstractmethod
    def unit(self) -> float:
        """The lattice on which noise is drawn: multiples of this power of two."""

    norm: ClassVar[Norm]
    """In which neighbours are measured for this noise."""

    @abstractmethod
    def of_sensitivity(self, sensitivity: float) -> DiscreteGaussian | DiscreteLaplace:
        """The noise in units of the lattice, on numbers of this sensitivity."""

    def drawn(self, adjacency: Adjacency) -> DiscreteGaussian | DiscreteLaplace:
        """The noise in units of the lattice, with the sensitivity of this adjacency."""
        return self.of_sensitivity(self.query.sensitivity(self.norm, adjacency))

    @property
    @abstractmethod
    def deviation(self) -> float:
        """The standard deviation of the noise on each number: how far off to expect it to be."""

    @abstractmethod
    def width(self, coefficients: Values) -> Values:
        """What the noise of Σ cᵢ xᵢ does not exceed, in 95 cases of 100; coefficients along the last axis."""

    def check(self, data: Any) -> None:
        """Refuses unknown columns and wrong types, without reading a record."""
        self.query.check(data)

    def _guarantee(self, adjacency: Adjacency) -> Guarantee:
        # A pass may depend on the numbers of earlier ones: adaptive composition.
        passes = [self.of_sensitivity(length) for length in self.query.passes(self.norm, adjacency)]
        return (passes[0] if len(passes) == 1 else Composed(tuple(passes))).guarantee(adjacency)

    @charged
    def release(
        self, data: Any, *, source: Source | None = None, ledger: Payer | None = None
    ) -> Release[Any]:
        """The answer, with noise; its guarantee is this mechanism's."""
        values, private = self.noisy(data, source)
        answer = self.query.read(values)
        plain = answer.item() if isinstance(answer, np.generic) else answer
        return Release(plain, self, private, self.unit)

    def estimate(self, data: Any, source: Source | None = None) -> Estimates:
        """The answer of one release, with its error and 95 % interval."""
        return self.query.estimate(self.noisy(data, source)[0], self)

    def noisy(self, data: Any, source: Source | None = None) -> tuple[Values, bool]:
        """The numbers with noise that the answer is read from, and whether the noise is private."""
        values, private = self._added(self.query.statistic(data), source)
        kept = None
        while (bounded := self.query.following(self, values)) is not None:
            kept = table(data).kept() if kept is None else kept
            totals = kept.total(bounded)
            # Noise that a key can draw again is another one for other records, and in another pass: totals of
            # no records are equal in all of them. So many numbers came before.
            content = repr((values.size, totals.units.tolist())).encode()
            more, _ = self._added(totals, source and source.about(content))
            values = np.concatenate([values, more])
        return values, private

    def _added(self, totals: Totals, source: Source | None) -> tuple[Values, bool]:
        """Numbers with noise."""
        # Powers of two, the step never the finer one: an integer.
        finer = int(totals.step / self.unit)
        largest = max(int(totals.units.max()), -int(totals.units.min()))
        places = (totals.units if largest * finer < 2**62 else totals.units.astype(object)) * finer
        noisy = self.drawn(Adjacency.ADD_REMOVE).release(places, source=source)
        return np.asarray(noisy.values).astype(np.float64) * self.unit, noisy.private

    def __str__(self) -> str:
        query = f"{type(self.query).__name__.lower()}({', '.join(self.query.bounded.columns)})"
        return f"{query} with {self.noise}({self.scale!r})"


def noise_of(query: Query, release: Release[Any]) -> NoisyQuery:
    """The noise of a release, which must be one of this query."""
    mechanism = release.mechanism
    if not isinstance(mechanism, NoisyQuery) or mechanism.query != query:
        raise ArgumentError("release", mechanism, "a release of this query")
    return mechanism


@describable("gaussian_query")
class WithGaussian(NoisyQuery):
    """Gaussian noise on a lattice far finer than itself."""

    form = "{query}.gaussian({scale})"
    noise = "gaussian"
    norm = Norm.L2

    @property
    def unit(self) -> float:
        return min(self.query.step, Lattice.of(self.scale).unit)

    @property
    def deviation(self) -> float:
        return self.scale

    def width(self, coefficients: Values) -> Values:
        return gaussian_width(self.deviation, coefficients)

    def of_sensitivity(self, sensitivity: float) -> DiscreteGaussian:
        return DiscreteGaussian(self.scale / self.unit, sensitivity / self.unit)


@describable("laplace_query")
class WithLaplace(NoisyQuery):
    """Laplace noise on the lattice of the query itself: integers, for counts."""

    form = "{query}.laplace({scale})"
    noise = "laplace"
    norm = Norm.L1

    @property
    def unit(self) -> float:
        return self.query.step

    @property
    def deviation(self) -> float:
        rate = min(self.unit / self.scale, 1400.0)  # beyond, all noise is zero
        return self.unit / (math.sqrt(2) * math.sinh(rate / 2))

    def width(self, coefficients: Values) -> Values:
        return laplace_width(self.scale, self.unit, self.deviation, coefficients)

    def of_sensitivity(self, sensitivity: float) -> DiscreteLaplace:
        return DiscreteLaplace(self.scale / self.unit, sensitivity / self.unit)
