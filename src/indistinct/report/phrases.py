"""Whom a report is about, in the words of its sentences: a person's record, several records, or a user."""

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Whom:
    """Phrases that fit what neighbouring data differ in."""

    title: str
    differ: str
    """What one data set has and its neighbour has not, or has otherwise."""
    used: str
    valued: str
    there: str
    known: str
    content: str
    alone: str | None = None
    """What the data are without, where that can be said."""


_RECORD = Whom(
    title="one person",
    differ="one person's record",
    used="one given person's record was used",
    valued="which of two values one person's record has",
    there="the record was there",
    known="the record has a certain value",
    content="the content of the record",
    alone="the record",
)
_USER = Whom(
    title="one user",
    differ="all records of one user",
    used="one given user's records were used",
    valued="which of two sets of records one user has",
    there="the user's records were there",
    known="the user has certain records",
    content="the contents of the user's records",
    alone="the user's records",
)


def whom(data: dict[str, Any]) -> Whom:
    """The phrases for a report's data."""
    if data["user"] is not None:
        column, most = data["user"]["column"], data["user"]["most"]
        some = "" if most is None else f", up to {most} of which take part in each release"
        return Whom(**{**vars(_USER), "differ": f"{_USER.differ} (one value of {column}){some}"})
    if data["records"] == [1]:
        return _RECORD
    return Whom(
        title="a group of records",
        differ=f"{' or '.join(map(str, data['records']))} records that change together",
        used="a given group's records were used",
        valued="which of two values a group's records have",
        there="the records were there",
        known="the records have a certain value",
        content="the contents of the records",
    )
