"""The options of `indistinct ledger` and its commands."""

import argparse
from collections.abc import Callable
from typing import Any

from indistinct import cli_ledger as do

Add = Callable[..., argparse.ArgumentParser]

_PROMISE = {
    "epsilon": "the promise: epsilon at most this, at --delta",
    "delta": "the delta of that promise (default: 0, pure DP)",
    "rho": "the promise: rho of zero-concentrated DP at most this",
    "mu": "the promise: mu of Gaussian DP at most this",
    "renyi": "the promise: Rényi divergence at most this, at --order",
    "order": "the Rényi order of that promise",
}


def add_ledger(commands: Any, add: Add) -> None:
    """The commands and their options."""
    top = commands.add_parser(
        "ledger",
        help="a privacy budget that cannot be overspent",
        description="Accounts of data sets: what may be asked of them, what was, by whom, and what is left.",
        allow_abbrev=False,
    )
    listed = top.add_subparsers(title="commands", metavar="COMMAND", required=True)

    def command(run: Any, words: str, description: str, example: str, account: str = "") -> Any:
        made = add(listed, run, words, description, f"ledger {example}")
        made.add_argument("ledger", help="a file of SQLite, or postgresql://USER@HOST/DATABASE")
        if account:
            made.add_argument("account", help="the account", nargs=None if account == "one" else "?")
        return made

    _add_owners(command)
    made = command(
        do.show,
        "what is spent, and what is left",
        "All accounts of a ledger, or one of them with its last spends and attempts.",
        "show budget.db census",
        "maybe",
    )
    _json(made)
    made = command(
        do.spend,
        "charge an account for noise that is drawn elsewhere",
        "Charge an account, if its cap allows it. With a key it is charged once, however often it is asked."
        " A refusal is journalled, charges nothing, and ends with exit code 3.",
        'spend budget.db census "gaussian(20)" --key table-7',
        "one",
    )
    made.add_argument("expression", help='the mechanism, or what is claimed, such as "laplace(10)"')
    made.add_argument("--key", help="what makes this spend this one (default: a new one each time)")
    made.add_argument("--plan", default="", metavar="DIGEST", help="of the plan that it belongs to")
    made.add_argument("--note", default="", help="words for the journal")
    made.add_argument(
        "--adjacency", metavar="{add-remove,replace-one}", help="must be that of the account, if it is said"
    )
    _json(made, who=True)
    _add_reading(command)
    _add_service(command)


def _add_owners(command: Any) -> None:
    """What those do whom the data belong to."""
    made = command(
        do.open_,
        "open an account for a data set",
        "Open an account, in a ledger that is made if it is not there. Give one promise: --epsilon (with"
        " --delta), --rho, --mu, --renyi with --order; or --odometer.",
        "open budget.db census --epsilon 3 --delta 1e-6 --data people.csv",
        "one",
    )
    _promise(made)
    made.add_argument("--odometer", action="store_true", help="no cap: only add up what is spent")
    made.add_argument(
        "--notion",
        choices=["pure", "zcdp", "renyi", "gdp"],
        help="what is added up (chosen by the first mechanism)",
    )
    made.add_argument(
        "--adjacency",
        default="add-remove",
        metavar="{add-remove,replace-one}",
        help="which data are neighbours",
    )
    made.add_argument("--unit", default="one record", help="whom the promise is about, in words")
    made.add_argument("--approval", action="store_true", help="plans must be approved before they run")
    made.add_argument(
        "--refusals", type=int, default=5, help="refusals that may tell something, until it is locked (5)"
    )
    made.add_argument(
        "--renews", choices=["month", "quarter", "year"], help="the promise is made anew for each"
    )
    made.add_argument(
        "--data",
        nargs="+",
        default=[],
        metavar="FILE",
        help="files of the data set, known again by their content",
    )
    _json(made, who=True)
    made = command(
        do.approve,
        "let a plan run",
        "Let a plan run on an account that asks for approval: the plan as a file, or its digest.",
        "approve budget.db census plan.toml",
        "one",
    )
    made.add_argument("plan", help="the plan, a TOML file, or its digest")
    _json(made, who=True)
    made = command(
        do.raise_,
        "give an account a larger budget",
        "Raise the promise, for all that was ever released of the data.",
        "raise budget.db census --epsilon 4 --delta 1e-6",
        "one",
    )
    _promise(made)
    _json(made, who=True)
    for run, words in ((do.unlock, "open a locked account again"), (do.close, "let nothing more be asked")):
        name = run.__name__
        made = command(
            run, words, f"{words.capitalize()}; it is journalled.", f"{name} budget.db census", "one"
        )
        _json(made, who=True)


def _add_reading(command: Any) -> None:
    made = command(
        do.report,
        "a page: the budget over time, by person, and what all of it tells",
        "Write an HTML page about an account: what is left, who spent it when, what was refused, and the"
        " exact guarantee of all that was released, in every reading.",
        "report budget.db census --out census.html",
        "maybe",
    )
    made.add_argument("--out", default="ledger.html", metavar="FILE", help="the page to write (ledger.html)")
    made.add_argument("--delta", type=float, help="read epsilon at this delta (that of the promise, or 1e-6)")
    made.add_argument("--json", action="store_true", help="print the guarantee as strict JSON too")
    made = command(
        do.verify,
        "find what was changed, cut off or reordered",
        "Compute all chains, sums and states again, and compare the receipts of released folders. Exit"
        " code 1 if anything is wrong.",
        "verify budget.db --receipts out/plan",
    )
    made.add_argument(
        "--receipts", nargs="+", default=[], metavar="DIR", help="folders of releases to compare"
    )
    _json(made)
    made = command(
        do.export,
        "all journals as JSON, without keys",
        "Write all accounts and journals as JSON, without keys and tokens: to be archived, or merged.",
        "export budget.db --out budget.json",
    )
    made.add_argument("--out", metavar="FILE", help="the file to write (standard output)")
    made = command(
        do.merge,
        "take in what another ledger has",
        "Take in the accounts and spends of another ledger, or of an export: what both have counts once.",
        "merge budget.db laptop.json",
    )
    made.add_argument("other", help="a ledger, or a JSON file that export wrote")
    _json(made, who=True)


def _add_service(command: Any) -> None:
    made = command(
        do.token,
        "hand out, list and revoke tokens of the service",
        "Without a name, all tokens; with one, a new token for it, which is shown once.",
        "token budget.db ana --role analyst --days 90",
    )
    made.add_argument("name", nargs="?", help="who it is for")
    made.add_argument("--role", choices=["analyst", "owner", "auditor"], help="what it lets its holder do")
    made.add_argument("--days", type=float, default=90.0, help="how long it is valid (90)")
    made.add_argument("--revoke", action="store_true", help="end all tokens of this name instead")
    _json(made, who=True)
    made = command(
        do.serve,
        "the ledger over HTTP, for a team",
        "Serve a ledger over HTTP, to this machine alone unless told otherwise. Who may do what is said by"
        " tokens. For others than this machine put a proxy that speaks TLS before it.",
        "serve budget.db --port 8716",
    )
    made.add_argument("--host", default="127.0.0.1", help="the address to listen at (127.0.0.1)")
    made.add_argument("--port", type=int, default=8716, help="the port to listen at (8716)")
    made.add_argument("--rate", type=float, default=20.0, help="requests a second for each token (20)")


def _promise(made: argparse.ArgumentParser) -> None:
    for name, words in _PROMISE.items():
        made.add_argument(f"--{name}", type=float, help=words)
    made.add_argument("--confirm", action="store_true", help="this promises next to nothing, and is meant")


def _json(made: argparse.ArgumentParser, who: bool = False) -> None:
    made.add_argument("--json", action="store_true", help="print strict JSON")
    if who:
        made.add_argument("--who", help="who does it, for the journal (you, at this machine)")
