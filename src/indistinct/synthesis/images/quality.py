"""How good synthetic images are, against real ones that the generator was not fitted to.

Nothing here is private: it looks at real records and its numbers are about them. Give it records that were
set aside for that, and choose nothing by it.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from indistinct.errors import ArgumentError
from indistinct.numerics.arrays import Array
from indistinct.synthesis.images.views import Wavelets

Images = npt.NDArray[np.floating[Any]]
Features = Callable[[Images], Array]
_COMPARED = 2000


@dataclass(frozen=True)
class ImageNearness:
    """How near synthetic images come to the records that were used, and to others that were not. A generator
    that remembers is nearer to the first; one that does not treats both alike (give as many of both)."""

    to_used: float
    """The mean Euclidean distance of a synthetic image to the nearest record."""
    to_others: float
    copies_of_used: float
    """The share of synthetic images within a tenth of the usual distance between records of the two sets."""
    copies_of_others: float


def wavelet_features(images: Images) -> Array:
    """Moduli of oriented wavelets, averaged over small squares: a fixed space, computed without a network."""
    import torch

    view = Wavelets(1.4, 1.2, pool=2, stride=2).on("cpu")
    with torch.no_grad():
        parts = torch.as_tensor(np.asarray(images), dtype=torch.float32).split(1000)
        return np.concatenate([view(part).numpy() for part in parts]).astype(np.float64)


def inception_features(weights: str | Path) -> Features:
    """The features behind the Fréchet *Inception* distance, for those who have the network: a TorchScript
    file that maps images [n, 3, 299, 299], from 0 to 1, to vectors. Only then is the result an FID."""
    import torch

    try:
        network = torch.jit.load(str(weights), map_location="cpu").eval()
    except (RuntimeError, ValueError):
        raise ArgumentError("weights", str(weights), "a TorchScript file") from None

    def features(images: Images) -> Array:
        rows = []
        with torch.no_grad():
            for part in torch.as_tensor(np.asarray(images), dtype=torch.float32).split(100):
                wide = part.expand(-1, 3, -1, -1) if part.shape[1] == 1 else part
                sized = torch.nn.functional.interpolate(wide, size=(299, 299), mode="bilinear")
                rows.append(network(sized).flatten(1).double().numpy())
        return np.concatenate(rows)

    return features


def frechet_distance(synthetic: Images, real: Images, features: Features = wavelet_features) -> float:
    """|m - m'|² + tr(C + C' - 2 (C C')^½) of the features' means and covariances (Dowson and Landau 1982). In
    wavelet features unless told otherwise: it is not an FID, and is compared only with itself."""
    (mean, spread), (its_mean, its_spread) = (_moments(features(some)) for some in (synthetic, real))
    root = _root(spread)
    middle = np.linalg.eigvalsh(root @ its_spread @ root)
    overlap = float(np.sqrt(np.maximum(middle, 0.0)).sum())
    gap = float(((mean - its_mean) ** 2).sum())
    return max(gap + float(np.trace(spread) + np.trace(its_spread)) - 2 * overlap, 0.0)


def nearness(synthetic: Images, used: Images, others: Images) -> ImageNearness:
    """Compares synthetic images with the records that were used and with others; see `ImageNearness`."""
    rows = _flat(synthetic)[:_COMPARED]
    distances = [_nearest(rows, _flat(records)) for records in (used, others)]
    usual = float(_nearest(_flat(others)[:_COMPARED], _flat(used)).mean())
    copies = [float((near < 0.1 * usual).mean()) for near in distances]
    return ImageNearness(float(distances[0].mean()), float(distances[1].mean()), copies[0], copies[1])


def grid(images: Images, labels: Any, path: str | Path, *, each: int = 10) -> None:
    """A PNG with a row of images for each label."""
    try:
        from matplotlib.image import imsave
    except ImportError:
        raise ImportError('a picture needs matplotlib: pip install "indistinct[plot]"') from None

    array, names = np.asarray(images), np.asarray(labels)
    if array.ndim != 4 or array.shape[1] not in (1, 3):
        raise ArgumentError("images", array.shape, "[n, 1 or 3 channels, height, width]")
    _, channels, height, width = array.shape
    kinds = np.unique(names)
    sheet = np.ones((len(kinds) * (height + 2), each * (width + 2), channels))
    for row, name in enumerate(kinds):
        for column, image in enumerate(array[names == name][:each]):
            top, left = row * (height + 2), column * (width + 2)
            sheet[top : top + height, left : left + width] = np.moveaxis(image, 0, -1)
    large = np.kron(np.clip(sheet, 0, 1), np.ones((max(1, math.ceil(56 / height)),) * 2 + (1,)))
    imsave(path, large[..., 0] if channels == 1 else large, cmap="gray" if channels == 1 else None)


def _moments(features: Array) -> tuple[Array, Array]:
    return features.mean(axis=0), np.cov(features, rowvar=False)


def _root(matrix: Array) -> Array:
    values, vectors = np.linalg.eigh(matrix)
    root: Array = (vectors * np.sqrt(np.maximum(values, 0.0))) @ vectors.T
    return root


def _flat(images: Images) -> Array:
    return np.asarray(images, dtype=np.float64).reshape(len(images), -1)


def _nearest(rows: Array, records: Array) -> Array:
    """The distance of each row to the nearest record."""
    squares = (records**2).sum(axis=1)
    found = []
    for start in range(0, len(rows), 500):
        some = rows[start : start + 500]
        nearest = (squares - 2 * some @ records.T).argmin(axis=1)  # |record - row|², but for |row|²
        found.append(np.linalg.norm(some - records[nearest], axis=1))
    return np.concatenate(found)
