"""A synthetic table: noisy counts are released, and rows drawn from a model that was fitted to them."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from importlib.util import find_spec
from typing import Any, Self

import numpy as np

from indistinct.data import Kind, Table, Tables, kind_of
from indistinct.errors import ArgumentError
from indistinct.noise import Source
from indistinct.plans.declarations import Terms
from indistinct.plans.kinds.pictures import compared_pictures
from indistinct.plans.planned_release import Asked, FittedPart, QueryPart, Read, Say, check_rows
from indistinct.plans.section import Section, named
from indistinct.synthesis.tables import SyntheticTable, TableSynthesizer, TableTraining
from indistinct.tables.rows import Row, axes_header, cells, rounded

_TOLD = 10
"""How often the progress of a fit is said."""


@dataclass(frozen=True)
class SyntheticPart(QueryPart, FittedPart):
    """Rows that resemble the records in every table of one and two columns (by label, if there is one)."""

    kind = "synthetic"
    only_gaussian = True
    blanks = True
    keys = frozenset({"columns", "label", "rows"})
    modelled: tuple[str, ...]
    label: str | None
    rows: int

    @classmethod
    def read(cls, terms: Terms, asked: Asked, section: Section) -> Self:
        if "rows" not in section and terms.data.records is None:
            raise ArgumentError(section.at("rows"), None, "given, or data.records")
        rows = section.count("rows") if "rows" in section else terms.data.records
        assert rows is not None
        check_rows(section.at("rows"), rows)
        chosen = section.maybe("label", section.text)
        part = cls(terms, asked, None, (), section.texts("columns"), chosen, rows)
        check_rows(section.where, part.asks.size)
        return part

    def __post_init__(self) -> None:
        domains = {name: self.terms.cells(name) for name in self.modelled}
        for name, domain in domains.items():
            if "" in domain.labels:
                allowed = "texts that a file can tell from missing ones"
                raise ArgumentError(f"columns.{name}.categories", "", allowed)
        named(self.where, TableSynthesizer, domains, label=self.label)
        super().__post_init__()

    @cached_property
    def design(self) -> TableSynthesizer:
        return TableSynthesizer({name: self.terms.cells(name) for name in self.modelled}, label=self.label)

    @cached_property
    def asks(self) -> Tables:
        asked = self.design.query
        return Tables(dict(asked.axes), asked.groups, self.unit)

    def check(self, table: Any) -> None:
        super().check(table)
        if find_spec("torch") is None:
            raise ImportError(f'{self.where} needs PyTorch: pip install "indistinct[synthesis]"')

    @property
    def error_words(self) -> str:
        return "records in each count"

    def remark(self, scale: float) -> str:
        tables = f"{len(self.asks.groups)} tables with {self.asks.size} noisy counts in all"
        return f"; {self.rows} rows are drawn from a model that is fitted to {tables}"

    @property
    def drawn(self) -> str:
        return f"{self.name}.counts"

    @property
    def header(self) -> Row:
        return [*axes_header(self.asks.axes), "count", "standard_error"]

    def draw(self, scale: float, looked: Any, source: Source) -> Iterator[Row]:
        tables, error = self.at(scale).release(looked, source=source).values, self.at(scale).deviation
        for group, counts in tables.items():
            for cell, value in zip(cells(self.asks.axes, group), counts.ravel().tolist(), strict=True):
                yield [*cell, rounded(value, error), rounded(error, error)]

    def result(self, scale: float, drawn: list[list[str]], say: Say) -> Iterator[Row]:
        steps = TableTraining().steps
        every = steps // _TOLD

        def progress(step: int, _: float) -> None:
            if step % every == 0:
                say(f"fitting {self.name}: {'#' * (step // every):.<{_TOLD}} {step}/{steps}")

        mixture = self.design.mixture(self._tables(drawn), self.at(scale).deviation, progress=progress)
        columns = SyntheticTable(self.design, mixture).columns(self.rows)
        yield list(self.modelled)
        written = (
            _written(columns[name], kind) for name, kind in zip(self.modelled, self.types(), strict=True)
        )
        yield from zip(*written, strict=True)

    def _tables(self, drawn: list[list[str]]) -> dict[tuple[str, ...], Any]:
        found: dict[tuple[str, ...], Any] = self.asks.read(np.array([float(row[-2]) for row in drawn]))
        return found

    def types(self, table: Table | None = None) -> list[Kind]:
        return [kind_of(self.terms.cells(name)) for name in self.modelled]

    def charts(self, read: Read) -> list[str]:
        _, *drawn = read(self.drawn)
        names, *rows = read(self.name)
        tables, error = self._tables(drawn), float(drawn[0][-1])
        given = () if self.label is None else (self.label,)
        released = {}
        for name in self.design.features:
            counts = tables[(*given, name)]
            added = 1 if self.label is None else len(counts)
            released[name] = counts.reshape(added, -1).sum(axis=0), error * math.sqrt(added)
        columns = dict(zip(names, zip(*rows, strict=True), strict=True))
        return compared_pictures(self.name, dict(self.asks.axes), released, columns)


def _written(values: Any, kind: Kind) -> list[Any]:
    """As they stand in a file: nothing for what is missing, whole numbers without a point."""
    made = int if kind is Kind.INTEGER else (lambda value: value)
    return ["" if value is None or value != value else made(value) for value in values.tolist()]
