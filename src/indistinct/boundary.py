"""The error boundary: while a library below us has private data in its hands, its words do not come out.

Messages and warnings of DuckDB, Arrow, pandas, Polars, Spark, scikit-learn, NumPy or torch may show a record,
and no list of those that do is ever complete. So none comes out: in its place stands one of the sentences
below; warnings and what is logged are dropped. Our own errors, which show no record, pass.
"""

import errno
import logging
import os
import sys
import threading
import warnings
from collections.abc import Iterable, Iterator
from contextlib import ContextDecorator
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TypeVar, final

import numpy as np

from indistinct.errors import ArgumentError, DataError

SWITCH = "INDISTINCT_SHOW_PRIVATE_ERRORS"
"""The environment variable that, set to 1, shows what libraries say. It may print records."""

_OWN = (ArgumentError, DataError, ModuleNotFoundError)
"""Errors whose words are our own, or cannot be about a record."""
_LEAVE = (KeyboardInterrupt, SystemExit, GeneratorExit)

Item = TypeVar("Item")


def shows() -> bool:
    """Whether somebody has asked to see what libraries say."""
    return os.environ.get(SWITCH) == "1"


def mishap(error: BaseException) -> str:
    """What may be said of a mistake of ours: its kind and its place. Its words may be about a record."""
    where = error.__traceback__
    while where is not None and where.tb_next is not None:
        where = where.tb_next
    line = "" if where is None else f" ({Path(where.tb_frame.f_code.co_filename).name}:{where.tb_lineno})"
    told = f"something went wrong inside, please report it: {type(error).__name__}{line}"
    return f"{told}; {SWITCH}=1 shows all of it, which may be private data"


@final
class guarded(ContextDecorator):
    """Around code that hands private data to a library, as `with` or as a decorator. `what` are public words for the
    data; the error that comes out is one of a closed list, and has neither cause nor context.

    >>> with guarded("the table"):
    ...     int("a record")
    Traceback (most recent call last):
    indistinct.errors.DataError: the table cannot be used as it is; to see why, set INDISTINCT_SHOW_PRIVATE_ERRORS=1, which may show private data
    """  # noqa: E501

    def __init__(self, what: str) -> None:
        self._what = what

    def _recreate_cm(self) -> "guarded":  # a decorated function may call itself, or run in several threads
        return guarded(self._what)

    def __enter__(self) -> Self:
        self._shows = shows()
        if not self._shows:
            _SILENCE.enter()
            self._floats = np.errstate(
                all="ignore"
            )  # floating point that warns, prints or raises as it was set
            self._floats.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if not self._shows:
            self._floats.__exit__(None, None, None)
            _SILENCE.leave()
        if error is None or isinstance(error, _LEAVE):
            return
        if isinstance(error, _OWN) or type(error) is ArithmeticError:  # as we raise it; libraries name theirs
            if not self._shows:
                error.__cause__ = error.__context__ = None
            return
        told = DataError(f"{self._what} {_sentence(error)}")
        if self._shows:
            raise told from error
        del kind, error, trace  # what a debugger finds in this frame goes with the new error
        try:
            raise told
        finally:
            told.__context__ = None  # `from None` hides it from tracebacks only


def guarded_each(what: str, items: Iterable[Item]) -> Iterator[Item]:
    """The items, each fetched inside the boundary; what is done with them is outside of it."""
    end: Any = object()
    with guarded(what):
        source = iter(items)
    while True:
        with guarded(what):
            item = next(source, end)
        if item is end:
            return
        yield item


_FULL = {errno.ENOSPC, errno.EDQUOT}


def _sentence(error: BaseException) -> str:
    """Of a closed list; what the error says is looked at only to choose one."""
    name, words = type(error).__name__, str(error)
    if isinstance(error, MemoryError) or name in ("OutOfMemoryException", "OutOfMemoryError"):
        return "took more memory than there is"
    if getattr(error, "errno", None) in _FULL or "No space left on device" in words:
        return "could not be read to the end: the disk is full"
    if name == "InterruptException":
        return "was not read to the end: it was interrupted"
    if isinstance(error, FileNotFoundError):
        return "is not there: a file does not exist"
    if isinstance(error, PermissionError):
        return "may not be read: a permission is missing"
    return f"cannot be used as it is; to see why, set {SWITCH}=1, which may show private data"


class _Silence:
    """No warnings and no logging while anybody is inside. Both belong to the process, and two threads put
    them back in the wrong order: the first that comes and the last that goes do it for all."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._inside = 0

    def enter(self) -> None:
        with self._lock:
            if self._inside == 0:
                self._kept = warnings.catch_warnings(record=True)  # also what resets the filters and warns
                self._kept.__enter__()
                warnings.simplefilter("ignore")
                self._logged = logging.root.manager.disable
                logging.disable(sys.maxsize)
            self._inside += 1

    def leave(self) -> None:
        with self._lock:
            self._inside -= 1
            if self._inside == 0:
                self._kept.__exit__(None, None, None)
                logging.disable(self._logged)


_SILENCE = _Silence()
