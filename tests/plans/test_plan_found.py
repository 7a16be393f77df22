"""Groups that nobody has listed: found by a threshold under noise, and asked about in the same run."""

import shutil
from pathlib import Path
from typing import Any

import pytest

from indistinct import ArgumentError
from indistinct.files import read_rows
from indistinct.ledger import Ledger
from indistinct.plans import check_plan, parse_plan, run_plan
from indistinct.plans.batches import ReleaseBatch
from indistinct.plans.folder import Folder
from indistinct.plans.plan import Plan
from indistinct.plans.run import _drawn
from indistinct.plans.spending import LEDGER

pytestmark = pytest.mark.usefixtures("told_once")

COSTS = {"name": "costs", "kind": "mean", "column": "cost", "by": ["word"]}
MEDIANS = {"name": "medians", "kind": "quantiles", "column": "cost", "ranks": [0.5], "by": ["sex", "word"]}
COLUMNS = {"cost": {"low": 0, "high": 8, "bins": 8}, "sex": {"categories": ["f", "m"]}}
USED = 400
"""Records of each word that many have; a word that one has is never to be seen."""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    lines = [f"{n % 200},{'a b' if n % 2 else '=c'},{n % 8},{'fm'[n % 3 == 0]}" for n in range(2 * USED)]
    lines += ["7,zebra,3,f", "8,,3,f"]
    (tmp_path / "words.csv").write_text("\n".join(["person,word,cost,sex", *lines]) + "\n")
    return tmp_path


def plan(folder: Path, *releases: dict[str, Any], **sections: Any) -> Plan:
    content: dict[str, Any] = {
        "data": {"csv": "words.csv", "records": 2 * USED},
        "budget": {"epsilon": 8, "delta": 1e-6},
        "columns": {**COLUMNS, "word": {"found": 5}},
        "releases": list(releases),
    }
    return parse_plan({**content, **sections}, folder)


def results(out: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in out.glob("*.csv")}


def test_groups_are_found_and_asked_about(folder: Path) -> None:
    asked, out = plan(folder, COSTS, MEDIANS), folder / "out"
    checked = check_plan(asked)
    assert checked.mechanism.guarantee().epsilon(delta=1e-6) <= 8
    assert "mean of cost by word (at most 5 found)" in str(checked)
    assert "groups_of_word: heavy-hitters of word" in str(checked)
    run_plan(asked, out)
    header, *rows = read_rows(out / "costs.csv")
    assert header[:2] == ["word", "mean"]
    assert {row[0] for row in rows[:-1]} == {"a b", "=c"} and rows[-1][0] == "all others"
    assert {row[0]: round(float(row[1])) for row in rows[:-1]} == {"a b": 4, "=c": 3}
    _, *rows = read_rows(out / "medians.csv")
    assert [row[0] for row in rows] == ["f"] * 3 + ["m"] * 3
    for path in out.iterdir():  # in no file, picture or note
        assert b"zebra" not in path.read_bytes()
    assert "the release groups_of_word has found" in (out / "report.md").read_text()


def test_a_release_of_the_plan_finds_groups_with_its_own_share(folder: Path) -> None:
    own = {"name": "words", "kind": "heavy-hitters", "column": "word", "weight": 3, "delta": 1e-8}
    asked = plan(folder, COSTS, own)
    assert [part.name for part in asked.parts] == ["costs", "words"]
    run_plan(asked, folder / "out")
    found = [row[0] for row in read_rows(folder / "out" / "words.csv")[1:]]
    assert [row[0] for row in read_rows(folder / "out" / "costs.csv")[1:]] == [*found, "all others"]
    few = plan(folder, COSTS, own, columns={**COLUMNS, "word": {"found": 1}}, ledger=False)
    run_plan(few, folder / "few")
    assert len(read_rows(folder / "few" / "costs.csv")) == 3  # a header, one group, all others


class Crash(BaseException):
    """What cannot be caught by accident."""


@pytest.mark.parametrize("moment", ["charged", "released 1/", "released 2/", "released 3/"])
def test_a_killed_run_is_finished_with_the_same_draw(folder: Path, moment: str) -> None:
    def say(line: str) -> None:
        if line.startswith(moment):
            raise Crash

    asked, out = plan(folder, COSTS, MEDIANS), folder / "out"
    with pytest.raises(Crash):
        run_plan(asked, out, say)
    seen = results(out)
    if moment == "released 2/":  # what was drawn is known by the ledger's key, and not by what lies there
        (out / "groups_of_word.csv").write_text("word,count,standard_error,low,high\nzebra,9,1,8,10\n")
    run_plan(asked, out)
    after = results(out)
    assert {name: after[name] for name in seen} == seen and len(after) == 3
    shutil.rmtree(out)
    run_plan(asked, out)
    assert results(out) == after
    with Ledger.open(folder / LEDGER, create=False) as ledger:
        assert len(ledger.account("words.csv").spends()) == 1


def test_other_records_get_none_of_the_old_noise(folder: Path) -> None:
    """Words change places with each other: each is as frequent as before, and so is each cost."""
    (folder / "groups_of_word.csv").write_text("word,count\na,1\nb,1\n")

    def last(*first: str) -> Any:
        """What is released of all others, of whom there are none: noise alone."""
        lines = [f"{word},{n % 8}" for n, word in enumerate([*first, *["a", "b"] * USED])]
        (folder / "words.csv").write_text("\n".join(["word,cost", *lines]) + "\n")
        checked = check_plan(plan(folder, {**COSTS, "kind": "sum"}))
        batch = ReleaseBatch(checked.parts[:1], checked.scales[:1], ("label",))
        ((_, rows),) = _drawn(checked, batch, bytes(32), {"costs": checked.table}, Folder(folder))
        return list(rows)[-1]

    assert last("a", "b") == last("a", "b") != last("b", "a")


def test_users_who_are_in_several_groups(folder: Path) -> None:
    """A group more, of those that are asked about, costs what it costs among declared groups."""
    counts = {"name": "counts", "kind": "count", "by": ["word"]}
    gaussian = {"epsilon": 1, "delta": 1e-6, "noise": "gaussian"}
    for most_groups, reach in ((None, 2), (3, 2 * 3**0.5), (50, 2 * 6**0.5)):
        limits = {} if most_groups is None else {"most_groups": most_groups}
        asked = plan(folder, counts, budget=gaussian, privacy={"user": "person", "most": 2, **limits})
        part = asked.parts[0]
        assert part.sensitivity(asked.terms.adjacency) == pytest.approx(reach)
        one = part.among({"word": ["a b"]})
        assert one.sensitivity(asked.terms.adjacency) <= part.sensitivity(asked.terms.adjacency)
        assert asked.parts[1].at(1.0).guarantee().epsilon(delta=1e-7) == pytest.approx(2.0)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"budget": {"epsilon": 1}}, r"budget\.delta must be positive"),
        ({"privacy": {"adjacency": "replace-one"}}, "add-remove"),
        ({"columns": {**COLUMNS, "word": {"found": 0}}}, r"columns\.word\.found"),
        ({"columns": {**COLUMNS, "word": {"found": 3, "categories": ["a"]}}}, "found alone"),
        ({"releases": [{"name": "a", "kind": "histogram", "columns": ["word"]}]}, "only for `by`"),
        (
            {"releases": [{"name": "a", "kind": "prefix", "column": "cost", "by": ["word"]}]},
            "not of all kinds",
        ),
        ({"releases": [{"name": "a", "kind": "density", "columns": ["cost"], "by": ["word"]}]}, "not of all"),
        (
            {"releases": [COSTS, *({"name": n, "kind": "heavy-hitters", "column": "word"} for n in "ab")]},
            "one release of kind heavy-hitters, or none",
        ),
    ],
)
def test_what_cannot_be_found(folder: Path, change: dict[str, Any], words: str) -> None:
    with pytest.raises(ArgumentError, match=words):
        plan(folder, *change.pop("releases", [COSTS]), **change)
