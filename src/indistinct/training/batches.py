"""Loaders whose batches have the law that a guarantee is for: lists of indices, for NumPy, and for PyTorch as
`DataLoader(data, batch_sampler=...)`."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Annotated

import numpy as np

from indistinct.description import PositiveCount, checked_fields
from indistinct.errors import ArgumentError, check_count
from indistinct.noise import Source, SystemSource, bernoulli, uniform_below


def no_length(total: int) -> TypeError:
    """Training libraries take 1/len(loader) for the sampling rate, which it is not here: their ε would be too
    small. A `TypeError` is what Python expects of what has no length."""
    allowed = "it would be taken for a sampling rate; account for the run with dp_sgd, and step by yourself"
    return TypeError(f"a loader of {total} batches says no length: {allowed}")


@dataclass(frozen=True)
@checked_fields
class PoissonBatches:
    """`steps` batches, each of which every record joins with probability batch/records, by a coin of its own.

    Batches differ in size and may be empty: a step with an empty batch adds its noise all the same, and no
    step divides by the size of its batch. Every iteration draws anew.

    >>> from indistinct.noise import NotPrivateSource
    >>> list(PoissonBatches(records=10, batch=2, steps=3, source=NotPrivateSource(1)))
    [[...], [...], [...]]
    """

    records: PositiveCount
    batch: Annotated[int, check_count]
    steps: Annotated[int, check_count]
    source: Source = field(default_factory=SystemSource)

    def __post_init__(self) -> None:
        if self.batch > self.records:
            raise ArgumentError("batch", self.batch, f"at most records={self.records}")

    def __len__(self) -> int:
        raise no_length(self.total)

    @property
    def total(self) -> int:
        """The number of batches of an iteration."""
        return self.steps

    def __iter__(self) -> Iterator[list[int]]:
        rate = Fraction(self.batch, self.records)
        for _ in range(self.steps):
            yield np.flatnonzero(bernoulli(rate, self.records, self.source)).tolist()


@dataclass(frozen=True)
@checked_fields
class AllocatedBatches:
    """`epochs` times `steps` batches: in each epoch every record joins exactly one, or `times` of them, drawn
    at random for each record by itself. Batches differ in size and may be empty. Every iteration draws anew.

    >>> from indistinct.noise import NotPrivateSource
    >>> batches = list(AllocatedBatches(records=10, steps=3, source=NotPrivateSource(1)))
    >>> sorted(sum(batches, []))
    [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]
    """

    records: PositiveCount
    steps: PositiveCount
    epochs: Annotated[int, check_count] = 1
    source: Source = field(default_factory=SystemSource)
    times: Annotated[int, check_count] = 1

    def __post_init__(self) -> None:
        if self.times > self.steps:
            raise ArgumentError("times", self.times, f"at most steps={self.steps}")

    def __len__(self) -> int:
        raise no_length(self.total)

    @property
    def total(self) -> int:
        """The number of batches of an iteration."""
        return self.steps * self.epochs

    def __iter__(self) -> Iterator[list[int]]:
        for _ in range(self.epochs):
            if self.times != 1:
                yield from self._several()
                continue
            step = uniform_below(self.steps, self.records, self.source).astype(np.int64)
            order = np.argsort(step, kind="stable")
            ends = np.searchsorted(step[order], np.arange(1, self.steps))
            yield from (part.tolist() for part in np.split(order, ends))

    def _several(self) -> Iterator[list[int]]:
        """One epoch: a record joins the next step with the share of steps it lacks among those left."""
        missing = np.full(self.records, self.times)
        for left in range(self.steps, 0, -1):
            joins = np.zeros(self.records, dtype=bool)
            for count in range(1, self.times + 1):
                if (some := np.flatnonzero(missing == count)).size:
                    joins[some] = bernoulli(Fraction(count, left), some.size, self.source)
            missing -= joins
            yield np.flatnonzero(joins).tolist()
