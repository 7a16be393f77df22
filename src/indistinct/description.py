"""One description of everything that can be saved, printed and taken apart.

A class declares itself once, with `describable`: what kind of thing it is, and in its fields what it is made
of. From that one table come JSON (`to_json`, `from_json`), `repr` (the Python that makes it), the grammar of
expressions, and walks over parts. What is read is a name in a closed table: never an import path, never code.

```
{"format": 1, "mechanism": "repeated", "base": {"mechanism": "gaussian", "scale": 2.0}, "steps": 3}
```
"""

import importlib
import re
from abc import ABC
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import Enum
from functools import partial
from inspect import Parameter, get_annotations, signature
from typing import (
    Annotated,
    Any,
    ClassVar,
    Protocol,
    Self,
    TypeVar,
    dataclass_transform,
    get_origin,
    runtime_checkable,
)

from indistinct.errors import (
    ArgumentError,
    ExpressionError,
    check_count,
    check_flag,
    check_nonnegative,
    check_positive,
    check_probability,
)

FORMAT = 1
"""Of JSON, said at its root. What says none was written before formats were said, and is read as this one."""
DEEPEST = 100
"""Levels of nested data that are read."""
TABLE: dict[tuple[str, str], type[Any]] = {}
"""Every declared class by its noun and kind."""

_HOMES = {
    "claim": "guarantees",
    "is": "data",
    "is Budget": "mechanisms",
    "is ImagePart": "synthesis.images",
    "is Noise": "mechanisms",
    "is PatchPart": "synthesis.images",
    "is Pixels": "synthesis.images",
    "is Wavelets": "synthesis.images",
    "kernel": "functions",
    "map": "synthesis.images",
    "mechanism": "mechanisms",
    "mechanism correlated_gaussian": "workloads",
    "mechanism function_noise": "functions",
    "mechanism gaussian_process": "functions",
    "mechanism gaussian_query": "data",
    "mechanism heavy_hitters": "data",
    "mechanism laplace_query": "data",
    "mechanism matrix": "workloads",
    "mechanism measured_query": "plans.measured",
    "mechanism noisy_distances": "synthesis.tables.rounds",
    "mechanism perturbed_likelihood": "data",
    "mechanism quantile": "data",
    "mechanism suggested_bounds": "data",
    "mechanism together": "plans.together",
    "space": "functions",
    "strategy": "workloads",
    "stream": "workloads",
    "workload": "workloads",
}
"""Which package declares a noun, or one kind of it: imported when a description names it."""
NOUNS = tuple(name for name in _HOMES if " " not in name)
"""Keys in JSON that hold a kind."""
_NAMES = f"one of the names {', '.join(NOUNS)}"
_SLOT = re.compile(r"\{(?P<name>\w+)(?P<tight>!?)(?::(?P<between>[^}]*))?\}")
_MADE_WITH: dict[type[Any], dict[str, Parameter]] = {}

T = TypeVar("T")
E = TypeVar("E", bound=Enum)

Positive = Annotated[float, check_positive]
Nonnegative = Annotated[float, check_nonnegative]
Probability = Annotated[float, check_probability]
Flag = Annotated[bool, check_flag]
PositiveCount = Annotated[int, partial(check_count, least=1)]
"""Types of fields, each with its check: a function of the field's name and what was given for it."""


@runtime_checkable
class Listed(Protocol):
    """Numbers that are saved as lists: an array, or a table that compares as a value."""

    def tolist(self) -> Any: ...


class Described(ABC):  # noqa: B024 (subclasses say what it is)
    """A frozen value that says what it is; subclasses are declared with `describable`."""

    noun: ClassVar[str] = "is"
    """What sort of thing it is: the key in JSON that holds its kind."""
    kind: ClassVar[str] = ""
    """Its name in JSON, and in expressions."""
    form: ClassVar[str] = ""
    """How it is written, if not as a call: `{field}`, in brackets where it is a sum or a product `{field!}`,
    several joined by a sign `{field: + }`."""
    loose: ClassVar[bool] = False
    """Whether it is written as a sum or a product, and wants brackets before `.` and `*`."""
    instead: str = ""
    """Of a value that does not remember what made it: what to do, to have one that can be saved."""
    kept: ClassVar[Mapping[str, str]] = {}
    """Attributes that hold the constructor's arguments, where these have other names."""

    def to_json(self, *, brief: bool = False) -> dict[str, Any]:
        """The description as JSON data; `from_json` reads it back. If `brief`, tables of many numbers are in
        words: to be looked at, not read back."""
        return {"format": FORMAT, **plain(self, brief)}

    @classmethod
    def from_json(cls, data: Any) -> Self:
        """What `to_json` wrote, if it is one of these.

        >>> from indistinct import Gaussian, Mechanism
        >>> Mechanism.from_json((3 * Gaussian(scale=2)).to_json())
        3 * Gaussian(2.0)
        """
        found = from_json(data)
        if not isinstance(found, cls):
            raise ExpressionError("JSON", data, f"a description of a {cls.__name__}")
        return found

    def __repr__(self) -> str:
        return spelled(self)


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
def describable(kind: str = "", /, **kept: str) -> Callable[[type[T]], type[T]]:
    """Makes a class a frozen dataclass and declares it, by its own name unless told another. `kept` names
    attributes of arguments that are kept under other names than they are given. A field whose type says how
    it is checked, such as `Positive`, holds what the check returns.

    >>> @describable()
    ... class Point(Described):
    ...     x: float
    ...     y: float = 0.0
    >>> Point(1.0), Point(1.0, 2.0).to_json()
    (Point(1.0), {'format': 1, 'is': 'Point', 'x': 1.0, 'y': 2.0})
    """

    def declare(cls: type[T]) -> type[T]:
        name, noun = kind or cls.__name__, "is"
        if issubclass(cls, Described):
            cls = dataclass(frozen=True, repr=False)(checked_fields(cls))
            noun, cls.kind, cls.kept = cls.noun, name, kept  # type: ignore[attr-defined]
        if TABLE.setdefault((noun, name), cls) is not cls:
            raise TypeError(f"there is another {noun} {name}: {TABLE[noun, name].__qualname__}")
        return cls

    return declare


def checked_fields(cls: type[T]) -> type[T]:
    """A class, to be made a dataclass, whose fields are checked as their types say, before what it looks at
    itself."""
    types = {name: own for base in reversed(cls.__mro__) for name, own in get_annotations(base).items()}
    checks = {name: own.__metadata__[0] for name, own in types.items() if get_origin(own) is Annotated}
    words = {name: own for name, own in types.items() if isinstance(own, type) and issubclass(own, Enum)}
    checks |= {name: one_of(own) for name, own in words.items()}
    rest = getattr(cls, "__post_init__", None)

    def __post_init__(self: Any) -> None:
        for name, check in checks.items():
            object.__setattr__(self, name, check(name, getattr(self, name)))
        if rest is not None:
            rest(self)

    if checks:
        cls.__post_init__ = __post_init__  # type: ignore[attr-defined]
    return cls


def given(kind: Any, allowed: str) -> Callable[[str, Any], Any]:
    """The check of a field that must be of a class, or of one of several."""

    def check(argument: str, value: Any) -> Any:
        if not isinstance(value, kind):
            raise ArgumentError(argument, value, allowed)
        return value

    return check


def one_of(words: type[E]) -> Callable[[str, Any], E]:
    """The check of a field that is one of several words, which may be given by its name."""

    def check(argument: str, value: Any) -> E:
        try:
            return words(value)
        except ValueError:
            allowed = f"one of {', '.join(repr(one.value) for one in words)}"
            raise ArgumentError(argument, value, allowed) from None

    return check


def parameters(cls: type[Any]) -> dict[str, Parameter]:
    """What a class is made with: the arguments that its values remember."""
    if cls not in _MADE_WITH:
        kept = {*getattr(cls, "__dataclass_fields__", ()), *cls.kept}
        given = signature(cls).parameters.items()
        _MADE_WITH[cls] = {name: own for name, own in given if name in kept or hasattr(cls, name)}
    return _MADE_WITH[cls]


def arguments(value: Described) -> dict[str, Any]:
    """What makes this value, by name; nothing, if it does not remember."""
    if value.instead:
        return {}
    return {name: getattr(value, value.kept.get(name, name)) for name in parameters(type(value))}


def parts_of(value: Described | tuple[Any, ...]) -> Iterator[Described]:
    """What it is made of, one level down."""
    for inner in value if isinstance(value, tuple) else arguments(value).values():
        if isinstance(inner, Described):
            yield inner
        elif isinstance(inner, tuple):
            yield from parts_of(inner)


def nested(value: Described) -> Iterator[Described]:
    """The value and all that it is made of."""
    yield value
    for part in parts_of(value):
        yield from nested(part)


# -- JSON -----------------------------------------------------------------------------------------


def plain(value: Any, brief: bool = False) -> Any:
    """A value of a description as JSON data, without the format."""
    if isinstance(value, Enum):
        return {"is": type(value).__name__, "value": value.value}
    if isinstance(value, Described):
        if value.instead or TABLE.get((value.noun, value.kind)) is not type(value):
            allowed = value.instead or "declared with `describable`, to be saved"
            raise ArgumentError(value.noun, str(value), allowed)
        own = {name: plain(argument, brief) for name, argument in arguments(value).items()}
        return {value.noun: value.kind, **own}
    if isinstance(value, Mapping):
        return {name: plain(item, brief) for name, item in value.items()}
    if isinstance(value, tuple | list):
        return [plain(item, brief) for item in value]
    if isinstance(value, Listed):
        words = repr(value) if brief else ""
        return words if words.startswith("<") else value.tolist()
    if value is None or isinstance(value, str | int | float):
        return value
    raise ArgumentError("value", f"a {type(value).__name__}", "made of what can be saved")


def from_json(data: Any) -> Any:
    """Whatever `to_json` wrote: a mechanism, a claim, a query, a kernel, a space, a workload ...

    >>> from indistinct.data import Count
    >>> from_json(Count().laplace(scale=2).to_json())
    Count().laplace(2.0)
    """
    if isinstance(data, dict):
        data = dict(data)
        check_format(data.pop("format", FORMAT))
    found = _read(data, 0)
    if not isinstance(found, Described):
        raise ExpressionError("JSON", data, f"an object with {_NAMES}")
    return found


def check_format(version: Any) -> None:
    """Refuses what another version of the library wrote otherwise."""
    if version != FORMAT or isinstance(version, bool):
        raise ExpressionError("format", version, f"{FORMAT}: this version of indistinct reads no other")


def _read(data: Any, depth: int) -> Any:
    if depth > DEEPEST:
        raise ExpressionError("nesting", depth, f"at most {DEEPEST} deep")
    if isinstance(data, list):
        return tuple(_read(item, depth + 1) for item in data)
    if not isinstance(data, dict):
        return data
    noun = next((name for name in NOUNS if isinstance(data.get(name), str)), None)
    if noun is None:
        raise ExpressionError("JSON", sorted(map(str, data)), f"an object with {_NAMES}")
    cls = _declared(noun, data[noun])
    values = {name: _read(value, depth + 1) for name, value in data.items() if name != noun}
    return _enum(cls, values) if issubclass(cls, Enum) else _made(cls, values)


def _declared(noun: str, kind: str) -> type[Any]:
    """The class of this name; where it lives is imported, if it was not yet."""
    if (noun, kind) not in TABLE:
        importlib.import_module(f"indistinct.{home(noun, kind)}")
    if (noun, kind) not in TABLE:
        known = {name for key, name in TABLE if key == noun}
        known |= {name.partition(" ")[2] for name in _HOMES if name.startswith(f"{noun} ")}
        raise ExpressionError(noun, kind, f"one of {', '.join(sorted(known))}")
    return TABLE[noun, kind]


def home(noun: str, kind: str) -> str:
    """The package that declares a kind."""
    return _HOMES.get(f"{noun} {kind}", _HOMES[noun])


def _enum(cls: type[Enum], values: dict[str, Any]) -> Enum:
    try:
        return cls(**values)
    except (TypeError, ValueError):
        allowed = f"one of {', '.join(repr(one.value) for one in cls)}"
        raise ExpressionError(cls.__name__, values.get("value"), allowed) from None


def _made(cls: type[Any], values: dict[str, Any]) -> Any:
    """A value from its arguments; unknown and missing ones are named."""
    known = parameters(cls)
    has = f"{cls.kind} has {', '.join(known) or 'no arguments'}"
    if unknown := sorted(values.keys() - known.keys()):
        raise ExpressionError(unknown[0], values[unknown[0]], f"absent: {has}")
    needed = [name for name, own in known.items() if own.default is own.empty]
    if missing := [name for name in needed if name not in values]:
        raise ExpressionError(missing[0], "nothing", f"given: {has}")
    several = [name for name, own in known.items() if own.kind is own.VAR_POSITIONAL]
    try:
        listed = [item for name in several for item in values.pop(name)]
        return cls(*listed, **values)
    except ArgumentError:
        raise
    except (TypeError, ValueError, OverflowError, AttributeError, LookupError):  # values of other types
        raise ExpressionError("JSON", sorted(values), f"as it was written: {has}") from None


# -- words ----------------------------------------------------------------------------------------


def spelled(value: Described, *, python: bool = True) -> str:
    """What makes the value: in Python, or in the language of expressions.

    >>> from indistinct import Gaussian
    >>> spelled(3 * Gaussian(scale=2)), spelled(3 * Gaussian(scale=2), python=False)
    ('3 * Gaussian(2.0)', '3 * gaussian(2.0)')
    """
    given, cls = arguments(value), type(value)
    if value.instead:
        return f"<{cls.__name__}>"
    if value.form:
        return _SLOT.sub(lambda slot: _filled(slot, given[slot["name"]], python), value.form)
    told = []
    for name, own in parameters(cls).items():
        if own.kind is own.VAR_POSITIONAL:
            told += [_text(item, python) for item in given[name]]
        elif own.default is own.empty:
            shown = dict(given[name]) if get_origin(own.annotation) is Mapping else given[name]
            told.append(_text(shown, python))
        elif given[name] != own.default:
            told.append(f"{name}={_text(given[name], python)}")
    return f"{cls.__name__ if python or not value.kind else value.kind}({', '.join(told)})"


def _filled(slot: re.Match[str], value: Any, python: bool) -> str:
    items = (value,) if slot["between"] is None else value
    return (slot["between"] or "").join(_text(item, python, tight=bool(slot["tight"])) for item in items)


def _text(value: Any, python: bool, tight: bool = False) -> str:
    if isinstance(value, Described):
        text = repr(value) if python else str(value)
        return f"({text})" if tight and value.loose else text
    if isinstance(value, Enum):
        return f"{type(value).__name__}.{value.name}" if python else f'"{value.value}"'
    if isinstance(value, Mapping):
        return f"{{{', '.join(f'{key!r}: {_text(item, python)}' for key, item in value.items())}}}"
    if isinstance(value, tuple):
        inside = ", ".join(_text(item, python) for item in value)
        return f"[{inside}]" if not python else f"({inside},)" if len(value) == 1 else f"({inside})"
    return repr(value if python or not isinstance(value, bool) else int(value))
