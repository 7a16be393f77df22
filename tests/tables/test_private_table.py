"""Questions asked in Python as one would ask pandas: the same queries, rows and prices as in plans."""

from typing import Any

import numpy as np
import pytest

from indistinct import Budget
from indistinct.data import Bins, Categories, Hierarchy, Norm, Numbers, UserRecords, Within
from indistinct.errors import ArgumentError, DataError
from indistinct.mechanisms.mechanism import Composed
from indistinct.noise import NotPrivateSource
from indistinct.tables import Found, PrivateTable, Question, release_together

DRAW = np.random.default_rng(4)
DATA: dict[str, Any] = {
    "person": np.arange(4000) // 2,
    "educ": DRAW.integers(0, 3, 4000),
    "age": DRAW.integers(0, 90, 4000),
    "income": np.exp(DRAW.normal(9, 1, 4000)),
}
COLUMNS = {"educ": Categories([0, 1, 2]), "age": Bins(0, 90, 9), "income": Numbers(0, 1e5)}
PEOPLE = PrivateTable(DATA, COLUMNS)
QUESTIONS = {
    "count": PEOPLE.by("educ").count(),
    "sum": PEOPLE.by("educ").sum("income"),
    "mean": PEOPLE.by("educ", "age").mean("income", low=0, high=5e4),
    "variance": PEOPLE.variance("age"),
    "histogram": PEOPLE.by("educ").histogram("age"),
    "quantiles": PEOPLE.by("educ").quantiles("age", [0.25, 0.5]),
}


@pytest.mark.parametrize("name", QUESTIONS)
def test_a_question_meets_its_budget_and_answers(name: str) -> None:
    question = QUESTIONS[name]
    for budget in (Budget(epsilon=1), Budget(epsilon=1, delta=1e-6), Budget(rho=0.5), Budget(mu=1)):
        noisy = question.mechanism(budget)
        assert budget.met_by(noisy.guarantee())
    release = question.release(Budget(mu=100))
    answers = release.values
    assert len(answers) == len(answers[answers.header[-4]]) == len(answers.frame())
    assert (answers["low"] <= answers["high"]).all()
    assert str(answers).splitlines()[0].split() == list(answers.header)
    assert release.private and Budget(mu=100).met_by(release.guarantee())


def test_the_rows_are_those_of_pandas() -> None:
    answers = QUESTIONS["mean"].release(Budget(mu=1e6)).values
    frame = answers.frame()
    assert answers.header[:3] == ("educ", "age_low", "age_high")
    for row in frame.itertuples():
        own = (DATA["educ"] == row.educ) & (DATA["age"] >= row.age_low) & (DATA["age"] < row.age_high)
        assert row.mean == pytest.approx(np.minimum(DATA["income"][own], 5e4).mean(), rel=1e-3)


def test_lists_and_single_numbers_will_do() -> None:
    assert PEOPLE.by(["educ", "age"]).count().groups == PEOPLE.by("educ", "age").count().groups
    assert PEOPLE.quantiles("age", 0.5).query == PEOPLE.quantiles("age", [0.5]).query
    (release,) = release_together(PEOPLE.count(), Budget(epsilon=1))
    assert len(release.values) == 1


def test_less_noise_of_two_is_taken() -> None:
    assert QUESTIONS["count"].mechanism(Budget(epsilon=1, delta=1e-6)).noise == "laplace"
    assert QUESTIONS["count"].mechanism(Budget(mu=1)).noise == "gaussian"


def test_questions_share_a_budget_and_one_pass() -> None:
    asked = list(QUESTIONS.values())
    budget = Budget(epsilon=2, delta=1e-6)
    releases = release_together(asked, budget, weights=[1, 1, 4, 1, 1, 1], source=NotPrivateSource(1))
    every = Composed(tuple(release.mechanism for release in releases))
    assert 2 * (1 - 1e-4) < every.guarantee().epsilon(delta=1e-6) <= 2
    alone = release_together(asked, budget)
    assert releases[2].mechanism.deviation < alone[2].mechanism.deviation  # type: ignore[attr-defined]
    assert not releases[0].private and alone[0].private


def test_users_are_protected_with_all_their_records() -> None:
    users = PrivateTable(DATA, COLUMNS, user="person", most=2)
    spread = PrivateTable(DATA, COLUMNS, user="person", most=1, most_groups=2)
    assert users.by("educ").count().grouped.sensitivity("L2") == 2
    assert spread.by("educ").count().grouped.sensitivity("L2") == pytest.approx(2**0.5)
    assert spread.count().grouped.sensitivity("L2") == 1


@pytest.mark.parametrize(
    ("ask", "words"),
    [
        (lambda: PEOPLE.by("town"), "town"),
        (lambda: PEOPLE.by("income"), "Categories"),
        (lambda: PEOPLE.by("educ", "educ"), "different"),
        (lambda: PrivateTable("people.csv"), "read_csv"),
        (lambda: PrivateTable(DATA, {"educ": [0, 1]}), "Categories"),
        (lambda: release_together([3], Budget(epsilon=1)), "questions of a PrivateTable"),  # type: ignore[list-item]
        (lambda: PEOPLE.mean("height"), "declared as Numbers"),
        (lambda: PEOPLE.mean("income", low=0), "given with high"),
        (lambda: PEOPLE.mean("income", low=5, high=1), "high"),
        (lambda: PEOPLE.histogram("income"), "Bins"),
        (lambda: PEOPLE.quantiles("educ", [0.5]), "Bins"),
        (lambda: PrivateTable(DATA, COLUMNS, user="person"), "most"),
        (lambda: PrivateTable(DATA, COLUMNS, most_groups=2), "most_groups"),
        (lambda: release_together([], Budget(epsilon=1)), "question"),
        (lambda: release_together([PEOPLE.count()], Budget(epsilon=1), weights=[0]), "positive"),
        (lambda: PEOPLE.count().release(Budget(mu=1)).values["mean"], "one of count"),
    ],
)
def test_what_cannot_be_asked(ask: Any, words: str) -> None:
    with pytest.raises(ArgumentError, match=words):
        ask()


def test_a_wrong_column_is_refused_before_anything_is_read() -> None:
    lost = PrivateTable(DATA, {**COLUMNS, "town": Categories(["a"])}).by("town").count()
    assert isinstance(lost, Question)
    with pytest.raises(DataError, match="unknown column 'town'"):
        lost.release(Budget(epsilon=1))


def test_regressions() -> None:
    """The same as the queries say, with a budget; of all records."""
    draw = np.random.default_rng(2)
    age, sex = draw.uniform(20, 60, 5_000), draw.choice(np.array(["f", "m"]), 5_000)
    owns = np.where(draw.random(5_000) < 1 / (1 + np.exp(2 - age / 20)), "yes", "no")
    declared = {
        "age": Numbers(20, 60),
        "sex": Categories(["f", "m"]),
        "pay": Bins(0, 90_000, 9),
        "owns": Categories(["no", "yes"]),
    }
    pay = 500 * age + 5_000 * (sex == "m")
    people = PrivateTable({"age": age, "sex": sex, "pay": pay, "owns": owns}, declared)
    budget = Budget(epsilon=3, delta=1e-6)
    line, odds, together = release_together(
        [people.linear("pay", "age", "sex"), people.logistic("owns", "age"), people.covariance("age", "pay")],
        budget,
    )
    assert line.values["term"].tolist() == ["intercept", "age", "sex=m"]
    slope, low, high = (line.values[name][1] for name in ("coefficient", "low", "high"))
    assert abs(slope - 500) < 1.5 * (high - low) and odds.values["coefficient"][1] > 0  # six deviations
    assert together.values["correlation"][1] > 0.5
    (one,) = release_together([people.logistic("owns", "age")], budget)
    assert one.guarantee().epsilon(1e-6) <= 3
    with pytest.raises(ArgumentError, match="a logistic regression is of all records"):
        people.by("sex").logistic("owns", "age")
    grouped = people.by("sex").linear("pay", "age").release(Budget(epsilon=1e9)).values
    assert grouped["term"].tolist() == ["intercept", "age"] * 2
    assert grouped["sex"].tolist() == ["f"] * 2 + ["m"] * 2
    np.testing.assert_allclose(grouped["coefficient"], [0, 500, 5_000, 500], rtol=1e-3, atol=5)
    tables = people.by("sex").covariance("age", "pay").release(budget).values
    assert tables.header[:4] == ("sex", "column_a", "column_b", "correlation") and len(tables) == 6
    with pytest.raises(ArgumentError, match="declared as Numbers"):
        people.linear("pay", "hight")


def test_answers_say_what_no_interval_shows() -> None:
    """What a plan says beside its numbers stands beside those of Python."""
    records = {"town": np.array(["a", "b", "c"] * 50), "pay": np.arange(150.0), "who": np.arange(150) // 3}
    people = PrivateTable(records, {"town": Categories(["a", "b"])}, user="who", most=2)
    told = people.by("town").mean("pay", low=0, high=100).release(Budget(epsilon=1)).values.notes
    assert any("Values of pay below 0 or above 100 count as 0 and 100" in one for one in told)
    assert any("Records whose town is not listed are left out" in one for one in told)
    assert any("more than 2 records, 2 take part" in one for one in told)
    plain = PrivateTable({"pay": np.arange(9.0)}).count().release(Budget(epsilon=1)).values
    assert plain.notes == ()


WORDS = {
    "word": np.repeat(["yes", "no", "zebra"], [900, 600, 1]),
    "cost": np.arange(1501) % 8.0,
    "who": np.arange(1501) % 700,
}


def test_groups_that_nobody_has_listed() -> None:
    """Found and asked about for one budget; a word of one user alone is not shown."""
    words, budget = PrivateTable(WORDS, {"word": Found(5)}).by("word"), Budget(epsilon=4, delta=1e-6)
    one = words.mean("cost", low=0, high=8).release(budget)
    assert one.values["word"].tolist() == ["yes", "no", "all others"]
    assert 3.9 < one.guarantee().epsilon(delta=1e-6) <= 4
    np.testing.assert_allclose(one.values["mean"][:2], 3.5, atol=0.2)
    first, second = release_together([words.count(), words.sum("cost", low=0, high=8)], budget)
    assert first.values["word"].tolist() == second.values["word"].tolist()
    together = (first.mechanism + second.mechanism).guarantee()
    assert 3.9 < together.epsilon(delta=1e-6) <= 4 and second.guarantee().pure() < 4 / 3 + 1e-6
    top = PrivateTable(WORDS, {"word": Found(1, weight=3, delta=1e-9)}).by("word").count().release(budget)
    assert top.values["word"].tolist() == ["yes", "all others"]
    assert top.values["count"][1] == pytest.approx(601, abs=20)
    assert any("not listed count in the last group" in note for note in top.values.notes)


def test_users_of_groups_that_are_found() -> None:
    users = PrivateTable(WORDS, {"word": Found(5)}, user="who", most=2, most_groups=3).by("word")
    released = users.count().release(Budget(epsilon=8, delta=1e-6))
    finding, asked = released.mechanism.parts  # type: ignore[attr-defined]
    assert finding.unit == UserRecords("who", 2)
    # whatever is found, and however few: as many groups as a user may be in
    assert asked.query.sensitivity("L1") == 6 and asked.query.unit == UserRecords("who", 2, groups=3)
    assert released.guarantee().epsilon(delta=1e-6) <= 8


@pytest.mark.parametrize(
    ("ask", "words"),
    [
        (lambda t: t.by("word").count().release(Budget(epsilon=1)), "positive delta"),
        (lambda t: t.by("word").count().release(Budget(mu=1)), "positive delta"),
        (lambda t: t.by("word").count().mechanism(Budget(epsilon=1, delta=1e-6)), "listed groups"),
        (
            lambda t: t.by("word").count().release(Budget(epsilon=1, delta=1e-6), adjacency="replace-one"),
            "add/remove for heavy hitters",
        ),
        (lambda t: t.histogram("word"), "declared as Categories"),
        (lambda t: Found(0), "most"),
    ],
)
def test_what_cannot_be_found(ask: Any, words: str) -> None:
    with pytest.raises(ArgumentError, match=words):
        ask(PrivateTable(WORDS, {"word": Found(5)}))


def test_hierarchies() -> None:
    """The same as the query says, with names, and shares for the noise that is drawn."""
    records = {"land": np.array(["A", "A", "B", "B"] * 250), "town": np.array(["a", "b", "b", "a"] * 250)}
    inside = Within({"A": ["a", "b"], "B": ["b"]})
    table = PrivateTable(records, {"land": Categories(["A", "B"]), "town": inside})
    found = table.hierarchy("land", "town", whole=True).release(Budget(epsilon=1)).values
    assert found.header == ("land", "town", "count", "standard_error", "low", "high")
    assert [tuple(row[:2]) for row in found.rows] == [
        ("", ""), ("A", ""), ("B", ""), ("A", "a"), ("A", "b"), ("B", "b")
    ]  # fmt: skip
    counts = found["count"]
    assert counts[0] == counts[1] + counts[2] == counts[3:].sum() and counts[1] == counts[3] + counts[4]
    assert (found["low"] <= counts).all() and abs(counts[0] - 750) < 30
    assert "Records whose town is not listed within the column above are left out" in found.notes[1]
    heavy = table.hierarchy("land", "town", weights=[9, 1, 1])
    noisy = [heavy.mechanism(budget).query for budget in (Budget(epsilon=1), Budget(mu=0.1))]
    assert [one.shares for one in noisy] == [  # type: ignore[attr-defined]
        Hierarchy.best(dict(noisy[0].levels), norm, [9, 1, 1]).shares  # type: ignore[attr-defined]
        for norm in (Norm.L1, Norm.L2)
    ]
    with pytest.raises(ArgumentError, match="declared as Categories"):
        table.hierarchy("land", "village")


def test_regressions_of_groups_that_nobody_is_in() -> None:
    """No record of a batch in any group is told by an answer like any other, and not by an error."""
    listed = {"educ": Categories([7, 8]), "age": Numbers(0, 90), "income": Numbers(0, 1e5)}
    strangers = {name: values[:300] for name, values in DATA.items()}
    one = {**strangers, "educ": np.where(np.arange(300) == 5, 7, strangers["educ"])}
    for data in (strangers, one):
        by = PrivateTable(data, listed).by("educ")
        for asked, rows in ((by.linear("income", "age"), 4), (by.covariance("age", "income"), 6)):
            assert len(asked.release(Budget(epsilon=1)).values) == rows
