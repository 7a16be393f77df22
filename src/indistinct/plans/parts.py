"""One release of a plan: the mechanism at a scale, how far off it will be, and its results as rows."""

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from typing import Any

import numpy as np

from indistinct.adjacency import Adjacency
from indistinct.data import Bins, Categories, Count, Histogram, Mean, NoisyQuery, Norm, Quantiles, Query, Sum
from indistinct.errors import ArgumentError
from indistinct.mechanisms import Mechanism
from indistinct.plans.measured import Measured
from indistinct.plans.plan import Asked, Kind, Plan
from indistinct.workloads import AllRange, Marginals, MatrixMechanism, Noise, Prefix, Workload, optimise

Row = list[Any]
_MOST_RECORDS = 10_000_000
_LARGEST_LISTED = 5_000_000
"""Rows of a result: more would be an accident."""


@dataclass(frozen=True)
class Part(ABC):
    """What is asked, ready to be given a scale."""

    asked: Asked
    plan: Plan

    @property
    def noise(self) -> Noise:
        """Laplace for a pure budget, else Gaussian."""
        return Noise.GAUSSIAN if self.plan.delta else Noise.LAPLACE

    @abstractmethod
    def at(self, scale: float) -> Mechanism: ...

    @abstractmethod
    def check(self, table: Any) -> None:
        """Refuses unknown columns and wrong types, without reading a record."""

    @abstractmethod
    def look(self, table: Any) -> None:
        """Computes the exact numbers and forgets them: data that are not as declared are refused."""

    @abstractmethod
    def sensitivity(self, adjacency: Adjacency) -> float: ...

    @abstractmethod
    def error(self, scale: float) -> float | None:
        """The expected error of an answer (a standard deviation); None if it needs `data.records`."""

    @property
    @abstractmethod
    def size(self) -> float | None:
        """What the error is compared with, as far as the plan says; public."""

    @property
    @abstractmethod
    def header(self) -> Row: ...

    @abstractmethod
    def draw(self, scale: float, table: Any) -> Iterator[Row]:
        """Draws the noise; the rows of the result."""

    @property
    def error_words(self) -> str:
        """What the error is an error of."""
        return "records"


@dataclass(frozen=True)
class QueryPart(Part):
    """Counts, sums, means and quantiles: each number with its own noise."""

    query: Query

    def at(self, scale: float) -> NoisyQuery:
        return self.query.gaussian(scale) if self.plan.delta else self.query.laplace(scale)

    def check(self, table: Any) -> None:
        self.query.check(table)

    def look(self, table: Any) -> None:
        self.query.statistic(table)

    def sensitivity(self, adjacency: Adjacency) -> float:
        return self.query.sensitivity(Norm.L2 if self.plan.delta else Norm.L1, adjacency)

    def error(self, scale: float) -> float | None:
        deviation, records = self.at(scale).deviation, self.plan.data.records
        if isinstance(self.query, Mean):
            # the sum and the number of records are both off; at an end of the interval both count in full
            return None if records is None else math.sqrt(2) * deviation / records
        if isinstance(self.query, Quantiles):
            # a prefix is made of at most one interval of each level below the top
            return deviation * math.sqrt(max(self.query.levels - 1, 1))
        return deviation

    @property
    def size(self) -> float | None:
        records = self.plan.data.records
        if self.asked.size is not None:
            return self.asked.size
        if isinstance(self.query, Mean):
            return self.query.domain.high - self.query.domain.low
        if isinstance(self.query, Sum) and records is not None:
            return records * max(abs(self.query.domain.low), abs(self.query.domain.high))
        return records

    @property
    def error_words(self) -> str:
        if isinstance(self.query, Sum | Mean):
            return f"of {self.query.column}"
        return "records in rank" if isinstance(self.query, Quantiles) else "records"

    @property
    def header(self) -> Row:
        if isinstance(self.query, Histogram):
            return [*axes_header(self.query.axes), "count", "standard_error"]
        if isinstance(self.query, Quantiles):
            return ["rank", self.query.column]
        return [self.asked.kind.value, "standard_error"]

    def draw(self, scale: float, table: Any) -> Iterator[Row]:
        values = self.at(scale).release(table).values
        error = self.error(scale)
        if isinstance(self.query, Quantiles):
            width = self.query.bins.width
            for rank, place in zip(self.query.ranks, values, strict=True):
                yield [rank, rounded(float(place), width)]
        elif isinstance(self.query, Histogram):
            for cell, value in zip(cells(self.query.axes), values.ravel().tolist(), strict=True):
                yield [*cell, rounded(value, error), rounded(error or 0.0, error)]
        else:
            yield [rounded(values, error), "" if error is None else rounded(error, error)]


@dataclass(frozen=True)
class WorkloadPart(Part):
    """Many linear queries on one histogram, through the strategy that is best for them."""

    query: Histogram
    workload: Workload

    @cached_property
    def _unit(self) -> MatrixMechanism:
        """At scale 1. Its strategy is found once, without the data."""
        records = max(_MOST_RECORDS, 4 * (self.plan.data.records or 0))
        best = optimise(self.workload, self.noise).strategy
        return MatrixMechanism(self.workload, best, 1.0, self.noise, records)

    @cached_property
    def _unit_errors(self) -> Any:
        return self._unit.standard_errors()

    def at(self, scale: float) -> Measured:
        unit = self._unit
        mechanism = MatrixMechanism(unit.workload, unit.strategy, scale, unit.noise, unit.records)
        return Measured(self.query, mechanism)

    def check(self, table: Any) -> None:
        self.query.check(table)

    def look(self, table: Any) -> None:
        self.at(1.0).read(table)

    def sensitivity(self, adjacency: Adjacency) -> float:
        return self.at(1.0).sensitivity(adjacency)

    def error(self, scale: float) -> float:
        return float(scale * self._unit_errors.max())

    @property
    def size(self) -> float | None:
        return self.plan.data.records if self.asked.size is None else self.asked.size

    @property
    def header(self) -> Row:
        (first, _), *_ = self.query.axes
        if self.asked.kind is Kind.PREFIX:
            return [f"{first}_below", "count", "standard_error"]
        return [*axes_header(self.query.axes), "count", "standard_error"]

    def draw(self, scale: float, table: Any) -> Iterator[Row]:
        answers = self.at(scale).release(table).answers().tolist()
        errors = (scale * self._unit_errors).tolist()
        for label, value, error in zip(self._labels(), answers, errors, strict=True):
            yield [*label, rounded(value, error), rounded(error, error)]

    def _labels(self) -> Iterator[Row]:
        (_, domain), *_ = self.query.axes
        if isinstance(self.workload, Marginals):
            for group in self.workload.sets:
                for place in product(*(range(self.workload.shape[axis]) for axis in group)):
                    chosen = dict(zip(group, place, strict=True))
                    yield [
                        text
                        for axis, (_, own) in enumerate(self.query.axes)
                        for text in (label(own, chosen[axis]) if axis in chosen else blank(own))
                    ]
            return
        assert isinstance(domain, Bins)
        edges = domain.edges.tolist()
        if self.asked.kind is Kind.PREFIX:
            yield from ([edge] for edge in edges[1:])
        else:
            starts, stops = np.triu_indices(domain.count + 1, 1)
            yield from ([edges[i], edges[j]] for i, j in zip(starts.tolist(), stops.tolist(), strict=True))


def part_of(asked: Asked, plan: Plan) -> Part:
    """A release of the plan; refuses what cannot be asked."""
    unit, kind = plan.unit, asked.kind
    if kind is Kind.COUNT:
        return QueryPart(asked, plan, Count(unit))
    if kind in (Kind.SUM, Kind.MEAN):
        ask = Sum if kind is Kind.SUM else Mean
        return QueryPart(asked, plan, ask(asked.columns[0], plan.numbers(asked.columns[0]), unit))
    if kind in (Kind.QUANTILES, Kind.PREFIX, Kind.RANGES):
        axis = plan.axis(asked.columns[0], asked.bins)
        if not isinstance(axis, Bins):
            raise ArgumentError(f"releases.{asked.name}.column", asked.columns[0], "one with low and high")
        if kind is Kind.QUANTILES:
            if axis.count & (axis.count - 1):
                raise ArgumentError(f"releases.{asked.name}.bins", axis.count, "a power of two")
            return QueryPart(asked, plan, Quantiles(asked.columns[0], axis, asked.ranks, unit))
    axes = {name: plan.axis(name) for name in asked.columns}
    query = Histogram(axes, unit)
    if kind is Kind.HISTOGRAM:
        _few(asked, query.size)
        return QueryPart(asked, plan, query)
    shape = [axis.size for axis in axes.values()]
    if kind is Kind.MARGINALS:
        workload: Workload = Marginals(shape, ways=asked.ways)
    else:
        workload = Prefix(shape[0]) if kind is Kind.PREFIX else AllRange(shape[0])
    _few(asked, workload.queries)
    return WorkloadPart(asked, plan, query, workload)


def _few(asked: Asked, rows: int) -> None:
    if rows > _LARGEST_LISTED:
        raise ArgumentError(f"releases.{asked.name}", f"{rows} numbers", f"at most {_LARGEST_LISTED}")


def axes_header(axes: Sequence[tuple[str, Bins | Categories]]) -> Row:
    """Names of the columns that say which cell: two for an interval."""
    return [
        title
        for name, domain in axes
        for title in ([f"{name}_low", f"{name}_high"] if isinstance(domain, Bins) else [name])
    ]


def cells(axes: Sequence[tuple[str, Bins | Categories]]) -> Iterator[Row]:
    """Every cell, the last column running fastest."""
    domains = [domain for _, domain in axes]
    for places in product(*(range(domain.size) for domain in domains)):
        yield [text for domain, place in zip(domains, places, strict=True) for text in label(domain, place)]


def label(domain: Bins | Categories, place: int) -> Row:
    if isinstance(domain, Categories):
        return [domain.values[place]]
    low = domain.low + place * domain.width
    return [low, domain.high if place + 1 == domain.count else domain.low + (place + 1) * domain.width]


def blank(domain: Bins | Categories) -> Row:
    """In place of a column that a marginal sums over."""
    return [""] if isinstance(domain, Categories) else ["", ""]


def rounded(value: float, error: float | None) -> float:
    """Without digits that mean nothing: a thousandth of the error is kept."""
    if not error or not math.isfinite(error):
        return value
    return round(value, 3 - math.floor(math.log10(error)))
