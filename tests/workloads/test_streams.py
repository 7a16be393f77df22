"""Streams against dense matrices and all sets of steps, for few steps."""

import math
from collections.abc import Iterator
from itertools import chain, combinations, pairwise

import numpy as np
import pytest

from indistinct import Adjacency, ArgumentError, Gaussian
from indistinct.noise import NotPrivateSource
from indistinct.testing import check_saved
from indistinct.workloads import (
    CorrelatedGaussian,
    LowerTriangularStream,
    Stream,
    ToeplitzStream,
    TreeStream,
    banded_stream,
    least_error,
    optimal_stream,
    participation,
    square_root_stream,
)

STEPS = 9
STREAMS: list[Stream] = [
    ToeplitzStream(STEPS, [1.0]),
    ToeplitzStream(STEPS, [1.0, -0.5, 0.75]),
    ToeplitzStream(STEPS, [0.5, 0.7, 0.2, 0.1]),
    square_root_stream(STEPS),
    square_root_stream(STEPS, 3),
    banded_stream(STEPS, 4),
    optimal_stream(STEPS),
    TreeStream(STEPS),
    TreeStream(8),
]


def decoder(stream: Stream) -> np.ndarray:
    """The matrix from independent noise to the noise of steps, by what becomes of unit vectors."""
    return np.array(list(stream.rows(iter(np.eye(stream.draws)))))


def encoder(stream: Stream) -> np.ndarray:
    """C, whose rows are the measurements: of a tree its blocks, in the order in which they end."""
    if not isinstance(stream, TreeStream):
        return np.linalg.inv(decoder(stream))
    blocks = []
    for end in range(1, stream.steps + 1):
        for size in (1 << level for level in range(stream.levels) if end % (1 << level) == 0):
            blocks.append((np.arange(stream.steps) < end) & (np.arange(stream.steps) >= end - size))
    return np.array(blocks, dtype=np.float64)


def sets_of_steps(steps: int, apart: int, most: int) -> Iterator[tuple[int, ...]]:
    for chosen in chain.from_iterable(combinations(range(steps), k) for k in range(1, most + 1)):
        if all(b - a >= apart for a, b in pairwise(chosen)):
            yield chosen


def truth(stream: Stream, apart: int, most: int) -> float:
    """The furthest that vectors of norm 1 move the measurements, at most: by sizes of scalar products."""
    gram = np.abs(encoder(stream).T @ encoder(stream))
    return math.sqrt(
        max(float(gram[np.ix_(one, one)].sum()) for one in sets_of_steps(stream.steps, apart, most))
    )


@pytest.mark.parametrize("stream", STREAMS, ids=str)
def test_against_dense_matrices(stream: Stream) -> None:
    c, prefix = encoder(stream), np.tril(np.ones((stream.steps, stream.steps)))
    assert np.allclose(stream.gram(), c.T @ c)
    # what is measured, decoded, is the prefix sums of what came in
    assert np.allclose(decoder(stream) @ c, np.eye(stream.steps))
    assert stream.error() == pytest.approx(((prefix @ decoder(stream)) ** 2).sum())
    check_saved(stream)
    for apart, most in ((1, 1), (1, 3), (2, 4), (3, 2), (3, 3), (4, 3), (STEPS, 5)):
        exact, stated = truth(stream, apart, most), stream.sensitivity(apart, most)
        assert stated >= exact
        toeplitz = isinstance(stream, ToeplitzStream)
        if most == 1 or (toeplitz and (apart >= stream.bands or stream in (STREAMS[0], *STREAMS[3:6]))):
            assert stated == pytest.approx(exact)
        assert stated <= 1.25 * exact
        assert least_error(stream.steps, apart, most) <= stream.root_mean_square_error(apart, most)
    assert stream.sensitivity(2, None) == stream.sensitivity(2, stream.steps)


def test_the_law_fails_where_taking_part_again_is_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(participation, "best_sums", lambda weights, apart, most: weights.max(axis=1))
    assert STREAMS[6].sensitivity(2, 4) < truth(STREAMS[6], 2, 4)


def test_known_errors() -> None:
    """The square root's and 64 bands' are those that jax-privacy 2.0 gives."""
    assert square_root_stream(1024).root_mean_square_error() == pytest.approx(3.110, abs=5e-4)
    assert banded_stream(1024, 64).root_mean_square_error() == pytest.approx(4.066, abs=5e-4)
    best, least = optimal_stream(256).root_mean_square_error(), least_error(256)
    assert least <= best <= least * (1 + 1e-6) < square_root_stream(256).root_mean_square_error()
    assert least_error(1024) == pytest.approx(2.9555, abs=1e-4)


def test_mechanism() -> None:
    stream = banded_stream(100, 10)
    run = CorrelatedGaussian(stream, 4.0, sensitivity=0.5, separation=25, participations=4)
    check_saved(run)
    moved = 2.0 * math.sqrt(float((stream.coefficients.array**2).sum())) / 2
    assert run.guarantee() != Gaussian(scale=4, sensitivity=moved).guarantee()  # rounded up
    assert run.guarantee().epsilon(1e-5) == pytest.approx(Gaussian(4, moved).guarantee().epsilon(1e-5))
    replaced = run.guarantee(Adjacency.REPLACE_ONE).epsilon(1e-5)
    assert replaced == pytest.approx(Gaussian(4, 2 * moved).guarantee().epsilon(1e-5))
    rows = np.array(list(run.noise(3000, source=NotPrivateSource(1))))
    sums = np.cumsum(rows, axis=0)
    assert rows.shape == (100, 3000)
    assert math.sqrt((sums**2).mean()) == pytest.approx(run.root_mean_square_error(), rel=0.02)
    assert (2 * run).guarantee().epsilon(1e-5) > run.guarantee().epsilon(1e-5)


@pytest.mark.parametrize(
    "make",
    [
        lambda: ToeplitzStream(3, [0.0, 1.0]),
        lambda: ToeplitzStream(2, [1.0, 1.0, 1.0]),
        lambda: ToeplitzStream(2, [math.nan]),
        lambda: LowerTriangularStream([[1.0, 1.0], [0.0, 1.0]]),
        lambda: square_root_stream(0),
        lambda: CorrelatedGaussian(TreeStream(4), 0.0),
        lambda: CorrelatedGaussian(3, 1.0),  # type: ignore[arg-type]
        lambda: TreeStream(4).sensitivity(0),
        lambda: TreeStream(4).sensitivity(1, 0),
    ],
)
def test_bad_input(make: object) -> None:
    with pytest.raises(ArgumentError):
        make()  # type: ignore[operator]
