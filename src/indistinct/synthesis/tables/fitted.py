"""A fitted generator of tables: rows, what they were paid with, and more releases of the same."""

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, final

import numpy as np
import numpy.typing as npt

from indistinct.adjacency import Adjacency, check_adjacency
from indistinct.boundary import guarded
from indistinct.data import NoisyQuery, Tables, pandas_frame
from indistinct.errors import ArgumentError, DataError, check_count
from indistinct.functions.public_randomness import PublicUniforms
from indistinct.guarantees import Guarantee
from indistinct.mechanisms import Budget, Mechanism, Release, calibrate
from indistinct.mechanisms.paying import Payer
from indistinct.noise import Source
from indistinct.synthesis.progress import Progress, check_fit
from indistinct.synthesis.tables.generator import Mixture
from indistinct.synthesis.tables.regions import Region
from indistinct.synthesis.tables.rounds import Counts, Group, deviations, parts_of
from indistinct.synthesis.tables.synthesizer import Columns, TableSynthesizer
from indistinct.synthesis.tables.training import TableTraining

Accept = Callable[[Columns], npt.NDArray[np.bool_]]

_MOST_ROUNDS = 100


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
        self.synthesizer.check_unrounded("given", given or ())
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
        """The tables that were released, released once more with another budget, and a generator for both
        together. The guarantee is that of everything that was released."""
        check_fit(training, TableTraining, seed, progress)
        last = self._known_release()
        neighbours = check_adjacency(last.adjacency or Adjacency.ADD_REMOVE)
        counted = next(part for part in parts_of(last.mechanism) if isinstance(part, NoisyQuery)).query
        query = Tables(dict(self.synthesizer.query.axes), list(deviations(last.mechanism)), counted.unit)
        noisy = calibrate(query.gaussian, budget, adjacency=neighbours).mechanism
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


def averaged(releases: Sequence[Release[Counts]]) -> tuple[Counts, dict[Group, float]]:
    """Noisy tables of the same records, and the deviation of the noise on each. What was released more than
    once weighs as much as its noise allows, one over the variance, which no other mean of them beats."""
    noises = [deviations(release.mechanism) for release in releases]
    tables, spread = {}, {}
    for group in dict.fromkeys(group for noise in noises for group in noise):
        both = zip(noises, releases, strict=True)
        known = [(noise[group], each.values[group]) for noise, each in both if group in noise]
        weights = np.array([noise for noise, _ in known]) ** -2.0
        tables[group] = np.tensordot(weights / weights.sum(), [values for _, values in known], axes=1)
        spread[group] = float(weights.sum() ** -0.5)
    return tables, spread
