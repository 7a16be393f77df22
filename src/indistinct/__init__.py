"""Differential privacy, known exactly.

Describe a mechanism once; read its guarantee in every language of the field.

>>> from indistinct import Gaussian, calibrate
>>> run = 14062 * Gaussian(scale=1.1, sensitivity=1).subsample(256 / 60000)
>>> guarantee = run.guarantee()
>>> guarantee.epsilon(delta=1e-5)
2.3815969
>>> guarantee.tradeoff(fpr=0.05)
0.8575
"""

import importlib
from types import ModuleType as _ModuleType
from typing import TYPE_CHECKING as _TYPE_CHECKING
from typing import Any as _Any

from indistinct.adjacency import Adjacency as Adjacency
from indistinct.description import from_json as from_json
from indistinct.errors import ArgumentError as ArgumentError
from indistinct.errors import ExpressionError as ExpressionError
from indistinct.errors import TargetError as TargetError
from indistinct.guarantees import ApproxDP as ApproxDP
from indistinct.guarantees import GaussianDP as GaussianDP
from indistinct.guarantees import GaussianReport as GaussianReport
from indistinct.guarantees import Guarantee as Guarantee
from indistinct.guarantees import Interval as Interval
from indistinct.guarantees import PrivacyProfile as PrivacyProfile
from indistinct.guarantees import PureDP as PureDP
from indistinct.guarantees import RenyiCurve as RenyiCurve
from indistinct.guarantees import TradeoffCurve as TradeoffCurve
from indistinct.guarantees import ZeroConcentratedDP as ZeroConcentratedDP
from indistinct.mechanisms import *  # noqa: F403 (which they are is said there, once)

if _TYPE_CHECKING:
    from indistinct.adversaries import Adversary as Adversary
    from indistinct.adversaries import Features as Features
    from indistinct.adversaries import Linear as Linear
    from indistinct.adversaries import PiecewiseLinear as PiecewiseLinear
    from indistinct.adversaries import Polynomial as Polynomial
    from indistinct.adversaries import Unrestricted as Unrestricted
    from indistinct.adversaries import generalization_gap as generalization_gap
    from indistinct.report import compare as compare
    from indistinct.report import comparison as comparison
    from indistinct.report import model_card as model_card
    from indistinct.training import AllocatedBatches as AllocatedBatches
    from indistinct.training import PoissonBatches as PoissonBatches
    from indistinct.training import dp_sgd as dp_sgd

__version__ = "0.1.0"

_LATER = {
    "adversaries": {
        "Adversary",
        "Features",
        "Linear",
        "PiecewiseLinear",
        "Polynomial",
        "Unrestricted",
        "generalization_gap",
    },
    "report": {"compare", "comparison", "model_card"},
    "training": {"AllocatedBatches", "PoissonBatches", "dp_sgd"},
}
"""By package: imported when they are asked for, so that most programs start a little faster."""
__all__ = sorted(
    set().union(*_LATER.values())
    | {name for name, one in globals().items() if name[0] != "_" and not isinstance(one, _ModuleType)}
)


def __getattr__(name: str) -> _Any:
    for package, names in _LATER.items():
        if name in names:
            return getattr(importlib.import_module(f"indistinct.{package}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
