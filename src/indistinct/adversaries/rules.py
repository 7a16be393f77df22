"""What may be done with a reading against a class: conditions of the theorems, as plain data.

Chaudhuri, Imola and Machanavajjhala 2019: Theorem 1 (post-processing), 2 (convexity), 3 and 4 (composition).
"""

from dataclasses import dataclass

from indistinct.errors import check_count


@dataclass(frozen=True)
class Rules:
    """Which properties a class of functions has."""

    convex: bool = True
    """Mixtures of its functions are in it."""

    translation_invariant: bool = True
    """With h it has h + c for every constant c. Composition (Theorems 3, 4) needs this and convexity."""

    closed_under_sums: bool = True
    adaptive: bool = False
    """Whether composition may be adaptive; known for all functions only (Section 4)."""

    closed_under: str = ""
    """The maps of the release that leave a reading valid (Theorem 1)."""

    @property
    def composes(self) -> bool:
        """Whether the class meets the conditions of Theorems 3 and 4."""
        return self.convex and self.translation_invariant


class ReleaseMap:
    """Something done to a release afterwards."""


@dataclass(frozen=True)
class AffineMap(ReleaseMap):
    """x becomes Ax + b: matrix mechanisms, changes of unit, sums of released cells."""


@dataclass(frozen=True)
class PolynomialMap(ReleaseMap):
    """Polynomials of a degree in the released numbers."""

    degree: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "degree", check_count("degree", self.degree, least=1))


@dataclass(frozen=True)
class AnyMap(ReleaseMap):
    """A map of which nothing is known."""
