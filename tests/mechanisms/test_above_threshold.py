"""The first answer above a threshold: against sums over all noise, for few answers on the integers."""

import math
from itertools import product

import numpy as np
import pytest

from indistinct import AboveThreshold, ArgumentError
from indistinct.noise import NotPrivateSource
from indistinct.testing import check_saved

REACH = 400
NOISE = np.arange(-REACH, REACH + 1)


def laplace(scale: float) -> np.ndarray:
    share = np.exp(-np.abs(NOISE) / scale)
    return share / share.sum()


def places(answers: tuple[int, ...], threshold_scale: float, scale: float) -> np.ndarray:
    """The probability of each place, and of none, for the threshold 0."""
    below = np.append(0.0, np.cumsum(laplace(scale)))

    def under(answer: int) -> np.ndarray:
        return below[np.clip(NOISE - answer + REACH, 0, NOISE.size)]  # answer + noise < threshold noise

    so_far, result = laplace(threshold_scale), []
    for answer in answers:
        result.append(float((so_far * (1 - under(answer))).sum()))
        so_far = so_far * under(answer)
    return np.array([*result, float(so_far.sum())])


@pytest.mark.parametrize("monotonic", [False, True])
def test_no_neighbour_is_told_apart_by_more(monotonic: bool) -> None:
    pure = AboveThreshold(3, 5, monotonic=monotonic).guarantee().pure()
    most = 0.0
    for start in ((0, 0, 0), (-8, -8, -2), (-8, -8, -8), (4, -6, 12)):
        one = places(start, 3, 5)
        for moves in product((-1, 0, 1), repeat=3):
            if monotonic and min(moves) * max(moves) < 0:
                continue
            other = places(tuple(a + b for a, b in zip(start, moves, strict=True)), 3, 5)
            most = max(most, float(np.abs(np.log(one / other)).max()))
    assert 0.5 * pure < most <= pure * (1 + 1e-9)
    # a threshold without noise, as if it were for nothing, would promise less than this
    assert monotonic or most > AboveThreshold(1e9, 5, monotonic=True).guarantee().pure()


def test_release() -> None:
    rule, answers, draws = AboveThreshold(2.0, 4.0, sensitivity=1.0), (-3, 2, 1), 1000
    source = NotPrivateSource(5)
    released = [rule.release(iter(answers), threshold=0, source=source) for _ in range(draws)]
    found = [len(answers) if one.values is None else one.values for one in released]
    share = np.bincount(found, minlength=4) / draws
    # the lattice is fine: noise is as if it were on the reals, where a tie has no chance
    scaled = places(tuple(16 * a for a in answers), 32, 64)
    assert np.abs(np.cumsum(share - scaled)).max() < math.sqrt(math.log(2e6) / (2 * draws)) + 0.01
    stated = rule.release([5.0], threshold=0.0).guarantee().pure()
    assert rule.guarantee().pure() <= stated <= rule.guarantee().pure() * (1 + 1e-9)
    taken = iter([0.0, 9.0, 1.0])
    assert AboveThreshold(1e-3, 1e-3).release(taken, threshold=5).values == 1 and next(taken) == 1.0
    check_saved(AboveThreshold(4, 8, sensitivity=2, monotonic=True))
    assert (3 * rule).guarantee().pure() == pytest.approx(3 * rule.guarantee().pure())
    for bad in (math.nan, math.inf, "x"):
        with pytest.raises(ArgumentError):
            rule.release([bad], threshold=0.0)  # type: ignore[list-item]
    with pytest.raises(ArgumentError):
        AboveThreshold(0, 1)
