"""Accounts of a ledger as tables for a terminal."""

from collections.abc import Sequence
from typing import Any

from indistinct.ledger import Spend
from indistinct.ledger.amounts import short as short_amount
from indistinct.ledger.chain import JournalEntry
from indistinct.ledger.events import State
from indistinct.report.ledger_data import account_data, entry_words, mechanism_words, share
from indistinct.report.text import rounded_up

_WIDEST = 48
QUIET = {"reserved", "spent", "charged", "complete"}
"""Entries that are told as spends."""


def accounts_text(states: Sequence[State]) -> str:
    """All accounts, a line each."""
    if not states:
        return "No account is open yet: indistinct ledger open."
    rows = []
    for state in states:
        data = account_data(state)
        kept = "" if not state.reserved else data["reserved_words"]
        left = data["left_words"] or ("no cap" if state.terms.budget is None else "all of it")
        rows.append(
            [state.name, data["promise"], data["spent_words"], kept, left, percent(state), state.status]
        )
    return aligned(["account", "promise", "spent", "reserved", "left", "used", "status"], rows)


def account_text(state: State, spends: Sequence[Spend], entries: Sequence[JournalEntry]) -> str:
    """One account: its terms, its last spends and its last attempts."""
    rows = [[name, value] for name, value in facts(state)]
    parts = [aligned([], rows)]
    if spends:
        told = [
            [when(one.time), one.who, mechanism_words(one), short_amount(one.cost), one.state, one.key]
            for one in spends
        ]
        unit = "cost" if state.cap is None else f"cost ({state.cap.unit})"
        parts.append("Last spends\n" + aligned(["time (UTC)", "who", "what", unit, "state", "key"], told))
    attempts = [one for one in entries if one.event not in QUIET]
    if attempts:
        told = [[when(one.time), one.who, one.event, entry_words(one)] for one in attempts]
        parts.append("Last attempts and changes\n" + aligned(["time (UTC)", "who", "event", "about"], told))
    return "\n\n".join(parts)


def facts(state: State) -> list[tuple[str, str]]:
    """What stands at the top of every account: of a terminal's, and of the page."""
    data, terms, cap = account_data(state), state.terms, state.cap
    kept = "decided by the first mechanism that is asked" if cap is None else f"{cap.words} ({cap.theorem})"
    found = [
        ("Account", state.name + ("" if state.status == "open" else f" ({state.status})")),
        ("Promise", f"{data['promise']}, for {terms.unit} ({terms.adjacency.value})"),
        ("Kept by", kept),
        ("Spent", data["spent_words"]),
        ("Reserved", data["reserved_words"] if state.reserved else ""),
        (
            "Left",
            f"{data['left_words']} ({percent(state)} is spent or reserved)" if data["left_words"] else "",
        ),
        ("Plans", "must be approved by an owner" if terms.approval else ""),
        ("Refusals", f"{state.told} of {terms.refusals} that may tell something" if state.told else ""),
        ("Renews", f"every {terms.renews}: the promise is for each" if terms.renews else ""),
        ("Journal", f"{state.number:,} entries, the last at {when(state.time)} UTC"),
    ]
    return [(name, value) for name, value in found if value]


def percent(state: State) -> str:
    """How much of the cap is used; empty without one."""
    part = share(state)
    return "" if part is None else f"{rounded_up(100 * part, 3)} %"


def when(time: str) -> str:
    """A moment, to the second."""
    return time[:19].replace("T", " ")


def aligned(names: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
    """Columns below each other; long texts are cut, and nothing moves a terminal's cursor.

    >>> print(aligned(["name", "left"], [["census", 1], ["b", 22]]))
    name    left
    census  1
    b       22
    """
    cells = [[_cell(text, last=place == len(row) - 1) for place, text in enumerate(row)] for row in rows]
    table = [list(names), *cells] if names else cells
    widths = [max(len(row[place]) for row in table) for place in range(len(table[0]))]
    return "\n".join(
        "  ".join(f"{text:<{width}}" for text, width in zip(row, widths, strict=True)).rstrip()
        for row in table
    )


def _cell(text: Any, last: bool) -> str:
    plain = "".join(letter if letter.isprintable() else "\N{REPLACEMENT CHARACTER}" for letter in str(text))
    return plain if last or len(plain) <= _WIDEST else plain[: _WIDEST - 1] + "…"
