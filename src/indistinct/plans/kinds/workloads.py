"""Many linear queries on one histogram, through the strategy that is best for them."""

import math
from abc import abstractmethod
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from typing import Any, Self

import numpy as np

from indistinct.adjacency import Adjacency
from indistinct.data import Bins, BoundedSum, Histogram, Kind, Table, half_width
from indistinct.errors import ArgumentError
from indistinct.noise import Source
from indistinct.plans.declarations import Terms
from indistinct.plans.kinds.pictures import (
    Listed,
    grouped_pictures,
    prefix_picture,
    ranges_picture,
    table_pictures,
)
from indistinct.plans.measured import MeasuredWorkload
from indistinct.plans.planned_release import Asked, PlannedRelease, asked_by, check_rows
from indistinct.plans.section import Section, named
from indistinct.report.results import Ends
from indistinct.tables.rows import ERRORS, Row, axes_header, axes_types, cells, estimated
from indistinct.workloads import (
    AllRange,
    Identity,
    Kronecker,
    Marginals,
    MatrixMechanism,
    Noise,
    Prefix,
    Workload,
    optimise,
)

_MOST_RECORDS = 10_000_000


@dataclass(frozen=True)
class WorkloadPart(PlannedRelease):
    """Answers of a workload."""

    counted: tuple[str, ...]
    by: tuple[str, ...]
    """The columns whose cells it is asked for, each by itself."""

    def __post_init__(self) -> None:
        _ = named(self.where, lambda: self.query)
        check_rows(self.where, self.workload.queries)

    @property
    @abstractmethod
    def workload(self) -> Workload: ...

    @abstractmethod
    def labels(self) -> Iterator[Row]:
        """What each answer is about."""

    @property
    def columns(self) -> tuple[str, ...]:
        return self.counted

    @property
    def query(self) -> Histogram:
        axes = {name: self.terms.axis(name) for name in (*self.by, *self.counted)}
        return Histogram(axes, self.terms.unit(self.where))

    @cached_property
    def _at_one(self) -> MatrixMechanism:
        """At scale 1. Its strategy is found once, without the data."""
        records = max(_MOST_RECORDS, 4 * (self.terms.data.records or 0))
        best = optimise(self.workload, self.noise).strategy
        return MatrixMechanism(self.workload, best, 1.0, self.noise, records)

    @cached_property
    def _errors_at_one(self) -> Any:
        return self._at_one.standard_errors()

    def at(self, scale: float) -> MeasuredWorkload:
        one = self._at_one
        mechanism = MatrixMechanism(one.workload, one.strategy, scale, one.noise, one.records)
        return MeasuredWorkload(self.query, mechanism)

    def check(self, table: Any) -> None:
        self.query.check(table)

    @property
    def sums(self) -> tuple[BoundedSum, ...]:
        return (self.query.bounded,)

    def look(self, table: Any) -> Any:
        self.at(1.0).read(table)
        return table  # it remembers

    def sensitivity(self, adjacency: Adjacency) -> float:
        return self.at(1.0).sensitivity(adjacency)

    def error(self, scale: float) -> float:
        return float(scale * self._errors_at_one.max())

    @property
    def header(self) -> Row:
        return [*axes_header(self.query.axes), "count", *ERRORS]

    def draw(self, scale: float, looked: Any, source: Source) -> Iterator[Row]:
        answers = self.at(scale).release(looked, source=source).values.tolist()
        errors = (scale * self._errors_at_one).tolist()
        wide = half_width(self.noise is Noise.GAUSSIAN)
        for label_, value, error in zip(self.labels(), answers, errors, strict=True):
            yield [*label_, *estimated(value, error, value - wide * error, value + wide * error)]


@dataclass(frozen=True)
class LinePart(WorkloadPart):
    """Counts along one column that has edges, for each group."""

    keys = frozenset({"column", "by"})

    def __post_init__(self) -> None:
        _ = named(self.where, lambda: self.bins)
        super().__post_init__()

    @classmethod
    def read(cls, terms: Terms, asked: Asked, section: Section) -> Self:
        return cls(terms, asked, (section.text("column"),), asked_by(section)[1])

    @property
    @abstractmethod
    def along(self) -> Workload:
        """What is asked of every group."""

    @property
    def workload(self) -> Workload:
        return Kronecker(Identity(self.cell_count), self.along) if self.by else self.along

    @property
    @abstractmethod
    def edges(self) -> Iterable[Row]:
        """What each answer of a group is about."""

    def types(self, table: Table) -> list[Kind]:
        named = axes_types(self.groups)
        return [*named, *(Kind.NUMBER for _ in self.header[len(named) :])]

    def labels(self) -> Iterator[Row]:
        return ([*group, *edges] for group, edges in product(cells(self.groups), self.edges))

    @property
    def bins(self) -> Bins:
        axis = self.terms.axis(self.counted[0])
        if not isinstance(axis, Bins):
            raise ArgumentError(f"{self.where}.column", self.counted[0], "one with low and high")
        return axis


@dataclass(frozen=True)
class PrefixPart(LinePart):
    """How many are below each edge."""

    kind = "prefix"

    @property
    def along(self) -> Prefix:
        return Prefix(self.bins.count)

    @property
    def header(self) -> Row:
        return [*axes_header(self.groups), f"{self.counted[0]}_below", "count", *ERRORS]

    @property
    def edges(self) -> list[Row]:
        return [[edge] for edge in self.bins.edges[1:].tolist()]

    def pictures(self, rows: list[list[str]]) -> list[str]:
        column, bins = self.counted[0], self.bins

        def draw(name: str, own: Listed, reach: Ends | None = None) -> list[str]:
            return prefix_picture(name, column, bins, own, reach)

        return grouped_pictures(self.name, len(axes_header(self.groups)), rows, draw)


@dataclass(frozen=True)
class RangesPart(LinePart):
    """How many are between any two edges."""

    kind = "ranges"

    @property
    def along(self) -> AllRange:
        return AllRange(self.bins.count)

    @property
    def edges(self) -> list[Row]:
        edges = self.bins.edges.tolist()
        starts, stops = np.triu_indices(self.bins.count + 1, 1)
        return [[edges[i], edges[j]] for i, j in zip(starts.tolist(), stops.tolist(), strict=True)]

    def pictures(self, rows: list[list[str]]) -> list[str]:
        return [] if self.by else ranges_picture(self.name, self.counted[0], self.bins, rows)


@dataclass(frozen=True)
class MarginalsPart(WorkloadPart):
    """All tables by so many of the columns."""

    kind = "marginals"
    blanks = True
    keys = frozenset({"columns", "ways"})
    ways: int

    @classmethod
    def read(cls, terms: Terms, asked: Asked, section: Section) -> Self:
        columns, ways = section.texts("columns"), section.count("ways")
        if ways > len(columns):
            raise ArgumentError(section.at("ways"), ways, f"at most {len(columns)}, the number of columns")
        return cls(terms, asked, columns, (), ways)

    @property
    def workload(self) -> Marginals:
        return Marginals([self.terms.axis(name).size for name in self.counted], ways=self.ways)

    @property
    def cell_count(self) -> int:  # of the finest table
        sizes = [self.terms.axis(name).size for name in self.counted]
        return max(math.prod(sizes[axis] for axis in group) for group in self.workload.sets)

    def types(self, table: Table) -> list[Kind]:
        return [*axes_types(self.query.axes), *(Kind.NUMBER for _ in ("count", *ERRORS))]

    def labels(self) -> Iterator[Row]:
        for group in self.workload.sets:
            yield from cells(self.query.axes, [self.counted[axis] for axis in group])

    def pictures(self, rows: list[list[str]]) -> list[str]:
        return table_pictures(self.name, self.query.axes, self.workload.sets, rows)
