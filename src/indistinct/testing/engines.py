"""Laws of engines: bounds that hold overlap."""

import math
from collections.abc import Sequence

import numpy as np

from indistinct.guarantees.composed_loss import ComposedLoss
from indistinct.guarantees.engines import ENGINES, Engine, drawn
from indistinct.guarantees.guarantee import PairGuarantee
from indistinct.guarantees.tails import solve
from indistinct.testing.law import no_more, require


def check_engine(engine: Engine, guarantee: PairGuarantee, deltas: Sequence[float] = (1e-8, 1e-3)) -> None:
    """The engine answers for this guarantee, another one does too, and all that do are asked alone: the
    bounds of each on epsilon, and on delta there, must overlap with those of every other."""
    for direction in guarantee.directions:
        loss = ComposedLoss(direction.terms, direction.infinite_mass, direction.finite_top)
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
