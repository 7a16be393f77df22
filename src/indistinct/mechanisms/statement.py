"""What an expression says that contains claims: knowledge without a mechanism, alone or beside mechanisms.

A claim is about the neighbours that one asks for, so it becomes a guarantee only once these are named.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NoReturn

from indistinct.adjacency import Adjacency, check_adjacency
from indistinct.errors import ArgumentError, check_count
from indistinct.guarantees import (
    ApproxDP,
    GaussianDP,
    Guarantee,
    PrivacyProfile,
    PureDP,
    RenyiCurve,
    TradeoffCurve,
    ZeroConcentratedDP,
    parallel,
)
from indistinct.mechanisms.mechanism import Mechanism, natural_adjacency


@dataclass(frozen=True)
class Statement:
    """Claims, composed with each other and with mechanisms: `guarantee(adjacency)` says what they imply."""

    text: str
    implied: Callable[[Adjacency], Guarantee]
    mechanisms: tuple[Mechanism, ...] = ()
    """The mechanisms among the parts."""
    records: tuple[int, ...] = (1,)
    """How many records change together, for the claims among the parts."""
    is_factor: bool = True
    """Whether the text needs no brackets before `.` or `*`."""

    def __str__(self) -> str:
        return self.text

    def guarantee(self, adjacency: Adjacency | None = None) -> Guarantee:
        """What is stated, for these neighbours: without them, for those of the mechanisms' sampling."""
        return self.implied(self.natural_adjacency() if adjacency is None else check_adjacency(adjacency))

    def natural_adjacency(self) -> Adjacency:
        fixed = [m for m in self.mechanisms if natural_adjacency(m) is Adjacency.REPLACE_ONE]
        return Adjacency.REPLACE_ONE if fixed else Adjacency.ADD_REMOVE

    def __add__(self, other: object) -> "Statement":
        if not isinstance(other, Statement | Mechanism):
            return NotImplemented
        return _composed(self, other)

    def __radd__(self, other: object) -> "Statement":
        return _composed(other, self) if isinstance(other, Mechanism) else NotImplemented

    def __mul__(self, steps: Any) -> "Statement":
        count = check_count("steps", steps)
        implied, text = self.implied, f"{count} * {self._factor()}"
        return Statement(text, lambda a: count * implied(a), self.mechanisms, self.records, is_factor=False)

    __rmul__ = __mul__

    def group(self, size: Any) -> "Statement":
        count = check_count("size", size, least=1)
        self.implied(self.natural_adjacency()).group(count)  # a curve may have too few orders
        implied, text = self.implied, f"{self._factor()}.group({count})"
        mechanisms = tuple(mechanism.group(count) for mechanism in self.mechanisms)
        records = tuple(count * size for size in self.records)
        return Statement(text, lambda a: implied(a).group(count), mechanisms, records)

    def subsample(self, *amount: Any, **more: Any) -> NoReturn:
        raise ArgumentError(
            "subsample", self.text, "said of a mechanism: a claim does not tell what is sampled, or how"
        )

    def _factor(self) -> str:
        return self.text if self.is_factor else f"({self.text})"


def _composed(first: "Statement | Mechanism", second: "Statement | Mechanism") -> Statement:
    def implied(adjacency: Adjacency) -> Guarantee:
        return first.guarantee(adjacency) + second.guarantee(adjacency)

    mechanisms, records = _mechanisms(first, second), _records(first, second)
    return Statement(f"{first} + {second}", implied, mechanisms, records, is_factor=False)


def parallel_statement(*parts: Any) -> Statement:
    """Each on its own part of the data."""
    for part in parts:
        if not isinstance(part, Statement | Mechanism):
            raise ArgumentError("parallel", part, "given mechanisms and claims only")
    return Statement(
        f"parallel({', '.join(map(str, parts))})",
        lambda adjacency: parallel(*(part.guarantee(adjacency) for part in parts)),
        _mechanisms(*parts),
        _records(*parts),
    )


def _mechanisms(*parts: "Statement | Mechanism") -> tuple[Mechanism, ...]:
    return tuple(m for part in parts for m in (part.mechanisms if isinstance(part, Statement) else (part,)))


def _records(*parts: "Statement | Mechanism") -> tuple[int, ...]:
    return tuple(sorted({size for part in parts if isinstance(part, Statement) for size in part.records}))


def _claim(name: str, kind: Callable[..., Guarantee], *values: Any) -> Statement:
    kind(*values)  # a claim that cannot be made is refused where it is written
    text = f"{name}({', '.join(map(repr, values))})"
    return Statement(text, lambda adjacency: kind(*values, adjacency=adjacency))


def _pure(epsilon: Any) -> Statement:
    return _claim("pure", PureDP, epsilon)


def _approx(epsilon: Any, delta: Any) -> Statement:
    return _claim("approx", ApproxDP, epsilon, delta)


def _gdp(mu: Any) -> Statement:
    return _claim("gdp", GaussianDP, mu)


def _zcdp(rho: Any) -> Statement:
    return _claim("zcdp", ZeroConcentratedDP, rho)


def _renyi(orders: Any, values: Any) -> Statement:
    return _claim("renyi", RenyiCurve, orders, values)


def _profile(epsilons: Any, deltas: Any) -> Statement:
    return _claim("profile", PrivacyProfile, epsilons, deltas)


def _tradeoff(fpr: Any, fnr: Any) -> Statement:
    return _claim("tradeoff", TradeoffCurve, fpr, fnr)


CLAIMS: dict[str, Callable[..., Statement]] = {
    "approx": _approx,
    "gdp": _gdp,
    "profile": _profile,
    "pure": _pure,
    "renyi": _renyi,
    "tradeoff": _tradeoff,
    "zcdp": _zcdp,
}
