"""Fitted generators in a file: safetensors, numbers and a description, nothing that could run."""

import os
from dataclasses import replace
from typing import Any

import numpy as np

from indistinct.data import NoisyQuery, Tables
from indistinct.errors import ArgumentError, check_count
from indistinct.files import meaning, read_saved, write_safetensors
from indistinct.mechanisms import Release
from indistinct.mechanisms.release import named, restored, unnamed
from indistinct.numerics.arrays import Array
from indistinct.synthesis.tables.conditions import Forbidden
from indistinct.synthesis.tables.decode import Determined
from indistinct.synthesis.tables.fitted import SyntheticTable
from indistinct.synthesis.tables.generator import Mixture
from indistinct.synthesis.tables.linked import VISITS, LinkedSynthesizer, LinkedTables, replace_columns
from indistinct.synthesis.tables.rounds import NoisyDistances, deviations, parts_of, together
from indistinct.synthesis.tables.synthesizer import TableSynthesizer

_HOLDS, _LINKED = "synthetic table", "linked synthetic tables"
_BOTH = ("users", "visits")
Part = NoisyQuery | NoisyDistances


def write(table: SyntheticTable, path: str | os.PathLike[str]) -> None:
    """Writes the generator, what it was fitted to, and how that was released."""
    write_safetensors(path, *_packed(table))


def write_linked(tables: LinkedTables, path: str | os.PathLike[str]) -> None:
    """The same of both tables, and what links them."""
    design = tables.synthesizer
    packed = {name: _packed(getattr(tables, name)) for name in _BOTH}
    description = {
        "holds": _LINKED,
        "key": design.key,
        "most": design.most,
        "shared": design.shared,
        "rules": len(design.rules),
        **{name: own for name, (own, _) in packed.items()},
    }
    numbers = {f"{name}.{each}": array for name, (_, own) in packed.items() for each, array in own.items()}
    write_safetensors(path, description, numbers)


def _packed(table: SyntheticTable) -> tuple[dict[str, Any], dict[str, Any]]:
    design, release = table.synthesizer, table.release
    query = design.query if release is None else _counted(design, release)[0]
    numbers = {"shares": table.mixture.shares, "chances": table.mixture.chances}
    description: dict[str, Any] = {
        "holds": _HOLDS,
        "query": query,
        "label": design.label,
        "order": [name for name, _ in design.declared],
        "determined": [[name, rule.by, rule.values] for name, rule in design.determined],
        "types": design.types,
        "rules": [rule.all_of for rule in design.rules],
    }
    if release is not None:
        description["releases"] = []
        description |= named(release.adjacency)
        for place, each in enumerate(table.releases):
            counts = [each.values[group].ravel() for group in each.values if group]
            numbers[f"released.{place}"] = np.concatenate([*counts, each.values.get((), np.zeros(0))])
            description["releases"].append([_told(_counted(design, each)[1]), each.private])
    return description, numbers


def _counted(design: TableSynthesizer, release: Release[Any]) -> tuple[Tables, list[Part]]:
    """What was released, whose unit may be a user: the guarantee that is read back is its own."""
    parts, own = parts_of(release.mechanism), None
    for part in parts:
        if isinstance(part, NoisyQuery) and isinstance(query := part.query, Tables):
            own = own or Tables(dict(query.axes), design.query.groups, query.unit)
            if query.axes == design.query.axes and part == query.gaussian(part.scale):
                continue
        elif isinstance(part, NoisyDistances):
            continue
        raise ArgumentError("release", "another one", "one of this table's own counts, with Gaussian noise")
    groups = [group for group in release.values if group]
    if own is None or list(deviations(release.mechanism)) != groups:
        raise ArgumentError("release", "other tables", "those that its mechanism counts")
    return own, parts


def _told(parts: list[Part]) -> list[list[Any]]:
    """Of each part what was asked, the groups of tables or a number of distances, and its noise."""
    return [
        [part.tables, part.scale]
        if isinstance(part, NoisyDistances)
        else [[list(group) for group in deviations(part)], part.scale]
        for part in parts
    ]


def _restored(query: Tables, told: Any, private: Any, values: Array) -> Release[Any]:
    """The release, of whose numbers each part says how many are its own."""
    parts: list[Part] = []
    tables: dict[tuple[str, ...], Array] = {}
    distances: list[Array] = []
    shared = sum(asked for asked, _ in told if isinstance(asked, int))
    rest, far = values[: len(values) - shared], values[len(values) - shared :]
    for asked, scale in told:
        if isinstance(asked, int):
            part: Part = NoisyDistances(asked, scale)
            own, far = far[:asked], far[asked:]
            if len(own) != asked:
                raise ArgumentError("released", values.shape, "all distances")
            distances.append(own)
        else:
            counted = Tables(dict(query.axes), [tuple(group) for group in asked], query.unit)
            part = counted.gaussian(scale)
            own, rest = rest[: counted.size], rest[counted.size :]
            if own.shape != (counted.size,):
                raise ArgumentError("released", values.shape, "all counts")
            tables |= counted.read(own)
        restored(own, part, private, part.unit, part.scale)
        parts.append(part)
    if len(rest) or len(far) or not parts:
        raise ArgumentError("released", values.shape, "the counts of its parts and no more")
    if distances:
        tables[()] = np.concatenate(distances)
    return Release(tables, together(parts), private)


def read(path: str | os.PathLike[str]) -> SyntheticTable:
    """What `write` wrote."""
    description, numbers = read_saved(path)
    with meaning(path, "a file that `save` of a synthetic table wrote"):
        return _unpacked(description, numbers)


def read_linked(path: str | os.PathLike[str]) -> LinkedTables:
    """What `write_linked` wrote."""
    description, numbers = read_saved(path)
    with meaning(path, "a file that `save` of linked synthetic tables wrote"):
        if description["holds"] != _LINKED:
            raise ArgumentError("holds", description["holds"], _LINKED)
        users, visits = (
            _unpacked(
                description[name],
                {each.partition(".")[2]: own for each, own in numbers.items() if each.startswith(f"{name}.")},
            )
            for name in _BOTH
        )
        columns, shared = dict(visits.synthesizer.declared), description["shared"]
        alone = len(visits.synthesizer.rules) - check_count("rules", description["rules"])
        design = LinkedSynthesizer(
            replace_columns(users.synthesizer, {k: v for k, v in users.synthesizer.declared if k != VISITS}),
            replace_columns(
                visits.synthesizer,
                {name: columns[name] for name in columns if name not in shared},
                visits.synthesizer.rules[:alone],
            ),
            key=description["key"],
            most=description["most"],
            shared=shared,
            rules=visits.synthesizer.rules[alone:],
        )
        for name, table, mechanism in zip(_BOTH, (users, visits), design.noisy(1.0), strict=True):
            same = all(release.mechanism.query == mechanism.query for release in table.releases)  # type: ignore[attr-defined]
            if not same or table.synthesizer != getattr(design, f"of_{name}"):
                raise ArgumentError(name, "another design", "what the linked tables were declared to be")
        return LinkedTables(design, users, visits)


def _unpacked(description: dict[str, Any], numbers: dict[str, Any]) -> SyntheticTable:
    if description["holds"] != _HOLDS:
        raise ArgumentError("holds", description["holds"], _HOLDS)
    if "release" in description:
        raise ArgumentError("release", "of an earlier version", "in `releases`: fit the table again")
    query = Tables.from_json(description["query"])
    most = max(array.size for array in numbers.values())
    if any(domain.size > most for _, domain in query.axes):  # before anything is made for each cell
        raise ArgumentError("query", "more cells", "of cells that the generator knows")
    design, releases = _design(query, description), []
    for place, (told, private) in enumerate(description.get("releases", [])):
        release = _restored(query, told, private, numbers[f"released.{place}"])
        releases.append(replace(release, adjacency=unnamed(description)))
        _counted(design, releases[-1])
    mixture = Mixture(design.sizes, numbers["shares"], numbers["chances"])
    return SyntheticTable(design, mixture, releases[-1] if releases else None, tuple(releases[:-1]))


def _design(query: Tables, description: dict[str, Any]) -> TableSynthesizer:
    rules = {name: Determined(by, dict(map(tuple, values))) for name, by, values in description["determined"]}
    declared = dict(query.axes) | rules
    return TableSynthesizer(
        {name: declared[name] for name in description["order"]},
        label=description["label"],
        types=dict(map(tuple, description["types"])),
        rules=[Forbidden(dict(map(tuple, rule))) for rule in description.get("rules", [])],
    )
