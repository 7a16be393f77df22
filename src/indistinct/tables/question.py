"""A question to a table and its answers; several questions for one budget."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from itertools import product
from typing import Any

import numpy as np

from indistinct.adjacency import Adjacency
from indistinct.data import (
    Bins,
    CachedTable,
    Categories,
    CrossProductQuery,
    GroupBy,
    HeavyHitters,
    Hierarchy,
    LogisticRegression,
    NoisyQuery,
    Norm,
    Quantiles,
    Query,
    fits_by_group,
    found_categories,
    pandas_frame,
    records_of,
    table,
)
from indistinct.errors import ArgumentError
from indistinct.mechanisms import Budget, Mechanism, Release, calibrate
from indistinct.mechanisms.mechanism import Composed
from indistinct.mechanisms.paying import Payer, charged
from indistinct.noise import Source
from indistinct.tables.found import Finder
from indistinct.tables.notes import notes
from indistinct.tables.rows import ERRORS, Row, axes_header, cells, counted, estimated


@dataclass(frozen=True, eq=False)
class Answers:
    """Rows of one or more numbers: which group, an estimate, its standard error, and a 95 % interval."""

    header: tuple[str, ...]
    rows: tuple[Row, ...] = field(repr=False)
    notes: tuple[str, ...] = field(default=(), repr=False)
    """What clipping and limits can do to the numbers, which no interval shows."""

    def __getitem__(self, name: str) -> Any:
        """A column, as an array."""
        if name not in self.header:
            raise ArgumentError("name", name, f"one of {', '.join(self.header)}")
        return np.array([row[self.header.index(name)] for row in self.rows])

    def __len__(self) -> int:
        return len(self.rows)

    def frame(self) -> Any:
        """The same as a pandas frame."""
        return pandas_frame({name: self[name] for name in self.header}, {}, {})

    def __str__(self) -> str:
        texts = [list(self.header), *([_short(cell) for cell in row] for row in self.rows)]
        widths = [max(len(row[place]) for row in texts) for place in range(len(self.header))]
        lines = (
            "  ".join(text.rjust(width) for text, width in zip(row, widths, strict=True)) for row in texts
        )
        return "\n".join(line.rstrip() for line in lines)


def _short(cell: Any) -> str:
    return f"{cell:,.6g}" if isinstance(cell, float) else str(cell)


@dataclass(frozen=True, eq=False)
class Question:
    """What is asked of a table, by group; `release` answers it."""

    data: Any = field(repr=False)
    query: Query
    """What is asked of each group."""
    name: str
    """Of the number that is asked for."""
    groups: tuple[tuple[str, Bins | Categories], ...] = ()
    labels: tuple[Row, list[Row]] = field(default=([], [[]]))
    """What the numbers of a group are about, where there are several: a header and its rows."""
    finders: tuple[Finder, ...] = ()
    """Of groups that nobody has listed, which are as many here as there may be."""
    gaussian: Query | None = None
    """What is asked with Gaussian noise, where something else is better then."""

    def best_for(self, norm: Norm) -> "Question":
        """As it is asked with noise that protects this norm."""
        return replace(self, query=self.gaussian) if norm is Norm.L2 and self.gaussian is not None else self

    @property
    def grouped(self) -> Query:
        """What is asked of the whole table."""
        return GroupBy(dict(self.groups), self.query) if self.groups else self.query

    def check(self) -> None:
        """Refuses unknown columns and wrong types, without reading a record."""
        self.grouped.check(self.data)

    def mechanism(self, budget: Budget, adjacency: Adjacency | str = Adjacency.ADD_REMOVE) -> NoisyQuery:
        """With the least noise that meets the budget: Laplace or Gaussian, whichever is less."""
        if self.finders:
            allowed = "listed groups: what was found costs too, and `release(...).mechanism` says all"
            raise ArgumentError("by", [one.column for one in self.finders], allowed)
        (best,), _ = _calibrated([self], (), budget, adjacency, [1.0])
        return best

    def release(
        self,
        budget: Budget,
        *,
        adjacency: Adjacency | str = Adjacency.ADD_REMOVE,
        source: Source | None = None,
        ledger: Payer | None = None,
    ) -> Release[Answers]:
        """The answers, with noise that meets the budget."""
        (release,) = release_together([self], budget, adjacency=adjacency, source=source, ledger=ledger)
        return release

    def among(self, found: Mapping[Finder, Sequence[str]]) -> "Question":
        """The same for groups that were found."""
        listed = {one.column: found_categories(one.found.most, found[one]) for one in self.finders}
        return replace(self, groups=tuple((name, listed.get(name, own)) for name, own in self.groups))

    def answers(self, noisy: NoisyQuery, data: Any, source: Source | None) -> Release[Answers]:
        """One draw of this noise."""
        values, private = noisy.noisy(data, source)
        told = tuple(notes(self.grouped))
        if isinstance(self.query, CrossProductQuery):
            fits = zip(cells(self.groups), fits_by_group(noisy, values), strict=True)
            rows = [(group, asdict(row)) for group, fit in fits for row in fit]
            header = (*axes_header(self.groups), *rows[0][1])
            listed = tuple([*group, *row.values()] for group, row in rows)
            return Release(Answers(header, listed, told), noisy, private, noisy.unit)
        found = self.grouped.estimate(values, noisy)
        named, labels = self.labels
        header = (*axes_header(self.groups), *named, self.name, self.query.error_name, *ERRORS[1:])
        grain = self.query.bins.width if isinstance(self.query, Quantiles) else None
        whole = isinstance(self.query, Hierarchy) and self.query.whole
        pairs = zip(product(cells(self.groups), labels), found.rows(), strict=True)
        listed = tuple(
            [*group, *label, *(counted(*row) if whole else estimated(*row, grain))]
            for (group, label), row in pairs
        )
        return Release(Answers(header, listed, told), noisy, private, noisy.unit)


@charged
def release_together(
    questions: Sequence[Question] | Question,
    budget: Budget,
    *,
    weights: Sequence[float] | None = None,
    adjacency: Adjacency | str = Adjacency.ADD_REMOVE,
    source: Source | None = None,
    ledger: Payer | None = None,
) -> tuple[Release[Answers], ...]:
    """Answers to several questions that meet one budget together. Those about the same table read it once."""
    questions = [questions] if isinstance(questions, Question) else list(questions)
    if not all(isinstance(question, Question) for question in questions):
        allowed = "questions of a PrivateTable, such as table.count(); other mechanisms compose with +"
        raise ArgumentError("questions", questions, allowed)
    shares = [1.0] * len(questions) if weights is None else [float(weight) for weight in weights]
    if not questions or len(shares) != len(questions) or min(shares) <= 0:
        raise ArgumentError(
            "weights", weights, "a positive number for each question, of which there is one or more"
        )
    for question in questions:
        question.check()
    finders = tuple(dict.fromkeys((id(one.data), finder) for one in questions for finder in one.finders))
    mechanisms, hitters = _calibrated(questions, [one for _, one in finders], budget, adjacency, shares)
    read: dict[int, CachedTable] = {id(one.data): CachedTable(table(one.data)) for one in questions}
    found = {
        (key, one): finding.release(read[key], source=source)
        for (key, one), finding in zip(finders, hitters, strict=True)
    }
    asked = [
        one.best_for(noisy.norm).among(
            {finder: list(found[id(one.data), finder].values) for finder in one.finders}
        )
        for one, noisy in zip(questions, mechanisms, strict=True)
    ]
    for key, own in read.items():
        own.totals([one.grouped.bounded for one in asked if id(one.data) == key])
    released: list[Release[Answers]] = []
    for question, listed, noisy in zip(questions, asked, mechanisms, strict=True):
        made = listed.answers(replace(noisy, query=listed.grouped), read[id(question.data)], source)
        # There are no more groups than were accounted for. Who asks first by groups pays for finding them.
        first = [found.pop((id(question.data), finder), None) for finder in question.finders]
        paid = [one.mechanism for one in first if one is not None]
        released.append(replace(made, mechanism=Composed((*paid, noisy)) if paid else noisy))
    return tuple(released)


def _calibrated(
    questions: Sequence[Question],
    finders: Sequence[Finder],
    budget: Budget,
    adjacency: Adjacency | str,
    weights: Sequence[float],
) -> tuple[list[NoisyQuery], list[HeavyHitters]]:
    """All with Laplace noise or all with Gaussian noise: what leaves the smaller errors. Groups are found
    with Laplace noise, at shares of their own."""

    def family(norm: Norm, scale: float) -> tuple[list[NoisyQuery], list[HeavyHitters]]:
        root = 1.0 if norm is Norm.L1 else 0.5
        asked: list[NoisyQuery] = []
        for one, weight in zip(questions, weights, strict=True):
            query = one.best_for(norm).grouped
            own = scale * query.sensitivity(norm, adjacency) / weight**root
            asked.append(query.laplace(own) if norm is Norm.L1 else query.gaussian(own))
        return asked, [
            one.at(scale * records_of(one.unit) / one.found.weight**root, budget) for one in finders
        ]

    pure = budget.epsilon is not None and not budget.delta  # no Gaussian noise is enough
    found = []
    for norm in (Norm.L1,) if pure else (Norm.L1, Norm.L2):
        scale = calibrate(lambda f, norm=norm: _all(*family(norm, f)), budget, adjacency=adjacency).parameter
        found.append(family(norm, scale))
    # By the ratio of their errors: those of different questions have different units.
    errors = [sum(math.log(_error(noisy)) for noisy in one) for one, _ in found]
    return found[int(np.argmin(errors))]


def _error(noisy: NoisyQuery) -> float:
    """Of an answer, to be compared with that of the same question with other noise."""
    query = noisy.query.query if isinstance(noisy.query, GroupBy) else noisy.query
    if isinstance(query, Quantiles):
        return query.rank_error(noisy)
    if isinstance(query, LogisticRegression):
        return query.slope_error(noisy)
    return noisy.deviation * (float(query.deviations.max()) if isinstance(query, Hierarchy) else 1.0)


def _all(questions: Sequence[NoisyQuery], finding: Sequence[HeavyHitters]) -> Mechanism:
    parts = (*finding, *questions)
    return parts[0] if len(parts) == 1 else Composed(parts)
