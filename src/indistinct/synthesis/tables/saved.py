"""Fitted generators in a file: safetensors, numbers and a description, nothing that could run."""

import os
from typing import Any

import numpy as np

from indistinct.data import NoisyQuery, Tables, from_json
from indistinct.errors import ArgumentError
from indistinct.mechanisms import Release
from indistinct.synthesis.stored import read, write
from indistinct.synthesis.tables.decode import Determined
from indistinct.synthesis.tables.generator import Mixture
from indistinct.synthesis.tables.synthesizer import SyntheticTable, TableSynthesizer

_FORMAT = "indistinct synthetic table 1"


def save_table(table: SyntheticTable, path: str | os.PathLike[str]) -> None:
    """Writes the generator, what it was fitted to, and how that was released."""
    design, release = table.synthesizer, table.release
    query = design.query if release is None else _counted(design, release)
    numbers = {"shares": table.mixture.shares, "chances": table.mixture.chances}
    description: dict[str, Any] = {
        "format": _FORMAT,
        "query": query.to_json(),
        "label": design.label,
        "order": [name for name, _ in design.declared],
        "determined": [[name, rule.by, rule.values] for name, rule in design.determined],
        "types": design.types,
    }
    if release is not None:
        assert isinstance(release.mechanism, NoisyQuery)
        numbers["released"] = np.concatenate([part.ravel() for part in release.values.values()])
        description["release"] = [release.mechanism.scale, release.private, release.unit]
    write(path, numbers, description)


def _counted(design: TableSynthesizer, release: Release) -> Tables:
    """What was released, whose unit may be a user: the guarantee that is read back is its own."""
    noisy = release.mechanism
    if isinstance(noisy, NoisyQuery) and isinstance(query := noisy.query, Tables):
        same = (query.axes, query.groups) == (design.query.axes, design.query.groups)
        if same and noisy == query.gaussian(noisy.scale):
            return query
    raise ArgumentError("release", "another one", "one of this table's own counts, with Gaussian noise")


def load_table(path: str | os.PathLike[str]) -> SyntheticTable:
    """The generator that `save_table` wrote."""
    numbers, description = read(path, _FORMAT, "a file that save_table wrote")
    query = from_json(description["query"])
    if not isinstance(query, Tables):
        raise ArgumentError("query", query, "the tables that were counted")
    rules = {name: Determined(by, dict(map(tuple, values))) for name, by, values in description["determined"]}
    declared = dict(query.axes) | rules
    design = TableSynthesizer(
        {name: declared[name] for name in description["order"]},
        label=description["label"],
        types=dict(map(tuple, description["types"])),
    )
    release = None
    if "release" in description:
        scale, private, unit = description["release"]
        release = Release(query.read(numbers["released"]), query.gaussian(scale), private, unit)
    mixture = Mixture(design.sizes, numbers["shares"], numbers["chances"])
    return SyntheticTable(design, mixture, release)
