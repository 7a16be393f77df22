"""Exact noise on the integers, vectorised: every probability is the one stated, to the last bit.

A coin of probability e^{-x} is a uniform number compared with e^{-x}. Its first 64 bits and float64 decide
unless the two are closer than a margin hundreds of times as wide as all rounding errors together; those few
are decided with as many bits as it takes, in integers (`exact`). So the guarantee never depends on the
floating-point hole of Mironov (2012, "On significance of the least significant bits"), and speed does not
suffer.
"""

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from indistinct.errors import ArgumentError, check_count
from indistinct.noise.exact_uniform import LazyUniform
from indistinct.noise.source import Source, SystemSource

Integers = npt.NDArray[Any]
"""int64, or Python integers where these do not fit."""
Booleans = npt.NDArray[np.bool_]
Size = int | tuple[int, ...]

_MARGIN = 2.0**-40
"""Float64 decides between a uniform number and e^{-x} at this distance. The error is below 2^{-48}: that of x
is at most 32 roundings relative to 1 + x, and x e^{-x} < 1; exp, log and conversions add a few roundings."""
_LOG_MARGIN = 2.0**-44
"""The same for -log U, relative to 1 + |log U|."""
_FEW_BITS = 1 << 47
"""A 64-bit head below this leaves a relative error above `_LOG_MARGIN`."""
_BLOCK_SCALE = 20
"""Geometrics of a scale above 2^22 are drawn in blocks, so that float64 decides on the block."""
_SMALLEST, _LARGEST = 1e-300, 1e300


def check_scale(argument: str, scale: Any) -> Fraction:
    """The scale as the exact rational number that it is."""
    allowed = f"a number from {_SMALLEST} to {_LARGEST}"
    if isinstance(scale, bool | str):
        raise ArgumentError(argument, scale, allowed)
    try:
        exact = Fraction(scale if isinstance(scale, int | Fraction) else float(scale))
    except (TypeError, ValueError, OverflowError):
        raise ArgumentError(argument, scale, allowed) from None
    if not _SMALLEST <= exact <= _LARGEST:
        raise ArgumentError(argument, scale, allowed)
    return exact


def bernoulli(probability: Any, size: Size, source: Source | None = None) -> Booleans:
    """Coins that show True with exactly this probability (a Fraction, or a float taken exactly).

    >>> bernoulli(1, 3)
    array([ True,  True,  True])
    """
    try:
        exact = Fraction(probability)
    except (TypeError, ValueError, OverflowError):
        raise ArgumentError("probability", probability, "between 0 and 1") from None
    if not 0 <= exact <= 1:
        raise ArgumentError("probability", probability, "between 0 and 1")
    source, count, shape = _ready(source, size)
    if exact == 1:
        return np.ones(shape, dtype=bool)
    words = source.words(count)
    threshold = np.uint64((exact.numerator << 64) // exact.denominator)
    result: Booleans = words < threshold
    for i in np.flatnonzero(words == threshold):
        result[i] = LazyUniform(int(words[i]), source).below(exact)
    return result.reshape(shape)


def uniform_below(bound: int, size: Size, source: Source | None = None) -> Integers:
    """Integers uniform on 0, ..., bound - 1."""
    bound = check_count("bound", bound, least=1)
    source, count, shape = _ready(source, size)
    bits = (bound - 1).bit_length()
    result = _random_bits(bits, count, source)
    while (wrong := np.flatnonzero(result >= bound)).size:
        result[wrong] = _random_bits(bits, wrong.size, source)
    return result.reshape(shape)


def random_order(count: int, source: Source | None = None) -> Integers:
    """0, ..., count - 1 in an order uniform among all."""
    source, count, _ = _ready(source, count)
    while True:
        keys = source.words(count)
        order: Integers = np.argsort(keys)
        # given that no two keys are equal, every order has the same chance
        if (np.diff(keys[order]) > 0).all():
            return order


def bernoulli_exp(exponent: Any, size: Size, source: Source | None = None) -> Booleans:
    """Coins that show True with probability exactly e^{-exponent}, exponent >= 0."""
    try:
        exact = Fraction(exponent)
    except (TypeError, ValueError, OverflowError):
        raise ArgumentError("exponent", exponent, "a finite number, at least 0") from None
    if exact < 0:
        raise ArgumentError("exponent", exponent, "a finite number, at least 0")
    source, count, shape = _ready(source, size)
    value = float(min(exact, Fraction(10**6)))
    return flip(np.full(count, value), lambda _: exact, source).reshape(shape)


def flip(exponents: npt.NDArray[np.float64], exact: Callable[[int], Fraction], source: Source) -> Booleans:
    """A coin of probability e^{-x} for each x = exact(i), of which `exponents` are roundings: within 32
    float64 roundings relative to 1 + x."""
    words = source.words(exponents.size)
    with np.errstate(under="ignore"):
        chance = np.exp(-exponents)
    gap = words * 2.0**-64 - chance
    result: Booleans = gap < 0
    for i in np.flatnonzero(np.abs(gap) <= _MARGIN).tolist():
        result[i] = LazyUniform(int(words[i]), source).below_exp(exact(i))
    return result


def geometric(scale: Any, size: Size, source: Source | None = None) -> Integers:
    """Integers k >= 0 with P(k or more) exactly e^{-k/scale}."""
    exact = check_scale("scale", scale)
    source, count, shape = _ready(source, size)
    return _geometric(exact, count, source).reshape(shape)


def discrete_laplace(scale: Any, size: Size, source: Source | None = None) -> Integers:
    """Integers k with probability proportional to e^{-|k|/scale}, exactly (the two-sided geometric law of
    Ghosh, Roughgarden and Sundararajan 2009).

    >>> int(abs(discrete_laplace(1e-9, 1000)).max())
    0
    """
    exact = check_scale("scale", scale)
    source, count, shape = _ready(source, size)

    def propose(wanted: int) -> Integers:
        size, negative = _geometric(exact, wanted, source), _signs(wanted, source)
        # zero has one sign only (Canonne, Kamath and Steinke 2020, Algorithm 2)
        return _signed(size, negative, ~(negative & (size == 0)))

    rate = 1 - 0.5 * -math.expm1(-1 / float(exact))
    return _collect(propose, count, rate).reshape(shape)


def discrete_gaussian(scale: Any, size: Size, source: Source | None = None) -> Integers:
    """Integers k with probability proportional to e^{-k^2/(2 scale^2)}, exactly.

    Canonne, Kamath and Steinke (2020, "The discrete Gaussian for differential privacy", Algorithm 3) with the
    discrete Laplace law of the same scale, t = scale: accepted with probability e^{-(|k|/scale - 1)^2/2}.
    """
    exact = check_scale("scale", scale)
    source, count, shape = _ready(source, size)
    width = float(exact)

    def propose(wanted: int) -> Integers:
        size, negative = _geometric(exact, wanted, source), _signs(wanted, source)
        with np.errstate(over="ignore"):
            exponents = 0.5 * (size.astype(np.float64) / width - 1.0) ** 2
        keep = flip(exponents, lambda i: (int(size[i]) / exact - 1) ** 2 / 2, source)
        return _signed(size, negative, keep & ~(negative & (size == 0)))

    # accepted of all: half of 1 - e^{-1/scale}, times e^{-1/2}, times the sum of e^{-k^2/(2 scale^2)}
    rate = -0.5 * math.expm1(-1 / width) * math.exp(-0.5) * max(1.0, math.sqrt(2 * math.pi) * width)
    return _collect(propose, count, rate).reshape(shape)


def _geometric(scale: Fraction, count: int, source: Source) -> Integers:
    """Blocks of 2^b numbers each: the block is geometric with scale/2^b, the place inside is uniform and
    accepted with probability e^{-place/scale}, close to 1."""
    blocks = max(_log2(scale) - _BLOCK_SCALE, 0)
    if not blocks:
        return _small_geometric(scale, count, source)
    width = float(scale)

    def propose(wanted: int) -> Integers:
        place = _random_bits(blocks, wanted, source)
        keep = flip(place.astype(np.float64) / width, lambda i: int(place[i]) / scale, source)
        return place[keep]

    place = _collect(propose, count, 1 - 2.0**-_BLOCK_SCALE)
    block = _small_geometric(scale / 2**blocks, count, source)
    if int(block.max(initial=0)).bit_length() + blocks > 62:
        block, place = block.astype(object), place.astype(object)
    result: Integers = (block << blocks) + place
    return result


def _small_geometric(scale: Fraction, count: int, source: Source) -> Integers:
    words, width = source.words(count), float(scale)
    logs = -np.log((words + 0.5) * 2.0**-64)
    places = width * logs
    result: Integers = np.floor(places).astype(np.int64)
    margin = _LOG_MARGIN * width * (1 + logs)
    open_ = (np.abs(places - np.rint(places)) <= margin) | (words < _FEW_BITS)
    for i in np.flatnonzero(open_).tolist():
        uniform = LazyUniform(int(words[i]), source)
        if uniform.head < _FEW_BITS:
            uniform.refine()
        guess = -float(scale) * (math.log(uniform.head + 1) - uniform.bits * math.log(2.0))
        result[i] = uniform.geometric(scale, int(guess))
    return result


def _random_bits(bits: int, count: int, source: Source) -> Integers:
    """Integers uniform on 0, ..., 2^bits - 1."""
    if bits == 0:
        return np.zeros(count, dtype=np.int64)
    if bits <= 62:
        return (source.words(count) >> np.uint64(64 - bits)).astype(np.int64)
    return np.array([source.integer(bits) for _ in range(count)] + [None], dtype=object)[:-1]


def _signs(count: int, source: Source) -> Booleans:
    words = source.words((count + 63) // 64)
    return np.unpackbits(words.view(np.uint8))[:count].astype(bool)


def _signed(size: Integers, negative: Booleans, keep: Booleans) -> Integers:
    size, negative = size[keep], negative[keep]
    return np.where(negative, -size, size)


def _collect(propose: Callable[[int], Integers], count: int, rate: float) -> Integers:
    """`count` accepted proposals, of which about `rate` are accepted."""
    pieces: list[Integers] = []
    missing = count
    while missing > 0:
        wanted = int(missing / rate + 4 * math.sqrt(missing)) + 4
        pieces.append(propose(wanted)[:missing])
        missing -= pieces[-1].size
    return np.concatenate(pieces) if pieces else np.zeros(0, dtype=np.int64)


def _log2(value: Fraction) -> int:
    """floor(log2 value), or one less."""
    return value.numerator.bit_length() - value.denominator.bit_length() - 1


def _ready(source: Source | None, size: Size) -> tuple[Source, int, tuple[int, ...]]:
    if source is None:
        source = SystemSource()
    elif not isinstance(source, Source):
        raise ArgumentError("source", source, "a Source, such as SystemSource()")
    lengths = size if isinstance(size, tuple) else (size,)
    shape = tuple(check_count("size", length) for length in lengths)
    return source, math.prod(shape), shape
