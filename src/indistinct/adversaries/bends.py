"""How a mean of |h|^(A-1) changes with the values of a piecewise linear h, panel by panel."""

import math

import numpy as np

from indistinct.adversaries.quadrature import GRADED, NEAREST, Line
from indistinct.numerics.arrays import Array


def bends(
    line: Line, ends: Array, values: tuple[Array, Array], log_h: Array, log_weight: Array, power: float
) -> tuple[Array, Array, Array]:
    """The integral of |h|^(A-2) against the squares and the product of the two hats of a panel: as the nodes
    see it, and what they miss at the end nearer to a zero. `values` are those of h at the ends of each
    panel, in units of the larger."""
    one, two = np.abs(values[0]), np.abs(values[1])
    share, other = GRADED.nodes, GRADED.nodes[::-1]
    bend = np.exp((power - 2) * np.maximum(log_h, math.log(NEAREST)) + log_weight)
    left_end = one < two
    missed = np.diff(ends) * np.exp(line.log_density(np.where(left_end, ends[:-1], ends[1:])))
    missed *= _missed(np.minimum(one, two), power)
    aa: Array = bend @ (other * other) + np.where(left_end, missed, 0.0)
    bb: Array = bend @ (share * share) + np.where(left_end, 0.0, missed)
    ab: Array = bend @ (other * share)
    return aa, ab, bb


def _missed(small: Array, power: float) -> Array:
    """The integral of (small + (1 - small) x)^(A-2) over [0, 1], less what a graded panel gives of it."""
    low = np.minimum(small, 0.5)  # above, the panel gives all of it
    exact = (1 - low ** (power - 1)) / ((power - 1) * (1 - low))
    seen = (low[:, None] * GRADED.nodes[::-1] + GRADED.nodes) ** (power - 2) @ GRADED.weights
    missed: Array = np.where(small < 0.5, np.maximum(exact - seen, 0.0), 0.0)
    return missed
