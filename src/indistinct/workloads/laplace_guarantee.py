"""What is known of Laplace noise on all measurements of a strategy at once.

Limited adversaries. Measurements are all chosen before the first is seen, so no question of adaptivity
arises. Against linear functions, with y the noise and v the shift, e^{(order-1) D(v)} is the supremum over c
and w of |c + w·v|^order / (E|c + w·y|^A)^{order-1}: convex in v, as a supremum of convex functions, and
likewise for the divergence of Kullback and Leibler. So it is largest, over all v of L1 norm Δ, where one
coordinate moves by Δ.
"""

from dataclasses import dataclass
from typing import Any

from indistinct.adversaries import Linear
from indistinct.guarantees.guarantee import ExactGuarantee, GuaranteeReader, PairsGuarantee


@dataclass(frozen=True)
class MeasuredAtOnce(PairsGuarantee):
    """The guarantee of one vector of measurements; composed, it is that of its parts like any other."""

    worst: ExactGuarantee | None = None
    """One number that moves by the whole L1 sensitivity, where columns differ."""

    def against(self, adversary: GuaranteeReader[Any], *, adaptive: bool = True) -> Any:
        if self.worst is not None and isinstance(adversary, Linear):
            return self.worst.against(adversary)
        if self.worst is not None and not getattr(adversary, "every_neighbour", True):
            # measurements that move further than any neighbour's bound only classes that see more of those
            return self.postprocessed().against(adversary)
        return super().against(adversary, adaptive=False)
