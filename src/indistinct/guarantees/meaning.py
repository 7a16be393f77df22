"""What a guarantee means for a person: beliefs, guesses, consequences.

P and Q are the laws of the release on two neighbouring data sets, in either order; f is the trade-off
function of the guarantee and δ(ε) its profile. Two facts carry everything here. An event of probability p
under P has a probability of at least f(1-p) and at most 1-f(p) under Q. And an observer who held P to be
true with odds r holds it so with odds r times the *Bayes factor* e^L, L = log dP/dQ, after seeing the
release: so what can be believed is what can be tested.

The bounds hold for "the record is there" against "it is not" (add/remove) or for two values of it
(replace-one), and for mixtures of such pairs too, because divergences are jointly convex: for an observer
who is not sure of the other records, as long as those do not depend on the answer; and, under replace-one,
for "the record has some property" against "it has not".

Numbers err on the safe side: what an observer can do is never understated.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import ndtri

from indistinct.errors import ArgumentError, check_array
from indistinct.guarantees.hooks import Hooks
from indistinct.guarantees.pair_kinds import of_both_signs
from indistinct.guarantees.tails import NARROW, Need
from indistinct.numerics.arrays import EPS, TINY, Array, shaped
from indistinct.numerics.search import ROUGH, Objective, least_told

_ROUNDING = 8 * EPS
_RARE = 1e-3
"""Below this, probabilities keep their digits only if 1 - p is never formed."""
_PROBABILITY = "a number in [0, 1]"
_LARGEST_EPSILON = 700.0
_WIDEST = 16.0
"""Losses of less than minus this do not matter for a tail."""
_FURTHEST = 40.0
"""No normal variable is further out."""
_ALL = 1e300
"""More than anything else."""
_UNFELT = 1e-9
"""Nor does so much of a delta, relative to what it is added to."""


@dataclass(frozen=True)
class Interval:
    """Where a probability must lie."""

    low: float | Array
    high: float | Array


class Meaning(Hooks):
    """Readings about people, for anything that has a profile, a trade-off curve and Rényi divergences."""

    # -- what can happen -----------------------------------------------------------------------

    def event(self, probability: Any) -> Interval:
        """If an outcome has this probability on one data set, where it lies on a neighbour.

        [f(1-p), 1-f(p)] with f the trade-off function, and every value in between is possible under some
        mechanism with this guarantee; tighter than Mironov 2017, Proposition 10. Rare outcomes keep their
        digits: the ends are the best over ε of e^-ε (p - δ(ε)) and e^ε p + δ(ε).
        """
        p = check_array("probability", probability, 0.0, 1.0, _PROBABILITY)
        flat = p.ravel()
        low = flat * np.exp(-self._log_factor(flat))
        return Interval(shaped(np.minimum(low, flat), p), shaped(self._highest(flat), p))

    def tpr(self, fpr: Any) -> Any:
        """The true positive rate of any membership test with this false positive rate, at most.

        The power 1 - f(fpr) of the best test (Dong, Roth and Su 2022, Definition 2.1). Attacks are
        compared at small rates (Carlini et al. 2022), where 1 - `tradeoff(fpr)` would lose its digits and
        this does not.
        """
        rates = check_array("fpr", fpr, 0.0, 1.0, _PROBABILITY)
        return shaped(self._highest(rates.ravel()), rates)

    def advantage(self) -> float:
        """The most by which a membership test's true positive rate exceeds its false positive rate.

        δ(0), the total variation distance (Yeom, Giacomelli, Fredrikson and Jha 2018, Definition 4, for
        the advantage; Kairouz, Oh and Viswanath 2015, Theorem 2.1, for the tests that DP allows).
        """
        return float(self._delta(np.zeros(1))[0])

    # -- what can be guessed -------------------------------------------------------------------

    def bayes_risk(self, prior: Any) -> Any:
        """How often whoever guesses which of two neighbours it was is wrong, at least.

        `prior` is the probability of one of the two beforehand. Guessing it on the event A is wrong with
        probability π(1 - P(A)) + (1-π)Q(A) = π - π(P(A) - e^ε Q(A)) where e^ε = (1-π)/π, and the best A
        makes the bracket δ(ε). With m = min(π, 1-π), exactly: m (1 - δ(log((1-m)/m))). Without the release
        the risk is m: name the likelier one. (The error region behind it: Kairouz, Oh and Viswanath 2015,
        Theorem 2.1.)
        """
        priors = check_array("prior", prior, 0.0, 1.0, _PROBABILITY)
        flat = priors.ravel()
        rarer = np.minimum(flat, 1 - flat)
        with np.errstate(divide="ignore"):
            # towards zero: a smaller epsilon has a larger delta
            ratio = np.maximum(np.log1p(-rarer) - np.log(rarer), 0.0) * (1 - _ROUNDING)
        delta = self._delta_about(ratio, Need(slack=_ROUNDING))
        risk = rarer * np.maximum(1 - delta - _ROUNDING, 0.0)
        return shaped(np.where(rarer > 0, risk, 0.0), priors)

    def reconstruction(self, baseline: Any) -> Any:
        """How likely an attack that sees the release reconstructs the record, at most.

        `baseline` is the largest probability κ with which any fixed guess is right (equal to the record,
        or close enough by whatever measure) before the release is seen, given all else that the attacker
        knows. Then with the release it is at most 1 - f(κ), for any number of candidates (Hayes,
        Mahloujifar and Balle 2023; Kaissis, Hayes, Ziller and Rueckert 2023, as a trade-off function).

        Proof. Let z be the record, drawn from the prior, P_z the release's law with it, E_z the event that
        the attack is right about z, and Q the law of a release without the record (add/remove) or with a
        fixed other record in its place (replace-one): in both cases a neighbour that does not depend on z.
        So the mean of Q(E_z) is at most κ. P_z(E_z) <= 1 - f(Q(E_z)), which is concave and increasing: by
        Jensen's inequality the mean of P_z(E_z) is at most 1 - f(κ). The record must be independent of the
        other records given what the attacker knows; if it is not, those give it away, not the release.
        """
        rates = check_array("baseline", baseline, 0.0, 1.0, _PROBABILITY)
        return shaped(self._highest(rates.ravel()), rates)

    # -- what can be believed ------------------------------------------------------------------

    def bayes_factor(self) -> "BayesFactor":
        """By what factor the release multiplies the odds that an observer gives to the truth."""
        return BayesFactor(self)

    def posterior(self, prior: Any, *, beyond: Any = 0.0) -> Interval:
        """What an observer may come to believe who gave a data set this probability beforehand.

        With `beyond` = 0 the interval holds for every outcome: the odds change by at most e^±ε of pure DP
        (Mironov 2017, section II), and it is [0, 1] where there is none. Otherwise each end is passed with
        probability at most `beyond`, whichever of the two data sets is the true one, hence also in the
        observer's own expectation: `bayes_factor().quantile(beyond)` multiplies the odds. (By that
        expectation the upper end is passed with probability at most prior / high * beyond.)

        An observer who is certain stays so: priors 0 and 1 do not move.
        """
        priors = check_array("prior", prior, 0.0, 1.0, _PROBABILITY)
        tails = check_array("beyond", beyond, 0.0, 1.0, _PROBABILITY)
        try:
            before = np.broadcast_to(priors, np.broadcast_shapes(priors.shape, tails.shape))
        except ValueError:
            raise ArgumentError("beyond", beyond, f"of a shape that fits prior's, {priors.shape}") from None
        p = before.ravel()
        shrink = np.exp(-self._log_factor(tails.ravel()).reshape(tails.shape))
        shrink = np.broadcast_to(shrink, before.shape).ravel()
        with np.errstate(invalid="ignore"):
            high = np.where(p > 0, p / (p + (1 - p) * shrink) * (1 + _ROUNDING), 0.0)
            low = np.where(p < 1, p * shrink / (p * shrink + (1 - p)) * (1 - _ROUNDING), 1.0)
        high, low = np.clip(high, p, 1.0), np.clip(low, 0.0, p)
        return Interval(shaped(low, before), shaped(high, before))

    # -- the searches --------------------------------------------------------------------------

    def _highest(self, p: Array) -> Array:
        """1 - f(p): the largest probability, on a neighbour, of an event of probability p."""
        best = np.where(p > 0, 1.0, self._delta(np.array([math.inf])))
        if (usual := np.flatnonzero(p >= _RARE)).size:
            # f falls, so what rounding may have taken from p or from 1 - f is covered
            best[usual] = 1 - self._tradeoff(np.minimum(p[usual] + _ROUNDING, 1.0)) + _ROUNDING
        if (rare := np.flatnonzero((p > 0) & (p < _RARE))).size:
            best[rare] = np.nextafter(p[rare] + self._best_test(p[rare], 1 - p[rare])[0], 1.0)
            with np.errstate(over="ignore"):
                largest = np.exp(self._renyi(math.inf) * (1 + 8 * EPS)) * (1 + _ROUNDING)
            best[rare] = np.minimum(best[rare], np.nextafter(p[rare] * largest, 1.0))
        return np.clip(best, p, 1.0)

    def _log_factor(self, p: Array) -> Array:
        """log(p / f(1-p)): the largest Bayes factor that events of probability p and more can have."""
        least = np.zeros_like(p)
        if (usual := np.flatnonzero(p >= _RARE)).size:
            least[usual] = self._tradeoff(np.minimum(1 - p[usual] + _ROUNDING, 1.0)) * (1 - _ROUNDING)
        if (rare := np.flatnonzero((p > 0) & (p < _RARE))).size:
            least[rare] = self._best_test(1 - p[rare], p[rare])[1]
        with np.errstate(divide="ignore", invalid="ignore"):
            log_p, log_least = np.log(p), np.log(least)
            # long logarithms have no digits next to 0, and are rounded by as much as they are long
            near, far = np.log1p((p - least) / least), log_p - log_least - 2 * EPS * (log_p + log_least)
            result = np.where(p > 0, np.where(2 * least > p, near, far), math.inf)
        result = np.minimum(result, self._renyi(math.inf))
        # what the rounding of a logarithm takes, its exponential would lack
        return np.where(result > 0, result * (1 + 4 * EPS) + _ROUNDING, 0.0)

    def _best_test(self, fpr: Array, rest: Array) -> tuple[Array, Array]:
        """By how much less than 1 - fpr (`rest`, to its own digits) a test misses, at most, and how much it
        misses, at least: δ(ε) + (e^ε - 1) fpr of the one and the rest for the other, with the best ε of
        either sign. δ(-ε) is 1 - e^-ε (1 - δ(ε)): one function, convex in e^ε.

        Dong, Roth and Su 2022, Proposition 2.12.
        """
        never, advantage = self._delta_about(np.array([math.inf, 0.0]), Need(accuracy=ROUGH)).tolist()
        if advantage == 0:
            return np.zeros_like(rest), rest
        known = np.maximum(rest - advantage, 0.0)
        guess, spread = _likely_peak(fpr, rest, advantage)
        if (lost := np.flatnonzero(known < 0.01 * rest)).size:
            # half of what can be missed is, where delta is in the middle
            level = (rest[lost] + np.minimum(never, rest[lost])) / 2
            far = np.minimum(self._epsilon_about(level, Need(accuracy=ROUGH)), _LARGEST_EPSILON)
            known[lost] = np.maximum(known[lost], (rest[lost] - level) * np.exp(-far) * (1 - _ROUNDING))
            guess[lost], spread[lost] = -far, far / 4 + TINY

        least = np.minimum(np.minimum(fpr, known), min(advantage, 1.0))

        def reading(near: Array | None, felt: Array | None) -> Objective:
            beside = least if felt is None else np.where(felt > 0, felt, least)
            there = beside if near is None else beside * np.exp(np.maximum(-near, 0.0))
            read = self._deltas(near, None if felt is None else there)

            def at(epsilon: Array, rows: Any) -> tuple[Array, Array]:
                size, scale, above = np.abs(epsilon), np.exp(np.maximum(-epsilon, 0.0)), epsilon > 0
                delta = read(size, beside[rows] * scale, rows)
                false = np.expm1(size) * np.where(above, fpr[rows], rest[rows])
                told = (delta + false) * (1 + _ROUNDING)
                # in this order: next to 1 the first difference is exact
                missed = rest[rows] - np.where(above, told, delta * (1 + _ROUNDING))
                return told * (1 + 4 * EPS) / scale, missed * (1 - 4 * EPS) / scale

            return at

        most = np.full_like(fpr, _LARGEST_EPSILON)
        guess, pure = np.clip(guess, -most / 2, most / 2), self._renyi(math.inf)
        told, missed = least_told(reading, guess, spread, -most, most, pure)
        return np.minimum(told, rest), np.maximum(missed, known)

    def _tail(self, t: Array) -> Array:
        """The smallest δ(s) / (1 - e^(s-t)) over s < t: how likely a factor of e^t or more is. It is convex
        in 1 / (1 - e^(s-t)) = 1 + e^place."""

        def reading(near: Array | None, felt: Array | None) -> Objective:
            place = None if near is None else t - np.logaddexp(0.0, -near)
            read = self._deltas(place, None if felt is None else 0 * t if place is None else _beside(place))

            def at(place: Array, rows: Any) -> tuple[Array, Array]:
                below = t[rows] - np.logaddexp(0.0, -place)
                # a profile's rounding is relative to P(L > s), not to δ(s)
                above = of_both_signs(below, read(np.abs(below), _beside(below), rows))
                more = 1 + np.exp(place)
                return np.maximum(above, TINY) * more * (1 + _ROUNDING * more), np.full_like(below, _ALL)

            return at

        # where δ has fallen by about e, as if Gaussian
        known = np.maximum(self._delta_about(t, Need(slack=1.0)), TINY)
        guess = np.log1p(t / (1 - 2 * np.log(known)))
        low, high = -np.log(np.expm1(t + _WIDEST)), -np.log(np.expm1(1e-5 * guess))
        spread = np.full_like(t, math.log(1.6))
        told, _ = least_told(reading, -np.log(np.expm1(guess)), spread, low, high)
        return np.clip(told, 0.0, 1.0)

    def _deltas(self, near: Array | None, beside: Array | None) -> Callable[[Array, Array, Any], Array]:
        """Reads deltas that are added to something so large, or subtracted from it: roughly, or closely, on
        the tails that are best for each, or for the delta at an epsilon for each row (beside so much)."""
        share, accuracy, sizes = (ROUGH, ROUGH, None) if beside is None else (_UNFELT, NARROW, None)
        if near is not None and beside is not None:
            rough = np.minimum(ROUGH * beside, 1.0)
            sizes = np.maximum(self._delta_about(np.abs(near), Need(rough, rough, ROUGH)), rough)

        def read(epsilon: Array, beside: Array, rows: Any) -> Array:
            felt = np.minimum(share * beside, 1.0)
            size = None if sizes is None else sizes[rows]
            return self._delta_about(epsilon, Need(felt, felt, accuracy, size))

        return read


def _beside(epsilon: Array) -> Array:
    """What a delta is added to below 0, e^-epsilon - 1: far below it does not count."""
    more: Array = np.expm1(np.clip(-epsilon, 0.0, 100.0))
    return more


def _likely_peak(fpr: Array, rest: Array, advantage: float) -> tuple[Array, Array]:
    """About which epsilon is best, of Gaussian noise, and how far around."""
    shift = 2 * ndtri(min((1 + advantage) / 2, 1 - EPS))
    place = np.where(fpr < rest, ndtri(fpr), -ndtri(rest))
    peak: Array = -shift * (np.clip(place, -_FURTHEST, _FURTHEST) + shift / 2)
    return peak, np.maximum(0.4 * np.abs(peak), shift / 4)


@dataclass(frozen=True)
class BayesFactor:
    """The factor e^L by which a release multiplies the odds given to the truth, and how large it gets.

    L = log dP/dQ for a release drawn from P, the true one of two neighbours; both orders are covered.
    """

    guarantee: Meaning

    def moment(self, order: Any) -> Any:
        """The mean of the factor to this power, at most: e^(aD) with D the Rényi divergence of order 1+a.

        Mironov 2017, sections II and VII: E over P of (R_post/R_prior)^(α-1) = e^((α-1) D_α). The same
        number bounds the mean of the power 1+a of a factor in favour of the data set that is *not* true.
        """
        powers = check_array("order", order, 0.0, math.inf, "a non-negative number")
        return shaped(np.array([self._moment(float(a)) for a in powers.ravel()]), powers)

    def _moment(self, power: float) -> float:
        if power == 0:
            return 1.0
        log_moment = power * self.guarantee._renyi(1 + power) * (1 + 4 * EPS)
        return math.exp(log_moment) if log_moment < 709 else math.inf

    def tail(self, factor: Any) -> Any:
        """The probability that the factor is this large or larger, at most.

        For every s < t = log(factor): δ(s) >= E_P[(1 - e^(s-L))_+] >= (1 - e^(s-t)) P(L >= t), so the
        smallest δ(s) / (1 - e^(s-t)) is a bound; negative s count too, where δ(s) = 1 - e^s (1 - δ(-s)).
        It is the best one: releasing only whether L > s, with s so that P(L > s) = e^t Q(L > s), attains it.
        So it can exceed the tail of the dominating pair's own loss, which not all mechanisms it dominates
        obey. It is never above Markov's bound from `moment` (whose exponent Mironov 2017, section VII,
        prints as 1/(α-1); α-1 is meant).
        """
        factors = check_array("factor", factor, 0.0, math.inf, "a non-negative number")
        with np.errstate(divide="ignore"):
            logs = np.log(factors.ravel())
        pure = self.guarantee._renyi(math.inf)
        result = self.guarantee._delta(np.full_like(logs, math.inf))
        # rounding in a logarithm must not carry a factor past the largest loss
        open_ = np.flatnonzero((logs > 0) & np.isfinite(logs) & (logs <= pure * (1 + 1e-12) + 1e-15))
        if open_.size and pure > 0:
            result[open_] = self.guarantee._tail(np.minimum(logs[open_], pure))
        return shaped(np.where(logs > 0, result, 1.0), factors)

    def quantile(self, beyond: Any) -> Any:
        """The factor that is exceeded with probability at most `beyond`; e^ε of pure DP for 0.

        β / f(1-β), with β for `beyond`: if p = P(L > t) > β, then e^t < p / Q(L > t) <= p / f(1-p), which
        does not rise with p since f is convex and f(1) = 0. It is attained, as `tail` is. Note that
        it is more than e^ε at δ = β: (ε, δ)-DP does not mean that the loss is below ε except with
        probability δ.
        """
        tails = check_array("beyond", beyond, 0.0, 1.0, _PROBABILITY)
        with np.errstate(over="ignore"):
            factors = np.exp(self.guarantee._log_factor(tails.ravel()))
        return shaped(factors, tails)
