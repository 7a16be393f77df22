"""`indistinct synth evaluate`: tables and generators judged by real records, and bad input by name."""

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from indistinct import Budget
from indistinct.cli import main, parser
from indistinct.data import Bins, Categories, Intervals, OrMissing
from indistinct.synthesis.evaluate import evaluate_tables
from indistinct.synthesis.tables import SyntheticTable, TableSynthesizer, TableTraining

pytest.importorskip("sklearn")
pd = pytest.importorskip("pandas")

PLAN = """
[data]
csv = "used.csv"
records = 500
[budget]
epsilon = 8.0
delta = 1e-6
[columns.age]
edges = [0, 30, 60, 99]
whole = true
[columns.town]
categories = ["None", "NA", "Bern"]
missing = "keep"
[columns.kids]
categories = [0, 1]
missing = "keep"
[columns.ill]
categories = [true, false]
[[releases]]
name = "people"
kind = "synthetic"
columns = ["age", "town", "kids", "ill"]
label = "ill"
"""
DESIGN = TableSynthesizer(
    {
        "age": Intervals([0, 30, 60, 99], whole=True),
        "town": OrMissing(Categories(["None", "NA", "Bern"])),
        "kids": OrMissing(Categories([0, 1])),
        "ill": Categories([True, False]),
    },
    label="ill",
)


def people(seed: int, count: int = 500) -> Any:
    draw = np.random.default_rng(seed)
    age = draw.integers(0, 100, count)
    town = draw.choice(np.array(["None", "NA", "Bern", None], dtype=object), count)
    kids = pd.array(draw.choice(np.array([0, 1, None], dtype=object), count), dtype="Int64")
    return pd.DataFrame({"age": age, "town": town, "kids": kids, "ill": age > draw.integers(40, 80, count)})


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "plan.toml").write_text(PLAN)
    for place, name in enumerate(("used", "real", "made")):
        people(place).to_csv(tmp_path / f"{name}.csv", index=False)
    return tmp_path


def evaluate(folder: Path, *more: str, made: str = "made.csv") -> int:
    return main(["synth", "evaluate", str(folder / made), str(folder / "real.csv"), *more])


def test_a_table_is_judged(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    plan = ("--plan", str(folder / "plan.toml"))
    assert evaluate(folder, *plan, "--used", str(folder / "used.csv"), "--json") == 0
    found = json.loads(capsys.readouterr().out)
    assert found["private"] is False and "is not private" in found["words"]
    assert found["records"] == found["synthetic"]["rows"] == 500
    made, used = found["synthetic"], found["used"]
    # the rows are as good as the records: both are drawn from the same law
    assert made["learned"]["boosting"] == pytest.approx(used["learned"]["boosting"], abs=0.05)
    assert 0.7 < made["learned"]["logistic"] < 0.99
    labels = dict(made["learned"]["by_label"])
    assert labels.keys() == {True, False} and all(0.5 < share <= 1 for share in labels.values())
    assert 0 < made["one_way"] < made["two_way"] < 0.2
    assert found["near_used"]["distance"] == pytest.approx(made["near_real"]["distance"], rel=0.3)
    assert evaluate(folder, *plan, "--used", str(folder / "used.csv")) == 0
    text = capsys.readouterr().out
    assert "is not private" in text and "  of those with label True" in text and "records used" in text


def test_copies_are_found(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pd.concat([people(0), people(0)[:250]]).to_parquet(folder / "made.parquet")
    used = str(folder / "used.csv")
    arguments = ("--plan", str(folder / "plan.toml"), "--used", used, "--json")
    assert evaluate(folder, *arguments, made="made.parquet") == 0
    found = json.loads(capsys.readouterr().out)
    assert found["near_used"] == {"copies": 1.0, "distance": 0.0}
    assert found["repeated"] > 0.33 and found["synthetic"]["near_real"]["distance"] > 0


def test_a_generator_is_judged(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("torch")
    pytest.importorskip("safetensors")
    training = TableTraining(components=16, width=16, steps=60)
    DESIGN.fit(people(0), Budget(epsilon=8, delta=1e-6), training=training).save(folder / "saved")
    assert evaluate(folder, "--rows", "300", "--json", made="saved") == 0
    found = json.loads(capsys.readouterr().out)
    assert found["synthetic"]["rows"] == 300 and found["used"] is None
    assert found["synthetic"]["learned"]["boosting"] > 0.6
    _sampled(folder, capsys)
    columns = SyntheticTable.load(folder / "saved").columns(300)  # arrays are judged as frames are
    assert evaluate_tables(DESIGN, columns, people(1)).synthetic.two_way == found["synthetic"]["two_way"]


def _sampled(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Rows into files, as they were asked for; and what cannot be asked, by name."""
    saved = str(folder / "saved")
    for name in ("rows.csv", "rows.parquet"):
        given = ["age=25..40", "ill=True", "town=Bern", "town=NA", "kids="]
        asked = [word for one in given for word in ("--given", one)]
        assert main(["synth", "sample", saved, "--rows", "40", *asked, "--out", str(folder / name)]) == 0
        assert capsys.readouterr().out == f"40 rows in {folder / name}.\n"
    frame = pd.read_csv(folder / "rows.csv", keep_default_na=False)
    assert len(frame) == 40 and frame["age"].between(25, 40).all() and frame["ill"].all()
    assert set(frame["town"]) == {"Bern", "NA"} and set(frame["kids"]) == {""}
    assert (pd.read_parquet(folder / "rows.parquet")["age"] == frame["age"]).all()
    for wrong in ("age", "age=old", "height=3", "town=Rome", "age=200..", "ill="):
        assert main(["synth", "sample", saved, "--given", wrong, "--out", str(folder / "no.csv")]) == 2
        assert re.search(wrong.partition("=")[0], capsys.readouterr().err)
    assert main(["synth", "sample", saved, "--out", str(folder / "no.txt")]) == 2
    assert "--out" in capsys.readouterr().err and not (folder / "no.csv").exists()


def test_one_column_and_labels_that_are_no_categories() -> None:
    frame = people(1)
    one = evaluate_tables(TableSynthesizer({"age": Bins(0, 99, 3)}), people(0), frame)
    assert one.synthetic.two_way is None and one.synthetic.learned is None and "-" in str(one)
    numbers = TableSynthesizer({"age": Bins(0, 99, 3), "ill": Categories([True, False])}, label="age")
    assert evaluate_tables(numbers, people(0), frame).synthetic.learned is None
    towns = TableSynthesizer(
        {"age": Bins(0, 99, 3), "town": OrMissing(Categories(["None", "NA", "Bern"]))}, label="town"
    )
    guessed = evaluate_tables(towns, people(0), frame).synthetic.learned
    assert guessed is not None and abs(guessed.boosting - 0.5) < 0.15


@pytest.fixture
def pictures(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Bright above or below."""
    pytest.importorskip("torch")
    monkeypatch.chdir(tmp_path)
    for seed, name in enumerate(("used", "real", "made")):
        draw = np.random.default_rng(seed)
        images, labels = draw.integers(0, 120, (200, 8, 8)).astype(np.uint8), np.arange(200) % 2
        images.reshape(200, 2, 4, 8)[np.arange(200), labels] += 100
        np.savez(f"{name}.npz", images=images, labels=np.array(["above", "below"])[labels])


@pytest.mark.usefixtures("pictures")
def test_images_are_judged(capsys: pytest.CaptureFixture[str]) -> None:
    command = ["synth", "evaluate", "made.npz", "real.npz", "--images", "--seeds", "2", "--epochs", "10"]
    assert main([*command, "--used", "used.npz", "--json", "--grid", "grid.png"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["private"] is False and "is not private" in found["words"]
    assert found["images"] == found["real"] == 200 and found["accuracy"] > 0.9
    assert dict(found["by_class"]).keys() == {"above", "below"} and len(found["accuracies"]) == 2
    assert found["copies"] == found["repeated"] == found["copies_of_used"] == 0
    assert found["near"]["to_used"] == pytest.approx(found["near"]["to_others"], rel=0.05)
    assert Path("grid.png").read_bytes()[:4] == b"\x89PNG"
    assert main(["synth", "evaluate", "used.npz", "real.npz", "--images", "--used", "used.npz"]) == 0
    text = capsys.readouterr().out
    assert re.search(r"equal to an image that was used +1\.0000", text) and "wavelet-feature" in text


@pytest.mark.filterwarnings("ignore:.*torch.jit")
@pytest.mark.usefixtures("pictures")
def test_who_has_the_network_gets_an_fid(capsys: pytest.CaptureFixture[str]) -> None:
    import torch

    network = torch.nn.Sequential(torch.nn.AvgPool2d(100), torch.nn.Flatten())  # stands in for Inception
    torch.jit.save(torch.jit.trace(network, torch.zeros(1, 3, 299, 299)), "network.pt")
    more = ["--images", "--seeds", "1", "--epochs", "1", "--inception", "network.pt", "--json"]
    assert main(["synth", "evaluate", "real.npz", "real.npz", *more]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["frechet_is_fid"] and found["frechet"] == pytest.approx(0, abs=1e-6)


@pytest.mark.filterwarnings("ignore:.*torch.jit")
@pytest.mark.usefixtures("pictures")
@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["made.npz", "real.npz", "--images", "--plan", "plan.toml"], "--plan must be absent"),
        (["made.npz", "real.npz", "--images", "--rows", "3"], "--rows must be absent"),
        (["made.npz", "real.npz", "--images", "--seeds", "0"], "seeds"),
        (["made.npz", "bad.npz", "--images"], "bad.npz"),
        (["bad.npz", "real.npz", "--images"], "bad.npz: it is not a whole .npz file"),
        (["made.npz", "none.npz", "--images"], "none.npz"),
        (["bad.safetensors", "real.npz", "--images"], "bad.safetensors: it is not a whole"),
        (["made.npz", "real.npz", "--images", "--inception", "bad.npz"], "a TorchScript file"),
        (["made.npz", "real.npz", "--images", "--inception", "none.pt"], "a TorchScript file"),
        (["made.csv", "real.csv", "--seeds", "3"], "--seeds must be absent"),
    ],
)
def test_bad_images_are_one_line(
    arguments: list[str], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("bad.npz", "bad.safetensors"):
        Path(name).write_bytes(b"no such thing")
    assert main(["synth", "evaluate", *arguments]) == 2
    message = capsys.readouterr().err
    assert words in message and message.count("\n") == 1


BAD = {
    "no plan": ([], {}, "--plan must be given"),
    "no release": (["--plan", "plan.toml", "--release", "towns"], {}, "--release must be one of"),
    "rows of a table": (["--plan", "plan.toml", "--rows", "5"], {}, "--rows must be absent"),
    "no file": (["--plan", "plan.toml", "--used", "missing.csv"], {}, "missing.csv"),
    "not a number": (["--plan", "plan.toml"], {"age": "VII"}, "'age' of real.csv does not hold integers"),
    "half a child": (["--plan", "plan.toml"], {"kids": 0.5}, "column 'kids' of real.csv"),
    "pictures": (["--plan", "plan.toml", "--used", "bytes.npz"], {}, "bytes.npz cannot be read as CSV"),
    "no such column": (["--plan", "plan.toml"], {"town": None}, "real.csv has no column 'town'"),
    "one label": (["--plan", "plan.toml"], {"ill": True}, "the real records have one label only"),
    "no records": (["--plan", "plan.toml"], {"": None}, "there are no real records"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_input_is_one_line(
    folder: Path, case: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    arguments, changes, words = BAD[case]
    monkeypatch.chdir(folder)
    frame = people(1).astype(object)
    for name, value in changes.items():
        if name == "":
            frame = frame[:0]
        elif value is None:
            frame = frame.drop(columns=name)
        elif name == "ill":
            frame[name] = value
        else:
            frame.loc[3, name] = value
    frame.to_csv("real.csv", index=False)
    Path("bytes.npz").write_bytes(b"PK\x03\x04\x90")
    assert main(["synth", "evaluate", "made.csv", "real.csv", *arguments]) == 2
    message = capsys.readouterr().err
    assert words in message and message.count("\n") == 1 and "VII" not in message


def test_every_option_is_documented() -> None:
    text = (Path(__file__).parent.parent / "docs" / "cli.md").read_text(encoding="utf-8")
    section = re.findall(r"^## synth\n(.*?)(?=^## |\Z)", text, flags=re.M | re.S)[0]
    top = next(action for action in parser()._actions if hasattr(action, "choices") and action.choices)
    inside = next(action for action in top.choices["synth"]._actions if action.choices)
    for name, command in inside.choices.items():
        assert f"indistinct synth {name} " in section
        options = {o for a in command._actions for o in a.option_strings if o.startswith("--")} - {"--help"}
        assert not {o for o in options if f"`{o}`" not in section}
