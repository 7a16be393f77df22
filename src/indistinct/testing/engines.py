"""Laws of engines: bounds that hold overlap."""

import math
from collections.abc import Sequence

import numpy as np

from indistinct.guarantees.composed_loss import ComposedLoss
from indistinct.guarantees.engines import ENGINES, Engine, chernoff, drawn
from indistinct.guarantees.guarantee import PairGuarantee
from indistinct.guarantees.tails import solve
from indistinct.testing.law import no_more, require


def check_engine(engine: Engine, guarantee: PairGuarantee, deltas: Sequence[float] = (1e-8, 1e-3)) -> None:
    """The engine answers for this guarantee, another one does too, and all that do are asked alone: the
    bounds of each on epsilon, and on delta there, must overlap with those of every other."""
    for direction in guarantee.directions:
        loss = ComposedLoss.of(direction.terms)
        for delta in deltas:
            level = loss.level_of(math.log(delta))
            asked = {one: drawn(one, loss, level) for one in (engine, *ENGINES)}
            tails = {one: tail for one, tail in asked.items() if tail is not None}
            require(engine in tails, "the engine answers", guarantee)
            require(len(tails) > 1, "another engine answers, or nothing would be compared", guarantee)
            bounds = np.array([solve(tail, np.log([delta]), loss.top) for tail in tails.values()])[:, :, 0]
            law = "bounds of engines overlap"
            no_more(bounds[:, 0].max(), bounds[:, 1].min(), f"{law} (epsilon)", delta)
            read = [tail.read(bounds[:1, 1]) for tail in tails.values()]
            highest = min(float(one.high[0]) for one in read)
            no_more(max(float(one.low[0]) for one in read), highest, f"{law} (log delta)", delta, tiny=1e-12)


_AROUND = np.array([0.1, 0.7, 0.97, 1.0, 1.03, 1.5])
"""Places where a tail is read, relative to where it was aimed."""


def check_engines(guarantee: PairGuarantee, level: int) -> None:
    """All that the engines know at a level overlaps, also far from where it was aimed: of two that contradict
    each other one is no bound."""
    for direction in guarantee.directions:
        loss = direction.loss
        if direction.infinite_mass >= 1:
            continue  # no loss is left to ask about
        asked = (drawn(engine, loss, level) for engine in (*ENGINES, chernoff))
        tails = [tail for tail in asked if tail is not None]
        aims = [float(solve(tail, np.array([loss.log_delta_of(level)]), loss.top)[1][0]) for tail in tails]
        found = np.array([aim for aim in aims if math.isfinite(aim)])
        epsilon = np.append(0.0, np.unique(np.outer(found, _AROUND)))
        epsilon = epsilon[epsilon < direction.finite_top]
        if epsilon.size and tails:
            read = [tail.read(epsilon) for tail in tails]
            low, high = np.max([one.low for one in read], axis=0), np.min([one.high for one in read], axis=0)
            no_more(low, high, "bounds of engines overlap (log delta)", epsilon, tiny=1e-9 * (1 + 4 * level))
