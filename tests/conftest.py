"""What several test modules share."""

import os
import pwd
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest


@pytest.fixture(scope="session")
def spark() -> Iterator[Any]:
    java = shutil.which("java")
    said = subprocess.run([java, "-version"], capture_output=True, text=True).stderr if java else ""
    if 'version "17' not in said:
        pytest.skip("Spark needs Java 17, which is not installed")
    sql = pytest.importorskip("pyspark.sql", reason="pyspark is not installed")
    os.environ |= {"SPARK_LOCAL_IP": "127.0.0.1", "PYSPARK_PYTHON": sys.executable}
    settings = {
        "spark.ui.enabled": "false",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.sql.shuffle.partitions": "3",
        "spark.driver.memory": "1g",
        "spark.log.level": "OFF",
        "spark.ui.showConsoleProgress": "false",
        # Tables of a few rows: less time to compile what they take.
        "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
        "spark.sql.codegen.wholeStage": "false",
        "spark.sql.codegen.factoryMode": "NO_CODEGEN",
        "spark.sql.adaptive.enabled": "false",
    }
    builder = sql.SparkSession.builder.master("local[1]").appName("indistinct tests")
    for name, value in settings.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    yield session
    session.stop()


def postgres_programs() -> Path | None:
    """The folder of the server's programs: on the path, or where Debian keeps them."""
    found = shutil.which("initdb")
    folders = [Path(found).resolve().parent] if found else sorted(Path("/usr/lib/postgresql").glob("*/bin"))
    return folders[-1] if folders else None


@pytest.fixture(scope="session")
def server() -> Iterator[str]:
    """Where a server of PostgreSQL listens: on a socket in a folder of its own, and on no network."""
    found = postgres_programs()
    if found is None:
        pytest.skip("PostgreSQL is not installed")
    # It refuses to run as root; a socket's path must be short.
    user = "nobody" if os.geteuid() == 0 else pwd.getpwuid(os.geteuid()).pw_name
    with tempfile.TemporaryDirectory(prefix="pg", dir="/tmp", ignore_cleanup_errors=True) as folder:
        if os.geteuid() == 0:
            shutil.chown(folder, user)

        def run(program: str, *options: str) -> None:
            as_user = {"user": user, "group": pwd.getpwnam(user).pw_gid} if os.geteuid() == 0 else {}
            command = [str(found / program), "-D", f"{folder}/data", *options]
            subprocess.run(command, cwd=folder, stdout=subprocess.DEVNULL, check=True, **as_user)

        run("initdb", "-A", "trust", "-U", "me", "-E", "UTF8", "--locale=C", "--no-sync")
        own = f"-c listen_addresses='' -c unix_socket_directories='{folder}' -c fsync=off"
        run("pg_ctl", "-w", "-l", f"{folder}/log", "-o", own, "start")
        try:
            # A table that is read is locked against being dropped: better an error than a test that waits.
            yield f"postgresql:///{{}}?host={folder}&user=me&options=-c%20lock_timeout%3D60s"
        finally:
            run("pg_ctl", "-w", "-m", "immediate", "stop")


_schemas = iter(range(10**6))


def new_schema(server: str) -> str:
    """The address of a schema of PostgreSQL of its own."""
    psycopg = pytest.importorskip("psycopg", reason="psycopg is not installed")
    name = f"ledger{next(_schemas)}"
    with psycopg.connect(server.format("postgres"), autocommit=True) as connection:
        connection.execute(f"CREATE SCHEMA {name}")
    return f"{server.format('postgres')}%20-c%20search_path%3D{name}"


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.xdist_group("postgres"))])
def address(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """A place for a ledger: in SQLite, and in PostgreSQL where a server can be started."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path}/budget.db"
    return new_schema(request.getfixturevalue("server"))


@pytest.fixture
def ledger(address: str) -> Iterator[Any]:
    from indistinct.ledger import Ledger

    with Ledger.open(address, who="someone") as opened:
        yield opened


@pytest.fixture
def small(tmp_path: Path) -> Iterator[Any]:
    """A ledger in SQLite, and quick: it is not synced."""
    from indistinct.ledger import Ledger

    with Ledger.open(tmp_path / "budget.db", who="someone") as opened:
        opened.book.store.connection.execute("PRAGMA synchronous = OFF")
        yield opened


@cache
def _told_once() -> dict[str, tuple[Any, Any]]:
    from indistinct.report import page, subject

    charts = ("belief_chart", "tradeoff_chart", "profile_chart")
    return {"to_data": (subject, cache(subject.to_data))} | {
        name: (page, cache(getattr(page, name))) for name in charts
    }


@pytest.fixture
def told_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a report says of equal guarantees is read and drawn once: most of the work of a small plan."""
    for name, (module, cached) in _told_once().items():
        monkeypatch.setattr(module, name, cached)


@pytest.fixture
def small_model(monkeypatch: pytest.MonkeyPatch) -> None:
    """Models of tables are trained as always, in as many steps, but a tenth as long: they are narrow."""
    from indistinct.synthesis.tables import synthesizer

    train = synthesizer.train

    def narrow(counts: Any, training: Any, *rest: Any) -> Any:
        return train(counts, replace(training, components=64, width=32), *rest)

    monkeypatch.setattr(synthesizer, "train", narrow)
