"""Regressions, covariances and correlations: one sum of products of columns, and what follows from it."""

from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import asdict, dataclass, fields
from typing import Any, ClassVar, Self

from indistinct.data import (
    RECORDS,
    Association,
    Categories,
    Coefficient,
    CovarianceTable,
    CrossProductQuery,
    Kind,
    LinearRegression,
    LogisticRegression,
    Numbers,
    PerturbedLikelihood,
    Table,
    fits_by_group,
)
from indistinct.errors import ArgumentError
from indistinct.noise import Source
from indistinct.plans.declarations import Terms, Unit
from indistinct.plans.planned_release import Asked, QueryPart, asked_by
from indistinct.plans.section import Section
from indistinct.tables.rows import Row, axes_header, axes_types, cells, rounded


@dataclass(frozen=True)
class CrossProductPart(QueryPart):
    """A release of the sums of products of columns."""

    units_differ = True
    only_in_file = frozenset({"noise_error", "noise_low", "noise_high"})
    processed = "coefficients are drawn towards 0 where noise is large, and small ones are biased"
    listed: tuple[str, ...]
    rows: ClassVar[type[Coefficient] | type[Association]]

    @abstractmethod
    def asked_of(self, unit: Unit) -> CrossProductQuery:
        """The query, of this unit."""

    @property
    def asks(self) -> CrossProductQuery:
        return self.asked_of(self.unit)

    @property
    def axes(self) -> dict[str, Numbers | Categories]:
        """The columns as they are declared: numbers by their ends."""
        return {name: self._axis(name) for name in self.listed}

    def _axis(self, name: str) -> Numbers | Categories:
        declared = self.terms.column(name)
        if declared.ends is not None:
            return self.terms.numbers(name)
        axis = self.terms.axis(name)
        assert isinstance(axis, Categories)
        return axis

    @property
    def unit(self) -> Unit:
        if self.user_total is None:
            return super().unit
        # Of so many records, each as long as the longest: a user who has no more is not scaled down.
        longest = self.asked_of(RECORDS).bounded.sensitivity(self.total_norm)
        return self.terms.totals(self.where, self.total_norm, self.user_total * longest)

    def error(self, scale: float) -> float | None:
        # the variance of a number that is spread evenly over [-1, 1] is a third
        records = self.terms.data.records
        return None if records is None else 3 * self.at(scale).deviation * self.cell_count / records

    @property
    def if_even(self) -> str:
        """When the expected error is to be expected."""
        return ", if columns are evenly spread and unrelated" + (", and groups equally large" * bool(self.by))

    @property
    def size(self) -> float | None:
        return 1.0 if self.asked.size is None else self.asked.size

    @property
    def header(self) -> Row:
        return [*axes_header(self.groups), *(field.name for field in fields(self.rows))]

    def types(self, table: Table) -> list[Kind]:
        own = [Kind.TEXT if field.type is str else Kind.NUMBER for field in fields(self.rows)]
        return [*axes_types(self.groups), *own]

    def draw(self, scale: float, looked: Any, source: Source) -> Iterator[Row]:
        noisy = self.at(scale)
        values, _ = noisy.noisy(looked, source)
        for group, rows in zip(cells(self.groups), fits_by_group(noisy, values), strict=True):
            for row in rows:
                told = (
                    entry
                    if isinstance(entry, str)
                    else rounded(entry, 0.01 if name.startswith("correlation") else row.standard_error)
                    for name, entry in asdict(row).items()
                )
                yield [*group, *told]


@dataclass(frozen=True)
class RegressionPart(CrossProductPart):
    """What explains a response."""

    keys = frozenset({"response", "columns", "by", "user_total"})
    uncertainty = "noise and sampling (noise_low and noise_high: noise alone)"
    rows = Coefficient
    response: str

    @classmethod
    def read(cls, terms: Terms, asked: Asked, section: Section) -> Self:
        response, columns = section.text("response"), section.texts("columns")
        if response in columns:
            raise ArgumentError(section.at("columns"), response, "what explains the response, without it")
        return cls(terms, asked, *asked_by(section), (*columns, response), response)


@dataclass(frozen=True)
class LinearPart(RegressionPart):
    """Least squares."""

    kind = "linear"

    def asked_of(self, unit: Unit) -> LinearRegression:
        return LinearRegression(self.response, self.axes, unit)

    @property
    def error_words(self) -> str:
        return f"of the interval of {self.response}, by noise, from end to end of a column{self.if_even}"


@dataclass(frozen=True)
class LogisticPart(RegressionPart):
    """How odds depend on columns."""

    kind = "logistic"
    keys = RegressionPart.keys - {"by"}

    def remark(self, scale: float) -> str:
        if isinstance(self.at(scale), PerturbedLikelihood):
            return "; reads the table five to twenty times more, until the maximum of the likelihood is found"
        again = len(self.asks.passes(self.terms.norm, self.terms.adjacency)) - 1
        return f"; reads the table {again} times more, at coefficients that the times before have told"

    def asked_of(self, unit: Unit) -> LogisticRegression:
        return LogisticRegression(self.response, self.axes, unit)

    def error(self, scale: float) -> float | None:
        # of a logit across both halves, where the odds are even and columns are evenly spread
        records, slope = self.terms.data.records, self.asked_of(self.unit).slope_error(self.at(scale))
        return None if records is None else 2 * 4 * 3 * slope / records

    @property
    def size(self) -> float | None:
        return 4.0 if self.asked.size is None else self.asked.size

    @property
    def error_words(self) -> str:
        return f"in the logit, by noise, from end to end of a column{self.if_even}"


@dataclass(frozen=True)
class CovariancePart(CrossProductPart):
    """Covariances and correlations of every two columns."""

    kind = "covariance"
    keys = frozenset({"columns", "by", "user_total"})
    rows = Association

    @classmethod
    def read(cls, terms: Terms, asked: Asked, section: Section) -> Self:
        return cls(terms, asked, *asked_by(section), section.texts("columns"))

    def asked_of(self, unit: Unit) -> CovarianceTable:
        return CovarianceTable(self.axes, unit)

    @property
    def error_words(self) -> str:
        return f"in a correlation, by noise{self.if_even}"
