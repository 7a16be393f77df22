"""Opening files: what is read is a plain file of a bearable size; what is written is there in full or not."""

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import IO

from indistinct.errors import ArgumentError, FileError

PathLike = str | os.PathLike[str]

MOST_BYTES = 2**31
"""Of any file that is read."""
_NOFOLLOW = getattr(os, "O_NOFOLLOW", 0)
_NONBLOCK = getattr(os, "O_NONBLOCK", 0)  # or a pipe would be waited for
_LONGEST_REASON = 300


def read_bytes(path: PathLike, most: int = MOST_BYTES, *, links: bool = True) -> bytes:
    """What is in a plain file. Without `links` a symbolic link is refused: it may lead anywhere."""
    try:
        with open(path, "rb", opener=lambda name, flags: _opened(name, flags, links)) as file:
            status = os.fstat(file.fileno())
            if not stat.S_ISREG(status.st_mode):
                raise FileError(path, "it is not a plain file")
            if status.st_size > most:
                raise FileError(path, f"it has {status.st_size} bytes, and at most {most} are read")
            return file.read(most + 1)[:most]
    except (OSError, ValueError) as error:  # a name may hold what no name can
        if isinstance(error, FileError):
            raise
        raise FileError(path, _why(error)) from None


def _opened(name: str, flags: int, links: bool) -> int:
    return os.open(name, flags | _NONBLOCK | (0 if links else _NOFOLLOW))


def _why(error: Exception) -> str:
    if isinstance(error, FileNotFoundError):
        return "it is not there"
    if isinstance(error, IsADirectoryError):
        return "it is a folder"
    if isinstance(error, PermissionError):
        return "it may not be opened"
    if getattr(error, "errno", None) == errno.ELOOP:
        return "it is a symbolic link, which is not followed"
    return "it cannot be opened"


@contextmanager
def whole(path: PathLike, *, private: bool = False) -> Iterator[IO[bytes]]:
    """A file that is there in full or not at all. Until then it is its owner's alone, and stays so if it is
    `private`; no link is followed."""
    path = Path(path)
    if path.is_dir() or not path.parent.is_dir():
        raise ArgumentError("path", str(path), "a file, in a folder that exists")
    partial = path.with_name(path.name + ".partial")
    partial.unlink(missing_ok=True)  # of a run that was killed, or a link that somebody put there
    try:
        handle = os.open(
            partial, os.O_RDWR | os.O_CREAT | os.O_EXCL | _NOFOLLOW | getattr(os, "O_BINARY", 0), 0o600
        )
        with open(handle, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        if not private:
            os.chmod(partial, _usual_mode())
        os.replace(partial, path)
    except BaseException:  # noise that was drawn will be drawn again, and must not be seen twice
        partial.unlink(missing_ok=True)
        raise
    _flush(path.parent)


def _usual_mode() -> int:
    """What a new file may be used for by whom. To ask for the umask is to set it, in all threads: so one is
    made and looked at."""
    with TemporaryDirectory() as folder:
        handle = os.open(Path(folder, "new"), os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666)
        try:
            return stat.S_IMODE(os.fstat(handle).st_mode)
        finally:
            os.close(handle)


def _flush(folder: Path) -> None:
    """Renames are in the folder, which is flushed by itself; not every system lets it be opened."""
    with suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


@contextmanager
def meaning(path: PathLike, allowed: str) -> Iterator[None]:
    """Around what makes something of a file's content. Whatever goes wrong is the file's fault; what is read
    here is no record, so our own words may show a value of it."""
    try:
        yield
    except FileError:
        raise
    except Exception as error:
        told = " ".join(str(error).split()) if isinstance(error, ArgumentError) else ""
        reason = f" ({_shortened(told)})" if told else ""
        raise FileError(path, f"it must be {allowed}{reason}") from None


def _shortened(text: str) -> str:
    return text if len(text) <= _LONGEST_REASON else text[:_LONGEST_REASON] + " …"


def identity(path: PathLike, *, links: bool) -> tuple[int, int] | None:
    """What stays the same as long as it is the same file or folder, or with `links` what a link leads to;
    None where there is none."""
    try:
        found = os.stat(path, follow_symlinks=links)
    except OSError:
        return None
    return found.st_dev, found.st_ino
