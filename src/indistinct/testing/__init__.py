"""The laws that mechanisms, guarantees, pairs of distributions, engines and adversaries keep, for your own
tests.

Each check raises an AssertionError that says which law was broken, where, and by how much. They need nothing
but the library, and they are the ones that test it.

>>> from indistinct import Laplace
>>> from indistinct.testing import check_mechanism, check_noise
>>> check_mechanism(Laplace(scale=2, sensitivity=3))
>>> check_noise(Laplace(scale=2), lambda x: 2.718281828459045 ** -abs(x / 2) / 4, shift=1, reach=120)
>>> check_noise(Laplace(scale=2), lambda x: 2.718281828459045 ** -abs(x), shift=1, reach=120)
Traceback (most recent call last):
AssertionError: the density has mass 1 between -120 and 120: 2
"""

from indistinct.testing.adversaries import check_adversary as check_adversary
from indistinct.testing.engines import check_engine as check_engine
from indistinct.testing.engines import check_engines as check_engines
from indistinct.testing.guarantees import check_directions as check_directions
from indistinct.testing.guarantees import check_edges as check_edges
from indistinct.testing.guarantees import check_guarantee as check_guarantee
from indistinct.testing.guarantees import check_intervals as check_intervals
from indistinct.testing.guarantees import check_no_less as check_no_less
from indistinct.testing.guarantees import check_only_the_request_matters as check_only_the_request_matters
from indistinct.testing.guarantees import check_profile as check_profile
from indistinct.testing.guarantees import check_renyi as check_renyi
from indistinct.testing.guarantees import check_tradeoff as check_tradeoff
from indistinct.testing.guarantees import check_truth as check_truth
from indistinct.testing.mechanisms import check_mechanism as check_mechanism
from indistinct.testing.mechanisms import check_noise as check_noise
from indistinct.testing.mechanisms import check_release as check_release
from indistinct.testing.mechanisms import check_saved as check_saved
from indistinct.testing.mechanisms import integrated as integrated
from indistinct.testing.pairs import check_pair as check_pair
