"""How many records there are, and how many in each cell."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Self

from indistinct.data import Count, Histogram, Kind, Table
from indistinct.plans.declarations import Terms
from indistinct.plans.kinds.pictures import table_pictures
from indistinct.plans.planned_release import (
    Asked,
    QueryPart,
    Row,
    axes_header,
    axes_types,
    cells,
    check_rows,
    rounded,
)
from indistinct.plans.section import Section


@dataclass(frozen=True)
class CountPart(QueryPart):
    """The number of records."""

    kind = "count"
    keys = frozenset({"user_total"})

    @classmethod
    def read(cls, terms: Terms, asked: Asked, section: Section) -> Self:
        return cls(terms, asked, section.maybe("user_total", section.positive))

    @property
    def query(self) -> Count:
        return Count(self.unit)


@dataclass(frozen=True)
class HistogramPart(QueryPart):
    """A count for each cell of one column or more."""

    kind = "histogram"
    keys = frozenset({"columns", "user_total"})
    by: tuple[str, ...]

    @classmethod
    def read(cls, terms: Terms, asked: Asked, section: Section) -> Self:
        total = section.maybe("user_total", section.positive)
        part = cls(terms, asked, total, section.texts("columns"))
        check_rows(section.where, part.query.size)
        return part

    @property
    def query(self) -> Histogram:
        return Histogram({name: self.terms.axis(name) for name in self.by}, self.unit)

    @property
    def header(self) -> Row:
        return [*axes_header(self.query.axes), "count", "standard_error"]

    def types(self, table: Table) -> list[Kind]:
        return [*axes_types(self.query.axes), Kind.NUMBER, Kind.NUMBER]

    def draw(self, scale: float, looked: Any) -> Iterator[Row]:
        values = self.at(scale).release(looked).values.ravel().tolist()
        error = self.at(scale).deviation
        for cell, value in zip(cells(self.query.axes), values, strict=True):
            yield [*cell, rounded(value, error), rounded(error, error)]

    def pictures(self, rows: list[list[str]]) -> list[str]:
        return table_pictures(self.name, self.query.axes, [tuple(range(len(self.by)))], rows)
