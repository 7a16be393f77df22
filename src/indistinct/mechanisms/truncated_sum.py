"""A noisy sum over a Poisson sample that is cut where it is too large."""

import math
from functools import partial
from typing import Annotated

from scipy.special import gammaln

from indistinct.adjacency import Adjacency
from indistinct.description import Positive, PositiveCount, Probability, describable
from indistinct.errors import check_count
from indistinct.guarantees.guarantee import ExactGuarantee, Guarantee
from indistinct.guarantees.mixture_pair import mixture
from indistinct.guarantees.noise_pairs import GaussianPair
from indistinct.guarantees.pair import Pair
from indistinct.guarantees.product import Product
from indistinct.guarantees.repeated_draws_pair import RepeatedDrawsPair
from indistinct.guarantees.spliced_pair import spliced
from indistinct.guarantees.told_pair import ToldPair
from indistinct.mechanisms.drawn_sums import MOST_COINS, SampledSum, more_than, slack
from indistinct.mechanisms.mechanism import Mechanism
from indistinct.numerics.arrays import EPS

_HARDLY = 0.8
"""Both bounds hold: this is about where one becomes the smaller."""


@describable("truncated_sum")
class TruncatedSum(Mechanism):
    """A sum of vectors clipped to length 1 with Gaussian noise of standard deviation `noise`. Each of `of`
    records joins with probability `rate`, and of more than `largest` that do, so many are kept, drawn at
    random.

    Let x be the vector told apart, B the largest batch, q the rate, and m the number of others that join.
    Those of them that are kept are some at random: let K be B - 1 and z one more. It is told at worst whether
    m < B - 1, and then x joins by its coin. Else measure from the sum over K, with a = P(m = B - 1) and
    f = P(m >= B). Noise is added to

    - without x: 0 with mass a, z with mass f;
    - with x: 0 with mass (1 - q) a, z with f - k, x with q a + k: if it joins a full batch it is kept with
      probability B / (m + 1), in the place of z. So k = B / (n + 1) P(more than B of n + 1 join) <= q f.

    Lemma: a set of probability p around one centre has between Phi(Phi^-1(p) - d) and Phi(Phi^-1(p) + d)
    around another at distance d (Neyman and Pearson), and half-lines have that of all centres on a ray at
    once. So centres within given distances of one are told from it best at these, on one ray. All for
    e^epsilon >= 1; other epsilons are the other direction.

    *Added.* With x against without, x has more mass, and 0 and z have less: at worst x = 1, z = -1, and best
    told apart by a half-line. So it grows if mass q f - k goes from z to x, which makes it sampling with rate
    q of (x against 0 with mass a and z with f). The other direction grows by that too where 0 and z have
    more mass without x. Where only 0 has, it is at most a times that of Poisson sampling, and sampling of
    the above is no less. *Not told which of two sizes:* n is `of` or one less. P(m < B - 1) of the smaller
    and f of the larger tell no less than either, for that tells a part of a apart, or moves it from 0 to z.

    *Hardly kept.* If k is far below q f, it is better told whether m >= B: then x is sampled with rate k/f,
    2 from z. That of the two sizes which has the larger f is told which part of it the other has, and in the
    rest of it x is sampled with rate q, 2 away: no less than either, k/f being the larger of both.

    *Replaced.* Told whether m >= B, x and its replacement are kept with probability k/f. No two of them and z
    are farther than 2 apart: by the lemma no more than sampling with that rate of (2 against 0), either way.
    That may tell less than where m < B: in what f is not known to, it is told that 2 and 0 are told apart.

    >>> run = 100 * TruncatedSum(noise=2, rate=0.05, largest=60, of=1000)
    >>> run.guarantee().epsilon(delta=1e-5)  # never cut: 1.0972
    1.39621
    """

    words = "Poisson: each of {of} records takes part with probability {rate}, and at most {largest} of them"
    noise: Positive
    rate: Probability
    largest: PositiveCount
    of: Annotated[int, partial(check_count, least=1, most=MOST_COINS)]

    def _guarantee(self, adjacency: Adjacency) -> Guarantee:
        few = SampledSum(self.noise, self.rate).guarantee(adjacency)
        assert few.product is not None and few.product.single is not None
        replaced = adjacency is Adjacency.REPLACE_ONE
        if self.rate == 0 or self.largest > self.of - replaced:
            return few  # never cut
        many, share = self._replaced() if replaced else self._added()
        pair = ToldPair(few.product.single, many, share) if share < 1 else many
        return ExactGuarantee(Product.of([(pair, 1)]), adjacency)

    def _added(self) -> tuple[Pair, float]:
        """Of a batch that others fill, or all but for one place, and the probability of that."""
        far, full = (
            GaussianPair(2 / self.noise, dominates=True),
            more_than(self.largest - 1, self.of, self.rate),
        )
        both = more_than(self.largest - 1, self.of - 1, self.rate) / slack(self.of) ** 2
        if (
            both
            and (kept := max(self._kept(self.of) / both, self._kept(self.of + 1) / full))
            < _HARDLY * self.rate
        ):
            return ToldPair(mixture(far, kept), mixture(far, self.rate), 1 - both / full), full
        nearly = min((1 - self.rate) * _exactly(self.largest - 1, self.of - 1, self.rate), 1 - full)
        share = full + nearly
        weights = 0.0, nearly / share, full / share
        base = RepeatedDrawsPair(1 / self.noise, weights, dominates=True).reverse() if nearly else far
        return mixture(base, self.rate), share

    def _replaced(self) -> tuple[Pair, float]:
        """Of a batch that others fill, and the probability of that."""
        full, doubt = more_than(self.largest - 1, self.of - 1, self.rate), slack(self.of) ** 2
        kept = min(self._kept(self.of) / full * doubt, 1.0)
        far = GaussianPair(2 / self.noise, dominates=True)
        return ToldPair(spliced(far, kept), far, 1 - 1 / doubt), full

    def _kept(self, of: int) -> float:
        """The probability that one of so many is kept of a batch that is cut."""
        return self.largest / of * more_than(self.largest, of, self.rate)


def _exactly(count: int, of: int, rate: float) -> float:
    """The probability that so many join, rounded down."""
    if rate == 1:
        return float(count == of)
    log_ways = gammaln(of + 1) - gammaln(count + 1) - gammaln(of - count + 1)
    log_chance = log_ways + count * math.log(rate) + (of - count) * math.log1p(-rate)
    return math.exp(log_chance - 16 * EPS * (gammaln(of + 1) + of))
