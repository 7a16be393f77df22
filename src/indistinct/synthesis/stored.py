"""Numbers and a description in one safetensors file: nothing in it could run."""

import json
import os
from pathlib import Path
from typing import Any

import numpy as np

from indistinct.errors import ArgumentError, needs

Numbers = dict[str, Any]


def write(path: str | os.PathLike[str], numbers: Numbers, description: dict[str, Any]) -> None:
    """Writes the file, all of it or nothing."""
    with needs("synthesis"):
        from safetensors.numpy import save_file

    path = Path(path)
    if path.is_dir() or not path.parent.is_dir():
        raise ArgumentError("path", str(path), "a file, in a folder that exists")
    try:
        text = json.dumps(description)
    except TypeError as error:  # dates among values that follow from others, for instance
        raise ArgumentError("values", str(error), "texts, numbers and truth values, to be kept") from None
    contiguous = {name: np.ascontiguousarray(array) for name, array in numbers.items()}
    partial = path.with_name(path.name + ".partial")
    save_file(contiguous, partial, metadata={"description": text})
    os.replace(partial, path)


def read(path: str | os.PathLike[str], form: str, allowed: str) -> tuple[Numbers, dict[str, Any]]:
    """What `write` wrote, if its description says that it is of this form."""
    with needs("synthesis"):
        from safetensors import SafetensorError, safe_open

    if Path(path).is_dir():
        raise ArgumentError("path", str(path), allowed)
    try:
        with safe_open(path, framework="numpy") as file:
            description = json.loads((file.metadata() or {}).get("description", "null"))
            numbers = {name: file.get_tensor(name) for name in file.keys()}
    except (SafetensorError, json.JSONDecodeError):
        description = None
    if not isinstance(description, dict) or description.get("format") != form:
        raise ArgumentError("path", str(path), allowed)
    return numbers, description
