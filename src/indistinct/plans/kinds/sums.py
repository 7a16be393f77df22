"""Sums and means of a column, whose values are moved to the ends of its interval."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Self

from indistinct.data import Mean, Norm, PublicMean, Sum
from indistinct.errors import ArgumentError
from indistinct.plans.declarations import Terms, Unit
from indistinct.plans.planned_release import Asked, QueryPart, Row, rounded
from indistinct.plans.section import Section


@dataclass(frozen=True)
class SumPart(QueryPart):
    """The sum of a column."""

    kind = "sum"
    keys = frozenset({"column", "user_total"})
    column: str

    @classmethod
    def read(cls, terms: Terms, asked: Asked, section: Section) -> Self:
        return cls(terms, asked, section.maybe("user_total", section.positive), section.text("column"))

    @property
    def query(self) -> Sum:
        return Sum(self.column, self.terms.numbers(self.column), self.unit)

    @property
    def size(self) -> float | None:
        records, numbers = self.terms.data.records, self.query.domain
        if self.asked.size is not None or records is None:
            return self.asked.size
        return records * max(abs(numbers.low), abs(numbers.high))

    @property
    def error_words(self) -> str:
        return f"in the sum of {self.column}"


@dataclass(frozen=True)
class MeanPart(QueryPart):
    """The mean of a column, over `records` records if everybody knows how many there are."""

    kind = "mean"
    keys = frozenset({"column", "records", "user_total"})
    column: str
    records: int | None

    @classmethod
    def read(cls, terms: Terms, asked: Asked, section: Section) -> Self:
        total = section.maybe("user_total", section.positive)
        records = section.maybe("records", section.count)
        return cls(terms, asked, total, section.text("column"), records)

    @property
    def query(self) -> Mean | PublicMean:
        numbers = self.terms.numbers(self.column)
        if self.records is None:
            return Mean(self.column, numbers, self.unit)
        return PublicMean(self.column, numbers, self.records, self.unit)

    @property
    def unit(self) -> Unit:
        if self.user_total is None or self.records is not None:
            return super().unit
        # Of so many records, each half a width in number and at most as much in distance from the middle:
        # a user who has no more is not scaled down.
        numbers = self.terms.numbers(self.column)
        longest = math.sqrt(2) if self.total_norm is Norm.L2 else 2.0
        bound = self.user_total * longest * (numbers.high - numbers.low) / 2
        if bound <= 0:
            raise ArgumentError(f"columns.{self.column}.high", numbers.high, "above low, for a mean")
        return self.terms.totals(self.where, self.total_norm, bound)

    def error(self, scale: float) -> float | None:
        if self.records is not None:
            return self.at(scale).deviation / self.records
        # the sum and the number of records are both off; at an end of the interval both count in full
        records = self.terms.data.records
        return None if records is None else math.sqrt(2) * self.at(scale).deviation / records

    def draw(self, scale: float, looked: Any) -> Iterator[Row]:
        query = self.query
        if isinstance(query, PublicMean):
            yield from super().draw(scale, looked)
            return
        # What the release itself says of the number of records, not what the plan expects.
        noisy = self.at(scale)
        values, _ = noisy.noisy(looked)
        error = min(
            math.sqrt(2) * noisy.deviation / query.records(values), query.domain.high - query.domain.low
        )
        yield [rounded(query.read(values), error), rounded(error, error)]

    @property
    def size(self) -> float | None:
        numbers = self.query.domain
        return numbers.high - numbers.low if self.asked.size is None else self.asked.size

    @property
    def error_words(self) -> str:
        return f"in the mean of {self.column}"
