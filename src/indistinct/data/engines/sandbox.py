"""DuckDB in a sandbox: no files but those that were named, no extensions, a private folder.

It spills to the folder, which has a random name and is its owner's alone. It goes with the connection; one
that a killed process left behind is swept when the next one is made.
"""

import os
import shutil
import tempfile
import weakref
from typing import Any

from indistinct.boundary import guarded
from indistinct.data.engines.sql import text
from indistinct.errors import ArgumentError, DataError, needs

_PREFIX, _NEW, _OWNER = "indistinct-spill-", ".indistinct-new-", "owner"
_DATABASE = "database_file"
_OURS = 300_000_000
"""Bytes that are needed beside DuckDB's."""


class Sandbox:
    """A connection of its own. `files` may be read, and `database` is opened for reading only."""

    def __init__(
        self, memory: str, threads: int | None, database: str | None = None, files: tuple[str, ...] = ()
    ) -> None:
        with needs("duckdb"):
            import duckdb

        self.folder, lock = _private_folder()
        self._finalizer = weakref.finalize(self, _remove, self.folder, lock, os.getpid())
        config = {
            "preserve_insertion_order": "false",  # order means nothing to a sum and costs memory
            "autoinstall_known_extensions": "false",
            "autoload_known_extensions": "false",
            "temp_directory": self.folder,
        }
        if threads is not None:
            config["threads"] = str(threads)
        with guarded("DuckDB" if database is None else repr(database)):
            self.connection = duckdb.connect(config=config)
            self.connection.execute("SET enable_progress_bar = false")
            without_statistics(self.connection)
            self.connection.execute(f"SET memory_limit = '{_share_of(memory, self.connection)}B'")
            if database is not None:
                # Attached, not opened: several tables may be of one file, each in a sandbox of its own.
                self.connection.execute(f"ATTACH {text(database)} AS {_DATABASE} (READ_ONLY)")
                check_names(self.connection)
                self.connection.execute(f"USE {_DATABASE}")
            allowed = ", ".join(text(name) for file in files for name in {file, escaped(file)})
            self.connection.execute(f"SET allowed_paths = [{allowed}]")
            self.connection.execute("SET enable_external_access = false")
            self.connection.execute("SET lock_configuration = true")


def _share_of(memory: str, connection: Any) -> int:
    """What DuckDB may have of it: the rest is for Python and for batches that are being added up."""
    try:
        (amount,) = connection.execute("SELECT parse_formatted_bytes(?)", [memory]).fetchone()
    except Exception:
        raise ArgumentError("memory", memory, "a size such as '1GB'") from None
    return int(max(amount - _OURS, amount // 2))


def escaped(path: str) -> str:
    """A path as a pattern that matches it alone: DuckDB takes every name for a pattern."""
    return "".join(f"[{letter}]" if letter in "*?[" else letter for letter in path)


def _private_folder() -> tuple[str, Any]:
    """A folder that nobody else can read, and the lock that says that its owner lives."""
    root = tempfile.gettempdir()
    try:
        import fcntl
    except ImportError:  # Windows: nothing is swept
        return tempfile.mkdtemp(prefix=_PREFIX), None
    _sweep(root)
    made = tempfile.mkdtemp(prefix=_NEW, dir=root)
    lock = open(os.path.join(made, _OWNER), "w")
    fcntl.flock(lock, fcntl.LOCK_EX)
    # It has the name that is swept only once it is locked.
    folder = os.path.join(root, _PREFIX + os.path.basename(made).removeprefix(_NEW))
    os.rename(made, folder)
    return folder, lock


def _sweep(root: str) -> None:
    """Removes folders of mine whose owner is gone: the system has let go of its lock."""
    import fcntl

    with os.scandir(root) as entries:
        for entry in entries:
            if not entry.name.startswith(_PREFIX) or not entry.is_dir(follow_symlinks=False):
                continue
            try:
                if entry.stat(follow_symlinks=False).st_uid != os.geteuid():
                    continue
                with open(os.path.join(entry.path, _OWNER)) as lock:
                    fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    shutil.rmtree(entry.path, ignore_errors=True)
            except OSError:  # it is in use, or another process sweeps it
                continue


def _remove(folder: str, lock: Any, owner: int) -> None:
    if os.getpid() == owner:  # not a process that was forked from it
        shutil.rmtree(folder, ignore_errors=True)
        if lock is not None:
            lock.close()


def check_exists(path: str) -> None:
    """Refuse a path where there is no file."""
    if not os.path.exists(path):
        raise DataError(f"no such file: {path!r}")


def without_statistics(connection: Any) -> None:
    """Switches off that DuckDB concludes from the least and the largest value of a column what all are: those
    of
    Parquet files leave out NaN, so `isnan` would be false for all records, unless one more is infinite."""
    (off,) = connection.execute("SELECT current_setting('disabled_optimizers')").fetchone()
    if "statistics_propagation" not in off:
        kept = f"{off},statistics_propagation".strip(",")
        connection.execute(f"SET disabled_optimizers = {text(kept)}")


def check_names(connection: Any) -> None:
    """Refuses macros that are called like functions of DuckDB: the SQL that counts and bounds is made of
    these, and a database has its own instead."""
    sql = "SELECT function_name, internal FROM system.main.duckdb_functions()"
    named = [(str(name).lower(), internal) for name, internal in connection.execute(sql).fetchall()]
    if taken := {name for name, own in named if own} & {name for name, own in named if not own}:
        raise DataError(f"the database has a macro with the name of a function of DuckDB: {min(taken)}")
