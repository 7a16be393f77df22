"""Mechanisms: plain descriptions of releases, and how they combine. Whatever is imported here is offered here
and by `indistinct` itself: a new one is one more line."""

from types import ModuleType as _ModuleType

from indistinct.mechanisms.above_threshold import AboveThreshold as AboveThreshold
from indistinct.mechanisms.allocated import Allocated as Allocated
from indistinct.mechanisms.budget import Budget as Budget
from indistinct.mechanisms.calibration import Calibrated as Calibrated
from indistinct.mechanisms.calibration import calibrate as calibrate
from indistinct.mechanisms.discrete_noise import DiscreteGaussian as DiscreteGaussian
from indistinct.mechanisms.discrete_noise import DiscreteLaplace as DiscreteLaplace
from indistinct.mechanisms.drawn_sums import DrawnSum as DrawnSum
from indistinct.mechanisms.drawn_sums import SampledSum as SampledSum
from indistinct.mechanisms.expression import parse as parse
from indistinct.mechanisms.expression import parse_guarantee as parse_guarantee
from indistinct.mechanisms.finite import Discrete as Discrete
from indistinct.mechanisms.finite import RandomizedResponse as RandomizedResponse
from indistinct.mechanisms.mechanism import Mechanism as Mechanism
from indistinct.mechanisms.mechanism import Stated as Stated
from indistinct.mechanisms.mechanism import mixture as mixture
from indistinct.mechanisms.mechanism import parallel as parallel
from indistinct.mechanisms.noise import Gaussian as Gaussian
from indistinct.mechanisms.noise import Laplace as Laplace
from indistinct.mechanisms.random_shift import RandomShift as RandomShift
from indistinct.mechanisms.release import Release as Release
from indistinct.mechanisms.selection import Exponential as Exponential
from indistinct.mechanisms.selection import PermuteAndFlip as PermuteAndFlip
from indistinct.mechanisms.selection import ReportNoisyMax as ReportNoisyMax
from indistinct.mechanisms.truncated_sum import TruncatedSum as TruncatedSum
from indistinct.mechanisms.tuning import RepeatAndSelect as RepeatAndSelect
from indistinct.mechanisms.tuning import Tries as Tries
from indistinct.mechanisms.tuning import repeat_and_select as repeat_and_select

__all__ = [
    name for name, one in list(globals().items()) if name[0] != "_" and not isinstance(one, _ModuleType)
]
