"""Synthetic tables: several tables of counts in one sum, the generator that fits them, and what comes out."""

import itertools
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from untouched import Untouched

from indistinct import Adjacency, Budget, from_json
from indistinct.data import (
    Bins,
    Categories,
    Celled,
    Intervals,
    Missing,
    Norm,
    OrMissing,
    Outside,
    Tables,
    UserRecords,
    pandas_frame,
    read_parquet,
    table,
)
from indistinct.errors import ArgumentError, DataError
from indistinct.functions.public_randomness import PublicUniforms
from indistinct.ledger import Ledger
from indistinct.mechanisms.release import Released
from indistinct.noise import NotPrivateSource
from indistinct.synthesis.tables import Determined, Mixture, SyntheticTable, TableSynthesizer, TableTraining
from indistinct.synthesis.tables.fitted import averaged
from indistinct.synthesis.tables.rounds import deviations, distances
from indistinct.synthesis.tables.rounds import moved as distances_moved
from indistinct.synthesis.tables.trading import traded

AXES = {
    "age": Intervals([0, 18, 40, 65, 120], whole=True),
    "job": OrMissing(Categories(["none", "some"])),
    "pay": Bins(0, 1, 3),
    "rich": Categories([0, 1]),
}
WORKS = {"works": Determined("job", {"none": 0, "some": 1, None: -1})}
DESIGN = TableSynthesizer(AXES | WORKS, label="rich", types={"age": "int16", "job": "category"})
QUICK = TableTraining(components=32, width=32, steps=60)


def records(count: int, seed: int = 0) -> dict[str, np.ndarray]:
    draw = np.random.default_rng(seed)
    age = draw.integers(0, 121, count)
    job = np.where(draw.random(count) < 0.1, None, np.where(age > 40, "some", "none"))
    return {"age": age, "job": job, "pay": draw.random(count), "rich": (age > 40).astype(np.int64)}


def test_tables_are_histograms() -> None:
    data = records(500)
    query = Tables(AXES, [("rich",), ("age", "job"), ("job", "rich", "pay")])
    tables = query.read(query.statistic(data).values)
    ages = np.minimum(np.searchsorted([0, 18, 40, 65], data["age"], side="right") - 1, 3)
    jobs = np.array([{"none": 0, "some": 1, None: 2}[job] for job in data["job"]])
    expected = np.zeros((4, 3))
    np.add.at(expected, (ages, jobs), 1)
    assert (tables["age", "job"] == expected).all()
    assert tables["job", "rich", "pay"].shape == (3, 2, 3)
    assert all(part.sum() == 500 for part in tables.values())
    assert tables["rich",].tolist() == np.bincount(data["rich"]).tolist()


@given(st.integers(0, 10**6), st.integers(1, 40))
@settings(deadline=None, max_examples=30)
def test_sensitivity_is_kept_and_reached(seed: int, count: int) -> None:
    query = DESIGN.query
    data = records(count + 1, seed)
    without = {name: values[:-1] for name, values in data.items()}
    other = {name: np.concatenate([values[:-1], values[:1]]) for name, values in data.items()}
    full, less, moved = (query.statistic(each).values for each in (data, without, other))
    assert np.linalg.norm(full - less) ** 2 == pytest.approx(len(query.groups))
    assert np.linalg.norm(full - less) <= query.sensitivity(Norm.L2)
    assert np.linalg.norm(full - moved) <= query.sensitivity(Norm.L2, Adjacency.REPLACE_ONE)
    assert query.sensitivity(Norm.L2, Adjacency.REPLACE_ONE) == pytest.approx(
        math.sqrt(2 * len(query.groups))
    )


def test_rows_add_up_to_the_sum() -> None:
    encoding, data = DESIGN.query.encoding, records(50)
    batch = next(table(data).batches(encoding.types, None))  # type: ignore[attr-defined]
    keep, rows = encoding.encode(batch)
    assert keep.all() and (rows.sum(axis=0) == encoding.add_up(batch)).all()


def test_queries_read_back_equal() -> None:
    noisy = DESIGN.query.gaussian(scale=3)
    assert from_json(noisy.to_json()) == noisy


@pytest.mark.parametrize(
    ("policy", "value"),
    [(Missing.ERROR, np.nan), (Outside.ERROR, -1.0)],
)
def test_what_is_not_declared_is_refused(policy: object, value: float) -> None:
    axes = {"x": Intervals([0, 1, 2], outside=Outside.ERROR, missing=Missing.ERROR)}
    with pytest.raises(DataError, match="'x'"):
        Tables(axes, [("x",)]).statistic({"x": np.array([0.5, value])})


def test_dropped_records_count_nowhere() -> None:
    axes = {"x": Intervals([0, 1, 2], outside=Outside.DROP, missing=Missing.DROP), "y": Bins(0, 1, 2)}
    data = {"x": np.array([0.5, np.nan, 9.0, 2.0]), "y": np.full(4, 0.2)}
    query = Tables(axes, [("x",), ("y",)])
    assert query.statistic(data).values.tolist() == [1, 1, 2, 0]


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: Intervals([1]),
        lambda: Intervals([0, 0, 1]),
        lambda: Intervals([0, math.inf]),
        lambda: Intervals([0.1, 0.2, 3], whole=True),
        lambda: Tables(AXES, []),
        lambda: Tables(AXES, [("age", "age")]),
        lambda: Tables(AXES, [("height",)]),
        lambda: TableSynthesizer(AXES, label="height"),
        lambda: TableSynthesizer({"rich": AXES["rich"]}, label="rich"),
        lambda: TableSynthesizer(AXES | {"works": Determined("job", {"none": 0, "some": 1})}),
        lambda: TableSynthesizer(AXES | {"works": Determined("age", {})}),
        lambda: TableSynthesizer(AXES | {"works": Determined("works", {})}),
        lambda: TableSynthesizer(AXES, types={"height": "int8"}),
        lambda: TableSynthesizer({"age": OrMissing(AXES["age"])}, types={"age": "int64"}),
        lambda: TableTraining(steps=0),
        lambda: TableTraining(price=-1.0),
        lambda: TableTraining(label_price=-1.0),
        lambda: Mixture((2,), np.ones(1), np.full((1, 1, 2), 0.4)),
        lambda: Mixture((2,), np.ones(1), np.full((1, 2), 0.5)),
    ],
)
def test_bad_declarations_are_refused(wrong: object) -> None:
    with pytest.raises(ArgumentError):
        wrong()  # type: ignore[operator]


def test_mixture_draws_what_it_says() -> None:
    chances = np.array(
        [[[0.9, 0.1, 0.2, 0.8], [0.5, 0.5, 1.0, 0.0]], [[0.0, 1.0, 0.3, 0.7], [1.0, 0.0, 0.6, 0.4]]]
    )
    mixture = Mixture((2, 2), np.array([0.3, 0.7]), chances)
    labels, cells = mixture.sample(200_000, PublicUniforms(1))
    found = np.zeros((2, 2, 2))
    np.add.at(found, (labels, cells[:, 0], cells[:, 1]), 1 / 200_000)
    assert np.abs(found - mixture.table((0, 1), by_label=True)).max() < 0.005


def test_rows_that_trade_come_nearer_to_the_mixture(monkeypatch: pytest.MonkeyPatch) -> None:
    """How often a component has a value stays as it was, and tables of two columns, with which it has nothing
    to do otherwise, lose most of what chance adds to them, those by label too."""
    draw = np.random.default_rng(3)
    sizes, components, rows = (3, 2, 4, 3), 5, 4000
    parts = [draw.dirichlet(np.ones(size), (2, components)) for size in sizes]
    mixture = Mixture(sizes, np.array([0.3, 0.7]), np.concatenate(parts, axis=2))
    seen: list[tuple[Any, Any, Any]] = []

    def noted(of: Mixture, own: Any, cells: Any, public: PublicUniforms) -> Any:
        seen.append((own, cells.copy(), traded(of, own, cells, public)))
        return seen[-1][2]

    monkeypatch.setattr("indistinct.synthesis.tables.generator.traded", noted)
    labels, _ = mixture.sample(rows, PublicUniforms(4))
    ((own, before, after),) = seen
    assert (labels == own // components).all() and (before != after).any()

    def errors(cells: Any) -> float:
        found = 0.0
        for a, b in itertools.combinations(range(len(sizes)), 2):
            counts = np.zeros((2, sizes[a], sizes[b]))
            np.add.at(counts, (labels, cells[:, a], cells[:, b]), 1)
            found += np.abs(counts - rows * mixture.table((a, b), by_label=True)).sum()
        return float(found)

    for column, size in enumerate(sizes):
        one, other = (np.bincount(own * size + cells[:, column]) for cells in (before, after))
        assert (one == other).all()
    assert errors(after) < 0.5 * errors(before)
    monkeypatch.setattr("indistinct.synthesis.tables.trading._MOST", 10)
    assert (traded(mixture, own, before, PublicUniforms(4)) == before).all()


def test_fit_draws_the_declared_table() -> None:
    pytest.importorskip("torch")
    pd = pytest.importorskip("pandas")
    data = pd.DataFrame(records(4000)).astype({"age": "int16", "job": "category"})
    data["works"] = 0
    fitted = DESIGN.fit(data, Budget(epsilon=2, delta=1e-5), training=QUICK, source=NotPrivateSource(3))
    frame = fitted.sample(3000, seed=5)
    assert (frame.dtypes.drop("job") == data.dtypes.drop("job")).all()
    assert frame["job"].cat.categories.tolist() == ["none", "some"]
    assert list(frame.columns) == list(data.columns)
    assert frame["age"].between(0, 120).all() and frame["pay"].between(0, 1).all()
    assert (frame["works"] == frame["job"].astype(object).map({"none": 0, "some": 1}).fillna(-1)).all()
    assert abs(frame["job"].isna().mean() - 0.1) < 0.05
    assert np.corrcoef(frame["age"], frame["rich"])[0, 1] > 0.6
    assert frame.equals(fitted.sample(3000, seed=5)) and not frame.equals(fitted.sample(3000, seed=6))
    assert fitted.guarantee().epsilon(delta=1e-5) == math.inf  # the noise came from a seed
    again = DESIGN.fit(data, Budget(epsilon=2, delta=1e-5), training=QUICK, source=NotPrivateSource(3))
    assert (again.mixture.chances == fitted.mixture.chances).all()


def test_rules_are_kept_by_rejection() -> None:
    pytest.importorskip("torch")
    fitted = DESIGN.fit(records(1000), Budget(epsilon=5, delta=1e-5), training=QUICK)
    assert fitted.guarantee().epsilon(delta=1e-5) == pytest.approx(5)
    old = fitted.columns(500, accept=lambda columns: columns["age"] >= 65)
    assert len(old["age"]) == 500 and (old["age"] >= 65).all()
    with pytest.raises(DataError, match="accepted"):
        fitted.columns(10, accept=lambda columns: columns["age"] > 200)


def test_without_label_and_without_signal() -> None:
    pytest.importorskip("torch")
    design = TableSynthesizer({name: AXES[name] for name in ("age", "job")})
    data = {name: values for name, values in records(300).items() if name in ("age", "job")}
    nearly_nothing = design.fit(
        data, Budget(epsilon=1e-3, delta=1e-6), training=QUICK, source=NotPrivateSource(1)
    )
    assert np.isfinite(nearly_nothing.mixture.chances).all()
    assert len(nearly_nothing.columns(20)["age"]) == 20
    exact = design.mixture(design.query.read(design.query.statistic(data).values), 0.0, QUICK)
    age_and_job = exact.table((0, 1)) * 300
    truth = design.query.read(design.query.statistic(data).values)["age", "job"]
    assert np.abs(age_and_job - truth).sum() < 0.2 * 300


def test_evaluation_tells_copies_from_noise() -> None:
    pytest.importorskip("sklearn")
    from indistinct.synthesis.tables.evaluation import learned, nearness, table_errors

    used, others = records(400, 1), records(400, 2)
    shuffled = {
        name: np.random.default_rng(at).permutation(part) for at, (name, part) in enumerate(used.items())
    }
    assert table_errors(DESIGN, used, used) == 0
    assert table_errors(DESIGN, shuffled, used, ways=1) == 0 < table_errors(DESIGN, shuffled, used)
    good, bad = learned(DESIGN, used, others), learned(DESIGN, shuffled, others)
    assert good.boosting > 0.99 and good.logistic > 0.95 and abs(bad.boosting - 0.5) < 0.3
    copied = [nearness(DESIGN, used, some) for some in (used, others)]
    assert copied[0].copies == 1 and copied[0].distance == 0 < copied[1].distance
    fair = [nearness(DESIGN, records(400, 3), some) for some in (used, others)]
    assert fair[0].copies == fair[1].copies == 0
    assert fair[0].distance == pytest.approx(fair[1].distance, rel=0.2)


def test_generators_read_back_equal(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    pytest.importorskip("safetensors")
    fitted = DESIGN.fit(records(500), Budget(epsilon=2, delta=1e-5), training=QUICK)
    fitted.save(tmp_path / "table")
    again = SyntheticTable.load(tmp_path / "table")
    assert isinstance(again, Released) and again.private and again.mechanism == fitted.mechanism
    assert again.synthesizer == fitted.synthesizer
    assert again.guarantee().epsilon(delta=1e-5) == fitted.guarantee().epsilon(delta=1e-5)
    for name, values in fitted.columns(100).items():
        assert (again.columns(100)[name] == values).all()
    assert (again.trained(QUICK).mixture.chances == fitted.mixture.chances).all()
    (tmp_path / "other").write_bytes(b"not a table")
    with pytest.raises(ArgumentError, match="other: it is not a whole"):
        SyntheticTable.load(tmp_path / "other")


@pytest.mark.parametrize(
    ("column", "values", "message"),
    [
        ("pay", np.array(["2020-01-01"] * 2, dtype="datetime64[D]"), "cannot be read as numbers"),
        ("rich", None, "unknown column 'rich'"),
    ],
)
def test_bad_data_spend_nothing(column: str, values: np.ndarray | None, message: str) -> None:
    pytest.importorskip("torch")
    data = {name: part[:2] for name, part in records(2).items()} | {column: values}
    data = {name: part for name, part in data.items() if part is not None}
    with pytest.raises(DataError, match=message):
        DESIGN.fit(data, Budget(epsilon=1, delta=1e-5), training=QUICK, source=Untouched())


def test_constant_columns_and_empty_labels() -> None:
    pytest.importorskip("torch")
    axes = {"x": Categories(["always"]), "z": Intervals([0, 1]), "y": Categories(["no", "yes", "never"])}
    data = {"x": np.array(["always"] * 60), "z": np.full(60, 0.5), "y": np.array(["no", "yes"] * 30)}
    fitted = TableSynthesizer(axes, label="y").fit(data, Budget(epsilon=10, delta=1e-5), training=QUICK)
    columns = fitted.columns(200)
    assert set(columns["x"]) == {"always"} and (columns["y"] == "never").mean() < 0.3


@pytest.mark.parametrize("epsilon", [1e-3, 1.0, 50.0])
def test_a_label_that_nobody_has(epsilon: float) -> None:
    """That nobody has it is not known beforehand: it gets what the noise says, and nothing breaks."""
    pytest.importorskip("torch")
    axes = {"x": Bins(0, 1, 3), "y": Categories(["some", "nobody"])}
    data = {"x": np.linspace(0, 1, 400), "y": np.array(["some"] * 400)}
    fitted = TableSynthesizer(axes, label="y").fit(
        data, Budget(epsilon=epsilon, delta=1e-5), training=QUICK, source=NotPrivateSource(2)
    )
    columns = fitted.columns(400)
    assert np.isfinite(fitted.mixture.chances).all() and set(columns["y"]) <= {"some", "nobody"}
    assert epsilon < 1 or (columns["y"] == "nobody").mean() < 0.1


@pytest.mark.parametrize(
    ("domain", "values"),
    [
        (Categories(["a", "b"]), np.array(["a"] * 30 + ["b"] * 10)),
        (Categories(["a"]), np.array(["a"] * 40)),
        (Intervals([0, 1]), np.full(40, 0.5)),
        (OrMissing(Intervals([0, 5, 9], whole=True)), np.where(np.arange(40) % 4, 3.0, np.nan)),
        (Bins(0, 1, 8), np.full(40, 0.3)),
    ],
)
def test_one_column_only(domain: Celled, values: np.ndarray) -> None:
    pytest.importorskip("torch")
    fitted = TableSynthesizer({"x": domain}).fit(
        {"x": values}, Budget(epsilon=60, delta=1e-5), training=QUICK
    )
    (made,) = fitted.columns(400).values()
    assert len(made) == 400 and made.dtype.kind == values.dtype.kind.replace("U", "O")
    truth, found = (
        Tables({"x": domain}, [("x",)]).statistic({"x": part}).values / len(part) for part in (values, made)
    )
    assert np.abs(truth - found).sum() < 0.3


def test_a_column_that_is_constant_in_the_records() -> None:
    pytest.importorskip("torch")
    data = records(600) | {"pay": np.full(600, 0.5), "job": np.array(["some"] * 600, dtype=object)}
    fitted = DESIGN.fit(data, Budget(epsilon=20, delta=1e-5), training=QUICK)
    columns = fitted.columns(500)
    assert (columns["job"] == "some").mean() > 0.9 and (np.abs(columns["pay"] - 0.5) < 1 / 6).mean() > 0.9


def test_no_records_at_all_are_noise() -> None:
    nothing = {name: values[:0] for name, values in records(2).items()}
    tables = DESIGN.query.gaussian(scale=2).release(nothing, source=NotPrivateSource(1)).values
    assert any(counts.any() for counts in tables.values())


def test_engines_count_the_same(tmp_path: Path) -> None:
    pytest.importorskip("duckdb")
    pd = pytest.importorskip("pandas")
    data = records(300)
    pd.DataFrame(data).to_parquet(tmp_path / "records.parquet")
    here, there = (
        DESIGN.query.statistic(each) for each in (data, read_parquet(tmp_path / "records.parquet"))
    )
    assert (here.values == there.values).all()


def test_users_are_bounded() -> None:
    query = Tables(AXES, [("age",), ("job", "pay")], unit=UserRecords("who", 2))
    data = records(40) | {"who": np.repeat(np.arange(4), 10)}
    assert query.statistic(data).values.sum() == 4 * 2 * 2
    assert query.sensitivity(Norm.L2) == pytest.approx(2 * math.sqrt(2))


def test_a_table_remembers_whom_it_was_fitted_for(tmp_path: Path) -> None:
    synthesizer = TableSynthesizer({"a": Categories(["x", "y"]), "b": Categories(["u", "v"])})
    rows = {"a": ["x", "y"] * 20, "b": ["u", "v"] * 20}
    budget = Budget(epsilon=1, delta=1e-6)
    quick = TableTraining(components=4, latent=2, width=4, steps=2)
    table = synthesizer.fit(rows, budget, adjacency="replace-one", training=quick)
    table.save(tmp_path / "t.safetensors")
    for one in (table, SyntheticTable.load(tmp_path / "t.safetensors")):
        assert one.guarantee().epsilon(1e-6) == pytest.approx(1.0)
        assert one.guarantee("add-remove").epsilon(1e-6) < 0.9


def test_a_later_release_adds_to_a_saved_one(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    pytest.importorskip("safetensors")
    quick = TableTraining(components=4, latent=2, width=4, steps=2)
    data, budget = records(300), Budget(epsilon=1, delta=1e-6)
    with Ledger.open(tmp_path / "budget.db") as ledger:
        account = ledger.open_account("people", Budget(epsilon=3, delta=1e-6))
        DESIGN.fit(data, budget, training=quick, ledger=account).save(tmp_path / "first")
        first = SyntheticTable.load(tmp_path / "first")
        both = first.continued(data, Budget(epsilon=2, delta=1e-6), training=quick, ledger=account)
        spent = account.guarantee().epsilon(delta=1e-6)
    assert both.guarantee().epsilon(delta=1e-6) == pytest.approx(spent, rel=1e-6)
    assert 2 < spent < 3 and both.mechanism == first.mechanism + both.releases[1].mechanism
    tables, spread = averaged(both.releases)
    group = ("rich", "age")
    noises = [deviations(release.mechanism)[group] for release in both.releases]
    assert spread[group] == pytest.approx(1 / math.sqrt(sum(noise**-2 for noise in noises)))
    assert spread[group] < min(noises)
    one, other = (release.values[group] for release in both.releases)
    share = noises[1] ** 2 / (noises[0] ** 2 + noises[1] ** 2)
    assert np.allclose(tables[group], share * one + (1 - share) * other)
    query = Tables(AXES, list(tables))
    exact = query.read(query.statistic(data).values)
    errors = np.concatenate([((tables[key] - exact[key]) / spread[key]).ravel() for key in exact])
    assert 0.6 < errors.std() < 1.4
    both.save(tmp_path / "both")
    again = SyntheticTable.load(tmp_path / "both")
    assert again.mechanism == both.mechanism and again.private
    assert (again.trained(quick).mixture.chances == both.mixture.chances).all()
    thrice = again.continued(data, budget, training=quick, source=NotPrivateSource(1))
    assert len(thrice.releases) == 3 and not thrice.private
    assert thrice.guarantee().epsilon(delta=1e-6) == math.inf


def test_a_fit_depends_on_what_the_noise_is_in_shares_of_the_records() -> None:
    """Counts and noise that are both 64 times larger say the same, and so they do with a price besides."""
    tables = {
        key: value + 1.0
        for key, value in DESIGN.query.read(DESIGN.query.statistic(records(500, 1)).values).items()
    }
    larger = {key: 64 * value for key, value in tables.items()}
    once, again = (DESIGN.mixture(own, noise, QUICK) for own, noise in ((tables, 5.0), (larger, 320.0)))
    assert np.allclose(once.chances, again.chances, atol=1e-3)
    assert not np.allclose(once.chances, DESIGN.mixture(larger, 5.0, QUICK).chances, atol=1e-2)


@given(st.integers(0, 10**6))
@settings(deadline=None, max_examples=20)
def test_distances_move_no_further_than_stated(seed: int) -> None:
    query = Tables(AXES, [("age", "job"), ("job", "pay"), ("age", "pay")])
    guesses = {group: np.random.default_rng(seed).random((4, 4)) * 3 for group in query.groups}

    def expected(group: tuple[str, ...]) -> np.ndarray:
        rows, columns = (AXES[name].size for name in group)
        return guesses[group][:rows, :columns]

    data = records(21, seed)
    without = {name: values[:-1] for name, values in data.items()}
    other = {name: np.concatenate([values[:-1], values[:1]]) for name, values in data.items()}
    full, less, moved = (distances(query, each, expected) for each in (data, without, other))
    steps = full / 2.0**-10
    assert (steps == np.rint(steps)).all()
    assert 0 < np.linalg.norm(full - less) <= distances_moved(3, Adjacency.ADD_REMOVE)
    assert np.linalg.norm(full - moved) <= distances_moved(3, Adjacency.REPLACE_ONE)


def test_distances_reach_what_is_stated() -> None:
    """An empty cell that was expected to be empty, and one record more in it; one of its two taken away."""
    query, zero = Tables({"x": Bins(0, 1, 2)}, [("x",)]), lambda group: np.array([0.0, 2.0])
    far = [distances(query, {"x": np.array(x)}, zero)[0] for x in ([0.9, 0.9], [0.9, 0.9, 0.1], [0.9, 0.1])]
    assert far[1] - far[0] == distances_moved(1, Adjacency.ADD_REMOVE)
    assert far[2] - far[0] == distances_moved(1, Adjacency.REPLACE_ONE)


@pytest.mark.parametrize("adjacency", list(Adjacency))
def test_all_rounds_together_meet_the_budget(adjacency: Adjacency) -> None:
    pytest.importorskip("torch")
    quick = TableTraining(components=4, latent=2, width=4, steps=2)
    fitted = DESIGN.fit(records(300), Budget(epsilon=1, delta=1e-6), adjacency=adjacency, training=quick)
    assert 1 - 1e-6 < fitted.guarantee().epsilon(delta=1e-6) <= 1
    stricter = fitted.guarantee(Adjacency.REPLACE_ONE).epsilon(delta=1e-6)
    assert stricter <= 1 if adjacency is Adjacency.REPLACE_ONE else stricter > 1.4


@pytest.mark.parametrize("label", [None, "c4"])
def test_what_three_columns_do_together_is_found(label: str | None) -> None:
    pytest.importorskip("torch")
    names = [f"c{place}" for place in range(5)]
    codes = np.random.default_rng(1).integers(0, 2, (8000, 5))
    codes[:, 4] = codes[:, 1] ^ codes[:, 2]
    design = TableSynthesizer({name: Categories([0, 1]) for name in names}, label=label)
    fitted = design.fit(
        dict(zip(names, codes.T, strict=True)),
        Budget(epsilon=2, delta=1e-5),
        training=TableTraining(components=64, width=64, steps=200, rate=0.02),
        source=NotPrivateSource(1),
    )
    assert {"c1", "c2", "c4"} in map(set, deviations(fitted.mechanism))
    made = fitted.columns(2000)
    assert np.mean(made["c4"] == made["c1"] ^ made["c2"]) > 0.9


def test_a_frame_without_rows_has_the_types_of_one_with_rows() -> None:
    pytest.importorskip("pandas")
    lists: dict[str, list[Any]] = {"text": ["a", "b"], "whole": [1, 2]}
    some = {"text": np.array(["a", None], dtype=object), "whole": np.array([1, 2]), "number": np.ones(2)}
    full = pandas_frame(some, {}, lists)
    for none in (slice(0, 0), slice(1, 2)):  # no rows, and none with a text
        found = pandas_frame({name: values[none] for name, values in some.items()}, {}, lists)
        assert (found.dtypes == full.dtypes).all()
