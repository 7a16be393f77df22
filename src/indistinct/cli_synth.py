"""What `indistinct synth` does: it draws synthetic records, and says what they are worth."""

import argparse
from pathlib import Path
from typing import Any

import numpy as np

from indistinct import ArgumentError
from indistinct.data import Categories, Kind, frame_from_file, inner, kind_of
from indistinct.files import plain_cell, read_npz, shown_json, write_rows
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
from indistinct.synthesis.tables import Determined, SyntheticTable, TableSynthesizer

_TABLES = {".csv", ".parquet"}
_PICTURES = ".npz"


def sample(options: argparse.Namespace) -> None:
    """Draws rows from a saved generator into a file."""
    if Path(options.out).suffix not in _TABLES:
        raise ArgumentError("--out", options.out, "a file named .csv or .parquet")
    fitted = SyntheticTable.load(options.generator)
    design = fitted.synthesizer
    rows = fitted.sample(options.rows, seed=options.seed, given=_given(design, options.given))
    whole = [name for name, domain in design.columns if kind_of(domain) is Kind.INTEGER]
    rows = rows.astype({name: "Int64" for name in whole if rows[name].dtype.kind == "f"})
    if Path(options.out).suffix == ".parquet":
        rows.to_parquet(options.out, index=False)
    else:
        cells = rows.astype(object).where(rows.notna(), "")
        write_rows(options.out, [list(rows.columns), *cells.itertuples(index=False, name=None)])
    print(f"{len(rows)} rows in {options.out}.")


def _given(design: TableSynthesizer, said: list[str]) -> dict[str, list[Any]]:
    """What columns shall be, from words: the declaration says what kind of word it is."""
    found: dict[str, list[Any]] = {}
    for words in said:
        name, equals, value = words.partition("=")
        if not equals:
            raise ArgumentError("--given", words, "a column, = and a value or a range")
        found.setdefault(name, []).append(_condition(design, name, value))
    return found


def _condition(design: TableSynthesizer, name: str, word: str) -> Any:
    declared = dict(design.declared).get(name)
    if declared is None or isinstance(declared, Determined):
        named = {} if declared is None else {str(value): value for _, value in declared.values}
        return named.get(word, word)
    own = inner(declared)
    if isinstance(own, Categories):
        named = {str(value): value for value in own.values}
        return named[word] if word in named else None if word == "" else word
    if word == "":
        return None
    low, dots, high = word.partition("..")
    ends = [_number(name, end, own.of) if end else None for end in ((low, high) if dots else (low,))]
    return tuple(ends) if dots else ends[0]


def _number(name: str, word: str, times: Any) -> float:
    if times is not None:
        return float(times.number(word))
    try:
        return float(word)
    except ValueError:
        raise ArgumentError(f"--given {name}", word, "a number, or a range such as 30..40") from None


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
