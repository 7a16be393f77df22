"""Runs the service on an address of this machine."""

import ipaddress
import logging
import socket
import sys
from typing import Any

from indistinct.boundary import shows
from indistinct.errors import ArgumentError, check_count, check_positive, needs
from indistinct.web.application import application
from indistinct.web.desk import Desk

_AT_ONCE = 64
"""Connections that are served at the same time; more are told to come again."""
_SILENT = 10.0
"""Seconds after which a connection that has not sent all of a request's head is closed."""


def serve(ledger: str, *, host: str = "127.0.0.1", port: int = 8716, rate: float = 20.0) -> None:
    """Serves a ledger until it is interrupted. What goes over the wire is not encrypted: elsewhere than on
    this machine a proxy that speaks TLS belongs before it."""
    with needs("serve"):
        import uvicorn
        from uvicorn.protocols.http.h11_impl import H11Protocol

    class Impatient(H11Protocol):
        """Closes connections on which nobody asks: uvicorn waits for a first request for ever."""

        def connection_made(self, transport: Any) -> None:
            super().connection_made(transport)
            self.loop.call_later(_SILENT, self._hang_up, None)

        def data_received(self, data: bytes) -> None:
            super().data_received(data)
            if self.cycle is None or self.cycle.response_complete:
                self.loop.call_later(_SILENT, self._hang_up, self.cycle)

        def _hang_up(self, before: Any) -> None:
            if self.cycle is before and not self.transport.is_closing():
                self.transport.close()

    if check_count("port", port) > 65535:
        raise ArgumentError("port", port, "at most 65535")
    burst = max(int(2 * check_positive("rate", rate)), 1)
    desk = Desk(ledger)
    config = uvicorn.Config(
        application(desk, rate=rate, burst=burst),
        limit_concurrency=_AT_ONCE,
        timeout_keep_alive=5,
        timeout_graceful_shutdown=10,
        h11_max_incomplete_event_size=2**14,
        http=Impatient,
        ws="none",
        server_header=False,
        proxy_headers=False,
        log_level="warning",
        access_log=False,
        log_config=None,  # to configure logging would close the handlers of others
    )
    for name in ("asyncio", "uvicorn.error"):
        logging.getLogger(name).addFilter(_in_one_line)
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.create_server((host, port), family=family) as listening:
        # asyncio does so for sockets of its own; without it an answer waits 40 ms for an acknowledgement
        listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        place = f"[{host}]" if ":" in host else host
        print(f"The ledger is served at http://{place}:{listening.getsockname()[1]}", flush=True)
        if not is_loopback(host):
            told = "others than this machine can ask, and tokens are not encrypted without a proxy"
            print(f"Warning: {told}.", file=sys.stderr, flush=True)
        uvicorn.Server(config).run(sockets=[listening])


def _in_one_line(record: logging.LogRecord) -> bool:
    """Our own mistakes are told where they happen. What comes as far as this is a connection that was broken
    off, or is no HTTP; whoever sends such could fill the log with how."""
    if record.exc_info and not shows():
        record.exc_info, record.args, record.msg = None, (), "a connection was broken off"
    return True


def is_loopback(host: str) -> bool:
    """Whether only this machine can ask at an address."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
