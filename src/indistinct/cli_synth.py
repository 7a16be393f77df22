"""What `indistinct synth` does: it says what synthetic records are worth."""

import argparse
from pathlib import Path
from typing import Any

import numpy as np

from indistinct import ArgumentError
from indistinct.data import Kind, frame_from_file, kind_of
from indistinct.files import plain_cell, read_npz, shown_json
from indistinct.plans import read_plan
from indistinct.plans.kinds.synthetic import SyntheticPart
from indistinct.synthesis.evaluate import TableEvaluation, evaluate_tables
from indistinct.synthesis.images import (
    ImageEvaluation,
    SyntheticImages,
    evaluate_images,
    grid,
    inception_features,
)
from indistinct.synthesis.tables import SyntheticTable, TableSynthesizer

_TABLES = {".csv", ".parquet"}
_PICTURES = ".npz"


def evaluate(options: argparse.Namespace) -> None:
    """Judges what the options name, and prints it."""
    found = _judged_images(options) if options.images else _judged_tables(options)
    print(shown_json(found.data()) if options.json else found)


def _judged_images(options: argparse.Namespace) -> ImageEvaluation:
    for name in ("plan", "release"):
        if getattr(options, name) is not None:
            raise ArgumentError(f"--{name}", getattr(options, name), "absent with --images")
    real = _pictures(options.real)
    used = None if options.used is None else _pictures(options.used)[0]
    features = None if options.inception is None else inception_features(options.inception)
    if Path(options.synthetic).suffix == _PICTURES:
        if options.rows is not None:
            raise ArgumentError("--rows", options.rows, "absent: the images are in a file")
        made = _pictures(options.synthetic)
    else:
        many = len(real[0]) if options.rows is None else options.rows
        made = SyntheticImages.load(options.synthetic).sample(many)
    given = {name: getattr(options, name) for name in ("seeds", "epochs")}
    more = {name: value for name, value in given.items() if value is not None}
    found = evaluate_images(*made, *real, used, features=features, **more)
    if options.grid is not None:
        images = made[0] if made[0].ndim == 4 else made[0][:, None]
        grid(images / 255 if images.dtype == np.uint8 else images, made[1], options.grid)
    return found


def _pictures(path: str) -> tuple[Any, Any]:
    """Images and labels of a file."""
    images, labels = read_npz(path, ("images", "labels"))
    return images, labels


def _judged_tables(options: argparse.Namespace) -> TableEvaluation:
    for name in ("seeds", "epochs", "grid", "inception"):
        if getattr(options, name) is not None:
            raise ArgumentError(f"--{name}", getattr(options, name), "absent without --images")
    design, rows = _synthetic(options)
    real, used = (_records(design, path) for path in (options.real, options.used))
    if rows is None:
        count = len(real) if options.rows is None else options.rows
        rows = SyntheticTable.load(options.synthetic).sample(count)
    return evaluate_tables(design, rows, real, used)


def _synthetic(options: argparse.Namespace) -> tuple[TableSynthesizer, Any]:
    """What the columns are, and the rows; none where they are to be drawn from a generator."""
    if options.plan is not None:
        if options.rows is not None:
            raise ArgumentError("--rows", options.rows, "absent: the rows are in a file")
        design = _release(options.plan, options.release).design
        return design, _records(design, options.synthetic, ours=True)
    if Path(options.synthetic).suffix in _TABLES:
        raise ArgumentError("--plan", None, "given for a table: it says what its columns may hold")
    return SyntheticTable.load(options.synthetic).synthesizer, None


def _release(path: str, name: str | None) -> SyntheticPart:
    parts = [part for part in read_plan(path).parts if isinstance(part, SyntheticPart)]
    found = [part for part in parts if name in (None, part.name)]
    if len(found) != 1:
        listed = ", ".join(part.name for part in parts) or "none there"
        raise ArgumentError("--release", name, f"one of the synthetic releases of {path} ({listed})")
    return found[0]


def _records(design: TableSynthesizer, path: str | None, *, ours: bool = False) -> Any:
    """The rows of a file; in one that a plan has written, texts may be guarded against spreadsheets."""
    if path is None:
        return None
    kinds = {name: kind_of(domain) for name, domain in design.columns}
    frame = frame_from_file(path, kinds)
    if ours and Path(path).suffix != ".parquet":
        texts = [name for name, kind in kinds.items() if kind is Kind.TEXT]
        frame = frame.assign(**{name: frame[name].map(plain_cell, na_action="ignore") for name in texts})
    return frame
