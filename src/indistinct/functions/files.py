"""Arrays and a line of JSON in one .npz file: nothing in it could run."""

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from indistinct.errors import ArgumentError
from indistinct.numerics.arrays import Array


def write(path: str | Path, head: Mapping[str, Any], arrays: Mapping[str, Array]) -> None:
    with open(path, "wb") as file:
        np.savez(file, head=np.array(json.dumps(head)), **arrays)  # type: ignore[arg-type]


@contextmanager
def opened(path: str | Path) -> Iterator[tuple[dict[str, Any], dict[str, Array]]]:
    """What `write` wrote. Where that makes no sense to whoever reads it, the error names the file."""
    try:
        with np.load(path, allow_pickle=False) as file:
            arrays: dict[str, Array] = {name: file[name] for name in file.files}
        yield json.loads(str(arrays.pop("head"))), arrays
    except (KeyError, ValueError, TypeError, AssertionError, OSError) as error:
        if isinstance(error, FileNotFoundError | ArgumentError):
            raise
        raise ArgumentError("path", str(path), f"a file that `save` wrote ({error})") from None
