"""Frequent values of a column whose domain nobody has listed."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Self

from indistinct.adjacency import Adjacency
from indistinct.data import HeavyHitters, Kind, Missing, Table
from indistinct.errors import ArgumentError
from indistinct.mechanisms.additive import Noise
from indistinct.noise import Source
from indistinct.plans.declarations import Terms
from indistinct.plans.kinds.pictures import values_picture
from indistinct.plans.planned_release import Asked, PlannedRelease
from indistinct.plans.section import Section, named
from indistinct.tables.found import SHARE
from indistinct.tables.rows import ERRORS, Row, estimated


@dataclass(frozen=True)
class HeavyHittersPart(PlannedRelease):
    """Values with their counts, from a threshold on that follows from the noise and `delta`."""

    kind = "heavy-hitters"
    keys = frozenset({"column", "delta", "missing"})
    column: str
    delta: float
    missing: Missing

    @classmethod
    def read(cls, terms: Terms, asked: Asked, section: Section) -> Self:
        if not terms.delta:
            raise ArgumentError(
                "budget.delta",
                0,
                f"positive for {section.where}: the chance that a value of one user alone is shown",
            )
        if terms.adjacency is not Adjacency.ADD_REMOVE:
            raise ArgumentError("privacy.adjacency", "replace-one", f"add-remove for {section.where}")
        delta = section.probability("delta", SHARE * terms.delta)
        if not 0 < delta < terms.delta:
            raise ArgumentError(
                section.at("delta"), delta, f"positive, and below budget.delta={terms.delta:g}"
            )
        missing = section.word("missing", Missing, Missing.DROP.value)
        part = cls(terms, asked, section.text("column"), delta, missing)
        named(section.where, part.at, 1.0)
        return part

    @property
    def columns(self) -> tuple[str, ...]:
        return (self.column,)

    @property
    def noise(self) -> Noise:
        return Noise.LAPLACE

    def at(self, scale: float) -> HeavyHitters:
        unit = self.terms.unit(self.where)
        return HeavyHitters.for_delta(self.column, scale, self.delta, unit, self.missing)

    def check(self, table: Any) -> None:
        self.at(1.0).check(table)

    def look(self, table: Any) -> Any:
        return self.at(1.0).occurring(table)

    def sensitivity(self, adjacency: Adjacency) -> float:
        return float(self.terms.most or 1)

    def error(self, scale: float) -> float:
        return 1 / (math.sqrt(2) * math.sinh(min(1 / scale, 1400.0) / 2))

    def remark(self, scale: float) -> str:
        least = self.at(scale).threshold
        return f"; shown are noisy counts of {least} or more, and those near {least} tend to be too high"

    @property
    def header(self) -> Row:
        return [self.column, "count", *ERRORS]

    def types(self, table: Table) -> list[Kind]:
        # Values are texts, which are digits where the column holds numbers.
        held = table.kinds()[self.column]
        return [
            held if held in (Kind.INTEGER, Kind.NUMBER) else Kind.TEXT,
            Kind.INTEGER,
            *(Kind.NUMBER for _ in ERRORS),
        ]

    def draw(self, scale: float, looked: Any, source: Source) -> Iterator[Row]:
        asked, error = self.at(scale), self.error(scale)
        for value, count in asked.release(looked, source=source).values.items():
            yield [value, *estimated(count, error, *asked.interval(count))]

    def pictures(self, rows: list[list[str]]) -> list[str]:
        return values_picture(self.name, self.column, rows)
