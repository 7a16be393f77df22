"""Colour pictures: whitened features of patches, which are public, and labels by what was released."""

from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from indistinct import ArgumentError, Budget  # noqa: E402
from indistinct.data import Norm  # noqa: E402
from indistinct.noise import NotPrivateSource  # noqa: E402
from indistinct.synthesis.images import (  # noqa: E402
    ImageMap,
    ImageSynthesizer,
    ImageTraining,
    PatchPart,
    SyntheticImages,
    standard_map,
)
from indistinct.synthesis.images.discriminant import discriminant, filled  # noqa: E402
from indistinct.synthesis.images.leaves import leaves  # noqa: E402

SHAPE = (3, 16, 16)
PART = PatchPart(SHAPE, 0.98, filters=6, grid=2, copy=4, pictures=120)
MAP = ImageMap(SHAPE, (PART,), 0.02)
SHORT = ImageTraining(
    steps=6, plain_steps=3, steps_per_metric=3, images_per_class=4, images_in_metric=20, channels=8, latent=8
)


def pictures(count: int, seed: int) -> np.ndarray:
    return leaves(SHAPE, count, seed, "cpu").numpy()


def test_no_picture_has_longer_features_than_the_bound_says() -> None:
    rng = np.random.default_rng(0)
    odd = [np.zeros(SHAPE), np.ones(SHAPE), rng.integers(0, 2, SHAPE), 1e6 * np.ones(SHAPE)]
    rows = MAP(np.stack([*odd, *pictures(20, 5)]).reshape(24, -1))
    assert np.linalg.norm(rows, axis=1).max() <= MAP.bound == pytest.approx(1)
    assert rows.shape[1] == MAP.size == 2 * PART.pairs + 1


def test_one_more_picture_moves_the_sums_by_at_most_the_sensitivity() -> None:
    design = ImageSynthesizer(SHAPE, (0, 1), map=MAP, records=5000)
    images, labels = pictures(12, 3), np.arange(12) % 2
    more, less = (design.query.statistic(design.table(images[:n], labels[:n])).values for n in (12, 11))
    moved = float(np.linalg.norm(more - less))
    assert 0.9 < moved <= design.query.sensitivity(Norm.L2) == pytest.approx(1, rel=1e-3)


def test_features_alone_and_among_others_differ_by_less_than_their_wobble() -> None:
    rows = pictures(30, 7).reshape(30, -1)
    together, alone = MAP(rows), np.concatenate([MAP(row[None]) for row in rows])
    assert np.linalg.norm(together - alone, axis=1).max() <= MAP.wobble(np.sqrt(MAP.dimension)) < 1e-7


def test_public_pictures_are_whitened_and_the_same_every_time() -> None:
    assert (pictures(4, 1) == pictures(4, 1)).all() and (pictures(4, 1) != pictures(4, 2)).any()
    rows = MAP(pictures(120, PART.seed).reshape(120, -1))[:, :-1]
    spread = np.diag(np.cov(rows.T))
    assert spread.max() < 10 * np.median(spread)  # as they are, these numbers vary by factors of hundreds


def test_the_standard_map_of_colour_follows_from_the_declared_shape() -> None:
    (part,) = standard_map((3, 32, 32)).parts
    assert isinstance(part, PatchPart) and part.filters == 400
    assert len(standard_map((1, 28, 28)).parts) == 3
    with pytest.raises(ArgumentError, match="pixels or more"):
        PatchPart((3, 4, 4), 1.0)


def test_labels_are_those_of_the_released_means() -> None:
    """Two classes, dark and light; a generator that errs on every fourth picture is put right."""
    dark, light = (np.float32(0.4 * pictures(200, seed) + 0.6 * seed) for seed in (0, 1))
    rows = [MAP(some.reshape(200, -1)).mean(0) for some in (dark, light)]

    def draw(places: np.ndarray, turn: int) -> np.ndarray:
        rng = np.random.default_rng(turn)
        wrong = rng.random(len(places)) < 0.25
        which = rng.integers(0, 200, len(places))
        return np.asarray(np.where(((places == 1) ^ wrong)[:, None, None, None], light[which], dark[which]))

    find = discriminant(MAP, np.stack(rows), 1e-3, np.array([200.0, 200.0]), draw, "cpu")
    assert min((find(dark) == 0).mean(), (find(light) == 1).mean()) > 0.9
    places = np.repeat([0, 1], 50)
    told = (draw(places, 0).mean((1, 2, 3)) > 0.5) == places
    put_right = (filled(places, draw, find).mean((1, 2, 3)) > 0.5) == places
    assert told.mean() < 0.9 < put_right.mean()
    # no image is there twice, with two labels, where nearly all look like one class
    numbers = filled(
        places,
        lambda places, turn: np.arange(100, dtype=np.float32) + 100 * turn,
        lambda new: np.zeros(100, int),
    )
    assert len(np.unique(numbers)) == 100


@pytest.mark.parametrize("shape", [(16, 16), (0, 16, 16), (3, 16.5, 16), (3, 4096, 4096)])
def test_patches_of_no_picture_or_of_too_many(shape: tuple[int, int, int]) -> None:
    with pytest.raises(ArgumentError, match="shape"):
        PatchPart(shape, 0.5, filters=1)


def test_patches_are_of_the_shape_of_their_map() -> None:
    with pytest.raises(ArgumentError, match="parts"):
        ImageMap((3, 16, 20), (PatchPart((3, 20, 16), 0.5, filters=4, pictures=50),), 0.25)


def test_a_colour_design_is_fitted_drawn_saved_and_read(tmp_path: Path) -> None:
    design = ImageSynthesizer(SHAPE, ("a", "b"), map=MAP, records=5000)
    labels = np.where(np.arange(40) % 2, "a", "b")
    how = {"training": SHORT, "device": "cpu", "progress": print, "source": NotPrivateSource(0)}
    result = design.fit(pictures(40, 3), labels, Budget(epsilon=4, delta=1e-5), **how)
    result.save(tmp_path / "colour")
    again = SyntheticImages.load(tmp_path / "colour")
    assert again.mechanism.guarantee().epsilon(delta=1e-5) == pytest.approx(4) and not again.private
    images, kinds = again.sample(21)
    assert images.shape == (21, *SHAPE) and sorted(np.unique(kinds, return_counts=True)[1]) == [10, 11]
    assert (images == result.sample(21)[0]).all()
    assert (images != result.sample(21, relabelled=False)[0]).any()
