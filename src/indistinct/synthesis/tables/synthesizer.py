"""Synthetic tables from declared columns: one noisy sum, then a generator, then as many rows as you like."""

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, combinations, pairwise
from typing import Any, final

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
    pandas_frame,
    pandas_holds,
)
from indistinct.errors import ArgumentError, DataError, check_count, needs
from indistinct.functions.public_randomness import PublicUniforms
from indistinct.guarantees import Guarantee
from indistinct.mechanisms import Budget, Mechanism, Release, calibrate
from indistinct.mechanisms.paying import Payer
from indistinct.noise import Source
from indistinct.synthesis.progress import Progress, bar, check_fit
from indistinct.synthesis.tables.conditions import Forbidden, Wanted, wanted
from indistinct.synthesis.tables.decode import Determined, Pieces
from indistinct.synthesis.tables.generator import Mixture, Places
from indistinct.synthesis.tables.regions import Region, known_zeros
from indistinct.synthesis.tables.training import NoisyCounts, TableTraining, train

Columns = dict[str, npt.NDArray[Any]]
Counts = Mapping[tuple[str, ...], npt.NDArray[np.float64]]
"""Tables by the names of their columns."""
Accept = Callable[[Columns], npt.NDArray[np.bool_]]

_MOST_ROUNDS = 100


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
        return Region.of(domains, wanted("given", given or {}, domains, determined), self._forbidden)

    @property
    def _forbidden(self) -> list[Wanted]:
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

    def _check_type(self, name: str, kind: str) -> None:
        """Tries a pandas type on the ends of all cells: rows that are drawn later must fit it, and by then
        the release is paid for."""
        rule = dict(self.declared)[name]
        domain = dict(self.columns)[rule.by if isinstance(rule, Determined) else name]
        places = np.repeat(np.arange(domain.size), 2)
        if isinstance(rule, Determined):
            values = rule.column(places, domain)
        else:
            values = Pieces.of(domain).values(places, np.tile([0.0, 1 - 2.0**-30], domain.size))
        if not pandas_holds(values, name, kind, self.lists):
            allowed = (
                "a pandas type for all values that are declared ('Int64' and 'boolean' hold missing ones)"
            )
            raise ArgumentError(f"type of {name!r}", kind, allowed)

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
        """Releases the noisy counts of the data, once, and fits a generator to them.

        `seed` is that of the post-processing: the noise does not come from it.
        """
        with needs("synthesis"):  # before any budget is spent
            import torch  # noqa: F401

        check_fit(training, TableTraining, seed, progress)
        noisy = self.mechanism(budget, adjacency)
        with guarded("the table"):
            noisy.check(data)
            release = replace(
                noisy.release(data, source=source, ledger=ledger), adjacency=check_adjacency(adjacency)
            )
        mixture = self.mixture(release.values, noisy.deviation, training, seed, progress)
        return SyntheticTable(self, mixture, release)

    def mixture(
        self,
        tables: Counts,
        deviation: float,
        training: TableTraining | None = None,
        seed: int = 0,
        progress: Progress | None = None,
    ) -> Mixture:
        """The generator that fits released tables, whose noise has this deviation. It reads no records."""
        check_fit(training, TableTraining, seed, progress)
        how = training or TableTraining()
        tables = known_zeros(tables, dict(self.columns), self._forbidden)
        return train(self._side_by_side(tables, deviation), how, seed, progress or bar(how.steps))

    def _side_by_side(self, tables: Counts, deviation: float) -> NoisyCounts:
        labels = 1 if self.label is None else dict(self.columns)[self.label].size
        cells = sum(self.sizes)
        ends = pairwise(accumulate(self.sizes, initial=0))
        places = {name: slice(a, b) for name, (a, b) in zip(self.features, ends, strict=True)}
        ones, pairs = np.zeros((labels, cells)), np.zeros((labels, cells, cells))
        for group, table in tables.items():
            names = group if self.label is None else group[1:]
            by_label = table[None] if self.label is None else table
            if len(names) == 1:
                ones[:, places[names[0]]] = by_label
            else:
                pairs[:, places[names[0]], places[names[1]]] = by_label
        ordered = tuple(self._ordered(name) for name in self.features)
        return NoisyCounts(self.sizes, ones, pairs, deviation, ordered)

    def _ordered(self, name: str) -> int:
        """How many of a column's cells are in an order that is declared: missing comes last, and is in none."""
        domain = inner(dict(self.columns)[name])
        listed = isinstance(domain, Categories) and dict(self.types).get(name) != ORDERED_CATEGORY
        return 0 if listed else domain.size


@final
@dataclass(frozen=True, eq=False)
class SyntheticTable:
    """A fitted generator: draws rows, and says what the data paid for it."""

    synthesizer: TableSynthesizer
    mixture: Mixture
    release: Release[Counts] | None = None
    earlier: tuple[Release[Counts], ...] = ()
    """Releases of the same tables before the last one, if it was continued."""

    @property
    def releases(self) -> tuple[Release[Counts], ...]:
        """All that was released of the data, the first one first."""
        return (*self.earlier, self._known_release())

    @property
    def mechanism(self) -> Mechanism:
        """What was run."""
        first, *others = (release.mechanism for release in self.releases)
        return sum(others, start=first)

    @property
    def private(self) -> bool:
        return all(release.private for release in self.releases)

    def guarantee(self, adjacency: Adjacency | str | None = None) -> Guarantee:
        """That of all releases together; drawing rows adds nothing."""
        first, *others = (release.guarantee(adjacency) for release in self.releases)
        return sum(others, start=first)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the generator, what it was fitted to, and how that was released (safetensors: numbers and a
        description, nothing that could run)."""
        from indistinct.synthesis.tables.saved import write

        write(self, path)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> "SyntheticTable":
        """What `save` wrote."""
        from indistinct.synthesis.tables.saved import read

        return read(path)

    def columns(
        self,
        n: int,
        *,
        seed: int = 0,
        given: Mapping[str, Any] | None = None,
        accept: Accept | None = None,
    ) -> Columns:
        """New records as arrays. `given` says what some columns are: a value, a range `(low, high)` or a list
        of these, and however rare that is, rows are drawn from the model's distribution given that. With
        `accept`, a rule on such arrays, only those for which it is true."""
        count, uniforms, region = check_count("n", n), PublicUniforms(seed), self.synthesizer.region(given)
        found: list[Columns] = []
        have = 0
        for _ in range(_MOST_ROUNDS):
            drawn = self.drawn(count, uniforms, region)
            if accept is not None:
                kept = np.asarray(accept(drawn), dtype=bool)
                if kept.shape != (count,):
                    allowed = "a rule on arrays that says of each row whether it holds"
                    raise ArgumentError("accept", f"truths of shape {kept.shape} for {count} rows", allowed)
                drawn = {name: values[kept] for name, values in drawn.items()}
            found.append(drawn)
            have += len(next(iter(drawn.values())))
            if have >= count:
                return {name: np.concatenate([part[name] for part in found])[:count] for name in drawn}
        raise DataError(f"only {have} of {_MOST_ROUNDS * count} synthetic rows were accepted: relax the rule")

    def sample(
        self,
        n: int,
        *,
        seed: int = 0,
        given: Mapping[str, Any] | None = None,
        accept: Accept | None = None,
    ) -> Any:
        """What `columns` draws as a pandas frame, in the declared order and with the declared types."""
        drawn = self.columns(n, seed=seed, given=given, accept=accept)
        return pandas_frame(drawn, dict(self.synthesizer.types), self.synthesizer.lists)

    def drawn(self, rows: int, uniforms: PublicUniforms, region: Region) -> Columns:
        """New records in a region."""
        design = self.synthesizer
        if region.everything:
            labels, cells = self.mixture.sample(rows, uniforms)
            places = dict(zip(design.features, cells.T, strict=True))
            if design.label is not None:
                places[design.label] = labels
        else:
            places = region.sample(self.mixture, design.features, design.label, rows, uniforms)
        return design.decoded(places, region, uniforms)

    def trained(
        self, training: TableTraining | None = None, *, seed: int = 0, progress: Progress | None = None
    ) -> "SyntheticTable":
        """Another generator for the same release: no privacy is spent."""
        tables, deviation = averaged(self.releases)
        return replace(self, mixture=self.synthesizer.mixture(tables, deviation, training, seed, progress))

    def continued(
        self,
        data: Any,
        budget: Budget,
        *,
        training: TableTraining | None = None,
        seed: int = 0,
        source: Source | None = None,
        ledger: Payer | None = None,
        progress: Progress | None = None,
    ) -> "SyntheticTable":
        """The same tables released once more, with another budget, and a generator for both releases
        together. The guarantee is that of everything that was released."""
        check_fit(training, TableTraining, seed, progress)
        last = self._known_release()
        assert isinstance(last.mechanism, NoisyQuery)
        neighbours = check_adjacency(last.adjacency or Adjacency.ADD_REMOVE)
        noisy = calibrate(last.mechanism.query.gaussian, budget, adjacency=neighbours).mechanism
        with guarded("the table"):
            noisy.check(data)
            release = replace(noisy.release(data, source=source, ledger=ledger), adjacency=last.adjacency)
        return self.with_release(release, training, seed, progress)

    def with_release(
        self,
        release: Release[Counts],
        training: TableTraining | None = None,
        seed: int = 0,
        progress: Progress | None = None,
    ) -> "SyntheticTable":
        """A generator for one release more of the same tables."""
        longer = replace(self, release=release, earlier=self.releases)
        return longer.trained(training, seed=seed, progress=progress)

    def _known_release(self) -> Release[Counts]:
        if self.release is None:
            raise ArgumentError("release", None, "known: this generator was not fitted by `fit`")
        return self.release


def averaged(releases: Sequence[Release[Counts]]) -> tuple[Counts, float]:
    """Noisy tables of the same records as one, and the deviation of its noise: each weighs as much as its
    noise allows, one over the variance, which no other mean of them beats."""
    deviations = []
    for release in releases:
        assert isinstance(release.mechanism, NoisyQuery)
        deviations.append(release.mechanism.deviation)
    weights = np.array(deviations) ** -2.0
    tables = {
        group: np.tensordot(weights / weights.sum(), [release.values[group] for release in releases], axes=1)
        for group in releases[-1].values
    }
    return tables, float(weights.sum() ** -0.5)


def _type_name(kind: Any) -> str:
    """The name of a type, which may be given as pandas and NumPy have it."""
    if getattr(kind, "ordered", False):
        return ORDERED_CATEGORY
    numpy_has_it = isinstance(kind, type) and kind is not str
    return np.dtype(kind).name if numpy_has_it else getattr(kind, "name", str(kind))
