"""An accountant for dp-accounting, and so for what is built on it, such as TensorFlow Privacy and JAX
Privacy.

Wherever it takes `RdpAccountant` or `PLDAccountant`, give it `EventAccountant`: what it reads is exact, up to
an error that is rounded away from the truth.
"""

from functools import lru_cache
from typing import Any

from indistinct.adjacency import Adjacency
from indistinct.errors import ArgumentError, check_count, needs
from indistinct.guarantees import Guarantee
from indistinct.interop.dp_events import (
    NOTHING,
    EventError,
    adjacency_of,
    from_event,
    keeps_nothing,
)
from indistinct.mechanisms import Mechanism

with needs("dp-accounting"):
    from dp_accounting import NeighboringRelation, PrivacyAccountant


@lru_cache(maxsize=32)
def _known(mechanism: Mechanism, adjacency: Adjacency) -> tuple[Guarantee, bool]:
    """Kept for a while: a search for noise makes accountants anew, and comes back to where it was."""
    return mechanism.guarantee(adjacency), keeps_nothing(mechanism)


class EventAccountant(PrivacyAccountant):  # type: ignore[misc]
    """Accounts for the events of dp-accounting by the mechanisms that they describe.

    >>> from dp_accounting import GaussianDpEvent, PoissonSampledDpEvent
    >>> accountant = EventAccountant()
    >>> accountant.compose(PoissonSampledDpEvent(0.01, GaussianDpEvent(2.0)), 1000).get_epsilon(1e-5)
    0.6220
    >>> print(accountant.mechanism)
    1000 * gaussian(2.0).subsample(0.01)
    """

    def __init__(self, neighboring_relation: Any = NeighboringRelation.ADD_OR_REMOVE_ONE) -> None:
        if not isinstance(neighboring_relation, NeighboringRelation):
            raise ArgumentError("neighboring_relation", neighboring_relation, "a NeighboringRelation")
        super().__init__(neighboring_relation)
        self._steps: dict[Mechanism, int] = {}
        self._known: tuple[Guarantee, bool] | None = None

    def supports(self, event: Any) -> bool:
        """Whether `compose` takes the event: it is known, fits the neighbours and has numbers that make
        sense."""
        try:
            return bool(super().supports(event))
        except ArgumentError:
            return False

    def _maybe_compose(self, event: Any, count: int, do_compose: bool) -> Any:
        try:
            mechanism = from_event(event, self.neighboring_relation)
        except EventError as error:
            return self.CompositionErrorDetails(error.event, error.reason)
        if do_compose and mechanism != NOTHING:
            steps = check_count("count", count, least=1)
            self._steps[mechanism] = self._steps.get(mechanism, 0) + steps
            self._known = None
        return None

    @property
    def mechanism(self) -> Mechanism:
        """All that was composed, to be read in other ways: its guarantee, a report, an attack."""
        parts = [steps * base if steps > 1 else base for base, steps in self._steps.items()]
        return sum(parts[1:], parts[0]) if parts else NOTHING

    def guarantee(self) -> Guarantee:
        """What is known about telling neighbours apart from all that was composed."""
        return self._read[0]

    @property
    def _read(self) -> tuple[Guarantee, bool]:
        """The same, and whether an event has no noise."""
        if self._known is None:
            self._known = _known(self.mechanism, adjacency_of(self.neighboring_relation))
        return self._known

    def get_epsilon(self, target_delta: float) -> float:
        """Epsilon at a delta: rounded up, and infinite wherever an event has no noise."""
        known, open_ = self._read
        epsilon = known.epsilon(target_delta)
        return float("inf") if open_ else epsilon

    def get_delta(self, target_epsilon: float) -> float:
        """Delta at an epsilon: rounded up, and 1 wherever an event has no noise."""
        known, open_ = self._read
        delta = known.delta(target_epsilon)
        return 1.0 if open_ else delta
