"""Pictures that nobody took: dead leaves, patches of colour that fall over each other (Matheron 1968).

Their edges, scales and colours are spread roughly as in photographs (Lee, Mumford and Huang 2001; Baradad et
al. 2021 train networks on them). They are drawn from a public seed and know no record, so what is measured on
them may shape the question that the records are asked.
"""

import math
from typing import Any

from scipy.special import ndtri

from indistinct.functions.public_randomness import PublicUniforms

_LAYERS = 24
_SMALLEST, _LARGEST = 1.5, 0.6
"""The radius of a leaf: at least so many pixels, at most this share of the side."""
_DECAY = 1.2


def leaves(shape: tuple[int, int, int], count: int, seed: int, device: str) -> Any:
    """So many pictures [count, channels, height, width] with values from 0 to 1, in double precision."""
    import torch

    channels, height, width = shape
    drawn = PublicUniforms(seed)

    def uniform(*size: int) -> Any:
        return torch.as_tensor(drawn.draw(count, *size), device=device)

    def normal(*size: int) -> Any:
        return torch.as_tensor(ndtri(drawn.draw(count, *size)), device=device)

    light, contrast, chroma = 0.2 + 0.6 * uniform(1), 0.08 + 0.25 * uniform(1), 0.12 * uniform(1)
    tint = 0.05 * normal(3)

    def colour() -> Any:
        grey, red, green = contrast * normal(1), chroma * normal(1), 0.5 * chroma * normal(1)
        mixed = torch.cat([red + green, -green, 0.3 * green - red], 1) + light + grey + tint
        full = mixed if channels == 3 else mixed.mean(1, keepdim=True).expand(-1, channels)
        return full[:, :, None, None]

    down = torch.arange(height, dtype=torch.float64, device=device)[None, :, None]
    right = torch.arange(width, dtype=torch.float64, device=device)[None, None, :]
    texture = normal(1, height, width)
    pictures = colour().expand(-1, -1, height, width)
    small, large = _SMALLEST**-_DECAY, max(_SMALLEST, _LARGEST * max(height, width)) ** -_DECAY
    for layer in range(_LAYERS):
        one = uniform(6)[:, :, None, None]  # of each leaf: radius, place, angle, form, edge
        radius = (small + one[:, 0] * (large - small)) ** (-1 / _DECAY) * (
            3.0 if 3 * layer <= _LAYERS else 1.0
        )
        y, x = down - height * (1.2 * one[:, 1] - 0.1), right - width * (1.2 * one[:, 2] - 0.1)
        angle, stretch = math.pi * one[:, 3], torch.exp(0.25 * normal(1, 1))
        along = (x * angle.cos() + y * angle.sin()) / stretch
        across = (y * angle.cos() - x * angle.sin()) * stretch
        round_or_square = torch.where(
            one[:, 4] < 0.5, (along**2 + across**2).sqrt(), torch.maximum(along.abs(), across.abs())
        )
        covered = torch.sigmoid((radius - round_or_square) / (0.3 + 0.8 * one[:, 5]))[:, None]
        slopes = normal(2, 1, 1) * 0.15
        shade = (x / width * slopes[:, 0] + y / height * slopes[:, 1])[:, None]
        grain = 0.06 * uniform(1, 1, 1) ** 2 * texture
        pictures = pictures + covered * (colour() + shade + grain - pictures)
    return pictures.clamp(0, 1)
