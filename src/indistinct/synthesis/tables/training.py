"""Fits the mixture to noisy counts. Post-processing: it sees what was released and nothing else.

A small network turns fixed latents and the label into the distributions of all columns; that the components
come from one smooth function keeps them from fitting the noise. Along a column whose cells have an order
neighbours are alike: there, too, what a component adds is smooth. The misfit is that of the noise, squares in
units of its deviation (so its expected value at the truth is known), plus a price on how much the components
tell about the columns. The price takes the place of a Wiener filter: dependence that the noise could have
made is not worth it, and at no signal at all the columns are independent.
"""

import math
from collections.abc import Iterator
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
    """How the generator is fitted. The defaults were chosen on a part of one data set (Adult) that was held
    out; they are meant to be left alone."""

    components: PositiveCount = 256
    latent: PositiveCount = 16
    width: PositiveCount = 256
    steps: PositiveCount = 400
    rate: Positive = 0.01
    price: Nonnegative = 0.03
    """Of one nat, per record, that a component tells about a column."""


@dataclass(frozen=True, eq=False)
class NoisyCounts:
    """What was released, side by side: by label, counts of cells and of pairs of cells of two columns."""

    sizes: tuple[int, ...]
    ones: Array
    """[labels, cells]"""
    pairs: Array
    """[labels, cells, cells]; only those of an earlier and a later column are read."""
    deviation: float
    """Of the noise on each number."""
    ordered: tuple[int, ...] = ()
    """How many cells of each column, from its first, are in an order; 0 if none are."""

    def records(self) -> Array:
        """How many there are of each label: every table says so, wide ones less surely."""
        starts = np.cumsum([0, *self.sizes[:-1]])
        totals, weights = np.add.reduceat(self.ones, starts, axis=1), 1 / np.array(self.sizes)
        found: Array = np.maximum(totals @ weights / weights.sum(), 1.0)
        return found


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
    columns = np.repeat(np.arange(len(sizes)), sizes)
    used = torch.tensor(columns[:, None] < columns[None, :])
    records = torch.tensor(counts.records(), dtype=torch.float32)
    # Counts without noise are matched to within one record.
    spread = max(counts.deviation, 1.0)
    ones = torch.tensor(counts.ones / spread, dtype=torch.float32)
    pairs = torch.tensor(counts.pairs / spread, dtype=torch.float32) * used
    sized = records / spread
    labels = len(records)

    layers = (training.latent + labels, training.width, training.width, sum(sizes))
    weights = [_uniform(torch, draw, a, b) for a, b in pairwise(layers)]
    biases = [_uniform(torch, draw, a, b)[0].clone() for a, b in pairwise(layers)]
    base = torch.log(ones.clamp(min=1.0))  # starts at the one-way tables
    parameters = [tensor.requires_grad_() for tensor in (*weights, *biases, base)]
    latents = torch.randn(labels, training.components, training.latent, generator=draw)
    which = torch.eye(labels)[:, None].expand(labels, training.components, labels)
    entry = torch.cat([latents, which], dim=2)
    smooth = torch.tensor(_smoothness(counts), dtype=torch.float32)

    def chances() -> Any:
        hidden = entry
        for weight, bias in zip(weights[:-1], biases[:-1], strict=True):
            hidden = torch.nn.functional.silu(hidden @ weight + bias)
        logits = hidden @ (weights[-1] @ smooth) + biases[-1] @ smooth + base[:, None]
        return torch.cat([torch.softmax(part, dim=2) for part in torch.split(logits, sizes, dim=2)], dim=2)

    optimiser = torch.optim.Adam(parameters, lr=training.rate)
    for step in range(steps):
        for group in optimiser.param_groups:
            group["lr"] = training.rate * _warmth((step + 1) / steps)
        each = chances()
        mean = each.mean(dim=1)
        joint = torch.bmm(each.transpose(1, 2), each) * (sized / training.components)[:, None, None]
        misfit = ((joint * used - pairs) ** 2).sum() + ((mean * sized[:, None] - ones) ** 2).sum()
        told = each * (torch.log(each + 1e-8) - torch.log(mean[:, None] + 1e-8))
        loss = misfit + training.price * (told.sum(dim=2).mean(dim=1) * records).sum()
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        if progress is not None:
            progress(step + 1, float(loss.detach()))
    with torch.no_grad():
        final = chances().double().numpy()
    return Mixture(counts.sizes, counts.records() / counts.records().sum(), final)


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
