"""Plans, data and saved objects, mutated at random: one line of our own words or an answer, no traceback, and
no record's value in anything that is printed or written. The profile of hypothesis says how many."""

import csv
import io
import os
import tempfile
import warnings
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pyarrow import parquet

from indistinct import Budget, Release
from indistinct.cli import main
from indistinct.data import Count, Numbers
from indistinct.errors import ArgumentError, FileError
from indistinct.files import read_saved, write_npz, write_safetensors
from indistinct.functions import (
    ExactKernel,
    GaussianKernel,
    GaussianProcess,
    PrivateDensity,
    PrivateFunction,
    RandomFeatures,
    release_density,
)
from indistinct.workloads import IdentityStrategy, MatrixMechanism, MatrixRelease, Prefix

CANARY = "XQ7CANARY7QX"
NUMBER = "918273.645"
PLAN = """
[data]
csv = "visits.csv"
records = 60

[privacy]
user = "person"
most = 2

[budget]
epsilon = 100.0
confirm = true
delta = 1e-6

[columns.age]
low = 0
high = 128
bins = 4

[columns.insurer]
categories = ["private", "public"]
outside = "drop"
missing = "drop"

[[releases]]
name = "ages"
kind = "histogram"
columns = ["age"]

[[releases]]
name = "insurers"
kind = "histogram"
columns = ["insurer"]

[[releases]]
name = "towns"
kind = "heavy-hitters"
column = "town"
"""
ROWS = [f"{n // 2},{20 + n},{'private' if n % 3 else 'public'},Bern" for n in range(60)]
ROWS[3] = f"{CANARY},{NUMBER},{CANARY},{CANARY}"
DATA = "\n".join(["person,age,insurer,town", *ROWS, ""])
SPLICES = [
    b'"',
    b"\r",
    b"\0",
    b"\xff",
    b"[" * 3000,
    b"=",
    b"\n",
    b",",
    b";",
    b"'",
    b"nan",
    b"1e999",
    b"\xf0\x9f",
]


@st.composite
def mutated(draw: st.DrawFn, content: bytes) -> bytes:
    """Bytes flipped, cut, doubled, moved, or strange ones put in between."""
    made = bytearray(content)
    for _ in range(draw(st.integers(1, 3))):
        first, last = sorted(draw(st.tuples(*[st.integers(0, len(made))] * 2)))
        how = draw(st.sampled_from(["flip", "cut", "drop", "double", "splice", "splice"]))
        if how == "flip" and first < len(made):
            made[first] ^= 1 << draw(st.integers(0, 7))
        elif how == "cut":
            del made[first:]
        elif how == "drop":
            del made[first : min(last, first + 40)]
        elif how == "double":
            made[first:first] = made[first:last]
        elif how == "splice":
            made[first:first] = draw(st.sampled_from(SPLICES))
    return bytes(made)


cheaply = settings(
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
    max_examples=max(settings.default.max_examples // 3, 5),  # there are twelve tests of objects
)
few = settings(cheaply, max_examples=max(settings.default.max_examples // 8, 5))  # a run takes a while


@cache
def files(target: str) -> dict[str, bytes]:
    """A plan and its data, by name."""
    if target != "visits.parquet":
        return {"plan.toml": PLAN.encode(), "visits.csv": DATA.encode()}
    rows, file = list(csv.DictReader(io.StringIO(DATA))), io.BytesIO()
    parquet.write_table(pa.Table.from_pylist(rows), file, row_group_size=20)
    return {
        "plan.toml": PLAN.replace('csv = "visits.csv"', f'parquet = "{target}"').encode(),
        target: file.getvalue(),
    }


@pytest.mark.parametrize("target", ["plan.toml", "visits.csv", "visits.parquet"])
@few
@given(data=st.data())
def test_no_word_of_a_record_from_a_mutated_run(target: str, data: st.DataObject) -> None:
    content = dict(files(target))
    content[target] = data.draw(mutated(content[target]))
    with tempfile.TemporaryDirectory() as name, pytest.MonkeyPatch.context() as patch:
        folder = Path(name)
        (folder / "temporary").mkdir()
        patch.setenv("TMPDIR", str(folder / "temporary"))
        patch.setattr(tempfile, "tempdir", None)
        patch.chdir(folder)
        for file, text in content.items():
            (folder / file).write_bytes(text)
        printed = run(["run", "plan.toml", "--out", "out"])
        for path in (folder / "out").rglob("*"):
            printed += str(path) + (path.read_bytes().decode("utf-8", "replace") if path.is_file() else "")
        printed += " ".join(map(str, (folder / "temporary").rglob("*")))
    for secret in (CANARY, NUMBER):
        assert secret not in printed.replace(str(content["plan.toml"]), "")


@pytest.mark.parametrize("target", ["visits.csv", "visits.parquet"])
def test_the_plan_itself_runs(target: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name, content in files(target).items():
        Path(name).write_bytes(content)
    assert "Charged: epsilon 100" in run(["run", "plan.toml", "--out", "out"])


def run(arguments: list[str]) -> str:
    """Everything that a command says; an exception is a failure of the test."""
    out, err = io.StringIO(), io.StringIO()
    with warnings.catch_warnings(record=True) as told, redirect_stdout(out), redirect_stderr(err):
        warnings.simplefilter("always")
        with pytest.MonkeyPatch.context() as patch:  # a page is not printed each time
            patch.setattr("indistinct.plans.run.print_page", lambda *_: False)
            patch.setattr("indistinct.plans.run.print_without_browser", lambda *_: False)
            code = main(arguments)
    assert code in (0, 2), err.getvalue()  # 1 would be the last resort
    assert code == 0 or err.getvalue().strip().splitlines()[-1].startswith("indistinct: ")
    return out.getvalue() + err.getvalue() + "".join(str(one.message) for one in told)


@pytest.fixture(scope="module")
def saved() -> dict[str, tuple[bytes, Callable[[Path], Any], Any]]:
    """Something of each kind, how it is read, and how it is written."""
    points, axis = {"x": np.linspace(0, 1, 300)}, {"x": Numbers(0, 1)}
    kernel = GaussianKernel(0.2) + GaussianKernel(0.5).scale(2)
    finite = GaussianProcess(RandomFeatures(kernel, pairs=5, dimension=1), 4).of_sum(points, axis)
    exact = GaussianProcess(ExactKernel(GaussianKernel(0.3), 1), 4).of_sum(points, axis)
    exact([0.2, 0.7])
    matrix = MatrixMechanism(Prefix(4), IdentityStrategy(4), 3.0).release([5, 6, 7, 8])
    objects: dict[str, tuple[Any, Callable[[Path], Any], Any]] = {
        "numbers": (Count().laplace(2.0).release(points).save, Release.load, write_npz),
        "workload": (matrix.save, MatrixRelease.load, write_npz),
        "function": (finite.save, PrivateFunction.load, write_npz),
        "path": (exact.save, PrivateFunction.load, write_npz),
        "density": (
            release_density(points, axis, Budget(epsilon=1, delta=1e-6)).save,
            PrivateDensity.load,
            write_npz,
        ),
        "counts": (
            release_density(points, axis, Budget(epsilon=0.05, delta=1e-6)).save,
            PrivateDensity.load,
            write_npz,
        ),
    }
    try:
        objects |= _synthetic()
    except ImportError:
        pass
    found = {}
    with tempfile.TemporaryDirectory() as folder:
        for name, (save, load, write) in objects.items():
            save(Path(folder, name))
            found[name] = Path(folder, name).read_bytes(), load, write
    return found


def _synthetic() -> dict[str, tuple[Any, Callable[[Path], Any], Any]]:
    import torch  # noqa: F401

    from indistinct.data import Bins, Categories
    from indistinct.synthesis import images, tables

    columns = {"a": Bins(0, 1, 3), "b": Categories(["x", "y"])}
    table = {"a": np.linspace(0, 1, 40), "b": np.array(["x", "y"] * 20)}
    quick = tables.TableTraining(components=4, latent=2, width=4, steps=2)
    fitted = tables.TableSynthesizer(columns).fit(table, Budget(epsilon=1, delta=1e-5), training=quick)
    design = images.ImageSynthesizer((1, 4, 4), [0, 1], pairs=9, records=50)
    short = images.ImageTraining(
        steps=2,
        plain_steps=1,
        steps_per_metric=1,
        images_per_class=2,
        images_in_metric=4,
        channels=2,
        latent=2,
    )
    pictures = np.random.default_rng(0).random((20, 1, 4, 4))
    made = design.fit(
        pictures, np.arange(20) % 2, Budget(epsilon=1, delta=1e-5), training=short, device="cpu"
    )
    return {
        "table": (fitted.save, tables.SyntheticTable.load, write_safetensors),
        "images": (made.save, images.SyntheticImages.load, write_safetensors),
    }


KINDS = ["function", "path", "density", "counts", "table", "images"]
fitted_once = pytest.mark.xdist_group("saved")


@fitted_once
@pytest.mark.parametrize("kind", KINDS)
@cheaply
@given(data=st.data())
def test_mutated_objects_are_refused_or_read(saved: Any, kind: str, data: st.DataObject) -> None:
    if kind not in saved:
        pytest.skip("PyTorch is not installed")
    content, load, _ = saved[kind]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "saved")
        path.write_bytes(data.draw(mutated(content)))
        _read(path, load)


PLAIN = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=3) | st.just(10**12)
NONSENSE = PLAIN | st.lists(PLAIN, max_size=2) | st.dictionaries(st.text(max_size=2), PLAIN, max_size=2)


@fitted_once
@pytest.mark.parametrize("kind", KINDS)
@cheaply
@given(data=st.data())
def test_objects_with_nonsense_are_refused_or_read(saved: Any, kind: str, data: st.DataObject) -> None:
    """By somebody who writes the digest anew: the description changed somewhere, or an array."""
    if kind not in saved:
        pytest.skip("PyTorch is not installed")
    content, load, write = saved[kind]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "saved")
        path.write_bytes(content)
        head, arrays = read_saved(path)
        if data.draw(st.booleans()):
            head = changed(data, head)
        else:
            name = data.draw(st.sampled_from(sorted(arrays)))
            arrays[name] = changed_array(data, arrays[name])
        if not isinstance(head, dict):
            return
        write(path, head, arrays)
        _read(path, load)


def changed(data: st.DataObject, node: Any) -> Any:
    """The same with something else in one place."""
    if isinstance(node, dict | list) and node and data.draw(st.integers(0, 9)):
        keys = sorted(node) if isinstance(node, dict) else list(range(len(node)))
        key = data.draw(st.sampled_from(keys))
        made: Any = dict(node) if isinstance(node, dict) else list(node)
        if data.draw(st.integers(0, 9)) == 0:
            del made[key]
        else:
            made[key] = changed(data, node[key])
        return made
    return data.draw(NONSENSE)


def changed_array(data: st.DataObject, array: Any) -> Any:
    kind = data.draw(st.sampled_from(["shape", "cut", "type", "values"]))
    if kind == "shape":
        return array.reshape(-1)
    if kind == "cut":
        return array.reshape(-1)[:-1]
    if kind == "type":
        return array.astype(data.draw(st.sampled_from(["<i8", "<f4", "?", "<f8", "|u1"])))
    made = np.array(array, dtype=np.float64)
    made.reshape(-1)[: data.draw(st.integers(0, 3))] = data.draw(st.floats(-1e9, 1e9))
    return made


def _read(path: Path, load: Callable[[Path], Any]) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            found = load(path)
        except FileError as error:
            assert str(path) in str(error) and os.linesep not in str(error)
            return
        try:
            assert found.guarantee().epsilon(delta=1e-6) > 0
        except ArgumentError as error:  # of a generator without its release nothing is known
            assert "release" in str(error)
