"""Random numbers that everyone may know: which features a kernel is written in, never noise.

A saved function is drawn again from its seed, years later and on another machine. NumPy promises that the
bits of a bit generator stay the same between versions, and does not promise it of its distributions (NEP 19).
So only bits are taken from it, and callers turn uniform numbers into others by inverse distribution
functions.
"""

import math
from typing import final

import numpy as np

from indistinct.errors import check_count
from indistinct.numerics.arrays import Array

BLOCK = 2**18
"""Numbers drawn at once, which bounds the memory beside the result; it does not change them."""


@final
class PublicUniforms:
    """A stream of uniform numbers strictly between 0 and 1, the same for the same seed.

    >>> PublicUniforms(seed=7).draw(3)
    array([0.46881749, 0.42614584, 0.3629817 ])
    """

    def __init__(self, seed: int) -> None:
        self._bits = np.random.Philox(check_count("seed", seed))

    def draw(self, *shape: int) -> Array:
        uniforms = np.empty(math.prod(shape))
        for start in range(0, uniforms.size, BLOCK):
            block = uniforms[start : start + BLOCK]
            block[:] = self._bits.random_raw(block.size) >> np.uint64(11)
        uniforms += 0.5
        uniforms *= 2.0**-53
        np.minimum(uniforms, 1 - 2.0**-53, out=uniforms)  # the largest would be rounded to 1
        return uniforms.reshape(shape)
