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
from indistinct.synthesis.tables.conditions import Forbidden
from indistinct.synthesis.tables.decode import Determined
from indistinct.synthesis.tables.fitted import SyntheticTable
from indistinct.synthesis.tables.generator import Mixture
from indistinct.synthesis.tables.linked import VISITS, LinkedSynthesizer, LinkedTables, replace_columns
from indistinct.synthesis.tables.synthesizer import TableSynthesizer

_HOLDS, _LINKED = "synthetic table", "linked synthetic tables"
_BOTH, _NUMBERS = ("users", "visits"), ("shares", "chances", "released", "earlier")


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
    query = design.query if release is None else _counted(design, release)
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
        assert isinstance(release.mechanism, NoisyQuery)
        numbers["released"] = _flat(release)
        description["release"] = [release.mechanism.scale, release.private]
        description |= named(release.adjacency)
    if table.earlier:
        for each in table.earlier:
            _counted(design, each)
        numbers["earlier"] = np.stack([_flat(each) for each in table.earlier])
        description["earlier"] = [[each.mechanism.scale, each.private] for each in table.earlier]  # type: ignore[attr-defined]
    return description, numbers


def _counted(design: TableSynthesizer, release: Release[Any]) -> Tables:
    """What was released, whose unit may be a user: the guarantee that is read back is its own."""
    noisy = release.mechanism
    if isinstance(noisy, NoisyQuery) and isinstance(query := noisy.query, Tables):
        same = (query.axes, query.groups) == (design.query.axes, design.query.groups)
        if same and noisy == query.gaussian(noisy.scale):
            return query
    raise ArgumentError("release", "another one", "one of this table's own counts, with Gaussian noise")


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
                {each: own for each in _NUMBERS if (own := numbers.get(f"{name}.{each}")) is not None},
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
    query = Tables.from_json(description["query"])
    most = max(array.size for array in numbers.values())
    if any(domain.size > most for _, domain in query.axes):  # before anything is made for each cell
        raise ArgumentError("query", "more cells", "of cells that the generator knows")
    design, release = _design(query, description), None
    earlier: tuple[Release[Any], ...] = ()
    if "release" in description:
        release = _restored(query, design, description, description["release"], numbers["released"])
        kept = zip(description.get("earlier", []), numbers.get("earlier", []), strict=True)
        earlier = tuple(_restored(query, design, description, said, values) for said, values in kept)
    mixture = Mixture(design.sizes, numbers["shares"], numbers["chances"])
    return SyntheticTable(design, mixture, release, earlier)


def _flat(release: Release[Any]) -> Any:
    return np.concatenate([part.ravel() for part in release.values.values()])


def _restored(
    query: Tables, design: TableSynthesizer, description: dict[str, Any], said: Any, values: Any
) -> Release[Any]:
    scale, private = said
    if values.shape != (query.size,):
        raise ArgumentError("released", values.shape, f"{query.size} counts")
    noisy = query.gaussian(scale)
    told = restored(values, noisy, private, noisy.unit, noisy.deviation)
    release = replace(told, values=query.read(values), adjacency=unnamed(description))
    _counted(design, release)
    return release


def _design(query: Tables, description: dict[str, Any]) -> TableSynthesizer:
    rules = {name: Determined(by, dict(map(tuple, values))) for name, by, values in description["determined"]}
    declared = dict(query.axes) | rules
    return TableSynthesizer(
        {name: declared[name] for name in description["order"]},
        label=description["label"],
        types=dict(map(tuple, description["types"])),
        rules=[Forbidden(dict(map(tuple, rule))) for rule in description.get("rules", [])],
    )
