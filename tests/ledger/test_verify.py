"""Every way to change a ledger by hand is found; two ledgers are merged without counting anything twice."""

import copy
import json
import shutil
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest

from indistinct import Budget, Gaussian, Laplace
from indistinct.errors import ArgumentError, Refused
from indistinct.guarantees import ApproxDP
from indistinct.ledger import JournalEntry, Ledger, signed_heads
from indistinct.ledger.chain import canonical
from indistinct.ledger.kept import keep
from indistinct.mechanisms import Stated
from indistinct.web.tokens import issue, revoke


@pytest.fixture
def busy(small: Ledger, tmp_path: Path) -> Ledger:
    account = small.open_account("census", Budget(epsilon=3, delta=1e-6))
    for scale in (20, 30):
        account.spend(Gaussian(scale))
    account.reserve(Gaussian(40), key="k")
    account.charge("k")
    account.approve("p")
    keep(account, "k", {"asked": b"what it is for"}, ["of these data"])
    (tmp_path / "census.csv").write_text("age\n31\n")
    account.add_files([tmp_path / "census.csv"])
    for name in ("ana", "eve"):
        issue(small, name, "analyst", days=1)
    revoke(small, "eve")
    small.open_account("pure", Budget(epsilon=1)).part("CA", division="state", cap=Budget(epsilon=0.5)).spend(
        Laplace(4)
    )
    assert small.verify() == []
    return small


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE entries SET number = 100 WHERE account = 'census' AND number = 3",
        "DELETE FROM entries WHERE account = 'census'",
        "DELETE FROM mechanisms",
        "UPDATE mechanisms SET description = replace(description, '[', '[0.1, ')",
        "INSERT INTO approvals VALUES ('census', 'mine', 'me')",
        "INSERT INTO approvals VALUES ('nobody', 'mine', 'me')",
        "INSERT INTO files VALUES ('census', 'd', '/p')",
        "INSERT INTO files SELECT account, digest, '/other' FROM files",
        "INSERT INTO hidden VALUES ('census', '#2', 'x')",
        "INSERT INTO hidden VALUES ('nobody', 'k', 'x')",
        "INSERT INTO labels VALUES ('census', 'mine', 'k')",
        "INSERT INTO kept VALUES ('census', 'k', 'read', 'x')",
        "INSERT INTO tokens VALUES ('d', 'me', 'owner', '', '9999', '')",
        "UPDATE tokens SET revoked = '' WHERE name = 'eve'",
        "UPDATE files SET account = 'pure'",
        "UPDATE accounts SET status = 'locked' WHERE name = ''",
        "UPDATE accounts SET cap = replace(cap, 'gdp', 'zcdp') WHERE name = 'census'",
        "UPDATE accounts SET total = '1/0' WHERE name = 'census'",
        "UPDATE spends SET digests = '{\"a\":\"b\"}' WHERE key = '#2'",
        "CREATE TRIGGER t AFTER INSERT ON spends BEGIN UPDATE accounts SET total = '0'; END",
    ],
)
def test_a_change_by_hand_is_found(busy: Ledger, change: str) -> None:
    busy.book.store.run(change)
    busy.book._seen.clear()
    assert busy.verify()


def test_whatever_is_changed_or_removed_is_found(busy: Ledger) -> None:
    """Every value of every table, and every row."""
    run, missed, count = busy.book.store.run, [], 0
    tables = [name for (name,) in run("SELECT name FROM sqlite_master WHERE type = 'table'")]
    for table in sorted(set(tables) - {"ledger_version"}):  # of another version it is not opened
        columns = [row[1] for row in run(f"PRAGMA table_info({table})")]
        rows = run(f"SELECT rowid, {', '.join(columns)} FROM {table}")
        assert rows, table
        for row, *values in rows:
            edits = [f"DELETE FROM {table} WHERE rowid = {row}"]
            for column, value in zip(columns, values, strict=True):
                other = f"{column} + 1000" if isinstance(value, int) else f"coalesce({column}, '') || 'x'"
                edits.append(f"UPDATE {table} SET {column} = {other} WHERE rowid = {row}")
            for edit in edits:
                run("SAVEPOINT before")
                run(edit)
                busy.book._seen.clear()
                missed += [] if busy.verify() else [edit]
                run("ROLLBACK TO before")
                count += 1
    assert count > 250 and not missed
    assert busy.verify() == []


def rehash(ledger: Ledger) -> None:
    """What somebody who can write to the database can do: a chain that is whole again."""
    store, head = ledger.book.store, ""
    for entry in list(ledger.book.all_entries("census")):
        head = entry.chained(head)
        store.run(
            "UPDATE entries SET hash = ? WHERE account = ? AND number = ?", head, "census", entry.number
        )


def test_receipts_and_signatures_find_what_hashes_cannot(busy: Ledger) -> None:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    key = Ed25519PrivateKey.generate()
    account = busy.account("census")
    receipt, signed = account.receipt("k"), busy.sign(key.private_bytes_raw())
    heads = signed_heads(json.loads(json.dumps(signed)), key.public_key().public_bytes_raw())
    assert busy.verify([receipt, *heads]) == []
    busy.book.store.run("UPDATE entries SET who = 'nobody' WHERE account = 'census' AND number = 3")
    rehash(busy)
    assert any("receipt" in one for one in busy.verify([receipt]))
    assert any("receipt" in one for one in busy.verify(heads))
    for forged in ({**signed, "heads": heads[1:]}, {**signed, "signature": "00" * 64}, {}):
        with pytest.raises(ArgumentError, match="signature"):
            signed_heads(forged, key.public_key().public_bytes_raw())


def test_a_cost_that_was_counted_too_low_is_found(busy: Ledger) -> None:
    """Also where every hash is right."""
    store = busy.book.store
    store.run("UPDATE entries SET content = replace(content, '1/400', '1/900') WHERE account = 'census'")
    rehash(busy)
    busy.book._seen.clear()
    assert any("cost more than was counted" in one for one in busy.verify())


def two(tmp_path: Path) -> tuple[Ledger, Ledger]:
    ledgers = Ledger.open(tmp_path / "a.db", who="a"), Ledger.open(tmp_path / "b.db", who="b")
    for ledger in ledgers:
        ledger.open_account("census", Budget(epsilon=1))
    return ledgers


def test_two_hosts_are_merged(tmp_path: Path) -> None:
    here, there = two(tmp_path)
    here.account("census").spend(Laplace(2), key="same")
    there.account("census").spend(Laplace(4), key="same")
    there.account("census").reserve(Laplace(10), key="later")
    there.open_account("other", Budget(epsilon=1)).part("CA", division="state").spend(Laplace(5))
    assert here.merge(there) == ["census: 2 spends taken in", "other/state=CA: 1 spends taken in"]
    account = here.account("census")
    assert account.spent == Fraction(3, 4) and account.reserved == Fraction(1, 10)
    assert here.account("other").left == 0
    assert here.merge(json.loads(json.dumps(there.export()))) == []  # again: nothing new
    there.account("census").charge("later")
    there.account("census").complete("later", {"f": "d"})
    here.merge(there)
    assert account.spent == Fraction(17, 20) and account.reserved == 0
    with pytest.raises(Refused, match="complete"):
        account.charge("later")
    assert there.merge(here) and there.account("census").spent == Fraction(17, 20)
    assert here.merge(there) == there.merge(here) == []
    assert here.verify() == there.verify() == []


def test_merged_ledgers_may_be_over_the_cap_and_then_take_nothing(tmp_path: Path) -> None:
    here, there = two(tmp_path)
    for ledger in (here, there):
        ledger.account("census").spend(Laplace(1))
    assert "census: more is spent than its cap" in here.merge(there)
    assert here.account("census").spent == 2 and here.account("census").left == 0
    with pytest.raises(Refused):
        here.account("census").spend(Laplace(1e9))
    assert here.verify() == []


def test_a_copy_that_was_drawn_from_twice_counts_twice(tmp_path: Path) -> None:
    here, _ = two(tmp_path)
    account = here.account("census")
    account.spend(Laplace(10), key="before")
    account.reserve(Laplace(4), key="k")
    account.reserve(Laplace(8), key="c")
    here.book.store.run("PRAGMA wal_checkpoint(TRUNCATE)")
    shutil.copy(tmp_path / "a.db", tmp_path / "copy.db")
    with Ledger.open(tmp_path / "copy.db") as other:
        other.account("census").charge("k")
        other.account("census").charge("c")
        assert account.charge("k") != other.account("census").charge("k")  # two draws
        account.cancel("c", "not here")  # but there it was drawn
        for _ in range(2):
            here.merge(other)
            assert account.spent == Fraction(1, 10) + 2 * Fraction(1, 4) + Fraction(1, 8)
        other.account("census").complete("k", {"f": "d"})
        here.merge(other)
        assert account.spent == Fraction(1, 10) + 2 * Fraction(1, 4) + Fraction(1, 8) and here.verify() == []


def test_forged_exports_are_refused(tmp_path: Path) -> None:
    here, there = two(tmp_path)
    there.account("census").spend(Laplace(2), key="k")
    true = json.loads(json.dumps(there.export()))

    def forged(change) -> dict:
        content = copy.deepcopy(true)
        change(content)
        return content

    changes = [
        lambda c: c.update(format=2),
        lambda c: c.pop("ledger"),
        lambda c: c.update(ledger="me"),
        lambda c: c["entries"].pop(),
        lambda c: c["entries"].pop(0),
        lambda c: c["entries"].reverse(),
        lambda c: c["entries"][-1]["content"].update(cost="0"),
        lambda c: c["entries"][-1].update(number="3"),
        lambda c: c["entries"].append({"account": "x"}),
        lambda c: c.update(entries={}),
        lambda c: c["mechanisms"].update({next(iter(c["mechanisms"])): "{}"}),
        lambda c: c["mechanisms"].update(x="{}"),
        lambda c: c.update(mechanisms=None),
    ]
    for change in changes:
        with pytest.raises(ArgumentError):
            here.merge(forged(change))
    for nothing in ({}, [], None, "x", 3):
        with pytest.raises(ArgumentError):
            here.merge(nothing)

    def cheaper(content: dict) -> None:  # with all hashes right: a spend that says that it cost nothing
        entries = [entry for entry in content["entries"] if entry["account"] == "census"]
        entries[-1]["content"]["cost"] = "0"
        from indistinct.ledger import JournalEntry

        entries[-1]["hash"] = JournalEntry.from_json(entries[-1]).chained(entries[-2]["hash"])
        content["heads"]["census"] = entries[-1]["hash"]

    assert here.account("census").spent == 0
    here.merge(forged(cheaper))
    assert here.account("census").spent == Fraction(1, 2)  # read again
    other = Ledger.open(tmp_path / "c.db")
    other.open_account("census", Budget(epsilon=2))
    with pytest.raises(Refused, match="other terms"):
        here.merge(other)
    assert here.verify() == []


def test_nothing_is_merged_beside_an_infinite_reservation(tmp_path: Path) -> None:
    """Cancelled, it leaves nothing: what was merged in would be forgotten."""
    here, there = Ledger.open(tmp_path / "a.db"), Ledger.open(tmp_path / "b.db")
    for ledger in (here, there):
        ledger.open_account("census", Budget(epsilon=1, delta=1e-6), notion="gdp")
    here.account("census").reserve(Stated(ApproxDP(1, 1e-6)), key="all")
    there.account("census").spend(Gaussian(4.5))
    for one, other in ((here, there), (there, here)):
        with pytest.raises(Refused, match="charge or cancel"):
            one.merge(other)
    here.account("census").cancel("all", "not now")
    here.merge(there)
    assert here.account("census").spent == there.account("census").spent > 0
    assert here.verify() == []


def test_a_spend_of_ours_does_not_come_back_cheaper(tmp_path: Path) -> None:
    """An export with all hashes right, in which our own spend is another mechanism, or costs less."""
    here, there = two(tmp_path)
    account = here.account("census")
    account.reserve(Laplace(1.25), key="k")
    account.charge("k")
    ours = account.find("k")
    cheap = there.account("census").spend(Laplace(1e9))
    assert ours is not None
    true = json.loads(json.dumps(there.export()))
    last = next(one for one in true["entries"] if (one["account"], one["event"]) == ("census", "opened"))
    names = ("plan", "time", "who", "note", "hash", "drawn")
    told = {name: getattr(ours, name) for name in names} | {"state": "complete", "digests": {}}
    others = [one for one in true["entries"] if one["account"] != "census" or one is last]
    for digest, cost in ((cheap.digest, "1/1000000000"), (ours.digest, "1/2"), (cheap.digest, "4/5")):
        spend = told | {"digest": digest, "cost": cost}
        content = canonical({"origin": "there", "spend": spend})
        made = JournalEntry("census", 2, ours.time, "me", "merged", "k", content)
        made = replace(made, hash=made.chained(last["hash"]))
        heads = {**true["heads"], "census": made.hash}
        with pytest.raises(Refused, match="one of ours"):
            here.merge({**true, "entries": [*others, made.to_json()], "heads": heads})
    assert account.spent == Fraction(4, 5) and here.verify() == []


def test_exports_have_no_secrets(busy: Ledger) -> None:
    secret = busy.account("census").charge("k")
    text = json.dumps(busy.export())
    assert secret.hex() not in text and busy.files_key.key.hex() not in text and repr(secret) not in text
