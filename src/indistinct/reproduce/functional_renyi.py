"""*Functional Rényi Differential Privacy for Generative Modeling* (Jiang, Sun and Yu 2023)."""

from typing import NamedTuple

DELTA = 1e-5


class Parameters(NamedTuple):
    """A row of Table 2."""

    variant: str
    target: float
    rate: float
    noise: float
    steps: int


TABLE_2 = (
    Parameters("conditional", 10.0, 0.001, 0.60, 200_000),
    Parameters("conditional", 1.0, 0.001, 1.95, 200_000),
    Parameters("conditional", 0.2, 0.001, 8.00, 200_000),
    Parameters("parallel", 10.0, 0.010, 1.00, 20_000),
    Parameters("parallel", 1.0, 0.010, 5.75, 20_000),
    Parameters("parallel", 0.2, 0.010, 25.00, 20_000),
)
