"""The journal of an account: entries that are only ever added, each with a hash of itself and of the one
before.

Whoever changes, drops or reorders an entry must change every later hash, and with it the last one, which
released folders and signed heads hold a copy of.
"""

import hmac
import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from hashlib import sha256
from typing import Any

from indistinct.errors import ArgumentError

_LONGEST, _LONGEST_CONTENT = 500, 1_000_000


def canonical(content: Any) -> str:
    """JSON that is the same for equal content."""
    return json.dumps(content, sort_keys=True, separators=(",", ":"), ensure_ascii=True)


@dataclass(frozen=True)
class JournalEntry:
    """What happened to an account; `account` is empty for what happened to the ledger itself."""

    account: str
    number: int
    time: str
    who: str
    event: str
    key: str
    text: str
    """The content, as canonical JSON."""
    hash: str = ""

    @property
    def content(self) -> dict[str, Any]:
        """What the event was about."""
        found: dict[str, Any] = json.loads(self.text)
        return found

    def chained(self, before: str) -> str:
        """The hash that the entry has after the one with hash `before`."""
        parts = [before, self.account, self.number, self.time, self.who, self.event, self.key, self.text]
        return sha256(canonical(parts).encode()).hexdigest()

    def to_json(self) -> dict[str, Any]:
        """For people and machines; the hash is over the text of the content."""
        named = {"account": self.account, "number": self.number, "time": self.time, "who": self.who}
        return {**named, "event": self.event, "key": self.key, "content": self.content, "hash": self.hash}

    @classmethod
    def from_json(cls, data: Any) -> "JournalEntry":
        """What `to_json` wrote; whether it is true is for the chain to say."""
        names = ("account", "number", "time", "who", "event", "key", "content", "hash")
        if not isinstance(data, dict) or data.keys() != set(names) or not isinstance(data["content"], dict):
            raise ArgumentError("entry", type(data).__name__, f"an object with {', '.join(names)}")
        if type(data["number"]) is not int or not all(
            isinstance(data[name], str) for name in names if name not in ("number", "content")
        ):
            raise ArgumentError("entry", data["number"], "a number, and text for the rest")
        return cls(
            **{name: data[name] for name in names if name != "content"}, text=canonical(data["content"])
        )


def commitment(secret: bytes) -> str:
    """Tells a secret of 256 random bits from any other, and nothing about it: a pseudorandom function of it
    at a place of its own (what a run has read is noted at others, which are longer)."""
    return hmac.new(secret, b"committed", "sha256").hexdigest()


def digest(content: bytes) -> str:
    """Tells bytes from all others."""
    return sha256(content).hexdigest()


def now() -> str:
    """The time in UTC; as text it sorts as it passes."""
    return datetime.now(UTC).isoformat(timespec="microseconds")


def check_text(argument: str, value: Any, *, empty: bool = False, longest: int = _LONGEST) -> str:
    """Text of one line that is shown as it is."""
    allowed = f"text of one line{'' if empty else ', not empty'}, at most {longest} characters"
    if not isinstance(value, str) or len(value) > longest or not (value or empty) or not value.isprintable():
        shown = value if isinstance(value, str) and len(value) <= longest else type(value).__name__
        raise ArgumentError(argument, shown, allowed)
    return value


def check_digests(digests: Any) -> dict[str, str]:
    """Names of files, and digests of what is in them."""
    if not isinstance(digests, Mapping):
        raise ArgumentError("digests", type(digests).__name__, "a mapping from names to digests")
    return {check_text("digests", name): check_text("digests", one) for name, one in digests.items()}


def check_content(content: Any) -> dict[str, Any]:
    """JSON data of a modest size."""
    try:
        plain = dict(content or {})
        if len(canonical(plain)) <= _LONGEST_CONTENT:
            return plain
    except (TypeError, ValueError, RecursionError):
        pass
    allowed = f"JSON data of at most {_LONGEST_CONTENT:,} characters"
    raise ArgumentError("content", type(content).__name__, allowed)
