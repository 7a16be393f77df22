"""JAX Privacy calibrates with our accountant."""

import pytest

from indistinct import Gaussian

accounting = pytest.importorskip(
    "jax_privacy.accounting", reason="jax-privacy is not installed: `make interop` does"
)


def test_calibration() -> None:
    from indistinct.interop.jax_privacy import accountant_config

    accountant = accounting.DpsgdTrainingAccountant(accountant_config())
    noise = accounting.calibrate_noise_multiplier(
        target_epsilon=1.0,
        accountant=accountant,
        batch_sizes=100,
        num_updates=1000,
        num_samples=10_000,
        target_delta=1e-5,
    )
    assert 0.99 < (1000 * Gaussian(noise).subsample(0.01)).guarantee().epsilon(1e-5) <= 1.0
    updates = accounting.calibrate_num_updates(
        target_epsilon=1.0,
        accountant=accountant,
        noise_multipliers=2.0,
        batch_sizes=100,
        num_samples=10_000,
        target_delta=1e-5,
    )
    step = Gaussian(2.0).subsample(0.01)
    assert (updates * step).guarantee().epsilon(1e-5) <= 1.0
    assert ((updates + 2) * step).guarantee().epsilon(1e-5) > 1.0
