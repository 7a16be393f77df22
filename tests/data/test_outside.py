"""What is outside of what was declared, and bounds that are suggested: counts are right, intervals hold the
truth as often as they say, and the second look of a suggestion is paid for."""

from collections import Counter
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest

from indistinct import Adjacency, ArgumentError
from indistinct.data import (
    Bins,
    Categories,
    GroupBy,
    Hierarchy,
    Ladder,
    Norm,
    Numbers,
    Outside,
    OutsideDomain,
    SuggestedBounds,
    Times,
    UserRecords,
    UsersOver,
    UserTotals,
    Within,
    read_csv,
    read_parquet,
    shares,
)
from indistinct.noise import NotPrivateSource

INCOMES = [-1.0, 0.0, 5.0, 20_000.0, 20_000.5, float("inf"), float("nan"), None, "no number", -float("inf")]


@pytest.mark.parametrize("outside", [Outside.CLIP, Outside.DROP, Outside.ERROR])
def test_every_record_is_on_one_side(outside: Outside) -> None:
    for domain in (Numbers(0, 20_000, outside), Bins(0, 20_000, 4, outside)):
        query = OutsideDomain("income", domain)
        assert query.names == ("inside", "below", "above", "missing")
        assert query.statistic({"income": INCOMES}).units.tolist() == [3, 2, 2, 3]
    days = OutsideDomain("day", Numbers(0, 10, outside, of=Times("day")))
    assert days.statistic({"day": ["1970-01-05", "1969-01-01", "x"]}).units.tolist() == [1, 1, 0, 1]
    jobs = OutsideDomain("job", Categories(["a", "b"]))
    assert jobs.names == ("listed", "not listed", "missing")
    assert jobs.statistic({"job": ["a", "b", "c", None, "A"]}).units.tolist() == [2, 2, 1]
    assert jobs.sensitivity(Norm.L1) == 1 and jobs.sensitivity(Norm.L1, Adjacency.REPLACE_ONE) == 2
    with pytest.raises(ArgumentError, match="domain must be Numbers"):
        OutsideDomain("job", ["a"])  # type: ignore[arg-type]


@pytest.mark.parametrize("most", [1, 2, 7])
def test_users_over_the_limit(most: int) -> None:
    people = np.random.default_rng(1).geometric(0.3, 400).tolist()
    query = UsersOver("person", most)
    held = Counter(people)
    over = sum(count > most for count in held.values())
    assert query.statistic({"person": [*people, None]}).units.tolist() == [len(held) - over, over]
    assert query.sensitivity(Norm.L1) == 1  # whatever `most` is
    assert query.sensitivity(Norm.L2, Adjacency.REPLACE_ONE) == pytest.approx(np.sqrt(2))
    with pytest.raises(ArgumentError, match="asked without groups"):
        GroupBy({"town": Categories(["a"])}, query).laplace(1).guarantee()
    for user in list(held)[:5]:
        fewer = query.statistic({"person": [one for one in people if one != user]}).units
        assert np.abs(query.statistic({"person": people}).units - fewer).sum() == 1


@pytest.mark.parametrize("counts", [[0, 0, 0, 0], [2, 0, 1, 0], [30, 0, 10, 3], [3000, 10, 900, 0]])
@pytest.mark.parametrize("noise", ["gaussian", "laplace"])
def test_shares_hold_the_truth_as_often_as_they_say(counts: list[int], noise: str) -> None:
    query, draw, exact = OutsideDomain("x", Numbers(0, 1)), np.random.default_rng(2), np.array(counts, float)
    noisy = query.gaussian(15.0) if noise == "gaussian" else query.laplace(10.0)
    drawn = draw.normal(0, 15, (2000, 4)) if noise == "gaussian" else np.rint(draw.laplace(0, 10, (2000, 4)))
    truth = exact / max(exact.sum(), 1)
    found, parts = query.estimate(exact + drawn, noisy), shares(exact + drawn, noisy)
    right = np.stack([exact, truth], axis=-1)
    covered = ((found.low <= right + 1e-12) & (right <= found.high + 1e-12)).mean(axis=0)
    assert (covered > 0.93).all() and (covered < 0.99).all()
    np.testing.assert_array_equal(found.low[..., 1], parts.low)
    assert ((parts.low >= 0) & (parts.high <= 1) & (parts.low <= parts.high)).all()
    if sum(counts) > 1000:  # an interval that is too short is seen
        short = np.abs(parts.value - truth) <= 0.7 * (parts.high - parts.low) / 2
        assert short.mean(axis=0)[0] < 0.93
    if sum(counts) < 5:  # where there is nothing but noise, any share may be the true one
        assert ((parts.low == 0) & (parts.high == 1)).mean() > 0.5


def test_cells_of_a_ladder_have_the_ends_that_bounds_have() -> None:
    ladder = Ladder("x", low=-10.0, high=10.0)
    edges, values = np.array(ladder.edges), [0.0, -0.0, 1e-6, -1e-6, 5.0, 5.1, -5.0, -5.1, 1e9, -np.inf]
    counts = ladder.statistic({"x": values}).units[-(len(edges) - 1) :]
    found = np.repeat(np.arange(len(counts)), counts)
    inside = sorted(np.clip(values, -10, 10))
    assert all(edges[cell] <= value <= edges[cell + 1] for cell, value in zip(found, inside, strict=True))
    five = int(np.flatnonzero(edges == 5.0)[0])
    assert counts[five - 1] == 1 and counts[five] == 1  # 5 is the upper end of its cell
    assert counts[int(np.flatnonzero(edges == -5.0)[0])] == 1
    assert ladder.sensitivity(Norm.L1) == 3 and ladder.sensitivity(Norm.L2) == pytest.approx(np.sqrt(3))


DRAW = np.random.default_rng(4)
COLUMNS: dict[str, tuple[Any, float, float]] = {
    "incomes": (np.where(DRAW.random(20_000) < 0.3, 0, DRAW.lognormal(10, 1, 20_000)), 0, 300_000),
    "ages": (DRAW.integers(0, 96, 20_000), 0, 100),
    "debts": (-DRAW.exponential(50, 20_000), -300, 0),
    "errors": (DRAW.normal(0, 5, 20_000), -15, 15),
    "years": (DRAW.integers(1990, 2021, 20_000), 1500, 3000),
    "shares": (DRAW.random(20_000), 0, 1),
}


@pytest.mark.parametrize("column", COLUMNS)
def test_suggested_bounds_are_round_and_hold_what_they_should(column: str) -> None:
    values, low, high = COLUMNS[column]
    hold = []
    for seed in range(20):
        mechanism = SuggestedBounds(Ladder("x").gaussian(10.0), cover=0.99)
        release = mechanism.release({"x": values}, source=NotPrivateSource(seed))
        found = release.values
        assert found.low == low and found.high in (high, 400_000)
        outside = np.mean((values < found.low) | (values > found.high))
        assert outside <= 0.01
        hold.append(found.outside.low <= outside <= found.outside.high)
    assert 17 <= sum(hold) <= 20


def test_what_is_only_noise_suggests_nothing() -> None:
    for rows in ([], [3.0, 4.0]):
        found = (
            SuggestedBounds(Ladder("x").laplace(40.0)).release({"x": rows}, source=NotPrivateSource(1)).values
        )
        assert (found.low, found.high) == (-1e15, 1e15)
    few = SuggestedBounds(Ladder("x").laplace(40.0)).release({"x": [7.0] * 3000}, source=NotPrivateSource(2))
    assert (few.values.low, few.values.high) == (6.0, 8.0)


def test_ends_that_are_near_each_other_get_equal_steps() -> None:
    years = Ladder("x", low=1900, high=2100)
    assert years.edges == tuple(range(1900, 2101)) and len(Ladder("x", low=-9, high=-1).edges) == 161
    release = SuggestedBounds(years.gaussian(10.0)).release(
        {"x": COLUMNS["years"][0]}, source=NotPrivateSource(1)
    )
    found = release.values
    assert (found.low, found.high) == (1989, 2020)  # the upper end of a cell belongs to it


def test_times_get_dates() -> None:
    days = [f"{year}-06-01" for year in range(1990, 2020) for _ in range(200)]
    times = Times("day")
    found = (
        SuggestedBounds(Ladder("d", of=times).gaussian(5.0))
        .release({"d": days}, source=NotPrivateSource(1))
        .values
    )
    assert (times.words(found.low), times.words(found.high)) == ("1990-01-01", "2020-01-01")
    near = Ladder("d", low=times.number("2000-01-01"), high=times.number("2000-01-31"), of=times)
    assert len(near.edges) == 31


@pytest.mark.parametrize("adjacency", [Adjacency.ADD_REMOVE, Adjacency.REPLACE_ONE])
def test_both_looks_are_paid_for(adjacency: Adjacency) -> None:
    swaps = 2 if adjacency is Adjacency.REPLACE_ONE else 1
    for most in (1, 3):
        ladder = Ladder("x", unit=UserRecords("u", most))
        pure = SuggestedBounds(ladder.laplace(100.0)).guarantee(adjacency).pure()
        assert pure == pytest.approx(swaps * most * (3 + 1) / 100)  # three levels, and the second look
        assert ladder.laplace(100.0).guarantee(adjacency).pure() < 0.8 * pure  # the first alone is cheaper
        both = SuggestedBounds(ladder.gaussian(100.0)).guarantee(adjacency).renyi(2)
        assert both == pytest.approx((np.sqrt(swaps * 4) * most / 100) ** 2)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: Ladder("x", low=3, high=2), "high must be above low=3.0"),
        (lambda: Ladder("x", low=0, high=1e-7), "high must be further away"),
        (lambda: Ladder("x", high=float("inf")), "high must be a finite number"),
        (lambda: Ladder("x", unit=UserTotals("u", Norm.L2, 2.0)), "clipped in L1"),
        (
            lambda: SuggestedBounds(Ladder("x").laplace(1), cover=1),
            "cover must be a share above 0 and below 1",
        ),
        (lambda: SuggestedBounds(UsersOver("x", 2).laplace(1)), "ladder must be a Ladder"),
    ],
)
def test_what_cannot_be_is_refused(make: Any, words: str) -> None:
    with pytest.raises(ArgumentError, match=words):
        make()


def test_every_engine_counts_the_same(tmp_path: Any) -> None:
    draw = np.random.default_rng(9)
    data = {
        "u": draw.integers(0, 90, 400),
        "r": draw.choice(["N", "S", "?"], 400),
        "s": draw.choice(["a", "b", "c"], 400),
        "x": np.rint(draw.normal(0, 50, 400)),
    }
    frame = pa.table(data)
    pyarrow.csv.write_csv(frame, tmp_path / "x.csv")
    pyarrow.parquet.write_table(frame, tmp_path / "x.parquet")
    users = UserRecords("u", 3)
    nested = {"r": Categories(["N", "S"]), "s": Within({"N": ["a", "b"], "S": ["b"]})}
    for query in (
        Hierarchy(nested, unit=users),
        Hierarchy(nested),
        OutsideDomain("x", Numbers(-10, 40), users),
        OutsideDomain("s", Categories(["a", "z"])),
        UsersOver("u", 4),
        Ladder("x", unit=users),
    ):
        engines = (data, frame, read_csv(tmp_path / "x.csv"), read_parquet(tmp_path / "x.parquet"))
        answers = {tuple(query.statistic(engine).units.tolist()) for engine in engines}
        assert len(answers) == 1 and sum(answers.pop()) > 50
