"""Fits the mixture to noisy counts. Post-processing: it sees what was released and nothing else.

A small network turns fixed latents and the label into the distributions of all columns; that the components
come from one smooth function keeps them from fitting the noise. Along a column whose cells have an order
neighbours are alike: there, too, what a component adds is smooth. The misfit is that of the noise, squares in
units of its deviation (so its expected value at the truth is known), plus a price on how much the components
tell about the columns. The price takes the place of a Wiener filter: dependence that the noise could have
made is not worth it, and at no signal at all the columns are independent.

All labels have the same latents. What a label changes is at first each column by itself, alike in all
components: columns then speak for or against a label one by one, their logits add up. That components differ
by label in more than that has a price too. Without it, tables of many columns, which nothing tells about,
would differ between labels by chance, and whoever learns to predict the label from the rows would learn that.
"""

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from indistinct.description import Nonnegative, Positive, PositiveCount, checked_fields
from indistinct.errors import check_count
from indistinct.numerics.arrays import Array
from indistinct.synthesis.progress import Progress
from indistinct.synthesis.tables.generator import Mixture

_REACH, _OWN = 0.25, 0.05
"""How far smoothness reaches, as a share of an ordered column, and what a cell has of its own beside it."""


@dataclass(frozen=True)
@checked_fields
class TableTraining:
    """How the generator is fitted. The defaults are meant to be left alone; `benchmarks/synthesis_tables.py`
    says on which tables they were chosen."""

    components: PositiveCount = 256
    latent: PositiveCount = 16
    width: PositiveCount = 256
    steps: PositiveCount = 400
    rate: Positive = 0.01
    price: Nonnegative = 200.0
    """Of one nat that a component tells about a column. How much columns depend on each other is no matter of
    how many records there are, and neither is this: as with a prior, more of them outweigh it."""
    label_price: Nonnegative = 50.0
    """Of one nat by which a column in a component differs between labels, beyond what it does in all."""


@dataclass(frozen=True, eq=False)
class NoisyTable:
    """Counts by one, two or three columns, and by label if `by_label` (then the first axis is its own)."""

    columns: tuple[int, ...]
    by_label: bool
    counts: Array
    deviation: float
    """Of the noise on each number. Counts without noise are matched to within one record."""

    @property
    def weight(self) -> float:
        return float(1 / max(self.deviation, 1.0) ** 2)


@dataclass(frozen=True, eq=False)
class NoisyCounts:
    """What was released. Every column has a table of its own, by label."""

    sizes: tuple[int, ...]
    labels: int
    tables: tuple[NoisyTable, ...]
    ordered: tuple[int, ...] = ()
    """How many cells of each column, from its first, are in an order; 0 if none are."""

    def records(self) -> Array:
        """How many there are of each label: every table by label says so, wide ones less surely."""
        known = [table for table in self.tables if table.by_label]
        weights = np.array([table.weight * self.labels / table.counts.size for table in known])
        totals = np.stack([table.counts.reshape(self.labels, -1).sum(axis=1) for table in known], axis=1)
        found: Array = np.maximum(totals @ weights / weights.sum(), 1.0)
        return found

    def ones(self) -> Array:
        """Counts of the cells by label, side by side."""
        own = {table.columns[0]: table for table in self.tables if table.by_label and len(table.columns) == 1}
        return np.concatenate([own[place].counts for place in range(len(self.sizes))], axis=1)

    def pairs(self, by_label: bool) -> tuple[Array, Array] | None:
        """Counts of two cells [labels or 1, cells, cells] and their weights, 0 where none are known."""
        known = [table for table in self.tables if table.by_label == by_label and len(table.columns) == 2]
        if not known:
            return None
        ends = np.concatenate([[0], np.cumsum(self.sizes)])
        counts = np.zeros((self.labels if by_label else 1, ends[-1], ends[-1]), dtype=np.float32)
        weights = np.zeros(counts.shape[1:], dtype=np.float32)
        for table in known:
            rows, columns = (slice(ends[place], ends[place + 1]) for place in table.columns)
            counts[:, rows, columns] = table.counts
            weights[rows, columns] = table.weight
        return counts, weights

    def independent(self) -> Mixture:
        """The columns as if they were independent for each label."""
        parts = np.split(np.maximum(self.ones(), 1e-3), np.cumsum(self.sizes)[:-1], axis=1)
        chances = np.concatenate([part / part.sum(axis=1, keepdims=True) for part in parts], axis=1)
        return Mixture(self.sizes, self.records() / self.records().sum(), chances[:, None])


@contextmanager
def _one_thread() -> Iterator[None]:
    """Tables are small: threads, which PyTorch has one of for each core, mostly wait for each other."""
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


@_one_thread()
def train(
    counts: NoisyCounts, training: TableTraining, seed: int, progress: Progress | None = None
) -> Mixture:
    """The mixture that fits the counts; the same for the same seed on the same machine."""
    import torch

    sizes, steps = list(counts.sizes), training.steps
    draw = torch.Generator().manual_seed(check_count("seed", seed))
    records = torch.tensor(counts.records(), dtype=torch.float32)
    labels, shares = len(records), records / records.sum()
    misfit = _misfit(torch, counts, records / training.components)

    layers = (training.latent, training.width, training.width, sum(sizes))
    weights = [_uniform(torch, draw, a, b) for a, b in pairwise(layers)]
    biases = [_uniform(torch, draw, a, b)[0].clone() for a, b in pairwise(layers)]
    base = torch.log(torch.tensor(counts.ones(), dtype=torch.float32).clamp(min=1.0))  # where it starts
    apart = torch.zeros(labels, 1, training.width)  # what a label changes in components
    parameters = [tensor.requires_grad_() for tensor in (*weights, *biases, base, apart)]
    latents = torch.randn(training.components, training.latent, generator=draw)
    smooth = torch.tensor(_smoothness(counts), dtype=torch.float32)

    def added() -> Any:
        """What components add to the logits of the cells, for each label."""
        hidden = torch.nn.functional.silu(latents @ weights[0] + biases[0] + apart)
        hidden = torch.nn.functional.silu(hidden @ weights[1] + biases[1])
        return hidden @ (weights[2] @ smooth) + biases[2] @ smooth

    def logs(components: Any) -> Any:
        """Of the chances of all cells."""
        parts = torch.split(components + base[:, None], sizes, dim=2)
        return torch.cat([torch.log_softmax(part, dim=2) for part in parts], dim=2)

    optimiser = torch.optim.Adam(parameters, lr=training.rate)
    for step in range(steps):
        for group in optimiser.param_groups:
            group["lr"] = training.rate * _warmth((step + 1) / steps)
        components = added()
        known = logs(components)
        each = known.exp()
        alike = (components * shares[:, None, None]).sum(dim=0, keepdim=True)
        told = known - torch.log(each.mean(dim=1, keepdim=True) + 1e-8)
        price = training.price * told + training.label_price * (known - logs(alike))
        loss = misfit(each) + ((each * price).sum(dim=2).mean(dim=1) * shares).sum()
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        if progress is not None:
            progress(step + 1, float(loss.detach()))
    with torch.no_grad():
        final = logs(added()).exp().double().numpy()
    return Mixture(counts.sizes, counts.records() / counts.records().sum(), final)


def _misfit(torch: Any, counts: NoisyCounts, share: Any) -> Callable[[Any], Any]:
    """Of chances [labels, components, cells]: squares in units of the noise. A component of a label stands
    for `share` records."""
    starts = np.concatenate([[0], np.cumsum(counts.sizes)]).tolist()
    cells = [slice(a, b) for a, b in pairwise(starts)]
    found_pairs = (counts.pairs(by_label=False), counts.pairs(by_label=True))
    pairs = [None if known is None else tuple(map(torch.tensor, known)) for known in found_pairs]
    rest = [
        (table, torch.tensor(table.counts, dtype=torch.float32))
        for table in counts.tables
        if len(table.columns) != 2
    ]

    def misfit(each: Any) -> Any:
        weighed = each * share[:, None, None]
        found = 0.0
        if pairs[1] is not None:
            joint = torch.bmm(weighed.transpose(1, 2), each)
            found = found + (pairs[1][1] * (joint - pairs[1][0]) ** 2).sum()
        if pairs[0] is not None:
            joint = weighed.flatten(0, 1).T @ each.flatten(0, 1)
            found = found + (pairs[0][1] * (joint - pairs[0][0][0]) ** 2).sum()
        for table, wanted in rest:
            made, *others = (
                (weighed if at == 0 else each)[:, :, cells[column]] for at, column in enumerate(table.columns)
            )
            for other in others[:-1]:
                made = (made[..., None] * other[:, :, None]).flatten(2)
            made = made.sum(dim=1) if not others else torch.bmm(made.transpose(1, 2), others[-1])
            made = made if table.by_label else made.sum(dim=0)
            found = found + table.weight * ((made.reshape(wanted.shape) - wanted) ** 2).sum()
        return found

    return misfit


def _smoothness(counts: NoisyCounts) -> Array:
    """A root of how alike the cells of a column are before anything is known: those of an ordered one like
    values of a smooth random function, plus a little of their own; all others not at all."""
    root, start = np.eye(sum(counts.sizes)), 0
    for size, ordered in zip(counts.sizes, counts.ordered or [0] * len(counts.sizes), strict=True):
        apart = np.subtract.outer(np.arange(ordered), np.arange(ordered)) / (_REACH * max(ordered, 1))
        alike = (np.exp(-(apart**2) / 2) + _OWN * np.eye(ordered)) / (1 + _OWN)
        values, vectors = np.linalg.eigh(alike)
        own = slice(start, start + ordered)
        root[own, own] = vectors * np.sqrt(values) @ vectors.T
        start += size
    return root


def _uniform(torch: Any, draw: Any, rows: int, columns: int) -> Any:
    return (torch.rand(rows, columns, generator=draw) * 2 - 1) / math.sqrt(rows)


def _warmth(part: float) -> float:
    """Rises over the first tenth, then falls like a cosine."""
    return part / 0.1 if part < 0.1 else 0.5 * (1 + math.cos(math.pi * (part - 0.1) / 0.9)) + 1e-4
