"""A suggestion of bounds for a column, as a release of its own."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Self

from indistinct.adjacency import Adjacency
from indistinct.data import BoundedSum, Kind, Ladder, SuggestedBounds, Table, Times
from indistinct.errors import ArgumentError, check_real
from indistinct.mechanisms.additive import Noise
from indistinct.noise import Source
from indistinct.plans.declarations import Terms, read_end
from indistinct.plans.kinds.outside import share_words
from indistinct.plans.planned_release import Asked, PlannedRelease
from indistinct.plans.section import Section, named
from indistinct.tables.rows import ERRORS, Row, estimated

_COVER = 0.99


@dataclass(frozen=True)
class BoundsPart(PlannedRelease):
    """Round numbers between which the share `cover` of a column lies. The column need not be declared."""

    units_differ = True
    kind = "bounds"
    keys = frozenset({"column", "cover", "low", "high", "unit", "zone"})
    column: str
    cover: float
    low: float | None
    high: float | None
    unit: str | None
    zone: str | None

    def __post_init__(self) -> None:
        _ = named(self.where, self.at, 1.0)

    @classmethod
    def read(cls, terms: Terms, asked: Asked, section: Section) -> Self:
        unit, zone = section.maybe("unit", section.text), section.maybe("zone", section.text)
        if zone is not None and unit is None:
            raise ArgumentError(section.at("zone"), zone, "given with unit, and only with it")
        times = None if unit is None else named(section.where, Times, unit, zone or "UTC")
        low, high = (
            check_real(section.at(end), named(section.at(end), read_end, times, section.get(end)))
            if end in section
            else None
            for end in ("low", "high")
        )
        return cls(
            terms, asked, section.text("column"), section.probability("cover", _COVER), low, high, unit, zone
        )

    @property
    def times(self) -> Times | None:
        return None if self.unit is None else Times(self.unit, self.zone or "UTC")

    @property
    def columns(self) -> tuple[str, ...]:
        return (self.column,)

    def at(self, scale: float) -> SuggestedBounds:
        ladder = Ladder(self.column, self.low, self.high, self.times, self.terms.unit(self.where))
        noisy = ladder.gaussian(scale) if self.terms.noise is Noise.GAUSSIAN else ladder.laplace(scale)
        return SuggestedBounds(noisy, self.cover)

    def check(self, table: Any) -> None:
        self.at(1.0).check(table)

    @property
    def sums(self) -> tuple[BoundedSum, ...]:
        return (self.at(1.0).ladder.query.bounded,)

    def look(self, table: Any) -> Any:
        self.at(1.0).ladder.query.statistic(table)
        return table  # it remembers

    def sensitivity(self, adjacency: Adjacency) -> float:
        return self.at(1.0).sensitivity(self.terms.norm, adjacency)

    def error(self, scale: float) -> float:
        return self.at(scale).ladder.deviation

    @property
    def error_words(self) -> str:
        return "records in the number of those outside"

    @property
    def header(self) -> Row:
        ends = ["suggested_low", "suggested_high"]
        return ["column", *ends, "share_outside", *ERRORS]

    def types(self, table: Table) -> list[Kind]:
        ends = Kind.NUMBER if self.unit is None else Kind.TEXT
        return [Kind.TEXT, ends, ends, *[Kind.NUMBER] * 4]

    def draw(self, scale: float, looked: Any, source: Source) -> Iterator[Row]:
        found, times = self.at(scale).release(looked, source=source).values, self.times
        ends = (end if times is None else times.words(end) for end in (found.low, found.high))
        (numbers,) = found.outside.rows()
        yield [self.column, *ends, *estimated(*numbers)]

    def sentences(self, rows: list[list[str]]) -> list[str]:
        """The rows of the result in words."""
        ladder, times = self.at(1.0).ladder.query, self.times
        assert isinstance(ladder, Ladder)
        ends = (ladder.edges[0], ladder.edges[-1])
        widest = [str(end if times is None else times.words(end)) for end in ends]
        return [
            f"nothing narrower can be suggested for {column}: too few records for this noise"
            if [low, high] == widest
            else f"with low = {low} and high = {high}, about {share_words(*shares)} of records would have"
            f" {column} outside"
            for column, low, high, *shares in rows
        ]
