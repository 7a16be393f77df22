"""Closed forms and theorems as papers print them, by name.

For reproduction and comparison. Each function cites its theorem, says where it is valid and refuses to
answer elsewhere. The library itself uses none of them: its own readings (`epsilon`, `delta`, `tradeoff`,
`event`, and `+` and `*` for composition) are at least as tight, and for known pairs exact.
"""

from indistinct.guarantees.published.asoodeh import (
    asoodeh_divergence,
    asoodeh_epsilon,
    asoodeh_free_deltas,
    asoodeh_gaussian_epsilon,
    asoodeh_gaussian_variance,
    asoodeh_kullback_tradeoff,
    asoodeh_least_divergence,
    asoodeh_profile_tradeoff,
    asoodeh_renyi,
    asoodeh_tradeoff,
    moments_accountant_delta,
    moments_accountant_epsilon,
    noisy_sgd_largest_order,
    noisy_sgd_rho,
)
from indistinct.guarantees.published.composition import (
    advanced_composition,
    basic_composition,
    kairouz_composition,
    kairouz_optimal,
)
from indistinct.guarantees.published.mironov import (
    gaussian_renyi,
    laplace_renyi,
    mironov_advanced_composition,
    mironov_epsilon,
    mironov_event,
    mironov_group,
    mironov_pure_event,
    mironov_pure_renyi,
    randomized_response_renyi,
)

__all__ = [
    "advanced_composition",
    "asoodeh_divergence",
    "asoodeh_epsilon",
    "asoodeh_free_deltas",
    "asoodeh_gaussian_epsilon",
    "asoodeh_gaussian_variance",
    "asoodeh_kullback_tradeoff",
    "asoodeh_least_divergence",
    "asoodeh_profile_tradeoff",
    "asoodeh_renyi",
    "asoodeh_tradeoff",
    "basic_composition",
    "gaussian_renyi",
    "kairouz_composition",
    "kairouz_optimal",
    "laplace_renyi",
    "mironov_advanced_composition",
    "mironov_epsilon",
    "mironov_event",
    "mironov_group",
    "mironov_pure_event",
    "mironov_pure_renyi",
    "moments_accountant_delta",
    "moments_accountant_epsilon",
    "noisy_sgd_largest_order",
    "noisy_sgd_rho",
    "randomized_response_renyi",
]
