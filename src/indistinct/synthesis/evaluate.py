"""What synthetic records are worth, in one report. It looks at real records: nothing here is private."""

import textwrap
from dataclasses import asdict, dataclass
from typing import Any

from indistinct.boundary import guarded
from indistinct.data import Categories
from indistinct.errors import DataError
from indistinct.synthesis.tables.decode import inner
from indistinct.synthesis.tables.evaluation import (
    Learned,
    RowNearness,
    learned,
    nearness,
    repeated,
    table_errors,
)
from indistinct.synthesis.tables.synthesizer import TableSynthesizer
from indistinct.synthesis.words import not_private

_NOT_PRIVATE = not_private("records")
_WIDTH = 96


@dataclass(frozen=True)
class Judged:
    """Rows, judged by real records that were set aside."""

    rows: int
    learned: Learned | None
    """What models predict that were trained on the rows; None without a label that is a category."""
    one_way: float
    """Total variation between tables of one column, the mean over the columns."""
    two_way: float | None
    """The same for two columns; None where there is one only."""
    near_real: RowNearness
    """To the records that were set aside."""


@dataclass(frozen=True)
class TableEvaluation:
    """Synthetic rows and, where they are known, the records that they were made from, both judged in the same
    way. A good generator comes close to what those records score, and no nearer to them than to others."""

    records: int
    """Real ones, that were set aside."""
    synthetic: Judged
    repeated: float
    """The share of synthetic rows that equal an earlier one."""
    compared: int
    """To so many records distances are taken, of those set aside and of those used."""
    used: Judged | None = None
    near_used: RowNearness | None = None
    """How near synthetic rows come to the records that were used."""

    def data(self) -> dict[str, Any]:
        """All numbers, for JSON."""
        return {"private": False, "words": _NOT_PRIVATE, **asdict(self)}

    def __str__(self) -> str:
        columns = [self.synthetic] if self.used is None else [self.synthetic, self.used]
        heads = ["synthetic", "records used"][: len(columns)]
        lines = [*textwrap.wrap(_NOT_PRIVATE, _WIDTH), "", f"Tested on {self.records} real records.", ""]
        lines += [f"{'':52}" + "".join(f"{head:>14}" for head in heads)]

        def row(name: str, values: list[float | int | None]) -> None:
            texts = ["-" if v is None else f"{v}" if isinstance(v, int) else f"{v:.4f}" for v in values]
            lines.append(f"{name:52}" + "".join(f"{text:>14}" for text in texts))

        row("rows", [judged.rows for judged in columns])
        models = [judged.learned for judged in columns if judged.learned is not None]
        if models:
            row("gradient boosting, area under the ROC curve", [model.boosting for model in models])
            row("logistic regression, area under the ROC curve", [model.logistic for model in models])
            row("boosting, share of labels found", [model.accuracy for model in models])
            for place, (label, _) in enumerate(models[0].by_label):
                row(f"  of those with label {label}"[:51], [model.by_label[place][1] for model in models])
        row("total variation, tables of one column", [judged.one_way for judged in columns])
        row("total variation, tables of two columns", [judged.two_way for judged in columns])
        row("equal to a real record", [judged.near_real.copies for judged in columns])
        row(
            f"distance to the nearest of {self.compared} real records",
            [judged.near_real.distance for judged in columns],
        )
        if self.near_used is not None:
            row("equal to a record that was used", [self.near_used.copies])
            row(f"distance to the nearest of {self.compared} that were used", [self.near_used.distance])
        row("equal to an earlier row", [self.repeated])
        return "\n".join(lines)


@guarded("the records")
def evaluate_tables(
    design: TableSynthesizer, synthetic: Any, real: Any, used: Any | None = None
) -> TableEvaluation:
    """Judges synthetic rows by real records that were set aside; with `used`, those that the generator was
    fitted to, it says also how these would be judged and whether they are copied. Not private."""
    for name, data in (("synthetic", synthetic), ("real", real), ("used", used)):
        if data is None:
            continue
        if lacking := [column for column, _ in design.columns if column not in data]:
            raise DataError(f"the {name} records have no column {lacking[0]!r}")
        if not len(data[design.features[0]]):
            raise DataError(f"there are no {name} records")
    records = len(real[design.features[0]])
    most = records if used is None else min(records, len(used[design.features[0]]))
    return TableEvaluation(
        records,
        _judged(design, synthetic, real, most),
        repeated(design, synthetic),
        most,
        None if used is None else _judged(design, used, real, most),
        None if used is None else nearness(design, synthetic, used, most),
    )


def _judged(design: TableSynthesizer, rows: Any, real: Any, most: int) -> Judged:
    # tables first: they refuse values that are not declared
    one_way = table_errors(design, rows, real, ways=1)
    two_way = table_errors(design, rows, real, ways=2) if len(design.columns) > 1 else None
    labelled = design.label is not None and isinstance(inner(dict(design.columns)[design.label]), Categories)
    models = learned(design, rows, real) if labelled else None
    return Judged(len(rows[design.features[0]]), models, one_way, two_way, nearness(design, rows, real, most))
