"""The exact path: a uniform number known to as many bits as a comparison needs.

Comparing it with a probability known as an interval decides with the first 64 bits almost always; otherwise
more bits are drawn and the interval is narrowed, so that no probability is ever rounded.
"""

from fractions import Fraction

from indistinct.noise.source import Source

_MORE = 64


class LazyUniform:
    """A number uniform on [0, 1): first `bits` binary digits `head`, the others drawn when asked for."""

    def __init__(self, head: int, source: Source, bits: int = 64) -> None:
        self.head, self.bits, self.source = head, bits, source

    def refine(self) -> None:
        self.head = self.head << _MORE | self.source.integer(_MORE)
        self.bits += _MORE

    def below(self, probability: Fraction) -> bool:
        """Whether it is less than a rational number."""
        while True:
            low, rest = divmod(probability.numerator << self.bits, probability.denominator)
            if self.head < low:
                return True
            if self.head > low or not rest:
                return False
            self.refine()

    def below_exp(self, exponent: Fraction) -> bool:
        """Whether it is less than e^{-exponent}, exponent >= 0."""
        if exponent <= 0:
            return True
        while True:
            # e^{-exponent} is irrational (Lindemann), so the loop ends with probability 1
            low, high, bits = exp_interval(exponent, self.bits + 16)
            shift = bits - self.bits
            if (self.head + 1) << shift <= low:
                return True
            if self.head << shift >= high:
                return False
            self.refine()

    def geometric(self, scale: Fraction, guess: int) -> int:
        """The largest k with U < e^{-k/scale}, looked for from `guess` on."""
        k = max(guess, 0)
        step = 1
        while k > 0 and not self.below_exp(k / scale):
            k, step = max(k - step, 0), 2 * step
        # now U < e^{-k/scale}
        step = 1
        while self.below_exp((k + step) / scale):
            k, step = k + step, 2 * step
        while step > 1:
            step //= 2
            if self.below_exp((k + step) / scale):
                k += step
        return k


def exp_interval(exponent: Fraction, bits: int) -> tuple[int, int, int]:
    """Integers low <= 2^w e^{-exponent} <= high and w >= bits, with high - low at most 2^{w-bits}: every
    operation below rounds outwards."""
    if exponent > bits:  # e^{-exponent} < 2^{-bits}
        return 0, 1, bits
    halvings = max(int(exponent).bit_length() + 4, 4)
    w = bits + 2 * halvings + 2 * int(exponent) + 16
    scaled, rest = divmod(exponent.numerator << w, exponent.denominator << halvings)
    y_low, y_high = scaled, scaled + (rest > 0)
    low = high = term_low = term_high = 1 << w
    k = 0
    while term_high > 1:
        k += 1
        term_low = term_low * y_low // (k << w)
        term_high = -(-term_high * y_high // (k << w))
        low, high = low + term_low, high + term_high
    high += 2  # y < 1/8: what is left of the series is less than its last term
    for _ in range(halvings):
        low, high = low * low >> w, -(-high * high >> w)
    one = 1 << 2 * w
    return one // high, -(-one // low), w
