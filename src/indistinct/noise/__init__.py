"""Where randomness comes from, and the only code that turns it into noise."""

from indistinct.noise.counts import negative_binomial as negative_binomial
from indistinct.noise.counts import poisson as poisson
from indistinct.noise.samplers import bernoulli as bernoulli
from indistinct.noise.samplers import bernoulli_exp as bernoulli_exp
from indistinct.noise.samplers import discrete_gaussian as discrete_gaussian
from indistinct.noise.samplers import discrete_laplace as discrete_laplace
from indistinct.noise.samplers import flip as flip
from indistinct.noise.samplers import geometric as geometric
from indistinct.noise.samplers import random_order as random_order
from indistinct.noise.samplers import uniform_below as uniform_below
from indistinct.noise.source import KeyedSource as KeyedSource
from indistinct.noise.source import NotPrivateSource as NotPrivateSource
from indistinct.noise.source import Source as Source
from indistinct.noise.source import SystemSource as SystemSource
