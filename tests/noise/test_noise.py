"""Noise is exactly what was accounted: its law, its rare path, its source, and what is released with it."""

import json
import math
import os
from fractions import Fraction
from pathlib import Path
from typing import Any

import mpmath
import numpy as np
import pytest
from scipy.special import gammaincc, kolmogorov, ndtr

from indistinct import (
    ArgumentError,
    DiscreteGaussian,
    DiscreteLaplace,
    Exponential,
    Gaussian,
    Laplace,
    Mechanism,
    PermuteAndFlip,
    RandomizedResponse,
    ReportNoisyMax,
)
from indistinct.noise import (
    NotPrivateSource,
    Source,
    SystemSource,
    bernoulli,
    bernoulli_exp,
    discrete_gaussian,
    discrete_laplace,
    exact_uniform,
    geometric,
    random_order,
    samplers,
    uniform_below,
)

UNLIKELY = 1e-6
"""A correct sampler fails a test with about this probability; seeds are fixed, so that it does not."""


def chi_square(draws: np.ndarray, mass: Any) -> float:
    """p-value of the counts of integers k = -reach, ..., reach and of all others, against their masses."""
    reach = 1
    while draws.size * mass(reach + 1) > 20:
        reach += 1
    places = np.arange(-reach, reach + 1)
    expected = draws.size * np.array([mass(abs(int(k))) for k in places])
    seen = np.bincount(np.clip(draws + reach + 1, 0, 2 * reach + 2), minlength=2 * reach + 3)
    outside = draws.size - expected.sum()
    seen = np.append(seen[1:-1], seen[0] + seen[-1])
    expected = np.append(expected, max(outside, 1e-9))
    if expected[-1] < 5:
        seen, expected = seen[:-1], expected[:-1]
    statistic = float(((seen - expected) ** 2 / expected).sum())
    return float(gammaincc((expected.size - 1) / 2, statistic / 2))


def gaussian_mass(scale: float) -> Any:
    total = math.fsum(math.exp(-0.5 * (k / scale) ** 2) for k in range(-2000, 2001))
    return lambda k: math.exp(-0.5 * (k / scale) ** 2) / total


def laplace_mass(scale: float) -> Any:
    return lambda k: math.tanh(0.5 / scale) * math.exp(-k / scale)


LAWS = [
    (sampler, scale)
    for sampler in (discrete_laplace, discrete_gaussian)
    for scale in (0.2, 0.7, 1.0, 3.3, Fraction(100, 7))
]


def mass_of(sampler: Any, scale: Any) -> Any:
    return (laplace_mass if sampler is discrete_laplace else gaussian_mass)(float(scale))


def named(value: object) -> str:
    """The same in every worker: a function's name, not its address."""
    return getattr(value, "__name__", str(value))


@pytest.mark.parametrize(("sampler", "scale"), LAWS, ids=named)
def test_law_on_a_million_draws(sampler: Any, scale: Any) -> None:
    assert chi_square(sampler(scale, 10**6, NotPrivateSource(1)), mass_of(sampler, scale)) > UNLIKELY


@pytest.mark.slow
@pytest.mark.system_noise
@pytest.mark.parametrize(("sampler", "scale"), [LAWS[4], LAWS[9]], ids=named)
def test_law_on_draws_of_the_system(sampler: Any, scale: Any) -> None:
    assert chi_square(sampler(scale, 10**6, SystemSource()), mass_of(sampler, scale)) > 1e-18


@pytest.mark.parametrize("scale", [1e3, 1e6, 2.0**36 + 1, 1e15, 1e25])
@pytest.mark.parametrize("sampler", [discrete_laplace, discrete_gaussian])
def test_kolmogorov_of_large_scales(sampler: Any, scale: float) -> None:
    """With a million steps to a scale a law on the integers is its continuous limit to 1e-6."""
    count = 10**6 if scale < 1e16 else 10**4
    assert kolmogorov_test(sampler(scale, count, NotPrivateSource(2)), sampler, scale) > UNLIKELY


@pytest.mark.slow
@pytest.mark.system_noise
@pytest.mark.parametrize("sampler", [discrete_laplace, discrete_gaussian])
def test_kolmogorov_of_draws_of_the_system(sampler: Any) -> None:
    assert kolmogorov_test(sampler(2.0**36, 10**6), sampler, 2.0**36) > 1e-18


def kolmogorov_test(draws: np.ndarray, sampler: Any, scale: float) -> float:
    x = np.sort((draws + 0.5) / scale if draws.dtype != object else draws.astype(float) / scale)
    tail = 0.5 * np.exp(-np.abs(x))
    cdf = ndtr(x) if sampler is discrete_gaussian else np.where(x < 0, tail, 1 - tail)
    steps = np.arange(1, x.size + 1) / x.size
    distance = max(np.abs(steps - cdf).max(), np.abs(steps - 1 / x.size - cdf).max())
    slack = 1 / scale  # the law itself is that far from its limit
    return float(kolmogorov((distance - slack) * math.sqrt(x.size)))


@pytest.mark.slow
@pytest.mark.parametrize("sampler", [discrete_laplace, discrete_gaussian])
def test_tail_far_out(sampler: Any) -> None:
    """Forty draws of four million: if there were none, or twice as many, it would be seen."""
    scale, count = 20.0, 4 * 10**6
    mass, cut = mass_of(sampler, scale), 0
    while 2 * math.fsum(mass(k) for k in range(cut, cut + 400)) > 1e-5:
        cut += 1
    expected = count * 2 * math.fsum(mass(k) for k in range(cut, cut + 400))
    seen = int((np.abs(sampler(scale, count, NotPrivateSource(3))) >= cut).sum())
    assert abs(seen - expected) < 5 * math.sqrt(expected) < expected


def test_geometric_and_coins() -> None:
    source = NotPrivateSource(4)
    for scale in (0.3, 2.5, 1e7):
        draws = geometric(scale, 10**6, source)
        for k in (1, math.ceil(scale), math.ceil(3 * scale)):
            chance = math.exp(-k / scale)
            assert abs((draws >= k).mean() - chance) < 5e-3 * math.sqrt(chance) + 1e-5
    for exponent in (0, 1e-3, Fraction(1, 3), 2.0, 800):
        assert bernoulli_exp(exponent, 10**6, source).mean() == pytest.approx(math.exp(-exponent), abs=3e-3)
    assert bernoulli(Fraction(1, 3), 10**6, source).mean() == pytest.approx(1 / 3, abs=3e-3)
    assert np.bincount(uniform_below(5, 10**6, source)) == pytest.approx(np.full(5, 2e5), rel=1e-2)
    big = uniform_below(3 * 2**70, 50, source)
    assert 0 <= min(big) and 2**70 < max(big) < 3 * 2**70
    orders = np.array([random_order(3, source) for _ in range(6000)]) @ [9, 3, 1]
    assert np.unique(orders, return_counts=True)[1] == pytest.approx(np.full(6, 1000), abs=200)


# -- the exact path -------------------------------------------------------------------------------


@pytest.mark.parametrize("exponent", ["0.5", "1e-30", "1/3", "7", "40", "300", "5000"])
@pytest.mark.parametrize("bits", [64, 200, 1000])
def test_intervals_contain_the_exponential(exponent: str, bits: int) -> None:
    x = Fraction(exponent)
    low, high, width = exact_uniform.exp_interval(x, bits)
    with mpmath.workprec(bits + width + 200):
        truth = mpmath.exp(-mpmath.mpf(x.numerator) / x.denominator) * mpmath.mpf(2) ** width
        assert low <= truth <= high
    assert high - low <= 2 ** max(width - bits, 0)


@pytest.mark.parametrize("scale", [0.4, 3.0, 1e4, 1e9])
@pytest.mark.parametrize("sampler", [geometric, discrete_laplace, discrete_gaussian])
def test_rare_path_agrees_with_the_fast_one(
    sampler: Any, scale: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """From the same bits, float64 and integers make the same draw."""
    fast = sampler(scale, 3000, NotPrivateSource(5))
    monkeypatch.setattr(samplers, "_MARGIN", 2.0)
    monkeypatch.setattr(samplers, "_LOG_MARGIN", 2.0)
    assert (sampler(scale, 3000, NotPrivateSource(5)) == fast).all()


class Scripted(Source):
    """Words written beforehand, then zeros."""

    private = False

    def __init__(self, *words: int) -> None:
        self.script = list(words)

    def words(self, count: int) -> np.ndarray:
        taken, self.script = self.script[:count], self.script[count:]
        return np.array(taken + [0] * (count - len(taken)), dtype=np.uint64)


def test_undecided_words_ask_for_more_bits() -> None:
    # the first 64 bits of 1/e: the next ones decide
    low, _, width = exact_uniform.exp_interval(Fraction(1), 200)
    head, more = low >> (width - 64), low >> (width - 128) & (2**64 - 1)
    assert bernoulli_exp(1, 1, Scripted(head, more - 1))[0]
    assert not bernoulli_exp(1, 1, Scripted(head, more + 1))[0]
    assert bernoulli_exp(1, 1, Scripted(head, more, 0))[0]
    assert not bernoulli_exp(1, 1, Scripted(head, more, 2**64 - 1))[0]
    # geometric: U just below and just above e^{-1/scale}, scale 1
    assert geometric(1, 1, Scripted(head, more - 1))[0] == 1
    assert geometric(1, 1, Scripted(head, more + 1))[0] == 0
    third = (2**64) // 3
    assert bernoulli(Fraction(1, 3), 1, Scripted(third, third - 1))[0]
    assert not bernoulli(Fraction(1, 3), 1, Scripted(third, third + 1))[0]


def test_uniform_number_of_almost_nothing_but_zeros() -> None:
    draw = geometric(1.0, 1, Scripted(0, 0, 1))[0]
    assert draw == math.floor(192 * math.log(2))
    assert geometric(1e6, 1, Scripted(1))[0] == pytest.approx(1e6 * 64 * math.log(2), rel=0.02)


def test_margins_are_wider_than_rounding() -> None:
    """float64 against many digits: the errors stay a hundred times below what is called undecided."""
    rng = np.random.default_rng(0)
    width, sizes = 12345.678, np.rint(rng.exponential(12345.678, 2000))
    exponents = 0.5 * (sizes / width - 1.0) ** 2
    for size, exponent in zip(sizes, exponents, strict=True):
        truth = mpmath.exp(-((mpmath.mpf(int(size)) / mpmath.mpf(width) - 1) ** 2) / 2)
        assert abs(math.exp(-exponent) - truth) < 0.01 * samplers._MARGIN


def test_margin_of_logarithms_is_wider_than_rounding() -> None:
    words = NotPrivateSource(14).words(1000) >> np.arange(1000, dtype=np.uint64) % np.uint64(17)
    words = words[words >= samplers._FEW_BITS]  # the others are drawn exactly
    logs = -np.log((words + 0.5) * 2.0**-64)
    with mpmath.workdps(40):
        for word, log in zip(words.tolist(), logs.tolist(), strict=True):
            # U lies anywhere between word and word + 1
            ends = [-mpmath.log(mpmath.mpf(end) / 2**64) for end in (word, word + 1)]
            assert max(abs(log - end) for end in ends) < 0.2 * samplers._LOG_MARGIN * (1 + log)


@pytest.mark.parametrize("scale", [1e-300, 1e-9, 1e300, Fraction(1, 10**200)])
def test_extreme_scales(scale: Any) -> None:
    for sampler in (geometric, discrete_laplace, discrete_gaussian):
        draws = sampler(scale, 20, NotPrivateSource(6))
        assert (draws == 0).all() if scale < 1 else max(abs(draws)) > 1e299
    assert discrete_gaussian(3, (2, 5)).shape == (2, 5)
    assert discrete_laplace(3, 0).size == discrete_gaussian(3, (0, 2)).size == 0


# -- sources --------------------------------------------------------------------------------------


@pytest.mark.system_noise
def test_system_source_repeats_nothing_even_after_a_fork() -> None:
    assert SystemSource().private and not (discrete_gaussian(1e25, 9) == discrete_gaussian(1e25, 9)).any()
    source = SystemSource()
    source.words(3)
    end, start = os.pipe()
    child = os.fork()
    if child == 0:
        os.write(start, source.words(4).tobytes())
        os._exit(0)
    os.waitpid(child, 0)
    assert os.read(end, 32) != source.words(4).tobytes()
    os.close(end)
    os.close(start)


def test_seeded_source_says_that_it_is_not_private() -> None:
    first, second = (Gaussian(scale=1).release(3.0, source=NotPrivateSource(7)) for _ in range(2))
    assert first.values == second.values and not first.private
    assert "NOT PRIVATE" in repr(first)
    assert first.guarantee().epsilon(delta=1e-5) == math.inf and first.guarantee().delta(10.0) == 1
    private = Gaussian(scale=1).release(3.0)
    assert private.private and "NOT" not in repr(private)


# -- the attack -----------------------------------------------------------------------------------


def possible(outputs: np.ndarray, value: float) -> np.ndarray:
    """Whether NumPy's generator, which adds the logarithm of a multiple of 2^-53, turns value into these."""
    noise = outputs - value
    found = np.zeros(outputs.shape, dtype=bool)
    nearest = np.rint(np.exp(-np.abs(noise)) * 2.0**53)
    for step in range(-16, 17):
        uniform = np.clip(nearest + step, 1, 2.0**53) * 2.0**-53
        size = -np.array([math.log(u) for u in uniform])
        found |= value + np.sign(noise) * size == outputs
    return found


def test_least_significant_bits_betray_naive_noise_and_not_ours() -> None:
    """Mironov (2012): a value plus a float logarithm is one of few floats, and others for another value.

    Of one event, "possible from 1 and not from 0", scale 1 promises P(event | 1) <= e P(event | 0).
    """
    count, rng = 5000, np.random.default_rng(8)

    def rate(outputs: np.ndarray) -> float:
        return float((possible(outputs, 1.0) & ~possible(outputs, 0.0)).mean())

    assert rate(rng.laplace(0.0, 1.0, count)) < 1e-3
    assert rate(rng.laplace(1.0, 1.0, count)) > 0.5  # more than every other output is proof
    laplace, source = Laplace(scale=1), NotPrivateSource(8)
    ours = [laplace.release(np.full(count, value), source=source) for value in (0.0, 1.0)]
    rates = [rate(release.values) for release in ours]
    assert max(rates) < math.e * min(rates) + 0.02
    for release in ours:  # the same lattice, whatever the value
        places = release.values / release.unit
        assert (places == np.rint(places)).all()


# -- pairs of the discrete laws -------------------------------------------------------------------

ROWS: list[dict[str, Any]] = json.loads(
    (Path(__file__).parents[1] / "reference" / "lattice.json").read_text(encoding="utf-8")
)
KINDS: dict[str, Any] = {kind.kind: kind for kind in (DiscreteLaplace, DiscreteGaussian, Exponential)}


@pytest.mark.parametrize("row", ROWS, ids=lambda row: " ".join(map(str, row.values()))[:60])
def test_readings_agree_with_many_digits(row: dict[str, Any]) -> None:
    mechanism: Mechanism = KINDS[row["kind"]](float(row["scale"]), row["sensitivity"])
    guarantee, truth = (row["steps"] * mechanism).guarantee(), float(row["value"])
    value = getattr(guarantee, row["reading"])(float(row["at"]))
    assert value == pytest.approx(truth, rel=1e-8 if row["steps"] == 1 else 1e-7)
    assert value >= truth * (1 - 1e-11)


def test_sensitivity_of_integers_is_an_integer_up_to_rounding() -> None:
    for family in (DiscreteLaplace, DiscreteGaussian):
        three = family(scale=4, sensitivity=3).guarantee().delta(0.1)
        assert family(scale=4, sensitivity=3.7).guarantee().delta(0.1) == three
        assert family(scale=4, sensitivity=0.1 * 3 / 0.1 - 1e-12).guarantee().delta(0.1) == three
        assert family(scale=4, sensitivity=2.9).guarantee().delta(0.1) < three


@pytest.mark.parametrize("scale", [1024.0, 3000.5, 1e5])
def test_fine_gaussian_bounds_the_lattice_sum(scale: float) -> None:
    """From scale 1024 on a continuous pair stands for the lattice: above the sum, and by almost nothing."""
    shift = round(scale)
    k = np.arange(-12 * shift, 13 * shift + 1)
    q, p = (np.exp(-0.5 * ((k - c) / scale) ** 2) for c in (0, shift))
    for epsilon in (0.0, 0.5, 3.0, 7.0):
        truth = float(np.maximum(p - math.exp(epsilon) * q, 0).sum() / q.sum())
        value = DiscreteGaussian(scale=scale, sensitivity=shift).guarantee().delta(epsilon)
        assert truth * (1 - 1e-12) <= value <= truth * (1 + 1e-5)


def test_fine_laplace_bounds_the_lattice() -> None:
    for scale, shift in ((1000.0, 5001), (5000.0, 4999)):
        k = np.arange(-30 * int(scale), 40 * int(scale))
        q, p = (np.exp(-np.abs(k - c) / scale) for c in (0, shift))
        for epsilon in (0.0, 0.1, 0.5):
            truth = float(np.maximum(p - math.exp(epsilon) * q, 0).sum() / q.sum())
            value = DiscreteLaplace(scale=scale, sensitivity=shift).guarantee().delta(epsilon)
            assert truth * (1 - 1e-9) <= value <= truth * (1 + 1e-6)


# -- releases -------------------------------------------------------------------------------------


@pytest.mark.parametrize("mechanism", [Gaussian(scale=3, sensitivity=2), Laplace(scale=3, sensitivity=2)])
def test_release_is_the_value_plus_the_noise(mechanism: Mechanism) -> None:
    values = np.linspace(-50, 50, 20_000).reshape(4, 5000)
    release = mechanism.release(values)  # type: ignore[attr-defined]
    noise = release.values - values
    expected = 3.0 if isinstance(mechanism, Gaussian) else 3.0 * math.sqrt(2)
    assert noise.shape == values.shape and abs(noise.mean()) < 7 * expected / math.sqrt(noise.size)
    assert noise.std() == pytest.approx(expected, rel=0.05)
    # the rounding of 20,000 numbers is counted, and costs next to nothing
    own, run = mechanism.guarantee(), release.guarantee()
    assert own.epsilon(1e-6) < run.epsilon(1e-6) < own.epsilon(1e-6) * (1 + 1e-5)
    assert isinstance(mechanism.release(5).values, float)  # type: ignore[attr-defined]


def test_release_of_large_and_small_values() -> None:
    huge = Gaussian(scale=1e-6).release([1e15, -1e15])
    assert huge.values == pytest.approx([1e15, -1e15])
    assert Gaussian(scale=1e-200).release(0.0).values == pytest.approx(0, abs=1e-198)
    integers = DiscreteGaussian(scale=2).release([10**30, -5])
    assert abs(integers.values[0] - 10**30) < 100
    assert isinstance(DiscreteLaplace(scale=2).release(7).values, int)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: Gaussian(scale=1).release([1.0, math.nan]), "values"),
        (lambda: Laplace(scale=1).release(math.inf), "values"),
        (lambda: Gaussian(scale=1).release("text"), "values"),
        (lambda: Gaussian(scale=1).release([[1.0], [1.0, 2.0]]), "values"),
        (lambda: Gaussian(scale=1e-200).release(1e300), "values"),
        (lambda: Gaussian(scale=1).release(2**53 + 1), "values"),
        (lambda: Laplace(scale=1).release([1, 10**30]), "values"),
        (lambda: Gaussian(scale=1e-308).release(1.0), "scale"),
        (lambda: DiscreteGaussian(scale=1).release(1.5), "integers"),
        (lambda: DiscreteLaplace(scale=1).release([True]), "integers"),
        (lambda: RandomizedResponse(truth=0.7).release([0, 2]), "answers"),
        (lambda: RandomizedResponse(truth=0.5).estimate([0, 1]), "truth"),
        (lambda: Exponential(scale=1).release([]), "qualities"),
        (lambda: PermuteAndFlip(scale=1).release([[1.0]]), "qualities"),
        (lambda: ReportNoisyMax(scale=1).release([math.nan]), "qualities"),
        (lambda: Exponential(scale=1, monotonic=2), "monotonic"),
        (lambda: discrete_gaussian(0, 3), "scale"),
        (lambda: discrete_laplace(math.nan, 3), "scale"),
        (lambda: discrete_laplace("1", 3), "scale"),
        (lambda: discrete_gaussian(1, -1), "size"),
        (lambda: geometric(1, 1, np.random.default_rng(0)), "source"),
        (lambda: bernoulli(1.5, 1), "probability"),
        (lambda: bernoulli_exp(-1, 1), "exponent"),
        (lambda: uniform_below(0, 1), "bound"),
    ],
)
def test_bad_input_is_refused(call: Any, message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        call()


def test_responses_and_their_estimate() -> None:
    truth = np.repeat([0, 1, 2], [20_000, 30_000, 50_000])
    mechanism = RandomizedResponse(truth=0.6, categories=3)
    release = mechanism.release(truth, source=NotPrivateSource(9))
    same = release.values == truth
    assert same.mean() == pytest.approx(0.6, abs=0.01) and not release.private
    assert np.bincount(release.values[(truth == 1) & ~same]) == pytest.approx([6000, 0, 6000], abs=300)
    counts, errors = mechanism.estimate(release.values)
    assert (np.abs(counts - [20_000, 30_000, 50_000]) < 5 * errors).all()
    assert counts.sum() == pytest.approx(1e5)


QUALITIES = np.array([0.0, 1.0, 2.5, 2.25])


def drawn(mechanism: Any, count: int = 8000) -> np.ndarray:
    source = NotPrivateSource(10)
    picks = [mechanism.release(QUALITIES, source=source).values for _ in range(count)]
    return np.bincount(picks, minlength=4) / count


def test_exponential_mechanism_has_its_law() -> None:
    weights = np.exp(QUALITIES / 0.8)
    assert drawn(Exponential(scale=0.8)) == pytest.approx(weights / weights.sum(), abs=0.02)


def test_permute_and_flip_is_noisy_max_with_exponential_noise() -> None:
    rng = np.random.default_rng(11)
    noisy = np.argmax(QUALITIES + rng.exponential(0.8, (10**5, 4)), axis=1)
    assert drawn(PermuteAndFlip(scale=0.8)) == pytest.approx(np.bincount(noisy) / 10**5, abs=0.02)


def test_noisy_max_has_its_law() -> None:
    rng = np.random.default_rng(12)
    noisy = np.argmax(QUALITIES + rng.laplace(0, 0.8, (10**5, 4)), axis=1)
    assert drawn(ReportNoisyMax(scale=0.8)) == pytest.approx(np.bincount(noisy) / 10**5, abs=0.02)


def selection_law(scale: float, qualities: np.ndarray) -> np.ndarray:
    weights = np.exp((qualities - qualities.max()) / scale)
    return weights / weights.sum()


def test_selection_guarantee_is_attained_and_never_exceeded() -> None:
    guarantee, epsilons = Exponential(scale=2).guarantee(), np.array([0.0, 0.2, 0.5, 0.9])
    bound, worst = guarantee.delta(epsilons), np.zeros(4)
    rng = np.random.default_rng(13)
    for trial in range(3000):
        qualities = rng.normal(0, 3, 2 if trial % 2 else 5)
        moves = rng.choice([-1.0, 1.0], qualities.size)
        q, p = selection_law(2, qualities), selection_law(2, qualities + moves)
        delta = np.maximum(p - np.exp(epsilons)[:, None] * q, 0).sum(axis=1)
        assert (delta <= bound * (1 + 1e-12)).all()
        worst = np.maximum(worst, delta)
    assert worst == pytest.approx(bound, rel=2e-3)
