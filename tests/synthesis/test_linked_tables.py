"""Two linked tables: users are protected with all their visits, and what links the tables is kept."""

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from untouched import Untouched

from indistinct import Adjacency, Budget
from indistinct.data import Bins, Categories, Intervals, Norm, OrMissing, Records, Tables, linked
from indistinct.errors import ArgumentError, DataError
from indistinct.ledger import Ledger
from indistinct.mechanisms.release import Released
from indistinct.noise import NotPrivateSource
from indistinct.synthesis.tables import (
    Forbidden,
    LinkedSynthesizer,
    LinkedTables,
    TableSynthesizer,
    TableTraining,
)
from indistinct.synthesis.tables.linked import VISITS

PEOPLE = TableSynthesizer(
    {"age": Intervals([0, 40, 80], whole=True), "sex": OrMissing(Categories(["f", "m"]))}
)
DAYS = TableSynthesizer({"spent": Bins(0, 10, 2), "what": Categories(["tea", "cake"])})
DESIGN = LinkedSynthesizer(PEOPLE, DAYS, key="user", most=3)
QUICK = TableTraining(components=32, width=32, steps=150)
Data = dict[str, np.ndarray]


def small(seed: int, users: int, visits: int) -> tuple[Data, Data]:
    """Keys that come twice, visits of nobody, keys that are missing, users with too many visits."""
    draw = np.random.default_rng(seed)
    keys = np.array(["a", "b", "c", "d", "", None], dtype=object)
    people = {
        "user": draw.choice(keys[:6], users),
        "age": draw.integers(-9, 99, users),
        "sex": draw.choice(np.array(["f", "m", "?", None], dtype=object), users),
    }
    days = {
        "user": draw.choice(np.array(["a", "a", "b", "c", "nobody", "", None], dtype=object), visits),
        "spent": draw.random(visits) * 12,
        "what": draw.choice(np.array(["tea", "cake", "fish"], dtype=object), visits),
    }
    return people, days


def statistics(
    people: Data, days: Data, design: LinkedSynthesizer = DESIGN, unit: Any = None
) -> list[np.ndarray]:
    joined = linked(
        people,
        days,
        key="user",
        of_users=["age", "sex"],
        of_visits=["spent", "what"],
        count=VISITS,
        most=design.most,
    )
    queries = [noisy.query for noisy in design.noisy(1.0)]
    if unit is not None:
        queries = [Tables(dict(query.axes), query.groups, unit) for query in queries]  # type: ignore[attr-defined]
    return [query.statistic(table).values for query, table in zip(queries, joined, strict=True)]


def less(data: Data, key: Any) -> Data:
    keep = data["user"] != key
    return {name: values[keep] for name, values in data.items()}


@given(st.integers(0, 10**6), st.integers(0, 7), st.integers(0, 14))
@settings(deadline=None, max_examples=40)
def test_a_user_moves_both_sums_by_no_more_than_is_said(seed: int, users: int, visits: int) -> None:
    people, days = small(seed, users, visits)
    full = statistics(people, days)
    bounds = [noisy.query.sensitivity(Norm.L2) for noisy in DESIGN.noisy(1.0)]
    for key in ("a", "b", "c", "d", "", "nobody"):
        gone = statistics(less(people, key), less(days, key))
        for one, other, bound in zip(full, gone, bounds, strict=True):
            assert np.linalg.norm(one - other) <= bound
    # Visits alone, of somebody who is no user, or whose key is missing, change nothing.
    for key in ("nobody", None):
        assert all((a == b).all() for a, b in zip(full, statistics(people, less(days, key)), strict=True))
    moved = statistics(less(people, "a"), days)  # who is no user any more, and whose visits are left
    for one, other, noisy in zip(full, moved, DESIGN.noisy(1.0), strict=True):
        assert np.linalg.norm(one - other) <= noisy.query.sensitivity(Norm.L2, Adjacency.REPLACE_ONE)


def test_the_bound_is_reached_and_a_forgotten_user_is_seen() -> None:
    """All visits in one cell: √tables for the users, most·√tables for the visits. If every visit is taken for
    somebody else's, the same user moves the sum further than such a bound says."""
    people = {"user": np.array(["a", "a"]), "age": np.array([5, 50]), "sex": np.array(["f", "m"])}
    days = {"user": np.array(["a"] * 9), "spent": np.ones(9), "what": np.array(["tea"] * 9)}
    moved = [np.linalg.norm(values) for values in statistics(people, days)]
    said = [noisy.query.sensitivity(Norm.L2) for noisy in DESIGN.noisy(1.0)]
    tables = [len(design.query.groups) for design in (DESIGN.of_users, DESIGN.of_visits)]
    assert moved == pytest.approx([math.sqrt(tables[0]), 3 * math.sqrt(tables[1])]) == said
    wrong = statistics(people, days, unit=Records())[1]
    assert np.linalg.norm(wrong) > said[1]
    first, _ = statistics(people, days)
    assert first[:2].tolist() == [1, 0]  # the first of two rows with one key


def test_the_noise_is_where_it_does_least_harm() -> None:
    tables = [len(design.query.groups) for design in (DESIGN.of_users, DESIGN.of_visits)]

    def harm(ratio: float) -> float:
        """Of both tables' errors as shares, if users have half of the visits, at the same budget."""
        spent = tables[0] + tables[1] * DESIGN.most**2 / ratio**2
        return spent * (tables[0] + tables[1] * (ratio / (DESIGN.most / 2)) ** 2)

    users, visits = DESIGN.noisy(1.0)
    own = visits.scale / users.scale
    assert all(harm(own) < harm(own * other) for other in (0.9, 1.1))


def population(count: int, seed: int = 0) -> tuple[Data, Data]:
    """The old come often, for tea; the young seldom, for cake, and spend more on it."""
    draw = np.random.default_rng(seed)
    age = draw.integers(0, 80, count)
    often = np.where(age >= 40, draw.integers(1, 6, count), draw.integers(0, 2, count))
    owner = np.repeat(np.arange(count), often)
    tea = draw.random(len(owner)) < np.where(age[owner] >= 40, 0.9, 0.1)
    people = {"user": np.arange(count), "age": age, "sex": draw.choice(["f", "m"], count)}
    spent = np.where(tea, draw.random(len(owner)) * 5, 5 + draw.random(len(owner)) * 5)
    return people, {"user": owner, "spent": spent, "what": np.where(tea, "tea", "cake")}


def test_what_links_the_tables_is_kept(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    pd = pytest.importorskip("pandas")
    pytest.importorskip("safetensors")
    people, days = map(pd.DataFrame, population(4000))
    rules = [Forbidden({"age": (0, 20), "what": "tea"})]
    design = LinkedSynthesizer(PEOPLE, DAYS, key="user", most=3, rules=rules)
    budget = Budget(epsilon=2, delta=1e-6)
    with Ledger.open(tmp_path / "budget.db") as ledger:
        account = ledger.open_account("cafe", Budget(epsilon=3, delta=1e-6), unit="user")
        fitted = design.fit(people, days, budget, training=QUICK, ledger=account)
        assert 1.9 < account.guarantee().epsilon(delta=1e-6) <= 2.0001
    assert isinstance(fitted, Released) and fitted.private
    assert fitted.guarantee().epsilon(delta=1e-6) == pytest.approx(2, abs=1e-3)
    users, visits = fitted.sample(3000, seed=2)
    assert list(users) == ["user", "age", "sex"] and list(visits) == ["user", "spent", "what"]
    assert users["user"].tolist() == list(range(3000)) and set(visits["user"]) <= set(users["user"])
    assert visits["user"].value_counts().max() <= 3
    both = visits.merge(users, on="user")
    assert not ((both["age"] <= 20) & (both["what"] == "tea")).any()
    tea = both.assign(old=both["age"] >= 40)
    shares = tea.groupby("old")["what"].apply(lambda what: (what == "tea").mean())
    assert shares[True] > 0.75 and shares[False] < 0.3
    counts = users["user"].map(visits["user"].value_counts()).fillna(0)
    assert counts[users["age"] >= 40].mean() > 1.5 + counts[users["age"] < 40].mean()
    assert (both.loc[both["what"] == "tea", "spent"] < 5).mean() > 0.8
    young, _ = fitted.sample(50, given={"age": (3, 9)})
    assert young["age"].between(3, 9).all()
    fitted.save(tmp_path / "cafe")
    again = LinkedTables.load(tmp_path / "cafe")
    assert again.synthesizer == design and again.mechanism == fitted.mechanism
    assert all(a.equals(b) for a, b in zip(again.sample(99), fitted.sample(99), strict=True))
    with pytest.raises(ArgumentError, match="holds"):
        type(fitted.users).load(tmp_path / "cafe")


def test_nobody_at_all_and_bad_tables() -> None:
    pytest.importorskip("torch")
    people, days = small(0, 0, 0)
    budget = Budget(epsilon=1, delta=1e-6)
    quick = TableTraining(components=4, latent=2, width=4, steps=2)
    made = DESIGN.fit(people, days, budget, training=quick).columns(20)
    assert len(made[0]["user"]) == 20
    more = DESIGN.fit(*small(1, 9, 9), budget, training=quick).continued(
        *small(1, 9, 9), budget, training=quick
    )
    assert len(more.visits.releases) == 2 and 1 < more.guarantee().epsilon(delta=1e-6) < 2
    with pytest.raises(DataError, match="'user'"):
        DESIGN.fit({"age": people["age"]}, days, budget, source=Untouched())
    with pytest.raises(DataError, match="'what'"):
        DESIGN.fit(people, {name: days[name] for name in ("user", "spent")}, budget, source=Untouched())


@pytest.mark.parametrize(
    "wrong",
    [
        {"most": 0},
        {"key": "age"},
        {"shared": ["what"]},
        {"visits": PEOPLE},
        {"users": {"age": Bins(0, 1, 2)}},
        {"rules": [Forbidden({"height": 3})]},
    ],
)
def test_links_that_cannot_be_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ArgumentError):
        LinkedSynthesizer(**{"users": PEOPLE, "visits": DAYS, "key": "user", "most": 3} | wrong)


def test_rules_that_leave_a_user_no_visit_are_refused_before_anything_is_paid() -> None:
    """Unless there are no such users, by a rule of their own; what is refused here failed when rows were
    drawn."""
    old, young = {"age": (60, None)}, {"age": (None, 59)}
    nothing = [Forbidden(old | {"what": "tea"}), Forbidden(old | {"what": "cake", "spent": (2, None)})]
    LinkedSynthesizer(PEOPLE, DAYS, key="user", most=3, rules=nothing)  # a cake for less than 2 is left
    nothing.append(Forbidden(old | {"spent": (None, 3)}))
    with pytest.raises(ArgumentError, match="age"):
        LinkedSynthesizer(PEOPLE, DAYS, key="user", most=3, rules=nothing)
    without = TableSynthesizer(dict(PEOPLE.declared), rules=[Forbidden(old)])
    design = LinkedSynthesizer(without, DAYS, key="user", most=3, rules=nothing)
    people, days = small(1, 40, 90)
    people["age"], people["sex"] = people["age"] % 60, np.where(people["sex"] == "?", "f", people["sex"])
    days["what"] = np.where(days["what"] == "fish", "tea", days["what"])
    how = {"training": QUICK, "source": NotPrivateSource(0)}
    users, visits = design.fit(people, days, Budget(epsilon=1, delta=1e-5), **how).sample(300)
    assert (users["age"] < 60).all() and len(visits)
    # missing values, and rules about users alone
    for rule in ({"sex": None}, {"sex": ["f", "m", None], "age": 70}, young):
        with pytest.raises(ArgumentError):
            LinkedSynthesizer(PEOPLE, DAYS, key="user", most=3, rules=[Forbidden(rule)])
    never = Forbidden({"sex": None, "what": ["tea", "cake"]})
    with pytest.raises(ArgumentError, match="sex"):
        LinkedSynthesizer(PEOPLE, DAYS, key="user", most=3, rules=[never])
