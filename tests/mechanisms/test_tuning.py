"""The best of a random number of tries: against all orders of scores of small mechanisms, by plain sums."""

import math
from collections import Counter
from collections.abc import Callable, Iterator
from itertools import permutations

import numpy as np
import pytest
from scipy.special import ndtr

from indistinct import (
    ApproxDP,
    ArgumentError,
    Discrete,
    Gaussian,
    Guarantee,
    Laplace,
    Mechanism,
    PureDP,
    RandomizedResponse,
    RenyiCurve,
    RepeatAndSelect,
    Tries,
    ZeroConcentratedDP,
    repeat_and_select,
)
from indistinct.guarantees import layers as module
from indistinct.guarantees.dominating_pairs import finite_pair
from indistinct.guarantees.selected import Selected
from indistinct.mechanisms.tuning import drawn
from indistinct.noise import NotPrivateSource
from indistinct.testing.guarantees import check_edges, check_profile, check_renyi, check_tradeoff
from indistinct.testing.mechanisms import check_saved

LAWS = [Tries(10), Tries(4, 0.0), Tries(3, 0.5), Tries(12, 2.5), Tries.poisson(0.5), Tries.poisson(9)]
MECHANISMS = [
    ((0.7, 0.2, 0.1), (0.4, 0.25, 0.35)),
    ((0.6, 0.35, 0.05), (0.05, 0.35, 0.6)),
    ((0.75, 0.25), (0.25, 0.75)),
    ((0.9, 0.099, 0.001), (0.5, 0.5, 0.0)),
    ((0.5, 0.3, 0.2), (1 - 1e-17 - 0.2, 1e-17, 0.2)),  # a sum that does not feel what it adds
]


def masses(tries: Tries) -> np.ndarray:
    """P(K = k), k = 0, 1, ..., by recursion: nothing of the package but the parameter that is drawn with."""
    k = np.arange(1, 400)
    if tries.shape == math.inf:
        logs = np.append(0.0, np.cumsum(np.log(tries.mean) - np.log(k)))
        return np.exp(logs - tries.mean)
    ratio = (1 - tries.stop) * np.append(1.0, (k[:-1] + tries.shape) / (k[:-1] + 1))
    share = np.cumprod(ratio)
    return np.append(0.0, share / share.sum())


def best_of(p: np.ndarray, mass: np.ndarray) -> np.ndarray:
    """The law of the best of K tries, outcomes listed from the best down: sums over K, no closed form."""
    worse = np.append(1.0, np.clip(1 - np.cumsum(p), 0.0, 1.0))
    kept = mass @ worse[None, :] ** np.arange(mass.size)[:, None]
    return -np.diff(kept)


def told(p: np.ndarray, q: np.ndarray, mass: np.ndarray, epsilons: np.ndarray) -> np.ndarray:
    one, other = best_of(p, mass), best_of(q, mass)
    return np.maximum(one - np.exp(epsilons)[:, None] * other, 0.0).sum(axis=1)


def orders(
    p: tuple[float, ...], q: tuple[float, ...], pieces: int
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """All orders of the outcomes, each cut into pieces that a score may tell apart, both directions."""
    cut = np.repeat(np.array([p, q]) / pieces, pieces, axis=1)
    for order in set(permutations(np.repeat(np.arange(len(p)), pieces).tolist())):
        both = cut[:, np.array(order) * pieces]
        yield both[0], both[1]
        yield both[1], both[0]


EPSILONS = np.array([0.0, 0.1, 0.5, 1.0, 1.5, 2.5])


def excess(tries: Tries, p: tuple[float, ...], q: tuple[float, ...]) -> float:
    """By how much some order tells more than is accounted, relatively."""
    delta = repeat_and_select(Discrete(p, q), tries).guarantee().delta(EPSILONS)
    mass = masses(tries)
    return max(
        float((told(a, b, mass, EPSILONS) - delta * (1 + 1e-9)).max()) for a, b in orders(p, q, 6 // len(p))
    )


@pytest.mark.parametrize("tries", LAWS)
def test_no_order_of_scores_tells_more(tries: Tries) -> None:
    for p, q in MECHANISMS:
        assert excess(tries, p, q) < 1e-12


def test_the_law_fails_where_the_order_is_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    """If places x and y were the same under both, a score would tell nothing."""
    monkeypatch.setattr(
        module, "_least_weights", lambda run, tries: (np.array([0.0, tries.top]), np.array([0.0, tries.top]))
    )
    assert excess(Tries(10), *MECHANISMS[0]) > 0.01


def test_as_large_as_some_order_makes_it() -> None:
    """Pure epsilon is attained: all that is likelier without the record scores higher, then a small piece."""
    tries = Tries(10)
    p, q = np.array([0.25, 1e-6, 0.75 - 1e-6]), np.array([0.75, 1e-6 / 3, 0.25 - 1e-6 / 3])
    one, other = best_of(p, masses(tries)), best_of(q, masses(tries))
    pure = repeat_and_select(PureDP(math.log(3)), tries).guarantee().pure()
    assert pure == pytest.approx(math.log(one[1] / other[1]), abs=1e-4)
    assert pure >= math.log(one[1] / other[1])
    # Gaussian noise: the likelier ones without the record, up to some place, and then the others downwards
    g = Gaussian(scale=3.7303).guarantee()
    epsilon = Selected(g, tries).epsilon(1e-5)
    pair = finite_pair(g.pair())  # type: ignore[attr-defined]
    p, q = (np.add.reduceat(side, np.arange(0, len(side), 8)) for side in (pair.p, pair.q))
    best = 0.0
    for k in range(200, p.size, 200):
        one, other = (np.append(side[:k], side[k:][::-1]) for side in (p, q))
        best = max(best, float(told(one, other, masses(tries), np.array([0.98 * epsilon]))[0]))
    assert best > 1e-5


RENYI = np.array([0.5, 0.9, 1.0, 1.01, 1.5, 2.0, 4.0, 8.0, 32.0])


def divergences(p: np.ndarray, q: np.ndarray) -> np.ndarray:
    """Rényi divergences of two laws, sums of powers."""
    p, q = p[p > 0], q[p > 0]
    loss = np.log(p) - np.log(q)
    other = RENYI[RENYI != 1]
    found = np.log((p * np.exp((other[:, None] - 1) * loss)).sum(axis=1)) / (other - 1)
    return np.insert(found, int(np.searchsorted(RENYI, 1.0)), float((p * loss).sum()))


def beyond(tries: Tries, run: Mechanism, p: np.ndarray, q: np.ndarray) -> np.ndarray:
    """By how much the best of several, in some order of these outcomes, diverges more than is accounted."""
    mass, accounted = masses(tries), repeat_and_select(run, tries).guarantee().renyi(RENYI)
    worst = np.zeros(RENYI.size)
    for k in range(0, p.size, max(p.size // 12, 1)):
        for one, other in ((p, q), (q, p)):
            orders = (np.append(side[:k], side[k:][::-1]) for side in (one, other))
            both = (np.append(best_of(side, mass), mass[0]) for side in orders)  # or nothing is tried
            worst = np.maximum(worst, divergences(*both))
    assert (worst > 0).all()
    return worst - accounted * (1 + 1e-12)


def in_cells(shift: float) -> tuple[np.ndarray, np.ndarray]:
    """Gaussian noise of scale 1 rounded to cells, which tells no more."""
    ends = np.concatenate(([-np.inf], np.linspace(-4.0, 4.0 + shift, 240), [np.inf]))
    return np.diff(ndtr(ends)), np.diff(ndtr(ends - shift))


@pytest.mark.parametrize("tries", LAWS)
def test_no_order_of_scores_diverges_more(tries: Tries) -> None:
    assert beyond(tries, Gaussian(scale=2.0), *in_cells(0.5)).max() <= 1e-9
    for p, q in MECHANISMS[:3]:
        assert beyond(tries, Discrete(p, q), np.array(p), np.array(q)).max() <= 1e-9


def test_the_law_of_divergences_fails_without_what_choosing_adds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Selected, "_at", lambda guarantee, order, value: value)
    assert beyond(Tries(10), Gaussian(scale=2.0), *in_cells(0.5)).max() > 0.01


def test_divergences_add_up() -> None:
    """They were infinite, and of many tries they were the table's."""
    one = repeat_and_select(Gaussian(scale=1.0), 10)
    orders = [0.9, 1.0, 2.0, 8.0]
    assert (2 * one).guarantee().renyi(orders) == pytest.approx(2 * one.guarantee().renyi(orders), rel=1e-10)
    many = repeat_and_select(20 * Laplace(scale=20.0), Tries.poisson(1000)).guarantee()
    assert (20 * Laplace(scale=20.0)).guarantee().renyi(2.0) < many.renyi(2.0) < 8


def renyi_route(divergence: Callable[[np.ndarray], np.ndarray], tries: Tries, delta: float) -> float:
    """Papernot and Steinke 2022, Theorem 2 (v2), and its conversion, at many orders."""
    orders = 1 + np.geomspace(1e-2, 1e3, 300)
    base = divergence(orders)
    added = (1 + tries.shape) * np.min((1 - 1 / orders) * base - math.log(tries.stop) / orders)
    values = base + added + math.log(tries.mean) / (orders - 1)
    return float((values + np.log1p(-1 / orders) - np.log(delta * orders) / (orders - 1)).min())


@pytest.mark.parametrize("mean", [2.0, 10.0, 100.0])
@pytest.mark.parametrize("shape", [0.0, 1.0])
def test_less_than_by_renyi_divergences(mean: float, shape: float) -> None:
    tries = Tries(mean, shape)
    for base in (Gaussian(scale=3.7303), Laplace(scale=1)):
        g = base.guarantee()
        tuned = repeat_and_select(base, tries).guarantee()
        assert tuned.epsilon(1e-5) < renyi_route(g.renyi, tries, 1e-5)
        assert g.epsilon(1e-5) < tuned.epsilon(1e-5)
    assert tuned.pure() <= (2 + shape) * g.pure() * (1 + 1e-9)  # Liu and Talwar 2019 for shape 1


def test_laws() -> None:
    for mechanism in (
        RepeatAndSelect(Discrete(*MECHANISMS[0]), 7, shape=0),
        RepeatAndSelect(Gaussian(scale=3), 10),
    ):
        check_saved(mechanism)
        g = mechanism.guarantee()
        for law in (check_edges, check_profile, check_renyi, check_tradeoff):
            law(g)
    known = repeat_and_select(Gaussian(scale=5), 3).guarantee()
    stated = repeat_and_select(ZeroConcentratedDP(0.02), 3).guarantee()  # the same noise, as claimed
    assert known.epsilon(1e-5) < stated.epsilon(1e-5) < math.inf
    assert known.renyi(8.0) >= Gaussian(scale=5).guarantee().renyi(8.0)
    assert (2 * known).epsilon(1e-5) > known.epsilon(1e-5)
    once = repeat_and_select(Gaussian(scale=5), 1).guarantee()
    assert once == Gaussian(scale=5).guarantee()
    for mean, shape in (
        (0.5, 1.0),
        (math.nan, 1.0),
        (math.inf, 1.0),
        (2.0, -1.0),
        (0.0, math.inf),
        (2.0, math.nan),
    ):
        with pytest.raises(ArgumentError):
            Tries(mean, shape)


@pytest.mark.parametrize("tries", LAWS)
def test_tries_are_drawn_as_accounted(tries: Tries) -> None:
    """Weights are those of the law, phi'(1 - y) = sum k P(k) (1 - y)^(k - 1), and so is what is drawn."""
    mass = masses(tries)
    k = np.arange(1, mass.size)
    for y in (0.0, 1e-3, 0.1, 0.7, 1.0):
        weight = float((k * mass[1:] * (1 - y) ** (k - 1)).sum())
        assert tries.weight(np.array([y]))[0] == pytest.approx(weight, rel=1e-10)
        assert tries.place(tries.fall(np.array([y])))[0] == pytest.approx(y, rel=1e-9)
    source, draws = NotPrivateSource(1), 1500
    seen = Counter(drawn(tries, source) for _ in range(draws))
    below, share = np.cumsum(mass), np.cumsum([seen[k] for k in range(mass.size)]) / draws
    assert np.abs(below - share).max() < math.sqrt(math.log(2e6) / (2 * draws))  # Massart 1990, chance 1e-6


def test_release_keeps_the_best() -> None:
    calls: list[float] = []

    def run() -> tuple[float, str]:
        calls.append(float((7 * len(calls)) % 5))
        return calls[-1], f"run {len(calls)}"

    tuned = RepeatAndSelect(Gaussian(scale=1), 20)
    released = tuned.release(run, source=NotPrivateSource(3))
    first = calls.index(max(calls)) + 1
    assert released.values == f"run {first}" and released.mechanism == tuned and not released.private
    assert RepeatAndSelect(Gaussian(scale=1), 1e-9, math.inf).release(run).values is None
    with pytest.raises(ArgumentError, match="score"):
        tuned.release(lambda: (math.nan, 0))


@pytest.mark.parametrize(
    "tries", [Tries.poisson(712), Tries.poisson(740), Tries.poisson(2e4), Tries(740, 1e6), Tries(1e4, 1e4)]
)
def test_weights_that_are_no_numbers(tries: Tries) -> None:
    """delta(0) was 4e-17, of 740 tries of what has 0.004 alone. One best output is above a place with
    probability 1 - phi(1 - y): two places tell so much, whatever else is told."""
    shift, places = 0.01, np.linspace(0.0, 6.0, 2001)
    x, y = ndtr(-places), ndtr(shift - places)
    if tries.shape == math.inf:
        told_apart = np.exp(-tries.mean * x) - np.exp(-tries.mean * y)
    else:  # the generating function of the law that is cut at 0
        odds = (1 - tries.stop) / tries.stop
        told_apart = (1 + odds * x) ** -tries.shape - (1 + odds * y) ** -tries.shape
    g = repeat_and_select(Gaussian(1 / shift), tries).guarantee()
    assert g.delta(0) >= told_apart.max() > 0.01
    # with equal scores the best is any one
    alone = Gaussian(1 / shift).guarantee()
    assert g.renyi(2) >= alone.renyi(2) * (1 - 1e-9) and g.epsilon(1e-10) >= alone.epsilon(1e-10) * (1 - 1e-9)


@pytest.mark.parametrize("tries", [Tries(1.05), Tries(1.05, 3.0)])
def test_a_table_is_of_two_laws(tries: Tries) -> None:
    """Both directions' bounds have one total variation: a table of two, beside other noise, told 0.268 of
    0.273."""
    p, q = (0.0159, 0.4655, 0.5186), (0.2717, 0.4428, 0.2855)
    made = repeat_and_select(Discrete(p, q), tries)
    for direction in made.guarantee().directions:
        table = direction.terms[0][0].stand_in
        assert math.fsum(table.p) == pytest.approx(1, abs=1e-13) == math.fsum(table.q)
    epsilons, mass, most = np.linspace(0.0, 1.0, 11), masses(tries), np.zeros(11)
    for order in permutations(range(3)):
        best = [np.append(best_of(np.array(one)[list(order)], mass), 0.0) for one in (p, q)]
        for first, second in (best, best[::-1]):
            for coin in ((0.6, 0.4), (0.4, 0.6)):
                a, b = np.outer(first, coin), np.outer(second, coin[::-1])
                gaps = np.maximum(a[None] - np.exp(epsilons)[:, None, None] * b[None], 0.0)
                most = np.maximum(most, gaps.sum(axis=(1, 2)))
    together = (made + RandomizedResponse(0.6)).guarantee()
    assert (together.delta(epsilons) >= most - 1e-13).all() and most[0] > 0.1


def test_what_hardly_overlaps_is_told_at_low_orders() -> None:
    """An atom of 1e-16, which rounding left, capped the divergence of order 1/2 at 73."""
    run = Discrete((1 - 1e-60, 1e-60), (1e-80, 1 - 1e-60))
    alone = -2 * math.log(1e-40 + 1e-30)
    assert repeat_and_select(run, Tries(2)).guarantee().renyi(0.5) >= alone > 138


def test_divergences_go_where_the_pair_goes() -> None:
    """They were infinite for groups of compositions with the best of several tries, sampled ones, and after
    post-processing."""
    best = repeat_and_select(Gaussian(3), Tries(5))
    one, twice = best.guarantee(), (best + best).guarantee()
    for order in (0.7, 1.5, 2.0, 20.0):
        assert twice.postprocessed().renyi(order) == twice.renyi(order)
        assert twice.renyi(order) == pytest.approx(2 * one.renyi(order), rel=1e-6)
        assert twice.renyi(order) <= twice.group(2).renyi(order) < math.inf
        together = (best + Gaussian(3)).guarantee().group(2).renyi(order)
        assert one.group(2).renyi(order) <= together < math.inf
        assert best.subsample(0.01).guarantee().renyi(order) <= one.renyi(order)
    assert math.isinf(repeat_and_select(ApproxDP(1, 1e-6), Tries(5)).guarantee().renyi(1))


@pytest.mark.parametrize("claim", [ZeroConcentratedDP(0.0), RenyiCurve([2.0], [0.0]), PureDP(0.0)])
def test_the_best_of_what_tells_nothing(claim: Guarantee) -> None:
    g = repeat_and_select(claim, Tries(5)).guarantee()
    assert g.epsilon(1e-5) == g.renyi(2) == 0 and g.delta(0) < 1e-7
