"""Synthetic users and their visits: two tables with a common key, and the user as the unit of privacy."""

import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, final

import numpy as np

from indistinct.adjacency import Adjacency, check_adjacency
from indistinct.boundary import guarded
from indistinct.data import Categories, Kind, NoisyQuery, Tables, UserRecords, in_memory, linked, pandas_frame
from indistinct.errors import ArgumentError, check_count
from indistinct.functions.public_randomness import PublicUniforms
from indistinct.guarantees import Guarantee
from indistinct.mechanisms import Budget, Mechanism, Release, calibrate
from indistinct.mechanisms.paying import Payer, charged
from indistinct.noise import Source
from indistinct.synthesis.progress import Progress, check_fit
from indistinct.synthesis.tables.conditions import Forbidden, Wanted
from indistinct.synthesis.tables.fitted import SyntheticTable, averaged
from indistinct.synthesis.tables.regions import Region
from indistinct.synthesis.tables.synthesizer import Columns, TableSynthesizer
from indistinct.synthesis.tables.training import TableTraining

VISITS = "visits per user"
"""The column that is added to the users' table."""


@final
@dataclass(frozen=True)
class LinkedSynthesizer:
    """Users, one row each, and visits, of which at most `most` of each user take part.

    Two sums are released: the users' tables, with the number of visits as one more column; and the visits'
    tables, with columns of their users beside their own (`shared`; all, unless told). A user is in each of
    the first once, and in each of the second up to `most` times, perhaps in one cell: exactly that is the
    sensitivity of either.

    >>> from indistinct.data import Intervals
    >>> people = TableSynthesizer({"age": Intervals([0, 40, 120], whole=True)})
    >>> days = TableSynthesizer({"spent": Intervals([0, 10, 1000])})
    >>> design = LinkedSynthesizer(people, days, key="user", most=4)
    >>> design.of_users.query.groups, design.of_visits.query.groups
    ((('age',), ('visits per user',), ('age', 'visits per user')), (('age',), ('spent',), ('age', 'spent')))
    >>> design.mechanism(Budget(epsilon=1, delta=1e-6)).guarantee().epsilon(delta=1e-6)
    1.0
    """

    users: TableSynthesizer
    visits: TableSynthesizer
    key: str
    most: int
    shared: tuple[str, ...]
    rules: tuple[Forbidden, ...]
    """About visits and the shared columns of their users."""

    def __init__(
        self,
        users: TableSynthesizer,
        visits: TableSynthesizer,
        *,
        key: str,
        most: int,
        shared: Sequence[str] | None = None,
        rules: Sequence[Forbidden] = (),
    ) -> None:
        for argument, design in (("users", users), ("visits", visits)):
            if not isinstance(design, TableSynthesizer):
                raise ArgumentError(argument, design, "TableSynthesizer(...)")
        read = [name for name, _ in users.columns]
        object.__setattr__(self, "users", users)
        object.__setattr__(self, "visits", visits)
        object.__setattr__(self, "key", key)
        object.__setattr__(self, "most", check_count("most", most, least=1))
        object.__setattr__(self, "shared", tuple(read if shared is None else shared))
        object.__setattr__(self, "rules", tuple(rules))
        if strangers := [name for name in self.shared if name not in read]:
            raise ArgumentError("shared", strangers, f"columns of users that are read: {', '.join(read)}")
        names = [key, VISITS, *dict(users.declared), *dict(visits.declared)]
        if not isinstance(key, str) or len(set(names)) < len(names):
            twice = sorted({str(name) for name in names if names.count(name) > 1})
            raise ArgumentError("columns", twice, "named differently in both tables, and not as the key")
        for rule in self.rules:
            users.check_unrounded("rules", rule.conditions)
        _ = self.of_users, self.of_visits  # refuses at once what cannot be counted, or drawn
        for condition in self.of_visits.region().without_rows(self.shared):
            if _possible(users, condition):
                allowed = f"such that each user can have a visit; forbid users with {condition}, or allow one"
                raise ArgumentError("rules", tuple(condition), allowed)

    @property
    def of_users(self) -> TableSynthesizer:
        """The users' table, and how many visits each has."""
        return replace_columns(
            self.users, dict(self.users.declared) | {VISITS: Categories(range(self.most + 1))}
        )

    @property
    def of_visits(self) -> TableSynthesizer:
        """The visits' table, and the shared columns of their users."""
        read = dict(self.users.columns)
        columns = {name: read[name] for name in self.shared} | dict(self.visits.declared)
        return replace_columns(self.visits, columns, (*self.visits.rules, *self.rules))

    def noisy(self, scale: float) -> tuple[NoisyQuery, NoisyQuery]:
        """Both sums with noise, `scale` being that of the users' counts.

        Errors of a table count as shares of its total. With n users, T and V tables and m visits of each user
        they add up to T scale² / n² + V scale_v² / (m n)², and T / scale² + V most² / scale_v² is what
        the budget allows: least for scale_v² = scale² most m. How many visits there are is private; m is
        taken to be half of `most`.
        """
        users, visits = self.of_users.query, self.of_visits.query
        return (
            Tables(dict(users.axes), users.groups, UserRecords(self.key, 1)).gaussian(scale),
            Tables(dict(visits.axes), visits.groups, UserRecords(self.key, self.most)).gaussian(
                scale * self.most / math.sqrt(2)
            ),
        )

    def mechanism(self, budget: Budget, adjacency: Adjacency | str = Adjacency.ADD_REMOVE) -> Mechanism:
        """Both sums with as little Gaussian noise as the budget allows for them together."""
        return sum(self._calibrated(budget, adjacency), start=0)  # type: ignore[return-value]

    def _calibrated(self, budget: Budget, adjacency: Adjacency | str) -> tuple[NoisyQuery, NoisyQuery]:
        def both(scale: float) -> Mechanism:
            users, visits = self.noisy(scale)
            return users + visits

        return self.noisy(calibrate(both, budget, adjacency=adjacency).parameter)

    def fit(
        self,
        users: Any,
        visits: Any,
        budget: Budget,
        *,
        adjacency: Adjacency | str = Adjacency.ADD_REMOVE,
        training: TableTraining | None = None,
        seed: int = 0,
        source: Source | None = None,
        ledger: Payer | None = None,
        progress: Progress | None = None,
    ) -> "LinkedTables":
        """Releases the noisy counts of both tables, once, and fits a generator to each."""
        check_fit(training, TableTraining, seed, progress)
        released = self.released(users, visits, budget, adjacency=adjacency, source=source, ledger=ledger)
        made = [
            SyntheticTable(design, design.mixture(*averaged([release]), training, seed, progress), release)
            for design, release in zip((self.of_users, self.of_visits), released, strict=True)
        ]
        return LinkedTables(self, *made)

    def released(
        self,
        users: Any,
        visits: Any,
        budget: Budget,
        *,
        adjacency: Adjacency | str = Adjacency.ADD_REMOVE,
        source: Source | None = None,
        ledger: Payer | None = None,
    ) -> tuple[Release[Any], Release[Any]]:
        """The noisy counts of both tables, with no generator yet."""
        noisy = self._calibrated(budget, adjacency)
        both = noisy[0] + noisy[1]
        with guarded("the tables"):
            given = ("users", users, self.users), ("visits", visits, self.visits)
            for argument, data, design in given:
                held = in_memory(argument, data)
                held.check_column(self.key, Kind.USER)
                for name, domain in design.columns:
                    held.check_column(name, domain.type)
            found = _released(both, self, noisy, users, visits, source=source, ledger=ledger)
        first, second = (replace(release, adjacency=check_adjacency(adjacency)) for release in found)
        return first, second


def _possible(design: TableSynthesizer, condition: Wanted) -> bool:
    """Whether a row may be like that."""
    try:
        Region.of(dict(design.columns), condition, design.forbidden)
    except ArgumentError:
        return False
    return True


def replace_columns(
    design: TableSynthesizer, columns: Mapping[str, Any], rules: Sequence[Forbidden] | None = None
) -> TableSynthesizer:
    """A design with other columns."""
    return TableSynthesizer(
        columns,
        label=design.label,
        types=dict(design.types),
        rules=design.rules if rules is None else rules,
    )


@charged
def _released(
    both: Mechanism,
    design: LinkedSynthesizer,
    noisy: tuple[NoisyQuery, NoisyQuery],
    users: Any,
    visits: Any,
    *,
    source: Source | None = None,
    ledger: Payer | None = None,
) -> tuple[Release[Any], Release[Any]]:
    """Noisy counts of both tables, paid for together. `both` says to an account who is protected."""
    joined = linked(
        users,
        visits,
        key=design.key,
        of_users=[name for name, _ in design.users.columns],
        of_visits=[name for name, _ in design.visits.columns],
        count=VISITS,
        most=design.most,
    )
    first, second = (one.release(data, source=source) for one, data in zip(noisy, joined, strict=True))
    return first, second


@final
@dataclass(frozen=True, eq=False)
class LinkedTables:
    """Two fitted generators: draws users, then visits given what the users are."""

    synthesizer: LinkedSynthesizer
    users: SyntheticTable
    visits: SyntheticTable

    @property
    def mechanism(self) -> Mechanism:
        """What was run."""
        return self.users.mechanism + self.visits.mechanism

    @property
    def private(self) -> bool:
        return self.users.private and self.visits.private

    def guarantee(self, adjacency: Adjacency | str | None = None) -> Guarantee:
        """That of both releases, for a user with all visits."""
        return self.users.guarantee(adjacency) + self.visits.guarantee(adjacency)

    def columns(
        self, n: int, *, seed: int = 0, given: Mapping[str, Any] | None = None
    ) -> tuple[Columns, Columns]:
        """`n` new users and their visits as arrays, with keys from 0; `given` is about users.

        Visits are drawn from their model's distribution given the shared columns of their user.
        """
        design, uniforms = self.synthesizer, PublicUniforms(seed)
        users = self.users.drawn(check_count("n", n), uniforms, self.users.synthesizer.region(given))
        key = np.arange(n)
        owner = np.repeat(key, users.pop(VISITS))
        own = self.visits.synthesizer
        region = own.region()
        known = {name: region.pieces[name].places(users[name])[owner] for name in design.shared}
        places = region.sample(self.visits.mixture, own.features, own.label, len(owner), uniforms, known)
        visits = own.decoded(places, region, uniforms)
        return {design.key: key} | users, {design.key: owner} | visits

    def sample(self, n: int, *, seed: int = 0, given: Mapping[str, Any] | None = None) -> tuple[Any, Any]:
        """What `columns` draws, as two pandas frames."""
        design = self.synthesizer
        design.users.check_unrounded("given", given or ())
        users, visits = self.columns(n, seed=seed, given=given)
        return (
            pandas_frame(users, dict(design.users.types), design.users.lists),
            pandas_frame(visits, dict(design.visits.types), design.visits.lists),
        )

    def continued(
        self,
        users: Any,
        visits: Any,
        budget: Budget,
        *,
        training: TableTraining | None = None,
        seed: int = 0,
        source: Source | None = None,
        ledger: Payer | None = None,
        progress: Progress | None = None,
    ) -> "LinkedTables":
        """Both tables released once more, with another budget, and generators for all releases together. The
        guarantee is that of everything that was released."""
        check_fit(training, TableTraining, seed, progress)
        neighbours = self.users.releases[-1].adjacency
        released = self.synthesizer.released(
            users, visits, budget, adjacency=neighbours or Adjacency.ADD_REMOVE, source=source, ledger=ledger
        )
        return replace(
            self,
            users=self.users.with_release(released[0], training, seed, progress),
            visits=self.visits.with_release(released[1], training, seed, progress),
        )

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes both generators, what they were fitted to, and how that was released."""
        from indistinct.synthesis.tables.saved import write_linked

        write_linked(self, path)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> "LinkedTables":
        """What `save` wrote."""
        from indistinct.synthesis.tables.saved import read_linked

        return read_linked(path)
