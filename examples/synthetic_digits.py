"""Synthetic handwritten digits with a guarantee: one noisy release, then a generator, on one CPU core.

`python synthetic_digits.py 100` takes 100 steps of training instead of 600: sooner done, and not as good.
"""

import sys
import time
from pathlib import Path

import numpy as np
import torch
from sklearn.datasets import load_digits

from indistinct import Budget
from indistinct.synthesis.images import ImageSynthesizer, ImageTraining, accuracy, grid

EPSILON, DELTA = 4.0, 1e-4  # 1,437 records are few: a smaller ε leaves little to learn
STEPS = int(sys.argv[1]) if len(sys.argv) > 1 else 600
torch.set_num_threads(1)  # images are small: more threads wait for each other

digits = load_digits()
images, labels = digits.images[:, None] / 16, digits.target
order = np.random.default_rng(0).permutation(len(images))
train, test = order[360:], order[:360]

design = ImageSynthesizer((1, 8, 8), classes=range(10), pairs=1000, records=5000)
training = ImageTraining(
    steps=STEPS,
    plain_steps=STEPS // 6,
    steps_per_metric=50,
    images_per_class=20,
    images_in_metric=300,
    rate=4e-3,
    channels=32,
    latent=16,
)

started = time.perf_counter()
result = design.fit(
    images[train], labels[train], Budget(epsilon=EPSILON, delta=DELTA), training=training, device="cpu"
)
print(f"fitted in {time.perf_counter() - started:.0f} s")
print(f"({result.guarantee().epsilon(DELTA):.3f}, {DELTA})-DP, whatever is done with the generator")

made, kinds = result.sample(5000)
known = torch.as_tensor(images[test], dtype=torch.float32), torch.as_tensor(labels[test])
share = accuracy(torch.as_tensor(made), torch.as_tensor(kinds), *known, epochs=10)
print(f"a small network that saw synthetic digits only reads {share:.0%} of {len(test)} real ones")

path = Path("out") / "synthetic_digits.png"
path.parent.mkdir(exist_ok=True)
grid(made, kinds, path)
print(f"ten of each: {path}")
