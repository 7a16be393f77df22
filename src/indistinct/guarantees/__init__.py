"""Guarantees: what is known about telling neighbouring data sets apart.

Nothing here knows that mechanisms exist.
"""

from indistinct.guarantees.alternatives import mixture, parallel
from indistinct.guarantees.curves import PrivacyProfile, TradeoffCurve
from indistinct.guarantees.gaussian_report import GaussianReport
from indistinct.guarantees.guarantee import ExactGuarantee, Guarantee
from indistinct.guarantees.readings import Interval
from indistinct.guarantees.stated import (
    ApproxDP,
    GaussianDP,
    PureDP,
    RenyiCurve,
    ZeroConcentratedDP,
)

__all__ = [
    "ApproxDP",
    "ExactGuarantee",
    "GaussianDP",
    "GaussianReport",
    "Guarantee",
    "Interval",
    "PrivacyProfile",
    "PureDP",
    "RenyiCurve",
    "TradeoffCurve",
    "ZeroConcentratedDP",
    "mixture",
    "parallel",
]
