"""Private images by other methods, with the same generator and the same judge.

- one release (ours): the package's kernel on blurred pixels and wavelets, its loss, its settings.
- DP-MERF (Harder, Adamczewski and Park 2021): one release of random features of one Gaussian kernel on
  pixels, plain distance. The length of the kernel is 8, that of our prototype, where it was looked at on test
  images of MNIST: if anything this favours the baseline.
- release in each step: what the loop of *Functional Rényi DP*, section 4.3, would have to do. Every step
  takes each record with a small probability and releases the batch's class sums of the same features with
  Gaussian noise; values and gradients come from that one path, and are divided by released counts. Accounted
  as so many subsampled Gaussian mechanisms.
- published loss: that section's equations 7 and 8 as they are printed and coded, the noise drawn apart from
  the graph. NOT PRIVATE at any noise: the generator's gradient is the clean one times a number (see
  attacks/synthesis.py), so no ε is shown. Its noise multiplier is that of the release in each step.

All take as many steps, with the same optimiser, the same averaged weights, and rates by the same rule. The
comparison is not even: that rule and our kernel were chosen on training images for our method, and nothing
was tuned for a baseline. Noise is seeded here, and in single precision where it is drawn in each step: for a
benchmark, not for people.

    python benchmarks/baselines.py [--data ../shared/data] [--seeds 3] [--epsilon 10 1 0.2]
                                   [--medium | --small]

The full size needs an hour of a GPU and has not been run. --medium is for a CPU, three quarters of an hour on
one core: all 60,000 records, a smaller generator, 2,000 pairs, 1,500 steps, MNIST, one seed. --small takes
two minutes (3,000 records, 300 pairs, 400 steps) and shows that all methods run. Results are in README.md.
"""

import argparse
import math
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from synthesis_images import BARS, read

from indistinct import Budget, Gaussian, calibrate
from indistinct.data import CachedTable
from indistinct.noise import NotPrivateSource
from indistinct.synthesis.images import (
    Generator,
    ImageMap,
    ImageSynthesizer,
    ImageTraining,
    MapPart,
    Pixels,
    SyntheticImages,
    accuracy,
    frechet_distance,
    sample,
)
from indistinct.synthesis.images.training import Fitted

DELTA, SHAPE, CLASSES, LENGTH = 1e-5, (1, 28, 28), 10, 8.0
DEFAULTS = ImageTraining()


@dataclass(frozen=True)
class Size:
    """How much of everything: records, features, steps of training and of the judge."""

    training: ImageTraining = DEFAULTS
    records: int = 60_000
    tested: int = 10_000
    pairs: int = 20_000
    rate: float = 0.01  # of sampling, for a release in each step
    epochs: int = 20
    seeds: int = 3
    epsilon: tuple[float, ...] = (10.0, 1.0, 0.2)
    sets: tuple[str, ...] = tuple(BARS)


FULL = Size()
MEDIUM = Size(
    ImageTraining(
        steps=1500,
        plain_steps=300,
        steps_per_metric=150,
        images_per_class=10,
        images_in_metric=600,
        channels=32,
    ),
    pairs=2000,
    epochs=5,
    seeds=1,
    sets=("mnist",),
)
SMALL = Size(
    ImageTraining(
        steps=400,
        plain_steps=150,
        steps_per_metric=50,
        images_per_class=10,
        images_in_metric=300,
        rate=5e-3,
        channels=16,
    ),
    records=3000,
    tested=2000,
    pairs=300,
    rate=0.1,
    epochs=5,
    seeds=1,
    epsilon=(10.0,),
    sets=("mnist",),
)
Loss = Callable[[Any, Any], Any]
Made = tuple[np.ndarray, np.ndarray]


def stepwise(loss: Loss, training: ImageTraining, noise: float, seed: int, device: str) -> Fitted:
    """The package's generator, fitted by a loss of generated images and their labels: the optimiser, rates
    and averages of `indistinct.synthesis.images.train`, but a loss that may read records in every step."""
    torch.manual_seed(seed)
    generator = Generator(SHAPE, CLASSES, training.channels, training.latent)
    weights = generator.start(device, seed)
    names = [name for name in weights if not name.startswith("seen")]
    learned = [weights[name].requires_grad_() for name in names]
    averaged = {name: value.detach().clone() for name, value in weights.items()}
    optimiser = torch.optim.Adam(learned, betas=(0.5, 0.99))
    labels = torch.arange(CLASSES, device=device).repeat(training.images_per_class)

    def draw(with_weights: dict[str, Any], momentum: float) -> Any:
        latents = torch.randn(len(labels), generator.latent, device=device)
        return generator(with_weights, latents, labels, momentum=momentum)

    for step in range(training.steps):
        optimiser.param_groups[0]["lr"] = training.rate_at(step, noise)
        optimiser.zero_grad()
        loss(draw(weights, 0.0), labels).backward()
        optimiser.step()
        with torch.no_grad():
            for name in names:
                averaged[name].lerp_(weights[name], min(1.0, 5 / training.steps))
    with torch.no_grad():
        for batch in range(50):
            draw(averaged, 1 / (batch + 1))
    return Fitted(generator, averaged, np.ones(CLASSES))


class Batches:
    """Records, of which every step sees each with probability `rate`."""

    def __init__(self, images: np.ndarray, labels: np.ndarray, rate: float, seed: int, device: str) -> None:
        self.images = torch.as_tensor(images, dtype=torch.float32, device=device)
        self.labels = torch.as_tensor(labels, device=device)
        self.rate, self.draw = rate, torch.Generator(device).manual_seed(1000 + seed)

    def __call__(self) -> tuple[Any, Any]:
        taken = torch.rand(len(self.labels), generator=self.draw, device=self.labels.device) < self.rate
        return self.images[taken], self.labels[taken]


class ReleasedEachStep:
    """The squared distance to the class sums of a batch, released afresh with Gaussian noise."""

    def __init__(self, map: ImageMap, batches: Batches, scale: float) -> None:
        self.features, self.map = map.on(str(batches.images.device)), map
        self.batches, self.scale = batches, scale
        self.counted, self.steps = torch.zeros(CLASSES, device=batches.images.device), 0

    def __call__(self, images: Any, labels: Any) -> Any:
        with torch.no_grad():
            batch, classes = self.batches()
            sums = torch.zeros(CLASSES, self.map.size, device=batch.device)
            sums.index_add_(0, classes, self.features(batch))
            noise = torch.randn(sums.shape, generator=self.batches.draw, device=batch.device)
            released = sums + self.scale * noise
            # from here on nothing is read but what was released, in this step and before
            self.steps += 1
            self.counted += released[:, -1] / self.map.unit
            target = released / (self.counted / self.steps).clamp(min=1.0)[:, None]
        made = self.features(images).view(2, -1, CLASSES, self.map.size).mean(1)  # labels go round
        gap = made - target
        return (gap[0] * gap[1]).sum()


class Published:
    """NOT PRIVATE: equations 7 and 8, noise drawn apart from the graph; the published code takes the root."""

    def __init__(self, batches: Batches, multiplier: float) -> None:
        self.batches, self.multiplier = batches, multiplier

    def __call__(self, images: Any, labels: Any) -> Any:
        batch, classes = self.batches()
        points = torch.cat([batch.flatten(1), images.flatten(1)])
        kinds = torch.cat([classes, labels])
        squares = (points**2).sum(1)
        apart = (squares[:, None] + squares[None] - 2 * points @ points.T).clamp(min=0.0)
        gram = torch.exp(-apart / (2 * LENGTH**2)) * (kinds[:, None] == kinds[None])
        n, m = len(batch), len(images)
        clean = gram[:n, :n].mean() - 2 * gram[:n, n:].mean() + gram[n:, n:].mean()
        weights = torch.cat([torch.full((n,), 1 / n), torch.full((m,), -2 / m)]).to(points.device)
        variance = float(weights @ gram.detach() @ weights) * self.multiplier * math.sqrt(2) / n
        noise = torch.randn(1, generator=self.batches.draw, device=points.device)
        return torch.sqrt(torch.abs(clean + float(noise) * math.sqrt(max(variance, 0.0))) + 1e-12)


class Run:
    """All methods on one data set with one seed."""

    def __init__(self, records: Made, size: Size, device: str) -> None:
        self.images, self.labels = records
        self.training, self.rate, self.device = size.training, size.rate, device
        self.sums: dict[ImageSynthesizer, CachedTable] = {}
        self.single = ImageMap(SHAPE, (MapPart(Pixels(), LENGTH, size.pairs, 0.98),), 0.02)
        self.ours = ImageSynthesizer(SHAPE, range(CLASSES), pairs=size.pairs)
        self.merf = ImageSynthesizer(SHAPE, range(CLASSES), map=self.single)

    def one_release(
        self, design: ImageSynthesizer, training: ImageTraining, epsilon: float, seed: int
    ) -> Made:
        if design not in self.sums:  # the exact sums are computed once
            self.sums[design] = CachedTable(design.table(self.images, self.labels))
        noisy = design.mechanism(Budget(epsilon=epsilon, delta=DELTA))
        release = noisy.release(self.sums[design], source=NotPrivateSource(seed))
        result = SyntheticImages(design, release).trained(training, seed=seed, device=self.device)
        return result.sample(len(self.images), seed=seed, device=self.device)

    def in_each_step(self, epsilon: float, seed: int, *, private: bool) -> Made:
        steps, height = self.training.steps, self.single.bound
        run = calibrate(
            lambda scale: steps * Gaussian(scale, height).subsample(self.rate),
            Budget(epsilon=epsilon, delta=DELTA),
        )
        scale = run.parameter
        batches = Batches(self.images, self.labels, self.rate, seed, self.device)
        loss = ReleasedEachStep(self.single, batches, scale) if private else Published(batches, scale)
        # what is left of the noise in the mean over all steps, as in the rule for one release
        noise = (scale / self.rate) ** 2 / steps / (len(self.labels) / CLASSES) if private else 0.0
        fitted = stepwise(loss, self.training, noise, seed, self.device)
        kinds = np.arange(len(self.images)) % CLASSES
        return sample(fitted, kinds, seed=seed, device=self.device).cpu().numpy(), kinds

    def methods(self, epsilon: float) -> dict[str, tuple[bool, Callable[[int], Made]]]:
        """By name: whether it is private, and what it makes with a seed."""
        plain = ImageTraining(**{**vars(self.training), "plain_steps": self.training.steps})
        return {
            "one release (ours)": (
                True,
                lambda seed: self.one_release(self.ours, self.training, epsilon, seed),
            ),
            "DP-MERF": (True, lambda seed: self.one_release(self.merf, plain, epsilon, seed)),
            "release in each step": (True, lambda seed: self.in_each_step(epsilon, seed, private=True)),
            "published loss, NOT PRIVATE": (
                False,
                lambda seed: self.in_each_step(epsilon, seed, private=False),
            ),
        }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, default=Path(__file__).parents[2] / "shared" / "data")
    parser.add_argument("--seeds", type=int, help="of noise and training")
    parser.add_argument("--epsilon", type=float, nargs="*")
    parser.add_argument("--sets", nargs="*", choices=list(BARS))
    parser.add_argument("--methods", nargs="*", help="those whose names contain one of these words; all")
    parser.add_argument("--small", dest="size", action="store_const", const=SMALL, default=FULL)
    parser.add_argument("--medium", dest="size", action="store_const", const=MEDIUM)
    options = parser.parse_args()
    if not options.data.is_dir():
        print(f"skipped: no data at {options.data}")
        return 0
    size: Size = options.size
    device = "cuda" if torch.cuda.is_available() else "cpu"
    if device == "cpu" and size is FULL:
        print("skipped: no GPU here; --small and --medium compare the methods on a CPU")
        return 0
    seeds = options.seeds or size.seeds
    print(f"{'data':8} {'method':28} {'ε':>5} {'accuracy %':>14} {'wavelet Fréchet':>16} {'s':>5}")
    for name in options.sets or size.sets:
        images, labels = (some[: size.records] for some in read(options.data, name, "train"))
        test, wanted = (some[: size.tested] for some in read(options.data, name, "t10k"))
        run = Run((images, labels), size, device)
        real = torch.as_tensor(test, dtype=torch.float32, device=device)
        right = torch.as_tensor(wanted, device=device)
        for epsilon in options.epsilon or size.epsilon:
            for method, (private, make) in run.methods(epsilon).items():
                if options.methods and not any(word in method for word in options.methods):
                    continue
                scores, seconds = [], []
                for seed in range(seeds):
                    started = time.perf_counter()
                    made, kinds = make(seed)
                    seconds.append(time.perf_counter() - started)
                    tensors = (torch.as_tensor(some, device=device) for some in (made, kinds))
                    scores.append(100 * accuracy(*tensors, real, right, epochs=size.epochs, seed=seed))
                deviation = f" ± {np.std(scores, ddof=1):.2f}" if seeds > 1 else ""
                distance = frechet_distance(made[:: len(made) // 1000], test)
                print(
                    f"{name:8} {method:28} {f'{epsilon:g}' if private else '-':>5} "
                    f"{f'{np.mean(scores):.2f}{deviation}':>14} {distance:16.3f} {np.mean(seconds):5.0f}",
                    flush=True,
                )
    return 0


if __name__ == "__main__":
    sys.exit(main())
