"""Checking a plan: schema, domains and budget, and the noise that each release needs, before any record is
read.

Noise scales are f times fixed proportions, and one number f is calibrated for the whole composition, so that
the budget is met exactly. The proportions:

- by weights: a release of twice the weight gets twice the share, of squared Gaussian shifts (sensitivity /
  scale)², or of ε where δ = 0;
- by the worst relative error: the expected error of every release is the same fraction f of its public size;
  no other choice makes the largest one smaller.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from indistinct.data import CachedTable, Table, check_by_record, read_csv, read_parquet, read_sql
from indistinct.errors import ArgumentError, TargetError
from indistinct.ledger.decide import best_cap
from indistinct.ledger.notions import Cap
from indistinct.mechanisms import Budget, Mechanism, calibrate
from indistinct.plans.declarations import Terms
from indistinct.plans.noise_choice import proportions
from indistinct.plans.plan import Plan
from indistinct.plans.planned_release import PlannedRelease
from indistinct.plans.spending import share_of
from indistinct.plans.together import Together
from indistinct.report.tables import readable
from indistinct.report.text import short


@dataclass(frozen=True, eq=False)
class Checked:
    """A plan that can be run, with the noise that it needs."""

    plan: Plan
    table: CachedTable
    parts: tuple[PlannedRelease, ...]
    scales: tuple[float, ...]
    cap: Cap | None
    """In which part of the budget is reserved, if it is."""

    @property
    def mechanism(self) -> Mechanism:
        """All releases as one."""
        return together(self.parts, self.scales)

    def accuracy(self) -> list[str]:
        """The expected accuracy of each release, a line each."""
        return [accuracy(part, scale) for part, scale in zip(self.parts, self.scales, strict=True)]

    def warnings(self) -> list[str]:
        """A budget that hardly protects, and releases that it allows and that will be mostly noise, with what
        would help."""
        found = (too_fine(part, scale) for part, scale in zip(self.parts, self.scales, strict=True))
        return [*_too_weak(self.plan), *(words for words in found if words is not None)]

    def __str__(self) -> str:
        told = (f"- {line}" for line in self.accuracy())
        return "\n".join([*budget_lines(self.plan), *told, *(f"Warning: {line}" for line in self.warnings())])


def check_plan(
    plan: Plan,
    charged: Mapping[str, tuple[PlannedRelease, float]] | None = None,
    left: Budget | None = None,
    cap: Cap | None = None,
    files: Sequence[str] = (),
) -> Checked:
    """The plan with its noise; raises where anything is not as it should be. No record is read.

    `charged` are releases, with their scales, that a ledger has charged before: they stay as they are. What
    the others may cost together is `left`, or else the budget of the plan less its reserve: a share of it in
    the notion of `cap`, which is that of the account. `files` are those that the plan's patterns stood for
    when somebody looked, and no others are read.
    """
    terms, table, charged = plan.terms, CachedTable(open_table(plan.terms, files)), charged or {}
    new = [part for part in plan.parts if part.name not in charged]
    for part in plan.parts:
        part.check(table)
        if not part.sensitivity(terms.adjacency):
            raise ArgumentError(part.where, part.kind, "something that depends on the records")
    scales = _calibrated(new, left or terms.budget) if new else []
    if new and left is None and plan.spending.reserve:
        if cap is None:
            notion, first = plan.spending.notion, together(new, scales)
            cap = best_cap(terms.budget, first, terms.adjacency, notion)
        scales = _reserving(plan, new, cap)
    for part, scale in zip(new, scales, strict=True):
        error, size = part.error(scale), part.size
        if error is not None and size is not None and error > size:
            too_far = f"the error of {part.where} would be {error:.3g}, more than its size ({size:.3g})"
            raise TargetError("budget.epsilon", terms.budget.epsilon, f"larger: {too_far}")
    found = {part.name: (part, scale) for part, scale in zip(new, scales, strict=True)} | dict(charged)
    chosen = [found[part.name] for part in plan.parts]
    return Checked(plan, table, tuple(part for part, _ in chosen), tuple(scale for _, scale in chosen), cap)


def open_table(terms: Terms, files: Sequence[str] = ()) -> Table:
    """The table of a plan; its schema only. Rows of a query are records, unless it is declared otherwise."""
    data = terms.data
    if data.sql is not None:
        if not data.multiplies:
            check_by_record(data.sql, terms.user)
        return read_sql(data.sql, database=data.database, one_by_one=not data.multiplies)
    return (
        read_csv(files or data.csv, **dict(data.dialect)) if data.csv else read_parquet(files or data.parquet)
    )


def together(parts: Sequence[PlannedRelease], scales: Sequence[float]) -> Mechanism:
    """All releases of a plan as one mechanism, each at its scale."""
    return Together(tuple(part.at(scale) for part, scale in zip(parts, scales, strict=True)))


def _reserving(plan: Plan, parts: Sequence[PlannedRelease], cap: Cap) -> list[float]:
    """Scales that leave the reserve."""
    share = share_of(plan.terms.budget, 1 - plan.spending.reserve, cap)
    try:
        return _calibrated(parts, cap.budget(share))
    except TargetError:
        allowed = (
            f"0 for these releases: some have no finite {cap.unit}, in which budgets are shared over time"
        )
        raise ArgumentError("budget.reserve", plan.spending.reserve, allowed) from None


def _calibrated(parts: Sequence[PlannedRelease], budget: Budget) -> list[float]:
    terms = parts[0].terms
    shares = proportions(terms, parts)

    def scales(factor: float) -> list[float]:
        return [factor * share for share in shares]

    found = calibrate(lambda f: together(parts, scales(f)), budget, adjacency=terms.adjacency)
    return scales(found.parameter)


def accuracy(part: PlannedRelease, scale: float) -> str:
    """What a release will be worth, in one line."""
    error, size = part.error(scale), part.size
    what = f"{part.name}: {subject_of(part)}"
    noise = f"{part.noise_name.lower()} noise of scale {_told(scale)}"
    if error is None:
        return f"{what}, {noise}; the expected error needs data.records"
    share = f" ({100 * error / size:.2g} % of {_told(size)})" if size else ""
    if (usual := _in_a_cell(part)) is not None:  # in a table, what matters is the error beside a cell
        share = f", of about {_told(usual)} in a cell: {100 * error / usual:.2g} %"
    return f"{what}, {noise}; expected error {_told(error)} {part.error_words}{share}{part.remark(scale)}"


def subject_of(part: PlannedRelease) -> str:
    """What is asked: the kind of answer, of which columns, by which groups."""
    response = getattr(part, "response", None)
    columns = ", ".join(name for name in part.columns if name != response)
    of = f" of {columns}" if columns else ""
    if response is not None:
        of = f" regression of {response} on {columns}"
    found = {name: f"{name} (at most {part.terms.column(name).found} found)" for name in part.found}
    by = ", ".join(found.get(name, name) for name, _ in part.groups)
    return f"{part.kind}{of}{f' by {by}' if by else ''}"


def _told(number: float) -> str:
    """To four digits."""
    return readable(float(f"{number:.4g}"))


def _in_a_cell(part: PlannedRelease) -> float | None:
    """How many records are in a cell of a table, if they are spread evenly; public."""
    records = part.terms.data.records
    if records is None or part.cell_count == 1 or part.size != records:  # it is not a table of counts
        return None
    return records / part.cell_count


def _too_weak(plan: Plan) -> Iterator[str]:
    terms, records = plan.terms, plan.terms.data.records
    if records is not None and terms.delta * records > 0.1:
        yield (
            f"delta {short(terms.delta)} is not far below 1 divided by the {readable(records)} records: a"
            " release that publishes one of them at random would nearly meet it. Take a smaller one."
        )
    if (terms.budget.epsilon or 0) > 10:
        yield f"epsilon {terms.budget.epsilon:g} hardly protects anybody; about 1 or less protects well."


def too_fine(part: PlannedRelease, scale: float) -> str | None:
    """What to do about a table most of whose cells cannot be told from empty ones: their error is half of
    what is in them, or more. None where that is not so."""
    error, usual = part.error(scale), _in_a_cell(part)
    if error is None or usual is None or error < usual / 2:
        return None
    most, times = max(int(part.cell_count * usual / (4 * error)), 1), 4 * error / usual
    return (
        f"{part.name}: most of its {part.cell_count} cells will be noise, with an error of about {error:.3g}"
        f" in cells of about {usual:.3g} records. It would be a quarter of them with at most {most} cells"
        f" (fewer columns, coarser bins), or with an epsilon about {times:.2g} times as large"
        " (budget.epsilon, or the weight of this release)."
    )


def unit_words(plan: Plan) -> str:
    """Whose privacy is protected."""
    terms = plan.terms
    if terms.user is None:
        return "one row of what the query returns" if terms.data.multiplies else "one record"
    take_part = [] if terms.most is None else [f"up to {terms.most} of which take part in each release"]
    if clipped := [part.name for part in plan.parts if part.clips_totals]:
        take_part.append(f"whose total is clipped in {', '.join(clipped)}")
    shown = ", as the query returns them" if terms.data.multiplies else ""
    return f"one user (a value of {terms.user}) with all their records{shown}, {', or '.join(take_part)}"


def budget_lines(plan: Plan) -> list[str]:
    """Whose privacy a plan protects, and its budget."""
    terms = plan.terms
    told = "Declared: the query may show a record several times, or several as one; its rows are protected."
    return [
        *([told] if terms.data.multiplies else []),
        f"Protected: {unit_words(plan)} ({terms.adjacency.value}).",
        f"Budget: epsilon {terms.budget.epsilon:g} at delta {short(terms.delta) if terms.delta else '0'},"
        f" for {'its one release' if len(plan.parts) == 1 else f'all {len(plan.parts)} releases together'}"
        + (f", and {plan.spending.reserve:.3g} of it kept for later." if plan.spending.reserve else "."),
    ]
