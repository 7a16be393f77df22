"""A training that was interrupted goes on where it was kept. Reading a release again costs no privacy."""

from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any, final

import numpy as np

from indistinct.errors import ArgumentError, check_count
from indistinct.files import meaning, read_saved, write_safetensors

_HOLDS = "a training of images"
Tensors = dict[str, Any]


@final
@dataclass(frozen=True)
class Checkpoint:
    """A file that holds the state of one training. Which one it is, all that its result follows from, is part
    of the file: another training does not go on from there by mistake."""

    path: Path
    training: str

    def keep(self, step: int, tensors: Tensors) -> None:
        """Writes the state before a step, in place of an earlier one."""
        numbers = {name: tensor.detach().cpu().numpy() for name, tensor in tensors.items()}
        description = {"holds": _HOLDS, "training": self.training, "step": step}
        write_safetensors(self.path, description, numbers)

    def resume(self, tensors: Tensors) -> int:
        """Puts what is kept into these tensors, and gives the step it was kept before: 0 if nothing is."""
        import torch

        if not self.path.exists():
            return 0
        description, numbers = read_saved(self.path)
        if description.get("holds") == _HOLDS and description.get("training") != self.training:
            allowed = "another folder: a training of another release, or with other settings, is kept here"
            raise ArgumentError("checkpoint", str(self.path.parent), allowed)
        with meaning(self.path, "a training of images that was kept"), torch.no_grad():
            if description["holds"] != _HOLDS:
                raise ArgumentError("holds", description["holds"], _HOLDS)
            for name, tensor in tensors.items():
                tensor.copy_(torch.from_numpy(numbers[name].copy()).reshape(tensor.shape))
            return check_count("step", description["step"])


def fingerprint(*parts: Any) -> str:
    """The same for the same arrays and plain data, and for no others."""
    digest = sha256()
    for part in parts:
        data = part.tobytes() if isinstance(part, np.ndarray) else repr(part).encode()
        digest.update(len(data).to_bytes(8, "little") + data)
    return digest.hexdigest()
