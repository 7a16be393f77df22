"""Whether the data of a run are those that its budget was charged for: by what is in the files, not by when
or where they were written.

Their digest is taken under a random key (HMAC-SHA256), so that it tells nothing to who does not have the key,
not even to who can guess the files. It may be published; the key is its owner's alone.
"""

import hmac
import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

from indistinct.noise import SystemSource

_BLOCK = 2**20
_KEY_BITS = 256


@dataclass(frozen=True)
class DataKey:
    """A key, and files as they lay there when it was made."""

    key: bytes
    seen: list[list[Any]]

    @classmethod
    def of(cls, files: Sequence[str]) -> Self:
        """A new one."""
        return cls(SystemSource().integer(_KEY_BITS).to_bytes(_KEY_BITS // 8, "big"), _statuses(files))

    def to_json(self) -> dict[str, Any]:
        return {"key": self.key.hex(), "seen": self.seen}

    @classmethod
    def from_json(cls, content: dict[str, Any]) -> Self:
        return cls(bytes.fromhex(content["key"]), [list(one) for one in content["seen"]])

    def digest(self, files: Sequence[str]) -> str:
        """Of what is in the files; each is read once, a block at a time."""
        together = hmac.new(self.key, digestmod="sha256")
        for name in files:
            own = hmac.new(self.key, digestmod="sha256")
            with open(name, "rb") as file:
                while block := file.read(_BLOCK):
                    own.update(block)
            together.update(own.digest())
        return together.hexdigest()

    def same(self, files: Sequence[str], digest: str) -> bool:
        """Whether files have this digest. Those that nobody has touched since are not read for that."""
        now = _statuses(files)
        if now == self.seen:
            return True
        sizes = [[one[1] for one in statuses] for statuses in (now, self.seen)]
        return sizes[0] == sizes[1] and hmac.compare_digest(self.digest(files), digest)


def _statuses(files: Sequence[str]) -> list[list[Any]]:
    """What tells a file from a later version of it, without a look at what is in it: the name, the size, and
    what the system notes. The change time cannot be set back by hand."""
    found = ((os.path.abspath(name), os.stat(name)) for name in files)
    return [[name, one.st_size, one.st_ino, one.st_mtime_ns, one.st_ctime_ns] for name, one in found]
