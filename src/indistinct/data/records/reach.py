"""How far one unit can move a sum: the set its vector lies in, and that set's radius and diameter.

Adding or removing a unit moves the sum by its vector, at most the radius. Replacing one moves it by the
difference of two vectors, at most the diameter. Everything is rounded up, by exact arithmetic: a
sensitivity may be overstated in its last digit, never understated.
"""

from dataclasses import dataclass
from enum import Enum
from fractions import Fraction
from typing import Annotated, Protocol

from indistinct.adjacency import Adjacency
from indistinct.description import describable, given
from indistinct.numerics.rounding import root_up, rounded_up


@describable()
class Norm(Enum):
    """How the length of a vector is measured."""

    L1 = "L1"
    L2 = "L2"
    MAX = "max"

    def of(self, lengths: tuple[float, ...]) -> float:
        """The norm of a vector of non-negative numbers, rounded up."""
        exact = [Fraction(length) for length in lengths]
        if self is Norm.L1:
            return rounded_up(sum(exact, Fraction(0)))
        if self is Norm.L2:
            return root_up(sum((length * length for length in exact), Fraction(0)))
        return max(lengths, default=0.0)


GivenNorm = Annotated[Norm, given(Norm, "Norm.L1, Norm.L2 or Norm.MAX")]
"""The type of a field that holds one."""


@dataclass(frozen=True)
class Box:
    """Vectors whose coordinates lie in intervals, each of its own."""

    low: tuple[float, ...]
    high: tuple[float, ...]

    def radius(self, norm: Norm) -> float:
        return norm.of(tuple(max(abs(a), abs(b)) for a, b in zip(self.low, self.high, strict=True)))

    def diameter(self, norm: Norm) -> float:
        lengths = tuple(
            rounded_up(Fraction(b) - Fraction(a)) for a, b in zip(self.low, self.high, strict=True)
        )
        return norm.of(lengths)

    def with_zero(self) -> "Box":
        return Box(tuple(min(a, 0.0) for a in self.low), tuple(max(b, 0.0) for b in self.high))


@dataclass(frozen=True)
class Ball:
    """Vectors of `size` coordinates and norm at most `bound`, perhaps without negative coordinates, or
    `acute`: no two of them at an obtuse angle."""

    norm: Norm
    bound: float
    size: int
    nonnegative: bool = False
    acute: bool = False

    def radius(self, norm: Norm) -> float:
        return self._stretched(norm, 1)

    def diameter(self, norm: Norm) -> float:
        if self.acute and norm is Norm.L2:
            return self._stretched(norm, 2)  # |v - w|^2 = |v|^2 + |w|^2 - 2 <v, w>
        if not self.nonnegative:
            return self._stretched(norm, 4)
        # |v - w| <= max(v, w) in each coordinate, so |v - w|_p^p <= |v|_p^p + |w|_p^p.
        apart = {Norm.L1: 4, Norm.L2: 2, Norm.MAX: 1}
        return self._stretched(norm, apart[norm] if self.size > 1 else 1)

    def _stretched(self, norm: Norm, square: int) -> float:
        """The largest `norm` of a vector in the ball, times the root of `square`."""
        power = {Norm.L1: 2, Norm.L2: 1, Norm.MAX: 0}  # of size, in the square of the ratio of two norms
        ratio = self.size ** max(0, power[norm] - power[self.norm])
        return root_up(Fraction(self.bound) ** 2 * ratio * square)

    def with_zero(self) -> "Ball":
        return self


class OtherReach(Protocol):
    """A set that an encoding describes itself."""

    def radius(self, norm: Norm) -> float: ...
    def diameter(self, norm: Norm) -> float: ...
    def with_zero(self) -> "OtherReach": ...


@dataclass(frozen=True)
class OneOf:
    """Vectors that are zero but in one of several groups of coordinates, where they lie in `reach`."""

    reach: Box | Ball | OtherReach
    groups: int

    def radius(self, norm: Norm) -> float:
        return self.reach.radius(norm)

    def diameter(self, norm: Norm) -> float:
        # Two in one group, or each in its own.
        apart = norm.of((self.radius(norm),) * min(self.groups, 2))
        return max(self.reach.diameter(norm), apart)

    def with_zero(self) -> "OneOf":
        return OneOf(self.reach.with_zero(), self.groups)


Reach = Box | Ball | OneOf | OtherReach


def sensitivity(reach: Reach, norm: Norm, adjacency: Adjacency, copies: int, groups: int = 1) -> float:
    """Of a sum of at most `copies` vectors for each unit, in each of so many groups, in steps of the lattice.

    Replacing a unit moves each of its j groups that both have by the diameter of what is in one, and each of
    the other 2 (groups - j) by a radius; the p-th power of the whole is linear in j, so an end is the
    largest: the diameter of `OneOf`, as often as there are groups.
    """
    length = reach.radius(norm) if adjacency is Adjacency.ADD_REMOVE else reach.diameter(norm)
    return rounded_up(copies * Fraction(norm.of((length,) * groups)))
