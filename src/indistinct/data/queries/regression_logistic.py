"""Logistic regression from second moments.

The likelihood equations of logistic regression, sum of y x = sum of E[y | x] x, ask for the products of the
response, which are measured, and for the distribution of the columns. In place of the records' own, the
right side has the one of largest entropy with the moments that are measured, as closely as noise lets one
tell them (Jaynes 1957; with noise, Dudík, Phillips and Schapire 2007). So the coefficients are those of
maximum likelihood where the columns have no structure beside what is measured, and close to them elsewhere.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.linalg import cho_solve, solve_triangular

from indistinct.data.queries.regression_fits import _NORMAL, Centre, Whitened, heavy_quantile
from indistinct.data.queries.regression_sums import Array, Axis, TermProducts, curve
from indistinct.data.records.domain import Categories, Numbers
from indistinct.errors import ArgumentError

_POINTS = 2**13
_MOST_POINTS = 2**16
_NODES = range(12, 4, -1)
"""Along a number."""
_WIDE = 4.0
"""Standard deviations of a number around its mean that are looked at."""
_TRUST = 4.0
"""Of largest entropy, against fitting noise: about one over the variance of a parameter times that of its
product."""
_OF_COLUMNS, _OF_PAIRS = 0.7, 0.25
"""The size of a parameter of one column, or of two, times the deviation of what it is the parameter of."""
_FOUND = 2.0
"""The same in multiples of what is found, if that is larger: of columns that go together."""
_FAR = 3.0
"""The size of half a coefficient, in logits across half an interval."""
_SAMPLED = 1e-3
"""Of the variance of a moment in a sample: as good as none."""
_STEPS = 200


@dataclass(frozen=True)
class LogisticMoments:
    """Moments with noise, and the distribution of largest entropy that fits them as closely as noise lets
    one tell."""

    axes: tuple[Axis, ...]
    terms: TermProducts
    moments: Array
    noise: Array
    """How noise in each number moves each moment, in standard deviations."""
    heavy: bool
    standard: Array
    """From coefficients to what has variance 1, where they are no larger than one would expect."""

    @staticmethod
    def check(axes: tuple[Axis, ...]) -> None:
        """Refuse more columns than can be looked at point by point."""
        points = math.prod(
            min(_NODES) if isinstance(domain, Numbers) else domain.size for _, domain in axes[:-1]
        )
        if points > _MOST_POINTS:
            allowed = (
                f"fewer: {points} combinations of values, at most {_MOST_POINTS}, for a logistic regression"
            )
            raise ArgumentError("axes", [name for name, _ in axes], allowed)

    @cached_property
    def records(self) -> float:
        return max(float(self.moments[self.terms.places[0, 0]]), 1.0)

    @property
    def _last(self) -> int:
        return self.terms.count - 1

    @cached_property
    def _pairs(self) -> list[tuple[int, int]]:
        """The moments of columns."""
        return [pair for pair in self.terms.moments if pair != (0, 0) and pair[1] != self._last]

    def _seen(self, pairs: list[tuple[int, int]]) -> tuple[Array, Array]:
        """Moments by the record, and the noise in them, the number of records being noisy too."""
        places, count = [self.terms.places[pair] for pair in pairs], self.terms.places[0, 0]
        seen = self.moments[places] / self.records
        return seen, np.asarray((self.noise[places] - np.outer(seen, self.noise[count])) / self.records)

    @cached_property
    def _answers(self) -> tuple[Array, Array]:
        """Of the products with the response; none of what is drawn to 0 in `_columns`."""
        seen, hidden = self._seen([(a, self._last) for a in self.terms.straight])
        return seen, np.column_stack([hidden, np.zeros((len(seen), len(self._pairs)))])

    def _loose(self, noise: Array) -> Array:
        """How far from moments with this noise those of a fit may be, for the parameters that they need.
        What a sample leaves open by far is not fitted, where there is next to no noise."""
        return np.asarray(_TRUST * noise @ noise.T + _SAMPLED / self.records * np.eye(len(noise)))

    @cached_property
    def _grid(self) -> tuple[Array, Array]:
        """Points of the columns, with the logarithms of their weights."""
        free = [n for n, (_, domain) in enumerate(self.axes[:-1]) if isinstance(domain, Numbers)]
        other = math.prod(domain.size for _, domain in self.axes[:-1] if isinstance(domain, Categories))
        nodes = next((k for k in _NODES if other * k ** len(free) <= _POINTS), min(_NODES))
        points, weights = np.ones((1, 1)), np.zeros(1)
        for n, (_, domain) in enumerate(self.axes[:-1]):
            own, log = self._nodes(n, nodes) if isinstance(domain, Numbers) else _corners(domain.size)
            points = np.concatenate(
                [np.repeat(points, len(own), axis=0), np.tile(own, (len(points), 1))], axis=1
            )
            weights = np.repeat(weights, len(own)) + np.tile(log, len(weights))
        return points, weights

    def _nodes(self, column: int, count: int) -> tuple[Array, Array]:
        """Of a number: around its mean, as far as it is known, inside its interval; ends are nodes."""
        place = self.terms.owners.index(column)
        single, curved = self.terms.places[0, place], self.terms.places[0, place + 1]
        mean = self.moments[single] / self.records
        square = 1 - 8 / 3 * self.moments[curved] / self.records
        hidden = 8 / 3 * float(np.linalg.norm(self.noise[curved])) / self.records
        deviation = math.sqrt(max(square - mean**2, hidden, 1e-6))
        mean = min(max(mean, -1.0), 1.0)
        low, high = max(mean - _WIDE * deviation, -1.0), min(mean + _WIDE * deviation, 1.0)
        last = np.zeros(count)
        last[-1] = 1.0
        inner = np.polynomial.legendre.legroots(np.polynomial.legendre.legder(last))
        unit = np.concatenate([[-1.0], np.real(inner), [1.0]])
        log = -2 * np.log(np.abs(np.polynomial.legendre.legval(unit, last)))  # Lobatto's weights
        nodes = low + (high - low) * (unit + 1) / 2
        return np.stack(curve(nodes, 1.0), axis=1), log

    @cached_property
    def _columns(self) -> tuple[Array, Array, Array]:
        """Points of the columns with their chances, and what noise in each number moves the logarithms of
        these by: that of the distribution of largest entropy."""
        points, weights = self._grid
        features = np.stack([points[:, a] * points[:, b] for a, b in self._pairs], axis=1)
        seen, hidden = self._seen(self._pairs)
        loose = self._loose(hidden)

        def value(at: Array) -> tuple[float, Array, Array]:
            log = weights + features @ at
            top = float(log.max())
            chance = np.exp(log - top)
            total = float(chance.sum())
            heavy = (chance / total)[:, None] * features
            mean = heavy.sum(axis=0)
            curved = heavy.T @ features - np.outer(mean, mean) + loose
            entropy = top + math.log(total) - float(at @ seen)
            return entropy + float(at @ loose @ at) / 2, mean - seen + loose @ at, curved

        found = _lowest(value, len(seen))
        log = weights + features @ found
        chance = np.exp(log - log.max())
        chance /= chance.sum()
        curved = value(found)[2]
        # parameters that are drawn to 0 are off by what they are: more for columns themselves than for pairs
        far = np.sqrt(np.diag(curved - loose) + 1e-9)
        size = np.array([_OF_COLUMNS if a == 0 else _OF_PAIRS for a, _ in self._pairs])
        size = np.maximum(size, _FOUND * np.abs(found) * far)
        drawn = _TRUST * hidden @ hidden.T * size / far
        moved = (features - chance @ features) @ np.linalg.solve(curved, np.column_stack([hidden, drawn]))
        return points[:, self.terms.straight], chance, moved

    @cached_property
    def estimate(self) -> Array:
        """Half the coefficients: where residuals are least, coefficients being among them."""
        return Centre(self.whitened(sampled=False), self._start).place

    @cached_property
    def _start(self) -> Array:
        """Half the coefficients: the likeliest, drawn to 0 as far as noise requires."""
        points, chance, _ = self._columns
        seen, hidden = self._answers
        loose = self._loose(hidden)

        def value(at: Array) -> tuple[float, Array, Array]:
            logit = points @ at
            answer = np.tanh(logit)
            total = float(chance @ np.logaddexp(logit, -logit) - at @ seen + at @ loose @ at / 2)
            curved = (points.T * (chance * (1 - answer**2))) @ points + loose
            return total, (chance * answer) @ points - seen + loose @ at, curved

        return _lowest(value, len(seen))

    @staticmethod
    def padded(direction: Array) -> Array:
        """A combination of coefficients as one of their halves."""
        return 2 * direction

    def _residual(self, at: Array) -> tuple[Array, Array, Array, Array]:
        """What products with the response are beside those expected, the noise in that, and the points with
        their chances times the variance of a response."""
        points, chance, moved = self._columns
        seen, hidden = self._answers
        answer = np.tanh(points @ at)
        expected = (chance * answer)[:, None] * points
        return seen - expected.sum(axis=0), hidden - expected.T @ moved, points, chance * (1 - answer**2)

    @cached_property
    def _settled(self) -> tuple[Array, Array]:
        """At the estimate: the noise in the residual, and the information."""
        _, noise, points, heavy = self._residual(self.estimate)
        return noise, (points.T * heavy) @ points

    def _influence(self, direction: Array) -> Array:
        return np.asarray(np.linalg.lstsq(self._settled[1], self.padded(direction))[0])

    def quantile(self, direction: Array) -> float:
        """Of the standardised noise in a combination of coefficients, at 97.5 %."""
        return heavy_quantile(self._influence(direction) @ self._settled[0]) if self.heavy else _NORMAL

    def whitened(self, *, sampled: bool) -> Whitened:
        """Residuals of variance one: by noise alone, or by noise and sampling."""
        more = self._settled[1] / self.records if sampled else 0.0
        moved, standard = self._columns[2], self.standard / _FAR

        def residuals(at: Array) -> tuple[Array, Array]:
            left, noise, points, heavy = self._residual(at)
            root = np.linalg.cholesky(noise @ noise.T + more)
            # as for linear regression: the covariance moves too
            blamed = moved @ (noise.T @ cho_solve((root, True), left))
            slope = -(points.T * (heavy * (1 - blamed))) @ points
            near = solve_triangular(root, np.column_stack([left, slope]), lower=True)
            found = np.concatenate([near[:, 0], standard @ at])
            return found, np.concatenate([near[:, 1:], standard])

        return residuals


def _lowest(value: Callable[[Array], tuple[float, Array, Array]], size: int) -> Array:
    """Where a convex function is least, from its values, gradients and second derivatives: Newton's steps,
    damped where they are too long."""
    here, damping = np.zeros(size), 0.0
    best, slope, curved = value(here)
    for _ in range(_STEPS):
        move = -np.linalg.solve(curved + damping * np.eye(size), slope)
        gain = -float(slope @ move)
        if gain < 1e-12:
            break
        for factor in (1.0, 0.5, 0.2, 0.05):
            found = value(here + factor * move)
            if found[0] <= best - 1e-4 * factor * gain:
                here, damping = here + factor * move, damping / 10
                best, slope, curved = found
                break
        else:
            damping = max(100 * damping, 1e-6)
    return here


def _corners(size: int) -> tuple[Array, Array]:
    """The points of categories, with equal weights."""
    points = np.array([[-1.0], [1.0]]) if size == 2 else np.eye(size)[:, 1:]
    return points, np.zeros(size)
