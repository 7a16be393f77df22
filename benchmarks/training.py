"""The same (epsilon, delta), more steps: MNIST with Opacus, counted in four ways.

    .venv-bench/bin/python benchmarks/training.py ../shared/data/mnist [--repeats 3] [--epsilon 1]

Noise, batches and the network are fixed; what differs is how many steps an account allows: the moments
accountant (Abadi et al. 2016, as a closed form), "Three Variants of Differential Privacy" (Asoodeh et al.
2021), the exact account of Poisson batches, and the exact account of random allocation. Gradients are clipped
and noise is added by Opacus (`GradSampleModule`, `DPOptimizer`); batches come from `PoissonBatches` and
`AllocatedBatches`. The first two formulas rest on a curve that was proved for small rates only, up to a term
that is left out: they are no guarantee here. The learning rate was not searched for. Test images are looked
at once, at the end of each run.
"""

import argparse
import gzip
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch
from opacus import GradSampleModule
from opacus.optimizers import DPOptimizer

from indistinct import AllocatedBatches, Budget, Gaussian, PoissonBatches, calibrate
from indistinct.guarantees.published import (
    asoodeh_gaussian_epsilon,
    moments_accountant_epsilon,
    noisy_sgd_rho,
)
from indistinct.noise import NotPrivateSource

RECORDS, BATCH, NOISE, CLIP, RATE_OF_LEARNING, DELTA = 60_000, 512, 1.5, 1.0, 0.5, 1e-5
EPOCH = RECORDS // BATCH


def read(folder: Path, part: str, device: str) -> tuple[torch.Tensor, torch.Tensor]:
    """Images and labels of idx files."""
    with gzip.open(folder / f"{part}-images-idx3-ubyte.gz") as file:
        images = np.frombuffer(file.read(), np.uint8, offset=16).reshape(-1, 1, 28, 28) / np.float32(255)
    with gzip.open(folder / f"{part}-labels-idx1-ubyte.gz") as file:
        labels = np.frombuffer(file.read(), np.uint8, offset=8).astype(np.int64)
    return torch.from_numpy((images - 0.1307) / 0.3081).to(device), torch.from_numpy(labels).to(device)


def network() -> torch.nn.Module:
    """Two convolutions and two layers, 26,010 numbers (Papernot et al. 2020)."""
    layers = torch.nn
    return layers.Sequential(
        layers.Conv2d(1, 16, 8, 2, padding=2), layers.Tanh(), layers.MaxPool2d(2, 1),
        layers.Conv2d(16, 32, 4, 2), layers.Tanh(), layers.MaxPool2d(2, 1),
        layers.Flatten(), layers.Linear(32 * 4 * 4, 32), layers.Tanh(), layers.Linear(32, 10),
    )  # fmt: skip


def accuracy(batches, train, test, seed: int) -> float:
    """Of one run. Seeded, so that it can be repeated: what it gives is not private."""
    torch.manual_seed(seed)
    model = GradSampleModule(network().to(train[0].device))
    plain = torch.optim.SGD(model.parameters(), lr=RATE_OF_LEARNING, momentum=0.5)
    draw = torch.Generator(train[0].device).manual_seed(seed)
    optimizer = DPOptimizer(
        plain, noise_multiplier=NOISE, max_grad_norm=CLIP, expected_batch_size=BATCH, generator=draw
    )
    for batch in batches:
        chosen = torch.as_tensor(np.asarray(batch), device=train[0].device)
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(model(train[0][chosen]), train[1][chosen]).backward()
        optimizer.step()
    with torch.no_grad():
        return float((model(test[0]).argmax(1) == test[1]).float().mean())


def most_steps(epsilon: Callable[[int], float], most: float) -> int:
    """The largest number of steps whose epsilon is at most `most`."""
    low, high = 0, 1
    while epsilon(high) <= most:
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if epsilon(middle) <= most else (low, middle)
    return low


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("mnist", type=Path)
    options.add_argument("--repeats", type=int, default=3)
    options.add_argument("--epsilon", type=float, default=1.0)
    given = options.parse_args()
    device = "cuda" if torch.cuda.is_available() else "cpu"
    train, test = (read(given.mnist, part, device) for part in ("train", "t10k"))
    slope, once = noisy_sgd_rho(BATCH / RECORDS, NOISE), Gaussian(scale=NOISE)
    budget = Budget(epsilon=given.epsilon, delta=DELTA)
    steps = {
        "moments accountant": most_steps(
            lambda n: moments_accountant_epsilon(slope, n, DELTA), given.epsilon
        ),
        "Three Variants": most_steps(lambda n: asoodeh_gaussian_epsilon(slope, n, DELTA), given.epsilon),
        "exactly": int(calibrate(once.subsample(BATCH / RECORDS), budget).parameter),
    }
    epochs = int(calibrate(once.allocate(EPOCH), budget).parameter)
    loaders = {
        name: lambda source, n=n: PoissonBatches(RECORDS, BATCH, n, source) for name, n in steps.items()
    } | {"random allocation, exactly": lambda source: AllocatedBatches(RECORDS, EPOCH, epochs, source)}
    told = f"epsilon {given.epsilon:g} at delta {DELTA:g}, noise {NOISE:g}, batches of {BATCH}"
    print(f"{told}, on {device}")
    print(f"{'counted by':<28}{'steps':>7}{'accuracy':>10}{'+-':>7}{'seconds':>9}")
    for name, loader in loaders.items():
        began = time.perf_counter()
        reached = [
            100 * accuracy(loader(NotPrivateSource(seed)), train, test, seed) for seed in range(given.repeats)
        ]
        count = steps.get(name, epochs * EPOCH)
        spread = np.std(reached, ddof=1) / np.sqrt(len(reached)) if len(reached) > 1 else float("nan")
        took = (time.perf_counter() - began) / given.repeats
        print(f"{name:<28}{count:>7}{np.mean(reached):>10.2f}{spread:>7.2f}{took:>9.1f}", flush=True)


if __name__ == "__main__":
    main()
