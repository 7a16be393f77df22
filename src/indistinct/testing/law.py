"""A law, and what is said when it is broken."""

from typing import Any

import numpy as np


def require(holds: Any, law: str, found: Any = "") -> None:
    """Raises an AssertionError unless all of `holds` is true; unlike `assert`, also under `python -O`."""
    if not np.all(holds):
        raise AssertionError(f"{law}: {found}" if str(found) else law)


def no_more(low: Any, high: Any, law: str, at: Any = "", *, slack: float = 0.0, tiny: float = 0.0) -> None:
    """Requires low <= high, but for a relative slack and a tiny amount; neither may be undefined."""
    low, high = np.broadcast_arrays(np.asarray(low, dtype=np.float64), np.asarray(high, dtype=np.float64))
    bad = ~(low <= high * (1 + slack) + tiny)
    if bad.any():
        place = f" at {np.broadcast_to(np.asarray(at), bad.shape)[bad].flat[0]}" if np.size(at) else ""
        require(False, law, f"{low[bad].flat[0]!r} against {high[bad].flat[0]!r}{place}")


def same_bits(one: Any, other: Any, law: str) -> None:
    """Requires the same numbers, to the last bit."""
    first, second = (np.asarray(value, dtype=np.float64) for value in (one, other))
    require(first.tobytes() == second.tobytes(), law, f"{first} and {second}")
