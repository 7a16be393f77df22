"""Optimal conversions of stated guarantees, against brute force and against what made the statement."""

import copy
import math
from fractions import Fraction
from functools import reduce
from operator import add
from typing import Any

import mpmath
import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog, minimize_scalar

from indistinct import (
    ApproxDP,
    ArgumentError,
    Gaussian,
    GaussianDP,
    Guarantee,
    Laplace,
    PrivacyProfile,
    PureDP,
    RandomizedResponse,
    RenyiCurve,
    TradeoffCurve,
    ZeroConcentratedDP,
    mixture,
)
from indistinct.guarantees import coins, conversion
from indistinct.guarantees.meaning import Meaning
from indistinct.guarantees.readings import Readings

RESTRICTED = [1.5, 1.75, 2, 2.5, 3, 4, 5, 6, 8, 16, 32, 64, math.inf]
"""Mironov 2017, section VIII: the orders that are enough for most purposes."""

SEARCHED = 2e-8
"""Two searches, each of which may stop this near the optimum: fresh examples found 1.01e-9 between them."""


def log_uniform(low: float, high: float) -> st.SearchStrategy[float]:
    return st.floats(math.log(low), math.log(high)).map(math.exp)


def coin_divergence(order: float, p: float, q: float, rest_p: float, rest_q: float) -> float:
    first, second = (order * math.log(a) + (1 - order) * math.log(b) for a, b in ((p, q), (rest_p, rest_q)))
    top = max(first, second)
    return (top + math.log(math.exp(first - top) + math.exp(second - top))) / (order - 1)


def worst_coin(orders: list[float], values: list[float], epsilon: float, pure: float = math.inf) -> float:
    """The largest p - e^epsilon q of coins that satisfy all claims, both ways: the boundary is followed in q,
    by bisection for p, which is as brute as it gets without a grid's error."""

    def gain(logit: float) -> float:
        q, rest_q = 1 / (1 + math.exp(-logit)), 1 / (1 + math.exp(logit))
        low, high = logit, 60.0  # of the logit of p
        for _ in range(60):
            middle = (low + high) / 2
            p, rest_p = 1 / (1 + math.exp(-middle)), 1 / (1 + math.exp(middle))
            inside = max(math.log(p / q), math.log(rest_q / rest_p)) <= pure and all(
                coin_divergence(order, p, q, rest_p, rest_q) <= value
                and coin_divergence(order, q, p, rest_q, rest_p) <= value
                for order, value in zip(orders, values, strict=True)
            )
            low, high = (middle, high) if inside else (low, middle)
        return 1 / (1 + math.exp(-low)) - math.exp(epsilon) * q

    grid = np.linspace(-45, 3, 97)
    best = int(np.argmax([gain(x) for x in grid]))
    around = (grid[max(best - 1, 0)], grid[min(best + 1, grid.size - 1)])
    found = minimize_scalar(lambda x: -gain(x), bounds=around, method="bounded", options={"xatol": 1e-9})
    return max(-float(found.fun), 0.0)


# -- one order ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("order", [0.6, 0.9, 1.05, 1.5, 2.0, 4.0, 20.0])
@pytest.mark.parametrize("value", [0.01, 0.3, 2.0])
@pytest.mark.parametrize("epsilon", [0.0, 0.4, 2.0])
def test_theorem_3_is_the_worst_coin_pair(order: float, value: float, epsilon: float) -> None:
    truth = worst_coin([order], [value], epsilon)
    told = RenyiCurve([order], [value]).delta(epsilon)
    assert truth * (1 - 1e-6) - 1e-12 <= told <= truth * (1 + 1e-6) + 1e-12


@settings(max_examples=settings.default.max_examples // 2)
@given(log_uniform(1e-3, 300), log_uniform(1e-6, 30), log_uniform(1e-60, 0.9))
def test_epsilon_and_delta_of_one_order_are_inverse(above_one: float, value: float, delta: float) -> None:
    claim = RenyiCurve([1 + above_one], [value])
    epsilon = claim.epsilon(delta)
    assert claim.delta(epsilon) <= delta * (1 + 1e-6)
    if epsilon > 1e-6:
        assert claim.delta(epsilon * (1 - 1e-4)) >= delta * (1 - 1e-9)


@given(log_uniform(0.01, 100), log_uniform(1e-4, 10), st.floats(0, 5), st.floats(-25, 10), st.floats(0, 12))
def test_no_coin_pair_within_a_claim_is_worse(
    above_one: float, value: float, epsilon: float, logit: float, more: float
) -> None:
    p, rest_p = 1 / (1 + math.exp(-logit - more)), 1 / (1 + math.exp(logit + more))
    q, rest_q = 1 / (1 + math.exp(-logit)), 1 / (1 + math.exp(logit))
    order = 1 + above_one
    assume(coin_divergence(order, p, q, rest_p, rest_q) <= value)
    assume(coin_divergence(order, q, p, rest_q, rest_p) <= value)
    claim = RenyiCurve([order], [value])
    assert claim.delta(epsilon) >= (p - math.exp(epsilon) * q) * (1 - 1e-9) - 1e-15
    assert claim.tradeoff(q) <= rest_p * (1 + 1e-9) + 1e-15


# -- curves ---------------------------------------------------------------------------------------------


@st.composite
def stated_curves(draw: st.DrawFn) -> tuple[list[float], list[float], float]:
    """Divergences of random coins or of a Gaussian at a few orders, enlarged a little so that they are not
    attained, and sometimes a claim of infinite order."""
    orders = sorted(
        {round(1 + draw(log_uniform(0.02, 60)), 6) for _ in range(draw(st.integers(1, 5)))}
        | set(draw(st.sampled_from([[], [0.5], [0.8]])))
    )
    if draw(st.booleans()):
        mu = draw(log_uniform(0.02, 3))
        values = [order * mu**2 / 2 for order in orders]
        return orders, values, math.inf
    p, q = draw(st.floats(0.02, 0.9)), draw(st.floats(0.02, 0.9))
    values = [
        max(coin_divergence(order, p, q, 1 - p, 1 - q), coin_divergence(order, q, p, 1 - q, 1 - p)) + 1e-3
        for order in orders
    ]
    pure = max(abs(math.log(p / q)), abs(math.log((1 - p) / (1 - q)))) * 1.1 + 0.01
    return orders, values, draw(st.sampled_from([pure, math.inf]))


def curve(orders: list[float], values: list[float], pure: float) -> RenyiCurve:
    return RenyiCurve([*orders, math.inf], [*values, pure]) if pure < math.inf else RenyiCurve(orders, values)


@settings(max_examples=settings.default.max_examples // 5)
@given(stated_curves(), st.sampled_from([0.0, 0.03, 0.2, 0.7, 2.0]))
def test_all_claims_together_are_the_worst_coin(stated: tuple, epsilon: float) -> None:
    orders, values, pure = stated
    claim, truth = curve(orders, values, pure), worst_coin(orders, values, epsilon, pure)
    low, high = (float(end[0]) for end in claim._delta_interval(np.array([epsilon])))
    assert low <= truth * (1 + 1e-6) + 1e-12
    assert truth * (1 - 1e-6) - 1e-12 <= high <= truth * (1 + 1e-6) + 1e-10
    assert high - low <= 1e-8 * high + 1e-15
    assert claim.delta(epsilon) == high


@settings(max_examples=settings.default.max_examples // 10)
@given(stated_curves(), st.sampled_from([0.0, 0.1, 1.0]), st.sampled_from([1e-12, 1e-5, 0.02]))
def test_claims_only_help_each_other(stated: tuple, epsilon: float, delta: float) -> None:
    orders, values, pure = stated
    together = curve(*stated)
    most, back, fnr = together.delta(epsilon), together.epsilon(delta), together.tradeoff(0.05)
    for k in range(len(orders)):
        fewer = [*orders[:k], *orders[k + 1 :]], [*values[:k], *values[k + 1 :]]
        for part in [curve(orders[k : k + 1], values[k : k + 1], pure)] + (
            [curve(*fewer, pure)] if fewer[0] else []
        ):
            assert most <= part.delta(epsilon) * (1 + SEARCHED)
            assert back <= part.epsilon(delta) * (1 + SEARCHED) + 1e-12
            assert fnr >= part.tradeoff(0.05) * (1 - 1e-9)
    if 0 < back < min(0.99 * pure, 1e3):
        assert together.delta(back) <= delta * (1 + 1e-7)
        assert together.delta(back * (1 - 1e-4)) >= delta * (1 - 1e-7)
    more = together + ZeroConcentratedDP(1e-3)
    assert more.delta(epsilon) >= most * (1 - 1e-9)
    assert more.epsilon(delta) >= back * (1 - 1e-9)


def test_two_claims_say_more_than_the_better_one() -> None:
    orders = [4.359, 26.224]
    values = [order * 0.124004**2 / 2 for order in orders]
    claim, epsilon = RenyiCurve(orders, values), 0.2102793
    assert claim.delta(epsilon) == pytest.approx(worst_coin(orders, values, epsilon), rel=1e-7)
    alone = min(RenyiCurve([a], [v]).delta(epsilon) for a, v in zip(orders, values, strict=True))
    assert claim.delta(epsilon) < 0.86 * alone


def test_the_bound_is_a_programme_in_the_ratio() -> None:
    """The dual, by linear programming: the least E h over h = m r + n + sums of claims' generators that is at
    least max(r - e^epsilon, 0) at 4,000 ratios; points in between are left out."""
    orders = np.array([2.0, 5.0, 20.0])
    values, epsilon = orders * 0.3**2 / 2, 0.5
    ratio = np.geomspace(1e-4, 20, 4000)
    rows = np.stack(
        [
            *(ratio**a / np.exp((a - 1) * v) for a, v in zip(orders, values, strict=True)),
            ratio,
            np.ones_like(ratio),
        ],
        1,
    )
    floor = np.maximum(ratio - math.exp(epsilon), 0.0)
    scale = rows.max(axis=1)
    found = linprog(
        np.ones(5),
        A_ub=-rows / scale[:, None],
        b_ub=-floor / scale,
        bounds=[(0, None)] * 3 + [(None, None)] * 2,
    )
    assert RenyiCurve(orders, values).delta(epsilon) == pytest.approx(found.fun, rel=1e-4)


def test_a_bound_from_coins_inside_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Planted: the best coins that were found are told instead of the lines that no coins pass."""
    stated = [2.0, 9.0], [0.02, 0.09]
    monkeypatch.setattr(conversion, "_STEPS", 2)
    low, high = (float(end[0]) for end in RenyiCurve(*stated)._delta_interval(np.array([0.2])))
    assert low < worst_coin(*stated, 0.2) * (1 - 1e-6) < high


BY_DIVERGENCES: list[Guarantee] = [
    RenyiCurve([1.5, 4, 32], [0.03, 0.08, 0.64]),
    RenyiCurve([0.5, 3, math.inf], [0.2, 0.9, 1.1]),
    ZeroConcentratedDP(0.1),
    ZeroConcentratedDP(2.0) + PureDP(0.5),
    ZeroConcentratedDP(0.05) + ApproxDP(0.3, 1e-3),
]


@pytest.mark.parametrize("claim", BY_DIVERGENCES, ids=lambda claim: repr(claim)[:24])
def test_errors_and_tails_are_those_of_the_profile(claim: Guarantee) -> None:
    """Where a path leaves the region, or the best of many lines p <= e^epsilon q + delta(epsilon): it is one.
    Only what is set aside is told better by the first, which does not charge it twice."""
    p = np.array([1e-9, 0.6])
    logs = np.minimum([0.1, 3.0], claim.pure())
    loose = 0.01 if claim is BY_DIVERGENCES[-1] else 1e-7
    for told, otherwise in (
        (claim._highest(p), Meaning._highest(claim, p)),
        (claim._log_factor(p), Meaning._log_factor(claim, p)),
        (claim._tail(logs), Meaning._tail(claim, logs)),
    ):
        assert (told <= otherwise * (1 + 1e-9) + 1e-14).all()
        finite = np.isfinite(otherwise)
        assert told[finite] == pytest.approx(otherwise[finite], rel=loose)
    assert claim._tradeoff(p[1:]) == pytest.approx(Readings._tradeoff(claim, p[1:]), abs=loose)


@pytest.mark.parametrize("claim", BY_DIVERGENCES, ids=lambda claim: repr(claim)[:24])
def test_a_reading_is_a_function_of_claim_and_request(claim: Guarantee) -> None:
    deltas, rates = np.array([1e-30, 1e-6, 0.2]), np.array([1e-9, 0.02, 0.7])
    together = claim.epsilon(deltas), claim.delta([0.0, 1.0]), claim.tpr(rates), claim.tradeoff(rates)
    fresh = copy.copy(claim)
    assert [fresh.tradeoff(rate) for rate in rates[::-1]] == together[3][::-1].tolist()
    assert [fresh.tpr(rate) for rate in rates] == together[2].tolist()
    assert [fresh.delta(1.0), fresh.delta(0.0)] == together[1][::-1].tolist()
    assert [fresh.epsilon(delta) for delta in deltas[::-1]] == together[0][::-1].tolist()


def test_a_line_that_is_rounded_down_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Planted: coins just inside the region are beyond a line whose delta is a little too small."""
    monkeypatch.setattr(coins, "ROUNDING", -1e-9)
    low, high = (
        float(end[0]) for end in RenyiCurve([2.0, 9.0], [0.02, 0.09])._delta_interval(np.array([0.2]))
    )
    assert low > high


def test_groups_round_up() -> None:
    for value in (0.1, 1 / 3, math.pi):
        for size in range(1, 40):
            assert Fraction(PureDP(value).group(size).epsilon(0.0)) >= size * Fraction(value)
            rho = ZeroConcentratedDP(value).group(size)
            assert isinstance(rho, ZeroConcentratedDP) and Fraction(rho.rho) >= size**2 * Fraction(value)
    curve = RenyiCurve([64], [0.1]).group(8)
    assert isinstance(curve, RenyiCurve) and Fraction(curve.values[0]) >= 27 * Fraction(0.1)


@pytest.mark.parametrize("mu", [0.05, 0.3, 2.5])
def test_thirteen_orders_are_used_as_well_as_can_be(mu: float) -> None:
    """Chords between stated orders lose nothing: some coin pair within all the claims is as bad as they are
    told to allow. What is lost against all orders is not in the statement; at delta = 1e-5 it is little."""
    orders = RESTRICTED[:-1]
    values = [mu**2 / 2 * order for order in orders]
    source, claim, everything = GaussianDP(mu), RenyiCurve(orders, values), ZeroConcentratedDP(mu**2 / 2)
    deltas, fprs = np.array([1e-9, 1e-5, 1e-2]), np.array([1e-3, 0.05, 0.5])
    few, all_orders = claim.epsilon(deltas), everything.epsilon(deltas)
    assert (few >= all_orders * (1 - 1e-9)).all()
    assert (all_orders >= source.epsilon(deltas) * (1 - 1e-9)).all()
    assert [worst_coin(orders, values, epsilon) for epsilon in few] == pytest.approx(deltas, rel=1e-5)
    if mu == 0.3:
        assert few[1] <= all_orders[1] * 1.01
    fnr, least = claim.tradeoff(fprs), everything.tradeoff(fprs)
    assert (fnr <= least + 1e-12).all() and (least <= source.tradeoff(fprs) + 1e-9).all()
    if mu <= 1:  # beyond, orders below 1.5 would be needed
        assert (fnr >= least * 0.99).all()


MADE_OF = {
    "gaussian": Gaussian(scale=1.3),
    "laplace": Laplace(scale=0.8),
    "response": RandomizedResponse(truth=0.8),
    "sgd": 200 * Gaussian(scale=1).subsample(0.02),
}


@pytest.mark.parametrize("name", MADE_OF)
def test_statements_cover_what_they_were_made_of(name: str) -> None:
    source = MADE_OF[name].guarantee()
    orders = [0.5, 0.8, 1, 1.2, 2, 4, 8, 16, 32]
    epsilons, deltas = np.array([0.2, 0.7, 1.5, 3.0]), [1e-8, 1e-5, 1e-3, 0.05]
    statements: list[Guarantee] = [
        RenyiCurve(orders, source.renyi(orders) * (1 + 1e-12)),
        PrivacyProfile(epsilons, source.delta(epsilons)),
        TradeoffCurve(fpr := np.array([0, 1e-4, 0.01, 0.1, 0.4, 1]), source.tradeoff(fpr)),
    ]
    if name != "sgd":  # half a minute
        statements.append(TradeoffCurve(source.tradeoff))
    for claim in statements:
        assert (claim.epsilon(deltas) >= source.epsilon(deltas) * (1 - 1e-6)).all()
        assert (claim.delta(epsilons) >= source.delta(epsilons) * (1 - 1e-6)).all()
        assert (claim.tradeoff([0.01, 0.2, 0.7]) <= source.tradeoff([0.01, 0.2, 0.7]) + 1e-7).all()
        assert (claim.renyi([0.5, 1, 2, 8]) >= source.renyi([0.5, 1, 2, 8]) * (1 - 1e-6)).all()
        both = claim + claim
        assert both.epsilon(1e-3) >= (source + source).epsilon(1e-3) * (1 - 1e-6)


@pytest.mark.parametrize(
    "source", [GaussianDP(0.4), GaussianDP(1.0), PureDP(0.7), Laplace(scale=1).guarantee()], ids=str
)
def test_round_trip_through_the_tradeoff_curve(source: Guarantee) -> None:
    """Pair, trade-off curve, Rényi divergence (*Three Variants*, Proposition 1): nothing is lost."""
    curve = TradeoffCurve(source.tradeoff)
    for order in (0.5, 0.9, 1.0, 1.5, 2.0):
        assert curve.renyi(order) == pytest.approx(source.renyi(order), rel=1e-6)
    assert curve.epsilon([1e-9, 1e-5, 0.01]) == pytest.approx(source.epsilon([1e-9, 1e-5, 0.01]), rel=1e-6)
    assert curve.delta([0, 0.3]) == pytest.approx(source.delta([0, 0.3]), rel=1e-6)
    fpr = [1e-6, 0.01, 0.3, 0.9]
    assert curve.tradeoff(fpr) == pytest.approx(source.tradeoff(fpr), abs=1e-6)


def test_what_a_function_does_below_rounding_is_not_guessed() -> None:
    curve = TradeoffCurve(GaussianDP(1.0).tradeoff)
    assert curve.renyi(16) == math.inf and curve.pure() == math.inf
    assert curve.delta(40.0) >= 1e-15


def test_profile_and_tradeoff_are_one() -> None:
    source = Laplace(scale=1).guarantee()
    epsilons = np.linspace(0, 1, 201)
    profile = PrivacyProfile(epsilons, source.delta(epsilons))
    for epsilon in (0.0, 0.3, 0.55, 1.0):
        assert profile.delta(epsilon) == pytest.approx(source.delta(epsilon), rel=1e-6, abs=1e-12)
    assert profile.tradeoff([0.05, 0.3]) == pytest.approx(source.tradeoff([0.05, 0.3]), abs=1e-5)
    one, same = PrivacyProfile([0.5], [1e-6]), ApproxDP(0.5, 1e-6)
    assert one.delta([0, 0.2, 0.5, 9]) == pytest.approx(same.delta([0, 0.2, 0.5, 9]), rel=1e-12)


def test_several_points_say_more_than_each() -> None:
    points = [(0.1, 0.05), (1.0, 1e-3), (3.0, 1e-9)]
    together = PrivacyProfile(*zip(*points, strict=True))
    for epsilon, delta in points:
        alone = ApproxDP(epsilon, delta)
        assert together.delta(epsilon) == pytest.approx(delta, rel=1e-9)
        assert (together.delta([0, 0.5, 2, 4]) <= alone.delta([0, 0.5, 2, 4]) * (1 + 1e-9)).all()
        assert (10 * together).epsilon(1e-3) <= (10 * alone).epsilon(1e-3) * (1 + 1e-6)
    assert together.tradeoff(0.05) == pytest.approx(
        max(ApproxDP(e, d).tradeoff(0.05) for e, d in points), abs=1e-9
    )


# -- composition of statements ------------------------------------------------------------------------


def optimal_identical(epsilon: float, delta: float, count: int, at: float) -> float:
    """Kairouz, Oh and Viswanath 2015, Theorem 3.3, to 50 digits."""
    with mpmath.workdps(50):
        e, total = mpmath.exp(mpmath.mpf(epsilon)), mpmath.mpf(0)
        for k in range(count + 1):
            gap = e ** (count - 2 * k) - mpmath.exp(mpmath.mpf(at))
            total += mpmath.binomial(count, k) * e**k * gap if gap > 0 else 0
        return float(1 - (1 - mpmath.mpf(delta)) ** count * (1 - total / (1 + e) ** count))


@pytest.mark.parametrize(("epsilon", "delta", "count"), [(0.1, 1e-8, 100), (0.5, 1e-6, 20), (1.0, 0.0, 7)])
def test_identical_claims_compose_to_the_known_optimum(epsilon: float, delta: float, count: int) -> None:
    together = count * ApproxDP(epsilon, delta)
    for share in (0.0, 0.2, 0.5, 0.9):
        at = share * count * epsilon
        assert together.delta(at) == pytest.approx(
            optimal_identical(epsilon, delta, count, at), rel=1e-9, abs=1e-15
        )


def test_a_hundred_different_claims() -> None:
    random = np.random.default_rng(1)
    claims = [
        ApproxDP(e, d)
        for e, d in zip(random.uniform(0.01, 0.2, 100), 10 ** random.uniform(-9, -7, 100), strict=True)
    ]
    together = reduce(add, claims)
    epsilon = together.epsilon(1e-4)
    assert together.delta(epsilon) <= 1e-4 * (1 + 1e-9)
    # between the best of 100 identical smallest and largest claims, and below advanced composition
    low, high = min(c.bound for c in claims), max(c.bound for c in claims)
    assert (100 * ApproxDP(low, 1e-9)).epsilon(1e-4) < epsilon < (100 * ApproxDP(high, 1e-7)).epsilon(1e-4)
    # nearly equal claims are nearly the known optimum
    near = reduce(add, [ApproxDP(0.1 + 1e-9 * k, 1e-8) for k in range(60)])
    assert near.delta(0.93) == pytest.approx(optimal_identical(0.1, 1e-8, 60, 0.93), rel=2e-5)


def test_different_claims_by_enumeration() -> None:
    claims = [(0.3, 1e-3), (0.45, 0.0), (0.7, 1e-2), (0.11, 1e-5)]
    p, q = np.ones(1), np.ones(1)
    for epsilon, delta in claims:
        truth, lie = (1 - delta) / (1 + math.exp(-epsilon)), (1 - delta) / (1 + math.exp(epsilon))
        p, q = np.outer(p, [delta, truth, lie, 0]).ravel(), np.outer(q, [0, lie, truth, delta]).ravel()
    together = reduce(add, [ApproxDP(*claim) for claim in claims])
    for epsilon in (0.0, 0.5, 1.2):
        truth = math.fsum(np.maximum(p - math.exp(epsilon) * q, 0))
        assert together.delta(epsilon) == pytest.approx(truth, rel=1e-9)


def test_slack_is_set_aside_where_renyi_divergences_add() -> None:
    claim = ApproxDP(0.4, 1e-6) + ZeroConcentratedDP(0.05)
    without = PureDP(0.4) + ZeroConcentratedDP(0.05)
    assert claim.epsilon(1e-5) == pytest.approx(without.epsilon(1e-5 - 1e-6), rel=1e-5)
    assert claim.epsilon(1e-5) >= without.epsilon(1e-5)
    assert claim.epsilon(1e-7) == math.inf
    assert claim.tradeoff(0.05) <= without.tradeoff(0.05)


def test_mixtures_are_averages_of_what_is_convex() -> None:
    parts, weights = [PureDP(0.5), GaussianDP(1.0)], [0.3, 0.7]
    mixed = mixture(parts, weights)
    for epsilon in (0.0, 0.3, 2.0):
        average = sum(w * g.delta(epsilon) for g, w in zip(parts, weights, strict=True))
        assert mixed.delta(epsilon) == pytest.approx(average, rel=1e-9)
    assert mixed.renyi(2.0) > sum(w * g.renyi(2.0) for g, w in zip(parts, weights, strict=True))
    moment = sum(w * math.exp(g.renyi(2.0)) for g, w in zip(parts, weights, strict=True))
    assert mixed.renyi(2.0) == pytest.approx(math.log(moment), rel=1e-9)
    twice = mixed + mixed
    assert twice.epsilon(1e-3) >= mixed.epsilon(1e-3)
    with pytest.raises(ArgumentError, match="add up to 1"):
        mixture(parts, [0.3, 0.3])


def test_maps_before_and_after() -> None:
    claim = GaussianDP(0.3)
    assert claim.preprocessed(3) == claim.group(3)
    assert claim.postprocessed() == claim
    with pytest.raises(ArgumentError, match="stability"):
        claim.preprocessed(0)


# -- bad curves ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("fpr", "fnr", "names"),
    [
        ([0, 0.3, 1], [1, 0.8, 0], "0.7 at fpr = 0.3"),  # above the diagonal
        ([0.1, 0.2, 0.3], [0.5, 0.6, 0.2], "fpr = 0.2"),  # rises
        ([0, 0.2, 0.4, 1], [0.9, 0.7, 0.2, 0], "0.55 at fpr = 0.2"),  # not convex
        ([0.1, 0.1], [0.5, 0.5], r"fpr\[1\]"),
        ([0.2, 0.1], [0.5, 0.6], r"fpr\[1\]"),
        ([0.1, math.nan], [0.5, 0.4], r"fpr\[1\]"),
        ([0.1, 0.2], [0.5, math.nan], r"fnr\[1\]"),
        ([0.1, 0.2], [0.5], "fnr"),
        ([], [], "fnr"),
        (["a"], [0.5], "fpr"),
        ([0.5], None, "fnr"),
    ],
)
def test_bad_tradeoff_curves_are_refused_by_name(fpr: Any, fnr: Any, names: str) -> None:
    with pytest.raises(ArgumentError, match=names):
        TradeoffCurve(fpr, fnr)


@pytest.mark.parametrize(
    "function",
    [lambda x: 1 - x**2, lambda x: x, lambda x: np.full_like(x, 1.5), lambda x: np.full_like(x, np.nan)],
    ids=["above the diagonal", "rises", "above 1", "nan"],
)
def test_bad_tradeoff_functions_are_refused(function: Any) -> None:
    with pytest.raises(ArgumentError, match="fpr = "):
        TradeoffCurve(function)


@pytest.mark.parametrize(
    ("epsilons", "deltas", "names"),
    [
        ([1, 0.5], [0.1, 0.2], "epsilons"),
        ([0.5, 1], [0.1, 0.2], "at most 0.1"),
        ([0.5, 1], [0.1, math.nan], r"deltas\[1\]"),
        ([0.5], [1.5], r"deltas\[0\]"),
        ([math.inf], [0.1], "epsilons"),
        ([], [], "epsilons"),
        ([0.5, 1], [0.1], "2 numbers"),
    ],
)
def test_bad_profiles_are_refused_by_name(epsilons: Any, deltas: Any, names: str) -> None:
    with pytest.raises(ArgumentError, match=names):
        PrivacyProfile(epsilons, deltas)


@pytest.mark.parametrize(
    ("orders", "values", "names"),
    [
        ([2, 4, 3], [0.1, 0.2, 0.3], "more than 4"),
        ([2, 4, 4], [0.1, 0.2, 0.3], "order 4 was stated before"),
        ([2, 4], [0.2, 0.1], "at least 0.2"),
        ([2, 4, 8], [0.1, 0.39, 0.4], "at most 0.333333, the chord at order 4"),
    ],
)
def test_contradictory_renyi_curves_are_refused_by_name(orders: Any, values: Any, names: str) -> None:
    with pytest.raises(ArgumentError, match=names):
        RenyiCurve(orders, values)
