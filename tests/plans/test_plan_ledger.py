"""A plan and its account: one draw for each charge, whatever happens; nothing beyond the budget; a trace of
all that was tried."""

import os
import shutil
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from indistinct import ArgumentError, Budget
from indistinct.errors import DataError, FileError, Refused, SourceChanged
from indistinct.ledger import Account, Ledger
from indistinct.ledger.sqlite import SqliteStore
from indistinct.plans import parse_plan, run_plan
from indistinct.plans.spending import LEDGER

pytestmark = pytest.mark.usefixtures("told_once")

COUNTS = {"name": "people", "kind": "count"}
TOWNS = {"name": "towns", "kind": "histogram", "columns": ["town"]}
AGES = {"name": "ages", "kind": "mean", "column": "age"}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    lines = [f"{n % 64},{'Bern' if n % 3 else 'Aarau'}" for n in range(400)]
    (tmp_path / "people.csv").write_text("\n".join(["age,town", *lines]) + "\n")
    return tmp_path


def run(folder: Path, *releases: dict[str, Any], out: str = "out", **sections: Any) -> dict[str, bytes]:
    """What a plan leaves in its folder."""
    say = sections.pop("say", lambda line: None)
    content = {
        "data": {"csv": "people.csv"},
        "budget": {"epsilon": 1, **sections.pop("budget", {})},
        "columns": {"age": {"low": 0, "high": 64}, "town": {"categories": ["Aarau", "Bern"]}},
        "releases": list(releases),
    }
    for name, column in sections.pop("columns", {}).items():
        content["columns"][name].update(column)
    run_plan(parse_plan({**content, **sections}, folder), folder / out, say)
    return {path.name: path.read_bytes() for path in (folder / out).glob("*.csv")}


@contextmanager
def account(folder: Path, name: str = "people.csv") -> Iterator[Account]:
    with Ledger.open(folder / LEDGER, create=False) as ledger:
        yield ledger.account(name)
        assert not ledger.verify()


def events(folder: Path) -> list[str]:
    with account(folder) as own:
        return [entry.event for entry in reversed(own.entries())]


def test_a_second_folder_gets_the_same_numbers_for_nothing(folder: Path) -> None:
    first = run(folder, COUNTS, TOWNS)
    assert run(folder, COUNTS, TOWNS, out="elsewhere") == first
    shutil.rmtree(folder / "out")
    assert run(folder, COUNTS, TOWNS) == first
    assert run(folder, TOWNS, COUNTS, out="in another order") == first
    with account(folder) as own:
        assert 1 - own.spent < 1e-6 and len(own.spends()) == 1


def test_a_file_that_comes_while_a_plan_runs_is_not_read(folder: Path) -> None:
    def say(line: str) -> None:
        (folder / "people of another town.csv").write_text("age,town\n9,Bern\n")

    (folder / "people.csv").rename(folder / "people of one town.csv")
    with pytest.raises(SourceChanged):
        run(folder, COUNTS, data={"csv": "people of*.csv"}, say=say)
    assert not list((folder / "out").glob("*.csv"))


def test_another_plan_draws_on_the_same_account(folder: Path) -> None:
    run(folder, COUNTS, budget={"epsilon": 0.75}, ledger={"epsilon": 1})
    with pytest.raises(Refused, match="indistinct ledger raise"):
        run(folder, TOWNS, out="more", budget={"epsilon": 0.5})
    assert not list((folder / "more").glob("*.csv"))
    run(folder, TOWNS, out="less", budget={"epsilon": 0.25})
    with account(folder) as own:
        assert own.left < 1e-6
        own.raise_cap(Budget(epsilon=2))
    run(folder, TOWNS, out="more", budget={"epsilon": 0.5})
    (folder / "people.csv").write_text((folder / "people.csv").read_text() + "3,Bern\n")
    with pytest.raises(Refused, match="left of epsilon 2"):  # whatever is in it now, it is this data set
        run(folder, COUNTS, out="again")


def test_a_reserve_pays_for_releases_that_come_later(folder: Path) -> None:
    first = run(folder, COUNTS, TOWNS, budget={"delta": 1e-6, "reserve": 0.5, "noise": "gaussian"})
    with pytest.raises(Refused, match=r"lower budget\.reserve"):
        run(folder, COUNTS, TOWNS, AGES, budget={"delta": 1e-6, "reserve": 0.5, "noise": "gaussian"})
    more = run(folder, COUNTS, TOWNS, AGES, budget={"delta": 1e-6, "reserve": 0.1, "noise": "gaussian"})
    assert {name: more[name] for name in first} == first and "ages.csv" in more
    with account(folder) as own:
        budget = own.terms.budget
        assert budget is not None and budget.epsilon == 1 and own.cap is not None
        assert float(own.spent / own.cap.limit) == pytest.approx(0.9, rel=1e-6) and own.spent <= own.cap.limit
        assert 0.9 < own.guarantee().epsilon(delta=1e-6) / 0.947 < 1.1  # about sqrt(.9)
    with pytest.raises(ArgumentError, match="which was charged together"):
        run(folder, COUNTS, AGES, budget={"delta": 1e-6, "reserve": 0.1, "noise": "gaussian"})


def test_no_reserve_for_what_no_filter_can_count(folder: Path) -> None:
    asked = {"name": "names", "kind": "heavy-hitters", "column": "town"}
    assert run(folder, asked, budget={"delta": 1e-6})
    with pytest.raises(ArgumentError, match=r"budget\.reserve must be 0 for these releases"):
        run(folder, asked, budget={"delta": 1e-6, "reserve": 0.5}, out="kept", ledger=False)


def test_a_folder_of_its_own_is_charged_by_itself(folder: Path) -> None:
    first = run(folder, AGES, ledger=False)
    assert run(folder, AGES, ledger=False) == first
    assert run(folder, AGES, ledger=False, out="other") != first
    assert not (folder / LEDGER).exists() and (folder / "out" / f".{LEDGER}").exists()


def test_questions_by_refusal_are_counted(folder: Path) -> None:
    """Whether some age is above a bound is an answer without noise, which a plan gets for nothing; rarely."""
    run(folder, COUNTS, budget={"epsilon": 0.1}, ledger={"epsilon": 1})
    small = {"epsilon": 0.1}
    for bound in range(60, 55, -1):
        with pytest.raises(DataError, match="outside its declared domain"):
            run(folder, AGES, columns={"age": {"high": bound, "outside": "error"}}, out="o", budget=small)
    with pytest.raises(Refused, match="locked"):
        run(folder, AGES, columns={"age": {"high": 64, "outside": "error"}}, out="o", budget=small)
    assert events(folder).count("cancelled") == 5
    with account(folder) as own:
        own.unlock()


def test_records_that_pass_tell_as_much_as_those_that_are_refused(folder: Path) -> None:
    """That no age is above a bound is an answer without noise, too: one rule for both."""
    run(folder, COUNTS, budget={"epsilon": 0.1}, ledger={"epsilon": 1})
    for bound in range(69, 64, -1):
        strict = {"age": {"high": bound, "outside": "error"}}
        run(folder, AGES, columns=strict, out=f"o{bound}", budget={"epsilon": 0.05})
    with pytest.raises(Refused, match="locked"):
        run(
            folder, AGES, columns={"age": {"high": 64, "outside": "error"}}, out="o", budget={"epsilon": 0.05}
        )
    with account(folder) as own:
        told = [entry.content["tells"] for entry in own.entries() if "tells" in entry.content]
        assert told == [["no age is outside what is declared"]] * 5 and own.state().status == "locked"
        own.unlock()
    run(folder, AGES, out="o", budget={"epsilon": 0.05})  # where values are clipped nothing is told
    with account(folder) as own:
        assert own.state().told == 0


def test_whom_an_account_protects_stays_the_same(folder: Path) -> None:
    run(folder, COUNTS)
    with pytest.raises(Refused, match="protects one record, and the plan protects one user"):
        run(folder, TOWNS, privacy={"user": "age", "most": 1}, out="users")
    with pytest.raises(Refused, match="replace-one was asked"):
        run(folder, TOWNS, privacy={"adjacency": "replace-one"}, out="replaced")


def test_an_owner_may_want_to_see_the_plan_first(folder: Path) -> None:
    with Ledger.open(folder / LEDGER) as ledger:
        ledger.open_account("people", Budget(epsilon=1), approval=True)
    with pytest.raises(Refused, match="approved"):
        run(folder, COUNTS, ledger={"account": "people"})
    with account(folder, "people") as own:
        plan = own.entries()[0].content["plan"]
        own.approve(plan)
    first = (folder / "people.csv").read_text()
    others: list[dict[str, Any]] = [
        {"budget": {"epsilon": 0.5}},
        {"budget": {"delta": 1e-6, "noise": "gaussian"}},
        {"budget": {"reserve": 0.1}},
        {"privacy": {"user": "age", "most": 1}, "ledger": {"account": "people", "unit": "one record"}},
        {"columns": {"age": {"high": 65}}, "releases": [AGES]},
    ]
    for other in others:  # whatever decides what is released, and of which data, is what was approved
        asked = other.pop("releases", [COUNTS])
        with pytest.raises(Refused, match="approved"):
            run(folder, *asked, out="other", **{"ledger": {"account": "people"}, **other})
    (folder / "people.csv").write_text(first + "3,Bern\n")
    with pytest.raises(Refused, match="approved"):
        run(folder, COUNTS, out="other", ledger={"account": "people"})
    (folder / "people.csv").write_text(first)
    run(folder, COUNTS, ledger={"account": "people"})


def test_the_kind_of_noise_is_approved(folder: Path) -> None:
    plans = [
        parse_plan(
            {
                "data": {"csv": "people.csv"},
                "budget": {"epsilon": 1, "delta": 1e-6, "noise": noise},
                "releases": [COUNTS],
            },
            folder,
        )
        for noise in ("gaussian", "laplace")
    ]
    assert plans[0].digest != plans[1].digest
    assert plans[0].part_digest("people") == plans[1].part_digest("people")  # the same release, drawn once


def test_a_query_may_not_repeat_records_unless_that_is_declared(folder: Path) -> None:
    import duckdb

    with duckdb.connect(str(folder / "people.db")) as connection:
        connection.execute(f"CREATE TABLE people AS SELECT * FROM read_csv('{folder / 'people.csv'}')")

    def go(query: str, **more: Any) -> dict[str, bytes]:
        data = {"sql": query, "database": "people.db", **more.pop("data", {})}
        return run(folder, COUNTS, data=data, budget={"epsilon": 0.1}, **more)

    go("SELECT age, town FROM people WHERE age > 3", ledger={"epsilon": 1})
    many = "SELECT age, town FROM people, generate_series(1, 1000)"
    with pytest.raises(ArgumentError, match=r"FROM one table.*data\.multiplies = true"):
        go(many, out="o")
    for ledger in ({}, {"unit": "one record"}):  # to declare it is not to have it count as one record
        with pytest.raises(Refused, match="it protects one record, and the plan protects one row of a query"):
            go(many, out="o", data={"multiplies": True}, ledger=ledger)
    with pytest.raises(ArgumentError, match="whom it protects"):
        go("SELECT age || town AS town FROM people", out="o", privacy={"user": "town", "most": 1})
    with Ledger.open(folder / "own.db") as ledger:
        ledger.open_account("joined", Budget(epsilon=1), unit="one row of a query")
    go(many, out="joined", data={"multiplies": True}, ledger={"at": "own.db", "account": "joined"})
    told = (folder / "joined" / "guarantee.json").read_text()
    assert "one row of what the query returns" in told and "several times" in told
    assert "one row of what the query returns" in (folder / "joined" / "report.md").read_text()


def test_absurd_budgets_are_meant(folder: Path) -> None:
    with pytest.raises(ArgumentError, match="confirm"):
        run(folder, COUNTS, budget={"epsilon": 30})
    run(folder, COUNTS, budget={"epsilon": 30, "confirm": True})


def test_a_folder_that_is_replaced_gets_the_same_draw(folder: Path) -> None:
    seen: dict[str, bytes] = {}

    def remove(line: str) -> None:
        if line.startswith("released 1/"):
            seen["people.csv"] = (folder / "out" / "people.csv").read_bytes()
            shutil.rmtree(folder / "out")
            (folder / "out").mkdir()

    with pytest.raises(FileError, match="replaced while this run"):
        run(folder, COUNTS, TOWNS, say=remove)
    assert run(folder, COUNTS, TOWNS)["people.csv"] == seen["people.csv"]


class Crash(BaseException):
    """What cannot be caught by accident."""


@contextmanager
def crash_at(step: int) -> Iterator[None]:
    """Ends everything at the n-th flush, rename or step of the ledger's transactions."""
    left = [step]

    def counted(done: Callable[..., Any]) -> Callable[..., Any]:
        def stepped(*args: Any) -> Any:
            left[0] -= 1
            if left[0] == 0:
                raise Crash
            return done(*args)

        return stepped

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", counted(os.fsync))
        patch.setattr(os, "replace", counted(os.replace))
        patch.setattr(SqliteStore, "step", staticmethod(counted(lambda name: None)))
        yield


def test_wherever_it_crashes_there_is_one_draw(folder: Path) -> None:
    step, finished = 0, False
    while not finished:
        step += 3  # every one is tried by benchmarks/ledger_plans.py
        seen = {}
        try:
            with crash_at(step):
                run(folder, COUNTS, TOWNS)
                finished = True
        except Crash:
            seen = {path.name: path.read_bytes() for path in (folder / "out").glob("*.csv")}
        after = run(folder, COUNTS, TOWNS)
        assert {name: after[name] for name in seen} == seen
        if (folder / LEDGER).exists():
            with account(folder) as own:
                assert 1 - own.spent < 1e-6 and own.reserved == 0 and len(own.spends()) == 1
        shutil.rmtree(folder / "out")
        for file in folder.glob(f"{LEDGER}*"):
            file.unlink()
    assert step > 30


def killed_at(moment: str) -> Callable[[str], None]:
    def say(line: str) -> None:
        if line.startswith(moment):
            raise Crash

    return say


def test_a_release_that_was_changed_gets_none_of_the_old_noise(folder: Path) -> None:
    """The mechanism of a density does not name its column: what was charged is known by its label."""
    lines = [f"{n % 64},{(7 * n) % 64},{'Bern' if n % 3 else 'Aarau'}" for n in range(400)]
    (folder / "people.csv").write_text("\n".join(["age,pay,town", *lines]) + "\n")

    def go(column: str, **more: Any) -> Any:
        content = {
            "data": {"csv": "people.csv", "records": 400},
            "budget": {"epsilon": 4, "delta": 1e-6},
            "columns": {"age": {"low": 0, "high": 64}, "pay": {"low": 0, "high": 64}},
            "releases": [{"name": "shape", "kind": "density", "columns": [column]}, COUNTS],
        }
        return run_plan(parse_plan(content, folder), folder / "out", **more)

    with pytest.raises(Crash):
        go("age", say=killed_at("released 1/"))
    with pytest.raises(ArgumentError, match=r"releases\.shape must be as it was when it was charged"):
        go("pay")
    go("age")
    with pytest.raises(ArgumentError, match="as it was when it was charged"):
        go("pay")


def test_records_that_are_read_differently_get_none_of_the_old_noise(folder: Path) -> None:
    """A query that depends on more than the file: the same bytes, and one record less."""
    import duckdb

    with duckdb.connect(str(folder / "people.db")) as connection:
        connection.execute(f"CREATE TABLE people AS SELECT * FROM read_csv('{folder / 'people.csv'}')")
    query = "SELECT * FROM people WHERE age <> 7 OR current_setting('TimeZone') = 'UTC'"
    data = {"sql": query, "database": "people.db", "multiplies": True}
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TZ", "UTC")
        with pytest.raises(Crash):
            run(folder, COUNTS, data=data, say=killed_at("released 1/"))
    with Ledger.open(folder / LEDGER) as ledger:
        own = ledger.account("people.db")
        (spend,) = own.spends()
        book = ledger.book
        with book.transaction():  # as if they had been read otherwise
            book.store.run("UPDATE kept SET content = ? WHERE name = 'read'", zlib.compress(b"0" * 64))
    assert spend.state == "charged"
    with pytest.raises(DataError, match="read differently"):
        run(folder, COUNTS, data=data)


def test_records_are_not_counted_twice(folder: Path) -> None:
    shutil.copy(folder / "people.csv", folder / "copy.csv")
    for files in (["people.csv", "people.csv"], ["people.csv", "copy.csv"]):
        with pytest.raises(ArgumentError, match="would count its records twice"):
            run(folder, COUNTS, data={"csv": files})


def test_data_have_one_account_wherever_they_are_said_to_lie(folder: Path) -> None:
    run(folder, COUNTS)
    (folder / "more").mkdir()
    (folder / "more" / "none.csv").write_text("age,town\n")
    with pytest.raises(ArgumentError, match=r"ledger\.at must be given"):
        run(folder, TOWNS, data={"csv": ["more/none.csv", "people.csv"]}, out="o")
    (folder / "people.csv").write_text((folder / "people.csv").read_text() + "3,Bern\n")
    with pytest.raises(Refused, match="data of the account"):
        run(folder, TOWNS, ledger={"account": "fresh"}, out="o")


def test_an_account_that_is_locked_reads_nothing(folder: Path) -> None:
    run(folder, COUNTS, budget={"epsilon": 0.1}, ledger={"epsilon": 1})
    small = {"budget": {"epsilon": 0.1}, "out": "o"}
    with pytest.raises(Crash):  # a run that is killed while its cost is reserved
        run(folder, TOWNS, say=killed_at("reading 0/"), **small)
    with account(folder) as own:
        own.reserve(own.spends()[-1].mechanism, key="left by a killed run")
        for _ in range(5):
            own.journal("failed", told=True)
    with pytest.raises(Refused, match="locked"):
        run(folder, TOWNS, **small)
