"""*Functional Rényi Differential Privacy for Generative Modeling* (Jiang, Sun and Yu 2023): Table 2, what the
text states, and why the guarantee of its training loop (section 4.3) does not hold.

The loop evaluates a noisy loss with noise that is drawn apart from the graph, so that a generator's gradient
is the clean one times a number: its direction is that of the private records, at any noise.
"""

import math
from typing import NamedTuple, final

import numpy as np
from scipy.special import betaincinv, ndtri

from indistinct import Gaussian
from indistinct.functions.public_randomness import PublicUniforms
from indistinct.guarantees.published import mironov_epsilon
from indistinct.numerics.arrays import Array
from indistinct.reproduce.figure import Curve, Figure, FigureTable, Panel, Printed

DELTA = 1e-5
WIDTHS = 5
"""Gaussian kernels that the published code adds up."""
# TensorFlow Privacy's, whose statement the paper's code asks for ε.
_ORDERS = (*(1 + tenths / 10 for tenths in range(1, 100)), *range(11, 64), 128, 256, 512)
_RECORDS, _MADE, _PAIRS, _CONFIDENCE = 60, 20, 50, 0.99


@final
class LoopParameters(NamedTuple):
    """A row of Table 2."""

    variant: str
    target: float
    rate: float
    noise: float
    steps: int


TABLE_2 = (
    LoopParameters("conditional", 10.0, 0.001, 0.60, 200_000),
    LoopParameters("conditional", 1.0, 0.001, 1.95, 200_000),
    LoopParameters("conditional", 0.2, 0.001, 8.00, 200_000),
    LoopParameters("parallel", 10.0, 0.010, 1.00, 20_000),
    LoopParameters("parallel", 1.0, 0.010, 5.75, 20_000),
    LoopParameters("parallel", 0.2, 0.010, 25.00, 20_000),
)


def table_2() -> Figure:
    """The ε of each row, for a loop that would release what it says: by the paper's Proposition 3, by the
    accountant that the paper used, and exactly."""
    rows, claims, orders = [], [], np.array(_ORDERS)
    for row in TABLE_2:
        loop = (row.steps * Gaussian(row.noise).subsample(row.rate)).guarantee()
        curve = np.asarray(loop.renyi(orders))
        plain = np.array([mironov_epsilon(a, g, DELTA) for a, g in zip(_ORDERS, curve, strict=True)])
        # TensorFlow Privacy converts by Canonne, Kamath and Steinke 2020, Proposition 12
        used = float((plain + np.log1p(-1 / orders) - np.log(orders) / (orders - 1)).min())
        exact, above = loop.epsilon(DELTA), ", above it before rounding" if used > row.target else ""
        rows.append((*row, float(plain.min()), used, exact))
        claims.append(
            Printed(
                f"{row.variant}: {row.steps} steps, q = {row.rate:g}, σ = {row.noise:g}: ε = {row.target:g}",
                f"{used:.4f} by the paper's accountant{above}",
                round(used, 1) <= row.target,
                f"if the loop released what it says: exact {exact:.4f}",
            )
        )
    read = ("ε by Proposition 3", "ε by the paper's accountant", "ε exactly")
    columns = ("variant", "target ε", "q", "σ", "steps", *read)
    return Figure(table=FigureTable(columns, tuple(rows)), claims=tuple(claims))


def text() -> Figure:
    """What section 4.3 says of its loop, and an attacker who looks at gradients."""
    attacked = _Attack()
    tries = np.unique(np.geomspace(10, 10_000, 25).astype(int))
    lines, shown = [], {}
    for role, noise in (("first", 1.0), ("second", 1e2), ("third", 1e6)):
        scores = attacked.published(noise, int(tries[-1]))
        bounds = np.array([refuted(*(some[:count] for some in scores)) for count in tries])
        shown[noise] = bounds[-1]
        lines.append(Curve(f"published step, σ = {noise:g}", tries, bounds, role, dashed=role != "first"))
    stated = Gaussian(1.0).guarantee().epsilon(DELTA)
    scores = attacked.released(1.0, int(tries[-1]))
    sound = np.array([refuted(*(some[:count] for some in scores)) for count in tries])
    lines.append(Curve("step with one path, σ = 1", tries, sound, "fourth"))
    lines.append(Curve("ε of σ = 1, as stated", tries, np.full(len(tries), stated), "exact", dashed=True))
    direction = attacked.least_cosine(1e6)
    printed, meant = zip(*(_covariances(row.noise) for row in TABLE_2), strict=True)
    claims = (
        Printed(
            "a step of the loop with σ = 1 is as private as Gaussian noise",
            f"ε = {shown[1.0]:.2f} refuted with {_CONFIDENCE:.0%} confidence by {tries[-1]} steps",
            bool(shown[1.0] <= stated),
            f"stated {stated:.3f}; what is refuted grows with the number of tries alone",
        ),
        Printed(
            "a step with more noise is more private",
            f"σ = 100: {shown[1e2]:.2f} refuted, σ = 1e6: {shown[1e6]:.2f}",
            bool(shown[1e6] < shown[1.0]),
            f"the noisy gradient has the clean one's direction: cosine {direction:.9f} at σ = 1e6",
        ),
        Printed(
            "Corollary 2: f + σΔG, one path for values and gradients, is private",
            f"ε = {sound[-1]:.2f} refuted of {stated:.3f}",
            bool(sound[-1] <= stated),
            "a finite-rank kernel for signal and noise, evaluated at generated points",
        ),
        Printed(
            "equation 8 draws the noise of Corollary 2",
            f"its covariance is {min(np.divide(printed, meant)):.2f} to {max(np.divide(printed, meant)):.1f} "
            "times that, by rows of Table 2",
            all(math.isclose(one, other) for one, other in zip(printed, meant, strict=True)),
            "σΔ where (σΔ)² is meant; the published code has it so",
        ),
        Printed(
            "section 4.3: ‖f_D - f_D'‖ ≤ √2/N for a Gaussian kernel",
            f"{attacked.furthest():.6f} √2/N for images far apart",
            attacked.furthest() <= 1,
            "N is the realised size of the batch in the code, which is private",
        ),
    )
    panel = Panel(
        "with and without one record",
        "steps seen",
        "ε refuted",
        tuple(lines),
        x_log=True,
        y_range=(0, 9),
        legend="upper left",
    )
    note = (
        f"Lower bounds with {_CONFIDENCE:.0%} confidence at δ = 10⁻⁵, by an attacker who knows all other "
        f"records and sees gradients of {_MADE} generated points; a batch of {_RECORDS}."
    )
    return Figure((panel,), claims, note=note)


def refuted(without: Array, with_it: Array) -> float:
    """The ε that the scores of two neighbours refute: rates of scores above 0 by Clopper and Pearson 1934."""
    total, tail = len(without), (1 - _CONFIDENCE) / 2
    hits, alarms = int((with_it > 0).sum()), int((without > 0).sum())
    low = float(betaincinv(hits, total - hits + 1, tail)) if hits else 0.0
    high = float(betaincinv(alarms + 1, total - alarms, 1 - tail)) if alarms < total else 1.0
    return max(math.log((low - DELTA) / high), 0.0) if low > DELTA else 0.0


def _covariances(noise: float) -> tuple[float, float]:
    """What the noise's covariance is to the Gram matrix: as equation 8 has it, and as Corollary 2 does."""
    scale = noise * math.sqrt(2 * WIDTHS) / _RECORDS
    return scale, scale**2


@final
class _Attack:
    """Records that are all black, with and without a white one, and points made by a generator."""

    def __init__(self) -> None:
        uniform = PublicUniforms(2023)
        self.numbers = 16
        black, white = np.zeros((_RECORDS - 1, self.numbers)), np.full((1, self.numbers), 1.0)
        self.both = black, np.vstack([black, white])
        self.made = uniform.draw(_MADE, self.numbers)
        self.length = 2.0
        self.frequencies = ndtri(uniform.draw(self.numbers, _PAIRS)) / self.length
        self.normal = PublicUniforms(7)

    def _draw(self, *shape: int) -> Array:
        drawn: Array = ndtri(self.normal.draw(*shape))
        return drawn

    def _gram(self, points: Array, others: Array) -> Array:
        apart = ((points[:, None] - others[None]) ** 2).sum(axis=2)
        gram: Array = np.exp(-apart / (2 * self.length**2))
        return gram

    def _clean(self, records: Array) -> tuple[float, float, Array]:
        """Equation 6, the variance that equation 8 adds where σ is 1, and the gradient at what is made."""
        n, made = len(records), self.made
        points = np.vstack([records, made])
        gram = self._gram(points, points)
        weights = np.concatenate([np.full(n, 1 / n), np.full(_MADE, -1 / _MADE)])
        noisy = np.concatenate([np.full(n, 1 / n), np.full(_MADE, -2 / _MADE)])
        variance = math.sqrt(2) / n * float(noisy @ gram @ noisy)
        pull = (gram * weights)[n:, :, None] * (made[:, None] - points[None])
        gradient = 2 / _MADE * pull.sum(axis=1) / self.length**2
        return float(weights @ gram @ weights), variance, gradient.ravel()

    def published(self, noise: float, tries: int) -> tuple[Array, Array]:
        """Scores without and with the record: which of the two clean directions the gradient has."""
        values = [self._clean(records) for records in self.both]
        ways = [gradient / np.linalg.norm(gradient) for _, _, gradient in values]
        scores = []
        for value, variance, gradient in values:
            loss = value + math.sqrt(noise * variance) * self._draw(tries)
            seen = 2 * loss[:, None] * gradient  # of the loss's square, as in the published code
            size = np.linalg.norm(seen, axis=1)
            one, other = (np.abs(seen @ way) / size for way in ways)
            scores.append(other - one)
        return scores[0], scores[1]

    def least_cosine(self, noise: float) -> float:
        """Of the noisy gradient with the clean one, up to its sign."""
        value, variance, gradient = self._clean(self.both[1])
        loss = value + math.sqrt(noise * variance) * self._draw(1000)
        seen = 2 * loss[:, None] * gradient
        cosine = np.abs(seen @ gradient) / np.linalg.norm(seen, axis=1) / np.linalg.norm(gradient)
        return float(cosine.min())

    def released(self, noise: float, tries: int) -> tuple[Array, Array]:
        """Scores of gradients of -2⟨released sum, features of what is made⟩ where the sum of features, of
        length 1 for each record, has Gaussian noise: the best linear test of the two means."""
        height = 1 / math.sqrt(_PAIRS)

        def features(points: Array) -> Array:
            phases = points @ self.frequencies
            return np.hstack([np.cos(phases), np.sin(phases)]) * height

        phases = self.made @ self.frequencies
        slopes = np.stack([-np.sin(phases), np.cos(phases)], axis=1) * height  # [made, 2, pairs]
        pull = np.einsum("mkp,np->mnkp", slopes, self.frequencies).reshape(_MADE * self.numbers, -1)
        pull *= -2 / _MADE / _RECORDS
        sums = [features(records).sum(axis=0) for records in self.both]
        shift = pull @ (sums[1] - sums[0])
        test = np.linalg.pinv(pull @ pull.T, rcond=1e-9, hermitian=True) @ shift
        # one deviation beyond the mean with the record: at a small δ alarms must be few
        threshold = pull @ sums[0] @ test + test @ shift + noise * math.sqrt(test @ shift)
        without, with_it = (
            (total + noise * self._draw(tries, len(total))) @ pull.T @ test - threshold for total in sums
        )
        return without, with_it

    def furthest(self) -> float:
        """‖f_D - f_D'‖ over √2/N, of records that are replaced by others far away."""
        far = np.vstack([np.zeros((1, self.numbers)), np.full((1, self.numbers), 1e3)])
        gram = self._gram(far, far)
        return math.sqrt(gram[0, 0] - 2 * gram[0, 1] + gram[1, 1]) / math.sqrt(2)
