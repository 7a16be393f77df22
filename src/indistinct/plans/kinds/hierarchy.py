"""Counts at every level of nested columns."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from typing import Any, Self

import numpy as np

from indistinct.data import Celled, Hierarchy, Kind, Norm, flat
from indistinct.errors import ArgumentError
from indistinct.noise import Source
from indistinct.plans.declarations import Terms
from indistinct.plans.planned_release import Asked, QueryPart, asked_by, check_rows
from indistinct.plans.section import Section, named
from indistinct.tables.rows import Row, axes_header, axes_types, cells, counted, nodes

_TOTAL = "total"


@dataclass(frozen=True)
class HierarchyPart(QueryPart):
    """Counts of all records, by the first column, by the second within it, and so on, which add up."""

    kind = "hierarchy"
    value_name = "count"
    keys = frozenset({"columns", "weights", "whole", "by", "user_total"})
    blanks = True
    nested: tuple[str, ...]
    weights: tuple[float, ...]
    whole: bool

    def __post_init__(self) -> None:
        _ = named(self.where, lambda: self.asks)
        super().__post_init__()
        check_rows(self.where, super().cell_count * sum(self.asks.tree.sizes))

    @classmethod
    def read(cls, terms: Terms, asked: Asked, section: Section) -> Self:
        (total, by), columns = asked_by(section), section.texts("columns")
        for place, name in enumerate(columns):
            above = terms.column(name).within
            if above is not None and (place == 0 or columns[place - 1] != above):
                allowed = f"a list where {name!r} comes after {above!r}, within which it is declared"
                raise ArgumentError(section.at("columns"), list(columns), allowed)
        if twice := [name for name in by if name in columns]:
            raise ArgumentError(section.at("by"), twice, "other columns than those of the hierarchy")
        given = Section(section.at("weights"), section.get("weights", {}), {_TOTAL, *columns})
        weights = tuple(given.positive(name, 1.0) for name in (_TOTAL, *columns))
        return cls(terms, asked, total, by, columns, weights, section.truth("whole"))

    @cached_property
    def asks(self) -> Hierarchy:
        levels = {name: self.terms.level(name) for name in self.nested}
        return Hierarchy.best(levels, self.terms.norm, self.weights, self.whole, self.unit)

    @property
    def total_norm(self) -> Norm:
        return Norm.L1  # which does not grow when cells are merged

    @property
    def cell_count(self) -> int:
        return super().cell_count * self.asks.encoding.size

    def error(self, scale: float) -> float:
        return float(self.at(scale).deviation * self.asks.deviations.max())

    def remark(self, scale: float) -> str:
        deviations = self.at(scale).deviation * self.asks.deviations
        levels = np.split(deviations, np.cumsum(self.asks.tree.sizes)[:-1])
        each = ", ".join(
            f"{level.max():.3g} in {'all' if name == _TOTAL else f'each of {len(level)} by {name}'}"
            for name, level in zip((_TOTAL, *self.nested), levels, strict=True)
        )
        rest = "; made whole and not negative afterwards, from the total down" if self.whole else ""
        return f"; at most {each}{rest}"

    @property
    def _axes(self) -> list[tuple[str, Celled]]:
        return [(name, flat(domain)) for name, domain in self.asks.levels]

    @property
    def labels_header(self) -> Row:
        return axes_header(self._axes)

    @property
    def labels_types(self) -> list[Kind]:
        return axes_types(self._axes)

    def labels(self) -> Iterable[Row]:
        return nodes(self.asks)[1]

    def draw(self, scale: float, looked: Any, source: Source) -> Iterator[Row]:
        if not self.whole:
            yield from super().draw(scale, looked, source)
            return
        found = self.at(scale).estimate(looked, source)
        rows = product(cells(self.groups), self.labels())
        for (group, node), row in zip(rows, found.rows(), strict=True):
            yield [*group, *node, *counted(*row)]
