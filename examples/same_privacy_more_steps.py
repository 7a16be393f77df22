"""How far does the same (epsilon, delta) carry a training run, depending on who counts?

Noise and batches are fixed; what differs is how many steps an account allows: the moments accountant (Abadi
et al. 2016, as a closed form), "Three Variants of Differential Privacy" (Asoodeh et al. 2021), the exact
account of Poisson batches, and the exact account of random allocation, where each record joins one batch of
every epoch. I train a softmax regression on scikit-learn's digits for each and draw out/more_steps.png. An
argument says how often (5).

The first two use a curve that Abadi et al. prove for small rates only, up to a term that is left out: they
are no guarantee here, and are shown because they are the formulas people compare with.
"""

import sys
from collections.abc import Callable, Iterable
from pathlib import Path

import numpy as np
from sklearn.datasets import load_digits

from indistinct import AllocatedBatches, Budget, Gaussian, PoissonBatches, calibrate
from indistinct.guarantees.published import (
    asoodeh_gaussian_epsilon,
    moments_accountant_epsilon,
    noisy_sgd_rho,
)
from indistinct.noise import NotPrivateSource

BATCH, NOISE, EPSILON, DELTA, RATE_OF_LEARNING = 32, 2.0, 1.0, 1e-4, 0.5
REPEATS = int(sys.argv[1]) if len(sys.argv) > 1 else 5

digits = load_digits()
images, labels = digits.data / 16.0, digits.target
images = np.hstack((images, np.ones((len(images), 1))))
images /= np.linalg.norm(images, axis=1, keepdims=True)
held_out = np.arange(len(images)) % 5 == 0
train, test = (images[~held_out], labels[~held_out]), (images[held_out], labels[held_out])
RECORDS = len(train[0])
EPOCH = RECORDS // BATCH


def most_steps(epsilon: Callable[[int], float]) -> int:
    """The largest number of steps whose epsilon is at most `EPSILON`."""
    low, high = 0, 1
    while epsilon(high) <= EPSILON:
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if epsilon(middle) <= EPSILON else (low, middle)
    return low


def accuracy(batches: Iterable[list[int]], seed: int) -> float:
    """Of a softmax regression trained with clipped gradients and noise; seeded, so that it can be
    repeated."""
    x, y = train
    noise, weights = np.random.default_rng(seed), np.zeros((x.shape[1], 10))
    average = np.zeros_like(weights)
    for step, batch in enumerate(batches, start=1):
        inputs = x[batch]
        scores = np.exp(inputs @ weights)
        off = scores / scores.sum(axis=1, keepdims=True) - np.eye(10)[y[batch]]
        length = np.linalg.norm(off, axis=1, keepdims=True)  # of the gradient: inputs have length 1
        total = inputs.T @ (off / np.maximum(length, 1.0)) + NOISE * noise.normal(size=weights.shape)
        weights -= RATE_OF_LEARNING * total / BATCH
        average += (weights - average) / step  # what is said to be released is every step, so this is free
    return float((np.argmax(test[0] @ average, axis=1) == test[1]).mean())


slope = noisy_sgd_rho(BATCH / RECORDS, NOISE)
once = Gaussian(scale=NOISE)
budget = Budget(epsilon=EPSILON, delta=DELTA)
poisson = {
    "moments accountant": most_steps(lambda steps: moments_accountant_epsilon(slope, steps, DELTA)),
    "Three Variants": most_steps(lambda steps: asoodeh_gaussian_epsilon(slope, steps, DELTA)),
    "exactly": int(calibrate(once.subsample(BATCH / RECORDS), budget).parameter),
}
epochs = int(calibrate(once.allocate(EPOCH), budget).parameter)

rows: list[tuple[str, int, list[float]]] = []
for name, steps in poisson.items():
    drawn = [PoissonBatches(RECORDS, BATCH, steps, NotPrivateSource(seed)) for seed in range(REPEATS)]
    rows.append((name, steps, [accuracy(batches, seed) for seed, batches in enumerate(drawn)]))
allocated = [AllocatedBatches(RECORDS, EPOCH, epochs, NotPrivateSource(seed)) for seed in range(REPEATS)]
reached = [accuracy(batches, seed) for seed, batches in enumerate(allocated)]
rows.append(("random allocation, exactly", epochs * EPOCH, reached))

print(f"epsilon {EPSILON:g} at delta {DELTA:g}, noise {NOISE:g}, batches of {BATCH} of {RECORDS} records\n")
print(f"{'counted by':<28}{'steps':>8}{'epochs':>8}{'test accuracy':>16}{'+-':>8}")
for name, steps, shares in rows:
    spread = np.std(shares) / np.sqrt(len(shares))
    print(f"{name:<28}{steps:>8}{steps / EPOCH:>8.1f}{np.mean(shares):>16.4f}{spread:>8.4f}")

from matplotlib.figure import Figure  # noqa: E402

figure = Figure(figsize=(6.4, 3.6), layout="constrained")
axes = figure.subplots()
for name, steps, shares in rows:
    axes.errorbar([steps], [np.mean(shares)], [np.std(shares)], fmt="o", capsize=3, label=name)
axes.set(xlabel="steps allowed", ylabel="test accuracy", title=f"digits, (ε, δ) = ({EPSILON:g}, {DELTA:g})")
axes.legend(frameon=False, fontsize=8, loc="lower right")
picture = Path("out") / "more_steps.png"
picture.parent.mkdir(exist_ok=True)
figure.savefig(picture)
print(f"\nThe picture is in {picture.resolve()}")
