"""Queries by group: their answers, whom they protect, and intervals that hold the truth."""

import itertools
from collections import Counter
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from indistinct import Budget, calibrate
from indistinct.adjacency import Adjacency
from indistinct.data import (
    Bins,
    BoundedSum,
    ByGroup,
    CachedTable,
    Categories,
    Cells,
    Count,
    CovarianceTable,
    GroupBy,
    Histogram,
    LinearRegression,
    Mean,
    Norm,
    Numbers,
    Query,
    Sum,
    Tables,
    Unit,
    UserRecords,
    UserTotals,
    Variance,
    read_parquet,
    table,
)
from indistinct.data.records.moments import NumberMoments
from indistinct.errors import ArgumentError
from indistinct.noise import NotPrivateSource

DRAW = np.random.default_rng(8)
ROWS = 3000
FRAME = pd.DataFrame(
    {
        "user": DRAW.integers(0, 900, ROWS),
        "educ": DRAW.choice(8, ROWS, p=np.array([3, 3, 4, 8, 16, 32, 64, 128]) / 258),
        "sex": DRAW.choice(["f", "m"], ROWS),
        "income": np.minimum(np.exp(DRAW.normal(9, 2, ROWS)), 300_000),
    }
)
BY = {"educ": Categories(list(range(8))), "sex": Categories(["f", "m"])}
INCOME = Numbers(0, 100_000)
ASKED: dict[str, Query] = {
    "count": Count(),
    "sum": Sum("income", INCOME),
    "mean": Mean("income", INCOME),
    "variance": Variance("income", INCOME),
}


def truth(name: str) -> Any:
    """By pandas, on clipped values."""
    clipped = FRAME.assign(income=FRAME["income"].clip(0, 100_000)).groupby(["educ", "sex"])["income"]
    found = clipped.var(ddof=0) if name == "variance" else getattr(clipped, name)()
    return found.to_numpy().reshape(8, 2)


@pytest.mark.parametrize("name", ASKED)
def test_answers_are_those_of_pandas(name: str) -> None:
    quiet = GroupBy(BY, ASKED[name]).gaussian(1e-6)
    np.testing.assert_allclose(quiet.release(FRAME).values, truth(name), rtol=1e-5)
    assert isinstance(ASKED[name].gaussian(1e-6).release(FRAME).values, float)


@cache
def exact() -> CachedTable:
    return CachedTable(table(FRAME))


@pytest.mark.parametrize(("epsilon", "delta"), [(1, 0), (0.2, 1e-6)])
@pytest.mark.parametrize("name", ASKED)
def test_intervals_hold_the_truth(name: str, epsilon: float, delta: float) -> None:
    """In groups of a dozen records and of hundreds, of incomes that are far from normal."""
    query = GroupBy(BY, ASKED[name])
    step = query.sensitivity(Norm.L2 if delta else Norm.L1)
    family = query.gaussian if delta else query.laplace
    noisy = calibrate(lambda f: family(f * step), Budget(epsilon=epsilon, delta=delta)).mechanism
    values = query.read(query.statistic(exact()).values)
    held = []
    for seed in range(1, 51):
        found = noisy.estimate(exact(), NotPrivateSource(seed))  # type: ignore[attr-defined]
        assert (found.low <= found.value).all() and (found.value <= found.high).all()
        held.append((found.low <= values) & (values <= found.high))
    assert 0.93 <= np.mean(held) <= 0.99


LEVELS = Categories(["a", "b", "c"])


@cache
def contributions(bounded: BoundedSum, most: int) -> Any:
    """What users with so many records at corners of the domain add to a sum."""
    corners = list(itertools.product("abc", (-1.0, 3.0)))
    seen = {(0,) * bounded.encoding.size}
    for count in range(1, most + 1):
        for records in itertools.combinations_with_replacement(corners, count):
            groups, numbers = zip(*records, strict=True)
            data = {"user": np.ones(count, int), "g": np.array(groups), "x": np.array(numbers)}
            seen.add(tuple(table(data).total(bounded).units.tolist()))
    return np.array(sorted(seen), dtype=np.float64) * bounded.step


@pytest.mark.parametrize("adjacency", Adjacency)
@pytest.mark.parametrize("norm", Norm)
@pytest.mark.parametrize(
    "unit",
    [None, UserRecords("user", 2), UserRecords("user", 2, groups=2), UserRecords("user", 1, groups=9)],
    ids=str,
)
@pytest.mark.parametrize("inner", ["moments", "counts"])
def test_no_neighbour_moves_further_than_is_said(
    inner: str, unit: Unit | None, norm: Norm, adjacency: Adjacency
) -> None:
    """Every user with up to four records at corners of the domain, and every two of them."""
    of = NumberMoments("x", Numbers(-1, 3), 3) if inner == "moments" else Cells((("x", Bins(-1, 3, 2)),))
    encoding = ByGroup(Cells((("g", LEVELS),)), of)
    bounded = BoundedSum(encoding, unit) if unit is not None else BoundedSum(encoding)
    vectors = contributions(bounded, 1 if unit is None else 4)
    if adjacency is Adjacency.ADD_REMOVE:
        distances = vectors
    else:
        distances = (vectors[:, None, :] - vectors[None, :, :]).reshape(-1, encoding.size)
    length = {
        Norm.L1: lambda v: np.abs(v).sum(axis=-1),
        Norm.L2: lambda v: np.sqrt((v * v).sum(axis=-1)),
        Norm.MAX: lambda v: np.abs(v).max(axis=-1),
    }[norm]
    said, found = bounded.sensitivity(norm, adjacency), float(length(distances).max())
    # Of users with few records in one group each, two cannot differ as far as is said.
    assert found <= said <= found * (2 if adjacency is Adjacency.REPLACE_ONE else 1.0001)


def test_few_records_of_a_user_in_few_groups() -> None:
    unit = UserRecords("user", 1, groups=2)
    query = GroupBy({"educ": BY["educ"]}, Count(unit))
    counts = query.statistic(FRAME).units
    users = FRAME.drop_duplicates(["user", "educ"]).groupby("user").size().clip(upper=2)
    assert counts.sum() == users.sum()
    assert query.sensitivity(Norm.L2) == pytest.approx(np.sqrt(2)) and query.sensitivity(Norm.L1) == 2
    assert Count(unit).sensitivity(Norm.L1) == 1
    # Who is chosen does not depend on others, nor on the order of records.
    for user in range(0, 900, 90):
        without = FRAME[FRAME["user"] != user].sample(frac=1, random_state=1)
        moved = counts - query.statistic(without).units
        assert moved.min() >= 0 and moved.max() <= 1 and moved.sum() <= 2
    spread = Counter(counts.tolist())
    assert len(spread) > 1


def test_totals_of_users_are_bounded_over_all_groups() -> None:
    total = UserTotals("user", Norm.L2, 30_000.0)
    query = GroupBy({"educ": BY["educ"]}, Sum("income", INCOME, total))
    assert query.sensitivity(Norm.L2) == pytest.approx(30_000.0)
    clipped = FRAME.assign(income=FRAME["income"].clip(0, 100_000))
    by_user = clipped.pivot_table(index="user", columns="educ", values="income", aggfunc="sum", fill_value=0)
    shrink = np.minimum(1, 30_000 / np.sqrt((by_user**2).sum(axis=1)))
    expected = by_user.mul(shrink, axis=0).sum().to_numpy()
    np.testing.assert_allclose(query.statistic(FRAME).values, expected, rtol=1e-6)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: GroupBy({}, Count()), "one column or more"),
        (lambda: GroupBy(BY, GroupBy(BY, Count())), "answered by group"),
        (lambda: GroupBy({"income": Categories(["a"])}, Sum("income", INCOME)), "as the query reads them"),
        (lambda: GroupBy(BY, 3), "a query"),
        (lambda: GroupBy(BY, Tables(BY, [["sex"]])), "answered by group"),
        (lambda: GroupBy({"income": INCOME}, Count()), "Bins"),
        (lambda: UserRecords("user", 2, groups=0), "groups"),
    ],
)
def test_what_cannot_be_asked_by_group(make: Any, words: str) -> None:
    with pytest.raises(ArgumentError, match=words):
        make()


def test_histograms_by_group_are_histograms() -> None:
    axes = {"sex": BY["sex"], "income": Bins(0, 100_000, 5)}
    grouped = GroupBy({"educ": BY["educ"]}, Histogram(axes)).gaussian(1e-6).release(FRAME).values
    whole = Histogram({"educ": BY["educ"], **axes}).gaussian(1e-6).release(FRAME).values
    np.testing.assert_allclose(grouped, whole, atol=1e-4)


LINE = LinearRegression("income", {"age": Numbers(0, 90), "income": INCOME})
PAIRS = CovarianceTable({"age": Numbers(0, 90), "income": INCOME})


@pytest.mark.parametrize("query", [LINE, PAIRS], ids=["linear", "covariance"])
def test_regressions_by_group(query: LinearRegression | CovarianceTable, tmp_path: Path) -> None:
    """The same bits as of each group's records alone, on every engine; and one that nobody is in is wide."""
    frame = FRAME.assign(age=DRAW.uniform(0, 90, ROWS))
    grouped = GroupBy({"sex": Categories(["f", "m", "x"])}, query)
    units = grouped.statistic(frame).units
    alone = [query.statistic(frame[frame["sex"] == sex]).units for sex in ("f", "m")]
    assert units.reshape(3, -1).tolist() == [*(one.tolist() for one in alone), [0] * query.size]
    frame.to_parquet(tmp_path / "people.parquet")
    assert grouped.statistic(read_parquet(tmp_path / "people.parquet")).units.tolist() == units.tolist()
    apart = GroupBy({"sex": Categories(["f", "m", "x"])}, replace(query, unit=UserRecords("user", 10_000)))
    assert apart.statistic(frame).units.tolist() == units.tolist()  # one by one, or a group at once
    for norm in (Norm.L1, Norm.L2):
        assert grouped.sensitivity(norm) == query.sensitivity(norm)
        assert grouped.sensitivity(norm, "replace-one") >= query.sensitivity(norm, "replace-one")
    release = grouped.gaussian(2.0).release(frame, source=NotPrivateSource(1))
    fits = grouped.fit(release)
    assert [len(fit) for fit in fits] == [len(fits[0])] * 3
    assert fits[1] == query.fitted(grouped.gaussian(2.0), np.asarray(release.values)[1])
    assert fits[2][1].high - fits[2][1].low > 20 * (fits[1][1].high - fits[1][1].low)
    with pytest.raises(ArgumentError, match="a release of this query"):
        grouped.fit(query.gaussian(2.0).release(frame))


def test_only_regressions_are_fitted() -> None:
    counts = GroupBy(BY, Count())
    with pytest.raises(ArgumentError, match="a regression or a table of covariances"):
        counts.fit(counts.gaussian(1.0).release(FRAME))
