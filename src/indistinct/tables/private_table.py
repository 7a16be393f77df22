"""A table whose columns are declared, to be asked by group."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from indistinct.data import (
    Bins,
    Categories,
    Count,
    CovarianceTable,
    Hierarchy,
    Histogram,
    LinearRegression,
    LogisticRegression,
    Mean,
    Norm,
    Numbers,
    Quantiles,
    Query,
    Records,
    Sum,
    Unit,
    UserRecords,
    Variance,
    Within,
    best_factor,
    found_categories,
)
from indistinct.errors import ArgumentError
from indistinct.tables.found import Finder, Found
from indistinct.tables.question import Question
from indistinct.tables.rows import Row, axes_header, cells, nodes

Declared = Bins | Categories | Numbers | Within | Found


@dataclass(frozen=True)
class PrivateTable:
    """Records and what their columns may hold. Nothing is read before something is released.

    `data` is anything that `indistinct.data.table` takes, or what `read_csv` and the like return. With
    `user`, the name of a column, all records of a user are protected, of which `most` take part in an answer;
    or `most` in each of `most_groups` groups.
    """

    data: Any = field(repr=False)
    columns: Mapping[str, Declared] = field(default_factory=dict)
    user: str | None = None
    most: int | None = None
    most_groups: int | None = None
    groups: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if isinstance(self.data, str | os.PathLike):
            raise ArgumentError(
                "data", str(self.data), "a table: read_csv(...) or read_parquet(...) open a file"
            )
        for name, domain in dict(self.columns).items():
            if not isinstance(domain, Declared):
                raise ArgumentError(
                    f"column {name!r}",
                    domain,
                    "Categories([...]), Bins(...), Numbers(...), Within(...) or Found(...)",
                )
        if (self.user is None) != (self.most is None):
            raise ArgumentError("most", self.most, "given with user, and only with it")
        if self.user is None and self.most_groups is not None:
            raise ArgumentError("most_groups", self.most_groups, "given with user, and only with it")

    def by(self, *columns: str) -> "PrivateTable":
        """The same, asked for each cell of these columns; all of them are declared, or `Found`."""
        if len(columns) == 1 and isinstance(columns[0], list | tuple):
            columns = tuple(columns[0])
        if len(set(names := (*self.groups, *columns))) < len(names):
            raise ArgumentError("by", list(names), "different columns")
        for name in columns:
            if not isinstance(self.columns.get(name), Bins | Categories | Found):
                raise ArgumentError(
                    "by", name, "a column that is declared as Categories(...), Bins(...) or Found(...)"
                )
        return replace(self, groups=(*self.groups, *columns))

    def count(self) -> Question:
        """How many records there are."""
        return self._ask("count", Count(self._unit))

    def sum(self, column: str, *, low: float | None = None, high: float | None = None) -> Question:
        """Of a column, whose values are moved into the interval from `low` to `high`."""
        return self._ask("sum", Sum(column, self._numbers(column, low, high), self._unit))

    def mean(self, column: str, *, low: float | None = None, high: float | None = None) -> Question:
        """Of a column, whose values are moved into the interval."""
        return self._ask("mean", Mean(column, self._numbers(column, low, high), self._unit))

    def variance(self, column: str, *, low: float | None = None, high: float | None = None) -> Question:
        """Of a column, whose values are moved into the interval."""
        return self._ask("variance", Variance(column, self._numbers(column, low, high), self._unit))

    def histogram(self, *columns: str) -> Question:
        """How many records are in each cell of declared columns."""
        axes = [(name, self._cells(name)) for name in columns]
        labels = axes_header(axes), list(cells(axes))
        return self._ask("count", Histogram(dict(axes), self._unit), labels)

    def quantiles(self, column: str, ranks: Sequence[float] | float, bins: Bins | None = None) -> Question:
        """Of a column that is declared with bins, or with those given here."""
        ranks = (ranks,) if isinstance(ranks, int | float) else tuple(ranks)
        axis = self._cells(column) if bins is None else bins
        if not isinstance(axis, Bins):
            raise ArgumentError("bins", axis, "Bins(low, high, count)")
        asked, other = (
            Quantiles(column, axis, ranks, self._unit, best_factor(axis.count, ranks, norm))
            for norm in (Norm.L1, Norm.L2)
        )
        return self._ask(column, asked, (["rank"], [[rank] for rank in asked.ranks]), other)

    def hierarchy(
        self, *columns: str, weights: Sequence[float] | None = None, whole: bool = False
    ) -> Question:
        """How many records there are in all, by the first of these columns, by the second within it, and so
        on, as numbers that add up. A column of which each category is in one of the column before is declared
        as `Within(...)`. `weights` are those of the total and of each column; with `whole` counts become
        whole and not negative after the noise."""
        levels = {
            name: own if isinstance(own := self.columns.get(name), Within) else self._cells(name)
            for name in columns
        }
        shared = [Hierarchy.best(levels, norm, weights, whole, self._unit) for norm in (Norm.L1, Norm.L2)]
        return self._ask("count", shared[0], nodes(shared[0]), shared[1])

    def linear(self, response: str, *columns: str) -> Question:
        """Least squares of a column of numbers on others, all of them declared: a row for each term."""
        return self._ask("coefficient", LinearRegression(*self._explained(response, columns)))

    def logistic(self, response: str, *columns: str) -> Question:
        """How the odds of the second of two categories depend on other columns: a row for each term."""
        if self.groups:
            allowed = (
                "none: a logistic regression is of all records (name the column among those that explain)"
            )
            raise ArgumentError("by", list(self.groups), allowed)
        return self._ask("coefficient", LogisticRegression(*self._explained(response, columns)))

    def covariance(self, *columns: str) -> Question:
        """The covariance and correlation of every two columns of numbers, or of two categories."""
        return self._ask("covariance", CovarianceTable(self._axes(columns), self._unit))

    def _explained(self, response: str, columns: tuple[str, ...]) -> tuple[str, Any, Unit]:
        return response, self._axes((*columns, response)), self._unit

    def _axes(self, columns: tuple[str, ...]) -> dict[str, Numbers | Categories]:
        """Columns as a regression takes them."""
        if not all(isinstance(name, str) for name in columns) or len(set(columns)) < len(columns):
            raise ArgumentError("columns", list(columns), "names of different columns, one after the other")
        return {
            name: found
            if isinstance(found := self.columns.get(name), Categories)
            else self._numbers(name, None, None)
            for name in columns
        }

    def _ask(
        self,
        name: str,
        query: Query,
        labels: tuple[Row, list[Row]] = ([], [[]]),
        gaussian: Query | None = None,
    ) -> Question:
        declared = {one: self.columns[one] for one in self.groups}
        finders = tuple(
            Finder(one, found, self._of_records)
            for one, found in declared.items()
            if isinstance(found, Found)
        )
        groups = tuple(
            (one, found_categories(found.most) if isinstance(found, Found) else self._cells(one))
            for one, found in declared.items()
        )
        return Question(self.data, query, name, groups, labels, finders, gaussian)

    @property
    def _unit(self) -> Unit:
        unit = self._of_records
        if isinstance(unit, UserRecords) and self.groups:
            return replace(unit, groups=self.most_groups)
        return unit

    @property
    def _of_records(self) -> Unit:
        return Records() if self.user is None or self.most is None else UserRecords(self.user, self.most)

    def _cells(self, name: str) -> Bins | Categories:
        found = self.columns.get(name)
        if not isinstance(found, Bins | Categories):
            listed = ", ".join(map(repr, self.columns)) or "none"
            raise ArgumentError(
                "column", name, f"declared as Categories(...) or Bins(...) (declared: {listed})"
            )
        return found

    def _numbers(self, name: str, low: float | None, high: float | None) -> Numbers:
        if low is not None and high is not None:
            return Numbers(low, high)
        found = self.columns.get(name)
        if isinstance(found, Bins):
            return Numbers(found.low, found.high, found.outside, found.missing, found.of)
        if not isinstance(found, Numbers) or low is not None or high is not None:
            raise ArgumentError("low", low, f"given with high, or {name!r} declared as Numbers(low, high)")
        return found
