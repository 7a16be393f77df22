"""The service as an ASGI application: who asks, how often, and with what, is looked at before the ledger is.

What goes out is one of our own answers: an error is a code and a sentence, never a library's words.
"""

import asyncio
import sys
import traceback
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

from indistinct.boundary import mishap, shows
from indistinct.errors import ArgumentError, FileError, Refused, needs
from indistinct.files import json_text
from indistinct.web.desk import Desk, Problem
from indistinct.web.limits import Limiter, whole_seconds
from indistinct.web.routes import ROUTES, Route
from indistinct.web.rules import Fields
from indistinct.web.tokens import Caller

if TYPE_CHECKING:
    from starlette.applications import Starlette
    from starlette.requests import Request
    from starlette.responses import Response

MOST_BYTES = 2**16
"""Of a request: a mechanism and some digests."""
_PATIENCE = 10.0
"""Seconds in which a request must have come in full."""
_LONGEST_MESSAGE = 600
_HEADERS = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}


def application(desk: Desk, *, rate: float = 20.0, burst: int = 40) -> "Starlette":
    """Serves the ledger of a desk; each token may ask `rate` times a second, and `burst` times at once. Who
    has no valid token is answered as often, for each address that asks."""
    with needs("serve"):
        from starlette.applications import Starlette
        from starlette.routing import Route as Path

    answerer = _Answerer(desk, Limiter(rate, burst))
    by_path: dict[str, dict[str, Route]] = {}
    for route in ROUTES:
        by_path.setdefault(route.path, {})[route.method] = route

    @asynccontextmanager
    async def lifespan(_: Any) -> AsyncIterator[None]:
        yield
        desk.close()

    made = Starlette(
        routes=[Path(path, answerer.endpoint(own), methods=list(own)) for path, own in by_path.items()],
        exception_handlers={404: answerer.failed, 405: answerer.failed},
        lifespan=lifespan,
    )
    made.router.redirect_slashes = False  # to wherever the request says that it came
    return made


class _Answerer:
    def __init__(self, desk: Desk, limiter: Limiter) -> None:
        self._desk, self._limiter = desk, limiter

    def endpoint(self, routes: dict[str, Route]) -> Callable[["Request"], Awaitable["Response"]]:
        async def answer(request: "Request") -> "Response":
            route = routes["GET" if request.method == "HEAD" else request.method]
            try:
                return _response(200, route.media, await self._answer(route, request))
            except Exception as error:
                return await self.failed(request, error)

        return answer

    async def _answer(self, route: Route, request: "Request") -> Any:
        caller = await self._caller(route, request)
        if route.method == "GET":
            given = route.given.address(request.query_params.multi_items())
        else:
            Fields().address(request.query_params.multi_items())  # nothing there that might be logged
            given = route.given.check("body", await _body(request))
        return await self._desk.run(route.run, caller, given)

    async def _caller(self, route: Route, request: "Request") -> Caller | None:
        """Who asks, if that is somebody who may."""
        address = request.client.host if request.client else ""
        caller = None
        if route.roles:
            kind, _, token = request.headers.get("authorization", "").partition(" ")
            if kind.lower() == "bearer" and token.isascii() and len(token) < 200:
                caller = await self._desk.caller(token.strip())
        wait = self._limiter.wait(f"address {address}" if caller is None else f"token {caller.digest}")
        if wait:
            message = "that was too often: ask again later"
            raise Problem(429, "too_often", message, {"Retry-After": whole_seconds(wait)})
        if route.roles and caller is None:
            message = "a valid token is needed: Authorization: Bearer TOKEN"
            raise Problem(401, "token", message, {"WWW-Authenticate": "Bearer"})
        if caller is not None and caller.role not in route.roles:
            raise Problem(403, "role", f"this is for the role {' or '.join(route.roles)}, not {caller.role}")
        return caller

    async def failed(self, request: "Request", error: Exception) -> "Response":
        """The answer to what went wrong."""
        status = getattr(error, "status_code", None)  # of Starlette: no such address, or method
        if status == 404:
            error = Problem(404, "address", "there is nothing at this address: see /openapi.json")
        elif status == 405:
            error = Problem(
                405, "method", "not this method: see /openapi.json", getattr(error, "headers", None)
            )
        problem = problem_of(error)
        told = {"error": {"code": problem.code, "message": _shortened(str(problem))}}
        return _response(problem.status, "application/json", told, problem.headers)


async def _body(request: "Request") -> Any:
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/json":
        raise Problem(415, "media_type", "the body must be application/json")
    from starlette.requests import ClientDisconnect

    body = bytearray()
    try:
        async with asyncio.timeout(_PATIENCE):
            async for chunk in request.stream():
                body += chunk
                if len(body) > MOST_BYTES:
                    raise Problem(413, "too_large", f"at most {MOST_BYTES} bytes are read")
    except TimeoutError:
        raise Problem(408, "too_slow", f"the body did not come within {_PATIENCE:g} seconds") from None
    except ClientDisconnect:
        raise Problem(400, "json", "the body ended too early") from None
    try:
        return json_text("body", bytes(body))
    except FileError as error:
        raise Problem(400, "json", str(error)) from None


def problem_of(error: Exception) -> Problem:
    """One of the errors of the document; what is not foreseen is told to whoever runs the service."""
    if isinstance(error, Problem):
        return error
    if isinstance(error, Refused):
        return Problem(409, "refused", str(error))
    if isinstance(error, ArgumentError):
        return Problem(422, "argument", str(error))
    if isinstance(error, ArithmeticError | MemoryError | RecursionError):
        return Problem(422, "too_much", "this is more than can be computed; nothing was spent")
    if shows():
        traceback.print_exception(error)
    print(f"indistinct: {mishap(error)}", file=sys.stderr, flush=True)
    return Problem(500, "inside", "something went wrong inside; the log of the service says where")


def _response(status: int, media: str, content: Any, headers: Any = None) -> "Response":
    from starlette.responses import JSONResponse, Response

    kind = JSONResponse if media == "application/json" else Response
    return kind(content, status_code=status, headers={**_HEADERS, **(headers or {})}, media_type=media)


def _shortened(message: str) -> str:
    words = " ".join(message.encode("utf-8", "backslashreplace").decode().split())
    return words if len(words) <= _LONGEST_MESSAGE else words[:_LONGEST_MESSAGE] + " …"
