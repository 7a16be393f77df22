"""A question to a table and its answers; several questions for one budget."""

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
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
    NoisyQuery,
    Norm,
    Quantiles,
    Query,
    pandas_frame,
    table,
)
from indistinct.errors import ArgumentError
from indistinct.mechanisms import Budget, Mechanism, Release, calibrate
from indistinct.mechanisms.mechanism import Composed
from indistinct.mechanisms.paying import Payer, charged
from indistinct.noise import Source
from indistinct.tables.notes import notes
from indistinct.tables.rows import ERRORS, Row, axes_header, cells, estimated


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

    @property
    def grouped(self) -> Query:
        """What is asked of the whole table."""
        return GroupBy(dict(self.groups), self.query) if self.groups else self.query

    def check(self) -> None:
        """Refuses unknown columns and wrong types, without reading a record."""
        self.grouped.check(self.data)

    def mechanism(self, budget: Budget, adjacency: Adjacency | str = Adjacency.ADD_REMOVE) -> NoisyQuery:
        """With the least noise that meets the budget: Laplace or Gaussian, whichever is less."""
        (best,) = _calibrated([self], budget, adjacency, [1.0])
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

    def answers(self, noisy: NoisyQuery, data: Any, source: Source | None) -> Release[Answers]:
        """One draw of this noise."""
        values, private = noisy.noisy(data, source)
        told = tuple(notes(self.grouped))
        if isinstance(self.query, CrossProductQuery):
            fitted = [asdict(row) for row in self.query.fitted(noisy, values)]
            rows = tuple(list(row.values()) for row in fitted)
            return Release(Answers(tuple(fitted[0]), rows, told), noisy, private, noisy.unit)
        found = self.grouped.estimate(values, noisy)
        named, labels = self.labels
        header = (*axes_header(self.groups), *named, self.name, self.query.error_name, *ERRORS[1:])
        grain = self.query.bins.width if isinstance(self.query, Quantiles) else None
        pairs = zip(product(cells(self.groups), labels), found.rows(), strict=True)
        listed = tuple(
            [*group, *label, *estimated(value, error, low, high, grain)]
            for (group, label), (value, error, low, high) in pairs
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
    mechanisms = _calibrated(questions, budget, adjacency, shares)
    read: dict[int, CachedTable] = {id(one.data): CachedTable(table(one.data)) for one in questions}
    for key, own in read.items():
        own.totals([one.grouped.bounded for one in questions if id(one.data) == key])
    return tuple(
        question.answers(noisy, read[id(question.data)], source)
        for question, noisy in zip(questions, mechanisms, strict=True)
    )


def _calibrated(
    questions: Sequence[Question], budget: Budget, adjacency: Adjacency | str, weights: Sequence[float]
) -> list[NoisyQuery]:
    """All with Laplace noise or all with Gaussian noise: what leaves the smaller errors."""
    found = []
    for norm in (Norm.L1, Norm.L2):
        lengths = [one.grouped.sensitivity(norm, adjacency) for one in questions]
        root = 1.0 if norm is Norm.L1 else 0.5
        units = [length / weight**root for length, weight in zip(lengths, weights, strict=True)]

        def family(scale: float, norm: Norm = norm, units: list[float] = units) -> list[NoisyQuery]:
            return [
                one.grouped.laplace(scale * unit) if norm is Norm.L1 else one.grouped.gaussian(scale * unit)
                for one, unit in zip(questions, units, strict=True)
            ]

        if norm is Norm.L2 and budget.epsilon is not None and not budget.delta:
            continue  # no Gaussian noise is enough
        scale = calibrate(lambda f, own=family: _all(own(f)), budget, adjacency=adjacency).parameter
        found.append(family(scale))
    # By the ratio of their errors: those of different questions have different units.
    errors = [sum(math.log(noisy.deviation) for noisy in one) for one in found]
    return found[int(np.argmin(errors))]


def _all(mechanisms: Sequence[NoisyQuery]) -> Mechanism:
    return mechanisms[0] if len(mechanisms) == 1 else Composed(tuple(mechanisms))
