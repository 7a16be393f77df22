"""A density of one or two columns: a function is released, and a density fitted to it."""

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from indistinct.adjacency import Adjacency
from indistinct.data import Bins, BoundedSum, Histogram, Kind, Norm, Numbers, Table
from indistinct.errors import ArgumentError
from indistinct.functions import FourierBasis
from indistinct.functions.density import density_from, public_bandwidth
from indistinct.functions.fourier import allowed_records, copies_of, matern_basis
from indistinct.functions.function import FiniteFunction, FunctionNoise
from indistinct.noise import Source
from indistinct.plans.declarations import Terms
from indistinct.plans.kinds.pictures import Listed, density_pictures, grouped_pictures
from indistinct.plans.planned_release import Asked, FittedPart, Read, Say, asked_by, check_rows
from indistinct.plans.section import Section, named
from indistinct.report.results import Ends
from indistinct.tables.rows import Row, axes_header, axes_types, cells, rounded

_GRID = {1: 200, 2: 64}
"""Cells of the result along each column, unless the plan says so."""


@dataclass(frozen=True)
class DensityPart(FittedPart):
    """How dense records are, everywhere in a box. The noise is a path of a Gaussian process, drawn once; the
    density is positive, adds up to one, and is told on a grid, as finely as one likes."""

    kind = "density"
    only_gaussian = True
    keys = frozenset({"columns", "by", "grid", "bandwidth"})
    by: tuple[str, ...]
    placed: tuple[str, ...]
    grid: int
    bandwidth: float | None

    @classmethod
    def read(cls, terms: Terms, asked: Asked, section: Section) -> Self:
        if terms.data.records is None:
            raise ArgumentError("data.records", None, f"given for {section.where}: its bandwidth needs it")
        columns = section.texts("columns")
        if len(columns) > len(_GRID):
            raise ArgumentError(section.at("columns"), list(columns), "one or two")
        grid = section.count("grid") if "grid" in section else _GRID[len(columns)]
        check_rows(section.at("grid"), grid ** len(columns))
        bandwidth = section.maybe("bandwidth", section.positive)
        if bandwidth is not None and not 0.005 <= bandwidth <= 1:
            allowed = "between 0.005 and 1: a fraction of each column's interval"
            raise ArgumentError(section.at("bandwidth"), bandwidth, allowed)
        return cls(terms, asked, asked_by(section)[1], columns, grid, bandwidth)

    def __post_init__(self) -> None:
        _ = named(self.where, lambda: self.query)

    @property
    def columns(self) -> tuple[str, ...]:
        return self.placed

    @property
    def _axes(self) -> dict[str, Numbers]:
        return {name: self.terms.numbers(name) for name in self.placed}

    @property
    def records(self) -> int:
        """A public number that the records do not exceed."""
        assert self.terms.data.records is not None
        return 4 * self.terms.data.records

    @property
    def query(self) -> Histogram:
        """Counts on the finest grid, for each group."""
        fine = self._basis(1 / 3).histogram(self._axes, self.terms.unit(self.where))
        return Histogram({**dict(self.groups), **dict(fine.axes)}, fine.unit)

    def _basis(self, share: float) -> FourierBasis:
        low, high = (tuple(getattr(side, end) for side in self._axes.values()) for end in ("low", "high"))
        return matern_basis(low, high, share)

    def basis(self, scale: float) -> FourierBasis:
        """The waves that are worth measuring with noise of this scale."""
        return self._basis(self._share(scale))

    def at(self, scale: float) -> FunctionNoise:
        noise = self.basis(scale).noise(scale, copies=copies_of(self.query), records=self.records)
        # A record that is replaced by one of another group moves two functions, each as if it came or went.
        apart = math.sqrt(2) * noise.added * (1 + 1e-15) if self.by else 0.0
        return replace(noise, replaced=max(noise.replaced, apart))

    def _share(self, scale: float) -> float:
        """The bandwidth, in sides of the box."""
        if self.bandwidth is not None:
            return self.bandwidth
        assert self.terms.data.records is not None
        copies = self.query.sensitivity(Norm.L1)
        records = max(self.terms.data.records / self.cell_count, 1.0)
        return public_bandwidth(len(self.placed), records, scale / copies)

    def check(self, table: Any) -> None:
        self.query.check(table)

    @property
    def sums(self) -> tuple[BoundedSum, ...]:
        return (self.query.bounded,)

    def look(self, table: Any) -> Any:
        if int(self.query.statistic(table).units.sum()) > allowed_records(self.records):
            raise ArgumentError("data.records", self.terms.data.records, "about as many as there are")
        return table  # it remembers

    def sensitivity(self, adjacency: Adjacency) -> float:
        copies = self.query.sensitivity(Norm.L1)
        return copies * (1.0 if adjacency is Adjacency.ADD_REMOVE else math.sqrt(2))

    def error(self, scale: float) -> float:
        return scale

    @property
    def error_words(self) -> str:
        return "records near any place"

    def remark(self, scale: float) -> str:
        share = self._share(scale)
        return f"; details finer than about {100 * share:.2g} % of a column's interval are blurred"

    @property
    def drawn(self) -> str:
        return f"{self.name}.coefficients"

    @property
    def header(self) -> Row:
        return [*axes_header(self.groups), "coefficient", "standard_error"]

    def types(self, table: Table) -> list[Kind]:
        return [*axes_types(self.groups), *[Kind.NUMBER] * (2 * len(self.placed) + 1)]

    def draw(self, scale: float, looked: Any, source: Source) -> Iterator[Row]:
        # A record is in one group, so the noise of one function is enough for each of them.
        for group, function in zip(cells(self.groups), self.functions(scale, looked, source), strict=True):
            for value in function.coefficients.tolist():
                yield [*group, value, scale]

    def functions(self, scale: float, looked: Any, source: Source) -> Iterator[FiniteFunction]:
        """The functions that are released, with noise."""
        counts = self.query.statistic(looked).units.reshape(self.cell_count, -1)
        basis, copies = self.basis(scale), copies_of(self.query)
        for own in counts:
            yield basis.release_counts(scale, own, copies=copies, records=self.records, source=source)

    def result(self, scale: float, drawn: list[list[str]], say: Say) -> Iterator[Row]:
        say(f"fitting {self.name}")
        noise = FunctionNoise(scale, 1.0, 1.0, 1.0)  # accounted by the plan, and not private here
        coefficients = np.array([float(row[-2]) for row in drawn]).reshape(self.cell_count, -1)
        basis, bins = self.basis(scale), self._bins
        yield [*axes_header([*self.groups, *bins]), "density"]
        for group, own in zip(cells(self.groups), coefficients, strict=True):
            density = density_from(FiniteFunction(basis, noise, False, coefficients=own)).on_grid(self.grid)
            for cell, value in zip(cells(bins), density.ravel().tolist(), strict=True):
                yield [*group, *cell, rounded(value, value / 100)]

    @property
    def _bins(self) -> list[tuple[str, Bins]]:
        return [(name, Bins(side.low, side.high, self.grid, of=side.of)) for name, side in self._axes.items()]

    def charts(self, read: Read) -> list[str]:
        def draw(name: str, own: Listed, reach: Ends | None = None) -> list[str]:
            return density_pictures(name, self._bins, [float(row[-1]) for row in own[1:]], reach)

        return grouped_pictures(self.name, len(axes_header(self.groups)), read(self.name), draw)
