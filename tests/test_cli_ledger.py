"""`indistinct ledger`: accounts from a shell, in tables for people and JSON for machines."""

import argparse
import json
import re
import sqlite3
import stat
from hashlib import sha256
from html import escape
from pathlib import Path
from typing import Any

import pytest

from indistinct import Laplace
from indistinct.cli import main, parser
from indistinct.ledger import Ledger

ROOT = Path(__file__).parent.parent
DIGEST = "0" * 64


class Shell:
    """Runs commands in a folder, and gives what they print."""

    def __init__(self, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.folder, self._capsys = folder, capsys

    def run(self, *words: str, code: int = 0) -> str:
        assert main(["ledger", *words]) == code, self._capsys.readouterr().err
        told = self._capsys.readouterr()
        if code in (2, 3):
            assert told.err.startswith("indistinct: ") and told.err.count("\n") == 1 and told.out == ""
            return told.err
        return told.out

    def json(self, *words: str, code: int = 0) -> Any:
        return json.loads(self.run(*words, "--json", code=code), parse_constant=lambda word: 1 / 0)


@pytest.fixture
def shell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Shell:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "people.csv").write_text("age\n3\n")
    assert main("ledger open b.db census --epsilon 1 --unit person --data people.csv --who mira".split()) == 0
    assert capsys.readouterr().out == "census: epsilon 0 spent of epsilon 1\n"
    return Shell(tmp_path, capsys)


def test_a_budget_is_spent_and_then_refuses(shell: Shell) -> None:
    assert stat.S_IMODE(Path("b.db").stat().st_mode) == 0o600
    spent = shell.json(
        "spend", "b.db", "census", "laplace(10)", "--key", "ages", "--note", "t", "--who", "ana"
    )
    assert spent["spend"]["cost"] == "1/10" and spent["account"]["left"] == "9/10"
    assert shell.json("spend", "b.db", "census", "laplace(10)", "--key", "ages")["account"]["left"] == "9/10"
    assert "census: epsilon 1 spent of epsilon 1" in shell.run("spend", "b.db", "census", "9 * laplace(10)")
    refused = shell.run("spend", "b.db", "census", "pure(1e-15)", "--who", "ben", code=3)
    assert "refuses" in refused and "left" in refused
    shell.run("spend", "b.db", "census", "laplace(9)", "--key", "ages", code=3)
    shell.run("spend", "b.db", "census", "laplace(10)", "--adjacency", "replace-one", code=3)
    shown = shell.run("show", "b.db", "census")
    assert all(word in shown for word in ("ana", "laplace(10.0)", "ages", "refused", "Rogers", "100 %"))
    data = shell.json("show", "b.db", "census")
    assert data["share"] == 1 and [one["event"] for one in data["recent"]].count("refused") == 3


def test_all_accounts_in_one_table(shell: Shell) -> None:
    shell.run("open", "b.db", "clinics", "--rho", "0.5", "--renews", "month", "--approval")
    shell.run("open", "b.db", "log", "--odometer")
    header, *rows = shell.run("show", "b.db").splitlines()
    assert header.split() == ["account", "promise", "spent", "reserved", "left", "used", "status"]
    assert [row.split()[0] for row in rows] == ["census", "clinics", "log"]
    assert len({row.index("open") for row in rows}) == 1  # columns stand below each other
    assert [one["account"] for one in shell.json("show", "b.db")["accounts"]] == ["census", "clinics", "log"]
    with Ledger.open("empty.db"):
        assert "No account is open yet" in shell.run("show", "empty.db")


def test_owners(shell: Shell) -> None:
    opened = ["open", "b.db", "clinics", "--epsilon", "1", "--delta", "1e-6", "--approval", "--notion", "gdp"]
    assert shell.json(*opened)["notion"] == "gdp" and shell.json(*opened)["entries"] == 1
    shell.run(*opened[:4], "2", *opened[5:], code=3)
    spend = ["spend", "b.db", "clinics", "gaussian(20)", "--plan", DIGEST]
    assert "approved" in shell.run(*spend, code=3)
    shell.run("approve", "b.db", "clinics", DIGEST)
    shell.run(*spend)
    assert shell.json("raise", "b.db", "clinics", "--epsilon", "2", "--delta", "1e-6")["promise"].startswith(
        "epsilon 2"
    )
    assert "confirm" in shell.run("raise", "b.db", "clinics", "--epsilon", "99", "--delta", "1e-6", code=2)
    assert shell.json("close", "b.db", "clinics")["status"] == "closed"
    assert "closed" in shell.run(*spend, "--key", "x", code=3)
    assert shell.json("unlock", "b.db", "census")["status"] == "open"


def test_a_plan_is_approved_by_its_file(shell: Shell) -> None:
    plan = '[data]\ncsv = "people.csv"\nrecords = 9\n[budget]\nepsilon = 1.0\n'
    plan += '[[releases]]\nname = "n"\nkind = "count"\n'
    Path("plan.toml").write_text(plan)
    Path("people.csv").write_text("age\n31\n")
    told = shell.run("approve", "b.db", "census", "plan.toml")
    assert "epsilon 1" in told and "people.csv" in told
    digest = told.strip().split()[-1]
    with Ledger.open("b.db") as ledger:
        assert ledger.book.approved("census", digest)
    Path("people.csv").write_text("age\n32\n")  # of other data it is another plan
    assert digest not in shell.run("approve", "b.db", "census", "plan.toml")
    assert "plan.tml" in shell.run("approve", "b.db", "census", "plan.tml", code=2)


def test_a_page_tells_all_and_runs_nothing(shell: Shell) -> None:
    name, evil = "<img onerror>", "<script>alert(2)</script>"
    shell.run("open", "b.db", name, "--epsilon", "1", "--delta", "1e-6", "--unit", evil)
    for number in range(3):
        shell.run("spend", "b.db", name, "gaussian(30)", "--who", evil, "--note", f"{evil}{number}")
    shell.run("spend", "b.db", name, "gaussian(0.1)", "--who", evil, code=3)
    assert "The page is in page.html." in shell.run("report", "b.db", name, "--out", "page.html")
    page = Path("page.html").read_text(encoding="utf-8")
    assert page.startswith("<!DOCTYPE html>") and "<script" not in page and "<img" not in page
    assert escape(name) in page and escape(evil) in page and page.count("<svg") == 6  # three of the budget
    for word in (
        "The budget over time",
        "The budget by person",
        "3 * gaussian(30.0)",
        "refused",
        "Smith and Thakurta",
    ):
        assert word in page
    assert "http" not in re.sub(r"</?\w[^>]*>", "", page)  # nothing to fetch
    told = shell.json("report", "b.db", name, "--out", "page.html", "--delta", "1e-3")["guarantee"]
    assert told["epsilon"]["delta"] == 1e-3
    assert "account" in shell.run("report", "b.db", code=2)  # which of the two?


def test_pages_of_accounts_without_a_cap_or_without_spends(shell: Shell) -> None:
    shell.run("report", "b.db")  # the only account
    assert "Nothing has been spent yet." in Path("ledger.html").read_text(encoding="utf-8")
    shell.run("open", "b.db", "log", "--odometer")
    shell.run("spend", "b.db", "log", "laplace(3)")
    shell.run("report", "b.db", "log", "--out", "log.html")
    page = Path("log.html").read_text(encoding="utf-8")
    assert "odometer" in page and "The budget over time" in page and "What is left." not in page


def test_what_was_changed_is_found(shell: Shell) -> None:
    shell.run("spend", "b.db", "census", "laplace(10)", "--key", "k")
    assert "all is as it was written" in shell.run("verify", "b.db")
    with Ledger.open("b.db") as ledger:
        made = ledger.account("census").spend(
            Laplace(10), key="n", digests={"n.csv": sha256(b"7\n").hexdigest()}
        )
    Path("out").mkdir()
    receipt = {"key": "n", "entry": made.number, "hash": made.hash}
    Path("out/guarantee.json").write_text(
        json.dumps({"ledger": {"account": "census", "receipts": [receipt]}})
    )
    verify = ("verify", "b.db", "--receipts", "out")
    assert "n.csv: it was released, and is missing" in shell.run(*verify, code=1)
    Path("out/n.csv").write_bytes(b"7\n")
    assert shell.json(*verify)["valid"]
    Path("out/n.csv").write_bytes(b"8\n")
    assert "n.csv: it is not as it was released" in shell.run(*verify, code=1)
    receipt["hash"] = DIGEST
    Path("out/guarantee.json").write_text(
        json.dumps({"ledger": {"account": "census", "receipts": [receipt]}})
    )
    assert "entries were lost or changed" in shell.run(*verify, code=1)
    Path("out/guarantee.json").write_text("{}")
    assert "receipts" in shell.run(*verify, code=2)
    with sqlite3.connect("b.db") as base:
        base.execute("UPDATE entries SET who = 'nobody' WHERE key = 'k'")
    told = shell.json("verify", "b.db", code=1)
    assert not told["valid"] and told["mistakes"]


def test_export_and_merge(shell: Shell) -> None:
    shell.run("spend", "b.db", "census", "laplace(10)", "--key", "k")
    shell.run("export", "b.db", "--out", "b.json")
    assert stat.S_IMODE(Path("b.json").stat().st_mode) == 0o600
    assert json.loads(shell.run("export", "b.db")) == json.loads(Path("b.json").read_text())
    with Ledger.open("c.db"):
        pass
    assert shell.json("merge", "c.db", "b.json")["merged"]
    assert shell.json("show", "c.db", "census")["spent"] == "1/10"
    shell.run("merge", "c.db", "b.db")  # the same once more counts nothing
    assert shell.json("show", "c.db", "census")["spent"] == "1/10"
    for forged in ("[]", "{}", '{"format": 1}', "{", '{"accounts": {"census": {"total": "0"}}}'):
        Path("forged.json").write_text(forged)
        shell.run("merge", "c.db", "forged.json", code=2)
    whole = Path("b.json").read_text()
    for old, new in (
        ('"cost": "1/10"', '"cost": "0"'),
        ('"cost": "1/10"', '"cost": "-1/10"'),
        ('"event": "spent"', '"event": "unknown"'),
        ('"number": 3', '"number": 99999999999999999999'),
        ('"who": "mira"', '"who": {}'),
        ("laplace", "gaussian"),
    ):
        assert old in whole
        Path("forged.json").write_text(whole.replace(old, new))
        with Ledger.open("d.db") as other:
            shell.run("merge", "d.db", "forged.json", code=2)
            assert other.states() == [] and other.verify() == []


def test_tokens_are_shown_once(shell: Shell) -> None:
    token = shell.run("token", "b.db", "ana", "--role", "analyst", "--days", "2").strip()
    assert token.startswith("indistinct_") and len(token) > 50
    assert token not in shell.run("token", "b.db") and "analyst" in shell.run("token", "b.db")
    assert shell.json("token", "b.db", "ana", "--revoke") == {"revoked": 1}
    assert [one["status"] for one in shell.json("token", "b.db")["tokens"]] == ["revoked"]


@pytest.mark.parametrize(
    ("words", "named"),
    [
        ("show missing.db", "no ledger"),
        ("show people.csv", "people.csv"),
        ("show mysql://host/base", "ledger"),
        ("show b.db nobody", "nobody"),
        ("open b.db other", "promise"),
        ("open b.db other --odometer --epsilon 1", "promise"),
        ("open b.db other --epsilon 1e6", "confirm"),
        ("open b.db other --epsilon -1", "epsilon"),
        ("open b.db other --epsilon nan", "epsilon"),
        ("open b.db other --epsilon 1 --notion gdp", "notion"),
        ("open b.db other --epsilon 1 --notion mine", "--notion"),
        ("open b.db a/b --epsilon 1", "name"),
        ("open b.db other --epsilon 1 --refusals 0", "refusals"),
        ("open b.db other --epsilon 1 --data gone.csv", "gone.csv"),
        ("open none/b.db other --epsilon 1", "none"),
        ("spend b.db census laplace(", "expression"),
        ("spend b.db census laplace(0)", "scale"),
        ("spend b.db nobody laplace(1)", "nobody"),
        ("spend b.db census", "expression"),
        ("raise b.db census", "promise"),
        ("report b.db census --out page.pdf", ".html"),
        ("report b.db census --out none/page.html", "none"),
        ("report b.db census --delta 2", "delta"),
        ("verify b.db --receipts none", "none"),
        ("merge b.db none.json", "none.json"),
        ("merge b.db none.db", "no ledger"),
        ("token b.db ana", "--role"),
        ("token b.db ana --role king", "--role"),
        ("token b.db a;b --role owner", "name"),
        ("token b.db ana --role owner --days -1", "days"),
        ("serve missing.db", "no ledger"),
        ("serve b.db --port 99999", "port"),
        ("serve b.db --rate 0", "rate"),
        ("serve b.db --host 203.0.113.1", "address"),
        ("approve b.db census", "plan"),
    ],
)
def test_bad_input_is_one_line(words: str, named: str, shell: Shell) -> None:
    assert named in shell.run(*words.split(), code=2)
    assert shell.json("show", "b.db", "census")["spent"] == "0"


def test_nothing_moves_a_cursor(shell: Shell) -> None:
    shell.run("open", "b.db", "a\x1b[2Jb", "--epsilon", "1", code=2)
    with sqlite3.connect("b.db") as base:  # whoever can write the file can write anything
        base.execute("UPDATE entries SET who = 'a' || char(27) || '[2J' WHERE account = 'census'")
    assert "\x1b" not in shell.run("show", "b.db", "census") + shell.run("verify", "b.db", code=1)


def test_every_command_and_option_is_documented() -> None:
    text = (ROOT / "docs" / "cli.md").read_text(encoding="utf-8")
    section = re.search(r"^## ledger\n(.*?)(?=^## |\Z)", text, flags=re.M | re.S)
    assert section is not None
    top = next(action for action in parser()._actions if isinstance(action, argparse._SubParsersAction))
    inner = next(a for a in top.choices["ledger"]._actions if isinstance(a, argparse._SubParsersAction))
    for name, command in inner.choices.items():
        assert f"indistinct ledger {name} " in section[1], f"document `indistinct ledger {name}`"
        options = {o for a in command._actions for o in a.option_strings if o.startswith("--")} - {"--help"}
        assert not {o for o in options if f"`{o}`" not in section[1]}, name


def test_a_key_that_was_charged_before_says_by_whom(shell: Shell) -> None:
    asked = ("spend", "b.db", "census", "laplace(30)", "--key", "k", "--who")
    assert shell.run(*asked, "ana").startswith("Charged: ")
    assert shell.run(*asked, "eve").startswith("Charged before, by ana on 20")


def test_who_runs_a_plan_is_written_down_and_what_its_account_is_kept_in(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from indistinct.cli import main

    monkeypatch.chdir(tmp_path)
    Path("people.csv").write_text("age\n31\n")
    plan = '[data]\ncsv = "people.csv"\n[budget]\nepsilon = 1.0\n[[releases]]\nname = "n"\nkind = "count"\n'
    Path("plan.toml").write_text(plan)
    monkeypatch.setattr("indistinct.plans.run._report", lambda told, folder, pdf: folder.path)
    assert main(["run", "plan.toml", "--who", "ana"]) == 0
    told = capsys.readouterr().out
    assert "kept in pure (epsilon at most 1)" in told and "indistinct ledger open" in told
    assert main(["check", "plan.toml", "--who", "eve"]) == 0
    with Ledger.open("indistinct-ledger.db") as ledger:
        entries = ledger.account("people.csv").entries()
        assert {entry.who for entry in entries if entry.event == "charged"} == {"ana"}
        assert entries[0].event == "checked" and entries[0].who == "eve"
