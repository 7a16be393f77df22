"""A plan as plain data: what is asked of which table, for which budget. Read from TOML."""

import hashlib
import importlib
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from indistinct.errors import ArgumentError
from indistinct.files import read_toml
from indistinct.mechanisms.additive import Noise
from indistinct.plans.about import About, read_about
from indistinct.plans.declarations import Terms, read_terms
from indistinct.plans.noise_choice import quieter
from indistinct.plans.planned_release import Asked, PlannedRelease, Read
from indistinct.plans.section import Section, meant, only, table
from indistinct.plans.spending import Spending, read_spending

KINDS = {
    "histogram": "counts.HistogramPart",
    "count": "counts.CountPart",
    "sum": "sums.SumPart",
    "mean": "sums.MeanPart",
    "variance": "sums.VariancePart",
    "quantiles": "quantiles.QuantilesPart",
    "prefix": "workloads.PrefixPart",
    "ranges": "workloads.RangesPart",
    "marginals": "workloads.MarginalsPart",
    "heavy-hitters": "heavy_hitters.HeavyHittersPart",
    "hierarchy": "hierarchy.HierarchyPart",
    "outside": "outside.OutsidePart",
    "bounds": "bounds.BoundsPart",
    "density": "density.DensityPart",
    "synthetic": "synthetic.SyntheticPart",
    "linear": "regression.LinearPart",
    "logistic": "regression.LogisticPart",
    "covariance": "regression.CovariancePart",
}
"""What a release can ask, and the class in `kinds/` that knows its keys, imported when a plan asks for it. A
new kind is such a class and a line here."""

FINDS = "heavy-hitters"
"""The kind of release that finds groups."""
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")
_TAKEN = {"guarantee", "release", "report", "plan"}


@dataclass(frozen=True)
class Plan:
    """Everything that a run does, known before a record is read."""

    terms: Terms
    parts: tuple[PlannedRelease, ...]
    about: About
    spending: Spending
    listed: tuple[Mapping[str, Any], ...] = field(repr=False)
    """The releases as TOML has them, in the order of `parts`."""

    @property
    def digest(self) -> str:
        """Tells this plan from others: what is asked of what, for whom, with which noise and budget.
        Comments, the order of keys, what the report is called, where files lie and which ledger is kept do
        not count."""
        asked = [[self.part_digest(part.name), part.noise.value] for part in self.parts]
        return content_digest([asked, self.spending.reserve, self.spending.unit])

    def part_digest(self, name: str) -> str:
        """Tells one release from all others, and stays the same where the plan gets further ones: only the
        columns that it names count, and what kind of noise was chosen does not."""
        usual = Noise.GAUSSIAN if self.terms.delta else Noise.LAPLACE
        part = self.part_as(name, usual, alone=False)
        source = asdict(self.terms.data)
        if not source["multiplies"]:  # as it was before it could be said; `found` likewise
            del source["multiplies"]
        source |= {"csv": len(source["csv"]), "parquet": len(source["parquet"]), "database": None}
        fields = {**asdict(part), "terms": None, "kind": part.kind}
        columns = {column: asdict(declared) for column, declared in self.terms.named_in(fields)}
        for declared in columns.values():
            if declared["found"] is None:
                del declared["found"]
        terms = {**asdict(self.terms), "data": source, "noise": None, "columns": columns}
        told = {"terms": terms, "release": fields}
        if part.found:
            told["found"] = {one: self.part_digest(finder.name) for one, finder in self.finders(part).items()}
        return content_digest(told)

    def finders(self, part: PlannedRelease) -> dict[str, PlannedRelease]:
        """The releases that find the groups of this one, by column."""
        hitters = {one.columns[0]: one for one in self.parts if one.kind == FINDS}
        return {name: hitters[name] for name in part.found}

    def groups_found(self, part: PlannedRelease, read: Read) -> dict[str, list[str]]:
        """What these have found, from their files."""
        finders = self.finders(part).items()
        return {name: [row[0] for row in read(finder.drawn)[1:]] for name, finder in finders}

    def part_as(self, name: str, noise: Noise, *, alone: bool) -> PlannedRelease:
        """The release as it is with this noise, and with no other one beside it or with some."""
        place = next(place for place, part in enumerate(self.parts, start=1) if part.name == name)
        return _part(replace(self.terms, noise=noise), place, self.listed[place - 1], alone)


def read_plan(path: str | Path) -> Plan:
    """The plan of a TOML file; paths of data are relative to it."""
    path = Path(path)
    content = read_toml(path)
    # resolved, so that a run can be finished from another working directory
    return parse_plan(content, path.parent.resolve())


def parse_plan(content: Mapping[str, Any], folder: str | Path = ".") -> Plan:
    """A plan from what TOML holds.

    >>> parse_plan({"data": {"csv": "a.csv"}, "privacy": {"usr": "person"}, "budget": {"epsilon": 1}})
    Traceback (most recent call last):
    indistinct.errors.ArgumentError: privacy must be made of adjacency, most, most_groups, user (did you mean 'user'?), got 'usr'
    """  # noqa: E501
    only("plan", content, {"data", "privacy", "budget", "columns", "releases", "report", "ledger"})
    terms = read_terms(content, Path(folder))
    listed = content.get("releases")
    if not isinstance(listed, list) or not listed:
        raise ArgumentError("releases", listed, "a list of [[releases]], one or more")
    listed = [*listed, *_finders(terms, listed)]
    parts = _parts(terms, listed)
    names = [part.name.lower() for part in parts]
    for name in names:
        if names.count(name) > 1:
            raise ArgumentError("releases.name", name, "a different one for each release")
    if terms.delta and "noise" not in content["budget"] and not any(part.only_gaussian for part in parts):
        parts = quieter(parts, _parts(replace(terms, noise=Noise.LAPLACE), listed))
    about, spending = read_about(content.get("report", {})), read_spending(content, terms, Path(folder))
    return Plan(parts[0].terms, parts, about, spending, tuple(listed))


def _finders(terms: Terms, listed: list[Any]) -> Iterator[dict[str, Any]]:
    """Releases that find groups, where the plan has none of its own for that."""
    asked = [one for one in listed if isinstance(one, Mapping)]
    for column in (name for name, declared in terms.columns if declared.found is not None):
        own = [one.get("name") for one in asked if (one.get("kind"), one.get("column")) == (FINDS, column)]
        if len(own) > 1:
            raise ArgumentError(f"columns.{column}.found", own, f"with one release of kind {FINDS}, or none")
        if not own and any(column in one["by"] for one in asked if isinstance(one.get("by"), list)):
            name = "".join(letter if letter.isascii() and letter.isalnum() else "_" for letter in column)
            yield {"name": f"groups_of_{name}"[:64], "kind": FINDS, "column": column}


def _parts(terms: Terms, listed: list[Any]) -> tuple[PlannedRelease, ...]:
    alone = len(listed) == 1
    return tuple(_part(terms, place, given, alone) for place, given in enumerate(listed, start=1))


def _part(terms: Terms, place: int, given: Any, alone: bool) -> PlannedRelease:
    item = table(f"releases[{place}]", given)
    name, kind = item.get("name"), item.get("kind")
    if not isinstance(name, str) or not _NAME.fullmatch(name) or name.lower() in _TAKEN:
        allowed = f"letters, digits, - and _ (it names a file), and not {', '.join(sorted(_TAKEN))}"
        raise ArgumentError(f"releases[{place}].name", name, allowed)
    if not isinstance(kind, str) or kind not in KINDS:
        allowed = f"one of {', '.join(KINDS)}{meant(kind, KINDS)}"
        raise ArgumentError(f"releases.{name}.kind", kind, allowed)
    asked = part_class(kind)
    section = Section(f"releases.{name}", item, {"name", "kind", "weight", "size"} | asked.keys)
    if asked.only_gaussian and terms.noise is not Noise.GAUSSIAN:
        key, given_noise = ("noise", terms.noise.value) if terms.delta else ("delta", 0)
        allowed = f"{'gaussian' if terms.delta else 'positive'} for {section.where}: its noise is Gaussian"
        raise ArgumentError(f"budget.{key}", given_noise, allowed)
    weight = section.positive("weight", 1.0)
    if not 1e-6 <= weight <= 1e6:
        raise ArgumentError(section.at("weight"), weight, "between 1e-6 and 1e6")
    return asked.read(terms, Asked(name, weight, section.maybe("size", section.positive), alone), section)


def part_class(kind: str) -> type[PlannedRelease]:
    """The class of a kind."""
    module, _, name = KINDS[kind].partition(".")
    found: type[PlannedRelease] = getattr(importlib.import_module(f"indistinct.plans.kinds.{module}"), name)
    return found


def content_digest(content: Any) -> str:
    """Tells JSON data from any other."""
    text = json.dumps(content, sort_keys=True, default=lambda word: word.value)
    return hashlib.sha256(text.encode()).hexdigest()
