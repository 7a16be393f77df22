"""Settings shared by the tests and by the doctests of src/ and docs/."""

import gc
import os

import pytest
from hypothesis import settings

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
