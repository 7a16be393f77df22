"""Laws of guarantees: nothing has to be known of one but how to make it."""

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from indistinct.guarantees.guarantee import Guarantee, PairGuarantee
from indistinct.guarantees.readings import Interval
from indistinct.testing.law import no_more, require, same_bits

ENGINE = 2e-6
"""Relative error that two deltas may have between them; most are far closer."""
OWN_DIGITS = 1e-12
SEARCHED = 1e-7
"""What a search over (epsilon, delta) may lose of a trade-off curve."""
CLOSE = 4e-7
"""How far epsilon and delta may be from being each other's inverse: each is read to a quarter of this."""
ORDERS = [0.5, 0.75, 0.9, 0.999, 1 - 1e-9, 1, 1 + 1e-9, 1.001, 1.5, 2, 5, 32, 300, 1000, math.inf]
FEW_ORDERS = [0.5, 1.0, 2.0, 16.0, math.inf]
FPRS = np.array([0, 1e-9, 1e-6, 1e-3, 0.05, 0.3, 0.5, 0.8, 0.999, 1])
DELTAS = np.array([0, 1e-300, 1e-5, 0.5, 1 - 1e-12, 1])
EPSILONS = np.array([0, 1e-12, 0.3, 30, 1e6, math.inf])

Profile = tuple[Any, Any]
"""Epsilons, increasing, and their deltas."""


def check_guarantee(fresh: Callable[[], Guarantee], *, convex: bool = True) -> None:
    """All laws of one guarantee. `fresh` makes it anew, so that nothing is remembered from other readings;
    `convex=False` where only points of its trade-off curve are claimed, and read at their lowest."""
    g = fresh()
    require(g == fresh() and hash(g) == hash(fresh()), "made twice it is the same", g)
    profile = profile_of(g)
    check_edges(g)
    check_profile(g, profile)
    check_renyi(g, profile)
    check_tradeoff(g, profile, convex=convex)
    check_directions(g)
    for delta, epsilon in ((1e-12, 0.3), (1e-4, 2.0)):
        check_intervals(g, delta, epsilon)
    check_only_the_request_matters(fresh(), fresh(), 1e-6, 0.4)
    check_no_less(2 * fresh(), [g], 1e-6, 0.4)
    check_no_less(fresh() + fresh(), [g], 1e-6, 0.4)
    no_more(
        g.renyi(FEW_ORDERS), g.group(2).renyi(FEW_ORDERS), "two records tell no less than one", slack=1e-9
    )
    no_more(
        g.delta_interval([0.0, 1.0]).low, g.group(2).delta([0.0, 1.0]), "two records tell no less than one"
    )
    nothing = 0 * g
    require(nothing.epsilon(0) == nothing.pure() == nothing.renyi(2) == 0, "nothing released tells nothing")


def profile_of(g: Guarantee) -> Profile:
    """Epsilons from 0 to where delta is 1e-12, or to 3 if it never is, and their deltas."""
    reach = g.epsilon(1e-12)
    epsilons = np.linspace(0, min(reach, 500.0) if math.isfinite(reach) else 3.0, 7)
    return epsilons, g.delta(epsilons)


def check_edges(g: Guarantee) -> None:
    """At the ends of what can be asked: numbers, never NaN, that do not leave their range."""
    epsilon, delta, divergence = g.epsilon(DELTAS), g.delta(EPSILONS), g.renyi(ORDERS)
    require(epsilon >= 0, "epsilon is at least 0", epsilon)
    require(divergence >= 0, "a Rényi divergence is at least 0", divergence)
    require((delta >= 0) & (delta <= 1), "delta is between 0 and 1", delta)
    no_more(epsilon[1:], epsilon[:-1], "epsilon falls as delta grows", DELTAS[1:], slack=1e-7)
    no_more(delta[1:], delta[:-1], "delta falls as epsilon grows", EPSILONS[1:], slack=ENGINE)
    require(epsilon[-1] == 0, "with delta = 1 epsilon is 0", epsilon[-1])
    pure = np.array([epsilon[0], g.pure(), divergence[-1]])
    require(np.allclose(pure, pure[0], rtol=1e-6), "pure epsilon is that of delta = 0 and of order ∞", pure)
    require(math.isclose(delta[0], g.advantage(), rel_tol=1e-6), "delta(0) is the advantage", delta[0])


def check_profile(g: Guarantee, profile: Profile | None = None) -> None:
    """Delta falls, is convex in e^epsilon, is within what Rényi divergences allow, and epsilon inverts it."""
    epsilons, delta = profile or profile_of(g)
    no_more(delta[1:], delta[:-1], "delta falls as epsilon grows", epsilons[1:], slack=ENGINE)
    if epsilons[-1] > 0:
        x = np.exp(epsilons)
        share = (x[1:-1] - x[:-2]) / (x[2:] - x[:-2])
        chord = (1 - share) * delta[:-2] + share * delta[2:]
        law = "delta is convex in e^epsilon"
        no_more(delta[1:-1], chord, law, epsilons[1:-1], slack=ENGINE, tiny=1e-300)
    for target in (1e-100, 1e-5, 0.05):
        epsilon = g.epsilon(target)
        if math.isinf(epsilon):
            no_more(target, g.delta(300.0), "where epsilon is infinite, delta stays above", target)
            continue
        # at the largest loss delta is a difference of equal numbers, and zero only up to rounding
        rounding = 1e-14 if epsilon >= g.pure() * (1 - 1e-12) else 0.0
        law = "delta(epsilon(delta)) <= delta"
        no_more(g.delta(epsilon), target, law, target, slack=CLOSE, tiny=rounding)
        if epsilon > 1e-9:
            no_more(target, g.delta(epsilon * (1 - 1e-4)), "epsilon(delta) is the smallest", target)
    for epsilon, at in [*zip(epsilons, delta, strict=True)][::4]:
        back = g.epsilon(min(at * (1 + 1e-5), 1.0))
        no_more(back, epsilon, "epsilon(delta(epsilon)) <= epsilon", epsilon, slack=1e-9, tiny=1e-12)


def check_renyi(g: Guarantee, profile: Profile | None = None) -> None:
    """Rényi divergences do not fall with the order, and delta is within what they allow (Mironov 2017,
    Proposition 3, sharpened by Canonne, Kamath and Steinke 2020, Proposition 12)."""
    divergence = g.renyi(ORDERS)
    law = "a Rényi divergence does not fall with the order"
    no_more(divergence[:-1], divergence[1:], law, ORDERS[1:], slack=1e-8)
    epsilons, delta = profile or profile_of(g)
    orders = [1.1, 1.5, 2.0, 4.0, 16.0, 64.0]
    for order, value in zip(orders, g.renyi(orders), strict=True):
        if value < math.inf:
            log_bound = (order - 1) * (value - epsilons + math.log1p(-1 / order)) - math.log(order)
            law = f"delta is within the bound of the Rényi divergence of order {order}"
            no_more(delta, np.exp(np.minimum(log_bound, 0)), law, epsilons, slack=1e-7, tiny=1e-300)


def check_tradeoff(g: Guarantee, profile: Profile | None = None, *, convex: bool = True) -> None:
    """The false negative rate falls, is convex, below 1 - fpr, and above what every (epsilon, delta)
    allows."""
    fnr = g.tradeoff(FPRS)
    require((fnr >= 0) & (fnr <= 1 - FPRS), "a trade-off lies between 0 and 1 - fpr", fnr)
    no_more(fnr[1:], fnr[:-1], "a trade-off falls", FPRS[1:], tiny=1e-9)
    share = np.diff(FPRS)[:-1] / (FPRS[2:] - FPRS[:-2])
    chord = (1 - share) * fnr[:-2] + share * fnr[2:]
    if convex:
        no_more(fnr[1:-1], chord, "a trade-off is convex", FPRS[1:-1], tiny=SEARCHED)
    for epsilon, delta in zip(*(profile or profile_of(g)), strict=True):
        law = f"no test does better than ({epsilon}, {delta}) allows"
        no_more(1 - delta - math.exp(epsilon) * FPRS, fnr, law, FPRS, tiny=SEARCHED)
        no_more(math.exp(-epsilon) * (1 - delta - FPRS), fnr, law, FPRS, tiny=SEARCHED)


def check_truth(g: Guarantee, delta: Callable[[float], float], accuracy: float = 1e-4) -> None:
    """Delta is what it is known to be otherwise: no less, and no more."""
    for epsilon in [0.0, *g.epsilon([0.2, 1e-2, 1e-3])]:
        if math.isfinite(epsilon):
            law, found, truth = "delta is what it is known to be", g.delta(epsilon), delta(epsilon)
            no_more(truth, found, f"{law}: no less", epsilon, tiny=accuracy)
            no_more(found, truth, f"{law}: no more", epsilon, tiny=accuracy)


def check_directions(g: Guarantee) -> None:
    """A guarantee known by a pair tells what the worse direction does: the record was added, or removed."""
    if not isinstance(g, PairGuarantee):
        return
    epsilons = np.array([0.0, 0.2, 1.0, 3.0])
    for product in (g.product, g.product.reverse()):
        low, _ = product.delta_bounds(epsilons)
        no_more(low, g.delta(epsilons), "both directions count", epsilons, slack=OWN_DIGITS)
    require(g.product.reverse().reverse() == g.product, "turned twice a pair is itself", g.product)


def check_intervals(g: Guarantee, delta: float, epsilon: float) -> None:
    """Intervals end at the readings, and those of epsilon do not contradict those of delta."""
    stated = g.epsilon_interval(delta)
    for interval, reading in ((stated, g.epsilon(delta)), (g.delta_interval(epsilon), g.delta(epsilon))):
        low, high = interval.low, interval.high
        require(0 <= low <= high == reading, "an interval ends at its reading", f"{interval}, {reading}")
    if stated.high < math.inf:
        law = "the upper end of epsilon is enough for delta"
        no_more(g.delta_interval(stated.high).low, delta, law, delta, slack=OWN_DIGITS)
    if 0 < stated.low < math.inf:
        law = "below the lower end of epsilon delta is larger"
        no_more(delta, g.delta(stated.low * (1 - OWN_DIGITS)), law, delta, slack=1e-9)


def check_no_less(whole: Guarantee, parts: Sequence[Guarantee], delta: float, epsilon: float) -> None:
    """What is composed tells no less than each of its parts. A part was read with an error, which its
    interval states; the whole is an upper bound in any case."""
    fprs, epsilons = np.array([0.05, 0.3]), [epsilon, 0.0]
    law = "what is composed tells no less"
    most, deltas, tradeoff = whole.epsilon(delta), whole.delta(epsilons), whole.tradeoff(fprs)
    divergence = whole.renyi(FEW_ORDERS)
    for part in parts:
        no_more(part.epsilon_interval(delta).low, most, f"{law} (epsilon)", delta, slack=OWN_DIGITS)
        no_more(part.delta_interval(epsilons).low, deltas, f"{law} (delta)", epsilons, slack=OWN_DIGITS)
        no_more(tradeoff, part.tradeoff(fprs), f"{law} (trade-off)", fprs, tiny=SEARCHED)
        no_more(part.renyi(FEW_ORDERS), divergence, f"{law} (Rényi)", FEW_ORDERS, slack=1e-9)


def check_only_the_request_matters(
    g: Guarantee, other: Guarantee, delta: float, epsilon: float, order: Sequence[str] = ()
) -> None:
    """A reading is a function of the guarantee and the request, to the bit: whole arrays in some order, and
    again when all has been read; place by place, the other way round, of one that was not read before."""
    ways = requests(delta, epsilon)
    ways = {name: ways[name] for name in order or ways}
    found = {name: read(g, at) for name, (read, at) in ways.items()}
    for name, (read, at) in reversed(ways.items()):
        same_bits(read(g, at), found[name], f"{name} is the same after other readings")
        one_by_one = (
            [read(other, one) for one in reversed(at)][::-1] if isinstance(at, list) else read(other, at)
        )
        same_bits(one_by_one, found[name], f"{name} is the same alone and in an array")


def requests(delta: float, epsilon: float) -> dict[str, tuple[Callable[[Guarantee, Any], Any], Any]]:
    """Ways to ask a guarantee, with the places where it is asked, if there are any."""
    return {
        "epsilon": (lambda g, at: g.epsilon(at), [0.1, delta, delta * 1e-20]),
        "delta": (lambda g, at: g.delta(at), [epsilon, 0.0, 7.0]),
        "interval of epsilon": (lambda g, at: _ends(g.epsilon_interval(at)), delta),
        "interval of delta": (lambda g, at: _ends(g.delta_interval(at)), epsilon),
        "advantage": (lambda g, _: g.advantage(), None),
        "tradeoff": (lambda g, at: g.tradeoff(at), [0.1, 0.4]),
        "renyi": (lambda g, at: g.renyi(at), [1.0, 2.0, 32.0]),
    }


def _ends(interval: Interval) -> tuple[Any, Any]:
    return interval.low, interval.high
