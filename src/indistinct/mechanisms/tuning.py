"""Tuning: a run is tried a random number of times, and the best one is kept."""

import math
from collections.abc import Callable
from typing import Any, Protocol, Self, TypeVar, overload

from indistinct.adjacency import Adjacency
from indistinct.description import describable
from indistinct.errors import ArgumentError, check_real
from indistinct.guarantees.guarantee import Guarantee
from indistinct.guarantees.selected import selected
from indistinct.guarantees.tries import FixedTries
from indistinct.guarantees.tries import Tries as Tries
from indistinct.mechanisms.mechanism import Mechanism, Stated
from indistinct.mechanisms.paying import Payer, charged
from indistinct.mechanisms.release import Release
from indistinct.noise import Source, SystemSource, negative_binomial, poisson


@describable("repeat_and_select")
class RepeatAndSelect(Mechanism):
    """The mechanism tried a random number of times, `mean` on average; only the output of the best score is
    released, neither the other outputs nor how many there were.

    Each try may first draw its hyperparameters, from a law that does not depend on the data, as long as the
    mechanism's guarantee holds for all of them. Scores are part of what a try outputs (and of what its
    guarantee is about) or follow from it. `shape` is that of `Tries`: 1 geometric, 0 logarithmic, infinity
    Poisson.

    >>> from indistinct import Gaussian
    >>> run = Gaussian(scale=3.7303)                       # epsilon is 1 at delta = 1e-5
    >>> RepeatAndSelect(run, mean=10).guarantee().epsilon(delta=1e-5)
    1.54
    """

    base: Mechanism
    mean: float
    shape: float = 1.0

    def __post_init__(self) -> None:
        if not isinstance(self.base, Mechanism):
            raise ArgumentError("base", self.base, "a mechanism")
        for name in ("mean", "shape"):
            object.__setattr__(self, name, getattr(self.tries, name))

    @property
    def tries(self) -> Tries:
        """The law of the number of tries."""
        return Tries(self.mean, self.shape)

    def _guarantee(self, adjacency: Adjacency) -> Guarantee:
        return selected(self.base.guarantee(adjacency), self.tries)

    @charged
    def release(
        self,
        run: Callable[[], tuple[float, Any]],
        /,
        *,
        source: Source | None = None,
        ledger: Payer | None = None,
    ) -> Release[Any]:
        """The best of what `run()` gives, a score and an output each time it is called: `values` is that
        output, or None if nothing was tried. That a run has the stated guarantee, score and all, is its own
        business; how often it was called, and how long that took, is not to be published.

        >>> Gaussian = __import__("indistinct").Gaussian
        >>> noisy = Gaussian(scale=2)
        >>> def run():
        ...     answer = noisy.release([10.0]).values
        ...     return answer[0], answer
        >>> best = repeat_and_select(noisy, Tries.geometric(5)).release(run)
        >>> best.guarantee().pure() == noisy.guarantee().pure()
        True
        """
        source = SystemSource() if source is None else source
        best, kept = -math.inf, None
        for k in range(drawn(self.tries, source)):
            score, output = run()
            score = check_real("score", score, "a number, never NaN: it would tell something of the data")
            # tries are alike, so the first of equals is one at random
            if k == 0 or score > best:
                best, kept = score, output
        return Release(kept, self, source.private)


def drawn(tries: Tries, source: Source | None = None) -> int:
    """A number of tries of exactly this law."""
    if tries.shape == math.inf:
        return poisson(tries.mean, source)
    return negative_binomial(tries.stop, tries.shape, source)


class Tuned(Protocol):
    """What has a mechanism and more to say of it, as a training run."""

    def tuned(self, tries: Tries | FixedTries | float) -> Self:
        """The best of so many of it."""


T = TypeVar("T", bound=Tuned)


@overload
def repeat_and_select(mechanism: Mechanism | Guarantee, tries: Tries | FixedTries | float) -> Mechanism: ...
@overload
def repeat_and_select(mechanism: T, tries: Tries | FixedTries | float) -> T: ...
def repeat_and_select(mechanism: Any, tries: Tries | FixedTries | float) -> Any:
    """The best of a random number of tries of a mechanism or a training run; a number is the mean of a
    geometric law.

    >>> from indistinct import Gaussian, PureDP
    >>> tuned = repeat_and_select(Gaussian(scale=3.7303), Tries.logarithmic(10))
    >>> tuned.guarantee().epsilon(delta=1e-5)
    1.453
    >>> repeat_and_select(PureDP(1), Tries.geometric(100)).guarantee().pure()  # never more than 3
    2.954
    >>> repeat_and_select(PureDP(1), Tries.fixed(10)).guarantee().pure()  # as if all were released
    10.0
    """
    if not isinstance(mechanism, Mechanism | Guarantee) and hasattr(mechanism, "tuned"):
        return mechanism.tuned(tries)
    if isinstance(mechanism, Guarantee):
        mechanism = Stated(mechanism)
    if isinstance(tries, FixedTries):
        return tries.count * mechanism
    law = tries if isinstance(tries, Tries) else Tries(tries)
    return RepeatAndSelect(mechanism, law.mean, law.shape)
