"""Runs the service on an address of this machine."""

import ipaddress
import sys

from indistinct.errors import ArgumentError, check_count, check_positive, needs
from indistinct.web.application import application
from indistinct.web.desk import Desk

_AT_ONCE = 64
"""Requests that are served at the same time; more are told to come again."""


def serve(ledger: str, *, host: str = "127.0.0.1", port: int = 8716, rate: float = 20.0) -> None:
    """Serves a ledger until it is interrupted. What goes over the wire is not encrypted: elsewhere than on
    this machine a proxy that speaks TLS belongs before it."""
    with needs("serve"):
        import uvicorn

    if check_count("port", port) > 65535:
        raise ArgumentError("port", port, "at most 65535")
    burst = max(int(2 * check_positive("rate", rate)), 1)
    if not is_loopback(host):
        print(f"Warning: {host} is not of this machine alone, and tokens are not encrypted.", file=sys.stderr)
    desk = Desk(ledger)
    uvicorn.run(
        application(desk, rate=rate, burst=burst),
        host=host,
        port=port,
        limit_concurrency=_AT_ONCE,
        timeout_keep_alive=5,
        timeout_graceful_shutdown=10,
        h11_max_incomplete_event_size=2**14,
        http="h11",
        ws="none",
        server_header=False,
        proxy_headers=False,
        log_level="warning",
        access_log=False,
    )


def is_loopback(host: str) -> bool:
    """Whether only this machine can ask at an address."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
