"""How often somebody may ask: a bucket for each, which fills steadily, and which every request takes from."""

import math
import threading
import time
from collections import OrderedDict
from collections.abc import Callable

_REMEMBERED = 10_000
"""Buckets that are kept; who has not asked for longest is forgotten, and has a full one again."""


class Limiter:
    """At most `burst` requests at once, and `rate` a second in the long run, for each name.

    >>> limiter = Limiter(rate=2, burst=1, clock=lambda: 0.0)
    >>> limiter.wait("ana"), limiter.wait("ana"), limiter.wait("ben")
    (0.0, 0.5, 0.0)
    """

    def __init__(self, rate: float, burst: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._rate, self._burst, self._clock = rate, float(burst), clock
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()
        self._lock = threading.Lock()

    def wait(self, name: str) -> float:
        """0, if the request may be served, and else the seconds after which one may."""
        with self._lock:
            now = self._clock()
            left, seen = self._buckets.pop(name, (self._burst, now))
            left = min(left + max(now - seen, 0.0) * self._rate, self._burst)
            allowed = left >= 1
            self._buckets[name] = (left - allowed, now)
            if len(self._buckets) > _REMEMBERED:
                self._buckets.popitem(last=False)
            return 0.0 if allowed else (1 - left) / self._rate


def whole_seconds(wait: float) -> str:
    """For the header Retry-After."""
    return str(max(math.ceil(wait), 1))
