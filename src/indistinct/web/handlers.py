"""What each request does. A handler gets the ledger, who asks, and fields that were checked; what it returns
is JSON data, or a page. Its sentence stands in the document."""

from typing import Any

from indistinct.description import NOUNS, home
from indistinct.errors import ArgumentError
from indistinct.ledger import Account, Ledger, Spend
from indistinct.mechanisms import Budget, Mechanism
from indistinct.mechanisms.expression import parse
from indistinct.report.ledger_data import account_data, spend_data
from indistinct.report.ledger_page import ledger_page, ledger_subject
from indistinct.web.desk import Problem
from indistinct.web.tokens import OWNER, Caller

MOST_KINDS = 100
"""Different mechanisms whose composition the service reads: of 50 Laplace noises it took 16 s."""
_HOMES = ("mechanisms", "guarantees", "data")
"""Packages that declare what the service takes as JSON: noise, claims and queries. A strategy for a million
cells is to be spent in Python, by whoever has the memory for it."""

_MOST_STEPS, _MOST_PARTS = 10**9, 100
"""Of a mechanism that is asked for over the wire."""


def health(ledger: Ledger, caller: None) -> Any:
    """Whether the service runs."""
    return {"status": "ok"}


def openapi(ledger: Ledger, caller: None) -> Any:
    """The document that says all this."""
    from indistinct.web.openapi import document

    return document()


# -- everybody with a token -----------------------------------------------------------------------


def accounts(ledger: Ledger, caller: Caller) -> Any:
    """All accounts, and where each stands."""
    return {"accounts": [account_data(state) for state in ledger.states()]}


def state(ledger: Ledger, caller: Caller, account: str) -> Any:
    """Where one account stands."""
    return account_data(_account(ledger, account).state())


def guarantee(ledger: Ledger, caller: Caller, account: str, delta: float | None = None) -> Any:
    """What all that was charged tells, in every reading."""
    return ledger_subject(_read_here(ledger, account), delta).data()


# -- analysts -------------------------------------------------------------------------------------


def spend(ledger: Ledger, caller: Caller, account: str, mechanism: Any, key: str, **more: Any) -> Any:
    """Spend at once, for noise that is drawn elsewhere; under one key once, however often it is asked."""
    own = _account(ledger, account)
    return _own(own, caller, own.spend(_mechanism(mechanism), key=key, who=caller.name, **more))


def reserve(ledger: Ledger, caller: Caller, account: str, mechanism: Any, key: str, **more: Any) -> Any:
    """Keep the cost of what will be drawn; under one key, once."""
    own = _account(ledger, account)
    return _own(own, caller, own.reserve(_mechanism(mechanism), key=key, who=caller.name, **more))


def find(ledger: Ledger, caller: Caller, account: str, key: str) -> Any:
    """What one has asked under a key."""
    return spend_data(_found(_account(ledger, account), caller, key))


def charge(ledger: Ledger, caller: Caller, account: str, key: str) -> Any:
    """Make what is reserved final. The bytes to draw noise from go to whoever reserved, to nobody else."""
    own = _account(ledger, account)
    _found(own, caller, key)
    secret = own.charge(key, who=caller.name)
    return {"secret": secret.hex(), "spend": spend_data(_found(own, caller, key))}


def complete(ledger: Ledger, caller: Caller, account: str, key: str, digests: dict[str, str]) -> Any:
    """Note the digests of what was released; the bytes are destroyed."""
    own = _account(ledger, account)
    _found(own, caller, key)
    own.complete(key, digests, who=caller.name)
    return spend_data(_found(own, caller, key))


def cancel(ledger: Ledger, caller: Caller, account: str, key: str, reason: str, told: bool = True) -> Any:
    """Give back what is reserved. It counts as a reason that depends on the data; an owner, who may cancel
    what anybody has reserved, can say with `told` that it does not."""
    own = _account(ledger, account)
    if caller.role != OWNER:
        _found(own, caller, key)
        if not told:
            raise Problem(403, "told", "only an owner says of a reason that it tells nothing")
    own.cancel(key, reason, told=told, who=caller.name)
    found = own.find(key)
    assert found is not None
    return spend_data(found)


# -- owners ---------------------------------------------------------------------------------------


def open_account(ledger: Ledger, caller: Caller, account: str, budget: Any, **terms: Any) -> Any:
    """Open an account with a budget, or, with null, one that only adds up what is spent."""
    promised = None if budget is None else Budget(**budget)
    return account_data(ledger.open_account(account, promised, who=caller.name, **terms).state())


def approve(ledger: Ledger, caller: Caller, account: str, plan: str) -> Any:
    """Let a plan run, by its digest."""
    own = _account(ledger, account)
    own.approve(plan, who=caller.name)
    return account_data(own.state())


def raise_cap(ledger: Ledger, caller: Caller, account: str, budget: Any, confirm: bool = False) -> Any:
    """Give an account a larger budget, which is then the promise for all that was ever released."""
    own = _account(ledger, account)
    own.raise_cap(Budget(**budget), who=caller.name, confirm=confirm)
    return account_data(own.state())


def unlock(ledger: Ledger, caller: Caller, account: str) -> Any:
    """Open an account again that was locked because refusals had told too much."""
    own = _account(ledger, account)
    own.unlock(who=caller.name)
    return account_data(own.state())


def close(ledger: Ledger, caller: Caller, account: str) -> Any:
    """Let nothing more be asked of an account; what is charged can still be completed."""
    own = _account(ledger, account)
    own.close(who=caller.name)
    return account_data(own.state())


# -- owners and auditors --------------------------------------------------------------------------


def spends(ledger: Ledger, caller: Caller, account: str, limit: int = 100, offset: int = 0) -> Any:
    """Spends of an account, newest first."""
    return {"spends": [spend_data(one) for one in _account(ledger, account).spends(limit, offset)]}


def entries(ledger: Ledger, caller: Caller, account: str, limit: int = 100, offset: int = 0) -> Any:
    """The journal of an account, newest first."""
    return {"entries": [one.to_json() for one in _account(ledger, account).entries(limit, offset)]}


def verify(ledger: Ledger, caller: Caller) -> Any:
    """Whether chains, sums and states are whole."""
    mistakes = ledger.verify()
    return {"valid": not mistakes, "mistakes": mistakes}


def export(ledger: Ledger, caller: Caller) -> Any:
    """Everything, without keys and tokens."""
    return ledger.export()


def report(ledger: Ledger, caller: Caller, account: str) -> Any:
    """The page of an account."""
    return ledger_page(_read_here(ledger, account))


# -- inside ---------------------------------------------------------------------------------------


def _account(ledger: Ledger, name: str) -> Account:
    if not name or ledger.book.state(name) is None:
        raise Problem(404, "account", "there is no account of this name")
    return ledger.account(name)


def _read_here(ledger: Ledger, name: str) -> Account:
    """An account whose composition is read in seconds: few threads answer everybody."""
    account = _account(ledger, name)
    names = [name, *(state.name for state in ledger.states() if state.name.startswith(f"{name}/"))]
    if sum(len(ledger.book.kinds(one)) for one in names) > MOST_KINDS:
        told = (
            f"more than {MOST_KINDS} different mechanisms were charged; `indistinct ledger report` reads them"
        )
        raise Problem(422, "too_much", told)
    return account


def _found(account: Account, caller: Caller, key: str) -> Spend:
    """What the caller has asked under a key."""
    found = account.find(key)
    if found is None:
        raise Problem(404, "key", "there is nothing under this key")
    if found.who != caller.name:
        raise Problem(403, "key", "somebody else asked under this key")
    return found


def _own(account: Account, caller: Caller, spend: Spend) -> Any:
    """What was asked now or before under a key; that of somebody else is not shown."""
    return spend_data(_found(account, caller, spend.key))


def _mechanism(given: Any) -> Mechanism:
    if isinstance(given, str):
        made = parse(given)
    else:
        _check_kinds(given)
        made = Mechanism.from_json(given)
    _check_work(made.to_json())
    return made


def _check_work(data: Any) -> None:
    """Readings of compositions of very many, or of many that differ, take long: they would be spent at the
    cost of everybody who asks meanwhile."""
    counts, parts = [(1, data)], 0
    while counts:
        steps, one = counts.pop()
        inner = one.values() if isinstance(one, dict) else one if isinstance(one, list) else ()
        if isinstance(one, dict):
            parts += "mechanism" in one
            steps *= one["steps"] if isinstance(one.get("steps"), int) else 1
        if steps > _MOST_STEPS or parts > _MOST_PARTS:
            allowed = f"of at most {_MOST_STEPS:,} steps and {_MOST_PARTS} mechanisms: spend others in Python"
            raise ArgumentError("mechanism", f"{steps} steps, {parts} mechanisms", allowed)
        counts += [(steps, each) for each in inner]


def _check_kinds(data: Any) -> None:
    """Before anything is made of it."""
    if isinstance(data, dict):
        for noun, kind in data.items():
            if noun in NOUNS and isinstance(kind, str) and home(noun, kind) not in _HOMES:
                raise ArgumentError(noun, kind, "noise, a claim or a query: others are spent in Python")
    for inner in data.values() if isinstance(data, dict) else data if isinstance(data, list) else ():
        _check_kinds(inner)
