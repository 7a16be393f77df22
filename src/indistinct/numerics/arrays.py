"""Array types and constants shared by the numerical code."""

from typing import Final

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]
ComplexArray = npt.NDArray[np.complex128]

EPS: Final = float(np.finfo(np.float64).eps)
TINY: Final = float(np.finfo(np.float64).tiny)


def vertical_line(c: float, step: float, start: int, stop: int) -> ComplexArray:
    """c + i step k for start <= k < stop."""
    line: ComplexArray = np.empty(stop - start, dtype=np.complex128)
    line.real = c
    line.imag = step * np.arange(start, stop)
    return line
