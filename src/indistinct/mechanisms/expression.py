"""A small language for mechanisms and claims, read by hand over a closed table: nothing is ever evaluated.

```
expression := term ("+" term)*
term       := [integer "*"] factor | factor "*" integer
factor     := ("(" expression ")" | name "(" arguments ")") ("." method "(" arguments ")")*
arguments  := [argument ("," argument)*]      argument := [name "="] (number | list | expression)
```
"""

import re
from collections.abc import Callable
from typing import Any, NamedTuple

from indistinct.adjacency import Adjacency
from indistinct.errors import ArgumentError, ExpressionError
from indistinct.guarantees import Guarantee
from indistinct.mechanisms.finite import Discrete, RandomizedResponse
from indistinct.mechanisms.lattice_noise import DiscreteGaussian, DiscreteLaplace
from indistinct.mechanisms.mechanism import Mechanism, ParallelParts, natural_adjacency
from indistinct.mechanisms.noise import Gaussian, Laplace
from indistinct.mechanisms.selection import Exponential, PermuteAndFlip, ReportNoisyMax
from indistinct.mechanisms.statement import CLAIMS, Statement, parallel_statement

_LONGEST, _LONGEST_NUMBER, _DEEPEST = 20_000, 40, 50

_TOKEN = re.compile(
    r"\s*(?:(?P<number>(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)|(?P<name>[A-Za-z_]\w*)|(?P<sign>[-+*().,=\[\]]))",
    re.ASCII,
)


Stated = Mechanism | Statement


def _parallel(*parts: Any) -> Stated:
    claims = any(isinstance(part, Statement) for part in parts)
    return parallel_statement(*parts) if claims else ParallelParts(parts)


def _group(what: Stated, size: Any) -> Stated:
    return what.group(size)


def _subsample(what: Stated, amount: Any, **more: Any) -> Stated:
    return what.subsample(amount, **more)


NAMES: dict[str, Callable[..., Stated]] = {
    "discrete": Discrete,
    "discrete_gaussian": DiscreteGaussian,
    "discrete_laplace": DiscreteLaplace,
    "exponential": Exponential,
    "gaussian": Gaussian,
    "laplace": Laplace,
    "parallel": _parallel,
    "permute_and_flip": PermuteAndFlip,
    "randomized_response": RandomizedResponse,
    "report_noisy_max": ReportNoisyMax,
}
METHODS: dict[str, Callable[..., Stated]] = {
    "group": _group,
    "subsample": _subsample,
}


def parse(text: str) -> Mechanism:
    """The mechanism that an expression describes.

    >>> parse("1000 * gaussian(1.1).subsample(0.01) + laplace(20)")
    Composed(parts=(Repeated(base=PoissonSampled(base=Gaussian(scale=1.1, sensitivity=1.0), ...
    """
    mechanism = _read(text, NAMES, "a mechanism")
    if not isinstance(mechanism, Mechanism):
        raise ExpressionError("expression", text, "a mechanism, without claims")
    return mechanism


def parse_statement(text: str) -> Mechanism | Statement:
    """The mechanism that an expression describes, or what it states if claims are among its parts."""
    return _read(text, NAMES | CLAIMS, "a mechanism or a claim")


def parse_guarantee(text: str, adjacency: Adjacency | None = None) -> Guarantee:
    """The guarantee of an expression that may contain claims: `pure(epsilon)`, `approx(epsilon, delta)`,
    `gdp(mu)`, `zcdp(rho)`, `renyi([orders], [values])`, `profile([epsilons], [deltas])` or
    `tradeoff([fpr], [fnr])`.

    Without an adjacency it is the one that the sampling of its mechanisms is analysed for.

    >>> parse_guarantee("pure(0.5) + 3 * approx(0.1, 1e-6) + gaussian(20)").epsilon(delta=1e-5)
    0.93007
    """
    stated = parse_statement(text)
    if isinstance(stated, Statement):
        return stated.guarantee(adjacency)
    return stated.guarantee(natural_adjacency(stated) if adjacency is None else adjacency)


def _read(text: str, names: dict[str, Callable[..., Stated]], what: str) -> Stated:
    if not isinstance(text, str) or len(text) > _LONGEST:
        raise ExpressionError("expression", text, f"text of at most {_LONGEST} characters")
    reader = _Reader(text, names, what)
    stated = reader.expression(0)
    if reader.token.kind != "end":
        raise reader.error("the end of the expression, + or *")
    return stated


class _Token(NamedTuple):
    kind: str
    text: str
    start: int


class _Reader:
    def __init__(self, text: str, names: dict[str, Callable[..., Stated]], what: str) -> None:
        self.text, self.names, self.what = text, names, what
        self.position = 0
        self.token = self._next()

    def error(self, expected: str) -> ExpressionError:
        found = self.token.text or "nothing"
        return ExpressionError(
            "expression", self.text, f"{expected} at character {self.token.start + 1}, not {found!r}"
        )

    def _next(self) -> _Token:
        match = _TOKEN.match(self.text, self.position)
        if match is None:
            rest = self.text[self.position :].lstrip()
            self.token = _Token("other" if rest else "end", rest[:1], len(self.text) - len(rest))
            if rest:
                raise self.error("a mechanism expression")
            return self.token
        self.position = match.end()
        kind = match.lastgroup or "end"
        return _Token(kind, match.group(kind), match.start(kind))

    def accept(self, text: str) -> bool:
        if self.token.kind == "sign" and self.token.text == text:
            self.token = self._next()
            return True
        return False

    def expect(self, text: str) -> None:
        if not self.accept(text):
            raise self.error(f"{text!r}")

    def expression(self, depth: int) -> Stated:
        if depth > _DEEPEST:
            raise ExpressionError("nesting", depth, f"at most {_DEEPEST} deep")
        total = self.term(depth)
        while self.accept("+"):
            total = total + self.term(depth)
        return total

    def term(self, depth: int) -> Stated:
        if self.token.kind == "number":
            steps = self.number()
            self.expect("*")
            return steps * self.factor(depth)
        factor = self.factor(depth)
        while self.accept("*"):
            if self.token.kind != "number":
                raise self.error("a number of steps")
            factor = self.number() * factor
        return factor

    def factor(self, depth: int) -> Stated:
        if self.accept("("):
            stated = self.expression(depth + 1)
            self.expect(")")
        else:
            stated = self.call(self.names, self.what, depth)
        while self.accept("."):
            depth += 1
            if depth > _DEEPEST:
                raise ExpressionError("nesting", depth, f"at most {_DEEPEST} deep")
            stated = self.call(METHODS, "a method", depth, stated)
        return stated

    def call(self, table: dict[str, Callable[..., Stated]], what: str, depth: int, *first: Stated) -> Stated:
        name = self.token.text
        if self.token.kind != "name" or name not in table:
            raise self.error(f"{what} ({', '.join(sorted(table))})")
        start = self.token.start
        self.token = self._next()
        self.expect("(")
        positional, named = self.arguments(depth)
        try:
            return table[name](*first, *positional, **named)
        except TypeError:
            raise ExpressionError(
                "expression", self.text, f"{name}(...) with its own arguments at character {start + 1}"
            ) from None

    def arguments(self, depth: int) -> tuple[list[Any], dict[str, Any]]:
        positional: list[Any] = []
        named: dict[str, Any] = {}
        while not self.accept(")"):
            if positional or named:
                self.expect(",")
            token = self.token
            if token.kind == "name" and self.text[self.position :].lstrip().startswith("="):
                self.token = self._next()
                self.expect("=")
                if token.text in named:
                    raise ArgumentError(token.text, self.text, "given once")
                named[token.text] = self.value(depth)
            elif named:
                raise self.error("a named argument")
            else:
                positional.append(self.value(depth))
        return positional, named

    def value(self, depth: int) -> Any:
        if self.accept("["):
            items: list[int | float] = []
            while not self.accept("]"):
                if items:
                    self.expect(",")
                items.append(self.number())
            return items
        # an integer may be a plain argument or the count of a repeated mechanism
        if self.token.kind == "number" and not self.text[self.position :].lstrip().startswith("*"):
            return self.number()
        if self.accept("-"):
            return -self.number()
        return self.expression(depth + 1)

    def number(self) -> int | float:
        if self.token.kind != "number":
            raise self.error("a number")
        text = self.token.text
        if len(text) > _LONGEST_NUMBER:
            raise self.error(f"a number of at most {_LONGEST_NUMBER} characters")
        self.token = self._next()
        return int(text) if text.isdigit() else float(text)
