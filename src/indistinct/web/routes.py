"""The table of all that the service offers. From it come the addresses, who may ask, what is let in, what
goes out, and the OpenAPI document: a new offer is a handler in `handlers.py` and a line here."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

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
from indistinct.web.tokens import ANALYST, AUDITOR, OWNER, ROLES

_ALL, _WATCH = ROLES, (OWNER, AUDITOR)

_NAME, _KEY, _NOTE = Text(200), Text(200), Text(500, least=0)
_DIGEST = Text(64, least=64, pattern=HEX)
_MECHANISM = Either((Text(4000), Anything()), "an expression, or the JSON of a mechanism")
_ADJACENCY = OneWord(("add-remove", "replace-one"))
_TIME, _EXACT, _WORDS = Text(40), Text(1000), Text(2000, least=0)
_AMOUNT = Real(1e-12, 1e6)
_BUDGET = Either(
    (
        Fields({"epsilon": _AMOUNT}, {"delta": Real(1e-100, 0.5)}),
        Fields({"rho": _AMOUNT}),
        Fields({"mu": _AMOUNT}),
        Fields({"renyi": _AMOUNT, "order": Real(1, 1e4)}),
    ),
    "epsilon (and delta, up to 0.5), rho, mu, or renyi and an order above 1; amounts from 1e-12 to 1e6",
)
PROBLEM = Fields(
    {"error": Fields({"code": Text(40, pattern=WORD), "message": Text(1000, least=0)})}, name="Problem"
)
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
    run: Callable[..., Any]
    given: Fields
    answer: FieldRule
    media: str = "application/json"

    @property
    def name(self) -> str:
        return self.run.__name__

    @property
    def words(self) -> str:
        return " ".join((self.run.__doc__ or "").split())


_ACCOUNT = {"account": _NAME}
_PAGE = Fields(_ACCOUNT, {"limit": Whole(1, 1000), "offset": Whole(0, 10**9)})
_ASKED = Fields(
    {**_ACCOUNT, "mechanism": _MECHANISM, "key": _KEY},
    {"plan": _DIGEST, "note": _NOTE, "adjacency": _ADJACENCY},
)
_KEYED = {**_ACCOUNT, "key": _KEY}
_DIGESTS = ByName(Text(200), _DIGEST, 1000)
_CANCELLED = Fields({**_KEYED, "reason": Text(500)}, {"told": Flag()})
_RAISED = Fields({**_ACCOUNT, "budget": _BUDGET}, {"confirm": Flag()})
_OPENED = Fields(
    {**_ACCOUNT, "budget": Maybe(_BUDGET)},
    {
        "confirm": Flag(),
        "notion": OneWord(("pure", "zcdp", "renyi", "gdp")),
        "adjacency": _ADJACENCY,
        "unit": Text(200),
        "approval": Flag(),
        "refusals": Whole(1, 1000),
        "renews": OneWord(("month", "quarter", "year")),
    },
)

_STATE = Fields(
    {
        "account": _NAME,
        "parent": Text(200, least=0),
        "status": OneWord(("open", "locked", "closed")),
        "promise": _WORDS,
        "adjacency": OneWord(("add/remove", "replace-one")),
        "unit": _WORDS,
        "notion": Maybe(OneWord(("pure", "zcdp", "renyi", "gdp"))),
        "adds_up": Maybe(_WORDS),
        "limit": Maybe(_EXACT),
        "spent": _EXACT,
        "reserved": _EXACT,
        "left": Maybe(_EXACT),
        "share": Maybe(Real(-1, 1e9)),
        "spent_words": _WORDS,
        "reserved_words": _WORDS,
        "left_words": Maybe(_WORDS),
        "approval": Flag(),
        "told": Whole(0, 10**9),
        "refusals": Whole(1, 10**9),
        "renews": Maybe(OneWord(("month", "quarter", "year"))),
        "entries": Whole(1, 10**12),
        "head": _DIGEST,
        "time": _TIME,
    },
    name="Account",
)
_SPEND = Fields(
    {
        "account": _NAME,
        "key": Text(500),
        "number": Whole(1, 10**12),
        "state": OneWord(("reserved", "charged", "complete", "cancelled")),
        "mechanism": _WORDS,
        "cost": _EXACT,
        "plan": Text(500, least=0),
        "time": _TIME,
        "who": Text(500),
        "note": Text(10_000, least=0),
        "digests": ByName(Text(500), Text(500), 10**6),
        "hash": _DIGEST,
    },
    name="Spend",
)
_ENTRY = Fields(
    {
        "account": _NAME,
        "number": Whole(1, 10**12),
        "time": _TIME,
        "who": Text(500),
        "event": Text(100),
        "key": Text(500, least=0),
        "content": Anything(),
        "hash": _DIGEST,
    },
    name="Entry",
)
NAMED = (PROBLEM, _STATE, _SPEND, _ENTRY)

_NOTHING, _READ = Fields(), Fields(_ACCOUNT, {"delta": Real(0, 0.5)})

ROUTES = (
    Route("GET", "/health", (), do.health, _NOTHING, Fields({"status": Text(9)})),
    Route("GET", "/openapi.json", (), do.openapi, _NOTHING, Anything()),
    Route("GET", "/v1/accounts", _ALL, do.accounts, _NOTHING, Fields({"accounts": Items(_STATE)})),
    Route("GET", "/v1/state", _ALL, do.state, Fields(_ACCOUNT), _STATE),
    Route("GET", "/v1/guarantee", _ALL, do.guarantee, _READ, Anything()),
    Route("POST", "/v1/spend", (ANALYST,), do.spend, _ASKED, _SPEND),
    Route("GET", "/v1/spend", (ANALYST,), do.find, Fields(_KEYED), _SPEND),
    Route("POST", "/v1/reserve", (ANALYST,), do.reserve, _ASKED, _SPEND),
    Route(
        *("POST", "/v1/charge", (ANALYST,), do.charge, Fields(_KEYED)),
        Fields({"secret": _DIGEST, "spend": _SPEND}),
    ),
    Route("POST", "/v1/complete", (ANALYST,), do.complete, Fields({**_KEYED, "digests": _DIGESTS}), _SPEND),
    Route("POST", "/v1/cancel", (ANALYST, OWNER), do.cancel, _CANCELLED, _SPEND),
    Route("POST", "/v1/accounts", (OWNER,), do.open_account, _OPENED, _STATE),
    Route("POST", "/v1/approve", (OWNER,), do.approve, Fields({**_ACCOUNT, "plan": _DIGEST}), _STATE),
    Route("POST", "/v1/raise", (OWNER,), do.raise_cap, _RAISED, _STATE),
    Route("POST", "/v1/unlock", (OWNER,), do.unlock, Fields(_ACCOUNT), _STATE),
    Route("POST", "/v1/close", (OWNER,), do.close, Fields(_ACCOUNT), _STATE),
    Route("GET", "/v1/spends", _WATCH, do.spends, _PAGE, Fields({"spends": Items(_SPEND)})),
    Route("GET", "/v1/entries", _WATCH, do.entries, _PAGE, Fields({"entries": Items(_ENTRY)})),
    Route(
        *("GET", "/v1/verify", _WATCH, do.verify, _NOTHING),
        Fields({"valid": Flag(), "mistakes": Items(_WORDS)}),
    ),
    Route("GET", "/v1/export", _WATCH, do.export, _NOTHING, Anything()),
    Route("GET", "/v1/report", _WATCH, do.report, Fields(_ACCOUNT), Anything("string"), "text/html"),
)
