"""Which of several ways of training is better, without asking the records again.

A public random share of the pairs of features is set aside, and generators are fitted to the rest. How far
one is from the released means on the pairs set aside is then an honest score, for three reasons. It reads the
release only, so it costs nothing (post-processing). The noise of a released coordinate is independent of that
of all others, so, given the rest, the noise on the pairs set aside knows nothing of the generator. Hence the
expectation of the squared distance is that to the true sums, divided by the released counts, plus a constant
that is known and the same for all generators; the constant is taken off.

Two caveats. The least of several scores is on average too small, as the least of several noisy numbers is:
what is fair is the comparison. And it is a distance between means of features, not what a classifier that is
trained on the images will achieve.
"""

import math
from typing import Any

import numpy as np

from indistinct.errors import ArgumentError, check_real
from indistinct.functions.public_randomness import PublicUniforms
from indistinct.numerics.arrays import Array
from indistinct.synthesis.images.feature_maps import ImageMap, Pairs
from indistinct.synthesis.images.training import Fitted, sample

_PER_CLASS = 500
"""Images in each of two halves, so that the images' own randomness adds nothing on average."""


def split_pairs(map: ImageMap, share: float, seed: int) -> tuple[Pairs, Pairs]:
    """Of each part the pairs that are kept, and those that are set aside: this share of them, drawn from a
    public seed."""
    if not 0 < check_real("share", share) < 1:
        raise ArgumentError("share", share, "a number between 0 and 1")
    drawn, kept, aside = PublicUniforms(seed), [], []
    for part in map.parts:
        if part.pairs < 2:
            raise ArgumentError("map", f"a part with {part.pairs} pair", "parts of two pairs or more")
        order = np.argsort(drawn.draw(part.pairs))
        count = min(max(round(share * part.pairs), 1), part.pairs - 1)
        aside.append(np.sort(order[:count]))
        kept.append(np.sort(order[count:]))
    return tuple(kept), tuple(aside)


def distance(
    map: ImageMap,
    fitted: Fitted,
    released: Array,
    scale: float,
    pairs: Pairs,
    *,
    seed: int = 0,
    device: str | None = None,
) -> float:
    """The squared distance between what a generator makes and what was released, over all classes, on some
    pairs, less what the noise adds to it. It is below 0 where it is too small to be seen."""
    import torch

    device = device or ("cuda" if torch.cuda.is_available() else "cpu")
    features = map.on(device, pairs=pairs)
    means = released[:, map.places(pairs)] / fitted.counts[:, None]
    total = 0.0
    for label, target in enumerate(means):
        gaps = [_mean(features, fitted, label, 2 * seed + half, device) - target[:-1] for half in (0, 1)]
        noise = len(target[:-1]) * (scale / fitted.counts[label]) ** 2
        total += float(gaps[0] @ gaps[1]) - noise
    if not math.isfinite(total):
        return math.inf  # a generator that has burst is the worst there is
    return total


def _mean(features: Any, fitted: Fitted, label: int, seed: int, device: str) -> Array:
    """Mean features of generated images of one class, but for the constant one."""
    import torch

    with torch.no_grad():
        images = sample(fitted, [label] * _PER_CLASS, seed=seed, device=device)
        found: Array = features(images)[:, :-1].double().mean(0).cpu().numpy()
    return found
