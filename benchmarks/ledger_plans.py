"""Plans that are killed (SIGKILL): at random moments, and at every flush, rename and step of a transaction.
After each kill the plan is run again. Every number that was seen before must be there again, drawn and
charged once. The exit status is 1 where one is not.

    python benchmarks/ledger_plans.py [kills]
"""

import os
import random
import shutil
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

from indistinct.ledger import Ledger
from indistinct.ledger.sqlite import SqliteStore
from indistinct.plans import parse_plan, run_plan
from indistinct.plans.spending import LEDGER

PLAN = {
    "data": {"csv": "people.csv"},
    "budget": {"epsilon": 1},
    "columns": {"age": {"low": 0, "high": 64, "bins": 16}, "town": {"categories": ["Aarau", "Bern"]}},
    "releases": [
        {"name": "people", "kind": "count"},
        {"name": "towns", "kind": "histogram", "columns": ["town"]},
        {"name": "ages", "kind": "mean", "column": "age"},
        {"name": "spread", "kind": "quantiles", "column": "age", "ranks": [0.5]},
    ],
}
Hurt = Callable[[], None]


def killed(folder: Path, prepare: Hurt, after: float | None) -> bool:
    """Runs the plan in a process of its own that `prepare` has changed; True if that was killed."""
    child = os.fork()
    if child == 0:
        try:
            prepare()
            run_plan(parse_plan(PLAN, folder), folder / "out")
        finally:
            os._exit(0)
    if after is not None:
        time.sleep(after)
        os.kill(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    return os.WIFSIGNALED(status)


def at_step(number: int) -> Hurt:
    """Dies at the n-th flush, rename or step of a transaction."""

    def prepare() -> None:
        left = [number]

        def counted(done: Callable[..., Any]) -> Callable[..., Any]:
            def stepped(*args: Any) -> Any:
                left[0] -= 1
                if left[0] == 0:
                    os.kill(os.getpid(), signal.SIGKILL)
                return done(*args)

            return stepped

        os.fsync, os.replace = counted(os.fsync), counted(os.replace)
        SqliteStore.step = staticmethod(counted(lambda name: None))

    return prepare


def checked(folder: Path, seen: dict[str, bytes], found: Counter[str]) -> None:
    """Runs the plan again; counts what is wrong."""
    run_plan(parse_plan(PLAN, folder), folder / "out")
    after = {path.name: path.read_bytes() for path in (folder / "out").glob("*.csv")}
    found["drawn twice"] += any(after[name] != content for name, content in seen.items())
    with Ledger.open(folder / LEDGER) as ledger:
        account = ledger.account("people.csv")
        spends = [spend for spend in account.spends() if spend.state != "cancelled"]
        found["charged twice"] += len(spends) != 1 or account.spent > 1 or account.reserved != 0
        found["key left"] += any(ledger.book.secret("people.csv", spend.key) is not None for spend in spends)
        found["journal broken"] += bool(ledger.verify())
    found["numbers seen before the kill"] += len(seen)


def main() -> None:
    kills = int(sys.argv[1]) if len(sys.argv) > 1 else 200
    chance = random.Random(20261116)
    folder = Path(tempfile.mkdtemp())
    lines = [f"{n % 64},{'Bern' if n % 3 else 'Aarau'}" for n in range(400)]

    def fresh() -> None:
        shutil.rmtree(folder)
        folder.mkdir()
        (folder / "people.csv").write_text("\n".join(["age,town", *lines]) + "\n")

    fresh()
    began = time.perf_counter()
    killed(folder, lambda: None, None)
    usual = time.perf_counter() - began
    wrong = 0
    for name in ("random moments", "every step"):
        found: Counter[str] = Counter()
        step = 0
        while found["kills"] < kills if name == "random moments" else True:
            fresh()
            step += 1
            if name == "random moments":
                hurt = killed(folder, lambda: None, chance.uniform(0, 1.2 * usual))
            else:
                hurt = killed(folder, at_step(step), None)
                if not hurt:
                    break
            found["kills"] += hurt
            found["runs"] += 1
            seen = {path.name: path.read_bytes() for path in (folder / "out").glob("*.csv")}
            if chance.random() < 0.3:
                shutil.rmtree(folder / "out", ignore_errors=True)
            checked(folder, seen, found)
        print(f"{name}: {dict(found)}")
        wrong += sum(found[one] for one in ("drawn twice", "charged twice", "key left", "journal broken"))
    shutil.rmtree(folder)
    print("FAIL" if wrong else "PASS")
    sys.exit(wrong > 0)


if __name__ == "__main__":
    main()
