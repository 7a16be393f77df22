"""Opacus with our accountant: real trainings, interrupted and resumed, and what it refuses."""

import io
import math
import warnings
from typing import Any

import pytest
import torch
from opacus import PrivacyEngine
from opacus.accountants import PRVAccountant, create_accountant
from opacus.accountants.utils import get_noise_multiplier
from sklearn.datasets import load_digits
from torch.utils.data import DataLoader, TensorDataset

from indistinct import Gaussian
from indistinct.interop.opacus import OpacusAccountant, from_history, register

register()
pytestmark = pytest.mark.filterwarnings("ignore")  # of Opacus and PyTorch, about each other


def training(engine: PrivacyEngine, **settings: Any) -> tuple[Any, Any, Any]:
    """A linear model of 300 digits."""
    torch.manual_seed(0)
    digits = load_digits()
    inputs = torch.tensor(digits.data[:300] / 16, dtype=torch.float32)
    loader = DataLoader(TensorDataset(inputs, torch.tensor(digits.target[:300])), batch_size=30)
    model = torch.nn.Linear(64, 10)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.5)
    settings = {"max_grad_norm": 1.0, **settings}
    make = engine.make_private_with_epsilon if "target_epsilon" in settings else engine.make_private
    made: tuple[Any, Any, Any] = make(module=model, optimizer=optimizer, data_loader=loader, **settings)
    return made


def train(model: Any, optimizer: Any, loader: Any, *, epochs: int) -> None:
    for _ in range(epochs):
        for inputs, labels in loader:
            optimizer.zero_grad()
            torch.nn.functional.cross_entropy(model(inputs), labels).backward()
            optimizer.step()


def test_interrupted_and_resumed_training_has_the_same_epsilon() -> None:
    """Saved after two epochs of three, and gone on with in new objects."""
    whole = PrivacyEngine(accountant="indistinct")
    made = training(whole, noise_multiplier=1.0)
    train(*made, epochs=3)

    first, checkpoint = PrivacyEngine(accountant="indistinct"), io.BytesIO()
    model, optimizer, loader = training(first, noise_multiplier=1.0)
    train(model, optimizer, loader, epochs=2)
    first.save_checkpoint(path=checkpoint, module=model, optimizer=optimizer)
    checkpoint.seek(0)

    second = PrivacyEngine(accountant="indistinct")
    model, optimizer, loader = training(second, noise_multiplier=1.0)
    second.load_checkpoint(path=checkpoint, module=model, optimizer=optimizer)
    assert len(second.accountant) == 20 and second.get_epsilon(1e-5) == first.get_epsilon(1e-5)
    train(model, optimizer, loader, epochs=1)

    epsilon = whole.get_epsilon(1e-5)
    assert second.get_epsilon(1e-5) == epsilon > first.get_epsilon(1e-5)
    assert epsilon == (30 * Gaussian(1.0).subsample(0.1)).guarantee().epsilon(1e-5)
    assert from_history(second.accountant.history) == 30 * Gaussian(1.0).subsample(0.1)


def test_training_to_a_target_epsilon_spends_it() -> None:
    engine = PrivacyEngine(accountant="indistinct")
    made = training(engine, target_epsilon=2.0, target_delta=1e-5, epochs=2)
    train(*made, epochs=2)
    assert 1.99 <= engine.get_epsilon(1e-5) <= 2.0


@pytest.mark.parametrize(("epsilon", "rate", "epochs"), [(1.0, 1e-3, 10), (8.0, 0.04, 90), (10.0, 0.1, 100)])
def test_noise_for_a_target_does_not_overshoot(epsilon: float, rate: float, epochs: int) -> None:
    """As Opacus tests it of its own; and its PRV accountant, which is not exact, asks for no less noise."""
    target: dict[str, Any] = {"target_epsilon": epsilon, "target_delta": 1e-5, "sample_rate": rate}
    noise = get_noise_multiplier(**target, epochs=epochs, accountant="indistinct")
    accountant = create_accountant("indistinct")
    accountant.history = [(noise, rate, int(epochs / rate))]
    assert epsilon - 0.01 <= accountant.get_epsilon(delta=1e-5) <= epsilon
    theirs = PRVAccountant()
    theirs.history = accountant.history
    assert theirs.get_epsilon(delta=1e-5) > accountant.get_epsilon(delta=1e-5) - 1e-9


def test_settings_of_other_accountants_are_taken() -> None:
    accountant = OpacusAccountant()
    accountant.step(noise_multiplier=1.0, sample_rate=0.1)
    assert accountant.get_epsilon(1e-5, eps_error=0.5, alphas=[2]) == accountant.get_epsilon(1e-5)


def test_nothing_run_and_no_noise() -> None:
    accountant = OpacusAccountant()
    assert accountant.get_epsilon(1e-5) == 0 and len(accountant) == 0
    accountant.step(noise_multiplier=0.0, sample_rate=0.0)  # nobody took part
    assert accountant.get_epsilon(1e-5) == 0 and len(accountant) == 1
    accountant.step(noise_multiplier=0.0, sample_rate=0.1)
    assert accountant.get_epsilon(1e-5) == math.inf


@pytest.mark.parametrize(
    ("noise", "rate", "names"),
    [
        (math.nan, 0.1, "noise_multiplier"),
        (-1.0, 0.1, "noise_multiplier"),
        (math.inf, 0.1, "noise_multiplier"),
        (1.0, math.nan, "sample_rate"),
        (1.0, -0.1, "sample_rate"),
        (1.0, 1.5, "sample_rate"),
        ("1", 0.1, "noise_multiplier"),
    ],
)
def test_a_step_that_makes_no_sense_is_refused(noise: Any, rate: Any, names: str) -> None:
    accountant = OpacusAccountant()
    with pytest.raises(ValueError, match=f"^{names} must be"):
        accountant.step(noise_multiplier=noise, sample_rate=rate)
    assert accountant.history == []


@pytest.mark.parametrize(
    "row", [(1.0, 0.1, -5), (1.0, 0.1, 2.5), (math.nan, 0.1, 1), (1.0, 2.0, 1), (1.0, 0.1), "abc", None, 3.0]
)
def test_a_history_that_makes_no_sense_is_refused(row: Any) -> None:
    accountant = OpacusAccountant()
    accountant.load_state_dict({"history": [row], "mechanism": "indistinct"})
    with pytest.raises(ValueError):
        accountant.get_epsilon(1e-5)
    with pytest.raises(ValueError):
        len(accountant)


@pytest.mark.parametrize("delta", [math.nan, -1e-5, 2.0])
def test_a_delta_that_makes_no_sense_is_refused(delta: float) -> None:
    accountant = OpacusAccountant()
    accountant.step(noise_multiplier=1.0, sample_rate=0.1)
    with pytest.raises(ValueError, match=r"^delta must be"):
        accountant.get_epsilon(delta)


def test_state_of_another_accountant_is_not_taken() -> None:
    with pytest.raises(ValueError), warnings.catch_warnings():
        OpacusAccountant().load_state_dict({"history": [(1.0, 0.1, 5)], "mechanism": "rdp"})
