"""Synthetic tables from declared columns: one noisy sum, then a generator, then as many rows as you like."""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import combinations
from typing import TYPE_CHECKING, Any, final

import numpy as np
import numpy.typing as npt

from indistinct.adjacency import Adjacency, check_adjacency
from indistinct.boundary import guarded
from indistinct.data import (
    ORDERED_CATEGORY,
    Categories,
    Celled,
    NoisyQuery,
    Tables,
    inner,
    pandas_holds,
)
from indistinct.errors import ArgumentError
from indistinct.functions.public_randomness import PublicUniforms
from indistinct.mechanisms import Budget, Mechanism, calibrate
from indistinct.mechanisms.paying import Payer
from indistinct.noise import Source
from indistinct.numerics.arrays import Array
from indistinct.synthesis.progress import Progress, bar, check_fit
from indistinct.synthesis.tables.conditions import Forbidden, Wanted, wanted
from indistinct.synthesis.tables.decode import Determined, Pieces
from indistinct.synthesis.tables.generator import Mixture, Places
from indistinct.synthesis.tables.regions import Region, known_zeros
from indistinct.synthesis.tables.rounds import Counts, deviations, released_in_rounds
from indistinct.synthesis.tables.training import NoisyCounts, NoisyTable, TableTraining, train

if TYPE_CHECKING:
    from indistinct.synthesis.tables.fitted import SyntheticTable

Columns = dict[str, npt.NDArray[Any]]


@final
@dataclass(frozen=True)
class TableSynthesizer:
    """What a table is made of, and which column, if any, is to be predicted from the others.

    The kernel is [y = y'] (Σ_i [x_i = x'_i] + Σ_{i<j} [x_i = x'_i][x_j = x'_j]), with cells for numbers: its
    mean embedding is every one-way and two-way table by label. A record is in each of d + d(d-1)/2 tables
    once, so κ² is their number.

    >>> from indistinct import Budget
    >>> from indistinct.data import Intervals
    >>> design = TableSynthesizer(
    ...     {"age": Intervals([18, 40, 65, 100], whole=True), "smokes": Categories(["no", "yes"])}
    ... )
    >>> design.query.groups
    (('age',), ('smokes',), ('age', 'smokes'))
    >>> design.mechanism(Budget(epsilon=1, delta=1e-5)).guarantee().epsilon(delta=1e-5)
    1.0
    """

    declared: tuple[tuple[str, Celled | Determined], ...]
    label: str | None
    types: tuple[tuple[str, str], ...]
    """Names of pandas types, where they are not int64, float64 or those of texts. They are declared too: a
    frame's own types may depend on its records, one missing value turns integers into floats."""
    rules: tuple[Forbidden, ...]
    """What no row has, whatever the records and the noise say."""

    def __init__(
        self,
        columns: Mapping[str, Celled | Determined],
        *,
        label: str | None = None,
        types: Mapping[str, str] | None = None,
        rules: Sequence[Forbidden] = (),
    ) -> None:
        if not isinstance(columns, Mapping):
            raise ArgumentError("columns", columns, "a mapping from names to what the columns may hold")
        object.__setattr__(self, "declared", tuple(dict(columns).items()))
        object.__setattr__(self, "label", label)
        object.__setattr__(
            self, "types", tuple((name, _type_name(kind)) for name, kind in dict(types or {}).items())
        )
        domains = dict(self.columns)
        if label is not None and label not in domains:
            raise ArgumentError("label", label, f"one of {', '.join(domains)}")
        if not self.features:
            raise ArgumentError("columns", list(domains), "at least one column beside the label")
        for name, rule in self.determined:
            rule.check(name, domains)
        for name, kind in self.types:
            if name not in dict(self.declared):
                raise ArgumentError("types", name, f"of {', '.join(dict(self.declared))}")
            self._check_type(name, kind)
        if not all(isinstance(rule, Forbidden) for rule in rules):
            raise ArgumentError("rules", rules, "a list of Forbidden({...})")
        object.__setattr__(self, "rules", tuple(rules))
        for forbidden in self.rules:
            self.check_unrounded("rules", forbidden.conditions)
        _ = self.query, self.region()  # refuses at once what cannot be counted, or drawn

    @property
    def columns(self) -> tuple[tuple[str, Celled], ...]:
        """The columns that are read."""
        return tuple((name, domain) for name, domain in self.declared if not isinstance(domain, Determined))

    @property
    def determined(self) -> tuple[tuple[str, Determined], ...]:
        """The columns that follow from others."""
        return tuple((name, rule) for name, rule in self.declared if isinstance(rule, Determined))

    @property
    def features(self) -> tuple[str, ...]:
        """The columns beside the label."""
        return tuple(name for name, _ in self.columns if name != self.label)

    @property
    def lists(self) -> dict[str, list[Any]]:
        """The values of the columns that hold categories."""
        found = {name: inner(domain) for name, domain in self.columns}
        return {name: list(own.values) for name, own in found.items() if isinstance(own, Categories)}

    @property
    def sizes(self) -> tuple[int, ...]:
        """How many cells the features have."""
        return tuple(dict(self.columns)[name].size for name in self.features)

    @property
    def query(self) -> Tables:
        """The only thing that is asked of the records."""
        given = () if self.label is None else (self.label,)
        groups = [*((name,) for name in self.features), *combinations(self.features, 2)]
        return Tables(dict(self.columns), [(*given, *group) for group in groups])

    def region(self, given: Mapping[str, Any] | None = None) -> Region:
        """Where rows may be: what is given, without what the rules forbid."""
        domains, determined = dict(self.columns), dict(self.determined)
        return Region.of(domains, wanted("given", given or {}, domains, determined), self.forbidden)

    @property
    def forbidden(self) -> list[Wanted]:
        """What the rules describe."""
        domains, determined = dict(self.columns), dict(self.determined)
        return [wanted("rules", rule.conditions, domains, determined) for rule in self.rules]

    def decoded(self, places: Mapping[str, Places], region: Region, uniforms: PublicUniforms) -> Columns:
        """Values in pieces of a region, and what follows from them, in the declared order."""
        rows = len(next(iter(places.values())))
        spread = uniforms.draw(rows, len(self.columns))
        values = {
            name: region.pieces[name].values(places[name], spread[:, at])
            for at, (name, _) in enumerate(self.columns)
            if name in places
        }
        for name, rule in self.determined:
            if rule.by in places:
                pieces = region.pieces[rule.by]
                values[name] = rule.column(pieces.cells[places[rule.by]], pieces.domain)
        return {name: values[name] for name, _ in self.declared if name in values}

    def check_unrounded(self, argument: str, conditions: Iterable[str]) -> None:
        """Refuses conditions on columns whose type rounds: rounded rows might break them."""
        for name, kind in self.types:
            if name in conditions and not self._held(name, kind, 0.0):
                allowed = f"without a condition on {name!r}, or declare numbers that are `whole`"
                raise ArgumentError(f"type of {name!r} beside {argument}", kind, allowed)

    def _check_type(self, name: str, kind: str) -> None:
        """Rows that are drawn later must fit their type, and by then the release is paid for."""
        if not self._held(name, kind, 0.01):
            allowed = (
                "a pandas type for all values that are declared ('Int64' and 'boolean' hold missing ones)"
            )
            raise ArgumentError(f"type of {name!r}", kind, allowed)

    def _held(self, name: str, kind: str, rounding: float) -> bool:
        """Whether a pandas type holds the ends of all cells."""
        rule = dict(self.declared)[name]
        domain = dict(self.columns)[rule.by if isinstance(rule, Determined) else name]
        places = np.repeat(np.arange(domain.size), 2)
        if isinstance(rule, Determined):
            values = rule.column(places, domain)
        else:
            values = Pieces.of(domain).values(places, np.tile([0.0, 1 - 2.0**-30], domain.size))
        return pandas_holds(values, name, kind, self.lists, rounding=rounding)

    def mechanism(self, budget: Budget, adjacency: Adjacency | str = Adjacency.ADD_REMOVE) -> NoisyQuery:
        """The query with as little Gaussian noise as the budget allows."""
        return calibrate(self.query.gaussian, budget, adjacency=adjacency).mechanism

    def fit(
        self,
        data: Any,
        budget: Budget,
        *,
        adjacency: Adjacency | str = Adjacency.ADD_REMOVE,
        training: TableTraining | None = None,
        seed: int = 0,
        source: Source | None = None,
        ledger: Payer | None = None,
        progress: Progress | None = None,
    ) -> "SyntheticTable":
        """Releases noisy counts of the data, of tables chosen with noise, and fits a generator to them.

        `seed` is that of the post-processing: the noise does not come from it.
        """
        from indistinct.synthesis.tables.fitted import SyntheticTable

        check_fit(training, TableTraining, seed, progress)
        near = check_adjacency(adjacency)
        with guarded("the table"):
            self.query.check(data)
            if len(self.columns) < 3:  # nothing to choose
                noisy = self.mechanism(budget, near)
                release = replace(noisy.release(data, source=source, ledger=ledger), adjacency=near)
            else:
                guess = partial(self._expected, training, seed)
                release = released_in_rounds(
                    self.query, data, self.label, budget, near, guess, source=source, ledger=ledger
                )
        spread = deviations(release.mechanism)
        return SyntheticTable(self, self.mixture(release.values, spread, training, seed, progress), release)

    def mixture(
        self,
        tables: Counts,
        deviation: float | Mapping[tuple[str, ...], float],
        training: TableTraining | None = None,
        seed: int = 0,
        progress: Progress | None = None,
    ) -> Mixture:
        """The generator that fits released tables, whose noise has this deviation (for each table, where they
        differ). It reads no records."""
        check_fit(training, TableTraining, seed, progress)
        how = training or TableTraining()
        return train(self._side_by_side(tables, deviation), how, seed, progress or bar(how.steps))

    def _expected(
        self, training: TableTraining | None, seed: int, tables: Counts, mechanism: Mechanism, fitted: bool
    ) -> Callable[[tuple[str, ...]], Array]:
        """What to expect of tables that were not released: of independent columns, or of a generator that is
        fitted in half the steps."""
        counts, how = self._side_by_side(tables, deviations(mechanism)), training or TableTraining()
        quick = replace(how, steps=math.ceil(how.steps / 2))
        mixture = train(counts, quick, seed) if fitted else counts.independent()
        records = counts.records().sum()

        def expected(group: tuple[str, ...]) -> Array:
            columns, by_label = self._places(group)
            return mixture.table(columns, by_label) * float(records)

        return expected

    def _places(self, group: tuple[str, ...]) -> tuple[tuple[int, ...], bool]:
        """Which columns a table has, and whether it is by label, which comes first."""
        names = group if self.label is None else tuple(name for name in group if name != self.label)
        return tuple(map(self.features.index, names)), self.label is not None and self.label in group

    def _side_by_side(
        self, tables: Counts, deviation: float | Mapping[tuple[str, ...], float]
    ) -> NoisyCounts:
        labels = 1 if self.label is None else dict(self.columns)[self.label].size
        known = []
        for group, table in known_zeros(tables, dict(self.columns), self.forbidden).items():
            if group:  # all but the distances
                columns, by_label = self._places(group)
                own = deviation if isinstance(deviation, float | int) else deviation[group]
                counts = table[None] if self.label is None else table
                known.append(NoisyTable(columns, by_label or self.label is None, counts, own))
        ordered = tuple(self._ordered(name) for name in self.features)
        return NoisyCounts(self.sizes, labels, tuple(known), ordered)

    def _ordered(self, name: str) -> int:
        """How many of a column's cells are in a declared order: missing comes last, and is in none."""
        domain = inner(dict(self.columns)[name])
        listed = isinstance(domain, Categories) and dict(self.types).get(name) != ORDERED_CATEGORY
        return 0 if listed else domain.size


def _type_name(kind: Any) -> str:
    """The name of a type, which may be given as pandas and NumPy have it."""
    if getattr(kind, "ordered", False):
        return ORDERED_CATEGORY
    numpy_has_it = isinstance(kind, type) and kind is not str
    return np.dtype(kind).name if numpy_has_it else getattr(kind, "name", str(kind))
