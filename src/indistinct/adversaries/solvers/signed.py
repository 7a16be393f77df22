"""Numbers as signs and logarithms: values of functions that spread over more than a float can hold."""

import math
from typing import NamedTuple

import numpy as np

from indistinct.numerics.arrays import Array


class Signed(NamedTuple):
    """sign · e^log, number by number."""

    sign: Array
    log: Array

    @classmethod
    def of(cls, values: "Coefficients") -> "Signed":
        if isinstance(values, Signed):
            return values
        with np.errstate(divide="ignore"):
            return cls(np.sign(values), np.log(np.abs(values)))

    def times(self, factors: Array) -> "Signed":
        """With factors that are positive."""
        return Signed(self.sign, self.log + np.log(factors))

    def largest(self) -> float:
        """The logarithm of the largest."""
        return float(self.log.max())

    def over(self, log_unit: float) -> Array:
        """As floats, in a unit; what is too small for a float is 0."""
        values: Array = self.sign * np.exp(self.log - log_unit)
        return values

    def combine(self, features: Array) -> "Signed":
        """The combination of features with these coefficients, a column a value."""
        with np.errstate(divide="ignore", invalid="ignore"):
            size = self.log[:, None] + np.log(np.abs(features))
            top = size.max(axis=0)
            top = np.where(top > -math.inf, top, 0.0)
            value = (self.sign[:, None] * np.sign(features) * np.exp(size - top)).sum(axis=0)
            return Signed(np.sign(value), np.log(np.abs(value)) + top)


Coefficients = Array | Signed
"""Of features: floats, or beyond what a float can hold."""
