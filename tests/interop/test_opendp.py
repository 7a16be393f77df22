"""Mechanisms as measurements of OpenDP, measurements as guarantees, and what is refused."""

import math
from typing import Any

import opendp.prelude as dp
import pytest

from indistinct import ApproxDP, Gaussian, Laplace, PureDP, ZeroConcentratedDP
from indistinct.interop.opendp import from_measurement, to_measurement

dp.enable_features("contrib", "honest-but-curious")
DATA = dp.vector_domain(dp.atom_domain(T=int))
NUMBER = dp.atom_domain(T=int), dp.absolute_distance(T=int)


@pytest.mark.parametrize("metric", [dp.symmetric_distance(), dp.change_one_distance()], ids=str)
def test_a_mechanism_becomes_a_measurement(metric: Any) -> None:
    run = 5 * Gaussian(3.0) + Laplace(4.0)
    measurement = to_measurement(run, DATA, metric, lambda data: Laplace(4.0).release(len(data)).values)
    assert isinstance(float(measurement([1, 2, 3])), float)
    for records in (1, 2):
        known, profile = run.guarantee().group(records), measurement.map(records)
        for epsilon in (0.0, 0.5, 2.0):
            assert profile.delta(epsilon) == known.delta(epsilon)
        # OpenDP inverts the curve by bisection
        assert profile.epsilon(1e-5) == pytest.approx(known.epsilon(1e-5), rel=1e-9)
    assert measurement.map(0).delta(0.0) == 0
    fixed = dp.c.make_fix_delta(measurement, delta=1e-5)
    assert fixed.map(1)[0] == pytest.approx(run.guarantee().epsilon(1e-5), rel=1e-9)
    back = from_measurement(measurement).epsilon(1e-5)
    assert run.guarantee().epsilon(1e-5) * (1 - 1e-9) <= back <= run.guarantee().epsilon(1e-5) * 1.05


def test_measurements_become_guarantees() -> None:
    laplace, gaussian = dp.m.make_laplace(*NUMBER, scale=2.0), dp.m.make_gaussian(*NUMBER, scale=2.0)
    assert from_measurement(laplace, 1, adjacency="add-remove") == PureDP(0.5)
    assert from_measurement(gaussian, 3, adjacency="replace-one") == ZeroConcentratedDP(
        9 / 8, adjacency="replace-one"
    )
    approximate = dp.c.make_zCDP_to_approxDP(gaussian)
    stated = from_measurement(approximate, 1, adjacency="add-remove")
    # a few points of their curve, so that it is met at these
    for delta in (1e-3, 1e-6, 1e-9):
        exact = approximate.map(1).epsilon(delta)
        assert exact * (1 - 1e-9) <= stated.epsilon(delta) <= exact * 1.05
    fixed = dp.c.make_fix_delta(approximate, delta=1e-6)
    assert from_measurement(fixed, 1, adjacency="add-remove") == ApproxDP(*fixed.map(1))


def test_an_approximate_claim_of_concentration() -> None:
    """That it is rho-zCDP but for an event of probability delta, which may change odds by 1/(1-delta) too."""
    measurement = dp.m.make_user_measurement(
        *NUMBER,
        dp.approximate(dp.zero_concentrated_divergence()),
        lambda _: 0,
        lambda _: (0.1, 1e-3),
    )
    known = from_measurement(measurement, 1, adjacency="add-remove")
    assert known.epsilon(1e-3) == math.inf
    inner = ZeroConcentratedDP(0.1).epsilon(1e-3)
    assert inner <= known.epsilon(2e-3) <= inner + 0.01


def test_records_are_counted_by_the_metric() -> None:
    count = (DATA, dp.symmetric_distance()) >> dp.t.then_count() >> dp.m.then_laplace(scale=2.0)
    assert from_measurement(count, 2) == PureDP(1.0)
    with pytest.raises(ValueError, match=r"^adjacency must be that of SymmetricDistance"):
        from_measurement(count, 1, adjacency="replace-one")


def test_what_is_not_known_is_refused_by_name() -> None:
    laplace = dp.m.make_laplace(*NUMBER, scale=2.0)
    with pytest.raises(ValueError, match=r"^input_metric must be one that counts records.*AbsoluteDistance"):
        from_measurement(laplace)
    with pytest.raises(ValueError, match=r"^input_metric must be one that counts records.*AbsoluteDistance"):
        to_measurement(Gaussian(1.0), *NUMBER, len)
    user = dp.m.make_user_measurement(*NUMBER, dp.user_divergence("mine"), lambda _: 0, lambda _: 0.0)
    with pytest.raises(ValueError, match=r"^measurement must be one with a divergence.*mine"):
        from_measurement(user, 1, adjacency="add-remove")
    for claimed in (math.nan, -1.0, math.inf):
        said = dp.m.make_user_measurement(*NUMBER, dp.max_divergence(), lambda _: 0, lambda _, c=claimed: c)
        with pytest.raises((ValueError, dp.OpenDPException)):
            from_measurement(said, 1, adjacency="add-remove")


def test_neighbours_that_do_not_fit_are_refused() -> None:
    with pytest.raises(ValueError, match=r"^adjacency must be replace-one"):
        to_measurement(Gaussian(1.0).subsample(5, of=10), DATA, dp.symmetric_distance(), len)
    measurement = to_measurement(Gaussian(1.0), DATA, dp.symmetric_distance(), len)
    guarantee = from_measurement(measurement)
    with pytest.raises(ValueError, match=r"^adjacency must be"):
        guarantee + PureDP(1.0, adjacency="replace-one")
