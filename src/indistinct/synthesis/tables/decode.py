"""From cells back to values: declared categories as they are, numbers spread evenly over their cell."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from indistinct.data import Bins, Categories, Celled, Intervals, Kind, OrMissing
from indistinct.errors import ArgumentError
from indistinct.numerics.arrays import Array
from indistinct.synthesis.tables.generator import Places


@dataclass(frozen=True)
class Determined:
    """A column that follows from another one, by a rule that everybody knows. It is never read.

    >>> Determined("grade", {"low": 1, "high": 2}).values
    (('low', 1), ('high', 2))
    """

    by: str
    values: tuple[tuple[Any, Any], ...]

    def __init__(self, by: str, values: Mapping[Any, Any]) -> None:
        object.__setattr__(self, "by", by)
        if not isinstance(values, Mapping):
            raise ArgumentError("values", values, f"a mapping from the values of {by!r}")
        plain = {
            key: value.item() if isinstance(value, np.generic) else value for key, value in values.items()
        }
        object.__setattr__(self, "values", tuple(plain.items()))

    def check(self, name: str, domains: Mapping[str, Celled]) -> None:
        domain = domains.get(self.by)
        if not isinstance(domain, Categories | OrMissing) or not isinstance(inner(domain), Categories):
            raise ArgumentError(f"{name!r} determined by", self.by, "a column with Categories(...)")
        if lacking := [value for value in domain.labels if value not in dict(self.values)]:
            raise ArgumentError(f"values of {name!r}", lacking, f"given for every value of {self.by!r}")

    def column(self, places: Places, domain: Celled) -> npt.NDArray[Any]:
        chosen = dict(self.values)
        return np.array([chosen[value] for value in domain.labels])[places]


def inner(domain: Celled) -> Bins | Categories | Intervals:
    """The domain without its cell for missing values."""
    return domain.domain if isinstance(domain, OrMissing) else domain


def kind_of(domain: Celled) -> Kind:
    """What a column of such cells holds."""
    own = inner(domain)
    if isinstance(own, Categories):
        return {str: Kind.TEXT, bool: Kind.TRUTH, int: Kind.INTEGER}[type(own.values[0])]
    return Kind.INTEGER if isinstance(own, Intervals) and own.whole else Kind.NUMBER


def decoded(domain: Celled, places: Places, uniforms: Array) -> npt.NDArray[Any]:
    """Values of the given cells. Missing ones are None among texts and NaN among numbers."""
    if isinstance(domain, OrMissing):
        absent = places == domain.size - 1
        values = decoded(domain.domain, np.where(absent, 0, places), uniforms)
        values = values.astype(object if values.dtype.kind in "Ob" else np.float64)
        values[absent] = None if values.dtype.kind == "O" else np.nan
        return values
    if isinstance(domain, Categories):
        kind = object if isinstance(domain.values[0], str) else None
        return np.array(domain.values, dtype=kind)[places]
    if isinstance(domain, Intervals) and domain.whole:
        first, last = np.array(domain.integers).T
        low, high = first[places], last[places]
        whole: Places = np.minimum(low + (uniforms * (high - low + 1)).astype(np.int64), high)
        return whole
    low, high = np.array(domain.labels).T[:, places]
    numbers: Array = np.clip(low + uniforms * (high - low), low, high)
    return numbers
