"""Values that were computed with many digits and without the library (reference/make_reference.py)."""

import json
import math
from pathlib import Path
from typing import Any

import pytest

from indistinct import Gaussian, Laplace, Mechanism, RandomizedResponse

ROWS: list[dict[str, Any]] = json.loads(
    (Path(__file__).parents[1] / "reference" / "values.json").read_text(encoding="utf-8")
)
OWN_DIGITS = 1e-11
"""Relative: a double is not the decimal number that the reference was computed for."""

LOOSE = {"epsilon@1e-10:1000000 * gaussian(0.5).subsample(1e-06)": 3e-5}
"""Relative: where the contour cannot bound what it leaves out, a lattice answers: safe, and not as sharp."""

# Epsilon as written down before the library was: mechanism, delta, epsilon.
STATED = [
    (1000 * Gaussian(scale=20), 1e-5, 7.511275901),
    (100_000 * Gaussian(scale=4).subsample(0.001), 1e-5, 0.268670956),
    (14_062 * Gaussian(scale=1.1).subsample(256 / 60000), 1e-5, 2.381596921),
    (20_000 * Gaussian(scale=1).subsample(0.01), 1e-5, 9.267488695),
    (10_000 * Gaussian(scale=0.6).subsample(0.003), 1e-5, 6.372325987),
    (1000 * Gaussian(scale=1).subsample(0.01), 1e-5, 1.828236792),
    (1000 * Gaussian(scale=1).subsample(0.01), 1e-12, 3.914298157),
    (250 * RandomizedResponse(truth=0.51), 1e-6, 2.899739290801549),
    (250 * RandomizedResponse(truth=0.52), 1e-6, 6.345557153849969),
]


def build(data: dict[str, Any]) -> Mechanism:
    """The mechanism of a row; the reference has its own words so that it shares no code."""
    match data["kind"]:
        case "gaussian":
            return Gaussian(scale=float(data["scale"]))
        case "laplace":
            return Laplace(scale=float(data["scale"]))
        case "randomized_response":
            return RandomizedResponse(truth=float(data["truth"]), categories=data["categories"])
        case "poisson":
            return build(data["base"]).subsample(float(data["rate"]))
        case "repeated":
            return data["steps"] * build(data["base"])
        case "composed":
            first, *others = (build(part) for part in data["parts"])
            return sum(others, first)
        case unknown:
            raise AssertionError(f"teach this test about {unknown}")


def read(mechanism: Mechanism, reading: str, at: float) -> float:
    guarantee = mechanism.guarantee()
    return guarantee.advantage() if reading == "advantage" else getattr(guarantee, reading)(at)


def name(row: dict[str, Any]) -> str:
    text = str(build(row["mechanism"]))
    return f"{row['reading']}@{row['at']}:{text if len(text) < 80 else text[:77] + '...'}"


@pytest.mark.parametrize("row", ROWS, ids=name)
def test_reading_is_exact_and_never_flatters(row: dict[str, Any]) -> None:
    truth = float(row["value"])
    value = read(build(row["mechanism"]), row["reading"], float(row["at"]))
    assert value == pytest.approx(truth, rel=LOOSE.get(name(row), 1e-6), abs=0)
    if row["reading"] == "tradeoff":  # a lower bound on the errors of every test
        assert value <= truth * (1 + OWN_DIGITS)
    else:
        assert value >= truth * (1 - OWN_DIGITS)


@pytest.mark.parametrize(("mechanism", "delta", "epsilon"), STATED, ids=str)
def test_design_notes_to_1e_7(mechanism: Mechanism, delta: float, epsilon: float) -> None:
    assert mechanism.guarantee().epsilon(delta) == pytest.approx(epsilon, rel=1e-7)


def test_design_notes_with_fewer_digits() -> None:
    sgd = (1000 * Gaussian(scale=1).subsample(0.01)).guarantee()
    assert round(sgd.epsilon(1e-300), 4) == 85.5443
    laplace = (250 * Laplace(scale=20)).guarantee()
    assert laplace.epsilon(1e-6) == pytest.approx(3.682958, abs=1.5e-6)


def test_reference_covers_the_range_promised() -> None:
    rates, scales, steps, deltas = set(), set(), set(), set()
    for row in ROWS:
        data = row["mechanism"]
        if data["kind"] == "repeated" and data["base"]["kind"] == "poisson":
            steps.add(data["steps"])
            rates.add(float(data["base"]["rate"]))
            scales.add(float(data["base"]["base"].get("scale", "nan")))
            if row["reading"] == "epsilon":
                deltas.add(float(row["at"]))
    scales = {s for s in scales if not math.isnan(s)}
    assert (min(rates), max(rates)) == (1e-6, 0.9)
    assert (min(scales), max(scales)) == (0.3, 1e4)
    assert max(steps) == 10**9
    assert min(deltas) <= 1e-100 and max(deltas) >= 0.3
