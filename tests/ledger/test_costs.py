"""Costs are exact, caps keep what was promised, and sums are never below the truth."""

import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from indistinct import (
    Adjacency,
    ApproxDP,
    Budget,
    Gaussian,
    GaussianDP,
    Laplace,
    PureDP,
    RandomizedResponse,
    RenyiCurve,
    Stated,
    ZeroConcentratedDP,
    parse,
)
from indistinct.data import Count
from indistinct.errors import ArgumentError, Refused
from indistinct.ledger import Cap, Ledger, Notion
from indistinct.ledger.amounts import added, minus, read, short, stated, written
from indistinct.ledger.costs import cost_of
from indistinct.ledger.notions import cap_of, notions_for
from indistinct.mechanisms.budget import known_mu, known_rho

EITHER = Adjacency.ADD_REMOVE
PURE, ZCDP, GDP = (Cap(one, math.inf) for one in (Notion.PURE, Notion.ZCDP, Notion.GDP))
RENYI = Cap(Notion.RENYI, math.inf, 8.0)


@pytest.mark.parametrize(
    ("budget", "mechanism", "times"),
    [
        (Budget(epsilon=1), PureDP(0.1), 10),
        (Budget(epsilon=1), Laplace(10), 10),
        (Budget(epsilon=1), Laplace(3), 3),
        (Budget(epsilon=1), Count().laplace(10), 10),
        (Budget(epsilon=0.3), PureDP(0.1), 3),
        (Budget(mu=1), Gaussian(10), 100),
        (Budget(mu=0.3), GaussianDP(0.1), 9),
        (Budget(rho=0.7), ZeroConcentratedDP(0.1), 7),
        (Budget(rho=0.5), Gaussian(10), 100),
        (Budget(renyi=0.4, order=8), Gaussian(10), 10),
    ],
)
def test_the_cap_is_used_up_exactly(small: Ledger, budget: Budget, mechanism, times: int) -> None:
    account = small.open_account("a", budget)
    for _ in range(times):
        account.spend(mechanism)
    assert account.left == 0 and account.spent == account.cap.limit
    for more in (PureDP(1e-15), GaussianDP(1e-10)):
        with pytest.raises(Refused):
            account.spend(more)
    assert sum([0.1] * 10) != 1  # what floats would make of it


def test_infinite_costs_and_zero() -> None:
    claim, sampled = Stated(ApproxDP(1, 1e-6)), Gaussian(2).subsample(0.1)
    assert all(cost_of(claim, cap, EITHER) == math.inf for cap in (PURE, ZCDP, GDP, RENYI))
    assert all(cost_of(sampled, cap, EITHER) == math.inf for cap in (PURE, ZCDP, GDP))
    assert isinstance(cost_of(sampled, RENYI, EITHER), Fraction)
    assert cost_of(Laplace(1e-200), PURE, EITHER) == cost_of(Gaussian(1e-200), GDP, EITHER) == math.inf
    assert cost_of(0 * sampled, GDP, EITHER) == 0 == cost_of(Laplace(1, sensitivity=0), PURE, EITHER)
    with pytest.raises(ArgumentError):
        cost_of(Gaussian(2).subsample(10, of=100), RENYI, EITHER)


MECHANISMS = st.recursive(
    st.one_of(
        st.floats(0.05, 1e4).map(Laplace),
        st.floats(0.05, 1e4).map(Gaussian),
        st.floats(0.001, 9).map(lambda e: Stated(PureDP(e))),
        st.floats(0.001, 9).map(lambda r: Stated(ZeroConcentratedDP(r))),
        st.floats(0.001, 9).map(lambda m: Stated(GaussianDP(m))),
        st.floats(0.501, 0.99).map(RandomizedResponse),
        st.builds(
            parse, st.sampled_from(["discrete_gaussian(3)", "discrete_laplace(2.5)", "exponential(4)"])
        ),
    ),
    lambda some: st.one_of(
        st.builds(lambda m, n: n * m, some, st.integers(1, 5)), st.builds(lambda a, b: a + b, some, some)
    ),
    max_leaves=4,
)


@given(MECHANISMS)
def test_no_cost_is_below_the_reading(mechanism) -> None:
    """Stated decimals, and closed forms that readings round, may differ by rounding: no more."""
    guarantee = mechanism.guarantee(EITHER)
    readings = {PURE: guarantee.pure(), ZCDP: known_rho(guarantee), RENYI: guarantee.renyi(8.0)}
    for cap, reading in {**readings, GDP: known_mu(guarantee) ** 2}.items():
        cost = cost_of(mechanism, cap, EITHER)
        assert float(cost) >= reading * (1 - 1e-12) or reading == math.inf == cost


@given(MECHANISMS, MECHANISMS, st.integers(1, 9))
def test_costs_add_up(one, other, times: int) -> None:
    for cap in (PURE, ZCDP, GDP, RENYI):
        both = cost_of(one, cap, EITHER) + cost_of(other, cap, EITHER)
        assert cost_of(one + other, cap, EITHER) == both
        assert cost_of(times * one, cap, EITHER) == times * cost_of(one, cap, EITHER)


@given(st.lists(st.fractions(0, 10, max_denominator=10**9), max_size=40))
def test_totals_stay_short_and_are_never_low(costs) -> None:
    total = exact = Fraction(0)
    counted = []
    for cost in costs:
        counted.append(added(total, cost))
        total, exact = total + counted[-1], exact + cost
        assert exact <= total <= exact + Fraction(len(counted), 10**18)
        assert total.denominator < 10**55
    for cost in counted:
        total = minus(total, cost)
    assert total == 0  # what is given back is what was taken


@pytest.mark.parametrize(
    "budget", [Budget(epsilon=1, delta=1e-6), Budget(epsilon=0.1, delta=1e-9), Budget(epsilon=8, delta=1e-3)]
)
def test_caps_keep_the_promise_and_no_more(budget: Budget) -> None:
    for notion in notions_for(budget):
        cap = cap_of(budget, notion)
        assert cap.guarantee(cap.limit).epsilon(budget.delta) <= budget.epsilon
        assert cap.guarantee(cap.limit * Fraction(101, 100)).epsilon(budget.delta) > budget.epsilon
        assert Cap.from_json(cap.to_json()) == cap
    gdp, renyi = cap_of(budget, Notion.GDP), cap_of(budget, Notion.RENYI)
    for factor in (0.5, 0.9, 1.1, 2.0):  # of orders, the one that admits most Gaussian noise
        order = 1 + (renyi.order - 1) * factor
        other = cap_of(budget, Notion.RENYI, order)
        assert other.limit / stated(order) <= renyi.limit / stated(renyi.order) * Fraction(1001, 1000)
    assert gdp.limit > 2 * renyi.limit / stated(renyi.order)  # and the filter of Gaussian noise admits more


def test_promises_without_a_filter_are_refused(small: Ledger) -> None:
    for budget in (Budget(advantage=0.1), Budget(fnr=0.8, fpr=0.1), Budget(renyi=1, order=0.5)):
        with pytest.raises(ArgumentError, match="no adaptive filter is known"):
            small.open_account("a", budget)
    with pytest.raises(ArgumentError, match="adaptive filter"):
        small.open_account("a", Budget(epsilon=1, delta=1e-6), notion="profile")
    with pytest.raises(ArgumentError, match="notion"):
        small.open_account("a", Budget(epsilon=1), notion="gdp")
    for absurd in (Budget(epsilon=1e6), Budget(mu=50), Budget(epsilon=1, delta=0.05)):
        with pytest.raises(ArgumentError, match="confirm"):
            small.open_account("a", absurd)
        assert small.open_account(f"a{absurd.limit}", absurd, confirm=True).left > 0


def test_the_first_mechanism_decides_the_notion(small: Ledger) -> None:
    budget = Budget(epsilon=2, delta=1e-6)
    for mechanism, notion in [
        (Gaussian(20), "gdp"),
        (1000 * Gaussian(2).subsample(0.001), "renyi"),
        (Stated(RenyiCurve([4.0, 64.0], [0.01, 0.05])), "renyi"),
        (Stated(ZeroConcentratedDP(0.001)), "zcdp"),
    ]:
        account = small.open_account(f"for {str(mechanism)[:9]}", budget)
        assert account.cap is None
        account.spend(mechanism)
        assert account.cap.notion.value == notion
        assert [e.event for e in account.entries()] == ["spent", "notion", "opened"]


def test_a_block_is_alone(small: Ledger) -> None:
    """The first mechanism may meet the promise itself; then nothing follows it, ever."""
    account = small.open_account("a", Budget(epsilon=1, delta=1e-6))
    account.reserve(ApproxDP(1, 1e-6), key="k")
    account.cancel("k", "another day")
    account.spend(ApproxDP(1, 1e-6))
    assert account.left == 0 and account.spent == math.inf
    for more in (PureDP(1e-9), Stated(PureDP(0.0)), ApproxDP(0.5, 0)):
        with pytest.raises(Refused):
            account.spend(more)
    second = small.open_account("b", Budget(epsilon=1, delta=1e-6))
    second.spend(Gaussian(1000))
    with pytest.raises(Refused):  # it is not the first
        second.spend(ApproxDP(1, 1e-6))
    with pytest.raises(Refused):  # and this one does not meet it
        small.open_account("c", Budget(epsilon=1, delta=1e-6)).spend(ApproxDP(1, 2e-6))
    assert small.verify() == []


def test_amounts_as_text() -> None:
    for amount in (Fraction(1, 3), Fraction(0), Fraction(10**30), math.inf):
        assert read(written(amount)) == amount
    for wrong in ("-1", "nan", "1e999999999", "1/0", "", None, 3, "9" * 9000, "1_0/x"):
        with pytest.raises(ArgumentError):
            read(wrong)
    assert [short(Fraction(*one)) for one in ((1, 3), (2, 3), (12345678, 1), (1, 10**20))] == [
        "0.3334",
        "0.6667",
        "1.235e+07",
        "1e-20",
    ]
