"""Accounts in SQLite and PostgreSQL: two phases, keys, refusals, owners, parts, windows, files."""

import math
import os
import shutil
from fractions import Fraction
from pathlib import Path

import pytest

from indistinct import Budget, Gaussian, Laplace, PureDP
from indistinct.errors import ArgumentError, FileError, Refused
from indistinct.ledger import Ledger
from indistinct.ledger.parts import period

HALF = Laplace(2)


def events(account) -> list[str]:
    return [entry.event for entry in reversed(account.entries())]


def test_two_phases(ledger: Ledger) -> None:
    account = ledger.open_account("census", Budget(epsilon=1))
    spend = account.reserve(HALF, key="k", plan="p", note="why")
    assert (spend.state, spend.cost, account.reserved, account.spent) == (
        "reserved",
        Fraction(1, 2),
        Fraction(1, 2),
        0,
    )
    assert account.reserve(HALF, key="k", plan="p") == spend  # the same key: the same spend
    secret = account.charge("k")
    assert len(secret) == 32 and account.charge("k") == secret  # after a crash: the same noise
    assert (account.reserved, account.spent) == (0, Fraction(1, 2))
    with pytest.raises(Refused, match="stays charged"):
        account.cancel("k", "I do not like it")
    done = account.complete("k", {"ages.csv": "d1"}, content={"rows": 3})
    assert done == account.complete("k", {"ages.csv": "d1"}) == account.find("k")
    assert done.mechanism == HALF and done.plan == "p" and done.note == "why"
    for again in (lambda: account.complete("k", {"ages.csv": "d2"}), lambda: account.charge("k")):
        with pytest.raises(Refused, match="complete"):
            again()
    assert ledger.book.secret("census", "k") is None
    assert events(account) == ["opened", "reserved", "charged", "refused", "complete", "refused", "refused"]
    assert ledger.verify() == []


def test_what_was_drawn_is_never_given_back(ledger: Ledger) -> None:
    """Reserve, charge, read the secret, and never complete: it stays charged."""
    account = ledger.open_account("census", Budget(epsilon=1))
    for key in ("a", "b"):
        account.reserve(HALF, key=key)
    account.charge("a")
    account.cancel("b", "not needed")
    account.cancel("b", "told twice")
    assert (account.spent, account.reserved, account.left) == (Fraction(1, 2), 0, Fraction(1, 2))
    with pytest.raises(Refused, match="cancelled"):
        account.charge("b")
    account.reserve(HALF, key="b")  # a cancelled key may be asked again
    with pytest.raises(Refused, match=r"50 %.* asked|was asked \(1e-13 % of the budget\), and 0 % is left"):
        account.spend(PureDP(1e-15))


def test_keys_are_not_used_twice(ledger: Ledger) -> None:
    account = ledger.open_account("census", Budget(epsilon=1))
    first = account.spend(Laplace(10), key="k")
    assert account.spend(Laplace(10), key="k") == first and account.spent == Fraction(1, 10)
    for other in (
        lambda: account.spend(Laplace(20), key="k"),
        lambda: account.spend(Laplace(10), key="k", plan="other"),
        lambda: account.reserve(Laplace(11), key="k"),
        lambda: account.charge("k"),
        lambda: account.charge("none"),
        lambda: account.cancel("none", "x"),
        lambda: account.complete("division:x", {}),
    ):
        with pytest.raises(Refused):
            other()
    account.reserve(Laplace(10), key="r")
    with pytest.raises(Refused, match="reserved"):
        account.spend(Laplace(10), key="r")
    assert account.spent + account.reserved == Fraction(2, 10)
    assert account.spend(Laplace(10)).key != account.spend(Laplace(10)).key


def test_terms_stay(ledger: Ledger) -> None:
    account = ledger.open_account("census", Budget(epsilon=1), unit="one person")
    assert ledger.open_account("census", Budget(epsilon=1), unit="one person").name == account.name
    with pytest.raises(Refused, match="other terms"):
        ledger.open_account("census", Budget(epsilon=2), unit="one person")
    with pytest.raises(Refused, match="neighbours"):
        account.spend(HALF, adjacency="replace-one")
    with pytest.raises(Refused, match="adjacency"):
        account.spend(Gaussian(3).subsample(2, of=9))
    account.raise_cap(Budget(epsilon=1.5))
    assert account.left == Fraction(3, 2) and account.terms.budget == Budget(epsilon=1.5)
    with pytest.raises(Refused, match="not more"):
        account.raise_cap(Budget(epsilon=1))
    with pytest.raises(ArgumentError, match="confirm"):
        account.raise_cap(Budget(epsilon=100))
    account.close()
    with pytest.raises(Refused, match="closed"):
        account.spend(HALF)
    with pytest.raises(ArgumentError, match="census"):
        ledger.account("cens")


def test_refusals_that_tell_lock_the_account(ledger: Ledger) -> None:
    account = ledger.open_account("census", Budget(epsilon=1), refusals=3)
    account.journal("dry-run", {"plan": "p"})
    account.journal("run-refused", told=True)
    account.reserve(HALF, key="a")
    account.cancel("a", "a record is outside", told=True)
    account.reserve(HALF, key="b")
    account.journal("run-refused", told=True)
    assert account.state().status == "locked"
    for locked in (lambda: account.spend(HALF), lambda: account.charge("b")):
        with pytest.raises(Refused, match="locked"):
            locked()
    account.unlock(who="owner")
    account.charge("b")
    assert account.state().told == 0
    with pytest.raises(ArgumentError, match="writes this one itself"):
        account.journal("spent")
    assert ledger.verify() == []


def test_plans_are_approved_first(ledger: Ledger) -> None:
    account = ledger.open_account("census", Budget(epsilon=1), approval=True)
    for plan in ("", "p"):
        with pytest.raises(Refused, match="approved"):
            account.reserve(HALF, key="k", plan=plan)
    account.approve("p", who="owner")
    account.approve("p")
    assert account.reserve(HALF, key="k", plan="p").state == "reserved"
    assert events(account) == ["opened", "refused", "refused", "approved", "reserved"]


def test_divisions_cost_their_dearest_part(ledger: Ledger) -> None:
    whole = ledger.open_account("census", Budget(epsilon=1))
    parts = [
        whole.part(name, division="state", cap=Budget(epsilon=cap))
        for name, cap in (("CA", 0.25), ("NY", 0.5))
    ]
    assert whole.left == Fraction(1, 2)
    for part in parts:
        part.spend(Laplace(4))
    with pytest.raises(Refused):
        parts[0].spend(Laplace(4))
    whole.spend(HALF)
    with pytest.raises(Refused, match="does not fit"):
        whole.part("TX", division="state", cap=Budget(epsilon=0.75))
    assert whole.part("TX", division="state").left == Fraction(1, 2)  # what the division holds
    assert whole.part("CA", division="state").name == parts[0].name
    assert whole.guarantee().pure() == pytest.approx(0.75)  # one state at a time
    other = ledger.open_account("replaced", Budget(epsilon=1), adjacency="replace-one")
    with pytest.raises(Refused, match="add/remove"):
        other.part("CA", division="state")
    with pytest.raises(Refused, match="budget of its own"):
        parts[0].raise_cap(Budget(epsilon=2))
    assert ledger.verify() == []


def test_a_part_keeps_to_its_cap_without_exception(small: Ledger) -> None:
    """A block meets (epsilon, delta), not the cap that the whole has given away."""
    whole = small.open_account("census", Budget(epsilon=1, delta=1e-6), notion="gdp")
    part = whole.part("CA", division="state", cap=Budget(epsilon=0.5, delta=1e-6))
    from indistinct import ApproxDP

    with pytest.raises(Refused):
        part.spend(ApproxDP(0.5, 1e-6))


def test_windows_renew(ledger: Ledger) -> None:
    ledger.book.clock = lambda: "2097-10-31T23:59:59.000000+00:00"
    account = ledger.open_account("visits", Budget(epsilon=1), renews="month")
    account.reserve(PureDP(1), key="k")
    ledger.book.clock = lambda: "2097-11-01T00:00:00.000000+00:00"
    account.charge("k")  # in the window that it was asked in
    account.spend(PureDP(1), key="n")
    ledger.book.clock = lambda: "2097-10-01T00:00:00.000000+00:00"  # set back: no window opens again
    with pytest.raises(Refused, match="0 % is left"):
        account.spend(PureDP(1))
    assert (
        account.find("k").account == "visits/month=2097-10"
        and account.find("n").account == "visits/month=2097-11"
    )
    account.close()
    ledger.book.clock = lambda: "2097-12-01T00:00:00.000000+00:00"
    assert 2 <= account.guarantee().pure() < 2.001  # of both windows, which are about the same people
    with pytest.raises(Refused, match="closed"):
        account.spend(PureDP(1))
    assert period("2026-01-01", "quarter") == "2026-Q1" and period("2026-12-31", "quarter") == "2026-Q4"
    assert ledger.verify() == []


def test_time_does_not_go_back(ledger: Ledger) -> None:
    account = ledger.open_account("census", Budget(epsilon=1))
    ledger.book.clock = lambda: "2199-01-01T00:00:00.000000+00:00"
    account.spend(Laplace(10))
    ledger.book.clock = lambda: "1970-01-01T00:00:00.000000+00:00"
    account.spend(Laplace(10))
    times = [entry.time for entry in reversed(account.entries())]
    assert times == sorted(times) and times[-1].startswith("2199")
    assert ledger.verify() == []


def test_odometers(ledger: Ledger) -> None:
    account = ledger.open_account("web", None)
    assert account.odometer(1e-6) == 0 and account.left == math.inf
    for scale in (10, 5, 3):
        account.spend(Gaussian(scale))
    assert account.cap.notion.value == "gdp" and account.left == math.inf
    assert account.odometer(1e-6) > account.guarantee().epsilon(1e-6) > 0
    assert account.odometer(1e-3) < account.odometer(1e-6) < account.odometer(0) == math.inf
    pure = ledger.open_account("pure", None, notion="pure")
    pure.spend(PureDP(0.3))
    assert pure.odometer(0) == pytest.approx(0.3)
    with pytest.raises(ArgumentError, match="order"):
        ledger.open_account("renyi", None, notion="renyi")


def test_what_was_released_as_one(ledger: Ledger) -> None:
    account = ledger.open_account("census", Budget(epsilon=4, delta=1e-6))
    assert account.guarantee().epsilon(0) == 0
    for scale in (20, 20, 20, 30):
        account.spend(Gaussian(scale))
    account.reserve(Gaussian(20), key="later")  # nothing was drawn
    truth = (3 * Gaussian(20) + Gaussian(30)).guarantee()
    assert account.guarantee().epsilon(1e-6) == pytest.approx(truth.epsilon(1e-6), rel=1e-9)
    assert len(account.spends(limit=2)) == 2 and account.spends(limit=1, offset=1)[0].mechanism == Gaussian(
        30
    )
    assert "of epsilon 4 at delta 1e-06" in str(account)


def test_accounts_belong_to_data(ledger: Ledger, tmp_path: Path) -> None:
    account = ledger.open_account("census", Budget(epsilon=1))
    other = ledger.open_account("other", Budget(epsilon=1))
    first, copy, changed = (tmp_path / name for name in ("a.csv", "b.csv", "c.csv"))
    first.write_text("age\n1\n")
    account.add_files([first])
    shutil.copy(first, copy)
    changed.write_text("age\n2\n")
    os.utime(first)
    assert ledger.recognise([first]).name == ledger.recognise([copy]).name == "census"
    assert ledger.recognise([changed]) is None
    first.write_text("age\n1\n3\n")  # more data, in the same place
    assert ledger.recognise([first]).name == "census"
    assert ledger.recognise([changed], name="other").name == "other"
    with pytest.raises(Refused, match="data of the account 'census'"):
        ledger.recognise([copy], name="other")
    with pytest.raises(Refused, match="data of the account 'census'"):
        other.add_files([copy])
    other.add_files([changed])
    with pytest.raises(ArgumentError, match="of one account"):
        ledger.recognise([copy, changed])
    with pytest.raises(FileError):
        ledger.recognise([tmp_path / "none.csv"])
    assert ledger.verify() == []


def test_what_is_closed_is_not_unlocked_and_promises_are_words(small: Ledger) -> None:
    account = small.open_account("both", Budget(epsilon=2, delta=1e-6))
    assert str(account) == "both: nothing spent of epsilon 2 at delta 1e-6"
    account.close()
    with pytest.raises(Refused, match="closed, for good"):
        account.unlock()
    assert account.state().status == "closed" and small.verify() == []
