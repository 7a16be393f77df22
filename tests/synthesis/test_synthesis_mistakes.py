"""Mistakes that are easily made with synthetic data: named at once, before a release is paid for; and files
that never state less than what was spent."""

import math
import sys
from dataclasses import replace
from itertools import combinations, product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("torch")
pd = pytest.importorskip("pandas")

from untouched import Untouched  # noqa: E402

from indistinct import Adjacency, Budget  # noqa: E402
from indistinct.data import Bins, Categories, Intervals, Norm, OrMissing, Tables, UserRecords  # noqa: E402
from indistinct.errors import ArgumentError, DataError, FileError  # noqa: E402
from indistinct.files import read_saved, write_safetensors  # noqa: E402
from indistinct.noise import NotPrivateSource  # noqa: E402
from indistinct.synthesis import images, tables  # noqa: E402
from indistinct.synthesis.evaluate import evaluate_tables  # noqa: E402

SHAPE = (1, 4, 4)
QUICK = images.ImageTraining(
    steps=2, plain_steps=1, steps_per_metric=1, images_per_class=2, images_in_metric=4, channels=2, latent=2
)
DRAW = np.random.default_rng(0)
PICTURES, KINDS = DRAW.random((20, *SHAPE)), np.arange(20) % 2
DESIGN = images.ImageSynthesizer(SHAPE, [0, 1], pairs=9, records=50)
COLUMNS = {
    "age": Intervals([0, 40, 200], whole=True),
    "ill": OrMissing(Categories([False, True])),
    "size": Categories(["small", "large"]),
    "pay": Bins(0, 1, 3),
}
FEW = tables.TableTraining(components=4, latent=2, width=4, steps=2)
PEOPLE = pd.DataFrame(
    {
        "age": DRAW.integers(0, 200, 40),
        "ill": np.array([None, True, False, True] * 10),
        "size": np.array(["small", "large"] * 20),
        "pay": DRAW.random(40),
    }
)


def made(design: images.ImageSynthesizer = DESIGN, **more: Any) -> images.SyntheticImages:
    labels = KINDS if design.classes else None
    arguments = {"budget": Budget(epsilon=1.0, delta=1e-5), "training": QUICK, "device": "cpu", **more}
    return design.fit(PICTURES, labels, **arguments)


@pytest.mark.parametrize(
    "mistake",
    [
        {"seed": -1},
        {"seed": 1.5},
        {"seed": 2**64},
        {"training": tables.TableTraining()},
        {"training": {"steps": 2}},
        {"progress": 3},
        {"device": "meta"},
        {"budget": 1.0},
        {"budget": Budget(epsilon=1)},
    ],
    ids=str,
)
def test_what_training_would_stumble_over_spends_nothing(mistake: dict[str, Any]) -> None:
    with pytest.raises(ArgumentError):
        made(source=Untouched(), **mistake)
    if mistake.keys() & {"device"}:
        return
    mistake = (
        {"training": images.ImageTraining()}
        if isinstance(mistake.get("training"), tables.TableTraining)
        else mistake
    )
    asked: dict[str, Any] = {"budget": Budget(epsilon=1, delta=1e-5), "training": FEW, **mistake}
    with pytest.raises(ArgumentError):
        tables.TableSynthesizer(COLUMNS).fit(PEOPLE, source=Untouched(), **asked)


def test_without_pytorch_no_budget_is_spent(monkeypatch: pytest.MonkeyPatch) -> None:
    design, budget = tables.TableSynthesizer(COLUMNS), Budget(epsilon=1, delta=1e-5)
    fitted = design.fit(PEOPLE, budget, training=FEW)
    monkeypatch.setitem(sys.modules, "torch", None)
    for spend in (design.fit, fitted.continued):
        with pytest.raises(ModuleNotFoundError, match="indistinct\\[synthesis\\]"):
            spend(PEOPLE, budget, source=Untouched())


@pytest.mark.parametrize(
    "wrong", [{"rate": -1.0}, {"rate": math.nan}, {"channels": 3}, {"channels": 0}, {"latent": 0}], ids=str
)
def test_trainings_that_cannot_be_are_refused_when_they_are_made(wrong: dict[str, Any]) -> None:
    with pytest.raises(ArgumentError, match=next(iter(wrong))):
        replace(QUICK, **wrong)


@pytest.mark.parametrize("classes", [3, None, "01", [0, 0], [0.5, 1.5], [0, "1"]], ids=str)
def test_classes_that_are_none_are_named(classes: Any) -> None:
    with pytest.raises(ArgumentError, match="classes"):
        images.ImageSynthesizer(SHAPE, classes, pairs=9)


def test_classes_and_rules_may_come_from_numpy(tmp_path: Path) -> None:
    result = made(images.ImageSynthesizer(SHAPE, np.unique(KINDS), pairs=9, records=50))
    result.save(tmp_path / "images")
    again = images.SyntheticImages.load(tmp_path / "images")
    assert again.synthesizer == result.synthesizer == DESIGN
    rule = tables.Determined("size", {"small": np.int64(1), "large": np.int64(2)})
    fitted = tables.TableSynthesizer(COLUMNS | {"rank": rule}).fit(
        PEOPLE, Budget(epsilon=1, delta=1e-5), training=FEW
    )
    fitted.save(tmp_path / "table")
    assert tables.SyntheticTable.load(tmp_path / "table").synthesizer == fitted.synthesizer


@pytest.mark.parametrize("mode", list(images.Mode), ids=lambda mode: mode.name)
def test_worst_neighbours_are_no_further_apart_than_stated(mode: images.Mode) -> None:
    classes = () if mode is images.Mode.UNCONDITIONAL else (0, 1)
    design = images.ImageSynthesizer(SHAPE, classes, mode=mode, pairs=30, records=50)
    checks = np.indices((4, 4)).sum(0) % 2
    extremes = [
        np.zeros((4, 4)),
        np.ones((4, 4)),
        checks,
        1 - checks,
        np.full((4, 4), 5e-324),
        PICTURES[0, 0],
    ]

    def total(extra: list[tuple[np.ndarray, int]]) -> Any:
        pictures = np.stack([*PICTURES[:, 0], *(picture for picture, _ in extra)])
        labels = np.append(KINDS, [label for _, label in extra]).astype(np.int64)
        return design.query.statistic(design.table(pictures, labels if classes else None)).units

    def apart(one: Any, other: Any) -> float:
        return math.hypot(*(one - other).tolist()) * design.query.step

    without, with_one = total([]), [total([one]) for one in product(extremes, (0, 1))]
    added, replaced = (design.query.sensitivity(Norm.L2, adjacency) for adjacency in Adjacency)
    assert added <= replaced
    assert all(apart(one, without) <= added for one in with_one)
    assert all(apart(one, other) <= replaced for one, other in combinations(with_one, 2))


def test_a_release_of_another_design_is_refused() -> None:
    """Saved with a design of fewer records, or of another map, it would state another guarantee."""
    release = made().release
    others = [
        images.ImageSynthesizer(SHAPE, [0, 1], pairs=9, records=1),
        images.ImageSynthesizer(SHAPE, [0, 1], map=images.standard_map(SHAPE, pairs=9, seed=1), records=50),
        images.ImageSynthesizer(SHAPE, [0], pairs=9, records=50),
    ]
    laplace = replace(release, mechanism=DESIGN.query.laplace(1.0))
    for design, some in [*((other, release) for other in others), (DESIGN, laplace), (DESIGN, 3)]:
        with pytest.raises(ArgumentError, match="release"):
            images.SyntheticImages(design, some)  # type: ignore[arg-type]


@pytest.mark.parametrize("adjacency", list(Adjacency))
def test_what_is_read_back_was_spent(adjacency: Adjacency, tmp_path: Path) -> None:
    result = made(adjacency=adjacency)
    result.save(tmp_path / "images")
    for both in Adjacency:
        again = images.SyntheticImages.load(tmp_path / "images").guarantee(both)
        assert again.epsilon(delta=1e-5) == result.guarantee(both).epsilon(delta=1e-5)
    seeded = made(source=NotPrivateSource(1))
    seeded.save(tmp_path / "seeded")
    assert images.SyntheticImages.load(tmp_path / "seeded").guarantee().epsilon(delta=1e-5) == math.inf


def test_a_table_of_users_is_read_back_as_one(tmp_path: Path) -> None:
    """The file kept the design's query, whose unit is a record: it stated a fifth of the shift."""
    design = tables.TableSynthesizer(COLUMNS)
    asked = Tables(dict(design.query.axes), design.query.groups, UserRecords("who", 5))
    release = asked.gaussian(20.0).release(PEOPLE.assign(who=np.arange(40) // 5))
    mixture = design.mixture(release.values, 20.0, FEW)
    fitted = tables.SyntheticTable(design, mixture, release)
    fitted.save(tmp_path / "table")
    again = tables.SyntheticTable.load(tmp_path / "table")
    assert again.guarantee().epsilon(delta=1e-5) == fitted.guarantee().epsilon(delta=1e-5)
    assert again.guarantee().epsilon(delta=1e-5) > 2 * design.query.gaussian(20.0).guarantee().epsilon(1e-5)
    other = replace(release, mechanism=asked.laplace(20.0))
    with pytest.raises(ArgumentError, match="release"):
        replace(fitted, release=other).save(tmp_path / "other")


@pytest.mark.parametrize(
    "release", [[1e200, True], [1e60, True], ["4", True], [None, "no"], [None, 1]], ids=str
)
def test_an_edited_generator_states_no_smaller_loss(release: list[Any], tmp_path: Path) -> None:
    fitted = tables.TableSynthesizer(COLUMNS).fit(PEOPLE, Budget(epsilon=1, delta=1e-5), training=FEW)
    fitted.save(tmp_path / "table")
    made().save(tmp_path / "images")
    for name, load in (("table", tables.SyntheticTable.load), ("images", images.SyntheticImages.load)):
        head, arrays = read_saved(tmp_path / name)
        scale, private = release
        if name == "table":
            parts, _ = head["releases"][0]
            head["releases"] = [[[[asked, own if scale is None else scale] for asked, own in parts], private]]
        else:
            head["release"] = [head["release"][0] if scale is None else scale, private]
        write_safetensors(tmp_path / name, head, arrays)  # by somebody who knows how, digest and all
        with pytest.raises(FileError, match=name):
            load(tmp_path / name)


def test_places_where_nothing_can_be_kept_are_named(tmp_path: Path) -> None:
    result, file = made(), tmp_path / "file"
    file.write_text("text")
    for place in (tmp_path, tmp_path / "nowhere" / "file"):
        with pytest.raises(ArgumentError, match="path"):
            result.save(place)
    with pytest.raises(ArgumentError, match="it is a folder"):
        images.SyntheticImages.load(tmp_path)
    with pytest.raises(ArgumentError, match="checkpoint"):
        images.SyntheticImages(DESIGN, result.release).trained(QUICK, device="cpu", checkpoint=file)
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


@pytest.mark.parametrize(
    "types",
    [
        {"age": "int8"},
        {"age": "int15"},
        {"pay": "int64"},
        {"ill": "bool"},
        {"size": "int64"},
        {"age": "bool"},
        {"pay": "ordered category"},
    ],
    ids=str,
)
def test_types_that_cannot_hold_what_is_declared_are_refused(types: dict[str, str]) -> None:
    with pytest.raises(ArgumentError, match="type of"):
        tables.TableSynthesizer(COLUMNS, types=types)


def test_the_types_of_a_frame_may_be_declared(tmp_path: Path) -> None:
    order = pd.CategoricalDtype(["small", "large"], ordered=True)
    frame = PEOPLE.astype({"age": "uint8", "ill": "boolean", "size": order, "pay": "float32"})
    types = frame.dtypes.to_dict()
    design = tables.TableSynthesizer(COLUMNS, types=types)
    fitted = design.fit(frame, Budget(epsilon=1, delta=1e-5), training=FEW)
    fitted.save(tmp_path / "table")
    for one in (fitted, tables.SyntheticTable.load(tmp_path / "table")):
        assert one.sample(30).dtypes.to_dict() == types
        assert (one.sample(30)["size"] >= "small").all()
    assert tables.TableSynthesizer(COLUMNS, types={"age": np.int16}).types == (("age", "int16"),)  # type: ignore[dict-item]


def test_rules_and_columns_that_do_not_fit_are_named() -> None:
    design = tables.TableSynthesizer(COLUMNS, label="size")
    fitted = design.fit(PEOPLE, Budget(epsilon=1, delta=1e-5), training=FEW)
    for rule in (lambda _: True, lambda _: [True]):
        with pytest.raises(ArgumentError, match="accept"):
            fitted.sample(5, accept=rule)
    rows = fitted.sample(30)
    with pytest.raises(DataError, match="real records have no column 'pay'"):
        evaluate_tables(design, rows, PEOPLE.drop(columns="pay"))
    with pytest.raises(ArgumentError, match="values"):
        tables.Determined("size", ["small"])  # type: ignore[arg-type]


def test_what_is_no_number_is_missing_and_no_error_tells() -> None:
    frame = PEOPLE.astype({"age": object})
    frame.loc[3, "age"] = "secret"
    query = tables.TableSynthesizer(COLUMNS).query
    without = query.statistic(PEOPLE.drop(index=3)).units
    assert (query.statistic(frame).units == without).all()


def test_pixels_that_are_not_from_0_to_1_are_told_so() -> None:
    with pytest.raises(DataError, match="0 to 1"):
        DESIGN.fit(PICTURES * 255, KINDS, Budget(epsilon=1, delta=1e-5), training=QUICK, source=Untouched())
