"""Fitting a generator to a release: post-processing, which costs no privacy however long it takes.

The generator's mean features, class by class, are moved towards the released ones. The distance between them
is measured in the metric of the inverse covariance of what is generated, with a ridge: the weights of the
generalised method of moments, under which the few directions in which pictures differ most do not hide all
others. Two independent halves of each batch make the loss unbiased.
"""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, final

from indistinct.errors import ArgumentError, check_count, check_positive
from indistinct.numerics.arrays import Array
from indistinct.synthesis.images.checkpoint import Checkpoint, Tensors, fingerprint
from indistinct.synthesis.images.cuda_graph import RecordedStep, quick_and_repeatable
from indistinct.synthesis.images.feature_maps import ImageMap, Pairs
from indistinct.synthesis.images.generator import Generator, Weights
from indistinct.synthesis.progress import Progress, check_seed

_STEPS_PER_WORD = 50
_SETTLING = 50
"""Batches over which the averaged generator notes the statistics of its layers."""


@final
@dataclass(frozen=True)
class ImageTraining:
    """How a generator is fitted. The rate and the ridge follow from the noise for each record of a class, as
    released: noisy means are fitted more slowly, and their small directions count less."""

    steps: int = 5000
    plain_steps: int = 500
    steps_per_metric: int = 250
    images_per_class: int = 100
    images_in_metric: int = 2000
    rate: float = 2e-3
    channels: int = 128
    latent: int = 64

    def __post_init__(self) -> None:
        for name in ("steps", "plain_steps", "steps_per_metric", "images_in_metric"):
            check_count(name, getattr(self, name), least=1)
        check_count("latent", self.latent, least=1)
        for name in ("images_per_class", "channels"):
            if check_count(name, getattr(self, name), least=2) % 2:
                raise ArgumentError(name, getattr(self, name), "an even number")
        check_positive("rate", self.rate)

    def rate_at(self, step: int, noise: float) -> float:
        """Up within 100 steps, then down along a cosine to 2 % of it."""
        turn = 0.02 + 0.98 * 0.5 * (1 + math.cos(math.pi * step / self.steps))
        return self.rate / (1 + 70 * noise) * min(1.0, (step + 1) / 100) * turn

    @staticmethod
    def ridge(noise: float) -> float:
        return max((6 * noise) ** 2, 3e-5)


@final
@dataclass(frozen=True)
class Fitted:
    """A generator after training, and how many records each class has, about."""

    generator: Generator
    weights: Weights
    counts: Array


def train(
    map: ImageMap,
    released: Array,
    scale: float,
    *,
    training: ImageTraining | None = None,
    pairs: Pairs | None = None,
    seed: int = 0,
    device: str | None = None,
    progress: Progress | None = None,
    checkpoint: Path | None = None,
) -> Fitted:
    """A generator whose images have the released features on average; with `pairs`, these of them only.

    `released` are class sums [classes, features] with normal noise of deviation `scale` in each coordinate.
    Only they are read, so the result is as private as they are. The same seed gives the same generator on one
    machine. `checkpoint` is a file: the same call goes on from there after an interruption.
    """
    import torch

    how = training or ImageTraining()
    if released.ndim != 2 or released.shape[1] != map.size:
        raise ArgumentError("released", f"shape {released.shape}", f"(classes, {map.size})")
    device = device or ("cuda" if torch.cuda.is_available() else "cpu")
    generator = Generator(map.shape, len(released), how.channels, how.latent)
    counts = (released[:, -1] / map.unit).clip(min=1.0)
    noise = (scale / map.bound) ** 2 / float(counts.mean())
    on_gpu = device.startswith("cuda")
    with torch.random.fork_rng(devices=range(torch.cuda.device_count())), quick_and_repeatable(on_gpu):
        torch.manual_seed(check_seed(seed))
        columns = slice(None) if pairs is None else map.places(pairs)
        means = released[:, columns] / counts[:, None]
        fit = _Fit(map.on(device, pairs=pairs), means, generator, how, how.ridge(noise), device, seed)
        kept = None
        if checkpoint is not None:
            which = fingerprint(map, released, scale, how, *(pairs or ()), seed, on_gpu)
            kept = Checkpoint(checkpoint, which)
        for step, loss in fit.steps(lambda step: how.rate_at(step, noise), kept):
            if progress is not None and step % _STEPS_PER_WORD == 0:  # reading a loss waits for the GPU
                progress(step, float(loss))
        weights = fit.settled()
    return Fitted(generator, weights, counts)


@final
class _Fit:
    """One run of training: what changes from step to step."""

    def __init__(
        self,
        features: Callable[[Any], Any],
        means: Array,
        generator: Generator,
        how: ImageTraining,
        ridge: float,
        device: str,
        seed: int,
    ) -> None:
        import torch

        self.features = features
        self.target = torch.as_tensor(means, dtype=torch.float32, device=device)
        self.generator, self.how, self.ridge, self.device = generator, how, ridge, device
        self.weights = generator.start(device, seed)
        self.learned = [
            value.requires_grad_() for name, value in self.weights.items() if not name.startswith("seen")
        ]
        self.averaged = {name: value.detach().clone() for name, value in self.weights.items()}
        self.averages = [value for name, value in self.averaged.items() if not name.startswith("seen")]
        self.labels = torch.arange(generator.classes, device=device).repeat(how.images_per_class)
        rows = -(-how.images_in_metric // generator.classes) * generator.classes
        self.metric = torch.zeros(rows, means.shape[1], device=device)
        self.on_gpu = device.startswith("cuda")
        self.rate = torch.tensor(how.rate, device=device)
        self.optimiser = torch.optim.Adam(
            self.learned, lr=self.rate, betas=(0.5, 0.99), capturable=self.on_gpu
        )

    def steps(
        self, rate_at: Callable[[int], float], checkpoint: Checkpoint | None
    ) -> Iterator[tuple[int, Any]]:
        """Take all steps, or those that are left, and give the loss of each."""
        import torch

        first = 0
        if checkpoint is not None:
            state = self._state()
            first = checkpoint.resume(state)
            self._set_random_state(state)
        step_once = RecordedStep(self._step, self.optimiser.zero_grad, self.on_gpu)
        for step in range(first, self.how.steps):
            self.rate.fill_(rate_at(step))
            after = step - self.how.plain_steps
            if after >= 0 and after % self.how.steps_per_metric == 0:
                # The state is kept when the metric, which is large, is about to be made anew.
                if checkpoint is not None and step > first:
                    checkpoint.keep(step, self._state())
                with torch.no_grad():
                    self._measure()
                    if after == 0:
                        for average, value in zip(self.averages, self.learned, strict=True):
                            average.copy_(value)
            yield step, step_once()

    def _state(self) -> Tensors:
        """All that the next steps depend on when the metric is made anew: the tensors themselves, but for the
        state of the random numbers, which is a copy."""
        import torch

        state = {f"weights.{name}": value for name, value in self.weights.items()}
        state |= {f"averaged.{name}": value for name, value in self.averaged.items()}
        for place, value in enumerate(self.learned):
            moments = self.optimiser.state[value]
            if not moments:  # as Adam makes them in its first step
                moments["step"] = torch.zeros((), device=value.device if self.on_gpu else "cpu")
                moments["exp_avg"], moments["exp_avg_sq"] = torch.zeros_like(value), torch.zeros_like(value)
            state |= {f"moments.{place}.{name}": moment for name, moment in moments.items()}
        state["random"] = torch.cuda.get_rng_state(self.device) if self.on_gpu else torch.get_rng_state()
        return state

    def _set_random_state(self, state: Tensors) -> None:
        import torch

        if self.on_gpu:
            torch.cuda.set_rng_state(state["random"], self.device)
        else:
            torch.set_rng_state(state["random"])

    def draw(self, weights: Weights, labels: Any, momentum: float) -> Any:
        import torch

        latents = torch.randn(len(labels), self.generator.latent, device=self.device)
        kind = "cuda" if self.on_gpu else "cpu"
        with torch.autocast(kind, torch.bfloat16, enabled=self.on_gpu, cache_enabled=False):
            return self.generator(weights, latents, labels, momentum=momentum)

    def _step(self) -> Any:
        import torch

        classes, size = self.target.shape
        features = self.features(self.draw(self.weights, self.labels, 0.0))
        gap = features.view(2, -1, classes, size).mean(1) - self.target
        known = (gap.view(2 * classes, size) @ self.metric.T).view(2, classes, -1)
        loss = (gap[0] * gap[1]).sum() - (known[0] * known[1]).sum()
        loss.backward()
        self.optimiser.step()
        with torch.no_grad():
            torch._foreach_lerp_(self.averages, self.learned, min(1.0, 5 / self.how.steps))
        return loss.detach()

    def _measure(self) -> None:
        """With P the centred features of generated images, S of them, the metric A has
        AᵀA = Pᵀ(PPᵀ + rS)⁻¹P, and I − AᵀA = r(C + r)⁻¹ for their covariance C and the ridge r."""
        import torch

        classes, rows = len(self.target), len(self.metric)
        labels = torch.arange(classes, device=self.device).repeat(rows // classes)
        parts = [self.features(self.draw(self.weights, some, 0.0)) for some in labels.split(1000)]
        seen = torch.cat(parts).view(-1, classes, self.target.shape[1])
        seen = (seen - seen.mean(0)).flatten(0, 1)
        inner = (seen @ seen.T).double()
        inner.diagonal().add_(self.ridge * rows)
        root = torch.linalg.cholesky(inner).float()
        self.metric.copy_(torch.linalg.solve_triangular(root, seen, upper=False))

    def settled(self) -> Weights:
        """The averaged weights, with the statistics of their own layers."""
        import torch

        with torch.no_grad():
            for batch in range(_SETTLING):
                self.draw(self.averaged, self.labels, 1 / (batch + 1))
        return self.averaged


def sample(fitted: Fitted, labels: Any, *, seed: int = 0, device: str | None = None) -> Any:
    """One image for each label, [n, channels, height, width], as a tensor on the device."""
    import torch

    device = device or ("cuda" if torch.cuda.is_available() else "cpu")
    draw = torch.Generator(device).manual_seed(check_seed(seed))
    labels = torch.as_tensor(labels, device=device)
    weights = {name: value.to(device) for name, value in fitted.weights.items()}
    images = []
    with torch.no_grad():
        for some in labels.split(5000):
            latents = torch.randn(len(some), fitted.generator.latent, generator=draw, device=device)
            images.append(fitted.generator(weights, latents, some))
    return torch.cat(images)
