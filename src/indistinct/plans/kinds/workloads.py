"""Many linear queries on one histogram, through the strategy that is best for them."""

from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from typing import Any, Self

import numpy as np

from indistinct.adjacency import Adjacency
from indistinct.data import Bins, Histogram, Kind, Table
from indistinct.errors import ArgumentError
from indistinct.plans.declarations import Terms
from indistinct.plans.kinds.pictures import prefix_picture, ranges_picture, table_pictures
from indistinct.plans.measured import MeasuredWorkload
from indistinct.plans.planned_release import (
    Asked,
    PlannedRelease,
    Row,
    axes_header,
    axes_types,
    blank,
    check_rows,
    label,
    rounded,
)
from indistinct.plans.section import Section, named
from indistinct.workloads import AllRange, Marginals, MatrixMechanism, Prefix, Workload, optimise

_MOST_RECORDS = 10_000_000


@dataclass(frozen=True)
class WorkloadPart(PlannedRelease):
    """Answers of a workload."""

    by: tuple[str, ...]

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
        return self.by

    @property
    def query(self) -> Histogram:
        return Histogram({name: self.terms.axis(name) for name in self.by}, self.terms.unit(self.where))

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

    def look(self, table: Any) -> Any:
        self.at(1.0).read(table)
        return table  # it remembers

    def sensitivity(self, adjacency: Adjacency) -> float:
        return self.at(1.0).sensitivity(adjacency)

    def error(self, scale: float) -> float:
        return float(scale * self._errors_at_one.max())

    @property
    def header(self) -> Row:
        return [*axes_header(self.query.axes), "count", "standard_error"]

    def draw(self, scale: float, looked: Any) -> Iterator[Row]:
        answers = self.at(scale).release(looked).values.tolist()
        errors = (scale * self._errors_at_one).tolist()
        for label_, value, error in zip(self.labels(), answers, errors, strict=True):
            yield [*label_, rounded(value, error), rounded(error, error)]


@dataclass(frozen=True)
class LinePart(WorkloadPart):
    """Counts along one column that has edges."""

    keys = frozenset({"column"})

    def __post_init__(self) -> None:
        _ = named(self.where, lambda: self.bins)
        super().__post_init__()

    @classmethod
    def read(cls, terms: Terms, asked: Asked, section: Section) -> Self:
        return cls(terms, asked, (section.text("column"),))

    @property
    def bins(self) -> Bins:
        axis = self.terms.axis(self.by[0])
        if not isinstance(axis, Bins):
            raise ArgumentError(f"{self.where}.column", self.by[0], "one with low and high")
        return axis


@dataclass(frozen=True)
class PrefixPart(LinePart):
    """How many are below each edge."""

    kind = "prefix"

    @property
    def workload(self) -> Prefix:
        return Prefix(self.bins.count)

    @property
    def header(self) -> Row:
        return [f"{self.by[0]}_below", "count", "standard_error"]

    def labels(self) -> Iterator[Row]:
        return ([edge] for edge in self.bins.edges[1:].tolist())

    def pictures(self, rows: list[list[str]]) -> list[str]:
        return prefix_picture(self.name, self.by[0], self.bins, rows)


@dataclass(frozen=True)
class RangesPart(LinePart):
    """How many are between any two edges."""

    kind = "ranges"

    @property
    def workload(self) -> AllRange:
        return AllRange(self.bins.count)

    def labels(self) -> Iterator[Row]:
        edges = self.bins.edges.tolist()
        starts, stops = np.triu_indices(self.bins.count + 1, 1)
        return ([edges[i], edges[j]] for i, j in zip(starts.tolist(), stops.tolist(), strict=True))

    def pictures(self, rows: list[list[str]]) -> list[str]:
        return ranges_picture(self.name, self.by[0], self.bins, rows)


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
        return cls(terms, asked, columns, ways)

    @property
    def workload(self) -> Marginals:
        return Marginals([self.terms.axis(name).size for name in self.by], ways=self.ways)

    def types(self, table: Table) -> list[Kind]:
        return [*axes_types(self.query.axes), Kind.NUMBER, Kind.NUMBER]

    def labels(self) -> Iterator[Row]:
        workload, axes = self.workload, self.query.axes
        for group in workload.sets:
            for place in product(*(range(workload.shape[axis]) for axis in group)):
                chosen = dict(zip(group, place, strict=True))
                yield [
                    text
                    for axis, (_, own) in enumerate(axes)
                    for text in (label(own, chosen[axis]) if axis in chosen else blank(own))
                ]

    def pictures(self, rows: list[list[str]]) -> list[str]:
        return table_pictures(self.name, self.query.axes, self.workload.sets, rows)
