"""What several test modules share."""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
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
        "spark.sql.adaptive.enabled": "false",
    }
    builder = sql.SparkSession.builder.master("local[1]").appName("indistinct tests")
    for name, value in settings.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    yield session
    session.stop()


@pytest.fixture
def small_model(monkeypatch: pytest.MonkeyPatch) -> None:
    """Models of tables are trained as always, in as many steps, but a tenth as long: they are narrow."""
    from indistinct.synthesis.tables import synthesizer

    train = synthesizer.train

    def narrow(counts: Any, training: Any, *rest: Any) -> Any:
        return train(counts, replace(training, components=64, width=32), *rest)

    monkeypatch.setattr(synthesizer, "train", narrow)
