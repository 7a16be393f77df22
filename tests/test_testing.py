"""The laws that ship with the library: what is right keeps them, and each of them sees a planted mistake."""

from cases import SINGLE, Case, each

from indistinct import Mechanism
from indistinct.testing import check_mechanism

KNOWN = [case for case in SINGLE if case.truth]


@each(KNOWN)
def test_what_is_known_otherwise(case: Case) -> None:
    assert isinstance(case.subject, Mechanism)
    check_mechanism(case.subject, case.adjacency, truth=case.truth, neighbours=case.neighbours)
