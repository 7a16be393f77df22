"""Mechanisms as plain data: what is released, described once, and how descriptions combine.

A mechanism is a frozen value: it can be compared, hashed, printed as an expression, written to JSON and
read back. `guarantee(adjacency)` turns it into what is known about telling neighbours apart; nothing is
computed before a reading is asked for.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, fields
from typing import Any, ClassVar, Self

from indistinct.adjacency import Adjacency, check_adjacency
from indistinct.errors import ArgumentError, check_count, check_probability
from indistinct.guarantees.alternatives import parallel as parallel_guarantees
from indistinct.guarantees.discrete_pair import DiscretePair
from indistinct.guarantees.guarantee import Guarantee, Known, Outputs, PairGuarantee, compose
from indistinct.guarantees.mixture_pair import mixture
from indistinct.guarantees.pair import Pair
from indistinct.guarantees.product import Product
from indistinct.guarantees.spliced_pair import SplicedPair, spliced
from indistinct.guarantees.tabulated import finite_pair, symmetric_pair


@dataclass(frozen=True)
class Mechanism(ABC):
    """A randomised release. Combine with `subsample`, `n * m`, `m + other`, `group(k)`."""

    kind: ClassVar[str]
    """The name in expressions and in JSON."""

    @abstractmethod
    def _guarantee(self, adjacency: Adjacency) -> Guarantee: ...

    def guarantee(self, adjacency: Adjacency = Adjacency.ADD_REMOVE) -> Guarantee:
        """What is known about telling neighbouring data sets apart from the release.

        >>> from indistinct import Gaussian
        >>> run = 14062 * Gaussian(scale=1.1, sensitivity=1).subsample(256 / 60000)
        >>> run.guarantee().epsilon(delta=1e-5)
        2.3815969
        """
        return self._guarantee(check_adjacency(adjacency))

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

    def group(self, size: int) -> "Mechanism":
        """The same release, with the guarantee for `size` records at once."""
        return Grouped(self, size)

    def __add__(self, other: object) -> "Mechanism":
        if not isinstance(other, Mechanism):
            return NotImplemented
        parts = [part for m in (self, other) for part in (m.parts if isinstance(m, Composed) else (m,))]
        return Composed(tuple(parts))

    def __mul__(self, steps: Any) -> "Mechanism":
        count = check_count("steps", steps)
        return (
            Repeated(self.base, count * self.steps) if isinstance(self, Repeated) else Repeated(self, count)
        )

    __rmul__ = __mul__

    def to_json(self) -> dict[str, Any]:
        """The description as JSON data; `indistinct.mechanism_from_json` reads it back."""
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        return {"mechanism": self.kind, **{name: _to_json(value) for name, value in values.items()}}

    @classmethod
    def from_fields(cls, **values: Any) -> Self:
        """The inverse of `to_json`, once nested mechanisms are read."""
        return cls(**values)

    def _repr_html_(self) -> str:
        return self.guarantee(natural_adjacency(self)).to_html(str(self))


def _to_json(value: Any) -> Any:
    if isinstance(value, Mechanism):
        return value.to_json()
    if isinstance(value, tuple):
        return [_to_json(item) for item in value]
    return value


@dataclass(frozen=True)
class PoissonSampled(Mechanism):
    """Every record takes part independently with probability `rate`."""

    kind = "poisson_sampled"
    base: Mechanism
    rate: float

    def __post_init__(self) -> None:
        _check_base(self.base)
        _check_samples_records(self.base)
        object.__setattr__(self, "rate", check_probability("rate", self.rate))

    def __str__(self) -> str:
        return f"{_factor(self.base)}.subsample({self.rate!r})"

    def _guarantee(self, adjacency: Adjacency) -> Guarantee:
        if adjacency is not Adjacency.ADD_REMOVE:
            raise ArgumentError(
                "adjacency", adjacency.value, "add/remove for Poisson sampling, subsample(rate)"
            )
        base = self.base.guarantee(adjacency)
        pair = mixture(_pair(base), self.rate)
        return Known(Product.of([(pair, 1)]), adjacency, _sampled_output(base, self.rate))


@dataclass(frozen=True)
class FixedSizeSampled(Mechanism):
    """Exactly `size` of the `of` records take part, chosen uniformly without replacement.

    The base mechanism's sensitivity is then that of replacing a record of the sample.
    """

    kind = "fixed_size_sampled"
    base: Mechanism
    size: int
    of: int

    def __post_init__(self) -> None:
        _check_base(self.base)
        _check_samples_records(self.base)
        object.__setattr__(self, "of", check_count("of", self.of, least=1))
        size = check_count("size", self.size)
        if size > self.of:
            raise ArgumentError("size", size, f"an integer between 0 and of={self.of}")
        object.__setattr__(self, "size", size)

    def __str__(self) -> str:
        return f"{_factor(self.base)}.subsample({self.size}, of={self.of})"

    def _guarantee(self, adjacency: Adjacency) -> Guarantee:
        if adjacency is not Adjacency.REPLACE_ONE:
            raise ArgumentError(
                "adjacency", adjacency.value, "replace-one for fixed-size sampling, subsample(size, of=n)"
            )
        base = symmetric_pair(_pair(self.base.guarantee(adjacency)).stand_in)
        if isinstance(base, SplicedPair):
            base = symmetric_pair(finite_pair(base))
        rate = self.size / self.of
        return Known(Product.of([(spliced(base, rate), 1)]), adjacency)


@dataclass(frozen=True)
class Repeated(Mechanism):
    """The mechanism run `steps` times, each run free to depend on the results before it."""

    kind = "repeated"
    base: Mechanism
    steps: int

    def __post_init__(self) -> None:
        _check_base(self.base)
        object.__setattr__(self, "steps", check_count("steps", self.steps))

    def __str__(self) -> str:
        return f"{self.steps} * {_factor(self.base)}"

    def _guarantee(self, adjacency: Adjacency) -> Guarantee:
        return self.steps * self.base.guarantee(adjacency)


@dataclass(frozen=True)
class Composed(Mechanism):
    """Several mechanisms run on the same data, each free to depend on the results before it."""

    kind = "composed"
    parts: tuple[Mechanism, ...]

    def __post_init__(self) -> None:
        _check_parts(self.parts)

    def __str__(self) -> str:
        return " + ".join(str(part) for part in self.parts)

    def _guarantee(self, adjacency: Adjacency) -> Guarantee:
        return compose((part.guarantee(adjacency), 1) for part in self.parts)


@dataclass(frozen=True)
class ParallelParts(Mechanism):
    """Several mechanisms, each run on its own part of the data; no record is in two parts."""

    kind = "parallel"
    parts: tuple[Mechanism, ...]

    def __post_init__(self) -> None:
        _check_parts(self.parts)

    def __str__(self) -> str:
        return f"parallel({', '.join(str(part) for part in self.parts)})"

    def _guarantee(self, adjacency: Adjacency) -> Guarantee:
        return parallel_guarantees(*(part.guarantee(adjacency) for part in self.parts))


@dataclass(frozen=True)
class Grouped(Mechanism):
    """A mechanism seen by `size` records that change together."""

    kind = "grouped"
    base: Mechanism
    size: int

    def __post_init__(self) -> None:
        _check_base(self.base)
        object.__setattr__(self, "size", check_count("size", self.size, least=1))

    def __str__(self) -> str:
        return f"{_factor(self.base)}.group({self.size})"

    def _guarantee(self, adjacency: Adjacency) -> Guarantee:
        return self.base.guarantee(adjacency).group(self.size)


def natural_adjacency(mechanism: Mechanism) -> Adjacency:
    """Replace-one if the mechanism samples a fixed size anywhere, else add/remove."""
    fixed = any(isinstance(m, FixedSizeSampled) for m in _nested(mechanism))
    return Adjacency.REPLACE_ONE if fixed else Adjacency.ADD_REMOVE


def _nested(mechanism: Mechanism) -> Iterator[Mechanism]:
    """The mechanism and all that it is made of."""
    yield mechanism
    for value in vars(mechanism).values():
        for inner in value if isinstance(value, tuple) else (value,):
            if isinstance(inner, Mechanism):
                yield from _nested(inner)


def _check_samples_records(base: Mechanism) -> None:
    """Refuses to sample a group as if by one coin: its records are sampled one by one."""
    if any(isinstance(m, Grouped) for m in _nested(base)):
        raise ArgumentError("base", str(base), "sampled first and grouped last: m.subsample(...).group(k)")


def _check_base(base: object) -> None:
    if not isinstance(base, Mechanism):
        raise ArgumentError("base", base, "a mechanism")


def _check_parts(parts: object) -> None:
    if not isinstance(parts, tuple) or not parts or not all(isinstance(p, Mechanism) for p in parts):
        raise ArgumentError("parts", parts, "a non-empty tuple of mechanisms")


def _factor(mechanism: Mechanism) -> str:
    """The expression, in brackets where `.` or `*` would otherwise bind to a part of it."""
    text = str(mechanism)
    return f"({text})" if isinstance(mechanism, Repeated | Composed) else text


def _sampled_output(base: Guarantee, rate: float) -> Outputs | None:
    """The released number with and without a record that takes part by a coin; several numbers share the
    coin and are no longer independent."""
    if base.outputs is None or len(base.outputs) > 1 or base.outputs[0][1] != 1:
        return None
    pair = base.outputs[0][0]
    if isinstance(pair, DiscretePair):  # outcomes keep their places, which features refer to
        mixed = ((1 - rate) * b + rate * a for a, b in zip(pair.p, pair.q, strict=True))
        return ((DiscretePair(tuple(mixed), pair.q), 1),)
    return ((mixture(pair, rate), 1),)


def _pair(guarantee: Guarantee) -> Pair:
    """One pair for a guarantee, to be mixed."""
    if isinstance(guarantee, PairGuarantee):
        return guarantee.pair()
    product = guarantee.product
    if product is None:
        raise ArgumentError("base", guarantee, "a mechanism known by its pair, to be subsampled")
    return Known(product, guarantee.adjacency).pair()
