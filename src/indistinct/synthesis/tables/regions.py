"""Where rows may be: everything that is given and nothing that is forbidden, and draws from there alone.

Columns are cut into pieces in which every condition holds or does not, so what is given is a product of sets
of pieces, a box, and what rules leave of it is a union of disjoint boxes. In a component of a mixture columns
are independent: the probability of a box is a product, that of a union of disjoint ones is their sum, and
rules without a common column are independent of each other. So the posterior of label and component is known
exactly, then that of the box, then that of each column's piece: rows are drawn without rejecting any, however
rare what is given may be, and expected counts are rounded as those of all rows are.
"""

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from indistinct.data import Celled
from indistinct.errors import ArgumentError
from indistinct.functions.public_randomness import PublicUniforms
from indistinct.numerics.arrays import Array
from indistinct.synthesis.tables.conditions import Wanted
from indistinct.synthesis.tables.decode import Pieces
from indistinct.synthesis.tables.generator import Mixture, Places, drawn, spread

Box = dict[str, npt.NDArray[np.bool_]]
"""For each of some columns, which of its pieces are allowed."""

_MOST_BOXES = 1024
_AT_ONCE = 2**22
_LEAST = 1e-30
"""Probability of what is known to be so: nothing that was seen is impossible."""


@dataclass(frozen=True, eq=False)
class Region:
    """Pieces of all columns, and disjoint boxes for each group of columns that rules tie together."""

    pieces: Mapping[str, Pieces]
    groups: tuple[tuple[Box, ...], ...]
    asked: tuple[str, ...]
    """The columns that conditions are about, for messages."""

    @classmethod
    def of(cls, domains: Mapping[str, Celled], given: Wanted, rules: Sequence[Wanted]) -> "Region":
        """What is given, without what any of the rules describes."""
        ranges: dict[str, list[tuple[float, float]]] = {name: [] for name in domains}
        for condition in (given, *rules):
            for name, alternatives in condition.items():
                ranges[name] += [one for one in alternatives if isinstance(one, tuple)]
        pieces = {name: Pieces.of(domain, ranges[name]) for name, domain in domains.items()}
        everything: Box = {name: np.ones(own.size, dtype=bool) for name, own in pieces.items()}
        whole = everything | _box(pieces, given)
        forbidden = [_box(pieces, rule) for rule in rules]
        groups = []
        for names in _tied(list(domains), forbidden):
            boxes = [{name: whole[name] for name in names}]
            for rule in forbidden:
                if set(rule) <= set(names):
                    boxes = [left for box in boxes for left in _without(box, rule)]
                    if len(boxes) > _MOST_BOXES:
                        allowed = f"fewer: those on {', '.join(names)} leave over {_MOST_BOXES} parts"
                        raise ArgumentError("rules", f"{len(rules)} of them", allowed)
            if not boxes:
                raise ArgumentError("rules", names, "such that they leave some values of these columns")
            groups.append(tuple(boxes))
        return cls(pieces, tuple(groups), tuple({**given, **{name: () for rule in rules for name in rule}}))

    @property
    def everything(self) -> bool:
        """Whether nothing was asked."""
        return not self.asked

    def without_rows(self, names: Collection[str]) -> Iterator[Wanted]:
        """What some columns cannot be in any row, whatever the others are."""
        for boxes in self.groups:
            own = [name for name in boxes[0] if name in names]
            left = [{name: np.ones(self.pieces[name].size, dtype=bool) for name in own}] if own else []
            for box in boxes:
                taken = {name: box[name] for name in own}
                left = [rest for one in left for rest in _without(one, taken)]
            for rest in left:
                yield {name: self.pieces[name].alternatives(mask) for name, mask in rest.items()}

    def sample(
        self,
        mixture: Mixture,
        features: Sequence[str],
        label: str | None,
        rows: int,
        public: PublicUniforms,
        fixed: Mapping[str, Places] | None = None,
    ) -> dict[str, Places]:
        """A piece of each column for new rows; or of the other columns, where those of some are known."""
        known = dict(fixed or {})
        laws = self._laws(mixture, features, label)
        if known:
            patterns, which = np.unique(np.stack(list(known.values()), axis=1), axis=0, return_inverse=True)
            which = which.reshape(-1)
        else:
            patterns, which = np.zeros((1, 0), dtype=np.int64), np.zeros(rows, dtype=np.int64)
        seen = dict(zip(known, patterns.T, strict=True))
        with np.errstate(divide="ignore"):
            score = np.tile(np.log(np.repeat(mixture.shares, mixture.chances.shape[1])), (len(patterns), 1))
            for name, places in seen.items():
                score += np.log(np.maximum(laws[name][:, places].T, _LEAST))
            inside, allowed = [], []
            for boxes in self.groups:
                inside.append(np.stack([_mass(laws, box, seen) for box in boxes], axis=1))
                allowed.append(np.stack([_holds(box, seen, len(patterns)) for box in boxes], axis=1))
                score += np.log(allowed[-1] @ inside[-1].T)
        best = score.max(axis=1, keepdims=True)
        if not np.isfinite(best).all():
            raise self._impossible(laws, seen)
        posterior = np.exp(score - best)
        draws = iter(np.moveaxis(public.draw(rows, 2, 1 + len(self.groups) + len(laws)), 2, 0))
        component = _chosen([(posterior, which)], spread(which, next(draws)))
        found: dict[str, Places] = {}
        for boxes, mass, holds in zip(self.groups, inside, allowed, strict=True):
            alike, box = next(draws), np.zeros_like(component)
            if len(boxes) > 1:
                alike = spread(which * len(mass) + component, alike)
                box = _chosen([(holds, which), (mass, component)], alike)
            for name in boxes[0]:
                alike = spread(component * len(boxes) + box, next(draws))
                if name not in known:
                    masks = np.stack([one[name] for one in boxes])
                    found[name] = _chosen([(laws[name], component), (masks, box)], alike)
        return found

    def _laws(self, mixture: Mixture, features: Sequence[str], label: str | None) -> dict[str, Array]:
        """For each column, the chances of its pieces in all labels' components."""
        labels, components, _ = mixture.chances.shape
        parts = dict(zip(features, mixture.columns, strict=True))
        laws = {}
        for name, own in self.pieces.items():
            if name == label:
                cells = np.repeat(np.eye(labels), components, axis=0)
            else:
                cells = mixture.chances[:, :, parts[name]].reshape(labels * components, -1)
            laws[name] = cells[:, own.cells] * own.shares
        return laws

    def _impossible(self, laws: Mapping[str, Array], seen: Mapping[str, Places]) -> ArgumentError:
        for boxes in self.groups:
            for name in boxes[0]:
                mask = np.any([box[name] for box in boxes], axis=0)
                if name not in seen and not (laws[name] @ mask).any():
                    return ArgumentError(f"{name!r}", "what is asked for", "of positive probability")
        names = ", ".join(map(repr, self.asked))
        return ArgumentError(names, "what is asked for", "of positive probability together")


def _chosen(factors: Sequence[tuple[npt.NDArray[Any], Places]], uniforms: Array) -> Places:
    """A place for each row, by the product of rows of some tables, a part of all rows at once."""
    width, found = factors[0][0].shape[1], np.zeros(len(uniforms), dtype=np.int64)
    at_once = max(_AT_ONCE // width, 1)
    for start in range(0, len(uniforms), at_once):
        part = slice(start, start + at_once)
        found[part] = drawn(
            math.prod((law[own[part]] for law, own in factors), start=np.ones(width)), uniforms[part]
        )
    return found


def known_zeros(
    tables: Mapping[tuple[str, ...], Array], domains: Mapping[str, Celled], rules: Sequence[Wanted]
) -> dict[tuple[str, ...], Array]:
    """Noisy tables in which the cells that rules forbid altogether are what everybody knows that they are."""
    known = {group: np.array(table) for group, table in tables.items()}
    for rule in rules:
        whole = {}
        for name, alternatives in rule.items():
            pieces = Pieces.of(domains[name], [one for one in alternatives if isinstance(one, tuple)])
            whole[name] = np.bincount(pieces.cells, ~pieces.holding(alternatives)) == 0
        for group, table in known.items():
            if set(rule) <= set(group):
                at = [whole.get(name, np.ones(domains[name].size, dtype=bool)) for name in group]
                table[np.ix_(*at)] = 0.0
    return known


def _mass(laws: Mapping[str, Array], box: Box, seen: Mapping[str, Places]) -> Array:
    """The probability of a box in each component, of its columns that are not known."""
    free = [laws[name] @ mask for name, mask in box.items() if name not in seen]
    return math.prod(free, start=np.ones(len(next(iter(laws.values())))))


def _holds(box: Box, seen: Mapping[str, Places], patterns: int) -> Array:
    """For each pattern of known columns whether it is in the box."""
    held = [mask[seen[name]].astype(np.float64) for name, mask in box.items() if name in seen]
    return math.prod(held, start=np.ones(patterns))


def _box(pieces: Mapping[str, Pieces], condition: Wanted) -> Box:
    box = {name: pieces[name].holding(alternatives) for name, alternatives in condition.items()}
    for name, mask in box.items():
        if not mask.any():
            raise ArgumentError(f"{name!r}", condition[name], "a range that has a whole number")
    return box


def _without(box: Box, rule: Box) -> list[Box]:
    """Disjoint boxes for what is in a box and not in a rule: outside of the rule's first column, or inside of
    that and outside of the second, and so on."""
    if not all((box[name] & mask).any() for name, mask in rule.items()):
        return [box]
    found, rest = [], box
    for name, mask in rule.items():
        if (outside := rest[name] & ~mask).any():
            found.append(rest | {name: outside})
        rest = rest | {name: rest[name] & mask}
    return found


def _tied(names: list[str], rules: Sequence[Box]) -> list[tuple[str, ...]]:
    """Groups of columns such that every rule is about one group alone."""
    groups = [{name} for name in names]
    for rule in rules:
        together = [group for group in groups if group & set(rule)]
        groups = [group for group in groups if not group & set(rule)] + [set().union(*together)]
    return [tuple(name for name in names if name in group) for group in groups]
