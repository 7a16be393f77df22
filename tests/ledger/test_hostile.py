"""Hostile input: clear errors, nothing spent, no crash."""

import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from indistinct import Budget, Gaussian, Laplace, Mechanism, PureDP, from_json
from indistinct.errors import ArgumentError, Refused
from indistinct.ledger import Cap, JournalEntry, Ledger
from indistinct.ledger.events import AccountTerms

NASTY = [
    "x'; DROP TABLE accounts; --",
    'a" OR "1"="1',
    "%s %(key)s ? {0}",
    "名前 ünïcødé",
    "' UNION SELECT secret FROM hidden --",
]


@pytest.mark.parametrize("name", NASTY)
def test_names_are_values(ledger: Ledger, name: str) -> None:
    account = ledger.open_account(name.replace("=", ""), Budget(epsilon=1))
    account.reserve(Laplace(10), key=name, plan=name, note=name, who=name)
    account.charge(name)
    account.complete(name, {name: name}, content={name: name})
    account.journal("dry-run", {name: [name]})
    account.approve(name)
    part = account.part(name.replace("=", ""), division=name.replace("=", ""))
    part.spend(PureDP(0.01))
    found = ledger.account(account.name).find(name)
    assert (found.plan, found.note, found.who, found.digests) == (name, name, name, {name: name})
    assert len(ledger.accounts()) == 2 and ledger.verify() == []


@pytest.mark.parametrize("wrong", ["", "a\nb", "a\0b", "x" * 501, "\ud800", "\u202e", None, 3, b"a", ["a"]])
def test_text_that_cannot_be_shown_is_refused(small: Ledger, wrong) -> None:
    account = small.open_account("census", Budget(epsilon=1))
    for call in (
        lambda: small.open_account(wrong, Budget(epsilon=1)),
        lambda: account.reserve(Laplace(10), key=wrong),
        lambda: account.spend(Laplace(10), plan=wrong or 0),
        lambda: account.spend(Laplace(10), who=wrong or ""),
        lambda: account.spend(Laplace(10), digests={"a": wrong}),
        lambda: account.journal(wrong),
        lambda: account.approve(wrong),
        lambda: account.part(wrong, division="state"),
        lambda: account.find(wrong),
        lambda: small.account(wrong),
    ):
        with pytest.raises(ArgumentError):
            call()
    assert account.spent == 0 and len(account.entries()) == 1


@pytest.mark.parametrize("name", ["a/b", "a=b", " a", "a ", "/"])
def test_names_of_parts_are_not_forged(small: Ledger, name: str) -> None:
    with pytest.raises(ArgumentError):
        small.open_account(name, Budget(epsilon=1))


@pytest.mark.parametrize(
    "mechanism",
    [None, 3, "laplace(10)", {"mechanism": "laplace"}, Laplace, object(), math.inf],
)
def test_what_is_no_mechanism_is_refused_and_journalled(small: Ledger, mechanism) -> None:
    account = small.open_account("census", Budget(epsilon=1))
    with pytest.raises(Refused, match="mechanism must be"):
        account.spend(mechanism)
    assert account.spent == 0 and account.entries()[0].event == "refused"


def test_huge_and_tiny_numbers(small: Ledger) -> None:
    account = small.open_account("census", Budget(epsilon=1))
    for huge in (
        Laplace(1e-300),
        Laplace(5e-324),
        10**18 * Laplace(10),
        PureDP(1e308),
        10**300 * Laplace(1e9),
    ):
        with pytest.raises(Refused):
            account.spend(huge)
    assert account.spent == 0
    for tiny in (PureDP(5e-324), Laplace(1e308), Laplace(1e300, sensitivity=1e-20)):
        account.spend(tiny)
    assert 0 < account.spent < 1e-17 and account.spent.denominator <= 10**40
    for n in (
        3,
        7,
        11,
        13,
        17,
        19,
        23,
        29,
        31,
        37,
        41,
        43,
        47,
        53,
        59,
        61,
        67,
        71,
        73,
        79,
        83,
        89,
        97,
        101,
    ) * 3:
        account.spend(Laplace(n * 1e3 + 1))
    assert account.spent.denominator < 10**60 and small.verify() == []


@pytest.mark.parametrize(
    ("argument", "value"),
    [
        ("budget", 1.0),
        ("budget", {"epsilon": 1}),
        ("adjacency", "none"),
        ("approval", 1),
        ("refusals", 0),
        ("refusals", 1.5),
        ("renews", "day"),
        ("notion", 3),
    ],
)
def test_terms_are_checked(small: Ledger, argument: str, value) -> None:
    with pytest.raises(ArgumentError, match=argument):
        small.open_account("census", **{"budget": Budget(epsilon=1), argument: value})
    assert small.accounts() == []


@pytest.mark.parametrize("content", [{"a": {1, 2}}, {"a": object()}, 3, "text", {"a": "x" * 2_000_000}])
def test_content_is_json_of_modest_size(small: Ledger, content) -> None:
    account = small.open_account("census", Budget(epsilon=1))
    with pytest.raises(ArgumentError, match="content"):
        account.journal("dry-run", content)
    endless: dict = {}
    endless["again"] = endless
    with pytest.raises(ArgumentError, match="content"):
        account.journal("dry-run", endless)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda some: st.lists(some, max_size=3) | st.dictionaries(st.text(max_size=8), some, max_size=3),
    max_leaves=8,
)


@given(JSON, st.sampled_from(["account", "number", "time", "who", "event", "key", "content", "hash"]))
def test_forged_json_is_no_entry(value, field: str) -> None:
    true = JournalEntry("a", 1, "t", "w", "e", "k", "{}", "h").to_json()
    for data in (value, {**true, field: value}, {k: v for k, v in true.items() if k != field}):
        try:
            entry = JournalEntry.from_json(data)
        except ArgumentError:
            continue
        assert type(entry.number) is int and isinstance(entry.content, dict)
    for read in (Cap.from_json, from_json, Mechanism.from_json):
        with pytest.raises((ArgumentError, ValueError)):
            read(value)


def test_unknown_kinds_are_refused() -> None:
    for data in (
        {"mechanism": "os.system"},
        {"mechanism": "laplace", "scale": "1e9", "code": "x"},
        {"is": "Budget"},
    ):
        with pytest.raises(ArgumentError):
            Mechanism.from_json(data)
    with pytest.raises((ArgumentError, TypeError)):
        AccountTerms.from_json({**AccountTerms(Budget(epsilon=1)).to_json(), "free": True})


def test_replays_spend_nothing(ledger: Ledger) -> None:
    account = ledger.open_account("census", Budget(epsilon=1))
    for _ in range(5):
        account.spend(Laplace(10), key="k", digests={"f": "d"})
        account.reserve(Laplace(10), key="r")
    for _ in range(5):
        account.charge("r")
    for _ in range(5):
        account.complete("r", {"f": "d"})
    assert account.spent == PureDP(0.2).bound or float(account.spent) == 0.2
    assert [entry.event for entry in reversed(account.entries())] == [
        "opened",
        "spent",
        "reserved",
        "charged",
        "complete",
    ]


def test_a_description_is_read_again_for_ever(ledger: Ledger) -> None:
    account = ledger.open_account("census", Budget(epsilon=8, delta=1e-6))
    run = 100 * Gaussian(3).subsample(0.01) + Laplace(30)
    account.spend(run, key="k")
    told = json.loads(account.find("k").description)
    assert Mechanism.from_json(told["mechanism"]) == run
    orders, values = told["renyi"]["orders"], told["renyi"]["values"]
    assert orders[-1] == values[-1] == "inf" and values[2] == run.guarantee().renyi(2.0)
    assert "numpy" in account.entries()[0].content["versions"]
