"""What tests of logistic regressions share: the answer without noise, and a table of few records."""

from typing import Any

import numpy as np
import numpy.typing as npt

from indistinct.data import CachedTable, Categories, LogisticRegression, table


def likeliest(
    x: Any, answer: Any, steps: int = 30
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Coefficients of largest likelihood, and their standard errors."""
    x, truth = x.astype(float), np.zeros(x.shape[1])
    for _ in range(steps):
        chance = 1 / (1 + np.exp(-x @ truth))
        information = (x.T * (chance * (1 - chance))) @ x
        truth = truth + np.linalg.solve(information, x.T @ (answer - chance))
    return truth, np.sqrt(np.diag(np.linalg.inv(information)))


def few_records() -> tuple[LogisticRegression, CachedTable, npt.NDArray[np.float64]]:
    """A regression on four columns, a thousand records, and what they say without noise."""
    draw = np.random.default_rng(4)
    x = np.where(draw.random((1_000, 4)) < [0.5, 0.2, 0.4, 0.7], 1.0, -1.0)
    answer = draw.random(1_000) < 1 / (1 + np.exp(0.4 - x @ [0.3, 0.5, -0.4, 0.8]))
    names = [f"x{n}" for n in range(4)]
    query = LogisticRegression("y", {name: Categories([-1, 1]) for name in (*names, "y")})
    data = CachedTable(table(dict(zip(names, x.T, strict=True)) | {"y": np.where(answer, 1, -1)}))
    truth, _ = likeliest(np.column_stack([np.ones(1_000), x]), answer)
    return query, data, truth
