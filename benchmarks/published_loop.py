"""The training loop of *Functional Rényi DP* (Jiang, Sun and Yu 2023), section 4.3, as it was published and
as it would have to be; many generators at once.

- `Published`: equations 7 and 8 and the published code: the loss is evaluated at the private points, its
  noise is drawn apart from the graph, and what is descended is its square. NOT PRIVATE at any noise: the
  gradient is the clean one times a number (see attacks/synthesis.py).
- `ReleasedEachStep`: every step takes each record with probability q and releases the class sums of the
  batch's features, of a finite-rank copy of the same kernel, with noise σκ; values and gradients come from
  that one path, at generated points alone. With σ, q and as many steps as Table 2 has it is as private as
  that table says (add/remove).

Generator, optimiser, widths of the kernel and sizes are those of the published code: images of 32 × 32
from -1 to 1, RMSprop with rate 5e-5, Gaussian kernels of widths 1, 2, 4, 8 and 16 added up, 60 images a
step. Noise is seeded and in single precision: for a benchmark, not for people.
"""

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import torch
from torch.nn import functional

from indistinct.synthesis.images.cuda_graph import RecordedStep

SIDE, LATENT, WIDTHS, RATE = 32, 10, (1.0, 2.0, 4.0, 8.0, 16.0), 5e-5
MADE, CAP, CHUNK = 60, 128, 500
"""Images made in a step; records that a batch may have at most (60 expected: more is refused); steps whose
batches are drawn together."""


def one_hot(labels: Any, classes: int) -> Any:
    return (labels[..., None] == torch.arange(classes, device=labels.device)).float()


class Stack:
    """Generators of one shape side by side, each with weights of its own: noise, a label if there are
    classes, four transposed convolutions. `on` are tensors with a first axis for the generators."""

    def __init__(self, count: int, channels: int, classes: int, device: str, seed: int) -> None:
        self.channels, self.classes = channels, classes
        draw = torch.Generator().manual_seed(seed)
        shapes = {"first": (256, LATENT), "second": (128, 256), "third": (64, 128), "last": (channels, 64)}
        on = {
            name: 0.02 * torch.randn(count, 16 * outs, ins, generator=draw)
            for name, (outs, ins) in shapes.items()
        }
        if classes:
            on["entry"] = 0.1 * torch.randn(count, LATENT + classes, LATENT, generator=draw)
            on["level"] = torch.zeros(count, 1, LATENT)
        for layer, width in enumerate((256, 128, 64)):
            on[f"gain{layer}"] = 1 + 0.02 * torch.randn(count, width, generator=draw)
            on[f"shift{layer}"] = torch.zeros(count, width)
            on[f"seen_mean{layer}"], on[f"seen_spread{layer}"] = (
                torch.zeros(count, width),
                torch.ones(count, width),
            )
        self.on = {name: value.to(device) for name, value in on.items()}

    @property
    def learned(self) -> list[Any]:
        return [value.requires_grad_() for name, value in self.on.items() if not name.startswith("seen")]

    def __call__(self, latents: Any, labels: Any, *, training: bool) -> Any:
        """Images [generators, n, numbers] from latents [generators, n, 10]."""
        count, many = latents.shape[:2]
        on_gpu = latents.is_cuda

        def normalised(x: Any, layer: int) -> Any:
            wanted = ("seen_mean", "seen_spread", "gain", "shift")
            each = [self.on[f"{name}{layer}"].view(-1) for name in wanted]
            return functional.batch_norm(x.view(1, len(each[0]), -1), *each, training=training).relu_()

        def doubled(x: Any, name: str, side: int) -> Any:
            """A transposed convolution of 4 × 4 by steps of 2, of maps [generators, inputs, n, side,
            side]."""
            weights = self.on[name]
            columns = weights @ x.view(count, weights.shape[2], -1)
            columns = columns.view(-1, 16, many, side * side).transpose(1, 2).reshape(1, -1, side * side)
            return functional.fold(columns, (2 * side, 2 * side), 4, padding=1, stride=2)

        with torch.autocast("cuda", torch.bfloat16, enabled=on_gpu, cache_enabled=False):
            if self.classes:
                told = torch.cat([latents, one_hot(labels, self.classes)], 2)
                latents = told @ self.on["entry"] + self.on["level"]
            x = (self.on["first"] @ latents.transpose(1, 2)).view(-1, 16, many).transpose(1, 2)
            x = normalised(x.reshape(count, -1), 0)
            x = normalised(doubled(x, "second", 4), 1)
            x = normalised(doubled(x, "third", 8), 2)
            x = doubled(x, "last", 16).float().tanh()
        return x.view(count, self.channels, many, -1).transpose(1, 2).reshape(count, many, -1)

    def sample(self, place: int, labels: Any, seed: int) -> Any:
        """One image [channels, 32, 32] for each label from 0 to 1, by one of the generators."""
        one = object.__new__(Stack)
        one.channels, one.classes = self.channels, self.classes
        one.on = {name: value[place : place + 1].detach() for name, value in self.on.items()}
        draw = torch.Generator(labels.device).manual_seed(seed)
        made = []
        with torch.no_grad():
            for some in labels.split(5000):
                latents = torch.randn(1, len(some), LATENT, generator=draw, device=labels.device)
                made.append(one(latents, some[None], training=False)[0])
        return torch.cat(made).view(-1, self.channels, SIDE, SIDE) * 0.5 + 0.5


@dataclass
class Loop:
    """One generator for each entry of `members`: places of its records among all of them. Of these every
    step takes each with probability `rate`. `records` are rows from -1 to 1, `labels` their classes, or
    zeros where a generator has one class; `noise` is the multiplier of each generator; `classes` is 0
    where there is one."""

    records: Any
    labels: Any
    members: list[Any]
    noise: Any
    rate: float
    classes: int
    channels: int
    seed: int
    stack: Stack = field(init=False)
    taken: int = 0
    seconds: float = 0.0

    def __post_init__(self) -> None:
        device = self.records.device
        self.stack = Stack(len(self.members), self.channels, self.classes, str(device), self.seed)
        self.batches = torch.zeros(CHUNK, len(self.members), CAP, dtype=torch.long, device=device)
        self.there = torch.zeros(CHUNK, len(self.members), CAP, device=device)
        self.at = torch.zeros(1, dtype=torch.long, device=device)

    def draw_batches(self) -> None:
        """Of the next steps. Generators with the same records take the same ones."""
        self.at.zero_()
        self.there.zero_()
        drawn: dict[int, tuple[Any, Any, Any]] = {}
        for place, members in enumerate(self.members):
            if id(members) not in drawn:
                chosen = torch.rand(CHUNK, len(members), device=members.device) < self.rate
                step, which = chosen.nonzero(as_tuple=True)
                counts = chosen.sum(1)
                if int(counts.max()) > CAP:
                    raise RuntimeError(f"a batch of {int(counts.max())} records: make CAP larger")
                place_in_batch = (
                    torch.arange(len(step), device=step.device) - (counts.cumsum(0) - counts)[step]
                )
                drawn[id(members)] = step, place_in_batch, members[which]
            step, place_in_batch, chosen = drawn[id(members)]
            self.batches[step, place, place_in_batch] = chosen
            self.there[step, place, place_in_batch] = 1.0

    def train(self, loss: Callable[..., Any], steps: int, limit: float) -> "Loop":
        """So many steps, or fewer where they take longer than the limit in seconds: `taken` says."""
        torch.manual_seed(self.seed)
        count, device = len(self.members), self.records.device
        on_gpu = device.type == "cuda"
        optimiser = torch.optim.RMSprop(self.stack.learned, RATE, capturable=on_gpu)

        def step() -> Any:
            batch, there = self.batches[self.at][0], self.there[self.at][0]
            self.at += 1
            kinds = torch.randint(max(self.classes, 1), (count, MADE), device=device)
            made = self.stack(torch.randn(count, MADE, LATENT, device=device), kinds, training=True)
            value = loss(self.records[batch], self.labels[batch], there, made, kinds, self.noise)
            value.backward()
            optimiser.step()
            return value.detach()

        once = RecordedStep(step, optimiser.zero_grad, on_gpu)
        started = time.perf_counter()
        while self.taken < steps and time.perf_counter() - started < limit:
            self.draw_batches()
            for _ in range(min(CHUNK, steps - self.taken)):
                once()
                self.taken += 1
            if on_gpu:
                torch.cuda.synchronize()
        self.seconds = time.perf_counter() - started
        return self


class Published:
    """NOT PRIVATE. The noise of the loss is normal, so it is drawn by its variance."""

    def __call__(self, batch: Any, kinds: Any, there: Any, made: Any, labels: Any, noise: Any) -> Any:
        points, classes = torch.cat([batch, made], 1), torch.cat([kinds, labels], 1)
        squares = (points**2).sum(2)
        apart = squares[:, :, None] + squares[:, None] - 2 * points @ points.transpose(1, 2)
        gram = sum(torch.exp(-apart.clamp(min=0.0) / (2 * width**2)) for width in WIDTHS)
        gram = gram * (classes[:, :, None] == classes[:, None])
        size = there.sum(1).clamp(min=1.0)  # the realised one, as published
        real = there / size[:, None]
        ours = torch.full_like(made[:, :, 0], 1 / made.shape[1])
        gap = torch.cat([real, -ours], 1)
        clean = (gap[:, None] @ gram @ gap[:, :, None]).view(-1)
        weight = torch.cat([real, -2 * ours], 1).detach()  # of the noisy values in equation 7
        # the covariance of equation 8 as it is printed, σΔ times the Gram matrix
        scale = noise * math.sqrt(2 * len(WIDTHS)) / size
        variance = scale * (weight[:, None] @ gram.detach() @ weight[:, :, None]).view(-1)
        return ((clean + torch.randn_like(scale) * variance.clamp(min=0.0).sqrt()) ** 2).sum()


class ReleasedEachStep:
    """‖made‖² - 2⟨released, made⟩, in features; `size` is the public number of records that a batch is
    expected to have. `pairs` are the frequencies of each width, drawn from a public seed."""

    def __init__(self, numbers: int, classes: int, size: float, device: str, pairs: int = 1000) -> None:
        draw = torch.Generator().manual_seed(0)
        all = [torch.randn(numbers, pairs, generator=draw) / width for width in WIDTHS]
        self.frequencies, self.height = torch.cat(all, 1).to(device), 1 / math.sqrt(pairs)
        self.classes, self.size, self.bound = classes, size, math.sqrt(len(WIDTHS))

    def sums(self, points: Any, kinds: Any, weights: Any) -> Any:
        """By class: features [generators, classes, features]."""
        phases = points @ self.frequencies
        features = torch.cat([phases.cos(), phases.sin()], 2) * self.height
        return (one_hot(kinds, self.classes) * weights[:, :, None]).transpose(1, 2) @ features

    def __call__(self, batch: Any, kinds: Any, there: Any, made: Any, labels: Any, noise: Any) -> Any:
        with torch.no_grad():
            exact = self.sums(batch, kinds, there)
            released = exact + noise[:, None, None] * self.bound * torch.randn_like(exact)
            # from here on nothing is read but what was released
            target = released / self.size
        mean = self.sums(made, labels, torch.full_like(made[:, :, 0], 1 / made.shape[1]))
        return ((mean - 2 * target) * mean).sum()
