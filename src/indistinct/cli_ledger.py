"""The commands about budgets that last: `indistinct ledger open`, `show`, `spend`, `approve`, `report` ...

What only these commands need is imported by them.
"""

import argparse
import json
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from indistinct.errors import ArgumentError

if TYPE_CHECKING:
    from indistinct.ledger import Account, Ledger

Add = Callable[..., argparse.ArgumentParser]

_PROMISE = {
    "epsilon": "the promise: epsilon at most this, at --delta",
    "delta": "the delta of that promise (default: 0, pure DP)",
    "rho": "the promise: rho of zero-concentrated DP at most this",
    "mu": "the promise: mu of Gaussian DP at most this",
    "renyi": "the promise: Rényi divergence at most this, at --order",
    "order": "the Rényi order of that promise",
}
_RECENT = 10


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
            made.add_argument("account", help="the account", **({} if account == "one" else {"nargs": "?"}))
        return made

    _add_owners(command)
    made = command(
        _show,
        "what is spent, and what is left",
        "All accounts of a ledger, or one of them with its last spends and attempts.",
        "show budget.db census",
        "maybe",
    )
    _json(made)
    made = command(
        _spend,
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
        _open,
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
        _approve,
        "let a plan run",
        "Let a plan run on an account that asks for approval: the plan as a file, or its digest.",
        "approve budget.db census plan.toml",
        "one",
    )
    made.add_argument("plan", help="the plan, a TOML file, or its digest")
    _json(made, who=True)
    made = command(
        _raise,
        "give an account a larger budget",
        "Raise the promise, for all that was ever released of the data.",
        "raise budget.db census --epsilon 4 --delta 1e-6",
        "one",
    )
    _promise(made)
    _json(made, who=True)
    for run, words in ((_unlock, "open a locked account again"), (_close, "let nothing more be asked")):
        name = run.__name__.lstrip("_")
        made = command(
            run, words, f"{words.capitalize()}; it is journalled.", f"{name} budget.db census", "one"
        )
        _json(made, who=True)


def _add_reading(command: Any) -> None:
    made = command(
        _report,
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
        _verify,
        "find what was changed, cut off or reordered",
        "Compute all chains, sums and states again, and compare the receipts of released folders. Exit"
        " code 1 if anything is wrong.",
        "verify budget.db --receipts out/plan",
    )
    made.add_argument("--receipts", nargs="+", default=[], metavar="DIR", help="folders of releases")
    _json(made)
    made = command(
        _export,
        "everything but secrets, as JSON",
        "Write all accounts and journals as JSON, without keys and tokens: to be archived, or merged.",
        "export budget.db --out budget.json",
    )
    made.add_argument("--out", metavar="FILE", help="the file to write (standard output)")
    made = command(
        _merge,
        "take in what another ledger has",
        "Take in the accounts and spends of another ledger, or of an export: what both have counts once.",
        "merge budget.db laptop.json",
    )
    made.add_argument("other", help="a ledger, or a JSON file that export wrote")
    _json(made, who=True)


def _add_service(command: Any) -> None:
    made = command(
        _token,
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
        _serve,
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


# -- owners ---------------------------------------------------------------------------------------


def _open(options: argparse.Namespace) -> None:
    budget = _budget(options)
    if (budget is None) != options.odometer:
        raise ArgumentError(
            "promise", budget, "given by --epsilon, --rho, --mu or --renyi, or else --odometer"
        )
    terms = ("notion", "adjacency", "unit", "approval", "refusals", "renews", "confirm")
    with _opened(options, create=True) as ledger:
        account = ledger.open_account(
            options.account, budget, **{name: getattr(options, name) for name in terms}
        )
        if options.data:
            account.add_files(options.data)
        _tell_state(account, options)


def _approve(options: argparse.Namespace) -> None:
    with _opened(options) as ledger:
        account = ledger.account(options.account)
        account.approve(_plan_digest(options.plan))
        _tell_state(account, options)


def _raise(options: argparse.Namespace) -> None:
    budget = _budget(options)
    if budget is None:
        raise ArgumentError("promise", None, "given by --epsilon, --rho, --mu or --renyi")
    with _opened(options) as ledger:
        account = ledger.account(options.account)
        account.raise_cap(budget, confirm=options.confirm)
        _tell_state(account, options)


def _unlock(options: argparse.Namespace) -> None:
    with _opened(options) as ledger:
        account = ledger.account(options.account)
        account.unlock()
        _tell_state(account, options)


def _close(options: argparse.Namespace) -> None:
    with _opened(options) as ledger:
        account = ledger.account(options.account)
        account.close()
        _tell_state(account, options)


# -- spending and looking -------------------------------------------------------------------------


def _show(options: argparse.Namespace) -> None:
    from indistinct.report.ledger_text import account_text, accounts_text
    from indistinct.report.ledger_data import account_data, spend_data

    with _opened(options) as ledger:
        if options.account is None:
            states = ledger.states()
            data: Any = {"accounts": [account_data(state) for state in states]}
            text = accounts_text(states)
        else:
            account = ledger.account(options.account)
            spends, entries = account.spends(_RECENT), account.entries(_RECENT)
            data = account_data(account.state())
            data |= {"spends": [spend_data(one) for one in spends]}
            data |= {"entries_recent": [one.to_json() for one in entries]}
            text = account_text(account.state(), spends, entries)
    print(_strict(data) if options.json else text)


def _spend(options: argparse.Namespace) -> None:
    from indistinct import parse
    from indistinct.report.ledger_data import account_data, spend_data

    mechanism = parse(options.expression)
    with _opened(options) as ledger:
        account = ledger.account(options.account)
        told = {
            "key": options.key,
            "plan": options.plan,
            "note": options.note,
            "adjacency": options.adjacency,
        }
        spend = account.spend(mechanism, **told)
        found = account.find(spend.key)
        assert found is not None
        if options.json:
            print(_strict({"spend": spend_data(found), "account": account_data(account.state())}))
        else:
            print(f"Charged: {mechanism}, under the key {spend.key}.\n{account}")


def _report(options: argparse.Namespace) -> None:
    from indistinct.report.ledger_page import ledger_page, ledger_subject

    if Path(options.out).suffix.lower() not in (".html", ".htm"):
        raise ArgumentError("--out", options.out, "a file that ends in .html")
    with _opened(options) as ledger:
        account = ledger.account(_only(ledger) if options.account is None else options.account)
        subject = ledger_subject(account, options.delta)
        Path(options.out).write_text(ledger_page(account, subject), encoding="utf-8")
        if options.json:
            print(_strict({"guarantee": None if subject is None else subject.data()}))
        else:
            print(f"{account}\nThe page is in {options.out}.")


def _verify(options: argparse.Namespace) -> int:
    with _opened(options) as ledger:
        receipts = _receipts(options.receipts)
        mistakes = ledger.verify(receipts)
        count = sum(state.number for state in ledger.states())
    if options.json:
        print(_strict({"valid": not mistakes, "entries": count, "mistakes": mistakes}))
    else:
        fine = f"{count:,} entries, and all is as it was written."
        print("\n".join(_plain(mistake) for mistake in mistakes) or fine)
    return 1 if mistakes else 0


def _export(options: argparse.Namespace) -> None:
    from indistinct.files import whole

    with _opened(options) as ledger:
        text = _strict(ledger.export())
    if options.out is None:
        print(text)
        return
    with whole(options.out, private=True) as file:
        file.write(text.encode())
    print(f"The ledger is in {options.out}.")


def _merge(options: argparse.Namespace) -> None:
    from indistinct.files import read_json
    from indistinct.ledger import Ledger

    with _opened(options) as ledger:
        if options.other.lower().endswith(".json"):
            told = ledger.merge(read_json(options.other))
        else:
            with Ledger.open(options.other, create=False) as other:
                told = ledger.merge(other)
    if options.json:
        print(_strict({"merged": told}))
    else:
        print("\n".join(map(_plain, told)) or "There was nothing new.")


# -- the service ----------------------------------------------------------------------------------


def _token(options: argparse.Namespace) -> None:
    from indistinct.report.ledger_text import aligned
    from indistinct.web.tokens import issue, listing, revoke

    with _opened(options) as ledger:
        if options.name is None:
            found = listing(ledger)
            rows = [list(one.values()) for one in found]
            told = (
                aligned(["name", "role", "issued", "expires", "status"], rows) if rows else "There are none."
            )
            print(_strict({"tokens": found}) if options.json else told)
        elif options.revoke:
            count = revoke(ledger, options.name)
            print(
                _strict({"revoked": count}) if options.json else f"Revoked: {count} tokens of {options.name}."
            )
        else:
            if options.role is None:
                raise ArgumentError("--role", None, "analyst, owner or auditor")
            token = issue(ledger, options.name, options.role, options.days)
            print(_strict({"token": token}) if options.json else token)
            if not options.json:
                print("It is shown once; the ledger keeps a digest of it alone.", file=sys.stderr)


def _serve(options: argparse.Namespace) -> None:
    from indistinct.web import serve

    serve(options.ledger, host=options.host, port=options.port, rate=options.rate)


# -- inside ---------------------------------------------------------------------------------------


@contextmanager
def _opened(options: argparse.Namespace, create: bool = False) -> Iterator["Ledger"]:
    from indistinct.ledger import Ledger

    with Ledger.open(options.ledger, create=create, who=getattr(options, "who", None)) as ledger:
        yield ledger


def _budget(options: argparse.Namespace) -> Any:
    from indistinct import Budget

    given = {name: value for name in _PROMISE if (value := getattr(options, name)) is not None}
    return Budget(**given) if given else None


def _plan_digest(text: str) -> str:
    if len(text) == 64 and all(letter in "0123456789abcdef" for letter in text):
        return text
    from indistinct.plans import read_plan

    return read_plan(text).digest


def _only(ledger: "Ledger") -> str:
    names = [state.name for state in ledger.states() if not state.parent]
    if len(names) != 1:
        raise ArgumentError("account", None, f"one of {', '.join(names) or 'none: nothing is open yet'}")
    return names[0]


def _receipts(folders: Sequence[str]) -> dict[str, Any]:
    """What released folders say of the ledger: the receipt in each guarantee.json."""
    from indistinct.files import read_json

    return {folder: read_json(Path(folder) / "guarantee.json") for folder in folders}


def _tell_state(account: "Account", options: argparse.Namespace) -> None:
    from indistinct.report.ledger_data import account_data

    print(_strict(account_data(account.state())) if options.json else account)


def _strict(data: Any) -> str:
    return json.dumps(data, indent=2, allow_nan=False, ensure_ascii=False)


def _plain(text: str) -> str:
    """Without what would move a terminal's cursor."""
    return "".join(letter if letter.isprintable() else "\N{REPLACEMENT CHARACTER}" for letter in text)
