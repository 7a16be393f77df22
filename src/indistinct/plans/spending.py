"""What a plan says of money: how much it keeps for later, and in which ledger it is charged."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

from indistinct.errors import ArgumentError
from indistinct.ledger.notions import Cap, cap_of
from indistinct.mechanisms import Budget
from indistinct.plans.declarations import Terms
from indistinct.plans.section import Section

LEDGER = "indistinct-ledger.db"
"""The file beside the data."""


@dataclass(frozen=True)
class Spending:
    """The sections [ledger], and `reserve` of [budget]."""

    reserve: float = 0.0
    """The share of the budget that is kept for releases to come."""
    at: str | None = None
    """A file or an address; beside the data unless told."""
    account: str | None = None
    """What the data are called there; by what is in the files, and where they lie, unless told."""
    cap: Budget | None = None
    """What may be spent in all; the budget of the first plan unless told."""
    notion: str | None = None
    """The language of the cap."""
    confirm: bool = False
    """Whether a cap that hardly protects is meant."""
    unit: str | None = None
    """Whom the account protects, in its words, where it was opened by hand."""
    in_folder: bool = False
    """Whether nothing is kept but what the folder of the results holds: another folder is charged anew."""

    def place(self, files: list[str], folder: Path) -> str:
        """Where the ledger is."""
        if self.in_folder:
            return str(folder / f".{LEDGER}")
        if self.at is not None:
            return self.at
        folders = {Path(file).resolve().parent for file in files}
        if len(folders) > 1:
            allowed = "given, in [ledger]: the files lie in several folders, and the ledger in one"
            raise ArgumentError("ledger.at", None, allowed)
        return str(folders.pop() / LEDGER)


def ledger_there(place: str) -> bool:
    """Whether there may be a ledger."""
    return "://" in place or os.path.exists(place)


def share_of(budget: Budget, share: float, cap: Cap) -> Fraction:
    """A share of a budget, in the notion of a cap."""
    whole = cap_of(budget, cap.notion, cap.order).limit
    assert isinstance(whole, Fraction)
    return whole * Fraction(share)


def read_spending(content: Mapping[str, Any], terms: Terms, folder: Path) -> Spending:
    """From a plan; the path of a ledger is relative to the folder."""
    budget = Section("budget", content["budget"], content["budget"].keys())
    reserve = budget.probability("reserve", 0.0)
    if reserve >= 1:
        raise ArgumentError("budget.reserve", reserve, "a share below 1 of the budget, kept for later")
    given = content.get("ledger", {})
    confirm = budget.truth("confirm")
    if given is False:
        return Spending(reserve, confirm=confirm, in_folder=True)
    if not isinstance(given, Mapping):
        raise ArgumentError("ledger", given, "a section [ledger], or false: then only the folder is charged")
    section = Section("ledger", given, {"at", "account", "epsilon", "delta", "notion", "unit"})
    at = section.maybe("at", section.text)
    if at is not None and "://" not in at:
        at = str(folder / at)
    cap = None
    if "epsilon" in section:
        cap = Budget(epsilon=section.positive("epsilon"), delta=section.probability("delta", terms.delta))
    elif "delta" in section:
        raise ArgumentError("ledger.delta", section.get("delta"), "given with ledger.epsilon, the cap")
    account, notion, unit = (section.maybe(key, section.text) for key in ("account", "notion", "unit"))
    return Spending(reserve, at, account, cap, notion, confirm, unit)
