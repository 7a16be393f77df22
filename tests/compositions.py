"""Random compositions, as expressions: what a failing test prints can be pasted into `parse_guarantee`.

Mixed on purpose are losses on lattices, which an integral along a line sees again and again at ever higher
frequencies, with weak smooth ones, which hide that; and sampling so rare that no tilted law shows it.
"""

import math

from hypothesis import strategies as st

from indistinct import Guarantee, parse_guarantee


def log_uniform(low: float, high: float) -> st.SearchStrategy[float]:
    """A number of three digits, evenly by its logarithm."""
    return st.floats(math.log(low), math.log(high)).map(lambda x: float(f"{math.exp(x):.3g}"))


@st.composite
def _calls(draw: st.DrawFn, pattern: str, **values: st.SearchStrategy[float]) -> str:
    return pattern.format(**{name: draw(value) for name, value in values.items()})


deltas = st.floats(-12, math.log10(0.3)).map(lambda x: float(f"{10**x:.3g}"))
tiny_deltas = st.floats(-30, math.log10(0.3)).map(lambda x: float(f"{10**x:.3g}"))
epsilons = st.floats(0, 8).map(lambda x: round(x, 3))

counts = log_uniform(1, 100).map(round)
truths = st.floats(0.505, 0.9).map(lambda x: round(x, 3))
whole = st.integers(1, 3)

ON_A_LATTICE = (
    _calls("{n} * randomized_response({truth})", n=counts, truth=truths),
    _calls("{n} * randomized_response({truth}, categories=5)", n=counts, truth=truths),
    _calls(
        "{n} * discrete_gaussian({scale}, sensitivity={shift})",
        n=whole,
        scale=log_uniform(0.5, 6),
        shift=whole,
    ),
    _calls(
        "{n} * discrete_laplace({scale}, sensitivity={shift})",
        n=counts,
        scale=log_uniform(1, 20),
        shift=whole,
    ),
    _calls("discrete([0.7, 0.2, 0.1], [0.4, 0.25, 0.35]).subsample({rate})", rate=log_uniform(1e-3, 1)),
    _calls(
        "{n} * randomized_response({truth}).subsample({rate})",
        n=counts,
        truth=truths,
        rate=log_uniform(1e-3, 1),
    ),
)
WEAK = (
    _calls("gaussian({scale})", scale=log_uniform(10, 2000)),
    _calls("laplace({scale})", scale=log_uniform(10, 2000)),
    _calls("{n} * gaussian(4).subsample({rate})", n=counts, rate=log_uniform(1e-4, 1e-2)),
)
SAMPLED = (
    _calls(
        "{n} * gaussian({scale}).subsample({rate})",
        n=log_uniform(1, 20_000).map(round),
        scale=log_uniform(0.6, 8),
        rate=log_uniform(1e-6, 0.1),
    ),
    _calls(
        "{n} * laplace({scale}).subsample({rate})",
        n=counts,
        scale=log_uniform(1, 10),
        rate=log_uniform(1e-3, 0.3),
    ),
)
GROUPS = (
    _calls("({n} * laplace({scale})).group({k})", n=whole, scale=log_uniform(5, 50), k=whole),
    _calls(
        "gaussian({scale}).subsample({rate}).group(2)", scale=log_uniform(1, 5), rate=log_uniform(1e-3, 0.3)
    ),
)
CLAIMS = (
    _calls("pure({epsilon})", epsilon=log_uniform(0.01, 2)),
    _calls("approx({epsilon}, {delta})", epsilon=log_uniform(0.01, 2), delta=log_uniform(1e-10, 1e-3)),
    _calls("gdp({mu})", mu=log_uniform(0.01, 2)),
)


def sums(*kinds: st.SearchStrategy[str], most: int = 3) -> st.SearchStrategy[str]:
    return st.lists(st.one_of(*kinds), min_size=1, max_size=most).map(" + ".join)


HARSH = (
    _calls(
        "{n} * gaussian({scale}).subsample({rate})",
        n=log_uniform(1, 1e5).map(round),
        scale=log_uniform(0.3, 30),
        rate=log_uniform(1e-8, 0.9),
    ),
    _calls("{n} * gaussian({scale})", n=log_uniform(1, 1e5).map(round), scale=log_uniform(0.3, 30)),
    _calls("{n} * laplace({scale})", n=log_uniform(1, 1e4).map(round), scale=log_uniform(0.3, 100)),
    _calls(
        "{n} * discrete_gaussian({scale}).subsample({rate})",
        n=counts,
        scale=log_uniform(0.5, 20),
        rate=log_uniform(1e-6, 0.9),
    ),
    _calls("{n} * randomized_response({truth})", n=log_uniform(1, 1e4).map(round), truth=truths),
)
"""Rates, counts and scales over many sizes: the largest losses are beyond e^700, the rarest never seen."""
drawn = _calls("random_shift({scale}, [0, 1, 2], [0.5, 0.3, 0.2])", scale=log_uniform(0.8, 8))
without_replacement = _calls(
    "{n} * gaussian({scale}).subsample({some}, of={all})",
    n=log_uniform(1, 1e3).map(round),
    scale=log_uniform(0.4, 20),
    some=st.integers(1, 50),
    all=st.integers(1000, 100_000),
)

anything = sums(*ON_A_LATTICE, *WEAK, *SAMPLED, *GROUPS, *CLAIMS)
harsh = st.one_of(sums(*HARSH), without_replacement)
lattices = sums(*ON_A_LATTICE)
weak = st.one_of(*WEAK)
beside = st.one_of(*WEAK, *SAMPLED)


def fresh(text: str) -> Guarantee:
    """A guarantee that has not been read."""
    return parse_guarantee(text)
