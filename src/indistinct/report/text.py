"""A report in words that a reader can repeat, and as a table.

It is written from the report's data alone. Numbers are rounded towards the cautious side: what an
attacker can do upwards, what an attacker must miss downwards.
"""

import math
from typing import Any

from indistinct.report.data import value_of
from indistinct.report.phrases import whom

_WIDTH = 96
_DIGITS = 5
_LAST_BITS = 1e-12
_NEIGHBOURS = {
    "add/remove": "the data with, and the data without, {them}",
    "replace-one": "two data sets of one size that differ in {them}",
}
LEAD = "What the release tells, at most, to someone who knows everything else"
FOOT = (
    "These bounds hold for every test, whatever its computing power, and are rounded towards caution."
    " Choose delta well below 1 divided by the number of people in the data."
)


def to_text(data: dict[str, Any]) -> str:
    """The whole report: what it is for, what can be learnt, the table."""
    lines = [piece for name, value in subject_lines(data) for piece in _hanging(f"{name:<12}", value)]
    lines += ["", f"{LEAD}:", ""]
    lines += [piece for sentence in sentences(data) for piece in _hanging("- ", sentence)]
    rows = table(data)
    width = max(len(name) for name, _ in rows)
    lines += ["", *(f"{name:<{width}}  {value}" for name, value in rows), ""]
    return "\n".join([*lines, *_hanging("", foot(data))])


def foot(data: dict[str, Any]) -> str:
    """For whom the numbers hold."""
    if data["against"] is None:
        return FOOT
    return (
        f"Rows with the word against hold only for someone who applies no other functions. All others: {FOOT}"
    )


def subject_lines(data: dict[str, Any]) -> list[tuple[str, str]]:
    """What the report is about, by name."""
    # an expression without a mechanism has claims among its parts
    what = "Stated" if data["mechanism"] is None else "Mechanism"
    neighbours = _NEIGHBOURS[data["adjacency"]].format(them=whom(data).differ)
    return [
        (what, data["expression"]),
        ("Neighbours", f"{data['adjacency']}: {neighbours}"),
        *(("Sampling", line) for line in data["sampling"]),
    ]


def sentences(data: dict[str, Any]) -> list[str]:
    """What an attacker can and cannot do, for someone who has never heard of epsilon."""
    pure = value_of(data["pure"])
    if pure == 0:
        return [f"Nothing: what is released does not depend on {whom(data).alone or 'the records'}."]
    told = [_test(data), _guess(data), _rare_guess(data), _belief(data)]
    told += [_reconstruction(data), _consequence(data), _epsilon(data)]
    if data["against"] is not None:
        told.append(_limited(data))
    if math.isfinite(pure):
        told.append(
            f"No outcome at all is more than {_times(pure)} times likelier on one of the two data sets"
            f" than on the other (pure epsilon {rounded_up(pure)})."
        )
    return told


def table(data: dict[str, Any]) -> list[tuple[str, str]]:
    """Readings by name, rounded towards caution."""
    epsilon, delta, gaussian = data["epsilon"], data["delta"], data["gaussian"]
    rows = [(f"epsilon at delta = {short(epsilon['delta'])}", _up(epsilon["epsilon"]))]
    if delta is not None:
        rows.append((f"delta at epsilon = {short(delta['epsilon'])}", _up(delta["delta"])))
    rows += _rows("Rényi divergence of order {}", data["renyi"], "order", "divergence")
    tests = "least false negative rate at false positive rate {}"
    rows += _rows(tests, data["tradeoff"], "fpr", "fnr", rounded_down)
    but = f", up to a probability of {short(gaussian['slack'])}" if gaussian["slack"] else ""
    return [
        *rows,
        ("membership advantage (true minus false positive rate)", _up(data["advantage"])),
        *meaning_rows(data),
        ("pure epsilon (delta = 0)", _up(data["pure"])),
        (f"Gaussian DP: mu{but}", _up(gaussian["mu"])),
        ("  its regret: how far its error rates are from the true ones", _up(gaussian["regret"])),
        *against_rows(data),
    ]


def against_rows(data: dict[str, Any]) -> list[tuple[str, str]]:
    """Divergences against an adversary of limited capacity, where one was named."""
    against = data["against"]
    if against is None:
        return []
    who = f"against {against['adversary']}"
    first = (f"Kullback-Leibler divergence {who}", _up(against["kl"]))
    return [first, *_rows(f"Rényi divergence of order {{}} {who}", against["renyi"], "order", "divergence")]


def meaning_rows(data: dict[str, Any]) -> list[tuple[str, str]]:
    """Beliefs, guesses and consequences by name."""
    factor = data["bayes_factor"]
    but = f", up to a probability of {short(factor['beyond'])}" if factor["beyond"] else ""
    event = "chance of an event, or of a reconstruction, if it was {}"
    return [
        (f"Bayes factor: how much the odds of the truth grow{but}", _up(factor["factor"])),
        *_rows("  belief after, if it was {} before", data["posterior"], "prior", "high"),
        *_rows("least error of a guess, prior {}", data["bayes_risk"], "prior", "risk", rounded_down),
        *_rows(event, data["event"], "probability", "high"),
    ]


# -- sentences ------------------------------------------------------------------------------------


def _test(data: dict[str, Any]) -> str:
    """The trade-off curve at one point, as a test that someone runs."""
    if data["adjacency"] == "add/remove":
        want, wrong, looked_for = whom(data).used, "those who were not in the data", "those who were"
        want = f"whether {want}"
    else:
        want, wrong, looked_for = whom(data).valued, "the cases of the first", "the cases of the second"
    start = f"Someone who wants to know {want}, and accepts being wrong about 5 % of {wrong},"
    (missed,) = [entry["fnr"] for entry in data["tradeoff"] if entry["fpr"] == 0.05]
    if missed < 0.001:
        return f"{start} may find practically all of {looked_for}: this does not protect."
    return f"{start} will still miss at least {_percent(missed, math.floor)} of {looked_for}."


def _guess(data: dict[str, Any]) -> str:
    right = _percent((1 + data["advantage"]) / 2, math.ceil)
    return (
        "If both answers are equally likely beforehand, the best possible guess is right at most"
        f" {right} of the time; a coin toss is right 50 %."
    )


def _rare_guess(data: dict[str, Any]) -> str:
    """The Bayes risk where one answer is rare."""
    (risk,) = [entry["risk"] for entry in data["bayes_risk"] if entry["prior"] == 0.01]
    member = data["adjacency"] == "add/remove"
    when = (
        "one in a hundred of those asked about was in the data" if member else "one value has a chance of 1 %"
    )
    always = "always saying that nobody was" if member else "always saying that it is the other"
    wrong = _fine_percent(risk, math.floor)
    if wrong == "1 %":
        return f"If only {when}, no guess does better than {always}, which is wrong 1 % of the time."
    best = f"the best possible guess is wrong at least {wrong} of the time"
    return f"If only {when}, {best}; {always} is wrong 1 %."


def _belief(data: dict[str, Any]) -> str:
    """The posterior for two priors: how far the release can convince somebody."""
    what = whom(data).there if data["adjacency"] == "add/remove" else whom(data).known
    few, half = (_fine_percent(entry["high"], math.ceil) for entry in data["posterior"])
    beyond = data["bayes_factor"]["beyond"]
    but = f", except with a probability of {short(beyond)}" if beyond else ", whatever the outcome"
    if data["posterior"][0]["high"] >= 1:
        return (
            f"Someone may become certain that {what}, even with a probability of more than {short(beyond)}."
        )
    return (
        f"Someone who thought it 1 % likely that {what} will think it at most {few} likely after seeing the"
        f" release; someone who thought 50 %, at most {half}{but}."
    )


def _reconstruction(data: dict[str, Any]) -> str:
    rare, likely = (_fine_percent(entry["success"], math.ceil) for entry in data["reconstruction"])
    return (
        f"Someone who could guess {whom(data).content} with a chance of 1 in 10 without the release can do so"
        f" with a chance of at most {likely} with it; with a chance of 1 in 1000 without it, at most {rare}."
    )


def _consequence(data: dict[str, Any]) -> str:
    """What may follow from the release for whoever is in the data."""
    before, after, alone = "on one data set", "on the other", whom(data).alone
    if data["adjacency"] == "add/remove" and alone is not None:
        before, after = f"without {alone}", "with it" if alone == "the record" else "with them"
    rare, likely = data["event"]
    low, high = _percent(likely["low"], math.floor), _percent(likely["high"], math.ceil)
    return (
        f"A consequence of the release that has a chance of 10 % {before} has a chance of at least {low} and"
        f" at most {high} {after}; one of 1 in 1000, at most {_fine_percent(rare['high'], math.ceil)}."
    )


def _epsilon(data: dict[str, Any]) -> str:
    delta, epsilon = data["epsilon"]["delta"], value_of(data["epsilon"]["epsilon"])
    if math.isinf(epsilon):
        why = (
            "with more than that probability the release may give everything away"
            if delta > 0
            else "some outcomes, however rare, may tell arbitrarily much"
        )
        return f"There is no epsilon at delta = {short(delta)}: {why}.{_fitting(data)}"
    return (
        f"In the usual notation: epsilon = {rounded_up(epsilon)} at delta = {short(delta)}. The chance of"
        f" any outcome on one of the two data sets is at most {_times(epsilon)} times its chance on the"
        f" other{f', plus {short(delta)}' if delta else ''}."
    )


def _fitting(data: dict[str, Any]) -> str:
    """What to do where a claim says nothing at the delta that was asked for."""
    fits = data["fits"]
    if fits is None:
        return ""
    least = f"delta = {rounded_up(fits['delta'])}, where epsilon is {_up(fits['epsilon'])}"
    ask = (
        " Whoever claims this can say more: ask for the Rényi curve, the privacy profile or the noise itself"
        " (renyi, profile, gaussian, ... in an expression)."
        if data["mechanism"] is None
        else ""
    )
    return f" The smallest that fits is {least}; pictures are drawn at twice that delta.{ask}"


def _limited(data: dict[str, Any]) -> str:
    """What is left for someone who can only apply some functions to the release."""
    against, whole = data["against"], data["renyi"]
    (few,) = [entry["divergence"] for entry in against["renyi"] if entry["order"] == 4.0]
    (all_,) = [entry["divergence"] for entry in whole if entry["order"] == 4.0]
    note = f" ({against['note']})" if against["note"] else ""
    scope = "" if against["every_neighbour"] else ", between the two outputs furthest apart"
    return (
        f"Someone who applies nothing but {against['adversary']} to the release learns a Rényi divergence of"
        f" at most {_up(few)} at order 4{scope}; everybody, at most {_up(all_)}{note}. The other statements"
        " here are for everybody."
    )


# -- numbers --------------------------------------------------------------------------------------


def rounded_up(value: float, digits: int = _DIGITS) -> str:
    """The value to this many significant digits, never below it.

    >>> rounded_up(2.38160969), rounded_up(0.5), rounded_up(math.inf)
    ('2.3817', '0.5', 'infinity')
    """
    return "infinity" if math.isinf(value) else _rounded(value, digits, math.ceil)


def rounded_down(value: float, digits: int = _DIGITS) -> str:
    """The value to this many significant digits, never above it.

    >>> rounded_down(0.857579), rounded_down(0.95), rounded_down(0.0)
    ('0.85757', '0.95', '0')
    """
    return _rounded(value, digits, math.floor)


def short(value: float) -> str:
    """The number as people write it: 1e-5, not 1e-05."""
    return f"{value:g}".replace("e-0", "e-")


def _rounded(value: float, digits: int, to_integer: Any) -> str:
    if value < 1e-300:  # readings that are zero come as the smallest float
        return "0"
    exponent = math.floor(math.log10(value)) - digits + 1
    mantissa = value / 10.0**exponent
    # an error in the last bits is not worth a digit
    if abs(mantissa - round(mantissa)) > _LAST_BITS * mantissa:
        mantissa = to_integer(mantissa)
    result = float(f"{round(mantissa)}e{exponent}")
    if 1e4 <= result < 1e9:
        return f"{result:.0f}"
    return f"{result:.{digits}g}".replace("e-0", "e-").replace("e+0", "e").replace("e+", "e")


def _up(entry: float | str) -> str:
    return rounded_up(value_of(entry))


def _rows(words: str, entries: Any, place: str, reading: str, rounded: Any = _up) -> list[tuple[str, str]]:
    """A row of the table for each place where something was read."""
    return [(words.format(short(entry[place])), rounded(entry[reading])) for entry in entries]


def _percent(share: float, to_integer: Any) -> str:
    tenths = share * 1000
    near = round(tenths)
    return f"{(near if abs(tenths - near) < 1e-9 else to_integer(tenths)) / 10:g} %"


def _fine_percent(share: float, to_integer: Any) -> str:
    """To three digits, for small shares too, and never 100 % for what is not certain."""
    if 0.9995 < share < 1 and to_integer is math.ceil:
        return "99.99 %" if share <= 0.9999 else "100 %"
    text = rounded_up(100 * share, 3) if to_integer is math.ceil else rounded_down(100 * share, 3)
    return f"{text} %"


def _times(epsilon: float) -> str:
    return rounded_up(math.exp(epsilon), 3) if epsilon < 20 else f"e^{rounded_up(epsilon)}"


def _hanging(first: str, text: str) -> list[str]:
    """Lines of a paragraph that starts with `first` and is indented below it."""
    lines, line = [], first
    for word in text.split():
        if len(line) + len(word) > _WIDTH and line.strip():
            lines.append(line.rstrip())
            line = " " * len(first)
        line += word + " "
    return [*lines, line.rstrip()]
