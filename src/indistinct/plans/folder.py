"""The folder of a run: files that are there in full or not at all.

A release is `NAME.csv`: written beside its place, flushed, renamed. What was charged for it is in the ledger,
and so is what a run that was interrupted needs to be finished; `guarantee.json` tells readers of both. A
synthetic table is released as `NAME.counts.csv`; `NAME.csv` follows from that and can be made again.
"""

import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from typing import Any

from indistinct.data import Kind, write_parquet
from indistinct.errors import ArgumentError, FileError
from indistinct.files import identity, read_bytes, read_rows, shown_json, whole, write_rows

CHARGE = "guarantee.json"


class Folder:
    """Where results go. Files are there in full or not at all, and their owner's alone until then; symbolic
    links are neither followed nor written through."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._held: tuple[int, int] | None = None
        """What the system calls the folder that the lock is in, while there is one."""

    def result(self, name: str) -> Path:
        return self.path / f"{name}.csv"

    def write_charge(self, content: dict[str, Any]) -> None:
        self.write_text(CHARGE, shown_json(content) + "\n")

    def write_text(self, name: str, text: str) -> Path:
        return self.write_bytes(name, text.encode("utf-8", "backslashreplace"))

    def write_bytes(self, name: str, content: bytes, *, private: bool = False) -> Path:
        """A file of the folder; refuses where the folder is no longer the one that this run has locked."""
        self._check_place()
        with whole(self.path / name, private=private) as file:
            file.write(content)
        return self.path / name

    def write_rows(self, name: str, rows: Iterable[Sequence[Any]]) -> Path:
        self._check_place()
        path = self.result(name)
        write_rows(path, rows)
        return path

    def _check_place(self) -> None:
        if self._held is not None and identity(self.path, links=False) != self._held:
            raise FileError(self.path, "it was replaced while this run was writing to it: run it again")

    def read_rows(self, name: str) -> list[list[str]]:
        return read_rows(self.result(name))

    def digest(self, name: str) -> str:
        """Tells a result from any other."""
        return sha256(read_bytes(self.result(name), links=False)).hexdigest()

    def write_parquet(self, name: str, types: Sequence[Kind], *, blanks: bool) -> None:
        """The same as the CSV file, from the CSV file, with declared types; where pyarrow is installed."""
        write_parquet(self.path / f"{name}.parquet", self.read_rows(name), types, blanks=blanks)

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Refuses a second run at the same time: both would draw what is missing."""
        try:
            self.path.mkdir(parents=True, exist_ok=True)
        except FileExistsError:
            raise ArgumentError("out", str(self.path), "a folder, and there is a file") from None
        try:
            import fcntl
        except ImportError:  # Windows: not guarded
            yield
            return
        flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW
        with open(os.open(self.path / ".lock", flags, 0o600), "w") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                raise ArgumentError(
                    "out", str(self.path), "a folder that no other run is writing to"
                ) from None
            self._held = identity(self.path, links=False)
            yield  # the system lets go of the lock with the file, also after a crash
