"""A report in words that a reader can repeat, and as a table.

It is written from the report's data alone. Numbers are rounded towards the cautious side: what an attacker
can do upwards, what an attacker must miss downwards.
"""

import math
from typing import Any

from indistinct.report.data import value_of

_WIDTH = 96
_DIGITS = 5
_LAST_BITS = 1e-12
_NEIGHBOURS = {
    "add/remove": "the data with, and the data without, {them}",
    "replace-one": "two data sets of one size that differ in {them}",
}


def to_text(data: dict[str, Any]) -> str:
    """The whole report: what it is for, what can be learnt, the table."""
    head = [("Mechanism", data["expression"])]
    head += [("Neighbours", f"{data['adjacency']}: {_neighbours(data)}")]
    head += [("Sampling", line) for line in data["sampling"]]
    lines = [piece for name, value in head for piece in _hanging(f"{name:<12}", value)]
    lines += ["", "What the release tells, at most, to someone who knows everything else:", ""]
    lines += [piece for sentence in sentences(data) for piece in _hanging("- ", sentence)]
    rows = table(data)
    width = max(len(name) for name, _ in rows)
    lines += ["", *(f"{name:<{width}}  {value:>10}".rstrip() for name, value in rows), ""]
    lines += _hanging(
        "", "All numbers hold for every possible test and are rounded towards caution. Choose delta well"
        " below one in the number of people in the data.",
    )
    return "\n".join(lines)


def sentences(data: dict[str, Any]) -> list[str]:
    """What an attacker can and cannot do, for someone who has never heard of epsilon."""
    told = [_test(data), _guess(data), _outcome(data), _epsilon(data)]
    pure = value_of(data["pure"])
    if math.isfinite(pure):
        told.append(
            f"No outcome at all is more than {_times(pure)} times likelier on one of the two data sets"
            f" than on the other (pure epsilon {rounded_up(pure)})."
        )
    return told


def table(data: dict[str, Any]) -> list[tuple[str, str]]:
    """Readings by name, rounded towards caution."""
    rows = [(f"epsilon at delta = {data['epsilon']['delta']:g}", _up(data["epsilon"]["epsilon"]))]
    if data["delta"] is not None:
        rows.append((f"delta at epsilon = {data['delta']['epsilon']:g}", _up(data["delta"]["delta"])))
    rows += [
        (f"Rényi divergence of order {entry['order']:g}", _up(entry["divergence"]))
        for entry in data["renyi"]
    ]
    rows += [
        (f"least false negative rate at false positive rate {entry['fpr']:g}", rounded_down(entry["fnr"]))
        for entry in data["tradeoff"]
    ]
    gaussian = data["gaussian"]
    return [
        *rows,
        ("membership advantage (true minus false positive rate)", _up(data["advantage"])),
        ("pure epsilon (delta = 0)", _up(data["pure"])),
        (f"Gaussian DP: mu, up to a probability of {gaussian['slack']:g}", _up(gaussian["mu"])),
        ("  its regret (how far its error rates are from the true ones)", _up(gaussian["regret"])),
    ]


# -- sentences ------------------------------------------------------------------------------------


def _records(data: dict[str, Any]) -> str:
    sizes = data["records"]
    if sizes == [1]:
        return "one person's record"
    return f"{' or '.join(map(str, sizes))} records that change together"


def _neighbours(data: dict[str, Any]) -> str:
    return _NEIGHBOURS[data["adjacency"]].format(them=_records(data))


def _question(data: dict[str, Any]) -> tuple[str, str, str]:
    """What the attacker wants to know, the cases it may be wrong about, the cases it looks for."""
    one = data["records"] == [1]
    if data["adjacency"] == "add/remove":
        what = "one given person's record was" if one else "a given group's records were"
        who = "people" if one else "groups"
        return f"whether {what} used", f"the {who} who were not in the data", "those who were"
    what = "of two given values one person's record has" if one else "of two given versions a group's records have"
    return f"which {what}", "the cases with the first value", "the cases with the second"


def _test(data: dict[str, Any]) -> str:
    want, wrong_about, looked_for = _question(data)
    entry = next(entry for entry in data["tradeoff"] if entry["fpr"] == 0.05)
    start = f"Someone who wants to know {want}, and accepts being wrong about 5 % of {wrong_about},"
    if entry["fnr"] < 0.001:
        return f"{start} may find practically all of {looked_for}: this does not protect."
    return f"{start} will still miss at least {_percent_down(entry['fnr'])} of {looked_for}."


def _guess(data: dict[str, Any]) -> str:
    right = (1 + data["advantage"]) / 2
    return (
        "If both answers are equally likely beforehand, the best possible guess is right at most"
        f" {_percent_up(right)} of the time; a coin toss is right 50 %."
    )


def _outcome(data: dict[str, Any]) -> str:
    entry = next(entry for entry in data["tradeoff"] if entry["fpr"] == 0.1)
    before, after = (
        ("without the record", "with it")
        if data["adjacency"] == "add/remove" and data["records"] == [1]
        else ("on one of the two data sets", "on the other")
    )
    return (
        f"Whatever happens because of the release with a chance of 10 % {before} happens with a chance"
        f" of at most {_percent_up(1 - entry['fnr'])} {after}."
    )


def _epsilon(data: dict[str, Any]) -> str:
    delta = data["epsilon"]["delta"]
    epsilon = value_of(data["epsilon"]["epsilon"])
    if math.isinf(epsilon):
        return (
            f"There is no epsilon at delta = {delta:g}: some outcome of at least that probability gives"
            " everything away."
        )
    return (
        f"In the usual notation: epsilon = {rounded_up(epsilon)} at delta = {delta:g}. The chance of any"
        f" outcome on one of the two data sets is at most {_times(epsilon)} times its chance on the other,"
        f" plus {delta:g}."
    )


# -- numbers --------------------------------------------------------------------------------------


def _decimals(value: float, digits: int) -> int:
    return digits - 1 - math.floor(math.log10(value))


def rounded_up(value: float, digits: int = _DIGITS) -> str:
    """Shortest text of at most this many significant digits that is not below the value.

    >>> rounded_up(2.38160969), rounded_up(0.5), rounded_up(math.inf)
    ('2.3817', '0.5', 'infinity')
    """
    if math.isinf(value):
        return "infinity"
    if value < 1e-300:
        return "0"
    scale = 10.0 ** _decimals(value, digits)
    if math.isinf(scale) or scale == 0:
        return f"{value * (1 + 10.0 ** (1 - digits)):.{digits}g}"
    # an error in the last bits is not worth a digit
    return f"{math.ceil(value * scale * (1 - _LAST_BITS)) / scale:.{digits}g}"


def rounded_down(value: float, digits: int = _DIGITS) -> str:
    """Shortest text of at most this many significant digits that is not above the value.

    >>> rounded_down(0.85757), rounded_down(0.95), rounded_down(0.0)
    ('0.85757', '0.95', '0')
    """
    if value < 1e-300:
        return "0"
    scale = 10.0 ** _decimals(value, digits)
    if math.isinf(scale):
        return "0"
    return f"{math.floor(value * scale * (1 + _LAST_BITS)) / scale:.{digits}g}"


def _up(entry: float | str) -> str:
    return rounded_up(value_of(entry))


def _percent_up(share: float) -> str:
    return f"{math.ceil(min(share, 1.0) * 1000 * (1 - _LAST_BITS)) / 10:g} %"


def _percent_down(share: float) -> str:
    return f"{math.floor(share * 1000 * (1 + _LAST_BITS)) / 10:g} %"


def _times(epsilon: float) -> str:
    return rounded_up(math.exp(epsilon), 3) if epsilon < 700 else f"e^{rounded_up(epsilon)}"


def _hanging(first: str, text: str) -> list[str]:
    """Lines of a paragraph that starts with `first` and is indented below it."""
    lines, line = [], first
    for word in text.split():
        if len(line) + len(word) > _WIDTH and line.strip():
            lines.append(line.rstrip())
            line = " " * len(first)
        line += word + " "
    return [*lines, line.rstrip()]
