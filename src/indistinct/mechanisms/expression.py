"""A small language for mechanisms and claims, read by hand over a closed table: nothing is ever evaluated.

```
expression := term ("+" term)*
term       := [integer "*"] factor | factor "*" integer
factor     := ("(" expression ")" | name "(" arguments ")") ("." method "(" arguments ")")*
arguments  := [argument ("," argument)*]      argument := [name "="] value
value      := ["-"] number ["/" number] | "[" [value ("," value)*] "]" | text | expression
```

The names are those of declared mechanisms and claims (`describable`): whatever is written as a call of its
kind is read so.
"""

import math
import re
from collections.abc import Callable
from typing import Any, NamedTuple

from indistinct.adjacency import Adjacency
from indistinct.description import TABLE
from indistinct.errors import ArgumentError, ExpressionError
from indistinct.guarantees import Guarantee
from indistinct.mechanisms.mechanism import Mechanism, MixedParts, ParallelParts, Stated

_LONGEST, _LONGEST_NUMBER, _DEEPEST = 20_000, 40, 50

_TOKEN = re.compile(
    r"\s*(?:(?P<number>(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)|(?P<name>[A-Za-z_]\w*)"
    r"|(?P<sign>[-+*/().,=\[\]])|\"(?P<text>[^\"\n]*)\")",
    re.ASCII,
)

Make = Callable[..., Mechanism]


def _sum(parts: list[Mechanism]) -> Mechanism:
    if not isinstance(parts, list) or not parts or not all(isinstance(part, Mechanism) for part in parts):
        raise ArgumentError("sum", parts, "given a list of mechanisms and claims")
    return sum(parts[1:], start=parts[0])


def _claim(kind: type[Any]) -> Make:
    return lambda *values, **more: Stated(kind(*values, **more), any_neighbours="adjacency" not in more)


def _names() -> dict[str, Make]:
    """Everything that an expression may call."""
    found: dict[str, Make] = {
        "mixture": lambda parts, weights: MixedParts(tuple(parts), tuple(weights)),
        "parallel": lambda *parts: ParallelParts(parts),
        "sum": _sum,
    }
    declared: Any
    for (noun, kind), declared in TABLE.items():
        if noun == "claim":
            found[kind] = _claim(declared)
        elif noun == "mechanism" and not declared.form and declared.__str__ is Mechanism.__str__:
            found[kind] = declared
    return found


METHODS: dict[str, Make] = {
    "allocate": lambda what, steps, **more: what.allocate(steps, **more),
    "group": lambda what, size: what.group(size),
    "subsample": lambda what, amount, **more: what.subsample(amount, **more),
}


def parse(text: str) -> Mechanism:
    """The mechanism that an expression describes. Among its parts may be claims, about whichever neighbours
    one asks for unless they name them (`adjacency="replace-one"`): `pure(epsilon)`, `approx(epsilon, delta)`,
    `gdp(mu)`, `zcdp(rho)`, `renyi([orders], [values])`, `profile([epsilons], [deltas])`, `tradeoff([fpr],
    [fnr])`.

    >>> parse("1000 * gaussian(1.1).subsample(256/60000) + laplace(20)")
    1000 * Gaussian(1.1).subsample(0.0042666...) + Laplace(20.0)
    """
    if not isinstance(text, str) or len(text) > _LONGEST:
        raise ExpressionError("expression", text, f"text of at most {_LONGEST} characters")
    reader = _Reader(text)
    mechanism = reader.expression(0)
    if reader.token.kind != "end":
        raise reader.error("the end of the expression, + or *")
    return mechanism


def parse_guarantee(text: str, adjacency: Adjacency | str | None = None) -> Guarantee:
    """The guarantee of an expression. Without an adjacency it is the one that the sampling of its mechanisms
    is analysed for.

    >>> parse_guarantee("pure(0.5) + 3 * approx(0.1, 1e-6) + gaussian(20)").epsilon(delta=1e-5)
    0.93007
    """
    return parse(text).guarantee(adjacency)


class _Token(NamedTuple):
    kind: str
    text: str
    start: int


class _Reader:
    def __init__(self, text: str) -> None:
        self.text, self.names = text, _names()
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

    def expression(self, depth: int) -> Mechanism:
        if depth > _DEEPEST:
            raise ExpressionError("nesting", depth, f"at most {_DEEPEST} deep")
        total = self.term(depth)
        while self.accept("+"):
            total = total + self.term(depth)
        return total

    def term(self, depth: int) -> Mechanism:
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

    def factor(self, depth: int) -> Mechanism:
        if self.accept("("):
            stated = self.expression(depth + 1)
            self.expect(")")
        else:
            stated = self.call(self.names, "a mechanism or a claim", depth)
        while self.accept("."):
            depth += 1
            if depth > _DEEPEST:
                raise ExpressionError("nesting", depth, f"at most {_DEEPEST} deep")
            stated = self.call(METHODS, "a method", depth, stated)
        return stated

    def call(self, table: dict[str, Make], what: str, depth: int, *first: Mechanism) -> Mechanism:
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
        if depth > _DEEPEST:
            raise ExpressionError("nesting", depth, f"at most {_DEEPEST} deep")
        if self.accept("["):
            items: list[Any] = []
            while not self.accept("]"):
                if items:
                    self.expect(",")
                items.append(self.value(depth + 1))
            return items
        if self.token.kind == "name" and self.token.text == "inf":
            self.token = self._next()
            return math.inf
        if self.token.kind == "text":
            text, self.token = self.token.text, self._next()
            return text
        # an integer may be a plain argument or the count of a repeated mechanism
        if self.token.kind == "number" and not self.text[self.position :].lstrip().startswith("*"):
            return self.fraction()
        if self.accept("-"):
            return -self.fraction()
        return self.expression(depth + 1)

    def fraction(self) -> int | float:
        number = self.number()
        if not self.accept("/"):
            return number
        divisor = self.number()
        if not divisor:
            raise ExpressionError("expression", self.text, "without a division by 0")
        return number / divisor

    def number(self) -> int | float:
        if self.token.kind != "number":
            raise self.error("a number")
        text = self.token.text
        if len(text) > _LONGEST_NUMBER:
            raise self.error(f"a number of at most {_LONGEST_NUMBER} characters")
        self.token = self._next()
        return int(text) if text.isdigit() else float(text)
