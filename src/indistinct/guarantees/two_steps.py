"""Two steps of sampled Gaussian noise, integrated directly.

With few steps and small rates the loss is heavy-tailed and neither engine is at its best. But the profile of
one step is a closed form for every epsilon, positive or not, so composing with one more step is one integral,

    delta(epsilon) = E_{L ~ P_1}[ delta_2(epsilon - L) ],

over a normal variable. All terms are positive: small deltas keep their relative accuracy. The integrand is
smooth but for one place, where it is infinitely flat (the smallest loss of a sampled step); panels get finer
towards it.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from indistinct.guarantees.engine import bisect
from indistinct.guarantees.mixture_pair import MixturePair
from indistinct.guarantees.noise_pairs import GaussianPair
from indistinct.guarantees.pair import Pair, ReversedPair
from indistinct.numerics.arrays import TINY, Array
from indistinct.numerics.rule import graded_panels, mixed_loss

_LOG_ROOT = 0.5 * math.log(2 * math.pi)
_MARGIN = 42.0
"""Mass left out, below the delta of a single step, in nats: e^-42 is 6e-19."""
_GUARD = 1e-10
_LARGEST_SHIFT = 16.0
"""Beyond, the integrand varies too fast, and the engines do well."""


@dataclass(frozen=True)
class TwoSteps:
    """The composition of two pairs."""

    first: Pair
    second: Pair

    @classmethod
    def of(cls, terms: Sequence[tuple[Pair, int]]) -> "TwoSteps | None":
        """None where there are more steps, or other pairs."""
        pairs = [pair for pair, count in terms for _ in range(min(count, 3))]
        if len(pairs) != 2 or not all(_is_normal(pair) for pair in pairs):
            return None
        return cls(*sorted(pairs, key=lambda pair: not isinstance(pair, GaussianPair)))

    def profile(self, epsilon: Array) -> Array:
        """An upper bound on delta at each epsilon: a finer rule is compared with a coarser one, and the
        difference is added."""
        least = np.maximum(self.first.profile(epsilon), self.second.profile(epsilon))
        result = np.empty_like(epsilon)
        for k, (one, level) in enumerate(zip(epsilon.tolist(), least.tolist(), strict=True)):
            reach = math.sqrt(2 * (_MARGIN - math.log(max(level, TINY))))
            coarse, fine = (self._integral(one, reach, width) for width in (1.0, 0.7))
            left_out = 2 * math.exp(-reach * reach / 2)
            result[k] = fine * (1 + _GUARD) + 2 * abs(fine - coarse) + left_out
        return np.minimum(result, 1.0)

    def epsilon(self, delta: float, top: float) -> float:
        """The smallest epsilon >= 0 with this delta, from above, by false position on log delta."""

        def gap(epsilon: float) -> float:
            return math.log(max(float(self.profile(np.array([epsilon]))[0]), TINY)) - target

        target = math.log(delta)
        if gap(0.0) <= 0:
            return 0.0
        # one step alone needs less; twice as much, and more if that is not enough
        low = max(
            float(bisect(pair.profile, np.array([delta]), top)[0]) for pair in (self.first, self.second)
        )
        low *= 1 - 1e-9
        high = min(2 * low + 1e-12, top)
        at_low = gap(low)
        while (at_high := gap(high)) > 0 and high < top:
            low, at_low, high = high, at_high, min(2 * high, top)
        for _ in range(100):
            if high - low <= 1e-13 * high or (at_high <= 0 and at_high > -1e-11):
                break
            middle = high - (high - low) * at_high / (at_high - at_low)
            middle = middle if low < middle < high else (low + high) / 2
            at_middle = gap(middle)
            if at_middle <= 0:
                high, at_high, at_low = middle, at_middle, at_low / 2  # Illinois: neither end stays for long
            else:
                low, at_low, at_high = middle, at_middle, at_high / 2
        return high

    def _integral(self, epsilon: float, reach: float, width: float) -> float:
        pair, reverse = _unreversed(self.first)
        shift, rate = _parameters(pair)
        # where the second step's loss would have to be the smallest there is
        flat = epsilon - _lowest(self.second)
        place = _variable(-flat if reverse else flat, shift, rate)
        x, log_weight = graded_panels(-reach, reach + shift, width / max(1.0, shift), place)
        loss = mixed_loss(shift * x - shift * shift / 2, rate)
        log_p = log_weight - x * x / 2 - _LOG_ROOT + (0.0 if reverse else loss)
        return float(np.exp(log_p) @ self.second.profile(epsilon - (-loss if reverse else loss)))


def _is_normal(pair: Pair) -> bool:
    pair, _ = _unreversed(pair)
    base = pair.base if isinstance(pair, MixturePair) else pair
    return isinstance(base, GaussianPair) and 0 < base.shift <= _LARGEST_SHIFT


def _unreversed(pair: Pair) -> tuple[Pair, bool]:
    return (pair.pair, True) if isinstance(pair, ReversedPair) else (pair, False)


def _parameters(pair: Pair) -> tuple[float, float]:
    """The shift behind a pair, and its rate."""
    base, rate = (pair.base, pair.rate) if isinstance(pair, MixturePair) else (pair, 1.0)
    assert isinstance(base, GaussianPair)
    return base.shift, rate


def _lowest(pair: Pair) -> float:
    """The end of its losses where they pile up: the smallest loss of a sampled step, reversed the largest."""
    pair, reverse = _unreversed(pair)
    _, rate = _parameters(pair)
    if rate == 1:
        return math.nan
    return -math.log1p(-rate) if reverse else math.log1p(-rate)


def _variable(loss: float, shift: float, rate: float) -> float:
    """The normal variable with this mixed loss, or nan."""
    ratio = math.expm1(min(loss, 700.0)) / rate if not math.isnan(loss) else math.nan
    return (math.log1p(ratio) + shift * shift / 2) / shift if ratio > -1 else math.nan
