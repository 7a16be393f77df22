"""Feature maps of images have the length they claim, and a generator is fitted to what was released."""

from dataclasses import replace

import numpy as np
import pytest

from indistinct.errors import ArgumentError

torch = pytest.importorskip("torch")

from indistinct.synthesis.images import (  # noqa: E402
    Generator,
    ImageMap,
    ImageTraining,
    MapPart,
    Pixels,
    Wavelets,
    sample,
    standard_map,
    train,
)
from indistinct.synthesis.images.generator import _enlarged  # noqa: E402
from indistinct.synthesis.images.views import FLOOR, _bell, _waves  # noqa: E402

SHAPES = [(1, 8, 8), (3, 9, 6), (1, 28, 28)]
VIEWS = [
    Pixels(),
    Pixels(blur=1.0),
    Wavelets(1.0, 1.6, pool=2),
    Wavelets(1.4, 1.2, pool=2, stride=2),
    Wavelets(2, 1, 5),
]


@pytest.fixture(autouse=True)
def one_thread():
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def images(shape, count=20, seed=0):
    draw = np.random.Generator(np.random.Philox(seed))
    points = draw.random((count, int(np.prod(shape))))
    points[0], points[1], points[2] = 0.0, 1.0, np.round(points[2])
    return points


@pytest.mark.parametrize("shape", SHAPES)
def test_every_image_has_the_same_length(shape):
    map = standard_map(shape, pairs=90)
    features = map(images(shape))
    assert features.shape == (20, map.size)
    lengths = np.linalg.norm(features, axis=1)
    assert lengths == pytest.approx(map.bound, abs=1e-12)
    assert features[:, -1] == pytest.approx(map.unit, abs=1e-15)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("view", VIEWS, ids=str)
def test_views_stay_within_their_bounds(view, shape):
    points = torch.as_tensor(images(shape)).reshape(-1, *shape)
    exact = view.on("cpu", exact=True)(points)
    radius, pixels = float(points[1].norm()), int(np.prod(shape))
    assert float(exact.norm(dim=1).max()) <= view.length(radius, pixels)
    fast = view.on("cpu")(points.float())
    assert torch.allclose(exact.float(), fast, atol=1e-4)
    one_by_one = torch.cat([view.on("cpu", exact=True)(image[None]) for image in points])
    assert float((exact - one_by_one).norm(dim=1).max()) <= view.error(radius, pixels)


EXTREMES = (0.0, 1.0, 5e-324, 1e-300, 1e-160, 1e-8, 1 - 2.0**-53)
LONGER = pytest.mark.skipif(np.finfo(np.longdouble).nmant < 63, reason="no longer numbers here")


def extreme_images(shape):
    """Constant ones, boards, single pixels, values of all sizes together."""
    size = int(np.prod(shape))
    draw = np.random.Generator(np.random.Philox(3))
    rows = [np.full(size, value) for value in EXTREMES]
    rows += [np.arange(size) % 2.0, 1.0 - np.arange(size) % 2, np.arange(size) // shape[2] % 2.0]
    rows += [np.eye(size)[0], np.eye(size)[size // 2], draw.choice(EXTREMES, size)]
    return np.concatenate([np.array(rows), 2.0 ** -draw.integers(0, 60, (3, size)), draw.random((8, size))])


def filtered_precisely(images, filters, stride):
    reach, (height, width) = filters.shape[-1] // 2, images.shape[-2:]
    wide = np.pad(images, ((0, 0), (0, 0), (reach, reach), (reach, reach)))
    out = np.zeros((*images.shape[:2], len(filters), height, width), np.longdouble)
    for i in range(2 * reach + 1):
        for j in range(2 * reach + 1):
            out += wide[:, :, None, i : i + height, j : j + width] * filters[:, i, j][:, None, None]
    return out[..., ::stride, ::stride]


def precisely(view, points, shape):
    """The view in 64 bits of mantissa, by the sums of its definition."""
    images = points.astype(np.longdouble).reshape(-1, *shape)
    if isinstance(view, Pixels):
        bell = _bell(view.blur)[None] if view.blur else np.ones((1, 1, 1))
        return filtered_precisely(images, bell.astype(np.longdouble), 1).reshape(len(points), -1)
    waves = _waves(view.deviation, view.frequency, view.directions).astype(np.clongdouble)
    real, imaginary = (filtered_precisely(images, part, view.stride) for part in (waves.real, waves.imag))
    heights = np.sqrt(real**2 + imaginary**2 + np.longdouble(FLOOR))
    heights = heights.reshape(len(points), -1, *heights.shape[-2:])
    down, right = (
        [slice(start, start + view.pool) for start in range(0, side, view.pool)]
        for side in heights.shape[-2:]
    )
    squares = np.array([[heights[..., i, j].mean((-2, -1)) for j in right] for i in down])
    return np.moveaxis(squares, (0, 1), (-2, -1)).reshape(len(points), -1) * (view.gain * view.pool)


def in_many_ways(compute, points):
    """The same rows: all at once, turned round, alone, and in odd batches."""
    order = np.random.Generator(np.random.Philox(4)).permutation(len(points))
    yield compute(points)
    yield compute(points[order])[np.argsort(order)]
    for size in (1, 3, 7):
        yield np.concatenate([compute(points[i : i + size]) for i in range(0, len(points), size)])


@LONGER
@pytest.mark.parametrize("shape", SHAPES[:2])
@pytest.mark.parametrize("view", VIEWS, ids=str)
def test_views_are_as_near_to_the_true_ones_as_they_say(view, shape):
    points = extreme_images(shape)
    true = precisely(view, points, shape)
    exact = view.on("cpu", exact=True)
    # the root of a sum of squares is rounded too; below 1e-300 it is the floor of all numbers that rounds
    radii = np.linalg.norm(points.astype(np.longdouble), axis=1) * (1 + 1e-15) + 1e-300
    for found in in_many_ways(lambda some: exact(torch.as_tensor(some).reshape(-1, *shape)).numpy(), points):
        for row, sure, radius in zip(found, true, radii, strict=True):
            assert np.linalg.norm(row - sure) <= view.error(radius, points.shape[1])
            assert np.linalg.norm(sure) <= view.length(radius, points.shape[1])


@LONGER
@pytest.mark.parametrize("length", [1e-6, 1.0, 1e3])
@pytest.mark.parametrize("shape", SHAPES[:2])
def test_features_are_as_near_to_the_true_ones_as_they_say(shape, length):
    map = ImageMap(shape, tuple(MapPart(view, length, 40, 0.1 + i) for i, view in enumerate(VIEWS)), 0.3)
    points, columns = extreme_images(shape), []
    for part, fast in zip(map.parts, map.frequencies, strict=True):
        phases = precisely(part.view, points, shape) @ fast.astype(np.longdouble)
        height = np.sqrt(np.longdouble(part.weight) / part.pairs)
        columns += [np.cos(phases) * height, np.sin(phases) * height]
    true = np.concatenate([*columns, np.full((len(points), 1), np.sqrt(np.longdouble(0.3)))], axis=1)
    radius = np.sqrt(points.shape[1])
    furthest = max(np.linalg.norm(found - true, axis=1).max() for found in in_many_ways(map, points))
    assert furthest <= map.wobble(radius) / 2
    assert np.linalg.norm(true, axis=1).max() <= map.bound
    assert furthest >= map.wobble(radius) / 2e5  # and the bound is not an idle one


def test_features_do_not_wobble_more_than_they_say():
    map = standard_map((1, 8, 8), pairs=200)
    points = images((1, 8, 8), count=40)
    apart = np.concatenate([map(point[None]) for point in points])
    assert np.linalg.norm(map(points) - apart, axis=1).max() <= map.wobble(8.0)
    assert map.wobble(8.0) < 1e-9


def test_the_public_seed_settles_the_map():
    points = images((1, 8, 8))
    assert (standard_map((1, 8, 8), pairs=30)(points) == standard_map((1, 8, 8), pairs=30)(points)).all()
    assert (
        standard_map((1, 8, 8), pairs=30, seed=1)(points) != standard_map((1, 8, 8), pairs=30)(points)
    ).any()


def test_the_features_make_the_kernel():
    map = ImageMap((1, 8, 8), (MapPart(Pixels(), 2.0, 20_000, 0.9),), 0.1)
    points = images((1, 8, 8), count=6)
    features = map(points)
    squares = ((points[:, None] - points[None]) ** 2).sum(axis=2)
    assert features @ features.T == pytest.approx(0.1 + 0.9 * np.exp(-squares / 8), abs=0.03)


def test_enlarging_is_interpolation_and_a_filter():
    x, weights = torch.randn(2, 3, 6, 5), torch.randn(4, 3, 3, 3)
    fine = torch.nn.functional.interpolate(x, scale_factor=2, mode="bilinear", align_corners=False)
    expected = torch.nn.functional.conv2d(fine, weights, padding=1)
    inside = (..., slice(2, -2), slice(2, -2))
    assert torch.allclose(_enlarged(x, weights)[inside], expected[inside], atol=1e-4)


@pytest.mark.parametrize("shape", SHAPES)
def test_generated_images_have_the_shape_asked_for(shape):
    generator = Generator(shape, classes=3, channels=4, latent=2)
    weights = generator.start("cpu", seed=0)
    made = generator(weights, torch.randn(5, 2), torch.tensor([0, 1, 2, 0, 1]), momentum=0.0)
    assert made.shape == (5, *shape) and 0 <= made.min() <= made.max() <= 1


def blots(count):
    """Class 0 is bright above, class 1 below."""
    points = images((1, 8, 8), count) * 0.3
    labels = np.arange(count) % 2
    points.reshape(-1, 2, 32)[np.arange(count), labels] += 0.7
    return points, labels


def test_a_generator_learns_what_was_released_the_same_way_each_time():
    map = standard_map((1, 8, 8), pairs=150)
    points, labels = blots(200)
    features = map(points)
    sums = np.stack([features[labels == k].sum(axis=0) for k in (0, 1)])
    how = ImageTraining(
        steps=150, plain_steps=50, steps_per_metric=50, images_per_class=20, images_in_metric=60, channels=16
    )
    heard = []
    fitted = train(
        map, sums, 0.01, training=how, device="cpu", progress=lambda step, loss: heard.append(loss)
    )
    assert fitted.counts == pytest.approx(100)
    assert heard[-1] < heard[0] / 2
    made = sample(fitted, [0] * 50 + [1] * 50, device="cpu").reshape(2, 50, 2, 32).mean(dim=(1, 3))
    assert made[0, 0] > made[0, 1] + 0.15 and made[1, 1] > made[1, 0] + 0.15
    short = replace(how, steps=12, plain_steps=4, steps_per_metric=4)
    once, again = (train(map, sums, 0.01, training=short, device="cpu").weights for _ in range(2))
    assert all(torch.equal(once[name], again[name]) for name in once)


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: Pixels(blur=-1),
        lambda: Pixels(blur=1e-200),
        lambda: Wavelets(0, 1, 2),
        lambda: Wavelets(0.01, 1, 2),
        lambda: MapPart(Pixels(), 0, 10, 1),
        lambda: ImageMap((1, 8), (MapPart(Pixels(), 1, 10, 1),), 0.1),
        lambda: ImageMap((1, 8, 8), (), 0.1),
        lambda: ImageMap((1, 8, 8), (MapPart(Pixels(), 1, 10, 1),), 0),
        lambda: Generator((1, 8, 8), 2, channels=3),
        lambda: ImageTraining(images_per_class=5),
        lambda: train(standard_map((1, 8, 8), pairs=30), np.zeros((2, 7)), 1.0),
    ],
)
def test_wrong_arguments_are_named(wrong):
    with pytest.raises(ArgumentError):
        wrong()
