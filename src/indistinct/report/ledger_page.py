"""The page of an account: what is left, how it was spent over time and by whom, what was refused, and what
all that was released tells, in every reading."""

import json
import math
from collections import defaultdict
from fractions import Fraction
from functools import lru_cache
from html import escape

from indistinct.adjacency import Adjacency
from indistinct.ledger import Account
from indistinct.ledger.amounts import NONE, Amount, read
from indistinct.ledger.amounts import short as short_amount
from indistinct.ledger.chain import JournalEntry
from indistinct.ledger.events import ANSWERS, State
from indistinct.ledger.notions import Cap, promise
from indistinct.mechanisms import Mechanism
from indistinct.numerics import rounding
from indistinct.report.ledger_charts import ByWhom, Spent, left_chart, people_chart, time_chart
from indistinct.report.ledger_data import entry_words, mechanism_words, report_delta
from indistinct.report.ledger_text import QUIET, facts, percent, when
from indistinct.report.page import document, guarantee_html
from indistinct.report.subject import Subject, explain
from indistinct.report.tables import ReadTable
from indistinct.report.text import foot, rounded_up, short

_MOST = 64
"""Rows of a table; the journal has them all."""
_SEEN = 2000
"""Of the newest entries, those in which attempts are looked for."""
_LONGEST = 600
_STEPS = 600
"""Of the line over time, about: more than a screen shows."""
_EXACT = (
    "The exact composition of all that was charged, in every reading. It holds if the mechanisms were chosen"
    " before their answers were seen:"
)
_HOW = (
    "Amounts are exact sums, rounded up where they are shown. What is reserved counts until it is cancelled;"
    " what is charged is never given back."
)


def ledger_subject(account: Account, delta: float | None = None) -> Subject:
    """What all that was charged tells: the exact composition, in every reading."""
    terms = account.terms
    return _explained(account.mechanism(), report_delta(terms) if delta is None else delta, terms.adjacency)


@lru_cache(maxsize=16)
def _explained(mechanism: Mechanism, delta: float, adjacency: Adjacency) -> Subject:
    """Readings of many different parts take seconds, and a service is asked for the same page again."""
    return explain(mechanism, delta=delta, adjacency=adjacency)


def ledger_page(account: Account, subject: Subject | None = None) -> str:
    """One HTML page that needs nothing else."""
    subject = ledger_subject(account) if subject is None else subject
    state = account.state()
    unit = "budget" if state.cap is None else state.cap.unit
    title = f"The privacy budget of {state.name}"
    told = "".join(f"<dt>{name}</dt><dd>{escape(text)}</dd>" for name, text in facts(state))
    people, data = _people(account, state), subject.data()
    body = (
        f'<header class="summary">\n<h1>{escape(title)}</h1>\n<dl>{told}</dl>\n</header>\n'
        f"<h2>What is left</h2>\n{_pictures(account, state, unit)}"
        f"<h2>Who spent it</h2>\n{people_chart(people, unit) if people else ''}{_people_table(people, unit)}"
        f"{_parts(account, state)}<h2>What was spent</h2>\n{_spends(account, unit)}"
        f"<h2>What else was asked and done</h2>\n{_attempts(account)}"
        f"<h2>What all of it can tell about {escape(state.terms.unit)}</h2>\n"
        f"<p>{_EXACT}</p>\n<p><code>{escape(_cut(data['expression']))}</code></p>\n"
        f"<p>{escape(_adaptive(account, subject))}</p>\n"
        f"{guarantee_html(subject, 'h3')}"
    )
    head = f"The journal ends with entry {state.number:,}, whose hash is {state.head}."
    return document(title, body, f"{_HOW} {head} {foot(data)}")


# -- pictures -------------------------------------------------------------------------------------


def _pictures(account: Account, state: State, unit: str) -> str:
    history = _history(account, state)
    drawn = ""
    if state.cap is not None and isinstance(state.cap.limit, Fraction):
        drawn = left_chart(state.spent, state.reserved, state.cap.limit, unit)
    return drawn + (time_chart(history, unit) if history else "<p>Nothing has been spent yet.</p>\n")


def _history(account: Account, state: State) -> list[Spent]:
    """What was spent or reserved, below the cap of that moment. Many spends are one step, at the time of the
    first of them: the line never lies below the truth."""
    run = account.ledger.book.store.run
    caps = run(
        "SELECT time, content FROM entries WHERE account = ? AND event IN ('opened', 'notion', 'raised')"
        " ORDER BY number",
        state.name,
    )
    spends = run(
        "SELECT MIN(time), cost, COUNT(*) FROM spends WHERE account = ? AND state <> 'cancelled'"
        f" GROUP BY number / {max(state.number // _STEPS, 1)}, cost",
        state.name,
    )
    steps = [(time, 0.0, json.loads(content)["cap"]) for time, content in caps]
    steps += [(time, count * _number(read(cost)), None) for time, cost, count in spends]
    history, total, limit = [], 0.0, None
    for time, cost, cap in sorted(steps, key=lambda step: step[0]):
        total += cost
        limit = limit if cap is None else _finite(Cap.from_json(cap).limit)
        history.append(Spent(time, total, limit))
    return history if spends else []


def _finite(amount: Amount) -> float | None:
    return _number(amount) if isinstance(amount, Fraction) else None


def _number(amount: Amount) -> float:
    """For a picture, or to be rounded up: never below."""
    if not isinstance(amount, Fraction):
        return math.inf
    return rounding.rounded_up(amount)


# -- tables ---------------------------------------------------------------------------------------


def _people(account: Account, state: State) -> list[ByWhom]:
    """By whom, most first."""
    run = account.ledger.book.store.run
    counted = run(
        "SELECT who, cost, COUNT(*), MAX(time) FROM spends WHERE account = ? AND state <> 'cancelled'"
        " GROUP BY who, cost",
        state.name,
    )
    refused = run(
        "SELECT who, COUNT(*), MAX(time) FROM entries WHERE account = ? AND event = 'refused' GROUP BY who",
        state.name,
    )
    found: dict[str, tuple[int, Amount, int, str]] = defaultdict(lambda: (0, NONE, 0, ""))
    for who, cost, count, last in counted:
        spends, total, refusals, before = found[who]
        found[who] = (spends + count, total + count * read(cost), refusals, max(before, last))
    for who, count, last in refused:
        spends, total, refusals, before = found[who]
        found[who] = (spends, total, refusals + count, max(before, last))
    people = [
        ByWhom(who, spends, total, refusals, last) for who, (spends, total, refusals, last) in found.items()
    ]
    return sorted(people, key=lambda one: (-one.cost, one.who))


def _people_table(people: list[ByWhom], unit: str) -> str:
    rows = [
        [one.who, f"{one.spends:,}", short_amount(one.cost), f"{one.refused:,}", when(one.last)]
        for one in people
    ]
    return _table(["who", "spends", unit, "refused", "last seen (UTC)"], rows, 1)


def _parts(account: Account, state: State) -> str:
    parts = account.ledger.book.states(account.name)
    if not parts:
        return ""
    rows = [[one.name, "" if one.cap is None else one.cap.words, percent(one), one.status] for one in parts]
    return f"<h2>Parts and windows</h2>\n{_table(['part', 'cap', 'used', 'status'], rows, 1)}"


def _spends(account: Account, unit: str) -> str:
    rows = [
        [
            when(one.time),
            one.who,
            mechanism_words(one),
            one.note or one.key,
            one.state,
            short_amount(one.cost),
        ]
        for one in account.spends(_MOST)
    ]
    return (
        _table(["time (UTC)", "who", "what", "note or key", "state", unit], rows, 4)
        or "<p>Nothing yet.</p>\n"
    )


def _attempts(account: Account) -> str:
    """What was refused, checked, cancelled, approved: who asked what, and whether the answer could tell."""
    entries = [one for one in account.entries(_SEEN) if one.event not in QUIET][:_MOST]
    rows = [[when(one.time), one.who, one.event, entry_words(one), _told(one)] for one in entries]
    return _table(["time (UTC)", "who", "event", "about", "told"], rows, 4) or "<p>Nothing yet.</p>\n"


def _told(entry: JournalEntry) -> str:
    """What the answer could have told."""
    return "of the data" if entry.content.get(ANSWERS) is True else "nothing"


def _table(names: list[str], rows: list[list[str]], about: int) -> str:
    return ReadTable(tuple(names), about, tuple(map(tuple, rows))).to_html(_MOST) if rows else ""


def _adaptive(account: Account, subject: Subject) -> str:
    """What holds if each mechanism was chosen from the answers before it."""
    told, budget = "If mechanisms were chosen from earlier answers,", account.terms.budget
    if budget is not None:
        return f"{told} what holds is the promise of the cap: {promise(budget)}."
    epsilon = f"epsilon {rounded_up(account.odometer(subject.delta))} at delta {short(subject.delta)}"
    return f"{told} what holds is {epsilon}, at whatever moment somebody stops (an odometer)."


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"
