"""What a release hands back, and the lattice on which real numbers are released.

Noise drawn as a float has holes that betray the value it was added to (Mironov 2012). So a statistic is
rounded to multiples of a power of two, which moves neighbours apart by one more unit in each entry, and the
noise is an exact integer number of units. Turning the sum into a float afterwards is post-processing.
"""

import math
import os
from dataclasses import dataclass, replace
from typing import Any, Generic, Protocol, TypeVar, runtime_checkable

import numpy as np
import numpy.typing as npt

from indistinct.adjacency import Adjacency, check_adjacency
from indistinct.errors import ArgumentError, check_positive
from indistinct.files import meaning, read_saved, write_npz
from indistinct.guarantees.discrete_pair import DiscretePair
from indistinct.guarantees.guarantee import ExactGuarantee, Guarantee
from indistinct.guarantees.product import Product
from indistinct.mechanisms.additive import AdditiveNoise
from indistinct.mechanisms.mechanism import Mechanism
from indistinct.noise import Source
from indistinct.numerics.arrays import EPS

_FINENESS = 36
"""The noise has a scale of 2^36 to 2^37 units: rounding a million numbers adds 1.5e-8 of the scale to their
L2 sensitivity, and 64-bit integers hold statistics up to 6e7 scales."""
_INT64 = 2.0**62
_EXACT = 2.0**53
"""Integers below this are floats."""

T = TypeVar("T")


@runtime_checkable
class Released(Protocol):
    """What every release hands back, and what is made from that: numbers, answers of a workload, functions,
    densities, synthetic tables and images. `load` of its class reads what `save` wrote; where one mechanism
    made it, `mechanism` is that one."""

    @property
    def private(self) -> bool: ...
    def guarantee(self, adjacency: Adjacency | str | None = None) -> Guarantee: ...
    def save(self, path: Any) -> None: ...


@dataclass(frozen=True, eq=False)
class Release(Generic[T]):
    """Released values, the mechanism that was really run, and whether its randomness was private."""

    values: T
    mechanism: Mechanism
    private: bool
    """False if the noise came from a seed: who knows the seed knows the statistic."""
    unit: float = 1.0
    """What one unit of the mechanism is worth: values lie on multiples of this."""
    adjacency: Adjacency | None = None
    """The neighbours that its noise was calibrated for, if it was."""

    @classmethod
    def of(cls, values: Any, mechanism: Mechanism, source: Source) -> "Release[Any]":
        array = np.asarray(values)
        return Release(array if array.ndim else array.item(), mechanism, source.private)

    def guarantee(self, adjacency: Adjacency | str | None = None) -> Guarantee:
        """That of the noise that was drawn, for the neighbours it was calibrated for unless others are named;
        none at all if it was drawn from a seed."""
        known = self.mechanism.guarantee(self.adjacency if adjacency is None else adjacency)
        return known if self.private else no_guarantee(known.adjacency)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes numbers to a file (.npz: an array and a line of JSON, nothing that could run)."""
        values = np.asarray(self.values)
        if values.dtype.kind not in "iufb":
            allowed = "numbers; what a query has made of them is saved by whoever needs it"
            raise ArgumentError("values", type(self.values).__name__, allowed)
        head = {"release": self.mechanism, "private": self.private, "unit": self.unit} | named(self.adjacency)
        write_npz(path, head, {"values": values})

    @staticmethod
    def load(path: str | os.PathLike[str]) -> "Release[Any]":
        """What `save` wrote.

        >>> import tempfile
        >>> from indistinct import Gaussian
        >>> file = tempfile.NamedTemporaryFile(suffix=".npz")
        >>> Gaussian(scale=20).release([12, 34]).save(file.name)
        >>> Release.load(file.name).guarantee().epsilon(delta=1e-5)
        0.16004
        """
        head, arrays = read_saved(path)
        with meaning(path, "a file that `save` of a release wrote"):
            mechanism, unit = Mechanism.from_json(head["release"]), check_positive("unit", head["unit"])
            values = arrays["values"] if arrays["values"].ndim else arrays["values"].item()
            scale = mechanism.scale * unit if isinstance(mechanism, AdditiveNoise) else None
            found: Release[Any] = restored(values, mechanism, head["private"], unit, scale)
            return replace(found, adjacency=unnamed(head))

    def __repr__(self) -> str:
        warning = "" if self.private else ", NOT PRIVATE: the noise came from a seed"
        unit = "" if self.unit == 1 else f" in units of {self.unit!r}"
        return f"Release({self.values!r}, by {self.mechanism}{unit}{warning})"


@dataclass(frozen=True)
class Lattice:
    """Multiples of a power of two."""

    unit: float

    @classmethod
    def of(cls, scale: float) -> "Lattice":
        """Fine enough for noise of this scale that nobody will notice it."""
        exponent = math.frexp(scale)[1] - 1 - _FINENESS
        if not -1000 < exponent < 900:
            raise ArgumentError("scale", scale, "between 1e-290 and 1e280, to be released")
        return cls(2.0**exponent)

    def moved(self, sensitivity: float, rounding: float) -> float:
        """How far neighbours are apart after rounding, in units: each entry by up to one unit more, and
        `rounding` is the norm of that. Rounded up."""
        return (sensitivity / self.unit + rounding) * (1 + 4 * EPS) if sensitivity else 0.0

    def nearest(self, values: npt.NDArray[np.float64]) -> npt.NDArray[Any]:
        """The nearest multiples, in units; dividing by a power of two is exact."""
        with np.errstate(over="ignore"):
            places = np.rint(values / self.unit)
        if not np.isfinite(places).all():
            raise ArgumentError("values", "a larger one", f"below {1e300 * self.unit:.0e} in size")
        if (np.abs(places) < _INT64).all():
            return places.astype(np.int64)
        whole: npt.NDArray[Any] = np.vectorize(int, otypes=[object])(places)
        return whole

    def measured(self, release: Release[Any]) -> Release[Any]:
        """A release of units as one of values."""
        values = np.asarray(release.values).astype(np.float64) * self.unit
        return replace(release, values=values.item() if values.ndim == 0 else values, unit=self.unit)


def check_noise(values: Any, deviation: float, unit: float) -> None:
    """Refuses values of a file that do not lie on multiples of `unit`, or that noise of this deviation cannot
    have left: a scale that was written larger afterwards would read as a smaller loss.

    Whatever the noise is added to, its density is nowhere above 3/(4 deviation), for Gaussian and Laplace
    noise alike; so the chance to end within r of 0 in d dimensions is at most the volume of that ball times
    the density's bound to the power d. It is refused where that is below 1e-12.
    """
    array = np.asarray(values, dtype=np.float64).ravel()
    with np.errstate(all="ignore"):
        places = array / unit
        if not (places == np.rint(places)).all():
            raise ArgumentError("released", "numbers between multiples", f"multiples of {unit!r}")
        length = float(np.linalg.norm((np.abs(array) + unit / 2) / deviation))
    half = array.size / 2
    log_chance = (
        half * math.log(math.pi) - math.lgamma(half + 1) + 2 * half * math.log(0.75 * length or 1e-300)
    )
    if array.size and log_chance < math.log(1e-12):
        raise ArgumentError("scale", deviation, "smaller: such noise does not leave such numbers")


def restored(
    values: Any, mechanism: Mechanism, private: Any, unit: float, deviation: float | None
) -> Release[Any]:
    """A release from a file: its guarantee follows from the mechanism, the lattice too."""
    if not isinstance(private, bool):  # any text would be true
        raise ArgumentError("private", private, "true or false")
    if deviation is not None:  # the values are the statistic and its noise
        check_noise(values, deviation, unit)
    return Release(values, mechanism, private, unit)


def named(adjacency: Adjacency | None) -> dict[str, str]:
    """The neighbours that noise was calibrated for, as a file says it."""
    return {} if adjacency is None else {"adjacency": adjacency.value}


def unnamed(head: dict[str, Any]) -> Adjacency | None:
    """What `named` wrote."""
    return check_adjacency(head["adjacency"]) if "adjacency" in head else None


def real_values(argument: str, values: Any) -> npt.NDArray[np.float64]:
    """Finite real numbers, one or an array of any shape, that are floats already: rounding them on the way
    would move neighbours apart without anyone counting it. They are private: an error does not show them."""
    allowed = "finite numbers, one or an array, exact as 64-bit floats"
    try:
        given = np.asarray(values)
        if given.dtype.kind not in "iuf" or given.dtype.itemsize > 8:
            raise TypeError
        array = given.astype(np.float64)
    except (TypeError, ValueError, OverflowError):
        raise ArgumentError(argument, sort_of(values), allowed) from None
    if given.dtype.kind != "f" and (np.abs(array) >= _EXACT).any():
        raise ArgumentError(argument, "an integer of 2**53 or more", allowed)
    if not np.isfinite(array).all():
        raise ArgumentError(argument, float(array[~np.isfinite(array)].flat[0]), allowed)
    return array


def sort_of(values: Any) -> str:
    """What private values are, without saying them: errors end in logs."""
    try:
        array = np.asarray(values)
    except (TypeError, ValueError, OverflowError):
        return f"a {type(values).__name__} of another shape"
    return f"{array.dtype} of shape {array.shape}"


def integer_values(argument: str, values: Any) -> npt.NDArray[Any]:
    """Integers, one or an array of any shape; Python integers where int64 is too small. They are private."""
    allowed = "integers, one or an array (round first, or use Gaussian or Laplace)"
    try:
        array = np.asarray(values)
    except (TypeError, ValueError, OverflowError):
        raise ArgumentError(argument, sort_of(values), allowed) from None
    if array.dtype.kind == "O" and all(type(value) is int for value in array.flat):
        return array
    if array.dtype.kind not in "iu":
        raise ArgumentError(argument, sort_of(array), allowed)
    small = array.size == 0 or max(abs(int(array.max())), abs(int(array.min()))) < _INT64
    return array.astype(np.int64 if small else object)


def no_guarantee(adjacency: Adjacency | str) -> Guarantee:
    """Outputs that tell neighbours apart for certain."""
    return ExactGuarantee(Product.of([(DiscretePair((0.0, 1.0), (1.0, 0.0)), 1)]), check_adjacency(adjacency))
