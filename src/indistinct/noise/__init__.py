"""Where randomness comes from, and the only code that turns it into noise."""

from indistinct.noise.counts import negative_binomial, poisson
from indistinct.noise.samplers import (
    bernoulli,
    bernoulli_exp,
    discrete_gaussian,
    discrete_laplace,
    flip,
    geometric,
    random_order,
    uniform_below,
)
from indistinct.noise.source import KeyedSource, NotPrivateSource, Source, SystemSource

__all__ = [
    "KeyedSource",
    "NotPrivateSource",
    "Source",
    "SystemSource",
    "bernoulli",
    "bernoulli_exp",
    "discrete_gaussian",
    "discrete_laplace",
    "flip",
    "geometric",
    "negative_binomial",
    "poisson",
    "random_order",
    "uniform_below",
]
