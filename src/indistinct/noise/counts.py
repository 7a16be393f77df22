"""Random counts, such as how often something is tried; every probability is the one stated, exactly."""

import math
from collections.abc import Iterator
from fractions import Fraction

import numpy as np

from indistinct.errors import ArgumentError, check_nonnegative, check_positive
from indistinct.noise.samplers import bernoulli, uniform_below
from indistinct.noise.source import Source, SystemSource

_BLOCK = 64


def poisson(mean: float, source: Source | None = None) -> int:
    """k = 0, 1, ... with probability e^-mean mean^k / k!, the float taken exactly.

    A sum of laws of mean at most 1/2. In each k is proposed with probability proportional to mean^k, by
    coins, and accepted with probability 1/k!.
    """
    source = SystemSource() if source is None else source
    pieces = math.ceil(2 * check_nonnegative("mean", mean))
    total = 0
    for _ in range(pieces):
        coins = _coins(1 - Fraction(mean) / pieces, source)
        while int(uniform_below(math.factorial(k := next(coins)), 1, source)[0]):
            pass
        total += k
    return total


def negative_binomial(stop: float, shape: float, source: Source | None = None) -> int:
    """k = 1, 2, ... with probability proportional to (1 - stop)^k s (s + 1) ... (s + k - 1) / k! for the
    shape s, both floats taken exactly; for s = 0 to (1 - stop)^k / k.

    For s < 1 a geometric k is accepted with probability (1 + s)/2 (2 + s)/3 ... (k - 1 + s)/k. Else it is a
    sum of geometric numbers, and one for what is left of s, drawn again if it is 0.
    """
    source = SystemSource() if source is None else source
    if not 0 < check_positive("stop", stop) <= 1:
        raise ArgumentError("stop", stop, "above 0 and at most 1")
    whole, rest = divmod(Fraction(check_nonnegative("shape", shape)), 1)
    coins = _coins(Fraction(stop), source)
    while True:
        if not whole:
            k = 1 + next(coins)
            if _accepted(1, k, rest, source):
                return k
            continue
        total = sum(next(coins) for _ in range(whole))
        while rest:
            if _accepted(0, k := next(coins), rest, source):
                total += k
                break
        if total:
            return total


def _accepted(first: int, last: int, shape: Fraction, source: Source) -> bool:
    """With the product of (l + shape)/(l + 1) over first <= l < last, coin by coin."""
    return all(bernoulli((step + shape) / (step + 1), 1, source)[0] for step in range(first, last))


def _coins(probability: Fraction, source: Source) -> Iterator[int]:
    """How many coins show tails before each one that shows heads, of one endless row."""
    waited = 0
    while True:
        heads = np.flatnonzero(bernoulli(probability, _BLOCK, source))
        places = heads.tolist()
        last = -1
        for place in places:
            yield waited + place - last - 1
            waited, last = 0, place
        waited += _BLOCK - 1 - last
