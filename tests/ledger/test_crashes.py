"""Many processes, killed ones, a full disk, a file that is replaced: nothing lost or doubled, never over."""

import multiprocessing
import os
import resource
import shutil
import signal
import sqlite3
import subprocess
import sys
import threading
from fractions import Fraction
from pathlib import Path

import pytest

from indistinct import Budget, Laplace
from indistinct.errors import FileError, Refused
from indistinct.ledger import Ledger

PROCESSES = multiprocessing.get_context("fork")
STEPS = ["begun", "written", "committed but not durable", "committed"]


def spender(address: str, name: str, times: int, told) -> None:
    done = []
    with Ledger.open(address) as ledger:
        account = ledger.account("census")
        for turn in range(times):
            try:
                account.spend(Laplace(100), key=f"{name}-{turn}")
                done.append(f"{name}-{turn}")
            except Refused:
                pass
    told.put(done)


def run(*targets) -> None:
    for one in targets:
        one.start()
    for one in targets:
        one.join(600)
    assert all(one.exitcode is not None for one in targets)


def test_many_processes_near_the_cap(address: str) -> None:
    """8 × 25 ask for 2.00 of a cap of 1: a hundred get it, and exactly those are told so."""
    with Ledger.open(address) as ledger:
        ledger.open_account("census", Budget(epsilon=1))
    told = PROCESSES.Queue()
    run(*(PROCESSES.Process(target=spender, args=(address, str(n), 25, told)) for n in range(8)))
    said = [key for _ in range(8) for key in told.get()]
    with Ledger.open(address) as ledger:
        account = ledger.account("census")
        assert account.left == 0 and account.spent == 1
        assert sorted(said) == sorted(spend.key for spend in account.spends()) and len(said) == 100
        assert [entry.event for entry in account.entries()].count("refused") == 100
        assert ledger.verify() == []


def dies(address: str, step: str, call) -> None:
    """Runs a call in a process of its own, which is killed at this step."""

    def die(name: str) -> None:
        if name == step:
            os.kill(os.getpid(), signal.SIGKILL)

    with Ledger.open(address) as ledger:
        account = ledger.account("census")
        ledger.book.store.step = die
        call(account)


CALLS = {
    "reserve": lambda account: account.reserve(Laplace(10), key="k"),
    "charge": lambda account: account.charge("k"),
    "complete": lambda account: account.complete("k", {"f": "d"}),
}


@pytest.mark.parametrize("step", STEPS)
def test_killed_at_every_step(address: str, step: str) -> None:
    """Whatever was done is done once, and can be gone on with: the same spend, the same secret."""
    if step == "committed but not durable" and address.startswith("sqlite"):
        pytest.skip("a commit of SQLite is durable")
    with Ledger.open(address) as ledger:
        account = ledger.open_account("census", Budget(epsilon=1))
        secret = None
        for name, call in CALLS.items():
            process = PROCESSES.Process(target=dies, args=(address, step, call))
            run(process)
            assert process.exitcode == -signal.SIGKILL
            if name == "charge" and step.startswith("committed"):
                secret = ledger.book.secret("census", "k")
            found = call(account)
            if name == "charge":
                assert secret in (None, found)
                assert account.charge("k") == found
        assert account.spent == Fraction(1, 10) and account.reserved == 0
        assert [spend.key for spend in account.spends()] == ["k"]
        assert ledger.verify() == []


def test_killed_at_any_moment(tmp_path: Path) -> None:
    """At moments of its own choosing: what was told to be spent is spent, once."""
    address = str(tmp_path / "budget.db")
    with Ledger.open(address) as ledger:
        account = ledger.open_account("census", Budget(epsilon=10))
        for turn in range(8):
            told, tell = PROCESSES.Pipe(duplex=False)

            def spends(turn: int = turn, tell=tell) -> None:
                with Ledger.open(address) as own:
                    for n in range(1000):
                        own.account("census").spend(Laplace(1000), key=f"{turn}-{n}")
                        tell.send(n)

            process = PROCESSES.Process(target=spends)
            process.start()
            while told.recv() < 3 * turn:
                pass
            process.kill()
            process.join()
            tell.close()
            last = 3 * turn
            while True:
                try:
                    last = told.recv()
                except EOFError:
                    break
            kept = [spend.key for spend in account.spends() if spend.key.startswith(f"{turn}-")]
            assert last + 1 <= len(kept) <= last + 2 and len(set(kept)) == len(kept)
        assert account.spent == Fraction(len(account.spends()), 1000)
        assert ledger.verify() == []


def test_threads_share_a_ledger(address: str) -> None:
    with Ledger.open(address) as ledger:
        account = ledger.open_account("census", Budget(epsilon=1))

        def spends(name: int) -> None:
            for turn in range(10):
                account.spend(Laplace(100), key=f"{name}-{turn}")
            ledger.close()  # this thread's connection

        threads = [threading.Thread(target=spends, args=(name,)) for name in range(4)]
        for one in threads:
            one.start()
        for one in threads:
            one.join()
        assert account.spent == Fraction(40, 100) and ledger.verify() == []


def test_a_ledger_goes_on_after_a_fork(address: str) -> None:
    """On both sides, each with a connection of its own."""
    with Ledger.open(address) as ledger:
        account = ledger.open_account("census", Budget(epsilon=1))
        several = [
            PROCESSES.Process(target=lambda n=n: account.spend(Laplace(10), key=str(n))) for n in range(3)
        ]
        run(*several)
        account.spend(Laplace(10), key="here")
        assert all(one.exitcode == 0 for one in several)
        assert account.spent == Fraction(4, 10) and ledger.verify() == []


def fills(address: str, told) -> None:
    with Ledger.open(address) as ledger:
        account = ledger.account("census")
        size = os.path.getsize(f"{address}-wal")
        resource.setrlimit(resource.RLIMIT_FSIZE, (size + 40_000, size + 40_000))
        done, error = 0, ""
        try:
            for turn in range(1000):
                account.spend(Laplace(10_000), key=str(turn))
                done += 1
        except FileError as full:
            error = str(full)
        told.put((done, error, account.spent))


def test_a_full_disk(tmp_path: Path) -> None:
    """An error, and as if it had not been asked; afterwards all goes on."""
    address = str(tmp_path / "budget.db")
    with Ledger.open(address) as ledger:
        account = ledger.open_account("census", Budget(epsilon=1))
        account.spend(Laplace(10_000), key="first")
        told = PROCESSES.Queue()
        process = PROCESSES.Process(target=fills, args=(address, told))
        process.start()
        done, error, spent = told.get(timeout=600)
        process.join()
        assert 0 < done < 1000 and "nothing was changed" in error
        assert spent == account.spent == Fraction(done + 1, 10_000)
        account.spend(Laplace(10_000), key=str(done))
        assert ledger.verify() == []


def test_a_file_that_was_replaced_or_set_back(tmp_path: Path) -> None:
    path, old = tmp_path / "budget.db", tmp_path / "old.db"
    with Ledger.open(path) as ledger:
        account = ledger.open_account("census", Budget(epsilon=1))
        ledger.book.store.run("PRAGMA wal_checkpoint(TRUNCATE)")
        shutil.copy(path, old)
        account.spend(Laplace(10))
        receipt = account.receipt()
        os.rename(path, tmp_path / "moved.db")
        with pytest.raises(FileError, match="replaced or removed"):
            account.spend(Laplace(10))
        shutil.copy(old, path)
        with pytest.raises(FileError, match="replaced or removed"):
            account.spend(Laplace(10))
    for left in ("budget.db-wal", "budget.db-shm"):
        (tmp_path / left).unlink(missing_ok=True)
    with Ledger.open(path) as ledger:  # an older copy is whole; receipts know better
        assert ledger.verify() == []
        assert "entries were lost" in ledger.verify([receipt])[0]
        account = ledger.account("census")
        account.spend(Laplace(10))
        with sqlite3.connect(path) as other:  # set back in place, under an open ledger
            other.execute("DELETE FROM entries WHERE account = 'census' AND number = 2")
            other.execute("UPDATE accounts SET number = 1, total = '0' WHERE name = 'census'")
        with pytest.raises(FileError, match="set back"):
            account.spend(Laplace(10))


def test_only_its_owner_may_read_it(tmp_path: Path) -> None:
    path = tmp_path / "budget.db"
    with Ledger.open(path) as ledger:
        ledger.open_account("census", Budget(epsilon=1)).reserve(Laplace(10), key="k")
        for name in ("budget.db", "budget.db-wal", "budget.db-shm"):
            assert os.stat(tmp_path / name).st_mode & 0o77 == 0


def test_places_that_are_no_ledger(tmp_path: Path) -> None:
    with pytest.raises(FileError, match="no ledger is there"):
        Ledger.open(tmp_path / "none.db", create=False)
    (tmp_path / "text.db").write_text("age\n" * 1000)
    with pytest.raises(FileError, match="damaged, or no ledger"):
        Ledger.open(tmp_path / "text.db")
    with sqlite3.connect(tmp_path / "other.db") as other:
        other.execute("CREATE TABLE people (name)")
    with pytest.raises(FileError, match="something else"):
        Ledger.open(tmp_path / "other.db")
    with Ledger.open(tmp_path / "new.db") as ledger:
        ledger.book.store.run("UPDATE ledger_version SET version = 99")
    with pytest.raises(FileError, match="newer version"):
        Ledger.open(tmp_path / "new.db")
    with pytest.raises(FileError):
        Ledger.open(tmp_path / "no" / "folder.db")
    for wrong in ("", None, 3, "mysql://host/db", "a\0b"):
        with pytest.raises(ValueError, match="ledger must be"):
            Ledger.open(wrong)


_OTHER = """
import sys
from indistinct import Laplace
from indistinct.errors import Refused
from indistinct.ledger import Ledger
with Ledger.open(sys.argv[1]) as ledger:
    account, count = ledger.account("census"), 0
    try:
        while count < int(sys.argv[2]):
            account.spend(Laplace(10))
            count += 1
    except Refused:
        pass
    print(count)
"""


def _spent_elsewhere(path: Path, most: int) -> int:
    asked = [sys.executable, "-c", _OTHER, str(path), str(most)]
    return int(subprocess.run(asked, capture_output=True, text=True, check=True).stdout)


def test_a_second_look_in_one_process_loses_no_charges(tmp_path: Path) -> None:
    """Whoever closes a file gives up the locks that SQLite has on it: then another process took the log
    away, and 1.8 was spent of 1."""
    path = tmp_path / "budget.db"
    with Ledger.open(path) as ledger:
        account = ledger.open_account("census", Budget(epsilon=1))
        account.spend(Laplace(10))
        Ledger.open(path).close()
        acknowledged = 1 + _spent_elsewhere(path, 1)
        with pytest.raises(Refused):
            for _ in range(20):
                account.spend(Laplace(10))
                acknowledged += 1
        assert acknowledged + _spent_elsewhere(path, 20) == 10
        assert len(account.spends()) == 10 and ledger.verify() == []


def test_without_its_log_nothing_is_written(tmp_path: Path) -> None:
    with Ledger.open(tmp_path / "budget.db") as ledger:
        account = ledger.open_account("census", Budget(epsilon=1))
        (tmp_path / "budget.db-wal").unlink()
        with pytest.raises(FileError, match="removed"):
            account.spend(Laplace(10))


def test_a_destroyed_secret_is_in_no_file(tmp_path: Path) -> None:
    """Also while somebody else has the ledger open, so that its log stays."""
    with Ledger.open(tmp_path / "budget.db") as ledger, Ledger.open(tmp_path / "budget.db"):
        account = ledger.open_account("census", Budget(epsilon=1))
        account.reserve(Laplace(10), key="k")
        secret = account.charge("k")
        account.complete("k", {"f": "d"})
        # looked at by another process: whoever closes the file gives up the locks of this one
        look = "import pathlib, sys; print(*(sys.argv[2] in one.read_bytes().hex() for one in "
        look += "pathlib.Path(sys.argv[1]).iterdir()))"
        asked = [sys.executable, "-c", look, str(tmp_path), secret.hex()]
        found = subprocess.run(asked, capture_output=True, text=True, check=True).stdout.split()
        assert len(found) == 3 and set(found) == {"False"}


def _forked(account, first: bool, told, go) -> None:
    try:
        if first:
            account.spend(Laplace(10))
        told.put("ready")
        go.get()
        for _ in range(20):
            account.spend(Laplace(10))
    except (Refused, FileError) as error:
        told.put(str(error))


@pytest.mark.parametrize("first", [True, False])
def test_a_forked_process_outlives_the_one_that_opened_the_ledger(tmp_path: Path, first: bool) -> None:
    """SQLite's locks stay with the process that had them: the other one has its own, or stops."""
    path = tmp_path / "budget.db"
    ledger = Ledger.open(path)
    account = ledger.open_account("census", Budget(epsilon=1))
    told, go = PROCESSES.Queue(), PROCESSES.Queue()
    forked = PROCESSES.Process(target=_forked, args=(account, first, told, go))
    forked.start()
    assert told.get(timeout=600) == "ready"
    ledger.close()
    assert _spent_elsewhere(path, 2) == 2  # and the log would be taken away
    go.put("on")
    assert ("is left" if first else "fork first") in told.get(timeout=600)
    forked.join(60)
    with Ledger.open(path) as ledger:
        assert len(ledger.account("census").spends()) == (10 if first else 2)
        assert ledger.verify() == []
