"""A plan to begin with, from the names of a table's columns: no value is read, so nothing is guessed."""

import json
import os
import re
from pathlib import Path

from indistinct.data import Kind, read_csv, read_parquet
from indistinct.errors import ArgumentError
from indistinct.report.tables import number_of

_HEAD = """\
# A plan for {file}: what is released about it, and for which budget. Made by `indistinct init` from the
# names of its columns alone: no value was read. Lines that begin with # do nothing; remove the # where you
# need one, and write what is true for your table in place of every ... Then:
#   indistinct check {plan}     checks all of it and says how accurate the results will be; costs nothing
#   indistinct run {plan}       charges the budget, once, and writes the results and a report

[data]
{kind} = {path}
# records = 1000            # about how many there are, as everybody may know: errors are compared with it

[privacy]                   # without a user, one record is what is protected
# user = "..."              # or the column that tells people apart: all records of a person are protected
# most = 1                  # and so many of them take part in each release

[budget]
epsilon = 1.0               # for all releases together: about 1 or less protects well
# delta = 1e-6              # far below 1 divided by the number of people; many releases need less noise then

[report]                    # words for the readers of the report; they cost nothing and may be changed later
# title = "..."
# source = "..."
# contact = "..."
"""
_COLUMNS = """
# What columns may hold. Write what everybody may know, and do not look it up in the records: what is written
# here is published. Declare the columns that a release needs; for each, an interval or a list of categories.
# Values outside an interval are moved to its nearer end; records of other categories are left out.
"""
_NUMBERS = """\
# low = ...                 # numbers: the ends of the interval ...
# high = ...
# bins = 16                 # ... and, for counts by this column, into how many equal parts it is cut
"""
_CATEGORIES = """\
# categories = [...]        # or a list: ["no", "yes"], [1, 2, 3]
#                           # or found = 20, for `by`, with delta: frequent values, found with noise
"""
_RELEASES = """
# What is released. This first one needs no column.
[[releases]]
name = "records"            # of its file, records.csv
kind = "count"

# [[releases]]
# name = "counts"
# kind = "histogram"        # a count for each category or part; of several columns, for each combination
# columns = [{first}]

# [[releases]]
# name = "average"
# kind = "mean"             # or "sum"; the column needs low and high
# column = {first}
# by = [...]                # the same for each group: columns that have categories or bins

# [[releases]]
# name = "quartiles"
# kind = "quantiles"        # the column needs low, high and bins
# column = {first}
# ranks = [0.25, 0.5, 0.75]
"""
_BARE = re.compile(r"[A-Za-z0-9_-]+")
_CATEGORICAL = {Kind.TEXT, Kind.TRUTH}


def starter(data: str | os.PathLike[str], plan: str | os.PathLike[str]) -> str:
    """The text of a plan for a CSV or Parquet file, to be written to `plan`."""
    file, path = Path(data), Path(plan)
    if file.suffix.lower() not in (".csv", ".parquet"):
        raise ArgumentError("data", str(data), "a file that ends in .csv or .parquet")
    kind = file.suffix.lower().removeprefix(".")
    columns = read_csv(file).kinds() if kind == "csv" else read_parquet(file).kinds()
    names = [name for name in columns if name]
    if kind == "csv" and (not names or any(number_of(name) is not None for name in names)):
        allowed = (
            "a file whose first line holds the names of its columns; without such a line, write the plan by"
            ' hand, with names = ["...", ...] in its section [data]'
        )
        raise ArgumentError("data", str(data), allowed)  # that line may be a record: it is not shown
    if len(names) == 1 and (other := next((sign for sign in ";\t|" if sign in names[0]), None)):
        allowed = (
            "a file whose cells are separated by commas; for another separator write the plan by hand, with"
            f" delimiter = {_text(other)} in its section [data]"
        )
        raise ArgumentError("data", str(data), allowed)
    relative = os.path.relpath(file.resolve(), path.resolve().parent)
    told = {"file": file.name, "plan": path.name, "kind": kind, "path": _text(Path(relative).as_posix())}
    first = _text(names[0])
    text = _HEAD.format(**told, first=first) + _COLUMNS
    for name in names:
        text += f"\n# [columns.{name if _BARE.fullmatch(name) else _text(name)}]\n"
        if columns[name] not in _CATEGORICAL or kind == "csv":
            text += _NUMBERS
        if columns[name] is not Kind.NUMBER:
            text += _CATEGORIES
    return text + _RELEASES.format(first=first)


def _text(words: str) -> str:
    """As TOML writes it."""
    return json.dumps(words, ensure_ascii=False).replace("\x7f", "\\u007f")
