"""An accountant for Opacus: after `register()`, `PrivacyEngine(accountant="indistinct")`.

Steps are Poisson sampled Gaussian noise, as everywhere in Opacus: it holds of its own data loader, and not of
one that was made with `poisson_sampling=False`.
"""

from collections.abc import Iterable
from typing import Any

from indistinct.errors import (
    ArgumentError,
    check_count,
    check_nonnegative,
    check_probability,
    needs,
)
from indistinct.mechanisms import Gaussian, Mechanism

with needs("opacus"):
    from opacus.accountants import IAccountant, register_accountant

NAME = "indistinct"


class OpacusAccountant(IAccountant):  # type: ignore[misc]
    """Accounts for the steps of a training in Opacus, exactly.

    >>> accountant = OpacusAccountant()
    >>> for _ in range(1000):
    ...     accountant.step(noise_multiplier=2.0, sample_rate=0.01)
    >>> accountant.get_epsilon(delta=1e-5)
    0.6220
    >>> print(from_history(accountant.history))
    1000 * gaussian(2.0).subsample(0.01)
    """

    def __init__(self) -> None:
        super().__init__()
        self.history: list[tuple[float, float, int]] = []

    def step(self, *, noise_multiplier: float, sample_rate: float) -> None:
        """One more step of the optimizer."""
        noise = check_nonnegative("noise_multiplier", noise_multiplier)
        rate = check_probability("sample_rate", sample_rate)
        steps = 0
        if self.history and tuple(self.history[-1][:2]) == (noise, rate):
            steps = self.history.pop()[2]
        self.history.append((noise, rate, steps + 1))

    def get_epsilon(self, delta: float, *args: Any, **kwargs: Any) -> float:
        """Epsilon at a delta: rounded up, and infinite if a step that saw data had no noise. What else is
        given sets how accurate other accountants are, and changes nothing here."""
        steps = [row for row in _checked(self.history) if row[1] > 0 and row[2] > 0]
        if any(noise == 0 for noise, _, _ in steps):
            return float("inf")
        return from_history(steps).guarantee().epsilon(delta)

    def __len__(self) -> int:
        return sum(steps for _, _, steps in _checked(self.history))

    @classmethod
    def mechanism(cls) -> str:
        """The name under which Opacus knows it."""
        return NAME


def from_history(history: Iterable[Any]) -> Mechanism:
    """The training that an accountant of Opacus remembers: rows of noise multiplier, sample rate and
    steps."""
    parts = [steps * Gaussian(noise).subsample(rate) for noise, rate, steps in _checked(history)]
    return sum(parts[1:], parts[0]) if parts else 0 * Gaussian(1.0)


def register() -> None:
    """Makes `accountant="indistinct"` known to Opacus; again does no harm."""
    register_accountant(NAME, OpacusAccountant, force=True)


def _checked(history: Iterable[Any]) -> list[tuple[float, float, int]]:
    """Rows as Opacus keeps them, which others assign and load."""
    rows = []
    for row in history:
        if not isinstance(row, tuple | list) or len(row) != 3:
            raise ArgumentError("history", row, "rows of noise multiplier, sample rate and steps")
        noise = check_nonnegative("noise_multiplier", row[0])
        rows.append((noise, check_probability("sample_rate", row[1]), check_count("steps", row[2])))
    return rows
