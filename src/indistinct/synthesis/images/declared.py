"""What is declared of images, and images as rows of numbers."""

import math
from typing import Any

import numpy as np

from indistinct.errors import ArgumentError, check_count
from indistinct.numerics.arrays import Array
from indistinct.synthesis.images.feature_maps import Shape

_MOST_PIXELS = 2**20


def check_shape(shape: Any) -> Shape:
    """The shape of an image, as three positive integers."""
    sides = tuple(shape) if isinstance(shape, tuple | list) else ()
    if len(sides) != 3:
        raise ArgumentError("shape", shape, "(channels, height, width)")
    channels, height, width = (check_count("shape", side, least=1) for side in sides)
    if channels * height * width > _MOST_PIXELS:
        raise ArgumentError("shape", shape, f"of at most {_MOST_PIXELS} numbers")
    return channels, height, width


def as_rows(images: Any, shape: Shape) -> Array:
    """Images, however their axes of length 1 are left out, as rows of numbers from 0 to 1."""
    allowed = f"images of shape {shape}, all of one size, bytes or numbers from 0 to 1"
    try:
        array = np.asarray(images)
    except ValueError:
        raise ArgumentError("images", "images of different sizes", allowed) from None
    size = math.prod(shape)
    if array.dtype.kind not in "uif" or array.ndim < 2 or math.prod(array.shape[1:]) != size:
        raise ArgumentError("images", f"{array.dtype} of shape {array.shape}", allowed)
    trimmed = tuple(side for side in array.shape[1:] if side != 1)
    if array.ndim > 2 and trimmed != tuple(side for side in shape if side != 1):
        raise ArgumentError("images", f"shape {array.shape[1:]}", allowed)
    rows = array.reshape(len(array), size)
    return rows / 255.0 if array.dtype == np.uint8 else rows.astype(np.float64)
