"""Quantiles of a column."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Self

from indistinct.data import Bins, Kind, Norm, Quantiles, Table
from indistinct.errors import ArgumentError, check_probability
from indistinct.plans.declarations import Terms
from indistinct.plans.planned_release import Asked, QueryPart, asked_by
from indistinct.plans.section import Section
from indistinct.tables.rows import Row, rounded


@dataclass(frozen=True)
class QuantilesPart(QueryPart):
    """A place for each rank."""

    kind = "quantiles"
    keys = frozenset({"column", "ranks", "bins", "user_total"})
    column: str
    ranks: tuple[float, ...]
    bins: int | None

    @classmethod
    def read(cls, terms: Terms, asked: Asked, section: Section) -> Self:
        ranks = section.get("ranks")
        if not isinstance(ranks, list) or not ranks:
            raise ArgumentError(section.at("ranks"), ranks, "a list such as [0.25, 0.5, 0.75]")
        return cls(
            terms,
            asked,
            *asked_by(section),
            section.text("column"),
            tuple(check_probability(section.at("ranks"), rank) for rank in ranks),
            section.maybe("bins", section.count),
        )

    @property
    def asks(self) -> Quantiles:
        axis = self.terms.axis(self.column, self.bins)
        if not isinstance(axis, Bins):
            raise ArgumentError(f"{self.where}.column", self.column, "one with low and high")
        if axis.count & (axis.count - 1):
            raise ArgumentError(f"{self.where}.bins", axis.count, "a power of two")
        return Quantiles(self.column, axis, self.ranks, self.unit)

    @property
    def total_norm(self) -> Norm:
        return Norm.L1  # which does not grow when intervals are merged

    def error(self, scale: float) -> float:
        # a prefix is made of at most one interval of each level below the top
        return self.at(scale).deviation * math.sqrt(max(self.asks.levels - 1, 1))

    @property
    def error_words(self) -> str:
        return "records too many or too few below an answer"

    @property
    def header(self) -> Row:
        return ["rank", self.column]

    def types(self, table: Table) -> list[Kind]:
        return [Kind.NUMBER, Kind.NUMBER]

    def draw(self, scale: float, looked: Any) -> Iterator[Row]:
        places = self.at(scale).release(looked).values
        for rank, place in zip(self.ranks, places, strict=True):
            yield [rank, rounded(float(place), self.asks.bins.width)]
