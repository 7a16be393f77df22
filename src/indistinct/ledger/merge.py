"""Two ledgers of the same data as one: what either has spent is spent.

Two hosts that could not reach each other have spent from the same budget, each within its cap; together they
may be over it. That is a fact, and is written down: then nothing more is taken. Spends are told apart by the
hashes of the entries that made them, so that nothing is counted twice when ledgers are merged again, or were
copies of each other; a spend that both copies went on to draw was drawn twice and counts twice.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from indistinct.adjacency import Adjacency
from indistinct.errors import ArgumentError, Refused
from indistinct.ledger.amounts import written
from indistinct.ledger.book import DESCRIBED, LEDGER, Book
from indistinct.ledger.chain import JournalEntry, check_text, digest
from indistinct.ledger.costs import cost_of
from indistinct.ledger.events import (
    CANCELLED,
    CHARGED,
    CLOSED,
    COMPLETE,
    OPEN,
    RESERVED,
    Spend,
    State,
    replayed,
)
from indistinct.ledger.known import digest_of
from indistinct.ledger.notions import Cap
from indistinct.ledger.parts import division_of, is_division, period_ahead
from indistinct.ledger.structure import misfits
from indistinct.ledger.verify import chained
from indistinct.mechanisms import Mechanism

if TYPE_CHECKING:
    from indistinct.ledger.ledger import Ledger

FORMAT = 1
Replayed = tuple[State, dict[str, Spend]]
_FURTHER = {CANCELLED: 0, RESERVED: 1, CHARGED: 2, COMPLETE: 3}


def exported(ledger: "Ledger") -> dict[str, Any]:
    """All entries and descriptions; nothing secret."""
    book, found = ledger.book, list[str]()
    names = [LEDGER, *(state.name for state in book.states())]
    entries = [entry.to_json() for name in names for entry in chained(book, name, found)]
    if found:
        raise ArgumentError("ledger", found[0], "whole, to be exported")
    rows = book.store.run("SELECT digest, description FROM mechanisms")
    heads = {entry["account"]: entry["hash"] for entry in entries}
    whole = {"entries": entries, "heads": heads, "mechanisms": dict(rows)}
    return {"format": FORMAT, "ledger": ledger.id, **whole}


def merged(ledger: "Ledger", other: "Ledger | Mapping[str, Any]") -> list[str]:
    """Takes in what another ledger, or its export, has, or nothing of it; says what came of it."""
    theirs = _read(other.export() if hasattr(other, "export") else other)
    try:
        with ledger.book.transaction():
            try:
                said = _taken_in(ledger.book, *theirs, ledger.who)
            except Refused as refused:  # what was written before it is not kept: it is half of something
                raise _Undone(refused) from None
    except _Undone as undone:
        raise undone.reason from None
    ledger.book.store.scrub()
    return said


class _Undone(Exception):
    def __init__(self, reason: Refused) -> None:
        self.reason = reason


def _taken_in(
    book: Book, origin: str, accounts: dict[str, Replayed], described: dict[str, str], who: str
) -> list[str]:
    book.locked(LEDGER)
    for own, text in described.items():
        book.keep_description(own, text)
    said: list[str] = []
    for account in sorted(accounts, key=lambda one: one.count("/")):  # wholes before their parts
        said += _account(book, origin, *accounts[account], who)
    _divisions(book, who)
    return said + [f"{one.name}: more is spent than its cap" for one in book.states() if one.over]


def _read(content: Mapping[str, Any]) -> tuple[str, dict[str, Replayed], dict[str, str]]:
    """The name of a ledger, its accounts and descriptions of mechanisms, if all hashes are right."""
    try:
        return _whole(content)
    except (KeyError, TypeError, AttributeError):
        raise ArgumentError("export", type(content).__name__, "what `export` gave") from None


def _whole(content: Mapping[str, Any]) -> tuple[str, dict[str, Replayed], dict[str, str]]:
    if content["format"] != FORMAT:
        raise ArgumentError("format", content["format"], f"{FORMAT}: this version reads no other")
    chains: dict[str, list[JournalEntry]] = {}
    for entry in map(JournalEntry.from_json, content["entries"]):
        chain = chains.setdefault(entry.account, [])
        if entry.number != len(chain) + 1 or entry.hash != entry.chained(chain[-1].hash if chain else ""):
            raise ArgumentError("export", entry.number, "whole: an entry was changed, dropped or moved")
        chain.append(entry)
    if content["heads"] != {name: chain[-1].hash for name, chain in chains.items()}:
        raise ArgumentError("export", len(content["entries"]), "whole: the last entries are missing")
    first = chains.pop(LEDGER)
    parents = {entry.key: entry.content["parent"] for entry in first if entry.event == "account"}
    if first[0].content["ledger"] != content["ledger"] or parents.keys() != chains.keys():
        raise ArgumentError("export", content["ledger"], "whole: an account is missing, or not opened there")
    described = {str(own): str(text) for own, text in content["mechanisms"].items()}
    for own, text in described.items():
        if digest_of(text) != own:
            raise ArgumentError("export", own, "whole: the description of a mechanism was changed")
    accounts = {name: replayed(chain) for name, chain in chains.items()}
    states = {name: state for name, (state, _) in accounts.items()}
    for name, wrong in misfits(states, lambda above, key: accounts[above][1].get(key)):
        raise ArgumentError("export", name, f"of a ledger that is whole: {wrong}")
    return content["ledger"], accounts, described


def _account(book: Book, origin: str, theirs: State, spends: dict[str, Spend], who: str) -> list[str]:
    if period_ahead(book, theirs):
        what = "spend here, by hand, what was spent there; or merge when it has begun"
        raise Refused(theirs.name, f"this window has not begun by our clock, and theirs was ahead: {what}")
    if book.state(theirs.name) is None:
        check_text("account", theirs.name, longest=1000)
        book.open(theirs.name, theirs.terms, theirs.cap, who, {"merged": origin})
    ours = book.locked(theirs.name)
    if (ours.terms, ours.parent) != (theirs.terms, theirs.parent) or _differ(ours.cap, theirs.cap):
        raise Refused(theirs.name, "both ledgers have it, with other terms or in another notion")
    if ours.keeps_all or theirs.keeps_all:
        raise Refused(theirs.name, "all of it is reserved for one release: charge or cancel that, then merge")
    if theirs.status != OPEN and ours.status not in (theirs.status, CLOSED):
        ours, _ = book.append(ours, None, theirs.status, "", {"merged": origin}, who)
    if ours.cap is None and theirs.cap is not None:
        ours, _ = book.append(ours, None, "notion", "", {"cap": theirs.cap.to_json()}, who)
    count, known = 0, dict[str, list[Spend]]()
    for spend in book.all_spends(theirs.name):
        known.setdefault(spend.hash, []).append(spend)
    for spend in sorted(spends.values(), key=lambda one: one.number):
        if is_division(spend.key):
            continue
        alike = known.get(spend.hash, [])
        if any(spend.digest != one.digest or spend.cost < one.cost for one in alike):
            raise Refused(
                theirs.name, f"the spend {spend.key!r} is one of ours, of something else or cheaper"
            )
        same = [one for one in alike if spend.drawn in (one.drawn, "") or not one.drawn]  # not drawn apart
        if same and _FURTHER[spend.state] <= _FURTHER[same[0].state]:
            continue
        ours = _taken(book, ours, same[0] if same else None, spend, origin, who)
        count += 1
    return [f"{theirs.name}: {count} spends taken in"] if count else []


def _differ(ours: Cap | None, theirs: Cap | None) -> bool:
    return ours is not None and theirs is not None and ours != theirs


def _taken(book: Book, state: State, before: Spend | None, theirs: Spend, origin: str, who: str) -> State:
    """One of theirs, at what it costs by our own reading if that is more; under another key where we have
    used its own for something else, or for another draw."""
    key = theirs.key if before is None else before.key
    if before is None and book.spend(state.name, key) is not None:
        key = f"{key}@{origin[:8]}:{theirs.drawn[:8] or theirs.hash[:8]}"
        while book.spend(state.name, key) is not None:  # somebody has made this one beforehand
            key += "'"
    assert state.cap is not None  # whoever has spent has a notion
    described = book.description(theirs.digest)
    mechanism = Mechanism.from_json(described["mechanism"])
    cost = max(theirs.cost, cost_of(mechanism, state.cap, Adjacency(described["adjacency"])))
    names = ("state", "digest", "plan", "time", "who", "note", "hash", "drawn")
    told = {name: getattr(theirs, name) for name in names}
    told |= {"cost": written(cost), "digests": dict(theirs.digests)}
    if before is not None and theirs.state == COMPLETE:
        book.forget(state.name, key)
    content = {"origin": origin, "spend": told, DESCRIBED: digest(book.text(theirs.digest).encode())}
    return book.append(state, before, "merged", key, content, who)[0]


def _divisions(book: Book, who: str) -> None:
    """A division holds the largest of what its parts may spend, or have spent: from the smallest parts up to
    the whole."""
    for name in sorted((one.name for one in book.states()), key=lambda one: -one.count("/")):
        part = book.locked(name)  # as it is now: what it holds for its own parts may just have grown
        if part.terms.part and part.cap is not None:
            key, cost = division_of(name), max(part.cap.limit, part.total)
            state, held = book.locked(part.parent), book.spend(part.parent, key)
            if held is None or held.cost < cost:
                book.append(state, held, "division", key, {"cost": written(cost), "merged": True}, who)
