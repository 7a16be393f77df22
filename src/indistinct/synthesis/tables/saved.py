"""Fitted generators in a file: safetensors, numbers and a description, nothing that could run."""

import os
from dataclasses import replace
from typing import Any

import numpy as np

from indistinct.data import NoisyQuery, Tables
from indistinct.errors import ArgumentError
from indistinct.files import meaning, read_saved, write_safetensors
from indistinct.mechanisms import Release
from indistinct.mechanisms.release import named, restored, unnamed
from indistinct.numerics.arrays import Array
from indistinct.synthesis.tables.decode import Determined
from indistinct.synthesis.tables.generator import Mixture
from indistinct.synthesis.tables.rounds import NoisyDistances, deviations, parts_of, together
from indistinct.synthesis.tables.synthesizer import SyntheticTable, TableSynthesizer

_HOLDS = "synthetic table"
Part = NoisyQuery | NoisyDistances


def write(table: SyntheticTable, path: str | os.PathLike[str]) -> None:
    """Writes the generator, what it was fitted to, and how that was released."""
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
    }
    if release is not None:
        tables = [release.values[group].ravel() for group in release.values if group]
        numbers["released"] = np.concatenate([*tables, release.values.get((), np.zeros(0))])
        description["release"] = [_told(_counted(design, release)[1]), release.private]
        description |= named(release.adjacency)
    write_safetensors(path, description, numbers)


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
        if description["holds"] != _HOLDS:
            raise ArgumentError("holds", description["holds"], _HOLDS)
        query = Tables.from_json(description["query"])
        most = max(array.size for array in numbers.values())
        if any(domain.size > most for _, domain in query.axes):  # before anything is made for each cell
            raise ArgumentError("query", "more cells", "of cells that the generator knows")
        release = None
        if "release" in description:
            told, private = description["release"]
            release = replace(
                _restored(query, told, private, numbers["released"]), adjacency=unnamed(description)
            )
        design = _design(query, description)
        if release is not None:
            _counted(design, release)
        return SyntheticTable(design, Mixture(design.sizes, numbers["shares"], numbers["chances"]), release)


def _design(query: Tables, description: dict[str, Any]) -> TableSynthesizer:
    rules = {name: Determined(by, dict(map(tuple, values))) for name, by, values in description["determined"]}
    declared = dict(query.axes) | rules
    return TableSynthesizer(
        {name: declared[name] for name in description["order"]},
        label=description["label"],
        types=dict(map(tuple, description["types"])),
    )
