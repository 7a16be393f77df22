"""DP-SGD from what a training script knows: how many records, how batches are made, how much noise."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from decimal import ROUND_CEILING, ROUND_FLOOR, Context
from enum import Enum
from typing import Any, NamedTuple

from indistinct.adjacency import Adjacency
from indistinct.description import one_of
from indistinct.errors import ArgumentError, check_count, check_positive
from indistinct.guarantees import Guarantee
from indistinct.guarantees.guarantee import as_bound
from indistinct.guarantees.tries import FixedTries, Tries
from indistinct.mechanisms import DrawnSum, Gaussian, Mechanism, SampledSum, TruncatedSum, mixture
from indistinct.mechanisms.drawn_sums import MOST_COINS, more_than
from indistinct.mechanisms.tuning import repeat_and_select


class Sampling(Enum):
    """How batches are made."""

    POISSON = "poisson"
    """Every record joins every batch by a coin of its own: `PoissonBatches`."""
    TRUNCATED_POISSON = "truncated poisson"
    """The same, but of batches that are too large only a part is used."""
    ALLOCATION = "allocation"
    """Every record joins one batch of each epoch, drawn at random ("balls in bins"), or `times` batches of so
    many epochs: `AllocatedBatches`."""
    WITHOUT_REPLACEMENT = "without replacement"
    """Every batch is a set of so many records, drawn afresh."""
    WITH_REPLACEMENT = "with replacement"
    """Every batch is so many draws from all records."""
    SHUFFLED = "shuffled"
    """Records are shuffled and cut into batches, as most loaders do."""
    CYCLIC = "cyclic"
    """Batches come in a fixed order, so that a record takes part again after a whole epoch at the
    earliest."""
    MIN_SEPARATION = "min separation"
    """The same, but `separation` steps later at the earliest."""


class Neighbours(Enum):
    """Which data sets are told apart."""

    ADD_REMOVE = "add/remove"
    ZERO_OUT = "zero-out"
    """One record is emptied: its gradient is zero, and how many records there are is known."""
    REPLACE_ONE = "replace-one"


@dataclass(frozen=True)
class Training:
    """A training run: its mechanism, and what was assumed of it. Runs add up to runs of several phases.

    `at_least` is a run that tells no more, where only a bound is known of this one.
    """

    mechanism: Mechanism
    adjacency: Adjacency
    assumptions: tuple[str, ...]
    at_least: Mechanism | None = None
    neighbours: Neighbours = Neighbours.ADD_REMOVE
    user_records: int = 1
    bound: bool = False
    """Whether the mechanism tells more than the run: its readings have no lower end then."""

    def guarantee(self) -> Guarantee:
        """What is known of telling neighbours apart from all that training releases."""
        known = self.mechanism.guarantee(self.adjacency)
        return as_bound(known) if self.bound else known

    def epsilon(self, delta: Any) -> Any:
        """The guarantee's epsilon."""
        return self.guarantee().epsilon(delta)

    def __add__(self, other: "Training") -> "Training":
        if not isinstance(other, Training):
            return NotImplemented
        for name in ("neighbours", "user_records"):  # else the sum would be about nobody
            first, second = (getattr(one, name) for one in (self, other))
            if first != second:
                words = [getattr(one, "value", one) for one in (first, second)]
                raise ArgumentError(name, words[1], f"{words[0]}, as in the first phase")
        if self.adjacency is not other.adjacency:
            raise ArgumentError(
                "adjacency", other.adjacency.value, f"{self.adjacency.value}, as in the first phase"
            )
        told = self.assumptions + tuple(one for one in other.assumptions if one not in self.assumptions)
        # a run tells no less than those of its phases of which a least is known
        phases = [one.at_least for one in (self, other) if one.at_least is not None]
        least = phases[0] + phases[1] if len(phases) > 1 else next(iter(phases), None)
        both = self.mechanism + other.mechanism
        bound = self.bound or other.bound
        return Training(both, self.adjacency, told, least, self.neighbours, self.user_records, bound)

    def __mul__(self, times: int) -> "Training":
        """The same training so many times, of which all is released."""
        least = None if self.at_least is None else times * self.at_least
        return replace(self, mechanism=times * self.mechanism, at_least=least)

    __rmul__ = __mul__

    def tuned(self, tries: Tries | FixedTries | float) -> "Training":
        """The best of several such runs; see `repeat_and_select`."""
        best = repeat_and_select(self.mechanism, tries)
        if isinstance(tries, FixedTries):
            count = tries.count
            told = f"The best of {count} runs is kept, and paid for as if all {count} were released."
            return replace(self * count, assumptions=(*self.assumptions, told), at_least=None, bound=True)
        mean = tries.mean if isinstance(tries, Tries) else tries
        told = (
            f"The best run is kept of {mean:g} on average, a number that is drawn at random: neither it nor "
            "the other runs are released, and scores follow from what a run releases."
        )
        return replace(self, mechanism=best, assumptions=(*self.assumptions, told), at_least=None, bound=True)

    def __str__(self) -> str:
        lines = [str(self.mechanism), *self.assumptions]
        if self.at_least is not None:
            most = self.epsilon(1e-5)
            least = self.at_least.guarantee(self.adjacency).epsilon_interval(1e-5).low
            ends = [
                Context(prec=4, rounding=way).create_decimal_from_float(float(end))
                for end, way in ((least, ROUND_FLOOR), (most, ROUND_CEILING))
            ]
            lines.append(f"At delta = 1e-5 epsilon is between {ends[0]:f} and {ends[1]:f}.")
        return "\n".join(lines)


@dataclass(frozen=True)
class _Run:
    """What `dp_sgd` was asked for."""

    records: int
    batch: int
    epochs: int
    noise: float
    neighbours: Neighbours
    accumulation: int
    user_records: int
    largest_batch: int | None
    times: int
    separation: int | None

    @property
    def steps(self) -> int:
        """Of the whole run, where an epoch is as many steps as records fill batches."""
        return -(-self.epochs * self.records // self.batch)

    @property
    def steps_of_epoch(self) -> int:
        """Where each record takes part once."""
        return max(self.records // self.batch, 1)

    @property
    def clipped(self) -> Gaussian:
        """Noise on a sum that one neighbour moves by so many clipping norms."""
        moved = 2 if self.neighbours is Neighbours.REPLACE_ONE else 1
        return Gaussian(self.noise, moved * self.user_records)

    def only(self, *known: Neighbours) -> None:
        if self.neighbours not in known:
            allowed = " or ".join(repr(one.value) for one in known)
            raise ArgumentError("adjacency", self.neighbours.value, f"{allowed} for this sampling")

    def fixed_batches(self) -> None:
        """Batches are cut by place: with one more record others are in them."""
        if self.neighbours is Neighbours.ADD_REMOVE:
            allowed = "'zero-out' or 'replace-one': one more record moves all batches"
            raise ArgumentError("adjacency", "add/remove", allowed)

    def one_record(self) -> None:
        if self.user_records > 1:
            raise ArgumentError(
                "user_records", self.user_records, "1 for this sampling; several: poisson or cyclic"
            )


class Made(NamedTuple):
    """What a way to make batches amounts to: a mechanism and its words, whether that is only a bound, and
    one that tells no more."""

    mechanism: Mechanism
    told: list[str]
    bound: bool
    at_least: Mechanism | None = None


def _poisson(run: _Run) -> Made:
    drawn = run.accumulation * run.user_records
    rate = run.batch / run.records / run.accumulation
    step: Mechanism = Gaussian(run.noise).subsample(rate)
    if drawn > 1 or run.neighbours is Neighbours.REPLACE_ONE:
        step = SampledSum(run.noise, rate, drawn)
    told = [
        f"Every record joins each of {run.steps:,} steps with probability {run.batch}/{run.records}, by a "
        "coin of "
        "its own (PoissonBatches): batches differ in size, and may be empty."
    ]
    if run.accumulation > 1:
        told = [
            f"A step adds up {run.accumulation} batches, each drawn by itself with rate {rate:.6g}, and "
            "noise is "
            f"added once: a record may count up to {run.accumulation} times. If one Poisson batch is only "
            "cut "
            "into parts that fit into memory, say accumulation=1."
        ]
    return Made(run.steps * step, told, bound=False)


def _truncated(run: _Run) -> Made:
    run.one_record()
    if run.accumulation > 1:
        raise ArgumentError("accumulation", run.accumulation, "1, where batches are cut")
    if run.largest_batch is None:
        raise ArgumentError("largest_batch", None, "given: from which size on a batch is cut")
    if run.records > MOST_COINS:
        raise ArgumentError("records", run.records, f"at most {MOST_COINS} for this sampling")
    limit, rate = check_count("largest_batch", run.largest_batch, least=1), run.batch / run.records
    cut = more_than(limit, run.records, rate)
    told = [
        *_poisson(run).told,
        f"Of batches of more than {limit} records {limit} are kept, drawn at random: a batch is cut with "
        f"probability {cut:.3g}, and then one record takes the place of another.",
    ]
    step: Mechanism = TruncatedSum(run.noise, rate, limit, run.records)
    if run.neighbours is Neighbours.ZERO_OUT:
        # an empty record takes a place as well; at worst it is told that it was kept in a batch that was cut
        kept = limit / run.records * cut
        noise = Gaussian(run.noise)
        step = mixture([noise.subsample(rate), noise], [1 - kept, kept])
    return Made(run.steps * step, told, bound=True)


def _allocation(run: _Run) -> Made:
    run.one_record()
    k, t = run.times, max(run.times * run.records // run.batch, run.times)
    if run.epochs % k:
        raise ArgumentError("times", k, f"a divisor of epochs={run.epochs}: so many epochs are one round")
    some, whole = ("one", "epoch") if k == 1 else (str(k), f"{k} epochs")
    told = [
        f"Every record joins exactly {some} of the {t} steps of each {whole}, drawn at random for each "
        f"record by itself (AllocatedBatches): batches have {k * run.records / t:.6g} records on average."
    ]
    if k > 1:
        told.append(f"That is bounded from above by {k} rounds of {t // k} steps, with one step each.")
    if run.neighbours is Neighbours.REPLACE_ONE:
        told.append("A record is replaced in two hops, one taken away and one added: a bound from above.")
    return Made(run.epochs // k * Gaussian(run.noise).allocate(t, times=k), told, bound=False)


def _without_replacement(run: _Run) -> Made:
    run.only(Neighbours.REPLACE_ONE, Neighbours.ZERO_OUT)
    run.one_record()
    told = [f"Each of {run.steps:,} steps draws a set of {run.batch} of the {run.records:,} records afresh."]
    if run.neighbours is Neighbours.ZERO_OUT:
        told.append(
            "An empty record is one among all that may replace a record: the number is that of replace-one."
        )
    step = Gaussian(run.noise, 2).subsample(run.batch, of=run.records)
    return Made(run.steps * step, told, bound=run.neighbours is Neighbours.ZERO_OUT)


def _with_replacement(run: _Run) -> Made:
    run.only(Neighbours.REPLACE_ONE, Neighbours.ZERO_OUT)
    run.one_record()
    told = [
        f"Each of {run.steps:,} steps draws {run.batch} times from all {run.records:,} records: one may "
        "count "
        "several times, and the bound is as if it were told how often."
    ]
    return Made(run.steps * DrawnSum(run.noise, run.batch, run.records), told, bound=True)


def _shuffled(run: _Run) -> Made:
    run.fixed_batches()
    told = [
        "Records are shuffled and cut into batches, once in each epoch. No exact theory is known of that: no "
        "amplification is credited. If all batches have one size and all other gradients are zero it is "
        "random allocation, so it tells no less "
        "than that, which has a loader (AllocatedBatches) and a guarantee."
    ]
    # with a remainder a record's chances are not those of an allocation
    same = run.neighbours is Neighbours.ZERO_OUT and run.records % run.batch == 0
    least = run.epochs * Gaussian(run.noise).allocate(run.steps_of_epoch) if same else None
    return Made(run.epochs * run.clipped, told, bound=True, at_least=least)


def _cyclic(run: _Run) -> Made:
    return _separated(run, run.steps_of_epoch, run.epochs)


def _min_separation(run: _Run) -> Made:
    if run.separation is None:
        raise ArgumentError("separation", None, "given: after how many steps a record may take part again")
    apart = check_count("separation", run.separation, least=1)
    return _separated(run, apart, -(-run.steps // apart))


def _separated(run: _Run, apart: int, most: int) -> Made:
    run.fixed_batches()
    told = [
        f"A record takes part at most once in {apart} steps, so {most} times in all, in steps that are "
        "known: no amplification."
    ]
    return Made(most * run.clipped, told, bound=False)


_MADE: dict[Sampling, Callable[[_Run], Made]] = {
    Sampling.POISSON: _poisson,
    Sampling.TRUNCATED_POISSON: _truncated,
    Sampling.ALLOCATION: _allocation,
    Sampling.WITHOUT_REPLACEMENT: _without_replacement,
    Sampling.WITH_REPLACEMENT: _with_replacement,
    Sampling.SHUFFLED: _shuffled,
    Sampling.CYCLIC: _cyclic,
    Sampling.MIN_SEPARATION: _min_separation,
}

_NEIGHBOURS = {
    Neighbours.ADD_REMOVE: "Neighbours differ in {whose}, there or not there.",
    Neighbours.ZERO_OUT: "Neighbours differ in {whose}, there or empty; how many records there are is known.",
    Neighbours.REPLACE_ONE: "Neighbours differ in {whose}, replaced by any other.",
}


def dp_sgd(
    *,
    records: int,
    batch: int,
    epochs: int,
    noise: float,
    sampling: Sampling | str = Sampling.POISSON,
    adjacency: Neighbours | str | None = None,
    accumulation: int = 1,
    user_records: int = 1,
    largest_batch: int | None = None,
    times: int = 1,
    separation: int | None = None,
) -> Training:
    """The run of a training script with noisy gradients, and what it assumes in words.

    In every step gradients of single records are clipped to a norm, added up, and Gaussian noise of `noise`
    times that norm is added. `batch` records make up a step (on average, where batches differ); with
    `accumulation` a step adds up so many batches of the loader. A person has at most `user_records` records.
    Without an `adjacency` it is the one that the sampling is known for. `largest_batch`, `times` and
    `separation` belong to the samplings that name them.

    >>> run = dp_sgd(records=60_000, batch=256, epochs=60, noise=1.1, sampling="allocation")
    >>> run.epsilon(delta=1e-5)
    2.340520760
    >>> print(run.mechanism)
    60 * gaussian(1.1).allocate(234)
    """
    way: Sampling = one_of(Sampling)("sampling", sampling)
    usual = Neighbours.ADD_REMOVE
    if way in (Sampling.WITHOUT_REPLACEMENT, Sampling.WITH_REPLACEMENT):
        usual = Neighbours.REPLACE_ONE
    elif way in (Sampling.SHUFFLED, Sampling.CYCLIC, Sampling.MIN_SEPARATION):
        usual = Neighbours.ZERO_OUT
    run = _Run(
        check_count("records", records, least=1),
        check_count("batch", batch, least=1),
        check_count("epochs", epochs, least=1),
        check_positive("noise", noise),
        usual if adjacency is None else one_of(Neighbours)("adjacency", adjacency),
        check_count("accumulation", accumulation, least=1),
        check_count("user_records", user_records, least=1),
        largest_batch,
        check_count("times", times, least=1),
        separation,
    )
    if run.batch > run.records:
        raise ArgumentError("batch", batch, f"at most records={run.records}")
    mechanism, told, bound, least = _MADE[way](run)
    if run.accumulation > 1 and way is not Sampling.POISSON:
        told.append(f"The batch of a step is handled in {run.accumulation} parts, and noise is added once.")
    whose = "one record" if user_records == 1 else f"all records (at most {user_records}) of one person"
    assumed = [
        *told,
        f"Gradients of single records are clipped, and noise of {run.noise:.6g} times the clipping norm "
        "is added to "
        "their sum once a step.",
        f"The noisy sum is divided by {run.batch}, which is public, and not by how many records a batch "
        "turned out to "
        "have: that number is private.",
        _NEIGHBOURS[run.neighbours].format(whose=whose),
    ]
    # an empty record moves a sum as an absent one does, and is drawn by the same coin
    same = Adjacency.REPLACE_ONE if way in _BY_REPLACEMENT else Adjacency.ADD_REMOVE
    replaced = run.neighbours is Neighbours.REPLACE_ONE
    found = Adjacency.REPLACE_ONE if replaced else same
    return Training(mechanism, found, tuple(assumed), least, run.neighbours, run.user_records, bound)


_BY_REPLACEMENT = Sampling.WITHOUT_REPLACEMENT, Sampling.WITH_REPLACEMENT
