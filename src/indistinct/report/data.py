"""A report as data: strict JSON, in which infinity is a word."""

import math
from typing import TYPE_CHECKING, Any

from indistinct.guarantees import Guarantee

if TYPE_CHECKING:
    from indistinct.adversaries import Reading
    from indistinct.report.subject import Subject

ORDERS = (2.0, 4.0, 8.0, 16.0, 32.0)
FALSE_POSITIVE_RATES = (0.001, 0.01, 0.05, 0.1)
PRIORS = (0.01, 0.5)
CHANCES = (0.001, 0.1)
INFINITY = "infinity"


def to_data(subject: "Subject") -> dict[str, Any]:
    """Every reading of a report, as data that `json.dumps(..., allow_nan=False)` accepts."""
    guarantee = subject.guarantee
    gaussian = subject.gaussian
    asked = subject.epsilon
    belief, event = guarantee.posterior(PRIORS, beyond=subject.delta), guarantee.event(CHANCES)
    return {
        "expression": subject.expression,
        "mechanism": None if subject.mechanism is None else subject.mechanism.to_json(brief=True),
        "adjacency": guarantee.adjacency.value,
        "sampling": list(subject.sampling),
        "records": list(subject.records),
        "user": None if subject.user is None else {"column": subject.user.column, "most": subject.user.most},
        "epsilon": {"delta": subject.delta, "epsilon": number(guarantee.epsilon(subject.delta))},
        "fits": None if subject.fits is None else _fitting(subject.fits, guarantee),
        "delta": None if asked is None else {"epsilon": asked, "delta": guarantee.delta(asked)},
        "renyi": _entries(order=ORDERS, divergence=guarantee.renyi(ORDERS)),
        "tradeoff": _entries(fpr=FALSE_POSITIVE_RATES, fnr=guarantee.tradeoff(FALSE_POSITIVE_RATES)),
        "advantage": guarantee.advantage(),
        "posterior": _entries(
            prior=PRIORS, beyond=[subject.delta] * len(PRIORS), low=belief.low, high=belief.high
        ),
        "bayes_factor": {
            "beyond": subject.delta,
            "factor": number(guarantee.bayes_factor().quantile(subject.delta)),
        },
        "bayes_risk": _entries(prior=PRIORS, risk=guarantee.bayes_risk(PRIORS)),
        "event": _entries(probability=CHANCES, low=event.low, high=event.high),
        "reconstruction": _entries(baseline=CHANCES, success=event.high),
        "pure": number(guarantee.pure()),
        "against": None if subject.reading is None else _against(subject.reading),
        "gaussian": {
            "mu": number(gaussian.mu),
            "regret": number(gaussian.regret),
            "slack": gaussian.slack,
        },
    }


def _fitting(delta: float, guarantee: Guarantee) -> dict[str, float | str]:
    return {"delta": delta, "epsilon": number(guarantee.epsilon(delta))}


def _against(reading: "Reading") -> dict[str, Any]:
    """What an adversary of limited capacity can learn: upper bounds, and how far below the truth may be."""
    renyi = reading.renyi_interval(ORDERS)
    return {
        "adversary": reading.adversary.words,
        "note": reading.note,
        "every_neighbour": reading.every_neighbour,
        "kl": number(reading.kl()),
        "renyi": _entries(order=ORDERS, divergence=renyi.high, at_least=renyi.low),
    }


def _entries(**columns: Any) -> list[dict[str, float | str]]:
    """Columns of numbers as rows by name."""
    rows = zip(*columns.values(), strict=True)
    return [dict(zip(columns, map(number, row), strict=True)) for row in rows]


def number(value: float) -> float | str:
    """The value as JSON can carry it."""
    return INFINITY if math.isinf(value) else float(value)


def value_of(entry: float | str) -> float:
    """The inverse of `number`."""
    return math.inf if entry == INFINITY else float(entry)
