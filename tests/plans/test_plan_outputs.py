"""What a plan writes: every text comes back, types are declared, nothing runs, nobody else reads or redirects
it, and a result that was damaged is refused by name."""

import json
import os
import shutil
import stat
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("duckdb")
pa = pytest.importorskip("pyarrow")

from pyarrow import parquet  # noqa: E402

from indistinct.cli import main  # noqa: E402
from indistinct.errors import FileError  # noqa: E402
from indistinct.files import read_rows  # noqa: E402
from indistinct.ledger import Ledger  # noqa: E402
from indistinct.ledger.kept import keep, kept  # noqa: E402
from indistinct.plans import read_plan, run_plan  # noqa: E402
from indistinct.plans.spending import LEDGER  # noqa: E402

pytestmark = pytest.mark.usefixtures("told_once")

PLAN = """
[data]
parquet = "words.parquet"
[budget]
epsilon = 50.0
confirm = true
delta = 1e-6
[columns.code]
categories = ["01234", "=1+1", "-3", ""]
[[releases]]
name = "words"
kind = "heavy-hitters"
column = "word"
[[releases]]
name = "codes"
kind = "histogram"
columns = ["code"]
"""
WORDS = [
    "plain",
    "a\rb",
    "a\r\nb",
    "\n",
    "\0",
    '"',
    "'=x",
    "=cmd|' /C calc'!A0",
    "-1",
    "@x",
    "\t",
    "",
    "w" * 200_000,
]
CODES = ["01234", "=1+1", "-3", ""]


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a plan, its data and its results."""
    folder = tmp_path_factory.mktemp("plan")
    rows = 100 * len(WORDS)
    words = [WORDS[n % len(WORDS)] for n in range(rows)]
    codes = [CODES[n % len(CODES)] for n in range(rows)]
    parquet.write_table(pa.table({"word": words, "code": codes}), folder / "words.parquet")
    (folder / "plan.toml").write_text(PLAN)
    run(folder, folder / "out")
    return folder


@pytest.fixture
def out(done: Path, tmp_path: Path) -> Path:
    """Results, as a run has left them."""
    return Path(shutil.copytree(done / "out", tmp_path / "out"))


def run(folder: Path, out: Path) -> None:
    run_plan(read_plan(folder / "plan.toml"), out)


def test_every_value_comes_back_and_types_are_declared(done: Path, out: Path) -> None:
    assert {row[0] for row in read_rows(out / "words.csv")[1:]} == set(WORDS)
    assert [row[0] for row in read_rows(out / "codes.csv")[1:]] == CODES
    words, codes = (parquet.read_table(out / f"{name}.parquet") for name in ("words", "codes"))
    assert set(words.column(0).to_pylist()) == set(WORDS) and codes.column(0).to_pylist() == CODES
    assert [str(kind) for kind in words.schema.types] == ["string", "int64", *["double"] * 3]
    assert [str(kind) for kind in codes.schema.types] == ["string", *["double"] * 4]
    (out / "report.html").unlink()
    run(done, out)  # and can be read again
    assert (out / "report.html").exists()


def test_no_cell_is_a_formula(out: Path) -> None:
    cells = (out / "words.csv").read_text().replace('"', "\n").split("\n")
    assert not [cell for cell in cells if cell.startswith(("=", "+", "-", "@", "\t", "\r"))]
    for line in (out / "codes.csv").read_text().splitlines()[1:]:
        assert not line.startswith(("=", "-"))
        float(line.split(",")[-4])


def test_results_are_published_whole(done: Path, tmp_path: Path) -> None:
    seen: list[int] = []
    out = tmp_path / "out"
    before, replace = os.umask(0o022), os.replace

    def watched(source: Any, target: Any) -> None:
        seen.append(stat.S_IMODE(os.lstat(source).st_mode))
        replace(source, target)

    written = os.fsync

    def flushed(handle: int) -> None:
        mode = os.fstat(handle).st_mode
        if stat.S_ISREG(mode):
            assert stat.S_IMODE(mode) == 0o600
        written(handle)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "replace", watched)
        patch.setattr(os, "fsync", flushed)
        try:
            run(done, out)
        finally:
            os.umask(before)
    assert len(seen) >= 7 and set(seen) == {0o644}
    ours = {path.name for path in out.iterdir() if stat.S_IMODE(path.stat().st_mode) != 0o644}
    assert ours == {".lock"} and stat.S_IMODE((done / LEDGER).stat().st_mode) == 0o600


@pytest.mark.parametrize("name", ["words.csv", "codes.csv"])
def test_links_are_not_read_through(done: Path, out: Path, name: str) -> None:
    elsewhere = out.parent / "elsewhere"
    (out / name).rename(elsewhere)
    (out / name).symlink_to(elsewhere)
    with pytest.raises(FileError, match="symbolic link"):
        run(done, out)


def test_links_are_not_written_through(done: Path, tmp_path: Path) -> None:
    nowhere, out = tmp_path / "nowhere", tmp_path / "out"
    out.mkdir()
    names = ["guarantee.json", "words.csv", "codes.csv", "words.parquet", "report.html"]
    for name in names:
        (out / f"{name}.partial").symlink_to(nowhere)
    (out / "words.csv").symlink_to(nowhere)
    with pytest.raises(FileError, match=r"words\.csv: .*symbolic link"):
        run(done, out)
    (out / "words.csv").unlink()
    run(done, out)
    assert not nowhere.exists() and not [path for path in out.iterdir() if path.is_symlink()]


@pytest.mark.parametrize("damage", [b"", b"\xff", b"a,b\n1\n", b'"', b"[" * 20_000, None], ids=repr)
@pytest.mark.parametrize("name", ["words.csv", "codes.csv"])
def test_damaged_results_are_named(
    done: Path, out: Path, name: str, damage: bytes | None, capsys: pytest.CaptureFixture[str]
) -> None:
    content = (out / name).read_bytes()
    (out / name).write_bytes(content[: len(content) // 2] if damage is None else damage)
    assert main(["run", str(done / "plan.toml"), "--out", str(out)]) == 2
    message = capsys.readouterr().err
    assert f"{name}: " in message and message.count("\n") <= 20 and "Traceback" not in message


def test_nothing_is_decided_by_what_readers_are_told(done: Path, out: Path) -> None:
    told = (out / "guarantee.json").read_text()
    charge = json.loads(told)
    for one in charge["releases"]:
        one["scale"] /= 2
    (out / "words.csv").unlink()
    for text in (json.dumps(charge), "{", ""):
        (out / "guarantee.json").write_text(text)
        run(done, out)
        assert (out / "guarantee.json").read_text() == told and (out / "words.csv").exists()


def test_a_ledger_that_keeps_other_scales_is_refused(done: Path, tmp_path: Path) -> None:
    """What it keeps of a run is not in its chain of entries; but the mechanism is."""
    folder = Path(shutil.copytree(done, tmp_path / "copy"))
    with Ledger.open(folder / LEDGER) as ledger:
        account = ledger.account("words.parquet")
        (spend,) = account.spends()
        asked = json.loads(kept(account, spend.key)["asked.json"])
        asked["releases"][0]["scale"] *= 2
        keep(account, spend.key, {"asked.json": json.dumps(asked).encode()})
    with pytest.raises(FileError, match="not what it charged"):
        run(folder, folder / "out")


def test_a_plan_nested_deep_is_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "plan.toml").write_text("a = " + "[" * 20_000 + "]" * 20_000)
    assert main(["run", str(tmp_path / "plan.toml")]) == 2
    message = capsys.readouterr().err
    assert "plan.toml: " in message and "nested" in message and message.count("\n") == 1
