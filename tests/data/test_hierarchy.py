"""Hierarchies: the fit is that of dense least squares, children add up, a record moves no more than is
stated, and intervals hold the truth as often as they say."""

import itertools
from typing import Any

import numpy as np
import pytest

from indistinct import Adjacency, ArgumentError
from indistinct.data import (
    Bins,
    Categories,
    Hierarchy,
    Norm,
    Outside,
    UserRecords,
    UserTotals,
    Within,
)
from indistinct.data.queries.hierarchy import best_shares
from indistinct.data.queries.tree import Tree, _split
from indistinct.errors import DataError
from indistinct.workloads import Matrix, Noise, optimise

PLACES = {
    "region": Categories(["N", "S"]),
    "state": Within({"N": ["Maine", "Vermont"], "S": ["Texas"]}),
    "county": Within({"Maine": ["Knox", "Lincoln"], "Vermont": ["Windsor"], "Texas": ["Lincoln", "Travis"]}),
}
IRREGULAR = Tree(
    (
        np.zeros(3, dtype=np.int64),
        np.array([0, 0, 1, 2, 2, 2]),
        np.array([0, 1, 1, 2, 3, 4, 4, 4, 5]),
    )
)


def regular(*children: int) -> Tree:
    sizes = [1, *itertools.accumulate(children, lambda a, b: a * b)]
    return Tree(tuple(np.repeat(np.arange(up), many) for up, many in zip(sizes, children, strict=False)))


def matrix(tree: Tree) -> Any:
    """A row for each node, level by level."""
    return np.concatenate([level.T for level in tree.levels(np.eye(tree.sizes[-1], dtype=int))])


@pytest.mark.parametrize("tree", [IRREGULAR, regular(2, 2), regular(1, 3), regular(4)])
@pytest.mark.parametrize("top", [0.0, 0.7])
def test_the_fit_is_that_of_dense_least_squares(tree: Tree, top: float) -> None:
    draw = np.random.default_rng(3)
    precisions = [top, *draw.uniform(0.2, 3, len(tree.parents))]
    rows, weights = matrix(tree), np.repeat(precisions, tree.sizes)
    measured = draw.normal(10, 5, len(rows))
    root = np.sqrt(weights)
    leaves = np.linalg.lstsq(root[:, None] * rows, root * measured, rcond=None)[0]
    spread = np.linalg.inv(rows.T @ (weights[:, None] * rows))
    levels = np.split(measured, np.cumsum(tree.sizes)[:-1])
    np.testing.assert_allclose(np.concatenate(tree.fitted(levels, precisions)), rows @ leaves, rtol=1e-9)
    found = np.concatenate(tree.variances(precisions))
    np.testing.assert_allclose(found, np.einsum("ij,jk,ik->i", rows, spread, rows), rtol=1e-9)
    several = [np.stack([level, 2 * level]) for level in levels]  # groups along the leading axis
    doubled = np.concatenate(tree.fitted(several, precisions), axis=-1)
    np.testing.assert_allclose(doubled[1], 2 * rows @ leaves, rtol=1e-9)


def check_adds_up(tree: Tree, levels: list[Any]) -> None:
    for above, below, parent in zip(levels, levels[1:], tree.parents, strict=False):
        sums = np.stack([np.bincount(parent, row, len(above[0])) for row in below])
        np.testing.assert_allclose(sums, above, atol=1e-8)


def test_whole_numbers_add_up_and_do_not_change_what_does() -> None:
    draw = np.random.default_rng(5)
    precisions = [0.5, 1.0, 2.0, 1.0]
    noisy = [draw.normal(2, 9, (40, size)) for size in IRREGULAR.sizes]
    fitted = IRREGULAR.fitted(noisy, precisions)
    check_adds_up(IRREGULAR, fitted)
    whole = IRREGULAR.whole(fitted, precisions)
    check_adds_up(IRREGULAR, whole)
    assert all((level >= 0).all() and (level == np.rint(level)).all() for level in whole)
    again = IRREGULAR.whole(whole, precisions)
    assert all(np.array_equal(one, other) for one, other in zip(whole, again, strict=True))
    with pytest.raises(AssertionError):  # a child that does not add up is seen
        check_adds_up(IRREGULAR, [*whole[:-1], whole[-1] + np.eye(40, 9)])


def test_a_split_is_the_nearest_one_without_negative_parts() -> None:
    draw = np.random.default_rng(6)
    for _ in range(30):
        wanted, spread, total = draw.normal(0, 5, 4), draw.uniform(0.2, 3, 4), float(draw.integers(0, 9))
        parts = _split(wanted, spread, total)
        assert parts.sum() == pytest.approx(total) and (parts >= 0).all()
        # no transfer from one part to another comes nearer: the gradient is least where something is left
        slope = (parts - wanted) / spread
        assert slope[parts > 1e-9].max(initial=-np.inf) <= slope.min() + 1e-9


@pytest.mark.parametrize("norm", [Norm.L1, Norm.L2])
@pytest.mark.parametrize("weights", [(1.0, 1.0, 1.0, 1.0), (1.0, 1.0, 2.0, 9.0)])
@pytest.mark.parametrize("tree", [IRREGULAR, regular(4, 5, 6), regular(1, 50, 2), regular(2, 2, 2)])
def test_no_level_is_worse_than_by_itself(tree: Tree, weights: tuple[float, ...], norm: Norm) -> None:
    shares = np.array(best_shares(tree, norm, weights), dtype=float)
    moved = shares.sum() ** 2 if norm is Norm.L1 else (shares**2).sum()
    means = moved * np.array([level.mean() for level in tree.variances((shares**2).tolist())])
    power = 3 if norm is Norm.L1 else 4
    alone = np.rint(32 * (np.array(weights) / max(weights)) ** (1 / power))
    plain = (alone.sum() ** 2 if norm is Norm.L1 else (alone**2).sum()) / alone**2
    assert (means <= plain).all()
    assert means @ weights < 0.95 * plain @ weights


def test_the_shares_are_the_best_there_are() -> None:
    tree = regular(4, 5, 6)
    rows = matrix(tree) / np.sqrt(np.repeat(tree.sizes, tree.sizes))[:, None]
    for norm, noise, worse in ((Norm.L2, Noise.GAUSSIAN, 1.002), (Norm.L1, Noise.LAPLACE, 1.05)):
        shares = np.array(best_shares(tree, norm, (1, 1, 1, 1)), dtype=float)
        moved = shares.sum() ** 2 if norm is Norm.L1 else (shares**2).sum()
        cost = moved * sum(level.mean() for level in tree.variances((shares**2).tolist()))
        best = optimise(Matrix(rows), noise)
        assert cost * noise.variance < worse * (best.bound if noise is Noise.GAUSSIAN else best.error)


def records(many: int = 3000) -> dict[str, list[Any]]:
    draw = np.random.default_rng(7)
    states, counties = dict(PLACES["state"].inside), dict(PLACES["county"].inside)  # type: ignore[union-attr]
    leaves = [
        (region, state, county) for region in "NS" for state in states[region] for county in counties[state]
    ]
    chosen = draw.choice(len(leaves), many, p=[0.6, 0.3, 0.06, 0.04, 0])
    columns = zip(*(leaves[place] for place in chosen), strict=True)
    data: dict[str, list[Any]] = {name: list(column) for name, column in zip(PLACES, columns, strict=True)}
    return data | {"person": [place // 4 for place in range(many)]}


def test_cells_that_cannot_be_do_not_exist() -> None:
    query = Hierarchy(PLACES)
    assert query.tree.sizes == (1, 2, 3, 5)
    data = {
        "region": ["N", "N", "S", "S", "N", None],
        "state": ["Maine", "Maine", "Texas", "Maine", "Texas", "Maine"],
        "county": ["Knox", "Lincoln", "Lincoln", "Knox", "Travis", "Knox"],
    }
    assert query.statistic(data).units.tolist() == [3, 2, 1, 2, 0, 1, 1, 1, 0, 1, 0]
    strict = dict(PLACES, state=Within(dict(PLACES["state"].inside), outside=Outside.ERROR))
    with pytest.raises(DataError, match="'state' has values outside its declared domain within the column"):
        Hierarchy(strict).statistic(data)
    everywhere = Hierarchy({"region": Categories(["N", "S"]), "age": Bins(0, 100, 4)})
    assert everywhere.tree.sizes == (1, 2, 8)


@pytest.mark.parametrize(
    ("levels", "words"),
    [
        ({"state": PLACES["state"]}, "domain of 'state' must be one that is within no other"),
        ({"region": Categories(["N"]), "state": PLACES["state"]}, "'state' must be a category of 'region'"),
        (
            {"region": Categories(["N", "S", "W"]), "state": PLACES["state"]},
            "'state' must be listed with what",
        ),
        ({"region": Bins(0, 1, 2), "state": PLACES["state"]}, "domain of 'region' must be categories"),
        (
            {
                "a": Categories(["x", "y"]),
                "b": Within({"x": ["z"], "y": ["z"]}),
                "c": Within({"z": ["1"]}),
            },
            "in one place of 'b'",
        ),
        ({}, "levels must be one column or more"),
    ],
)
def test_a_tree_that_is_none_is_refused(levels: Any, words: str) -> None:
    with pytest.raises(ArgumentError, match=words):
        Hierarchy(levels)


def test_a_user_moves_all_levels() -> None:
    data = records(8)
    data = {name: [column[0]] * 3 for name, column in data.items()}  # three records of one user at one leaf
    for shares, most in (((2, 1, 0, 3), 1), ((1, 1, 1, 1), 3)):
        query = Hierarchy(PLACES, shares, unit=UserRecords("person", most))
        moved = np.abs(query.statistic(data).units)
        for norm, length in (
            (Norm.L1, moved.sum()),
            (Norm.L2, np.sqrt((moved**2).sum())),
            (Norm.MAX, moved.max()),
        ):
            assert query.sensitivity(norm) == pytest.approx(length)  # a level that is forgotten would be less
        swapped = query.sensitivity(Norm.L2, Adjacency.REPLACE_ONE)
        assert swapped == pytest.approx(np.sqrt(2) * query.sensitivity(Norm.L2))
    with pytest.raises(ArgumentError, match="clipped in L1"):
        Hierarchy(PLACES, unit=UserTotals("person", Norm.L2, 2.0))


@pytest.mark.parametrize("whole", [False, True])
@pytest.mark.parametrize("norm", [Norm.L1, Norm.L2])
def test_intervals_hold_the_truth_as_often_as_they_say(norm: Norm, whole: bool) -> None:
    query = Hierarchy.best(PLACES, norm, whole=whole)
    noisy = query.laplace(90.0) if norm is Norm.L1 else query.gaussian(300.0)
    exact = query.statistic(records()).values
    draw = np.random.default_rng(8)
    noise = (
        draw.laplace(0, 90, (3000, query.size))
        if norm is Norm.L1
        else draw.normal(0, 300, (3000, query.size))
    )
    found = query.estimate(exact + noise, noisy)
    truth = np.concatenate(query.tree.levels(Hierarchy(PLACES).statistic(records()).units[-5:]))

    def covered(part: float) -> Any:
        middle, half = (found.low + found.high) / 2, part * (found.high - found.low) / 2
        return (np.abs(truth - middle) <= half + 1e-9).mean(axis=0)

    assert (covered(1.0) > 0.93).all() and (covered(1.0) < 0.992).all()
    assert covered(0.7).min() < 0.93  # an interval that is too short is seen
    if not whole:
        np.testing.assert_allclose((found.value - truth).std(axis=0), found.error[0], rtol=0.06)
        np.testing.assert_allclose((found.value - truth).mean(axis=0), 0, atol=0.1 * found.error.max())
    else:
        assert (
            (found.low <= found.value).all() and (found.value <= found.high).all() and (found.low >= 0).all()
        )


def test_a_release_is_near_the_truth() -> None:
    query = Hierarchy.best(PLACES, Norm.L2, (1, 1, 1, 4), whole=True, unit=UserRecords("person", 4))
    release = query.gaussian(1.0).release(records())
    truth = np.concatenate(query.tree.levels(Hierarchy(PLACES).statistic(records()).units[-5:]))
    assert np.abs(release.values - truth).max() <= 2
    assert release.guarantee().epsilon(delta=1e-6) > 1
