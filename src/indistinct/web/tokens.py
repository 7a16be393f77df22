"""Tokens: 256 random bits that say who asks, in which role, and until when.

The ledger keeps their SHA-256 alone. That is enough, without salt and without haste: what is hashed cannot be
guessed. A name may have several tokens, so that a new one can be handed out before the old one expires.
"""

import base64
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from typing import Any

from indistinct.errors import ArgumentError, check_positive
from indistinct.ledger import Ledger
from indistinct.ledger.book import LEDGER
from indistinct.noise import SystemSource
from indistinct.web.rules import WORD, OneWord, Text

ANALYST, OWNER, AUDITOR = "analyst", "owner", "auditor"
ROLES = (ANALYST, OWNER, AUDITOR)
PREFIX = "indistinct_"
"""By which programs that look for leaked tokens know one."""
_LONGEST_DAYS = 3660
_NAME, _ROLE = Text(64, pattern=WORD), OneWord(ROLES)


@dataclass(frozen=True)
class Caller:
    """Who asks."""

    name: str
    role: str
    digest: str
    """Of the token, which nobody remembers."""


def issue(ledger: Ledger, name: str, role: str, days: float) -> str:
    """A new token; it is shown now and never again."""
    name, role = _NAME.check("name", name), _ROLE.check("role", role)
    if check_positive("days", days) > _LONGEST_DAYS:
        raise ArgumentError("days", days, f"at most {_LONGEST_DAYS}")
    token = PREFIX + base64.urlsafe_b64encode(
        SystemSource().integer(256).to_bytes(32, "big")
    ).decode().rstrip("=")
    now = _now(ledger)
    expires = (datetime.fromisoformat(now) + timedelta(days=days)).isoformat(timespec="microseconds")
    sql = "INSERT INTO tokens (digest, name, role, issued, expires, revoked) VALUES (?, ?, ?, ?, ?, '')"
    with ledger.book.transaction():
        told = {"name": name, "role": role, "issued": now, "expires": expires, "digest": _digest(token)}
        _journal(ledger, "token", told)
        ledger.book.store.run(sql, _digest(token), name, role, now, expires)
    return token


def caller_of(ledger: Ledger, token: str) -> Caller | None:
    """Whose token this is; None if it is nobody's, was revoked or has expired."""
    digest = _digest(token)
    rows = ledger.book.store.run("SELECT name, role, expires, revoked FROM tokens WHERE digest = ?", digest)
    if not rows or rows[0][3] or _now(ledger) >= rows[0][2]:
        return None
    return Caller(rows[0][0], rows[0][1], digest)


def listing(ledger: Ledger) -> list[dict[str, Any]]:
    """All tokens by name, without what would let anybody use them."""
    rows = ledger.book.store.run("SELECT name, role, issued, expires, revoked FROM tokens")
    now, found = _now(ledger), []
    for name, role, issued, expires, revoked in sorted(rows):
        status = "revoked" if revoked else "expired" if now >= expires else "valid"
        found.append({"name": name, "role": role, "issued": issued, "expires": expires, "status": status})
    return found


def revoke(ledger: Ledger, name: str) -> int:
    """Ends all tokens of a name; how many were valid."""
    valid = [one for one in listing(ledger) if one["name"] == name and one["status"] == "valid"]
    sql = "UPDATE tokens SET revoked = ? WHERE name = ? AND revoked = ''"
    with ledger.book.transaction():
        now = _now(ledger)
        _journal(ledger, "token revoked", {"name": _NAME.check("name", name), "at": now})
        ledger.book.store.run(sql, now, name)
    return len(valid)


def _journal(ledger: Ledger, event: str, content: dict[str, Any]) -> None:
    state = ledger.book.locked(LEDGER)
    assert state is not None  # made when the ledger was
    ledger.book.append(state, None, event, "", content, ledger.who)


def _now(ledger: Ledger) -> str:
    """The latest time that the ledger knows: a clock that is set back makes no token valid again."""
    (latest,) = ledger.book.store.run("SELECT MAX(time) FROM accounts")[0]
    return max(datetime.now(UTC).isoformat(timespec="microseconds"), latest or "")


def _digest(token: str) -> str:
    return sha256(token.encode()).hexdigest()
