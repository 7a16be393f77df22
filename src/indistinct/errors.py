"""Errors a caller can act on.

```
ValueError
├── ArgumentError        an argument is outside what is allowed; names it, its value, what is allowed
│   ├── ExpressionError  a mechanism expression or JSON text that cannot be read
│   ├── FileError        a file that is damaged, too large, or not what it should be; names it and the reason
│   ├── Refused          an account does not allow it; says what is spent, asked and left
│   └── TargetError      no mechanism of the family meets the target
└── DataError            a table is not as it was declared; its message never shows a record's value
    └── SourceChanged    a file changed while it was being read
```
"""

import math
import operator
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import numpy.typing as npt

_MOST = 10**300
"""No count is larger."""


class ArgumentError(ValueError):
    """An argument is outside what is allowed.

    >>> raise ArgumentError("scale", -1.0, "a positive finite number")
    Traceback (most recent call last):
    indistinct.errors.ArgumentError: scale must be a positive finite number, got -1.0
    """

    def __init__(self, argument: str, value: object, allowed: str) -> None:
        super().__init__(f"{argument} must be {allowed}, got {value!r}")
        self.argument = argument
        self.value = value
        self.allowed = allowed


class ExpressionError(ArgumentError):
    """Text that does not describe a mechanism."""


class FileError(ArgumentError):
    """A file cannot be used: it is damaged, too large, or something else than it should be.

    >>> raise FileError("curve.npz", "it ends too early")
    Traceback (most recent call last):
    indistinct.errors.FileError: curve.npz: it ends too early
    """

    def __init__(self, path: object, reason: str) -> None:
        ValueError.__init__(self, f"{path}: {reason}")
        self.argument, self.value, self.allowed = "path", str(path), reason


class Refused(ArgumentError):
    """An account does not allow what was asked; nothing was drawn, and the journal has it.

    >>> raise Refused("census", "it is closed")
    Traceback (most recent call last):
    indistinct.errors.Refused: the account 'census' refuses: it is closed
    """

    def __init__(
        self, account: str, reason: str, *, spent: object = None, asked: object = None, left: object = None
    ) -> None:
        ValueError.__init__(self, f"the account {account!r} refuses: {reason}")
        self.argument, self.value, self.allowed = "account", account, reason
        self.reason, self.spent, self.asked, self.left = reason, spent, asked, left


class TargetError(ArgumentError):
    """No mechanism of the family meets the target."""


class DataError(ValueError):
    """A table is not as it was declared. Messages end in logs, so they name columns and never show the
    value of a record."""


class SourceChanged(DataError):
    """A file changed while it was being read, so that no one data set was seen."""


@contextmanager
def needs(extra: str) -> Iterator[None]:
    """Around the import of an optional package: if it is not there, the error says what to install."""
    try:
        yield
    except ModuleNotFoundError as error:
        package = (error.name or "a package").split(".")[0]
        message = f'{package} is not installed: pip install "indistinct[{extra}]"'
        raise ModuleNotFoundError(message, name=error.name) from None


def check_real(argument: str, value: Any, allowed: str = "a real number") -> float:
    """The value as a float; refuses what is not one number (booleans, text, complex numbers, arrays)."""
    if isinstance(value, bool | np.bool_ | str | bytes | np.complexfloating | np.ndarray):
        raise ArgumentError(argument, value, allowed)
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        raise ArgumentError(argument, value, allowed) from None
    if math.isnan(number):
        raise ArgumentError(argument, value, allowed)
    return number


def check_positive(argument: str, value: Any) -> float:
    """The value as a float, above 0 and finite."""
    allowed = "a positive finite number"
    number = check_real(argument, value, allowed)
    if not 0 < number < math.inf:
        raise ArgumentError(argument, value, allowed)
    return number


def check_nonnegative(argument: str, value: Any, *, finite: bool = True) -> float:
    """The value as a float, 0 or more; infinity only where `finite` is false."""
    allowed = "a non-negative finite number" if finite else "a non-negative number"
    number = check_real(argument, value, allowed)
    if number < 0 or (finite and number == math.inf):
        raise ArgumentError(argument, value, allowed)
    return number + 0.0  # never -0.0


def check_probability(argument: str, value: Any) -> float:
    """The value as a float from 0 to 1."""
    number = check_real(argument, value, "a number in [0, 1]")
    if not 0 <= number <= 1:
        raise ArgumentError(argument, value, "a number in [0, 1]")
    return number + 0.0


def check_flag(argument: str, value: Any) -> bool:
    """The value as True or False; 1 and 0 stand for them."""
    if not isinstance(value, int | np.bool_) or value not in (0, 1):
        raise ArgumentError(argument, value, "True or False")
    return bool(value)


def check_count(argument: str, value: Any, *, least: int = 0, most: int | None = None) -> int:
    """The value as an integer; 3.0 is refused, because a step count is counted, not measured. One that no
    float can hold is refused too."""
    allowed = f"an integer, at least {least}"
    if isinstance(value, bool | np.bool_):
        raise ArgumentError(argument, value, allowed)
    try:
        number = operator.index(value)
    except TypeError:
        raise ArgumentError(argument, value, allowed) from None
    if number < least:
        raise ArgumentError(argument, value, allowed)
    if number > _MOST:
        raise ArgumentError(argument, value, "an integer that a float can hold")
    if most is not None and number > most:
        raise ArgumentError(argument, value, f"at most {most}")
    return number


def check_array(argument: str, value: Any, low: float, high: float, allowed: str) -> npt.NDArray[np.float64]:
    """A float array of any shape whose entries lie in [low, high]; NaN is refused."""
    try:
        array = np.asarray(value)
        if array.dtype.kind not in "iuf" or isinstance(value, np.ma.MaskedArray):
            raise TypeError
        array = array.astype(np.float64)
    except (TypeError, ValueError, OverflowError):
        raise ArgumentError(argument, value, allowed) from None
    inside = (array >= low) & (array <= high)
    if not inside.all():
        raise ArgumentError(argument, float(array[~inside].flat[0]), allowed)
    return array
