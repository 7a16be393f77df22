"""Functions released with Gaussian-process noise: the noise is what is stated, answers belong to one path,
and that the known ways to lose the guarantee are caught."""

import copy
import math
import pickle
from dataclasses import replace
from pathlib import Path
from threading import Barrier, Thread

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from indistinct import Adjacency, ArgumentError, Gaussian
from indistinct.data import (
    Categories,
    FeatureSum,
    Missing,
    Norm,
    Numbers,
    ProductSum,
    Unit,
    UserRecords,
    UserTotals,
)
from indistinct.errors import DataError
from indistinct.functions import (
    ConstantKernel,
    Covariance,
    DeltaKernel,
    ExactKernel,
    FiniteSpace,
    FourierBasis,
    GaussianKernel,
    GaussianProcess,
    LaplaceKernel,
    MaternKernel,
    PolynomialKernel,
    PrivateFunction,
    RandomFeatures,
    Space,
)
from indistinct.functions.exact_kernel import Coordinates
from indistinct.functions.whitening import Functionals, Whitening
from indistinct.noise import NotPrivateSource

SMOOTH = GaussianKernel(0.3)
UNIT = Numbers(0, 1)
POINTS = np.array([[0.1, 0.2], [0.5, 0.5], [0.55, 0.5], [0.9, 0.1]])
SPACES: list[Space] = [
    RandomFeatures(SMOOTH, pairs=40, dimension=2),
    RandomFeatures(SMOOTH.scale(3) + ConstantKernel(0.5), pairs=30, dimension=2, seed=4),
    ExactKernel(SMOOTH, dimension=2),
    ExactKernel(MaternKernel(smoothness=2.5, length=0.4).scale(2), dimension=2),
    FourierBasis(SMOOTH, low=(0, 0), high=(1, 1)),
]


def names(space: object) -> str:
    return f"{type(space).__name__}-{SPACES.index(space)}"  # type: ignore[arg-type]


def released(space: Space, scale: float = 1.0, seed: int = 0, records: int = 1) -> PrivateFunction:
    """A sum over records at (0.5, 0.5), with noise that tests can repeat."""
    data = {"x": np.full(records, 0.5), "y": np.full(records, 0.5)}
    process = GaussianProcess(space, scale)
    return process.of_sum(data, {"x": UNIT, "y": UNIT}, records=10_000, source=NotPrivateSource(seed))


def kernel_of(space: Space, x: np.ndarray, y: np.ndarray) -> np.ndarray:
    if isinstance(space, FiniteSpace):
        return space(x) @ space(y).T
    assert isinstance(space, ExactKernel)
    return space.kernel(x, y)


def stacked_covariance(space: Space) -> np.ndarray:
    """Of values and gradients at POINTS."""
    n, d = POINTS.shape
    if isinstance(space, FiniteSpace):
        rows = np.concatenate([space(POINTS), space.gradients(POINTS).transpose(0, 2, 1).reshape(n * d, -1)])
        return rows @ rows.T
    assert isinstance(space, ExactKernel)
    k = space.kernel
    slopes = k.gradient(POINTS, POINTS).transpose(0, 2, 1).reshape(n * d, n)
    cross = k.cross(POINTS, POINTS).transpose(0, 2, 1, 3).reshape(n * d, n * d)
    return np.block([[k(POINTS, POINTS), slopes.T], [slopes, cross]])


@pytest.mark.parametrize("space", SPACES, ids=names)
def test_noise_has_the_covariance_of_the_kernel_with_gradients(space: Space) -> None:
    draws = 20_000 if isinstance(space, FiniteSpace) else 80  # more of these: the next test
    if isinstance(space, FiniteSpace):
        # one release of many functions: the same draw as one by one, in less time
        many = Gaussian(1.0, 1.0).release(np.zeros((draws, space.size)), source=NotPrivateSource(1)).values
        n, d = POINTS.shape
        values = many @ space(POINTS).T
        slopes = np.einsum("sm,nmd->snd", many, space.gradients(POINTS)).reshape(draws, n * d)
        sample = np.concatenate([values, slopes], axis=1)
    else:
        rows = []
        for seed in range(draws):
            function = released(space, seed=seed)
            first, second = function(POINTS[:2]), function(POINTS[2:])  # in two batches
            rows.append(np.concatenate([first, second, function.gradient(POINTS).ravel()]))
        sample = np.array(rows)
        sample -= sample.mean(axis=0)
    stated = stacked_covariance(space)
    found = sample.T @ sample / draws
    # E |found - stated|_F^2 = (tr² + |stated|_F²)/draws
    expected = math.sqrt((np.trace(stated) ** 2 + (stated**2).sum()) / draws)
    assert np.linalg.norm(found - stated) < 3 * expected


def test_whitened_noise_has_the_covariance_of_the_kernel_at_many_draws() -> None:
    """The same for exact kernels, at 20,000 draws: values in two batches, then gradients."""
    for space in SPACES[2:4]:
        assert isinstance(space, ExactKernel)
        whitening, parts = Whitening.empty(space.kernel, 2), []
        values = [Functionals.values(POINTS[:2]), Functionals.values(POINTS[2:])]
        for some in [*values, Functionals.gradients(POINTS)]:
            whitening, rows = whitening.extended(some)
            parts.append(rows)
        rows = np.concatenate([np.pad(part, ((0, 0), (0, len(whitening) - part.shape[1]))) for part in parts])
        stated = stacked_covariance(space)
        assert rows @ rows.T == pytest.approx(stated, abs=1e-5 * np.abs(stated).max())
        draws = 20_000
        zeros = np.zeros((draws, len(whitening)))
        noise = Gaussian(1.0, 1.0).release(zeros, source=NotPrivateSource(2)).values
        found = (noise @ rows.T).T @ (noise @ rows.T) / draws
        expected = math.sqrt((np.trace(stated) ** 2 + (stated**2).sum()) / draws)
        assert np.linalg.norm(found - stated) < 3 * expected


@pytest.mark.parametrize("space", SPACES, ids=names)
def test_mean_is_the_sum_of_kernels(space: Space) -> None:
    exact = 7 * kernel_of(space, POINTS, np.array([[0.5, 0.5]]))[:, 0]
    near = released(space, scale=1e-9, records=7)(POINTS)
    # records are moved to the middles of a grid's cells for a Fourier basis
    assert near == pytest.approx(exact, abs=0.02 if isinstance(space, FourierBasis) else 1e-6)


def furthest(signal: np.ndarray, covariance: np.ndarray) -> float:
    """√(uᵀM⁻¹u): how well one record is seen through the noise (*Functional Rényi DP*, eq. 3); infinite
    along directions that have no noise."""
    values, vectors = np.linalg.eigh(covariance)
    along = vectors.T @ signal
    silent = values < 1e-9 * values.max()
    if (np.abs(along[silent]) > 1e-3 * np.abs(signal).max()).any():
        return math.inf
    return math.sqrt((along[~silent] ** 2 / values[~silent]).sum())


@settings(max_examples=settings.default.max_examples // 2)
@given(
    place=st.tuples(st.floats(0, 1), st.floats(0, 1)),
    seed=st.integers(0, 2**20),
    which=st.sampled_from(range(len(SPACES))),
)
def test_no_points_see_a_record_better_than_the_sensitivity(
    place: tuple[float, float], seed: int, which: int
) -> None:
    space = SPACES[which]
    points = np.random.default_rng(seed).random((12, 2))
    signal = kernel_of(space, points, np.array([place]))[:, 0]
    assert furthest(signal, kernel_of(space, points, points)) <= space.sensitivity() * (1 + 1e-3)


def test_planted_exact_signal_with_finite_rank_noise_is_caught() -> None:
    # More points than the noise has dimensions: an exact signal sticks out of them.
    features = RandomFeatures(SMOOTH, pairs=4, dimension=2)
    points = np.random.default_rng(0).random((30, 2))
    noise = features(points) @ features(points).T
    assert furthest(SMOOTH(points, POINTS[:1])[:, 0], noise) == math.inf
    assert furthest((features(points) @ features(POINTS[:1]).T)[:, 0], noise) <= features.sensitivity() * 1.01


@pytest.mark.parametrize("space", SPACES, ids=names)
def test_answers_belong_to_one_path(space: Space) -> None:
    function = released(space)
    every = np.random.default_rng(3).random((15, 2))
    first = function(every)
    order = np.random.default_rng(4).permutation(15)
    one_by_one = np.array([function(every[[i]])[0] for i in order])
    assert one_by_one == pytest.approx(first[order], abs=1e-12)
    assert (function(np.repeat(every, 2, axis=0))[::2] == function(every)).all()
    step = 1e-2
    slope = (function([[0.5 + step, 0.5]]) - function([[0.5 - step, 0.5]])) / (2 * step)
    assert function.gradient([[0.5, 0.5]])[0, 0] == pytest.approx(slope[0], abs=0.1)


def test_planted_fresh_path_is_caught() -> None:
    draw = np.random.default_rng(17)

    def fresh(points: np.ndarray) -> np.ndarray:
        """The published training loop: noise drawn again at every call."""
        return SMOOTH(points, POINTS[:1])[:, 0] + draw.normal(size=len(points))

    assert (fresh(POINTS) != fresh(POINTS)).all()
    # and averaging removes the noise, which it cannot for one path
    mean = np.mean([fresh(POINTS) for _ in range(2000)], axis=0)
    assert np.abs(mean - SMOOTH(POINTS, POINTS[:1])[:, 0]).max() < 0.15
    function = released(ExactKernel(SMOOTH, 2))
    assert np.ptp([function(POINTS) for _ in range(5)], axis=0).max() == 0


@pytest.mark.parametrize("space", [SPACES[0], SPACES[2]], ids=names)
def test_empirical_renyi_divergence_is_that_of_the_guarantee(space: Space) -> None:
    """Worst-case neighbours: one record or none. The best linear test sees exactly the shift κ/scale."""
    scale, order = 1.5, 2.0
    points = np.array([[0.5, 0.5]])
    height = kernel_of(space, points, points)[0, 0]
    shift = math.sqrt(height) / scale
    stated = GaussianProcess(space, scale).guarantee().renyi(order)
    assert order * shift**2 / 2 <= stated
    assert order * shift**2 / 2 == pytest.approx(stated, rel=1e-6)
    draws = 400
    one = np.array([released(space, scale, seed)(points)[0] for seed in range(draws)])
    # with P one record and Q none, log dP/dQ is linear in the value at the record's place
    loss = (one * height - height**2 / 2) / (scale**2 * height)
    estimate = np.log(np.mean(np.exp((order - 1) * loss))) / (order - 1)
    assert estimate == pytest.approx(stated, abs=0.15)


@pytest.mark.parametrize("space", SPACES, ids=names)
def test_guarantee_is_the_gaussian_one(space: Space) -> None:
    data = {"x": np.array([0.5]), "y": np.array([0.5])}
    function = GaussianProcess(space, 4.0).of_sum(data, {"x": UNIT, "y": UNIT}, records=10_000)
    for adjacency in Adjacency:
        sensitivity = space.sensitivity(adjacency)
        exact = Gaussian(4.0, sensitivity).guarantee(adjacency)
        assert GaussianProcess(space, 4.0).guarantee(adjacency).epsilon(1e-6) == pytest.approx(
            exact.epsilon(1e-6)
        )
        drawn = function.guarantee(adjacency).epsilon(1e-6)
        assert exact.epsilon(1e-6) <= drawn <= exact.epsilon(1e-6) * (1 + 1e-4)
    assert math.isinf(released(space).guarantee().epsilon(1e-6))


def test_replacing_a_record_moves_by_root_two_where_the_kernel_is_not_negative() -> None:
    close = Covariance([[1.0, 0.5], [0.5, 1.0]])
    assert close.sensitivity(Adjacency.REPLACE_ONE) == pytest.approx(math.sqrt(2))
    # rounding of nearly dependent points may turn vectors, so nothing is said of their angle
    assert ExactKernel(SMOOTH, 2).sensitivity(Adjacency.REPLACE_ONE) == pytest.approx(2)
    assert RandomFeatures(SMOOTH, 10, 2).sensitivity(Adjacency.REPLACE_ONE) == pytest.approx(2)


def test_planted_private_n_is_caught() -> None:
    """f_D/n with the private n: neighbours of different size move every coefficient."""
    space = RandomFeatures(SMOOTH, pairs=20, dimension=2)
    rng = np.random.default_rng(0)
    many = rng.random((30, 2)) * 0.05  # all close together
    features = space(many)
    public = features[:-1].sum(axis=0) / 30 - features.sum(axis=0) / 30
    assert np.linalg.norm(public) <= space.sensitivity() / 30 * (1 + 1e-9)
    odd = np.vstack([many[:-1], [[1.0, 1.0]]])
    private = space(odd[:-1]).mean(axis=0) - space(odd).mean(axis=0)
    assert np.linalg.norm(private) > space.sensitivity() / 30 * 1.1


@pytest.mark.parametrize("space", SPACES, ids=names)
def test_saved_functions_read_back_equal(space: Space, tmp_path: Path) -> None:
    function = released(space) / 7
    values, slopes = function(POINTS), function.gradient(POINTS)
    function.save(tmp_path / "f.npz")
    again = PrivateFunction.load(tmp_path / "f.npz")
    assert (again(POINTS) == values).all() and (again.gradient(POINTS) == slopes).all()
    assert again.space == space == Space.from_json(space.to_json())
    assert (again.deviation(POINTS) == function.deviation(POINTS)).all()
    assert again.guarantee(Adjacency.ADD_REMOVE).delta(1.0) == function.guarantee().delta(1.0)


def test_a_path_without_its_data_says_the_conditional_mean() -> None:
    function = released(ExactKernel(SMOOTH, 2))
    function(POINTS)
    assert hasattr(function, "without_data")
    guess = function.without_data()(np.array([[0.52, 0.5]]))
    nodes = SMOOTH(POINTS, POINTS)
    expected = SMOOTH(np.array([[0.52, 0.5]]), POINTS) @ np.linalg.solve(nodes, function(POINTS))
    assert guess == pytest.approx(expected)


def test_integrals_and_maxima() -> None:
    for space in (SPACES[0], SPACES[2]):
        function = released(space, scale=0.01, records=50)
        x = (np.arange(30) + 0.5) / 30
        grid = np.stack(np.meshgrid(x, x, indexing="ij"), axis=-1).reshape(-1, 2)
        total = function.integral([0, 0], [1, 1])
        if isinstance(space, FiniteSpace):
            assert total == pytest.approx(float(function(grid).mean()), rel=2e-3)
            assert function.argmax([0, 0], [1, 1]) == pytest.approx([0.5, 0.5], abs=0.02)
        else:
            truth = 50 * (0.3 * math.sqrt(2 * math.pi) * math.erf(0.5 / 0.3 / math.sqrt(2))) ** 2
            assert total == pytest.approx(truth, rel=1e-2)


def test_duplicates_and_singular_gram_matrices_need_no_jitter() -> None:
    function = released(ExactKernel(GaussianKernel(5.0), 2))  # so smooth that all points tell the same
    points = np.random.default_rng(0).random((60, 2))
    values = function(np.vstack([points, points]))
    assert (values[:60] == values[60:]).all()
    path = function.path  # type: ignore[attr-defined]
    assert len(path.whitening) < 30
    # nearly the same points, nearly the same values: nothing was added to the diagonal
    assert np.abs(function(points + 1e-9) - values[:60]).max() < 1e-3


@settings(max_examples=settings.default.max_examples // 3)
@given(st.integers(0, 2**20), st.sampled_from([0.05, 0.3, 2.0]))
def test_batches_together_are_no_longer_than_the_bound(seed: int, length: float) -> None:
    """Whatever points are asked, however badly conditioned, no record is longer than was accounted; and where
    they are well conditioned nothing is cut."""
    rng = np.random.default_rng(seed)
    whitening = Whitening.empty(GaussianKernel(length), 1)
    maps, ends = [], []
    for _ in range(3):
        points = rng.random((20, 1))
        for asked in (Functionals.values(points), Functionals.gradients(points[:5])):
            whitening, _ = whitening.extended(asked)
            if len(whitening) > (ends or [0])[-1]:
                ends.append(len(whitening))
                maps.append(Coordinates(whitening, tuple(ends), 1.0))
    records = np.vstack([rng.random((50, 1)), whitening.nodes.points[:20]])
    parts = [coordinates(records) for coordinates in maps]
    assert np.linalg.norm(np.concatenate(parts, axis=1), axis=1).max() <= 1 + 1e-12
    if np.linalg.eigvalsh(whitening.factor @ whitening.factor.T)[0] > 1e-6:
        uncut = whitening.rows(Functionals.values(records))
        assert np.concatenate(parts, axis=1) == pytest.approx(uncut, abs=1e-5)


def test_rounding_may_turn_records_but_not_further_than_is_accounted() -> None:
    """Nearly dependent points: two records are further apart than √2, which the kernel does not allow."""
    rng = np.random.default_rng(213)
    whitening, maps, ends = Whitening.empty(GaussianKernel(0.05), 1), [], []
    for _ in range(3):
        points = rng.random((20, 1))
        for asked in (Functionals.values(points), Functionals.gradients(points[:5])):
            whitening, _ = whitening.extended(asked)
            ends.append(len(whitening))
            maps.append(Coordinates(whitening, tuple(ends), 1.0))
    rows = np.concatenate([each(np.linspace(0, 1, 300)[:, None]) for each in maps], axis=1)
    apart = np.linalg.norm(rows[:, None] - rows, axis=2).max()
    function = one_column()
    assert apart < function.mechanism.replaced
    assert function.mechanism.replaced >= 2


def one_column() -> PrivateFunction:
    process = GaussianProcess(ExactKernel(GaussianKernel(0.05), 1), 1.0)
    return process.of_sum({"age": np.array([0.2, 0.4])}, {"age": UNIT})


def fresh(function: PrivateFunction) -> PrivateFunction:
    return pickle.loads(pickle.dumps(function))


def test_copies_share_the_path_and_pickles_leave_the_data_behind() -> None:
    """Noise that were drawn again for the same point could be averaged away."""
    function = one_column()
    known = function([0.2])
    for point, copied in ((0.3, copy.copy(function)), (0.5, copy.deepcopy(function)), (0.8, 1.0 * function)):
        assert copied([point]) == function([point])
    far = fresh(function)
    assert far.curator is None  # type: ignore[attr-defined]
    assert far([0.2]) == known
    assert far([0.9]) == fresh(function)([0.9])  # a guess, not a new draw
    assert b"age" not in pickle.dumps(function)


def test_a_path_is_extended_from_the_records_it_began_with() -> None:
    ages = np.array([0.2, 0.4])
    process = GaussianProcess(ExactKernel(GaussianKernel(0.05), 1), 1e-9)
    function = process.of_sum({"age": ages}, {"age": UNIT})
    assert function([0.2]) == pytest.approx([1], abs=1e-3)
    ages[:] = 0.9
    assert function([0.4, 0.9]) == pytest.approx([1, 0], abs=1e-3)


def test_threads_extend_one_path() -> None:
    function = one_column()
    start, found = Barrier(8), []

    def ask() -> None:
        start.wait()
        found.append(function(np.linspace(0, 1, 50)))

    threads = [Thread(target=ask) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 8
    assert all((values == found[0]).all() for values in found)


def test_a_forked_process_cannot_draw_again() -> None:
    function = one_column()
    curator = replace(function.curator, process=function.curator.process + 1)  # type: ignore[attr-defined]
    elsewhere = replace(function, curator=curator)  # type: ignore[call-arg]
    with pytest.raises(ArgumentError, match="forked"):
        elsewhere([0.3])


@pytest.mark.parametrize("unit", [UserRecords("who", 1), UserTotals("who", Norm.L2, 2.0)])
def test_features_that_wobble_are_refused_where_users_are_cut(unit: Unit) -> None:
    """A record's last bits depend on its neighbours, and which records of a user are chosen on these bits:
    with one user fewer, another record of someone else was chosen, and the sum moved by 1.57 and not 1."""
    many = {f"x{place}": UNIT for place in range(64)}
    space = RandomFeatures(GaussianKernel(2.0), pairs=20, dimension=64)
    for query in (FeatureSum, ProductSum):
        with pytest.raises(ArgumentError, match="other users"):
            query(many, space, unit=unit, records=1000)
    FeatureSum({"x": UNIT}, RandomFeatures(SMOOTH, 20, 1), unit=unit, records=1000)


def test_fourier_features_of_a_point_do_not_depend_on_others() -> None:
    basis = FourierBasis(GaussianKernel(0.3), (0, 0, 0), (1, 1, 1))
    points = np.random.default_rng(0).random((101, 4))[:, :3]
    all_at_once = basis(points)
    assert (np.concatenate([basis(points[place : place + 1]) for place in range(101)]) == all_at_once).all()
    assert (basis(np.asfortranarray(points)) == all_at_once).all()


def test_vector_with_correlated_noise() -> None:
    sigma = np.array([[1.0, 0.8, 0.0], [0.8, 1.0, 0.3], [0.0, 0.3, 2.0]])
    space = Covariance(sigma)
    move = np.array([1.0, 2.0, -1.0])
    distance = math.sqrt(move @ np.linalg.solve(sigma, move))
    assert np.linalg.norm(space.coefficients_of(move)) == pytest.approx(distance)
    process = GaussianProcess(space, scale=3, sensitivity=distance)
    assert process.guarantee().renyi(5) == pytest.approx(5 * distance**2 / (2 * 9))
    draws = [
        process.release(space.coefficients_of(np.zeros(3)), source=NotPrivateSource(seed))([0, 1, 2])
        for seed in range(1500)
    ]
    assert np.cov(np.array(draws).T) == pytest.approx(9 * sigma, abs=2.0)
    with pytest.raises(ArgumentError, match="regular"):
        Covariance([[1.0, 1.0], [1.0, 1.0]])


def test_categories_and_numbers_together() -> None:
    kernel = GaussianKernel(0.2).on(0) * DeltaKernel(3).on(1)
    data = {"age": np.array([0.2, 0.4, 0.9]), "town": np.array(["a", "b", "a"])}
    axes = {"age": UNIT, "town": Categories(["a", "b", "c"])}
    exact = GaussianProcess(ExactKernel(kernel, 2), 1e-9).of_sum(data, axes)
    assert exact([[0.4, 1], [0.4, 2]]) == pytest.approx([1, 0], abs=1e-6)
    features = GaussianProcess(RandomFeatures(kernel, 3000, 2), 1e-9).of_sum(data, axes)
    assert features([[0.4, 1], [0.4, 2]]) == pytest.approx([1, 0], abs=0.15)


def test_units_and_engines(tmp_path: Path) -> None:
    import duckdb

    from indistinct.data import read_parquet

    rng = np.random.default_rng(0)
    data = {"x": rng.random(3000), "who": np.arange(3000) // 3}
    path = tmp_path / "points.parquet"
    frame = {"x": data["x"], "who": data["who"]}
    import pyarrow as pa
    import pyarrow.parquet as pq

    pq.write_table(pa.table(frame), path)
    space = RandomFeatures(SMOOTH, pairs=30, dimension=1)
    process = GaussianProcess(space, 2.0)
    here = process.of_sum(data, {"x": UNIT}, source=NotPrivateSource(5))
    there = process.of_sum(read_parquet(path), {"x": UNIT}, source=NotPrivateSource(5))
    assert (here.coefficients == there.coefficients).all()  # type: ignore[attr-defined]
    users = process.of_sum(data, {"x": UNIT}, unit=UserRecords("who", 2))
    assert users.guarantee().epsilon(1e-6) == pytest.approx(Gaussian(2.0, 2.0).guarantee().epsilon(1e-6))
    assert duckdb.__version__
    with pytest.raises(ArgumentError, match="unit"):
        GaussianProcess(ExactKernel(SMOOTH, 1), 2.0).of_sum(data, {"x": UNIT}, unit=UserRecords("who", 2))


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        (lambda: RandomFeatures(PolynomialKernel(2, 1.0), 10, 1), "bounded"),
        (lambda: ExactKernel(PolynomialKernel(2, 1.0), 1), "bounded"),
        (lambda: RandomFeatures(SMOOTH, 0, 1), "pairs"),
        (lambda: GaussianProcess(ExactKernel(SMOOTH, 1), 0.0), "scale"),
        (lambda: GaussianProcess(SMOOTH, 1.0), "space"),  # type: ignore[arg-type]
        (lambda: released(SPACES[0])([[0.1, 0.2, 0.3]]), "points"),
        (lambda: released(SPACES[0])([[0.1, math.nan]]), "points"),
        (lambda: released(SPACES[2])([[0.1, math.inf]]), "points"),
        (lambda: released(SPACES[0]).integral([0, 0], [1, 0]), "high"),
        (lambda: GaussianProcess(ExactKernel(SMOOTH, 1), 1.0).release([1.0]), "space"),
        (lambda: GaussianProcess(SPACES[0], 1.0, 2.0).of_sum({}, {}), "sensitivity"),
        (lambda: released(ExactKernel(LaplaceKernel(1.0), 2)).gradient(POINTS), "kernel"),
        (lambda: Covariance([[1.0, 2.0], [2.0, 1.0]]), "matrix"),
        (lambda: PrivateFunction.load(__file__), "test_functions.py: it is not a whole"),
        (lambda: Space.from_json({"space": "os.system"}), "space"),
        (lambda: released(SPACES[0]) / 0, "number"),
    ],
)
def test_bad_input_is_named(wrong: object, words: str) -> None:
    with pytest.raises(ArgumentError, match=words):
        wrong()  # type: ignore[operator]


LINES = [RandomFeatures(SMOOTH, 5, 1), ExactKernel(SMOOTH, 1)]


@pytest.mark.parametrize("space", LINES, ids=["random", "exact"])
def test_bad_data_are_refused_before_anything_is_drawn(space: Space) -> None:
    process = GaussianProcess(space, 1.0)

    def ask(data: object, axes: dict[str, Numbers]) -> object:
        return process.of_sum(data, axes)([0.5])

    with pytest.raises(DataError, match="unknown column"):
        ask({"x": np.zeros(3)}, {"z": UNIT})
    with pytest.raises(DataError, match="missing"):
        ask({"x": np.array([0.1, math.nan])}, {"x": Numbers(0, 1, missing=Missing.ERROR)})
    with pytest.raises(ArgumentError, match="axes"):
        ask({"x": np.zeros(3), "y": np.zeros(3)}, {"x": UNIT, "y": UNIT})


def test_features_that_break_their_bound_are_cut() -> None:
    from indistinct.data import FeatureMap, FeatureSum, Norm

    class Liar(FeatureMap):
        size, dimension, bound, nonnegative = 3, 1, 1.0, False

        def __call__(self, points: np.ndarray) -> np.ndarray:
            return np.repeat(points * 100, 3, axis=1)

    query = FeatureSum({"x": UNIT}, Liar())
    total = query.statistic({"x": np.array([0.9])})
    assert np.linalg.norm(total.values) <= query.sensitivity(Norm.L2)
    assert query.sensitivity(Norm.L2) == pytest.approx(1, abs=1e-6)


def test_wobble_is_counted_or_refused() -> None:
    from indistinct.data import FeatureSum, Norm

    many = RandomFeatures(GaussianKernel(3.0), pairs=50, dimension=40)
    axes = {f"p{i}": UNIT for i in range(40)}
    few = FeatureSum(axes, many, records=1000).sensitivity(Norm.L2)
    assert 1 < few < 1 + 1e-6
    assert few < FeatureSum(axes, many, records=1_000_000).sensitivity(Norm.L2) < 1.01
    with pytest.raises(ArgumentError, match="records"):
        FeatureSum(axes, many, records=2**40)
    assert 1 + 0.9e-4 < FeatureSum(axes, many).sensitivity(Norm.L2) < 1 + 1.1e-4  # unless told, this little
    data = {name: np.full(1001, 0.5) for name in axes}
    with pytest.raises(DataError, match="more than 1000"):
        FeatureSum(axes, many, records=1000).statistic(data)
