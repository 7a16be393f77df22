"""Where a request meets the ledger: in one of a few threads, each with a connection of its own."""

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from indistinct.errors import FileError
from indistinct.ledger import Ledger
from indistinct.web.tokens import Caller, caller_of

_THREADS = 4
"""Readings may take seconds: one must not hold up all others."""


class Problem(Exception):
    """An answer that says no."""

    def __init__(self, status: int, code: str, message: str, headers: dict[str, str] | None = None) -> None:
        super().__init__(message)
        self.status, self.code, self.headers = status, code, headers


class Desk:
    """A ledger that several ask at once."""

    def __init__(self, ledger: Any) -> None:
        self._ledger = Ledger.open(ledger, create=False)
        self._ledger.close()  # of this thread; those of the pool have their own
        self._pool = ThreadPoolExecutor(_THREADS, thread_name_prefix="ledger")
        self._closed = False

    async def caller(self, token: str) -> Caller | None:
        """Whose token this is; None if it is nobody's, or no longer valid."""
        found: Caller | None = await self._in_pool(caller_of, self._ledger, token)
        return found

    async def run(self, handler: Callable[..., Any], caller: Caller | None, given: dict[str, Any]) -> Any:
        """What a handler answers."""
        return await self._in_pool(handler, self._ledger, caller, **given)

    async def _in_pool(self, function: Callable[..., Any], *arguments: Any, **named: Any) -> Any:
        def call() -> Any:
            try:
                return function(*arguments, **named)
            except FileError:  # its words are about a path, or a database's own
                again = "nothing was changed, or it will be found under the same key: ask again"
                raise Problem(503, "ledger", f"the ledger cannot be read or written now; {again}") from None

        return await asyncio.get_running_loop().run_in_executor(self._pool, call)

    def close(self) -> None:
        """Ends all threads, and the connections that they hold; once."""
        if self._closed:
            return
        self._closed = True
        together = threading.Barrier(_THREADS)

        def leave() -> None:  # each thread takes one, because none is done before all have one
            together.wait()
            self._ledger.close()

        for done in [self._pool.submit(leave) for _ in range(_THREADS)]:
            done.result()
        self._pool.shutdown()
