"""Sums of features: whole numbers, added exactly, each row no longer than its bound, whatever a map says."""

import math
from dataclasses import dataclass

import numpy as np
import pytest

from indistinct.data import Categories, FeatureMap, FeatureSum, Norm, Numbers
from indistinct.data.queries.feature_sums import Mapped

UNIT = Numbers(0, 1)
POWERS = [1.0, math.nextafter(1, 0), math.nextafter(1, 2), math.nextafter(2, 0), 0.3, 1e-150, 1e150]


@dataclass(frozen=True)
class Told(FeatureMap):
    """Rows in fixed directions, of a length that is so many times what it should be."""

    size: int
    bound: float
    times: float = 1.0
    dimension = 1
    nonnegative = False

    def __call__(self, points: np.ndarray) -> np.ndarray:
        rows = np.cos(np.arange(1, self.size + 1) * (1 + points)) * np.where(points < 0.5, 1, -1)
        return rows / np.linalg.norm(rows, axis=1, keepdims=True) * self.bound * self.times


@pytest.mark.parametrize("bound", POWERS)
@pytest.mark.parametrize("records", [1, 2**16, 2**16 + 1, 2**30])
def test_sums_are_exact_and_rows_within_the_limit(bound: float, records: int) -> None:
    for size, times in ((1, 1.0), (3, 1.0), (3, 1 + 1e-15), (200, 1.5), (3, 1e100), (3, 1e-9)):
        one = Mapped((("x", UNIT),), Told(size, bound, times), records=records)
        points = np.linspace(0, 1, 301)[:, None]
        rows = [[int(number) for number in row] for row in one.rounded(points)]
        assert all(sum(number**2 for number in row) <= one.limit**2 for row in rows)
        query = FeatureSum({"x": UNIT}, one.map, records=2**30)
        exact = [sum(column) for column in zip(*map(list, query.encoding.rounded(points)), strict=True)]
        assert query.statistic({"x": points[:, 0]}).units.tolist() == [int(total) for total in exact]
        assert one.limit * (2**53 // one.limit) <= 2**53  # what doubles add is below this
        assert one.limit * 2**15 < 2**63  # and what is put off is below that


@pytest.mark.parametrize("bound", POWERS[:4])
def test_many_records_of_several_blocks_add_up_exactly(bound: float) -> None:
    blocks, count = Categories(range(3)), 70_001
    query = FeatureSum({"x": UNIT}, Told(2, bound), block=("y", blocks), records=2**17)
    labels = np.arange(count) % 3
    found = query.statistic({"x": np.full(count, 0.25), "y": labels}).units.reshape(3, 2)
    row = query.encoding.rounded(np.full((1, 1), 0.25))[0]
    assert (found == np.bincount(labels)[:, None] * row).all()


@pytest.mark.parametrize("huge", [1e300, 1.7e308])
def test_features_that_no_number_of_steps_holds_add_nothing(huge: float) -> None:
    """They were NaN times the step, which spoiled the sums of all blocks, and two of them came to 0."""
    query = FeatureSum({"x": UNIT}, Told(2, 1.0, huge), records=100)
    assert query.statistic({"x": np.array([0.2, 0.4])}).units.tolist() == [0, 0]


def test_neighbours_are_no_further_apart_than_stated() -> None:
    query = FeatureSum({"x": UNIT}, Told(5, math.nextafter(2, 0), 3.0), records=100)
    whole = np.linspace(0, 1, 30)
    for place in range(30):
        less = query.statistic({"x": np.delete(whole, place)}).units
        moved = query.statistic({"x": whole}).units - less
        assert math.hypot(*moved.tolist()) * query.step <= query.sensitivity(Norm.L2)
