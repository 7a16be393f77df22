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

    contiguous = {name: np.ascontiguousarray(array) for name, array in numbers.items()}
    partial = Path(path).with_name(Path(path).name + ".partial")
    save_file(contiguous, partial, metadata={"description": json.dumps(description)})
    os.replace(partial, path)


def read(path: str | os.PathLike[str], form: str, allowed: str) -> tuple[Numbers, dict[str, Any]]:
    """What `write` wrote, if its description says that it is of this form."""
    with needs("synthesis"):
        from safetensors import SafetensorError, safe_open

    try:
        with safe_open(path, framework="numpy") as file:
            description = json.loads((file.metadata() or {}).get("description", "null"))
            numbers = {name: file.get_tensor(name) for name in file.keys()}
    except (SafetensorError, json.JSONDecodeError):
        description = None
    if not isinstance(description, dict) or description.get("format") != form:
        raise ArgumentError("path", str(path), allowed)
    return numbers, description
