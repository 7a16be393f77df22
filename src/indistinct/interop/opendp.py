"""To OpenDP and from it: a mechanism of this library as a measurement, and a measurement as a guarantee."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from indistinct.adjacency import Adjacency, check_adjacency
from indistinct.errors import ArgumentError, check_count, needs
from indistinct.guarantees import (
    ApproxDP,
    Guarantee,
    PrivacyProfile,
    PureDP,
    RenyiCurve,
    ZeroConcentratedDP,
)
from indistinct.mechanisms import Mechanism

_NEIGHBOURS = {
    "SymmetricDistance": Adjacency.ADD_REMOVE,
    "InsertDeleteDistance": Adjacency.ADD_REMOVE,
    "ChangeOneDistance": Adjacency.REPLACE_ONE,
    "HammingDistance": Adjacency.REPLACE_ONE,
}
"""Metrics that count records: neighbours are data at distance 1."""
_SMALL, _POINTS = 1e-15, 129
_ORDERS = 1 + np.geomspace(1e-2, 1e4, 128)


def to_measurement(
    mechanism: Mechanism, input_domain: Any, input_metric: Any, function: Callable[[Any], Any]
) -> Any:
    """A measurement of OpenDP whose privacy map is the privacy profile of a mechanism: exact, and for k
    records that change together that of a group of k.

    `function` runs the mechanism: on data of `input_domain` it must do what `mechanism` says. OpenDP cannot
    see whether it does, and wants its features "contrib" and "honest-but-curious" enabled.
    """
    with needs("opendp"):
        from opendp.measurements import make_user_measurement
        from opendp.measures import new_privacy_profile, smoothed_max_divergence

    guarantee = mechanism.guarantee(_neighbours(input_metric))

    def privacy_map(records: Any) -> Any:
        size = check_count("d_in", records)
        known = guarantee.group(size) if size else 0 * guarantee
        return new_privacy_profile(lambda epsilon: float(known.delta(epsilon))).curve

    return make_user_measurement(
        input_domain, input_metric, smoothed_max_divergence(), function, privacy_map, TO="ExtrinsicObject"
    )


def from_measurement(
    measurement: Any, d_in: Any = 1, *, adjacency: Adjacency | str | None = None
) -> Guarantee:
    """What a measurement of OpenDP claims of data at distance `d_in`, as a guarantee: to be composed with
    others, and read in every way. If its input metric does not count records (it may be of sums) say which
    neighbours are at that distance.
    """
    metric = measurement.input_metric
    known = _neighbours(metric) if adjacency is None else check_adjacency(adjacency)
    if adjacency is not None and _NEIGHBOURS.get(_name(metric), known) is not known:
        raise ArgumentError("adjacency", known.value, f"that of {metric}")
    measure, loss = str(measurement.output_measure), measurement.map(d_in)
    match measure:
        case "MaxDivergence":
            return PureDP(loss, adjacency=known)
        case "Approximate(MaxDivergence)":
            return ApproxDP(*loss, adjacency=known)
        case "ZeroConcentratedDivergence":
            return ZeroConcentratedDP(loss, adjacency=known)
        case "Approximate(ZeroConcentratedDivergence)":
            rho, delta = loss
            if delta == 1:
                return ApproxDP(0.0, 1.0, adjacency=known)
            # with probability delta all is told; that it was not changes odds by 1/(1-delta) at most
            rare = ApproxDP(-math.log1p(-delta) * (1 + 1e-15), delta, adjacency=known)
            return ZeroConcentratedDP(rho, adjacency=known) + rare
        case "SmoothedMaxDivergence":
            return _profile(loss, known)
        case "RenyiDivergence":
            return RenyiCurve(_ORDERS, [float(loss(order)) for order in _ORDERS.tolist()], adjacency=known)
    raise ArgumentError("measurement", measure, "one with a divergence that is known here")


def _profile(loss: Any, adjacency: Adjacency) -> Guarantee:
    """Points of a curve, from 0 to where it is small: each is a claim, and together they say nearly as
    much."""
    ends = (float(loss.epsilon(delta)) for delta in (_SMALL, 1e-6, 0.1))
    reach = next((end for end in ends if end < math.inf), None)
    if reach is None:
        return ApproxDP(0.0, 1.0, adjacency=adjacency)
    epsilons = np.linspace(0.0, reach, _POINTS).tolist() if reach else [0.0]
    return PrivacyProfile(epsilons, [float(loss.delta(one)) for one in epsilons], adjacency=adjacency)


def _neighbours(metric: Any) -> Adjacency:
    if _name(metric) not in _NEIGHBOURS:
        raise ArgumentError("input_metric", str(metric), f"one that counts records: {', '.join(_NEIGHBOURS)}")
    return _NEIGHBOURS[_name(metric)]


def _name(metric: Any) -> str:
    return str(metric).split("(")[0]
