"""Noisy counts without their noise, where what they count is flat but for jumps and narrow places.

On a line by Haar's wavelets at every place and on every scale, not at multiples of the scale only (cycle
spinning, Coifman and Donoho 1995): a coefficient compares the counts of a block's two halves. What is within
√(2 log k) deviations, k the number of blocks of that size, is taken for noise (the universal threshold,
Donoho and Johnstone 1994), everything else is kept as it is.

In the plane and in space by the least total variation (Rudin, Osher and Fatemi 1992): of a count x that was
seen as y with variance v,

    ½ Σ (x - y)² / v + λ Σ |x - x'| / √v, over all cells and all neighbours,

is least. Edges there are curves, which blocks would have to be cut into many small ones for; here an edge
costs its length. On a line an edge has no length and the price would depend on how far apart they are.

The variance of a count is known: that of the noise, and of sampling the count that is fitted.
"""

import math
from typing import Final

import numpy as np

from indistinct.numerics.arrays import Array

_PASSES: Final = 2
"""The second with the variance of what the first has found."""
_LEAST: Final = 2.5
"""Deviations: where there are few blocks, the universal threshold would keep much noise."""
_PRICES: Final = {2: 0.25, 3: 0.13}
"""λ by dimension, in universal thresholds: a cell has more neighbours in space. Chosen on boxes, discs,
stripes and balls with n ε from 1,000 to 1,000,000."""
_STEPS: Final = 200


def without_noise(counts: Array, noise: Array | float) -> Array:
    """Noisy counts in cells, as many along each axis, with this variance of the noise on each; not below
    0."""
    fitted = np.full_like(counts, max(float(counts.mean()), 0.0))
    flat = _flat_on_a_line if counts.ndim == 1 else _flat_in_space
    for _ in range(_PASSES):
        fitted = np.maximum(flat(counts, fitted + noise), 0.0)
    return fitted


def _flat_on_a_line(counts: Array, variance: Array) -> Array:
    """The counts, mirrored at their ends, of which only coefficients above the threshold are left."""
    cells, details = len(counts), []
    sums, spread = (np.concatenate([part, np.flip(part)]) for part in (counts, variance))
    for level in range(int(math.log2(cells))):
        threshold = max(_LEAST, math.sqrt(2 * math.log(cells / 2 ** (level + 1))))
        ahead, spread_ahead = (np.roll(part, -(2**level)) for part in (sums, spread))
        detail, sums, spread = (sums - ahead) / 2, (sums + ahead) / 2, (spread + spread_ahead) / 4
        details.append(np.where(np.abs(detail) > threshold * np.sqrt(spread), detail, 0.0))
    for level, detail in reversed(list(enumerate(details))):
        sums = (sums + detail + np.roll(sums - detail, 2**level)) / 2
    return sums[:cells]


def _flat_in_space(counts: Array, variance: Array) -> Array:
    """The counts of least total variation: by projected gradients of the dual problem, accelerated (Beck and
    Teboulle 2009), with a step for each pair of neighbours that Gershgorin's circles allow."""
    axes = range(counts.ndim)
    both = [_halves(variance, axis) for axis in axes]
    steps = [1 / (2 * counts.ndim * (one + other)) for one, other in both]
    price = _PRICES[counts.ndim] * math.sqrt(2 * math.log(counts.size))
    bounds = [price / np.sqrt((one + other) / 2) for one, other in both]
    pulls = ahead = [np.zeros_like(bound) for bound in bounds]
    momentum = 1.0
    for _ in range(_STEPS):
        made, before = counts - variance * _pulled(ahead), pulls
        pulls = [
            np.clip(pull + step * np.diff(made, axis=axis), -bound, bound)
            for axis, pull, step, bound in zip(axes, ahead, steps, bounds, strict=True)
        ]
        momentum, last = (1 + math.sqrt(1 + 4 * momentum**2)) / 2, momentum
        ahead = [pull + (last - 1) / momentum * (pull - old) for pull, old in zip(pulls, before, strict=True)]
    return counts - variance * _pulled(pulls)


def _halves(values: Array, axis: int) -> tuple[Array, Array]:
    """All cells that have a neighbour ahead along the axis, and those neighbours."""
    count = values.shape[axis]
    return values.take(range(count - 1), axis), values.take(range(1, count), axis)


def _pulled(pulls: list[Array]) -> Array:
    """What neighbours do to each cell together: along each axis, a pull from behind less the one ahead."""
    ends = np.eye(len(pulls), dtype=np.int64)
    differences = [
        np.diff(np.pad(pull, ends[axis, :, None].repeat(2, axis=1)), axis=axis)
        for axis, pull in enumerate(pulls)
    ]
    total: Array = -np.sum(differences, axis=0)
    return total
