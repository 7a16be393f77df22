"""Counts of three nested levels side by side: least squares under the noise, and what is usually done.

    .venv/bin/python benchmarks/hierarchy.py [--adult adult.data] [--runs 300]

Error of each level (root mean square over its nodes and over runs) and coverage of the 95 % intervals, for

- plain: each level by itself with its own noise and an even share of the budget; the numbers do not add up;
- leaves: the counts of the last level alone, added up;
- top-down: as plain, then from the total down each parent's number is split by the children's measurements
  without negative parts and rounded: whole numbers that add up, without least squares across levels;
- ours, and ours as whole numbers.

All meet the same budget. Trees: 9 regions, 51 states and 3143 counties with Zipf counts (made up); Adult by
work class, occupation and education, if the file is given. The exit status is 1 where ours is worse than one
of the others, at a level, by more than the error of this simulation (leaves: in the sum over levels).
"""

import argparse
import sys

import numpy as np

from indistinct import Budget, calibrate
from indistinct.data import Categories, Hierarchy, Norm, Within
from indistinct.data.queries.tree import Tree, _rounded, _split

BUDGETS = [Budget(epsilon=e, delta=d) for d in (1e-6, 0) for e in (1.0, 0.2)]


def made_up():
    draw = np.random.default_rng(1)
    states = {f"r{r}": [f"s{s}" for s in range(51) if s % 9 == r] for r in range(9)}
    cuts = np.sort(draw.choice(np.arange(1, 3143), 50, replace=False))
    counties = {f"s{s}": [f"c{c}" for c in part] for s, part in enumerate(np.split(np.arange(3143), cuts))}
    levels = {"region": Categories(list(states)), "state": Within(states), "county": Within(counties)}
    return levels, np.minimum(draw.zipf(1.4, 3143), 200_000)


def adult(path):
    rows = [line.strip().split(", ") for line in open(path) if line.strip()]
    table = {"work": 1, "occupation": 6, "education": 3}
    columns = {name: [row[place] for row in rows] for name, place in table.items()}
    levels = {name: Categories(sorted(set(column))) for name, column in columns.items()}
    return levels, Hierarchy(levels).statistic(columns).units[-Hierarchy(levels).tree.sizes[-1] :]


def noise(draw, laplace, scale, shape):
    return draw.laplace(0, scale, shape) if laplace else draw.normal(0, scale, shape)


def top_down(tree: Tree, levels):
    found = [np.rint(np.maximum(levels[0], 0.0))]
    for own, starts in zip(levels[1:], tree.starts, strict=True):
        ends = [*starts[1:], len(own)]
        parts = [
            _rounded(_split(own[a:b], np.ones(b - a), total), total)
            for total, a, b in zip(found[-1], starts, ends, strict=True)
        ]
        found.append(np.concatenate(parts))
    return found


def compare(name, levels, leaves, budget, runs):
    laplace, draw = not budget.delta, np.random.default_rng(7)
    norm = Norm.L1 if laplace else Norm.L2
    ours, whole = (Hierarchy.best(levels, norm, whole=whole) for whole in (False, True))
    even = Hierarchy(levels)
    tree, exact = even.tree, even.tree.levels(leaves)
    kind = (lambda q: q.laplace) if laplace else (lambda q: q.gaussian)
    found = {q: calibrate(kind(q), budget).mechanism for q in (even, ours)}
    alone = found[even].scale / (4 if laplace else 2)  # four levels: the leaves alone need so much less
    errors = {key: [[] for _ in exact] for key in ("plain", "leaves", "top-down", "ours", "ours, whole")}
    covered = {key: [[] for _ in exact] for key in ("ours", "ours, whole")}
    measured = ours.measured(leaves)
    for _ in range(runs):
        plain = [level + noise(draw, laplace, found[even].scale, level.shape) for level in exact]
        answers = {
            "plain": plain,
            "leaves": tree.levels(leaves + noise(draw, laplace, alone, leaves.shape)),
            "top-down": top_down(tree, plain),
        }
        values = measured + noise(draw, laplace, found[ours].scale, measured.shape)
        for key, query in (("ours", ours), ("ours, whole", whole)):
            estimate = query.estimate(values, found[ours])
            value, low, high = (
                np.split(one, np.cumsum(tree.sizes)[:-1])
                for one in (estimate.value, estimate.low, estimate.high)
            )
            answers[key] = value
            for place, truth in enumerate(exact):
                covered[key][place].append(((low[place] <= truth) & (truth <= high[place])).mean())
        for key, answer in answers.items():
            for place, truth in enumerate(exact):
                errors[key][place].append(((answer[place] - truth) ** 2).mean())
    spent = f"epsilon {budget.epsilon:g}, delta {budget.delta or 0:g}"
    print(f"\n{name}, {tree.sizes} nodes, {spent}; shares {ours.shares}")
    squares = {key: np.array([np.mean(level) for level in levels]) for key, levels in errors.items()}
    doubt = {
        key: np.array([np.std(level) / np.sqrt(runs) for level in levels]) for key, levels in errors.items()
    }
    for key, values in squares.items():
        cover = [f"{100 * np.mean(level):5.1f} %" for level in covered.get(key, [])]
        print(f"  {key:12}", *(f"{np.sqrt(value):10.2f}" for value in values), "   covered", *cover or ["-"])
    fine = True
    for mine, theirs in (("ours", "plain"), ("ours, whole", "top-down")):
        room = 4 * np.hypot(doubt[mine], doubt[theirs])
        fine &= bool((squares[mine] <= squares[theirs] + room).all())
    fine &= squares["ours"].sum() <= squares["leaves"].sum()
    print("  ", "ok" if fine else "FAIL")
    return fine


if __name__ == "__main__":
    options = argparse.ArgumentParser()
    options.add_argument("--adult")
    options.add_argument("--runs", type=int, default=300)
    given = options.parse_args()
    tables = {"made up": made_up()} | ({"Adult": adult(given.adult)} if given.adult else {})
    fine = [compare(name, *table, budget, given.runs) for name, table in tables.items() for budget in BUDGETS]
    sys.exit(not all(fine))
