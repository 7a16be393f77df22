"""What no honest client sends, in small: `attacks/ledger_service.py` does the same ten thousand times."""

import runpy
from pathlib import Path
from typing import Any

import pytest
import schemathesis
from starlette.testclient import TestClient

from indistinct.errors import ArgumentError
from indistinct.web import Desk, application, handlers

ATTACK = runpy.run_path(str(Path(__file__).parent.parent.parent / "attacks" / "ledger_service.py"))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "budget.db"


def client_of(path: Path) -> Any:
    return TestClient(application(Desk(path), rate=1e6, burst=10**6))


def test_malformed_requests_spend_nothing(path: Path) -> None:
    tokens = ATTACK["prepared"](path)
    before = ATTACK["standing"](path)
    with client_of(path) as client:
        statuses = ATTACK["attack"](ATTACK["over_http"](client), 400, tokens)
    assert ATTACK["standing"](path) == before and before[-1] == []
    assert {400, 401, 403, 404, 405, 409, 415, 422} <= statuses.keys()


def test_a_service_that_lets_one_thing_through_is_found(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The attack can fail: a handler that does not ask whose key it is cancels somebody else's."""
    tokens = ATTACK["prepared"](path)
    monkeypatch.setattr(handlers, "_found", lambda account, caller, key: account.find(key))
    with client_of(path) as client, pytest.raises(AssertionError, match="200 for POST"):
        ATTACK["attack"](ATTACK["over_http"](client), 400, tokens)


@pytest.mark.filterwarnings("ignore::Warning:hypothesis", "ignore::Warning:schemathesis")
def test_cases_from_the_document(path: Path) -> None:
    tokens = ATTACK["prepared"](path)
    with client_of(path) as client:
        schema = schemathesis.openapi.from_asgi("/openapi.json", client.app)
        counted = ATTACK["by_document"](schema, tokens, 4, "/v1/(spend|accounts|complete)$")
    assert sum(counted.values()) > 20 and not any(" 5" in kind for kind in counted)
    total, *_, mistakes = ATTACK["standing"](path)
    assert total <= 1 and mistakes == []


@pytest.mark.parametrize(
    "asked",
    [
        "99999999999999999999*gaussian(5).subsample(0.1)",
        "99999*(99999*laplace(3)+gaussian(3))",
        "+".join(f"laplace({n})" for n in range(1, 120)),
    ],
)
def test_what_takes_long_to_read_is_not_read(asked: str) -> None:
    from indistinct.web.handlers import _mechanism

    with pytest.raises(ArgumentError, match="spend others in Python"):
        _mechanism(asked)
    assert _mechanism("1000*gaussian(5).subsample(0.1)") is not None
