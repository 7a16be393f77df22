"""Trigonometric sums on a torus at arbitrary points, fast.

The sum is put on a grid three times as fine as its highest frequency needs, by one Fourier transform, and
read off between the nodes with a smooth bump over eight of them along each axis, whose effect on each
frequency has been divided out beforehand (Barnett, Magland and af Klinteberg 2019, their "exponential of
semicircle"). The error is below 1e-8 of the sum of the amplitudes' absolute values. Values at a point do not
depend on the points beside it.
"""

import math
from dataclasses import dataclass
from typing import Self

import numpy as np
from scipy import fft

from indistinct.numerics.arrays import Array, ComplexArray

_NODES = 8
_FINER = 3.0
_SHAPE = 0.97 * math.pi * (1 - 1 / (2 * _FINER)) * _NODES
_AT_ONCE = 1 << 20


def _bump(distance: Array) -> Array:
    """At a distance of at most `_NODES / 2` nodes."""
    inside = np.maximum(1 - (2 * distance / _NODES) ** 2, 0.0)
    bump: Array = np.exp(_SHAPE * (np.sqrt(inside) - 1))
    return bump


def _bump_spectrum(frequencies: Array, nodes: int) -> Array:
    """The bump's Fourier transform."""
    places, weights = np.polynomial.legendre.leggauss(96)
    distance = places * _NODES / 2
    waves = np.cos(2 * np.pi * np.outer(frequencies, distance) / nodes)
    spectrum: Array = waves @ (_bump(distance) * weights * _NODES / 2)
    return spectrum


@dataclass(frozen=True, eq=False)
class Periodic:
    """A real trigonometric sum, prepared to be evaluated at points given in turns: one turn, one period."""

    nodes: Array

    @classmethod
    def of(cls, frequencies: Array, amplitudes: ComplexArray) -> Self:
        """Re Σ a_k exp(2πi k·x) over integer frequencies [m, d]."""
        most = np.abs(frequencies).max(axis=0, initial=0)
        shape = tuple(fft.next_fast_len(max(2 * _NODES, math.ceil(_FINER * (2 * k + 1)))) for k in most)
        spectrum = np.zeros(shape, dtype=np.complex128)
        damping = math.prod(_bump_spectrum(frequencies[:, axis], shape[axis]) for axis in range(len(shape)))
        places = tuple(frequencies[:, axis].astype(np.int64) % shape[axis] for axis in range(len(shape)))
        np.add.at(spectrum, places, amplitudes / damping)
        nodes = fft.ifftn(spectrum).real * spectrum.size
        # periods are continued, so that no bump runs over the edge
        return cls(np.pad(nodes, (_NODES // 2, _NODES // 2 + 1), mode="wrap"))

    def __call__(self, turns: Array) -> Array:
        values = np.empty(len(turns))
        step = max(1, _AT_ONCE // _NODES ** turns.shape[1])
        for start in range(0, len(turns), step):
            values[start : start + step] = self._at(turns[start : start + step])
        return values

    def _at(self, turns: Array) -> Array:
        rows, dimension = turns.shape
        offsets = np.arange(_NODES)
        flat = np.zeros((rows, 1), dtype=np.int64)
        bumps = np.ones((rows, 1))
        for axis, padded in enumerate(self.nodes.shape):
            place = (turns[:, axis] - np.floor(turns[:, axis])) * (padded - _NODES - 1)
            first = np.floor(place).astype(np.int64) - _NODES // 2 + 1
            near = _bump(np.abs(place[:, None] - first[:, None] - offsets))
            here = first[:, None] + offsets + _NODES // 2
            flat = (flat[:, :, None] * padded + here[:, None, :]).reshape(rows, -1)
            if axis < dimension - 1:
                bumps = (bumps[:, :, None] * near[:, None, :]).reshape(rows, -1)
        values = self.nodes.reshape(-1)[flat].reshape(rows, -1, _NODES)
        summed: Array = np.einsum("nab,na,nb->n", values, bumps, near)
        return summed
