"""Which pairs of outputs a reading against a class covers: functions of the class, in every direction, never
tell them apart better than it says. Nothing here but the readings comes from the package."""

import itertools
import math
from collections.abc import Callable

import numpy as np
import pytest

from indistinct import Features, Gaussian, Laplace, Linear, Mechanism, PiecewiseLinear, Polynomial
from indistinct.adversaries import Adversary, reading
from indistinct.adversaries.reading import _directions
from indistinct.adversaries.solvers.laws import ReleasedNumber

Function = Callable[[np.ndarray], np.ndarray]

X = np.linspace(-45.0, 45.0, 30_001)


def normal(x: np.ndarray) -> np.ndarray:
    return np.exp(-x * x / 2) / math.sqrt(2 * math.pi)


def laplace(x: np.ndarray) -> np.ndarray:
    return np.exp(-np.abs(x)) / 2


def outputs(density: Function, shift: float, rate: float = 1.0) -> list[tuple[np.ndarray, np.ndarray]]:
    """The laws on neighbours, as weights on a grid: with and without a record that raises or lowers the
    number, in either order."""
    found = []
    for side in (shift, -shift):
        without = density(X) / density(X).sum()
        with_it = (1 - rate) * without + rate * density(X - side) / density(X - side).sum()
        found += [(with_it, without), (without, with_it)]
    return found


def told_apart(h: np.ndarray, p: np.ndarray, q: np.ndarray, order: float) -> float:
    """The restricted divergence is at least this, for any h of a class that is closed under scaling."""
    power = order / (order - 1)
    mean, size = abs(float(p @ h)), float(q @ np.abs(h) ** power)
    return (order * math.log(mean) - (order - 1) * math.log(size)) / (order - 1) if mean > 0 else 0.0


def ramps(knots: list[float]) -> list[np.ndarray]:
    """Of piecewise linear functions those that are made of one kink and a constant."""
    slopes = [np.maximum(sign * (X - knot), 0.0) for knot in knots for sign in (1.0, -1.0)]
    return [slope + constant for slope in slopes for constant in (0.0, 0.3, 2.0)]


WAVE = Features(lambda x: np.stack([np.sin(x), np.maximum(x - 1, 0.0)]), kinks=(1.0,), name="wave and ramp")
WAVES = [np.sin(X) + b for b in (0.0, 0.7)] + [np.maximum(X - 1, 0.0) + b for b in (0.0, 0.5)]
LINES = [b + a * X for a in (1.0, -1.0) for b in (0.3, 1.0, 3.0)]
CURVES = [*LINES, *((X - m) ** 2 + b for m in (-3.0, -1.0, 0.0, 2.0) for b in (0.0, 1.0))]

CASES: list[tuple[Mechanism, list[tuple[np.ndarray, np.ndarray]], Adversary, list[np.ndarray]]] = [
    (release, laws, adversary, functions)
    for release, laws in [
        (Gaussian(scale=1.0, sensitivity=2.0), outputs(normal, 2.0)),
        (Laplace(scale=1.0, sensitivity=1.5), outputs(laplace, 1.5)),
        (Gaussian(scale=1.0, sensitivity=2.0).subsample(0.3), outputs(normal, 2.0, 0.3)),
    ]
    for adversary, functions in [
        (PiecewiseLinear([0.0]), ramps([0.0])),
        (PiecewiseLinear([-1.0, 0.5]), ramps([-1.0, 0.5])),
        (WAVE, WAVES),
        (Linear(), LINES),
        (Polynomial(2), CURVES),
    ]
]


CASES.append((Gaussian(1.0).group(2), outputs(normal, 2.0), PiecewiseLinear([0.0]), ramps([0.0])))


def missed(release: Mechanism, laws: list, adversary: Adversary, functions: list[np.ndarray]) -> float:
    """By how much some function exceeds the reading, in some direction."""
    found = release.guarantee().against(adversary)
    excess = [
        told_apart(h, p, q, order) - found.renyi(order)
        for order in (1.5, 5.0)
        for p, q in laws
        for h in functions
    ]
    return max(excess)


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case[0]}-{case[2]}")
def test_no_function_beats_a_reading_in_any_direction(case: tuple) -> None:
    assert missed(*case) <= 1e-6


def test_the_witness_that_was_missed() -> None:
    release, laws = Gaussian(scale=1.0, sensitivity=2.0), outputs(normal, 2.0)
    found = max(told_apart(np.maximum(-X, 0.0), p, q, 5.0) for p, q in laws)
    assert found == pytest.approx(3.75713, abs=1e-5)
    assert release.guarantee().against(PiecewiseLinear([0.0])).renyi(5) == pytest.approx(found, abs=1e-5)


@pytest.mark.parametrize("direction", ["_directions", "_sides"])
def test_a_direction_left_out_is_noticed(direction: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Planted: the reversed pair, or the record that lowers the number, is dropped."""
    whole = getattr(reading, direction)
    monkeypatch.setattr(reading, direction, lambda *arguments: whole(*arguments)[:1])
    assert max(missed(*case) for case in CASES[:3]) > 0.1


def test_a_symmetry_that_a_class_does_not_have_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(PiecewiseLinear, "moves", True)
    assert missed(*CASES[0]) > 1.0


def test_numbers_of_a_composition_move_each_to_its_own_side() -> None:
    """A record may raise one number and lower another: products of functions are told apart as well as both
    together."""
    knots = [0.7, 2.5]
    both = (Gaussian(scale=1.0, sensitivity=1.0) + Laplace(scale=1.0, sensitivity=2.0)).guarantee()
    joint = both.against(PiecewiseLinear(knots), adaptive=False).renyi(3.0)
    best = [
        [max(told_apart(h, p, q, 3.0) for h in ramps(knots)) for p, q in laws]
        for laws in (outputs(normal, 1.0), outputs(laplace, 2.0))
    ]
    for (one, first), (two, second) in itertools.product(*(enumerate(side) for side in best)):
        if one % 2 == two % 2:  # the record is there for both numbers, or for none
            assert first + second <= joint + 1e-6
    assert max(best[0][0] + best[1][0], best[0][2] + best[1][2]) < max(best[0]) + max(best[1]) - 0.01


def test_what_moves_with_the_data_is_read_once() -> None:
    plain, sampled = (
        ReleasedNumber.behind(release.guarantee().outputs[0][0])
        for release in (Gaussian(1), Gaussian(1).subsample(0.1))
    )
    assert plain is not None and sampled is not None
    counts = {
        str(a): [len(_directions(a, [(place, 1)])) for place in (plain, sampled)] for a in (Linear(), WAVE)
    }
    assert counts == {str(Linear()): [1, 2], str(WAVE): [2, 2]}
