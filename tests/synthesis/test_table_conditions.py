"""Rows given some of their columns, and rules that no row breaks: exact, against sums over all cells."""

import itertools
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from indistinct import Budget
from indistinct.data import Bins, Categories, Intervals, OrMissing, Tables
from indistinct.errors import ArgumentError
from indistinct.synthesis.tables import Determined, Forbidden, Mixture, SyntheticTable, TableSynthesizer
from indistinct.synthesis.tables.generator import spread
from indistinct.synthesis.tables.regions import Region
from indistinct.synthesis.tables.rounds import _rounded

AXES = {
    "age": Intervals([0, 10, 20, 100], whole=True),
    "pay": OrMissing(Bins(0, 8, 2)),
    "job": Categories(["none", "some"]),
    "rich": Categories([0, 1]),
}
WORKS = {"works": Determined("job", {"none": False, "some": True})}
RULES = [
    Forbidden({"age": (0, 14), "job": "some"}),
    Forbidden({"job": "none", "pay": [(6, None), None]}),
    Forbidden({"rich": 1, "pay": (0, 1)}),
]
Row = dict[str, object]


def table(rules: list[Forbidden] | None = None, seed: int = 0, components: int = 3) -> SyntheticTable:
    design = TableSynthesizer(AXES | WORKS, label="rich", rules=rules or [])
    draw = np.random.default_rng(seed)
    parts = [draw.dirichlet([0.7] * size, (2, components)) for size in design.sizes]
    return SyntheticTable(
        design, Mixture(design.sizes, draw.dirichlet([2, 2]), np.concatenate(parts, axis=2))
    )


@cache
def every_row() -> list[tuple[float, Row]]:
    """All rows with their chance by plain sums; numbers of "pay" by quarters of a unit, in their middle."""
    mixture = table().mixture
    pays = [*(np.arange(32) / 4 + 0.125).tolist(), None]
    ages, found = list(range(101)), []
    for age, pay, job, rich in itertools.product(ages, pays, ["none", "some"], [0, 1]):
        cell = 0 if age < 10 else 1 if age < 20 else 2
        held = 2 if pay is None else int(pay >= 4)
        places = cell, held, int(job == "some")
        shares = [1 / (10, 10, 81)[cell], 1.0 if pay is None else 1 / 16, 1.0]
        chances = [
            mixture.chances[rich, :, part][:, place] * share
            for part, place, share in zip(mixture.columns, places, shares, strict=True)
        ]
        chance = mixture.shares[rich] * np.mean(np.prod(chances, axis=0))
        found.append((float(chance), {"age": age, "pay": pay, "job": job, "rich": rich}))
    return found


def breaks(row: Row) -> bool:
    age, pay, job, rich = row.values()
    return bool(
        (age <= 14 and job == "some")  # type: ignore[operator]
        or (job == "none" and (pay is None or pay >= 6))  # type: ignore[operator]
        or (rich == 1 and pay is not None and pay <= 1)  # type: ignore[operator]
    )


def shares_of(rows: list[tuple[float, Row]]) -> dict[tuple[object, ...], float]:
    """Of coarse cells that no condition respects."""
    total = sum(chance for chance, _ in rows)
    found: dict[tuple[object, ...], float] = {}
    for chance, row in rows:
        key = _coarse(row["age"], row["pay"], row["job"], row["rich"])
        found[key] = found.get(key, 0.0) + chance / total
    return found


def _coarse(age: object, pay: object, job: object, rich: object) -> tuple[object, ...]:
    return (
        int(age) // 5 // 2 if int(age) < 20 else 9,
        None if pay is None else int(float(pay) // 2),
        job,
        rich,
    )  # type: ignore[call-overload, arg-type]


CONDITIONS = [
    ({}, lambda row: True),
    ({"age": (12, 15)}, lambda row: 12 <= row["age"] <= 15),
    ({"age": 33, "rich": 1}, lambda row: row["age"] == 33 and row["rich"] == 1),
    (
        {"pay": [(1, 3), None], "job": ["some"]},
        lambda row: (row["pay"] is None or 1 <= row["pay"] <= 3) and row["job"] == "some",
    ),
    ({"works": False, "age": (None, 5)}, lambda row: row["job"] == "none" and row["age"] <= 5),
]


@pytest.mark.parametrize("rules", [[], RULES], ids=["free", "ruled"])
@pytest.mark.parametrize(("asked", "holds"), CONDITIONS)
def test_draws_are_those_of_the_model_given_what_is_asked(rules: list[Forbidden], asked: Row, holds) -> None:  # type: ignore[no-untyped-def]
    fitted = table(rules)
    truth = shares_of([(p, row) for p, row in every_row() if holds(row) and not (rules and breaks(row))])
    many = 20_000
    drawn = fitted.columns(many, given=asked, seed=3)
    pays = [None if np.isnan(pay) else pay for pay in drawn["pay"].tolist()]
    rows = zip(drawn["age"].tolist(), pays, drawn["job"].tolist(), drawn["rich"].tolist(), strict=True)
    found: dict[tuple[object, ...], float] = {}
    for age, pay, job, rich in rows:
        row = {"age": age, "pay": pay, "job": job, "rich": rich}
        assert holds(row) and not (rules and breaks(row))
        key = _coarse(age, pay, job, rich)
        found[key] = found.get(key, 0.0) + 1 / many
    assert set(found) <= set(truth)
    assert sum(abs(found.get(key, 0.0) - share) for key, share in truth.items()) / 2 < 0.03
    assert (drawn["works"] == (drawn["job"] == "some")).all()


@given(st.integers(0, 10**6))
@settings(deadline=None, max_examples=20)
def test_boxes_are_disjoint_and_leave_what_rules_leave(seed: int) -> None:
    draw = np.random.default_rng(seed)
    axes = {name: Categories(range(int(draw.integers(2, 4)))) for name in "abcd"}
    rules = []
    for _ in range(draw.integers(1, 6)):
        chosen = draw.permutation(list("abcd"))[: draw.integers(1, 4)]
        rules.append({str(name): [int(draw.integers(axes[str(name)].size))] for name in chosen})
    cells = list(itertools.product(*(range(axis.size) for axis in axes.values())))
    allowed = [
        not any(all(cell["abcd".index(name)] in own for name, own in rule.items()) for rule in rules)
        for cell in cells
    ]
    try:
        region = Region.of(axes, {}, rules)
    except ArgumentError:
        assert not any(allowed)
        return
    for cell, fine in zip(cells, allowed, strict=True):
        inside = [
            sum(all(mask[cell["abcd".index(name)]] for name, mask in box.items()) for box in boxes)
            for boxes in region.groups
        ]
        assert set(inside) <= {0, 1} and all(inside) is fine


def test_expected_counts_are_rounded() -> None:
    fitted = table(components=1)
    asked = fitted.columns(1000, given={"rich": 1, "age": (0, 19)})
    law = fitted.mixture.chances[1, 0]
    job, young = (asked["job"] == "some").sum(), (asked["age"] < 10).sum()
    assert abs(job - 1000 * law[7]) < 1 and abs(young - 1000 * law[0] / (law[0] + law[1])) < 1
    found = spread(np.array([5, 2, 5, 5, 2]), np.random.default_rng(0).random((5, 2)))
    assert sorted((found[[0, 2, 3]] * 3).astype(int)) == [0, 1, 2]
    assert sorted((found[[1, 4]] * 2).astype(int)) == [0, 1]


def test_rare_and_impossible() -> None:
    design = TableSynthesizer({"a": Categories([0, 1]), "b": Categories([0, 1]), "c": Bins(0, 1, 2)})
    chances = np.array([[[1 - 1e-30, 1e-30, 0.5, 0.5, 1.0, 0.0], [1.0, 0.0, 1.0, 0.0, 1.0, 0.0]]])
    fitted = SyntheticTable(design, Mixture(design.sizes, np.ones(1), chances))
    rare = fitted.columns(2000, given={"a": 1})
    assert (rare["a"] == 1).all() and 0.4 < rare["b"].mean() < 0.6  # the first component alone has it
    with pytest.raises(ArgumentError, match="'c'"):
        fitted.columns(1, given={"a": 1, "c": (0.7, 0.8)})
    chances[0] = [[1.0, 0.0, 0.0, 1.0, 1.0, 0.0], [0.0, 1.0, 1.0, 0.0, 1.0, 0.0]]
    apart = SyntheticTable(design, Mixture(design.sizes, np.ones(1), chances))
    with pytest.raises(ArgumentError, match=r"'a', 'b'.*together"):
        apart.columns(1, given={"a": 1, "b": 1})
    assert fitted.columns(3, given={"c": 0.25})["c"].tolist() == [0.25] * 3
    assert len(fitted.columns(0, given={"a": 0})["a"]) == 0


@pytest.mark.parametrize(
    "wrong",
    [
        {"height": 1},
        {"age": (200, 300)},
        {"age": (30, 20)},
        {"age": (30.2, 30.8)},
        {"age": (1, 2, 3)},
        {"age": None},
        {"age": "old"},
        {"age": []},
        {"job": "many"},
        {"job": ("none", "some")},
        {"rich": True},
        {"works": "maybe"},
        {"works": True, "job": "some"},
        ["age"],
    ],
)
def test_conditions_that_mean_nothing_are_refused(wrong: object) -> None:
    with pytest.raises(ArgumentError):
        table().columns(1, given=wrong)  # type: ignore[arg-type]
    if isinstance(wrong, dict):
        with pytest.raises(ArgumentError):
            TableSynthesizer(AXES | WORKS, rules=[Forbidden(wrong)])


def test_rules_that_leave_nothing_or_too_much_are_refused() -> None:
    with pytest.raises(ArgumentError, match="leave some"):
        TableSynthesizer(AXES, rules=[Forbidden({"rich": 0}), Forbidden({"rich": 1})])
    columns = {f"c{at}": Categories(range(4)) for at in range(13)}
    chain = [Forbidden({f"c{at}": 0, f"c{at + 1}": 1}) for at in range(12)]
    with pytest.raises(ArgumentError, match="parts"):
        TableSynthesizer(columns, rules=chain)
    apart = TableSynthesizer(columns, rules=chain[::2])  # no two of them share a column
    assert max(len(boxes) for boxes in apart.region().groups) == 2


def test_rules_are_saved_and_help_the_fit(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    pytest.importorskip("safetensors")
    from indistinct.synthesis.tables import TableTraining

    fitted = table(RULES)
    fitted.save(tmp_path / "table")
    again = SyntheticTable.load(tmp_path / "table")
    assert again.synthesizer == fitted.synthesizer and again.synthesizer.rules == tuple(RULES)
    for name, values in fitted.columns(50, given={"age": (3, 30)}).items():
        assert np.array_equal(
            again.columns(50, given={"age": (3, 30)})[name], values, equal_nan=name == "pay"
        )
    axes = {"a": Categories([0, 1]), "b": Categories([0, 1])}
    design = TableSynthesizer(axes, rules=[Forbidden({"a": 1, "b": 1})])
    rows = {"a": np.array([0, 1] * 500), "b": np.array([1, 0] * 500)}
    made = design.fit(
        rows, Budget(epsilon=5, delta=1e-6), training=TableTraining(components=8, width=8, steps=40)
    ).columns(2000)
    assert not (made["a"] & made["b"]).any()
    noisy = {("a",): np.array([5.0, 5.0]), ("b",): np.ones(2), ("a", "b"): np.full((2, 2), 9.0)}
    from indistinct.synthesis.tables.regions import known_zeros

    zeroed = known_zeros(noisy, axes, design.forbidden)
    assert zeroed["a", "b"].tolist() == [[9, 9], [9, 0]] and zeroed["a",].tolist() == [5, 5]
    assert Tables(axes, [("a", "b")]).statistic(made).values[3] == 0


def test_what_a_type_would_round_has_no_conditions() -> None:
    columns = {"x": Intervals([100.0, 150.5, 1000.0]), "job": Categories(["none", "some"])}
    with pytest.raises(ArgumentError, match="beside rules"):
        TableSynthesizer(columns, types={"x": "int64"}, rules=[Forbidden({"x": (100, 150.5)})])
    design = TableSynthesizer(columns, types={"x": "float32"})
    one = Mixture(design.sizes, np.ones(1), np.full((1, 1, 4), 0.5))
    fitted = SyntheticTable(design, one)
    with pytest.raises(ArgumentError, match="beside given"):
        fitted.sample(3, given={"x": (150.3, 700.1)})
    assert len(fitted.sample(3, given={"job": "none"})) == 3


def test_values_are_those_that_were_declared() -> None:
    large = 2**53
    columns = {"x": OrMissing(Categories([large, large + 1])), "job": Categories(["none", "some"])}
    rules = {"y": Determined("job", {"none": 1, "some": "x"})}
    design = TableSynthesizer(columns | rules)
    fitted = SyntheticTable(
        design, Mixture(design.sizes, np.ones(1), np.array([[[0.3, 0.4, 0.3, 0.5, 0.5]]])), None
    )
    found = fitted.columns(50, given={"x": large + 1, "y": 1})
    assert set(found["x"].tolist()) == {large + 1}
    assert set(found["y"].tolist()) == {1}
    for value in (float("nan"), (1, 2)):
        with pytest.raises(ArgumentError, match="values"):
            Determined("job", {"none": value, "some": 1})
    with pytest.raises(ArgumentError, match="all_of"):
        Forbidden({"x": np.datetime64("2020-01-01")})


def test_distances_are_exact_however_large_a_guess_is() -> None:
    guess = np.array([[1e300, -1e25], [np.nan, 3.0004]])
    own = _rounded(guess)
    assert np.abs(own).sum() <= 2.0**42
    assert own[1, 1] == 3.0
    counts = np.array([[5.0, 0.0], [2.0, 1.0]])
    more = np.array([[5.0, 0.0], [3.0, 1.0]])
    assert abs(np.abs(more - own).sum() - np.abs(counts - own).sum()) == 1.0
