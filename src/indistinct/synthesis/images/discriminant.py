"""Which class a generated image looks like, by what was released: labels that fit the images.

A generator that is told a class gets its mean features right, and leaves marks of its own that a network then
learns instead of the class. The linear discriminant of the released class means, in the covariance of what is
generated, knows nothing of those marks; images that carry its labels teach a network what was released.
It reads the release and generated images only, so it costs no privacy.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from indistinct.numerics.arrays import Array
from indistinct.synthesis.images.feature_maps import ImageMap
from indistinct.synthesis.images.training import ImageTraining

_AT_ONCE = 1000
_FEWEST, _MOST = 1000, 10_000
"""Images whose covariance is taken: between these, as many as there are features."""
_ROUNDS = 10
Draw = Callable[[npt.NDArray[np.int64], int], npt.NDArray[np.float32]]
"""Images of the classes at these places; the number makes them new ones."""
Find = Callable[[npt.NDArray[np.float32]], npt.NDArray[np.int64]]


def discriminant(
    map: ImageMap, means: Array, scale: float, counts: Array, draw: Draw, device: str | None
) -> Find:
    """From images to the place of the class that is the likeliest where the features of each class are normal
    with its released mean and the covariance C of generated ones about their own. With P their centred
    features, S of them, C + r has the inverse (1 - Pᵀ(PPᵀ + rS)⁻¹P) / r; r is that of training."""
    import torch

    device = device or ("cuda" if torch.cuda.is_available() else "cpu")
    features = map.on(device)

    def seen(images: npt.NDArray[np.float32]) -> Any:
        with torch.no_grad():
            few = torch.as_tensor(images).split(_AT_ONCE)
            return torch.cat([features(some.to(device)) for some in few])

    classes = len(means)
    each = -(-min(_MOST, max(_FEWEST, map.size)) // classes)
    rows = seen(draw(np.tile(np.arange(classes), each), _ROUNDS)).view(each, classes, -1)
    rows = (rows - rows.mean(0)).flatten(0, 1).double()
    released = torch.as_tensor(means, dtype=torch.float64, device=device)
    middle = released.mean(0)
    apart = (released - middle).T
    ridge = ImageTraining.ridge((scale / map.bound) ** 2 / float(counts.mean()))
    inner = rows @ rows.T
    inner.diagonal().add_(ridge * len(rows))
    known = torch.cholesky_solve(rows @ apart, torch.linalg.cholesky(inner))
    weights = (apart - rows.T @ known) / ridge
    offsets = ((middle[:, None] + apart / 2) * weights).sum(0)

    def find(images: npt.NDArray[np.float32]) -> npt.NDArray[np.int64]:
        found: npt.NDArray[np.int64] = (seen(images).double() @ weights - offsets).argmax(1).cpu().numpy()
        return found

    return find


def filled(places: npt.NDArray[np.int64], draw: Draw, find: Find) -> npt.NDArray[np.float32]:
    """For each place an image that looks like its class, whatever class it was made as. Where ten times as
    many images hold too few of a class, the rest are other images that were made as it."""
    images = draw(places, 0)
    lacking = np.ones(len(places), dtype=bool)
    for turn in range(_ROUNDS):
        new = images.copy() if turn == 0 else draw(places, turn)
        found = find(new)
        for place in np.unique(places[lacking]):
            wanted, offered = np.flatnonzero(lacking & (places == place)), np.flatnonzero(found == place)
            many = min(len(wanted), len(offered))
            images[wanted[:many]] = new[offered[:many]]
            lacking[wanted[:many]] = False
        if not lacking.any():
            return images
    images[lacking] = draw(places, _ROUNDS + 1)[lacking]
    return images
