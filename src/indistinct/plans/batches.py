"""Releases that are charged together: what a plan asks now, and what it asked before.

A plan that is run for the first time is one batch. One that has got further releases since, and has budget
left, is charged for these as another batch; what was released before stays as it is. The ledger keeps of each
batch what was asked, of which data, with how much noise and by which version: enough to finish it with the
noise that it was begun with, wherever it is run again.
"""

import glob
import hashlib
import hmac
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any

from indistinct.data import Missing, Table
from indistinct.errors import ArgumentError, FileError, Refused, SourceChanged
from indistinct.files import meaning
from indistinct.ledger import Account, Ledger, Spend
from indistinct.ledger.kept import keep, kept, labelled
from indistinct.ledger.known import own_version
from indistinct.mechanisms import Budget, Mechanism
from indistinct.mechanisms.additive import Noise
from indistinct.noise import KeyedSource
from indistinct.plans.check import Checked, check_plan, together
from indistinct.plans.declarations import DataSource
from indistinct.plans.plan import Plan, content_digest
from indistinct.plans.planned_release import PlannedRelease
from indistinct.plans.spending import ledger_there, share_of

_ASKED = "asked.json"
"""Under which the ledger keeps a batch."""
_READ = "read"
"""Under which it keeps what tells whether the records are read as before."""
_CRUMBS = Fraction(1, 10**6)
"""What calibration leaves of a budget: nothing can be bought for it."""
_MORE = "Who answers for the data may allow more, for all that they are ever asked: indistinct ledger raise"


@dataclass(frozen=True)
class ReleaseBatch:
    """Releases at their scales, and the data that they are of."""

    parts: tuple[PlannedRelease, ...]
    scales: tuple[float, ...]
    labels: tuple[str, ...]
    """Each tells its release, of these data, from all others."""
    version: str = field(default_factory=own_version)

    @property
    def mechanism(self) -> Mechanism:
        """All of them as one."""
        return together(self.parts, self.scales)

    @property
    def key(self) -> str:
        """By which the ledger charges it once."""
        return content_digest(sorted(self.labels))

    @property
    def tells(self) -> list[str]:
        """What is learnt without noise when the records pass: that none of them was to be refused."""
        found = []
        for part in self.parts:
            fields = {**asdict(part), "terms": None}
            for name, column in part.terms.named_in(fields):
                found += [f"no {name} is outside what is declared"] if column.outside == "error" else []
                found += [f"no {name} is missing"] if column.missing == "error" else []
            if fields.get("missing") is Missing.ERROR:
                found.append(f"nothing is missing for {part.name}")
        return list(dict.fromkeys(found))

    def source(self, secret: bytes, part: PlannedRelease) -> KeyedSource:
        """The bits of one release. Whatever its noise depends on is in the label, so that other data, or
        another scale, would get other bits."""
        place = self.parts.index(part)
        told = [self.key, self.labels[place], part.name, repr(self.scales[place]), self.version]
        return KeyedSource(secret, json.dumps(told).encode())

    def check_read(self, account: Account, secret: bytes, looked: Mapping[str, Any]) -> None:
        """Refuses to draw the same noise for records that are read differently now than when this batch was
        begun, whatever the files look like: a query may depend on more than they hold. What was read is noted
        under the secret of the charge, before anything is drawn."""
        read = hmac.new(secret, digestmod="sha256")
        for part in self.parts:
            for piece in _pieces(part, looked[part.name]):
                read.update(hashlib.sha256(piece).digest())
        own = read.hexdigest().encode()
        before = kept(account, self.key).get(_READ)
        if before is None:
            keep(account, self.key, {_READ: own})
        elif before != own:
            raise SourceChanged("the records are read differently than when this run was begun")

    def kept(self) -> bytes:
        """As the ledger keeps it."""
        releases = [
            {
                "name": part.name,
                "label": label,
                "scale": scale,
                "noise": part.noise.value,
                "alone": part.asked.alone,
            }
            for part, scale, label in zip(self.parts, self.scales, self.labels, strict=True)
        ]
        return json.dumps({"version": self.version, "releases": releases}).encode()

    @classmethod
    def read(cls, plan: Plan, account: Account, spend: Spend, labels: Mapping[str, str]) -> "ReleaseBatch":
        """What the ledger kept of a spend, for the releases as the plan has them. That each is the one which
        was charged is seen by its label; the scales, by the digest of the mechanism."""
        with meaning(account.ledger.book.store.where, "a ledger that plans have written"):
            told = json.loads(kept(account, spend.key)[_ASKED])
            listed = told["releases"]
            version = str(told["version"])
            names = [one["name"] for one in listed]
        here = [part.name for part in plan.parts]
        if gone := [name for name in names if name not in here]:
            allowed = f"with {', '.join(gone)} too, which was charged together with others of them"
            raise ArgumentError("releases", ", ".join(here), allowed)
        with meaning(account.ledger.book.store.where, "a ledger that plans have written"):
            parts = tuple(
                plan.part_as(one["name"], Noise(one["noise"]), alone=one["alone"]) for one in listed
            )
            scales = tuple(float(one["scale"]) for one in listed)
            found = cls(parts, scales, tuple(one["label"] for one in listed), version)
        for name, label in zip(names, found.labels, strict=True):
            if labels[name] != label:
                allowed = "as it was when it was charged together with others; a new one needs another name"
                raise ArgumentError(f"releases.{name}", "a changed one", allowed)
        if found.mechanism != spend.mechanism:
            raise FileError(
                account.ledger.book.store.where, "what it kept of this plan is not what it charged"
            )
        return found


@dataclass(frozen=True)
class Standing:
    """Where a plan stands in a ledger."""

    plan: Plan
    account: Account | None
    labels: dict[str, str]
    """Of the releases, by name, for the data as they are."""
    before: tuple[tuple[ReleaseBatch, Spend], ...]
    files: tuple[str, ...]
    data: tuple[str, ...]
    """The digest of each file."""

    @classmethod
    def of(cls, plan: Plan, ledger: Ledger, files: Sequence[str]) -> "Standing":
        """By what is in the files; nothing is charged."""
        account = ledger.recognise(files, plan.spending.account)
        data = tuple(ledger.digest(path) for path in files)
        if len(set(data)) < len(data):
            allowed = "different files: one that is listed twice, or a copy, would count its records twice"
            raise ArgumentError("data", "the same file again", allowed)
        labels = {part.name: content_digest([plan.part_digest(part.name), *data]) for part in plan.parts}
        spends = {}
        if account is not None:
            found = (labelled(account, label) for label in labels.values())
            spends = {spend.key: spend for spend in found if spend is not None}
        before = tuple(
            (ReleaseBatch.read(plan, account, spend, labels), spend) for spend in spends.values() if account
        )
        return cls(plan, account, labels, before, tuple(files), data)

    @property
    def digest(self) -> str:
        """What an owner approves: the plan, and what is in its files (under the ledger's key)."""
        return content_digest([self.plan.digest, *self.data])

    def check_data(self, account: Account) -> None:
        """Refuses files that are no longer what they were when the account was looked up."""
        found = source_files(self.plan.terms.data)  # the log of a database may have come
        if tuple(found) != self.files or tuple(map(account.ledger.digest, found)) != self.data:
            raise SourceChanged("the files have changed since this run began; run it again")

    @property
    def charged(self) -> dict[str, tuple[PlannedRelease, float]]:
        """The releases of before, with their scales, by name."""
        batches = (zip(batch.parts, batch.scales, strict=True) for batch, _ in self.before)
        return {part.name: (part, scale) for batch in batches for part, scale in batch}

    def left(self) -> Budget | None:
        """What new releases may cost together, where that is not the whole budget of the plan: what earlier
        ones left of it, less the reserve."""
        if self.account is None or self.account.cap is None or len(self.charged) in (0, len(self.labels)):
            return None
        cap, costs = self.account.cap, [spend.cost for _, spend in self.before]
        share = share_of(self.plan.terms.budget, 1 - self.plan.spending.reserve, cap)
        spent = sum((cost for cost in costs if isinstance(cost, Fraction)), Fraction(0))
        if share - spent <= share * _CRUMBS:
            lower = ": lower budget.reserve" if self.plan.spending.reserve else ""
            told = cap.told(spent, self.plan.terms.budget)
            raise Refused(
                self.account.name, f"the plan has spent {told}, and nothing is left for more{lower}"
            )
        return cap.budget(share - spent)

    def checked(self) -> Checked:
        """The plan with its noise, as far as it was not charged before."""
        cap = None if self.account is None else self.account.cap
        return check_plan(self.plan, self.charged, self.left(), cap, self.files)

    def new(self, parts: Sequence[PlannedRelease], scales: Sequence[float]) -> ReleaseBatch:
        """What was not asked before."""
        asked = [
            (part, scale) for part, scale in zip(parts, scales, strict=True) if part.name not in self.charged
        ]
        labels = tuple(self.labels[part.name] for part, _ in asked)
        return ReleaseBatch(tuple(part for part, _ in asked), tuple(scale for _, scale in asked), labels)


def unit_of(plan: Plan, *, approved: bool = False) -> str:
    """Whom the account of a plan protects. What a query that may repeat records protects is not for the plan
    to say in words of its own, unless an owner has to approve it."""
    user, query = plan.terms.user, plan.terms.data.multiplies
    own = "one record" if user is None else f"one user (a value of {user})"
    if query:
        own = "one row of a query" if user is None else f"{own} of a query"
    return own if plan.spending.unit is None or (query and not approved) else plan.spending.unit


def check_unit(account: Account, standing: "Standing") -> None:
    """Refuses to add up what a plan costs one sort of people and what others cost another; that is noted."""
    theirs, own = account.terms.unit, unit_of(standing.plan, approved=account.terms.approval)
    if theirs != own:
        reason = f"it protects {theirs}, and the plan protects {own}: their costs do not add up"
        if account.terms.approval or not standing.plan.terms.data.multiplies:
            call = f"If the plan's one is what the account calls {theirs}, say so"
            reason += f'. {call}: [ledger] unit = "{theirs}"'
        account.journal("not asked", {"plan": standing.digest, "reason": reason})
        raise Refused(account.name, reason)


def fits(standing: Standing, checked: Checked) -> str | None:
    """Why the account would refuse what is new in a plan; None if it would not."""
    batch = standing.new(checked.parts, checked.scales)
    if standing.account is None or not batch.parts:
        return None
    try:
        check_unit(standing.account, standing)
    except Refused as error:
        return error.reason
    adjacency = standing.plan.terms.adjacency
    return standing.account.refusal(batch.mechanism, plan=standing.digest, adjacency=adjacency)


def reserve(account: Account, batch: ReleaseBatch, standing: Standing) -> Spend:
    """Keeps the cost of a batch, and what it was for."""
    names = ", ".join(part.name for part in batch.parts)
    terms: dict[str, Any] = {"key": batch.key, "plan": standing.digest, "note": f"releases {names}"[:200]}
    terms["unit"] = account.terms.unit  # `check_unit` has seen that it is the plan's
    try:
        spend = account.reserve(batch.mechanism, adjacency=standing.plan.terms.adjacency, **terms)
    except Refused as error:
        if not isinstance(error.asked, Fraction):  # no budget is large enough
            raise
        numbers = {"spent": error.spent, "asked": error.asked, "left": error.left}
        raise Refused(account.name, f"{error.reason}. {_MORE}", **numbers) from None
    keep(account, batch.key, {_ASKED: batch.kept()}, batch.labels)
    return spend


@contextmanager
def looked_up(plan: Plan, out: str | Path, who: str | None = None) -> Iterator[Standing | None]:
    """Where a plan stands, if anything was ever charged for its data; nothing is charged."""
    files = source_files(plan.terms.data)
    place = plan.spending.place(files, Path(out)) if files else ""
    if not place or not ledger_there(place):
        yield None
        return
    with Ledger.open(place, create=False, who=who) as ledger:
        yield Standing.of(plan, ledger, files)


def source_files(data: DataSource) -> list[str]:
    """The files that hold the records of a plan."""
    if data.database is not None:
        log = f"{data.database}.wal"  # what was committed last may be there alone
        return [data.database, *([log] if os.path.exists(log) else [])]
    files: list[str] = []
    for path in (*data.csv, *data.parquet):
        files += [path] if os.path.exists(path) else sorted(glob.glob(path, recursive=True))
    return files


def _pieces(part: PlannedRelease, looked: Any) -> Iterator[bytes]:
    """Of what a release is drawn from."""
    if isinstance(looked, Table):
        found = [looked.total(bounded).units for bounded in part.sums]
    else:  # the values that occur, and their counts
        yield repr(looked.values).encode("utf-8", "backslashreplace")
        found = [looked.counts]
    # integers of any size may be Python's own, which are known by their places in memory
    yield from (repr(one.tolist()).encode() if one.dtype.hasobject else one.tobytes() for one in found)
