"""Noisy sums of clipped vectors whose records are drawn otherwise than one coin for each person."""

import math
import sys
from functools import partial
from typing import Annotated

import numpy as np
from scipy.special import betainc

from indistinct.adjacency import Adjacency
from indistinct.description import Positive, PositiveCount, Probability, describable
from indistinct.errors import ArgumentError, check_count
from indistinct.guarantees import alternatives
from indistinct.guarantees.discrete_pair import DiscretePair
from indistinct.guarantees.drawn_shifts import drawn_counts
from indistinct.guarantees.guarantee import ExactGuarantee, Guarantee
from indistinct.guarantees.noise_pairs import GaussianPair
from indistinct.guarantees.product import Product
from indistinct.guarantees.repeated_draws_pair import RepeatedDrawsPair
from indistinct.guarantees.spliced_pair import spliced
from indistinct.mechanisms.mechanism import Mechanism

MOST_COINS = 2**31 - 2
"""For more the error of the binomial law is not known."""
_MOST_RECORDS = 64
_LEAST_NOISE = 0.02
_LEFT_OUT = 1e-30
"""Draws that are less likely than this give everything away."""


def slack(of: int) -> float:
    """By how much `more_than` is off, as a factor, at most: 20 times the worst of 60,000 cases that were
    computed to 30 digits."""
    return 1 + 1e-8 + 1e-15 * of


def more_than(count: int, of: int, rate: float) -> float:
    """The probability that more than `count` of so many coins succeed, rounded up (scipy's `bdtrc` may have
    no digit for 1e8 coins)."""
    if count >= of:
        return 0.0
    return min(float(betainc(count + 1.0, of - count, rate)) * slack(of) + 1e-300, 1.0)


@describable("sampled_sum")
class SampledSum(Mechanism):
    """A sum of vectors clipped to length 1, each joining with probability `rate`, plus Gaussian noise of
    standard deviation `noise`. A person has at most `records` of them, and each joins by a coin of its own.

    Said of clipped vectors, and not of any sensitivity, because replace-one needs more than how far a
    replacement moves the sum: both contributions are known to be at most 1 away from that of a record which
    was not drawn.

    >>> run = 1000 * SampledSum(noise=1, rate=0.01)
    >>> run.guarantee().epsilon(delta=1e-5), run.guarantee("replace-one").epsilon(delta=1e-5)
    (1.828236..., 2.84344...)
    """

    words = (
        "Poisson: each of a person's records (at most {records}) takes part in a run with probability {rate}"
    )
    noise: Positive
    rate: Probability
    records: PositiveCount = 1

    def __post_init__(self) -> None:
        if self.noise < _LEAST_NOISE:
            raise ArgumentError("noise", self.noise, f"at least {_LEAST_NOISE}")
        if self.records > _MOST_RECORDS:
            raise ArgumentError(
                "records", self.records, f"at most {_MOST_RECORDS}: more are not told from all at once"
            )

    def _guarantee(self, adjacency: Adjacency) -> Guarantee:
        replaced = adjacency is Adjacency.REPLACE_ONE
        shift = 1 / self.noise
        if self.rate == 0:
            pair: GaussianPair | RepeatedDrawsPair = GaussianPair(0.0)
        elif self.rate == 1:
            pair = GaussianPair((2 if replaced else 1) * self.records * shift)
        else:
            pair = RepeatedDrawsPair(shift, drawn_counts(self.records, self.rate), replaced)
        return ExactGuarantee(Product.of([(pair, 1)]), adjacency)


@describable("drawn_sum")
class DrawnSum(Mechanism):
    """A sum of `size` vectors clipped to length 1, drawn with replacement from `of` records, plus Gaussian
    noise of standard deviation `noise`: a record may be drawn several times.

    With the probability eta of being drawn at all, delta at log(1 + eta (e^epsilon - 1)) is at most the mean
    of those of the noise when the record counts j times (Balle, Barthe and Gaboardi 2018, Theorem 10): as if
    it were told how often it was drawn.

    >>> DrawnSum(noise=1, size=10, of=1000).guarantee().epsilon(delta=1e-5)
    5.5773
    """

    words = "with replacement: a run draws {size} times from the {of} records"
    natural = Adjacency.REPLACE_ONE
    noise: Positive
    size: Annotated[int, partial(check_count, least=1, most=MOST_COINS)]
    of: Annotated[int, partial(check_count, least=2, most=sys.maxsize)]

    def __post_init__(self) -> None:
        if math.isinf(2 * self.size / self.noise):
            raise ArgumentError("noise", self.noise, "large enough for sums to be counted in it")

    def _guarantee(self, adjacency: Adjacency) -> Guarantee:
        if adjacency is not Adjacency.REPLACE_ONE:
            raise ArgumentError(
                "adjacency", adjacency.value, "replace-one: how many records there are is known"
            )
        rate = 1 / self.of
        drawn, tails = more_than(0, self.size, rate), [1.0]
        # more draws tell more: of those with any, how many have more than j is rounded up
        for j in range(1, self.size + 1):
            tails.append(min(more_than(j, self.size, rate) * slack(self.size) ** 2 / drawn, tails[-1]))
            if tails[-1] < _LEFT_OUT:
                break
        weights = -np.diff(tails)
        shares = np.append(weights, tails[-1])
        parts: list[Guarantee] = [
            ExactGuarantee(Product.of([(GaussianPair(2 * j / self.noise), 1)]), adjacency)
            for j in range(1, len(weights) + 1)
        ]
        given_away = DiscretePair((1.0, 0.0), (0.0, 1.0))
        parts.append(ExactGuarantee(Product.of([(given_away, 1)]), adjacency))
        told = alternatives.mixture(parts, (shares / shares.sum()).tolist()).product
        assert told is not None and told.single is not None
        return ExactGuarantee(Product.of([(spliced(told.single.stand_in, drawn), 1)]), adjacency)
