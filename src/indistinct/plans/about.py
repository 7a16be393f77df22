"""What a plan says of its report: words for readers. They cost nothing and may be changed later."""

from dataclasses import dataclass
from datetime import date
from typing import Any

from indistinct.errors import ArgumentError
from indistinct.plans.section import Section


@dataclass(frozen=True)
class About:
    """The section `[report]`."""

    title: str | None = None
    source: str | None = None
    """Where the records come from, as a reader should know it."""
    contact: str | None = None
    date: str | None = None
    """As it is to be printed; without it, the day on which the budget was charged (UTC)."""


def read_about(given: Any) -> About:
    """From the section of a plan."""
    section = Section("report", given, {"title", "source", "contact", "date"})
    words = {key: section.maybe(key, section.text) for key in ("title", "source", "contact")}
    day = section.get("date")
    if day is not None and not isinstance(day, str | date):
        raise ArgumentError(section.at("date"), day, "a date such as 2026-11-16, or a text")
    return About(**words, date=None if day is None else str(day))
