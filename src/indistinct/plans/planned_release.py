"""One release of a plan: what it asks, its mechanism at a scale, how far off it will be, its results as rows.

A kind of release is a class that knows its keys. `QueryPart` is for those that ask a bounded sum, each number
with its own noise; what is said here of records is overridden where the numbers are others.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any, ClassVar, Self

from indistinct.adjacency import Adjacency
from indistinct.data import (
    Bins,
    BoundedSum,
    Categories,
    Estimates,
    GroupBy,
    Kind,
    NoisyQuery,
    Norm,
    Query,
    Table,
    Times,
)
from indistinct.errors import ArgumentError
from indistinct.mechanisms import Mechanism
from indistinct.mechanisms.additive import Noise
from indistinct.noise import Source
from indistinct.plans.declarations import Terms, Unit
from indistinct.plans.section import Section, named
from indistinct.tables.rows import ERRORS, Row, axes_header, axes_types, cells, estimated

Say = Callable[[str], None]
Read = Callable[[str], list[list[str]]]
"""A file of the folder, as rows of texts, by its name without its ending."""
Axes = tuple[tuple[str, Bins | Categories], ...]
_LARGEST_LISTED = 5_000_000
"""Rows of a result: more would be an accident."""


@dataclass(frozen=True)
class Asked:
    """What every release says."""

    name: str
    weight: float = 1.0
    size: float | None = None
    """What its errors are compared with, if not with the number of records."""
    alone: bool = False
    """Whether the plan has no other release."""


@dataclass(frozen=True)
class PlannedRelease(ABC):
    """A release, ready to be given a scale. Its fields are plain data: they tell plans from each other."""

    kind: ClassVar[str]
    keys: ClassVar[frozenset[str]]
    """In the plan, besides those of every release."""
    only_gaussian: ClassVar[bool] = False
    """Whether its noise cannot be of another kind."""
    terms: Terms
    asked: Asked

    @classmethod
    @abstractmethod
    def read(cls, terms: Terms, asked: Asked, section: Section) -> Self:
        """From a section of a plan; refuses what cannot be asked."""

    @property
    def name(self) -> str:
        return self.asked.name

    @property
    def where(self) -> str:
        """Where it stands in the plan."""
        return f"releases.{self.name}"

    @property
    @abstractmethod
    def columns(self) -> tuple[str, ...]:
        """What it is about."""

    @property
    def noise(self) -> Noise:
        return self.terms.noise

    @property
    def noise_name(self) -> str:
        """What is drawn."""
        return str(self.noise.value)

    @property
    def clips_totals(self) -> bool:
        """Whether all records of a user take part, and their total is clipped."""
        return False

    @abstractmethod
    def at(self, scale: float) -> Mechanism: ...

    @abstractmethod
    def check(self, table: Any) -> None:
        """Refuses unknown columns and wrong types, without reading a record."""

    @property
    def found(self) -> tuple[str, ...]:
        """The columns whose groups another release has to find before this one can be drawn."""
        return ()

    def among(self, found: Mapping[str, Sequence[str]]) -> Self:
        """The same for groups that were found, by column."""
        return self

    @property
    def sums(self) -> tuple[BoundedSum, ...]:
        """What it needs of the records, so that those of all releases can be read in one pass."""
        return ()

    @abstractmethod
    def look(self, table: Any) -> Any:
        """Reads the records, and refuses data that are not as declared; what `draw` needs of them, which is
        private."""

    @abstractmethod
    def sensitivity(self, adjacency: Adjacency) -> float: ...

    @abstractmethod
    def error(self, scale: float) -> float | None:
        """The expected error of an answer (a standard deviation); None if it needs `data.records`."""

    @property
    def size(self) -> float | None:
        """What the error is compared with, as far as the plan says; public."""
        return self.terms.data.records if self.asked.size is None else self.asked.size

    @property
    def error_words(self) -> str:
        """What the error is an error of."""
        return "records"

    @property
    def groups(self) -> Axes:
        """The columns whose cells it is asked for, each by itself (`by`)."""
        return tuple((name, self.terms.axis(name)) for name in getattr(self, "by", ()))

    @property
    def cell_count(self) -> int:
        """Groups or cells of which each record is in one."""
        return math.prod(domain.size for _, domain in self.groups)

    def remark(self, scale: float) -> str:
        """What else is to be known of the result."""
        return ""

    @property
    @abstractmethod
    def header(self) -> Row: ...

    @abstractmethod
    def draw(self, scale: float, looked: Any, source: Source) -> Iterator[Row]:
        """Draws the noise from these bits; the rows of the result."""

    @property
    def drawn(self) -> str:
        """The file that holds what was drawn: the result, unless that is fitted to it."""
        return self.name

    @property
    def answer_times(self) -> Times | None:
        """Where the numbers of the result are dates or times: how these are counted."""
        return None

    uncertainty: ClassVar[str] = "noise alone"
    """What its intervals are about."""
    processed: ClassVar[str] = ""
    """What was done to the numbers after noise was added, for readers: `totals were made consistent`."""
    units_differ: ClassVar[bool] = False
    """Whether numbers of the result have different units, and cannot be drawn or summed up together."""
    only_in_file: ClassVar[frozenset[str]] = frozenset()
    """Columns of the result that are for experts: not shown in the report."""
    blanks: ClassVar[bool] = False
    """Whether an empty text of the result stands for nothing, and not for itself."""

    def types(self, table: Table) -> list[Kind]:
        """Of the columns of the result: declared, not guessed from it. Numbers, unless told."""
        return [Kind.NUMBER for _ in self.header]

    def charts(self, read: Read) -> list[str]:
        """Charts of a result, as HTML; where there are none, the page draws what any table allows."""
        return self.pictures(read(self.name))

    def sentences(self, rows: list[list[str]]) -> list[str]:
        """What the rows of the result say, in words, where they need some."""
        return []

    def pictures(self, rows: list[list[str]]) -> list[str]:
        """The same from the result, its header first."""
        return []


@dataclass(frozen=True)
class FittedPart(PlannedRelease):
    """A release whose result is made from what was drawn, and can be made again."""

    @property
    @abstractmethod
    def drawn(self) -> str: ...

    @abstractmethod
    def result(self, scale: float, drawn: list[list[str]], say: Say) -> Iterator[Sequence[Any]]:
        """The result, its header first, from the rows of the file that was drawn alone."""


@dataclass(frozen=True)
class QueryPart(PlannedRelease):
    """Each number of a bounded sum with its own noise."""

    user_total: float | None
    """Where all records of a user take part: how far their total is scaled down."""
    by: tuple[str, ...]
    """The columns whose cells it is asked for, each by itself."""

    def __post_init__(self) -> None:
        try:
            named(self.where, self.sensitivity, self.terms.adjacency)
        except ArgumentError as error:
            if error.argument != f"{self.where}.bound":
                raise
            raise ArgumentError(f"{self.where}.user_total", self.user_total, error.allowed) from None

    @property
    @abstractmethod
    def asks(self) -> Query:
        """What is asked of every group."""

    @property
    def query(self) -> Query:
        return GroupBy(dict(self.groups), self.asks) if self.by else self.asks

    @property
    def groups(self) -> Axes:
        return tuple((name, self.terms.group(name)) for name in self.by)

    @property
    def found(self) -> tuple[str, ...]:
        return tuple(name for name in self.by if self.terms.column(name).found is not None)

    def among(self, found: Mapping[str, Sequence[str]]) -> Self:
        made = replace(self, terms=self.terms.among(found))
        # There are no more groups than were accounted for, so no neighbour moves the numbers further.
        if made.sensitivity(self.terms.adjacency) > self.sensitivity(self.terms.adjacency):
            raise ArithmeticError("groups cost more than was accounted; please report this as a bug")
        return made

    @property
    def unit(self) -> Unit:
        if self.user_total is None:
            return self.terms.unit(self.where, grouped=bool(self.by))
        return self.terms.totals(self.where, self.total_norm, self.user_total)

    @property
    def total_norm(self) -> Norm:
        """In which the total of a user is measured."""
        return self.terms.norm

    @property
    def clips_totals(self) -> bool:
        return self.user_total is not None

    @property
    def columns(self) -> tuple[str, ...]:
        return tuple(self.asks.bounded.encoding.types)

    def at(self, scale: float) -> NoisyQuery:
        gaussian = self.terms.noise is Noise.GAUSSIAN
        return self.query.gaussian(scale) if gaussian else self.query.laplace(scale)

    def check(self, table: Any) -> None:
        self.query.check(table)

    @property
    def sums(self) -> tuple[BoundedSum, ...]:
        return (self.query.bounded,)

    def look(self, table: Any) -> Any:
        self.query.statistic(table)
        return table  # it remembers

    def sensitivity(self, adjacency: Adjacency) -> float:
        return self.query.sensitivity(self.terms.norm, adjacency)

    def error(self, scale: float) -> float | None:
        return self.at(scale).deviation

    @property
    def header(self) -> Row:
        named = [*axes_header(self.groups), *self.labels_header]
        return [*named, self.value_name or self.kind, *ERRORS]

    def types(self, table: Table) -> list[Kind]:
        groups = axes_types(self.groups)
        return [*groups, *self.labels_types, *(Kind.NUMBER for _ in ("", *ERRORS))]

    value_name: ClassVar[str] = ""
    """Of the estimate, where it is not the kind."""

    @property
    def labels_header(self) -> Row:
        """Of `labels`."""
        return []

    @property
    def labels_types(self) -> list[Kind]:
        return []

    def labels(self) -> Iterable[Row]:
        """What each number of a group is about, where there are several."""
        return [[]]

    def shown(self, found: Estimates) -> Estimates:
        """What becomes of the estimates after the noise."""
        return found

    def draw(self, scale: float, looked: Any, source: Source) -> Iterator[Row]:
        found = self.shown(self.at(scale).estimate(looked, source))
        rows = product(cells(self.groups), self.labels())
        for (group, label), row in zip(rows, found.rows(), strict=True):
            yield [*group, *label, *estimated(*row)]


def asked_by(section: Section) -> tuple[float | None, tuple[str, ...]]:
    """What a release says of users' totals and of groups."""
    return section.maybe("user_total", section.positive), section.maybe("by", section.texts) or ()


def check_rows(where: str, rows: int) -> None:
    """Refuse a result of more rows than anybody reads."""
    if rows > _LARGEST_LISTED:
        raise ArgumentError(where, f"{rows} numbers", f"at most {_LARGEST_LISTED}")
