"""What a kernel looks at: the pixels of an image, blurred, or the moduli of its wavelets.

A view is fixed beforehand and knows no record. It is computed by PyTorch, in single precision while a
generator is trained and in double precision, by plain matrix products, when records are added up.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, final

import numpy as np

from indistinct.description import Described, Positive, PositiveCount, describable
from indistinct.errors import ArgumentError
from indistinct.numerics.arrays import EPS, Array

FLOOR = 1e-6
"""Under the root of a modulus, so that it is smooth where a wavelet sees nothing."""

NARROWEST, WIDEST = 0.1, 64.0
"""Pixels. A filter that is narrower comes to nothing between one pixel and the next."""
_MOST_DIRECTIONS = 64


class View(Described, ABC):
    """From images [n, channels, height, width] to vectors, one row each."""

    @abstractmethod
    def on(self, device: str, *, exact: bool = False) -> Callable[[Any], Any]:
        """The view as a function of PyTorch tensors; `exact`: in double precision, with errors that `error`
        bounds."""

    @abstractmethod
    def length(self, radius: float, pixels: int) -> float:
        """No view of an image of at most this Euclidean length is longer."""

    @abstractmethod
    def error(self, radius: float, pixels: int) -> float:
        """How far a view that is computed in double precision may be from the true one."""


@final
@describable()
class Pixels(View):
    """The image, blurred by a Gaussian whose deviation is `blur` pixels."""

    blur: float = 0.0

    def __post_init__(self) -> None:
        if not (self.blur == 0 or NARROWEST <= self.blur <= WIDEST):
            raise ArgumentError("blur", self.blur, f"a number of pixels: 0, or from {NARROWEST} to {WIDEST}")

    def on(self, device: str, *, exact: bool = False) -> Callable[[Any], Any]:
        if self.blur == 0:
            return lambda images: images.flatten(1)
        blurred = _filters(_bell(self.blur)[None], 1, device, exact)
        return lambda images: blurred(images).flatten(1)

    def length(self, radius: float, pixels: int) -> float:
        return radius  # Young's inequality, with weights that sum to less than 1

    def error(self, radius: float, pixels: int) -> float:
        # A sum of n products, in whatever order, is wrong by n u at most times the sum of their sizes, u half
        # of EPS; here that sum is a blurred image of sizes, no longer than the image.
        taps = _bell(self.blur).size if self.blur > 0 else 0
        return (taps + 2) * EPS * radius


@final
@describable()
class Wavelets(View):
    """The moduli of Gabor wavelets in several directions, averaged over squares of `pool` pixels: where there
    are edges, and which way they run (the first layer of a scattering transform, Bruna and Mallat 2013)."""

    deviation: Positive
    frequency: Positive
    pool: PositiveCount
    stride: PositiveCount = 1
    directions: PositiveCount = 8
    gain: Positive = 4.0

    def __post_init__(self) -> None:
        # A narrower envelope sees one pixel, and a wave of mean 0 there is no wave.
        if not NARROWEST <= self.deviation <= WIDEST:
            raise ArgumentError("deviation", self.deviation, f"from {NARROWEST} to {WIDEST} pixels")
        if self.directions > _MOST_DIRECTIONS:
            raise ArgumentError("directions", self.directions, f"at most {_MOST_DIRECTIONS}")

    def on(self, device: str, *, exact: bool = False) -> Callable[[Any], Any]:
        from torch.nn import functional

        waves = _waves(self.deviation, self.frequency, self.directions)
        filtered = _filters(np.concatenate([waves.real, waves.imag]), self.stride, device, exact)

        def moduli(images: Any) -> Any:
            real, imaginary = filtered(images).split(self.directions, dim=2)
            heights = (real**2 + imaginary**2 + FLOOR).sqrt().flatten(1, 2)
            return functional.avg_pool2d(heights, self.pool, ceil_mode=True).flatten(1) * (
                self.gain * self.pool
            )

        return moduli

    def length(self, radius: float, pixels: int) -> float:
        # A wavelet's weights sum to at most 1 in absolute value. Averages over the cut squares of a border
        # are of at least one number each, times pool.
        seen = radius + math.sqrt(FLOOR * pixels)
        return self.gain * self.pool * math.sqrt(self.directions) * seen

    def error(self, radius: float, pixels: int) -> float:
        # Of the filters as for pixels, both parts together by Minkowski's inequality, and the modulus passes
        # errors on at most as they are; then roots and means of numbers that are together no longer than
        # `length`, each with a relative error of pool² + 8 roundings at most.
        taps = int(_waves(self.deviation, self.frequency, 1)[0].size)
        return (taps + self.pool**2 + 16) * EPS * self.length(radius, pixels)


def _filters(filters: Array, stride: int, device: str, exact: bool) -> Callable[[Any], Any]:
    """Each channel through each filter, zeros around it: [n, channels, filters, height, width]."""
    import torch
    from torch.nn import functional

    size = filters.shape[-1]
    weights = torch.as_tensor(filters, dtype=torch.float64 if exact else torch.float32, device=device)[
        :, None
    ]

    def filtered(images: Any) -> Any:
        count, channels, height, width = images.shape
        flat = images.reshape(count * channels, 1, height, width)
        if exact:  # a convolution may choose fast algorithms, whose error no one has bounded
            patches = functional.unfold(flat, size, padding=size // 2, stride=stride)
            out = weights.flatten(1) @ patches
        else:
            out = functional.conv2d(flat, weights, padding=size // 2, stride=stride)
        return out.reshape(count, channels, len(filters), -(-height // stride), -(-width // stride))

    return filtered


def _bell(deviation: float) -> Array:
    reach = max(1, math.ceil(2.5 * deviation))
    line = np.exp(-(np.arange(-reach, reach + 1) ** 2) / (2 * deviation**2))
    square: Array = np.outer(line, line)
    square /= square.sum() * (1 + 1e-12)
    return square


def _waves(deviation: float, frequency: float, directions: int) -> Any:
    """Waves under an envelope longer than wide, with mean 0 and weights that sum to 1 in absolute value."""
    reach = math.ceil(2.5 * deviation)
    down, right = np.mgrid[-reach : reach + 1, -reach : reach + 1].astype(np.float64)
    out = []
    for angle in math.pi * np.arange(directions) / directions:
        across = right * math.cos(angle) + down * math.sin(angle)
        along = down * math.cos(angle) - right * math.sin(angle)
        envelope = np.exp(-(across**2 + (0.6 * along) ** 2) / (2 * deviation**2))
        wave = np.exp(1j * frequency * across)
        wavelet = envelope * (wave - (envelope * wave).sum() / envelope.sum())
        out.append(wavelet / (np.abs(wavelet).sum() * (1 + 1e-12)))
    return np.stack(out)
