"""What each request does. A handler gets the ledger, who asks, and fields that were checked; what it returns is
JSON data, or a page."""

from typing import Any

from indistinct import Budget, parse
from indistinct.description import NOUNS, from_json, home
from indistinct.errors import ArgumentError
from indistinct.ledger import Account, Ledger, Spend
from indistinct.mechanisms import Mechanism
from indistinct.report import explain
from indistinct.report.ledger_data import account_data, full_spend, spend_data
from indistinct.web.desk import Problem
from indistinct.web.tokens import Caller

_HOMES = ("mechanisms", "guarantees", "data")
"""Packages that declare what the service takes as JSON: noise, claims and queries. A strategy for a million cells
is to be spent in Python, by whoever has the memory for it."""


def health(ledger: Ledger, caller: None) -> Any:
    return {"status": "ok"}


def openapi(ledger: Ledger, caller: None) -> Any:
    from indistinct.web.openapi import document

    return document()


# -- everybody with a token -----------------------------------------------------------------------


def accounts(ledger: Ledger, caller: Caller) -> Any:
    return {"accounts": [account_data(state) for state in ledger.states()]}


def state(ledger: Ledger, caller: Caller, account: str) -> Any:
    return account_data(_account(ledger, account).state())


def guarantee(ledger: Ledger, caller: Caller, account: str, delta: float = 1e-6) -> Any:
    """Of all that was charged, in every reading."""
    mechanism = _account(ledger, account).mechanism()
    if mechanism is None:
        return {"guarantee": None}
    about = ledger.account(account).terms.adjacency
    return {"guarantee": explain(mechanism, delta=delta, adjacency=about).data()}


# -- analysts -------------------------------------------------------------------------------------


def spend(ledger: Ledger, caller: Caller, account: str, mechanism: Any, key: str, **more: Any) -> Any:
    own = _account(ledger, account)
    return _of(caller, own, own.spend(_mechanism(mechanism), key=key, who=caller.name, **more))


def reserve(ledger: Ledger, caller: Caller, account: str, mechanism: Any, key: str, **more: Any) -> Any:
    own = _account(ledger, account)
    return _of(caller, own, own.reserve(_mechanism(mechanism), key=key, who=caller.name, **more))


def find(ledger: Ledger, caller: Caller, account: str, key: str) -> Any:
    return spend_data(_found(ledger, caller, account, key))


def charge(ledger: Ledger, caller: Caller, account: str, key: str) -> Any:
    """The secret goes to whoever reserved, and to nobody else."""
    _found(ledger, caller, account, key)
    own = ledger.account(account)
    secret = own.charge(key, who=caller.name)
    return {"secret": secret.hex(), "spend": full_spend(own, key)}


def complete(ledger: Ledger, caller: Caller, account: str, key: str, digests: dict[str, str]) -> Any:
    _found(ledger, caller, account, key)
    own = ledger.account(account)
    own.complete(key, digests, who=caller.name)
    return full_spend(own, key)


def cancel(
    ledger: Ledger, caller: Caller, account: str, key: str, reason: str, told: bool = False
) -> Any:
    _found(ledger, caller, account, key)
    own = ledger.account(account)
    own.cancel(key, reason, told=told, who=caller.name)
    return full_spend(own, key)


# -- owners ---------------------------------------------------------------------------------------


def open_account(ledger: Ledger, caller: Caller, account: str, **terms: Any) -> Any:
    budget = None if terms.pop("odometer", False) else _budget(terms)
    own = ledger.open_account(account, budget, who=caller.name, **terms)
    return account_data(own.state())


def approve(ledger: Ledger, caller: Caller, account: str, plan: str) -> Any:
    own = _account(ledger, account)
    own.approve(plan, who=caller.name)
    return account_data(own.state())


def raise_cap(ledger: Ledger, caller: Caller, account: str, confirm: bool = False, **promise: Any) -> Any:
    own = _account(ledger, account)
    own.raise_cap(_budget(promise), who=caller.name, confirm=confirm)
    return account_data(own.state())


def unlock(ledger: Ledger, caller: Caller, account: str) -> Any:
    own = _account(ledger, account)
    own.unlock(who=caller.name)
    return account_data(own.state())


def close(ledger: Ledger, caller: Caller, account: str) -> Any:
    own = _account(ledger, account)
    own.close(who=caller.name)
    return account_data(own.state())


# -- owners and auditors --------------------------------------------------------------------------


def spends(ledger: Ledger, caller: Caller, account: str, limit: int = 100, offset: int = 0) -> Any:
    return {"spends": [spend_data(one) for one in _account(ledger, account).spends(limit, offset)]}


def entries(ledger: Ledger, caller: Caller, account: str, limit: int = 100, offset: int = 0) -> Any:
    return {"entries": [one.to_json() for one in _account(ledger, account).entries(limit, offset)]}


def verify(ledger: Ledger, caller: Caller) -> Any:
    mistakes = ledger.verify()
    return {"valid": not mistakes, "mistakes": mistakes}


def export(ledger: Ledger, caller: Caller) -> Any:
    return ledger.export()


def report(ledger: Ledger, caller: Caller, account: str) -> Any:
    from indistinct.report.ledger_page import ledger_page

    return ledger_page(_account(ledger, account))


# -- inside ---------------------------------------------------------------------------------------


def _account(ledger: Ledger, name: str) -> Account:
    if not name or ledger.book.state(name) is None:
        raise Problem(404, "account", "there is no account of this name")
    return ledger.account(name)


def _found(ledger: Ledger, caller: Caller, account: str, key: str) -> Spend:
    own = _account(ledger, account)
    found = own.find(key)
    if found is None:
        raise Problem(404, "key", "there is nothing under this key")
    if found.who != caller.name:
        raise Problem(403, "key", "somebody else asked under this key")
    return found


def _of(caller: Caller, account: Account, spend: Spend) -> Any:
    """What was spent now or before under the key; that of somebody else is not shown."""
    if spend.who != caller.name:
        raise Problem(403, "key", "somebody else asked under this key")
    return full_spend(account, spend.key)


def _mechanism(given: Any) -> Mechanism:
    if isinstance(given, str):
        return parse(given)
    _check_kinds(given)
    found = from_json(given)
    if not isinstance(found, Mechanism):
        raise ArgumentError("mechanism", type(found).__name__, "one, as an expression or as JSON")
    return found


def _check_kinds(data: Any) -> None:
    """Before anything is made of it."""
    if isinstance(data, dict):
        for noun, kind in data.items():
            if noun in NOUNS and isinstance(kind, str) and home(noun, kind) not in _HOMES:
                raise ArgumentError(noun, kind, "noise, a claim or a query: others are spent in Python")
    for inner in data.values() if isinstance(data, dict) else data if isinstance(data, list) else ():
        _check_kinds(inner)


def _budget(terms: dict[str, Any]) -> Budget:
    names = ("epsilon", "delta", "rho", "mu", "renyi", "order")
    return Budget(**{name: terms.pop(name) for name in names if name in terms})
