"""Linear and logistic regression beside diffprivlib, AdaSSP, the functional mechanism and OpenDP, in one run.

    python benchmarks/regressions.py [--data ../shared/data] [--randhie randhie.csv] [--seeds 30]

Every method gets the same declared intervals and the same half of the records, and is judged by its
coefficients (in units of half the intervals, against the fit without noise on the same half: the median over
terms and seeds of the absolute error) and on the other half (R² or AUC, the median over seeds). Ours with
Laplace noise is beside those that have δ = 0, ours with Gaussian noise beside AdaSSP (δ = 1e-6). AdaSSP is
algorithm 2 of Wang 2018 ("Revisiting differentially private linear regression"), the functional mechanism
algorithm 2 of Zhang et al. 2012 for logistic regression with its truncated Taylor series; both are written
here. OpenDP's regression takes one column. diffprivlib 0.6.6 needs scikit-learn below 1.6 for its logistic
regression. With --runs, how often our intervals hold the fit without noise.
"""

import argparse
import csv
import math
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from indistinct import Budget, calibrate
from indistinct.data import CachedTable, Categories, LinearRegression, LogisticRegression, Numbers, table
from indistinct.data.queries.regression import _in_units
from indistinct.noise import NotPrivateSource

DELTA = 1e-6
Columns = dict[str, Any]


def read(path: Path, names: list[str] | None = None) -> dict[str, np.ndarray]:
    with path.open() as file:
        rows = [[cell.strip() for cell in row] for row in csv.reader(file) if row]
    names = names or rows.pop(0)
    return {name: np.array(column) for name, column in zip(names, zip(*rows, strict=True), strict=True)}


def tables(data: Path, randhie: Path | None) -> dict[str, tuple[Columns, Columns, str]]:
    """Name: columns, domains, response."""
    people = read(data / "PUMS.csv")
    pums = {name: people[name].astype(float) for name in ("age", "educ", "income")}
    pums |= {name: people[name].astype(int) for name in ("sex", "married")}
    both = Categories([0, 1])
    about = {"age": Numbers(18, 100), "sex": both, "educ": Numbers(1, 16), "married": both}
    found = {
        "PUMS income": (pums, about | {"income": Numbers(0, 200_000)}, "income"),
        "PUMS married": (pums, about | {"income": Numbers(0, 200_000)}, "married"),
    }
    names = "age work weight school educ marital job relation race sex gain loss hours country pay".split()
    census = read(data / "adult" / "adult.data", names)
    adult: Columns = {name: census[name].astype(float) for name in ("age", "educ", "hours")}
    adult["sex"] = (census["sex"] == "Male").astype(int)
    adult["married"] = (census["marital"] == "Married-civ-spouse").astype(int)
    adult["high"] = (census["pay"] == ">50K").astype(int)
    work = {
        "age": Numbers(17, 90),
        "sex": both,
        "educ": Numbers(1, 16),
        "married": both,
        "hours": Numbers(1, 99),
    }
    found["Adult hours"] = (adult, work, "hours")
    found["Adult high pay"] = (adult, work | {"high": both}, "high")
    if randhie is not None:
        years = {name: column.astype(float) for name, column in read(randhie).items()}
        years |= {name: years[name].astype(int) for name in ("idp", "hlthg", "hlthf", "hlthp")}
        years["any"] = (years["mdvis"] > 0).astype(int)
        health = {name: both for name in ("idp", "hlthg", "hlthf", "hlthp")}
        health |= {"lncoins": Numbers(0, 5), "physlm": Numbers(0, 1), "disea": Numbers(0, 60)}
        found["randhie visits"] = (years, health | {"mdvis": Numbers(0, 30)}, "mdvis")
        found["randhie any"] = (years, health | {"any": both}, "any")
    return found | held_out()


def held_out() -> dict[str, tuple[Columns, Columns, str]]:
    """Tables that nothing was chosen on: marriages of 1974 and voters of 1996, from statsmodels."""
    try:
        from statsmodels.datasets import anes96, fair
    except ImportError:
        return {}
    both = Categories([0, 1])
    people = {name: column.to_numpy() for name, column in fair.load_pandas().data.items()}
    people["any"] = (people["affairs"] > 0).astype(int)
    about = {
        "age": Numbers(17, 60),
        "yrs_married": Numbers(0, 40),
        "children": Numbers(0, 6),
        "religious": Numbers(1, 4),
        "educ": Numbers(9, 20),
    }
    voters = {name: column.to_numpy() for name, column in anes96.load_pandas().data.items()}
    voters["vote"] = voters["vote"].astype(int)
    views = {"TVnews": Numbers(0, 7), "selfLR": Numbers(1, 7), "age": Numbers(17, 100), "educ": Numbers(1, 7)}
    return {
        "fair rating (held out)": (people, about | {"rate_marriage": Numbers(1, 5)}, "rate_marriage"),
        "fair any (held out)": (people, about | {"any": both}, "any"),
        "anes96 income (held out)": (voters, views | {"income": Numbers(1, 24)}, "income"),
        "anes96 vote (held out)": (voters, views | {"vote": both}, "vote"),
    }


def scaled(columns: Columns, domains: Columns, response: str) -> tuple[np.ndarray, np.ndarray]:
    """The design matrix and the response as everybody gets them: in [-1, 1]."""

    def one(name: str) -> np.ndarray:
        domain, values = domains[name], columns[name]
        if isinstance(domain, Categories):
            return np.where(values == domain.values[1], 1.0, -1.0)
        middle, half = (domain.low + domain.high) / 2, (domain.high - domain.low) / 2
        return (np.clip(values, domain.low, domain.high) - middle) / half

    others = [one(name) for name in domains if name != response]
    return np.stack([np.ones(len(others[0])), *others], axis=1), one(response)


# What others do: from (X, y) in [-1, 1], epsilon and a generator to coefficients.


def diffprivlib_linear(x: np.ndarray, y: np.ndarray, epsilon: float, seed: int) -> np.ndarray:
    from diffprivlib.models import LinearRegression as Theirs

    bounds = ([-1.0] * (x.shape[1] - 1), [1.0] * (x.shape[1] - 1))
    model = Theirs(epsilon=epsilon, bounds_X=bounds, bounds_y=(-1.0, 1.0), random_state=seed)
    model.fit(x[:, 1:], y)
    return np.append(model.intercept_, model.coef_)


def diffprivlib_logistic(x: np.ndarray, y: np.ndarray, epsilon: float, seed: int) -> np.ndarray:
    from diffprivlib.models import LogisticRegression as Theirs

    model = Theirs(epsilon=epsilon, data_norm=math.sqrt(x.shape[1] - 1), random_state=seed, C=1e3)
    model.fit(x[:, 1:], y)
    return np.append(model.intercept_, model.coef_)


def adassp(x: np.ndarray, y: np.ndarray, epsilon: float, seed: int) -> np.ndarray:
    random, d = np.random.default_rng(seed), x.shape[1]
    bound, share, log = math.sqrt(d), epsilon / 3, math.log(6 / DELTA)
    normal = x.T @ x
    least = np.linalg.eigvalsh(normal)[0] + bound**2 / share * (
        math.sqrt(log) * random.standard_normal() - log
    )
    ridge = max(0.0, math.sqrt(d * log * math.log(2 * d**2 / 0.05)) * bound**2 / share - max(least, 0.0))
    noise = np.triu(random.standard_normal((d, d)))
    noise = noise + np.triu(noise, 1).T
    normal = normal + math.sqrt(log) * bound**2 / share * noise
    right = x.T @ y + math.sqrt(log) * bound / share * random.standard_normal(d)
    return np.linalg.solve(normal + ridge * np.eye(d), right)


def functional(x: np.ndarray, y: np.ndarray, epsilon: float, seed: int) -> np.ndarray:
    """Zhang et al. 2012: log(1 + e^s) - y s to second order, Laplace noise of sensitivity d²/4 + d on
    features of length 1 as printed; eigenvalues that are not positive are cut (their section 6)."""
    random, d = np.random.default_rng(seed), x.shape[1]
    unit = x / math.sqrt(d)
    scale = (d**2 / 4 + d) / epsilon
    noise = np.triu(random.laplace(scale=scale, size=(d, d)))
    curve = unit.T @ unit / 8 + (noise + np.triu(noise, 1).T) / 2
    slope = unit.T @ (0.5 - (y > 0)) + random.laplace(scale=scale, size=d)
    values, vectors = np.linalg.eigh(curve + 4 * math.sqrt(2) * scale * np.eye(d))
    kept = vectors[:, values > 0]
    return (
        -kept
        @ np.linalg.solve(2 * kept.T @ (curve + 4 * math.sqrt(2) * scale * np.eye(d)) @ kept, kept.T @ slope)
        / math.sqrt(d)
    )


def ours(query: Any, epsilon: float, delta: float) -> Any:
    kind = query.gaussian if delta else query.laplace
    return calibrate(kind, Budget(epsilon=epsilon, delta=delta)).mechanism


def estimates(query: Any, noisy: Any, data: Columns, seed: int) -> np.ndarray:
    """What `fit` estimates, without its intervals, from noise of a seed."""
    values, _ = noisy.noisy(data, NotPrivateSource(seed))
    if isinstance(query, LinearRegression):
        return query.moments(noisy, values).estimate
    return query.equations(noisy, values)[0].coefficients


def likeliest(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Logistic regression without privacy."""
    found = np.zeros(x.shape[1])
    for _ in range(50):
        chance = 1 / (1 + np.exp(-x @ found))
        found = found + np.linalg.solve((x.T * (chance * (1 - chance))) @ x, x.T @ ((y > 0) - chance))
    return found


def auc(score: np.ndarray, y: np.ndarray) -> float:
    ranks = np.argsort(np.argsort(score)) + 1
    positive = y > 0
    count = int(positive.sum())
    return float((ranks[positive].sum() - count * (count + 1) / 2) / (count * (len(y) - count)))


def compare(name: str, columns: Columns, domains: Columns, response: str, seeds: int) -> bool:
    """Prints the rows of one table; whether ours is at least as good as the best of the others on each."""
    linear = isinstance(domains[response], Numbers)
    half = np.random.default_rng(0).permutation(len(columns[response])) % 2 == 0
    query = (LinearRegression if linear else LogisticRegression)(response, domains)
    order = {key: domains[key] for key, _ in query.axes}
    x, y = scaled(columns, order, response)
    fitted = CachedTable(table({key: columns[key][half] for key in order}))
    truth = np.linalg.lstsq(x[half], y[half], rcond=None)[0] if linear else likeliest(x[half], y[half])

    def judged(found: np.ndarray) -> tuple[float, float]:
        score = x[~half] @ found
        quality = 1 - np.mean((y[~half] - score) ** 2) / np.var(y[~half]) if linear else auc(score, y[~half])
        return float(np.median(np.abs(found - truth))), float(quality)

    print(f"{name}: {half.sum()} records, without privacy {'R²' if linear else 'AUC'} {judged(truth)[1]:.4f}")
    good = True
    for epsilon in (1.0, 0.2):
        theirs: list[tuple[str, Callable[..., np.ndarray], bool]] = (
            [("diffprivlib", diffprivlib_linear, False), ("AdaSSP", adassp, True)]
            if linear
            else [("diffprivlib", diffprivlib_logistic, False), ("functional mechanism", functional, False)]
        )
        for approximate in (False, True):
            noisy = ours(query, epsilon, DELTA if approximate else 0.0)
            methods: dict[str, Callable[[int], np.ndarray]] = {
                "ours": lambda seed, noisy=noisy: estimates(query, noisy, fitted, seed)
            }
            for label, method, has_delta in theirs:
                if has_delta == approximate:
                    methods[label] = lambda seed, method=method, e=epsilon: method(x[half], y[half], e, seed)
            rows = {}
            for label, run in methods.items():
                start = time.perf_counter()
                found = np.array([judged(run(seed)) for seed in range(seeds)])
                spent = (time.perf_counter() - start) / seeds
                rows[label] = np.median(found, axis=0)
                print(
                    f"  eps {epsilon:g} {'delta 1e-6' if approximate else 'delta 0   '} {label:20}"
                    f" coefficients {rows[label][0]:8.4f}  held out {rows[label][1]:8.4f}  {spent:6.3f} s"
                )
            others = [row for label, row in rows.items() if label != "ours"]
            if others:
                mine = rows["ours"]
                good &= (
                    mine[0] <= min(row[0] for row in others)
                    and mine[1] >= max(row[1] for row in others) - 2e-3
                )
    return good


def one_column(pums: Columns, seeds: int) -> bool:
    """Income by education, where OpenDP has an estimator (Theil and Sen's)."""
    import opendp.prelude as dp

    dp.enable_features("contrib", "idealized-numerics", "honest-but-curious")
    domains = {"educ": Numbers(1, 16), "income": Numbers(0, 200_000)}
    query = LinearRegression("income", domains)
    records = CachedTable(table({key: pums[key] for key in domains}))
    truth = np.polyfit(pums["educ"], np.clip(pums["income"], 0, 200_000), 1)[0]
    first, second = np.triu_indices(len(pums["educ"]), 1)
    runs, rises = (pums[key][second] - pums[key][first] for key in ("educ", "income"))
    sen, good = float(np.median(rises[runs != 0] / runs[runs != 0])), True
    for epsilon in (1.0, 0.2):
        noisy = ours(query, epsilon, 0.0)
        mine = [estimates(query, noisy, records, seed)[1] * 100_000 / 7.5 for seed in range(seeds)]

        def model(scale: float) -> Any:
            return dp.sklearn.linear_model.LinearRegression(
                dp.max_divergence(), x_bounds=[(1, 16)], y_bounds=(0, 200_000), scale=scale
            )

        scale = dp.binary_search_param(lambda s: model(s).measurement, d_in=1, d_out=epsilon, T=float)
        theirs = [
            float(model(scale).fit(pums["educ"][:, None], pums["income"]).coef_[0]) for _ in range(seeds)
        ]
        errors = [float(np.median(np.abs(np.array(found) - truth))) for found in (mine, theirs)]
        print(
            f"  eps {epsilon:g} delta 0    slope {truth:.0f}, error of ours {errors[0]:.0f},"
            f" of OpenDP {errors[1]:.0f} (medians of what is released {np.median(mine):.0f} and"
            f" {np.median(theirs):.0f}; Theil and Sen's slope without noise is {sen:.0f})"
        )
        good &= errors[0] <= errors[1]
    return good


def covered(name: str, columns: Columns, domains: Columns, response: str, runs: int) -> bool:
    """How often the interval for noise alone holds what the records say without noise, by term."""
    linear = isinstance(domains[response], Numbers)
    query = (LinearRegression if linear else LogisticRegression)(response, domains)
    order = {key: domains[key] for key, _ in query.axes}
    x, y = scaled(columns, order, response)
    found = np.linalg.lstsq(x, y, rcond=None)[0] if linear else likeliest(x, y)
    _, units = _in_units(query.axes, query.encoding.terms.owners[:-1])
    truth = units @ found
    if linear:
        own = domains[response]
        truth = truth * (own.high - own.low) / 2
        truth[0] += (own.high + own.low) / 2
    records = CachedTable(table({key: columns[key] for key in order}))
    good = True
    for epsilon in (1.0, 0.2):
        for delta in (DELTA, 0.0):
            noisy, held, wide = ours(query, epsilon, delta), [], []
            for seed in range(runs):
                rows = query.fitted(noisy, noisy.noisy(records, NotPrivateSource(seed))[0])
                pairs = list(zip(rows, truth, strict=True))
                held.append([row.noise_low <= value <= row.noise_high for row, value in pairs])
                wide.append(
                    [row.noise_error / max(abs(row.coefficient - value), 1e-12) for row, value in pairs]
                )
            share = np.mean(held, axis=0)
            print(
                f"  {name}, eps {epsilon:g}, delta {delta:g}: held {share.mean():.3f}, by term"
                f" {share.round(3)}, error that is stated by what it was {np.median(wide, axis=0).round(1)}",
                flush=True,
            )
            good &= bool(share.mean() >= 0.93)
    return good


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--randhie", type=Path)
    parser.add_argument("--only", default="", help="tables whose name has these words")
    parser.add_argument("--seeds", type=int, default=30)
    parser.add_argument("--runs", type=int, default=0, help="of coverage: 300 take a quarter of an hour")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    listed = tables(options.data, options.randhie)
    chosen = {name: asked for name, asked in listed.items() if options.only in name}
    good = [compare(name, *asked, options.seeds) for name, asked in chosen.items() if options.seeds]
    if options.seeds and not options.only:
        print("PUMS income by education, one column:")
        good.append(one_column(listed["PUMS income"][0], options.seeds))
    if options.runs:
        good += [covered(name, *asked, options.runs) for name, asked in chosen.items()]
    print("PASS" if all(good) else "FAIL", good)


if __name__ == "__main__":
    main()
