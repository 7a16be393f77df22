"""Settings shared by the tests and by the doctests of src/ and docs/."""

import gc
import os
import random
import sys
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest
from hypothesis import settings

from indistinct.noise import KeyedSource, SystemSource

os.environ.setdefault("MPLBACKEND", "Agg")  # also reaches the examples run as subprocesses

# The same examples everywhere and every time; only `make fuzz` (--hypothesis-profile=fuzz) tries new ones.
settings.register_profile("tests", deadline=None, derandomize=True, database=None, max_examples=50)
settings.register_profile(
    "fuzz",
    deadline=None,
    database=None,
    print_blob=True,
    max_examples=int(os.environ.get("FUZZ_EXAMPLES", "50")),
)
settings.load_profile("tests")

gc.disable()  # all that is imported and collected stays: looking for what could go takes a fifth of the time


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """What takes long begins first, so that no worker waits for another at the end."""
    items.sort(key=lambda item: item.get_closest_marker("slow") is None and item.path.suffix == ".py")
    gc.freeze()
    gc.enable()


@contextmanager
def repeated_noise(config: pytest.Config, label: str) -> Iterator[None]:
    """In place of the operating system's bits, those that follow from a label, in this process alone. Nothing
    in src/ can be asked to do so. --hypothesis-seed=N draws others."""
    key, label = b"of tests alone, and of no release", f"{config.getoption('--hypothesis-seed')} {label}"
    known, system, process = KeyedSource(key, label.encode()), SystemSource.words, os.getpid()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            SystemSource,
            "words",
            lambda self, count: known.words(count) if os.getpid() == process else system(self, count),
        )
        yield


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: Any) -> Generator[None, Any, Any]:
    """The noise of a test follows from its name, without the group that pytest-xdist adds to it. What other
    libraries draw from generators that all share is the same for every test."""
    random.seed(0)
    np.random.seed(0)  # noqa: NPY002
    if "torch" in sys.modules:
        sys.modules["torch"].default_generator.manual_seed(0)
    if item.get_closest_marker("system_noise"):
        return (yield)
    with repeated_noise(item.config, f"{item.parent.nodeid}::{item.name}"):
        return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_fixture_setup(request: Any) -> Generator[None, Any, Any]:
    """That of a fixture which tests share from its own: any of them may come first."""
    if request.scope == "function":
        return (yield)
    with repeated_noise(request.config, f"{request.node.nodeid} {request.fixturename} {request.param_index}"):
        return (yield)
