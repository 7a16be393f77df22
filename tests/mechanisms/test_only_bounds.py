"""What only dominates a mechanism has no lower end, and what dominates both neighbours is read."""

import math
from collections.abc import Callable
from itertools import combinations, product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.special import ndtr

from indistinct import (
    AboveThreshold,
    ArgumentError,
    Budget,
    DiscreteGaussian,
    DrawnSum,
    Exponential,
    Gaussian,
    Laplace,
    PermuteAndFlip,
    RandomShift,
    ReportNoisyMax,
    TruncatedSum,
    dp_sgd,
    repeat_and_select,
)
from indistinct.guarantees.guarantee import ExactGuarantee
from indistinct.guarantees.noise_pairs import GaussianPair
from indistinct.guarantees.product import Product
from indistinct.ledger import Ledger
from indistinct.mechanisms.drawn_sums import more_than
from indistinct.workloads import (
    CorrelatedGaussian,
    IdentityStrategy,
    MatrixMechanism,
    Prefix,
    ToeplitzStream,
    TreeStream,
    banded_stream,
    optimise,
)


def test_distances_without_a_common_unit() -> None:
    """They were rounded up to multiples of a 256th, without a lower end: [0, 22.953] for the last three."""
    rare = RandomShift(1.0, (60.0, 0.1), (1e-6, 1 - 1e-6)).guarantee()
    assert rare.epsilon_interval(1e-5).low <= 0.34340051408871 <= rare.epsilon(1e-5)
    off = RandomShift(1.9635875, (1.0, 0.37616987), (0.09861997, 0.90138003)).guarantee()
    shifts, weights = np.array([1.0, 0.37616987]) / 1.9635875, np.array([0.09861997, 0.90138003])
    # tests are thresholds
    x = np.linspace(0.0, 12.0, 2_000_001)[:, None]
    truth = np.max(ndtr(shifts - x) @ weights - np.exp(0.8022147) * ndtr(-x[:, 0]))
    known = off.delta_interval(0.8022147)
    assert known.low <= truth * (1 + 1e-9) and truth <= known.high <= truth * (1 + 1e-6)
    three = 3 * RandomShift(0.27078, (0, 0.163098, 0.5, 0.519293, 0.9), (0.16, 1e-4, 0.2, 0.4, 0.2399))
    known = three.guarantee().epsilon_interval(1e-3)  # 22.9354983 by positive convolution
    assert [known.low, known.high] == pytest.approx([22.9354983] * 2, abs=1e-6)
    for known in (RandomShift(2, (0, 1, 2), (0.81, 0.18, 0.01)), RandomShift(1, (60.0,), (1.0,))):
        assert known.guarantee().epsilon_interval(1e-5).low > 0


def test_a_claim_is_read_as_it_is_stated() -> None:
    """A budget of just that epsilon is met: rounding in the pair behind the claim costs nothing."""
    for selection in (ReportNoisyMax(20.0), PermuteAndFlip(3.0, 2.0), AboveThreshold(10.0, 20.0)):
        known = selection.guarantee()
        assert known.epsilon(delta=0.0) == known.pure()
        assert known.delta(epsilon=known.pure()) == 0.0
        assert known.epsilon_interval(delta=[0.0, 0.01]).low.tolist() == [0.0, 0.0]
        assert known.group(3).epsilon(delta=0.0) == known.group(3).pure()


def selected_twice(width: float, epsilon: float) -> float:
    """Delta of two choices between two candidates by the exponential mechanism, adaptively, over all
    qualities: the first has losses t and t - width, the second is the worst for what is left of epsilon."""

    def alone(rest: float) -> float:
        inside = np.clip(rest, -width, width)
        return max(
            (1 - math.exp((inside - width) / 2)) ** 2 / (1 - math.exp(-width)), 1 - math.exp(rest), 0.0
        )

    worst = 0.0
    for t in np.linspace(0.0, width, 2001)[1:-1].tolist():
        share = (1 - math.exp(t - width)) / (1 - math.exp(-width))  # P(L = t)
        worst = max(worst, share * alone(epsilon - t) + (1 - share) * alone(epsilon - t + width))
    return worst


@pytest.mark.parametrize(("scale", "epsilon"), [(2.0, 0.3), (20.0, 0.02), (0.5, 1.0)])
def test_neighbours_that_are_worst_depend_on_epsilon(scale: float, epsilon: float) -> None:
    """So no neighbours have the pair that dominates: alone its profile is theirs, composed it is above. Lower
    ends said that two choices reveal 0.227 at least, where they reveal 0.206 at most."""
    one, two = (n * Exponential(scale=scale) for n in (1, 2))
    alone = one.guarantee().delta_interval(epsilon)
    assert alone.high - alone.low <= 1e-9 * alone.high
    truth, stated = selected_twice(2 / scale, epsilon), two.guarantee().delta_interval(epsilon)
    assert alone.low <= stated.low <= truth <= stated.high


@pytest.mark.parametrize(("scale", "size", "epsilon"), [(1.0, 100, 0.1823215568), (0.5, 200, 0.5877866649)])
def test_samples_of_a_fixed_size_composed(scale: float, size: int, epsilon: float) -> None:
    """Of P = (1-q) N(a) + q N(b) and Q = (1-q) N(a) + q N(c) with a, b, c at most 1 apart the worst, with the
    worst step after it, by integration over triangles: 3 % below the lower end that was stated."""
    q, step = size / 1000, Gaussian(scale=scale).subsample(size, of=1000)
    loss, delta = np.linspace(-12, 12, 4001), step.guarantee().delta
    after = np.where(loss >= 0, delta(np.abs(loss)), -np.expm1(loss) + np.exp(loss) * delta(np.abs(loss)))
    x, dx = np.linspace(-9 * scale - 1, 9 * scale + 2, 20_001, retstep=True)

    def normal(centre: float) -> Any:
        return np.exp(-((x - centre) ** 2) / (2 * scale**2)) / (scale * math.sqrt(2 * math.pi))

    worst = 0.0
    for b, c in product(np.linspace(-1, 1, 9).tolist(), repeat=2):
        if abs(b - c) <= 1:
            p, other = ((1 - q) * normal(0.0) + q * normal(centre) for centre in (b, c))
            worst = max(worst, float((p * np.interp(epsilon - np.log(p / other), loss, after)).sum()) * dx)
    stated = (2 * step).guarantee().delta_interval(epsilon)
    assert 0.9 * worst < stated.low <= worst * (1 + 1e-6) <= stated.high


def test_what_is_known_by_a_claim_has_no_lower_end() -> None:
    """Permute-and-flip at a scale of 2 reveals 0.3935 at epsilon 0, by a search, for 0.4621."""
    for mechanism in (PermuteAndFlip(2.0), ReportNoisyMax(2.0), AboveThreshold(3.0, 3.0)):
        assert mechanism.guarantee().delta_interval(0.0).low == 0.0
    fine = DiscreteGaussian(2000.0).guarantee().delta_interval(1e-4)
    assert 0 < fine.low < fine.high <= fine.low * (1 + 1e-6)


def test_strategies_whose_sensitivity_is_a_bound() -> None:
    """Two cells that move are charged as one that moves twice as far: 0.632 was a lower end of 0.448."""
    for noise, adjacency in product(("laplace", "gaussian"), ("add-remove", "replace-one")):
        for strategy in (IdentityStrategy(3), optimise(Prefix(3)).strategy):
            measured = MatrixMechanism(Prefix(3), strategy, scale=1.0, noise=noise).guarantee(adjacency)
            exact = strategy.column_profile() is not None and (noise, adjacency) == ("laplace", "add-remove")
            assert exact or measured.delta_interval(0.0).low == 0.0


def test_sampling_that_is_not_credited_has_no_lower_end() -> None:
    sharp = Gaussian(1, 201).subsample(1e-3).guarantee()
    assert sharp.delta_interval(1.0).low <= 1e-3 * (1 - 1e-12) and 1e-3 <= sharp.delta(1.0)


@pytest.mark.parametrize(
    ("others", "rate", "largest", "noise"),
    [
        ([-1.0], 0.5, 1, 1.0),
        ([1.0], 0.95, 1, 0.5),
        ([-1.0, 0.5, 1.0], 0.95, 3, 0.5),
        ([-1.0] * 4, 0.8, 1, 1.0),
        ([-1.0, -1.0, 0.0, 1.0], 0.2, 2, 2.0),
    ],
)
def test_truncated_sums_against_all_batches(
    others: list[float], rate: float, largest: int, noise: float
) -> None:
    """Deltas in both directions, of all samples and all that are kept of them, by plain sums over a grid: of
    one record more, which `of` may count or not, and of one that is replaced."""
    x = np.arange(-14, 14, 0.004)

    def law(vectors: list[float]) -> Any:
        density = np.zeros(x.size)
        for joined in product([0, 1], repeat=len(vectors)):
            batch = [vector for vector, one in zip(vectors, joined, strict=True) if one]
            kept = list(combinations(batch, min(largest, len(batch))))
            chance = rate ** len(batch) * (1 - rate) ** (len(vectors) - len(batch)) / len(kept)
            density += sum(chance * np.exp(-(((x - sum(part)) / noise) ** 2) / 2) for part in kept)
        return density * 0.004 / noise / math.sqrt(2 * math.pi)

    epsilon = np.array([0.0, 0.02, 0.1, 0.5, 1.0, 2.0, 3.0])

    def delta(p: Any, q: Any) -> Any:
        return np.maximum(p - np.multiply.outer(np.exp(epsilon), q), 0.0).sum(axis=1)

    fewer, more, other = law(others), law([*others, 1.0]), law([*others, -1.0])
    for of in (len(others), len(others) + 1):
        pair = TruncatedSum(noise, rate, largest, of).guarantee().product.single  # type: ignore[union-attr]
        assert pair is not None
        assert np.all(delta(more, fewer) <= pair.profile(epsilon) * (1 + 1e-4) + 1e-8)
        assert np.all(delta(fewer, more) <= pair.reversed_profile(epsilon) * (1 + 1e-4) + 1e-8)
    known = TruncatedSum(noise, rate, largest, len(others) + 1).guarantee("replace-one")
    assert np.all(delta(more, other) <= known.delta(epsilon) * (1 + 1e-4) + 1e-8)


def test_truncated_sums() -> None:
    two = TruncatedSum(1.0, 0.5, 1, 2)
    for whom in ("add/remove", "replace-one"):
        assert two.guarantee(whom).delta_interval(0.5).low == 0.0
    assert (2 * two).guarantee().delta(0.5) > two.guarantee().delta(0.5)
    # not far above what is known to be the truth, 3.860
    assert TruncatedSum(1.0, 0.5, 1, 1).guarantee().epsilon(1e-5) < 4.22
    # never cut, neither of the two
    plain = Gaussian(1).subsample(0.5).guarantee()
    assert TruncatedSum(1.0, 0.5, 9, 8).guarantee().epsilon(1e-5) == pytest.approx(plain.epsilon(1e-5))
    # one place, and others fill it but for once in 2^27: who is kept must not be rounded away
    kept = (1 - 2.0**-28) / 28
    few = TruncatedSum(0.02, 0.5, 1, 28).guarantee("replace-one")
    assert kept <= few.delta(1.0) < kept * (1 + 1e-6) and few.epsilon(kept * (1 - 1e-8)) > 500


def test_binomial_tails_are_rounded_up() -> None:
    # to 30 digits; scipy's `bdtrc` says 0.5516 of the first, and its `betainc` is too small for the second
    for asked, truth in (
        ((8718508, 137904197, 0.0632217508791831), 0.5050451557),
        ((24, 2136652891, 1.1815236728987391e-08), 0.54598680480284838),
    ):
        assert truth * (1 - 1e-10) <= more_than(*asked) < truth * (1 + 5e-6)


def test_streams_whose_sensitivity_is_a_bound() -> None:
    waves = ToeplitzStream(16, [1.0, -0.5, 0.4])
    for stream, times, exact in (
        (waves, 1, True),
        (waves, 8, False),
        (TreeStream(16), 4, False),
        (banded_stream(16, 2), 8, True),
    ):
        run = CorrelatedGaussian(stream, scale=5.0, separation=2, participations=times)
        both = run.guarantee().epsilon_interval(1e-5)
        assert both.low == pytest.approx(both.high if exact else 0.0) and both.high > 0


@pytest.mark.parametrize("noise", [100.0, 300.0, 1e3, 1e5, 1e308])
def test_much_noise_allocated(noise: float) -> None:
    """Never more than without its amplification, whatever is read."""
    mine, plain = Gaussian(noise).allocate(10).guarantee(), Gaussian(noise).guarantee()
    assert mine.epsilon(1e-5) <= plain.epsilon(1e-5)
    assert mine.delta(1e-3) <= plain.delta(1e-3)
    assert mine.renyi(2) <= plain.renyi(2) * (1 + 1e-9)
    assert mine.epsilon_interval(1e-5).low <= mine.epsilon(1e-5) < math.inf


def test_moments_too_dear_for_the_engine() -> None:
    mine, plain = Gaussian(100).allocate(100_000).guarantee(), Gaussian(100).guarantee()
    assert 0 < mine.delta(1e-3) <= plain.delta(1e-3)


def test_gaussians_merge_with_their_mark() -> None:
    exact, bound = Gaussian(2).guarantee(), ExactGuarantee(Product.of([(GaussianPair(60.0, True), 1)]))
    pair = (exact + bound).product
    assert pair is not None and isinstance(pair.single, GaussianPair) and not pair.single.exact
    assert not (2 * bound).group(3).product.exact  # type: ignore[union-attr]
    assert np.all((exact + exact).delta_interval(0.1).low > 0)


@pytest.mark.parametrize(
    ("make", "name"),
    [
        (lambda: RandomShift(1.0, [0, 1], [(), True]), "weights"),  # type: ignore[arg-type]
        (lambda: AboveThreshold(1.0, 1.0, 1.0, np.array([1.0, 2.0])), "monotonic"),  # type: ignore[arg-type]
        (lambda: DrawnSum(1.0, 10**30, 2**63), "size"),
        (lambda: DrawnSum(1.0, 2**31, 2**31), "size"),
        (lambda: DrawnSum(1.0, 2, 2**63), "of"),
        (lambda: TruncatedSum(1.0, 0.5, 1, 2**31), "of"),
        (
            lambda: dp_sgd(
                records=2**31, batch=9, epochs=1, noise=1, sampling="truncated poisson", largest_batch=9
            ),
            "records",
        ),
    ],
)
def test_refused_in_our_own_words(make: Callable[[], Any], name: str) -> None:
    with pytest.raises(ArgumentError, match=f"^{name} must be"):
        make()


def test_an_account_pays_for_what_is_found(tmp_path: Path) -> None:
    noisy = Laplace(scale=20.0)
    with Ledger.open(tmp_path / "budget.db") as ledger:
        account = ledger.open_account("census", Budget(epsilon=3))
        first = AboveThreshold(8, 8).release([0.0, 1e6], threshold=1e3, ledger=account)
        repeat_and_select(noisy, 2).release(lambda: (1.0, "model"), ledger=account)
        spent = [spend.mechanism for spend in account.spends()]
    assert spent == [repeat_and_select(noisy, 2), first.mechanism]  # the newest first
