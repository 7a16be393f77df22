"""Which data an account belongs to: files are known by what is in them, not by when or where they were
written.

Digests are taken under the ledger's random key (HMAC-SHA256), so that they tell nothing to who does not have
the key, not even to who can guess the files. A process does not read a file again that nobody has touched
since.
"""

import hmac
import os
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from indistinct.errors import ArgumentError, FileError, Refused
from indistinct.ledger.book import LEDGER

if TYPE_CHECKING:
    from indistinct.ledger.account import Account
    from indistinct.ledger.ledger import Ledger

_BLOCK = 2**20


@dataclass(frozen=True, repr=False)
class FilesKey:
    """The key of digests."""

    key: bytes

    def digest(self, path: str) -> str:
        """Of what is in a file, read a block at a time."""
        own = hmac.new(self.key, digestmod="sha256")
        with open(path, "rb") as file:
            while block := file.read(_BLOCK):
                own.update(block)
        return own.hexdigest()


def digest_of(ledger: "Ledger", path: str) -> str:
    """Of a file. The change time, which tells it from a later version, cannot be set back by hand."""
    try:
        one = os.stat(path)
    except OSError as error:
        raise FileError(path, f"it cannot be read: {error.strerror}") from None
    return _read(
        ledger.files_key,
        path,
        (one.st_size, one.st_dev, one.st_ino, one.st_mtime_ns, one.st_ctime_ns),
    )


@lru_cache(maxsize=64)
def _read(key: FilesKey, path: str, status: tuple[int, ...]) -> str:
    """Each version of a file is read once."""
    return key.digest(path)


def _paths(paths: Any) -> list[str]:
    if isinstance(paths, str | bytes | os.PathLike) or not isinstance(paths, Sequence) or not paths:
        raise ArgumentError("paths", paths, "a list of files")
    return [os.path.realpath(path) for path in paths]


def add_files(ledger: "Ledger", account: str, paths: Any, who: str) -> None:
    """Notes that files are data of an account; refuses those of another."""
    found = {path: digest_of(ledger, path) for path in _paths(paths)}
    book = ledger.book
    with book.transaction():
        book.locked(LEDGER)  # two accounts do not get the same file at once
        state = book.locked(account)
        new = False
        for path, digest in found.items():
            others = book.store.run(
                "SELECT account FROM files WHERE digest = ? AND account <> ?", digest, account
            )
            if others:
                raise Refused(account, f"{path} is data of the account {others[0][0]!r}")
            own = "account = ? AND digest = ? AND path = ?"
            if not book.store.run(f"SELECT 1 FROM files WHERE {own}", account, digest, path):
                new = True
                sql = "INSERT INTO files (account, digest, path) VALUES (?, ?, ?)"
                book.store.run(sql, account, digest, path)
        if new:
            book.append(state, None, "files", "", {"digests": found}, who)


def recognised(ledger: "Ledger", paths: Any, name: str | None) -> "Account | None":
    """The account of files: of what is in them and of where they lie, else of that name."""
    listed = _paths(paths)
    run = ledger.book.store.run
    by_content = {
        row[0]
        for path in listed
        for row in run("SELECT account FROM files WHERE digest = ?", digest_of(ledger, path))
    }
    by_place = {row[0] for path in listed for row in run("SELECT account FROM files WHERE path = ?", path)}
    found = by_content | by_place  # an account keeps what lies in its place, whatever is written there
    if len(found) > 1:
        raise ArgumentError("paths", listed, f"data of one account, not of {' and '.join(sorted(found))}")
    if name is not None:
        if found and name not in found:
            raise Refused(name, f"these files are data of the account {next(iter(found))!r}")
        return ledger.account(name) if ledger.book.state(name) is not None else None
    return ledger.account(next(iter(found))) if found else None
