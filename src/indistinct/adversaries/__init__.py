"""Adversaries of limited capacity: what a release leaks to someone who can only apply some functions. A
new one is one more line here."""

from indistinct.adversaries.classes import Adversary as Adversary
from indistinct.adversaries.classes import AffineMap as AffineMap
from indistinct.adversaries.classes import AnyMap as AnyMap
from indistinct.adversaries.classes import Features as Features
from indistinct.adversaries.classes import Linear as Linear
from indistinct.adversaries.classes import PiecewiseLinear as PiecewiseLinear
from indistinct.adversaries.classes import Polynomial as Polynomial
from indistinct.adversaries.classes import PolynomialMap as PolynomialMap
from indistinct.adversaries.classes import Rules as Rules
from indistinct.adversaries.classes import Unrestricted as Unrestricted
from indistinct.adversaries.closed_forms import PublishedBound as PublishedBound
from indistinct.adversaries.closed_forms import gaussian_kl as gaussian_kl
from indistinct.adversaries.closed_forms import gaussian_linear_bound as gaussian_linear_bound
from indistinct.adversaries.closed_forms import laplace_kl as laplace_kl
from indistinct.adversaries.closed_forms import laplace_linear_bound as laplace_linear_bound
from indistinct.adversaries.closed_forms import laplace_linear_kl as laplace_linear_kl
from indistinct.adversaries.closed_forms import published_gaussian_linear as published_gaussian_linear
from indistinct.adversaries.closed_forms import published_laplace_linear as published_laplace_linear
from indistinct.adversaries.closed_forms import published_matrix_mechanism as published_matrix_mechanism
from indistinct.adversaries.estimate import Estimate as Estimate
from indistinct.adversaries.estimate import estimate as estimate
from indistinct.adversaries.estimate import estimate_from as estimate_from
from indistinct.adversaries.generalization import generalization_gap as generalization_gap
from indistinct.adversaries.generalization import pinsker as pinsker
from indistinct.adversaries.generalization import published_pinsker as published_pinsker
from indistinct.adversaries.reading import Reading as Reading
from indistinct.adversaries.reading import disjoint as disjoint
from indistinct.adversaries.reading import either as either
from indistinct.adversaries.reading import sequential as sequential
