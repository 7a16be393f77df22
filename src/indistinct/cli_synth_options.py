"""The options of `indistinct synth` and its commands."""

import argparse
from collections.abc import Callable
from typing import Any

Add = Callable[..., argparse.ArgumentParser]


def add_synth(commands: Any, add: Add) -> None:
    """The commands and their options."""
    synth = commands.add_parser(
        "synth",
        help="draw synthetic records; what are they worth?",
        description="Synthetic records. Generators of them are made by indistinct run, or in Python.",
        allow_abbrev=False,
    )
    listed = synth.add_subparsers(title="commands", metavar="COMMAND", required=True)
    _add_sample(listed, add)
    command = add(
        listed,
        _evaluate,
        "judge synthetic rows by real records",
        "Train models on synthetic rows and test them on real records, compare tables of one and two"
        " columns, and look for copies. It looks at real records: what it prints is not private.",
        "synth evaluate out/plan/people.csv real.csv --plan plan.toml; or"
        " indistinct synth evaluate digits.safetensors real.npz --images --grid digits.png",
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
    pictures = command.add_argument_group("images")
    pictures.add_argument(
        "--images",
        action="store_true",
        help="files are .npz with images and labels; the synthetic one may be a saved generator",
    )
    pictures.add_argument("--seeds", type=int, help="networks to train, for a mean and a deviation (3)")
    pictures.add_argument("--epochs", type=int, help="of each network (20)")
    pictures.add_argument("--grid", metavar="PNG", help="write some synthetic images of each class")
    pictures.add_argument(
        "--inception", metavar="FILE", help="an Inception network (TorchScript), for an FID"
    )


def _add_sample(listed: Any, add: Add) -> None:
    command = add(
        listed,
        _sample,
        "draw rows from a generator that was saved",
        "Draw rows from a generator of tables that was saved, which reads no records and spends nothing.",
        "synth sample people.safetensors --rows 1000 --given age=30..40 --given sex=female --out rows.csv",
    )
    command.add_argument("generator", help="a file that SyntheticTable.save wrote")
    command.add_argument("--rows", type=int, default=1000, help="how many (1000)")
    command.add_argument(
        "--given",
        action="append",
        default=[],
        metavar="COLUMN=VALUE",
        help="only rows with this value, a range such as 30..40, 30.. or ..40, or none at all (COLUMN=):"
        " drawn as the model has them, however rare; said twice of a column, with either",
    )
    command.add_argument("--seed", type=int, default=0, help="another one draws other rows (0)")
    command.add_argument("--out", metavar="FILE", required=True, help="the CSV or Parquet file to write")


# Imported when it is asked for: it takes a while.


def _evaluate(options: argparse.Namespace) -> None:
    from indistinct.cli_synth import evaluate

    evaluate(options)


def _sample(options: argparse.Namespace) -> None:
    from indistinct.cli_synth import sample

    sample(options)
