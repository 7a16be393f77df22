"""Published formulas: against mpmath and brute force, never below the optimum, refused where not valid."""

import math
from collections.abc import Callable
from itertools import product
from typing import Any

import mpmath as mp
import numpy as np
import pytest

from indistinct import (
    ApproxDP,
    ArgumentError,
    Gaussian,
    GaussianDP,
    Laplace,
    PureDP,
    RandomizedResponse,
    RenyiCurve,
    ZeroConcentratedDP,
)
from indistinct.guarantees import published

CLAIMS = [(1.5, 0.05), (2.0, 0.3), (10.0, 0.1), (10.0, 2.0), (64.0, 1.0)]
DELTAS = [1e-9, 1e-5, 0.01, 0.2, 0.6, 0.97]
SAFE = 1 + 1e-9


# -- Rényi to (epsilon, delta) ----------------------------------------------------------------------


@pytest.mark.parametrize(("order", "value"), CLAIMS)
def test_closed_forms_are_never_below_the_optimum(order: float, value: float) -> None:
    curve = RenyiCurve([order], [value])
    for delta in DELTAS:
        best, ours = curve.epsilon(delta), published.asoodeh_epsilon(order, value, delta)
        assert best <= ours * SAFE + 1e-9
        assert ours <= published.mironov_epsilon(order, value, delta) * SAFE
        if order * delta >= 1 and ours > 0:  # exact for a claim on one of the two directions
            assert published.asoodeh_divergence(order, ours, delta) == pytest.approx(value, rel=1e-6)
    for epsilon in (value + 0.1, value + 1.0, value + 5.0):
        assert curve.delta(epsilon) <= published.moments_accountant_delta(order, value, epsilon) * SAFE


@pytest.mark.parametrize(
    ("order", "epsilon", "delta"), list(product([1.2, 2.0, 10.0], [0.0, 0.5, 3.0], [1e-4, 0.05, 0.7]))
)
def test_theorem_3_against_mpmath_and_theorem_4(order: float, epsilon: float, delta: float) -> None:
    with mp.workdps(30):
        a, e, d = mp.mpf(order), mp.mpf(epsilon), mp.mpf(delta)

        def objective(p: Any) -> Any:
            return p**a * (p - d) ** (1 - a) + (1 - p) ** a * (mp.e**e - p + d) ** (1 - a)

        # convex in p: thirds of the interval close in on the minimum
        low, high = d, mp.mpf(1)
        for _ in range(150):
            left, right = low + (high - low) / 3, high - (high - low) / 3
            low, high = (low, right) if objective(left) < objective(right) else (left, high)
        expected = float(e + mp.log(objective((low + high) / 2)) / (a - 1))
    ours = published.asoodeh_divergence(order, epsilon, delta)
    assert ours == pytest.approx(expected, rel=1e-7, abs=1e-10)
    bound = published.asoodeh_least_divergence(order, epsilon, delta)
    assert bound <= ours + 1e-10
    if order * delta >= 1:
        assert bound == pytest.approx(ours, abs=1e-9)


@pytest.mark.parametrize(("order", "epsilon", "delta"), [(2.0, 0.5, 0.1), (6.0, 1.0, 0.01), (1.5, 0.0, 0.3)])
def test_theorem_3_against_all_coins(order: float, epsilon: float, delta: float) -> None:
    p = np.linspace(0.0005, 0.9995, 1999)[:, None]
    q = np.geomspace(1e-5, 0.9995, 2000)
    allowed = p - math.exp(epsilon) * q >= delta
    moment = p**order * q ** (1 - order) + (1 - p) ** order * (1 - q) ** (1 - order)
    least = float(np.log(np.where(allowed, moment, np.inf)).min()) / (order - 1)
    ours = published.asoodeh_divergence(order, epsilon, delta)
    assert ours <= least * SAFE
    assert ours == pytest.approx(least, rel=0.02)


def test_theorem_4_at_the_ends() -> None:
    assert published.asoodeh_least_divergence(3, 1.0, 0.0) == 0
    assert math.isfinite(published.asoodeh_least_divergence(3, 600.0, 1e-5))
    assert published.asoodeh_epsilon(3, 0.0, 1e-5) == 0


@pytest.mark.parametrize("order", [1.5, 2.0, 10.0])
def test_remark_1(order: float) -> None:
    value = 0.5 * math.log(order / (order - 1))
    low, high = published.asoodeh_free_deltas(order, value)
    assert high == 1 / order
    assert RenyiCurve([order], [value]).advantage() <= low * SAFE
    assert published.asoodeh_epsilon(order, value, low * SAFE) == pytest.approx(0, abs=1e-8)


@pytest.mark.parametrize(("scale", "steps", "delta"), [(20.0, 1000, 1e-5), (5.0, 3, 1e-9), (1.0, 10, 0.05)])
def test_lemma_2_lies_between(scale: float, steps: int, delta: float) -> None:
    rho = 1 / (2 * scale**2)
    ours = published.asoodeh_gaussian_epsilon(rho, steps, delta)
    assert (steps * Gaussian(scale)).guarantee().epsilon(delta) < ours
    assert ZeroConcentratedDP(rho * steps).epsilon(delta) <= ours * (1 + 1e-6)  # to the library's orders
    assert ours < published.moments_accountant_epsilon(rho, steps, delta)
    orders = 1 + np.geomspace(1e-3, 1e3, 20_000)
    orders = orders[orders < 1 / delta]
    brute = min(published.asoodeh_epsilon(a, a * rho * steps, delta) for a in orders.tolist())
    assert ours == pytest.approx(brute, rel=1e-5) and ours <= brute * SAFE


def test_moments_accountant_is_proposition_3_at_its_best_order() -> None:
    orders = 1 + np.geomspace(0.1, 100, 20_000)
    brute = min(published.mironov_epsilon(a, a / 800 * 1000, 1e-5) for a in orders.tolist())
    assert published.moments_accountant_epsilon(1 / 800, 1000, 1e-5) == pytest.approx(brute, rel=1e-6)


def test_theorem_5_against_equation_109() -> None:
    for epsilon, delta in ((1.0, 1e-5), (0.1, 1e-8), (4.0, 1e-3)):
        inverse = mp.log(1 / mp.mpf(delta))
        e = mp.mpf(epsilon)
        rest = (2 * inverse - e) / e * mp.log((2 * inverse - e) / (2 * inverse)) - mp.log(2 * inverse / e)
        printed = (e - 2 * inverse) * 1000 * inverse / (e**2 * (e - inverse + rest))
        variance = published.asoodeh_gaussian_variance(epsilon, delta, 1000)
        assert variance == pytest.approx(float(printed), rel=1e-9)
        assert (1000 * Gaussian(math.sqrt(variance))).guarantee().epsilon(delta) <= epsilon


# -- trade-off curves -------------------------------------------------------------------------------


@pytest.mark.parametrize(("order", "value"), CLAIMS)
def test_lemma_3_and_the_kullback_form_are_no_tighter(order: float, value: float) -> None:
    fpr = np.linspace(0.001, 0.999, 41)
    lemma_4 = RenyiCurve([order], [value]).tradeoff(fpr)
    assert (published.asoodeh_profile_tradeoff(order, value, fpr) <= lemma_4 + 1e-9).all()
    assert (published.asoodeh_kullback_tradeoff(value, fpr) <= lemma_4 + 1e-9).all()
    assert published.asoodeh_tradeoff([order], [value], fpr) == pytest.approx(lemma_4, abs=1e-6)


def test_lemma_4_against_all_coins() -> None:
    order, value, fpr = 4.0, 0.3, 0.2
    for fnr in np.linspace(0.001, 0.799, 500).tolist():
        both = [(1 - fpr, fnr), (1 - fnr, fpr)]
        moments = [a**order * b ** (1 - order) + (1 - a) ** order * (1 - b) ** (1 - order) for a, b in both]
        possible = max(math.log(m) / (order - 1) for m in moments) <= value
        assert possible == (fnr >= float(published.asoodeh_tradeoff([order], [value], fpr)))


def test_corollary_1_takes_the_best_order() -> None:
    fpr = np.linspace(0.0, 1.0, 21)
    single = [published.asoodeh_tradeoff([a], [v], fpr) for a, v in CLAIMS]
    orders, values = zip(*CLAIMS, strict=True)
    assert published.asoodeh_tradeoff(orders, values, fpr) == pytest.approx(np.max(single, axis=0))
    assert published.asoodeh_tradeoff([2.0], [0.0], fpr) == pytest.approx(1 - fpr, abs=1e-7)


def test_proposition_1_on_finite_pairs() -> None:
    rng = np.random.default_rng(0)
    for missing in (False, True):
        for _ in range(20):
            p, q = rng.dirichlet(np.ones(6)), rng.dirichlet(np.ones(6))
            if missing:  # an outcome that only Q has
                p[0] = 0.0
                p /= p.sum()
            order = float(rng.uniform(1.2, 6.0))
            ratio = p / q
            rise = np.argsort(ratio)  # rejecting the smallest p/q first is the best test of P
            fpr = np.append(0.0, np.cumsum(p[rise]))
            fnr = 1 - np.append(0.0, np.cumsum(q[rise]))
            keep = np.append(np.diff(fpr) > 0, True)
            fpr, fnr = fpr[keep], fnr[keep]
            fpr[-1], fnr[-1] = 1.0, 0.0
            true = math.log(float(np.sum(q * ratio**order))) / (order - 1)
            printed = published.asoodeh_renyi(order, fpr, fnr)
            if missing:
                assert printed > true
            else:
                assert printed == pytest.approx(true, rel=1e-9)


def test_proposition_1_of_a_smooth_curve() -> None:
    fpr = np.concatenate(
        ([0.0], np.geomspace(1e-12, 0.5, 3000), 1 - np.geomspace(0.5, 1e-12, 3000)[1:], [1.0])
    )
    fnr = np.append(GaussianDP(1.0).tradeoff(fpr[:-1]), 0.0)
    assert published.asoodeh_renyi(2, fpr, fnr) == pytest.approx(1.0, abs=1e-4)


# -- Mironov ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(("order", "value"), CLAIMS)
def test_proposition_10_contains_ours(order: float, value: float) -> None:
    masses = [1e-3, 0.5, 0.9]
    ours = RenyiCurve([order], [value]).event(masses)
    printed = [published.mironov_event(order, value, mass) for mass in masses]
    assert ([interval.low for interval in printed] <= np.asarray(ours.low) * SAFE).all()
    assert (np.asarray(ours.high) <= np.array([interval.high for interval in printed]) * SAFE).all()


def test_mironovs_worked_numbers() -> None:
    stated = {0.5: ("0.419", "0.586"), 1e-3: ("0.00042", "0.00218"), 1e-6: ("1.95e-07", "4.36e-06")}
    for p, (low, high) in stated.items():
        interval = published.mironov_event(10, 0.1, p)
        assert (f"{interval.low:.3g}", f"{interval.high:.3g}") == (low, high)


@pytest.mark.parametrize("epsilon", [0.01, 0.3, 1.0, 4.0])
def test_lemma_1_of_mironov_and_bun_steinke(epsilon: float) -> None:
    for order in (1.0, 1.5, 3.0, 20.0):
        tight = PureDP(epsilon).renyi(order)
        better = published.mironov_pure_renyi(epsilon, order, constant=0.5)
        assert tight <= better * SAFE and better < published.mironov_pure_renyi(epsilon, order)


@pytest.mark.parametrize(("epsilon", "steps"), [(0.04, 1), (0.04, 250), (0.5, 10), (2.0, 3)])
def test_compositions_of_pure_mechanisms(epsilon: float, steps: int) -> None:
    truth = steps * PureDP(epsilon)
    for p in (1e-6, 1e-3, 0.1):
        assert float(truth.event(p).high) <= published.mironov_pure_event(epsilon, steps, p) * SAFE
    delta = math.exp(-max(steps * epsilon**2, 5.0))
    assert truth.epsilon(delta) <= published.mironov_advanced_composition(epsilon, steps, delta) * SAFE
    for slack in (1e-6, 1e-2):
        optimum = truth.epsilon(slack)
        kairouz, _ = published.kairouz_composition(epsilon, 0.0, steps, slack)
        assert optimum <= kairouz * SAFE
        assert kairouz <= published.advanced_composition(epsilon, 0.0, steps, slack)[0] * SAFE
    assert published.basic_composition([(epsilon, 0.0)] * steps)[0] == pytest.approx(truth.pure())


@pytest.mark.parametrize("doublings", [0, 1, 2])
def test_proposition_2(doublings: int) -> None:
    for guarantee in (Gaussian(3).guarantee(), Laplace(2).guarantee()):
        order, value = published.mironov_group(16, guarantee.renyi(16), doublings)
        assert guarantee.group(2**doublings).renyi(order) <= value * SAFE


@pytest.mark.parametrize("order", [1.0, 1.25, 2.0, 30.0])
def test_table_2_against_quadrature(order: float) -> None:
    def divergence(p: Callable[[Any], Any], q: Callable[[Any], Any], points: list[float]) -> float:
        if order == 1:
            return float(mp.quad(lambda x: p(x) * mp.log(p(x) / q(x)), points))
        return float(mp.log(mp.quad(lambda x: p(x) ** order * q(x) ** (1 - order), points)) / (order - 1))

    def noise(centre: float) -> Callable[[Any], Any]:
        return lambda x: mp.e ** (-abs(x - centre) / 2) / 4

    expected = divergence(noise(0), noise(1), [-mp.inf, 0, 1, mp.inf])
    assert published.laplace_renyi(2, order) == pytest.approx(expected, rel=1e-9)
    expected = divergence(lambda x: mp.npdf(x, 0, 2), lambda x: mp.npdf(x, 1, 2), [-80, -20, 0, 20, 80])
    assert published.gaussian_renyi(2, order) == pytest.approx(expected, rel=1e-9)
    for truth in (0.51, 0.9):
        ours = RandomizedResponse(truth).guarantee().renyi(order)
        assert published.randomized_response_renyi(truth, order) == pytest.approx(ours, rel=1e-9)


def test_table_2_at_infinity() -> None:
    assert published.laplace_renyi(4, math.inf) == 0.25
    assert published.randomized_response_renyi(0.25, math.inf) == pytest.approx(math.log(3))
    assert published.gaussian_renyi(4, math.inf) == math.inf


# -- composition ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("epsilon", "delta", "steps"), [(0.1, 0.0, 1), (0.1, 1e-6, 30), (1.0, 1e-3, 7), (0.02, 0.0, 400)]
)
def test_kairouz_optimum_is_ours(epsilon: float, delta: float, steps: int) -> None:
    corners = published.kairouz_optimal(epsilon, delta, steps)
    at, expected = np.array(corners).T
    ours = (steps * ApproxDP(epsilon, delta)).delta(at)
    assert ours == pytest.approx(expected, rel=1e-6, abs=1e-10)
    for slack in (1e-6, 1e-3):
        total, share = published.kairouz_composition(epsilon, delta, steps, slack)
        assert (steps * ApproxDP(epsilon, delta)).delta(total) <= share * SAFE


def test_advanced_composition_is_valid() -> None:
    total, share = published.advanced_composition(0.1, 1e-7, 100, 1e-5)
    assert share == pytest.approx(1e-5 + 1e-5)
    assert (100 * ApproxDP(0.1, 1e-7)).delta(total) <= share
    assert published.basic_composition([]) == (0.0, 0.0)
    assert published.basic_composition([(1.0, 0.7), (2.0, 0.7)]) == (3.0, 1.0)


# -- noisy SGD --------------------------------------------------------------------------------------


def test_the_rule_for_noisy_sgd_fails_for_small_scales() -> None:
    exact = Gaussian(0.6).subsample(0.003).guarantee().renyi(2.0)
    assert exact > 2 * 2 * published.noisy_sgd_rho(0.003, 0.6)
    safe = Gaussian(4).subsample(0.001).guarantee().renyi([2.0, 30.0])
    assert (safe < np.array([2.0, 30.0]) * published.noisy_sgd_rho(0.001, 4)).all()


# -- ranges -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("function", "arguments", "named"),
    [
        (published.mironov_epsilon, (1, 0.1, 1e-5), "order"),
        (published.mironov_epsilon, (math.inf, 0.1, 1e-5), "order"),
        (published.mironov_epsilon, (math.nan, 0.1, 1e-5), "order"),
        (published.mironov_epsilon, (2, -0.1, 1e-5), "value"),
        (published.mironov_epsilon, (2, 0.1, 0), "delta"),
        (published.mironov_epsilon, (2, 0.1, 1), "delta"),
        (published.mironov_event, (2, 0.1, 1.1), "probability"),
        (published.mironov_group, (7, 0.1, 2), "order"),
        (published.mironov_group, (8, 0.1, -1), "doublings"),
        (published.mironov_pure_event, (0.1, 10, 0), "probability"),
        (published.mironov_pure_event, (0.1, 1.5, 0.1), "steps"),
        (published.mironov_pure_renyi, (0.1, 0.9), "order"),
        (published.mironov_advanced_composition, (1.0, 100, 1e-5), "delta"),
        (published.randomized_response_renyi, (1.0, 2), "truth"),
        (published.laplace_renyi, (0, 2), "scale"),
        (published.gaussian_renyi, (1, 0.5), "order"),
        (published.moments_accountant_delta, (2, 0.5, 0.5), "epsilon"),
        (published.moments_accountant_epsilon, (0.1, 10, 0.0), "delta"),
        (published.asoodeh_divergence, (2, 1.0, 0.0), "delta"),
        (published.asoodeh_least_divergence, (2, 1.0, 1.0), "delta"),
        (published.asoodeh_least_divergence, (2, -1.0, 0.1), "epsilon"),
        (published.asoodeh_epsilon, (1.0, 0.1, 0.1), "order"),
        (published.asoodeh_free_deltas, (2, 0.7), "value"),
        (published.asoodeh_gaussian_epsilon, (-0.1, 10, 1e-5), "rho"),
        (published.asoodeh_gaussian_variance, (1e-5, 1e-3, 10), "epsilon"),
        (published.asoodeh_gaussian_variance, (50.0, 1e-5, 10), "epsilon"),
        (published.noisy_sgd_rho, (0.1, 1.0), "rate"),
        (published.noisy_sgd_largest_order, (0.1, 1.0), "rate"),
        (published.asoodeh_renyi, (2, [0, 0.5], [1, 0]), "fpr"),
        (published.asoodeh_renyi, (2, [0, 0.5, 1], [1, 0.9, 0]), "fnr"),
        (published.asoodeh_renyi, (2, [0, 1], [1, 0.1]), "fnr"),
        (published.asoodeh_kullback_tradeoff, (0.1, 1.5), "fpr"),
        (published.asoodeh_tradeoff, ([0.5], [0.1], 0.1), "orders"),
        (published.asoodeh_tradeoff, ([2, 3], [0.1], 0.1), "values"),
        (published.advanced_composition, (0.1, 0.0, 10, 0.0), "slack"),
        (published.kairouz_composition, (0.1, 2.0, 10, 0.1), "delta"),
        (published.kairouz_optimal, (-1.0, 0.0, 2), "epsilon"),
        (published.basic_composition, ([(0.1, -1e-5)],), "delta"),
    ],
)
def test_outside_its_range_a_formula_refuses(
    function: Callable[..., Any], arguments: tuple[Any, ...], named: str
) -> None:
    with pytest.raises(ArgumentError, match=named):
        function(*arguments)


def test_all_names_are_listed() -> None:
    assert list(published.__all__) == sorted(published.__all__)
    assert not [name for name in published.__all__ if not (getattr(published, name).__doc__ or "").strip()]
