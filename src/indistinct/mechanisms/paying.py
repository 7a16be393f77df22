"""A release and its charge as one act.

Whatever releases takes `ledger=`, an account of a ledger (`indistinct.ledger`). The account is asked first,
so that every attempt leaves a trace; then noise is drawn; then the account is charged for the mechanism that
was really run; and only when that is final is the result handed out. A crash in between leaves nothing that
could be read. If the account refuses, what was drawn is thrown away.
"""

from collections.abc import Callable
from functools import wraps
from inspect import signature
from typing import Any, ParamSpec, Protocol, TypeVar

from indistinct.errors import ArgumentError

P = ParamSpec("P")
R = TypeVar("R")


class Payer(Protocol):
    """An account: it calls `draw`, charges itself for what came out, and then hands it over. `asked` is what
    the release is called with, and `about` says whose data are protected, a query or a unit, where that is
    known beforehand."""

    def paid(self, what: str, draw: Callable[[], R], asked: Any = None, about: Any = None) -> R: ...


def charged(release: Callable[P, R]) -> Callable[P, R]:
    """A function that releases, so that its argument `ledger` pays for what comes out."""

    @wraps(release)
    def paying(*args: P.args, **given: P.kwargs) -> R:
        ledger: Any = given.pop("ledger", None)
        if ledger is None:
            return release(*args, **given)
        if not hasattr(ledger, "paid"):
            raise ArgumentError("ledger", ledger, "an account, such as Ledger.open(path).account(name)")
        unit = given.get("unit", getattr(signature(release).parameters.get("unit"), "default", None))
        about = args[0] if unit is None and args else unit
        result: R = ledger.paid(release.__qualname__, lambda: release(*args, **given), (args, given), about)
        return result

    return paying
