"""Laws that hold for every guarantee, over the one list of cases."""

import math
from functools import cache
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from cases import CASES, COMPOSED, DEAR, MECHANISMS, SILENT, SINGLE, STATED, Case, each

from indistinct import Discrete, Gaussian, Guarantee, Laplace, Mechanism, RandomizedResponse
from indistinct.guarantees import engines
from indistinct.guarantees.guarantee import PairGuarantee
from indistinct.guarantees.noise_pairs import GaussianPair
from indistinct.guarantees.pair import Resolution
from indistinct.guarantees.product import Product
from indistinct.guarantees.tails import NARROW
from indistinct.testing import (
    check_edges,
    check_engine,
    check_profile,
    check_renyi,
    check_saved,
    check_tradeoff,
)
from indistinct.testing.guarantees import DELTAS, ENGINE, EPSILONS, FPRS, ORDERS, Profile, profile_of

SMOOTH = [
    case
    for case in COMPOSED
    if case.name.startswith(("100 subsampled g", "1e4 subsampled g", "1e4 without", "gaussian +"))
    or case.name in ("two subsampled", "subsampled composition", "twice subsampled")
]
"""Compositions that the contour answers."""

every_case = each(CASES)


def readings(guarantee: Guarantee) -> dict[str, Any]:
    return {
        "epsilon": guarantee.epsilon([1e-5, 0.05]),
        "delta": guarantee.delta([0, 0.3]),
        "renyi": guarantee.renyi(ORDERS),
        "pure": guarantee.pure(),
    }


@cache
def profile(case: Case) -> Profile:
    """Read once for all laws."""
    return profile_of(case.guarantee())


# -- 1: composition ------------------------------------------------------------------------------


@each([*SINGLE, *SILENT[:2], *STATED])
def test_n_times_is_the_sum(case: Case) -> None:
    g = case.guarantee()
    times, total = 3 * g, g + g + g
    if times == total:
        return  # equal values are the same computation
    mine, theirs = readings(times), readings(total)
    for name, value in mine.items():
        assert value == pytest.approx(theirs[name], rel=1e-9, abs=1e-300), name
    assert times.tradeoff(FPRS) == pytest.approx(total.tradeoff(FPRS), abs=1e-9)


@each(SINGLE)
def test_n_times_a_mechanism_is_the_sum(case: Case) -> None:
    m = case.subject
    times, total = (3 * m).guarantee(case.adjacency), (m + m + m).guarantee(case.adjacency)
    if times != total:  # equal values are the same computation; shifts of Gaussians are added up in rounding
        assert times.epsilon(1e-5) == pytest.approx(total.epsilon(1e-5), rel=1e-9)
    assert (2 * (5 * m)).guarantee(case.adjacency) == (10 * m).guarantee(case.adjacency)


@each([*SINGLE, *STATED[:7]])
def test_no_count_is_dropped(case: Case) -> None:
    g = case.guarantee()
    for order in (0.5, 1.0, 2.0, 8.0, math.inf):
        assert (7 * g).renyi(order) == pytest.approx(7 * g.renyi(order), rel=1e-7, abs=1e-300)
    assert (7 * g).advantage() > g.advantage() or g.advantage() == 1


@every_case
def test_once_is_the_same_and_zero_times_is_nothing(case: Case) -> None:
    g = case.guarantee()
    assert 1 * g == g
    nothing = 0 * g
    assert nothing.epsilon(0) == nothing.pure() == nothing.renyi(2) == 0
    assert nothing.tradeoff(0.3) == pytest.approx(0.7)


@every_case
def test_composition_with_nothing_changes_nothing(case: Case) -> None:
    g = case.guarantee()
    more = g + 0 * g
    if more == g:
        return  # equal values are the same computation
    assert more.epsilon(1e-5) == pytest.approx(g.epsilon(1e-5), rel=1e-6)
    assert more.renyi(ORDERS) == pytest.approx(g.renyi(ORDERS), rel=1e-6)


# -- 2: routes agree ------------------------------------------------------------------------------


@each(SMOOTH)
def test_engines_agree(case: Case) -> None:
    """Each engine alone: bounds that hold must overlap."""
    known = case.fresh()
    assert isinstance(known, PairGuarantee)
    check_engine(engines.contour, known)


@each([*SINGLE, *COMPOSED])
def test_cumulants_of_tiny_orders_are_no_less_than_their_tangent(case: Case) -> None:
    """K is convex, nothing at 0, and rises there by the mean loss: a count of 1e20 asks for such orders."""
    for pair, _ in getattr(case.guarantee().product, "terms", ()):
        for one in (pair.stand_in, pair.stand_in.reverse()):
            if any(one.given_away) or one.by_moments:  # whose mean is a bound only
                continue
            for z in (1e-3, 1e-6, 1e-9, 1e-11, 1e-13):
                value = one.cumulant(Resolution((1.0, 1 + 4 * z), 0.0, -90.0)).real(np.array([z]))[0]
                assert value >= z * one.finite_mean * (1 - 1e-11) - 1e-38, (one, z)


@pytest.mark.parametrize(("scale", "steps"), [(1, 2), (5, 10), (100, 10**4), (1e4, 10**9)])
def test_engine_agrees_with_the_closed_form(scale: float, steps: int) -> None:
    closed = (steps * Gaussian(scale=scale)).guarantee()
    deltas = np.array([1e-100, 1e-10, 1e-5, 1e-2])
    exact = closed.epsilon(deltas)
    contour = Product(((GaussianPair(1 / scale), steps),))  # not merged into one Gaussian
    assert contour.single is None
    assert contour.epsilon(deltas) == pytest.approx(exact, rel=1e-8)
    assert contour.delta(exact) == pytest.approx(deltas, rel=1e-7)
    nearly_all = (steps * Gaussian(scale=scale).subsample(1 - 1e-14)).guarantee()
    assert nearly_all.epsilon(deltas) == pytest.approx(exact, rel=1e-6)


@pytest.mark.parametrize(("truth", "steps"), [(0.75, 5), (0.6, 40), (0.51, 250)])
def test_randomized_response_is_binomial(truth: float, steps: int) -> None:
    g = (steps * RandomizedResponse(truth=truth)).guarantee()
    k = np.arange(steps + 1)
    ways = np.array([math.comb(steps, i) for i in k], dtype=float)
    p = ways * truth**k * (1 - truth) ** (steps - k)
    top = steps * math.log(truth / (1 - truth))
    for epsilon in [*np.linspace(0, 0.9, 7) * top, top - 1e-6, top]:
        exact = math.fsum(np.maximum(p - math.exp(epsilon) * p[::-1], 0))
        value = g.delta(epsilon)
        assert value == pytest.approx(exact, rel=1e-6, abs=1e-14)
        assert value >= exact * (1 - 1e-9) - 1e-16


# -- 2 and 3: readings agree, and have their shapes ----------------------------------------------------


@every_case
def test_profile(case: Case) -> None:
    check_profile(case.guarantee(), profile(case))


@every_case
def test_renyi(case: Case) -> None:
    check_renyi(case.guarantee(), profile(case))


@every_case
def test_tradeoff(case: Case) -> None:
    # of points the least that curves may be, each at another point
    check_tradeoff(case.guarantee(), profile(case), convex=case.name != "points of a trade-off curve")


# -- 4: more noise, fewer steps, smaller samples tell less ------------------------------------------

FAMILIES = {
    "gaussian scale": (lambda x: Gaussian(scale=1 / x), (0.01, 0.1, 1, 10)),
    "laplace scale": (lambda x: 5 * Laplace(scale=1 / x), (0.01, 0.1, 1, 3)),
    "truth": (lambda x: 5 * RandomizedResponse(truth=x), (0.51, 0.6, 0.8, 0.9)),
    "subsampled scale": (lambda x: 50 * Gaussian(scale=1 / x).subsample(0.02), (0.05, 0.3, 1, 1.5)),
    "rate": (lambda x: 50 * Gaussian(scale=1).subsample(x), (0, 1e-3, 0.1, 0.7, 1)),
    "rate of laplace": (lambda x: 4 * Laplace(scale=1).subsample(x), (0, 0.1, 0.7, 1)),
    "steps": (lambda x: x * Gaussian(scale=2).subsample(0.01), (0, 1, 40, 10**4, 10**9)),
    "steps of discrete": (lambda x: x * Discrete((0.6, 0.4), (0.5, 0.5)), (0, 1, 2, 7, 100)),
    "group": (lambda x: Laplace(scale=3).group(x), (1, 2, 5)),
}


@pytest.mark.parametrize("name", FAMILIES)
def test_more_tells_more(name: str) -> None:
    build, values = FAMILIES[name]
    guarantees = [build(x).guarantee() for x in values]
    for less, more in pairwise(guarantees):
        low, high = readings(less), readings(more)
        for reading, value in low.items():
            assert (np.array(value) <= np.array(high[reading]) * (1 + ENGINE)).all(), reading
        assert low["delta"][0] < high["delta"][0]
    assert guarantees[0].tradeoff(0.05) > guarantees[-1].tradeoff(0.05)


# -- 5 and 6: edges, and nothing but honest numbers ---------------------------------------------------


@every_case
def test_every_reading_is_an_honest_number(case: Case) -> None:
    check_edges(case.guarantee())


@each(SILENT)
def test_silence_tells_nothing(case: Case) -> None:
    g = case.guarantee()
    assert (g.epsilon(DELTAS) == 0).all() and (g.renyi(ORDERS) == 0).all()
    assert (g.delta(EPSILONS) <= 1e-15).all()
    assert g.tradeoff(FPRS) == pytest.approx(1 - FPRS, abs=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("scale", [1e-3, 0.1, 1e8])
@pytest.mark.parametrize(
    "build",
    [
        lambda s: Gaussian(scale=s),
        lambda s: Laplace(scale=s),
        lambda s: 3 * Laplace(scale=s),
        lambda s: 1000 * Gaussian(scale=s).subsample(0.5),
        lambda s: 1000 * Gaussian(scale=s).subsample(1e-3),
        lambda s: 10 * Laplace(scale=s).subsample(0.1),
    ],
    ids=["gaussian", "laplace", "3 laplace", "1000 half sampled", "1000 sampled", "10 sampled laplace"],
)
def test_any_scale_is_answered(build: Any, scale: float) -> None:
    g = build(scale).guarantee()
    for target in (1e-100, 1e-5):
        epsilon = g.epsilon(target)
        assert epsilon >= 0
        rounding = 1e-14 if epsilon >= g.pure() * (1 - 1e-12) else 0.0
        assert g.delta(epsilon) <= target * (1 + 4 * NARROW) + rounding
    delta = g.delta([0, 1, 1e6])
    assert ((delta >= 0) & (delta <= 1)).all() and (delta[1:] <= delta[:-1] * (1 + 1e-9)).all()
    assert 0 < g.renyi(2.0) < math.inf


def test_without_noise_the_answer_is_infinite() -> None:
    g = RandomizedResponse(truth=1).guarantee()
    assert g.epsilon(0.5) == g.pure() == g.renyi(1) == math.inf
    assert g.delta(30) == g.advantage() == 1
    assert g.tradeoff(0.1) == 0


# -- 8: what is saved reads back -----------------------------------------------------------------------


@each(MECHANISMS)
def test_saved_mechanism_reads_back_equal(case: Case) -> None:
    assert isinstance(case.subject, Mechanism)
    check_saved(case.subject)


def test_names_of_cases_are_unique() -> None:
    names = [case.name for case in CASES]
    assert len(set(names)) == len(names) and set(names) >= DEAR


@every_case
def test_known_exactly_or_by_renyi_both_hash(case: Case) -> None:
    g, again = case.fresh(), case.fresh()
    assert g == again and hash(g) == hash(again)
    if isinstance(g, PairGuarantee):
        assert g.product.reverse().reverse() == g.product
