"""Random bits: the operating system's for releases, a seeded generator for tests."""

import os
from abc import ABC, abstractmethod
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

Words = npt.NDArray[np.uint64]


class Source(ABC):
    """Independent fair bits, 64 at a time."""

    private: bool
    """Whether nobody can predict the bits: what a release reports."""

    @abstractmethod
    def words(self, count: int) -> Words:
        """`count` words of 64 independent fair bits."""

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
