"""Random allocation: references that share nothing with the engine, laws, and mistakes planted in it."""

import dataclasses
import math
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from numpy.polynomial.legendre import leggauss
from scipy.special import ndtr

from indistinct import Gaussian, Laplace
from indistinct.errors import ArgumentError
from indistinct.guarantees.allocation_pair import AllocationPair, allocation
from indistinct.guarantees.guarantee import as_bound
from indistinct.guarantees.noise_pairs import GaussianPair
from indistinct.guarantees.pair import Resolution
from indistinct.guarantees.product import Product
from indistinct.numerics import contour, high_orders, lognormal_factors, lognormal_mean, lognormal_step
from indistinct.numerics.arrays import Array
from indistinct.numerics.high_orders import HighOrders
from indistinct.numerics.lognormal_mean import LognormalMean
from indistinct.numerics.lognormal_step import Step
from indistinct.numerics.power_series import power_of_series

EPOCHS = [
    # steps, noise, epochs, delta, epsilon of removal and of addition, to nine digits
    (234, 1.1, 60, 1e-5, 2.340520760, 2.299822026),
    (10, 1.0, 10, 1e-6, 6.900338875, 5.830232789),
    (100, 0.8, 100, 1e-5, 9.75971011, 8.951438418),
    (1000, 1.0, 100, 1e-6, 1.84427867, 1.823697434),
    (100, 2.0, 100, 1e-6, 2.418579213, 2.412659887),
]


def one_way(shift: float, steps: int, epochs: int = 1, *, turned: bool = False) -> Product:
    """One direction of several epochs, with nothing remembered."""
    return Product.of([(AllocationPair(shift, steps, turned), epochs)])


@pytest.mark.parametrize(("steps", "noise", "epochs", "delta", "removed", "added"), EPOCHS)
def test_known_values(
    steps: int, noise: float, epochs: int, delta: float, removed: float, added: float
) -> None:
    for turned, known in ((False, removed), (True, added)):
        low, high = one_way(1 / noise, steps, epochs, turned=turned).epsilon_bounds(np.array([delta]))
        assert low[0] == pytest.approx(known, abs=1e-8) and 0 <= high[0] - low[0] < 1e-8


def two_steps(shift: float, epsilon: float, turned: bool) -> float:
    """delta of two steps: over Z_1 by panels that meet at the kink, over Z_2 in closed form."""
    x, w = leggauss(48)
    limit = 2 * math.exp(-epsilon if turned else epsilon)  # of X_1 + X_2
    kink = (math.log(limit) + shift**2 / 2) / shift
    ends = np.unique(
        np.concatenate((np.linspace(-14, 14 + 2 * shift, 200), kink - np.geomspace(1e-12, 1, 40)))
    )
    ends = np.unique(np.append(ends, kink))
    middle, radius = (ends[1:] + ends[:-1]) / 2, np.diff(ends) / 2
    z = (middle[:, None] + radius[:, None] * x).ravel()
    weight = (radius[:, None] * w).ravel() * np.exp(-z * z / 2) / math.sqrt(2 * math.pi)
    rest = limit - np.exp(shift * z - shift**2 / 2)
    other = np.where(rest > 0, (np.log(np.maximum(rest, 1e-300)) + shift**2 / 2) / shift, -np.inf)
    if turned:
        value = np.where(rest > 0, rest * ndtr(other) - ndtr(other - shift), 0.0) * math.exp(epsilon)
    else:
        value = ndtr(shift - other) - rest * ndtr(-other)
    return float(weight @ value) / 2


@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize("shift", [0.3, 1.0, 3.0])
def test_two_steps_by_a_sum_over_both(shift: float, turned: bool) -> None:
    product = one_way(shift, 2, turned=turned)
    for epsilon in product.epsilon(np.array([1e-2, 1e-7])):
        low, high = (float(bound[0]) for bound in product.delta_bounds(np.array([epsilon])))
        assert low <= two_steps(shift, epsilon, turned) <= high <= low * (1 + 1e-8)


def whole_moments(shift: float, steps: int, most: int) -> list[float]:
    """E R^m for whole m: a sum of products of moments of X."""
    k = np.arange(most + 1.0)
    factorials = np.array([float(math.factorial(i)) for i in range(most + 1)])
    series = np.exp(shift**2 * k * (k - 1) / 2 - k * math.log(steps)) / factorials
    return (power_of_series(series[:, None], steps)[:, 0] * factorials).tolist()


def rounded_delta(shift: float, steps: int, epsilon: float, up: bool) -> float:
    """A bound on delta of removal, by lognormal variables rounded up (or down) to a grid and added up. R
    rises with each of them, and delta with R; what leaves the grid is charged by a moment of R, or left
    out."""
    step, size = 2e-4, 1 << 17
    places = step * np.arange(size + 1)
    with np.errstate(divide="ignore"):
        mass = np.append(np.diff(ndtr((np.log(places * steps) + shift**2 / 2) / shift)), 0.0)
    mass = np.append(0.0, mass[:-1]) if up else mass
    spectrum, total = np.fft.rfft(mass, 4 * size), np.append(1.0, np.zeros(size))
    for _ in range(steps):
        total = np.fft.irfft(np.fft.rfft(total, 4 * size) * spectrum)[: size + 1]
    beyond = whole_moments(shift, steps, 7)[7] / (places[-1] - steps * step) ** 6 if up else 0.0
    return float(total @ np.maximum(places - math.exp(epsilon), 0.0)) + beyond


def test_between_two_rounded_convolutions() -> None:
    low, high = (float(b[0]) for b in one_way(1.0, 12).delta_bounds(np.array([0.8])))
    below, above = (rounded_delta(1.0, 12, 0.8, up) for up in (False, True))
    assert below < low <= high < above < 1.1 * below


def test_moments_of_whole_orders() -> None:
    for shift, steps in ((0.9, 234), (1.5, 3), (0.2, 40)):
        whole = np.log(whole_moments(shift, steps, 6))
        found, errors = LognormalMean(shift, steps).log_moments(np.array([2.0, 3.0, 6.0]))
        assert (np.abs(found - whole[[2, 3, 6]]) <= errors + 1e-13).all() and (errors < 1e-11).all()


def spread(law: LognormalMean, monkeypatch: pytest.MonkeyPatch) -> float:
    """By how much moments on a line differ when they are computed with other rays, m and p, in units of the
    errors that are claimed."""
    largest = 0.0
    for order in (1.4, 3.2, -2.6):
        first = law.line(order, 0.7, 40)
        with monkeypatch.context() as other:
            other.setattr(lognormal_mean, "_LEAST_GAP", 4.2)
            other.setattr(lognormal_mean, "_LOST", 1.0)
            again = law.line(order, 0.7, 40)
        gap = np.abs(np.exp(again.values - first.values) - 1)
        largest = max(largest, float((gap / (first.errors + again.errors)).max()))
    return largest


@pytest.mark.parametrize(("shift", "steps"), [(0.9, 234), (1.0, 2), (2.0, 30), (0.2, 50)])
def test_errors_are_bounds(shift: float, steps: int, monkeypatch: pytest.MonkeyPatch) -> None:
    assert spread(LognormalMean(shift, steps), monkeypatch) <= 1
    lognormal_factors.factors_on.cache_clear()


def test_a_sum_that_ends_too_early_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """Planted: the integral over w reaches less far than its tail asks for, and claims the same error."""
    law, whole = LognormalMean(1.0, 2), LognormalMean._reach
    with monkeypatch.context() as planted:
        planted.setattr(
            LognormalMean, "_reach", lambda self, m, p: (whole(self, m, p)[0], whole(self, m, p)[1] - 3.5)
        )
        assert spread(law, monkeypatch) > 1
    lognormal_factors.factors_on.cache_clear()


def test_an_envelope_that_falls_too_fast_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """Planted: the loss is taken to spread as that of a single step, so that the contour ends too early."""
    good = one_way(2.0, 30).delta_bounds(np.array([0.4]))
    monkeypatch.setattr(LognormalMean, "log_fall", lambda self, y: -((self.scale * y) ** 2) / 2)
    low, high = one_way(2.0, 30).delta_bounds(np.array([0.4]))
    assert low[0] <= good[1][0] and good[0][0] <= high[0]  # such a line is not drawn
    monkeypatch.setattr(contour, "_PASSED", math.inf)
    low, high = one_way(2.0, 30).delta_bounds(np.array([0.4]))
    assert not (low[0] <= good[1][0] and good[0][0] <= high[0])


def summed_delta(shift: float, steps: int, epsilon: float, turned: bool, cells: int) -> float:
    """An upper bound on delta of one epoch, that shares nothing with the engine: each lognormal variable is
    put on the two points of a lattice around it so that its mean stays. That is larger in convex order, and
    so are sums, and delta is the mean of a convex function of R, in either direction."""
    step, size = shift * math.sqrt(steps) / cells, 1 << 16
    ends = step * np.arange(max(math.exp(-9.5 * shift) // step, 1), math.exp(9.5 * shift) // step + 2)
    z = (np.log(ends) + shift**2 / 2) / shift
    mass, mean = np.diff(ndtr(z)), np.diff(ndtr(z - shift))
    upper = (mean - mass * ends[:-1]) / step
    law = np.append(mass - upper, 0.0) + np.append(0.0, upper)
    law = np.bincount(np.arange(law.size) % size, weights=law, minlength=size)
    total = np.fft.irfft(np.fft.rfft(law) ** steps, size)
    places = steps * ends[0] + step * np.arange(size)
    ratio = (places - size * step * np.round((places - steps) / (size * step))) / steps
    gain = 1 - math.exp(epsilon) * ratio if turned else ratio - math.exp(epsilon)
    return float(total @ np.maximum(gain, 0.0))


LARGE_NOISE = [
    (0.5, 1000, 1e-6),
    (1 / 3, 10, 1e-6),
    (1 / 3, 100, 1e-3),
    (0.1, 10, 1e-6),
    (1 / 300, 1000, 1e-6),
]
"""Shift, steps and delta: a cut tail, low orders, a cut that shows, high orders, very high ones."""


@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize(("shift", "steps", "delta"), LARGE_NOISE)
def test_large_noise_by_a_convolution(shift: float, steps: int, delta: float, turned: bool) -> None:
    product = one_way(shift, steps, turned=turned)
    epsilon = float(product.epsilon(np.array([delta]))[0])
    low, high = (float(bound[0]) for bound in product.delta_bounds(np.array([epsilon])))
    fine, coarse = (summed_delta(shift, steps, epsilon, turned, cells) for cells in (1500, 750))
    assert low <= fine and 0 < high - low < 1e-8 * high
    assert low == pytest.approx((4 * fine - coarse) / 3, rel=3e-6)  # its errors are quadratic


@pytest.mark.parametrize("epochs", [1, 10, 60])
@pytest.mark.parametrize("steps", [10, 1000])
@pytest.mark.parametrize("noise", [2.0, 5.0, 10.0, 300.0])
def test_intervals_are_narrow_whatever_the_noise(noise: float, steps: int, epochs: int) -> None:
    low, high = one_way(1 / noise, steps, epochs).epsilon_bounds(np.array([1e-6]))
    assert 0 < low[0] <= high[0] < low[0] * (1 + 1e-6)


def disagreement(shift: float, steps: int, order: float) -> float:
    """Of moments of high order with those of low order, where both are known, in units of claimed errors."""
    y, low, high = 2.0 * np.arange(20), LognormalMean(shift, steps), HighOrders(shift, steps)
    pairs = [(low.line(order, 2.0, 20), high.line(order, y))]
    other = low.line(-order, 2.0, 20)
    pairs.append((other._replace(values=other.values.conj()), high.negative(np.array([order]), y)))
    gaps = [np.abs(np.exp(a.values - b.values) - 1) / (a.errors + b.errors) for a, b in pairs]
    return float(np.max(gaps))


@pytest.mark.parametrize(("shift", "steps"), [(0.3, 100), (0.2, 50), (0.05, 10)])
def test_high_orders_agree_with_low_ones(shift: float, steps: int) -> None:
    assert max(disagreement(shift, steps, order) for order in (18.0, 40.0)) <= 1
    orders = np.array([18.0, 40.0])
    exact = LognormalMean(shift, steps).log_moments(orders)[0]
    bound = HighOrders(shift, steps).at_most(orders)
    assert (exact <= bound).all() and (bound < exact + 0.1).all()


def test_mistakes_at_high_orders_are_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """Planted: one panel for the normal variable, said to be exact; a cut too early, said to miss nothing; an
    integral along a ray that stops early."""
    for module, name, value in (
        (lognormal_step, "_PANELS", 1),
        (high_orders, "_CUTS", np.array([4.0])),
        (high_orders, "_BELOW", 4.0),
    ):
        with monkeypatch.context() as planted:
            planted.setattr(module, name, value)
            planted.setattr(Step, "error", 0.0)
            planted.setattr(Step, "_log_errors", lambda self, middle, half: np.full(half.shape, -100.0))
            planted.setattr(
                HighOrders, "log_missing", lambda self, order, cut: np.full(np.shape(cut), -100.0)
            )
            assert disagreement(0.3, 100, 18.0) > 1, name


def test_an_epoch_that_is_cut_falls_more_slowly(monkeypatch: pytest.MonkeyPatch) -> None:
    """The envelope of a law that is cut off early, beyond a frequency, against its transform there: what
    would be enough for the whole law is not."""
    monkeypatch.setattr(AllocationPair, "_cut", lambda self, log_cut: 3.0)
    y = np.linspace(0.0, 400.0, 33)
    values, errors = HighOrders(0.05, 3, 3.0).line(40.0, y)
    assert (errors < 1e-6).all()
    for frequency in (200.0, 300.0):
        bound = AllocationPair(0.05, 3).log_envelope(Resolution((40.0, 40.0), frequency, -20.0))
        reached = float((values.real - values[0].real)[y >= frequency].max())
        assert LognormalMean(0.05, 3).log_fall(frequency) < reached <= bound


@pytest.mark.parametrize(
    ("shift", "steps", "epochs"), [(1.0, 2, 1), (0.9, 40, 3), (2.0, 20, 1), (0.3, 10, 4)]
)
def test_no_more_than_without_amplification_and_no_less_than_over_more_steps(
    shift: float, steps: int, epochs: int
) -> None:
    """Allocation over more steps is that over fewer with the steps hidden among others, so it tells less;
    over one it is the Gaussian."""
    epsilon, orders = np.array([0.0, 0.5, 2.0]), [0.5, 0.9995, 1.0, 1.0005, 2.0, 7.0, 60.0, 1000.0]
    counts = (steps, steps + 1, 2 * steps)
    for turned in (False, True):
        alone = Product.of([(GaussianPair(shift), epochs)])
        most, divergence = alone.delta_bounds(epsilon)[1], np.array([alone.renyi(order) for order in orders])
        for product in (one_way(shift, count, epochs, turned=turned) for count in counts):
            low, high = product.delta_bounds(epsilon)
            assert (low <= most * (1 + 1e-9)).all() and (high <= most * (1 + 1e-6)).all()
            found = np.array([product.renyi(order) for order in orders])
            assert (found <= divergence * (1 + 1e-9)).all() and (np.diff(found) >= -1e-9 * found[1:]).all()
            most, divergence = high, found


def test_one_step_and_all_steps_are_the_gaussian() -> None:
    assert Gaussian(2).allocate(1).guarantee() == Gaussian(2).guarantee()
    assert Gaussian(2).allocate(7, times=7).guarantee().epsilon(1e-5) == (
        7 * Gaussian(2)
    ).guarantee().epsilon(1e-5)
    assert Gaussian(2).allocate(7, times=0).guarantee().epsilon(0) == 0


def test_more_draws_are_bounded_and_say_so() -> None:
    once, thrice = (Gaussian(1.5).allocate(60, times=k).guarantee() for k in (1, 3))
    first, more = (one.epsilon_interval(1e-5) for one in (once, thrice))
    assert first.low == pytest.approx(first.high, rel=1e-6) and more.low < 0.9 * more.high
    assert thrice.epsilon(1e-5) == (3 * Gaussian(1.5).allocate(20)).guarantee().epsilon(1e-5)
    assert once.epsilon(1e-5) < thrice.epsilon(1e-5) < (3 * Gaussian(1.5)).guarantee().epsilon(1e-5)


@pytest.mark.parametrize("other", [Laplace(5), Gaussian(0.3).subsample(1e-3), Gaussian(3).allocate(5)])
def test_composed_it_tells_no_less_than_its_parts(other: Any) -> None:
    part = 5 * Gaussian(1.2).allocate(50)
    whole = (part + other).guarantee()
    for one in (part.guarantee(), other.guarantee()):
        assert whole.epsilon(1e-5) >= one.epsilon_interval(1e-5).low
        assert (whole.delta([0.1, 1.0, 9.0]) >= one.delta_interval([0.1, 1.0, 9.0]).low).all()


def test_a_shift_beyond_reach_is_read_without_amplification() -> None:
    g = Gaussian(0.05).allocate(100).guarantee()
    assert g.epsilon_interval(1e-5).low == pytest.approx(Gaussian(0.5).guarantee().epsilon(1e-5), rel=1e-9)
    assert g.epsilon(1e-5) == pytest.approx(Gaussian(0.05).guarantee().epsilon(1e-5), rel=1e-6)


def test_bad_arguments_are_named() -> None:
    for make, name in (
        (lambda: Gaussian(1).allocate(0), "steps"),
        (lambda: Gaussian(1).allocate(3, times=4), "times"),
        (lambda: Gaussian(1).allocate(2.5), "steps"),  # type: ignore[arg-type]
        (lambda: Laplace(1).allocate(3), "base"),
    ):
        with pytest.raises(ArgumentError, match=f"^{name} must be"):
            make()


def test_a_record_is_replaced_in_two_hops() -> None:
    """Between what an empty record tells, and the bound with half of epsilon for each hop; several epochs hop
    as a whole; and no more than without amplification, which a single step is."""
    run = 4 * Gaussian(1.1).allocate(10)
    one, two = run.guarantee(), run.guarantee("replace-one")
    half = 2.0
    found = two.delta_interval(2 * half)
    low, high = found.low, found.high
    assert one.delta(2 * half) <= low * (1 + 1e-6)
    assert low < high <= one.delta(half) * (1 + math.exp(half))
    assert high <= one.group(2).delta(2 * half) * (1 + 1e-3)
    parts = (3 * run.base).guarantee("replace-one") + run.base.guarantee("replace-one")  # type: ignore[attr-defined]
    assert parts.delta(2 * half) == two.delta(2 * half)
    alone = (4 * Gaussian(1.1, 2)).guarantee("replace-one")
    assert one.renyi(2) < two.renyi(2) < alone.renyi(2)
    assert Gaussian(2).allocate(1).guarantee("replace-one").epsilon(1e-5) == Gaussian(1).guarantee().epsilon(
        1e-5
    )


def density(moves: list[tuple[float, ...]], at: Array) -> Array:
    """Of noise around each of some places, drawn at random, at points in rows."""
    gaps = at[:, None, :] - np.array(moves)[None]
    return np.exp(-(gaps**2).sum(axis=2) / 2).mean(axis=1) / (2 * math.pi) ** (at.shape[1] / 2)


def brute_delta(one: list[tuple[float, ...]], other: list[tuple[float, ...]], epsilon: float) -> float:
    """By a plain sum over a grid."""
    axis = np.arange(-9.0, 9.0, 0.06 if len(one[0]) == 2 else 0.15)
    at = np.stack([part.ravel() for part in np.meshgrid(*[axis] * len(one[0]))], axis=1)
    p, q = density(one, at), density(other, at)
    cell = float(axis[1] - axis[0]) ** len(one[0])
    return float(np.maximum(p - math.exp(epsilon) * q, 0.0).sum()) * cell


@pytest.mark.parametrize(("noise", "epsilon"), [(1.0, 2.0), (1.0, 0.5), (2.0, 1.0), (0.7, 4.0)])
def test_a_replaced_record_by_a_plain_sum(noise: float, epsilon: float) -> None:
    """Of two steps, a record that is emptied or turned round: the worse of both is between the bounds."""
    s = 1 / noise
    there, turned = [(s, 0.0), (0.0, s)], [(-s, 0.0), (0.0, -s)]
    known = [brute_delta(there, other, epsilon) for other in ([(0.0, 0.0)], turned)]
    found = Gaussian(noise).allocate(2).guarantee("replace-one").delta_interval(epsilon)
    assert found.low * (1 - 1e-3) <= max(known) <= found.high * (1 + 1e-3)
    assert found.low > 0.3 * max(known)
    place = Gaussian(noise).allocate(2).guarantee("replace-one").epsilon_interval(max(known))
    assert 0 < place.low <= epsilon * (1 + 1e-3) and epsilon <= place.high * (1 + 1e-3)


@pytest.mark.parametrize(("noise", "times", "epsilon"), [(1.0, 2, 1.0), (2.0, 2, 0.5), (0.8, 1, 2.0)])
def test_several_of_three_steps_by_a_plain_sum(noise: float, times: int, epsilon: float) -> None:
    s = 1 / noise
    moves = [tuple(s * (k in chosen) for k in range(3)) for chosen in combinations(range(3), times)]
    both = brute_delta(moves, [(0.0, 0.0, 0.0)], epsilon), brute_delta([(0.0, 0.0, 0.0)], moves, epsilon)
    g = Gaussian(noise).allocate(3, times=times).guarantee()
    found = g.delta_interval(epsilon)
    # the sum is known to a hundredth
    assert 0 <= found.low * 0.99 <= max(both) <= found.high * 1.01
    place = g.epsilon_interval(max(both))
    assert place.low <= epsilon * 1.01 and epsilon <= place.high * 1.01


def test_several_draws_have_a_lower_end() -> None:
    """What the sum of all steps tells: Gaussian noise, moved by times / sqrt(steps)."""
    g = (7 * Gaussian(2.0).allocate(10, times=4)).guarantee()
    alone = Gaussian(2.0 * math.sqrt(10 / 7) / 4).guarantee()
    found = g.epsilon_interval(1e-6)
    assert found.low == pytest.approx(alone.epsilon(1e-6), rel=1e-9) and found.low < found.high
    assert g.delta_interval(2.0).low == pytest.approx(alone.delta(2.0), rel=1e-9)
    # but not where it only bounds something else
    assert as_bound(g).epsilon_interval(1e-6).low == 0


@pytest.mark.parametrize(("noise", "steps", "delta"), [(10.0, 3, 1e-14), (5.0, 10, 1e-30), (5.0, 50, 1e-50)])
def test_few_steps_and_a_tiny_delta_have_a_lower_end(noise: float, steps: int, delta: float) -> None:
    found = Gaussian(noise).allocate(steps).guarantee().epsilon_interval(delta)
    alone = Gaussian(noise * math.sqrt(steps)).guarantee().epsilon(delta)
    assert alone * (1 - 1e-9) <= found.low <= found.high < 2 * alone


def test_other_noise_hops_along() -> None:
    """Gaussian noise goes half the way in each hop, and nothing is lost by that; anything else is composed
    with a table of hops."""
    run = 5 * Gaussian(1.0).allocate(20)
    both = (run + Gaussian(3)).guarantee("replace-one")
    apart = run.guarantee("replace-one").epsilon(1e-6)
    assert apart < both.epsilon(1e-6) < apart + Gaussian(3).guarantee("replace-one").epsilon(1e-6)
    little = (run + Gaussian(1e6)).guarantee("replace-one")
    assert little.epsilon(1e-6) == pytest.approx(apart, rel=1e-4)
    table = (run + Laplace(1e5)).guarantee("replace-one")
    assert apart <= table.epsilon(1e-6) * (1 + 1e-6)
    assert table.epsilon(1e-6) == pytest.approx(apart, rel=2e-4)


def test_whole_orders_are_bounds() -> None:
    """Against sums of products of moments, and between them against the integral."""
    for shift, steps in ((0.9, 234), (0.2, 7)):
        law, whole = LognormalMean(shift, steps), np.log(whole_moments(shift, steps, 12))
        found = law._log_wholes(12)
        assert (found >= whole - 1e-14).all() and (found < whole + 1e-10).all()
        between = np.array([3.5, 7.25])
        exact = law.log_moments(between)[0]
        assert (exact <= law._from_whole_orders(between)).all()


def test_a_pair_for_several_draws_is_never_called_exact() -> None:
    ((pair, count),) = allocation(1.0, 10, 3).terms
    assert count == 3 and not pair.exact and dataclasses.replace(pair, dominates=False).exact  # type: ignore[type-var]


def test_a_series_to_a_power() -> None:
    rng = np.random.default_rng(5)
    for count in (1, 2, 3, 40):
        series: Array = rng.random((9, 2))
        direct = series
        for _ in range(count - 1):
            direct = np.stack([np.convolve(direct[:, c], series[:, c])[:9] for c in (0, 1)], axis=1)
        np.testing.assert_allclose(power_of_series(series, count), direct, rtol=1e-12)


def test_tiny_delta_is_answered_and_parts_of_one_step_are_gaussian() -> None:
    # bounds that are no numbers any more raised OverflowError
    tiny = Gaussian(16.201471366186958).allocate(16).guarantee()
    assert 0 < tiny.epsilon(1.7e-99) <= Gaussian(16.201471366186958).guarantee().epsilon(1.7e-99)
    noise = Gaussian(1.7329699404888446)
    both = noise.allocate(3, times=2).guarantee().epsilon(1.9608086944803932e-07)
    assert both <= (2 * noise).guarantee().epsilon(1.9608086944803932e-07)
