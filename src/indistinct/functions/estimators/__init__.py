"""Private functions in scikit-learn's conventions. They need scikit-learn, and nothing else here does."""

from indistinct.errors import needs

with needs("estimators"):
    import sklearn  # noqa: F401

from indistinct.functions.estimators.classifier import PrivateKernelClassifier
from indistinct.functions.estimators.density import PrivateKernelDensity
from indistinct.functions.estimators.losses import (
    HuberisedHingeLoss,
    HuberLoss,
    LogisticLoss,
    Loss,
    SquaredLoss,
)
from indistinct.functions.estimators.mean import PrivateKernelMean
from indistinct.functions.estimators.ridge import PrivateKernelRidge
from indistinct.functions.estimators.two_sample import TwoSampleTest

__all__ = [
    "HuberLoss",
    "HuberisedHingeLoss",
    "LogisticLoss",
    "Loss",
    "PrivateKernelClassifier",
    "PrivateKernelDensity",
    "PrivateKernelMean",
    "PrivateKernelRidge",
    "SquaredLoss",
    "TwoSampleTest",
]
