"""Workloads and strategies against dense matrices, optima against certificates, releases against sums."""

import json
import math

import numpy as np
import pytest
import scipy.sparse
import scipy.sparse.linalg
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize, nnls

from indistinct import Adjacency, ArgumentError, Budget, Linear, calibrate
from indistinct.noise import NotPrivateSource
from indistinct.workloads import (
    AllRange,
    Explicit,
    Hierarchical,
    Identity,
    IdentityStrategy,
    Implicit,
    Kronecker,
    KroneckerStrategy,
    Marginals,
    MarginalStrategy,
    Matrix,
    MatrixMechanism,
    Noise,
    Prefix,
    Stacked,
    Total,
    best_hierarchical,
    line_strategies,
    optimise,
)
from indistinct.workloads.dense import optimise_dense
from indistinct.workloads.laplace import extra_rows_error
from indistinct.workloads.line_strategies import LineStrategy, square_root_rule
from indistinct.workloads.nonnegative import nearest_nonnegative
from indistinct.workloads.optimal import _best_product

RNG = np.random.default_rng(20261115)
ROWS = RNG.normal(size=(5, 6))
WORKLOADS = [
    Identity(6),
    Total(6),
    Prefix(6),
    AllRange(6),
    Matrix(ROWS),
    Implicit(scipy.sparse.csr_array(ROWS)),
    Implicit(scipy.sparse.linalg.aslinearoperator(ROWS)),
    Kronecker(Prefix(2), AllRange(3)),
    Kronecker(Stacked(Identity(2), Total(2)), Prefix(3)),
    Stacked(Prefix(6), Identity(6), weights=(2, 0.5)),
    Marginals((3, 2), ways=1),
    Marginals((3, 2), sets=[(), (1,), (0, 1)], weights=(1, 2, 3)),
]
STRATEGIES = [
    IdentityStrategy(6),
    Hierarchical(6, 2),
    Explicit(RNG.normal(size=(9, 6))),
    KroneckerStrategy(Hierarchical(2), IdentityStrategy(3)),
    KroneckerStrategy(Hierarchical(3), Explicit([[1, -2], [0.5, 1]])),
    optimise(Prefix(6)).strategy,
    optimise(AllRange(6)).strategy,
    optimise(Marginals((3, 2), ways=2)).strategy,
    optimise(Prefix(6), Noise.LAPLACE).strategy,
    MarginalStrategy((3, 2), ((), (1,), (0, 1)), (0.3, 2.0, 1.0)),
]
each_workload = pytest.mark.parametrize("workload", WORKLOADS, ids=str)
each_strategy = pytest.mark.parametrize("strategy", STRATEGIES, ids=str)


@pytest.fixture(autouse=True)
def same_numbers() -> None:
    """Whichever tests run, and in which order."""
    RNG.bit_generator.state = np.random.default_rng(7).bit_generator.state


def weights_of(workload) -> np.ndarray:
    """How much each query's squared error counts."""
    if isinstance(workload, Stacked):
        sizes = [part.queries for part in workload.parts]
    elif isinstance(workload, Marginals):
        sizes = [workload.size(group) for group in workload.sets]
    else:
        return np.ones(workload.queries)
    return np.repeat(workload.weights, sizes)


# --- workloads -------------------------------------------------------------------------------------------


@each_workload
def test_workload_is_its_matrix(workload) -> None:
    rows = workload.matrix()
    weights = weights_of(workload)
    assert rows.shape == (workload.queries, workload.cells)
    x = RNG.integers(0, 50, workload.cells)
    assert np.allclose(workload.answers(x), rows @ x)
    several = RNG.normal(size=(workload.cells, 2, 3))
    assert np.allclose(workload.answers(several), np.tensordot(rows, several, 1))
    assert np.allclose(workload.gram(), (rows.T * weights) @ rows)
    assert math.isclose(workload.trace(), np.trace(workload.gram()))
    assert np.allclose(workload.row_norms(), (rows**2).sum(axis=1))
    spread = RNG.normal(size=(workload.cells, workload.cells))
    spread = spread @ spread.T
    assert np.allclose(workload.quadratic(spread), np.diagonal(rows @ spread @ rows.T))


@each_workload
def test_products_sum_up_to_the_gram_matrix(workload) -> None:
    total = sum(weight * Kronecker(*factors).gram() for weight, factors in workload.products())
    assert np.allclose(total, workload.gram())


@pytest.mark.parametrize("n", [1, 2, 7])
@pytest.mark.parametrize("kind", [Prefix, AllRange])
def test_line_is_the_inverse(kind, n) -> None:
    line = kind(n).line()
    laplacian = 2 * np.eye(n) - np.eye(n, k=1) - np.eye(n, k=-1)
    laplacian[0, 0] += line.left - 1
    laplacian[-1, -1] += line.right - 1
    assert np.allclose(line.factor * np.linalg.inv(laplacian), kind(n).gram())


sizes = st.lists(st.integers(1, 4), min_size=1, max_size=3)


@settings(max_examples=40, deadline=None)
@given(shape=sizes, data=st.data())
def test_marginals_against_dense(shape, data) -> None:
    groups = data.draw(st.sets(st.frozensets(st.integers(0, len(shape) - 1)), min_size=1, max_size=4))
    weights = data.draw(st.lists(st.floats(0.1, 10), min_size=len(groups), max_size=len(groups)))
    workload = Marginals(shape, sets=[tuple(sorted(g)) for g in sorted(groups, key=sorted)], weights=weights)
    best = optimise(workload)
    strategy = best.strategy
    rows = strategy.measure(np.eye(workload.cells))
    gram = rows.T @ rows
    assert np.isclose(np.diagonal(gram), 1).all()
    # the fixed point: X V⁺ X is a multiple of the identity on the range of V
    assert np.allclose(strategy.covariance(), np.linalg.pinv(gram, rcond=1e-9), atol=1e-8)
    error = np.vdot(workload.gram(), strategy.covariance())
    assert math.isclose(strategy.error(workload), error, rel_tol=1e-9)
    assert math.isclose(best.bound, np.sqrt(np.maximum(np.linalg.eigvalsh(workload.gram()), 0)).sum() ** 2 /
                        workload.cells, rel_tol=1e-5)  # fmt: skip
    assert np.allclose(strategy.variances(workload), workload.quadratic(strategy.covariance()))
    x = RNG.normal(size=workload.cells)
    assert np.allclose(strategy.answers(workload, rows @ x), workload.answers(x))
    assert np.allclose(strategy.precision(x), gram @ x)
    largest, least = strategy.gram_range()
    assert math.isclose(largest, gram.max(), rel_tol=1e-9) and least <= gram.min() + 1e-12


@settings(max_examples=30, deadline=None)
@given(st.lists(st.sampled_from([Prefix(2), AllRange(3), Identity(2), Total(3), Matrix([[1, -1, 2]])]),
                min_size=1, max_size=3))  # fmt: skip
def test_kronecker_against_dense(factors) -> None:
    workload = Kronecker(*factors)
    best = optimise(workload, tolerance=1e-8)
    dense = optimise_dense(workload.gram(), 1e-6)
    assert best.gap < 1e-5
    assert math.isclose(best.error, dense.strategy.error(workload), rel_tol=2e-5)
    rows = best.strategy.measure(np.eye(workload.cells))
    assert np.allclose(best.strategy.covariance(), np.linalg.pinv(rows.T @ rows, rcond=1e-9), atol=1e-6)
    x = RNG.normal(size=workload.cells)
    assert np.allclose(best.strategy.answers(workload, rows @ x), workload.answers(x))


# --- strategies ------------------------------------------------------------------------------------------


@each_strategy
def test_strategy_is_its_matrix(strategy) -> None:
    rows = strategy.measure(np.eye(6))
    gram = rows.T @ rows
    assert rows.shape == (strategy.measurements, 6)
    x, several = RNG.normal(size=6), RNG.normal(size=(6, 2))
    assert np.allclose(strategy.measure(several), rows @ several)
    assert np.allclose(strategy.estimate(rows @ x), x)
    y = RNG.normal(size=strategy.measurements)
    assert np.allclose(strategy.estimate(y), np.linalg.lstsq(rows, y, rcond=None)[0])
    assert np.allclose(strategy.precision(x), gram @ x)
    assert np.allclose(strategy.covariance(), np.linalg.inv(gram))
    for noise, order in ((Noise.GAUSSIAN, 2), (Noise.LAPLACE, 1)):
        columns = np.linalg.norm(rows, order, axis=0).max()
        apart = max(np.linalg.norm(rows[:, i] - rows[:, j], order) for i in range(6) for j in range(6))
        assert columns <= strategy.sensitivity(noise) * (1 + 1e-13)
        assert apart <= strategy.sensitivity(noise, Adjacency.REPLACE_ONE) * (1 + 1e-13)
    longest = np.linalg.norm(rows, axis=0).max()
    assert math.isclose(longest, strategy.sensitivity(Noise.GAUSSIAN), rel_tol=1e-7)


@each_strategy
def test_error_formulas(strategy) -> None:
    covariance = np.linalg.inv(strategy.precision(np.eye(6)))
    for workload in WORKLOADS:
        assert math.isclose(strategy.error(workload), np.vdot(workload.gram(), covariance), rel_tol=1e-9)
        assert np.allclose(strategy.variances(workload), workload.quadratic(covariance))


@each_strategy
def test_columns_are_covered(strategy) -> None:
    ordered = np.sort(np.abs(strategy.measure(np.eye(6))), axis=0)[::-1]
    profile = strategy.column_profile()
    if profile is not None:
        values = sorted((v for v, count in profile for _ in range(count)), reverse=True)
        assert np.allclose(ordered[: len(values)], np.array(values)[:, None])
    envelope = strategy.column_envelope()
    if envelope is not None:
        values = np.array(sorted((v for v, count in envelope for _ in range(count)), reverse=True))
        assert (ordered[: values.size] <= values[:, None] * (1 + 1e-12)).all()
        assert not (ordered[values.size :] > 0).any()


# --- optima ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("ratio", [1.0, 2.0, 1e3, 1e12])
def test_square_root_rule(ratio) -> None:
    nodes, masses = square_root_rule(0.3, 0.3 * ratio * 1.0001)
    x = np.geomspace(0.3, 0.3 * ratio, 500)
    assert np.allclose((masses / (x[:, None] + nodes**2)).sum(axis=1) * np.sqrt(x), 1, rtol=1e-13, atol=0)


@pytest.mark.parametrize("workload", [Prefix(5), AllRange(4), Matrix(RNG.normal(size=(7, 4)))], ids=str)
def test_optimum_against_a_general_optimiser(workload) -> None:
    """Columns of A as free vectors of unit length: no fixed point, no duality."""
    n = workload.cells

    def error(flat):
        rows = flat.reshape(n, n)
        rows = rows / np.linalg.norm(rows, axis=0)
        return np.trace(np.linalg.solve(rows.T @ rows, workload.gram()))

    found = min(minimize(error, RNG.normal(size=n * n), options={"gtol": 1e-8}).fun for _ in range(4))
    best = optimise(workload, tolerance=1e-9)
    assert best.gap < 1e-7
    assert math.isclose(found, best.error, rel_tol=1e-5)
    assert best.bound <= found * (1 + 1e-9)


@pytest.mark.parametrize("n", [1, 2, 3, 16, 33])
@pytest.mark.parametrize("kind", [Prefix, AllRange])
def test_line_and_dense_agree(kind, n) -> None:
    on_line = optimise(kind(n), tolerance=1e-8)
    dense = optimise_dense(kind(n).gram(), 1e-8)
    assert math.isclose(on_line.bound, dense.bound, rel_tol=1e-6)
    assert on_line.gap < 1e-7
    assert np.diagonal(on_line.strategy.precision(np.eye(n))).max() <= 1 + 1e-8


def test_any_multipliers_give_a_bound() -> None:
    gram = AllRange(8).gram()
    best = optimise(AllRange(8), tolerance=1e-10)
    for _ in range(20):
        root = np.sqrt(RNG.uniform(0.1, 2, 8))
        values = np.linalg.eigvalsh(gram * np.multiply.outer(root, root))
        assert np.sqrt(values).sum() ** 2 / (root**2).sum() <= best.error


def test_constraints_that_are_not_tight() -> None:
    for shape in ((3, 9), (20, 30), (4, 4)):
        best = optimise(Matrix(RNG.normal(size=shape)), tolerance=1e-6)
        assert best.gap < 1e-4
    unused = optimise(Matrix([[1, 0, 1], [1, 0, -1]]))
    assert unused.error == pytest.approx(4)
    assert unused.gap < 1e-6


def test_long_lines_take_the_other_route(monkeypatch: pytest.MonkeyPatch) -> None:
    best = optimise(Prefix(300), tolerance=1e-4).strategy
    x = RNG.integers(0, 100, 300)
    short = best.measure(x)
    monkeypatch.setattr(line_strategies, "_SHORT", 10)
    assert best.written() is None
    assert np.allclose(best.measure(x), short, rtol=1e-11)
    assert np.allclose(best.estimate(best.measure(x)), x, atol=1e-7)
    monkeypatch.setattr(line_strategies, "_COARSE", 100)
    coarse = optimise(Prefix(300), tolerance=1e-7)
    assert coarse.gap < 1e-6
    assert isinstance(coarse.strategy, LineStrategy)


def test_sums_of_products() -> None:
    workload = Stacked(Kronecker(Prefix(6), Total(4)), Kronecker(Total(6), AllRange(4)))
    dense, product = optimise(workload), _best_product(workload, workload.products(), 1e-6)
    assert product.bound <= dense.bound * (1 + 1e-6) <= dense.error * (1 + 2e-6) <= product.error * (1 + 2e-6)
    assert product.error < IdentityStrategy(24).error(workload)


def test_marginals_with_laplace_noise() -> None:
    workload = Marginals((6, 5, 4, 7), ways=2, weights=(1, 1, 2, 1, 1, 1))
    best = optimise(workload, Noise.LAPLACE)
    plain = MarginalStrategy(workload.shape, workload.sets, (1 / 6,) * 6)
    assert isinstance(best.strategy, MarginalStrategy)
    assert best.bound < best.error < 0.95 * 2 * plain.error(workload)
    rows = best.strategy.measure(np.eye(workload.cells))
    assert np.allclose(np.abs(rows).sum(axis=0), 1)
    covariance = np.linalg.pinv(rows.T @ rows, rcond=1e-10)
    assert best.error == pytest.approx(2 * np.vdot(workload.gram(), covariance), rel=1e-6)
    y = RNG.normal(size=rows.shape[0])
    found = best.strategy.answers(workload, y)
    assert np.allclose(found, workload.answers(covariance @ rows.T @ y), atol=1e-6)
    assert MatrixMechanism(workload, best.strategy, 2, Noise.LAPLACE).guarantee().pure() == pytest.approx(0.5)


def test_laplace_gradient() -> None:
    gram, extra = AllRange(6).gram(), RNG.uniform(0.1, 1, (2, 6))
    error, gradient = extra_rows_error(extra, gram)
    rows = np.vstack((np.eye(6), extra))
    rows /= rows.sum(axis=0)
    assert math.isclose(error, Explicit(rows).error(AllRange(6)))
    for i in range(2):
        for j in range(6):
            step = np.zeros((2, 6))
            step[i, j] = 1e-6
            change = extra_rows_error(extra + step, gram)[0] - extra_rows_error(extra - step, gram)[0]
            assert change / 2e-6 == pytest.approx(gradient[i, j], rel=1e-5, abs=1e-4)


# --- the bars --------------------------------------------------------------------------------------------


def test_bar_gaussian_1024() -> None:
    for workload, bar in ((Prefix(1024), 8951), (AllRange(1024), 6_484_400)):
        best = optimise(workload)
        assert best.error <= bar
        assert best.gap <= 2e-6
    assert optimise(Prefix(1024), tolerance=1e-9).bound == pytest.approx(8944.32919, abs=1e-4)


def test_bar_laplace_512() -> None:
    workload = AllRange(512)
    best = optimise(workload, Noise.LAPLACE)
    identity = Noise.LAPLACE.variance * workload.trace()
    assert best.error < identity / 3.5
    tree = best_hierarchical(workload, Noise.LAPLACE)
    assert best.error < 2 * tree.error(workload) * tree.sensitivity(Noise.LAPLACE) ** 2
    assert best.bound < best.error


def test_bar_marginals() -> None:
    workload = Marginals((10,) * 10, ways=3)
    best = optimise(workload)
    assert best.gap < 1e-9
    assert best.error < IdentityStrategy(workload.cells).error(workload) / 1e5
    assert best.strategy.measurements == sum(math.comb(10, k) * 9**k for k in range(4))
    errors = best.strategy.variances(workload)
    assert errors.sum() == pytest.approx(best.error)


def test_a_line_that_is_too_long_for_a_matrix() -> None:
    workload = Prefix(5000)
    best = optimise(workload, tolerance=1e-5)
    assert best.gap < 1.1e-5
    x = RNG.integers(0, 1000, workload.cells)
    mechanism = MatrixMechanism(workload, best.strategy, scale=10, records=10**8)
    release = mechanism.release(x, source=NotPrivateSource(1))
    scaled = (release.answers() - workload.answers(x)) / release.standard_errors()
    assert np.abs(scaled).max() < 6
    assert 0.5 < np.sqrt(np.mean(scaled**2)) < 2


# --- the mechanism ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("noise", Noise)
@pytest.mark.parametrize(
    "strategy", [Hierarchical(6), optimise(Prefix(6)).strategy, STRATEGIES[4], STRATEGIES[7]], ids=str
)
def test_errors_are_those_of_a_simulation(strategy, noise) -> None:
    workload = Stacked(Prefix(6), Identity(6))
    mechanism = MatrixMechanism(workload, strategy, scale=3, noise=noise)
    x = RNG.integers(0, 100, 6)
    source = NotPrivateSource(7)
    runs = np.array([mechanism.release(x, source=source).answers() for _ in range(500)])
    off = runs - workload.answers(x)
    deviation = mechanism.standard_errors()
    assert (np.abs(off.mean(axis=0)) < 5 * deviation / math.sqrt(500)).all()
    assert np.allclose(np.sqrt((off**2).mean(axis=0)), deviation, rtol=0.2)
    assert (off**2).sum(axis=1).mean() == pytest.approx(mechanism.expected_error(), rel=0.15)
    assert mechanism.expected_error() == pytest.approx((deviation**2).sum())


def test_answers_are_consistent_and_nonnegative() -> None:
    workload = AllRange(6)
    mechanism = MatrixMechanism(workload, Hierarchical(6), scale=5)
    measured = mechanism.release([0, 0, 3, 0, 1, 0], source=NotPrivateSource(3)).measured
    found = mechanism.answers(measured)
    counts = MatrixMechanism(Identity(6), Hierarchical(6), scale=5).answers(measured)
    assert np.allclose(found, workload.answers(counts))
    assert (counts < 0).any()
    fitted = nearest_nonnegative(mechanism.strategy, measured)
    assert np.allclose(fitted, nnls(mechanism.strategy.rows, measured)[0], atol=1e-5)
    assert (mechanism.answers(measured, nonnegative=True) >= 0).all()


def test_guarantees() -> None:
    best = optimise(AllRange(32)).strategy
    run = calibrate(lambda s: MatrixMechanism(AllRange(32), best, s), Budget(epsilon=1, delta=1e-6))
    assert run.guarantee().epsilon(delta=1e-6) == pytest.approx(1)
    assert (2 * run.mechanism).guarantee().epsilon(delta=1e-6) > 1.3
    assert run.guarantee(Adjacency.REPLACE_ONE).epsilon(delta=1e-6) > 1.3
    linear = run.guarantee().against(Linear()).renyi(2)
    assert 0 < linear < run.guarantee().renyi(2)
    released = run.mechanism.release(np.arange(32))
    assert released.private
    assert released.guarantee().epsilon(delta=1e-6) == pytest.approx(1, rel=1e-6)
    assert released.guarantee().epsilon(delta=1e-6) >= run.guarantee().epsilon(delta=1e-6)
    assert released.guarantee(Adjacency.REPLACE_ONE).epsilon(delta=1e-6) > 1.3


def test_laplace_guarantees() -> None:
    tree = Hierarchical(64)
    run = MatrixMechanism(AllRange(64), tree, scale=7, noise=Noise.LAPLACE)
    assert run.guarantee().pure() == pytest.approx(1)  # seven levels
    one = MatrixMechanism(Prefix(64), optimise(Prefix(64), Noise.LAPLACE).strategy, 1.0, Noise.LAPLACE)
    assert one.guarantee().pure() == pytest.approx(1)
    # the exact product of seven small losses is below one loss of the same sum
    assert run.guarantee().epsilon(delta=1e-2) < one.guarantee().epsilon(delta=1e-2) - 0.01
    assert run.guarantee(Adjacency.REPLACE_ONE).pure() == pytest.approx(2)
    for mechanism in (run, one):
        reading = mechanism.guarantee().against(Linear())
        assert 0 < reading.renyi(2) <= mechanism.guarantee().renyi(2)
        with pytest.raises(ArgumentError, match="adaptive"):
            (2 * mechanism).guarantee().against(Linear())
        assert (2 * mechanism).guarantee().against(Linear(), adaptive=False).renyi(2) > reading.renyi(2)
        assert mechanism.release(np.ones(64)).guarantee().pure() == pytest.approx(1, rel=1e-6)


def test_linear_adversaries_see_no_column_better_than_one_number() -> None:
    """The argument of `laplace_guarantee`, against the exact reading of every column."""
    strategy = Explicit(np.vstack((RNG.uniform(-1, 1, size=(4, 5)), np.ones(5))))
    mechanism = MatrixMechanism(Total(5), strategy, 2.0, Noise.LAPLACE)
    for order in (1.5, 3.0, 20.0):
        bound = mechanism.guarantee().against(Linear()).renyi(order)
        for column in strategy.rows.T:
            one = MatrixMechanism(Identity(1), Explicit(column[:, None]), 2.0, Noise.LAPLACE)
            assert one.guarantee().against(Linear()).renyi(order) <= bound + 1e-9
    budget = Budget(renyi=0.1, order=2)
    target = calibrate(
        lambda s: MatrixMechanism(Total(5), strategy, s, Noise.LAPLACE), budget, against=Linear()
    )
    assert target.guarantee().against(Linear()).renyi(2) == pytest.approx(0.1)


def test_two_laplace_coordinates_reveal_less_than_one() -> None:
    """The argument of the module's first lines, on numbers."""
    for a, b in ((0.5, 0.5), (0.1, 2.0), (3.0, 1.0)):
        strategies = Explicit([[a], [b]]), Explicit([[a + b]])
        both, one = (MatrixMechanism(Identity(1), s, 1.0, Noise.LAPLACE).guarantee() for s in strategies)
        for epsilon in (0.0, 0.1, 0.5, 1.0, 2.0):
            assert both.delta(epsilon) <= one.delta(epsilon) + 1e-9


def test_release_from_tables_without_the_histogram() -> None:
    workload = Marginals((3, 2, 4), ways=2)
    mechanism = MatrixMechanism(workload, optimise(workload).strategy, scale=2)
    x = RNG.integers(0, 20, 24)
    tables = workload.split(workload.answers(x))
    one, other = (mechanism.release(d, source=NotPrivateSource(5)).answers() for d in (x, tables))
    assert np.allclose(one, other)
    assert np.abs(one - workload.answers(x)).max() < 6 * mechanism.standard_errors().max()


@pytest.mark.parametrize("noise", Noise)
@each_strategy
def test_neighbours_move_no_further_than_accounted(strategy, noise) -> None:
    """The same seed is the same noise, so the difference of two releases is that of what was rounded."""
    mechanism = MatrixMechanism(Identity(6), strategy, scale=1e-3, noise=noise)
    order = 2 if noise is Noise.GAUSSIAN else 1
    for _ in range(5):
        x = RNG.integers(0, 1000, 6)
        first = mechanism.release(x, source=NotPrivateSource(9))
        for cell in range(6):
            other = mechanism.release(x + np.eye(6, dtype=int)[cell], source=NotPrivateSource(9))
            moved = np.linalg.norm(other.measured - first.measured, order)
            assert moved <= (mechanism.sensitivity() + first.rounding * first.unit) * (1 + 1e-12)


def test_seeded_release_claims_nothing() -> None:
    mechanism = MatrixMechanism(Identity(3), IdentityStrategy(3), scale=5)
    release = mechanism.release([1, 2, 3], source=NotPrivateSource(1))
    assert not release.private
    assert release.guarantee().delta(5.0) == 1


def test_measurements_in_integers_match_floats() -> None:
    best = optimise(Prefix(20)).strategy
    mechanism = MatrixMechanism(Prefix(20), best, scale=1e-3, records=2**50)
    x = np.full(20, 2**40)  # products beyond 64 bits
    release = mechanism.release(x, source=NotPrivateSource(2))
    assert np.allclose(release.measured, best.measure(x), rtol=1e-9)


CENSUS = Marginals((10,) * 10, ways=1)

# --- bad input -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "make",
    [
        lambda: Prefix(0),
        lambda: Identity(2.0),
        lambda: Matrix([[1, math.nan]]),
        lambda: Matrix([1, 2]),
        lambda: Matrix("abc"),
        lambda: Implicit([[1, 2]]),
        lambda: Kronecker(),
        lambda: Kronecker(3),
        lambda: Stacked(Prefix(3), Prefix(4)),
        lambda: Stacked(Prefix(3), weights=(1, 2)),
        lambda: Stacked(Prefix(3), weights=(-1,)),
        lambda: Marginals((2, 3)),
        lambda: Marginals((2, 3), ways=3),
        lambda: Marginals((2, 3), sets=[(0, 2)]),
        lambda: Marginals((2, 3), sets=[(0,), (0,)]),
        lambda: Marginals((2, 3), sets=[]),
        lambda: Marginals(5, ways=1),
        lambda: Hierarchical(4, 1),
        lambda: MarginalStrategy((2, 3), ((0,),), (-1.0,)),
        lambda: MarginalStrategy((2, 3), ((0, 2),), (1.0,)),
        lambda: MarginalStrategy((2, 3), ((1, 0),), (1.0,)),
        lambda: MarginalStrategy((2, 3), ((0,),), (1.0,)).error(Marginals((2, 3), ways=2)),
        lambda: Explicit([[math.inf]]),
        lambda: Prefix(3).answers([1, 2]),
        lambda: Prefix(3).answers([1, 2, math.nan]),
        lambda: Prefix(10**6).gram(),
        lambda: optimise("prefix"),
        lambda: optimise(Prefix(3), "cauchy"),
        lambda: optimise(Prefix(3), tolerance=0),
        lambda: best_hierarchical(Prefix(3), None),
        lambda: IdentityStrategy(3).error(Prefix(4)),
        lambda: Explicit([[1, 1]]).error(Identity(2)),
        lambda: optimise(Marginals((2, 2), ways=1)).strategy.error(Identity(4)),
        lambda: optimise(Marginals((2, 2), ways=1)).strategy.error(Marginals((2, 2), ways=2)),
        lambda: MatrixMechanism(Prefix(3), IdentityStrategy(4), 1.0),
        lambda: MatrixMechanism(Prefix(3), IdentityStrategy(3), 0.0),
        lambda: MatrixMechanism(Prefix(3), IdentityStrategy(3), 1.0, "cauchy"),
        lambda: MatrixMechanism("x", IdentityStrategy(3), 1.0),
        lambda: MatrixMechanism(Prefix(3), "x", 1.0),
        lambda: MatrixMechanism(Prefix(3), IdentityStrategy(3), 1.0).release([1, 2]),
        lambda: MatrixMechanism(Prefix(3), IdentityStrategy(3), 1.0).release([1, 2, -3]),
        lambda: MatrixMechanism(Prefix(3), IdentityStrategy(3), 1.0).release([1, 2, 0.5]),
        lambda: MatrixMechanism(Prefix(3), IdentityStrategy(3), 1.0).release([1, 2, math.nan]),
        lambda: MatrixMechanism(Prefix(3), IdentityStrategy(3), 1.0, records=5).release([1, 2, 3]),
        lambda: MatrixMechanism(Prefix(3), IdentityStrategy(3), 1.0).answers([1, 2]),
        lambda: MatrixMechanism(CENSUS, optimise(CENSUS).strategy, 1).answers(np.zeros(91), nonnegative=True),
    ],
)
def test_bad_input_is_named(make) -> None:
    with pytest.raises(ArgumentError, match="must be"):
        make()


def test_values_compare_and_hash() -> None:
    rows = [[1.0, 2.0], [0.0, 1.0]]
    assert Matrix(rows) == Matrix(np.array(rows)) != Matrix([[1.0, 2.0]])
    one, other = (MatrixMechanism(Prefix(2), Explicit(rows), 1.0) for _ in range(2))
    assert one == other and hash(one) == hash(other)
    assert one != MatrixMechanism(Prefix(2), Explicit(rows), 2.0)


@each_strategy
def test_json_reads_back_equal(strategy) -> None:
    for workload in WORKLOADS:
        mechanism = MatrixMechanism(workload, strategy, 2.5, Noise.LAPLACE, 10**6)
        if isinstance(workload, Implicit):
            with pytest.raises(ArgumentError, match="Matrix"):
                mechanism.to_json()
        else:
            assert MatrixMechanism.from_json(json.loads(json.dumps(mechanism.to_json()))) == mechanism


PLAN = MatrixMechanism(Prefix(3), optimise(Prefix(3)).strategy, 1.0).to_json()


@pytest.mark.parametrize(
    "data",
    [
        None,
        {},
        {**PLAN, "mechanism": "gaussian"},
        {**PLAN, "noise": "cauchy"},
        {**PLAN, "noise": ["gaussian"]},
        {**PLAN, "scale": -1},
        {**PLAN, "workload": {"workload": "os.system"}},
        {**PLAN, "workload": {"workload": "prefix"}},
        {**PLAN, "workload": {"workload": "prefix", "size": 4}},
        {**PLAN, "workload": "prefix"},
        {**PLAN, "strategy": {**PLAN["strategy"], "weights": [1, 0, 1]}},
        {**PLAN, "strategy": {**PLAN["strategy"], "left": 2}},
        {**PLAN, "strategy": {**PLAN["strategy"], "factor": "x"}},
        {key: value for key, value in PLAN.items() if key != "scale"},
    ],
)
def test_bad_json_is_refused(data) -> None:
    with pytest.raises(ArgumentError, match="must be"):
        MatrixMechanism.from_json(data)
