"""The commands about budgets that last: `indistinct ledger open`, `show`, `spend`, `approve`, `report` ...

Their options are in `cli_ledger_options.py`. What only one of them needs is imported by it.
"""

import argparse
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

from indistinct.errors import ArgumentError, FileError
from indistinct.files import shown_json

if TYPE_CHECKING:
    from indistinct.ledger import Account, Ledger

_PROMISE = ("epsilon", "delta", "rho", "mu", "renyi", "order")
_RECENT = 10


# -- owners ---------------------------------------------------------------------------------------


def open_(options: argparse.Namespace) -> None:
    """An account, in a ledger that may be new."""
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


def approve(options: argparse.Namespace) -> None:
    """A plan may run."""
    with _opened(options) as ledger:
        account = ledger.account(options.account)
        plan, told = _approved(ledger, options.plan)
        account.approve(plan)
        _tell_state(account, options)
    if not options.json:
        print("\n".join([*told, f"approved: the plan {plan}"]))


def raise_(options: argparse.Namespace) -> None:
    """A larger budget."""
    budget = _budget(options)
    if budget is None:
        raise ArgumentError("promise", None, "given by --epsilon, --rho, --mu or --renyi")
    _done(options, lambda account: account.raise_cap(budget, confirm=options.confirm))


def unlock(options: argparse.Namespace) -> None:
    """What was locked is open again."""
    _done(options, lambda account: account.unlock())


def close(options: argparse.Namespace) -> None:
    """Nothing more is asked."""
    _done(options, lambda account: account.close())


def _done(options: argparse.Namespace, act: Callable[["Account"], None]) -> None:
    with _opened(options) as ledger:
        account = ledger.account(options.account)
        act(account)
        _tell_state(account, options)


# -- spending and looking -------------------------------------------------------------------------


def show(options: argparse.Namespace) -> None:
    """Where accounts stand."""
    from indistinct.report.ledger_data import account_data, spend_data
    from indistinct.report.ledger_text import account_text, accounts_text

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
            data |= {"recent": [one.to_json() for one in entries]}
            text = account_text(account.state(), spends, entries)
    print(shown_json(data) if options.json else text)


def spend(options: argparse.Namespace) -> None:
    """A charge, if the cap allows it."""
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
        before = None if options.key is None else account.find(options.key)
        spend = account.spend(mechanism, **told)
        found = account.find(spend.key)
        assert found is not None
        if options.json:
            print(shown_json({"spend": spend_data(found), "account": account_data(account.state())}))
        else:
            again = before is not None and before.hash == spend.hash
            when = (
                f"Charged before, by {spend.who} on {spend.time[:10]}, and not again" if again else "Charged"
            )
            print(f"{_plain(when)}: {mechanism}, under the key {spend.key}.\n{account}")


def report(options: argparse.Namespace) -> None:
    """The page."""
    from indistinct.report.ledger_page import ledger_page, ledger_subject

    if Path(options.out).suffix.lower() not in (".html", ".htm"):
        raise ArgumentError("--out", options.out, "a file that ends in .html")
    with _opened(options) as ledger:
        account = ledger.account(_only(ledger) if options.account is None else options.account)
        subject = ledger_subject(account, options.delta)
        Path(options.out).write_text(ledger_page(account, subject), encoding="utf-8")
        if options.json:
            print(shown_json({"guarantee": None if subject is None else subject.data()}))
        else:
            print(f"{account}\nThe page is in {options.out}.")


def verify(options: argparse.Namespace) -> int:
    """What is wrong, and 1 if anything is."""
    with _opened(options) as ledger:
        mistakes = ledger.verify()
        mistakes += [wrong for folder in options.receipts for wrong in _released(ledger, Path(folder))]
        count = sum(state.number for state in ledger.states())
    if options.json:
        print(shown_json({"valid": not mistakes, "entries": count, "mistakes": mistakes}))
    else:
        fine = f"{count:,} entries, and all is as it was written."
        print("\n".join(_plain(mistake) for mistake in mistakes) or fine)
    return 1 if mistakes else 0


def export(options: argparse.Namespace) -> None:
    """The journals, without keys."""
    from indistinct.files import whole

    with _opened(options) as ledger:
        text = shown_json(ledger.export())
    if options.out is None:
        print(text)
        return
    with whole(options.out, private=True) as file:
        file.write(text.encode())
    print(f"The ledger is in {options.out}.")


def merge(options: argparse.Namespace) -> None:
    """What another ledger has."""
    from indistinct.files import json_text, read_bytes
    from indistinct.ledger import Ledger

    with _opened(options) as ledger:
        if options.other.lower().endswith(".json"):
            content = json_text(options.other, read_bytes(options.other))  # of a journal, however long
            if not isinstance(content, dict):
                raise FileError(options.other, "it is not what `export` wrote")
            told = ledger.merge(content)
        else:
            with Ledger.open(options.other, create=False) as other:
                told = ledger.merge(other)
    if options.json:
        print(shown_json({"merged": told}))
    else:
        print("\n".join(map(_plain, told)) or "There was nothing new.")


# -- the service ----------------------------------------------------------------------------------


def token(options: argparse.Namespace) -> None:
    """Tokens of the service."""
    from indistinct.report.ledger_text import aligned
    from indistinct.web.tokens import issue, listing, revoke

    with _opened(options) as ledger:
        if options.name is None:
            found = listing(ledger)
            rows = [list(one.values()) for one in found]
            told = (
                aligned(["name", "role", "issued", "expires", "status"], rows) if rows else "There are none."
            )
            print(shown_json({"tokens": found}) if options.json else told)
        elif options.revoke:
            count = revoke(ledger, options.name)
            print(
                shown_json({"revoked": count})
                if options.json
                else f"Revoked: {count} tokens of {options.name}."
            )
        else:
            if options.role is None:
                raise ArgumentError("--role", None, "analyst, owner or auditor")
            token = issue(ledger, options.name, options.role, options.days)
            print(shown_json({"token": token}) if options.json else token)
            if not options.json:
                print("It is shown once; the ledger keeps a digest of it alone.", file=sys.stderr)


def serve(options: argparse.Namespace) -> None:
    """The service, until it is interrupted."""
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


def _approved(ledger: "Ledger", text: str) -> tuple[str, list[str]]:
    """The digest of a plan and of what is in its files, and what is to be known of it: from the plan, or the
    digest itself, as `check` and refusals tell it."""
    if len(text) == 64 and all(letter in "0123456789abcdef" for letter in text):
        return text, []
    from indistinct.plans import check_plan, read_plan
    from indistinct.plans.batches import Standing, source_files

    plan = read_plan(text)
    told, files = str(check_plan(plan)).splitlines(), source_files(plan.terms.data)
    query = [] if plan.terms.data.sql is None else [f"Query: {plan.terms.data.sql}"]
    return Standing.of(plan, ledger, files).digest, [f"Data: {', '.join(files)}.", *query, *told]


def _only(ledger: "Ledger") -> str:
    names = [state.name for state in ledger.states() if not state.parent]
    if len(names) != 1:
        raise ArgumentError("account", None, f"one of {', '.join(names) or 'none: nothing is open yet'}")
    return names[0]


def _released(ledger: "Ledger", folder: Path) -> Iterator[str]:
    """What is wrong with a folder of releases: receipts that the journal does not know, files that are not as
    they were released."""
    from indistinct.files import meaning, read_bytes, read_json

    path = folder / "guarantee.json"
    told = read_json(path)
    with meaning(path, "as a run wrote it, with its receipts from a ledger"):
        receipts = [
            (told["ledger"]["account"], one["key"], one["hash"]) for one in told["ledger"]["receipts"]
        ]
        keys = [(str(name), str(key), str(own)) for name, key, own in receipts]
    for name, key, own in keys:
        spend = ledger.account(name).find(key) if ledger.book.state(name) is not None else None
        if spend is None or spend.hash != own:
            yield f"{folder}: the ledger has another entry for {key}, or none; entries were lost or changed"
            continue
        for file, digest in spend.digests.items():
            released = folder / Path(file).name
            if not released.is_file():
                yield f"{released}: it was released, and is missing"
            elif sha256(read_bytes(released, links=False)).hexdigest() != digest:
                yield f"{released}: it is not as it was released"


def _tell_state(account: "Account", options: argparse.Namespace) -> None:
    from indistinct.report.ledger_data import account_data

    print(shown_json(account_data(account.state())) if options.json else account)


def _plain(text: str) -> str:
    """Without what would move a terminal's cursor."""
    return "".join(letter if letter.isprintable() else "\N{REPLACEMENT CHARACTER}" for letter in text)
