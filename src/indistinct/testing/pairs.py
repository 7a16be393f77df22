"""Laws of a pair of distributions: what it says of its loss in several ways is one law."""

import math
from typing import Any

import numpy as np

from indistinct.guarantees.pair import Pair, Resolution, Wave
from indistinct.numerics.arrays import Array
from indistinct.testing.law import no_more, require

_CELLS = 3000
_FAR = -60.0
"""Mass below e to this power is left out."""
_FAR_OUT = np.sinh(np.linspace(-math.asinh(7.4e10), math.asinh(7.4e10), 301)) * 1e-8


def check_pair(pair: Pair, *, accuracy: float = 1e-9) -> None:
    """Tails, profile, quadrature rule and moments of a pair, each against sums over cells of its tails."""
    pair = pair.stand_in
    require(pair.reverse().reverse() == pair, "turned twice a pair is itself", pair)
    if pair.by_moments:
        return _check_cumulant(pair)
    low, high = pair.outer_losses(1.0, _FAR)
    low = min(low, pair.outer_losses(0.0, _FAR)[0])
    high = max(high, pair.outer_losses(0.0, _FAR)[1])
    edges = _edges(low, high)
    _check_tails(pair, edges, accuracy)
    _check_profile(pair, edges, accuracy)
    check_far_profile(pair)
    _check_rule(pair, low, high, accuracy)
    _check_moments(pair, accuracy)


def _check_cumulant(pair: Pair) -> None:
    """What a pair says that is known by its cumulant alone."""
    for one in (pair, pair.reverse()):
        half = Resolution((0.5, 0.5))
        turned = one.reverse().cumulant(half).line(-0.5, 1.0, 1).values.real
        require(
            np.abs(one.cumulant(half).line(-0.5, 1.0, 1).values.real - turned) < 1e-9,
            "both directions share order 1/2",
        )
        for c in (0.3, 1.0, 4.5):
            cumulant = one.cumulant(Resolution((1 + c, 1 + c), 8.0))
            (values, errors), real = cumulant.line(c, 0.5, 17), float(cumulant.real(np.array([c]))[0])
            require(abs(values[0] - real) <= 1e-9, "a line begins on the real axis", f"{values[0]}, {real}")
            no_more(real, one.log_moment(1 + c) + 1e-11, "a moment is at most what is said of it", c)
            for k, frequency in ((8, 4.0), (16, 8.0)):
                fallen = one.log_envelope(Resolution((1 + c, 1 + c), frequency))
                most = fallen + real + float(errors[k]) + 1e-9
                no_more(values[k:].real, most, "the envelope is above the line", frequency)


def _edges(low: float, high: float) -> Array:
    return np.linspace(low, high, _CELLS + 1)


def _log_masses(pair: Pair, edges: Array) -> tuple[Array, Array]:
    """Of P and of Q, in each cell: from the smaller of both tails."""
    p_above, q_above, p_below, q_below = pair.tails(edges)
    p, q = (
        np.where(
            below[1:] < -0.7, _log_difference(below[1:], below[:-1]), _log_difference(above[:-1], above[1:])
        )
        for above, below in ((p_above, p_below), (q_above, q_below))
    )
    return p, q


def _log_difference(large: Array, small: Array) -> Array:
    with np.errstate(divide="ignore", invalid="ignore"):
        result: Array = large + np.log(-np.expm1(np.minimum(small - large, 0.0)))
    return np.where(np.isnan(result), -np.inf, result)


def _check_tails(pair: Pair, edges: Array, accuracy: float) -> None:
    tails = pair.tails(edges)
    for name, above, below in (("P", tails.p_above, tails.p_below), ("Q", tails.q_above, tails.q_below)):
        require(np.abs(np.exp(above) + np.exp(below) - 1) < accuracy, f"both tails of {name} make up 1")
        no_more(np.exp(above[1:]), np.exp(above[:-1]), f"the upper tail of {name} falls", slack=accuracy)
        no_more(np.exp(below[:-1]), np.exp(below[1:]), f"the lower tail of {name} rises", slack=accuracy)
    p, q = (np.exp(side) for side in _log_masses(pair, edges))
    law, tiny = "P has e^loss times the mass of Q", 1e-14
    no_more(np.exp(edges[:-1]) * q, p, law, edges[:-1], slack=accuracy, tiny=tiny * np.exp(edges[-1]))
    no_more(p, np.exp(edges[1:]) * q, law, edges[1:], slack=accuracy, tiny=tiny * np.exp(edges[-1]))
    bottom, top = pair.loss_range
    if math.isfinite(top):
        beyond = float(np.exp(pair.tails(np.array([top])).p_above[0]))
        no_more(beyond, pair.infinite_mass, "no loss is above the largest", top, tiny=1e-15)
    if math.isfinite(bottom):
        under = float(np.exp(pair.tails(np.array([np.nextafter(bottom, -np.inf)])).p_below[0]))
        no_more(under, 0.0, "no loss is below the smallest", bottom, tiny=1e-15)


def _check_profile(pair: Pair, edges: Array, accuracy: float) -> None:
    epsilons = edges[:: _CELLS // 60]
    p_above, q_above = (np.exp(tail) for tail in pair.tails(epsilons)[:2])
    truth = p_above - np.exp(epsilons) * q_above
    _near(pair.profile(epsilons), truth, p_above, "delta is P(L > e) - e^e Q(L > e)", epsilons, accuracy)
    turned = pair.tails(-epsilons)
    q_under, p_under = np.exp(turned.q_below), np.exp(turned.p_below)
    truth, law = q_under - np.exp(epsilons) * p_under, "delta turned round is Q(L <= -e) - e^e P(L <= -e)"
    for name, found in (
        ("", pair.reversed_profile(epsilons)),
        (" (reverse())", pair.reverse().profile(epsilons)),
    ):
        _near(found, truth, q_under, law + name, epsilons, accuracy)


def check_far_profile(pair: Pair) -> None:
    """Both profiles far out on both sides: what is told of 1 there may be next to nothing, or next to all."""
    for name, profile in (("profile", pair.profile), ("reversed_profile", pair.reversed_profile)):
        found = profile(_FAR_OUT)
        no_more(-np.expm1(np.minimum(_FAR_OUT, 0.0)), found, f"{name} is at least 1 - e^epsilon", _FAR_OUT)
        no_more(found, 1.0, f"{name} is at most 1", _FAR_OUT)
        no_more(found[1:], found[:-1], f"{name} falls", _FAR_OUT[1:], slack=1e-11)


def _near(found: Array, truth: Array, size: Array, law: str, at: Array, accuracy: float) -> None:
    wrong = ~(np.abs(found - truth) <= accuracy * np.abs(truth) + 1e-12 * size + 1e-15)
    require(
        not wrong.any(), law, [(at[wrong][:1], found[wrong][:1], truth[wrong][:1])] if wrong.any() else ""
    )


def _check_rule(pair: Pair, low: float, high: float, accuracy: float) -> None:
    at_zero = (np.exp(mass[0]) for mass in _log_masses(pair, np.array([-1e-300, 0.0])))
    p_zero, q_zero = at_zero  # an atom there need not be listed: no moment feels it
    for first, last in ((low, high), (low + 0.37 * (high - low), low + 0.81 * (high - low))):
        rule = pair.rule_on(first, last, Wave(2.0, 0.0, 0.0))
        if not ((first < rule.loss) & (rule.loss <= last)).all():
            continue  # a pair that lists all its losses, whatever it is asked
        p, q = (float(np.exp(mass[0])) for mass in _log_masses(pair, np.array([first, last])))
        unlisted = 0.0 if (rule.loss == 0).any() or not first < 0 <= last else 1.0
        sides = (("Q", rule.log_q, q, q_zero), ("P", rule.log_q + rule.loss, p, p_zero))
        for name, log_weights, mass, zero in sides:
            total = float(np.exp(log_weights).sum()) + unlisted * zero
            require(abs(total - mass) <= accuracy, f"the rule has {name}'s mass", f"{total}, not {mass}")


def _check_moments(pair: Pair, accuracy: float) -> None:
    for order in (-0.5, 0.5, 2.0, 4.0):
        edges = _edges(*pair.outer_losses(order, _FAR))
        log_q = _log_masses(pair, edges)[1]
        ends = sorted(float(np.logaddexp.reduce(log_q + order * side)) for side in (edges[:-1], edges[1:]))
        _inside(pair.log_moment(order), ends, f"the moment of order {order} is that of the tails", accuracy)
    edges = _edges(*pair.outer_losses(1.0, _FAR))
    p = np.exp(_log_masses(pair, edges)[0])
    _inside(pair.finite_mean, [float(p @ edges[:-1]), float(p @ edges[1:])], "the mean loss", accuracy)


def _inside(found: Any, ends: list[float], law: str, accuracy: float) -> None:
    no_more(ends[0], found, f"{law}: no less", tiny=accuracy * (1 + abs(ends[0])))
    no_more(found, ends[1], f"{law}: no more", tiny=accuracy * (1 + abs(ends[1])))
