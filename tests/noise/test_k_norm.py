"""Noise in blocks: every vector has the probability that is stated."""

import itertools
import math
from collections import Counter

import numpy as np
import pytest
from scipy.stats import chi2

from indistinct.errors import ArgumentError
from indistinct.noise import KeyedSource, NotPrivateSource
from indistinct.noise.k_norm import block_noise, block_variance, sizes_in


@pytest.mark.parametrize(("blocks", "scale"), [((1, 1), 1.0), ((1, 2), 1.3), ((2,), 0.8), ((1,), 2.0)])
def test_law(blocks: tuple[int, ...], scale: float) -> None:
    draws, source, size = 6_000, NotPrivateSource(1), sum(blocks)
    seen = Counter(tuple(block_noise(blocks, scale, source).tolist()) for _ in range(draws))
    weights = {
        vector: math.exp(-sizes_in(blocks, vector) / scale)
        for vector in itertools.product(range(-14, 15), repeat=size)
    }
    whole = sum(weights.values())
    expected = {vector: draws * weight / whole for vector, weight in weights.items()}
    some = [vector for vector, number in expected.items() if number > 5]
    distance = sum((seen[vector] - expected[vector]) ** 2 / expected[vector] for vector in some)
    assert distance < chi2.ppf(1 - 1e-4, len(some))
    # a planted mistake: noise of another scale
    wrong = sum((seen[v] - expected[v] * 1.3) ** 2 / expected[v] for v in some)
    assert wrong > chi2.ppf(1 - 1e-4, len(some))


def test_variance() -> None:
    source, blocks = NotPrivateSource(2), (1, 3, 1)
    drawn = np.array([block_noise(blocks, 2.0**40, source) for _ in range(4_000)]) / 2.0**40
    np.testing.assert_allclose(drawn.var(axis=0), block_variance(blocks), rtol=0.1)
    assert block_variance((1,) * 5)[0] == pytest.approx(6 * 7 / 3)


def test_edges() -> None:
    assert block_noise((1, 4), 1e-9).tolist() == [0] * 5
    assert block_noise((2,), 1e30).dtype == object
    twice = [block_noise((1, 2), 1e6, KeyedSource(bytes(32), b"label")).tolist() for _ in range(2)]
    assert twice[0] == twice[1]
    for wrong in (0, -1, math.nan):
        with pytest.raises(ArgumentError):
            block_noise((1,), wrong)
    with pytest.raises(ArgumentError):
        block_noise((0,), 1.0)
