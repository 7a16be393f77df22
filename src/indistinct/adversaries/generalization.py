"""Generalization: an analyst who cannot be told apart from one who saw other data does not overfit to it."""

import math

from indistinct.adjacency import Adjacency
from indistinct.adversaries.classes import Adversary, Unrestricted
from indistinct.errors import ArgumentError, check_nonnegative, check_positive
from indistinct.guarantees.guarantee import Guarantee


def pinsker(kl: float, width: float = 2.0) -> float:
    """The most by which E_P h and E_Q h differ for an h of the class that varies by at most `width`.

    width sqrt(KL/2). Chaudhuri, Imola and Machanavajjhala 2019, Theorem 7, has 8 sqrt(KL) for width 2 and
    asks for a class with values in [-1, 1] that is translation invariant, which none is (read: every h varies
    by at most 2). A class that is closed under scaling has Pinsker's own constant: KL is at least
    t (E_P h - E_Q h) - log E_Q e^{t (h - E_Q h)} for every t, and the logarithm at most t² width² / 8
    (Hoeffding's lemma).

    >>> pinsker(0.02, width=1)
    0.1
    """
    return check_positive("width", width) * math.sqrt(check_nonnegative("kl", kl, finite=False) / 2)


def published_pinsker(kl: float) -> float:
    """8 sqrt(KL) for functions that vary by at most 2 (Theorem 7, as read above); valid, and 5.7 times as
    large as `pinsker`."""
    return 8 * math.sqrt(check_nonnegative("kl", kl, finite=False))


def generalization_gap(
    guarantee: Guarantee,
    adversary: Adversary | None = None,
    *,
    width: float = 1.0,
    adaptive: bool = True,
) -> float:
    """The most by which a query that a mechanism chose from a sample is expected to do better on the sample
    than on fresh data, at most (Chaudhuri, Imola and Machanavajjhala 2019, Theorem 6).

    The mechanism's output names the query q; for every record x the map q -> q(x) must be in the adversary's
    class and vary by at most `width` (1 for values in [0, 1]). Linear queries of a released vector meet
    `Linear()`. Of this, only what can be checked is checked: that the class has one reading for all
    neighbours. A guarantee for replace-one is used as it is; one for add/remove twice, once to remove the
    record and once to add the other.

    >>> from indistinct import Adjacency, Gaussian, Linear
    >>> noisy = Gaussian(scale=20).guarantee(Adjacency.REPLACE_ONE)
    >>> generalization_gap(noisy, Linear())
    0.025
    """
    if not isinstance(guarantee, Guarantee):
        raise ArgumentError("guarantee", guarantee, "a guarantee: what `mechanism.guarantee()` returns")
    against = Unrestricted() if adversary is None else adversary
    if not isinstance(against, Adversary):
        raise ArgumentError("adversary", adversary, "an adversary such as Linear()")
    reading = guarantee.against(against, adaptive=adaptive)
    if not reading.every_neighbour:
        raise ArgumentError("adversary", str(against), "a class whose reading holds for every neighbour")
    steps = 1 if guarantee.adjacency is Adjacency.REPLACE_ONE else 2
    return min(steps * pinsker(reading.kl(), width), width)
