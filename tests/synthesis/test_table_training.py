"""How a label changes what the generator makes of columns."""

from itertools import combinations

import numpy as np
import pytest

from indistinct.data import Categories
from indistinct.numerics.arrays import Array
from indistinct.synthesis.tables import Mixture, TableSynthesizer, TableTraining

pytest.importorskip("torch")

NAMES = [f"c{place}" for place in range(4)]
DESIGN = TableSynthesizer({name: Categories([0, 1, 2]) for name in [*NAMES, "y"]}, label="y")
QUICK = TableTraining(components=32, width=32, steps=80)


def tables(records: int, noise: float) -> dict[tuple[str, ...], Array]:
    """Of columns that depend on each other and on no label, which all are equally frequent: with noise."""
    draw = np.random.default_rng(1)
    kind = draw.integers(0, 3, records)
    same = draw.random((records, 4)) < 0.6
    cells = np.where(same, kind[:, None], draw.integers(0, 3, (records, 4)))
    found = {}
    for group in [*((place,) for place in range(4)), *combinations(range(4), 2)]:
        counts = np.zeros((3,) * len(group))
        np.add.at(counts, tuple(cells[:, group].T), 1.0)
        by_label = np.stack([counts / 3] * 3)
        found["y", *(NAMES[place] for place in group)] = by_label + draw.normal(0, noise, by_label.shape)
    return found


def apart(mixture: Mixture) -> float:
    """How much what a label changes differs between components, in logits."""
    logs = np.log(mixture.chances)
    changed = logs - logs.mean(axis=0)
    for part in mixture.columns:
        changed[:, :, part] -= changed[:, :, part].mean(axis=2, keepdims=True)
    return float(np.std(changed - changed.mean(axis=1, keepdims=True)))


def test_labels_that_change_nothing_have_the_same_components() -> None:
    """Not tables of two columns alone, which are fitted: those of all columns together."""
    mixture = DESIGN.mixture(tables(6000, 0.0), 5.0, QUICK)
    assert np.allclose(mixture.chances, mixture.chances[:1], atol=1e-4)
    assert np.std(mixture.chances, axis=1).max() > 0.1  # components differ from each other


def test_that_components_differ_by_label_has_a_price() -> None:
    noisy = tables(6000, 20.0)
    free, dear = (
        apart(DESIGN.mixture(noisy, 5.0, TableTraining(32, 16, 32, 300, label_price=price)))
        for price in (0.0, 1e6)
    )
    assert dear < 0.2 * free
