"""Mechanisms as a ledger keeps them: their description, which can be read and accounted again for ever, and
its digest."""

import json
import math
import platform
import sys
from collections.abc import Mapping
from functools import cache, cached_property, lru_cache
from typing import Any

import numpy as np
import scipy

from indistinct.adjacency import Adjacency
from indistinct.errors import ArgumentError
from indistinct.guarantees import Guarantee
from indistinct.ledger.amounts import Amount
from indistinct.ledger.chain import canonical, digest
from indistinct.ledger.costs import cost_of
from indistinct.ledger.notions import Cap, Notion
from indistinct.ledger.units import declared
from indistinct.mechanisms import Budget, Mechanism, Stated

ORDERS = (1.25, 1.5, 2.0, 3.0, 4.0, 6.0, 8.0, 12.0, 16.0, 32.0, 64.0, 256.0, math.inf)
"""At which the Rényi divergence of every mechanism is written down."""


class Known:
    """A mechanism for neighbours of one kind."""

    def __init__(self, mechanism: Mechanism, adjacency: Adjacency, text: str) -> None:
        self.mechanism, self.adjacency = mechanism, adjacency
        self.digest = digest(text.encode())
        self.text = text
        self.costs: dict[tuple[Notion, float | None], Amount] = {}
        self._alone: dict[Budget, bool] = {}

    def cost(self, cap: Cap) -> Amount:
        """In the notion of a cap."""
        if cap.kind not in self.costs:
            self.costs[cap.kind] = cost_of(self.mechanism, cap, self.adjacency)
        return self.costs[cap.kind]

    @cached_property
    def units(self) -> frozenset[str]:
        """Whom its queries protect; nobody in particular, if it has none."""
        return frozenset(declared(json.loads(self.text)["mechanism"]))

    def read_alone(self, budget: Budget | None) -> bool:
        """Whether by itself it meets an (epsilon, delta) promise, read exactly; that may take long."""
        if budget is None or budget.epsilon is None or not budget.delta:
            return False
        if budget not in self._alone:
            guarantee = self.mechanism.guarantee(self.adjacency)  # either reading is a bound
            met = budget.met_by(guarantee) or guarantee.delta(budget.epsilon) <= budget.delta
            self._alone[budget] = met
        return self._alone[budget]

    def alone(self, budget: Budget | None) -> bool:
        """The same, if it was read; nothing is read while others wait."""
        return budget is not None and self._alone.get(budget, False)

    @cached_property
    def description(self) -> str:
        """The mechanism, the neighbours and the Rényi divergences, as JSON."""
        guarantee = self.mechanism.guarantee(self.adjacency)
        values = [_number(guarantee.renyi(order)) for order in ORDERS]
        renyi = {"orders": [_number(order) for order in ORDERS], "values": values}
        return f'{self.text[:-1]},"renyi":{canonical(renyi)}}}'


def _number(value: float) -> float | str:
    return value if math.isfinite(value) else "inf"


def known(mechanism: Any, adjacency: Adjacency) -> Known:
    """What is to be known of a mechanism, or of a claim."""
    if isinstance(mechanism, Guarantee):
        mechanism = Stated(mechanism)
    if not isinstance(mechanism, Mechanism):
        raise ArgumentError("mechanism", mechanism, "a mechanism such as Laplace(10), or a claim")
    try:
        return _known_value(mechanism, adjacency)
    except TypeError:  # one that has no hash
        return _known(identified(mechanism.to_json(), adjacency.value))


def known_again(told: Mapping[str, Any]) -> Known:
    """The same, of a description that was kept."""
    return known(Mechanism.from_json(told["mechanism"]), Adjacency(told["adjacency"]))


@lru_cache(maxsize=4096)
def _known_value(mechanism: Mechanism, adjacency: Adjacency) -> Known:
    return _known(identified(mechanism.to_json(), adjacency.value))


@lru_cache(maxsize=4096)
def _known(text: str) -> Known:
    data = json.loads(text)
    return Known(Mechanism.from_json(data["mechanism"]), Adjacency(data["adjacency"]), text)


def identified(mechanism: Any, adjacency: str) -> str:
    """What the digest of a mechanism is taken of."""
    return canonical({"adjacency": adjacency, "mechanism": mechanism})


def digest_of(description: str) -> str:
    """The digest that a description, as it was kept, should have; empty for what is none."""
    try:
        told = json.loads(description)
        return digest(identified(told["mechanism"], told["adjacency"]).encode())
    except (ValueError, KeyError, TypeError, RecursionError):
        return ""


def own_version() -> str:
    """Of this package."""
    return str(sys.modules["indistinct"].__version__)


@cache
def versions() -> str:
    """Of what read the guarantee."""
    numbers = {
        "indistinct": own_version(),
        "numpy": np.__version__,
        "scipy": scipy.__version__,
    }
    return ", ".join(
        f"{name} {one}" for name, one in {**numbers, "python": platform.python_version()}.items()
    )
