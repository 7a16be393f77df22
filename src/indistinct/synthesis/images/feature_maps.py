"""Feature maps of images: random Fourier features of a sum of Gaussian kernels, each on a view of its own, or
whitened features of patches.

Whatever the image, |φ(x)|² is at most the sum of the parts' weights: cos² + sin² = 1, and the features of
patches are divided by their length. The same finite map
carries the records, the noise and the generated images; that is what the guarantee needs.
"""

import math
from collections.abc import Callable
from functools import cached_property, lru_cache
from typing import Any, final

import numpy as np
import numpy.typing as npt
from scipy.special import ndtri

from indistinct.data import FeatureMap
from indistinct.description import Described, Positive, PositiveCount, describable
from indistinct.errors import ArgumentError, check_count
from indistinct.functions.public_randomness import PublicUniforms
from indistinct.numerics.arrays import EPS, Array
from indistinct.synthesis.images.patches import PatchPart
from indistinct.synthesis.images.views import NARROWEST, Pixels, View, Wavelets

_AT_ONCE = 1 << 22
Shape = tuple[int, int, int]
_COLOUR_FROM, _COLOUR_PAIRS = 16, 186
"""Pixels, and pairs: ten filters at least."""
Pairs = tuple[npt.NDArray[np.int64], ...]
"""Some pairs of features: of each part, their places in it."""


@final
@describable("ImagePart")
class MapPart(Described):
    """A Gaussian kernel of some length on a view, by `pairs` random frequencies; `weight` is its height."""

    view: View
    length: Positive
    pairs: PositiveCount
    weight: Positive

    def on(
        self, device: str, *, exact: bool, some: npt.NDArray[np.int64], frequencies: Array
    ) -> Callable[[Any], Any]:
        """As a function of PyTorch tensors; only some pairs of features."""
        import torch

        kind = torch.float64 if exact else torch.float32
        fast = torch.as_tensor(frequencies[:, some], dtype=kind, device=device)
        view, height = self.view.on(device, exact=exact), math.sqrt(self.weight / self.pairs)

        def features(images: Any) -> Any:
            phases = view(images) @ fast
            return torch.cat([torch.cos(phases), torch.sin(phases)], dim=1) * height

        return features


@final
@describable("image")
class ImageMap(FeatureMap):
    """The features of images [channels, height, width] with values from 0 to 1; the last one is constant and
    counts records.

    >>> map = standard_map((1, 28, 28), pairs=2000)
    >>> map.size, map.dimension, map.bound
    (4001, 784, 1.0)
    """

    shape: Shape
    parts: tuple[MapPart | PatchPart, ...]
    count_weight: Positive
    seed: int = 0
    nonnegative = False

    def __post_init__(self) -> None:
        if len(self.shape) != 3 or any(side < 1 for side in self.shape):
            raise ArgumentError("shape", self.shape, "(channels, height, width)")
        if not self.parts:
            raise ArgumentError("parts", self.parts, "at least one")
        if any(isinstance(part, PatchPart) and part.shape != self.shape for part in self.parts):
            raise ArgumentError("parts", self.parts, f"for pictures of the same shape, {self.shape}")

    @property
    def dimension(self) -> int:  # type: ignore[override]
        return math.prod(self.shape)

    @property
    def size(self) -> int:  # type: ignore[override]
        return sum(2 * part.pairs for part in self.parts) + 1

    @property
    def bound(self) -> float:  # type: ignore[override]
        squares = math.fsum([self.count_weight, *(part.weight for part in self.parts)])
        return math.sqrt(squares) * (1 + 4 * EPS)

    @property
    def unit(self) -> float:
        """What one record adds to the constant feature."""
        return math.sqrt(self.count_weight)

    @cached_property
    def frequencies(self) -> tuple[Array, ...]:
        """Of each kernel, [numbers in its view, pairs], from the public seed; of patches, none."""
        import torch

        blank = torch.zeros((1, *self.shape), dtype=torch.float64, device="cpu")
        drawn = PublicUniforms(self.seed)
        found = []
        for part in self.parts:
            if isinstance(part, MapPart):
                numbers = part.view.on("cpu", exact=True)(blank).shape[1]
                found.append(ndtri(drawn.draw(numbers, part.pairs)) / part.length)
            else:
                found.append(np.zeros((0, part.pairs)))
        return tuple(found)

    def wobble(self, radius: float) -> float:
        """Twice how far from the true features one computation may be. A chord is no longer than its arc, so
        errors of phases pass to pairs of features at most as they are; a phase is wrong by the error of its
        view and by that of an inner product of n numbers, n u |view| |frequency|."""
        total = 4 * EPS * self.bound  # cosines and sines, to two units in the last place, and their heights
        for part, fast in zip(self.parts, self.frequencies, strict=True):
            if isinstance(part, PatchPart):
                total += part.wobble() / 2
                continue
            view = part.view.error(radius, self.dimension)
            view += len(fast) * EPS * part.view.length(radius, self.dimension)
            total += view * math.sqrt(part.weight / part.pairs) * float(np.linalg.norm(fast))
        return 2 * total

    def __call__(self, points: Array) -> Array:
        """The features of images as rows of numbers, in double precision; on a GPU that has room for them, if
        there is one."""
        import torch

        if torch.cuda.is_available():
            try:
                return self._computed(points, "cuda")
            except torch.cuda.OutOfMemoryError:
                pass  # the processor does it too, more slowly, with errors that `wobble` bounds as well
        return self._computed(points, "cpu")

    def _computed(self, points: Array, device: str) -> Array:
        import torch

        features = _exact(self, device)
        rows = []
        step = max(1, _AT_ONCE // self.size)
        with torch.no_grad():
            for start in range(0, len(points), step):
                images = torch.as_tensor(points[start : start + step], dtype=torch.float64, device=device)
                rows.append(features(images.reshape(-1, *self.shape)).cpu().numpy())
        return np.concatenate(rows) if rows else np.zeros((0, self.size))

    def places(self, pairs: Pairs) -> npt.NDArray[np.int64]:
        """Where the features of some pairs, and the constant one, stand among all features."""
        starts = np.cumsum([0, *(2 * part.pairs for part in self.parts)])
        found = [
            start + np.concatenate([some, some + part.pairs])
            for start, some, part in zip(starts, pairs, self.parts, strict=False)
        ]
        return np.concatenate([*found, [self.size - 1]])

    def on(self, device: str, *, exact: bool = False, pairs: Pairs | None = None) -> Callable[[Any], Any]:
        """The map as a function of PyTorch tensors, to be differentiated; of some pairs, if they are given,
        in the order of `places`."""
        import torch

        chosen = pairs or tuple(np.arange(part.pairs) for part in self.parts)
        parts = []
        for part, some, fast in zip(self.parts, chosen, self.frequencies, strict=True):
            if isinstance(part, MapPart):
                parts.append(part.on(device, exact=exact, some=some, frequencies=fast))
            else:
                parts.append(part.on(device, exact=exact, some=some))

        def features(images: Any) -> Any:
            columns = [part(images) for part in parts]
            return torch.cat([*columns, torch.full_like(columns[0][:, :1], self.unit)], dim=1)

        return features


@lru_cache(maxsize=2)
def _exact(map: ImageMap, device: str) -> Callable[[Any], Any]:
    # Kept from one batch of records to the next: the frequencies are large. Twice, for where a GPU is full.
    return map.on(device, exact=True)


def standard_map(shape: Shape, *, pairs: int = 20_000, seed: int = 0) -> ImageMap:
    """The map for small pictures, by their declared shape. Grey ones: a fifth of the kernel's height on
    blurred pixels, the rest on wavelets of two sizes. Lengths grow with the root of the number of pixels, as
    distances between pictures do. They were chosen on training images of MNIST and Fashion-MNIST, the same
    for both. Colour, from 16 pixels: patches, by as many filters as `pairs` allows, up to 400; what they are
    was chosen on training images of CIFAR-10 that were set aside."""
    check_count("pairs", pairs, least=3)
    count = 0.02
    if shape[0] == 3 and min(shape[1:]) >= _COLOUR_FROM and pairs >= _COLOUR_PAIRS:
        filters = min(400, (pairs - 96) // 9)
        patches = PatchPart(shape, 1 - count, filters=filters, pictures=50 * filters, seed=seed)
        return ImageMap(shape, (patches,), count, seed)
    scale = math.sqrt(math.prod(shape) / 784)
    third = pairs // 3
    parts = (
        MapPart(
            Pixels(blur=min(1.0, scale) if scale >= NARROWEST else 0.0), 3 * scale, third, 0.2 * (1 - count)
        ),
        MapPart(Wavelets(1.4, 1.2, pool=2, stride=2), 4 * scale, third, 0.4 * (1 - count)),
        MapPart(Wavelets(1.0, 1.6, pool=2), 8 * scale, pairs - 2 * third, 0.4 * (1 - count)),
    )
    return ImageMap(shape, parts, count, seed)
