"""Random bits: the operating system's for releases, those of a secret key where a release must be finished as
it was begun, a seeded generator for tests."""

import hashlib
import os
from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import count as counting

import numpy as np
import numpy.typing as npt

from indistinct.errors import ArgumentError

Words = npt.NDArray[np.uint64]
_KEY_BYTES = 32


class Source(ABC):
    """Independent fair bits, 64 at a time."""

    private: bool
    """Whether nobody can predict the bits: what a release reports."""

    @abstractmethod
    def words(self, count: int) -> Words:
        """`count` words of 64 independent fair bits."""

    def about(self, content: bytes) -> "Source":
        """Bits for noise on this content. Where they can be drawn again, others for any other content: the
        same noise on two statistics would tell their difference."""
        return self

    def integer(self, bits: int) -> int:
        """An integer of `bits` fair bits."""
        words = self.words((bits + 63) // 64).astype("<u8")
        return int.from_bytes(words.tobytes(), "little") >> (-bits % 64)


@dataclass(frozen=True)
class SystemSource(Source):
    """The operating system's cryptographic generator. Nothing is kept between calls, on purpose: processes
    that were forked from one another would otherwise add the same noise."""

    private = True

    def words(self, count: int) -> Words:
        return np.frombuffer(os.urandom(8 * count), dtype=np.uint64)


@dataclass(frozen=True)
class KeyedSource(Source):
    """Bits that follow from a secret key and a label, and from nothing else: the same again for who has both,
    and to everybody else as good as the operating system's (SHAKE-256 as a pseudorandom function). Whoever
    draws twice from one key must draw the same thing: the label says all that the draw depends on."""

    key: bytes = field(repr=False)
    label: bytes
    private = True
    _calls: Iterator[int] = field(init=False, repr=False, compare=False, default_factory=counting)

    def __post_init__(self) -> None:
        if not isinstance(self.key, bytes) or len(self.key) < _KEY_BYTES:
            raise ArgumentError("key", "what was given", f"{_KEY_BYTES} secret bytes")

    def about(self, content: bytes) -> "KeyedSource":
        # Under the key, so that nobody can compare contents.
        known = hashlib.sha256(self.key + hashlib.sha256(self.label).digest() + content).digest()
        return KeyedSource(self.key, hashlib.sha256(self.label).digest() + known)

    def words(self, count: int) -> Words:
        # Of known length each but the label, which the hash keeps apart from them.
        label = hashlib.sha256(self.label).digest()
        drawn = hashlib.shake_256(self.key + label + next(self._calls).to_bytes(8, "big"))
        return np.frombuffer(drawn.digest(8 * count), dtype="<u8").astype(np.uint64, copy=False)


@dataclass(frozen=True)
class NotPrivateSource(Source):
    """Reproducible bits from a seed, for tests only: who knows the seed can subtract the noise, so whatever
    is released with it says that it is not private."""

    seed: int
    private = False
    _bits: np.random.PCG64 = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_bits", np.random.PCG64(self.seed))

    def words(self, count: int) -> Words:
        words: Words = np.asarray(self._bits.random_raw(count), dtype=np.uint64)
        return words
