"""What a run has released, told once: the page, the text and the data dictionary are all made from this."""

from dataclasses import dataclass
from functools import partial
from statistics import median
from typing import Any

from indistinct.files import meaning
from indistinct.plans.check import Checked, accuracy, subject_of, unit_words
from indistinct.plans.folder import CHARGE, Folder
from indistinct.plans.kinds.pictures import interval_pictures, scale_of
from indistinct.plans.notes import implausible, notes
from indistinct.plans.planned_release import FittedPart, PlannedRelease
from indistinct.report import Subject
from indistinct.report.tables import Measured, ReadTable, label_stem, number_of, plain, readable
from indistinct.report.text import rounded_up, short

DICTIONARY = "release.json"
INTERVALS = (
    "Each number has noise in it. Its 95 % interval holds what the number is without noise, for the records"
    " as they are limited here, in 95 of 100 such releases: unless told otherwise it is about noise"
    " alone, not about who was sampled or who did not answer."
)


@dataclass(frozen=True)
class ToldRelease:
    """One release: its result, and all that a reader must know of it."""

    part: PlannedRelease
    scale: float
    header: list[str]
    rows: list[list[str]]
    charts: list[str]
    notes: list[str]
    """What no interval shows, and what the numbers say in words."""
    warnings: list[str]
    """Those of them that whoever runs the plan must see."""

    @property
    def title(self) -> str:
        name = plain(self.part.name)
        return name[0].upper() + name[1:]

    @property
    def fitted(self) -> bool:
        return isinstance(self.part, FittedPart)

    @property
    def words(self) -> str:
        """What it is, its noise and its expected error."""
        told = accuracy(self.part, self.scale).removeprefix(f"{self.part.name}: ")
        return f"{told[0].upper()}{told[1:]}."

    @property
    def what(self) -> str:
        return subject_of(self.part)

    @property
    def table(self) -> ReadTable:
        synthetic = self.header == list(self.part.columns)  # rows like the records
        keep = [place for place, name in enumerate(self.header) if name not in self.part.only_in_file]
        header, *rows = ([row[place] for place in keep] for row in (self.header, *self.rows))
        return ReadTable.of(header, rows, raw=synthetic, scale=scale_of(self.part.answer_times))

    @property
    def files(self) -> list[str]:
        """What was drawn first."""
        return [f"{name}.csv" for name in dict.fromkeys((self.part.drawn, self.part.name))]

    @property
    def summary(self) -> tuple[str, str]:
        """The result in a few words, and its usual uncertainty."""
        if self.fitted:
            return f"{len(self.rows):,} rows", "fitted"
        where = Measured.of(self.header)
        if not where.has_interval or (self.part.units_differ and len(self.rows) > 1):
            return f"{len(self.rows):,} numbers", ""
        if len(self.rows) == 1:
            number, interval, *_ = self.table.rows[0][self.table.about :]
            return number, interval
        widths = [(ends[1] - ends[0]) / 2 for row in self.rows if (ends := where.interval(row)) is not None]
        usual = f"± {readable(median(widths), median(widths))}" if widths else ""
        return f"{len(self.rows):,} numbers", usual


@dataclass(frozen=True)
class ToldRun:
    """All of a run."""

    checked: Checked
    subject: Subject
    charge: dict[str, Any]
    releases: list[ToldRelease]

    @classmethod
    def of(cls, checked: Checked, subject: Subject, charge: dict[str, Any], folder: Folder) -> "ToldRun":
        """From the files that were written."""
        releases = []
        for part, scale in zip(checked.parts, checked.scales, strict=True):
            with meaning(folder.result(part.name), "as it was released"):
                header, *rows = _read_dated(folder, part, part.name)
                charts = part.charts(partial(_read_dated, folder, part))
                if not charts and not isinstance(part, FittedPart) and not part.units_differ:
                    charts = interval_pictures(part.name, [header, *rows], part.answer_times)
                warnings = implausible(part, header, rows)
                beside = [*map(_sentence, part.sentences(rows)), *warnings, *notes(checked.plan, part)]
                told = ToldRelease(part, scale, header, rows, charts, beside, warnings)
                _ = told.summary  # whatever is wrong with a file is seen here
                releases.append(told)
        return cls(checked, subject, charge, releases)

    @property
    def title(self) -> str:
        whom = "one record" if self.checked.plan.terms.user is None else "one user"
        return self.checked.plan.about.title or f"Private results, and what they can tell about {whom}"

    @property
    def date(self) -> str:
        return self.checked.plan.about.date or str(self.charge.get("date", ""))

    @property
    def privacy(self) -> str:
        """The guarantee in the usual notation."""
        terms, data = self.checked.plan.terms, self.subject.data()
        epsilon, count = data["epsilon"]["epsilon"], len(self.releases)
        of = "for the one release" if count == 1 else f"for all {count} releases together"
        delta = short(terms.delta) if terms.delta else "0"
        return f"epsilon = {rounded_up(epsilon)} at delta = {delta}, {of} ({terms.adjacency.value})"

    @property
    def facts(self) -> list[tuple[str, str]]:
        """What stands at the top."""
        plan = self.checked.plan
        found = [
            ("Source", plan.about.source),
            ("Date", self.date),
            ("Contact", plan.about.contact),
            ("Privacy", self.privacy),
            ("Protected", unit_words(plan)),
            ("Noise", " and ".join(dict.fromkeys(part.noise_name.capitalize() for part in plan.parts))),
        ]
        return [(name, text) for name, text in found if text]

    @property
    def how_to_read(self) -> str:
        """What intervals and errors are about."""
        made = " and ".join(dict.fromkeys(one.part.kind for one in self.releases if one.fitted))
        fitted = (
            f" What is called {made} is fitted to such numbers, and has no standard error." if made else ""
        )
        return (
            INTERVALS
            + fitted
            + " A negative count is noise. Tables here show the digits that noise leaves; files have more."
            " What else was done to a result is said beside it. What every column of a file means is in"
            f" {DICTIONARY}, the guarantee in {CHARGE}."
        )


def _read_dated(folder: Folder, part: PlannedRelease, name: str) -> list[list[str]]:
    """A result with dates and times in the columns that say what a row is about; files have numbers."""
    header, *rows = folder.read_rows(name)
    columns = dict(part.terms.columns)
    names = [name if name in columns else label_stem(name) for name in header[: Measured.of(header).number]]
    for place, name in enumerate(names):
        if name in columns and (scale := scale_of(columns[name].times)) is not None:
            for row in rows:
                number = number_of(row[place])
                row[place] = row[place] if number is None else scale.written(number)
    return [header, *rows]


def _sentence(text: str) -> str:
    return f"{text[0].upper()}{text[1:]}."
