"""A convolutional generator of images of a given class. It never sees a record."""

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, final

from indistinct.errors import ArgumentError, check_count
from indistinct.synthesis.images.feature_maps import Shape

Weights = dict[str, Any]
"""What is trained, by name; names that start with `seen` hold statistics of what was generated."""

# Interpolation to twice the size puts 3/4 of the nearer and 1/4 of the further row on each fine row.
# By phase, tap on the fine rows and tap on the coarse rows: where a filter of three taps falls.
_SPREAD = (
    ((0.75, 0.25, 0.0), (0.25, 0.75, 0.0), (0.0, 0.75, 0.25)),
    ((0.25, 0.75, 0.0), (0.0, 0.75, 0.25), (0.0, 0.25, 0.75)),
)


@final
@dataclass(frozen=True)
class Generator:
    """From `latent` normal numbers and a class to an image: a quarter of the size, half of it, all of it.

    Bilinear interpolation followed by a filter is one filter on the smaller image, which is how it is
    computed: faster, and the same every time, which interpolation on a GPU is not.
    """

    shape: Shape
    classes: int
    channels: int = 128
    latent: int = 64

    def __post_init__(self) -> None:
        for name in ("classes", "latent"):
            check_count(name, getattr(self, name), least=1)
        if check_count("channels", self.channels, least=2) % 2:
            raise ArgumentError("channels", self.channels, "an even number")

    @property
    def _base(self) -> tuple[int, int]:
        return -(-self.shape[1] // 4), -(-self.shape[2] // 4)

    def shapes(self) -> dict[str, tuple[int, ...]]:
        """Of the weights."""
        wide, narrow = self.channels, self.channels // 2
        cells = wide * self._base[0] * self._base[1]
        shapes: dict[str, tuple[int, ...]] = {
            "first": (cells, self.latent),
            "entry": (self.classes, cells),
            "same": (wide, wide, 3, 3),
            "double": (wide, wide, 3, 3),
            "again": (narrow, wide, 3, 3),
            "last": (self.shape[0], narrow, 5, 5),
            "level": (self.shape[0],),
        }
        for layer, width in enumerate((wide, wide, wide, narrow)):
            shapes |= {f"{name}{layer}": (self.classes, width) for name in ("gain", "shift")}
            shapes |= {f"seen_{name}{layer}": (width,) for name in ("mean", "spread")}
        return shapes

    def start(self, device: str, seed: int) -> Weights:
        """Weights before training."""
        import torch

        draw, weights = torch.Generator().manual_seed(seed), {}
        for name, shape in self.shapes().items():
            if name == "entry":
                weights[name] = 0.1 * torch.randn(*shape, generator=draw)
            elif len(shape) in (2, 4) and name[-1] not in "0123":  # of linear layers and of filters
                uniform = 2 * torch.rand(*shape, generator=draw) - 1
                weights[name] = uniform / math.prod(shape[1:]) ** 0.5
            else:
                weights[name] = torch.full(shape, 1.0 if name.startswith(("gain", "seen_spread")) else 0.0)
        return {
            name: value.to(device, memory_format=torch.channels_last) if value.ndim == 4 else value.to(device)
            for name, value in weights.items()
        }

    def __call__(self, weights: Weights, latents: Any, labels: Any, *, momentum: float | None = None) -> Any:
        """Images [n, channels, height, width]. With a momentum, layers are normalised by this batch and its
        statistics are noted; without, by the statistics noted before."""
        import torch
        from torch.nn import functional

        def normalised(x: Any, layer: int) -> Any:
            seen = weights[f"seen_mean{layer}"], weights[f"seen_spread{layer}"]
            x = functional.batch_norm(x, *seen, training=momentum is not None, momentum=momentum or 0.0)
            gain, shift = (of_class(f"{name}{layer}", x)[:, :, None, None] for name in ("gain", "shift"))
            return torch.addcmul(shift, x, gain).relu()

        def of_class(name: str, like: Any) -> Any:
            return functional.embedding(labels, weights[name]).to(like.dtype)

        x = functional.linear(latents, weights["first"])
        x = (x + of_class("entry", x)).view(-1, self.channels, *self._base)
        x = normalised(x.contiguous(memory_format=torch.channels_last), 0)
        x = normalised(functional.conv2d(x, weights["same"], padding=1), 1)
        x = normalised(_enlarged(x, weights["double"]), 2)
        x = normalised(_enlarged(x, weights["again"]), 3)
        x = functional.conv2d(x, weights["last"], weights["level"], padding=2).float().sigmoid()
        return x[:, :, : self.shape[1], : self.shape[2]]


def _enlarged(x: Any, weights: Any) -> Any:
    """Bilinear interpolation to twice the size, then a filter of 3 x 3, with zeros beyond the border."""
    import torch
    from torch.nn import functional

    count, _, height, width = x.shape
    outputs, inputs = weights.shape[:2]
    spread = _spread(weights.device)
    folded = torch.einsum("oiab,pac,qbd->pqoicd", weights, spread, spread).reshape(4 * outputs, inputs, 3, 3)
    folded = folded.contiguous(memory_format=torch.channels_last)
    fine = functional.conv2d(x, folded, padding=1).permute(0, 2, 3, 1)
    fine = fine.reshape(count, height, width, 2, 2, outputs).transpose(2, 3)
    return fine.reshape(count, 2 * height, 2 * width, outputs).permute(0, 3, 1, 2)


@lru_cache(maxsize=8)
def _spread(device: Any) -> Any:
    # Kept, because a recorded step cannot copy it from the host.
    import torch

    return torch.tensor(_SPREAD, device=device)
