"""What a guarantee means for people: closed forms, laws over the cases, and brute force over every event."""

import math
from itertools import chain, combinations, pairwise
from typing import Any

import numpy as np
import pytest
from cases import SILENT, SINGLE, STATED, Case, each
from compositions import anything, harsh, log_uniform
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import ndtr, ndtri

from indistinct import (
    Adjacency,
    ApproxDP,
    ArgumentError,
    Discrete,
    Gaussian,
    GaussianDP,
    Laplace,
    PureDP,
    RandomizedResponse,
    RenyiCurve,
    ZeroConcentratedDP,
    parse_guarantee,
)

RESPONSE = RandomizedResponse(truth=0.75).guarantee()
every_case = each([*SINGLE[::5], *SILENT[::4], *STATED])
"""Of mechanisms these readings know the profile alone, whose own laws are tested over all of them."""
PROBABILITIES = np.array([0, 1e-30, 1e-6, 1e-4, 0.02, 0.5, 0.9, 1])


# -- closed forms ---------------------------------------------------------------------------------


def test_randomized_response_in_closed_form() -> None:
    """Truth 3/4: the odds move by a factor of 3, up or down."""
    g, factor = RESPONSE, RESPONSE.bayes_factor()
    assert g.posterior(0.5).high == pytest.approx(0.75) and g.posterior(0.5).low == pytest.approx(0.25)
    assert g.posterior(0.01).high == pytest.approx(3 / 102)
    # any event of probability up to 3/4 may have the factor; beyond it the rest is diluted
    assert factor.quantile([0, 1e-9, 0.1, 0.75]) == pytest.approx(3)
    assert factor.quantile(0.9) == pytest.approx(0.9 / 0.7)
    assert factor.tail([0.5, 1, 2, 3, 3.001]) == pytest.approx([1, 1, 0.8, 0.75, 0], rel=1e-7)
    assert factor.moment([0, 1, 2]) == pytest.approx([1, 0.75 * 3 + 0.25 / 3, 0.75 * 9 + 0.25 / 9])
    assert factor.moment(math.inf) == math.inf
    assert g.bayes_risk([0.5, 0.3, 0.7, 0.25, 0.1]) == pytest.approx([0.25, 0.25, 0.25, 0.25, 0.1])
    assert g.tpr([1e-20, 0.1, 0.25]) == pytest.approx([3e-20, 0.3, 0.75])
    assert g.reconstruction(1e-3) == pytest.approx(3e-3)


def test_gaussian_in_closed_form() -> None:
    mu = 0.8
    g, factor = GaussianDP(mu), GaussianDP(mu).bayes_factor()
    p = np.array([1e-12, 1e-5, 1e-3, 0.1, 0.5, 0.9])
    high, low = ndtr(mu + ndtri(p)), ndtr(ndtri(p) - mu)
    assert g.event(p).high == pytest.approx(high, rel=1e-7)
    assert g.event(p).low == pytest.approx(low, rel=1e-7)
    assert g.tpr(p) == pytest.approx(high, rel=1e-7)
    assert g.reconstruction(p) == pytest.approx(high, rel=1e-7)
    assert factor.quantile(p) == pytest.approx(p / low, rel=1e-7)
    assert factor.tail(factor.quantile(p)) == pytest.approx(p, rel=1e-6)
    assert factor.moment([1, 3]) == pytest.approx(np.exp([mu**2, 6 * mu**2]), rel=1e-6)
    assert factor.moment(0.5) == pytest.approx(math.exp(0.375 * mu**2), rel=1e-6)
    assert g.bayes_risk(0.5) == pytest.approx(ndtr(-mu / 2), rel=1e-9)
    assert g.posterior(0.5) == type(g.posterior(0.5))(0.0, 1.0)


def test_a_tail_is_not_that_of_the_dominating_loss() -> None:
    """P(L >= t) of the Gaussian itself is smaller: a mechanism that it dominates may do worse."""
    mu, t = 0.8, 2.0
    own = ndtr(mu / 2 - t / mu)
    bound = GaussianDP(mu).bayes_factor().tail(math.exp(t))
    assert own < 0.7 * bound
    # releasing one bit, whether the loss exceeds s, attains the bound
    s = max(np.linspace(0, t, 200_001), key=lambda s: _bit(mu, s, t))
    assert _bit(mu, s, t) == pytest.approx(bound, rel=1e-4)
    assert _bit(mu, s, t) <= bound


def _bit(mu: float, s: float, t: float) -> float:
    p, q = ndtr(mu / 2 - s / mu), ndtr(-mu / 2 - s / mu)
    return float(p) if p >= math.exp(t) * q else 0.0


def test_more_than_epsilon_at_the_same_delta() -> None:
    g = Gaussian(scale=2).guarantee()
    assert g.bayes_factor().quantile(1e-5) > math.exp(g.epsilon(1e-5))


def test_markov_is_looser_and_mironovs_exponent_is_wrong() -> None:
    """Section VII bounds the tail by e^ε / β^(1/(α-1)); Markov's inequality has the exponent α-1."""
    order, value, beta = 1.5, 0.1, 100.0
    factor = RenyiCurve([order], [value]).bayes_factor()
    markov = (math.exp(value) / beta) ** (order - 1)
    assert factor.tail(beta) <= markov
    # a coin that the claim allows exceeds what is printed
    p = 0.004
    q = p / beta
    for a, b in ((p, q), (q, p)):
        moment = a**order * b ** (1 - order) + (1 - a) ** order * (1 - b) ** (1 - order)
        assert math.log(moment) / (order - 1) <= value
    printed = math.exp(value) / beta ** (1 / (order - 1))
    assert printed < p <= factor.tail(beta)


# -- laws over the cases ----------------------------------------------------------------------------


@every_case
def test_laws(case: Case) -> None:
    g = case.guarantee()
    factor, event = g.bayes_factor(), g.event(PROBABILITIES)
    # shapes
    assert (event.low <= PROBABILITIES).all() and (event.high >= PROBABILITIES).all()
    assert (np.diff(event.low) >= 0).all() and (np.diff(event.high) >= -1e-12).all()
    assert (event.low >= 0).all() and (event.high <= 1).all()
    # one curve, told twice
    only_points = case.name == "points of a trade-off curve"  # where more is known than the profile tells
    power = 1 - g.tradeoff(PROBABILITIES)
    if not only_points:
        assert event.high == pytest.approx(power, abs=1e-7)
    assert (event.high >= power - 1e-7).all()
    # quantiles fall from the pure factor to about 1
    quantiles = factor.quantile(PROBABILITIES)
    assert quantiles[0] == pytest.approx(math.exp(min(g.pure(), 709.0)) if g.pure() < 709 else math.inf)
    assert all(a >= b * (1 - 1e-9) for a, b in pairwise(quantiles))
    # passing the quantile is as rare as asked for
    finite = quantiles[2:6][np.isfinite(quantiles[2:6])]
    asked = PROBABILITIES[2:6][np.isfinite(quantiles[2:6])]
    assert only_points or (factor.tail(finite * (1 + 1e-4)) <= asked * 1.01 + 1e-9).all()
    # beliefs
    belief = g.posterior([0, 0.01, 0.5, 1], beyond=1e-4)
    assert belief.low[0] == belief.high[0] == 0 and belief.low[3] == belief.high[3] == 1
    inside = g.posterior([0.01, 0.5])
    assert (inside.low <= belief.low[1:3]).all() and (inside.high >= belief.high[1:3]).all()
    assert belief.low[2] == pytest.approx(1 - belief.high[2], abs=1e-12)
    # risk
    risk = g.bayes_risk([0, 0.01, 0.5, 0.99, 1])
    assert risk[2] == pytest.approx((1 - g.advantage()) / 2, rel=1e-9)
    assert risk[1] == pytest.approx(risk[3], rel=1e-9) and risk[0] == risk[4] == 0
    assert (risk <= [0, 0.01, 0.5, 0.01, 0]).all()
    moments = factor.moment([0, 1, 7])
    with np.errstate(over="ignore"):
        assert moments[0] == 1 and moments[1] == pytest.approx(np.exp(g.renyi(2)), rel=1e-6)


@each(SILENT)
def test_what_tells_nothing_changes_nothing(case: Case) -> None:
    g = case.guarantee()
    assert g.posterior(0.3).high == pytest.approx(0.3) and g.posterior(0.3).low == pytest.approx(0.3)
    assert g.bayes_risk(0.3) == pytest.approx(0.3)
    assert g.tpr([1e-30, 0.3]) == pytest.approx([1e-30, 0.3])
    assert g.bayes_factor().tail(1.01) == 0 and g.bayes_factor().moment(3) == 1


def test_total_loss_is_told_as_such() -> None:
    g = Discrete((1.0, 0.0), (0.0, 1.0)).guarantee()
    assert g.posterior(0.01, beyond=0.5).high == 1 and g.bayes_risk(0.5) == pytest.approx(0, abs=1e-12)
    assert g.tpr(0) == 1 and g.bayes_factor().tail([2, math.inf]) == pytest.approx([1, 1])
    some = ApproxDP(0.0, 1e-3).bayes_factor()
    assert some.quantile([1e-4, 1e-3]).tolist() == [math.inf, math.inf]
    assert some.tail(math.inf) == pytest.approx(1e-3) and some.quantile(0.1) == pytest.approx(0.1 / 0.099)


# -- brute force ------------------------------------------------------------------------------------


def _events(n: int) -> list[list[int]]:
    return [list(c) for c in chain.from_iterable(combinations(range(n), k) for k in range(n + 1))]


@st.composite
def finite_pairs(draw: Any) -> tuple[np.ndarray, np.ndarray]:
    size = draw(st.integers(2, 5))
    rows = []
    for _ in range(2):
        row = np.array(draw(st.lists(st.integers(0, 100), min_size=size, max_size=size)), dtype=float)
        row[draw(st.integers(0, size - 1))] += 1
        rows.append(row / row.sum())
    return rows[0], rows[1]


def _check_against(g: Any, one: np.ndarray, two: np.ndarray) -> None:
    """No reading understates what some event, guess or belief achieves between them, in either order."""
    slack, factor = 1 + 1e-9, g.bayes_factor()
    events = _events(len(one))
    masses = [np.minimum([side[e].sum() for e in events], 1) for side in (one, two)]
    p, q = np.concatenate(masses), np.concatenate(masses[::-1])
    between = g.event(q)
    assert (between.low <= p * slack + 1e-12).all() and (p <= between.high * slack + 1e-12).all()
    priors, tails = np.array([0.001, 0.2, 0.5, 0.9]), np.array([0.0, 1e-4, 0.05, 0.4])
    risks, belief = g.bayes_risk(priors), g.posterior(priors[:, None], beyond=tails)
    assert (risks <= (priors * (1 - p[:, None]) + (1 - priors) * q[:, None]).min(axis=0) + 1e-12).all()
    for first, second in ((one, two), (two, one)):
        with np.errstate(divide="ignore", invalid="ignore"):
            factors = np.where(first > 0, first / second, 0.0)
        for row, prior in enumerate(priors):
            evidence = prior * first + (1 - prior) * second
            beliefs = np.where(evidence > 0, prior * first / np.where(evidence > 0, evidence, 1.0), prior)
            for low, high, beyond in zip(belief.low[row], belief.high[row], tails, strict=True):
                for truth in (first, second):
                    assert truth[beliefs > high * slack].sum() <= beyond * slack
                    assert truth[beliefs < low / slack].sum() <= beyond * slack
        levels = np.unique(factors[factors > 0])
        reached = np.array([first[factors >= level].sum() for level in levels])
        assert (reached <= factor.tail(levels) * slack + 1e-12).all()
        if np.isfinite(factors).all():
            assert (first * factors**1.5).sum() <= factor.moment(1.5) * slack


@settings(max_examples=settings.default.max_examples // 3)
@given(finite_pairs())
def test_no_number_understates_a_finite_pair(pair: tuple[np.ndarray, np.ndarray]) -> None:
    p, q = pair
    _check_against(Discrete(tuple(p), tuple(q)).guarantee(), p, q)


@settings(max_examples=settings.default.max_examples // 5)
@given(finite_pairs(), st.lists(st.integers(0, 1), min_size=5, max_size=5))
def test_nor_what_is_computed_from_the_release(pair: tuple[np.ndarray, np.ndarray], to: list[int]) -> None:
    """Merged outcomes have other losses, but the guarantee covers them."""
    p, q = pair
    merged = [np.bincount(to[: len(side)], weights=side, minlength=2) for side in (p, q)]
    _check_against(Discrete(tuple(p), tuple(q)).guarantee(), *merged)


@settings(max_examples=settings.default.max_examples // 10)
@given(finite_pairs())
def test_nor_claims_that_hold_for_it(pair: tuple[np.ndarray, np.ndarray]) -> None:
    """Claims read off the pair: its Rényi divergences alone, one (ε, δ), pure DP."""
    p, q = 0.9 * pair[0] + 0.1 / len(pair[0]), 0.9 * pair[1] + 0.1 / len(pair[1])
    g = Discrete(tuple(p), tuple(q)).guarantee()
    orders = [1.5, 2.0, 4.0, 16.0]
    claims = [RenyiCurve(orders, g.renyi(orders) * (1 + 1e-12)), PureDP(g.pure() * (1 + 1e-12))]
    for claim in [*claims, ApproxDP(0.1, g.delta(0.1))]:
        _check_against(claim, p, q)


@given(finite_pairs(), st.integers(0, 2**32 - 1))
def test_no_reconstruction_beats_its_bound(pair: tuple[np.ndarray, np.ndarray], seed: int) -> None:
    """Replace-one: each candidate has its own law; the best attack is known exactly (the likeliest one)."""
    rng = np.random.default_rng(seed)
    laws = [*pair, *(rng.dirichlet(np.ones(len(pair[0]))) for _ in range(2))]
    laws = [0.8 * law + 0.2 / len(law) for law in laws]
    losses = max(np.log(a / b).max() for a in laws for b in laws)
    prior = rng.dirichlet(np.ones(len(laws)))
    success = (prior[:, None] * np.array(laws)).max(axis=0).sum()
    claim = PureDP(losses * (1 + 1e-12), adjacency=Adjacency.REPLACE_ONE)
    assert success <= claim.reconstruction(float(prior.max())) * (1 + 1e-9)


@given(st.floats(0.05, 4), st.floats(1e-12, 0.5), st.floats(0.001, 0.999))
def test_gaussian_beliefs_agree_with_odds(mu: float, beyond: float, prior: float) -> None:
    g = GaussianDP(mu)
    odds = prior / (1 - prior) * beyond / ndtr(ndtri(beyond) - mu)
    high = g.posterior(prior, beyond=beyond).high
    assert high == pytest.approx(odds / (1 + odds), rel=1e-6)
    assert high >= odds / (1 + odds) * (1 - 1e-12)


# -- arguments --------------------------------------------------------------------------------------


def test_shapes_are_kept() -> None:
    g = Laplace(scale=1).guarantee()
    assert isinstance(g.tpr(0.1), float) and isinstance(g.bayes_risk(0.1), float)
    assert g.posterior([[0.1], [0.2]], beyond=[0.0, 1e-3, 0.1]).high.shape == (2, 3)
    assert g.posterior(0.1, beyond=[0.0, 0.1]).low.shape == (2,)
    assert g.event(np.full((2, 2), 0.1)).low.shape == (2, 2)
    assert g.bayes_factor().tail([[2.0]]).shape == (1, 1) and g.tpr([]).shape == (0,)
    assert g.posterior([]).high.shape == (0,) and g.bayes_factor().tail([]).shape == (0,)


@pytest.mark.parametrize(
    ("ask", "named"),
    [
        (lambda g: g.posterior(1.2), "prior"),
        (lambda g: g.posterior(0.5, beyond=-0.1), "beyond"),
        (lambda g: g.posterior([0.1, 0.2], beyond=[0.1, 0.2, 0.3]), "beyond"),
        (lambda g: g.posterior(math.nan), "prior"),
        (lambda g: g.bayes_risk("half"), "prior"),
        (lambda g: g.tpr(2), "fpr"),
        (lambda g: g.reconstruction(-1), "baseline"),
        (lambda g: g.bayes_factor().tail(-1), "factor"),
        (lambda g: g.bayes_factor().moment(-0.5), "order"),
        (lambda g: g.bayes_factor().quantile(1.5), "beyond"),
        (lambda g: g.event(7), "probability"),
    ],
)
def test_bad_arguments_are_named(ask: Any, named: str) -> None:
    with pytest.raises(ArgumentError, match=named):
        ask(RESPONSE)


def test_claims_by_divergences_alone() -> None:
    """The curve of a Gaussian implies less than the Gaussian, never more."""
    known, claimed = GaussianDP(0.5), ZeroConcentratedDP(0.125)
    p = np.array([1e-6, 0.01, 0.3])
    assert (claimed.tpr(p) >= known.tpr(p)).all() and (claimed.event(p).low <= known.event(p).low).all()
    assert claimed.posterior(0.1, beyond=1e-5).high >= known.posterior(0.1, beyond=1e-5).high
    assert claimed.posterior(0.1, beyond=1e-5).high < 0.6
    assert claimed.bayes_risk(0.2) <= known.bayes_risk(0.2)
    order_two = RenyiCurve([2], [0.3]).bayes_factor()
    assert order_two.moment(1) == pytest.approx(math.exp(0.3)) and order_two.moment(1.5) == math.inf


# -- every line is a bound, and the best one is found -------------------------------------------------


def _lines(g: Any, fpr: float, rest: float, epsilons: np.ndarray) -> tuple[float, float]:
    """What is missed at least, and told at most (the rest), as the deltas at some epsilons allow."""
    e, delta = epsilons, g.delta(epsilons)
    told = np.concatenate((delta + np.expm1(e) * fpr, np.exp(-e) * delta - np.expm1(-e) * rest))
    missed = np.concatenate((rest - delta - np.expm1(e) * fpr, np.exp(-e) * (rest - delta)))
    return float(missed.max()), float(told.min())


def check_no_line_is_better(text: str, x: float) -> None:
    """To a millionth of what is missed or told (and rounding next to 1), alone and among others."""
    g = parse_guarantee(text)
    ends = g.epsilon([0.9, 0.5, 0.1, 1e-2, 1e-4])
    ends = ends[ends < 600.0]
    top = min(g.pure(), 1.2 * ends.max(initial=0.1), 600.0)
    epsilons = np.concatenate((ends, np.linspace(0, top, 30), [min(g.pure(), 600.0)]))
    missed, told = _lines(g, x, 1 - x, epsilons)
    fnr, tpr = parse_guarantee(text).tradeoff(x), parse_guarantee(text).tpr(x)
    assert fnr >= missed - 1e-6 * min(missed, told) - 4e-15
    assert tpr <= (x + told) * (1 + 1e-6)
    assert parse_guarantee(text).tradeoff([0.3, x, x / 2])[1] == fnr
    likely, _ = _lines(g, 1 - x, x, epsilons)
    if likely > 0:
        assert parse_guarantee(text).bayes_factor().quantile(x) <= x / likely * (1 + 1e-6)


@pytest.mark.slow
@settings(max_examples=settings.default.max_examples // 6)
@given(st.one_of(anything, harsh), st.one_of(st.floats(0.001, 0.999), log_uniform(1e-8, 1e-2)))
def test_no_line_is_better(text: str, x: float) -> None:
    check_no_line_is_better(text, x)


@pytest.mark.parametrize(
    ("text", "x"),
    [
        # searches that stopped at a kink, or on the wrong side of one
        (
            "2 * randomized_response(0.587) + 4 * randomized_response(0.901).subsample(0.001458)"
            " + 3 * randomized_response(0.68)",
            0.7,
        ),
        (
            "discrete_gaussian(0.6258) + 2 * (2 * randomized_response(0.809)).subsample(0.1886)",
            0.9,
        ),
        (
            "4 * randomized_response(0.908).subsample(0.00511) + 3 * laplace(0.3327).subsample(0.01857)",
            0.0011,
        ),
        ("2 * laplace(0.7657) + laplace(0.356).subsample(0.0005394)", 0.01),
        # what is drawn for one size of delta is loose beside it
        (
            "4 * laplace(13.77) + 3 * (2 * randomized_response(0.776)).subsample(0.114) + 4 * laplace(1.041)",
            0.8,
        ),
        # nearly everything is told: rough deltas are rough beside what is missed
        ("34 * gaussian(0.7091).allocate(9, times=2)", 1e-6),
        (
            "5 * (2 * randomized_response(0.7714) + discrete_gaussian(1.198)).subsample(0.04151)"
            " + 25 * discrete_gaussian(0.9218)",
            1e-4,
        ),
        ("sampled_sum(0.1704, 0.2524, records=4)", 0.2),
        # one row went on for as long as another
        ("laplace(121.0) + pure(0.0414) + 6 * gaussian(2.8).subsample(0.000135)", 0.9727492332343619),
    ],
)
def test_no_line_is_better_where_searches_have_stopped(text: str, x: float) -> None:
    check_no_line_is_better(text, x)


def test_the_best_line_of_a_listed_pair() -> None:
    """All 512 outcomes of nine answers, some of them sampled: the curve's corners are at their losses."""
    p, q = np.ones(1), np.ones(1)
    for truth, rate, count in ((0.587, 1.0, 2), (0.901, 0.001458, 4), (0.68, 1.0, 3)):
        one = np.array([1 - truth, truth])
        for _ in range(count):
            p, q = np.outer(p, rate * one[::-1] + (1 - rate) * one).ravel(), np.outer(q, one).ravel()
    slopes = np.append((p / q)[:, None, None], (q / p)[:, None, None])[:, None]
    delta = np.maximum(np.maximum(p - slopes * q, 0).sum(axis=1), np.maximum(q - slopes * p, 0).sum(axis=1))
    known = (
        RandomizedResponse(0.587),
        RandomizedResponse(0.901).subsample(0.001458),
        RandomizedResponse(0.68),
    )
    g = (2 * known[0] + 4 * known[1] + 3 * known[2]).guarantee()
    for x in (0.01, 0.3, 0.7, 0.9):
        best = (1 - delta - slopes[:, 0] * x).max()
        assert g.tradeoff(x) == pytest.approx(best, rel=1e-6) and g.tradeoff(x) <= best * (1 + 1e-12)
        assert g.bayes_factor().quantile(1 - x) == pytest.approx((1 - x) / best, rel=1e-6)
        assert g.tpr(x) == pytest.approx(1 - best, rel=1e-6)


def test_the_rarest_events_have_a_probability() -> None:
    between = RandomizedResponse(truth=0.7).guarantee().event(5e-324)
    assert 0 <= between.low <= 5e-324 <= between.high <= 2e-323
