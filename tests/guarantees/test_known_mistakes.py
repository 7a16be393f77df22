"""Mistakes that accounting libraries have made, planted again: ours must not make them."""

import math
from collections.abc import Sequence
from fractions import Fraction
from itertools import pairwise
from typing import Any

import mpmath
import numpy as np
import pytest
from scipy.special import ndtr
from scipy.stats import binom, norm

from indistinct import (
    Adjacency,
    ApproxDP,
    ArgumentError,
    Discrete,
    DiscreteGaussian,
    DiscreteLaplace,
    Exponential,
    Gaussian,
    GaussianDP,
    Laplace,
    PermuteAndFlip,
    PrivacyProfile,
    PureDP,
    RandomizedResponse,
    RandomShift,
    RenyiCurve,
    SampledSum,
    Stated,
    Tries,
    TruncatedSum,
    ZeroConcentratedDP,
    mixture,
    parallel,
    parse,
    parse_guarantee,
    repeat_and_select,
)
from indistinct.guarantees import engines
from indistinct.guarantees.bounded_range_pair import BoundedRangePair
from indistinct.guarantees.discrete_pair import DiscretePair
from indistinct.guarantees.guarantee import ExactGuarantee
from indistinct.guarantees.mixture_pair import MixturePair
from indistinct.guarantees.noise_pairs import GaussianPair, LaplacePair
from indistinct.guarantees.pair import Pair
from indistinct.guarantees.product import Product
from indistinct.guarantees.profiled_pairs import group_pair
from indistinct.guarantees.repeated_draws_pair import RepeatedDrawsPair
from indistinct.mechanisms import Mechanism
from indistinct.mechanisms.budget import dominating_shift
from indistinct.numerics.arrays import Array
from indistinct.numerics.contour import draw_line
from indistinct.numerics.worst import worst_of

REPLACE = Adjacency.REPLACE_ONE
NOTHING: Mechanism = 0 * Gaussian(scale=1)


@pytest.mark.parametrize("steps", [2, 10, 250, 10**6])
def test_the_count_of_a_composition_is_kept(steps: int) -> None:
    """dp-accounting composes two of its mechanisms once, whatever the count."""
    for mechanism, adjacency in (
        (RandomizedResponse(truth=0.51), Adjacency.ADD_REMOVE),
        (Gaussian(scale=20).subsample(1, of=10), REPLACE),
        (Laplace(scale=300), Adjacency.ADD_REMOVE),
    ):
        once, many = mechanism.guarantee(adjacency), (steps * mechanism).guarantee(adjacency)
        assert many.renyi(2) == pytest.approx(steps * once.renyi(2), rel=1e-9)
        assert many.epsilon(1e-5) > once.epsilon(1e-5) * 1.2


def test_250_randomized_responses() -> None:
    """dp-accounting's accountant says 0.1 here."""
    g = (250 * RandomizedResponse(truth=0.51)).guarantee(REPLACE)
    assert g.epsilon(1e-6) == pytest.approx(2.899739290801549, rel=1e-9)


@pytest.mark.parametrize("base", [GaussianPair(1.0), GaussianPair(0.2), LaplacePair(1.0)], ids=repr)
@pytest.mark.parametrize("steps", [1, 5, 100])
def test_without_replacement_is_worse_than_either_pair(base: Pair, steps: int) -> None:
    """Composing only ((1-q) Q + q P, Q), or only its reverse, understates (Lebeda et al. 2024)."""
    noise = Gaussian(scale=1 / base.shift) if isinstance(base, GaussianPair) else Laplace(scale=1 / base.loss)
    ours = (steps * noise.subsample(30, of=100)).guarantee(REPLACE)
    mixed = MixturePair(base, 0.3)
    epsilons = np.array([0.0, 0.1, 0.5, 2.0])
    for pair in (mixed, mixed.reverse()):
        one_sided = Product(((pair, steps),)).delta(epsilons)
        assert (ours.delta(epsilons) >= one_sided * (1 - 1e-6)).all()
    if steps > 1:  # and strictly worse than what composing one of them claims
        both = np.maximum(*(Product(((p, steps),)).delta(epsilons) for p in (mixed, mixed.reverse())))
        assert (ours.delta(epsilons) > both * (1 + 1e-4)).any()


def test_without_replacement_composed_by_brute_force() -> None:
    """Every product of the two pairs is allowed by the mechanism, mixed orders too."""
    rate, p, q = 0.3, np.array([0.75, 0.25]), np.array([0.25, 0.75])
    mixed = (1 - rate) * q + rate * p
    sides = [(mixed, q), (p, (1 - rate) * p + rate * q), (q, mixed), ((1 - rate) * p + rate * q, p)]
    ours = (3 * RandomizedResponse(truth=0.75).subsample(3, of=10)).guarantee(REPLACE)
    for epsilon in (0.0, 0.2, 0.6, 1.0):
        worst = 0.0
        for a in sides:
            for b in sides:
                for c in sides:
                    left = np.einsum("i,j,k->ijk", a[0], b[0], c[0])
                    right = np.einsum("i,j,k->ijk", a[1], b[1], c[1])
                    worst = max(worst, float(np.maximum(left - math.exp(epsilon) * right, 0).sum()))
        assert ours.delta(epsilon) >= worst * (1 - 1e-9)


@pytest.mark.parametrize(
    "mechanism",
    [
        Discrete((0.01, 0.99), (0.5, 0.5)),
        Discrete((0.5, 0.5), (0.01, 0.99)),
        3 * Discrete((0.3, 0.3, 0.4), (0.6, 0.399, 0.001)),
        5 * Laplace(scale=1).subsample(0.5),
        10 * Gaussian(scale=0.5).subsample(0.5),
    ],
    ids=str,
)
def test_both_directions_count(mechanism: Discrete) -> None:
    g = mechanism.guarantee()
    assert isinstance(g, ExactGuarantee)
    forward, backward = g.product, g.product.reverse()
    assert forward != backward
    for epsilon in (0.0, 0.5, 2.0):
        at = np.array([epsilon])
        both = max(forward.delta(at)[0], backward.delta(at)[0])
        assert g.delta(epsilon) == pytest.approx(both, rel=1e-7)  # as close as engines are asked to come
    for order in (0.5, 1.0, 2.0, 10.0):
        assert g.renyi(order) == max(forward.renyi(order), backward.renyi(order))


def test_direction_of_removal_is_not_always_the_worse_one() -> None:
    one, other = Discrete((0.01, 0.99), (0.5, 0.5)), Discrete((0.5, 0.5), (0.01, 0.99))
    assert one.guarantee().epsilon(1e-3) == pytest.approx(other.guarantee().epsilon(1e-3), rel=1e-12)
    assert one.guarantee().pure() == pytest.approx(math.log(50))


def test_phase_transition_in_the_far_tail() -> None:
    """Without cutting the tail that is never seen, the same integral says 0.456."""
    g = (16 * Gaussian(scale=7.6563191745).subsample(0.0044317212)).guarantee()
    assert g.epsilon(3.3993480937e-10) == pytest.approx(0.0121542115, rel=1e-8)


def test_not_below_the_truth_where_others_are() -> None:
    sgd = (1000 * Gaussian(scale=1).subsample(0.01)).guarantee()
    assert sgd.epsilon(1e-12) > 3.91308  # Opacus' PRV "upper bound"
    assert sgd.epsilon(1e-12) == pytest.approx(3.914298156, rel=1e-8)
    long = (74_866 * Gaussian(scale=13.2).subsample(0.0361)).guarantee()
    assert long.epsilon(7.5e-11) >= 4.8205624146640004 * (1 - 1e-11)  # dp-accounting's is below


def test_the_clt_is_not_a_bound() -> None:
    """Opacus' Gaussian accountant says 1.6177, dp-accounting 1.8282, the truth is 1.828237."""
    assert (1000 * Gaussian(scale=1).subsample(0.01)).guarantee().epsilon(1e-5) > 1.8282366


@pytest.mark.parametrize("scale", [0.1, 0.01])
def test_two_far_apart_losses_are_answered(scale: float) -> None:
    """Half the data, hardly any noise, 1000 steps: others hang, run out of memory or say 70 per cent more.

    Who takes part is nearly seen, so the loss is nearly a sum of 1000 draws of log(1/2) and 1/(2 s^2)
    - log 2, each with probability one half: four standard deviations above its mean is the answer.
    """
    step = 1 / (2 * scale**2)
    mean = 500 * step - 1000 * math.log(2)
    deviation = math.sqrt(1000 * (step**2 / 4 + step))
    epsilon = (1000 * Gaussian(scale=scale).subsample(0.5)).guarantee().epsilon(1e-5)
    assert epsilon == pytest.approx(mean + 4.265 * deviation, rel=2e-3)


def test_rate_zero_and_one() -> None:
    """Others say 0.10287 for a release that never happens."""
    assert (1000 * Gaussian(scale=1).subsample(0)).guarantee().epsilon(1e-5) == 0
    everyone = (1000 * Gaussian(scale=1).subsample(1)).guarantee().epsilon(1e-5)
    assert everyone == (1000 * Gaussian(scale=1)).guarantee().epsilon(1e-5) == pytest.approx(633.93, abs=0.01)


def test_tiny_losses_are_neither_negative_nor_zero() -> None:
    """tf-privacy finds a negative Rényi divergence at sigma=1e6, others an epsilon of 0.01 or 0.1."""
    g = (1000 * Gaussian(scale=1e6).subsample(0.01)).guarantee()
    # the moments of 1 + q (e^L - 1) to leading order
    assert g.renyi(2) == pytest.approx(1000 * 1e-4 * 1e-12, rel=1e-6)
    assert 0 <= g.epsilon(1e-5) < 1e-5
    assert 0 < g.advantage() < 1e-6


def test_a_billion_steps() -> None:
    g = (10**9 * Gaussian(scale=1).subsample(0.01)).guarantee()
    # more than the mean of the loss, less than the best Rényi accountant says
    assert g.renyi(1) < g.epsilon(1e-5) < 92_526


def test_group_privacy_is_not_the_sum_of_deltas() -> None:
    g = PureDP(0.3).group(4)
    assert g.pure() == pytest.approx(1.2)
    assert ZeroConcentratedDP(0.1).group(3).renyi(2) == pytest.approx(9 * 0.2)
    twice = Gaussian(scale=2).group(3).guarantee()
    assert twice.epsilon(1e-5) == pytest.approx(Gaussian(scale=2 / 3).guarantee().epsilon(1e-5), rel=1e-12)


def test_published_example_with_an_invalid_bound() -> None:
    """*Three Variants*, Figs. 4-9, read 3.19 and 7.2 off a Rényi bound outside its range of orders."""
    assert (10_000 * Gaussian(scale=0.6).subsample(0.003)).guarantee().epsilon(1e-5) > 6.372
    epsilon = (14_062 * Gaussian(scale=0.5).subsample(256 / 60000)).guarantee().epsilon(1e-5)
    assert epsilon == pytest.approx(21.1, abs=0.05)


def test_event_of_mironovs_example() -> None:
    """(10, 0.1)-RDP and an event of probability one half: his Proposition 10 says [.419, .586]."""
    interval = RenyiCurve([10], [0.1]).event(0.5)
    assert 0.419 < interval.low < 0.43 and 0.57 < interval.high < 0.586
    # the ends are attained by coins that the claim allows
    for end in (interval.low, interval.high):
        for p, q in ((0.5, end), (end, 0.5)):
            divergence = math.log(p**10 * q**-9 + (1 - p) ** 10 * (1 - q) ** -9) / 9
            assert divergence <= 0.1 + 1e-6


# -- found by an audit of the engines -------------------------------------------------------------------


def test_few_steps_without_replacement_far_out() -> None:
    """The transform of rare losses was cut off at large orders, and an interval did not hold the truth
    (2.3303e-69 by mpmath, 110 digits)."""
    run = 2 * Gaussian(scale=6.727225523347498).subsample(70692, of=837430)
    delta = run.guarantee(Adjacency.REPLACE_ONE).delta_interval(0.732894669935)
    assert delta.low < 2.33035e-69 and 2.33025e-69 < delta.high < 2.33035e-69


def test_a_sampled_table_is_known_from_above_only() -> None:
    g = parse_guarantee("(2 * parallel(gaussian(1), gaussian(2))).subsample(0.5)")
    assert g.epsilon_interval(1e-40).low == g.delta_interval(60.0).low == 0


@pytest.mark.parametrize("rate", [0.3, 1e-6, 1e-12, 1e-15, 1e-17])
def test_a_finite_pair_at_a_tiny_rate(rate: float) -> None:
    """The loss was the logarithm of a quotient that is 1 but for rounding."""
    g = RandomizedResponse(truth=0.75).subsample(rate).guarantee()
    assert g.pure() >= mpmath.log1p(mpmath.mpf(rate) * 2)
    assert g.delta(0) >= rate / 2


@pytest.mark.parametrize("below", [1e-6, 1e-10, 1e-12, 1e-14])
def test_a_profile_just_below_the_largest_loss(below: float) -> None:
    g = Laplace(scale=1.0).subsample(0.01).guarantee()
    epsilon = g.pure() * (1 - below)
    with mpmath.workdps(40):
        rate = mpmath.mpf(0.01)
        place = mpmath.log1p(mpmath.expm1(mpmath.mpf(epsilon)) / rate)
        truth = rate * -mpmath.expm1((place - 1) / 2)
        delta = g.delta_interval(epsilon)
        assert delta.low <= truth <= delta.high


def test_absurd_groups_are_refused() -> None:
    with pytest.raises(ArgumentError, match="size"):
        Laplace(scale=1.0).subsample(0.1).group(2**62).guarantee()
    with pytest.raises(ArgumentError, match="size"):
        Gaussian(scale=1.0).guarantee().group(10**400)


@pytest.mark.parametrize("order", [8.5, 20.0, 1e3])
def test_a_claim_of_infinite_order_counts_below_it(order: float) -> None:
    """Its chord was not a number, and the larger of two bounds left that out."""
    claim, weak = RenyiCurve([2, 8, math.inf], [0.01, 0.05, 0.5]), Gaussian(100.0).guarantee()
    p = mpmath.mpf("0.0115")
    q = p * mpmath.exp(-mpmath.mpf("0.4999"))
    moment = q * (p / q) ** order + (1 - q) * ((1 - p) / (1 - q)) ** order
    told = float(mpmath.log(moment) / (order - 1))
    for one in (claim, parallel(weak, claim), parallel(claim, weak)):
        assert told <= one.renyi(order) <= 0.5 * (1 + 1e-12)
    assert (3 * parallel(weak, claim)).delta(0.45) > 1.4e-3


@pytest.mark.parametrize("bounds", [(1.0, math.nan), (math.nan, 1.0), (math.nan,)])
def test_what_is_not_a_number_bounds_nothing(bounds: tuple[float, ...]) -> None:
    assert worst_of(bounds) == math.inf


@pytest.mark.parametrize("epsilon", [0.5, 5.0, 30.0, 36.5, 300.0])
def test_the_shift_of_a_large_pure_loss(epsilon: float) -> None:
    """Of a probability that is 1 but for rounding."""
    with mpmath.workdps(60):
        rest = 1 / (1 + mpmath.exp(mpmath.mpf(epsilon)))
        log_tail = mpmath.log(rest)
        mu = mpmath.findroot(
            lambda x: mpmath.log(mpmath.erfc(x / mpmath.sqrt(8)) / 2) - log_tail, mpmath.sqrt(8 * epsilon)
        )
        assert mu <= dominating_shift(epsilon) <= mu * (1 + mpmath.mpf("1e-8"))


def test_moments_beyond_all_floats() -> None:
    g = (473 * Laplace(1 / 266.3333249035125) + Laplace(0.00868)).guarantee()
    assert g.delta(0.0) <= 1
    assert 0 < DiscreteGaussian(1e200).guarantee().delta(0.0) < 1e-190


def test_few_stated_orders_beside_noise_lose_nothing_between() -> None:
    g = RenyiCurve([2, 8, 32], [0.1, 0.4, 1.6]) + Gaussian(3.0).guarantee()
    for delta in (0.1, 0.05, 0.02, 1e-3):
        assert g.delta(g.epsilon(delta)) == pytest.approx(delta, rel=1e-6)


@pytest.mark.parametrize("noise", ["gaussian", "laplace"])
@pytest.mark.parametrize("order", [1.0, 1 + 1.5e-6, 1 - 8e-6, 1.0002, 2.0, 3.0])
@pytest.mark.parametrize("rate", [1e-12, 1e-10, 1e-7])
def test_divergences_of_tiny_rates_near_order_one(rate: float, order: float, noise: str) -> None:
    """What lies beyond the range of integration was taken off: half of a divergence of 4e-26."""
    square = math.expm1(1 / 9) if noise == "gaussian" else (2 * math.exp(1 / 3) + math.exp(-2 / 3)) / 3 - 1
    mechanism = {"gaussian": Gaussian(scale=3.0), "laplace": Laplace(scale=3.0)}[noise]
    # order / 2 times chi square, which is rate^2 E (r - 1)^2: terms of higher order are smaller by the rate
    truth = order / 2 * rate**2 * square
    value = mechanism.subsample(rate).guarantee().renyi(order)
    assert truth * (1 - 5 * rate) <= value <= truth * (1 + 1e-8 + 5 * rate) + 4e-28 * order


@pytest.mark.parametrize(
    ("scale", "rate", "order"),
    [
        (0.1, 0.01, 2.0),
        (0.1, 0.01, 1.001),
        (0.2, 0.5, 2.0),
        (2.0, 0.9, 1 + 1e-6),
        (0.3, 0.1, 0.7),
        (1.5, 0.2, 9.0),
    ],
)
def test_divergences_where_the_likelier_law_is_far_away(scale: float, rate: float, order: float) -> None:
    """A range that ends where Q has nothing may leave out half of P."""
    with mpmath.workdps(40):
        q, mu = mpmath.mpf(rate), 1 / mpmath.mpf(scale)

        def part(x: mpmath.mpf, w: mpmath.mpf) -> mpmath.mpf:
            r = 1 - q + q * mpmath.exp(mu * x - mu * mu / 2)
            return mpmath.npdf(x) * (r**w - 1 - w * (r - 1))

        places = sorted(
            {-12, -6, -3, 0, 3, 6, 12, *(mu * k + j for k in (0.5, 1, order) for j in (-8, -3, 0, 3, 8))}
        )
        w = [mpmath.mpf(order), 1 - mpmath.mpf(order)]
        truths = [mpmath.log1p(mpmath.quad(lambda x, v=v: part(x, v), places)) / (order - 1) for v in w]
    product = Gaussian(scale).subsample(rate).guarantee().product
    for direction, truth in zip((product, product.reverse()), truths, strict=True):
        for value in (direction.renyi(order), direction.renyi_at(np.array([order, 0.6, 2.5, 3.5]))[0]):
            assert float(truth) * (1 - 1e-14) <= value <= float(truth) * (1 + 1e-8)


@pytest.mark.parametrize("scale", [1e-2, 0.5, 1e2, 1e4, 1e9, 1e15])
@pytest.mark.parametrize("order", [0.5, 0.5001, 0.7, 1.0, 1.001, 1.5, 2.0, 40.0])
def test_divergences_of_weak_laplace_noise(scale: float, order: float) -> None:
    """Terms of first order in the loss cancel, and took the digits of the second with them."""
    with mpmath.workdps(80):
        s, w = 1 / mpmath.mpf(scale), mpmath.mpf(order) + mpmath.mpf("1e-30")  # beside the removable pole
        up, down = w / (2 * w - 1), (w - 1) / (2 * w - 1)
        truth = mpmath.log(up * mpmath.exp((w - 1) * s) + down * mpmath.exp(-w * s)) / (w - 1)
    value = Laplace(scale).guarantee().renyi(order)
    assert float(truth) * (1 - 1e-14) <= value <= float(truth) * (1 + 1e-10) + order * 1e-37


@pytest.mark.parametrize("scale", [1e6, 1e8, 1e9])
def test_many_weak_laplace_noises_beside_another(scale: float) -> None:
    known = (round(scale**2) * Laplace(scale) + Gaussian(1.0)).guarantee().delta_interval(3.0)
    limit = Gaussian(math.sqrt(0.5)).guarantee().delta(3.0)  # but for about 1 / scale
    assert known.low * (1 - 3 / scale) <= limit <= known.high * (1 + 3 / scale)


def test_a_line_that_is_too_fine_is_not_drawn() -> None:
    assert 0 <= (10**5 * Gaussian(10.0).subsample(1e-10)).guarantee().epsilon(1e-12) < 1e-3


# -- found by reviewers of this library ----------------------------------------------------------------------


def log_moment(scale: float, rate: float, order: float, peak: float) -> float:
    """log E_Q r^order of sampled Gaussian noise by mpmath, around the peak of the integrand."""
    with mpmath.workdps(40):
        mu, q = 1 / mpmath.mpf(scale), mpmath.mpf(rate)

        def density(x: Any) -> Any:
            return mpmath.npdf(x) * (1 - q + q * mpmath.exp(mu * x - mu * mu / 2)) ** order

        ends = [peak + away for away in (-30, -10, -4, -2, 0, 2, 4, 10, 30)]
        return float(mpmath.log(mpmath.quad(density, ends)))


def test_negative_orders_are_integrated_where_they_weigh() -> None:
    """A range found by steps that overshoot ended beside the peak: .634 for 7.87, in one direction."""
    backward = Gaussian(scale=22.28).subsample(0.99978478).guarantee().directions[1]
    truth = log_moment(22.28, 0.99978478, 1 - 59926.0, -240.0) / 59925
    assert truth <= backward.renyi(59926.0) <= truth * (1 + 1e-9)


def test_small_moments_keep_their_digits() -> None:
    """As 1 less something they do not: orders below 1 came out too small, by up to 5.5e-6."""
    truth = log_moment(0.05, 1 - 1e-15, 0.7, 12.0) / -0.3  # (1 - q + q r)^0.7 is largest near 0.7 / 0.05
    near = Gaussian(scale=0.05).subsample(1 - 1e-15).guarantee().renyi(0.7)
    assert truth <= near <= truth * (1 + 1e-9)
    assert 100 <= DiscreteLaplace(scale=0.01).guarantee().renyi(0.7) <= 100 * (1 + 1e-9)
    assert DiscreteLaplace(scale=0.01).guarantee().renyi(0.5) == pytest.approx(98.61370563888)


def test_orders_that_cannot_be_integrated_are_bounded() -> None:
    assert Gaussian(scale=0.1177).subsample(0.133).guarantee().renyi(3047) < 3047 / (2 * 0.1177**2)
    below, above = Gaussian(scale=209.6).subsample(1.133e-12).guarantee().renyi([9999, 10001])
    assert above == pytest.approx(below, rel=1e-3)


@pytest.mark.parametrize("count", [10**8, 10**12, 10**16])
def test_many_weak_laws_on_a_lattice_hide_no_other(count: int) -> None:
    """A power multiplies what rounding leaves of a law: 6e-32 for .0047, and -9e-7 with 1e8 of them."""
    for scale in (65.5, 70.0):
        strong = Gaussian(scale=scale)
        together = (strong + count * Laplace(scale=1e14)).guarantee().delta(0.003)
        assert together >= strong.guarantee().delta_interval(0.003).low


def test_what_tells_nothing_counts_for_nothing() -> None:
    strong = Gaussian(scale=475)
    together = strong + 10**16 * RandomizedResponse(truth=0.5)
    assert together.guarantee().delta(4e-4) == strong.guarantee().delta(4e-4)
    assert (2 * RandomizedResponse(truth=0.5).subsample(0.5)).guarantee().delta(0.0) == 0


def test_what_cannot_be_integrated_tells_no_more_than_it_can() -> None:
    """Nearly no noise and a tiny rate: a record is told of at most where it takes part."""
    g = (2 * Gaussian(scale=0.0076).subsample(1e-6)).guarantee()
    assert g.delta(0.0) <= 2e-6 * (1 + 1e-9) and g.epsilon(2.1e-6) == 0
    assert g.tradeoff(0.05) >= 0.95 - 2.1e-6


@pytest.mark.slow
@pytest.mark.parametrize("scale", [1e-6, 0.0049, 0.005, 0.0051, 0.02])
def test_hardly_any_noise_tells_of_those_who_take_part(scale: float) -> None:
    """Of nobody else. Sampling was not credited from a shift of 200 on (a delta of 1 for 0.01), and a
    composition near it was told to reveal 0.27 for 0.099."""
    kept = 0.99**10  # nobody was drawn, in any of ten steps
    epsilon, shift = 1 - 10 * math.log(0.99), 0.5
    normal = ndtr(shift / 2 - epsilon / shift) - math.exp(epsilon) * ndtr(-shift / 2 - epsilon / shift)
    truth = 1 - kept + kept * normal
    g = (10 * Gaussian(scale=scale).subsample(0.01) + Gaussian(scale=2)).guarantee()
    assert truth * (1 - 1e-12) <= g.delta(1.0) <= truth * (1 + 1e-7)
    assert g.epsilon(1e-5) < math.inf and g.renyi(2.0) < math.inf
    assert g.epsilon(truth * (1 + 1e-6)) <= 1 <= g.epsilon(truth * (1 - 1e-6))


def test_divergences_of_what_is_tabled_are_added_up() -> None:
    """A table ends somewhere, and what is beyond counts as given away: they were infinite."""
    parts = Gaussian(scale=2).guarantee(), Laplace(scale=3).guarantee()
    worse, more = parallel(*parts), Gaussian(scale=9).guarantee()
    for order in (1.0, 1.5, 2.0, 30.0):
        total = worse.renyi(order) + more.renyi(order)
        assert (worse + more).renyi(order) == pytest.approx(total)
        assert (2 * (worse + more) + worse).renyi(order) == pytest.approx(2 * total + worse.renyi(order))
    assert (worse + more + RenyiCurve([2], [0.1])).renyi(2.0) < 1


def test_several_large_losses_that_add_up() -> None:
    """Rare losses were looked at around what single ones reach, 29, so epsilon was in [45.90, 46.21]. By
    plain convolution on lattices of 0.01 and 0.005, extrapolated, delta(46.2006881) is 1.0000000e-5."""
    phases = ((28, 5.3, 0.0051), (94, 4.6, 0.00079), (2, 5.6, 0.0027))
    run = sum((n * Gaussian(scale=1 / shift).subsample(rate) for n, shift, rate in phases), start=NOTHING)
    known = run.guarantee().epsilon_interval(1e-5)
    assert known.high - known.low < 1e-7 and known.low == pytest.approx(46.2006881, abs=2e-7)


def test_two_points_that_are_far_apart_are_no_laplace_noise() -> None:
    """A delta of 0.393 for 0.632, from 600 scales on: between its two losses a step tells more."""
    for losses in (550.0, 599.0, 601.0, 700.0, 5000.0):
        g = DiscreteLaplace(scale=1 / losses).guarantee()
        for below in (0.1, 1.0, 30.0):
            known = g.delta_interval(losses - below)
            assert known.low <= -math.expm1(-below) * (1 + 1e-9) and -math.expm1(-below) <= known.high


@pytest.mark.parametrize("epsilon", [600.0, 700.0, 709.0, 728.0, 760.0])
def test_large_shifts_where_exponentials_overflow(epsilon: float) -> None:
    """0 times infinity was a delta of 1, from below too: 0.962 at 728."""
    a, b = 20 - epsilon / 40, -20 - epsilon / 40
    with mpmath.workdps(40):
        truth = float(mpmath.ncdf(a) - mpmath.exp(epsilon) * mpmath.ncdf(b))
    known = Gaussian(scale=1 / 40).guarantee().delta_interval(epsilon)
    assert known.low <= truth <= known.high <= truth * (1 + 1e-9)


def test_bounds_stay_bounds_in_groups() -> None:
    """0.0953 was a lower end of 0.0952."""
    known = DiscreteLaplace(scale=50.0, sensitivity=5000).guarantee().group(2).delta_interval(199.8)
    assert known.low <= 0.0951625 <= known.high


@pytest.mark.parametrize("rate", [1e-12, 1e-9, 1e-6, 0.05])
def test_peaks_far_from_zero_are_found(rate: float) -> None:
    """Where delta next to 0 is known from above only, the line seemed to fall there: 1.7e-4 for 0.806."""
    g = (3 * Exponential(0.2811346836949145)).guarantee()
    assert g.tradeoff(rate) == pytest.approx(1 - g.tpr(rate), rel=1e-6)


@pytest.mark.parametrize("rare", [1e-17, 1e-10, 1e-6, 0.3])
@pytest.mark.parametrize("scales", [(1.0, 10.0), (0.5, 20.0), (0.93, 24.0), (50.0, 40.0)])
@pytest.mark.parametrize("whole", [True, False])
def test_a_rare_part_counts_for_what_it_is(rare: float, scales: tuple[float, float], whole: bool) -> None:
    """What weights lack of 1, or lose by rounding, was taken off the largest moment: 0.04 for 0.712."""
    parts, weights = (
        [Gaussian(scale=scale) for scale in scales],
        [rare, 1.0 if whole and rare < 1e-9 else 1 - rare],
    )
    for order in (0.7, 1.5, 8.0, 60.0):
        with mpmath.workdps(60):
            exact = [mpmath.mpf(weight) / mpmath.fsum(weights) for weight in weights]
            moments = [mpmath.exp(order * (order - 1) / 2 / mpmath.mpf(scale) ** 2) for scale in scales]
            truth = mpmath.log(mpmath.fsum(w * m for w, m in zip(exact, moments, strict=True))) / (order - 1)
        value = mixture(parts, weights).guarantee().renyi(order)
        assert truth * (1 - 1e-15) <= value <= truth * (1 + 1e-11)


def test_mixtures_of_claims_tell_no_less_than_what_meets_them() -> None:
    """The same: 0.216 for 0.986."""
    claims = [RenyiCurve([36], [1.0]), RenyiCurve([36], [1e-6])]
    stated = mixture(claims, [1e-10, 1.0]) + RenyiCurve([36], [1e-9])
    meets = mixture([PureDP(1.0), PureDP(0.0)], [1e-10, 1.0])
    for delta in (1e-14, 1e-12, 1e-11):
        assert stated.epsilon(delta) >= meets.epsilon(delta)


def test_a_profile_is_what_was_stated() -> None:
    """1e-14 for a stated 1e-18, and a lower end above what was stated."""
    claim = PrivacyProfile([1.0, 5.0], [0.5, 1e-18])
    known = claim.delta_interval([1.0, 5.0, 7.0])
    assert (known.high <= [0.5, 1e-18, 1e-18]).all() and (known.low <= known.high).all()
    assert claim.epsilon(1e-18) <= 5.0


@pytest.mark.parametrize(("scale", "delta"), [(0.2, 3.9e-7), (0.12, 5e-12), (0.27, 1e-10)])
def test_deltas_that_fall_in_jumps_have_an_epsilon(scale: float, delta: float) -> None:
    """Infinity: before a jump the slope is 1e-22, and its step led out of sight."""
    g = (DiscreteGaussian(scale, 2) + RandomizedResponse(0.7)).guarantee()
    known = g.epsilon_interval(delta)
    assert known.high < math.inf and known.high - known.low <= 1e-7 * known.high
    assert g.delta(known.high) <= delta * (1 + 1e-7)


@pytest.mark.parametrize("epsilon", [0.0, 0.1, 2.0, 10.0])
def test_large_deltas_are_known(epsilon: float) -> None:
    """[0, 0.99995]: the window of a lattice began above epsilon. Two Laplace losses: an atom with probability
    1/4 that gives 20, and integrals of the others, by a plain sum."""
    s, mid = 10.0, (np.arange(400_000) + 0.5) / 400_000 * 20.0 - 10.0
    density = 0.25 * np.exp((mid - s) / 2) * (20.0 / 400_000)  # of one loss between its atoms

    def one(at: np.ndarray) -> np.ndarray:
        return np.where(at < -s, -np.expm1(at), np.maximum(-np.expm1((np.minimum(at, s) - s) / 2), 0.0))

    truth = 0.5 * one(np.array([epsilon - s]))[0] + 0.5 * math.exp(-s) * one(np.array([epsilon + s]))[0]
    truth += float((density * one(epsilon - mid)).sum())
    known = (2 * Laplace(scale=0.1)).guarantee().delta_interval(epsilon)
    assert known.low - 1e-9 <= truth <= known.high + 1e-9 and known.high - known.low < 1e-6


def test_orders_next_to_nothing_keep_their_digits() -> None:
    """1 + 7e-12 less 1 is not 7e-12: 4.99998e21 for what is 5e21 on the average."""
    for count in (10**15, 10**17, 10**20):
        g, plain = (count * DiscreteGaussian(1.0, 10)).guarantee(), (count * Gaussian(1.0, 10)).guarantee()
        assert count * 50 < g.epsilon(1e-5) and g.epsilon(1e-5) == pytest.approx(
            plain.epsilon(1e-5), rel=1e-4
        )


def test_a_composition_is_known_to_tell_no_less_than_a_part() -> None:
    """A lower end of 0.81, beside a part's own of 1.62."""
    part = Exponential(1.2340959049867872)
    both = Gaussian(3.967372826353562).subsample(0.3).group(2) + part
    alone = part.guarantee().epsilon_interval(1e-9)
    assert both.guarantee().epsilon_interval(1e-9).low >= alone.low * (1 - 1e-9)


EXTREMES = """random_shift(1e308, [2147483647, 0.5], [0.5, 0.5]); sampled_sum(9.2e18, 1e-300, 2)
drawn_sum(9.2e18, 10, 3); random_shift(2, [1, 1e308], [0.5, 0.5]); laplace(0.1, 1e30); exponential(1e308, 2)
repeat_and_select(randomized_response(0.9), 1.000001, 0); repeat_and_select(exponential(1e15), 1.5, 0.01)
pure(1e15) + gaussian(3, 1e9); 1000000000000000000 * sampled_sum(0.1, 0.01, 2)"""


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("text", [one.strip() for one in EXTREMES.replace(";", "\n").splitlines()])
def test_extremes_are_answered(text: str) -> None:
    """Python's errors, NumPy's warnings, and a loop without end."""
    g = parse(text).guarantee()
    assert (
        0 <= g.delta(2.0) <= 1 and g.epsilon(1e-5) >= 0 and 0 <= g.tradeoff(1e-300) <= 1 and g.renyi(2) >= 0
    )


def response_divergence(epsilon: float, order: float) -> mpmath.mpf:
    with mpmath.workdps(400):
        odds = mpmath.exp(-mpmath.mpf(epsilon))
        truth, lie, a = 1 / (1 + odds), odds / (1 + odds), mpmath.mpf(order)
        return mpmath.log(truth**a * lie ** (1 - a) + lie**a * truth ** (1 - a)) / (a - 1)


@pytest.mark.parametrize(
    "count, epsilon", [(3, 1e-9), (10**6, 1e-12), (10**18, 1e-17), (2, 744.0), (2, 800.0)]
)
def test_claims_of_any_size_keep_their_digits(count: int, epsilon: float) -> None:
    """Two rounded probabilities do not tell 1e-17 from nothing, nor 744 from 743.7: pure was 0 for 10."""
    g = count * PureDP(epsilon)
    assert count * epsilon <= g.pure() <= count * epsilon * (1 + 1e-12)
    assert g.epsilon_interval(0.0).low <= count * epsilon <= g.epsilon_interval(0.0).high
    for order in (0.6, 1.5, 2.0, 30.0):
        truth = count * response_divergence(epsilon, order)
        assert truth <= g.renyi(order) <= truth * (1 + 1e-11) + count * order * 1e-37


def test_what_is_known_by_a_small_claim_adds_up() -> None:
    assert 2 <= (10**17 * PermuteAndFlip(1e17)).guarantee().pure() <= 2 + 1e-9
    assert 1 <= (10**17 * DiscreteLaplace(1e17)).guarantee().pure() <= 1 + 1e-9
    assert (10**34 * PureDP(1e-17)).epsilon(1e-5) >= Gaussian(1.0).guarantee().epsilon_interval(1e-5).low
    p = (0.3333333311123909, 0.3333334258900082, 0.333333242997601)
    q = (0.3333334236733789, 0.3333334093681913, 0.33333316695842974)
    with mpmath.workdps(40):
        truth = max(abs(mpmath.log(mpmath.mpf(a) / b)) for a, b in zip(p, q, strict=True))
        assert truth <= Discrete(p, q).guarantee().renyi(math.inf) <= truth * (1 + 1e-14)


@pytest.mark.parametrize("epsilon, mean", [(1.0, 2000.0), (2.0, 1000.0), (0.843, 993.7), (1.0, 300.0)])
def test_divergences_of_many_tries(epsilon: float, mean: float) -> None:
    """365 for 919: products of small weights were nothing. The best of a Poisson number of randomized
    responses, of which the likelier one without the record scores higher."""
    g = repeat_and_select(PureDP(epsilon), Tries(mean, math.inf)).guarantee()
    with mpmath.workdps(50):
        lie = 1 / (1 + mpmath.exp(epsilon))
        high = [1 - mpmath.exp(-mean * p) for p in (lie, 1 - lie)]
        low = [mpmath.exp(-mean * p) - mpmath.exp(-mpmath.mpf(mean)) for p in (lie, 1 - lie)]
        for order in (2.0, 7.0, 100.0):
            total = sum(one[0] ** order * one[1] ** (1 - mpmath.mpf(order)) for one in (high, low))
            assert g.renyi(order) >= mpmath.log(total) / (order - 1)
    assert (np.diff(g.renyi([1.2, 2.0, 4.0, 16.0, 64.0, math.inf])) >= 0).all()


def test_what_is_given_away_counts_once() -> None:
    """A lattice charged it twice. (epsilon, delta) is delta, or else pure."""
    noise = (30 * Laplace(scale=3)).guarantee()
    for count, given, delta in ((1, 1e-6, 1e-5), (7, 0.01, 0.1)):
        kept = (1 - given) ** count
        pure = (noise + count * PureDP(0.5)).epsilon_interval(1 - (1 - delta) / kept)
        known = (noise + count * ApproxDP(0.5, given)).epsilon_interval(delta)
        assert known.low <= pure.high and pure.low <= known.high <= pure.high * (1 + 1e-7)
    claims = Stated(ApproxDP(6.927313565262653, 0.48828906111222303))
    known = (2 * claims + Gaussian(0.16662477623378238)).guarantee().epsilon_interval(0.7381519150272258)
    assert 70.9 < known.low <= known.high < 71  # [16, 256]: next to it delta hardly falls


def test_a_claim_of_an_order_that_was_moved_has_no_lower_end() -> None:
    """Orders next to 1 and beyond 1e9 are read at others, which say less."""
    for orders, values in (([1.0], [0.1]), ([1e12], [1.0])):
        assert RenyiCurve(orders, values).epsilon_interval(1e-300).low == 0
        assert RenyiCurve(orders, values).delta_interval(0.5).low == 0


def test_sampled_integer_noise_is_listed() -> None:
    """Losses of many sizes are on no lattice: epsilon was [0, .93] for .25144."""
    g = (3 * DiscreteGaussian(scale=1.0128186157734274).subsample(1.4594425601379427e-06)).guarantee()
    known = g.epsilon_interval(1.95e-40)
    assert 0.25143 < known.low <= known.high < 0.25144


def test_a_part_that_never_falls_to_a_delta() -> None:
    """Infinite, though delta(3) was less."""
    mixed = mixture([ApproxDP(1, 0.1), GaussianDP(1)], [0.01, 0.99])
    assert mixed.epsilon(0.01) < 2.4 and mixed.delta(mixed.epsilon(0.01)) <= 0.01
    assert mixed.epsilon(1e-4) == math.inf


def test_groups_of_parts_that_have_no_pair() -> None:
    """They asked themselves for ever."""
    parts = parallel(ZeroConcentratedDP(0.1), PureDP(1))
    assert parts.group(2).renyi(2.0) >= ZeroConcentratedDP(0.1).group(2).renyi(2.0)
    assert parts.group(2).epsilon(1e-5) >= parts.epsilon(1e-5)


@pytest.mark.parametrize(
    "other", [Gaussian(48.846), 3 * Gaussian(5.265).subsample(0.004476), Laplace(60.0).subsample(0.2)]
)
@pytest.mark.parametrize("noise", [2.821, 1.186])
def test_an_envelope_is_of_the_law_that_is_integrated(noise: float, other: Mechanism) -> None:
    """The law was cut and its envelope was not: epsilon 1.487 for 1.552, to ten digits."""
    part = RandomShift(noise, (0, 1, 2), (0.5, 0.3, 0.2))
    for delta in (1e-9, 1e-5, 1e-2):
        alone = part.guarantee().epsilon_interval(delta)
        assert (part + other).guarantee().epsilon(delta) >= alone.low * (1 - 1e-9)


def test_a_line_below_which_a_transform_does_not_stay_is_not_drawn() -> None:
    """Whatever pair says less of its envelope than is true: the last node shows it."""
    loss = (200 * Gaussian(2.0).subsample(0.01)).guarantee().directions[0].loss  # type: ignore[attr-defined]
    aim = loss.scan(3).aim(1.0, -40.0)
    cut, c = loss.log_cut(3), aim.order
    drawn = [
        draw_line(
            lambda t: loss.cumulant(cut, c, c, t),
            lambda t, wrong=wrong: (loss.log_envelope(cut, c, t) + wrong * t * t,),
            aim,
            0.0,
            0.0,
        )
        for wrong in (0.0, -10.0)
    ]
    assert drawn[0] is not None and drawn[1] is None


def test_averages_of_small_moments_keep_their_digits() -> None:
    """0 for 6.5e-18: the share of what counts is 1e-8, and its moments are next to 1."""
    small = TruncatedSum(4.0, 1e-8, 5, 10**8).guarantee("add-remove")
    # of a sampled Gaussian with that rate, order 2: log(1 + q^2 (e^(1/16) - 1))
    assert small.renyi(2) >= math.log1p(1e-16 * math.expm1(1 / 16)) * (1 - 1e-9)


@pytest.mark.parametrize(
    ("p", "q", "rate", "truth"),
    [
        ((1 - 1e-14, 1e-14), (1e-220, 1.0), 1e-237, "1e-17"),
        ((1.0, 0.0), (1e-132, 1.0), 1e-142, "1e-10"),
        ((7.180937399679199e-302, 1.0), (4.6715482822295166e-303, 1.0), 0.3135030620893985, None),
    ],
)
def test_losses_of_extreme_outcomes(p: Any, q: Any, rate: float, truth: str | None) -> None:
    g = Discrete(p, q).subsample(rate).guarantee()
    with mpmath.workdps(60):
        losses = [
            mpmath.log(1 + mpmath.mpf(rate) * (mpmath.mpf(a) / b - 1)) for a, b in zip(p, q, strict=True)
        ]
        exact = max(abs(loss) for loss in losses)
    assert exact <= g.pure() <= exact * (1 + 1e-10)
    assert truth is None or g.pure() == pytest.approx(float(truth), rel=1e-9)


def test_the_largest_sum_is_not_rounded_down() -> None:
    p = (0.1593260335850335, 0.6515076428924216, 0.04187423808983404, 0.14729208543271088)
    q = (0.4011133355085965, 0.2250261878150166, 0.12712745147418492, 0.24673302520220197)
    with mpmath.workdps(60):
        top = max(20 * mpmath.log(mpmath.mpf(a) / b) for a, b in zip(p, q, strict=True))
        other = max(20 * mpmath.log(mpmath.mpf(b) / a) for a, b in zip(p, q, strict=True))
    g = (20 * Discrete(p, q)).guarantee()
    assert max(top, other) * (1 - 1e-15) <= g.epsilon(1e-191) <= g.pure() and g.pure() >= max(top, other)
    assert (10**17 * RandomizedResponse(0.1, 10)).guarantee().pure() >= 6.1679


def test_sampled_integer_noise_of_every_scale() -> None:
    """Tails of nothing were taken for small ones; masses that are no numbers for none."""
    for scale, shift, rate, low, high in (
        (3.2087, 3, 0.1255, 0.08559, 0.08561),
        (0.03, 1, 0.5, 0.74999, 0.75001),
    ):
        count = 3 if rate < 0.5 else 2
        known = (count * DiscreteGaussian(scale, shift).subsample(rate)).guarantee().delta_interval(0)
        assert low < known.low <= known.high < high


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(
    "text",
    [
        "1000000 * pure(3e67) + gaussian(5).subsample(0.1)",
        "1000000 * laplace(1e-67) + gaussian(5).subsample(0.1)",
        "3 * sampled_sum(0.02, 0.5, 64)",
        "20 * gaussian(1).subsample(5e-324)",
        "1000000000000000000 * pure(1e-300)",
        "10 * laplace(0.01).subsample(1e-300)",
        "discrete([0.5, 0.5], [1e-310, 1])",
    ],
)
def test_absurd_sizes_are_answered(text: str) -> None:
    """2.3e30 for 3e73, and strangers' errors."""
    g = parse_guarantee(text)
    assert 0 <= g.delta(0.0) <= 1
    assert g.epsilon(1e-5) >= (3e73 if "e67" in text or "e-67" in text else 0)


def test_many_outcomes_that_hardly_differ() -> None:
    """1.1e-14 for 3.75e-13: sums of 200,000 numbers were subtracted from each other. Masses are dyadic, so
    their differences, whose positive part is delta(0), are exact."""
    outcomes, total = 200_001, 1 << 48
    q = np.random.default_rng(2).integers(total // (2 * outcomes), total // outcomes, outcomes)
    q[0] += total - int(q.sum())
    more = np.rint(q * 1e-6).astype(np.int64) * np.where(np.arange(outcomes) % 2, 1, -1)
    more[0] -= int(more.sum())
    pair = Discrete(tuple(((q + more) / total).tolist()), tuple((q / total).tolist()))
    told = int(more[more > 0].sum()) / total
    for rate, sampled in ((1.0, pair), (1e-3, pair.subsample(1e-3)), (1e-6, pair.subsample(1e-6))):
        known = sampled.guarantee().delta_interval(0.0)
        assert known.low <= rate * told <= known.high <= rate * told * (1 + 1e-6)
        assert sampled.guarantee().advantage() >= rate * told


NESTED = {"gaussian(1).subsample(0.5)": (2, 0.01), "gaussian(4.112981546821041).subsample(0.99)": (4, 0.3)}


@pytest.mark.parametrize("inner", NESTED)
def test_moments_of_nested_sampling_beyond_the_end_of_a_table(inner: str) -> None:
    """8.48 for 25.8: what is beyond a table's end was nothing. Of whole orders moments are a sum of Gaussian
    ones, with all digits."""
    (steps, rate), base = NESTED[inner], parse(inner)
    sampled = (steps * base).subsample(rate).guarantee()
    noise, once = mpmath.mpf(base.base.scale), mpmath.mpf(base.rate)  # type: ignore[attr-defined]
    with mpmath.workdps(60):

        def power(n: int, rate: Any, moment: Any) -> Any:
            terms = (
                mpmath.binomial(n, j) * (1 - rate) ** (n - j) * rate**j * moment(j) for j in range(n + 1)
            )
            return mpmath.fsum(terms)

        def once_sampled(n: int) -> Any:
            return power(n, once, lambda j: mpmath.exp(j * (j - 1) / noise**2 / 2))

        inside = [once_sampled(n) ** steps for n in range(301)]
        for order in (2, 3, 8, 16, 32, 64, 128, 300):
            moment = power(order, mpmath.mpf(rate), inside.__getitem__)
            truth = float(mpmath.log(moment) / (order - 1))
            assert truth <= sampled.renyi(order) <= truth * (1 + 1e-9 if order <= 256 else 1.01)
            assert truth <= sampled.renyi(order + 0.5) <= sampled.renyi(order + 1.0) * (1 + 1e-9)


def test_moments_of_groups_beyond_the_end_of_a_table() -> None:
    """36.7 for 48.5 or more: two records that both take part, or none, or one, are neighbours."""
    group = Gaussian(0.8).subsample(0.5).group(2).guarantee()
    shares, moved = np.array([0.25, 0.5, 0.25]), np.arange(3) / 0.8
    x = np.linspace(-60.0, 200.0, 260_001)
    for order in (2.0, 8.0, 16.0, 32.0):
        loss = np.log(shares @ np.exp(np.outer(moved, x) - (moved**2 / 2)[:, None]))
        log_terms = order * loss - x * x / 2 - 0.5 * math.log(2 * math.pi) + math.log(1e-3)
        least = float(np.logaddexp.reduce(log_terms)) / (order - 1)
        assert least <= group.renyi(order) * (1 + 1e-9) and group.renyi(order) < 2 * least + 1


def test_what_a_table_gives_away_is_told_where_it_stands_in() -> None:
    """2.2e-308 for 6e-81, in an interval of no width: the mass beyond a table's end was charged nowhere."""
    nested = (4 * Gaussian(4.112981546821041).subsample(0.99)).subsample(0.3)
    among = (nested + RandomizedResponse(0.502)).guarantee()
    for epsilon in (4.338, 5.0, 8.0):
        alone = nested.guarantee().delta_interval(epsilon)
        assert 0 < alone.low <= among.delta_interval(epsilon).high
    known = among.epsilon_interval(5e-70)
    assert 7.32 < nested.guarantee().epsilon_interval(5.2e-70).low <= known.high
    set_aside = (nested + ApproxDP(1.0, 1e-6)).guarantee() + ZeroConcentratedDP(1e-9)
    assert set_aside.epsilon(1e-5) >= nested.guarantee().epsilon_interval(1e-5).low


def test_lower_ends_next_to_what_is_given_away() -> None:
    """[inf, inf] for 0: whether delta is less than a mass that was rounded up."""
    for composed in (2 * Discrete((0.0, 1.0), (0.25, 0.75)), 2 * Stated(ApproxDP(0.0, 0.25))):
        assert composed.guarantee().epsilon_interval(0.4375).low == 0


def test_tables_of_groups_dominate_far_out() -> None:
    """9.0e-60 for 1.8e-58: vertices went where a product of two small numbers was nothing."""
    single = Gaussian(0.3).subsample(1e-6).guarantee().product.single  # type: ignore[attr-defined]
    group, places = group_pair(single, 5), np.array([1.0, 30.0, 100.0, 250.0, 300.0])
    assert (group.stand_in.profile(places) >= group.profile(places)).all()


@pytest.mark.parametrize("width", [20.5, 60.0, 3000.0])
def test_divergences_of_selection_next_to_order_1(width: float) -> None:
    """A billionth too small: a difference of large logarithms was charged the rounding of a small number."""
    monotonic = Exponential(scale=1 / width, monotonic=True)
    for above in (1e-6, 1e-4, 1e-3):
        order = 1 + above
        with mpmath.workdps(40):
            turned, loss = mpmath.mpf(order) - 0.5, mpmath.mpf(width)
            log_moment = mpmath.log(mpmath.sinh(turned * loss) / (2 * turned) / mpmath.sinh(loss / 2))
            truth = log_moment / (mpmath.mpf(order) - 1)
            assert truth <= monotonic.guarantee().renyi(order) <= truth * (1 + 1e-8)


def test_sums_of_many_draws_do_not_depend_on_what_is_read_beside() -> None:
    """2.527205071153974e-06 alone, ...983e-06 beside others: a single column is added up in another order."""
    places = 8.9 * np.random.default_rng(3).random(40)
    for records, name in ((64, "replace-one"), (16, "add/remove")):
        g = SampledSum(28.4, 0.39, records).guarantee(name)
        assert g.delta(places).tolist() == [g.delta(place) for place in places.tolist()]


def test_moments_of_nested_sampling_between_whole_orders() -> None:
    """0.33 for 1e-6 at order 1: what is beyond a table's end was bounded too carelessly. Divergences rise
    with the order, and plain sums over two released numbers have them."""
    g = (2 * Gaussian(1).subsample(0.1)).subsample(0.1).guarantee()
    x = np.linspace(-12.0, 25.0, 1500)
    once = 0.9 + 0.1 * np.exp(x - 0.5)
    density = np.exp(-x * x / 2) * (x[1] - x[0]) / math.sqrt(2 * math.pi)
    for order, accuracy in ((1.5, 2.0), (2.0, 1 + 1e-4), (3.5, 1.1), (7.3, 4.0)):
        ratio = 0.9 + 0.1 * np.outer(once, once)
        moment = density @ (ratio**order - 1 - order * (ratio - 1)) @ density
        truth = math.log1p(moment) / (order - 1)
        assert truth * (1 - 1e-9) <= g.renyi(order) <= accuracy * truth
    assert g.renyi(1.0) <= g.renyi(1 + 1e-9) <= g.renyi(1.5) <= g.renyi(2.0)


def test_tables_of_what_hardly_tells_keep_its_digits() -> None:
    """The places of a table were rounded by as much as 1 is: epsilon 1e-11 of it too small."""
    epsilon = (
        (2 * (3 * RandomizedResponse(0.501).subsample(0.001)).subsample(0.001)).guarantee().epsilon(1e-10)
    )
    with mpmath.workdps(50):
        q, p = ([mpmath.mpf(x) for x in side] for side in ((0.501, 1 - 0.501), (1 - 0.501, 0.501)))

        def sampled(p: list[Any], q: list[Any], steps: int) -> tuple[list[Any], list[Any]]:
            mixed = [b + mpmath.mpf(0.001) * (a - b) for a, b in zip(p, q, strict=True)]
            first, second = [mpmath.mpf(1)], [mpmath.mpf(1)]
            for _ in range(steps):
                first, second = (
                    [x * y for x in sums for y in one] for sums, one in ((first, mixed), (second, q))
                )
            return first, second

        p, q = sampled(*sampled(p, q, 3), 1)
        both = [([x * y for x in side for y in side]) for side in (p, q)]
        told = [
            mpmath.fsum(max(a - mpmath.exp(mpmath.mpf(epsilon)) * b, 0) for a, b in zip(*way, strict=True))
            for way in (both, both[::-1])
        ]
        assert max(told) <= mpmath.mpf("1e-10") * (1 + mpmath.mpf(10) ** -11)
    assert epsilon == pytest.approx(1.7628265569140e-8, rel=1e-9)


def test_tables_of_what_is_bounded_give_nothing_away() -> None:
    """Of a sample of what has bounded losses pure epsilon was 0.72, and epsilon(0) 1.39."""
    (p, other_p), (q, other_q) = (
        (0.8907734432647944, 0.10922655673520569),
        (0.814999504818414, 0.18500049518158607),
    )
    inner = 2 * Discrete([p, other_p], [q, other_q]).subsample(0.9)
    g = (2 * inner.subsample(0.5)).guarantee()
    inner_losses = (math.log(0.1 + 0.9 * p / q), math.log(0.1 + 0.9 * other_p / other_q))
    top = max(abs(math.log1p(0.5 * math.expm1(2 * loss))) for loss in inner_losses)
    assert g.pure() == pytest.approx(2 * top, rel=1e-6)
    assert g.epsilon(0) == pytest.approx(g.pure(), rel=1e-9) and g.renyi(1e4) <= g.pure()


# -- sums of several draws ------------------------------------------------------------------------------

ORDERS = (1.5, 2.0, 4.0, 6.0, 8.0, 12.0, 16.0, 24.0, 33.3, 64.0, 200.0, 1e3, 1e4, 1e5, 1e6)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("rate", [0.5, 0.1, 1e-3])
@pytest.mark.parametrize(
    "cut", [(2, 0.05, 60, 1000), (1, 0.01, 20, 1000), (0.5, 0.1, 120, 1000), (4, 0.5, 480, 1000)]
)
def test_divergences_of_sampled_sums_that_are_cut(cut: tuple[float, float, int, int], rate: float) -> None:
    """Infinite from order 12 on: one of two laws had no losses in an interval. Sampling tells no more."""
    mechanism = TruncatedSum(*cut)
    whole, sampled = mechanism.guarantee(), mechanism.subsample(rate).guarantee()
    values = [sampled.renyi(order) for order in ORDERS]
    assert all(math.isfinite(value) for value in values)
    assert values == sorted(values)
    for order, value in zip(ORDERS, values, strict=True):
        assert 0 < value <= whole.renyi(order) * (1 + 1e-12)


@pytest.mark.parametrize("cut", [(2, 0.05, 60, 1000), (1, 0.5, 550, 1000), (0.5, 0.1, 120, 1000)])
def test_divergences_of_a_sampled_sum_that_is_cut(cut: tuple[float, float, int, int]) -> None:
    """10.8 for 12.6 at order 24: the law ended where nothing was left of it at order 1. By plain sums, of
    what `TruncatedSum` says is told apart: the batch is full, or it is not."""
    (noise, rate, largest, of), taken = cut, 0.5
    full, nearly = binom.sf(largest - 1, of, rate), (1 - rate) * binom.pmf(largest - 1, of - 1, rate)
    x = np.linspace(-35.0, 35.0, 400_001)
    plain, near, far = (norm.pdf(x, centre) for centre in (0.0, 1 / noise, 2 / noise))
    cut_short, share, q = (nearly * near + full * far) / (nearly + full), nearly + full, taken * rate
    g = TruncatedSum(*cut).subsample(taken).guarantee()
    for order in (2.0, 8.0, 12.0, 16.0, 24.0):
        if order < 26 * noise:  # beyond it the sum ends
            open_ = np.exp(np.log(plain) + order * np.log(1 - q + q * near / plain)).sum()
            closed = np.exp(np.log(cut_short) + order * np.log(1 - q + q * plain / cut_short)).sum()
            truth = math.log(((1 - share) * open_ + share * closed) * (x[1] - x[0])) / (order - 1)
            assert truth * (1 - 1e-7) <= g.renyi(order) <= truth * (1 + 1e-6)


def _whole_moment(shift: float, weights: tuple[float, ...], order: int) -> float:
    """log E_Q (sum_j w_j e^{j s x - j^2 s^2/2})^n, x normal: written out, as a polynomial in e^{sx}."""
    with mpmath.workdps(60):
        s = mpmath.mpf(shift)
        one = [mpmath.mpf(w) * mpmath.exp(-((j * s) ** 2) / 2) for j, w in enumerate(weights)]
        power = [mpmath.mpf(1)]
        for _ in range(order):
            power = [
                mpmath.fsum(one[j] * power[k - j] for j in range(len(one)) if 0 <= k - j < len(power))
                for k in range(len(power) + len(one) - 1)
            ]
        moment = mpmath.fsum(c * mpmath.exp((k * s) ** 2 / 2) for k, c in enumerate(power))
        return float(mpmath.log(moment))


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("steps", [1, 4])
@pytest.mark.parametrize(
    ("shift", "weights", "mechanism"),
    [
        (2.5, tuple(binom.pmf(range(5), 4, 1e-6)), SampledSum(noise=0.4, rate=1e-6, records=4)),
        (10.0, tuple(binom.pmf(range(3), 2, 1e-3)), SampledSum(noise=0.1, rate=1e-3, records=2)),
        (2.0, (0.8, 0.19, 0.01), RandomShift(0.5, (0, 1, 2), (0.8, 0.19, 0.01))),
        (20.0, (0.0, 0.5, 0.5), RandomShift(0.05, (1, 2), (0.5, 0.5))),
    ],
    ids=["sum", "sharp", "shift", "surely"],
)
def test_divergences_of_high_orders_where_several_are_drawn(
    shift: float, weights: tuple[float, ...], mechanism: Mechanism, steps: int
) -> None:
    """'17366 quadrature panels', or infinite: an error of the inside, where orders are high."""
    g = (steps * mechanism).guarantee()
    for order in (2, 8, 12, 32, 64, 128, 200):
        truth = steps * _whole_moment(shift, weights, order) / (order - 1)
        assert truth * (1 - 1e-14) <= g.renyi(order) <= truth * (1 + 1e-9)
    for order in (0.5, 0.99, 1.0, 1.0001, 256.5, 1e3, 1e4, 1e6, 1e9):
        assert 0 < g.renyi(order) < math.inf


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("adjacency", ["add/remove", "replace-one"])
def test_the_mean_loss_where_draws_are_far_apart(adjacency: str) -> None:
    """'2066478 quadrature panels' at order 1; and, replaced, four times too much, as if both had told how
    many were drawn: far from all that Q has, it is nobody drawn that is nearest. By a rule for each draw."""
    run = SampledSum(noise=0.02, rate=0.1, records=64).guarantee(adjacency)
    centres, weights = 50.0 * np.arange(65), binom.pmf(np.arange(65), 64, 0.1)
    nodes, shares = np.polynomial.hermite_e.hermegauss(40)
    x = centres[:, None] + nodes

    def log_density(side: float) -> Array:
        parts = np.log(weights) - (x[:, :, None] - side * centres) ** 2 / 2
        total: Array = np.logaddexp.reduce(parts, axis=2)
        return total

    loss = log_density(1.0) - (-(x**2) / 2 if adjacency == "add/remove" else log_density(-1.0))
    mean = float(weights @ (loss @ shares)) / math.sqrt(2 * math.pi)
    assert mean * (1 - 1e-9) <= run.renyi(1.0) <= mean * (1 + 1e-2)
    assert run.renyi(0.99) <= run.renyi(1.0) <= run.renyi(1.0001)


def _delta_of_two(shift: float, weights: tuple[float, ...], epsilon: float) -> float:
    """Of two steps of Q against sum_j w_j N(j shift, 1), by a plain sum over the first one's number."""
    j = np.arange(len(weights))
    places = np.linspace(-12.0, 12.0 + shift * j[-1], 60_001)

    def losses(x: Array) -> Array:
        gains = np.expm1(np.multiply.outer(x, j * shift) - (j * shift) ** 2 / 2)
        result: Array = np.log1p(gains @ np.array(weights))
        return result

    loss = losses(places)
    rest = epsilon - loss  # of the other step
    bracket = np.interp(rest, loss, places, left=-np.inf, right=np.inf)
    step = places[1] - places[0]
    x = np.clip(bracket, places[0], places[-1])
    low, high = x - step, x + step
    for _ in range(30):
        middle = (low + high) / 2
        over = losses(middle) > rest
        low, high = np.where(over, low, middle), np.where(over, middle, high)
    x = np.where(np.isfinite(bracket), high, bracket)
    p_above = sum(w * ndtr(k * shift - x) for k, w in enumerate(weights))
    p = sum(w * norm.pdf(places, k * shift) for k, w in enumerate(weights))
    return float(p @ np.maximum(p_above - np.exp(rest) * ndtr(-x), 0.0)) * step


@pytest.mark.slow
def test_lower_ends_where_one_of_few_draws_decides() -> None:
    """[8.7e-7, 5.4e-6] for 2.706e-6, and an epsilon of 9.2 from below for 16.4, where one step alone has
    15.8: nobody asked whether any step has a large loss, which nearly decides."""
    weights = tuple(binom.pmf(range(5), 4, 1e-6).tolist())
    g = (2 * SampledSum(noise=0.4, rate=1e-6, records=4)).guarantee("add-remove")
    for epsilon, share in ((0.0, 0.99), (1e-4, 0.99), (0.1, 0.99), (3.0, 0.99), (16.3, 0.99)):
        truth, known = _delta_of_two(2.5, weights, epsilon), g.delta_interval(epsilon)
        assert share * truth <= known.low <= truth * (1 + 1e-6) <= known.high * (1 + 2e-6)
    assert _delta_of_two(2.5, weights, 1e-4) == pytest.approx(2.706e-6, rel=1e-3)
    known = g.epsilon_interval(1e-20)
    assert _delta_of_two(2.5, weights, known.low) >= 1e-20 * (1 - 1e-6)
    assert _delta_of_two(2.5, weights, known.low * 1.01) <= 1e-20
    assert _delta_of_two(2.5, weights, known.high) <= 1e-20
    for adjacency, steps in (("add/remove", 4), ("replace-one", 2)):
        one = SampledSum(noise=0.4, rate=1e-6, records=4)
        least = one.guarantee(adjacency).epsilon_interval(1e-20).low
        assert (steps * one).guarantee(adjacency).epsilon_interval(1e-20).low >= least


def test_divergences_without_noise_to_speak_of_and_without_replacement() -> None:
    """Infinite: the noise without its sampling, which tells no less, was not asked."""
    noise = Gaussian(1e-3)
    sampled, whole = noise.subsample(3, of=1000).guarantee("replace-one"), noise.guarantee("replace-one")
    for order in (1.0, 2.0, 64.0):
        assert sampled.renyi(order) == pytest.approx(whole.renyi(order), rel=1e-12)


@pytest.mark.parametrize("noise", [Gaussian(2), Laplace(2), RandomizedResponse(0.6), DiscreteGaussian(2)])
def test_what_is_given_away_is_counted_once(noise: Mechanism) -> None:
    """A sample of a composition with infinite losses had twice their mass, below as above: [0.001, 0.001] for
    0.0005, and no epsilon for a delta between the two."""
    base = (Discrete((0.3, 0.699, 0.001), (0.2, 0.8, 0.0)) + noise).guarantee()
    g = (Discrete((0.3, 0.699, 0.001), (0.2, 0.8, 0.0)) + noise).subsample(0.5).guarantee()
    far = g.delta_interval([9.0, 50.0])
    assert (far.low <= 0.0005 * (1 + 1e-9)).all() and far.high == pytest.approx(0.0005, rel=1e-9)
    # advanced joint convexity, in the direction of removal
    (epsilon,) = base.product.epsilon_bounds(np.array([0.0015]))[1]
    assert g.product.epsilon_bounds(np.array([0.00075]))[1] == pytest.approx(
        math.log1p(0.5 * math.expm1(epsilon))
    )


def test_claims_beside_what_is_given_away_in_one_direction() -> None:
    """The advantage was 1, where two masses that are given away differ."""
    pair = Discrete((0.3, 0.699, 0.001), (0.2, 0.8, 0.0)).subsample(0.1).guarantee()
    together = pair + ZeroConcentratedDP(1e-6)
    assert pair.advantage() <= together.advantage() <= pair.advantage() + 3e-3


@pytest.mark.parametrize(
    ("noise", "rate", "order"), [(100, 0.999, 9500), (30, 0.9, 600), (10, 0.5, 150), (1, 1e-3, 300)]
)
def test_high_orders_of_replaced_sums_are_integrated_where_they_are(
    noise: float, rate: float, order: float
) -> None:
    """The crest of p^w q^(1-w) may be at nearly 2w shifts: 1.55 for 1.89; and of the last, four times too
    much. On a grid, from logarithms."""
    x = np.linspace(-2 * order / noise - 20, 2 * order / noise + 20, 400_001)
    far = 1 / noise
    log_p, log_q = (
        np.logaddexp(math.log1p(-rate) - x**2 / 2, math.log(rate) - (x - side * far) ** 2 / 2)
        for side in (1, -1)
    )
    exponent = order * log_p + (1 - order) * log_q
    top = exponent.max()
    log_moment = top + math.log(np.exp(exponent - top).sum() * (x[1] - x[0]) / math.sqrt(2 * math.pi))
    g = SampledSum(noise, rate).guarantee(REPLACE)
    assert g.renyi(order) == pytest.approx(log_moment / (order - 1), rel=1e-6)
    assert g.renyi(order) >= log_moment / (order - 1) * (1 - 1e-9)


def test_atoms_on_one_point_of_a_lattice_are_counted_once() -> None:
    """Of losses of 1e-12 both ends are on one point: a lower end of delta was twice too large, and a search
    for a lower end of epsilon, which then was above the upper one, did not end."""
    alone = Laplace(1).guarantee()
    together = (Laplace(1) + Laplace(10).subsample(1e-14)).guarantee()
    found = together.epsilon_interval(1e-3)
    assert found.low <= alone.epsilon(1e-3) * (1 + 1e-12) and found.high >= alone.epsilon(1e-3)
    assert found.high <= alone.epsilon(1e-3) + 1e-8
    delta = (Laplace(1) + Laplace(1).subsample(1e-14)).guarantee().delta_interval(0.3)
    assert delta.low <= -math.expm1(-0.35) * (1 + 1e-12) <= delta.high <= -math.expm1(-0.35) + 1e-6
    assert (Laplace(1).subsample(1e-12) + Gaussian(0.3).subsample(0.1)).guarantee().delta(1e-4) < 0.0905


def test_low_orders_of_samples_that_are_too_fine_to_be_integrated() -> None:
    """The Rényi divergence of order 1/2 was 0: a moment below order 1 was bounded from above."""
    g = SampledSum(0.02, 0.01, 4).subsample(100, of=1000).guarantee(REPLACE)
    none = 0.99**4
    assert g.renyi(0.5) >= -2 * math.log(none + (1 - none) * math.sqrt(0.9)) > 0.004
    assert g.renyi(0.9) >= g.renyi(0.5) * (1 - 1e-9)


def test_samples_of_sums_with_little_noise() -> None:
    """Delta was 1 and epsilon infinite: what dominates the sum, whoever is drawn at all being told, was not
    asked where it is sampled once more, nor divergences where no engine resolves the losses."""
    drawn = -math.expm1(4 * math.log1p(-0.01))
    for g, rate in (
        (SampledSum(0.02, 0.01, 4).subsample(0.1).guarantee(), 0.1),
        (SampledSum(0.02, 0.01, 4).subsample(100, of=1000).guarantee(REPLACE), 0.1),
        (SampledSum(0.02, 0.01, 4).subsample(0.1).subsample(0.5).guarantee(), 0.05),
    ):
        # the noise is a fiftieth of what one more draw moves the sum by
        assert rate * drawn * (1 - 1e-9) <= g.delta(1.0) <= rate * drawn * (1 + 1e-9)
        assert g.renyi(0.5) <= -2.1 * math.log1p(-rate * drawn)
    assert 1000 < SampledSum(0.02, 0.01, 4).subsample(0.1).guarantee().epsilon(1e-4) < 1e5


@pytest.mark.parametrize("width", [60.0, 74.0, 1.4e3, 7.6e3])
def test_wide_ranges_are_no_certainty(width: float) -> None:
    """A likely answer's probability was rounded to 1, and then both neighbours gave all away: a lower end of
    7,235 for losses of at most 3,690, hidden by an upper one that it was cut to."""
    one = Exponential(2 / width).guarantee(REPLACE)
    assert one.renyi(math.inf) == pytest.approx(width)
    for steps in (2, 100):  # no more than that many answers, each of its loss, from below
        found = (steps * one).epsilon_interval(1e-3)
        assert found.low <= steps * width / 2 < found.high
    found = (one + Gaussian(10).guarantee(REPLACE)).epsilon_interval(1e-3)
    loss = 0.02 + 0.2 * np.linspace(-12, 12, 200_001)  # of the noise, were its sensitivity 2
    told = np.square(np.expm1(np.minimum(found.low - loss - width, 0.0) / 2))
    assert norm.pdf(loss, 0.02, 0.2) @ told * (loss[1] - loss[0]) >= 1e-3 * (1 - 1e-6)


def test_what_contradicts_itself_is_not_hidden(monkeypatch: pytest.MonkeyPatch) -> None:
    """A lower end above an upper one was cut to it."""
    everything = DiscretePair((0.0, 1.0), (1.0, 0.0))
    monkeypatch.setattr(BoundedRangePair, "below", property(lambda pair: (((everything, 1),),)))
    found = (3 * Exponential(2.0)).guarantee(REPLACE).delta_interval(0.1)
    assert found.low < 0.9 and found.high == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("noise", "epsilon"), [(2 * Laplace(7).subsample(0.13), 600.0), (2 * Laplace(1000), 50.0)]
)
def test_far_atoms_take_no_memory(noise: Mechanism, epsilon: float) -> None:
    """Steps of lattices were looked for among thousands of millions: 31 GiB."""
    g, most = noise.guarantee() + PureDP(epsilon), epsilon + noise.guarantee().pure()
    for delta in (1e-6, 1e-10):
        assert epsilon - 1e-4 <= g.epsilon(delta) <= most * (1 + 1e-14)


@pytest.mark.parametrize(
    ("text", "delta"),
    [
        ("gaussian(1.509).allocate(1000)", 3.34e-16),
        ("gaussian(0.2322).allocate(3)", 1.89e-12),
        ("5 * gaussian(0.178).allocate(100)", 6.2e-21),
        ("3 * laplace(1.0)", 1e-20),
    ],
)
def test_epsilon_is_as_close_as_delta(text: str, delta: float) -> None:
    """Where tails of the level of delta left much open it was .357, and delta(.21) no larger than this. The
    atom of the largest loss was seen by nobody (0.576 for 3)."""
    g = parse(text).guarantee()
    known = g.epsilon_interval(delta)
    assert known.high * 0.96 <= known.low <= known.high
    assert g.delta_interval(0.98 * known.low).high > delta


def test_a_step_of_random_allocation_is_a_lower_end() -> None:
    """What the sum of all steps tells was all that was known, [10.9, 78.4]: one step, in which a record is as
    if it were sampled, tells nearly everything."""
    known = parse("gaussian(0.152).allocate(30)").guarantee().epsilon_interval(1.35e-18)
    step = parse("gaussian(0.152).subsample(0.03333333)").guarantee().epsilon_interval(1.35e-18)
    assert step.low * (1 - 1e-9) <= known.low <= known.high <= 75.0


def test_absurd_numbers_are_no_strangers_errors() -> None:
    with pytest.raises(ArgumentError, match="steps"):
        Gaussian(1.0).allocate(2**63)
    assert ApproxDP(1e308, 0.5).delta(0.5) == 1.0
    assert (2 * ApproxDP(1e308, 0.5)).epsilon(0.9) == math.inf
    assert (65 * Laplace(0.01)).guarantee().to_gaussian().mu == math.inf


@pytest.mark.parametrize(
    ("scale", "shift", "epsilon"),
    [
        (0.05, 2, 799.95),
        (0.2038, 2, 337.019670374754),
        (1.0, 39, 760.0),
        (5.0, 150, 675.0),
        (100.0, 4000, 800.0),
        (0.3867, 2, 93.62238307885099),  # an atom
    ],
)
def test_far_tails_of_discrete_noise_are_no_bounds(scale: float, shift: int, epsilon: float) -> None:
    """Beyond 37.5 deviations what Q has was bounded from above: delta was 1.4e-12 for .0488, 2e-14 for
    2.8e-14. The lower end at an atom was that of what rounding leaves of it, 1.9e-65 for 6.5e-72."""
    one = DiscreteGaussian(scale, sensitivity=shift)
    with mpmath.workdps(60):
        width = 2 * mpmath.mpf(scale) ** 2
        reach = range(-math.ceil(60 * scale) - 8, shift + math.ceil(60 * scale) + 8)
        p, q = ([mpmath.exp(-((k - moved) ** 2) / width) for k in reach] for moved in (shift, 0))

        def told(epsilon: Any, rate: Any) -> Any:
            least = (mpmath.exp(epsilon) - 1 + rate) / rate
            return rate * sum(max(a - least * b, 0) for a, b in zip(p, q, strict=True)) / sum(p)

        sampled = float(mpmath.log1p(mpmath.mpf(0.1) * mpmath.expm1(epsilon)))
        for mechanism, at, truth in (
            (one, epsilon, told(mpmath.mpf(epsilon), 1)),
            (one.subsample(0.1), sampled, told(mpmath.mpf(sampled), mpmath.mpf(0.1))),
        ):
            found = mechanism.guarantee().delta_interval(at)
            assert found.low <= truth <= found.high <= max(truth * (1 + mpmath.mpf(1e-8)), 1e-60)
    beside = (one + Gaussian(1e9)).guarantee()  # is listed, and not read off tails
    assert beside.delta(epsilon) >= one.guarantee().delta_interval(epsilon).low * (1 - 1e-9)


@pytest.mark.parametrize("scale", [0.3, 0.43, 0.48, 0.5, 0.7])
def test_divergences_of_discrete_noise_next_to_order_1(scale: float) -> None:
    """Logarithms of sums next to 1 are rounded by as much as 1 is: 1.6e-10 were missing."""
    for order in (0.9999992570675327, 0.999999344099829, 0.99, 1.0000003, 1.0):
        with mpmath.workdps(50):
            a, width, reach = mpmath.mpf(order), 2 * mpmath.mpf(scale) ** 2, range(-60, 61)
            total = sum(mpmath.exp(-(mpmath.mpf(k) ** 2) / width) for k in reach)
            terms = (mpmath.exp(-(a * (k - 1) ** 2 + (1 - a) * k**2) / width) for k in reach)
            truth = mpmath.log(sum(terms) / total) / (a - 1) if order != 1 else 1 / width
        found = DiscreteGaussian(scale).guarantee().renyi(order)
        assert truth <= found <= truth * (1 + mpmath.mpf(1e-7))


@pytest.mark.parametrize(("loss", "rate"), [(79073.69, 0.1075), (1e8, 0.5), (5.0, 1e-9), (1e12, 0.01)])
def test_where_a_sampled_profile_is_read_is_rounded(loss: float, rate: float) -> None:
    """The base's epsilon was rounded to the nearest number: 1.9e-6 too little at 1e8, .4 % at 1e15."""
    one = Laplace(1.0, sensitivity=loss).subsample(rate).guarantee()
    for below in (1e-3, 0.7, 4.0):
        with mpmath.workdps(50):
            epsilon = float(mpmath.log1p(mpmath.mpf(rate) * mpmath.expm1(loss - mpmath.mpf(below))))
            base = mpmath.log1p(mpmath.expm1(mpmath.mpf(epsilon)) / mpmath.mpf(rate))
            truth = -mpmath.expm1((base - mpmath.mpf(loss)) / 2) * mpmath.mpf(rate)
        found = one.delta_interval(epsilon)
        assert found.low <= truth <= found.high


@pytest.mark.parametrize("scale", [1e4, 1e8, 1e12, 1e14, 1e16])
def test_weak_noise_beside_listed_losses_is_not_felt(scale: float) -> None:
    """What rounding does to a place was charged where delta is flat, and then taken for known: .7 for .4."""
    for mechanism, truth in (
        (RandomizedResponse(0.7), 0.4),
        (3 * RandomizedResponse(0.7), 0.7**3 + 3 * 0.7**2 * 0.3 - 0.3**3 - 3 * 0.3**2 * 0.7),
    ):
        for weak in (Gaussian(scale), Gaussian(scale).subsample(0.1)):
            found = (mechanism + weak).guarantee().delta_interval(0.0)
            assert truth * (1 - 1e-10) <= found.low <= truth + 0.4 / scale + 1e-15
            assert truth * (1 - 1e-15) <= found.high <= (truth + 0.4 / scale) * (1 + 1e-10)


def test_what_is_cut_from_lists_is_not_all_that_is_left() -> None:
    """What was cut for another size of delta was all that delta was: 1.6e-28 for 1.4e-38."""
    text = "2 * discrete_gaussian(1.077).subsample(2.205e-06) + laplace(20.39).subsample(1.141e-05)"
    found = parse(text).guarantee().delta_interval(0.1475)
    assert 0 < found.high * (1 - 1e-6) <= found.low <= found.high < 1.4e-38


def test_no_row_decides_how_another_is_read() -> None:
    """Whether a hint was asked depended on all rows: 5e-10 apart."""
    text = "2 * laplace(0.7657) + laplace(0.356).subsample(0.0005394)"
    factor = 1.7058364900640357
    alone = parse(text).guarantee().bayes_factor().tail(factor)
    assert alone == parse(text).guarantee().bayes_factor().tail([factor, 5.0])[0]


def test_a_sampled_composition_of_few_outcomes_is_a_finite_pair() -> None:
    """It had a table of thousands of places for a stand-in, and no lower end of its own: [.944, 1.315]."""
    nested = (2 * RandomizedResponse(0.657)).subsample(0.03635)
    found = (4 * nested + 4 * RandomizedResponse(0.642).subsample(0.3357)).guarantee().epsilon_interval(1e-10)
    told = math.log(0.657 / 0.343)
    inner = {2 * told: 0.657**2, 0.0: 2 * 0.657 * 0.343, -2 * told: 0.343**2}
    outer = {math.log(0.642 / 0.358): 0.642, math.log(0.358 / 0.642): 0.358}
    steps = []
    for law, rate in ((inner, 0.03635), (outer, 0.3357)):
        losses = [math.log1p(rate * math.expm1(loss)) for loss in law]
        under_q = [mass * math.exp(-loss) for loss, mass in law.items()]
        steps += [[(loss, q * math.exp(loss)) for loss, q in zip(losses, under_q, strict=True)]] * 4
    sums = {0.0: 1.0}
    for step in steps:
        added: dict[float, float] = {}
        for total, mass in sums.items():
            for loss, more in step:
                place = round(total + loss, 12)
                added[place] = added.get(place, 0.0) + mass * more
        sums = added

    def delta(epsilon: float) -> float:
        return math.fsum(-mass * math.expm1(epsilon - loss) for loss, mass in sums.items() if loss > epsilon)

    assert delta(found.low - 1e-9) > 1e-10 >= delta(found.high + 1e-9)
    assert found.high - found.low < 1e-8


@pytest.mark.parametrize(
    ("distances", "chances", "sum_of_them"),
    [
        ((0.0, 50.25), (0.999, 0.001), RandomShift(0.0199, (0, 1), (0.999, 0.001))),
        ((0.0, 5e4), (0.999, 0.001), RandomShift(2e-5, (0, 1), (0.999, 0.001))),
        ((1.0, 51.0), (1 - 1e-12, 1e-12), RandomShift(1.0, (1, 51.0), (1 - 1e-12, 1e-12))),
        ((1.0, 1e60), (1 - 1e-12, 1e-12), RandomShift(1.0, (1, 1e60), (1 - 1e-12, 1e-12))),
        (5.0 * np.arange(17), binom.pmf(np.arange(17), 16, 1e-4), SampledSum(0.2, 1e-4, 16)),
    ],
)
def test_a_rare_distance_is_not_the_only_one(
    distances: Sequence[float], chances: Sequence[float], sum_of_them: Mechanism
) -> None:
    """One of more than 50 noises was taken for that of everybody, one of more than 160 noises gave everybody
    away who was drawn at all: delta was 1, and epsilon 1378 and more; groups were an error of the inside."""
    d, w, x = np.array(distances), np.array(chances), np.linspace(-9.0, 19.0, 28_001)
    g = sum_of_them.guarantee()
    for epsilon in (0.5, 1.0, 5.0):  # tests are thresholds
        truth = max(0.0, *(ndtr(d - x[:, None]) @ w - math.exp(epsilon) * ndtr(-x)))
        known = g.delta_interval(epsilon)
        assert truth * (1 - 1e-6) <= known.high <= truth * (1 + 1e-6) + 2e-12
        assert truth * (1 - 1e-6) - 2e-12 <= known.low <= known.high
        assert g.epsilon(known.high * 1.01) <= epsilon
    # of three, one is drawn so far away, or all are near
    alone, rare = (3 * sum_of_them).guarantee(), math.fsum(w[d >= 50])
    near = RandomShift(1.0, tuple(d[d < 50]), tuple(w[d < 50] / w[d < 50].sum()))
    most = -math.expm1(3 * math.log1p(-rare)) + (3 * near).guarantee().delta(1.0)
    assert alone.delta(1.0) <= most * 1.003 + 1e-14
    most = 2 * rare + near.guarantee().group(2).delta(1.0)
    assert g.group(2).delta(1.0) <= most * 1.003 + 1e-11
    # whoever is told the distance knows more
    convex = w @ (d * d / 2)
    assert convex + w @ np.log(np.maximum(w, 1e-300)) - 1e-9 <= g.renyi(1.0) <= convex * (1 + 1e-9)


@pytest.mark.parametrize("epsilon", [0.0, 0.2, 0.5, 1.5])
def test_what_is_released_beside_others_has_its_lower_end(epsilon: float) -> None:
    """Of data in parts, and beside claims: it was 0."""
    normal = ndtr(0.25 - 2 * epsilon) - math.exp(epsilon) * ndtr(-0.25 - 2 * epsilon)
    truth = max(normal, -math.expm1((epsilon - 1 / 3) / 2))
    for text in ("parallel(gaussian(2), laplace(3))", "parallel(gaussian(2), laplace(3), 2 * laplace(9))"):
        known = parse_guarantee(text).delta_interval(epsilon)
        assert known.low == pytest.approx(truth, rel=1e-9) and known.high >= truth * (1 - 1e-12)
    for claim in ("zcdp(0.01)", "2 * zcdp(0.01) + approx(0.1, 1e-4)", "renyi([2, 8], [0.1, 0.2])"):
        g = parse_guarantee(f"{claim} + gaussian(2)")
        found = g.delta_interval(epsilon)
        assert normal * (1 - 1e-9) <= found.low < found.high == g.delta(epsilon)
        assert g.epsilon_interval(normal).low >= epsilon * (1 - 1e-9)
        parts = parallel(g, parse_guarantee("laplace(3)"))
        assert parts.delta_interval(epsilon).low >= truth * (1 - 1e-9)


@pytest.mark.parametrize(
    ("steps", "noise", "rate", "epsilon"),
    [
        (2, 0.3503, 3.801e-8, 3.988593409736185e-05),
        (2, 0.3527, 1.195e-8, 1.2899284248541522e-05),
        (3, 0.4807, 5.679e-9, 1.7178295137806926e-09),
    ],
)
def test_few_steps_at_tiny_rates_next_to_epsilon_0(
    steps: int, noise: float, rate: float, epsilon: float
) -> None:
    """Delta was up to 49 % too large, as each step had a whole share of epsilon: no lattice was fine enough.
    Delta of a step, in closed form, is integrated over what the others release."""
    shift = 1 / noise
    x = np.linspace(-10, shift + 10, 60_001 if steps == 2 else 1_201)
    loss = np.log1p(rate * np.expm1(shift * x - shift**2 / 2))
    mass = ((1 - rate) * norm.pdf(x) + rate * norm.pdf(x, shift)) * (x[1] - x[0])

    def one_step(epsilon: Array) -> Array:
        with np.errstate(divide="ignore"):
            place = np.log(np.maximum(1 + np.expm1(epsilon) / rate, 0.0)) / shift + shift / 2
        delta: Array = rate * (norm.sf(place, shift) - norm.sf(place)) - np.expm1(epsilon) * norm.sf(place)
        return delta

    others = np.zeros(1) if steps == 2 else loss
    each = [one_step(epsilon - other - loss) @ mass for other in others]
    delta = each[0] if steps == 2 else mass @ np.array(each)
    g = (steps * Gaussian(noise).subsample(rate)).guarantee()
    assert delta * (1 - 1e-5) <= g.delta(epsilon) <= delta * 1.001
    assert epsilon * (1 - 1e-5) <= g.epsilon(delta) <= epsilon * 1.01


@pytest.mark.slow
def test_rare_strong_steps_beside_weak_ones() -> None:
    """Less was known than the sum of the two says, basic composition (delta 7.5 times too large), since no
    lattice reached from the losses of one to those of the other."""
    strong, weak = "21 * gaussian(0.2283).subsample(2.641e-07)", "10 * gaussian(3.994).subsample(6.27e-05)"
    rare, often, both = (parse_guarantee(text) for text in (strong, weak, f"{strong} + {weak}"))
    known = both.delta_interval(0.0001368)
    assert known.high <= rare.delta(0.0) + often.delta(0.0001368)
    assert known.high <= 1.04 * known.low
    assert both.epsilon(1e-5) <= often.epsilon(1e-5 - rare.delta(0.0))
    # a million steps of several records: delta was 130 times what single losses tell
    known = (10**6 * SampledSum(0.4, 1e-9, 4)).guarantee().delta_interval(1e-4)
    assert known.low <= known.high <= 2 * known.low


def test_where_bands_lie_is_read_off_tails(monkeypatch: pytest.MonkeyPatch) -> None:
    """3 s for one epsilon: profiles were integrated at thousands of places, to see about where delta is."""
    asked, profile = [], RepeatedDrawsPair.profile

    def counted(pair: RepeatedDrawsPair, epsilon: Array) -> Array:
        asked.append(epsilon.size)
        return profile(pair, epsilon)

    monkeypatch.setattr(RepeatedDrawsPair, "profile", counted)
    one = SampledSum(0.1138, 0.07847, 5).guarantee().epsilon(1e-6)
    beside = (Gaussian(2.016).subsample(0.007496) + SampledSum(0.1138, 0.07847, 5)).guarantee().epsilon(1e-6)
    assert one <= beside <= 1.01 * one
    assert sum(asked) < 200


@pytest.mark.slow
def test_what_is_dominated_is_read_no_closer_than_it_helps(monkeypatch: pytest.MonkeyPatch) -> None:
    """4 s for six epsilons: each part's was found to ten digits, although another said more."""
    drawn, lattice = [], engines._lattice

    def counted(*request: Any) -> Any:
        drawn.append(request)
        return lattice(*request)

    monkeypatch.setattr(engines, "_lattice", counted)
    noises = 3 * Laplace(0.8259).subsample(8, of=20) + Laplace(4.068).subsample(2, of=100)
    g = (3 * RandomizedResponse(0.602) + noises).guarantee(REPLACE)
    known = g.epsilon_interval([1e-12, 1e-8, 1e-5, 1e-3, 0.03, 0.2])
    assert (known.low <= known.high).all() and (known.high <= 1.2 * known.low).all()
    assert len(drawn) < 60


def test_what_nobody_has_without_the_record_is_a_loss_of_samples() -> None:
    """An outcome of Q alone has a finite loss where it is sampled, beyond which losses ended: delta was 0."""
    one = Discrete((0.5, 0.0, 0.5), (0.4999, 0.0001, 0.5))
    g = (one + Laplace(10)).subsample(0.1).guarantee()
    told = 1e-4 - math.exp(0.05) * 9e-5  # of the second outcome, whatever the noise says
    assert told * (1 - 1e-9) <= g.delta_interval(0.05).low <= g.delta(0.05) <= told * (1 + 1e-9) + 1e-6
    assert g.epsilon(1e-6) >= 0.09531 and g.pure() >= -math.log1p(-0.1)
    for grouped in (g.group(2), beside_more(one).subsample(0.1).guarantee()):
        assert grouped.delta(0.05) >= told * (1 - 1e-9) and grouped.pure() >= -math.log1p(-0.1)
    many = (20 * one + Laplace(10)).subsample(0.99).guarantee()
    alone = -math.expm1(20 * math.log1p(-1e-4))
    assert many.delta(1.3816) >= alone * (1 - 0.01 * math.exp(1.3816)) * (1 - 1e-9)


def beside_more(one: Mechanism) -> Mechanism:
    return 1 * one + Laplace(20)


def test_a_profile_that_is_not_known_is_no_lower_end() -> None:
    """At negative epsilons next to 0 the delta of a drawn shift was bounded by 1, and that was taken for
    known: [.5, 2e-6] where nearly nothing is told."""
    for adjacency in (Adjacency.ADD_REMOVE, REPLACE):
        beside = RandomizedResponse(0.500001).guarantee(adjacency)
        found = (SampledSum(5, 1e-12).guarantee(adjacency) + beside).delta_interval(0.0)
        assert 1.9999e-6 <= found.low <= found.high <= 2.000001e-6


@pytest.mark.parametrize(
    ("scale", "rate", "epsilon"),
    [
        (1 / 50, 1e-277, 246.0),
        (1 / 50, 1e-200, 280.0),
        (1e4, 1e-3, 0.0),
        (1e8, 1e-2, 0.0),
        (1 / 3.340223167629652e-11, 2.5178039098266287e-10, 0.0),
        (1 / 1.4357158358799843e-10, 0.9999998739636616, 2.59928442075859e-10),
        (1e-3, 1.0, 498000.0),
        (1 / 3899.693122911296, 1.0, 7595373.138392498),
    ],
)
def test_closed_profiles_at_extremes(scale: float, rate: float, epsilon: float) -> None:
    """Of rates below 1e-178 nothing was told (7e-303 for 1e-277); lower ends of weak noise, and of large
    epsilons, were above the truth (by 1e-13 to 3e-5), and then above upper ends."""
    with mpmath.workdps(60):
        mu, q, e = 1 / mpmath.mpf(scale), mpmath.mpf(rate), mpmath.mpf(epsilon)

        def told(at: Any) -> Any:
            return mpmath.ncdf(mu / 2 - at / mu) - mpmath.exp(at) * mpmath.ncdf(-mu / 2 - at / mu)

        left = 1 - mpmath.exp(e) * (1 - q)
        back = left * told(mpmath.log(q * mpmath.exp(e) / left)) if left > 0 else mpmath.mpf(0)
        truth = max(q * told(mpmath.log1p(mpmath.expm1(e) / q)), back)
        found = Gaussian(1 / float(mu)).subsample(rate).guarantee().delta_interval(epsilon)
        assert found.low <= truth * (1 + mpmath.mpf(1e-15)) and found.high >= truth * (1 - mpmath.mpf(1e-15))
        assert found.high <= truth * (1 + mpmath.mpf(1e-7))


def test_what_only_the_record_has_is_given_away_wherever_it_goes() -> None:
    """An outcome of P alone was no part of what a sampled composition can lose at most: pure epsilon .16, and
    the best of several tries, sampled once more or beside a claim, had delta 0 for 1/9."""
    sampled = (Discrete((0.5, 0.5), (0.0, 1.0)) + Laplace(5)).subsample(0.25)
    assert sampled.guarantee().pure() == (2 * sampled).guarantee().pure() == math.inf
    best = repeat_and_select(sampled, 2.0)
    seen = 1 - 0.5 * 0.875 / (1 - 0.5 * 0.875)  # in any of a geometric number of tries
    assert best.guarantee().renyi(2.0) == best.subsample(0.5).guarantee().epsilon(0.1) == math.inf
    assert best.subsample(0.5).guarantee().delta(10.0) >= seen / 2
    for claim in (ZeroConcentratedDP(0.1), RenyiCurve((2.0, 3.0), (0.1, 0.2))):
        assert (best.guarantee() + claim).delta(10.0) >= seen


def test_lower_ends_where_nearly_everybody_is_sampled() -> None:
    """Of a small difference of rounded numbers: [.25741783, .25741783] for .25741741, 4 % too large."""
    half = 0.5 * -math.expm1(20 + math.log1p(-0.999999999))
    found = (Discrete((0.0, 1.0), (0.5, 0.5)) + Gaussian(1)).subsample(0.999999999).guarantee()
    known = found.delta_interval(20.0)
    assert half * (1 - 1e-9) <= known.low <= known.high <= half * (1 + 1e-9)
    last = (Discrete((1.0, 0.0), (0.5, 0.5)) + Laplace(10)).subsample(0.5).guarantee()
    assert last.pure() > math.log(2) and last.delta(math.log(2)) > 0


@pytest.mark.parametrize("rate", [1e-200, 1e-17, 1e-14, 1e-9, 1e-3])
def test_groups_of_what_tells_next_to_nothing(rate: float) -> None:
    """Tests of a group were kept as points on a curve, to a rounding of 1: delta 0 at a rate of 1e-17, and
    pure epsilon 8e-4 too small at 1e-14. Here a test that is right more often by rate / 2 is so again."""
    group = Discrete((0.75, 0.25), (0.25, 0.75)).subsample(rate).guarantee().group(3)
    assert 1.5 * rate <= group.delta(0.0) <= 1.5 * rate * (1 + 1e-11)
    assert 3 * math.log1p(2 * rate) <= group.pure() <= 3 * math.log1p(2 * rate) * (1 + 1e-11)


@pytest.mark.parametrize(
    ("mass", "beside"),
    [(1e-260, Gaussian(1).subsample(1e-45)), (1e-308, Laplace(1).subsample(0.5))],
)
def test_far_listed_losses_beside_samples(mass: float, beside: Mechanism) -> None:
    """The other direction of a sample was cut where e^-epsilon is no number: delta 2.7e-5 for .5, epsilon .69
    for 598."""
    listed = Discrete((1.0, mass), (0.5, 0.5))
    alone, both = listed.guarantee(), (listed + beside).guarantee()
    assert both.epsilon(1e-3) >= alone.epsilon_interval(1e-3).low
    for epsilon in (1.0, 3.0, 50.0):
        found = both.delta_interval(epsilon)
        assert found.high >= 0.5 and found.low <= 0.5 * (1 + 1e-9)
    assert both.tpr(0.01) >= 0.51


def test_small_factors_of_rare_events() -> None:
    """A difference of two long logarithms: a Bayes factor's logarithm was 1.7 % too small."""
    p, q = (0.79833984375, 0.20166015625), (0.7983407974243164, 0.2016592025756836)
    rate = mpmath.mpf(2) ** -20
    found = Discrete(p, q).subsample(float(rate)).guarantee().bayes_factor().quantile(4.055460735840828e-223)
    with mpmath.workdps(40):
        factors = [1 + rate * (mpmath.mpf(a) / mpmath.mpf(b) - 1) for a, b in zip(p, q, strict=True)]
        assert mpmath.mpf(found) >= max(*factors, *(1 / factor for factor in factors))


def test_outcomes_whose_probability_underflows() -> None:
    """They were dropped, and the largest losses with them: pure epsilon 4.6e-4 for 5.6e-4, 0 for infinity."""
    p = (0.861328125, 0.0556640625, 0.0830078125, 0.0)
    q = (0.762939453125, 0.1611328125, 0.075927734375, 2.6e-200)
    rate, least = 0.25, 2.0**-10
    most = -math.log1p(least * ((1 - rate) ** 3 - 1))  # an outcome of Q alone, three times
    assert most <= (3 * Discrete(p, q).subsample(rate)).subsample(least).guarantee().pure() <= most + 1e-12
    assert Discrete((1.0, 1e-200), (1.0, 0.0)).subsample(1e-200).guarantee().pure() == math.inf


def test_orders_below_one_of_a_table() -> None:
    """What a table has beyond 1 was counted as overlap: 2e-10 to 3e-9 of the divergence were missing."""
    a, b = (0.189453125, 0.310546875, 0.5), (0.318603515625, 0.681396484375, 0.0)
    found = (9 * Discrete(a, b)).subsample(0.5).guarantee().renyi(0.75)
    overlap = 0.0
    for i in range(10):  # of outcomes that both have
        p, q = a[0] ** i * a[1] ** (9 - i), b[0] ** i * b[1] ** (9 - i)
        overlap += math.comb(9, i) * ((p + q) / 2) ** 0.75 * q**0.25
    assert found >= -4 * math.log(overlap) * (1 - 1e-14) and found <= -4 * math.log(overlap) + 1e-8


def test_lower_ends_of_what_is_given_away() -> None:
    """Rounded up once in every sample: a lower end 2e-15 above the truth."""
    release = Discrete((0.28466796875, 0.71533203125), (0.0, 1.0))
    rates = (0.379638671875, 0.00390625, 0.8935546875, 3.814697265625e-06)
    truth = Fraction(0.28466796875)
    for rate in rates:
        release, truth = release.subsample(rate), truth * Fraction(rate)
    found = release.guarantee().delta_interval(0.001)
    assert Fraction(found.low) <= truth <= Fraction(found.high)


def _chances(epsilon: float) -> tuple[tuple[float, float], tuple[float, float]]:
    rare = math.exp(-epsilon) / (1 + math.exp(-epsilon))
    return (1 - rare, rare), (rare, 1 - rare)


@pytest.mark.parametrize(
    ("pair", "sizes"),
    [
        (_chances(25.0), (1, 2, 27, 28, 33, 64)),
        (_chances(40.0), (1, 17, 18, 64)),
        (((1.0, 1e-20), (0.5, 0.5)), (1, 32, 33, 64)),
        (((1.0, 2e-271, 4.3e-66), (0.2625, 0.0669, 0.6706)), (1, 3, 5)),
        (((1.0, 1e-74, 5e-264), (0.39, 0.5, 0.11)), (1, 3, 5)),
        (((1.0, 1e-120), (0.5, 0.5)), (1, 64)),
        (((1e-17, 1.0), (1e-20, 1.0)), (1, 2, 3)),
        (((0.3, 0.7), (0.7, 0.3)), (1, 2, 7, 64)),
    ],
)
def test_larger_groups_tell_no_less(
    pair: tuple[tuple[float, ...], tuple[float, ...]], sizes: tuple[int, ...]
) -> None:
    """Of probabilities that underflow their losses were lost with them (delta 2.7e-33 for 1, an IndexError);
    where both directions' advantages differed by rounding, all of one direction was."""
    found = [Discrete(*pair).group(size).guarantee() for size in sizes]
    for fewer, more in pairwise(found):
        for epsilon in (0.0, 1.0, 30.0, 600.0):
            assert fewer.delta(epsilon) <= more.delta(epsilon) * (1 + 1e-12)
        assert fewer.pure() <= more.pure() * (1 + 1e-12) and fewer.tpr(0.05) <= more.tpr(0.05) * (1 + 1e-12)
        for order in (0.5, 1.0, 2.0):
            assert fewer.renyi(order) <= more.renyi(order) * (1 + 1e-9)


@pytest.mark.parametrize("rate", [1e-9, 4e-17, 1e-20, 1e-100])
def test_sums_that_hardly_anybody_joins(rate: float) -> None:
    """Where 1 less a rate rounds to 1, the smallest loss was 0, and a place beyond it: delta(0) 2e-308."""
    truth = rate * math.erf(0.5 / math.sqrt(2))
    for one in (SampledSum(1, rate, 1), RandomShift(1, (0, 1), (1 - rate, rate))):
        known = one.guarantee("add/remove").delta_interval(0.0)
        assert truth * (1 - 1e-9) <= known.high <= truth * (1 + 1e-9)
        assert known.low <= truth * (1 + 1e-9)
        assert (10 * one).guarantee("add/remove").delta(0.0) >= truth * (1 - 1e-9)


def test_ends_of_sampled_losses() -> None:
    """A lower end was the largest loss, rounded up."""
    with mpmath.workdps(40):
        top = mpmath.log(1 + mpmath.mpf(0.9) * mpmath.expm1(1 / mpmath.mpf(23.90739337718311)))
        known = Laplace(23.90739337718311).subsample(0.9).guarantee().epsilon_interval(2.4e-22)
        assert mpmath.mpf(known.low) <= top <= mpmath.mpf(known.high) * (1 + mpmath.mpf(1e-20))


def test_rates_whose_product_underflows() -> None:
    """Delta was 0, and the pair's profile an error of the inside."""
    sampled = Gaussian(28).subsample(8e-292).subsample(5e-97).guarantee()
    assert sampled.delta(0.0) > 0 and sampled.product.single.profile(np.zeros(1))[0] > 0  # type: ignore[attr-defined]


def test_high_orders_of_weak_sums() -> None:
    """Above a certain order the bound of the parts was all that was said: 2.65e-7 for 3e-13."""
    for order in (1000.0, 5000.0):
        plain = Gaussian(90.04).subsample(1e-6).guarantee().renyi(order)
        assert SampledSum(90.04, 1e-6).guarantee("add/remove").renyi(order) == pytest.approx(plain, rel=1e-9)


@pytest.mark.parametrize(("scale", "rate"), [(0.002, 1e-230), (0.002, 1.2e-279), (0.02, 1.3e-53), (1.0, 0.3)])
def test_lower_ends_next_to_the_end_of_sampled_losses(scale: float, rate: float) -> None:
    """What a place may be off by was charged at the slope behind the end, which is none: deltas 92 times too
    large from below, epsilons by 9e-13; and the end itself was rounded up 7.5 times."""
    with mpmath.workdps(700):
        base, q = 1 / mpmath.mpf(scale), mpmath.mpf(rate)
        top, g = mpmath.log1p(q * mpmath.expm1(base)), Laplace(scale).subsample(rate).guarantee()
        assert top <= g.pure() <= top * (1 + mpmath.mpf(1e-11))

        def told(epsilon: Any) -> Any:
            return q * (1 - mpmath.exp((mpmath.log1p(mpmath.expm1(epsilon) / q) - base) / 2))

        for away in (1e-4, 1e-8, 1e-11, 1e-14):
            epsilon = float(top * (1 - mpmath.mpf(away)))
            known = g.delta_interval(epsilon)
            assert known.low <= told(mpmath.mpf(epsilon)) <= known.high
            delta = float(told(top * (1 - mpmath.mpf(away))))
            if delta > 0:
                ends = g.epsilon_interval(delta)
                assert told(mpmath.mpf(ends.low)) >= delta * (1 - mpmath.mpf(1e-15))
                assert ends.low >= top * (1 - mpmath.mpf(1e-9 + 2 * away))


def test_last_digits_are_on_the_safe_side() -> None:
    """1 less what is given away was rounded to the nearest, and of groups it was more than 1; tests of rare
    events found 1 where pure epsilon says 3e-13."""
    told = Discrete((0.75, 0.25, 0.0), (0.75, 0.0, 0.25)).subsample(0.01).guarantee()
    assert Fraction(told.tradeoff(0.0)) <= 1 - Fraction(0.01) * Fraction(0.25)
    for pair in (((0.999999, 1e-6, 0.0), (0.0, 1e-6, 0.999999)), ((1.0, 1e-300), (1e-300, 1.0))):
        group = Discrete(*pair).group(8).guarantee()
        assert (
            group.delta(1.0) <= 1.0 and group.advantage() <= 1.0 and group.delta_interval(800.0).high <= 1.0
        )
    assert Gaussian(1e-3).guarantee().tpr(5e-324) == 1.0  # where there is no pure epsilon, however rare
    rare = Discrete((1.0, 3.5e-18), (3.5e-18, 1.0)).guarantee().tpr(1e-30)
    assert 1e-30 / 3.5e-18 <= rare <= 1.01e-30 / 3.5e-18


@pytest.mark.parametrize(
    "one", [SampledSum(1, 1e-16), Gaussian(1).subsample(1e-18), Laplace(2).subsample(1e-14)]
)
def test_steps_tell_no_less_than_one_of_them(one: Mechanism) -> None:
    """A lower end of two steps was 0, where one alone is known to all digits."""
    alone, both = (each.guarantee("add/remove").delta_interval(0.0) for each in (one, 2 * one))
    assert 0 < alone.low <= both.low <= both.high


def test_searches_end_where_losses_are_numbers() -> None:
    """`make fuzz`: the largest loss, 1095, was looked at, where e^epsilon is no number."""
    g = (403 * Laplace(0.368)).guarantee()
    assert 0.0 <= g.tradeoff(0.5) <= 1e-50 and g.tpr(1e-6) == 1.0


@pytest.mark.parametrize(
    ("steps", "scale", "rate", "away"),
    [
        (2, 29.680436328227866, 7.446121821099802e-11, 1e-6),
        (2, 29.680436328227866, 7.446121821099802e-11, 1e-8),
        (3, 2.034194028022837, 2.381062167324313e-11, 1e-8),
        (2, 0.7542778346042076, 3.4261083135556066e-13, 1e-5),
        (20, 1.0, 1e-12, 1e-9),
        (3, 1.0, 0.1, 1e-9),
    ],
)
def test_next_to_the_largest_loss_of_rare_steps(steps: int, scale: float, rate: float, away: float) -> None:
    """Delta 1e-26 for 1e-20: in cells narrower than rounding nobody knows at which end mass is, and every
    step's may be at the wrong one; at orders of 1e16 Chernoff's bound had log(c / (1 + c)) for -1 / c."""
    with mpmath.workdps(120):
        s, r = 1 / mpmath.mpf(scale), mpmath.mpf(rate)
        top, mass = (
            steps * mpmath.log1p(r * mpmath.expm1(s)),
            mpmath.exp(-s) / 2 * (1 - r + r * mpmath.exp(s)),
        )
        epsilon = float(top * (1 - mpmath.mpf(away)))
        told = mass**steps * -mpmath.expm1(epsilon - top)  # where every step has its largest loss
        g = (steps * Laplace(scale).subsample(rate)).guarantee()
        assert g.delta(epsilon) >= told and g.epsilon(float(told)) >= epsilon * (1 - 1e-15)
