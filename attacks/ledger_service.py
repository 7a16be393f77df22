"""Does the ledger's service hold? 10,000 malformed requests, broken connections, and its own document.

A real server is started on loopback with an account of epsilon 1. Then it gets what no honest client sends:
bodies cut short or grown, fields of other types, huge numbers, forged JSON, unknown kinds, names that are
SQL, HTML or format strings, replays of what others did, tokens that are changed, expired, revoked or of
another role, headers and connections that are no HTTP. After all of it nothing may be spent, no answer may be
a crash (5xx) or anything but our own errors, the journal must verify, and the server must still answer. Last,
schemathesis makes cases from the OpenAPI document, right and wrong ones.

    python attacks/ledger_service.py [--requests 10000] [--examples 100]
"""

import argparse
import json
import random
import re
import socket
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from indistinct import Budget, parse
from indistinct.ledger import Ledger
from indistinct.web.routes import ROUTES
from indistinct.web.tokens import issue, revoke

Send = Callable[["Forged"], tuple[int, str]]

NASTY = [
    *(
        "",
        " ",
        "\0",
        "\n",
        "a" * 100_000,
        "\ud800",
        "\u202e",
        "%00",
        "%s%n",
        "{{7*7}}",
        "${7*7}",
        "../../etc/passwd",
    ),
    *(
        "'; DROP TABLE accounts; --",
        "' OR '1'='1",
        '" OR ""="',
        "<script>alert(1)</script>",
        "null",
        "NaN",
        "-1",
    ),
    *("laplace(", "laplace(0)", "laplace(-1)", "laplace(1e999)", "laplace(nan)", "9" * 50 + " * laplace(1)"),
    *(
        "__import__('os').system('id')",
        "gaussian(1).subsample(2)",
        "(" * 300,
        "exec(1)",
        "pure(-1)",
        "approx(1, 2)",
    ),
    *("laplace(10); laplace(10)", "laplace(10)\x00", "lambda: 0", "[" * 200 + "]" * 200, "renyi([2], [])"),
]
VALUES: list[Any] = [
    *(
        None,
        True,
        False,
        0,
        -1,
        1.5,
        1e308,
        -1e308,
        10**400,
        2**63,
        [],
        {},
        [[]],
        {"$gt": ""},
        ["laplace(10)"],
    ),
    *(
        {"mechanism": "nothing"},
        {"mechanism": "laplace"},
        {"mechanism": "laplace", "scale": -1},
        {"format": 99},
    ),
    *(
        {"mechanism": "laplace", "scale": "1"},
        {"mechanism": "repeated", "base": {}, "steps": 3},
        {"is": "Budget"},
    ),
    *(
        {"mechanism": "repeated", "base": {"mechanism": "laplace", "scale": 1}, "steps": -1},
        {"claim": "pure"},
    ),
    {"mechanism": "matrix", "strategy": {"strategy": "identity", "size": 10**12}},
    {"mechanism": "gaussian_process", "space": {"space": "random_features", "count": 10**12}},
    {"mechanism": {"mechanism": {"mechanism": "laplace"}}},
    {"mechanism": "discrete", "p": [2, -1], "q": [0.5, 0.5]},
    {"mechanism": "composed", "parts": []},
]
GOOD = {
    "account": "census",
    "mechanism": "laplace(10)",
    "key": "k",
    "plan": "0" * 64,
    "reason": "r",
    "digests": {},
}


@dataclass
class Forged:
    """A request that must be refused."""

    method: str
    path: str
    body: bytes = b""
    token: str = ""
    headers: dict[str, str] = field(default_factory=dict)


def forged(count: int, tokens: dict[str, str], seed: int = 1) -> Iterator[Forged]:
    """So many of them, the same for the same seed."""
    draw = random.Random(seed)
    posts = [route for route in ROUTES if route.method == "POST"]
    gets = [route for route in ROUTES if route.method == "GET" and route.given.needed]
    kinds = [
        _cut,
        _wrong_field,
        _unknown_field,
        _missing,
        _bytes,
        _media,
        _token,
        _role,
        _address,
        _query,
        _replay,
    ]
    for _ in range(count):
        yield draw.choice(kinds)(draw, draw.choice(posts), draw.choice(gets), tokens)


def _fields(route: Any) -> dict[str, Any]:
    own = {name: GOOD[name] for name in route.given.needed if name in GOOD}
    return own | ({"budget": {"epsilon": 2}} if "budget" in route.given.needed else {})


def _send(route: Any, tokens: dict[str, str], body: bytes, **more: Any) -> Forged:
    headers = {"Content-Type": "application/json"} | more.pop("headers", {})
    return Forged("POST", route.path, body, more.pop("token", tokens[route.roles[0]]), headers)


def _cut(draw: random.Random, post: Any, get: Any, tokens: dict[str, str]) -> Forged:
    body = json.dumps(_fields(post)).encode()
    cut = body[: draw.randrange(len(body))]
    grown = body + bytes(draw.choices(b'{}[],:"x1', k=draw.randrange(1, 9)))
    return _send(post, tokens, draw.choice([cut, grown]))


def _wrong_field(draw: random.Random, post: Any, get: Any, tokens: dict[str, str]) -> Forged:
    """One field of another type, or a text that is not what it must be."""
    while True:
        name = draw.choice(list(post.given.all))
        value = draw.choice([draw.choice(NASTY), draw.choice(VALUES), _garbage(draw)])
        told = _fields(post) | {name: value}
        if _is_wrong(post, name, value):
            return _send(post, tokens, json.dumps(told).encode())


def _is_wrong(route: Any, name: str, value: Any) -> bool:
    """What nobody has to refuse is not sent: an account or a key that is not there is always refused."""
    if name in ("account", "key") and route.path not in ("/v1/spend", "/v1/reserve", "/v1/accounts"):
        return True
    try:
        json.dumps(value).encode()
        route.given.check("body", _fields(route) | {name: value})
        if name == "mechanism":
            parse(value) if isinstance(value, str) else None
            return not isinstance(value, str)
        return False
    except ValueError:
        return True


def _garbage(draw: random.Random) -> str:
    return "".join(
        draw.choices("laplce(10)+*.,[]{}\"'\\/ %$;:<>=\u20ac\U0001f600\x7f", k=draw.randrange(1, 60))
    )


def _unknown_field(draw: random.Random, post: Any, get: Any, tokens: dict[str, str]) -> Forged:
    name = draw.choice(
        ["who", "cost", "spent", "limit", "__proto__", "role", "told ", "Key", "state", _garbage(draw)]
    )
    body = json.dumps(_fields(post))
    twice = f'{{"account": "census", {body[1:]}'
    return _send(post, tokens, draw.choice([json.dumps(_fields(post) | {name: 0}), twice]).encode())


def _missing(draw: random.Random, post: Any, get: Any, tokens: dict[str, str]) -> Forged:
    fields = _fields(post)
    del fields[draw.choice(list(fields))]
    return _send(post, tokens, json.dumps(fields).encode())


def _bytes(draw: random.Random, post: Any, get: Any, tokens: dict[str, str]) -> Forged:
    random_bytes = draw.randbytes(draw.randrange(0, 400))
    deep = b'{"a":' * draw.randrange(300, 5000)
    wide = b"[" + b"1," * 40_000 + b"1]"
    return _send(post, tokens, draw.choice([random_bytes, deep, wide, b'{"account": NaN}', b"9" * 6000]))


def _media(draw: random.Random, post: Any, get: Any, tokens: dict[str, str]) -> Forged:
    kind = draw.choice(
        ["", "text/plain", "application/xml", "multipart/form-data", "application/json2", "*/*"]
    )
    return _send(post, tokens, json.dumps(_fields(post)).encode(), headers={"Content-Type": kind})


def _token(draw: random.Random, post: Any, get: Any, tokens: dict[str, str]) -> Forged:
    token = tokens[post.roles[0]]
    at = draw.randrange(len(token))
    changed = token[:at] + draw.choice("abcXYZ019") + token[at + 1 :]
    wrong = [tokens["expired"], tokens["revoked"], "", token[:-1], token + "A", "x" * 5000, token.upper()]
    wrong += [changed] if changed != token else []
    return _send(post, tokens, json.dumps(_fields(post)).encode(), token=draw.choice(wrong))


def _role(draw: random.Random, post: Any, get: Any, tokens: dict[str, str]) -> Forged:
    others = [role for role in ("analyst", "owner", "auditor") if role not in post.roles]
    return _send(post, tokens, json.dumps(_fields(post)).encode(), token=tokens[draw.choice(others)])


def _address(draw: random.Random, post: Any, get: Any, tokens: dict[str, str]) -> Forged:
    paths = [
        "/",
        "/v1",
        "/v1/",
        post.path + "/",
        post.path.upper(),
        "/v1/../v1/secrets",
        "/.git/config",
        "//v1/state",
    ]
    method = draw.choice(["GET", "POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE"])
    if draw.random() < 0.5:
        return Forged(draw.choice(["PUT", "DELETE", "PATCH", "TRACE"]), post.path, b"{}", tokens["owner"])
    return Forged(method, draw.choice(paths), b"", tokens["owner"])


def _query(draw: random.Random, post: Any, get: Any, tokens: dict[str, str]) -> Forged:
    from urllib.parse import quote

    token = tokens[draw.choice(get.roles)]
    nasty = quote(draw.choice([text for text in NASTY if len(text) < 2000]).encode("utf-8", "surrogatepass"))
    queries = [
        *(
            "",
            f"account={nasty}x",
            f"account=census&account=census&key={nasty}",
            f"account=census&{nasty}x=1",
        ),
        *(
            "account=census&limit=-1&key=k",
            "account=census&offset=1e9&key=k",
            "account=census&delta=nan&key=k",
            "%ff=%fe",
        ),
        *("account=" + "9" * 6000, "account=census&limit=99999999999999999999&key=k"),
    ]
    if set(get.given.all) == {"account"}:
        queries = [query for query in queries if query != "account=census"]
    return Forged("GET", f"{get.path}?{draw.choice(queries)}", b"", token)


def _replay(draw: random.Random, post: Any, get: Any, tokens: dict[str, str]) -> Forged:
    """What was done under a key, tried again by somebody else, or for something else."""
    path = draw.choice(["/v1/spend", "/v1/reserve", "/v1/charge", "/v1/complete", "/v1/cancel"])
    told: dict[str, Any] = {"account": "census", "key": draw.choice(["spent", "reserved"])}
    if path in ("/v1/spend", "/v1/reserve"):
        told["mechanism"] = draw.choice(["laplace(9)", "laplace(1e-3)", "2 * laplace(10)"])
    told |= {"digests": {"x": "f" * 64}} if path == "/v1/complete" else {}
    told |= {"reason": "replayed", "told": True} if path == "/v1/cancel" else {}
    who = "analyst" if "mechanism" in told else "other"
    return Forged("POST", path, json.dumps(told).encode(), tokens[who], {"Content-Type": "application/json"})


# -- the account that is attacked -----------------------------------------------------------------


def prepared(path: Path) -> dict[str, str]:
    """A ledger with something spent and something reserved, and tokens of all kinds."""
    with Ledger.open(path) as ledger:
        account = ledger.open_account("census", Budget(epsilon=1))
        roles = {"analyst": "analyst", "other": "analyst", "owner": "owner", "auditor": "auditor"}
        tokens = {name: issue(ledger, name, role, days=1) for name, role in roles.items()}
        tokens["expired"] = issue(ledger, "late", "analyst", days=1e-9)
        tokens["revoked"] = issue(ledger, "gone", "analyst", days=1)
        revoke(ledger, "gone")
        account.spend(parse("laplace(10)"), key="spent", who="analyst")
        account.reserve(parse("laplace(10)"), key="reserved", who="analyst")
    return tokens


def standing(path: Path) -> tuple[Any, ...]:
    """What must not change, apart from refusals in the journal."""
    with Ledger.open(path, create=False) as ledger:
        account = ledger.account("census")
        state, spends = account.state(), account.spends()
        names = [one.name for one in ledger.states()]
        told = [(one.key, one.state, one.cost, one.who) for one in spends]
        events = Counter(one.event for one in account.entries())
        del events["refused"]
        return (
            state.total,
            state.reserved,
            state.status,
            state.told,
            state.cap,
            told,
            events,
            names,
            ledger.verify(),
        )


def attack(send: Send, count: int, tokens: dict[str, str], seed: int = 1) -> Counter[int]:
    """Sends them; raises at an answer that is not an error of ours."""
    statuses: Counter[int] = Counter()

    def judged(request: Forged) -> int:
        status, text = send(request)
        if not 400 <= status < 500:
            raise AssertionError(
                f"{status} for {request.method} {request.path[:200]} {request.body[:300]!r}: {text[:300]}"
            )
        told = json.loads(text) if text else {}
        if request.method != "HEAD" and told.get("error", {}).keys() != {"code", "message"}:
            raise AssertionError(f"not an error of ours: {text[:300]}")
        if "Traceback" in text or 'File "' in text:
            raise AssertionError(f"words of Python: {text[:300]}")
        return status

    with ThreadPoolExecutor(4) as pool:
        statuses.update(pool.map(judged, forged(count, tokens, seed)))
    return statuses


# -- against a real server ------------------------------------------------------------------------


def broken_connections(host: str, port: int, seed: int = 1) -> None:
    """What is no HTTP, ends in the middle, lies about its length, or is far too long."""
    draw = random.Random(seed)
    head = b"POST /v1/spend HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
    pieces = [
        *(
            b"\0" * 100,
            b"\x16\x03\x01\x02\x00\x01",
            b"GET / HTTP/9.9\r\n\r\n",
            b"GET  /\r\n\r\n",
            b"A" * 70_000,
        ),
        *(head + b"Content-Length: 99999999\r\n\r\n{}", head + b"Content-Length: -1\r\n\r\n{}", head),
        *(
            head + b"Transfer-Encoding: chunked\r\n\r\nZZ\r\n",
            head + b"Content-Length: 2\r\nContent-Length: 9\r\n\r\n{}",
        ),
        *(head + b"X: " + b"y" * 60_000 + b"\r\n\r\n", head + b"A: b\r\n" * 5000 + b"\r\n", b"\r\n" * 5000),
        *(b"GET /health HTTP/1.1\r\nHost: a\r\nX: a\rb\r\n\r\n", b"GET /\x01 HTTP/1.1\r\n\r\n"),
        *(head + b"Transfer-Encoding: chunked\r\nContent-Length: 2\r\n\r\n0\r\n\r\n",),
    ]
    for _ in range(20):
        for piece in [*pieces, draw.randbytes(300)]:
            with socket.create_connection((host, port), timeout=5) as wire:
                wire.settimeout(0.05)
                try:
                    wire.sendall(piece)
                    if b" 200 " in wire.recv(4096) and b"/health" not in piece:
                        raise AssertionError(f"accepted: {piece[:100]!r}")
                except OSError:
                    pass


def by_document(schema: Any, tokens: dict[str, str], examples: int, paths: str = "/") -> Counter[str]:
    """Cases that schemathesis makes from the document, valid and not, judged by its own checks."""
    from hypothesis import HealthCheck, Phase, given, settings
    from schemathesis import GenerationMode

    counted: Counter[str] = Counter()
    routes = {(route.method, route.path): route for route in ROUTES}
    same = settings(
        max_examples=examples, deadline=None, derandomize=True, database=None, phases=[Phase.generate]
    )
    calm = settings(same, suppress_health_check=list(HealthCheck))
    for operation in (found.ok() for found in schema.get_all_operations()):
        route = routes[operation.method.upper(), operation.path]
        if not re.match(paths, route.path):
            continue
        header = {"Authorization": f"Bearer {tokens[route.roles[0]]}"} if route.roles else {}
        for mode in GenerationMode:
            if mode is GenerationMode.NEGATIVE and not route.roles:
                continue  # nothing is taken, so nothing can be wrong

            judge = _judged(mode is GenerationMode.POSITIVE and route.path != "/v1/close", header, counted)
            calm(given(case=operation.as_strategy(generation_mode=mode))(judge))()
    return counted


def _judged(meet: bool, header: dict[str, str], counted: Counter[str]) -> Callable[[Any], None]:
    from schemathesis.checks import positive_data_acceptance  # no schema says which expressions are right

    def judge(case: Any) -> None:
        if meet:
            _meet(case)
        answer = case.call(headers=header, timeout=120)
        counted[f"{'valid' if meet else 'other'} {answer.status_code}"] += 1
        case.validate_response(answer, excluded_checks=[positive_data_acceptance])

    return judge


def _meet(case: Any) -> None:
    """Half of all valid cases are about what is there: the others are all answered with 404."""
    for place in (case.body, case.query):
        if isinstance(place, dict) and "account" in place and len(str(place)) % 2:
            place |= {"account": "census"} | ({"key": f"k{len(str(place)) % 7}"} if "key" in place else {})
            if isinstance(place.get("mechanism"), str):
                place["mechanism"] = f"laplace({100 + len(str(place)) % 2})"


def served(path: Path, log: Path) -> tuple[Any, str]:
    """A server of its own, and its address."""
    command = [
        sys.executable,
        "-m",
        "indistinct",
        "ledger",
        "serve",
        str(path),
        "--port",
        "0",
        "--rate",
        "1e6",
    ]
    server = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log.open("w"), text=True)
    assert server.stdout is not None
    return server, server.stdout.readline().split()[-1]


def over_http(client: Any) -> Send:
    """Sends with a client of httpx2."""

    def send(request: Forged) -> tuple[int, str]:
        header = request.headers | ({"Authorization": f"Bearer {request.token}"} if request.token else {})
        answer = client.request(request.method, request.path, content=request.body, headers=header)
        return answer.status_code, answer.text

    return send


def main() -> int:
    import httpx2
    import schemathesis

    options = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    options.add_argument("--requests", type=int, default=10_000)
    options.add_argument("--examples", type=int, default=100)
    asked = options.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path, log = Path(folder, "budget.db"), Path(folder, "log")
        tokens = prepared(path)
        before = standing(path)
        server, address = served(path, log)
        try:
            with httpx2.Client(base_url=address, timeout=60) as client:
                statuses = attack(over_http(client), asked.requests, tokens)
                print(f"{asked.requests:,} malformed requests:", dict(sorted(statuses.items())))
                host, port = address.removeprefix("http://").split(":")
                broken_connections(host, int(port))
                assert client.get("/health").json() == {"status": "ok"}
                print("broken connections: the server still answers")
                assert standing(path) == before and before[-1] == []
                print("nothing was spent, and the journal verifies")
                schema = schemathesis.openapi.from_url(f"{address}/openapi.json")
                print("by the document:", dict(sorted(by_document(schema, tokens, asked.examples).items())))
        finally:
            server.terminate()
            server.wait(timeout=30)
        said = log.read_text()
        total, *_, mistakes = standing(path)
        assert total <= 1 and mistakes == [], mistakes
        assert "Traceback" not in said and not any(token in said for token in tokens.values()), said[-2000:]
        print("within the cap, the journal verifies, and nothing was said that must not be")
    return 0


if __name__ == "__main__":
    sys.exit(main())
