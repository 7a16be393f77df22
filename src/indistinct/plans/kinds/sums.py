"""Sums, means and variances of a column, whose values are moved to the ends of its interval."""

import math
from abc import abstractmethod
from dataclasses import dataclass
from typing import Self

from indistinct.data import Mean, Norm, Numbers, Query, Sum, Times, Variance
from indistinct.errors import ArgumentError
from indistinct.plans.declarations import Terms, Unit
from indistinct.plans.planned_release import Asked, QueryPart, asked_by
from indistinct.plans.section import Section


@dataclass(frozen=True)
class ColumnPart(QueryPart):
    """One number about a column, for each group."""

    keys = frozenset({"column", "by", "user_total"})
    column: str

    @classmethod
    def read(cls, terms: Terms, asked: Asked, section: Section) -> Self:
        return cls(terms, asked, *asked_by(section), section.text("column"))

    @property
    def numbers(self) -> Numbers:
        return self.terms.numbers(self.column)

    @property
    def error_words(self) -> str:
        return f"in the {self.kind} of {self.column}"


@dataclass(frozen=True)
class SumPart(ColumnPart):
    """The sum of a column."""

    kind = "sum"

    @property
    def asks(self) -> Query:
        return Sum(self.column, self.numbers, self.unit)

    @property
    def size(self) -> float | None:
        records, numbers = self.terms.data.records, self.numbers
        if self.asked.size is not None or records is None:
            return self.asked.size
        return records / self.cell_count * max(abs(numbers.low), abs(numbers.high))


@dataclass(frozen=True)
class MomentsPart(ColumnPart):
    """A number that follows from moments of a column; how many records there are is one of them."""

    @property
    @abstractmethod
    def worst(self) -> float:
        """The error of the worst answer for noise of deviation 1, times records."""

    @property
    def unit(self) -> Unit:
        if self.user_total is None:
            return super().unit
        # Of so many records, each half a width in every moment: a user who has no more is not scaled down.
        moments = 2 if self.kind == "mean" else 3
        longest = math.sqrt(moments) if self.total_norm is Norm.L2 else float(moments)
        return self.terms.totals(self.where, self.total_norm, self.user_total * longest * self.width / 2)

    @property
    def width(self) -> float:
        """Of the interval."""
        numbers = self.numbers
        if numbers.high <= numbers.low:
            raise ArgumentError(f"columns.{self.column}.high", numbers.high, f"above low, for a {self.kind}")
        return numbers.high - numbers.low

    def error(self, scale: float) -> float | None:
        records = self.terms.data.records
        if records is None:
            return None
        return min(self.worst * self.at(scale).deviation * self.cell_count / records, self.largest)

    @property
    @abstractmethod
    def largest(self) -> float:
        """What two answers differ by at most."""

    @property
    def size(self) -> float | None:
        return self.largest if self.asked.size is None else self.asked.size

    @property
    def error_words(self) -> str:
        return f"{super().error_words}{', if groups are equally large' if self.by else ''}"


@dataclass(frozen=True)
class MeanPart(MomentsPart):
    """The mean of a column."""

    kind = "mean"

    @property
    def answer_times(self) -> Times | None:
        return self.terms.column(self.column).times

    @property
    def asks(self) -> Query:
        return Mean(self.column, self.numbers, self.unit)

    @property
    def worst(self) -> float:
        return math.sqrt(2)  # at an end of the interval the sum and the number of records count in full

    @property
    def largest(self) -> float:
        return self.width


@dataclass(frozen=True)
class VariancePart(MomentsPart):
    """The variance of a column."""

    kind = "variance"

    @property
    def asks(self) -> Query:
        return Variance(self.column, self.numbers, self.unit)

    @property
    def worst(self) -> float:
        # coefficients (1/2 + m² - v, -2m, 1/2) of `Variance`, in half widths, for a mean at an end
        return math.sqrt(1.5**2 + 2**2 + 0.5**2) * self.width / 2

    @property
    def largest(self) -> float:
        return (self.width / 2) ** 2
