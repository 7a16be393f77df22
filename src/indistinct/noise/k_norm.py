"""Exact noise for several integers of which one unit may move all at once, each by as much: the K-norm
mechanism (Hardt and Talwar 2010, "On the geometry of differential privacy") on the integers.

Coordinates lie in blocks. The size of a vector is the largest, over blocks, of the sum of sizes in a block,
and a vector is less likely by e^(-1/scale) for each unit of its size. With blocks of one coordinate each that
is the largest coordinate: numbers that all move by up to 1 at once get a noise of variance (d + 1)(d + 2)/3
for d of them, where independent Laplace noise has 2 d² (Awan and Slavković 2021, "Structure and sensitivity
in differential privacy", for objective perturbation)."""

import math
from collections.abc import Sequence
from fractions import Fraction
from itertools import accumulate, pairwise
from typing import Any

import numpy as np

from indistinct.errors import check_count
from indistinct.noise.samplers import Integers, bernoulli, check_scale, geometric, uniform_below
from indistinct.noise.source import Source, SystemSource


def block_noise(blocks: Sequence[int], scale: Any, source: Source | None = None) -> Integers:
    """One vector of integers z, as many as all blocks have, with probability proportional to e^(-|z|/scale),
    exactly; |z| is the largest sum of sizes in a block.

    e^(-|z|/scale) is a sum over k ≥ |z| of multiples of e^(-k/scale): so z is uniform among vectors of size
    at most k, for a k whose probability is proportional to e^(-k/scale) times their number. As a sum of d + 1
    geometric numbers k has e^(-k/scale) (k + 1)…(k + d)/d!, and is kept with probability Π_blocks (k + 1)…(k
    + w) / ((k + 1)…(k + d)), w the width of a block. In a block all ways to write a number up to k as a sum
    of w numbers are equally likely, and signs are coins; all of it is drawn again where a 0 is negative, as 0
    has one sign only.

    >>> block_noise([1, 2], 1e-9).tolist()
    [0, 0, 0]
    """
    widths = [check_count("blocks", width, least=1) for width in blocks]
    exact, count = check_scale("scale", scale), sum(widths)
    source = SystemSource() if source is None else source
    while True:
        k = sum(geometric(exact, count + 1, source).tolist())
        below = (k + place for width in widths for place in range(1, width + 1))
        if not _all_of(list(zip(below, range(k + 1, k + count + 1), strict=True)), source):
            continue
        sizes = [size for width in widths for size in _composition(k, width, source)]
        negative = bernoulli(Fraction(1, 2), count, source)
        if any(size == 0 and sign for size, sign in zip(sizes, negative.tolist(), strict=True)):
            continue
        signed = [-size if sign else size for size, sign in zip(sizes, negative.tolist(), strict=True)]
        return np.array(signed, dtype=np.int64 if k < 2**62 else object)


def block_variance(blocks: Sequence[int]) -> tuple[float, ...]:
    """Of each coordinate of noise of scale 1, where the lattice is fine: the square of a gamma variable of
    shape d + 1 has a mean of (d + 1)(d + 2), and a coordinate of a block of width w, uniform in |z| ≤ 1, one
    of 2/((w + 1)(w + 2))."""
    count = sum(blocks)
    return tuple((count + 1) * (count + 2) * 2 / ((w + 1) * (w + 2)) for w in blocks for _ in range(w))


def _all_of(shares: list[tuple[int, int]], source: Source) -> bool:
    """A coin whose probability is the product of all these fractions."""
    return all(
        bool(bernoulli(Fraction(math.prod(a for a, _ in part), math.prod(b for _, b in part)), 1, source)[0])
        for part in (shares[start : start + 256] for start in range(0, len(shares), 256))
    )


def _composition(k: int, width: int, source: Source) -> list[int]:
    """Numbers from 0 on, so many, whose sum is at most k: all such equally likely. They are the gaps between
    distinct places among k + width."""
    while True:
        places = sorted(uniform_below(k + width, width, source).tolist())
        if all(a < b for a, b in pairwise(places)):
            return [b - a - 1 for a, b in pairwise([-1, *places])]


def sizes_in(blocks: Sequence[int], vector: Sequence[int]) -> int:
    """The size of a vector."""
    ends = [0, *accumulate(blocks)]
    return max(sum(abs(int(one)) for one in vector[start:end]) for start, end in pairwise(ends))
