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
from indistinct.synthesis.tables.conditions import Forbidden
from indistinct.synthesis.tables.decode import Determined
from indistinct.synthesis.tables.generator import Mixture
from indistinct.synthesis.tables.synthesizer import SyntheticTable, TableSynthesizer

_HOLDS = "synthetic table"


def write(table: SyntheticTable, path: str | os.PathLike[str]) -> None:
    """Writes the generator, what it was fitted to, and how that was released."""
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
        numbers["released"] = np.concatenate([part.ravel() for part in release.values.values()])
        description["release"] = [release.mechanism.scale, release.private]
        description |= named(release.adjacency)
    write_safetensors(path, description, numbers)


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
        if description["holds"] != _HOLDS:
            raise ArgumentError("holds", description["holds"], _HOLDS)
        query = Tables.from_json(description["query"])
        most = max(array.size for array in numbers.values())
        if any(domain.size > most for _, domain in query.axes):  # before anything is made for each cell
            raise ArgumentError("query", "more cells", "of cells that the generator knows")
        release = None
        if "release" in description:
            scale, private = description["release"]
            noisy, values = query.gaussian(scale), numbers["released"]
            if values.shape != (query.size,):
                raise ArgumentError("released", values.shape, f"{query.size} counts")
            told = restored(values, noisy, private, noisy.unit, noisy.deviation)
            release = replace(told, values=query.read(values), adjacency=unnamed(description))
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
        rules=[Forbidden(dict(map(tuple, rule))) for rule in description.get("rules", [])],
    )
