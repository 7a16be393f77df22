"""A noisy sum over a Poisson sample that is cut where it is too large."""

from scipy.special import bdtrc

from indistinct.adjacency import Adjacency
from indistinct.description import describable
from indistinct.errors import ArgumentError, check_count, check_positive, check_probability
from indistinct.guarantees.alternatives import parallel
from indistinct.guarantees.guarantee import ExactGuarantee, Guarantee
from indistinct.guarantees.mixture_pair import mixture
from indistinct.guarantees.noise_pairs import GaussianPair
from indistinct.guarantees.pair import Pair
from indistinct.guarantees.product import Product
from indistinct.guarantees.repeated_draws_pair import RepeatedDrawsPair
from indistinct.guarantees.told_pair import ToldPair
from indistinct.mechanisms.drawn_sums import MOST_COINS, SampledSum
from indistinct.mechanisms.mechanism import Mechanism

_ROUNDING = 1 + 1e-12


@describable("truncated_sum")
class TruncatedSum(Mechanism):
    """A sum of vectors clipped to length 1 with Gaussian noise of standard deviation `noise`. Each of `of`
    records joins with probability `rate`, and of more than `largest` that do, so many are kept, drawn at
    random.

    Whether the *other* records that joined fill the batch does not depend on the one that is told apart; at
    worst it is told. If they do not, it joins by its coin. If they do, it is kept with probability
    (largest/of) P(more than largest of all join) / P(the others fill it), whatever the batch would be without
    it, and then takes the place of one of these: it moves the sum by up to 2 (arXiv 2508.15089, whose bound
    for add/remove is that of replace-one there).

    >>> run = 100 * TruncatedSum(noise=2, rate=0.05, largest=60, of=1000)
    >>> run.guarantee().epsilon(delta=1e-5)  # never cut: 1.0972
    1.76099
    """

    words = "Poisson: each of {of} records takes part with probability {rate}, and at most {largest} of them"
    noise: float
    rate: float
    largest: int
    of: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "noise", check_positive("noise", self.noise))
        object.__setattr__(self, "rate", check_probability("rate", self.rate))
        check_count("largest", self.largest, least=1)
        if check_count("of", self.of, least=1) > MOST_COINS:
            raise ArgumentError("of", self.of, f"at most {MOST_COINS}")

    def _guarantee(self, adjacency: Adjacency) -> Guarantee:
        if adjacency is Adjacency.REPLACE_ONE:
            return self._among(self.of - 1, adjacency)
        # one of the records is removed, or one more is added, and neither tells more than the other always
        return parallel(*(self._among(others, adjacency) for others in (self.of - 1, self.of)))

    def _among(self, others: int, adjacency: Adjacency) -> Guarantee:
        """Of a record among so many others."""
        few = SampledSum(self.noise, self.rate).guarantee(adjacency)
        full = _more(self.largest - 1, others, self.rate)
        if full == 0:
            return few
        kept = self.largest / (others + 1) * _more(self.largest, others + 1, self.rate) / full
        many = self._replacing(min(kept * _ROUNDING, 1.0), adjacency is Adjacency.REPLACE_ONE)
        assert few.product is not None and few.product.single is not None
        pair = ToldPair(few.product.single, many, full) if full < 1 else many
        return ExactGuarantee(Product.of([(pair, 1)]), adjacency)

    def _replacing(self, kept: float, replaced: bool) -> Pair:
        """If it is kept, another record is not; a record in its place would do the same."""
        if replaced and kept < 1:
            return RepeatedDrawsPair(2 / self.noise, (1 - kept, kept), replaced=True, dominates=True)
        return mixture(GaussianPair((4 if replaced else 2) / self.noise, dominates=True), kept)


def _more(count: int, of: int, rate: float) -> float:
    """The probability that more than `count` of so many join."""
    return float(bdtrc(count, of, rate)) if count < of else 0.0
