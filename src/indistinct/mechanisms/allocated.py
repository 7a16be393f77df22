"""Random allocation: every record in exactly one of several runs, or in some of them."""

import sys

from indistinct.adjacency import Adjacency
from indistinct.description import describable
from indistinct.errors import ArgumentError, check_count
from indistinct.guarantees.allocation_pair import allocation
from indistinct.guarantees.guarantee import ExactGuarantee, Guarantee
from indistinct.guarantees.noise_pairs import GaussianPair
from indistinct.guarantees.replaced_pair import replaced
from indistinct.mechanisms.mechanism import Mechanism, check_sampled


@describable("allocated")
class Allocated(Mechanism):
    """`steps` runs, in `times` of which each record takes part: drawn at random, for each record by itself.

    The sensitivity of `base` is that of a record which is there or not, whatever the neighbours are: a record
    that is replaced leaves some runs, and another joins some.
    """

    words = (
        "allocated: each record takes part in {times} of {steps} runs, drawn at random, independently of all "
        "others"
    )
    base: Mechanism
    steps: int
    times: int = 1

    @property
    def form(self) -> str:  # type: ignore[override]
        return "{base!}.allocate({steps})" if self.times == 1 else "{base!}.allocate({steps}, times={times})"

    def __post_init__(self) -> None:
        check_sampled(self.base)
        object.__setattr__(self, "steps", check_count("steps", self.steps, least=1, most=sys.maxsize))
        times = check_count("times", self.times)
        if times > self.steps:
            raise ArgumentError("times", times, f"an integer between 0 and steps={self.steps}")
        object.__setattr__(self, "times", times)
        self._shift  # noqa: B018 (refuses what is not known)

    @property
    def _shift(self) -> float:
        product = self.base.guarantee(Adjacency.ADD_REMOVE).product
        pair = None if product is None else product.single
        if not isinstance(pair, GaussianPair):
            raise ArgumentError(
                "base", str(self.base), "Gaussian noise, to be allocated: its runs are known together"
            )
        return pair.shift

    def _guarantee(self, adjacency: Adjacency) -> Guarantee:
        known = allocation(self._shift, self.steps, self.times)
        return ExactGuarantee(replaced(known) if adjacency is Adjacency.REPLACE_ONE else known, adjacency)
