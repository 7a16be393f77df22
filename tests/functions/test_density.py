"""Private densities: the noise and its guarantee are as stated, the density is one, mistakes are caught."""

import math
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from indistinct import Budget
from indistinct.adjacency import Adjacency
from indistinct.data import Missing, Numbers, UserRecords, read_sql
from indistinct.errors import ArgumentError, DataError
from indistinct.functions import (
    GaussianKernel,
    GaussianProcess,
    MaternKernel,
    PolynomialKernel,
    PrivateDensity,
    PrivateFunction,
    density_counts,
)
from indistinct.functions.density import density_from, public_bandwidth, release_density
from indistinct.functions.density_counts import public_cells
from indistinct.functions.density_fit import BoxGrid
from indistinct.functions.density_jumps import without_noise
from indistinct.functions.fourier import FourierBasis
from indistinct.functions.function import FiniteFunction
from indistinct.functions.torus import Periodic
from indistinct.mechanisms import Gaussian
from indistinct.mechanisms.release import Release
from indistinct.noise import NotPrivateSource
from indistinct.numerics.arrays import Array

BUDGET: dict[str, Any] = {"budget": Budget(epsilon=1, delta=1e-5)}
UNIT = {"x": Numbers(0, 1), "y": Numbers(0, 1)}
BASES = [
    FourierBasis(MaternKernel(1, 0.05), low=(-3.0,), high=(5.0,)),
    FourierBasis(GaussianKernel((0.3, 0.6)), low=(0.0, 1.0), high=(2.0, 4.0)),
    FourierBasis(MaternKernel(1, 0.3), low=(0.0,) * 3, high=(1.0,) * 3),
]


def middles(basis: FourierBasis, cells: Any) -> Array:
    return np.array(basis.low) + (np.asarray(cells) + 0.5) / basis.cells * basis.sides


def counted(basis: FourierBasis, cells: Any) -> Array:
    table = np.zeros((basis.cells,) * basis.dimension)
    np.add.at(table, tuple(np.asarray(cells).T), 1)
    return table


def two_hills(count: int, seed: int = 0) -> dict[str, Array]:
    draw = np.random.default_rng(seed)
    first = draw.random(count) < 0.6
    x = np.where(first, draw.normal(0.3, 0.06, count), draw.normal(0.7, 0.08, count))
    return {"x": x, "y": draw.normal(0.5, 0.1, count)}


@pytest.fixture(scope="module")
def usual() -> dict[tuple[int, Adjacency], PrivateDensity]:
    """Releases that several tests look at: counts, or of 7,000 records a function."""
    return {
        (count, adjacency): release_density(
            two_hills(count), UNIT, adjacency=adjacency, bandwidth=bandwidth, **BUDGET
        )
        for count, bandwidth in ((400, None), (7000, 0.08))
        for adjacency in Adjacency
    }


looked_at_by_several = pytest.mark.xdist_group("density")


@pytest.mark.parametrize("basis", BASES, ids=lambda basis: f"{basis.dimension}d")
def test_every_record_moves_the_function_by_the_sensitivity(basis: FourierBasis) -> None:
    draw = np.random.default_rng(1)
    cells = draw.integers(0, basis.cells, size=(40, basis.dimension))
    cells[:2] = [[0] * basis.dimension, [basis.cells - 1] * basis.dimension]
    lengths = np.linalg.norm(basis(middles(basis, cells)), axis=1)
    assert lengths == pytest.approx(basis.sensitivity(), rel=1e-13)
    whole = basis.coefficients_of(counted(basis, cells))
    without = basis.coefficients_of(counted(basis, cells[1:]))
    assert np.linalg.norm(whole - without) == pytest.approx(1, rel=1e-12)


@pytest.mark.parametrize("basis", BASES, ids=lambda basis: f"{basis.dimension}d")
def test_replacing_a_record_never_moves_it_further(basis: FourierBasis) -> None:
    draw = np.random.default_rng(2)
    low, high = np.array(basis.low), np.array(basis.high)
    near = draw.normal(size=(3000, basis.dimension)) * basis.sides * draw.random((3000, 1))
    start = low + draw.random((3000, basis.dimension)) * basis.sides
    moved = np.linalg.norm(basis(start) - basis(np.clip(start + near, low, high)), axis=1)
    bound = basis.sensitivity(Adjacency.REPLACE_ONE)
    assert moved.max() <= bound <= 2 * (1 + 1e-12)
    assert moved.max() > 0.93 * bound  # and the bound is not far off


@pytest.mark.parametrize("basis", BASES, ids=lambda basis: f"{basis.dimension}d")
def test_evaluations_agree_with_the_features(basis: FourierBasis) -> None:
    draw = np.random.default_rng(3)
    points = np.array(basis.low) + draw.random((200, basis.dimension)) * basis.sides
    factors = draw.standard_normal(basis.size)
    assert basis.evaluate(factors, points) == pytest.approx(basis(points) @ factors, abs=1e-6)
    slopes = np.einsum("nmd,m->nd", basis.gradients(points), factors)
    assert basis.evaluate_gradient(factors, points) == pytest.approx(slopes, abs=1e-4)
    one_by_one = [basis.evaluate(factors, point[None])[0] for point in points[:20]]
    assert (basis.evaluate(factors, points)[:20] == one_by_one).all()
    cells = draw.integers(0, basis.cells, size=(50, basis.dimension))
    exact = basis(middles(basis, cells)).sum(axis=0)
    off = np.linalg.norm(basis.coefficients_of(counted(basis, cells)) - exact)
    assert off <= basis.float_error(50) + 1e-12


@pytest.mark.parametrize("basis", BASES, ids=lambda basis: f"{basis.dimension}d")
def test_integrals_are_those_of_the_function(basis: FourierBasis) -> None:
    low, high = np.array(basis.low), np.array(basis.high)
    inner = low + 0.2 * basis.sides, low + 0.7 * basis.sides
    each = {1: 400, 2: 80, 3: 30}[basis.dimension]
    nodes, weights = np.polynomial.legendre.leggauss(each)
    lines = [(a + b) / 2 + (b - a) / 2 * nodes for a, b in zip(*inner, strict=True)]
    points = np.stack(np.meshgrid(*lines, indexing="ij"), axis=-1).reshape(-1, basis.dimension)
    rule = weights
    for _ in range(basis.dimension - 1):
        rule = np.multiply.outer(rule, weights)
    rule = rule.ravel() * float(np.prod((inner[1] - inner[0]) / 2))
    factors = np.random.default_rng(4).standard_normal(basis.size)
    direct = basis(points) @ factors @ rule
    assert basis.integrals(*inner) @ factors == pytest.approx(direct, abs=1e-9 * high.size)


def test_a_prepared_sum_is_the_sum() -> None:
    draw = np.random.default_rng(5)
    waves = draw.integers(-20, 21, size=(30, 2)).astype(float)
    heights = draw.standard_normal(30) + 1j * draw.standard_normal(30)
    turns = draw.uniform(-1, 2, size=(100, 2))
    direct = (np.exp(2j * np.pi * turns @ waves.T) @ heights).real
    assert Periodic.of(waves, heights)(turns) == pytest.approx(direct, abs=1e-8 * np.abs(heights).sum())


def test_the_noise_has_the_covariance_of_the_kernel() -> None:
    basis = FourierBasis(GaussianKernel(0.4), low=(0.0,), high=(1.0,))
    empty, runs = np.zeros(basis.cells, dtype=np.int64), 1000
    source = NotPrivateSource(6)
    release = {"copies": 1, "records": 1000, "source": source}
    drawn = np.stack([basis.release_counts(2.5, empty, **release).coefficients for _ in range(runs)])
    covariance = drawn.T @ drawn / runs / 2.5**2
    size = basis.size
    assert np.linalg.norm(covariance - np.eye(size)) < 1.3 * math.sqrt(size * (size + 1) / runs)
    points = np.linspace(0, 1, 7)[:, None]
    values, slopes = drawn @ basis(points).T, drawn @ basis.gradients(points)[:, :, 0].T
    together = np.concatenate([values, slopes / 10], axis=1) / 2.5
    features = np.concatenate([basis(points), basis.gradients(points)[:, :, 0] / 10])
    kernel = features @ features.T
    off = np.linalg.norm(together.T @ together / runs - kernel)
    assert off < 1.5 * math.sqrt((np.trace(kernel) ** 2 + np.linalg.norm(kernel) ** 2) / runs)


def test_the_guarantee_is_that_of_a_gaussian() -> None:
    mechanism = GaussianProcess(BASES[1], scale=3.0)
    assert mechanism.guarantee().renyi(4) == pytest.approx(4 / (2 * 9), rel=1e-9)
    axes = {"x": Numbers(0, 2), "y": Numbers(1, 4)}
    function = mechanism.of_sum({"x": np.array([0.3, 1.0]), "y": np.array([2.0, 9.0])}, axes, records=1000)
    assert function.guarantee().renyi(4) == pytest.approx(4 / (2 * 9), rel=1e-4)
    assert function.guarantee().renyi(4) >= mechanism.guarantee().renyi(4)
    assert function.deviation([[1.0, 2.0]]) == pytest.approx([3.0])


@looked_at_by_several
@pytest.mark.parametrize("adjacency", list(Adjacency))
@pytest.mark.parametrize("records_known", [False, True])
@pytest.mark.parametrize("count", [400, 7000])  # counts are released, and a function
def test_the_target_is_met(usual: Any, adjacency: Adjacency, records_known: bool, count: int) -> None:
    target = {**BUDGET, "adjacency": adjacency, "records": count + 50}
    target["bandwidth"] = 0.08 if count == 7000 else None
    density = release_density(two_hills(count), UNIT, **target) if records_known else usual[count, adjacency]
    assert isinstance(density.released, FiniteFunction if count == 7000 else Release)
    spent = density.guarantee(adjacency).epsilon(delta=1e-5)
    assert 0.99 < spent <= 1
    if count == 400:
        assert 0.99 < density.guarantee(adjacency).pure() <= 1


def test_users_are_charged_for_all_their_records() -> None:
    data = {**two_hills(600), "user": np.arange(600) // 3}
    unit = UserRecords("user", most=2)
    function = release_density(data, UNIT, unit=unit, bandwidth=0.2, **BUDGET)
    assert isinstance(function.released, FiniteFunction)
    assert function.released.mechanism.added == pytest.approx(2, rel=1e-2)
    for density in (function, release_density(data, UNIT, unit=unit, **BUDGET)):
        assert 0.99 < density.guarantee().epsilon(delta=1e-5) <= 1
        assert density.records == pytest.approx(400, abs=200)


@pytest.mark.parametrize("bandwidth", [None, 0.2])
def test_a_number_of_records_that_was_used_has_no_guarantee_if_one_comes_or_goes(
    bandwidth: float | None,
) -> None:
    target = {**BUDGET, "adjacency": Adjacency.REPLACE_ONE, "bandwidth": bandwidth}
    owned = dict.fromkeys("xy", Numbers(0, 1, missing=Missing.ERROR))
    density = release_density(two_hills(500), owned, **target)
    assert density.guarantee(Adjacency.REPLACE_ONE).epsilon(delta=1e-5) <= 1
    assert density.guarantee(Adjacency.ADD_REMOVE).epsilon(delta=1e-5) == math.inf
    counted_first = release_density(two_hills(500), UNIT, **target)
    assert counted_first.count is not None  # a record may be exchanged for one that is left out


def move(released: Any, basis: FourierBasis) -> float:
    """How far what is released moves, before noise, if one record goes that lies far from the 299 others."""
    cells = np.zeros((300, basis.dimension), dtype=np.int64)
    cells[0] = basis.cells // 2
    return float(np.linalg.norm(released(counted(basis, cells)) - released(counted(basis, cells[1:]))))


def test_normalising_by_the_private_number_of_records_is_caught() -> None:
    """Neighbours have different numbers of records: divided by it, the whole function moves."""
    basis = BASES[1]

    def planted(counts: Array) -> Array:  # a mean, times a public number that is even right
        mean: Array = basis.coefficients_of(counts) / counts.sum() * 300
        return mean

    assert move(basis.coefficients_of, basis) <= basis.sensitivity() * (1 + 1e-9)
    assert move(planted, basis) > 1.35 * basis.sensitivity()
    # and the released numbers: no seed gives away how many there are, unless their number was used
    sources = [NotPrivateSource(seed) for seed in range(3)]
    noisy = [release_density(two_hills(500), UNIT, bandwidth=0.3, source=s, **BUDGET) for s in sources]
    assert len({density.records for density in noisy}) == 3
    assert 500.0 not in {density.records for density in noisy}


def test_only_the_release_is_looked_at_afterwards() -> None:
    density = release_density(two_hills(3000), UNIT, bandwidth=0.1, **BUDGET)
    assert isinstance(density.released, FiniteFunction)
    again = density_from(density.released)
    assert (again.share == density.share).all() and again.floor == density.floor


def test_a_place_that_looks_empty_keeps_a_little() -> None:
    """As much as the noise on one count is of all records; how many there are is known, or noisy itself."""
    owned = {"x": Numbers(0, 1, missing=Missing.ERROR)}
    for adjacency in (Adjacency.ADD_REMOVE, Adjacency.REPLACE_ONE):
        budget = Budget(epsilon=0.1, delta=1e-5)
        few = release_density({"x": np.full(30, 0.5)}, owned, budget, adjacency=adjacency)
        noise = few.released.mechanism.deviation  # type: ignore[union-attr]
        assert few.floor == min(noise / few.records, 1) and few.log([0.01])[0] >= math.log(few.floor)
    assert few.records == 30 and few.floor == pytest.approx(math.sqrt(2) * 20 / 30, rel=1e-2)
    many = release_density({"x": np.full(90_000, 0.5)}, {"x": Numbers(0, 1)}, Budget(epsilon=1, delta=1e-5))
    assert 1e-6 < many.floor < 1e-3


@looked_at_by_several
@pytest.mark.parametrize("count", [400, 7000])
def test_a_density_is_saved_and_read_back(usual: Any, tmp_path: Path, count: int) -> None:
    density = usual[count, Adjacency.ADD_REMOVE]
    density.save(tmp_path / "d.npz")
    again = PrivateDensity.load(tmp_path / "d.npz")
    points = np.random.default_rng(14).random((50, 2))
    assert (again.log(points) == density.log(points)).all()
    assert (again.sample(20) == density.sample(20)).all()
    assert again.guarantee().epsilon(delta=1e-5) == density.guarantee().epsilon(delta=1e-5)
    (tmp_path / "no.npz").write_bytes(b"nothing")
    with pytest.raises(ArgumentError, match="save"):
        PrivateDensity.load(tmp_path / "no.npz")


@pytest.mark.parametrize("dimension", [1, 2])
def test_a_density_is_drawn(tmp_path: Path, dimension: int) -> None:
    pytest.importorskip("matplotlib")
    data = {name: values for name, values in list(two_hills(300).items())[:dimension]}
    density = release_density(data, {name: Numbers(0, 1) for name in data}, **BUDGET)
    density.plot(tmp_path / "one.png")
    density.plot(tmp_path / "two.png", truth=lambda points: np.ones(len(points)))
    assert (tmp_path / "one.png").read_bytes() != (tmp_path / "two.png").read_bytes()


def test_counts_are_released_where_records_are_few_and_know_the_shape() -> None:
    density = release_density(
        two_hills(1000), UNIT, Budget(epsilon=0.2, delta=0.0001), source=NotPrivateSource(5)
    )
    assert isinstance(density.released, Release)
    assert density.probability([0.1, 0.3], [0.9, 0.7]) > 0.7  # 0.95; 0.32 for the uniform density
    cells = [public_cells(2, records, 10.0) for records in (1, 10**3, 10**4)]
    assert cells == sorted(cells) and cells[0] == 2


@pytest.mark.parametrize("dimension", [1, 2, 3])
def test_a_density_is_positive_and_has_mass_one(dimension: int) -> None:
    draw = np.random.default_rng(8)
    data = {f"x{axis}": draw.beta(2, 5, size=2000) * 10 - 5 for axis in range(dimension)}
    axes = {name: Numbers(-5, 5) for name in data}
    density = release_density(data, axes, Budget(epsilon=1, delta=1e-5))
    cells = {1: 2000, 2: 300, 3: 60}[dimension]
    values = density.on_grid(cells)
    assert (values > 0).all()
    rule = density.on_grid(2 * density.share.shape[0])  # two middles in each cell: exact for what is linear
    assert rule.mean() * 10**dimension == pytest.approx(1, abs=1e-9)
    assert density.probability([-5] * dimension, [5] * dimension) == pytest.approx(1)
    low, high = [-4.0] * dimension, [0.5] * dimension
    sample = density.sample(20_000)
    inside = ((sample >= low) & (sample <= high)).all(axis=1).mean()
    assert inside == pytest.approx(density.probability(low, high), abs=0.02)
    corners = np.array(list(product([-5.0, 5.0], repeat=dimension)))
    assert (density(corners) >= density.floor / 10**dimension * (1 - 1e-12)).all()
    assert (sample >= -5).all() and (sample <= 5).all()
    assert density([[5.1] * dimension]) == 0


def test_it_is_near_the_truth_and_far_nearer_than_a_noisy_histogram() -> None:
    truth_x = lambda x: 0.6 * hill(x, 0.3, 0.06) + 0.4 * hill(x, 0.7, 0.08)  # noqa: E731
    middle = (np.arange(128) + 0.5) / 128
    truth = np.outer(truth_x(middle), hill(middle, 0.5, 0.1))
    density = release_density(
        two_hills(20_000), UNIT, Budget(epsilon=1, delta=1e-5), source=NotPrivateSource(9)
    )
    assert np.abs(density.on_grid(128) - truth).mean() < 0.09  # a Laplace histogram's best is 0.2


def hill(x: Array, middle: float, width: float) -> Array:
    height: Array = np.exp(-0.5 * ((x - middle) / width) ** 2) / width / math.sqrt(2 * math.pi)
    return height


def test_edges_of_the_box_are_no_obstacle() -> None:
    draw = np.random.default_rng(10)
    data = {"x": draw.exponential(0.25, size=40_000)}
    data["x"] = data["x"][data["x"] < 1]
    density = release_density(
        data, {"x": Numbers(0, 1)}, Budget(epsilon=1, delta=1e-5), source=NotPrivateSource(1)
    )
    at_edge = 4 / (1 - math.exp(-4))
    assert density([0.0])[0] == pytest.approx(at_edge, rel=0.1)
    uniform = {"x": draw.random(40_000)}
    flat = release_density(
        uniform, {"x": Numbers(0, 1)}, Budget(epsilon=1, delta=1e-5), source=NotPrivateSource(2)
    )
    assert np.abs(flat.on_grid(100) - 1).max() < 0.1


@pytest.mark.parametrize("dimension", [1, 2, 3])
def test_what_is_all_noise_is_flattened_and_what_is_none_is_kept(dimension: int) -> None:
    counts = 1e9 * np.random.default_rng(15).random((24,) * dimension)
    assert np.abs(without_noise(counts, 1.0) - counts).max() < 1e-3 * counts.max()  # sampling is 3e4
    flat = without_noise(counts, 1e18)
    assert flat.mean() == pytest.approx(counts.mean(), rel=0.1) and flat.std() < 0.2 * counts.std()


@pytest.mark.parametrize("dimension, cells, most", [(2, 30, 1.45), (3, 16, 1.1)])
def test_a_round_edge_is_found_in_noise(dimension: int, cells: int, most: float) -> None:
    """Wavelets, whose blocks have corners, are off by 1.7 and 1.3."""
    middles, errors = (np.arange(cells) + 0.5) / cells - 0.45, []
    far = np.square(np.meshgrid(*[middles] * dimension, indexing="ij")).sum(axis=0)
    truth = np.where(far < 0.09, 20.0, 4.0)
    for seed in range(4):
        draw = np.random.default_rng(seed)
        noisy = draw.poisson(truth) + draw.laplace(0, 5, truth.shape)
        errors.append(np.abs(without_noise(noisy, 50.0) - truth).mean())
    assert np.mean(errors) < most


def test_a_jump_stays_a_jump_and_a_hill_smooth() -> None:
    """One cell of 720 has a jump; waves would need all of them."""
    draw, middle = np.random.default_rng(16), (np.arange(1000) + 0.5) / 1000
    found = {}
    for name, x in (("jump", draw.uniform(0.313, 0.747, 20_000)), ("hill", draw.normal(0.5, 0.1, 20_000))):
        source = NotPrivateSource(4)
        found[name] = release_density({"x": x}, {"x": Numbers(0, 1)}, Budget(epsilon=1), source=source)
    truth = np.where((middle > 0.313) & (middle < 0.747), 1 / 0.434, 0)
    assert np.abs(found["jump"].on_grid(1000) - truth).mean() < 0.02  # 0.1 of a sum of waves
    assert np.abs(found["hill"].on_grid(1000) - hill(middle, 0.5, 0.1)).mean() < 0.04
    rises = np.abs(np.diff(found["hill"].on_grid(1000)))
    assert rises.max() < 0.2 < 1 < np.abs(np.diff(found["jump"].on_grid(1000))).max()


def test_grid_transforms_are_adjoint() -> None:
    for basis in BASES:
        grid, draw = BoxGrid(basis, np.arange(len(basis.waves) - 1)), np.random.default_rng(11)
        weights = draw.random((grid.cells,) * basis.dimension)
        factors = draw.standard_normal(basis.size - 1)
        assert np.vdot(weights, grid.values(factors)) == pytest.approx(grid.means(weights) @ factors)


@pytest.mark.parametrize("bandwidth, numbers", [(0.1, "coefficients"), (None, "values")])
def test_duckdb_counts_the_same(bandwidth: float | None, numbers: str) -> None:
    """Those of a function, and those of counts on a coarse grid."""
    duckdb = pytest.importorskip("duckdb")
    pandas = pytest.importorskip("pandas")
    data = two_hills(500)
    connection = duckdb.connect().register("points", pandas.DataFrame(data))
    tables = data, read_sql("SELECT * FROM points", connection=connection)
    target = {**BUDGET, "bandwidth": bandwidth}
    here, there = (release_density(t, UNIT, source=NotPrivateSource(12), **target) for t in tables)
    assert (getattr(here.released, numbers) == getattr(there.released, numbers)).all()


def test_the_estimator_follows_scikit_learn() -> None:
    sklearn = pytest.importorskip("sklearn.base")
    from indistinct.functions.estimators.density import PrivateKernelDensity

    data = two_hills(3000)
    model = PrivateKernelDensity(Budget(epsilon=1, delta=1e-5), box=(0, 1), source=NotPrivateSource(3))
    assert sklearn.clone(model).get_params()["box"] == (0, 1)
    points = np.stack([data["x"], data["y"]], axis=1)
    model.fit(points)
    assert model.score(points) == pytest.approx(model.score_samples(points).sum())
    assert model.score(points) > 0.9 * len(points)  # the true density has a mean log-likelihood near 1.2
    assert model.sample(10).shape == (10, 2)
    assert model.guarantee().epsilon(delta=1e-5) == math.inf  # a seed is no secret
    again = sklearn.clone(model).set_params(source=NotPrivateSource(3)).fit_table(data, ("x", "y"))
    assert (again.score_samples(points) == model.score_samples(points)).all()
    with pytest.raises(ArgumentError):
        PrivateKernelDensity(Budget(epsilon=1, delta=1e-5)).fit(points)


def test_scikit_learn_conventions(monkeypatch: pytest.MonkeyPatch) -> None:
    checks = pytest.importorskip("sklearn.utils.estimator_checks")
    from indistinct.functions.estimators.density import PrivateKernelDensity

    monkeypatch.setattr(density_counts, "_STEPS", 2)  # how near a fit comes is asked elsewhere
    monkeypatch.setattr(density_counts, "_ROUGHNESSES", density_counts._ROUGHNESSES[:2])
    wide = "its data have more than three columns"
    expected = {
        "check_fit_idempotent": "every fit is a release with noise of its own",
        "check_parameters_default_constructible": "a default is an Adjacency",
        "check_n_features_in_after_fitting": wide,
        "check_positive_only_tag_during_fit": wide,
        "check_estimators_dtypes": wide,
        "check_dtype_object": wide,
        "check_fit2d_1sample": wide,
    }
    found = checks.check_estimator(
        PrivateKernelDensity(**BUDGET, box=(-10, 10)), expected_failed_checks=expected, on_skip=None
    )
    assert sum(one["status"] == "passed" for one in found) > 25


@pytest.mark.parametrize(
    ("change", "error"),
    [
        ({"axes": {"x": Numbers(0, 1), "y": Numbers(0, 0)}}, ArgumentError),
        ({"axes": {}}, ArgumentError),
        ({"budget": None}, ArgumentError),
        ({"budget": Gaussian(1)}, ArgumentError),
        ({"bandwidth": 0.0}, ArgumentError),
        ({"bandwidth": 1e-6}, ArgumentError),
        ({"records": 0}, ArgumentError),
        ({"data": {"x": np.zeros(2)}}, DataError),
    ],
)
def test_bad_input_is_refused(change: dict[str, Any], error: type[Exception]) -> None:
    given: dict[str, Any] = {"data": two_hills(50), "axes": UNIT, **BUDGET, **change}
    with pytest.raises(error):
        release_density(**given)


def test_missing_values_are_left_out_where_declared() -> None:
    axes = {"x": Numbers(0, 1, missing=Missing.DROP), "y": Numbers(0, 1)}
    data = {"x": np.array([0.1, math.nan] * 50), "y": np.full(100, 0.5)}
    assert release_density(data, axes, Budget(epsilon=5, delta=1e-5)).records == pytest.approx(50, abs=30)


def test_a_released_function_is_saved_and_read_back(tmp_path: Path) -> None:
    function = release_density(two_hills(500), UNIT, bandwidth=0.2, **BUDGET).released
    assert isinstance(function, FiniteFunction)
    function.save(tmp_path / "f.npz")
    again = PrivateFunction.load(tmp_path / "f.npz")
    points = np.random.default_rng(13).random((50, 2))
    assert (again(points) == function(points)).all() and again.space == function.space


def test_bad_spaces_and_points_are_refused() -> None:
    with pytest.raises(ArgumentError, match="inside the box"):
        GaussianProcess(BASES[0], 1).release(np.zeros(BASES[0].size))([5.5])
    with pytest.raises(ArgumentError):
        FourierBasis(PolynomialKernel(2, 1.0, 1.0), (0.0,), (1.0,))
    with pytest.raises(ArgumentError):
        FourierBasis(GaussianKernel(0.1), (0.0,) * 4, (1.0,) * 4)
    with pytest.raises(ArgumentError):
        FourierBasis(GaussianKernel(0.1), (0.0,), (0.0,))
    with pytest.raises(ArgumentError, match="as the basis"):
        GaussianProcess(BASES[0], 1).of_sum({"x": np.zeros(3)}, {"x": Numbers(0, 1)})


def test_the_bandwidth_is_public() -> None:
    same = [
        release_density(two_hills(500, seed), UNIT, Budget(epsilon=1, delta=1e-5), records=500)
        for seed in (1, 2)
    ]
    assert same[0].basis == same[1].basis
    widths = [public_bandwidth(2, records, 4.0) for records in (1, 10**3, 10**5, 10**12)]
    assert widths == sorted(widths, reverse=True) and widths[0] <= 1 / 3 and widths[-1] == 1 / 200
