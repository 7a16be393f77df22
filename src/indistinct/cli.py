"""The command line: `indistinct explain` and `indistinct calibrate`.

Bad input ends with exit code 2 and one line that says what to change.
"""

import argparse
import json
import re
import sys
from collections.abc import Sequence
from typing import Any, NoReturn

from indistinct import Adjacency, ArgumentError, Mechanism, __version__, calibrate, parse
from indistinct.mechanisms import natural_adjacency
from indistinct.report import Subject, explain

_ADJACENCIES = {"add-remove": Adjacency.ADD_REMOVE, "replace-one": Adjacency.REPLACE_ONE}
_PLACEHOLDER = re.compile(r"\bSCALE\b")
_TARGETS = ("epsilon", "delta", "advantage", "fnr", "fpr", "renyi", "order")
_DELTA = 1e-5
_LONGEST_MESSAGE = 600


class _Parser(argparse.ArgumentParser):
    """Raises where argparse would print its usage and leave."""

    def error(self, message: str) -> NoReturn:
        raise argparse.ArgumentTypeError(f"{message} (see {self.prog} --help)")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; the exit code."""
    try:
        options = parser().parse_args(arguments)
        options.run(options)
    except (ArgumentError, argparse.ArgumentTypeError, ImportError, OSError) as error:
        message = " ".join(str(error).split())
        if len(message) > _LONGEST_MESSAGE:
            message = message[:_LONGEST_MESSAGE] + " …"
        print(f"indistinct: {message}", file=sys.stderr)
        return 2
    return 0


def parser() -> argparse.ArgumentParser:
    """All commands and their options."""
    top = _Parser(
        prog="indistinct",
        description="Describe a private mechanism once; read its differential-privacy guarantee exactly.",
        allow_abbrev=False,
    )
    top.add_argument("--version", action="version", version=f"indistinct {__version__}")
    commands = top.add_subparsers(title="commands", metavar="COMMAND", required=True)

    command = commands.add_parser(
        "explain",
        help="what can someone learn from a release?",
        description="What someone can learn from a release, in words, numbers and a picture.",
        epilog='Example: indistinct explain "14062 * gaussian(1.1).subsample(0.004267)" --delta 1e-5',
        allow_abbrev=False,
    )
    command.add_argument(
        "expression", help='the mechanism, such as "1000 * gaussian(1.1).subsample(0.01) + laplace(20)"'
    )
    command.add_argument("--delta", type=float, default=_DELTA, help="read epsilon at this delta (1e-5)")
    command.add_argument("--epsilon", type=float, help="read delta at this epsilon too")
    _add_common(command)
    command.set_defaults(run=_explain)

    command = commands.add_parser(
        "calibrate",
        help="how much noise, or how many runs, does a target allow?",
        description=(
            "The least noise that meets a target, where the expression says SCALE; else the number of"
            " times that the mechanism may be run. Give one target: --epsilon (with --delta),"
            " --advantage, --fnr with --fpr, or --renyi with --order."
        ),
        epilog='Example: indistinct calibrate "1000 * gaussian(SCALE).subsample(0.01)" --epsilon 1 --delta 1e-5',
        allow_abbrev=False,
    )
    command.add_argument("expression", help="the mechanism, with SCALE for the noise to be found")
    command.add_argument("--epsilon", type=float, help="target: epsilon at most this, at --delta")
    command.add_argument("--delta", type=float, help="the delta of the target (0: pure DP)")
    command.add_argument("--advantage", type=float, help="target: membership advantage at most this")
    command.add_argument("--fnr", type=float, help="target: every test misses at least this share, at --fpr")
    command.add_argument("--fpr", type=float, help="the false positive rate of the target")
    command.add_argument("--renyi", type=float, help="target: Rényi divergence at most this, at --order")
    command.add_argument("--order", type=float, help="the Rényi order of the target")
    _add_common(command)
    command.set_defaults(run=_calibrate)
    return top


def _add_common(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--adjacency",
        choices=sorted(_ADJACENCIES),
        help="which data sets are neighbours (default: what the sampling is analysed for)",
    )
    command.add_argument("--json", action="store_true", help="print strict JSON, infinity as a word")
    command.add_argument("--plot", metavar="FILE", help="also draw the guarantee (.png, .pdf, .svg)")


def _explain(options: argparse.Namespace) -> None:
    mechanism = parse(options.expression)
    adjacency = _adjacency(options, mechanism)
    _show(
        explain(mechanism, delta=options.delta, epsilon=options.epsilon, adjacency=adjacency), options, {}, []
    )


def _calibrate(options: argparse.Namespace) -> None:
    text = options.expression
    scales: dict[Mechanism, float] = {}

    def family(scale: float) -> Mechanism:
        mechanism = parse(_PLACEHOLDER.sub(repr(scale), text))
        scales[mechanism] = scale
        return mechanism

    target = {name: value for name in _TARGETS if (value := getattr(options, name)) is not None}
    searched = _PLACEHOLDER.search(text) is not None
    adjacency = _adjacency(options, family(1.0) if searched else parse(text))
    found = calibrate(family if searched else parse(text), **target, adjacency=adjacency)
    answer: dict[str, Any]
    if searched:
        answer = {"scale": scales[found]}
        words = f"The least noise that meets the target: scale {scales[found]!r}."
    else:
        answer = {"steps": getattr(found, "steps", 1)}
        words = f"The target allows this many runs and not one more: {answer['steps']}."
    report = explain(found, delta=target.get("delta") or _DELTA, adjacency=adjacency)
    _show(report, options, {"target": target, "found": answer}, [words, ""])


def _adjacency(options: argparse.Namespace, mechanism: Mechanism) -> Adjacency:
    return _ADJACENCIES[options.adjacency] if options.adjacency else natural_adjacency(mechanism)


def _show(
    report: Subject, options: argparse.Namespace, before: dict[str, Any], words: Sequence[str]
) -> None:
    if options.json:
        text = json.dumps(before | report.data(), indent=2, allow_nan=False, ensure_ascii=False)
    else:
        text = "\n".join([*words, str(report)])
    if options.plot:
        report.plot(options.plot)
        text += "" if options.json else f"\n\nThe picture is in {options.plot}."
    print(text)
