"""An accountant for Flower: what its strategies take as `accountant`, by the protocol `PrivacyAccountant` of
`flwr.serverapp`. Records are clients."""

from typing import Any

from indistinct.adjacency import Adjacency
from indistinct.errors import ArgumentError, check_count, check_positive, needs
from indistinct.guarantees import Guarantee
from indistinct.mechanisms import Gaussian, Mechanism

METHOD = "indistinct"
_FORMAT = 1


class FlowerAccountant:
    """Accounts for the rounds of a federation, exactly, under the sampling and the neighbours of a
    `PrivacyConfig`.

    Noise is counted in units of the clipping norm, by which a client moves the sum that is added or removed,
    and by twice as much one that is replaced.
    """

    def __init__(self, config: Any) -> None:
        _model(config)
        self._config = config
        self._rounds: list[tuple[Any, int]] = []

    @property
    def config(self) -> Any:
        """As it was given."""
        return self._config

    @property
    def num_releases(self) -> int:
        """How many rounds there were."""
        return sum(count for _, count in self._rounds)

    @property
    def mechanism(self) -> Mechanism:
        """All rounds, to be read in other ways."""
        return _run(self._config, self._rounds)

    def compose(self, event: Any, count: int = 1) -> None:
        """So many rounds more, of one kind."""
        self._rounds.append(self._checked(event, count))

    def get_epsilon(self, delta: float) -> float:
        """Epsilon at a delta, rounded up."""
        return self._guarantee(self._rounds).epsilon(delta)

    def get_delta(self, epsilon: float) -> float:
        """Delta at an epsilon, rounded up."""
        return self._guarantee(self._rounds).delta(epsilon)

    def get_privacy_spent(self, delta: float | None = None) -> Any:
        """A `PrivacySpent` at a delta: that of the configuration, if none is given."""
        with needs("flower"):
            from flwr.serverapp import PrivacySpent
        at = self._config.target_delta if delta is None else delta
        return PrivacySpent(self.get_epsilon(at), at, self.num_releases, METHOD)

    def would_exceed(self, event: Any, max_epsilon: float | None = None, count: int = 1) -> bool:
        """Whether epsilon would be above a limit after so many rounds more; nothing is composed."""
        limit = self._config.max_epsilon if max_epsilon is None else max_epsilon
        if limit is None:
            raise ArgumentError("max_epsilon", None, "given here or in the PrivacyConfig")
        check_positive("max_epsilon", limit)
        then = self._guarantee([*self._rounds, self._checked(event, count)])
        return bool(then.epsilon(self._config.target_delta) > limit)

    def state_dict(self) -> dict[str, object]:
        """All that is needed to go on, as JSON data."""
        rounds = [{"event": _event_data(event), "count": count} for event, count in self._rounds]
        return {
            "schema_version": _FORMAT,
            "backend": METHOD,
            "config": _config_data(self._config),
            "compositions": rounds,
        }

    def load_state_dict(self, state: dict[str, object]) -> None:
        """Goes on where `state_dict` was taken, under the same configuration. The state is read in full
        before any of it counts."""
        with needs("flower"):
            from flwr.serverapp import GaussianPrivacyEvent
        written = (state.get("schema_version"), state.get("backend"))
        if written != (_FORMAT, METHOD):
            raise ArgumentError("state", written, f"of version {_FORMAT}, written by {METHOD!r}")
        if state.get("config") != _config_data(self._config):
            raise ArgumentError("state", state.get("config"), f"of this configuration, {self._config}")
        listed = state.get("compositions")
        if not isinstance(listed, list):
            raise ArgumentError("state", listed, "a list of compositions")
        try:
            rounds = [self._checked(GaussianPrivacyEvent(**one["event"]), one["count"]) for one in listed]
        except (KeyError, TypeError) as error:
            raise ArgumentError("state", listed, "compositions of an event and a count") from error
        self._rounds = rounds

    def _guarantee(self, rounds: list[tuple[Any, int]]) -> Guarantee:
        return _run(self._config, rounds).guarantee(_model(self._config))

    def _checked(self, event: Any, count: int) -> tuple[Any, int]:
        if event.population_size != self._config.population_size:
            allowed = f"that of the configuration, {self._config.population_size}"
            raise ArgumentError("population_size", event.population_size, allowed)
        _round(self._config, event)  # which looks at its numbers
        return event, check_count("count", count, least=1)


def _model(config: Any) -> Adjacency:
    """The neighbours of a configuration, if its sampling says something about them."""
    models = {
        ("poisson", "add-or-remove-one"): Adjacency.ADD_REMOVE,
        ("without-replacement", "replace-one"): Adjacency.REPLACE_ONE,
        ("no-amplification", "add-or-remove-one"): Adjacency.ADD_REMOVE,
    }
    named = (config.sampling_method.value, config.neighboring_relation.value)
    if named not in models:
        raise ArgumentError(
            "sampling_method, neighboring_relation", named, f"one of {', '.join(map(str, models))}"
        )
    return models[named]


def _round(config: Any, event: Any) -> Mechanism:
    size = check_count("sample_size", event.sample_size, least=1)
    of = check_count("population_size", event.population_size, least=1)
    noise = Gaussian(event.noise_multiplier, 2.0 if _model(config) is Adjacency.REPLACE_ONE else 1.0)
    match config.sampling_method.value:
        case "poisson":
            return noise.subsample(size / of)
        case "without-replacement":
            return noise.subsample(size, of=of)
    return noise


def _run(config: Any, rounds: list[tuple[Any, int]]) -> Mechanism:
    steps: dict[Mechanism, int] = {}
    for event, count in rounds:
        one = _round(config, event)
        steps[one] = steps.get(one, 0) + count
    parts = [count * one for one, count in steps.items()]
    return sum(parts[1:], parts[0]) if parts else 0 * Gaussian(1.0)


def _event_data(event: Any) -> dict[str, object]:
    return {name: getattr(event, name) for name in ("noise_multiplier", "sample_size", "population_size")}


def _config_data(config: Any) -> dict[str, object]:
    return {
        "target_delta": config.target_delta,
        "population_size": config.population_size,
        "neighboring_relation": config.neighboring_relation.value,
        "sampling_method": config.sampling_method.value,
        "max_epsilon": config.max_epsilon,
    }
