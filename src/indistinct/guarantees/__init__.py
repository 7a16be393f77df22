"""Guarantees: what is known about telling neighbouring data sets apart.

Nothing here knows that mechanisms exist.
"""

from indistinct.guarantees.alternatives import mixture as mixture
from indistinct.guarantees.alternatives import parallel as parallel
from indistinct.guarantees.curves import PrivacyProfile as PrivacyProfile
from indistinct.guarantees.curves import TradeoffCurve as TradeoffCurve
from indistinct.guarantees.gaussian_report import GaussianReport as GaussianReport
from indistinct.guarantees.guarantee import ExactGuarantee as ExactGuarantee
from indistinct.guarantees.guarantee import Guarantee as Guarantee
from indistinct.guarantees.readings import Interval as Interval
from indistinct.guarantees.stated import ApproxDP as ApproxDP
from indistinct.guarantees.stated import GaussianDP as GaussianDP
from indistinct.guarantees.stated import PureDP as PureDP
from indistinct.guarantees.stated import RenyiCurve as RenyiCurve
from indistinct.guarantees.stated import ZeroConcentratedDP as ZeroConcentratedDP
