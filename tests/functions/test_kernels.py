"""Kernels: values, derivatives, spectra and characters against independent computations."""

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import mpmath as mp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import quad

import indistinct.functions.kernels as kernels
from indistinct.errors import ArgumentError
from indistinct.functions.kernels import (
    Characters,
    ConstantKernel,
    DeltaKernel,
    GaussianKernel,
    Kernel,
    KernelProduct,
    KernelSum,
    LaplaceKernel,
    MaternKernel,
    PeriodicKernel,
    PolynomialKernel,
    RationalQuadraticKernel,
    Scaled,
)

SMOOTH = [
    GaussianKernel(length=0.7),
    GaussianKernel(length=(0.7, 2.0)),
    MaternKernel(smoothness=1.2, length=1.3),
    MaternKernel(smoothness=1.5, length=1.3),
    MaternKernel(smoothness=2, length=1.3),
    MaternKernel(smoothness=2.5, length=(0.5, 1.0)),
    MaternKernel(smoothness=4.7, length=0.9),
    RationalQuadraticKernel(power=0.6, length=(0.8, 1.5)),
    PeriodicKernel(length=0.8, period=(1.5, 3.0)),
    PolynomialKernel(degree=1, radius=4),
    PolynomialKernel(degree=3, offset=0.5, radius=4),
    ConstantKernel(1.7),
]
COMBINED = [
    GaussianKernel(length=1) + LaplaceKernel(length=2).scale(0.3),
    (GaussianKernel(1).scale(2) + ConstantKernel(0.5)) * (MaternKernel(2.5, 1).on(1) + PeriodicKernel(1, 2)),
    GaussianKernel(length=1).on(0) * MaternKernel(smoothness=1.5, length=2).on(1),
    GaussianKernel(length=(1, 2)).on(1, 0) * PolynomialKernel(degree=2, radius=5) * ConstantKernel(2),
]
ROUGH = [
    LaplaceKernel(length=(1, 2)),
    MaternKernel(smoothness=0.5, length=1),
    MaternKernel(smoothness=0.3, length=1),
]
ALL = SMOOTH + ROUGH + COMBINED
WITH_CHARACTERS = [kernel for kernel in ALL if "Polynomial" not in repr(kernel)]

coordinates = st.floats(-2.5, 2.5).map(lambda value: round(value, 4))


def points(least: int = 1, most: int = 6) -> st.SearchStrategy[Any]:
    rows = st.lists(st.tuples(coordinates, coordinates), min_size=least, max_size=most)
    return rows.map(lambda items: np.array(items, dtype=np.float64))


def some_points(count: int, columns: int = 2, seed: int = 0) -> Any:
    return np.random.default_rng(seed).uniform(-2, 2, size=(count, columns))


@pytest.mark.parametrize("kernel", ALL, ids=repr)
@settings(deadline=None, max_examples=20)
@given(x=points(), y=points())
def test_a_kernel_is_symmetric_semidefinite_and_bounded(kernel: Kernel, x: Any, y: Any) -> None:
    gram = kernel(x, x)
    assert np.array_equal(kernel(x, y), kernel(y, x).T)
    assert np.allclose(np.diag(gram), kernel.diagonal(x), rtol=1e-14, atol=0)
    assert np.linalg.eigvalsh(gram).min() >= -1e-12 * max(1.0, kernel.bound)
    assert np.all(np.abs(kernel(x, y)) <= kernel.bound)
    assert np.all(kernel.diagonal(x) <= kernel.bound)
    if kernel.nonnegative:
        assert np.all(kernel(x, y) >= 0)


@pytest.mark.parametrize("kernel", [*WITH_CHARACTERS], ids=repr)
def test_stationary_kernels_are_as_high_everywhere_as_their_bound(kernel: Kernel) -> None:
    x = 1e6 * some_points(50)
    assert np.allclose(kernel.diagonal(x), kernel.bound, rtol=1e-15)
    assert np.allclose(np.diag(kernel(x, x)), kernel.bound, rtol=1e-15)


@pytest.mark.parametrize("columns", [1, 2, 5, 40])
def test_values_do_not_depend_on_the_batch_or_the_layout(columns: int) -> None:
    x, y = some_points(30, columns), some_points(9, columns, seed=1)
    backwards = GaussianKernel(2).on(*range(columns)[::-1])
    for kernel in (backwards, PolynomialKernel(3, 1), PeriodicKernel(1, 3), LaplaceKernel(2)):
        alone = np.concatenate([kernel(row[None], y) for row in x])
        for stored in (x, np.asfortranarray(x), np.repeat(x, 2, axis=1)[:, ::2]):
            assert np.array_equal(kernel(stored, y), alone)
            assert np.array_equal(kernel(y, stored), alone.T)
            assert np.array_equal(np.diag(kernel(stored, stored)), kernel.diagonal(stored))


def test_near_points_far_from_zero_lose_no_digits() -> None:
    kernel, far = GaussianKernel(length=1e-3), 2.0**30
    near = kernel([[far]], [[far + 2.0**-10]]).item()
    assert near == pytest.approx(math.exp(-0.5 * (2.0**-10 / 1e-3) ** 2), rel=1e-9)


# Independent formulas, in high precision.


def distance(kernel: Any, x: list[Any], y: list[Any]) -> Any:
    lengths = np.broadcast_to(kernel.length, len(x)).tolist()
    return mp.sqrt(sum(((a - b) / mp.mpf(h)) ** 2 for a, b, h in zip(x, y, lengths, strict=True)))


def gaussian(kernel: GaussianKernel, x: Any, y: Any) -> Any:
    return mp.exp(-(distance(kernel, x, y) ** 2) / 2)


def matern(kernel: MaternKernel, x: Any, y: Any) -> Any:
    nu = mp.mpf(kernel.smoothness)
    z = mp.sqrt(2 * nu) * distance(kernel, x, y)
    return 2 ** (1 - nu) / mp.gamma(nu) * z**nu * mp.besselk(nu, z) if z else mp.mpf(1)


def rational_quadratic(kernel: RationalQuadraticKernel, x: Any, y: Any) -> Any:
    return (1 + distance(kernel, x, y) ** 2 / (2 * mp.mpf(kernel.power))) ** -mp.mpf(kernel.power)


def laplace(kernel: LaplaceKernel, x: Any, y: Any) -> Any:
    lengths = np.broadcast_to(kernel.length, len(x)).tolist()
    return mp.exp(-sum(abs(a - b) / mp.mpf(h) for a, b, h in zip(x, y, lengths, strict=True)))


def periodic(kernel: PeriodicKernel, x: Any, y: Any) -> Any:
    lengths, periods = (np.broadcast_to(v, len(x)).tolist() for v in (kernel.length, kernel.period))
    rows = zip(x, y, lengths, periods, strict=True)
    return mp.exp(-2 * sum((mp.sin(mp.pi * (a - b) / mp.mpf(p)) / mp.mpf(h)) ** 2 for a, b, h, p in rows))


def polynomial(kernel: PolynomialKernel, x: Any, y: Any) -> Any:
    return (sum(a * b for a, b in zip(x, y, strict=True)) + mp.mpf(kernel.offset)) ** kernel.degree


FORMULAS: dict[type[Kernel], Callable[..., Any]] = {
    ConstantKernel: lambda kernel, x, y: mp.mpf(kernel.value) + 0 * x[0],
    GaussianKernel: gaussian,
    LaplaceKernel: laplace,
    MaternKernel: matern,
    PeriodicKernel: periodic,
    PolynomialKernel: polynomial,
    RationalQuadraticKernel: rational_quadratic,
}


@pytest.mark.parametrize("kernel", SMOOTH + ROUGH, ids=repr)
def test_values_agree_with_their_formula(kernel: Kernel) -> None:
    x, y = some_points(4), some_points(3, seed=1)
    formula = FORMULAS[type(kernel)]
    wanted = [[formula(kernel, list(map(mp.mpf, a)), list(map(mp.mpf, b))) for b in y] for a in x]
    assert np.allclose(kernel(x, y), np.array(wanted, dtype=np.float64), rtol=2e-13, atol=0)


# mpmath's Bessel functions of whole orders are slow: those are compared with differences below
@pytest.mark.parametrize("kernel", [k for k in SMOOTH if "Kernel(2.0, " not in repr(k)], ids=repr)
def test_derivatives_agree_with_their_formula(kernel: Kernel) -> None:
    x, y = some_points(2), some_points(2, seed=1)
    gradient, cross = kernel.gradient(x, y), kernel.cross(x, y)
    for i, j in np.ndindex(2, 2):

        def along(*moved: Any) -> Any:
            return FORMULAS[type(kernel)](kernel, list(moved[:2]), list(moved[2:]))

        start = tuple(map(mp.mpf, (*x[i], *y[j])))
        with mp.workdps(30):
            for a in range(2):
                by_x = [int(column == a) for column in range(2)]
                slope = float(mp.diff(along, start, (*by_x, 0, 0)))
                assert gradient[i, j, a] == pytest.approx(slope, rel=1e-11)
                for b in range(2):
                    by_y = [int(column == b) for column in range(2)]
                    wanted = float(mp.diff(along, start, (*by_x, *by_y)))
                    assert cross[i, j, a, b] == pytest.approx(wanted, rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("smoothness", [0.1, 0.5, 0.9, 1.5, 2.3, 2.5, 7.25, 33.0, 100.0])
def test_matern_near_zero_and_far_away(smoothness: float) -> None:
    kernel = MaternKernel(smoothness, length=1)
    for r in (1e-300, 1e-160, 1e-30, 1e-12, 1e-6, 1e-3, 0.1, 1.0, 5.0, 30.0, 300.0, 1e7):
        with mp.workdps(40):
            wanted = float(matern(kernel, [mp.mpf(r)], [mp.mpf(0)]))
        assert kernel([[r]], [[0.0]]).item() == pytest.approx(wanted, rel=1e-12, abs=1e-300)
    assert kernel([[1.0]], [[1.0]]).item() == 1.0


def test_smooth_matern_kernels_are_nearly_gaussian() -> None:
    x, y = some_points(5), some_points(5, seed=1)
    assert np.allclose(MaternKernel(100, 1)(x, y), GaussianKernel(1)(x, y), atol=0.01)


@pytest.mark.parametrize("smoothness", [0.51, 0.6, 0.75, 0.99, 1.0, 1.01, 1.5, 2.0, 3.3, 60.0])
def test_matern_gradients_near_zero(smoothness: float) -> None:
    kernel = MaternKernel(smoothness, length=1)
    assert kernel.gradient([[0.3]], [[0.3]]).item() == 0.0
    for r in (1e-100, 1e-9, 1e-3, 0.7, 20.0):
        with mp.workdps(60):
            z = mp.sqrt(2 * mp.mpf(smoothness)) * mp.mpf(r)
            nu = mp.mpf(smoothness)
            wanted = -mp.sqrt(2 * nu) * 2 ** (1 - nu) / mp.gamma(nu) * z**nu * mp.besselk(nu - 1, z)
        assert kernel.gradient([[r]], [[0.0]]).item() == pytest.approx(float(wanted), rel=1e-11)


@pytest.mark.parametrize("smoothness", [1.01, 1.5, 2.0, 2.2, 3.3, 60.0])
def test_gradients_of_a_path_have_their_variance(smoothness: float) -> None:
    # -f''(0) = ν/(ν-1)/length², and the gradients along different columns are uncorrelated there
    cross = MaternKernel(smoothness, length=(2, 3)).cross([[0.1, 0.2]], [[0.1, 0.2]])[0, 0]
    assert np.allclose(cross, smoothness / (smoothness - 1) * np.diag([1 / 4, 1 / 9]), rtol=1e-12)
    assert np.allclose(GaussianKernel((2, 3)).cross([[0, 0]], [[0, 0]])[0, 0], np.diag([1 / 4, 1 / 9]))


@pytest.mark.parametrize("kernel", SMOOTH + [k for k in COMBINED if "Laplace" not in repr(k)], ids=repr)
@settings(deadline=None, max_examples=15)
@given(x=points(), y=points(), step=st.sampled_from([1e-5, 1e-4]))
def test_derivatives_agree_with_differences(kernel: Kernel, x: Any, y: Any, step: float) -> None:
    apart = np.linalg.norm(x[:, None] - y[None], axis=-1) > 0.05  # rough kernels bend sharply at 0
    sides = [step * np.eye(2)[a] for a in range(2)]
    slope = np.stack([(kernel(x + s, y) - kernel(x - s, y)) / (2 * step) for s in sides], axis=-1)
    assert np.allclose(kernel.gradient(x, y)[apart], slope[apart], rtol=1e-4, atol=1e-4)
    bends = [(kernel.gradient(x, y + s) - kernel.gradient(x, y - s)) / (2 * step) for s in sides]
    assert np.allclose(kernel.cross(x, y)[apart], np.stack(bends, axis=-1)[apart], rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("kernel", SMOOTH + [k for k in COMBINED if "Laplace" not in repr(k)], ids=repr)
def test_values_and_gradients_are_one_gaussian_process(kernel: Kernel) -> None:
    x = some_points(4)
    n, d = x.shape
    slopes = kernel.gradient(x, x).transpose(0, 2, 1).reshape(n * d, n)
    bends = kernel.cross(x, x).transpose(0, 2, 1, 3).reshape(n * d, n * d)
    covariance = np.block([[kernel(x, x), slopes.T], [slopes, bends]])
    assert np.allclose(bends, bends.T)
    assert np.linalg.eigvalsh(covariance).min() >= -1e-10 * np.abs(covariance).max()


# Spectra


WITH_DENSITY = [
    GaussianKernel(length=0.7),
    MaternKernel(smoothness=0.8, length=0.7),
    MaternKernel(smoothness=2.5, length=0.7),
    RationalQuadraticKernel(power=0.4, length=0.7),
    RationalQuadraticKernel(power=3, length=0.7),
    LaplaceKernel(length=0.7),
    GaussianKernel(length=0.7).scale(2) + MaternKernel(smoothness=1.5, length=2),
]


@pytest.mark.parametrize("kernel", WITH_DENSITY, ids=repr)
@pytest.mark.parametrize("apart", [0.3, 1.1])
def test_a_density_is_the_spectrum_of_its_kernel(kernel: Kernel, apart: float) -> None:
    def density(w: float) -> float:
        return kernel.spectral_density([[w]]).item()

    near = quad(lambda w: density(w) * math.cos(w * apart), 0, 1, limit=400)[0]
    rest = quad(density, 1, np.inf, weight="cos", wvar=apart, epsabs=1e-9)[0]
    assert 2 * (near + rest) == pytest.approx(kernel([[apart]], [[0.0]]).item(), abs=1e-6)


@pytest.mark.parametrize("kernel", [k for k in WITH_DENSITY if not isinstance(k, LaplaceKernel)], ids=repr)
@pytest.mark.parametrize("dimension", [1, 2])
def test_a_density_is_the_marginal_of_the_next(kernel: Kernel, dimension: int) -> None:
    w = [0.9, -0.4][:dimension]
    inside = quad(lambda v: kernel.spectral_density([[*w, v]]).item(), -np.inf, np.inf, epsabs=1e-11)[0]
    assert inside == pytest.approx(kernel.spectral_density([w]).item(), rel=1e-6)


def test_densities_of_products_over_columns() -> None:
    w = some_points(20)
    one = LaplaceKernel(0.5).spectral_density(w[:, :1]) * LaplaceKernel(2).spectral_density(w[:, 1:])
    assert np.allclose(LaplaceKernel(length=(0.5, 2)).spectral_density(w), one)
    assert np.allclose((LaplaceKernel(2).on(1) * LaplaceKernel(0.5).on(0)).spectral_density(w), one)
    assert np.allclose(
        GaussianKernel((3, 2)).spectral_density(w),
        (GaussianKernel(3).on(0) * GaussianKernel(2).on(1)).spectral_density(w),
    )


def test_densities_at_zero_and_far_away() -> None:
    assert RationalQuadraticKernel(power=0.5, length=1).spectral_density([[0.0]]).item() == math.inf
    near, at = RationalQuadraticKernel(power=4, length=1).spectral_density([[1e-9], [0.0]])
    assert near == pytest.approx(at, rel=1e-9)
    for kernel in WITH_DENSITY:
        assert 0 <= kernel.spectral_density([[1e100]]).item() < 1e-90


# Characters


def finite_kernel(characters: Characters, x: Any, y: Any) -> Any:
    left, right, height = characters.phases(x), characters.phases(y), characters.weights
    return (height * np.cos(left)) @ np.cos(right).T + (height * np.sin(left)) @ np.sin(right).T


@pytest.mark.parametrize("kernel", WITH_CHARACTERS, ids=repr)
def test_characters_come_near_the_kernel_as_one_over_root_count(kernel: Kernel) -> None:
    x, y = some_points(12), some_points(12, seed=1)
    for count in (400, 40_000):
        characters = kernel.characters(count, dimension=2, seed=5)
        error = finite_kernel(characters, x, y) - kernel(x, y)
        # A mean of `count` cosines has standard deviation at most 1/sqrt(count); a sum of terms is less even.
        assert np.abs(error).max() <= 5 * kernel.bound / math.sqrt(count)
        assert np.sqrt(np.mean(error**2)) <= 1.5 * kernel.bound / math.sqrt(count)
        assert math.fsum(characters.weights) == pytest.approx(kernel.bound, rel=1e-12)
        assert np.allclose(np.diag(finite_kernel(characters, x, x)), kernel.bound, rtol=1e-12)


def test_characters_of_mixed_columns() -> None:
    kernel = GaussianKernel(1).on(0) * DeltaKernel(3).on(1) + DeltaKernel(3).on(1).scale(2)
    x = np.array([[0.0, 0], [0.0, 1], [0.5, 1], [1.0, 2], [0.2, 2]])
    characters = kernel.characters(40_000, dimension=2, seed=1)
    assert np.abs(finite_kernel(characters, x, x) - kernel(x, x)).max() < 0.05
    assert characters.has_categories
    assert np.all(characters.phase_gradients[:, 1] == 0)
    assert np.all(kernel.gradient(x, x)[..., 1] == 0)


def test_two_kernels_of_one_category() -> None:
    kernel = DeltaKernel(2) + DeltaKernel(3)
    characters = kernel.characters(10_000, dimension=1, seed=1)
    assert np.abs(finite_kernel(characters, [[0], [1]], [[0], [1]]) - 2 * np.eye(2)).max() < 0.1
    with pytest.raises(ArgumentError):
        characters.phases([[2]])


def test_products_of_sums_are_multiplied_out() -> None:
    # Pairing the characters of the factors one by one would miss the mixed terms.
    one, two = GaussianKernel(0.2), GaussianKernel(3)
    kernel = (one + two) * (one + two)
    x = np.array([[0.0], [0.5]])
    characters = kernel.characters(40_000, dimension=1, seed=2)
    assert np.abs(finite_kernel(characters, x, x) - kernel(x, x)).max() < 0.06


def test_a_constant_takes_one_character() -> None:
    characters = (GaussianKernel(1) + ConstantKernel(2)).characters(1000, dimension=1, seed=0)
    still = characters.phase_gradients[:, 0] == 0
    assert np.count_nonzero(still) == 1
    assert characters.weights[still] == [2]
    only = (ConstantKernel(1) + ConstantKernel(2)).characters(7, dimension=1, seed=0)
    assert math.fsum(only.weights) == pytest.approx(3)


def test_phases_grow_by_their_gradients() -> None:
    characters = COMBINED[1].characters(30, dimension=2, seed=3)
    x, step = some_points(5), np.array([0.25, -0.5])
    moved = characters.phases(x + step) - characters.phases(x)
    assert np.allclose(moved, characters.phase_gradients @ step)


@pytest.mark.parametrize("dimension", [1, 3, 8, 20])
def test_phases_of_a_point_do_not_depend_on_its_company(dimension: int) -> None:
    characters = GaussianKernel(0.1).characters(257, dimension=dimension, seed=3)
    x = some_points(100, dimension)
    alone = np.concatenate([characters.phases(row[None]) for row in x])
    assert np.allclose(characters.phases(x), alone, rtol=1e-12)
    assert characters.elementwise == (dimension <= 8)
    if characters.elementwise:
        assert np.array_equal(characters.phases(x), alone)


def test_characters_are_the_same_for_ever() -> None:
    # Saved functions depend on these numbers: they may never change.
    kernel = GaussianKernel(1).on(0) * PeriodicKernel(0.5, 1).on(0) + MaternKernel(1.5, 1).on(0)
    characters = kernel.characters(4, dimension=1, seed=12)
    assert characters == kernel.characters(4, 1, 12)
    assert hash(characters) == hash(kernel.characters(4, 1, 12))
    assert characters != kernel.characters(4, 1, 13)
    pinned = [13.1988256462, -23.2167303501, 1.24322921481, -1.93756000861]
    assert np.allclose(characters.phase_gradients[:, 0], pinned, rtol=1e-9)
    with pytest.raises(ValueError, match="read-only"):
        characters.weights[0] = 1


# Bounds, text, errors


heights = st.floats(1e-100, 1e100)


@settings(deadline=None)
@given(a=heights, b=heights, c=heights)
def test_bounds_are_rounded_up(a: float, b: float, c: float) -> None:
    one, two = ConstantKernel(a), ConstantKernel(b)
    assert Fraction((one + two + ConstantKernel(c)).bound) >= Fraction(a) + Fraction(b) + Fraction(c)
    assert Fraction((one * two * ConstantKernel(c)).bound) >= Fraction(a) * Fraction(b) * Fraction(c)
    assert Fraction(one.scale(b).bound) >= Fraction(a) * Fraction(b)


def test_bounds_of_kernels() -> None:
    assert (GaussianKernel(1) + GaussianKernel(2)).bound == 2
    assert (GaussianKernel(1) * ConstantKernel(0.1)).bound == 0.1
    assert PolynomialKernel(degree=2).bound == math.inf
    assert (PolynomialKernel(degree=2).scale(2) + GaussianKernel(1)).bound == math.inf
    assert (PolynomialKernel(degree=2) * GaussianKernel(1)).bound == math.inf
    assert PolynomialKernel(degree=100, radius=1e10).bound == math.inf
    assert 25 < PolynomialKernel(degree=2, offset=1, radius=2).bound < 25 * (1 + 1e-10)


def test_nonnegative_is_only_said_where_it_is_known() -> None:
    assert PolynomialKernel(degree=2).nonnegative
    assert not PolynomialKernel(degree=3).nonnegative
    assert not (PolynomialKernel(degree=3, radius=1) + GaussianKernel(1)).nonnegative
    assert not (PolynomialKernel(degree=1) * GaussianKernel(1)).scale(2).on(0).nonnegative
    assert (GaussianKernel(1) + DeltaKernel(3)).nonnegative


def test_sums_and_products_are_flat() -> None:
    g, c = GaussianKernel(1), ConstantKernel(1)
    assert (g + c) + g == g + (c + g) == KernelSum((g, c, g))
    assert (g * c) * g == KernelProduct((g, c, g))
    assert g.scale(2) == Scaled(g, 2.0)


@pytest.mark.parametrize(
    "data",
    [
        None,
        [],
        "gaussian",
        {},
        {"kernel": "os.system"},
        {"kernel": "gaussian"},
        {"kernel": "gaussian", "length": 1, "width": 2},
        {"kernel": "gaussian", "length": -1},
        {"kernel": "gaussian", "length": {"kernel": "constant", "value": 1}},
        {"kernel": "sum", "parts": [1, 2]},
        {"kernel": "sum", "parts": []},
        {"kernel": "scaled", "part": 1, "factor": 1},
        {"kernel": "on_columns", "part": {"kernel": "constant", "value": 1}, "columns": 3},
        {"kernel": ["gaussian"]},
    ],
)
def test_wrong_json_is_refused(data: Any) -> None:
    with pytest.raises(ArgumentError):
        Kernel.from_json(data)


@pytest.mark.parametrize(
    ("make", "argument"),
    [
        (lambda: GaussianKernel(0), "length"),
        (lambda: GaussianKernel(math.nan), "length"),
        (lambda: GaussianKernel((1, -1)), "length"),
        (lambda: GaussianKernel(()), "length"),
        (lambda: GaussianKernel("wide"), "length"),
        (lambda: GaussianKernel(np.array(0.0)), "length"),
        (lambda: GaussianKernel([[1.0]]), "length"),
        (lambda: MaternKernel(0, 1), "smoothness"),
        (lambda: MaternKernel(1000, 1), "smoothness"),
        (lambda: RationalQuadraticKernel(-1, 1), "power"),
        (lambda: PeriodicKernel(1, math.inf), "period"),
        (lambda: PolynomialKernel(0), "degree"),
        (lambda: PolynomialKernel(10**9, radius=2), "degree"),
        (lambda: PolynomialKernel(3)([[1e60]], [[1.0]]), "x"),
        (lambda: PolynomialKernel(2, offset=-1), "offset"),
        (lambda: PolynomialKernel(2, radius=0), "radius"),
        (lambda: ConstantKernel(-1), "value"),
        (lambda: DeltaKernel(0), "categories"),
        (lambda: GaussianKernel(1).scale(0), "factor"),
        (lambda: GaussianKernel(1).scale(-2), "factor"),
        (lambda: GaussianKernel(1).on(), "columns"),
        (lambda: GaussianKernel(1).on(1, 1), "columns"),
        (lambda: GaussianKernel(1).on(-1), "columns"),
        (lambda: GaussianKernel(1)([1.0, 2.0], [[1.0]]), "x"),
        (lambda: GaussianKernel(1)([[1.0]], [[math.nan]]), "y"),
        (lambda: GaussianKernel(1)([[math.inf]], [[1.0]]), "x"),
        (lambda: GaussianKernel(1)([["a"]], [[1.0]]), "x"),
        (lambda: GaussianKernel(1)([[1.0], [1.0, 2.0]], [[1.0]]), "x"),
        (lambda: GaussianKernel(1)([[1.0]], [[1.0, 2.0]]), "y"),
        (lambda: GaussianKernel(1)(np.zeros((3, 0)), [[1.0]]), "x"),
        (lambda: GaussianKernel((1, 2))([[1.0]], [[1.0]]), "x"),
        (lambda: GaussianKernel(1e-300)([[1.0]], [[1.0]]), "x"),
        (lambda: (GaussianKernel(1).on(2) + ConstantKernel(1)).diagonal([[1.0, 2.0]]), "x"),
        (lambda: PolynomialKernel(2, radius=1)([[1.0, 1.0]], [[0.0, 0.0]]), "x"),
        (lambda: DeltaKernel(2)([[0.0]], [[2.0]]), "y"),
        (lambda: DeltaKernel(2)([[0.5]], [[1.0]]), "x"),
        (lambda: DeltaKernel(2)([[-1.0]], [[1.0]]), "x"),
        (lambda: DeltaKernel(2)([[1.0, 1.0]], [[1.0, 1.0]]), "x"),
        (lambda: LaplaceKernel(1).gradient([[1.0]], [[1.0]]), "kernel"),
        (lambda: (LaplaceKernel(1) * GaussianKernel(1)).cross([[1.0]], [[1.0]]), "kernel"),
        (lambda: MaternKernel(0.5, 1).gradient([[1.0]], [[0.0]]), "smoothness"),
        (lambda: MaternKernel(1, 1).cross([[1.0]], [[0.0]]), "smoothness"),
        (lambda: PolynomialKernel(2).characters(10, 1, 0), "kernel"),
        (lambda: GaussianKernel(1).characters(0, 1, 0), "count"),
        (lambda: (GaussianKernel(1) + ConstantKernel(1)).characters(1, 1, 0), "count"),
        (lambda: GaussianKernel(1).characters(1, 0, 0), "dimension"),
        (lambda: GaussianKernel((1, 2)).characters(1, 3, 0), "dimension"),
        (lambda: GaussianKernel(1).characters(1, 1, -1), "seed"),
        (lambda: GaussianKernel(1).characters(1, 1, 0).phases([[1.0, 2.0]]), "points"),
        (lambda: PeriodicKernel(1e-9, 1).characters(1, 1, 0).phase_gradients, "length"),
        (lambda: PeriodicKernel(1, 1).spectral_density([[1.0]]), "kernel"),
        (lambda: DeltaKernel(2).spectral_density([[1.0]]), "kernel"),
        (lambda: PolynomialKernel(2).spectral_density([[1.0]]), "kernel"),
        (lambda: ConstantKernel(2).spectral_density([[1.0]]), "columns"),
        (lambda: GaussianKernel(1).on(0).spectral_density([[1.0, 1.0]]), "columns"),
        (lambda: (GaussianKernel(1) * GaussianKernel(1)).spectral_density([[1.0]]), "columns"),
        (lambda: GaussianKernel((1, 1)).spectral_density([[1.0]]), "dimension"),
        (lambda: GaussianKernel(1).spectral_density([1.0]), "frequencies"),
    ],
)
def test_errors_name_the_argument(make: Callable[[], Any], argument: str) -> None:
    with pytest.raises(ArgumentError) as caught:
        make()
    assert caught.value.argument == argument


def test_errors_do_not_show_a_record() -> None:
    for kernel, point in (
        (PolynomialKernel(2, radius=1), [[7.25]]),
        (DeltaKernel(2), [[7.25]]),
        (GaussianKernel(1e-300), [[7.25]]),
    ):
        with pytest.raises(ArgumentError) as caught:
            kernel.diagonal(point)
        assert "7.25" not in str(caught.value)


def test_only_kernels_are_combined() -> None:
    with pytest.raises(TypeError):
        GaussianKernel(1) + 1  # type: ignore[operator]
    with pytest.raises(TypeError):
        GaussianKernel(1) * 2  # type: ignore[operator]


def test_no_points_are_points_too() -> None:
    none = np.zeros((0, 2))
    for kernel in ALL:
        assert kernel(none, some_points(3)).shape == (0, 3)
        assert kernel.diagonal(none).shape == (0,)
    for kernel in SMOOTH:
        assert kernel.gradient(none, some_points(3)).shape == (0, 3, 2)
        assert kernel.cross(some_points(3), none).shape == (3, 0, 2, 2)


def test_public_names_are_sorted() -> None:
    assert list(kernels.__all__) == sorted(kernels.__all__)
