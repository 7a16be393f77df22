"""Private functions in scikit-learn's conventions: how far a record moves them, what they promise, how good
they are, and that mistakes are found."""

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("sklearn")

from sklearn.datasets import load_diabetes, load_digits, load_iris, make_moons
from sklearn.utils.estimator_checks import parametrize_with_checks

from indistinct import Adjacency, Budget, Gaussian
from indistinct.data import Categories, FeatureSum, Norm, Numbers, ProductSum, table
from indistinct.errors import ArgumentError, DataError
from indistinct.functions import (
    ConstantKernel,
    GaussianKernel,
    LinearSpace,
    PrivateFunction,
    RandomFeatures,
)
from indistinct.functions.estimators import (
    HuberisedHingeLoss,
    HuberLoss,
    LogisticLoss,
    Loss,
    PrivateKernelClassifier,
    PrivateKernelMean,
    PrivateKernelRidge,
    SquaredLoss,
)
from indistinct.functions.estimators import risk as risks
from indistinct.functions.estimators.classifier import _squares
from indistinct.functions.estimators.risk import Against, Between, CachedPasses, Losses, Risk, Slopes
from indistinct.functions.mechanism import noise_multiplier
from indistinct.functions.space import FiniteSpace
from indistinct.noise import NotPrivateSource

Array = Any
HINGES = [HuberisedHingeLoss(), HuberisedHingeLoss(0.3)]
LOSSES = [LogisticLoss(), *HINGES, HuberLoss(), HuberLoss(3), SquaredLoss()]
BOTH = tuple(Adjacency)


@dataclass(frozen=True)
class Plain(FiniteSpace):
    """φ(x) = x for points of the ball: features of any length up to `bound`, to reach what is proven."""

    dimension: int
    bound: float = 1.0
    nonnegative = False

    @property
    def size(self) -> int:  # type: ignore[override]
        return self.dimension

    def __call__(self, points: Array) -> Array:
        return points

    def gradients(self, points: Array) -> Array:
        raise NotImplementedError

    def integrals(self, low: Array, high: Array) -> Array:
        raise NotImplementedError

    def to_json(self, *, brief: bool = False) -> dict[str, Any]:
        raise NotImplementedError


def risk_of(loss: Loss, n: int, dimension: int = 3, regularization: float = 0.05, **space: Any) -> Risk:
    target: Between | Against = Against(1) if loss.signs else Between(-1.0, 1.0)
    domain = Categories([0, 1]) if loss.signs else Numbers(-1, 1)
    axes = (*((f"x{i}", Numbers(-1, 1)) for i in range(dimension)), ("target", domain))
    return Risk(CachedPasses(Plain(dimension, **space)), loss, target, regularization, n, axes)


def fitted(risk: Risk, points: Array, targets: Array) -> Array:
    """The minimiser; targets are numbers in [-1, 1], or signs."""
    if not len(points):
        return np.zeros(risk.space.size)
    columns = {f"x{i}": column for i, column in enumerate(np.asarray(points, dtype=float).T)}
    targets = (np.asarray(targets) > 0).astype(int) if risk.loss.signs else np.asarray(targets, dtype=float)
    return risk.minimiser(table({**columns, "target": targets}))


def in_ball(draw: np.random.Generator, rows: int, dimension: int) -> Array:
    points = draw.normal(size=(rows, dimension))
    lengths = np.where(draw.random(rows) < 0.5, 1.0, draw.random(rows))
    return points / np.linalg.norm(points, axis=1)[:, None] * lengths[:, None] * (1 - 1e-15)


# Losses


@pytest.mark.parametrize("loss", LOSSES, ids=repr)
@pytest.mark.parametrize("reach", [0.5, 2.0, 30.0])
def test_slopes_curvatures_and_heights_are_as_stated(loss: Loss, reach: float) -> None:
    draw = np.random.default_rng(1)
    targets = np.sign(draw.normal(size=4000)) if loss.signs else draw.uniform(-1, 1, 4000)
    targets[:2] = (-1, 1)
    scores = draw.uniform(-reach, reach, 4000)
    scores[:2] = (reach, -reach)
    slopes, small = loss.slope(targets, scores), 1e-6
    rises = (loss.value(targets, scores + small) - loss.value(targets, scores - small)) / (2 * small)
    np.testing.assert_allclose(slopes, rises, atol=1e-5 * (1 + reach))
    assert 0.99 * loss.steepest(reach) <= np.abs(slopes).max() <= loss.steepest(reach)
    assert 0.99 * loss.highest(reach) <= loss.value(targets, scores).max() <= loss.highest(reach)
    bends = np.diff(loss.slope(1.0, np.linspace(-reach, reach, 5000))) / (2 * reach / 4999)  # type: ignore[arg-type]
    assert -1e-9 <= bends.min() and bends.max() <= loss.bend * (1 + 1e-6)
    curvatures = loss.curvature(targets, scores)
    assert (curvatures >= 0).all() and (curvatures <= loss.bend).all()
    assert (loss.value(targets, scores) >= 0).all()  # else choosing a kernel would not be monotonic


# How far one record moves a minimiser


@pytest.mark.parametrize("loss", LOSSES, ids=repr)
def test_no_record_moves_the_minimiser_further_than_is_proven(loss: Loss) -> None:
    draw = np.random.default_rng(2)
    largest = 0.0
    for trial in range(40):
        n, regularization = int(draw.integers(1, 9)), float(10 ** draw.uniform(-3, 1))
        risk = risk_of(loss, n, regularization=regularization)
        points, targets = in_ball(draw, n + 1, 3), np.sign(draw.normal(size=n + 1))
        if trial % 2:  # a lonely record against the rest
            points[1:], targets[1:], targets[0] = points[1] * draw.random((n, 1)), -1.0, 1.0
        without, one, other = (
            fitted(risk, points[rows], targets[rows]) for rows in (slice(1, n), slice(0, n), slice(1, n + 1))
        )
        assert np.linalg.norm(one) <= risk.radius
        moved = np.linalg.norm(one - without) / risk.sensitivity(Adjacency.ADD_REMOVE)
        replaced = np.linalg.norm(one - other) / risk.sensitivity(Adjacency.REPLACE_ONE)
        assert moved <= 1 and replaced <= 1
        largest = max(largest, moved)
    assert largest > 0.3


@pytest.mark.parametrize("loss", [HuberisedHingeLoss(), HuberLoss()], ids=repr)
def test_the_proven_distance_is_reached(loss: Loss) -> None:
    points, targets = [[-1.0, 0.0], [1.0, 0.0]], [1.0, 1.0]
    risk = risk_of(loss, 50, dimension=2, regularization=0.5)
    alone = np.linalg.norm(fitted(risk, points[:1], targets[:1]))
    assert 0.95 < alone / risk.sensitivity(Adjacency.ADD_REMOVE) <= 1
    if loss == HuberLoss():  # straight from the start: x and -x pull to opposite sides
        apart = np.linalg.norm(fitted(risk, points[:1], [1.0]) - fitted(risk, points[1:], [1.0]))
        assert 0.95 < apart / risk.sensitivity(Adjacency.REPLACE_ONE) <= 1


@pytest.mark.parametrize("regularization", [1.0, 0.1, 0.01])
def test_the_proven_distance_of_ridge_regression_is_nearly_reached(regularization: float) -> None:
    n, loss = 20_000, SquaredLoss()
    risk = risk_of(loss, n, dimension=1, regularization=regularization)
    best = 0.0
    for curvature in regularization * np.array([1e-9, 0.03, 0.1, 1 / 3, 1.0]):
        short = np.full((n - 1, 1), min(math.sqrt(curvature), 1.0))
        before = fitted(risk, short, -np.ones(n - 1))
        after = fitted(risk, np.vstack([short, [[1.0]]]), np.append(-np.ones(n - 1), 1.0))
        best = max(best, float(np.linalg.norm(after - before)))
    assert 0.95 < best / risk.sensitivity(Adjacency.ADD_REMOVE) <= 1
    ratio = 1 / math.sqrt(regularization)  # by the slope at the longest minimiser
    assert loss.moved(1.0, regularization) < (1 + ratio / 2) / regularization


def test_ridge_bound_is_the_maximum_of_its_formula() -> None:
    shares = np.linspace(0, 1, 200_001)
    for ratio in 10.0 ** np.arange(-3, 4):
        most = (shares * (1 + ratio * np.sqrt(shares * (1 - shares)))).max()
        assert 0 <= SquaredLoss().moved(ratio, 1.0) / ratio - most < 1e-6 * most


def test_planted_private_number_of_records_is_caught() -> None:
    """Divided by its own number of records instead of a public one, the minimiser moves too far."""
    loss, n = HuberLoss(), 10
    points, targets = np.ones((n, 1)), np.append(np.ones(n - 1), -1.0)
    honest = risk_of(loss, n, dimension=1, regularization=5.0)
    mistaken = risk_of(loss, n - 1, dimension=1, regularization=5.0)  # what the neighbour would divide by
    before, after = fitted(honest, points[:-1], targets[:-1]), fitted(honest, points, targets)
    assert np.linalg.norm(after - before) <= honest.sensitivity(Adjacency.ADD_REMOVE)
    before = fitted(mistaken, points[:-1], targets[:-1])
    assert np.linalg.norm(after - before) > 1.5 * honest.sensitivity(Adjacency.ADD_REMOVE)


def test_planted_unfinished_search_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(risks, "_PASSES", 1)
    with pytest.raises(ArithmeticError, match="not found"):
        fitted(risk_of(LogisticLoss(), 5), in_ball(np.random.default_rng(0), 5, 3), np.ones(5))


@pytest.mark.parametrize("loss", LOSSES, ids=repr)
def test_errors_of_computed_gradients_are_below_what_is_charged(loss: Loss) -> None:
    draw, n = np.random.default_rng(3), 200
    risk = risk_of(loss, n, dimension=20, regularization=0.01)
    points, targets = in_ball(draw, n, 20), np.sign(draw.normal(size=n))
    codes = targets if not loss.signs else (targets > 0) * 1
    data = table({**{f"x{i}": points[:, i] for i in range(20)}, "target": codes})
    place = draw.normal(size=20)
    place *= 1.9 * risk.radius / np.linalg.norm(place)
    exact = points.astype(np.longdouble)
    slopes = loss.slope(targets.astype(np.longdouble), exact @ place.astype(np.longdouble))
    gradient = (slopes[:, None] * exact).sum(axis=0) / n + np.longdouble(risk.regularization) * place
    error = float(np.linalg.norm((risk.gradient(data, place) - gradient).astype(float)))
    assert error <= risk._rounding
    assert risk.charged < 1e-5 * risk.sensitivity(Adjacency.ADD_REMOVE)
    bounded = risk._sum(Slopes(risk, place)).sensitivity(Norm.L2)
    assert bounded <= loss.steepest(risk.reach) * 1.001
    assert risk._sum(Losses(risk, place)).sensitivity(Norm.L2) <= loss.highest(risk.reach) * 1.001


@pytest.mark.parametrize("loss", LOSSES, ids=repr)
def test_least_objectives_move_by_a_record_s_loss_at_most(loss: Loss) -> None:
    draw = np.random.default_rng(4)
    for _ in range(10):
        n, regularization = int(draw.integers(2, 9)), float(10 ** draw.uniform(-2, 1))
        risk = risk_of(loss, n, regularization=regularization)
        points, targets = in_ball(draw, n, 3), np.sign(draw.normal(size=n))
        totals = []
        for rows in (slice(1, n), slice(0, n)):
            codes = targets[rows] if not loss.signs else (targets[rows] > 0) * 1
            data = table({**{f"x{i}": points[rows, i] for i in range(3)}, "target": codes})
            totals.append(risk.total(data, risk.minimiser(data)))
        assert -1e-9 <= totals[1] - totals[0] <= risk.highest


# Sums of products


def test_products_add_up_exactly_and_within_their_reach() -> None:
    draw, n = np.random.default_rng(5), 5000
    data = {"a": draw.random(n), "b": draw.random(n)}
    space = RandomFeatures(GaussianKernel(0.3) + ConstantKernel(), pairs=8, dimension=2)
    axes = {"a": Numbers(0, 1), "b": Numbers(0, 1)}
    query = ProductSum(axes, space, records=n)
    totals = query.statistic(data)
    features = space(np.stack([data["a"], data["b"]], axis=1))
    np.testing.assert_allclose(query.read(totals.values), features.T @ features, atol=1e-5 * n)
    parts = [
        query.statistic({name: column[part] for name, column in data.items()})
        for part in (slice(1), slice(1, n))
    ]
    assert (parts[0].units + parts[1].units == totals.units).all()
    moved = float(np.linalg.norm(parts[0].values))
    assert moved <= query.sensitivity(Norm.L2) < query.sensitivity(Norm.L2, Adjacency.REPLACE_ONE)
    assert query.sensitivity(Norm.L2) < space.bound**2 * 1.001
    one_by_one = ProductSum(axes, space, records=n).bounded.encoding
    assert one_by_one.reach.radius(Norm.L2) * query.step == pytest.approx(query.sensitivity(Norm.L2))


# Guarantees


def moons(n: int = 400) -> tuple[Array, Array]:
    return make_moons(n, noise=0.2, random_state=0)


MOONS = {"box": [(-1.5, 2.5), (-1, 1.5)], "pairs": 50}


def estimators(adjacency: Adjacency | str, **how: Any) -> list[Any]:
    """One of each, fitted."""
    points, labels = moons(200)
    many = np.arange(200) % 3
    shared = {"adjacency": adjacency, "records": 200, **MOONS, "pairs": 10, **how}
    counted = {**shared, "records": None}
    return [
        PrivateKernelMean(**shared).fit(points),
        PrivateKernelMean(**counted).fit(points),
        PrivateKernelRidge(targets=(0, 1), **shared).fit(points, labels),
        PrivateKernelRidge(targets=(0, 1), loss=SquaredLoss(), **shared).fit(points, labels),
        PrivateKernelClassifier(classes=[0, 1], **shared).fit(points, labels),
        PrivateKernelClassifier(classes=[0, 1, 2], **shared).fit(points, many),
    ]


@pytest.mark.parametrize("adjacency", BOTH)
def test_the_guarantee_is_that_of_a_gaussian(adjacency: Adjacency) -> None:
    expected = Gaussian(2.0).guarantee(adjacency)
    for model in estimators(adjacency, budget=Budget(mu=0.5)):
        known = model.guarantee()
        assert known.adjacency is adjacency
        for delta in (1e-3, 1e-9):
            assert known.epsilon(delta) == pytest.approx(expected.epsilon(delta), rel=1e-5)
        assert known.renyi(3) == pytest.approx(expected.renyi(3), rel=1e-5)


@pytest.mark.parametrize("adjacency", [one.value for one in BOTH])
def test_the_target_is_met_and_not_by_far(adjacency: str) -> None:
    for model in estimators(adjacency, budget=Budget(epsilon=0.7, delta=1e-6)):
        assert 0.699 < model.guarantee().epsilon(1e-6) <= 0.7


def test_a_function_knows_both_adjacencies() -> None:
    points, labels = moons(200)
    declared = {"budget": Budget(mu=0.5), "targets": (0, 1), **MOONS, "pairs": 10}
    model = PrivateKernelRidge(records=200, **declared).fit(points, labels)
    replaced = model.function_.guarantee(Adjacency.REPLACE_ONE)
    assert replaced.epsilon(1e-6) == pytest.approx(Gaussian(1.0).guarantee().epsilon(1e-6), rel=1e-3)
    own = PrivateKernelRidge(adjacency=Adjacency.REPLACE_ONE, **declared).fit(points, labels)
    # it was divided by the number of records, which add/remove hides
    assert own.function_.guarantee(Adjacency.ADD_REMOVE).epsilon(0.1) == math.inf


def test_without_a_public_number_there_is_no_guarantee_if_records_come_or_go(tmp_path: Path) -> None:
    points = np.random.default_rng(3).random((300, 1))
    declared: dict[str, Any] = {"budget": Budget(epsilon=1, delta=1e-6), "box": (0, 1), "pairs": 20}
    declared["adjacency"] = Adjacency.REPLACE_ONE
    ridge = PrivateKernelRidge(targets=(0, 1), **declared).fit(points, points[:, 0])
    for function in (ridge.function_, PrivateKernelMean(**declared).fit(points).function_):
        function.save(tmp_path / "function.npz")
        for each in (function, PrivateFunction.load(tmp_path / "function.npz")):
            assert each.guarantee(Adjacency.ADD_REMOVE).epsilon(1e-3) == math.inf
            assert each.guarantee(Adjacency.REPLACE_ONE).epsilon(1e-6) <= 1


def test_noise_from_a_seed_promises_nothing() -> None:
    for model in estimators(Adjacency.ADD_REMOVE, budget=Budget(mu=0.5), source=NotPrivateSource(1)):
        assert model.guarantee().epsilon(1e-3) == math.inf


def test_noise_has_the_stated_deviation() -> None:
    points, labels = moons(200)
    declared = {"budget": Budget(mu=0.5), "targets": (0, 1), "records": 200, "regularization": 0.1}
    declared = {**declared, **MOONS, "pairs": 500}  # 1000 coefficients: 0.15 is 6.7 deviations
    one, other = (PrivateKernelRidge(**declared).fit(points, labels).function_ for _ in range(2))
    gap = (one.coefficients - other.coefficients) / (math.sqrt(2) * one.mechanism.scale)
    assert 0.85 < gap.std() < 1.15
    assert one.mechanism.scale == pytest.approx(2 * 0.1 / (0.1 * 200), rel=1e-3)  # slope 0.1, κ = 1


def test_a_kernel_is_chosen_within_the_budget() -> None:
    draw = np.random.default_rng(6)
    points = draw.random((4000, 1))
    targets = np.sin(20 * points[:, 0])
    candidates = [GaussianKernel(100.0), GaussianKernel(0.1), GaussianKernel(0.001)]
    declared = {"box": (0, 1), "targets": (-1, 1), "records": 4000, "candidates": candidates, "pairs": 30}
    for adjacency in BOTH:
        model = PrivateKernelRidge(Budget(epsilon=2, delta=1e-6), choice=0.3, adjacency=adjacency, **declared)
        model.fit(points, targets)
        assert model.space_.kernel == candidates[1]
        assert model.guarantee().epsilon(1e-6) <= 2
        # the function tells which kernel was chosen: kept by itself it costs no less
        for delta in (1e-9, 1e-6, 1e-3, 0.1):
            alone = model.function_.guarantee(adjacency).epsilon(delta)
            assert model.guarantee().epsilon(delta) <= alone * (1 + 1e-9)
    with pytest.raises(ArgumentError, match="candidates"):
        PrivateKernelRidge(Budget(mu=1), **declared).fit(points, targets)
    with pytest.raises(ArgumentError, match="choice"):
        PrivateKernelRidge(Budget(epsilon=1, delta=1e-6), choice=1.0, **declared).fit(points, targets)


# Class sums


@pytest.mark.parametrize("adjacency", BOTH)
def test_one_record_moves_all_class_sums_by_the_sensitivity_at_most(adjacency: Adjacency) -> None:
    """Random neighbours; replacing a record may change its class. Sums of each class
    against the rest, of which a record moves all, are seen to move further."""
    draw = np.random.default_rng(3)
    space = RandomFeatures(GaussianKernel(0.3), pairs=20, dimension=2)
    box = {"a": Numbers(0, 1), "b": Numbers(0, 1)}
    query = FeatureSum(box, space, block=("target", Categories(range(5))), records=50)

    def sums(points: Array, places: Array) -> Array:
        columns = {"a": points[:, 0], "b": points[:, 1], "target": places}
        return np.asarray(query.statistic(columns).values, dtype=np.float64)

    furthest, planted = 0.0, 0.0
    for _ in range(40):
        points, places = draw.random((12, 2)), draw.integers(0, 5, 12)
        whole = sums(points, places)
        if adjacency is Adjacency.ADD_REMOVE:
            other = sums(points[1:], places[1:])
        else:
            points[0], places[0] = draw.random(2), draw.integers(0, 5)
            other = sums(points, places)
        furthest = max(furthest, float(np.linalg.norm(whole - other)))
        signs = 2 * np.eye(5) - 1
        against = np.tensordot(signs, (whole - other).reshape(5, -1), (1, 0))
        planted = max(planted, float(np.linalg.norm(against)))
    bound = query.sensitivity(Norm.L2, adjacency)
    assert furthest <= bound < planted
    assert adjacency is Adjacency.REPLACE_ONE or furthest > 0.999 * bound


def test_class_sums_cost_the_same_for_any_number_of_classes() -> None:
    points, labels = load_digits(return_X_y=True)
    declared = {"box": (0, 16), "classes": range(10), "records": len(points), "source": NotPrivateSource(1)}
    model = PrivateKernelClassifier(Budget(epsilon=1, delta=1e-5), **declared).fit(points, labels)
    assert len(model.functions_) == 10 and model.score(points, labels) > 0.8  # 0.60 one against the rest
    noise = model.functions_[0].mechanism
    assert noise.scale / noise.added == pytest.approx(noise_multiplier(model.budget, Adjacency.ADD_REMOVE))
    chances = model.predict_proba(points[:50])
    assert chances.sum(axis=1) == pytest.approx(1) and (chances > 0).all()
    assert (model.classes_[chances.argmax(axis=1)] == model.predict(points[:50])).all()
    model.offsets_ = np.zeros(10)  # means as short as their noise
    scores = model.sharpness_ * model.decision_function(points[:5])
    assert np.diff(np.log(model.predict_proba(points[:5]))) == pytest.approx(np.diff(scores))
    machine = PrivateKernelClassifier(Budget(epsilon=1, delta=1e-5), loss=LogisticLoss(), **declared)
    assert len(machine.fit(points, labels).functions_) == 10
    assert machine.functions_[0].mechanism.scale / machine.functions_[0].mechanism.added > 3 * (
        noise.scale / noise.added
    )
    assert machine.predict_proba(points[:9]).sum(axis=1) == pytest.approx(1)


# Accuracy


def test_two_moons() -> None:
    points, labels = moons(4000)
    declared = {"classes": [0, 1], "records": 2000, "source": NotPrivateSource(1), **MOONS}
    model = PrivateKernelClassifier(Budget(epsilon=1.0, delta=1e-6), **declared)
    assert model.fit(points[::2], labels[::2]).score(points[1::2], labels[1::2]) > 0.83
    assert model.set_params(loss=LogisticLoss()).fit(points[::2], labels[::2]).score(points, labels) > 0.8


def test_iris() -> None:
    points, labels = load_iris(return_X_y=True)
    box = [(4, 8), (2, 4.5), (1, 7), (0, 2.5)]
    declared = {"box": box, "classes": [0, 1, 2], "records": 150, "pairs": 50}
    model = PrivateKernelClassifier(Budget(epsilon=10.0, delta=1e-5), source=NotPrivateSource(1), **declared)
    assert model.fit(points, labels).score(points, labels) > 0.8


def test_diabetes() -> None:
    points, targets = load_diabetes(return_X_y=True)
    declared = {"box": (-0.12, 0.12), "targets": (0, 350), "records": 442, "pairs": 50}
    model = PrivateKernelRidge(Budget(epsilon=10.0, delta=1e-5), source=NotPrivateSource(1), **declared)
    assert model.fit(points, targets).score(points, targets) > 0.2


def test_without_noise_ridge_regression_is_ridge_regression() -> None:
    from sklearn.linear_model import Ridge

    points, targets = moons(200)
    declared = {"budget": Budget(mu=1 / 1e-6), "targets": (-1, 1), "records": 250, **MOONS, "pairs": 20}
    model = PrivateKernelRidge(loss=SquaredLoss(), regularization=0.02, **declared).fit(points, targets)
    features = model.space_(np.clip(points, (-1.5, -1), (2.5, 1.5)))
    peer = Ridge(alpha=0.02 * 250, fit_intercept=False).fit(features, targets)
    np.testing.assert_allclose(model.function_.coefficients, peer.coef_, atol=1e-4)


# Two samples


def test_two_samples_of_one_law_and_of_two() -> None:
    draw = np.random.default_rng(7)
    shared = {"budget": Budget(mu=1 / 3), "box": (-3, 3), "pairs": 40, "source": NotPrivateSource(7)}
    careful, sharper, distances = [], [], []
    for _ in range(60):
        one = PrivateKernelMean(records=400, **shared).fit(draw.normal(size=(400, 2)))
        other = PrivateKernelMean(**shared).fit(draw.normal(size=(700, 2)))
        test = one.mmd_test(other)
        careful.append(test.pvalue)
        sharper.append(test.approximate_pvalue)
        distances.append(one.squared_mmd(other))
    assert np.mean(np.array(careful) <= 0.1) <= 0.1
    assert np.mean(np.array(sharper) <= 0.2) < 0.4 and np.mean(np.array(sharper) <= 0.5) > 0.25
    assert abs(np.mean(distances)) < 5 * np.std(distances) / math.sqrt(60)
    far = PrivateKernelMean(**shared).fit(1 + draw.normal(size=(700, 2)))
    assert one.mmd_test(far).pvalue < 1e-3 and one.mmd_test(far).approximate_pvalue < 1e-6
    assert one.mmd(far) > 0.3
    assert far.mmd_test(one).statistic == pytest.approx(one.mmd_test(far).statistic)


def test_the_careful_p_value_bounds_the_worst_sampling() -> None:
    """Points at two places as different as can be, and hardly any noise: sampling moves means most."""
    draw = np.random.default_rng(8)
    shared = {"budget": Budget(mu=20), "box": (0, 1), "kernel": GaussianKernel(0.01), "records": 100}
    shared = {**shared, "pairs": 5, "source": NotPrivateSource(8)}
    values = []
    for _ in range(200):
        samples = [draw.integers(0, 2, size=(100, 1)).astype(float) for _ in range(2)]
        one, other = (PrivateKernelMean(**shared).fit(sample) for sample in samples)
        values.append(one.mmd_test(other).pvalue)
    for level in (0.05, 0.2, 0.5):
        assert np.mean(np.array(values) <= level) <= level + 3 * math.sqrt(level / 200)


def test_means_of_different_spaces_are_not_compared() -> None:
    points = np.random.default_rng(9).random((50, 1))
    declared = {"budget": Budget(mu=1), "box": (0, 1), "records": 50, "pairs": 10}
    one = PrivateKernelMean(**declared).fit(points)
    with pytest.raises(ArgumentError, match="same space"):
        one.mmd(PrivateKernelMean(**declared, random_state=1).fit(points))
    with pytest.raises(ArgumentError, match="other"):
        one.mmd(points)


# Bad input

HIGH = GaussianKernel(1.0).scale(1e200)
"""Of which a product has no bound that floats hold."""
RIDGE: dict[str, Any] = {
    "budget": Budget(mu=1),
    "box": (-2, 3),
    "targets": (0, 1),
    "records": 60,
    "pairs": 5,
}


@pytest.mark.parametrize(
    ("change", "name"),
    [
        ({"budget": None}, "budget"),
        ({"budget": 1.0}, "budget"),
        ({"budget": Budget(epsilon=1)}, "delta"),
        ({"box": None}, "box"),
        ({"box": (0, 1, 2)}, "box"),
        ({"box": [(0, 1)]}, "box"),
        ({"box": (1, 1)}, "box"),
        ({"box": (0, math.inf)}, "high"),
        ({"targets": None}, "targets"),
        ({"targets": (1, 1)}, "targets"),
        ({"targets": (0, math.inf)}, "high"),
        ({"records": None}, "records"),
        ({"records": 0}, "records"),
        ({"records": 2**40, "regularization": 1.0}, "records"),
        ({"regularization": 0.0}, "regularization"),
        ({"regularization": -1.0}, "regularization"),
        ({"kernel": HIGH * HIGH}, "bounded"),
        ({"kernel": "rbf"}, "kernel"),
        ({"kernel": RandomFeatures(GaussianKernel(1.0), 5, 3)}, "kernel"),
        ({"candidates": []}, "candidates"),
        ({"candidates": [GaussianKernel(1.0)], "kernel": GaussianKernel(1.0)}, "candidates"),
        ({"loss": LogisticLoss()}, "loss"),
        ({"loss": "squared"}, "loss"),
        ({"adjacency": "both"}, "adjacency"),
        ({"random_state": -1}, "random_state"),
        ({"pairs": 0}, "pairs"),
    ],
    ids=str,
)
def test_bad_parameters_are_refused(change: dict[str, Any], name: str) -> None:
    points, labels = moons(60)
    with pytest.raises(ArgumentError, match=name):
        PrivateKernelRidge(**{**RIDGE, **change}).fit(points, labels)


def test_bad_data_are_refused() -> None:
    points, labels = moons(60)
    broken = points.copy()
    broken[3, 0] = np.nan
    for bad, targets in ((broken, labels), (points[:, 0], labels), (points, labels[:-1])):
        with pytest.raises(ValueError):
            PrivateKernelRidge(**RIDGE).fit(bad, targets)
    with pytest.raises(DataError, match="more than 60 records"):
        PrivateKernelRidge(**RIDGE).fit(*moons(61))
    with pytest.raises(ValueError, match="2 features"):
        PrivateKernelRidge(**RIDGE).fit(points, labels).predict([[1.0]])
    declared = {**RIDGE, "classes": ["a", "b"]}
    del declared["targets"]
    with pytest.raises(DataError, match="declared classes"):
        PrivateKernelClassifier(**declared).fit(points, np.array(["a", "b", "c"] * 20))
    with pytest.raises(ArgumentError, match="classes"):
        PrivateKernelClassifier(**{**declared, "classes": ["a"]}).fit(points, np.array(["a"] * 60))
    with pytest.raises(ArgumentError, match="loss"):
        PrivateKernelClassifier(**declared, loss=HuberLoss()).fit(points, np.array(["a", "b"] * 30))


def test_constant_targets_and_one_class_are_no_trouble() -> None:
    points, _ = moons(60)
    model = PrivateKernelRidge(**{**RIDGE, "budget": Budget(mu=1 / 1e-3), "regularization": 0.01})
    assert np.abs(model.fit(points, np.full(60, 0.5)).predict(points) - 0.5).max() < 0.05
    declared = {**RIDGE, "classes": ["a", "b"], "budget": Budget(mu=1 / 1e-3)}
    del declared["targets"]
    sure = PrivateKernelClassifier(**declared, regularization=0.01).fit(points, np.array(["b"] * 60))
    assert (sure.predict(points) == "b").all()


def test_points_outside_the_box_are_moved_to_its_edge() -> None:
    points, labels = moons(60)
    model = PrivateKernelRidge(**RIDGE).fit(points * 100, labels)
    np.testing.assert_allclose(model.predict([[50.0, -50.0]]), model.predict([[3.0, -2.0]]))


# scikit-learn's own checks


class Declaring(PrivateKernelClassifier):
    """Declares the classes of each of scikit-learn's data sets, which nobody else may read off the data."""

    def fit(self, X: Any, y: Any = None, *, ledger: Any = None) -> "Declaring":
        classes = None if y is None else np.unique(np.asarray(y))
        model = PrivateKernelClassifier(**{**self.get_params(), "classes": classes}).fit(X, y)
        vars(self).update({name: value for name, value in vars(model).items() if name.endswith("_")})
        return self


LITTLE_NOISE = {"budget": Budget(mu=1 / 1e-5), "box": (-5, 5), "pairs": 50, "records": 300}


def expected_failures(model: Any) -> dict[str, str]:
    noisy = "every fit is a release with noise of its own"
    enum = "a default is an Adjacency, and scikit-learn knows plain values only"
    checks = {"check_fit_idempotent": noisy, "check_parameters_default_constructible": enum}
    checks["check_dtype_object"] = "scikit-learn's TypeError shows the value, so it is a DataError"
    return checks | ({"check_supervised_y_2d": noisy} if isinstance(model, PrivateKernelRidge) else {})


@parametrize_with_checks(
    [
        PrivateKernelMean(**LITTLE_NOISE),
        PrivateKernelRidge(**LITTLE_NOISE, targets=(-5, 5), regularization=1e-3, loss=HuberLoss(1.0)),
        Declaring(**LITTLE_NOISE, regularization=1e-2),
    ],
    expected_failed_checks=expected_failures,
    xfail_strict=False,  # two draws of noise may come out close
)
def test_scikit_learn_conventions(estimator: Any, check: Any) -> None:
    check(estimator)


def test_linear_functions_are_what_they_say() -> None:
    """Against the kernel's own formula, differences and a fine sum; no point, outside neither, is longer than
    the bound."""
    space, draw = LinearSpace((0, -2, 5), (1, 2, 9)), np.random.default_rng(5)
    low, high = np.array(space.low), np.array(space.high)
    points = draw.uniform(low - 0.5, high + 0.5, (200, 3))
    z = np.clip(2 * (points - low) / (high - low) - 1, -1, 1)
    assert np.allclose(space(points) @ space(points).T, (1 + z @ z.T / 3) / 2, atol=1e-14)
    assert np.linalg.norm(space(np.stack([low, high])), axis=1).max() == pytest.approx(1, abs=1e-15)
    assert np.linalg.norm(space(points), axis=1).max() <= space.bound
    assert (space(points) @ space(points).T).min() >= 0 and space.nonnegative
    for axis in range(3):
        step = 1e-6 * np.eye(3)[axis]
        slopes = (space(points + step) - space(points - step)) / 2e-6
        edge = (np.abs(points - low) < 1e-5).any(axis=1) | (np.abs(points - high) < 1e-5).any(axis=1)
        assert np.allclose(space.gradients(points)[~edge, :, axis], slopes[~edge], atol=1e-8)
    ends = low - 0.3, high - 0.6
    middles = [a + (b - a) * (np.arange(60) + 0.5) / 60 for a, b in zip(*ends, strict=True)]
    grid = np.stack(np.meshgrid(*middles, indexing="ij"), axis=-1).reshape(-1, 3)
    summed = space(grid).mean(axis=0) * np.prod(ends[1] - ends[0])
    assert np.allclose(space.integrals(*ends), summed, rtol=1e-3, atol=1e-3)
    assert FiniteSpace.from_json(space.to_json()) == space
    with pytest.raises(ArgumentError):
        LinearSpace((0, 1), (1, 1))


def test_linear_estimators_have_coefficients(tmp_path: Path) -> None:
    draw = np.random.default_rng(1)
    X = draw.uniform([0, 10], [1, 20], (4000, 2))
    y = 3 * X[:, 0] - 0.2 * X[:, 1] + 4
    declared = {"box": [(0, 1), (10, 20)], "records": 4000, "kernel": "linear", "source": NotPrivateSource(1)}
    wide = PrivateKernelRidge(Budget(epsilon=8, delta=1e-6), targets=(-2, 7), **declared).fit(X, y)
    assert wide.coef_.shape == (2,) and isinstance(wide.intercept_, float)
    assert np.allclose(wide.predict(X), X @ wide.coef_ + wide.intercept_)
    assert np.abs(wide.predict(X) - y).mean() < 0.5
    assert wide.coef_[0] > 1 and wide.coef_[1] < -0.1
    for names in (["low", "high"], ["a", "b", "c"]):
        kinds = np.array(names)[np.minimum((X[:, 0] * len(names)).astype(int), len(names) - 1)]
        for regularization in (None, 0.1):  # class sums, and a machine
            model = PrivateKernelClassifier(
                Budget(epsilon=8, delta=1e-6), classes=names, regularization=regularization, **declared
            ).fit(X, kinds)
            scores = model.decision_function(X).reshape(len(X), -1)
            assert model.coef_.shape == (scores.shape[1], 2)
            assert np.allclose(scores, X @ model.coef_.T + model.intercept_)
            assert model.score(X, kinds) > (0.8 if len(names) == 2 else 0.5)
    wide.function_.save(tmp_path / "line.safetensors")
    assert np.array_equal(PrivateFunction.load(tmp_path / "line.safetensors")(X), wide.function_(X))


def test_only_linear_estimators_have_coefficients() -> None:
    declared = {"box": (0, 1), "targets": (0, 1), "records": 50}
    model = PrivateKernelRidge(Budget(epsilon=1, delta=1e-6), **declared)
    assert not hasattr(model, "coef_")
    model.fit(np.linspace(0, 1, 50)[:, None], np.linspace(0, 1, 50))
    assert not hasattr(model, "coef_") and not hasattr(model, "intercept_")
    with pytest.raises(ArgumentError, match="linear"):
        PrivateKernelRidge(Budget(epsilon=1, delta=1e-6), kernel="rbf", **declared).fit([[0.5]], [0.5])


def test_lengths_of_noisy_means_are_told_apart_where_noise_lets_them() -> None:
    """Ten means of one length, noise as long as they are: most of what noise does to the lengths is taken
    away. Means of different lengths with little noise stay as they are."""
    draw, each = np.random.default_rng(2), 200
    directions = draw.normal(size=(10, each))
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    scale = np.full(10, 1 / math.sqrt(each))
    raw, shrunk = [], []
    for _ in range(200):
        noisy = directions + draw.normal(size=(10, each)) * scale[:, None]
        raw.append((noisy**2).sum(axis=1) - each * scale**2)
        shrunk.append(_squares(noisy, scale))
    assert np.square(np.array(shrunk) - 1).mean() < 0.4 * np.square(np.array(raw) - 1).mean()
    long = directions * np.linspace(0.3, 1, 10)[:, None]
    assert np.allclose(_squares(long, 1e-4 * scale), (long**2).sum(axis=1), atol=1e-4)
    assert np.isfinite(_squares(np.zeros((2, 3)), np.zeros(2))).all()
