"""Array types and constants shared by the numerical code."""

from typing import Any, Final

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]
ComplexArray = npt.NDArray[np.complex128]

EPS: Final = float(np.finfo(np.float64).eps)
TINY: Final = float(np.finfo(np.float64).tiny)
ALONE: Final = 1 << 15
"""A product of matrices with so many multiplications is left to one thread (see `summed`)."""


def vertical_line(c: float, step: float, count: int) -> ComplexArray:
    """c + i step k for 0 <= k < count."""
    line: ComplexArray = np.empty(count, dtype=np.complex128)
    line.real = c
    line.imag = step * np.arange(count)
    return line


def summed(terms: Any, weights: Any) -> Any:
    """The sum of terms times weights over the last axis, in every row. By one thread: those of BLAS, on a
    machine that has other work, wait for each other for a hundred times as long as the sum takes."""
    return np.einsum("...kx,...x->...k", terms, weights)


def product(rows: Any, columns: Any) -> Any:
    """The product of two matrices, in parts that BLAS leaves to one thread."""
    (height, length), width = rows.shape, columns.shape[1]
    if width == 1:
        return summed(rows, columns[:, 0])[:, None]
    part = max(ALONE // (8 * width), 1)
    each = max(ALONE // (min(part, max(length, 1)) * width), 1)
    total = np.zeros((height, width))
    for j in range(0, length, part):
        for k in range(0, height, each):
            total[k : k + each] += rows[k : k + each, j : j + part] @ columns[j : j + part]
    return total


def shaped(flat: Array, like: Array) -> Any:
    """A float for a scalar argument, else an array of its shape. NaN never leaves."""
    if np.isnan(flat).any():
        raise ArithmeticError("a reading could not be computed; please report this as a bug")
    return float(flat[0]) if like.ndim == 0 else flat.reshape(like.shape)
