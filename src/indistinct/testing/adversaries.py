"""Laws of adversaries of limited capacity."""

from collections.abc import Sequence

from indistinct.adversaries.classes import Adversary, Unrestricted
from indistinct.guarantees.guarantee import Guarantee
from indistinct.testing.law import no_more, require, same_bits

_ORDERS = [1.0, 1.5, 2.0, 4.0]


def check_adversary(
    adversary: Adversary, guarantee: Guarantee, *, smaller: Sequence[Adversary] = (), slack: float = 1e-6
) -> None:
    """An adversary learns no more than one who may apply all functions, no less than those of `smaller`
    classes, and its readings are intervals that do not depend on what was asked before."""
    require(bool(adversary.words), "an adversary says who it is", adversary)
    reading, all_functions = (guarantee.against(one, adaptive=False) for one in (adversary, Unrestricted()))
    found = reading.renyi_interval(_ORDERS)
    require(found.low >= 0, "a divergence is at least 0", found)
    no_more(found.low, found.high, "an interval has its ends in order", _ORDERS)
    law = "an adversary learns no more than all functions do"
    no_more(found.high, all_functions.renyi(_ORDERS), law, _ORDERS, slack=slack, tiny=1e-12)
    no_more(reading.total_variation(), guarantee.advantage(), law, slack=slack, tiny=1e-12)
    require(reading.kl() == reading.renyi(1.0), "order 1 is the Kullback-Leibler divergence", reading.kl())
    same_bits(reading.renyi(_ORDERS), found.high, "asked again it says the same")
    for other in smaller:
        known = guarantee.against(other, adaptive=False).renyi_interval(_ORDERS).low
        no_more(
            known, found.high, f"an adversary learns no less than {other}", _ORDERS, slack=slack, tiny=1e-12
        )
