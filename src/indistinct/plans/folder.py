"""The folder of a run: what survives a crash, and in which order it is written.

`guarantee.json` is the charge. It is on disk, whole, before any noise is drawn. A release is `NAME.csv`:
written beside its place, flushed, renamed, and then noted in the charge. So whatever is seen was charged
before, and a run that was interrupted can be finished without asking twice for what is there already. A
synthetic table is released as `NAME.counts.csv`; `NAME.csv` follows from that file and can be made again.
"""

import csv
import hashlib
import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from indistinct.data import Kind, parquet_from_csv
from indistinct.errors import ArgumentError

CHARGE = "guarantee.json"
_PARTIAL = ".partial"


class Folder:
    """Where results go."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def result(self, name: str) -> Path:
        return self.path / f"{name}.csv"

    def charge(self) -> dict[str, Any] | None:
        """What was charged here, if anything was."""
        path = self.path / CHARGE
        if not path.exists():
            return None
        try:
            content = json.loads(path.read_text(encoding="utf-8"))
            if not isinstance(content, dict) or not {"plan", "data", "releases", "status"} <= content.keys():
                raise ValueError
        except ValueError:
            raise ArgumentError(
                "out", str(self.path), f"a folder whose {CHARGE} a plan has written"
            ) from None
        return content

    def write_charge(self, content: dict[str, Any]) -> None:
        self.write_text(CHARGE, json.dumps(content, indent=2, allow_nan=False, ensure_ascii=False) + "\n")

    def write_text(self, name: str, text: str) -> Path:
        with self._whole(self.path / name) as file:
            file.write(text)
        return self.path / name

    def write_rows(self, name: str, rows: Iterable[Sequence[Any]]) -> Path:
        path = self.result(name)
        with self._whole(path) as file:
            csv.writer(file, lineterminator="\n").writerows(rows)
        return path

    def read_rows(self, name: str) -> list[list[str]]:
        with open(self.result(name), encoding="utf-8", newline="") as file:
            return list(csv.reader(file))

    def write_parquet(self, name: str, types: Mapping[str, Kind] | None = None) -> None:
        """The same as the CSV file, from the CSV file; where pyarrow is installed."""
        parquet_from_csv(self.result(name), self.path / f"{name}.parquet", types)

    @contextmanager
    def _whole(self, path: Path) -> Iterator[Any]:
        """A file that is there in full or not at all."""
        partial = path.with_name(path.name + _PARTIAL)
        try:
            with open(partial, "w", encoding="utf-8", newline="") as file:
                yield file
                file.flush()
                os.fsync(file.fileno())
            os.replace(partial, path)
        except BaseException:  # noise that was drawn will be drawn again, and must not be seen twice
            partial.unlink(missing_ok=True)
            raise
        self._flush()

    def _flush(self) -> None:
        """Renames are in the folder, which is flushed by itself; not every system lets it be opened."""
        try:
            folder = os.open(self.path, os.O_RDONLY)
        except OSError:
            return
        try:
            os.fsync(folder)
        finally:
            os.close(folder)

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Refuses a second run at the same time: both would draw what is missing."""
        self.path.mkdir(parents=True, exist_ok=True)
        try:
            import fcntl
        except ImportError:  # Windows: not guarded
            yield
            return
        with open(self.path / ".lock", "w") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                raise ArgumentError(
                    "out", str(self.path), "a folder that no other run is writing to"
                ) from None
            yield  # the system lets go of the lock with the file, also after a crash


def identity_of(files: Iterable[str]) -> str:
    """Tells files from later versions of them, and nothing about what is in them."""
    seen = []
    for name in files:
        status = os.stat(name)
        seen.append((os.path.abspath(name), status.st_ino, status.st_mtime_ns, status.st_ctime_ns))
    return hashlib.sha256(repr(seen).encode()).hexdigest()
