"""Quantiles of a column."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import product
from typing import Any, Self

import numpy as np

from indistinct.adjacency import Adjacency
from indistinct.data import Bins, Kind, NoisyQuery, Norm, Quantile, Quantiles, Times, best_factor
from indistinct.errors import ArgumentError, check_probability
from indistinct.mechanisms import calibrate
from indistinct.noise import Source
from indistinct.plans.declarations import Terms
from indistinct.plans.planned_release import Asked, QueryPart, asked_by
from indistinct.plans.section import Section
from indistinct.plans.together import Together
from indistinct.tables.rows import Row, axes_header, axes_types, cells, rounded


@dataclass(frozen=True)
class QuantilesPart(QueryPart):
    """A place for each rank, with an interval; or, without one, from the better of two mechanisms.

    A tree of counts tells how sure it is, in units of the column. Permute-and-flip tells a bin and nothing
    else; for one or two ranks it is nearer.
    """

    kind = "quantiles"
    keys = frozenset({"column", "ranks", "bins", "interval", "by", "user_total"})
    column: str
    ranks: tuple[float, ...]
    bins: int | None
    interval: bool
    selects: bool
    """Whether bins are chosen by permute-and-flip, one for each rank; else all ranks are read from a tree."""

    @classmethod
    def read(cls, terms: Terms, asked: Asked, section: Section) -> Self:
        ranks = section.get("ranks")
        if not isinstance(ranks, list) or not ranks:
            raise ArgumentError(section.at("ranks"), ranks, "a list such as [0.25, 0.5, 0.75]")
        interval = section.get("interval", True)
        if not isinstance(interval, bool):
            raise ArgumentError(section.at("interval"), interval, "true or false")
        tree = cls(
            terms,
            asked,
            *asked_by(section),
            section.text("column"),
            tuple(check_probability(section.at("ranks"), rank) for rank in ranks),
            section.maybe("bins", section.count),
            interval,
            selects=False,
        )
        if not tree.may_select:
            return tree
        return min(tree, replace(tree, selects=True), key=lambda part: part.error_alone)

    @property
    def asks(self) -> Quantiles:
        axis = self.terms.axis(self.column, self.bins)
        if not isinstance(axis, Bins):
            raise ArgumentError(f"{self.where}.column", self.column, "one with low and high")
        factor = best_factor(axis.count, self.ranks, self.terms.norm)
        return Quantiles(self.column, axis, self.ranks, self.unit, factor)

    @property
    def answer_times(self) -> Times | None:
        return self.terms.column(self.column).times

    @property
    def total_norm(self) -> Norm:
        return Norm.L1  # which does not grow when intervals are merged

    @property
    def may_select(self) -> bool:
        """Permute-and-flip leaves no interval, and knows no totals of users. Where δ > 0 its loss adds to
        that of Gaussian noise much faster than Gaussian noise does, so it is for a plan of one release."""
        alone = self.asked.alone or not self.terms.delta
        exact = all(abs(Fraction(rank).limit_denominator(1000) - rank) <= 1e-12 for rank in self.ranks)
        return alone and exact and not (self.interval or self.clips_totals or self.found)

    @property
    def error_alone(self) -> float:
        """What is expected if the whole budget were for this release: public, and no record is read. With
        δ = 0 a share of the budget makes every error larger by the same factor."""
        found = calibrate(self.at, self.terms.budget, adjacency=self.terms.adjacency)
        return self.error(found.parameter)

    def _choices(self, scale: float) -> tuple[Quantile, ...]:
        query, by = self.asks, self.groups
        return tuple(Quantile(self.column, query.bins, rank, scale, query.unit, by) for rank in self.ranks)

    def _tree(self, scale: float) -> NoisyQuery:
        return super().at(scale)

    def at(self, scale: float) -> Any:
        return Together(self._choices(scale)) if self.selects else self._tree(scale)

    @property
    def noise_name(self) -> str:
        return "permute-and-flip" if self.selects else super().noise_name

    def sensitivity(self, adjacency: Adjacency) -> float:
        if not self.selects:
            return super().sensitivity(adjacency)
        return sum(2 * one.sensitivity(adjacency) for one in self._choices(1.0))  # their loss at scale 1

    def error(self, scale: float) -> float:
        if self.selects:
            return self._choices(scale)[0].rank_error
        return self.asks.rank_error(self._tree(scale))

    @property
    def error_words(self) -> str:
        return "records too many or too few below an answer"

    @property
    def header(self) -> Row:
        named = [*axes_header(self.groups), "rank"]
        return [*named, self.column, "rank_error", *(["low", "high"] if self.interval else [])]

    def types(self, table: Any) -> list[Kind]:
        groups = axes_types(self.groups)
        return [*groups, *(Kind.NUMBER for _ in self.header[len(groups) :])]

    def draw(self, scale: float, looked: Any, source: Source) -> Iterator[Row]:
        width, error = self.asks.bins.width, self.error(scale)
        if self.selects:
            chosen = [one.release(looked, source=source).values for one in self._choices(scale)]
            columns = [np.stack(chosen, axis=-1).ravel().tolist()]
        else:
            found = self._tree(scale).estimate(looked, source)
            ends = (found.low, found.high) if self.interval else ()
            columns = [one.ravel().tolist() for one in (found.value, *ends)]
        rows = product(cells(self.groups), self.ranks)
        for (group, rank), (place, *interval) in zip(rows, zip(*columns, strict=True), strict=True):
            near, *between = (rounded(one, width) for one in (place, *interval))
            yield [*group, rank, near, rounded(error, error), *between]
