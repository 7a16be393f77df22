"""A matrix of numbers as a value: read-only, compared and hashed by what is in it."""

from typing import Any

import numpy as np

from indistinct.errors import ArgumentError
from indistinct.numerics.arrays import Array

_SHOWN = 100
"""Numbers that are printed; of more, only how many there are."""


class MatrixValue:
    """Finite numbers that do not change; `array` gives them."""

    __slots__ = ("array",)
    array: Array

    @classmethod
    def of(cls, argument: str, values: Any, dimensions: int) -> "MatrixValue":
        return values if isinstance(values, MatrixValue) else cls(argument, values, dimensions)

    def __init__(self, argument: str, values: Any, dimensions: int) -> None:
        allowed = f"an array of finite numbers with {dimensions} dimension{'s' if dimensions > 1 else ''}"
        try:
            array = np.array(values, dtype=np.float64)
        except (TypeError, ValueError):
            raise ArgumentError(argument, values, allowed) from None
        if array.ndim != dimensions or not array.size or not np.isfinite(array).all():
            raise ArgumentError(argument, values, allowed)
        array.flags.writeable = False
        self.array = array

    def __eq__(self, other: object) -> bool:
        return isinstance(other, MatrixValue) and np.array_equal(self.array, other.array)

    def __hash__(self) -> int:
        return hash((self.array.shape, self.array.tobytes()))

    def tolist(self) -> Any:
        return self.array.tolist()

    def __repr__(self) -> str:
        if self.array.size <= _SHOWN:
            return repr(self.tolist())
        return f"<{' x '.join(map(str, self.array.shape))} numbers>"
