"""Queries over tables: their guarantees are those of what is drawn, and their answers are near the truth."""

import itertools
import json
import math
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from indistinct import Adjacency, Budget, Gaussian, Laplace, calibrate, from_json
from indistinct.data import (
    Bins,
    Categories,
    Count,
    GroupBy,
    HeavyHitters,
    Histogram,
    Kind,
    Mean,
    Missing,
    Norm,
    Numbers,
    Quantile,
    Quantiles,
    Query,
    Records,
    Sum,
    UserRecords,
    UserTotals,
    Variance,
    VectorSum,
    read_parquet,
    table,
)
from indistinct.errors import ArgumentError, DataError
from indistinct.noise import NotPrivateSource
from indistinct.report import explain

DRAW = np.random.default_rng(3)
ROWS = 5_000
DATA = {
    "user": DRAW.integers(0, 1_000, ROWS),
    "age": np.clip(DRAW.normal(45, 15, ROWS), 0, 100),
    "town": DRAW.choice(np.array(["a", "b", "c"]), ROWS),
    "word": np.array([f"word {int(n)}" for n in DRAW.geometric(0.05, ROWS)]),
}
AGE = Numbers(0, 100)
TOWNS = Categories(["a", "b", "c"])
QUERIES: dict[str, Query] = {
    "count": Count(),
    "count by user": Count(UserRecords("user", 4)),
    "histogram": Histogram({"town": Categories(["a", "b", "c"]), "age": Bins(0, 100, 10)}),
    "histogram by user": Histogram({"town": Categories(["a", "b", "c"])}, UserTotals("user", Norm.L2, 2.0)),
    "sum": Sum("age", AGE),
    "vector sum": VectorSum(("age", "user"), Norm.L2, 50.0),
    "variance": Variance("age", Numbers(20, 100)),
    "mean": Mean("age", Numbers(20, 100)),
    "mean by town": GroupBy({"town": TOWNS}, Mean("age", Numbers(20, 100))),
    "variance by town and user": GroupBy({"town": TOWNS}, Variance("age", AGE, UserRecords("user", 4))),
    "sum by town, a total by user": GroupBy(
        {"town": TOWNS}, Sum("age", AGE, UserTotals("user", Norm.L2, 99.0))
    ),
    "counts by town, in few groups": GroupBy(
        {"town": TOWNS}, Histogram({"age": Bins(0, 100, 5)}, UserRecords("user", 2, groups=2))
    ),
    "mean by user": Mean("age", AGE, UserRecords("user", 4)),
    "quantiles": Quantiles("age", Bins(0, 128, 64), [0.1, 0.5]),
    "quantiles by user": Quantiles("age", Bins(0, 128, 64), [0.1, 0.5], UserRecords("user", 4)),
}
QUIET = 1e-7
"""A scale at which noise does not matter."""


def test_a_new_word_changes_no_other_users_choice() -> None:
    """Frequent values are found in the records: their places in a list say what others have."""
    words = [f"w{number}" for number in range(10)]
    data = {"user": np.repeat(np.arange(500), 10), "word": np.array(words * 500)}
    more = {"user": np.append(data["user"], 500), "word": np.append(data["word"], "a")}
    hitters = HeavyHitters("word", 2.0, 40, UserRecords("user", 1))
    before, after = (hitters.occurring(one) for one in (data, more))
    old, new = (dict(zip(one.values, one.counts.tolist(), strict=True)) for one in (before, after))
    assert new == {**old, "a": 1}


@pytest.mark.parametrize("adjacency", Adjacency)
@pytest.mark.parametrize("name", QUERIES)
def test_guarantee_is_that_of_the_noise_for_each_adjacency(name: str, adjacency: Adjacency) -> None:
    query = QUERIES[name]
    for scale in (0.7 * query.sensitivity(Norm.L2), 9 * query.sensitivity(Norm.L1)):
        smooth = Gaussian(scale, query.sensitivity(Norm.L2, adjacency)).guarantee(adjacency)
        exact = query.gaussian(scale).guarantee(adjacency)
        assert exact.epsilon(delta=1e-6) == pytest.approx(smooth.epsilon(delta=1e-6), rel=1e-6)
        pure = Laplace(scale, query.sensitivity(Norm.L1, adjacency)).guarantee(adjacency).pure()
        assert query.laplace(scale).guarantee(adjacency).pure() == pytest.approx(pure, rel=1e-6)


@pytest.mark.parametrize("name", QUERIES)
def test_the_release_is_the_exact_answer_plus_the_noise_that_is_accounted(name: str) -> None:
    query = QUERIES[name]
    exact = query.statistic(DATA)
    assert len(exact.units) == query.size
    for noisy in (query.gaussian(3.0), query.laplace(3.0)):
        released = noisy.release(DATA, source=NotPrivateSource(5))
        drawn = noisy.drawn(Adjacency.ADD_REMOVE)
        places = [int(unit) * int(exact.step / noisy.unit) for unit in exact.units]
        expected = drawn.release(np.array(places, object), source=NotPrivateSource(5)).values
        np.testing.assert_array_equal(released.values, query.read(expected.astype(float) * noisy.unit))
        assert released.mechanism == noisy
        assert not released.private
        assert released.guarantee().delta(epsilon=1.0) == 1.0
        assert noisy.release(DATA).guarantee() == noisy.guarantee()


def test_answers_are_near_the_truth() -> None:
    age = DATA["age"]
    answers = {name: query.gaussian(QUIET).release(DATA).values for name, query in QUERIES.items()}
    assert answers["count"] == pytest.approx(ROWS)
    assert answers["sum"] == pytest.approx(age.sum())
    assert answers["variance"] == pytest.approx(np.clip(age, 20, 100).var())
    assert answers["mean"] == pytest.approx(np.clip(age, 20, 100).mean())
    towns, ages = np.unique(DATA["town"], return_inverse=True)[1], np.histogram_bin_edges(age, 10, (0, 100))
    np.testing.assert_allclose(
        answers["histogram"], np.histogram2d(towns, age, [np.arange(4) - 0.5, ages])[0], atol=1e-5
    )
    np.testing.assert_allclose(answers["quantiles"], np.quantile(age, [0.1, 0.5]), atol=2)
    assert Quantile("age", Bins(0, 100, 200), 0.9, QUIET).release(DATA).values == pytest.approx(
        np.quantile(age, 0.9), abs=0.5
    )
    assert (np.array(answers["count by user"]) <= ROWS).all()


def test_deviations_are_those_of_the_noise() -> None:
    query = Histogram({"age": Bins(0, 100, 20_000)})
    empty = {"age": np.array([0.0])}
    for noisy in (query.gaussian(0.4), query.laplace(0.4), query.laplace(7.0), query.laplace(1e-3)):
        found = noisy.release(empty, source=NotPrivateSource(2)).values[1:].std()
        assert found == pytest.approx(noisy.deviation, rel=0.03, abs=1e-12)


def test_laplace_counts_are_integers() -> None:
    released = QUERIES["histogram"].laplace(2.0).release(DATA).values
    assert (released == np.rint(released)).all()


def test_a_plan_is_calibrated_as_a_whole_and_then_released() -> None:
    run = calibrate(
        lambda s: QUERIES["histogram"].gaussian(s) + QUERIES["sum"].gaussian(100 * s),
        Budget(epsilon=1, delta=1e-6),
    )
    assert run.guarantee().epsilon(delta=1e-6) <= 1
    assert run.guarantee().epsilon(delta=1e-6) == pytest.approx(1, rel=1e-5)
    histogram, total = (part.release(DATA) for part in run.mechanism.parts)  # type: ignore[attr-defined]
    assert histogram.values.shape == (3, 10)
    assert total.values == pytest.approx(DATA["age"].sum(), rel=0.05)


@pytest.mark.parametrize("adjacency", Adjacency)
@pytest.mark.parametrize("unit", [Records(), UserRecords("user", 3), UserTotals("user", Norm.L1, 2.0)])
def test_no_neighbour_moves_a_tree_or_a_mean_further(unit: Any, adjacency: Adjacency) -> None:
    draw = np.random.default_rng(8)
    for query in (Quantiles("age", Bins(0, 16, 16), [0.5], unit), Mean("age", Numbers(-2, 10), unit)):
        for _ in range(60):
            size = int(draw.integers(6, 20))
            user = np.arange(size) if unit == Records() else draw.integers(0, 3, size)
            base = {"user": user, "age": draw.uniform(-5, 20, size)}
            ours = user == user[0]
            if adjacency is Adjacency.ADD_REMOVE:
                other = {name: values[~ours] for name, values in base.items()}
                if not len(other["user"]):
                    continue
            else:
                other = {"user": user, "age": np.where(ours, draw.uniform(-5, 20, size), base["age"])}
            apart = query.statistic(base).values - query.statistic(other).values
            for norm, order in ((Norm.L1, 1), (Norm.L2, 2), (Norm.MAX, np.inf)):
                assert np.linalg.norm(apart, order) <= query.sensitivity(norm, adjacency) * (1 + 1e-12)


@pytest.mark.parametrize("adjacency", Adjacency)
@pytest.mark.parametrize("unit", [Records(), UserRecords("user", 3)])
def test_a_quantiles_loss_is_within_its_guarantee(unit: Any, adjacency: Adjacency) -> None:
    """Permute-and-flip computed by brute force over all orders, for random neighbours."""
    draw = np.random.default_rng(2)
    query = Quantile("age", Bins(0, 4, 4), 0.3, 1.5, unit)
    pure = query.guarantee(adjacency).pure()

    def law(data: dict[str, Any]) -> np.ndarray:
        counts = table(data).total(query.bounded).units
        quality = query.qualities(counts) / 10
        coin = np.exp((quality - quality.max()) / 1.5)
        chosen, orders = np.zeros(4), list(itertools.permutations(range(4)))
        for order in orders:
            left = 1.0
            for place in order:
                chosen[place] += left * coin[place] / len(orders)
                left *= 1 - coin[place]
        return chosen

    worst = 0.0
    for _ in range(40):
        size = int(draw.integers(6, 14))
        user = np.arange(size) if unit == Records() else draw.integers(0, 3, size)
        base = {"user": user, "age": draw.uniform(0, 4, size)}
        ours = user == user[0]
        if adjacency is Adjacency.ADD_REMOVE:
            other = {name: values[~ours] for name, values in base.items()}
            if not len(other["user"]):
                continue
        else:
            other = {"user": user, "age": np.where(ours, draw.uniform(0, 4, size), base["age"])}
        worst = max(worst, np.abs(np.log(law(base) / law(other))).max())
    assert 0.2 * pure < worst <= pure * (1 + 1e-12)


@pytest.mark.parametrize(
    ("own", "shared"), [((1,), ()), ((), (1,)), ((1, 1), ()), ((2,), ()), ((1,), (1,)), ((), (2,))]
)
def test_heavy_hitters_lose_what_they_say(own: tuple[int, ...], shared: tuple[int, ...]) -> None:
    """The profile of one user's keys by brute force; `parallel` takes the worst of these."""
    most, scale, threshold = sum(own) + sum(shared), 1.0, 6
    unit = Records() if most == 1 else UserRecords("user", most)
    hitters = HeavyHitters("word", scale, threshold, unit)
    support = np.arange(-60, 61)
    noise = np.exp(-np.abs(support) / scale)
    noise /= noise.sum()

    def law(count: int, occurs: bool) -> np.ndarray:
        """Of what is shown of one key: each number from the threshold on, or nothing."""
        seen = np.zeros(200)
        if not occurs:
            seen[0] = 1.0
            return seen
        for value, chance in zip(count + support, noise, strict=True):
            seen[value if value >= threshold else 0] += chance
        return seen

    p, q = np.ones(1), np.ones(1)
    for count in own:
        p, q = np.outer(p, law(count, True)).ravel(), np.outer(q, law(0, False)).ravel()
    for count in shared:
        p, q = np.outer(p, law(60 + count, True)).ravel(), np.outer(q, law(60, True)).ravel()
    for epsilon in (0.0, 0.1, 0.5, 1.0, 1.9, 2.5):
        truth = max(np.maximum(a - math.exp(epsilon) * b, 0).sum() for a, b in ((p, q), (q, p)))
        assert hitters.guarantee().delta(epsilon) >= truth - 1e-12
    if not shared:
        assert 1 - p.max() <= hitters.delta * (1 + 1e-9)
        assert hitters.guarantee().delta(50.0) == pytest.approx(hitters.delta, rel=1e-6)


def test_heavy_hitters_on_engines(tmp_path: Any) -> None:
    pq.write_table(pa.table(DATA), tmp_path / "data.parquet")
    sources = (DATA, pa.table(DATA), read_parquet(tmp_path / "data.parquet"))
    for unit in (Records(), UserRecords("user", 2)):
        hitters = HeavyHitters.for_delta("word", 2.0, 1e-9, unit)
        assert hitters.delta <= 1e-9 < HeavyHitters("word", 2.0, hitters.threshold - 1, unit).delta
        found = [hitters.release(data, source=NotPrivateSource(1)).values for data in sources]
        assert found[0] == found[1] == found[2]
        assert "word 1" in found[0]
        assert list(found[0].values()) == sorted(found[0].values(), reverse=True)
        assert min(found[0].values()) >= hitters.threshold
    rarely = HeavyHitters.for_delta("user", 1.0, 1e-12)  # shows a user with one record: that often
    numbers = {"user": np.repeat([7, 9], [99, 1])}
    assert list(rarely.release(numbers).values) == ["7"]
    assert list(replace(rarely, of=Kind.INTEGER).release(numbers).values) == [7]
    nothing = {"word": np.array([None, None], object)}
    assert HeavyHitters("word", 1.0, 5).release(nothing).values == {}
    with pytest.raises(DataError, match="missing values"):
        HeavyHitters("word", 1.0, 5, missing=Missing.ERROR).release(nothing)


@pytest.mark.parametrize(
    "mistake",
    [
        lambda: Histogram({"age": AGE}),
        lambda: Mean("age", Numbers(1, 1)),
        lambda: Quantiles("age", Bins(0, 1, 16), [0.5], factor=1),
        lambda: Quantiles("age", Bins(0, 1, 16), []),
        lambda: Quantiles("age", Bins(0, 1, 16), [1.5]),
        lambda: Quantiles("age", Bins(0, 1, 16), [0.5], UserTotals("user", Norm.L2, 1.0)),
        lambda: Quantile("age", Bins(0, 1, 16), math.pi / 4, 1.0),
        lambda: Quantile("age", Bins(0, 1, 16), 0.5, 0.0),
        lambda: HeavyHitters("word", 1.0, 0),
        lambda: HeavyHitters("word", 1.0, 9, UserTotals("user", Norm.L1, 2.0)),
        lambda: HeavyHitters.for_delta("word", 1.0, 0.0),
        lambda: HeavyHitters("word", 1.0, 9).guarantee(Adjacency.REPLACE_ONE),
        lambda: Count().gaussian(-1.0),
    ],
)
def test_mistakes_are_refused(mistake: Any) -> None:
    with pytest.raises(ArgumentError):
        mistake()


@pytest.mark.parametrize(
    "text",
    [
        '{"is": "os.system"}',
        '{"mechanism": "nothing"}',
        '{"mechanism": "gaussian_query", "query": 3, "scale": 1}',
        '{"mechanism": "gaussian_query", "query": {"is": "Count"}}',
        '{"is": "Count", "people": 1}',
        '{"is": "Numbers", "low": 0, "high": 1, "outside": {"is": "Outside", "value": "ignore"}}',
        "{}",
    ],
)
def test_json_that_describes_nothing_is_refused(text: str) -> None:
    with pytest.raises(ArgumentError):
        from_json(json.loads(text))


def test_noisy_queries_are_explained() -> None:
    plan = QUERIES["histogram"].gaussian(9.0) + QUERIES["sum"].laplace(500.0)
    assert "histogram(town, age) with gaussian(9.0)" in str(explain(plan))


def test_a_check_reads_no_record() -> None:
    with pytest.raises(DataError, match="unknown column 'nothing'"):
        Sum("nothing", AGE).check(DATA)
    with pytest.raises(DataError, match="unknown column 'nothing'"):
        HeavyHitters("nothing", 1.0, 9).release(DATA)
    days = DATA | {"day": np.array(["2020-01-01"] * ROWS, dtype="datetime64[D]")}
    for query in (
        HeavyHitters("day", 1.0, 9),
        HeavyHitters("word", 1.0, 9, UserRecords("day", 2)),
        Quantile("day", Bins(0, 1, 2), 0.5, 1.0),
    ):
        with pytest.raises(DataError, match="'day' holds dates or times, which cannot be read as"):
            query.check(days)
    Count().gaussian(1.0).check(DATA)
    Sum("age", Numbers(0, 1)).check(DATA)
