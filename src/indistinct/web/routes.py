"""The table of all that the service offers. From it come the addresses, who may ask, what is let in, what goes
out, and the OpenAPI document: a new offer is a handler in `handlers.py` and a line here."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from indistinct.errors import ArgumentError
from indistinct.web import handlers as do
from indistinct.web.rules import (
    HEX,
    WORD,
    Anything,
    ByName,
    Either,
    FieldRule,
    Fields,
    Flag,
    Items,
    Maybe,
    OneWord,
    Real,
    Text,
    Whole,
)

ANALYST, OWNER, AUDITOR = "analyst", "owner", "auditor"
ROLES = (ANALYST, OWNER, AUDITOR)
_ALL, _WATCH = ROLES, (OWNER, AUDITOR)

_NAME, _KEY, _NOTE = Text(200), Text(200), Text(500, least=0)
_DIGEST = Text(64, least=64, pattern=HEX)
_MECHANISM = Either(Text(4000), Anything())
_ADJACENCY = OneWord(("add-remove", "replace-one"))
_TIME, _EXACT, _WORDS = Text(40), Text(200), Text(2000, least=0)
_PROMISE = {
    "epsilon": Real(0, 1e6),
    "delta": Real(0, 0.5),
    "rho": Real(0, 1e6),
    "mu": Real(0, 1e3),
    "renyi": Real(0, 1e6),
    "order": Real(1, 1e4),
    "confirm": Flag(),
}
PROBLEM = Fields({"error": Fields({"code": Text(40, pattern=WORD), "message": Text(1000, least=0)})})
ERRORS = {
    400: "The body is not JSON that can be used.",
    401: "No token, or one that is not known, has expired or was revoked.",
    403: "Not for this role, or somebody else's.",
    404: "There is no such account or key.",
    408: "The body came too slowly.",
    409: "Refused: by the cap, the account's state, or what was done before under this key.",
    413: "The body is too large.",
    415: "The body is not said to be application/json.",
    422: "A field is missing, not known, or not as it must be.",
    429: "Too often: Retry-After says when to ask again.",
    500: "A mistake of ours.",
    503: "The ledger cannot be reached or written.",
}


@dataclass(frozen=True)
class Route:
    """One thing that can be asked for."""

    method: str
    path: str
    roles: tuple[str, ...]
    """Who may ask; empty for everybody, without a token."""
    words: str
    run: Callable[..., Any]
    given: Fields
    answer: FieldRule
    media: str = "application/json"

    @property
    def name(self) -> str:
        return self.run.__name__
