"""A ledger with an account of epsilon 1, tokens for each role, and a client inside this process."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from starlette.testclient import TestClient

from indistinct import Budget
from indistinct.ledger import Ledger
from indistinct.web import Desk, application
from indistinct.web.tokens import issue


@dataclass
class Served:
    """A ledger, and a client of its service."""

    path: Any
    client: Any
    tokens: dict[str, str]

    def get(self, path: str, who: str = "auditor", **fields: Any) -> Any:
        return self.client.get(path, params=fields or None, headers=self.header(who))

    def post(self, path: str, who: str = "ana", **fields: Any) -> Any:
        return self.client.post(path, json=fields, headers=self.header(who))

    def header(self, who: str) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.tokens[who]}"} if who else {}

    def state(self, account: str = "census") -> Any:
        return self.get("/v1/state", account=account).json()


@contextmanager
def serving(path: Any) -> Iterator[Served]:
    with Ledger.open(path, who="founder") as ledger:
        ledger.open_account("census", Budget(epsilon=1))
        roles = {"ana": "analyst", "ben": "analyst", "owner": "owner", "auditor": "auditor"}
        tokens = {name: issue(ledger, name, role, days=1) for name, role in roles.items()}
    with TestClient(application(Desk(path), rate=1e6, burst=10**6)) as client:
        yield Served(path, client, tokens)
