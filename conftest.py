"""Settings shared by the tests and by the doctests of src/ and docs/."""

import os

from hypothesis import settings

os.environ.setdefault("MPLBACKEND", "Agg")  # also reaches the examples run as subprocesses

settings.register_profile("local", deadline=None)
settings.register_profile("ci", deadline=None, derandomize=True)
settings.load_profile("ci" if os.environ.get("CI") else "local")
