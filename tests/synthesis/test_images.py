"""Synthetic images: one release, modes, what is refused before it, and how results are judged."""

import json
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from sklearn.datasets import load_digits  # noqa: E402
from untouched import Untouched  # noqa: E402

from indistinct import Adjacency, ArgumentError, Budget, Gaussian  # noqa: E402
from indistinct.cli import main  # noqa: E402
from indistinct.data import Norm  # noqa: E402
from indistinct.errors import DataError  # noqa: E402
from indistinct.mechanisms.release import Released  # noqa: E402
from indistinct.noise import NotPrivateSource  # noqa: E402
from indistinct.synthesis.images import (  # noqa: E402
    Generator,
    ImageSynthesizer,
    ImageTraining,
    Mode,
    SyntheticImages,
    evaluate_images,
    frechet_distance,
    grid,
    nearness,
    standard_map,
)
from indistinct.synthesis.images import training as training_module  # noqa: E402
from indistinct.synthesis.images.held_out import distance, split_pairs  # noqa: E402
from indistinct.synthesis.images.training import Fitted  # noqa: E402

SHORT = ImageTraining(
    steps=12, plain_steps=4, steps_per_metric=4, images_per_class=4, images_in_metric=40, channels=8, latent=8
)
DIGITS = load_digits()
IMAGES, LABELS = DIGITS.images[:, None] / 16, DIGITS.target
DESIGN = ImageSynthesizer((1, 8, 8), range(10), pairs=60, records=5000)


def fitted(design: ImageSynthesizer = DESIGN, **more: object) -> SyntheticImages:
    labels = LABELS[:300] if design.classes else None
    arguments = {"budget": Budget(epsilon=2.0, delta=1e-5), "training": SHORT, "device": "cpu", **more}
    return design.fit(IMAGES[:300], labels, **arguments)  # type: ignore[arg-type]


@pytest.mark.parametrize("mode", list(Mode), ids=lambda mode: mode.name)
def test_every_mode_keeps_its_promise_and_draws(mode: Mode) -> None:
    classes = () if mode is Mode.UNCONDITIONAL else range(3)
    design = ImageSynthesizer((1, 8, 8), classes, mode=mode, pairs=60, records=5000)
    result = fitted(design)
    assert result.guarantee().epsilon(1e-5) == pytest.approx(2, abs=1e-6)
    assert result.guarantee().epsilon(1e-5) <= 2
    images, labels = result.sample(25)
    assert images.shape == (25, 1, 8, 8) and images.min() >= 0 and images.max() <= 1
    assert set(labels) <= set(classes or [0]) and len(result.fitted) == (3 if mode is Mode.PARALLEL else 1)


def test_the_sensitivity_is_that_of_one_record() -> None:
    """Worst-case neighbours: one more image, whatever it shows, moves the sums by κ."""
    query = DESIGN.query
    rng = np.random.default_rng(0)
    odd = np.concatenate([IMAGES[:20], rng.integers(0, 2, (1, 1, 8, 8)).astype(float)])
    labels = np.append(LABELS[:20], 3)
    more = query.statistic(DESIGN.table(odd, labels)).values
    less = query.statistic(DESIGN.table(odd[:-1], labels[:-1])).values
    moved = float(np.linalg.norm(more - less))
    assert moved == pytest.approx(DESIGN.map.bound, rel=1e-6)
    assert moved <= query.sensitivity(Norm.L2)
    assert query.sensitivity(Norm.L2) == pytest.approx(1, rel=1e-3)
    assert query.sensitivity(Norm.L2, Adjacency.REPLACE_ONE) == pytest.approx(2, rel=1e-3)


def test_counts_are_part_of_the_release() -> None:
    result = fitted(budget=Budget(epsilon=50.0, delta=1e-5))
    truth = np.bincount(LABELS[:300], minlength=10)
    assert result.counts == pytest.approx(truth, abs=15)
    _, labels = result.sample(1000, balanced=False)
    assert np.bincount(labels, minlength=10) / 1000 == pytest.approx(truth / 300, abs=0.06)


def test_the_seed_is_that_of_post_processing_only() -> None:
    release = DESIGN.mechanism(Budget(epsilon=1, delta=1e-5)).release(
        DESIGN.table(IMAGES[:300], LABELS[:300])
    )
    one, two, other = (
        SyntheticImages(DESIGN, release).trained(SHORT, seed=seed, device="cpu") for seed in (1, 1, 2)
    )
    assert (one.sample(10)[0] == two.sample(10)[0]).all()
    assert (one.sample(10)[0] != other.sample(10)[0]).any()
    assert (fitted(seed=1).release.values != fitted(seed=1).release.values).any()
    seeded = fitted(source=NotPrivateSource(0))
    assert math.isinf(seeded.guarantee().epsilon(1e-5))


@pytest.mark.parametrize("mode", [Mode.CONDITIONAL, Mode.PARALLEL], ids=lambda mode: mode.name)
def test_the_best_of_several_trainings_is_chosen_from_the_release_alone(mode: Mode) -> None:
    design = ImageSynthesizer((1, 8, 8), range(2), mode=mode, pairs=120, records=5000)
    some = LABELS < 2
    release = design.mechanism(Budget(epsilon=20, delta=1e-5)).release(
        design.table(IMAGES[some], LABELS[some])
    )
    still, able = replace(SHORT, rate=1e-9), replace(SHORT, steps=20, plain_steps=20, rate=0.02)
    choice = SyntheticImages(design, release).chosen([still, able], device="cpu")
    assert choice.training == able and choice.scores[1] < choice.scores[0]
    assert choice.images.release is release
    again = SyntheticImages(design, release).trained(able, device="cpu")
    assert (choice.images.sample(10)[0] == again.sample(10)[0]).all()  # all features, once more
    with pytest.raises(ArgumentError, match="trainings"):
        SyntheticImages(design, release).chosen([])
    with pytest.raises(ArgumentError, match="share"):
        SyntheticImages(design, release).chosen([able], share=1.0)


@pytest.mark.parametrize(
    ("mode", "interrupted"), [(Mode.CONDITIONAL, 2), (Mode.CONDITIONAL, 11), (Mode.PARALLEL, 5)]
)
def test_an_interrupted_training_goes_on(
    mode: Mode, interrupted: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It comes to the same generators, bit for bit, and takes the steps that are left, not all of them."""
    design = ImageSynthesizer((1, 8, 8), range(3), mode=mode, pairs=60, records=5000)
    few = LABELS < 3
    budget = Budget(epsilon=2, delta=1e-5)
    release = design.release(
        IMAGES[few], LABELS[few], budget, training=SHORT, device="cpu", source=NotPrivateSource(3)
    )
    take, taken, stop = training_module._Fit._step, 0, -1

    def step(fit: training_module._Fit) -> Any:
        nonlocal taken
        taken += 1
        if taken == stop:
            raise KeyboardInterrupt
        return take(fit)

    monkeypatch.setattr(training_module._Fit, "_step", step)
    whole = release.trained(SHORT, device="cpu")
    all_steps, taken, stop = taken, 0, interrupted + 1
    with pytest.raises(KeyboardInterrupt):
        release.trained(SHORT, device="cpu", checkpoint=tmp_path / "kept")
    taken, stop = 0, -1
    resumed = release.trained(SHORT, device="cpu", checkpoint=tmp_path / "kept")
    assert all_steps - taken == (interrupted // 4) * 4  # kept before steps 4 and 8
    for one, other in zip(whole.fitted, resumed.fitted, strict=True):
        assert all(torch.equal(value, other.weights[name]) for name, value in one.weights.items())


def test_no_training_goes_on_from_another(tmp_path: Path) -> None:
    release = fitted(source=NotPrivateSource(1)).release
    other = fitted(source=NotPrivateSource(2)).release
    SyntheticImages(DESIGN, release).trained(SHORT, device="cpu", checkpoint=tmp_path)
    for wrong in (
        lambda: SyntheticImages(DESIGN, other).trained(SHORT, device="cpu", checkpoint=tmp_path),
        lambda: SyntheticImages(DESIGN, release).trained(
            replace(SHORT, rate=0.1), device="cpu", checkpoint=tmp_path
        ),
        lambda: SyntheticImages(DESIGN, release).trained(SHORT, seed=1, device="cpu", checkpoint=tmp_path),
    ):
        with pytest.raises(ArgumentError, match="another folder"):
            wrong()
    (tmp_path / "generator0.safetensors").write_bytes(b"nothing")
    with pytest.raises(ArgumentError, match="it is not a whole"):
        SyntheticImages(DESIGN, release).trained(SHORT, device="cpu", checkpoint=tmp_path)


def test_pairs_are_kept_or_set_aside() -> None:
    map = standard_map((1, 8, 8), pairs=100)
    kept, aside = split_pairs(map, 0.1, 0)
    assert [len(some) for some in aside] == [3, 3, 3]
    for part, one, other in zip(map.parts, kept, aside, strict=True):
        assert sorted([*one, *other]) == list(range(part.pairs))
    both = np.concatenate([map.places(kept), map.places(aside)])
    assert sorted(both) == sorted([*range(map.size), map.size - 1])  # the count is known to both
    images = torch.as_tensor(IMAGES[:5])
    some, every = map.on("cpu", exact=True, pairs=aside)(images), map.on("cpu", exact=True)(images)
    assert torch.allclose(some, every[:, map.places(aside)], atol=1e-12)
    assert any((one != other).any() for one, other in zip(aside, split_pairs(map, 0.1, 1)[1], strict=True))


def test_the_score_of_a_generator_is_its_distance_on_average_over_the_noise() -> None:
    map = standard_map((1, 8, 8), pairs=100)
    generator = Generator((1, 8, 8), classes=2, channels=4, latent=4)
    counts = np.array([200.0, 300.0])
    fitted = Fitted(generator, generator.start("cpu", 0), counts)
    exact = np.stack([map(IMAGES[LABELS == label].reshape(-1, 64)).mean(axis=0) for label in (0, 1)])
    exact *= counts[:, None]
    _, aside = split_pairs(map, 0.2, 0)
    true = distance(map, fitted, exact, 0.0, aside, device="cpu")
    rng = np.random.default_rng(0)
    noisy = [exact + rng.normal(0, 20.0, exact.shape) for _ in range(40)]
    found = np.array([distance(map, fitted, sums, 20.0, aside, device="cpu") for sums in noisy])
    assert abs(found.mean() - true) < 4 * found.std() / math.sqrt(len(found))
    assert found.std() < true  # the test can tell
    burst = replace(fitted, weights={name: value * math.nan for name, value in fitted.weights.items()})
    assert math.isinf(distance(map, burst, exact, 0.0, aside, device="cpu"))


def test_saved_generators_and_releases_read_back_equal(tmp_path: Path) -> None:
    for mode in (Mode.CONDITIONAL, Mode.PARALLEL):
        design = ImageSynthesizer((1, 8, 8), range(3), mode=mode, pairs=60, records=5000)
        result = fitted(design)
        result.save(tmp_path / "images.safetensors")
        again = SyntheticImages.load(tmp_path / "images.safetensors")
        assert isinstance(again, Released) and again.private and again.mechanism == result.mechanism
        assert again.synthesizer == design
        assert (again.sample(30)[0] == result.sample(30)[0]).all()
        assert again.guarantee().delta(1.0) == result.guarantee().delta(1.0)
    SyntheticImages(design, result.release).save(tmp_path / "release.safetensors")
    found = SyntheticImages.load(tmp_path / "release.safetensors")
    assert found.synthesizer == design and (found.release.values == result.release.values).all()
    with pytest.raises(ArgumentError, match="trained first"):
        found.sample(3)
    (tmp_path / "other").write_bytes(b"no")
    with pytest.raises(ArgumentError, match="not a whole"):
        SyntheticImages.load(tmp_path / "other")


@pytest.mark.parametrize(
    ("images", "labels", "words"),
    [
        (IMAGES[:5], LABELS[:4], "labels"),
        (IMAGES[:5], None, "labels"),
        ([np.zeros((8, 8)), np.zeros((9, 9))], [0, 1], "images"),
        (np.zeros((3, 7, 7)), [0, 1, 2], "images"),
        (np.zeros((3, 4, 16)), [0, 1, 2], "images"),
        (np.full((3, 8, 8), "a"), [0, 1, 2], "images"),
    ],
)
def test_bad_images_are_named(images: object, labels: object, words: str) -> None:
    with pytest.raises(ArgumentError, match=words):
        DESIGN.fit(images, labels, Budget(epsilon=1, delta=1e-5))


@pytest.mark.parametrize(
    ("images", "labels", "words"),
    [
        (IMAGES[:50], np.zeros(50, dtype=int), "no image has the label 1"),
        (IMAGES[:100] * 255, LABELS[:100], "outside its declared domain"),
        (np.zeros((0, 8, 8)), np.zeros(0, dtype=int), "no image has the label 0"),
    ],
)
def test_bad_data_spend_nothing(images: object, labels: object, words: str) -> None:
    with pytest.raises(DataError, match=words):
        DESIGN.fit(images, labels, Budget(epsilon=1, delta=1e-5), device="cpu", source=Untouched())


def test_labels_and_pixels_that_are_none_are_left_out() -> None:
    images, labels = IMAGES[:100].copy(), LABELS[:100].copy()
    images[7, 0, 3, 3], labels[9] = np.nan, 11
    clean = np.delete(np.arange(100), [7, 9])
    dirty, without = (
        DESIGN.query.statistic(DESIGN.table(*part)).units
        for part in ((images, labels), (IMAGES[clean], LABELS[clean]))
    )
    assert (dirty == without).all()


@pytest.mark.parametrize("device", ["cuda:99", "no such device"])
def test_a_device_that_is_not_there_spends_nothing(device: str) -> None:
    with pytest.raises(ArgumentError, match="device"):
        DESIGN.fit(
            IMAGES[:100], LABELS[:100], Budget(epsilon=1, delta=1e-5), device=device, source=Untouched()
        )


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: ImageSynthesizer((8, 8), range(10)),  # type: ignore[arg-type]
        lambda: ImageSynthesizer((1, 8, 8), (), mode=Mode.PARALLEL),
        lambda: ImageSynthesizer((1, 8, 8), range(3), mode=Mode.UNCONDITIONAL),
        lambda: ImageSynthesizer((1, 8, 8), range(3), map=DESIGN.map, records=0),
        lambda: ImageTraining(images_per_class=3),
    ],
)
def test_bad_designs_are_named(wrong: object) -> None:
    with pytest.raises(ArgumentError):
        wrong()  # type: ignore[operator]


def test_bytes_and_numbers_are_the_same_images() -> None:
    bright = np.round(IMAGES[:10] * 255).astype(np.uint8)
    one = DESIGN.query.statistic(DESIGN.table(bright, LABELS[:10])).units
    two = DESIGN.query.statistic(DESIGN.table(bright / 255.0, LABELS[:10])).units
    assert (one == two).all()


def test_judges(tmp_path: Path) -> None:
    one, two = IMAGES[:600], IMAGES[600:1200]
    noise = np.random.default_rng(0).random(one.shape)
    assert frechet_distance(one, one) == pytest.approx(0, abs=1e-6)
    assert frechet_distance(one, two) < 0.2 * frechet_distance(noise, two)
    near = nearness(one[:100], one, two)
    assert near.to_used == 0 and near.copies_of_used == 1 and near.copies_of_others < 0.1
    grid(IMAGES[:100], LABELS[:100], tmp_path / "grid.png", each=5)
    assert (tmp_path / "grid.png").read_bytes()[:4] == b"\x89PNG"


def test_an_evaluation_reads_as_text_and_as_json() -> None:
    bright = np.round(IMAGES * 255).astype(np.uint8)
    names = np.array([f"digit {label}" for label in LABELS])
    found = evaluate_images(
        bright[:900], names[:900], bright[900:1200], names[900:1200], bright[:800], seeds=2, epochs=8
    )
    assert len(found.accuracies) == 2 and found.accuracy > 0.6 and found.deviation is not None
    assert [label for label, _ in found.by_class] == sorted(set(names))
    counts = np.bincount(LABELS[900:1200]) / 300
    assert found.accuracy == pytest.approx(sum(counts * [share for _, share in found.by_class]))
    # records in place of synthetic images: the copies are found
    assert found.copies_of_used == pytest.approx(8 / 9, abs=0.02) and found.copies < 0.02
    assert found.near is not None and found.near.to_used < found.near.to_others
    assert found.repeated < 0.02 and not found.frechet_is_fid
    text = str(found)
    assert "not private" in text and "of class digit 7" in text and "no FID" in text and " ± " in text
    read = json.loads(json.dumps(found.data(), allow_nan=False))
    assert read["private"] is False and read["by_class"][3][0] == "digit 3"
    assert read["accuracy"] == found.accuracy


def test_a_saved_generator_is_judged_by_the_command(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    fitted().save("digits.safetensors")
    np.savez("real.npz", images=IMAGES[300:400], labels=LABELS[300:400])
    command = ["synth", "evaluate", "digits.safetensors", "real.npz", "--images", "--rows", "50"]
    assert main([*command, "--seeds", "1", "--epochs", "1", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["images"] == 50 and found["real"] == 100 and len(found["by_class"]) == 10


def test_classes_that_were_never_made_are_never_found() -> None:
    made = np.flatnonzero(LABELS[:600] < 9)
    twice = np.concatenate([made, made[:100]])
    found = evaluate_images(IMAGES[twice], LABELS[twice], IMAGES[600:900], LABELS[600:900], seeds=1, epochs=1)
    assert dict(found.by_class)[9] == 0 and found.deviation is None and found.near is None
    assert found.repeated == pytest.approx(100 / len(twice), abs=0.01)


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: evaluate_images(IMAGES[:5], LABELS[:4], IMAGES, LABELS),
        lambda: evaluate_images(IMAGES[:5], LABELS[:5], np.zeros((9, 1, 7, 7)), LABELS[:9]),
        lambda: evaluate_images(IMAGES[:5] * 2, LABELS[:5], IMAGES, LABELS),
        lambda: evaluate_images(IMAGES[:5] * np.nan, LABELS[:5], IMAGES, LABELS),
        lambda: evaluate_images(IMAGES[:0], LABELS[:0], IMAGES, LABELS),
        lambda: evaluate_images(IMAGES[:5], LABELS[:5].astype(str), IMAGES, LABELS),
        lambda: evaluate_images(IMAGES[:5], LABELS[:5], IMAGES, LABELS, seeds=0),
    ],
)
def test_what_cannot_be_judged_is_named(wrong: object) -> None:
    with pytest.raises((ArgumentError, DataError)):
        wrong()  # type: ignore[operator]


def test_guarantee_is_the_gaussian_one() -> None:
    mechanism = DESIGN.query.gaussian(4.0)
    exact = Gaussian(4.0, DESIGN.map.bound).guarantee().epsilon(1e-5)
    assert exact <= mechanism.guarantee().epsilon(1e-5) <= exact * 1.001
