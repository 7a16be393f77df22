"""JAX Privacy accounts through dp-accounting, by a configuration that makes an accountant:
`accountant_config()` makes this library's, for `DpsgdTrainingAccountant`, `calibrate_noise_multiplier` and
the rest."""

from typing import Any

from indistinct.errors import needs


def accountant_config() -> Any:
    """What JAX Privacy calls a `DpAccountantConfig`: neighbours differ by one record, added or removed."""
    with needs("jax-privacy"):
        from jax_privacy.accounting import DpAccountantConfig

    from indistinct.interop.dp_accounting import EventAccountant

    class EventAccountantConfig(DpAccountantConfig):  # type: ignore[misc]
        def create_accountant(self) -> EventAccountant:
            return EventAccountant()

    return EventAccountantConfig()
