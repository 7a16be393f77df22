"""Closed forms and theorems as papers print them, by name.

For reproduction and comparison. Each function cites its theorem, says where it is valid and refuses to
answer elsewhere. The library itself uses none of them: its own readings (`epsilon`, `delta`, `tradeoff`,
`event`, and `+` and `*` for composition) are at least as tight, and for known pairs exact.
"""

from indistinct.guarantees.published.asoodeh import asoodeh_divergence as asoodeh_divergence
from indistinct.guarantees.published.asoodeh import asoodeh_epsilon as asoodeh_epsilon
from indistinct.guarantees.published.asoodeh import asoodeh_free_deltas as asoodeh_free_deltas
from indistinct.guarantees.published.asoodeh import asoodeh_gaussian_epsilon as asoodeh_gaussian_epsilon
from indistinct.guarantees.published.asoodeh import asoodeh_gaussian_variance as asoodeh_gaussian_variance
from indistinct.guarantees.published.asoodeh import asoodeh_kullback_tradeoff as asoodeh_kullback_tradeoff
from indistinct.guarantees.published.asoodeh import asoodeh_least_divergence as asoodeh_least_divergence
from indistinct.guarantees.published.asoodeh import asoodeh_profile_tradeoff as asoodeh_profile_tradeoff
from indistinct.guarantees.published.asoodeh import asoodeh_renyi as asoodeh_renyi
from indistinct.guarantees.published.asoodeh import asoodeh_tradeoff as asoodeh_tradeoff
from indistinct.guarantees.published.asoodeh import moments_accountant_delta as moments_accountant_delta
from indistinct.guarantees.published.asoodeh import moments_accountant_epsilon as moments_accountant_epsilon
from indistinct.guarantees.published.asoodeh import noisy_sgd_largest_order as noisy_sgd_largest_order
from indistinct.guarantees.published.asoodeh import noisy_sgd_rho as noisy_sgd_rho
from indistinct.guarantees.published.composition import advanced_composition as advanced_composition
from indistinct.guarantees.published.composition import basic_composition as basic_composition
from indistinct.guarantees.published.composition import kairouz_composition as kairouz_composition
from indistinct.guarantees.published.composition import kairouz_optimal as kairouz_optimal
from indistinct.guarantees.published.mironov import gaussian_renyi as gaussian_renyi
from indistinct.guarantees.published.mironov import laplace_renyi as laplace_renyi
from indistinct.guarantees.published.mironov import (
    mironov_advanced_composition as mironov_advanced_composition,
)
from indistinct.guarantees.published.mironov import mironov_epsilon as mironov_epsilon
from indistinct.guarantees.published.mironov import mironov_event as mironov_event
from indistinct.guarantees.published.mironov import mironov_group as mironov_group
from indistinct.guarantees.published.mironov import mironov_pure_event as mironov_pure_event
from indistinct.guarantees.published.mironov import mironov_pure_renyi as mironov_pure_renyi
from indistinct.guarantees.published.mironov import randomized_response_renyi as randomized_response_renyi

__all__ = sorted(name for name, one in globals().items() if name[0] != "_" and callable(one))
