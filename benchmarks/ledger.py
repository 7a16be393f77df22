"""The ledger under load: many processes, kills, a full disk, merges, speed, a million rows, and OpenDP's
filter beside it.

Prints a line for each claim with PASS or FAIL; the exit status is 1 when a line says FAIL.

    .venv-bench/bin/python benchmarks/ledger.py [--quick] [--only NAME]

Method: a new SQLite file on disk (not in memory; WAL, synced at every commit) and a PostgreSQL server of its
own on a socket (fsync on, default settings), started and stopped here; without a server its lines are left
out. Spends per second are durable ones, counted from when all processes are ready. Kills are SIGKILL at
random moments of a process that spends, and at every step of a commit. The million rows are written through
the journal, in one transaction.
"""

import argparse
import multiprocessing
import os
import pwd
import random
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from fractions import Fraction
from pathlib import Path
from typing import Any

from indistinct import Budget, Gaussian, Laplace
from indistinct.errors import FileError, Refused
from indistinct.ledger import JournalEntry, Ledger

FORK = multiprocessing.get_context("fork")
FAILED: list[str] = []


def line(what: str, found: str, ok: bool | None = None, bar: str = "") -> None:
    verdict = "" if ok is None else "PASS" if ok else "FAIL"
    print(f"{what:<66} {found:>22}  {bar:<22} {verdict}", flush=True)
    if ok is False:
        FAILED.append(what)


# -- places ---------------------------------------------------------------------------------------


@contextmanager
def postgres() -> Iterator[str | None]:
    """The address of a server of PostgreSQL, synced as servers are; None if none is installed."""
    found = shutil.which("initdb")
    folders = [Path(found).resolve().parent] if found else sorted(Path("/usr/lib/postgresql").glob("*/bin"))
    if not folders:
        yield None
        return
    root = os.geteuid() == 0
    user = "nobody" if root else pwd.getpwuid(os.geteuid()).pw_name
    with tempfile.TemporaryDirectory(prefix="pg", dir="/tmp", ignore_cleanup_errors=True) as folder:
        if root:
            shutil.chown(folder, user)

        def run(program: str, *options: str) -> None:
            own: dict[str, Any] = {"user": user, "group": pwd.getpwnam(user).pw_gid} if root else {}
            command = [str(folders[-1] / program), "-D", f"{folder}/data", *options]
            subprocess.run(command, cwd=folder, stdout=subprocess.DEVNULL, check=True, **own)

        run("initdb", "-A", "trust", "-U", "me", "-E", "UTF8", "--locale=C")
        own = f"-c listen_addresses='' -c unix_socket_directories='{folder}' -c max_connections=200"
        run("pg_ctl", "-w", "-l", f"{folder}/log", "-o", own, "start")
        try:
            yield f"postgresql:///postgres?host={folder}&user=me"
        finally:
            run("pg_ctl", "-w", "-m", "immediate", "stop")


def together(count: int, target: Callable[..., None], *arguments: Any) -> float:
    """The seconds that processes take from when all are ready."""
    ready = FORK.Barrier(count + 1)
    processes = [FORK.Process(target=target, args=(n, ready, *arguments)) for n in range(count)]
    for one in processes:
        one.start()
    ready.wait()
    start = time.perf_counter()
    for one in processes:
        one.join()
    return time.perf_counter() - start


# -- many processes -------------------------------------------------------------------------------


def asks(n: int, ready: Any, address: str, name: str, times: int, told: Any) -> None:
    done = []
    with Ledger.open(address) as ledger:
        account = ledger.account(name)
        ready.wait()
        for turn in range(times):
            try:
                done.append(account.spend(Laplace(10_000), key=f"{n}-{turn}").key)
            except Refused:
                pass
    told.put(done)


def crowd(address: str, where: str, processes: int, times: int) -> None:
    """All of them ask for twice what there is: half get it."""
    total = processes * times
    with Ledger.open(address) as ledger:
        account = ledger.open_account("crowd", Budget(epsilon=total / 20_000))
        told = FORK.SimpleQueue()
        # a queue holds little: read it while they run
        ready = FORK.Barrier(processes + 1)
        several = [
            FORK.Process(target=asks, args=(n, ready, address, "crowd", times, told))
            for n in range(processes)
        ]
        for one in several:
            one.start()
        ready.wait()
        start = time.perf_counter()
        said = [key for _ in range(processes) for key in told.get()]
        seconds = time.perf_counter() - start
        for one in several:
            one.join()
        kept = [spend.key for spend in ledger.book.all_spends("crowd")]
        ok = account.left == 0 and sorted(kept) == sorted(said) and len(set(kept)) == total // 2
        ok = ok and ledger.verify() == []
    line(
        f"{where}: {processes} processes × {times} spends at a cap for half",
        f"{len(kept)} of {total}",
        ok,
        "half, none doubled",
    )
    line(f"{where}: decisions per second among {processes} processes", f"{total / seconds:.0f} /s")


def spends(n: int, ready: Any, address: str, names: list[str], times: int) -> None:
    with Ledger.open(address) as ledger:
        account = ledger.account(names[n % len(names)])
        account.spend(Laplace(10))
        ready.wait()
        for _ in range(times):
            account.spend(Laplace(10))


def speed(address: str, where: str, processes: int, accounts: int, times: int, bar: float | None) -> None:
    names = [f"speed {processes} {accounts} {n}" for n in range(accounts)]
    with Ledger.open(address) as ledger:
        for name in names:
            ledger.open_account(name, None, notion="pure")
    rate = processes * times / together(processes, spends, address, names, times)
    what = f"{where}: {processes} process{'es' * (processes > 1)}, {accounts} account{'s' * (accounts > 1)}"
    line(
        what,
        f"{rate:.0f} spends/s",
        None if bar is None else rate >= bar,
        f"at least {bar:.0f}" if bar else "",
    )


# -- crashes --------------------------------------------------------------------------------------


def kills(address: str, where: str, times: int) -> None:
    """Processes that reserve, charge and complete are killed at random moments; another one goes on."""
    drawn: dict[str, set[bytes]] = {}
    with Ledger.open(address) as ledger:
        account = ledger.open_account("kills", None, notion="pure")
        chance = random.Random(1)
        for turn in range(times):
            told, tell = FORK.Pipe(duplex=False)

            def work(turn: int = turn, tell: Any = tell) -> None:
                with Ledger.open(address) as own:
                    mine = own.account("kills")
                    for n in range(10_000):
                        key = f"{turn}-{n}"
                        mine.reserve(Laplace(10), key=key)
                        tell.send((key, mine.charge(key)))
                        mine.complete(key, {"f": key})

            process = FORK.Process(target=work)
            process.start()
            tell.close()
            told.poll(30)
            time.sleep(chance.uniform(0, 0.02))
            process.kill()
            process.join()
            while True:
                try:
                    key, secret = told.recv()
                except (EOFError, OSError):
                    break
                drawn.setdefault(key, set()).add(secret)
        for spend in ledger.book.all_spends("kills"):  # whoever finds them goes on
            if spend.state == "reserved":
                account.charge(spend.key)
            if spend.state in ("reserved", "charged"):
                drawn.setdefault(spend.key, set()).add(account.charge(spend.key))
                account.complete(spend.key, {"f": spend.key})
        found = {spend.key: spend.state for spend in ledger.book.all_spends("kills")}
        ok = set(drawn) <= set(found) and all(len(one) == 1 for one in drawn.values())
        ok = ok and set(found.values()) == {"complete"} and account.spent == Fraction(len(found), 10)
        ok = ok and ledger.verify() == []
    line(f"{where}: killed at {times} random moments", f"{len(found)} spends", ok, "each drawn once")


def steps(address: str, where: str) -> None:
    """Killed at every step of a transaction of every call."""
    calls: list[Callable[[Any, str], Any]] = [
        lambda account, key: account.reserve(Laplace(10), key=key),
        lambda account, key: account.charge(key),
        lambda account, key: account.complete(key, {"f": "d"}),
        lambda account, key: account.spend(Laplace(10), key=f"{key}+"),
    ]
    ok, count = True, 0
    with Ledger.open(address) as ledger:
        account = ledger.open_account("steps", None, notion="pure")
        for step in ("begun", "written", "committed but not durable", "committed"):
            for call in calls:

                def work(step: str = step, call: Any = call) -> None:
                    with Ledger.open(address) as own:
                        mine = own.account("steps")
                        own.book.store.step = lambda name: (
                            os.kill(os.getpid(), signal.SIGKILL) if name == step else None
                        )  # type: ignore[method-assign]
                        call(mine, step)

                process = FORK.Process(target=work)
                process.start()
                process.join()
                count += process.exitcode == -signal.SIGKILL
                call(account, step)
        kept = list(ledger.book.all_spends("steps"))
        ok = (
            len(kept) == 8
            and {one.state for one in kept} == {"complete"}
            and account.spent == Fraction(8, 10)
        )
        ok = ok and ledger.verify() == []
    line(
        f"{where}: killed at every step of reserve, charge, complete, spend",
        f"{count} kills",
        ok,
        "each counted once",
    )


def full(folder: str) -> None:
    """Less and less room on the disk; then room again."""
    address, told = f"{folder}/full.db", FORK.SimpleQueue()
    with Ledger.open(address) as ledger:
        account = ledger.open_account("full", None, notion="pure")
        ok = True
        for room in range(0, 60_000, 3_000):

            def work(room: int = room) -> None:
                with Ledger.open(address) as own:
                    mine, size, done = own.account("full"), os.path.getsize(f"{address}-wal"), 0
                    resource.setrlimit(resource.RLIMIT_FSIZE, (size + room, size + room))
                    try:
                        for _ in range(100):
                            mine.spend(Laplace(10))
                            done += 1
                    except FileError:
                        pass
                    told.put((done, mine.spent))

            before = account.spent
            process = FORK.Process(target=work)
            process.start()
            done, spent = told.get()
            process.join()
            ok = ok and spent == account.spent == before + Fraction(done, 10)
            account.spend(Laplace(10))
        ok = ok and ledger.verify() == []
    line("SQLite: a disk that is full, at 20 places", "an error each time", ok, "as if not asked")


def hosts(folder: str) -> None:
    here, there = (Ledger.open(f"{folder}/{name}.db") for name in ("here", "there"))
    for ledger, count in ((here, 300), (there, 500)):
        account = ledger.open_account("census", Budget(epsilon=1))
        for _ in range(count):
            account.spend(Laplace(1000))
    start = time.perf_counter()
    here.merge(there)
    seconds = time.perf_counter() - start
    again = here.merge(there.export())
    ok = here.account("census").spent == Fraction(8, 10) and again == [] and here.verify() == []
    line("two hosts' ledgers merged, and merged again", f"{seconds:.2f} s", ok, "nothing twice")


def clocks(folder: str) -> None:
    with Ledger.open(f"{folder}/clock.db") as ledger:
        account = ledger.open_account("census", Budget(epsilon=1), renews="month")
        for year in (2100, 1970, 2099, 2000):
            ledger.book.clock = lambda year=year: f"{year}-01-01T00:00:00.000000+00:00"  # type: ignore[misc]
            try:
                account.spend(Laplace(1))
            except Refused:
                pass
        parts = [state for state in ledger.states() if state.parent]
        ok = len(parts) == 1 and parts[0].total == 1 and ledger.verify() == []
    line(
        "a clock that jumps ahead and back, with a window for each month",
        f"{len(parts)} window",
        ok,
        "none opens again",
    )


# -- a million rows -------------------------------------------------------------------------------


def million(folder: str, rows: int) -> None:
    """Rows as the ledger writes them, hashes and all, but many at once."""
    kinds = [Laplace(10), Laplace(20), Gaussian(30), Gaussian(40)]
    with Ledger.open(f"{folder}/million.db") as ledger:
        account = ledger.open_account("census", None, notion="gdp")
        for kind in kinds:
            account.spend(kind)
        start, state, first = time.perf_counter(), account.state(), account.spends()[::-1]
        entries, spends, head = [], [], state.head
        content = {
            spend.digest: entry.text for spend, entry in zip(first, account.entries()[3::-1], strict=True)
        }
        for n in range(rows):
            like, number = first[n % 4], state.number + 1 + n
            entry = JournalEntry(
                "census", number, state.time, "me", "spent", f"#{number}", content[like.digest]
            )
            head = entry.chained(head)
            entries.append((*list(vars(entry).values())[:-1], head))
            spends.append((f"#{number}", number, like.digest, str(like.cost), state.time, head, head))
        total = state.total + sum(Fraction(spend.cost) * (rows // 4) for spend in first)
        run = ledger.book.store.connection
        run.execute("BEGIN IMMEDIATE")
        run.executemany("INSERT INTO entries VALUES (?, ?, ?, ?, ?, ?, ?, ?)", entries)
        run.executemany(
            "INSERT INTO spends VALUES ('census', ?, ?, 'complete', ?, ?, '', ?, 'me', '', '{}', ?, ?)",
            spends,
        )
        row = (str(total), state.number + rows, head)
        run.execute("UPDATE accounts SET total = ?, number = ?, head = ? WHERE name = 'census'", row)
        run.execute("COMMIT")
        line(f"{rows:,} rows written", f"{time.perf_counter() - start:.0f} s")
        shown = min(
            timed(lambda: (str(account), account.state(), account.spends(limit=20))) for _ in range(3)
        )
        line(
            f"state, and the last 20 spends, of {rows:,} rows",
            f"{shown * 1e3:.1f} ms",
            shown < 0.2,
            "under 200 ms",
        )
        exact = min(timed(lambda: account.guarantee().epsilon(1e-6)) for _ in range(3))
        line(
            f"exact composition of {rows:,} rows of 4 kinds", f"{exact * 1e3:.0f} ms", exact < 1, "under 1 s"
        )
        if rows <= 100_000:
            start = time.perf_counter()
            wrong = ledger.verify()
            line(f"all of {rows:,} rows verified", f"{time.perf_counter() - start:.0f} s", wrong == [])


def timed(call: Callable[[], Any]) -> float:
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


# -- exactness, and OpenDP ------------------------------------------------------------------------


def tenths(folder: str) -> None:
    with Ledger.open(f"{folder}/tenths.db") as ledger:
        account = ledger.open_account("census", Budget(epsilon=1))
        for _ in range(10):
            account.spend(Laplace(10))
        try:
            account.spend(Laplace(1e15))
            more = True
        except Refused:
            more = False
        line(
            "ten times 0.1 of a cap of 1",
            f"{account.left} left",
            account.left == 0 and not more,
            "0, and no more",
        )


def opendp(folder: str, queries: int) -> None:
    """The same adaptive queries: each has little noise if the answer before was above the truth, else
    more."""
    try:
        import opendp.prelude as dp
    except ImportError:
        line("OpenDP is not installed", "")
        return
    truth = 1234
    with Ledger.open(f"{folder}/opendp.db") as ledger:
        for synced in (True, False):
            ledger.book.store.run(f"PRAGMA synchronous = {'FULL' if synced else 'OFF'}")
            account = ledger.open_account(f"queries {synced}", Budget(epsilon=1.25))
            scales, last = [], 0.0
            start = time.perf_counter()
            for _ in range(queries):
                scales.append(800.0 if last > truth else 1000.0)
                account.spend(Laplace(scales[-1]))
                last = Laplace(scales[-1]).release(truth).values
            seconds = time.perf_counter() - start
            how = "durable" if synced else "not synced"
            line(f"indistinct, {how}: {queries} adaptive queries, answered", f"{seconds:.2f} s")
            line(
                "    left of 1.25",
                f"{float(account.left):.9g}",
                account.left == Fraction(5, 4) - sum(1 / Fraction(s) for s in scales),
                "exactly",
            )
    dp.enable_features("contrib", "honest-but-curious")
    space = dp.atom_domain(T=int), dp.absolute_distance(T=int)
    measure = dp.max_divergence()
    odometer = dp.c.make_fully_adaptive_composition(*space, output_measure=measure)
    kept = dp.c.make_privacy_filter(odometer, d_in=1, d_out=1.25)(truth)
    start, answered = time.perf_counter(), 0
    for scale in scales:
        kept(dp.m.make_laplace(*space, scale=scale))
        answered += 1
    line(
        f"OpenDP {dp.__version__ if hasattr(dp, '__version__') else ''}: the same {answered}, in memory",
        f"{time.perf_counter() - start:.2f} s",
    )
    line("    left of 1.25", f"{1.25 - kept.privacy_loss(1):.9g}")
    small = dp.c.make_privacy_filter(odometer, d_in=1, d_out=1.0)(truth)
    answered = 0
    try:
        for _ in range(10):
            small(dp.m.make_laplace(*space, scale=10.0))
            answered += 1
    except dp.OpenDPException:
        pass
    line("OpenDP: ten times 0.1 of a cap of 1", f"{answered} answered")


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="a tenth of it")
    parser.add_argument("--only", choices=["crowd", "crashes", "speed", "million", "opendp"])
    options = parser.parse_args()
    part = 10 if options.quick else 1

    def wanted(name: str) -> bool:
        return options.only in (None, name)

    with tempfile.TemporaryDirectory(dir=".") as folder, postgres() as server:
        places = {"SQLite": f"sqlite:///{os.path.abspath(folder)}/budget.db"}
        if server is not None:
            places["PostgreSQL"] = server
        tenths(folder)
        for where, address in places.items():
            if wanted("speed"):
                once = where == "SQLite"
                speed(address, where, 1, 1, 1000 // part, 300 if once else None)
                speed(address, where, 8, 8, 500 // part, None if once else 1000)
                speed(address, where, 8, 1, 500 // part, None)
            if wanted("crowd"):
                crowd(address, where, 64, 200 // part)
            if wanted("crashes"):
                kills(address, where, 200 // part)
                steps(address, where)
        if wanted("crashes"):
            full(folder)
            hosts(folder)
            clocks(folder)
        if wanted("million"):
            million(folder, 1_000_000 // part)
        if wanted("opendp"):
            opendp(folder, 1000)
    return 1 if FAILED else 0


if __name__ == "__main__":
    sys.exit(main())
