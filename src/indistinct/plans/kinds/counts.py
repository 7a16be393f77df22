"""How many records there are, and how many in each cell."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Self

from indistinct.data import Count, Estimates, Histogram, Kind, Query, whole_counts
from indistinct.plans.declarations import Terms
from indistinct.plans.kinds.pictures import Listed, grouped_pictures, table_pictures
from indistinct.plans.planned_release import Asked, QueryPart, asked_by, check_rows
from indistinct.plans.section import Section
from indistinct.report.results import Ends
from indistinct.tables.rows import Row, axes_header, axes_types, cells

_WHOLE = "; rounded to whole numbers, and negative ones to 0, after the noise"


@dataclass(frozen=True)
class CountPart(QueryPart):
    """The number of records, for each group."""

    kind = "count"
    keys = frozenset({"by", "user_total", "whole"})
    whole: bool

    @classmethod
    def read(cls, terms: Terms, asked: Asked, section: Section) -> Self:
        return cls(terms, asked, *asked_by(section), section.truth("whole"))

    def shown(self, found: Estimates) -> Estimates:
        return whole_counts(found) if self.whole else found

    def remark(self, scale: float) -> str:
        return _WHOLE if self.whole else ""

    @property
    def asks(self) -> Query:
        return Count(self.unit)


@dataclass(frozen=True)
class HistogramPart(QueryPart):
    """A count for each cell of one column or more."""

    kind = "histogram"
    value_name = "count"
    keys = frozenset({"columns", "by", "user_total", "whole"})
    counted: tuple[str, ...]
    whole: bool

    @classmethod
    def read(cls, terms: Terms, asked: Asked, section: Section) -> Self:
        part = cls(terms, asked, *asked_by(section), section.texts("columns"), section.truth("whole"))
        check_rows(section.where, part.query.size)
        return part

    def shown(self, found: Estimates) -> Estimates:
        return whole_counts(found) if self.whole else found

    def remark(self, scale: float) -> str:
        return _WHOLE if self.whole else ""

    @property
    def axes(self) -> tuple[tuple[str, Any], ...]:
        return tuple((name, self.terms.axis(name)) for name in self.counted)

    @property
    def asks(self) -> Query:
        return Histogram(dict(self.axes), self.unit)

    @property
    def cell_count(self) -> int:
        return self.query.size

    @property
    def labels_header(self) -> Row:
        return axes_header(self.axes)

    @property
    def labels_types(self) -> list[Kind]:
        return axes_types(self.axes)

    def labels(self) -> Iterable[Row]:
        return list(cells(self.axes))

    def pictures(self, rows: list[list[str]]) -> list[str]:
        groups, axes = self.groups, self.axes

        def draw(name: str, own: Listed, reach: Ends | None = None) -> list[str]:
            return table_pictures(name, axes, [tuple(range(len(axes)))], own, reach)

        return grouped_pictures(self.name, len(axes_header(groups)), rows, draw)
