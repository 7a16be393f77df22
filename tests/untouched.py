"""A source of randomness that nobody may draw from: for tests that nothing is spent before an error."""

import numpy as np

from indistinct.noise import Source


class Untouched(Source):
    """Ends the program when bits are drawn: an `AssertionError` would be put into other words by the boundary
    around private data, and the test would take it for the error that it waits for."""

    private = True

    def words(self, count: int) -> np.ndarray:
        raise SystemExit("noise was drawn")
