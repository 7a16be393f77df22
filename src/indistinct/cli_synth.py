"""The command `indistinct synth`: what synthetic records are worth."""

import argparse
import json
from pathlib import Path
from typing import Any

from indistinct import ArgumentError
from indistinct.data import frame_from_file
from indistinct.plans import read_plan
from indistinct.plans.kinds.synthetic import SyntheticPart
from indistinct.synthesis.evaluate import evaluate_tables
from indistinct.synthesis.tables import TableSynthesizer, load_table
from indistinct.synthesis.tables.decode import kind_of

_TABLES = {".csv", ".parquet"}


def add_synth(commands: Any) -> None:
    """The command and its options."""
    synth = commands.add_parser(
        "synth",
        help="what are synthetic records worth?",
        description="Synthetic records. They are made by indistinct run, or in Python.",
        allow_abbrev=False,
    )
    command = synth.add_subparsers(title="commands", metavar="COMMAND", required=True).add_parser(
        "evaluate",
        help="judge synthetic rows by real records",
        description=(
            "Train models on synthetic rows and test them on real records, compare tables of one and two"
            " columns, and look for copies. It looks at real records: what it prints is not private."
        ),
        epilog="Example: indistinct synth evaluate out/plan/people.csv real.csv --plan plan.toml",
        allow_abbrev=False,
    )
    command.add_argument("synthetic", help="synthetic rows (CSV, Parquet), or a generator that was saved")
    command.add_argument("real", help="real records that were set aside (CSV, Parquet)")
    command.add_argument("--plan", help="the plan of the synthetic rows, which declares their columns")
    command.add_argument("--release", metavar="NAME", help="its release, if several are synthetic")
    command.add_argument(
        "--used", metavar="FILE", help="the records that the rows were made from: are they copied?"
    )
    command.add_argument("--rows", type=int, help="to draw from a saved generator (as many as are real)")
    command.add_argument("--json", action="store_true", help="print strict JSON")
    command.set_defaults(run=_evaluate)


def _evaluate(options: argparse.Namespace) -> None:
    design, rows = _synthetic(options)
    real, used = (_records(design, path) for path in (options.real, options.used))
    if rows is None:
        count = len(real) if options.rows is None else options.rows
        rows = load_table(options.synthetic).sample(count)
    found = evaluate_tables(design, rows, real, used)
    print(json.dumps(found.data(), indent=2, allow_nan=False, ensure_ascii=False) if options.json else found)


def _synthetic(options: argparse.Namespace) -> tuple[TableSynthesizer, Any]:
    """What the columns are, and the rows; none where they are to be drawn from a generator."""
    if options.plan is not None:
        if options.rows is not None:
            raise ArgumentError("--rows", options.rows, "absent: the rows are in a file")
        design = _release(options.plan, options.release).design
        return design, _records(design, options.synthetic)
    if Path(options.synthetic).suffix in _TABLES:
        raise ArgumentError("--plan", None, "given for a table: it says what its columns may hold")
    return load_table(options.synthetic).synthesizer, None


def _release(path: str, name: str | None) -> SyntheticPart:
    parts = [part for part in read_plan(path).parts if isinstance(part, SyntheticPart)]
    found = [part for part in parts if name in (None, part.name)]
    if len(found) != 1:
        listed = ", ".join(part.name for part in parts) or "none there"
        raise ArgumentError("--release", name, f"one of the synthetic releases of {path} ({listed})")
    return found[0]


def _records(design: TableSynthesizer, path: str | None) -> Any:
    if path is None:
        return None
    return frame_from_file(path, {name: kind_of(domain) for name, domain in design.columns})
