"""Files that are watched: identified when they are opened, and looked at again after every read."""

import glob
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from indistinct.errors import DataError, SourceChanged

Paths = str | os.PathLike[str] | Sequence[str | os.PathLike[str]]


def found(paths: Paths) -> tuple[str, ...]:
    """The files of one or more paths. A path that exists is that file; else it is a pattern."""
    files: list[str] = []
    for path in [paths] if isinstance(paths, str | os.PathLike) else list(paths):
        name = os.fspath(path)
        matches = [name] if os.path.exists(name) else sorted(glob.glob(name, recursive=True))
        if not matches:
            raise DataError(f"no such file: {name!r}")
        files += matches
    return tuple(map(os.path.abspath, files))


class Watched:
    """Files as they were when this was made."""

    def __init__(self, files: tuple[str, ...]) -> None:
        self.files = files
        self._seen = [_identity(name) for name in files]

    def compare(self) -> None:
        for name, before in zip(self.files, self._seen, strict=True):
            if before != _identity(name):
                raise SourceChanged(f"{name!r} changed after it was opened; nothing was released from it")

    @contextmanager
    def unchanged(self) -> Iterator[None]:
        self.compare()
        try:
            yield
        except DataError:
            self.compare()  # what a changed file says of itself is not the reason
            raise
        self.compare()


def _identity(name: str) -> tuple[int, ...] | None:
    """What tells a file from a later version of it; the change time cannot be set back by hand."""
    try:
        status = os.stat(name)
    except OSError:
        return None
    return (status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns)
