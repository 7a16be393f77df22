"""How much noise each release of a plan gets, relative to the others, and of which kind: public rules."""

import math
from collections.abc import Sequence

from indistinct.mechanisms import Gaussian, calibrate
from indistinct.mechanisms.additive import Noise
from indistinct.plans.declarations import Split, Terms
from indistinct.plans.planned_release import PlannedRelease


def proportions(terms: Terms, parts: Sequence[PlannedRelease]) -> list[float]:
    """Noise scales up to a common factor."""
    if terms.split is Split.WORST_RELATIVE_ERROR:
        found = []
        for part in parts:
            # the error of a unit's worth of noise, asked where the lattice is too fine to matter
            start = part.sensitivity(terms.adjacency) * 1e3
            error, size = part.error(start), part.size
            assert error is not None and size is not None  # the plan has data.records
            found.append(start * size / error)
        return found
    root = 0.5 if terms.noise is Noise.GAUSSIAN else 1.0
    return [part.sensitivity(terms.adjacency) / part.asked.weight**root for part in parts]


Parts = tuple[PlannedRelease, ...]


def quieter(first: Parts, second: Parts) -> Parts:
    """Of the same releases with different noise, those with the smaller errors: by their ratios, whose
    product
    decides."""
    if not all(part.sensitivity(part.terms.adjacency) for part in first):
        return first  # which is refused where a plan is checked
    errors = [[math.log(one) for one in _errors(parts)] for parts in (first, second)]
    return first if sum(errors[0]) <= sum(errors[1]) else second


def _errors(parts: Sequence[PlannedRelease]) -> list[float]:
    """About those of a calibrated plan: losses of Laplace noise add up, and so do squared shifts of Gaussian
    noise."""
    terms = parts[0].terms
    shares = proportions(terms, parts)
    shifts = [part.sensitivity(terms.adjacency) / share for part, share in zip(parts, shares, strict=True)]
    if terms.noise is Noise.GAUSSIAN:
        factor = math.hypot(*shifts) * calibrate(lambda scale: Gaussian(scale), terms.budget).parameter
    else:
        factor = math.fsum(shifts) / terms.budget.limit
    scales = [factor * share for share in shares]
    return [part.error(scale) or scale for part, scale in zip(parts, scales, strict=True)]
