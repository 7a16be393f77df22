"""The command line: `indistinct explain`, `calibrate`, `init`, `check`, `run`, `ledger`, `synth`, ...

Bad input ends with exit code 2 and one line that says what to change.
"""

import argparse
import os
import re
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NoReturn

from indistinct import ArgumentError, Budget, Mechanism, __version__, calibrate, cli_plans, parse
from indistinct.adjacency import Adjacency, check_adjacency
from indistinct.boundary import mishap, shows
from indistinct.cli_ledger_options import add_ledger
from indistinct.cli_synth_options import add_synth
from indistinct.errors import DataError, Refused
from indistinct.files import shown_json
from indistinct.mechanisms.mechanism import natural_adjacency
from indistinct.report import Subject, explain

_ADVERSARIES = ("linear", "quadratic", "cubic", "everyone")
_POLYNOMIAL = re.compile(r"polynomial\((\d{1,3})\)")
_PLACEHOLDER = re.compile(r"\bSCALE\b")
_TARGETS = {
    "epsilon": "target: epsilon at most this, at --delta",
    "delta": "the delta of that target (default: 0, pure DP)",
    "advantage": "target: membership advantage at most this",
    "fnr": "target: every test misses at least this share, at --fpr",
    "fpr": "the false positive rate of that target",
    "renyi": "target: Rényi divergence at most this, at --order",
    "order": "the Rényi order of that target",
    "rho": "target: rho of zero-concentrated DP at most this",
    "mu": "target: mu of Gaussian DP at most this",
}
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
        code: int | None = options.run(options)
        sys.stdout.flush()
    except BrokenPipeError:  # whoever read us has enough, as `head` has
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # or Python says so when it leaves
        return 0
    except Refused as error:  # by an account: nothing is wrong with what was asked
        return _complain(error, 3)
    except (ArgumentError, DataError, argparse.ArgumentTypeError, ImportError, OSError) as error:
        return _complain(error, 2)
    except ArithmeticError as error:
        return _complain(error, 1)
    except KeyboardInterrupt:
        return _complain("interrupted", 130)
    except Exception as error:  # a mistake of ours: its words may be about a record
        if shows():
            raise
        return _complain(mishap(error), 1)
    return code or 0


def _complain(error: Exception | str, code: int) -> int:
    message = " ".join(str(error).split())
    if len(message) > _LONGEST_MESSAGE:
        message = message[:_LONGEST_MESSAGE] + " …"
    print(f"indistinct: {message}", file=sys.stderr)
    return code


def parser() -> argparse.ArgumentParser:
    """All commands and their options."""
    top = _Parser(
        prog="indistinct",
        description="Describe a private mechanism once; read its privacy guarantee exactly.",
        allow_abbrev=False,
    )
    top.add_argument("--version", action="version", version=f"indistinct {__version__}")
    commands = top.add_subparsers(title="commands", metavar="COMMAND", required=True)

    command = _add_command(
        commands,
        _explain,
        "what can someone learn from a release?",
        "What someone can learn from a release, in words, numbers and a picture.",
        'explain "1000 * gaussian(1.1).subsample(0.01)" --delta 1e-5',
    )
    command.add_argument(
        "expression", help='the mechanism, or what is claimed, such as "gaussian(20) + 3 * pure(0.2)"'
    )
    command.add_argument("--delta", type=float, default=_DELTA, help="read epsilon at this delta (1e-5)")
    command.add_argument("--epsilon", type=float, help="read delta at this epsilon too")
    _add_adversary(command)
    command.add_argument(
        "--non-adaptive",
        action="store_true",
        help="with --against: all releases were chosen before the first was seen",
    )
    _add_common(command)

    command = _add_command(
        commands,
        _calibrate,
        "how much noise, or how many runs, does a target allow?",
        "The least noise that meets a target, where the expression says SCALE; else how often the"
        " mechanism may be run. Give one target: --epsilon (with --delta), --advantage, --fnr with"
        " --fpr, --renyi with --order, --rho or --mu.",
        'calibrate "250 * laplace(SCALE)" --epsilon 1 --delta 1e-5',
    )
    command.add_argument("expression", help="the mechanism, with SCALE for the noise to be found")
    for name, words in _TARGETS.items():
        command.add_argument(f"--{name}", type=float, help=words)
    _add_adversary(command)
    _add_common(command)

    _add_plans(commands)
    add_ledger(commands, _add_command)
    add_synth(commands, _add_command)

    command = _add_command(
        commands,
        _reproduce,
        "compute the figures, tables and numbers of papers again",
        "Draw the figures and tables of papers again from the library's own numbers, write them with"
        " their data to a folder, and compare what the papers print with what comes out.",
        "reproduce 002-fig2 004-fig5 --out pictures",
    )
    command.add_argument(
        "names", nargs="*", default=["list"], metavar="NAME", help="list, all, or names such as 004-fig5"
    )
    command.add_argument("--out", metavar="DIR", default="out", help="the folder to write to (out)")
    return top


def _add_command(
    commands: Any, run: Callable[[argparse.Namespace], int | None], words: str, description: str, example: str
) -> argparse.ArgumentParser:
    """A command that is called as the function that runs it."""
    command: argparse.ArgumentParser = commands.add_parser(
        run.__name__.strip("_"),
        help=words,
        description=description,
        epilog=f"Example: indistinct {example}",
        allow_abbrev=False,
    )
    command.set_defaults(run=run)
    return command


def _add_adversary(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--against",
        type=_adversary,
        metavar="CLASS",
        help=f"an adversary of limited capacity: {', '.join(_ADVERSARIES)} or polynomial(K)",
    )


def _adversary(word: str) -> Any:
    from indistinct.adversaries import Linear, Polynomial, Unrestricted

    if match := _POLYNOMIAL.fullmatch(word):
        try:
            return Polynomial(int(match[1]))
        except ArgumentError as error:  # argparse would replace the message
            raise argparse.ArgumentTypeError(str(error)) from None
    if word not in _ADVERSARIES:
        raise argparse.ArgumentTypeError(f"must be {', '.join(_ADVERSARIES)} or polynomial(K), got {word!r}")
    classes = (Linear(), Polynomial(2), Polynomial(3), Unrestricted())
    return dict(zip(_ADVERSARIES, classes, strict=True))[word]


def _neighbours(word: str) -> Adjacency:
    try:
        return check_adjacency(word)
    except ArgumentError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def _page(name: str) -> str:
    if Path(name).suffix.lower() not in (".html", ".htm"):
        told = f"must be a file that ends in .html, got {name!r}"
        if name.lower().endswith(".pdf"):
            told += "; for a PDF print that page in a browser, or draw the guarantee with --plot"
        raise argparse.ArgumentTypeError(told)
    return name


def _add_common(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--adjacency",
        type=_neighbours,
        metavar="{add-remove,replace-one}",
        help="which data sets are neighbours (default: what the sampling is analysed for)",
    )
    command.add_argument("--json", action="store_true", help="print strict JSON, infinity as a word")
    command.add_argument("--plot", metavar="FILE", help="also draw the guarantee (.png, .pdf, .svg)")
    command.add_argument(
        "--html", type=_page, metavar="FILE", help="also write the report as one HTML page (.html)"
    )


def _add_plans(commands: Any) -> None:
    """The commands about plans."""
    command = _add_command(
        commands,
        cli_plans.init,
        "a plan to fill in, from the header of a table",
        "Write a commented plan for a table, from the names of its columns alone: no value is read.",
        "init people.csv",
    )
    command.add_argument("data", help="the table, CSV or Parquet")
    command.add_argument("plan", nargs="?", help="the plan to write (beside the table, with its name)")
    command = _add_command(
        commands,
        cli_plans.check,
        "what a plan's results will be worth",
        "Check a plan and say whose privacy it protects, the noise and the expected accuracy of every"
        " release, with warnings. No record is read, nothing is charged.",
        "check plan.toml",
    )
    command.add_argument("plan", help="the plan, a TOML file")
    _add_who(command)
    command = _add_command(
        commands,
        cli_plans.run,
        "private answers from a table, as a plan file asks",
        "Check a plan, read its table, charge its budget, and write every release once, with the"
        " guarantee and a report. A run that was interrupted is finished by the same command.",
        "run plan.toml",
    )
    command.add_argument("plan", help="the plan, a TOML file")
    command.add_argument("--out", metavar="DIR", help="the folder to write to (out/NAME beside the plan)")
    _add_who(command)


def _add_who(command: argparse.ArgumentParser) -> None:
    command.add_argument("--who", help="who asks, for the ledger (default: who runs this)")


def _explain(options: argparse.Namespace) -> None:
    report = explain(
        parse(options.expression),
        delta=options.delta,
        epsilon=options.epsilon,
        adjacency=options.adjacency,
        against=options.against,
        adaptive=not options.non_adaptive,
    )
    _show(report, options)


def _calibrate(options: argparse.Namespace) -> None:
    target = {name: value for name in _TARGETS if (value := getattr(options, name)) is not None}

    def family(scale: float) -> Mechanism:
        return parse(_PLACEHOLDER.sub(repr(scale), options.expression))

    first, budget = family(1.0), Budget(**target)
    adjacency = options.adjacency or natural_adjacency(first)
    whom: dict[str, Any] = {"adjacency": adjacency, "against": options.against}
    if _PLACEHOLDER.search(options.expression):
        found, kind = calibrate(family, budget, **whom), "scale"
        words = f"The least noise that meets the target: a scale of {found.parameter!r}."
    else:
        found, kind = calibrate(first, budget, **whom), "steps"
        words = f"The target allows this many runs, and not one more: {found.parameter}."
    report = explain(found.mechanism, delta=budget.delta or _DELTA, **whom)
    _show(report, options, words, {"target": target, "found": {kind: found.parameter}})


# What only one command needs is imported by it: `explain` answers in half the time.


def _reproduce(options: argparse.Namespace) -> None:
    from indistinct.reproduce import claims, listing, reproduce

    if options.names == ["list"]:
        print(listing())
        return
    print(claims(reproduce(options.names, Path(options.out), _tell)))


def _tell(line: str) -> None:
    """Progress is not the answer: it goes where it can be thrown away."""
    print(line, file=sys.stderr, flush=True)


def _show(
    report: Subject, options: argparse.Namespace, words: str = "", before: dict[str, Any] | None = None
) -> None:
    if options.json:
        text = shown_json((before or {}) | report.data())
    else:
        text = f"{words}\n\n{report}" if words else str(report)
    for path, write, words in (
        (options.plot, report.plot, "The picture is in"),
        (options.html, report.html, "The page is in"),
    ):
        if path:
            write(path)
            text += "" if options.json else f"\n\n{words} {path}."
    print(text)
