"""Mechanisms as plain data: what is released, described once, and how descriptions combine.

A mechanism is a frozen value: it can be compared, hashed, printed as an expression, written to JSON and
read back. `guarantee(adjacency)` turns it into what is known about telling neighbours apart; nothing is
computed before a reading is asked for.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar, overload

from indistinct.adjacency import Adjacency, check_adjacency
from indistinct.description import Described, arguments, describable, nested, spelled
from indistinct.errors import ArgumentError, check_count, check_probability
from indistinct.guarantees import alternatives
from indistinct.guarantees.discrete_pair import DiscretePair
from indistinct.guarantees.dominating_pairs import finite_pair, symmetric_pair
from indistinct.guarantees.guarantee import ExactGuarantee, Guarantee, Outputs, PairGuarantee, compose
from indistinct.guarantees.mixture_pair import mixture as sampled_pair
from indistinct.guarantees.pair import Pair
from indistinct.guarantees.product import Product
from indistinct.guarantees.spliced_pair import SplicedPair, spliced
from indistinct.guarantees.stated import Claim
from indistinct.noise import Source

if TYPE_CHECKING:
    from indistinct.mechanisms.release import Released


class Mechanism(Described, ABC):
    """A randomised release. Combine with `subsample`, `n * m`, `m + other`, `sum([...])`, `group(k)`,
    `parallel` and `mixture`; claims such as `ApproxDP(1, 1e-6)` may be among the parts."""

    noun = "mechanism"
    words: ClassVar[str] = ""
    """What a report says of how records take part, with the names of its fields in braces."""
    natural: Adjacency | None = None
    """The only neighbours that it says something about, apart from its parts; None if it takes any."""

    @abstractmethod
    def _guarantee(self, adjacency: Adjacency) -> Guarantee: ...

    def guarantee(self, adjacency: Adjacency | str | None = None) -> Guarantee:
        """What is known about telling neighbouring data sets apart from the release. Neighbours are those
        that are named; else those of its sampling, and where it has none, add/remove.

        >>> from indistinct import Gaussian
        >>> run = 14062 * Gaussian(scale=1.1, sensitivity=1).subsample(256 / 60000)
        >>> run.guarantee().epsilon(delta=1e-5)
        2.3815969
        """
        return self._guarantee(natural_adjacency(self) if adjacency is None else check_adjacency(adjacency))

    def release(self, data: Any, /, *, source: Source | None = None) -> "Released":
        """What the mechanism draws from data; this one is only accounted."""
        allowed = "one that draws noise: release what it is made of, each by itself"
        raise ArgumentError("mechanism", str(self), allowed)

    def subsample(self, amount: Any, /, *, of: int | None = None) -> "Mechanism":
        """Run the mechanism on a random part of the data, drawn afresh each time.

        `subsample(rate)`: every record takes part with this probability, independently (Poisson
        sampling; its guarantee is for add/remove). `subsample(size, of=n)`: exactly `size` of the `n`
        records take part (without replacement; its guarantee is for replace-one). These are different
        algorithms with different guarantees: say the one that your data loader runs.
        """
        if of is None:
            return PoissonSampled(self, check_probability("rate", amount))
        return FixedSizeSampled(self, amount, of)

    def allocate(self, steps: int, *, times: int = 1) -> "Mechanism":
        """`steps` runs of the mechanism, as in one epoch: every record takes part in exactly one of them, or
        in `times`, drawn at random for each record by itself. Of Gaussian noise.

        >>> from indistinct import Gaussian
        >>> (60 * Gaussian(scale=1.1).allocate(234)).guarantee().epsilon(delta=1e-5)
        2.340520760
        """
        from indistinct.mechanisms.allocated import Allocated

        return Allocated(self, steps, times)

    def group(self, size: int) -> "Mechanism":
        """The same release, with the guarantee for `size` records at once."""
        return Grouped(self, size)

    def __add__(self, other: object) -> "Mechanism":
        if isinstance(other, Guarantee):
            other = Stated(other)
        if not isinstance(other, Mechanism):
            return NotImplemented
        parts = [part for m in (self, other) for part in (m.parts if isinstance(m, Composed) else (m,))]
        return Composed(tuple(parts))

    def __radd__(self, other: object) -> "Mechanism":
        if isinstance(other, Guarantee):
            return Stated(other) + self
        return self if isinstance(other, int) and other == 0 else NotImplemented  # where `sum` starts

    def __mul__(self, steps: Any) -> "Mechanism":
        count = check_count("steps", steps)
        return (
            Repeated(self.base, count * self.steps) if isinstance(self, Repeated) else Repeated(self, count)
        )

    __rmul__ = __mul__

    def __str__(self) -> str:
        return spelled(self, python=False)

    def _repr_html_(self) -> str:
        return self.guarantee().to_html(str(self))


@describable("poisson_sampled")
class PoissonSampled(Mechanism):
    """Every record takes part independently with probability `rate`."""

    form = "{base!}.subsample({rate})"
    words = "Poisson: each record takes part in a run with probability {rate}, independently of all others"
    base: Mechanism
    rate: float

    def __post_init__(self) -> None:
        check_sampled(self.base)
        object.__setattr__(self, "rate", check_probability("rate", self.rate))

    def _guarantee(self, adjacency: Adjacency) -> Guarantee:
        if adjacency is not Adjacency.ADD_REMOVE:
            raise ArgumentError(
                "adjacency", adjacency.value, "add/remove for Poisson sampling, subsample(rate)"
            )
        base = self.base.guarantee(adjacency)
        pair = sampled_pair(_pair(base), self.rate)
        return ExactGuarantee(Product.of([(pair, 1)]), adjacency, _sampled_output(base, self.rate))


@describable("fixed_size_sampled")
class FixedSizeSampled(Mechanism):
    """Exactly `size` of the `of` records take part, chosen uniformly without replacement.

    The base mechanism's sensitivity is then that of replacing a record of the sample.
    """

    form = "{base!}.subsample({size}, of={of})"
    words = "fixed size: exactly {size} of the {of} records take part in a run, drawn without replacement"
    natural = Adjacency.REPLACE_ONE
    base: Mechanism
    size: int
    of: int

    def __post_init__(self) -> None:
        check_sampled(self.base)
        object.__setattr__(self, "of", check_count("of", self.of, least=1))
        size = check_count("size", self.size)
        if size > self.of:
            raise ArgumentError("size", size, f"an integer between 0 and of={self.of}")
        object.__setattr__(self, "size", size)

    def _guarantee(self, adjacency: Adjacency) -> Guarantee:
        if adjacency is not Adjacency.REPLACE_ONE:
            raise ArgumentError(
                "adjacency", adjacency.value, "replace-one for fixed-size sampling, subsample(size, of=n)"
            )
        base = symmetric_pair(_pair(self.base.guarantee(adjacency)).stand_in)
        if isinstance(base, SplicedPair):
            base = symmetric_pair(finite_pair(base))
        rate = self.size / self.of
        return ExactGuarantee(Product.of([(spliced(base, rate), 1)]), adjacency)


@describable("repeated")
class Repeated(Mechanism):
    """The mechanism run `steps` times, each run free to depend on the results before it."""

    form = "{steps} * {base!}"
    loose = True
    base: Mechanism
    steps: int

    def __post_init__(self) -> None:
        _check_base(self.base)
        object.__setattr__(self, "steps", check_count("steps", self.steps))

    def _guarantee(self, adjacency: Adjacency) -> Guarantee:
        return self.steps * self.base.guarantee(adjacency)


@describable("composed")
class Composed(Mechanism):
    """Several mechanisms run on the same data, each free to depend on the results before it."""

    form = "{parts: + }"
    loose = True
    parts: tuple[Mechanism, ...]

    def __post_init__(self) -> None:
        _check_parts(self.parts)

    def _guarantee(self, adjacency: Adjacency) -> Guarantee:
        return compose((part.guarantee(adjacency), 1) for part in self.parts)


@describable("parallel")
class ParallelParts(Mechanism):
    """Several mechanisms, each run on its own part of the data; no record is in two parts."""

    form = "parallel({parts:, })"
    parts: tuple[Mechanism, ...]

    def __post_init__(self) -> None:
        _check_parts(self.parts)

    def _guarantee(self, adjacency: Adjacency) -> Guarantee:
        return alternatives.parallel(*(part.guarantee(adjacency) for part in self.parts))


@describable("grouped")
class Grouped(Mechanism):
    """A mechanism seen by `size` records that change together."""

    form = "{base!}.group({size})"
    base: Mechanism
    size: int

    def __post_init__(self) -> None:
        _check_base(self.base)
        object.__setattr__(self, "size", check_count("size", self.size, least=1))

    def _guarantee(self, adjacency: Adjacency) -> Guarantee:
        return self.base.guarantee(adjacency).group(self.size)


@describable("mixture")
class MixedParts(Mechanism):
    """One of several mechanisms, drawn with probabilities that do not depend on the data."""

    form = "mixture([{parts:, }], [{weights:, }])"
    parts: tuple[Mechanism, ...]
    weights: tuple[float, ...]

    def __post_init__(self) -> None:
        _check_parts(self.parts)
        shares = alternatives.check_shares(len(self.parts), self.weights)
        object.__setattr__(self, "weights", tuple(shares))

    def _guarantee(self, adjacency: Adjacency) -> Guarantee:
        return alternatives.mixture([part.guarantee(adjacency) for part in self.parts], self.weights)


@describable("stated")
class Stated(Mechanism):
    """A release of which no more is known than what somebody claims. In expressions a claim is about
    whichever neighbours one asks for, unless it names them; in Python it names them."""

    words = "unknown for what is only claimed: a claim does not say how records take part"
    claim: Guarantee
    any_neighbours: bool = False

    def __post_init__(self) -> None:
        if not isinstance(self.any_neighbours, bool):
            raise ArgumentError("any_neighbours", self.any_neighbours, "True or False")
        if not isinstance(self.claim, Claim if self.any_neighbours else Guarantee):
            raise ArgumentError("claim", self.claim, "a guarantee such as ApproxDP(1, 1e-6)")
        if isinstance(self.claim, Claim) and self.any_neighbours:
            object.__setattr__(self, "claim", restated(self.claim, Adjacency.ADD_REMOVE))

    def __str__(self) -> str:
        if not isinstance(self.claim, Claim) or self.claim.instead:
            return repr(self.claim)
        words = spelled(self.claim, python=False)
        unsaid = not self.any_neighbours and self.claim.adjacency is Adjacency.ADD_REMOVE
        return f'{words[:-1]}, adjacency="add/remove")' if unsaid else words

    @property
    def natural(self) -> Adjacency | None:  # type: ignore[override]
        return None if self.any_neighbours else self.claim.adjacency

    def _guarantee(self, adjacency: Adjacency) -> Guarantee:
        if isinstance(self.claim, Claim) and self.any_neighbours:
            return restated(self.claim, adjacency)
        if adjacency is not self.claim.adjacency:
            allowed = f"{self.claim.adjacency.value}, as {self.claim} was claimed"
            raise ArgumentError("adjacency", adjacency.value, allowed)
        return self.claim


def restated(claim: Claim, adjacency: Adjacency) -> Claim:
    """The same claim about other neighbours."""
    return type(claim)(**{**arguments(claim), "adjacency": adjacency})


Parts = Mechanism | Guarantee


@overload
def parallel(*parts: Guarantee) -> Guarantee: ...  # type: ignore[overload-overlap]
@overload
def parallel(*parts: Parts) -> Mechanism: ...
def parallel(*parts: Parts) -> Parts:
    """Several releases, each of its own part of the data; no record is in two of them.

    >>> from indistinct import ApproxDP, Gaussian, Laplace
    >>> print(parallel(Gaussian(1), Laplace(2)))
    parallel(gaussian(1.0), laplace(2.0))
    >>> parallel(ApproxDP(1, 1e-6), ApproxDP(2, 1e-6)).epsilon(delta=1e-6)
    2.0
    """
    if parts and all(isinstance(part, Guarantee) for part in parts):
        return alternatives.parallel(*parts)  # type: ignore[arg-type]
    return ParallelParts(_mechanisms(parts))


@overload
def mixture(parts: Sequence[Guarantee], weights: Sequence[float]) -> Guarantee: ...  # type: ignore[overload-overlap]
@overload
def mixture(parts: Sequence[Parts], weights: Sequence[float]) -> Mechanism: ...
def mixture(parts: Sequence[Parts], weights: Sequence[float]) -> Parts:
    """One of several releases, drawn with probabilities that do not depend on the data.

    >>> from indistinct import Gaussian
    >>> mixture([Gaussian(1), Gaussian(4)], [0.1, 0.9]).guarantee().epsilon(delta=1e-5)
    3.8044
    """
    try:
        listed, shares = list(parts), list(weights)
    except TypeError:
        raise ArgumentError("mixture", (parts, weights), "given a list of parts and one of weights") from None
    if listed and all(isinstance(part, Guarantee) for part in listed):
        return alternatives.mixture(listed, shares)  # type: ignore[arg-type]
    return MixedParts(_mechanisms(listed), tuple(shares))


def _mechanisms(parts: Sequence[Parts]) -> tuple[Mechanism, ...]:
    return tuple(Stated(part) if isinstance(part, Guarantee) else part for part in parts)


def natural_adjacency(mechanism: Mechanism) -> Adjacency:
    """Replace-one if a part is about nothing else, as sampling of a fixed size is; else add/remove."""
    fixed = any(isinstance(m, Mechanism) and m.natural is Adjacency.REPLACE_ONE for m in nested(mechanism))
    return Adjacency.REPLACE_ONE if fixed else Adjacency.ADD_REMOVE


def check_sampled(base: Mechanism) -> None:
    """Refuses what no scheme can sample: a group as if by one coin, whose records are sampled one by one, and
    what is only claimed."""
    _check_base(base)
    for m in nested(base):
        if isinstance(m, Grouped):
            allowed = "sampled first and grouped last: m.subsample(...).group(k)"
            raise ArgumentError("base", str(base), allowed)
        if isinstance(m, Stated):
            allowed = "said of a mechanism: a claim does not tell what is sampled, or how"
            raise ArgumentError("subsample", str(base), allowed)


def _check_base(base: object) -> None:
    if not isinstance(base, Mechanism):
        raise ArgumentError("base", base, "a mechanism")


def _check_parts(parts: object) -> None:
    if not isinstance(parts, tuple) or not parts or not all(isinstance(p, Mechanism) for p in parts):
        raise ArgumentError("parts", parts, "a non-empty tuple of mechanisms")


def _sampled_output(base: Guarantee, rate: float) -> Outputs | None:
    """The released number with and without a record that takes part by a coin; several numbers share the
    coin and are no longer independent."""
    if base.outputs is None or len(base.outputs) > 1 or base.outputs[0][1] != 1:
        return None
    pair = base.outputs[0][0]
    if isinstance(pair, DiscretePair):  # outcomes keep their places, which features refer to
        mixed = ((1 - rate) * b + rate * a for a, b in zip(pair.p, pair.q, strict=True))
        return ((DiscretePair(tuple(mixed), pair.q), 1),)
    return ((sampled_pair(pair, rate), 1),)


def _pair(guarantee: Guarantee) -> Pair:
    """One pair for a guarantee, to be mixed."""
    if isinstance(guarantee, PairGuarantee):
        return guarantee.pair()
    product = guarantee.product
    if product is None:
        raise ArgumentError("base", guarantee, "a mechanism known by its pair, to be subsampled")
    return ExactGuarantee(product, guarantee.adjacency).pair()
