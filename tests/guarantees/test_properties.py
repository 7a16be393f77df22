"""Properties of random mechanisms, against brute force where there is one."""

import itertools
import math
from fractions import Fraction

import numpy as np
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from indistinct import ApproxDP, Discrete, Gaussian, Laplace, PureDP, RenyiCurve
from indistinct.guarantees.discrete_pair import DiscretePair
from indistinct.guarantees.guarantee import ExactGuarantee
from indistinct.guarantees.tails import NARROW
from indistinct.numerics.lattice import LatticeLaw, law_above, law_below

WIDE = settings(
    max_examples=settings.default.max_examples // 3
)  # over the whole range promised: some of these take a second
MANY = settings(max_examples=2 * settings.default.max_examples)


def log_uniform(low: float, high: float) -> st.SearchStrategy[float]:
    return st.floats(math.log(low), math.log(high)).map(math.exp)


rates = log_uniform(1e-6, 1.0)
scales = log_uniform(0.3, 1e4)
steps = log_uniform(1, 1e9).map(round)
deltas = log_uniform(1e-100, 0.3)


@st.composite
def distributions(draw: st.DrawFn, size: int) -> tuple[float, ...]:
    parts = draw(st.lists(st.sampled_from([0, 1, 2, 5, 30, 400]), min_size=size, max_size=size).filter(any))
    return tuple(part / sum(parts) for part in parts)


@st.composite
def pairs(draw: st.DrawFn) -> Discrete:
    size = draw(st.integers(2, 4))
    return Discrete(draw(distributions(size)), draw(distributions(size)))


def brute_delta(terms: list[Discrete], epsilon: float, *, both: bool = True) -> float:
    """The worse direction of the product, or the first, outcome by outcome."""
    p, q = np.ones(1), np.ones(1)
    for term in terms:
        p, q = np.multiply.outer(p, term.p).ravel(), np.multiply.outer(q, term.q).ravel()
    return max(math.fsum(np.maximum(a - math.exp(epsilon) * b, 0)) for a, b in ((p, q), (q, p))[: 1 + both])


def assert_just_above(value: float, truth: float, relative: float) -> None:
    assert truth * (1 - 1e-12) - 1e-15 <= value <= truth * (1 + relative) + 1e-14


# -- subsampled Gaussians over the whole range promised ------------------------------------------------


@WIDE
@given(rates, scales, steps, deltas)
def test_epsilon_is_honest(rate: float, scale: float, count: int, delta: float) -> None:
    g = (count * Gaussian(scale=scale).subsample(rate)).guarantee()
    epsilon = g.epsilon(delta)
    assert 0 <= epsilon < math.inf
    # both are bounds, each as close as engines are asked to be, or beside a lower end that says how close
    known = g.delta_interval(epsilon)
    assert known.low <= delta * (1 + 1e-12) and known.high == g.delta(epsilon)
    assert known.high <= delta * (1 + 4 * NARROW) or known.low < known.high * (1 - 4 * NARROW)
    # each direction by itself is no worse, and one of them is as bad
    assert isinstance(g, ExactGuarantee)
    sides = [float(side.epsilon(np.array([delta]))[0]) for side in (g.product, g.product.reverse())]
    stated = g.epsilon_interval(delta)
    assert abs(epsilon - max(sides)) <= max(1e-6 * epsilon, stated.high - stated.low)


@WIDE
@given(rates, scales, steps, deltas)
def test_epsilon_is_below_every_renyi_conversion(rate: float, scale: float, count: int, delta: float) -> None:
    """Canonne, Kamath and Steinke 2020, Proposition 12, at orders around the best one."""
    g = (count * Gaussian(scale=scale).subsample(rate)).guarantee()
    epsilon = g.epsilon(delta)
    size = max(math.sqrt(-math.log(delta) / max(g.renyi(2.0), 1e-300)), 1e-3)
    for order in 1 + size * np.geomspace(0.03, 3, 7):
        bound = g.renyi(order) + math.log1p(-1 / order) - (math.log(delta) + math.log(order)) / (order - 1)
        assert epsilon <= max(bound, 0.0) * (1 + 1e-9) + 1e-12


@WIDE
@given(rates, scales, steps, st.integers(1, 1000), deltas)
def test_more_steps_tell_more(rate: float, scale: float, count: int, more: int, delta: float) -> None:
    base = Gaussian(scale=scale).subsample(rate)
    few, many = ((n * base).guarantee().epsilon(delta) for n in (count, count + more))
    # The lattice is refined to 1e-6; at tiny rates and delta below 1e-50 it settled up to 3e-6 too high.
    assert few <= many * (1 + 1e-5) + 1e-12


@WIDE
@given(rates, scales, steps, deltas)
def test_subsampling_tells_less(rate: float, scale: float, count: int, delta: float) -> None:
    part = (count * Gaussian(scale=scale).subsample(rate)).guarantee()
    whole = (count * Gaussian(scale=scale)).guarantee()
    assert part.epsilon(delta) <= whole.epsilon(delta) * (1 + 1e-9)
    for order in (0.5, 1.0, 2.0, 20.0):
        assert part.renyi(order) <= whole.renyi(order) * (1 + 1e-9)


@WIDE
@given(log_uniform(0.2, 50), st.integers(3, 12), st.floats(-60, -3))
def test_epsilon_near_the_top_of_the_loss(scale: float, count: int, log_share: float) -> None:
    """n Laplace losses are all at their top, 1/scale, with probability 2^-n; so delta(top - h) is between
    2^-n (1 - e^-h) and 1 - e^-h."""
    g = (count * Laplace(scale)).guarantee()
    top, delta = count / scale, math.exp(log_share) * 2.0**-count
    least, most = top + math.log1p(-math.exp(log_share)), top + math.log1p(-delta)
    stated = g.epsilon_interval(delta)
    assert least * (1 - 1e-12) <= stated.high <= most * (1 + 1.1e-8)
    assert stated.low <= most * (1 + 1e-12)


@MANY
@given(rates, scales, st.floats(0.5, 1000), st.floats(0, 500))
def test_renyi_grows_with_the_order(rate: float, scale: float, order: float, more: float) -> None:
    g = Gaussian(scale=scale).subsample(rate).guarantee()
    assert 0 <= g.renyi(order) <= g.renyi(order + more) * (1 + 1e-9)


# -- finite pairs by enumeration ------------------------------------------------------------------------


@MANY
@given(pairs(), st.floats(0, 6))
def test_one_step_is_the_sum(pair: Discrete, epsilon: float) -> None:
    assert_just_above(pair.guarantee().delta(epsilon), brute_delta([pair], epsilon), 1e-12)


@MANY
@given(pairs(), st.integers(2, 4), st.floats(0, 6))
def test_repeated_pairs_by_enumeration(pair: Discrete, count: int, epsilon: float) -> None:
    value = (count * pair).guarantee().delta(epsilon)
    assert_just_above(value, brute_delta([pair] * count, epsilon), 1e-7)


@given(st.lists(pairs(), min_size=2, max_size=3), log_uniform(1e-6, 0.3))
def test_sums_of_pairs_by_enumeration(terms: list[Discrete], delta: float) -> None:
    g = sum(terms[1:], terms[0]).guarantee()  # type: ignore[arg-type]
    epsilon = g.epsilon(delta)
    if math.isinf(epsilon):
        assert brute_delta(terms, 40.0) >= delta * (1 - 1e-9)
    else:
        assert brute_delta(terms, epsilon) <= delta * (1 + 1e-9)
        if epsilon > 0:
            assert brute_delta(terms, epsilon * (1 - 1e-5) - 1e-9) >= delta


@given(pairs(), log_uniform(1e-4, 1.0), st.integers(1, 3), st.floats(0, 4))
def test_subsampled_pairs_by_enumeration(pair: Discrete, rate: float, count: int, epsilon: float) -> None:
    mixed = tuple((1 - rate) * b + rate * a for a, b in zip(pair.p, pair.q, strict=True))
    truth = brute_delta([Discrete(mixed, pair.q)] * count, epsilon)
    assert_just_above((count * pair.subsample(rate)).guarantee().delta(epsilon), truth, 1e-7)


def listed_delta(law: LatticeLaw, step: float, count: int, epsilon: float) -> float:
    """Of a lattice law composed with itself, by convolution."""
    mass = law.mass
    for _ in range(count - 1):
        mass = np.convolve(mass, law.mass)
    above = step * (count * law.first + np.arange(mass.size)) - epsilon
    return 1 - (1 - law.infinite) ** count + math.fsum(mass * -np.expm1(-np.maximum(above, 0.0)))


@MANY
@given(pairs(), log_uniform(1e-3, 1.0), st.integers(1, 3), st.floats(0, 6))
def test_lattices_are_above_and_below(pair: Discrete, step: float, count: int, epsilon: float) -> None:
    for p, q in ((pair.p, pair.q), (pair.q, pair.p)):
        one = DiscretePair.of(np.array(p), np.array(q))
        assume(one.infinite_mass < 1)
        span = one.outer_losses(1.0, -math.inf)
        above = listed_delta(law_above(one.tails, *span, step), step, count, epsilon)
        low = law_below(one.tails, *span, step, one.atoms)
        truth = brute_delta(count * [Discrete(p, q)], epsilon, both=False)
        below = listed_delta(low, step, count, epsilon)
        assert below <= truth + 1e-14 and truth <= above + 1e-14


@given(st.floats(0.51, 0.99), st.integers(1, 400), log_uniform(1e-7, 1e-2), st.floats(0, 4))
def test_an_atom_beside_a_point_costs_what_it_lies_beside(
    truth: float, cells: int, beside: float, epsilon: float
) -> None:
    """And not a whole step: its mass is made up for from the atom on the other side."""
    response = DiscretePair.of(np.array([truth, 1 - truth]), np.array([1 - truth, truth]))
    step = response.loss_range[1] / (cells + beside)
    low = law_below(response.tails, *response.loss_range, step, response.atoms)
    exact = brute_delta(3 * [Discrete((truth, 1 - truth), (1 - truth, truth))], epsilon)
    assert exact - 6 * beside * step - 1e-11 <= listed_delta(low, step, 3, epsilon) <= exact + 1e-14


@given(pairs(), st.sampled_from([0.5, 0.7, 1.0, 1.3, 2.0, 7.0]))
def test_renyi_of_pairs(pair: Discrete, order: float) -> None:
    value = pair.guarantee().renyi(order)
    truth = 0.0
    for p, q in ((pair.p, pair.q), (pair.q, pair.p)):
        both = [(a, b) for a, b in zip(p, q, strict=True) if a > 0]
        if order >= 1 and any(b == 0 for _, b in both):
            truth = math.inf
        elif order == 1:
            truth = max(truth, math.fsum(a * math.log(a / b) for a, b in both))
        else:
            total = math.fsum(a**order * b ** (1 - order) for a, b in both if b > 0)
            truth = max(truth, math.log(total) / (order - 1) if total > 0 else math.inf)
    assert value == truth or abs(value - truth) <= 1e-9 * truth + 1e-12


def best_power(p: tuple[float, ...], q: tuple[float, ...], level: Fraction) -> Fraction:
    """The largest P-probability of a randomised test of Q-probability `level` (Neyman and Pearson)."""
    exact = [(Fraction(a), Fraction(b)) for a, b in zip(p, q, strict=True)]
    power, left = Fraction(0), level
    for a, b in sorted(exact, key=lambda ab: -ab[0] / ab[1] if ab[1] else -math.inf):
        part = min(b, left)
        power += a if b == 0 else a * part / b
        left -= part
    return power


@given(pairs(), st.integers(2, 4), st.floats(0.001, 0.999))
def test_group_by_chains_of_tests(pair: Discrete, size: int, level: float) -> None:
    """A group of k: the best test of a chain of neighbours, each link in either direction."""
    power = Fraction(level)
    for _ in range(size):
        power = min(Fraction(1), max(best_power(pair.p, pair.q, power), best_power(pair.q, pair.p, power)))
    fnr = pair.group(size).guarantee().tradeoff(level)
    assert fnr <= float(1 - power) + 1e-9


# -- stated guarantees ------------------------------------------------------------------------------------


def optimal_composition(epsilon: float, delta: float, count: int, at: float) -> float:
    """Delta of k-fold (epsilon, delta)-DP: Kairouz, Oh and Viswanath 2015, Theorem 3.3, summed over all
    thresholds at once."""
    total = 0.0
    for k in range(count + 1):
        gain = math.exp((count - k) * epsilon) - math.exp(at) * math.exp(k * epsilon)
        total += math.comb(count, k) * max(gain, 0.0)
    inside = total / (1 + math.exp(epsilon)) ** count
    return -math.expm1(count * math.log1p(-delta) + math.log1p(-inside))


@MANY
@given(log_uniform(1e-3, 1.5), log_uniform(1e-12, 0.2), st.integers(1, 30), st.floats(0, 1.2))
def test_approximate_claims_compose_optimally(epsilon: float, delta: float, count: int, share: float) -> None:
    at = share * count * epsilon
    truth = optimal_composition(epsilon, delta, count, at)
    value = (count * ApproxDP(epsilon, delta)).delta(at)
    assert truth * (1 - 1e-9) - 1e-15 <= value <= truth * (1 + 1e-6) + 1e-13


@given(log_uniform(1e-3, 2), st.integers(1, 40), st.floats(0, 1))
def test_pure_claims_compose_optimally(epsilon: float, count: int, share: float) -> None:
    at = share * count * epsilon
    truth = optimal_composition(epsilon, 0.0, count, at)
    value = (count * PureDP(epsilon)).delta(at)
    assert truth * (1 - 1e-9) - 1e-15 <= value <= truth * (1 + 1e-6) + 1e-13


@given(log_uniform(0.05, 20), deltas, st.lists(st.floats(1.05, 200), min_size=1, max_size=6, unique=True))
def test_renyi_curve_covers_what_made_it(mu: float, delta: float, orders: list[float]) -> None:
    orders = sorted(orders)
    assume(all(b - a > 1e-6 for a, b in itertools.pairwise(orders)))
    claim = RenyiCurve(orders, [order * mu**2 / 2 for order in orders])
    source = Gaussian(scale=1 / mu).guarantee()
    assert claim.epsilon(delta) >= source.epsilon(delta) * (1 - 1e-9)
    assert claim.delta(1.0) >= source.delta(1.0) * (1 - 1e-9)
    assert claim.tradeoff(0.05) <= source.tradeoff(0.05) * (1 + 1e-9)


def _coins(order: float, p: np.ndarray, q: np.ndarray, rest_p: np.ndarray, rest_q: np.ndarray) -> np.ndarray:
    """The Rényi divergence of two coins, from logarithms."""
    first, second = (order * a + (1 - order) * b for a, b in ((p, q), (rest_p, rest_q)))
    divergence: np.ndarray = np.logaddexp(first, second) / (order - 1)
    return divergence


@given(st.floats(1.1, 30), log_uniform(1e-3, 3), st.floats(0, 3))
def test_renyi_claim_covers_every_binary_pair(order: float, value: float, epsilon: float) -> None:
    """The worst coin pair within the claim, which holds both ways, on a fine grid, is never worse than what
    the claim is told to allow; and some coin pair attains it (Theorem 3 of *Three Variants*)."""
    start = np.linspace(-40, 20, 600)[:, None]
    logit = start + np.geomspace(1e-3, 60, 500)
    p, rest_p = 1 / (1 + np.exp(-logit)), 1 / (1 + np.exp(logit))
    q, rest_q = 1 / (1 + np.exp(-start)), 1 / (1 + np.exp(start))
    sides = np.log(p), np.log(q), np.log(rest_p), np.log(rest_q)
    divergence = np.maximum(_coins(order, *sides), _coins(order, *(sides[i] for i in (1, 0, 3, 2))))
    delta = np.maximum(p - math.exp(epsilon) * q, 0)[divergence <= value]
    worst = float(delta.max(initial=0.0))
    told = RenyiCurve([order], [value]).delta(epsilon)
    assert told >= worst * (1 - 1e-9)
    assert told <= worst * 1.5 + 1e-9  # the grid is coarse: optimal conversions are tested elsewhere
