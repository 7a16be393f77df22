"""A ledger in a new place: in SQLite, and in PostgreSQL where a server can be started."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from indistinct.ledger import Ledger

_schemas = iter(range(10**6))


def new_schema(server: str) -> str:
    """The address of a schema of its own."""
    psycopg = pytest.importorskip("psycopg", reason="psycopg is not installed")
    name = f"ledger{next(_schemas)}"
    with psycopg.connect(server.format("postgres"), autocommit=True) as connection:
        connection.execute(f"CREATE SCHEMA {name}")
    return f"{server.format('postgres')}%20-c%20search_path%3D{name}"


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.xdist_group("postgres"))])
def address(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path}/budget.db"
    return new_schema(request.getfixturevalue("server"))


@pytest.fixture
def ledger(address: str) -> Iterator[Ledger]:
    with Ledger.open(address, who="someone") as opened:
        yield opened


@pytest.fixture
def small(tmp_path: Path) -> Iterator[Ledger]:
    """In SQLite, and quick: it is not synced."""
    with Ledger.open(tmp_path / "budget.db", who="someone") as opened:
        opened.book.store.connection.execute("PRAGMA synchronous = OFF")
        yield opened
