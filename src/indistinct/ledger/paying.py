"""Releases in Python that an account pays for: what is drawn is seen when it is charged, and not before."""

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import fields, is_dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from indistinct.adjacency import Adjacency
from indistinct.data import Missing, Outside
from indistinct.errors import ArgumentError, FileError, Refused, TargetError
from indistinct.guarantees import GaussianDP, Guarantee, PureDP, RenyiCurve
from indistinct.ledger.amounts import above
from indistinct.ledger.known import ORDERS
from indistinct.ledger.units import declared, strangers
from indistinct.mechanisms import Mechanism, Release, Stated
from indistinct.mechanisms.budget import known_mu

if TYPE_CHECKING:
    from indistinct.ledger.account import Account

R = TypeVar("R")
_LONGEST = 1000
_TELL_NOTHING = (Refused, TargetError, FileError, OSError, MemoryError)
"""Errors that do not depend on what records hold."""


def paid(account: "Account", what: str, draw: Callable[[], R], asked: Any = None, about: Any = None) -> R:
    """What `draw` releases, charged to the account. An account that is shut is not asked, and reads nothing.
    An error on the way may tell something about the records that no noise covers: it is journalled, and
    counts towards the refusals that the account allows. So does a release that could have refused records,
    by what was `asked`, and did not."""
    account.check_open()
    if hasattr(about, "to_json"):
        _check_unit(account, declared(about.to_json()), what)
    account.journal("asked", {"what": what})
    try:
        result = draw()
    except BaseException as error:
        tells = isinstance(error, Exception) and not isinstance(error, _TELL_NOTHING)
        account.journal("failed", {"what": what, "reason": type(error).__name__}, told=tells)
        raise
    try:
        listed = result if isinstance(result, tuple | list) else [result]
        told = ["no record is outside what is declared, or missing"] if _refuses(asked) else []
        account.spend(_together(listed, account.terms.adjacency), note=what, tells=told)
    except BaseException as error:
        # what was drawn and not paid for must not be found in the frames of a traceback
        del result, listed
        raise error.with_traceback(None) from None
    return result


def _refuses(asked: Any) -> bool:
    """Whether what was asked says anywhere that records outside a domain, or missing, are an error."""
    if is_dataclass(asked) and not isinstance(asked, type):
        return any(_refuses(getattr(asked, one.name)) for one in fields(asked))
    if isinstance(asked, Mapping | list | tuple):  # long ones are data
        listed = asked.values() if isinstance(asked, Mapping) else asked
        return len(listed) <= _LONGEST and any(map(_refuses, listed))
    return asked is Outside.ERROR or asked is Missing.ERROR


def _check_unit(account: "Account", units: Iterable[str], what: str) -> None:
    """Before anything is read; what is charged is looked at again."""
    if wrong := strangers(account.terms.unit, units):
        account.journal("not asked", {"what": what, "reason": wrong})
        raise Refused(account.name, wrong)


def _together(results: Iterable[Any], adjacency: Adjacency) -> Mechanism:
    found: list[Mechanism] = [_mechanism(result, adjacency) for result in results]
    return found[0] if len(found) == 1 else sum(found[1:], start=found[0])


def _mechanism(result: Any, adjacency: Adjacency) -> Mechanism:
    """What was really run, for neighbours of an account; a claim where that cannot be said in one word."""
    if not hasattr(result, "guarantee"):
        raise ArgumentError("ledger", type(result).__name__, "for something that says what it has released")
    if isinstance(result, Release) and result.private:
        return result.mechanism
    return Stated(claimed(result.guarantee(adjacency)))


def claimed(guarantee: Guarantee) -> Guarantee:
    """A claim that a guarantee meets, and that can be written down: pure DP, Gaussian DP (which loses only
    the rounding where the noise is Gaussian), or Rényi divergences."""
    if math.isfinite(epsilon := guarantee.pure()):
        return PureDP(above(epsilon), adjacency=guarantee.adjacency)
    if math.isfinite(mu := known_mu(guarantee)):
        return GaussianDP(above(mu), adjacency=guarantee.adjacency)
    return RenyiCurve(ORDERS, [guarantee.renyi(order) for order in ORDERS], adjacency=guarantee.adjacency)
