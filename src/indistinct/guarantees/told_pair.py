"""One of two pairs by chance, and it is told which one it was."""

import math
from dataclasses import dataclass

import numpy as np

from indistinct.guarantees.pair import Pair, Resolution, Tails, Wave
from indistinct.numerics.arrays import Array
from indistinct.numerics.rounding import log_mean_exp
from indistinct.numerics.rule import LossRule


@dataclass(frozen=True)
class ToldPair(Pair):
    """With probability `share` the second pair, else the first, whichever of P and Q it is, and both see
    that. So the law of the loss, its tails, moments and delta are averages of theirs. Nobody is told which
    one it was, so it only dominates."""

    exact = False

    first: Pair
    second: Pair
    share: float

    @property
    def _parts(self) -> tuple[tuple[Pair, float], ...]:
        return (self.first, 1 - self.share), (self.second, self.share)

    def reverse(self) -> Pair:
        return ToldPair(self.first.reverse(), self.second.reverse(), self.share)

    @property
    def given_away(self) -> tuple[float, float]:  # type: ignore[override]
        of_p, of_q = (sum(weight * pair.given_away[k] for pair, weight in self._parts) for k in (0, 1))
        return of_p, of_q

    @property
    def loss_range(self) -> tuple[float, float]:
        (low, high), (other_low, other_high) = self.first.loss_range, self.second.loss_range
        return min(low, other_low), max(high, other_high)

    def outer_losses(self, tilt: float, log_tail: float) -> tuple[float, float]:
        ends = [pair.outer_losses(tilt, log_tail) for pair, _ in self._parts]
        return min(low for low, _ in ends), max(high for _, high in ends)

    def tails(self, loss: Array) -> Tails:
        both = [
            [math.log(weight) + tail for tail in pair.tails(loss)]
            for pair, weight in self._parts
            if weight > 0
        ]
        return Tails(*(np.logaddexp.reduce(tails, axis=0) for tails in zip(*both, strict=True)))

    def profile(self, epsilon: Array) -> Array:
        return _average([(pair.profile(epsilon), weight) for pair, weight in self._parts])

    def reversed_profile(self, epsilon: Array) -> Array:
        return _average([(pair.reversed_profile(epsilon), weight) for pair, weight in self._parts])

    def rule_on(self, low: float, high: float, wave: Wave) -> LossRule:
        return self._joined([pair.rule_on(low, high, wave) for pair, _ in self._parts])

    def rule(self, resolution: Resolution) -> LossRule:
        return self._joined([pair.rule(resolution) for pair, _ in self._parts])

    def _joined(self, rules: list[LossRule]) -> LossRule:
        weighted = [(rule, weight) for rule, (_, weight) in zip(rules, self._parts, strict=True)]
        return LossRule(
            np.concatenate([rule.loss for rule, _ in weighted]),
            np.concatenate([rule.log_q + math.log(weight) for rule, weight in weighted]),
            *(
                sum(weight * getattr(rule, mass) for rule, weight in weighted)
                for mass in ("only_p", "only_q", "missing_q", "missing_more")
            ),
        )

    def log_moment(self, order: float) -> float:
        return self._log_average([pair.log_moment(order) for pair, _ in self._parts])

    def computed_log_moment(self, order: float) -> float:
        return self._log_average([pair.computed_log_moment(order) for pair, _ in self._parts])

    def _log_average(self, moments: list[float]) -> float:
        return log_mean_exp([weight for _, weight in self._parts], moments)

    def log_envelope(self, resolution: Resolution) -> float:
        order = resolution.orders[0]
        moments = [math.log(weight) + pair.computed_log_moment(order) for pair, weight in self._parts]
        bounds = [
            moment + pair.log_envelope(resolution)
            for moment, (pair, _) in zip(moments, self._parts, strict=True)
        ]
        fallen = float(np.logaddexp.reduce(bounds) - np.logaddexp.reduce(moments)) + 1e-12
        return fallen if fallen < 0 else 0.0  # what is undefined has not fallen


def _average(parts: list[tuple[Array, float]]) -> Array:
    total: Array = np.sum([weight * value for value, weight in parts], axis=0)
    return np.minimum(total, 1.0)
